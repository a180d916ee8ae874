/* Supports in a ConstraintSet: targets of their rows, those that stay in the dual problem, reactions. */
#include "constraints/set_impl.h"
#include "physics/rotation.h"

const char *const SupportKinds[] = {"fixed", "direction", "velocity", "displacement", "ball", NULL};

PetscErrorCode SupportsDestroy(Supports *supports)
{
  PetscFunctionBeginUser;
  for (PetscInt i = 0; i < supports->n; i++) {
    PetscCall(PetscFree(supports->support[i].name));
    PetscCall(FunctionDestroy(&supports->support[i].value));
  }
  PetscCall(PetscFree(supports->support));
  PetscCall(PetscFree(supports->point));
  PetscFunctionReturn(0);
}

PetscErrorCode SupportsAddPoint(Supports *supports, const SupportPoint *point)
{
  PetscFunctionBeginUser;
  GrowArray(supports->npoint + 1, supports->capacity, supports->point);
  supports->point[supports->npoint++] = *point;
  PetscFunctionReturn(0);
}

PetscErrorCode SupportMaterialPoint(Part part, PetscInt elem, const PetscReal xi[3], MaterialPoint *point)
{
  PetscFunctionBeginUser;
  if (elem >= 0) {
    PetscCall(PartPoint(part, elem, xi, point));
    PetscFunctionReturn(0);
  }
  PetscCall(PetscMemzero(point, sizeof(*point)));
  if (elem == SUPPORT_FREE) {
    PetscCall(PetscArraycpy(point->X, xi, 3));
  } else {
    point->nnode   = 1;
    point->node[0] = SUPPORT_NODE(elem);
    point->N[0]    = 1;
    PetscCall(PetscArraycpy(point->X, part->X + 3 * point->node[0], 3));
  }
  PetscFunctionReturn(0);
}

static ContactKey SupportKey_Private(const SupportPoint *p)
{
  const PetscInt other = p->id[0] < 0 ? p->id[1] : p->id[0];

  return (ContactKey){PetscMin(other, p->id[1]), PetscMax(other, p->id[1]), CONTACT_SUPPORT, p->support, p->number};
}

static int SupportCompare_Private(const void *a, const void *b, void *ctx)
{
  const SupportPoint *point = (const SupportPoint *)ctx;
  const ContactKey    left = SupportKey_Private(&point[*(const PetscInt *)a]), right = SupportKey_Private(&point[*(const PetscInt *)b]);

  return ContactKeyCompare(&left, &right);
}

/* Directions of a support's rows, and how many */
static PetscInt SupportFrame_Private(const Support *s, PetscReal frame[9])
{
  const PetscReal *d = s->direction;
  PetscReal        t[3] = {0, 0, 0}, size;
  PetscInt         least = 0;

  if (s->kind == SUPPORT_FIXED || s->kind == SUPPORT_BALL) {
    for (PetscInt k = 0; k < 9; k++) frame[k] = k % 4 ? 0 : 1;
    return 3;
  }
  for (PetscInt k = 1; k < 3; k++)
    if (PetscAbsReal(d[k]) < PetscAbsReal(d[least])) least = k;
  t[least] = 1;
  for (PetscInt k = 0; k < 3; k++) frame[k] = d[k];
  Vec3Cross(d, t, frame + 3);
  size = PetscSqrtReal(Vec3Dot(frame + 3, frame + 3));
  for (PetscInt k = 3; k < 6; k++) frame[k] /= size;
  Vec3Cross(frame, frame + 3, frame + 6);
  return 1;
}

