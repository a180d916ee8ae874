/* Sums and updates over the nodes of a group, and the polar decomposition, for one width of vectors: included by lanes.c with VL (doubles per
   vector; 1: plain numbers, for groups of one lane), TARGET (function attribute), SQRT(v), NAME(f). No include guard: included several times. */

#if VL == 1
typedef double NAME(vec);
  #define W ((void)w, 1)
#else
typedef double NAME(vec) __attribute__((vector_size(8 * VL), aligned(8), may_alias));
  #define W w
#endif
#define VEC            NAME(vec)
#define CHUNKS         for (PetscInt l = 0; l < W; l += VL)
#define GET(p, i)      (*(const VEC *)((p) + (i) * W + l))
#define PUT(p, i, val) (*(VEC *)((p) + (i) * W + l) = (val))
#define ZERO           ((VEC){0})
/* y = R^T b and y = R b for three vectors b */
#define TURN_BACK(R, b, c) (R[c] * b[0] + R[3 + (c)] * b[1] + R[6 + (c)] * b[2])
#define TURN(R, b, c)      (R[3 * (c)] * b[0] + R[3 * (c) + 1] * b[1] + R[3 * (c) + 2] * b[2])
#define GET_ALL(x, n, p)   for (PetscInt k_ = 0; k_ < (n); k_++) x[k_] = GET(p, k_)
#define PUT_ALL(p, n, x)   for (PetscInt k_ = 0; k_ < (n); k_++) PUT(p, k_, x[k_])

static TARGET void NAME(AXPY)(PetscInt n, PetscInt w, PetscReal s, const PetscReal *u, const PetscReal *q, PetscReal *qh)
{
#pragma omp simd
  for (PetscInt i = 0; i < n * W; i++) qh[i] = q[i] + s * u[i];
}

static TARGET void NAME(Half)(PetscInt nn, PetscInt w, const PetscReal *m, PetscReal M, PetscReal s, const PetscReal *q, const PetscReal *u, PetscReal *restrict qh, PetscReal *restrict a, PetscReal *restrict v)
{
  CHUNKS
  {
    VEC A[3] = {ZERO, ZERO, ZERO}, V[3] = {ZERO, ZERO, ZERO};

    for (PetscInt i = 0; i < nn; i++)
      for (PetscInt c = 0; c < 3; c++) {
        const VEC ui = GET(u, 3 * i + c), x = GET(q, 3 * i + c) + s * ui;

        PUT(qh, 3 * i + c, x);
        A[c] += m[i] * x;
        V[c] += m[i] * ui;
      }
    for (PetscInt c = 0; c < 3; c++) {
      PUT(a, c, A[c] / M);
      PUT(v, c, V[c] / M);
    }
  }
}

static TARGET void NAME(Centre)(PetscInt nn, PetscInt w, const PetscReal *m, PetscReal M, const PetscReal *x, const PetscReal *u, PetscReal *restrict a, PetscReal *restrict v, PetscReal *restrict uu)
{
  CHUNKS
  {
    VEC A[3] = {ZERO, ZERO, ZERO}, V[3] = {ZERO, ZERO, ZERO}, E[3] = {ZERO, ZERO, ZERO};

    for (PetscInt i = 0; i < nn; i++)
      for (PetscInt c = 0; c < 3; c++) {
        const VEC ui = GET(u, 3 * i + c), p = m[i] * ui;

        A[c] += m[i] * GET(x, 3 * i + c);
        V[c] += p;
        E[c] += p * ui;
      }
    for (PetscInt c = 0; c < 3; c++) {
      PUT(a, c, A[c] / M);
      PUT(v, c, V[c] / M);
    }
    if (uu) PUT(uu, 0, E[0] + E[1] + E[2]);
  }
}

