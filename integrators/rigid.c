/* rigid: half drift, kick, half drift with the angular momentum L as state. The drift is the discrete Moser-Veselov map (exact L and
   energy in free flight); where a step turns the body too far for it, the explicit splitting. q: mass centre (3), Lambda (9); u: v (3), L (3). */
#include "formulations.h"
#include "rigid_drift.h"
#include "physics/rotation.h"
#include <petscblaslapack.h>

typedef struct {
  PetscReal  moment[3], axes[9]; /* principal, for the splitting */
  PetscReal  inverse[9];         /* of the inertia, in the body's frame */
  PetscReal  root[3];            /* of 1 / (sm moment) */
  PetscReal  sm;                 /* of this step */
  PetscReal *qh;
  PetscInt   capacity;
  PetscReal *work;
} Rigid;

static PetscInt RigidSize_Private(Part part)
{
  (void)part;
  return 6;
}

static PetscErrorCode RigidSetUp_Private(Batch batch)
{
  Rigid       *rigid;
  PetscReal    A[9], work[30];
  PetscBLASInt n = 3, lwork = 30, info;

  PetscFunctionBeginUser;
  PetscCall(PetscNew(&rigid));
  batch->data = rigid;
  batch->nq   = 12;
  batch->nu   = 6;
  PetscCall(PetscMalloc1(12 * batch->n, &rigid->qh));
  PetscCheck(Mat3Inverse(batch->part->inertia, rigid->inverse), PETSC_COMM_SELF, PETSC_ERR_USER_INPUT, "%s: a rigid body needs a mesh with volume", batch->part->name);
  PetscCall(PetscArraycpy(A, batch->part->inertia, 9));
  PetscCallBLAS("LAPACKsyev", LAPACKsyev_("V", "U", &n, A, &n, rigid->moment, work, &lwork, &info));
  PetscCheck(!info, PETSC_COMM_SELF, PETSC_ERR_LIB, "LAPACK syev failed with %d", (int)info);
  for (PetscInt i = 0; i < 3; i++)
    for (PetscInt j = 0; j < 3; j++) rigid->axes[3 * i + j] = A[3 * j + i]; /* LAPACK's columns */
  PetscFunctionReturn(0);
}

static PetscErrorCode RigidDestroy_Private(Batch batch)
{
  PetscFunctionBeginUser;
  PetscCall(PetscFree(((Rigid *)batch->data)->qh));
  PetscCall(PetscFree(((Rigid *)batch->data)->work));
  PetscCall(PetscFree(batch->data));
  PetscFunctionReturn(0);
}

/* omega = Lambda J^-1 Lambda^T L */
static void RigidSpin_Private(const Rigid *rigid, const PetscReal Lambda[9], const PetscReal L[3], PetscReal omega[3])
{
  PetscReal a[3], b[3];

  Mat3TransposeVec(Lambda, L, a);
  Mat3Vec(rigid->inverse, a, b);
  Mat3Vec(Lambda, b, omega);
}

static PetscErrorCode RigidStart_Private(Batch batch, PetscInt d, Body body)
{
  PetscReal *q = batch->q + 12 * d, *u = batch->u + 6 * d, w[3], l[3];

  PetscFunctionBeginUser;
  for (PetscInt c = 0; c < 3; c++) {
    q[c] = 0;
    u[c] = body->velocity[c];
  }
  PetscCall(PetscArraycpy(q + 3, body->rotation, 9));
  Mat3TransposeVec(body->rotation, body->spin, w);
  Mat3Vec(batch->part->inertia, w, l);
  Mat3Vec(body->rotation, l, u + 3);
  PetscFunctionReturn(0);
}

static PetscErrorCode RigidDrift_Private(Batch batch, const PetscReal L[3], PetscReal tau, PetscReal Lambda[9])
{
  const Rigid *rigid = (Rigid *)batch->data;
  PetscBool    ok;

  PetscFunctionBeginUser;
  PetscCall(RotationDriftDMV(batch->part->inertia, L, tau, Lambda, &ok));
  if (!ok) PetscCall(RotationDriftSplit(rigid->moment, rigid->axes, L, tau, Lambda));
  PetscFunctionReturn(0);
}

