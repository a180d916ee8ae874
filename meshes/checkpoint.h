/* Checkpoint: one HDF5 file with a record of numbers per body, in the order of the bodies' global numbers, so that any number of
   ranks can read what any number has written; and a few numbers of the run. */
#pragma once
#include <petscvec.h>

typedef struct {
  PetscReal t0, time, dt;
  PetscInt  step, nbody;
} CheckpointHead;

/* Rows of `width` numbers, as many as there happen to be, in any order */
typedef struct {
  const char *name; /* of the dataset */
  PetscInt    width, n;
  PetscReal  *row;  /* n x width */
} CheckpointTable;

/* Collective. Bodies of this rank: id[i] has length[i] numbers, one after the other in data; extra: numbers that all ranks share;
   tables: rows of this rank.    Written beside, then renamed: a killed run, or a full disk, leaves the old file whole. */
PETSC_EXTERN PetscErrorCode CheckpointWrite(MPI_Comm comm, const char file[], const CheckpointHead *head, PetscInt nextra, const PetscReal extra[], PetscInt n, const PetscInt id[], const PetscInt length[],
                                            const PetscReal data[], PetscInt ntable, const CheckpointTable table[]);
/* Collective. Same arguments, filled in; head->nbody and the lengths must be as written (another model is refused by one line). Tables have name and
   width and get n rows, to be freed: all ranks together have all. On an error nothing is filled in. */
PETSC_EXTERN PetscErrorCode CheckpointRead(MPI_Comm comm, const char file[], CheckpointHead *head, PetscInt nextra, PetscReal extra[], PetscInt n, const PetscInt id[], const PetscInt length[], PetscReal data[],
                                           PetscInt ntable, CheckpointTable table[]);
