/* What the files of Detector share. */
#pragma once
#include "constraints/detect.h"
#include "constraints/grow.h"
#include "physics/rotation.h"

#define DETECT_EPS    1e-4  /* slack at convex edges, in units of the shortest edge of a facet */
#define DETECT_OUTSIDE 10   /* eps that a point at some depth may be outside a facet at its edge */
#define DETECT_FLAT   1e-7  /* slack at lines of the mesh */
#define DETECT_MARGIN 1e-5  /* margin without motion */
#define DETECT_SMALL  8     /* facets of a part that needs no tree */
#define DETECT_TILT   0.035 /* sin 2 degrees: facets and edges closer than this are parallel */
#define DETECT_CROSS  2e-3  /* least sine between edges that have a normal of their own */

/* What follows from a Surface; shared by its bodies */
typedef struct {
  Surface    surface;
  PetscInt   number;        /* the same on all ranks; -1: none was given */
  Mesh       mesh;          /* NULL if none was given */
  PetscBool  made;          /* mesh and surface came from another rank and are the detector's */
  PetscInt  *end;           /* nedge: bit h: the curve goes on beyond node[h] */
  PetscInt  *whole;         /* nedge x 2: ends of a straight curve, of the edge where it bends */
  PetscReal *tau;           /* nnode: least thickness of the facets around a node */
  PetscReal *edge_ell, *edge_tau; /* nedge: the lesser of the facets at an edge */
  PetscReal *patch_area;
  PetscReal *along;         /* nfacet x 2: the patch's direction by the facet's first and last edge, both from node 0 */
  PetscReal  max_ell, max_tau, mean_area;
  PetscReal  middle[3], half[3]; /* box of the reference shape */
  PetscReal  radius;             /* of the ball about its middle that holds all nodes */
  PetscBool  simple;             /* few facets and no concave edge */
} DetectPart;

/* Mean normal of a facet, and its bilinear term along that (0 for what is plane to round-off), made when somebody asks */
typedef struct {
  PetscReal n[3], warp;
  PetscInt  update; /* that it is of */
} DetectFacetNow;

/* x = at + R (X - centre), v = velocity + spin x (x - at) */
typedef struct {
  PetscReal R[9], centre[3], at[3], velocity[3], spin[3];
} DetectPlacement;

/* Where a placement had the middle of the reference shape, and how it was turned */
typedef struct {
  PetscReal middle[3], R[9];
} DetectFrom;

typedef struct {
  PetscInt   id, part, kind;
  PetscMPIInt rank;              /* that it belongs to */
  PetscBool  ghost;              /* another one's */
  PetscInt   first;              /* its nodes begin here in x, v, xref (gx) */
  PetscInt   tree;               /* its boxes of facets begin here in treebox (gtreebox) */
  PetscInt   facet;              /* its facets begin here in now (gnow) */
  PetscReal  origin[3];
  PetscReal  low[3], high[3];    /* box now */
  PetscReal  centre[3], velocity[3], spin[3], deform; /* twist and the largest speed besides it */
  PetscReal  speed;              /* bound of nodal speeds */
  PetscReal  moved;              /* bound of how far nodes went since xref; of a ghost: at the last rebuild */
  PetscReal  skin, reach;        /* lists hold while moved + 8 h speed + slack <= reach, of which `skin` for motion */
  PetscReal  fat[6];             /* box when lists were made, grown by reach, in the model's frame */
  PetscBool  stale;
  PetscBool  placed;             /* by a placement, not by nodes */
  PetscBool  sent;               /* placed when lists were made: what goes to other ranks, and what it moves from */
} DetectBodyData;

/* What another rank needs to know of a body whose fat box meets its own */
typedef struct {
  PetscReal fat[6], origin[3], skin, reach, moved;
  PetscInt  rank, id, kind, part, nnode, nelem, stale, placed; /* part: number; nodes and elements of its mesh */
} DetectRecord;

