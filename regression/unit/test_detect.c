/* Contacts of configurations whose number, kinds, normals and gaps are known. */
#include "detect_unit.h"

static const PetscReal none[3] = {0, 0, 0};
#define V(...) ((const PetscReal[3]){__VA_ARGS__})
#define DEPTH 1e-5

/* What holds for all contacts: sorted, unique keys; orthonormal right-handed frames; points apart by the gap along the normal */
static void Check(Scene *s, PetscInt n, const Contact c[])
{
  for (PetscInt i = 0; i < n; i++) {
    PetscReal w[3];

    if (i && ContactKeyCompare(&c[i - 1].key, &c[i].key) >= 0) fail_msg("contact %d is not sorted", (int)i);
    assert_true(c[i].key.a < c[i].key.b);
    assert_true(PetscAbsReal(Vec3Norm(c[i].normal) - 1) < 1e-14 && PetscAbsReal(Vec3Norm(c[i].tangent[0]) - 1) < 1e-14);
    assert_true(PetscAbsReal(Vec3Dot(c[i].normal, c[i].tangent[0])) < 1e-14);
    Vec3Cross(c[i].normal, c[i].tangent[0], w);
    for (PetscInt k = 0; k < 3; k++) {
      assert_true(PetscAbsReal(w[k] - c[i].tangent[1][k]) < 1e-14);
      assert_true(PetscAbsReal(c[i].x[1][k] - c[i].x[0][k] - c[i].gap * c[i].normal[k]) < 1e-13);
    }
    /* local coordinates lead to the point in the body's own coordinates */
    for (PetscInt h = 0; h < 2; h++) {
      Mesh            mesh = s->mesh[c[i].body[h]];
      Surface         f    = s->surface[c[i].body[h]];
      const PetscInt *conn = mesh->block[0].conn + 8 * c[i].point[h].elem;
      PetscReal       y[3] = {0, 0, 0}, *x, *xi = (PetscReal *)c[i].point[h].xi;

      assert_int_equal(mesh->nblock, 1);
      Ok(DetectorGetNodes(s->d, c[i].body[h], &x, NULL));
      for (PetscInt a = 0; a < 8; a++) {
        const PetscReal sx = a % 4 == 1 || a % 4 == 2 ? 1 : -1, sy = a % 4 > 1 ? 1 : -1, sz = a > 3 ? 1 : -1, N = 0.125 * (1 + sx * xi[0]) * (1 + sy * xi[1]) * (1 + sz * xi[2]);

        if (f->local[conn[a]] >= 0)
          for (PetscInt k = 0; k < 3; k++) y[k] += N * x[3 * f->local[conn[a]] + k];
      }
      /* where a warped side is two triangles, its bilinear point is elsewhere along the normal */
      for (PetscInt k = 0; k < 3; k++) y[k] -= c[i].x[h][k];
      Vec3Cross(y, c[i].normal, w);
      assert_true(Vec3Norm(w) < 1e-12);
      if (!s->warped) assert_true(Vec3Norm(y) < 1e-12);
    }
  }
}

static PetscReal Area(PetscInt n, const Contact c[])
{
  PetscReal area = 0;

  for (PetscInt i = 0; i < n; i++) area += c[i].area;
  return area;
}

/* Box A (edge a, cells ca) below, B above by its own DEPTH; n and kinds as expected (-1: any), all normals up, all gaps -DEPTH */
static void Two(PetscReal ax, PetscReal ay, PetscReal az, PetscInt ca, PetscInt cb, PetscReal x, PetscReal y, PetscReal yaw, PetscInt expect, const PetscInt kinds[3], PetscReal area)
{
  Scene          s;
  const Contact *c;
  PetscInt       n, k[3];

  SceneStart(&s);
  SceneBox(&s, DETECT_RIGID, ax, ay, az, ca, none, V(0, 0, -az / 2));
  SceneBox(&s, DETECT_RIGID, 1, 1, 1, cb, V(0, 0, yaw), V(x, y, 0.5 - DEPTH));
  n = SceneUpdate(&s, &c);
  CountKinds(n, c, k);
  if (n != expect || (kinds && (k[0] != kinds[0] || k[1] != kinds[1] || k[2] != kinds[2])))
    fail_msg("A %g x %g x %g (%d), B (%d) at %g, %g, yaw %g: %d contacts (%d, %d, %d), not %d", (double)ax, (double)ay, (double)az, (int)ca, (int)cb, (double)x, (double)y, (double)yaw, (int)n, (int)k[0], (int)k[1], (int)k[2], (int)expect);
  Check(&s, n, c);
  for (PetscInt i = 0; i < n; i++) assert_true(c[i].normal[2] > 1 - 1e-12 && PetscAbsReal(c[i].gap + DEPTH) < 1e-12);
  if (area > 0 && PetscAbsReal(Area(n, c) - area) > 1e-3 * area) fail_msg("area %g, not %g", (double)Area(n, c), (double)area);
  SceneEnd(&s);
}

