/* Rotations: exponential and logarithm, polar factor, free rotation of a rigid body. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include "integrators/rigid_drift.h"
#include "physics/rotation.h"
#include "physics/lanes.h"

/* The rotation vector of angle 0 to pi, by way of the unit quaternion: accurate at every angle. At 180 degrees either sign. */
static void RotationToVector(const PetscReal R[9], PetscReal v[3])
{
  const PetscReal tr = R[0] + R[4] + R[8];
  PetscReal       w, n, s;
  int             i = 0;

  if (tr > R[0] && tr > R[4] && tr > R[8]) { /* the scalar part is the largest */
    w    = 1 + tr;
    v[0] = R[7] - R[5], v[1] = R[2] - R[6], v[2] = R[3] - R[1];
  } else {
    if (R[4] > R[0]) i = 1;
    if (R[8] > R[4 * i]) i = 2;
    const int j = (i + 1) % 3, k = (i + 2) % 3;

    w    = R[3 * k + j] - R[3 * j + k];
    v[i] = 1 + R[4 * i] - R[4 * j] - R[4 * k];
    v[j] = R[3 * j + i] + R[3 * i + j];
    v[k] = R[3 * k + i] + R[3 * i + k];
  }
  n = Vec3Norm(v);
  if (w < 0) {
    w = -w;
    for (i = 0; i < 3; ++i) v[i] = -v[i];
  }
  s = n > 0 ? 2 * PetscAtan2Real(n, w) / n : 0;
  for (i = 0; i < 3; ++i) v[i] *= s;
}

static const PetscReal axes[5][3] = {
  {1,  0,   0   },
  {0,  -1,  0   },
  {.6, 0,   .8  },
  {-2, 1,   3   },
  {1,  1e-9, -1e-5}
};

static PetscReal Distance(const PetscReal A[9], const PetscReal B[9])
{
  PetscReal d = 0;

  for (int i = 0; i < 9; ++i) d = PetscMax(d, PetscAbsReal(A[i] - B[i]));
  return d;
}

static PetscReal OffOrthogonal(const PetscReal R[9])
{
  PetscReal C[9], one[9];

  Mat3Identity(one);
  Mat3MultTransposeLeft(R, R, C);
  return PetscMax(Distance(C, one), PetscAbsReal(Mat3Det(R) - 1));
}

static void Turn(const PetscReal axis[3], PetscReal angle, PetscReal v[3])
{
  for (int i = 0; i < 3; ++i) v[i] = angle * axis[i] / Vec3Norm(axis);
}

static PetscReal Random(PetscInt64 *seed) /* in (-1, 1) */
{
  *seed = (*seed * 1103515245 + 12345) & 0x7fffffff;
  return *seed / (PetscReal)0x40000000 - 1;
}

static void test_products(void **state)
{
  const PetscReal A[9] = {1, 2, -1, 0, 3, 4, 2, -2, 1}, B[9] = {2, 0, 1, 1, -1, 3, 5, 2, 2}, x[3] = {1, -2, 3}, y[3] = {4, 1, -1};
  PetscReal       C[9], D[9], At[9], Bt[9], v[3], w[3], c[3], one[9];

  (void)state;
  for (int i = 0; i < 9; ++i) At[i] = A[3 * (i % 3) + i / 3], Bt[i] = B[3 * (i % 3) + i / 3];
  Mat3Mult(A, B, C);
  assert_true(C[0] == -1 && C[5] == 17 && C[6] == 7); /* by hand */
  Mat3MultTransposeLeft(At, B, D);
  assert_true(Distance(C, D) == 0);
  Mat3MultTransposeRight(A, Bt, D);
  assert_true(Distance(C, D) == 0);
  Mat3Vec(A, x, v);
  assert_true(v[0] == -6 && v[1] == 6 && v[2] == 9);
  Mat3TransposeVec(At, x, w);
  assert_true(v[0] == w[0] && v[1] == w[1] && v[2] == w[2]);
  assert_true(Mat3Det(A) == 33);
  assert_true(Mat3Inverse(A, D));
  Mat3Mult(A, D, C);
  Mat3Identity(one);
  assert_true(Distance(C, one) < 1e-15);
  assert_false(Mat3Inverse((const PetscReal[9]){1, 2, 3, 2, 4, 6, 0, 1, 1}, D));
  Vec3Cross(x, y, c);
  assert_true(c[0] == -1 && c[1] == 13 && c[2] == 9);
  Mat3Skew(x, D);
  Mat3Vec(D, y, v);
  assert_true(v[0] == c[0] && v[1] == c[1] && v[2] == c[2]);
}

