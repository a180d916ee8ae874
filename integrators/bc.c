/* bc: body co-rotated formulation (section 4 of the co-rotated integrators report, equations 24 to 34). The operator is the constant
   A0 = sm M + sk K0 in a frame Lambda that turns with the body, so it is factored once for all bodies of a part. */
#include "nodal.h"
#include "formulations.h"
#include "physics/compliance.h"
#include "physics/rotation.h"
#include "physics/simd.h"

/* Group after group, each through all passes while it is in the cache. */
typedef struct {
  Nodal      nodal;
  Factor     factor;
  PetscReal  factor_sm, factor_sk;
  Compliance compliance; /* of the same operator, when something touches */
  PetscReal *R, *a;      /* per group, at the stage's configuration: frame (9), mass centre (3) */
  PetscReal *xs;         /* the stage's configuration when the step is iterated, else NULL: nodal.qh */
  PetscReal *r;          /* like u, in the body's frame: K0 y, then right-hand side, then solution */
  PetscReal *y;          /* d + eta w in the body's frame: of the group at work, or like u if no K0 y is made */
  PetscBool  whole;      /* the latter */
  PetscReal *d;          /* for the balance, of the group at work: y at t + h */
  PetscReal *w, *kw, *x; /* for the work of damping, of the group at work: mean velocity of the step, K0 w, the stage's configuration */
  PetscInt   shown, shown_at; /* group and opening of the arrays that `now` is of */
  PetscReal  now[9 * LANES_MAX]; /* frames of a group, for stresses */
  PetscBool  ahead;      /* the coming step of length ahead_h is predicted already */
  PetscReal  ahead_h;
} BC;

static PetscErrorCode BCSetUp_Private(Batch batch)
{
  BC            *bc;
  const PetscInt lanes = batch->lanes;

  PetscFunctionBeginUser;
  PetscCall(PetscNew(&bc));
  batch->data = bc;
  PetscCall(NodalSetUp(batch, &bc->nodal));
  PetscCall(PartSetUpElastic(batch->part));
  PetscCall(PetscMalloc2(9 * lanes, &bc->R, 3 * lanes, &bc->a));
  PetscCall(SIMDCalloc((size_t)lanes * batch->nu, &bc->r));
  PetscCall(SIMDCalloc((size_t)batch->w * batch->nu, &bc->d));
  if (batch->eta != 0) {
    PetscCall(SIMDCalloc((size_t)batch->w * batch->nu, &bc->w));
    PetscCall(SIMDCalloc((size_t)batch->w * batch->nu, &bc->kw));
    PetscCall(SIMDCalloc((size_t)batch->w * batch->nu, &bc->x));
  }
  PetscFunctionReturn(0);
}

static PetscErrorCode BCDestroy_Private(Batch batch)
{
  BC *bc = (BC *)batch->data;

  PetscFunctionBeginUser;
  PetscCall(NodalDestroy(&bc->nodal));
  PetscCall(PetscFree2(bc->R, bc->a));
  PetscCall(SIMDFree(&bc->r));
  PetscCall(SIMDFree(&bc->d));
  PetscCall(SIMDFree(&bc->w));
  PetscCall(SIMDFree(&bc->kw));
  PetscCall(SIMDFree(&bc->x));
  PetscCall(SIMDFree(&bc->xs));
  PetscCall(SIMDFree(&bc->y));
  PetscCall(PetscFree(batch->data));
  PetscFunctionReturn(0);
}

/* Does the step need K0 y? Else the solve itself makes it, see BCSolve_Private(). */
static PetscBool BCNeedsProduct_Private(Batch batch, const Stage *stage)
{
  return batch->conserve || stage->implicit ? PETSC_TRUE : PETSC_FALSE;
}

static const PetscReal *BCFrameWeights_Private(Batch batch)
{
  return batch->frame == FRAME_MASS ? batch->part->mX : batch->part->G;
}

/* Lambda of group g: polar rotation of F = sum (x - a) (x) weight, the zero of (78) without iteration */
static void BCFrame_Private(Batch batch, PetscInt g, const PetscReal *F, PetscReal *R)
{
  const PetscInt bad = LanesPolar(BatchGroupWidth(batch, g), F, R);

  if (bad >= 0 && g * batch->w + bad < batch->n && batch->bad_lane < 0) batch->bad_lane = g * batch->w + bad;
}

