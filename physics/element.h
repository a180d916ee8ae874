/* Elements: shape functions, quadrature, faces, and the fast kernels that a body's assembly uses. One table entry per kind. */
#pragma once
#include "meshes/mesh.h"

#define ELEMENT_MAX_NODES 27 /* of any kind in the table: sizes small work arrays */

typedef struct {
  const char      *name;           /* as in MeshBlock.type */
  PetscInt         nnode, nquad, nside;
  const PetscReal *xi, *weight;    /* quadrature: nquad x 3, nquad */
  void (*shape)(const PetscReal xi[3], PetscReal N[], PetscReal dN[]); /* dN: nnode x 3; either may be NULL */
} Element;
PETSC_EXTERN PetscErrorCode ElementFind(const char name[], const Element **e);

typedef struct {
  PetscReal lambda, mu, density; /* Lame's constants */
  PetscBool linear;              /* small strains about the placed state instead of St Venant-Kirchhoff */
} Elastic;

/* Integrals over the reference mesh: row-sum lumped mass per node m_a = int rho N_a dV, G_a = int grad N_a dV (nnode x 3), volume and
   centre, by the element's own quadrature (for hex8 exact for any corners). Any pointer may be NULL. */
PETSC_EXTERN PetscErrorCode MeshIntegrate(Mesh mesh, PetscReal density, PetscReal *mass, PetscReal *G, PetscReal *volume, PetscReal centre[3]);

/* Where in the block-upper (SBAIJ, bs 3) value array each element's node pairs go, found once per mesh. */
typedef struct _p_Assembly *Assembly;
/* Makes the pattern ia, ja of the mesh (block upper, columns ascending) and the offsets. The Mesh must outlive it. */
PETSC_EXTERN PetscErrorCode AssemblyCreate(Mesh mesh, Assembly *as);
PETSC_EXTERN PetscErrorCode AssemblyDestroy(Assembly *as);
PETSC_EXTERN PetscErrorCode AssemblyGetPattern(Assembly as, PetscInt *nb, const PetscInt **ia, const PetscInt **ja);
/* St Venant-Kirchhoff: values += nothing, they are zeroed first. x: current positions [3*node + c] with stride `stride` between
   successive dofs (1: packed). Writes tangent `a` (3x3 blocks by columns; NULL: none) and internal force f (stride `stride`; NULL: none).
   `linear` is not looked at: the stiffness of small strains about a placed state x is this tangent there.
   The vector width is chosen at run time (`-element_simd sse2|avx2|avx512`, by AssemblySetSIMD). */
PETSC_EXTERN PetscErrorCode AssemblyTangent(Assembly as, const Elastic *el, const PetscReal *x, PetscInt stride, PetscReal *a, PetscReal *f);
/* Strain energy of St Venant-Kirchhoff at x. */
PETSC_EXTERN PetscErrorCode AssemblyEnergy(Assembly as, const Elastic *el, const PetscReal *x, PetscInt stride, PetscReal *energy);
PETSC_EXTERN PetscErrorCode AssemblySetSIMD(Assembly as, PetscInt width /* 2, 4 or 8; 0: SIMDWidth() */);
/* Deformation gradient F[3 i + j] = dx_i/dX_j at xi of element e (counted through all blocks), Cauchy stress (xx yy zz xy yz zx) of
   either material from it, and von Mises' stress (either may be NULL). For `linear`, F is relative to the placed
   state and only its symmetric part is used. */
PETSC_EXTERN PetscErrorCode ElementDeformation(Mesh mesh, PetscInt e, const PetscReal xi[3], const PetscReal *x, PetscInt stride, PetscReal F[9]);
PETSC_EXTERN PetscErrorCode ElasticCauchy(const Elastic *el, const PetscReal F[9], PetscReal sigma[6], PetscReal *mises);
/* Which element holds reference point X, and where in it; *elem = -1 if none does (tolerance 1e-6 of the element's size). */
PETSC_EXTERN PetscErrorCode MeshLocatePoint(Mesh mesh, const PetscReal X[3], PetscInt *elem, PetscReal xi[3]);
