#include "fclib_mode.h"
#include "error.h"
#include "constraints/blocks.h"
#include "meshes/fclib.h"
#include <errno.h>
#include <sys/stat.h>
#include <time.h>

typedef struct {
  MPI_Comm    comm;
  PetscMPIInt rank, size;
  Dual        dual;
  PetscInt    repeat;
  const char *solution;
} FCLibRun;

/* Time that this process has computed, and no other: what a busy machine does not change */
static PetscReal Seconds_Private(void)
{
  struct timespec t;

  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return t.tv_sec + 1e-9 * t.tv_nsec;
}

/* This rank's share of the blocks: lo .. hi - 1 */
static PetscErrorCode FCLibSolve_Private(FCLibRun *run, const Blocks *b, PetscReal *r, PetscReal *u, PetscReal *seconds, SNESConvergedReason *reason)
{
  const PetscInt lo = (PetscInt)((PetscInt64)b->n * run->rank / run->size), n = (PetscInt)((PetscInt64)b->n * (run->rank + 1) / run->size) - lo, k = b->ptr[lo];
  PetscInt      *ptr;
  SNES           snes;

  PetscFunctionBeginUser;
  PetscCall(PetscMalloc1(n + 1, &ptr));
  for (PetscInt i = 0; i <= n; i++) ptr[i] = b->ptr[lo + i] - k;
  *seconds = PETSC_MAX_REAL;
  PetscCall(DualSetProblem(run->dual, n, ptr, b->col + k, b->w + 9 * k, b->q + 3 * lo, b->row + lo));
  PetscCall(DualGetSNES(run->dual, &snes)); /* objects that a run makes once */
  for (PetscInt l = 0; l < run->repeat; l++) {
    PetscReal t = Seconds_Private();

    PetscCall(DualSetProblem(run->dual, n, ptr, b->col + k, b->w + 9 * k, b->q + 3 * lo, b->row + lo));
    PetscCall(PetscArrayzero(r + 3 * lo, 3 * n));
    PetscCall(DualSolve(run->dual, r + 3 * lo, u + 3 * lo, reason));
    t        = Seconds_Private() - t;
    *seconds = PetscMin(*seconds, t);
  }
  PetscCall(PetscFree(ptr));
  PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, seconds, 1, MPIU_REAL, MPIU_MAX, run->comm));
  if (run->size > 1) { /* each has its share, the others are zero */
    for (PetscInt i = 0; i < b->n; i++)
      for (PetscInt c = 0; c < 3; c++)
        if (i < lo || i >= lo + n) r[3 * i + c] = u[3 * i + c] = 0;
    PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, r, 3 * b->n, MPIU_REAL, MPIU_SUM, run->comm));
    PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, u, 3 * b->n, MPIU_REAL, MPIU_SUM, run->comm));
  }
  PetscFunctionReturn(0);
}

static const char *FCLibName_Private(const char file[])
{
  const char *slash = strrchr(file, '/');

  return slash ? slash + 1 : file;
}

static PetscErrorCode FCLibWrite_Private(FCLibRun *run, const char file[], const FCLibProblem *p, const PetscReal r[], const PetscReal u[])
{
  const PetscInt n = p->dim * p->n + p->m;
  PetscReal     *rs, *us;
  char           target[PETSC_MAX_PATH_LEN];

  PetscFunctionBeginUser;
  PetscCall(PetscSNPrintf(target, sizeof(target), "%s/%s", run->solution, FCLibName_Private(file)));
  PetscCall(PetscMalloc2(n, &rs, n, &us));
  BlocksToScalar(p->n, p->dim, p->m, r, rs);
  BlocksToScalar(p->n, p->dim, p->m, u, us);
  PetscCall(FCLibWriteSolution(file, target, n, rs, us));
  PetscCall(PetscFree2(rs, us));
  PetscFunctionReturn(0);
}

