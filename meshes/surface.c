/* Surface of a mesh: boundary faces by sorting, edges by pairing. O(n log n) throughout. */
#include "meshes/surface_impl.h"
#include <petscviewer.h>

/* A face (three of its nodes) or half of an edge (its higher node): what remains to compare within the bucket of the lowest node */
typedef struct {
  PetscInt key[3], id;
} Item;

static int ItemCompareKey_Private(const Item *a, const Item *b)
{
  for (PetscInt k = 0; k < 3; k++)
    if (a->key[k] != b->key[k]) return a->key[k] < b->key[k] ? -1 : 1;
  return 0;
}

static int ItemCompare_Private(const void *a, const void *b)
{
  const int c = ItemCompareKey_Private((const Item *)a, (const Item *)b);

  return c ? c : (((const Item *)a)->id > ((const Item *)b)->id) - (((const Item *)a)->id < ((const Item *)b)->id);
}

/* Sorts by bucket (counting), then key, then id. ptr: nbucket + 1 */
static PetscErrorCode ItemSort_Private(PetscInt n, const PetscInt bucket[], const Item item[], PetscInt nbucket, PetscInt ptr[], Item sorted[])
{
  PetscFunctionBeginUser;
  PetscCall(PetscArrayzero(ptr, nbucket + 1));
  for (PetscInt i = 0; i < n; i++) ptr[bucket[i] + 1]++;
  for (PetscInt b = 0; b < nbucket; b++) ptr[b + 1] += ptr[b];
  for (PetscInt i = 0; i < n; i++) sorted[ptr[bucket[i]]++] = item[i];
  for (PetscInt b = nbucket; b > 0; b--) ptr[b] = ptr[b - 1];
  ptr[0] = 0;
  for (PetscInt b = 0; b < nbucket; b++)
    if (ptr[b + 1] - ptr[b] > 1) qsort(sorted + ptr[b], (size_t)(ptr[b + 1] - ptr[b]), sizeof(Item), ItemCompare_Private);
  PetscFunctionReturn(0);
}

/* Sense of rotation of a face seen from outside its element: two neighbours run opposite ways through a common face. */
static PetscInt FaceSense_Private(const PetscInt conn[], PetscInt side)
{
  PetscInt v[4], low = 0;

  for (PetscInt k = 0; k < 4; k++) {
    v[k] = conn[MeshHex8Side[side][k]];
    if (v[k] < v[low]) low = k;
  }
  return v[(low + 1) % 4] < v[(low + 3) % 4];
}

