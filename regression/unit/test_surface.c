/* Surface: facets, edges, patches, curves, thickness and tree of meshes whose counts and sizes are known otherwise. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include "meshes/surface.h"
#include <petsctime.h>
#include <petscviewer.h>

#define CALL(x) assert_int_equal((int)(x), 0)

static void Box(PetscInt nx, PetscInt ny, PetscInt nz, Mesh *mesh)
{
  const PetscReal size[3]  = {1, 1, 1};
  const PetscInt  cells[3] = {nx, ny, nz};

  CALL(MeshCreateBox(size, cells, mesh));
}

static void Pipe(PetscInt along, PetscInt around, PetscInt through, Mesh *mesh)
{
  const PetscInt cells[3] = {along, around, through};

  CALL(MeshCreatePipe(2, 0.5, 3, cells, mesh));
  CALL(MeshCheck(*mesh, "pipe")); /* no inverted elements: normals below are outward only then */
}

/* Unit cubes at given places of a 3 x 3 x 3 lattice, one block each */
static void Cubes(PetscInt n, const PetscInt at[][3], Mesh *mesh)
{
  static const PetscInt corner[8][3] = {{0, 0, 0}, {1, 0, 0}, {1, 1, 0}, {0, 1, 0}, {0, 0, 1}, {1, 0, 1}, {1, 1, 1}, {0, 1, 1}};
  PetscInt              number[64];
  Mesh                  m;

  CALL(MeshCreate(&m));
  CALL(PetscMalloc1(3 * 64, &m->coord));
  CALL(PetscCalloc1(n, &m->block));
  m->nblock = m->nelem = n;
  for (PetscInt i = 0; i < 64; i++) number[i] = -1;
  for (PetscInt e = 0; e < n; e++) {
    MeshBlock *b = &m->block[e];

    CALL(PetscStrallocpy("cube", &b->name));
    CALL(PetscStrcpy(b->type, "hex8"));
    b->nelem = 1;
    b->nnode = 8;
    CALL(PetscMalloc1(8, &b->conn));
    for (PetscInt a = 0; a < 8; a++) {
      PetscInt i[3], l;

      for (PetscInt d = 0; d < 3; d++) i[d] = at[e][d] + corner[a][d];
      l = (i[2] * 4 + i[1]) * 4 + i[0];
      if (number[l] < 0) {
        for (PetscInt d = 0; d < 3; d++) m->coord[3 * m->nnode + d] = i[d];
        number[l] = m->nnode++;
      }
      b->conn[a] = number[l];
    }
  }
  *mesh = m;
}

static PetscInt Count(Surface s, SurfaceEdgeKind kind)
{
  PetscInt n = 0;

  for (PetscInt e = 0; e < s->nedge; e++) n += s->edge[e].kind == kind;
  return n;
}

static const PetscReal *X(Surface s, PetscInt v)
{
  return s->coord + 3 * v;
}

/* Volume by the divergence theorem over triangles, and the sum of area vectors, from coordinates and node order alone */
static PetscReal Volume(Surface s, PetscReal sum[3], PetscReal *area)
{
  PetscReal volume = 0;

  sum[0] = sum[1] = sum[2] = *area = 0;
  for (PetscInt f = 0; f < s->nfacet; f++)
    for (PetscInt h = 0; h < s->facet[f].nnode - 2; h++) {
      const PetscReal *a = X(s, s->facet[f].node[0]), *b = X(s, s->facet[f].node[h + 1]), *c = X(s, s->facet[f].node[h + 2]);
      PetscReal        n[3];

      for (PetscInt d = 0; d < 3; d++) {
        const PetscInt p = (d + 1) % 3, q = (d + 2) % 3;

        n[d] = 0.5 * ((b[p] - a[p]) * (c[q] - a[q]) - (b[q] - a[q]) * (c[p] - a[p]));
        sum[d] += n[d];
      }
      volume += (a[0] * n[0] + a[1] * n[1] + a[2] * n[2]) / 3;
      *area += PetscSqrtReal(n[0] * n[0] + n[1] * n[1] + n[2] * n[2]);
    }
  return volume;
}