/* y = K0 x of arrays of group g, and z.K0 z of one more (NULL: none) */
static PetscErrorCode BCProduct_Private(Batch batch, PetscInt g, PetscInt ncol, const PetscReal *const x[], PetscReal *const y[], const PetscReal *z, PetscReal *form)
{
  PetscReal *k;

  PetscFunctionBeginUser;
  PetscCall(MatSeqSBAIJGetArray(batch->part->K0, &k));
  PetscCall(BlockProductForms(&batch->part->pattern, k, BatchGroupWidth(batch, g), ncol, x, y, z ? 1 : 0, &z, &form));
  PetscCall(MatSeqSBAIJRestoreArray(batch->part->K0, &k));
  PetscFunctionReturn(0);
}

/* Frame and y = Lambda^T (x - a) - X + eta Lambda^T (u - v) of group g at the half step */
static PetscErrorCode BCPredictGroup_Private(Batch batch, const Stage *stage, PetscInt g)
{
  BC              *bc = (BC *)batch->data;
  const PetscInt   nn = batch->part->nnode, w = BatchGroupWidth(batch, g), at = g * batch->w, off = at * batch->nu;
  const PetscReal *x = bc->nodal.qh + off, *a = bc->nodal.a + 3 * at;
  PetscReal       *R = bc->R + 9 * at, F[9 * LANES_MAX];

  PetscFunctionBeginUser;
  PetscCall(NodalPredict(batch, stage, g, &bc->nodal, BCFrameWeights_Private(batch), F));
  BCFrame_Private(batch, g, F, R); /* (25) */
  LanesToBody(nn, w, R, x, a, batch->part->X, batch->eta, batch->eta != 0 ? batch->u + off : NULL, bc->nodal.v + 3 * at, bc->y + (bc->whole ? off : 0));
  PetscCall(PetscArraycpy(bc->a + 3 * at, a, 3 * w));
  PetscFunctionReturn(0);
}

static PetscErrorCode BCAllocate_Private(Batch batch, const Stage *stage)
{
  BC             *bc    = (BC *)batch->data;
  const PetscBool whole = BCNeedsProduct_Private(batch, stage) ? PETSC_FALSE : PETSC_TRUE;

  PetscFunctionBeginUser;
  if (bc->y && bc->whole == whole) PetscFunctionReturn(0);
  PetscCall(SIMDFree(&bc->y));
  PetscCall(SIMDCalloc((size_t)(whole ? batch->lanes : batch->w) * batch->nu, &bc->y));
  bc->whole = whole;
  PetscFunctionReturn(0);
}

static PetscErrorCode BCPredict_Private(Batch batch, const Stage *stage)
{
  BC *bc = (BC *)batch->data;

  PetscFunctionBeginUser;
  if (bc->ahead && bc->ahead_h == stage->h) PetscFunctionReturn(0);
  bc->ahead = PETSC_FALSE;
  PetscCall(BCAllocate_Private(batch, stage));
  for (PetscInt g = 0; g < batch->ngroup; g++) {
    PetscReal *r = bc->r + g * batch->w * batch->nu;

    PetscCall(BCPredictGroup_Private(batch, stage, g));
    if (BCNeedsProduct_Private(batch, stage)) PetscCall(BCProduct_Private(batch, g, 1, (const PetscReal **)&bc->y, &r, NULL, NULL));
  }
  PetscFunctionReturn(0);
}

/* Iterated step: the configuration is q(t + h/2) + h/4 du, the damping velocity u + du/2 */
static PetscErrorCode BCConfigure_Private(Batch batch, const Stage *stage, PetscInt g)
{
  BC            *bc = (BC *)batch->data;
  const PetscInt nn = batch->part->nnode, w = BatchGroupWidth(batch, g), at = g * batch->w, off = at * batch->nu;
  PetscReal      v[3 * LANES_MAX], *x, *a = bc->a + 3 * at, *R = bc->R + 9 * at, *um = bc->r + off, F[9 * LANES_MAX];

  PetscFunctionBeginUser;
  if (!bc->xs) PetscCall(SIMDCalloc((size_t)batch->lanes * batch->nu, &bc->xs));
  x = bc->xs + off;
  LanesAXPY(batch->nu, w, 0.25 * stage->h, batch->du + off, bc->nodal.qh + off, x);
  LanesAXPY(batch->nu, w, 0.5, batch->du + off, batch->u + off, um);
  LanesCentre(nn, w, batch->part->mass, batch->part->total, x, um, a, v, NULL);
  LanesCovariance(nn, w, BCFrameWeights_Private(batch), x, a, F);
  BCFrame_Private(batch, g, F, R);
  LanesToBody(nn, w, R, x, a, batch->part->X, batch->eta, um, v, bc->y);
  PetscCall(BCProduct_Private(batch, g, 1, (const PetscReal **)&bc->y, &um, NULL, NULL)); /* into r, where um was */
  PetscFunctionReturn(0);
}

