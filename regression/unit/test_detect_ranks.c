/* Contacts of bodies that are spread over ranks against those of one detector that has them all: the same to the last bit. */
#include "detect_unit.h"

static const PetscReal none[3] = {0, 0, 0};
enum { BODIES = 60, PARTS = 6 };
static Mesh    mesh[PARTS];
static Surface surface[PARTS];

static int Start(void **state)
{
  const PetscReal length[4][3] = {{1, 1, 1}, {1.3, 0.7, 0.9}, {0.6, 0.6, 1.4}, {9, 9, 0.5}};
  const PetscInt  cells[4][3] = {{1, 1, 1}, {2, 3, 1}, {3, 2, 4}, {4, 4, 1}}, around[3] = {4, 16, 1};

  if (UnitStart(state)) return 1;
  for (PetscInt p = 0; p < PARTS; p++) {
    if (p < 4 ? MeshCreateBox(length[p], cells[p], &mesh[p]) : MeshCreatePipe(0.4, 0.3, p == 4 ? 2 : 1.5, around, &mesh[p])) return 1;
    if (p == 5) { /* of two blocks */
      MeshBlock *block, *first = mesh[p]->block;

      if (PetscCalloc1(2, &block) || PetscStrallocpy("second", &block[1].name) || PetscMalloc1(8 * 24, &block[1].conn)) return 1;
      block[0]       = *first;
      block[0].nelem = first->nelem - 24;
      block[1].nelem = 24;
      block[1].nnode = 8;
      memcpy(block[1].type, first->type, sizeof(first->type));
      memcpy(block[1].conn, first->conn + 8 * block[0].nelem, 8 * 24 * sizeof(PetscInt));
      if (PetscFree(mesh[p]->block)) return 1;
      mesh[p]->block  = block;
      mesh[p]->nblock = 2;
    }
    if (SurfaceCreate(mesh[p], &surface[p])) return 1;
  }
  return 0;
}

static int End(void **state)
{
  for (PetscInt p = 0; p < PARTS; p++)
    if (SurfaceDestroy(&surface[p]) || MeshDestroy(&mesh[p])) return 1;
  return UnitEnd(state);
}

/* Parts 3, 4, 5 (floor and pipes) are those of a few bodies, so most ranks see them from others only */
static PetscInt Part(PetscInt b)
{
  return b == 7 ? 3 : (b % 20 == 11 ? 4 : (b == 30 ? 5 : b % 3));
}

static DetectKind Kind(PetscInt b)
{
  return b == 7 || b == 40 ? DETECT_OBSTACLE : (b % 4 == 1 || Part(b) > 3 ? DETECT_DEFORMABLE : DETECT_RIGID);
}

/* Two ways to spread bodies: by blocks, or dealt out */
static PetscMPIInt Owner(PetscInt b, PetscInt way, PetscMPIInt nrank)
{
  return (PetscMPIInt)(way ? (b / 2) % nrank : b * nrank / BODIES);
}

static PetscInt Id(PetscInt b)
{
  return 3 * b + b % 2; /* even and odd ones, with gaps between */
}

typedef struct {
  Detector d;
  PetscInt n, body[BODIES], way; /* own bodies, as the detector numbers them */
} Spread;

static void SpreadStart(Spread *s, MPI_Comm comm, PetscInt way)
{
  PetscMPIInt nrank, rank;

  MPI_Comm_size(comm, &nrank);
  MPI_Comm_rank(comm, &rank);
  s->n   = 0;
  s->way = way;
  Ok(DetectorCreate(comm, &s->d));
  Ok(DetectorSetPassDeep(s->d, PETSC_TRUE));
  for (PetscInt b = 0; b < BODIES; b++) {
    const PetscReal origin[3] = {0.3 * (b % 5), -0.2 * (b % 3), 0.1 * (b % 7)};
    PetscInt        body;

    if (Owner(b, way, nrank) != rank) continue;
    Ok(DetectorAddBody(s->d, Id(b), surface[Part(b)], Kind(b), origin, &body));
    Ok(DetectorSetPart(s->d, surface[Part(b)], 10 * Part(b) + 3, mesh[Part(b)]));
    assert_int_equal(body, s->n);
    s->body[s->n++] = b;
  }
}

