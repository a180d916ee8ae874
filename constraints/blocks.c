/* From a scalar matrix of contacts and bilateral rows, as files have it, to blocks. */
#include "blocks.h"

typedef struct {
  PetscInt col, row;
} Pair;

static int PairCompare_Private(const void *a, const void *b)
{
  const Pair *x = (const Pair *)a, *y = (const Pair *)b;

  return x->row != y->row ? (x->row < y->row ? -1 : 1) : (x->col > y->col) - (x->col < y->col);
}

/* Block and row in it of scalar row k: contacts of `dim` rows first, bilateral rows by threes behind */
static inline void Locate_Private(PetscInt n, PetscInt dim, PetscInt k, PetscInt *block, PetscInt *row)
{
  if (k < n * dim) {
    *block = k / dim;
    *row   = k % dim;
  } else {
    *block = n + (k - n * dim) / 3;
    *row   = (k - n * dim) % 3;
  }
}

PetscErrorCode BlocksCreate(PetscInt n, PetscInt dim, PetscInt m, const PetscInt ptr[], const PetscInt col[], const PetscReal val[], const PetscReal q[], const PetscReal mu[], Blocks *blocks)
{
  const PetscInt nb = n + (m + 2) / 3, N = n * dim + m;
  PetscInt       npair = 0, k = 0;
  Pair          *pair;

  PetscFunctionBeginUser;
  blocks->n = nb;
  PetscCall(PetscMalloc3(nb + 1, &blocks->ptr, 3 * nb, &blocks->q, nb, &blocks->row));
  for (PetscInt i = 0; i < nb; i++) {
    blocks->row[i] = (Row){i < n ? RELATION_CONE : RELATION_EQUAL, i < n ? dim : PetscMin(3, m - 3 * (i - n)), i < n ? mu[i] : 0, 0, 0, 0};
    for (PetscInt c = 0; c < 3; c++) blocks->q[3 * i + c] = 0;
  }
  /* pattern: both (i, j) and (j, i) of whatever is not zero, and the diagonal */
  PetscCall(PetscMalloc1(2 * ptr[N] + nb, &pair));
  for (PetscInt i = 0; i < N; i++) {
    PetscInt bi, ri;

    Locate_Private(n, dim, i, &bi, &ri);
    blocks->q[3 * bi + ri] = q[i];
    for (PetscInt l = ptr[i]; l < ptr[i + 1]; l++) {
      PetscInt bj, rj;

      if (val[l] == 0) continue;
      Locate_Private(n, dim, col[l], &bj, &rj);
      if (npair && pair[npair - 1].row == bi && pair[npair - 1].col == bj) continue;
      pair[npair++] = (Pair){bj, bi};
      if (bi != bj) pair[npair++] = (Pair){bi, bj};
    }
  }
  for (PetscInt i = 0; i < nb; i++) pair[npair++] = (Pair){i, i};
  qsort(pair, npair, sizeof(Pair), PairCompare_Private);
  for (PetscInt i = 0; i < npair; i++)
    if (!i || PairCompare_Private(&pair[k - 1], &pair[i])) pair[k++] = pair[i];
  npair = k;
  PetscCall(PetscMalloc1(npair, &blocks->col));
  PetscCall(PetscCalloc1(9 * npair, &blocks->w));
  PetscCall(PetscArrayzero(blocks->ptr, nb + 1));
  for (PetscInt i = 0; i < npair; i++) {
    blocks->ptr[pair[i].row + 1]++;
    blocks->col[i] = pair[i].col;
  }
  PetscCall(PetscFree(pair));
  for (PetscInt i = 0; i < nb; i++) blocks->ptr[i + 1] += blocks->ptr[i];
  for (PetscInt i = 0; i < N; i++) {
    PetscInt bi, ri, at;

    Locate_Private(n, dim, i, &bi, &ri);
    at = blocks->ptr[bi];
    for (PetscInt l = ptr[i]; l < ptr[i + 1]; l++) {
      PetscInt bj, rj;

      if (val[l] == 0) continue;
      Locate_Private(n, dim, col[l], &bj, &rj);
      while (blocks->col[at] < bj) at++; /* columns ascend */
      blocks->w[9 * at + 3 * rj + ri] += val[l];
    }
  }
  PetscFunctionReturn(0);
}

PetscErrorCode BlocksDestroy(Blocks *blocks)
{
  PetscFunctionBeginUser;
  PetscCall(PetscFree3(blocks->ptr, blocks->q, blocks->row));
  PetscCall(PetscFree(blocks->col));
  PetscCall(PetscFree(blocks->w));
  PetscFunctionReturn(0);
}

void BlocksToScalar(PetscInt n, PetscInt dim, PetscInt m, const PetscReal blocks[], PetscReal scalar[])
{
  for (PetscInt i = 0; i < n * dim + m; i++) {
    PetscInt b, r;

    Locate_Private(n, dim, i, &b, &r);
    scalar[i] = blocks[3 * b + r];
  }
}
