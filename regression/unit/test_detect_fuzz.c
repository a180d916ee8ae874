/* Random boxes against separating axes, faces against exact overlaps, exchange of bodies, and lists along a motion. */
#include "detect_unit.h"
#include <petsctime.h>

static const PetscReal none[3] = {0, 0, 0};

typedef struct {
  PetscReal half[3], R[9], at[3];
} Box;

/* Overlap along the axis with the least one: depth of penetration (below zero: apart) */
static PetscReal Depth(const Box *a, const Box *b)
{
  PetscReal least = PETSC_INFINITY;

  for (PetscInt i = 0; i < 15; i++) {
    PetscReal n[3], u[3], v[3], d = 0, l;

    for (PetscInt c = 0; c < 3; c++) {
      u[c] = a->R[3 * c + (i < 3 ? i : (i < 6 ? 0 : (i - 6) / 3))];
      v[c] = b->R[3 * c + (i < 3 ? 0 : (i < 6 ? i - 3 : (i - 6) % 3))];
    }
    if (i < 3) memcpy(n, u, sizeof(n));
    else if (i < 6) memcpy(n, v, sizeof(n));
    else Vec3Cross(u, v, n);
    l = Vec3Norm(n);
    if (l < 1e-7) continue;
    for (PetscInt c = 0; c < 3; c++) {
      n[c] /= l;
      d -= n[c] * (b->at[c] - a->at[c]);
    }
    d = -PetscAbsReal(d);
    for (PetscInt k = 0; k < 3; k++) {
      PetscReal p = 0, q = 0;

      for (PetscInt c = 0; c < 3; c++) p += n[c] * a->R[3 * c + k], q += n[c] * b->R[3 * c + k];
      d += a->half[k] * PetscAbsReal(p) + b->half[k] * PetscAbsReal(q);
    }
    least = PetscMin(least, d);
  }
  return least;
}

enum { POOL = 24 };
static Mesh      pool_mesh[POOL];
static Surface   pool[POOL];
static PetscReal pool_half[POOL][3];

static void MakePool(uint64_t *seed)
{
  for (PetscInt i = 0; i < POOL; i++) {
    PetscReal length[3];
    PetscInt  cells[3];

    for (PetscInt c = 0; c < 3; c++) {
      length[c]       = i < 3 ? 1 : 0.5 + 1.5 * Uniform(seed);
      pool_half[i][c] = length[c] / 2;
      cells[c]        = 1 + i % 3;
    }
    Ok(MeshCreateBox(length, cells, &pool_mesh[i]));
    Ok(SurfaceCreate(pool_mesh[i], &pool[i]));
  }
}

static void FreePool(void)
{
  for (PetscInt i = 0; i < POOL; i++) {
    Ok(SurfaceDestroy(&pool[i]));
    Ok(MeshDestroy(&pool_mesh[i]));
  }
}

/* Contacts of two boxes, detectors kept while the boxes stay the same */
typedef struct {
  PetscInt i, j;
  Detector d;
} Pair;

static PetscInt Contacts(Pair *p, PetscInt i, const Box *a, PetscInt j, const Box *b, const Contact **c)
{
  PetscInt body, n;

  if (p->d && p->i == i && p->j == j) Ok(DetectorForget(p->d));
  else {
    Ok(DetectorDestroy(&p->d));
    Ok(DetectorCreate(PETSC_COMM_SELF, &p->d));
    Ok(DetectorAddBody(p->d, 1, pool[i], DETECT_RIGID, none, &body));
    Ok(DetectorAddBody(p->d, 2, pool[j], DETECT_RIGID, none, &body));
    p->i = i, p->j = j;
  }
  Ok(DetectorSetPlacement(p->d, 0, a->R, none, a->at, none, none));
  Ok(DetectorSetPlacement(p->d, 1, b->R, none, b->at, none, none));
  Ok(DetectorUpdate(p->d, 0, &n, c));
  return n;
}

/* valgrind is slow: less of it */
static PetscInt Some(PetscInt n)
{
  return getenv("LD_PRELOAD") && strstr(getenv("LD_PRELOAD"), "vgpreload") ? n / 50 : n;
}

static PetscReal Deepest(PetscInt n, const Contact c[])
{
  PetscReal g = PETSC_INFINITY;

  for (PetscInt k = 0; k < n; k++) g = PetscMin(g, c[k].gap);
  return g;
}

