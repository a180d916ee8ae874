/* Nodal: what formulations with nodal positions and velocities as state (tl, bc) have in common. */
#pragma once
#include "physics/body.h"
#include "physics/compliance.h"

typedef struct {
  PetscReal *qh;             /* positions at t + h/2, like q */
  PetscReal *a, *v, *J, *L;  /* per group: mass centre and mean velocity (3), inertia (6) and angular momentum (3) about it, at t + h/2 */
  PetscReal *P, *T;          /* per group: impulse and angular impulse that the loads give in this step (3 each) */
  PetscReal *given;          /* per group: impulse and angular impulse that rows have given in this step (6) */
  PetscReal *owed;           /* per group: angular momentum that rows should have given in the last step (3), see NodalCorrect() */
  PetscBool  conserved;      /* du has its momentum in this step */
  PetscInt   mwork;
  PetscReal *work;           /* of the domain at work */
} Nodal;

PETSC_EXTERN PetscInt       NodalSize(Part part);
PETSC_EXTERN PetscErrorCode NodalSetUp(Batch batch, Nodal *nodal);
PETSC_EXTERN PetscErrorCode NodalDestroy(Nodal *nodal);
PETSC_EXTERN PetscErrorCode NodalStart(Batch batch, PetscInt d, Body body);
/* Group g, in their order from 0 on. With weights also F = sum (x - a) (x) weight at t + h/2; both NULL: not wanted */
PETSC_EXTERN PetscErrorCode NodalPredict(Batch batch, const Stage *stage, PetscInt g, Nodal *nodal, const PetscReal *weight, PetscReal *F);
/* Momentum of du as Newton and Euler have it by the loads and the rows' impulses so far, whatever the scheme and round-off made of it */
PETSC_EXTERN PetscErrorCode NodalConserve(Batch batch, const Stage *stage, Nodal *nodal);
/* Before the first pass of a step: rows have given nothing yet */
PETSC_EXTERN PetscErrorCode NodalBegin(Batch batch, Nodal *nodal);
/* r += s m turn x (qh - a) of group g, where turn is the rotation by which what is owed is given */
PETSC_EXTERN PetscErrorCode NodalAddOwed(Batch batch, PetscInt g, const Nodal *nodal, PetscReal s, PetscReal *r);
/* Drops what is owed */
PETSC_EXTERN PetscErrorCode NodalForget(Batch batch, Nodal *nodal);
PETSC_EXTERN PetscErrorCode NodalNodes(Batch batch, PetscInt d, const Nodal *nodal, PetscInt n, const PetscInt node[], PetscReal x[], PetscReal v[]);
PETSC_EXTERN PetscErrorCode NodalVelocities(Batch batch, PetscInt d, const Stage *stage, PetscInt n, const MaterialPoint *const p[], PetscBool end, PetscReal v[]);
/* W = E R C R^T E^T of n points; du += R C R^T H^T P, and the momentum of P counts as given */
PETSC_EXTERN PetscErrorCode NodalCompliance(Nodal *nodal, Compliance c, const PetscReal R[9], PetscInt n, const MaterialPoint *const p[], const PetscReal frame[], PetscReal W[]);
PETSC_EXTERN PetscErrorCode NodalImpulse(Batch batch, PetscInt d, Nodal *nodal, Compliance c, const PetscReal R[9], PetscInt n, const MaterialPoint *const p[], const PetscReal P[]);
PETSC_EXTERN PetscErrorCode NodalGive(Batch batch, PetscInt d, Nodal *nodal, PetscInt n, const MaterialPoint *const p[], const PetscReal P[]);
PETSC_EXTERN PetscErrorCode NodalCorrect(Batch batch, const Stage *stage, Nodal *nodal);
PETSC_EXTERN PetscErrorCode NodalPoint(Batch batch, PetscInt d, const MaterialPoint *point, PetscReal t, PetscReal x[3], PetscReal v[3]);
PETSC_EXTERN PetscErrorCode NodalAddForce(Batch batch, PetscInt d, const MaterialPoint *point, const PetscReal f[3]);
PETSC_EXTERN PetscErrorCode NodalMomentum(Batch batch, PetscInt d, PetscReal p[3], PetscReal l[3]);
/* Kinetic energy of each lane of group g, and the step's power of damping by mass: alpha sum m ubar^2 with ubar = u - du/2;
   uu = sum m u^2 */
PETSC_EXTERN PetscErrorCode NodalKinetic(Batch batch, PetscInt g, const PetscReal uu[], PetscReal kinetic[], PetscReal massdamping[]);
/* max |r| / max |du| over the lanes of the batch; 0 when r moves the stage's configuration by no more than its round-off */
PETSC_EXTERN PetscErrorCode NodalChange(Batch batch, const Stage *stage, const PetscReal *r, PetscReal *change);
