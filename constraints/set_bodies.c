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

/* F of touch t: with its side if that is here, else it stays here for who asks after the step, when the body has gone on */
static inline PetscReal *MotionOf_Private(ConstraintSet set, PetscInt t)
{
  const SideExchange *e = &set->exchange;

  return t < e->nlocal ? set->F + 18 * e->side[t] : set->motion + 18 * (t - e->nlocal);
}

PetscErrorCode ConstraintSetMotions_Private(ConstraintSet set, const Stage *stage)
{
  SideExchange *e   = &set->exchange;
  PetscInt      nnz = 0, *before, *after;
  Stage         local = *stage;

  PetscFunctionBeginUser;
  GrowArray(TELL_COUNT * (e->ntouch - e->nlocal), set->mdata, set->data);
  GrowArray(TELL_COUNT * (e->nside - e->nlocal), set->mside, set->side);
  GrowArray(18 * (e->ntouch - e->nlocal), set->mmotion, set->motion);
  GrowArray(set->n + 1, set->mptr, set->ptr);
  if (5 * set->n > set->mcol) { /* as many values of W as columns, wherever both are needed */
    set->mcol = 8 * set->n;
    PetscCall(PetscRealloc(sizeof(PetscInt) * set->mcol, &set->col));
    PetscCall(PetscRealloc(sizeof(PetscReal) * 9 * set->mcol, &set->w));
  }
  if (set->n > set->mbody) {
    set->mbody = set->n + set->n / 2 + 16;
    PetscCall(PetscRealloc(sizeof(PetscInt) * 6 * set->mbody, &set->body));
    PetscCall(PetscRealloc(sizeof(PetscReal) * 36 * set->mbody, &set->F));
    PetscCall(PetscRealloc(sizeof(PetscReal) * set->mbody, &set->trace));
  }
  before = set->body + 2 * set->n; /* blocks before and after on the body of a side, plus one */
  after  = before + 2 * set->n;
  for (PetscInt s = 0; s < 2 * set->n; s++) {
    set->body[s] = -1;
    before[s] = after[s] = 0;
  }
  for (PetscInt s = 0; s < 2 * set->n; s++)
    if (set->row[s / 2].id[s % 2] < 0) PetscCall(PetscArrayzero(set->F + 18 * s, 18));
  for (PetscInt k = 0; k < set->ntouched; k++) {
    Domain         *domain;
    const PetscInt *list;
    PetscInt        n;

    ConstraintSetBody_Private(set, k, &domain, &n, &list);
    StageSetBatch(&local, domain->batch);
    for (PetscInt i = 0; i < n; i++) {
      const Touch   *t       = &set->touch[list[i]];
      PetscReal     *F       = MotionOf_Private(set, list[i]), frame[9];
      const PetscInt last    = i ? set->touch[list[i - 1]].row + 1 : 0, next = i + 1 < n ? set->touch[list[i + 1]].row + 1 : 0;
      const PetscBool moves  = domain->batch->ops->motions ? PETSC_TRUE : PETSC_FALSE;

      if (moves) {
        for (PetscInt c = 0; c < 9; c++) frame[c] = c < 3 * t->rows ? t->sign * t->frame[c] : 0;
        PetscCall((*domain->batch->ops->motions)(domain->batch, domain->lane, &local, 1, set->points + i, frame, F));
      } else PetscCall(PetscArrayzero(F, 18));
      if (list[i] < e->nlocal) {
        const PetscInt s = e->side[list[i]];

        set->body[s] = moves ? domain->body->id : -1;
        before[s]    = moves ? last : 0;
        after[s]     = moves ? next : 0;
      } else {
        PetscReal *d = set->data + TELL_COUNT * (list[i] - e->nlocal);

        d[TELL_BODY]   = moves ? domain->body->id + 1 : 0;
        d[TELL_BEFORE] = moves ? last : 0;
        d[TELL_AFTER]  = moves ? next : 0;
        PetscCall(PetscArraycpy(d + TELL_F, F, 18));
      }
    }
  }
  PetscCall(SideExchangeHome(e, TELL_COUNT, set->data, set->side));
  for (PetscInt i = e->nlocal; i < e->nside; i++) {
    const PetscReal *d = set->side + TELL_COUNT * (i - e->nlocal);
    const PetscInt   s = e->side[i];

    set->body[s] = (PetscInt)d[TELL_BODY] - 1;
    before[s]    = (PetscInt)d[TELL_BEFORE];
    after[s]     = (PetscInt)d[TELL_AFTER];
    PetscCall(PetscArraycpy(set->F + 18 * s, d + TELL_F, 18));
  }
  set->ptr[0] = 0;
  for (PetscInt i = 0; i < set->n; i++) {
    for (PetscInt s = 2 * i; s < 2 * i + 2; s++) {
      if (before[s]) Insert_Private(before[s] - 1, set->ptr[i], set->col, &nnz);
      if (after[s]) Insert_Private(after[s] - 1, set->ptr[i], set->col, &nnz);
    }
    Insert_Private(set->first + i, set->ptr[i], set->col, &nnz);
    set->ptr[i + 1] = nnz;
    set->trace[i]   = 0;
    for (PetscInt k = 0; k < 36; k++) set->trace[i] += set->F[36 * i + k] * set->F[36 * i + k];
  }
  PetscFunctionReturn(0);
}

void ConstraintSetProducts_Private(ConstraintSet set, PetscInt n, const PetscInt list[], PetscReal W[])
{
  for (PetscInt i = 0; i < n; i++)
    for (PetscInt j = 0; j < n; j++)
      for (PetscInt c = 0; c < 3; c++)
        for (PetscInt r = 0; r < 3; r++) {
          const PetscReal *a = MotionOf_Private(set, list[i]) + r, *b = MotionOf_Private(set, list[j]) + c;

          W[9 * (n * i + j) + 3 * c + r] = a[0] * b[0] + a[3] * b[3] + a[6] * b[6] + a[9] * b[9] + a[12] * b[12] + a[15] * b[15];
        }
}

PetscReal ConstraintSetTrace_Private(ConstraintSet set, PetscInt i)
{
  PetscInt lo = set->ptr[i], hi = set->ptr[i + 1] - 1;

  if (set->bodies) return set->trace[i];
  while (lo < hi) {
    const PetscInt mid = lo + (hi - lo) / 2;

    if (set->col[mid] < set->first + i) lo = mid + 1;
    else hi = mid;
  }
  return set->w[9 * lo] + set->w[9 * lo + 4] + set->w[9 * lo + 8];
}
