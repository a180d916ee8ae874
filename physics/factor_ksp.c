/* Factor by any KSP and PC of PETSc, with the prefix part_: taken where the options say something about it. Lanes are solved one by one. */
#include "factor_impl.h"
#include <petscksp.h>

struct _p_FactorKSP {
  BlockPattern p;
  KSP          ksp;
  Mat          A;
  Vec          b, x;
};

/* The PETSc calls in between do not report: what went wrong is told in one line by FactorKSPFail_Private(). */
#define FactorKSPQuietly(ierr, call) \
  do { \
    PetscCall(PetscPushErrorHandler(PetscReturnErrorHandler, NULL)); \
    ierr = call; \
    PetscCall(PetscPopErrorHandler()); \
  } while (0)

PetscErrorCode FactorKSPWanted_Private(PetscBool *wanted)
{
  static const char *const prefixes[] = {"-part_ksp_", "-part_pc_", "-part_mat_"};
  char                    *all;

  PetscFunctionBeginUser;
  *wanted = PETSC_FALSE;
  PetscCall(PetscOptionsGetAll(NULL, &all));
  for (int i = 0; i < 3; i++)
    for (const char *at = strstr(all, prefixes[i]); at; at = strstr(at + 1, prefixes[i]))
      if (at == all || at[-1] == ' ') *wanted = PETSC_TRUE;
  PetscCall(PetscFree(all));
  PetscFunctionReturn(0);
}

/* doing: what the solver was asked to do, or NULL if it could not be made */
static PetscErrorCode FactorKSPFail_Private(KSP ksp, PetscErrorCode ierr, const char doing[])
{
  MatSolverType solver = NULL;
  PCType        type = NULL;
  char         *cause = NULL;
  PC            pc;

  PetscFunctionBeginUser;
  PetscCall(PetscErrorMessage(ierr, NULL, &cause));
  if (!cause || !cause[0]) cause = (char *)"PETSc does not say why";
  PetscCheck(doing, PETSC_COMM_SELF, PETSC_ERR_USER_INPUT, "options of -part_ksp_, -part_pc_ or -part_mat_: %s", cause);
  PetscCall(KSPGetPC(ksp, &pc));
  PetscCall(PCGetType(pc, &type));
  PetscCall(PCFactorGetMatSolverType(pc, &solver));
  SETERRQ(PETSC_COMM_SELF, PETSC_ERR_USER_INPUT, "-part_pc_type %s%s%s cannot %s a part's operator: %s; choose other -part_ options", type ? type : "", solver ? ", -part_pc_factor_mat_solver_type " : "", solver ? solver : "",
          doing, cause);
}

/* Empty matrix of the pattern and its solver, as the options say; by default one solve with a Cholesky factor. A trial reads the options and shows nothing. */
static PetscErrorCode FactorKSPSetUp_Private(FactorKSP f, PetscBool trial)
{
  const PetscInt nb = f->p.nb, *ia = f->p.ia, *ja = f->p.ja;
  PetscInt      *full, *upper;
  PetscBool      half;
  PC             pc;

  PetscFunctionBeginUser;
  PetscCall(MatCreate(PETSC_COMM_SELF, &f->A));
  PetscCall(MatSetSizes(f->A, 3 * nb, 3 * nb, 3 * nb, 3 * nb));
  PetscCall(MatSetBlockSize(f->A, 3));
  PetscCall(MatSetType(f->A, MATSEQAIJ));
  PetscCall(MatSetOptionsPrefix(f->A, "part_"));
  PetscCall(MatSetFromOptions(f->A));
  if (trial) PetscCall(MatSetOptionsPrefix(f->A, NULL));
  PetscCall(PetscCalloc2(nb, &full, nb, &upper));
  for (PetscInt i = 0; i < nb; i++) {
    upper[i] = ia[i + 1] - ia[i];
    full[i] += upper[i];
    for (PetscInt k = ia[i] + 1; k < ia[i + 1]; k++) full[ja[k]]++;
  }
  PetscCall(MatXAIJSetPreallocation(f->A, 3, full, NULL, upper, NULL));
  PetscCall(PetscFree2(full, upper));
  PetscCall(PetscObjectTypeCompareAny((PetscObject)f->A, &half, MATSEQSBAIJ, MATSBAIJ, ""));
  if (half) PetscCall(MatSetOption(f->A, MAT_IGNORE_LOWER_TRIANGULAR, PETSC_TRUE));
  PetscCall(MatSetOption(f->A, MAT_SYMMETRIC, PETSC_TRUE));
  PetscCall(MatSetOption(f->A, MAT_SYMMETRY_ETERNAL, PETSC_TRUE));
  PetscCall(MatCreateVecs(f->A, &f->x, &f->b));
  PetscCall(KSPCreate(PETSC_COMM_SELF, &f->ksp));
  PetscCall(KSPSetOptionsPrefix(f->ksp, "part_"));
  PetscCall(KSPSetType(f->ksp, KSPPREONLY));
  PetscCall(KSPGetPC(f->ksp, &pc));
  PetscCall(PCSetType(pc, PCCHOLESKY));
  PetscCall(KSPSetOperators(f->ksp, f->A, f->A));
  PetscFunctionReturn(0);
}

