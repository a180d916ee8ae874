/* Small kernels of frictional contact: four numbers at once, the cone, the problem of one contact. */
#pragma once
#include <petscsys.h>

typedef double Four __attribute__((vector_size(32), aligned(8), may_alias));

/* Hot functions are compiled for processors with vectors of four and chosen when the program is loaded; sanitizers start too late for that. */
#if defined(__x86_64__) && !defined(__SANITIZE_ADDRESS__)
  #define FOUR_CLONES __attribute__((target_clones("avx2", "default")))
#else
  #define FOUR_CLONES
#endif
#define FOUR_INLINE static inline __attribute__((always_inline))

#define FourLoad(p) (*(const Four *)(p))

/* a += W r with a block by columns; reads one number past the block and computes a fourth component that means nothing */
FOUR_INLINE void BlockAddMult(const PetscReal *w, const PetscReal *r, Four *a)
{
  *a += FourLoad(w) * r[0] + FourLoad(w + 3) * r[1] + FourLoad(w + 6) * r[2];
}

/* a += F v, v += F^T r with F 3x6 by columns; the first reads one number past it */
FOUR_INLINE void MotionVelocity(const PetscReal *F, const PetscReal *v, Four *a)
{
  *a += FourLoad(F) * v[0] + FourLoad(F + 3) * v[1] + FourLoad(F + 6) * v[2] + FourLoad(F + 9) * v[3] + FourLoad(F + 12) * v[4] + FourLoad(F + 15) * v[5];
}
FOUR_INLINE void MotionAdd(const PetscReal *F, const PetscReal *r, PetscReal *v)
{
  for (PetscInt k = 0; k < 6; k++) v[k] += F[3 * k] * r[0] + F[3 * k + 1] * r[1] + F[3 * k + 2] * r[2];
}

/* Nearest point of |x_T| <= mu x_N */
static inline void ConeProject(PetscReal mu, PetscReal x[3])
{
  const PetscReal t = PetscSqrtReal(x[1] * x[1] + x[2] * x[2]);

  if (mu * t <= -x[0]) x[0] = x[1] = x[2] = 0; /* first: without friction and tangents the other test holds, too */
  else if (t > mu * x[0]) {
    const PetscReal n = (x[0] + mu * t) / (1 + mu * mu), f = mu * n / t;

    x[0] = n;
    x[1] *= f;
    x[2] *= f;
  }
}

/* What the one-contact problem needs of its block W_ii, made once: the normal is eliminated from the tangents, S = W_TT - W_TN W_NT / W_NN. */
typedef struct {
  PetscReal n;                      /* 1 / W_NN */
  PetscReal tn[2], nt[2];           /* W_TN / W_NN, W_NT / W_NN */
  PetscReal s00, s01, s10, s11, tr, det, idet; /* idet: 1 / det, 0 where S is not positive definite */
  PetscReal shift;                  /* added to the diagonal where W_ii is (nearly) singular */
  PetscReal lambda;                 /* of the last slip, where the next search starts */
  PetscReal turn[2];                /* cosine and sine of the tangents' turn where S is nearly singular; 1, 0 elsewhere */
} OneContact;

PETSC_EXTERN void OneContactSetUp(const PetscReal *w, OneContact *one);
/* r of u = W_ii r + b under the cone of friction mu, its slip to a relative accuracy (0: to the last bit); old: r before (used where W_ii is singular) */
PETSC_EXTERN void OneContactSolve(OneContact *one, PetscReal mu, const PetscReal b[3], const PetscReal old[3], PetscReal accuracy, PetscReal r[3]);
