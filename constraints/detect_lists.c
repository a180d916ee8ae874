/* Candidate lists with a skin: made anew only for bodies that moved farther than their lists allow. A list holds all that can touch before
   that, so contacts do not depend on when it was made. */
#include "constraints/detect_impl.h"

#define STACK 128 /* two trees' depths, or twice one's, of 32-bit (or 63-bit) numbers */

/* A contact at depth D has features no farther apart than max(m, D), besides slack and, beyond concave edges, D again:
   at most 8 h v + 2 (depth of the pair) + 3 eps */
PetscReal DetectUsed_Private(const DetectBodyData *b, const DetectPart *part, PetscReal h)
{
  return b->moved + 8 * h * b->speed + 3.2 * DETECT_EPS * part->max_ell;
}

static PetscBool Before_Private(const DetectBodyData *body, PetscInt axis, PetscInt a, PetscInt b)
{
  const PetscReal p = body[a].fat[axis] + body[a].fat[3 + axis], q = body[b].fat[axis] + body[b].fat[3 + axis];

  return (PetscBool)(p < q || (p == q && a < b));
}

/* Quickselect: the k-th of list comes to place k, lesser ones before it */
static void Select_Private(const DetectBodyData *body, PetscInt axis, PetscInt n, PetscInt k, PetscInt list[])
{
  PetscInt low = 0, high = n - 1;

  while (low < high) {
    const PetscInt pivot = list[low + (high - low) / 2];
    PetscInt       i = low, j = high;

    while (i <= j) {
      while (Before_Private(body, axis, list[i], pivot)) i++;
      while (Before_Private(body, axis, pivot, list[j])) j--;
      if (i <= j) {
        const PetscInt t = list[i];

        list[i++] = list[j];
        list[j--] = t;
      }
    }
    if (k <= j) high = j;
    else if (k >= i) low = i;
    else return;
  }
}

static void BodyTree_Private(Detector d, PetscInt first, PetscInt count)
{
  const PetscInt   me = d->nbtree++;
  SurfaceTreeNode *t  = &d->btree[me];
  PetscReal       *box = d->btreebox + 6 * me, low[3], high[3];
  PetscInt         axis = 0;

  for (PetscInt c = 0; c < 3; c++) {
    box[c] = low[c] = PETSC_INFINITY, box[3 + c] = high[c] = -PETSC_INFINITY;
    for (PetscInt i = first; i < first + count; i++) {
      const PetscReal *f = d->body[d->border[i]].fat;

      box[c]     = PetscMin(box[c], f[c]);
      box[3 + c] = PetscMax(box[3 + c], f[3 + c]);
      low[c]     = PetscMin(low[c], f[c] + f[3 + c]);
      high[c]    = PetscMax(high[c], f[c] + f[3 + c]);
    }
    if (high[c] - low[c] > high[axis] - low[axis]) axis = c;
  }
  t->first = first;
  t->count = count;
  t->right = 0;
  if (count <= 2) return;
  Select_Private(d->body, axis, count, count / 2, d->border + first);
  BodyTree_Private(d, first, count / 2);
  d->btree[me].right = d->nbtree;
  BodyTree_Private(d, first + count / 2, count - count / 2);
}

/* Boxes of the tree as it is; children come after their parent */
static void TreeBoxes_Private(Detector d)
{
  for (PetscInt i = d->nbtree - 1; i >= 0; i--) {
    const SurfaceTreeNode *t   = &d->btree[i];
    PetscReal             *box = d->btreebox + 6 * i;
    const PetscReal       *p   = t->right ? box + 6 : d->body[d->border[t->first]].fat;
    const PetscReal       *q   = t->right ? d->btreebox + 6 * t->right : d->body[d->border[t->first + t->count - 1]].fat;

    for (PetscInt c = 0; c < 3; c++) {
      box[c]     = PetscMin(p[c], q[c]);
      box[3 + c] = PetscMax(p[3 + c], q[3 + c]);
    }
  }
}

