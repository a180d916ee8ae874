/* Generated meshes: a grid of hexahedra, straight (box), bent (voussoir) or closed to a ring (pipe), and meshes read from a file. */
#include "mesh.h"

typedef struct {
  PetscInt  cells[3], nodes[3]; /* along i, j, k */
  PetscBool ring;               /* j closes on itself */
} Grid;

static PetscInt GridNode_Private(const Grid *g, PetscInt i, PetscInt j, PetscInt k)
{
  return (k * g->nodes[1] + j % g->nodes[1]) * g->nodes[0] + i;
}
static PetscInt GridElement_Private(const Grid *g, PetscInt i, PetscInt j, PetscInt k)
{
  return (k * g->cells[1] + j) * g->cells[0] + i;
}

/* One end of direction d (0 low, 1 high) as node and side sets. Exodus sides: 0 j-, 1 i+, 2 j+, 3 i-, 4 k-, 5 k+ */
static PetscErrorCode GridAddSide_Private(const Grid *g, PetscInt d, PetscInt end, const char name[], Mesh mesh)
{
  static const PetscInt side[3][2] = {{3, 1}, {0, 2}, {4, 5}};
  const PetscInt        p = d == 0 ? 1 : 0, q = d == 2 ? 1 : 2; /* the other directions */
  MeshNodeSet          *ns = &mesh->nodeset[mesh->nnodeset++];
  MeshSideSet          *ss = &mesh->sideset[mesh->nsideset++];
  PetscInt              at[3];

  PetscFunctionBeginUser;
  PetscCall(PetscStrallocpy(name, &ns->name));
  PetscCall(PetscStrallocpy(name, &ss->name));
  ns->n = g->nodes[p] * g->nodes[q];
  ss->n = g->cells[p] * g->cells[q];
  PetscCall(PetscMalloc1(ns->n, &ns->node));
  PetscCall(PetscMalloc1(ss->n, &ss->elem));
  PetscCall(PetscMalloc1(ss->n, &ss->side));
  at[d] = end ? g->nodes[d] - 1 : 0;
  for (PetscInt b = 0, n = 0; b < g->nodes[q]; b++)
    for (PetscInt a = 0; a < g->nodes[p]; a++) {
      at[p]         = a;
      at[q]         = b;
      ns->node[n++] = GridNode_Private(g, at[0], at[1], at[2]);
    }
  at[d] = end ? g->cells[d] - 1 : 0;
  for (PetscInt b = 0, n = 0; b < g->cells[q]; b++)
    for (PetscInt a = 0; a < g->cells[p]; a++) {
      at[p]         = a;
      at[q]         = b;
      ss->elem[n]   = GridElement_Private(g, at[0], at[1], at[2]);
      ss->side[n++] = side[d][end];
    }
  PetscFunctionReturn(0);
}

static PetscErrorCode GridCreate_Private(const char name[], const PetscInt cells[3], PetscBool ring, Grid *g, Mesh *mesh)
{
  Mesh      m;
  PetscInt *c;
  PetscReal nodes = 1;

  PetscFunctionBeginUser;
  g->ring = ring;
  for (PetscInt d = 0; d < 3; d++) {
    PetscCheck(cells[d] >= 1, PETSC_COMM_SELF, PETSC_ERR_USER_INPUT, "%s: %" PetscInt_FMT " cells in direction %" PetscInt_FMT "; give 1 or more", name, cells[d], d + 1);
    nodes *= (PetscReal)cells[d] + 1;
  }
  PetscCheck(nodes * 3 < PETSC_MAX_INT / 8., PETSC_COMM_SELF, PETSC_ERR_USER_INPUT, "%s: too many cells for one body", name);
  for (PetscInt d = 0; d < 3; d++) {
    g->cells[d] = cells[d];
    g->nodes[d] = cells[d] + (ring && d == 1 ? 0 : 1);
  }
  PetscCall(MeshCreate(&m));
  *mesh    = m;
  m->nnode = g->nodes[0] * g->nodes[1] * g->nodes[2];
  m->nelem = cells[0] * cells[1] * cells[2];
  PetscCall(PetscMalloc1(3 * m->nnode, &m->coord));
  PetscCall(PetscCalloc1(1, &m->block));
  m->nblock = 1;
  PetscCall(PetscStrallocpy(name, &m->block->name));
  PetscCall(PetscStrncpy(m->block->type, "hex8", sizeof(m->block->type)));
  m->block->nelem = m->nelem;
  m->block->nnode = 8;
  PetscCall(PetscMalloc1(8 * m->nelem, &m->block->conn));
  c = m->block->conn;
  for (PetscInt k = 0; k < cells[2]; k++)
    for (PetscInt j = 0; j < cells[1]; j++)
      for (PetscInt i = 0; i < cells[0]; i++, c += 8)
        for (PetscInt s = 0; s < 2; s++) {
          c[4 * s]     = GridNode_Private(g, i, j, k + s);
          c[4 * s + 1] = GridNode_Private(g, i + 1, j, k + s);
          c[4 * s + 2] = GridNode_Private(g, i + 1, j + 1, k + s);
          c[4 * s + 3] = GridNode_Private(g, i, j + 1, k + s);
        }
  PetscCall(PetscCalloc1(6, &m->nodeset));
  PetscCall(PetscCalloc1(6, &m->sideset));
  PetscFunctionReturn(0);
}