static PetscErrorCode BCLinearize_Private(Batch batch, const Stage *stage)
{
  BC             *bc = (BC *)batch->data;
  const PetscInt  nn = batch->part->nnode;
  const PetscReal h = stage->h;

  PetscFunctionBeginUser;
  if (!bc->factor || bc->factor_sm != stage->sm || bc->factor_sk != stage->sk) {
    PetscCall(PartGetFactor(batch->part, stage->sm, stage->sk, &bc->factor));
    bc->factor_sm = stage->sm;
    bc->factor_sk = stage->sk;
    bc->compliance = NULL;
  }
  bc->ahead = PETSC_FALSE;
  if (!stage->iteration) PetscCall(NodalBegin(batch, &bc->nodal));
  for (PetscInt g = 0; g < batch->ngroup; g++) {
    const PetscInt   w = BatchGroupWidth(batch, g), at = g * batch->w, off = at * batch->nu;
    const PetscReal *R = bc->R + 9 * at;
    PetscReal       *r = bc->r + off;
    LanesLoads       loads = {.h = h, .gravity = {stage->gravity[0], stage->gravity[1], stage->gravity[2]}, .force = batch->force ? batch->force + off : NULL, .c = h * batch->alpha, .s = stage->sm};

    if (stage->iteration) PetscCall(BCConfigure_Private(batch, stage, g));
    if (batch->alpha != 0) loads.u = batch->u + off;
    if (stage->iteration) loads.du = batch->du + off;
    if (BCNeedsProduct_Private(batch, stage)) {
      loads.f = r; /* (27) */
    } else {
      /* K0 y = (A0 - sm M) y / sk */
      loads.y = bc->y + off;
      loads.k = h * stage->sm / stage->sk;
    }
    LanesLoad(nn, w, R, batch->part->mass, &loads, r);
  }
  PetscCall(PetscLogFlops(60.0 * nn * batch->lanes));
  PetscFunctionReturn(0);
}

