#include "meshes/results.h"
#include "meshes/mesh_impl.h"
#include <exodusII.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { NODE_VARS = 6, ELEM_VARS = 3 };
static const char *const node_vars[NODE_VARS] = {"displacement_x", "displacement_y", "displacement_z", "velocity_x", "velocity_y", "velocity_z"};
static const char *const elem_vars[ELEM_VARS] = {"mises", "rank", "formulation"};

typedef struct {
  PetscInt id, place; /* place in the caller's array */
  Mesh     mesh;
} LocalBody;

/* What rank 0 knows of each body. */
typedef struct {
  PetscInt   nnode, nelem, formulation, local; /* local: place among rank 0's own, or -1 */
  PetscInt64 first;                            /* nodes of the bodies before it */
  int        owner;
} GlobalBody;

struct _p_Results {
  MPI_Comm    comm;
  PetscMPIInt tag, rank, size;
  char       *file;
  PetscInt    nglobal, nlocal;
  LocalBody  *local; /* by id */
  /* rank 0 */
  GlobalBody *global;
  int         exo;
  PetscInt    nstep;
  PetscReal   last;
  PetscInt64  place[2];     /* where times begin in the file and how long each is; zeros: not known */
  PetscBool   broken;       /* a time in the file is not whole */
  char        problem[512]; /* why the file cannot be written; told to all ranks by Agree */
};

/* Rank 0 must go on receiving after a failed write, else the others would wait for ever: the first problem is kept, later calls skipped. */
#define ExTry(r, call)                                                                                                                               \
  do {                                                                                                                                               \
    if (!(r)->problem[0] && (call) < 0) (void)snprintf((r)->problem, sizeof((r)->problem), "%s: cannot be written; is the disk full?", (r)->file);   \
  } while (0)
#define Problem(r, ...)                                                                                                                              \
  do {                                                                                                                                               \
    if (!(r)->problem[0]) (void)snprintf((r)->problem, sizeof((r)->problem), __VA_ARGS__);                                                           \
  } while (0)

/* Rank 0's problem, or any rank's error, becomes the same error on all ranks. */
static PetscErrorCode Agree_Private(Results r, PetscErrorCode ierr)
{
  PetscMPIInt mine = ierr ? r->rank : r->size, first, code = (PetscMPIInt)ierr;
  char        text[sizeof(r->problem)] = "";
  char       *cause = NULL;

  PetscFunctionBeginUser;
  PetscCallMPI(MPI_Bcast(r->problem, (PetscMPIInt)sizeof(r->problem), MPI_CHAR, 0, r->comm));
  PetscCallMPI(MPI_Allreduce(&mine, &first, 1, MPI_INT, MPI_MIN, r->comm));
  if (first < r->size) {
    if (first == r->rank) {
      PetscCall(PetscErrorMessage(ierr, NULL, &cause));
      PetscCall(PetscStrncpy(text, cause && cause[0] ? cause : "the fields of a body cannot be had", sizeof(text)));
    }
    PetscCallMPI(MPI_Bcast(text, (PetscMPIInt)sizeof(text), MPI_CHAR, first, r->comm));
    PetscCallMPI(MPI_Bcast(&code, 1, MPI_INT, first, r->comm));
  }
  PetscCall(ierr);
  PetscCheck(first == r->size, r->comm, (PetscErrorCode)code, "%s", text);
  PetscCheck(!r->problem[0], r->comm, PETSC_ERR_USER_INPUT, "%s", r->problem);
  PetscFunctionReturn(0);
}

static int CompareId_Private(const void *a, const void *b)
{
  const PetscInt i = ((const LocalBody *)a)->id, j = ((const LocalBody *)b)->id;

  return i < j ? -1 : i > j;
}