static void test_faces(void **state)
{
  (void)state;
  for (PetscInt cells = 1; cells <= 3; cells++) {
    for (PetscReal yaw = 0; yaw < 3; yaw += 0.37) Two(10, 10, 1, 1, cells, 0.3, -0.2, yaw, 4, (PetscInt[3]){0, 4, 0}, 1);
    Two(10, 10, 1, cells, 1, 4.5, 0.2, 0, 4, (PetscInt[3]){0, 4, 0}, 1);     /* flush with its edge */
    Two(10, 10, 1, cells, 1, 5, 0.2, 0, 4, (PetscInt[3]){0, 2, 2}, 0.5);     /* half over a ledge */
    Two(10, 10, 1, cells, 1, 5, 5, 0.2, 4, (PetscInt[3]){1, 1, 2}, -1);      /* over its corner */
    Two(1, 1, 1, cells, 1, 0, 0, 0, 4, (PetscInt[3]){4, 0, 0}, 1);
    Two(1, 1, 1, cells, cells, 1e-6, 0, 0, 4, (PetscInt[3]){4, 0, 0}, 1);
    Two(1, 1, 1, cells, cells, 1e-6, -1e-6, 1e-6, 4, (PetscInt[3]){4, 0, 0}, 1);
    Two(1, 1, 1, 1, cells, 0, 0, 1e-6, 4, (PetscInt[3]){4, 0, 0}, 1);
    Two(1, 1, 1, cells, 1, 0.3, 0.2, 0, 4, (PetscInt[3]){1, 1, 2}, 0.56);
    Two(1, 1, 1, cells, cells, 0.5, 0, 0, 4, cells == 2 ? (PetscInt[3]){4, 0, 0} : (PetscInt[3]){2, 2, 0}, 0.5); /* half bond, sides flush */
    Two(1, 1, 1, 1, cells, 0, 0, 0.01, 8, (PetscInt[3]){0, 0, 8}, -1);
    Two(1, 1, 1, cells, cells, 0, 0, PETSC_PI / 4, 8, (PetscInt[3]){0, 0, 8}, 8 * (PetscSqrtReal(2.) - 1) / 4);
  }
  Two(1, 1, 1, 1, 1, 0, 0, 1e-4, 4, (PetscInt[3]){4, 0, 0}, 1);
  Two(1, 1, 1, 1, 1, 3.1e-4, 3.1e-4, 0, 4, (PetscInt[3]){1, 1, 2}, 1);
  Two(1, 1, 1, 1, 1, 0, 0, 1e-3, 4, (PetscInt[3]){0, 0, 4}, 1);
  Two(1, 1, 1, 4, 3, 0.05, 0.03, 0, 4, NULL, 0.95 * 0.97);
}

/* 1e-6 to the side or turned: the same keys */
static void test_keys(void **state)
{
  const PetscReal move[4][3] = {{0, 0, 0}, {1e-6, -1e-6, 0}, {0, 0, 1e-6}, {-1e-5, 1e-6, 2e-5}};
  ContactKey      key[4];

  (void)state;
  for (PetscInt t = 0; t < 4; t++) {
    Scene          s;
    const Contact *c;

    SceneStart(&s);
    SceneBox(&s, DETECT_RIGID, 1, 1, 1, 2, none, none);
    SceneBox(&s, DETECT_RIGID, 1, 1, 1, 3, V(0, 0, move[t][2]), V(move[t][0], move[t][1], 1 - DEPTH));
    assert_int_equal(SceneUpdate(&s, &c), 4);
    for (PetscInt i = 0; i < 4; i++) {
      if (!t) key[i] = c[i].key;
      assert_int_equal(ContactKeyCompare(&key[i], &c[i].key), 0);
    }
    SceneEnd(&s);
  }
}

