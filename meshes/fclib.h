/* Friction-contact problems as FCLib keeps them in HDF5 files (https://frictionalcontactlibrary.github.io): find r and u = W r + q with
   K* ∋ (u_N + mu |u_T|, u_T) ⟂ r ∈ K for each contact, normal first, then the tangents; with bilateral rows
   u = W r + V l + q, 0 = Vᵀ r + R l + s. Serial: any rank may read or write a file of its own. */
#pragma once
#include <petscsys.h>

typedef struct {
  PetscInt   n, dim;       /* contacts; 2 or 3 space dimensions as in the file, which are the rows of a contact */
  PetscInt   m;            /* bilateral rows, 0: none */
  PetscInt  *ptr, *col;    /* scalar CSR of the whole (dim n + m)² matrix [W V; Vᵀ R]: columns ascend, duplicates are summed, */
  PetscReal *val, *q, *mu; /* stored zeros are kept; q: dim n + m (q, then s); mu: n */
  PetscReal *guess;        /* dim n + m (r, then l or zeros) of the first of /guesses, or NULL */
} FCLibProblem;

/* Reads the local problem of a file. What is wrong with a file is said in one line that begins with the file's name. */
PETSC_EXTERN PetscErrorCode FCLibRead(const char file[], FCLibProblem **problem);
/* Frees the problem with all its arrays (each from PetscMalloc) and sets it to NULL. */
PETSC_EXTERN PetscErrorCode FCLibProblemDestroy(FCLibProblem **problem);
/* Writes the problem, and its guess if it has one, with compressed rows, beside and then renamed. The title may be NULL. Vᵀ is not looked at. */
PETSC_EXTERN PetscErrorCode FCLibWriteProblem(const char file[], const FCLibProblem *problem, const char title[]);
/* Copies source to target, which may be the same, with r and u in /solution; all else stays. n3 is dim n, or dim n + m if there are
   bilateral rows: then the end of r is /solution/l, and the end of u, which is zero in a solution, is not written. */
PETSC_EXTERN PetscErrorCode FCLibWriteSolution(const char source[], const char target[], PetscInt n3, const PetscReal r[], const PetscReal u[]);
