/* The made-up masonry problems: what they promise about W, equilibrium of blocks at rest, the same numbers each time. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <math.h>
#include <string.h>
#include "regression/masonry.h"
#include <petscblaslapack.h>

#define Ok(call) assert_int_equal(call, 0)

static const PetscReal weight = 9.81 * 0.005; /* impulse of gravity on a unit mass in a step */

static void Mult(const FCLibProblem *p, const PetscReal r[], PetscReal u[])
{
  for (PetscInt i = 0; i < 3 * p->n; i++) {
    u[i] = p->q[i];
    for (PetscInt k = p->ptr[i]; k < p->ptr[i + 1]; k++) u[i] += p->val[k] * r[p->col[k]];
  }
}

static PetscScalar *Dense(const FCLibProblem *p)
{
  PetscInt     n = 3 * p->n;
  PetscScalar *a;

  Ok(PetscCalloc1(n * n, &a));
  for (PetscInt i = 0; i < n; i++)
    for (PetscInt k = p->ptr[i]; k < p->ptr[i + 1]; k++) a[p->col[k] * n + i] = p->val[k];
  return a;
}

static PetscInt Find(const char name[])
{
  for (PetscInt i = 0; i < MasonryCount(); i++)
    if (!strcmp(MasonryName(i), name)) return i;
  fail_msg("no problem '%s'", name);
  return -1;
}

/* The largest relative velocity over that of a step's free fall: all contacts stay closed and stick. */
static PetscReal Motion(const FCLibProblem *p, const PetscReal r[])
{
  PetscReal *u, largest = 0;

  Ok(PetscMalloc1(3 * p->n, &u));
  Mult(p, r, u);
  for (PetscInt i = 0; i < 3 * p->n; i++) largest = PetscMax(largest, PetscAbsReal(u[i]));
  Ok(PetscFree(u));
  return largest / weight;
}

static void TestList(void **state)
{
  PetscInt least = PETSC_MAX_INT, most = 0;

  (void)state;
  assert_true(MasonryCount() >= 60);
  assert_null(MasonryName(-1));
  assert_null(MasonryName(MasonryCount()));
  for (PetscInt i = 0; i < MasonryCount(); i++) {
    FCLibProblem *p, *again;
    PetscInt      n, nnz;

    Ok(MasonryCreate(i, &p));
    Ok(MasonryCreate(i, &again));
    assert_int_equal(p->dim, 3);
    assert_int_equal(p->m, 0);
    assert_int_equal(p->n % 4, 0);
    assert_null(p->guess);
    assert_int_equal(Find(MasonryName(i)), i); /* no name twice */
    least = PetscMin(least, p->n);
    most = PetscMax(most, p->n);
    n = 3 * p->n;
    nnz = p->ptr[n];
    assert_int_equal(again->ptr[n], nnz);
    assert_memory_equal(p->ptr, again->ptr, sizeof(*p->ptr) * (size_t)(n + 1));
    assert_memory_equal(p->col, again->col, sizeof(*p->col) * (size_t)nnz);
    assert_memory_equal(p->val, again->val, sizeof(*p->val) * (size_t)nnz);
    assert_memory_equal(p->q, again->q, sizeof(*p->q) * (size_t)n);
    assert_memory_equal(p->mu, again->mu, sizeof(*p->mu) * (size_t)p->n);
    for (PetscInt r = 0; r < n; r++) {
      assert_true(isfinite(p->q[r]));
      for (PetscInt k = p->ptr[r]; k < p->ptr[r + 1]; k++) {
        PetscInt c = p->col[k], place;

        assert_true(k == p->ptr[r] || c > p->col[k - 1]);
        Ok(PetscFindInt(r, p->ptr[c + 1] - p->ptr[c], p->col + p->ptr[c], &place));
        assert_true(place >= 0 && p->val[p->ptr[c] + place] == p->val[k]); /* symmetric to the last bit */
        assert_true(c != r || p->val[k] > 0);
      }
    }
    for (PetscInt k = 0; k < p->n; k++) assert_true(p->mu[k] > 0 && p->mu[k] < 1);
    Ok(FCLibProblemDestroy(&p));
    Ok(FCLibProblemDestroy(&again));
  }
  assert_int_equal(least, 32);
  assert_int_equal(most, 708);
}

