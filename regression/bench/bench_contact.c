/* The pipe impact, step by step as a run makes it, in turn with a raw CHOLMOD solve and a product with the same matrix, so that each finds the caches as the
   other left them. CPU time, means over the run; steps in which a node is touched for the first time also apart, since columns are
   made there. Prints `name: value` lines, times in milliseconds. Usage: bench_contact [-formulation bc|tl] [-steps 100] */
#include "raw_cholmod.h"
#include "integrators/formulations.h"
#include "integrators/zhangskeel.h"
#include "physics/compliance.h"
#include <time.h>

static double Now(void)
{
  struct timespec t;

  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t); /* CPU time: other people's load should not count */
  return t.tv_sec + 1e-9 * t.tv_nsec;
}

static PetscErrorCode AddBody(Model model, const char name[], PetscInt id, Mesh mesh, const Material *material, const char formulation[], const PetscReal shift[3])
{
  const PetscReal one[9] = {1, 0, 0, 0, 1, 0, 0, 0, 1};
  Part            part;
  Body            body;

  PetscFunctionBeginUser;
  PetscCall(PartCreate(name, mesh, material, &part));
  part->number = id;
  PetscCall(ModelAddPart(model, part));
  PetscCall(BodyCreate(name, id, part, &body));
  PetscCall(PetscStrncpy(body->formulation, formulation, sizeof(body->formulation)));
  PetscCall(BodyPlace(body, one, shift));
  body->eta = 1e-4;
  PetscCall(ModelAddBody(model, body));
  PetscFunctionReturn(0);
}

/* Columns of compliance made so far */
static PetscErrorCode Columns(Part part, PetscInt64 *n)
{
  PetscFunctionBeginUser;
  *n = 0;
  for (PetscInt i = 0; i < part->nfactor; i++)
    if (part->factors[i].compliance) PetscCall(ComplianceGetInfo(part->factors[i].compliance, n, NULL));
  PetscFunctionReturn(0);
}

static PetscErrorCode Run(void)
{
  const PetscInt    cells[3] = {36, 36, 4}, one[3] = {1, 1, 1};
  const PetscReal   box[3] = {0.01, 0.1, 0.01}, at[2][3] = {{-0.02, 0.05, 0.05}, {0.005, 0.05, 0.005}}, h = 1e-3, eta = 1e-4;
  const Material    soft = {1e7, 0.25, 1e3, PETSC_FALSE}, none = {0, 0, 1, PETSC_FALSE};
  struct _p_Stepper s    = {.rtol = 1e-12, .max_it = 25, .warn = 0.3};
  char              formulation[16] = "bc", name[64];
  PetscInt          steps = 100, touching = 0, first = 0;
  PetscInt64        before, after;
  double            step[4] = {0}, solve = 0, product = 0, factor, t, spent;
  ConstraintReport  report;
  const PetscReal  *x;
  PetscReal        *y, *z, *k, sum[LEDGER_SIZE];
  Model             model;
  Mesh              mesh[2];
  Part              part;
  Raw               raw;

  PetscFunctionBeginUser;
  PetscCall(PetscOptionsGetString(NULL, NULL, "-formulation", formulation, sizeof(formulation), NULL));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-steps", &steps, NULL));
  PetscCall(FormulationRegisterAll());
  PetscCall(SNESRegisterAshlar());
  PetscCall(EventRegister(s.event));
  PetscCall(ModelCreate(PETSC_COMM_SELF, &model));
  PetscCall(MeshCreatePipe(0.01, 0.005, 0.1, cells, &mesh[0]));
  PetscCall(MeshCreateBox(box, one, &mesh[1]));
  PetscCall(AddBody(model, "pipe", 0, mesh[0], &soft, formulation, at[0]));
  PetscCall(AddBody(model, "block", 1, mesh[1], &none, "obstacle", at[1]));
  PetscCall(ModelSetUp(model));
  PetscCall(FunctionCreate("gravity", "-10", NULL, &model->gravity[2]));
  PetscCall(PetscOptionsSetValue(NULL, "-contact_friction", "0.1"));
  s.model = model;
  PetscCall(ConstraintSetCreate(model, &s.constraints));
  PetscCall(ConstraintSetSetFromOptions(s.constraints));
  part = model->part[0];
  PetscCall(RawCreatePart(part, 1, 0.5 * eta * h + 0.25 * h * h, &raw));
  t = Now();
  cholmod_factorize(raw.A, raw.L, &raw.cc);
  factor = Now() - t;
  PetscCall(PetscCalloc2(3 * part->nnode, &y, 3 * part->nnode, &z));
  for (PetscInt i = 0; i < 3 * part->nnode; i++) y[i] = 1e-3 * (i % 17);
  for (PetscInt n = 0; n < steps; n++) {
    PetscCall(Columns(part, &before));
    t = Now();
    PetscCall(StepperStep(&s, n * h, h, 1));
    PetscCall(StepperEnergies(&s, (n + 1) * h, h, 1));
    PetscCall(ModelLedger(model, sum));
    spent = Now() - t;
    PetscCall(Columns(part, &after));
    PetscCall(ConstraintSetGetReport(s.constraints, &report));
    if (n) { /* the first one factors */
      step[0] += spent;
      if (after > before) step[1] += spent, first++;
      else if (report.n) step[2] += spent, touching++;
      else step[3] += spent;
    }
    t = Now();
    RawSolve(&raw);
    solve += Now() - t;
    PetscCall(MatSeqSBAIJGetArray(part->K0, &k));
    x = y;
    t = Now();
    PetscCall(BlockProduct(&part->pattern, k, 1, 1, &x, &z));
    product += Now() - t;
    PetscCall(MatSeqSBAIJRestoreArray(part->K0, &k));
  }
  PetscCall(PetscSNPrintf(name, sizeof(name), "pipe_%s", formulation));
  PetscCall(PetscPrintf(PETSC_COMM_SELF, "%s_dofs: %" PetscInt_FMT "\n%s_raw_factor: %.4g\n%s_raw_solve: %.4g\n%s_product: %.4g\n", name, 3 * part->nnode, name, 1e3 * factor, name, 1e3 * solve / steps, name, 1e3 * product / steps));
  PetscCall(PetscPrintf(PETSC_COMM_SELF, "%s_step: %.4g\n%s_step_free: %.4g\n", name, 1e3 * step[0] / (steps - 1), name, 1e3 * step[3] / PetscMax(1, steps - 1 - first - touching)));
  if (touching) PetscCall(PetscPrintf(PETSC_COMM_SELF, "%s_step_touching: %.4g\n", name, 1e3 * step[2] / touching));
  PetscCall(PetscPrintf(PETSC_COMM_SELF, "%s_step_without_first_touches: %.4g\n", name, 1e3 * (step[0] - step[1]) / PetscMax(1, steps - 1 - first)));
  if (first) PetscCall(PetscPrintf(PETSC_COMM_SELF, "%s_steps_of_first_touches: %" PetscInt_FMT "\n%s_step_of_first_touch: %.4g\n", name, first, name, 1e3 * step[1] / first));
  PetscCall(PetscPrintf(PETSC_COMM_SELF, "%s_columns: %" PetscInt64_FMT "\n", name, after));
  RawDestroy(&raw);
  PetscCall(PetscFree2(y, z));
  PetscCall(ConstraintSetDestroy(&s.constraints));
  PetscCall(ModelDestroy(&model));
  PetscFunctionReturn(0);
}

int main(int argc, char **argv)
{
  if (PetscInitialize(&argc, &argv, NULL, NULL)) return 1;
  if (Run()) return 1;
  return PetscFinalize() ? 1 : 0;
}
