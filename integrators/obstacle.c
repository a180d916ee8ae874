/* obstacle: no unknowns. It stays, moves at its given velocity and spin, or follows prescribed functions of time. */
#include "formulations.h"
#include "physics/rotation.h"

static PetscErrorCode ObstacleSetUp_Private(Batch batch)
{
  PetscFunctionBeginUser;
  batch->nq = batch->nu = 0;
  PetscFunctionReturn(0);
}

static PetscErrorCode ObstacleStart_Private(Batch batch, PetscInt d, Body body)
{
  PetscFunctionBeginUser;
  (void)batch, (void)d, (void)body;
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

/* Where the point X (from the mass centre, part's frame) is at time t: turned about the placed mass centre, then moved */
static PetscErrorCode ObstaclePosition_Private(Body body, const PetscReal X[3], PetscReal t, PetscReal x[3])
{
  PetscReal m[6], R[9], a[3], b[3];

  PetscFunctionBeginUser;
  for (PetscInt c = 0; c < 6; c++) {
    m[c] = t * (c < 3 ? body->velocity[c] : body->spin[c - 3]);
    if (body->motion[c]) {
      PetscReal value;

      PetscCall(FunctionEvaluate(body->motion[c], t, body->origin, &value));
      m[c] += c < 3 ? value : value * PETSC_PI / 180;
    }
  }
  RotationFromVector(m + 3, R);
  Mat3Vec(body->rotation, X, a);
  Mat3Vec(R, a, b);
  for (PetscInt c = 0; c < 3; c++) x[c] = body->origin[c] + (m[c] + b[c]);
  PetscFunctionReturn(0);
}

static PetscErrorCode ObstaclePoint_Private(Batch batch, PetscInt d, const MaterialPoint *point, PetscReal t, PetscReal x[3], PetscReal v[3])
{
  Body            body = batch->domain[d].body;
  const PetscReal dt   = PETSC_SQRT_MACHINE_EPSILON * PetscMax(1, PetscAbsReal(t));
  PetscReal       x0[3], x1[3];

  PetscFunctionBeginUser;
  PetscCall(ObstaclePosition_Private(body, point->X, t, x));
  PetscCall(ObstaclePosition_Private(body, point->X, t - dt, x0));
  PetscCall(ObstaclePosition_Private(body, point->X, t + dt, x1));
  for (PetscInt c = 0; c < 3; c++) v[c] = (x1[c] - x0[c]) / (2 * dt);
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
  .name = "obstacle", .help = "obstacle: no unknowns, at rest or in prescribed motion", .code = 0, .setup = ObstacleSetUp_Private, .start = ObstacleStart_Private,
  .predict = ObstacleNothing_Private, .linearize = ObstacleNothing_Private, .solve = ObstacleSolve_Private, .correct = ObstacleNothing_Private, .energies = ObstacleNothing_Private,
  .point = ObstaclePoint_Private, .stress = ObstacleStress_Private,
};
