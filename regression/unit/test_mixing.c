/* Mixing of sweeps: a column of equal bodies under its weight, by blocks and by bodies. Impulses are known, loads must pass through all bodies. A column that stands
   among many single bodies is swept by itself. */
#include "unit.h"
#include "constraints/mixing.h"
#include "constraints/prox.h"

#define COLUMN 24
#define WEIGHT 0.25
#define SINGLE 20000

/* Contact k is between body k - 1 (the ground: none) and body k, the normal first; the last `single` ones are all between the ground and a body */
static System MakeColumn(PetscBool bodies, PetscInt single)
{
  const PetscInt n = COLUMN + single;
  System         s;

  Ok(SystemCreate(&s));
  s->bodies = bodies;
  Ok(SystemReserve(s, n, bodies ? n : 3 * n));
  if (bodies) Ok(SystemReserveBodies(s));
  s->ptr[0] = 0;
  for (PetscInt i = 0; i < n; i++) {
    const PetscBool foot = i == 0 || i >= COLUMN ? PETSC_TRUE : PETSC_FALSE;
    PetscInt        at   = s->ptr[i];

    s->relation[i] = RELATION_CONE;
    s->rows[i]     = 3;
    s->mu[i]       = 0.5;
    s->cohesion[i] = s->lo[i] = s->hi[i] = 0;
    for (PetscInt c = 0; c < 3; c++) s->q[3 * i + c] = c || !foot ? 0 : -WEIGHT;
    if (bodies) {
      s->col[at++]       = i;
      s->body[2 * i]     = foot ? -1 : i - 1;
      s->body[2 * i + 1] = i;
      for (PetscInt k = 0; k < 36; k++) s->F[36 * i + k] = 0;
      for (PetscInt c = 0; c < 3; c++) {
        s->F[36 * i + 4 * c]      = foot ? 0 : -1;
        s->F[36 * i + 18 + 4 * c] = 1;
      }
    } else
      for (PetscInt j = i < COLUMN ? PetscMax(i - 1, 0) : i; j < (i < COLUMN ? PetscMin(i + 2, COLUMN) : i + 1); j++) {
        for (PetscInt k = 0; k < 9; k++) s->w[9 * at + k] = k % 4 ? 0 : i != j ? -1 : foot ? 1 : 2;
        s->col[at++] = j;
      }
    s->ptr[i + 1] = at;
  }
  if (bodies) {
    s->nbody = n;
    Ok(SystemReserveMotions(s));
  }
  Ok(SystemSetUp(s));
  Ok(SystemSetScale(s));
  return s;
}

/* Sweeps until the merit is 1e-10 */
static PetscInt Solve(System s, PetscBool mixed, PetscReal *r)
{
  PetscReal u[3 * COLUMN + 1], merit = 1;
  PetscInt  sweeps = 0;
  Nlgs      g;
  Mixing    m;

  Ok(NlgsCreate(&g));
  Ok(NlgsSetUp(g, s));
  Ok(MixingCreate(&m));
  Ok(MixingBegin(m, s));
  for (PetscInt i = 0; i <= 3 * COLUMN; i++) r[i] = 0;
  for (; merit > 1e-10 && sweeps < 20000; sweeps++) {
    PetscReal sum[2] = {0, 0};

    if (mixed) {
      if (s->bodies) SystemMotions(s, r);
      Ok(MixingStart(m, s, r));
    }
    Ok(NlgsSweep(g, s, PETSC_FALSE, 1, r, &sum[0], &sum[1]));
    if (mixed) Ok(MixingEnd(m, s, r, sum));
    Ok(SystemMult(s, r, u));
    Ok(SystemMerit(s, r, u, &merit));
  }
  assert_true(merit <= 1e-10);
  Ok(MixingDestroy(&m));
  Ok(NlgsDestroy(&g));
  return sweeps;
}

