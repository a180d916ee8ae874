/* tl: total Lagrangian formulation (section 3 of the co-rotated integrators report, equations 10 to 17). The tangent at the half
   step is assembled in every step. Solves with it are defect corrections by the factor of the undeformed body, turned with it (tangent
   corrected), or it is factored. With material `linear` it is the constant stiffness in the placed frame. */
#include "columns.h"
#include "corrector.h"
#include "nodal.h"
#include "formulations.h"
#include "physics/rotation.h"
#include "physics/simd.h"

typedef struct {
  Nodal      nodal;
  Factor    *factor;      /* one per domain, since its operator is its own; not with a linear material */
  Factor     constant;    /* linear material: of the part */
  PetscReal *k;           /* tangent, then operator, of the domain at work */
  PetscReal *x, *um, *f;  /* of the domain at work: configuration, velocity u + du/2, internal force */
  PetscReal *r, *ku;      /* per domain: right-hand side then solution; K (u + du/2) */
  PetscReal *r0;          /* per domain: right-hand side kept for the work of damping */
  /* tangent corrected: */
  PetscReal *A, *R;       /* per domain: operator; polar rotation at the half step */
  Factor     single;      /* of the undeformed part */
  PetscBool *lost;        /* per domain: the operator is factored in this step */
  Corrector *corrector;   /* per domain, where contacts couple them; else the first serves all */
  PetscReal *residual, *z; /* of the domain at work */
  Columns   *columns;      /* per domain: of its own factor at touched nodes */
  Compliance compliance;   /* of the undeformed part */
} TL;

static PetscBool TLCorrected_Private(Batch batch)
{
  return batch->tangent == TANGENT_CORRECTED ? PETSC_TRUE : PETSC_FALSE;
}

/* Must the passes of a defect correction alternate with the dual problem? */
static PetscBool TLCoupled_Private(Batch batch, const Stage *stage)
{
  return TLCorrected_Private(batch) && batch->touched && !stage->implicit ? PETSC_TRUE : PETSC_FALSE;
}

static PetscErrorCode TLSetUp_Private(Batch batch)
{
  TL            *tl;
  Part           part = batch->part;
  const PetscInt n    = 3 * part->nnode;

  PetscFunctionBeginUser;
  PetscCall(PetscNew(&tl));
  batch->data = tl;
  PetscCall(NodalSetUp(batch, &tl->nodal));
  PetscCall(PartSetUpElastic(part));
  /* Small strains about the placed state know no rotation: their torque belongs to the model, and without it the energy would not close. */
  if (part->elastic.linear) {
    batch->conserve = PETSC_FALSE;
    batch->tangent  = TANGENT_FACTORED; /* once and for all */
  }
  PetscCall(PetscMalloc4(9 * part->pattern.ia[part->pattern.nb], &tl->k, n, &tl->x, n, &tl->um, n, &tl->f));
  PetscCall(PetscCalloc3(n * batch->n, &tl->r, n * batch->n, &tl->ku, n * batch->n, &tl->r0));
  PetscCall(PetscCalloc4(batch->n, &tl->factor, batch->n, &tl->corrector, batch->n, &tl->lost, batch->n, &tl->columns));
  if (TLCorrected_Private(batch)) {
    PetscCall(SIMDCalloc(9 * (size_t)part->pattern.ia[part->pattern.nb] * batch->n, &tl->A));
    PetscCall(PetscMalloc3(9 * batch->n, &tl->R, n, &tl->residual, n, &tl->z));
  }
  PetscFunctionReturn(0);
}

