#include "mesh.h"
#include <petscviewer.h>

const PetscInt MeshHex8Side[6][4] = {{0, 1, 5, 4}, {1, 2, 6, 5}, {2, 3, 7, 6}, {0, 4, 7, 3}, {0, 3, 2, 1}, {4, 5, 6, 7}};

PetscErrorCode MeshCreate(Mesh *mesh)
{
  PetscFunctionBeginUser;
  PetscCall(PetscNew(mesh));
  PetscFunctionReturn(0);
}

PetscErrorCode MeshDestroy(Mesh *mesh)
{
  Mesh m = *mesh;

  PetscFunctionBeginUser;
  if (!m) PetscFunctionReturn(0);
  for (PetscInt i = 0; i < m->nblock; i++) {
    PetscCall(PetscFree(m->block[i].name));
    PetscCall(PetscFree(m->block[i].conn));
  }
  for (PetscInt i = 0; i < m->nnodeset; i++) {
    PetscCall(PetscFree(m->nodeset[i].name));
    PetscCall(PetscFree(m->nodeset[i].node));
  }
  for (PetscInt i = 0; i < m->nsideset; i++) {
    PetscCall(PetscFree(m->sideset[i].name));
    PetscCall(PetscFree(m->sideset[i].elem));
    PetscCall(PetscFree(m->sideset[i].side));
  }
  PetscCall(PetscFree(m->block));
  PetscCall(PetscFree(m->nodeset));
  PetscCall(PetscFree(m->sideset));
  PetscCall(PetscFree(m->coord));
  PetscCall(PetscFree(*mesh));
  PetscFunctionReturn(0);
}

/* Jacobian at a corner of a hexahedron: triple product of the three edges that leave it, in right-handed order */
static PetscReal HexCorner_Private(const PetscReal *coord, const PetscInt *conn, PetscInt corner, PetscReal *size3)
{
  static const PetscInt edge[8][3] = {{1, 3, 4}, {2, 0, 5}, {3, 1, 6}, {0, 2, 7}, {7, 5, 0}, {4, 6, 1}, {5, 7, 2}, {6, 4, 3}};
  PetscReal             e[3][3], l[3];

  for (PetscInt k = 0; k < 3; k++) {
    l[k] = 0;
    for (PetscInt c = 0; c < 3; c++) {
      e[k][c] = coord[3 * conn[edge[corner][k]] + c] - coord[3 * conn[corner] + c];
      l[k] += e[k][c] * e[k][c];
    }
  }
  *size3 = PetscSqrtReal(l[0] * l[1] * l[2]);
  return e[0][0] * (e[1][1] * e[2][2] - e[1][2] * e[2][1]) + e[0][1] * (e[1][2] * e[2][0] - e[1][0] * e[2][2]) + e[0][2] * (e[1][0] * e[2][1] - e[1][1] * e[2][0]);
}

static PetscErrorCode MeshCheckElements_Private(Mesh mesh, const char where[], PetscBool used[])
{
  PetscFunctionBeginUser;
  for (PetscInt b = 0; b < mesh->nblock; b++) {
    const MeshBlock *block = &mesh->block[b];

    for (PetscInt e = 0; e < block->nelem; e++) {
      const PetscInt *conn = block->conn + e * block->nnode;

      for (PetscInt a = 0; a < block->nnode; a++) {
        PetscCheck(conn[a] >= 0 && conn[a] < mesh->nnode, PETSC_COMM_SELF, PETSC_ERR_USER_INPUT, "%s: element %" PetscInt_FMT " of block '%s' has node %" PetscInt_FMT ", but there are %" PetscInt_FMT " nodes", where,
                   e + 1, block->name, conn[a] + 1, mesh->nnode);
        used[conn[a]] = PETSC_TRUE;
      }
      for (PetscInt a = 0; a < 8 && !strcmp(block->type, "hex8"); a++) {
        PetscReal       size3;
        const PetscReal det = HexCorner_Private(mesh->coord, conn, a, &size3);

        PetscCheck(det > 1e-12 * size3, PETSC_COMM_SELF, PETSC_ERR_USER_INPUT, "%s: element %" PetscInt_FMT " of block '%s' is inverted or flat at its corner %" PetscInt_FMT, where, e + 1, block->name, a + 1);
      }
    }
  }
  for (PetscInt i = 0; i < mesh->nnode; i++) PetscCheck(used[i], PETSC_COMM_SELF, PETSC_ERR_USER_INPUT, "%s: node %" PetscInt_FMT " belongs to no element", where, i + 1);
  PetscFunctionReturn(0);
}

