/* ConstraintSet in steps of two bodies: W against the velocities that forces at the points make, U = W R + B, forces under a block at rest, momentum. */
#include "unit.h"
#include "constraints/set_impl.h"
#include "integrators/formulations.h"
#include "integrators/zhangskeel.h"
#include "physics/rotation.h"

typedef struct {
  const char *formulation[2];
  PetscInt    cells[2];
  PetscReal   at[3];                      /* centre of the second unit cube from that of the first, both turned alike */
  PetscReal   yaw;                        /* of the second one on the first, about z before that turn */
  PetscReal   velocity[2][3], spin[2][3];
  PetscBool   heavy, loose;               /* gravity down onto the first; not conserve */
} Case;

typedef struct {
  Model             model;
  struct _p_Stepper stepper;
} Run;

static const PetscReal Turn[3] = {0.4, -1.1, 0.7};

/* apart: bodies do not touch */
static void Start(const Case *c, PetscBool apart, Run *run)
{
  const Material material = {1e6, 0.3, 1e3, PETSC_FALSE};
  PetscReal      G[9], down[3] = {0, 0, -9.81}, g[3];

  memset(run, 0, sizeof(*run));
  Ok(ModelCreate(PETSC_COMM_SELF, &run->model));
  RotationFromVector(Turn, G);
  for (PetscInt i = 0; i < 2; i++) {
    const PetscReal size[3] = {1, 1, 1}, twist[3] = {0, 0, i ? c->yaw : 0}, at[3] = {i ? c->at[0] : 0, i ? c->at[1] : 0, i ? c->at[2] : 0};
    const PetscInt  cells[3] = {c->cells[i], c->cells[i], c->cells[i]};
    PetscReal       Y[9], R[9], shift[3];
    Mesh            mesh;
    Part            part;
    Body            body;

    Ok(MeshCreateBox(size, cells, &mesh));
    Ok(PartCreate(i ? "upper" : "lower", mesh, &material, &part));
    Ok(ModelAddPart(run->model, part));
    RotationFromVector(twist, Y);
    Mat3Mult(G, Y, R);
    Mat3Vec(G, at, shift);
    Ok(BodyCreate(i ? "above" : "below", i, part, &body));
    Ok(BodyPlace(body, R, shift));
    Ok(PetscStrncpy(body->formulation, c->formulation[i], sizeof(body->formulation)));
    Ok(PetscArraycpy(body->velocity, c->velocity[i], 3));
    Ok(PetscArraycpy(body->spin, c->spin[i], 3));
    body->conserve = c->loose ? PETSC_FALSE : PETSC_TRUE;
    Ok(ModelAddBody(run->model, body));
  }
  Ok(ModelSetUp(run->model));
  Mat3Vec(G, down, g);
  for (PetscInt k = 0; k < 3 && c->heavy; k++) {
    char text[64];

    snprintf(text, sizeof(text), "%.17g", (double)g[k]);
    Ok(FunctionCreate("gravity", text, NULL, &run->model->gravity[k]));
  }
  run->stepper.model = run->model;
  Ok(EventRegister(run->stepper.event));
  if (apart) return;
  Ok(ConstraintSetCreate(run->model, &run->stepper.constraints));
  Ok(ConstraintSetSetFromOptions(run->stepper.constraints));
}

static void End(Run *run)
{
  Ok(ConstraintSetDestroy(&run->stepper.constraints));
  Ok(ModelDestroy(&run->model));
}

/* Linear and angular momentum of both, the latter about the origin of space */
static void Momentum(Run *run, PetscReal P[3], PetscReal L[3])
{
  for (PetscInt k = 0; k < 3; k++) P[k] = L[k] = 0;
  Ok(ModelOpen(run->model));
  for (PetscInt i = 0; i < 2; i++) {
    const Domain *d = run->model->domain[i];
    PetscReal     p[3], l[3], arm[3];

    if (!d->batch->ops->momentum) continue; /* an obstacle */
    Ok((*d->batch->ops->momentum)(d->batch, d->lane, p, l));
    Vec3Cross(run->model->body[i]->origin, p, arm);
    for (PetscInt k = 0; k < 3; k++) {
      P[k] += p[k];
      L[k] += l[k] + arm[k];
    }
  }
  Ok(ModelClose(run->model));
}

