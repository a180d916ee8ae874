/* Detector: bodies, the motion of each, and an update from lists to sorted contacts. */
#include "constraints/detect_impl.h"
#include <petscviewer.h>

#define AHEAD 8 /* so many pairs later a body is used that is fetched now */

const char *const ContactPointsTypes[] = {"hull", "all", "centroid", "ContactPoints", "CONTACT_POINTS_", NULL};

PetscErrorCode DetectorCreate(MPI_Comm comm, Detector *detector)
{
  PetscFunctionBeginUser;
  PetscCall(PetscNew(detector));
  PetscCall(PetscCommDuplicate(comm, &(*detector)->comm, NULL));
  (*detector)->first = (*detector)->fresh = PETSC_TRUE;
  PetscCall(DetectorRanksCreate_Private(*detector));
  PetscFunctionReturn(0);
}

PetscErrorCode DetectorDestroy(Detector *detector)
{
  Detector d = *detector;

  PetscFunctionBeginUser;
  if (!d) PetscFunctionReturn(0);
  PetscCall(DetectorRanksDestroy_Private(d));
  for (PetscInt i = 0; i < d->npart; i++) {
    if (d->part[i].made) {
      PetscCall(SurfaceDestroy(&d->part[i].surface));
      PetscCall(MeshDestroy(&d->part[i].mesh));
    }
    PetscCall(PetscFree(d->part[i].end));
    PetscCall(PetscFree(d->part[i].whole));
    PetscCall(PetscFree(d->part[i].tau));
    PetscCall(PetscFree(d->part[i].patch_area));
    PetscCall(PetscFree(d->part[i].along));
    PetscCall(PetscFree(d->part[i].edge_ell));
    PetscCall(PetscFree(d->part[i].edge_tau));
  }
  PetscCall(PetscFree(d->part));
  PetscCall(PetscFree(d->body));
  PetscCall(PetscFree(d->place));
  PetscCall(PetscFree(d->ref));
  PetscCall(PetscFree(d->gx));
  PetscCall(PetscFree(d->gtreebox));
  PetscCall(PetscFree(d->now));
  PetscCall(PetscFree(d->gnow));
  PetscCall(PetscFree(d->byid));
  PetscCall(PetscFree(d->place_of));
  PetscCall(PetscFree(d->force));
  PetscCall(PetscFree(d->x));
  PetscCall(PetscFree(d->v));
  PetscCall(PetscFree(d->xref));
  PetscCall(PetscFree(d->treebox));
  PetscCall(PetscFree(d->border));
  PetscCall(PetscFree(d->btree));
  PetscCall(PetscFree(d->btreebox));
  PetscCall(PetscFree(d->pair));
  PetscCall(PetscFree(d->old));
  PetscCall(PetscFree(d->cand));
  PetscCall(PetscFree(d->oldcand));
  PetscCall(PetscFree(d->found));
  PetscCall(PetscFree(d->asked));
  PetscCall(PetscFree(d->higher));
  PetscCall(PetscFree(d->start));
  PetscCall(PetscFree(d->order));
  PetscCall(PetscFree(d->scratch));
  PetscCall(PetscFree(d->hit));
  PetscCall(PetscFree(d->contact));
  PetscCall(PetscCommDestroy(&d->comm));
  PetscCall(PetscFree(*detector));
  PetscFunctionReturn(0);
}

PetscErrorCode DetectorSetPoints(Detector d, ContactPoints points)
{
  PetscFunctionBeginUser;
  d->points = points;
  PetscFunctionReturn(0);
}

PetscErrorCode DetectorSetPassDeep(Detector d, PetscBool pass)
{
  PetscFunctionBeginUser;
  d->pass = pass;
  PetscFunctionReturn(0);
}

PetscErrorCode DetectorSetNames(Detector d, PetscErrorCode (*fn)(void *ctx, PetscInt id, char name[], size_t length), void *ctx)
{
  PetscFunctionBeginUser;
  d->name     = fn;
  d->name_ctx = ctx;
  PetscFunctionReturn(0);
}

PetscErrorCode DetectorSetFilter(Detector d, PetscBool (*fn)(void *, PetscInt, PetscInt), void *ctx)
{
  PetscFunctionBeginUser;
  d->filter     = fn;
  d->filter_ctx = ctx;
  d->fresh      = PETSC_TRUE;
  PetscFunctionReturn(0);
}