/* What is told of all ranks together after an update; of real numbers only */
typedef struct {
  PetscReal nbody, npair, ncandidate, ncontact, nrefresh, noverlap;
  PetscReal deepest, deepest_body[2], deepest_at[3];
  PetscReal tunnel, tunnel_body[2];
  PetscReal hidden, hidden_body[2], hidden_at[3]; /* an overlap beyond all limits */
} DetectSummary;

/* Two bodies whose fat boxes meet, id[0] < id[1] */
typedef struct {
  PetscInt  body[2], id[2];
  PetscInt  first, n;  /* candidates; first -1: no list yet, it is made when their boxes come close */
  PetscReal deep;      /* depth at the last update */
  PetscReal listed;    /* depth that the list allows for */
  PetscInt  apart;     /* facet (of A, after them of B) that parted the bodies most when last looked at */
  PetscBool close;     /* it did so too little */
} DetectPair;

typedef struct {
  PetscInt kind, i, j; /* feature of A, feature of B: node, facet or edge */
} DetectCandidate;

/* A contact on its way through the filters */
typedef struct {
  ContactKey key;
  PetscInt   feature[2], facet[2];
  PetscReal  n[3], gap, eps;
  PetscReal  x[2][3];   /* in the frame of A's origin */
  PetscReal  s[2];      /* edges: place along the edge from node[0], 0 to 1 */
  PetscReal  depth;     /* limit D */
  PetscReal  inside;    /* how far from the nearest edge of the facet */
  PetscInt   patch[2];  /* of the facets */
  PetscReal  area;
  PetscReal  uv[2];     /* scratch of filters */
  PetscBool  force;     /* it carried some at the last step */
  PetscBool  drop, weak; /* weak: edges almost parallel, or their very ends; counts only if nothing else touches */
} DetectHit;

/* One body of a pair at work */
typedef struct {
  const DetectPart     *part;
  const DetectBodyData *body;
  const PetscReal      *x;
  PetscReal             shift[3]; /* to A's origin */
  DetectFacetNow       *now;
  PetscInt              update;
} DetectSide;

typedef struct {
  DetectSide side[2];
  PetscReal  hv;    /* h v_rel */
  PetscReal  h;
  PetscReal  deep;  /* depth of the last update; PETSC_INFINITY at the first */
  PetscBool  rigid; /* both are */
} DetectWork;

struct _p_Detector {
  MPI_Comm        comm;
  PetscMPIInt     rank, size, tag;
  MPI_Op          op;         /* of summaries, on more than one rank */
  MPI_Datatype    type;
  ContactPoints   points;
  PetscBool     (*filter)(void *, PetscInt, PetscInt);
  void           *filter_ctx;
  PetscErrorCode (*name)(void *, PetscInt, char[], size_t);
  void           *name_ctx;
  PetscBool       pass;       /* over overlaps that are too deep */
  PetscBool       first;      /* no update yet: any overlap is initial */
  PetscInt        npart, mpart, nown, nbody, mbody; /* own bodies come first, then ghosts, both by id */
  DetectPart     *part;
  DetectBodyData *body;
  DetectPlacement *place;       /* now, of bodies that have one */
  DetectFrom      *ref;         /* when lists were made, of own ones */
  PetscInt        nnode, mnode, ntree, mtree, mgnode, mgtree;
  PetscReal      *x, *v, *xref, *treebox, *gx, *gtreebox;
  PetscInt        nfacet, mfacet, mgfacet;
  DetectFacetNow *now, *gnow;
  PetscInt        morder_body, *byid, *place_of; /* bodies by id, and where in that order each is */
  /* tree over bodies in preorder, like that of Surface */
  PetscInt        nbtree, mbtree, *border;
  SurfaceTreeNode *btree;
  PetscReal      *btreebox;
  PetscInt        treebodies, treemade; /* bodies in it, and nrefresh when it was made */
  /* pairs and candidates, now and before */
  PetscInt         npair, mpair, nold, mold, ncand, mcand, moldcand;
  DetectPair      *pair, *old;
  DetectCandidate *cand, *oldcand;
  PetscInt         nfound, mfound, *found;
  PetscInt         nasked, masked, *asked, mhigher, *higher, *start; /* pairs of places in the order of ids; the higher ones by the lower; where those begin */
  /* contacts of a pair, and of all */
  PetscInt    nhit, mhit, morder, *order, *scratch;
  DetectHit  *hit;
  PetscInt    ncontact, mcontact;
  Contact    *contact;
  PetscInt    nforce, mforce;
  ContactKey *force; /* ascending: contacts that carried force */
  PetscBool   fresh; /* every list is to be made anew */
  /* bodies that go to and come from other ranks, until the next rebuild: of neighbour k, bodies ptr[k] .. ptr[k + 1] - 1 */
  DetectRecord *record;  /* of ghosts, while lists are made */
  PetscInt     nsend, nrecv, *sendptr, *sendbody, *recvptr, *recvbody;
  PetscReal   *sendbuf, *recvbuf;
  MPI_Request *request; /* nrecv + nsend persistent ones */
  PetscInt      nrefresh;
  DetectSummary summary;
  DetectReport  report;
};