/* What holds for every surface */
static void Check(Mesh mesh, Surface s, PetscReal volume)
{
  PetscInt  *nodes, *edges, *seen, nmeet = 0;
  PetscReal  sum[3], area, area2 = 0, v;
  PetscBool  meet, back;

  v = Volume(s, sum, &area);
  assert_true(PetscAbsReal(v - volume) < 1e-12 * volume);
  for (PetscInt d = 0; d < 3; d++) assert_true(PetscAbsReal(sum[d]) < 1e-13 * area);
  CALL(PetscCalloc3(s->nnode, &nodes, s->nedge, &edges, s->nfacet, &seen));
  for (PetscInt f = 0; f < s->nfacet; f++) {
    const SurfaceFacet *q = &s->facet[f];
    const PetscInt     *conn = NULL;

    for (PetscInt b = 0, e = q->elem; b < mesh->nblock && !conn; e -= mesh->block[b++].nelem)
      if (e < mesh->block[b].nelem) conn = mesh->block[b].conn + 8 * e;
    assert_true(q->nnode == 3 || q->nnode == 4);
    assert_true(q->node[3] == q->node[q->nnode - 1] && (q->nnode == 4 || q->edge[3] == -1));
    assert_true(PetscAbsReal(q->normal[0] * q->normal[0] + q->normal[1] * q->normal[1] + q->normal[2] * q->normal[2] - 1) < 1e-14);
    area2 += q->area;
    for (PetscInt k = 0; k < q->nnode; k++) {
      const PetscInt     a = q->node[k], b = q->node[(k + 1) % q->nnode];
      const SurfaceEdge *e = &s->edge[q->edge[k]];
      PetscInt           h = e->facet[0] == f ? 0 : 1, ring = 0;
      PetscReal          l = 0;

      assert_int_equal(s->node[a], conn[MeshHex8Side[q->side][q->corner[k]]]);
      assert_int_equal(s->local[s->node[a]], a);
      for (PetscInt d = 0; d < 3; d++) {
        assert_true(X(s, a)[d] == mesh->coord[3 * s->node[a] + d]);
        l += PetscSqr(X(s, b)[d] - X(s, a)[d]);
      }
      assert_true(q->ell <= PetscSqrtReal(l) * (1 + 1e-14));
      assert_true(e->facet[h] == f && e->node[h] == a && e->node[1 - h] == b && e->node[0] < e->node[1]);
      if (q->owned_nodes >> k & 1) {
        nodes[a]++;
        assert_int_equal(s->node_owner[a], f);
      }
      if (q->owned_edges >> k & 1) {
        edges[q->edge[k]]++;
        assert_int_equal(e->owner, f);
      }
      for (PetscInt i = s->ring_facet_ptr[a]; i < s->ring_facet_ptr[a + 1]; i++) ring += s->ring_facet[i] == f;
      assert_int_equal(ring, 1);
      assert_int_equal(e->kind == SURFACE_EDGE_FLAT, e->kind == SURFACE_EDGE_FLAT && s->facet[e->facet[0]].patch == s->facet[e->facet[1]].patch);
      CALL(SurfacePatchesMeet(s, s->facet[e->facet[0]].patch, s->facet[e->facet[1]].patch, &meet));
      CALL(SurfacePatchesMeet(s, s->facet[e->facet[1]].patch, s->facet[e->facet[0]].patch, &back));
      assert_int_equal(meet, back);
      if (e->kind == SURFACE_EDGE_CONVEX) assert_true(meet);
    }
    assert_true(q->owned_nodes >> q->nnode == 0 && q->owned_edges >> q->nnode == 0);
    assert_true(q->tau > 0 && q->tau <= s->size * (1 + 1e-12));
  }
  assert_true(area2 <= area * (1 + 1e-12));
  assert_int_equal(s->ring_ptr[s->nnode], 2 * s->nedge);
  for (PetscInt a = 0; a < s->nnode; a++) {
    PetscInt nconvex = 0;

    assert_int_equal(nodes[a], 1);
    assert_true(s->ring_ptr[a + 1] - s->ring_ptr[a] >= 3);
    assert_int_equal(s->ring_ptr[a + 1] - s->ring_ptr[a], s->ring_facet_ptr[a + 1] - s->ring_facet_ptr[a]);
    for (PetscInt i = s->ring_ptr[a]; i < s->ring_ptr[a + 1]; i++) {
      const SurfaceEdge *e = &s->edge[s->ring_edge[i]];

      assert_true((e->node[0] == a && e->node[1] == s->ring_node[i]) || (e->node[1] == a && e->node[0] == s->ring_node[i]));
      nconvex += e->kind == SURFACE_EDGE_CONVEX;
    }
    assert_int_equal(nconvex, s->node_nconvex[a]);
  }
  for (PetscInt e = 0; e < s->nedge; e++) {
    const PetscBool convex = (PetscBool)(s->edge[e].kind == SURFACE_EDGE_CONVEX);

    assert_int_equal(edges[e], convex);
    assert_int_equal(s->edge[e].curve >= 0, convex);
    assert_int_equal(s->edge[e].owner >= 0, convex);
    assert_int_equal(s->edge[e].angle >= SURFACE_ANGLE, convex);
  }
  for (PetscInt p = 0; p < s->npatch; p++) {
    const PetscReal *n = s->patch[p].normal, *t = s->patch[p].dir;

    assert_true(PetscAbsReal(t[0] * t[0] + t[1] * t[1] + t[2] * t[2] - 1) < 1e-14);
    assert_true(PetscAbsReal(t[0] * n[0] + t[1] * n[1] + t[2] * n[2]) < 1e-12);
    nmeet += s->meet_ptr[p + 1] - s->meet_ptr[p];
  }
  assert_true(nmeet <= 2 * Count(s, SURFACE_EDGE_CONVEX));
  for (PetscInt c = 0; c < s->ncurve; c++) {
    const PetscReal *t = s->curve[c].dir;

    assert_true(PetscAbsReal(t[0] * t[0] + t[1] * t[1] + t[2] * t[2] - 1) < 1e-14);
  }
  /* the tree: every facet in one leaf, boxes around all that is below */
  for (PetscInt i = 0; i < s->ntree; i++) {
    const SurfaceTreeNode *t = &s->tree[i];
    const PetscReal       *b = s->tree_box + 6 * i;

    assert_true(t->count > 0 && (t->right ? t->count > 2 : t->count <= 2));
    if (t->right) {
      assert_int_equal(s->tree[i + 1].first, t->first);
      assert_int_equal(s->tree[t->right].first, t->first + s->tree[i + 1].count);
      assert_int_equal(s->tree[i + 1].count + s->tree[t->right].count, t->count);
    }
    for (PetscInt k = t->first; k < t->first + t->count; k++) {
      const PetscInt f = s->tree_facet[k];

      if (!t->right) seen[f]++;
      for (PetscInt a = 0; a < s->facet[f].nnode; a++)
        for (PetscInt d = 0; d < 3; d++) assert_true(b[d] <= X(s, s->facet[f].node[a])[d] && X(s, s->facet[f].node[a])[d] <= b[3 + d]);
    }
  }
  for (PetscInt f = 0; f < s->nfacet; f++) assert_int_equal(seen[f], 1);
  assert_true(s->tree_depth <= 1 + (PetscInt)PetscCeilReal(PetscLog2Real((PetscReal)s->nfacet)));
  CALL(PetscFree3(nodes, edges, seen));
}