static PetscErrorCode MeshCheckSets_Private(Mesh mesh, const char where[])
{
  PetscFunctionBeginUser;
  for (PetscInt s = 0; s < mesh->nnodeset; s++) {
    const MeshNodeSet *set = &mesh->nodeset[s];

    for (PetscInt i = 0; i < set->n; i++)
      PetscCheck(set->node[i] >= 0 && set->node[i] < mesh->nnode, PETSC_COMM_SELF, PETSC_ERR_USER_INPUT, "%s: node set '%s' has node %" PetscInt_FMT ", but there are %" PetscInt_FMT " nodes", where, set->name,
                 set->node[i] + 1, mesh->nnode);
  }
  for (PetscInt s = 0; s < mesh->nsideset; s++) {
    const MeshSideSet *set = &mesh->sideset[s];

    for (PetscInt i = 0; i < set->n; i++) {
      PetscCheck(set->elem[i] >= 0 && set->elem[i] < mesh->nelem, PETSC_COMM_SELF, PETSC_ERR_USER_INPUT, "%s: side set '%s' has element %" PetscInt_FMT ", but there are %" PetscInt_FMT " elements", where, set->name,
                 set->elem[i] + 1, mesh->nelem);
      PetscCheck(set->side[i] >= 0 && set->side[i] < 6, PETSC_COMM_SELF, PETSC_ERR_USER_INPUT, "%s: side set '%s' has side %" PetscInt_FMT ", but elements have 6 sides", where, set->name, set->side[i] + 1);
    }
  }
  PetscFunctionReturn(0);
}

PetscErrorCode MeshCheck(Mesh mesh, const char where[])
{
  PetscBool     *used;
  PetscErrorCode ierr;

  PetscFunctionBeginUser;
  PetscCheck(mesh->nnode > 0 && mesh->nelem > 0, PETSC_COMM_SELF, PETSC_ERR_USER_INPUT, "%s: the mesh has no elements", where);
  for (PetscInt i = 0; i < 3 * mesh->nnode; i++) PetscCheck(!PetscIsInfOrNanReal(mesh->coord[i]), PETSC_COMM_SELF, PETSC_ERR_USER_INPUT, "%s: node %" PetscInt_FMT " is not finite", where, i / 3 + 1);
  PetscCall(PetscCalloc1(mesh->nnode, &used));
  ierr = MeshCheckElements_Private(mesh, where, used);
  PetscCall(PetscFree(used));
  PetscCall(ierr);
  PetscCall(MeshCheckSets_Private(mesh, where));
  PetscFunctionReturn(0);
}

/* What a file's set without a name is called in a mesh: ExodusName_Private */
static PetscBool SetIsNamed_Private(const char given[], const char kind[], const char name[])
{
  const size_t length = strlen(kind);

  if (!strcmp(given, name)) return PETSC_TRUE;
  return name[0] && !name[strspn(name, "0123456789")] && !strncmp(given, kind, length) && !strcmp(given + length, name) ? PETSC_TRUE : PETSC_FALSE;
}

PetscErrorCode MeshFindNodeSet(Mesh mesh, const char name[], const MeshNodeSet **set)
{
  PetscFunctionBeginUser;
  *set = NULL;
  for (PetscInt i = 0; i < mesh->nnodeset && !*set; i++)
    if (SetIsNamed_Private(mesh->nodeset[i].name, "nodeset_", name)) *set = &mesh->nodeset[i];
  PetscFunctionReturn(0);
}

PetscErrorCode MeshFindSideSet(Mesh mesh, const char name[], const MeshSideSet **set)
{
  PetscFunctionBeginUser;
  *set = NULL;
  for (PetscInt i = 0; i < mesh->nsideset && !*set; i++)
    if (SetIsNamed_Private(mesh->sideset[i].name, "sideset_", name)) *set = &mesh->sideset[i];
  PetscFunctionReturn(0);
}

PetscErrorCode MeshView(Mesh mesh, PetscViewer viewer)
{
  PetscFunctionBeginUser;
  PetscCall(PetscViewerASCIIPrintf(viewer, "Mesh: %" PetscInt_FMT " nodes, %" PetscInt_FMT " elements\n", mesh->nnode, mesh->nelem));
  for (PetscInt i = 0; i < mesh->nblock; i++) PetscCall(PetscViewerASCIIPrintf(viewer, "  block %s: %" PetscInt_FMT " %s\n", mesh->block[i].name, mesh->block[i].nelem, mesh->block[i].type));
  for (PetscInt i = 0; i < mesh->nnodeset; i++) PetscCall(PetscViewerASCIIPrintf(viewer, "  node set %s: %" PetscInt_FMT "\n", mesh->nodeset[i].name, mesh->nodeset[i].n));
  for (PetscInt i = 0; i < mesh->nsideset; i++) PetscCall(PetscViewerASCIIPrintf(viewer, "  side set %s: %" PetscInt_FMT "\n", mesh->sideset[i].name, mesh->sideset[i].n));
  PetscFunctionReturn(0);
}