PetscErrorCode MeshCreateBox(const PetscReal size[3], const PetscInt cells[3], Mesh *mesh)
{
  static const char *const names[3][2] = {{"x_min", "x_max"}, {"y_min", "y_max"}, {"z_min", "z_max"}};
  Grid                     g;

  PetscFunctionBeginUser;
  for (PetscInt d = 0; d < 3; d++) {
    PetscCheck(size[d] > 0, PETSC_COMM_SELF, PETSC_ERR_USER_INPUT, "box: size %g along %c is not above zero", (double)size[d], "xyz"[d]);
    PetscCheck(!PetscIsInfReal(size[d]), PETSC_COMM_SELF, PETSC_ERR_USER_INPUT, "box: size %g along %c is not finite", (double)size[d], "xyz"[d]);
  }
  PetscCall(GridCreate_Private("box", cells, PETSC_FALSE, &g, mesh));
  for (PetscInt k = 0; k < g.nodes[2]; k++)
    for (PetscInt j = 0; j < g.nodes[1]; j++)
      for (PetscInt i = 0; i < g.nodes[0]; i++) {
        const PetscInt at[3] = {i, j, k};
        PetscReal     *x     = (*mesh)->coord + 3 * GridNode_Private(&g, i, j, k);

        for (PetscInt d = 0; d < 3; d++) x[d] = size[d] * (2 * at[d] - cells[d]) / (2 * cells[d]); /* exactly symmetric about the origin */
      }
  for (PetscInt d = 0; d < 3; d++)
    for (PetscInt end = 0; end < 2; end++) PetscCall(GridAddSide_Private(&g, d, end, names[d][end], *mesh));
  PetscFunctionReturn(0);
}

/* Sine and cosine of j / n of a turn, from an angle of at most an eighth: exactly symmetric, and 0 and 1 where they should be */
static void Turn_Private(PetscInt j, PetscInt n, PetscReal *sine, PetscReal *cosine)
{
  const PetscInt64 four = 4 * (PetscInt64)j, quarter = four / n, rest = four % n;
  const PetscBool  upper = 2 * rest > n ? PETSC_TRUE : PETSC_FALSE;
  const PetscReal  angle = 0.5 * PETSC_PI * (upper ? n - rest : rest) / n;
  const PetscReal  c = 2 * rest == n ? PetscSqrtReal(0.5) : PetscCosReal(angle), s = 2 * rest == n ? c : PetscSinReal(angle);
  const PetscReal  sc[2] = {upper ? c : s, upper ? s : c}; /* within the quarter */

  *sine   = (quarter & 2 ? -1 : 1) * sc[quarter & 1];
  *cosine = (quarter == 1 || quarter == 2 ? -1 : 1) * sc[1 - (quarter & 1)];
}

