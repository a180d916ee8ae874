/* Dual problems: each law against solutions found otherwise, for every type of solver; units, ranks, failures, what is refused and viewed. */
#include "dual.h"
#include <malloc.h>
#include <petscblaslapack.h>

#define ANDERSON "-snes_type anderson -npc_snes_type nlgs -npc_snes_max_it 1 -snes_max_it 2000"

/* ---- all solutions of problems whose laws are linear in pieces ---- */

enum { MOST = 32 };

/* States of a block: contacts open, stick, slide to either side; limits lower, upper, between */
static int States(const Row *row)
{
  if (row->relation == RELATION_EQUAL) return 1;
  if (row->relation == RELATION_INTERVAL) return 3;
  if (row->relation == RELATION_STICK || row->friction == PETSC_INFINITY || row->friction == 0) return 2;
  return 4; /* in the plane */
}

/* Solutions of all combinations of states that keep the inequalities; R and U of the first, how many there are.
   margin: how far the nearest inequality is from its bound in the first. */
static int Enumerate(const Blocks *p, PetscReal R[], PetscReal U[])
{
  PetscInt     at[MOST], rows = 0;
  PetscBLASInt n, one = 1, info, pivot[3 * MOST];
  int          found = 0;
  long         all = 1;

  for (PetscInt i = 0; i < p->n; i++) {
    at[i] = rows;
    rows += p->row[i].rows;
    all *= States(&p->row[i]);
  }
  n = (PetscBLASInt)rows;
  for (long code = 0; code < all; code++) {
    PetscScalar a[9 * MOST * MOST] = {0}, b[3 * MOST] = {0};
    PetscReal   r[3 * MOST] = {0}, u[3 * MOST];
    long        rest = code;
    int         good = 1;

    for (PetscInt i = 0; i < p->n; i++) {
      const Row   *row = &p->row[i];
      const int    state = (int)(rest % States(row));
      const double c = row->relation <= RELATION_STICK ? row->cohesion : 0;

      rest /= States(row);
      for (int k = 0; k < row->rows; k++) {
        const PetscInt e = at[i] + k;
        int            velocity; /* is zero: the equation is u = 0, else it is r = b + f r_N */
        double         f = 0;

        switch (row->relation) {
        case RELATION_EQUAL:
          velocity = 1;
          break;
        case RELATION_INTERVAL:
          velocity = state == 2;
          b[e] = state ? row->upper : row->lower;
          break;
        default:
          if (row->relation == RELATION_CONE && row->friction == 0) {
            velocity = state == 1 && k == 0;
            b[e] = k ? 0 : -c;
          } else {
            velocity = state == 1 || (state > 1 && k == 0);
            f = k ? (state == 2 ? row->friction : state == 3 ? -row->friction : 0) : 0;
            b[e] = k ? f * c : -c;
          }
        }
        if (velocity) {
          b[e] = -p->q[3 * i + k];
          for (PetscInt l = p->ptr[i]; l < p->ptr[i + 1]; l++)
            for (int m = 0; m < p->row[p->col[l]].rows; m++) a[(at[p->col[l]] + m) * n + e] = p->w[9 * l + 3 * m + k];
        } else {
          a[e * n + e] = 1;
          if (f != 0) a[at[i] * n + e] = -f;
        }
      }
    }
    LAPACKgesv_(&n, &one, a, &n, pivot, b, &n, &info);
    if (info) continue;
    for (PetscInt i = 0; i < p->n; i++)
      for (int k = 0; k < p->row[i].rows; k++) r[3 * i + k] = b[at[i] + k];
    Product(p, r, u);
    rest = code;
    for (PetscInt i = 0; i < p->n && good; i++) {
      const Row   *row = &p->row[i];
      const int    state = (int)(rest % States(row));
      const double c = row->relation <= RELATION_STICK ? row->cohesion : 0, small = 1e-10, rn = r[3 * i] + c, un = u[3 * i];

      rest /= States(row);
      if (row->relation == RELATION_EQUAL) continue;
      if (row->relation == RELATION_INTERVAL) {
        good = state == 0   ? row->lower > -PETSC_INFINITY && un >= -small
               : state == 1 ? row->upper < PETSC_INFINITY && un <= small
                            : r[3 * i] > row->lower - small && r[3 * i] < row->upper + small;
        continue;
      }
      good = state == 0 ? un >= -small : rn > -small;
      if (States(row) == 4 && state == 1) good = good && fabs(r[3 * i + 1]) <= row->friction * rn + small;
      if (state == 2) good = good && u[3 * i + 1] <= small; /* pushed forwards while it goes backwards */
      if (state == 3) good = good && u[3 * i + 1] >= -small;
    }
    if (!good) continue;
    if (!found++) {
      memcpy(R, r, 3 * sizeof(PetscReal) * (size_t)p->n);
      memcpy(U, u, 3 * sizeof(PetscReal) * (size_t)p->n);
    }
  }
  return found;
}

