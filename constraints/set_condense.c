/* Touches of bodies: velocities of their points, compliance, and the block rows of W that follow. */
#include "constraints/set_impl.h"

/* Numbers that a side sends to its touch */
enum { SEND_BODY, SEND_ROW, SEND_SIGN, SEND_ROWS, SEND_EQUAL, SEND_ELEM, SEND_XI, SEND_FRAME = SEND_XI + 3, SEND_COUNT = SEND_FRAME + 9 };

#define AHEAD 8 /* so much later rows out of order are used that are fetched now */

PetscInt BodyLocal_Private(Model model, PetscInt id)
{
  PetscInt lo = 0, hi = model->nbody - 1;

  while (lo < hi) {
    const PetscInt mid = lo + (hi - lo) / 2;

    if (model->body[mid]->id < id) lo = mid + 1;
    else hi = mid;
  }
  return lo;
}

/* Sides here by body, so that touches of a body follow one another */
static PetscErrorCode SortSides_Private(ConstraintSet set)
{
  SideExchange *e = &set->exchange;

  PetscFunctionBeginUser;
  GrowArray(2 * set->n, set->mby_body, set->by_body);
  PetscCall(PetscArrayzero(set->body_ptr, set->model->nbody + 1));
  for (PetscInt t = 0; t < e->nlocal; t++) set->body_ptr[set->row[e->side[t] / 2].local[e->side[t] % 2] + 1]++;
  for (PetscInt b = 0; b < set->model->nbody; b++) set->body_ptr[b + 1] += set->body_ptr[b];
  for (PetscInt t = 0; t < e->nlocal; t++) set->by_body[set->body_ptr[set->row[e->side[t] / 2].local[e->side[t] % 2]]++] = e->side[t];
  PetscCall(PetscArraycpy(e->side, set->by_body, e->nlocal)); /* those of other ranks stay where they are */
  PetscFunctionReturn(0);
}

PetscErrorCode ConstraintSetTouches_Private(ConstraintSet set)
{
  Model         model = set->model;
  SideExchange *e     = &set->exchange;
  PetscInt      most  = 0;

  PetscFunctionBeginUser;
  PetscCall(SideExchangeSetUp(e, set->n, set->row));
  PetscCall(SortSides_Private(set));
  set->ntouch = e->ntouch;
  if (set->ntouch > set->mtouch) {
    set->mtouch = set->ntouch + set->ntouch / 2 + 16;
    PetscCall(PetscRealloc(sizeof(Touch) * set->mtouch, &set->touch));
    PetscCall(PetscRealloc(sizeof(PetscInt) * set->mtouch, &set->order));
  }
  for (PetscInt t = 0; t < e->nlocal; t++) {
    const PetscInt    end = e->side[t] % 2;
    const Constraint *row = &set->row[e->side[t] / 2];
    Touch            *touch = &set->touch[t];

    if (t + AHEAD < e->nlocal) PetscPrefetchBlock(&set->row[e->side[t + AHEAD] / 2], 1, 0, PETSC_PREFETCH_HINT_T2);
    touch->body  = row->local[end];
    touch->row   = set->first + e->side[t] / 2;
    touch->sign  = end ? 1 : -1;
    touch->rows  = row->law.rows;
    touch->equal = row->key.kind == CONTACT_SUPPORT ? PETSC_TRUE : PETSC_FALSE;
    for (PetscInt k = 0; k < 9; k++) touch->frame[k] = row->frame[k];
    PetscCall(SupportMaterialPoint(model->body[touch->body]->part, row->point[end].elem, row->point[end].xi, &touch->point));
  }
  GrowArray(SEND_COUNT * (e->nside - e->nlocal), set->mside, set->side);
  GrowArray(SEND_COUNT * (e->ntouch - e->nlocal), set->mdata, set->data);
  for (PetscInt i = e->nlocal; i < e->nside; i++) {
    const PetscInt    end = e->side[i] % 2;
    const Constraint *row = &set->row[e->side[i] / 2];
    PetscReal        *d   = set->side + SEND_COUNT * (i - e->nlocal);

    d[SEND_BODY]  = row->id[end];
    d[SEND_ROW]   = set->first + e->side[i] / 2;
    d[SEND_SIGN]  = end ? 1 : -1;
    d[SEND_ROWS]  = row->law.rows;
    d[SEND_EQUAL] = row->key.kind == CONTACT_SUPPORT;
    d[SEND_ELEM]  = row->point[end].elem;
    PetscCall(PetscArraycpy(d + SEND_XI, row->point[end].xi, 3));
    PetscCall(PetscArraycpy(d + SEND_FRAME, row->frame, 9));
  }
  PetscCall(SideExchangeAway(e, SEND_COUNT, set->side, set->data));
  for (PetscInt t = e->nlocal; t < e->ntouch; t++) {
    const PetscReal *d     = set->data + SEND_COUNT * (t - e->nlocal);
    Touch           *touch = &set->touch[t];

    touch->body = BodyLocal_Private(model, (PetscInt)d[SEND_BODY]);
    touch->row  = (PetscInt)d[SEND_ROW];
    touch->sign = d[SEND_SIGN];
    touch->rows = (PetscInt)d[SEND_ROWS];
    touch->equal = d[SEND_EQUAL] != 0 ? PETSC_TRUE : PETSC_FALSE;
    PetscCall(PetscArraycpy(touch->frame, d + SEND_FRAME, 9));
    PetscCall(SupportMaterialPoint(model->body[touch->body]->part, (PetscInt)d[SEND_ELEM], d + SEND_XI, &touch->point));
  }
  PetscCall(PetscArrayzero(set->body_ptr, model->nbody + 1));
  for (PetscInt i = 0; i < model->nbatch; i++) model->batch[i]->touched = PETSC_FALSE;
  for (PetscInt t = 0; t < set->ntouch; t++) {
    set->body_ptr[set->touch[t].body + 1]++;
    model->domain[set->touch[t].body]->batch->touched = PETSC_TRUE;
  }
  set->ntouched = 0;
  for (PetscInt b = 0; b < model->nbody; b++) {
    if (set->body_ptr[b + 1]) set->touched[set->ntouched++] = b;
    most = PetscMax(most, set->body_ptr[b + 1]);
    set->body_ptr[b + 1] += set->body_ptr[b];
  }
  for (PetscInt t = set->ntouch - 1; t >= 0; t--) set->order[--set->body_ptr[set->touch[t].body + 1]] = t;
  for (PetscInt b = 0; b < model->nbody; b++) set->body_ptr[b] = set->body_ptr[b + 1];
  set->body_ptr[model->nbody] = set->ntouch;
  /* touches of own rows ascend; those of others come by rank */
  for (PetscInt k = 0; k < set->ntouched && set->size > 1; k++) {
    PetscInt *list = set->order + set->body_ptr[set->touched[k]];

    for (PetscInt i = 1; i < set->body_ptr[set->touched[k] + 1] - set->body_ptr[set->touched[k]]; i++)
      for (PetscInt j = i, swap; j > 0 && set->touch[list[j]].row < set->touch[list[j - 1]].row; j--) swap = list[j], list[j] = list[j - 1], list[j - 1] = swap;
  }
  if (most > set->mpoints) {
    set->mpoints = 2 * most;
    PetscCall(PetscRealloc(sizeof(*set->points) * set->mpoints, &set->points));
    PetscCall(PetscRealloc(sizeof(PetscReal) * 9 * set->mpoints, &set->frames));
    PetscCall(PetscRealloc(sizeof(PetscReal) * 3 * set->mpoints, &set->values));
  }
  PetscFunctionReturn(0);
}