/* Counts of entries each rank gives to a Gatherv on rank 0, and where they go. */
static PetscErrorCode GatherLayout_Private(Results r, PetscMPIInt n, PetscMPIInt **counts, PetscMPIInt **starts)
{
  PetscFunctionBeginUser;
  PetscCall(PetscMalloc2(r->rank ? 0 : r->size, counts, r->rank ? 0 : r->size + 1, starts));
  PetscCallMPI(MPI_Gather(&n, 1, MPI_INT, *counts, 1, MPI_INT, 0, r->comm));
  if (!r->rank) {
    (*starts)[0] = 0;
    for (PetscMPIInt p = 0; p < r->size; p++) (*starts)[p + 1] = (*starts)[p] + (*counts)[p];
  }
  PetscFunctionReturn(0);
}

/* Tells rank 0 who has what: (id, nodes, elements, formulation) of each body. */
static PetscErrorCode GatherBodies_Private(Results r, PetscInt nlocal, const ResultsBody bodies[], PetscBool first)
{
  PetscMPIInt *counts, *starts, n;
  PetscInt    *mine, *all = NULL;
  PetscInt64   total = 0;

  PetscFunctionBeginUser;
  PetscCall(PetscFree(r->local));
  PetscCall(PetscMalloc1(nlocal, &r->local));
  r->nlocal = nlocal;
  for (PetscInt i = 0; i < nlocal; i++) r->local[i] = (LocalBody){bodies[i].id, i, bodies[i].mesh};
  if (nlocal) qsort(r->local, nlocal, sizeof(LocalBody), CompareId_Private);
  PetscCall(PetscMalloc1(4 * nlocal, &mine));
  for (PetscInt i = 0; i < nlocal; i++) {
    mine[4 * i] = r->local[i].id;
    mine[4 * i + 1] = r->local[i].mesh->nnode;
    mine[4 * i + 2] = r->local[i].mesh->nelem;
    mine[4 * i + 3] = bodies[r->local[i].place].formulation;
  }
  PetscCall(PetscMPIIntCast(4 * nlocal, &n));
  PetscCall(GatherLayout_Private(r, n, &counts, &starts));
  if (!r->rank) PetscCall(PetscMalloc1(starts[r->size], &all));
  PetscCallMPI(MPI_Gatherv(mine, n, MPIU_INT, all, counts, starts, MPIU_INT, 0, r->comm));
  if (!r->rank) {
    if (first) PetscCall(PetscCalloc1(r->nglobal, &r->global));
    for (PetscInt g = 0; g < r->nglobal; g++) r->global[g].owner = -1;
    for (PetscMPIInt p = 0; p < r->size; p++)
      for (PetscMPIInt i = starts[p]; i < starts[p + 1]; i += 4) {
        GlobalBody *body;

        if (all[i] < 0 || all[i] >= r->nglobal || r->global[all[i]].owner >= 0) {
          Problem(r, "%s: body %d is given twice or out of range", r->file, (int)all[i]);
          continue;
        }
        body = &r->global[all[i]];
        if (!first && (body->nnode != all[i + 1] || body->nelem != all[i + 2]))
          Problem(r, "%s: body %d has another mesh than before", r->file, (int)all[i]);
        body->owner = p;
        body->nnode = all[i + 1];
        body->nelem = all[i + 2];
        body->formulation = all[i + 3];
        body->local = p ? -1 : i / 4;
      }
    for (PetscInt g = 0; g < r->nglobal; g++) {
      if (r->global[g].owner < 0) Problem(r, "%s: body %d is on no rank", r->file, (int)g);
      r->global[g].first = total;
      total += r->global[g].nnode;
    }
  }
  PetscCall(PetscFree(all));
  PetscCall(PetscFree2(counts, starts));
  PetscCall(PetscFree(mine));
  PetscCall(Agree_Private(r, 0));
  PetscFunctionReturn(0);
}

