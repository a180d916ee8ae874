/* Dual problems by bodies, W = F F^T that nobody multiplies out, against the same problems by blocks, and the factorization on bodies against LAPACK's dense
   one of what it stands for. On any number of ranks. */
#include "dual.h"
#include "constraints/bodylu.h"
#include "physics/simd.h"
#include <petscblaslapack.h>

typedef struct {
  PetscInt   n, nbody;
  PetscInt  *body; /* 2 a block, -1: the ground */
  PetscReal *F;    /* 36 a block */
} Bodies;

/* n blocks, each on two of nbody bodies, or on one and the ground; some have one row or two */
static void MakeBodies(PetscInt n, PetscInt nbody, double ground, Bodies *p)
{
  p->n     = n;
  p->nbody = nbody;
  p->body  = malloc(2 * sizeof(PetscInt) * (size_t)n);
  p->F     = malloc((36 * (size_t)n + 4) * sizeof(PetscReal));
  for (PetscInt i = 0; i < n; i++) {
    const PetscInt a = (PetscInt)(Uniform() * (double)nbody), b = Uniform() < ground ? -1 : (a + 1 + (PetscInt)(Uniform() * 3)) % nbody;

    p->body[2 * i]     = Uniform() < 0.5 ? a : b;
    p->body[2 * i + 1] = p->body[2 * i] == a ? b : a;
    for (int k = 0; k < 36; k++) p->F[36 * i + k] = p->body[2 * i + k / 18] < 0 ? 0 : Normal();
  }
}

static void FreeBodies(Bodies *p)
{
  free(p->body);
  free(p->F);
}

static double Entry(const Bodies *p, PetscInt i, int r, PetscInt j, int c)
{
  double sum = 0;

  for (int a = 0; a < 2; a++)
    for (int b = 0; b < 2; b++)
      if (p->body[2 * i + a] >= 0 && p->body[2 * i + a] == p->body[2 * j + b])
        for (int k = 0; k < 6; k++) sum += p->F[36 * i + 18 * a + 3 * k + r] * p->F[36 * j + 18 * b + 3 * k + c];
  return sum;
}

static PetscBool Coupled(const Bodies *p, PetscInt i, PetscInt j)
{
  for (int a = 0; a < 2; a++)
    for (int b = 0; b < 2; b++)
      if (p->body[2 * i + a] >= 0 && p->body[2 * i + a] == p->body[2 * j + b]) return PETSC_TRUE;
  return PETSC_FALSE;
}

/* The problem by blocks; laws: 0 friction only, 1 also equal rows, limits, no friction and no slip */
static void MakeBlocks(Bodies *p, int laws, Blocks *b)
{
  PetscInt nnz = 0;

  b->n = p->n;
  for (PetscInt i = 0; i < p->n; i++)
    for (PetscInt j = 0; j < p->n; j++) nnz += Coupled(p, i, j);
  Ok(PetscMalloc3(p->n + 1, &b->ptr, 3 * p->n, &b->q, p->n, &b->row));
  Ok(PetscMalloc1(nnz, &b->col));
  Ok(PetscMalloc1(9 * nnz, &b->w));
  b->ptr[0] = nnz = 0;
  for (PetscInt i = 0; i < p->n; i++) {
    b->row[i] = (Row){RELATION_CONE, 3, 0.2 + 0.6 * Uniform(), 0, 0, 0};
    if (laws && i % 5 == 1) b->row[i] = (Row){RELATION_EQUAL, 1 + (PetscInt)(3 * Uniform()), 0, 0, 0, 0};
    if (laws && i % 5 == 2) b->row[i] = (Row){RELATION_INTERVAL, 1, 0, 0, -0.3, 0.4};
    if (laws && i % 5 == 3) b->row[i].friction = i % 2 ? 0 : PETSC_INFINITY;
    if (laws && i % 5 == 4) b->row[i].cohesion = 0.1;
    for (int k = 0; k < 12; k++)
      for (int r = (int)b->row[i].rows; r < 3; r++) p->F[36 * i + 3 * k + r] = 0;
    for (int c = 0; c < 3; c++) b->q[3 * i + c] = c ? Normal() : Normal() - 0.7;
  }
  for (PetscInt i = 0; i < p->n; i++) {
    for (PetscInt j = 0; j < p->n; j++) {
      if (!Coupled(p, i, j)) continue;
      for (int r = 0; r < 3; r++)
        for (int c = 0; c < 3; c++) b->w[9 * nnz + 3 * c + r] = Entry(p, i, r, j, c);
      b->col[nnz++] = j;
    }
    b->ptr[i + 1] = nnz;
  }
}

