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

/* Slip: r_T = -(S + lambda I)^-1 c = -p / D with p = p0 + lambda c and D = det + lambda (tr + lambda), r_N = N / D with N = -n b_N D + nt.p, and lambda makes
   mu r_N = |r_T|, that is g = mu N / |p| - 1 zero: of polynomials, so that a step of Newton's method takes one root and one division. */
static inline void Slip_Private(OneContact *one, PetscReal mu, PetscReal load, const PetscReal c[2], const PetscReal p0[2], PetscReal N0, PetscReal P0, PetscReal low, PetscReal accuracy, PetscReal r[3])
{
  const PetscReal N1 = load * one->tr + one->nt[0] * c[0] + one->nt[1] * c[1], P1 = p0[0] * c[0] + p0[1] * c[1], P2 = c[0] * c[0] + c[1] * c[1];
  PetscReal       lambda = one->lambda > low ? one->lambda : low + 0.1 * PetscAbsReal(one->tr), high = PETSC_INFINITY, d, q[2], t;

  for (PetscInt it = 0; it < 100; it++) {
    const PetscReal N = N0 + lambda * (N1 + lambda * load), P = P0 + lambda * (2 * P1 + lambda * P2), root = PetscSqrtReal(P), left = mu * N - root;
    PetscReal       next;

    if (PetscAbsReal(left) <= accuracy * root) break;
    if (left > 0) high = lambda;
    else low = lambda;
    next = lambda - left * P / (mu * ((N1 + 2 * lambda * load) * P - N * (P1 + lambda * P2)));
    if (!(next > low && next < high)) next = high < PETSC_INFINITY ? 0.5 * (low + high) : 4 * lambda;
    else if (left * left <= 0.1 * accuracy * P && accuracy >= 1e-12) { /* the next one is good enough */
      lambda = next;
      break;
    }
    if (PetscAbsReal(next - lambda) <= 4 * PETSC_MACHINE_EPSILON * lambda) break;
    lambda = next;
  }
  one->lambda = lambda;
  d           = 1 / (one->det + lambda * (one->tr + lambda));
  q[0]        = -d * ((one->s11 + lambda) * c[0] - one->s01 * c[1]);
  q[1]        = -d * ((one->s00 + lambda) * c[1] - one->s10 * c[0]);
  r[0]        = load - (one->nt[0] * q[0] + one->nt[1] * q[1]);
  t           = PetscSqrtReal(q[0] * q[0] + q[1] * q[1]);
  t           = t > 0 ? mu * r[0] / t : 1; /* on the cone to the last bit, whatever the search left */
  r[1]        = t * q[0];
  r[2]        = t * q[1];
}

static inline void Solve_Private(OneContact *one, PetscReal mu, const PetscReal b[3], PetscReal accuracy, PetscReal r[3])
{
  const PetscReal load = -one->n * b[0];
  PetscReal       c[2], p[2], N, P, low = 0;

  if (b[0] >= 0) {
    r[0] = r[1] = r[2] = 0;
    return;
  }
  c[0] = b[1] - one->tn[0] * b[0];
  c[1] = b[2] - one->tn[1] * b[0];
  if (mu == 0 || (c[0] == 0 && c[1] == 0)) {
    r[0] = load;
    r[1] = r[2] = 0;
    return;
  }
  p[0] = one->s11 * c[0] - one->s01 * c[1];
  p[1] = one->s00 * c[1] - one->s10 * c[0];
  N    = load * one->det + one->nt[0] * p[0] + one->nt[1] * p[1];
  P    = p[0] * p[0] + p[1] * p[1];
  if (one->idet > 0) {
    if (N > 0 && P <= mu * mu * N * N) {
      r[0] = N * one->idet;
      r[1] = -p[0] * one->idet;
      r[2] = -p[1] * one->idet;
      return;
    }
  } else { /* S is positive definite only from here on */
    low = 0.5 * (PetscSqrtReal(PetscMax(one->tr * one->tr - 4 * one->det, 0)) - one->tr);
    low = PetscMax(low, 0);
  }
  Slip_Private(one, mu, load, c, p, N, P, low, accuracy, r);
}

void OneContactSolve(OneContact *one, PetscReal mu, const PetscReal b0[3], const PetscReal old[3], PetscReal accuracy, PetscReal r[3])
{
  PetscReal b[3] = {b0[0] - one->shift * old[0], b0[1] - one->shift * old[1], b0[2] - one->shift * old[2]};

  if (one->turn[1] != 0) Turn_Private(one->turn[0], one->turn[1], b + 1);
  Solve_Private(one, mu, b, PetscMax(accuracy, 4 * PETSC_MACHINE_EPSILON), r);
  if (one->turn[1] != 0) Turn_Private(one->turn[0], -one->turn[1], r + 1);
}