static void test_vector(void **state)
{
  const PetscReal z[3] = {0, 0, PETSC_PI / 3}, tiny[3] = {3e-20, -2e-21, 1e-22};
  PetscReal       R[9], v[3], w[3];

  (void)state;
  RotationFromVector(z, R); /* a known one: 60 degrees about z */
  assert_true(PetscAbsReal(R[0] - .5) < 1e-15 && PetscAbsReal(R[1] + PetscSqrtReal(.75)) < 1e-15 && PetscAbsReal(R[3] - PetscSqrtReal(.75)) < 1e-15 && R[8] == 1);
  RotationFromVector(tiny, R);
  assert_true(R[7] == tiny[0] && R[5] == -tiny[0] && R[2] == tiny[1] && R[3] == tiny[2] && R[0] == 1);
  RotationFromVector((const PetscReal[3]){0, 0, 0}, R);
  RotationToVector(R, v);
  assert_true(OffOrthogonal(R) == 0 && Vec3Norm(v) == 0);
  for (int a = 0; a < 5; ++a) {
    for (int e = -150; e <= 0; e += 10) { /* relative accuracy at tiny angles */
      Turn(axes[a], PetscPowReal(10, e), v);
      RotationFromVector(v, R);
      RotationToVector(R, w);
      for (int i = 0; i < 3; ++i) assert_true(PetscAbsReal(w[i] - v[i]) <= 4e-15 * Vec3Norm(v));
    }
    for (int deg = 0; deg <= 180; ++deg) {
      PetscReal R2[9];

      Turn(axes[a], deg * PETSC_PI / 180, v);
      RotationFromVector(v, R);
      assert_true(OffOrthogonal(R) < 2e-15);
      Mat3Vec(R, v, w); /* the axis stays */
      for (int i = 0; i < 3; ++i) assert_true(PetscAbsReal(w[i] - v[i]) < 4e-15);
      RotationToVector(R, w);
      RotationFromVector(w, R2);
      assert_true(Distance(R, R2) < 3e-15 && Vec3Norm(w) < PETSC_PI + 1e-15);
      if (deg < 180)
        for (int i = 0; i < 3; ++i) assert_true(PetscAbsReal(w[i] - v[i]) < 5e-15);
    }
  }
}

/* LanesPolar with 1, 8 or 16 lanes, F in one of them and something else in the others */
static void Polar(const PetscReal F[9], PetscReal R[9], PetscBool *ok)
{
  static PetscInt round = 0;
  const PetscInt  w = round % 3 ? 8 * (round % 3) : 1, lane = round % w;
  PetscReal       A[9 * LANES_MAX], B[9 * LANES_MAX];

  round++;
  for (int i = 0; i < 9; ++i)
    for (int l = 0; l < w; ++l) A[i * w + l] = l == lane ? F[i] : (i % 4 ? 0.1 * i : 1 + 0.1 * l);
  *ok = LanesPolar(w, A, B) < 0 ? PETSC_TRUE : PETSC_FALSE;
  for (int i = 0; i < 9; ++i) R[i] = B[i * w + lane];
}

static void test_polar(void **state)
{
  const PetscReal scale[3] = {1, 1e-60, 1e60};
  PetscReal       R[9], P[9], v[3], F[9], U[9], Q[9], T[9], worst = 0;
  PetscBool       ok;
  PetscInt64      seed = 7;

  (void)state;
  for (int a = 0; a < 5; ++a)
    for (int deg = 0; deg <= 360; deg += 5) { /* the rotation itself, at any scale; 180 degrees included */
      Turn(axes[a], deg * PETSC_PI / 180, v);
      RotationFromVector(v, R);
      for (int s = 0; s < 3; ++s) {
        for (int i = 0; i < 9; ++i) F[i] = scale[s] * R[i];
        Polar(F, P, &ok);
        assert_true(ok && Distance(P, R) < 2e-15 && OffOrthogonal(P) < 2e-15);
      }
    }
  for (int n = 0; n < 300; ++n) { /* F = R U, U = Q diag Q^T with stretches from 1 to 1e-8 */
    const PetscReal small = PetscPowReal(10, -8 * (n % 100) / 99.), d[3] = {1, PetscSqrtReal(small), small};

    for (int i = 0; i < 3; ++i) v[i] = 3 * Random(&seed);
    RotationFromVector(v, R);
    for (int i = 0; i < 3; ++i) v[i] = 3 * Random(&seed);
    RotationFromVector(v, Q);
    for (int i = 0; i < 9; ++i) T[i] = Q[i] * d[i % 3];
    Mat3MultTransposeRight(T, Q, U);
    Mat3Mult(R, U, F);
    Polar(F, P, &ok);
    assert_true(ok && OffOrthogonal(P) < 3e-15);
    /* R is as sensitive as 1 over the sum of the two smallest stretches */
    worst = PetscMax(worst, Distance(P, R) * (d[1] + d[2]));
  }
  assert_true(worst < 4e-15);
  for (int i = 0; i < 9; ++i) F[i] = -R[i];
  Polar(F, P, &ok);
  assert_false(ok);
  Polar((const PetscReal[9]){1, 0, 0, 0, 1, 0, 0, 0, 0}, P, &ok);
  assert_false(ok);
  Polar((const PetscReal[9]){0}, P, &ok);
  assert_false(ok);
  F[4] = NAN;
  Polar(F, P, &ok);
  assert_false(ok);
  F[4] = INFINITY;
  Polar(F, P, &ok);
  assert_false(ok);
}

