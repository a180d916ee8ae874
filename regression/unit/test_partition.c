/* Spreading bodies over ranks; run on 1, 2 and 3 ranks. Every test is made with each partitioner that is there. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <stdlib.h>
#include "meshes/partition.h"

static MPI_Comm    comm;
static PetscMPIInt size, me;

typedef struct {
  PetscInt   n, N; /* here, in all */
  PetscInt  *number, *weight, *rank;
  PetscReal *box;
} Bodies;

typedef enum {
  EVEN,
  FIRST, /* all on rank 0 */
  LAST,  /* all on the last rank */
  STRIPES
} Spread;

/* Unit cubes on a grid, a little apart */
static void BodiesCreate(PetscInt nx, PetscInt ny, PetscInt nz, Spread spread, Bodies *b)
{
  b->N = nx * ny * nz;
  b->n = 0;
  assert_int_equal(PetscMalloc4(b->N, &b->number, b->N, &b->weight, b->N, &b->rank, 6 * b->N, &b->box), 0);
  for (PetscInt i = 0; i < b->N; ++i) {
    const PetscInt  owner = spread == EVEN ? i * size / b->N : spread == FIRST ? 0 : spread == LAST ? size - 1 : i % size;
    const PetscReal low[3] = {i % nx * 1.02, i / nx % ny * 1.02, i / nx / ny * 1.02};

    if (owner != me) continue;
    for (int k = 0; k < 3; ++k) b->box[6 * b->n + k] = low[k], b->box[6 * b->n + 3 + k] = low[k] + 1;
    b->weight[b->n]   = 30;
    b->number[b->n++] = i;
  }
}

static void BodiesDestroy(Bodies *b)
{
  assert_int_equal(PetscFree4(b->number, b->weight, b->rank, b->box), 0);
}

/* Partitions, checks that every answer is a rank and gathers the answer by body number (a test may) */
static PetscInt *Partition(Bodies *b)
{
  PetscInt *all;

  for (PetscInt i = 0; i < b->n; ++i) b->rank[i] = -1;
  assert_int_equal(PartitionBodies(comm, b->n, b->weight, b->box, b->rank), 0);
  assert_int_equal(PetscMalloc1(b->N + 1, &all), 0);
  for (PetscInt i = 0; i < b->N; ++i) all[i] = -1;
  for (PetscInt i = 0; i < b->n; ++i) {
    assert_true(b->rank[i] >= 0 && b->rank[i] < size);
    all[b->number[i]] = b->rank[i];
  }
  MPI_Allreduce(MPI_IN_PLACE, all, b->N, MPIU_INT, MPI_MAX, comm);
  return all;
}

/* Largest weight of a rank over the mean; *least is the least number of bodies on a rank */
static PetscReal Imbalance(const Bodies *b, PetscInt *least)
{
  PetscInt *sum;
  PetscReal total = 0, max = 0;

  assert_int_equal(PetscCalloc1(2 * size, &sum), 0);
  for (PetscInt i = 0; i < b->n; ++i) sum[b->rank[i]] += b->weight[i], ++sum[size + b->rank[i]];
  MPI_Allreduce(MPI_IN_PLACE, sum, 2 * size, MPIU_INT, MPI_SUM, comm);
  *least = b->N;
  for (PetscInt p = 0; p < size; ++p) {
    total += sum[p];
    max    = PetscMax(max, sum[p]);
    *least = PetscMin(*least, sum[size + p]);
  }
  assert_int_equal(PetscFree(sum), 0);
  return max * size / total;
}

static PetscInt Cut(PetscInt nx, PetscInt ny, PetscInt nz, const PetscInt rank[]) /* faces between ranks */
{
  PetscInt cut = 0;

  for (PetscInt i = 0; i < nx * ny * nz; ++i) {
    cut += i % nx + 1 < nx && rank[i] != rank[i + 1];
    cut += i / nx % ny + 1 < ny && rank[i] != rank[i + nx];
    cut += i / nx / ny + 1 < nz && rank[i] != rank[i + nx * ny];
  }
  return cut;
}

static void Grid(PetscInt nx, PetscInt ny, PetscInt nz, PetscInt cut, Spread spread)
{
  Bodies    b;
  PetscInt *all, *again, least;

  BodiesCreate(nx, ny, nz, spread, &b);
  all = Partition(&b);
  assert_true(Imbalance(&b, &least) < 1.15);
  assert_true(least > 0);
  if (size == 1) assert_int_equal(Cut(nx, ny, nz, all), 0);
  else if (Cut(nx, ny, nz, all) > cut) fail_msg("%d faces are cut, expected %d", (int)Cut(nx, ny, nz, all), (int)cut);
  for (int k = 0; k < 3; ++k) { /* the same answer again */
    again = Partition(&b);
    for (PetscInt i = 0; i < b.N; ++i) assert_int_equal(again[i], all[i]);
    PetscFree(again);
  }
  PetscFree(all);
  BodiesDestroy(&b);
}

