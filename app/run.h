/* Run: the time loop with all that goes with it: balance and guard, outputs, checkpoints, progress, summary. */
#pragma once
#include "build.h"

/* Collective. Reads the run's own options, makes TS and outputs, solves, prints the summary. */
PETSC_EXTERN PetscErrorCode RunModel(MPI_Comm comm, Settings settings, Model model, const Probes *probes, Pairs pairs, const Supports *supports);