/* The brick 1 x 2 x 3, mass 12, spinning near its unstable axis; `turned` describes it in a frame that is not principal. */
typedef struct {
  PetscReal moment[3], J[9], axes[9], L[3], Lambda[9];
} Brick;

static void BrickSet(Brick *b, PetscBool turned)
{
  const PetscReal moment[3] = {13, 10, 5}, omega[3] = {.1, 1, .2}, turn[3] = {.7, -.4, 1.1};
  PetscReal       T[9];

  Mat3Identity(b->axes);
  if (turned) RotationFromVector(turn, b->axes);
  for (int i = 0; i < 3; ++i) b->moment[i] = moment[i], b->L[i] = moment[i] * omega[i];
  for (int i = 0; i < 9; ++i) T[i] = b->axes[i] * moment[i % 3];
  Mat3MultTransposeRight(T, b->axes, b->J);
  for (int i = 0; i < 9; ++i) b->Lambda[i] = b->axes[3 * (i % 3) + i / 3]; /* principal axes along x, y, z */
}

static PetscReal BrickEnergy(const Brick *b)
{
  PetscReal P[9], p[3];

  Mat3Mult(b->Lambda, b->axes, P);
  Mat3TransposeVec(P, b->L, p);
  return (p[0] * p[0] / b->moment[0] + p[1] * p[1] / b->moment[1] + p[2] * p[2] / b->moment[2]) / 2;
}

static void Drift(Brick *b, PetscBool dmv, PetscReal tau)
{
  PetscBool ok = PETSC_TRUE;

  if (dmv) assert_int_equal(RotationDriftDMV(b->J, b->L, tau, b->Lambda, &ok), 0);
  else assert_int_equal(RotationDriftSplit(b->moment, b->axes, b->L, tau, b->Lambda), 0);
  assert_true(ok);
}

/* Independent: Lambda' = skew(omega) Lambda, omega = Lambda J^-1 Lambda^T L, by the classical Runge-Kutta method */
static void Rate(const Brick *b, const PetscReal Lambda[9], PetscReal rate[9])
{
  PetscReal p[3], inv[9], w[3], S[9], omega[3];

  Mat3TransposeVec(Lambda, b->L, p);
  assert_true(Mat3Inverse(b->J, inv));
  Mat3Vec(inv, p, w);
  Mat3Vec(Lambda, w, omega);
  Mat3Skew(omega, S);
  Mat3Mult(S, Lambda, rate);
}

static void RungeKutta(Brick *b, PetscReal h)
{
  PetscReal k[4][9], X[9];

  Rate(b, b->Lambda, k[0]);
  for (int s = 1; s < 4; ++s) {
    for (int i = 0; i < 9; ++i) X[i] = b->Lambda[i] + (s < 3 ? h / 2 : h) * k[s - 1][i];
    Rate(b, X, k[s]);
  }
  for (int i = 0; i < 9; ++i) b->Lambda[i] += h / 6 * (k[0][i] + 2 * k[1][i] + 2 * k[2][i] + k[3][i]);
}

static void test_drift_order(void **state)
{
  (void)state;
  for (int turned = 0; turned < 2; ++turned) {
    Brick ref, b;

    BrickSet(&ref, (PetscBool)turned);
    for (int n = 0; n < 2000; ++n) RungeKutta(&ref, 1e-3);
    assert_true(OffOrthogonal(ref.Lambda) < 1e-12);
    for (int dmv = 0; dmv < 2; ++dmv) {
      PetscReal error[2];

      for (int k = 0; k < 2; ++k) {
        const PetscInt n = k ? 160 : 80;

        BrickSet(&b, (PetscBool)turned);
        for (PetscInt i = 0; i < n; ++i) Drift(&b, (PetscBool)dmv, 2. / n);
        error[k] = Distance(b.Lambda, ref.Lambda);
      }
      assert_true(PetscAbsReal(PetscLog2Real(error[0] / error[1]) - 2) < 0.01);
      assert_true(error[1] > 1e-7 && error[1] < 1e-3);
    }
  }
}

