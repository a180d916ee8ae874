/* Reactions: the CSV file of the forces of constraints, one row for each constraint and output time. */
#pragma once
#include "constraints/set.h"

typedef struct _p_Reactions *Reactions;
/* Collective; rank 0 writes. append: rows up to `restart` are kept. The supports must outlive it. */
PETSC_EXTERN PetscErrorCode ReactionsCreate(MPI_Comm comm, const Supports *supports, const char file[], PetscInt digits, PetscBool append, PetscReal restart, Reactions *reactions);
PETSC_EXTERN PetscErrorCode ReactionsDestroy(Reactions *reactions);
PETSC_EXTERN PetscErrorCode ReactionsWrite(Reactions reactions, Model model, ConstraintSet set, PetscReal t);
