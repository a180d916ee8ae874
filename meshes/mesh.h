/* Mesh: nodes, element blocks, node and side sets; generators and files that make one. Plain serial data, one per Part. */
#pragma once
#include <petscsys.h>

typedef struct _p_Mesh *Mesh;

typedef struct {
  char     *name;
  char      type[16];      /* element type as physics/element.h names it: "hex8" */
  PetscInt  nelem, nnode;  /* elements, nodes per element */
  PetscInt *conn;          /* nelem x nnode, from 0; Exodus (= VTK) corner order */
} MeshBlock;

typedef struct {
  char     *name;
  PetscInt  n;
  PetscInt *node;
} MeshNodeSet;

typedef struct {
  char     *name;
  PetscInt  n;
  PetscInt *elem, *side;   /* element counted through all blocks, side in Exodus order, both from 0 */
} MeshSideSet;

struct _p_Mesh {
  PetscInt     nnode, nelem;    /* nodes, elements of all blocks together */
  PetscReal   *coord;           /* nnode x 3 */
  PetscInt     nblock, nnodeset, nsideset;
  MeshBlock   *block;
  MeshNodeSet *nodeset;
  MeshSideSet *sideset;
};

/* Corners of side s of a hex8 in Exodus order, counter-clockwise seen from outside: y-, x+, y+, x-, z-, z+ of a box. */
PETSC_EXTERN const PetscInt MeshHex8Side[6][4];

PETSC_EXTERN PetscErrorCode MeshCreate(Mesh *mesh);
PETSC_EXTERN PetscErrorCode MeshDestroy(Mesh *mesh);
/* Errors with one clear line (PETSC_ERR_USER_INPUT): indices out of range, unused nodes, inverted or flat elements, NaN. The line begins
   with `where`: "part 'pipe'". */
PETSC_EXTERN PetscErrorCode MeshCheck(Mesh mesh, const char where[]);
PETSC_EXTERN PetscErrorCode MeshView(Mesh mesh, PetscViewer viewer);
/* The set of this very name, or NULL; of an Exodus file, a set without a name is found by its number, too ("7"). */
PETSC_EXTERN PetscErrorCode MeshFindNodeSet(Mesh mesh, const char name[], const MeshNodeSet **set);
PETSC_EXTERN PetscErrorCode MeshFindSideSet(Mesh mesh, const char name[], const MeshSideSet **set);

/* A way to make a mesh. The caller reads the parameters (as real numbers, then as strings) in the order of the table. */
typedef enum { MESH_PARAM_REAL, MESH_PARAM_INT, MESH_PARAM_BOOL, MESH_PARAM_STRING } MeshParamKind; /* BOOL: 0 or 1, "true" or "false" by default */
typedef struct {
  const char   *name;
  MeshParamKind kind;
  PetscInt      count;
  const char   *def;   /* default as text, "0.1" or "1,1,1"; NULL: must be given */
  const char   *help;
} MeshParam;
typedef struct {
  const char      *type;  /* mesh: {type: ...} */
  const char      *help;
  PetscInt         nparam;
  const MeshParam *param;
  PetscErrorCode (*create)(const PetscReal reals[], const char *const strings[], Mesh *mesh);
} MeshGenerator;
/* NULL-terminated list of all generators: one line per generator in meshes/generators.c */
PETSC_EXTERN const MeshGenerator *const MeshGenerators[];

/* box: centred at the origin; pipe: axis along x, centred; cells along, around, through. Their sides are node sets and side sets: x_min, x_max, y_min,
   y_max, z_min, z_max of a box; x_min, x_max, inner, outer of a pipe. */
PETSC_EXTERN PetscErrorCode MeshCreateBox(const PetscReal size[3], const PetscInt cells[3], Mesh *mesh);
PETSC_EXTERN PetscErrorCode MeshCreatePipe(PetscReal inner_radius, PetscReal thickness, PetscReal length, const PetscInt cells[3], Mesh *mesh);
/* A block of a circular arch about y: `angle` degrees of it, halved by the plane x = 0. The origin is the point of the circle of `radius` in that
   plane, thickness being half inside and half outside of it; the circle's centre is at z = -radius. Cells along the arc, the depth (y), the radius.
   flat: straight between its two joint faces, so that n blocks make a polygon; else inner and outer faces follow the circle by cells.
   Sets: start and end (joint faces, to -x and to x), y_min, y_max, inner, outer. */
PETSC_EXTERN PetscErrorCode MeshCreateVoussoir(PetscReal radius, PetscReal thickness, PetscReal depth, PetscReal angle, const PetscInt cells[3], PetscBool flat, Mesh *mesh);
PETSC_EXTERN PetscErrorCode MeshReadExodus(const char file[], Mesh *mesh);
PETSC_EXTERN PetscErrorCode MeshWriteExodus(Mesh mesh, const char file[]);