PetscErrorCode ConstraintSetSetSupports(ConstraintSet set, const Supports *supports, PetscReal origin)
{
  SupportRows *s = &set->supports;
  Model        model = set->model;

  PetscFunctionBeginUser;
  s->all    = supports;
  s->origin = origin;
  PetscCall(ConstraintSetHeldDestroy_Private(set));
  PetscCall(PetscFree3(s->order, s->row, s->local));
  PetscCall(PetscMalloc3(supports->npoint, &s->order, supports->npoint, &s->row, supports->npoint, &s->local));
  s->nkept = 0;
  s->led   = PETSC_FALSE;
  for (PetscInt i = 0; i < supports->npoint; i++) {
    const SupportPoint *p = &supports->point[i];

    s->local[i] = BodyLocal_Private(model, p->id[1]);
    PetscCall(SupportMaterialPoint(model->body[s->local[i]]->part, p->point[1].elem, p->point[1].xi, &s->row[i].at));
    s->row[i].rows = SupportFrame_Private(&supports->support[p->support], s->row[i].frame);
    s->row[i].mend = PETSC_FALSE;
    for (PetscInt k = 0; k < s->row[i].rows; k++)
      if (PetscAbsReal(Vec3Dot(s->row[i].frame + 3 * k, p->velocity)) > 1e-8 * p->speed) s->row[i].mend = PETSC_TRUE;
    s->led = (PetscBool)(s->led || p->led);
    if (p->id[0] >= 0 || !s->eliminate) s->order[s->nkept++] = i;
  }
  PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, &s->led, 1, MPIU_BOOL, MPI_LOR, set->comm));
  if (s->nkept) PetscCall(PetscTimSort(s->nkept, s->order, sizeof(*s->order), SupportCompare_Private, supports->point));
  PetscCall(ConstraintSetHeldSetUp_Private(set));
  PetscFunctionReturn(0);
}

PetscErrorCode ConstraintSetSupportsDestroy_Private(ConstraintSet set)
{
  PetscFunctionBeginUser;
  PetscCall(ConstraintSetHeldDestroy_Private(set));
  PetscCall(PetscFree3(set->supports.order, set->supports.row, set->supports.local));
  PetscFunctionReturn(0);
}

/* Two steps, in which velocities that contradict supports at the start are mended: the first stops what must not be, the second what the sudden change of the
   body's spin makes of that. */
static PetscBool SupportsStart_Private(const SupportRows *s, const Stage *stage)
{
  return stage->t - s->origin < 1.5 * stage->h ? PETSC_TRUE : PETSC_FALSE;
}

/* Mean velocity of the step that the rows of point i on one body shall have. With theta = 1/2 and a target of zero, rows do no work. But what does not go
   as it should at t (the start; a kink in what is prescribed) would then come back with the other sign in every step, for ever. So at
   such a start, and always for what is prescribed, rows ask for the right velocity at t + h, as if V at t was right: the mean of V(t) and v(t + h). A displacement besides
   takes half of what is missing of the way, which leaves no error after two steps. */
PetscErrorCode ConstraintSetTarget_Private(ConstraintSet set, const Stage *stage, PetscInt i, PetscReal x[3], PetscReal mean[3])
{
  const SupportRows  *s = &set->supports;
  const SupportPoint *p = &s->all->point[i];
  const Support      *support = &s->all->support[p->support];
  const SupportRow   *row = &s->row[i];
  const Domain       *domain = set->model->domain[s->local[i]];
  PetscReal           V[3], v = 0, d0, d1, end = stage->t + stage->h;

  PetscFunctionBeginUser;
  for (PetscInt k = 0; k < 3; k++) mean[k] = 0;
  PetscCall((*domain->batch->ops->point)(domain->batch, domain->lane, &row->at, stage->t, x, V));
  if (!support->value && (!row->mend || !SupportsStart_Private(s, stage))) PetscFunctionReturn(0);
  for (PetscInt k = 0; k < row->rows; k++) mean[k] = 0.5 * Vec3Dot(row->frame + 3 * k, V);
  if (support->kind == SUPPORT_VELOCITY) PetscCall(FunctionEvaluate(support->value, end, p->placed, &v));
  /* before a corner of a table that is at t + h, not after it */
  if (support->kind == SUPPORT_DISPLACEMENT) PetscCall(FunctionDerivative(support->value, end - 1e-6 * stage->h, p->placed, stage->h, &v));
  mean[0] += 0.5 * v;
  if (support->kind == SUPPORT_DISPLACEMENT) {
    PetscReal way[3];

    PetscCall(FunctionEvaluate(support->value, s->origin, p->placed, &d0));
    PetscCall(FunctionEvaluate(support->value, end, p->placed, &d1));
    for (PetscInt k = 0; k < 3; k++) way[k] = x[k] - p->placed[k];
    mean[0] = 0.5 * (mean[0] + (d1 - d0 - Vec3Dot(support->direction, way)) / stage->h);
  }
  PetscFunctionReturn(0);
}

