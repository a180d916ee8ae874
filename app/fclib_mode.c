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

static PetscErrorCode FCLibWrite_Private(FCLibRun *run, const char file[], const FCLibProblem *p, const PetscReal r[], const PetscReal u[])
{
  const char    *slash = strrchr(file, '/'), *name = slash ? slash + 1 : file;
  const PetscInt n = p->dim * p->n + p->m;
  PetscReal     *rs, *us;
  char           target[PETSC_MAX_PATH_LEN];

  PetscFunctionBeginUser;
  PetscCall(PetscSNPrintf(target, sizeof(target), "%s/%s", run->solution, name));
  PetscCall(PetscMalloc2(n, &rs, n, &us));
  BlocksToScalar(p->n, p->dim, p->m, r, rs);
  BlocksToScalar(p->n, p->dim, p->m, u, us);
  PetscCall(FCLibWriteSolution(file, target, n, rs, us));
  PetscCall(PetscFree2(rs, us));
  PetscFunctionReturn(0);
}

static PetscErrorCode FCLibFile_Private(FCLibRun *run, const char file[], PetscBool *converged)
{
  FCLibProblem       *p = NULL;
  Blocks              b;
  PetscReal          *r, *u, seconds;
  PetscInt            iterations;
  SolveReport         report;
  SNESConvergedReason reason;
  SNES                snes;
  SNESType            type;

  PetscFunctionBeginUser;
  PetscCall(ErrorAgree(run->comm, FCLibRead(file, &p)));
  UserCheck(p->dim == 3, "%s: the problem has %" PetscInt_FMT " dimensions; 3 are needed", file, p->dim);
  PetscCall(BlocksCreate(p->n, p->dim, p->m, p->ptr, p->col, p->val, p->q, p->mu, &b));
  PetscCall(PetscCalloc2(3 * b.n, &r, 3 * b.n, &u));
  PetscCall(FCLibSolve_Private(run, &b, r, u, &seconds, &reason));
  PetscCall(DualGetReport(run->dual, &report, &iterations));
  PetscCall(DualGetSNES(run->dual, &snes));
  PetscCall(SNESGetType(snes, &type));
  PetscCall(PetscPrintf(run->comm, "%s contacts: %" PetscInt_FMT " iterations: %" PetscInt_FMT " merit: %.3e seconds: %.3e reason: %s solver: %s\n", file, p->n, iterations,
                        (double)report.merit, (double)seconds, SNESConvergedReasons[reason], type));
  *converged = reason > 0 ? PETSC_TRUE : PETSC_FALSE;
  if (run->solution[0]) PetscCall(ErrorAgree(run->comm, run->rank ? 0 : FCLibWrite_Private(run, file, p, r, u)));
  PetscCall(PetscFree2(r, u));
  PetscCall(BlocksDestroy(&b));
  PetscCall(FCLibProblemDestroy(&p));
  PetscFunctionReturn(0);
}

PetscErrorCode RunFCLib(MPI_Comm comm, Settings settings, PetscInt *failed)
{
  static const PetscInt  ptr[2] = {0, 1}, col[1] = {0};
  static const PetscReal w[9] = {1, 0, 0, 0, 1, 0, 0, 0, 1}, b[3] = {0, 0, 0};
  static const Row       row = {RELATION_CONE, 3, 0, 0, 0, 0};
  FCLibRun               run = {.comm = comm};
  const char *const     *files;
  PetscInt               n;
  SNES                   snes;
  PetscErrorCode         ierr = 0;

  PetscFunctionBeginUser;
  PetscCallMPI(MPI_Comm_rank(comm, &run.rank));
  PetscCallMPI(MPI_Comm_size(comm, &run.size));
  PetscCall(SettingsGetList(settings, "fclib", &n, &files, NULL));
  PetscCall(SettingsGetInt(settings, "fclib_repeat", 1, &run.repeat, NULL));
  PetscCall(SettingsGetString(settings, "fclib_solution", "", &run.solution, NULL));
  UserCheck(n > 0, "fclib: give files of problems, separated by commas");
  UserCheck(run.repeat > 0, "fclib_repeat: %" PetscInt_FMT " is below 1", run.repeat);
  PetscCall(SettingsToPetsc(settings));
  PetscCall(DualCreate(comm, &run.dual));
  PetscCall(DualSetMerit(run.dual, DUAL_MERIT_FCLIB));
  PetscCall(DualSetFromOptions(run.dual));
  /* a problem of one contact makes the solver read its options, so that what nobody reads is known before anything is done */
  PetscCall(DualSetProblem(run.dual, run.rank ? 0 : 1, ptr, col, w, b, &row));
  PetscCall(DualGetSNES(run.dual, &snes));
  PetscCall(SettingsCheckUnused(settings));
  if (run.solution[0] && !run.rank) {
    if (mkdir(run.solution, 0777) && errno != EEXIST) ierr = PetscError(PETSC_COMM_SELF, __LINE__, PETSC_FUNCTION_NAME, __FILE__, PETSC_ERR_USER_INPUT, PETSC_ERROR_INITIAL, "fclib_solution: cannot make the folder '%s': %s", run.solution, strerror(errno));
  }
  PetscCall(ErrorAgree(comm, ierr));
  *failed = 0;
  for (PetscInt i = 0; i < n; i++) {
    PetscBool converged = PETSC_FALSE;

    ierr = FCLibFile_Private(&run, files[i], &converged);
    if (ErrorReport(comm, ierr) || !converged) ++*failed;
  }
  PetscCall(DualDestroy(&run.dual));
  PetscFunctionReturn(0);
}