static void test_deformable(void **state)
{
  Scene          s;
  const Contact *c;
  PetscInt       n, k[3];

  (void)state;
  for (PetscInt all = 0; all < 2; all++) {
    SceneStart(&s);
    SceneBox(&s, DETECT_DEFORMABLE, 1, 1, 1, 4, none, none);
    SceneBox(&s, DETECT_DEFORMABLE, 1, 1, 1, 3, none, V(0.05, 0.03, 1 - DEPTH));
    Ok(DetectorSetPoints(s.d, all ? CONTACT_POINTS_ALL : CONTACT_POINTS_HULL));
    n = SceneUpdate(&s, &c);
    CountKinds(n, c, k);
    Check(&s, n, c);
    print_message("  4^3 on 3^3, %s: %d contacts (%d, %d, %d)\n", all ? "all" : "hull", (int)n, (int)k[0], (int)k[1], (int)k[2]);
    /* nodes of the 4 x 4 face: 16 over the other; of the 3 x 3 one: 9, of which 4 inside; edges cross twice and where mesh lines are */
    assert_true(PetscAbsReal(Area(n, c) - 0.95 * 0.97) < 1e-3);
    assert_int_equal(k[2], 2);
    assert_int_equal(k[0], 16);
    assert_int_equal(k[1], all ? 9 : 5);
    SceneEnd(&s);
  }
}

static void test_edges(void **state)
{
  Scene           s;
  const Contact  *c;
  PetscInt        n, k[3];
  const PetscReal r2 = PetscSqrtReal(2.), up = PetscAtanReal(r2);

  (void)state;
  for (PetscInt cells = 1; cells <= 3; cells++) {
    /* bars crossed flat */
    SceneStart(&s);
    SceneBox(&s, DETECT_RIGID, 4, 1, 1, cells, none, none);
    SceneBox(&s, DETECT_RIGID, 1, 4, 1, cells, none, V(0.1, 0.2, 1 - DEPTH));
    n = SceneUpdate(&s, &c);
    CountKinds(n, c, k);
    assert_true(n == 4 && k[2] == 4);
    Check(&s, n, c);
    assert_true(PetscAbsReal(Area(n, c) - 1) < 1e-12);
    for (PetscInt i = 0; i < n; i++) assert_true(c[i].normal[2] > 1 - 1e-12);
    SceneEnd(&s);
    /* bars crossed on their edges */
    SceneStart(&s);
    SceneBox(&s, DETECT_RIGID, 4, 1, 1, cells, V(PETSC_PI / 4, 0, 0), none);
    SceneBox(&s, DETECT_RIGID, 1, 4, 1, cells, V(0, PETSC_PI / 4, 0), V(0.1, 0.2, r2 - DEPTH));
    n = SceneUpdate(&s, &c);
    CountKinds(n, c, k);
    assert_true(n == 1 && k[2] == 1);
    Check(&s, n, c);
    assert_true(c[0].normal[2] > 1 - 1e-12 && PetscAbsReal(c[0].gap + DEPTH) < 1e-12);
    SceneEnd(&s);
    /* cube on its edge, on its corner */
    SceneStart(&s);
    SceneBox(&s, DETECT_RIGID, 10, 10, 1, cells, none, V(0, 0, -0.5));
    SceneBox(&s, DETECT_RIGID, 1, 1, 1, cells, V(PETSC_PI / 4, 0, 0), V(0.1, 0.2, r2 / 2 - DEPTH));
    n = SceneUpdate(&s, &c);
    if (n != 2) fail_msg("cube on its edge: %d contacts", (int)n);
    Check(&s, n, c);
    SceneEnd(&s);
    SceneStart(&s);
    SceneBox(&s, DETECT_RIGID, 10, 10, 1, cells, none, V(0, 0, -0.5));
    SceneBox(&s, DETECT_RIGID, 1, 1, 1, cells, V(up / r2, -up / r2, 0), V(0.1, 0.2, PetscSqrtReal(3.) / 2 - DEPTH));
    n = SceneUpdate(&s, &c);
    if (n != 1) fail_msg("cube on its corner: %d contacts", (int)n);
    Check(&s, n, c);
    assert_true(PetscAbsReal(c[0].gap + DEPTH) < 1e-12);
    SceneEnd(&s);
  }
}

