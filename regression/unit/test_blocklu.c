/* Sparse LU by blocks against LAPACK's dense one, for whole graphs and parts of them, again and again with one object. */
#include "unit.h"
#include "constraints/blocklu.h"
#include <petscblaslapack.h>
#include <math.h>

static uint64_t seed;

static double Uniform(void)
{
  uint64_t z = (seed += 0x9e3779b97f4a7c15u);

  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return (double)((z ^ (z >> 31)) >> 11) / 9007199254740992.;
}

typedef struct {
  PetscInt   n, *ptr, *col;
  PetscReal *w; /* by rows, 9 a block */
  PetscInt   calls;
} Matrix;

static void Row(void *ctx, PetscInt i, PetscInt n, const PetscInt place[], PetscReal *value)
{
  Matrix *m = (Matrix *)ctx;

  m->calls++;
  for (PetscInt k = 0; k < n; k++) {
    assert_true(place[k] >= m->ptr[i] && place[k] < m->ptr[i + 1]);
    for (int r = 0; r < 3; r++) {
      for (int c = 0; c < 3; c++) value[12 * k + 4 * r + c] = m->w[9 * place[k] + 3 * r + c];
      value[12 * k + 4 * r + 3] = NAN; /* is not looked at */
    }
  }
}

/* A symmetric pattern where each pair is there with the given chance; values are not symmetric; strong: the diagonal outweighs the rest */
static void Make(PetscInt n, double density, int strong, Matrix *m)
{
  unsigned char *there = calloc((size_t)n * n + 1, 1);
  PetscInt       nnz = 0;

  for (PetscInt i = 0; i < n; i++) {
    there[i * n + i] = 1;
    for (PetscInt j = 0; j < i; j++) there[i * n + j] = there[j * n + i] = Uniform() < density;
  }
  m->n = n;
  m->calls = 0;
  m->ptr = malloc(sizeof(PetscInt) * (size_t)(n + 1));
  for (PetscInt i = 0; i < n * n; i++) nnz += there[i];
  m->col = malloc(sizeof(PetscInt) * (size_t)nnz + 1);
  m->w = malloc(9 * sizeof(PetscReal) * (size_t)nnz + 1);
  m->ptr[0] = nnz = 0;
  for (PetscInt i = 0; i < n; i++) {
    double sum = 0;

    for (PetscInt j = 0; j < n; j++)
      if (there[i * n + j]) {
        m->col[nnz] = j;
        for (int k = 0; k < 9; k++) {
          m->w[9 * nnz + k] = 2 * Uniform() - 1;
          sum += fabs(m->w[9 * nnz + k]);
        }
        nnz++;
      }
    m->ptr[i + 1] = nnz;
    for (PetscInt k = m->ptr[i]; k < nnz; k++)
      if (m->col[k] == i)
        for (int c = 0; c < 3; c++) m->w[9 * k + 4 * c] += strong ? (i % 2 ? -1 : 1) * sum : 2;
  }
  free(there);
}

static void Free(Matrix *m)
{
  free(m->ptr);
  free(m->col);
  free(m->w);
}

/* The same by LAPACK, on the active blocks; relative difference of the solutions and residual of ours, both relative */
static void Compare(const Matrix *m, const unsigned char *active, const PetscReal b[], const PetscReal x[], double *difference, double *residual)
{
  PetscInt    *at = malloc(sizeof(PetscInt) * (size_t)(m->n + 1)), na = 0;
  PetscBLASInt n, one = 1, info, *pivot;
  PetscScalar *a, *y;
  double       d = 0, s = 0, res = 0, rs = 0;

  for (PetscInt i = 0; i < m->n; i++) at[i] = !active || active[i] ? na++ : -1;
  n = (PetscBLASInt)(3 * na);
  a = calloc((size_t)n * (size_t)n + 1, sizeof(*a));
  y = calloc((size_t)n + 1, sizeof(*y));
  pivot = calloc((size_t)n + 1, sizeof(*pivot));
  for (PetscInt i = 0; i < m->n; i++) {
    if (at[i] < 0) {
      for (int c = 0; c < 3; c++) assert_true(x[3 * i + c] == b[3 * i + c]); /* not touched */
      continue;
    }
    for (int r = 0; r < 3; r++) {
      double sum = b[3 * i + r], size = fabs(sum);

      y[3 * at[i] + r] = b[3 * i + r];
      for (PetscInt k = m->ptr[i]; k < m->ptr[i + 1]; k++) {
        if (at[m->col[k]] < 0) continue;
        for (int c = 0; c < 3; c++) {
          a[(size_t)(3 * at[m->col[k]] + c) * (size_t)n + (size_t)(3 * at[i] + r)] = m->w[9 * k + 3 * r + c];
          sum -= m->w[9 * k + 3 * r + c] * x[3 * m->col[k] + c];
          size += fabs(m->w[9 * k + 3 * r + c] * x[3 * m->col[k] + c]);
        }
      }
      res = fmax(res, fabs(sum));
      rs = fmax(rs, size);
    }
  }
  if (n) {
    LAPACKgesv_(&n, &one, a, &n, pivot, y, &n, &info);
    assert_int_equal(info, 0);
  }
  for (PetscInt i = 0; i < m->n; i++)
    for (int c = 0; c < 3 && at[i] >= 0; c++) {
      d = fmax(d, fabs(y[3 * at[i] + c] - x[3 * i + c]));
      s = fmax(s, fabs(y[3 * at[i] + c]));
    }
  *difference = s > 0 ? d / s : d;
  *residual = rs > 0 ? res / rs : res;
  free(at);
  free(a);
  free(y);
  free(pivot);
}

