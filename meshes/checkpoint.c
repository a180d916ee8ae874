#include "checkpoint.h"
#include <errno.h>
#include <fcntl.h>
#include <hdf5.h>
#include <petscsf.h>
#include <petscviewerhdf5.h>
#include <unistd.h>

#define CHECKPOINT_VERSION 2

/* The records as they are in the file, and on this rank */
typedef struct {
  Vec        lengths, natural, local;
  VecScatter scatter; /* natural to local */
} Records;

static PetscErrorCode RecordsDestroy_Private(Records *r)
{
  PetscFunctionBeginUser;
  PetscCall(VecDestroy(&r->lengths));
  PetscCall(VecDestroy(&r->natural));
  PetscCall(VecDestroy(&r->local));
  PetscCall(VecScatterDestroy(&r->scatter));
  PetscFunctionReturn(0);
}

/* Where each body's record begins in the file: bodies' numbers are spread evenly, lengths go there, a scan comes back. */
static PetscErrorCode RecordsCreate_Private(MPI_Comm comm, PetscInt nbody, PetscInt n, const PetscInt id[], const PetscInt length[], Records *r)
{
  PetscLayout layout;
  PetscSF     sf;
  PetscInt    nroot, total = 0, first, *rootlen, *rootoff, *leafoff, *index, k = 0;
  IS          is;
  PetscReal  *a;

  PetscFunctionBeginUser;
  PetscCall(PetscLayoutCreateFromSizes(comm, PETSC_DECIDE, nbody, 1, &layout));
  PetscCall(PetscLayoutGetLocalSize(layout, &nroot));
  PetscCall(PetscSFCreate(comm, &sf));
  PetscCall(PetscSFSetGraphLayout(sf, layout, n, NULL, PETSC_COPY_VALUES, id));
  PetscCall(PetscMalloc3(nroot, &rootlen, nroot, &rootoff, n, &leafoff));
  PetscCall(PetscArrayzero(rootlen, nroot));
  PetscCall(PetscSFReduceBegin(sf, MPIU_INT, length, rootlen, MPI_REPLACE));
  PetscCall(PetscSFReduceEnd(sf, MPIU_INT, length, rootlen, MPI_REPLACE));
  PetscCall(VecCreateMPI(comm, nroot, nbody, &r->lengths));
  PetscCall(PetscObjectSetName((PetscObject)r->lengths, "lengths"));
  PetscCall(VecGetArray(r->lengths, &a));
  for (PetscInt i = 0; i < nroot; i++) {
    a[i] = rootlen[i];
    total += rootlen[i];
  }
  PetscCall(VecRestoreArray(r->lengths, &a));
  PetscCallMPI(MPI_Scan(&total, &first, 1, MPIU_INT, MPI_SUM, comm));
  first -= total;
  for (PetscInt i = 0; i < nroot; i++) {
    rootoff[i] = first;
    first += rootlen[i];
  }
  PetscCall(PetscSFBcastBegin(sf, MPIU_INT, rootoff, leafoff, MPI_REPLACE));
  PetscCall(PetscSFBcastEnd(sf, MPIU_INT, rootoff, leafoff, MPI_REPLACE));
  PetscCall(PetscSFDestroy(&sf));
  PetscCall(PetscLayoutDestroy(&layout));
  for (PetscInt i = 0; i < n; i++) k += length[i];
  PetscCall(PetscMalloc1(k, &index));
  k = 0;
  for (PetscInt i = 0; i < n; i++)
    for (PetscInt j = 0; j < length[i]; j++) index[k++] = leafoff[i] + j;
  PetscCall(VecCreateMPI(comm, total, PETSC_DETERMINE, &r->natural));
  PetscCall(PetscObjectSetName((PetscObject)r->natural, "state"));
  PetscCall(VecCreateSeq(PETSC_COMM_SELF, k, &r->local));
  PetscCall(ISCreateGeneral(PETSC_COMM_SELF, k, index, PETSC_OWN_POINTER, &is));
  PetscCall(VecScatterCreate(r->natural, is, r->local, NULL, &r->scatter));
  PetscCall(ISDestroy(&is));
  PetscCall(PetscFree3(rootlen, rootoff, leafoff));
  PetscFunctionReturn(0);
}