static PetscErrorCode TLDestroy_Private(Batch batch)
{
  TL *tl = (TL *)batch->data;

  PetscFunctionBeginUser;
  PetscCall(NodalDestroy(&tl->nodal));
  for (PetscInt d = 0; d < batch->n; d++) {
    PetscCall(FactorDestroy(&tl->factor[d]));
    PetscCall(CorrectorDestroy(&tl->corrector[d]));
    PetscCall(ColumnsDestroy(&tl->columns[d]));
  }
  PetscCall(PetscFree4(tl->factor, tl->corrector, tl->lost, tl->columns));
  PetscCall(SIMDFree(&tl->A));
  PetscCall(PetscFree3(tl->R, tl->residual, tl->z));
  PetscCall(PetscFree4(tl->k, tl->x, tl->um, tl->f));
  PetscCall(PetscFree3(tl->r, tl->ku, tl->r0));
  PetscCall(PetscFree(batch->data));
  PetscFunctionReturn(0);
}

static PetscErrorCode TLPredict_Private(Batch batch, const Stage *stage)
{
  TL *tl = (TL *)batch->data;

  PetscFunctionBeginUser;
  for (PetscInt d = 0; d < batch->n; d++) {
    if (TLCorrected_Private(batch)) {
      PetscReal F[9];

      PetscCall(NodalPredict(batch, stage, d, &tl->nodal, batch->part->mX, F));
      tl->lost[d] = LanesPolar(1, F, tl->R + 9 * d) >= 0 ? PETSC_TRUE : PETSC_FALSE; /* turned inside out: no frame */
    } else PetscCall(NodalPredict(batch, stage, d, &tl->nodal, NULL, NULL));
  }
  PetscFunctionReturn(0);
}

/* y = R0 K0 d, d = R0^T (x - mean) - X, X may be NULL: the linear material's force, or its stiffness times a vector. work: d.
   K0 times a translation is round-off that grows with the way, so the mean is taken off. */
static PetscErrorCode TLLinear_Private(Batch batch, PetscInt d, const PetscReal *x, const PetscReal *X, PetscReal *work, PetscReal *y)
{
  const PetscReal *R0 = batch->domain[d].body->rotation;
  const PetscReal *xc = work;
  PetscReal       *k, a[3], v[3];

  PetscFunctionBeginUser;
  LanesCentre(batch->part->nnode, 1, batch->part->mass, batch->part->total, x, x, a, v, NULL);
  for (PetscInt i = 0; i < batch->part->nnode; i++) {
    const PetscReal r[3] = {x[3 * i] - a[0], x[3 * i + 1] - a[1], x[3 * i + 2] - a[2]};

    Mat3TransposeVec(R0, r, work + 3 * i);
    if (X)
      for (PetscInt c = 0; c < 3; c++) work[3 * i + c] -= X[3 * i + c];
  }
  PetscCall(MatSeqSBAIJGetArray(batch->part->K0, &k));
  PetscCall(BlockProduct(&batch->part->pattern, k, 1, 1, &xc, &y));
  PetscCall(MatSeqSBAIJRestoreArray(batch->part->K0, &k));
  for (PetscInt i = 0; i < batch->part->nnode; i++) {
    const PetscReal f[3] = {y[3 * i], y[3 * i + 1], y[3 * i + 2]};

    Mat3Vec(R0, f, y + 3 * i);
  }
  PetscFunctionReturn(0);
}

static PetscReal *TLOperator_Private(Batch batch, PetscInt d)
{
  return ((TL *)batch->data)->A + 9 * (size_t)batch->part->pattern.ia[batch->part->pattern.nb] * d;
}

static PetscErrorCode TLFactor_Private(Batch batch, PetscInt d, const PetscReal *a)
{
  TL       *tl = (TL *)batch->data;
  PetscBool definite;

  PetscFunctionBeginUser;
  if (!tl->factor[d]) PetscCall(PartCreateFactor(batch->part, &tl->factor[d]));
  PetscCall(FactorSetValues(tl->factor[d], a, &definite));
  if (!definite) batch->nindefinite++;
  PetscFunctionReturn(0);
}

