#include "checkpoint.h"
#include <petscsf.h>
#include <petscviewerhdf5.h>
#include <hdf5.h>

#define CHECKPOINT_VERSION 1

/* Where each body's record begins in the file: bodies' numbers are spread evenly, lengths go there, a scan comes back. */
static PetscErrorCode CheckpointOffsets_Private(MPI_Comm comm, PetscInt nbody, PetscInt n, const PetscInt id[], const PetscInt length[], Vec *natural, VecScatter *scatter, Vec *local, Vec *lengths)
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
  PetscCall(VecCreateMPI(comm, nroot, nbody, lengths));
  PetscCall(PetscObjectSetName((PetscObject)*lengths, "lengths"));
  PetscCall(VecGetArray(*lengths, &a));
  for (PetscInt i = 0; i < nroot; i++) {
    a[i] = rootlen[i];
    total += rootlen[i];
  }
  PetscCall(VecRestoreArray(*lengths, &a));
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
  PetscCall(VecCreateMPI(comm, total, PETSC_DETERMINE, natural));
  PetscCall(PetscObjectSetName((PetscObject)*natural, "state"));
  PetscCall(VecCreateSeq(PETSC_COMM_SELF, k, local));
  PetscCall(ISCreateGeneral(PETSC_COMM_SELF, k, index, PETSC_OWN_POINTER, &is));
  PetscCall(VecScatterCreate(*natural, is, *local, NULL, scatter));
  PetscCall(ISDestroy(&is));
  PetscCall(PetscFree3(rootlen, rootoff, leafoff));
  PetscFunctionReturn(0);
}

/* head and extra numbers as one small replicated vector; integers below 2^53 are exact */
enum { HEAD_VERSION, HEAD_T0, HEAD_TIME, HEAD_DT, HEAD_STEP, HEAD_NBODY, HEAD_NEXTRA, HEAD_SIZE };

PetscErrorCode CheckpointWrite(MPI_Comm comm, const char file[], const CheckpointHead *head, PetscInt nextra, const PetscReal extra[], PetscInt n, const PetscInt id[], const PetscInt length[],
                               const PetscReal data[])
{
  char        part[PETSC_MAX_PATH_LEN];
  PetscViewer viewer;
  Vec         natural, local, lengths, numbers;
  VecScatter  scatter;
  PetscMPIInt rank;
  PetscReal  *a;
  PetscInt    size;
  int         failed = 0;

  PetscFunctionBeginUser;
  PetscCallMPI(MPI_Comm_rank(comm, &rank));
  PetscCall(CheckpointOffsets_Private(comm, head->nbody, n, id, length, &natural, &scatter, &local, &lengths));
  PetscCall(VecGetLocalSize(local, &size));
  PetscCall(VecGetArray(local, &a));
  PetscCall(PetscArraycpy(a, data, size));
  PetscCall(VecRestoreArray(local, &a));
  PetscCall(VecScatterBegin(scatter, local, natural, INSERT_VALUES, SCATTER_REVERSE));
  PetscCall(VecScatterEnd(scatter, local, natural, INSERT_VALUES, SCATTER_REVERSE));
  PetscCall(VecCreateMPI(comm, rank == 0 ? HEAD_SIZE + nextra : 0, PETSC_DETERMINE, &numbers));
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
    PetscCall(PetscArraycpy(a + HEAD_SIZE, extra, nextra));
    PetscCall(VecRestoreArray(numbers, &a));
  }
  PetscCall(PetscSNPrintf(part, sizeof(part), "%s.part", file));
  if (rank == 0) { /* a file that cannot be written is a user's mistake, not a traceback out of HDF5 */
    FILE *probe = fopen(part, "w");

    failed = !probe;
    if (probe) fclose(probe);
  }
  PetscCallMPI(MPI_Bcast(&failed, 1, MPI_INT, 0, comm));
  PetscCheck(!failed, PETSC_COMM_SELF, PETSC_ERR_USER_INPUT, "checkpoint: cannot write '%s'", part);
  PetscCall(PetscViewerHDF5Open(comm, part, FILE_MODE_WRITE, &viewer));
  PetscCall(VecView(numbers, viewer));
  PetscCall(VecView(lengths, viewer));
  PetscCall(VecView(natural, viewer));
  PetscCall(PetscViewerDestroy(&viewer));
  PetscCallMPI(MPI_Barrier(comm));
  if (rank == 0) failed = rename(part, file);
  PetscCallMPI(MPI_Bcast(&failed, 1, MPI_INT, 0, comm));
  PetscCheck(!failed, PETSC_COMM_SELF, PETSC_ERR_USER_INPUT, "checkpoint: cannot rename '%s' to '%s'", part, file);
  PetscCall(VecDestroy(&numbers));
  PetscCall(VecDestroy(&natural));
  PetscCall(VecDestroy(&local));
  PetscCall(VecDestroy(&lengths));
  PetscCall(VecScatterDestroy(&scatter));
  PetscFunctionReturn(0);
}

