/* Which of the features that touch are contacts: one for every key, the right face at corners, none twice. */
#include "constraints/detect_impl.h"

int ContactKeyCompare(const ContactKey *a, const ContactKey *b)
{
  if (a->a != b->a) return a->a < b->a ? -1 : 1;
  if (a->b != b->b) return a->b < b->b ? -1 : 1;
  if (a->kind != b->kind) return a->kind < b->kind ? -1 : 1;
  if (a->i != b->i) return a->i < b->i ? -1 : 1;
  if (a->j != b->j) return a->j < b->j ? -1 : 1;
  return 0;
}

/* By key; of the same key the shallower, the more central, the lower feature first */
static int ByKey_Private(const DetectHit *a, const DetectHit *b)
{
  const int c = ContactKeyCompare(&a->key, &b->key);

  if (c) return c;
  if (PetscAbsReal(a->gap - b->gap) > 1e-4 * PetscMin(a->eps, b->eps)) return a->gap > b->gap ? -1 : 1;
  if (a->inside != b->inside) return a->inside > b->inside ? -1 : 1;
  for (PetscInt h = 0; h < 2; h++)
    if (a->feature[h] != b->feature[h]) return a->feature[h] < b->feature[h] ? -1 : 1;
  return 0;
}

/* A contact at work counts with half its depth */
static inline PetscReal Depth_Private(const DetectHit *a)
{
  return a->force ? 0.5 * a->gap : a->gap;
}

static int ByDepth_Private(const DetectHit *a, const DetectHit *b)
{
  if (Depth_Private(a) != Depth_Private(b)) return Depth_Private(a) > Depth_Private(b) ? -1 : 1;
  return ContactKeyCompare(&a->key, &b->key);
}

static int ByOrder_Private(const DetectHit *a, const DetectHit *b)
{
  if (a->uv[0] != b->uv[0]) return a->uv[0] < b->uv[0] ? -1 : 1;
  return ContactKeyCompare(&a->key, &b->key);
}

/* Insertion for a few, heap for many: libc's may allocate. */
void DetectSort_Private(PetscInt n, PetscInt list[], int (*before)(const DetectHit *, const DetectHit *), const DetectHit hit[])
{
  if (n <= 24) {
    for (PetscInt i = 1; i < n; i++) {
      const PetscInt t = list[i];
      PetscInt       j = i;

      for (; j > 0 && before(&hit[t], &hit[list[j - 1]]) < 0; j--) list[j] = list[j - 1];
      list[j] = t;
    }
    return;
  }
  for (PetscInt end = n, start = n / 2; end > 1;) {
    PetscInt t, i;

    if (start > 0) t = list[--start];
    else {
      t         = list[--end];
      list[end] = list[0];
    }
    for (i = start;;) {
      PetscInt c = 2 * i + 1;

      if (c >= end) break;
      if (c + 1 < end && before(&hit[list[c]], &hit[list[c + 1]]) < 0) c++;
      if (before(&hit[list[c]], &hit[t]) <= 0) break;
      list[i] = list[c];
      i       = c;
    }
    list[i] = t;
  }
}

static PetscInt Compress_Private(PetscInt n, PetscInt list[], const DetectHit hit[])
{
  PetscInt m = 0;

  for (PetscInt i = 0; i < n; i++)
    if (!hit[list[i]].drop) list[m++] = list[i];
  return m;
}

/* Two edges that are almost parallel cross anywhere, and at their ends nodes say as much; but alone they are a contact. */
static void Weak_Private(PetscInt n, const PetscInt list[], DetectHit hit[])
{
  PetscReal least = PETSC_INFINITY;

  for (PetscInt i = 0; i < n; i++)
    if (!hit[list[i]].weak) least = PetscMin(least, hit[list[i]].gap);
  for (PetscInt i = 0; i < n; i++)
    if (hit[list[i]].weak && (least <= 0 || least <= hit[list[i]].gap)) hit[list[i]].drop = PETSC_TRUE;
}

