#include "nodal.h"
#include "physics/simd.h"
#include "physics/rotation.h"

PetscInt NodalSize(Part part)
{
  return 3 * part->nnode;
}

PetscErrorCode NodalSetUp(Batch batch, Nodal *nodal)
{
  const PetscInt lanes = batch->lanes;

  PetscFunctionBeginUser;
  batch->nq = batch->nu = 3 * batch->part->nnode;
  PetscCall(SIMDCalloc((size_t)lanes * batch->nq, &nodal->qh));
  PetscCall(PetscCalloc6(3 * lanes, &nodal->a, 3 * lanes, &nodal->v, 6 * lanes, &nodal->J, 3 * lanes, &nodal->L, 3 * lanes, &nodal->P, 3 * lanes, &nodal->T));
  PetscCall(PetscCalloc2(6 * lanes, &nodal->given, 3 * lanes, &nodal->owed));
  PetscFunctionReturn(0);
}

PetscErrorCode NodalDestroy(Nodal *nodal)
{
  PetscFunctionBeginUser;
  PetscCall(SIMDFree(&nodal->qh));
  PetscCall(PetscFree6(nodal->a, nodal->v, nodal->J, nodal->L, nodal->P, nodal->T));
  PetscCall(PetscFree2(nodal->given, nodal->owed));
  PetscCall(PetscFree(nodal->work));
  PetscFunctionReturn(0);
}

PetscErrorCode NodalStart(Batch batch, PetscInt d, Body body)
{
  const Body       like = body ? body : batch->domain[0].body; /* padding: the first body at rest */
  const PetscReal *X    = batch->part->X;

  PetscFunctionBeginUser;
  for (PetscInt i = 0; i < batch->part->nnode; i++) {
    PetscReal x[3], v[3] = {0, 0, 0};

    Mat3Vec(like->rotation, &X[3 * i], x);
    if (body) {
      Vec3Cross(body->spin, x, v);
      for (PetscInt c = 0; c < 3; c++) v[c] += body->velocity[c];
    }
    for (PetscInt c = 0; c < 3; c++) {
      batch->q[BatchIndex(batch, batch->nq, d, 3 * i + c)] = x[c];
      batch->u[BatchIndex(batch, batch->nu, d, 3 * i + c)] = v[c];
    }
  }
  PetscFunctionReturn(0);
}

PetscErrorCode NodalPredict(Batch batch, const Stage *stage, PetscInt g, Nodal *nodal, const PetscReal *weight, PetscReal *F)
{
  const PetscInt   nn = batch->part->nnode, w = BatchGroupWidth(batch, g), at = g * batch->w, off = at * batch->nq;
  const PetscReal *q = batch->q + off, *u = batch->u + off;
  PetscReal       *qh = nodal->qh + off, *a = nodal->a + 3 * at, *v = nodal->v + 3 * at, *J = nodal->J + 6 * at, *L = nodal->L + 3 * at;
  PetscReal        omega[3 * LANES_MAX], rg2[LANES_MAX];

  PetscFunctionBeginUser;
  if (g == 0) {
    batch->indicator      = 0;
    batch->indicator_lane = 0;
    PetscCall(NodalBegin(batch, nodal)); /* here, not after a step: one that is cut is predicted again */
  }
  LanesHalf(nn, w, batch->part->mass, batch->part->total, 0.5 * stage->h, q, u, qh, a, v); /* (10), (24) */
  LanesMoments(nn, w, batch->part->mass, qh, a, u, weight, J, L, F);
  /* The explicit half step strains a spinning body by (h omega)^2/8: trouble from c h^2 omega / r_g = 0.3 on. */
  LanesSpin(w, J, L, omega, rg2);
  for (PetscInt l = 0; l < w && at + l < batch->n; l++) {
    const PetscReal spin = PetscSqrtReal(omega[l] * omega[l] + omega[w + l] * omega[w + l] + omega[2 * w + l] * omega[2 * w + l]);
    const PetscReal ind  = spin > 0 ? batch->part->wave * stage->h * stage->h * spin / PetscSqrtReal(rg2[l] / batch->part->total) : 0;

    if (ind > batch->indicator) {
      batch->indicator      = ind;
      batch->indicator_lane = at + l;
    }
  }
  PetscFunctionReturn(0);
}