/* What is beyond a block's rows must not matter */
static void Spoil(Blocks *p)
{
  for (PetscInt i = 0; i < p->n; i++) {
    for (int r = p->row[i].rows; r < 3; r++) p->q[3 * i + r] = 1e3;
    for (PetscInt k = p->ptr[i]; k < p->ptr[i + 1]; k++)
      for (int r = 0; r < 3; r++)
        for (int c = 0; c < 3; c++)
          if (r >= p->row[i].rows || c >= p->row[p->col[k]].rows) p->w[9 * k + 3 * c + r] = 1e3 * (1 + r + c);
  }
}

enum { PLANE, SMOOTH, ROUGH, EQUAL, LIMITS, ONESIDED, COHESIVE, MIXED, LAWS };
static const char *const law_names[] = {"plane", "smooth", "rough", "equal", "limits", "one-sided", "cohesive", "mixed"};

static void SetLaws(Blocks *p, int law)
{
  for (PetscInt i = 0; i < p->n; i++) {
    Row *row = &p->row[i];
    int  l = law == MIXED ? (int)(7 * Uniform()) : law;

    *row = (Row){RELATION_CONE, 2, 0.1 + 0.7 * Uniform(), 0, 0, 0};
    if (l == SMOOTH) *row = (Row){RELATION_CONE, 2 + (Uniform() < 0.5), 0, 0, 0, 0};
    if (l == ROUGH) *row = i % 2 ? (Row){RELATION_CONE, 3, PETSC_INFINITY, 0, 0, 0} : (Row){RELATION_STICK, 2, 0, 0, 0, 0};
    if (l == EQUAL) *row = (Row){RELATION_EQUAL, 1 + (PetscInt)(3 * Uniform()), 0, 0, 0, 0};
    if (l == LIMITS) *row = (Row){RELATION_INTERVAL, 1, 0, 0, -Uniform(), Uniform()};
    if (l == ONESIDED) *row = (Row){RELATION_INTERVAL, 1, 0, 0, Uniform() < 0.5 ? 0 : -Uniform(), PETSC_INFINITY};
    if (l == ONESIDED && Uniform() < 0.3) row->lower = PETSC_NINFINITY, row->upper = Uniform();
    if (l == COHESIVE) row->cohesion = Uniform(), row->friction = Uniform() < 0.3 ? 0 : row->friction;
  }
}

typedef struct {
  const char *options;
  int         laws[LAWS]; /* 2: may fail, and say so */
} Solver;

static const Solver solvers[] = {
    {"-snes_type auto", {1, 1, 1, 1, 1, 1, 1, 1}},
    {"-snes_type nlgs", {1, 1, 2, 1, 1, 1, 1, 1}},
    {"-snes_type proxnewton", {1, 1, 1, 1, 1, 1, 1, 1}},
    {"-snes_type conic", {1, 0, 0, 0, 0, 0, 0, 0}},
    {"-snes_type newtonls", {1, 1, 2, 1, 1, 1, 1, 2}},
    {ANDERSON, {1, 1, 1, 1, 1, 1, 1, 1}},
    {"-snes_type auto -dual_mat_type free", {1, 1, 1, 1, 1, 1, 1, 1}},
    {"-snes_type proxnewton -dual_mat_type free", {1, 1, 1, 1, 1, 1, 1, 1}},
    {"-snes_type auto -dual_island_limit 1", {1, 1, 1, 1, 1, 1, 1, 1}},
    {"-snes_type nlgs -dual_ordering coloring", {1, 1, 2, 1, 1, 1, 1, 1}},
};
enum { SOLVERS = sizeof(solvers) / sizeof(solvers[0]) };

