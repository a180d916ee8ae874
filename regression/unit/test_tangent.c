/* tl with its tangent corrected against the same with it factored: free motion, order, strong deformation, contact; the Corrector by itself. */
#include "unit.h"
#include <math.h>
#include "integrators/corrector.h"
#include "integrators/formulations.h"
#include "integrators/zhangskeel.h"
#include "physics/rotation.h"

static void Below(const char what[], PetscReal value, PetscReal limit)
{
  if (!(value <= limit)) fail_msg("%s: %.3g, at most %.3g", what, (double)value, (double)limit);
}

typedef struct {
  Model             model;
  struct _p_Stepper stepper;
  PetscInt          nbody;
} Run;

static void Begin(Run *run)
{
  memset(run, 0, sizeof(*run));
  Ok(ModelCreate(PETSC_COMM_SELF, &run->model));
  run->stepper.model = run->model;
  Ok(EventRegister(run->stepper.event));
}

static Part AddPart(Run *run, const char name[], Mesh mesh, PetscBool linear)
{
  const Material material = {1e7, 0.25, 1e3, linear};
  Part           part;

  Ok(PartCreate(name, mesh, &material, &part));
  Ok(ModelAddPart(run->model, part));
  return part;
}

static Body AddBody(Run *run, Part part, const char formulation[], TangentKind tangent, const PetscReal turn[3], const PetscReal shift[3])
{
  PetscReal R[9];
  Body      body;

  RotationFromVector(turn, R);
  Ok(BodyCreate("body", run->nbody++, part, &body));
  Ok(PetscStrncpy(body->formulation, formulation, sizeof(body->formulation)));
  Ok(BodyPlace(body, R, shift));
  body->tangent = tangent;
  Ok(ModelAddBody(run->model, body));
  return body;
}

static void Step(Run *run, PetscInt first, PetscInt n, PetscReal h)
{
  for (PetscInt i = first; i < first + n; i++) {
    Ok(StepperStep(&run->stepper, i * h, h, 1));
    Ok(StepperEnergies(&run->stepper, (i + 1) * h, h, 1));
  }
}

/* Largest difference of velocities, and of positions, of the body with this id in both runs, by the largest velocity and the part's radius */
static PetscReal Apart(Run *a, Run *b, PetscInt id)
{
  const Domain *d[2] = {a->model->domain[id], b->model->domain[id]};
  const PetscInt n   = d[0]->batch->nu;
  PetscReal     um = 0, du = 0, dq = 0;

  Ok(ModelOpen(a->model));
  Ok(ModelOpen(b->model));
  for (PetscInt i = 0; i < n; i++) {
    const PetscInt j = BatchIndex(d[0]->batch, n, d[0]->lane, i), k = BatchIndex(d[1]->batch, n, d[1]->lane, i);

    um = PetscMax(um, PetscAbsReal(d[0]->batch->u[j]));
    du = PetscMax(du, PetscAbsReal(d[0]->batch->u[j] - d[1]->batch->u[k]));
    dq = PetscMax(dq, PetscAbsReal(d[0]->batch->q[j] - d[1]->batch->q[k]));
    if (PetscIsInfOrNanReal(d[0]->batch->u[j] - d[1]->batch->u[k])) du = PETSC_MAX_REAL;
  }
  Ok(ModelClose(a->model));
  Ok(ModelClose(b->model));
  return PetscMax(du / um, dq / d[0]->batch->part->radius);
}

static void Finish(Run *run)
{
  Ok(ConstraintSetDestroy(&run->stepper.constraints));
  Ok(ModelDestroy(&run->model));
}

static const PetscReal Turn[3] = {0.3, 0.4, 0.3}, Shift[3] = {0.1, 0.2, 0.3};

