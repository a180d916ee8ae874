/* Generated meshes against counts, volumes and areas known otherwise; what MeshCheck says about bad ones. */
#include "unit.h"
#include "meshes/mesh.h"
#include <petscviewer.h>

static void Box(PetscReal x, PetscReal y, PetscReal z, PetscInt nx, PetscInt ny, PetscInt nz, Mesh *mesh)
{
  const PetscReal length[3] = {x, y, z};
  const PetscInt  cells[3]  = {nx, ny, nz};

  Ok(MeshCreateBox(length, cells, mesh));
}

static void Pipe(PetscReal inner, PetscReal thickness, PetscReal length, PetscInt along, PetscInt around, PetscInt through, Mesh *mesh)
{
  const PetscInt cells[3] = {along, around, through};

  Ok(MeshCreatePipe(inner, thickness, length, cells, mesh));
}

static const PetscInt *Element(Mesh mesh, PetscInt e)
{
  PetscInt b = 0;

  for (; e >= mesh->block[b].nelem; b++) e -= mesh->block[b].nelem;
  return mesh->block[b].conn + 8 * e;
}

/* Normal times area of a side with straight edges, its centre */
static void Side(Mesh mesh, PetscInt e, PetscInt s, PetscReal n[3], PetscReal centre[3])
{
  const PetscInt  *conn = Element(mesh, e);
  const PetscReal *x[4];
  PetscReal        p[3], q[3];

  for (int a = 0; a < 4; a++) x[a] = mesh->coord + 3 * conn[MeshHex8Side[s][a]];
  for (int c = 0; c < 3; c++) {
    p[c]      = x[2][c] - x[0][c];
    q[c]      = x[3][c] - x[1][c];
    centre[c] = 0.25 * (x[0][c] + x[1][c] + x[2][c] + x[3][c]);
  }
  n[0] = 0.5 * (p[1] * q[2] - p[2] * q[1]);
  n[1] = 0.5 * (p[2] * q[0] - p[0] * q[2]);
  n[2] = 0.5 * (p[0] * q[1] - p[1] * q[0]);
}

/* Of an element with flat sides, by the divergence theorem over its sides as MeshHex8Side turns them */
static PetscReal Volume(Mesh mesh, PetscInt e)
{
  PetscReal v = 0, n[3], c[3];

  for (PetscInt s = 0; s < 6; s++) {
    Side(mesh, e, s, n, c);
    v += (n[0] * c[0] + n[1] * c[1] + n[2] * c[2]) / 3;
  }
  return v;
}

static PetscReal Total(Mesh mesh)
{
  PetscReal v = 0;

  for (PetscInt e = 0; e < mesh->nelem; e++) {
    assert_true(Volume(mesh, e) > 0);
    v += Volume(mesh, e);
  }
  return v;
}

static PetscBool Near(PetscReal a, PetscReal b)
{
  return PetscAbsReal(a - b) <= 1e-14 * PetscMax(PetscAbsReal(a), PetscAbsReal(b)) ? PETSC_TRUE : PETSC_FALSE;
}

static const MeshNodeSet *NodeSet(Mesh mesh, const char name[])
{
  const MeshNodeSet *set;

  Ok(MeshFindNodeSet(mesh, name, &set));
  if (!set) fail_msg("no node set %s", name);
  return set;
}

static const MeshSideSet *SideSet(Mesh mesh, const char name[])
{
  const MeshSideSet *set;

  Ok(MeshFindSideSet(mesh, name, &set));
  if (!set) fail_msg("no side set %s", name);
  return set;
}

/* Every node where `on` says so is in the set, once; no other is */
static void Members(Mesh mesh, const char name[], PetscBool (*on)(const PetscReal x[3], PetscReal value, PetscInt axis), PetscReal value, PetscInt axis)
{
  const MeshNodeSet *set = NodeSet(mesh, name);
  PetscInt          *seen, n = 0;

  Ok(PetscCalloc1(mesh->nnode, &seen));
  for (PetscInt i = 0; i < set->n; i++) {
    assert_in_range(set->node[i], 0, mesh->nnode - 1);
    assert_int_equal(seen[set->node[i]]++, 0);
  }
  for (PetscInt i = 0; i < mesh->nnode; i++) {
    assert_int_equal(seen[i], on(mesh->coord + 3 * i, value, axis) ? 1 : 0);
    n += seen[i];
  }
  assert_int_equal(n, set->n);
  Ok(PetscFree(seen));
}

