/* Pairs: sections of `contact_pairs`, laws of contact between particular bodies. */
#pragma once
#include "constraints/set.h"
#include "settings.h"

typedef struct _p_Pairs *Pairs;
/* The name of body `id`, on any rank */
typedef PetscErrorCode (*PairsName)(void *ctx, PetscInt id, char name[], size_t length);
/* Reads the sections and sorts nbody bodies into groups of those that the same patterns match; every pattern must match somebody. */
PETSC_EXTERN PetscErrorCode PairsCreate(Settings settings, PetscInt nbody, PairsName name, void *ctx, Pairs *pairs);
PETSC_EXTERN PetscErrorCode PairsDestroy(Pairs *pairs);
/* Later pairs win over earlier ones, any pair over the law of all. */
PETSC_EXTERN PetscErrorCode PairsApply(Pairs pairs, ConstraintSet set);
