#include "lanes.h"
#include "simd.h"

#define FOR_LANES(l) _Pragma("omp simd") for (PetscInt l = 0; l < w; l++)

/* Each kernel is an inlined body with w known at compile time (1, 8, 16), inside a function made for several processors. */
#define LANES_DISPATCH(w, CALL) \
  do { \
    if ((w) == 1) CALL(1); \
    else if ((w) == 8) CALL(8); \
    else CALL(16); \
  } while (0)

ASHLAR_CLONES void LanesAXPY(PetscInt n, PetscInt w, PetscReal s, const PetscReal *u, const PetscReal *q, PetscReal *qh)
{
#pragma omp simd
  for (PetscInt i = 0; i < n * w; i++) qh[i] = q[i] + s * u[i];
}

ASHLAR_INLINE void Advance_Private(PetscInt nn, const PetscInt w, const PetscReal *restrict m, PetscReal s, const PetscReal *restrict du, const PetscReal *restrict qh, PetscReal *restrict u,
                                   PetscReal *restrict q, PetscReal *restrict p)
{
  PetscReal P[3][LANES_MAX] = {{0}};

  for (PetscInt i = 0; i < nn; i++)
    for (PetscInt c = 0; c < 3; c++) FOR_LANES(l)
    {
      const PetscInt  j = (3 * i + c) * w + l;
      const PetscReal v = u[j] + du[j];

      P[c][l] += m[i] * du[j];
      u[j] = v;
      q[j] = qh[j] + s * v;
    }
  for (PetscInt c = 0; c < 3; c++) FOR_LANES(l) p[c * w + l] = P[c][l];
}
ASHLAR_CLONES void LanesAdvance(PetscInt nn, PetscInt w, const PetscReal *m, PetscReal s, const PetscReal *du, const PetscReal *qh, PetscReal *u, PetscReal *q, PetscReal *p)
{
#define CALL(W) Advance_Private(nn, W, m, s, du, qh, u, q, p)
  LANES_DISPATCH(w, CALL);
#undef CALL
}

ASHLAR_INLINE void Centre_Private(PetscInt nn, const PetscInt w, const PetscReal *restrict m, PetscReal M, const PetscReal *restrict x, const PetscReal *restrict u, PetscReal *restrict a,
                                  PetscReal *restrict v)
{
  PetscReal A[3][LANES_MAX] = {{0}}, V[3][LANES_MAX] = {{0}};

  for (PetscInt i = 0; i < nn; i++)
    for (PetscInt c = 0; c < 3; c++) FOR_LANES(l)
    {
      A[c][l] += m[i] * x[(3 * i + c) * w + l];
      V[c][l] += m[i] * u[(3 * i + c) * w + l];
    }
  for (PetscInt c = 0; c < 3; c++) FOR_LANES(l)
  {
    a[c * w + l] = A[c][l] / M;
    v[c * w + l] = V[c][l] / M;
  }
}
ASHLAR_CLONES void LanesCentre(PetscInt nn, PetscInt w, const PetscReal *m, PetscReal M, const PetscReal *x, const PetscReal *u, PetscReal *a, PetscReal *v)
{
#define CALL(W) Centre_Private(nn, W, m, M, x, u, a, v)
  LANES_DISPATCH(w, CALL);
#undef CALL
}