/* Rocked by 5e-4 with a margin of 1e-3: 4, two of them open; by 0.02: 2 */
static void test_rocking(void **state)
{
  (void)state;
  for (PetscInt t = 0; t < 2; t++) {
    const PetscReal tilt = t ? 0.02 : 5e-4, z = 0.5 * PetscCosReal(tilt) + 0.5 * PetscSinReal(tilt);
    Scene           s;
    const Contact  *c;
    PetscInt        n, open = 0;

    SceneStart(&s);
    SceneBox(&s, DETECT_RIGID, 10, 10, 1, 1, none, V(0, 0, -0.5));
    SceneBox(&s, DETECT_RIGID, 1, 1, 1, 1, none, none);
    s.h = 1;
    ScenePlace(&s, 1, V(0, tilt, 0), V(0, 0, z), V(5e-4, 0, 0), NULL);
    n = SceneUpdate(&s, &c);
    Check(&s, n, c);
    for (PetscInt i = 0; i < n; i++) {
      assert_true(c[i].normal[2] > 1 - 1e-6);
      if (c[i].gap > 1e-9) {
        open++;
        assert_true(PetscAbsReal(c[i].gap - 5e-4) < 1e-9);
      }
    }
    assert_true(t ? n == 2 && !open : n == 4 && open == 2);
    SceneEnd(&s);
  }
}

/* What is beside a face, or beyond the end of an edge, and will be under it in a step is a contact before it is deep; what falls past it is none. A corner over
   the end of a floor; an edge over the end of an edge. */
static void test_enters(void **state)
{
  const PetscReal half = PETSC_PI / 4, root = PetscSqrtReal(0.5), tip = PetscSqrtReal(0.75), corner = PetscAtanReal(PetscSqrtReal(2));

  (void)state;
  for (PetscInt t = 0; t < 8; t++) {
    const PetscBool edges = (PetscBool)(t & 1), past = (PetscBool)(t & 2);
    const PetscReal speed = t & 4 ? 0.1 : 1; /* slow ones are not there yet */
    Scene           s;
    const Contact  *c;
    PetscInt        n, found = 0;

    SceneStart(&s);
    if (edges) {
      SceneBox(&s, DETECT_RIGID, 10, 1, 1, 1, V(half, 0, 0), V(0, 0, -root));
      SceneBox(&s, DETECT_RIGID, 1, 10, 1, 1, none, none);
    } else {
      SceneBox(&s, DETECT_RIGID, 10, 10, 1, 1, none, V(0, 0, -0.5));
      SceneBox(&s, DETECT_RIGID, 1, 1, 1, 1, none, none);
    }
    s.h = 1e-3;
    for (PetscInt update = 0; update < 2; update++) { /* the first one knows no motion */
      ScenePlace(&s, 1, edges ? V(0, half, 0) : V(corner * root, -corner * root, 0), V(5.05, 0.1, 0.01 + (edges ? root : tip)), V(past ? 0 : -70 * speed, 0, -30 * speed), NULL);
      n = SceneUpdate(&s, &c);
    }
    for (PetscInt i = 0; i < n; i++) { /* the corner's edges and the end of the floor are near each other in any case */
      assert_true(c[i].gap > 0);
      found += c[i].key.kind == (edges ? CONTACT_EDGE_EDGE : CONTACT_FACET_NODE) && PetscAbsReal(c[i].gap - 0.01) < 1e-9 && c[i].normal[2] > 1 - 1e-9;
    }
    assert_int_equal(found, past || speed < 1 ? 0 : 1);
    SceneEnd(&s);
  }
}

/* Plate 0.01 thick: always the near face, from above and from below */
static void test_plate(void **state)
{
  (void)state;
  for (PetscInt t = 0; t < 8; t++) {
    const PetscReal depth = t & 1 ? 4e-3 : 5e-4, side = t & 2 ? -1 : 1;
    Scene           s;
    const Contact  *c;
    PetscInt        n;

    SceneStart(&s);
    if (t & 4) SceneBox(&s, DETECT_RIGID, 1, 1, 1, 1, V(0, 0, 0.3), V(0.2, 0.1, -side * (0.505 - depth)));
    SceneBox(&s, DETECT_RIGID, 4, 4, 0.01, 3, none, none);
    if (!(t & 4)) SceneBox(&s, DETECT_RIGID, 1, 1, 1, 1, V(0, 0, 0.3), V(0.2, 0.1, side * (0.505 - depth)));
    n = SceneUpdate(&s, &c);
    if (n != 4) fail_msg("case %d: %d contacts", (int)t, (int)n);
    Check(&s, n, c);
    for (PetscInt i = 0; i < n; i++) {
      assert_true(side * c[i].normal[2] > 1 - 1e-12);
      assert_true(PetscAbsReal(c[i].gap + depth) < 1e-12);
    }
    SceneEnd(&s);
  }
}

