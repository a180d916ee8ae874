/* The problem of one contact: a million random ones judged by the law itself, some of them against all solutions, found by the angle of slip. */
#include "unit.h"
#include "constraints/cone.h"
#include <math.h>

static uint64_t seed;

static double Uniform(void)
{
  uint64_t z = (seed += 0x9e3779b97f4a7c15u);

  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return (double)((z ^ (z >> 31)) >> 11) / 9007199254740992.;
}

static double Normal(void)
{
  return sqrt(-2 * log(1 - Uniform())) * cos(2 * PETSC_PI * Uniform());
}

/* The nearest point of the cone, case by case */
static void Nearest(double mu, const double x[3], double p[3])
{
  const double t = hypot(x[1], x[2]), along = (x[0] + mu * t) / sqrt(1 + mu * mu); /* on the generator nearest to x */

  p[0] = p[1] = p[2] = 0;
  if (x[0] >= 0 && t <= mu * x[0])
    memcpy(p, x, 3 * sizeof(double));
  else if (along > 0) {
    p[0] = along / sqrt(1 + mu * mu);
    p[1] = mu * p[0] * x[1] / t;
    p[2] = mu * p[0] * x[2] / t;
  }
}

static void Velocity(const double w[9], const double b[3], const double r[3], double u[3])
{
  for (int c = 0; c < 3; c++) u[c] = b[c] + w[c] * r[0] + w[3 + c] * r[1] + w[6 + c] * r[2];
}

/* |r - P(r - rho u^)| relative to what r and b weigh in impulses */
static double Residual(const double w[9], double mu, const double b[3], const double r[3])
{
  const double rho = 3 / (w[0] + w[4] + w[8]);
  double       u[3], x[3], p[3], f = 0, scale;

  Velocity(w, b, r, u);
  x[0] = r[0] - rho * (u[0] + mu * hypot(u[1], u[2]));
  x[1] = r[1] - rho * u[1];
  x[2] = r[2] - rho * u[2];
  Nearest(mu, x, p);
  for (int c = 0; c < 3; c++) f += (r[c] - p[c]) * (r[c] - p[c]);
  scale = fmax(sqrt(r[0] * r[0] + r[1] * r[1] + r[2] * r[2]), rho * sqrt(b[0] * b[0] + b[1] * b[1] + b[2] * b[2]));
  return scale > 0 ? sqrt(f) / scale : sqrt(f);
}

/* W = V diag(e) V^T of a random turn V, by columns */
static void Turned(const double e[3], double w[9])
{
  double v[3][3], l;

  for (int i = 0; i < 3; i++) {
    for (int c = 0; c < 3; c++) v[i][c] = Normal();
    for (int twice = 0; twice < 2; twice++)
      for (int j = 0; j < i; j++) {
        double d = v[i][0] * v[j][0] + v[i][1] * v[j][1] + v[i][2] * v[j][2];

        for (int c = 0; c < 3; c++) v[i][c] -= d * v[j][c];
      }
    l = sqrt(v[i][0] * v[i][0] + v[i][1] * v[i][1] + v[i][2] * v[i][2]);
    for (int c = 0; c < 3; c++) v[i][c] /= l;
  }
  for (int r = 0; r < 3; r++)
    for (int c = 0; c < 3; c++) w[3 * c + r] = e[0] * v[0][r] * v[0][c] + e[1] * v[1][r] * v[1][c] + e[2] * v[2][r] * v[2][c];
}

static double Friction(void)
{
  static const double mu[] = {0, 1e-12, 1e-3, 0.3, 1, 10};

  return Uniform() < 0.2 ? 2 * Uniform() : mu[(int)(6 * Uniform())];
}

/* Of all kinds: pressed, at rest, opening; tangents zero, equal, small, huge */
static void RightHandSide(double unit, double b[3])
{
  static const double size[] = {0, 1e-14, 1e-3, 1, 1e3, 1e8};
  const double        t = size[(int)(6 * Uniform())], kind = Uniform();

  b[0] = kind < 0.1 ? 0 : kind < 0.25 ? fabs(Normal()) : kind < 0.35 ? -1e-10 * Uniform() : -fabs(Normal());
  b[1] = t * Normal();
  b[2] = Uniform() < 0.1 ? 0 : Uniform() < 0.1 ? b[1] : t * Normal();
  for (int c = 0; c < 3; c++) b[c] *= unit;
}

/* All contacts that slide: on the circle of directions, (W_TN + mu W_TT s) r_N + b_T is along -s when r_N keeps the contact closed.
   Multiplied by the denominator of r_N this is a trigonometric polynomial of the second degree. */