static PetscBool OnPlane(const PetscReal x[3], PetscReal value, PetscInt axis)
{
  return x[axis] == value ? PETSC_TRUE : PETSC_FALSE;
}

static PetscBool OnCylinder(const PetscReal x[3], PetscReal value, PetscInt axis)
{
  (void)axis;
  return PetscAbsReal(x[1] * x[1] + x[2] * x[2] - value * value) < 1e-12 * value * value ? PETSC_TRUE : PETSC_FALSE;
}

static void test_box(void **state)
{
  static const char *const names[3][2] = {{"x_min", "x_max"}, {"y_min", "y_max"}, {"z_min", "z_max"}};
  const PetscReal          length[3] = {0.3, 0.7, 1.1};
  const PetscInt           cells[3] = {3, 5, 2};
  Mesh                     mesh;

  (void)state;
  Ok(MeshCreateBox(length, cells, &mesh));
  Ok(MeshCheck(mesh, "box"));
  assert_int_equal(mesh->nnode, 4 * 6 * 3);
  assert_int_equal(mesh->nelem, 30);
  assert_int_equal(mesh->nblock, 1);
  assert_int_equal(mesh->block->nelem, 30);
  assert_int_equal(mesh->block->nnode, 8);
  assert_string_equal(mesh->block->type, "hex8");
  assert_string_equal(mesh->block->name, "box");
  assert_int_equal(mesh->nnodeset, 6);
  assert_int_equal(mesh->nsideset, 6);
  for (PetscInt e = 0; e < mesh->nelem; e++) assert_true(Near(Volume(mesh, e), 0.3 * 0.7 * 1.1 / 30));
  /* the mirror image of a node is a node, to the last bit */
  for (PetscInt k = 0; k < 3; k++)
    for (PetscInt j = 0; j < 6; j++)
      for (PetscInt i = 0; i < 4; i++) {
        const PetscReal *x = mesh->coord + 3 * ((k * 6 + j) * 4 + i), *y = mesh->coord + 3 * (((2 - k) * 6 + 5 - j) * 4 + 3 - i);

        for (PetscInt c = 0; c < 3; c++) assert_true(x[c] == -y[c]);
      }
  for (PetscInt d = 0; d < 3; d++)
    for (PetscInt end = 0; end < 2; end++) {
      const PetscReal    at   = (end ? 0.5 : -0.5) * length[d];
      const MeshSideSet *set  = SideSet(mesh, names[d][end]);
      PetscReal          area = 0;

      Members(mesh, names[d][end], OnPlane, at, d);
      assert_int_equal(set->n, 30 / cells[d]);
      for (PetscInt i = 0; i < set->n; i++) {
        PetscReal n[3], c[3];

        assert_in_range(set->elem[i], 0, 29);
        Side(mesh, set->elem[i], set->side[i], n, c);
        assert_true(c[d] == at);
        assert_true((end ? 1 : -1) * n[d] > 0); /* outward */
        area += PetscAbsReal(n[d]);
      }
      assert_true(Near(area, 0.3 * 0.7 * 1.1 / length[d]));
    }
  Ok(MeshDestroy(&mesh));
  assert_null(mesh);
  Ok(MeshDestroy(&mesh));

  Box(2, 2, 2, 1, 1, 1, &mesh); /* sides of one cube: y-, x+, y+, x-, z-, z+ */
  for (PetscInt s = 0; s < 6; s++) {
    const PetscReal out[6][3] = {{0, -4, 0}, {4, 0, 0}, {0, 4, 0}, {-4, 0, 0}, {0, 0, -4}, {0, 0, 4}};
    PetscReal       n[3], c[3];

    Side(mesh, 0, s, n, c);
    for (PetscInt d = 0; d < 3; d++) assert_true(n[d] == out[s][d] && c[d] == out[s][d] / 4);
  }
  Ok(MeshDestroy(&mesh));
}

