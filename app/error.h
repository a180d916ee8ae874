/* Errors as a user sees them: one line, exit code 1 on every rank, no traceback. */
#pragma once
#include <petscsys.h>

/* A user's mistake, found by this rank or by all: UserError("...", ...) returns with it, UserCheck(cond, "...") does if cond is false. */
#define UserError(...)       SETERRQ(PETSC_COMM_SELF, PETSC_ERR_USER_INPUT, __VA_ARGS__)
#define UserCheck(cond, ...) PetscCheck(cond, PETSC_COMM_SELF, PETSC_ERR_USER_INPUT, __VA_ARGS__)

PETSC_EXTERN PetscErrorCode ErrorHandlerPush(void);
/* Collective: turns an error on any rank into an error on all, so that no rank waits for one that has left. */
PETSC_EXTERN PetscErrorCode ErrorAgree(MPI_Comm comm, PetscErrorCode ierr);
/* What every following user's mistake is about, put before its message ("model.yml:3:9: bar_mesh"); NULL: nothing. Kept, not copied. */
PETSC_EXTERN void ErrorContext(const char context[]);
/* Collective, after PetscInitialize: gives ErrorExit a communicator of its own. */
PETSC_EXTERN PetscErrorCode ErrorStart(MPI_Comm comm);
/* Collective: prints the message of an error as ErrorExit does and forgets it, so that the run can go on; true if there was one on any rank. */
PETSC_EXTERN PetscBool ErrorReport(MPI_Comm comm, PetscErrorCode ierr);
/* Collective, at the end of main: prints the message of the lowest rank that found an error itself, returns the exit code. An error that
   some ranks do not know of, so that they wait elsewhere, ends the run after a few seconds. */
PETSC_EXTERN int ErrorExit(MPI_Comm comm, PetscErrorCode ierr);