/* L of 3 cubes in the plane x, z, thick 1 in y; its corner at the origin, walls x = 0 (up to z = 1) and z = 0 (up to x = 1) */
static void Ell(Scene *s)
{
  static const PetscInt  at[3][2] = {{0, 0}, {1, 0}, {0, 1}}, corner[8][3] = {{0, 0, 0}, {1, 0, 0}, {1, 1, 0}, {0, 1, 0}, {0, 0, 1}, {1, 0, 1}, {1, 1, 1}, {0, 1, 1}};
  PetscInt               number[3][3][2];
  Mesh                   m;

  Ok(MeshCreate(&m));
  Ok(PetscMalloc1(3 * 18, &m->coord));
  Ok(PetscCalloc1(1, &m->block));
  Ok(PetscStrallocpy("ell", &m->block->name));
  Ok(PetscStrcpy(m->block->type, "hex8"));
  Ok(PetscMalloc1(24, &m->block->conn));
  m->nblock       = 1;
  m->nelem        = m->block->nelem = 3;
  m->block->nnode = 8;
  memset(number, -1, sizeof(number));
  for (PetscInt e = 0; e < 3; e++)
    for (PetscInt a = 0; a < 8; a++) {
      const PetscInt i = at[e][0] + corner[a][0], k = at[e][1] + corner[a][2], j = corner[a][1];

      if (number[i][k][j] < 0) {
        m->coord[3 * m->nnode] = i - 1;
        m->coord[3 * m->nnode + 1] = j - 0.5;
        m->coord[3 * m->nnode + 2] = k - 1;
        number[i][k][j]            = m->nnode++;
      }
      m->block->conn[8 * e + a] = number[i][k][j];
    }
  SceneMesh(s, m, DETECT_RIGID, none, none);
}

static void test_corner(void **state)
{
  const PetscReal size[3] = {1, 0.7, 1};

  (void)state;
  for (PetscInt t = 0; t < 3; t++)
    for (PetscInt u = 0; u < 2; u++)
      for (PetscInt cells = 1; cells < 3; cells++) {
        const PetscReal l = size[t], x = l / 2 - (t < 2 ? DEPTH : 0.5 * DEPTH), z = l / 2 - DEPTH * (t == 1 ? 3 : 1);
        Scene           s;
        const Contact  *c;
        PetscInt        n, wall = 0, floor = 0;

        SceneStart(&s);
        if (u) SceneBox(&s, DETECT_RIGID, l, l, l, cells, none, V(x, 0, z));
        Ell(&s);
        if (!u) SceneBox(&s, DETECT_RIGID, l, l, l, cells, none, V(x, 0, z));
        n = SceneUpdate(&s, &c);
        Check(&s, n, c);
        for (PetscInt i = 0; i < n; i++) {
          wall += PetscAbsReal(c[i].normal[0]) > 1 - 1e-12;
          floor += PetscAbsReal(c[i].normal[2]) > 1 - 1e-12;
        }
        if (n != 8 || wall != 4 || floor != 4) fail_msg("size %g, order %d, cells %d: %d contacts, %d on the wall, %d on the floor", (double)l, (int)u, (int)cells, (int)n, (int)wall, (int)floor);
        SceneEnd(&s);
      }
}

/* Pipe of 36 sides and 36 rings on a narrow block across its axis */
static void test_pipe(void **state)
{
  const PetscReal turn[5] = {0, PETSC_PI / 36, 0, 0, 0}, tilt[5] = {0, 0, 0.1, -0.1, 0.05};
  const PetscInt  cells[3] = {36, 36, 4};

  (void)state;
  for (PetscInt t = 0; t < 5; t++) {
    Scene           s;
    Mesh            pipe;
    const Contact  *c;
    PetscInt        n, k[3], closed = 0;
    PetscReal       R[9], T[9], P[9], *x, *v, low = 0, shift = 0;

    SceneStart(&s);
    SceneBox(&s, DETECT_OBSTACLE, 0.01, 0.1, 0.01, 1, none, V(0.0005, 0, -0.005));
    Ok(MeshCreatePipe(0.01, 0.005, 0.1, cells, &pipe));
    SceneMesh(&s, pipe, DETECT_DEFORMABLE, none, none);
    RotationFromVector(V(turn[t], 0, 0), R);
    RotationFromVector(V(0, tilt[t], 0), T);
    Mat3Mult(T, R, P);
    Ok(DetectorSetPlacement(s.d, 1, P, none, none, none, none));
    /* lowest point over the block at depth 1e-8; tilted, the block's edge touches the ridge */
    Ok(DetectorGetNodes(s.d, 1, &x, &v));
    for (PetscInt i = 0; i < s.surface[1]->nnode; i++) low = PetscMin(low, x[3 * i + 2]);
    if (tilt[t] != 0) {
      const PetscReal at = 0.0005 + (tilt[t] > 0 ? 0.005 : -0.005);

      low = -0.015 / PetscCosReal(tilt[t]) - at * PetscTanReal(tilt[t]); /* ridge z = -r/cos - x tan at this edge */
    }
    shift = -low - 1e-8;
    Ok(DetectorSetPlacement(s.d, 1, P, none, V(0, 0, shift), none, none));
    n = SceneUpdate(&s, &c);
    CountKinds(n, c, k);
    Check(&s, n, c);
    print_message("  pipe turned %g, tilted %g: %d contacts (%d, %d, %d)\n", (double)turn[t], (double)tilt[t], (int)n, (int)k[0], (int)k[1], (int)k[2]);
    for (PetscInt i = 0; i < n; i++) closed += c[i].gap <= 0;
    if (tilt[t] != 0) {
      assert_int_equal(closed, 1);
      for (PetscInt i = 0; i < n; i++)
        if (c[i].gap <= 0) {
          assert_int_equal(c[i].key.kind, CONTACT_EDGE_EDGE);
          assert_true(PetscAbsReal(PetscAbsReal(c[i].normal[0]) - PetscSinReal(PetscAbsReal(tilt[t]))) < 1e-9);
        }
    } else assert_true(closed == n && k[2] == (t ? 4 : 2));
    SceneEnd(&s);
  }
}

