/* Patches and curves: what facets and edges belong to geometrically, however finely they are meshed. */
#include "meshes/surface_impl.h"

/* Union of sets: the root of a set is its lowest member */
static PetscInt Root_Private(PetscInt parent[], PetscInt i)
{
  while (parent[i] != i) i = parent[i] = parent[parent[i]];
  return i;
}
static void Join_Private(PetscInt parent[], PetscInt i, PetscInt j)
{
  i = Root_Private(parent, i), j = Root_Private(parent, j);
  parent[PetscMax(i, j)] = PetscMin(i, j);
}

PetscErrorCode SurfacePatches_Private(Surface s)
{
  PetscInt  *parent, *at;
  PetscReal *longest;

  PetscFunctionBeginUser;
  PetscCall(PetscMalloc1(s->nfacet, &parent));
  for (PetscInt f = 0; f < s->nfacet; f++) parent[f] = f;
  for (PetscInt e = 0; e < s->nedge; e++)
    if (s->edge[e].kind == SURFACE_EDGE_FLAT) Join_Private(parent, s->edge[e].facet[0], s->edge[e].facet[1]);
  for (PetscInt f = 0; f < s->nfacet; f++) {
    const PetscInt r = Root_Private(parent, f); /* at most f */

    s->facet[f].patch = r == f ? s->npatch++ : s->facet[r].patch;
  }
  PetscCall(PetscFree(parent));
  PetscCall(PetscCalloc1(s->npatch, &s->patch));
  for (PetscInt f = 0; f < s->nfacet; f++) {
    SurfacePatch *p = &s->patch[s->facet[f].patch];

    p->n++;
    for (PetscInt d = 0; d < 3; d++) p->normal[d] += s->facet[f].area * s->facet[f].normal[d];
  }
  for (PetscInt f = s->nfacet - 1; f >= 0; f--) { /* a closed smooth patch has no mean normal: that of its first facet */
    SurfacePatch *p = &s->patch[s->facet[f].patch];

    if (SurfaceDot_Private(p->normal, p->normal) <= PetscSqr(1e-9 * s->facet[f].area)) PetscCall(PetscArraycpy(p->normal, s->facet[f].normal, 3));
  }
  for (PetscInt p = 0; p < s->npatch; p++) SurfaceNormalize_Private(s->patch[p].normal);
  /* direction: the longest edge, the first of equal ones, projected */
  PetscCall(PetscCalloc1(s->npatch, &longest));
  for (PetscInt e = 0; e < s->nedge; e++)
    for (PetscInt h = 0; h < 2; h++) {
      const PetscInt p = s->facet[s->edge[e].facet[h]].patch;
      PetscReal      d[3], c, l, *n = s->patch[p].normal;

      SurfaceSubtract_Private(s->coord + 3 * s->edge[e].node[1], s->coord + 3 * s->edge[e].node[0], d);
      c = SurfaceDot_Private(d, n);
      for (PetscInt k = 0; k < 3; k++) d[k] -= c * n[k];
      l = SurfaceNormalize_Private(d);
      if (l > (1 + 1e-6) * longest[p]) {
        longest[p] = l;
        PetscCall(PetscArraycpy(s->patch[p].dir, d, 3));
      }
    }
  PetscCall(PetscFree(longest));
  for (PetscInt f = 0; f < s->nfacet; f++) {
    SurfacePatch *p = &s->patch[s->facet[f].patch];

    p->spread = PetscMax(p->spread, SurfaceAngle_Private(p->normal, s->facet[f].normal));
  }
  /* which patches meet at a convex edge */
  PetscCall(PetscCalloc1(s->npatch + 1, &s->meet_ptr));
  PetscCall(PetscMalloc1(s->npatch, &at));
  for (PetscInt e = 0; e < s->nedge; e++)
    for (PetscInt h = 0; h < 2 && s->edge[e].kind == SURFACE_EDGE_CONVEX; h++) s->meet_ptr[s->facet[s->edge[e].facet[h]].patch + 1]++;
  for (PetscInt p = 0; p < s->npatch; p++) {
    at[p] = s->meet_ptr[p];
    s->meet_ptr[p + 1] += s->meet_ptr[p];
  }
  PetscCall(PetscMalloc1(s->meet_ptr[s->npatch], &s->meet));
  for (PetscInt e = 0; e < s->nedge; e++)
    for (PetscInt h = 0; h < 2 && s->edge[e].kind == SURFACE_EDGE_CONVEX; h++)
      s->meet[at[s->facet[s->edge[e].facet[h]].patch]++] = s->facet[s->edge[e].facet[1 - h]].patch;
  for (PetscInt p = 0, start = 0, n = 0; p < s->npatch; p++) {
    PetscInt count = s->meet_ptr[p + 1] - start;

    PetscCall(PetscSortRemoveDupsInt(&count, s->meet + start));
    PetscCall(PetscArraymove(s->meet + n, s->meet + start, count));
    start = s->meet_ptr[p + 1];
    n += count;
    s->meet_ptr[p + 1] = n;
  }
  PetscCall(PetscFree(at));
  PetscFunctionReturn(0);
}