/* Marks the sides of elements (6 e + side) that no other element shares. */
static PetscErrorCode BoundaryFaces_Private(Mesh mesh, PetscBool outer[], PetscInt *nouter)
{
  const PetscInt n = 6 * mesh->nelem;
  PetscInt      *bucket, *ptr, i = 0;
  Item          *item, *sorted;

  PetscFunctionBeginUser;
  PetscCheck(mesh->nelem < PETSC_MAX_INT / 12, PETSC_COMM_SELF, PETSC_ERR_USER_INPUT, "the mesh has too many elements for one body");
  PetscCall(PetscMalloc1(n, &bucket));
  PetscCall(PetscMalloc1(mesh->nnode + 1, &ptr));
  PetscCall(PetscMalloc2(n, &item, n, &sorted));
  for (PetscInt b = 0; b < mesh->nblock; b++) {
    const MeshBlock *block = &mesh->block[b];

    PetscCheck(!strcmp(block->type, "hex8"), PETSC_COMM_SELF, PETSC_ERR_USER_INPUT, "block '%s' has elements of type %s; contact surfaces are made of hex8 only", block->name, block->type);
    for (PetscInt e = 0; e < block->nelem; e++)
      for (PetscInt s = 0; s < 6; s++, i++) {
        PetscInt v[4];

        for (PetscInt k = 0; k < 4; k++) { /* insertion sort */
          const PetscInt w = block->conn[8 * e + MeshHex8Side[s][k]];
          PetscInt       j = k;

          for (; j > 0 && v[j - 1] > w; j--) v[j] = v[j - 1];
          v[j] = w;
        }
        bucket[i]  = v[0];
        item[i].id = 2 * i + FaceSense_Private(block->conn + 8 * e, s);
        for (PetscInt k = 0; k < 3; k++) item[i].key[k] = v[k + 1];
      }
  }
  PetscCall(ItemSort_Private(n, bucket, item, mesh->nnode, ptr, sorted));
  *nouter = 0;
  for (PetscInt b = 0; b < mesh->nnode; b++)
    for (PetscInt j = ptr[b], k; j < ptr[b + 1]; j = k) {
      for (k = j + 1; k < ptr[b + 1] && !ItemCompareKey_Private(&sorted[j], &sorted[k]); k++) { }
      PetscCheck(k - j <= 2, PETSC_COMM_SELF, PETSC_ERR_USER_INPUT, "elements %" PetscInt_FMT ", %" PetscInt_FMT " and %" PetscInt_FMT " of the mesh share one face: two elements at most can; remove doubled elements",
                 sorted[j].id / 12 + 1, sorted[j + 1].id / 12 + 1, sorted[j + 2].id / 12 + 1);
      PetscCheck(k == j + 1 || (sorted[j].id + sorted[j + 1].id) % 2, PETSC_COMM_SELF, PETSC_ERR_USER_INPUT, "elements %" PetscInt_FMT " and %" PetscInt_FMT " of the mesh overlap: both are on the same side of a common face",
                 sorted[j].id / 12 + 1, sorted[j + 1].id / 12 + 1);
      for (PetscInt l = j; l < k; l++) outer[sorted[l].id / 2] = (PetscBool)(k == j + 1);
      *nouter += k == j + 1;
    }
  PetscCall(PetscFree2(item, sorted));
  PetscCall(PetscFree(ptr));
  PetscCall(PetscFree(bucket));
  PetscFunctionReturn(0);
}

/* Unit normal of corners a, b, c; zero if they are on one line */
static void TriangleNormal_Private(const PetscReal *a, const PetscReal *b, const PetscReal *c, PetscReal n[3])
{
  PetscReal p[3], q[3];

  SurfaceSubtract_Private(b, a, p);
  SurfaceSubtract_Private(c, a, q);
  SurfaceCross_Private(p, q, n);
  if (SurfaceDot_Private(n, n) <= 1e-24 * SurfaceDot_Private(p, p) * SurfaceDot_Private(q, q)) n[0] = n[1] = n[2] = 0;
  SurfaceNormalize_Private(n);
}

/* -1: flat enough to stay a quadrilateral, else the corner (0 or 1) where the diagonal starts that makes two triangles */
static PetscInt QuadSplit_Private(const PetscReal *const x[4])
{
  PetscReal mean[3], n[2][3], p[3], q[3], angle[2], length[2];
  PetscBool warped = PETSC_FALSE, valid[2];

  SurfaceSubtract_Private(x[2], x[0], p);
  SurfaceSubtract_Private(x[3], x[1], q);
  SurfaceCross_Private(p, q, mean);
  for (PetscInt k = 0; k < 4; k++) {
    TriangleNormal_Private(x[k], x[(k + 1) % 4], x[(k + 3) % 4], n[0]);
    if (SurfaceAngle_Private(n[0], mean) >= SURFACE_ANGLE) warped = PETSC_TRUE;
  }
  if (!warped) return -1;
  for (PetscInt k = 0; k < 2; k++) {
    TriangleNormal_Private(x[k], x[k + 1], x[k + 2], n[0]);
    TriangleNormal_Private(x[k], x[k + 2], x[(k + 3) % 4], n[1]);
    valid[k]  = (PetscBool)(SurfaceDot_Private(n[0], mean) > 0 && SurfaceDot_Private(n[1], mean) > 0); /* not outside a reflex corner */
    angle[k]  = SurfaceDihedral_Private(n[1], n[0], k ? q : p);
    length[k] = SurfaceDot_Private(k ? q : p, k ? q : p);
  }
  if (valid[0] != valid[1]) return valid[0] ? 0 : 1;
  for (PetscInt k = 0; k < 2; k++)
    if (angle[k] > 1e-3 * SURFACE_ANGLE && angle[k] > angle[1 - k]) return k;
  return length[1] < (1 - 1e-6) * length[0] ? 1 : 0;
}

