/* Symmetric block matrices with the pattern of hexahedral meshes, for the test and the benchmark of Factor. */
#pragma once
#include "physics/factor.h"

typedef struct {
  BlockPattern p;
  PetscInt    *ia, *ja;
  PetscReal   *a;
} Problem;

/* Between -1/2 and 1/2, the same numbers on every machine */
static inline PetscReal ProblemRandom(unsigned *s)
{
  *s = *s * 1664525u + 1013904223u;
  return (PetscReal)(*s >> 8) / (1 << 24) - 0.5;
}

/* Grid of cells, closed in the second direction if `ring`. Each element's matrix is a random one of rank 6 plus `diagonal` times one. */
static inline PetscErrorCode ProblemCreate(const PetscInt cells[3], PetscBool ring, PetscReal diagonal, unsigned seed, Problem *q)
{
  const PetscInt nn[3] = {cells[0] + 1, ring ? cells[1] : cells[1] + 1, cells[2] + 1}, nb = nn[0] * nn[1] * nn[2];
  PetscInt       n     = 0;
  PetscReal      f[24][6];

  PetscFunctionBeginUser;
  PetscCall(PetscMalloc1(nb + 1, &q->ia));
  PetscCall(PetscMalloc1(27 * nb, &q->ja));
  for (PetscInt i = 0; i < nb; i++) { /* those of the 27 around node i that have a greater number */
    const PetscInt x = i / (nn[1] * nn[2]), y = i / nn[2] % nn[1], z = i % nn[2];

    q->ia[i] = n;
    for (PetscInt v = 0; v < 27; v++) {
      const PetscInt X = x + v % 3 - 1, Z = z + v / 9 - 1;
      PetscInt       Y = y + v / 3 % 3 - 1, j;

      if (ring) Y = (Y + nn[1]) % nn[1];
      if (X < 0 || X >= nn[0] || Y < 0 || Y >= nn[1] || Z < 0 || Z >= nn[2]) continue;
      j = (X * nn[1] + Y) * nn[2] + Z;
      if (j >= i) q->ja[n++] = j;
    }
    PetscCall(PetscSortInt(n - q->ia[i], q->ja + q->ia[i]));
  }
  q->ia[nb] = n;
  q->p      = (BlockPattern){nb, q->ia, q->ja};
  PetscCall(PetscCalloc1(9 * n, &q->a));
  for (PetscInt el = 0; el < cells[0] * cells[1] * cells[2]; el++) {
    const PetscInt x = el / (cells[1] * cells[2]), y = el / cells[2] % cells[1], z = el % cells[2];
    PetscInt       node[8], k;

    for (PetscInt v = 0; v < 8; v++) node[v] = ((x + (v & 1)) * nn[1] + (y + (v >> 1 & 1)) % nn[1]) * nn[2] + z + (v >> 2);
    for (PetscInt i = 0; i < 24; i++)
      for (PetscInt c = 0; c < 6; c++) f[i][c] = ProblemRandom(&seed);
    for (PetscInt u = 0; u < 8; u++) {
      for (PetscInt v = 0; v < 8; v++) {
        const PetscInt i = node[u], j = node[v];

        if (j < i) continue;
        PetscCall(PetscFindInt(j, q->ia[i + 1] - q->ia[i], q->ja + q->ia[i], &k));
        for (PetscInt r = 0; r < 3; r++) {
          for (PetscInt c = 0; c < 3; c++) {
            PetscReal *w = q->a + 9 * (q->ia[i] + k) + r + 3 * c;

            if (u == v && r == c) *w += diagonal;
            for (PetscInt d = 0; d < 6; d++) *w += f[3 * u + r][d] * f[3 * v + c][d];
          }
        }
      }
    }
  }
  PetscFunctionReturn(0);
}

static inline PetscErrorCode ProblemDestroy(Problem *q)
{
  PetscFunctionBeginUser;
  PetscCall(PetscFree(q->ia));
  PetscCall(PetscFree(q->ja));
  PetscCall(PetscFree(q->a));
  PetscFunctionReturn(0);
}
