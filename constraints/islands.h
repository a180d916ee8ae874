/* Islands: a system cut into its connected parts, each a System of its own that works on the same arrays. The whole has its blocks in the order
   of islands, so a part is a range of them; only its indices are made anew, counted from its own first block. */
#pragma once
#include "system.h"

typedef struct _p_Islands *Islands;
struct _p_Islands {
  PetscInt     n, largest;          /* islands; blocks of the largest */
  PetscInt    *start;               /* n + 1: first block of each */
  PetscInt    *place;               /* of blocks in the order they came: where they are in the system */
  PetscBool    moved;               /* some are elsewhere */
  System       view;                /* n systems */
  SolveReport *report;              /* of each: what the last solve has done */
  PetscInt    *label, *ptr, *col, *diag, *order, *phase;
  PetscInt     capacity, vcapacity, wcapacity;
};

PETSC_EXTERN PetscErrorCode IslandsCreate(Islands *islands);
PETSC_EXTERN PetscErrorCode IslandsDestroy(Islands *islands);
/* Of a graph as it came: start, place. Islands are in the order of their first blocks, and so are the blocks within each. */
PETSC_EXTERN PetscErrorCode IslandsFind(Islands islands, PetscInt n, const PetscInt ptr[], const PetscInt col[]);
/* After SystemSetUp() of the whole, whose blocks are placed: the views. whole: the system is one view, whatever its islands. */
PETSC_EXTERN PetscErrorCode IslandsSetUp(Islands islands, System s, PetscBool whole);
/* Scales of the views when q is another. all, scale: blocks of all ranks, and their scale */
PETSC_EXTERN PetscErrorCode IslandsSetScale(Islands islands, System s, PetscInt all, PetscReal scale);
