/* From settings to a model. */
#pragma once
#include "physics/model.h"
#include "pairs.h"
#include "settings.h"

typedef struct {
  char         *name;
  PetscInt      body; /* local index, -1: on another rank */
  MaterialPoint point;
} Probe;

typedef struct {
  PetscInt n;
  Probe   *probe;
} Probes;

/* Collective. Adds the sections of the model to the settings, makes the bodies that this rank owns, forces, probes, pairs and constraints. */
PETSC_EXTERN PetscErrorCode BuildModel(MPI_Comm comm, Settings settings, Model *model, Probes *probes, Pairs *pairs, Supports *supports);
PETSC_EXTERN PetscErrorCode ProbesDestroy(Probes *probes);