/* All names on rank 0: one text, and where in it each body's is. */
static PetscErrorCode GatherNames_Private(Results r, const ResultsBody bodies[], char **text, char ***names)
{
  PetscMPIInt *counts, *starts, n;
  size_t       length = 0, one;
  char        *mine, *next;

  PetscFunctionBeginUser;
  *text = NULL;
  *names = NULL;
  for (PetscInt i = 0; i < r->nlocal; i++) {
    PetscCall(PetscStrlen(bodies[i].name, &one));
    length += one + 1;
  }
  PetscCall(PetscMPIIntCast((PetscInt)length, &n));
  PetscCall(PetscMalloc1(length, &mine));
  next = mine;
  for (PetscInt i = 0; i < r->nlocal; i++) {
    PetscCall(PetscStrlen(bodies[r->local[i].place].name, &one));
    PetscCall(PetscMemcpy(next, bodies[r->local[i].place].name, one + 1));
    next += one + 1;
  }
  PetscCall(GatherLayout_Private(r, n, &counts, &starts));
  if (!r->rank) PetscCall(PetscMalloc1(starts[r->size], text));
  PetscCallMPI(MPI_Gatherv(mine, n, MPI_CHAR, *text, counts, starts, MPI_CHAR, 0, r->comm));
  if (!r->rank) {
    char **cursor;

    PetscCall(PetscMalloc1(r->nglobal, names));
    PetscCall(PetscMalloc1(r->size, &cursor));
    for (PetscMPIInt p = 0; p < r->size; p++) cursor[p] = *text + starts[p];
    for (PetscInt g = 0; g < r->nglobal; g++) { /* each rank's names are in the order of ids */
      (*names)[g] = cursor[r->global[g].owner];
      one         = strlen((*names)[g]);
      cursor[r->global[g].owner] += one + 1;
      if (one > EXODUS_NAME) (*names)[g][EXODUS_NAME] = 0;
    }
    PetscCall(PetscFree(cursor));
  }
  PetscCall(PetscFree2(counts, starts));
  PetscCall(PetscFree(mine));
  PetscFunctionReturn(0);
}

static int NameLength_Private(Results r, char **names)
{
  size_t length = 32;

  for (PetscInt g = 0; g < r->nglobal; g++) length = PetscMax(length, strlen(names[g]));
  return (int)length;
}

static void Sizes_Private(Results r, PetscInt64 *nnode, PetscInt64 *nelem, PetscInt64 *largest)
{
  *nnode = *nelem = *largest = 0;
  for (PetscInt g = 0; g < r->nglobal; g++) {
    *nnode += r->global[g].nnode;
    *nelem += r->global[g].nelem;
    *largest = PetscMax(*largest, r->global[g].nelem);
  }
}

/* Everything is defined before any data is written, and blocks all at once: a later definition would rewrite the whole file. */
static PetscErrorCode Define_Private(Results r, const char part[], char **names)
{
  int             real_size = sizeof(PetscReal), file_size = sizeof(PetscReal), *count, *eight, *none, *table;
  int64_t        *ids;
  char          **types, *axes[3] = {(char *)"x", (char *)"y", (char *)"z"};
  PetscInt64      nnode, nelem, largest;
  ex_init_params  info;
  ex_block_params blocks;
  ex_var_params   vars;
  FILE           *probe;

  PetscFunctionBeginUser;
  memset(&info, 0, sizeof(info));
  memset(&blocks, 0, sizeof(blocks));
  memset(&vars, 0, sizeof(vars));
  Sizes_Private(r, &nnode, &nelem, &largest);
  probe = fopen(part, "w"); /* tells why it cannot be written; libexodusII does not */
  if (!probe) {
    Problem(r, "%s: cannot be created: %s", r->file, strerror(errno));
    PetscFunctionReturn(0);
  }
  (void)fclose(probe);
  r->exo = ex_create(part, ExodusMode_Private(PetscMax(nnode * (PetscInt64)sizeof(PetscReal), 32 * largest)), &real_size, &file_size);
  if (r->exo < 0) {
    Problem(r, "%s: cannot be written; is the disk full?", r->file);
    PetscFunctionReturn(0);
  }
  ex_set_int64_status(r->exo, EX_ALL_INT64_API);
  ex_set_max_name_length(r->exo, NameLength_Private(r, names));
  (void)snprintf(info.title, sizeof(info.title), "Ashlar results");
  info.num_dim = 3;
  info.num_nodes = nnode;
  info.num_elem = nelem;
  info.num_elem_blk = r->nglobal;
  ExTry(r, ex_put_init_ext(r->exo, &info));

  PetscCall(
      PetscMalloc6(r->nglobal, &ids, r->nglobal, &types, r->nglobal, &count, r->nglobal, &eight, r->nglobal, &none, ELEM_VARS * r->nglobal, &table));
  for (PetscInt g = 0; g < r->nglobal; g++) {
    ids[g] = g + 1;
    types[g] = (char *)"HEX8";
    count[g] = (int)r->global[g].nelem;
    eight[g] = 8;
    none[g] = 0;
    for (PetscInt v = 0; v < ELEM_VARS; v++) table[ELEM_VARS * g + v] = 1;
  }
  blocks.elem_blk_id = ids;
  blocks.elem_type = types;
  blocks.num_elem_this_blk = count;
  blocks.num_nodes_per_elem = eight;
  blocks.num_edges_per_elem = none;
  blocks.num_faces_per_elem = none;
  blocks.num_attr_elem = none;
  ExTry(r, ex_put_concat_all_blocks(r->exo, &blocks));
  vars.num_node = NODE_VARS;
  vars.num_elem = ELEM_VARS;
  vars.elem_var_tab = table;
  ExTry(r, ex_put_all_var_param_ext(r->exo, &vars));
  ExTry(r, ex_put_variable_names(r->exo, EX_NODAL, NODE_VARS, (char **)node_vars));
  ExTry(r, ex_put_variable_names(r->exo, EX_ELEM_BLOCK, ELEM_VARS, (char **)elem_vars));
  ExTry(r, ex_put_coord_names(r->exo, axes));
  ExTry(r, ex_put_names(r->exo, EX_ELEM_BLOCK, names));
  PetscCall(PetscFree6(ids, types, count, eight, none, table));
  PetscFunctionReturn(0);
}