INLINE TARGET void NAME(MomentsOf)(const PetscBool frame, PetscInt nn, PetscInt w, const PetscReal *m, const PetscReal *x, const PetscReal *a, const PetscReal *u, const PetscReal *g, PetscReal *restrict J,
                                   PetscReal *restrict L, PetscReal *restrict F)
{
  CHUNKS
  {
    VEC S[6] = {ZERO, ZERO, ZERO, ZERO, ZERO, ZERO}, T[3] = {ZERO, ZERO, ZERO}, C[9] = {ZERO, ZERO, ZERO, ZERO, ZERO, ZERO, ZERO, ZERO, ZERO}, A[3];

    GET_ALL(A, 3, a);
    for (PetscInt i = 0; i < nn; i++) {
      VEC r[3], p[3], ui[3];

      for (PetscInt c = 0; c < 3; c++) {
        r[c]  = GET(x, 3 * i + c) - A[c];
        p[c]  = m[i] * r[c];
        ui[c] = GET(u, 3 * i + c);
        if (frame)
          for (PetscInt d = 0; d < 3; d++) C[3 * c + d] += r[c] * g[3 * i + d];
      }
      S[0] += p[0] * r[0];
      S[1] += p[1] * r[1];
      S[2] += p[2] * r[2];
      S[3] += p[0] * r[1];
      S[4] += p[1] * r[2];
      S[5] += p[2] * r[0];
      T[0] += p[1] * ui[2] - p[2] * ui[1];
      T[1] += p[2] * ui[0] - p[0] * ui[2];
      T[2] += p[0] * ui[1] - p[1] * ui[0];
    }
    PUT(J, 0, S[1] + S[2]);
    PUT(J, 1, S[2] + S[0]);
    PUT(J, 2, S[0] + S[1]);
    for (PetscInt k = 3; k < 6; k++) PUT(J, k, -S[k]);
    PUT_ALL(L, 3, T);
    if (frame) PUT_ALL(F, 9, C);
  }
}
static TARGET void NAME(Moments)(PetscInt nn, PetscInt w, const PetscReal *m, const PetscReal *x, const PetscReal *a, const PetscReal *u, const PetscReal *g, PetscReal *J, PetscReal *L, PetscReal *F)
{
  if (g) NAME(MomentsOf)(PETSC_TRUE, nn, w, m, x, a, u, g, J, L, F);
  else NAME(MomentsOf)(PETSC_FALSE, nn, w, m, x, a, u, NULL, J, L, NULL);
}

static TARGET void NAME(Covariance)(PetscInt nn, PetscInt w, const PetscReal *g, const PetscReal *x, const PetscReal *a, PetscReal *restrict F)
{
  CHUNKS
  {
    VEC C[9] = {ZERO, ZERO, ZERO, ZERO, ZERO, ZERO, ZERO, ZERO, ZERO}, A[3];

    GET_ALL(A, 3, a);
    for (PetscInt i = 0; i < nn; i++)
      for (PetscInt c = 0; c < 3; c++) {
        const VEC r = GET(x, 3 * i + c) - A[c];

        for (PetscInt d = 0; d < 3; d++) C[3 * c + d] += r * g[3 * i + d];
      }
    PUT_ALL(F, 9, C);
  }
}

INLINE TARGET void NAME(ToBodyOf)(const PetscBool damped, const PetscBool from, PetscInt nn, PetscInt w, const PetscReal *R, const PetscReal *x, const PetscReal *a, const PetscReal *X, PetscReal eta,
                                  const PetscReal *u, const PetscReal *v, PetscReal *restrict y)
{
  CHUNKS
  {
    VEC Q[9], A[3];

    GET_ALL(Q, 9, R);
    GET_ALL(A, 3, a);
    if (damped)
      for (PetscInt c = 0; c < 3; c++) A[c] += eta * GET(v, c);
    for (PetscInt i = 0; i < nn; i++) {
      VEC r[3];

      for (PetscInt c = 0; c < 3; c++) {
        r[c] = GET(x, 3 * i + c) - A[c];
        if (damped) r[c] += eta * GET(u, 3 * i + c);
      }
      for (PetscInt c = 0; c < 3; c++) PUT(y, 3 * i + c, from ? TURN_BACK(Q, r, c) - X[3 * i + c] : TURN_BACK(Q, r, c));
    }
  }
}
static TARGET void NAME(ToBody)(PetscInt nn, PetscInt w, const PetscReal *R, const PetscReal *x, const PetscReal *a, const PetscReal *X, PetscReal eta, const PetscReal *u, const PetscReal *v, PetscReal *y)
{
  if (u && X) NAME(ToBodyOf)(PETSC_TRUE, PETSC_TRUE, nn, w, R, x, a, X, eta, u, v, y);
  else if (u) NAME(ToBodyOf)(PETSC_TRUE, PETSC_FALSE, nn, w, R, x, a, NULL, eta, u, v, y);
  else if (X) NAME(ToBodyOf)(PETSC_FALSE, PETSC_TRUE, nn, w, R, x, a, X, 0, NULL, NULL, y);
  else NAME(ToBodyOf)(PETSC_FALSE, PETSC_FALSE, nn, w, R, x, a, NULL, 0, NULL, NULL, y);
}

