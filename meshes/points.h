/* Points: sets of points with fields that change in number from time to time, such as contacts, for ParaView: name.xdmf, which is text, and name.h5
   beside it, which holds the numbers.

   In the HDF5 file, `times` holds the times (NaN: not used yet), and group 00000000, 00000001, ... of each has the coordinates `x` (n x 3), `index`
   (0 .. n - 1) and a dataset (n x components) of each field; where n is 0, the text has one point of zeros instead, since its readers want one. A time becomes part of the file when it is there as a whole, and part of the text after
   that, so that a killed run leaves a pair of files that can be read and gone on with. Both can be read while the run goes on. Rank 0 writes; it
   holds what one rank gives of one field at a time. */
#pragma once
#include <petscsys.h>

typedef struct _p_Points *Points;

/* Collective. `file` ends in .xdmf. Names of fields: letters, digits and _; components: 1 (scalar), 3 (vector), 6 (symmetric tensor), 9 (tensor) or
   others (matrix). With append (a restart), files of an earlier run with the same fields are gone on with, times after restart_time being dropped;
   where there are none, or without append, new ones replace what has their names. */
PETSC_EXTERN PetscErrorCode PointsCreate(MPI_Comm comm, const char file[], PetscInt nfield, const char *const names[], const PetscInt components[], PetscBool append, PetscReal restart_time, Points *points);
/* Collective. n points of this rank at x (3 n) with fields of n x components numbers, behind those of the ranks before. Times must rise; the last one
   again is overwritten. If it fails, all ranks get the error, and the files keep the times before. */
PETSC_EXTERN PetscErrorCode PointsWrite(Points points, PetscReal time, PetscInt n, const PetscReal x[], const PetscReal *const field[]);
PETSC_EXTERN PetscErrorCode PointsDestroy(Points *points);
