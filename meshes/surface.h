/* Surface: boundary of a Mesh as contact sees it: facets, edges, patches, curves and a tree. Made once per Part in the reference
   configuration, shared by all its bodies. Nodes are numbered within the surface, node[] leads back to the mesh. All thresholds
   are angles or relative to lengths of the mesh: a scaled mesh has the same features. */
#pragma once
#include "meshes/mesh.h"

typedef struct _p_Surface *Surface;

/* Two facets with normals closer than this are one smooth surface, two edges closer than this one line: 2 degrees, less a
   thousandth, so that a regular polygon of 180 sides is a polygon whatever its round-off. */
#define SURFACE_ANGLE (2 * 0.999 * PETSC_PI / 180)

typedef enum { SURFACE_EDGE_FLAT, SURFACE_EDGE_CONVEX, SURFACE_EDGE_CONCAVE } SurfaceEdgeKind;

typedef struct {
  PetscInt  nnode;         /* 4, or 3 for each half of a warped quadrilateral */
  PetscInt  node[4];       /* surface nodes, counter-clockwise seen from outside; a triangle repeats its last */
  PetscInt  edge[4];       /* edge i joins nodes i and i + 1; -1 after the last of a triangle */
  PetscInt  elem, side;    /* parent, element counted through all blocks, side in Exodus order, both from 0 */
  PetscInt  corner[4];     /* node i is corner MeshHex8Side[side][corner[i]] of the parent */
  PetscInt  patch;
  PetscInt  owned_nodes;   /* bit i: node i belongs to this facet */
  PetscInt  owned_edges;   /* bit i: edge i is convex and belongs to this facet */
  PetscReal normal[3];     /* outward, mean of a quadrilateral */
  PetscReal area;          /* length of the area vector */
  PetscReal ell;           /* shortest edge */
  PetscReal tau;           /* thickness: from the centre along -normal to the far side */
} SurfaceFacet;

typedef struct {
  PetscInt        node[2];  /* node[0] < node[1] */
  PetscInt        facet[2]; /* the first runs through the edge from node[0] to node[1], the other one back */
  SurfaceEdgeKind kind;
  PetscReal       angle;    /* between the normals, above zero where convex */
  PetscInt        curve;    /* -1 unless convex */
  PetscInt        owner;    /* facet it belongs to; -1 unless convex */
} SurfaceEdge;

/* Patch: facets joined through flat edges. Curve: convex edges joined end to end where they are collinear. Both may bend bit by
   bit on finely meshed round shapes; `spread` says how far, so test it before taking a patch as plane or a curve as straight. */
typedef struct {
  PetscInt  n;         /* facets, edges */
  PetscReal normal[3]; /* patch: mean; curve: mean of the normals on both sides */
  PetscReal dir[3];    /* material direction, unit; of a patch normal to its mean normal, of a curve along it */
  PetscReal spread;    /* largest angle between a facet's normal and `normal` (patch), an edge and `dir` (curve) */
} SurfacePatch, SurfaceCurve;

/* Nodes of the tree in preorder: the left child of i is i + 1, so children come after their parent. */
typedef struct {
  PetscInt first, count; /* facets below: tree_facet[first .. first + count - 1] */
  PetscInt right;        /* right child; 0 for a leaf, which has one or two facets */
} SurfaceTreeNode;

struct _p_Surface {
  PetscInt      nnode, nfacet, nedge, npatch, ncurve;
  PetscInt      nmeshnode;   /* nodes of the mesh */
  PetscInt     *node;        /* nnode: node of the mesh, ascending */
  PetscInt     *local;       /* nmeshnode: surface node of a mesh node, -1 inside */
  PetscReal    *coord;       /* nnode x 3: reference coordinates */
  SurfaceFacet *facet;       /* by element, side */
  SurfaceEdge  *edge;        /* by node[0], node[1] */
  SurfacePatch *patch;
  SurfaceCurve *curve;
  PetscReal     size;        /* diagonal of the bounding box */
  PetscReal     least_ell, least_tau;
  /* around node v: entries ring_ptr[v] .. ring_ptr[v + 1] - 1 of ring_node and ring_edge (to that node), likewise facets */
  PetscInt     *ring_ptr, *ring_node, *ring_edge, *ring_facet_ptr, *ring_facet;
  PetscInt     *node_owner;  /* nnode: facet a node belongs to */
  PetscInt     *node_nconvex; /* nnode: convex edges at a node; 0 inside patches */
  /* patches that meet patch p at a convex edge: meet[meet_ptr[p] .. meet_ptr[p + 1] - 1], ascending, both ways */
  PetscInt     *meet_ptr, *meet;
  PetscInt      ntree, tree_depth;
  SurfaceTreeNode *tree;
  PetscReal    *tree_box;    /* ntree x 6: low, high corner in the part's frame */
  PetscInt     *tree_facet;  /* nfacet: order of facets in the tree */
  PetscReal     leaf_size;   /* median diagonal of the boxes of leaves */
};

/* Refuses (PETSC_ERR_USER_INPUT) meshes with an edge of other than two facets, other elements than hex8, faces shared by three. */
PETSC_EXTERN PetscErrorCode SurfaceCreate(Mesh mesh, Surface *surface);
PETSC_EXTERN PetscErrorCode SurfaceDestroy(Surface *surface);
PETSC_EXTERN PetscErrorCode SurfaceView(Surface surface, PetscViewer viewer);
PETSC_EXTERN PetscErrorCode SurfacePatchesMeet(Surface surface, PetscInt p, PetscInt q, PetscBool *meet);

/* For bodies that left their reference shape; x: nnode x 3 in any frame. Kinds of edges now; boxes of the tree now (ntree x 6). */
PETSC_EXTERN PetscErrorCode SurfaceClassifyEdges(Surface surface, const PetscReal x[], SurfaceEdgeKind kind[]);
PETSC_EXTERN PetscErrorCode SurfaceTreeRefit(Surface surface, const PetscReal x[], PetscReal box[]);
/* Facets whose boxes touch a box, in the order of the tree; list has room for nfacet. */
PETSC_EXTERN PetscErrorCode SurfaceTreeQuery(Surface surface, const PetscReal low[3], const PetscReal high[3], PetscInt *n, PetscInt list[]);
/* First facet (but `skip`) through which a ray leaves the body: distance in units of dir; facet -1, PETSC_INFINITY if none. */
PETSC_EXTERN PetscErrorCode SurfaceTreeRay(Surface surface, const PetscReal origin[3], const PetscReal dir[3], PetscInt skip, PetscInt *facet, PetscReal *t);