/* What the row with this key left */
static const ConstraintMemory *ConstraintSetRecallKey_Private(ConstraintSet set, const ContactKey *key)
{
  PetscInt lo = 0, hi = set->nmemory;

  while (lo < hi) {
    const PetscInt mid = lo + (hi - lo) / 2;

    if (ContactKeyCompare(&set->memory[mid].key, key) < 0) lo = mid + 1;
    else hi = mid;
  }
  return lo < set->nmemory && !ContactKeyCompare(&set->memory[lo].key, key) ? &set->memory[lo] : NULL;
}

/* Supports that are not eliminated come among the contacts, ascending by key. */
PetscErrorCode ConstraintSetKeptRows_Private(ConstraintSet set, const Stage *stage)
{
  SupportRows *s = &set->supports;
  PetscInt     at = set->n - 1, to = set->n + s->nkept - 1;

  PetscFunctionBeginUser;
  GrowArray(set->n + s->nkept, set->capacity, set->row);
  for (PetscInt k = s->nkept - 1; k >= 0; k--) {
    const SupportPoint     *p   = &s->all->point[s->order[k]];
    const SupportRow       *row = &s->row[s->order[k]];
    const ContactKey        key = SupportKey_Private(p);
    const ConstraintMemory *old = ConstraintSetRecallKey_Private(set, &key);
    Constraint             *c;

    while (at >= 0 && ContactKeyCompare(&set->row[at].key, &key) > 0) set->row[to--] = set->row[at--];
    c = &set->row[to--];
    PetscCall(PetscMemzero(c, sizeof(*c)));
    c->key   = key;
    c->theta[0] = c->theta[1] = 0.5;
    c->law   = (Row){.relation = RELATION_EQUAL, .rows = row->rows};
    PetscCall(PetscArraycpy(c->frame, row->frame, 9));
    for (PetscInt b = 0; b < 2; b++) {
      c->id[b]    = p->id[b];
      c->rank[b]  = p->rank[b];
      c->point[b] = p->point[b];
      c->local[b] = p->id[b] >= 0 && p->rank[b] == set->rank ? BodyLocal_Private(set->model, p->id[b]) : -1;
    }
    if (old)
      for (PetscInt l = 0; l < row->rows; l++) c->R[l] = stage->h * old->R[l];
    PetscCall(ConstraintSetTarget_Private(set, stage, s->order[k], c->x, c->mean));
    if (p->id[0] >= 0) PetscCall(PetscArrayzero(c->mean, 3)); /* see ConstraintSetKeptTargets_Private() */
  }
  set->n += s->nkept;
  PetscFunctionReturn(0);
}