/* This rank's share, with a chain through the blocks of every body for a graph */
static SNESConvergedReason SolveBodies(MPI_Comm comm, Dual d, const Bodies *p, const Blocks *b, PetscReal R[], PetscReal U[])
{
  SNESConvergedReason reason;
  PetscMPIInt         np, rank;
  PetscInt            lo, hi, *ptr, *col, nnz = 0;

  MPI_Comm_size(comm, &np);
  MPI_Comm_rank(comm, &rank);
  lo  = p->n * rank / np;
  hi  = p->n * (rank + 1) / np;
  ptr = malloc(sizeof(PetscInt) * (size_t)(hi - lo + 1));
  col = malloc(sizeof(PetscInt) * (size_t)(5 * (hi - lo) + 1));
  ptr[0] = 0;
  for (PetscInt i = lo; i < hi; i++) {
    for (PetscInt j = 0; j < p->n; j++) {
      PetscBool link = (PetscBool)(i == j);

      for (int a = 0; a < 2 && !link; a++) { /* the next block, or the one before, with this body */
        const PetscInt body = p->body[2 * i + a], low = PetscMin(i, j), high = PetscMax(i, j);

        if (body < 0 || (p->body[2 * j] != body && p->body[2 * j + 1] != body)) continue;
        link = PETSC_TRUE;
        for (PetscInt k = low + 1; k < high; k++)
          if (p->body[2 * k] == body || p->body[2 * k + 1] == body) link = PETSC_FALSE;
      }
      if (link) col[nnz++] = j;
    }
    ptr[i - lo + 1] = nnz;
  }
  Ok(DualSetProblemByBodies(d, hi - lo, ptr, col, p->body + 2 * lo, p->F + 36 * lo, b->q + 3 * lo, b->row + lo));
  Ok(DualSolve(d, R + 3 * lo, U + 3 * lo, &reason));
  Everywhere(comm, p->n, R);
  Everywhere(comm, p->n, U);
  free(ptr);
  free(col);
  return reason;
}

/* Few contacts to many bodies: W is regular and the solution unique. Many: it is not, but what is given back is a solution. */
static void TestSolve(void **state)
{
  static const char *const types[] = {"-snes_type auto -snes_rtol 1e-8", "-snes_type proxnewton -snes_rtol 1e-8", "-snes_type conic -snes_rtol 1e-8", "-snes_type nlgs -snes_rtol 1e-8 -snes_max_it 20000"};

  int solved = 0;

  (void)state;
  for (int t = 0; t < 4; t++)
    for (int laws = 0; laws < (t == 2 ? 1 : 2); laws++)
      for (int many = 0; many < (t == 3 ? 1 : 2); many++)
        for (int rep = 0; rep < 4; rep++) {
          const PetscInt      n = many ? 150 : 20;
          PetscReal          *R, *U, *S, *V;
          SNESConvergedReason reason;
          Bodies              p;
          Blocks              b;
          Dual                d;

          seed = (uint64_t)(1000 * rep + 100 * t + 10 * laws + many);
          MakeBodies(n, many ? 30 : 40, 0.3, &p);
          MakeBlocks(&p, laws, &b);
          Ok(PetscCalloc4(3 * n, &R, 3 * n, &U, 3 * n, &S, 3 * n, &V));
          Push(types[t]);
          d = MakeDual(PETSC_COMM_WORLD, DUAL_MERIT_ENERGY);
          reason = SolveBodies(PETSC_COMM_WORLD, d, &p, &b, R, U);
          Product(&b, R, V);
          if (reason > 0) assert_true(Difference(3 * n, U, V) <= 1e-9 * (1 + Most(3 * n, V) + Most(3 * n, R)));
          assert_int_equal(SolveDual(PETSC_COMM_WORLD, d, &b, S, V) > 0, reason > 0); /* the same object takes either */
          if (reason > 0) { /* such laws at random need not have a solution */
            solved++;
            assert_true(ErrorEnergy(&b, R) <= 1.001e-8);
            if (!many && !laws) assert_true(Difference(3 * n, R, S) <= 1e-4 * Most(3 * n, S));
            Ok(PetscArraycpy(R, S, 3 * n));
            assert_true(SolveBodies(PETSC_COMM_WORLD, d, &p, &b, R, U) > 0);
            for (PetscInt i = 0; i < n; i++) /* good enough as a start: kept, but for what an open contact had left */
              for (int c = 0; c < 3; c++) assert_true(R[3 * i + c] == S[3 * i + c] || b.row[i].relation == RELATION_CONE);
          } else assert_true(laws);
          Ok(DualDestroy(&d));
          Pop();
          Ok(PetscFree4(R, U, S, V));
          Ok(BlocksDestroy(&b));
          FreeBodies(&p);
        }
  assert_true(solved >= 36); /* of 48 */
}

