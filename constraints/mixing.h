/* Mixing: Anderson's acceleration of sweeps, with the last two differences. Where loads are passed on through many bodies it spares sweeps: half of them in a pile, five of
   six in a column of 24 bodies. */
#pragma once
#include "system.h"

typedef struct _p_Mixing *Mixing;
PETSC_EXTERN PetscErrorCode MixingCreate(Mixing *m);
PETSC_EXTERN PetscErrorCode MixingDestroy(Mixing *m);
/* Before the first sweep of a system: forgets what it knows */
PETSC_EXTERN PetscErrorCode MixingBegin(Mixing m, System s);
/* Before a sweep: takes r, and the motions s->v if W is by bodies, from where the last sweep has left them to where this one is to start */
PETSC_EXTERN PetscErrorCode MixingStart(Mixing m, System s, PetscReal *r);
/* After it. sum: |change|^2 / rho and |r|^2 / rho of the sweep on this rank, then on all that share the system */
PETSC_EXTERN PetscErrorCode MixingEnd(Mixing m, System s, const PetscReal *r, PetscReal sum[2]);
/* Between the two: r of the n blocks of a list, and the motions of their bodies, were changed by something else than these sweeps */
PETSC_EXTERN PetscErrorCode MixingMoved(Mixing m, System s, const PetscReal *r, PetscInt n, const PetscInt list[]);