static void test_boxes(void **state)
{
  const PetscInt  total = Some(20000);
  const PetscReal angle[3] = {3, 1e-2, 1e-4};
  PetscInt        missed = 0, wrong[3] = {0, 0, 0}, swapped = 0, contacts = 0;
  uint64_t        seed = 88172645463325252ull;
  Pair            pair[2] = {{0, 0, NULL}, {0, 0, NULL}};

  (void)state;
  MakePool(&seed);
  for (PetscInt t = 0; t < total; t++) {
    const PetscInt  i = t / 36 % POOL, j = (t / 36 / POOL + i) % POOL;
    const PetscReal target = PetscPowReal(10., -6 + 4.5 * Uniform(&seed));
    Box             a, b;
    PetscReal       w[3], T[9], dir[3], low = 0, high = 10, deepest;
    const Contact  *c, *f;
    PetscInt        n, m;

    memcpy(a.half, pool_half[i], sizeof(a.half));
    memcpy(b.half, pool_half[j], sizeof(b.half));
    RandomVector(&seed, 3 * Uniform(&seed), w);
    RotationFromVector(w, a.R);
    RandomVector(&seed, angle[t % 3] * Uniform(&seed), w);
    RotationFromVector(w, T);
    Mat3Mult(T, a.R, b.R);
    RandomVector(&seed, 1, dir);
    for (PetscInt k = 0; k < 3; k++) a.at[k] = 2 * Uniform(&seed) - 1;
    for (PetscInt it = 0; it < 55; it++) { /* depth falls with the distance once centres are apart enough */
      const PetscReal mid = 0.5 * (low + high);

      for (PetscInt k = 0; k < 3; k++) b.at[k] = a.at[k] + mid * dir[k];
      if (Depth(&a, &b) > target) low = mid;
      else high = mid;
    }
    n        = Contacts(&pair[0], i, &a, j, &b, &c);
    deepest  = Deepest(n, c);
    contacts += n;
    if (!(deepest < 0)) {
      missed++;
      print_message("  missed: %d, angle %g, depth %g, %d contacts\n", (int)t, (double)angle[t % 3], (double)target, (int)n);
    } else if (PetscAbsReal(deepest + target) > 0.01 * target + 1e-12) wrong[t % 3]++;
    m = Contacts(&pair[1], j, &b, i, &a, &f);
    if (m != n) swapped++; /* which nodes are taken first depends on the order */
    else assert_true(PetscAbsReal(Deepest(m, f) - deepest) < 1e-9);
  }
  for (PetscInt k = 0; k < 2; k++) Ok(DetectorDestroy(&pair[k].d));
  print_message("  %d pairs: %d missed, deepest gap wrong in %d + %d + %d, number changed by exchange in %d, %.2f contacts in the mean\n", (int)total, (int)missed, (int)wrong[0], (int)wrong[1], (int)wrong[2], (int)swapped, (double)contacts / total);
  assert_int_equal(missed, 0);
  /* edges that are almost parallel alone: their normal is that of the faces, not their product, which is the separating axis */
  assert_true(wrong[0] + wrong[1] + wrong[2] <= 1 + total / 1000);
  assert_true(swapped <= 1 + total / 10000);
  FreePool();
}

/* Area of the overlap of two rectangles (Sutherland and Hodgman) */
static PetscReal Overlap(const PetscReal half[2], const PetscReal half2[2], PetscReal x, PetscReal y, PetscReal yaw)
{
  PetscReal p[16][2], q[16][2], area = 0;
  PetscInt  n = 4, m;

  for (PetscInt k = 0; k < 4; k++) {
    const PetscReal u = (k == 0 || k == 3 ? -1 : 1) * half2[0], v = (k < 2 ? -1 : 1) * half2[1];

    p[k][0] = x + u * PetscCosReal(yaw) - v * PetscSinReal(yaw);
    p[k][1] = y + u * PetscSinReal(yaw) + v * PetscCosReal(yaw);
  }
  for (PetscInt side = 0; side < 4; side++) {
    const PetscInt  c = side / 2;
    const PetscReal sign = side % 2 ? -1 : 1;

    m = 0;
    for (PetscInt k = 0; k < n; k++) {
      const PetscReal *a = p[k], *b = p[(k + 1) % n], da = half[c] - sign * a[c], db = half[c] - sign * b[c];

      if (da >= 0) q[m][0] = a[0], q[m++][1] = a[1];
      if ((da >= 0) != (db >= 0)) {
        for (PetscInt l = 0; l < 2; l++) q[m][l] = a[l] + (b[l] - a[l]) * (da / (da - db));
        m++;
      }
    }
    n = m;
    memcpy(p, q, sizeof(p));
  }
  for (PetscInt k = 0; k < n; k++) area += 0.5 * (p[k][0] * p[(k + 1) % n][1] - p[k][1] * p[(k + 1) % n][0]);
  return area;
}

