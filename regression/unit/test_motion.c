/* Motion of free bodies, stepped through Model and Stepper: what is conserved, what is reversible, what stays at rest, rigid bodies. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include "integrators/formulations.h"
#include "integrators/zhangskeel.h"
#include "physics/rotation.h"

#define CALL(...) assert_int_equal(__VA_ARGS__, 0)

/* value <= limit, and the figures when it is not */
static void Below(const char what[], PetscReal value, PetscReal limit)
{
  if (!(value <= limit)) fail_msg("%s: %.3g, at most %.3g", what, (double)value, (double)limit);
}

typedef struct {
  const char *formulation;
  PetscReal   size[3];
  PetscInt    cells[3], n;                          /* n bodies, turned by rotate times 1, 2, ... */
  PetscReal   young, rotate[3], velocity[3], spin[3];
  PetscBool   loose, volume, heavy;                 /* not conserve; frame; gravity */
} Case;

typedef struct {
  Model             model;
  Part              part;
  struct _p_Stepper stepper;
} Run;

static void Start(const Case *c, Run *run)
{
  const Material material = {c->young, 0.26, 7.8e3, PETSC_FALSE};
  const char    *g[3] = {"0.3", "-1", "-9.81"};
  Mesh           mesh;

  memset(run, 0, sizeof(*run));
  CALL(ModelCreate(PETSC_COMM_SELF, &run->model));
  CALL(MeshCreateBox(c->size, c->cells, &mesh));
  CALL(PartCreate("part", mesh, &material, &run->part));
  CALL(ModelAddPart(run->model, run->part));
  for (PetscInt i = 0; i < PetscMax(c->n, 1); i++) {
    Body      body;
    PetscReal R[9], r[3], shift[3] = {1, 2, 3};

    for (int k = 0; k < 3; k++) r[k] = (i + 1) * c->rotate[k];
    RotationFromVector(r, R);
    CALL(BodyCreate("body", i, run->part, &body));
    CALL(BodyPlace(body, R, shift));
    CALL(PetscStrncpy(body->formulation, c->formulation, sizeof(body->formulation)));
    CALL(PetscArraycpy(body->velocity, c->velocity, 3));
    CALL(PetscArraycpy(body->spin, c->spin, 3));
    body->conserve = c->loose ? PETSC_FALSE : PETSC_TRUE;
    body->frame    = c->volume ? FRAME_VOLUME : FRAME_MASS;
    CALL(ModelAddBody(run->model, body));
  }
  CALL(ModelSetUp(run->model));
  if (c->heavy)
    for (int k = 0; k < 3; k++) CALL(FunctionCreate("gravity", g[k], NULL, &run->model->gravity[k]));
  run->stepper.model = run->model;
  CALL(EventRegister(run->stepper.event));
}

static void End(Run *run)
{
  CALL(ModelDestroy(&run->model));
}

static void Momentum(Run *run, PetscReal p[3], PetscReal l[3])
{
  Batch b = run->model->batch[0];

  CALL(ModelOpen(run->model));
  CALL((*b->ops->momentum)(b, 0, p, l));
  CALL(ModelClose(run->model));
}

static PetscReal Distance(const PetscReal *a, const PetscReal *b, PetscInt n)
{
  PetscReal d = 0;

  for (PetscInt i = 0; i < n; i++) d = PetscMax(d, PetscIsInfOrNanReal(a[i] - b[i]) ? PETSC_MAX_REAL : PetscAbsReal(a[i] - b[i]));
  return d;
}

/* q (which 0) or u (1) of body 0, copied */
static void State(Run *run, int which, PetscReal **copy, PetscInt *n)
{
  Batch b = run->model->batch[0];

  *n = which ? b->nu : b->nq;
  CALL(PetscMalloc1(*n, copy));
  CALL(ModelOpen(run->model));
  for (PetscInt i = 0; i < *n; i++) (*copy)[i] = (which ? b->u : b->q)[BatchIndex(b, *n, 0, i)];
  CALL(ModelClose(run->model));
}

static const PetscReal Tumble[3] = {1, 0.7, 3}, Fly[3] = {3, -2, 1};

