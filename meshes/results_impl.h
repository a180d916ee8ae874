/* What the files of Results share: results.c opens and closes, results_write.c brings numbers from all ranks into the file. */
#pragma once
#include "meshes/results.h"
#include "meshes/exodus_times.h"
#include <exodusII.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

enum { RESULTS_NODE_VARS = 9, RESULTS_ELEM_VARS = 3 };

typedef struct {
  PetscInt id, place; /* place in the caller's array */
  Mesh     mesh;
} LocalBody;

/* What rank 0 knows of each body. */
typedef struct {
  PetscInt   nnode, nelem, formulation;
  PetscInt64 first; /* nodes of the bodies before it */
  int        owner;
} GlobalBody;

struct _p_Results {
  MPI_Comm    comm;
  PetscMPIInt tag, rank, size;
  char       *file;
  PetscInt    nglobal, nlocal;
  LocalBody  *local; /* by id */
  PetscInt    nchunk, *chunk; /* chunk c: ids chunk[c] .. chunk[c + 1] - 1; they go to rank 0 together, a message from each rank */
  /* rank 0 */
  GlobalBody *global;
  int         exo;
  ExodusTimes times; /* NULL: the times are written by libexodusII */
  PetscInt    nstep;
  PetscReal   last;
  PetscBool   broken;       /* a time in the file is not whole */
  char        problem[512]; /* why the file cannot be written; told to all ranks by Agree */
};

/* Rank 0 must go on receiving after a failed write, else the others would wait for ever: the first problem is kept, later calls skipped. */
#define ResultsTry(r, call) \
  do { \
    if (!(r)->problem[0] && (call) < 0) (void)snprintf((r)->problem, sizeof((r)->problem), "%s: cannot be written; is the disk full?", (r)->file); \
  } while (0)
#define ResultsProblem(r, ...) \
  do { \
    if (!(r)->problem[0]) (void)snprintf((r)->problem, sizeof((r)->problem), __VA_ARGS__); \
  } while (0)

/* Rank 0's problem, or any rank's error, becomes the same error on all ranks. */
PETSC_INTERN PetscErrorCode ResultsAgree_Private(Results r, PetscErrorCode ierr);
/* The bodies go to rank 0 chunk by chunk, and from there into the file. */
PETSC_INTERN PetscErrorCode ResultsWriteBodies_Private(Results r, const ResultsBody bodies[]);
