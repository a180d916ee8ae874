/* Pairs: sections of `contact_pairs`, laws of contact between particular bodies. */
#pragma once
#include "constraints/set.h"
#include "settings.h"

typedef struct _p_Pairs *Pairs;
/* Reads the sections and sorts the bodies into groups of those that the same patterns match; every pattern must match somebody. */
PETSC_EXTERN PetscErrorCode PairsCreate(Settings settings, Model model, Pairs *pairs);
PETSC_EXTERN PetscErrorCode PairsDestroy(Pairs *pairs);
/* Later pairs win over earlier ones, any pair over the law of all. */
PETSC_EXTERN PetscErrorCode PairsApply(Pairs pairs, ConstraintSet set);
