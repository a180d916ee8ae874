/* Detector: contacts between bodies as their surfaces are now: nodes on facets, facets on nodes, convex edges on convex edges, each with
   its own normal, gap and persistent key. Patches and curves of the Surface decide which features of a mesh are real and which contacts
   are redundant, so the contacts of two faces do not depend on how these are meshed. Every length is relative to edges of the mesh. */
#pragma once
#include "meshes/surface.h"

typedef enum { DETECT_DEFORMABLE, DETECT_RIGID, DETECT_OBSTACLE } DetectKind;
typedef enum { CONTACT_NODE_FACET, CONTACT_FACET_NODE, CONTACT_EDGE_EDGE, CONTACT_ELEMENTS } ContactKind; /* feature of A on feature of B */
/* hull: of rigid bodies the corners of what two faces share, of others nodes inside a face of one side only; all: whatever touches;
   centroid: one for every two elements, the mean of theirs, as other programs have it, for comparisons with them only: it has no moment */
typedef enum { CONTACT_POINTS_HULL, CONTACT_POINTS_ALL, CONTACT_POINTS_CENTROID } ContactPoints;
PETSC_EXTERN const char *const ContactPointsTypes[];

/* Who touches whom, the same as long as it slides over lines of a mesh. Nodes, patches and curves are those of the Surface. */
typedef struct {
  PetscInt a, b; /* ids of bodies, a < b */
  PetscInt kind; /* ContactKind */
  PetscInt i, j; /* node, and patch of the other body; curves of a and b, or ncurve + edge where a curve bends and may be crossed twice;
                    elements */
} ContactKey;

typedef struct {
  PetscInt  elem, side; /* as in SurfaceFacet */
  PetscReal xi[3];      /* on that side of the element, but extrapolated where a contact is a little beyond it */
} ContactPoint;

typedef struct {
  ContactKey   key;
  PetscInt     body[2];       /* A and B as DetectorAddBody() numbered them; bodies of other ranks come after own ones */
  PetscMPIInt  rank[2];       /* that A and B belong to */
  PetscInt     patch[2];      /* of the facets that face each other */
  PetscReal    gap;           /* normal . (x[1] - x[0]) */
  PetscReal    bend;          /* what a step with the twists of now adds to the gap besides h U_N: h^2 / 2 of its second derivative */
  PetscReal    normal[3];     /* from A to B */
  PetscReal    tangent[2][3]; /* the first is the patch's (curve's) material direction projected; normal, tangents: right-handed */
  PetscReal    x[2][3];       /* where, on A and on B, from the origin of each; the two differ along the normal only */
  PetscReal    ell;           /* shortest edge of the facets around it */
  PetscReal    area;          /* share of the area on which two faces touch; 0 on edges and corners */
  PetscBool    deformable;    /* A or B is */
  ContactPoint point[2];
} Contact;

/* Of the last update, of all ranks together, known to each; bodies by id */
typedef struct {
  PetscInt  nbody, npair, ncandidate, ncontact;
  PetscInt  nupdate, nrebuild; /* so far */
  PetscInt  nrefresh;          /* bodies whose lists were made anew, so far */
  PetscInt  noverlap;          /* pairs of bodies that overlap by more than 1e-9 of an edge; at the first update: initial overlaps */
  PetscReal deepest;           /* least gap; 0 if none is negative */
  PetscInt  deepest_body[2];
  PetscReal deepest_at[3];     /* where */
  PetscReal tunnel;            /* largest h v / thickness of a pair: above 1/4 bodies may pass through each other */
  PetscInt  tunnel_body[2];
} DetectReport;

typedef struct _p_Detector *Detector;
/* Collective, like all that says so. Each rank has bodies of its own; contacts with those of other ranks are found all the same, with the
   same bits on any number of ranks. */
PETSC_EXTERN PetscErrorCode DetectorCreate(MPI_Comm comm, Detector *detector);
PETSC_EXTERN PetscErrorCode DetectorDestroy(Detector *detector);
/* Reads -contact_points */
PETSC_EXTERN PetscErrorCode DetectorSetFromOptions(Detector detector);
PETSC_EXTERN PetscErrorCode DetectorSetPoints(Detector detector, ContactPoints points);
/* Overlaps at first that are too deep for any contact are passed over, not refused. The same on all ranks. */
PETSC_EXTERN PetscErrorCode DetectorSetPassDeep(Detector detector, PetscBool pass);
/* On more than one rank: which part this is the surface of, a number that all ranks have for it, and its mesh, which goes to ranks that meet a
   body of the part but have none. The mesh must outlive the detector. */
