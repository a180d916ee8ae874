/* Dual problems as a SNES: the generalized Jacobian by differences, starts and failures, types that are refused, memory, sizes, the view. */
#include "dual.h"
#include "constraints/dual_impl.h"
#include <malloc.h>

#define ANDERSON "-snes_type anderson -npc_snes_type nlgs -npc_snes_max_it 1 -snes_max_it 2000"

/* Contacts of all kinds and joints, mixed */
static void MakeMixed(PetscInt n, double shift, Blocks *p)
{
  MakeDense(n, 3 * n, shift, p);
  for (PetscInt i = 0; i < n; i++) {
    static const Row kinds[] = {
        {RELATION_CONE, 3, 0.5, 0, 0, 0},
        {RELATION_CONE, 3, 0, 0, 0, 0},
        {RELATION_CONE, 2, 0.3, 0, 0, 0},
        {RELATION_STICK, 3, 0, 0, 0, 0},
        {RELATION_CONE, 3, PETSC_INFINITY, 0.2, 0, 0},
        {RELATION_EQUAL, 1, 0, 0, 0, 0},
        {RELATION_EQUAL, 2, 0, 0, 0, 0},
        {RELATION_EQUAL, 3, 0, 0, 0, 0},
        {RELATION_INTERVAL, 1, 0, 0, -0.5, 0.5},
        {RELATION_INTERVAL, 1, 0, 0, 0, PETSC_INFINITY},
        {RELATION_CONE, 3, 2, 0.4, 0, 0},
    };

    p->row[i] = kinds[(size_t)i % (sizeof(kinds) / sizeof(kinds[0]))];
  }
}

static void TestJacobian(void **state)
{
  double worst = 0;

  (void)state;
  seed = 41;
  for (int k = size > 1 ? 50 : 0; k < 60; k++) {
    Blocks    p;
    Dual      d;
    SNES      snes;
    Vec       x, v, f[2], y;
    Mat       J;
    PetscInt  range[2], first, last;
    PetscReal step = 1e-6, difference, norm;

    MakeMixed(11, 0.3, &p);
    Push("-snes_type newtonls");
    d = MakeDual(PETSC_COMM_WORLD, DUAL_MERIT_ENERGY);
    Ok(SetProblem(PETSC_COMM_WORLD, d, &p, range));
    Ok(DualGetSNES(d, &snes));
    Ok(SNESSetUp(snes));
    Ok(SNESGetJacobian(snes, &J, NULL, NULL, NULL));
    Ok(MatCreateVecs(J, &x, &y));
    Ok(VecDuplicate(x, &v));
    Ok(VecDuplicate(x, &f[0]));
    Ok(VecDuplicate(x, &f[1]));
    Ok(VecGetOwnershipRange(x, &first, &last));
    for (PetscInt i = 0; i < 3 * p.n; i++) {
      const double a = (i % 3 ? 1 : 2) * Normal(), b = Normal();

      if (i >= first && i < last) {
        Ok(VecSetValue(x, i, a, INSERT_VALUES));
        Ok(VecSetValue(v, i, b, INSERT_VALUES));
      }
    }
    Ok(VecAssemblyBegin(x));
    Ok(VecAssemblyEnd(x));
    Ok(VecAssemblyBegin(v));
    Ok(VecAssemblyEnd(v));
    Ok(SNESComputeJacobian(snes, x, J, J));
    Ok(MatMult(J, v, y));
    for (int s = 0; s < 2; s++) {
      Ok(VecAXPY(x, s ? -2 * step : step, v));
      Ok(SNESComputeFunction(snes, x, f[s]));
    }
    Ok(VecAXPY(f[0], -1, f[1]));
    Ok(VecScale(f[0], 1 / (2 * step)));
    Ok(VecNorm(f[0], NORM_INFINITY, &norm));
    Ok(VecAXPY(y, -1, f[0]));
    Ok(VecNorm(y, NORM_INFINITY, &difference));
    worst = fmax(worst, difference / norm);
    if (!(difference <= 1e-6 * norm)) fail_msg("point %d: differs by %g of %g", k, difference, norm);
    Ok(VecDestroy(&x));
    Ok(VecDestroy(&v));
    Ok(VecDestroy(&y));
    Ok(VecDestroy(&f[0]));
    Ok(VecDestroy(&f[1]));
    Ok(DualDestroy(&d));
    Pop();
    Ok(BlocksDestroy(&p));
  }
  print_message("differs by %.1e\n", worst);
}

