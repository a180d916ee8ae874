/* Solves with the packed factor: one body of kernels compiled for each instruction set, chosen at run time. A vector type wider than
   the hardware is several times slower than none, hence one inclusion per width instead of target_clones. */
#include "factor_impl.h"

#define VL      2
#define TARGET
#define NAME(f) f##_2
#include "factor_kernel.h"

#if defined(__x86_64__)
  #define VL      4
  #define TARGET  __attribute__((target("avx2,fma")))
  #define NAME(f) f##_4
  #include "factor_kernel.h"

  #define VL      8
  #define TARGET  __attribute__((target("avx512f,avx2,fma")))
  #define NAME(f) f##_8
  #include "factor_kernel.h"
#endif

void FactorSolveOne_Private(const FactorPack *p, PetscInt width, PetscReal *x, PetscReal *work)
{
  switch (FactorWidth_Private(width)) {
#if defined(__x86_64__)
  case 8: SolveOne_8(p, x, work); break;
  case 4: SolveOne_4(p, x, work); break;
#endif
  default: SolveOne_2(p, x, work);
  }
}

void FactorSolveLanes_Private(const FactorPack *p, PetscInt width, PetscInt lanes, PetscReal *x, PetscReal *work)
{
  switch (FactorWidth_Private(width)) {
#if defined(__x86_64__)
  case 8: SolveLanes_8(p, lanes, x, work); break;
  case 4: SolveLanes_4(p, lanes, x, work); break;
#endif
  default: SolveLanes_2(p, lanes, x, work);
  }
}