/* Placed coordinates (all x, all y, all z) and corners of a body. */
static void Place_Private(const ResultsBody *body, PetscReal *x, PetscInt *conn)
{
  const Mesh       m = body->mesh;
  const PetscReal *R = body->rotation;

  for (PetscInt i = 0; i < m->nnode; i++)
    for (PetscInt c = 0; c < 3; c++) {
      const PetscReal *X = m->coord + 3 * i;

      x[c * (size_t)m->nnode + i] = R[3 * c] * X[0] + R[3 * c + 1] * X[1] + R[3 * c + 2] * X[2] + body->shift[c];
    }
  for (PetscInt b = 0; b < m->nblock; b++) {
    PetscCallVoid(PetscArraycpy(conn, m->block[b].conn, 8 * m->block[b].nelem));
    conn += 8 * m->block[b].nelem;
  }
}

/* The bodies go to rank 0 one after the other. Synchronous sends, so that none piles up there before its turn. */
static PetscErrorCode WriteBodies_Private(Results r, const ResultsBody bodies[])
{
  PetscReal *x = NULL;
  PetscInt  *conn = NULL;
  int64_t   *wide = NULL;
  PetscInt   maxnode = 0, maxelem = 0;

  PetscFunctionBeginUser;
  for (PetscInt i = 0; i < r->nlocal; i++) {
    maxnode = PetscMax(maxnode, r->local[i].mesh->nnode);
    maxelem = PetscMax(maxelem, r->local[i].mesh->nelem);
  }
  for (PetscInt g = 0; !r->rank && g < r->nglobal; g++) {
    maxnode = PetscMax(maxnode, r->global[g].nnode);
    maxelem = PetscMax(maxelem, r->global[g].nelem);
  }
  PetscCall(PetscMalloc3(3 * (size_t)maxnode, &x, 8 * (size_t)maxelem, &conn, r->rank ? 0 : 8 * (size_t)maxelem, &wide));
  if (r->rank) {
    for (PetscInt i = 0; i < r->nlocal; i++) {
      Mesh m = r->local[i].mesh;

      Place_Private(&bodies[r->local[i].place], x, conn);
      PetscCallMPI(MPI_Ssend(x, 3 * m->nnode, MPIU_REAL, 0, r->tag, r->comm));
      PetscCallMPI(MPI_Send(conn, 8 * m->nelem, MPIU_INT, 0, r->tag, r->comm));
    }
  } else {
    for (PetscInt g = 0; g < r->nglobal; g++) {
      const GlobalBody *body = &r->global[g];
      const size_t      n = (size_t)body->nnode;

      if (body->owner) {
        PetscCallMPI(MPI_Recv(x, 3 * body->nnode, MPIU_REAL, body->owner, r->tag, r->comm, MPI_STATUS_IGNORE));
        PetscCallMPI(MPI_Recv(conn, 8 * body->nelem, MPIU_INT, body->owner, r->tag, r->comm, MPI_STATUS_IGNORE));
      } else
        Place_Private(&bodies[r->local[body->local].place], x, conn);
      for (size_t i = 0; i < 8 * (size_t)body->nelem; i++) wide[i] = body->first + conn[i] + 1;
      ExTry(r, ex_put_partial_coord(r->exo, body->first + 1, body->nnode, x, x + n, x + 2 * n));
      ExTry(r, ex_put_conn(r->exo, EX_ELEM_BLOCK, g + 1, wide, NULL, NULL));
    }
  }
  PetscCall(PetscFree3(x, conn, wide));
  PetscFunctionReturn(0);
}