/* Too few iterations: no more is claimed than is there, and nothing worse than the start is given back */
static void TestFailure(void **state)
{
  static const char *const types[] = {"-snes_type auto",
                                      "-snes_type nlgs",
                                      "-snes_type proxnewton",
                                      "-snes_type conic",
                                      "-snes_type newtonls",
                                      "-snes_type anderson -npc_snes_type nlgs -npc_snes_max_it 1",
                                      "-snes_type auto -dual_mat_type free"};
  Blocks                   p;
  PetscReal               *R, *U, *V, *start;
  PetscInt                 n, failures = 0;

  (void)state;
  seed = 42;
  FromMasonry(FindMasonry("columns-2x6-tilt35"), &p);
  n = 3 * p.n;
  Ok(PetscCalloc4(n, &R, n, &U, n, &V, n, &start));
  for (int near = 0; near < 2; near++) {
    double first;

    if (near) { /* a start that a solver may well leave for a worse one */
      assert_true(SolveOnce(PETSC_COMM_WORLD, "", DUAL_MERIT_ENERGY, &p, start, U, NULL, NULL) > 0);
      for (PetscInt i = 0; i < n; i++) start[i] *= 1 + 1e-4 * Normal();
    }
    first = ErrorEnergy(&p, start);
    for (size_t t = 0; t < sizeof(types) / sizeof(types[0]); t++)
      for (int its = 1; its < (size > 1 ? 2 : 4); its++) {
        char                text[256];
        Dual                d;
        SolveReport         report;
        SNESConvergedReason reason;
        double              e;

        snprintf(text, sizeof(text), "%s -snes_max_it %d -ksp_max_it 30 -snes_rtol 1e-10", types[t], its);
        Push(text);
        d = MakeDual(PETSC_COMM_WORLD, DUAL_MERIT_ENERGY);
        memcpy(R, start, sizeof(PetscReal) * (size_t)n);
        reason = SolveDual(PETSC_COMM_WORLD, d, &p, R, U);
        Ok(DualGetReport(d, &report, NULL));
        Product(&p, R, V);
        e = ErrorEnergy(&p, R);
        if (!isfinite(e) || Difference(n, U, V) > 1e-12 * (Most(n, p.q) + Most(n, U))) fail_msg("%s: U is not of R", text);
        if ((reason > 0) != (e <= 1e-10)) fail_msg("%s: %s at %g", text, SNESConvergedReasons[reason], e);
        if (!(fabs(e - report.merit) <= 1e-9 * e + 1e-13)) fail_msg("%s: merit %g is said to be %g", text, e, report.merit);
        if (!(e <= first * (1 + 1e-12))) fail_msg("%s: from %g to %g", text, first, e);
        failures += reason < 0;
        Ok(DualDestroy(&d));
        Pop();
      }
  }
  assert_true(failures > (size > 1 ? 5 : 20));
  Ok(PetscFree4(R, U, V, start));
  Ok(BlocksDestroy(&p));
}

typedef struct {
  const Blocks *p;
  int           own; /* the type knows the merit itself; its iterate is not in the SNES */
  double        least;
} Watch;

static PetscErrorCode Watching(SNES snes, PetscInt it, PetscReal norm, void *ctx)
{
  Watch *w = (Watch *)ctx;

  PetscFunctionBeginUser;
  (void)it;
  if (!w->own) {
    const PetscReal *x;
    PetscReal        R[300];
    Vec              v;

    PetscCall(SNESGetSolution(snes, &v));
    PetscCall(VecGetArrayRead(v, &x));
    for (PetscInt i = 0; i < 3 * w->p->n; i++) R[i] = x[i];
    PetscCall(VecRestoreArrayRead(v, &x));
    norm = ErrorEnergy(w->p, R);
  }
  w->least = fmin(w->least, norm);
  PetscFunctionReturn(0);
}

