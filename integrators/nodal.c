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
  PetscFunctionReturn(0);
}

PetscErrorCode NodalDestroy(Nodal *nodal)
{
  PetscFunctionBeginUser;
  PetscCall(SIMDFree(&nodal->qh));
  PetscCall(PetscFree6(nodal->a, nodal->v, nodal->J, nodal->L, nodal->P, nodal->T));
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

PetscErrorCode NodalCorrect(Batch batch, const Stage *stage, Nodal *nodal)
{
  const PetscInt   nn = batch->part->nnode;
  const PetscReal  h = stage->h, M = batch->part->total, sm = 1 + 0.5 * batch->alpha * h;
  PetscReal        F[3 * LANES_MAX] = {0}, T[3 * LANES_MAX] = {0}, p[3 * LANES_MAX], shift[3 * LANES_MAX], turn[3 * LANES_MAX], fu[LANES_MAX] = {0}, fdu[LANES_MAX] = {0};

  PetscFunctionBeginUser;
  for (PetscInt g = 0; g < batch->ngroup; g++) {
    const PetscInt   w = BatchGroupWidth(batch, g), at = g * batch->w, off = at * batch->nq;
    PetscReal       *q = batch->q + off, *u = batch->u + off, *du = batch->du + off;
    const PetscReal *qh = nodal->qh + off, *a = nodal->a + 3 * at, *v = nodal->v + 3 * at, *L = nodal->L + 3 * at, *f = batch->force ? batch->force + off : NULL;

    if (f) {
      LanesForceSums(nn, w, f, qh, a, F, T);
      LanesDot(nn, w, NULL, f, u, fu);
    }
    if (batch->conserve) {
      /* sum m du and sum (x - a) x m du as Newton and Euler have them, whatever the scheme and round-off made of them */
      PetscReal *P = nodal->P + 3 * at, *Q = nodal->T + 3 * at;

      for (PetscInt c = 0; c < 3; c++)
        for (PetscInt l = 0; l < w; l++) {
          P[c * w + l] = (h * (F[c * w + l] + M * stage->gravity[c]) - h * batch->alpha * M * v[c * w + l]) / sm;
          Q[c * w + l] = (h * T[c * w + l] - h * batch->alpha * L[c * w + l]) / sm;
        }
      LanesMomentum(nn, w, batch->part->mass, M, qh, a, nodal->J + 6 * at, P, Q, du, shift, turn);
    }
    LanesAdvance(nn, w, batch->part->mass, 0.5 * h, qh, a, batch->conserve ? shift : NULL, turn, du, u, q, p); /* (17), (31) */
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
