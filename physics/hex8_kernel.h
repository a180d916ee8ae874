/* Fast kernels of hex8 for St Venant-Kirchhoff. Included plainly: the interface. Included with HEX8_VL (elements per vector), HEX8_TARGET
   (attribute) and HEX8_NAME(x): the body, once per vector width (hex8_kernel.c), so that one portable binary holds them all.

   Lane l of every vector is element l of a group. With the 2x2x2 rule everything is a tensor product: corner t = i + 2j + 4k, Gauss point
   g = i + 2j + 4k, and the 1-d shape function is HEX8_A at its own side's Gauss point and HEX8_B at the other. */
#ifndef HEX8_KERNEL_INTERFACE
#define HEX8_KERNEL_INTERFACE
#include "element.h"
#include <stdint.h>

/* Elements of one block as the kernels see them */
typedef struct {
  PetscInt         nelem;
  const PetscInt  *conn;   /* nelem x nnode */
  const PetscInt  *offset; /* nelem x pairs (a <= b): block of the value array */
  const uint64_t  *flip;   /* nelem: bit set if the pair's block is stored transposed (node a > node b) */
  const PetscReal *coord;  /* reference coordinates */
} ElementRun;

/* One kind's kernels for widths 2, 4, 8 (NULL: not compiled in). They add to a and f; either may be NULL. */
typedef struct {
  const char *name;
  void (*tangent[3])(const ElementRun *run, PetscReal lambda, PetscReal mu, const PetscReal *x, PetscInt stride, PetscReal *a, PetscReal *f);
  PetscReal (*energy[3])(const ElementRun *run, PetscReal lambda, PetscReal mu, const PetscReal *x, PetscInt stride);
} ElementKernels;

PETSC_INTERN const ElementKernels Hex8Kernels;
#endif

#ifdef HEX8_VL
  #define VL     HEX8_VL
  #define V      HEX8_NAME(Vector)
  #define INLINE static inline __attribute__((always_inline)) HEX8_TARGET

typedef double V __attribute__((vector_size(8 * VL)));

typedef struct {
  V D[3][4][3]; /* [direction d][Gauss point in the two other directions][component]: d x / d xi_d, which does not change along d */
} HEX8_NAME(Columns);

/* Where Gauss point g sits in Columns.D[d] */
static const unsigned char HEX8_NAME(Other)[3][8] = {{0, 0, 1, 1, 2, 2, 3, 3}, {0, 1, 0, 1, 2, 3, 2, 3}, {0, 1, 2, 3, 0, 1, 2, 3}};

/* Gathers one position array and makes its columns. Only differences along edges enter, so a body far away loses no digits. */
INLINE void HEX8_NAME(Gather)(const PetscInt *const conn[VL], const PetscReal *x, size_t stride, HEX8_NAME(Columns) *J)
{
  union {
    V      v[8][3];
    double s[8][3][VL];
  } X;

  for (int t = 0; t < 8; t++) {
    for (int l = 0; l < VL; l++) {
      const PetscReal *p = x + 3 * (size_t)conn[l][Hex8Corner[t]] * stride;

      X.s[t][0][l] = p[0];
      X.s[t][1][l] = p[stride];
      X.s[t][2][l] = p[2 * stride];
    }
  }
  for (int d = 0; d < 3; d++) {
    const int m = 1 << d, n = d == 0 ? 2 : 1, o = d == 2 ? 2 : 4; /* corner strides along d and the two other directions */

    for (int c = 0; c < 3; c++) {
      const V e0 = 0.5 * (X.v[m][c] - X.v[0][c]), e1 = 0.5 * (X.v[m + n][c] - X.v[n][c]);
      const V e2 = 0.5 * (X.v[m + o][c] - X.v[o][c]), e3 = 0.5 * (X.v[m + n + o][c] - X.v[n + o][c]);
      const V a = HEX8_A * e0 + HEX8_B * e1, b = HEX8_B * e0 + HEX8_A * e1;
      const V p = HEX8_A * e2 + HEX8_B * e3, q = HEX8_B * e2 + HEX8_A * e3;

      J->D[d][0][c] = HEX8_A * a + HEX8_B * p;
      J->D[d][1][c] = HEX8_A * b + HEX8_B * q;
      J->D[d][2][c] = HEX8_B * a + HEX8_A * p;
      J->D[d][3][c] = HEX8_B * b + HEX8_A * q;
    }
  }
}

