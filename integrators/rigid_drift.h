/* Free rotation of a rigid body over a time tau: Lambda <- Lambda F with the angular momentum L (spatial, about the mass centre)
   as constant state. Both are second order, reversible and symplectic; both keep L exactly because L is the state. */
#pragma once
#include <petscsys.h>

/* Discrete Moser-Veselov (RATTLE on SO(3)): vee(F Jd - Jd F^T) = tau Lambda^T L, Jd = tr(J)/2 I - J. Keeps the energy too.
   J: inertia in the body's frame, full and symmetric. ok is false, and Lambda untouched, when the step is too long
   (tau |omega| beyond about 0.95) or J is singular: use RotationDriftSplit then. */
PETSC_EXTERN PetscErrorCode RotationDriftDMV(const PetscReal J[9], const PetscReal L[3], PetscReal tau, PetscReal Lambda[9], PetscBool *ok);
/* Splitting (McLachlan, Reich): turns about the principal axes 1, 2, 3, 2, 1. Explicit, never fails; energy error bounded.
   axes: principal axes as columns, in the body's frame, or NULL when the body's frame is principal. */
PETSC_EXTERN PetscErrorCode RotationDriftSplit(const PetscReal moment[3], const PetscReal axes[9], const PetscReal L[3], PetscReal tau, PetscReal Lambda[9]);
