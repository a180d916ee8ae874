/* Speed of Factor and BlockProduct against raw CHOLMOD, on matrices with the pattern of hexahedral meshes. Prints `name: value` lines,
   times in milliseconds, each the least of several. Solvers run in turn, so that each finds the caches as the other left them.
   Usage: bench_factor [-repeat n] [-simd 2|4|8] [-large 0|1] */
#include "block_problem.h"
#include "raw_cholmod.h"
#include "physics/factor_impl.h"
#include <petsctime.h>

#define TIMED(best, call) \
  do { \
    PetscLogDouble t0_, t1_; \
    PetscCall(PetscTime(&t0_)); \
    call; \
    PetscCall(PetscTime(&t1_)); \
    best = PetscMin(best, t1_ - t0_); \
  } while (0)
#define PRINT(name, what, format, value) PetscCall(PetscPrintf(PETSC_COMM_SELF, "%s_%s: " format "\n", name, what, value))

static PetscErrorCode BenchOne(const char *name, const PetscInt cells[3], PetscBool ring, PetscInt repeat, PetscInt simd)
{
  Problem          q;
  Raw              r;
  Factor           f, g;
  PetscReal        analyze, rawfactor, rawsolve = PETSC_MAX_REAL, first = PETSC_MAX_REAL, factor = PETSC_MAX_REAL, solve = PETSC_MAX_REAL, single = PETSC_MAX_REAL, prod[4], *x[4], *y[4];
  const PetscReal *cx[4];
  PetscInt64       nz;
  PetscInt         n;

  PetscFunctionBeginUser;
  PetscCall(ProblemCreate(cells, ring, 0.1, 1, &q));
  n = 3 * q.p.nb;
  PetscCall(RawCreate(&q.p, q.a, CHOLMOD_AUTO, &analyze, &rawfactor, &r));
  PetscCall(FactorCreate(&q.p, &f));
  PetscCall(FactorSetSIMD(f, simd));
  TIMED(first, PetscCall(FactorSetValues(f, q.a, NULL)));
  for (PetscInt i = 0; i < 2; i++) {
    TIMED(factor, PetscCall(FactorSetValues(f, q.a, NULL)));
    TIMED(rawfactor, cholmod_factorize(r.A, r.L, &r.cc));
  }
  PetscCall(FactorCreateSingle(f, &g));
  for (PetscInt c = 0; c < 4; c++) {
    PetscCall(PetscMalloc1(n, &x[c]));
    PetscCall(PetscMalloc1(n, &y[c]));
    for (PetscInt i = 0; i < n; i++) x[c][i] = 1;
    cx[c]   = x[c];
    prod[c] = PETSC_MAX_REAL;
  }
  for (PetscInt k = 0; k < repeat; k++) {
    TIMED(rawsolve, RawSolve(&r));
    PetscCall(PetscArraycpy(y[0], x[0], n));
    TIMED(solve, PetscCall(FactorSolve(f, 1, y[0])));
    PetscCall(PetscArraycpy(y[0], x[0], n));
    TIMED(single, PetscCall(FactorSolve(g, 1, y[0])));
    for (PetscInt c = 0; c < 4; c++) TIMED(prod[c], PetscCall(BlockProduct_Private(&q.p, q.a, simd, 1, c + 1, cx, y)));
  }
  PetscCall(FactorGetInfo(f, &nz, NULL, NULL));
  PRINT(name, "dofs", "%d", n);
  PRINT(name, "nonzeros", "%.4g", (double)nz);
  PRINT(name, "nonzeros_cholmod", "%.4g", r.cc.lnz);
  PRINT(name, "analyze_and_factor_cholmod", "%.4g", 1e3 * (analyze + rawfactor));
  PRINT(name, "analyze_and_factor", "%.4g", 1e3 * first);
  PRINT(name, "factor_cholmod", "%.4g", 1e3 * rawfactor);
  PRINT(name, "factor", "%.4g", 1e3 * factor);
  PRINT(name, "solve_cholmod", "%.4g", 1e3 * rawsolve);
  PRINT(name, "solve", "%.4g", 1e3 * solve);
  PRINT(name, "solve_single_precision", "%.4g", 1e3 * single);
  PRINT(name, "solve_ratio", "%.3f", solve / rawsolve);
  PRINT(name, "product", "%.4g", 1e3 * prod[0]);
  PRINT(name, "product_2", "%.4g", 1e3 * prod[1]);
  PRINT(name, "product_4", "%.4g", 1e3 * prod[3]);
  for (PetscInt c = 0; c < 4; c++) {
    PetscCall(PetscFree(x[c]));
    PetscCall(PetscFree(y[c]));
  }
  PetscCall(FactorDestroy(&f));
  PetscCall(FactorDestroy(&g));
  RawDestroy(&r);
  PetscCall(ProblemDestroy(&q));
  PetscFunctionReturn(0);
}

