/* The dual problem of a step: U of a row is that of theta u(t + h) + (1 - theta) u(t), by theta, so that W stays as it is: W R + Uf + shift. */
#include "constraints/set_impl.h"

PetscErrorCode ConstraintSetRelative_Private(ConstraintSet set, const PetscReal v[])
{
  PetscFunctionBeginUser;
  if (set->n > set->mb) {
    set->mb = set->n + set->n / 2 + 16;
    PetscCall(PetscRealloc(sizeof(PetscReal) * 3 * set->mb, &set->b));
    PetscCall(PetscRealloc(sizeof(PetscReal) * 3 * set->mb, &set->r));
    PetscCall(PetscRealloc(sizeof(PetscReal) * 3 * set->mb, &set->u));
    PetscCall(PetscRealloc(sizeof(Row) * set->mb, &set->laws_of));
  }
  GrowArray(6 * set->n, set->mside, set->side);
  PetscCall(PetscArrayzero(set->side, 6 * set->n));
  PetscCall(SideExchangeBackward(&set->exchange, 3, v, set->side));
  for (PetscInt i = 0; i < set->n; i++) {
    const PetscReal *a = set->side + 6 * i, *b = a + 3, *e = set->row[i].frame;

    for (PetscInt k = 0; k < 3; k++) set->u[3 * i + k] = e[3 * k] * (b[0] - a[0]) + e[3 * k + 1] * (b[1] - a[1]) + e[3 * k + 2] * (b[2] - a[2]);
  }
  PetscFunctionReturn(0);
}

/* The law asks for U(t + h) + shift. Normal: a gap may close, but for what the turn of bodies will take from it in the step: bodies that turn on each other while they
   touch would else sink into each other by h^2 a step; but what closes may come back as fast at most. What comes back from an impact. With theta = 1/2, what opens
   already may at most be thrown back as fast, or be stopped by a gap that is wide enough for it: R_N (U0 + U) <= 0 in any case. */
static void ConstraintShift_Private(ConstraintSet set, const Stage *stage, Constraint *row)
{
  const PetscReal U0 = row->U0[0], back = (1 - row->theta[1]) / row->theta[1];
  PetscReal       free = 0;

  if (row->law.relation == RELATION_EQUAL) {
    for (PetscInt k = 0; k < 3; k++) row->shift[k] = k < row->law.rows ? row->U0[k] - 2 * row->mean[k] : 0;
    return;
  }
  if (set->signorini == SIGNORINI_GAP) free = (PetscMax(row->gap, 0) + PetscMin(row->bend, 0)) / stage->h;
  if (U0 < 0 && row->restitution > 0 && row->gap + stage->h * U0 <= 0) free = PetscMin(free, row->restitution * U0);
  if (free < 0) free = PetscMax(free, PetscMin(U0, 0));
  row->shift[0] = row->theta[0] < 1 ? PetscMax(free, U0) : free;
  row->shift[1] = back * row->U0[1];
  row->shift[2] = back * row->U0[2];
}

/* Adds the works of the normal and the tangents of row i on the bodies */
static void ConstraintWork_Private(ConstraintSet set, PetscInt i, PetscReal work[2])
{
  const Constraint *row = &set->row[i];
  const PetscReal  *R = set->r + 3 * i, *u = set->u + 3 * i;

  for (PetscInt k = 0; k < 3; k++) work[k > 0] += 0.5 * R[k] * (row->U0[k] + u[k] - row->shift[k]);
}

/* |R|^2 / rho of block i, with the merit's rho = rows / trace W_ii, and rho |B|^2 */
static void ConstraintSetEnergies_Private(ConstraintSet set, PetscInt i, PetscReal *s, PetscReal *b)
{
  const PetscReal *R = set->r + 3 * i, *B = set->b + 3 * i, rho = 3 / ConstraintSetTrace_Private(set, i);

  *s  = (R[0] * R[0] + R[1] * R[1] + R[2] * R[2]) / rho;
  *b  = (B[0] * B[0] + B[1] * B[1] + B[2] * B[2]) * rho;
}

