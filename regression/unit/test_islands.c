/* Islands of a dual problem: found as they are, solved and stopped each by itself, all together as good as asked for. */
#include "dual.h"
#include "constraints/dual_impl.h"

/* Sums over the islands of all ranks of those with n blocks: how many, and what they took */
static void CountIslands(Dual d, PetscInt n, PetscInt *islands, PetscInt *sweeps, PetscInt *all)
{
  PetscInt sum[3] = {0, 0, 0};

  for (PetscInt k = 0; k < d->islands->n; k++)
    if (d->islands->view[k].n == n) {
      sum[0]++;
      sum[1] += d->islands->report[k].sweeps;
      sum[2] += SolveReportIterations(&d->islands->report[k]);
    }
  MPI_Allreduce(MPI_IN_PLACE, sum, 3, MPIU_INT, MPI_SUM, PETSC_COMM_WORLD);
  *islands = sum[0];
  *sweeps = sum[1];
  *all = sum[2];
}

/* Two islands, one hard and one easy: the easy one is what it is by itself, to the last bit, after as many sweeps; the hard one goes on. Blocks of
   the easy one are the first, so that the places of both are known. */
static void TestTwo(void **state)
{
  static const char *const types[] = {"-snes_type nlgs -snes_nlgs_every 1 -snes_rtol 1e-6", "-snes_type auto -snes_rtol 1e-8", "-snes_type nlgs -snes_nlgs_every 1 -snes_rtol 1e-6 -dual_ordering coloring"};

  (void)state;
  for (size_t t = 0; t < sizeof(types) / sizeof(types[0]); t++) {
    const PetscInt easy = 4;
    Blocks         part[2], p;
    PetscReal     *R, *U, r[12], u[12];
    PetscInt       n, nnz, count, sweeps, iterations, alone, hard, its;
    SolveReport    report;
    Dual           d;

    seed = 61;
    MakeDense(easy, 3 * easy, 3, &part[0]);
    for (PetscInt i = 0; i < 3 * easy; i++) part[0].q[i] *= 100; /* its own scale is above its share of the whole's */
    FromMasonry(FindMasonry("wall-3x3-rough"), &part[1]);
    n = p.n = easy + part[1].n;
    nnz = easy * easy + part[1].ptr[part[1].n];
    Ok(PetscMalloc3(n + 1, &p.ptr, 3 * n, &p.q, n, &p.row));
    Ok(PetscMalloc1(nnz, &p.col));
    Ok(PetscMalloc1(9 * nnz, &p.w));
    for (int k = 0, at = 0, from = 0; k < 2; from += (int)part[k].ptr[part[k].n], at += (int)part[k].n, k++) {
      for (PetscInt i = 0; i <= part[k].n; i++) p.ptr[at + i] = from + part[k].ptr[i];
      for (PetscInt l = 0; l < part[k].ptr[part[k].n]; l++) p.col[from + l] = at + part[k].col[l];
      memcpy(p.w + 9 * from, part[k].w, 9 * sizeof(PetscReal) * (size_t)part[k].ptr[part[k].n]);
      memcpy(p.q + 3 * at, part[k].q, 3 * sizeof(PetscReal) * (size_t)part[k].n);
      memcpy(p.row + at, part[k].row, sizeof(Row) * (size_t)part[k].n);
    }
    Ok(PetscCalloc2(3 * n, &R, 3 * n, &U));
    assert_true(SolveOnce(PETSC_COMM_SELF, types[t], DUAL_MERIT_ENERGY, &part[0], r, u, NULL, &alone) > 0);
    Push(types[t]);
    d = MakeDual(PETSC_COMM_WORLD, DUAL_MERIT_ENERGY);
    assert_true(SolveDual(PETSC_COMM_WORLD, d, &p, R, U) > 0);
    Ok(DualGetReport(d, &report, &its));
    CountIslands(d, easy, &count, &sweeps, &iterations);
    assert_int_equal(count, 1);
    assert_int_equal(iterations, alone);
    if (Difference(12, R, r) != 0 || Difference(12, U, u) != 0) fail_msg("%s: the easy island differs by %g from itself alone", types[t], Difference(12, R, r));
    CountIslands(d, part[1].n, &count, &sweeps, &hard);
    assert_int_equal(count, 1);
    assert_int_equal(its, hard);
    if (!(hard > alone + 5)) fail_msg("%s: %d iterations of the hard island are no more than %d of the easy one", types[t], (int)hard, (int)alone);
    assert_int_equal(report.islands, 2);
    assert_int_equal(report.solved, 2);
    {
      double e = ErrorEnergy(&p, R);

      if (!(e <= (t == 1 ? 1.001e-8 : 1.001e-6))) fail_msg("%s: error %g of all", types[t], e);
    }
    /* another start of the hard one alone: nothing is done on the other, whose start is good */
    memcpy(r, R, sizeof(r));
    for (PetscInt i = 12; i < 3 * n; i++) R[i] = 0;
    assert_true(SolveDual(PETSC_COMM_WORLD, d, &p, R, U) > 0);
    CountIslands(d, easy, &count, &sweeps, &iterations);
    assert_int_equal(iterations, 0);
    assert_true(Difference(12, R, r) == 0);
    Ok(DualGetReport(d, &report, &its));
    assert_true(its > 0 && report.solved == 1);
    print_message("%s: %d iterations of the easy island, %d of the hard one\n", types[t], (int)alone, (int)hard);
    Ok(DualDestroy(&d));
    Pop();
    Ok(PetscFree2(R, U));
    Ok(BlocksDestroy(&p));
    for (int k = 0; k < 2; k++) Ok(BlocksDestroy(&part[k]));
  }
}