/* Vector along edge e that leaves node v */
static void EdgeFrom_Private(Surface s, PetscInt e, PetscInt v, PetscReal d[3])
{
  const PetscInt h = s->edge[e].node[0] == v ? 0 : 1;

  SurfaceSubtract_Private(s->coord + 3 * s->edge[e].node[1 - h], s->coord + 3 * s->edge[e].node[h], d);
}

PetscErrorCode SurfaceCurves_Private(Surface s)
{
  PetscInt *parent;

  PetscFunctionBeginUser;
  PetscCall(PetscMalloc1(s->nedge, &parent));
  for (PetscInt e = 0; e < s->nedge; e++) parent[e] = e;
  for (PetscInt v = 0; v < s->nnode; v++)
    for (PetscInt i = s->ring_ptr[v]; i < s->ring_ptr[v + 1] && s->node_nconvex[v] > 1; i++)
      for (PetscInt j = s->ring_ptr[v]; j < i; j++) {
        const PetscInt a = s->ring_edge[i], b = s->ring_edge[j];
        PetscReal      da[3], db[3];

        if (s->edge[a].kind != SURFACE_EDGE_CONVEX || s->edge[b].kind != SURFACE_EDGE_CONVEX) continue;
        EdgeFrom_Private(s, a, v, da);
        EdgeFrom_Private(s, b, v, db);
        for (PetscInt d = 0; d < 3; d++) db[d] = -db[d];
        if (SurfaceAngle_Private(da, db) < SURFACE_ANGLE) Join_Private(parent, a, b);
      }
  for (PetscInt e = 0; e < s->nedge; e++) {
    const PetscInt r = Root_Private(parent, e);

    if (s->edge[e].kind == SURFACE_EDGE_CONVEX) s->edge[e].curve = r == e ? s->ncurve++ : s->edge[r].curve;
  }
  PetscCall(PetscCalloc1(s->ncurve, &s->curve));
  for (PetscInt pass = 0; pass < 2; pass++) {
    for (PetscInt e = 0; e < s->nedge; e++) {
      SurfaceCurve *c = s->edge[e].curve < 0 ? NULL : &s->curve[s->edge[e].curve];
      PetscReal     d[3], sign;

      if (!c) continue;
      EdgeFrom_Private(s, e, s->edge[e].node[0], d);
      sign = SurfaceDot_Private(d, c->dir) < 0 ? -1 : 1; /* all run with the first one */
      for (PetscInt k = 0; k < 3; k++) d[k] *= sign;
      if (pass) c->spread = PetscMax(c->spread, SurfaceAngle_Private(d, c->dir));
      else {
        c->n++;
        for (PetscInt k = 0; k < 3; k++) {
          c->dir[k] += d[k];
          c->normal[k] += s->facet[s->edge[e].facet[0]].normal[k] + s->facet[s->edge[e].facet[1]].normal[k];
        }
      }
    }
    for (PetscInt c = 0; c < s->ncurve && !pass; c++) {
      SurfaceNormalize_Private(s->curve[c].dir); /* not zero: edges only add up */
      SurfaceNormalize_Private(s->curve[c].normal);
    }
  }
  PetscCall(PetscFree(parent));
  PetscFunctionReturn(0);
}