static PetscErrorCode FactorKSPFill_Private(FactorKSP f, const PetscReal *a)
{
  const PetscInt nb = f->p.nb, *ia = f->p.ia, *ja = f->p.ja;
  PetscReal      zero = 0;

  PetscFunctionBeginUser;
  for (PetscInt i = 0; i < nb; i++)
    for (PetscInt k = ia[i]; k < ia[i + 1]; k++) {
      PetscScalar v[9], t[9]; /* the block and its transpose, by rows */

      for (PetscInt r = 0; r < 3; r++)
        for (PetscInt c = 0; c < 3; c++) {
          const PetscBool turn = ja[k] == i && r > c ? PETSC_TRUE : PETSC_FALSE; /* of a diagonal block the upper triangle counts */

          v[3 * r + c] = t[3 * c + r] = a[9 * k + (turn ? c + 3 * r : r + 3 * c)];
          zero += 0 * v[3 * r + c];
        }
      PetscCall(MatSetValuesBlocked(f->A, 1, &i, 1, &ja[k], v, INSERT_VALUES));
      if (ja[k] != i) PetscCall(MatSetValuesBlocked(f->A, 1, &ja[k], 1, &i, t, INSERT_VALUES));
    }
  PetscCheck(zero == 0, PETSC_COMM_SELF, PETSC_ERR_FP, "Matrix of %" PetscInt_FMT " nodes to be factored has values that are not finite", nb);
  PetscCall(MatAssemblyBegin(f->A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(f->A, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(0);
}

/* Negative eigenvalues, where the solver counts them */
static PetscErrorCode FactorKSPInertia_Private(KSP ksp, PetscBool *definite)
{
  PC             pc;
  PetscBool      cholesky;
  Mat            F;
  PetscInt       negative = 0;
  PetscErrorCode ierr;

  PetscFunctionBeginUser;
  *definite = PETSC_TRUE;
  PetscCall(KSPGetPC(ksp, &pc));
  PetscCall(PetscObjectTypeCompare((PetscObject)pc, PCCHOLESKY, &cholesky));
  if (!cholesky) PetscFunctionReturn(0);
  PetscCall(PCFactorGetMatrix(pc, &F));
  FactorKSPQuietly(ierr, MatGetInertia(F, &negative, NULL, NULL));
  if (!ierr && negative) *definite = PETSC_FALSE;
  PetscFunctionReturn(0);
}

PetscErrorCode FactorKSPSetValues_Private(const BlockPattern *p, const PetscReal *a, FactorKSP *factor, PetscBool *definite)
{
  FactorKSP       f = *factor;
  const PetscBool first = f ? PETSC_FALSE : PETSC_TRUE;
  PC              pc;
  PCFailedReason  reason;
  PetscErrorCode  ierr;

  PetscFunctionBeginUser;
  if (first) {
    PetscCall(PetscNew(&f));
    *factor = f;
    f->p    = *p;
    PetscCall(FactorKSPSetUp_Private(f, PETSC_FALSE));
  }
  PetscCall(FactorKSPFill_Private(f, a));
  PetscCall(KSPSetOperators(f->ksp, f->A, f->A));
  if (first) PetscCall(KSPSetFromOptions(f->ksp));
  FactorKSPQuietly(ierr, KSPSetUp(f->ksp));
  if (ierr) PetscCall(FactorKSPFail_Private(f->ksp, ierr, "factor"));
  PetscCall(KSPGetPC(f->ksp, &pc));
  PetscCall(PCGetFailedReason(pc, &reason));
  PetscCheck(!reason, PETSC_COMM_SELF, PETSC_ERR_USER_INPUT, "the operator of a part of %" PetscInt_FMT " nodes cannot be factored as the -part_ options say (%s): is it singular or indefinite? choose others", p->nb,
             PCFailedReasons[reason]);
  PetscCall(FactorKSPInertia_Private(f->ksp, definite));
  PetscFunctionReturn(0);
}

PetscErrorCode FactorKSPSolve_Private(FactorKSP f, PetscInt lanes, PetscReal *x)
{
  const PetscInt n = 3 * f->p.nb;

  PetscFunctionBeginUser;
  for (PetscInt l = 0; l < lanes; l++) {
    PetscScalar       *b;
    const PetscScalar *u;
    PetscReal          sum = 0;
    KSPConvergedReason reason;
    PetscErrorCode     ierr;
    PetscInt           its;

    PetscCall(VecGetArrayWrite(f->b, &b));
    for (PetscInt i = 0; i < n; i++) {
      b[i] = x[(size_t)i * lanes + l];
      sum += PetscAbsReal(b[i]);
    }
    PetscCall(VecRestoreArrayWrite(f->b, &b));
    if (sum == 0) continue; /* a lane without a body */
    if (PetscIsInfOrNanReal(sum)) { /* for the caller to find, who knows whose it is */
      for (PetscInt i = 0; i < n; i++) x[(size_t)i * lanes + l] = sum - sum;
      continue;
    }
    FactorKSPQuietly(ierr, KSPSolve(f->ksp, f->b, f->x));
    if (ierr) PetscCall(FactorKSPFail_Private(f->ksp, ierr, "solve with"));
    PetscCall(KSPGetConvergedReason(f->ksp, &reason));
    PetscCall(KSPGetIterationNumber(f->ksp, &its));
    PetscCheck(reason >= 0, PETSC_COMM_SELF, PETSC_ERR_USER_INPUT, "the solve with a part's operator did not converge: %s after %" PetscInt_FMT " iterations; choose other -part_ksp_ and -part_pc_ options", KSPConvergedReasons[reason],
               its);
    PetscCall(VecGetArrayRead(f->x, &u));
    for (PetscInt i = 0; i < n; i++) x[(size_t)i * lanes + l] = u[i];
    PetscCall(VecRestoreArrayRead(f->x, &u));
  }
  PetscFunctionReturn(0);
}

PetscErrorCode FactorKSPDestroy_Private(FactorKSP *f)
{
  PetscFunctionBeginUser;
  if (!*f) PetscFunctionReturn(0);
  PetscCall(KSPDestroy(&(*f)->ksp));
  PetscCall(MatDestroy(&(*f)->A));
  PetscCall(VecDestroy(&(*f)->b));
  PetscCall(VecDestroy(&(*f)->x));
  PetscCall(PetscFree(*f));
  PetscFunctionReturn(0);
}

/* A small part's solver is made and thrown away. */
PetscErrorCode FactorTryOptions(void)
{
  const PetscInt ia[3] = {0, 2, 3}, ja[3] = {0, 1, 1};
  PetscReal      a[27] = {0};
  FactorKSP      f;
  PetscBool      wanted;
  PetscErrorCode ierr;

  PetscFunctionBeginUser;
  PetscCall(FactorKSPWanted_Private(&wanted));
  if (!wanted) PetscFunctionReturn(0);
  for (PetscInt i = 0; i < 3; i++) {
    a[4 * i] = a[18 + 4 * i] = 2;
    a[9 + 4 * i]             = -1;
  }
  PetscCall(PetscNew(&f));
  f->p = (BlockPattern){2, ia, ja};
  FactorKSPQuietly(ierr, FactorKSPSetUp_Private(f, PETSC_TRUE));
  if (!ierr) {
    PetscCall(FactorKSPFill_Private(f, a));
    PetscCall(MatSetOptionsPrefix(f->A, "part_"));
    FactorKSPQuietly(ierr, KSPSetFromOptions(f->ksp));
  }
  if (ierr) PetscCall(FactorKSPFail_Private(f->ksp, ierr, NULL));
  FactorKSPQuietly(ierr, KSPSetUp(f->ksp));
  if (ierr) PetscCall(FactorKSPFail_Private(f->ksp, ierr, "factor"));
  PetscCall(FactorKSPDestroy_Private(&f));
  PetscFunctionReturn(0);
}