/* Bodies tumble about, through each other and through where other ranks' bodies are; deformable ones bend */
static void SpreadPlace(Spread *s, PetscInt step)
{
  const PetscReal t = 2e-3 * step;

  for (PetscInt i = 0; i < s->n; i++) {
    const PetscInt  b = s->body[i];
    uint64_t        seed = 77 + 1000003ull * (uint64_t)b;
    const PetscReal origin[3] = {0.3 * (b % 5), -0.2 * (b % 3), 0.1 * (b % 7)};
    PetscReal       at[3], w[3], v[3], spin[3], R[9], turn[3];

    for (PetscInt k = 0; k < 5; k++) (void)Uniform(&seed);
    for (PetscInt c = 0; c < 3; c++) at[c] = (c < 2 ? 8 * Uniform(&seed) - 4 : 0.3 + 4 * Uniform(&seed)) - origin[c];
    RandomVector(&seed, 3 * Uniform(&seed), w);
    RandomVector(&seed, 3 * Uniform(&seed), v);
    RandomVector(&seed, 2 * Uniform(&seed), spin);
    if (Kind(b) == DETECT_OBSTACLE)
      for (PetscInt c = 0; c < 3; c++) v[c] = spin[c] = w[c] = 0, at[c] = (b == 7 ? 0 : at[c]) - (c == 2 && b == 7 ? origin[2] : 0);
    for (PetscInt c = 0; c < 3; c++) {
      at[c] += v[c] * t;
      turn[c] = w[c] + spin[c] * t;
    }
    RotationFromVector(turn, R);
    if (Kind(b) != DETECT_OBSTACLE || !step) Ok(DetectorSetPlacement(s->d, i, R, none, at, v, spin));
    if (Kind(b) == DETECT_DEFORMABLE && (b % 8 || step > 40)) { /* some are rigid at first */
      PetscReal *x, *u;

      Ok(DetectorGetNodes(s->d, i, &x, &u));
      for (PetscInt k = 0; k < surface[Part(b)]->nnode; k++) {
        const PetscReal y = x[3 * k + 1] - at[1];

        x[3 * k] += 0.03 * PetscSinReal(10 * t) * y * y;
        u[3 * k] += 0.3 * PetscCosReal(10 * t) * y * y;
      }
    }
  }
}

static int Compare(const void *a, const void *b)
{
  return ContactKeyCompare(&((const Contact *)a)->key, &((const Contact *)b)->key);
}

/* Contacts of all ranks by key, without what depends on ranks; free() them */
static PetscInt Gather(const Spread *s, MPI_Comm comm, PetscInt n, const Contact c[], Contact **all)
{
  PetscMPIInt nrank, rank, mine, count[64], at[65];
  Contact    *own = malloc(((size_t)n + 1) * sizeof(Contact));

  MPI_Comm_size(comm, &nrank);
  MPI_Comm_rank(comm, &rank);
  assert_true(nrank <= 64);
  for (PetscInt i = 0; i < n; i++) {
    for (PetscInt h = 0; h < 2; h++) {
      const PetscInt b = (h ? c[i].key.b : c[i].key.a) / 3;

      assert_int_equal(Id(b), h ? c[i].key.b : c[i].key.a);
      assert_int_equal(c[i].rank[h], Owner(b, s->way, nrank));
      if (c[i].rank[h] == rank) assert_true(c[i].body[h] < s->n && s->body[c[i].body[h]] == b);
      else assert_true(c[i].body[h] >= s->n);
    }
    assert_int_equal(c[i].rank[(c[i].key.a + c[i].key.b) % 2], rank);
    own[i] = c[i];
    memset(own[i].body, 0, sizeof(own[i].body));
    memset(own[i].rank, 0, sizeof(own[i].rank));
  }
  mine = (PetscMPIInt)((size_t)n * sizeof(Contact));
  MPI_Allgather(&mine, 1, MPI_INT, count, 1, MPI_INT, comm);
  at[0] = 0;
  for (PetscMPIInt r = 0; r < nrank; r++) at[r + 1] = at[r] + count[r];
  *all = malloc((size_t)at[nrank] + 1);
  MPI_Allgatherv(own, mine, MPI_BYTE, *all, count, at, MPI_BYTE, comm);
  free(own);
  n = (PetscInt)((size_t)at[nrank] / sizeof(Contact));
  qsort(*all, (size_t)n, sizeof(Contact), Compare);
  return n;
}