static void test_drift_energy(void **state)
{
  const PetscInt n = 100000;

  (void)state;
  for (int dmv = 0; dmv < 2; ++dmv) {
    Brick     b;
    PetscReal e0, low = 0, high = 0, early = 0;

    BrickSet(&b, PETSC_TRUE);
    e0 = BrickEnergy(&b);
    for (PetscInt i = 0; i < n; ++i) {
      PetscReal e;

      Drift(&b, (PetscBool)dmv, 0.025); /* a step of h = 0.05 is two drifts */
      Drift(&b, (PetscBool)dmv, 0.025);
      e    = BrickEnergy(&b) / e0 - 1;
      low  = PetscMin(low, e);
      high = PetscMax(high, e);
      if (i == n / 4) early = high - low;
    }
    assert_true(OffOrthogonal(b.Lambda) < 1e-14);
    if (dmv) assert_true(PetscMax(-low, high) <= 1e-10);
    else assert_true(high - low > 1e-7 && high - low < 1e-4 && high - low < 1.05 * early); /* bounded, no trend */
  }
}

static void test_drift_reversible(void **state)
{
  (void)state;
  for (int dmv = 0; dmv < 2; ++dmv) {
    Brick b, start;

    BrickSet(&b, PETSC_TRUE);
    start = b;
    for (int i = 0; i < 200; ++i) Drift(&b, (PetscBool)dmv, 0.1);
    assert_true(Distance(b.Lambda, start.Lambda) > 0.1);
    for (int i = 0; i < 200; ++i) Drift(&b, (PetscBool)dmv, -0.1);
    assert_true(Distance(b.Lambda, start.Lambda) < 1e-12);
  }
}

static void test_drift_limits(void **state)
{
  Brick     b, start;
  PetscBool ok;
  PetscReal R[9], v[3], F[9], A[9], B[9], Jd[9], g[3];

  (void)state;
  BrickSet(&b, PETSC_TRUE); /* the equation itself, in matrix form, at 0.95 of tau omega */
  start                = b;
  const PetscReal wmax = PetscSqrtReal(.01 + 1 + .04), tr = 28;

  Drift(&b, PETSC_TRUE, .95 / wmax);
  Mat3MultTransposeLeft(start.Lambda, b.Lambda, F);
  for (int i = 0; i < 9; ++i) Jd[i] = (i % 4 ? 0 : tr / 2) - b.J[i];
  Mat3Mult(F, Jd, A);
  Mat3MultTransposeRight(Jd, F, B);
  Mat3TransposeVec(start.Lambda, b.L, g);
  assert_true(PetscAbsReal(A[7] - B[7] - .95 / wmax * g[0]) < 1e-12);
  assert_true(PetscAbsReal(A[2] - B[2] - .95 / wmax * g[1]) < 1e-12);
  assert_true(PetscAbsReal(A[3] - B[3] - .95 / wmax * g[2]) < 1e-12);
  RotationToVector(F, v);
  assert_true(Vec3Norm(v) < PETSC_PI / 2);
  b = start;
  assert_int_equal(RotationDriftDMV(b.J, b.L, 1.5, b.Lambda, &ok), 0); /* too long: said so, nothing changed */
  assert_true(!ok && Distance(b.Lambda, start.Lambda) == 0);
  Drift(&b, PETSC_FALSE, 1.5);
  assert_true(OffOrthogonal(b.Lambda) < 1e-14 && Distance(b.Lambda, start.Lambda) > .1);
  b = start;
  assert_int_equal(RotationDriftDMV((const PetscReal[9]){0}, b.L, .1, b.Lambda, &ok), 0);
  assert_false(ok);
  assert_int_equal(RotationDriftDMV(b.J, (const PetscReal[3]){0, 0, 0}, .1, b.Lambda, &ok), 0); /* at rest */
  assert_true(ok && Distance(b.Lambda, start.Lambda) < 1e-15);
  for (int dmv = 0; dmv < 2; ++dmv) { /* about a principal axis: the splitting turns by tau omega, DMV by asin(tau omega) */
    BrickSet(&b, PETSC_FALSE);
    b.L[0] = b.L[2] = 0;
    b.L[1]          = 10;
    Drift(&b, (PetscBool)dmv, .3);
    v[0] = v[2] = 0;
    v[1]        = dmv ? PetscAsinReal(.3) : .3;
    RotationFromVector(v, R);
    assert_true(Distance(b.Lambda, R) < 1e-15);
  }
}

int main(int argc, char **argv)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_products),     cmocka_unit_test(test_vector),           cmocka_unit_test(test_polar),        cmocka_unit_test(test_drift_order),
    cmocka_unit_test(test_drift_energy), cmocka_unit_test(test_drift_reversible), cmocka_unit_test(test_drift_limits),
  };
  int failed;

  if (PetscInitialize(&argc, &argv, NULL, NULL)) return 1;
  failed = cmocka_run_group_tests(tests, NULL, NULL);
  if (PetscFinalize()) return 1;
  return failed;
}
