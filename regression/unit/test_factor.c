/* Factor and BlockProduct against dense LAPACK, residuals, and their promises on bits, lanes, indefinite and singular matrices. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <math.h>
#include <string.h>
#include "physics/factor_impl.h"
#include "regression/bench/block_problem.h"

#define OK(call) assert_int_equal(call, 0)

static const PetscInt widths[] = {0, 2, 4, 8}; /* wider than the hardware means the best */

static PetscReal *RandomArray(size_t n, unsigned seed)
{
  PetscReal *x;

  OK(PetscMalloc1(n, &x));
  for (size_t i = 0; i < n; i++) x[i] = ProblemRandom(&seed);
  return x;
}

/* Largest |x - y| over largest |y|; NaN if there is one */
static PetscReal Difference(size_t n, const PetscReal *x, const PetscReal *y)
{
  PetscReal d = 0, m = 0;

  for (size_t i = 0; i < n; i++) {
    if (!(PetscAbsReal(x[i] - y[i]) <= d)) d = PetscAbsReal(x[i] - y[i]);
    m = PetscMax(m, PetscAbsReal(y[i]));
  }
  return d / m;
}

static Mat Dense(const Problem *q)
{
  Mat D;

  OK(MatCreateSeqDense(PETSC_COMM_SELF, 3 * q->p.nb, 3 * q->p.nb, NULL, &D));
  for (PetscInt i = 0; i < q->p.nb; i++)
    for (PetscInt k = q->ia[i]; k < q->ia[i + 1]; k++)
      for (PetscInt r = 0; r < 3; r++)
        for (PetscInt c = 0; c < 3; c++) {
          const PetscInt u = 3 * i + r, v = 3 * q->ja[k] + c;

          if (v < u) continue; /* the upper triangle of the diagonal block */
          OK(MatSetValue(D, u, v, q->a[9 * k + r + 3 * c], INSERT_VALUES));
          OK(MatSetValue(D, v, u, q->a[9 * k + r + 3 * c], INSERT_VALUES));
        }
  OK(MatAssemblyBegin(D, MAT_FINAL_ASSEMBLY));
  OK(MatAssemblyEnd(D, MAT_FINAL_ASSEMBLY));
  return D;
}

/* y = A^-1 x (solve) or A x by dense matrices */
static void DenseApply(const Problem *q, PetscBool solve, const PetscReal *x, PetscReal *y)
{
  const PetscInt n = 3 * q->p.nb;
  Mat            D = Dense(q);
  Vec            b, u;

  OK(VecCreateSeqWithArray(PETSC_COMM_SELF, 1, n, x, &b));
  OK(VecCreateSeqWithArray(PETSC_COMM_SELF, 1, n, y, &u));
  if (solve) {
    OK(MatLUFactor(D, NULL, NULL, NULL));
    OK(MatSolve(D, b, u));
  } else OK(MatMult(D, b, u));
  OK(VecDestroy(&b));
  OK(VecDestroy(&u));
  OK(MatDestroy(&D));
}

/* |A x - b| / |b| in the largest norm, by a plain product in long double */
static PetscReal Residual(const Problem *q, const PetscReal *x, const PetscReal *b)
{
  const PetscInt n = 3 * q->p.nb;
  long double   *y;
  PetscReal     *z, d;

  OK(PetscCalloc2(n, &y, n, &z));
  for (PetscInt i = 0; i < q->p.nb; i++)
    for (PetscInt k = q->ia[i]; k < q->ia[i + 1]; k++)
      for (PetscInt r = 0; r < 3; r++)
        for (PetscInt c = 0; c < 3; c++) {
          const PetscInt u = 3 * i + r, v = 3 * q->ja[k] + c;

          if (v >= u) y[u] += (long double)q->a[9 * k + r + 3 * c] * x[v];
          if (v > u) y[v] += (long double)q->a[9 * k + r + 3 * c] * x[u];
        }
  for (PetscInt i = 0; i < n; i++) z[i] = (PetscReal)y[i];
  d = Difference(n, z, b);
  OK(PetscFree2(y, z));
  return d;
}

/* Makes it indefinite, well away from singular: the first third of the nodes changes the sign of its diagonal and grows */
static void MakeIndefinite(Problem *q)
{
  for (PetscInt i = 0; i < PetscMax(1, q->p.nb / 3); i++)
    for (PetscInt r = 0; r < 3; r++) q->a[9 * q->ia[i] + 4 * r] = -20 - q->a[9 * q->ia[i] + 4 * r];
}