/* Block (i, j) of W by columns; zero where it is not stored */
static void BlockOf(ConstraintSet set, PetscInt i, PetscInt j, PetscReal w[9])
{
  memset(w, 0, 9 * sizeof(PetscReal));
  for (PetscInt k = set->ptr[i]; k < set->ptr[i + 1]; k++)
    if (set->col[k] == j) memcpy(w, set->w + 9 * k, 9 * sizeof(PetscReal));
}

/* Every column of W is what a unit impulse on the one body's point, and its opposite on the other's, makes of the relative velocities: by forces in a step
   without contact, from rest, so small that nothing turns, so large that round-off of positions times stiffness does not matter. */
static void test_w(void **state)
{
  static const char *const form[][2] = {{"rigid", "rigid"}, {"obstacle", "rigid"}, {"rigid", "obstacle"}, {"bc", "bc"}, {"bc", "rigid"}, {"obstacle", "bc"}};
  const PetscReal          h         = 1e-2, push = 1e-2;

  (void)state;
  for (size_t f = 0; f < sizeof(form) / sizeof(form[0]); f++) {
    const Case        c = {{form[f][0], form[f][1]}, {2, 3}, {0.3, 0.2, 1}, 0.3, {{0}}, {{0}}, PETSC_FALSE, PETSC_FALSE};
    Run               run;
    const Constraint *row;
    PetscReal         size = 0, worst = 0, skew = 0;
    PetscInt          n;
    ConstraintSet     set;

    Start(&c, PETSC_FALSE, &run);
    set = run.stepper.constraints;
    Ok(StepperStep(&run.stepper, 0, h, 0));
    Ok(ConstraintSetGetRows(set, &n, &row));
    assert_true(n >= 4);
    for (PetscInt j = 0; j < n; j++)
      for (PetscInt k = 0; k < 3; k++) {
        Run apart;

        Start(&c, PETSC_TRUE, &apart);
        for (PetscInt s = 0; s < 2; s++) {
          const Domain *d = apart.model->domain[s];
          Function      value;
          MaterialPoint at;

          if (!d->batch->ops->compliance) continue;
          Ok(PartPoint(apart.model->body[s]->part, row[j].point[s].elem, row[j].point[s].xi, &at));
          Ok(FunctionCreate("push", s ? "1e-2" : "-1e-2", NULL, &value));
          Ok(ModelAddForce(apart.model, "push", s, &at, row[j].frame + 3 * k, value));
        }
        Ok(StepperStep(&apart.stepper, 0, h, 0));
        Ok(ModelOpen(apart.model));
        for (PetscInt i = 0; i < n; i++) {
          PetscReal U[3] = {0, 0, 0}, w[9], t[9];

          for (PetscInt s = 0; s < 2; s++) {
            const Domain *d = apart.model->domain[s];
            MaterialPoint at;
            PetscReal     x[3], v[3];

            Ok(PartPoint(apart.model->body[s]->part, row[i].point[s].elem, row[i].point[s].xi, &at));
            Ok((*d->batch->ops->point)(d->batch, d->lane, &at, h, x, v));
            for (PetscInt l = 0; l < 3; l++) U[l] += (s ? 1 : -1) * Vec3Dot(row[i].frame + 3 * l, v);
          }
          BlockOf(set, i, j, w);
          BlockOf(set, j, i, t);
          for (PetscInt l = 0; l < 3; l++) {
            worst = PetscMax(worst, PetscAbsReal(w[3 * k + l] - U[l] / (h * push)));
            size  = PetscMax(size, PetscAbsReal(w[3 * k + l]));
            skew  = PetscMax(skew, PetscAbsReal(w[3 * k + l] - t[3 * l + k]));
          }
        }
        Ok(ModelClose(apart.model));
        End(&apart);
      }
    print_message("  %s on %s: %d blocks, W differs from impulses by %.1e, from its transpose by %.1e\n", form[f][1], form[f][0], (int)n, (double)(worst / size), (double)(skew / size));
    assert_true(size > 0 && worst <= 1e-7 * size);
    assert_true(skew <= 1e-14 * size);
    End(&run);
  }
}

