/* Faces that touch: corners of what they share, and its area; then all that a row needs of a contact. */
#include "constraints/detect_impl.h"

#define CORNER 1e-4 /* points this near to a line between others, in units of the extent, are on it */
#define PLANE  1e-3 /* patches that bend more (radians) keep all their contacts */

static int ByPatch_Private(const DetectHit *a, const DetectHit *b)
{
  for (PetscInt h = 0; h < 2; h++)
    if (a->patch[h] != b->patch[h]) return a->patch[h] < b->patch[h] ? -1 : 1;
  return ContactKeyCompare(&a->key, &b->key);
}

static int ByPlace_Private(const DetectHit *a, const DetectHit *b)
{
  for (PetscInt h = 0; h < 2; h++)
    if (a->uv[h] != b->uv[h]) return a->uv[h] < b->uv[h] ? -1 : 1;
  return ContactKeyCompare(&a->key, &b->key);
}

/* Twice the area of a, b, c */
static PetscReal Turn_Private(const DetectHit *a, const DetectHit *b, const DetectHit *c)
{
  return (b->uv[0] - a->uv[0]) * (c->uv[1] - a->uv[1]) - (b->uv[1] - a->uv[1]) * (c->uv[0] - a->uv[0]);
}

static PetscReal Distance_Private(const DetectHit *a, const DetectHit *b)
{
  return PetscSqrtReal(PetscSqr(b->uv[0] - a->uv[0]) + PetscSqr(b->uv[1] - a->uv[1]));
}

/* Andrew's chains: list sorted by place, hull (room for n + 1) counter-clockwise */
static PetscInt Hull_Private(PetscInt n, const PetscInt list[], const DetectHit hit[], PetscInt hull[])
{
  PetscInt h = 0;

  for (PetscInt pass = 0, low = 2; pass < 2; pass++) {
    for (PetscInt k = pass; k < n; k++) {
      const PetscInt i = list[pass ? n - 1 - k : k];

      while (h >= low && Turn_Private(&hit[hull[h - 2]], &hit[hull[h - 1]], &hit[i]) <= 0) h--;
      hull[h++] = i;
    }
    low = h + 1;
  }
  return n > 1 ? h - 1 : h;
}

/* Keeps the corners of hull between places i and j of the ring of n that are off the line between (Douglas and Peucker) */
static void Corners_Private(PetscInt n, const PetscInt hull[], PetscInt i, PetscInt j, PetscReal tol, DetectHit hit[])
{
  const DetectHit *a = &hit[hull[i % n]], *b = &hit[hull[j % n]];
  const PetscReal  l = Distance_Private(a, b);
  PetscReal        most = tol;
  PetscInt         far = -1;

  for (PetscInt k = i + 1; k < j; k++) {
    const DetectHit *c = &hit[hull[k % n]];
    const PetscReal  d = l > 0 ? PetscAbsReal(Turn_Private(a, b, c)) / l : Distance_Private(a, c);

    if (d > most) most = d, far = k;
  }
  if (far < 0) return;
  hit[hull[far % n]].drop = PETSC_FALSE;
  Corners_Private(n, hull, i, far, tol, hit);
  Corners_Private(n, hull, far, j, tol, hit);
}