void ConstraintSetBody_Private(ConstraintSet set, PetscInt k, Domain **domain, PetscInt *n, const PetscInt **list)
{
  const PetscInt b = set->touched[k];

  *domain = set->model->domain[b];
  *n      = set->body_ptr[b + 1] - set->body_ptr[b];
  *list   = set->order + set->body_ptr[b];
  for (PetscInt i = 0; i < *n; i++) set->points[i] = &set->touch[(*list)[i]].point;
}

PetscErrorCode ConstraintSetVelocities_Private(ConstraintSet set, const Stage *stage, PetscBool end, PetscReal v[])
{
  PetscFunctionBeginUser;
  for (PetscInt k = 0; k < set->ntouched; k++) {
    Domain         *domain;
    const PetscInt *list;
    PetscInt        n;

    ConstraintSetBody_Private(set, k, &domain, &n, &list);
    PetscCall((*domain->batch->ops->velocities)(domain->batch, domain->lane, stage, n, set->points, end, set->values));
    for (PetscInt i = 0; i < n; i++) PetscCall(PetscArraycpy(v + 3 * list[i], set->values + 3 * i, 3));
  }
  PetscFunctionReturn(0);
}

PetscErrorCode ConstraintSetImpulse_Private(ConstraintSet set, const PetscReal R[])
{
  PetscFunctionBeginUser;
  GrowArray(6 * set->n, set->mside, set->side);
  GrowArray(3 * set->ntouch, set->mdata, set->data);
  for (PetscInt s = 0; s < 2 * set->n; s++) PetscCall(PetscArraycpy(set->side + 3 * s, R + 3 * (s / 2), 3));
  PetscCall(SideExchangeForward(&set->exchange, 3, set->side, set->data));
  for (PetscInt k = 0; k < set->ntouched; k++) {
    Domain         *domain;
    const PetscInt *list;
    PetscInt        n;

    ConstraintSetBody_Private(set, k, &domain, &n, &list);
    if (!domain->batch->ops->impulse) continue;
    for (PetscInt i = 0; i < n; i++) {
      const Touch     *t = &set->touch[list[i]];
      const PetscReal *r = set->data + 3 * list[i];

      for (PetscInt c = 0; c < 3; c++) {
        PetscReal p = 0;

        for (PetscInt l = 0; l < t->rows; l++) p += t->frame[3 * l + c] * r[l];
        set->values[3 * i + c] = t->sign * p;
      }
    }
    PetscCall((*domain->batch->ops->impulse)(domain->batch, domain->lane, n, set->points, set->values));
  }
  PetscFunctionReturn(0);
}