static void test_grid(void **state)
{
  (void)state;
  /* a straight cut has 10 and 100 faces, two cuts 20 and 200: neighbours are really found, whoever holds the bodies */
  for (int s = EVEN; s <= STRIPES; ++s) {
    Grid(10, 10, 1, 20 * (size - 1), (Spread)s);
    Grid(10, 10, 10, 180 * (size - 1), (Spread)s);
  }
}

static void test_few(void **state)
{
  (void)state;
  for (int s = EVEN; s <= STRIPES; ++s)
    for (PetscInt n = 0; n < 6; ++n) {
      Bodies    b;
      PetscInt *all, least, used = 0;

      BodiesCreate(n, 1, 1, (Spread)s, &b);
      all = Partition(&b);
      if (n) Imbalance(&b, &least);
      if (n >= size) assert_true(least > 0);
      for (PetscInt p = 0; p < size; ++p) {
        PetscInt count = 0;

        for (PetscInt i = 0; i < n; ++i) count += all[i] == p;
        used += count > 0;
      }
      assert_int_equal(used, PetscMin(n, size));
      PetscFree(all);
      BodiesDestroy(&b);
    }
}

static void test_heavy(void **state)
{
  for (int far = 0; far < 2; ++far) {
    Bodies    b;
    PetscInt *all, least;

    (void)state;
    BodiesCreate(10, 10, 1, STRIPES, &b);
    for (PetscInt i = 0; i < b.n; ++i) /* one body as heavy as a rank's share, or much heavier */
      if (b.number[i] == 44) b.weight[i] = far ? 30 * 2000 : size > 1 ? 30 * 99 / (size - 1) : 7;
    all = Partition(&b);
    if (far) {
      PetscInt other = 0, total = size * 0;

      for (PetscInt i = 0; i < b.N; ++i) other += i != 44 && all[i] == all[44], ++total;
      if (size > 1) assert_true(other <= total / 4); /* the light ones go elsewhere */
    } else assert_true(Imbalance(&b, &least) < 1.15);
    Imbalance(&b, &least);
    assert_true(least > 0);
    PetscFree(all);
    BodiesDestroy(&b);
  }
}

/* Odd boxes: a floor under all, points, boxes that are empty, not finite or all at one place. Only balance can be asked for. */
static void test_odd(void **state)
{
  (void)state;
  for (int odd = 0; odd < 5; ++odd) {
    Bodies    b;
    PetscInt *all, least;

    BodiesCreate(20, 15, 1, EVEN, &b);
    for (PetscInt i = 0; i < b.n; ++i) {
      PetscReal *box = b.box + 6 * i;

      if (odd == 0 && b.number[i] == 7) box[0] = box[1] = -1e6, box[3] = box[4] = 1e6;
      if (odd == 1) box[3] = box[0], box[4] = box[1], box[5] = box[2];
      if (odd == 2) for (int k = 0; k < 6; ++k) box[k] = 5 + (k >= 3);
      if (odd == 3 && i % 2) box[3] = box[0] - 1;
      if (odd == 4 && i % 2) box[i % 6] = i % 4 ? NAN : INFINITY;
    }
    all = Partition(&b);
    assert_true(Imbalance(&b, &least) < 1.15);
    assert_true(least > 0);
    if (odd == 0 && size > 1) assert_true(Cut(20, 15, 1, all) <= 30 * (size - 1)); /* the floor does not spoil the cells */
    PetscFree(all);
    BodiesDestroy(&b);
  }
}

/* Neighbours do not depend on the unit of length or on where the model is */
static void test_units(void **state)
{
  Bodies    b;
  PetscInt *all;

  (void)state;
  for (int k = 0; k < 3; ++k) {
    BodiesCreate(12, 12, 1, STRIPES, &b);
    for (PetscInt i = 0; i < 6 * b.n; ++i) b.box[i] = k == 0 ? 1e-9 * b.box[i] : k == 1 ? 1e9 * b.box[i] : b.box[i] - 1e6;
    all = Partition(&b);
    assert_true(Cut(12, 12, 1, all) <= 24 * (size - 1));
    PetscFree(all);
    BodiesDestroy(&b);
  }
}

static void test_huge_weights(void **state) /* the sum passes 32 bits */
{
  Bodies    b;
  PetscInt *all, least;
  PetscReal sum = 0, max = 0;

  (void)state;
  BodiesCreate(10, 10, 1, EVEN, &b);
  for (PetscInt i = 0; i < b.n; ++i) b.weight[i] = 300000000;
  all = Partition(&b);
  for (PetscInt i = 0; i < b.n; ++i) b.weight[i] = 1;
  max = Imbalance(&b, &least);
  assert_true(max < 1.15 && sum == 0);
  PetscFree(all);
  BodiesDestroy(&b);
}