static void test_overlaps(void **state)
{
  PetscReal worst = 1, sum = 0, most = 1;
  PetscInt  cases = 0, contacts = 0;
  uint64_t  seed = 12345;
  Pair      pair = {0, 0, NULL};

  (void)state;
  MakePool(&seed);
  for (PetscInt t = 0; t < Some(6912); t++) {
    const PetscInt i = t / 12 % POOL, j = (t / 12 / POOL + i) % POOL;
    PetscReal      x = 0, y = 0, yaw = 0, exact, area = 0;
    Box            a, b;
    const Contact *c;
    PetscInt       n;

    switch (t % 4) {
    case 0: /* aligned or flush */
      x = (t / 4 % 3 - 1) * (pool_half[i][0] - pool_half[j][0]);
      y = (t / 12 % 3 - 1) * (pool_half[i][1] - pool_half[j][1]);
      break;
    case 1: x = Uniform(&seed) - 0.5, y = Uniform(&seed) - 0.5; break;
    case 2: x = Uniform(&seed) - 0.5, y = Uniform(&seed) - 0.5, yaw = PetscPowReal(10., -5 + 5.5 * Uniform(&seed)); break;
    default: yaw = PetscPowReal(10., -5 + 5.5 * Uniform(&seed));
    }
    exact = Overlap(pool_half[i], pool_half[j], x, y, yaw);
    if (exact < 0.05) continue;
    Mat3Identity(a.R);
    RotationFromVector((const PetscReal[3]){0, 0, yaw}, b.R);
    a.at[0] = a.at[1] = a.at[2] = 0;
    b.at[0] = x, b.at[1] = y, b.at[2] = pool_half[i][2] + pool_half[j][2] - 1e-6;
    n = Contacts(&pair, i, &a, j, &b, &c);
    for (PetscInt k = 0; k < n; k++) {
      area += c[k].area;
      assert_true(c[k].normal[2] > 1 - 1e-12 && c[k].area > 0);
    }
    if (area < 0.999 * exact) print_message("  case %d: (%g, %g) yaw %g: area %g of %g from %d contacts\n", (int)t, (double)x, (double)y, (double)yaw, (double)area, (double)exact, (int)n);
    worst = PetscMin(worst, area / exact);
    most  = PetscMax(most, area / exact);
    sum += area / exact;
    cases++;
    contacts += n;
  }
  Ok(DetectorDestroy(&pair.d));
  print_message("  %d faces on faces: area of exact overlap %.5f to %.5f, mean %.6f, %.2f contacts\n", (int)cases, (double)worst, (double)most, (double)(sum / cases), (double)contacts / cases);
  assert_true(worst > 0.999 && most < 1.001);
  FreePool();
}

