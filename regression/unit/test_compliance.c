/* Compliance against a dense inverse by LAPACK, single solves and the rigid body it tends to; symmetry, bits, memory. */
#include "unit.h"
#include "physics/compliance.h"
#include "physics/rotation.h"
#include <petscblaslapack.h>

static void Below(const char what[], PetscReal value, PetscReal limit)
{
  if (!(value <= limit)) fail_msg("%s: %.3g, at most %.3g", what, (double)value, (double)limit);
}

static Part MakePart(const PetscInt cells[3], PetscBool pipe)
{
  const Material  material = {1e7, 0.25, 1e3, PETSC_FALSE};
  const PetscReal size[3]  = {0.03, 0.05, 0.07};
  Mesh            mesh;
  Part            part;

  if (pipe) Ok(MeshCreatePipe(0.01, 0.005, 0.1, cells, &mesh));
  else Ok(MeshCreateBox(size, cells, &mesh));
  Ok(PartCreate("part", mesh, &material, &part));
  Ok(PartSetUpElastic(part));
  return part;
}

/* Points of facets and of whole elements, some of them at nodes, some with zero weights */
static void MakePoints(Part part, PetscInt n, MaterialPoint *p, const MaterialPoint **ptr)
{
  unsigned seed = 7;
  Surface  s;

  Ok(PartGetSurface(part, &s));
  memset(p, 0, n * sizeof(*p));
  for (PetscInt i = 0; i < n; i++) {
    const SurfaceFacet *f = &s->facet[(3 * i / 2) % s->nfacet];
    PetscReal           x[2];

    for (int k = 0; k < 2; k++) {
      seed = seed * 1664525u + 1013904223u;
      x[k] = (PetscReal)(seed >> 8) / (1 << 24);
    }
    if (i % 5 == 2) x[0] = 0;
    if (i % 5 == 3) x[0] = 1, x[1] = 0;
    p[i].nnode = 4;
    for (int k = 0; k < 4; k++) p[i].node[k] = s->node[f->node[k]];
    p[i].N[0] = (1 - x[0]) * (1 - x[1]), p[i].N[1] = x[0] * (1 - x[1]), p[i].N[2] = x[0] * x[1], p[i].N[3] = (1 - x[0]) * x[1];
    if (i % 7 == 6) { /* inside an element */
      p[i].nnode = 8;
      for (int k = 0; k < 8; k++) {
        p[i].node[k] = part->mesh->block[0].conn[8 * (i % part->mesh->nelem) + k];
        p[i].N[k]    = 0.125;
      }
    }
    ptr[i] = &p[i];
  }
}

static void Operator(Part part, PetscReal sm, PetscReal sk, PetscReal **a)
{
  PetscReal *k;

  Ok(PetscMalloc1(9 * part->pattern.ia[part->pattern.nb], a));
  Ok(MatSeqSBAIJGetArray(part->K0, &k));
  Ok(PartShift(part, sm, sk, k, *a));
  Ok(MatSeqSBAIJRestoreArray(part->K0, &k));
}

/* Inverse by LAPACK, n x n */
static void DenseInverse(Part part, PetscReal sm, PetscReal sk, PetscReal *D)
{
  const BlockPattern *p = &part->pattern;
  PetscBLASInt        n = 3 * p->nb, info;
  PetscReal          *a;

  Operator(part, sm, sk, &a);
  memset(D, 0, (size_t)n * n * sizeof(*D));
  for (PetscInt i = 0; i < p->nb; i++)
    for (PetscInt k = p->ia[i]; k < p->ia[i + 1]; k++)
      for (int r = 0; r < 3; r++)
        for (int c = 0; c < 3; c++) D[3 * i + r + (size_t)n * (3 * p->ja[k] + c)] = a[9 * k + r + 3 * c];
  LAPACKpotrf_("U", &n, D, &n, &info);
  assert_int_equal(info, 0);
  LAPACKpotri_("U", &n, D, &n, &info);
  assert_int_equal(info, 0);
  for (PetscInt i = 0; i < n; i++)
    for (PetscInt j = 0; j < i; j++) D[i + (size_t)n * j] = D[j + (size_t)n * i];
  Ok(PetscFree(a));
}

static void Symmetric(PetscInt n, const PetscReal *C)
{
  for (PetscInt i = 0; i < n; i++)
    for (PetscInt j = 0; j < n; j++)
      for (int r = 0; r < 3; r++)
        for (int s = 0; s < 3; s++) assert_memory_equal(&C[9 * (i * n + j) + 3 * r + s], &C[9 * (j * n + i) + 3 * s + r], sizeof(PetscReal));
}