static PetscErrorCode RigidPredict_Private(Batch batch, const Stage *stage)
{
  Rigid *rigid = (Rigid *)batch->data;

  PetscFunctionBeginUser;
  for (PetscInt d = 0; d < batch->n; d++) {
    const PetscReal *q = batch->q + 12 * d, *u = batch->u + 6 * d;
    PetscReal       *qh = rigid->qh + 12 * d;

    PetscCall(PetscArraycpy(qh, q, 12));
    for (PetscInt c = 0; c < 3; c++) qh[c] += 0.5 * stage->h * u[c];
    PetscCall(RigidDrift_Private(batch, u + 3, 0.5 * stage->h, qh + 3));
  }
  PetscFunctionReturn(0);
}

static PetscErrorCode RigidLinearize_Private(Batch batch, const Stage *stage)
{
  const PetscReal h = stage->h;

  PetscFunctionBeginUser;
  for (PetscInt d = 0; d < batch->n; d++) {
    const PetscReal *u = batch->u + 6 * d, *f = batch->force ? batch->force + 6 * d : NULL;
    PetscReal       *du = batch->du + 6 * d;

    for (PetscInt c = 0; c < 3; c++) {
      du[c]     = h * ((f ? f[c] : 0) / batch->part->total + stage->gravity[c] - batch->alpha * u[c]);
      du[3 + c] = h * ((f ? f[3 + c] : 0) - batch->alpha * u[3 + c]);
    }
  }
  PetscFunctionReturn(0);
}

/* A is diagonal in (v, L): only damping by mass divides. Nothing is left to iterate. */
static PetscErrorCode RigidSolve_Private(Batch batch, const Stage *stage, PetscReal *change)
{
  Rigid *rigid = (Rigid *)batch->data;

  PetscFunctionBeginUser;
  rigid->sm = stage->sm;
  for (PetscInt c = 0; c < 3; c++) rigid->root[c] = PetscSqrtReal(1 / (stage->sm * rigid->moment[c]));
  for (PetscInt i = 0; i < 6 * batch->n; i++) batch->du[i] /= stage->sm;
  *change = 0;
  PetscFunctionReturn(0);
}

static PetscErrorCode RigidCorrect_Private(Batch batch, const Stage *stage)
{
  Rigid          *rigid = (Rigid *)batch->data;
  const PetscReal h = stage->h, m = batch->part->total;

  PetscFunctionBeginUser;
  for (PetscInt d = 0; d < batch->n; d++) {
    PetscReal       *q = batch->q + 12 * d, *u = batch->u + 6 * d, *ledger = &batch->ledger[d * LEDGER_SIZE];
    const PetscReal *du = batch->du + 6 * d, *f = batch->force ? batch->force + 6 * d : NULL;
    PetscReal       *qh = rigid->qh + 12 * d, mean[6], omega[3], sum = 0;

    for (PetscInt c = 0; c < 6; c++) {
      mean[c] = u[c] + 0.5 * du[c];
      u[c] += du[c];
      sum += u[c];
    }
    RigidSpin_Private(rigid, qh + 3, mean + 3, omega);
    for (PetscInt c = 0; c < 3; c++) {
      ledger[LEDGER_EXTERNAL] += h * (mean[c] * ((f ? f[c] : 0) + m * stage->gravity[c]) + (f ? f[3 + c] * omega[c] : 0));
      ledger[LEDGER_DAMPING] -= h * batch->alpha * (m * mean[c] * mean[c] + mean[3 + c] * omega[c]);
    }
    PetscCall(RigidDrift_Private(batch, u + 3, 0.5 * h, qh + 3));
    for (PetscInt c = 0; c < 3; c++) q[c] = qh[c] + 0.5 * h * u[c];
    PetscCall(PetscArraycpy(q + 3, qh + 3, 9));
    if (PetscIsInfOrNanReal(sum + q[3]) && batch->bad_lane < 0) batch->bad_lane = d;
  }
  PetscFunctionReturn(0);
}

static PetscErrorCode RigidEnergies_Private(Batch batch, const Stage *stage)
{
  PetscFunctionBeginUser;
  (void)stage;
  for (PetscInt d = 0; d < batch->n; d++) {
    const PetscReal *q = batch->q + 12 * d, *u = batch->u + 6 * d;
    PetscReal        omega[3];

    RigidSpin_Private((Rigid *)batch->data, q + 3, u + 3, omega);
    batch->ledger[d * LEDGER_SIZE + LEDGER_KINETIC]  = 0.5 * (batch->part->total * Vec3Dot(u, u) + Vec3Dot(omega, u + 3));
    batch->ledger[d * LEDGER_SIZE + LEDGER_INTERNAL] = 0;
  }
  PetscFunctionReturn(0);
}