enum { MANY = 40 };

/* Of 1 to 6 blocks each, q and W of islands differing by decades */
static void MakeMany(int spread, Blocks *p, PetscInt *largest)
{
  Blocks part[MANY];

  *largest = 0;
  for (int k = 0; k < MANY; k++) {
    const PetscInt n = 1 + (PetscInt)(6 * Uniform());
    const double   q = pow(10, spread * (Uniform() - 1)), w = pow(10, spread * (Uniform() - 0.5));

    MakeDense(n, 3 * n, 0.2, &part[k]);
    for (PetscInt i = 0; i < 3 * n; i++) part[k].q[i] *= q;
    for (PetscInt i = 0; i < 9 * n * n; i++) part[k].w[i] *= w;
    for (PetscInt i = 0; i < n; i++) {
      part[k].row[i].friction = 0.1 + 0.5 * Uniform();
      if (Uniform() < 0.2) part[k].row[i].cohesion = 0.1 * q / w * Uniform();
    }
    *largest = PetscMax(*largest, n);
  }
  Mix(MANY, part, p);
  for (int k = 0; k < MANY; k++) Ok(BlocksDestroy(&part[k]));
}

/* Many, their blocks mixed: as all of them in one by sweeps without an end */
static void TestMany(void **state)
{
  static const char *const types[] = {"-snes_type auto", "-snes_type nlgs", "-snes_type proxnewton", "-snes_type conic", "-snes_type auto -dual_ordering coloring"};

  (void)state;
  for (int k = 0; k < (size > 1 ? 2 : 6); k++) {
    Blocks     p;
    PetscInt   largest, n;
    PetscReal *R, *U, *r, *u;

    seed = 62 + (uint64_t)k;
    MakeMany(0, &p, &largest);
    n = 3 * p.n;
    Ok(PetscCalloc4(n, &R, n, &U, n, &r, n, &u));
    for (int it = 0; it < 20000; it++) { /* one by one, contact by contact: a projected step of each, so no kernel of the solvers */
      double change = 0;

      for (PetscInt i = 0; i < p.n; i++) {
        const double mu = p.row[i].friction;
        double       v[3], x[3], t, m, trace = 0, rho;

        for (int c = 0; c < 3; c++) v[c] = p.q[3 * i + c];
        for (PetscInt l = p.ptr[i]; l < p.ptr[i + 1]; l++)
          for (int c = 0; c < 3; c++) {
            for (int e = 0; e < 3; e++) v[c] += p.w[9 * l + 3 * e + c] * R[3 * p.col[l] + e];
            if (p.col[l] == i) trace += p.w[9 * l + 4 * c];
          }
        rho = 1 / trace;
        x[0] = R[3 * i] + p.row[i].cohesion - rho * (v[0] + mu * hypot(v[1], v[2]));
        x[1] = R[3 * i + 1] - rho * v[1];
        x[2] = R[3 * i + 2] - rho * v[2];
        t = hypot(x[1], x[2]);
        m = (x[0] + mu * t) / (1 + mu * mu);
        if (mu * x[0] < t) {
          x[0] = fmax(m, 0);
          x[1] *= t > 0 ? mu * x[0] / t : 0;
          x[2] *= t > 0 ? mu * x[0] / t : 0;
        }
        x[0] -= p.row[i].cohesion;
        for (int c = 0; c < 3; c++) {
          change = fmax(change, fabs(x[c] - R[3 * i + c]));
          R[3 * i + c] = x[c];
        }
      }
      if (change < 1e-15) break;
    }
    Product(&p, R, U);
    assert_true(ErrorEnergy(&p, R) < 1e-12);
    for (size_t t = 0; t < sizeof(types) / sizeof(types[0]); t++) {
      char        text[256];
      SolveReport report;
      PetscInt    its;
      double      off;

      snprintf(text, sizeof(text), "-snes_rtol 1e-11 %s", types[t]);
      assert_true(SolveOnce(PETSC_COMM_WORLD, text, DUAL_MERIT_ENERGY, &p, r, u, &report, &its) > 0);
      off = fmax(Difference(n, r, R), Difference(n, u, U));
      if (!(off < 1e-8)) fail_msg("%s, problem %d: off by %g", types[t], k, off);
      assert_int_equal(report.islands, MANY);
      assert_int_equal(its, report.sweeps + report.newton + report.conic);
      assert_true(report.mean[0] + report.mean[1] + report.mean[2] <= (double)its);
    }
    Ok(PetscFree4(R, U, r, u));
    Ok(BlocksDestroy(&p));
  }
}

