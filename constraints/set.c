/* ConstraintSet: contacts of the half step become rows with laws, and what a step leaves for the next one. */
#include "constraints/set_impl.h"

static PetscErrorCode ConstraintSetName_Private(void *ctx, PetscInt id, char name[], size_t length)
{
  PetscFunctionBeginUser;
  PetscCall(ModelName((Model)ctx, id, name, length));
  PetscFunctionReturn(0);
}

PetscErrorCode ConstraintSetCreate(Model model, ConstraintSet *set)
{
  ConstraintSet s;

  PetscFunctionBeginUser;
  PetscCall(PetscNew(&s));
  *set     = s;
  s->comm  = model->comm;
  s->model = model;
  s->contact            = PETSC_TRUE;
  s->supports.eliminate = PETSC_TRUE;
  PetscCallMPI(MPI_Comm_rank(s->comm, &s->rank));
  PetscCallMPI(MPI_Comm_size(s->comm, &s->size));
  PetscCall(DetectorCreate(s->comm, &s->detector));
  PetscCall(DetectorSetNames(s->detector, ConstraintSetName_Private, model));
  PetscCall(DualCreate(s->comm, &s->dual));
  PetscCall(SideExchangeCreate(s->comm, &s->exchange));
  PetscCall(PetscCalloc2(model->nbody + 1, &s->body_ptr, model->nbody, &s->touched));
  for (PetscInt i = 0; i < model->nbody; i++) {
    Body                  body = model->body[i];
    const FormulationOps *ops  = model->domain[i]->batch->ops;
    Surface               surface;
    PetscInt              at;

    PetscCall(PartGetSurface(body->part, &surface));
    PetscCall(DetectorSetPart(s->detector, surface, body->part->number, body->part->mesh));
    PetscCall(DetectorAddBody(s->detector, body->id, surface, !ops->placement ? DETECT_DEFORMABLE : ops->size ? DETECT_RIGID : DETECT_OBSTACLE, body->origin, &at));
  }
  PetscFunctionReturn(0);
}

PetscErrorCode ConstraintSetDestroy(ConstraintSet *set)
{
  ConstraintSet s = *set;

  PetscFunctionBeginUser;
  if (!s) PetscFunctionReturn(0);
  PetscCall(DetectorDestroy(&s->detector));
  PetscCall(DualDestroy(&s->dual));
  PetscCall(SideExchangeDestroy(&s->exchange));
  PetscCall(ConstraintSetSupportsDestroy_Private(s));
  PetscCall(PetscFree2(s->body_ptr, s->touched));
  PetscCall(PetscFree(s->group));
  PetscCall(PetscFree(s->laws));
  PetscCall(PetscFree(s->row));
  PetscCall(PetscFree(s->touch));
  PetscCall(PetscFree(s->order));
  PetscCall(PetscFree(s->by_body));
  PetscCall(PetscFree(s->trace));
  PetscCall(PetscFree(s->side));
  PetscCall(PetscFree(s->data));
  PetscCall(PetscFree(s->block));
  PetscCall(PetscFree(s->touch_row));
  PetscCall(PetscFree(s->side_row));
  PetscCall(PetscFree(s->remote));
  PetscCall(PetscFree(s->body));
  PetscCall(PetscFree(s->F));
  PetscCall(PetscFree(s->motion));
  PetscCall(PetscFree(s->ptr));
  PetscCall(PetscFree(s->col));
  PetscCall(PetscFree(s->w));
  PetscCall(PetscFree(s->b));
  PetscCall(PetscFree(s->r));
  PetscCall(PetscFree(s->u));
  PetscCall(PetscFree(s->laws_of));
  PetscCall(PetscFree(s->memory));
  PetscCall(PetscFree(s->forced));
  PetscCall(PetscFree(s->points));
  PetscCall(PetscFree(s->frames));
  PetscCall(PetscFree(s->values));
  PetscCall(PetscFree(s->depth_body[0]));
  PetscCall(PetscFree(s->depth_body[1]));
  PetscCall(PetscFree(s->depth));
  PetscCall(PetscFree(*set));
  PetscFunctionReturn(0);
}