/* Number of entries of a one-dimensional dataset, -1 if it is not there; quiet, on one rank */
static PetscInt64 CheckpointSize_Private(hid_t h5, const char name[])
{
  hsize_t size = 0;
  hid_t   set, space;

  if (H5Lexists(h5, name, H5P_DEFAULT) <= 0) return -1;
  set = H5Dopen2(h5, name, H5P_DEFAULT);
  if (set < 0) return -1;
  space = H5Dget_space(set);
  size  = (hsize_t)H5Sget_simple_extent_npoints(space);
  H5Sclose(space);
  H5Dclose(set);
  return (PetscInt64)size;
}

PetscErrorCode CheckpointRead(MPI_Comm comm, const char file[], CheckpointHead *head, PetscInt nextra, PetscReal extra[], PetscInt n, const PetscInt id[], const PetscInt length[], PetscReal data[])
{
  PetscViewer viewer;
  Vec         natural, local, lengths, stored, numbers;
  VecScatter  scatter;
  PetscMPIInt rank;
  PetscReal  *a, *run;
  PetscInt    size, wrong;
  PetscInt64  have[3] = {-1, -1, -1};
  PetscInt    nbody   = head->nbody;
  PetscBool   same;

  PetscFunctionBeginUser;
  PetscCallMPI(MPI_Comm_rank(comm, &rank));
  PetscCall(CheckpointOffsets_Private(comm, nbody, n, id, length, &natural, &scatter, &local, &lengths));
  if (rank == 0) {
    hid_t h5;

    H5E_BEGIN_TRY
    {
      h5 = H5Fopen(file, H5F_ACC_RDONLY, H5P_DEFAULT);
      if (h5 >= 0) {
        have[0] = CheckpointSize_Private(h5, "run");
        have[1] = CheckpointSize_Private(h5, "lengths");
        have[2] = CheckpointSize_Private(h5, "state");
        H5Fclose(h5);
      }
    }
    H5E_END_TRY
  }
  PetscCallMPI(MPI_Bcast(have, 3, MPIU_INT64, 0, comm));
  PetscCheck(have[0] >= 0 && have[1] >= 0 && have[2] >= 0, PETSC_COMM_SELF, PETSC_ERR_USER_INPUT, "restart: '%s' cannot be opened or is not a whole checkpoint", file);
  PetscCall(VecGetSize(natural, &size));
  PetscCheck(have[0] == HEAD_SIZE + nextra && have[1] == nbody && have[2] == size, PETSC_COMM_SELF, PETSC_ERR_USER_INPUT,
             "restart: '%s' is of another model (%d bodies and %d numbers there, %d and %d here)", file, (int)have[1], (int)have[2], (int)nbody, (int)size);
  PetscCall(PetscViewerHDF5Open(comm, file, FILE_MODE_READ, &viewer));
  PetscCall(VecCreateMPI(comm, rank == 0 ? HEAD_SIZE + nextra : 0, PETSC_DETERMINE, &numbers));
  PetscCall(PetscObjectSetName((PetscObject)numbers, "run"));
  PetscCall(VecLoad(numbers, viewer));
  PetscCall(VecDuplicate(lengths, &stored));
  PetscCall(PetscObjectSetName((PetscObject)stored, "lengths"));
  PetscCall(VecLoad(stored, viewer));
  PetscCall(VecEqual(stored, lengths, &same));
  PetscCall(VecLoad(natural, viewer));
  PetscCall(PetscViewerDestroy(&viewer));
  PetscCheck(same, PETSC_COMM_SELF, PETSC_ERR_USER_INPUT, "restart: '%s' is of another model: its bodies have other numbers of unknowns", file);
  PetscCall(PetscMalloc1(HEAD_SIZE + nextra, &run));
  if (rank == 0) {
    PetscCall(VecGetArray(numbers, &a));
    PetscCall(PetscArraycpy(run, a, HEAD_SIZE + nextra));
    PetscCall(VecRestoreArray(numbers, &a));
  }
  PetscCallMPI(MPI_Bcast(run, (PetscMPIInt)(HEAD_SIZE + nextra), MPIU_REAL, 0, comm));
  wrong       = run[HEAD_VERSION] != CHECKPOINT_VERSION;
  head->t0    = run[HEAD_T0];
  head->time  = run[HEAD_TIME];
  head->dt    = run[HEAD_DT];
  head->step  = (PetscInt)run[HEAD_STEP];
  PetscCall(PetscArraycpy(extra, run + HEAD_SIZE, nextra));
  PetscCall(PetscFree(run));
  PetscCheck(!wrong, PETSC_COMM_SELF, PETSC_ERR_USER_INPUT, "restart: '%s' was written by another version of the program", file);
  PetscCall(VecScatterBegin(scatter, natural, local, INSERT_VALUES, SCATTER_FORWARD));
  PetscCall(VecScatterEnd(scatter, natural, local, INSERT_VALUES, SCATTER_FORWARD));
  PetscCall(VecGetLocalSize(local, &size));
  PetscCall(VecGetArray(local, &a));
  PetscCall(PetscArraycpy(data, a, size));
  PetscCall(VecRestoreArray(local, &a));
  PetscCall(VecDestroy(&numbers));
  PetscCall(VecDestroy(&natural));
  PetscCall(VecDestroy(&local));
  PetscCall(VecDestroy(&lengths));
  PetscCall(VecDestroy(&stored));
  PetscCall(VecScatterDestroy(&scatter));
  PetscFunctionReturn(0);
}