/* (W + K^-1) r = K^-1 c on the active blocks */
static void TestFactor(void **state)
{
  System s;
  BodyLU lu;

  (void)state;
  Ok(SystemCreate(&s));
  Ok(BodyLUCreate(&lu));
  for (int rep = 0; rep < 60; rep++) {
    const PetscInt width = rep % 4 == 3 ? 0 : 2 << rep % 4, n = 1 + rep, nbody = 1 + rep / 2 + rep % 3 * 10;
    unsigned char *active;
    PetscReal     *K, *x, *A, *y;
    PetscBLASInt  *pivot, order = (PetscBLASInt)(3 * n), one = 1, info;
    PetscReal      products[2];
    PetscBool      ok;
    Bodies         p;

    if (width && !SIMDHas(width)) continue;
    Ok(SIMDSetWidth(width));
    seed = (uint64_t)(7 + rep);
    MakeBodies(n, nbody < 4 ? 4 : nbody, 0.2, &p);
    Ok(SystemReserve(s, n, n));
    Ok(SystemReserveBodies(s));
    s->bodies = PETSC_TRUE;
    s->nbody  = p.nbody;
    Ok(SystemReserveMotions(s));
    Ok(PetscArraycpy(s->body, p.body, 2 * n));
    Ok(PetscArraycpy(s->F, p.F, 36 * n));
    active = malloc((size_t)n);
    Ok(PetscMalloc5(9 * n, &K, 3 * n, &x, 9 * n * n, &A, 3 * n, &y, 3 * n, &pivot));
    for (int pass = 0; pass < 6; pass++) { /* twice the same, others, all, and back: patterns that are kept and that are not */
      const PetscBool all = pass == 4 ? PETSC_TRUE : PETSC_FALSE;
      double          off = 0, most = 0;

      if (pass % 2 == 0) {
        seed = (uint64_t)(100 * rep + pass);
        for (PetscInt i = 0; i < n; i++) active[i] = Uniform() < 0.7;
      }
      if (!pass) Ok(BodyLUReset(lu));
      for (PetscInt i = 0; i < n; i++)
        for (int r = 0; r < 3; r++) {
          x[3 * i + r] = Normal();
          for (int c = 0; c < 3; c++) K[9 * i + 3 * r + c] = (r == c ? 3 : 0) + Normal();
        }
      /* 1 + K W by rows of the active blocks, transposed for LAPACK */
      for (PetscInt i = 0; i < n; i++)
        for (int r = 0; r < 3; r++)
          for (PetscInt j = 0; j < n; j++)
            for (int c = 0; c < 3; c++) {
              double sum = i == j && r == c;

              if ((all || (active[i] && active[j])))
                for (int k = 0; k < 3; k++) sum += K[9 * i + 3 * r + k] * Entry(&p, i, k, j, c);
              A[3 * n * (3 * j + c) + 3 * i + r] = sum;
            }
      Ok(PetscArraycpy(y, x, 3 * n));
      LAPACKgesv_(&order, &one, A, &order, pivot, y, &order, &info);
      assert_int_equal(info, 0);
      Ok(BodyLUEstimate(lu, s, all ? NULL : active, &products[0]));
      Ok(BodyLUFactor(lu, s, all ? NULL : active, K, &ok));
      Ok(BodyLUEstimate(lu, s, all ? NULL : active, &products[1]));
      assert_true(ok && products[0] == products[1] && products[0] >= (double)p.nbody);
      BodyLUSolve(lu, s, all ? NULL : active, K, x);
      for (PetscInt i = 0; i < 3 * n; i++) {
        if (!all && !active[i / 3]) continue; /* is not touched */
        off  = fmax(off, fabs(x[i] - y[i]));
        most = fmax(most, fabs(y[i]));
      }
      if (off > 1e-9 * (1 + most)) fail_msg("%d blocks, %d bodies, pass %d: %g of %g", (int)n, (int)p.nbody, pass, off, most);
    }
    Ok(PetscFree5(K, x, A, y, pivot));
    free(active);
    FreeBodies(&p);
  }
  Ok(SIMDSetWidth(0));
  Ok(BodyLUDestroy(&lu));
  Ok(SystemDestroy(&s));
}

static void TestTakes(void **state)
{
  static const struct {
    const char *options;
    PetscInt    n;
    PetscBool   yes;
  } t[] = {{"", 10, PETSC_FALSE}, {"", 10000, PETSC_TRUE}, {"-dual_mat_type bodies", 1, PETSC_TRUE}, {"-dual_mat_type explicit", 10000, PETSC_FALSE}, {"-dual_mat_type free", 10000, PETSC_FALSE}, {"-snes_type newtonls", 10000, PETSC_FALSE}, {"-dual_ordering coloring", 10000, PETSC_FALSE}};

  (void)state;
  for (size_t i = 0; i < sizeof(t) / sizeof(*t); i++) {
    PetscBool yes;
    Dual      d;

    Push(t[i].options);
    d = MakeDual(PETSC_COMM_WORLD, DUAL_MERIT_ENERGY);
    Ok(DualTakesBodies(d, t[i].n, &yes));
    assert_int_equal(yes, t[i].yes);
    Ok(DualDestroy(&d));
    Pop();
  }
  Push("-dual_mat_type dense");
  {
    Dual d;

    Ok(DualCreate(PETSC_COMM_WORLD, &d));
    Refused(DualSetFromOptions(d), "dual_mat_type: there is no 'dense'; take auto, bodies, explicit or free");
    Ok(DualDestroy(&d));
  }
  Pop();
}

int main(void)
{
  const struct CMUnitTest tests[] = {cmocka_unit_test(TestFactor), cmocka_unit_test(TestSolve), cmocka_unit_test(TestTakes)};

  return UNIT_MAIN_WITH("bodies", tests, DualStart, UnitEnd);
}
