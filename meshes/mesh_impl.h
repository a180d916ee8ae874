/* What the files of meshes/ share and nobody else needs. */
#pragma once
#include "meshes/mesh.h"

/* Creation mode for an Exodus file whose largest single variable has this many bytes: the classic format with 64-bit offsets, which can be
   read while it is written, as long as it can hold that; netCDF-4 beyond. */
PETSC_INTERN int ExodusMode_Private(PetscInt64 bytes);
/* Longest name that a file can hold */
#define EXODUS_NAME 256
/* A variable that has values for each time: where they begin in the first time, and how long they are, in bytes */
typedef void (*ExodusVariable)(void *ctx, const char name[], PetscInt64 begin, PetscInt64 bytes);
/* A file that can be given to libexodusII: Exodus II, and as long as it says. `times` (or NULL): where its times begin and how long each
   is, in bytes; zeros for netCDF-4. `variable` (or NULL) is called for each variable that has times, not for netCDF-4. Not collective. */
PETSC_INTERN PetscErrorCode ExodusIsWhole_Private(const char file[], PetscBool *whole, PetscInt64 times[2], ExodusVariable variable, void *ctx);