PetscErrorCode MeshCreatePipe(PetscReal inner_radius, PetscReal thickness, PetscReal length, const PetscInt cells[3], Mesh *mesh)
{
  static const char *const names[3][2] = {{"x_min", "x_max"}, {NULL, NULL}, {"inner", "outer"}}, *const lengths[3] = {"inner_radius", "thickness", "length"};
  const PetscReal          given[3] = {inner_radius, thickness, length};
  Grid                     g;

  PetscFunctionBeginUser;
  for (PetscInt i = 0; i < 3; i++) {
    PetscCheck(given[i] > 0, PETSC_COMM_SELF, PETSC_ERR_USER_INPUT, "pipe: %s %g is not above zero", lengths[i], (double)given[i]);
    PetscCheck(!PetscIsInfReal(given[i]), PETSC_COMM_SELF, PETSC_ERR_USER_INPUT, "pipe: %s %g is not finite", lengths[i], (double)given[i]);
  }
  PetscCheck(cells[1] >= 3, PETSC_COMM_SELF, PETSC_ERR_USER_INPUT, "pipe: %" PetscInt_FMT " cells around; give 3 or more", cells[1]);
  PetscCall(GridCreate_Private("pipe", cells, PETSC_TRUE, &g, mesh));
  for (PetscInt k = 0; k < g.nodes[2]; k++)
    for (PetscInt j = 0; j < g.nodes[1]; j++) {
      /* from the lowest line on, so that a pipe can stand on a ridge */
      const PetscReal r = inner_radius + thickness * k / cells[2];
      PetscReal       sine, cosine;

      Turn_Private(j, cells[1], &sine, &cosine);

      for (PetscInt i = 0; i < g.nodes[0]; i++) {
        PetscReal *x = (*mesh)->coord + 3 * GridNode_Private(&g, i, j, k);

        x[0] = length * (2 * i - cells[0]) / (2 * cells[0]);
        x[1] = -r * sine; /* along, around, outwards is right-handed */
        x[2] = -r * cosine;
      }
    }
  for (PetscInt d = 0; d < 3; d += 2)
    for (PetscInt end = 0; end < 2; end++) PetscCall(GridAddSide_Private(&g, d, end, names[d][end], *mesh));
  PetscFunctionReturn(0);
}

/* Radial joint faces hold the nodes of circles; between them the block is straight (flat) or follows the circles. Mirror images about x = 0 and
   y = 0 to the last bit. */
PetscErrorCode MeshCreateVoussoir(PetscReal radius, PetscReal thickness, PetscReal depth, PetscReal angle, const PetscInt cells[3], PetscBool flat, Mesh *mesh)
{
  static const char *const names[3][2] = {{"start", "end"}, {"y_min", "y_max"}, {"inner", "outer"}}, *const lengths[4] = {"radius", "thickness", "depth", "angle"};
  const PetscReal          given[4] = {radius, thickness, depth, angle}, most = flat || cells[0] < 2 ? 180 : 360;
  Grid                     g;

  PetscFunctionBeginUser;
  for (PetscInt i = 0; i < 4; i++) {
    PetscCheck(given[i] > 0, PETSC_COMM_SELF, PETSC_ERR_USER_INPUT, "voussoir: %s %g is not above zero", lengths[i], (double)given[i]);
    PetscCheck(!PetscIsInfReal(given[i]), PETSC_COMM_SELF, PETSC_ERR_USER_INPUT, "voussoir: %s %g is not finite", lengths[i], (double)given[i]);
  }
  PetscCheck(thickness < 2 * radius, PETSC_COMM_SELF, PETSC_ERR_USER_INPUT, "voussoir: thickness %g is not below twice the radius %g of its middle", (double)thickness, (double)radius);
  PetscCheck(angle < most, PETSC_COMM_SELF, PETSC_ERR_USER_INPUT, "voussoir: angle %g is not below %g degrees%s", (double)angle, (double)most,
             flat ? ", as it must be with flat faces" : cells[0] < 2 ? ", as it must be with one cell along the arc" : "");
  PetscCall(GridCreate_Private("voussoir", cells, PETSC_FALSE, &g, mesh));
  for (PetscInt k = 0; k < g.nodes[2]; k++)
    for (PetscInt j = 0; j < g.nodes[1]; j++)
      for (PetscInt i = 0; i < g.nodes[0]; i++) {
        const PetscReal along = (PetscReal)(2 * i - cells[0]) / cells[0], out = thickness * (2 * k - cells[2]) / (2 * cells[2]); /* from -1 to 1; from the middle */
        const PetscReal half = angle * PETSC_PI / 360, phi = flat ? half : half * along, s = PetscSinReal(phi), s2 = PetscSinReal(phi / 2);
        PetscReal      *x = (*mesh)->coord + 3 * GridNode_Private(&g, i, j, k);

        x[0] = (radius + out) * s * (flat ? along : 1);
        x[1] = depth * (2 * j - cells[1]) / (2 * cells[1]);
        x[2] = out - 2 * (radius + out) * s2 * s2; /* (radius + out) cos(phi) - radius */
      }
  for (PetscInt d = 0; d < 3; d++)
    for (PetscInt end = 0; end < 2; end++) PetscCall(GridAddSide_Private(&g, d, end, names[d][end], *mesh));
  PetscFunctionReturn(0);
}