/* One node on two patches that meet at a convex edge: the shallower is the way out. Sorted by key, a node's come together. */
static PetscErrorCode Patches_Private(const DetectWork *w, PetscInt n, const PetscInt list[], DetectHit hit[])
{
  PetscFunctionBeginUser;
  for (PetscInt i = 0; i < n; i++) {
    DetectHit *a = &hit[list[i]];

    for (PetscInt j = i + 1; j < n && a->key.kind != CONTACT_EDGE_EDGE; j++) {
      DetectHit *b = &hit[list[j]];
      PetscBool  meet;

      if (b->key.kind != a->key.kind || b->key.i != a->key.i) break;
      PetscCall(SurfacePatchesMeet(w->side[a->key.kind == CONTACT_NODE_FACET ? 1 : 0].part->surface, a->key.j, b->key.j, &meet));
      if (meet) {
        if (Depth_Private(b) > Depth_Private(a)) a->drop = PETSC_TRUE;
        else b->drop = PETSC_TRUE;
      }
    }
  }
  PetscFunctionReturn(0);
}

/* A contact is dropped if the way out of a shallower one takes it off its feature: the right face at corners, both walls of a keyway.
   Of contacts with one normal only the deepest that is shallower counts, since it moves B farthest; so the cost is linear. Where a plane parts the bodies none is
   deep; where some feature is not in the other body at all, one that is deep in it by the slack of the tests alone is none. */
static void Resolve_Private(const DetectWork *w, PetscInt n, PetscInt list[], DetectHit hit[])
{
  enum { NORMALS = 32 };
  const PetscReal still[3] = {0, 0, 0};
  PetscInt        last[NORMALS], nlast = 0;
  PetscReal       parted = PETSC_INFINITY; /* not looked at yet */
  PetscBool       open = PETSC_FALSE;

  DetectSort_Private(n, list, ByDepth_Private, hit);
  for (PetscInt i = 0; i < n; i++) {
    DetectHit *a    = &hit[list[i]];
    PetscInt   same = -1;

    if (!(a->gap < 0)) {
      open = PETSC_TRUE;
      continue;
    }
    if (a->gap < -DETECT_OUTSIDE * a->eps) {
      if (parted == PETSC_INFINITY) parted = DetectParted_Private(w);
      if (parted > -0.5 * DETECT_OUTSIDE * a->eps || (open && !DetectStays_Private(w, a, still))) a->drop = PETSC_TRUE;
    }
    for (PetscInt k = 0; k < nlast && !a->drop; k++) {
      const DetectHit *b = &hit[last[k]];
      const PetscReal  c = Vec3Dot(a->n, b->n);
      PetscReal        move[3];

      if (c > 1 - 1e-9) same = k;
      if (c >= 0.9 || Depth_Private(a) >= (1 + 1e-6) * Depth_Private(b)) continue;
      for (PetscInt d = 0; d < 3; d++) move[d] = -b->gap * b->n[d];
      if (!DetectStays_Private(w, a, move)) a->drop = PETSC_TRUE;
    }
    if (a->drop) continue;
    if (same >= 0) last[same] = list[i];
    else if (nlast < NORMALS) last[nlast++] = list[i];
  }
}

/* Points closer than 3 eps with almost one normal: one, nodes of A before nodes of B before edges. Sorted along a direction that no mesh
   follows, near ones are few. */
static void Near_Private(PetscInt n, PetscInt list[], DetectHit hit[])
{
  static const PetscReal dir[3] = {0.6180339887, 0.2718281828, 0.7376589431};
  PetscReal              widest = 0;

  for (PetscInt i = 0; i < n; i++) {
    DetectHit *a = &hit[list[i]];

    a->uv[0] = Vec3Dot(dir, a->x[0]);
    widest   = PetscMax(widest, a->eps);
  }
  DetectSort_Private(n, list, ByOrder_Private, hit);
  for (PetscInt pass = CONTACT_NODE_FACET; pass <= CONTACT_EDGE_EDGE; pass++)
    for (PetscInt i = 0; i < n; i++) {
      DetectHit *a = &hit[list[i]];

      if (a->key.kind != pass) continue;
      for (PetscInt way = -1; way <= 1 && !a->drop; way += 2)
        for (PetscInt j = i + way; j >= 0 && j < n && !a->drop; j += way) {
          const DetectHit *b = &hit[list[j]];
          const PetscReal  l = 3 * PetscMin(a->eps, b->eps);
          PetscReal        r[3];

          if (PetscAbsReal(b->uv[0] - a->uv[0]) > 4 * widest) break;
          if (b->drop || b->key.kind > pass || (b->key.kind == pass && ContactKeyCompare(&b->key, &a->key) > 0)) continue;
          DetectSubtract_Private(a->x[0], b->x[0], r);
          if (Vec3Dot(r, r) < l * l && Vec3Dot(a->n, b->n) > 0.98) a->drop = PETSC_TRUE;
        }
    }
}