PetscErrorCode DetectorTree_Private(Detector d, PetscInt n)
{
  PetscFunctionBeginUser;
  if (!d->fresh && d->size == 1 && n == d->treebodies && d->nrefresh - d->treemade <= n) { /* bodies are still near to where they were when it was made */
    TreeBoxes_Private(d);
    PetscFunctionReturn(0);
  }
  if (2 * n > d->mbtree) {
    d->mbtree = 3 * n;
    PetscCall(PetscRealloc((size_t)d->mbtree * sizeof(*d->btree), &d->btree));
    PetscCall(PetscRealloc((size_t)d->mbtree * 6 * sizeof(*d->btreebox), &d->btreebox));
    PetscCall(PetscRealloc((size_t)d->mbtree * sizeof(*d->border), &d->border));
  }
  for (PetscInt i = 0; i < n; i++) d->border[i] = i;
  d->nbtree     = 0;
  d->treebodies = n;
  d->treemade   = d->nrefresh;
  if (n) BodyTree_Private(d, 0, n);
  PetscFunctionReturn(0);
}

/* Bodies by id: own ones and ghosts are each so already */
static PetscErrorCode Order_Private(Detector d)
{
  PetscInt own = 0, ghost = d->nown;

  PetscFunctionBeginUser;
  if (d->nbody > d->morder_body || !d->start) {
    d->morder_body = d->nbody + d->nbody / 2;
    PetscCall(PetscRealloc((size_t)d->morder_body * sizeof(*d->byid), &d->byid));
    PetscCall(PetscRealloc((size_t)d->morder_body * sizeof(*d->place_of), &d->place_of));
    PetscCall(PetscRealloc((size_t)(d->morder_body + 2) * sizeof(*d->start), &d->start));
  }
  for (PetscInt i = 0; i < d->nbody; i++) {
    const PetscBool mine = (PetscBool)(ghost == d->nbody || (own < d->nown && d->body[own].id < d->body[ghost].id));

    d->byid[i]              = mine ? own++ : ghost++;
    d->place_of[d->byid[i]] = i;
  }
  PetscFunctionReturn(0);
}

/* Does this rank look after a and b, of which a has the lower id? */
static PetscBool Mine_Private(Detector d, const DetectBodyData *a, const DetectBodyData *b)
{
  if (a->kind == DETECT_OBSTACLE && b->kind == DETECT_OBSTACLE) return PETSC_FALSE;
  if ((a->ghost && b->ghost) || ((a->id ^ b->id) & 1 ? b : a)->rank != d->rank) return PETSC_FALSE;
  return d->filter ? d->filter(d->filter_ctx, a->id, b->id) : PETSC_TRUE;
}

/* Does body b look for pairs of its own? All do, but where few bodies are stale and none comes or goes, the stale ones only */
static PetscBool Asks_Private(Detector d, PetscInt b)
{
  return (PetscBool)(d->fresh || d->size > 1 || d->body[b].stale);
}

/* Bodies whose fat boxes meet that of a, but for those before it that ask themselves: their places in the order of ids, ascending, in found */
static PetscErrorCode Query_Private(Detector d, PetscInt a)
{
  PetscInt stack[STACK], top = 0;

  PetscFunctionBeginUser;
  d->nfound    = 0;
  stack[top++] = 0;
  while (top) {
    const PetscInt         i = stack[--top];
    const SurfaceTreeNode *t = &d->btree[i];

    if (DetectApart_Private(d->body[a].fat, d->btreebox + 6 * i)) continue;
    if (t->right) {
      stack[top++] = t->right;
      stack[top++] = i + 1;
      continue;
    }
    for (PetscInt k = t->first; k < t->first + t->count; k++) {
      const PetscInt b = d->border[k];

      if (b == a || DetectApart_Private(d->body[a].fat, d->body[b].fat) || (d->place_of[b] < d->place_of[a] && Asks_Private(d, b))) continue;
      if (d->place_of[a] < d->place_of[b] ? !Mine_Private(d, &d->body[a], &d->body[b]) : !Mine_Private(d, &d->body[b], &d->body[a])) continue;
      GrowArray(d->nfound + 1, d->mfound, d->found);
      d->found[d->nfound++] = d->place_of[b];
    }
  }
  PetscCall(PetscSortInt(d->nfound, d->found));
  PetscFunctionReturn(0);
}

typedef struct {
  const DetectPart *part;
  const PetscReal  *x, *box; /* of nodes, of the tree */
  PetscReal         reach;   /* no node goes farther while the list holds */
  PetscReal         shift[3];
} Half;