static void test_column(void **state)
{
  PetscInt sweeps[2][2];

  (void)state;
  for (PetscInt bodies = 0; bodies < 2; bodies++)
    for (PetscInt mixed = 0; mixed < 2; mixed++) {
      System    s = MakeColumn((PetscBool)bodies, 0);
      PetscReal r[3 * COLUMN + 1];

      sweeps[bodies][mixed] = Solve(s, (PetscBool)mixed, r);
      for (PetscInt i = 0; i < COLUMN; i++) {
        assert_true(PetscAbsReal(r[3 * i] - WEIGHT * (COLUMN - i)) < 1e-7 * WEIGHT * COLUMN);
        assert_true(r[3 * i + 1] == 0 && r[3 * i + 2] == 0);
      }
      Ok(SystemDestroy(&s));
    }
  print_message("  sweeps of a column of %d bodies: %d, mixed %d; by bodies %d, mixed %d\n", COLUMN, (int)sweeps[0][0], (int)sweeps[0][1], (int)sweeps[1][0], (int)sweeps[1][1]);
  for (PetscInt bodies = 0; bodies < 2; bodies++) assert_true(3 * sweeps[bodies][1] < sweeps[bodies][0]);
  assert_int_equal(sweeps[0][0], sweeps[1][0]);
}

/* What was known of one system says nothing of the next */
static void test_begin(void **state)
{
  System    s = MakeColumn(PETSC_FALSE, 0);
  PetscReal r[2][3 * COLUMN + 1], sum[2];
  Nlgs      g;
  Mixing    m;

  (void)state;
  Ok(NlgsCreate(&g));
  Ok(NlgsSetUp(g, s));
  Ok(MixingCreate(&m));
  for (PetscInt k = 0; k < 2; k++) {
    Ok(MixingBegin(m, s));
    for (PetscInt i = 0; i <= 3 * COLUMN; i++) r[k][i] = 0;
    for (PetscInt i = 0; i < 7; i++) {
      sum[0] = sum[1] = 0;
      Ok(MixingStart(m, s, r[k]));
      Ok(NlgsSweep(g, s, PETSC_FALSE, 1, r[k], &sum[0], &sum[1]));
      Ok(MixingEnd(m, s, r[k], sum));
    }
  }
  assert_memory_equal(r[0], r[1], sizeof(r[0]));
  Ok(MixingDestroy(&m));
  Ok(NlgsDestroy(&g));
  Ok(SystemDestroy(&s));
}

/* All but a column is at rest after the first sweep: what the column needs costs hardly more. */
static void test_few(void **state)
{
  const PetscInt n = COLUMN + SINGLE;

  (void)state;
  for (PetscInt bodies = 0; bodies < 2; bodies++) {
    System      s      = MakeColumn((PetscBool)bodies, SINGLE);
    SolveReport report = {0};
    PetscReal  *r, *u, worst = 0;
    Nlgs        g;
    Newton      w;

    Ok(PetscCalloc2(3 * n + 1, &r, 3 * n + 1, &u));
    Ok(NlgsCreate(&g));
    Ok(NlgsSetUp(g, s));
    Ok(NewtonCreate(&w));
    Ok(NewtonReserve(w, s));
    Ok(NlgsWarmUp(g, w, s, 1e-5, r, u, &report, NULL));
    for (PetscInt i = 0; i < n; i++) worst = PetscMax(worst, PetscAbsReal(r[3 * i] / (i < COLUMN ? WEIGHT * (COLUMN - i) : WEIGHT) - 1));
    print_message("  a column among %d single bodies%s: merit %g after %d sweeps over all, forces to %g\n", SINGLE, bodies ? ", by bodies" : "", (double)report.merit, (int)report.sweeps, (double)worst);
    assert_true(report.merit <= 1e-5 && report.sweeps <= 20 && worst < 1e-2);
    Ok(NewtonDestroy(&w));
    Ok(NlgsDestroy(&g));
    Ok(PetscFree2(r, u));
    Ok(SystemDestroy(&s));
  }
}

int main(void)
{
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_column), cmocka_unit_test(test_begin), cmocka_unit_test(test_few)};

  return UNIT_MAIN("mixing", tests);
}