static PetscErrorCode Facets_Private(Surface s, Mesh mesh)
{
  PetscBool    *outer;
  PetscInt      nouter = 0, face = 0;
  SurfaceFacet *f;

  PetscFunctionBeginUser;
  PetscCall(PetscMalloc1(6 * mesh->nelem, &outer));
  PetscCall(BoundaryFaces_Private(mesh, outer, &nouter));
  PetscCheck(nouter > 0, PETSC_COMM_SELF, PETSC_ERR_USER_INPUT, "the mesh has no outer face");
  PetscCall(PetscMalloc1(2 * nouter, &s->facet)); /* at worst all are split */
  PetscCall(PetscMalloc1(mesh->nnode, &s->local));
  s->nmeshnode = mesh->nnode;
  for (PetscInt v = 0; v < mesh->nnode; v++) s->local[v] = -1;
  for (PetscInt b = 0, e = 0; b < mesh->nblock; b++)
    for (PetscInt i = 0; i < mesh->block[b].nelem; i++, e++)
      for (PetscInt side = 0; side < 6; side++, face++) {
        PetscInt         v[4], from;
        const PetscReal *x[4];

        if (!outer[face]) continue;
        for (PetscInt k = 0; k < 4; k++) {
          v[k]           = mesh->block[b].conn[8 * i + MeshHex8Side[side][k]];
          x[k]           = mesh->coord + 3 * v[k];
          s->local[v[k]] = 0;
        }
        from = QuadSplit_Private(x);
        for (PetscInt h = 0; h < (from < 0 ? 1 : 2); h++) {
          f        = &s->facet[s->nfacet++];
          f->nnode = from < 0 ? 4 : 3;
          f->elem  = e;
          f->side  = side;
          for (PetscInt k = 0; k < 4; k++) {
            f->corner[k] = from < 0 ? k : (from + (k ? PetscMin(k, 2) + h : 0)) % 4; /* from, from+1, from+2 | from, from+2, from+3 */
            f->node[k]   = v[f->corner[k]];
            f->edge[k]   = -1;
          }
        }
      }
  PetscCall(PetscRealloc(s->nfacet * sizeof(SurfaceFacet), &s->facet));
  PetscCall(PetscFree(outer));
  for (PetscInt v = 0; v < mesh->nnode; v++)
    if (!s->local[v]) s->local[v] = s->nnode++;
  PetscCall(PetscMalloc1(s->nnode, &s->node));
  PetscCall(PetscMalloc1(3 * s->nnode, &s->coord));
  for (PetscInt v = 0; v < mesh->nnode; v++)
    if (s->local[v] >= 0) {
      s->node[s->local[v]] = v;
      PetscCall(PetscArraycpy(s->coord + 3 * s->local[v], mesh->coord + 3 * v, 3));
    }
  s->least_ell = PETSC_INFINITY;
  for (f = s->facet; f < s->facet + s->nfacet; f++) {
    for (PetscInt k = 0; k < 4; k++) f->node[k] = s->local[f->node[k]];
    SurfaceAreaVector_Private(f, s->coord, f->normal);
    f->area = SurfaceNormalize_Private(f->normal);
    f->ell  = PETSC_INFINITY;
    for (PetscInt k = 0; k < f->nnode; k++) {
      PetscReal e[3];

      SurfaceSubtract_Private(s->coord + 3 * f->node[(k + 1) % f->nnode], s->coord + 3 * f->node[k], e);
      f->ell = PetscMin(f->ell, PetscSqrtReal(SurfaceDot_Private(e, e)));
    }
    PetscCheck(f->area > 0 && f->ell > 0, PETSC_COMM_SELF, PETSC_ERR_USER_INPUT, "side %" PetscInt_FMT " of element %" PetscInt_FMT " of the mesh has no area", f->side + 1, f->elem + 1);
    s->least_ell = PetscMin(s->least_ell, f->ell);
  }
  PetscFunctionReturn(0);
}

