/* Factor: a symmetric 3x3-block sparse matrix factored once and solved for one body or for many side by side (lanes). Where PETSc's options say anything
   of -part_ksp_, -part_pc_ or -part_mat_, a KSP of that prefix does it (by default preonly with cholesky), else CHOLMOD and own solves. */
#pragma once
#include <petscmat.h>

typedef struct _p_Factor *Factor;

/* Block pattern: upper block triangle by rows (MatSeqSBAIJ, block size 3), columns ascending, the diagonal first. The arrays are kept by
   reference, the struct itself need not live on. Of a diagonal block only its upper triangle is read, as PETSc does. */
typedef struct {
  PetscInt        nb;  /* block rows */
  const PetscInt *ia, *ja;
} BlockPattern;

/* y = K x for `ncol` pairs of arrays in one pass over the values `a` (3x3 blocks by columns, as SBAIJ stores them). Arrays are
   [dof][lane] with `lanes` 1 or a multiple of 8. Each column's result has the same bits whatever ncol is. */
PETSC_EXTERN PetscErrorCode BlockProduct(const BlockPattern *p, const PetscReal *a, PetscInt lanes, PetscInt ncol, const PetscReal *const x[], PetscReal *const y[]);
/* The same, and in the same pass the quadratic forms form[k][lane] = z.K z of `nform` arrays, each at half the work of a product. */
PETSC_EXTERN PetscErrorCode BlockProductForms(const BlockPattern *p, const PetscReal *a, PetscInt lanes, PetscInt ncol, const PetscReal *const x[], PetscReal *const y[], PetscInt nform, const PetscReal *const z[], PetscReal *const form[]);

/* Reads -part_ksp_, -part_pc_ and -part_mat_ options, if there are any, so that a mistake in them is found before the first factorization. */
PETSC_EXTERN PetscErrorCode FactorTryOptions(void);
PETSC_EXTERN PetscErrorCode FactorCreate(const BlockPattern *p, Factor *f);
/* Another of the same pattern: order, symbolic factor and workspace are shared, whichever of them makes or leaves them. */
PETSC_EXTERN PetscErrorCode FactorCreateLike(Factor like, Factor *f);
/* The factor that `source` has now with its numbers in single precision: half the memory to read, so about half the time of a solve, for 6 or 7
   digits. It solves on its own and takes no values. *f = NULL where the source is no Cholesky factor of this program's own. */
PETSC_EXTERN PetscErrorCode FactorCreateSingle(Factor source, Factor *f);
PETSC_EXTERN PetscErrorCode FactorDestroy(Factor *f);
/* Numeric factorization; the analysis is made at the first and kept. Cholesky first; where the matrix is not positive definite,
   symmetric indefinite LDL^T (MUMPS), and *definite = PETSC_FALSE (may be NULL). PETSC_ERR_MAT_LU_ZRPVT where it is singular. With -part_ options,
   PETSC_ERR_USER_INPUT where the chosen solver cannot do it. */
PETSC_EXTERN PetscErrorCode FactorSetValues(Factor f, const PetscReal *a, PetscBool *definite);
/* x = A^-1 x in place, x[dof][lane], lanes 1 or a multiple of 8. No allocation after the first call with that many lanes. */
PETSC_EXTERN PetscErrorCode FactorSolve(Factor f, PetscInt lanes, PetscReal *x);
/* Doubles per vector: 2, 4 or 8; 0: SIMDWidth(). For measuring. */
PETSC_EXTERN PetscErrorCode FactorSetSIMD(Factor f, PetscInt width);
/* nnz(L), numeric factorizations so far, and how many of them were indefinite. Each may be NULL. */
PETSC_EXTERN PetscErrorCode FactorGetInfo(Factor f, PetscInt64 *nonzeros, PetscInt *numeric, PetscInt *indefinite);
