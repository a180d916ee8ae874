/* Results: the moving bodies of a run in one Exodus II file, for ParaView.

   One element block per body, under the body's name. Coordinates are those of the placed, undeformed bodies. Per time: nodal
   displacement_x, _y, _z (from the placed state), velocity_x, _y, _z and contact_x, _y, _z (force) in global axes; per element mises, rank (that owned the body
   then) and formulation (the caller's integer code). Rank 0 writes; it holds some MB of bodies at a time (or one larger body),
   whatever the number of bodies, ranks and nodes. The file can be read while the run goes on: it appears under its name when the bodies are
   in it, and holds whole times only. (Models whose 8-byte fields pass 4 GB are written as netCDF-4 files, which HDF5 may lock until the end.) */
#pragma once
#include "meshes/mesh.h"

typedef struct _p_Results *Results;

typedef struct {
  PetscInt    id;          /* global number of the body, 0 .. nglobal - 1; also its place in the file */
  const char *name;        /* copied */
  Mesh        mesh;        /* not owned; must outlive the Results */
  PetscReal   rotation[9]; /* placement x = rotation X + shift, rotation by rows */
  PetscReal   shift[3];
  int         formulation; /* code shown as element variable */
} ResultsBody;

/* Fills the fields of body `local` (its place in the array last given to ResultsCreate or ResultsSetBodies): displacement, velocity
   and contact force nnode x 3, von Mises' stress nelem. They come zeroed. Called for each local body once per ResultsWrite, in the order of ids. */
typedef PetscErrorCode (*ResultsFields)(void *ctx, PetscInt local, PetscReal time, PetscReal *displacement, PetscReal *velocity, PetscReal *contact, PetscReal *mises);

/* Collective. Every rank gives its own bodies (none is fine), nglobal is the number on all ranks. With append (a restart), the file of
   an earlier run of the same bodies is reopened, times after `time` are dropped, and writing goes on behind; where there is no such
   file, or without append, a new one replaces what has the name. The array `bodies` may go after the call. */
PETSC_EXTERN PetscErrorCode ResultsCreate(MPI_Comm comm, const char file[], PetscInt nglobal, PetscInt nlocal, const ResultsBody bodies[], PetscBool append,
                                          PetscReal time, Results *results);
/* Collective. After bodies have moved between ranks: who has which now. Placement and name are not looked at. */
PETSC_EXTERN PetscErrorCode ResultsSetBodies(Results results, PetscInt nlocal, const ResultsBody bodies[]);
/* Collective. Adds a time, and makes it visible to readers. Times must rise; the last one again is overwritten (the first output of
   a restarted run is the last of the run before). If it fails, on whatever rank, all ranks get that error, and the file keeps the times
   before. */
PETSC_EXTERN PetscErrorCode ResultsWrite(Results results, PetscReal time, ResultsFields fields, void *ctx);
/* Collective. Number of times in the file. */
PETSC_EXTERN PetscErrorCode ResultsGetCount(Results results, PetscInt *count);
PETSC_EXTERN PetscErrorCode ResultsDestroy(Results *results);