/* Drops all but the first n times. NetCDF cannot forget records, but in its classic formats their number is a big-endian 32-bit integer
   behind the four bytes "CDF" and version. (In a netCDF-4 file later times stay until they are overwritten.) */
static void KeepTimes_Private(Results r, PetscInt n)
{
  const unsigned char count[4] = {(unsigned char)(n >> 24), (unsigned char)(n >> 16), (unsigned char)(n >> 8), (unsigned char)n};
  unsigned char       magic[4];
  FILE               *fd;
  PetscBool           ok = PETSC_FALSE;

  errno = 0;
  fd    = fopen(r->file, "r+b");
  if (fd && fread(magic, 1, 4, fd) == 4) {
    if (memcmp(magic, "CDF", 3))
      ok = PETSC_TRUE;
    else if (magic[3] <= 2)
      ok = !fseek(fd, 4, SEEK_SET) && fwrite(count, 1, 4, fd) == 4 ? PETSC_TRUE : PETSC_FALSE;
  }
  if (fd && fclose(fd)) ok = PETSC_FALSE;
  if (!ok) Problem(r, "%s: cannot be continued: %s", r->file, errno ? strerror(errno) : "unknown format");
}

/* Opens the file of an earlier run, which must hold the same bodies, and keeps its times up to `time`. */
static PetscErrorCode Reopen_Private(Results r, PetscReal time, char **names)
{
  int            real_size = sizeof(PetscReal), file_size = 0, ntime, nvars[2] = {0, 0};
  const int      length = NameLength_Private(r, names);
  float          version;
  PetscInt64     nnode, nelem, largest;
  ex_init_params info;
  PetscReal     *times;
  PetscBool      same, whole;
  char          *name;

  PetscFunctionBeginUser;
  Sizes_Private(r, &nnode, &nelem, &largest);
  PetscCall(ExodusIsWhole_Private(r->file, &whole, NULL));
  r->exo = whole ? ex_open(r->file, EX_READ, &real_size, &file_size, &version) : -1;
  if (r->exo < 0) {
    Problem(r, "%s: cannot be continued, since it is no Exodus file or damaged; remove it or name another", r->file);
    PetscFunctionReturn(0);
  }
  ex_set_int64_status(r->exo, EX_ALL_INT64_API);
  ex_set_max_name_length(r->exo, (int)PetscMax(length, ex_inquire_int(r->exo, EX_INQ_DB_MAX_USED_NAME_LENGTH)));
  memset(&info, 0, sizeof(info));
  same = ex_get_init_ext(r->exo, &info) >= 0 && info.num_nodes == nnode && info.num_elem == nelem && info.num_elem_blk == r->nglobal ? PETSC_TRUE
                                                                                                                                     : PETSC_FALSE;
  if (same) {
    (void)ex_get_variable_param(r->exo, EX_NODAL, &nvars[0]);
    (void)ex_get_variable_param(r->exo, EX_ELEM_BLOCK, &nvars[1]);
    if (nvars[0] != NODE_VARS || nvars[1] != ELEM_VARS) same = PETSC_FALSE;
  }
  PetscCall(PetscCalloc1(PetscMax(length, (int)ex_inquire_int(r->exo, EX_INQ_DB_MAX_USED_NAME_LENGTH)) + 1, &name));
  for (PetscInt g = 0; same && g < r->nglobal; g++) {
    ex_block block = {.id = g + 1, .type = EX_ELEM_BLOCK};

    if (ex_get_block_param(r->exo, &block) < 0 || block.num_entry != r->global[g].nelem || ex_get_name(r->exo, EX_ELEM_BLOCK, g + 1, name) < 0 ||
        strcmp(name, names[g]))
      same = PETSC_FALSE;
  }
  PetscCall(PetscFree(name));
  if (!same) Problem(r, "%s: cannot be continued, since it holds other bodies than this run; remove it or name another", r->file);
  ntime = (int)ex_inquire_int(r->exo, EX_INQ_TIME);
  PetscCall(PetscCalloc1(PetscMax(ntime, 0) + 1, &times));
  if (same && ntime > 0 && ex_get_all_times(r->exo, times) < 0) Problem(r, "%s: cannot be continued, since its times cannot be read", r->file);
  ex_close(r->exo);
  r->exo = -1;
  if (!r->problem[0]) {
    while (r->nstep < ntime && times[r->nstep] <= time + 1e-12 * PetscAbsReal(time)) r->nstep++;
    if (r->nstep) r->last = times[r->nstep - 1];
    if (r->nstep < ntime) KeepTimes_Private(r, r->nstep);
  }
  PetscCall(PetscFree(times));
  if (r->problem[0]) PetscFunctionReturn(0);
  file_size = 0;
  r->exo = ex_open(r->file, EX_WRITE, &real_size, &file_size, &version);
  if (r->exo < 0)
    Problem(r, "%s: cannot be continued; may you write to it?", r->file);
  else
    ex_set_int64_status(r->exo, EX_ALL_INT64_API);
  PetscFunctionReturn(0);
}

