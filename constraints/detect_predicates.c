/* Does a node touch a facet, an edge an edge? Decided from current coordinates alone, in the frame of A's origin. */
#include "constraints/detect_impl.h"

#define WEAK    1e-5 /* that of edges which count only if nothing else touches */
#define ROUND   0.6  /* edges with less of an angle than this are those of round surfaces: 12 and more around a cylinder */

static PetscReal Slack_Private(const SurfaceEdge *e, PetscReal ell, PetscReal d, PetscReal depth)
{
  /* facets of one patch may differ by 2 degrees: above their common edge their prisms leave a wedge */
  if (e->kind == SURFACE_EDGE_FLAT) return DETECT_FLAT * ell + DETECT_TILT * PetscAbsReal(d);
  return DETECT_EPS * ell + (e->kind == SURFACE_EDGE_CONCAVE ? depth : 0);
}

/* Foot q of p on facet f with corners y, normal n there; returns the signed distance. Quadrilaterals are bilinear: Gauss-Newton for the
   nearest point, which is exact at once for parallelograms. */
static PetscReal Foot_Private(PetscInt nnode, PetscReal y[4][3], const PetscReal mean[3], const PetscReal p[3], PetscReal warp, PetscReal n[3], PetscReal q[3])
{
  PetscReal r[3], d, xi = 0, eta = 0;

  for (PetscInt k = 0; k < 3; k++) n[k] = mean[k];
  if (nnode == 3 || warp == 0) {
    DetectSubtract_Private(p, y[0], r);
    d = Vec3Dot(r, n);
    for (PetscInt k = 0; k < 3; k++) q[k] = p[k] - d * n[k];
    return d;
  }
  for (PetscInt it = 0; it < 8; it++) {
    PetscReal a[3], b[3], aa, ab, bb, ra, rb, det, da, db;

    for (PetscInt k = 0; k < 3; k++) {
      const PetscReal c0 = 0.25 * (y[0][k] + y[1][k] + y[2][k] + y[3][k]), c1 = 0.25 * (-y[0][k] + y[1][k] + y[2][k] - y[3][k]);
      const PetscReal c2 = 0.25 * (-y[0][k] - y[1][k] + y[2][k] + y[3][k]), c3 = 0.25 * (y[0][k] - y[1][k] + y[2][k] - y[3][k]);

      a[k] = c1 + eta * c3;
      b[k] = c2 + xi * c3;
      q[k] = c0 + xi * c1 + eta * (c2 + xi * c3);
    }
    DetectSubtract_Private(p, q, r);
    Vec3Cross(a, b, n);
    aa = Vec3Dot(a, a), ab = Vec3Dot(a, b), bb = Vec3Dot(b, b), ra = Vec3Dot(r, a), rb = Vec3Dot(r, b);
    det = aa * bb - ab * ab;
    if (!(det > 0)) break;
    da = (bb * ra - ab * rb) / det, db = (aa * rb - ab * ra) / det;
    if (PetscMax(PetscAbsReal(da), PetscAbsReal(db)) < 1e-13) break;
    xi  = PetscClipInterval(xi + da, -3., 3.);
    eta = PetscClipInterval(eta + db, -3., 3.);
  }
  (void)DetectNormalize_Private(n);
  return Vec3Dot(r, n);
}

static void Corners_Private(const DetectSide *s, PetscInt f, PetscReal y[4][3])
{
  for (PetscInt k = 0; k < 4; k++) DetectNode_Private(s, s->part->surface->facet[f].node[k], y[k]);
}

/* How far q is inside edge k of a facet with normal n, in units of the edge's length, the square of which is ee */
static inline PetscReal Inside_Private(PetscInt nnode, PetscReal y[4][3], PetscInt k, const PetscReal n[3], const PetscReal q[3], PetscReal *ee)
{
  PetscReal e[3], r[3], c[3];

  DetectSubtract_Private(y[k + 1 < nnode ? k + 1 : 0], y[k], e);
  DetectSubtract_Private(q, y[k], r);
  Vec3Cross(e, r, c);
  *ee = Vec3Dot(e, e);
  return Vec3Dot(c, n);
}

