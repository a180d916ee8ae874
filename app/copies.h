/* Copies: where the bodies of one section are. One by default, many by `copies`. */
#pragma once
#include "settings.h"

typedef struct {
  PetscReal rotation[9], shift[3], velocity[3], spin[3];
} Placement;

typedef struct _p_Copies *Copies;
/* Reads SECTION_rotate, _translate, _velocity, _angular_velocity and _copies_*. A ring turns each copy about the ring's axis after its own `rotate`,
   and moves it away from the centre, which is at `translate`. */
PETSC_EXTERN PetscErrorCode CopiesCreate(Settings settings, const char section[], const char part[], Copies *copies);
PETSC_EXTERN PetscErrorCode CopiesDestroy(Copies *copies);
/* Number of bodies; *many is false when the section is one body under its own name. */
PETSC_EXTERN PetscErrorCode CopiesGetSize(Copies copies, PetscInt *n, PetscBool *many);
/* Any rank can ask for any copy: nothing is stored per copy but the lines of a CSV file. */
PETSC_EXTERN PetscErrorCode CopiesGet(Copies copies, PetscInt i, Placement *place);