PetscErrorCode DetectorSetFromOptions(Detector d)
{
  char      text[64];
  PetscInt  k = 0;
  PetscBool given;

  PetscFunctionBeginUser;
  PetscCall(PetscOptionsGetString(NULL, NULL, "-contact_points", text, sizeof(text), &given));
  if (!given) PetscFunctionReturn(0);
  while (k < 3 && strcmp(text, ContactPointsTypes[k])) k++;
  PetscCheck(k < 3, d->comm, PETSC_ERR_USER_INPUT, "contact_points: there is no '%s'; take hull, all or centroid", text);
  d->points = (ContactPoints)k;
  PetscFunctionReturn(0);
}

static void Along_Private(Surface s, PetscInt f, PetscReal along[2])
{
  const SurfaceFacet *facet = &s->facet[f];
  const PetscInt      v[3] = {facet->node[0], facet->node[1], facet->node[facet->nnode - 1]};
  PetscReal           a[2][3], g[3], e[2], det;

  for (PetscInt k = 0; k < 2; k++) {
    DetectSubtract_Private(s->coord + 3 * v[k + 1], s->coord + 3 * v[0], a[k]);
    e[k] = Vec3Dot(a[k], s->patch[facet->patch].dir);
  }
  g[0] = Vec3Dot(a[0], a[0]), g[1] = Vec3Dot(a[0], a[1]), g[2] = Vec3Dot(a[1], a[1]);
  det      = g[0] * g[2] - g[1] * g[1];
  along[0] = (g[2] * e[0] - g[1] * e[1]) / det;
  along[1] = (g[0] * e[1] - g[1] * e[0]) / det;
}

PetscErrorCode DetectPartSetUp_Private(DetectPart *p, Surface s)
{
  PetscReal area = 0;
  PetscInt *ends;

  PetscFunctionBeginUser;
  p->surface = s;
  p->number  = -1;
  p->mesh    = NULL;
  p->made    = PETSC_FALSE;
  for (PetscInt c = 0; c < 3; c++) {
    p->middle[c] = 0.5 * (s->tree_box[c] + s->tree_box[3 + c]);
    p->half[c]   = 0.5 * (s->tree_box[3 + c] - s->tree_box[c]);
  }
  p->radius = 0;
  for (PetscInt v = 0; v < s->nnode; v++) {
    PetscReal r[3];

    DetectSubtract_Private(s->coord + 3 * v, p->middle, r);
    p->radius = PetscMax(p->radius, Vec3Norm(r));
  }
  p->max_ell = p->max_tau = 0;
  p->simple  = (PetscBool)(s->nfacet <= DETECT_SMALL);
  for (PetscInt e = 0; e < s->nedge; e++)
    if (s->edge[e].kind == SURFACE_EDGE_CONCAVE) p->simple = PETSC_FALSE;
  PetscCall(PetscCalloc1(s->nedge, &p->end));
  PetscCall(PetscMalloc1(s->nnode, &p->tau));
  PetscCall(PetscCalloc1(s->npatch, &p->patch_area));
  PetscCall(PetscMalloc1(2 * s->nfacet, &p->along));
  PetscCall(PetscMalloc1(s->nedge, &p->edge_ell));
  PetscCall(PetscMalloc1(s->nedge, &p->edge_tau));
  for (PetscInt e = 0; e < s->nedge; e++) {
    const SurfaceFacet *f = &s->facet[s->edge[e].facet[0]], *g = &s->facet[s->edge[e].facet[1]];

    p->edge_ell[e] = PetscMin(f->ell, g->ell);
    p->edge_tau[e] = PetscMin(f->tau, g->tau);
  }
  for (PetscInt v = 0; v < s->nnode; v++) {
    p->tau[v] = PETSC_INFINITY;
    for (PetscInt k = s->ring_facet_ptr[v]; k < s->ring_facet_ptr[v + 1]; k++) p->tau[v] = PetscMin(p->tau[v], s->facet[s->ring_facet[k]].tau);
    for (PetscInt i = s->ring_ptr[v]; i < s->ring_ptr[v + 1]; i++)
      for (PetscInt j = s->ring_ptr[v]; j < i; j++) {
        const PetscInt e[2] = {s->ring_edge[i], s->ring_edge[j]};

        if (s->edge[e[0]].curve < 0 || s->edge[e[0]].curve != s->edge[e[1]].curve) continue;
        for (PetscInt h = 0; h < 2; h++) p->end[e[h]] |= s->edge[e[h]].node[0] == v ? 1 : 2;
      }
  }
  PetscCall(PetscMalloc1(2 * s->nedge, &p->whole));
  PetscCall(PetscMalloc1(2 * s->ncurve, &ends));
  for (PetscInt e = 0; e < s->nedge; e++) /* a straight curve has one loose end this way, one that */
    for (PetscInt h = 0; h < 2 && s->edge[e].curve >= 0; h++)
      if (!(p->end[e] >> h & 1)) {
        PetscReal t[3];

        DetectSubtract_Private(s->coord + 3 * s->edge[e].node[1 - h], s->coord + 3 * s->edge[e].node[h], t);
        ends[2 * s->edge[e].curve + (Vec3Dot(t, s->curve[s->edge[e].curve].dir) > 0 ? 0 : 1)] = s->edge[e].node[h];
      }
  for (PetscInt e = 0; e < s->nedge; e++)
    for (PetscInt h = 0; h < 2; h++) p->whole[2 * e + h] = s->edge[e].curve >= 0 && s->curve[s->edge[e].curve].spread < SURFACE_ANGLE ? ends[2 * s->edge[e].curve + h] : s->edge[e].node[h];
  PetscCall(PetscFree(ends));
  for (PetscInt f = 0; f < s->nfacet; f++) {
    const SurfaceFacet *facet = &s->facet[f];

    area += facet->area;
    p->max_ell = PetscMax(p->max_ell, facet->ell);
    p->max_tau = PetscMax(p->max_tau, facet->tau);
    p->patch_area[facet->patch] += facet->area;
    Along_Private(s, f, p->along + 2 * f);
  }
  p->mean_area = area / s->nfacet;
  PetscFunctionReturn(0);
}

