/* Meshes in Exodus II files. Serial: any rank may read or write a file of its own. */
#include "meshes/mesh_impl.h"
#include <exodusII.h>
#include <errno.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

/* A failing call of libexodusII on reading: the file was opened, but what it promises is not there. */
#define ExodusReadCheck(call, file, what) \
  PetscCheck((call) >= 0, PETSC_COMM_SELF, PETSC_ERR_USER_INPUT, "mesh file '%s': cannot read %s; the file is damaged or incomplete", file, what)

/* Name number i of a kind of entity: that of the file without blanks at its end, else KIND_ID */
static PetscErrorCode ExodusName_Private(const char *given, const char kind[], int64_t id, char **name)
{
  size_t len;

  PetscFunctionBeginUser;
  PetscCall(PetscStrlen(given, &len));
  while (len > 0 && given[len - 1] == ' ') len--;
  PetscCall(PetscMalloc1(len > 0 ? len + 1 : 64, name));
  if (len > 0) {
    PetscCall(PetscMemcpy(*name, given, len));
    (*name)[len] = 0;
  } else PetscCall(PetscSNPrintf(*name, 64, "%s_%" PRId64, kind, id));
  PetscFunctionReturn(0);
}

/* What a reader holds and the mesh has not taken over yet: freed whatever happens */
typedef struct {
  PetscInt   n;
  int64_t   *ids, *list, *side;
  char     **names, **given, *text;
  PetscReal *x;
} Scratch;

static PetscErrorCode ScratchFree_Private(Scratch *s)
{
  PetscFunctionBeginUser;
  for (PetscInt i = 0; s->names && i < s->n; i++) PetscCall(PetscFree(s->names[i]));
  PetscCall(PetscFree(s->names));
  PetscCall(PetscFree(s->given));
  PetscCall(PetscFree(s->text));
  PetscCall(PetscFree(s->ids));
  PetscCall(PetscFree(s->list));
  PetscCall(PetscFree(s->side));
  PetscCall(PetscFree(s->x));
  PetscFunctionReturn(0);
}

/* Ids and names of all blocks or sets */
static PetscErrorCode ExodusIdsNames_Private(int exo, const char file[], ex_entity_type type, const char kind[], PetscInt n, Scratch *s)
{
  const size_t length = (size_t)PetscMin(PetscMax(ex_inquire_int(exo, EX_INQ_DB_MAX_USED_NAME_LENGTH), 32), EXODUS_NAME);

  PetscFunctionBeginUser;
  PetscCall(ScratchFree_Private(s));
  ex_set_max_name_length(exo, (int)length);
  s->n = n;
  PetscCall(PetscMalloc1(n, &s->ids));
  PetscCall(PetscCalloc1(n, &s->names));
  PetscCall(PetscMalloc1(n, &s->given));
  PetscCall(PetscCalloc1(n * (length + 1), &s->text));
  for (PetscInt i = 0; i < n; i++) s->given[i] = s->text + i * (length + 1);
  ExodusReadCheck(n > 0 && (ex_get_ids(exo, type, s->ids) < 0 || ex_get_names(exo, type, s->given) < 0) ? -1 : 0, file, "the names of its blocks and sets");
  for (PetscInt i = 0; i < n; i++) PetscCall(ExodusName_Private(s->given[i], kind, s->ids[i], &s->names[i]));
  PetscFunctionReturn(0);
}

/* The mesh takes a name over */
static char *ScratchTakeName_Private(Scratch *s, PetscInt i)
{
  char *name = s->names[i];

  s->names[i] = NULL;
  return name;
}

/* From the file's numbers (from 1) to ours (from 0), refusing those out of range */
static PetscErrorCode ExodusIndices_Private(const char file[], const char what[], const char name[], const char of[], PetscInt64 n, const int64_t from[],
                                            PetscInt limit, PetscInt to[])
{
  PetscFunctionBeginUser;
  for (PetscInt64 i = 0; i < n; i++) {
    PetscCheck(from[i] >= 1 && from[i] <= limit, PETSC_COMM_SELF, PETSC_ERR_USER_INPUT,
               "mesh file '%s': %s '%s' has %s %" PRId64 ", but they run from 1 to %" PetscInt_FMT, file, what, name, of, from[i], limit);
    to[i] = (PetscInt)(from[i] - 1);
  }
  PetscFunctionReturn(0);
}