/* Facet around node v that faces direction n most; of equal ones that of the lowest patch, so that all nodes of an edge agree */
static PetscInt Facing_Private(const DetectSide *s, PetscInt v, const PetscReal n[3])
{
  Surface   surface = s->part->surface;
  PetscInt  best    = -1;
  PetscReal most    = 0;

  for (PetscInt k = surface->ring_facet_ptr[v]; k < surface->ring_facet_ptr[v + 1]; k++) {
    const PetscInt  f = surface->ring_facet[k];
    const PetscReal c = Vec3Dot(DetectFacet_Private(s, f)->n, n);

    if (best < 0 || c > most + 1e-6 || (c > most - 1e-6 && surface->facet[f].patch < surface->facet[best].patch)) best = f, most = c;
  }
  return best;
}

/* Where a point x of side a is in a step from now, as side 1 - a sees it: by the twists of both */
static void Ahead_Private(const DetectWork *w, PetscInt a, const PetscReal x[3], PetscReal y[3])
{
  for (PetscInt k = 0; k < 3; k++) y[k] = x[k];
  for (PetscInt e = 0; e < 2; e++) {
    const DetectSide     *s = &w->side[e ? 1 - a : a];
    const DetectBodyData *b = s->body;
    PetscReal             r[3], v[3];

    for (PetscInt k = 0; k < 3; k++) r[k] = x[k] - (b->centre[k] + s->shift[k]);
    Vec3Cross(b->spin, r, v);
    for (PetscInt k = 0; k < 3; k++) y[k] += (e ? -w->h : w->h) * (b->velocity[k] + v[k]);
  }
}

/* Will p, which is at distance d >= 0 beside the facet, be under it in a step? Fast bodies would else find each other deep in one another. */
static PetscBool Enters_Private(const DetectWork *w, PetscInt a, const SurfaceFacet *facet, PetscReal y[4][3], const PetscReal n[3], const PetscReal p[3], PetscReal depth)
{
  const Surface s = w->side[1 - a].part->surface;
  PetscReal     x[3], r[3], d, ee;

  Ahead_Private(w, a, p, x);
  DetectSubtract_Private(x, y[0], r);
  d = Vec3Dot(r, n);
  if (!(d < 0)) return PETSC_FALSE;
  for (PetscInt k = 0; k < 3; k++) x[k] -= d * n[k];
  for (PetscInt k = 0; k < facet->nnode; k++) {
    const PetscReal in = Inside_Private(facet->nnode, y, k, n, x, &ee);

    if (!(in >= 0) && !(in * in <= PetscSqr(Slack_Private(&s->edge[facet->edge[k]], facet->ell, d, depth)) * ee)) return PETSC_FALSE;
  }
  return PETSC_TRUE;
}