ASHLAR_INLINE void Moments_Private(PetscInt nn, const PetscInt w, const PetscReal *restrict m, const PetscReal *restrict x, const PetscReal *restrict a, const PetscReal *restrict u,
                                   PetscReal *restrict J, PetscReal *restrict L)
{
  PetscReal S[6][LANES_MAX] = {{0}}, T[3][LANES_MAX] = {{0}};

  for (PetscInt i = 0; i < nn; i++) FOR_LANES(l)
  {
    const PetscReal r0 = x[(3 * i) * w + l] - a[l], r1 = x[(3 * i + 1) * w + l] - a[w + l], r2 = x[(3 * i + 2) * w + l] - a[2 * w + l];
    const PetscReal p0 = m[i] * r0, p1 = m[i] * r1, p2 = m[i] * r2;
    const PetscReal u0 = u[(3 * i) * w + l], u1 = u[(3 * i + 1) * w + l], u2 = u[(3 * i + 2) * w + l];

    S[0][l] += p0 * r0;
    S[1][l] += p1 * r1;
    S[2][l] += p2 * r2;
    S[3][l] += p0 * r1;
    S[4][l] += p1 * r2;
    S[5][l] += p2 * r0;
    T[0][l] += p1 * u2 - p2 * u1;
    T[1][l] += p2 * u0 - p0 * u2;
    T[2][l] += p0 * u1 - p1 * u0;
  }
  FOR_LANES(l)
  {
    J[l]         = S[1][l] + S[2][l];
    J[w + l]     = S[2][l] + S[0][l];
    J[2 * w + l] = S[0][l] + S[1][l];
    for (PetscInt k = 3; k < 6; k++) J[k * w + l] = -S[k][l];
    for (PetscInt k = 0; k < 3; k++) L[k * w + l] = T[k][l];
  }
}
ASHLAR_CLONES void LanesMoments(PetscInt nn, PetscInt w, const PetscReal *m, const PetscReal *x, const PetscReal *a, const PetscReal *u, PetscReal *J, PetscReal *L)
{
#define CALL(W) Moments_Private(nn, W, m, x, a, u, J, L)
  LANES_DISPATCH(w, CALL);
#undef CALL
}

/* Symmetric 3x3 solve, one lane: J t = b */
ASHLAR_INLINE void Sym3Solve_Private(PetscInt w, PetscInt l, const PetscReal *J, const PetscReal b[3], PetscReal t[3])
{
  const PetscReal xx = J[l], yy = J[w + l], zz = J[2 * w + l], xy = J[3 * w + l], yz = J[4 * w + l], zx = J[5 * w + l];
  const PetscReal c0 = yy * zz - yz * yz, c1 = yz * zx - xy * zz, c2 = xy * yz - yy * zx, id = 1 / (xx * c0 + xy * c1 + zx * c2);

  t[0] = id * (c0 * b[0] + c1 * b[1] + c2 * b[2]);
  t[1] = id * (c1 * b[0] + (xx * zz - zx * zx) * b[1] + (xy * zx - xx * yz) * b[2]);
  t[2] = id * (c2 * b[0] + (xy * zx - xx * yz) * b[1] + (xx * yy - xy * xy) * b[2]);
}

void LanesSpin(PetscInt w, const PetscReal *J, const PetscReal *L, PetscReal *omega, PetscReal *rg2)
{
  for (PetscInt l = 0; l < w; l++) {
    const PetscReal b[3] = {L[l], L[w + l], L[2 * w + l]};
    PetscReal       t[3], t2;

    Sym3Solve_Private(w, l, J, b, t);
    for (PetscInt c = 0; c < 3; c++) omega[c * w + l] = t[c];
    t2     = t[0] * t[0] + t[1] * t[1] + t[2] * t[2];
    rg2[l] = t2 > 0 ? (t[0] * b[0] + t[1] * b[1] + t[2] * b[2]) / t2 : 0;
  }
}

ASHLAR_INLINE void Covariance_Private(PetscInt nn, const PetscInt w, const PetscReal *restrict g, const PetscReal *restrict x, const PetscReal *restrict a, PetscReal *restrict F)
{
  PetscReal S[9][LANES_MAX] = {{0}};

  for (PetscInt i = 0; i < nn; i++)
    for (PetscInt c = 0; c < 3; c++) FOR_LANES(l)
    {
      const PetscReal r = x[(3 * i + c) * w + l] - a[c * w + l];

      S[3 * c][l] += r * g[3 * i];
      S[3 * c + 1][l] += r * g[3 * i + 1];
      S[3 * c + 2][l] += r * g[3 * i + 2];
    }
  for (PetscInt k = 0; k < 9; k++) FOR_LANES(l) F[k * w + l] = S[k][l];
}
ASHLAR_CLONES void LanesCovariance(PetscInt nn, PetscInt w, const PetscReal *g, const PetscReal *x, const PetscReal *a, PetscReal *F)
{
#define CALL(W) Covariance_Private(nn, W, g, x, a, F)
  LANES_DISPATCH(w, CALL);
#undef CALL
}