static void TestLaws(void **state)
{
  const int want = size > 1 ? 2 : 12; /* messages take their time */
  int       failed = 0;

  (void)state;
  seed = 11;
  for (int law = size > 1 ? COHESIVE : 0; law < LAWS; law++) {
    int    solved = 0, bad[SOLVERS] = {0};
    double worst = 0;

    for (int k = 0; solved < want && k < 100; k++) {
      const PetscInt n = 1 + (PetscInt)(5 * Uniform());
      Blocks         p;
      PetscReal      R[3 * MOST], U[3 * MOST], r[3 * MOST], u[3 * MOST];

      MakeDense(n, 3 * n, 0.3, &p);
      SetLaws(&p, law);
      Spoil(&p);
      if (Enumerate(&p, R, U) == 1) {
        solved++;
        assert_true(ErrorEnergy(&p, R) < 1e-10);
        for (int s = 0; s < SOLVERS; s++) {
          char                options[256];
          SNESConvergedReason reason;
          double              d;

          if (!solvers[s].laws[law]) continue;
          snprintf(options, sizeof(options), "-snes_rtol 1e-11 %s", solvers[s].options);
          reason = SolveOnce(PETSC_COMM_WORLD, options, DUAL_MERIT_ENERGY, &p, r, u, NULL, NULL);
          d = fmax(Difference(3 * n, r, R) / (1 + Most(3 * n, R)), Difference(3 * n, u, U));
          if (reason > 0) worst = fmax(worst, d);
          if (reason <= 0 && solvers[s].laws[law] == 2)
            assert_true(isfinite(d));
          else if (reason <= 0 || !(d < 1e-8)) {
            print_message("%s, problem %d of %d blocks, %s: %s, off by %g\n", law_names[law], k, (int)n, solvers[s].options,
                          SNESConvergedReasons[reason], d);
            bad[s]++;
            failed++;
          }
        }
      }
      Ok(BlocksDestroy(&p));
    }
    print_message("%s: %d problems, off by %.1e\n", law_names[law], solved, worst);
    assert_int_equal(solved, want);
  }
  assert_int_equal(failed, 0);
}

/* Contacts in space against the plain projected iteration, slow but of no relation to any solver; all types agree on U */
static void TestSpace(void **state)
{
  double worst = 0;
  int    open = 0, stick = 0, slip = 0, failed = 0;

  (void)state;
  seed = 12;
  for (int k = size > 1 ? 10 : 0; k < 12; k++) {
    const PetscInt n = 1 + k % 6;
    Blocks         p;
    PetscReal      R[3 * MOST] = {0}, U[3 * MOST], r[3 * MOST], u[3 * MOST];

    MakeDense(n, 3 * n, 0.3, &p);
    for (PetscInt i = 0; i < n; i++) {
      p.row[i].friction = 0.05 + 0.6 * Uniform();
      if (k % 3 == 1) p.row[i].cohesion = 0.3 * Uniform();
      if (k % 4 == 3 && i % 3 == 2) p.row[i] = (Row){RELATION_EQUAL, 3, 0, 0, 0, 0};
      if (k % 4 == 3 && i % 3 == 1) p.row[i] = (Row){RELATION_INTERVAL, 1, 0, 0, 0, PETSC_INFINITY};
    }
    for (int it = 0; it < 100000; it++) {
      double change = 0;

      Product(&p, R, U);
      for (PetscInt i = 0; i < n; i++) {
        const Row   *row = &p.row[i];
        const double mu = row->friction, rho = 0.05;
        double       x[3] = {R[3 * i] + row->cohesion - rho * U[3 * i], R[3 * i + 1] - rho * U[3 * i + 1], R[3 * i + 2] - rho * U[3 * i + 2]};

        if (row->relation == RELATION_INTERVAL) x[0] = fmax(x[0], 0);
        if (row->relation == RELATION_CONE) {
          double t = hypot(x[1], x[2]), m;

          x[0] -= rho * mu * hypot(U[3 * i + 1], U[3 * i + 2]);
          m = (x[0] + mu * t) / (1 + mu * mu);
          if (mu * x[0] < t) {
            x[0] = fmax(m, 0);
            x[1] *= t > 0 ? mu * x[0] / t : 0;
            x[2] *= t > 0 ? mu * x[0] / t : 0;
          }
        }
        x[0] -= row->cohesion;
        for (int c = 0; c < row->rows; c++) {
          change = fmax(change, fabs(x[c] - R[3 * i + c]));
          R[3 * i + c] = x[c];
        }
      }
      if (change < 1e-15) break;
    }
    Product(&p, R, U);
    assert_true(ErrorEnergy(&p, R) < 1e-12);
    for (PetscInt i = 0; i < n; i++) {
      const double rn = R[3 * i] + p.row[i].cohesion;

      if (p.row[i].relation != RELATION_CONE) continue;
      if (rn < 1e-12)
        open++;
      else if (hypot(R[3 * i + 1], R[3 * i + 2]) < 0.999 * p.row[i].friction * rn)
        stick++;
      else
        slip++;
    }
    for (int s = 0; s < SOLVERS; s++) {
      char                options[256];
      SNESConvergedReason reason;
      double              d;

      snprintf(options, sizeof(options), "-snes_rtol 1e-11 %s", solvers[s].options);
      reason = SolveOnce(PETSC_COMM_WORLD, options, DUAL_MERIT_ENERGY, &p, r, u, NULL, NULL);
      d = fmax(Difference(3 * n, r, R) / (1 + Most(3 * n, R)), Difference(3 * n, u, U));
      worst = fmax(worst, d);
      if (reason <= 0 || !(d < 1e-8)) {
        print_message("problem %d of %d blocks, %s: %s, off by %g\n", k, (int)n, solvers[s].options, SNESConvergedReasons[reason], d);
        failed++;
      }
    }
    Ok(BlocksDestroy(&p));
  }
  print_message("off by %.1e; %d open, %d stick, %d slide\n", worst, open, stick, slip);
  assert_true(open > 0 && stick > 0 && slip > 0);
  assert_int_equal(failed, 0);
}