static PetscErrorCode TLLinearize_Private(Batch batch, const Stage *stage)
{
  TL             *tl   = (TL *)batch->data;
  Part            part = batch->part;
  const PetscInt  n = 3 * part->nnode, iteration = stage->iteration;
  const PetscReal h = stage->h;

  PetscFunctionBeginUser;
  if (!iteration) {
    PetscCall(PetscArrayzero(batch->du, n * batch->n));
    PetscCall(NodalBegin(batch, &tl->nodal));
    if (batch->touched && !batch->impulse) PetscCall(SIMDCalloc((size_t)n * batch->n, &batch->impulse));
    if (batch->touched) PetscCall(PetscArrayzero(batch->impulse, n * batch->n));
  }
  if (part->elastic.linear) PetscCall(PartGetFactor(part, stage->sm, stage->sk, &tl->constant));
  if (TLCorrected_Private(batch)) PetscCall(PartGetFactorSingle(part, stage->sm, stage->sk, &tl->single));
  for (PetscInt d = 0; d < batch->n; d++) {
    const PetscReal *u = batch->u + d * n, *du = batch->du + d * n, *x = tl->nodal.qh + d * n, *force = batch->force ? batch->force + d * n : NULL;
    PetscReal       *r = tl->r + d * n, *ku = tl->ku + d * n;

    if (iteration) {
      LanesAXPY(n, 1, 0.25 * h, du, x, tl->x); /* (19) */
      x = tl->x;
    }
    LanesAXPY(n, 1, 0.5, du, u, tl->um);
    if (part->elastic.linear) {
      PetscCall(TLLinear_Private(batch, d, x, part->X, tl->k, tl->f));
      if (batch->eta != 0) PetscCall(TLLinear_Private(batch, d, tl->um, NULL, tl->k, ku));
    } else {
      const PetscReal *um = tl->um;
      PetscReal       *a  = TLCorrected_Private(batch) ? TLOperator_Private(batch, d) : tl->k;

      PetscCall(AssemblyTangent(part->assembly, &part->elastic, x, 1, a, tl->f));
      if (batch->eta != 0) PetscCall(BlockProduct(&part->pattern, a, 1, 1, &um, &ku));
      PetscCall(PartShift(part, stage->sm, stage->sk, a, a));
      if (!TLCorrected_Private(batch) || tl->lost[d]) PetscCall(TLFactor_Private(batch, d, a));
    }
    for (PetscInt i = 0; i < part->nnode; i++)
      for (PetscInt c = 0; c < 3; c++) {
        const PetscInt j = 3 * i + c;

        /* (13); when iterated, minus what du has taken up already */
        r[j] = h * ((force ? force[j] : 0) - tl->f[j] - (batch->eta != 0 ? batch->eta * ku[j] : 0)) + part->mass[i] * (h * stage->gravity[c] - h * batch->alpha * u[j] - stage->sm * du[j]);
      }
    if (!iteration) PetscCall(PetscArraycpy(tl->r0 + d * n, r, n));
    if (!iteration && batch->touched && batch->conserve) PetscCall(NodalAddOwed(batch, d, &tl->nodal, stage->sm, r));
    if (TLCoupled_Private(batch, stage)) {
      if (!tl->corrector[d]) PetscCall(CorrectorCreate(n, &tl->corrector[d]));
      PetscCall(CorrectorStart(tl->corrector[d]));
    }
  }
  PetscFunctionReturn(0);
}

