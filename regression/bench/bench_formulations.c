/* Whole steps of free bodies, as a run makes them (StepperStep and the energy balance), against raw CHOLMOD solves with the same matrix in
   the same run. Both alternate, so that each finds the caches as the other left them; CPU time, least of many. Prints `name: value` lines,
   times in milliseconds. Usage: bench_formulations [-simd 2|4|8] [-seconds per case] [-only name]; scripts/bench formulations runs it
   for every width with the BLAS of that width and judges. */
#include "raw_cholmod.h"
#include "integrators/formulations.h"
#include "integrators/zhangskeel.h"
#include "physics/simd.h"
#include <time.h>

static double Now(void)
{
  struct timespec t;

  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t); /* CPU time: other people's load should not count */
  return t.tv_sec + 1e-9 * t.tv_nsec;
}

static PetscInt Stages = 0; /* log stages made so far: each model has its own, for the time of its phases */

typedef struct {
  Model             model;
  struct _p_Stepper stepper;
  PetscReal         t, h;
  PetscBool         balance;
  PetscLogStage     stage;
  double            best, total;
} Case;

/* `n` free bodies of one part that fly, turn and shake. The part is the model's. */
static PetscErrorCode CaseCreate(Part part, PetscInt n, const char formulation[], TangentKind tangent, PetscReal h, PetscReal eta, PetscBool defaults, const PetscLogEvent event[], Case *c)
{
  unsigned   seed = 1;
  PetscReal *u;
  PetscInt   size;
  char       name[32];

  PetscFunctionBeginUser;
  PetscCall(PetscMemzero(c, sizeof(*c)));
  PetscCall(ModelCreate(PETSC_COMM_SELF, &c->model));
  for (PetscInt i = 0; i < n; i++) {
    Body            body;
    const PetscReal one[9] = {1, 0, 0, 0, 1, 0, 0, 0, 1}, shift[3] = {10. * i, 0, 0};

    PetscCall(PetscSNPrintf(name, sizeof(name), "body_%" PetscInt_FMT, i));
    PetscCall(BodyCreate(name, i, part, &body));
    PetscCall(PetscStrncpy(body->formulation, formulation, sizeof(body->formulation)));
    PetscCall(BodyPlace(body, one, shift));
    body->eta      = eta;
    body->tangent  = tangent;
    body->conserve = defaults;
    body->spin[0] = 1, body->spin[1] = -0.5, body->velocity[2] = 1;
    PetscCall(ModelAddBody(c->model, body));
  }
  PetscCall(ModelSetUp(c->model));
  PetscCall(VecGetArray(c->model->u, &u));
  PetscCall(VecGetLocalSize(c->model->u, &size));
  for (PetscInt i = 0; i < size; i++) {
    seed = seed * 1664525u + 1013904223u;
    u[i] += 1e-3 * ((PetscReal)(seed >> 8) / (1 << 24) - 0.5);
  }
  PetscCall(VecRestoreArray(c->model->u, &u));
  c->h             = h;
  c->balance       = defaults;
  c->stepper.model = c->model;
  c->stepper.rtol = 1e-12, c->stepper.max_it = 25, c->stepper.warn = 0.3;
  c->best = PETSC_MAX_REAL;
  for (PetscInt i = 0; i < EVENT_COUNT; i++) c->stepper.event[i] = event[i];
  PetscCall(PetscSNPrintf(name, sizeof(name), "case %" PetscInt_FMT, Stages++));
  PetscCall(PetscLogStageRegister(name, &c->stage));
  PetscFunctionReturn(0);
}

static PetscErrorCode CaseDestroy(Case *c)
{
  PetscFunctionBeginUser;
  c->model->npart = 0; /* the parts are not its own here */
  PetscCall(ModelDestroy(&c->model));
  PetscFunctionReturn(0);
}

/* One step as a run makes it: with the defaults a balance and its sums follow */
static PetscErrorCode CaseStep(Case *c, PetscBool timed)
{
  PetscReal sum[LEDGER_SIZE];
  double    t, wall;

  PetscFunctionBeginUser;
  if (timed) PetscCall(PetscLogStagePush(c->stage));
  wall = MPI_Wtime();
  t = Now();
  PetscCall(StepperStep(&c->stepper, c->t, c->h, c->balance ? 1 : 0));
  if (c->balance) {
    PetscCall(StepperEnergies(&c->stepper, c->t + c->h, c->h, 1));
    PetscCall(ModelLedger(c->model, sum));
  }
  t    = Now() - t;
  wall = MPI_Wtime() - wall;
  c->t += c->h;
  if (!timed) PetscFunctionReturn(0);
  PetscCall(PetscLogStagePop());
  c->total += wall;
  c->best = PetscMin(c->best, t);
  PetscFunctionReturn(0);
}

