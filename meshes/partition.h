/* Spreading bodies over ranks: MatPartitioning on the graph of near bodies, weights from counts. */
#pragma once
#include <petscmat.h>

/* Registers MatPartitioning type "parmetis" where the program was built with ParMETIS. */
PETSC_EXTERN PetscErrorCode MatPartitioningRegisterAshlar(void);
/* Collective. Each rank passes some bodies (any distribution): weight (count of unknowns, >= 1) and box (lo xyz, hi xyz) of each.
   Neighbours are bodies whose grown boxes share a cell of a grid, found without any rank holding all bodies. `rank` receives
   each passed body's new rank. The type is parmetis where it is built in, else ptscotch, unless -mat_partitioning_type says
   otherwise. The same input on the same ranks gives the same answer. */
PETSC_EXTERN PetscErrorCode PartitionBodies(MPI_Comm comm, PetscInt n, const PetscInt weight[], const PetscReal box[], PetscInt rank[]);