/* Newton's iteration R <- (s R + R^-T / s) / 2 with Higham's scaling in the Frobenius norm; quadratic, all lanes at once. */
ASHLAR_INLINE void Polar_Private(const PetscInt w, const PetscReal *restrict F, PetscReal *restrict R, PetscReal *restrict det0)
{
  PetscReal worst = 1;

  for (PetscInt k = 0; k < 9; k++) FOR_LANES(l) R[k * w + l] = F[k * w + l];
  for (PetscInt it = 0; it < 40; it++) {
    PetscReal change[LANES_MAX];

    FOR_LANES(l)
    {
      PetscReal A[9], C[9], n2 = 0, c2 = 0, d, s, is, ch = 0;

      for (PetscInt k = 0; k < 9; k++) A[k] = R[k * w + l];
      C[0] = A[4] * A[8] - A[5] * A[7];
      C[1] = A[5] * A[6] - A[3] * A[8];
      C[2] = A[3] * A[7] - A[4] * A[6];
      C[3] = A[2] * A[7] - A[1] * A[8];
      C[4] = A[0] * A[8] - A[2] * A[6];
      C[5] = A[1] * A[6] - A[0] * A[7];
      C[6] = A[1] * A[5] - A[2] * A[4];
      C[7] = A[2] * A[3] - A[0] * A[5];
      C[8] = A[0] * A[4] - A[1] * A[3];
      d    = A[0] * C[0] + A[1] * C[1] + A[2] * C[2];
      if (it == 0) det0[l] = d;
      for (PetscInt k = 0; k < 9; k++) {
        n2 += A[k] * A[k];
        c2 += C[k] * C[k];
      }
      /* s^2 = |A^-1| / |A|; unscaled near the end, where it would only add noise */
      s  = worst > 1e-2 ? PetscSqrtReal(PetscSqrtReal(c2 / n2) / PetscAbsReal(d)) : 1;
      is = 1 / (s * d);
      for (PetscInt k = 0; k < 9; k++) {
        const PetscReal r = 0.5 * (s * A[k] + is * C[k]);

        ch += (r - A[k]) * (r - A[k]);
        R[k * w + l] = r;
      }
      change[l] = ch;
    }
    worst = 0;
    for (PetscInt l = 0; l < w; l++) worst = PetscMax(worst, change[l]);
    worst = PetscSqrtReal(worst);
    if (!(worst > 1e-9)) break; /* quadratic: the next change would be below round-off */
  }
}
ASHLAR_CLONES static void PolarClones_Private(PetscInt w, const PetscReal *F, PetscReal *R, PetscReal *det)
{
#define CALL(W) Polar_Private(W, F, R, det)
  LANES_DISPATCH(w, CALL);
#undef CALL
}
PetscInt LanesPolar(PetscInt w, const PetscReal *F, PetscReal *R)
{
  PetscReal det[LANES_MAX];

  PolarClones_Private(w, F, R, det);
  for (PetscInt l = 0; l < w; l++)
    if (!(det[l] > 0)) return l;
  return -1;
}

ASHLAR_INLINE void ToBody_Private(PetscInt nn, const PetscInt w, const PetscReal *restrict R, const PetscReal *restrict x, const PetscReal *restrict a, const PetscReal *restrict X, PetscReal eta,
                                  const PetscReal *restrict u, const PetscReal *restrict v, PetscReal *restrict y)
{
  for (PetscInt i = 0; i < nn; i++) FOR_LANES(l)
  {
    PetscReal r[3];

    for (PetscInt c = 0; c < 3; c++) {
      r[c] = x[(3 * i + c) * w + l] - a[c * w + l];
      if (u) r[c] += eta * (u[(3 * i + c) * w + l] - v[c * w + l]);
    }
    for (PetscInt c = 0; c < 3; c++) y[(3 * i + c) * w + l] = R[c * w + l] * r[0] + R[(3 + c) * w + l] * r[1] + R[(6 + c) * w + l] * r[2] - (X ? X[3 * i + c] : 0);
  }
}
ASHLAR_CLONES void LanesToBody(PetscInt nn, PetscInt w, const PetscReal *R, const PetscReal *x, const PetscReal *a, const PetscReal *X, PetscReal eta, const PetscReal *u, const PetscReal *v, PetscReal *y)
{
#define CALL(W) ToBody_Private(nn, W, R, x, a, X, eta, u, v, y)
  LANES_DISPATCH(w, CALL);
#undef CALL
}

