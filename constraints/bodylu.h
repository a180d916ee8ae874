/* BodyLU: direct solution of 1 + sum_i F_i^T K_i F_i over bodies of six unknowns, the sum over the active blocks of a System that is known by bodies. It is
   what remains of (W + K^-1) r = K^-1 c when W = F F^T is not multiplied out: v = F^T r solves (1 + F^T K F) v = F^T c, and r = c - K F v. Sparse LU of 6x6 blocks
   on the graph of the bodies, much smaller than that of their contacts; without pivoting between bodies. */
#pragma once
#include "system.h"

typedef struct _p_BodyLU *BodyLU;
PETSC_EXTERN PetscErrorCode BodyLUCreate(BodyLU *lu);
PETSC_EXTERN PetscErrorCode BodyLUDestroy(BodyLU *lu);
/* Another system: forgets the order */
PETSC_EXTERN PetscErrorCode BodyLUReset(BodyLU lu);
/* active: of each block, NULL: all; K: 9 a block, by rows. The order is found anew when other bodies are coupled than before. */
PETSC_EXTERN PetscErrorCode BodyLUFactor(BodyLU lu, System s, const unsigned char active[], const PetscReal K[], PetscBool *ok);
/* x: c of the active blocks, then r; s->v: the motions F^T r of them */
PETSC_EXTERN void BodyLUSolve(BodyLU lu, System s, const unsigned char active[], const PetscReal K[], PetscReal *x);
/* Products of 6x6 blocks that a factorization of these active blocks makes. Finds the order, which a factorization of the same blocks then has. */
PETSC_EXTERN PetscErrorCode BodyLUEstimate(BodyLU lu, System s, const unsigned char active[], PetscReal *products);
