/* Overlaps that are too deep for any contact, looked for at the first update: there nothing would hold the bodies. */
#include "constraints/detect_impl.h"

#define STACK 128

/* Distance along unit `dir` at which a ray from p leaves or enters triangle y; below 0: it does not */
static PetscReal Ray_Private(const PetscReal p[3], const PetscReal dir[3], const PetscReal *y[3], PetscReal *out)
{
  PetscReal a[3], b[3], r[3], n[3], q[3], det, u, v, t;

  DetectSubtract_Private(y[1], y[0], a);
  DetectSubtract_Private(y[2], y[0], b);
  DetectSubtract_Private(p, y[0], r);
  Vec3Cross(a, b, n);
  det = Vec3Dot(n, dir);
  if (det == 0) return -1;
  Vec3Cross(dir, r, q);
  u = Vec3Dot(b, q) / det;
  v = -Vec3Dot(a, q) / det;
  t = -Vec3Dot(n, r) / det;
  if (!(u >= 0 && v >= 0 && u + v <= 1)) return -1;
  *out = det;
  return t;
}

/* Square of the distance of p from triangle y (Ericson, Real-Time Collision Detection, 5.1.5) */
static PetscReal Distance_Private(const PetscReal p[3], const PetscReal *y[3])
{
  PetscReal a[3], b[3], r[3], s[3], w[3], d1, d2, d3, d4, d5, d6, va, vb, vc, u, v;

  DetectSubtract_Private(y[1], y[0], a);
  DetectSubtract_Private(y[2], y[0], b);
  DetectSubtract_Private(p, y[0], r);
  DetectSubtract_Private(p, y[1], s);
  DetectSubtract_Private(p, y[2], w);
  d1 = Vec3Dot(a, r), d2 = Vec3Dot(b, r), d3 = Vec3Dot(a, s), d4 = Vec3Dot(b, s), d5 = Vec3Dot(a, w), d6 = Vec3Dot(b, w);
  va = d3 * d6 - d5 * d4, vb = d5 * d2 - d1 * d6, vc = d1 * d4 - d3 * d2;
  if (d1 <= 0 && d2 <= 0) u = v = 0;
  else if (d3 >= 0 && d4 <= d3) u = 1, v = 0;
  else if (d6 >= 0 && d5 <= d6) u = 0, v = 1;
  else if (vc <= 0 && d1 >= 0 && d3 <= 0) u = d1 / (d1 - d3), v = 0;
  else if (vb <= 0 && d2 >= 0 && d6 <= 0) u = 0, v = d2 / (d2 - d6);
  else if (va <= 0 && d4 >= d3 && d5 >= d6) v = (d4 - d3) / ((d4 - d3) + (d5 - d6)), u = 1 - v;
  else u = vb / (va + vb + vc), v = vc / (va + vb + vc);
  for (PetscInt c = 0; c < 3; c++) r[c] -= u * a[c] + v * b[c];
  return Vec3Dot(r, r);
}

/* The k-th triangle of facet f */
static PetscBool Triangle_Private(const DetectSide *s, PetscInt f, PetscInt k, const PetscReal *y[3])
{
  const SurfaceFacet *facet = &s->part->surface->facet[f];

  if (k == facet->nnode - 2) return PETSC_FALSE;
  y[0] = s->x + 3 * facet->node[0];
  y[1] = s->x + 3 * facet->node[k + 1];
  y[2] = s->x + 3 * facet->node[k + 2];
  return PETSC_TRUE;
}

static PetscBool Meets_Private(const PetscReal p[3], const PetscReal dir[3], const PetscReal b[6])
{
  PetscReal in = 0, out = PETSC_INFINITY;

  for (PetscInt k = 0; k < 3; k++) {
    const PetscReal l = (b[k] - p[k]) / dir[k], h = (b[3 + k] - p[k]) / dir[k];

    in  = PetscMax(in, PetscMin(l, h));
    out = PetscMin(out, PetscMax(l, h));
  }
  return (PetscBool)(in <= out * (1 + 1e-9));
}