/* Eigenvalues: none negative, and half of them or more zero */
static void TestRank(void **state)
{
  int seen = 0;

  (void)state;
  for (PetscInt i = 0; i < MasonryCount(); i++) {
    FCLibProblem *p;
    PetscScalar  *a, *work;
    PetscReal    *e;
    PetscBLASInt  n, lwork, info;
    PetscInt      rank = 0;

    Ok(MasonryCreate(i, &p));
    n = (PetscBLASInt)(3 * p->n);
    lwork = 8 * n;
    if (p->n <= 92) {
      a = Dense(p);
      Ok(PetscMalloc2(n, &e, lwork, &work));
      LAPACKsyev_("N", "U", &n, a, &n, e, work, &lwork, &info);
      assert_int_equal(info, 0);
      assert_true(e[0] > -1e-12 * e[n - 1]);
      for (PetscBLASInt k = 0; k < n; k++) rank += e[k] > 1e-10 * e[n - 1];
      if (2 * rank > n) fail_msg("%s: rank %d of %d", MasonryName(i), (int)rank, (int)n);
      if (!strcmp(MasonryName(i), "columns-1x8-rest")) assert_int_equal(rank, 6 * 8); /* six motions per block, all felt */
      if (!strcmp(MasonryName(i), "wall-3x3-head-rest")) assert_int_equal(rank, 6 * (3 + 4 + 3));
      Ok(PetscFree2(e, work));
      Ok(PetscFree(a));
      seen++;
    }
    Ok(FCLibProblemDestroy(&p));
  }
  assert_true(seen >= 15);
}

/* One block: the mobility of its corners by hand. n, then x, then y. */
static void TestBlock(void **state)
{
  const PetscReal a = MASONRY_DRUM_WIDTH, h = MASONRY_DRUM_HEIGHT, m = MASONRY_DENSITY * a * a * h, ix = m / 12 * (a * a + h * h), iz = m / 6 * a * a;
  MasonryOptions  o;
  FCLibProblem   *p;
  PetscScalar    *w;
  PetscReal       x[4] = {-a / 2, a / 2, -a / 2, a / 2}, y[4] = {-a / 2, -a / 2, a / 2, a / 2}, z = -h / 2, most = 0;

  (void)state;
  Ok(MasonryOptionsDefault(&o));
  Ok(MasonryCreateColumns(1, 1, &o, &p));
  assert_int_equal(p->n, 4);
  w = Dense(p);
  for (int i = 0; i < 4; i++)
    for (int j = 0; j < 4; j++) {
      PetscReal e[9] = {1 / m + (x[i] * x[j] + y[i] * y[j]) / ix,
                        -x[i] * z / ix,
                        -y[i] * z / ix, /* normal of i */
                        -z * x[j] / ix,
                        1 / m + z * z / ix + y[i] * y[j] / iz,
                        -y[i] * x[j] / iz,
                        -z * y[j] / ix,
                        -x[i] * y[j] / iz,
                        1 / m + z * z / ix + x[i] * x[j] / iz};

      for (int r = 0; r < 3; r++)
        for (int c = 0; c < 3; c++) most = PetscMax(most, PetscAbsReal(w[(3 * j + c) * 12 + 3 * i + r] - e[3 * r + c]) * m);
    }
  assert_true(most < 1e-13);
  for (int i = 0; i < 4; i++) assert_true(PetscAbsReal(p->q[3 * i] + weight) < 1e-15 && p->q[3 * i + 1] == 0 && p->q[3 * i + 2] == 0);
  Ok(PetscFree(w));
  Ok(FCLibProblemDestroy(&p));
}

/* A column at rest carries at each point a quarter of what is above. */
static void TestColumn(void **state)
{
  const PetscReal mass = MASONRY_DENSITY * MASONRY_DRUM_WIDTH * MASONRY_DRUM_WIDTH * MASONRY_DRUM_HEIGHT;
  FCLibProblem   *p;
  PetscReal       r[96] = {0};

  (void)state;
  Ok(MasonryCreate(Find("columns-1x8-rest"), &p));
  assert_int_equal(p->n, 32);
  for (int i = 0; i < 32; i++) r[3 * i] = weight * mass * (8 - i / 4) / 4;
  assert_true(Motion(p, r) < 1e-12);
  Ok(FCLibProblemDestroy(&p));
}