static PetscErrorCode Part_Private(Detector d, Surface surface, PetscInt *part)
{
  PetscInt p = d->npart - 1;

  PetscFunctionBeginUser;
  while (p >= 0 && d->part[p].surface != surface) p--; /* bodies of a part mostly come together; parts are few */
  if (p < 0) {
    GrowArray(d->npart + 1, d->mpart, d->part);
    p = d->npart++;
    PetscCall(DetectPartSetUp_Private(&d->part[p], surface));
  }
  *part = p;
  PetscFunctionReturn(0);
}

PetscErrorCode DetectorSetPart(Detector d, Surface surface, PetscInt number, Mesh mesh)
{
  PetscInt part = -1;

  PetscFunctionBeginUser;
  PetscCheck(number >= 0, PETSC_COMM_SELF, PETSC_ERR_ARG_OUTOFRANGE, "the number of a part is %" PetscInt_FMT ", below 0", number);
  PetscCheck(mesh->nnode == surface->nmeshnode, PETSC_COMM_SELF, PETSC_ERR_ARG_INCOMP, "part %" PetscInt_FMT ": the surface is not that of the mesh", number);
  PetscCall(Part_Private(d, surface, &part));
  d->part[part].number = number;
  d->part[part].mesh   = mesh;
  PetscFunctionReturn(0);
}

PetscErrorCode DetectorAddBody(Detector d, PetscInt id, Surface surface, DetectKind kind, const PetscReal origin[3], PetscInt *body)
{
  DetectBodyData *b;
  PetscInt        part = -1, n;

  PetscFunctionBeginUser;
  PetscCheck(!d->nown || d->body[d->nown - 1].id < id, PETSC_COMM_SELF, PETSC_ERR_ARG_OUTOFRANGE, "body %" PetscInt_FMT " comes after body %" PetscInt_FMT ": bodies are added by ascending id", id, d->body[d->nown - 1].id);
  PetscCall(Part_Private(d, surface, &part));
  d->nbody = d->nown; /* others' are found anew */
  if (d->nown + 1 > d->mbody) {
    d->mbody = d->nown + d->nown / 2 + 16;
    PetscCall(PetscRealloc((size_t)d->mbody * sizeof(*d->body), &d->body));
    PetscCall(PetscRealloc((size_t)d->mbody * sizeof(*d->place), &d->place));
    PetscCall(PetscRealloc((size_t)d->mbody * sizeof(*d->ref), &d->ref));
  }
  *body = d->nown++;
  b     = &d->body[d->nbody++];
  PetscCall(PetscMemzero(b, sizeof(*b)));
  b->id    = id;
  b->rank  = d->rank;
  b->part  = part;
  b->kind  = kind;
  b->first = d->nnode;
  b->tree  = d->ntree;
  b->facet = d->nfacet;
  PetscCall(PetscArraycpy(b->origin, origin, 3));
  n = d->nnode + surface->nnode;
  if (n > d->mnode) {
    d->mnode = n + n / 2;
    PetscCall(PetscRealloc((size_t)d->mnode * 3 * sizeof(PetscReal), &d->x));
    PetscCall(PetscRealloc((size_t)d->mnode * 3 * sizeof(PetscReal), &d->v));
    PetscCall(PetscRealloc((size_t)d->mnode * 3 * sizeof(PetscReal), &d->xref));
  }
  PetscCall(PetscArraycpy(d->xref + 3 * d->nnode, surface->coord, 3 * surface->nnode));
  d->nnode = n;
  n        = d->ntree + surface->ntree;
  if (n > d->mtree) {
    d->mtree = n + n / 2;
    PetscCall(PetscRealloc((size_t)d->mtree * 6 * sizeof(PetscReal), &d->treebox));
  }
  d->ntree = n;
  GrowArray(d->nfacet + surface->nfacet, d->mfacet, d->now);
  for (PetscInt f = 0; f < surface->nfacet; f++) d->now[d->nfacet++].update = 0;
  d->fresh = b->placed = PETSC_TRUE;
  PetscCall(PetscMemzero(&d->place[*body], sizeof(*d->place)));
  Mat3Identity(d->place[*body].R);
  DetectPlace_Private(d, *body);
  PetscFunctionReturn(0);
}