/* detect.c */
PETSC_INTERN PetscErrorCode DetectPartSetUp_Private(DetectPart *part, Surface surface);
PETSC_INTERN void           DetectPlace_Private(Detector d, PetscInt body);  /* nodes of a placement */
PETSC_INTERN void           DetectMotion_Private(Detector d, PetscInt body); /* box, twist and speed of a placement */
PETSC_INTERN void           DetectStart_Private(Detector d, PetscInt body);  /* from now on counts how far it went */
/* The same for a body of either kind, and how far it went. False: some number is not finite */
PETSC_INTERN PetscBool      DetectMove_Private(Detector d, PetscInt body);
/* detect_ranks.c: the summary of all ranks; lowest number of all; bodies of other ranks near own ones come after own ones; those that are
   used stay, with their parts; what moves of them, at every update */
PETSC_INTERN PetscErrorCode DetectorRanksCreate_Private(Detector d);
PETSC_INTERN PetscErrorCode DetectorRanksDestroy_Private(Detector d);
PETSC_INTERN PetscErrorCode DetectorRanksReduce_Private(Detector d);
PETSC_INTERN PetscErrorCode DetectorRanksFind_Private(Detector d);
PETSC_INTERN PetscErrorCode DetectorRanksSubscribe_Private(Detector d);
PETSC_INTERN PetscErrorCode DetectorRanksExchange_Private(Detector d);
/* detect_lists.c; before: marks bodies whose lists no longer hold what may touch */
PETSC_INTERN PetscReal      DetectUsed_Private(const DetectBodyData *b, const DetectPart *part, PetscReal h);
/* Tree over the first n bodies; on one rank made anew only when they have moved, else its boxes are */
PETSC_INTERN PetscErrorCode DetectorTree_Private(Detector d, PetscInt n);
PETSC_INTERN PetscErrorCode DetectorList_Private(Detector d, DetectPair *pair);
PETSC_INTERN PetscErrorCode DetectorRebuild_Private(Detector d, PetscReal h);
/* detect_predicates.c */
PETSC_INTERN PetscErrorCode DetectorTest_Private(Detector d, const DetectWork *w, PetscInt n, const DetectCandidate c[]);
PETSC_INTERN PetscBool      DetectStays_Private(const DetectWork *w, const DetectHit *hit, const PetscReal move[3]);
/* detect.c: how far a plane along a facet parts simple bodies, below 0 if none does; -infinity: others */
PETSC_INTERN PetscReal      DetectParted_Private(const DetectWork *w);
/* detect_filters.c */
PETSC_INTERN PetscErrorCode DetectorFilter_Private(Detector d, const DetectWork *w);
PETSC_INTERN void           DetectSort_Private(PetscInt n, PetscInt list[], int (*before)(const DetectHit *, const DetectHit *), const DetectHit hit[]);
/* detect_overlap.c: is a point of one body deeper in the other than any contact of it could be, or in it at all where nothing touches (the far side of a
   body sees what is deep in it, but does not hold it)? `at` in the frame of A's origin */