static PetscErrorCode BoxGenerate_Private(const PetscReal r[], const char *const s[], Mesh *mesh)
{
  const PetscInt cells[3] = {(PetscInt)r[3], (PetscInt)r[4], (PetscInt)r[5]};

  PetscFunctionBeginUser;
  (void)s;
  PetscCall(MeshCreateBox(r, cells, mesh));
  PetscFunctionReturn(0);
}

static PetscErrorCode PipeGenerate_Private(const PetscReal r[], const char *const s[], Mesh *mesh)
{
  const PetscInt cells[3] = {(PetscInt)r[3], (PetscInt)r[4], (PetscInt)r[5]};

  PetscFunctionBeginUser;
  (void)s;
  PetscCall(MeshCreatePipe(r[0], r[1], r[2], cells, mesh));
  PetscFunctionReturn(0);
}

static PetscErrorCode VoussoirGenerate_Private(const PetscReal r[], const char *const s[], Mesh *mesh)
{
  const PetscInt cells[3] = {(PetscInt)r[4], (PetscInt)r[5], (PetscInt)r[6]};

  PetscFunctionBeginUser;
  (void)s;
  PetscCall(MeshCreateVoussoir(r[0], r[1], r[2], r[3], cells, r[7] != 0 ? PETSC_TRUE : PETSC_FALSE, mesh));
  PetscFunctionReturn(0);
}

static PetscErrorCode ExodusGenerate_Private(const PetscReal r[], const char *const s[], Mesh *mesh)
{
  PetscFunctionBeginUser;
  (void)r;
  PetscCall(MeshReadExodus(s[0], mesh));
  PetscFunctionReturn(0);
}

static const MeshParam BoxParam[] = {{"size", MESH_PARAM_REAL, 3, NULL, "edges along x, y, z"}, {"cells", MESH_PARAM_INT, 3, "1,1,1", "hexahedra along x, y, z"}};
static const MeshParam PipeParam[] = {{"inner_radius", MESH_PARAM_REAL, 1, NULL, "inner radius"},
                                      {"thickness", MESH_PARAM_REAL, 1, NULL, "thickness of the wall"},
                                      {"length", MESH_PARAM_REAL, 1, NULL, "length along x"},
                                      {"cells", MESH_PARAM_INT, 3, "8,24,1", "hexahedra along, around, through"}};
static const MeshParam VoussoirParam[] = {{"radius", MESH_PARAM_REAL, 1, NULL, "radius of the arch's middle"},
                                          {"thickness", MESH_PARAM_REAL, 1, NULL, "thickness of the arch"},
                                          {"depth", MESH_PARAM_REAL, 1, NULL, "depth along y"},
                                          {"angle", MESH_PARAM_REAL, 1, NULL, "degrees of the arch that the block takes"},
                                          {"cells", MESH_PARAM_INT, 3, "1,1,1", "hexahedra along the arc, the depth and the radius"},
                                          {"flat", MESH_PARAM_BOOL, 1, "true", "straight between its joint faces"}};
static const MeshParam ExodusParam[] = {{"file", MESH_PARAM_STRING, 1, NULL, "Exodus II file"}};

static const MeshGenerator Box      = {"box", "a box centred at the origin", 2, BoxParam, BoxGenerate_Private};
static const MeshGenerator Pipe     = {"pipe", "a hollow cylinder along x, centred at the origin", 4, PipeParam, PipeGenerate_Private};
static const MeshGenerator Voussoir = {"voussoir", "a block of a circular arch; the middle of the arch's thickness is at the origin, its centre below", 6, VoussoirParam, VoussoirGenerate_Private};
static const MeshGenerator Exodus   = {"exodus", "hexahedra of an Exodus II file", 1, ExodusParam, ExodusGenerate_Private};

const MeshGenerator *const MeshGenerators[] = {&Box, &Pipe, &Voussoir, &Exodus, NULL};
