#include "reactions.h"
#include "error.h"
#include "history.h"
#include <errno.h>

struct _p_Reactions {
  const Supports *supports;
  FILE           *file; /* on rank 0 */
  PetscInt        digits;
  PetscReal      *value; /* force and moment of each */
};

PetscErrorCode ReactionsCreate(MPI_Comm comm, const Supports *supports, const char file[], PetscInt digits, PetscBool append, PetscReal restart, Reactions *reactions)
{
  Reactions      r;
  PetscMPIInt    rank;
  PetscErrorCode ierr = 0;

  PetscFunctionBeginUser;
  PetscCall(PetscNew(&r));
  *reactions  = r;
  r->supports = supports;
  r->digits   = digits;
  PetscCall(PetscMalloc1(6 * supports->n, &r->value));
  PetscCallMPI(MPI_Comm_rank(comm, &rank));
  if (rank == 0) {
    if (append) r->file = fopen(file, "r+");
    if (r->file) {
      ierr = HistoryTruncate(r->file, restart);
    } else {
      r->file = fopen(file, "w");
      if (r->file) fprintf(r->file, "time,name,fx,fy,fz,mx,my,mz\n");
      else ierr = PetscError(PETSC_COMM_SELF, __LINE__, PETSC_FUNCTION_NAME, __FILE__, PETSC_ERR_USER_INPUT, PETSC_ERROR_INITIAL, "output_reactions: cannot write '%s': %s", file, strerror(errno));
    }
  }
  PetscCall(ErrorAgree(comm, ierr));
  PetscFunctionReturn(0);
}

PetscErrorCode ReactionsDestroy(Reactions *reactions)
{
  PetscFunctionBeginUser;
  if (!*reactions) PetscFunctionReturn(0);
  if ((*reactions)->file) fclose((*reactions)->file);
  PetscCall(PetscFree((*reactions)->value));
  PetscCall(PetscFree(*reactions));
  PetscFunctionReturn(0);
}

PetscErrorCode ReactionsWrite(Reactions r, Model model, ConstraintSet set, PetscReal t)
{
  PetscFunctionBeginUser;
  PetscCall(ModelOpen(model));
  PetscCall(ConstraintSetGetReactions(set, t, r->value));
  PetscCall(ModelClose(model));
  if (!r->file) PetscFunctionReturn(0);
  for (PetscInt i = 0; i < r->supports->n; i++) {
    fprintf(r->file, "%.*g,%s", (int)r->digits, (double)t, r->supports->support[i].name);
    for (PetscInt k = 0; k < 6; k++) fprintf(r->file, ",%.*g", (int)r->digits, (double)r->value[6 * i + k]);
    fprintf(r->file, "\n");
  }
  fflush(r->file);
  PetscFunctionReturn(0);
}