PetscErrorCode DetectorGetNodes(Detector d, PetscInt body, PetscReal **x, PetscReal **v)
{
  DetectBodyData *b;

  PetscFunctionBeginUser;
  PetscCheck(body >= 0 && body < d->nown, PETSC_COMM_SELF, PETSC_ERR_ARG_OUTOFRANGE, "no body %" PetscInt_FMT, body);
  b = &d->body[body];
  if (b->placed) { /* its velocities were not needed so far */
    const DetectPlacement *p = &d->place[body];
    PetscReal             *u = d->v + 3 * b->first, y[3], w[3];

    for (PetscInt i = 0; i < d->part[b->part].surface->nnode; i++) {
      DetectSubtract_Private(d->x + 3 * (b->first + i), p->at, y);
      Vec3Cross(p->spin, y, w);
      for (PetscInt c = 0; c < 3; c++) u[3 * i + c] = p->velocity[c] + w[c];
    }
  }
  b->placed = PETSC_FALSE;
  if (x) *x = d->x + 3 * b->first;
  if (v) *v = d->v + 3 * b->first;
  PetscFunctionReturn(0);
}

void DetectPlace_Private(Detector d, PetscInt body)
{
  const DetectBodyData  *b = &d->body[body];
  const DetectPlacement *p = &d->place[body];
  const Surface          s = d->part[b->part].surface;
  PetscReal             *x = DetectNodes_Private(d, b);

  for (PetscInt i = 0; i < s->nnode; i++) {
    PetscReal r[3], y[3];

    DetectSubtract_Private(s->coord + 3 * i, p->centre, r);
    Mat3Vec(p->R, r, y);
    for (PetscInt c = 0; c < 3; c++) x[3 * i + c] = p->at[c] + y[c];
  }
}

PetscErrorCode DetectorSetPlacement(Detector d, PetscInt body, const PetscReal R[9], const PetscReal centre[3], const PetscReal at[3], const PetscReal velocity[3], const PetscReal spin[3])
{
  DetectPlacement *p;

  PetscFunctionBeginUser;
  PetscCheck(body >= 0 && body < d->nown, PETSC_COMM_SELF, PETSC_ERR_ARG_OUTOFRANGE, "no body %" PetscInt_FMT, body);
  p = &d->place[body];
  for (PetscInt c = 0; c < 9; c++) p->R[c] = R[c];
  for (PetscInt c = 0; c < 3; c++) {
    p->centre[c]   = centre[c];
    p->at[c]       = at[c];
    p->velocity[c] = velocity[c];
    p->spin[c]     = spin[c];
  }
  d->body[body].placed = PETSC_TRUE;
  DetectPlace_Private(d, body);
  PetscFunctionReturn(0);
}

/* Speed of A and B against each other where their boxes meet; false: they are too far apart for any contact. Bodies that move together
   have a small one however fast they are. From what is now only, not from lists. */