static void test_small_dense(void **state)
{
  const PetscInt cells[4][3] = {{1, 1, 1}, {2, 1, 3}, {3, 5, 5}, {1, 9, 1}};

  (void)state;
  for (int m = 0; m < 4; m++) {
    Problem    q;
    Factor     f;
    PetscReal *b, *x, *y;
    PetscBool  definite;
    PetscInt   n;
    PetscInt64 nz;

    OK(ProblemCreate(cells[m], m == 3 ? PETSC_TRUE : PETSC_FALSE, 0.1, 3 + m, &q));
    n = 3 * q.p.nb;
    b = RandomArray(n, 5);
    OK(PetscMalloc2(n, &x, n, &y));
    DenseApply(&q, PETSC_TRUE, b, y);
    OK(FactorCreate(&q.p, &f));
    OK(FactorSetValues(f, q.a, &definite));
    assert_int_equal(definite, PETSC_TRUE);
    for (size_t w = 0; w < PETSC_STATIC_ARRAY_LENGTH(widths); w++) {
      OK(FactorSetSIMD(f, widths[w]));
      memcpy(x, b, n * sizeof(*x));
      OK(FactorSolve(f, 1, x));
      assert_true(Difference(n, x, y) < 1e-12);
    }
    OK(FactorGetInfo(f, &nz, NULL, NULL));
    assert_true(nz >= 6 * q.ia[q.p.nb] && nz <= n * (PetscInt64)(n + 1) / 2);
    OK(FactorDestroy(&f));
    OK(PetscFree2(x, y));
    OK(PetscFree(b));
    OK(ProblemDestroy(&q));
  }
}

static void test_mid_residual_and_lanes(void **state)
{
  const PetscInt cells[2][3] = {{12, 16, 3}, {6, 7, 8}}, lanes[] = {8, 24, 40};

  (void)state;
  for (int m = 0; m < 2; m++) {
    Problem    q;
    Factor     f;
    PetscInt   n;
    PetscReal *b;

    OK(ProblemCreate(cells[m], m ? PETSC_FALSE : PETSC_TRUE, 0.1, 7, &q));
    n = 3 * q.p.nb;
    b = RandomArray((size_t)n * 40, 9);
    OK(FactorCreate(&q.p, &f));
    OK(FactorSetValues(f, q.a, NULL));
    for (size_t w = 0; w < PETSC_STATIC_ARRAY_LENGTH(widths); w++) {
      PetscReal *one, *x, *lane;

      OK(FactorSetSIMD(f, widths[w]));
      OK(PetscMalloc3(n, &one, n, &lane, (size_t)n * 40, &x));
      memcpy(one, b, n * sizeof(*one));
      OK(FactorSolve(f, 1, one));
      assert_true(Residual(&q, one, b) < 1e-12);
      for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(lanes); k++) {
        const PetscInt s = lanes[k];

        memcpy(x, b, (size_t)n * s * sizeof(*x));
        OK(FactorSolve(f, s, x));
        for (PetscInt l = 0; l < s; l++) {
          for (PetscInt i = 0; i < n; i++) one[i] = b[(size_t)i * s + l];
          OK(FactorSolve(f, 1, one));
          for (PetscInt i = 0; i < n; i++) lane[i] = x[(size_t)i * s + l];
          assert_true(Difference(n, lane, one) < 1e-13);
        }
      }
      OK(PetscFree3(one, lane, x));
    }
    OK(FactorDestroy(&f));
    OK(PetscFree(b));
    OK(ProblemDestroy(&q));
  }
}