static void test_dense(void **state)
{
  const PetscInt cells[3][3] = {{1, 1, 1}, {3, 4, 5}, {6, 7, 8}}; /* the last is not small */

  (void)state;
  for (int m = 0; m < 3; m++) {
    const PetscInt       n = 26;
    Part                 part = MakePart(cells[m], PETSC_FALSE);
    MaterialPoint        p[26];
    const MaterialPoint *ptr[26];
    const PetscInt       N  = 3 * part->nnode;
    PetscReal            C[9 * 26 * 26], *D, worst = 0, size = 0;
    Compliance           c, again;
    PetscInt64           made;

    Ok(PetscMalloc1((size_t)N * N, &D));
    DenseInverse(part, 1.01, 3e-7, D);
    MakePoints(part, n, p, ptr);
    Ok(PartGetCompliance(part, 1.01, 3e-7, &c));
    Ok(PartGetCompliance(part, 1.01, 3e-7, &again));
    assert_ptr_equal(c, again);
    Ok(PartGetCompliance(part, 1.01, 4e-7, &again));
    assert_ptr_not_equal(c, again);
    for (int lap = 0; lap < 2; lap++) {
      Ok(CompliancePoints(c, n, ptr, C));
      Symmetric(n, C);
      for (PetscInt i = 0; i < n; i++)
        for (PetscInt j = 0; j < n; j++)
          for (int r = 0; r < 3; r++)
            for (int s = 0; s < 3; s++) {
              PetscReal sum = 0;

              for (PetscInt a = 0; a < p[i].nnode; a++)
                for (PetscInt b = 0; b < p[j].nnode; b++) sum += p[i].N[a] * p[j].N[b] * D[3 * p[i].node[a] + r + (size_t)N * (3 * p[j].node[b] + s)];
              worst = PetscMax(worst, PetscAbsReal(sum - C[9 * (i * n + j) + 3 * r + s]));
              size  = PetscMax(size, PetscAbsReal(sum));
            }
      Below("against LAPACK", worst / size, 1e-12);
    }
    Ok(ComplianceGetInfo(c, &made, NULL));
    if (m < 2) assert_int_equal(made, N);
    else assert_true(made < N && made > 0 && made % 24 == 0); /* blocks filled up with neighbours */
    Ok(CompliancePoints(c, 0, ptr, C));
    Ok(PetscFree(D));
    Ok(PartDestroy(&part));
  }
}

/* Apply against a solve with the factor, for stride 1 and another, and against the blocks of points */
static void test_apply(void **state)
{
  (void)state;
  for (int m = 0; m < 2; m++) {
    const PetscInt       cells[2][3] = {{2, 3, 2}, {10, 16, 2}}, n = 16, stride[2] = {1, 8};
    Part                 part = MakePart(cells[m], m == 1);
    const PetscInt       N    = 3 * part->nnode;
    MaterialPoint        p[16];
    const MaterialPoint *ptr[16];
    PetscReal            C[9 * 16 * 16], f[48], *x, *y, size = 0, worst = 0;
    Compliance           c;
    Factor               factor;

    Ok(PetscMalloc2(N, &x, 8 * N, &y));
    MakePoints(part, n, p, ptr);
    for (int i = 0; i < 48; i++) f[i] = 1 + (i * 37) % 11 - 0.3 * i;
    memset(x, 0, N * sizeof(*x));
    for (PetscInt i = 0; i < n; i++)
      for (PetscInt a = 0; a < p[i].nnode; a++)
        for (int d = 0; d < 3; d++) x[3 * p[i].node[a] + d] += p[i].N[a] * f[3 * i + d];
    Ok(PartGetFactor(part, 1, 2.5e-7, &factor));
    Ok(FactorSolve(factor, 1, x));
    for (PetscInt i = 0; i < N; i++) size = PetscMax(size, PetscAbsReal(x[i]));
    Ok(PartGetCompliance(part, 1, 2.5e-7, &c));
    for (int k = 0; k < 2; k++) {
      for (PetscInt i = 0; i < 8 * N; i++) y[i] = i;
      Ok(ComplianceApply(c, n, ptr, f, stride[k], y));
      worst = 0;
      for (PetscInt i = 0; i < stride[k] * N; i++) worst = PetscMax(worst, PetscAbsReal(y[i] - i - (i % stride[k] ? 0 : x[i / stride[k]])));
      Below("apply against a solve", worst / size, 1e-12 + 8 * N * stride[k] * PETSC_MACHINE_EPSILON / size);
    }
    Ok(CompliancePoints(c, n, ptr, C));
    Symmetric(n, C);
    worst = size = 0;
    for (PetscInt i = 0; i < n; i++)
      for (int d = 0; d < 3; d++) {
        PetscReal u = 0, v = 0;

        for (PetscInt a = 0; a < p[i].nnode; a++) u += p[i].N[a] * x[3 * p[i].node[a] + d];
        for (PetscInt j = 0; j < 3 * n; j++) v += C[9 * (i * n + j / 3) + 3 * d + j % 3] * f[j];
        worst = PetscMax(worst, PetscAbsReal(u - v));
        size  = PetscMax(size, PetscAbsReal(u));
      }
    Below("blocks of points against a solve", worst / size, 1e-12);
    Ok(PetscFree2(x, y));
    Ok(PartDestroy(&part));
  }
}

