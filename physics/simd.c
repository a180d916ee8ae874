#include "simd.h"
#include <stdlib.h>

static PetscInt SIMDChosen = 0;

PetscBool SIMDHas(PetscInt width)
{
#if defined(__x86_64__)
  __builtin_cpu_init();
  if (width == 4) return (PetscBool)(__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"));
  if (width == 8) return (PetscBool)(__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"));
#endif
  return (PetscBool)(width == 2);
}

PetscInt SIMDWidth(void)
{
  if (!SIMDChosen) SIMDChosen = SIMDHas(8) ? 8 : SIMDHas(4) ? 4 : 2;
  return SIMDChosen;
}

PetscErrorCode SIMDSetWidth(PetscInt width)
{
  PetscFunctionBeginUser;
  PetscCheck(width == 0 || width == 2 || width == 4 || width == 8, PETSC_COMM_SELF, PETSC_ERR_ARG_OUTOFRANGE, "Vector width %" PetscInt_FMT " is not 0, 2, 4 or 8", width);
  PetscCheck(!width || SIMDHas(width), PETSC_COMM_SELF, PETSC_ERR_SUP, "This processor has no vectors of %" PetscInt_FMT " numbers", width);
  SIMDChosen = width;
  PetscFunctionReturn(0);
}

PetscErrorCode SIMDCalloc(size_t n, PetscReal **array)
{
  void *p;

  PetscFunctionBeginUser;
  PetscCheck(!posix_memalign(&p, 64, PetscMax(n, 1) * sizeof(PetscReal)), PETSC_COMM_SELF, PETSC_ERR_MEM, "No memory for %.3g MB", 1e-6 * (double)n * sizeof(PetscReal));
  *array = (PetscReal *)p;
  PetscCall(PetscArrayzero(*array, n));
  PetscFunctionReturn(0);
}

PetscErrorCode SIMDFree(PetscReal **array)
{
  PetscFunctionBeginUser;
  free(*array);
  *array = NULL;
  PetscFunctionReturn(0);
}