/* U of the rows is W R + Uf, the velocity that the bodies' points have at the end, and obeys the law */
static void test_velocities(void **state)
{
  static const char *const form[][2] = {{"rigid", "rigid"}, {"obstacle", "rigid"}, {"bc", "bc"}, {"bc", "rigid"}};
  const PetscReal          h         = 1e-3;

  (void)state;
  for (size_t f = 0; f < sizeof(form) / sizeof(form[0]); f++) {
    Case              c = {{form[f][0], form[f][1]}, {2, 2}, {0.3, 0.2, 1}, 0, {{0}}, {{0}}, PETSC_FALSE, PETSC_FALSE};
    Run               run;
    const Constraint *row;
    PetscReal         G[9], v[3] = {0.4, 0.2, -1}, sum = 0;
    PetscInt          n;
    ConstraintSet     set;

    RotationFromVector(Turn, G);
    Mat3Vec(G, v, c.velocity[1]);
    c.at[2] += 0.5 * h; /* the second flies at 1 onto the first: touches at the half step */
    Start(&c, PETSC_FALSE, &run);
    set = run.stepper.constraints;
    Ok(StepperStep(&run.stepper, 0, h, 0));
    Ok(ConstraintSetGetRows(set, &n, &row));
    assert_true(n >= 4);
    Ok(ModelOpen(run.model));
    for (PetscInt i = 0; i < n; i++) {
      PetscReal U[3] = {row[i].Uf[0], row[i].Uf[1], row[i].Uf[2]}, end[3] = {0, 0, 0}, tangent;

      for (PetscInt j = 0; j < n; j++) {
        PetscReal w[9];

        BlockOf(set, i, j, w);
        for (PetscInt k = 0; k < 3; k++)
          for (PetscInt l = 0; l < 3; l++) U[l] += w[3 * k + l] * row[j].R[k];
      }
      for (PetscInt s = 0; s < 2; s++) {
        const Domain *d = run.model->domain[s];
        MaterialPoint at;
        PetscReal     x[3], p[3];

        Ok(PartPoint(run.model->body[s]->part, row[i].point[s].elem, row[i].point[s].xi, &at));
        Ok((*d->batch->ops->point)(d->batch, d->lane, &at, h, x, p));
        for (PetscInt l = 0; l < 3; l++) end[l] += (s ? 1 : -1) * Vec3Dot(row[i].frame + 3 * l, p);
      }
      for (PetscInt l = 0; l < 3; l++) {
        assert_true(PetscAbsReal(U[l] - row[i].U[l]) <= 1e-12);
        assert_true(PetscAbsReal(end[l] - row[i].U[l]) <= 1e-3); /* points turn on by half a step */
        assert_true(PetscAbsReal(row[i].U0[l] - (l ? row[i].U0[l] : -1)) <= 1e-12);
      }
      tangent = PetscSqrtReal(PetscSqr(row[i].R[1]) + PetscSqr(row[i].R[2]));
      assert_true(row[i].R[0] >= 0 && tangent <= (0.3 + 1e-9) * row[i].R[0] + 1e-9);
      assert_true(row[i].U[0] >= -1e-9 && row[i].R[0] * row[i].U[0] <= 1e-6);
      sum += row[i].R[0];
    }
    Ok(ModelClose(run.model));
    if (!strcmp(form[f][1], "rigid") && !strcmp(form[f][0], "obstacle")) assert_true(PetscAbsReal(sum - 1e3) <= 1e-6); /* stops 1 t at 1 m/s */
    End(&run);
  }
}