static void test_pipe(void **state)
{
  const PetscInt around[] = {3, 4, 7, 24, 36};

  (void)state;
  for (size_t p = 0; p < sizeof(around) / sizeof(around[0]); p++) {
    const PetscInt     n = around[p];
    const PetscReal    inner = 0.01, outer = 0.015, length = 0.1, polygon = 0.5 * n * PetscSinReal(2 * PETSC_PI / n), chord = 2 * n * PetscSinReal(PETSC_PI / n);
    const PetscReal    area[4] = {polygon * (outer * outer - inner * inner), polygon * (outer * outer - inner * inner), chord * inner * length, chord * outer * length};
    const char *const  names[4] = {"x_min", "x_max", "inner", "outer"};
    Mesh               mesh;

    Pipe(inner, outer - inner, length, 4, n, 2, &mesh);
    Ok(MeshCheck(mesh, "pipe"));
    assert_int_equal(mesh->nnode, 5 * n * 3);
    assert_int_equal(mesh->nelem, 4 * n * 2);
    assert_string_equal(mesh->block->name, "pipe");
    assert_int_equal(mesh->nnodeset, 4);
    assert_int_equal(mesh->nsideset, 4);
    assert_true(PetscAbsReal(Total(mesh) / (area[0] * length) - 1) < 1e-13); /* of the polygon pipe */
    Members(mesh, "x_min", OnPlane, -0.05, 0);
    Members(mesh, "x_max", OnPlane, 0.05, 0);
    Members(mesh, "inner", OnCylinder, inner, 0);
    Members(mesh, "outer", OnCylinder, outer, 0);
    for (PetscInt s = 0; s < 4; s++) {
      const MeshSideSet *set = SideSet(mesh, names[s]);
      PetscReal          sum = 0;

      assert_int_equal(set->n, s < 2 ? 2 * n : 4 * n);
      for (PetscInt i = 0; i < set->n; i++) {
        PetscReal m[3], c[3], out;

        Side(mesh, set->elem[i], set->side[i], m, c);
        out = s == 0 ? -m[0] : s == 1 ? m[0] : m[1] * c[1] + m[2] * c[2];
        assert_true(s == 2 ? out < 0 : out > 0);
        sum += PetscSqrtReal(m[0] * m[0] + m[1] * m[1] + m[2] * m[2]);
      }
      assert_true(PetscAbsReal(sum / area[s] - 1) < 1e-13);
    }
    /* the lowest line is straight below the axis, and the two halves are mirror images to the last bit */
    for (PetscInt k = 0; k < 3; k++)
      for (PetscInt j = 0; j < n; j++)
        for (PetscInt i = 0; i < 5; i++) {
          const PetscReal *x = mesh->coord + 3 * ((k * n + j) * 5 + i), *y = mesh->coord + 3 * ((k * n + (n - j) % n) * 5 + 4 - i);

          assert_true(x[0] == -y[0] && x[1] == -y[1] && x[2] == y[2]);
          if (j == 0) assert_true(x[1] == 0 && x[2] < 0);
          if (n % 2 == 0) {
            y = mesh->coord + 3 * ((k * n + (j + n / 2) % n) * 5 + i); /* half a turn */
            assert_true(x[1] == -y[1] && x[2] == -y[2]);
          }
          if (n % 4 == 0) {
            y = mesh->coord + 3 * ((k * n + (j + n / 4) % n) * 5 + i); /* a quarter: from below to -y */
            assert_true(y[1] == x[2] && y[2] == -x[1]);
          }
        }
    Ok(MeshDestroy(&mesh));
  }
}

static PetscBool OnRadialPlane(const PetscReal x[3], PetscReal degrees, PetscInt axis)
{
  const PetscReal phi = degrees * PETSC_PI / 180;

  (void)axis; /* through the arch's centre, 10 below the origin */
  return PetscAbsReal(x[0] * PetscCosReal(phi) - (x[2] + 10) * PetscSinReal(phi)) < 1e-14 * 10 ? PETSC_TRUE : PETSC_FALSE;
}

