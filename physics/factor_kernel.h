/* Triangular solves with the packed factor for one instruction set: included by factor_solve.c with
     VL (doubles per vector), TARGET (function attribute), NAME(f) (f with the set's suffix), VALUE (type of the factor's numbers: double, or
   float, which are halved in what is read and widened to double for the arithmetic). No include guard: included several times. */

typedef double NAME(vec) __attribute__((vector_size(8 * VL), aligned(8), may_alias));
typedef VALUE NAME(val) __attribute__((vector_size(sizeof(VALUE) * VL), aligned(sizeof(VALUE)), may_alias));
#define VEC           NAME(vec)
#define HALF          (FACTOR_TILE / VL) /* vectors per tile */
#define LOAD(p)       (*(const VEC *)(p))
#define WIDEN(p)      __builtin_convertvector(*(const NAME(val) *)(p), VEC)
#define STORE(p, v)   (*(VEC *)(p) = (v))
#define INLINE        static inline __attribute__((always_inline)) TARGET

/* ---- one right-hand side: vectors along the rows ---- */

/* b: the supernode's part of x from the panel on; forward substitution of w columns with m rows under them */
INLINE void NAME(ForwardPanel)(const PetscInt w, const VALUE *v, PetscInt m, PetscReal *b)
{
  PetscReal d[FACTOR_PANEL];

  for (PetscInt i = 0; i < w; i++) {
    d[i] = v[i] * b[0];
    for (PetscInt j = 1; j <= i; j++) d[i] += v[i + w * j] * b[j];
  }
  for (PetscInt i = 0; i < w; i++) b[i] = d[i];
  v += FactorDiagonalSize_Private(w);
  b += w;
  for (PetscInt t = 0; t < m; t += FACTOR_TILE, v += FACTOR_TILE * w, b += FACTOR_TILE) {
    for (PetscInt h = 0; h < HALF; h++) {
      VEC e = LOAD(b + VL * h);

      for (PetscInt j = 0; j < w; j++) e -= WIDEN(v + FACTOR_TILE * j + VL * h) * d[j];
      STORE(b + VL * h, e);
    }
  }
}

INLINE void NAME(BackwardPanel)(const PetscInt w, const VALUE *v, PetscInt m, PetscReal *b)
{
  typedef double four __attribute__((vector_size(32), aligned(8), may_alias));
  const VALUE     *l = v + FactorDiagonalSize_Private(w);
  const PetscReal *c = b + w;
  VEC              acc[FACTOR_PANEL];
  four             q[FACTOR_PANEL];
  PetscReal        d[FACTOR_PANEL];

  for (PetscInt j = 0; j < FACTOR_PANEL; j++) acc[j] = (VEC){0};
  for (PetscInt t = 0; t < m; t += FACTOR_TILE, l += FACTOR_TILE * w, c += FACTOR_TILE) {
    for (PetscInt h = 0; h < HALF; h++) {
      const VEC e = LOAD(c + VL * h);

      for (PetscInt j = 0; j < w; j++) acc[j] += WIDEN(l + FACTOR_TILE * j + VL * h) * e;
    }
  }
  /* the four sums by transposing */
  for (PetscInt j = 0; j < FACTOR_PANEL; j++) {
#if VL == 8
    q[j] = __builtin_shufflevector(acc[j], acc[j], 0, 1, 2, 3) + __builtin_shufflevector(acc[j], acc[j], 4, 5, 6, 7);
#elif VL == 4
    q[j] = acc[j];
#else
    q[j] = (four){acc[j][0], acc[j][1], 0, 0};
#endif
  }
  q[0] = __builtin_shufflevector(q[0], q[1], 0, 4, 2, 6) + __builtin_shufflevector(q[0], q[1], 1, 5, 3, 7);
  q[2] = __builtin_shufflevector(q[2], q[3], 0, 4, 2, 6) + __builtin_shufflevector(q[2], q[3], 1, 5, 3, 7);
  q[0] = __builtin_shufflevector(q[0], q[2], 0, 1, 4, 5) + __builtin_shufflevector(q[0], q[2], 2, 3, 6, 7);
  for (PetscInt j = 0; j < w; j++) d[j] = b[j] - q[0][j];
  for (PetscInt j = 0; j < w; j++) {
    PetscReal s = v[j + w * j] * d[j];

    for (PetscInt i = j + 1; i < w; i++) s += v[i + w * j] * d[i];
    b[j] = s;
  }
}

