/* y = K x and z.K z with symmetric 3x3 blocks for one instruction set: included by block_product.c with VL (doubles per vector), NV (vectors at
   once), TARGET (function attribute), NAME(f). No include guard: included several times. Every sum is a chain of acc + a * x, so that
   it is contracted to fused operations in one way only and the bits do not depend on what is computed beside it. */

typedef double NAME(vec) __attribute__((vector_size(8 * VL), aligned(8), may_alias));
#define VEC         NAME(vec)
#define LOAD(p)     (*(const VEC *)(p))
#define STORE(p, v) (*(VEC *)(p) = (v))
#define INLINE      static inline __attribute__((always_inline)) TARGET

/* Block row i, one column, one lane: a column of three is a pair and one. Sums apart for the three columns of a block, since a single
   chain would wait for its own result. */
INLINE void NAME(RowOne)(PetscInt i, PetscInt n, const PetscInt *ja, const PetscReal *a, const PetscReal *x, PetscReal *y)
{
  typedef double pair __attribute__((vector_size(16), aligned(8), may_alias));
  const PetscReal x0 = x[3 * i], x1 = x[3 * i + 1], x2 = x[3 * i + 2];
  pair            s0 = *(const pair *)a * x0, s1 = *(const pair *)(a + 3) * x1, s2 = *(const pair *)(a + 6) * x2;
  PetscReal       t0 = a[6] * x0, t1 = a[7] * x1, t2 = a[8] * x2;

  s0[1] = a[3] * x0; /* the diagonal block by its upper triangle */
  for (PetscInt k = 1; k < n; k++) {
    const PetscInt   j  = ja[k];
    const PetscReal *xj = x + 3 * j;
    PetscReal       *yj = y + 3 * j;

    a += 9;
    {
      const pair a0 = *(const pair *)a, a1 = *(const pair *)(a + 3), a2 = *(const pair *)(a + 6);
      pair       u  = *(const pair *)yj;
      PetscReal  v  = yj[2];

      s0 += a0 * xj[0];
      s1 += a1 * xj[1];
      s2 += a2 * xj[2];
      t0 += a[2] * xj[0];
      t1 += a[5] * xj[1];
      t2 += a[8] * xj[2];
      u += __builtin_shufflevector(a0, a1, 0, 2) * x0;
      u += __builtin_shufflevector(a0, a1, 1, 3) * x1;
      u += (pair){a[2], a[5]} * x2;
      v += a[6] * x0;
      v += a[7] * x1;
      v += a[8] * x2;
      *(pair *)yj = u;
      yj[2]       = v;
    }
  }
  s0 += s1;
  s0 += s2;
  *(pair *)(y + 3 * i) += s0;
  y[3 * i + 2] += t0 + t1 + t2;
}

/* x_i . (K_ii x_i / 2 + sum over j > i of K_ij x_j), one lane */
INLINE PetscReal NAME(FormOne)(PetscInt i, PetscInt n, const PetscInt *ja, const PetscReal *a, const PetscReal *x)
{
  typedef double pair __attribute__((vector_size(16), aligned(8), may_alias));
  const PetscReal x0 = x[3 * i], x1 = x[3 * i + 1], x2 = x[3 * i + 2];
  pair            s0 = *(const pair *)a * (0.5 * x0), s1 = *(const pair *)(a + 3) * (0.5 * x1), s2 = *(const pair *)(a + 6) * (0.5 * x2);
  PetscReal       t0 = 0.5 * a[6] * x0, t1 = 0.5 * a[7] * x1, t2 = 0.5 * a[8] * x2;

  s0[1] = 0.5 * a[3] * x0;
  for (PetscInt k = 1; k < n; k++) {
    const PetscReal *xj = x + 3 * ja[k];

    a += 9;
    s0 += *(const pair *)a * xj[0];
    s1 += *(const pair *)(a + 3) * xj[1];
    s2 += *(const pair *)(a + 6) * xj[2];
    t0 += a[2] * xj[0];
    t1 += a[5] * xj[1];
    t2 += a[8] * xj[2];
  }
  s0 += s1;
  s0 += s2;
  return s0[0] * x0 + s0[1] * x1 + (t0 + t1 + t2) * x2;
}

static TARGET void NAME(ProductOne)(const BlockPattern *p, const PetscReal *a, PetscInt ncol, const PetscReal *const x[], PetscReal *const y[], PetscInt nform, const PetscReal *const z[], PetscReal *const form[])
{
  for (PetscInt c = 0; c < nform; c++) form[c][0] = 0;
  for (PetscInt c = 0; c < ncol; c++) memset(y[c], 0, 3 * (size_t)p->nb * sizeof(PetscReal));
  /* the columns one after the other within a block row: its values are then in the nearest cache */
  for (PetscInt i = 0; i < p->nb; i++) {
    const PetscInt  *ja = p->ja + p->ia[i], n = p->ia[i + 1] - p->ia[i];
    const PetscReal *v  = a + 9 * (size_t)p->ia[i];

    for (PetscInt c = 0; c < ncol; c++) NAME(RowOne)(i, n, ja, v, x[c], y[c]);
    for (PetscInt c = 0; c < nform; c++) form[c][0] += 2 * NAME(FormOne)(i, n, ja, v, z[c]);
  }
}

