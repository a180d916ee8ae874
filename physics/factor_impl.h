/* Private to physics/factor*.c and block_product.c: the packed triangular factor and its kernels. */
#pragma once
#include "factor.h"
#include "simd.h"

#define FACTOR_PANEL 4 /* columns that a kernel takes at once */
#define FACTOR_TILE  8 /* rows of a tile */
#define FACTOR_LANES 16 /* most lanes that a kernel takes at once */

/* P A P^T = L L^T by supernodes. Supernode s has columns super[s]..super[s+1] and rows row[rowptr[s]..rowptr[s+1]], the first of them its
   columns. Its values start at val + start[s], panel by panel: the inverse of the panel's diagonal block (by columns, with its zeros),
   then the rows under it, in tiles of 8 rows by columns, padded by zeros. So one solve reads memory strictly in order, and 1/l_jj and the
   upper triangles are never computed or read. */
typedef struct {
  PetscInt     n, nsuper, maxrow; /* maxrow: most rows of a supernode */
  const int   *super, *rowptr, *row, *perm;
  PetscInt64  *start;             /* nsuper + 1 */
  void        *val;               /* double, or float if `single` */
  PetscBool    single;
  size_t       bytes;             /* of val, as mapped */
} FactorPack;

/* Panels of a supernode are of nearly equal width: 6 columns are 3 + 3, since 3x3 blocks make most supernodes multiples of three. */
static inline PetscInt FactorPanels_Private(PetscInt ns) { return (ns + FACTOR_PANEL - 1) / FACTOR_PANEL; }
static inline PetscInt FactorPanelFirst_Private(PetscInt ns, PetscInt np, PetscInt i) { return i * (ns / np) + PetscMin(i, ns % np); }
static inline PetscInt FactorPanelWidth_Private(PetscInt ns, PetscInt np, PetscInt i) { return ns / np + (i < ns % np); }
static inline PetscInt FactorDiagonalSize_Private(PetscInt w) { return w > 2 ? 16 : 8; }
static inline PetscInt FactorPanelSize_Private(PetscInt w, PetscInt m) { return FactorDiagonalSize_Private(w) + w * ((m + FACTOR_TILE - 1) / FACTOR_TILE) * FACTOR_TILE; }

/* Doubles per vector: what kernels are to use, or less if asked for. */
static inline PetscInt FactorWidth_Private(PetscInt width)
{
  const PetscInt best = SIMDWidth();

  return width && width < best ? width : best;
}

/* x: n, in place, own order; work: n + maxrow + 2 tiles. */
PETSC_INTERN void FactorSolveOne_Private(const FactorPack *p, PetscInt width, PetscReal *x, PetscReal *work);
/* x[dof][lane], in place; work: n * FACTOR_LANES. */
PETSC_INTERN void FactorSolveLanes_Private(const FactorPack *p, PetscInt width, PetscInt lanes, PetscReal *x, PetscReal *work);
PETSC_INTERN PetscErrorCode BlockProduct_Private(const BlockPattern *p, const PetscReal *a, PetscInt width, PetscInt lanes, PetscInt ncol, const PetscReal *const x[], PetscReal *const y[]);
PETSC_INTERN PetscErrorCode BlockProductForms_Private(const BlockPattern *p, const PetscReal *a, PetscInt width, PetscInt lanes, PetscInt ncol, const PetscReal *const x[], PetscReal *const y[], PetscInt nform, const PetscReal *const z[], PetscReal *const form[]);

/* A KSP with prefix part_ in place of all that (factor_ksp.c). It is made at the first values. */
typedef struct _p_FactorKSP *FactorKSP;
PETSC_INTERN PetscErrorCode FactorKSPWanted_Private(PetscBool *wanted);
PETSC_INTERN PetscErrorCode FactorKSPSetValues_Private(const BlockPattern *p, const PetscReal *a, FactorKSP *f, PetscBool *definite);
PETSC_INTERN PetscErrorCode FactorKSPSolve_Private(FactorKSP f, PetscInt lanes, PetscReal *x);
PETSC_INTERN PetscErrorCode FactorKSPDestroy_Private(FactorKSP *f);