static PetscErrorCode ExodusReadBlocks_Private(int exo, const char file[], PetscInt n, Mesh mesh, Scratch *s)
{
  PetscInt nelem = 0;

  PetscFunctionBeginUser;
  PetscCall(ExodusIdsNames_Private(exo, file, EX_ELEM_BLOCK, "block", n, s));
  PetscCall(PetscCalloc1(n, &mesh->block));
  for (PetscInt b = 0; b < n; b++) {
    MeshBlock *block = &mesh->block[mesh->nblock];
    ex_block   info  = {.id = s->ids[b], .type = EX_ELEM_BLOCK}; /* zeroed: what a damaged file lacks stays so */
    int64_t    size, nnode;

    ExodusReadCheck(ex_get_block_param(exo, &info), file, s->names[b]);
    size  = info.num_entry;
    nnode = info.num_nodes_per_entry;
    if (size == 0) continue; /* an empty block holds no numbers: nothing refers to it */
    PetscCheck((!strcasecmp(info.topology, "hex8") || !strcasecmp(info.topology, "hex")) && nnode == 8, PETSC_COMM_SELF, PETSC_ERR_USER_INPUT,
               "mesh file '%s': block '%s' has elements of type %s with %" PRId64 " nodes; only HEX8 (8 nodes) can be read", file, s->names[b],
               info.topology[0] ? info.topology : "(none)", nnode);
    PetscCheck(size > 0 && size <= (mesh->nelem - nelem), PETSC_COMM_SELF, PETSC_ERR_USER_INPUT, "mesh file '%s': its blocks hold more elements than the file says", file);
    block->name  = ScratchTakeName_Private(s, b);
    block->nelem = (PetscInt)size;
    block->nnode = 8;
    mesh->nblock++;
    PetscCall(PetscStrncpy(block->type, "hex8", sizeof(block->type)));
    PetscCall(PetscCalloc1(8 * size, &s->list));
    ExodusReadCheck(ex_get_conn(exo, EX_ELEM_BLOCK, s->ids[b], s->list, NULL, NULL), file, block->name);
    PetscCall(PetscMalloc1(8 * size, &block->conn));
    PetscCall(ExodusIndices_Private(file, "block", block->name, "node", 8 * size, s->list, mesh->nnode, block->conn));
    PetscCall(PetscFree(s->list));
    nelem += block->nelem;
  }
  PetscCheck(nelem == mesh->nelem, PETSC_COMM_SELF, PETSC_ERR_USER_INPUT, "mesh file '%s': its blocks hold fewer elements than the file says", file);
  PetscFunctionReturn(0);
}

/* Number of entries of a set */
static PetscErrorCode ExodusSetSize_Private(int exo, const char file[], ex_entity_type type, int64_t id, const char name[], PetscInt *n)
{
  int64_t size, nfact;

  PetscFunctionBeginUser;
  ExodusReadCheck(ex_get_set_param(exo, type, id, &size, &nfact), file, name);
  ExodusReadCheck(size < 0 || size > PETSC_MAX_INT ? -1 : 0, file, name);
  *n = (PetscInt)size;
  PetscFunctionReturn(0);
}

static PetscErrorCode ExodusReadSets_Private(int exo, const char file[], PetscInt nnodeset, PetscInt nsideset, Mesh mesh, Scratch *s)
{
  PetscFunctionBeginUser;
  PetscCall(ExodusIdsNames_Private(exo, file, EX_NODE_SET, "nodeset", nnodeset, s));
  PetscCall(PetscCalloc1(nnodeset, &mesh->nodeset));
  for (PetscInt i = 0; i < nnodeset; i++) {
    MeshNodeSet *set = &mesh->nodeset[i];

    set->name = ScratchTakeName_Private(s, i);
    mesh->nnodeset++;
    PetscCall(ExodusSetSize_Private(exo, file, EX_NODE_SET, s->ids[i], set->name, &set->n));
    PetscCall(PetscCalloc1(set->n, &s->list));
    if (set->n) ExodusReadCheck(ex_get_set(exo, EX_NODE_SET, s->ids[i], s->list, NULL), file, set->name);
    PetscCall(PetscMalloc1(set->n, &set->node));
    PetscCall(ExodusIndices_Private(file, "node set", set->name, "node", set->n, s->list, mesh->nnode, set->node));
    PetscCall(PetscFree(s->list));
  }
  PetscCall(ExodusIdsNames_Private(exo, file, EX_SIDE_SET, "sideset", nsideset, s));
  PetscCall(PetscCalloc1(nsideset, &mesh->sideset));
  for (PetscInt i = 0; i < nsideset; i++) {
    MeshSideSet *set = &mesh->sideset[i];

    set->name = ScratchTakeName_Private(s, i);
    mesh->nsideset++;
    PetscCall(ExodusSetSize_Private(exo, file, EX_SIDE_SET, s->ids[i], set->name, &set->n));
    PetscCall(PetscCalloc1(set->n, &s->list));
    PetscCall(PetscCalloc1(set->n, &s->side));
    if (set->n) ExodusReadCheck(ex_get_set(exo, EX_SIDE_SET, s->ids[i], s->list, s->side), file, set->name);
    PetscCall(PetscMalloc1(set->n, &set->elem));
    PetscCall(PetscMalloc1(set->n, &set->side));
    PetscCall(ExodusIndices_Private(file, "side set", set->name, "element", set->n, s->list, mesh->nelem, set->elem));
    PetscCall(ExodusIndices_Private(file, "side set", set->name, "side", set->n, s->side, 6, set->side));
    PetscCall(PetscFree(s->list));
    PetscCall(PetscFree(s->side));
  }
  PetscFunctionReturn(0);
}