static void test_momentum(void **state)
{
  static const char *const form[] = {"tl", "bc", "bc", "rigid"};
  const PetscReal          h      = 1. / 256;

  (void)state;
  for (int stiff = 0; stiff < 2; stiff++)
    for (int f = 0; f < 4; f++)
      for (int motion = 0; motion < 3; motion++) { /* turns, flies, both */
        Case      c = {form[f], {0.1, 0.1, 1}, {2, 2, 10}, 1, stiff ? 2e8 : 2e6, {0.4, -1, 2}, {0}, {0}, PETSC_FALSE, f == 2, PETSC_FALSE};
        Run       run;
        PetscReal p0[3], l0[3], p[3], l[3], worst = 0, turn = 0, scale;

        for (int k = 0; k < 3; k++) {
          c.spin[k]     = motion == 1 ? 0 : Tumble[k];
          c.velocity[k] = motion == 0 ? 0 : Fly[k];
        }
        Start(&c, &run);
        Momentum(&run, p0, l0);
        scale = Vec3Norm(l0);
        if (motion != 1) assert_true(scale > 1);
        for (PetscInt n = 0; n < 1000; n++) {
          CALL(StepperStep(&run.stepper, n * h, h, 0));
          Momentum(&run, p, l);
          worst = PetscMax(worst, Distance(p, p0, 3));
          turn  = PetscMax(turn, Distance(l, l0, 3) / (scale + Vec3Norm(p0) * Vec3Norm(c.velocity) * n * h)); /* about a fixed point: the arm grows */
        }
        Below("linear momentum", worst, 1e-12 * (motion ? Vec3Norm(p0) : run.part->total * 1.5));
        if (motion != 1) Below("angular momentum", turn, 1e-12);
        End(&run);
      }
}

/* Without conserve the scheme itself loses angular momentum: the test above can fail. */
static void test_momentum_loose(void **state)
{
  const Case c = {"bc", {0.1, 0.1, 1}, {2, 2, 10}, 1, 2e6, {0}, {0}, {1, 0.7, 3}, PETSC_TRUE, PETSC_FALSE, PETSC_FALSE};
  Run        run;
  PetscReal  p0[3], l0[3], p[3], l[3];

  (void)state;
  Start(&c, &run);
  Momentum(&run, p0, l0);
  for (PetscInt n = 0; n < 100; n++) CALL(StepperStep(&run.stepper, n / 256., 1. / 256, 0));
  Momentum(&run, p, l);
  assert_true(Distance(l, l0, 3) > 1e-9 * Vec3Norm(l0));
  End(&run);
}

static void test_reversible(void **state)
{
  static const char *const form[] = {"tl", "bc", "bc", "bc", "rigid", "tl"};

  (void)state;
  for (int f = 0; f < 6; f++) {
    const Case c = {form[f], {0.1, 0.2, 1}, {2, 2, 10}, 1, 2e6, {0.4, -1, 2}, {3, -2, 1}, {1, 0.7, 3}, f == 3 || f == 5, f == 2, PETSC_TRUE};
    const PetscReal h = 1. / 64;
    Run        run;
    PetscReal *q0, *u0, *q1, *q2, *u2;
    PetscInt   nq, nu;

    Start(&c, &run);
    State(&run, 0, &q0, &nq);
    State(&run, 1, &u0, &nu);
    for (PetscInt n = 0; n < 64; n++) CALL(StepperStep(&run.stepper, n * h, h, 0));
    State(&run, 0, &q1, &nq);
    assert_true(Distance(q0, q1, nq) > 1);
    for (PetscInt n = 64; n > 0; n--) CALL(StepperStep(&run.stepper, n * h, -h, 0));
    State(&run, 0, &q2, &nq);
    State(&run, 1, &u2, &nu);
    Below(form[f], Distance(q0, q2, nq), 1e-12);
    /* u of a rigid body has L in it, which is of the size of the mass */
    Below("velocity", Distance(u0, u2, nu) / (strcmp(form[f], "rigid") ? 10 : 1e3), 1e-12);
    CALL(PetscFree(q0));
    CALL(PetscFree(u0));
    CALL(PetscFree(q1));
    CALL(PetscFree(q2));
    CALL(PetscFree(u2));
    End(&run);
  }
}