static TARGET void NAME(SolveOne)(const FactorPack *p, PetscReal *x, PetscReal *work)
{
  PetscReal *restrict z = work, *restrict b = work + p->n; /* b: one supernode's part of x, so that scattered rows are met once */

  for (PetscInt i = 0; i < p->n; i++) z[i] = x[p->perm[i]];
  for (PetscInt s = 0; s < p->nsuper; s++) {
    const PetscInt   c0 = p->super[s], ns = p->super[s + 1] - c0, nr = p->rowptr[s + 1] - p->rowptr[s], np = FactorPanels_Private(ns);
    const int       *row = p->row + p->rowptr[s];
    const VALUE     *v   = (const VALUE *)p->val + p->start[s];

    for (PetscInt t = 0; t < ns; t++) b[t] = z[c0 + t];
    for (PetscInt t = ns; t < nr; t++) b[t] = z[row[t]];
    for (PetscInt t = nr; t < nr + FACTOR_TILE; t++) b[t] = 0;
    for (PetscInt i = 0; i < np; i++) {
      const PetscInt k = FactorPanelFirst_Private(ns, np, i), w = FactorPanelWidth_Private(ns, np, i), m = nr - k - w;

      switch (w) {
      case 1: NAME(ForwardPanel)(1, v, m, b + k); break;
      case 2: NAME(ForwardPanel)(2, v, m, b + k); break;
      case 3: NAME(ForwardPanel)(3, v, m, b + k); break;
      default: NAME(ForwardPanel)(4, v, m, b + k); break;
      }
      v += FactorPanelSize_Private(w, m);
    }
    for (PetscInt t = 0; t < ns; t++) z[c0 + t] = b[t];
    for (PetscInt t = ns; t < nr; t++) z[row[t]] = b[t];
  }
  for (PetscInt s = p->nsuper - 1; s >= 0; s--) {
    const PetscInt   c0 = p->super[s], ns = p->super[s + 1] - c0, nr = p->rowptr[s + 1] - p->rowptr[s], np = FactorPanels_Private(ns);
    const int       *row = p->row + p->rowptr[s];
    const VALUE     *v   = (const VALUE *)p->val + p->start[s + 1];

    for (PetscInt t = 0; t < ns; t++) b[t] = z[c0 + t];
    for (PetscInt t = ns; t < nr; t++) b[t] = z[row[t]];
    for (PetscInt t = nr; t < nr + FACTOR_TILE; t++) b[t] = 0;
    for (PetscInt i = np - 1; i >= 0; i--) {
      const PetscInt k = FactorPanelFirst_Private(ns, np, i), w = FactorPanelWidth_Private(ns, np, i), m = nr - k - w;

      v -= FactorPanelSize_Private(w, m);
      switch (w) {
      case 1: NAME(BackwardPanel)(1, v, m, b + k); break;
      case 2: NAME(BackwardPanel)(2, v, m, b + k); break;
      case 3: NAME(BackwardPanel)(3, v, m, b + k); break;
      default: NAME(BackwardPanel)(4, v, m, b + k); break;
      }
    }
    for (PetscInt t = 0; t < ns; t++) z[c0 + t] = b[t];
  }
  for (PetscInt i = 0; i < p->n; i++) x[p->perm[i]] = z[i];
}

/* ---- many right-hand sides: vectors along the lanes, nv of them at once ---- */

#define S (VL * nv) /* lanes at once: z is [n][S] */
INLINE void NAME(ForwardLanes)(const PetscInt w, const PetscInt nv, const VALUE *v, PetscInt m, const int *row, PetscReal *z)
{
  PetscReal *zc = z + (size_t)row[0] * S;
  VEC        d[FACTOR_PANEL][2];

  for (PetscInt i = 0; i < w; i++) {
    for (PetscInt g = 0; g < nv; g++) {
      d[i][g] = v[i] * LOAD(zc + VL * g);
      for (PetscInt j = 1; j <= i; j++) d[i][g] += v[i + w * j] * LOAD(zc + S * j + VL * g);
    }
  }
  for (PetscInt i = 0; i < w; i++)
    for (PetscInt g = 0; g < nv; g++) STORE(zc + S * i + VL * g, d[i][g]);
  v += FactorDiagonalSize_Private(w);
  row += w;
  for (PetscInt t = 0; t < m; t += FACTOR_TILE, v += FACTOR_TILE * w, row += FACTOR_TILE) {
    const PetscInt mt = PetscMin(FACTOR_TILE, m - t);

    for (PetscInt r = 0; r < mt; r++) {
      PetscReal *zr = z + (size_t)row[r] * S;
      VEC        e[2];

      for (PetscInt g = 0; g < nv; g++) e[g] = LOAD(zr + VL * g);
      for (PetscInt j = 0; j < w; j++)
        for (PetscInt g = 0; g < nv; g++) e[g] -= v[FACTOR_TILE * j + r] * d[j][g];
      for (PetscInt g = 0; g < nv; g++) STORE(zr + VL * g, e[g]);
    }
  }
}