PETSC_INTERN PetscBool DetectHidden_Private(Detector d, const DetectWork *w, PetscBool touching, PetscReal at[3]);
/* detect_rows.c */
PETSC_INTERN PetscErrorCode DetectorGroup_Private(Detector d, const DetectWork *w);
PETSC_INTERN PetscErrorCode DetectorRow_Private(const DetectWork *w, const DetectHit *hit, Contact *c);

/* Depth limit of features with thicknesses t, u: deeper ones belong to the other side of something thin, or are no contact at all. `deep`: that
   of the pair so far and what the motion adds; infinite at first, when two edges of the mesh bound it, lest all facets of bodies that
   overlap be candidates. */
static inline PetscReal DetectDepth_Private(PetscReal t, PetscReal u, PetscReal deep, PetscReal ell)
{
  return PetscMin(0.5 * PetscMin(t, u), deep < PETSC_INFINITY ? deep : 2 * ell);
}

static inline PetscReal *DetectNodes_Private(Detector d, const DetectBodyData *b)
{
  return (b->ghost ? d->gx : d->x) + 3 * b->first;
}

static inline DetectFacetNow *DetectNow_Private(Detector d, const DetectBodyData *b)
{
  return (b->ghost ? d->gnow : d->now) + b->facet;
}

static inline PetscReal *DetectBoxes_Private(Detector d, const DetectBodyData *b)
{
  return (b->ghost ? d->gtreebox : d->treebox) + 6 * b->tree;
}

static inline PetscBool DetectApart_Private(const PetscReal a[6], const PetscReal b[6])
{
  return (PetscBool)(a[0] > b[3] || a[1] > b[4] || a[2] > b[5] || b[0] > a[3] || b[1] > a[4] || b[2] > a[5]);
}

static inline void DetectNode_Private(const DetectSide *s, PetscInt v, PetscReal x[3])
{
  for (PetscInt d = 0; d < 3; d++) x[d] = s->x[3 * v + d] + s->shift[d];
}

static inline void DetectSubtract_Private(const PetscReal a[3], const PetscReal b[3], PetscReal c[3])
{
  for (PetscInt d = 0; d < 3; d++) c[d] = a[d] - b[d];
}

static inline PetscReal DetectNormalize_Private(PetscReal a[3])
{
  const PetscReal l = Vec3Norm(a);

  if (l > 0)
    for (PetscInt d = 0; d < 3; d++) a[d] /= l;
  return l;
}

/* Mean unit normal of a facet now, and its warp. A neighbour asks for the same again and again, and most facets are far from all. */
static inline const DetectFacetNow *DetectFacet_Private(const DetectSide *s, PetscInt f)
{
  DetectFacetNow *now = &s->now[f];

  if (now->update != s->update) {
    const SurfaceFacet *facet = &s->part->surface->facet[f];
    const PetscReal    *y[4] = {s->x + 3 * facet->node[0], s->x + 3 * facet->node[1], s->x + 3 * facet->node[2], s->x + 3 * facet->node[3]};
    PetscReal           p[3], q[3], warp = 0;

    DetectSubtract_Private(y[2], y[0], p);
    DetectSubtract_Private(y[3], y[1], q);
    Vec3Cross(p, q, now->n);
    (void)DetectNormalize_Private(now->n);
    for (PetscInt k = 0; k < 3 && facet->nnode == 4; k++) warp += now->n[k] * ((y[0][k] - y[1][k]) + (y[2][k] - y[3][k]));
    warp        = PetscAbsReal(0.25 * warp);
    now->warp   = warp < 1e-9 * facet->ell ? 0 : warp;
    now->update = s->update;
  }
  return now;
}

static inline void DetectNormal_Private(const DetectSide *s, PetscInt f, PetscReal n[3])
{
  const DetectFacetNow *now = DetectFacet_Private(s, f);

  for (PetscInt d = 0; d < 3; d++) n[d] = now->n[d];
}
