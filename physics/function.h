/* Function: a value given as a number, an expression of t, x, y, z (muParser) or a CSV table of t, value. */
#pragma once
#include <petscsys.h>

typedef struct _p_Function *Function;

/* `text` is a number, an expression, or a path ending in .csv (relative to `folder` unless absolute; folder may be NULL).
   Errors are PETSC_ERR_USER_INPUT with one clear line that begins with `what` (e.g. "pipe_force_value"). */
PETSC_EXTERN PetscErrorCode FunctionCreate(const char what[], const char text[], const char folder[], Function *f);
PETSC_EXTERN PetscErrorCode FunctionDestroy(Function *f);
PETSC_EXTERN PetscErrorCode FunctionEvaluate(Function f, PetscReal t, const PetscReal x[3], PetscReal *value);
/* Derivative by t: of an expression by differences of sixth order over t +- 3/8 of `step`, a time in which it changes little; of a table
   the slope after t, zero outside. */
PETSC_EXTERN PetscErrorCode FunctionDerivative(Function f, PetscReal t, const PetscReal x[3], PetscReal step, PetscReal *value);