/* One pass of domain d: x1 = x + P (b + impulse - A x), P the inverse for the undeformed body turned by the frame, or that of A itself */
static PetscErrorCode TLPass_Private(Batch batch, PetscInt d, const Corrector c, const PetscReal *b, const PetscReal *impulse, PetscReal *x1)
{
  TL              *tl = (TL *)batch->data;
  const PetscInt   nn = batch->part->nnode, n = 3 * nn;
  const PetscReal *x = c->x, zero[3] = {0, 0, 0};
  PetscReal       *r = tl->residual;

  PetscFunctionBeginUser;
  if (c->start) PetscCall(PetscArrayzero(r, n)); /* x = 0 */
  else PetscCall(BlockProduct(&batch->part->pattern, TLOperator_Private(batch, d), 1, 1, &x, &r));
  for (PetscInt i = 0; i < n; i++) r[i] = b[i] + (impulse ? impulse[i] : 0) - r[i];
  PetscCall(PetscArraycpy(x1, x, n));
  if (tl->lost[d]) {
    PetscCall(PetscArraycpy(tl->z, r, n));
    PetscCall(FactorSolve(tl->factor[d], 1, tl->z));
    LanesAXPY(n, 1, 1, tl->z, x1, x1);
  } else {
    LanesToBody(nn, 1, tl->R + 9 * d, r, zero, NULL, 0, NULL, NULL, tl->z);
    PetscCall(FactorSolve(tl->single, 1, tl->z));
    LanesFromBody(nn, 1, tl->R + 9 * d, tl->z, 0, NULL, PETSC_TRUE, x1);
  }
  batch->nsolve++;
  PetscFunctionReturn(0);
}

/* Is the residual of the last pass, made for x, only round-off of b - A x? A stiff operator may stop the corrections there. */
static PetscErrorCode TLRoundOff_Private(Batch batch, PetscInt d, const PetscReal *b, const PetscReal *x, PetscBool *only)
{
  TL                 *tl = (TL *)batch->data;
  const BlockPattern *p  = &batch->part->pattern;
  const PetscReal    *a  = TLOperator_Private(batch, d);
  PetscReal           rm = 0, sm = 0;

  PetscFunctionBeginUser;
  for (PetscInt i = 0; i < 3 * p->nb; i++) tl->z[i] = PetscAbsReal(b[i]);
  for (PetscInt i = 0; i < p->nb; i++)
    for (PetscInt k = p->ia[i]; k < p->ia[i + 1]; k++)
      for (PetscInt u = 0; u < 3; u++)
        for (PetscInt v = 0; v < 3; v++) {
          const PetscReal e = PetscAbsReal(a[9 * k + u + 3 * v]);

          tl->z[3 * i + u] += e * PetscAbsReal(x[3 * p->ja[k] + v]);
          if (k > p->ia[i]) tl->z[3 * p->ja[k] + v] += e * PetscAbsReal(x[3 * i + u]);
        }
  for (PetscInt i = 0; i < 3 * p->nb; i++) {
    rm = PetscMax(rm, PetscAbsReal(tl->residual[i]));
    sm = PetscMax(sm, tl->z[i]);
  }
  *only = rm <= 64 * PETSC_MACHINE_EPSILON * sm ? PETSC_TRUE : PETSC_FALSE;
  PetscFunctionReturn(0);
}

/* The corrections of domain d are slow: they are at their end by round-off, or the operator has to be factored after all. */
static PetscErrorCode TLSlow_Private(Batch batch, const Stage *stage, PetscInt d, Corrector c, const PetscReal *b, const PetscReal *x1)
{
  TL       *tl = (TL *)batch->data;
  PetscBool only;

  PetscFunctionBeginUser;
  PetscCall(TLRoundOff_Private(batch, d, b, x1, &only));
  if (only) {
    PetscCall(PetscArraycpy(c->x, x1, c->n));
    c->done = PETSC_TRUE;
  } else {
    if (!tl->lost[d]) {
      tl->lost[d] = PETSC_TRUE;
      batch->nfallback++;
      if (TLCoupled_Private(batch, stage)) batch->again = PETSC_TRUE; /* rows know the other operator: from linearize on */
      else PetscCall(TLFactor_Private(batch, d, TLOperator_Private(batch, d)));
    }
    PetscCall(CorrectorRestart(c));
  }
  PetscFunctionReturn(0);
}

