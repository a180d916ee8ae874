/* Compliance: columns of (sm M + sk K0)^-1 of a Part at the nodes that contacts and joints touch, in the part's reference frame. Kept beside
   the factor that makes them and shared by all bodies of the part. */
#pragma once
#include "body.h"

#define COMPLIANCE_DENSE  600                       /* unknowns up to which the first touch makes all columns */
#define COMPLIANCE_MEMORY ((size_t)1 << 30)         /* bytes of columns of one Compliance; beyond, those not used for long give way */

/* Made once for each pair, owned by the part like its factor. */
PETSC_EXTERN PetscErrorCode PartGetCompliance(Part part, PetscReal sm, PetscReal sk, Compliance *c);
PETSC_EXTERN PetscErrorCode ComplianceDestroy(Compliance *c);
/* Makes sure that columns at these nodes are there. Small parts: all of them at once; others: blocks of up to 24 columns, filled up with
   neighbours on the surface if the part has one. A column has the same bits whatever it is made with. */
PETSC_EXTERN PetscErrorCode ComplianceTouch(Compliance c, PetscInt n, const PetscInt node[]);
/* C[9 (i n + j) ..]: row-major 3x3 block, velocity of point i by a unit impulse at point j. Block (j, i) is the transpose of (i, j) bit for
   bit. Nodes are touched if they were not. */
PETSC_EXTERN PetscErrorCode CompliancePoints(Compliance c, PetscInt n, const MaterialPoint *const p[], PetscReal *C);
/* y += A^-1 sum_i N_i^T f_i: f 3 numbers per point, y[dof * stride] */
PETSC_EXTERN PetscErrorCode ComplianceApply(Compliance c, PetscInt n, const MaterialPoint *const p[], const PetscReal *f, PetscInt stride, PetscReal *y);
/* Columns made so far (again after they gave way counts again), and seconds that took. Each may be NULL. */
PETSC_EXTERN PetscErrorCode ComplianceGetInfo(Compliance c, PetscInt64 *columns, PetscLogDouble *seconds);
/* Bound of the memory of columns in bytes; what one call needs is held in any case. Not for parts that are small. */
PETSC_EXTERN PetscErrorCode ComplianceSetMemory(Compliance c, size_t bytes);
