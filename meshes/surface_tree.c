/* Tree over the facets of a Surface: median splits, so its depth is log2 of their number. */
#include "meshes/surface_impl.h"

#define TREE_STACK 64 /* depth of a balanced tree over 32-bit (or 63-bit) numbers of facets */

static PetscBool Before_Private(const PetscReal centre[], PetscInt axis, PetscInt f, PetscInt g)
{
  const PetscReal a = centre[3 * f + axis], b = centre[3 * g + axis];

  return (PetscBool)(a < b || (a == b && f < g)); /* ties by number: a total order, the same tree every time */
}

/* Quickselect: the k-th of list comes to place k, lesser ones before it. */
static void Select_Private(const PetscReal centre[], PetscInt axis, PetscInt n, PetscInt k, PetscInt list[])
{
  PetscInt low = 0, high = n - 1;

  while (low < high) {
    PetscInt p[3] = {list[low], list[low + (high - low) / 2], list[high]}, i = low - 1, j = high + 1, pivot, t;

    if (Before_Private(centre, axis, p[1], p[0])) t = p[0], p[0] = p[1], p[1] = t;
    if (Before_Private(centre, axis, p[2], p[1])) p[1] = Before_Private(centre, axis, p[2], p[0]) ? p[0] : p[2];
    pivot = p[1];
    while (PETSC_TRUE) {
      do i++;
      while (Before_Private(centre, axis, list[i], pivot));
      do j--;
      while (Before_Private(centre, axis, pivot, list[j]));
      if (i >= j) break;
      t = list[i], list[i] = list[j], list[j] = t;
    }
    /* low .. j are not after the pivot, j + 1 .. high not before it */
    if (k <= j) high = j;
    else low = j + 1;
  }
}

static PetscErrorCode Build_Private(Surface s, const PetscReal centre[], PetscInt first, PetscInt count, PetscInt depth)
{
  const PetscInt me = s->ntree++;
  PetscReal      low[3], high[3];
  PetscInt       axis = 0, half;

  PetscFunctionBeginUser;
  s->tree[me].first = first;
  s->tree[me].count = count;
  s->tree[me].right = 0;
  s->tree_depth     = PetscMax(s->tree_depth, depth);
  if (count <= 2) PetscFunctionReturn(0);
  for (PetscInt d = 0; d < 3; d++) {
    low[d] = PETSC_INFINITY, high[d] = -PETSC_INFINITY;
    for (PetscInt i = first; i < first + count; i++) {
      low[d]  = PetscMin(low[d], centre[3 * s->tree_facet[i] + d]);
      high[d] = PetscMax(high[d], centre[3 * s->tree_facet[i] + d]);
    }
    if (high[d] - low[d] > high[axis] - low[axis]) axis = d;
  }
  half = count / 2;
  Select_Private(centre, axis, count, half, s->tree_facet + first);
  PetscCall(Build_Private(s, centre, first, half, depth + 1));
  s->tree[me].right = s->ntree;
  PetscCall(Build_Private(s, centre, first + half, count - half, depth + 1));
  PetscFunctionReturn(0);
}

PetscErrorCode SurfaceTreeBuild_Private(Surface s)
{
  PetscReal *centre, *leaf, *b;
  PetscInt   nleaf = 0;

  PetscFunctionBeginUser;
  PetscCall(PetscMalloc1(3 * s->nfacet, &centre));
  PetscCall(PetscMalloc1(s->nfacet, &leaf));
  PetscCall(PetscMalloc1(s->nfacet, &s->tree_facet));
  PetscCall(PetscMalloc1(2 * s->nfacet, &s->tree));
  for (PetscInt f = 0; f < s->nfacet; f++) {
    s->tree_facet[f] = f;
    for (PetscInt d = 0; d < 3; d++) {
      PetscReal l = PETSC_INFINITY, h = -PETSC_INFINITY;

      for (PetscInt i = 0; i < 4; i++) {
        l = PetscMin(l, s->coord[3 * s->facet[f].node[i] + d]);
        h = PetscMax(h, s->coord[3 * s->facet[f].node[i] + d]);
      }
      centre[3 * f + d] = 0.5 * (l + h);
    }
  }
  s->ntree = s->tree_depth = 0;
  PetscCall(Build_Private(s, centre, 0, s->nfacet, 1));
  PetscCall(PetscMalloc1(6 * s->ntree, &s->tree_box));
  PetscCall(SurfaceTreeRefit(s, s->coord, s->tree_box));
  b       = s->tree_box;
  s->size = PetscSqrtReal(PetscSqr(b[3] - b[0]) + PetscSqr(b[4] - b[1]) + PetscSqr(b[5] - b[2]));
  for (PetscInt i = 0; i < s->ntree; i++, b += 6)
    if (!s->tree[i].right) leaf[nleaf++] = PetscSqrtReal(PetscSqr(b[3] - b[0]) + PetscSqr(b[4] - b[1]) + PetscSqr(b[5] - b[2]));
  PetscCall(PetscSortReal(nleaf, leaf));
  s->leaf_size = leaf[nleaf / 2];
  PetscCall(PetscFree(leaf));
  PetscCall(PetscFree(centre));
  PetscFunctionReturn(0);
}

