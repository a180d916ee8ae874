/* bc: body co-rotated formulation (section 4 of the co-rotated integrators report, equations 24 to 34). The operator is the constant
   A0 = sm M + sk K0 in a frame Lambda that turns with the body, so it is factored once for all bodies of a part. */
#include "nodal.h"
#include "formulations.h"
#include "physics/rotation.h"

typedef struct {
  Nodal      nodal;
  Factor     factor;
  PetscReal  factor_sm, factor_sk;
  PetscReal *R, *a;      /* per group: frame at the stage's configuration (9), mass centre there (3) */
  PetscReal *xs;         /* the stage's configuration when the step is iterated, else NULL: nodal.qh */
  PetscReal *y, *f, *r;  /* like u, in the body's frame: d + eta w; K0 y; right-hand side and then solution */
  PetscReal *d, *kd;     /* at t + h, for the balance */
  PetscReal *w, *kw, *z; /* mean velocity of the step, for the work of damping; positions in its frame */
  PetscBool  ahead;      /* predict() and K0 y of the coming step of length ahead_h are made already */
  PetscReal  ahead_h;
} BC;

static PetscErrorCode BCSetUp_Private(Batch batch)
{
  BC            *bc;
  const PetscInt lanes = batch->ngroup * batch->w;

  PetscFunctionBeginUser;
  PetscCall(PetscNew(&bc));
  batch->data = bc;
  PetscCall(NodalSetUp(batch, &bc->nodal));
  PetscCall(PartSetUpElastic(batch->part));
  PetscCall(PetscMalloc5(9 * lanes, &bc->R, 3 * lanes, &bc->a, lanes * batch->nu, &bc->y, lanes * batch->nu, &bc->f, lanes * batch->nu, &bc->r));
  PetscFunctionReturn(0);
}

static PetscErrorCode BCDestroy_Private(Batch batch)
{
  BC *bc = (BC *)batch->data;

  PetscFunctionBeginUser;
  PetscCall(NodalDestroy(&bc->nodal));
  PetscCall(PetscFree5(bc->R, bc->a, bc->y, bc->f, bc->r));
  PetscCall(PetscFree(bc->xs));
  PetscCall(PetscFree2(bc->d, bc->kd));
  PetscCall(PetscFree3(bc->w, bc->kw, bc->z));
  PetscCall(PetscFree(batch->data));
  PetscFunctionReturn(0);
}

static const PetscReal *BCFrameWeights_Private(Batch batch)
{
  return batch->frame == FRAME_MASS ? batch->part->mX : batch->part->G;
}

/* Lambda of group g at positions x about a: polar rotation of sum (x - a) (x) g, the zero of (78) without iteration */
static void BCFrame_Private(Batch batch, PetscInt g, const PetscReal *x, const PetscReal *a, PetscReal *R)
{
  PetscReal F[9 * LANES_MAX];
  PetscInt  bad;

  LanesCovariance(batch->part->nnode, batch->w, BCFrameWeights_Private(batch), x, a, F);
  bad = LanesPolar(batch->w, F, R);
  if (bad >= 0 && g * batch->w + bad < batch->n && batch->bad_lane < 0) batch->bad_lane = g * batch->w + bad;
}

/* K0 times up to three sets of columns, group by group */
static PetscErrorCode BCProduct_Private(Batch batch, PetscInt ncol, PetscReal *const x[], PetscReal *const y[])
{
  const PetscInt   size = batch->nu * batch->w;
  const PetscReal *k;

  PetscFunctionBeginUser;
  PetscCall(MatSeqSBAIJGetArray(batch->part->K0, (PetscReal **)&k));
  for (PetscInt g = 0; g < batch->ngroup; g++) {
    const PetscReal *xg[3];
    PetscReal       *yg[3];

    for (PetscInt c = 0; c < ncol; c++) {
      xg[c] = x[c] + g * size;
      yg[c] = y[c] + g * size;
    }
    PetscCall(BlockProduct(&batch->part->pattern, k, batch->w, ncol, xg, yg));
  }
  PetscCall(MatSeqSBAIJRestoreArray(batch->part->K0, (PetscReal **)&k));
  PetscCall(PetscLogFlops((PetscLogDouble)ncol * 36 * batch->part->pattern.ia[batch->part->pattern.nb] * batch->ngroup * batch->w));
  PetscFunctionReturn(0);
}