static PetscErrorCode ExodusRead_Private(int exo, const char file[], Mesh mesh, Scratch *s)
{
  char    title[MAX_LINE_LENGTH + 1];
  int64_t ndim, nnode, nelem, nblock, nnodeset, nsideset;

  PetscFunctionBeginUser;
  ExodusReadCheck(ex_get_init(exo, title, &ndim, &nnode, &nelem, &nblock, &nnodeset, &nsideset), file, "its sizes");
  PetscCheck(ndim == 3, PETSC_COMM_SELF, PETSC_ERR_USER_INPUT, "mesh file '%s': the mesh has %" PRId64 " dimensions; 3 are needed", file, ndim);
  PetscCheck(nnode > 0 && nelem > 0, PETSC_COMM_SELF, PETSC_ERR_USER_INPUT, "mesh file '%s': the mesh has no elements", file);
  PetscCheck(nnode <= PETSC_MAX_INT / 3 && nelem <= PETSC_MAX_INT / 8, PETSC_COMM_SELF, PETSC_ERR_USER_INPUT,
             "mesh file '%s': %" PRId64 " nodes, %" PRId64 " elements are too many for this build of PETSc (32-bit integers)", file, nnode, nelem);
  /* a damaged file may ask for more memory than there is */
  PetscCheck(nnode <= 8 * nelem, PETSC_COMM_SELF, PETSC_ERR_USER_INPUT, "mesh file '%s': %" PRId64 " nodes are more than its %" PRId64 " elements can have", file, nnode, nelem);
  ExodusReadCheck(PetscMax(nblock, PetscMax(nnodeset, nsideset)) > PETSC_MAX_INT / EXODUS_NAME ? -1 : 0, file, "its sizes");
  mesh->nnode = (PetscInt)nnode;
  mesh->nelem = (PetscInt)nelem;
  PetscCall(PetscMalloc1(3 * nnode, &mesh->coord));
  PetscCall(PetscMalloc1(3 * nnode, &s->x));
  for (int64_t i = 0; i < 3 * nnode; i++) s->x[i] = NAN; /* libexodusII passes over an axis that is not there */
  ExodusReadCheck(ex_get_coord(exo, s->x, s->x + nnode, s->x + 2 * nnode), file, "the nodes");
  for (PetscInt i = 0; i < nnode; i++)
    for (PetscInt c = 0; c < 3; c++) mesh->coord[3 * i + c] = s->x[c * nnode + i];
  PetscCall(PetscFree(s->x));
  PetscCall(ExodusReadBlocks_Private(exo, file, (PetscInt)nblock, mesh, s));
  PetscCall(ExodusReadSets_Private(exo, file, (PetscInt)nnodeset, (PetscInt)nsideset, mesh, s));
  PetscFunctionReturn(0);
}

