/* Part: a mesh, a material and all that is constant and follows from them. Bodies placed from one part share it. */
#pragma once
#include <petscmat.h>
#include "meshes/mesh.h"
#include "meshes/surface.h"
#include "element.h"
#include "factor.h"

typedef struct {
  PetscReal young, poisson, density;
  PetscBool linear; /* type linear: small strains about the placed state; else St Venant-Kirchhoff */
} Material;

typedef struct _p_Compliance *Compliance; /* compliance.h */
typedef struct _p_Part *Part;
struct _p_Part {
  char        *name;
  PetscInt     number;     /* the same on all ranks that have the part */
  Mesh         mesh;
  Material     material;
  Elastic      elastic;
  PetscInt     nnode;
  PetscReal   *mass;       /* lumped by row sums, per node */
  PetscReal   *X;          /* nodes from the mass centre, nnode x 3 */
  PetscReal   *G, *mX;     /* weights of the frame: int grad N_a dV, and m_a X_a; nnode x 3 */
  PetscReal    centre[3];  /* mass centre in the mesh's coordinates */
  PetscReal    volume, total;
  PetscReal    inertia[9]; /* about the mass centre, of the continuous body (for rigid) */
  PetscReal    radius;     /* of the smallest sphere about the mass centre that holds all nodes */
  PetscReal    wave;       /* c = sqrt(E / rho) */
  PetscInt     simd;       /* vector length of the element kernels, 0: the best there is */
  Assembly     assembly;   /* these from PartSetUpElastic() on */
  BlockPattern pattern;
  Mat          K0;         /* tangent stiffness of the undeformed part, MATSEQSBAIJ */
  Factor       like;       /* without values: all factors of the part share its analysis */
  PetscInt     nfactor, capacity;
  struct _PartFactor {
    PetscReal  sm, sk;
    Factor     factor, single; /* single: NULL until asked for */
    Compliance compliance; /* NULL until asked for */
  }          *factors;     /* of sm M + sk K0 */
  PetscInt     nnumeric;   /* factorizations of constant operators made so far */
  Surface      surface;    /* made when first asked for */
};

/* The part takes the mesh over. Density and stiffness may be zero where no formulation needs them. */
PETSC_EXTERN PetscErrorCode PartCreate(const char name[], Mesh mesh, const Material *material, Part *part);
PETSC_EXTERN PetscErrorCode PartDestroy(Part *part);
PETSC_EXTERN PetscErrorCode PartSetUpElastic(Part part);
/* A factor for operators of the part's pattern that change; the caller destroys it. */
PETSC_EXTERN PetscErrorCode PartCreateFactor(Part part, Factor *factor);
/* Factor of sm M + sk K0, made once for each pair. */
PETSC_EXTERN PetscErrorCode PartGetFactor(Part part, PetscReal sm, PetscReal sk, Factor *factor);
/* The same in single precision, where there is such a one; else the factor itself. */
PETSC_EXTERN PetscErrorCode PartGetFactorSingle(Part part, PetscReal sm, PetscReal sk, Factor *factor);
PETSC_EXTERN PetscErrorCode PartGetSurface(Part part, Surface *surface);
/* a = sm M + sk k for block values k of the part's pattern; in place allowed. */
PETSC_EXTERN PetscErrorCode PartShift(Part part, PetscReal sm, PetscReal sk, const PetscReal *k, PetscReal *a);