/* Stopped anywhere on the way, each type gives back the best that it has seen */
static void TestBest(void **state)
{
  static const char *const types[] = {"-snes_type auto",
                                      "-snes_type nlgs -snes_nlgs_every 1",
                                      "-snes_type nlgs -snes_nlgs_every 1 -snes_nlgs_relaxation 1.7",
                                      "-snes_type proxnewton",
                                      "-snes_type conic",
                                      "-snes_type newtonls -snes_linesearch_type basic",
                                      "-snes_type anderson -npc_snes_type nlgs -npc_snes_max_it 1"};

  (void)state;
  if (size > 1) return;
  for (size_t t = 0; t < sizeof(types) / sizeof(types[0]); t++)
    for (int its = 1; its < 30; its++) {
      const int   own = t < 5;
      Blocks      p;
      PetscReal   R[300] = {0}, U[300];
      SolveReport report;
      SNES        snes;
      Dual        d;
      char        text[256];
      Watch       w;
      double      e;

      seed = 49;
      if (own)
        FromMasonry(FindMasonry("columns-2x6-tilt35"), &p);
      else {
        MakeDense(20, 30, 0, &p); /* of half rank */
        for (PetscInt i = 0; i < 20; i++) p.row[i].friction = 1;
      }
      assert_true(p.n <= 100);
      w = (Watch){&p, own, INFINITY};
      snprintf(text, sizeof(text), "%s -snes_max_it %d -snes_rtol 1e-10", types[t], its);
      Push(text);
      d = MakeDual(PETSC_COMM_SELF, DUAL_MERIT_ENERGY);
      Ok(DualSetProblem(d, p.n, p.ptr, p.col, p.w, p.q, p.row));
      Ok(DualGetSNES(d, &snes));
      Ok(SNESMonitorSet(snes, Watching, &w, NULL));
      {
        SNESConvergedReason reason;

        Ok(DualSolve(d, R, U, &reason));
      }
      Ok(DualGetReport(d, &report, NULL));
      e = ErrorEnergy(&p, R);
      if (!(e <= w.least * (1 + 1e-6) + 1e-14)) fail_msg("%s: gives back %g, had %g", text, e, w.least);
      if (!(fabs(e - report.merit) <= 1e-9 * e + 1e-13)) fail_msg("%s: merit %g is said to be %g", text, e, report.merit);
      Ok(DualDestroy(&d));
      Pop();
      Ok(BlocksDestroy(&p));
    }
}

/* Near the solution, with hardly any proximal term, Newton's steps are few */
static void TestNewton(void **state)
{
  PetscInt most = 0;

  (void)state;
  seed = 50;
  for (int k = size > 1 ? 18 : 0; k < 20; k++) {
    Blocks    p;
    PetscReal R[60], U[60];
    PetscInt  its;
    Dual      d;

    MakeDense(20, 60, 0.3, &p);
    for (PetscInt i = 0; i < 20; i++) p.row[i].friction = 0.1 + 0.4 * Uniform();
    assert_true(SolveOnce(PETSC_COMM_WORLD, "-snes_rtol 1e-13", DUAL_MERIT_ENERGY, &p, R, U, NULL, NULL) > 0);
    for (int i = 0; i < 60; i++) R[i] *= 1 + 1e-3 * Normal();
    Push("-snes_type proxnewton -snes_rtol 1e-12 -snes_proxnewton_alpha 1e-7");
    d = MakeDual(PETSC_COMM_WORLD, DUAL_MERIT_ENERGY);
    assert_true(SolveDual(PETSC_COMM_WORLD, d, &p, R, U) > 0);
    Ok(DualGetReport(d, NULL, &its));
    most = PetscMax(most, its);
    Ok(DualDestroy(&d));
    Pop();
    Ok(BlocksDestroy(&p));
  }
  print_message("%d steps at most\n", (int)most);
  assert_true(most <= 6);
}