/* A number from 0 to `most`; YAML's .inf is inf, beyond what PETSc calls so */
static PetscErrorCode ConstraintSetReal_Private(ConstraintSet set, const char option[], PetscReal most, PetscReal *value)
{
  char      text[64], *end;
  PetscBool given;

  PetscFunctionBeginUser;
  PetscCall(PetscOptionsGetString(NULL, NULL, option, text, sizeof(text), &given));
  if (!given) PetscFunctionReturn(0);
  *value = strtod(text[0] == '.' && text[1] == 'i' ? text + 1 : text, &end);
  PetscCheck(end != text && !*end && *value >= 0 && *value <= most, set->comm, PETSC_ERR_USER_INPUT, "%s: '%s' is not a number from 0 to %g", option + 1, text, (double)most);
  PetscFunctionReturn(0);
}

/* One of two words */
static PetscErrorCode ConstraintSetChoice_Private(ConstraintSet set, const char option[], const char first[], const char second[], PetscInt *choice)
{
  char      text[64];
  PetscBool given;

  PetscFunctionBeginUser;
  PetscCall(PetscOptionsGetString(NULL, NULL, option, text, sizeof(text), &given));
  if (!given) PetscFunctionReturn(0);
  *choice = !strcmp(text, second);
  PetscCheck(*choice || !strcmp(text, first), set->comm, PETSC_ERR_USER_INPUT, "%s: '%s' is neither %s nor %s", option + 1, text, first, second);
  PetscFunctionReturn(0);
}

PetscErrorCode ConstraintSetSetFromOptions(ConstraintSet set)
{
  PetscInt choice[3] = {(PetscInt)set->signorini, (PetscInt)set->theta, (PetscInt)set->overlap};

  PetscFunctionBeginUser;
  PetscCall(ConstraintSetChoice_Private(set, "-contact_signorini", "gap", "velocity", &choice[0]));
  PetscCall(ConstraintSetChoice_Private(set, "-contact_theta", "safe", "paper", &choice[1]));
  PetscCall(ConstraintSetChoice_Private(set, "-contact_overlap", "keep", "error", &choice[2]));
  set->signorini = (SignoriniKind)choice[0];
  set->theta     = (ThetaKind)choice[1];
  set->overlap   = (OverlapKind)choice[2];
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-constraints_eliminate", &set->supports.eliminate, NULL));
  PetscCall(ConstraintSetReal_Private(set, "-contact_friction", INFINITY, &set->law.friction));
  PetscCall(ConstraintSetReal_Private(set, "-contact_restitution", 1, &set->law.restitution));
  PetscCall(ConstraintSetReal_Private(set, "-contact_cohesion", PETSC_MAX_REAL, &set->law.cohesion));
  PetscCall(DetectorSetFromOptions(set->detector));
  PetscCall(DualSetFromOptions(set->dual));
  PetscFunctionReturn(0);
}

PetscErrorCode ConstraintSetSetContact(ConstraintSet set, PetscBool contact)
{
  PetscFunctionBeginUser;
  set->contact = contact;
  PetscFunctionReturn(0);
}

static const ContactLaw *ConstraintSetLawOf_Private(ConstraintSet set, PetscInt a, PetscInt b)
{
  return set->ngroup ? &set->laws[set->group[a] * set->ngroup + set->group[b]] : &set->law;
}

static PetscBool ConstraintSetTouch_Private(void *ctx, PetscInt a, PetscInt b)
{
  return ConstraintSetLawOf_Private((ConstraintSet)ctx, a, b)->exclude ? PETSC_FALSE : PETSC_TRUE;
}

PetscErrorCode ConstraintSetSetLaws(ConstraintSet set, PetscInt ngroup, const PetscInt group[], const ContactLaw law[])
{
  PetscFunctionBeginUser;
  PetscCall(PetscFree(set->group));
  PetscCall(PetscFree(set->laws));
  set->ngroup = ngroup;
  PetscCall(PetscMalloc1(set->model->nglobal, &set->group));
  PetscCall(PetscMalloc1(ngroup * ngroup, &set->laws));
  PetscCall(PetscArraycpy(set->group, group, set->model->nglobal));
  PetscCall(PetscArraycpy(set->laws, law, ngroup * ngroup));
  PetscCall(DetectorSetFilter(set->detector, ConstraintSetTouch_Private, set));
  PetscFunctionReturn(0);
}

PetscErrorCode ConstraintSetGetLaw(ConstraintSet set, ContactLaw *law)
{
  PetscFunctionBeginUser;
  *law = set->law;
  PetscFunctionReturn(0);
}