/* 50 bodies tumble about and through each other: lists made when they are stale, or for every update, give the same contacts */
static void test_lists(void **state)
{
  enum { BODIES = 50 };
  const PetscInt  steps = PetscMax(Some(400), 20);
  const PetscReal h = 1e-3;
  Detector        d[2];
  PetscReal       at[BODIES][3], w[BODIES][3], v[BODIES][3], spin[BODIES][3];
  uint64_t        seed = 999;
  PetscInt        contacts = 0, body;
  DetectReport    report;

  (void)state;
  MakePool(&seed);
  for (PetscInt k = 0; k < 2; k++) {
    Ok(DetectorCreate(PETSC_COMM_SELF, &d[k]));
    Ok(DetectorSetPassDeep(d[k], PETSC_TRUE));
  }
  for (PetscInt b = 0; b < BODIES; b++) {
    for (PetscInt c = 0; c < 3; c++) at[b][c] = 6 * Uniform(&seed) - 3;
    RandomVector(&seed, 3, w[b]);
    RandomVector(&seed, b % 7 ? 3 * Uniform(&seed) : 0, v[b]);
    RandomVector(&seed, b % 7 ? 3 * Uniform(&seed) : 0, spin[b]);
    for (PetscInt k = 0; k < 2; k++) Ok(DetectorAddBody(d[k], b, pool[b % POOL], b % 7 ? (b % 5 ? DETECT_RIGID : DETECT_DEFORMABLE) : DETECT_OBSTACLE, at[b], &body));
  }
  for (PetscInt t = 0; t < steps; t++) {
    const Contact *c[2];
    PetscInt       n[2];

    for (PetscInt k = 0; k < 2; k++) {
      for (PetscInt b = 0; b < BODIES; b++) {
        PetscReal R[9], x[3], r[3];

        for (PetscInt l = 0; l < 3; l++) {
          x[l] = v[b][l] * h * t + 0.05 * PetscSinReal(3 * b + l + 7 * h * t);
          r[l] = w[b][l] + spin[b][l] * h * t;
        }
        RotationFromVector(r, R);
        Ok(DetectorSetPlacement(d[k], b, R, none, x, v[b], spin[b]));
        if (b % 5 == 0) { /* some bend, too */
          PetscReal *y, *u;

          Ok(DetectorGetNodes(d[k], b, &y, &u));
          for (PetscInt i = 0; i < pool[b % POOL]->nnode; i++) y[3 * i] += 0.02 * PetscSinReal(20 * h * t) * PetscSqr(y[3 * i + 1]);
        }
      }
      if (k) Ok(DetectorRebuild(d[k]));
      Ok(DetectorUpdate(d[k], h, &n[k], &c[k]));
    }
    assert_int_equal(n[0], n[1]);
    if (n[0]) assert_memory_equal(c[0], c[1], (size_t)n[0] * sizeof(Contact));
    contacts += n[0];
  }
  Ok(DetectorGetReport(d[0], &report));
  print_message("  %d steps, %.1f contacts in the mean, lists made %d times, of %d bodies in all\n", (int)steps, (double)contacts / steps, (int)report.nrebuild, (int)report.nrefresh);
  assert_true(report.nrefresh < steps * BODIES / 8 + BODIES); /* most keep theirs in most updates */
  for (PetscInt k = 0; k < 2; k++) Ok(DetectorDestroy(&d[k]));
  FreePool();
}

/* A lattice of touching cubes: cost of a body, stated; no allocation once sizes are reached */
static void test_cost(void **state)
{
  (void)state;
  for (PetscInt n = 10; n <= Some(20); n += 10) {
    const PetscReal one[3] = {1, 1, 1}, R[9] = {1, 0, 0, 0, 1, 0, 0, 0, 1};
    const PetscInt  cells[3] = {1, 1, 1}, bodies = n * n * n;
    Detector        d;
    Mesh            mesh;
    Surface         s;
    PetscInt        b, m;
    const Contact  *c;
    PetscLogDouble  t0, t1, t2, t3, memory = 0;
    DetectReport    report;

    Ok(MeshCreateBox(one, cells, &mesh));
    Ok(SurfaceCreate(mesh, &s));
    Ok(DetectorCreate(PETSC_COMM_SELF, &d));
    for (PetscInt i = 0; i < bodies; i++) {
      const PetscInt  z = i / (n * n), y = i / n % n, x = i % n;
      const PetscReal at[3] = {x + 0.5 * (z % 2), y + 0.25 * (z % 2), z * (1 - 1e-5)};

      Ok(DetectorAddBody(d, i, s, DETECT_RIGID, at, &b));
    }
    for (PetscInt k = 0; k < 3; k++) {
      if (k == 2) memory = UnitMemory();
      if (k == 2) Ok(DetectorRebuild(d));
      Ok(PetscTime(&t0));
      for (PetscInt i = 0; i < bodies; i++) Ok(DetectorSetPlacement(d, i, R, none, none, none, none));
      Ok(PetscTime(&t1));
      Ok(DetectorUpdate(d, 1e-3, &m, &c));
      Ok(PetscTime(&t2));
    }
    Ok(DetectorUpdate(d, 1e-3, &m, &c));
    Ok(PetscTime(&t3));
    assert_true(UnitMemory() == memory);
    Ok(DetectorGetReport(d, &report));
    print_message("  %d cubes: %.1f contacts, %.1f candidates per body; per body %.2f us a step, %.2f us with all lists made anew, placement %.2f us\n", (int)bodies, (double)m / bodies, (double)report.ncandidate / bodies,
                  1e6 * (t3 - t2) / bodies, 1e6 * (t2 - t1) / bodies, 1e6 * (t1 - t0) / bodies);
    Ok(DetectorDestroy(&d));
    Ok(SurfaceDestroy(&s));
    Ok(MeshDestroy(&mesh));
  }
}