/* One update of both; the same contacts and the same report */
static PetscInt Same(Spread *s, Spread *one, PetscInt step, PetscInt *remote)
{
  const Contact *c;
  Contact       *all, *ref;
  PetscInt       n, m;
  DetectReport   r[2];

  SpreadPlace(s, step);
  SpreadPlace(one, step);
  Ok(DetectorUpdate(s->d, 2e-3, &n, &c));
  for (PetscInt i = 0; i < n && remote; i++) *remote += c[i].rank[0] != c[i].rank[1];
  n = Gather(s, PETSC_COMM_WORLD, n, c, &all);
  Ok(DetectorUpdate(one->d, 2e-3, &m, &c));
  m = Gather(one, PETSC_COMM_SELF, m, c, &ref);
  if (n != m) fail_msg("step %d: %d contacts on all ranks, %d on one", (int)step, (int)n, (int)m);
  assert_memory_equal(all, ref, (size_t)n * sizeof(Contact));
  free(all);
  free(ref);
  Ok(DetectorGetReport(s->d, &r[0]));
  Ok(DetectorGetReport(one->d, &r[1]));
  assert_true(r[0].nbody == BODIES && r[1].nbody == BODIES && r[0].ncontact == n && r[1].ncontact == n && r[0].noverlap == r[1].noverlap);
  assert_true(r[0].deepest == r[1].deepest && r[0].tunnel == r[1].tunnel && r[0].noverlap > 0 && r[0].deepest < 0 && r[0].tunnel > 0);
  assert_memory_equal(r[0].deepest_body, r[1].deepest_body, sizeof(r[0].deepest_body));
  assert_memory_equal(r[0].deepest_at, r[1].deepest_at, sizeof(r[0].deepest_at));
  assert_memory_equal(r[0].tunnel_body, r[1].tunnel_body, sizeof(r[0].tunnel_body));
  assert_true(r[0].deepest_body[0] < r[0].deepest_body[1] && Id(r[0].deepest_body[1] / 3) == r[0].deepest_body[1]);
  return n;
}

static void test_ranks(void **state)
{
  (void)state;
  for (PetscInt way = 0; way < 2; way++) {
    Spread       s, one;
    PetscInt     contacts = 0, remote = 0, steps = 120;
    DetectReport r[2];

    SpreadStart(&s, PETSC_COMM_WORLD, way);
    SpreadStart(&one, PETSC_COMM_SELF, 0);
    for (PetscInt t = 0; t < steps; t++) {
      contacts += Same(&s, &one, t, &remote);
      if (t % 17 == 5 && me == size - 1) Ok(DetectorRebuild(s.d)); /* on one rank, so on all */
    }
    MPI_Allreduce(MPI_IN_PLACE, &remote, 1, MPIU_INT, MPI_SUM, PETSC_COMM_WORLD);
    Ok(DetectorGetReport(s.d, &r[0]));
    Ok(DetectorGetReport(one.d, &r[1]));
    if (!me)
      print_message("  %d ranks: %.1f contacts in the mean, %.1f of them across ranks, lists made %d times (on one rank %d), deepest %g\n", (int)size, (double)contacts / steps, (double)remote / steps, (int)r[0].nrebuild, (int)r[1].nrebuild, (double)r[0].deepest);
    assert_true(contacts > 20 * steps && (size == 1 ? !remote : remote > 5 * steps) && r[0].nrebuild < steps);
    Ok(DetectorDestroy(&s.d));
    Ok(DetectorDestroy(&one.d));
  }
}