static PetscBool Approach_Private(Detector d, const DetectBodyData *a, const DetectBodyData *b, const PetscReal shift[3], PetscReal h, PetscReal *speed)
{
  const PetscReal sum = a->speed + b->speed, grow = 2 * h * sum + 3.2 * DETECT_EPS * PetscMax(d->part[a->part].max_ell, d->part[b->part].max_ell);
  PetscReal       p[3], q[3], u[3], w[3], spin[3], radius = 0;

  for (PetscInt c = 0; c < 3; c++) {
    const PetscReal low = PetscMax(a->low[c], b->low[c] + shift[c]) - grow, high = PetscMin(a->high[c], b->high[c] + shift[c]) + grow;

    if (!(low <= high)) return PETSC_FALSE;
    p[c] = 0.5 * (low + high) - a->centre[c];
    q[c] = 0.5 * (low + high) - (b->centre[c] + shift[c]);
    radius += PetscSqr(0.5 * (high - low));
    spin[c] = a->spin[c] - b->spin[c];
  }
  Vec3Cross(a->spin, p, u);
  Vec3Cross(b->spin, q, w);
  for (PetscInt c = 0; c < 3; c++) u[c] += a->velocity[c] - b->velocity[c] - w[c];
  *speed = PetscMin(sum, Vec3Norm(u) + Vec3Norm(spin) * PetscSqrtReal(radius) + a->deform + b->deform);
  return PETSC_TRUE;
}

/* How far B is beyond facet f of A (f - facets of A: A beyond that facet of B) */
static PetscReal Beyond_Private(const DetectWork *w, PetscInt f)
{
  const PetscInt    a = f < w->side[0].part->surface->nfacet ? 0 : 1, k = a ? f - w->side[0].part->surface->nfacet : f;
  const DetectSide *s = &w->side[a], *o = &w->side[1 - a];
  const PetscReal  *n = DetectFacet_Private(s, k)->n;
  PetscReal         most = PETSC_NINFINITY, least = PETSC_INFINITY, shift = 0;

  for (PetscInt v = 0; v < s->part->surface->nnode; v++) most = PetscMax(most, Vec3Dot(n, s->x + 3 * v));
  for (PetscInt v = 0; v < o->part->surface->nnode; v++) least = PetscMin(least, Vec3Dot(n, o->x + 3 * v));
  for (PetscInt c = 0; c < 3; c++) shift += n[c] * (o->shift[c] - s->shift[c]);
  return least + shift - most;
}

PetscReal DetectParted_Private(const DetectWork *w)
{
  PetscReal most = PETSC_NINFINITY;

  if (!w->side[0].part->simple || !w->side[1].part->simple) return most;
  for (PetscInt f = 0; f < w->side[0].part->surface->nfacet + w->side[1].part->surface->nfacet; f++) most = PetscMax(most, Beyond_Private(w, f));
  return most;
}

/* Does a plane along a facet part simple bodies by more than any contact may have for a gap, and for slack beside its features? Found or not, that takes off work only:
   of bodies that were close the facet that parted them most is looked at, and now and then the others. */
static PetscBool Apart_Private(const DetectWork *w, DetectPair *pair)
{
  const DetectPart *a = w->side[0].part, *b = w->side[1].part;
  const PetscReal   margin = 2.4 * w->hv + 10 * DETECT_EPS * PetscMax(a->max_ell, b->max_ell);
  PetscReal         most;
  PetscInt          best = pair->apart;

  if (!a->simple || !b->simple) return PETSC_FALSE;
  most = Beyond_Private(w, best);
  for (PetscInt f = 0; f < a->surface->nfacet + b->surface->nfacet && most <= margin && !pair->close; f++) {
    const PetscReal s = Beyond_Private(w, f);

    if (s > most) most = s, best = f;
  }
  pair->apart = best;
  pair->close = (PetscBool)(most <= margin);
  return (PetscBool)!pair->close;
}

/* Marks contacts of this pair that carried force */
static void Force_Private(Detector d, const DetectPair *pair)
{
  const ContactKey first = {pair->id[0], pair->id[1], -1, -1, -1};
  PetscInt         begin = 0, end = d->nforce, low, high;

  while (begin < end) {
    const PetscInt m = begin + (end - begin) / 2;

    if (ContactKeyCompare(&d->force[m], &first) < 0) begin = m + 1;
    else end = m;
  }
  for (end = begin; end < d->nforce && d->force[end].a == first.a && d->force[end].b == first.b;) end++;
  for (PetscInt k = 0; k < d->nhit && begin < end; k++) {
    for (low = begin, high = end; low < high;) {
      const PetscInt m = low + (high - low) / 2;

      if (ContactKeyCompare(&d->force[m], &d->hit[k].key) < 0) low = m + 1;
      else high = m;
    }
    d->hit[k].force = (PetscBool)(low < end && !ContactKeyCompare(&d->force[low], &d->hit[k].key));
  }
}