/* bc, placed by any rotation: no stress, and it stays so whatever the step */
static void test_rest(void **state)
{
  static const PetscReal turn[][3] = {
    {PETSC_PI, 0,        0       },
    {0,        PETSC_PI, 0       },
    {0,        0,        PETSC_PI},
    {1.2,      -0.3,     0.5     },
    {0,        2.2,      2.2     },
    {1e-9,     0,        0       }
  };
  static const PetscReal step[] = {1e-6, 1e-3, 1, 100};

  (void)state;
  for (size_t r = 0; r < 6; r++)
    for (int kind = 0; kind < 4; kind++) {
      const Case c = {"bc", {0.3, 0.4, 0.6}, {2, 3, 2}, 9, kind % 2 ? 2e11 : 2e6, {turn[r][0], turn[r][1], turn[r][2]}, {0}, {0}, kind > 1, kind == 1 || kind == 2, PETSC_FALSE};

      for (size_t k = 0; k < 4; k++) {
        Run        run;
        PetscReal *q0, *q1, worst = 0;
        PetscInt   nq;

        Start(&c, &run);
        State(&run, 0, &q0, &nq);
        for (PetscInt n = 0; n <= 100; n++) {
          if (n) CALL(StepperStep(&run.stepper, n * step[k], step[k], 0));
          if (n % 25) continue;
          CALL(ModelOpen(run.model));
          for (PetscInt d = 0; d < 9; d++)
            for (PetscInt e = 0; e < run.part->mesh->nelem; e++) {
              const PetscReal xi[3] = {0.3, -0.2, 0.9};
              PetscReal       s[6], m;

              CALL((*run.model->batch[0]->ops->stress)(run.model->batch[0], d, e, xi, s, &m));
              for (int i = 0; i < 6; i++) worst = PetscMax(worst, PetscAbsReal(s[i]));
            }
          CALL(ModelClose(run.model));
        }
        State(&run, 0, &q1, &nq);
        Below("stress", worst, 1e-12 * c.young);
        Below("way", Distance(q0, q1, nq), 1e-13);
        CALL(PetscFree(q0));
        CALL(PetscFree(q1));
        End(&run);
      }
    }
}

/* A rigidly turning body seen at the half step is stretched by sqrt(1 + (h omega/2)^2) across the axis, and has turned by atan(h omega/2).
   As E grows, the step takes up just that: h/4 du = -Lambda (U - I) X. */
static void test_stretch(void **state)
{
  (void)state;
  for (int kind = 0; kind < 4; kind++)
    for (PetscReal ho = 0.01; ho < 10; ho *= 8) {
      const PetscReal omega = 2, h = ho / omega, s = PetscSqrtReal(1 + ho * ho / 4), phi = atan(ho / 2);
      const Case      c = {"bc", {0.3, 0.4, 0.6}, {2, 3, 2}, 1, 1e14 / (h * h), {0}, {0}, {0, 0, omega}, kind > 1, kind % 2, PETSC_FALSE};
      Run             run;
      PetscReal      *u0, *u1, R[9], turn[3] = {0, 0, phi}, sum = 0, norm = 0, off = 0;
      PetscInt        nu;

      Start(&c, &run);
      RotationFromVector(turn, R);
      State(&run, 1, &u0, &nu);
      CALL(StepperStep(&run.stepper, 0, h, 0));
      State(&run, 1, &u1, &nu);
      for (PetscInt i = 0; i < nu; i += 3) {
        const PetscReal *X = run.part->X + i, du[3] = {-h / 4 * (u1[i] - u0[i]), -h / 4 * (u1[i + 1] - u0[i + 1]), -h / 4 * (u1[i + 2] - u0[i + 2])};
        PetscReal        d[3];

        Mat3TransposeVec(R, du, d);
        sum += d[0] * X[0] + d[1] * X[1];
        norm += X[0] * X[0] + X[1] * X[1];
        off = PetscMax(off, PetscMax(PetscAbsReal(d[0] - (s - 1) * X[0]), PetscAbsReal(d[1] - (s - 1) * X[1])));
      }
      Below("mean stretch", PetscAbsReal(1 + sum / norm - s), 1e-10 * s);
      Below("stretch", off, 1e-6 * s); /* with round-off in the rigid modes: A0 is 1e11 times stiffer than they are heavy */
      CALL(PetscFree(u0));
      CALL(PetscFree(u1));
      End(&run);
    }
}