/* head, extra numbers and rows of each table as one small replicated vector; integers below 2^53 are exact */
enum { HEAD_VERSION, HEAD_T0, HEAD_TIME, HEAD_DT, HEAD_STEP, HEAD_NBODY, HEAD_NEXTRA, HEAD_NTABLE, HEAD_SIZE };

/* HDF5 and PETSc have much to say about a file that fails; a user gets one line instead. */
typedef struct {
  H5E_auto2_t print;
  void       *data;
} Quiet;

static PetscErrorCode QuietBegin_Private(Quiet *q)
{
  PetscFunctionBeginUser;
  (void)H5Eget_auto2(H5E_DEFAULT, &q->print, &q->data);
  (void)H5Eset_auto2(H5E_DEFAULT, NULL, NULL);
  PetscCall(PetscPushErrorHandler(PetscReturnErrorHandler, NULL));
  PetscFunctionReturn(0);
}

/* Collective: whether any rank had an error meanwhile */
static PetscErrorCode QuietEnd_Private(Quiet *q, MPI_Comm comm, PetscErrorCode ierr, PetscMPIInt *failed)
{
  PetscMPIInt mine = ierr ? 1 : 0;

  PetscFunctionBeginUser;
  PetscCall(PetscPopErrorHandler());
  (void)H5Eset_auto2(H5E_DEFAULT, q->print, q->data);
  PetscCallMPI(MPI_Allreduce(&mine, failed, 1, MPI_INT, MPI_MAX, comm));
  PetscFunctionReturn(0);
}

/* Makes the file and asks the disk for room. Ranks that write together wait for each other, and one that fails then would leave the
   others waiting: so what can fail must fail here, on rank 0 alone. */
static int CheckpointReserve_Private(const char part[], PetscInt64 bytes)
{
  const int fd = open(part, O_WRONLY | O_CREAT | O_TRUNC, 0666);
  int       error;

  if (fd < 0) return errno;
  error = posix_fallocate(fd, 0, (off_t)bytes);
  if (error == EINVAL || error == EOPNOTSUPP) error = 0; /* this disk does not tell */
  if (close(fd) && !error) error = errno;
  return error;
}

/* Empty tables are not in the file. */
static PetscErrorCode TablesCreate_Private(MPI_Comm comm, PetscInt ntable, const CheckpointTable table[], Vec **rows)
{
  PetscFunctionBeginUser;
  PetscCall(PetscCalloc1(ntable, rows));
  for (PetscInt i = 0; i < ntable; i++) {
    PetscInt n = table[i].n;

    PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, &n, 1, MPIU_INT, MPI_SUM, comm));
    if (!n) continue;
    PetscCall(VecCreateMPI(comm, table[i].n * table[i].width, PETSC_DETERMINE, &(*rows)[i]));
    PetscCall(PetscObjectSetName((PetscObject)(*rows)[i], table[i].name));
  }
  PetscFunctionReturn(0);
}

static PetscErrorCode TablesDestroy_Private(PetscInt ntable, Vec **rows)
{
  PetscFunctionBeginUser;
  for (PetscInt i = 0; i < ntable; i++) PetscCall(VecDestroy(&(*rows)[i]));
  PetscCall(PetscFree(*rows));
  PetscFunctionReturn(0);
}