/* Frame and y = Lambda^T (x - a) - X + eta Lambda^T (u - v) at the half step */
static PetscErrorCode BCPredictNow_Private(Batch batch, const Stage *stage)
{
  BC            *bc = (BC *)batch->data;
  const PetscInt nn = batch->part->nnode, w = batch->w, size = batch->nu * w;

  PetscFunctionBeginUser;
  PetscCall(NodalPredict(batch, stage, &bc->nodal));
  for (PetscInt g = 0; g < batch->ngroup; g++) {
    const PetscReal *x = bc->nodal.qh + g * size, *a = bc->nodal.a + 3 * g * w;
    PetscReal       *R = bc->R + 9 * g * w;

    BCFrame_Private(batch, g, x, a, R); /* (25) */
    LanesToBody(nn, w, R, x, a, batch->part->X, batch->eta, batch->eta != 0 ? batch->u + g * size : NULL, bc->nodal.v + 3 * g * w, bc->y + g * size);
  }
  PetscCall(PetscArraycpy(bc->a, bc->nodal.a, 3 * batch->ngroup * w));
  PetscFunctionReturn(0);
}

static PetscErrorCode BCPredict_Private(Batch batch, const Stage *stage)
{
  BC *bc = (BC *)batch->data;

  PetscFunctionBeginUser;
  if (bc->ahead && bc->ahead_h == stage->h) PetscFunctionReturn(0);
  bc->ahead = PETSC_FALSE;
  PetscCall(BCPredictNow_Private(batch, stage));
  PetscFunctionReturn(0);
}

/* Iterated step: the configuration is q(t + h/2) + h/4 du, the damping velocity u + du/2 */
static PetscErrorCode BCConfigure_Private(Batch batch, const Stage *stage)
{
  BC            *bc = (BC *)batch->data;
  const PetscInt nn = batch->part->nnode, w = batch->w, size = batch->nu * w;
  PetscReal      v[3 * LANES_MAX];

  PetscFunctionBeginUser;
  if (!bc->xs) PetscCall(PetscMalloc1(batch->ngroup * size, &bc->xs));
  for (PetscInt g = 0; g < batch->ngroup; g++) {
    PetscReal *x = bc->xs + g * size, *a = bc->a + 3 * g * w, *R = bc->R + 9 * g * w, *um = bc->r + g * size;

    LanesAXPY(batch->nu, w, 0.25 * stage->h, batch->du + g * size, bc->nodal.qh + g * size, x);
    LanesAXPY(batch->nu, w, 0.5, batch->du + g * size, batch->u + g * size, um);
    LanesCentre(nn, w, batch->part->mass, batch->part->total, x, um, a, v);
    BCFrame_Private(batch, g, x, a, R);
    LanesToBody(nn, w, R, x, a, batch->part->X, batch->eta, um, v, bc->y + g * size);
  }
  PetscFunctionReturn(0);
}

static PetscErrorCode BCLinearize_Private(Batch batch, const Stage *stage)
{
  BC             *bc = (BC *)batch->data;
  const PetscInt  nn = batch->part->nnode, w = batch->w, size = batch->nu * w;
  const PetscBool product = batch->conserve || stage->implicit ? PETSC_TRUE : PETSC_FALSE;
  const PetscReal h = stage->h;

  PetscFunctionBeginUser;
  if (!bc->factor || bc->factor_sm != stage->sm || bc->factor_sk != stage->sk) {
    PetscCall(PartGetFactor(batch->part, stage->sm, stage->sk, &bc->factor));
    bc->factor_sm = stage->sm;
    bc->factor_sk = stage->sk;
  }
  if (stage->iteration) PetscCall(BCConfigure_Private(batch, stage));
  else PetscCall(PetscArrayzero(batch->du, batch->ngroup * size));
  if (product && (stage->iteration || !bc->ahead)) PetscCall(BCProduct_Private(batch, 1, &bc->y, &bc->f));
  bc->ahead = PETSC_FALSE;
  for (PetscInt g = 0; g < batch->ngroup; g++) {
    const PetscReal *x = (stage->iteration ? bc->xs : bc->nodal.qh) + g * size, *a = bc->a + 3 * g * w, *R = bc->R + 9 * g * w;
    const PetscReal *u = batch->alpha != 0 ? batch->u + g * size : NULL, *force = batch->force ? batch->force + g * size : NULL;
    PetscReal       *r = bc->r + g * size, *f = bc->f + g * size;

    if (product) {
      LanesLoad(nn, w, R, batch->part->mass, h, force, stage->gravity, h * batch->alpha, u, stage->sm, stage->iteration ? batch->du + g * size : NULL, 0, NULL, r);
      if (batch->conserve) LanesFrameForce(nn, w, R, x, a, BCFrameWeights_Private(batch), h, f, r);
      else LanesAXPY(batch->nu, w, -h, f, r, r); /* (27) */
    } else {
      /* K0 y = (A0 - sm M) y / sk: the solve itself makes the product, see BCSolve_Private() */
      LanesLoad(nn, w, R, batch->part->mass, h, force, stage->gravity, h * batch->alpha, u, 0, NULL, h * stage->sm / stage->sk, bc->y + g * size, r);
    }
  }
  PetscCall(PetscLogFlops(60.0 * nn * batch->ngroup * w));
  PetscFunctionReturn(0);
}