/* Whatever the islands' sizes: what is called converged is so as a whole, by both merits, and the bits are those of the time before */
static void TestWhole(void **state)
{
  static const char *const types[] = {"-snes_type auto", "-snes_type nlgs -snes_nlgs_every 1", "-snes_type proxnewton"};
  int                      near = 0;

  (void)state;
  for (int k = 0; k < (size > 1 ? 6 : 30); k++)
    for (size_t t = 0; t < sizeof(types) / sizeof(types[0]); t++) {
      const double tol = pow(10, -1 - k % 5);
      const int    merit = k / 5 % 2;
      Blocks       p;
      PetscInt     largest, n;
      PetscReal   *R, *U, *r, *u;
      SolveReport  report;
      char         text[256];
      double       e;

      seed = 70 + (uint64_t)k;
      MakeMany(k % 7, &p, &largest);
      n = 3 * p.n;
      Ok(PetscCalloc4(n, &R, n, &U, n, &r, n, &u));
      snprintf(text, sizeof(text), "%s -snes_rtol %g", types[t], tol);
      assert_true(SolveOnce(PETSC_COMM_WORLD, text, (DualMerit)merit, &p, R, U, &report, NULL) > 0);
      e = merit ? ErrorFCLib(&p, R) : ErrorEnergy(&p, R);
      if (!(e <= tol * (1 + 1e-9)) || !(fabs(e - report.merit) <= 1e-9 * tol)) fail_msg("%s, merit %d: error %g, the report says %g", text, merit, e, report.merit);
      near += e > 0.1 * tol;
      SolveOnce(PETSC_COMM_WORLD, text, (DualMerit)merit, &p, r, u, NULL, NULL);
      assert_true(Difference(n, R, r) == 0 && Difference(n, U, u) == 0);
      Ok(PetscFree4(R, U, r, u));
      Ok(BlocksDestroy(&p));
    }
  print_message("%d within a tenth of the tolerance\n", near);
  assert_true(near > 3); /* else this says nothing */
}