static PetscErrorCode RigidPoint_Private(Batch batch, PetscInt d, const MaterialPoint *point, PetscReal t, PetscReal x[3], PetscReal v[3])
{
  const PetscReal *q = batch->q + 12 * d, *u = batch->u + 6 * d;
  PetscReal        r[3], omega[3];

  PetscFunctionBeginUser;
  (void)t;
  Mat3Vec(q + 3, point->X, r);
  RigidSpin_Private((Rigid *)batch->data, q + 3, u + 3, omega);
  Vec3Cross(omega, r, v);
  for (PetscInt c = 0; c < 3; c++) {
    x[c] = batch->domain[d].body->origin[c] + (q[c] + r[c]);
    v[c] += u[c];
  }
  PetscFunctionReturn(0);
}

static PetscErrorCode RigidAddForce_Private(Batch batch, PetscInt d, const MaterialPoint *point, const PetscReal f[3])
{
  const PetscReal *qh = ((Rigid *)batch->data)->qh + 12 * d;
  PetscReal        r[3], torque[3];

  PetscFunctionBeginUser;
  Mat3Vec(qh + 3, point->X, r);
  Vec3Cross(r, f, torque);
  for (PetscInt c = 0; c < 3; c++) {
    batch->force[6 * d + c] += f[c];
    batch->force[6 * d + 3 + c] += torque[c];
  }
  PetscFunctionReturn(0);
}

static PetscErrorCode RigidStress_Private(Batch batch, PetscInt d, PetscInt elem, const PetscReal xi[3], PetscReal sigma[6], PetscReal *mises)
{
  PetscFunctionBeginUser;
  (void)batch, (void)d, (void)elem, (void)xi;
  PetscCall(PetscArrayzero(sigma, 6));
  *mises = 0;
  PetscFunctionReturn(0);
}

static PetscErrorCode RigidMomentum_Private(Batch batch, PetscInt d, PetscReal p[3], PetscReal l[3])
{
  const PetscReal *q = batch->q + 12 * d, *u = batch->u + 6 * d;

  PetscFunctionBeginUser;
  for (PetscInt c = 0; c < 3; c++) p[c] = batch->part->total * u[c];
  Vec3Cross(q, p, l);
  for (PetscInt c = 0; c < 3; c++) l[c] += u[3 + c];
  PetscFunctionReturn(0);
}

static PetscErrorCode RigidPlacement_Private(Batch batch, PetscInt d, const Stage *stage, PetscReal R[9], PetscReal at[3], PetscReal v[3], PetscReal spin[3])
{
  const Rigid     *rigid = (Rigid *)batch->data;
  const PetscReal *qh = rigid->qh + 12 * d, *u = batch->u + 6 * d;

  PetscFunctionBeginUser;
  (void)stage;
  PetscCall(PetscArraycpy(R, qh + 3, 9));
  PetscCall(PetscArraycpy(at, qh, 3));
  PetscCall(PetscArraycpy(v, u, 3));
  RigidSpin_Private(rigid, qh + 3, u + 3, spin);
  PetscFunctionReturn(0);
}

static PetscErrorCode RigidVelocities_Private(Batch batch, PetscInt d, const Stage *stage, PetscInt n, const MaterialPoint *const p[], PetscBool end, PetscReal v[])
{
  const Rigid     *rigid = (Rigid *)batch->data;
  const PetscReal *R = rigid->qh + 12 * d + 3, *u = batch->u + 6 * d, *du = batch->du + 6 * d;
  PetscReal        twist[6], omega[3];

  PetscFunctionBeginUser;
  (void)stage;
  for (PetscInt c = 0; c < 6; c++) twist[c] = end ? u[c] + du[c] : u[c];
  RigidSpin_Private(rigid, R, twist + 3, omega);
  for (PetscInt i = 0; i < n; i++) {
    PetscReal r[3], w[3];

    Mat3Vec(R, p[i]->X, r);
    Vec3Cross(omega, r, w);
    for (PetscInt c = 0; c < 3; c++) v[3 * i + c] = twist[c] + w[c];
  }
  PetscFunctionReturn(0);
}