/* The type "parmetis" itself: applied to a graph with an empty rank, and improving a bad distribution */
static void test_parmetis_type(void **state)
{
  (void)state;
#if defined(ASHLAR_HAVE_PARMETIS)
  const PetscInt m = 20;

  for (int empty = 0; empty < 2; ++empty) {
    const PetscInt  parts = size, owners = empty && size > 1 ? size - 1 : size, rows = m / owners + (me < m % owners);
    PetscInt        n = me < owners ? rows * m : 0, first, N = m * m, *ia, *ja, moved = 0, *count, nnz = 0;
    Mat             graph;
    MatPartitioning partitioning;
    IS              is, now;
    const PetscInt *index;
    PetscInt       *present;

    MPI_Scan(&n, &first, 1, MPIU_INT, MPI_SUM, comm);
    first -= n;
    PetscMalloc1(n + 1, &ia);
    PetscMalloc1(4 * n + 1, &ja);
    for (PetscInt i = 0; i < n; ++i) { /* a square of m by m */
      const PetscInt g = first + i, x = g % m, y = g / m;

      ia[i] = nnz;
      if (y > 0) ja[nnz++] = g - m;
      if (x > 0) ja[nnz++] = g - 1;
      if (x + 1 < m) ja[nnz++] = g + 1;
      if (y + 1 < m) ja[nnz++] = g + m;
    }
    ia[n] = nnz;
    assert_int_equal(MatCreateMPIAdj(comm, n, N, ia, ja, NULL, &graph), 0);
    assert_int_equal(MatPartitioningCreate(comm, &partitioning), 0);
    assert_int_equal(MatPartitioningSetAdjacency(partitioning, graph), 0);
    assert_int_equal(MatPartitioningSetType(partitioning, "parmetis"), 0);
    assert_int_equal(MatPartitioningSetNParts(partitioning, parts), 0);
    PetscCalloc1(2 * parts, &count);
    assert_int_equal(MatPartitioningApply(partitioning, &is), 0);
    ISGetIndices(is, &index);
    for (PetscInt i = 0; i < n; ++i) ++count[index[i]];
    ISRestoreIndices(is, &index);
    ISDestroy(&is);
    /* now all but the last sixth on part 0 */
    PetscMalloc1(n + 1, &present);
    for (PetscInt i = 0; i < n; ++i) present[i] = first + i < 5 * N / 6 ? 0 : parts - 1;
    assert_int_equal(ISCreateGeneral(comm, n, present, PETSC_COPY_VALUES, &now), 0);
    assert_int_equal(MatPartitioningImprove(partitioning, &now), 0);
    ISGetIndices(now, &index);
    for (PetscInt i = 0; i < n; ++i) {
      ++count[parts + index[i]];
      moved += index[i] != present[i];
    }
    ISRestoreIndices(now, &index);
    ISDestroy(&now);
    MPI_Allreduce(MPI_IN_PLACE, count, 2 * parts, MPIU_INT, MPI_SUM, comm);
    MPI_Allreduce(MPI_IN_PLACE, &moved, 1, MPIU_INT, MPI_SUM, comm);
    for (PetscInt p = 0; p < 2 * parts; ++p) assert_true(PetscAbsReal(count[p] * parts / (PetscReal)N - 1) < 0.15);
    if (size == 2 && !empty) assert_true(moved < N / 2); /* a third has to move; from scratch it may be more */
    PetscFree(present);
    PetscFree(count);
    MatPartitioningDestroy(&partitioning);
    MatDestroy(&graph);
  }
#else
  skip();
#endif
}

int main(int argc, char **argv)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_grid), cmocka_unit_test(test_few), cmocka_unit_test(test_heavy), cmocka_unit_test(test_odd), cmocka_unit_test(test_units), cmocka_unit_test(test_huge_weights),
  };
  const struct CMUnitTest type[] = {cmocka_unit_test(test_parmetis_type)};
  int                     failed;

  if (PetscInitialize(&argc, &argv, NULL, NULL)) return 1;
  comm = PETSC_COMM_WORLD;
  MPI_Comm_size(comm, &size);
  MPI_Comm_rank(comm, &me);
  if (MatPartitioningRegisterAshlar()) return 1;
  failed = cmocka_run_group_tests_name("default type", tests, NULL, NULL);
  PetscOptionsSetValue(NULL, "-mat_partitioning_type", "ptscotch");
  failed += cmocka_run_group_tests_name("ptscotch", tests, NULL, NULL);
  PetscOptionsClearValue(NULL, "-mat_partitioning_type");
  failed += cmocka_run_group_tests_name("type parmetis", type, NULL, NULL);
  if (PetscFinalize()) return 1;
  return failed;
}