/* A block of an arch of radius 10: volume, areas and normals of its named sides, symmetry, where it lies */
static void test_voussoir(void **state)
{
  const PetscReal angles[] = {180. / 27, 40, 170}, inner = 9.5, outer = 10.5, depth = 3;
  const PetscInt  cells[3] = {4, 3, 2};

  (void)state;
  for (size_t a = 0; a < sizeof(angles) / sizeof(angles[0]); a++)
    for (PetscInt flat = 0; flat < 2; flat++) {
      const PetscReal   angle = angles[a] * PETSC_PI / 180, facets = flat ? 1 : 4, half = angle / (2 * facets); /* half the angle of a straight piece */
      const PetscReal   section = 0.5 * facets * PetscSinReal(2 * half) * (outer * outer - inner * inner);
      const char *const names[6] = {"start", "end", "y_min", "y_max", "inner", "outer"};
      const PetscReal   area[6] = {depth * (outer - inner), depth * (outer - inner), section, section, 2 * facets * inner * PetscSinReal(half) * depth, 2 * facets * outer * PetscSinReal(half) * depth};
      Mesh              mesh;

      Ok(MeshCreateVoussoir(10, outer - inner, depth, angles[a], cells, flat ? PETSC_TRUE : PETSC_FALSE, &mesh));
      Ok(MeshCheck(mesh, "voussoir"));
      assert_int_equal(mesh->nnode, 5 * 4 * 3);
      assert_int_equal(mesh->nelem, 24);
      assert_int_equal(mesh->nnodeset, 6);
      assert_int_equal(mesh->nsideset, 6);
      assert_true(PetscAbsReal(Total(mesh) / (section * depth) - 1) < 1e-13);
      Members(mesh, "start", OnRadialPlane, -angles[a] / 2, 0);
      Members(mesh, "end", OnRadialPlane, angles[a] / 2, 0);
      Members(mesh, "y_min", OnPlane, -depth / 2, 1);
      Members(mesh, "y_max", OnPlane, depth / 2, 1);
      for (PetscInt s = 0; s < 6; s++) {
        const MeshSideSet *set = SideSet(mesh, names[s]);
        PetscReal          sum = 0;

        assert_int_equal(set->n, s < 2 ? 3 * 2 : s < 4 ? 4 * 2 : 4 * 3);
        assert_int_equal(NodeSet(mesh, names[s])->n, s < 2 ? 4 * 3 : s < 4 ? 5 * 3 : 5 * 4);
        for (PetscInt i = 0; i < set->n; i++) {
          const PetscReal phi = (s == 0 ? -1 : 1) * angle / 2;
          PetscReal       m[3], c[3], size;

          Side(mesh, set->elem[i], set->side[i], m, c);
          size = PetscSqrtReal(m[0] * m[0] + m[1] * m[1] + m[2] * m[2]);
          sum += size;
          /* outward: along the arc, along y, to and from the arch's centre */
          if (s < 2) assert_true(Near((s ? 1 : -1) * (m[0] * PetscCosReal(phi) - m[2] * PetscSinReal(phi)), size));
          else if (s < 4) assert_true(Near((s == 2 ? -1 : 1) * m[1], size));
          else assert_true((s == 4 ? -1 : 1) * (m[0] * c[0] + m[2] * (c[2] + 10)) > 0);
          if (s > 3 && flat) assert_true(Near(PetscAbsReal(m[2]), size));
        }
        assert_true(PetscAbsReal(sum / area[s] - 1) < 1e-13);
      }
      for (PetscInt k = 0; k < 3; k++)
        for (PetscInt j = 0; j < 4; j++)
          for (PetscInt i = 0; i < 5; i++) {
            const PetscReal *x = mesh->coord + 3 * ((k * 4 + j) * 5 + i), *y = mesh->coord + 3 * ((k * 4 + 3 - j) * 5 + 4 - i);
            const PetscReal  r = PetscSqrtReal(x[0] * x[0] + (x[2] + 10) * (x[2] + 10));

            assert_true(x[0] == -y[0] && x[1] == -y[1] && x[2] == y[2]);
            if (!flat || i % 4 == 0) assert_true(PetscAbsReal(r - (inner + 0.5 * k)) < 1e-14 * 10); /* on its circle */
            else assert_true(r < inner + 0.5 * k - 1e-4);
            if (!flat && i == 2 && k == 1) assert_true(x[0] == 0 && x[2] == 0); /* the origin is in the middle */
          }
      Ok(MeshDestroy(&mesh));
    }
}