INLINE TARGET void NAME(FromBodyOf)(const PetscBool minus, const PetscBool add, PetscInt nn, PetscInt w, const PetscReal *R, const PetscReal *r, PetscReal s, const PetscReal *y, PetscReal *restrict du)
{
  CHUNKS
  {
    VEC Q[9];

    GET_ALL(Q, 9, R);
    for (PetscInt i = 0; i < nn; i++) {
      VEC b[3];

      for (PetscInt c = 0; c < 3; c++) {
        b[c] = GET(r, 3 * i + c);
        if (minus) b[c] -= s * GET(y, 3 * i + c);
      }
      for (PetscInt c = 0; c < 3; c++) PUT(du, 3 * i + c, add ? GET(du, 3 * i + c) + TURN(Q, b, c) : TURN(Q, b, c));
    }
  }
}
static TARGET void NAME(FromBody)(PetscInt nn, PetscInt w, const PetscReal *R, const PetscReal *r, PetscReal s, const PetscReal *y, PetscBool add, PetscReal *du)
{
  if (y && add) NAME(FromBodyOf)(PETSC_TRUE, PETSC_TRUE, nn, w, R, r, s, y, du);
  else if (y) NAME(FromBodyOf)(PETSC_TRUE, PETSC_FALSE, nn, w, R, r, s, y, du);
  else if (add) NAME(FromBodyOf)(PETSC_FALSE, PETSC_TRUE, nn, w, R, r, 0, NULL, du);
  else NAME(FromBodyOf)(PETSC_FALSE, PETSC_FALSE, nn, w, R, r, 0, NULL, du);
}

/* The right-hand side: what the loads are (any: forces or velocities that differ by node), then k m y or -h f */
INLINE TARGET void NAME(LoadOf)(const PetscBool any, const PetscInt kind, PetscInt nn, PetscInt w, const PetscReal *R, const PetscReal *m, const LanesLoads *p, PetscReal *r)
{
  CHUNKS
  {
    VEC Q[9], G[3];

    GET_ALL(Q, 9, R);
    for (PetscInt c = 0; c < 3; c++) G[c] = ZERO + p->h * p->gravity[c];
    if (!any) {
      const VEC g[3] = {G[0], G[1], G[2]};

      for (PetscInt c = 0; c < 3; c++) G[c] = TURN_BACK(Q, g, c);
    }
    for (PetscInt i = 0; i < nn; i++) {
      VEC b[3], t[3];

      if (any) {
        for (PetscInt c = 0; c < 3; c++) {
          b[c] = G[c];
          if (p->u) b[c] -= p->c * GET(p->u, 3 * i + c);
          if (p->du) b[c] -= p->s * GET(p->du, 3 * i + c);
          b[c] *= m[i];
          if (p->force) b[c] += p->h * GET(p->force, 3 * i + c);
        }
        for (PetscInt c = 0; c < 3; c++) t[c] = TURN_BACK(Q, b, c);
      } else
        for (PetscInt c = 0; c < 3; c++) t[c] = m[i] * G[c];
      if (kind == 1)
        for (PetscInt c = 0; c < 3; c++) t[c] += p->k * m[i] * GET(p->y, 3 * i + c);
      if (kind == 2)
        for (PetscInt c = 0; c < 3; c++) t[c] -= p->h * GET(p->f, 3 * i + c);
      for (PetscInt c = 0; c < 3; c++) PUT(r, 3 * i + c, t[c]);
    }
  }
}
static TARGET void NAME(Load)(PetscInt nn, PetscInt w, const PetscReal *R, const PetscReal *m, const LanesLoads *p, PetscReal *r)
{
  const PetscBool any = p->force || p->u || p->du ? PETSC_TRUE : PETSC_FALSE;

#define CALL(kind) \
  do { \
    if (any) NAME(LoadOf)(PETSC_TRUE, kind, nn, w, R, m, p, r); \
    else NAME(LoadOf)(PETSC_FALSE, kind, nn, w, R, m, p, r); \
  } while (0)
  if (p->y) CALL(1);
  else if (p->f) CALL(2);
  else CALL(0);
#undef CALL
}