static PetscErrorCode PairContacts_Private(Detector d, DetectPair *pair, PetscReal h)
{
  DetectWork     w;
  DetectSummary *sum = &d->summary;
  PetscReal      speed, tau, hidden[3];
  PetscBool      overlap = PETSC_FALSE;

  PetscFunctionBeginUser;
  w.deep     = d->first ? PETSC_INFINITY : pair->deep;
  pair->deep = 0;
  for (PetscInt k = 0; k < 2; k++) {
    w.side[k].body = &d->body[pair->body[k]];
    w.side[k].part = &d->part[w.side[k].body->part];
    w.side[k].x    = DetectNodes_Private(d, w.side[k].body);
    w.side[k].now  = DetectNow_Private(d, w.side[k].body);

    w.side[k].update = d->report.nupdate;
  }
  for (PetscInt c = 0; c < 3; c++) {
    w.side[0].shift[c] = 0;
    w.side[1].shift[c] = w.side[1].body->origin[c] - w.side[0].body->origin[c];
  }
  if (!Approach_Private(d, w.side[0].body, w.side[1].body, w.side[1].shift, h, &speed)) PetscFunctionReturn(0);
  w.h     = h;
  w.hv    = h * speed;
  w.rigid = (PetscBool)(w.side[0].body->kind != DETECT_DEFORMABLE && w.side[1].body->kind != DETECT_DEFORMABLE);
  tau     = PetscMin(w.side[0].part->surface->least_tau, w.side[1].part->surface->least_tau);
  if (w.hv / tau > sum->tunnel) {
    sum->tunnel = w.hv / tau;
    for (PetscInt k = 0; k < 2; k++) sum->tunnel_body[k] = pair->id[k];
  }
  if (!d->first && Apart_Private(&w, pair)) PetscFunctionReturn(0);
  if (pair->first < 0 || w.deep > pair->listed) {
    pair->listed = 2 * w.deep + 0.1 * (w.side[0].body->skin + w.side[1].body->skin);
    PetscCall(DetectorList_Private(d, pair));
  }
  PetscCall(DetectorTest_Private(d, &w, pair->n, d->cand + pair->first));
  if (d->first && !d->pass && !sum->hidden) {
    PetscBool touching = PETSC_FALSE;

    for (PetscInt k = 0; k < d->nhit; k++) touching = (PetscBool)(touching || d->hit[k].gap < 0);
    if (DetectHidden_Private(d, &w, touching, hidden)) {
      sum->hidden = 1;
      for (PetscInt k = 0; k < 2; k++) sum->hidden_body[k] = pair->id[k];
      for (PetscInt c = 0; c < 3; c++) sum->hidden_at[c] = w.side[0].body->origin[c] + hidden[c];
    }
  }
  if (!d->nhit && d->report.nupdate % 8 == 0) pair->close = PETSC_FALSE;
  if (!d->nhit) PetscFunctionReturn(0);
  if (d->nforce) Force_Private(d, pair);
  PetscCall(DetectorFilter_Private(d, &w));
  GrowArray(d->ncontact + d->nhit, d->mcontact, d->contact);
  for (PetscInt k = 0; k < d->nhit; k++) {
    const DetectHit *hit = &d->hit[d->order[k]];
    Contact         *c   = &d->contact[d->ncontact++];

    PetscCall(DetectorRow_Private(&w, hit, c));
    c->deformable = w.rigid ? PETSC_FALSE : PETSC_TRUE;
    for (PetscInt s = 0; s < 2; s++) {
      c->body[s] = pair->body[s];
      c->rank[s] = w.side[s].body->rank;
    }
    pair->deep = PetscMax(pair->deep, -c->gap);
    if (c->gap < -1e-9 / DETECT_EPS * hit->eps) overlap = PETSC_TRUE;
    if (c->gap < sum->deepest) {
      sum->deepest = c->gap;
      for (PetscInt s = 0; s < 2; s++) sum->deepest_body[s] = pair->id[s];
      for (PetscInt e = 0; e < 3; e++) sum->deepest_at[e] = w.side[0].body->origin[e] + c->x[0][e];
    }
  }
  sum->noverlap += overlap;
  PetscFunctionReturn(0);
}