static PetscErrorCode CasePrint(Case *c, const char name[], const char what[])
{
  PetscFunctionBeginUser;
  PetscCall(PetscPrintf(PETSC_COMM_SELF, "%s_%s: %.4g\n%s_%s_phases_percent:", name, what, 1e3 * c->best, name, what));
  for (PetscInt i = 0; i < EVENT_OUTPUT; i++) {
    PetscEventPerfInfo info;

    PetscCall(PetscLogEventGetPerfInfo(c->stage, c->stepper.event[i], &info));
    if (info.count) PetscCall(PetscPrintf(PETSC_COMM_SELF, " %s %.1f", EventNames[i], 100 * info.time / c->total));
  }
  PetscCall(PetscPrintf(PETSC_COMM_SELF, "\n"));
  PetscFunctionReturn(0);
}

/* One part, n bodies: steps with the least options and with the defaults, and n raw solves, in turn */
static PetscErrorCode BenchBC(const char name[], Mesh mesh, PetscInt n, double seconds, const PetscLogEvent event[])
{
  const Material  material = {1e7, 0.25, 1e3, PETSC_FALSE};
  const PetscReal h = 1e-3, eta[3] = {0, 0, 1e-4};
  const char     *what[3] = {"lean_step", "default_step", "damped_step"};
  PetscReal       raw = PETSC_MAX_REAL;
  PetscInt        laps = 0;
  double          start;
  Part            part;
  Case            c[3];
  Raw             r;

  PetscFunctionBeginUser;
  PetscCall(PartCreate(name, mesh, &material, &part));
  for (PetscInt i = 0; i < 3; i++) {
    PetscCall(CaseCreate(part, n, "bc", TANGENT_CORRECTED, h, eta[i], i ? PETSC_TRUE : PETSC_FALSE, event, &c[i]));
    for (PetscInt k = 0; k < 3; k++) PetscCall(CaseStep(&c[i], PETSC_FALSE)); /* the factor, and whatever is made when first needed */
  }
  PetscCall(RawCreatePart(part, 1, 0.25 * h * h, &r));
  for (PetscInt round = 0; round < 3; round++) /* rounds, so that a busy spell does not hit one of them alone */
    for (PetscInt i = 0; i < 3; i++) {
      start = Now();
      for (PetscInt k = 0; k < 5 || Now() - start < seconds / 9; k++, laps++) {
        double t = Now();

        for (PetscInt j = 0; j < n; j++) RawSolve(&r);
        raw = PetscMin(raw, Now() - t);
        PetscCall(CaseStep(&c[i], PETSC_TRUE));
      }
    }
  PetscCall(PetscPrintf(PETSC_COMM_SELF, "%s_dofs: %" PetscInt_FMT "\n%s_bodies: %" PetscInt_FMT "\n%s_laps: %" PetscInt_FMT "\n%s_nonzeros_cholmod: %.4g\n%s_solves_cholmod: %.4g\n", name,
                        3 * part->nnode, name, n, name, laps, name, r.cc.lnz, name, 1e3 * raw));
  for (PetscInt i = 0; i < 3; i++) {
    PetscCall(CasePrint(&c[i], name, what[i]));
    PetscCall(PetscPrintf(PETSC_COMM_SELF, "%s_%s_ratio: %.3f\n", name, what[i], c[i].best / raw));
    PetscCall(CaseDestroy(&c[i]));
  }
  RawDestroy(&r);
  PetscCall(PartDestroy(&part));
  PetscFunctionReturn(0);
}

/* The tangent's assembly, insertion included; then whole steps of one body, released with its diameters changed by 1 %, with the tangent corrected and
   factored, as bc, and raw solves, in turn */
