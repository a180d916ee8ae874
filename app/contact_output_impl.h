/* What the files of ContactOutput share. */
#pragma once
#include "contact_output.h"
#include "meshes/points.h"

struct _p_ContactOutput {
  MPI_Comm      comm;
  PetscMPIInt   rank, size;
  Model         model;
  ConstraintSet set;
  const char   *file[CONTACT_FILES], *fclib;
  PetscInt      fclib_every, digits;
  Points        points;
  FILE         *csv[CONTACT_FILES]; /* on rank 0 */
  PetscBool     told;               /* that a step's problem cannot be written */
};

/* contact_pairs.c: rows of the CSV file at time t */
PETSC_INTERN PetscErrorCode ContactOutputPairs_Private(ContactOutput o, PetscReal t, PetscReal h);
/* contact_fclib.c: the last problem */
PETSC_INTERN PetscErrorCode ContactOutputProblem_Private(ContactOutput o, PetscInt step, PetscReal t);
/* Not of a joint or a support */
static inline PetscBool ContactOutputIsContact_Private(const Constraint *row)
{
  return row->key.kind <= CONTACT_ELEMENTS && row->id[0] >= 0 && row->id[1] >= 0 ? PETSC_TRUE : PETSC_FALSE;
}
/* Numbers of all ranks on rank 0, those of rank 0 first; total there, to be freed there */
PETSC_INTERN PetscErrorCode ContactOutputGather_Private(ContactOutput o, PetscInt n, const PetscReal mine[], PetscInt *total, PetscReal **all);