/* The whole loop for a domain that nothing couples to others: x = A^-1 b into b */
static PetscErrorCode TLSolveCorrected_Private(Batch batch, const Stage *stage, PetscInt d, PetscReal *b)
{
  TL       *tl = (TL *)batch->data;
  PetscReal change, *x1 = tl->um;
  Corrector c;

  PetscFunctionBeginUser;
  if (!tl->corrector[0]) PetscCall(CorrectorCreate(3 * batch->part->nnode, &tl->corrector[0]));
  c = tl->corrector[0];
  PetscCall(CorrectorStart(c));
  while (!c->done && !tl->lost[d]) {
    PetscCall(TLPass_Private(batch, d, c, b, NULL, x1));
    PetscCall(CorrectorAccept(c, x1, &change));
    if (c->slow) PetscCall(TLSlow_Private(batch, stage, d, c, b, x1));
  }
  if (tl->lost[d]) PetscCall(FactorSolve(tl->factor[d], 1, b));
  else PetscCall(PetscArraycpy(b, c->x, c->n));
  PetscFunctionReturn(0);
}

static PetscErrorCode TLMix_Private(Batch batch, const Stage *stage, PetscReal *change)
{
  TL            *tl = (TL *)batch->data;
  const PetscInt n  = 3 * batch->part->nnode;

  PetscFunctionBeginUser;
  *change = 0;
  for (PetscInt d = 0; d < batch->n && TLCoupled_Private(batch, stage); d++) {
    Corrector c = tl->corrector[d];
    PetscReal one;

    PetscCall(CorrectorAccept(c, batch->du + d * n, &one));
    if (c->slow) PetscCall(TLSlow_Private(batch, stage, d, c, tl->r + d * n, batch->du + d * n));
    if (!c->done) *change = PetscMax(*change, one);
  }
  PetscFunctionReturn(0);
}

static PetscErrorCode TLSolve_Private(Batch batch, const Stage *stage, PetscReal *change)
{
  TL            *tl = (TL *)batch->data;
  const PetscInt nn = batch->part->nnode, n = 3 * nn;

  PetscFunctionBeginUser;
  for (PetscInt d = 0; d < batch->n; d++) {
    PetscReal *r = tl->r + d * n, *du = batch->du + d * n;

    if (TLCoupled_Private(batch, stage)) {
      if (!tl->corrector[d]->done) PetscCall(TLPass_Private(batch, d, tl->corrector[d], r, batch->impulse + d * n, du));
      continue;
    }
    if (batch->part->elastic.linear) {
      const PetscReal *R0 = batch->domain[d].body->rotation;

      for (PetscInt i = 0; i < nn; i++) {
        const PetscReal b[3] = {r[3 * i], r[3 * i + 1], r[3 * i + 2]};

        Mat3TransposeVec(R0, b, r + 3 * i);
      }
      PetscCall(FactorSolve(tl->constant, 1, r));
      for (PetscInt i = 0; i < nn; i++) {
        const PetscReal b[3] = {r[3 * i], r[3 * i + 1], r[3 * i + 2]};

        Mat3Vec(R0, b, r + 3 * i);
      }
    } else if (TLCorrected_Private(batch)) PetscCall(TLSolveCorrected_Private(batch, stage, d, r));
    else PetscCall(FactorSolve(tl->factor[d], 1, r)); /* (14) */
    LanesAXPY(n, 1, 1, r, du, du);
  }
  if (stage->implicit) PetscCall(NodalChange(batch, stage, tl->r, change));
  PetscFunctionReturn(0);
}

static PetscErrorCode TLCorrect_Private(Batch batch, const Stage *stage)
{
  TL            *tl = (TL *)batch->data;
  const PetscInt n  = 3 * batch->part->nnode;
  Stage          s  = *stage;

  PetscFunctionBeginUser;
  StageSetBatch(&s, batch);
  /* K (u + du/2) for the work of damping, without a product: K du = (r0 + impulse - sm M du) / sk */
  if (batch->eta != 0 && !stage->implicit)
    for (PetscInt i = 0; i < n * batch->n; i++) tl->ku[i] += 0.5 * (tl->r0[i] + (batch->touched ? batch->impulse[i] : 0) - s.sm * batch->part->mass[i % n / 3] * batch->du[i]) / s.sk;
  PetscCall(NodalCorrect(batch, stage, &tl->nodal));
  PetscFunctionReturn(0);
}

