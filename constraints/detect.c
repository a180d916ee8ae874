/* Detector: bodies, the motion of each, and an update from lists to sorted contacts. */
#include "constraints/detect_impl.h"
#include <petscviewer.h>

const char *const ContactPointsTypes[] = {"hull", "all", "centroid", "ContactPoints", "CONTACT_POINTS_", NULL};

PetscErrorCode DetectorCreate(MPI_Comm comm, Detector *detector)
{
  PetscFunctionBeginUser;
  PetscCall(PetscNew(detector));
  (*detector)->comm  = comm;
  (*detector)->first = (*detector)->fresh = PETSC_TRUE;
  PetscFunctionReturn(0);
}

PetscErrorCode DetectorDestroy(Detector *detector)
{
  Detector d = *detector;

  PetscFunctionBeginUser;
  if (!d) PetscFunctionReturn(0);
  for (PetscInt i = 0; i < d->npart; i++) {
    PetscCall(PetscFree(d->part[i].end));
    PetscCall(PetscFree(d->part[i].whole));
    PetscCall(PetscFree(d->part[i].tau));
    PetscCall(PetscFree(d->part[i].tributary));
    PetscCall(PetscFree(d->part[i].patch_area));
  }
  PetscCall(PetscFree(d->part));
  PetscCall(PetscFree(d->body));
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
  PetscCall(PetscFree(d->order));
  PetscCall(PetscFree(d->scratch));
  PetscCall(PetscFree(d->hit));
  PetscCall(PetscFree(d->contact));
  PetscCall(PetscFree(*detector));
  PetscFunctionReturn(0);
}

PetscErrorCode DetectorSetPoints(Detector d, ContactPoints points)
{
  PetscFunctionBeginUser;
  d->points = points;
  PetscFunctionReturn(0);
}

PetscErrorCode DetectorSetFromOptions(Detector d)
{
  PetscFunctionBeginUser;
  PetscOptionsBegin(d->comm, NULL, "Contact detection", NULL);
  PetscCall(PetscOptionsEnum("-contact_points", "Contacts of two faces: corners of what they share (of deformable bodies: nodes of one side), all, or one for every two elements", "DetectorSetPoints", ContactPointsTypes, (PetscEnum)d->points, (PetscEnum *)&d->points, NULL));
  PetscOptionsEnd();
  PetscFunctionReturn(0);
}

static PetscErrorCode PartSetUp_Private(DetectPart *p, Surface s)
{
  PetscReal area = 0;
  PetscInt *ends;

  PetscFunctionBeginUser;
  p->surface = s;
  p->max_ell = p->max_tau = 0;
  PetscCall(PetscCalloc1(s->nedge, &p->end));
  PetscCall(PetscMalloc1(s->nnode, &p->tau));
  PetscCall(PetscCalloc1(s->nnode, &p->tributary));
  PetscCall(PetscCalloc1(s->npatch, &p->patch_area));
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
    for (PetscInt k = 0; k < facet->nnode; k++) p->tributary[facet->node[k]] += facet->area / facet->nnode;
  }
  p->mean_area = area / s->nfacet;
  PetscFunctionReturn(0);
}