/* A cube whose top is warped by 10 degrees (two triangles) or 1 (a quadrilateral) under a small one: normals of the top where it touches */
static void test_warped(void **state)
{
  (void)state;
  for (PetscInt t = 0; t < 8; t++) {
    const PetscReal lift = t & 1 ? 0.15 : 0.015, yaw = 0.3 * t;
    const PetscReal one[3] = {1, 1, 1};
    const PetscInt  cells[3] = {1, 1, 1};
    Scene           s;
    Mesh            mesh;
    const Contact  *c;
    PetscInt        n;
    PetscReal       low = PETSC_INFINITY;

    SceneStart(&s);
    s.warped = PETSC_TRUE;
    s.h      = 1;
    Ok(MeshCreateBox(one, cells, &mesh));
    for (PetscInt v = 0; v < 8; v++)
      if (mesh->coord[3 * v] > 0 && mesh->coord[3 * v + 1] > 0 && mesh->coord[3 * v + 2] > 0) mesh->coord[3 * v + 2] += lift;
    SceneMesh(&s, mesh, DETECT_RIGID, none, none);
    assert_int_equal(s.surface[0]->nfacet > 6, t & 1);
    SceneBox(&s, DETECT_RIGID, 0.2, 0.2, 0.2, 1, none, none);
    ScenePlace(&s, 1, V(0.02 * t, 0, yaw), V(0.1, -0.05, 0.6), V(0, 0, -0.05), NULL);
    n = SceneUpdate(&s, &c);
    assert_true(n >= 1);
    Check(&s, n, c);
    for (PetscInt i = 0; i < n; i++) {
      assert_true(c[i].normal[2] > 0.95);
      low = PetscMin(low, c[i].gap);
    }
    assert_true(low > -0.15 && low <= 0.1001); /* margin 2 h v */
    SceneEnd(&s);
  }
}

/* One contact of each pair of elements, in the middle of what they share */
static void test_centroid(void **state)
{
  Scene          s;
  const Contact *c;
  PetscInt       n;

  (void)state;
  for (PetscInt cells = 1; cells <= 3; cells++) {
    SceneStart(&s);
    SceneBox(&s, DETECT_RIGID, 1, 1, 1, cells, none, none);
    SceneBox(&s, DETECT_RIGID, 1, 1, 1, cells, none, V(0, 0, 1 - DEPTH));
    Ok(DetectorSetPoints(s.d, CONTACT_POINTS_CENTROID));
    n = SceneUpdate(&s, &c);
    Check(&s, n, c);
    assert_true(n >= cells * cells && PetscAbsReal(Area(n, c) - 1) < 1e-9);
    for (PetscInt i = 0; i < n; i++) {
      assert_int_equal(c[i].key.kind, CONTACT_ELEMENTS);
      assert_true(c[i].normal[2] > 1 - 1e-12 && PetscAbsReal(c[i].gap + DEPTH) < 1e-12);
    }
    if (cells == 1) assert_true(PetscAbsReal(c[0].x[0][0]) + PetscAbsReal(c[0].x[0][1]) < 1e-12);
    SceneEnd(&s);
  }
}