/* Sums of the loads' forces and moments about the mass centre, of group g */
static void NodalLoadSums_Private(Batch batch, PetscInt g, const Nodal *nodal, PetscReal *F, PetscReal *T)
{
  const PetscInt w = BatchGroupWidth(batch, g), at = g * batch->w, off = at * batch->nq;

  if (batch->force) LanesForceSums(batch->part->nnode, w, batch->force + off, nodal->qh + off, nodal->a + 3 * at, F, T);
  else
    for (PetscInt i = 0; i < 3 * w; i++) F[i] = T[i] = 0;
}

/* Momentum that du of group g should have, with what rows did not give in the last step */
static void NodalTargets_Private(Batch batch, const Stage *stage, PetscInt g, Nodal *nodal)
{
  const PetscInt   w = BatchGroupWidth(batch, g), at = g * batch->w;
  const PetscReal  h = stage->h, M = batch->part->total, sm = 1 + 0.5 * batch->alpha * h, *v = nodal->v + 3 * at, *L = nodal->L + 3 * at;
  PetscReal       *P = nodal->P + 3 * at, *Q = nodal->T + 3 * at, *given = nodal->given + 6 * at, *owed = nodal->owed + 3 * at, F[3 * LANES_MAX], T[3 * LANES_MAX];

  NodalLoadSums_Private(batch, g, nodal, F, T);
  for (PetscInt c = 0; c < 3; c++)
    for (PetscInt l = 0; l < w; l++) {
      P[c * w + l] = (h * (F[c * w + l] + M * stage->gravity[c]) - h * batch->alpha * M * v[c * w + l] + given[c * w + l]) / sm;
      Q[c * w + l] = (h * T[c * w + l] - h * batch->alpha * L[c * w + l] + given[(3 + c) * w + l]) / sm + owed[c * w + l];
    }
}

/* What to add to du of group g for it: shift + turn x (qh - a) */
static void NodalMomentumOf_Private(Batch batch, const Stage *stage, PetscInt g, Nodal *nodal, PetscReal *shift, PetscReal *turn)
{
  const PetscInt   w = BatchGroupWidth(batch, g), at = g * batch->w, off = at * batch->nq;
  const PetscReal  M = batch->part->total, *P = nodal->P + 3 * at, *Q = nodal->T + 3 * at;

  NodalTargets_Private(batch, stage, g, nodal);
  LanesMomentum(batch->part->nnode, w, batch->part->mass, M, nodal->qh + off, nodal->a + 3 * at, nodal->J + 6 * at, P, Q, batch->du + off, shift, turn);
}

PetscErrorCode NodalConserve(Batch batch, const Stage *stage, Nodal *nodal)
{
  PetscFunctionBeginUser;
  if (!batch->conserve) PetscFunctionReturn(0);
  for (PetscInt g = 0; g < batch->ngroup; g++) {
    const PetscInt   w = BatchGroupWidth(batch, g), at = g * batch->w, off = at * batch->nq;
    PetscReal        shift[3 * LANES_MAX], turn[3 * LANES_MAX];

    NodalMomentumOf_Private(batch, stage, g, nodal, shift, turn);
    LanesTwist(batch->part->nnode, w, nodal->qh + off, nodal->a + 3 * at, shift, turn, batch->du + off);
  }
  nodal->conserved = PETSC_TRUE;
  PetscFunctionReturn(0);
}

PetscErrorCode NodalBegin(Batch batch, Nodal *nodal)
{
  PetscFunctionBeginUser;
  nodal->conserved = PETSC_FALSE;
  PetscCall(PetscArrayzero(nodal->given, 6 * batch->lanes));
  PetscFunctionReturn(0);
}

PetscErrorCode NodalAddOwed(Batch batch, PetscInt g, const Nodal *nodal, PetscReal s, PetscReal *r)
{
  const PetscInt   w = BatchGroupWidth(batch, g), at = g * batch->w;
  const PetscReal *x = nodal->qh + at * batch->nq, *a = nodal->a + 3 * at;
  PetscReal        turn[3 * LANES_MAX], rg2[LANES_MAX];

  PetscFunctionBeginUser;
  LanesSpin(w, nodal->J + 6 * at, nodal->owed + 3 * at, turn, rg2);
  for (PetscInt i = 0; i < batch->part->nnode; i++)
    for (PetscInt l = 0; l < w; l++) {
      const PetscReal t[3] = {turn[l], turn[w + l], turn[2 * w + l]}, y[3] = {x[3 * i * w + l] - a[l], x[(3 * i + 1) * w + l] - a[w + l], x[(3 * i + 2) * w + l] - a[2 * w + l]};
      PetscReal       v[3];

      Vec3Cross(t, y, v);
      for (PetscInt c = 0; c < 3; c++) r[(3 * i + c) * w + l] += s * batch->part->mass[i] * v[c];
    }
  PetscFunctionReturn(0);
}