/* Bad parameters: one line each, and no mesh */
static void test_parameters(void **state)
{
  const PetscReal cube[3] = {1, 1, 1}, zero[3] = {1, 0, 1}, below[3] = {1, 1, -2}, nan[3] = {NAN, 1, 1}, inf[3] = {1, INFINITY, 1};
  const PetscInt  one[3] = {1, 1, 1}, none[3] = {1, 1, 0}, minus[3] = {-3, 1, 1}, many[3] = {1000, 1000, 1000}, most[3] = {PETSC_MAX_INT, 1, 1}, ring[3] = {1, 3, 1}, wide[3] = {8, 1, 1}, two[3] = {1, 2, 1},
                 flat[3] = {0, 8, 1}, manyring[3] = {1, PETSC_MAX_INT, PETSC_MAX_INT};
  Mesh            mesh = NULL;

  (void)state;
  Refused(MeshCreateBox(zero, one, &mesh), "box: size 0. along y is not above zero");
  Refused(MeshCreateBox(below, one, &mesh), "box: size -2. along z is not above zero");
  Refused(MeshCreateBox(nan, one, &mesh), "box: size nan");
  Refused(MeshCreateBox(inf, one, &mesh), "box: size inf");
  Refused(MeshCreateBox(cube, none, &mesh), "box: 0 cells in direction 3; give 1 or more");
  Refused(MeshCreateBox(cube, minus, &mesh), "box: -3 cells in direction 1; give 1 or more");
  Refused(MeshCreateBox(cube, many, &mesh), "box: too many cells for one body");
  Refused(MeshCreateBox(cube, most, &mesh), "box: too many cells for one body");
  Refused(MeshCreatePipe(0, 1, 1, ring, &mesh), "pipe: inner_radius 0. is not above zero");
  Refused(MeshCreatePipe(1, 0, 1, ring, &mesh), "pipe: thickness 0. is not above zero");
  Refused(MeshCreatePipe(1, 1, -1, ring, &mesh), "pipe: length -1. is not above zero");
  Refused(MeshCreatePipe(INFINITY, 1, 1, ring, &mesh), "pipe: inner_radius inf");
  Refused(MeshCreatePipe(1, NAN, 1, ring, &mesh), "pipe: thickness nan");
  Refused(MeshCreatePipe(1, 1, 1, two, &mesh), "pipe: 2 cells around; give 3 or more");
  Refused(MeshCreatePipe(1, 1, 1, flat, &mesh), "pipe: 0 cells in direction 1");
  Refused(MeshCreatePipe(1, 1, 1, manyring, &mesh), "pipe: too many cells for one body");
  Refused(MeshCreateVoussoir(0, 1, 1, 10, one, PETSC_TRUE, &mesh), "voussoir: radius 0. is not above zero");
  Refused(MeshCreateVoussoir(1, -1, 1, 10, one, PETSC_TRUE, &mesh), "voussoir: thickness -1. is not above zero");
  Refused(MeshCreateVoussoir(1, 1, NAN, 10, one, PETSC_TRUE, &mesh), "voussoir: depth nan");
  Refused(MeshCreateVoussoir(1, 1, 1, INFINITY, one, PETSC_TRUE, &mesh), "voussoir: angle inf");
  Refused(MeshCreateVoussoir(1, 2, 1, 10, one, PETSC_TRUE, &mesh), "voussoir: thickness 2. is not below twice the radius 1. of its middle");
  Refused(MeshCreateVoussoir(1, 1, 1, 180, ring, PETSC_TRUE, &mesh), "voussoir: angle 180. is not below 180. degrees, as it must be with flat faces");
  Refused(MeshCreateVoussoir(1, 1, 1, 180, one, PETSC_FALSE, &mesh), "voussoir: angle 180. is not below 180. degrees, as it must be with one cell along the arc");
  Refused(MeshCreateVoussoir(1, 1, 1, 360, wide, PETSC_FALSE, &mesh), "voussoir: angle 360. is not below 360. degrees");
  Refused(MeshCreateVoussoir(1, 1, 1, 10, none, PETSC_TRUE, &mesh), "voussoir: 0 cells in direction 3");
  assert_null(mesh);
}

