/* Bodies that overlap where a run begins: told of once, or refused. */
#include "constraints/set_impl.h"

#define OVERLAP 1e-6 /* of an edge of the mesh: what is less is round-off of a placement */

/* The deepest of all, as a message from the rank that has it */
typedef struct {
  PetscInt  id[2];
  PetscReal x[3];
} Deepest;

PetscErrorCode ConstraintSetOverlaps_Private(ConstraintSet set, const Stage *stage)
{
  struct {
    double value;
    int    rank;
  } worst           = {0, set->rank};
  Deepest  deepest  = {{0, 0}, {0, 0, 0}};
  PetscInt count[2] = {0, 0}; /* contacts, pairs of bodies */
  char     name[2][256], text[1024];

  PetscFunctionBeginUser;
  if (set->overlaps_known) PetscFunctionReturn(0);
  set->overlaps_known = PETSC_TRUE;
  for (PetscInt i = 0, last = -1; i < set->n; i++) {
    const Constraint *row = &set->row[i];
    const PetscReal   gap = row->gap - 0.5 * stage->h * row->U0[0]; /* at the start, not at the half step */

    if (!(gap < -OVERLAP * row->ell)) continue;
    count[0]++;
    if (last < 0 || set->row[last].id[0] != row->id[0] || set->row[last].id[1] != row->id[1]) count[1]++;
    last = i;
    if (gap < worst.value) {
      worst.value = gap;
      deepest     = (Deepest){{row->id[0], row->id[1]}, {row->x[0], row->x[1], row->x[2]}};
    }
  }
  PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, count, 2, MPIU_INT, MPI_SUM, set->comm));
  if (!count[0]) PetscFunctionReturn(0);
  PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, &worst, 1, MPI_DOUBLE_INT, MPI_MINLOC, set->comm));
  PetscCallMPI(MPI_Bcast(&deepest, sizeof(deepest), MPI_BYTE, worst.rank, set->comm));
  for (PetscInt k = 0; k < 2; k++) PetscCall(ModelName(set->model, deepest.id[k], name[k], sizeof(name[k])));
  PetscCall(PetscSNPrintf(text, sizeof(text), "%" PetscInt_FMT " pair%s of bodies overlap%s at the start, at %" PetscInt_FMT " contact%s; deepest '%s' and '%s', by %.3g at (%g, %g, %g)", count[1], count[1] > 1 ? "s" : "", count[1] > 1 ? "" : "s", count[0],
                          count[0] > 1 ? "s" : "", name[0], name[1], -worst.value, (double)deepest.x[0], (double)deepest.x[1], (double)deepest.x[2]));
  PetscCheck(set->overlap == OVERLAP_KEEP, set->comm, PETSC_ERR_USER_INPUT, "%s; move them apart, or let them be with -contact_overlap keep", text);
  if (!set->rank) PetscCall(PetscFPrintf(PETSC_COMM_SELF, PETSC_STDERR, "ashlar: warning: %s; contact keeps them from going deeper, but does not part them\n", text));
  PetscFunctionReturn(0);
}