/* At Gauss point g: R[d] = grad xi_d, w = det dX/dxi, F, C = F^T F - I (xx yy zz xy yz zx) */
INLINE void HEX8_NAME(Strain)(const HEX8_NAME(Columns) *X, const HEX8_NAME(Columns) *x, int g, V R[3][3], V *w, V F[3][3], V C[6])
{
  const V *p = X->D[0][HEX8_NAME(Other)[0][g]], *q = X->D[1][HEX8_NAME(Other)[1][g]], *r = X->D[2][HEX8_NAME(Other)[2][g]];
  const V *s = x->D[0][HEX8_NAME(Other)[0][g]], *t = x->D[1][HEX8_NAME(Other)[1][g]], *u = x->D[2][HEX8_NAME(Other)[2][g]];
  V        d;

  for (int c = 0; c < 3; c++) {
    const int i = (c + 1) % 3, j = (c + 2) % 3;

    R[0][c] = q[i] * r[j] - q[j] * r[i];
    R[1][c] = r[i] * p[j] - r[j] * p[i];
    R[2][c] = p[i] * q[j] - p[j] * q[i];
  }
  *w = p[0] * R[0][0] + p[1] * R[0][1] + p[2] * R[0][2];
  d  = 1.0 / *w;
  for (int k = 0; k < 3; k++) {
    for (int c = 0; c < 3; c++) R[k][c] *= d;
  }
  for (int i = 0; i < 3; i++) {
    for (int c = 0; c < 3; c++) F[i][c] = s[i] * R[0][c] + t[i] * R[1][c] + u[i] * R[2][c];
  }
  C[0] = F[0][0] * F[0][0] + F[1][0] * F[1][0] + F[2][0] * F[2][0] - 1.0;
  C[1] = F[0][1] * F[0][1] + F[1][1] * F[1][1] + F[2][1] * F[2][1] - 1.0;
  C[2] = F[0][2] * F[0][2] + F[1][2] * F[1][2] + F[2][2] * F[2][2] - 1.0;
  C[3] = F[0][0] * F[0][1] + F[1][0] * F[1][1] + F[2][0] * F[2][1];
  C[4] = F[0][1] * F[0][2] + F[1][1] * F[1][2] + F[2][1] * F[2][2];
  C[5] = F[0][2] * F[0][0] + F[1][2] * F[1][0] + F[2][2] * F[2][0];
}

/* The force's integrand seen from the parent element: H[d] += (w F S) grad xi_d; nodes get it by HEX8_NAME(Force) after the last point */
INLINE void HEX8_NAME(Stress)(int g, V R[3][3], V F[3][3], const V S[6], V H[3][4][3])
{
  for (int i = 0; i < 3; i++) {
    const V p = F[i][0] * S[0] + F[i][1] * S[3] + F[i][2] * S[5];
    const V q = F[i][0] * S[3] + F[i][1] * S[1] + F[i][2] * S[4];
    const V r = F[i][0] * S[5] + F[i][1] * S[4] + F[i][2] * S[2];

    for (int d = 0; d < 3; d++) H[d][HEX8_NAME(Other)[d][g]][i] += p * R[d][0] + q * R[d][1] + r * R[d][2];
  }
}

/* f_a = sum over d of dN_a/dxi_d H[d], by edges (the transpose of Gather); lanes are scattered in the order of the elements */
INLINE void HEX8_NAME(Force)(V H[3][4][3], const PetscInt *const conn[VL], int nl, PetscReal *f, size_t stride)
{
  union {
    V      v[8][3];
    double s[8][3][VL];
  } P;

  for (int d = 0; d < 3; d++) {
    const int m = 1 << d, n = d == 0 ? 2 : 1, o = d == 2 ? 2 : 4;

    for (int c = 0; c < 3; c++) {
      const V a = HEX8_A * H[d][0][c] + HEX8_B * H[d][1][c], b = HEX8_B * H[d][0][c] + HEX8_A * H[d][1][c];
      const V p = HEX8_A * H[d][2][c] + HEX8_B * H[d][3][c], q = HEX8_B * H[d][2][c] + HEX8_A * H[d][3][c];
      const V e[4] = {0.5 * (HEX8_A * a + HEX8_B * p), 0.5 * (HEX8_A * b + HEX8_B * q), /* corners 0, n, o, n + o */
                      0.5 * (HEX8_B * a + HEX8_A * p), 0.5 * (HEX8_B * b + HEX8_A * q)};

      for (int k = 0; k < 4; k++) {
        const int t = (k & 1 ? n : 0) + (k & 2 ? o : 0);

        P.v[t][c]     = d ? P.v[t][c] - e[k] : -e[k];
        P.v[t + m][c] = d ? P.v[t + m][c] + e[k] : e[k];
      }
    }
  }
  for (int l = 0; l < nl; l++) {
    for (int t = 0; t < 8; t++) {
      PetscReal *p = f + 3 * (size_t)conn[l][Hex8Corner[t]] * stride;

      p[0] += P.s[t][0][l];
      p[stride] += P.s[t][1][l];
      p[2 * stride] += P.s[t][2][l];
    }
  }
}