/* Contacts of two bodies that would do work on them together get theta = 1/2, for their normals or their tangents, whichever would: never back again, so this ends.
   Together, because single impulses of a face are not unique, and rows of one face that want to stop it and to throw it back at once jam; and what rocks on a face
   is to come to rest, where row by row each corner that opens would be thrown back for ever. For the same reason those that the last step has thrown back may be stopped
   in this one if all contacts together do no work. A merit of rtol bounds the sum of rho dU^2 over all rows by rtol^2 S, S its scale, hence the work of rows with
   sum |R|^2 / rho = s by rtol sqrt(s S): that much is none. And
   as a whole |R.U| <= rtol sqrt(S) (sqrt(sum |R|^2 / rho) + sqrt(sum rho |U|^2)), since R = p + f with p (rho U - f) = 0 and sum |f|^2 / rho <= rtol^2 S: contacts that have
   hardly any force but open fast do this much. Without `safe` only what is tolerated is found out. */
static PetscErrorCode ConstraintSetHalve_Private(ConstraintSet set, PetscBool safe, PetscInt *n)
{
  PetscReal rtol, sum[4] = {0, 0, 0, 0}, all[2] = {0, 0}, s, b, S; /* S by impulses, by velocities; work of all contacts, their rho |U|^2; parts with theta = 1/2, what is none of all */
  SNES      snes;

  PetscFunctionBeginUser;
  PetscCall(DualGetSNES(set->dual, &snes));
  PetscCall(SNESGetTolerances(snes, NULL, &rtol, NULL, NULL, NULL));
  for (PetscInt i = 0; i < set->n; i++) {
    ConstraintSetEnergies_Private(set, i, &s, &b);
    sum[0] += s;
    sum[1] += b;
    if (set->row[i].law.relation != RELATION_EQUAL) {
      const PetscReal *u = set->u + 3 * i;
      PetscReal        work[2] = {0, 0};

      ConstraintWork_Private(set, i, work);
      sum[2] += work[0] + work[1];
      sum[3] += (u[0] * u[0] + u[1] * u[1] + u[2] * u[2]) * 3 / ConstraintSetTrace_Private(set, i);
    }
  }
  if (set->size > 1) PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, sum, 4, MPIU_REAL, MPIU_SUM, set->comm));
  S = PetscMax(sum[0], sum[1]);
  for (PetscInt i = 0, j; i < set->n; i = j) {
    PetscReal work[2] = {0, 0}, size = 0, none;
    PetscBool thrown = PETSC_FALSE;

    for (j = i; j < set->n && set->row[j].id[0] == set->row[i].id[0] && set->row[j].id[1] == set->row[i].id[1] && set->row[j].law.relation == set->row[i].law.relation; j++) {
      ConstraintWork_Private(set, j, work);
      if (set->row[j].flags & CONSTRAINT_THROWN) thrown = PETSC_TRUE;
      ConstraintSetEnergies_Private(set, j, &s, &b);
      size += s;
    }
    none = rtol * PetscSqrtReal(size * S);
    if (set->row[i].law.relation != RELATION_EQUAL) all[1] += 2 * none; /* each part may do so much */
    if (!safe || work[0] + work[1] <= none || (thrown && sum[2] <= rtol * S)) continue;
    for (PetscInt part = 0; part < 2; part++) {
      if (work[part] <= none || set->row[i].theta[part] < 1) continue;
      for (PetscInt k = i; k < j; k++) set->row[k].theta[part] = 0.5;
      all[0] += j - i;
    }
  }
  if (set->size > 1) PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, all, 2, MPIU_REAL, MPIU_SUM, set->comm));
  *n                    = (PetscInt)all[0];
  set->report.tolerated = all[1] + rtol * (S + PetscSqrtReal(S * sum[3]));
  PetscFunctionReturn(0);
}