/* How far the direction of p x q may turn when nodes move by r each: 2 |change| / |p x q| */
static PetscReal Turns_Private(const PetscReal p[3], const PetscReal q[3], PetscReal cross, PetscReal r, PetscReal s)
{
  return 2 * (2 * r * Vec3Norm(q) + 2 * s * Vec3Norm(p) + 4 * r * s) / cross;
}

/* Will a neighbour of node v stay lower than v as seen from a facet with normal n, which turns by no more than `turns`? Then v never touches
   it: the test of predicates with room for all motion that the list allows. r: bound of the margin */
static PetscBool Behind_Private(const Half *s, PetscInt v, const PetscReal n[3], PetscReal turns, PetscReal r)
{
  Surface surface = s->part->surface;

  for (PetscInt k = surface->ring_ptr[v]; k < surface->ring_ptr[v + 1]; k++) {
    PetscReal e[3];

    DetectSubtract_Private(s->x + 3 * surface->ring_node[k], s->x + 3 * v, e);
    if (Vec3Dot(e, n) < -(r + 2 * s->reach + (DETECT_TILT + 0.1 + turns) * (Vec3Norm(e) + 2 * s->reach))) return PETSC_TRUE;
  }
  return PETSC_FALSE;
}

/* Directions from edge e (unit u) into its facets, and how far they may turn */
static void Into_Private(const Half *s, const SurfaceEdge *e, const PetscReal u[3], PetscReal length, PetscReal t[2][3], PetscReal turns[2])
{
  for (PetscInt h = 0; h < 2; h++) {
    const SurfaceFacet *f = &s->part->surface->facet[e->facet[h]];
    PetscReal           p[3], q[3], n[3], l;

    DetectSubtract_Private(s->x + 3 * f->node[2], s->x + 3 * f->node[0], p);
    DetectSubtract_Private(s->x + 3 * f->node[3], s->x + 3 * f->node[1], q);
    Vec3Cross(p, q, n);
    l = DetectNormalize_Private(n);
    Vec3Cross(n, u, t[h]);
    for (PetscInt k = 0; k < 3 && h; k++) t[h][k] = -t[h][k];
    turns[h] = Turns_Private(p, q, l, s->reach, s->reach) + 4 * s->reach / length;
  }
}

/* Can +-n, which turns by no more than `turns`, never be in the normal cones of both edges? r: bound of the margin */
static PetscBool NoCone_Private(const Half *A, const SurfaceEdge *a, const PetscReal u[3], PetscReal lu, const Half *B, const SurfaceEdge *b, const PetscReal v[3], PetscReal lv, const PetscReal n[3], PetscReal turns, PetscReal r)
{
  PetscReal ta[2][3], tb[2][3], wa[2], wb[2];

  Into_Private(A, a, u, lu, ta, wa);
  Into_Private(B, b, v, lv, tb, wb);
  for (PetscInt sign = -1; sign <= 1; sign += 2) {
    PetscBool out = PETSC_FALSE;

    for (PetscInt h = 0; h < 2; h++) {
      const PetscReal slack = DETECT_TILT + 0.1 + turns; /* more than the 2 + 4 degrees of the test */

      if (sign * Vec3Dot(n, ta[h]) > slack + wa[h] + r * (lu + 2 * A->reach) / A->part->surface->facet[a->facet[h]].area) out = PETSC_TRUE;
      if (-sign * Vec3Dot(n, tb[h]) > slack + wb[h] + r * (lv + 2 * B->reach) / B->part->surface->facet[b->facet[h]].area) out = PETSC_TRUE;
    }
    if (!out) return PETSC_FALSE;
  }
  return PETSC_TRUE;
}

static void FacetBox_Private(const Half *s, const SurfaceFacet *f, PetscReal box[6])
{
  for (PetscInt c = 0; c < 3; c++) {
    PetscReal low = s->x[3 * f->node[0] + c], high = low;

    for (PetscInt k = 1; k < f->nnode; k++) {
      low  = PetscMin(low, s->x[3 * f->node[k] + c]);
      high = PetscMax(high, s->x[3 * f->node[k] + c]);
    }
    box[c]     = low + s->shift[c];
    box[3 + c] = high + s->shift[c];
  }
}

static PetscErrorCode Add_Private(Detector d, PetscInt kind, PetscInt i, PetscInt j)
{
  PetscFunctionBeginUser;
  GrowArray(d->ncand + 1, d->mcand, d->cand);
  d->cand[d->ncand].kind = kind;
  d->cand[d->ncand].i    = i;
  d->cand[d->ncand].j    = j;
  d->ncand++;
  PetscFunctionReturn(0);
}