static double Across(const double w[9], double mu, const double b[3], double angle, double r[3], double *along)
{
  const double s0 = cos(angle), s1 = sin(angle), n = w[0] + mu * (w[3] * s0 + w[6] * s1), rn = -b[0] / n;
  const double t0 = w[1] + mu * (w[4] * s0 + w[7] * s1), t1 = w[2] + mu * (w[5] * s0 + w[8] * s1);

  r[0] = rn;
  r[1] = mu * rn * s0;
  r[2] = mu * rn * s1;
  *along = (rn * t0 + b[1]) * s0 + (rn * t1 + b[2]) * s1;
  return (n * b[1] - b[0] * t0) * s1 - (n * b[2] - b[0] * t1) * s0;
}

/* All solutions that a scan finds; at most 6 */
static int Enumerate(const double w[9], double mu, const double b[3], double found[6][3])
{
  const int steps = 1440;
  int       n = 0;
  double    start = 0.1234, r[3], along, last, m[3][4]; /* not where roots are by design */

  if (b[0] >= 0) { /* open */
    for (int c = 0; c < 3; c++) found[n][c] = 0;
    n++;
  }
  for (int i = 0; i < 3; i++) { /* stick: W r = -b by elimination with pivots */
    for (int c = 0; c < 3; c++) m[i][c] = w[3 * c + i];
    m[i][3] = -b[i];
  }
  for (int k = 0; k < 3; k++) {
    int p = k;

    for (int i = k + 1; i < 3; i++)
      if (fabs(m[i][k]) > fabs(m[p][k])) p = i;
    for (int c = 0; c < 4; c++) {
      double swap = m[k][c];

      m[k][c] = m[p][c];
      m[p][c] = swap;
    }
    for (int i = k + 1; i < 3; i++)
      for (int c = 3; c >= k; c--) m[i][c] -= m[i][k] / m[k][k] * m[k][c];
  }
  for (int k = 2; k >= 0; k--) {
    r[k] = m[k][3];
    for (int c = k + 1; c < 3; c++) r[k] -= m[k][c] * r[c];
    r[k] /= m[k][k];
  }
  if (r[0] > 0 && hypot(r[1], r[2]) <= mu * r[0] * (1 + 1e-12)) memcpy(found[n++], r, sizeof(r));
  if (mu == 0 && b[0] < 0) { /* slides in any direction */
    found[n][0] = -b[0] / w[0];
    found[n][1] = found[n][2] = 0;
    n++;
  }
  last = Across(w, mu, b, start, r, &along);
  for (int k = 1; k <= steps && n < 6; k++) {
    double lo = start + 2 * PETSC_PI * (k - 1) / steps, hi = start + 2 * PETSC_PI * k / steps;
    double next = Across(w, mu, b, hi, r, &along);

    if (last == 0 || (last < 0) != (next < 0)) {
      for (int i = 0; i < 60; i++) {
        double mid = 0.5 * (lo + hi), f = Across(w, mu, b, mid, r, &along);

        if ((f < 0) == (last < 0) && last != 0)
          lo = mid;
        else
          hi = mid;
      }
      Across(w, mu, b, hi, r, &along);
      if (r[0] > 0 && along <= 1e-12 * hypot(b[1], b[2])) memcpy(found[n++], r, sizeof(r));
    }
    last = next;
  }
  return n;
}

/* Nearest: no other point of the cone is nearer, x - p is normal to p and in the polar cone */
static void TestProject(void **state)
{
  (void)state;
  seed = 1;
  for (int k = 0; k < 200000; k++) {
    const double mu = Friction(), unit = pow(10, 20 * Uniform() - 10);
    double       x[3] = {unit * Normal(), unit * Normal(), unit * Normal()}, p[3], d[3], size, generator;

    if (k % 7 == 0) x[1] = x[2] = 0;
    if (k % 11 == 0) x[0] = 0;
    if (k % 13 == 0) x[0] = -mu * hypot(x[1], x[2]);
    memcpy(p, x, sizeof(p));
    ConeProject(mu, p);
    size = sqrt(x[0] * x[0] + x[1] * x[1] + x[2] * x[2]);
    for (int c = 0; c < 3; c++) d[c] = x[c] - p[c];
    assert_true(hypot(p[1], p[2]) <= mu * p[0] + 1e-15 * (1 + mu) * size);
    assert_true(p[0] >= 0);
    assert_true(fabs(d[0] * p[0] + d[1] * p[1] + d[2] * p[2]) <= 1e-15 * size * size);
    generator = d[0] + mu * hypot(d[1], d[2]); /* the largest product of d with a generator (1, mu s) */
    assert_true(generator <= 2e-15 * (1 + mu) * size);
    for (int i = 0; i < 3; i++) { /* <x - p, y - p> <= 0 for y in the cone */
      const double a = 2 * PETSC_PI * Uniform(), n = size * Uniform(), t = mu * n * Uniform();
      const double product = d[0] * (n - p[0]) + d[1] * (t * cos(a) - p[1]) + d[2] * (t * sin(a) - p[2]);

      assert_true(product <= 4e-15 * (1 + mu) * size * size);
    }
  }
}