PetscErrorCode ConstraintSetSolve(ConstraintSet set, const Stage *stage)
{
  ConstraintReport *report = &set->report;
  const PetscBool   first  = set->taken ? PETSC_FALSE : PETSC_TRUE;

  PetscFunctionBeginUser;
  PetscCall(ConstraintSetHold_Private(set, stage, PETSC_FALSE));
  if (!report->rows) PetscFunctionReturn(0);
  GrowArray(6 * set->ntouch, set->mdata, set->data);
  if (!first) /* W R of the impulses that du has taken up */
    for (PetscInt i = 0; i < 3 * set->n; i++) set->b[i] = set->u[i] - set->b[i];
  PetscCall(ConstraintSetVelocities_Private(set, stage, PETSC_TRUE, set->data));
  PetscCall(ConstraintSetRelative_Private(set, set->data));
  for (PetscInt i = 0; i < set->n; i++) {
    Constraint *row = &set->row[i];

    for (PetscInt k = 0; k < 3; k++) {
      row->Uf[k]         = set->u[3 * i + k] - (first ? 0 : set->b[3 * i + k]);
      set->r[3 * i + k]  = row->R[k];
      if (first) row->R[k] = 0; /* from now on: what du has taken up */
    }
    set->laws_of[i] = row->law;
    if (row->flags & CONSTRAINT_INERT) set->laws_of[i] = (Row){.relation = RELATION_EQUAL, .rows = 3};
  }
  for (PetscInt halved = 1; halved;) {
    SNESConvergedReason reason;
    SolveReport         solve;
    PetscInt            iterations;

    for (PetscInt i = 0; i < set->n; i++) {
      Constraint *row = &set->row[i];

      ConstraintShift_Private(set, stage, row);
      for (PetscInt k = 0; k < 3; k++) set->b[3 * i + k] = row->flags & CONSTRAINT_INERT ? 0 : row->Uf[k] + row->shift[k];
    }
    if (set->fresh && set->bodies) PetscCall(DualSetProblemByBodies(set->dual, set->n, set->ptr, set->col, set->body, set->F, set->b, set->laws_of));
    else if (set->fresh) PetscCall(DualSetProblem(set->dual, set->n, set->ptr, set->col, set->w, set->b, set->laws_of));
    else PetscCall(DualSetB(set->dual, set->b));
    set->fresh = PETSC_FALSE;
    PetscCall(DualSolve(set->dual, set->r, set->u, &reason));
    PetscCall(DualGetReport(set->dual, &solve, &iterations));
    report->iterations += iterations;
    report->solves++;
    report->merit  = solve.merit; /* what is given back decides, not what was on the way to it */
    report->reason = reason;
    halved = 0;
    if (!stage->rough) PetscCall(ConstraintSetHalve_Private(set, set->theta == THETA_SAFE ? PETSC_TRUE : PETSC_FALSE, &halved));
    report->halved += halved;
  }
  for (PetscInt i = 0; i < set->n; i++) {
    Constraint *row = &set->row[i];

    for (PetscInt k = 0; k < 3; k++) {
      const PetscReal R = set->r[3 * i + k];

      row->U[k] = row->flags & CONSTRAINT_INERT ? row->Uf[k] : set->u[3 * i + k] - row->shift[k];
      set->r[3 * i + k] -= row->R[k];
      row->R[k] = R;
    }
  }
  PetscCall(ConstraintSetImpulse_Private(set, set->r));
  PetscCall(ConstraintSetHold_Private(set, stage, PETSC_TRUE));
  set->taken = PETSC_TRUE;
  PetscFunctionReturn(0);
}

PetscErrorCode ConstraintSetRestart(ConstraintSet set)
{
  PetscFunctionBeginUser;
  set->taken = PETSC_FALSE;
  for (PetscInt i = 0; i < set->supports.nheld; i++) PetscCall(PetscArrayzero(set->supports.held[i].R, 3));
  PetscFunctionReturn(0);
}

ContactState ConstraintGetState(const Constraint *row)
{
  const PetscReal normal = row->R[0] + row->law.cohesion, rt = PetscSqrtReal(PetscSqr(row->R[1]) + PetscSqr(row->R[2]));

  if (!(normal > 0)) return CONTACT_STATE_OPEN;
  return rt < (1 - 1e-6) * row->law.friction * normal ? CONTACT_STATE_STICK : CONTACT_STATE_SLIP;
}

