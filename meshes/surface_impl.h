/* What the files of Surface share. */
#pragma once
#include "meshes/surface.h"

PETSC_INTERN PetscErrorCode SurfaceTreeBuild_Private(Surface surface);
PETSC_INTERN PetscErrorCode SurfacePatches_Private(Surface surface); /* after edges */
PETSC_INTERN PetscErrorCode SurfaceCurves_Private(Surface surface);  /* after rings */

static inline PetscReal SurfaceDot_Private(const PetscReal a[3], const PetscReal b[3])
{
  return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}

static inline void SurfaceCross_Private(const PetscReal a[3], const PetscReal b[3], PetscReal c[3])
{
  c[0] = a[1] * b[2] - a[2] * b[1];
  c[1] = a[2] * b[0] - a[0] * b[2];
  c[2] = a[0] * b[1] - a[1] * b[0];
}

static inline void SurfaceSubtract_Private(const PetscReal a[3], const PetscReal b[3], PetscReal c[3])
{
  for (PetscInt d = 0; d < 3; d++) c[d] = a[d] - b[d];
}

/* Returns the length; a zero vector stays zero. */
static inline PetscReal SurfaceNormalize_Private(PetscReal a[3])
{
  const PetscReal l = PetscSqrtReal(SurfaceDot_Private(a, a));

  for (PetscInt d = 0; d < 3 && l > 0; d++) a[d] /= l;
  return l;
}

/* Between two vectors of any length; atan2 keeps all digits of small angles. */
static inline PetscReal SurfaceAngle_Private(const PetscReal a[3], const PetscReal b[3])
{
  PetscReal c[3];

  SurfaceCross_Private(a, b, c);
  return PetscAtan2Real(PetscSqrtReal(SurfaceDot_Private(c, c)), SurfaceDot_Private(a, b));
}

/* Signed angle from normal n0 to n1 over an edge e that facet 0 runs through forwards: above zero where the solid is convex. */
static inline PetscReal SurfaceDihedral_Private(const PetscReal n0[3], const PetscReal n1[3], const PetscReal e[3])
{
  PetscReal       c[3];
  const PetscReal a = SurfaceAngle_Private(n0, n1);

  SurfaceCross_Private(n0, n1, c);
  return SurfaceDot_Private(c, e) < 0 ? -a : a;
}

/* Area vector, half the product of the diagonals; right for triangles that repeat their last node, too. */
static inline void SurfaceAreaVector_Private(const SurfaceFacet *f, const PetscReal x[], PetscReal a[3])
{
  PetscReal p[3], q[3];

  SurfaceSubtract_Private(x + 3 * f->node[2], x + 3 * f->node[0], p);
  SurfaceSubtract_Private(x + 3 * f->node[3], x + 3 * f->node[1], q);
  SurfaceCross_Private(p, q, a);
  for (PetscInt d = 0; d < 3; d++) a[d] *= 0.5;
}

static inline SurfaceEdgeKind SurfaceEdgeKind_Private(PetscReal angle)
{
  return PetscAbsReal(angle) < SURFACE_ANGLE ? SURFACE_EDGE_FLAT : (angle > 0 ? SURFACE_EDGE_CONVEX : SURFACE_EDGE_CONCAVE);
}