/* A bar that spins and, if `squeezed`, starts shorter by that part of its length */
static void Bar(Run *run, TangentKind tangent, PetscReal eta, PetscReal squeezed, PetscBool implicit)
{
  const PetscReal size[3] = {0.1, 0.1, 1};
  const PetscInt  cells[3] = {2, 2, 8};
  Mesh            mesh;
  Body            body;

  Begin(run);
  Ok(MeshCreateBox(size, cells, &mesh));
  body          = AddBody(run, AddPart(run, "bar", mesh, PETSC_FALSE), "tl", tangent, Turn, Shift);
  body->spin[0] = 3, body->spin[1] = 1;
  body->eta = eta, body->alpha = 0.1;
  run->stepper.implicit = implicit;
  run->stepper.rtol = 1e-12, run->stepper.max_it = 25;
  Ok(ModelSetUp(run->model));
  Ok(ModelOpen(run->model));
  for (PetscInt i = 0; i < run->model->batch[0]->nq; i++) run->model->batch[0]->q[i] *= 1 - squeezed;
  Ok(ModelClose(run->model));
}

static void test_bar(void **state)
{
  (void)state;
  for (int kind = 0; kind < 3; kind++) { /* plain, damped, iterated */
    Run a, b;

    Bar(&a, TANGENT_CORRECTED, kind == 1 ? 1e-3 : 0, 0, kind == 2);
    Bar(&b, TANGENT_FACTORED, kind == 1 ? 1e-3 : 0, 0, kind == 2);
    Step(&a, 0, 100, 1. / 256);
    Step(&b, 0, 100, 1. / 256);
    Below("bar", Apart(&a, &b, 0), 1e-9);
    for (PetscInt k = 0; k < LEDGER_SIZE; k++) Below("ledger", PetscAbsReal(a.model->batch[0]->ledger[k] - b.model->batch[0]->ledger[k]), 1e-9 * b.model->batch[0]->ledger[LEDGER_KINETIC]);
    assert_true(a.model->batch[0]->nsolve > 200 && !b.model->batch[0]->nsolve); /* it was corrected indeed */
    assert_int_equal(a.model->batch[0]->nfallback, 0);
    Finish(&a);
    Finish(&b);
  }
}

static void test_order(void **state)
{
  Run       run[4];
  PetscReal e[3];

  (void)state;
  for (int k = 0; k < 4; k++) {
    const PetscInt n = k < 3 ? 128 << k : 2048;

    Bar(&run[k], TANGENT_CORRECTED, 1e-2, 0, PETSC_FALSE);
    Step(&run[k], 0, n, 0.25 / n);
  }
  for (int k = 0; k < 3; k++) e[k] = Apart(&run[3], &run[k], 0);
  assert_true(e[0] / e[1] > 3.4 && e[0] / e[1] < 4.6 && e[1] / e[2] > 3.4 && e[1] / e[2] < 4.6);
  for (int k = 0; k < 4; k++) Finish(&run[k]);
}

/* Released when its diameters are off by 2 %, at a step for which it counts */
static void Pipe(Run *run, TangentKind tangent)
{
  const PetscInt cells[3] = {8, 18, 2};
  Mesh           mesh;
  Part           part;
  Body           body;
  PetscReal      R[9];

  Begin(run);
  Ok(MeshCreatePipe(0.01, 0.005, 0.1, cells, &mesh));
  part          = AddPart(run, "pipe", mesh, PETSC_FALSE);
  body          = AddBody(run, part, "tl", tangent, Turn, Shift);
  body->spin[0] = 5;
  body->eta     = 1e-4;
  Ok(ModelSetUp(run->model));
  RotationFromVector(Turn, R);
  Ok(ModelOpen(run->model));
  for (PetscInt i = 0; i < part->nnode; i++) {
    const PetscReal X[3] = {0, 0.01 * part->X[3 * i + 1], -0.01 * part->X[3 * i + 2]};
    PetscReal       x[3];

    Mat3Vec(R, X, x);
    for (PetscInt c = 0; c < 3; c++) run->model->batch[0]->q[3 * i + c] += x[c];
  }
  Ok(ModelClose(run->model));
}