static void test_cube(void **state)
{
  const PetscReal out[6][3] = {{0, -1, 0}, {1, 0, 0}, {0, 1, 0}, {-1, 0, 0}, {0, 0, -1}, {0, 0, 1}};
  Mesh            mesh;
  Surface         s = NULL;

  (void)state;
  CALL(SurfaceDestroy(&s));
  Box(1, 1, 1, &mesh);
  CALL(SurfaceCreate(mesh, &s));
  Check(mesh, s, 1);
  assert_int_equal(s->nnode, 8);
  assert_int_equal(s->nfacet, 6);
  assert_int_equal(s->npatch, 6);
  assert_int_equal(s->nedge, 12);
  assert_int_equal(Count(s, SURFACE_EDGE_CONVEX), 12);
  assert_int_equal(s->ncurve, 12);
  assert_int_equal(s->meet_ptr[6], 24); /* each meets four others */
  assert_true(PetscAbsReal(s->size - PetscSqrtReal(3)) < 1e-15);
  for (PetscInt f = 0; f < 6; f++) {
    assert_int_equal(s->facet[f].side, f);
    assert_true(PetscAbsReal(s->facet[f].tau - 1) < 1e-15 && PetscAbsReal(s->facet[f].ell - 1) < 1e-15 && PetscAbsReal(s->facet[f].area - 1) < 1e-15);
    for (PetscInt d = 0; d < 3; d++) assert_true(PetscAbsReal(s->facet[f].normal[d] - out[f][d]) < 1e-15);
  }
  for (PetscInt e = 0; e < 12; e++) assert_true(PetscAbsReal(s->edge[e].angle - PETSC_PI / 2) < 1e-14);
  for (PetscInt v = 0; v < 8; v++) assert_int_equal(s->node_nconvex[v], 3);
  CALL(SurfaceDestroy(&s));
  assert_null(s);
  CALL(MeshDestroy(&mesh));
}