ASHLAR_INLINE void FromBody_Private(PetscInt nn, const PetscInt w, const PetscReal *restrict R, const PetscReal *restrict r, PetscReal c, const PetscReal *restrict y, PetscReal *restrict du)
{
  for (PetscInt i = 0; i < nn; i++) FOR_LANES(l)
  {
    PetscReal b[3];

    for (PetscInt k = 0; k < 3; k++) b[k] = r[(3 * i + k) * w + l] - (y ? c * y[(3 * i + k) * w + l] : 0);
    for (PetscInt k = 0; k < 3; k++) du[(3 * i + k) * w + l] += R[(3 * k) * w + l] * b[0] + R[(3 * k + 1) * w + l] * b[1] + R[(3 * k + 2) * w + l] * b[2];
  }
}
ASHLAR_CLONES void LanesFromBody(PetscInt nn, PetscInt w, const PetscReal *R, const PetscReal *r, PetscReal c, const PetscReal *y, PetscReal *du)
{
#define CALL(W) FromBody_Private(nn, W, R, r, c, y, du)
  LANES_DISPATCH(w, CALL);
#undef CALL
}

ASHLAR_INLINE void Load_Private(PetscInt nn, const PetscInt w, const PetscReal *restrict R, const PetscReal *restrict m, PetscReal h, const PetscReal *restrict f, const PetscReal *restrict g, PetscReal c,
                                const PetscReal *restrict u, PetscReal s, const PetscReal *restrict du, PetscReal k, const PetscReal *restrict y, PetscReal *restrict r)
{
  for (PetscInt i = 0; i < nn; i++) FOR_LANES(l)
  {
    PetscReal b[3];

    for (PetscInt d = 0; d < 3; d++) {
      const PetscInt j = (3 * i + d) * w + l;

      b[d] = h * g[d];
      if (u) b[d] -= c * u[j];
      if (du) b[d] -= s * du[j];
      b[d] *= m[i];
      if (f) b[d] += h * f[j];
    }
    for (PetscInt d = 0; d < 3; d++) {
      const PetscInt j = (3 * i + d) * w + l;

      r[j] = R[d * w + l] * b[0] + R[(3 + d) * w + l] * b[1] + R[(6 + d) * w + l] * b[2] + (y ? k * m[i] * y[j] : 0);
    }
  }
}
ASHLAR_CLONES void LanesLoad(PetscInt nn, PetscInt w, const PetscReal *R, const PetscReal *m, PetscReal h, const PetscReal *f, const PetscReal g[3], PetscReal c, const PetscReal *u, PetscReal s,
                             const PetscReal *du, PetscReal k, const PetscReal *y, PetscReal *r)
{
#define CALL(W) Load_Private(nn, W, R, m, h, f, g, c, u, s, du, k, y, r)
  LANES_DISPATCH(w, CALL);
#undef CALL
}