/* Fast cubes a little apart: none of their features is deep in the other, whatever slack motion gives the tests */
static void test_apart(void **state)
{
  const PetscInt  total = Some(20000), cells[3] = {1, 1, 1};
  const PetscReal one[3] = {1, 1, 1};
  PetscReal       worst = 0;
  PetscInt        rows = 0, body;
  uint64_t        seed = 2463534242ull;
  Mesh            mesh;
  Surface         surface;
  Detector        d;

  (void)state;
  Ok(MeshCreateBox(one, cells, &mesh));
  Ok(SurfaceCreate(mesh, &surface));
  Ok(DetectorCreate(PETSC_COMM_SELF, &d));
  for (PetscInt k = 0; k < 2; k++) Ok(DetectorAddBody(d, 1 + k, surface, DETECT_RIGID, none, &body));
  for (PetscInt t = 0; t < total; t++) {
    Box            a = {{0.5, 0.5, 0.5}, {0}, {0}}, b = a;
    PetscReal      w[3], T[9], dir[3], v[3], low = 0, high = 10;
    const Contact *c;
    PetscInt       n;

    RandomVector(&seed, 3 * Uniform(&seed), w);
    RotationFromVector(w, a.R);
    RandomVector(&seed, (t % 2 ? 0.15 : 3) * Uniform(&seed), w);
    RotationFromVector(w, T);
    Mat3Mult(T, a.R, b.R);
    RandomVector(&seed, 1, dir);
    for (PetscInt it = 0; it < 55; it++) {
      const PetscReal mid = 0.5 * (low + high);

      for (PetscInt k = 0; k < 3; k++) b.at[k] = a.at[k] + mid * dir[k];
      if (Depth(&a, &b) > 0) low = mid;
      else high = mid;
    }
    for (PetscInt k = 0; k < 3; k++) b.at[k] += 1e-5 * dir[k];
    if (Depth(&a, &b) > 0) continue;
    RandomVector(&seed, 40 * Uniform(&seed), v);
    Ok(DetectorForget(d));
    for (PetscInt update = 0; update < 2; update++) { /* the first one is about initial overlaps */
      Ok(DetectorSetPlacement(d, 0, a.R, none, a.at, none, none));
      Ok(DetectorSetPlacement(d, 1, b.R, none, b.at, v, none));
      Ok(DetectorUpdate(d, 1e-3, &n, &c));
    }
    rows += n;
    worst = PetscMin(worst, Deepest(n, c));
  }
  print_message("  %d contacts of cubes that are apart, deepest %g\n", (int)rows, (double)worst);
  assert_true(rows > total / 2);
  assert_true(worst >= -1.01e-3);
  Ok(DetectorDestroy(&d));
  Ok(SurfaceDestroy(&surface));
  Ok(MeshDestroy(&mesh));
}

/* Cubes in each other that go on with their twists: the gap that is found a step later is g + h U_N + bend, and what that misses is of third order. Turned at random,
   and with faces and edges that are almost parallel: the normal is that of the edges then, too. */