/* Adds lane l's 3x3 block, k[0..8][l], to to[l][0..8]: eight values by a transposition in registers, the ninth alone */
INLINE void HEX8_NAME(Add)(const V k[9], double *const to[VL], int nl)
{
  typedef double U __attribute__((vector_size(8 * VL), aligned(8), may_alias));
  #define SHUFFLE(a, b, ...) __builtin_shufflevector(a, b, __VA_ARGS__)
  if (nl == VL) {
  #if VL == 2
    for (int i = 0; i < 8; i += 2) {
      *(U *)(to[0] + i) += SHUFFLE(k[i], k[i + 1], 0, 2);
      *(U *)(to[1] + i) += SHUFFLE(k[i], k[i + 1], 1, 3);
    }
  #elif VL == 4
    for (int i = 0; i < 8; i += 4) {
      const V a = SHUFFLE(k[i], k[i + 1], 0, 4, 2, 6), b = SHUFFLE(k[i], k[i + 1], 1, 5, 3, 7);
      const V c = SHUFFLE(k[i + 2], k[i + 3], 0, 4, 2, 6), d = SHUFFLE(k[i + 2], k[i + 3], 1, 5, 3, 7);

      *(U *)(to[0] + i) += SHUFFLE(a, c, 0, 1, 4, 5);
      *(U *)(to[1] + i) += SHUFFLE(b, d, 0, 1, 4, 5);
      *(U *)(to[2] + i) += SHUFFLE(a, c, 2, 3, 6, 7);
      *(U *)(to[3] + i) += SHUFFLE(b, d, 2, 3, 6, 7);
    }
  #elif VL == 8
    for (int h = 0; h < 2; h++) { /* even lanes, odd lanes */
      V r[4], s[4];

      for (int i = 0; i < 4; i++) {
        r[i] = h ? SHUFFLE(k[2 * i], k[2 * i + 1], 1, 9, 3, 11, 5, 13, 7, 15) : SHUFFLE(k[2 * i], k[2 * i + 1], 0, 8, 2, 10, 4, 12, 6, 14);
      }
      for (int i = 0; i < 2; i++) {
        s[i]     = SHUFFLE(r[2 * i], r[2 * i + 1], 0, 1, 8, 9, 4, 5, 12, 13);
        s[2 + i] = SHUFFLE(r[2 * i], r[2 * i + 1], 2, 3, 10, 11, 6, 7, 14, 15);
      }
      *(U *)to[h] += SHUFFLE(s[0], s[1], 0, 1, 2, 3, 8, 9, 10, 11);
      *(U *)to[h + 2] += SHUFFLE(s[2], s[3], 0, 1, 2, 3, 8, 9, 10, 11);
      *(U *)to[h + 4] += SHUFFLE(s[0], s[1], 4, 5, 6, 7, 12, 13, 14, 15);
      *(U *)to[h + 6] += SHUFFLE(s[2], s[3], 4, 5, 6, 7, 12, 13, 14, 15);
    }
  #endif
    for (int l = 0; l < VL; l++) to[l][8] += k[8][l];
  } else {
    for (int l = 0; l < nl; l++) {
      for (int i = 0; i < 9; i++) to[l][i] += ((const double *)&k[i])[l];
    }
  }
  #undef SHUFFLE
}

/* One group: f_a = int F S grad N_a; K_ab = lambda T + mu T^T + beta + sigma I with T = int (F grad N_a) (x) (F grad N_b),
   beta = int mu (grad N_a . grad N_b) F F^T, sigma = int grad N_a . S grad N_b: 21 multiply-adds per pair and Gauss point. */