/* What all ranks have to do: PETSC_MAX_INT and the body with a number that is not finite, or whether lists are to be made */
static PetscErrorCode Agree_Private(Detector d, PetscInt bad, PetscBool *stale)
{
  PetscInt mine[2] = {*stale ? 0 : 1, bad}, all[2] = {mine[0], mine[1]};

  PetscFunctionBeginUser;
  if (d->size > 1) PetscCallMPI(MPI_Allreduce(mine, all, 2, MPIU_INT, MPI_MIN, d->comm));
  PetscCheck(all[1] == PETSC_MAX_INT, d->comm, PETSC_ERR_FP, "body %" PetscInt_FMT ": a position or velocity is not a finite number", all[1]);
  *stale = (PetscBool)!all[0];
  PetscFunctionReturn(0);
}

static void Report_Private(Detector d)
{
  const DetectSummary *s = &d->summary;
  DetectReport        *r = &d->report;

  r->nbody      = (PetscInt)s->nbody;
  r->npair      = (PetscInt)s->npair;
  r->ncandidate = (PetscInt)s->ncandidate;
  r->ncontact   = (PetscInt)s->ncontact;
  r->nrefresh   = (PetscInt)s->nrefresh;
  r->noverlap   = (PetscInt)s->noverlap;
  r->deepest    = s->deepest;
  r->tunnel     = s->tunnel;
  for (PetscInt k = 0; k < 2; k++) {
    r->deepest_body[k] = (PetscInt)s->deepest_body[k];
    r->tunnel_body[k]  = (PetscInt)s->tunnel_body[k];
  }
  for (PetscInt c = 0; c < 3; c++) r->deepest_at[c] = s->deepest_at[c];
}

PetscErrorCode DetectorUpdate(Detector d, PetscReal h, PetscInt *n, const Contact **contact)
{
  DetectSummary *s     = &d->summary;
  PetscBool      stale = d->fresh;
  PetscInt       bad   = PETSC_MAX_INT;

  PetscFunctionBeginUser;
  d->report.nupdate++;
  d->ncontact = 0;
  for (PetscInt i = 0; i < d->nown; i++) {
    DetectBodyData *b = &d->body[i];

    if (!DetectMove_Private(d, i)) bad = PetscMin(bad, b->id);
    b->stale = (PetscBool)(d->fresh || (d->size > 1 && b->placed != b->sent) || DetectUsed_Private(b, &d->part[b->part], h) > b->reach);
    stale    = (PetscBool)(stale || b->stale);
  }
  PetscCall(Agree_Private(d, bad, &stale));
  if (stale) PetscCall(DetectorRebuild_Private(d, h));
  else if (d->size > 1) PetscCall(DetectorRanksExchange_Private(d));
  d->fresh = PETSC_FALSE;
  PetscCall(PetscMemzero(s, sizeof(*s)));
  for (PetscInt i = 0; i < d->npair; i++) {
    if (i + AHEAD < d->npair) PetscPrefetchBlock(&d->body[d->pair[i + AHEAD].body[1]], 1, 0, PETSC_PREFETCH_HINT_T0); /* the other one was used just now */
    PetscCall(PairContacts_Private(d, &d->pair[i], h));
    s->ncandidate += d->pair[i].first < 0 ? 0 : d->pair[i].n;
  }
  s->nbody      = d->nown;
  s->npair      = d->npair;
  s->ncontact   = d->ncontact;
  s->nrefresh   = d->nrefresh;
  if (d->size > 1) PetscCall(DetectorRanksReduce_Private(d));
  Report_Private(d);
  if (s->hidden) {
    char name[2][256];

    for (PetscInt k = 0; k < 2; k++) {
      if (d->name) PetscCall((*d->name)(d->name_ctx, (PetscInt)s->hidden_body[k], name[k], sizeof(name[k])));
      else PetscCall(PetscSNPrintf(name[k], sizeof(name[k]), "%" PetscInt_FMT, (PetscInt)s->hidden_body[k]));
    }
    SETERRQ(d->comm, PETSC_ERR_USER_INPUT, "bodies '%s' and '%s' overlap at (%g, %g, %g) by more than half of a thickness or two edges of their meshes: no contact can part them; move them apart", name[0], name[1], (double)s->hidden_at[0], (double)s->hidden_at[1], (double)s->hidden_at[2]);
  }
  if (d->first) d->fresh = PETSC_TRUE; /* first lists reach deep into bodies */
  d->first = PETSC_FALSE;
  *n       = d->ncontact;
  *contact = d->contact;
  PetscFunctionReturn(0);
}