/* By hand: a unit mass on the ground and on a wall */
static void TestByHand(void **state)
{
  static const struct {
    Row       row;
    PetscReal q[3], R[3], U[3];
  } known[] = {
      {{RELATION_CONE, 3, 0.5, 0, 0, 0}, {-1, 3, 4}, {1, -0.3, -0.4}, {0, 2.7, 3.6}},
      {{RELATION_CONE, 3, 0.5, 0, 0, 0}, {-1, 0.3, -0.2}, {1, -0.3, 0.2}, {0, 0, 0}},
      {{RELATION_CONE, 3, 0.5, 0, 0, 0}, {1, 3, 4}, {0, 0, 0}, {1, 3, 4}},
      {{RELATION_CONE, 3, 0, 0, 0, 0}, {1, 0, 0}, {0, 0, 0}, {1, 0, 0}}, /* opens without any sliding */
      {{RELATION_CONE, 3, 0, 0, 0, 0}, {-1, 3, 4}, {1, 0, 0}, {0, 3, 4}},
      {{RELATION_CONE, 2, 0.5, 0, 0, 0}, {-1, 3, 9}, {1, -0.5, 0}, {0, 2.5, 0}},
      {{RELATION_CONE, 3, PETSC_INFINITY, 0, 0, 0}, {-1, 30, 40}, {1, -30, -40}, {0, 0, 0}},
      {{RELATION_CONE, 3, INFINITY, 0, 0, 0}, {-1, 30, 40}, {1, -30, -40}, {0, 0, 0}}, /* the other infinity */
      {{RELATION_STICK, 3, 0, 0, 0, 0}, {1, 30, 40}, {0, 0, 0}, {1, 30, 40}},
      {{RELATION_CONE, 3, 0.5, 2, 0, 0}, {1, 0.3, 0.2}, {-1, -0.3, -0.2}, {0, 0, 0}}, /* pulled, holds */
      {{RELATION_CONE, 3, 0.5, 2, 0, 0}, {3, 0, 0}, {-2, 0, 0}, {1, 0, 0}},           /* pulled off */
      {{RELATION_CONE, 3, 0.5, 2, 0, 0}, {1, 3, 4}, {-1, -0.3, -0.4}, {0, 2.7, 3.6}}, /* pulled, slides: 0.5 (-1 + 2) */
      {{RELATION_CONE, 3, PETSC_INFINITY, 2, 0, 0}, {1, 3, 4}, {-1, -3, -4}, {0, 0, 0}},
      {{RELATION_EQUAL, 1, 0, 0, 0, 0}, {5, 7, 7}, {-5, 0, 0}, {0, 0, 0}},
      {{RELATION_EQUAL, 2, 0, 0, 0, 0}, {5, 6, 7}, {-5, -6, 0}, {0, 0, 0}},
      {{RELATION_EQUAL, 3, 0, 0, 0, 0}, {5, 6, 7}, {-5, -6, -7}, {0, 0, 0}},
      {{RELATION_INTERVAL, 1, 0, 0, -1, 2}, {0.5, 7, 7}, {-0.5, 0, 0}, {0, 0, 0}},
      {{RELATION_INTERVAL, 1, 0, 0, -1, 2}, {5, 7, 7}, {-1, 0, 0}, {4, 0, 0}},
      {{RELATION_INTERVAL, 1, 0, 0, -1, 2}, {-5, 7, 7}, {2, 0, 0}, {-3, 0, 0}},
      {{RELATION_INTERVAL, 1, 0, 0, 0, PETSC_INFINITY}, {-5, 7, 7}, {5, 0, 0}, {0, 0, 0}},
      {{RELATION_INTERVAL, 1, 0, 0, PETSC_NINFINITY, 0}, {-5, 7, 7}, {0, 0, 0}, {-5, 0, 0}},
  };
  static const char *const types[] = {"-snes_type auto", "-snes_type nlgs", "-snes_type proxnewton", "-snes_type newtonls", "-dual_mat_type free"};

  (void)state;
  if (size > 1) return;
  seed = 1;
  for (size_t k = 0; k < sizeof(known) / sizeof(known[0]); k++)
    for (size_t t = 0; t < sizeof(types) / sizeof(types[0]); t++) {
      Blocks              p;
      PetscReal           R[3], U[3];
      SNESConvergedReason reason;

      MakeDense(1, 1, 1, &p);
      for (int c = 0; c < 9; c++) p.w[c] = c % 4 ? 0 : 1;
      memcpy(p.q, known[k].q, sizeof(R));
      p.row[0] = known[k].row;
      reason = SolveOnce(PETSC_COMM_WORLD, types[t], DUAL_MERIT_ENERGY, &p, R, U, NULL, NULL);
      for (int c = 0; c < p.row[0].rows; c++)
        if (reason <= 0 || fabs(R[c] - known[k].R[c]) > 2e-6 || fabs(U[c] - known[k].U[c]) > 2e-6)
          fail_msg("case %d, %s: %s, R %g %g %g, U %g %g %g", (int)k, types[t], SNESConvergedReasons[reason], R[0], R[1], R[2], U[0], U[1], U[2]);
      Ok(BlocksDestroy(&p));
    }
}