/* Pairs the halves of edges that facets bring. Anything but one from each direction is no surface of a solid. */
static PetscErrorCode Edges_Private(Surface s)
{
  const PetscInt n = 4 * s->nfacet; /* half 4 f + k */
  PetscInt      *bucket, *ptr, nhalf = 0;
  Item          *item, *sorted;

  PetscFunctionBeginUser;
  PetscCall(PetscMalloc1(n, &bucket));
  PetscCall(PetscMalloc1(s->nnode + 1, &ptr));
  PetscCall(PetscMalloc2(n, &item, n, &sorted));
  for (PetscInt f = 0; f < s->nfacet; f++)
    for (PetscInt k = 0; k < s->facet[f].nnode; k++, nhalf++) {
      const PetscInt a = s->facet[f].node[k], b = s->facet[f].node[(k + 1) % s->facet[f].nnode];

      bucket[nhalf]      = PetscMin(a, b);
      item[nhalf].key[0] = PetscMax(a, b);
      item[nhalf].key[1] = item[nhalf].key[2] = 0;
      item[nhalf].id                          = 4 * f + k;
    }
  PetscCall(ItemSort_Private(nhalf, bucket, item, s->nnode, ptr, sorted));
  PetscCall(PetscMalloc1(nhalf / 2 + 1, &s->edge));
  for (PetscInt v = 0; v < s->nnode; v++)
    for (PetscInt j = ptr[v], k; j < ptr[v + 1]; j = k) {
      const PetscReal *x = s->coord + 3 * v, *y = s->coord + 3 * sorted[j].key[0];
      SurfaceEdge     *e;
      PetscInt         back;

      for (k = j + 1; k < ptr[v + 1] && sorted[j].key[0] == sorted[k].key[0]; k++) { }
      PetscCheck(k == j + 2, PETSC_COMM_SELF, PETSC_ERR_USER_INPUT, "the mesh is no solid at its edge from node %" PetscInt_FMT " to %" PetscInt_FMT " at (%g, %g, %g): %" PetscInt_FMT " outer faces meet there, not 2; join the elements by a face or give each its own nodes",
                 s->node[v] + 1, s->node[sorted[j].key[0]] + 1, (double)(x[0] + y[0]) / 2, (double)(x[1] + y[1]) / 2, (double)(x[2] + y[2]) / 2, k - j);
      e          = &s->edge[s->nedge];
      e->node[0] = v;
      e->node[1] = sorted[j].key[0];
      back       = s->facet[sorted[j].id / 4].node[sorted[j].id % 4] == v ? 0 : 1;
      for (PetscInt h = 0; h < 2; h++) {
        const PetscInt id = sorted[j + (h + back) % 2].id;

        PetscCheck((s->facet[id / 4].node[id % 4] == v) == (h == 0), PETSC_COMM_SELF, PETSC_ERR_USER_INPUT,
                   "elements %" PetscInt_FMT " and %" PetscInt_FMT " of the mesh overlap or one is inside out: their outer faces run the same way along the edge from node %" PetscInt_FMT " to %" PetscInt_FMT,
                   s->facet[sorted[j].id / 4].elem + 1, s->facet[sorted[j + 1].id / 4].elem + 1, s->node[v] + 1, s->node[e->node[1]] + 1);
        e->facet[h]                      = id / 4;
        s->facet[id / 4].edge[id % 4] = s->nedge;
      }
      s->nedge++;
    }
  PetscCall(PetscFree2(item, sorted));
  PetscCall(PetscFree(ptr));
  PetscCall(PetscFree(bucket));
  for (SurfaceEdge *e = s->edge; e < s->edge + s->nedge; e++) {
    PetscReal d[3];

    SurfaceSubtract_Private(s->coord + 3 * e->node[1], s->coord + 3 * e->node[0], d);
    e->angle = SurfaceDihedral_Private(s->facet[e->facet[0]].normal, s->facet[e->facet[1]].normal, d);
    e->kind  = SurfaceEdgeKind_Private(e->angle);
    e->curve = e->owner = -1;
  }
  PetscFunctionReturn(0);
}