/* Euler's equations by the classical Runge-Kutta method: Lambda' = Lambda skew(W), J W' = J W x W */
static void Euler(const PetscReal J[3], const PetscReal y[12], PetscReal dy[12])
{
  PetscReal S[9];

  Mat3Skew(y + 9, S);
  Mat3Mult(y, S, dy);
  for (int i = 0; i < 3; i++) {
    const int j = (i + 1) % 3, k = (i + 2) % 3;

    dy[9 + i] = (J[j] - J[k]) * y[9 + j] * y[9 + k] / J[i];
  }
}

static void RungeKutta(const PetscReal J[3], PetscReal t, PetscInt n, PetscReal y[12])
{
  const PetscReal h = t / n;
  PetscReal       k1[12], k2[12], k3[12], k4[12], z[12];

  for (PetscInt s = 0; s < n; s++) {
    Euler(J, y, k1);
    for (int i = 0; i < 12; i++) z[i] = y[i] + h / 2 * k1[i];
    Euler(J, z, k2);
    for (int i = 0; i < 12; i++) z[i] = y[i] + h / 2 * k2[i];
    Euler(J, z, k3);
    for (int i = 0; i < 12; i++) z[i] = y[i] + h * k3[i];
    Euler(J, z, k4);
    for (int i = 0; i < 12; i++) y[i] += h / 6 * (k1[i] + 2 * k2[i] + 2 * k3[i] + k4[i]);
  }
}

static PetscReal Kinetic(Run *run)
{
  PetscReal sum[LEDGER_SIZE];

  CALL(StepperEnergies(&run->stepper, 0, 0, 0));
  CALL(ModelLedger(run->model, sum));
  return sum[LEDGER_KINETIC];
}

static const Case Brick = {"rigid", {1, 2, 3}, {1, 1, 1}, 1, 0, {0}, {0}, {0.1, 1, 0.2}, PETSC_FALSE, PETSC_FALSE, PETSC_FALSE};

/* m/12 (b^2 + c^2) of a box */
static void BoxInertia(const PetscReal s[3], PetscReal density, PetscReal J[3])
{
  for (int i = 0; i < 3; i++) {
    const PetscReal b = s[(i + 1) % 3], c = s[(i + 2) % 3];

    J[i] = density * s[0] * s[1] * s[2] * (b * b + c * c) / 12;
  }
}

static void test_rigid_long(void **state)
{
  Run       run;
  PetscReal p[3], l[3], l0[3], J[3], e0, w = 0, drift = 0, turn = 0, *q, C[9];
  PetscInt  nq;

  (void)state;
  Start(&Brick, &run);
  BoxInertia(Brick.size, 7.8e3, J);
  Momentum(&run, p, l0);
  e0 = Kinetic(&run);
  for (int i = 0; i < 3; i++) {
    assert_true(PetscAbsReal(l0[i] - J[i] * Brick.spin[i]) <= 1e-13 * J[i]);
    w += J[i] * Brick.spin[i] * Brick.spin[i] / 2;
  }
  assert_true(PetscAbsReal(e0 - w) <= 1e-13 * w);
  for (PetscInt n = 1; n <= 100000; n++) { /* |omega| is about 1 */
    CALL(StepperStep(&run.stepper, n * 0.05, 0.05, 0));
    if (n % 1000) continue;
    drift = PetscMax(drift, PetscAbsReal(Kinetic(&run) - e0));
    Momentum(&run, p, l);
    turn = PetscMax(turn, Distance(l, l0, 3));
  }
  Below("energy", drift, 1e-10 * e0);
  Below("angular momentum", turn, 1e-12 * Vec3Norm(l0));
  State(&run, 0, &q, &nq);
  Mat3MultTransposeLeft(q + 3, q + 3, C);
  for (int i = 0; i < 9; i++) assert_true(PetscAbsReal(C[i] - (i % 4 ? 0 : 1)) <= 1e-14);
  CALL(PetscFree(q));
  End(&run);
}