/* Nearly dependent rows of a joint: its solution is as good as any other's */
static void TestThinJoint(void **state)
{
  (void)state;
  seed = 13;
  for (int k = 0; k < 20; k++) {
    const double        thin = pow(10, -3 - k / 2);
    Blocks              p;
    PetscReal           R[3], U[3], z[3] = {1, -2, 0.5}, a[3], l = 0;
    SolveReport         report;
    SNESConvergedReason reason;

    MakeDense(1, 1, thin, &p);
    for (int c = 0; c < 3; c++) a[c] = Normal();
    for (int c = 0; c < 3; c++) l += a[c] * a[c];
    for (int c = 0; c < 9; c++) p.w[c] = (c % 4 ? 0 : 1) - (1 - thin) * a[c / 3] * a[c % 3] / l; /* one small eigenvalue */
    p.row[0] = (Row){RELATION_EQUAL, 3, 0, 0, 0, 0};
    p.q[0] = p.q[1] = p.q[2] = 0;
    Product(&p, z, p.q);
    reason = SolveOnce(PETSC_COMM_SELF, "-snes_type nlgs -snes_rtol 1e-10 -snes_max_it 100", DUAL_MERIT_ENERGY, &p, R, U, &report, NULL);
    if (reason <= 0) fail_msg("smallest eigenvalue %g: merit %g", thin, report.merit);
    Ok(BlocksDestroy(&p));
  }
}

/* ---- units ---- */

