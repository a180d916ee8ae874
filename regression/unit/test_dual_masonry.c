/* The default solver on masonry and on variants of it: all are solved, by FCLib's error as it is computed here. */
#include "dual.h"

/* By one object, as a run has it */
static void TestAll(void **state)
{
  Dual     d = MakeDual(PETSC_COMM_WORLD, DUAL_MERIT_FCLIB);
  double   worst = 0;
  PetscInt most = 0, solved = 0, phases[3] = {0, 0, 0};

  (void)state;
  for (PetscInt k = 0; k < MasonryCount(); k++) {
    Blocks              p;
    PetscReal          *R, *U, *V;
    SolveReport         report;
    PetscInt            its;
    SNESConvergedReason reason;
    double              e;

    if ((size > 1 && k % 4)) continue; /* islands of masonry are one rank's work, and the others wait */
    FromMasonry(k, &p);
    Ok(PetscCalloc3(3 * p.n, &R, 3 * p.n, &U, 3 * p.n, &V));
    reason = SolveDual(PETSC_COMM_WORLD, d, &p, R, U);
    Ok(DualGetReport(d, &report, &its));
    e = ErrorFCLib(&p, R);
    Product(&p, R, V);
    if (reason <= 0 || !(e <= 1.001e-8)) fail_msg("%s: %s, error %g, report says %g", MasonryName(k), SNESConvergedReasons[reason], e, report.merit);
    assert_true(Difference(3 * p.n, U, V) <= 1e-12 * (Most(3 * p.n, p.q) + Most(3 * p.n, U)));
    assert_true(fabs(e - report.merit) <= 1e-10);
    assert_int_equal(its, report.sweeps + report.newton + report.conic);
    worst = fmax(worst, e);
    most = PetscMax(most, its);
    phases[0] += report.sweeps > 0;
    phases[1] += report.newton > 0;
    phases[2] += report.conic > 0;
    solved++;
    Ok(PetscFree3(R, U, V));
    Ok(BlocksDestroy(&p));
  }
  print_message("%d problems, worst error %.1e, most iterations %d; %d with sweeps, %d with Newton steps, %d with interior-point steps\n",
                (int)solved, worst, (int)most, (int)phases[0], (int)phases[1], (int)phases[2]);
  assert_true(size > 1 || (phases[0] > 40 && phases[1] > 20 && phases[2] > 0));
  Ok(DualDestroy(&d));
}

/* q + W z, other friction in each contact, other units */
static void Variant(Blocks *p, int kind)
{
  const double big = Most(3 * p->n, p->q), w = kind % 2 ? pow(10, 8 * Uniform() - 4) : 1, q = kind % 2 ? pow(10, 6 * Uniform() - 3) : 1;
  PetscReal   *z, *v;
  double       wz;

  Ok(PetscMalloc2(3 * p->n, &z, 3 * p->n, &v));
  for (PetscInt i = 0; i < 3 * p->n; i++) z[i] = Normal();
  Product(p, z, v);
  for (PetscInt i = 0; i < 3 * p->n; i++) v[i] -= p->q[i];
  wz = Most(3 * p->n, v);
  for (PetscInt i = 0; i < 3 * p->n; i++) p->q[i] = q * (p->q[i] + 0.3 * Uniform() * big / wz * v[i]);
  for (PetscInt k = 0; k < 9 * p->ptr[p->n]; k++) p->w[k] *= w;
  for (PetscInt i = 0; i < p->n; i++) p->row[i].friction = kind % 3 == 2 && Uniform() < 0.1 ? 0 : p->row[i].friction * (0.5 + Uniform());
  Ok(PetscFree2(z, v));
}

static void TestVariants(void **state)
{
  double   worst = 0;
  PetscInt most = 0, failed = 0, done = 0;

  (void)state;
  seed = 7;
  for (int k = 0; done < (size > 1 ? 20 : 100); k++) {
    Blocks              p;
    PetscReal          *R, *U;
    SolveReport         report;
    PetscInt            its, from = -1;
    SNESConvergedReason reason;
    double              e;

    if (k % 3) {
      from = (PetscInt)(Uniform() * (double)MasonryCount());
      FromMasonry(from, &p);
      if (p.n > 130) {
        Ok(BlocksDestroy(&p));
        continue;
      }
    } else { /* of full rank, or of half of it with q in the range of W */
      const PetscInt n = 2 + (PetscInt)(30 * Uniform()), rank = k % 2 ? 3 * n : 3 * n / 2;

      MakeDense(n, rank, k % 2 ? 0.01 : 0, &p);
      if (k % 2 == 0) {
        PetscReal z[100], v[100];

        for (PetscInt i = 0; i < 3 * n; i++) {
          z[i] = Normal();
          p.q[i] = 0;
        }
        Product(&p, z, v);
        memcpy(p.q, v, sizeof(PetscReal) * 3 * (size_t)n);
      }
      for (PetscInt i = 0; i < n; i++) p.row[i].friction = Uniform();
    }
    Variant(&p, k);
    Ok(PetscMalloc2(3 * p.n, &R, 3 * p.n, &U));
    reason = SolveOnce(PETSC_COMM_WORLD, "", DUAL_MERIT_FCLIB, &p, R, U, &report, &its);
    e = ErrorFCLib(&p, R);
    if (reason <= 0 || !(e <= 1.001e-8)) {
      print_message("variant %d of %s, %d blocks: %s, error %g\n", k, from < 0 ? "dense" : MasonryName(from), (int)p.n, SNESConvergedReasons[reason],
                    e);
      failed++;
    }
    worst = fmax(worst, e);
    most = PetscMax(most, its);
    done++;
    Ok(PetscFree2(R, U));
    Ok(BlocksDestroy(&p));
  }
  print_message("%d variants, worst error %.1e, most iterations %d\n", (int)done, worst, (int)most);
  assert_int_equal(failed, 0);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(TestAll),
      cmocka_unit_test(TestVariants),
  };

  return UNIT_MAIN_WITH("dual_masonry", tests, DualStart, UnitEnd);
}