/* Starts: none that is a number; the solution itself; one of other things */
static void TestStart(void **state)
{
  static const char *const types[] = {"-snes_type auto", "-snes_type nlgs",     "-snes_type proxnewton", "-snes_type newtonls",
                                      ANDERSON,          "-dual_mat_type free", "-dual_island_limit 1"};
  Blocks                   p;
  PetscReal                R[100], U[100];

  (void)state;
  seed = 43;
  MakeMixed(9, 0.3, &p);
  for (PetscInt i = 0; i < 9; i++)
    if (p.row[i].relation == RELATION_STICK || p.row[i].friction == PETSC_INFINITY) p.row[i] = (Row){RELATION_CONE, 3, 0.4, 0.1, 0, 0};
  for (size_t t = 0; t < sizeof(types) / sizeof(types[0]); t++) {
    Dual     d;
    PetscInt its;

    Push(types[t]);
    d = MakeDual(PETSC_COMM_WORLD, DUAL_MERIT_ENERGY);
    for (int k = 0; k < 27; k++) R[k] = k % 4 == 0 ? NAN : k % 4 == 1 ? INFINITY : k % 4 == 2 ? 1e3 : -1;
    if (SolveDual(PETSC_COMM_WORLD, d, &p, R, U) <= 0 || !(ErrorEnergy(&p, R) <= 1.001e-8))
      fail_msg("%s: from no number to %g", types[t], ErrorEnergy(&p, R));
    assert_true(SolveDual(PETSC_COMM_WORLD, d, &p, R, U) > 0);
    Ok(DualGetReport(d, NULL, &its));
    assert_int_equal(its, 0);
    Ok(DualDestroy(&d));
    Pop();
  }
  Ok(BlocksDestroy(&p));
  MakeMixed(11, 0.3, &p);
  for (PetscInt i = 0; i < 11; i++) p.q[3 * i] = p.q[3 * i + 1] = p.q[3 * i + 2] = p.row[i].cohesion = 0;
  for (int merit = 0; merit < 2; merit++) { /* all is zero */
    PetscInt its;

    assert_true(SolveOnce(PETSC_COMM_WORLD, "", (DualMerit)merit, &p, R, U, NULL, &its) > 0);
    assert_true(Most(33, R) == 0 && its == 0);
  }
  Ok(BlocksDestroy(&p));
}

/* PETSc's types for variational inequalities where there is no friction */
static void TestVI(void **state)
{
  static const char *const types[] = {"-snes_type vinewtonssls -snes_max_it 200 -ksp_rtol 1e-12",
                                      "-snes_type vinewtonrsls -snes_max_it 200 -ksp_rtol 1e-12"};

  (void)state;
  seed = 44;
  for (int k = size > 1 ? 4 : 0; k < 6; k++) {
    Blocks    p;
    PetscReal R[100], U[100], r[100], u[100];

    MakeDense(8, 24, 0.3, &p);
    for (PetscInt i = 0; i < 8; i++) {
      p.row[i] = i % 4 == 0   ? (Row){RELATION_INTERVAL, 1, 0, 0, -0.5, 0.5}
                 : i % 4 == 1 ? (Row){RELATION_EQUAL, 1 + i / 4, 0, 0, 0, 0}
                              : (Row){RELATION_CONE, 3, 0, 0, 0, 0};
      if (i == 2) p.row[i].cohesion = 0.3;
    }
    assert_true(SolveOnce(PETSC_COMM_WORLD, "-snes_rtol 1e-11", DUAL_MERIT_ENERGY, &p, R, U, NULL, NULL) > 0);
    for (int t = 0; t < 2; t++) {
      const SNESConvergedReason reason = SolveOnce(PETSC_COMM_WORLD, types[t], DUAL_MERIT_ENERGY, &p, r, u, NULL, NULL);

      if (reason <= 0 || !(Difference(24, u, U) <= 1e-6))
        fail_msg("problem %d, %s: %s, off by %g", k, types[t], SNESConvergedReasons[reason], Difference(24, u, U));
    }
    Ok(BlocksDestroy(&p));
  }
}

