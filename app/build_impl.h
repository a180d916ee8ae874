/* What the files that build a model share. */
#pragma once
#include "build.h"
#include "copies.h"

/* A section of the input: one body, or many copies of one. */
typedef struct {
  const char *name, *partname;
  PetscInt    partid; /* number of the part's section in the settings */
  Copies      copies;
  PetscInt    first, n; /* global ids first .. first + n - 1 */
  PetscBool   many;
} Section;

typedef struct {
  Settings  settings;
  PetscInt  nsection;
  Section  *section;
  Part     *part;      /* by number in the settings; made where it is asked for, so that no rank holds more than it works on */
  PetscInt  nsetting;
} Builder;

/* One more than what the longest chain of alternatives needs */
#define KEY_LENGTH 2048

/* A point of a section (probe, force): given absolutely or from the mass centre of the placed body. */
PETSC_INTERN PetscErrorCode BuildPoint_Private(Settings settings, const char name[], PetscReal point[3], PetscBool *offset);
/* The body of this name: *exists if any rank has it, *local here (-1: on another rank). Only names are looked at, so all ranks agree. */
PETSC_INTERN PetscErrorCode BuildFindBody_Private(Builder *b, Model model, const char name[], PetscInt *local, PetscBool *exists);
/* build_constraints.c. Collective */
PETSC_INTERN PetscErrorCode BuildConstraints_Private(MPI_Comm comm, Builder *b, Model model, Supports *supports);