/* `bodies` equal bodies as lanes against as many single solves */
static PetscErrorCode BenchLanes(const char *name, const PetscInt cells[3], PetscInt bodies, PetscInt repeat, PetscInt simd)
{
  const PetscInt   lanes = (bodies + 7) / 8 * 8;
  Problem          q;
  Raw              r;
  Factor           f;
  PetscReal        analyze, rawfactor, raw = PETSC_MAX_REAL, ones = PETSC_MAX_REAL, all = PETSC_MAX_REAL, prod = PETSC_MAX_REAL, *x, *y, *b;
  const PetscReal *cx;
  PetscInt64       nz;
  size_t           n;

  PetscFunctionBeginUser;
  PetscCall(ProblemCreate(cells, PETSC_FALSE, 0.1, 1, &q));
  n = 3 * q.p.nb;
  PetscCall(RawCreate(&q.p, q.a, CHOLMOD_AUTO, &analyze, &rawfactor, &r));
  PetscCall(FactorCreate(&q.p, &f));
  PetscCall(FactorSetSIMD(f, simd));
  PetscCall(FactorSetValues(f, q.a, NULL));
  PetscCall(PetscMalloc3(n * lanes, &x, n * lanes, &y, n * lanes, &b));
  for (size_t i = 0; i < n * lanes; i++) b[i] = 1;
  cx = b;
  for (PetscInt k = 0; k < repeat; k++) {
    TIMED(raw, for (PetscInt i = 0; i < bodies; i++) RawSolve(&r));
    PetscCall(PetscArraycpy(x, b, n * bodies));
    TIMED(ones, for (PetscInt i = 0; i < bodies; i++) PetscCall(FactorSolve(f, 1, x + n * i)));
    PetscCall(PetscArraycpy(x, b, n * lanes));
    TIMED(all, PetscCall(FactorSolve(f, lanes, x)));
    TIMED(prod, PetscCall(BlockProduct_Private(&q.p, q.a, simd, lanes, 1, &cx, &y)));
  }
  PetscCall(FactorGetInfo(f, &nz, NULL, NULL));
  PRINT(name, "dofs", "%d", (int)n);
  PRINT(name, "bodies", "%d", bodies);
  PRINT(name, "nonzeros", "%.4g", (double)nz);
  PRINT(name, "nonzeros_cholmod", "%.4g", r.cc.lnz);
  PRINT(name, "solves_cholmod", "%.4g", 1e3 * raw);
  PRINT(name, "solves_single", "%.4g", 1e3 * ones);
  PRINT(name, "solves_lanes", "%.4g", 1e3 * all);
  PRINT(name, "single_ratio", "%.3f", ones / raw);
  PRINT(name, "lanes_ratio", "%.3f", all / raw);
  PRINT(name, "lanes_gflops", "%.1f", 4e-9 * (double)nz * lanes / all);
  PRINT(name, "product_lanes", "%.4g", 1e3 * prod);
  PetscCall(PetscFree3(x, y, b));
  PetscCall(FactorDestroy(&f));
  RawDestroy(&r);
  PetscCall(ProblemDestroy(&q));
  PetscFunctionReturn(0);
}

static PetscErrorCode Run(void)
{
  PetscInt  repeat = 20, simd = 0;
  PetscBool large = PETSC_TRUE;

  PetscFunctionBeginUser;
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-repeat", &repeat, NULL));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-simd", &simd, NULL));
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-large", &large, NULL));
  PetscCall(PetscPrintf(PETSC_COMM_SELF, "simd: %d\n", (int)FactorWidth_Private(simd)));
  PetscCall(BenchLanes("link24", (PetscInt[]){1, 1, 1}, 100, repeat, simd));
  PetscCall(BenchLanes("box432", (PetscInt[]){3, 5, 5}, 100, repeat, simd));
  PetscCall(BenchLanes("box1512", (PetscInt[]){6, 8, 7}, 61, repeat, simd));
  PetscCall(BenchOne("pipe5k", (PetscInt[]){18, 18, 4}, PETSC_TRUE, repeat, simd));
  PetscCall(BenchOne("pipe20k", (PetscInt[]){36, 36, 4}, PETSC_TRUE, repeat, simd));
  if (large) PetscCall(BenchOne("pipe50k", (PetscInt[]){57, 57, 4}, PETSC_TRUE, repeat, simd));
  PetscFunctionReturn(0);
}

int main(int argc, char **argv)
{
  PetscErrorCode e;

  if (PetscInitialize(&argc, &argv, NULL, NULL)) return 1;
  e = Run();
  return PetscFinalize() || e ? 1 : 0;
}