/* What a solver cannot do without. All ranks have the whole problem and find the same; the solver has a part of it on each. */
static PetscErrorCode FCLibCheck_Private(const FCLibProblem *p, const Blocks *b)
{
  PetscFunctionBeginUser;
  for (PetscInt i = 0; i < b->n; i++) {
    const PetscReal *q = b->q + 3 * i;
    PetscReal        trace = 0;
    PetscInt         k     = b->ptr[i];

    while (b->col[k] != i) k++;
    for (PetscInt c = 0; c < 3; c++) trace += b->w[9 * k + 4 * c];
    if (i < p->n) UserCheck(trace > 0 && !PetscIsInfReal(trace), "W has no positive diagonal at contact %" PetscInt_FMT " (from 0)", i);
    else UserCheck(trace > 0 && !PetscIsInfReal(trace), "R has no positive diagonal at bilateral row %" PetscInt_FMT " (from 0)", 3 * (i - p->n));
    UserCheck(!PetscIsInfReal(q[0] * q[0] + q[1] * q[1] + q[2] * q[2]), "%s is too large at %s %" PetscInt_FMT " (from 0)", i < p->n ? "q" : "s", i < p->n ? "contact" : "bilateral row", i < p->n ? i : 3 * (i - p->n));
  }
  PetscFunctionReturn(0);
}

static PetscErrorCode FCLibProblem_Private(FCLibRun *run, const char file[], const FCLibProblem *p, const Blocks *b, PetscReal *r, PetscReal *u, PetscBool *converged)
{
  PetscReal           seconds;
  PetscInt            iterations;
  SolveReport         report;
  SNESConvergedReason reason;
  SNES                snes;
  SNESType            type;

  PetscFunctionBeginUser;
  PetscCall(FCLibCheck_Private(p, b));
  PetscCall(FCLibSolve_Private(run, b, r, u, &seconds, &reason));
  PetscCall(DualGetReport(run->dual, &report, &iterations));
  PetscCall(DualGetSNES(run->dual, &snes));
  PetscCall(SNESGetType(snes, &type));
  PetscCall(PetscPrintf(run->comm, "%s contacts: %" PetscInt_FMT " iterations: %" PetscInt_FMT " merit: %.3e seconds: %.3e reason: %s solver: %s\n", file, p->n, iterations,
                        (double)report.merit, (double)seconds, SNESConvergedReasons[reason], type));
  *converged = reason > 0 ? PETSC_TRUE : PETSC_FALSE;
  PetscFunctionReturn(0);
}

static PetscErrorCode FCLibFile_Private(FCLibRun *run, const char file[], PetscBool *converged)
{
  FCLibProblem  *p = NULL;
  Blocks         b;
  PetscReal     *r, *u;
  PetscErrorCode ierr;

  PetscFunctionBeginUser;
  PetscCall(ErrorAgree(run->comm, FCLibRead(file, &p)));
  if (p->dim != 3) {
    const PetscInt dim = p->dim;

    PetscCall(FCLibProblemDestroy(&p));
    UserError("%s: the problem has %" PetscInt_FMT " dimensions; 3 are needed", file, dim);
  }
  PetscCall(BlocksCreate(p->n, p->dim, p->m, p->ptr, p->col, p->val, p->q, p->mu, &b));
  PetscCall(PetscCalloc2(3 * b.n, &r, 3 * b.n, &u));
  ErrorContext(file);
  ierr = FCLibProblem_Private(run, file, p, &b, r, u, converged);
  ErrorContext(NULL);
  if (!ierr && run->solution[0]) ierr = ErrorAgree(run->comm, run->rank ? 0 : FCLibWrite_Private(run, file, p, r, u));
  PetscCall(PetscFree2(r, u));
  PetscCall(BlocksDestroy(&b));
  PetscCall(FCLibProblemDestroy(&p));
  PetscFunctionReturn(ierr);
}

static int FCLibCompare_Private(const void *a, const void *b)
{
  return strcmp(FCLibName_Private(*(const char *const *)a), FCLibName_Private(*(const char *const *)b));
}

