#include "columns.h"
#include "physics/rotation.h"
#include "physics/simd.h"

PetscErrorCode ColumnsDestroy(Columns *c)
{
  PetscFunctionBeginUser;
  PetscCall(PetscFree(c->node));
  PetscCall(SIMDFree(&c->x));
  PetscCall(SIMDFree(&c->f));
  PetscFunctionReturn(0);
}

static PetscInt ColumnsFind_Private(const Columns *c, PetscInt node)
{
  PetscInt lo = 0, hi = c->n - 1;

  while (lo < hi) {
    const PetscInt mid = lo + (hi - lo) / 2;

    if (c->node[mid] < node) lo = mid + 1;
    else hi = mid;
  }
  return lo;
}

PetscErrorCode ColumnsSetUp(Columns *c, Factor factor, PetscInt nnode, PetscInt n, const MaterialPoint *const p[])
{
  PetscInt m = 0;

  PetscFunctionBeginUser;
  for (PetscInt i = 0; i < n; i++) m += p[i]->nnode;
  if (m > c->mnode) {
    c->mnode = 2 * m;
    PetscCall(PetscFree(c->node));
    PetscCall(PetscMalloc1(c->mnode, &c->node));
  }
  m = 0;
  for (PetscInt i = 0; i < n; i++)
    for (PetscInt a = 0; a < p[i]->nnode; a++) c->node[m++] = p[i]->node[a];
  PetscCall(PetscSortRemoveDupsInt(&m, c->node));
  c->n     = m;
  c->lanes = 8 * ((3 * m + 7) / 8);
  if (c->lanes > c->capacity) {
    c->capacity = c->lanes;
    PetscCall(SIMDFree(&c->x));
    PetscCall(SIMDFree(&c->f));
    PetscCall(SIMDCalloc((size_t)3 * nnode * c->capacity, &c->x));
    PetscCall(SIMDCalloc(c->capacity, &c->f));
  } else PetscCall(PetscArrayzero(c->x, (size_t)3 * nnode * c->lanes));
  for (PetscInt k = 0; k < 3 * m; k++) c->x[(size_t)(3 * c->node[k / 3] + k % 3) * c->lanes + k] = 1;
  PetscCall(FactorSolve(factor, c->lanes, c->x));
  PetscFunctionReturn(0);
}

PetscErrorCode ColumnsCompliance(const Columns *c, PetscInt n, const MaterialPoint *const p[], const PetscReal frame[], PetscReal W[])
{
  PetscFunctionBeginUser;
  for (PetscInt i = 0; i < n; i++)
    for (PetscInt j = i; j < n; j++) {
      PetscReal *w = W + 9 * (n * i + j), *t = W + 9 * (n * j + i), C[9] = {0}, A[9], B[9];

      for (PetscInt b = 0; b < p[j]->nnode; b++) {
        const PetscInt at = 3 * ColumnsFind_Private(c, p[j]->node[b]);

        for (PetscInt a = 0; a < p[i]->nnode; a++)
          for (PetscInt k = 0; k < 3; k++)
            for (PetscInt l = 0; l < 3; l++) C[3 * k + l] += p[i]->N[a] * p[j]->N[b] * c->x[(size_t)(3 * p[i]->node[a] + k) * c->lanes + at + l];
      }
      Mat3Mult(frame + 9 * i, C, A);
      Mat3MultTransposeRight(A, frame + 9 * j, B);
      for (PetscInt k = 0; k < 3; k++)
        for (PetscInt l = 0; l < 3; l++) t[3 * k + l] = w[3 * l + k] = i == j ? 0.5 * (B[3 * k + l] + B[3 * l + k]) : B[3 * k + l];
    }
  PetscFunctionReturn(0);
}

PetscErrorCode ColumnsApply(Columns *c, PetscInt nnode, PetscInt n, const MaterialPoint *const p[], const PetscReal P[], PetscReal y[])
{
  PetscReal *f = c->f;

  PetscFunctionBeginUser;
  PetscCall(PetscArrayzero(f, c->lanes));
  for (PetscInt i = 0; i < n; i++)
    for (PetscInt a = 0; a < p[i]->nnode; a++) {
      const PetscInt at = 3 * ColumnsFind_Private(c, p[i]->node[a]);

      for (PetscInt k = 0; k < 3; k++) f[at + k] += p[i]->N[a] * P[3 * i + k];
    }
  for (PetscInt i = 0; i < 3 * nnode; i++) {
    const PetscReal *x = c->x + (size_t)i * c->lanes;
    PetscReal        s = 0;

#pragma omp simd reduction(+ : s)
    for (PetscInt k = 0; k < c->lanes; k++) s += x[k] * f[k];
    y[i] += s;
  }
  PetscFunctionReturn(0);
}
