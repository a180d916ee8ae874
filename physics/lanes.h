/* Lanes: equal bodies side by side. A group is an array [dof][lane] of `w` lanes (1, 8 or 16); every function here works on one
   group, all lanes by the same instructions. Small per-lane results are arrays [component][lane]. 3x3 matrices are row-major. */
#pragma once
#include <petscsys.h>

#define LANES_MAX 16

/* qh = q + s u, n numbers per lane */
void LanesAXPY(PetscInt n, PetscInt w, PetscReal s, const PetscReal *u, const PetscReal *q, PetscReal *qh);
/* u += du, q = qh + s u; p = sum m du */
void LanesAdvance(PetscInt nn, PetscInt w, const PetscReal *m, PetscReal s, const PetscReal *du, const PetscReal *qh, PetscReal *u, PetscReal *q, PetscReal *p);
/* mass centre a and mean velocity v of positions x, velocities u with nodal masses m of total mass M */
void LanesCentre(PetscInt nn, PetscInt w, const PetscReal *m, PetscReal M, const PetscReal *x, const PetscReal *u, PetscReal *a, PetscReal *v);
/* about a: inertia J (xx yy zz xy yz zx) and L = sum m (x - a) x u */
void LanesMoments(PetscInt nn, PetscInt w, const PetscReal *m, const PetscReal *x, const PetscReal *a, const PetscReal *u, PetscReal *J, PetscReal *L);
/* omega = J^-1 L, and the radius of gyration about it, times the total mass: *rg2 = omega.J omega / |omega|^2 */
void LanesSpin(PetscInt w, const PetscReal *J, const PetscReal *L, PetscReal *omega, PetscReal *rg2);
/* F = sum (x_i - a) (x) g_i */
void LanesCovariance(PetscInt nn, PetscInt w, const PetscReal *g, const PetscReal *x, const PetscReal *a, PetscReal *F);
/* Rotation factor of the polar decomposition of F, proper branch; returns the first lane with det F <= 0 or NaN, else -1 */
PetscInt LanesPolar(PetscInt w, const PetscReal *F, PetscReal *R);
/* y = R^T (x - a) - X + eta R^T (u - v); u, X may be NULL */
void LanesToBody(PetscInt nn, PetscInt w, const PetscReal *R, const PetscReal *x, const PetscReal *a, const PetscReal *X, PetscReal eta, const PetscReal *u, const PetscReal *v, PetscReal *y);
/* du += R r - c R y (y may be NULL) */
void LanesFromBody(PetscInt nn, PetscInt w, const PetscReal *R, const PetscReal *r, PetscReal c, const PetscReal *y, PetscReal *du);
/* r = R^T (h f + m (h g - c u - s du)) + k m y: the right-hand side in the body's frame; f, u, du, y may be NULL */
void LanesLoad(PetscInt nn, PetscInt w, const PetscReal *R, const PetscReal *m, PetscReal h, const PetscReal *f, const PetscReal g[3], PetscReal c, const PetscReal *u, PetscReal s,
               const PetscReal *du, PetscReal k, const PetscReal *y, PetscReal *r);
/* r -= h (f - lambda x g) with lambda such that f does no work in any rotation of the frame (see bc.c): y = X + d is R^T (x - a) */
void LanesFrameForce(PetscInt nn, PetscInt w, const PetscReal *R, const PetscReal *x, const PetscReal *a, const PetscReal *g, PetscReal h, PetscReal *f, PetscReal *r);
/* du += theta x (x - a) + c, so that sum m du = P and sum (x - a) x m du = T exactly */
void LanesSetMomentum(PetscInt nn, PetscInt w, const PetscReal *m, PetscReal M, const PetscReal *x, const PetscReal *a, const PetscReal *J, const PetscReal *P, const PetscReal *T, PetscReal *du);
/* sums of forces and of their moments about a: f [3 nn][w] */
void LanesForceSums(PetscInt nn, PetscInt w, const PetscReal *f, const PetscReal *x, const PetscReal *a, PetscReal *P, PetscReal *T);
/* s = sum over dofs of x y; weighted: of m x y (y == x: twice the kinetic energy) */
void LanesDot(PetscInt n, PetscInt w, const PetscReal *x, const PetscReal *y, PetscReal *s);
void LanesMassDot(PetscInt nn, PetscInt w, const PetscReal *m, const PetscReal *x, const PetscReal *y, PetscReal *s);