/* Single precision: 6 digits, 12 after one refinement, in every width, one by one and by lanes */
static void test_single(void **state)
{
  const PetscInt cells[2][3] = {{12, 16, 3}, {1, 1, 1}}, s = 24;

  (void)state;
  for (int m = 0; m < 2; m++) {
    Problem    q;
    Factor     f, g;
    PetscReal *b, *x, *y, *r;
    PetscInt   n;

    OK(ProblemCreate(cells[m], m ? PETSC_FALSE : PETSC_TRUE, 0.1, 7, &q));
    n = 3 * q.p.nb;
    b = RandomArray((size_t)n * s, 9);
    OK(PetscMalloc3(n * s, &x, n * s, &y, n, &r));
    OK(FactorCreate(&q.p, &f));
    OK(FactorCreateSingle(f, &g));
    assert_null(g); /* there is nothing to copy yet */
    OK(FactorSetValues(f, q.a, NULL));
    OK(FactorCreateSingle(f, &g));
    memcpy(x, b, n * sizeof(*x));
    OK(FactorSolve(f, 1, x));
    memcpy(y, b, n * sizeof(*y));
    OK(FactorSolve(g, 1, y));
    assert_true(Difference(n, y, x) < 1e-5 && Difference(n, y, x) > 1e-10);
    OK(FactorDestroy(&f)); /* it needs its source no more */
    for (size_t w = 0; w < PETSC_STATIC_ARRAY_LENGTH(widths); w++) {
      const PetscReal *cy = y;

      OK(FactorSetSIMD(g, widths[w]));
      memcpy(y, b, n * sizeof(*y));
      OK(FactorSolve(g, 1, y));
      OK(BlockProduct(&q.p, q.a, 1, 1, &cy, &r));
      for (PetscInt i = 0; i < n; i++) r[i] = b[i] - r[i];
      OK(FactorSolve(g, 1, r));
      for (PetscInt i = 0; i < n; i++) y[i] += r[i];
      assert_true(Difference(n, y, x) < 1e-10);
      memcpy(y, b, n * s * sizeof(*y));
      OK(FactorSolve(g, s, y));
      for (PetscInt l = 0; l < s; l++) {
        PetscReal *one = r, worst = 0, size = 0;

        for (PetscInt i = 0; i < n; i++) one[i] = b[i * s + l];
        OK(FactorSolve(g, 1, one));
        for (PetscInt i = 0; i < n; i++) {
          worst = PetscMax(worst, PetscAbsReal(y[i * s + l] - one[i]));
          size  = PetscMax(size, PetscAbsReal(one[i]));
        }
        assert_true(worst < 1e-13 * size); /* the arithmetic is in double precision */
      }
    }
    OK(PetscPushErrorHandler(PetscIgnoreErrorHandler, NULL));
    assert_int_equal(FactorSetValues(g, q.a, NULL), PETSC_ERR_ARG_WRONGSTATE);
    OK(PetscPopErrorHandler());
    OK(FactorDestroy(&g));
    OK(PetscFree3(x, y, r));
    OK(PetscFree(b));
    OK(ProblemDestroy(&q));
  }
}

/* A changed lane (even NaN) leaves the bits of all others; a lane has the same bits wherever it stands */
static void test_lanes_independent(void **state)
{
  const PetscInt cells[3] = {3, 4, 3}, s = 24;
  Problem        q;
  Factor         f;
  PetscInt       n;
  PetscReal     *b, *x, *y, *kx, *ky;

  (void)state;
  OK(ProblemCreate(cells, PETSC_FALSE, 0.1, 11, &q));
  n = 3 * q.p.nb;
  b = RandomArray((size_t)n * s, 13);
  OK(PetscMalloc4(n * s, &x, n * s, &y, n * s, &kx, n * s, &ky));
  OK(FactorCreate(&q.p, &f));
  OK(FactorSetValues(f, q.a, NULL));
  for (size_t w = 0; w < PETSC_STATIC_ARRAY_LENGTH(widths); w++) {
    OK(FactorSetSIMD(f, widths[w]));
    for (PetscInt l = 0; l < s; l += 5) {
      const PetscReal *cx = x, *cy = y;

      for (PetscInt i = 0; i < n; i++) b[i * s + (l + 7) % s] = b[i * s + l]; /* the same right-hand side in two lanes */
      memcpy(x, b, n * s * sizeof(*x));
      memcpy(y, b, n * s * sizeof(*y));
      for (PetscInt i = 0; i < n; i++) y[i * s + l] = i % 2 ? (PetscReal)INFINITY : 1e30 * i;
      OK(BlockProduct_Private(&q.p, q.a, widths[w], s, 1, &cx, &kx));
      OK(BlockProduct_Private(&q.p, q.a, widths[w], s, 1, &cy, &ky));
      OK(FactorSolve(f, s, x));
      OK(FactorSolve(f, s, y));
      for (PetscInt i = 0; i < n; i++) {
        assert_true(x[i * s + l] == x[i * s + (l + 7) % s]);
        assert_true(kx[i * s + l] == kx[i * s + (l + 7) % s]);
        for (PetscInt j = 0; j < s; j++)
          if (j != l) assert_true(!memcmp(&x[i * s + j], &y[i * s + j], sizeof(*x)) && !memcmp(&kx[i * s + j], &ky[i * s + j], sizeof(*x)));
      }
    }
  }
  OK(FactorDestroy(&f));
  OK(PetscFree4(x, y, kx, ky));
  OK(PetscFree(b));
  OK(ProblemDestroy(&q));
}

