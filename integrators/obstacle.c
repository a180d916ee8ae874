/* obstacle: no unknowns. It stays, moves at its given velocity and spin, or follows prescribed functions of time. */
#include "formulations.h"
#include "physics/rotation.h"

typedef struct {
  PetscReal h; /* length of a step: the time in which prescribed functions change little */
} Obstacle;

static PetscErrorCode ObstacleSetUp_Private(Batch batch)
{
  PetscFunctionBeginUser;
  batch->nq = batch->nu = 0;
  PetscCall(PetscNew((Obstacle **)&batch->data));
  PetscFunctionReturn(0);
}

static PetscErrorCode ObstacleDestroy_Private(Batch batch)
{
  PetscFunctionBeginUser;
  PetscCall(PetscFree(batch->data));
  PetscFunctionReturn(0);
}

static PetscErrorCode ObstacleStart_Private(Batch batch, PetscInt d, Body body)
{
  PetscFunctionBeginUser;
  (void)batch, (void)d, (void)body;
  PetscFunctionReturn(0);
}

static PetscErrorCode ObstacleSetStep_Private(Batch batch, const Stage *stage)
{
  PetscFunctionBeginUser;
  ((Obstacle *)batch->data)->h = stage->h;
  PetscFunctionReturn(0);
}

static PetscErrorCode ObstacleNothing_Private(Batch batch, const Stage *stage)
{
  PetscFunctionBeginUser;
  (void)batch, (void)stage;
  PetscFunctionReturn(0);
}

static PetscErrorCode ObstacleSolve_Private(Batch batch, const Stage *stage, PetscReal *change)
{
  PetscFunctionBeginUser;
  (void)batch, (void)stage;
  *change = 0;
  PetscFunctionReturn(0);
}

/* At time t the body is turned by R about its placed mass centre, then moved by m; v, omega: velocities */
static PetscErrorCode ObstacleMotion_Private(Batch batch, PetscInt d, PetscReal t, PetscReal R[9], PetscReal m[3], PetscReal v[3], PetscReal omega[3])
{
  Body      body = batch->domain[d].body;
  PetscReal w[6], dw[6];

  PetscFunctionBeginUser;
  for (PetscInt c = 0; c < 6; c++) {
    dw[c] = c < 3 ? body->velocity[c] : body->spin[c - 3];
    w[c]  = t * dw[c];
    if (body->motion[c]) {
      const PetscReal unit = c < 3 ? 1 : PETSC_PI / 180;
      PetscReal       value, rate;

      PetscCall(FunctionEvaluate(body->motion[c], t, body->origin, &value));
      PetscCall(FunctionDerivative(body->motion[c], t, body->origin, ((Obstacle *)batch->data)->h, &rate));
      w[c] += unit * value;
      dw[c] += unit * rate;
    }
  }
  RotationFromVector(w + 3, R);
  RotationVectorRate(w + 3, dw + 3, omega);
  PetscCall(PetscArraycpy(m, w, 3));
  PetscCall(PetscArraycpy(v, dw, 3));
  PetscFunctionReturn(0);
}

static PetscErrorCode ObstaclePoint_Private(Batch batch, PetscInt d, const MaterialPoint *point, PetscReal t, PetscReal x[3], PetscReal v[3])
{
  Body      body = batch->domain[d].body;
  PetscReal m[3], dm[3], R[9], a[3], b[3], omega[3];

  PetscFunctionBeginUser;
  PetscCall(ObstacleMotion_Private(batch, d, t, R, m, dm, omega));
  Mat3Vec(body->rotation, point->X, a);
  Mat3Vec(R, a, b);
  Vec3Cross(omega, b, v);
  for (PetscInt c = 0; c < 3; c++) {
    x[c] = body->origin[c] + (m[c] + b[c]);
    v[c] += dm[c];
  }
  PetscFunctionReturn(0);
}

static PetscErrorCode ObstaclePlacement_Private(Batch batch, PetscInt d, const Stage *stage, PetscReal R[9], PetscReal at[3], PetscReal v[3], PetscReal spin[3])
{
  PetscReal Q[9];

  PetscFunctionBeginUser;
  PetscCall(ObstacleMotion_Private(batch, d, stage->t + 0.5 * stage->h, Q, at, v, spin));
  Mat3Mult(Q, batch->domain[d].body->rotation, R);
  PetscFunctionReturn(0);
}

/* Means of a step up to the middle of this one and from there on: the gap at the next middle is then as the obstacle really goes. */
static PetscErrorCode ObstacleVelocities_Private(Batch batch, PetscInt d, const Stage *stage, PetscInt n, const MaterialPoint *const p[], PetscBool end, PetscReal v[])
{
  const PetscReal t = stage->t + 0.5 * stage->h, tau = end ? stage->h : -stage->h;
  PetscReal       R[9], m[3], dm[3], omega[3], S[9], k[3];
  PetscBool       moves = PETSC_FALSE;
  Body            body  = batch->domain[d].body;

  PetscFunctionBeginUser;
  for (PetscInt c = 0; c < 3; c++) moves = (PetscBool)(moves || body->velocity[c] != 0 || body->spin[c] != 0);
  for (PetscInt c = 0; c < 6; c++) moves = (PetscBool)(moves || body->motion[c]);
  PetscCall(PetscArrayzero(v, 3 * n));
  if (!moves) PetscFunctionReturn(0);
  PetscCall(ObstacleMotion_Private(batch, d, t, R, m, dm, omega));
  PetscCall(ObstacleMotion_Private(batch, d, t + tau, S, k, dm, omega));
  for (PetscInt i = 0; i < n; i++) {
    PetscReal a[3], b[3], e[3];

    Mat3Vec(body->rotation, p[i]->X, a);
    Mat3Vec(R, a, b);
    Mat3Vec(S, a, e);
    for (PetscInt c = 0; c < 3; c++) v[3 * i + c] = ((k[c] - m[c]) + (e[c] - b[c])) / tau;
  }
  PetscFunctionReturn(0);
}

static PetscErrorCode ObstacleStress_Private(Batch batch, PetscInt d, PetscInt elem, const PetscReal xi[3], PetscReal sigma[6], PetscReal *mises)
{
  PetscFunctionBeginUser;
  (void)batch, (void)d, (void)elem, (void)xi;
  PetscCall(PetscArrayzero(sigma, 6));
  *mises = 0;
  PetscFunctionReturn(0);
}

const FormulationOps FormulationObstacle = {
  .name = "obstacle", .help = "obstacle: no unknowns, at rest or in prescribed motion", .code = 0, .setup = ObstacleSetUp_Private, .destroy = ObstacleDestroy_Private, .start = ObstacleStart_Private,
  .predict = ObstacleSetStep_Private, .linearize = ObstacleNothing_Private, .solve = ObstacleSolve_Private, .correct = ObstacleNothing_Private, .energies = ObstacleSetStep_Private,
  .point = ObstaclePoint_Private, .stress = ObstacleStress_Private, .placement = ObstaclePlacement_Private, .velocities = ObstacleVelocities_Private,
};