/* Drops all but the corners. They are found from the farthest two points on: an end of a side is farther than what is on it. */
static void Reduce_Private(PetscInt n, const PetscInt list[], PetscInt nhull, const PetscInt hull[], DetectHit hit[])
{
  DetectHit mean = hit[hull[0]];
  PetscInt  i = 0, j = 0;
  PetscReal extent;

  mean.uv[0] = mean.uv[1] = 0;
  for (PetscInt k = 0; k < nhull; k++)
    for (PetscInt c = 0; c < 2; c++) mean.uv[c] += hit[hull[k]].uv[c] / nhull;
  for (PetscInt k = 1; k < nhull; k++)
    if (Distance_Private(&mean, &hit[hull[k]]) > Distance_Private(&mean, &hit[hull[i]])) i = k;
  for (PetscInt k = 1; k < nhull; k++)
    if (Distance_Private(&hit[hull[i]], &hit[hull[k]]) > Distance_Private(&hit[hull[i]], &hit[hull[j]])) j = k;
  extent = Distance_Private(&hit[hull[i]], &hit[hull[j]]);
  for (PetscInt k = 0; k < n; k++) hit[list[k]].drop = PETSC_TRUE;
  hit[hull[i]].drop = hit[hull[j]].drop = PETSC_FALSE;
  if (i == j) return;
  if (j < i) j += nhull;
  Corners_Private(nhull, hull, i, j, CORNER * extent, hit);
  Corners_Private(nhull, hull, j, i + nhull, CORNER * extent, hit);
  /* of a side parallel to the line any point may have been the farthest */
  for (PetscInt k = i + 1, last = i; k < i + nhull; k++) {
    PetscInt  next = k + 1;
    PetscReal l;

    if (hit[hull[k % nhull]].drop) continue;
    while (hit[hull[next % nhull]].drop) next++;
    l = Distance_Private(&hit[hull[last % nhull]], &hit[hull[next % nhull]]);
    if (l > 0 && PetscAbsReal(Turn_Private(&hit[hull[last % nhull]], &hit[hull[k % nhull]], &hit[hull[next % nhull]])) <= CORNER * extent * l) hit[hull[k % nhull]].drop = PETSC_TRUE;
    else last = k;
  }
}

/* Area of the hull to what is left: to corners by triangles about the middle, else by the area around nodes */
static void Areas_Private(const DetectWork *w, PetscInt n, const PetscInt list[], PetscInt nhull, const PetscInt hull[], PetscBool corners, DetectHit hit[])
{
  PetscReal area = 0, sum = 0;

  for (PetscInt k = 2; k < nhull; k++) area += 0.5 * Turn_Private(&hit[hull[0]], &hit[hull[k - 1]], &hit[hull[k]]);
  for (PetscInt h = 0; h < 2; h++) area = PetscMin(area, w->side[h].part->patch_area[hit[list[0]].patch[h]]);
  if (corners) {
    DetectHit mean = hit[hull[0]];
    PetscInt  m = 0, last = -1;

    mean.uv[0] = mean.uv[1] = 0;
    for (PetscInt k = 0; k < nhull; k++) {
      if (hit[hull[k]].drop) continue;
      m++;
      last = hull[k];
      for (PetscInt c = 0; c < 2; c++) mean.uv[c] += hit[hull[k]].uv[c];
    }
    for (PetscInt c = 0; c < 2; c++) mean.uv[c] /= m;
    for (PetscInt k = 0; k < nhull; k++) {
      PetscReal t;

      if (hit[hull[k]].drop) continue;
      t = PetscMax(Turn_Private(&mean, &hit[last], &hit[hull[k]]), 0.);
      hit[last].area += t;
      hit[hull[k]].area += t;
      last = hull[k];
    }
  } else {
    for (PetscInt k = 0; k < n; k++) {
      DetectHit     *a = &hit[list[k]];
      const PetscInt h = a->key.kind == CONTACT_FACET_NODE ? 1 : 0;

      if (a->key.kind == CONTACT_EDGE_EDGE) a->area = 0.25 * PetscMin(w->side[0].part->surface->facet[a->facet[0]].area, w->side[1].part->surface->facet[a->facet[1]].area);
      else { /* of the facets of this face only: others at its rim bear nothing */
        const Surface s = w->side[h].part->surface;

        for (PetscInt f = s->ring_facet_ptr[a->key.i]; f < s->ring_facet_ptr[a->key.i + 1]; f++)
          if (s->facet[s->ring_facet[f]].patch == a->patch[h]) a->area += s->facet[s->ring_facet[f]].area / s->facet[s->ring_facet[f]].nnode;
      }
    }
  }
  for (PetscInt k = 0; k < n; k++) sum += hit[list[k]].area;
  for (PetscInt k = 0; k < n; k++) hit[list[k]].area = sum > 0 ? hit[list[k]].area * (area / sum) : 0;
}

