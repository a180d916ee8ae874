/* Summary: `name: value` lines at the end of a run, and the same as JSON. */
#pragma once
#include <petscsys.h>

typedef struct _p_Summary *Summary;
PETSC_EXTERN PetscErrorCode SummaryCreate(Summary *summary);
PETSC_EXTERN PetscErrorCode SummaryDestroy(Summary *summary);
PETSC_EXTERN PetscErrorCode SummaryAddInt(Summary summary, const char name[], PetscInt value);
PETSC_EXTERN PetscErrorCode SummaryAddReal(Summary summary, const char name[], PetscReal value);
PETSC_EXTERN PetscErrorCode SummaryAddText(Summary summary, const char name[], const char value[]);
/* On the rank that calls it: lines to `out`; JSON to `file` unless that is empty. */
PETSC_EXTERN PetscErrorCode SummaryPrint(Summary summary, FILE *out);
PETSC_EXTERN PetscErrorCode SummaryWriteJSON(Summary summary, const char file[]);