INLINE TARGET void NAME(SumsOf)(const PetscBool mass, PetscInt nn, PetscInt w, const PetscReal *m, const PetscReal *f, const PetscReal *x, const PetscReal *a, PetscReal *restrict P, PetscReal *restrict T)
{
  CHUNKS
  {
    VEC S[3] = {ZERO, ZERO, ZERO}, Q[3] = {ZERO, ZERO, ZERO}, A[3];

    GET_ALL(A, 3, a);
    for (PetscInt i = 0; i < nn; i++) {
      VEC r[3], b[3];

      for (PetscInt c = 0; c < 3; c++) {
        r[c] = GET(x, 3 * i + c) - A[c];
        b[c] = GET(f, 3 * i + c);
        if (mass) b[c] *= m[i];
        S[c] += b[c];
      }
      Q[0] += r[1] * b[2] - r[2] * b[1];
      Q[1] += r[2] * b[0] - r[0] * b[2];
      Q[2] += r[0] * b[1] - r[1] * b[0];
    }
    PUT_ALL(P, 3, S);
    PUT_ALL(T, 3, Q);
  }
}
static TARGET void NAME(Sums)(PetscInt nn, PetscInt w, const PetscReal *m, const PetscReal *f, const PetscReal *x, const PetscReal *a, PetscReal *P, PetscReal *T)
{
  if (m) NAME(SumsOf)(PETSC_TRUE, nn, w, m, f, x, a, P, T);
  else NAME(SumsOf)(PETSC_FALSE, nn, w, NULL, f, x, a, P, T);
}

static TARGET void NAME(Twist)(PetscInt nn, PetscInt w, const PetscReal *x, const PetscReal *a, const PetscReal *shift, const PetscReal *turn, PetscReal *restrict du)
{
  CHUNKS
  {
    VEC A[3], C[3], T[3];

    GET_ALL(A, 3, a);
    GET_ALL(C, 3, shift);
    GET_ALL(T, 3, turn);
    for (PetscInt i = 0; i < nn; i++) {
      const VEC r[3] = {GET(x, 3 * i) - A[0], GET(x, 3 * i + 1) - A[1], GET(x, 3 * i + 2) - A[2]};

      PUT(du, 3 * i, GET(du, 3 * i) + C[0] + (T[1] * r[2] - T[2] * r[1]));
      PUT(du, 3 * i + 1, GET(du, 3 * i + 1) + C[1] + (T[2] * r[0] - T[0] * r[2]));
      PUT(du, 3 * i + 2, GET(du, 3 * i + 2) + C[2] + (T[0] * r[1] - T[1] * r[0]));
    }
  }
}

INLINE TARGET void NAME(AdvanceOf)(const PetscBool rigid, PetscInt nn, PetscInt w, const PetscReal *m, PetscReal s, const PetscReal *qh, const PetscReal *a, const PetscReal *shift, const PetscReal *turn,
                                   PetscReal *restrict du, PetscReal *restrict u, PetscReal *restrict q, PetscReal *restrict p)
{
  CHUNKS
  {
    VEC P[3] = {ZERO, ZERO, ZERO}, A[3], C[3], T[3];

    if (rigid) {
      GET_ALL(A, 3, a);
      GET_ALL(C, 3, shift);
      GET_ALL(T, 3, turn);
    }
    for (PetscInt i = 0; i < nn; i++) {
      VEC x[3], d[3];

      for (PetscInt c = 0; c < 3; c++) {
        x[c] = GET(qh, 3 * i + c);
        d[c] = GET(du, 3 * i + c);
      }
      if (rigid) {
        const VEC r[3] = {x[0] - A[0], x[1] - A[1], x[2] - A[2]};

        d[0] += C[0] + (T[1] * r[2] - T[2] * r[1]);
        d[1] += C[1] + (T[2] * r[0] - T[0] * r[2]);
        d[2] += C[2] + (T[0] * r[1] - T[1] * r[0]);
      }
      for (PetscInt c = 0; c < 3; c++) {
        const VEC v = GET(u, 3 * i + c) + d[c];

        if (rigid) PUT(du, 3 * i + c, d[c]);
        P[c] += m[i] * d[c];
        PUT(u, 3 * i + c, v);
        PUT(q, 3 * i + c, x[c] + s * v);
      }
    }
    PUT_ALL(p, 3, P);
  }
}
static TARGET void NAME(Advance)(PetscInt nn, PetscInt w, const PetscReal *m, PetscReal s, const PetscReal *qh, const PetscReal *a, const PetscReal *shift, const PetscReal *turn, PetscReal *du, PetscReal *u,
                                 PetscReal *q, PetscReal *p)
{
  if (shift) NAME(AdvanceOf)(PETSC_TRUE, nn, w, m, s, qh, a, shift, turn, du, u, q, p);
  else NAME(AdvanceOf)(PETSC_FALSE, nn, w, m, s, qh, NULL, NULL, NULL, du, u, q, p);
}