static PetscErrorCode CheckpointPut_Private(MPI_Comm comm, const char part[], Vec numbers, const Records *r, PetscInt ntable, const Vec rows[])
{
  PetscViewer    viewer = NULL;
  PetscErrorCode ierr, last;

  PetscFunctionBeginUser;
  ierr = PetscViewerHDF5Open(comm, part, FILE_MODE_WRITE, &viewer);
  if (!ierr) ierr = VecView(numbers, viewer);
  if (!ierr) ierr = VecView(r->lengths, viewer);
  if (!ierr) ierr = VecView(r->natural, viewer);
  for (PetscInt i = 0; i < ntable && !ierr; i++)
    if (rows[i]) ierr = VecView(rows[i], viewer);
  last = PetscViewerDestroy(&viewer);
  PetscFunctionReturn(ierr ? ierr : last);
}

static PetscErrorCode CheckpointSave_Private(MPI_Comm comm, const char file[], Vec numbers, const Records *r, PetscInt ntable, const Vec rows[])
{
  char           part[PETSC_MAX_PATH_LEN];
  PetscMPIInt    rank, failed;
  PetscInt       n[3], more = 0;
  PetscErrorCode ierr;
  Quiet          quiet;
  int            error = 0;

  PetscFunctionBeginUser;
  PetscCallMPI(MPI_Comm_rank(comm, &rank));
  PetscCall(PetscSNPrintf(part, sizeof(part), "%s.part", file));
  PetscCall(VecGetSize(numbers, &n[0]));
  PetscCall(VecGetSize(r->lengths, &n[1]));
  PetscCall(VecGetSize(r->natural, &n[2]));
  for (PetscInt i = 0; i < ntable; i++) {
    PetscInt size = 0;

    if (rows[i]) PetscCall(VecGetSize(rows[i], &size));
    more += size;
  }
  if (rank == 0) error = CheckpointReserve_Private(part, 16384 + (PetscInt64)sizeof(PetscReal) * ((PetscInt64)n[0] + n[1] + n[2] + more));
  PetscCallMPI(MPI_Bcast(&error, 1, MPI_INT, 0, comm));
  if (!error) {
    PetscCall(QuietBegin_Private(&quiet));
    ierr = CheckpointPut_Private(comm, part, numbers, r, ntable, rows);
    PetscCall(QuietEnd_Private(&quiet, comm, ierr, &failed)); /* from here on all ranks have closed it */
    if (failed) error = -1;
    if (rank == 0 && !error && rename(part, file)) error = errno;
    PetscCallMPI(MPI_Bcast(&error, 1, MPI_INT, 0, comm));
  }
  if (error && rank == 0) (void)unlink(part);
  PetscCheck(!error, PETSC_COMM_SELF, PETSC_ERR_USER_INPUT, "checkpoint: '%s' cannot be written: %s", file, error < 0 ? "is the disk full?" : strerror(error));
  PetscFunctionReturn(0);
}