static PetscErrorCode TLEnergies_Private(Batch batch, const Stage *stage)
{
  TL            *tl   = (TL *)batch->data;
  Part           part = batch->part;
  const PetscInt n    = 3 * part->nnode;

  PetscFunctionBeginUser;
  for (PetscInt d = 0; d < batch->n; d++) {
    PetscReal *ledger = &batch->ledger[d * LEDGER_SIZE], mass, uu = 0, kudu = 0, kuu = 0;

    LanesDot(part->nnode, 1, part->mass, batch->u + d * n, batch->u + d * n, &uu);
    PetscCall(NodalKinetic(batch, d, &uu, &ledger[LEDGER_KINETIC], &mass));
    if (part->elastic.linear) {
      const PetscReal *R0 = batch->domain[d].body->rotation;
      PetscReal        e  = 0;

      PetscCall(TLLinear_Private(batch, d, batch->q + d * n, part->X, tl->k, tl->f));
      for (PetscInt i = 0; i < part->nnode; i++) {
        PetscReal moved[3];

        Mat3Vec(R0, tl->k + 3 * i, moved);
        e += Vec3Dot(tl->f + 3 * i, moved);
      }
      ledger[LEDGER_INTERNAL] = 0.5 * e;
    } else PetscCall(AssemblyEnergy(part->assembly, &part->elastic, batch->q + d * n, 1, &ledger[LEDGER_INTERNAL]));
    if (batch->eta != 0) {
      LanesDot(part->nnode, 1, NULL, tl->ku + d * n, batch->u + d * n, &kuu);
      LanesDot(part->nnode, 1, NULL, tl->ku + d * n, batch->du + d * n, &kudu);
    }
    if (stage->balance != 0 && batch->eta != 0 && batch->conserve) { /* NodalCorrect() takes the torque of damping off, and with it its work in the mean rotation */
      const Nodal *nodal = &tl->nodal;
      PetscReal    P[3], T[3], L[3], omega[3], rg2;

      LanesForceSums(part->nnode, 1, tl->ku + d * n, nodal->qh + d * n, nodal->a + 3 * d, P, T);
      for (PetscInt c = 0; c < 3; c++) L[c] = nodal->L[3 * d + c] + 0.5 * nodal->T[3 * d + c];
      LanesSpin(1, nodal->J + 6 * d, L, omega, &rg2);
      kuu -= Vec3Dot(omega, T);
    }
    ledger[LEDGER_DAMPING] -= stage->balance * (mass + batch->eta * (kuu - 0.5 * kudu));
  }
  PetscFunctionReturn(0);
}

static PetscErrorCode TLNodes_Private(Batch batch, PetscInt d, PetscInt n, const PetscInt node[], PetscReal x[], PetscReal v[])
{
  PetscFunctionBeginUser;
  PetscCall(NodalNodes(batch, d, &((TL *)batch->data)->nodal, n, node, x, v));
  PetscFunctionReturn(0);
}

/* Both tangents find the same increment, so what its momentum lacks is given in the next step as a load, see TLLinearize_Private(). */
static PetscErrorCode TLConserve_Private(Batch batch, const Stage *stage)
{
  PetscFunctionBeginUser;
  (void)stage;
  ((TL *)batch->data)->nodal.conserved = batch->conserve;
  PetscFunctionReturn(0);
}

/* The frame in which the constant operator stands for that of domain d; NULL: its own is factored */
static const PetscReal *TLFrame_Private(Batch batch, PetscInt d)
{
  TL *tl = (TL *)batch->data;

  if (batch->part->elastic.linear) return batch->domain[d].body->rotation;
  return TLCorrected_Private(batch) && !tl->lost[d] ? tl->R + 9 * d : NULL;
}

