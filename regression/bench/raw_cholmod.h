/* CHOLMOD as a program would call it by itself, for benchmarks to compare with. */
#pragma once
#include "physics/part.h"
#include <petsctime.h>
#include <suitesparse/cholmod.h>

typedef struct {
  cholmod_common  cc;
  cholmod_sparse *A;
  cholmod_factor *L;
  cholmod_dense  *X, *Y, *E, *B;
} Raw;

/* Scalar lower triangle of the blocks a, analyzed and factored; seconds of both, unless NULL */
static inline PetscErrorCode RawCreate(const BlockPattern *p, const PetscReal *a, int supernodal, PetscReal *analyze, PetscReal *factor, Raw *r)
{
  const PetscInt   n = 3 * p->nb;
  cholmod_triplet *T;
  PetscLogDouble   t0, t1, t2;

  PetscFunctionBeginUser;
  PetscCall(PetscMemzero(r, sizeof(*r)));
  cholmod_start(&r->cc);
  r->cc.supernodal = supernodal;
  T                = cholmod_allocate_triplet(n, n, 9 * p->ia[p->nb], -1, CHOLMOD_REAL, &r->cc);
  for (PetscInt i = 0; i < p->nb; i++)
    for (PetscInt k = p->ia[i]; k < p->ia[i + 1]; k++)
      for (PetscInt u = 0; u < 3; u++)
        for (PetscInt v = 0; v < 3; v++) {
          if (3 * p->ja[k] + v < 3 * i + u) continue;
          ((int *)T->i)[T->nnz]      = 3 * p->ja[k] + v;
          ((int *)T->j)[T->nnz]      = 3 * i + u;
          ((double *)T->x)[T->nnz++] = a[9 * k + u + 3 * v];
        }
  r->A = cholmod_triplet_to_sparse(T, 0, &r->cc);
  cholmod_free_triplet(&T, &r->cc);
  PetscCall(PetscTime(&t0));
  r->L = cholmod_analyze(r->A, &r->cc);
  PetscCall(PetscTime(&t1));
  cholmod_factorize(r->A, r->L, &r->cc);
  PetscCall(PetscTime(&t2));
  PetscCheck(r->cc.status == CHOLMOD_OK, PETSC_COMM_SELF, PETSC_ERR_LIB, "CHOLMOD failed with status %d", r->cc.status);
  if (analyze) *analyze = t1 - t0;
  if (factor) *factor = t2 - t1;
  r->B = cholmod_ones(n, 1, CHOLMOD_REAL, &r->cc);
  PetscFunctionReturn(0);
}

static inline void RawSolve(Raw *r)
{
  cholmod_solve2(CHOLMOD_A, r->L, r->B, NULL, &r->X, NULL, &r->Y, &r->E, &r->cc);
}

static inline void RawDestroy(Raw *r)
{
  cholmod_free_dense(&r->X, &r->cc);
  cholmod_free_dense(&r->Y, &r->cc);
  cholmod_free_dense(&r->E, &r->cc);
  cholmod_free_dense(&r->B, &r->cc);
  cholmod_free_factor(&r->L, &r->cc);
  cholmod_free_sparse(&r->A, &r->cc);
  cholmod_finish(&r->cc);
}

/* Of the operator sm M + sk K0 of a part */
static inline PetscErrorCode RawCreatePart(Part part, PetscReal sm, PetscReal sk, Raw *r)
{
  PetscReal *k, *a;

  PetscFunctionBeginUser;
  PetscCall(PetscMalloc1(9 * part->pattern.ia[part->pattern.nb], &a));
  PetscCall(MatSeqSBAIJGetArray(part->K0, &k));
  PetscCall(PartShift(part, sm, sk, k, a));
  PetscCall(MatSeqSBAIJRestoreArray(part->K0, &k));
  PetscCall(RawCreate(&part->pattern, a, CHOLMOD_SUPERNODAL, NULL, NULL, r));
  PetscCall(PetscFree(a));
  PetscFunctionReturn(0);
}