PetscErrorCode CheckpointWrite(MPI_Comm comm, const char file[], const CheckpointHead *head, PetscInt nextra, const PetscReal extra[], PetscInt n, const PetscInt id[], const PetscInt length[],
                               const PetscReal data[], PetscInt ntable, const CheckpointTable table[])
{
  Vec            numbers, *rows;
  Records        r = {0};
  PetscMPIInt    rank;
  PetscReal     *a;
  PetscInt       size;
  PetscErrorCode ierr;

  PetscFunctionBeginUser;
  PetscCallMPI(MPI_Comm_rank(comm, &rank));
  PetscCall(RecordsCreate_Private(comm, head->nbody, n, id, length, &r));
  PetscCall(VecGetLocalSize(r.local, &size));
  PetscCall(VecGetArray(r.local, &a));
  PetscCall(PetscArraycpy(a, data, size));
  PetscCall(VecRestoreArray(r.local, &a));
  PetscCall(VecScatterBegin(r.scatter, r.local, r.natural, INSERT_VALUES, SCATTER_REVERSE));
  PetscCall(VecScatterEnd(r.scatter, r.local, r.natural, INSERT_VALUES, SCATTER_REVERSE));
  PetscCall(VecCreateMPI(comm, rank == 0 ? HEAD_SIZE + nextra + ntable : 0, PETSC_DETERMINE, &numbers));
  PetscCall(PetscObjectSetName((PetscObject)numbers, "run"));
  if (rank == 0) {
    PetscCall(VecGetArray(numbers, &a));
    a[HEAD_VERSION] = CHECKPOINT_VERSION;
    a[HEAD_T0]      = head->t0;
    a[HEAD_TIME]    = head->time;
    a[HEAD_DT]      = head->dt;
    a[HEAD_STEP]    = head->step;
    a[HEAD_NBODY]   = head->nbody;
    a[HEAD_NEXTRA]  = nextra;
    a[HEAD_NTABLE]  = ntable;
    PetscCall(PetscArraycpy(a + HEAD_SIZE, extra, nextra));
    PetscCall(VecRestoreArray(numbers, &a));
  }
  PetscCall(TablesCreate_Private(comm, ntable, table, &rows));
  for (PetscInt i = 0; i < ntable; i++) {
    if (rows[i]) {
      PetscCall(VecGetArray(rows[i], &a));
      PetscCall(PetscArraycpy(a, table[i].row, table[i].n * table[i].width));
      PetscCall(VecRestoreArray(rows[i], &a));
      PetscCall(VecGetSize(rows[i], &size));
    }
    if (rank == 0) PetscCall(VecSetValue(numbers, HEAD_SIZE + nextra + i, rows[i] ? size / table[i].width : 0, INSERT_VALUES));
  }
  PetscCall(VecAssemblyBegin(numbers));
  PetscCall(VecAssemblyEnd(numbers));
  ierr = CheckpointSave_Private(comm, file, numbers, &r, ntable, rows);
  PetscCall(TablesDestroy_Private(ntable, &rows));
  PetscCall(VecDestroy(&numbers));
  PetscCall(RecordsDestroy_Private(&r));
  PetscCall(ierr);
  PetscFunctionReturn(0);
}

/* Number of entries of a one-dimensional dataset of real numbers, -1 if there is no such; the first `room` of them. Quiet, on one rank. */
static PetscInt64 CheckpointLook_Private(hid_t h5, const char name[], PetscInt64 room, PetscReal first[])
{
  PetscInt64 size = -1;
  hid_t      set, space, type;

  if (H5Lexists(h5, name, H5P_DEFAULT) <= 0) return -1;
  set = H5Dopen2(h5, name, H5P_DEFAULT);
  if (set < 0) return -1;
  space = H5Dget_space(set);
  type  = H5Dget_type(set);
  if (H5Sget_simple_extent_ndims(space) == 1 && H5Tget_class(type) == H5T_FLOAT) size = (PetscInt64)H5Sget_simple_extent_npoints(space);
  if (size > 0 && room > 0) {
    const hsize_t start = 0, count = (hsize_t)PetscMin(size, room);
    const hid_t   memory = H5Screate_simple(1, &count, NULL);

    if (H5Sselect_hyperslab(space, H5S_SELECT_SET, &start, NULL, &count, NULL) < 0 || H5Dread(set, H5T_NATIVE_DOUBLE, memory, space, H5P_DEFAULT, first) < 0) size = -1;
    H5Sclose(memory);
  }
  H5Tclose(type);
  H5Sclose(space);
  H5Dclose(set);
  return size;
}