/* Neighbours and facets around nodes; who owns what (the first facet) */
static PetscErrorCode Rings_Private(Surface s)
{
  PetscInt *at, *atf;

  PetscFunctionBeginUser;
  PetscCall(PetscCalloc1(s->nnode + 1, &s->ring_ptr));
  PetscCall(PetscCalloc1(s->nnode + 1, &s->ring_facet_ptr));
  PetscCall(PetscCalloc1(s->nnode, &s->node_nconvex));
  PetscCall(PetscMalloc1(s->nnode, &s->node_owner));
  for (PetscInt e = 0; e < s->nedge; e++)
    for (PetscInt h = 0; h < 2; h++) {
      s->ring_ptr[s->edge[e].node[h] + 1]++;
      s->node_nconvex[s->edge[e].node[h]] += s->edge[e].kind == SURFACE_EDGE_CONVEX;
    }
  for (PetscInt f = 0; f < s->nfacet; f++)
    for (PetscInt k = 0; k < s->facet[f].nnode; k++) s->ring_facet_ptr[s->facet[f].node[k] + 1]++;
  for (PetscInt v = 0; v < s->nnode; v++) {
    s->ring_ptr[v + 1] += s->ring_ptr[v];
    s->ring_facet_ptr[v + 1] += s->ring_facet_ptr[v];
    s->node_owner[v] = -1;
  }
  PetscCall(PetscMalloc1(s->ring_ptr[s->nnode], &s->ring_node));
  PetscCall(PetscMalloc1(s->ring_ptr[s->nnode], &s->ring_edge));
  PetscCall(PetscMalloc1(s->ring_facet_ptr[s->nnode], &s->ring_facet));
  PetscCall(PetscMalloc2(s->nnode, &at, s->nnode, &atf));
  PetscCall(PetscArraycpy(at, s->ring_ptr, s->nnode));
  PetscCall(PetscArraycpy(atf, s->ring_facet_ptr, s->nnode));
  for (PetscInt e = 0; e < s->nedge; e++)
    for (PetscInt h = 0; h < 2; h++) {
      const PetscInt v = s->edge[e].node[h];

      s->ring_node[at[v]]   = s->edge[e].node[1 - h];
      s->ring_edge[at[v]++] = e;
    }
  for (PetscInt f = 0; f < s->nfacet; f++) {
    SurfaceFacet *facet = &s->facet[f];

    facet->owned_nodes = facet->owned_edges = 0;
    for (PetscInt k = 0; k < facet->nnode; k++) {
      const PetscInt v = facet->node[k];
      SurfaceEdge   *e = &s->edge[facet->edge[k]];

      s->ring_facet[atf[v]++] = f;
      if (s->node_owner[v] < 0) {
        s->node_owner[v] = f;
        facet->owned_nodes |= 1 << k;
      }
      if (e->kind == SURFACE_EDGE_CONVEX && e->owner < 0) {
        e->owner = f;
        facet->owned_edges |= 1 << k;
      }
    }
  }
  PetscCall(PetscFree2(at, atf));
  PetscFunctionReturn(0);
}

PetscErrorCode SurfaceCreate(Mesh mesh, Surface *surface)
{
  Surface s;

  PetscFunctionBeginUser;
  *surface = NULL;
  PetscCheck(mesh->nelem > 0, PETSC_COMM_SELF, PETSC_ERR_USER_INPUT, "the mesh has no elements, so it has no surface");
  PetscCall(PetscNew(&s));
  PetscCall(Facets_Private(s, mesh));
  PetscCall(Edges_Private(s));
  PetscCall(Rings_Private(s));
  PetscCall(SurfacePatches_Private(s));
  PetscCall(SurfaceCurves_Private(s));
  PetscCall(SurfaceTreeBuild_Private(s));
  s->least_tau = PETSC_INFINITY;
  for (PetscInt f = 0; f < s->nfacet; f++) {
    SurfaceFacet *facet = &s->facet[f];
    PetscReal     o[3] = {0, 0, 0}, d[3];
    PetscInt      far;

    for (PetscInt k = 0; k < facet->nnode; k++)
      for (PetscInt c = 0; c < 3; c++) o[c] += s->coord[3 * facet->node[k] + c] / facet->nnode;
    for (PetscInt c = 0; c < 3; c++) d[c] = -facet->normal[c];
    PetscCall(SurfaceTreeRay(s, o, d, f, &far, &facet->tau));
    if (far < 0) facet->tau = s->size; /* only if the mesh folds over itself */
    s->least_tau = PetscMin(s->least_tau, facet->tau);
  }
  *surface = s;
  PetscFunctionReturn(0);
}