/* Is p (from the body's own origin) inside? The way out is through a facet seen from inside; all directions must say so. */
static PetscBool Inside_Private(const DetectSide *s, const PetscReal *box, const PetscReal p[3])
{
  static const PetscReal dir[3][3] = {{0.6180339887, 0.2718281828, 0.7376589431}, {-0.4142135624, 0.8317254817, -0.3694180113}, {0.3819660113, -0.6931471806, -0.6112323431}};
  const Surface          surface   = s->part->surface;

  for (PetscInt k = 0; k < 3; k++) {
    PetscInt  stack[STACK], top = 1;
    PetscReal least = PETSC_INFINITY, out = -1;

    stack[0] = 0;
    while (top) {
      const PetscInt         i = stack[--top];
      const SurfaceTreeNode *t = &surface->tree[i];

      if (!Meets_Private(p, dir[k], box + 6 * i)) continue;
      if (t->right) {
        stack[top++] = t->right;
        stack[top++] = i + 1;
        continue;
      }
      for (PetscInt l = t->first; l < t->first + t->count; l++) {
        const PetscReal *y[3];

        for (PetscInt m = 0; Triangle_Private(s, surface->tree_facet[l], m, y); m++) {
          PetscReal       side = 0;
          const PetscReal at   = Ray_Private(p, dir[k], y, &side);

          if (at >= 0 && at < least) least = at, out = side;
        }
      }
    }
    if (out <= 0) return PETSC_FALSE;
  }
  return PETSC_TRUE;
}

/* Is there a facet that sees p, as thick there as tau, below it? */
static PetscBool Seen_Private(const DetectSide *s, const PetscReal *box, const PetscReal p[3], PetscReal tau)
{
  const Surface   surface = s->part->surface;
  const PetscReal most    = DetectDepth_Private(s->part->max_tau, tau, PETSC_INFINITY, s->part->max_ell) + DETECT_EPS * s->part->max_ell;
  PetscInt        stack[STACK], top = 1;

  stack[0] = 0;
  while (top) {
    const PetscInt         i = stack[--top];
    const SurfaceTreeNode *t = &surface->tree[i];
    PetscBool              near = PETSC_TRUE;

    for (PetscInt c = 0; c < 3; c++)
      if (p[c] < box[6 * i + c] - most || p[c] > box[6 * i + 3 + c] + most) near = PETSC_FALSE;
    if (!near) continue;
    if (t->right) {
      stack[top++] = t->right;
      stack[top++] = i + 1;
      continue;
    }
    for (PetscInt l = t->first; l < t->first + t->count; l++) {
      const SurfaceFacet *f = &surface->facet[surface->tree_facet[l]];
      const PetscReal     depth = DetectDepth_Private(f->tau, tau, PETSC_INFINITY, f->ell) + DETECT_EPS * f->ell, *y[3];

      for (PetscInt m = 0; Triangle_Private(s, surface->tree_facet[l], m, y); m++)
        if (Distance_Private(p, y) <= depth * depth) return PETSC_TRUE;
    }
  }
  return PETSC_FALSE;
}

PetscBool DetectHidden_Private(Detector d, const DetectWork *w, PetscBool touching, PetscReal at[3])
{
  for (PetscInt a = 0; a < 2; a++) {
    const DetectSide *s = &w->side[a], *o = &w->side[1 - a];
    const Surface     surface = s->part->surface;
    const PetscReal  *box = DetectBoxes_Private(d, o->body);

    for (PetscInt k = 0; k < surface->nnode + surface->nfacet; k++) { /* nodes, then middles of facets */
      const PetscInt f   = k - surface->nnode;
      PetscReal      p[3], tau = f < 0 ? s->part->tau[k] : surface->facet[f].tau;
      PetscBool      in = PETSC_TRUE;

      for (PetscInt c = 0; c < 3 && in; c++) {
        p[c] = f < 0 ? s->x[3 * k + c] : 0;
        for (PetscInt i = 0; f >= 0 && i < surface->facet[f].nnode; i++) p[c] += s->x[3 * surface->facet[f].node[i] + c] / surface->facet[f].nnode;
        p[c] += s->shift[c] - o->shift[c];
        in = (PetscBool)(p[c] > box[c] && p[c] < box[3 + c]);
      }
      if (!in || Seen_Private(o, box, p, touching ? tau : 0) || !Inside_Private(o, box, p)) continue;
      for (PetscInt c = 0; c < 3; c++) at[c] = p[c] + o->shift[c];
      return PETSC_TRUE;
    }
  }
  return PETSC_FALSE;
}