/* Not a number: an error that names the body; options; view */
static void test_class(void **state)
{
  Scene          s;
  const Contact *c;
  PetscInt       n, b;
  PetscReal     *x;
  Detector       d;

  (void)state;
  SceneStart(&s);
  SceneBox(&s, DETECT_RIGID, 1, 1, 1, 1, none, none);
  SceneBox(&s, DETECT_RIGID, 1, 1, 1, 1, none, V(0, 0, 1));
  assert_int_equal(SceneUpdate(&s, &c), 4);
  assert_int_equal(SceneUpdate(&s, &c), 4); /* no depth known from the step before: still the same */
  Ok(DetectorForget(s.d));
  assert_int_equal(SceneUpdate(&s, &c), 4);
  assert_true(DetectorAddBody(s.d, 15, s.surface[0], DETECT_RIGID, none, &b) == PETSC_ERR_ARG_OUTOFRANGE);
  Ok(DetectorGetNodes(s.d, 1, &x, NULL));
  x[5] = NAN;
  assert_int_equal(DetectorUpdate(s.d, 0, &n, &c), PETSC_ERR_FP);
  if (!strstr(message, "body 20")) fail_msg("'%s'", message);
  SceneEnd(&s);
  Ok(DetectorCreate(PETSC_COMM_SELF, &d));
  Ok(PetscOptionsSetValue(NULL, "-contact_points", "all"));
  Ok(DetectorSetFromOptions(d));
  Ok(PetscOptionsClearValue(NULL, "-contact_points"));
  Ok(DetectorUpdate(d, 0, &n, &c)); /* of no bodies */
  assert_int_equal(n, 0);
  Ok(DetectorDestroy(&d));
  Ok(DetectorDestroy(&d));
}

/* Deep overlap at the start is followed as it is; one that comes later is seen as deep as a step may make it */
static void test_depth(void **state)
{
  (void)state;
  for (PetscInt t = 0; t < 2; t++) {
    Scene          s;
    const Contact *c;
    PetscInt       n;

    SceneStart(&s);
    s.h = 1e-3;
    SceneBox(&s, DETECT_RIGID, 10, 10, 1, 1, none, V(0, 0, -0.5));
    SceneBox(&s, DETECT_RIGID, 1, 1, 1, 1, none, none);
    ScenePlace(&s, 1, none, V(0, 0, t ? 0.6 : 0.4), V(0, 0, -1), NULL);
    n = SceneUpdate(&s, &c);
    assert_int_equal(n, t ? 0 : 4);
    for (PetscInt k = 1; k <= 20; k++) {
      ScenePlace(&s, 1, none, V(0, 0, t ? 0.4 : 0.4 - 2e-3 * k), V(0, 0, -1), NULL);
      n = SceneUpdate(&s, &c);
      if (n != (t ? 0 : 4)) fail_msg("case %d, step %d: %d contacts", (int)t, (int)k, (int)n);
    }
    SceneEnd(&s);
  }
}

/* The pipe falls 0.56 mm into the block in one step: the ridge below and its two neighbours (0.23 mm higher) have gone in, each with three nodes on
   the face and two crossings of its edges, although the neighbours' normals are out of the cones of their own edges */
static void test_pipe_falls(void **state)
{
  const PetscInt  cells[3] = {36, 36, 4};
  const PetscReal one[9] = {1, 0, 0, 0, 1, 0, 0, 0, 1}, h = 1e-3, speed = 0.7, gap[2] = {1.4e-4, -5.6e-4};
  Scene           s;
  Mesh            pipe;
  const Contact  *c;
  PetscInt        n, closed[2] = {0, 0};

  (void)state;
  SceneStart(&s);
  SceneBox(&s, DETECT_OBSTACLE, 0.01, 0.1, 0.01, 1, none, V(0.0005, 0, -0.005));
  Ok(MeshCreatePipe(0.01, 0.005, 0.1, cells, &pipe));
  SceneMesh(&s, pipe, DETECT_DEFORMABLE, none, none);
  for (PetscInt t = 0; t < 2; t++) {
    Ok(DetectorSetPlacement(s.d, 1, one, none, V(0, 0, 0.015 + gap[t]), V(0, 0, -speed), none));
    Ok(DetectorUpdate(s.d, h, &n, &c));
  }
  for (PetscInt i = 0; i < n; i++)
    if (c[i].gap <= 0) closed[c[i].key.kind == CONTACT_EDGE_EDGE]++;
  print_message("  falling pipe: %d nodes, %d edges\n", (int)closed[0], (int)closed[1]);
  assert_int_equal(closed[0], 9);
  assert_int_equal(closed[1], 6);
  SceneEnd(&s);
}