PetscErrorCode DetectorAddBody(Detector d, PetscInt id, Surface surface, DetectKind kind, const PetscReal origin[3], PetscInt *body)
{
  DetectBodyData *b;
  PetscInt        part = d->npart - 1, n;

  PetscFunctionBeginUser;
  PetscCheck(!d->nbody || d->body[d->nbody - 1].id < id, d->comm, PETSC_ERR_ARG_OUTOFRANGE, "body %" PetscInt_FMT " comes after body %" PetscInt_FMT ": bodies are added by ascending id", id, d->body[d->nbody - 1].id);
  while (part >= 0 && d->part[part].surface != surface) part--; /* bodies of a part mostly come together; parts are few */
  if (part < 0) {
    DetectGrow_Private(d->npart + 1, d->mpart, d->part);
    part = d->npart++;
    PetscCall(PartSetUp_Private(&d->part[part], surface));
  }
  DetectGrow_Private(d->nbody + 1, d->mbody, d->body);
  *body = d->nbody;
  b     = &d->body[d->nbody++];
  PetscCall(PetscMemzero(b, sizeof(*b)));
  b->id    = id;
  b->part  = part;
  b->kind  = kind;
  b->first = d->nnode;
  b->tree  = d->ntree;
  PetscCall(PetscArraycpy(b->origin, origin, 3));
  n = d->nnode + surface->nnode;
  if (n > d->mnode) {
    d->mnode = n + n / 2;
    PetscCall(PetscRealloc((size_t)d->mnode * 3 * sizeof(PetscReal), &d->x));
    PetscCall(PetscRealloc((size_t)d->mnode * 3 * sizeof(PetscReal), &d->v));
    PetscCall(PetscRealloc((size_t)d->mnode * 3 * sizeof(PetscReal), &d->xref));
  }
  PetscCall(PetscArraycpy(d->x + 3 * d->nnode, surface->coord, 3 * surface->nnode));
  PetscCall(PetscArraycpy(d->xref + 3 * d->nnode, surface->coord, 3 * surface->nnode));
  PetscCall(PetscArrayzero(d->v + 3 * d->nnode, 3 * surface->nnode));
  d->nnode = n;
  n        = d->ntree + surface->ntree;
  if (n > d->mtree) {
    d->mtree = n + n / 2;
    PetscCall(PetscRealloc((size_t)d->mtree * 6 * sizeof(PetscReal), &d->treebox));
  }
  d->ntree = n;
  d->fresh = PETSC_TRUE;
  PetscFunctionReturn(0);
}

PetscErrorCode DetectorGetNodes(Detector d, PetscInt body, PetscReal **x, PetscReal **v)
{
  PetscFunctionBeginUser;
  PetscCheck(body >= 0 && body < d->nbody, d->comm, PETSC_ERR_ARG_OUTOFRANGE, "no body %" PetscInt_FMT, body);
  d->body[body].placed = PETSC_FALSE;
  if (x) *x = d->x + 3 * d->body[body].first;
  if (v) *v = d->v + 3 * d->body[body].first;
  PetscFunctionReturn(0);
}

PetscErrorCode DetectorSetPlacement(Detector d, PetscInt body, const PetscReal R[9], const PetscReal centre[3], const PetscReal at[3], const PetscReal velocity[3], const PetscReal spin[3])
{
  DetectBodyData *b;
  Surface         s;
  PetscReal      *x, *v;

  PetscFunctionBeginUser;
  PetscCall(DetectorGetNodes(d, body, &x, &v));
  b         = &d->body[body];
  s         = d->part[b->part].surface;
  b->placed = PETSC_TRUE;
  b->deform = 0;
  for (PetscInt c = 0; c < 3; c++) {
    b->centre[c]   = at[c];
    b->velocity[c] = velocity[c];
    b->spin[c]     = spin[c];
  }
  for (PetscInt i = 0; i < s->nnode; i++) {
    PetscReal r[3], y[3], w[3];

    DetectSubtract_Private(s->coord + 3 * i, centre, r);
    Mat3Vec(R, r, y);
    Vec3Cross(spin, y, w);
    for (PetscInt c = 0; c < 3; c++) {
      x[3 * i + c] = at[c] + y[c];
      v[3 * i + c] = velocity[c] + w[c];
    }
  }
  PetscFunctionReturn(0);
}

/* Least-squares twist of nodal velocities, and the largest speed that it leaves over */
static void Twist_Private(DetectBodyData *b, PetscInt n, const PetscReal *x, const PetscReal *v)
{
  PetscReal J[9] = {0}, K[9], l[3] = {0, 0, 0}, left = 0, r[3], w[3];

  for (PetscInt c = 0; c < 3; c++) b->centre[c] = b->velocity[c] = b->spin[c] = 0;
  for (PetscInt i = 0; i < n; i++)
    for (PetscInt c = 0; c < 3; c++) {
      b->centre[c] += x[3 * i + c] / n;
      b->velocity[c] += v[3 * i + c] / n;
    }
  for (PetscInt i = 0; i < n; i++) {
    PetscReal rr;

    DetectSubtract_Private(x + 3 * i, b->centre, r);
    rr = Vec3Dot(r, r);
    Vec3Cross(r, v + 3 * i, w);
    for (PetscInt c = 0; c < 3; c++) {
      l[c] += w[c];
      for (PetscInt e = 0; e < 3; e++) J[3 * c + e] += (c == e ? rr : 0) - r[c] * r[e];
    }
  }
  if (Mat3Inverse(J, K)) Mat3Vec(K, l, b->spin);
  for (PetscInt i = 0; i < n; i++) {
    DetectSubtract_Private(x + 3 * i, b->centre, r);
    Vec3Cross(b->spin, r, w);
    for (PetscInt c = 0; c < 3; c++) w[c] += b->velocity[c] - v[3 * i + c];
    left = PetscMax(left, Vec3Dot(w, w));
  }
  b->deform = PetscSqrtReal(left);
}