/* Nodes that facet p of side s owns, near facet q of side o (whose box is given, not grown) */
static PetscErrorCode NodesNear_Private(Detector d, const Half *s, PetscInt p, const Half *o, PetscInt q, const PetscReal box[6], PetscReal r, PetscReal listed, PetscInt kind)
{
  const SurfaceFacet *f = &s->part->surface->facet[p], *g = &o->part->surface->facet[q];
  PetscReal           n[3] = {0, 0, 0}, u[3], v[3], warp = -1, turns = 0;

  PetscFunctionBeginUser;
  if (!f->owned_nodes) PetscFunctionReturn(0);
  for (PetscInt k = 0; k < f->nnode; k++) {
    const PetscInt  w = f->node[k];
    const PetscReal rf = r + 2 * DetectDepth_Private(g->tau, s->part->tau[w], listed, g->ell);
    PetscReal       x[3], y[3];
    PetscBool       near = PETSC_TRUE;

    if (!(f->owned_nodes >> k & 1)) continue;
    for (PetscInt c = 0; c < 3; c++) {
      x[c] = s->x[3 * w + c] + s->shift[c];
      y[c] = x[c] - (o->x[3 * g->node[0] + c] + o->shift[c]);
      if (x[c] < box[c] - rf || x[c] > box[3 + c] + rf) near = PETSC_FALSE;
    }
    if (!near) continue;
    if (warp < 0) { /* few get here */
      DetectSubtract_Private(o->x + 3 * g->node[2], o->x + 3 * g->node[0], u);
      DetectSubtract_Private(o->x + 3 * g->node[3], o->x + 3 * g->node[1], v);
      Vec3Cross(u, v, n);
      turns = Turns_Private(u, v, DetectNormalize_Private(n), o->reach, o->reach);
      for (PetscInt c = 0; c < 3; c++) u[c] = g->nnode == 4 ? o->x[3 * g->node[0] + c] - o->x[3 * g->node[1] + c] + o->x[3 * g->node[2] + c] - o->x[3 * g->node[3] + c] : 0;
      warp = PetscAbsReal(Vec3Dot(u, n));
    }
    if (PetscAbsReal(Vec3Dot(y, n)) > rf + warp || Behind_Private(s, w, n, turns, r)) continue;
    PetscCall(Add_Private(d, kind, kind == CONTACT_NODE_FACET ? w : q, kind == CONTACT_NODE_FACET ? q : w));
  }
  PetscFunctionReturn(0);
}

static PetscErrorCode EdgesNear_Private(Detector d, const Half *A, PetscInt p, const Half *B, PetscInt q, PetscReal r, PetscReal listed)
{
  const SurfaceFacet *f = &A->part->surface->facet[p], *g = &B->part->surface->facet[q];

  PetscFunctionBeginUser;
  if (!f->owned_edges || !g->owned_edges) PetscFunctionReturn(0);
  for (PetscInt i = 0; i < f->nnode; i++) {
    const SurfaceEdge *a = &A->part->surface->edge[f->edge[i]];
    const PetscReal   *x = A->x + 3 * a->node[0], *y = A->x + 3 * a->node[1];
    const PetscReal    ta = A->part->edge_tau[f->edge[i]];

    if (!(f->owned_edges >> i & 1)) continue;
    for (PetscInt j = 0; j < g->nnode; j++) {
      const SurfaceEdge *b = &B->part->surface->edge[g->edge[j]];
      const PetscReal   *z = B->x + 3 * b->node[0], *w = B->x + 3 * b->node[1];
      PetscReal          rf, u[3], v[3], e[3], c[3], dist, lu, lv, cross;
      PetscBool          near = PETSC_TRUE;

      if (!(g->owned_edges >> j & 1)) continue;
      rf = r + 2 * DetectDepth_Private(ta, B->part->edge_tau[g->edge[j]], listed, PetscMin(f->ell, g->ell));
      for (PetscInt k = 0; k < 3; k++) {
        const PetscReal s = B->shift[k] - A->shift[k];

        if (PetscMin(x[k], y[k]) > PetscMax(z[k], w[k]) + s + rf || PetscMin(z[k], w[k]) + s > PetscMax(x[k], y[k]) + rf) near = PETSC_FALSE;
        u[k] = y[k] - x[k];
        v[k] = w[k] - z[k];
        e[k] = z[k] + s - x[k];
      }
      if (!near) continue;
      Vec3Cross(u, v, c);
      dist = Vec3Dot(e, c);
      if (dist * dist > rf * rf * Vec3Dot(c, c) * (1 + 1e-9)) continue; /* lines are no farther than edges */
      lu    = Vec3Norm(u);
      lv    = Vec3Norm(v);
      cross = DetectNormalize_Private(c);
      if (cross > 0.1 * lu * lv) {
        const PetscReal turns = Turns_Private(u, v, cross, A->reach, B->reach);

        /* below a sine of 0.1 the test takes other normals */
        if (cross > (0.1 + turns) * (lu + 2 * A->reach) * (lv + 2 * B->reach)) {
          for (PetscInt k = 0; k < 3; k++) u[k] /= lu, v[k] /= lv;
          if (NoCone_Private(A, a, u, lu, B, b, v, lv, c, turns, r)) continue;
        }
      }
      PetscCall(Add_Private(d, CONTACT_EDGE_EDGE, f->edge[i], g->edge[j]));
    }
  }
  PetscFunctionReturn(0);
}