static void test_indefinite_and_back(void **state)
{
  const PetscInt cells[3][3] = {{2, 3, 2}, {1, 1, 1}, {6, 8, 3}};

  (void)state;
  for (int m = 0; m < 3; m++) {
    Problem    q, g;
    Factor     f;
    PetscReal *b, *x;
    PetscBool  definite;
    PetscInt   n, numeric, indefinite, count[5] = {0, 1, 2, 2, 3};

    OK(ProblemCreate(cells[m], PETSC_FALSE, 0.1, 17, &q));
    OK(ProblemCreate(cells[m], PETSC_FALSE, 0.1, 17, &g));
    MakeIndefinite(&g);
    n = 3 * q.p.nb;
    b = RandomArray(8 * n, 19);
    OK(PetscMalloc1(8 * n, &x));
    OK(FactorCreate(&q.p, &f));
    for (PetscInt k = 0; k < 5; k++) { /* definite, indefinite, indefinite, definite, indefinite */
      const PetscBool def = k == 0 || k == 3 ? PETSC_TRUE : PETSC_FALSE;
      const Problem  *c   = def ? &q : &g;

      if (!def)
        for (PetscInt i = 0; i < 9 * g.ia[g.p.nb]; i++) g.a[i] *= 1.5; /* new values each time */
      OK(FactorSetValues(f, c->a, &definite));
      assert_int_equal(definite, def);
      OK(FactorGetInfo(f, NULL, &numeric, &indefinite));
      assert_int_equal(numeric, k + 1);
      assert_int_equal(indefinite, count[k]);
      memcpy(x, b, n * sizeof(*x));
      OK(FactorSolve(f, 1, x));
      assert_true(Residual(c, x, b) < 1e-10);
      memcpy(x, b, 8 * n * sizeof(*x));
      OK(FactorSolve(f, 8, x));
      for (PetscInt l = 0; l < 8; l++) {
        PetscReal *u, *v;

        OK(PetscMalloc2(n, &u, n, &v));
        for (PetscInt i = 0; i < n; i++) {
          u[i] = x[8 * i + l];
          v[i] = b[8 * i + l];
        }
        assert_true(Residual(c, u, v) < 1e-10);
        OK(PetscFree2(u, v));
      }
    }
    OK(FactorDestroy(&f));
    OK(PetscFree(x));
    OK(PetscFree(b));
    OK(ProblemDestroy(&q));
    OK(ProblemDestroy(&g));
  }
}

/* New values replace the old ones wholly: the same bits as a fresh factor */
static void test_refactor(void **state)
{
  const PetscInt cells[3] = {4, 6, 2};
  Problem        q[2];
  Factor         f, g;
  PetscReal     *b, *x, *y;
  PetscInt       n;

  (void)state;
  for (int k = 0; k < 2; k++) OK(ProblemCreate(cells, PETSC_TRUE, 0.1, 23 + k, &q[k]));
  n = 3 * q[0].p.nb;
  b = RandomArray(n, 29);
  OK(PetscMalloc2(n, &x, n, &y));
  OK(FactorCreate(&q[0].p, &f));
  for (int k = 0; k < 4; k++) {
    OK(FactorSetValues(f, q[k % 2].a, NULL));
    OK(FactorCreate(&q[k % 2].p, &g));
    OK(FactorSetValues(g, q[k % 2].a, NULL));
    memcpy(x, b, n * sizeof(*x));
    memcpy(y, b, n * sizeof(*y));
    OK(FactorSolve(f, 1, x));
    OK(FactorSolve(g, 1, y));
    assert_true(Residual(&q[k % 2], x, b) < 1e-12);
    assert_memory_equal(x, y, n * sizeof(*x));
    OK(FactorDestroy(&g));
  }
  OK(FactorDestroy(&f));
  OK(PetscFree2(x, y));
  OK(PetscFree(b));
  for (int k = 0; k < 2; k++) OK(ProblemDestroy(&q[k]));
}

/* One block, by Cramer's rule; the lower triangle of the diagonal block is not read */
static void test_one_block(void **state)
{
  const PetscInt   ia[2] = {0, 1}, ja[1] = {0};
  const BlockPattern p = {1, ia, ja};
  const PetscReal  a[9] = {4, 99, 99, 1, 3, 99, 0.5, -1, 5}; /* by columns: A = [4 1 .5; 1 3 -1; .5 -1 5] */
  const PetscReal  b[3] = {1, 2, 3}, det = 4 * (15 - 1) - 1 * (5 + 0.5) + 0.5 * (-1 - 1.5);
  const PetscReal  e[3] = {(1 * (15 - 1) - 1 * (2 * 5 + 3) + 0.5 * (-2 - 9)) / det, (4 * (2 * 5 + 3) - 1 * (5 + 0.5) + 0.5 * (3 - 1)) / det, (4 * (9 + 2) - 1 * (3 - 1) + 1 * (-1 - 1.5)) / det};
  PetscReal        x[3], x8[24], y[3], *py = y;
  const PetscReal *px = x;
  Factor           f;
  PetscInt64       nz;

  (void)state;
  OK(FactorCreate(&p, &f));
  OK(FactorSetValues(f, a, NULL));
  memcpy(x, b, sizeof(b));
  OK(FactorSolve(f, 1, x));
  assert_true(Difference(3, x, e) < 1e-15);
  OK(BlockProduct(&p, a, 1, 1, &px, &py));
  assert_true(Difference(3, y, b) < 1e-15);
  for (int i = 0; i < 24; i++) x8[i] = b[i / 8] * (i % 8);
  OK(FactorSolve(f, 8, x8));
  for (int i = 0; i < 24; i++) assert_true(PetscAbsReal(x8[i] - e[i / 8] * (i % 8)) < 1e-14);
  OK(FactorGetInfo(f, &nz, NULL, NULL));
  assert_int_equal(nz, 6);
  OK(FactorDestroy(&f));
}