/* Node v of side a on facet f of side 1 - a */
static PetscBool NodeFacet_Private(const DetectWork *w, PetscInt a, PetscInt v, PetscInt f, DetectHit *hit)
{
  const DetectSide   *node = &w->side[a], *side = &w->side[1 - a];
  const SurfaceFacet *facet = &side->part->surface->facet[f];
  Surface             s     = node->part->surface;
  const PetscReal     ell = facet->ell, m = 2 * w->hv + DETECT_MARGIN * ell, eps = DETECT_EPS * ell, depth = DetectDepth_Private(facet->tau, node->part->tau[v], 4 * w->hv + w->deep + eps, ell);
  const DetectFacetNow *now = DetectFacet_Private(side, f);
  const PetscReal       warp = now->warp;
  PetscReal             y[4][3], p[3], q[3], n[3], in[4], ee[4], d, inside = PETSC_INFINITY;
  PetscBool             beside = PETSC_FALSE;

  DetectNode_Private(node, v, p);
  DetectNode_Private(side, facet->node[0], y[0]);
  DetectSubtract_Private(p, y[0], q);
  d = Vec3Dot(q, now->n);
  if (d > m + 4 * warp || d < -depth - 4 * warp) return PETSC_FALSE;
  Corners_Private(side, f, y);
  d = Foot_Private(facet->nnode, y, now->n, p, warp, n, q);
  if (d > m || d < -depth) return PETSC_FALSE;
  for (PetscInt k = 0; k < facet->nnode; k++) {
    in[k] = Inside_Private(facet->nnode, y, k, n, q, &ee[k]);
    if (!(in[k] >= 0) && !(in[k] * in[k] <= PetscSqr(Slack_Private(&side->part->surface->edge[facet->edge[k]], ell, d, depth)) * ee[k])) {
      if (d < 0 || w->hv <= eps || in[k] * in[k] > PetscSqr(w->hv) * ee[k]) return PETSC_FALSE;
      beside = PETSC_TRUE;
    }
  }
  if (beside && !Enters_Private(w, a, facet, y, n, p, depth)) return PETSC_FALSE;
  /* no neighbour may be lower by more than 2 degrees and the margin: takes off far sides of plates, reentrant nodes, wrong walls */
  for (PetscInt k = s->ring_ptr[v]; k < s->ring_ptr[v + 1]; k++) {
    PetscReal r[3], c;

    DetectSubtract_Private(node->x + 3 * s->ring_node[k], node->x + 3 * v, r);
    c = Vec3Dot(r, n) + m;
    if (c < 0 && c < -DETECT_TILT * Vec3Norm(r)) return PETSC_FALSE;
  }
  for (PetscInt k = 0; k < facet->nnode; k++) inside = PetscMin(inside, in[k] / PetscSqrtReal(ee[k]));
  hit->key.kind       = a ? CONTACT_FACET_NODE : CONTACT_NODE_FACET;
  hit->key.i          = v;
  hit->key.j          = facet->patch;
  hit->feature[a]     = v;
  hit->feature[1 - a] = f;
  hit->facet[1 - a]   = f;
  hit->gap            = d;
  hit->eps            = eps;
  hit->depth          = depth;
  hit->inside         = inside;
  hit->weak           = PETSC_FALSE;
  hit->s[0] = hit->s[1] = 0;
  for (PetscInt k = 0; k < 3; k++) {
    hit->n[k]        = a ? n[k] : -n[k];
    hit->x[a][k]     = p[k];
    hit->x[1 - a][k] = q[k];
    q[k]             = -n[k];
  }
  hit->facet[a] = Facing_Private(node, v, q);
  return PETSC_TRUE;
}

/* Is n (sign -1: -n) in the normal cone of a convex edge with unit direction u and facets with normals f, within 2 degrees and what the margin makes visible of the next facet? A point at some
   depth is not to be outside a facet for that: `most` bounds the tolerance. */
static PetscBool InCone_Private(const DetectSide *s, const SurfaceEdge *e, const PetscReal u[3], PetscReal length, PetscReal sign, const PetscReal n[3], const PetscReal *const f[2], PetscReal more, PetscReal m, PetscReal most)
{
  for (PetscInt h = 0; h < 2; h++, sign = -sign) {
    PetscReal t[3]; /* into the first facet, out of the other */

    Vec3Cross(f[h], u, t);
    if (sign * Vec3Dot(n, t) > PetscMin(most, DETECT_TILT + more + m * length / s->part->surface->facet[e->facet[h]].area)) return PETSC_FALSE;
  }
  return PETSC_TRUE;
}