/* d->order: the contacts that are left of this pair */
PetscErrorCode DetectorGroup_Private(Detector d, const DetectWork *w)
{
  PetscInt  *list = d->order, *hull = d->scratch, *here = d->scratch + 2 * d->morder, n = d->nhit;
  DetectHit *hit = d->hit;

  PetscFunctionBeginUser;
  if (n < 3) PetscFunctionReturn(0);
  DetectSort_Private(n, list, ByPatch_Private, hit);
  for (PetscInt i = 0, j; i < n; i = j) {
    const DetectHit *a = &hit[list[i]];
    PetscReal        t[2][3], na[3], nb[3], ref[3] = {0, 0, 0};
    PetscInt         m = 0, nhull, axis = 0;
    PetscBool        reduce = (PetscBool)(d->points == CONTACT_POINTS_HULL && w->rigid);

    for (j = i + 1; j < n && hit[list[j]].patch[0] == a->patch[0] && hit[list[j]].patch[1] == a->patch[1]; j++) { }
    if (j - i < 3) continue;
    for (PetscInt h = 0; h < 2; h++) reduce = (PetscBool)(reduce && w->side[h].part->surface->patch[a->patch[h]].spread < PLANE);
    for (PetscInt k = i; k < j; k++) /* what follows is to be the same when A and B are exchanged */
      for (PetscInt c = 0; c < 3; c++) ref[c] += hit[list[k]].n[c];
    (void)DetectNormalize_Private(ref);
    for (PetscInt k = 1; k < 3; k++)
      if (PetscAbsReal(ref[k]) < PetscAbsReal(ref[axis])) axis = k;
    for (PetscInt k = 0; k < 3; k++) na[k] = k == axis;
    Vec3Cross(ref, na, t[0]);
    (void)DetectNormalize_Private(t[0]);
    Vec3Cross(ref, t[0], t[1]);
    for (PetscInt k = i; k < j; k++) {
      DetectHit *b = &hit[list[k]];
      PetscReal  r[3];

      if (Vec3Dot(ref, b->n) < 0.98) continue;
      for (PetscInt c = 0; c < 3; c++) r[c] = 0.5 * (b->x[0][c] - a->x[0][c]) + 0.5 * (b->x[1][c] - a->x[1][c]);
      b->uv[0]  = Vec3Dot(t[0], r);
      b->uv[1]  = Vec3Dot(t[1], r);
      here[m++] = list[k];
    }
    if (m < 3) continue;
    DetectSort_Private(m, here, ByPlace_Private, hit);
    nhull = Hull_Private(m, here, hit, hull);
    if (reduce) Reduce_Private(m, here, nhull, hull, hit);
    DetectNormal_Private(&w->side[0], a->facet[0], na);
    DetectNormal_Private(&w->side[1], a->facet[1], nb);
    if (nhull > 2 && Vec3Dot(na, nb) < -0.98) Areas_Private(w, m, here, nhull, hull, reduce, hit);
  }
  PetscFunctionReturn(0);
}

static const PetscReal Hex8Corner[8][3] = {{-1, -1, -1}, {1, -1, -1}, {1, 1, -1}, {-1, 1, -1}, {-1, -1, 1}, {1, -1, 1}, {1, 1, 1}, {-1, 1, 1}};

static void CornerOf_Private(const SurfaceFacet *f, PetscInt v, PetscReal xi[3])
{
  PetscInt k = 0;

  while (k < f->nnode - 1 && f->node[k] != v) k++;
  for (PetscInt c = 0; c < 3; c++) xi[c] = Hex8Corner[MeshHex8Side[f->side][f->corner[k]]][c];
}

