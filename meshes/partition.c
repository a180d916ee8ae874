/* Spreading bodies over ranks. Bodies are numbered globally in the order of ranks. Every body registers in the cells of a
   grid that its grown box touches; cells are hashed to ranks, which find pairs of bodies; the graph is laid out evenly
   over the ranks by body number, whoever holds the bodies, so that no rank's graph is empty and none holds all of it. */
#include "meshes/partition.h"
#include <stdlib.h>

#define CELLS_MAX  64 /* a body over more cells (a floor) is near everything, so it ties nothing together: it has no neighbours */
#define WINDOW_MAX 16 /* in a crowded cell a body is paired with so many bodies before and after it, to stay linear */

/* Records are `w` numbers each. Record r goes to rank to[r]; *in (allocated) receives *nin records, in the order of ranks. */
static PetscErrorCode Exchange_Private(MPI_Comm comm, PetscInt w, PetscInt n, const PetscMPIInt to[], const PetscInt64 out[], PetscInt *nin, PetscInt64 **in)
{
  PetscMPIInt  size, *scount, *sstart, *rcount, *rstart;
  PetscInt64  *buffer, total = 0;
  MPI_Datatype record;

  PetscFunctionBeginUser;
  PetscCallMPI(MPI_Comm_size(comm, &size));
  PetscCall(PetscCalloc4(size, &scount, size + 1, &sstart, size, &rcount, size, &rstart));
  PetscCall(PetscMalloc1(w * (size_t)n + 1, &buffer));
  for (PetscInt r = 0; r < n; ++r) ++scount[to[r]];
  for (PetscMPIInt p = 1; p < size; ++p) sstart[p] = sstart[p - 1] + scount[p - 1];
  for (PetscInt r = 0; r < n; ++r) PetscCall(PetscArraycpy(buffer + w * (size_t)sstart[to[r]]++, out + w * (size_t)r, w));
  for (PetscMPIInt p = 0; p < size; ++p) sstart[p] -= scount[p];
  PetscCallMPI(MPI_Alltoall(scount, 1, MPI_INT, rcount, 1, MPI_INT, comm));
  for (PetscMPIInt p = 0; p < size; ++p) {
    rstart[p] = (PetscMPIInt)total;
    total += rcount[p];
    PetscCheck(total < PETSC_MPI_INT_MAX, PETSC_COMM_SELF, PETSC_ERR_ARG_OUTOFRANGE, "too many bodies for this number of ranks");
  }
  *nin = (PetscInt)total;
  PetscCall(PetscMalloc1(w * (size_t)total + 1, in));
  PetscCallMPI(MPI_Type_contiguous((PetscMPIInt)w, MPIU_INT64, &record));
  PetscCallMPI(MPI_Type_commit(&record));
  PetscCallMPI(MPI_Alltoallv(buffer, scount, sstart, record, *in, rcount, rstart, record, comm));
  PetscCallMPI(MPI_Type_free(&record));
  PetscCall(PetscFree(buffer));
  PetscCall(PetscFree4(scount, sstart, rcount, rstart));
  PetscFunctionReturn(0);
}

/* A list of records that grows */
typedef struct {
  PetscInt     w, n, room;
  PetscInt64  *data;
  PetscMPIInt *to;
} Records;

static PetscErrorCode RecordsAdd_Private(Records *r, PetscMPIInt to, const PetscInt64 record[])
{
  PetscFunctionBeginUser;
  if (r->n == r->room) {
    PetscCheck(r->room < PETSC_MAX_INT / 2, PETSC_COMM_SELF, PETSC_ERR_ARG_OUTOFRANGE, "too many bodies for this number of ranks");
    r->room = PetscMax(1024, 2 * r->room);
    PetscCall(PetscRealloc(r->room * (size_t)r->w * sizeof(PetscInt64), &r->data));
    PetscCall(PetscRealloc(r->room * sizeof(PetscMPIInt), &r->to));
  }
  r->to[r->n] = to;
  PetscCall(PetscArraycpy(r->data + r->w * (size_t)r->n++, record, r->w));
  PetscFunctionReturn(0);
}

static PetscErrorCode RecordsReset_Private(Records *r)
{
  PetscFunctionBeginUser;
  PetscCall(PetscFree(r->data));
  PetscCall(PetscFree(r->to));
  r->n = r->room = 0;
  PetscFunctionReturn(0);
}

static int Compare_Private(const PetscInt64 *a, const PetscInt64 *b, int w)
{
  for (int i = 0; i < w; ++i)
    if (a[i] != b[i]) return a[i] < b[i] ? -1 : 1;
  return 0;
}