/* That bound: how far outside a point may be, by its depth. Across an edge of a round surface the next facet takes over, so a fast body may be seen from there. */
static PetscReal Most_Private(const SurfaceEdge *e, PetscReal gap, PetscReal eps, PetscReal m)
{
  return gap < 0 ? (DETECT_OUTSIDE * eps + (e->angle < ROUND ? m : 0)) / -gap : PETSC_INFINITY;
}

/* Places s of the points on two lines a + s u, b + t v whose difference is along n; r = b - a, c = u x v */
static void Crossing_Private(const PetscReal r[3], const PetscReal u[3], const PetscReal v[3], const PetscReal c[3], const PetscReal n[3], PetscReal s[2])
{
  const PetscReal det = Vec3Dot(c, n);
  PetscReal       p[3];

  Vec3Cross(r, v, p);
  s[0] = Vec3Dot(p, n) / det;
  Vec3Cross(r, u, p);
  s[1] = Vec3Dot(p, n) / det;
}

/* Ends of edges belong to node on facet, so edges end a little before (by less than the slack there); lines of the mesh are no ends */
static PetscBool Between_Private(const DetectSide *s, PetscInt e, PetscReal at, PetscReal length, PetscReal ell, PetscReal cut)
{
  const PetscInt end = s->part->end[e];

  return (PetscBool)(at * length >= (end & 1 ? -DETECT_FLAT * ell : cut) && (1 - at) * length >= (end & 2 ? -DETECT_FLAT * ell : cut));
}

/* Will two edges a, a + u and b, b + v that pass beside each other cross in a step, and be in one another where they do? c = u x v, points outwards of A by `sign` */
static PetscBool Meets_Private(const DetectWork *w, PetscInt ea, PetscInt eb, PetscReal a[2][3], const PetscReal u[3], PetscReal lu, PetscReal b[2][3], PetscReal lv, const PetscReal c[3], PetscReal sign, PetscReal ell)
{
  PetscReal y[2][3], v[3], r[3], n[3], s[2];

  for (PetscInt h = 0; h < 2; h++) Ahead_Private(w, 1, b[h], y[h]);
  DetectSubtract_Private(y[1], y[0], v);
  DetectSubtract_Private(y[0], a[0], r);
  Vec3Cross(u, v, n);
  if (!(Vec3Dot(n, c) > 0) || !(sign * Vec3Dot(r, n) < 0)) return PETSC_FALSE;
  Crossing_Private(r, u, v, n, n, s);
  return (PetscBool)(Between_Private(&w->side[0], ea, s[0], lu, ell, 0) && Between_Private(&w->side[1], eb, s[1], lv, ell, 0));
}

/* Two straight curves cross once; where one bends, each of its edges is one */
static PetscInt Curve_Private(Surface s, PetscInt e)
{
  return s->curve[s->edge[e].curve].spread < SURFACE_ANGLE ? s->edge[e].curve : s->ncurve + e;
}