static void test_box(void **state)
{
  Mesh     mesh;
  Surface  s;
  PetscInt inner = 0;

  (void)state;
  Box(3, 3, 3, &mesh);
  CALL(SurfaceCreate(mesh, &s));
  Check(mesh, s, 1);
  assert_int_equal(s->nnode, 56); /* of 64 */
  assert_int_equal(s->nfacet, 54);
  assert_int_equal(s->npatch, 6);
  assert_int_equal(s->ncurve, 12);
  assert_int_equal(Count(s, SURFACE_EDGE_CONVEX), 36);
  assert_int_equal(Count(s, SURFACE_EDGE_CONCAVE), 0);
  assert_int_equal(s->nnode - s->nedge + s->nfacet, 2); /* Euler */
  for (PetscInt f = 0; f < s->nfacet; f++) assert_true(PetscAbsReal(s->facet[f].tau - 1) < 1e-14 && PetscAbsReal(s->facet[f].ell - 1. / 3) < 1e-15);
  for (PetscInt p = 0; p < 6; p++) assert_true(s->patch[p].n == 9 && s->patch[p].spread < 1e-14);
  for (PetscInt c = 0; c < 12; c++) assert_true(s->curve[c].n == 3 && s->curve[c].spread < 1e-14);
  for (PetscInt v = 0; v < s->nnode; v++) inner += s->node_nconvex[v] == 0;
  assert_int_equal(inner, 6 * 4);
  for (PetscInt v = 0; v < mesh->nnode; v++) { /* the 8 inner nodes are those off every face */
    PetscBool inside = PETSC_TRUE;

    for (PetscInt d = 0; d < 3; d++) inside = (PetscBool)(inside && PetscAbsReal(mesh->coord[3 * v + d]) < 0.4);
    assert_int_equal(s->local[v] < 0, inside);
  }
  CALL(SurfaceDestroy(&s));
  CALL(MeshDestroy(&mesh));
}

static void CheckView(Surface s, const char what[])
{
  char        dir[] = "/tmp/test_surface.XXXXXX", name[64], text[1024];
  PetscViewer viewer;
  FILE       *file;
  size_t      n;

  assert_non_null(mkdtemp(dir));
  CALL(PetscSNPrintf(name, sizeof(name), "%s/view", dir));
  CALL(PetscViewerASCIIOpen(PETSC_COMM_SELF, name, &viewer));
  CALL(SurfaceView(s, viewer));
  CALL(PetscViewerDestroy(&viewer));
  file = fopen(name, "r");
  assert_non_null(file);
  n       = fread(text, 1, sizeof(text) - 1, file);
  text[n] = 0;
  fclose(file);
  assert_non_null(strstr(text, what));
  assert_int_equal(remove(name), 0);
  assert_int_equal(remove(dir), 0);
}

static void test_pipe(void **state)
{
  /* around, patches, curves: 2 degrees and more make strips and ridges, less makes one smooth face and one round curve */
  const PetscInt cases[3][3] = {{36, 74, 180}, {180, 362, 900}, {200, 4, 4}};
  (void)state;
  for (PetscInt i = 0; i < 3; i++) {
    const PetscInt  n = cases[i][0], along = i ? 2 : 36, through = i ? 1 : 4;
    const PetscReal c = PetscCosReal(PETSC_PI / n), wall = 0.5 * n * PetscSinReal(2 * PETSC_PI / n) * (2.5 * 2.5 - 2 * 2);
    Mesh            mesh;
    Surface         s;

    Pipe(along, n, through, &mesh);
    CALL(SurfaceCreate(mesh, &s));
    Check(mesh, s, wall * 3);
    assert_int_equal(s->nfacet, 2 * n * along + 2 * n * through);
    assert_int_equal(s->npatch, cases[i][1]);
    assert_int_equal(s->ncurve, cases[i][2]);
    assert_int_equal(s->nnode - s->nedge + s->nfacet, 0); /* Euler: a torus */
    assert_int_equal(Count(s, SURFACE_EDGE_CONCAVE), i < 2 ? n * along : 0);
    assert_int_equal(Count(s, SURFACE_EDGE_CONVEX), (i < 2 ? n * along : 0) + 4 * n);
    for (PetscInt f = 0; f < s->nfacet; f++) {
      const PetscBool end = (PetscBool)(PetscAbsReal(s->facet[f].normal[0]) > 0.5);

      assert_true(PetscAbsReal(s->facet[f].tau - (end ? 3 : 0.5 * c)) < 1e-12);
    }
    for (PetscInt k = 0; k < s->ncurve && i < 2; k++) {
      const PetscReal *t = s->curve[k].dir;

      assert_true(s->curve[k].spread < 1e-12);
      assert_true(s->curve[k].n == along ? PetscAbsReal(PetscAbsReal(t[0]) - 1) < 1e-12 : s->curve[k].n == 1 && PetscAbsReal(t[0]) < 1e-12);
    }
    for (PetscInt k = 0; k < s->npatch && i < 2; k++) assert_true(s->patch[k].spread < 1e-10);
    if (i == 2) { /* it is told that smooth is not plane */
      PetscInt round = 0;

      for (PetscInt k = 0; k < s->npatch; k++) round += s->patch[k].spread > 1;
      assert_int_equal(round, 2);
      for (PetscInt k = 0; k < s->ncurve; k++) assert_true(s->curve[k].spread > 1);
    }
    if (i == 0) CheckView(s, "3024 flat, 1440 convex, 1296 concave; 74 patches, 180 curves");
    CALL(SurfaceDestroy(&s));
    CALL(MeshDestroy(&mesh));
  }
}