PetscErrorCode NodalForget(Batch batch, Nodal *nodal)
{
  PetscFunctionBeginUser;
  PetscCall(PetscArrayzero(nodal->owed, 3 * batch->lanes));
  PetscFunctionReturn(0);
}

PetscErrorCode NodalNodes(Batch batch, PetscInt d, const Nodal *nodal, PetscInt n, const PetscInt node[], PetscReal x[], PetscReal v[])
{
  const PetscInt   w = BatchGroupWidth(batch, d / batch->w), first = BatchIndex(batch, batch->nq, d, 0);
  const PetscReal *qh = nodal->qh + first, *u = batch->u + first;

  PetscFunctionBeginUser;
  for (PetscInt i = 0; i < n; i++)
    for (PetscInt c = 0; c < 3; c++) {
      x[3 * i + c] = qh[(3 * node[i] + c) * w];
      v[3 * i + c] = u[(3 * node[i] + c) * w];
    }
  PetscFunctionReturn(0);
}

PetscErrorCode NodalVelocities(Batch batch, PetscInt d, const Stage *stage, PetscInt n, const MaterialPoint *const p[], PetscBool end, PetscReal v[])
{
  const PetscInt   w = BatchGroupWidth(batch, d / batch->w), first = BatchIndex(batch, batch->nu, d, 0);
  const PetscReal *u = batch->u + first, *du = batch->du + first;

  PetscFunctionBeginUser;
  (void)stage;
  for (PetscInt i = 0; i < n; i++)
    for (PetscInt c = 0; c < 3; c++) {
      PetscReal s = 0;

      for (PetscInt a = 0; a < p[i]->nnode; a++) {
        const PetscInt j = (3 * p[i]->node[a] + c) * w;

        s += p[i]->N[a] * (end ? u[j] + du[j] : u[j]);
      }
      v[3 * i + c] = s;
    }
  PetscFunctionReturn(0);
}

PetscErrorCode NodalGive(Batch batch, PetscInt d, Nodal *nodal, PetscInt n, const MaterialPoint *const p[], const PetscReal P[])
{
  const PetscInt   w = BatchGroupWidth(batch, d / batch->w), at = d / batch->w * batch->w, lane = d - at, first = BatchIndex(batch, batch->nq, d, 0);
  const PetscReal *qh = nodal->qh + first, *a = nodal->a + 3 * at + lane;
  PetscReal       *given = nodal->given + 6 * at + lane;

  PetscFunctionBeginUser;
  for (PetscInt i = 0; i < n; i++) {
    PetscReal r[3], t[3];

    for (PetscInt c = 0; c < 3; c++) {
      r[c] = 0;
      for (PetscInt k = 0; k < p[i]->nnode; k++) r[c] += p[i]->N[k] * (qh[(3 * p[i]->node[k] + c) * w] - a[c * w]);
    }
    Vec3Cross(r, P + 3 * i, t);
    for (PetscInt c = 0; c < 3; c++) {
      given[c * w] += P[3 * i + c];
      given[(3 + c) * w] += t[c];
    }
  }
  PetscFunctionReturn(0);
}

/* Room for n numbers */
static PetscErrorCode NodalWork_Private(Nodal *nodal, PetscInt n, PetscReal **work)
{
  PetscFunctionBeginUser;
  if (n > nodal->mwork) {
    nodal->mwork = n + n / 2;
    PetscCall(PetscFree(nodal->work));
    PetscCall(PetscMalloc1(nodal->mwork, &nodal->work));
  }
  *work = nodal->work;
  PetscFunctionReturn(0);
}