/* What cannot be done is said in one line, and nothing is left behind */
static void RefusedSolve(const char options[], const Blocks *p, const char fragment[])
{
  const PetscLogDouble memory = UnitMemory();
  PetscReal            R[300] = {0}, U[300];
  SNESConvergedReason  reason;
  PetscInt             range[2];
  Dual                 d;

  Push(options);
  d = MakeDual(PETSC_COMM_WORLD, DUAL_MERIT_ENERGY);
  message[0] = 0;
  {
    PetscErrorCode e = SetProblem(PETSC_COMM_WORLD, d, p, range);

    if (!e) e = DualSolve(d, R, U, &reason);
    if (e != PETSC_ERR_USER_INPUT || !strstr(message, fragment) || strchr(message, '\n'))
      fail_msg("%s: error %d, '%s' does not hold '%s'", options, (int)e, message, fragment);
  }
  Ok(DualDestroy(&d));
  Pop();
  if (UnitMemory() != memory) fail_msg("%s: %g bytes are not freed", options, UnitMemory() - memory);
}

static void TestRefused(void **state)
{
  Blocks p;

  (void)state;
  seed = 45;
  MakeDense(6, 18, 0.3, &p);
  RefusedSolve("-snes_type vinewtonssls", &p, "without friction");
  RefusedSolve("-snes_type vinewtonrsls", &p, "without friction");
  RefusedSolve("-snes_type ms", &p, "'ms' cannot");
  RefusedSolve("-snes_type ksponly", &p, "'ksponly' cannot");
  RefusedSolve("-snes_type newton", &p, "no 'newton'");
  RefusedSolve("-snes_type nlgs -dual_mat_type free", &p, "nlgs needs W as blocks");
  RefusedSolve("-snes_type newtonls -dual_mat_type free", &p, "'newtonls' needs W as blocks");
  RefusedSolve("-snes_type conic -dual_mat_type free", &p, "conic needs W as blocks");
  p.row[3].friction = 0;
  RefusedSolve("-snes_type conic", &p, "friction above");
  if (size == 1) { /* one rank alone finds these */
    p.row[3].friction = -0.1;
    RefusedSolve("", &p, "friction -0.1");
    p.row[3].friction = NAN;
    RefusedSolve("", &p, "friction");
    p.row[3].friction = 0.3;
    p.q[4] = NAN;
    RefusedSolve("", &p, "q is not finite at contact 2");
    p.q[4] = 0;
    for (int c = 0; c < 9; c++) p.w[9 * (6 * 4 + 4) + c] = 0;
    RefusedSolve("", &p, "no positive diagonal at contact 5");
  }
  Ok(BlocksDestroy(&p));
}

/* Sweeps of linear rows are those of Gauss and Seidel: forwards, every other one backwards if asked for, damped */
static void TestSweeps(void **state)
{
  (void)state;
  seed = 48;
  for (int symmetric = 0; symmetric < 2; symmetric++)
    for (int its = 1; its < 5; its++) {
      const PetscInt n = 9;
      const double   omega = symmetric ? 0.8 : 1;
      Blocks         p;
      PetscReal      R[27], U[27], r[27] = {0};
      char           text[256];

      MakeDense(n, 3 * n, 0.3, &p);
      for (PetscInt i = 0; i < n; i++) p.row[i] = (Row){RELATION_EQUAL, 1, 0, 0, 0, 0};
      for (int k = 0; k < its; k++)
        for (PetscInt l = 0; l < n; l++) {
          const PetscInt i = symmetric && k % 2 ? n - 1 - l : l;
          double         sum = p.q[3 * i];

          for (PetscInt j = 0; j < n; j++) sum += p.w[9 * (n * i + j)] * r[3 * j];
          r[3 * i] -= omega * sum / p.w[9 * (n * i + i)];
        }
      snprintf(text, sizeof(text), "-snes_type nlgs -snes_rtol 1e-30 -snes_max_it %d -snes_nlgs_relaxation %g -snes_nlgs_symmetric %d", its, omega,
               symmetric);
      SolveOnce(PETSC_COMM_WORLD, text, DUAL_MERIT_ENERGY, &p, R, U, NULL, NULL);
      if (!(Difference(3 * n, R, r) <= 1e-13 * Most(3 * n, r))) fail_msg("%s: off by %g of %g", text, Difference(3 * n, R, r), Most(3 * n, r));
      Ok(BlocksDestroy(&p));
    }
}