PetscErrorCode ConstraintSetAccept(ConstraintSet set, const Stage *stage)
{
  Model     model = set->model;
  PetscReal sum[3]   = {0, 0, 0}; /* works, normal forces */
  PetscInt  count[5] = {0, 0, 0, 0, 0}; /* by state; glued, broken */
  PetscInt  nforced  = 0;

  PetscFunctionBeginUser;
  GrowArray(set->n, set->mmemory, set->memory);
  GrowArray(set->n, set->mforced, set->forced);
  set->nmemory = set->n;
  set->h       = stage->h;
  PetscCall(ConstraintSetHeldAccept_Private(set, stage));
  if (!set->report.rows) {
    if (set->contact) PetscCall(DetectorSetForce(set->detector, 0, NULL));
    PetscFunctionReturn(0);
  }
  GrowArray(6 * set->ntouch, set->mdata, set->data);
  GrowArray(6 * set->n, set->mside, set->side);
  for (PetscInt s = 0; s < 2 * set->n; s++) PetscCall(PetscArraycpy(set->side + 3 * s, set->row[s / 2].R, 3));
  PetscCall(SideExchangeForward(&set->exchange, 3, set->side, set->data));
  PetscCall(ConstraintSetVelocities_Private(set, stage, PETSC_TRUE, set->data + 3 * set->ntouch));
  for (PetscInt t = 0; t < set->ntouch; t++) {
    Touch           *touch  = &set->touch[t];
    const Domain    *domain = model->domain[touch->body];
    const PetscReal *R = set->data + 3 * t, *v = set->data + 3 * (set->ntouch + t);
    PetscReal       *ledger = &domain->batch->ledger[domain->lane * LEDGER_SIZE];

    for (PetscInt c = 0; c < 3; c++) {
      touch->force[c] = 0;
      for (PetscInt k = 0; k < touch->rows; k++) touch->force[c] += touch->sign * R[k] / stage->h * touch->frame[3 * k + c];
    }
    if (!domain->batch->ops->compliance) continue;
    for (PetscInt k = 0; k < touch->rows; k++) {
      const PetscReal *e = touch->frame + 3 * k, w = 0.5 * touch->sign * R[k] * (e[0] * (touch->v0[0] + v[0]) + e[1] * (touch->v0[1] + v[1]) + e[2] * (touch->v0[2] + v[2]));

      ledger[touch->equal ? LEDGER_CONSTRAINT : k ? LEDGER_FRICTION : LEDGER_CONTACT] += w;
      if (!touch->equal) sum[k ? 1 : 0] += w;
    }
  }
  if (set->centres) PetscCall(ConstraintSetCentres_Private(set, stage));
  for (PetscInt i = 0; i < set->n; i++) {
    Constraint       *row = &set->row[i];
    ConstraintMemory *m   = &set->memory[i];

    if (row->law.relation != RELATION_EQUAL) {
      count[ConstraintGetState(row)]++;
      sum[2] += row->R[0] / stage->h;
      if (row->R[0] > 0) set->forced[nforced++] = row->key;
    }
    m->key   = row->key;
    m->flags = (row->flags & ~CONSTRAINT_THROWN) | (row->theta[0] < 1 || row->theta[1] < 1 ? CONSTRAINT_THROWN : 0);
    /* It bears no more and opens. At its limit alone it holds on: how rows share a load is not unique, others may bear the rest. */
    if ((row->flags & CONSTRAINT_GLUED) && row->R[0] + row->law.cohesion <= 1e-9 * row->law.cohesion && row->gap + stage->h * row->U[0] > 1e-5 * row->ell) m->flags &= ~CONSTRAINT_GLUED;
    if (row->flags & CONSTRAINT_GLUED) count[m->flags & CONSTRAINT_GLUED ? 3 : 4]++;
    for (PetscInt k = 0; k < 3; k++) {
      m->normal[k] = row->frame[k];
      m->R[k]      = row->R[k] / stage->h;
    }
  }
  if (set->contact) PetscCall(DetectorSetForce(set->detector, nforced, set->forced));
  if (set->size > 1) {
    PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, count, 5, MPIU_INT, MPI_SUM, set->comm));
    PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, sum, 3, MPIU_REAL, MPIU_SUM, set->comm));
  }
  PetscCall(PetscArraycpy(set->report.state, count, 3));
  set->report.glued    = count[3];
  set->report.broken   = count[4];
  set->report.work     = sum[0] + sum[1];
  set->report.friction = sum[1];
  set->report.normal   = sum[2];
  PetscFunctionReturn(0);
}