static int CompareRegistrations_Private(const void *a, const void *b)
{
  return Compare_Private((const PetscInt64 *)a, (const PetscInt64 *)b, 4);
}

static int ComparePairs_Private(const void *a, const void *b)
{
  return Compare_Private((const PetscInt64 *)a, (const PetscInt64 *)b, 2);
}

/* Sorts records (a, b, count) by (a, b) and adds up the counts of equal ones; returns how many are left. */
static PetscInt MergePairs_Private(PetscInt n, PetscInt64 pair[])
{
  PetscInt m = 0;

  if (!n) return 0;
  qsort(pair, (size_t)n, 3 * sizeof(PetscInt64), ComparePairs_Private);
  for (PetscInt i = 1; i < n; ++i) {
    if (ComparePairs_Private(pair + 3 * (size_t)m, pair + 3 * (size_t)i)) {
      ++m;
      for (int k = 0; k < 3; ++k) pair[3 * (size_t)m + k] = pair[3 * (size_t)i + k];
    } else pair[3 * (size_t)m + 2] += pair[3 * (size_t)i + 2];
  }
  return m + 1;
}

/* Size and origin of the cells. The size is the geometric mean of the boxes' largest sides, which one huge body cannot spoil. */
static PetscErrorCode Grid_Private(MPI_Comm comm, PetscInt n, const PetscReal box[], PetscReal *cell, PetscReal origin[3])
{
  PetscReal sum[2] = {0, 0}, bound[6] = {PETSC_MIN_REAL, PETSC_MIN_REAL, PETSC_MIN_REAL, PETSC_MIN_REAL, PETSC_MIN_REAL, PETSC_MIN_REAL};

  PetscFunctionBeginUser;
  for (PetscInt i = 0; i < n; ++i) {
    const PetscReal *b = box + 6 * (size_t)i;
    PetscReal        side = 0;
    PetscBool        finite = PETSC_TRUE;

    for (int k = 0; k < 6; ++k) finite = (PetscBool)(finite && !PetscIsInfOrNanReal(b[k]));
    if (!finite) continue;
    for (int k = 0; k < 3; ++k) {
      side         = PetscMax(side, b[3 + k] - b[k]);
      bound[k]     = PetscMax(bound[k], -b[k]);
      bound[3 + k] = PetscMax(bound[3 + k], b[3 + k]);
    }
    if (!(side > 0) || PetscIsInfReal(side)) continue;
    sum[0] += PetscLogReal(side);
    sum[1] += 1;
  }
  PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, sum, 2, MPIU_REAL, MPI_SUM, comm));
  PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, bound, 6, MPIU_REAL, MPI_MAX, comm));
  *cell = sum[1] > 0 ? PetscExpReal(sum[0] / sum[1]) : 0;
  /* an origin off the bodies' own spacing: a wall of equal bricks then has 8 cells a brick, not 27 */
  for (int k = 0; k < 3; ++k) origin[k] = -bound[k] - 0.37 * *cell;
  PetscFunctionReturn(0);
}

static PetscMPIInt CellRank_Private(const PetscInt64 c[3], PetscMPIInt size)
{
  uint64_t h = 0;

  for (int k = 0; k < 3; ++k) { /* mixing of splitmix64 */
    h += (uint64_t)c[k] + 0x9e3779b97f4a7c15u;
    h = (h ^ (h >> 30)) * 0xbf58476d1ce4e5b9u;
    h = (h ^ (h >> 27)) * 0x94d049bb133111ebu;
    h ^= h >> 31;
  }
  return (PetscMPIInt)(h % (uint64_t)size);
}