/* Where bodies are at the half step */
static PetscErrorCode ConstraintSetPlace_Private(ConstraintSet set, const Stage *stage)
{
  Model model = set->model;

  PetscFunctionBeginUser;
  for (PetscInt i = 0; i < model->nbody; i++) {
    const Domain         *d   = model->domain[i];
    const FormulationOps *ops = d->batch->ops;

    if (ops->placement) {
      PetscReal R[9], at[3], v[3], spin[3];

      PetscCall((*ops->placement)(d->batch, d->lane, stage, R, at, v, spin));
      PetscCall(DetectorSetPlacement(set->detector, i, R, model->body[i]->part->centre, at, v, spin));
    } else {
      Surface    surface = model->body[i]->part->surface;
      PetscReal *x, *v;

      PetscCall(DetectorGetNodes(set->detector, i, &x, &v));
      PetscCall((*ops->nodes)(d->batch, d->lane, surface->nnode, surface->node, x, v));
    }
  }
  PetscFunctionReturn(0);
}

/* No slip at all, where an elastic body would have to be pulled down to stay in touch, is a law without a solution; what friction that grows comes to is one, and
   so much of it is as good as infinite. Bodies with the six motions of rigid ones need no such help. */
#define FRICTION_ELASTIC 100

static PetscReal Friction_Private(const Contact *c, PetscReal friction)
{
  return c->deformable && friction >= PETSC_INFINITY ? FRICTION_ELASTIC : friction;
}

/* Rows from contacts; with the velocity law only of those that touch: from 1e-9 of an edge on, until 1e-5 */
static PetscErrorCode ConstraintSetRows_Private(ConstraintSet set, const Stage *stage, PetscInt n, const Contact contact[])
{
  PetscInt at = 0;

  PetscFunctionBeginUser;
  GrowArray(n, set->capacity, set->row);
  set->n = 0;
  for (PetscInt i = 0; i < n; i++) {
    const Contact          *c   = &contact[i];
    const ContactLaw       *law = ConstraintSetLawOf_Private(set, c->key.a, c->key.b);
    const ConstraintMemory *old;
    Constraint             *row = &set->row[set->n];
    PetscInt                here;

    old = ConstraintRecall_Private(set->nmemory, set->memory, &c->key, c->normal, &at);
    if (set->signorini == SIGNORINI_VELOCITY && c->gap > (old && (old->flags & CONSTRAINT_OPEN) ? 1e-5 : 1e-9) * c->ell) continue;
    set->n++;
    row->key     = c->key;
    row->id[0]   = c->key.a;
    row->id[1]   = c->key.b;
    row->rank[0] = c->rank[0];
    row->rank[1] = c->rank[1];
    for (PetscInt k = 0; k < 2; k++) row->local[k] = c->body[k];
    here         = row->rank[0] == set->rank ? 0 : 1;
    for (PetscInt k = 0; k < 3; k++) {
      row->frame[k]     = c->normal[k];
      row->frame[3 + k] = c->tangent[0][k];
      row->frame[6 + k] = c->tangent[1][k];
      row->x[k]         = set->model->body[c->body[here]]->origin[k] + c->x[here][k] - (here ? c->gap * c->normal[k] : 0);
      row->R[k]         = 0;
    }
    row->point[0]    = c->point[0];
    row->point[1]    = c->point[1];
    row->gap         = c->gap;
    row->bend        = c->bend;
    row->area        = c->area;
    row->ell         = c->ell;
    row->theta[0] = row->theta[1] = 1;
    row->restitution = law->restitution;
    row->flags       = CONSTRAINT_OPEN | (old ? old->flags & (CONSTRAINT_GLUED | CONSTRAINT_THROWN) : 0);
    if (set->step == 1 && law->cohesion > 0 && c->gap <= 1e-5 * c->ell) row->flags |= CONSTRAINT_GLUED;
    row->law = (Row){.relation = RELATION_CONE, .rows = 3, .friction = Friction_Private(c, law->friction), .cohesion = row->flags & CONSTRAINT_GLUED ? law->cohesion * c->area * stage->h : 0};
    if (old)
      for (PetscInt k = 0; k < 3; k++) row->R[k] = stage->h * old->R[k];
  }
  PetscFunctionReturn(0);
}

