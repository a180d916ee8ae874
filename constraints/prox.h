/* Kernels of the Newton-type solvers: proximal point with Alart-Curnier Newton inside; the interior-point method; the policy that chains all. */
#pragma once
#include "blocklu.h"
#include "bodylu.h"
#include <petscksp.h>

/* Workspace that they share, kept between solves */
typedef struct _p_Newton *Newton;
struct _p_Newton {
  BlockLU        lu;
  BodyLU         bodylu;                   /* of systems that are known by bodies */
  System         graph;                    /* whose graph the LU knows */
  PetscInt       capacity;
  PetscReal     *ua, *rk, *best, *x, *f;   /* 3 (n + nghost) + 1 each */
  PetscReal     *m, *dd;                   /* 9 n: what multiplies a row of W, by rows; what is added to the diagonal, by rows */
  PetscReal     *z, *h;                    /* 3 n, 9 n: interior point; h: also what BodyLU takes for K */
  unsigned char *state;
  System         system;                   /* of the factorization that is going on */
  KSP            ksp;                      /* given by the owner; solves what is shared or known by products only */
  Mat            jacobian;                 /* these for it */
  Vec            b, y;
  PetscReal     *inverse;                  /* 9 n: of the diagonal blocks, by columns */
};
PETSC_EXTERN PetscErrorCode NewtonCreate(Newton *w);
PETSC_EXTERN PetscErrorCode NewtonDestroy(Newton *w);
PETSC_EXTERN PetscErrorCode NewtonReserve(Newton w, System s);
/* Before other systems are solved: drops the graph, and the objects of the linear solver, whose sizes are those of one system */
PETSC_EXTERN PetscErrorCode NewtonReset(Newton w);

typedef struct {
  PetscReal tol, alpha0;   /* merit to reach; first proximal parameter */
  PetscInt  max_it, inner; /* Newton solves in all, in an inner problem */
  PetscBool conic;         /* help by the interior-point method after a failed inner problem */
} ProxOptions;
PETSC_EXTERN const ProxOptions ProxDefaults;
/* r in place, the best met; u = W r + q of it */
PETSC_EXTERN PetscErrorCode ProxSolve(Newton w, Nlgs g, System s, const ProxOptions *options, PetscReal *r, PetscReal *u, SolveReport *report, const SolveMonitors *monitor);
/* Interior point from its own start until the merit is below tol; r and u are replaced if theirs is worse. Does nothing unless s->balls. */
PETSC_EXTERN PetscErrorCode ConicSolve(Newton w, System s, PetscReal tol, PetscInt max_it, PetscReal *r, PetscReal *u, SolveReport *report, const SolveMonitors *monitor);
/* About what a solve by Newton's method costs, in nanoseconds, from the blocks that r says are closed; infinite if the system is shared */
PETSC_EXTERN PetscErrorCode NewtonEstimate(Newton w, System s, const PetscReal *r, PetscReal *cost);
/* Policy of the warm-up: tens of sweeps as long as they are quick, or promise to end before Newton's method would; u = W r + q at
   the end */
PETSC_EXTERN PetscErrorCode NlgsWarmUp(Nlgs g, Newton newton, System s, PetscReal tol, PetscReal *r, PetscReal *u, SolveReport *report, const SolveMonitors *monitor);