/* ---- memory ---- */

static PetscErrorCode (*malloc_before)(size_t, PetscBool, int, const char[], const char[], void **);
static int allocations;

static PetscErrorCode CountingMalloc(size_t bytes, PetscBool clear, int line, const char func[], const char file[], void **out)
{
  allocations++;
  return (*malloc_before)(bytes, clear, line, func, file, out);
}

static void TestMemory(void **state)
{
  static const char *const types[] = {"-snes_type auto", "-snes_type nlgs", "-snes_type proxnewton", "-snes_type conic"};

  (void)state;
  if (size > 1) return; /* what travels between ranks is allocated */
  for (size_t t = 0; t < sizeof(types) / sizeof(types[0]); t++) {
    Dual d;
    int  first = 0;

    Push(types[t]);
    d = MakeDual(PETSC_COMM_WORLD, DUAL_MERIT_ENERGY);
    for (int k = 0; k < 4; k++) {
      static const char *const names[] = {"wall-3x3-rough", "wall-3x3-rough", "columns-2x6-tilt35", "columns-1x8-rest"};
      Blocks                   p;
      PetscReal               *R, *U;
      PetscLogDouble           memory = 0;
      SNESConvergedReason      reason;
      int                      used;

      FromMasonry(FindMasonry(names[k]), &p);
      if (!k) assert_true(p.n >= 32);
      Ok(PetscCalloc2(3 * p.n, &R, 3 * p.n, &U));
      malloc_before = PetscTrMalloc;
      allocations = 0;
      memory = UnitMemory();
      PetscTrMalloc = CountingMalloc;
      Ok(DualSetProblem(d, p.n, p.ptr, p.col, p.w, p.q, p.row));
      Ok(DualSolve(d, R, U, &reason));
      PetscTrMalloc = malloc_before;
      used = allocations;
      if (!k)
        first = used;
      else if (k == 1 && used)
        fail_msg("%s: %d allocations in the second solve", types[t], used);
      else if (k == 1)
        assert_true(UnitMemory() == memory);
      Ok(PetscFree2(R, U));
      Ok(BlocksDestroy(&p));
    }
    assert_true(first > 0);
    Ok(DualDestroy(&d));
    Pop();
  }
}

