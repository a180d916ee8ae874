#include "meshes/results_impl.h"
#include <unistd.h>

enum { CHUNK = 1 << 22 }; /* bytes of the bodies that rank 0 takes at once, unless one has more */
static const char *const node_vars[RESULTS_NODE_VARS] = {"displacement_x", "displacement_y", "displacement_z", "velocity_x", "velocity_y", "velocity_z", "contact_x", "contact_y", "contact_z"};
static const char *const elem_vars[RESULTS_ELEM_VARS] = {"mises", "rank", "formulation"};

PetscErrorCode ResultsAgree_Private(Results r, PetscErrorCode ierr)
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

/* Consecutive bodies up to CHUNK bytes, or one */
static PetscErrorCode Chunks_Private(Results r)
{
  PetscFunctionBeginUser;
  if (!r->rank) {
    PetscInt64 bytes = 0;

    PetscCall(PetscMalloc1(r->nglobal + 1, &r->chunk));
    for (PetscInt g = 0; g < r->nglobal; g++) {
      const PetscInt64 own = RESULTS_NODE_VARS * (PetscInt64)sizeof(PetscReal) * r->global[g].nnode + 8 * (PetscInt64)(sizeof(PetscInt) + sizeof(int64_t)) * r->global[g].nelem;

      if (!g || bytes + own > CHUNK) {
        r->chunk[r->nchunk++] = g;
        bytes = 0;
      }
      bytes += own;
    }
    r->chunk[r->nchunk] = r->nglobal;
  }
  PetscCallMPI(MPI_Bcast(&r->nchunk, 1, MPIU_INT, 0, r->comm));
  if (r->rank) PetscCall(PetscMalloc1(r->nchunk + 1, &r->chunk));
  PetscCallMPI(MPI_Bcast(r->chunk, (PetscMPIInt)(r->nchunk + 1), MPIU_INT, 0, r->comm));
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
          ResultsProblem(r, "%s: body %d is given twice or out of range", r->file, (int)all[i]);
          continue;
        }
        body = &r->global[all[i]];
        if (!first && (body->nnode != all[i + 1] || body->nelem != all[i + 2]))
          ResultsProblem(r, "%s: body %d has another mesh than before", r->file, (int)all[i]);
        body->owner = p;
        body->nnode = all[i + 1];
        body->nelem = all[i + 2];
        body->formulation = all[i + 3];
      }
    for (PetscInt g = 0; g < r->nglobal; g++) {
      if (r->global[g].owner < 0) ResultsProblem(r, "%s: body %d is on no rank", r->file, (int)g);
      r->global[g].first = total;
      total += r->global[g].nnode;
    }
  }
  PetscCall(PetscFree(all));
  PetscCall(PetscFree2(counts, starts));
  PetscCall(PetscFree(mine));
  PetscCall(ResultsAgree_Private(r, 0));
  if (first) PetscCall(Chunks_Private(r));
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
    ResultsProblem(r, "%s: cannot be created: %s", r->file, strerror(errno));
    PetscFunctionReturn(0);
  }
  (void)fclose(probe);
  r->exo = ex_create(part, ExodusMode_Private(PetscMax(nnode * (PetscInt64)sizeof(PetscReal), 32 * largest)), &real_size, &file_size);
  if (r->exo < 0) {
    ResultsProblem(r, "%s: cannot be written; is the disk full?", r->file);
    PetscFunctionReturn(0);
  }
  ex_set_int64_status(r->exo, EX_ALL_INT64_API);
  ex_set_max_name_length(r->exo, NameLength_Private(r, names));
  (void)snprintf(info.title, sizeof(info.title), "Ashlar results");
  info.num_dim = 3;
  info.num_nodes = nnode;
  info.num_elem = nelem;
  info.num_elem_blk = r->nglobal;
  ResultsTry(r, ex_put_init_ext(r->exo, &info));

  PetscCall(
      PetscMalloc6(r->nglobal, &ids, r->nglobal, &types, r->nglobal, &count, r->nglobal, &eight, r->nglobal, &none, RESULTS_ELEM_VARS * r->nglobal, &table));
  for (PetscInt g = 0; g < r->nglobal; g++) {
    ids[g] = g + 1;
    types[g] = (char *)"HEX8";
    count[g] = (int)r->global[g].nelem;
    eight[g] = 8;
    none[g] = 0;
    for (PetscInt v = 0; v < RESULTS_ELEM_VARS; v++) table[RESULTS_ELEM_VARS * g + v] = 1;
  }
  blocks.elem_blk_id = ids;
  blocks.elem_type = types;
  blocks.num_elem_this_blk = count;
  blocks.num_nodes_per_elem = eight;
  blocks.num_edges_per_elem = none;
  blocks.num_faces_per_elem = none;
  blocks.num_attr_elem = none;
  ResultsTry(r, ex_put_concat_all_blocks(r->exo, &blocks));
  vars.num_node = RESULTS_NODE_VARS;
  vars.num_elem = RESULTS_ELEM_VARS;
  vars.elem_var_tab = table;
  ResultsTry(r, ex_put_all_var_param_ext(r->exo, &vars));
  ResultsTry(r, ex_put_variable_names(r->exo, EX_NODAL, RESULTS_NODE_VARS, (char **)node_vars));
  ResultsTry(r, ex_put_variable_names(r->exo, EX_ELEM_BLOCK, RESULTS_ELEM_VARS, (char **)elem_vars));
  ResultsTry(r, ex_put_coord_names(r->exo, axes));
  ResultsTry(r, ex_put_names(r->exo, EX_ELEM_BLOCK, names));
  PetscCall(PetscFree6(ids, types, count, eight, none, table));
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
  if (!ok) ResultsProblem(r, "%s: cannot be continued: %s", r->file, errno ? strerror(errno) : "unknown format");
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
  PetscCall(ExodusIsWhole_Private(r->file, &whole, NULL, NULL, NULL));
  r->exo = whole ? ex_open(r->file, EX_READ, &real_size, &file_size, &version) : -1;
  if (r->exo < 0) {
    ResultsProblem(r, "%s: cannot be continued, since it is no Exodus file or damaged; remove it or name another", r->file);
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
    if (nvars[0] != RESULTS_NODE_VARS || nvars[1] != RESULTS_ELEM_VARS) same = PETSC_FALSE;
  }
  PetscCall(PetscCalloc1(PetscMax(length, (int)ex_inquire_int(r->exo, EX_INQ_DB_MAX_USED_NAME_LENGTH)) + 1, &name));
  for (PetscInt g = 0; same && g < r->nglobal; g++) {
    ex_block block = {.id = g + 1, .type = EX_ELEM_BLOCK};

    if (ex_get_block_param(r->exo, &block) < 0 || block.num_entry != r->global[g].nelem || ex_get_name(r->exo, EX_ELEM_BLOCK, g + 1, name) < 0 ||
        strcmp(name, names[g]))
      same = PETSC_FALSE;
  }
  PetscCall(PetscFree(name));
  if (!same) ResultsProblem(r, "%s: cannot be continued, since it holds other bodies than this run; remove it or name another", r->file);
  ntime = (int)ex_inquire_int(r->exo, EX_INQ_TIME);
  PetscCall(PetscCalloc1(PetscMax(ntime, 0) + 1, &times));
  if (same && ntime > 0 && ex_get_all_times(r->exo, times) < 0) ResultsProblem(r, "%s: cannot be continued, since its times cannot be read", r->file);
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
    ResultsProblem(r, "%s: cannot be continued; may you write to it?", r->file);
  else
    ex_set_int64_status(r->exo, EX_ALL_INT64_API);
  PetscFunctionReturn(0);
}