PetscErrorCode NodalCompliance(Nodal *nodal, Compliance c, const PetscReal R[9], PetscInt n, const MaterialPoint *const p[], const PetscReal frame[], PetscReal W[])
{
  PetscReal *G;

  PetscFunctionBeginUser;
  PetscCall(NodalWork_Private(nodal, 9 * n, &G));
  for (PetscInt i = 0; i < n; i++) Mat3Mult(frame + 9 * i, R, G + 9 * i);
  PetscCall(CompliancePoints(c, n, p, W));
  for (PetscInt i = 0; i < n; i++)
    for (PetscInt j = i; j < n; j++) {
      PetscReal *w = W + 9 * (n * i + j), *t = W + 9 * (n * j + i), A[9], B[9];

      Mat3Mult(G + 9 * i, w, A);
      Mat3MultTransposeRight(A, G + 9 * j, B); /* by rows; W wants columns */
      for (PetscInt k = 0; k < 3; k++)
        for (PetscInt l = 0; l < 3; l++) {
          w[3 * l + k] = B[3 * k + l];
          t[3 * k + l] = B[3 * k + l];
        }
    }
  PetscFunctionReturn(0);
}

PetscErrorCode NodalImpulse(Batch batch, PetscInt d, Nodal *nodal, Compliance c, const PetscReal R[9], PetscInt n, const MaterialPoint *const p[], const PetscReal P[])
{
  const PetscInt nn = batch->part->nnode, w = BatchGroupWidth(batch, d / batch->w);
  PetscReal     *du = batch->du + BatchIndex(batch, batch->nu, d, 0), *f, *y;

  PetscFunctionBeginUser;
  PetscCall(NodalWork_Private(nodal, 3 * (n + nn), &f));
  y = f + 3 * n;
  PetscCall(PetscArrayzero(y, 3 * nn));
  for (PetscInt i = 0; i < n; i++) Mat3TransposeVec(R, P + 3 * i, f + 3 * i);
  PetscCall(ComplianceApply(c, n, p, f, 1, y));
  for (PetscInt i = 0; i < nn; i++) {
    PetscReal v[3];

    Mat3Vec(R, y + 3 * i, v);
    for (PetscInt k = 0; k < 3; k++) du[(3 * i + k) * w] += v[k];
  }
  PetscCall(NodalGive(batch, d, nodal, n, p, P));
  PetscFunctionReturn(0);
}

PetscErrorCode NodalCorrect(Batch batch, const Stage *stage, Nodal *nodal)
{
  const PetscInt  nn = batch->part->nnode;
  const PetscReal h = stage->h, M = batch->part->total;
  const PetscBool now = batch->conserve && !nodal->conserved ? PETSC_TRUE : PETSC_FALSE;
  PetscReal       p[3 * LANES_MAX], shift[3 * LANES_MAX], turn[3 * LANES_MAX], fu[LANES_MAX] = {0}, fdu[LANES_MAX] = {0};

  PetscFunctionBeginUser;
  for (PetscInt g = 0; g < batch->ngroup; g++) {
    const PetscInt   w = BatchGroupWidth(batch, g), at = g * batch->w, off = at * batch->nq;
    PetscReal       *q = batch->q + off, *u = batch->u + off, *du = batch->du + off;
    const PetscReal *qh = nodal->qh + off, *a = nodal->a + 3 * at, *v = nodal->v + 3 * at, *f = batch->force ? batch->force + off : NULL;

    if (f) LanesDot(nn, w, NULL, f, u, fu);
    if (now) {
      NodalMomentumOf_Private(batch, stage, g, nodal, shift, turn);
      for (PetscInt i = 0; i < 3 * w; i++) nodal->owed[3 * at + i] = 0;
    } else if (batch->conserve) {
      /* The increment by rows' impulses is that of the undeformed body, so that the laws of the rows hold to the last digit; the little that its
         angular momentum lacks is given in the next step. */
      PetscReal J[6 * LANES_MAX], L[3 * LANES_MAX];

      NodalTargets_Private(batch, stage, g, nodal);
      LanesMoments(nn, w, batch->part->mass, qh, a, du, NULL, J, L, NULL);
      for (PetscInt i = 0; i < 3 * w; i++) nodal->owed[3 * at + i] = nodal->T[3 * at + i] - L[i];
    }
    LanesAdvance(nn, w, batch->part->mass, 0.5 * h, qh, a, now ? shift : NULL, turn, du, u, q, p); /* (17), (31) */
    if (f) LanesDot(nn, w, NULL, f, du, fdu); /* of the increment as it is now */
    for (PetscInt l = 0; l < w && at + l < batch->n; l++) {
      PetscReal work = fu[l] + 0.5 * fdu[l], sum = 0;

      for (PetscInt c = 0; c < 3; c++) {
        work += stage->gravity[c] * (M * v[c * w + l] + 0.5 * p[c * w + l]);
        sum += p[c * w + l];
      }
      batch->ledger[(at + l) * LEDGER_SIZE + LEDGER_EXTERNAL] += h * work;
      if (PetscIsInfOrNanReal(sum) && batch->bad_lane < 0) batch->bad_lane = at + l;
    }
  }
  PetscFunctionReturn(0);
}