/* Refused with an error, never NaN: zero matrix, a node of zeros, a floating body's stiffness (kernel: translations), not finite.
   The same factor then takes good values. */
static void test_singular(void **state)
{
  const PetscInt cells[3] = {3, 3, 2};

  (void)state;
  for (int kind = 0; kind < 4; kind++) {
    Problem    q;
    Factor     f;
    PetscReal *b, *x, *a;
    PetscInt   n, nz;
    PetscBool  definite;

    OK(ProblemCreate(cells, PETSC_FALSE, 0.1, 31, &q));
    n  = 3 * q.p.nb;
    nz = 9 * q.ia[q.p.nb];
    b  = RandomArray(n, 37);
    OK(PetscMalloc2(n, &x, nz, &a));
    memcpy(a, q.a, nz * sizeof(*a));
    memcpy(x, b, n * sizeof(*x));
    if (kind == 0 || kind == 2) memset(a, 0, nz * sizeof(*a));
    for (PetscInt i = 0; i < q.p.nb; i++) {
      for (PetscInt k = q.ia[i]; k < q.ia[i + 1]; k++) {
        if (kind == 1 && (i == 5 || q.ja[k] == 5)) memset(a + 9 * k, 0, 9 * sizeof(*a));
        for (PetscInt r = 0; r < 3 && kind == 2 && k > q.ia[i]; r++) { /* springs between neighbours: rows sum to zero */
          const PetscReal s = 1e6 * (1 + 0.1 * ((k * 37 + r) % 11));

          a[9 * k + 4 * r] = -s;
          a[9 * q.ia[i] + 4 * r] += s;
          a[9 * q.ia[q.ja[k]] + 4 * r] += s;
        }
      }
    }
    if (kind == 3) a[9 * q.ia[4] + 9 + 1] = (PetscReal)INFINITY;
    OK(FactorCreate(&q.p, &f));
    OK(PetscPushErrorHandler(PetscReturnErrorHandler, NULL));
    assert_int_equal(FactorSolve(f, 1, x), PETSC_ERR_ARG_WRONGSTATE); /* before any values */
    assert_int_equal(FactorSetValues(f, a, NULL), kind == 3 ? PETSC_ERR_FP : PETSC_ERR_MAT_LU_ZRPVT);
    assert_int_equal(FactorSolve(f, 1, x), PETSC_ERR_ARG_WRONGSTATE);
    OK(PetscPopErrorHandler());
    assert_memory_equal(x, b, n * sizeof(*x));
    OK(FactorSetValues(f, q.a, &definite));
    assert_int_equal(definite, PETSC_TRUE);
    OK(FactorSolve(f, 1, x));
    assert_true(Residual(&q, x, b) < 1e-12);
    OK(FactorDestroy(&f));
    OK(PetscFree2(x, a));
    OK(PetscFree(b));
    OK(ProblemDestroy(&q));
  }
}

/* Units do not matter: a stiff problem with dofs scaled over twelve decades is not taken for singular */
static void test_scaling(void **state)
{
  const PetscInt cells[3] = {3, 4, 2};
  Problem        q;
  Factor         f;
  PetscReal     *b, *x, *y;
  PetscInt       n;
  PetscBool      definite;

  (void)state;
  OK(ProblemCreate(cells, PETSC_FALSE, 0.1, 41, &q));
  n = 3 * q.p.nb;
  b = RandomArray(n, 43);
  OK(PetscMalloc2(n, &x, n, &y));
  DenseApply(&q, PETSC_TRUE, b, y);
#define SCALE(d) PetscPowReal(10, (PetscReal)((d) % 13))
  for (PetscInt i = 0; i < q.p.nb; i++)
    for (PetscInt k = q.ia[i]; k < q.ia[i + 1]; k++)
      for (PetscInt r = 0; r < 3; r++)
        for (PetscInt c = 0; c < 3; c++) q.a[9 * k + r + 3 * c] *= SCALE(3 * i + r) * SCALE(3 * q.ja[k] + c);
  for (PetscInt i = 0; i < n; i++) x[i] = b[i] * SCALE(i);
  OK(FactorCreate(&q.p, &f));
  OK(FactorSetValues(f, q.a, &definite));
  assert_int_equal(definite, PETSC_TRUE);
  OK(FactorSolve(f, 1, x));
  for (PetscInt i = 0; i < n; i++) x[i] *= SCALE(i);
  assert_true(Difference(n, x, y) < 1e-11);
#undef SCALE
  OK(FactorDestroy(&f));
  OK(PetscFree2(x, y));
  OK(PetscFree(b));
  OK(ProblemDestroy(&q));
}