/* All depths, on every rank */
static PetscInt Depths(Detector d, PetscInt **a, PetscInt **b, PetscReal **depth)
{
  PetscInt   *p, *q, n, total;
  PetscReal  *r;
  PetscMPIInt mine, count[64], at[64];

  Ok(DetectorGetDepths(d, &n, &p, &q, &r));
  mine = (PetscMPIInt)n;
  MPI_Allgather(&mine, 1, MPI_INT, count, 1, MPI_INT, PETSC_COMM_WORLD);
  for (PetscMPIInt i = 0; i < size; i++) at[i] = i ? at[i - 1] + count[i - 1] : 0;
  total  = at[size - 1] + count[size - 1];
  *a     = malloc(((size_t)total + 1) * sizeof(PetscInt));
  *b     = malloc(((size_t)total + 1) * sizeof(PetscInt));
  *depth = malloc(((size_t)total + 1) * sizeof(PetscReal));
  MPI_Allgatherv(p, mine, MPIU_INT, *a, count, at, MPIU_INT, PETSC_COMM_WORLD);
  MPI_Allgatherv(q, mine, MPIU_INT, *b, count, at, MPIU_INT, PETSC_COMM_WORLD);
  MPI_Allgatherv(r, mine, MPIU_REAL, *depth, count, at, MPIU_REAL, PETSC_COMM_WORLD);
  Ok(PetscFree(p));
  Ok(PetscFree(q));
  Ok(PetscFree(r));
  return total;
}

/* A run that forgets, or another one that starts, with the depths of the last update goes on as if nothing had happened */
static void test_restart(void **state)
{
  (void)state;
  for (PetscInt other = 0; other < 2; other++) {
    Spread     s, one, forgetful, *next = &s, second;
    PetscInt   n, *a, *b, differ = 0;
    PetscReal *depth;

    SpreadStart(&s, PETSC_COMM_WORLD, 0);
    SpreadStart(&one, PETSC_COMM_SELF, 0);
    SpreadStart(&forgetful, PETSC_COMM_SELF, 0);
    Ok(DetectorGetDepths(s.d, &n, &a, &b, &depth));
    assert_int_equal(n, -1); /* like a first update */
    Ok(DetectorSetDepths(s.d, n, a, b, depth));
    Ok(PetscFree(a));
    Ok(PetscFree(b));
    Ok(PetscFree(depth));
    for (PetscInt t = 0; t < 50; t++) Same(&s, &one, t, NULL);
    n = Depths(s.d, &a, &b, &depth);
    assert_true(n > 5);
    if (other) { /* bodies elsewhere */
      SpreadStart(&second, PETSC_COMM_WORLD, 1);
      SpreadPlace(&second, 0); /* obstacles stay there */
      next = &second;
    }
    Ok(DetectorForget(next->d));
    Ok(DetectorSetDepths(next->d, n, a, b, depth));
    for (PetscInt t = 50; t < 60; t++) {
      const Contact *c;
      PetscInt       m, k = Same(next, &one, t, NULL);

      Ok(DetectorForget(forgetful.d));
      if (t == 50) SpreadPlace(&forgetful, 0);
      SpreadPlace(&forgetful, t);
      Ok(DetectorUpdate(forgetful.d, 2e-3, &m, &c));
      differ += m != k;
    }
    assert_true(differ > 0); /* depths matter */
    if (other) Ok(DetectorDestroy(&second.d));
    Ok(DetectorDestroy(&s.d));
    Ok(DetectorDestroy(&one.d));
    Ok(DetectorDestroy(&forgetful.d));
    free(a), free(b), free(depth);
  }
}

static PetscBool Third(void *ctx, PetscInt a, PetscInt b)
{
  assert_true(a < b);
  ++*(PetscInt *)ctx;
  return (PetscBool)((a + b) % 3 != 0);
}

