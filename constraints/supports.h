/* Supports: points of bodies that are held, led or tied to each other, as the input names them. They are equality rows of every step. */
#pragma once
#include "constraints/detect.h"
#include "physics/body.h"

/* fixed: held in all directions; direction: along one; velocity, displacement: a function of time along one; ball: points of two bodies stay together */
typedef enum { SUPPORT_FIXED, SUPPORT_DIRECTION, SUPPORT_VELOCITY, SUPPORT_DISPLACEMENT, SUPPORT_BALL } SupportKind;
PETSC_EXTERN const char *const SupportKinds[];

/* What a user names; the same on every rank */
typedef struct {
  char       *name;
  SupportKind kind;
  PetscReal   direction[3]; /* of length one */
  Function    value;        /* of velocity and displacement */
  PetscReal   place[3];     /* placed position of its first point */
} Support;

/* elem of a point that is a node, and of one that is xi from the mass centre of what cannot deform, in or outside of its mesh */
#define SUPPORT_NODE(node) (-2 - (node))
#define SUPPORT_FREE       (-1)

/* One point of a support, on the rank of its body id[1] */
typedef struct {
  PetscInt     support, number; /* number: of the body's points */
  PetscBool    first;           /* of all points of the support: moments are about it */
  PetscInt     id[2];           /* what it is tied to (-1: space); whose it is. The impulse acts on the latter. */
  PetscMPIInt  rank[2];
  ContactPoint point[2];
  PetscBool    led;              /* by an obstacle in motion */
  PetscReal    placed[3];
  PetscReal    velocity[3], speed; /* at the start, against what it is tied to; and of the bodies, to compare with */
} SupportPoint;

typedef struct {
  PetscInt      n, npoint, capacity;
  Support      *support;
  SupportPoint *point;
} Supports;
PETSC_EXTERN PetscErrorCode SupportsDestroy(Supports *supports);
PETSC_EXTERN PetscErrorCode SupportsAddPoint(Supports *supports, const SupportPoint *point);
/* The material point that elem and xi mean */
PETSC_EXTERN PetscErrorCode SupportMaterialPoint(Part part, PetscInt elem, const PetscReal xi[3], MaterialPoint *point);