static void test_pipe(void **state)
{
  Run a, b;

  (void)state;
  Pipe(&a, TANGENT_CORRECTED);
  Pipe(&b, TANGENT_FACTORED);
  Step(&a, 0, 20, 1e-3);
  Step(&b, 0, 20, 1e-3);
  Below("pipe", Apart(&a, &b, 0), 1e-9);
  assert_true(a.model->batch[0]->nsolve > 6 * 20 && a.model->batch[0]->nsolve < 20 * 20);
  assert_int_equal(a.model->batch[0]->nfallback, 0);
  Finish(&a);
  Finish(&b);
}

/* So far from the undeformed body that its factor is of no use */
static void test_fallback(void **state)
{
  Run a, b;

  (void)state;
  Bar(&a, TANGENT_CORRECTED, 0, 0.3, PETSC_FALSE);
  Bar(&b, TANGENT_FACTORED, 0, 0.3, PETSC_FALSE);
  Step(&a, 0, 1, 1. / 64);
  Step(&b, 0, 1, 1. / 64);
  assert_int_equal(a.model->batch[0]->nfallback, 1);
  Below("squeezed bar", Apart(&a, &b, 0), 1e-9);
  Finish(&a);
  Finish(&b);
}

/* A block falls on the edge of an obstacle and slides; beside it fly a bar, svk or linear, and a spinning one of bc */
static void Fall(Run *run, TangentKind tangent, PetscBool contact, PetscBool linear)
{
  const PetscReal size[3] = {0.03, 0.02, 0.02}, slab[3] = {0.02, 0.1, 0.02}, zero[3] = {0, 0, 0}, below[3] = {0.012, 0, -0.0205}, tilt[3] = {0.1, 0, 0.2}, beside[3] = {0, 1, 0}, far[3] = {0, 2, 0};
  const PetscInt  cells[3] = {4, 3, 3}, one[3] = {1, 1, 1};
  Mesh            mesh;
  Body            body;
  Part            part;

  Begin(run);
  Ok(MeshCreateBox(size, cells, &mesh));
  part = AddPart(run, "block", mesh, PETSC_FALSE);
  body = AddBody(run, part, "tl", tangent, tilt, zero);
  body->velocity[2] = -2, body->velocity[0] = 0.5, body->eta = 1e-4;
  Ok(MeshCreateBox(size, cells, &mesh));
  body = AddBody(run, AddPart(run, "other", mesh, linear), "tl", tangent, tilt, beside);
  body->velocity[2] = 1, body->spin[1] = linear ? 0 : 20, body->eta = 1e-4;
  body = AddBody(run, part, "bc", tangent, tilt, far);
  body->spin[1] = 20;
  Ok(MeshCreateBox(slab, one, &mesh));
  (void)AddBody(run, AddPart(run, "slab", mesh, PETSC_FALSE), "obstacle", tangent, zero, below);
  Ok(ModelSetUp(run->model));
  if (contact) {
    Ok(ConstraintSetCreate(run->model, &run->stepper.constraints));
    Ok(PetscOptionsSetValue(NULL, "-contact_friction", "0.3"));
    Ok(PetscOptionsSetValue(NULL, "-snes_rtol", "1e-12"));
    Ok(ConstraintSetSetFromOptions(run->stepper.constraints));
  }
}