/* Block row i, one column, nv * VL lanes */
INLINE void NAME(RowLanes)(const PetscInt nv, PetscInt i, PetscInt n, const PetscInt *ja, const PetscReal *a, size_t lanes, const PetscReal *x, PetscReal *y)
{
  VEC xi[3][NV], s[3][NV];

  for (PetscInt r = 0; r < 3; r++)
    for (PetscInt g = 0; g < nv; g++) xi[r][g] = LOAD(x + (3 * (size_t)i + r) * lanes + VL * g);
  for (PetscInt r = 0; r < 3; r++) {
    for (PetscInt g = 0; g < nv; g++) {
      s[r][g] = LOAD(y + (3 * (size_t)i + r) * lanes + VL * g);
      for (PetscInt c = 0; c < 3; c++) s[r][g] += a[r < c ? r + 3 * c : c + 3 * r] * xi[c][g];
    }
  }
  for (PetscInt k = 1; k < n; k++) {
    const PetscReal *xj = x + 3 * (size_t)ja[k] * lanes;
    PetscReal       *yj = y + 3 * (size_t)ja[k] * lanes;

    a += 9;
    for (PetscInt c = 0; c < 3; c++) {
      for (PetscInt g = 0; g < nv; g++) {
        const VEC e = LOAD(xj + lanes * c + VL * g);
        VEC       u = LOAD(yj + lanes * c + VL * g);

        for (PetscInt r = 0; r < 3; r++) {
          s[r][g] += a[r + 3 * c] * e;
          u += a[r + 3 * c] * xi[r][g];
        }
        STORE(yj + lanes * c + VL * g, u);
      }
    }
  }
  for (PetscInt r = 0; r < 3; r++)
    for (PetscInt g = 0; g < nv; g++) STORE(y + (3 * (size_t)i + r) * lanes + VL * g, s[r][g]);
}

/* form += 2 x_i . (K_ii x_i / 2 + sum over j > i of K_ij x_j), nv * VL lanes */
INLINE void NAME(FormLanes)(const PetscInt nv, PetscInt i, PetscInt n, const PetscInt *ja, const PetscReal *a, size_t lanes, const PetscReal *x, PetscReal *form)
{
  VEC xi[3][NV], s[3][NV];

  for (PetscInt r = 0; r < 3; r++)
    for (PetscInt g = 0; g < nv; g++) xi[r][g] = LOAD(x + (3 * (size_t)i + r) * lanes + VL * g);
  for (PetscInt r = 0; r < 3; r++) {
    for (PetscInt g = 0; g < nv; g++) {
      s[r][g] = a[4 * r] * xi[r][g];
      for (PetscInt c = 0; c < 3; c++)
        if (c != r) s[r][g] += a[r < c ? r + 3 * c : c + 3 * r] * xi[c][g];
      s[r][g] *= 0.5;
    }
  }
  for (PetscInt k = 1; k < n; k++) {
    const PetscReal *xj = x + 3 * (size_t)ja[k] * lanes;

    a += 9;
    for (PetscInt c = 0; c < 3; c++) {
      for (PetscInt g = 0; g < nv; g++) {
        const VEC e = LOAD(xj + lanes * c + VL * g);

        for (PetscInt r = 0; r < 3; r++) s[r][g] += a[r + 3 * c] * e;
      }
    }
  }
  for (PetscInt g = 0; g < nv; g++) {
    VEC f = s[0][g] * xi[0][g];

    f += s[1][g] * xi[1][g];
    f += s[2][g] * xi[2][g];
    STORE(form + VL * g, LOAD(form + VL * g) + 2 * f);
  }
}

static TARGET void NAME(ProductLanes)(const BlockPattern *p, const PetscReal *a, size_t lanes, PetscInt ncol, const PetscReal *const x[], PetscReal *const y[], PetscInt nform, const PetscReal *const z[], PetscReal *const form[])
{
  for (PetscInt c = 0; c < nform; c++) memset(form[c], 0, lanes * sizeof(PetscReal));
  for (PetscInt c = 0; c < ncol; c++) memset(y[c], 0, 3 * (size_t)p->nb * lanes * sizeof(PetscReal));
  for (size_t l = 0; l < lanes;) {
    const PetscBool wide = l + VL * NV <= lanes ? PETSC_TRUE : PETSC_FALSE;

    for (PetscInt i = 0; i < p->nb; i++) {
      const PetscInt  *ja = p->ja + p->ia[i], n = p->ia[i + 1] - p->ia[i];
      const PetscReal *v  = a + 9 * (size_t)p->ia[i];

      for (PetscInt c = 0; c < ncol; c++) {
        if (wide) NAME(RowLanes)(NV, i, n, ja, v, lanes, x[c] + l, y[c] + l);
        else NAME(RowLanes)(1, i, n, ja, v, lanes, x[c] + l, y[c] + l);
      }
      for (PetscInt c = 0; c < nform; c++) {
        if (wide) NAME(FormLanes)(NV, i, n, ja, v, lanes, z[c] + l, form[c] + l);
        else NAME(FormLanes)(1, i, n, ja, v, lanes, z[c] + l, form[c] + l);
      }
    }
    l += wide ? VL * NV : VL;
  }
}

#undef VEC
#undef LOAD
#undef STORE
#undef INLINE
#undef VL
#undef NV
#undef TARGET
#undef NAME