/* HEX8 blocks with their names, node and side sets. What has no name is called block_ID, nodeset_ID, sideset_ID. */
PetscErrorCode MeshReadExodus(const char file[], Mesh *mesh)
{
  struct stat    info;
  FILE          *probe;
  int            exo, compute = sizeof(PetscReal), stored = 0;
  float          version;
  Scratch        scratch = {0};
  PetscBool      whole;
  PetscErrorCode ierr;

  PetscFunctionBeginUser;
  *mesh = NULL;
  ex_opts(0);
  PetscCheck(!stat(file, &info), PETSC_COMM_SELF, PETSC_ERR_USER_INPUT, "mesh file '%s': %s", file, strerror(errno));
  PetscCheck(!S_ISDIR(info.st_mode), PETSC_COMM_SELF, PETSC_ERR_USER_INPUT, "mesh file '%s' is a folder", file);
  probe = fopen(file, "r");
  PetscCheck(probe, PETSC_COMM_SELF, PETSC_ERR_USER_INPUT, "mesh file '%s': %s", file, strerror(errno));
  fclose(probe);
  PetscCall(ExodusIsWhole_Private(file, &whole, NULL, NULL, NULL));
  exo = whole ? ex_open(file, EX_READ | EX_ALL_INT64_API, &compute, &stored, &version) : -1;
  PetscCheck(exo >= 0, PETSC_COMM_SELF, PETSC_ERR_USER_INPUT, "mesh file '%s' is no Exodus II file, or an incomplete one", file);
  PetscCall(MeshCreate(mesh));
  ierr = ExodusRead_Private(exo, file, *mesh, &scratch);
  ex_close(exo);
  PetscCall(ScratchFree_Private(&scratch));
  if (ierr) (void)MeshDestroy(mesh);
  PetscCall(ierr);
  PetscFunctionReturn(0);
}

/* libexodusII prints a warning about names that it has to cut: they are cut here */
static PetscErrorCode ExodusPutNames_Private(int exo, ex_entity_type type, PetscInt n, char *names[], size_t length, int *failed)
{
  char *text;

  PetscFunctionBeginUser;
  PetscCall(PetscMalloc1((size_t)n * (length + 1), &text));
  for (PetscInt i = 0; i < n; i++) {
    PetscCall(PetscStrncpy(text + i * (length + 1), names[i], length + 1));
    names[i] = text + i * (length + 1);
  }
  if (n > 0 && ex_put_names(exo, type, names) < 0) *failed = 1;
  PetscCall(PetscFree(text));
  PetscCall(PetscFree(names));
  PetscFunctionReturn(0);
}

static PetscErrorCode ExodusWrite_Private(int exo, Mesh mesh, int *failed)
{
  const PetscInt nnode = mesh->nnode;
  PetscReal     *x;
  int64_t       *list, *side;
  char         **names;
  size_t         length = 32;

  PetscFunctionBeginUser;
  /* the longest name sets the width of all of them in the file; it must be known before anything is defined */
  for (PetscInt i = 0; i < mesh->nblock; i++) length = PetscMax(length, strlen(mesh->block[i].name));
  for (PetscInt i = 0; i < mesh->nnodeset; i++) length = PetscMax(length, strlen(mesh->nodeset[i].name));
  for (PetscInt i = 0; i < mesh->nsideset; i++) length = PetscMax(length, strlen(mesh->sideset[i].name));
  length = PetscMin(length, EXODUS_NAME);
  ex_set_max_name_length(exo, (int)length);
  *failed = ex_put_init(exo, "Ashlar", 3, nnode, mesh->nelem, mesh->nblock, mesh->nnodeset, mesh->nsideset) < 0;
  PetscCall(PetscMalloc1(3 * (size_t)nnode, &x));
  for (PetscInt i = 0; i < nnode; i++)
    for (PetscInt c = 0; c < 3; c++) x[c * (size_t)nnode + i] = mesh->coord[3 * i + c];
  if (!*failed && ex_put_coord(exo, x, x + nnode, x + 2 * (size_t)nnode) < 0) *failed = 1;
  PetscCall(PetscFree(x));

  PetscCall(PetscMalloc1(mesh->nblock, &names));
  for (PetscInt b = 0; b < mesh->nblock && !*failed; b++) {
    const MeshBlock *block = &mesh->block[b];
    const size_t     n     = (size_t)block->nelem * block->nnode;

    names[b] = block->name;
    PetscCall(PetscMalloc1(n, &list));
    for (size_t i = 0; i < n; i++) list[i] = block->conn[i] + 1;
    if (ex_put_block(exo, EX_ELEM_BLOCK, b + 1, "HEX8", block->nelem, block->nnode, 0, 0, 0) < 0) *failed = 1;
    if (!*failed && ex_put_conn(exo, EX_ELEM_BLOCK, b + 1, list, NULL, NULL) < 0) *failed = 1;
    PetscCall(PetscFree(list));
  }
  PetscCall(ExodusPutNames_Private(exo, EX_ELEM_BLOCK, *failed ? 0 : mesh->nblock, names, length, failed));

  PetscCall(PetscMalloc1(mesh->nnodeset, &names));
  for (PetscInt s = 0; s < mesh->nnodeset && !*failed; s++) {
    const MeshNodeSet *set = &mesh->nodeset[s];

    names[s] = set->name;
    PetscCall(PetscMalloc1(set->n, &list));
    for (PetscInt i = 0; i < set->n; i++) list[i] = set->node[i] + 1;
    if (ex_put_set_param(exo, EX_NODE_SET, s + 1, set->n, 0) < 0) *failed = 1;
    if (!*failed && set->n && ex_put_set(exo, EX_NODE_SET, s + 1, list, NULL) < 0) *failed = 1;
    PetscCall(PetscFree(list));
  }
  PetscCall(ExodusPutNames_Private(exo, EX_NODE_SET, *failed ? 0 : mesh->nnodeset, names, length, failed));

  PetscCall(PetscMalloc1(mesh->nsideset, &names));
  for (PetscInt s = 0; s < mesh->nsideset && !*failed; s++) {
    const MeshSideSet *set = &mesh->sideset[s];

    names[s] = set->name;
    PetscCall(PetscMalloc2(set->n, &list, set->n, &side));
    for (PetscInt i = 0; i < set->n; i++) {
      list[i] = set->elem[i] + 1;
      side[i] = set->side[i] + 1;
    }
    if (ex_put_set_param(exo, EX_SIDE_SET, s + 1, set->n, 0) < 0) *failed = 1;
    if (!*failed && set->n && ex_put_set(exo, EX_SIDE_SET, s + 1, list, side) < 0) *failed = 1;
    PetscCall(PetscFree2(list, side));
  }
  PetscCall(ExodusPutNames_Private(exo, EX_SIDE_SET, *failed ? 0 : mesh->nsideset, names, length, failed));
  PetscFunctionReturn(0);
}