INLINE void NAME(BackwardLanes)(const PetscInt w, const PetscInt nv, const VALUE *v, PetscInt m, const int *row, PetscReal *z)
{
  const VALUE *l  = v + FactorDiagonalSize_Private(w);
  PetscReal   *zc = z + (size_t)row[0] * S;
  VEC              d[FACTOR_PANEL][2];

  for (PetscInt j = 0; j < w; j++)
    for (PetscInt g = 0; g < nv; g++) d[j][g] = LOAD(zc + S * j + VL * g);
  row += w;
  for (PetscInt t = 0; t < m; t += FACTOR_TILE, l += FACTOR_TILE * w, row += FACTOR_TILE) {
    const PetscInt mt = PetscMin(FACTOR_TILE, m - t);

    for (PetscInt r = 0; r < mt; r++) {
      const PetscReal *zr = z + (size_t)row[r] * S;
      VEC              e[2];

      for (PetscInt g = 0; g < nv; g++) e[g] = LOAD(zr + VL * g);
      for (PetscInt j = 0; j < w; j++)
        for (PetscInt g = 0; g < nv; g++) d[j][g] -= l[FACTOR_TILE * j + r] * e[g];
    }
  }
  for (PetscInt j = 0; j < w; j++) {
    for (PetscInt g = 0; g < nv; g++) {
      VEC e = v[j + w * j] * d[j][g];

      for (PetscInt i = j + 1; i < w; i++) e += v[i + w * j] * d[i][g];
      STORE(zc + S * j + VL * g, e);
    }
  }
}

INLINE void NAME(SolveLanesChunk)(const FactorPack *p, const PetscInt nv, PetscInt lanes, PetscReal *x, PetscReal *z)
{
  for (PetscInt i = 0; i < p->n; i++)
    for (PetscInt g = 0; g < nv; g++) STORE(z + (size_t)i * S + VL * g, LOAD(x + (size_t)p->perm[i] * lanes + VL * g));
  for (PetscInt s = 0; s < p->nsuper; s++) {
    const PetscInt   ns = p->super[s + 1] - p->super[s], nr = p->rowptr[s + 1] - p->rowptr[s], np = FactorPanels_Private(ns);
    const int       *row = p->row + p->rowptr[s];
    const VALUE     *v   = (const VALUE *)p->val + p->start[s];

    for (PetscInt i = 0; i < np; i++) {
      const PetscInt k = FactorPanelFirst_Private(ns, np, i), w = FactorPanelWidth_Private(ns, np, i), m = nr - k - w;

      switch (w) {
      case 1: NAME(ForwardLanes)(1, nv, v, m, row + k, z); break;
      case 2: NAME(ForwardLanes)(2, nv, v, m, row + k, z); break;
      case 3: NAME(ForwardLanes)(3, nv, v, m, row + k, z); break;
      default: NAME(ForwardLanes)(4, nv, v, m, row + k, z); break;
      }
      v += FactorPanelSize_Private(w, m);
    }
  }
  for (PetscInt s = p->nsuper - 1; s >= 0; s--) {
    const PetscInt   ns = p->super[s + 1] - p->super[s], nr = p->rowptr[s + 1] - p->rowptr[s], np = FactorPanels_Private(ns);
    const int       *row = p->row + p->rowptr[s];
    const VALUE     *v   = (const VALUE *)p->val + p->start[s + 1];

    for (PetscInt i = np - 1; i >= 0; i--) {
      const PetscInt k = FactorPanelFirst_Private(ns, np, i), w = FactorPanelWidth_Private(ns, np, i), m = nr - k - w;

      v -= FactorPanelSize_Private(w, m);
      switch (w) {
      case 1: NAME(BackwardLanes)(1, nv, v, m, row + k, z); break;
      case 2: NAME(BackwardLanes)(2, nv, v, m, row + k, z); break;
      case 3: NAME(BackwardLanes)(3, nv, v, m, row + k, z); break;
      default: NAME(BackwardLanes)(4, nv, v, m, row + k, z); break;
      }
    }
  }
  for (PetscInt i = 0; i < p->n; i++)
    for (PetscInt g = 0; g < nv; g++) STORE(x + (size_t)p->perm[i] * lanes + VL * g, LOAD(z + (size_t)i * S + VL * g));
}
#undef S

static TARGET void NAME(SolveLanes)(const FactorPack *p, PetscInt lanes, PetscReal *x, PetscReal *z)
{
  PetscInt l = 0;

  for (; l + 2 * VL <= lanes; l += 2 * VL) NAME(SolveLanesChunk)(p, 2, lanes, x + l, z);
  for (; l < lanes; l += VL) NAME(SolveLanesChunk)(p, 1, lanes, x + l, z);
}

#undef VEC
#undef HALF
#undef LOAD
#undef WIDEN
#undef STORE
#undef INLINE
#undef VL
#undef TARGET
#undef NAME
#undef VALUE