/* Local coordinates on the parent's side of the point that differs from q along n only */
static void Locate_Private(const DetectSide *s, PetscInt f, const PetscReal q[3], const PetscReal n[3], PetscReal xi[3])
{
  Surface             surface = s->part->surface;
  const SurfaceFacet *facet   = &surface->facet[f];
  PetscReal           y[4][3], t[2][3], J[2][4], u = 0, v = 0;
  PetscInt            axis = 0;

  if (facet->nnode == 3) { /* the other half of the quadrilateral is the facet before or after */
    const SurfaceFacet *o = f > 0 && facet[-1].elem == facet->elem && facet[-1].side == facet->side ? facet - 1 : facet + 1;

    for (PetscInt k = 0; k < 3; k++) DetectNode_Private(s, o->node[k], y[o->corner[k]]);
  }
  for (PetscInt k = 0; k < facet->nnode; k++) DetectNode_Private(s, facet->node[k], y[facet->corner[k]]);
  for (PetscInt k = 1; k < 3; k++)
    if (PetscAbsReal(n[k]) < PetscAbsReal(n[axis])) axis = k;
  for (PetscInt k = 0; k < 3; k++) t[1][k] = k == axis;
  Vec3Cross(n, t[1], t[0]);
  (void)DetectNormalize_Private(t[0]);
  Vec3Cross(n, t[0], t[1]);
  /* q - (c0 + u c1 + v c2 + u v c3) = 0 in the plane */
  for (PetscInt k = 0; k < 2; k++) J[k][0] = J[k][1] = J[k][2] = J[k][3] = 0;
  for (PetscInt k = 0; k < 3; k++) {
    const PetscReal c[4] = {q[k] - 0.25 * (y[0][k] + y[1][k] + y[2][k] + y[3][k]), 0.25 * (-y[0][k] + y[1][k] + y[2][k] - y[3][k]), 0.25 * (-y[0][k] - y[1][k] + y[2][k] + y[3][k]), 0.25 * (y[0][k] - y[1][k] + y[2][k] - y[3][k])};

    for (PetscInt l = 0; l < 4; l++) {
      J[0][l] += c[l] * t[0][k];
      J[1][l] += c[l] * t[1][k];
    }
  }
  for (PetscInt it = 0; it < 20; it++) {
    PetscReal a[2], b[2], e[2], det, du, dv;

    for (PetscInt k = 0; k < 2; k++) {
      a[k] = J[k][1] + v * J[k][3];
      b[k] = J[k][2] + u * J[k][3];
      e[k] = J[k][0] - u * J[k][1] - v * b[k];
    }
    det = a[0] * b[1] - b[0] * a[1];
    if (!(PetscAbsReal(det) > 0)) break;
    du = (b[1] * e[0] - b[0] * e[1]) / det;
    dv = (a[0] * e[1] - a[1] * e[0]) / det;
    u  = PetscClipInterval(u + du, -3., 3.);
    v  = PetscClipInterval(v + dv, -3., 3.);
    if (PetscMax(PetscAbsReal(du), PetscAbsReal(dv)) < 1e-14) break;
  }
  for (PetscInt c = 0; c < 3; c++) {
    xi[c] = 0;
    for (PetscInt k = 0; k < 4; k++) {
      const PetscReal N = 0.25 * (1 + (k == 1 || k == 2 ? u : -u)) * (1 + (k > 1 ? v : -v));

      xi[c] += N * Hex8Corner[MeshHex8Side[facet->side][k]][c];
    }
  }
}

