/* Columns: A^-1 at touched nodes of one domain whose operator is its own, made anew in every step. */
#pragma once
#include "physics/body.h"

typedef struct {
  PetscInt   n, lanes, capacity, mnode; /* nodes; columns, padded */
  PetscInt  *node;      /* ascending */
  PetscReal *x;         /* [dof][column] */
  PetscReal *f;         /* scratch: a number per column */
} Columns;

PETSC_EXTERN PetscErrorCode ColumnsDestroy(Columns *c);
/* Columns of the nodes of n points */
PETSC_EXTERN PetscErrorCode ColumnsSetUp(Columns *c, Factor factor, PetscInt nnode, PetscInt n, const MaterialPoint *const p[]);
/* W = E C E^T as FormulationOps has it */
PETSC_EXTERN PetscErrorCode ColumnsCompliance(const Columns *c, PetscInt n, const MaterialPoint *const p[], const PetscReal frame[], PetscReal W[]);
/* y += A^-1 sum N^T P */
PETSC_EXTERN PetscErrorCode ColumnsApply(Columns *c, PetscInt nnode, PetscInt n, const MaterialPoint *const p[], const PetscReal P[], PetscReal y[]);
