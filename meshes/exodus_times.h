/* Private to meshes/: writes the times of an Exodus file in netCDF's classic format without libexodusII, whose calls search all blocks for
   each block: with a block per body they would take longer than the step. In that format a time is one piece of the file (a record),
   in which every variable has a fixed place, and the number of times is an integer in the header, which is written last: readers
   see whole times only. */
#pragma once
#include "meshes/mesh_impl.h"

typedef struct _p_ExodusTimes *ExodusTimes;

/* The file has nodal variables 1 .. nnodal of nnode values and element variables 1 .. nelement in blocks 1 .. nblock of nelem[] elements. *times
   is NULL if it does not, or is of another format: then libexodusII must write it. Not collective. */
PETSC_INTERN PetscErrorCode ExodusTimesOpen_Private(const char file[], PetscInt nnodal, PetscInt64 nnode, PetscInt nelement, PetscInt nblock, const PetscInt nelem[], ExodusTimes *times);
/* These count from 0 and keep the first error. Neighbours in the file that are put one after the other are written at once. */
PETSC_INTERN void ExodusTimesPutNodal_Private(ExodusTimes times, PetscInt step, PetscInt variable, PetscInt64 first, PetscInt64 n, const PetscReal *values);
PETSC_INTERN void ExodusTimesPutElement_Private(ExodusTimes times, PetscInt step, PetscInt variable, PetscInt block, PetscInt n, const PetscReal *values);
PETSC_INTERN void ExodusTimesPutTime_Private(ExodusTimes times, PetscInt step, PetscReal time);
/* Asks the disk for room for n times. */
PETSC_INTERN void ExodusTimesReserve_Private(ExodusTimes times, PetscInt n);
/* From now on readers see n times, unless there was an error before. */
PETSC_INTERN void ExodusTimesSetCount_Private(ExodusTimes times, PetscInt n);
/* errno of the first error, or 0 */
PETSC_INTERN int ExodusTimesError_Private(ExodusTimes times);
PETSC_INTERN PetscErrorCode ExodusTimesClose_Private(ExodusTimes *times);