/* A patch's direction as the facet carries it now; its first edge where the patch turned normal to that */
static void Direction_Private(const DetectSide *s, PetscInt f, const PetscReal n[3], PetscReal t[3])
{
  const SurfaceFacet *facet = &s->part->surface->facet[f];
  const PetscInt      v[3] = {facet->node[0], facet->node[1], facet->node[facet->nnode - 1]};
  const PetscReal    *e = s->part->along + 2 * f;
  PetscReal           a[2][3], c;

  for (PetscInt k = 0; k < 2; k++) DetectSubtract_Private(s->x + 3 * v[k + 1], s->x + 3 * v[0], a[k]);
  for (PetscInt k = 0; k < 3; k++) t[k] = e[0] * a[0][k] + e[1] * a[1][k];
  c = Vec3Dot(t, n);
  for (PetscInt k = 0; k < 3; k++) t[k] -= c * n[k];
  if (!(Vec3Norm(t) > 0.1)) {
    c = Vec3Dot(a[0], n);
    for (PetscInt k = 0; k < 3; k++) t[k] = a[0][k] - c * n[k];
  }
  (void)DetectNormalize_Private(t);
}

/* Of constant twists v, w about c, x a point of the body: y = w x (x - c), z = w x y, and the point's velocity v + y */
static void Carried_Private(const DetectSide *s, const PetscReal x[3], PetscReal y[3], PetscReal z[3], PetscReal u[3])
{
  const DetectBodyData *b = s->body;
  PetscReal             r[3];

  for (PetscInt k = 0; k < 3; k++) r[k] = x[k] - (b->centre[k] + s->shift[k]);
  Vec3Cross(b->spin, r, y);
  Vec3Cross(b->spin, y, z);
  for (PetscInt k = 0; k < 3; k++) u[k] = b->velocity[k] + y[k];
}

/* h^2 / 2 of g'' while both bodies keep their twists. V: velocity of B's point against A's.
   Node of v on a face of f with outward normal n:  g = n . (x_v - x_f),  g'' = 2 (w_f x n) . V_vf + n . (w_v x (w_v x r_v) - w_f x (w_f x r_f))
   Edges a, b, which go on through different points:  g'' = n' . V + n . (w_B x (w_B x r_B + s_B b) - w_A x (w_A x r_A + s_A a))  with
   n' . a = -n . (w_A x a), n' . b = -n . (w_B x b), and the tangential V = s_A a - s_B b. Where edges that are almost parallel turn by what is between them this says nothing: 0. */
static PetscReal Bend_Private(const DetectWork *w, const DetectHit *hit)
{
  const PetscReal *spin[2] = {w->side[0].body->spin, w->side[1].body->spin};
  PetscReal        y[2][3], z[2][3], u[2][3], V[3], sum = 0;

  if (hit->key.kind == CONTACT_ELEMENTS) return 0;
  for (PetscInt h = 0; h < 2; h++) Carried_Private(&w->side[h], hit->x[h], y[h], z[h], u[h]);
  DetectSubtract_Private(u[1], u[0], V);
  for (PetscInt k = 0; k < 3; k++) sum += hit->n[k] * (z[1][k] - z[0][k]);
  if (hit->key.kind == CONTACT_EDGE_EDGE) {
    PetscReal e[2][3], t[2][3], turn[2], slide[2], c[2], d[2], rate[3], aa, ab, bb, det;

    for (PetscInt h = 0; h < 2; h++) {
      const SurfaceEdge *edge = &w->side[h].part->surface->edge[hit->feature[h]];

      DetectSubtract_Private(w->side[h].x + 3 * edge->node[1], w->side[h].x + 3 * edge->node[0], e[h]);
      Vec3Cross(spin[h], e[h], t[h]);
      turn[h]  = -Vec3Dot(hit->n, t[h]);
      slide[h] = Vec3Dot(V, e[h]);
    }
    aa = Vec3Dot(e[0], e[0]), ab = Vec3Dot(e[0], e[1]), bb = Vec3Dot(e[1], e[1]);
    det = aa * bb - ab * ab;
    DetectSubtract_Private(spin[1], spin[0], rate);
    if (!(det > PetscMax(PetscSqr(10 * w->h) * Vec3Dot(rate, rate), PetscSqr(DETECT_CROSS)) * aa * bb)) return 0; /* a sine of ten times the turn */
    c[0] = (bb * turn[0] - ab * turn[1]) / det, c[1] = (aa * turn[1] - ab * turn[0]) / det;
    d[0] = (bb * slide[0] - ab * slide[1]) / det, d[1] = -(aa * slide[1] - ab * slide[0]) / det;
    for (PetscInt k = 0; k < 3; k++) sum += (c[0] * e[0][k] + c[1] * e[1][k]) * V[k] + hit->n[k] * (d[1] * t[1][k] - d[0] * t[0][k]);
  } else {
    PetscReal t[3];

    Vec3Cross(spin[hit->key.kind == CONTACT_NODE_FACET ? 1 : 0], hit->n, t); /* n and V change sign together if the face is A's */
    sum += 2 * Vec3Dot(t, V);
  }
  return 0.5 * w->h * w->h * sum;
}