/* Lengths times 1024 and 2^-10: the same keys, gaps, areas and points scaled to the last bit */
static void test_units(void **state)
{
  uint64_t seed = 5;

  (void)state;
  for (PetscInt t = 0; t < 200; t++) {
    PetscReal  w[3], at[3], vel[3], size[3];
    PetscInt   n0 = 0, cells = 1 + t % 3;
    Contact    keep[128];

    RandomVector(&seed, t % 2 ? 1e-3 : 1, w);
    RandomVector(&seed, 0.01, vel);
    for (PetscInt c = 0; c < 3; c++) size[c] = 0.5 + Uniform(&seed), at[c] = 0.3 * Uniform(&seed);
    at[2] = 0.5 + size[2] / 2 + 0.01 * Uniform(&seed);
    for (PetscInt u = 0; u < 3; u++) {
      const PetscReal f = u == 0 ? 1 : (u == 1 ? 1024 : 1. / 1024);
      Scene           s;
      const Contact  *c;
      PetscInt        n;

      SceneStart(&s);
      Ok(DetectorSetPassDeep(s.d, PETSC_TRUE));
      s.h = 1;
      SceneBox(&s, DETECT_RIGID, f, f, f, cells, none, none);
      SceneBox(&s, t % 5 ? DETECT_RIGID : DETECT_DEFORMABLE, f * size[0], f * size[1], f * size[2], 3, none, none);
      ScenePlace(&s, 1, w, V(f * at[0], f * at[1], f * at[2]), V(f * vel[0], f * vel[1], f * vel[2]), NULL);
      n = SceneUpdate(&s, &c);
      assert_true(n <= 128);
      if (!u) {
        n0 = n;
        if (n) memcpy(keep, c, (size_t)n * sizeof(*c));
      }
      assert_int_equal(n, n0);
      for (PetscInt i = 0; i < n; i++) {
        assert_int_equal(ContactKeyCompare(&keep[i].key, &c[i].key), 0);
        assert_true(c[i].gap == f * keep[i].gap && c[i].area == f * f * keep[i].area);
        for (PetscInt k = 0; k < 3; k++) assert_true(c[i].normal[k] == keep[i].normal[k] && c[i].tangent[0][k] == keep[i].tangent[0][k] && c[i].x[0][k] == f * keep[i].x[0][k] && c[i].point[1].xi[k] == keep[i].point[1].xi[k]);
      }
      SceneEnd(&s);
    }
  }
}

/* A cube over the edge of a block, almost as deep from above as from the side: the lesser depth wins, but a contact at work stays until
   it is twice as deep */
static void test_force(void **state)
{
  const PetscReal deep[4] = {0.009, 0.011, 0.019, 0.021}; /* from above; from the side: 0.01 */
  Scene           s;
  const Contact  *c;
  ContactKey      key[16];
  PetscInt        n, nkey = 0;

  (void)state;
  for (PetscInt t = 0; t < 5; t++) { /* at last without force, as shallow as when it was enough */
    SceneStart(&s);
    SceneBox(&s, DETECT_RIGID, 4, 4, 1, 1, none, V(0, 0, -0.5));
    SceneBox(&s, DETECT_RIGID, 1, 1, 1, 1, none, V(2.49, 0.3, 0.5 - deep[t < 4 ? t : 1]));
    if (t < 4) Ok(DetectorSetForce(s.d, nkey, key));
    n = SceneUpdate(&s, &c);
    Check(&s, n, c);
    assert_true(n >= 2 && n <= 16);
    for (PetscInt i = 0; i < n; i++)
      if (!(t < 3 ? c[i].normal[2] > 0.99 : c[i].normal[0] > 0.99)) fail_msg("case %d: normal (%g, %g, %g)", (int)t, (double)c[i].normal[0], (double)c[i].normal[1], (double)c[i].normal[2]);
    for (PetscInt i = 0; i < n && !t; i++) key[nkey++] = c[i].key;
    SceneEnd(&s);
  }
}

int main(void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_faces), cmocka_unit_test(test_keys), cmocka_unit_test(test_deformable), cmocka_unit_test(test_edges), cmocka_unit_test(test_rocking), cmocka_unit_test(test_enters), cmocka_unit_test(test_plate),
    cmocka_unit_test(test_corner), cmocka_unit_test(test_pipe), cmocka_unit_test(test_pipe_falls), cmocka_unit_test(test_units), cmocka_unit_test(test_force), cmocka_unit_test(test_warped), cmocka_unit_test(test_centroid), cmocka_unit_test(test_class), cmocka_unit_test(test_depth),
  };

  return UNIT_MAIN("detect", tests);
}
