/* Depths of pairs: what an update remembers for the next one. */
#include "constraints/detect_impl.h"

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
      (*a)[*n]         = d->body[d->pair[i].body[0]].id;
      (*b)[*n]         = d->body[d->pair[i].body[1]].id;
      (*depth)[(*n)++] = d->pair[i].deep;
    }
  if (d->first) *n = -1;
  PetscFunctionReturn(0);
}

/* Number of the body with this id; -1: it is not here */
static PetscInt BodyFind_Private(Detector d, PetscInt id)
{
  PetscInt lo = 0, hi = d->nbody;

  while (lo < hi) {
    const PetscInt mid = lo + (hi - lo) / 2;

    if (d->body[mid].id < id) lo = mid + 1;
    else hi = mid;
  }
  return lo < d->nbody && d->body[lo].id == id ? lo : -1;
}

static int PairCompare_Private(const void *a, const void *b)
{
  const DetectPair *p = a, *q = b;

  for (PetscInt k = 0; k < 2; k++)
    if (p->body[k] != q->body[k]) return p->body[k] < q->body[k] ? -1 : 1;
  return 0;
}

PetscErrorCode DetectorSetDepths(Detector d, PetscInt n, const PetscInt a[], const PetscInt b[], const PetscReal depth[])
{
  PetscFunctionBeginUser;
  PetscCall(DetectorForget(d));
  if (n < 0) PetscFunctionReturn(0);
  d->first = PETSC_FALSE;
  DetectGrow_Private(n, d->mpair, d->pair);
  for (PetscInt i = 0; i < n; i++) {
    const PetscInt p = BodyFind_Private(d, a[i]), q = BodyFind_Private(d, b[i]);

    if (p < 0 || q < 0) continue;
    PetscCall(PetscMemzero(&d->pair[d->npair], sizeof(*d->pair)));
    d->pair[d->npair].body[0] = PetscMin(p, q);
    d->pair[d->npair].body[1] = PetscMax(p, q);
    d->pair[d->npair++].deep  = depth[i];
  }
  if (d->npair) qsort(d->pair, (size_t)d->npair, sizeof(*d->pair), PairCompare_Private); /* without lists: the next update makes them all */
  PetscFunctionReturn(0);
}
