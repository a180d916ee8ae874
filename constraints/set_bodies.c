/* Rows by the motions of rigid bodies: W = F F^T, which the dual problem then never multiplies out. */
#include "constraints/set_impl.h"

/* numbers that a touch tells its side: body, blocks before and after on it (all plus one, 0: none), F */
enum { TELL_BODY, TELL_BEFORE, TELL_AFTER, TELL_F, TELL_COUNT = TELL_F + 18 };

PetscErrorCode ConstraintSetTakesBodies_Private(ConstraintSet set, PetscBool *yes)
{
  Model model = set->model;

  PetscFunctionBeginUser;
  if (!set->able_known) { /* by what the model is made of */
    int able = 1;

    for (PetscInt i = 0; i < model->nbatch; i++)
      if (model->batch[i]->ops->compliance && !model->batch[i]->ops->motions) able = 0;
    if (set->size > 1) PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, &able, 1, MPI_INT, MPI_LAND, set->comm));
    set->able       = able ? PETSC_TRUE : PETSC_FALSE;
    set->able_known = PETSC_TRUE;
  }
  *yes = PETSC_FALSE;
  if (set->able && !set->report.held) PetscCall(DualTakesBodies(set->dual, set->report.rows, yes));
  PetscFunctionReturn(0);
}

static void Insert_Private(PetscInt value, PetscInt first, PetscInt col[], PetscInt *n)
{
  PetscInt k = *n;

  for (PetscInt j = first; j < *n; j++)
    if (col[j] == value) return;
  for (; k > first && col[k - 1] > value; k--) col[k] = col[k - 1];
  col[k] = value;
  ++*n;
}

PetscErrorCode ConstraintSetMotions_Private(ConstraintSet set, const Stage *stage)
{
  PetscInt nnz = 0;
  Stage    local = *stage;

  PetscFunctionBeginUser;
  GrowArray(TELL_COUNT * set->ntouch, set->mdata, set->data);
  GrowArray(2 * TELL_COUNT * set->n, set->mside, set->side);
  GrowArray(18 * set->ntouch, set->mmotion, set->motion);
  PetscCall(PetscArrayzero(set->data, TELL_COUNT * set->ntouch));
  for (PetscInt k = 0; k < set->ntouched; k++) {
    Domain         *domain;
    const PetscInt *list;
    PetscInt        n;

    ConstraintSetBody_Private(set, k, &domain, &n, &list);
    if (!domain->batch->ops->motions) continue;
    StageSetBatch(&local, domain->batch);
    for (PetscInt i = 0; i < n; i++) {
      const Touch *t = &set->touch[list[i]];
      PetscReal   *d = set->data + TELL_COUNT * list[i], frame[9];

      for (PetscInt c = 0; c < 9; c++) frame[c] = c < 3 * t->rows ? t->sign * t->frame[c] : 0;
      PetscCall((*domain->batch->ops->motions)(domain->batch, domain->lane, &local, 1, set->points + i, frame, d + TELL_F));
      PetscCall(PetscArraycpy(set->motion + 18 * list[i], d + TELL_F, 18)); /* the body goes on, this is for who asks later */
      d[TELL_BODY]   = domain->body->id + 1;
      d[TELL_BEFORE] = i ? set->touch[list[i - 1]].row + 1 : 0;
      d[TELL_AFTER]  = i + 1 < n ? set->touch[list[i + 1]].row + 1 : 0;
    }
  }
  PetscCall(PetscArrayzero(set->side, 2 * TELL_COUNT * set->n));
  PetscCall(SideExchangeBackward(&set->exchange, TELL_COUNT, set->data, set->side));
  GrowArray(set->n + 1, set->mptr, set->ptr);
  if (5 * set->n > set->mcol) { /* as many values of W as columns, wherever both are needed */
    set->mcol = 8 * set->n;
    PetscCall(PetscRealloc(sizeof(PetscInt) * set->mcol, &set->col));
    PetscCall(PetscRealloc(sizeof(PetscReal) * 9 * set->mcol, &set->w));
  }
  if (set->n > set->mbody) {
    set->mbody = set->n + set->n / 2 + 16;
    PetscCall(PetscRealloc(sizeof(PetscInt) * 2 * set->mbody, &set->body));
    PetscCall(PetscRealloc(sizeof(PetscReal) * 36 * set->mbody, &set->F));
  }
  set->ptr[0] = 0;
  for (PetscInt i = 0; i < set->n; i++) {
    for (PetscInt e = 0; e < 2; e++) {
      const PetscReal *d = set->side + TELL_COUNT * (2 * i + e);

      set->body[2 * i + e] = (PetscInt)d[TELL_BODY] - 1;
      PetscCall(PetscArraycpy(set->F + 36 * i + 18 * e, d + TELL_F, 18));
      if (d[TELL_BEFORE] > 0) Insert_Private((PetscInt)d[TELL_BEFORE] - 1, set->ptr[i], set->col, &nnz);
      if (d[TELL_AFTER] > 0) Insert_Private((PetscInt)d[TELL_AFTER] - 1, set->ptr[i], set->col, &nnz);
    }
    Insert_Private(set->first + i, set->ptr[i], set->col, &nnz);
    set->ptr[i + 1] = nnz;
  }
  PetscFunctionReturn(0);
}

void ConstraintSetProducts_Private(ConstraintSet set, PetscInt n, const PetscInt list[], PetscReal W[])
{
  for (PetscInt i = 0; i < n; i++)
    for (PetscInt j = 0; j < n; j++)
      for (PetscInt c = 0; c < 3; c++)
        for (PetscInt r = 0; r < 3; r++) {
          const PetscReal *a = set->motion + 18 * list[i] + r, *b = set->motion + 18 * list[j] + c;

          W[9 * (n * i + j) + 3 * c + r] = a[0] * b[0] + a[3] * b[3] + a[6] * b[6] + a[9] * b[9] + a[12] * b[12] + a[15] * b[15];
        }
}

PetscReal ConstraintSetTrace_Private(ConstraintSet set, PetscInt i)
{
  PetscReal trace = 0;
  PetscInt  lo = set->ptr[i], hi = set->ptr[i + 1] - 1;

  if (set->bodies) {
    for (PetscInt k = 0; k < 36; k++) trace += set->F[36 * i + k] * set->F[36 * i + k];
    return trace;
  }
  while (lo < hi) {
    const PetscInt mid = lo + (hi - lo) / 2;

    if (set->col[mid] < set->first + i) lo = mid + 1;
    else hi = mid;
  }
  return set->w[9 * lo] + set->w[9 * lo + 4] + set->w[9 * lo + 8];
}