/* Each direction in the body's frame as six numbers times the root of the inverse mass matrix: (e, r x e) along the principal axes */
static PetscErrorCode RigidMotions_Private(Batch batch, PetscInt d, const Stage *stage, PetscInt n, const MaterialPoint *const p[], const PetscReal frame[], PetscReal F[])
{
  const Rigid     *rigid = (Rigid *)batch->data;
  const PetscReal *R = rigid->qh + 12 * d + 3, m = PetscSqrtReal(1 / (batch->part->total * rigid->sm));

  PetscFunctionBeginUser;
  (void)stage;
  for (PetscInt i = 0; i < n; i++)
    for (PetscInt k = 0; k < 3; k++) {
      PetscReal *f = F + 18 * i + k, e[3], t[3];

      Mat3TransposeVec(R, frame + 9 * i + 3 * k, e);
      Vec3Cross(p[i]->X, e, t);
      for (PetscInt c = 0; c < 3; c++) {
        f[3 * c]       = m * e[c];
        f[3 * (3 + c)] = (rigid->axes[c] * t[0] + rigid->axes[3 + c] * t[1] + rigid->axes[6 + c] * t[2]) * rigid->root[c];
      }
    }
  PetscFunctionReturn(0);
}

/* W_ij = (e_i.e_j / m + (r_i x e_i).J^-1 (r_j x e_j)) / sm, symmetric to the last bit */
static PetscErrorCode RigidCompliance_Private(Batch batch, PetscInt d, const Stage *stage, PetscInt n, const MaterialPoint *const p[], const PetscReal frame[], PetscReal W[])
{
  Rigid *rigid = (Rigid *)batch->data;

  PetscFunctionBeginUser;
  if (18 * n > rigid->capacity) {
    rigid->capacity = 36 * n;
    PetscCall(PetscFree(rigid->work));
    PetscCall(PetscMalloc1(rigid->capacity, &rigid->work));
  }
  PetscCall(RigidMotions_Private(batch, d, stage, n, p, frame, rigid->work));
  for (PetscInt i = 0; i < n; i++)
    for (PetscInt j = i; j < n; j++) {
      PetscReal *w = W + 9 * (n * i + j), *t = W + 9 * (n * j + i);

      for (PetscInt k = 0; k < 3; k++)
        for (PetscInt l = 0; l < 3; l++) {
          const PetscReal *a = rigid->work + 18 * i + k, *b = rigid->work + 18 * j + l;

          t[3 * k + l] = w[3 * l + k] = a[0] * b[0] + a[3] * b[3] + a[6] * b[6] + a[9] * b[9] + a[12] * b[12] + a[15] * b[15];
        }
    }
  PetscFunctionReturn(0);
}

static PetscErrorCode RigidImpulse_Private(Batch batch, PetscInt d, PetscInt n, const MaterialPoint *const p[], const PetscReal P[])
{
  const Rigid     *rigid = (Rigid *)batch->data;
  const PetscReal *R = rigid->qh + 12 * d + 3;
  PetscReal       *du = batch->du + 6 * d, sum[6] = {0};

  PetscFunctionBeginUser;
  for (PetscInt i = 0; i < n; i++) {
    PetscReal r[3], t[3];

    Mat3Vec(R, p[i]->X, r);
    Vec3Cross(r, P + 3 * i, t);
    for (PetscInt c = 0; c < 3; c++) {
      sum[c] += P[3 * i + c];
      sum[3 + c] += t[c];
    }
  }
  for (PetscInt c = 0; c < 3; c++) {
    du[c] += sum[c] / (batch->part->total * rigid->sm);
    du[3 + c] += sum[3 + c] / rigid->sm;
  }
  PetscFunctionReturn(0);
}

const FormulationOps FormulationRigid = {
  .name = "rigid", .help = "rigid: six unknowns; free flight keeps energy and momentum exactly", .code = 1, .size = RigidSize_Private, .setup = RigidSetUp_Private,
  .destroy = RigidDestroy_Private, .start = RigidStart_Private, .predict = RigidPredict_Private, .linearize = RigidLinearize_Private, .solve = RigidSolve_Private,
  .correct = RigidCorrect_Private, .energies = RigidEnergies_Private, .point = RigidPoint_Private, .addforce = RigidAddForce_Private, .stress = RigidStress_Private,
  .momentum = RigidMomentum_Private, .placement = RigidPlacement_Private, .velocities = RigidVelocities_Private, .compliance = RigidCompliance_Private, .motions = RigidMotions_Private, .impulse = RigidImpulse_Private,
};