INLINE void HEX8_NAME(Group)(const ElementRun *run, PetscInt e, int nl, double lambda, double mu, const PetscReal *x, size_t stride,
                              PetscReal *A, PetscReal *f)
{
  const PetscInt     *conn[VL], *offset[VL];
  HEX8_NAME(Columns)  X, Y;
  V                   H[3][4][3], P[8][8][3], G[8][8][3], B[8][6], S[8][6], W[8]; /* P, G: [corner][Gauss point] F grad N, grad N */
  uint64_t            flip[VL], any = 0, all = ~(uint64_t)0;

  for (int l = 0; l < VL; l++) {
    const PetscInt k = e + (l < nl ? l : nl - 1); /* the last group repeats its last element */

    conn[l]   = run->conn + 8 * (size_t)k;
    offset[l] = run->offset + 36 * (size_t)k;
    flip[l]   = run->flip[k];
    any |= flip[l];
    all &= flip[l];
  }
  HEX8_NAME(Gather)(conn, run->coord, 1, &X);
  HEX8_NAME(Gather)(conn, x, stride, &Y);
  memset(H, 0, sizeof(H));
  for (int g = 0; g < 8; g++) {
    V R[3][3], F[3][3], C[6], w, t;

    HEX8_NAME(Strain)(&X, &Y, g, R, &w, F, C);
    t = 0.5 * lambda * (C[0] + C[1] + C[2]) * w;
    for (int i = 0; i < 6; i++) S[g][i] = mu * w * C[i] + (i < 3 ? t : t - t);
    HEX8_NAME(Stress)(g, R, F, S[g], H);
    if (!A) continue;
    W[g] = w;
    w *= mu;
    for (int i = 0; i < 3; i++) {
      const int j = (i + 1) % 3;

      B[g][i]     = w * (F[i][0] * F[i][0] + F[i][1] * F[i][1] + F[i][2] * F[i][2]);
      B[g][3 + i] = w * (F[i][0] * F[j][0] + F[i][1] * F[j][1] + F[i][2] * F[j][2]);
    }
    /* Seen from Gauss point g, corner n ^ g is near (bit 0) or far (bit 1) in each direction, so the factors of R do not depend on g */
    for (int d = 0; d < 3; d++) {
      const double s = g >> d & 1 ? 0.5 : -0.5;

      for (int c = 0; c < 3; c++) R[d][c] *= s;
    }
  #pragma GCC unroll 8 /* makes the factors constants */
    for (int n = 0; n < 8; n++) {
      const int    i = n & 1, j = n >> 1 & 1, k = n >> 2;
      const double p = i ? HEX8_B : HEX8_A, q = j ? HEX8_B : HEX8_A, r = k ? HEX8_B : HEX8_A;
      V           *G1 = G[n ^ g][g], *P1 = P[n ^ g][g];

      for (int c = 0; c < 3; c++) G1[c] = (i ? -q * r : q * r) * R[0][c] + (j ? -p * r : p * r) * R[1][c] + (k ? -p * q : p * q) * R[2][c];
      for (int c = 0; c < 3; c++) P1[c] = F[c][0] * G1[0] + F[c][1] * G1[1] + F[c][2] * G1[2];
    }
  }
  if (f) HEX8_NAME(Force)(H, conn, nl, f, stride);
  if (!A) return;
  for (int a = 0, pair = 0; a < 8; a++) {
    const int ta = Hex8Corner[a]; /* the table is its own inverse */
    V         Q[8][3], Z[8][3];

    for (int g = 0; g < 8; g++) {
      const V *n = G[ta][g], *s = S[g];

      for (int c = 0; c < 3; c++) Q[g][c] = W[g] * P[ta][g][c];
      Z[g][0] = s[0] * n[0] + s[3] * n[1] + s[5] * n[2];
      Z[g][1] = s[3] * n[0] + s[1] * n[1] + s[4] * n[2];
      Z[g][2] = s[5] * n[0] + s[4] * n[1] + s[2] * n[2];
    }
    for (int b = a; b < 8; b++, pair++) {
      const V *p = P[Hex8Corner[b]][0], *n = G[Hex8Corner[b]][0];
      V        T[9], b0, b1, b2, b3, b4, b5, z, k[9], L, M;
      double  *to[VL];

      for (int i = 0; i < 9; i++) T[i] = Q[0][i / 3] * p[i % 3];
      for (int g = 1; g < 8; g++) {
        for (int i = 0; i < 9; i++) T[i] += Q[g][i / 3] * p[3 * g + i % 3];
      }
      b0 = b1 = b2 = b3 = b4 = b5 = z = Z[0][0] - Z[0][0];
      for (int g = 0; g < 8; g++) {
        const V *m = G[ta][g], *h = n + 3 * g;
        const V  y = m[0] * h[0] + m[1] * h[1] + m[2] * h[2];

        b0 += y * B[g][0], b1 += y * B[g][1], b2 += y * B[g][2];
        b3 += y * B[g][3], b4 += y * B[g][4], b5 += y * B[g][5];
        z += Z[g][0] * h[0] + Z[g][1] * h[1] + Z[g][2] * h[2];
      }
      /* The transposed block only changes T for T^T: lambda and mu change places in that lane */
      if (all >> pair & 1) {
        L = mu + (z - z), M = lambda + (z - z);
      } else if (any >> pair & 1) {
        for (int l = 0; l < VL; l++) {
          L[l] = flip[l] >> pair & 1 ? mu : lambda;
          M[l] = flip[l] >> pair & 1 ? lambda : mu;
        }
      } else {
        L = lambda + (z - z), M = mu + (z - z);
      }
      k[0] = (L + M) * T[0] + b0 + z; /* by columns, as PETSc stores blocks */
      k[1] = L * T[3] + M * T[1] + b3;
      k[2] = L * T[6] + M * T[2] + b5;
      k[3] = L * T[1] + M * T[3] + b3;
      k[4] = (L + M) * T[4] + b1 + z;
      k[5] = L * T[7] + M * T[5] + b4;
      k[6] = L * T[2] + M * T[6] + b5;
      k[7] = L * T[5] + M * T[7] + b4;
      k[8] = (L + M) * T[8] + b2 + z;
      for (int l = 0; l < VL; l++) to[l] = A + 9 * (size_t)offset[l][pair];
      HEX8_NAME(Add)(k, to, nl);
    }
  }
}