/* Looks at the file before all ranks open it: it must be a checkpoint of this model. Fills run[HEAD_SIZE + nextra + ntable] on all ranks. */
static PetscErrorCode CheckpointExamine_Private(MPI_Comm comm, const char file[], PetscInt nbody, PetscInt nextra, PetscInt ntable, const CheckpointTable table[], const Records *r, PetscReal run[])
{
  PetscInt64  have[3] = {-1, -1, -1};
  PetscInt    size;
  PetscMPIInt rank, whole = 1;

  PetscFunctionBeginUser;
  PetscCallMPI(MPI_Comm_rank(comm, &rank));
  PetscCall(PetscArrayzero(run, HEAD_SIZE + nextra + ntable));
  if (rank == 0) {
    hid_t h5;

    H5E_BEGIN_TRY
    {
      h5 = H5Fopen(file, H5F_ACC_RDONLY, H5P_DEFAULT);
      if (h5 >= 0) {
        have[0] = CheckpointLook_Private(h5, "run", HEAD_SIZE + nextra + ntable, run);
        have[1] = CheckpointLook_Private(h5, "lengths", 0, NULL);
        have[2] = CheckpointLook_Private(h5, "state", 0, NULL);
        for (PetscInt i = 0; i < ntable; i++) {
          const PetscInt64 rows = (PetscInt64)run[HEAD_SIZE + nextra + i];

          if (rows && CheckpointLook_Private(h5, table[i].name, 0, NULL) != rows * table[i].width) whole = 0;
        }
        H5Fclose(h5);
      }
    }
    H5E_END_TRY
  }
  PetscCallMPI(MPI_Bcast(have, 3, MPIU_INT64, 0, comm));
  PetscCallMPI(MPI_Bcast(run, (PetscMPIInt)(HEAD_SIZE + nextra + ntable), MPIU_REAL, 0, comm));
  PetscCallMPI(MPI_Bcast(&whole, 1, MPI_INT, 0, comm));
  PetscCheck(have[0] > 0 && have[1] >= 0 && have[2] >= 0, PETSC_COMM_SELF, PETSC_ERR_USER_INPUT, "restart: '%s' cannot be opened or is not a whole checkpoint", file);
  PetscCheck(run[HEAD_VERSION] == CHECKPOINT_VERSION && have[0] == HEAD_SIZE + nextra + ntable && run[HEAD_NEXTRA] == nextra && run[HEAD_NTABLE] == ntable, PETSC_COMM_SELF, PETSC_ERR_USER_INPUT,
             "restart: '%s' was written by another version of the program", file);
  PetscCheck(whole, PETSC_COMM_SELF, PETSC_ERR_USER_INPUT, "restart: '%s' is not a whole checkpoint", file);
  PetscCall(VecGetSize(r->natural, &size));
  PetscCheck(have[1] == nbody && have[2] == size && run[HEAD_NBODY] == nbody, PETSC_COMM_SELF, PETSC_ERR_USER_INPUT,
             "restart: '%s' is of another model (%" PRId64 " bodies and %" PRId64 " numbers there, %" PetscInt_FMT " and %" PetscInt_FMT " here)", file, have[1], have[2], nbody, size);
  PetscFunctionReturn(0);
}

static PetscErrorCode CheckpointGet_Private(MPI_Comm comm, const char file[], Vec stored, const Records *r, PetscInt ntable, const Vec rows[])
{
  PetscViewer    viewer = NULL;
  PetscErrorCode ierr, last;

  PetscFunctionBeginUser;
  ierr = PetscViewerHDF5Open(comm, file, FILE_MODE_READ, &viewer);
  if (!ierr) ierr = VecLoad(stored, viewer);
  if (!ierr) ierr = VecLoad(r->natural, viewer);
  for (PetscInt i = 0; i < ntable && !ierr; i++)
    if (rows[i]) ierr = VecLoad(rows[i], viewer);
  last = PetscViewerDestroy(&viewer);
  PetscFunctionReturn(ierr ? ierr : last);
}