static void Right(PetscInt n, PetscReal *b)
{
  for (PetscInt i = 0; i < 3 * n; i++) b[i] = 2 * Uniform() - 1;
  b[3 * n] = 0;
}

/* One object for graphs of many sizes; each with all blocks, with parts of them, and again with new values */
static void TestDense(void **state)
{
  BlockLU lu;
  double  worst = 0, worst_residual = 0;
  int     solves = 0;

  (void)state;
  seed = 1;
  Ok(BlockLUCreate(&lu));
  for (int k = 0; k < 300; k++) {
    const PetscInt n = k < 20 ? k % 5 : (PetscInt)(60 * Uniform()) + 1;
    unsigned char *active = malloc((size_t)n + 1);
    PetscReal     *b = malloc(sizeof(PetscReal) * (size_t)(3 * n + 1)), *x = malloc(sizeof(PetscReal) * (size_t)(3 * n + 1));
    Matrix         m;

    Make(n, k % 4 ? 4. / (n + 1) : 1, 1, &m);
    Ok(BlockLUSetGraph(lu, n, m.ptr, m.col));
    for (int pass = 0; pass < 6; pass++) {
      const double   share = Uniform();
      unsigned char *use = pass == 0 || pass == 4 ? NULL : active;
      PetscInt       na = 0;
      PetscBool      ok = PETSC_FALSE;
      double         d, r;

      for (PetscInt i = 0; i < n; i++) {
        if (pass != 2) active[i] = pass == 3 ? 0 : (Uniform() < share) * (unsigned char)(1 + 2 * (i % 2)); /* any number but 0 */
        na += !use || active[i];
      }
      if (pass == 2)
        for (PetscInt i = 0; i < 9 * m.ptr[n]; i++) m.w[i] *= 1 + 0.1 * Uniform(); /* other values, the same blocks */
      m.calls = 0;
      Ok(BlockLUSetActive(lu, use));
      Ok(BlockLUFactor(lu, Row, &m, &ok));
      assert_true(ok);
      assert_int_equal(m.calls, na);
      assert_true(BlockLUGetSize(lu) >= na && BlockLUGetSize(lu) <= na * na);
      for (int twice = 0; twice < 2; twice++) {
        Right(n, b);
        memcpy(x, b, sizeof(PetscReal) * (size_t)(3 * n + 1));
        BlockLUSolve(lu, x);
        Compare(&m, use, b, x, &d, &r);
        if (!(d <= 1e-12) || !(r <= 1e-14))
          fail_msg("graph %d, pass %d: %d blocks, %d active: off by %g, residual %g", k, pass, (int)n, (int)na, d, r);
        worst = fmax(worst, d);
        worst_residual = fmax(worst_residual, r);
        solves++;
      }
    }
    free(b);
    free(x);
    free(active);
    Free(&m);
  }
  print_message("%d solves, off by %.1e, residuals %.1e\n", solves, worst, worst_residual);
  Ok(BlockLUDestroy(&lu));
  assert_null(lu);
  Ok(BlockLUDestroy(&lu)); /* nothing to do */
}

/* Not dominated by the diagonal, as real ones are not: still near LAPACK's where that is well conditioned */
static void TestWeak(void **state)
{
  BlockLU lu;
  int     good = 0;

  (void)state;
  seed = 2;
  Ok(BlockLUCreate(&lu));
  for (int k = 0; k < 200; k++) {
    const PetscInt n = 1 + k % 30;
    PetscReal      b[100], x[100];
    PetscBool      ok;
    double         d, r;
    Matrix         m;

    Make(n, 0.2, 0, &m);
    Right(n, b);
    memcpy(x, b, sizeof(x));
    Ok(BlockLUSetGraph(lu, n, m.ptr, m.col));
    Ok(BlockLUSetActive(lu, NULL));
    Ok(BlockLUFactor(lu, Row, &m, &ok));
    assert_true(ok);
    BlockLUSolve(lu, x);
    Compare(&m, NULL, b, x, &d, &r);
    good += d < 1e-9 && r < 1e-9;
    Free(&m);
  }
  print_message("%d of 200 to 1e-9\n", good);
  assert_true(good > 190);
  Ok(BlockLUDestroy(&lu));
}