/* Any impulses that hold a tilted wall still balance its weight, in force and moment, at the base. */
static void TestResultant(void **state)
{
  const PetscReal mass = 9 * MASONRY_DENSITY * MASONRY_BRICK_LENGTH * MASONRY_BRICK_DEPTH * MASONRY_BRICK_HEIGHT, centre = 1.5 * MASONRY_BRICK_HEIGHT;
  const PetscReal t = 20 * PETSC_PI / 180, a = 35 * PETSC_PI / 180, g[3] = {sin(t) * cos(a), sin(t) * sin(a), -cos(t)};
  MasonryOptions  o;
  FCLibProblem   *p;
  PetscScalar    *w, *r, *s, *work;
  PetscReal       sum[5] = {0}, rcond = 1e-10;
  PetscBLASInt    n, one = 1, rank, lwork, info;

  (void)state;
  Ok(MasonryOptionsDefault(&o));
  o.head = PETSC_TRUE;
  o.tilt = 20;
  o.azimuth = 35;
  Ok(MasonryCreateWall(3, 3, &o, &p));
  n = (PetscBLASInt)(3 * p->n);
  lwork = 16 * n;
  w = Dense(p);
  Ok(PetscMalloc3(n, &r, n, &s, lwork, &work));
  for (int i = 0; i < n; i++) r[i] = -p->q[i];
  LAPACKgelss_(&n, &n, &one, w, &n, r, &n, s, &rcond, &rank, work, &lwork, &info);
  assert_int_equal(info, 0);
  assert_true(Motion(p, r) < 1e-10);
  for (int i = 0; i < 12; i++) { /* three bricks on the base, four points each */
    PetscReal x = (i / 4 - 1.5 + i % 2) * MASONRY_BRICK_LENGTH, y = (i % 4 / 2 - 0.5) * MASONRY_BRICK_DEPTH;

    sum[0] += r[3 * i + 1];
    sum[1] += r[3 * i + 2];
    sum[2] += r[3 * i];
    sum[3] -= x * r[3 * i]; /* moment about y */
    sum[4] += y * r[3 * i]; /* and about x */
  }
  for (int c = 0; c < 3; c++) assert_true(PetscAbsReal(sum[c] / (mass * weight) + g[c]) < 1e-10);
  assert_true(PetscAbsReal(sum[3] / (mass * weight * centre) + g[0]) < 1e-10);
  assert_true(PetscAbsReal(sum[4] / (mass * weight * centre) - g[1]) < 1e-10);
  Ok(PetscFree3(r, s, work));
  Ok(PetscFree(w));
  Ok(FCLibProblemDestroy(&p));
}

/* The base's velocity enters where it touches, and nowhere else. */
static void TestBase(void **state)
{
  const PetscReal v[6] = {0.3, -0.2, 0.5, 1, 2, -3};
  MasonryOptions  o;
  FCLibProblem   *p, *rest;

  (void)state;
  Ok(MasonryOptionsDefault(&o));
  o.head = PETSC_TRUE;
  Ok(MasonryCreateWall(3, 4, &o, &rest));
  Ok(PetscArraycpy(o.base, v, 6));
  Ok(MasonryCreateWall(3, 4, &o, &p));
  assert_int_equal(p->ptr[3 * p->n], rest->ptr[3 * p->n]);
  assert_memory_equal(p->val, rest->val, sizeof(*p->val) * (size_t)p->ptr[3 * p->n]);
  for (PetscInt i = 0; i < p->n; i++) {
    PetscReal x = (i / 4 - 1.5 + i % 2) * MASONRY_BRICK_LENGTH, y = (i % 4 / 2 - 0.5) * MASONRY_BRICK_DEPTH;
    PetscReal u[3] = {v[2] + v[3] * y - v[4] * x, v[0] - v[5] * y, v[1] + v[5] * x};

    for (int c = 0; c < 3; c++) assert_true(PetscAbsReal(p->q[3 * i + c] - rest->q[3 * i + c] + (i < 12 ? u[c] * weight : 0)) < 1e-15);
  }
  Ok(FCLibProblemDestroy(&p));
  Ok(FCLibProblemDestroy(&rest));
}

