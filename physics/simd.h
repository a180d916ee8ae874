/* One portable binary: hot functions are compiled for several processors (a file of kernels is included once for each width of
   vectors) and chosen at run time. A vector type wider than the hardware is several times slower than none. */
#pragma once
#include <petscsys.h>

/* Doubles per vector that kernels are to use: 2 (SSE2, or whatever the processor has if it is no x86), 4 (AVX2 and FMA) or 8 (AVX-512). */
PETSC_EXTERN PetscInt SIMDWidth(void);
/* Does this processor, and this build, have vectors of so many doubles? */
PETSC_EXTERN PetscBool SIMDHas(PetscInt width);
/* 2, 4 or 8, no more than the processor has; 0: the best it has. Sums may then differ by round-off. For measuring. */
PETSC_EXTERN PetscErrorCode SIMDSetWidth(PetscInt width);
/* n zeros in memory that starts at a cache line: a vector that lies across two costs twice. */
PETSC_EXTERN PetscErrorCode SIMDCalloc(size_t n, PetscReal **array);
PETSC_EXTERN PetscErrorCode SIMDFree(PetscReal **array);