/* W by 2^a, q by 2^b, impulses by 2^(b - a): all bits of the results are the same but for the exponent */
static void Scaled(const char options[], const Blocks *p, SolveReport *report)
{
  static const int    powers[][2] = {{2, 0}, {0, -2}, {-10, 6}, {20, -14}};
  PetscReal          *R, *U, *r, *u;
  PetscInt            its, again;
  const PetscInt      n = 3 * p->n;
  SNESConvergedReason reason;

  Ok(PetscMalloc4(n, &R, n, &U, n, &r, n, &u));
  reason = SolveOnce(PETSC_COMM_WORLD, options, DUAL_MERIT_ENERGY, p, R, U, report, &its);
  for (size_t k = 0; k < sizeof(powers) / sizeof(powers[0]); k++) {
    const int a = powers[k][0], b = powers[k][1];
    Blocks    s = *p;

    Ok(PetscMalloc3(9 * p->ptr[p->n], &s.w, n, &s.q, p->n, &s.row));
    for (PetscInt i = 0; i < 9 * p->ptr[p->n]; i++) s.w[i] = ldexp(p->w[i], a);
    for (PetscInt i = 0; i < n; i++) s.q[i] = ldexp(p->q[i], b);
    for (PetscInt i = 0; i < p->n; i++) {
      s.row[i] = p->row[i];
      s.row[i].cohesion = ldexp(p->row[i].cohesion, b - a);
      s.row[i].lower = ldexp(p->row[i].lower, b - a);
      s.row[i].upper = ldexp(p->row[i].upper, b - a);
    }
    assert_int_equal(SolveOnce(PETSC_COMM_WORLD, options, DUAL_MERIT_ENERGY, &s, r, u, NULL, &again), reason);
    if (again != its) fail_msg("%s, 2^%d, 2^%d: %d iterations instead of %d", options, a, b, (int)again, (int)its);
    for (PetscInt i = 0; i < n; i++) {
      r[i] = ldexp(r[i], a - b);
      u[i] = ldexp(u[i], -b);
    }
    if (Difference(n, r, R) != 0 || Difference(n, u, U) != 0)
      fail_msg("%s, 2^%d, 2^%d: R differs by %g, U by %g", options, a, b, Difference(n, r, R), Difference(n, u, U));
    Ok(PetscFree3(s.w, s.q, s.row));
  }
  Ok(PetscFree4(R, U, r, u));
}

static void TestUnits(void **state)
{
  PetscInt phases[3] = {0, 0, 0}, used = 0;

  (void)state;
  for (PetscInt k = 0; k < MasonryCount(); k++) {
    Blocks      p;
    SolveReport report;

    FromMasonry(k, &p);
    if (p.n <= (size > 1 ? 32 : 110)) {
      Scaled("", &p, &report);
      phases[0] += report.sweeps > 0;
      phases[1] += report.newton > 0;
      phases[2] += report.conic > 0;
      if (used++ % 6 == 0) {
        Scaled("-snes_type nlgs -snes_max_it 50", &p, &report);
        Scaled("-snes_type proxnewton", &p, &report);
        Scaled("-snes_type conic", &p, &report);
      }
    }
    Ok(BlocksDestroy(&p));
  }
  seed = 21;
  for (int k = size > 1 ? 9 : 0; k < 10; k++) {
    Blocks      p;
    SolveReport report;

    MakeDense(8, 12, 0, &p);
    SetLaws(&p, MIXED);
    for (int s = 0; s < 3; s++) Scaled(solvers[s].options, &p, &report);
    Scaled("-snes_type nlgs -snes_nlgs_symmetric -snes_nlgs_relaxation 0.7", &p, &report);
    Ok(BlocksDestroy(&p));
  }
  print_message("%d problems: %d with sweeps, %d with Newton steps, %d with interior-point steps\n", (int)used, (int)phases[0], (int)phases[1],
                (int)phases[2]);
  assert_true(size > 1 || (phases[0] > 5 && phases[1] > 5 && phases[2] > 0));
}

/* ---- ranks ---- */

/* With some of masonry, or regular ones alone */
static void MakeIslands(int masonry, Blocks *p)
{
  Blocks part[5];
  int    n = 3;

  seed = 31;
  MakeDense(5, 15, 0.2, &part[0]);
  MakeDense(7, 21, 0.2, &part[1]);
  SetLaws(&part[1], MIXED);
  MakeDense(1, 3, 0.2, &part[2]);
  if (masonry) {
    FromMasonry(FindMasonry("columns-2x6-tilt35"), &part[n++]);
    FromMasonry(FindMasonry("wall-3x3-rough"), &part[n++]);
  }
  Mix(n, part, p);
  for (int k = 0; k < n; k++) Ok(BlocksDestroy(&part[k]));
}