static PetscErrorCode Open_Private(Results r, const ResultsBody bodies[], PetscBool append, PetscReal time)
{
  char       *text, **names, *part = NULL;
  size_t      length;
  PetscMPIInt reopen = 0;

  PetscFunctionBeginUser;
  PetscCall(GatherNames_Private(r, bodies, &text, &names));
  if (!r->rank) {
    ex_opts(0);
    reopen = append && !access(r->file, F_OK) ? 1 : 0;
    if (reopen)
      PetscCall(Reopen_Private(r, time, names));
    else { /* beside, and renamed once the bodies are in it: an earlier file stays until then */
      PetscCall(PetscStrlen(r->file, &length));
      PetscCall(PetscMalloc1(length + 6, &part));
      PetscCall(PetscSNPrintf(part, length + 6, "%s.part", r->file));
      PetscCall(Define_Private(r, part, names));
    }
  }
  PetscCallMPI(MPI_Bcast(&reopen, 1, MPI_INT, 0, r->comm));
  if (!reopen) PetscCall(WriteBodies_Private(r, bodies));
  if (!r->rank && !reopen) {
    ExTry(r, ex_update(r->exo));
    if (!r->problem[0] && rename(part, r->file)) Problem(r, "%s: %s", r->file, strerror(errno));
    if (r->problem[0] && r->exo >= 0) (void)unlink(part);
  }
  if (!r->rank && !r->problem[0]) {
    PetscBool whole;

    PetscCall(ExodusIsWhole_Private(r->file, &whole, r->place));
  }
  PetscCall(PetscFree(part));
  PetscCall(PetscFree(text));
  PetscCall(PetscFree(names));
  PetscCall(Agree_Private(r, 0));
  PetscFunctionReturn(0);
}