static void TestOptions(void **state)
{
  const PetscInt size[3][2] = {{4, 7}, {6, 15}, {12, 18}};
  MasonryOptions o;
  FCLibProblem  *p, *exact;
  PetscReal      least = 1, most = 0;

  (void)state;
  for (int k = 0; k < 3; k++) { /* 208, 696 and 1680 contacts */
    Ok(MasonryOptionsDefault(&o));
    Ok(MasonryCreateWall(size[k][0], size[k][1], &o, &p));
    assert_int_equal(p->n, 4 * size[k][0] * (2 * size[k][1] - 1));
    for (PetscInt i = 0; i < p->n; i++) assert_true(p->mu[i] == 0.6);
    Ok(FCLibProblemDestroy(&p));
  }
  Ok(MasonryCreateTower(3, 7, &o, &p));
  assert_int_equal(p->n, 228);
  Ok(FCLibProblemDestroy(&p));
  o.head = PETSC_TRUE;
  Ok(MasonryCreateColumns(3, 2, &o, &p));
  assert_int_equal(p->n, 4 * 6 + 16 + 4);
  Ok(FCLibProblemDestroy(&p));
  Ok(MasonryCreateWall(3, 3, &o, &exact));
  o.perturb = 0.01;
  o.mu[0] = 0.2;
  o.mu[1] = 0.4;
  for (o.seed = 1; o.seed < 4; o.seed++) {
    PetscReal change = 0;

    Ok(MasonryCreateWall(3, 3, &o, &p)); /* the same contacts, slightly elsewhere, some with gaps */
    assert_int_equal(p->n, exact->n);
    assert_int_equal(p->ptr[3 * p->n], exact->ptr[3 * p->n]);
    for (PetscInt i = 0; i < p->n; i++) {
      PetscReal trace = 0, other = 0;

      least = PetscMin(least, p->mu[i]);
      most = PetscMax(most, p->mu[i]);
      assert_true(p->q[3 * i] > exact->q[3 * i] - 0.1 * weight);
      for (int c = 0; c < 3; c++) {
        for (PetscInt k = p->ptr[3 * i + c]; k < p->ptr[3 * i + c + 1]; k++) {
          if (p->col[k] != 3 * i + c) continue;
          trace += p->val[k];
          other += exact->val[k];
        }
      }
      change = PetscMax(change, PetscAbsReal(trace / other - 1));
    }
    assert_true(change > 1e-3 && change < 0.2);
    Ok(FCLibProblemDestroy(&p));
  }
  assert_true(least > 0.2 && least < 0.22 && most < 0.4 && most > 0.38);
  Ok(FCLibProblemDestroy(&exact));
}

/* Numbers as they were first made, so that a change of the generator or of a compiler's arithmetic is seen */
static void TestNumbers(void **state)
{
  static const struct {
    const char *name;
    PetscReal   q, w, mu;
  } known[] = {
      {"wall-4x4-head-rough", 4.5791348070332, 2234.9626431447, 79.075322003365},
      {"tower-2x5-head-shaken", 29.878898186696, 13060.36229538, 55.2},
      {"columns-3x8-head-load", 5.8259441292, 69.327504882403, 69.6},
      {"wall-2x4-rock", 0.3924, 512.02752009318, 33.6},
  };

  (void)state;
  for (size_t k = 0; k < sizeof(known) / sizeof(known[0]); k++) {
    FCLibProblem *p;
    PetscReal     q = 0, w = 0, mu = 0;

    Ok(MasonryCreate(Find(known[k].name), &p));
    for (PetscInt i = 0; i < 3 * p->n; i++) q += PetscAbsReal(p->q[i]);
    for (PetscInt i = 0; i < p->ptr[3 * p->n]; i++) w += PetscAbsReal(p->val[i]);
    for (PetscInt i = 0; i < p->n; i++) mu += p->mu[i];
    if (PetscAbsReal(q - known[k].q) > 1e-11 * q || PetscAbsReal(w - known[k].w) > 1e-11 * w || PetscAbsReal(mu - known[k].mu) > 1e-11 * mu)
      fail_msg("{\"%s\", %.13g, %.13g, %.13g},", known[k].name, q, w, mu);
    Ok(FCLibProblemDestroy(&p));
  }
}

static void Project(PetscReal mu, PetscReal r[3])
{
  PetscReal t = PetscSqrtReal(r[1] * r[1] + r[2] * r[2]), n;

  if (t <= mu * r[0]) return;
  n = PetscMax((r[0] + mu * t) / (1 + mu * mu), 0);
  r[0] = n;
  r[1] = n > 0 ? r[1] * mu * n / t : 0;
  r[2] = n > 0 ? r[2] * mu * n / t : 0;
}

/* |r - P(r - s û)| relative to |r|, with s in the units of W⁻¹ */
static PetscReal Merit(const FCLibProblem *p, const PetscReal s[], const PetscReal r[], const PetscReal u[])
{
  PetscReal error = 0, norm = 0;

  for (PetscInt i = 0; i < p->n; i++) {
    const PetscReal *ri = r + 3 * i, *ui = u + 3 * i;
    PetscReal x[3] = {ri[0] - s[i] * (ui[0] + p->mu[i] * PetscSqrtReal(ui[1] * ui[1] + ui[2] * ui[2])), ri[1] - s[i] * ui[1], ri[2] - s[i] * ui[2]};

    Project(p->mu[i], x);
    for (int c = 0; c < 3; c++) {
      error += (x[c] - ri[c]) * (x[c] - ri[c]);
      norm += ri[c] * ri[c];
    }
  }
  return PetscSqrtReal(error / norm);
}