static PetscErrorCode BCSolve_Private(Batch batch, const Stage *stage, PetscReal *change)
{
  BC             *bc      = (BC *)batch->data;
  const PetscInt  nn = batch->part->nnode, w = batch->w, size = batch->nu * w;
  const PetscBool product = batch->conserve || stage->implicit ? PETSC_TRUE : PETSC_FALSE;

  PetscFunctionBeginUser;
  for (PetscInt g = 0; g < batch->ngroup; g++) {
    PetscCall(FactorSolve(bc->factor, w, bc->r + g * size)); /* (34) */
    LanesFromBody(nn, w, bc->R + 9 * g * w, bc->r + g * size, stage->h / stage->sk, product ? NULL : bc->y + g * size, batch->du + g * size);
  }
  if (stage->implicit) PetscCall(NodalChange(batch, stage, bc->r, change));
  PetscFunctionReturn(0);
}

static PetscErrorCode BCCorrect_Private(Batch batch, const Stage *stage)
{
  PetscFunctionBeginUser;
  PetscCall(NodalCorrect(batch, stage, &((BC *)batch->data)->nodal));
  PetscFunctionReturn(0);
}

static PetscErrorCode BCEnergies_Private(Batch batch, const Stage *stage)
{
  BC             *bc = (BC *)batch->data;
  const PetscInt  nn = batch->part->nnode, w = batch->w, size = batch->nu * w;
  const PetscBool damped = stage->balance && batch->eta != 0 ? PETSC_TRUE : PETSC_FALSE;
  PetscReal      *x[3], *y[3], kin[LANES_MAX], mass[LANES_MAX], in[LANES_MAX], damp[LANES_MAX];
  PetscReal       identity[9 * LANES_MAX] = {0}, zero[3 * LANES_MAX] = {0};
  PetscInt        ncol = 0;

  PetscFunctionBeginUser;
  for (PetscInt l = 0; l < w; l++) identity[l] = identity[4 * w + l] = identity[8 * w + l] = 1;
  if (!bc->d) PetscCall(PetscMalloc2(batch->ngroup * size, &bc->d, batch->ngroup * size, &bc->kd));
  if (damped && !bc->w) PetscCall(PetscMalloc3(batch->ngroup * size, &bc->w, batch->ngroup * size, &bc->kw, batch->ngroup * size, &bc->z));
  for (PetscInt g = 0; g < batch->ngroup; g++) {
    const PetscReal *q = batch->q + g * size, *u = batch->u + g * size;
    PetscReal        a[3 * LANES_MAX], v[3 * LANES_MAX], R[9 * LANES_MAX];

    LanesCentre(nn, w, batch->part->mass, batch->part->total, q, u, a, v);
    BCFrame_Private(batch, g, q, a, R); /* (32) */
    LanesToBody(nn, w, R, q, a, batch->part->X, 0, NULL, NULL, bc->d + g * size);
    if (damped) {
      PetscReal *um = bc->kw + g * size, vm[3 * LANES_MAX];

      LanesAXPY(batch->nu, w, -0.5, batch->du + g * size, u, um);
      LanesCentre(nn, w, batch->part->mass, batch->part->total, um, um, vm, v);
      LanesToBody(nn, w, bc->R + 9 * g * w, um, vm, NULL, 0, NULL, NULL, bc->w + g * size);
      if (batch->conserve) LanesToBody(nn, w, bc->R + 9 * g * w, (stage->implicit ? bc->xs : bc->nodal.qh) + g * size, bc->a + 3 * g * w, NULL, 0, NULL, NULL, bc->z + g * size);
    }
  }
  x[ncol]   = bc->d;
  y[ncol++] = bc->kd;
  if (damped) {
    x[ncol]   = bc->w;
    y[ncol++] = bc->kw;
  }
  /* The coming step needs K0 y at its half step, which is known now: both products in one pass over K0. */
  if (batch->conserve && stage->h != 0) {
    PetscCall(BCPredictNow_Private(batch, stage));
    bc->ahead   = PETSC_TRUE;
    bc->ahead_h = stage->h;
    x[ncol]     = bc->y;
    y[ncol++]   = bc->f;
  }
  PetscCall(BCProduct_Private(batch, ncol, x, y));
  for (PetscInt g = 0; g < batch->ngroup; g++) {
    PetscCall(NodalKinetic(batch, g, kin, mass));
    LanesDot(batch->nu, w, bc->d + g * size, bc->kd + g * size, in);
    if (damped) {
      PetscReal *f = bc->kw + g * size;

      if (batch->conserve) { /* the force that damps has no torque either, see LanesFrameForce() */
        f = bc->r + g * size;
        PetscCall(PetscArrayzero(f, size));
        LanesFrameForce(nn, w, identity, bc->z + g * size, zero, BCFrameWeights_Private(batch), -1, bc->kw + g * size, f);
      }
      LanesDot(batch->nu, w, bc->w + g * size, f, damp);
    }
    for (PetscInt l = 0; l < w && g * w + l < batch->n; l++) {
      PetscReal *ledger = &batch->ledger[(g * w + l) * LEDGER_SIZE];

      ledger[LEDGER_KINETIC]  = kin[l];
      ledger[LEDGER_INTERNAL] = 0.5 * in[l];
      ledger[LEDGER_DAMPING] -= stage->balance * stage->h * (mass[l] + (damped ? batch->eta * damp[l] : 0));
    }
  }
  PetscFunctionReturn(0);
}

