/* Where bodies are and how they move, seen from outside: boxes, twists, speeds, and how far they went since their lists were made. */
#include "constraints/detect_impl.h"

/* Where the middle of the reference shape is, from `at` */
static void Middle_Private(const DetectPart *part, const DetectPlacement *p, PetscReal y[3])
{
  PetscReal r[3];

  DetectSubtract_Private(part->middle, p->centre, r);
  Mat3Vec(p->R, r, y);
}

void DetectMotion_Private(Detector d, PetscInt body)
{
  DetectBodyData        *b    = &d->body[body];
  const DetectPart      *part = &d->part[b->part];
  const DetectPlacement *p    = &d->place[body];
  PetscReal              y[3], w[3];

  Middle_Private(part, p, y);
  Vec3Cross(p->spin, y, w);
  b->deform = 0;
  for (PetscInt c = 0; c < 3; c++) {
    const PetscReal half = PetscAbsReal(p->R[3 * c]) * part->half[0] + PetscAbsReal(p->R[3 * c + 1]) * part->half[1] + PetscAbsReal(p->R[3 * c + 2]) * part->half[2];

    b->low[c]      = p->at[c] + y[c] - half;
    b->high[c]     = p->at[c] + y[c] + half;
    b->centre[c]   = p->at[c];
    b->velocity[c] = p->velocity[c];
    b->spin[c]     = p->spin[c];
    w[c] += p->velocity[c];
  }
  b->speed = Vec3Norm(w) + Vec3Norm(p->spin) * part->radius;
}

void DetectStart_Private(Detector d, PetscInt body)
{
  const DetectPlacement *p = &d->place[body];
  DetectFrom            *q = &d->ref[body];

  Middle_Private(&d->part[d->body[body].part], p, q->middle);
  for (PetscInt c = 0; c < 3; c++) q->middle[c] += p->at[c];
  for (PetscInt c = 0; c < 9; c++) q->R[c] = p->R[c];
}

/* Bound of how far a placement takes nodes from where they were: that of the middle, and 2 sin(angle / 2) = |R - S| / sqrt 2 of the radius */
static PetscReal Away_Private(const DetectPart *part, const DetectPlacement *p, const DetectFrom *q)
{
  PetscReal y[3], turn = 0;

  Middle_Private(part, p, y);
  for (PetscInt c = 0; c < 3; c++) y[c] += p->at[c] - q->middle[c];
  for (PetscInt c = 0; c < 9; c++) turn += PetscSqr(p->R[c] - q->R[c]);
  return Vec3Norm(y) + 0.7072 * PetscSqrtReal(turn) * part->radius;
}

static PetscReal Moved_Private(PetscInt n, const PetscReal *x, const PetscReal *y)
{
  PetscReal moved = 0;

  for (PetscInt i = 0; i < 3 * n; i += 3) moved = PetscMax(moved, PetscSqr(x[i] - y[i]) + PetscSqr(x[i + 1] - y[i + 1]) + PetscSqr(x[i + 2] - y[i + 2]));
  return PetscSqrtReal(moved);
}

/* Of nodes: box, least-squares twist and the largest speed that it leaves over; not finite if any number is not. Sums are from the first node
   on, so that nothing is lost far away. */
static PetscReal NodesMotion_Private(DetectBodyData *b, PetscInt n, const PetscReal *x, const PetscReal *v)
{
  const PetscReal s[3] = {x[0], x[1], x[2]};
  PetscReal       r1[3] = {0, 0, 0}, v1[3] = {0, 0, 0}, l[3] = {0, 0, 0}, q[6] = {0, 0, 0, 0, 0, 0}, low[3] = {0, 0, 0}, high[3] = {0, 0, 0};
  PetscReal       J[9], K[9], w[3], a[3], speed = 0, left = 0;

  for (PetscInt i = 0; i < 3 * n; i += 3) {
    const PetscReal r[3] = {x[i] - s[0], x[i + 1] - s[1], x[i + 2] - s[2]}, *u = v + i;

    for (PetscInt c = 0; c < 3; c++) {
      low[c]  = r[c] < low[c] ? r[c] : low[c];
      high[c] = r[c] > high[c] ? r[c] : high[c];
      r1[c] += r[c];
      v1[c] += u[c];
      q[c] += r[c] * r[c];
    }
    q[3] += r[1] * r[2], q[4] += r[2] * r[0], q[5] += r[0] * r[1];
    l[0] += r[1] * u[2] - r[2] * u[1];
    l[1] += r[2] * u[0] - r[0] * u[2];
    l[2] += r[0] * u[1] - r[1] * u[0];
    speed = PetscMax(speed, Vec3Dot(u, u));
  }
  Vec3Cross(r1, v1, w);
  for (PetscInt c = 0; c < 3; c++) {
    const PetscInt e = (c + 1) % 3, f = (c + 2) % 3;

    b->low[c]      = s[c] + low[c];
    b->high[c]     = s[c] + high[c];
    b->centre[c]   = s[c] + r1[c] / n;
    b->velocity[c] = v1[c] / n;
    b->spin[c]     = 0;
    l[c] -= w[c] / n;
    J[3 * c + c] = q[e] + q[f] - (r1[e] * r1[e] + r1[f] * r1[f]) / n;
    J[3 * e + f] = J[3 * f + e] = r1[e] * r1[f] / n - q[3 + c];
  }
  if (Mat3Inverse(J, K)) Mat3Vec(K, l, b->spin);
  Vec3Cross(b->spin, b->centre, a);
  for (PetscInt c = 0; c < 3; c++) a[c] = b->velocity[c] - a[c];
  for (PetscInt i = 0; i < 3 * n; i += 3) {
    Vec3Cross(b->spin, x + i, w);
    for (PetscInt c = 0; c < 3; c++) w[c] += a[c] - v[i + c];
    left = PetscMax(left, Vec3Dot(w, w));
  }
  b->deform = PetscSqrtReal(left);
  b->speed  = PetscSqrtReal(speed);
  return 0 * (r1[0] + r1[1] + r1[2] + v1[0] + v1[1] + v1[2]); /* maxima pass over NaN */
}

/* False: some number is not finite */
PetscBool DetectMove_Private(Detector d, PetscInt body)
{
  DetectBodyData  *b = &d->body[body];
  const PetscInt   n = d->part[b->part].surface->nnode;
  const PetscReal *x = d->x + 3 * b->first;
  PetscReal        finite;

  if (b->placed) {
    DetectMotion_Private(d, body);
    finite = 0 * b->speed;
  } else finite = NodesMotion_Private(b, n, x, d->v + 3 * b->first);
  b->moved = b->placed && b->sent ? Away_Private(&d->part[b->part], &d->place[body], &d->ref[body]) : Moved_Private(n, x, d->xref + 3 * b->first);
  return (PetscBool)!PetscIsInfOrNanReal(b->moved + finite);
}