static void Motion_Private(Detector d, DetectBodyData *b)
{
  const PetscInt   n = d->part[b->part].surface->nnode;
  const PetscReal *x = d->x + 3 * b->first, *v = d->v + 3 * b->first, *y = d->xref + 3 * b->first;
  PetscReal        moved = 0, speed = 0, finite = 0;

  for (PetscInt c = 0; c < 3; c++) b->low[c] = PETSC_INFINITY, b->high[c] = -PETSC_INFINITY;
  for (PetscInt i = 0; i < 3 * n; i += 3) {
    moved = PetscMax(moved, PetscSqr(x[i] - y[i]) + PetscSqr(x[i + 1] - y[i + 1]) + PetscSqr(x[i + 2] - y[i + 2]));
    speed = PetscMax(speed, Vec3Dot(v + i, v + i));
    for (PetscInt c = 0; c < 3; c++) {
      finite += 0 * (x[i + c] + v[i + c]); /* maxima pass over NaN */
      b->low[c]  = PetscMin(b->low[c], x[i + c]);
      b->high[c] = PetscMax(b->high[c], x[i + c]);
    }
  }
  b->moved = PetscSqrtReal(moved) + finite;
  b->speed = PetscSqrtReal(speed);
  if (!b->placed) Twist_Private(b, n, x, v);
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

static PetscErrorCode PairContacts_Private(Detector d, DetectPair *pair, PetscReal h)
{
  DetectWork   w;
  DetectReport *report = &d->report;
  PetscReal     speed, tau;

  PetscFunctionBeginUser;
  w.deep     = d->first ? PETSC_INFINITY : pair->deep;
  pair->deep = 0;
  for (PetscInt k = 0; k < 2; k++) {
    w.side[k].body = &d->body[pair->body[k]];
    w.side[k].part = &d->part[w.side[k].body->part];
    w.side[k].x    = d->x + 3 * w.side[k].body->first;
  }
  for (PetscInt c = 0; c < 3; c++) {
    w.side[0].shift[c] = 0;
    w.side[1].shift[c] = w.side[1].body->origin[c] - w.side[0].body->origin[c];
  }
  if (!Approach_Private(d, w.side[0].body, w.side[1].body, w.side[1].shift, h, &speed)) PetscFunctionReturn(0);
  w.hv    = h * speed;
  w.rigid = (PetscBool)(w.side[0].body->kind != DETECT_DEFORMABLE && w.side[1].body->kind != DETECT_DEFORMABLE);
  tau     = PetscMin(w.side[0].part->surface->least_tau, w.side[1].part->surface->least_tau);
  if (w.hv > report->tunnel * tau) {
    report->tunnel         = w.hv / tau;
    report->tunnel_body[0] = pair->body[0];
    report->tunnel_body[1] = pair->body[1];
  }
  PetscCall(DetectorTest_Private(d, &w, pair->n, d->cand + pair->first));
  if (!d->nhit) PetscFunctionReturn(0);
  PetscCall(DetectorFilter_Private(d, &w));
  DetectGrow_Private(d->ncontact + d->nhit, d->mcontact, d->contact);
  for (PetscInt k = 0; k < d->nhit; k++) {
    Contact *c = &d->contact[d->ncontact++];

    PetscCall(DetectorRow_Private(&w, &d->hit[d->order[k]], c));
    c->body[0] = pair->body[0];
    c->body[1] = pair->body[1];
    pair->deep = PetscMax(pair->deep, -c->gap);
    if (c->gap < report->deepest) {
      report->deepest         = c->gap;
      report->deepest_body[0] = pair->body[0];
      report->deepest_body[1] = pair->body[1];
    }
  }
  PetscFunctionReturn(0);
}

PetscErrorCode DetectorUpdate(Detector d, PetscReal h, PetscInt *n, const Contact **contact)
{
  PetscBool stale = d->fresh;

  PetscFunctionBeginUser;
  d->report.nbody   = d->nbody;
  d->report.deepest = d->report.tunnel = 0;
  d->report.nupdate++;
  d->ncontact = 0;
  for (PetscInt i = 0; i < d->nbody; i++) {
    DetectBodyData *b = &d->body[i];

    Motion_Private(d, b);
    PetscCheck(!PetscIsInfOrNanReal(b->moved), d->comm, PETSC_ERR_FP, "body %" PetscInt_FMT ": a position or velocity is not a finite number", b->id);
    b->stale = (PetscBool)(d->fresh || DetectUsed_Private(b, &d->part[b->part], h) > b->reach);
    stale    = (PetscBool)(stale || b->stale);
  }
  for (PetscInt i = 0; i < d->npair && !d->fresh; i++)
    if (d->pair[i].deep > d->pair[i].listed) stale = d->body[d->pair[i].body[0]].stale = d->body[d->pair[i].body[1]].stale = PETSC_TRUE;
  if (stale && d->nbody) PetscCall(DetectorRebuild_Private(d, h));
  d->fresh = PETSC_FALSE;
  for (PetscInt i = 0; i < d->npair; i++) PetscCall(PairContacts_Private(d, &d->pair[i], h));
  if (d->first) d->fresh = PETSC_TRUE; /* first lists reach deep into bodies */
  d->first             = PETSC_FALSE;
  d->report.npair      = d->npair;
  d->report.ncandidate = d->ncand;
  d->report.ncontact   = d->ncontact;
  *n                   = d->ncontact;
  *contact             = d->contact;
  PetscFunctionReturn(0);
}

PetscErrorCode DetectorForget(Detector d)
{
  PetscFunctionBeginUser;
  d->first = d->fresh = PETSC_TRUE;
  d->npair = d->ncand = 0;
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
  PetscCall(PetscViewerASCIIPrintf(viewer, "Detector: %" PetscInt_FMT " bodies of %" PetscInt_FMT " parts, points: %s\n", d->nbody, d->npart, ContactPointsTypes[d->points]));
  PetscCall(PetscViewerASCIIPrintf(viewer, "  %" PetscInt_FMT " pairs, %" PetscInt_FMT " candidates, %" PetscInt_FMT " contacts, deepest gap %g\n", r->npair, r->ncandidate, r->ncontact, (double)r->deepest));
  PetscCall(PetscViewerASCIIPrintf(viewer, "  %" PetscInt_FMT " updates, lists made %" PetscInt_FMT " times, of %" PetscInt_FMT " bodies in all\n", r->nupdate, r->nrebuild, r->nrefresh));
  PetscFunctionReturn(0);
}

PetscErrorCode ContactFind(PetscInt n, const Contact contact[], const Contact *c, PetscInt *at)
{
  ContactKey first = c->key;
  PetscInt   low = 0, high = n;
  PetscReal  best = 0.8660254; /* cos 30 degrees */

  PetscFunctionBeginUser;
  *at = -1;
  if (c->key.kind != CONTACT_EDGE_EDGE) first.j = -1; /* whatever this node touches */
  while (low < high) {
    const PetscInt m = low + (high - low) / 2;

    if (ContactKeyCompare(&contact[m].key, &first) < 0) low = m + 1;
    else high = m;
  }
  for (; low < n; low++) {
    const ContactKey *k = &contact[low].key;
    PetscReal         o;

    if (k->a != first.a || k->b != first.b || k->kind != first.kind || k->i != first.i) break;
    if (k->j == c->key.j) {
      *at = low;
      break;
    }
    if (k->kind == CONTACT_EDGE_EDGE) break;
    o = Vec3Dot(contact[low].normal, c->normal);
    if (o > best) best = o, *at = low;
  }
  PetscFunctionReturn(0);
}