/* W as a matrix: blocks, and a shell that multiplies: by products only, and shared by all ranks (each has its share of the rows then) */
static void TestMatrix(void **state)
{
  static const char *const options[] = {"", "-dual_mat_type free", "-dual_island_limit 1", "-dual_mat_type free -dual_island_limit 1"};

  (void)state;
  for (int k = 0; k < 4; k++) {
    const MPI_Comm comm = k < 2 ? PETSC_COMM_SELF : PETSC_COMM_WORLD;
    Blocks         p;
    Dual           d;
    Mat            W, again;
    Vec            x, y;
    PetscReal     *R, *U, *a;
    PetscInt       range[2], n;
    PetscBool      baij;

    seed = 5;
    MakeDense(7, 21, 0.1, &p);
    Ok(PetscMalloc2(3 * p.n, &R, 3 * p.n, &U));
    for (PetscInt i = 0; i < 3 * p.n; i++) R[i] = Normal();
    Product(&p, R, U);
    Push(options[k]);
    d = MakeDual(comm, DUAL_MERIT_ENERGY);
    Ok(SetProblem(comm, d, &p, range));
    Ok(DualGetMat(d, &W));
    Ok(DualGetMat(d, &again));
    assert_ptr_equal(W, again);
    Ok(PetscObjectTypeCompareAny((PetscObject)W, &baij, MATSEQBAIJ, MATMPIBAIJ, ""));
    assert_int_equal(baij, k == 0 || (k == 2 && size == 1));
    Ok(MatCreateVecs(W, &x, &y));
    Ok(VecGetLocalSize(x, &n));
    assert_int_equal(n, 3 * (range[1] - range[0]));
    Ok(VecGetArray(x, &a));
    for (PetscInt i = 0; i < n; i++) a[i] = R[3 * range[0] + i];
    Ok(VecRestoreArray(x, &a));
    Ok(MatMult(W, x, y));
    Ok(VecGetArray(y, &a));
    for (PetscInt i = 0; i < n; i++) assert_true(fabs(a[i] - (U[3 * range[0] + i] - p.q[3 * range[0] + i])) < 1e-13);
    Ok(VecRestoreArray(y, &a));
    Ok(VecDestroy(&x));
    Ok(VecDestroy(&y));
    Ok(DualDestroy(&d));
    Pop();
    Ok(PetscFree2(R, U));
    Ok(BlocksDestroy(&p));
  }
}

/* Sizes that change from solve to solve, with one object */
static void TestSizes(void **state)
{
  static const char *const types[] = {"-snes_type auto",
                                      "-snes_type nlgs",
                                      "-snes_type proxnewton",
                                      "-snes_type conic -snes_rtol 1e-6",
                                      "-snes_type newtonls",
                                      ANDERSON,
                                      "-snes_type qn -npc_snes_type nlgs -npc_snes_max_it 1",
                                      "-dual_mat_type free",
                                      "-dual_island_limit 1"};
  static const PetscInt    sizes[] = {0, 5, 1, 20, 0, 12, 2, 20, 3, 0, 31, 8};

  (void)state;
  seed = 46;
  for (size_t t = 0; t < sizeof(types) / sizeof(types[0]); t++) {
    Dual d;

    Push(types[t]);
    d = MakeDual(PETSC_COMM_WORLD, DUAL_MERIT_ENERGY);
    for (size_t k = size > 1 ? 6 : 0; k < sizeof(sizes) / sizeof(sizes[0]); k++) {
      const PetscInt      n = sizes[k];
      Blocks              p;
      PetscReal           R[100] = {0}, U[100] = {0};
      SNESConvergedReason reason;

      MakeDense(n, 3 * n, 0.3, &p);
      reason = SolveDual(PETSC_COMM_WORLD, d, &p, R, U);
      if (reason <= 0 || !(ErrorEnergy(&p, R) <= 1.001e-6))
        fail_msg("%s, %d blocks: %s, error %g", types[t], (int)n, SNESConvergedReasons[reason], ErrorEnergy(&p, R));
      if (n == 20 && t == 0) { /* the same again, and other values with the same sizes */
        PetscReal r[100] = {0}, u[100];

        SolveDual(PETSC_COMM_WORLD, d, &p, r, u);
        assert_true(Difference(3 * n, r, R) == 0);
      }
      Ok(BlocksDestroy(&p));
    }
    Ok(DualDestroy(&d));
    Pop();
  }
}