static void test_contact(void **state)
{
  (void)state;
  for (int linear = 0; linear < 2; linear++) {
    Run      a, b, free;
    PetscInt most = 0, passes = 0;

    Fall(&a, TANGENT_CORRECTED, PETSC_TRUE, linear);
    Fall(&b, TANGENT_FACTORED, PETSC_TRUE, linear);
    Fall(&free, TANGENT_CORRECTED, PETSC_FALSE, linear);
    for (PetscInt n = 0; n < 30; n++) {
      ConstraintReport report;
      const PetscInt   before = a.stepper.iterations;

      Step(&a, n, 1, 2e-4);
      Step(&b, n, 1, 2e-4);
      Step(&free, n, 1, 2e-4);
      Ok(ConstraintSetGetReport(a.stepper.constraints, &report));
      most   = PetscMax(most, report.n - report.state[CONTACT_STATE_OPEN]);
      passes = PetscMax(passes, a.stepper.iterations - before);
    }
    assert_true(most > 1 && passes > 3);
    assert_true(Apart(&a, &free, 0) > 1e-3);
    Below("contact", Apart(&a, &b, 0), 1e-8);
    for (PetscInt id = 1; id < 3; id++) assert_true(Apart(&a, &free, id) == 0); /* passes of others do nothing to them */
    Finish(&a);
    Finish(&b);
    Finish(&free);
  }
}

/* x = B x + c with eigenvalues of B from -0.6 to 0.6, and a body that is done and moved again */
static void test_corrector(void **state)
{
  const PetscInt n = 300;
  PetscReal     *x1, change = 1;
  Corrector      c;

  (void)state;
  Ok(PetscMalloc1(n, &x1));
  Ok(CorrectorCreate(n, &c));
  for (int lap = 0; lap < 2; lap++) {
    PetscInt pass = 0;

    if (!lap) Ok(CorrectorStart(c));
    else { /* moved by less, then by more than counts */
      for (PetscInt i = 0; i < n; i++) x1[i] = c->x[i] * (1 + 1e-12);
      Ok(CorrectorAccept(c, x1, &change));
      assert_true(c->done);
      for (PetscInt i = 0; i < n; i++) x1[i] = c->x[i] * (1 + 1e-3 * (i % 3));
      Ok(CorrectorAccept(c, x1, &change));
      assert_true(!c->done && change > 1e-4);
    }
    for (; !c->done && pass < CORRECTOR_MAX; pass++) {
      for (PetscInt i = 0; i < n; i++) x1[i] = -0.6 + 1.2 * i / (n - 1.);
      for (PetscInt i = 0; i < n; i++) x1[i] = x1[i] * c->x[i] + 1 + 0.1 * (i % 7);
      Ok(CorrectorAccept(c, x1, &change));
      assert_false(c->slow);
    }
    assert_true(c->done && pass < 25); /* plain passes would need 45 */
    for (PetscInt i = 0; i < n; i++) Below("fixed point", PetscAbsReal(c->x[i] - (1 + 0.1 * (i % 7)) / (1.6 - 1.2 * i / (n - 1.))), 1e-9 * 4);
  }
  /* what grows is slow, what is not finite is done */
  Ok(CorrectorStart(c));
  for (PetscInt pass = 0; pass < CORRECTOR_MAX && !c->slow; pass++) {
    for (PetscInt i = 0; i < n; i++) x1[i] = (i % 2 ? -1 : 1) * PetscPowReal(1.5, pass) * (1 + PetscSinReal(i * (pass + 1.)));
    Ok(CorrectorAccept(c, x1, &change));
  }
  assert_true(c->slow && !c->done);
  Ok(CorrectorStart(c));
  for (PetscInt i = 0; i < n; i++) x1[i] = i == 7 ? (PetscReal)INFINITY : 1;
  Ok(CorrectorAccept(c, x1, &change));
  assert_true(c->done);
  Ok(CorrectorDestroy(&c));
  Ok(PetscFree(x1));
}

static int Start(void **state)
{
  return UnitStart(state) || FormulationRegisterAll() || SNESRegisterAshlar();
}

int main(void)
{
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_corrector), cmocka_unit_test(test_bar),      cmocka_unit_test(test_order),
                                     cmocka_unit_test(test_pipe),      cmocka_unit_test(test_fallback), cmocka_unit_test(test_contact)};

  return UNIT_MAIN_WITH("tangent", tests, Start, UnitEnd);
}