static PetscErrorCode BCForget_Private(Batch batch)
{
  PetscFunctionBeginUser;
  ((BC *)batch->data)->ahead = PETSC_FALSE;
  PetscFunctionReturn(0);
}

/* The linear law in the turned frame; sigma is turned back. */
static PetscErrorCode BCStress_Private(Batch batch, PetscInt d, PetscInt elem, const PetscReal xi[3], PetscReal sigma[6], PetscReal *mises)
{
  const PetscInt  nn = batch->part->nnode, w = batch->w, lane = d % w;
  const PetscReal *q = batch->q + (d / w) * batch->nq * w, *u = batch->u + (d / w) * batch->nu * w;
  PetscReal       a[3 * LANES_MAX], v[3 * LANES_MAX], F[9 * LANES_MAX], R[9 * LANES_MAX], L[9], H[9], G[9], S[9], T[9], s[6];
  Elastic         linear = batch->part->elastic;

  PetscFunctionBeginUser;
  linear.linear = PETSC_TRUE;
  LanesCentre(nn, w, batch->part->mass, batch->part->total, q, u, a, v);
  LanesCovariance(nn, w, BCFrameWeights_Private(batch), q, a, F);
  LanesPolar(w, F, R);
  for (PetscInt k = 0; k < 9; k++) L[k] = R[k * w + lane];
  PetscCall(ElementDeformation(batch->part->mesh, elem, xi, q + lane, w, G));
  Mat3MultTransposeLeft(L, G, H);
  PetscCall(ElasticCauchy(&linear, H, s, mises));
  S[0] = s[0], S[4] = s[1], S[8] = s[2], S[1] = S[3] = s[3], S[5] = S[7] = s[4], S[2] = S[6] = s[5];
  Mat3Mult(L, S, T);
  Mat3MultTransposeRight(T, L, S);
  sigma[0] = S[0], sigma[1] = S[4], sigma[2] = S[8], sigma[3] = S[1], sigma[4] = S[5], sigma[5] = S[2];
  PetscFunctionReturn(0);
}

const FormulationOps FormulationBC = {
  .name = "bc", .help = "body co-rotated: small strains in a frame that turns with the body, one factor for all bodies of a part", .code = 2, .elastic = PETSC_TRUE, .size = NodalSize, .lanes = PETSC_TRUE,
  .setup = BCSetUp_Private, .destroy = BCDestroy_Private, .start = NodalStart, .predict = BCPredict_Private, .linearize = BCLinearize_Private, .solve = BCSolve_Private,
  .correct = BCCorrect_Private, .energies = BCEnergies_Private, .forget = BCForget_Private, .point = NodalPoint, .addforce = NodalAddForce, .stress = BCStress_Private,
  .momentum = NodalMomentum,
};