enum { PLAIN, UNSYMMETRIC, STRETCHED };

/* A million problems with a regular block: the law holds to rounding */
static void TestLaw(void **state)
{
  double worst[3] = {0, 0, 0}, nearest = 0;
  int    open = 0, stick = 0, slip = 0, compared = 0, several = 0;

  (void)state;
  seed = 2;
  for (int k = 0; k < 1000000; k++) {
    const int    kind = k % 4 == 3 ? STRETCHED : k % 4 == 2 ? UNSYMMETRIC : PLAIN;
    const double unit = pow(10, 16 * Uniform() - 8), speed = pow(10, 16 * Uniform() - 8), mu = Friction();
    const double least = kind == STRETCHED ? pow(10, -9 * Uniform()) : 0.05;
    double       e[3] = {unit * (least + Uniform()), unit * (least + Uniform()), unit * least}, w[9], b[3], old[3], r[3], u[3], res;
    OneContact   one;

    Turned(e, w);
    if (kind == UNSYMMETRIC)
      for (int c = 0; c < 9; c++) w[c] += 1e-3 * unit * Normal();
    RightHandSide(speed, b);
    if (k % 8 == 7) { /* as moderate impulses make it */
      const double z[3] = {-speed / unit * Uniform(), mu * speed / unit * Normal(), speed / unit * Normal()}, none[3] = {0, 0, 0};

      Velocity(w, none, z, b);
    }
    for (int c = 0; c < 3; c++) old[c] = speed / unit * Normal();
    OneContactSetUp(w, &one);
    if (one.shift > 0) continue; /* looked at below */
    if (k % 3) {                 /* what an earlier search has left must not matter */
      double other[3];

      RightHandSide(speed, other);
      OneContactSolve(&one, mu, other, old, 0, r);
    }
    OneContactSolve(&one, mu, b, old, 0, r);
    Velocity(w, b, r, u);
    res = Residual(w, mu, b, r);
    worst[kind] = fmax(worst[kind], res);
    if (!(res <= 1e-12))
      fail_msg("problem %d: residual %g; mu %g, W %.17g %.17g %.17g %.17g %.17g %.17g %.17g %.17g %.17g, b %.17g %.17g %.17g: r %g %g %g, u %g %g %g",
               k, res, mu, w[0], w[1], w[2], w[3], w[4], w[5], w[6], w[7], w[8], b[0], b[1], b[2], r[0], r[1], r[2], u[0], u[1], u[2]);
    if (r[0] == 0)
      open++;
    else if (mu > 0 && hypot(r[1], r[2]) < (1 - 1e-9) * mu * r[0])
      stick++;
    else
      slip++;
    if (k % 200 < 3 && kind != STRETCHED && (b[0] >= 0 || hypot(b[1], b[2]) < -1e4 * b[0])) { /* beyond, the angle is known too badly */
      double    found[6][3], distance = INFINITY, size = fmax(sqrt(r[0] * r[0] + r[1] * r[1] + r[2] * r[2]), speed / unit * 1e-8);
      const int n = Enumerate(w, mu, b, found);

      if (!n)
        fail_msg("problem %d: no solution found; mu %g, W %.17g %.17g %.17g %.17g %.17g %.17g %.17g %.17g %.17g, b %.17g %.17g %.17g: r %g %g %g", k,
                 mu, w[0], w[1], w[2], w[3], w[4], w[5], w[6], w[7], w[8], b[0], b[1], b[2], r[0], r[1], r[2]);
      for (int i = 0; i < n; i++) { /* wedged contacts, whose angle alone is an inexact answer, may be off by what their own residual says */
        double d = sqrt(pow(r[0] - found[i][0], 2) + pow(r[1] - found[i][1], 2) + pow(r[2] - found[i][2], 2));

        distance = fmin(distance, d / (1 + 1e10 * Residual(w, mu, b, found[i])));
      }
      if (!(distance <= 1e-9 * size))
        fail_msg("problem %d: none of %d solutions is near, %g of %g; mu %g, b %g %g %g, r %g %g %g, found %g %g %g", k, n, distance, size, mu, b[0],
                 b[1], b[2], r[0], r[1], r[2], found[0][0], found[0][1], found[0][2]);
      nearest = fmax(nearest, distance / size);
      several += n > 1;
      compared++;
    }
  }
  print_message(
      "worst residuals %.1e, unsymmetric %.1e, stretched %.1e; %d open, %d stick, %d slip; %d compared to %.1e, %d with several solutions\n",
      worst[PLAIN], worst[UNSYMMETRIC], worst[STRETCHED], open, stick, slip, compared, nearest, several);
  assert_true(open > 10000 && stick > 10000 && slip > 10000 && compared > 10000);
}