PetscErrorCode DetectorForget(Detector d)
{
  PetscFunctionBeginUser;
  d->first = d->fresh = PETSC_TRUE;
  d->npair = d->ncand = 0;
  PetscFunctionReturn(0);
}

PetscErrorCode DetectorGetDepths(Detector d, PetscInt *n, PetscInt **a, PetscInt **b, PetscReal **depth)
{
  PetscFunctionBeginUser;
  *n = 0;
  for (PetscInt i = 0; i < d->npair; i++) *n += d->pair[i].deep > 0;
  PetscCall(PetscMalloc1(*n, a));
  PetscCall(PetscMalloc1(*n, b));
  PetscCall(PetscMalloc1(*n, depth));
  *n = 0;
  for (PetscInt i = 0; i < d->npair; i++)
    if (d->pair[i].deep > 0) {
      (*a)[*n]         = d->pair[i].id[0];
      (*b)[*n]         = d->pair[i].id[1];
      (*depth)[(*n)++] = d->pair[i].deep;
    }
  if (d->first) *n = -1;
  PetscFunctionReturn(0);
}

static int PairCompare_Private(const void *a, const void *b)
{
  const DetectPair *p = a, *q = b;

  for (PetscInt k = 0; k < 2; k++)
    if (p->id[k] != q->id[k]) return p->id[k] < q->id[k] ? -1 : 1;
  return 0;
}

PetscErrorCode DetectorSetDepths(Detector d, PetscInt n, const PetscInt a[], const PetscInt b[], const PetscReal depth[])
{
  PetscFunctionBeginUser;
  PetscCall(DetectorForget(d));
  if (n < 0) PetscFunctionReturn(0);
  d->first = PETSC_FALSE;
  GrowArray(n, d->mpair, d->pair);
  for (PetscInt i = 0; i < n; i++) {
    PetscCall(PetscMemzero(&d->pair[i], sizeof(*d->pair)));
    d->pair[i].id[0] = PetscMin(a[i], b[i]);
    d->pair[i].id[1] = PetscMax(a[i], b[i]);
    d->pair[i].deep  = depth[i];
  }
  if (n) qsort(d->pair, (size_t)n, sizeof(*d->pair), PairCompare_Private);
  d->npair = n; /* without lists: the next update makes them all */
  PetscFunctionReturn(0);
}

PetscErrorCode DetectorSetForce(Detector d, PetscInt n, const ContactKey key[])
{
  PetscFunctionBeginUser;
  GrowArray(n, d->mforce, d->force);
  PetscCall(PetscArraycpy(d->force, key, n));
  d->nforce = n;
  for (PetscInt i = 1; i < n; i++) PetscCheck(ContactKeyCompare(&key[i - 1], &key[i]) < 0, PETSC_COMM_SELF, PETSC_ERR_ARG_WRONGSTATE, "key %" PetscInt_FMT " is not after the one before", i);
  PetscFunctionReturn(0);
}

PetscErrorCode DetectorRebuild(Detector d)
{
  PetscFunctionBeginUser;
  d->fresh = PETSC_TRUE;
  PetscFunctionReturn(0);
}

PetscErrorCode DetectorGetReport(Detector d, DetectReport *report)
{
  PetscFunctionBeginUser;
  *report = d->report;
  PetscFunctionReturn(0);
}

PetscErrorCode DetectorView(Detector d, PetscViewer viewer)
{
  const DetectReport *r = &d->report;

  PetscFunctionBeginUser;
  PetscCall(PetscViewerASCIIPrintf(viewer, "Detector: %" PetscInt_FMT " bodies, points: %s\n", r->nbody, ContactPointsTypes[d->points]));
  PetscCall(PetscViewerASCIIPrintf(viewer, "  %" PetscInt_FMT " pairs, %" PetscInt_FMT " candidates, %" PetscInt_FMT " contacts, deepest gap %g\n", r->npair, r->ncandidate, r->ncontact, (double)r->deepest));
  PetscCall(PetscViewerASCIIPrintf(viewer, "  %" PetscInt_FMT " updates, lists made %" PetscInt_FMT " times, of %" PetscInt_FMT " bodies in all\n", r->nupdate, r->nrebuild, r->nrefresh));
  PetscFunctionReturn(0);
}
