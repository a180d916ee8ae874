/* tl: total Lagrangian formulation (section 3 of the co-rotated integrators report, equations 10 to 17). The tangent at the half
   step is assembled and factored in every step. With material `linear` it is the constant stiffness in the placed frame. */
#include "nodal.h"
#include "formulations.h"
#include "physics/rotation.h"

typedef struct {
  Nodal      nodal;
  Factor    *factor;      /* one per domain, since its operator is its own; not with a linear material */
  Factor     constant;    /* linear material: of the part */
  PetscReal *k;           /* tangent, then operator, of the domain at work */
  PetscReal *x, *um, *f;  /* of the domain at work: configuration, velocity u + du/2, internal force */
  PetscReal *r, *ku;      /* per domain: right-hand side then solution; K (u + du/2) */
  PetscReal *r0;          /* per domain: right-hand side kept for the work of damping */
} TL;

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
  if (part->elastic.linear) batch->conserve = PETSC_FALSE;
  PetscCall(PetscMalloc4(9 * part->pattern.ia[part->pattern.nb], &tl->k, n, &tl->x, n, &tl->um, n, &tl->f));
  PetscCall(PetscCalloc3(n * batch->n, &tl->r, n * batch->n, &tl->ku, n * batch->n, &tl->r0));
  PetscCall(PetscCalloc1(batch->n, &tl->factor));
  PetscFunctionReturn(0);
}

static PetscErrorCode TLDestroy_Private(Batch batch)
{
  TL *tl = (TL *)batch->data;

  PetscFunctionBeginUser;
  PetscCall(NodalDestroy(&tl->nodal));
  for (PetscInt d = 0; d < batch->n; d++) PetscCall(FactorDestroy(&tl->factor[d]));
  PetscCall(PetscFree(tl->factor));
  PetscCall(PetscFree4(tl->k, tl->x, tl->um, tl->f));
  PetscCall(PetscFree3(tl->r, tl->ku, tl->r0));
  PetscCall(PetscFree(batch->data));
  PetscFunctionReturn(0);
}

static PetscErrorCode TLPredict_Private(Batch batch, const Stage *stage)
{
  PetscFunctionBeginUser;
  for (PetscInt d = 0; d < batch->n; d++) PetscCall(NodalPredict(batch, stage, d, &((TL *)batch->data)->nodal, NULL, NULL));
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

static PetscErrorCode TLLinearize_Private(Batch batch, const Stage *stage)
{
  TL             *tl   = (TL *)batch->data;
  Part            part = batch->part;
  const PetscInt  n = 3 * part->nnode, iteration = stage->iteration;
  const PetscReal h = stage->h;

  PetscFunctionBeginUser;
  if (!iteration) PetscCall(PetscArrayzero(batch->du, n * batch->n));
  if (part->elastic.linear) PetscCall(PartGetFactor(part, stage->sm, stage->sk, &tl->constant));
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
      PetscBool        definite;
      const PetscReal *um = tl->um;

      PetscCall(AssemblyTangent(part->assembly, &part->elastic, x, 1, tl->k, tl->f));
      if (batch->eta != 0) PetscCall(BlockProduct(&part->pattern, tl->k, 1, 1, &um, &ku));
      PetscCall(PartShift(part, stage->sm, stage->sk, tl->k, tl->k));
      if (!tl->factor[d]) PetscCall(PartCreateFactor(part, &tl->factor[d]));
      PetscCall(FactorSetValues(tl->factor[d], tl->k, &definite));
      if (!definite) batch->nindefinite++;
    }
    for (PetscInt i = 0; i < part->nnode; i++)
      for (PetscInt c = 0; c < 3; c++) {
        const PetscInt j = 3 * i + c;

        /* (13); when iterated, minus what du has taken up already */
        r[j] = h * ((force ? force[j] : 0) - tl->f[j] - (batch->eta != 0 ? batch->eta * ku[j] : 0)) + part->mass[i] * (h * stage->gravity[c] - h * batch->alpha * u[j] - stage->sm * du[j]);
      }
    if (!iteration) PetscCall(PetscArraycpy(tl->r0 + d * n, r, n));
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
    } else PetscCall(FactorSolve(tl->factor[d], 1, r)); /* (14) */
    LanesAXPY(n, 1, 1, r, du, du);
    if (batch->eta != 0 && !stage->implicit) {
      /* K (u + du/2) for the work of damping, without a product: K du = (r0 - sm M du) / sk */
      PetscReal *ku = tl->ku + d * n, *r0 = tl->r0 + d * n;

      for (PetscInt i = 0; i < n; i++) ku[i] += 0.5 * (r0[i] - stage->sm * batch->part->mass[i / 3] * du[i]) / stage->sk;
    }
  }
  if (stage->implicit) PetscCall(NodalChange(batch, stage, tl->r, change));
  PetscFunctionReturn(0);
}

static PetscErrorCode TLCorrect_Private(Batch batch, const Stage *stage)
{
  PetscFunctionBeginUser;
  PetscCall(NodalCorrect(batch, stage, &((TL *)batch->data)->nodal));
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
  .name = "tl", .help = "total Lagrangian: large strains and rotations, the tangent is factored in every step", .code = 3, .elastic = PETSC_TRUE, .reach = 0.45, .size = NodalSize, .setup = TLSetUp_Private,
  .destroy = TLDestroy_Private, .start = NodalStart, .predict = TLPredict_Private, .linearize = TLLinearize_Private, .solve = TLSolve_Private, .correct = TLCorrect_Private,
  .energies = TLEnergies_Private, .point = NodalPoint, .addforce = NodalAddForce, .stress = TLStress_Private, .momentum = NodalMomentum,
};