PetscErrorCode SurfaceTreeRefit(Surface s, const PetscReal x[], PetscReal box[])
{
  PetscFunctionBeginUser;
  for (PetscInt i = s->ntree - 1; i >= 0; i--) {
    const SurfaceTreeNode *t = &s->tree[i];
    PetscReal             *b = box + 6 * i;

    if (t->right) {
      const PetscReal *l = box + 6 * (i + 1), *r = box + 6 * t->right;

      for (PetscInt d = 0; d < 3; d++) {
        b[d]     = PetscMin(l[d], r[d]);
        b[3 + d] = PetscMax(l[3 + d], r[3 + d]);
      }
      continue;
    }
    for (PetscInt d = 0; d < 3; d++) b[d] = PETSC_INFINITY, b[3 + d] = -PETSC_INFINITY;
    for (PetscInt k = t->first; k < t->first + t->count; k++)
      for (PetscInt a = 0; a < 4; a++)
        for (PetscInt d = 0; d < 3; d++) {
          const PetscReal v = x[3 * s->facet[s->tree_facet[k]].node[a] + d];

          b[d]     = PetscMin(b[d], v);
          b[3 + d] = PetscMax(b[3 + d], v);
        }
  }
  PetscFunctionReturn(0);
}

PetscErrorCode SurfaceTreeQuery(Surface s, const PetscReal low[3], const PetscReal high[3], PetscInt *n, PetscInt list[])
{
  PetscInt stack[TREE_STACK], top = 0;

  PetscFunctionBeginUser;
  *n           = 0;
  stack[top++] = 0;
  while (top) {
    const PetscInt         i = stack[--top];
    const SurfaceTreeNode *t = &s->tree[i];
    const PetscReal       *b = s->tree_box + 6 * i;

    if (b[0] > high[0] || b[1] > high[1] || b[2] > high[2] || b[3] < low[0] || b[4] < low[1] || b[5] < low[2]) continue;
    if (t->right) {
      stack[top++] = t->right;
      stack[top++] = i + 1;
      continue;
    }
    for (PetscInt k = t->first; k < t->first + t->count; k++) { /* a leaf's box may hold two facets */
      PetscBool touch = PETSC_TRUE;

      for (PetscInt d = 0; d < 3 && touch; d++) {
        PetscReal l = PETSC_INFINITY, h = -PETSC_INFINITY;

        for (PetscInt a = 0; a < 4; a++) {
          l = PetscMin(l, s->coord[3 * s->facet[s->tree_facet[k]].node[a] + d]);
          h = PetscMax(h, s->coord[3 * s->facet[s->tree_facet[k]].node[a] + d]);
        }
        if (l > high[d] || h < low[d]) touch = PETSC_FALSE;
      }
      if (touch) list[(*n)++] = s->tree_facet[k];
    }
  }
  PetscFunctionReturn(0);
}

/* Does the ray meet the box, grown by `slack`, before t? */
static PetscBool RayBox_Private(const PetscReal o[3], const PetscReal d[3], const PetscReal b[6], PetscReal slack, PetscReal t)
{
  PetscReal in = 0, out = t;

  for (PetscInt k = 0; k < 3; k++) {
    PetscReal l = b[k] - slack - o[k], h = b[3 + k] + slack - o[k];

    if (d[k] == 0) {
      if (l > 0 || h < 0) return PETSC_FALSE;
      continue;
    }
    l /= d[k], h /= d[k];
    in  = PetscMax(in, PetscMin(l, h));
    out = PetscMin(out, PetscMax(l, h));
  }
  return (PetscBool)(in <= out);
}

/* Moeller and Trumbore; rims count (slack 1e-9), so no ray slips through between two triangles. Only seen from inside. */
static PetscReal RayTriangle_Private(const PetscReal o[3], const PetscReal d[3], const PetscReal a[3], const PetscReal b[3], const PetscReal c[3])
{
  PetscReal e[3], f[3], p[3], q[3], r[3], det, u, v;

  SurfaceSubtract_Private(b, a, e);
  SurfaceSubtract_Private(c, a, f);
  SurfaceCross_Private(d, f, p);
  det = SurfaceDot_Private(e, p); /* -2 area n.d */
  if (!(det < -1e-9 * PetscSqrtReal(SurfaceDot_Private(e, e) * SurfaceDot_Private(f, f) * SurfaceDot_Private(d, d)))) return PETSC_INFINITY;
  SurfaceSubtract_Private(o, a, r);
  u = SurfaceDot_Private(r, p) / det;
  SurfaceCross_Private(r, e, q);
  v = SurfaceDot_Private(d, q) / det;
  if (u < -1e-9 || v < -1e-9 || u + v > 1 + 1e-9) return PETSC_INFINITY;
  return SurfaceDot_Private(f, q) / det;
}

PetscErrorCode SurfaceTreeRay(Surface s, const PetscReal origin[3], const PetscReal dir[3], PetscInt skip, PetscInt *facet, PetscReal *t)
{
  const PetscReal length = PetscSqrtReal(SurfaceDot_Private(dir, dir)), *x = s->coord;
  PetscInt        stack[TREE_STACK], top = 0;

  PetscFunctionBeginUser;
  *facet       = -1;
  *t           = PETSC_INFINITY;
  stack[top++] = 0;
  while (top) {
    const PetscInt         i    = stack[--top];
    const SurfaceTreeNode *node = &s->tree[i];

    if (!RayBox_Private(origin, dir, s->tree_box + 6 * i, 1e-9 * s->size, *t)) continue;
    if (node->right) {
      stack[top++] = node->right;
      stack[top++] = i + 1;
      continue;
    }
    for (PetscInt k = node->first; k < node->first + node->count; k++) {
      const PetscInt      f = s->tree_facet[k];
      const SurfaceFacet *q = &s->facet[f];

      if (f == skip) continue;
      for (PetscInt h = 0; h < q->nnode - 2; h++) {
        const PetscReal hit = RayTriangle_Private(origin, dir, x + 3 * q->node[0], x + 3 * q->node[h + 1], x + 3 * q->node[h + 2]);

        if (hit < *t && hit * length > 1e-9 * q->ell) *t = hit, *facet = f;
      }
    }
  }
  PetscFunctionReturn(0);
}