static PetscErrorCode TLCompliance_Private(Batch batch, PetscInt d, const Stage *stage, PetscInt n, const MaterialPoint *const p[], const PetscReal frame[], PetscReal W[])
{
  TL              *tl = (TL *)batch->data;
  const PetscReal *R  = TLFrame_Private(batch, d);

  PetscFunctionBeginUser;
  if (R) {
    PetscCall(PartGetCompliance(batch->part, stage->sm, stage->sk, &tl->compliance));
    PetscCall(NodalCompliance(&tl->nodal, tl->compliance, R, n, p, frame, W));
  } else {
    PetscCall(ColumnsSetUp(&tl->columns[d], tl->factor[d], batch->part->nnode, n, p));
    PetscCall(ColumnsCompliance(&tl->columns[d], n, p, frame, W));
  }
  PetscFunctionReturn(0);
}

static PetscErrorCode TLImpulse_Private(Batch batch, PetscInt d, PetscInt n, const MaterialPoint *const p[], const PetscReal P[])
{
  TL              *tl = (TL *)batch->data;
  const PetscReal *R  = TLFrame_Private(batch, d);
  const PetscInt   nn = batch->part->nnode;

  PetscFunctionBeginUser;
  if (R) PetscCall(NodalImpulse(batch, d, &tl->nodal, tl->compliance, R, n, p, P));
  else {
    PetscCall(ColumnsApply(&tl->columns[d], nn, n, p, P, batch->du + 3 * nn * d));
    PetscCall(NodalGive(batch, d, &tl->nodal, n, p, P));
  }
  for (PetscInt i = 0; i < n; i++)
    for (PetscInt a = 0; a < p[i]->nnode; a++)
      for (PetscInt c = 0; c < 3; c++) batch->impulse[3 * (nn * d + p[i]->node[a]) + c] += p[i]->N[a] * P[3 * i + c];
  PetscFunctionReturn(0);
}

static PetscErrorCode TLForget_Private(Batch batch)
{
  PetscFunctionBeginUser;
  PetscCall(NodalForget(batch, &((TL *)batch->data)->nodal));
  PetscFunctionReturn(0);
}

static PetscErrorCode TLStress_Private(Batch batch, PetscInt d, PetscInt elem, const PetscReal xi[3], PetscReal sigma[6], PetscReal *mises)
{
  PetscReal F[9], H[9];

  PetscFunctionBeginUser;
  PetscCall(ElementDeformation(batch->part->mesh, elem, xi, batch->q + d * batch->nq, 1, F));
  if (batch->part->elastic.linear) Mat3MultTransposeRight(F, batch->domain[d].body->rotation, H); /* gradient by placed coordinates */
  else PetscCall(PetscArraycpy(H, F, 9));
  PetscCall(ElasticCauchy(&batch->part->elastic, H, sigma, mises));
  PetscFunctionReturn(0);
}

const FormulationOps FormulationTL = {
  .name = "tl", .help = "total Lagrangian: large strains and rotations, the tangent is that of the half step", .code = 3, .elastic = PETSC_TRUE, .reach = 0.45, .size = NodalSize, .setup = TLSetUp_Private,
  .destroy = TLDestroy_Private, .start = NodalStart, .predict = TLPredict_Private, .linearize = TLLinearize_Private, .solve = TLSolve_Private, .mix = TLMix_Private, .correct = TLCorrect_Private,
  .energies = TLEnergies_Private, .point = NodalPoint, .addforce = NodalAddForce, .stress = TLStress_Private, .momentum = NodalMomentum, .forget = TLForget_Private,
  .nodes = TLNodes_Private, .velocities = NodalVelocities, .compliance = TLCompliance_Private, .impulse = TLImpulse_Private, .conserve = TLConserve_Private,
};