/* Candidates of a pair. Both trees down at once; boxes are those of the bodies as they are now, in the model's axes */
PetscErrorCode DetectorList_Private(Detector d, DetectPair *pair)
{
  const DetectBodyData *a = &d->body[pair->body[0]], *b = &d->body[pair->body[1]];
  const DetectPart     *pa = &d->part[a->part], *pb = &d->part[b->part];
  /* lists count from when a body was refreshed, but are made of where it is now */
  const PetscReal       ra = a->reach + a->moved, rb = b->reach + b->moved, r = ra + rb;
  const PetscReal       rmax = r + 2 * DetectDepth_Private(pa->max_tau, pb->max_tau, pair->listed, PetscMax(pa->max_ell, pb->max_ell));
  const Half            A = {pa, DetectNodes_Private(d, a), DetectBoxes_Private(d, a), ra, {0, 0, 0}};
  Half                  B = {pb, DetectNodes_Private(d, b), DetectBoxes_Private(d, b), rb, {0, 0, 0}};
  PetscInt              stack[STACK][2], top = 1;
  const PetscBool       small = (PetscBool)(pa->surface->nfacet <= DETECT_SMALL && pb->surface->nfacet <= DETECT_SMALL);
  PetscReal             gbox[DETECT_SMALL][6], all[6]; /* of a leaf's facets, all of them */

  PetscFunctionBeginUser;
  for (PetscInt c = 0; c < 3; c++) B.shift[c] = b->origin[c] - a->origin[c];
  pair->first = d->ncand;
  stack[0][0] = stack[0][1] = 0;
  while (top) {
    const PetscInt         i = stack[--top][0], j = stack[top][1];
    const SurfaceTreeNode *s = &pa->surface->tree[i], *t = &pb->surface->tree[j];
    const PetscReal       *p = A.box + 6 * i, *q = B.box + 6 * j;
    PetscBool              near = PETSC_TRUE;

    for (PetscInt c = 0; c < 3; c++)
      if (p[c] > q[3 + c] + B.shift[c] + rmax || q[c] + B.shift[c] > p[3 + c] + rmax) near = PETSC_FALSE;
    if (!near) continue;
    if (!small && s->right && (!t->right || s->count >= t->count)) {
      stack[top][0] = s->right, stack[top++][1] = j;
      stack[top][0] = i + 1, stack[top++][1] = j;
      continue;
    }
    if (!small && t->right) {
      stack[top][0] = i, stack[top++][1] = t->right;
      stack[top][0] = i, stack[top++][1] = j + 1;
      continue;
    }
    for (PetscInt c = 0; c < 3; c++) all[c] = q[c] + B.shift[c] - rmax, all[3 + c] = q[3 + c] + B.shift[c] + rmax;
    for (PetscInt l = 0; l < t->count; l++) FacetBox_Private(&B, &pb->surface->facet[pb->surface->tree_facet[t->first + l]], gbox[l]);
    for (PetscInt k = s->first; k < s->first + s->count; k++) {
      const PetscInt f = pa->surface->tree_facet[k];
      PetscReal      fbox[6], grown[6];

      FacetBox_Private(&A, &pa->surface->facet[f], fbox);
      if (DetectApart_Private(fbox, all)) continue;
      for (PetscInt c = 0; c < 3; c++) grown[c] = fbox[c] - rmax, grown[3 + c] = fbox[3 + c] + rmax;
      for (PetscInt l = 0; l < t->count; l++) {
        const PetscInt g = pb->surface->tree_facet[t->first + l];

        if (DetectApart_Private(grown, gbox[l])) continue;
        PetscCall(NodesNear_Private(d, &A, f, &B, g, gbox[l], r, pair->listed, CONTACT_NODE_FACET));
        PetscCall(NodesNear_Private(d, &B, g, &A, f, fbox, r, pair->listed, CONTACT_FACET_NODE));
        PetscCall(EdgesNear_Private(d, &A, f, &B, g, r, pair->listed));
      }
    }
  }
  pair->n = d->ncand - pair->first;
  PetscFunctionReturn(0);
}

