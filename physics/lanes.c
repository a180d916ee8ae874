#include "lanes.h"
#include "simd.h"
#if defined(__x86_64__)
  #include <immintrin.h>
#endif

#define INLINE static inline __attribute__((always_inline))

#define VL      1
#define TARGET
#define SQRT(v) PetscSqrtReal(v)
#define NAME(f) f##_1
#include "lanes_kernel.h"

#if defined(__x86_64__)
  #define VL      2
  #define TARGET
  #define SQRT(v) ((VEC)_mm_sqrt_pd((__m128d)(v)))
  #define NAME(f) f##_2
  #include "lanes_kernel.h"

  #define VL      4
  #define TARGET  __attribute__((target("avx2,fma")))
  #define SQRT(v) ((VEC)_mm256_sqrt_pd((__m256d)(v)))
  #define NAME(f) f##_4
  #include "lanes_kernel.h"

  #define VL      8
  #define TARGET  __attribute__((target("avx512f,avx2,fma")))
  #define SQRT(v) ((VEC)_mm512_sqrt_pd((__m512d)(v)))
  #define NAME(f) f##_8
  #include "lanes_kernel.h"

  #define LANES_WIDER(f, ...) \
  case 8: f##_8(__VA_ARGS__); break; \
  case 4: f##_4(__VA_ARGS__); break;
#else
  #define VL      2
  #define TARGET
  #define SQRT(v) ((VEC){PetscSqrtReal((v)[0]), PetscSqrtReal((v)[1])})
  #define NAME(f) f##_2
  #include "lanes_kernel.h"

  #define LANES_WIDER(f, ...)
#endif

#define LANES(f, ...) \
  do { \
    if (w == 1) f##_1(__VA_ARGS__); \
    else switch (SIMDWidth()) { \
        LANES_WIDER(f, __VA_ARGS__) \
      default: f##_2(__VA_ARGS__); \
      } \
  } while (0)

void LanesAXPY(PetscInt n, PetscInt w, PetscReal s, const PetscReal *u, const PetscReal *q, PetscReal *qh)
{
  LANES(AXPY, n, w, s, u, q, qh);
}

void LanesHalf(PetscInt nn, PetscInt w, const PetscReal *m, PetscReal M, PetscReal s, const PetscReal *q, const PetscReal *u, PetscReal *qh, PetscReal *a, PetscReal *v)
{
  LANES(Half, nn, w, m, M, s, q, u, qh, a, v);
}

void LanesCentre(PetscInt nn, PetscInt w, const PetscReal *m, PetscReal M, const PetscReal *x, const PetscReal *u, PetscReal *a, PetscReal *v, PetscReal *uu)
{
  LANES(Centre, nn, w, m, M, x, u, a, v, uu);
}

void LanesMoments(PetscInt nn, PetscInt w, const PetscReal *m, const PetscReal *x, const PetscReal *a, const PetscReal *u, const PetscReal *g, PetscReal *J, PetscReal *L, PetscReal *F)
{
  LANES(Moments, nn, w, m, x, a, u, g, J, L, F);
}

/* Symmetric 3x3 solve, one lane: J t = b */
static void Sym3Solve_Private(PetscInt w, PetscInt l, const PetscReal *J, const PetscReal b[3], PetscReal t[3])
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

void LanesCovariance(PetscInt nn, PetscInt w, const PetscReal *g, const PetscReal *x, const PetscReal *a, PetscReal *F)
{
  LANES(Covariance, nn, w, g, x, a, F);
}

PetscInt LanesPolar(PetscInt w, const PetscReal *F, PetscReal *R)
{
  PetscReal det[LANES_MAX];

  LANES(Polar, w, F, R, det);
  for (PetscInt l = 0; l < w; l++)
    if (!(det[l] > 0)) return l;
  return -1;
}

void LanesToBody(PetscInt nn, PetscInt w, const PetscReal *R, const PetscReal *x, const PetscReal *a, const PetscReal *X, PetscReal eta, const PetscReal *u, const PetscReal *v, PetscReal *y)
{
  LANES(ToBody, nn, w, R, x, a, X, eta, u, v, y);
}

void LanesFromBody(PetscInt nn, PetscInt w, const PetscReal *R, const PetscReal *r, PetscReal c, const PetscReal *y, PetscBool add, PetscReal *du)
{
  LANES(FromBody, nn, w, R, r, c, y, add, du);
}

void LanesLoad(PetscInt nn, PetscInt w, const PetscReal *R, const PetscReal *m, const LanesLoads *loads, PetscReal *r)
{
  LANES(Load, nn, w, R, m, loads, r);
}

void LanesForceSums(PetscInt nn, PetscInt w, const PetscReal *f, const PetscReal *x, const PetscReal *a, PetscReal *P, PetscReal *T)
{
  LANES(Sums, nn, w, NULL, f, x, a, P, T);
}

void LanesMomentum(PetscInt nn, PetscInt w, const PetscReal *m, PetscReal M, const PetscReal *x, const PetscReal *a, const PetscReal *J, const PetscReal *P, const PetscReal *T, const PetscReal *du,
                   PetscReal *shift, PetscReal *turn)
{
  PetscReal p[3 * LANES_MAX], q[3 * LANES_MAX];

  LANES(Sums, nn, w, m, du, x, a, p, q);
  for (PetscInt l = 0; l < w; l++) {
    PetscReal b[3], t[3];

    for (PetscInt k = 0; k < 3; k++) b[k] = T[k * w + l] - q[k * w + l];
    Sym3Solve_Private(w, l, J, b, t);
    for (PetscInt k = 0; k < 3; k++) {
      turn[k * w + l]  = t[k];
      shift[k * w + l] = (P[k * w + l] - p[k * w + l]) / M;
    }
  }
}

void LanesTwist(PetscInt nn, PetscInt w, const PetscReal *x, const PetscReal *a, const PetscReal *shift, const PetscReal *turn, PetscReal *du)
{
  LANES(Twist, nn, w, x, a, shift, turn, du);
}

void LanesAdvance(PetscInt nn, PetscInt w, const PetscReal *m, PetscReal s, const PetscReal *qh, const PetscReal *a, const PetscReal *shift, const PetscReal *turn, PetscReal *du, PetscReal *u, PetscReal *q,
                  PetscReal *p)
{
  LANES(Advance, nn, w, m, s, qh, a, shift, turn, du, u, q, p);
}

void LanesDot(PetscInt nn, PetscInt w, const PetscReal *m, const PetscReal *x, const PetscReal *y, PetscReal *s)
{
  LANES(Dot, nn, w, m, x, y, s);
}

void LanesColumns(PetscInt n, const PetscReal *c, PetscInt ld, const PetscReal f[3], PetscReal *y)
{
  switch (SIMDWidth()) {
    LANES_WIDER(Columns, n, c, ld, f, y)
  default: Columns_2(n, c, ld, f, y);
  }
}