/* Numbers of the view: sizes, islands, friction, states, rank */
static void TestView(void **state)
{
  Blocks                   p;
  PetscReal                R[100] = {0}, U[100] = {0};
  Dual                     d;
  PetscViewer              viewer;
  unsigned char           *text;
  size_t                   bytes;
  char                     part[128];
  int                      open = 0, stick = 0, slip = 0;
  static const char *const always[] = {
      "6 cone", "1 stick", "1 equal", "1 interval", "friction from 0.1 to infinite", "in 2 islands, the largest has 8", "merit", "Newton solves"};

  (void)state;
  seed = 47;
  MakeDense(9, 27, 0.3, &p);
  for (PetscInt i = 0; i < 9; i++) p.row[i].friction = 0.1 * (double)(i + 1);
  p.row[6] = (Row){RELATION_EQUAL, 3, 0, 0, 0, 0};
  p.row[7] = (Row){RELATION_INTERVAL, 1, 0, 0, -1, 1};
  p.row[8] = (Row){RELATION_STICK, 3, 0, 0, 0, 0};
  for (PetscInt i = 0; i < 9; i++) /* the first is by itself: its coupling is left out */
    for (PetscInt k = 0; k < 9; k++)
      if ((i == 0) != (k == 0))
        for (int c = 0; c < 9; c++) p.w[9 * (9 * i + k) + c] = 0;
  {
    PetscInt nnz = 0, from = 0;

    for (PetscInt i = 0; i < 9; i++) {
      const PetscInt end = p.ptr[i + 1];

      p.ptr[i] = nnz;
      for (; from < end; from++)
        if ((i == 0) == (p.col[from] == 0)) {
          p.col[nnz] = p.col[from];
          memmove(p.w + 9 * nnz++, p.w + 9 * from, 9 * sizeof(PetscReal));
        }
    }
    p.ptr[9] = nnz;
  }
  Push("-snes_rtol 1e-10");
  d = MakeDual(PETSC_COMM_WORLD, DUAL_MERIT_ENERGY);
  assert_true(SolveDual(PETSC_COMM_WORLD, d, &p, R, U) > 0);
  for (int i = 0; i < 6; i++) {
    const double t = hypot(R[3 * i + 1], R[3 * i + 2]);

    if (R[3 * i] == 0)
      open++;
    else if (t < 0.99999 * p.row[i].friction * R[3 * i])
      stick++;
    else
      slip++;
  }
  Ok(PetscViewerASCIIOpen(PETSC_COMM_WORLD, UnitPath("view"), &viewer));
  Ok(DualView(d, viewer));
  Ok(PetscViewerDestroy(&viewer));
  MPI_Barrier(PETSC_COMM_WORLD);
  text = UnitReadFile(UnitPath("view"), &bytes);
  for (size_t k = 0; k < sizeof(always) / sizeof(always[0]); k++)
    if (!strstr((char *)text, always[k])) fail_msg("the view has no '%s':\n%s", always[k], (char *)text);
  snprintf(part, sizeof(part), "9 blocks");
  assert_non_null(strstr((char *)text, part));
  snprintf(part, sizeof(part), "%d open, %d stick, %d slip", open, stick, slip);
  if (!strstr((char *)text, part)) fail_msg("the view does not say '%s':\n%s", part, (char *)text);
  if (size == 1 && !strstr((char *)text, "rank of W about 25 of 25")) fail_msg("the rank is wrong:\n%s", (char *)text);
  for (const char *at = strstr((char *)text, "residuals:"); at && *at && *at != ';'; at++) /* all below 1e-9 */
    if (*at == ' ' && at[1] >= '0' && at[1] <= '9') assert_true(strtod(at, NULL) < 1e-9);
  MPI_Barrier(PETSC_COMM_WORLD);
  free(text);
  if (!me) unlink(UnitPath("view"));
  Ok(DualDestroy(&d));
  Pop();
  Ok(BlocksDestroy(&p));
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(TestJacobian), cmocka_unit_test(TestFailure), cmocka_unit_test(TestStart),  cmocka_unit_test(TestVI),
      cmocka_unit_test(TestRefused),  cmocka_unit_test(TestMemory),  cmocka_unit_test(TestSizes),  cmocka_unit_test(TestView),
      cmocka_unit_test(TestSweeps),   cmocka_unit_test(TestBest),    cmocka_unit_test(TestNewton),  cmocka_unit_test(TestMatrix),
  };

  return UNIT_MAIN_WITH("dual_snes", tests, DualStart, UnitEnd);
}