int ExodusMode_Private(PetscInt64 bytes)
{
  return EX_CLOBBER | EX_ALL_INT64_API | (bytes < (PetscInt64)4294967292 ? EX_LARGE_MODEL : EX_NETCDF4 | EX_NOCLASSIC | EX_ALL_INT64_DB);
}

/* Written beside and renamed, so that a file of this name is always whole. */
PetscErrorCode MeshWriteExodus(Mesh mesh, const char file[])
{
  char  *part;
  FILE  *probe;
  size_t length;
  int    exo, compute = sizeof(PetscReal), stored = sizeof(PetscReal), failed = 0, error;

  PetscFunctionBeginUser;
  ex_opts(0);
  for (PetscInt b = 0; b < mesh->nblock; b++)
    PetscCheck(!strcmp(mesh->block[b].type, "hex8"), PETSC_COMM_SELF, PETSC_ERR_USER_INPUT,
               "mesh file '%s': block '%s' has elements of type %s; only hex8 can be written", file, mesh->block[b].name, mesh->block[b].type);
  PetscCall(PetscStrlen(file, &length));
  PetscCall(PetscMalloc1(length + 6, &part));
  PetscCall(PetscSNPrintf(part, length + 6, "%s.part", file));
  probe = fopen(part, "w"); /* tells why it cannot be written; libexodusII does not */
  error = probe ? 0 : errno;
  if (probe) fclose(probe);
  if (!error) {
    exo    = ex_create(part, ExodusMode_Private(PetscMax(8 * (PetscInt64)mesh->nnode, 32 * (PetscInt64)mesh->nelem)), &compute, &stored);
    failed = exo < 0;
    if (!failed) {
      PetscCall(ExodusWrite_Private(exo, mesh, &failed));
      if (ex_close(exo) < 0) failed = 1;
    }
    if (!failed && rename(part, file)) error = errno;
    if (failed || error) unlink(part);
  }
  PetscCall(PetscFree(part));
  PetscCheck(!error, PETSC_COMM_SELF, PETSC_ERR_USER_INPUT, "mesh file '%s' cannot be written: %s", file, strerror(error));
  PetscCheck(!failed, PETSC_COMM_SELF, PETSC_ERR_USER_INPUT, "mesh file '%s' cannot be written: is the disk full?", file);
  PetscFunctionReturn(0);
}