PetscErrorCode ConstraintSetBlocks_Private(ConstraintSet set, const Stage *stage)
{
  PetscInt size = 0, at = 0, nnz = 0;
  Stage    local = {0};

  PetscFunctionBeginUser;
  if (stage) local = *stage;
  GrowArray(set->ntouch, set->mtouch_row, set->touch_row);
  GrowArray(2 * set->n, set->mside_row, set->side_row);
  for (PetscInt k = 0; k < set->ntouched; k++) {
    const PetscInt b = set->touched[k], n = set->body_ptr[b + 1] - set->body_ptr[b];

    if (set->model->domain[b]->batch->ops->compliance) size += n + 9 * n * n;
  }
  GrowArray(size, set->mblock, set->block);
  for (PetscInt k = 0; k < set->ntouched; k++) {
    Domain         *domain;
    const PetscInt *list;
    PetscInt        n;
    PetscReal      *w = set->block + at;

    ConstraintSetBody_Private(set, k, &domain, &n, &list);
    if (!domain->batch->ops->compliance) {
      for (PetscInt i = 0; i < n; i++) set->touch_row[list[i]] = (BlockRow){0, NULL, NULL};
      continue;
    }
    for (PetscInt i = 0; i < n; i++) {
      w[i] = set->touch[list[i]].row;
      for (PetscInt c = 0; c < 9; c++) set->frames[9 * i + c] = set->touch[list[i]].sign * set->touch[list[i]].frame[c];
      set->touch_row[list[i]] = (BlockRow){n, w, w + n + 9 * n * i};
    }
    StageSetBatch(&local, domain->batch);
    if (set->bodies) ConstraintSetProducts_Private(set, n, list, w + n);
    else if (set->supports.nholder && set->supports.of[set->touched[k]] >= 0) PetscCall(ConstraintSetReduce_Private(set, &local, set->supports.of[set->touched[k]], n, set->points, set->frames, w + n));
    else {
      PetscCall((*domain->batch->ops->compliance)(domain->batch, domain->lane, &local, n, set->points, set->frames, w + n));
      for (PetscInt i = 0; i < n; i++) /* a total Lagrangian body whose factored operator is indefinite, or not a number */
        for (PetscInt c = 0; c < set->touch[list[i]].rows; c++)
          PetscCheck(w[n + 9 * (n * i + i) + 4 * c] > 0, PETSC_COMM_SELF, PETSC_ERR_USER_INPUT, "t = %g: body '%s' is so distorted that it gives way to a contact the wrong way; take a smaller -ts_dt, a stiffer material or formulation bc", (double)local.t, domain->body->name);
    }
    at += n + 9 * n * n;
  }
  for (PetscInt s = 0; s < 2 * set->n; s++) set->side_row[s] = (BlockRow){0, NULL, NULL};
  PetscCall(SideExchangeRows(&set->exchange, set->touch_row, &set->remote, &set->mremote, set->side_row));
  GrowArray(set->n + 1, set->mptr, set->ptr);
  for (PetscInt s = 0; s < 2 * set->n; s++) nnz += set->side_row[s].n;
  if (nnz > set->mcol) {
    set->mcol = nnz + nnz / 2 + 16;
    PetscCall(PetscRealloc(sizeof(PetscInt) * set->mcol, &set->col));
    PetscCall(PetscRealloc(sizeof(PetscReal) * 9 * set->mcol, &set->w));
  }
  set->ptr[0] = nnz = 0;
  for (PetscInt i = 0; i < set->n; i++) {
    const BlockRow *a = &set->side_row[2 * i], *b = a + 1;
    PetscInt        j = 0, k = 0;

    while (j < a->n || k < b->n) { /* merge */
      const PetscReal left = j < a->n ? a->col[j] : PETSC_MAX_REAL, right = k < b->n ? b->col[k] : PETSC_MAX_REAL;
      PetscReal      *w = set->w + 9 * nnz;

      set->col[nnz++] = (PetscInt)PetscMin(left, right);
      if (left <= right) PetscCall(PetscArraycpy(w, a->w + 9 * j++, 9));
      else PetscCall(PetscArrayzero(w, 9));
      if (right <= left) {
        for (PetscInt c = 0; c < 9; c++) w[c] += b->w[9 * k + c];
        k++;
      }
    }
    set->ptr[i + 1] = nnz;
  }
  set->blocks = PETSC_TRUE;
  PetscFunctionReturn(0);
}

PetscErrorCode ConstraintSetCondense(ConstraintSet set, const Stage *stage)
{
  PetscFunctionBeginUser;
  PetscCall(ConstraintSetHeldCondense_Private(set, stage));
  PetscCall(ConstraintSetTakesBodies_Private(set, &set->bodies));
  set->blocks = PETSC_FALSE;
  if (set->bodies) PetscCall(ConstraintSetMotions_Private(set, stage));
  else {
    PetscCall(ConstraintSetBlocks_Private(set, stage));
    PetscCall(ConstraintSetHeldBlocks_Private(set));
  }
  set->fresh = PETSC_TRUE;
  PetscFunctionReturn(0);
}