/* A block at rest: its rows bear the weight, at the place below its centre, along nothing else */
static void test_weight(void **state)
{
  static const char *const form[] = {"rigid", "bc"};
  const PetscReal          h = 1e-3, at[][3] = {{0, 0, 1}, {0.3, 0.2, 1}, {0.45, -0.4, 1}};

  (void)state;
  for (size_t f = 0; f < 2; f++)
    for (size_t p = 0; p < 3; p++)
      for (int yaw = 0; yaw < 2; yaw++) {
        Case              c = {{"obstacle", form[f]}, {1, 2}, {at[p][0], at[p][1], at[p][2]}, 0.4 * yaw, {{0}}, {{0}}, PETSC_TRUE, PETSC_FALSE};
        Run               run;
        const Constraint *row;
        PetscReal         F[3] = {0, 0, 0}, M[3] = {0, 0, 0}, G[9], down[3] = {0, 0, -1}, g[3];
        PetscInt          n;

        RotationFromVector(Turn, G);
        Mat3Vec(G, down, g);
        Start(&c, PETSC_FALSE, &run);
        Ok(StepperStep(&run.stepper, 0, h, 0)); /* of the elastic one at the start the impulse is as much: nothing has moved yet but the little that its contact gives way */
        Ok(ConstraintSetGetRows(run.stepper.constraints, &n, &row));
        for (PetscInt i = 0; i < n; i++) {
          PetscReal force[3], arm[3], t[3];

          for (PetscInt k = 0; k < 3; k++) {
            force[k] = (row[i].R[0] * row[i].frame[k] + row[i].R[1] * row[i].frame[3 + k] + row[i].R[2] * row[i].frame[6 + k]) / h;
            arm[k]   = row[i].x[k] - run.model->body[1]->origin[k];
            F[k] += force[k];
          }
          Vec3Cross(arm, force, t);
          for (PetscInt k = 0; k < 3; k++) M[k] += t[k];
        }
        if (f == 0) {
          for (PetscInt k = 0; k < 3; k++) assert_true(PetscAbsReal(F[k] + 9810 * g[k]) <= 1e-6 * 9810 && PetscAbsReal(M[k]) <= 1e-6 * 9810);
        } else { /* Newton and Euler: what the body has gained is the impulse of the rows and of the weight */
          PetscReal P[3], L[3], arm[3];

          Momentum(&run, P, L);
          Vec3Cross(run.model->body[1]->origin, P, arm);
          for (PetscInt k = 0; k < 3; k++) {
            assert_true(PetscAbsReal(P[k] - h * (F[k] + 9810 * g[k])) <= 1e-10 * h * 9810);
            assert_true(PetscAbsReal(L[k] - arm[k] - h * M[k]) <= 1e-6 * h * 9810);
          }
          assert_true(Vec3Norm(F) > 10);
        }
        End(&run);
      }
}

/* Two bodies that meet free in space keep both momenta, but that an impulse over a gap acts on points that are the gap apart: it turns them by gap n x R. What
   a deformed bc body lacks for a step comes in the next one. */