static void test_rigid_order(void **state)
{
  PetscReal J[3], y[12] = {1, 0, 0, 0, 1, 0, 0, 0, 1, 0.1, 1, 0.2}, error[4];

  (void)state;
  BoxInertia(Brick.size, 7.8e3, J);
  RungeKutta(J, 2, 4000, y);
  for (int k = 0; k < 4; k++) {
    const PetscInt n = 20 << k;
    Run            run;
    PetscReal     *q;
    PetscInt       nq;

    Start(&Brick, &run);
    for (PetscInt s = 0; s < n; s++) CALL(StepperStep(&run.stepper, 2. * s / n, 2. / n, 0));
    State(&run, 0, &q, &nq);
    error[k] = Distance(q + 3, y, 9);
    CALL(PetscFree(q));
    End(&run);
    if (k) {
      const PetscReal rate = PetscLog2Real(error[k - 1] / error[k]);

      if (!(rate > 1.95 && rate < 2.05)) fail_msg("order %g", (double)rate);
    }
  }
  Below("error at h = 0.1", error[0], 5e-3);
}

/* Steps that turn the body too far for the implicit map: the splitting, which keeps L, and the energy within bounds */
static void test_rigid_far(void **state)
{
  static const PetscReal step[] = {2.2, 3, 10, 300};

  (void)state;
  for (size_t k = 0; k < 4; k++) {
    Run       run;
    PetscReal p[3], l[3], l0[3], e0, low = 1, high = 1, J[3], L2;

    Start(&Brick, &run);
    BoxInertia(Brick.size, 7.8e3, J);
    Momentum(&run, p, l0);
    L2 = Vec3Dot(l0, l0);
    e0 = Kinetic(&run);
    for (PetscInt n = 0; n < 2000; n++) {
      PetscReal e;

      CALL(StepperStep(&run.stepper, n * step[k], step[k], 0));
      e    = Kinetic(&run) / e0;
      low  = PetscMin(low, e);
      high = PetscMax(high, e);
    }
    Momentum(&run, p, l);
    Below("angular momentum", Distance(l, l0, 3), 1e-12 * Vec3Norm(l0));
    /* whatever the attitude, L^2/2 by the largest and the smallest moment */
    assert_true(low >= (1 - 1e-12) * L2 / (2 * J[0]) / e0 && high <= (1 + 1e-12) * L2 / (2 * J[2]) / e0);
    if (step[k] < 3) Below("energy", PetscMax(1 - low, high - 1), 0.2);
    End(&run);
  }
}

/* About a principal axis (the middle one is unstable) the splitting is exact however far a step turns the body, which shows that it is what is used there. */
static void test_rigid_axis(void **state)
{
  (void)state;
  for (int axis = 0; axis < 3; axis += 2)
    for (PetscReal h = 2.2; h < 10; h *= 4) {
      const PetscInt steps = h < 3 ? 100 : 1; /* longer steps blow round-off up about any axis */
      Case           c     = Brick;
      Run            run;
      PetscReal *q, turn[3] = {0}, R[9];
      PetscInt   nq;

      for (int k = 0; k < 3; k++) c.spin[k] = k == axis ? 1 : 0;
      Start(&c, &run);
      for (PetscInt n = 0; n < steps; n++) CALL(StepperStep(&run.stepper, n * h, h, 0));
      State(&run, 0, &q, &nq);
      turn[axis] = remainder(steps * h, 2 * PETSC_PI);
      RotationFromVector(turn, R);
      Below("rotation", Distance(q + 3, R, 9), 1e-11);
      CALL(PetscFree(q));
      End(&run);
    }
}