PetscErrorCode ResultsCreate(MPI_Comm comm, const char file[], PetscInt nglobal, PetscInt nlocal, const ResultsBody bodies[], PetscBool append,
                             PetscReal time, Results *results)
{
  Results        r;
  PetscErrorCode ierr;

  PetscFunctionBeginUser;
  *results = NULL;
  PetscCheck(nglobal > 0, comm, PETSC_ERR_USER_INPUT, "%s: there are no bodies to write", file);
  PetscCall(PetscNew(&r));
  PetscCall(PetscCommDuplicate(comm, &r->comm, &r->tag));
  PetscCallMPI(MPI_Comm_rank(r->comm, &r->rank));
  PetscCallMPI(MPI_Comm_size(r->comm, &r->size));
  PetscCall(PetscStrallocpy(file, &r->file));
  r->nglobal = nglobal;
  r->exo = -1;
  ierr = GatherBodies_Private(r, nlocal, bodies, PETSC_TRUE);
  if (!ierr) ierr = Open_Private(r, bodies, append, time);
  if (ierr) PetscCall(ResultsDestroy(&r));
  PetscCall(ierr);
  *results = r;
  PetscFunctionReturn(0);
}

PetscErrorCode ResultsSetBodies(Results results, PetscInt nlocal, const ResultsBody bodies[])
{
  PetscFunctionBeginUser;
  PetscCall(GatherBodies_Private(results, nlocal, bodies, PETSC_FALSE));
  PetscFunctionReturn(0);
}

static PetscErrorCode Evaluate_Private(const LocalBody *body, PetscReal time, ResultsFields fields, void *ctx, PetscReal *disp, PetscReal *vel,
                                       PetscReal *mises)
{
  PetscFunctionBeginUser;
  PetscCall(PetscArrayzero(disp, 3 * body->mesh->nnode));
  PetscCall(PetscArrayzero(vel, 3 * body->mesh->nnode));
  PetscCall(PetscArrayzero(mises, body->mesh->nelem));
  PetscCall((*fields)(ctx, body->place, time, disp, vel, mises));
  PetscFunctionReturn(0);
}

static void PutNodal_Private(Results r, int step, int variable, const GlobalBody *body, const PetscReal *field, PetscReal *component)
{
  for (PetscInt c = 0; c < 3; c++) {
    for (PetscInt i = 0; i < body->nnode; i++) component[i] = field[3 * i + c];
    ExTry(r, ex_put_partial_var(r->exo, step, EX_NODAL, variable + c, 1, body->first + 1, body->nnode, component));
  }
}

static void PutConstant_Private(Results r, int step, int variable, PetscInt g, PetscReal value, PetscReal *work)
{
  const PetscInt nelem = r->global[g].nelem;

  for (PetscInt e = 0; e < nelem; e++) work[e] = value;
  ExTry(r, ex_put_var(r->exo, step, EX_ELEM_BLOCK, variable, g + 1, nelem, work));
}

/* Asks the disk for room before a time is written: a continued file is written unbuffered, and netCDF is silent about what fails then. */
static void Reserve_Private(Results r, int step)
{
  int fd, error;

  if (!r->place[1] || r->problem[0]) return;
  fd    = open(r->file, O_WRONLY);
  error = fd < 0 ? errno : posix_fallocate(fd, 0, (off_t)(r->place[0] + step * r->place[1]));
  if (fd >= 0) (void)close(fd);
  if (error && error != EINVAL && error != EOPNOTSUPP) Problem(r, "%s: cannot be written: %s", r->file, strerror(error));
}