static void test_momentum(void **state)
{
  static const char *const form[][2] = {{"rigid", "rigid"}, {"bc", "rigid"}, {"bc", "bc"}};
  const PetscReal          h         = 1e-3;

  (void)state;
  for (size_t f = 0; f < 3; f++) {
    Case      c = {{form[f][0], form[f][1]}, {2, 2}, {0.35, 0.15, 1.02}, 0.5, {{0.1, 0.2, 0.1}}, {{0.3, -0.2, 0.1}, {-0.4, 0.5, 0.6}}, PETSC_FALSE, PETSC_FALSE};
    Run       run;
    PetscReal P0[3], L0[3], P[3], L[3], G[9], v[3] = {0.5, -0.3, -2}, lever[3] = {0, 0, 0}, dp = 0, during = 0, after = 0;
    PetscInt  touched = 0, last = -10;

    RotationFromVector(Turn, G);
    Mat3Vec(G, v, c.velocity[1]);
    Start(&c, PETSC_FALSE, &run);
    Momentum(&run, P0, L0);
    for (PetscInt n = 0; n < 400; n++) {
      const Constraint *row;
      PetscInt          nrow;

      Ok(StepperStep(&run.stepper, n * h, h, 0));
      Ok(ConstraintSetGetRows(run.stepper.constraints, &nrow, &row));
      for (PetscInt i = 0; i < nrow; i++) {
        PetscReal force[3], t[3];

        if (row[i].R[0] <= 0) continue;
        last = n;
        touched++;
        for (PetscInt k = 0; k < 3; k++) force[k] = row[i].R[0] * row[i].frame[k] + row[i].R[1] * row[i].frame[3 + k] + row[i].R[2] * row[i].frame[6 + k];
        Vec3Cross(row[i].frame, force, t);
        for (PetscInt k = 0; k < 3; k++) lever[k] += row[i].gap * t[k];
      }
      Momentum(&run, P, L);
      for (PetscInt k = 0; k < 3; k++) {
        const PetscReal d = PetscAbsReal(L[k] - L0[k] - lever[k]) / Vec3Norm(L0);

        dp = PetscMax(dp, PetscAbsReal(P[k] - P0[k]) / Vec3Norm(P0));
        if (last >= n - 1) during = PetscMax(during, d);
        else after = PetscMax(after, d);
      }
    }
    print_message("  %s and %s: %d rows act, momentum %.1e, angular momentum but for gaps %.1e, %.1e in steps of contact, gaps turn by %.1e\n", form[f][0], form[f][1], (int)touched, (double)dp, (double)after, (double)during,
                  (double)(Vec3Norm(lever) / Vec3Norm(L0)));
    assert_true(touched > 0 && last < 390);
    assert_true(dp <= 1e-12 && after <= 1e-11);
    assert_true(during <= (f ? 1e-3 : 1e-12));
    assert_true(Vec3Norm(lever) <= 1e-3 * Vec3Norm(L0));
    End(&run);
  }
}

/* What a contact remembers: by its key, else by its node, if the normal is within 30 degrees; edges by their key only */
static void test_recall(void **state)
{
  ConstraintMemory m[4];
  ContactKey       key;
  const PetscReal  x[3] = {1, 0, 0}, y[3] = {0, 1, 0}, z[3] = {0.3, 0, 0.954}, back[3] = {0, -1, 0};
  PetscInt         at = 0;

  (void)state;
  memset(m, 0, sizeof(m));
  for (PetscInt i = 0; i < 3; i++) {
    m[i].key       = (ContactKey){1, 2, CONTACT_NODE_FACET, 5, 2 * i};
    m[i].normal[i] = 1;
  }
  m[3].key = (ContactKey){1, 3, CONTACT_NODE_FACET, 0, 0};
  key      = m[1].key;
  assert_ptr_equal(ConstraintRecall_Private(4, m, &key, x, &at), &m[1]);
  key.j = 7;
  assert_ptr_equal(ConstraintRecall_Private(4, m, &key, z, &at), &m[2]);
  assert_ptr_equal(ConstraintRecall_Private(4, m, &key, y, &at), &m[1]);
  assert_null(ConstraintRecall_Private(4, m, &key, back, &at));
  key = (ContactKey){1, 2, CONTACT_EDGE_EDGE, 5, 2};
  assert_null(ConstraintRecall_Private(4, m, &key, x, &at));
  assert_ptr_equal(ConstraintRecall_Private(4, m, &m[3].key, x, &at), &m[3]);
  assert_null(ConstraintRecall_Private(0, m, &key, x, &at));
}

static int Begin(void **state)
{
  return UnitStart(state) || FormulationRegisterAll() || SNESRegisterAshlar();
}

int main(void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_w),
    cmocka_unit_test(test_velocities),
    cmocka_unit_test(test_weight),
    cmocka_unit_test(test_momentum),
    cmocka_unit_test(test_recall),
  };

  setenv("PETSC_OPTIONS", "-snes_rtol 1e-11 -contact_friction 0.3", 1);
  return UNIT_MAIN_WITH("set", tests, Begin, UnitEnd);
}