static void test_product(void **state)
{
  const PetscInt cells[2][3] = {{2, 5, 3}, {1, 1, 1}}, lanes[] = {1, 8, 24, 40};

  (void)state;
  for (int m = 0; m < 2; m++) {
    Problem    q;
    PetscReal *x[4], *y[4], *z[4], *u, *v;
    PetscInt   n;

    OK(ProblemCreate(cells[m], PETSC_FALSE, 0.1, 47, &q));
    n = 3 * q.p.nb;
    OK(PetscMalloc2(n, &u, n, &v));
    for (int c = 0; c < 4; c++) {
      x[c] = RandomArray((size_t)n * 40, 53 + c);
      OK(PetscMalloc2((size_t)n * 40, &y[c], (size_t)n * 40, &z[c]));
    }
    for (size_t w = 0; w < PETSC_STATIC_ARRAY_LENGTH(widths); w++) {
      for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(lanes); k++) {
        const PetscInt         s = lanes[k];
        const size_t           bytes = (size_t)n * s * sizeof(**y);
        const PetscReal *const cx[4] = {x[0], x[1], x[2], x[3]};

        for (int c = 0; c < 4; c++) memset(y[c], 0xff, bytes); /* NaN: y is written, not added to */
        for (int c = 0; c < 4; c++) OK(BlockProduct_Private(&q.p, q.a, widths[w], s, 1, &cx[c], &y[c]));
        for (int c = 0; c < 4; c++) {
          for (PetscInt l = 0; l < s; l += 7) {
            for (PetscInt i = 0; i < n; i++) u[i] = x[c][i * s + l];
            DenseApply(&q, PETSC_FALSE, u, v);
            for (PetscInt i = 0; i < n; i++) u[i] = y[c][i * s + l];
            assert_true(Difference(n, u, v) < 1e-14);
          }
        }
        for (int ncol = 2; ncol <= 4; ncol++) {
          for (int c = 0; c < 4; c++) memset(z[c], 0xff, bytes);
          OK(BlockProduct_Private(&q.p, q.a, widths[w], s, ncol, cx, z));
          for (int c = 0; c < ncol; c++) assert_memory_equal(y[c], z[c], bytes);
        }
        { /* forms beside products: x.K x, and the products as they were */
          PetscReal  value[2][40];
          PetscReal *form[2] = {value[0], value[1]};

          memset(value, 0xff, sizeof(value));
          OK(BlockProductForms_Private(&q.p, q.a, widths[w], s, 2, cx, z, 2, &cx[2], form));
          for (int c = 0; c < 2; c++) assert_memory_equal(y[c], z[c], bytes);
          for (int c = 0; c < 2; c++) {
            for (PetscInt l = 0; l < s; l++) {
              PetscReal dot = 0, size = 0;

              for (PetscInt i = 0; i < n; i++) {
                dot += x[2 + c][i * s + l] * y[2 + c][i * s + l];
                size += PetscAbsReal(x[2 + c][i * s + l] * y[2 + c][i * s + l]);
              }
              assert_true(PetscAbsReal(value[c][l] - dot) <= 1e-13 * size);
            }
          }
          memset(value, 0xff, sizeof(value));
          OK(BlockProductForms_Private(&q.p, q.a, widths[w], s, 0, NULL, NULL, 1, &cx[2], form));
          assert_true(value[0][0] == value[0][0]);
        }
      }
    }
    for (int c = 0; c < 4; c++) {
      OK(PetscFree(x[c]));
      OK(PetscFree2(y[c], z[c]));
    }
    OK(PetscFree2(u, v));
    OK(ProblemDestroy(&q));
  }
}

