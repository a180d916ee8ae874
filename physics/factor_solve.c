/* Solves with the packed factor: one body of kernels compiled for each instruction set, chosen at run time. A vector type wider than
   the hardware is several times slower than none, hence one inclusion per width instead of target_clones. */
#include "factor_impl.h"

#define VL      2
#define TARGET
#define NAME(f) f##_2
#define VALUE   double
#include "factor_kernel.h"

#define VL      2
#define TARGET
#define NAME(f) f##_2f
#define VALUE   float
#include "factor_kernel.h"

#if defined(__x86_64__)
  #define VL      4
  #define TARGET  __attribute__((target("avx2,fma")))
  #define NAME(f) f##_4
  #define VALUE   double
  #include "factor_kernel.h"

  #define VL      4
  #define TARGET  __attribute__((target("avx2,fma")))
  #define NAME(f) f##_4f
  #define VALUE   float
  #include "factor_kernel.h"

  #define VL      8
  #define TARGET  __attribute__((target("avx512f,avx2,fma")))
  #define NAME(f) f##_8
  #define VALUE   double
  #include "factor_kernel.h"

  #define VL      8
  #define TARGET  __attribute__((target("avx512f,avx2,fma")))
  #define NAME(f) f##_8f
  #define VALUE   float
  #include "factor_kernel.h"
#endif

#define SOLVE(fn, vl, ...) \
  case vl: \
    if (p->single) fn##_##vl##f(__VA_ARGS__); \
    else fn##_##vl(__VA_ARGS__); \
    break;

void FactorSolveOne_Private(const FactorPack *p, PetscInt width, PetscReal *x, PetscReal *work)
{
  switch (FactorWidth_Private(width)) {
#if defined(__x86_64__)
    SOLVE(SolveOne, 8, p, x, work)
    SOLVE(SolveOne, 4, p, x, work)
#endif
    SOLVE(SolveOne, 2, p, x, work)
  }
}

void FactorSolveLanes_Private(const FactorPack *p, PetscInt width, PetscInt lanes, PetscReal *x, PetscReal *work)
{
  switch (FactorWidth_Private(width)) {
#if defined(__x86_64__)
    SOLVE(SolveLanes, 8, p, lanes, x, work)
    SOLVE(SolveLanes, 4, p, lanes, x, work)
#endif
    SOLVE(SolveLanes, 2, p, lanes, x, work)
  }
}