PetscErrorCode ResultsWrite(Results r, PetscReal time, ResultsFields fields, void *ctx)
{
  PetscReal     *disp, *vel, *mises, *work;
  PetscInt       maxnode = 0, maxelem = 0;
  PetscErrorCode ierr = 0;
  int            step = 0;

  PetscFunctionBeginUser;
  for (PetscInt i = 0; i < r->nlocal; i++) {
    maxnode = PetscMax(maxnode, r->local[i].mesh->nnode);
    maxelem = PetscMax(maxelem, r->local[i].mesh->nelem);
  }
  if (!r->rank) {
    const PetscReal close = 1e-12 * PetscMax(PetscAbsReal(time), PetscAbsReal(r->last));

    for (PetscInt g = 0; g < r->nglobal; g++) {
      maxnode = PetscMax(maxnode, r->global[g].nnode);
      maxelem = PetscMax(maxelem, r->global[g].nelem);
    }
    step = (int)r->nstep + 1;
    if (r->nstep && PetscAbsReal(time - r->last) <= close)
      step = (int)r->nstep;
    else if (r->nstep && time < r->last)
      Problem(r, "%s: time %g comes after time %g", r->file, (double)time, (double)r->last);
    Reserve_Private(r, step);
  }
  r->broken = PETSC_TRUE;
  PetscCall(PetscCalloc4(3 * (size_t)maxnode, &disp, 3 * (size_t)maxnode, &vel, (size_t)maxelem, &mises, (size_t)PetscMax(maxnode, maxelem), &work));
  if (r->rank) {
    /* A rank whose caller fails still sends, so that rank 0 does not wait; what it sends then is never shown. */
    for (PetscInt i = 0; i < r->nlocal; i++) {
      Mesh m = r->local[i].mesh;

      if (!ierr) ierr = Evaluate_Private(&r->local[i], time, fields, ctx, disp, vel, mises);
      PetscCallMPI(MPI_Ssend(disp, 3 * m->nnode, MPIU_REAL, 0, r->tag, r->comm));
      PetscCallMPI(MPI_Send(vel, 3 * m->nnode, MPIU_REAL, 0, r->tag, r->comm));
      PetscCallMPI(MPI_Send(mises, m->nelem, MPIU_REAL, 0, r->tag, r->comm));
    }
  } else {
    for (PetscInt g = 0; g < r->nglobal; g++) {
      const GlobalBody *body = &r->global[g];

      if (body->owner) {
        PetscCallMPI(MPI_Recv(disp, 3 * body->nnode, MPIU_REAL, body->owner, r->tag, r->comm, MPI_STATUS_IGNORE));
        PetscCallMPI(MPI_Recv(vel, 3 * body->nnode, MPIU_REAL, body->owner, r->tag, r->comm, MPI_STATUS_IGNORE));
        PetscCallMPI(MPI_Recv(mises, body->nelem, MPIU_REAL, body->owner, r->tag, r->comm, MPI_STATUS_IGNORE));
      } else if (!ierr)
        ierr = Evaluate_Private(&r->local[body->local], time, fields, ctx, disp, vel, mises);
      PutNodal_Private(r, step, 1, body, disp, work);
      PutNodal_Private(r, step, 4, body, vel, work);
      ExTry(r, ex_put_var(r->exo, step, EX_ELEM_BLOCK, 1, g + 1, body->nelem, mises));
      PutConstant_Private(r, step, 2, g, body->owner, work);
      PutConstant_Private(r, step, 3, g, body->formulation, work);
    }
    ExTry(r, ex_put_time(r->exo, step, &time));
  }
  PetscCall(PetscFree4(disp, vel, mises, work));
  PetscCall(Agree_Private(r, ierr));
  if (!r->rank) { /* only now do readers see the time */
    ExTry(r, ex_update(r->exo));
    if (!r->problem[0]) {
      r->nstep = step;
      r->last = time;
    }
  }
  PetscCall(Agree_Private(r, 0));
  r->broken = PETSC_FALSE;
  PetscFunctionReturn(0);
}

PetscErrorCode ResultsGetCount(Results r, PetscInt *count)
{
  PetscFunctionBeginUser;
  *count = r->nstep;
  PetscCallMPI(MPI_Bcast(count, 1, MPIU_INT, 0, r->comm));
  PetscFunctionReturn(0);
}

PetscErrorCode ResultsDestroy(Results *results)
{
  Results r = *results;

  PetscFunctionBeginUser;
  if (!r) PetscFunctionReturn(0);
  if (r->exo >= 0) {
    (void)ex_close(r->exo);
    if (r->broken) KeepTimes_Private(r, r->nstep); /* what was written of a time that failed */
  }
  PetscCall(PetscFree(r->global));
  PetscCall(PetscFree(r->local));
  PetscCall(PetscFree(r->file));
  PetscCall(PetscCommDestroy(&r->comm));
  PetscCall(PetscFree(*results));
  PetscFunctionReturn(0);
}