/* Without the contacts of pairs that are filtered, and no others */
static void test_filter(void **state)
{
  Spread         s, one;
  const Contact *c;
  Contact       *all, *ref;
  PetscInt       n, m, k = 0, calls = 0;

  (void)state;
  SpreadStart(&s, PETSC_COMM_WORLD, 1);
  SpreadStart(&one, PETSC_COMM_SELF, 0);
  SpreadPlace(&s, 0);
  SpreadPlace(&one, 0);
  Ok(DetectorSetFilter(s.d, Third, &calls));
  Ok(DetectorUpdate(s.d, 2e-3, &n, &c));
  n = Gather(&s, PETSC_COMM_WORLD, n, c, &all);
  Ok(DetectorUpdate(one.d, 2e-3, &m, &c));
  m = Gather(&one, PETSC_COMM_SELF, m, c, &ref);
  for (PetscInt i = 0; i < m; i++) {
    assert_false(Kind(ref[i].key.a / 3) == DETECT_OBSTACLE && Kind(ref[i].key.b / 3) == DETECT_OBSTACLE);
    if ((ref[i].key.a + ref[i].key.b) % 3) ref[k++] = ref[i];
  }
  assert_true(k < m && k > 10 && k == n && calls > 0);
  assert_memory_equal(all, ref, (size_t)n * sizeof(Contact));
  free(all);
  free(ref);
  Ok(DetectorDestroy(&s.d));
  Ok(DetectorDestroy(&one.d));
}

/* Two cubes on the first and the last rank: errors are those of all ranks, and so is the number of overlaps */
static void test_errors(void **state)
{
  const PetscReal R[9] = {1, 0, 0, 0, 1, 0, 0, 0, 1};

  (void)state;
  for (PetscInt t = 0; t < 4; t++) {
    const PetscReal up[3] = {0.1, 0.2, t == 0 ? 0.48 : (t == 1 ? 0.75 - 1e-3 : 0.75)};
    Detector        d;
    DetectReport    r;
    PetscInt        body, n, own = 0, code;
    const Contact  *c;

    Ok(DetectorCreate(PETSC_COMM_WORLD, &d));
    for (PetscInt b = 0; b < 2; b++) {
      if (me != (b ? size - 1 : 0)) continue;
      Ok(DetectorAddBody(d, b ? 42 : 17, surface[b ? 0 : 3], DETECT_RIGID, none, &body));
      Ok(DetectorSetPart(d, surface[b ? 0 : 3], b, mesh[b ? 0 : 3]));
      Ok(DetectorSetPlacement(d, body, R, none, b ? up : none, none, none));
      own++;
    }
    if (t == 3 && me == size - 1) {
      PetscReal *x;

      Ok(DetectorGetNodes(d, own - 1, &x, NULL));
      x[4] = NAN;
    }
    message[0] = 0;
    code       = DetectorUpdate(d, 1e-3, &n, &c);
    if (t == 0) { /* 0.27 deep in a plate of 0.5 */
      assert_int_equal(code, PETSC_ERR_USER_INPUT);
      if (!strstr(message, "bodies '17' and '42' overlap at (")) fail_msg("'%s'", message);
      Ok(DetectorSetPassDeep(d, PETSC_TRUE));
      Ok(DetectorUpdate(d, 1e-3, &n, &c));
    } else if (t == 3) {
      assert_int_equal(code, PETSC_ERR_FP);
      if (!strstr(message, "body 42: a position")) fail_msg("'%s'", message);
    } else {
      assert_int_equal(code, 0);
      Ok(DetectorGetReport(d, &r));
      assert_int_equal(r.noverlap, t == 1); /* those that just touch do not overlap */
      assert_int_equal(r.ncontact, 4);
      if (t == 1) {
        assert_true(PetscAbsReal(r.deepest + 1e-3) < 1e-12 && r.deepest_body[0] == 17 && r.deepest_body[1] == 42);
        assert_true(PetscAbsReal(r.deepest_at[2] - 0.25) < 1e-2);
      }
    }
    Ok(DetectorDestroy(&d));
  }
}

int main(void)
{
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_ranks), cmocka_unit_test(test_restart), cmocka_unit_test(test_filter), cmocka_unit_test(test_errors)};

  return UNIT_MAIN_WITH("detect_ranks", tests, Start, End);
}
