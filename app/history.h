/* History: the CSV file of energies and probes, one row per output time. */
#pragma once
#include "build.h"
#include "constraints/set.h"

enum { ENERGY_KINETIC, ENERGY_INTERNAL, ENERGY_EXTERNAL, ENERGY_DAMPING, ENERGY_CONTACT, ENERGY_FRICTION, ENERGY_CONSTRAINT, ENERGY_TOTAL, ENERGY_COUNT };

/* Cuts rows later than `restart`, which must lie between two steps (times in the file are rounded), off a CSV file, so that a restarted run goes on with it. */
PETSC_EXTERN PetscErrorCode HistoryTruncate(FILE *file, PetscReal restart);

typedef struct _p_History *History;
/* Collective; rank 0 writes. restart >= 0: rows up to that time are kept, later ones are cut off, and rows are added. */
PETSC_EXTERN PetscErrorCode HistoryCreate(Model model, const Probes *probes, const char file[], PetscInt digits, PetscBool append, PetscReal restart, History *history);
PETSC_EXTERN PetscErrorCode HistoryDestroy(History *history);
PETSC_EXTERN PetscErrorCode HistoryWrite(History history, PetscReal t, const PetscReal energy[ENERGY_COUNT], const ConstraintReport *contact);