/* Singular blocks: repeated, the proximal step comes to rest at a solution. b is in the range of W, so that there is one. */
static void TestSingular(void **state)
{
  double worst = 0;
  int    shifted = 0, slow = 0;

  (void)state;
  seed = 3;
  for (int k = 0; k < 20000; k++) {
    const double unit = pow(10, 16 * Uniform() - 8), speed = pow(10, 16 * Uniform() - 8), mu = Friction();
    const double tiny = k % 3 ? 0 : pow(10, -12 - 6 * Uniform());
    double       e[3] = {unit * (0.1 + Uniform()), k % 2 ? unit * (0.1 + Uniform()) : tiny * unit, tiny * unit}, w[9], b[3], z[3], r[3] = {0, 0, 0},
           res = INFINITY;
    OneContact one;
    int        it = 0;

    Turned(e, w);
    for (int c = 0; c < 3; c++) z[c] = speed / unit * Normal();
    b[0] = b[1] = b[2] = 0;
    Velocity(w, b, z, b);
    if (k % 5 == 0) b[0] += speed * Uniform();
    OneContactSetUp(w, &one);
    shifted += one.shift > 0;
    for (; it < 20000 && !(res <= 1e-12); it++) {
      double old[3] = {r[0], r[1], r[2]};

      OneContactSolve(&one, mu, b, old, 0, r);
      res = Residual(w, mu, b, r);
    }
    worst = fmax(worst, res);
    slow += res > 1e-12;
    if (!(res <= 1e-8))
      fail_msg(
          "problem %d: residual %g after %d steps; mu %g, W %.17g %.17g %.17g %.17g %.17g %.17g %.17g %.17g %.17g, b %.17g %.17g %.17g: r %g %g %g",
          k, res, it, mu, w[0], w[1], w[2], w[3], w[4], w[5], w[6], w[7], w[8], b[0], b[1], b[2], r[0], r[1], r[2]);
  }
  print_message("%d of 20000 blocks singular, worst residual %.1e, %d above 1e-12 after 20000 steps\n", shifted, worst, slow);
  assert_true(shifted > 15000 && slow < 200); /* nearly singular ones crawl */
}

/* Cases by hand: W = diag(2, 4, 4) */
static void TestByHand(void **state)
{
  static const struct {
    double mu, b[3], r[3];
  } known[] = {
      {0.5, {1, 5, 5}, {0, 0, 0}},        /* opens */
      {0.5, {0, 5, 5}, {0, 0, 0}},        /* touches */
      {0.5, {-2, 1, 0}, {1, -0.25, 0}},   /* sticks */
      {0.5, {-2, 0, 0}, {1, 0, 0}},       /* presses alone */
      {0.5, {-2, 6, 8}, {1, -0.3, -0.4}}, /* slides against b_T: u_T = (6, 8) - 4 (0.3, 0.4) */
      {0, {-2, 6, 8}, {1, 0, 0}},         /* without friction */
      {0.25, {-4, 0, -2}, {2, 0, 0.5}},   /* just at the edge: r_T = -b_T / 4 */
      {10, {-2, 400, 0}, {1, -10, 0}},
  };
  const double w[9] = {2, 0, 0, 0, 4, 0, 0, 0, 4}, old[3] = {0, 0, 0};

  (void)state;
  for (size_t k = 0; k < sizeof(known) / sizeof(known[0]); k++) {
    double     r[3];
    OneContact one;

    OneContactSetUp(w, &one);
    OneContactSolve(&one, known[k].mu, known[k].b, old, 0, r);
    for (int c = 0; c < 3; c++)
      if (fabs(r[c] - known[k].r[c]) > 1e-14) fail_msg("case %d: %g %g %g", (int)k, r[0], r[1], r[2]);
  }
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(TestProject),
      cmocka_unit_test(TestByHand),
      cmocka_unit_test(TestLaw),
      cmocka_unit_test(TestSingular),
  };

  return UNIT_MAIN("cone", tests);
}