/* An island with hardly any force is not solved for its own sake */
static void TestNoise(void **state)
{
  Blocks      part[2], p;
  PetscReal  *R, *U;
  PetscInt    count, sweeps, iterations;
  SolveReport report;
  Dual        d;

  (void)state;
  seed = 81;
  MakeDense(9, 27, 0.2, &part[0]);
  MakeDense(4, 12, 0.2, &part[1]);
  for (PetscInt i = 0; i < 12; i++) part[1].q[i] *= 1e-7;
  Mix(2, part, &p);
  Ok(PetscCalloc2(3 * p.n, &R, 3 * p.n, &U));
  Push("-snes_rtol 1e-5");
  d = MakeDual(PETSC_COMM_WORLD, DUAL_MERIT_ENERGY);
  assert_true(SolveDual(PETSC_COMM_WORLD, d, &p, R, U) > 0);
  CountIslands(d, 4, &count, &sweeps, &iterations);
  assert_int_equal(count, 1);
  assert_int_equal(iterations, 0);
  CountIslands(d, 9, &count, &sweeps, &iterations);
  assert_int_equal(count, 1);
  assert_true(iterations > 0);
  Ok(DualGetReport(d, &report, NULL));
  assert_int_equal(report.solved, 1);
  assert_true(fabs(report.mean[0] + report.mean[1] + report.mean[2] - (double)iterations * 9 / 13) < 1e-12 * (double)iterations);
  Ok(DualDestroy(&d));
  Pop();
  Ok(PetscFree2(R, U));
  Ok(BlocksDestroy(&p));
  for (int k = 0; k < 2; k++) Ok(BlocksDestroy(&part[k]));
}

/* What is left of the impulse of a contact that has opened goes, though the start would be good enough with it */
static void TestRelease(void **state)
{
  Blocks    part[2], p;
  PetscReal R[21] = {0}, U[21];
  PetscInt  its;
  int       left = 0;
  Dual      d;

  (void)state;
  seed = 83;
  MakeDense(4, 12, 0.2, &part[0]);
  MakeDense(3, 9, 0.2, &part[1]);
  for (int k = 0; k < 2; k++)
    for (PetscInt i = 0; i < part[k].n; i++) part[k].q[3 * i] = 1 + k; /* all open */
  Mix(2, part, &p);
  Push("-snes_rtol 1e-4");
  d = MakeDual(PETSC_COMM_WORLD, DUAL_MERIT_ENERGY);
  for (PetscInt i = 0; i < 7; i += 2) R[3 * i] = 1e-6, R[3 * i + 1] = 1e-7, left++;
  assert_true(left > 0 && ErrorEnergy(&p, R) < 1e-4 && ErrorEnergy(&p, R) > 0);
  assert_true(SolveDual(PETSC_COMM_WORLD, d, &p, R, U) > 0);
  Ok(DualGetReport(d, NULL, &its));
  assert_int_equal(its, 0);
  assert_true(Most(21, R) == 0);
  Ok(DualDestroy(&d));
  Pop();
  Ok(BlocksDestroy(&p));
  for (int k = 0; k < 2; k++) Ok(BlocksDestroy(&part[k]));
}

