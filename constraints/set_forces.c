/* Forces of the rows as outputs want them: on nodes, and about mass centres. */
#include "constraints/set_impl.h"

PetscErrorCode ConstraintSetSetCentres(ConstraintSet set, PetscBool centres)
{
  PetscFunctionBeginUser;
  set->centres = centres;
  PetscFunctionReturn(0);
}

/* Mass centre of a body of this rank at the half step */
static PetscErrorCode BodyCentre_Private(Model model, PetscInt body, const Stage *stage, PetscReal centre[3])
{
  const Domain *d    = model->domain[body];
  const Part    part = model->body[body]->part;
  PetscReal     a[3] = {0, 0, 0};

  PetscFunctionBeginUser;
  if (d->batch->ops->placement) {
    PetscReal R[9], v[3], spin[3];

    PetscCall((*d->batch->ops->placement)(d->batch, d->lane, stage, R, a, v, spin));
  } else {
    PetscInt  *node;
    PetscReal *x, *v;

    PetscCall(PetscMalloc3(part->nnode, &node, 3 * part->nnode, &x, 3 * part->nnode, &v));
    for (PetscInt i = 0; i < part->nnode; i++) node[i] = i;
    PetscCall((*d->batch->ops->nodes)(d->batch, d->lane, part->nnode, node, x, v));
    for (PetscInt i = 0; i < 3 * part->nnode; i++) a[i % 3] += part->mass[i / 3] / part->total * x[i];
    PetscCall(PetscFree3(node, x, v));
  }
  for (PetscInt c = 0; c < 3; c++) centre[c] = model->body[body]->origin[c] + a[c];
  PetscFunctionReturn(0);
}

PetscErrorCode ConstraintSetCentres_Private(ConstraintSet set, const Stage *stage)
{
  PetscFunctionBeginUser;
  GrowArray(3 * set->ntouch, set->mdata, set->data);
  GrowArray(6 * set->n, set->mside, set->side);
  for (PetscInt k = 0; k < set->ntouched; k++) {
    const PetscInt b = set->touched[k];
    PetscReal      centre[3];

    PetscCall(BodyCentre_Private(set->model, b, stage, centre));
    for (PetscInt i = set->body_ptr[b]; i < set->body_ptr[b + 1]; i++) PetscCall(PetscArraycpy(set->data + 3 * set->order[i], centre, 3));
  }
  PetscCall(PetscArrayzero(set->side, 6 * set->n));
  PetscCall(SideExchangeBackward(&set->exchange, 3, set->data, set->side));
  for (PetscInt i = 0; i < set->n; i++) PetscCall(PetscArraycpy(set->row[i].centre, set->side + 6 * i + 3, 3));
  PetscFunctionReturn(0);
}

PetscErrorCode ConstraintSetAddForces(ConstraintSet set, PetscInt body, PetscReal f[])
{
  PetscFunctionBeginUser;
  for (PetscInt i = set->body_ptr[body]; i < set->body_ptr[body + 1]; i++) {
    const Touch *t = &set->touch[set->order[i]];

    for (PetscInt a = 0; a < t->point.nnode; a++)
      for (PetscInt c = 0; c < 3; c++) f[3 * t->point.node[a] + c] += t->point.N[a] * t->force[c];
  }
  PetscFunctionReturn(0);
}

PetscErrorCode ConstraintSetGetProblem(ConstraintSet set, PetscInt *n, const PetscInt **ptr, const PetscInt **col, const PetscReal **w, const PetscReal **b, const Row **row)
{
  PetscFunctionBeginUser;
  if (set->bodies && !set->blocks) PetscCall(ConstraintSetBlocks_Private(set, NULL));
  *n   = set->n;
  *ptr = set->ptr;
  *col = set->col;
  *w   = set->w;
  *b   = set->b;
  *row = set->laws_of;
  PetscFunctionReturn(0);
}