/* A bad mesh: what is said, and that the mesh is good again when the fault is mended */
static void test_check(void **state)
{
  Mesh            mesh;
  PetscInt       *conn, keep[8];
  PetscReal      *x, old;
  const PetscReal bad[] = {NAN, INFINITY, -INFINITY};

  (void)state;
  Box(1, 1, 1, 2, 1, 1, &mesh);
  conn = mesh->block->conn + 8;
  x    = mesh->coord;
  Ok(PetscArraycpy(keep, conn, 8));
  Ok(MeshCheck(mesh, "part 'b'"));
  conn[2] = mesh->nnode;
  Refused(MeshCheck(mesh, "part 'b'"), "part 'b': element 2 of block 'box' has node 13, but there are 12 nodes");
  conn[2] = -1;
  Refused(MeshCheck(mesh, "part 'b'"), "part 'b': element 2 of block 'box' has node 0, but there are 12 nodes");
  for (PetscInt a = 0; a < 4; a++) { /* top and bottom exchanged: left-handed */
    conn[a]     = keep[a + 4];
    conn[a + 4] = keep[a];
  }
  Refused(MeshCheck(mesh, "part 'b'"), "part 'b': element 2 of block 'box' is inverted or flat at its corner 1");
  for (PetscInt a = 0; a < 8; a++) conn[a] = keep[a % 4]; /* top on bottom */
  Refused(MeshCheck(mesh, "part 'b'"), "part 'b': element 2 of block 'box' is inverted or flat at its corner 1");
  Ok(PetscArraycpy(conn, keep, 8));
  for (PetscInt c = 0; c < 3; c++) { /* one corner pushed through the opposite ones: inverted there only */
    old                 = x[3 * conn[6] + c];
    x[3 * conn[6] + c] -= 3;
    Refused(MeshCheck(mesh, "part 'b'"), "part 'b': element 2 of block 'box' is inverted or flat at its corner");
    x[3 * conn[6] + c] = old;
  }
  for (size_t i = 0; i < 3; i++) {
    old         = x[3 * 4 + 1];
    x[3 * 4 + 1] = bad[i];
    Refused(MeshCheck(mesh, "part 'b'"), "part 'b': node 5 is not finite");
    x[3 * 4 + 1] = old;
  }
  mesh->block->nelem = mesh->nelem = 1;
  Refused(MeshCheck(mesh, "part 'b'"), "part 'b': node 3 belongs to no element");
  mesh->block->nelem = mesh->nelem = 0;
  Refused(MeshCheck(mesh, "part 'b'"), "part 'b': the mesh has no elements");
  mesh->block->nelem = mesh->nelem = 2;
  mesh->nodeset[1].node[2] = 12;
  Refused(MeshCheck(mesh, "part 'b'"), "part 'b': node set 'x_max' has node 13, but there are 12 nodes");
  mesh->nodeset[1].node[2] = 11;
  mesh->sideset[0].elem[0] = 2;
  Refused(MeshCheck(mesh, "part 'b'"), "part 'b': side set 'x_min' has element 3, but there are 2 elements");
  mesh->sideset[0].elem[0] = 0;
  mesh->sideset[0].side[0] = 6;
  Refused(MeshCheck(mesh, "part 'b'"), "part 'b': side set 'x_min' has side 7, but elements have 6 sides");
  mesh->sideset[0].side[0] = 3;
  Ok(MeshCheck(mesh, "part 'b'"));
  /* the unit of length does not matter */
  for (PetscInt i = 0; i < 3 * mesh->nnode; i++) x[i] *= 1e-30;
  Ok(MeshCheck(mesh, "small"));
  for (PetscInt i = 0; i < 3 * mesh->nnode; i++) x[i] *= 1e60;
  Ok(MeshCheck(mesh, "large"));
  /* nor how thin an element is, as long as it has a volume */
  for (PetscInt i = 0; i < mesh->nnode; i++) x[3 * i + 2] *= 1e-9;
  Ok(MeshCheck(mesh, "thin"));
  for (PetscInt i = 0; i < mesh->nnode; i++) x[3 * i + 2] = 0;
  Refused(MeshCheck(mesh, "none"), "none: element 1 of block 'box' is inverted or flat");
  Ok(MeshDestroy(&mesh));
}