static PetscErrorCode BCSolve_Private(Batch batch, const Stage *stage, PetscReal *change)
{
  BC             *bc      = (BC *)batch->data;
  const PetscInt  nn = batch->part->nnode;
  const PetscBool product = BCNeedsProduct_Private(batch, stage);

  PetscFunctionBeginUser;
  for (PetscInt g = 0; g < batch->ngroup; g++) {
    const PetscInt w = BatchGroupWidth(batch, g), at = g * batch->w, off = at * batch->nu;

    PetscCall(FactorSolve(bc->factor, w, bc->r + off)); /* (34) */
    LanesFromBody(nn, w, bc->R + 9 * at, bc->r + off, stage->h / stage->sk, product ? NULL : bc->y + off, stage->iteration ? PETSC_TRUE : PETSC_FALSE, batch->du + off);
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

/* w.K0 w, less the power T.omega of the torque of K0 w if the batch conserves, which takes its effect off. R: of the step that ends; a: at
   its half step bc->x, where momentum is set. */
static void BCDamping_Private(Batch batch, PetscInt g, const PetscReal *R, const PetscReal *a, PetscReal *damp)
{
  BC            *bc = (BC *)batch->data;
  const PetscInt nn = batch->part->nnode, w = BatchGroupWidth(batch, g);
  PetscReal      J[6 * LANES_MAX], L[3 * LANES_MAX], P[3 * LANES_MAX], T[3 * LANES_MAX], omega[3 * LANES_MAX], rg2[LANES_MAX], *work = bc->d;

  LanesDot(nn, w, NULL, bc->w, bc->kw, damp);
  if (!batch->conserve) return;
  LanesFromBody(nn, w, R, bc->w, 0, NULL, PETSC_FALSE, work);
  LanesMoments(nn, w, batch->part->mass, bc->x, a, work, NULL, J, L, NULL);
  LanesSpin(w, J, L, omega, rg2);
  LanesFromBody(nn, w, R, bc->kw, 0, NULL, PETSC_FALSE, work);
  LanesForceSums(nn, w, work, bc->x, a, P, T);
  for (PetscInt l = 0; l < w; l++) damp[l] -= T[l] * omega[l] + T[w + l] * omega[w + l] + T[2 * w + l] * omega[2 * w + l];
}

static PetscErrorCode BCEnergies_Private(Batch batch, const Stage *stage)
{
  BC             *bc = (BC *)batch->data;
  const PetscInt  nn = batch->part->nnode;
  const PetscBool damped = stage->balance != 0 && batch->eta != 0 ? PETSC_TRUE : PETSC_FALSE, ahead = batch->conserve && stage->h != 0 ? PETSC_TRUE : PETSC_FALSE;

  PetscFunctionBeginUser;
  PetscCall(BCAllocate_Private(batch, stage));
  for (PetscInt g = 0; g < batch->ngroup; g++) {
    const PetscInt   w = BatchGroupWidth(batch, g), at = g * batch->w, off = at * batch->nu;
    const PetscReal *q = batch->q + off, *u = batch->u + off, *x[2];
    PetscReal        a[3 * LANES_MAX], v[3 * LANES_MAX], F[9 * LANES_MAX], R[9 * LANES_MAX], uu[LANES_MAX], kin[LANES_MAX], mass[LANES_MAX], in[LANES_MAX], damp[LANES_MAX], *y[2];
    PetscInt         ncol = 0;

    LanesCentre(nn, w, batch->part->mass, batch->part->total, q, u, a, v, uu);
    LanesCovariance(nn, w, BCFrameWeights_Private(batch), q, a, F);
    BCFrame_Private(batch, g, F, R); /* (32) */
    LanesToBody(nn, w, R, q, a, batch->part->X, 0, NULL, NULL, bc->d);
    PetscCall(NodalKinetic(batch, g, uu, kin, mass));
    if (damped) { /* u - du/2 from its mean, and what the next prediction overwrites */
      PetscReal dv[3 * LANES_MAX];

      for (PetscInt i = 0; i < 3 * w; i++) dv[i] = v[i] - bc->nodal.v[3 * at + i];
      LanesToBody(nn, w, bc->R + 9 * at, u, v, NULL, -0.5, batch->du + off, dv, bc->w);
      if (batch->conserve) {
        PetscCall(PetscArraycpy(bc->x, bc->nodal.qh + off, w * batch->nu));
        PetscCall(PetscArraycpy(R, bc->R + 9 * at, 9 * w));
        PetscCall(PetscArraycpy(a, bc->nodal.a + 3 * at, 3 * w));
      }
      x[ncol]   = bc->w;
      y[ncol++] = bc->kw;
    }
    /* The coming step needs K0 y at its half step, which is known now: all products in one pass over K0. */
    if (ahead) {
      PetscCall(BCPredictGroup_Private(batch, stage, g));
      x[ncol]   = bc->y;
      y[ncol++] = bc->r + off;
    }
    PetscCall(BCProduct_Private(batch, g, ncol, x, y, bc->d, in));
    if (damped) BCDamping_Private(batch, g, R, a, damp);
    for (PetscInt l = 0; l < w && at + l < batch->n; l++) {
      PetscReal *ledger = &batch->ledger[(at + l) * LEDGER_SIZE];

      ledger[LEDGER_KINETIC]  = kin[l];
      ledger[LEDGER_INTERNAL] = 0.5 * in[l];
      ledger[LEDGER_DAMPING] -= stage->balance * (mass[l] + (damped ? batch->eta * damp[l] : 0));
    }
  }
  bc->ahead   = ahead;
  bc->ahead_h = stage->h;
  PetscFunctionReturn(0);
}

static PetscErrorCode BCForget_Private(Batch batch)
{
  PetscFunctionBeginUser;
  ((BC *)batch->data)->ahead = PETSC_FALSE;
  PetscCall(NodalForget(batch, &((BC *)batch->data)->nodal));
  PetscFunctionReturn(0);
}

static PetscErrorCode BCNodes_Private(Batch batch, PetscInt d, PetscInt n, const PetscInt node[], PetscReal x[], PetscReal v[])
{
  PetscFunctionBeginUser;
  PetscCall(NodalNodes(batch, d, &((BC *)batch->data)->nodal, n, node, x, v));
  PetscFunctionReturn(0);
}

static PetscErrorCode BCConserve_Private(Batch batch, const Stage *stage)
{
  PetscFunctionBeginUser;
  PetscCall(NodalConserve(batch, stage, &((BC *)batch->data)->nodal));
  PetscFunctionReturn(0);
}

/* Lambda of domain d */
static void BCFrameOf_Private(Batch batch, PetscInt d, PetscReal R[9])
{
  const PetscInt   w = BatchGroupWidth(batch, d / batch->w), at = d / batch->w * batch->w;
  const PetscReal *frame = ((BC *)batch->data)->R + 9 * at + d - at;

  for (PetscInt k = 0; k < 9; k++) R[k] = frame[k * w];
}

/* (65): W = E Lambda C Lambda^T E^T, with C of the part */
static PetscErrorCode BCCompliance_Private(Batch batch, PetscInt d, const Stage *stage, PetscInt n, const MaterialPoint *const p[], const PetscReal frame[], PetscReal W[])
{
  BC       *bc = (BC *)batch->data;
  PetscReal R[9];

  PetscFunctionBeginUser;
  if (!bc->compliance) PetscCall(PartGetCompliance(batch->part, stage->sm, stage->sk, &bc->compliance));
  BCFrameOf_Private(batch, d, R);
  PetscCall(NodalCompliance(&bc->nodal, bc->compliance, R, n, p, frame, W));
  PetscFunctionReturn(0);
}

static PetscErrorCode BCImpulse_Private(Batch batch, PetscInt d, PetscInt n, const MaterialPoint *const p[], const PetscReal P[])
{
  BC       *bc = (BC *)batch->data;
  PetscReal R[9];

  PetscFunctionBeginUser;
  BCFrameOf_Private(batch, d, R);
  PetscCall(NodalImpulse(batch, d, &bc->nodal, bc->compliance, R, n, p, P));
  PetscFunctionReturn(0);
}

/* The linear law in the turned frame; sigma is turned back. */
static PetscErrorCode BCStress_Private(Batch batch, PetscInt d, PetscInt elem, const PetscReal xi[3], PetscReal sigma[6], PetscReal *mises)
{
  BC              *bc = (BC *)batch->data;
  const PetscInt   w = BatchGroupWidth(batch, d / batch->w), first = d / batch->w * batch->w, lane = d - first;
  const PetscReal *q = batch->q + first * batch->nq;
  PetscReal        L[9], H[9], G[9], S[9], T[9], s[6];
  Elastic          linear = batch->part->elastic;

  PetscFunctionBeginUser;
  linear.linear = PETSC_TRUE;
  if (bc->shown != first || bc->shown_at != batch->opened) { /* not for every element */
    PetscReal a[3 * LANES_MAX], v[3 * LANES_MAX], F[9 * LANES_MAX];

    LanesCentre(batch->part->nnode, w, batch->part->mass, batch->part->total, q, batch->u + first * batch->nu, a, v, NULL);
    LanesCovariance(batch->part->nnode, w, BCFrameWeights_Private(batch), q, a, F);
    LanesPolar(w, F, bc->now);
    bc->shown    = first;
    bc->shown_at = batch->opened;
  }
  for (PetscInt k = 0; k < 9; k++) L[k] = bc->now[k * w + lane];
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
  .name = "bc", .help = "body co-rotated: small strains in a frame that turns with the body, one factor for all bodies of a part", .code = 2, .elastic = PETSC_TRUE, .reach = 1, .size = NodalSize, .lanes = PETSC_TRUE,
  .setup = BCSetUp_Private, .destroy = BCDestroy_Private, .start = NodalStart, .predict = BCPredict_Private, .linearize = BCLinearize_Private, .solve = BCSolve_Private,
  .correct = BCCorrect_Private, .energies = BCEnergies_Private, .forget = BCForget_Private, .point = NodalPoint, .addforce = NodalAddForce, .stress = BCStress_Private,
  .momentum = NodalMomentum, .nodes = BCNodes_Private, .velocities = NodalVelocities, .compliance = BCCompliance_Private, .impulse = BCImpulse_Private, .conserve = BCConserve_Private,
};