/* Factors of one pattern share their analysis, and nothing else */
static void test_like(void **state)
{
  Problem    q;
  Factor     f[3];
  PetscReal *b, *a, *x;
  PetscInt   n;

  (void)state;
  OK(ProblemCreate((PetscInt[]){4, 3, 5}, PETSC_FALSE, 0.1, 61, &q));
  n = 3 * q.p.nb;
  b = RandomArray(n, 67);
  OK(PetscMalloc2(9 * q.ia[q.p.nb], &a, n, &x));
  OK(FactorCreate(&q.p, &f[0]));
  for (int k = 1; k < 3; k++) OK(FactorCreateLike(f[0], &f[k]));
  OK(FactorDestroy(&f[0])); /* never given values: the others make the analysis */
  for (int k = 1; k < 3; k++) {
    for (PetscInt i = 0; i < 9 * q.ia[q.p.nb]; i++) a[i] = k * q.a[i];
    OK(FactorSetValues(f[k], a, NULL));
  }
  OK(FactorCreateLike(f[1], &f[0]));
  for (PetscInt i = 0; i < 9 * q.ia[q.p.nb]; i++) a[i] = 4 * q.a[i];
  OK(FactorSetValues(f[0], a, NULL));
  for (int k = 0; k < 3; k++) {
    const PetscReal *cx = x;
    PetscReal       *y;

    OK(PetscMalloc1(n, &y));
    OK(PetscArraycpy(x, b, n));
    OK(FactorSolve(f[k], 1, x));
    OK(BlockProduct(&q.p, q.a, 1, 1, &cx, &y));
    for (PetscInt i = 0; i < n; i++) y[i] *= k ? k : 4;
    assert_true(Difference(n, y, b) < 1e-12);
    OK(PetscFree(y));
    if (k == 0) OK(FactorDestroy(&f[0]));
  }
  OK(FactorDestroy(&f[2]));
  OK(FactorDestroy(&f[1]));
  OK(PetscFree(b));
  OK(PetscFree2(a, x));
  OK(ProblemDestroy(&q));
}

static void test_wrong_arguments(void **state)
{
  const PetscInt     ia[3] = {0, 2, 3}, ja[3] = {0, 1, 1}, wrong[3] = {1, 0, 1}, outside[3] = {0, 2, 1};
  const BlockPattern p = {2, ia, ja}, p1 = {2, ia, wrong}, p2 = {2, ia, outside};
  PetscReal          a[27] = {0}, x[8 * 6] = {0}, *px = x;
  const PetscReal   *cx = x;
  Factor             f, g;

  (void)state;
  for (int r = 0; r < 3; r++) a[4 * r] = a[18 + 4 * r] = 2;
  OK(FactorCreate(&p, &f));
  OK(FactorSetValues(f, a, NULL));
  OK(PetscPushErrorHandler(PetscReturnErrorHandler, NULL));
  assert_int_equal(FactorCreate(&p1, &g), PETSC_ERR_ARG_WRONG);
  assert_int_equal(FactorCreate(&p2, &g), PETSC_ERR_ARG_WRONG);
  assert_int_equal(FactorSolve(f, 4, x), PETSC_ERR_ARG_SIZ);
  assert_int_equal(BlockProduct(&p, a, 12, 1, &cx, &px), PETSC_ERR_ARG_SIZ);
  assert_int_equal(BlockProduct(&p, a, 1, 1, &cx, &px), PETSC_ERR_ARG_IDN);
  assert_int_equal(FactorSetSIMD(f, 3), PETSC_ERR_ARG_OUTOFRANGE);
  OK(PetscPopErrorHandler());
  OK(FactorDestroy(&f));
}

/* Options, one after the other with their values; and back */
static void Options(const char *const options[], PetscBool set)
{
  for (int i = 0; options[i]; i += 2) OK(set ? PetscOptionsSetValue(NULL, options[i], options[i + 1]) : PetscOptionsClearValue(NULL, options[i]));
}