static PetscErrorCode CheckpointLoad_Private(MPI_Comm comm, const char file[], const Records *r, PetscInt ntable, const Vec rows[])
{
  Vec            stored;
  PetscBool      same = PETSC_FALSE;
  PetscMPIInt    failed;
  PetscErrorCode ierr;
  Quiet          quiet;

  PetscFunctionBeginUser;
  PetscCall(VecDuplicate(r->lengths, &stored));
  PetscCall(PetscObjectSetName((PetscObject)stored, "lengths"));
  PetscCall(QuietBegin_Private(&quiet));
  ierr = CheckpointGet_Private(comm, file, stored, r, ntable, rows);
  PetscCall(QuietEnd_Private(&quiet, comm, ierr, &failed));
  if (!failed) PetscCall(VecEqual(stored, r->lengths, &same));
  PetscCall(VecDestroy(&stored));
  PetscCheck(!failed, PETSC_COMM_SELF, PETSC_ERR_USER_INPUT, "restart: '%s' cannot be read", file);
  PetscCheck(same, PETSC_COMM_SELF, PETSC_ERR_USER_INPUT, "restart: '%s' is of another model: its bodies have other numbers of unknowns", file);
  PetscFunctionReturn(0);
}

PetscErrorCode CheckpointRead(MPI_Comm comm, const char file[], CheckpointHead *head, PetscInt nextra, PetscReal extra[], PetscInt n, const PetscInt id[], const PetscInt length[], PetscReal data[],
                              PetscInt ntable, CheckpointTable table[])
{
  Records          r = {0};
  Vec             *rows = NULL;
  PetscReal       *run;
  const PetscReal *a;
  PetscInt         size;
  PetscMPIInt      rank, nrank;
  PetscErrorCode   ierr;

  PetscFunctionBeginUser;
  PetscCallMPI(MPI_Comm_rank(comm, &rank));
  PetscCallMPI(MPI_Comm_size(comm, &nrank));
  PetscCall(RecordsCreate_Private(comm, head->nbody, n, id, length, &r));
  PetscCall(PetscMalloc1(HEAD_SIZE + nextra + ntable, &run));
  ierr = CheckpointExamine_Private(comm, file, head->nbody, nextra, ntable, table, &r, run);
  if (!ierr) {
    for (PetscInt i = 0; i < ntable; i++) { /* each rank takes its share of the rows */
      const PetscInt64 n = (PetscInt64)run[HEAD_SIZE + nextra + i];

      table[i].n = (PetscInt)(n * (rank + 1) / nrank - n * rank / nrank);
    }
    PetscCall(TablesCreate_Private(comm, ntable, table, &rows));
    ierr = CheckpointLoad_Private(comm, file, &r, ntable, rows);
  }
  if (!ierr) {
    head->t0   = run[HEAD_T0];
    head->time = run[HEAD_TIME];
    head->dt   = run[HEAD_DT];
    head->step = (PetscInt)run[HEAD_STEP];
    PetscCall(PetscArraycpy(extra, run + HEAD_SIZE, nextra));
    PetscCall(VecScatterBegin(r.scatter, r.natural, r.local, INSERT_VALUES, SCATTER_FORWARD));
    PetscCall(VecScatterEnd(r.scatter, r.natural, r.local, INSERT_VALUES, SCATTER_FORWARD));
    PetscCall(VecGetLocalSize(r.local, &size));
    PetscCall(VecGetArrayRead(r.local, &a));
    PetscCall(PetscArraycpy(data, a, size));
    PetscCall(VecRestoreArrayRead(r.local, &a));
    for (PetscInt i = 0; i < ntable; i++) {
      PetscCall(PetscMalloc1(table[i].n * table[i].width, &table[i].row));
      if (!rows[i]) continue;
      PetscCall(VecGetArrayRead(rows[i], &a));
      PetscCall(PetscArraycpy(table[i].row, a, table[i].n * table[i].width));
      PetscCall(VecRestoreArrayRead(rows[i], &a));
    }
  }
  if (rows) PetscCall(TablesDestroy_Private(ntable, &rows));
  PetscCall(PetscFree(run));
  PetscCall(RecordsDestroy_Private(&r));
  PetscCall(ierr);
  PetscFunctionReturn(0);
}
