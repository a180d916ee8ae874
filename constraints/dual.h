/* Dual: the constraint problem of a step, U = W R + B with a law for every Row, solved by a SNES. R is an impulse, U a relative velocity.
   Ranks give rows; islands of rows that are coupled are gathered, each on one rank, and solved there one by one, unless they are too large for that. */
#pragma once
#include <petscsnes.h>
#include "prox.h"

/* The law of one block of 1 to 3 rows: normal first, then two tangents. */
typedef struct {
  Relation  relation;
  PetscInt  rows;
  PetscReal friction; /* of cones; PETSC_INFINITY makes a cone RELATION_STICK */
  PetscReal cohesion; /* impulse that the contact can pull with, along its normal */
  PetscReal lower, upper;
} Row;

typedef enum { DUAL_MERIT_ENERGY, DUAL_MERIT_FCLIB } DualMerit;

typedef struct _p_Dual *Dual;
PETSC_EXTERN PetscErrorCode DualCreate(MPI_Comm comm, Dual *dual);
PETSC_EXTERN PetscErrorCode DualDestroy(Dual *dual);
PETSC_EXTERN PetscErrorCode DualSetMerit(Dual dual, DualMerit merit);
/* Reads -dual_*; the SNES (-snes_*) reads its own when it is made, at the first solve. */
PETSC_EXTERN PetscErrorCode DualSetFromOptions(Dual dual);
/* Collective. This rank's n blocks (numbered on from the rank before): block rows of W with global columns, ascending, the diagonal among
   them; values 3x3 by columns, rows and columns that a block does not have are ignored. b: 3 per block. The arrays are copied.
   -dual_mat_type free: only products with W and its diagonal blocks are used, as if it were known by products only. */
PETSC_EXTERN PetscErrorCode DualSetProblem(Dual dual, PetscInt n, const PetscInt ptr[], const PetscInt col[], const PetscReal w[], const PetscReal b[], const Row row[]);
/* Collective. The same for W = F F^T by bodies of six unknowns: block i touches the bodies body[2 i], body[2 i + 1] (numbers over all ranks, -1: none that
   can move), F: two 3x6 by columns each, rows that a block does not have are zero. ptr, col: any symmetric graph with the diagonal that connects the
   blocks of every body. W is never multiplied out; only where DualTakesBodies() says so. */
PETSC_EXTERN PetscErrorCode DualSetProblemByBodies(Dual dual, PetscInt n, const PetscInt ptr[], const PetscInt col[], const PetscInt body[], const PetscReal F[], const PetscReal b[], const Row row[]);
/* N: blocks of all ranks. Whether a problem of so many is better given by bodies, if it can be: -dual_mat_type bodies, or auto and it is not small; and the
   solver needs no matrix. After DualSetFromOptions(). */
PETSC_EXTERN PetscErrorCode DualTakesBodies(Dual dual, PetscInt N, PetscBool *yes);
/* Collective. The same problem with another b: W and what follows from it are kept. */
PETSC_EXTERN PetscErrorCode DualSetB(Dual dual, const PetscReal b[]);
/* Collective. R: start and solution, U: the velocities, 3 per block of DualSetProblem(). Whatever the solver says, the merit of what is
   given back decides about the reason. Not converged: the best R that was met. */
PETSC_EXTERN PetscErrorCode DualSolve(Dual dual, PetscReal R[], PetscReal U[], SNESConvergedReason *reason);
/* Of the last solve, over all ranks. Types of ours solve and stop every island by itself: the counts, and `iterations` (sweeps, Newton solves and
   interior-point steps), are those of the island that took most; report->mean is what a block has seen on average. Others: iterations of the SNES. */
PETSC_EXTERN PetscErrorCode DualGetReport(Dual dual, SolveReport *report, PetscInt *iterations);
PETSC_EXTERN PetscErrorCode DualGetSNES(Dual dual, SNES *snes);
/* W of the problem as it is solved (islands gathered): MATBAIJ of block size 3, or a shell that multiplies if it is shared, given by bodies, or -dual_mat_type
   is free. The dual's own, until the next problem. */
PETSC_EXTERN PetscErrorCode DualGetMat(Dual dual, Mat *W);
/* Sizes, friction, islands, rank estimate, and the residual of each part of the law at the last solution (-dual_view) */
PETSC_EXTERN PetscErrorCode DualView(Dual dual, PetscViewer viewer);

PETSC_EXTERN PetscErrorCode SNESRegisterAshlar(void);