static void test_l_shape(void **state)
{
  const PetscInt at[3][3] = {{0, 0, 0}, {1, 0, 0}, {0, 1, 0}};
  PetscInt       walls[2] = {-1, -1}, n = 0;
  PetscBool      meet;
  Mesh           mesh;
  Surface        s;

  (void)state;
  Cubes(3, at, &mesh);
  CALL(SurfaceCreate(mesh, &s));
  Check(mesh, s, 3);
  assert_int_equal(s->nfacet, 14);
  assert_int_equal(s->npatch, 8);
  assert_int_equal(Count(s, SURFACE_EDGE_FLAT), 6);
  assert_int_equal(Count(s, SURFACE_EDGE_CONVEX), 21);
  assert_int_equal(Count(s, SURFACE_EDGE_CONCAVE), 1);
  assert_int_equal(s->ncurve, 17);
  for (PetscInt e = 0; e < s->nedge; e++)
    if (s->edge[e].kind == SURFACE_EDGE_CONCAVE) {
      for (PetscInt h = 0; h < 2; h++) {
        assert_true(X(s, s->edge[e].node[h])[0] == 1 && X(s, s->edge[e].node[h])[1] == 1);
        walls[h] = s->facet[s->edge[e].facet[h]].patch;
      }
      assert_true(PetscAbsReal(s->edge[e].angle + PETSC_PI / 2) < 1e-14);
    }
  CALL(SurfacePatchesMeet(s, walls[0], walls[1], &meet));
  assert_false(meet);
  for (PetscInt p = 0; p < s->npatch; p++)
    if (PetscAbsReal(s->patch[p].normal[2]) > 0.5) { /* top and bottom */
      assert_int_equal(s->patch[p].n, 3);
      for (PetscInt h = 0; h < 2; h++) {
        CALL(SurfacePatchesMeet(s, p, walls[h], &meet));
        assert_true(meet);
      }
      n++;
    }
  assert_int_equal(n, 2);
  for (PetscInt f = 0; f < s->nfacet; f++) { /* across the long leg 2, else 1 */
    const PetscReal *nf   = s->facet[f].normal;
    const PetscBool  long_ = (PetscBool)((s->facet[f].elem != 2 && PetscAbsReal(nf[0]) > 0.5) || (s->facet[f].elem != 1 && PetscAbsReal(nf[1]) > 0.5));

    assert_true(PetscAbsReal(s->facet[f].tau - (long_ ? 2 : 1)) < 1e-14);
  }
  CALL(SurfaceDestroy(&s));
  CALL(MeshDestroy(&mesh));
}

/* One corner of a cube raised by h: corner normals are h/sqrt(2) off the mean. Volumes are those of the convex hull. */
static void test_warped(void **state)
{
  const PetscReal raise[4]  = {0.2, -0.2, 0.045, 0.055}, volume[4] = {1 + 0.2 / 3, 1 - 0.1 / 3, 0, 1 + 0.055 / 3};
  const PetscInt  at[1][3] = {{0, 0, 0}};

  (void)state;
  for (PetscInt i = 0; i < 4; i++)
    for (PetscInt corner = 4; corner < 8; corner++) { /* every corner of the top in turn */
      Mesh    mesh;
      Surface s;

      Cubes(1, at, &mesh);
      mesh->coord[3 * corner + 2] += raise[i];
      CALL(SurfaceCreate(mesh, &s));
      if (i == 2) {
        assert_int_equal(s->nfacet, 6);
        assert_int_equal(Count(s, SURFACE_EDGE_CONVEX), 12);
      } else {
        PetscInt found = 0;

        Check(mesh, s, volume[i]);
        assert_int_equal(s->nfacet, 7);
        assert_int_equal(s->nedge, 13);
        assert_int_equal(Count(s, SURFACE_EDGE_CONVEX), 13);
        assert_int_equal(s->npatch, 7);
        for (PetscInt e = 0; e < s->nedge; e++) { /* the diagonal runs through the raised corner, passes by a lowered one */
          const SurfaceEdge *d = &s->edge[e];

          if (s->facet[d->facet[0]].side != 5 || s->facet[d->facet[1]].side != 5) continue;
          found++;
          assert_int_equal(d->node[0] == corner || d->node[1] == corner, raise[i] > 0);
        }
        assert_int_equal(found, 1);
      }
      CALL(SurfaceDestroy(&s));
      CALL(MeshDestroy(&mesh));
    }
}