/* f = f0 - lambda x g with [(sum g.y) I - sum y (x) g]^T lambda = sum y x f0: the exact gradient of the co-rotated energy. */
ASHLAR_INLINE void FrameForce_Private(PetscInt nn, const PetscInt w, const PetscReal *restrict R, const PetscReal *restrict x, const PetscReal *restrict a, const PetscReal *restrict g, PetscReal h,
                                      PetscReal *restrict f, PetscReal *restrict r)
{
  PetscReal S[9][LANES_MAX] = {{0}}, T[3][LANES_MAX] = {{0}}, lam[3][LANES_MAX];

  for (PetscInt i = 0; i < nn; i++) FOR_LANES(l)
  {
    PetscReal       b[3], y[3];
    const PetscReal f0 = f[(3 * i) * w + l], f1 = f[(3 * i + 1) * w + l], f2 = f[(3 * i + 2) * w + l];

    for (PetscInt c = 0; c < 3; c++) b[c] = x[(3 * i + c) * w + l] - a[c * w + l];
    for (PetscInt c = 0; c < 3; c++) y[c] = R[c * w + l] * b[0] + R[(3 + c) * w + l] * b[1] + R[(6 + c) * w + l] * b[2];
    for (PetscInt c = 0; c < 3; c++)
      for (PetscInt d = 0; d < 3; d++) S[3 * c + d][l] += y[c] * g[3 * i + d];
    T[0][l] += y[1] * f2 - y[2] * f1;
    T[1][l] += y[2] * f0 - y[0] * f2;
    T[2][l] += y[0] * f1 - y[1] * f0;
  }
  FOR_LANES(l)
  {
    PetscReal       A[9], C[9];
    const PetscReal tr = S[0][l] + S[4][l] + S[8][l];
    PetscReal       id;

    /* A = (tr I - S)^T, solved by its cofactors */
    for (PetscInt c = 0; c < 3; c++)
      for (PetscInt d = 0; d < 3; d++) A[3 * c + d] = (c == d ? tr : 0) - S[3 * d + c][l];
    C[0] = A[4] * A[8] - A[5] * A[7];
    C[1] = A[5] * A[6] - A[3] * A[8];
    C[2] = A[3] * A[7] - A[4] * A[6];
    C[3] = A[2] * A[7] - A[1] * A[8];
    C[4] = A[0] * A[8] - A[2] * A[6];
    C[5] = A[1] * A[6] - A[0] * A[7];
    C[6] = A[1] * A[5] - A[2] * A[4];
    C[7] = A[2] * A[3] - A[0] * A[5];
    C[8] = A[0] * A[4] - A[1] * A[3];
    id   = 1 / (A[0] * C[0] + A[1] * C[1] + A[2] * C[2]);
    for (PetscInt c = 0; c < 3; c++) lam[c][l] = id * (C[c] * T[0][l] + C[3 + c] * T[1][l] + C[6 + c] * T[2][l]);
  }
  for (PetscInt i = 0; i < nn; i++) FOR_LANES(l)
  {
    const PetscReal g0 = g[3 * i], g1 = g[3 * i + 1], g2 = g[3 * i + 2];

    r[(3 * i) * w + l] -= h * (f[(3 * i) * w + l] - (lam[1][l] * g2 - lam[2][l] * g1));
    r[(3 * i + 1) * w + l] -= h * (f[(3 * i + 1) * w + l] - (lam[2][l] * g0 - lam[0][l] * g2));
    r[(3 * i + 2) * w + l] -= h * (f[(3 * i + 2) * w + l] - (lam[0][l] * g1 - lam[1][l] * g0));
  }
}
ASHLAR_CLONES void LanesFrameForce(PetscInt nn, PetscInt w, const PetscReal *R, const PetscReal *x, const PetscReal *a, const PetscReal *g, PetscReal h, PetscReal *f, PetscReal *r)
{
#define CALL(W) FrameForce_Private(nn, W, R, x, a, g, h, f, r)
  LANES_DISPATCH(w, CALL);
#undef CALL
}

ASHLAR_INLINE void ForceSums_Private(PetscInt nn, const PetscInt w, const PetscReal *restrict m, const PetscReal *restrict f, const PetscReal *restrict x, const PetscReal *restrict a, PetscReal *restrict P,
                                     PetscReal *restrict T)
{
  PetscReal S[3][LANES_MAX] = {{0}}, Q[3][LANES_MAX] = {{0}};

  for (PetscInt i = 0; i < nn; i++) FOR_LANES(l)
  {
    const PetscReal mi = m ? m[i] : 1;
    const PetscReal f0 = mi * f[(3 * i) * w + l], f1 = mi * f[(3 * i + 1) * w + l], f2 = mi * f[(3 * i + 2) * w + l];
    const PetscReal r0 = x[(3 * i) * w + l] - a[l], r1 = x[(3 * i + 1) * w + l] - a[w + l], r2 = x[(3 * i + 2) * w + l] - a[2 * w + l];

    S[0][l] += f0;
    S[1][l] += f1;
    S[2][l] += f2;
    Q[0][l] += r1 * f2 - r2 * f1;
    Q[1][l] += r2 * f0 - r0 * f2;
    Q[2][l] += r0 * f1 - r1 * f0;
  }
  for (PetscInt c = 0; c < 3; c++) FOR_LANES(l)
  {
    P[c * w + l] = S[c][l];
    T[c * w + l] = Q[c][l];
  }
}
ASHLAR_CLONES void LanesForceSums(PetscInt nn, PetscInt w, const PetscReal *f, const PetscReal *x, const PetscReal *a, PetscReal *P, PetscReal *T)
{
#define CALL(W) ForceSums_Private(nn, W, NULL, f, x, a, P, T)
  LANES_DISPATCH(w, CALL);
#undef CALL
}

