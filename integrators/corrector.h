/* Corrector: the fixed point x = g(x) of one body's step by Anderson's mixing, where g is a defect correction with an approximate inverse P,
     g(x) = x + P (b - A x), and whatever contact adds to it.
   The caller makes x1 = g(x) from c->x and hands it in; the result of the loop is the last x1, not a mix, so that contact laws hold in it. */
#pragma once
#include <petscsys.h>

#define CORRECTOR_DEPTH 8     /* differences that are remembered */
#define CORRECTOR_RTOL  1e-10 /* largest |x1 - x| / |x1| at the end */
#define CORRECTOR_MAX   30    /* passes after which it counts as slow in any case */
#define CORRECTOR_WINDOW 8    /* passes over which the rate is looked at */

typedef struct _p_Corrector *Corrector;
struct _p_Corrector {
  PetscInt   n;                 /* a multiple of 3 */
  PetscReal *x;                 /* the iterate; the result when done */
  PetscBool  start;             /* x is zero */
  PetscBool  done;
  PetscBool  slow;              /* a mean rate above 1/2, or too many passes */
  PetscInt   pass;
  PetscReal  change[CORRECTOR_WINDOW]; /* of the last passes, by pass % CORRECTOR_WINDOW */
  PetscInt   nold;              /* remembered so far; the oldest gives way */
  PetscReal *f, *g;             /* last x1 - x and x1 */
  PetscReal *q, *s;             /* differences of f, made orthonormal, and of x1, combined alike */
};

PETSC_EXTERN PetscErrorCode CorrectorCreate(PetscInt n, Corrector *c);
PETSC_EXTERN PetscErrorCode CorrectorDestroy(Corrector *c);
/* From x = 0 */
PETSC_EXTERN PetscErrorCode CorrectorStart(Corrector c);
/* From where x is, with another g */
PETSC_EXTERN PetscErrorCode CorrectorRestart(Corrector c);
/* Judges x1 and makes the next iterate. *change = max |x1 - x| / max |x1|. One that is done goes on if contact has moved it. */
PETSC_EXTERN PetscErrorCode CorrectorAccept(Corrector c, const PetscReal *x1, PetscReal *change);