/* PETSc's solvers in its place: what they solve, and what they cannot */
static void test_ksp(void **state)
{
  static const char *const choice[][7] = {
    {"-part_pc_type", "cholesky"},
    {"-part_pc_factor_mat_solver_type", "mumps"},
    {"-part_pc_factor_mat_solver_type", "cholmod"},
    {"-part_mat_type", "seqsbaij"},
    {"-part_mat_type", "seqbaij", "-part_pc_type", "lu"},
    {"-part_ksp_type", "cg", "-part_pc_type", "icc", "-part_ksp_rtol", "1e-13"},
    {"-part_ksp_type", "gmres", "-part_pc_type", "jacobi", "-part_ksp_rtol", "1e-13"},
  };
  static const char *const unknown[][3] = {{"-part_pc_type", "none_such"}, {"-part_ksp_type", "none_such"}, {"-part_mat_type", "none_such"}, {"-part_pc_factor_mat_solver_type", "none_such"}};
  const char *const        few[] = {"-part_ksp_type", "cg", "-part_pc_type", "jacobi", "-part_ksp_max_it", "2", NULL};
  const PetscInt           cells[3] = {4, 5, 3}, lanes = 8;
  Problem                  q, g;
  Factor                   f;
  PetscReal               *b, *x, *y;
  PetscInt                 n, numeric, indefinite;

  (void)state;
  OK(ProblemCreate(cells, PETSC_FALSE, 0.1, 17, &q));
  OK(ProblemCreate(cells, PETSC_FALSE, 0.1, 17, &g));
  MakeIndefinite(&g);
  n = 3 * q.p.nb;
  b = RandomArray((size_t)n * lanes, 5);
  for (PetscInt i = 0; i < n; i++) b[i * lanes + 3] = 0; /* a lane without a body */
  b[5 * lanes + 4] = NAN;                                /* and one of a body that has gone astray */
  OK(PetscMalloc2(n * lanes, &x, n, &y));
  for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(choice); k++) {
    PetscBool definite;

    Options(choice[k], PETSC_TRUE);
    OK(FactorTryOptions());
    OK(FactorCreate(&q.p, &f));
    for (int again = 0; again < 2; again++) {
      for (PetscInt i = 0; i < 9 * q.ia[q.p.nb]; i++) q.a[i] *= again ? 0.5 : 1;
      OK(FactorSetValues(f, q.a, &definite));
      assert_int_equal(definite, PETSC_TRUE);
      memcpy(x, b, n * lanes * sizeof(*x));
      OK(FactorSolve(f, lanes, x));
      for (PetscInt l = 0; l < lanes; l++) {
        PetscReal *c = RandomArray(n, 1);

        for (PetscInt i = 0; i < n; i++) {
          y[i] = x[i * lanes + l];
          c[i] = b[i * lanes + l];
        }
        if (l == 3) assert_true(y[0] == 0 && y[n - 1] == 0);
        else if (l == 4) assert_true(isnan(y[0]));
        else {
          assert_true(Residual(&q, y, c) < 1e-11);
          OK(FactorSolve(f, 1, c));
          assert_true(Difference(n, c, y) < 1e-11);
        }
        OK(PetscFree(c));
      }
    }
    if (k == 1 || k == 4) { /* what takes an indefinite one */
      OK(FactorSetValues(f, g.a, &definite));
      assert_int_equal(definite, k == 1 ? PETSC_FALSE : PETSC_TRUE); /* lu does not count signs */
      for (PetscInt i = 0; i < n; i++) y[i] = b[i * lanes];
      OK(FactorSolve(f, 1, y));
      for (PetscInt i = 0; i < n; i++) x[i] = b[i * lanes];
      assert_true(Residual(&g, y, x) < 1e-11);
    } else if (k == 2) { /* and what does not */
      OK(PetscPushErrorHandler(PetscReturnErrorHandler, NULL));
      assert_int_equal(FactorSetValues(f, g.a, &definite), PETSC_ERR_USER_INPUT);
      OK(PetscPopErrorHandler());
    }
    OK(FactorGetInfo(f, NULL, &numeric, &indefinite));
    assert_true(numeric >= 2 && indefinite == (k == 1));
    OK(FactorDestroy(&f));
    Options(choice[k], PETSC_FALSE);
  }
  OK(PetscPushErrorHandler(PetscReturnErrorHandler, NULL));
  for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(unknown); k++) {
    Options(unknown[k], PETSC_TRUE);
    assert_int_equal(FactorTryOptions(), PETSC_ERR_USER_INPUT);
    Options(unknown[k], PETSC_FALSE);
  }
  Options(few, PETSC_TRUE);
  OK(FactorCreate(&q.p, &f));
  OK(FactorSetValues(f, q.a, NULL));
  for (PetscInt i = 0; i < n; i++) y[i] = b[i * lanes];
  assert_int_equal(FactorSolve(f, 1, y), PETSC_ERR_USER_INPUT);
  OK(FactorDestroy(&f));
  q.a[7] = NAN;
  OK(FactorCreate(&q.p, &f));
  assert_int_equal(FactorSetValues(f, q.a, NULL), PETSC_ERR_FP);
  Options(few, PETSC_FALSE);
  OK(PetscPopErrorHandler());
  OK(FactorDestroy(&f));
  OK(PetscFree2(x, y));
  OK(PetscFree(b));
  OK(ProblemDestroy(&q));
  OK(ProblemDestroy(&g));
}

int main(int argc, char **argv)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_small_dense),         cmocka_unit_test(test_mid_residual_and_lanes), cmocka_unit_test(test_single), cmocka_unit_test(test_lanes_independent),
    cmocka_unit_test(test_indefinite_and_back), cmocka_unit_test(test_refactor),               cmocka_unit_test(test_one_block),
    cmocka_unit_test(test_singular),            cmocka_unit_test(test_scaling),                cmocka_unit_test(test_product),
    cmocka_unit_test(test_wrong_arguments),     cmocka_unit_test(test_like),                   cmocka_unit_test(test_ksp),
  };
  int failed;

  if (PetscInitialize(&argc, &argv, NULL, NULL)) return 1;
  failed = cmocka_run_group_tests(tests, NULL, NULL);
  return PetscFinalize() || failed ? 1 : 0;
}