/* Targets of ties of two bodies, by the same rule, where they are not zero: while velocities of the start are mended; always where an obstacle leads. Collective */
PetscErrorCode ConstraintSetKeptTargets_Private(ConstraintSet set, const Stage *stage)
{
  const SupportRows *s = &set->supports;
  PetscReal         *x = set->data, *v = set->data + 3 * set->ntouch;

  PetscFunctionBeginUser;
  if (!s->all || (!s->led && !SupportsStart_Private(s, stage))) PetscFunctionReturn(0);
  PetscCall(PetscArrayzero(x, 6 * set->ntouch));
  for (PetscInt t = 0; t < set->ntouch; t++) {
    const Touch  *touch  = &set->touch[t];
    const Domain *domain = set->model->domain[touch->body];

    if (touch->equal) PetscCall((*domain->batch->ops->point)(domain->batch, domain->lane, &touch->point, stage->t, x + 3 * t, v + 3 * t));
  }
  for (PetscInt pass = 0; pass < 2; pass++) { /* velocities, places */
    PetscInt k = 0;

    PetscCall(ConstraintSetRelative_Private(set, pass ? x : v));
    for (PetscInt i = 0; i < set->n; i++) {
      Constraint *row = &set->row[i];
      PetscInt    point;

      if (row->key.kind != CONTACT_SUPPORT) continue;
      point = s->order[k++];
      if (row->id[0] < 0 || (!s->all->point[point].led && (pass || !s->row[point].mend || !SupportsStart_Private(s, stage)))) continue;
      for (PetscInt c = 0; c < 3; c++) row->mean[c] = pass ? 0.5 * (row->mean[c] - set->u[3 * i + c] / stage->h) : 0.5 * set->u[3 * i + c];
    }
  }
  PetscFunctionReturn(0);
}

/* Force and moment of point i */
static PetscErrorCode ConstraintSetReaction_Private(ConstraintSet set, PetscReal t, PetscInt i, const PetscReal R[3], PetscReal sum[])
{
  const SupportRows  *s = &set->supports;
  const SupportPoint *p = &s->all->point[i];
  const SupportRow   *row = &s->row[i];
  const Domain       *domain = set->model->domain[s->local[i]];
  PetscReal          *to = sum + 9 * p->support, F[3] = {0, 0, 0}, x[3], v[3], M[3];

  PetscFunctionBeginUser;
  for (PetscInt k = 0; k < row->rows; k++)
    for (PetscInt c = 0; c < 3; c++) F[c] += row->frame[3 * k + c] * R[k] / set->h;
  PetscCall((*domain->batch->ops->point)(domain->batch, domain->lane, &row->at, t, x, v));
  for (PetscInt c = 0; c < 3; c++) {
    x[c] -= s->all->support[p->support].place[c];
    if (p->first) to[6 + c] = x[c];
  }
  Vec3Cross(x, F, M);
  for (PetscInt c = 0; c < 3; c++) {
    to[c] += F[c];
    to[3 + c] += M[c];
  }
  PetscFunctionReturn(0);
}

PetscErrorCode ConstraintSetGetReactions(ConstraintSet set, PetscReal t, PetscReal reaction[])
{
  const SupportRows *s = &set->supports;
  PetscReal         *sum;
  PetscInt           k = 0;

  PetscFunctionBeginUser;
  PetscCall(PetscCalloc1(9 * s->all->n, &sum)); /* force, moment about the placed first point, where that is now */
  if (set->h != 0) {
    for (PetscInt i = 0; i < set->n; i++)
      if (set->row[i].key.kind == CONTACT_SUPPORT) PetscCall(ConstraintSetReaction_Private(set, t, s->order[k++], set->row[i].R, sum));
    for (PetscInt i = 0; i < s->nheld; i++) PetscCall(ConstraintSetReaction_Private(set, t, s->held[i].point, s->held[i].R, sum));
  }
  PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, sum, (PetscMPIInt)(9 * s->all->n), MPIU_REAL, MPIU_SUM, set->comm));
  for (PetscInt i = 0; i < s->all->n; i++) {
    PetscReal M[3];

    Vec3Cross(sum + 9 * i + 6, sum + 9 * i, M);
    for (PetscInt c = 0; c < 3; c++) {
      reaction[6 * i + c]     = sum[9 * i + c];
      reaction[6 * i + 3 + c] = sum[9 * i + 3 + c] - M[c];
    }
  }
  PetscCall(PetscFree(sum));
  PetscFunctionReturn(0);
}