/* Sends every body's number to the cells it touches: records (i, j, k, body) */
static PetscErrorCode Register_Private(MPI_Comm comm, PetscInt first, PetscInt n, const PetscReal box[], PetscInt *m, PetscInt64 **reg)
{
  const PetscReal limit = 1e15; /* cell numbers stay exact */
  PetscReal       cell = 0, origin[3] = {0, 0, 0};
  Records         out = {.w = 4};
  PetscMPIInt     size;

  PetscFunctionBeginUser;
  PetscCallMPI(MPI_Comm_size(comm, &size));
  PetscCall(Grid_Private(comm, n, box, &cell, origin));
  for (PetscInt i = 0; i < n && cell > 0; ++i) {
    const PetscReal *b = box + 6 * (size_t)i, grow = 0.05 * cell;
    PetscReal        lo[3], hi[3], cells = 1;
    PetscInt64       c[4];

    for (int k = 0; k < 3; ++k) {
      lo[k] = PetscFloorReal((b[k] - grow - origin[k]) / cell);
      hi[k] = PetscFloorReal((b[3 + k] + grow - origin[k]) / cell);
      if (!(lo[k] <= hi[k] && lo[k] > -limit && hi[k] < limit)) cells = PETSC_MAX_REAL; /* not finite or turned over, too */
      else cells *= hi[k] - lo[k] + 1;
    }
    if (!(cells <= CELLS_MAX)) continue;
    c[3] = first + i;
    for (c[0] = (PetscInt64)lo[0]; c[0] <= (PetscInt64)hi[0]; ++c[0])
      for (c[1] = (PetscInt64)lo[1]; c[1] <= (PetscInt64)hi[1]; ++c[1])
        for (c[2] = (PetscInt64)lo[2]; c[2] <= (PetscInt64)hi[2]; ++c[2]) PetscCall(RecordsAdd_Private(&out, CellRank_Private(c, size), c));
  }
  PetscCall(Exchange_Private(comm, 4, out.n, out.to, out.data, m, reg));
  PetscCall(RecordsReset_Private(&out));
  PetscFunctionReturn(0);
}

/* Bodies of one cell are neighbours. Records (a, b, number of shared cells) arrive where the row a of the graph is, sorted. */
static PetscErrorCode Pairs_Private(MPI_Comm comm, PetscLayout rows, PetscInt nreg, PetscInt64 reg[], PetscInt *m, PetscInt64 **pair)
{
  Records found = {.w = 3}, out = {.w = 3};

  PetscFunctionBeginUser;
  if (nreg) qsort(reg, (size_t)nreg, 4 * sizeof(PetscInt64), CompareRegistrations_Private);
  for (PetscInt s = 0, e; s < nreg; s = e) {
    PetscInt window;

    for (e = s + 1; e < nreg && !Compare_Private(reg + 4 * (size_t)s, reg + 4 * (size_t)e, 3);) ++e;
    window = e - s <= 2 * WINDOW_MAX + 1 ? e - s : WINDOW_MAX;
    for (PetscInt i = s; i < e; ++i)
      for (PetscInt j = i + 1; j < e && j <= i + window; ++j) {
        const PetscInt64 r[3] = {reg[4 * (size_t)i + 3], reg[4 * (size_t)j + 3], 1};

        PetscCall(RecordsAdd_Private(&found, 0, r));
      }
  }
  found.n = MergePairs_Private(found.n, found.data); /* less to send */
  for (PetscInt i = 0; i < found.n; ++i) {
    const PetscInt64 *p = found.data + 3 * (size_t)i, q[3] = {p[1], p[0], p[2]};
    PetscMPIInt       owner;

    PetscCall(PetscLayoutFindOwner(rows, (PetscInt)p[0], &owner));
    PetscCall(RecordsAdd_Private(&out, owner, p));
    PetscCall(PetscLayoutFindOwner(rows, (PetscInt)q[0], &owner));
    PetscCall(RecordsAdd_Private(&out, owner, q));
  }
  PetscCall(RecordsReset_Private(&found));
  PetscCall(Exchange_Private(comm, 3, out.n, out.to, out.data, m, pair));
  PetscCall(RecordsReset_Private(&out));
  *m = MergePairs_Private(*m, *pair);
  PetscFunctionReturn(0);
}

/* Edge weight = number of shared cells: bricks that touch by a face weigh four times as much as by a corner. */
static PetscErrorCode Graph_Private(MPI_Comm comm, PetscLayout rows, PetscInt m, const PetscInt64 pair[], Mat *graph)
{
  PetscInt n, first, N, *ia, *ja, *weight;

  PetscFunctionBeginUser;
  PetscCall(PetscLayoutGetLocalSize(rows, &n));
  PetscCall(PetscLayoutGetSize(rows, &N));
  PetscCall(PetscLayoutGetRange(rows, &first, NULL));
  PetscCall(PetscCalloc1(n + 1, &ia)); /* the matrix frees all three */
  PetscCall(PetscMalloc1(m + 1, &ja));
  PetscCall(PetscMalloc1(m + 1, &weight));
  for (PetscInt i = 0; i < m; ++i) {
    ++ia[pair[3 * (size_t)i] - first + 1];
    ja[i]     = (PetscInt)pair[3 * (size_t)i + 1];
    weight[i] = (PetscInt)pair[3 * (size_t)i + 2];
  }
  for (PetscInt i = 0; i < n; ++i) ia[i + 1] += ia[i];
  PetscCall(MatCreateMPIAdj(comm, n, N, ia, ja, weight, graph));
  PetscFunctionReturn(0);
}