PetscErrorCode NodalPoint(Batch batch, PetscInt d, const MaterialPoint *point, PetscReal t, PetscReal x[3], PetscReal v[3])
{
  PetscFunctionBeginUser;
  (void)t;
  for (PetscInt c = 0; c < 3; c++) {
    PetscReal s = 0;

    v[c] = 0;
    for (PetscInt a = 0; a < point->nnode; a++) {
      const PetscInt j = BatchIndex(batch, batch->nq, d, 3 * point->node[a] + c);

      s += point->N[a] * batch->q[j];
      v[c] += point->N[a] * batch->u[j];
    }
    x[c] = batch->domain[d].body->origin[c] + s;
  }
  PetscFunctionReturn(0);
}

PetscErrorCode NodalAddForce(Batch batch, PetscInt d, const MaterialPoint *point, const PetscReal f[3])
{
  PetscFunctionBeginUser;
  for (PetscInt a = 0; a < point->nnode; a++)
    for (PetscInt c = 0; c < 3; c++) batch->force[BatchIndex(batch, batch->nu, d, 3 * point->node[a] + c)] += point->N[a] * f[c];
  PetscFunctionReturn(0);
}

PetscErrorCode NodalMomentum(Batch batch, PetscInt d, PetscReal p[3], PetscReal l[3])
{
  PetscFunctionBeginUser;
  for (PetscInt c = 0; c < 3; c++) p[c] = l[c] = 0;
  for (PetscInt i = 0; i < batch->part->nnode; i++) {
    PetscReal x[3], mv[3], xv[3];

    for (PetscInt c = 0; c < 3; c++) {
      x[c]  = batch->q[BatchIndex(batch, batch->nq, d, 3 * i + c)];
      mv[c] = batch->part->mass[i] * batch->u[BatchIndex(batch, batch->nu, d, 3 * i + c)];
    }
    Vec3Cross(x, mv, xv);
    for (PetscInt c = 0; c < 3; c++) {
      p[c] += mv[c];
      l[c] += xv[c];
    }
  }
  PetscFunctionReturn(0);
}

PetscErrorCode NodalKinetic(Batch batch, PetscInt g, const PetscReal uu[], PetscReal kinetic[], PetscReal massdamping[])
{
  const PetscInt   w = BatchGroupWidth(batch, g), nn = batch->part->nnode, off = g * batch->w * batch->nu;
  const PetscReal *m = batch->part->mass, *u = batch->u + off, *du = batch->du + off;
  PetscReal        ud[LANES_MAX], dd[LANES_MAX];

  PetscFunctionBeginUser;
  for (PetscInt l = 0; l < w; l++) {
    kinetic[l]     = 0.5 * uu[l];
    massdamping[l] = 0;
  }
  if (batch->alpha != 0) {
    LanesDot(nn, w, m, u, du, ud);
    LanesDot(nn, w, m, du, du, dd);
    for (PetscInt l = 0; l < w; l++) massdamping[l] = batch->alpha * (uu[l] - ud[l] + 0.25 * dd[l]);
  }
  PetscFunctionReturn(0);
}

PetscErrorCode NodalChange(Batch batch, const Stage *stage, const PetscReal *r, PetscReal *change)
{
  const PetscInt  n     = batch->lanes * batch->nu;
  const PetscReal floor = 32 * PETSC_MACHINE_EPSILON * batch->part->radius;
  PetscReal       rm = 0, dm = 0;

  PetscFunctionBeginUser;
  for (PetscInt i = 0; i < n; i++) {
    rm = PetscMax(rm, PetscAbsReal(r[i]));
    dm = PetscMax(dm, PetscAbsReal(batch->du[i]));
  }
  *change = dm > 0 && !(0.25 * PetscAbsReal(stage->h) * rm <= floor) ? rm / dm : 0;
  PetscFunctionReturn(0);
}
