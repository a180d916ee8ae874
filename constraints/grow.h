/* Arrays that a step needs, of a size that changes from step to step. */
#pragma once
#include <petscsys.h>

/* Grows an array to hold n, by half more than asked, so that a run soon allocates no more. */
#define GrowArray(n, max, array) \
  do { \
    if ((n) > (max)) { \
      (max) = (n) + (n) / 2 + 16; \
      PetscCall(PetscRealloc((size_t)(max) * sizeof(*(array)), &(array))); \
    } \
  } while (0)