/* As the stiffness grows: 1/m - r_i x J^-1 r_j x */
static void test_rigid(void **state)
{
  const PetscInt       cells[3] = {2, 3, 4}, n = 12;
  Part                 part     = MakePart(cells, PETSC_FALSE);
  MaterialPoint        p[12];
  const MaterialPoint *ptr[12];
  PetscReal            C[9 * 12 * 12], J[9] = {0}, Ji[9], before = 1;
  Compliance           c;

  (void)state;
  MakePoints(part, n, p, ptr);
  for (PetscInt a = 0; a < part->nnode; a++) {
    const PetscReal *X = part->X + 3 * a;

    for (int i = 0; i < 3; i++)
      for (int j = 0; j < 3; j++) J[3 * i + j] += part->mass[a] * ((i == j ? Vec3Dot(X, X) : 0) - X[i] * X[j]);
  }
  assert_true(Mat3Inverse(J, Ji));
  for (PetscReal sk = 1e-4; sk < 2; sk *= 100) {
    PetscReal worst = 0, size = 0;

    Ok(PartGetCompliance(part, 1, sk, &c));
    Ok(CompliancePoints(c, n, ptr, C));
    for (PetscInt i = 0; i < n; i++)
      for (PetscInt j = 0; j < n; j++) {
        PetscReal r[2][3] = {{0}}, S[2][9], T[9], B[9];

        for (int d = 0; d < 3; d++) {
          for (PetscInt a = 0; a < p[i].nnode; a++) r[0][d] += p[i].N[a] * part->X[3 * p[i].node[a] + d];
          for (PetscInt a = 0; a < p[j].nnode; a++) r[1][d] += p[j].N[a] * part->X[3 * p[j].node[a] + d];
        }
        Mat3Skew(r[0], S[0]);
        Mat3Skew(r[1], S[1]);
        Mat3Mult(S[0], Ji, T);
        Mat3Mult(T, S[1], B);
        for (int q = 0; q < 9; q++) {
          const PetscReal b = (q % 4 ? 0 : 1 / part->total) - B[q];

          worst = PetscMax(worst, PetscAbsReal(b - C[9 * (i * n + j) + q]));
          size  = PetscMax(size, PetscAbsReal(b));
        }
      }
    Below("distance from the rigid body", worst / size, 0.02 * before);
    before = worst / size;
  }
  assert_true(before < 2e-6);
  Ok(PartDestroy(&part));
}

/* A column has the same bits made alone, with others, or again after it gave way */
static void test_bits(void **state)
{
  const PetscInt       cells[3] = {10, 16, 2}, node[5] = {3, 200, 17, 3, 401};
  MaterialPoint        p[5];
  const MaterialPoint *ptr[5];
  PetscReal            C[2][9 * 25], f[3] = {1, 2, 3}, *y[3];
  PetscInt64           made[2];
  PetscLogDouble       seconds;
  PetscInt             N;

  (void)state;
  memset(p, 0, sizeof(p));
  for (int i = 0; i < 5; i++) {
    p[i].nnode   = 1;
    p[i].node[0] = node[i];
    p[i].N[0]    = 1;
    ptr[i]       = &p[i];
  }
  for (int lap = 0; lap < 3; lap++) {
    Part       part = MakePart(cells, PETSC_TRUE);
    Compliance c;
    Surface    s;

    N = 3 * part->nnode;
    Ok(PetscCalloc1(N, &y[lap]));
    if (lap == 1) Ok(PartGetSurface(part, &s)); /* neighbours come along */
    Ok(PartGetCompliance(part, 1, 2.5e-7, &c));
    if (lap == 2) Ok(ComplianceSetMemory(c, 4 * 3 * (N + 8) * sizeof(PetscReal)));
    if (lap) {
      for (PetscInt i = 40; i < 49; i++) Ok(ComplianceTouch(c, 1, &i));
      Ok(CompliancePoints(c, 5, ptr, C[1]));
      for (PetscInt i = 140; lap == 2 && i < 149; i++) Ok(ComplianceTouch(c, 1, &i)); /* what was touched gives way */
    } else Ok(CompliancePoints(c, 5, ptr, C[0]));
    Ok(ComplianceGetInfo(c, &made[0], NULL));
    Ok(ComplianceApply(c, 1, &ptr[2], f, 1, y[lap]));
    Ok(ComplianceGetInfo(c, &made[1], &seconds));
    assert_int_equal(made[1] - made[0], lap == 2 ? 3 : 0);
    if (!lap) assert_int_equal(made[0], 12);
    assert_true(seconds > 0);
    if (lap) {
      assert_memory_equal(C[0], C[1], sizeof(C[0]));
      assert_memory_equal(y[0], y[lap], N * sizeof(PetscReal));
    }
    Ok(PartDestroy(&part));
  }
  for (int lap = 0; lap < 3; lap++) Ok(PetscFree(y[lap]));
}

int main(void)
{
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_dense), cmocka_unit_test(test_apply), cmocka_unit_test(test_rigid), cmocka_unit_test(test_bits)};

  return UNIT_MAIN("compliance", tests);
}
