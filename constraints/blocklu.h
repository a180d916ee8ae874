/* BlockLU: sparse LU of a matrix of 3x3 blocks with a symmetric pattern, by rows, without pivoting between blocks. The order is found once for
   a graph; blocks may leave and come back (active sets), which only redoes the symbolic part. */
#pragma once
#include <petscsys.h>

typedef struct _p_BlockLU *BlockLU;

PETSC_EXTERN PetscErrorCode BlockLUCreate(BlockLU *lu);
PETSC_EXTERN PetscErrorCode BlockLUDestroy(BlockLU *lu);
/* The whole graph: block rows with ascending columns, symmetric. The arrays are kept by reference until the next call. */
PETSC_EXTERN PetscErrorCode BlockLUSetGraph(BlockLU lu, PetscInt n, const PetscInt ptr[], const PetscInt col[]);
/* Which blocks take part (NULL: all). The others' rows and columns are left out. Cheap when nothing has changed. */
PETSC_EXTERN PetscErrorCode BlockLUSetActive(BlockLU lu, const unsigned char active[]);
/* Gives the three columns of block k (place in the graph's col) of row i, each as four numbers (the last is not looked at) by rows */
typedef void (*BlockLURow)(void *ctx, PetscInt i, PetscInt nblock, const PetscInt place[], PetscReal *value);
PETSC_EXTERN PetscErrorCode BlockLUFactor(BlockLU lu, BlockLURow row, void *ctx, PetscBool *ok);
/* x: right-hand side then solution, 3 numbers of every block; those of inactive ones are not touched. Room for one number more. */
PETSC_EXTERN void BlockLUSolve(BlockLU lu, PetscReal *x);
/* Products of 3x3 blocks that a factorization makes */
PETSC_EXTERN void BlockLUGetProducts(BlockLU lu, PetscReal *products);
/* Blocks in L and U, for reports */
PETSC_EXTERN PetscInt BlockLUGetSize(BlockLU lu);
