/* Lanes: equal bodies side by side. A group is an array [dof][lane] of `w` lanes (1, 8 or 16); every function here works on one
   group, all lanes by the same instructions. Small per-lane results are arrays [component][lane]. 3x3 matrices are row-major. */
#pragma once
#include <petscsys.h>

#define LANES_MAX 16

/* qh = q + s u, n numbers per lane */
void LanesAXPY(PetscInt n, PetscInt w, PetscReal s, const PetscReal *u, const PetscReal *q, PetscReal *qh);
/* qh = q + s u, and a, v of qh, u as LanesCentre has them */
void LanesHalf(PetscInt nn, PetscInt w, const PetscReal *m, PetscReal M, PetscReal s, const PetscReal *q, const PetscReal *u, PetscReal *qh, PetscReal *a, PetscReal *v);
/* mass centre a and mean velocity v of positions x, velocities u with nodal masses m of total mass M; uu = sum m u^2 (may be NULL) */
void LanesCentre(PetscInt nn, PetscInt w, const PetscReal *m, PetscReal M, const PetscReal *x, const PetscReal *u, PetscReal *a, PetscReal *v, PetscReal *uu);
/* about a: inertia J (xx yy zz xy yz zx), L = sum m (x - a) x u, and, if there is g, F = sum (x - a) (x) g */
void LanesMoments(PetscInt nn, PetscInt w, const PetscReal *m, const PetscReal *x, const PetscReal *a, const PetscReal *u, const PetscReal *g, PetscReal *J, PetscReal *L, PetscReal *F);
/* omega = J^-1 L, and the radius of gyration about it, times the total mass: *rg2 = omega.J omega / |omega|^2 */
void LanesSpin(PetscInt w, const PetscReal *J, const PetscReal *L, PetscReal *omega, PetscReal *rg2);
/* F = sum (x_i - a) (x) g_i */
void LanesCovariance(PetscInt nn, PetscInt w, const PetscReal *g, const PetscReal *x, const PetscReal *a, PetscReal *F);
/* Rotation factor of the polar decomposition of F, proper branch; returns the first lane with det F <= 0 or NaN, else -1 */
PetscInt LanesPolar(PetscInt w, const PetscReal *F, PetscReal *R);
/* y = R^T (x - a) - X + eta R^T (u - v); u, X may be NULL */
void LanesToBody(PetscInt nn, PetscInt w, const PetscReal *R, const PetscReal *x, const PetscReal *a, const PetscReal *X, PetscReal eta, const PetscReal *u, const PetscReal *v, PetscReal *y);
/* du = R (r - c y), or du += it (y may be NULL) */
void LanesFromBody(PetscInt nn, PetscInt w, const PetscReal *R, const PetscReal *r, PetscReal c, const PetscReal *y, PetscBool add, PetscReal *du);
/* The right-hand side in the body's frame: r = R^T (h force + m (h gravity - c u - s du)) + k m y - h f.
   force, u, du, y, f may be NULL; not both y and f; f may be r. */
typedef struct {
  PetscReal        h, gravity[3], c, s, k;
  const PetscReal *force, *u, *du, *y, *f;
} LanesLoads;
void LanesLoad(PetscInt nn, PetscInt w, const PetscReal *R, const PetscReal *m, const LanesLoads *loads, PetscReal *r);
/* shift and turn such that du + shift + turn x (x - a) has sum m du = P and sum (x - a) x m du = T exactly */
void LanesMomentum(PetscInt nn, PetscInt w, const PetscReal *m, PetscReal M, const PetscReal *x, const PetscReal *a, const PetscReal *J, const PetscReal *P, const PetscReal *T, const PetscReal *du,
                   PetscReal *shift, PetscReal *turn);
/* du += shift + turn x (x - a) */
void LanesTwist(PetscInt nn, PetscInt w, const PetscReal *x, const PetscReal *a, const PetscReal *shift, const PetscReal *turn, PetscReal *du);
/* du += shift + turn x (qh - a) unless shift is NULL; u += du, q = qh + s u; p = sum m du */
void LanesAdvance(PetscInt nn, PetscInt w, const PetscReal *m, PetscReal s, const PetscReal *qh, const PetscReal *a, const PetscReal *shift, const PetscReal *turn, PetscReal *du, PetscReal *u, PetscReal *q,
                  PetscReal *p);
/* sums of forces and of their moments about a: f [3 nn][w] */
void LanesForceSums(PetscInt nn, PetscInt w, const PetscReal *f, const PetscReal *x, const PetscReal *a, PetscReal *P, PetscReal *T);
/* s = sum over the 3 nn dofs of x y, of m x y unless m is NULL */
void LanesDot(PetscInt nn, PetscInt w, const PetscReal *m, const PetscReal *x, const PetscReal *y, PetscReal *s);
/* y += sum over three columns of c, `ld` numbers apart, of f[k] c_k: n numbers each */
void LanesColumns(PetscInt n, const PetscReal *c, PetscInt ld, const PetscReal f[3], PetscReal *y);