PetscErrorCode ConstraintSetDetect(ConstraintSet set, const Stage *stage, PetscBool *any)
{
  const Contact *contact = NULL;
  PetscInt       n = 0, total[3];
  PetscReal     *v0;

  PetscFunctionBeginUser;
  if (set->contact) {
    PetscCall(ConstraintSetPlace_Private(set, stage));
    if (set->reversible) {
      PetscCall(PetscFree(set->depth_body[0]));
      PetscCall(PetscFree(set->depth_body[1]));
      PetscCall(PetscFree(set->depth));
      PetscCall(DetectorGetDepths(set->detector, &set->ndepth, &set->depth_body[0], &set->depth_body[1], &set->depth));
    }
    PetscCall(DetectorUpdate(set->detector, stage->h, &n, &contact));
  }
  set->step++;
  set->taken = PETSC_FALSE;
  PetscCall(ConstraintSetRows_Private(set, stage, n, contact));
  PetscCall(PetscMemzero(&set->report, sizeof(set->report)));
  set->report.h = stage->h;
  for (PetscInt i = 0; i < set->n; i++) set->report.penetration = PetscMax(set->report.penetration, -set->row[i].gap);
  total[0] = set->n;
  if (set->supports.nkept) PetscCall(ConstraintSetKeptRows_Private(set, stage));
  total[1] = set->n;
  total[2] = set->supports.nheld;
  if (set->size > 1) {
    set->first = 0;
    PetscCallMPI(MPI_Exscan(&set->n, &set->first, 1, MPIU_INT, MPI_SUM, set->comm));
    PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, total, 3, MPIU_INT, MPI_SUM, set->comm));
    PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, &set->report.penetration, 1, MPIU_REAL, MPIU_MAX, set->comm));
  }
  set->report.n    = total[0];
  set->report.rows = total[1];
  set->report.held = total[2];
  *any             = total[1] + total[2] ? PETSC_TRUE : PETSC_FALSE;
  PetscCall(ConstraintSetTouches_Private(set));
  PetscCall(ConstraintSetHeldStart_Private(set, stage));
  if (!total[1]) PetscFunctionReturn(0);
  GrowArray(6 * set->ntouch, set->mdata, set->data);
  GrowArray(6 * set->n, set->mside, set->side);
  v0 = set->data;
  PetscCall(ConstraintSetVelocities_Private(set, stage, PETSC_FALSE, v0));
  for (PetscInt t = 0; t < set->ntouch; t++) PetscCall(PetscArraycpy(set->touch[t].v0, v0 + 3 * t, 3));
  PetscCall(ConstraintSetRelative_Private(set, v0));
  for (PetscInt i = 0; i < set->n; i++) PetscCall(PetscArraycpy(set->row[i].U0, set->u + 3 * i, 3));
  PetscCall(ConstraintSetKeptTargets_Private(set, stage));
  if (set->contact && set->step == 1) PetscCall(ConstraintSetOverlaps_Private(set, stage));
  PetscFunctionReturn(0);
}

PetscErrorCode ConstraintSetSetReversible(ConstraintSet set, PetscBool reversible)
{
  PetscFunctionBeginUser;
  set->reversible = reversible;
  PetscFunctionReturn(0);
}

/* What the rows remember is written by ConstraintSetAccept() only. */
PetscErrorCode ConstraintSetReject(ConstraintSet set)
{
  PetscFunctionBeginUser;
  PetscCheck(set->reversible, set->comm, PETSC_ERR_ARG_WRONGSTATE, "ConstraintSetSetReversible() comes first");
  PetscCall(DetectorSetDepths(set->detector, set->ndepth, set->depth_body[0], set->depth_body[1], set->depth));
  set->step--;
  PetscFunctionReturn(0);
}

PetscErrorCode ConstraintSetGetRows(ConstraintSet set, PetscInt *n, const Constraint **row)
{
  PetscFunctionBeginUser;
  *n   = set->n;
  *row = set->row;
  PetscFunctionReturn(0);
}

PetscErrorCode ConstraintSetGetReport(ConstraintSet set, ConstraintReport *report)
{
  PetscFunctionBeginUser;
  *report = set->report;
  PetscFunctionReturn(0);
}

PetscErrorCode ConstraintSetGetDetector(ConstraintSet set, Detector *detector)
{
  PetscFunctionBeginUser;
  *detector = set->detector;
  PetscFunctionReturn(0);
}

PetscErrorCode ConstraintSetGetDual(ConstraintSet set, Dual *dual)
{
  PetscFunctionBeginUser;
  *dual = set->dual;
  PetscFunctionReturn(0);
}