/* From here on the file is written directly, if its format allows it. */
static PetscErrorCode OpenTimes_Private(Results r)
{
  PetscInt  *nelem;
  PetscInt64 nnode, all, largest;

  PetscFunctionBeginUser;
  Sizes_Private(r, &nnode, &all, &largest);
  PetscCall(PetscMalloc1(r->nglobal, &nelem));
  for (PetscInt g = 0; g < r->nglobal; g++) nelem[g] = r->global[g].nelem;
  PetscCall(ExodusTimesOpen_Private(r->file, RESULTS_NODE_VARS, nnode, RESULTS_ELEM_VARS, r->nglobal, nelem, &r->times));
  PetscCall(PetscFree(nelem));
  if (r->times) {
    const int failed = ex_close(r->exo);

    r->exo = -1;
    if (failed < 0) ResultsProblem(r, "%s: cannot be written; is the disk full?", r->file);
  }
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
  if (!reopen) PetscCall(ResultsWriteBodies_Private(r, bodies));
  if (!r->rank && !reopen) {
    ResultsTry(r, ex_update(r->exo));
    if (!r->problem[0] && rename(part, r->file)) ResultsProblem(r, "%s: %s", r->file, strerror(errno));
    if (r->problem[0] && r->exo >= 0) (void)unlink(part);
  }
  if (!r->rank && !r->problem[0]) PetscCall(OpenTimes_Private(r));
  PetscCall(PetscFree(part));
  PetscCall(PetscFree(text));
  PetscCall(PetscFree(names));
  PetscCall(ResultsAgree_Private(r, 0));
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
  PetscCall(ExodusTimesClose_Private(&r->times));
  PetscCall(PetscFree(r->chunk));
  PetscCall(PetscFree(r->global));
  PetscCall(PetscFree(r->local));
  PetscCall(PetscFree(r->file));
  PetscCall(PetscCommDestroy(&r->comm));
  PetscCall(PetscFree(*results));
  PetscFunctionReturn(0);
}