static PetscErrorCode BenchTL(const char name[], Mesh mesh, double seconds, const PetscLogEvent event[])
{
  const Material    material   = {1e7, 0.25, 1e3, PETSC_FALSE};
  const PetscReal   h          = 1e-3, eta = 1e-4;
  const char *const what[3]    = {"corrected_step", "factored_step", "bc_step"};
  PetscReal         best = PETSC_MAX_REAL, raw = PETSC_MAX_REAL, *a, *f;
  const PetscInt    nelem = mesh->nelem, steps = 12;
  double            start = Now();
  Part              part;
  Case              c[3];
  Raw               r;

  PetscFunctionBeginUser;
  PetscCall(PartCreate(name, mesh, &material, &part));
  PetscCall(PartSetUpElastic(part));
  PetscCall(PetscMalloc2(9 * part->pattern.ia[part->pattern.nb], &a, 3 * part->nnode, &f));
  while (Now() - start < seconds) {
    double t = Now();

    PetscCall(AssemblyTangent(part->assembly, &part->elastic, mesh->coord, 1, a, f));
    best = PetscMin(best, Now() - t);
  }
  PetscCall(PetscFree2(a, f));
  PetscCall(PetscPrintf(PETSC_COMM_SELF, "%s_elements: %" PetscInt_FMT "\n%s_assembled_elements_per_second: %.0f\n", name, nelem, name, nelem / best));
  for (PetscInt i = 0; i < 3; i++) {
    PetscCall(CaseCreate(part, 1, i < 2 ? "tl" : "bc", i == 1 ? TANGENT_FACTORED : TANGENT_CORRECTED, h, eta, PETSC_TRUE, event, &c[i]));
    PetscCall(ModelOpen(c[i].model));
    for (PetscInt k = 0; k < part->nnode; k++) {
      c[i].model->batch[0]->q[3 * k + 1] += 0.005 * part->X[3 * k + 1];
      c[i].model->batch[0]->q[3 * k + 2] -= 0.005 * part->X[3 * k + 2];
    }
    PetscCall(ModelClose(c[i].model));
    PetscCall(CaseStep(&c[i], PETSC_FALSE));
  }
  PetscCall(RawCreatePart(part, 1, 0.5 * eta * h + 0.25 * h * h, &r));
  c[0].model->batch[0]->nsolve = 0;
  for (PetscInt k = 0; k < steps; k++) {
    double t = Now();

    RawSolve(&r);
    raw = PetscMin(raw, Now() - t);
    for (PetscInt i = 0; i < 3; i++) PetscCall(CaseStep(&c[i], PETSC_TRUE));
  }
  PetscCall(PetscPrintf(PETSC_COMM_SELF, "%s_dofs: %" PetscInt_FMT "\n%s_solves_cholmod: %.4g\n%s_corrections_per_step: %.2f\n%s_steps_factored_after_correction: %" PetscInt_FMT "\n", name, 3 * part->nnode, name, 1e3 * raw, name,
                        (double)c[0].model->batch[0]->nsolve / steps, name, c[0].model->batch[0]->nfallback));
  for (PetscInt i = 0; i < 3; i++) {
    PetscCall(CasePrint(&c[i], name, what[i]));
    PetscCall(CaseDestroy(&c[i]));
  }
  RawDestroy(&r);
  PetscCall(PartDestroy(&part));
  PetscFunctionReturn(0);
}

static PetscErrorCode Run(void)
{
  static const struct {
    const char *name;
    PetscInt    cells[3], bodies; /* 0: a pipe */
  } list[] = {
    {"box432",  {3, 5, 5},   100},
    {"pipe5k",  {18, 18, 4}, 0  },
    {"pipe20k", {36, 36, 4}, 0  },
    {"pipe50k", {57, 57, 4}, 0  }
  };
  PetscLogEvent event[EVENT_COUNT];
  PetscInt      simd    = 0;
  PetscReal     seconds = 3;
  char          only[32] = "";
  PetscBool     set, same;
  Mesh          mesh;

  PetscFunctionBeginUser;
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-simd", &simd, NULL));
  PetscCall(PetscOptionsGetReal(NULL, NULL, "-seconds", &seconds, NULL));
  PetscCall(PetscOptionsGetString(NULL, NULL, "-only", only, sizeof(only), &set));
  PetscCall(SIMDSetWidth(simd));
  PetscCall(FormulationRegisterAll());
  PetscCall(EventRegister(event));
  PetscCall(PetscPrintf(PETSC_COMM_SELF, "simd: %" PetscInt_FMT "\n", SIMDWidth()));
  for (size_t i = 0; i < PETSC_STATIC_ARRAY_LENGTH(list); i++) {
    PetscCall(PetscStrcmp(only, list[i].name, &same));
    if (set && !same) continue;
    if (list[i].bodies) PetscCall(MeshCreateBox((PetscReal[]){0.03, 0.05, 0.05}, list[i].cells, &mesh));
    else PetscCall(MeshCreatePipe(0.01, 0.005, 0.1, list[i].cells, &mesh));
    PetscCall(BenchBC(list[i].name, mesh, PetscMax(list[i].bodies, 1), seconds, event));
  }
  PetscCall(PetscStrcmp(only, "tl", &same));
  if (!set || same) {
    PetscCall(MeshCreatePipe(0.01, 0.005, 0.1, (PetscInt[]){36, 36, 4}, &mesh));
    PetscCall(BenchTL("tl", mesh, 0.3 * seconds, event));
  }
  PetscFunctionReturn(0);
}

int main(int argc, char **argv)
{
  PetscErrorCode e;

  if (PetscInitialize(&argc, &argv, NULL, NULL)) return 1;
  e = PetscLogDefaultBegin(); /* as the program does */
  if (!e) e = Run();
  return PetscFinalize() || e ? 1 : 0;
}