/* Another b with the same W: as a new problem, cohesion, limits and blocks of fewer rows among them; only islands with another b are solved again */
static void TestOtherB(void **state)
{
  static const char *const options[] = {"-snes_rtol 1e-11", "-snes_rtol 1e-11 -dual_island_limit 1", "-snes_rtol 1e-11 -dual_mat_type free", "-snes_rtol 1e-11 -snes_type newtonls"};

  (void)state;
  for (size_t t = 0; t < sizeof(options) / sizeof(options[0]); t++)
    for (int merit = 0; merit < 2; merit++) {
      Blocks              part[3], p;
      PetscReal           R[60] = {0}, U[60], r[60], u[60], b[60];
      PetscInt            n, range[2], count, sweeps, its;
      SNESConvergedReason reason;
      SolveReport         report;
      Dual                d;

      seed = 84;
      for (int k = 0; k < 3; k++) {
        MakeDense(5 + k, 15 + 3 * k, 0.3, &part[k]);
        part[k].row[0].cohesion = 0.3;
        part[k].row[1] = (Row){RELATION_EQUAL, 2, 0, 0, 0, 0};
        part[k].row[2] = (Row){RELATION_INTERVAL, 1, 0, 0, -0.2, 0.3};
      }
      Mix(3, part, &p);
      n = 3 * p.n;
      Push(options[t]);
      d = MakeDual(PETSC_COMM_WORLD, (DualMerit)merit);
      assert_true(SolveDual(PETSC_COMM_WORLD, d, &p, R, U) > 0);
      for (PetscInt i = 0; i < n; i++) b[i] = p.q[i];
      for (PetscInt i = 0; i < p.n; i++) /* of the island of 6 blocks only */
        if (p.ptr[i + 1] - p.ptr[i] == 6)
          for (int c = 0; c < 3; c++) b[3 * i + c] += Normal();
      range[0] = p.n * me / size;
      range[1] = p.n * (me + 1) / size;
      Ok(DualSetB(d, b + 3 * range[0]));
      Ok(DualSolve(d, R + 3 * range[0], U + 3 * range[0], &reason));
      Everywhere(PETSC_COMM_WORLD, p.n, R);
      Everywhere(PETSC_COMM_WORLD, p.n, U);
      assert_true(reason > 0);
      Ok(DualGetReport(d, &report, NULL));
      if (!t) {
        assert_int_equal(report.solved, 1);
        CountIslands(d, 6, &count, &sweeps, &its);
        assert_true(count == 1 && its > 0);
      }
      Ok(DualDestroy(&d));
      Pop();
      for (PetscInt i = 0; i < n; i++) p.q[i] = b[i];
      assert_true((merit ? ErrorFCLib(&p, R) : ErrorEnergy(&p, R)) <= 1.001e-11);
      assert_true(SolveOnce(PETSC_COMM_WORLD, options[t], (DualMerit)merit, &p, r, u, NULL, NULL) > 0);
      if (!(Difference(n, R, r) < 1e-8 && Difference(n, U, u) < 1e-8)) fail_msg("%s: R differs by %g, U by %g", options[t], Difference(n, R, r), Difference(n, U, u));
      Ok(BlocksDestroy(&p));
      for (int k = 0; k < 3; k++) Ok(BlocksDestroy(&part[k]));
    }
}

/* The numbers in messages are those of the contacts as they came */
static void TestMessage(void **state)
{
  Blocks         part[2], p;
  PetscInt       range[2];
  PetscErrorCode e;
  Dual           d;

  (void)state;
  if (size > 1) return;
  seed = 82;
  MakeDense(3, 9, 0.2, &part[0]);
  MakeDense(3, 9, 0.2, &part[1]);
  Mix(2, part, &p);
  for (PetscInt i = 0; i < 6; i++) {
    const PetscReal q = p.q[3 * i];
    char            text[64];

    d = MakeDual(PETSC_COMM_SELF, DUAL_MERIT_ENERGY);
    p.q[3 * i] = NAN;
    message[0] = 0;
    e = SetProblem(PETSC_COMM_SELF, d, &p, range);
    snprintf(text, sizeof(text), "q is not finite at contact %d", (int)i + 1);
    if (e != PETSC_ERR_USER_INPUT || !strstr(message, text)) fail_msg("'%s' instead of '%s'", message, text);
    p.q[3 * i] = q;
    Ok(DualDestroy(&d));
  }
  Ok(BlocksDestroy(&p));
  for (int k = 0; k < 2; k++) Ok(BlocksDestroy(&part[k]));
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(TestTwo), cmocka_unit_test(TestMany), cmocka_unit_test(TestWhole), cmocka_unit_test(TestNoise), cmocka_unit_test(TestMessage),
      cmocka_unit_test(TestRelease), cmocka_unit_test(TestOtherB),
  };

  return UNIT_MAIN_WITH("islands", tests, DualStart, UnitEnd);
}