/* Sweeps do not depend on who has what */
static void TestRanks(void **state)
{
  static const char *const nlgs[][2] = {
      /* on all ranks, on one */
      {"", ""},
      {"-dual_ordering coloring", "-dual_ordering coloring"},
      {"-dual_island_limit 1", "-dual_ordering coloring"},
      {"-dual_island_limit 1 -snes_nlgs_symmetric -snes_nlgs_relaxation 0.9",
       "-dual_ordering coloring -snes_nlgs_symmetric -snes_nlgs_relaxation 0.9"},
  };
  static const struct {
    const char *options;
    int         masonry; /* sweeps and factorizations are quick on it, iterative solvers are not */
  } other[] = {
      {"", 1},
      {"-dual_ordering coloring", 1},
      {"-dual_island_limit 1", 0},
      {"-dual_island_limit 6", 0},
      {"-dual_mat_type free", 0},
      {"-snes_type proxnewton", 1},
      {"-snes_type newtonls", 0},
      {ANDERSON, 0},
  };
  Blocks      p;
  PetscReal  *R, *U, *r, *u;
  PetscInt    n, its;
  SolveReport report;

  (void)state;
  MakeIslands(1, &p);
  n = 3 * p.n;
  Ok(PetscMalloc4(n, &R, n, &U, n, &r, n, &u));
  for (size_t k = 0; k < sizeof(nlgs) / sizeof(nlgs[0]); k++) {
    char text[2][256];

    for (int i = 0; i < 2; i++) snprintf(text[i], sizeof(text[i]), "-snes_type nlgs -snes_max_it 23 -snes_rtol 1e-30 %s", nlgs[k][i]);
    SolveOnce(PETSC_COMM_WORLD, text[0], DUAL_MERIT_ENERGY, &p, R, U, NULL, &its);
    assert_int_equal(its, 23);
    SolveOnce(PETSC_COMM_SELF, text[size > 1], DUAL_MERIT_ENERGY, &p, r, u, NULL, NULL);
    if (!(Difference(n, R, r) <= 1e-12 * Most(n, r)) || !(Difference(n, U, u) <= 1e-12 * Most(n, u)))
      fail_msg("%s: differs by %g of %g", text[0], Difference(n, R, r), Most(n, r));
    SolveOnce(PETSC_COMM_WORLD, text[0], DUAL_MERIT_ENERGY, &p, r, u, NULL, NULL);
    assert_true(Difference(n, R, r) == 0 && Difference(n, U, u) == 0); /* the same bits each time */
  }
  Ok(PetscFree4(R, U, r, u));
  Ok(BlocksDestroy(&p));
  for (size_t k = 0; k < sizeof(other) / sizeof(other[0]); k++) {
    MakeIslands(other[k].masonry, &p);
    n = 3 * p.n;
    Ok(PetscMalloc4(n, &R, n, &U, n, &r, n, &u));
    for (int merit = 0; merit < 2; merit++) {
      const SNESConvergedReason reason = SolveOnce(PETSC_COMM_WORLD, other[k].options, (DualMerit)merit, &p, R, U, &report, NULL);
      const double              e = merit == DUAL_MERIT_FCLIB ? ErrorFCLib(&p, R) : ErrorEnergy(&p, R);

      if (reason <= 0 || !(e <= 1.001e-8) || !(fabs(e - report.merit) < 1e-10))
        fail_msg("'%s', merit %d: %s, error %g, report says %g", other[k].options, merit, SNESConvergedReasons[reason], e, report.merit);
      SolveOnce(PETSC_COMM_WORLD, other[k].options, (DualMerit)merit, &p, r, u, NULL, NULL);
      assert_true(Difference(n, R, r) == 0 && Difference(n, U, u) == 0);
    }
    Ok(PetscFree4(R, U, r, u));
    Ok(BlocksDestroy(&p));
  }
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(TestByHand),    cmocka_unit_test(TestLaws),  cmocka_unit_test(TestSpace),
      cmocka_unit_test(TestThinJoint), cmocka_unit_test(TestUnits), cmocka_unit_test(TestRanks),
  };

  return UNIT_MAIN_WITH("dual", tests, DualStart, UnitEnd);
}