PetscErrorCode SurfaceDestroy(Surface *surface)
{
  Surface s = *surface;

  PetscFunctionBeginUser;
  if (!s) PetscFunctionReturn(0);
  PetscCall(PetscFree(s->node));
  PetscCall(PetscFree(s->local));
  PetscCall(PetscFree(s->coord));
  PetscCall(PetscFree(s->facet));
  PetscCall(PetscFree(s->edge));
  PetscCall(PetscFree(s->patch));
  PetscCall(PetscFree(s->curve));
  PetscCall(PetscFree(s->ring_ptr));
  PetscCall(PetscFree(s->ring_node));
  PetscCall(PetscFree(s->ring_edge));
  PetscCall(PetscFree(s->ring_facet_ptr));
  PetscCall(PetscFree(s->ring_facet));
  PetscCall(PetscFree(s->node_owner));
  PetscCall(PetscFree(s->node_nconvex));
  PetscCall(PetscFree(s->meet_ptr));
  PetscCall(PetscFree(s->meet));
  PetscCall(PetscFree(s->tree));
  PetscCall(PetscFree(s->tree_box));
  PetscCall(PetscFree(s->tree_facet));
  PetscCall(PetscFree(*surface));
  PetscFunctionReturn(0);
}

PetscErrorCode SurfaceView(Surface s, PetscViewer viewer)
{
  PetscInt kinds[3] = {0, 0, 0}, quads = 0;

  PetscFunctionBeginUser;
  for (PetscInt e = 0; e < s->nedge; e++) kinds[s->edge[e].kind]++;
  for (PetscInt f = 0; f < s->nfacet; f++) quads += s->facet[f].nnode == 4;
  PetscCall(PetscViewerASCIIPrintf(viewer, "Surface: %" PetscInt_FMT " nodes, %" PetscInt_FMT " facets (%" PetscInt_FMT " quadrilaterals, %" PetscInt_FMT " triangles of warped ones)\n", s->nnode, s->nfacet, quads, s->nfacet - quads));
  PetscCall(PetscViewerASCIIPrintf(viewer, "  edges: %" PetscInt_FMT " flat, %" PetscInt_FMT " convex, %" PetscInt_FMT " concave; %" PetscInt_FMT " patches, %" PetscInt_FMT " curves\n", kinds[SURFACE_EDGE_FLAT], kinds[SURFACE_EDGE_CONVEX],
                                   kinds[SURFACE_EDGE_CONCAVE], s->npatch, s->ncurve));
  PetscCall(PetscViewerASCIIPrintf(viewer, "  size %g, shortest edge %g, least thickness %g; tree of %" PetscInt_FMT " nodes, %" PetscInt_FMT " deep\n", (double)s->size, (double)s->least_ell, (double)s->least_tau, s->ntree, s->tree_depth));
  PetscFunctionReturn(0);
}

PetscErrorCode SurfacePatchesMeet(Surface s, PetscInt p, PetscInt q, PetscBool *meet)
{
  PetscInt at;

  PetscFunctionBeginUser;
  PetscCall(PetscFindInt(q, s->meet_ptr[p + 1] - s->meet_ptr[p], s->meet + s->meet_ptr[p], &at));
  *meet = (PetscBool)(at >= 0);
  PetscFunctionReturn(0);
}

PetscErrorCode SurfaceClassifyEdges(Surface s, const PetscReal x[], SurfaceEdgeKind kind[])
{
  PetscFunctionBeginUser;
  for (PetscInt e = 0; e < s->nedge; e++) {
    PetscReal n[2][3], d[3];

    for (PetscInt h = 0; h < 2; h++) SurfaceAreaVector_Private(&s->facet[s->edge[e].facet[h]], x, n[h]);
    SurfaceSubtract_Private(x + 3 * s->edge[e].node[1], x + 3 * s->edge[e].node[0], d);
    kind[e] = SurfaceEdgeKind_Private(SurfaceDihedral_Private(n[0], n[1], d));
  }
  PetscFunctionReturn(0);
}