static char message[2048];
static PetscErrorCode Catch(MPI_Comm comm, int line, const char *fun, const char *file, PetscErrorCode n, PetscErrorType p, const char *mess, void *ctx)
{
  (void)comm, (void)line, (void)fun, (void)file, (void)ctx;
  if (p == PETSC_ERROR_INITIAL) (void)PetscStrncpy(message, mess, sizeof(message));
  return n;
}

static void Refused(Mesh mesh, const char what[])
{
  Surface s = (Surface)&s;

  message[0] = 0;
  CALL(PetscPushErrorHandler(Catch, NULL));
  assert_int_equal(SurfaceCreate(mesh, &s), PETSC_ERR_USER_INPUT);
  CALL(PetscPopErrorHandler());
  assert_null(s);
  if (!strstr(message, what)) fail_msg("'%s' lacks '%s'", message, what);
  assert_null(strchr(message, '\n'));
}

static void test_refused(void **state)
{
  const PetscInt edge[2][3] = {{0, 0, 0}, {1, 1, 0}}, corner[2][3] = {{0, 0, 0}, {1, 1, 1}}, twice[2][3] = {{0, 0, 0}, {0, 0, 0}}, thrice[3][3] = {{1, 0, 0}, {0, 0, 0}, {0, 0, 0}};
  Mesh           mesh;
  Surface        s;

  (void)state;
  Cubes(2, edge, &mesh);
  Refused(mesh, "node 3 to 7 at (1., 1., 0.5): 4 outer faces");
  CALL(MeshDestroy(&mesh));
  Cubes(2, twice, &mesh);
  Refused(mesh, "elements 1 and 2 of the mesh overlap");
  CALL(MeshDestroy(&mesh));
  Cubes(3, thrice, &mesh);
  Refused(mesh, "elements 1, 2 and 3 of the mesh share one face");
  CALL(MeshDestroy(&mesh));
  Cubes(2, edge, &mesh);
  CALL(PetscStrcpy(mesh->block[1].type, "tet4"));
  Refused(mesh, "tet4");
  CALL(MeshDestroy(&mesh));
  Cubes(2, corner, &mesh); /* every edge is sound here */
  CALL(SurfaceCreate(mesh, &s));
  assert_int_equal(s->nfacet, 12);
  assert_int_equal(Count(s, SURFACE_EDGE_CONVEX), 24);
  CALL(SurfaceDestroy(&s));
  CALL(MeshDestroy(&mesh));
}

static PetscReal Random(PetscInt64 *seed) /* in (0, 1) */
{
  *seed = (*seed * 1103515245 + 12345) % 2147483648;
  return (*seed + 0.5) / 2147483648.;
}

static void test_query(void **state)
{
  PetscInt64 seed = 7;
  PetscInt  *list, *hit, n, total = 0;
  PetscReal *x, *box;
  Mesh       mesh;
  Surface    s;

  (void)state;
  Pipe(7, 24, 2, &mesh);
  CALL(SurfaceCreate(mesh, &s));
  CALL(PetscMalloc2(s->nfacet, &list, s->nfacet, &hit));
  for (PetscInt i = 0; i < 300; i++) {
    PetscReal      low[3], high[3];
    const PetscReal size = PetscPowReal(10, -2 + 2.5 * Random(&seed));
    PetscInt       brute = 0;

    for (PetscInt d = 0; d < 3; d++) {
      low[d]  = -3 + 6 * Random(&seed);
      high[d] = low[d] + size * Random(&seed) * 4;
    }
    if (i % 3 == 0) /* corners of facets: boxes that only touch */
      for (PetscInt d = 0; d < 3; d++) low[d] = high[d] = X(s, i % s->nnode)[d];
    CALL(SurfaceTreeQuery(s, low, high, &n, list));
    CALL(PetscArrayzero(hit, s->nfacet));
    for (PetscInt k = 0; k < n; k++) hit[list[k]]++;
    for (PetscInt f = 0; f < s->nfacet; f++) {
      PetscBool touch = PETSC_TRUE;

      for (PetscInt d = 0; d < 3; d++) {
        PetscReal l = X(s, s->facet[f].node[0])[d], h = l;

        for (PetscInt k = 1; k < s->facet[f].nnode; k++) {
          l = PetscMin(l, X(s, s->facet[f].node[k])[d]);
          h = PetscMax(h, X(s, s->facet[f].node[k])[d]);
        }
        if (l > high[d] || h < low[d]) touch = PETSC_FALSE;
      }
      assert_int_equal(hit[f], touch);
      brute += touch;
    }
    if (i % 3 == 0) assert_true(brute >= 3);
    assert_int_equal(n, brute);
    total += n;
  }
  if (total < 1000) fail_msg("only %d hits", (int)total);
  CALL(PetscFree2(list, hit));
  /* boxes of a body that moved and turned by 90 degrees about z: (x, y) -> (-y, x), exactly */
  CALL(PetscMalloc2(3 * s->nnode, &x, 6 * s->ntree, &box));
  for (PetscInt v = 0; v < s->nnode; v++) {
    x[3 * v]     = 4 - X(s, v)[1];
    x[3 * v + 1] = X(s, v)[0];
    x[3 * v + 2] = X(s, v)[2];
  }
  CALL(SurfaceTreeRefit(s, x, box));
  for (PetscInt i = 0; i < s->ntree; i++) {
    const PetscReal *a = s->tree_box + 6 * i, *b = box + 6 * i;

    assert_true(b[0] == 4 - a[4] && b[3] == 4 - a[1] && b[1] == a[0] && b[4] == a[3] && b[2] == a[2] && b[5] == a[5]);
  }
  CALL(PetscFree2(x, box));
  CALL(SurfaceDestroy(&s));
  CALL(MeshDestroy(&mesh));
}

