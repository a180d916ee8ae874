/* -fclib: solves friction-contact problems from files instead of running a model. */
#pragma once
#include "settings.h"

/* Collective. One line per file; a file that cannot be read or solved is told of, and the others are solved all the same: *failed counts them. */
PETSC_EXTERN PetscErrorCode RunFCLib(MPI_Comm comm, Settings settings, PetscInt *failed);
/* A folder for files of problems, made if it is not there; called by one rank */
PETSC_EXTERN PetscErrorCode FCLibFolder(const char option[], const char folder[]);
