/* Products with a symmetric matrix of 3x3 blocks, for one body or for many side by side. */
#include "factor_impl.h"
#include <string.h>

#define VL      2
#define NV      1
#define TARGET
#define NAME(f) f##_2
#include "block_kernel.h"

#if defined(__x86_64__)
  #define VL      4
  #define NV      2
  #define TARGET  __attribute__((target("avx2,fma")))
  #define NAME(f) f##_4
  #include "block_kernel.h"

  #define VL      8
  #define NV      2
  #define TARGET  __attribute__((target("avx512f,avx2,fma")))
  #define NAME(f) f##_8
  #include "block_kernel.h"
#endif

PetscErrorCode BlockProductForms_Private(const BlockPattern *p, const PetscReal *a, PetscInt width, PetscInt lanes, PetscInt ncol, const PetscReal *const x[], PetscReal *const y[], PetscInt nform, const PetscReal *const z[], PetscReal *const form[])
{
  PetscFunctionBeginUser;
  PetscCheck(lanes == 1 || (lanes >= 0 && lanes % 8 == 0), PETSC_COMM_SELF, PETSC_ERR_ARG_SIZ, "Number of lanes %" PetscInt_FMT " is not 1 nor a multiple of 8", lanes);
  for (PetscInt c = 0; c < ncol; c++)
    for (PetscInt d = 0; d < ncol; d++) PetscCheck(x[c] != y[d], PETSC_COMM_SELF, PETSC_ERR_ARG_IDN, "Product in place: x and y must be different arrays");
  width = FactorWidth_Private(width);
  if (lanes == 1) {
    switch (width) {
#if defined(__x86_64__)
    case 8: ProductOne_8(p, a, ncol, x, y, nform, z, form); break;
    case 4: ProductOne_4(p, a, ncol, x, y, nform, z, form); break;
#endif
    default: ProductOne_2(p, a, ncol, x, y, nform, z, form);
    }
  } else {
    switch (width) {
#if defined(__x86_64__)
    case 8: ProductLanes_8(p, a, lanes, ncol, x, y, nform, z, form); break;
    case 4: ProductLanes_4(p, a, lanes, ncol, x, y, nform, z, form); break;
#endif
    default: ProductLanes_2(p, a, lanes, ncol, x, y, nform, z, form);
    }
  }
  PetscCall(PetscLogFlops(18.0 * (2.0 * p->ia[p->nb] - p->nb) * (ncol + 0.5 * nform) * lanes));
  PetscFunctionReturn(0);
}

PetscErrorCode BlockProduct_Private(const BlockPattern *p, const PetscReal *a, PetscInt width, PetscInt lanes, PetscInt ncol, const PetscReal *const x[], PetscReal *const y[])
{
  PetscFunctionBeginUser;
  PetscCall(BlockProductForms_Private(p, a, width, lanes, ncol, x, y, 0, NULL, NULL));
  PetscFunctionReturn(0);
}

PetscErrorCode BlockProduct(const BlockPattern *p, const PetscReal *a, PetscInt lanes, PetscInt ncol, const PetscReal *const x[], PetscReal *const y[])
{
  PetscFunctionBeginUser;
  PetscCall(BlockProductForms_Private(p, a, 0, lanes, ncol, x, y, 0, NULL, NULL));
  PetscFunctionReturn(0);
}

PetscErrorCode BlockProductForms(const BlockPattern *p, const PetscReal *a, PetscInt lanes, PetscInt ncol, const PetscReal *const x[], PetscReal *const y[], PetscInt nform, const PetscReal *const z[], PetscReal *const form[])
{
  PetscFunctionBeginUser;
  PetscCall(BlockProductForms_Private(p, a, 0, lanes, ncol, x, y, nform, z, form));
  PetscFunctionReturn(0);
}