/* Finer: smaller facets in the mean; of equal ones A */
static PetscInt Finer_Private(const DetectWork *w)
{
  return w->side[1].part->mean_area < (1 - 1e-6) * w->side[0].part->mean_area ? 1 : 0;
}

/* The mean of all contacts of two elements in place of them */
static PetscInt Centroids_Private(const DetectWork *w, PetscInt n, PetscInt list[], DetectHit hit[])
{
  PetscInt m = 0;

  for (PetscInt i = 0; i < n; i++) {
    DetectHit *a = &hit[list[i]];

    a->key.kind = CONTACT_ELEMENTS;
    a->key.i    = w->side[0].part->surface->facet[a->facet[0]].elem;
    a->key.j    = w->side[1].part->surface->facet[a->facet[1]].elem;
  }
  DetectSort_Private(n, list, ByKey_Private, hit);
  for (PetscInt i = 0, j; i < n; i = j) {
    DetectHit *a = &hit[list[i]];
    PetscReal  r[3];

    for (j = i + 1; j < n && !ContactKeyCompare(&a->key, &hit[list[j]].key); j++) {
      const DetectHit *b = &hit[list[j]];

      a->area += b->area;
      for (PetscInt k = 0; k < 3; k++) {
        a->n[k] += b->n[k];
        a->x[0][k] += b->x[0][k];
        a->x[1][k] += b->x[1][k];
      }
    }
    for (PetscInt k = 0; k < 3; k++) {
      a->x[0][k] /= j - i;
      a->x[1][k] /= j - i;
      r[k] = a->x[1][k] - a->x[0][k];
    }
    if (!(DetectNormalize_Private(a->n) > 0)) continue; /* squeezed from both sides: no normal */
    a->gap    = Vec3Dot(a->n, r);
    list[m++] = list[i];
  }
  return m;
}

PetscErrorCode DetectorFilter_Private(Detector d, const DetectWork *w)
{
  PetscInt   n = d->nhit, *list, m;
  DetectHit *hit = d->hit;

  PetscFunctionBeginUser;
  if (n > d->morder) {
    d->morder = n + n / 2 + 16;
    PetscCall(PetscRealloc((size_t)d->morder * sizeof(*d->order), &d->order));
    PetscCall(PetscRealloc((size_t)d->morder * 3 * sizeof(*d->scratch), &d->scratch));
  }
  list = d->order;
  for (PetscInt i = 0; i < n; i++) list[i] = i;
  DetectSort_Private(n, list, ByKey_Private, hit);
  m = n ? 1 : 0;
  for (PetscInt i = 1; i < n; i++)
    if (ContactKeyCompare(&hit[list[i]].key, &hit[list[m - 1]].key)) list[m++] = list[i];
  n = m;
  Weak_Private(n, list, hit);
  n = Compress_Private(n, list, hit);
  PetscCall(Patches_Private(w, n, list, hit));
  n = Compress_Private(n, list, hit);
  if (n) {
    Resolve_Private(w, n, list, hit);
    n = Compress_Private(n, list, hit);
  }
  if (n > 1) {
    Near_Private(n, list, hit);
    n = Compress_Private(n, list, hit);
  }
  if (d->points == CONTACT_POINTS_HULL && !w->rigid) {
    const PetscInt coarse = 1 - Finer_Private(w), kind = coarse ? CONTACT_FACET_NODE : CONTACT_NODE_FACET;

    for (PetscInt i = 0; i < n; i++) {
      DetectHit *a = &hit[list[i]];

      if (a->key.kind == kind && !w->side[coarse].part->surface->node_nconvex[a->key.i]) a->drop = PETSC_TRUE;
    }
    n = Compress_Private(n, list, hit);
  }
  d->nhit = n; /* list holds the survivors */
  PetscCall(DetectorGroup_Private(d, w));
  n = Compress_Private(d->nhit, list, hit);
  if (d->points == CONTACT_POINTS_CENTROID) n = Centroids_Private(w, n, list, hit);
  else DetectSort_Private(n, list, ByKey_Private, hit);
  d->nhit = n;
  PetscFunctionReturn(0);
}