HEX8_TARGET static void HEX8_NAME(Tangent)(const ElementRun *run, PetscReal lambda, PetscReal mu, const PetscReal *x, PetscInt stride, PetscReal *a,
                                            PetscReal *f)
{
  const PetscInt full = run->nelem - run->nelem % VL;

  if (a) {
    for (PetscInt e = 0; e < full; e += VL) HEX8_NAME(Group)(run, e, VL, lambda, mu, x, stride, a, f);
  } else {
    for (PetscInt e = 0; e < full; e += VL) HEX8_NAME(Group)(run, e, VL, lambda, mu, x, stride, NULL, f);
  }
  if (full < run->nelem) HEX8_NAME(Group)(run, full, (int)(run->nelem - full), lambda, mu, x, stride, a, f);
}

HEX8_TARGET static PetscReal HEX8_NAME(Energy)(const ElementRun *run, PetscReal lambda, PetscReal mu, const PetscReal *x, PetscInt stride)
{
  PetscReal sum = 0;

  for (PetscInt e = 0; e < run->nelem; e += VL) {
    const PetscInt    *conn[VL];
    HEX8_NAME(Columns) X, Y;
    V                  u = {0};

    for (int l = 0; l < VL; l++) conn[l] = run->conn + 8 * (size_t)PetscMin(e + l, run->nelem - 1);
    HEX8_NAME(Gather)(conn, run->coord, 1, &X);
    HEX8_NAME(Gather)(conn, x, (size_t)stride, &Y);
    for (int g = 0; g < 8; g++) { /* lambda/2 tr(E)^2 + mu E:E with E = C/2 */
      V R[3][3], F[3][3], C[6], w, t;

      HEX8_NAME(Strain)(&X, &Y, g, R, &w, F, C);
      t = C[0] + C[1] + C[2];
      u += w * (0.125 * lambda * t * t + 0.25 * mu * (C[0] * C[0] + C[1] * C[1] + C[2] * C[2] + 2.0 * (C[3] * C[3] + C[4] * C[4] + C[5] * C[5])));
    }
    for (int l = 0; l < VL && e + l < run->nelem; l++) sum += u[l];
  }
  return sum;
}

  #undef VL
  #undef V
  #undef INLINE
  #undef HEX8_VL
  #undef HEX8_TARGET
  #undef HEX8_NAME
#endif
