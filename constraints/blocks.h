/* Blocks: a dual problem as DualSetProblem() takes it, made from a scalar matrix. */
#pragma once
#include "dual.h"

typedef struct {
  PetscInt   n; /* contacts, then bilateral rows by threes */
  PetscInt  *ptr, *col;
  PetscReal *w, *q;
  Row       *row;
} Blocks;

/* n contacts of `dim` rows with friction mu, then m bilateral rows: scalar rows with ascending columns. Zero blocks are left out, the pattern is made symmetric. */
PETSC_EXTERN PetscErrorCode BlocksCreate(PetscInt n, PetscInt dim, PetscInt m, const PetscInt ptr[], const PetscInt col[], const PetscReal val[], const PetscReal q[], const PetscReal mu[], Blocks *blocks);
PETSC_EXTERN PetscErrorCode BlocksDestroy(Blocks *blocks);
/* A vector of blocks back to scalar rows */
PETSC_EXTERN void BlocksToScalar(PetscInt n, PetscInt dim, PetscInt m, const PetscReal blocks[], PetscReal scalar[]);