/* Gives every empty part a body: the heaviest one (lowest number) of the heaviest part that has two. Rarely anything to do. */
static PetscErrorCode FillEmpty_Private(MPI_Comm comm, PetscMPIInt size, PetscInt first, PetscInt n, const PetscInt weight[], PetscInt part[])
{
  PetscInt64 *sum;

  PetscFunctionBeginUser;
  PetscCall(PetscCalloc1(2 * (size_t)size, &sum)); /* bodies and weight of every part */
  for (PetscInt i = 0; i < n; ++i) {
    ++sum[2 * part[i]];
    sum[2 * part[i] + 1] += weight[i];
  }
  PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, sum, 2 * size, MPIU_INT64, MPI_SUM, comm));
  for (PetscMPIInt p = 0; p < size; ++p) {
    PetscMPIInt giver = -1;
    PetscInt64  best[2] = {0, 0}; /* weight, then minus number */

    if (sum[2 * p]) continue;
    for (PetscMPIInt q = 0; q < size; ++q)
      if (sum[2 * q] > 1 && (giver < 0 || sum[2 * q + 1] > sum[2 * giver + 1])) giver = q;
    if (giver < 0) break; /* fewer bodies than ranks */
    for (PetscInt i = 0; i < n; ++i)
      if (part[i] == giver && weight[i] > best[0]) best[0] = weight[i], best[1] = -(PetscInt64)(first + i);
    {
      PetscInt64 most = best[0], number;

      PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, &most, 1, MPIU_INT64, MPI_MAX, comm));
      number = best[0] == most ? best[1] : PETSC_MIN_INT;
      PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, &number, 1, MPIU_INT64, MPI_MAX, comm));
      number = -number - first;
      if (number >= 0 && number < n) part[number] = p;
      --sum[2 * giver];
      sum[2 * giver + 1] -= most;
      sum[2 * p]     = 1;
      sum[2 * p + 1] = most;
    }
  }
  PetscCall(PetscFree(sum));
  PetscFunctionReturn(0);
}

/* Partitions the graph; weight (of rows here) goes to the partitioning, part (same size) comes back. */
static PetscErrorCode Apply_Private(MPI_Comm comm, Mat graph, PetscInt n, const PetscInt weight[], PetscInt part[])
{
  MatPartitioning partitioning;
  PetscInt       *copy;
  PetscInt64      total = 0, unit;
  const PetscInt *index;
  IS              is;
  void (*reset)(void) = NULL;

  PetscFunctionBeginUser;
  /* PTScotch races its threads and goes on with its random numbers from call to call: either gives another answer every time */
  PetscCheck(!setenv("SCOTCH_PTHREAD_NUMBER", "1", 0), PETSC_COMM_SELF, PETSC_ERR_SYS, "cannot set SCOTCH_PTHREAD_NUMBER");
  PetscCall(PetscDLSym(NULL, "SCOTCH_randomReset", (void **)&reset));
  if (reset) reset();
  PetscCall(MatPartitioningRegisterAshlar());
  PetscCall(MatPartitioningCreate(comm, &partitioning));
#if defined(ASHLAR_HAVE_PARMETIS)
  PetscCall(MatPartitioningSetType(partitioning, MATPARTITIONINGPARMETIS));
#elif defined(PETSC_HAVE_PTSCOTCH)
  PetscCall(MatPartitioningSetType(partitioning, MATPARTITIONINGPTSCOTCH));
#endif
  PetscCall(MatPartitioningSetAdjacency(partitioning, graph));
  for (PetscInt i = 0; i < n; ++i) total += weight[i];
  PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, &total, 1, MPIU_INT64, MPI_SUM, comm));
  unit = total / 1000000000 + 1; /* the libraries add weights in 32 bits */
  PetscCall(PetscMalloc1(n + 1, &copy));
  for (PetscInt i = 0; i < n; ++i) copy[i] = (PetscInt)PetscMax(1, weight[i] / unit);
  PetscCall(MatPartitioningSetVertexWeights(partitioning, copy)); /* frees it */
  PetscCall(MatPartitioningSetUseEdgeWeights(partitioning, PETSC_TRUE));
  PetscCall(MatPartitioningSetFromOptions(partitioning));
  PetscCall(MatPartitioningApply(partitioning, &is));
  PetscCall(ISGetIndices(is, &index));
  PetscCall(PetscArraycpy(part, index, n));
  PetscCall(ISRestoreIndices(is, &index));
  PetscCall(ISDestroy(&is));
  PetscCall(MatPartitioningDestroy(&partitioning));
  PetscFunctionReturn(0);
}