/* The order keeps a chain and an arrow without fill, whatever way they are numbered */
static void TestFill(void **state)
{
  const PetscInt n = 50;
  BlockLU        lu;

  (void)state;
  seed = 3;
  Ok(BlockLUCreate(&lu));
  for (int arrow = 0; arrow < 2; arrow++) {
    Matrix        m;
    PetscInt      name[50], nnz = 0;
    unsigned char there[50][50] = {{0}};
    PetscReal     b[151], x[151];
    PetscBool     ok;
    double        d, r;

    Make(n, 1, 1, &m);
    for (PetscInt i = 0; i < n; i++) name[i] = i;
    for (PetscInt i = n - 1; i > 0; i--) {
      const PetscInt j = (PetscInt)((double)(i + 1) * Uniform()), swap = name[i];

      name[i] = name[j];
      name[j] = swap;
    }
    for (PetscInt i = 0; i < n; i++) {
      there[i][i] = 1;
      if (arrow)
        there[name[0]][i] = there[i][name[0]] = 1;
      else if (i)
        there[name[i]][name[i - 1]] = there[name[i - 1]][name[i]] = 1;
    }
    for (PetscInt i = 0, k = 0; i < n; i++) {
      for (PetscInt j = 0; j < n; j++, k++)
        if (there[i][j]) {
          m.col[nnz] = j;
          memmove(m.w + 9 * nnz++, m.w + 9 * k, 9 * sizeof(PetscReal));
        }
      m.ptr[i + 1] = nnz;
    }
    Ok(BlockLUSetGraph(lu, n, m.ptr, m.col));
    Ok(BlockLUSetActive(lu, NULL));
    Ok(BlockLUFactor(lu, Row, &m, &ok));
    assert_true(ok);
    assert_int_equal(BlockLUGetSize(lu), nnz);
    Right(n, b);
    memcpy(x, b, sizeof(x));
    BlockLUSolve(lu, x);
    Compare(&m, NULL, b, x, &d, &r);
    assert_true(d < 1e-13);
    Free(&m);
  }
  Ok(BlockLUDestroy(&lu));
}

/* What cannot be inverted is said, and the object can go on */
static void TestSingular(void **state)
{
  BlockLU       lu;
  Matrix        m;
  PetscBool     ok;
  PetscReal     b[31], x[31];
  double        d, r;
  unsigned char active[10];

  (void)state;
  seed = 4;
  Ok(BlockLUCreate(&lu));
  Make(10, 0.3, 1, &m);
  Ok(BlockLUSetGraph(lu, 10, m.ptr, m.col));
  assert_int_not_equal(BlockLUFactor(lu, Row, &m, &ok), 0); /* no blocks chosen yet */
  for (int bad = 0; bad < 10; bad++) {
    for (int kind = 0; kind < 3; kind++) {
      PetscReal keep[9 * 100];

      memcpy(keep, m.w, 9 * sizeof(PetscReal) * (size_t)m.ptr[10]);
      for (PetscInt i = 0; i < 10; i++)
        for (PetscInt k = m.ptr[i]; k < m.ptr[i + 1]; k++)
          for (int c = 0; c < 9; c++) {
            if (kind == 0 && i == bad && c / 3 == 1) m.w[9 * k + c] = 0;        /* a row of zeros */
            if (kind == 1 && m.col[k] == bad && c % 3 == 2) m.w[9 * k + c] = 0; /* a column */
            if (kind == 2 && i == bad && m.col[k] == bad) m.w[9 * k + c] = NAN; /* no number */
          }
      for (PetscInt i = 0; i < 10; i++) active[i] = i != bad;
      Ok(BlockLUSetActive(lu, NULL));
      Ok(BlockLUFactor(lu, Row, &m, &ok));
      assert_false(ok);
      Ok(BlockLUSetActive(lu, active)); /* without the bad one */
      Ok(BlockLUFactor(lu, Row, &m, &ok));
      assert_true(ok);
      Right(10, b);
      memcpy(x, b, sizeof(x));
      BlockLUSolve(lu, x);
      Compare(&m, active, b, x, &d, &r);
      assert_true(d < 1e-12);
      memcpy(m.w, keep, 9 * sizeof(PetscReal) * (size_t)m.ptr[10]);
    }
  }
  Free(&m);
  Ok(BlockLUDestroy(&lu));
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(TestDense),
      cmocka_unit_test(TestWeak),
      cmocka_unit_test(TestFill),
      cmocka_unit_test(TestSingular),
  };

  return UNIT_MAIN("blocklu", tests);
}