PetscErrorCode DetectorRow_Private(const DetectWork *w, const DetectHit *hit, Contact *c)
{
  PetscFunctionBeginUser;
  PetscCall(PetscMemzero(c, sizeof(*c))); /* padding, too: equal contacts are equal bytes */
  c->key  = hit->key;
  c->gap  = hit->gap;
  c->bend = Bend_Private(w, hit);
  c->area = hit->area;
  c->ell  = hit->eps / DETECT_EPS;
  for (PetscInt k = 0; k < 3; k++) c->normal[k] = hit->n[k];
  for (PetscInt h = 0; h < 2; h++) {
    const DetectSide   *s     = &w->side[h];
    const Surface       surface = s->part->surface;
    const SurfaceFacet *facet = &surface->facet[hit->facet[h]];

    c->patch[h]      = hit->patch[h];
    c->point[h].elem = facet->elem;
    c->point[h].side = facet->side;
    for (PetscInt k = 0; k < 3; k++) c->x[h][k] = hit->x[h][k] - s->shift[k];
    if (hit->key.kind == CONTACT_EDGE_EDGE) {
      const SurfaceEdge *e = &surface->edge[hit->feature[h]];
      PetscReal          end[2][3];

      for (PetscInt k = 0; k < 2; k++) CornerOf_Private(facet, e->node[k], end[k]);
      for (PetscInt k = 0; k < 3; k++) c->point[h].xi[k] = (1 - hit->s[h]) * end[0][k] + hit->s[h] * end[1][k];
      /* the diagonal of a warped quadrilateral is not on it */
      if (surface->facet[e->facet[0]].elem == surface->facet[e->facet[1]].elem && surface->facet[e->facet[0]].side == surface->facet[e->facet[1]].side) Locate_Private(s, hit->facet[h], hit->x[h], hit->n, c->point[h].xi);
      if (!h) {
        PetscReal *t = c->tangent[0], d[3], o;

        DetectSubtract_Private(s->x + 3 * e->node[1], s->x + 3 * e->node[0], t);
        DetectSubtract_Private(surface->coord + 3 * e->node[1], surface->coord + 3 * e->node[0], d);
        o = Vec3Dot(t, hit->n);
        for (PetscInt k = 0; k < 3; k++) t[k] -= o * hit->n[k];
        o = Vec3Dot(d, surface->curve[e->curve].dir) < 0 ? -1 : 1;
        for (PetscInt k = 0; k < 3; k++) t[k] *= o;
        (void)DetectNormalize_Private(t);
      }
    } else if (hit->key.kind != CONTACT_ELEMENTS && h == (hit->key.kind == CONTACT_NODE_FACET ? 0 : 1)) CornerOf_Private(facet, hit->feature[h], c->point[h].xi);
    else {
      Locate_Private(s, hit->facet[h], hit->x[h], hit->n, c->point[h].xi);
      Direction_Private(s, hit->facet[h], hit->n, c->tangent[0]);
    }
  }
  Vec3Cross(c->normal, c->tangent[0], c->tangent[1]);
  PetscFunctionReturn(0);
}