static void test_bend(void **state)
{
  const PetscInt  total = Some(4000), cells[3] = {1, 1, 1};
  const PetscReal one[3] = {1, 1, 1}, step[2][2] = {{2e-3, 1e-3}, {2e-4, 1e-4}};
  PetscReal       missed[2][2] = {{0, 0}, {0, 0}}, bent[2] = {0, 0};
  PetscInt        count[2] = {0, 0}, body;
  uint64_t        seed = 2463534242ull;
  Mesh            mesh;
  Surface         surface;
  Detector        d;

  (void)state;
  Ok(MeshCreateBox(one, cells, &mesh));
  Ok(SurfaceCreate(mesh, &surface));
  Ok(DetectorCreate(PETSC_COMM_SELF, &d));
  for (PetscInt k = 0; k < 2; k++) Ok(DetectorAddBody(d, 1 + k, surface, DETECT_RIGID, none, &body));
  for (PetscInt t = 0; t < 2 * total; t++) {
    const PetscInt flat = t % 2;
    Box            box[2] = {{{0.5, 0.5, 0.5}, {0}, {0, 0, 0}}, {{0.5, 0.5, 0.5}, {0}, {0, 0, 0}}};
    PetscReal      w[3], v[2][3], spin[2][3], dir[3], low = 0, high = 10;

    for (PetscInt b = 0; b < 2; b++) {
      PetscReal T[9];

      RandomVector(&seed, (flat && b ? 0.1 : 3) * Uniform(&seed), w);
      RotationFromVector(w, T);
      if (flat && b) Mat3Mult(T, box[0].R, box[1].R);
      else
        for (PetscInt k = 0; k < 9; k++) box[b].R[k] = T[k];
      RandomVector(&seed, Uniform(&seed), v[b]);
      RandomVector(&seed, 3 * Uniform(&seed), spin[b]);
    }
    RandomVector(&seed, 1, dir);
    for (PetscInt it = 0; it < 55; it++) {
      const PetscReal mid = 0.5 * (low + high);

      for (PetscInt k = 0; k < 3; k++) box[1].at[k] = mid * dir[k];
      if (Depth(&box[0], &box[1]) > 1e-6) low = mid;
      else high = mid;
    }
    for (PetscInt e = 0; e < 2; e++) {
      const PetscReal h = step[flat][e];
      Contact         old = {.key = {-1, 0, 0, 0, 0}};
      PetscReal       predicted = 0;

      Ok(DetectorForget(d));
      for (PetscInt update = 0; update < 2; update++) {
        const Contact *c;
        PetscInt       n;

        for (PetscInt b = 0; b < 2; b++) {
          PetscReal T[9], R[9], at[3];

          for (PetscInt k = 0; k < 3; k++) {
            w[k]  = update * h * spin[b][k];
            at[k] = box[b].at[k] + update * h * v[b][k];
          }
          RotationFromVector(w, T);
          Mat3Mult(T, box[b].R, R);
          Ok(DetectorSetPlacement(d, b, R, none, at, v[b], spin[b]));
        }
        Ok(DetectorUpdate(d, h, &n, &c));
        if (!update) {
          PetscReal U[2][3];

          if (!n || c[0].bend == 0 || (flat && c[0].key.kind != CONTACT_EDGE_EDGE)) break;
          old = c[0];
          for (PetscInt b = 0; b < 2; b++) {
            PetscReal r[3];

            for (PetscInt k = 0; k < 3; k++) r[k] = old.x[b][k] - box[b].at[k];
            Vec3Cross(spin[b], r, U[b]);
            for (PetscInt k = 0; k < 3; k++) U[b][k] += v[b][k];
          }
          predicted = old.gap + h * (Vec3Dot(old.normal, U[1]) - Vec3Dot(old.normal, U[0]));
        } else
          for (PetscInt i = 0; i < n; i++) {
            if (ContactKeyCompare(&old.key, &c[i].key)) continue;
            missed[flat][e] += PetscAbsReal(c[i].gap - predicted - old.bend);
            if (!e) bent[flat] += PetscAbsReal(c[i].gap - predicted);
            if (!e) count[flat]++;
          }
      }
    }
  }
  for (PetscInt flat = 0; flat < 2; flat++) {
    print_message("  %d contacts%s bend by %.3g in the mean, known to %.3g, in half a step to %.3g\n", (int)count[flat], flat ? " of edges almost parallel" : "", (double)(bent[flat] / count[flat]), (double)(missed[flat][0] / count[flat]), (double)(missed[flat][1] / count[flat]));
    assert_true(count[flat] > total / (flat ? 10 : 2));
    assert_true(missed[flat][0] < 0.02 * bent[flat] && missed[flat][1] < 0.15 * missed[flat][0]);
  }
  Ok(DetectorDestroy(&d));
  Ok(SurfaceDestroy(&surface));
  Ok(MeshDestroy(&mesh));
}

int main(void)
{
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_boxes), cmocka_unit_test(test_overlaps), cmocka_unit_test(test_lists), cmocka_unit_test(test_apart), cmocka_unit_test(test_bend), cmocka_unit_test(test_cost)};

  return UNIT_MAIN("detect_fuzz", tests);
}