/* Brings numbers (body, value) of the bodies of layout `from` to layout `to` */
static PetscErrorCode Forward_Private(MPI_Comm comm, PetscLayout from, PetscLayout to, const PetscInt value[], PetscInt result[])
{
  PetscInt     n, first, mine, m;
  PetscInt64  *out, *in;
  PetscMPIInt *owner;

  PetscFunctionBeginUser;
  PetscCall(PetscLayoutGetLocalSize(from, &n));
  PetscCall(PetscLayoutGetRange(from, &first, NULL));
  PetscCall(PetscLayoutGetRange(to, &mine, NULL));
  PetscCall(PetscMalloc2(2 * (size_t)n, &out, n, &owner));
  for (PetscInt i = 0; i < n; ++i) {
    PetscCall(PetscLayoutFindOwner(to, first + i, &owner[i]));
    out[2 * (size_t)i]     = first + i;
    out[2 * (size_t)i + 1] = value[i];
  }
  PetscCall(Exchange_Private(comm, 2, n, owner, out, &m, &in));
  for (PetscInt i = 0; i < m; ++i) result[in[2 * (size_t)i] - mine] = (PetscInt)in[2 * (size_t)i + 1];
  PetscCall(PetscFree(in));
  PetscCall(PetscFree2(out, owner));
  PetscFunctionReturn(0);
}

/* On any number of ranks, so that one options file does for all. */
static PetscErrorCode CheckType_Private(void)
{
  char      type[256] = "";
  PetscBool set;
  void (*create)(void) = NULL;

  PetscFunctionBeginUser;
  PetscCall(PetscOptionsGetString(NULL, NULL, "-mat_partitioning_type", type, sizeof(type), &set));
  if (!set) PetscFunctionReturn(0);
  PetscCall(MatInitializePackage());
  PetscCall(MatPartitioningRegisterAshlar());
  PetscCall(PetscFunctionListFind(MatPartitioningList, type, &create));
  PetscCheck(create, PETSC_COMM_SELF, PETSC_ERR_USER_INPUT, "mat_partitioning_type: there is no '%s' here; leave it out for the default", type);
  PetscFunctionReturn(0);
}

PetscErrorCode PartitionBodies(MPI_Comm comm, PetscInt n, const PetscInt weight[], const PetscReal box[], PetscInt rank[])
{
  PetscMPIInt size;
  PetscLayout holders, rows;
  PetscInt    N, first, nrows, nreg, npair, *w, *part;
  PetscInt64 *reg, *pair;
  Mat         graph;

  PetscFunctionBeginUser;
  PetscCallMPI(MPI_Comm_size(comm, &size));
  PetscCall(CheckType_Private());
  if (size == 1) {
    PetscCall(PetscArrayzero(rank, n));
    PetscFunctionReturn(0);
  }
  PetscCall(PetscLayoutCreateFromSizes(comm, n, PETSC_DETERMINE, 1, &holders));
  PetscCall(PetscLayoutGetSize(holders, &N));
  PetscCall(PetscLayoutGetRange(holders, &first, NULL));
  if (N <= size) { /* a body each */
    for (PetscInt i = 0; i < n; ++i) rank[i] = first + i;
    PetscCall(PetscLayoutDestroy(&holders));
    PetscFunctionReturn(0);
  }
  PetscCall(PetscLayoutCreateFromSizes(comm, PETSC_DECIDE, N, 1, &rows));
  PetscCall(PetscLayoutGetLocalSize(rows, &nrows));
  PetscCall(PetscMalloc2(nrows, &w, nrows, &part));
  PetscCall(Forward_Private(comm, holders, rows, weight, w));
  for (PetscInt i = 0; i < nrows; ++i) w[i] = PetscMax(1, w[i]);

  PetscCall(Register_Private(comm, first, n, box, &nreg, &reg));
  PetscCall(Pairs_Private(comm, rows, nreg, reg, &npair, &pair));
  PetscCall(PetscFree(reg));
  PetscCall(Graph_Private(comm, rows, npair, pair, &graph));
  PetscCall(PetscFree(pair));
  PetscCall(Apply_Private(comm, graph, nrows, w, part));
  PetscCall(MatDestroy(&graph));
  PetscCall(PetscLayoutGetRange(rows, &first, NULL));
  PetscCall(FillEmpty_Private(comm, size, first, nrows, w, part));

  PetscCall(Forward_Private(comm, rows, holders, part, rank));
  PetscCall(PetscFree2(w, part));
  PetscCall(PetscLayoutDestroy(&rows));
  PetscCall(PetscLayoutDestroy(&holders));
  PetscFunctionReturn(0);
}