static PetscBool EdgeEdge_Private(const DetectWork *w, PetscInt ea, PetscInt eb, DetectHit *hit)
{
  const DetectSide  *A = &w->side[0], *B = &w->side[1];
  Surface            sa = A->part->surface, sb = B->part->surface;
  const SurfaceEdge *a = &sa->edge[ea], *b = &sb->edge[eb];
  const PetscReal    ell = PetscMin(A->part->edge_ell[ea], B->part->edge_ell[eb]), eps = DETECT_EPS * ell, m = 2 * w->hv + DETECT_MARGIN * ell;
  const PetscReal    depth = DetectDepth_Private(A->part->edge_tau[ea], B->part->edge_tau[eb], 4 * w->hv + w->deep + eps, ell);
  PetscReal          x[2][3], y[2][3], u[3], v[3], r[3], c[3], n[3], s[2], lu, lv, cc, dist, sine, ca, cb, more = 0, gap;
  const PetscReal   *na[2], *nb[2];
  PetscBool          weak, beside = PETSC_FALSE;

  for (PetscInt h = 0; h < 2; h++) {
    DetectNode_Private(A, a->node[h], x[h]);
    DetectNode_Private(B, b->node[h], y[h]);
  }
  DetectSubtract_Private(x[1], x[0], u);
  DetectSubtract_Private(y[1], y[0], v);
  DetectSubtract_Private(y[0], x[0], r);
  Vec3Cross(u, v, c);
  dist = Vec3Dot(r, c); /* of the lines: no more than of the points, whatever the normal */
  cc   = Vec3Dot(c, c);
  if (dist * dist > cc * PetscSqr(PetscMax(m, depth))) return PETSC_FALSE;
  lu = Vec3Norm(u), lv = Vec3Norm(v), cc = PetscSqrtReal(cc);
  sine = cc / (lu * lv);
  if (!(sine >= WEAK)) return PETSC_FALSE;
  weak = (PetscBool)(sine < DETECT_CROSS);
  if (!weak) {
    Crossing_Private(r, u, v, c, c, s);
    if (!Between_Private(A, ea, s[0], lu, ell, 0) || !Between_Private(B, eb, s[1], lv, ell, 0)) {
      const PetscReal sign = Vec3Dot(DetectFacet_Private(A, a->facet[0])->n, c) + Vec3Dot(DetectFacet_Private(A, a->facet[1])->n, c) > 0 ? 1 : -1;

      if (w->hv <= eps || sign * dist < 0 || !Between_Private(A, ea, s[0], lu, ell, -w->hv / sine) || !Between_Private(B, eb, s[1], lv, ell, -w->hv / sine)) return PETSC_FALSE;
      if (!Meets_Private(w, ea, eb, x, u, lu, y, lv, c, sign, ell)) return PETSC_FALSE;
      beside = PETSC_TRUE;
    }
  }
  for (PetscInt k = 0; k < 3; k++) u[k] /= lu, v[k] /= lv, n[k] = c[k] / cc, c[k] /= lu * lv;
  for (PetscInt h = 0; h < 2; h++) {
    na[h] = DetectFacet_Private(A, a->facet[h])->n;
    nb[h] = DetectFacet_Private(B, b->facet[h])->n;
  }
  if (weak) { /* the product says little about the normal; two faces that are almost parallel say more, of several the way out */
    PetscReal best = -PETSC_INFINITY, o[3], at[2];

    for (PetscInt i = 0; i < 2; i++)
      for (PetscInt j = 0; j < 2; j++) {
        if (Vec3Dot(na[i], nb[j]) > -0.99452) continue; /* cos 6 degrees */
        DetectSubtract_Private(na[i], nb[j], o);
        (void)DetectNormalize_Private(o);
        if (PetscAbsReal(Vec3Dot(c, o)) < WEAK) continue;
        Crossing_Private(r, u, v, c, o, at);
        gap = 0;
        for (PetscInt k = 0; k < 3; k++) gap += o[k] * (r[k] + at[1] * v[k] - at[0] * u[k]);
        if (gap <= best) continue;
        best = gap;
        more = 0.07;
        for (PetscInt k = 0; k < 3; k++) n[k] = o[k];
        s[0] = at[0], s[1] = at[1];
      }
    if (more == 0) Crossing_Private(r, u, v, c, n, s);
    s[0] /= lu, s[1] /= lv;
    if (!Between_Private(A, ea, s[0], lu, ell, 0) || !Between_Private(B, eb, s[1], lv, ell, 0)) return PETSC_FALSE;
  }
  /* an end whose node touches no facet, since it is not the lowest there, is a contact if it is alone */
  if (!beside && (!Between_Private(A, ea, s[0], lu, ell, 0.5 * eps) || !Between_Private(B, eb, s[1], lv, ell, 0.5 * eps))) weak = PETSC_TRUE;
  ca = Vec3Dot(n, na[0]) + Vec3Dot(n, na[1]);
  cb = Vec3Dot(n, nb[0]) + Vec3Dot(n, nb[1]);
  if (ca < 0) {
    ca = -ca, cb = -cb;
    for (PetscInt k = 0; k < 3; k++) n[k] = -n[k];
  }
  if (!(ca > 0 && cb < 0)) return PETSC_FALSE;
  for (PetscInt k = 0; k < 3; k++) {
    hit->x[0][k] = x[0][k] + s[0] * (x[1][k] - x[0][k]);
    hit->x[1][k] = y[0][k] + s[1] * (y[1][k] - y[0][k]);
    hit->n[k]    = n[k];
  }
  DetectSubtract_Private(hit->x[1], hit->x[0], r);
  gap = Vec3Dot(n, r);
  if (gap > m || gap < -depth) return PETSC_FALSE;
  if (!InCone_Private(A, a, u, lu, 1, n, na, more, m, Most_Private(a, gap, eps, m)) || !InCone_Private(B, b, v, lv, -1, n, nb, more, m, Most_Private(b, gap, eps, m))) return PETSC_FALSE;
  hit->key.kind   = CONTACT_EDGE_EDGE;
  hit->key.i      = Curve_Private(sa, ea);
  hit->key.j      = Curve_Private(sb, eb);
  hit->feature[0] = ea;
  hit->feature[1] = eb;
  hit->facet[0]   = a->facet[0];
  hit->facet[1]   = b->facet[0];
  /* patches as Facing_Private() would take them */
  ca = Vec3Dot(n, na[1]) - Vec3Dot(n, na[0]);
  cb = Vec3Dot(n, nb[0]) - Vec3Dot(n, nb[1]);
  if (ca > 1e-6 || (ca > -1e-6 && sa->facet[a->facet[1]].patch < sa->facet[a->facet[0]].patch)) hit->facet[0] = a->facet[1];
  if (cb > 1e-6 || (cb > -1e-6 && sb->facet[b->facet[1]].patch < sb->facet[b->facet[0]].patch)) hit->facet[1] = b->facet[1];
  hit->gap    = gap;
  hit->weak   = weak;
  hit->eps    = eps;
  hit->depth  = depth;
  hit->inside = PetscMin(PetscMin(s[0], 1 - s[0]) * lu, PetscMin(s[1], 1 - s[1]) * lv);
  hit->s[0]   = s[0];
  hit->s[1]   = s[1];
  return PETSC_TRUE;
}

