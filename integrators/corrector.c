#include "corrector.h"
#include "physics/lanes.h"
#include "physics/simd.h"

PetscErrorCode CorrectorCreate(PetscInt n, Corrector *c)
{
  PetscFunctionBeginUser;
  PetscCall(PetscNew(c));
  (*c)->n = n;
  PetscCall(SIMDCalloc(n, &(*c)->x));
  PetscCall(SIMDCalloc(n, &(*c)->f));
  PetscCall(SIMDCalloc(n, &(*c)->g));
  PetscCall(SIMDCalloc((size_t)CORRECTOR_DEPTH * n, &(*c)->q));
  PetscCall(SIMDCalloc((size_t)CORRECTOR_DEPTH * n, &(*c)->s));
  PetscFunctionReturn(0);
}

PetscErrorCode CorrectorDestroy(Corrector *c)
{
  PetscFunctionBeginUser;
  if (!*c) PetscFunctionReturn(0);
  PetscCall(SIMDFree(&(*c)->x));
  PetscCall(SIMDFree(&(*c)->f));
  PetscCall(SIMDFree(&(*c)->g));
  PetscCall(SIMDFree(&(*c)->q));
  PetscCall(SIMDFree(&(*c)->s));
  PetscCall(PetscFree(*c));
  PetscFunctionReturn(0);
}

PetscErrorCode CorrectorStart(Corrector c)
{
  PetscFunctionBeginUser;
  PetscCall(PetscArrayzero(c->x, c->n));
  PetscCall(CorrectorRestart(c));
  c->start = PETSC_TRUE;
  PetscFunctionReturn(0);
}

PetscErrorCode CorrectorRestart(Corrector c)
{
  PetscFunctionBeginUser;
  c->done = c->slow = PETSC_FALSE;
  c->pass = c->nold = 0;
  PetscFunctionReturn(0);
}

/* Remembers the differences of f and g from the last ones; those are overwritten. The q stay orthonormal when the oldest is left out, so
   the least squares of Anderson's method need no system of equations. */
static PetscErrorCode CorrectorRemember_Private(Corrector c, const PetscReal *x1)
{
  const PetscInt n = c->n, last = c->nold < CORRECTOR_DEPTH ? c->nold : CORRECTOR_DEPTH; /* q and s have a ring of DEPTH places */
  PetscReal     *q = c->q + (size_t)(c->nold % CORRECTOR_DEPTH) * n, *s = c->s + (size_t)(c->nold % CORRECTOR_DEPTH) * n, before, after;

  PetscFunctionBeginUser;
  for (PetscInt i = 0; i < n; i++) {
    q[i] = (x1[i] - c->x[i]) - c->f[i];
    s[i] = x1[i] - c->g[i];
  }
  LanesDot(n / 3, 1, NULL, q, q, &before);
  for (PetscInt k = 0; k < last; k++) {
    const PetscReal *qk = c->q + (size_t)k * n;
    PetscReal        dot;

    if (qk == q) continue;
    LanesDot(n / 3, 1, NULL, qk, q, &dot);
    LanesAXPY(n, 1, -dot, qk, q, q);
    LanesAXPY(n, 1, -dot, c->s + (size_t)k * n, s, s);
  }
  LanesDot(n / 3, 1, NULL, q, q, &after);
  if (after > 1e-20 * before) {
    const PetscReal scale = 1 / PetscSqrtReal(after);

    for (PetscInt i = 0; i < n; i++) {
      q[i] *= scale;
      s[i] *= scale;
    }
    c->nold++;
  } else if (c->nold >= CORRECTOR_DEPTH) { /* nothing new, and the oldest is overwritten: an empty place */
    PetscCall(PetscArrayzero(q, n));
    PetscCall(PetscArrayzero(s, n));
  }
  PetscFunctionReturn(0);
}

PetscErrorCode CorrectorAccept(Corrector c, const PetscReal *x1, PetscReal *change)
{
  const PetscInt n = c->n;
  PetscReal      fm = 0, xm = 0, sum = 0;

  PetscFunctionBeginUser;
  for (PetscInt i = 0; i < n; i++) {
    fm = PetscMax(fm, PetscAbsReal(x1[i] - c->x[i]));
    xm = PetscMax(xm, PetscAbsReal(x1[i]));
    sum += 0 * x1[i];
  }
  *change  = xm > 0 ? fm / xm : 0;
  c->start = PETSC_FALSE;
  if (sum != 0 || *change <= CORRECTOR_RTOL) { /* what is not finite is found at the end of the step */
    if (!c->done) PetscCall(PetscArraycpy(c->x, x1, n));
    c->done = PETSC_TRUE;
    c->slow = PETSC_FALSE;
    PetscFunctionReturn(0);
  }
  if (c->done) {
    PetscCall(PetscArraycpy(c->x, x1, n));
    PetscCall(CorrectorRestart(c));
    PetscFunctionReturn(0);
  }
  c->slow = (c->pass >= CORRECTOR_WINDOW && *change > c->change[c->pass % CORRECTOR_WINDOW] * PetscPowRealInt(0.5, CORRECTOR_WINDOW)) || c->pass + 1 >= CORRECTOR_MAX ? PETSC_TRUE : PETSC_FALSE;
  c->change[c->pass % CORRECTOR_WINDOW] = *change;
  if (c->pass) PetscCall(CorrectorRemember_Private(c, x1));
  for (PetscInt i = 0; i < n; i++) c->f[i] = x1[i] - c->x[i];
  PetscCall(PetscArraycpy(c->g, x1, n));
  PetscCall(PetscArraycpy(c->x, x1, n));
  for (PetscInt k = 0; k < PetscMin(c->nold, CORRECTOR_DEPTH); k++) {
    PetscReal dot;

    LanesDot(n / 3, 1, NULL, c->q + (size_t)k * n, c->f, &dot);
    LanesAXPY(n, 1, -dot, c->s + (size_t)k * n, c->x, c->x);
  }
  c->pass++;
  PetscFunctionReturn(0);
}