#define Swap_Private(type, a, b) \
  do { \
    type swap_ = (a); \
    (a)        = (b); \
    (b)        = swap_; \
  } while (0)

/* Lists of a body begin here. */
static PetscErrorCode Refresh_Private(Detector d, PetscInt i, PetscReal h)
{
  DetectBodyData   *b    = &d->body[i];
  const DetectPart *part = &d->part[b->part];

  PetscFunctionBeginUser;
  d->nrefresh++;
  PetscCall(PetscArraycpy(d->xref + 3 * b->first, d->x + 3 * b->first, 3 * part->surface->nnode));
  PetscCall(SurfaceTreeRefit(part->surface, d->x + 3 * b->first, d->treebox + 6 * b->tree));
  DetectStart_Private(d, i);
  b->sent   = b->placed;
  b->moved  = 0;
  /* twenty steps, or five of fast bodies: longer lists then cost more than making them */
  b->skin   = PetscMax(PetscMin(20 * h * b->speed, PetscMax(5 * h * b->speed, 0.1 * part->surface->size)), 1e-3 * part->surface->size);
  b->reach  = b->skin + DetectUsed_Private(b, part, h);
  for (PetscInt c = 0; c < 3; c++) {
    b->fat[c]     = b->origin[c] + (b->low[c] - b->reach);
    b->fat[3 + c] = b->origin[c] + (b->high[c] + b->reach);
  }
  PetscFunctionReturn(0);
}

/* Pairs of bodies that ask, by places in the order of ids: of body `lower` those from start[lower] on, ascending. A body that asks gets its later partners from itself, one
   that does not from each of them, and these ask by turns: so no sorting is needed. */
static PetscErrorCode Asked_Private(Detector d)
{
  PetscFunctionBeginUser;
  PetscCall(PetscArrayzero(d->start, d->nbody + 2));
  d->nasked = 0;
  for (PetscInt i = 0; i < d->nbody; i++) {
    if (!Asks_Private(d, d->byid[i])) continue;
    PetscCall(Query_Private(d, d->byid[i]));
    GrowArray(2 * (d->nasked + d->nfound), d->masked, d->asked);
    for (PetscInt k = 0; k < d->nfound; k++, d->nasked++) {
      d->asked[2 * d->nasked]     = PetscMin(i, d->found[k]);
      d->asked[2 * d->nasked + 1] = PetscMax(i, d->found[k]);
      d->start[d->asked[2 * d->nasked] + 2]++;
    }
  }
  GrowArray(d->nasked, d->mhigher, d->higher);
  for (PetscInt i = 0; i < d->nbody; i++) d->start[i + 2] += d->start[i + 1];
  for (PetscInt k = 0; k < d->nasked; k++) d->higher[d->start[d->asked[2 * k] + 1]++] = d->asked[2 * k + 1];
  PetscFunctionReturn(0);
}

