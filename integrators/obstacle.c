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

/* The body is turned by exp(m[3..5]) about its placed mass centre, then moved by m[0..2] */
static PetscErrorCode ObstaclePoint_Private(Batch batch, PetscInt d, const MaterialPoint *point, PetscReal t, PetscReal x[3], PetscReal v[3])
{
  Body      body = batch->domain[d].body;
  PetscReal m[6], dm[6], R[9], a[3], b[3], omega[3];

  PetscFunctionBeginUser;
  for (PetscInt c = 0; c < 6; c++) {
    dm[c] = c < 3 ? body->velocity[c] : body->spin[c - 3];
    m[c]  = t * dm[c];
    if (body->motion[c]) {
      const PetscReal unit = c < 3 ? 1 : PETSC_PI / 180;
      PetscReal       value, rate;

      PetscCall(FunctionEvaluate(body->motion[c], t, body->origin, &value));
      PetscCall(FunctionDerivative(body->motion[c], t, body->origin, ((Obstacle *)batch->data)->h, &rate));
      m[c] += unit * value;
      dm[c] += unit * rate;
    }
  }
  RotationFromVector(m + 3, R);
  RotationVectorRate(m + 3, dm + 3, omega);
  Mat3Vec(body->rotation, point->X, a);
  Mat3Vec(R, a, b);
  Vec3Cross(omega, b, v);
  for (PetscInt c = 0; c < 3; c++) {
    x[c] = body->origin[c] + (m[c] + b[c]);
    v[c] += dm[c];
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
  .point = ObstaclePoint_Private, .stress = ObstacleStress_Private,
};
