/* The exact solver of one contact with Coulomb friction: open, stick, or slip by a secular equation for the multiplier of the disk. */
#include "cone.h"

static inline void Turn_Private(PetscReal cosine, PetscReal sine, PetscReal x[2])
{
  const PetscReal t = cosine * x[0] + sine * x[1];

  x[1] = cosine * x[1] - sine * x[0];
  x[0] = t;
}

/* Turns the tangents so that S is triangular, its small eigenvalue by itself: cofactors of a nearly singular S would lose it in rounding */
static void Triangular_Private(OneContact *one)
{
  const PetscReal big = 0.5 * (one->tr + PetscSqrtReal(one->tr * one->tr - 4 * one->det));
  PetscReal       v[2] = {one->s01, big - one->s00}, l;

  if (one->s00 >= one->s11) {
    v[0] = big - one->s11;
    v[1] = one->s10;
  }
  l            = PetscSqrtReal(v[0] * v[0] + v[1] * v[1]);
  one->turn[0] = v[0] / l;
  one->turn[1] = v[1] / l;
  Turn_Private(one->turn[0], one->turn[1], one->tn);
  Turn_Private(one->turn[0], one->turn[1], one->nt);
  one->s01 -= one->s10;
  one->s10 = 0;
  one->s00 = big;
  one->s11 = one->det / big;
  one->tr  = one->s00 + one->s11;
  one->det = one->s00 * one->s11;
}

void OneContactSetUp(const PetscReal *w, OneContact *one)
{
  const PetscReal trace = w[0] + w[4] + w[8];
  PetscReal       a[9];

  for (PetscInt k = 0; k < 9; k++) a[k] = w[k];
  one->shift = one->lambda = one->turn[1] = 0;
  one->turn[0]                            = 1;
  for (PetscInt pass = 0; pass < 2; pass++) {
    one->n     = 1 / a[0];
    one->tn[0] = a[1] * one->n;
    one->tn[1] = a[2] * one->n;
    one->nt[0] = a[3] * one->n;
    one->nt[1] = a[6] * one->n;
    one->s00   = a[4] - one->tn[0] * a[3];
    one->s01   = a[7] - one->tn[0] * a[6];
    one->s10   = a[5] - one->tn[1] * a[3];
    one->s11   = a[8] - one->tn[1] * a[6];
    one->tr    = one->s00 + one->s11;
    one->det   = one->s00 * one->s11 - one->s01 * one->s10;
    if (a[0] > 1e-9 * trace && one->tr > 1e-9 * trace && one->det > 1e-12 * one->tr * one->tr) break;
    if (pass) break;
    /* singular: a proximal term, whose fixed point is a solution of the problem without it */
    one->shift = 1e-3 * trace / 3;
    for (PetscInt c = 0; c < 3; c++) a[4 * c] = w[4 * c] + one->shift;
  }
  if (one->det > 0 && one->tr > 0 && one->det < 1e-3 * one->tr * one->tr) Triangular_Private(one);
  one->idet = one->det > 0 && one->tr > 0 ? 1 / one->det : 0;
}

/* r_T = -(S + lambda I)^-1 c, r_N, and g = mu r_N / |r_T| - 1 with its derivative */
static inline PetscReal Slip_Private(const OneContact *one, PetscReal mu, PetscReal bn, const PetscReal c[2], PetscReal lambda, PetscReal r[3], PetscReal *slope)
{
  const PetscReal d = 1 / (one->det + lambda * (one->tr + lambda)), s00 = one->s00 + lambda, s11 = one->s11 + lambda;
  PetscReal       z[2], t;

  r[1] = -d * (s11 * c[0] - one->s01 * c[1]);
  r[2] = -d * (s00 * c[1] - one->s10 * c[0]);
  r[0] = -(one->n * bn + one->nt[0] * r[1] + one->nt[1] * r[2]);
  z[0] = d * (s11 * r[1] - one->s01 * r[2]);
  z[1] = d * (s00 * r[2] - one->s10 * r[1]);
  t      = 1 / PetscSqrtReal(r[1] * r[1] + r[2] * r[2]);
  *slope = mu * t * (one->nt[0] * z[0] + one->nt[1] * z[1] + r[0] * (r[1] * z[0] + r[2] * z[1]) * t * t);
  return mu * r[0] * t - 1;
}

static inline void Solve_Private(OneContact *one, PetscReal mu, const PetscReal b[3], PetscReal accuracy, PetscReal r[3])
{
  PetscReal c[2], lambda, low = 0, high = PETSC_INFINITY, t;

  if (b[0] >= 0) {
    r[0] = r[1] = r[2] = 0;
    return;
  }
  if (mu == 0) {
    r[0] = -one->n * b[0];
    r[1] = r[2] = 0;
    return;
  }
  c[0] = b[1] - one->tn[0] * b[0];
  c[1] = b[2] - one->tn[1] * b[0];
  if (one->idet > 0) {
    r[1] = -(one->s11 * c[0] - one->s01 * c[1]) * one->idet;
    r[2] = -(one->s00 * c[1] - one->s10 * c[0]) * one->idet;
    r[0] = -(one->n * b[0] + one->nt[0] * r[1] + one->nt[1] * r[2]);
    if (r[0] > 0 && r[1] * r[1] + r[2] * r[2] <= mu * mu * r[0] * r[0]) return;
  } else { /* S is positive definite only from here on */
    low = 0.5 * (PetscSqrtReal(PetscMax(one->tr * one->tr - 4 * one->det, 0)) - one->tr);
    low = PetscMax(low, 0);
  }
  if (c[0] == 0 && c[1] == 0) {
    r[0] = -one->n * b[0];
    r[1] = r[2] = 0;
    return;
  }
  lambda = one->lambda > low ? one->lambda : low + 0.1 * PetscAbsReal(one->tr);
  for (PetscInt it = 0; it < 100; it++) {
    PetscReal       slope, next;
    const PetscReal g = Slip_Private(one, mu, b[0], c, lambda, r, &slope);

    if (PetscAbsReal(g) <= accuracy) break;
    if (g > 0) high = lambda;
    else low = lambda;
    next = lambda - g / slope;
    if (!(next > low && next < high)) next = high < PETSC_INFINITY ? 0.5 * (low + high) : 4 * lambda;
    if (PetscAbsReal(next - lambda) <= 4 * PETSC_MACHINE_EPSILON * lambda) break;
    lambda = next;
  }
  one->lambda = lambda;
  t           = PetscSqrtReal(r[1] * r[1] + r[2] * r[2]);
  if (t > 0) { /* on the cone to the last bit, whatever the search left */
    r[1] *= mu * r[0] / t;
    r[2] *= mu * r[0] / t;
  }
}

void OneContactSolve(OneContact *one, PetscReal mu, const PetscReal b0[3], const PetscReal old[3], PetscReal accuracy, PetscReal r[3])
{
  PetscReal b[3] = {b0[0] - one->shift * old[0], b0[1] - one->shift * old[1], b0[2] - one->shift * old[2]};

  if (one->turn[1] != 0) Turn_Private(one->turn[0], one->turn[1], b + 1);
  Solve_Private(one, mu, b, PetscMax(accuracy, 4 * PETSC_MACHINE_EPSILON), r);
  if (one->turn[1] != 0) Turn_Private(one->turn[0], -one->turn[1], r + 1);
}