PetscErrorCode DetectorTest_Private(Detector d, const DetectWork *w, PetscInt n, const DetectCandidate c[])
{
  PetscFunctionBeginUser;
  d->nhit = 0;
  for (PetscInt k = 0; k < n; k++) {
    DetectHit *hit;
    PetscBool  yes;

    GrowArray(d->nhit + 1, d->mhit, d->hit);
    hit = &d->hit[d->nhit];
    if (c[k].kind == CONTACT_NODE_FACET) yes = NodeFacet_Private(w, 0, c[k].i, c[k].j, hit);
    else if (c[k].kind == CONTACT_FACET_NODE) yes = NodeFacet_Private(w, 1, c[k].j, c[k].i, hit);
    else yes = EdgeEdge_Private(w, c[k].i, c[k].j, hit);
    if (!yes) continue;
    hit->key.a = w->side[0].body->id;
    hit->key.b = w->side[1].body->id;
    hit->area  = 0;
    hit->drop  = hit->force = PETSC_FALSE;
    for (PetscInt a = 0; a < 2; a++) hit->patch[a] = w->side[a].part->surface->facet[hit->facet[a]].patch;
    d->nhit++;
  }
  PetscFunctionReturn(0);
}

/* Is the contact still over its feature when B is moved, without slack at convex edges? Ends of edges are cut as in the test itself: an edge
   that leaves a face by a side is, moved by its depth there, just at the end of the side's edge. */