PETSC_EXTERN PetscErrorCode DetectorSetPart(Detector detector, Surface surface, PetscInt number, Mesh mesh);
/* Pairs for which fn is false (ida < idb) never touch; NULL: all do. The same on all ranks; asked when lists are made, so call
   DetectorRebuild() after a change of what it says. */
PETSC_EXTERN PetscErrorCode DetectorSetFilter(Detector detector, PetscBool (*fn)(void *ctx, PetscInt ida, PetscInt idb), void *ctx);
/* Names of bodies, on any rank, for messages; without: their ids */
PETSC_EXTERN PetscErrorCode DetectorSetNames(Detector detector, PetscErrorCode (*fn)(void *ctx, PetscInt id, char name[], size_t length), void *ctx);
/* Bodies of this rank come by ascending id. The surface is shared and must outlive the detector. Positions are counted from the origin, so that far
   away costs no digits. Bodies are numbered from 0 on. */
PETSC_EXTERN PetscErrorCode DetectorAddBody(Detector detector, PetscInt id, Surface surface, DetectKind kind, const PetscReal origin[3], PetscInt *body);
/* Positions (from the origin) and velocities of surface nodes, nnode x 3, to be filled before every update of a body that moves. Valid until
   the next DetectorAddBody(). */
PETSC_EXTERN PetscErrorCode DetectorGetNodes(Detector detector, PetscInt body, PetscReal **x, PetscReal **v);
/* Fills them: x = at + rotation (X - centre), v = velocity + spin x (x - at), with X the reference coordinates of the surface */
PETSC_EXTERN PetscErrorCode DetectorSetPlacement(Detector detector, PetscInt body, const PetscReal rotation[9], const PetscReal centre[3], const PetscReal at[3], const PetscReal velocity[3], const PetscReal spin[3]);
/* Collective. Contacts that a step of length h may meet, ascending by key; the array is the detector's and valid until the next update. A
   rank gets those of two of its bodies; those with another's bodies belong to the rank of the lower id if the sum of ids is even,
   else to that of the higher one. Refuses (PETSC_ERR_USER_INPUT, on all ranks) bodies that at first overlap by more than any
   contact may. */
PETSC_EXTERN PetscErrorCode DetectorUpdate(Detector detector, PetscReal h, PetscInt *n, const Contact **contact);
/* On all ranks: drops lists and depths of the last step: the next update is like the first one, which takes any overlap for an initial one
   (down to half a thickness and two edges of the mesh; deeper ones are refused). */
PETSC_EXTERN PetscErrorCode DetectorForget(Detector detector);
/* How deep pairs of bodies were at the last update, which bounds how deep they may be at the next: all that a checkpoint needs. Only those of
   this rank that are deep at all. Free a, b, depth. -1: no update yet */
PETSC_EXTERN PetscErrorCode DetectorGetDepths(Detector detector, PetscInt *n, PetscInt **a, PetscInt **b, PetscReal **depth);
/* On all ranks, once all bodies are there: the next update gives what it would give after the one that these depths are of. In any order; those
   of pairs that are other ranks' are passed over, so each rank may give those of all. n < 0: as DetectorForget() */
PETSC_EXTERN PetscErrorCode DetectorSetDepths(Detector detector, PetscInt n, const PetscInt a[], const PetscInt b[], const PetscReal depth[]);
/* Contacts (ascending keys, those of this rank) that carried force at the last step, until called again: where two ways out of an overlap
   compete, theirs counts with half its depth, so that a contact at work does not change sides. */
PETSC_EXTERN PetscErrorCode DetectorSetForce(Detector detector, PetscInt n, const ContactKey key[]);
/* On any rank: all lists are made anew at the next update, which gives the same contacts. */
PETSC_EXTERN PetscErrorCode DetectorRebuild(Detector detector);
PETSC_EXTERN PetscErrorCode DetectorGetReport(Detector detector, DetectReport *report);
PETSC_EXTERN PetscErrorCode DetectorView(Detector detector, PetscViewer viewer);

/* -1, 0, 1 as a is before, like or after b */
PETSC_EXTERN int ContactKeyCompare(const ContactKey *a, const ContactKey *b);