ASHLAR_INLINE void SetMomentum_Private(PetscInt nn, const PetscInt w, const PetscReal *restrict m, PetscReal M, const PetscReal *restrict x, const PetscReal *restrict a, const PetscReal *restrict J,
                                       const PetscReal *restrict P, const PetscReal *restrict T, PetscReal *restrict du)
{
  PetscReal p[3 * LANES_MAX], q[3 * LANES_MAX], th[3][LANES_MAX], c[3][LANES_MAX];

  ForceSums_Private(nn, w, m, du, x, a, p, q);
  for (PetscInt l = 0; l < w; l++) {
    PetscReal b[3], t[3];

    for (PetscInt k = 0; k < 3; k++) b[k] = T[k * w + l] - q[k * w + l];
    Sym3Solve_Private(w, l, J, b, t);
    for (PetscInt k = 0; k < 3; k++) {
      th[k][l] = t[k];
      c[k][l]  = (P[k * w + l] - p[k * w + l]) / M;
    }
  }
  for (PetscInt i = 0; i < nn; i++) FOR_LANES(l)
  {
    const PetscReal r0 = x[(3 * i) * w + l] - a[l], r1 = x[(3 * i + 1) * w + l] - a[w + l], r2 = x[(3 * i + 2) * w + l] - a[2 * w + l];

    du[(3 * i) * w + l] += c[0][l] + (th[1][l] * r2 - th[2][l] * r1);
    du[(3 * i + 1) * w + l] += c[1][l] + (th[2][l] * r0 - th[0][l] * r2);
    du[(3 * i + 2) * w + l] += c[2][l] + (th[0][l] * r1 - th[1][l] * r0);
  }
}
ASHLAR_CLONES void LanesSetMomentum(PetscInt nn, PetscInt w, const PetscReal *m, PetscReal M, const PetscReal *x, const PetscReal *a, const PetscReal *J, const PetscReal *P, const PetscReal *T, PetscReal *du)
{
#define CALL(W) SetMomentum_Private(nn, W, m, M, x, a, J, P, T, du)
  LANES_DISPATCH(w, CALL);
#undef CALL
}

ASHLAR_INLINE void MassDot_Private(PetscInt nn, PetscInt per, const PetscInt w, const PetscReal *restrict m, const PetscReal *x, const PetscReal *y, PetscReal *restrict s)
{
  PetscReal S[LANES_MAX] = {0};

  for (PetscInt i = 0; i < nn; i++)
    for (PetscInt c = 0; c < per; c++) FOR_LANES(l) S[l] += (m ? m[i] : 1) * x[(per * i + c) * w + l] * y[(per * i + c) * w + l];
  FOR_LANES(l) s[l] = S[l];
}
ASHLAR_CLONES void LanesMassDot(PetscInt nn, PetscInt w, const PetscReal *m, const PetscReal *x, const PetscReal *y, PetscReal *s)
{
#define CALL(W) MassDot_Private(nn, 3, W, m, x, y, s)
  LANES_DISPATCH(w, CALL);
#undef CALL
}
ASHLAR_CLONES void LanesDot(PetscInt n, PetscInt w, const PetscReal *x, const PetscReal *y, PetscReal *s)
{
#define CALL(W) MassDot_Private(n, 1, W, NULL, x, y, s)
  LANES_DISPATCH(w, CALL);
#undef CALL
}