/* Sum of x y, of m x y if there is m; three sums, since one would wait for its own result */
static TARGET void NAME(Dot)(PetscInt nn, PetscInt w, const PetscReal *m, const PetscReal *x, const PetscReal *y, PetscReal *restrict s)
{
  CHUNKS
  {
    VEC S[3] = {ZERO, ZERO, ZERO};

    for (PetscInt i = 0; i < nn; i++)
      for (PetscInt c = 0; c < 3; c++) S[c] += (m ? m[i] : 1) * GET(x, 3 * i + c) * GET(y, 3 * i + c);
    PUT(s, 0, S[0] + S[1] + S[2]);
  }
}

#if VL > 1
static TARGET void NAME(Columns)(PetscInt n, const PetscReal *c, PetscInt ld, const PetscReal f[3], PetscReal *restrict y)
{
  const PetscReal *c0 = c, *c1 = c + ld, *c2 = c + 2 * ld, f0 = f[0], f1 = f[1], f2 = f[2];

  #pragma omp simd
  for (PetscInt i = 0; i < n; i++) y[i] += f0 * c0[i] + f1 * c1[i] + f2 * c2[i];
}
#endif

/* Newton's iteration R <- (s R + R^-T / s) / 2 with Higham's scaling in the Frobenius norm; quadratic, all lanes of a vector at once. */
static TARGET void NAME(Polar)(PetscInt w, const PetscReal *F, PetscReal *restrict R, PetscReal *restrict det)
{
  CHUNKS
  {
    PetscReal worst = 1;
    VEC       A[9];

    GET_ALL(A, 9, F);
    for (PetscInt it = 0; it < 40; it++) {
      VEC C[9], d, s = ZERO + 1, is, n2 = ZERO, c2 = ZERO, change = ZERO;

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
      if (it == 0) PUT(det, 0, d);
      if (worst > 1e-2) { /* s^2 = |A^-1| / |A|; unscaled near the end, where it would only add noise */
        for (PetscInt k = 0; k < 9; k++) {
          n2 += A[k] * A[k];
          c2 += C[k] * C[k];
        }
        s = SQRT((c2 / n2) / (d * d));
        s = SQRT(s);
      }
      is = 0.5 / (s * d);
      s  = 0.5 * s;
      for (PetscInt k = 0; k < 9; k++) {
        const VEC r = s * A[k] + is * C[k], e = r - A[k];

        change += e * e;
        A[k] = r;
      }
      worst = 0;
#if VL == 1
      worst = change;
#else
      for (PetscInt k = 0; k < VL; k++) worst = PetscMax(worst, change[k]);
#endif
      worst = PetscSqrtReal(worst);
      if (!(worst > 1e-9)) break; /* quadratic: the next change would be below round-off */
    }
    PUT_ALL(R, 9, A);
  }
}

#undef W
#undef VEC
#undef CHUNKS
#undef GET
#undef PUT
#undef ZERO
#undef TURN_BACK
#undef TURN
#undef GET_ALL
#undef PUT_ALL
#undef SQRT
#undef VL
#undef TARGET
#undef NAME