PetscBool DetectStays_Private(const DetectWork *w, const DetectHit *hit, const PetscReal move[3])
{
  if (hit->key.kind == CONTACT_EDGE_EDGE) {
    PetscReal x[2][2][3], u[2][3], r[3], c[3], s[2];

    for (PetscInt a = 0; a < 2; a++) {
      const PetscInt *node = w->side[a].part->whole + 2 * hit->feature[a];

      for (PetscInt h = 0; h < 2; h++) DetectNode_Private(&w->side[a], node[h], x[a][h]);
      DetectSubtract_Private(x[a][1], x[a][0], u[a]);
    }
    for (PetscInt k = 0; k < 3; k++) r[k] = x[1][0][k] + move[k] - x[0][0][k];
    Vec3Cross(u[0], u[1], c);
    Crossing_Private(r, u[0], u[1], c, hit->n, s);
    for (PetscInt a = 0; a < 2; a++) {
      const PetscReal l = Vec3Norm(u[a]);

      if (!(s[a] * l >= 0.5 * hit->eps && (1 - s[a]) * l >= 0.5 * hit->eps)) return PETSC_FALSE;
    }
    /* nor does its normal count as in the cones for their slack */
    for (PetscInt a = 0; a < 2; a++) {
      const SurfaceEdge *e    = &w->side[a].part->surface->edge[hit->feature[a]];
      const PetscReal   *f[2] = {DetectFacet_Private(&w->side[a], e->facet[0])->n, DetectFacet_Private(&w->side[a], e->facet[1])->n};
      PetscReal          v[3];

      DetectNode_Private(&w->side[a], e->node[0], x[a][0]);
      DetectNode_Private(&w->side[a], e->node[1], x[a][1]);
      DetectSubtract_Private(x[a][1], x[a][0], v);
      (void)DetectNormalize_Private(v);
      if (e->angle >= ROUND && !InCone_Private(&w->side[a], e, v, 0, a ? -1 : 1, hit->n, f, 0, 0, DETECT_FLAT)) return PETSC_FALSE;
    }
    return PETSC_TRUE;
  } else {
    const PetscInt    a = hit->key.kind == CONTACT_NODE_FACET ? 0 : 1;
    const DetectSide *side = &w->side[1 - a];
    Surface           s    = side->part->surface;
    PetscInt          f    = hit->feature[1 - a];
    PetscReal         y[4][3], p[3], q[3], n[3], d;

    for (PetscInt k = 0; k < 3; k++) p[k] = hit->x[a][k] + (a ? move[k] : -move[k]);
    for (PetscInt step = 0; step < 64; step++) { /* walks over lines of the mesh */
      const SurfaceFacet *facet = &s->facet[f];
      PetscInt            over  = -1;
      PetscReal           worst = -DETECT_FLAT * facet->ell;

      const DetectFacetNow *now = DetectFacet_Private(side, f);

      Corners_Private(side, f, y);
      d = Foot_Private(facet->nnode, y, now->n, p, now->warp, n, q);
      for (PetscInt k = 0; k < facet->nnode; k++) {
        const SurfaceEdge *e  = &s->edge[facet->edge[k]];
        PetscReal          ee, in = Inside_Private(facet->nnode, y, k, n, q, &ee);

        in /= PetscSqrtReal(ee);

        if (e->kind == SURFACE_EDGE_FLAT && in < worst) worst = in, over = k;
        if (e->kind == SURFACE_EDGE_CONVEX && in < -DETECT_FLAT * facet->ell) return PETSC_FALSE;
        if (e->kind == SURFACE_EDGE_CONCAVE && in < -Slack_Private(e, facet->ell, d, hit->depth)) return PETSC_FALSE;
      }
      if (over < 0) return PETSC_TRUE;
      f = s->edge[facet->edge[over]].facet[s->edge[facet->edge[over]].facet[0] == f ? 1 : 0];
    }
    return PETSC_TRUE;
  }
}