static void test_parabola(void **state)
{
  static const char *const form[] = {"tl", "bc", "rigid"};
  const PetscReal          g[3] = {0.3, -1, -9.81}, h = 0.01;

  (void)state;
  for (int f = 0; f < 3; f++) {
    Case      c = {form[f], {0.1, 0.2, 0.3}, {2, 2, 2}, 1, 2e6, {1, 2, 3}, {3, -2, 1}, {1, 0.7, 3}, PETSC_FALSE, PETSC_FALSE, PETSC_TRUE};
    Run       run;
    PetscReal p[3], l[3], a[3], sum[LEDGER_SIZE], t = 0, work = 0;

    Start(&c, &run);
    for (PetscInt n = 0; n < 500; n++) CALL(StepperStep(&run.stepper, n * h, h, 0));
    t = 500 * h;
    Momentum(&run, p, l);
    CALL(ModelOpen(run.model));
    for (int k = 0; k < 3; k++) {
      Batch b = run.model->batch[0];

      a[k] = 0;
      if (f == 2) a[k] = b->q[k];
      else
        for (PetscInt i = 0; i < run.part->nnode; i++) a[k] += run.part->mass[i] * b->q[3 * i + k] / run.part->total;
    }
    CALL(ModelClose(run.model));
    CALL(ModelLedger(run.model, sum));
    for (int k = 0; k < 3; k++) {
      const PetscReal way = c.velocity[k] * t + g[k] * t * t / 2;

      Below("velocity", PetscAbsReal(p[k] / run.part->total - c.velocity[k] - g[k] * t), 1e-12 * 50);
      Below("way", PetscAbsReal(a[k] - way), 1e-12 * 120);
      work += run.part->total * g[k] * way;
    }
    Below("work", PetscAbsReal(sum[LEDGER_EXTERNAL] - work), 1e-12 * work);
    End(&run);
  }
}

/* With n cells along each edge the lumped inertia is (1 + 2/n^2) times the continuous one: free motion is the same. */
static void test_rigid_and_stiff(void **state)
{
  PetscReal distance[2];

  (void)state;
  for (int stiff = 0; stiff < 2; stiff++) {
    Case      c = {"bc", {0.2, 0.3, 0.5}, {3, 3, 3}, 1, stiff ? 2e11 : 2e10, {0.4, -1, 2}, {3, -2, 1}, {1, 4, 2}, PETSC_FALSE, PETSC_FALSE, PETSC_TRUE};
    Run       soft, hard;
    PetscReal x[2][3], v[3], point[3] = {0.1, 0.15, 0.25};
    PetscReal h = stiff ? 1e-4 : 2e-4;

    Start(&c, &soft);
    c.formulation = "rigid";
    Start(&c, &hard);
    for (PetscInt n = 0; n * h < 1 - h / 2; n++) {
      CALL(StepperStep(&soft.stepper, n * h, h, 0));
      CALL(StepperStep(&hard.stepper, n * h, h, 0));
    }
    for (int k = 0; k < 2; k++) {
      Run          *run = k ? &hard : &soft;
      MaterialPoint at;
      PetscBool     found;
      PetscReal     placed[3];
      Batch         b = run->model->batch[0];

      Mat3Vec(run->model->body[0]->rotation, point, placed);
      for (int i = 0; i < 3; i++) placed[i] += run->model->body[0]->shift[i];
      CALL(BodyLocatePoint(run->model->body[0], placed, &at, &found));
      assert_true(found);
      CALL(ModelOpen(run->model));
      CALL((*b->ops->point)(b, 0, &at, 1, x[k], v));
      CALL(ModelClose(run->model));
    }
    distance[stiff] = Distance(x[0], x[1], 3);
    End(&soft);
    End(&hard);
  }
  Below("2e10", distance[0], 1e-5);
  Below("2e11", distance[1], 0.35 * distance[0]);
}

int main(int argc, char **argv)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_momentum),   cmocka_unit_test(test_momentum_loose), cmocka_unit_test(test_reversible), cmocka_unit_test(test_rest),
    cmocka_unit_test(test_stretch),    cmocka_unit_test(test_rigid_long),     cmocka_unit_test(test_rigid_order), cmocka_unit_test(test_rigid_far),
    cmocka_unit_test(test_rigid_axis), cmocka_unit_test(test_parabola),       cmocka_unit_test(test_rigid_and_stiff),
  };
  int failed;

  if (PetscInitialize(&argc, &argv, NULL, NULL)) return 1;
  if (FormulationRegisterAll()) return 1;
  failed = cmocka_run_group_tests(tests, NULL, NULL);
  if (PetscFinalize()) return 1;
  return failed;
}