/* Copies are made under the files' own names, so two of one name would be one */
static PetscErrorCode FCLibCheckNames_Private(PetscInt n, const char *const files[], PetscBool copies)
{
  const char **sorted;
  PetscInt     twice = -1;

  PetscFunctionBeginUser;
  for (PetscInt i = 0; i < n; i++) UserCheck(files[i][0], "fclib: the name of file %" PetscInt_FMT " is empty", i + 1);
  if (!copies) PetscFunctionReturn(0);
  PetscCall(PetscMalloc1(n, &sorted));
  for (PetscInt i = 0; i < n; i++) sorted[i] = files[i];
  qsort(sorted, n, sizeof(*sorted), FCLibCompare_Private);
  for (PetscInt i = 1; i < n && twice < 0; i++)
    if (!FCLibCompare_Private(&sorted[i - 1], &sorted[i])) twice = i;
  if (twice >= 0) {
    const char *one = sorted[twice - 1], *other = sorted[twice];

    PetscCall(PetscFree(sorted));
    UserError("fclib_solution: '%s' and '%s' have the same name, so their copies would be one; give one of them alone", one, other);
  }
  PetscCall(PetscFree(sorted));
  PetscFunctionReturn(0);
}

PetscErrorCode FCLibFolder(const char option[], const char folder[])
{
  struct stat info;

  PetscFunctionBeginUser;
  UserCheck(!mkdir(folder, 0777) || errno == EEXIST, "%s: cannot make the folder '%s': %s", option, folder, strerror(errno));
  UserCheck(!stat(folder, &info) && S_ISDIR(info.st_mode), "%s: '%s' is not a folder", option, folder);
  PetscFunctionReturn(0);
}

/* The solver and its objects, with a problem of one contact that makes it read its options, so that what nobody reads is known before anything is done */
static PetscErrorCode FCLibDual_Private(FCLibRun *run)
{
  static const PetscInt  ptr[2] = {0, 1}, col[1] = {0};
  static const PetscReal w[9] = {1, 0, 0, 0, 1, 0, 0, 0, 1}, b[3] = {0, 0, 0};
  static const Row       row = {RELATION_CONE, 3, 0, 0, 0, 0};
  SNES                   snes;

  PetscFunctionBeginUser;
  PetscCall(DualCreate(run->comm, &run->dual));
  PetscCall(DualSetMerit(run->dual, DUAL_MERIT_FCLIB));
  PetscCall(DualSetFromOptions(run->dual));
  PetscCall(DualSetProblem(run->dual, run->rank ? 0 : 1, ptr, col, w, b, &row));
  PetscCall(DualGetSNES(run->dual, &snes));
  PetscFunctionReturn(0);
}

PetscErrorCode RunFCLib(MPI_Comm comm, Settings settings, PetscInt *failed)
{
  FCLibRun           run = {.comm = comm};
  const char *const *files;
  PetscInt           n;

  PetscFunctionBeginUser;
  PetscCallMPI(MPI_Comm_rank(comm, &run.rank));
  PetscCallMPI(MPI_Comm_size(comm, &run.size));
  PetscCall(SettingsGetList(settings, "fclib", &n, &files, NULL));
  PetscCall(SettingsGetInt(settings, "fclib_repeat", 1, &run.repeat, NULL));
  PetscCall(SettingsGetString(settings, "fclib_solution", "", &run.solution, NULL));
  UserCheck(n > 0, "fclib: give files of problems, separated by commas");
  PetscCall(FCLibCheckNames_Private(n, files, run.solution[0] ? PETSC_TRUE : PETSC_FALSE));
  UserCheck(run.repeat > 0, "fclib_repeat: %" PetscInt_FMT " is below 1", run.repeat);
  PetscCall(SettingsToPetsc(settings));
  PetscCall(FCLibDual_Private(&run));
  PetscCall(SettingsCheckUnused(settings));
  PetscCall(ErrorAgree(comm, run.solution[0] && !run.rank ? FCLibFolder("fclib_solution", run.solution) : 0));
  *failed = 0;
  for (PetscInt i = 0; i < n; i++) {
    PetscBool      converged = PETSC_FALSE;
    PetscErrorCode ierr      = FCLibFile_Private(&run, files[i], &converged);

    if (ErrorReport(comm, ierr)) { /* nobody knows in which state the solver is */
      ++*failed;
      PetscCall(DualDestroy(&run.dual));
      PetscCall(FCLibDual_Private(&run));
    } else if (!converged) ++*failed;
  }
  PetscCall(DualDestroy(&run.dual));
  PetscFunctionReturn(0);
}