/* A ray from the axis of a pipe first enters the wall, then leaves it: only leaving counts. Then edges of a body that bent. */
static void test_ray_and_bend(void **state)
{
  const PetscReal o[3] = {0.1, 0, 0}, away[3] = {10, 0, 0};
  PetscReal       t;
  PetscInt        f, convex = 0, concave = 0;
  SurfaceEdgeKind kind[64];
  Mesh            mesh;
  Surface         s;

  (void)state;
  Pipe(3, 24, 2, &mesh);
  CALL(SurfaceCreate(mesh, &s));
  for (PetscInt i = 0; i < 24; i++) {
    const PetscReal a = 2 * PETSC_PI * (i + 0.5) / 24, d[3] = {0, 2 * PetscSinReal(a), -2 * PetscCosReal(a)};

    CALL(SurfaceTreeRay(s, o, d, -1, &f, &t));
    assert_true(f >= 0 && s->facet[f].side == 5);
    assert_true(PetscAbsReal(t - 2.5 * PetscCosReal(PETSC_PI / 24) / 2) < 1e-13);
    CALL(SurfaceTreeRay(s, away, d, -1, &f, &t));
    assert_true(f == -1 && t > 1e100);
  }
  CALL(SurfaceDestroy(&s));
  CALL(MeshDestroy(&mesh));
  Box(2, 1, 1, &mesh);
  CALL(SurfaceCreate(mesh, &s));
  assert_int_equal(s->nedge, 20);
  CALL(SurfaceClassifyEdges(s, s->coord, kind));
  for (PetscInt e = 0; e < s->nedge; e++) assert_int_equal(kind[e], s->edge[e].kind);
  for (PetscInt v = 0; v < s->nnode; v++)
    if (s->coord[3 * v] == 0) s->coord[3 * v + 2] -= 0.2; /* sags: top concave, bottom convex across the middle */
  CALL(SurfaceClassifyEdges(s, s->coord, kind));
  for (PetscInt e = 0; e < s->nedge; e++) {
    if (s->edge[e].kind != SURFACE_EDGE_FLAT) assert_int_equal(kind[e], SURFACE_EDGE_CONVEX);
    else if (kind[e] == SURFACE_EDGE_CONVEX) convex += X(s, s->edge[e].node[0])[2] < 0;
    else if (kind[e] == SURFACE_EDGE_CONCAVE) concave += X(s, s->edge[e].node[0])[2] > 0;
  }
  assert_true(convex == 1 && concave == 1);
  CALL(SurfaceDestroy(&s));
  CALL(MeshDestroy(&mesh));
}