/* Gauss-Seidel sweeps with a projection per contact, slow but plain: there are sticking, sliding and opening contacts. */
static void TestContacts(void **state)
{
  const char *name[] = {"columns-1x8-rest",   "wall-3x3-load",      "wall-3x3-rough",       "wall-2x4-slippery",
                        "columns-2x6-tilt35", "columns-1x16-rough", "wall-3x3-head-tilt40", "columns-3x8-rock"};
  PetscInt    sliding = 0, opening = 0;

  (void)state;
  for (size_t k = 0; k < sizeof(name) / sizeof(name[0]); k++) {
    FCLibProblem *p;
    PetscReal    *r, *u, *s, merit = 1;
    PetscInt      slide = 0, open = 0, sweep = 0;

    Ok(MasonryCreate(Find(name[k]), &p));
    Ok(PetscCalloc3(3 * p->n, &r, 3 * p->n, &u, p->n, &s));
    for (PetscInt i = 0; i < p->n; i++) {
      for (int c = 0; c < 3; c++)
        for (PetscInt j = p->ptr[3 * i + c]; j < p->ptr[3 * i + c + 1]; j++) s[i] += p->col[j] == 3 * i + c ? p->val[j] : 0;
      s[i] = 1 / s[i]; /* trace at least the largest eigenvalue */
    }
    for (; sweep < 4000 && merit > 1e-4; sweep++) {
      for (PetscInt i = 0; i < p->n; i++) {
        for (int c = 0; c < 3; c++) {
          u[3 * i + c] = p->q[3 * i + c];
          for (PetscInt j = p->ptr[3 * i + c]; j < p->ptr[3 * i + c + 1]; j++) u[3 * i + c] += p->val[j] * r[p->col[j]];
        }
        for (int c = 0; c < 3; c++)
          r[3 * i + c] -= s[i] * (u[3 * i + c] + (c ? 0 : p->mu[i] * PetscSqrtReal(u[3 * i + 1] * u[3 * i + 1] + u[3 * i + 2] * u[3 * i + 2])));
        Project(p->mu[i], r + 3 * i);
      }
      if (sweep % 50) continue;
      Mult(p, r, u);
      merit = Merit(p, s, r, u);
    }
    Mult(p, r, u);
    for (PetscInt i = 0; i < p->n; i++) {
      PetscReal *ui = u + 3 * i;

      open += r[3 * i] == 0 && ui[0] > 0.01 * weight;
      slide += r[3 * i] > 0 && PetscSqrtReal(ui[1] * ui[1] + ui[2] * ui[2]) > 0.01 * weight;
    }
    print_message("%s: %d sweeps, merit %.1e, %d of %d contacts slide, %d open\n", name[k], (int)sweep, merit, (int)slide, (int)p->n, (int)open);
    assert_true(merit < 1e-3);
    if (k == 0) assert_int_equal(slide + open, 0);
    sliding += slide > 0;
    opening += open > 0;
    Ok(PetscFree3(r, u, s));
    Ok(FCLibProblemDestroy(&p));
  }
  assert_true(sliding >= 4 && opening >= 4);
}

int main(int argc, char **argv)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(TestList),    cmocka_unit_test(TestRank),      cmocka_unit_test(TestBlock),
      cmocka_unit_test(TestColumn),  cmocka_unit_test(TestResultant), cmocka_unit_test(TestBase),
      cmocka_unit_test(TestOptions), cmocka_unit_test(TestNumbers),   cmocka_unit_test(TestContacts),
  };
  PetscLogDouble memory, after;
  int            failed;

  if (PetscOptionsSetValue(NULL, "-malloc_debug", "yes")) return 1;
  if (PetscInitialize(&argc, &argv, NULL, NULL)) return 1;
  if (PetscMallocGetCurrentUsage(&memory)) return 1;
  failed = cmocka_run_group_tests_name("masonry", tests, NULL, NULL);
  if (PetscMallocGetCurrentUsage(&after)) return 1;
  if (!failed) failed = after != memory; /* nothing leaks */
  if (PetscFinalize()) return 1;
  return failed;
}