/* The table that the options are read by makes the same meshes */
static void test_generators(void **state)
{
  const PetscReal box[6] = {1, 2, 3, 2, 2, 2}, pipe[6] = {1, 2, 3, 4, 5, 6}, voussoir[8] = {2, 1, 5, 60, 2, 3, 4, 1};
  PetscInt        n = 0;
  Mesh            mesh;

  (void)state;
  for (; MeshGenerators[n]; n++) {
    assert_non_null(MeshGenerators[n]->help);
    for (PetscInt i = 0; i < MeshGenerators[n]->nparam; i++) assert_true(MeshGenerators[n]->param[i].count >= 1);
  }
  assert_int_equal(n, 4);
  assert_string_equal(MeshGenerators[0]->type, "box");
  Ok(MeshGenerators[0]->create(box, NULL, &mesh));
  assert_int_equal(mesh->nelem, 8);
  assert_true(Near(Total(mesh), 6));
  Ok(MeshDestroy(&mesh));
  assert_string_equal(MeshGenerators[1]->type, "pipe");
  Ok(MeshGenerators[1]->create(pipe, NULL, &mesh));
  assert_int_equal(mesh->nelem, 120);
  assert_true(PetscAbsReal(Total(mesh) / (2.5 * PetscSinReal(2 * PETSC_PI / 5) * 8 * 3) - 1) < 1e-13);
  Ok(MeshDestroy(&mesh));
  assert_string_equal(MeshGenerators[2]->type, "voussoir");
  Ok(MeshGenerators[2]->create(voussoir, NULL, &mesh));
  assert_int_equal(mesh->nelem, 24);
  assert_true(PetscAbsReal(Total(mesh) / (0.5 * PetscSqrtReal(0.75) * 4 * 5) - 1) < 1e-13); /* flat: of 6 equilateral triangles, 2.5^2 - 1.5^2 */
  Ok(MeshDestroy(&mesh));
}

/* Sets are found by their very name; by a number only those that a file gave no name */
static void test_find(void **state)
{
  static const char *const none[] = {"", "x", "x_mi", "x_minn", "X_min", "xmin", "0", "1", "side", "sideset_", "nodeset_"};
  const MeshNodeSet       *nodes;
  const MeshSideSet       *sides;
  Mesh                     mesh;

  (void)state;
  Box(1, 1, 1, 2, 1, 1, &mesh);
  for (size_t i = 0; i < sizeof(none) / sizeof(none[0]); i++) {
    Ok(MeshFindNodeSet(mesh, none[i], &nodes));
    Ok(MeshFindSideSet(mesh, none[i], &sides));
    assert_true(!nodes && !sides);
  }
  assert_ptr_equal(NodeSet(mesh, "z_max"), &mesh->nodeset[5]);
  assert_ptr_equal(SideSet(mesh, "z_max"), &mesh->sideset[5]);
  Ok(PetscFree(mesh->nodeset[1].name));
  Ok(PetscStrallocpy("nodeset_12", &mesh->nodeset[1].name));
  Ok(PetscFree(mesh->sideset[2].name));
  Ok(PetscStrallocpy("sideset_12", &mesh->sideset[2].name));
  assert_ptr_equal(NodeSet(mesh, "12"), &mesh->nodeset[1]);
  assert_ptr_equal(NodeSet(mesh, "nodeset_12"), &mesh->nodeset[1]);
  assert_ptr_equal(SideSet(mesh, "12"), &mesh->sideset[2]);
  Ok(MeshFindSideSet(mesh, "1", &sides));
  assert_null(sides);
  Ok(MeshFindSideSet(mesh, "nodeset_12", &sides));
  assert_null(sides);
  Ok(MeshFindNodeSet(mesh, "2", &nodes));
  assert_null(nodes);
  Ok(MeshDestroy(&mesh));
}

static void test_view(void **state)
{
  const char *path = UnitPath("view");
  char       *text;
  size_t      n;
  Mesh        mesh;
  PetscViewer viewer;

  (void)state;
  Box(1, 1, 1, 2, 2, 1, &mesh);
  Ok(PetscViewerASCIIOpen(PETSC_COMM_SELF, path, &viewer));
  Ok(MeshView(mesh, viewer));
  Ok(PetscViewerDestroy(&viewer));
  text = (char *)UnitReadFile(path, &n);
  assert_non_null(strstr(text, "Mesh: 18 nodes, 4 elements\n  block box: 4 hex8\n  node set x_min: 6\n"));
  assert_non_null(strstr(text, "  side set z_max: 4\n"));
  free(text);
  unlink(path);
  Ok(MeshDestroy(&mesh));
}

int main(void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_box), cmocka_unit_test(test_pipe), cmocka_unit_test(test_voussoir), cmocka_unit_test(test_parameters), cmocka_unit_test(test_check), cmocka_unit_test(test_generators), cmocka_unit_test(test_find), cmocka_unit_test(test_view),
  };

  return UNIT_MAIN("mesh", tests);
}