/* Features do not change with units or placement: same numbers everywhere, lengths in proportion */
static void test_invariance(void **state)
{
  const PetscReal scales[4] = {1, 1e-3, 1024, 1e-3};
  const PetscReal c = PetscCosReal(0.7), d = PetscSinReal(0.7), p = PetscCosReal(-1.1), q = PetscSinReal(-1.1);

  (void)state;
  for (PetscInt shape = 0; shape < 4; shape++) {
    Surface first = NULL;

    for (PetscInt i = 0; i < 4; i++) {
      PetscInt64 seed = 3;
      Mesh       mesh;
      Surface    s;

      if (shape == 0) Pipe(4, 36, 2, &mesh);
      else if (shape == 1) Pipe(2, 180, 1, &mesh); /* angles of 2 degrees */
      else Box(4, 3, 5, &mesh);
      for (PetscInt v = 0; v < mesh->nnode; v++) {
        PetscReal *x = mesh->coord + 3 * v, y[3];

        for (PetscInt k = 0; k < 3 && shape == 3; k++) x[k] += 0.03 * (Random(&seed) - 0.5); /* warped all over */
        if (i == 3) { /* turned twice and moved */
          y[0] = c * x[0] - d * x[1];
          y[1] = d * x[0] + c * x[1];
          y[2] = x[2];
          x[0] = y[0] + 3;
          x[1] = p * y[1] - q * y[2] - 5;
          x[2] = q * y[1] + p * y[2] + 1;
        }
        for (PetscInt k = 0; k < 3; k++) x[k] *= scales[i];
      }
      CALL(SurfaceCreate(mesh, &s));
      if (i) {
        assert_true(s->nfacet == first->nfacet && s->nedge == first->nedge && s->npatch == first->npatch && s->ncurve == first->ncurve);
        assert_true(PetscAbsReal(s->least_tau / scales[i] - first->least_tau) < 1e-11);
        for (PetscInt f = 0; f < s->nfacet; f++) {
          const SurfaceFacet *a = &s->facet[f], *b = &first->facet[f];

          assert_true(a->nnode == b->nnode && a->patch == b->patch && a->corner[0] == b->corner[0] && a->owned_nodes == b->owned_nodes && a->owned_edges == b->owned_edges);
          assert_true(PetscAbsReal(a->tau / scales[i] - b->tau) < 1e-11 && PetscAbsReal(a->ell / scales[i] - b->ell) < 1e-12);
        }
        for (PetscInt e = 0; e < s->nedge; e++) assert_true(s->edge[e].kind == first->edge[e].kind && s->edge[e].curve == first->edge[e].curve);
        if (i != 3) /* material directions as well; turned ones turn */
          for (PetscInt k = 0; k < s->npatch; k++)
            for (PetscInt l = 0; l < 3; l++) assert_true(PetscAbsReal(s->patch[k].dir[l] - first->patch[k].dir[l]) < 1e-11);
        else
          for (PetscInt k = 0; k < s->npatch; k++) {
            const PetscReal *t = first->patch[k].dir, y = d * t[0] + c * t[1];
            const PetscReal  u[3] = {c * t[0] - d * t[1], p * y - q * t[2], q * y + p * t[2]};

            for (PetscInt l = 0; l < 3; l++) assert_true(PetscAbsReal(s->patch[k].dir[l] - u[l]) < 1e-11);
          }
        CALL(SurfaceDestroy(&s));
      } else {
        PetscInt triangles = 0;

        for (PetscInt f = 0; f < s->nfacet; f++) triangles += s->facet[f].nnode == 3;
        assert_int_equal(triangles > 10, shape == 3);
        first = s;
      }
      CALL(MeshDestroy(&mesh));
    }
    CALL(SurfaceDestroy(&first));
  }
}

/* Many elements: counts stay right where sorting and unions are long */
static void test_large(void **state)
{
  PetscLogDouble t0, t1;
  Mesh           mesh;
  Surface        s;

  (void)state;
  Box(30, 28, 32, &mesh);
  CALL(PetscTime(&t0));
  CALL(SurfaceCreate(mesh, &s));
  CALL(PetscTime(&t1));
  print_message("%d elements: %.3f s\n", (int)mesh->nelem, t1 - t0);
  Check(mesh, s, 1);
  assert_int_equal(s->nfacet, 2 * (30 * 28 + 28 * 32 + 30 * 32));
  assert_int_equal(s->npatch, 6);
  assert_int_equal(s->ncurve, 12);
  assert_int_equal(Count(s, SURFACE_EDGE_CONVEX), 4 * (30 + 28 + 32));
  CALL(SurfaceDestroy(&s));
  CALL(MeshDestroy(&mesh));
}

int main(int argc, char **argv)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_cube),    cmocka_unit_test(test_box),   cmocka_unit_test(test_pipe),         cmocka_unit_test(test_l_shape),    cmocka_unit_test(test_warped),
    cmocka_unit_test(test_refused), cmocka_unit_test(test_query), cmocka_unit_test(test_ray_and_bend), cmocka_unit_test(test_invariance), cmocka_unit_test(test_large),
  };
  int failed;

  if (PetscInitialize(&argc, &argv, NULL, NULL)) return 1;
  failed = cmocka_run_group_tests(tests, NULL, NULL);
  if (PetscFinalize()) return 1;
  return failed;
}