/* Pairs whose fat boxes meet, by id, with what is known of them: those that were asked for, and of the old ones those of bodies that did not ask */
static PetscErrorCode Pairs_Private(Detector d)
{
  PetscInt at = 0;

  PetscFunctionBeginUser;
  Swap_Private(DetectPair *, d->pair, d->old);
  Swap_Private(PetscInt, d->mpair, d->mold);
  d->nold  = d->npair;
  d->npair = 0;
  PetscCall(Asked_Private(d));
  for (PetscInt i = 0; i < d->nbody; i++) {
    const DetectBodyData *a = &d->body[d->byid[i]];

    for (PetscInt k = d->start[i]; k <= d->start[i + 1]; k++) {
      const PetscBool       last = (PetscBool)(k == d->start[i + 1]);
      const DetectBodyData *b    = last ? NULL : &d->body[d->byid[d->higher[k]]];
      DetectPair           *pair;
      PetscBool             known;

      for (; at < d->nold && (d->old[at].id[0] < a->id || (d->old[at].id[0] == a->id && (last || d->old[at].id[1] < b->id))); at++) {
        if (d->fresh || d->size > 1 || d->body[d->old[at].body[0]].stale || d->body[d->old[at].body[1]].stale) continue;
        GrowArray(d->npair + 1, d->mpair, d->pair);
        d->pair[d->npair++] = d->old[at];
      }
      if (last) break;
      GrowArray(d->npair + 1, d->mpair, d->pair);
      pair          = &d->pair[d->npair++];
      pair->body[0] = d->byid[i];
      pair->body[1] = d->byid[d->higher[k]];
      pair->id[0]   = a->id;
      pair->id[1]   = b->id;
      known         = (PetscBool)(at < d->nold && d->old[at].id[0] == a->id && d->old[at].id[1] == b->id);
      pair->deep    = d->first ? PETSC_INFINITY : (known ? d->old[at].deep : 0);
      pair->first   = known && !d->fresh && !a->stale && !b->stale ? d->old[at].first : -1; /* its list still holds, and is there */
      pair->n       = pair->first < 0 ? 0 : d->old[at].n;
      pair->listed  = pair->first < 0 ? 0 : d->old[at].listed;
      pair->apart   = known ? d->old[at].apart : 0;
      pair->close   = known ? d->old[at].close : PETSC_FALSE;
      at += known;
    }
  }
  PetscFunctionReturn(0);
}

/* Lists that nobody has any more go, once they are as many as the others */
static PetscErrorCode Compact_Private(Detector d)
{
  PetscInt used = 0;

  PetscFunctionBeginUser;
  for (PetscInt i = 0; i < d->npair; i++) used += d->pair[i].first < 0 ? 0 : d->pair[i].n;
  if (d->ncand <= 2 * used) PetscFunctionReturn(0);
  Swap_Private(DetectCandidate *, d->cand, d->oldcand);
  Swap_Private(PetscInt, d->mcand, d->moldcand);
  GrowArray(used, d->mcand, d->cand);
  d->ncand = 0;
  for (PetscInt i = 0; i < d->npair; i++) {
    DetectPair *pair = &d->pair[i];

    if (pair->first < 0) continue; /* most never come so close that theirs is needed */
    PetscCall(PetscArraycpy(d->cand + d->ncand, d->oldcand + pair->first, pair->n));
    pair->first = d->ncand;
    d->ncand += pair->n;
  }
  PetscFunctionReturn(0);
}

/* Bodies are marked stale. The others keep the lists of pairs among themselves. */
PetscErrorCode DetectorRebuild_Private(Detector d, PetscReal h)
{
  PetscFunctionBeginUser;
  d->report.nrebuild++;
  d->nbody = d->nown;
  for (PetscInt i = 0; i < d->nown; i++) {
    DetectBodyData *b = &d->body[i];

    /* on several ranks, where this is dear, whoever used half of its skin joins in, so that it is done less often */
    if (d->size > 1 && DetectUsed_Private(b, &d->part[b->part], h) > b->reach - 0.5 * b->skin) b->stale = PETSC_TRUE;
    if (b->stale) PetscCall(Refresh_Private(d, i, h));
  }
  if (d->size > 1) PetscCall(DetectorRanksFind_Private(d));
  PetscCall(DetectorTree_Private(d, d->nbody));
  PetscCall(Order_Private(d));
  PetscCall(Pairs_Private(d));
  if (d->size > 1) {
    PetscCall(DetectorRanksSubscribe_Private(d));
    PetscCall(DetectorRanksExchange_Private(d));
    for (PetscInt i = d->nown; i < d->nbody; i++) PetscCall(SurfaceTreeRefit(d->part[d->body[i].part].surface, DetectNodes_Private(d, &d->body[i]), DetectBoxes_Private(d, &d->body[i])));
  }
  PetscCall(Compact_Private(d));
  PetscFunctionReturn(0);
}
