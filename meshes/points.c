#include "points.h"
#include <errno.h>
#include <fcntl.h>
#include <hdf5.h>
#include <math.h>
#include <sys/stat.h>
#include <unistd.h>

/* What ends the text; each time is written over it, with it at the end */
static const char footer[] = "    </Grid>\n  </Domain>\n</Xdmf>\n";

struct _p_Points {
  MPI_Comm    comm;
  PetscMPIInt tag, rank, size;
  PetscInt    nfield; /* with the coordinates, which are the first */
  char      **name;
  PetscInt   *components;
  /* rank 0 */
  char      *xdmf, *h5, *base;   /* base: name of h5 without its folder, as XML */
  PetscInt   ntime, capacity;    /* capacity: groups in the file */
  PetscBool  dirty;              /* the group of the next time is not empty */
  PetscReal  last, before;       /* the last time, the one before it */
  off_t      begin, end, length; /* in the text: where the last time begins, where the footer does, where the file ends */
  char       problem[1024];      /* why the files cannot be written; told to all ranks by PointsAgree_Private */
};

/* Rank 0 must go on receiving after a failure: the first problem is kept. */
#define PointsProblem(p, ...) \
  do { \
    if (!(p)->problem[0]) (void)snprintf((p)->problem, sizeof((p)->problem), __VA_ARGS__); \
  } while (0)

static PetscErrorCode PointsAgree_Private(Points p)
{
  char text[sizeof(p->problem)];

  PetscFunctionBeginUser;
  PetscCall(PetscMemcpy(text, p->problem, sizeof(text)));
  PetscCallMPI(MPI_Bcast(text, (PetscMPIInt)sizeof(text), MPI_CHAR, 0, p->comm));
  p->problem[0] = 0;
  PetscCheck(!text[0], p->comm, PETSC_ERR_USER_INPUT, "%s", text);
  PetscFunctionReturn(0);
}

/* HDF5 changes groups by several writes, and a kill between two of them would leave a file that cannot be read. So the groups of coming times are
   there beforehand: a new time changes its own group only, and then is given its place in `times` by a single number. When all groups are used,
   the file is copied into one with twice as many, made beside and renamed; so it is at a restart. */
enum { CAPACITY = 64 };

static hid_t FileAccess_Private(void)
{
  const hid_t        access = H5Pcreate(H5P_FILE_ACCESS);
  H5AC_cache_config_t cache = {.version = H5AC__CURR_CACHE_CONFIG_VERSION};

  (void)H5Pget_mdc_config(access, &cache);
  cache.evictions_enabled = 0;
  cache.incr_mode         = H5C_incr__off;
  cache.flash_incr_mode   = H5C_flash_incr__off;
  cache.decr_mode         = H5C_decr__off;
  (void)H5Pset_mdc_config(access, &cache);
  (void)H5Pset_fclose_degree(access, H5F_CLOSE_STRONG);
  (void)H5Pset_file_locking(access, 0, 1); /* who looks at the file does not stop the run */
  return access;
}

static hid_t FileOpen_Private(const char name[], unsigned mode, PetscBool create)
{
  const hid_t access = FileAccess_Private(), file = create ? H5Fcreate(name, mode, H5P_DEFAULT, access) : H5Fopen(name, mode, access);

  (void)H5Pclose(access);
  return file;
}

static void GroupName_Private(PetscInt time, char name[16])
{
  (void)snprintf(name, 16, "%08" PetscInt_FMT, time);
}

/* --- the text --- */

static const char *AttributeType_Private(PetscInt components)
{
  return components == 1 ? "Scalar" : components == 3 ? "Vector" : components == 6 ? "Tensor6" : components == 9 ? "Tensor" : "Matrix";
}

/* n rows of a dataset, as XDMF names them. Readers (those of ParaView, all three) fall over empty ones, so where there are no points the text has one of zeros. */
static void TextItem_Private(Points p, FILE *out, const char type[], PetscInt64 n, PetscInt components, PetscBool matrix, const char group[], const char name[])
{
  fprintf(out, "          <DataItem Format=\"%s\" NumberType=\"%s\" Precision=\"8\" Dimensions=\"%" PRId64, n ? "HDF" : "XML", type, PetscMax(n, 1));
  if (matrix) fprintf(out, " %" PetscInt_FMT, components);
  if (n) fprintf(out, "\">%s:/%s/%s</DataItem>\n", p->base, group, name);
  else {
    fprintf(out, "\">0");
    for (PetscInt c = 1; c < components; c++) fprintf(out, " 0");
    fprintf(out, "</DataItem>\n");
  }
}

/* One time as XDMF text */
static void TextTime_Private(Points p, FILE *out, PetscInt index, PetscReal time, PetscInt64 n)
{
  char group[16];

  GroupName_Private(index, group);
  fprintf(out, "      <Grid Name=\"points\" GridType=\"Uniform\">\n        <Time Value=\"%.17g\"/>\n", (double)time);
  fprintf(out, "        <Topology TopologyType=\"Polyvertex\" NumberOfElements=\"%" PRId64 "\" NodesPerElement=\"1\">\n", PetscMax(n, 1));
  TextItem_Private(p, out, "Int", n, 1, PETSC_TRUE, group, "index");
  fprintf(out, "        </Topology>\n");
  for (PetscInt f = 0; f < p->nfield; f++) {
    if (f) fprintf(out, "        <Attribute Name=\"%s\" AttributeType=\"%s\" Center=\"Node\">\n", p->name[f], AttributeType_Private(p->components[f]));
    else fprintf(out, "        <Geometry GeometryType=\"XYZ\">\n");
    TextItem_Private(p, out, "Float", n, p->components[f], p->components[f] > 1 ? PETSC_TRUE : PETSC_FALSE, group, p->name[f]);
    fprintf(out, "        </%s>\n", f ? "Attribute" : "Geometry");
  }
  fprintf(out, "      </Grid>\n");
}

/* The whole text, written beside and renamed */
static PetscErrorCode TextCreate_Private(Points p, const PetscReal time[], const PetscInt64 n[])
{
  size_t length;
  char  *part;
  FILE  *out;

  PetscFunctionBeginUser;
  PetscCall(PetscStrlen(p->xdmf, &length));
  PetscCall(PetscMalloc1(length + 6, &part));
  PetscCall(PetscSNPrintf(part, length + 6, "%s.part", p->xdmf));
  out = fopen(part, "w");
  if (!out) PointsProblem(p, "%s: cannot be written: %s", p->xdmf, strerror(errno));
  else {
    fprintf(out, "<?xml version=\"1.0\"?>\n<!DOCTYPE Xdmf SYSTEM \"Xdmf.dtd\" []>\n<Xdmf Version=\"3.0\">\n  <Domain>\n    <Grid Name=\"times\" GridType=\"Collection\" CollectionType=\"Temporal\">\n");
    p->begin = ftello(out);
    for (PetscInt i = 0; i < p->ntime; i++) {
      p->begin = ftello(out);
      TextTime_Private(p, out, i, time[i], n[i]);
    }
    p->end = ftello(out);
    fprintf(out, "%s", footer);
    p->length = ftello(out);
    if (ferror(out) | fclose(out) || rename(part, p->xdmf)) {
      PointsProblem(p, "%s: cannot be written: %s", p->xdmf, strerror(errno));
      (void)unlink(part);
    }
  }
  PetscCall(PetscFree(part));
  PetscFunctionReturn(0);
}

/* Ends the text at `at`, behind a new time if index >= 0. This is a single write, never shorter than what it replaces (blanks make up for that), so
   that the text is whole before and after. */
static void TextWrite_Private(Points p, off_t at, PetscInt index, PetscReal time, PetscInt64 n)
{
  char   *text  = NULL;
  size_t  bytes = 0;
  FILE   *out   = open_memstream(&text, &bytes);
  off_t   entry;
  ssize_t done;
  int     fd;

  if (!out) {
    PointsProblem(p, "%s: cannot be written: %s", p->xdmf, strerror(errno));
    return;
  }
  if (index >= 0) TextTime_Private(p, out, index, time, n);
  entry = ftello(out);
  fprintf(out, "%s%*s", footer, (int)PetscMax(p->length - at - entry - (off_t)sizeof(footer) + 1, 0), "");
  (void)fclose(out);
  fd   = open(p->xdmf, O_WRONLY);
  done = fd < 0 ? -1 : pwrite(fd, text, bytes, at);
  if (done != (ssize_t)bytes) {
    PointsProblem(p, "%s: cannot be written: %s", p->xdmf, done < 0 ? strerror(errno) : "is the disk full?");
    if (done > 0 && pwrite(fd, footer, sizeof(footer) - 1, at) == sizeof(footer) - 1 && !ftruncate(fd, at + (off_t)sizeof(footer) - 1)) {
      p->begin = p->end = at;
      p->length         = at + (off_t)sizeof(footer) - 1;
    }
  } else {
    p->begin  = at;
    p->end    = at + entry;
    p->length = at + (off_t)bytes;
  }
  if (fd >= 0) (void)close(fd);
  free(text);
}

/* --- the numbers --- */

/* Number of points of a group; false if it is not what this program writes for these fields */
static PetscBool GroupRead_Private(Points p, hid_t file, const char group[], PetscInt64 *n)
{
  const hid_t id   = H5Lexists(file, group, H5P_DEFAULT) > 0 ? H5Gopen2(file, group, H5P_DEFAULT) : -1;
  PetscBool   good = id >= 0 ? PETSC_TRUE : PETSC_FALSE;

  for (PetscInt f = 0; f < p->nfield && good; f++) {
    hsize_t     dims[2] = {0, 0};
    const hid_t set = H5Lexists(id, p->name[f], H5P_DEFAULT) > 0 ? H5Dopen2(id, p->name[f], H5P_DEFAULT) : -1, space = set < 0 ? -1 : H5Dget_space(set);

    if (space < 0 || H5Sget_simple_extent_ndims(space) != 2 || H5Sget_simple_extent_dims(space, dims, NULL) < 0 || dims[1] != (hsize_t)p->components[f] || (f && (PetscInt64)dims[0] != *n)) good = PETSC_FALSE;
    *n = (PetscInt64)dims[0];
    if (space >= 0) (void)H5Sclose(space);
    if (set >= 0) (void)H5Dclose(set);
  }
  if (good) {
    H5G_info_t info;

    good = H5Gget_info(id, &info) >= 0 && (PetscInt64)info.nlinks == p->nfield + 1 ? PETSC_TRUE : PETSC_FALSE; /* with the index */
  }
  if (id >= 0) (void)H5Gclose(id);
  return good;
}

/* Times of the file, NaN where a group is not used yet; NULL if there are none */
static PetscErrorCode FileReadTimes_Private(hid_t file, PetscInt *capacity, PetscReal **time)
{
  const hid_t set   = file >= 0 && H5Lexists(file, "times", H5P_DEFAULT) > 0 ? H5Dopen2(file, "times", H5P_DEFAULT) : -1;
  const hid_t space = set < 0 ? -1 : H5Dget_space(set);
  hsize_t     n     = 0;

  PetscFunctionBeginUser;
  *time = NULL;
  if (space >= 0 && H5Sget_simple_extent_ndims(space) == 1) (void)H5Sget_simple_extent_dims(space, &n, NULL);
  if (n > 0 && n < PETSC_MAX_INT) {
    PetscCall(PetscMalloc1((size_t)n, time));
    if (H5Dread(set, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, *time) < 0) PetscCall(PetscFree(*time));
  }
  *capacity = (PetscInt)n;
  if (space >= 0) (void)H5Sclose(space);
  if (set >= 0) (void)H5Dclose(set);
  PetscFunctionReturn(0);
}

/* What is in the file of an earlier run up to `restart` */
static PetscErrorCode FileLook_Private(Points p, PetscReal restart, PetscReal **time, PetscInt64 **n)
{
  const hid_t file = FileOpen_Private(p->h5, H5F_ACC_RDONLY, PETSC_FALSE);
  PetscInt    capacity;
  char        group[16];

  PetscFunctionBeginUser;
  PetscCall(FileReadTimes_Private(file, &capacity, time));
  if (!*time) PointsProblem(p, "%s: cannot be continued, since it holds no points or is damaged; remove it or name another", p->h5);
  else PetscCall(PetscMalloc1(capacity, n));
  for (PetscInt i = 0; *time && i < capacity && (*time)[i] <= restart + 1e-12 * PetscAbsReal(restart); i++) { /* a NaN ends it */
    GroupName_Private(i, group);
    if (!GroupRead_Private(p, file, group, &(*n)[i])) PointsProblem(p, "%s: cannot be continued, since it holds other fields than this run; remove it or name another", p->h5);
    p->ntime  = i + 1;
    p->before = p->last;
    p->last   = (*time)[i];
  }
  if (file >= 0) (void)H5Fclose(file);
  PetscFunctionReturn(0);
}

/* Asks the disk for room: HDF5 cannot put a file in order again whose writes fail. It cuts off what it does not need. */
static void FileReserve_Private(Points p, const char name[], PetscInt64 bytes)
{
  const int   fd    = open(name, O_WRONLY);
  const off_t size  = fd < 0 ? 0 : lseek(fd, 0, SEEK_END);
  int         error = fd < 0 ? errno : posix_fallocate(fd, size, (off_t)bytes);

  if (error == EINVAL || error == EOPNOTSUPP) error = 0; /* this disk does not tell */
  if (error && fd >= 0) (void)!ftruncate(fd, size);
  if (fd >= 0) (void)close(fd);
  if (error) PointsProblem(p, "%s: cannot be written: %s", p->h5, strerror(error));
}

static hid_t SetCreate_Private(hid_t group, const char name[], hid_t type, int rank, const hsize_t dims[])
{
  const hid_t space = H5Screate_simple(rank, dims, NULL), options = H5Pcreate(H5P_DATASET_CREATE);
  hid_t       set;

  (void)H5Pset_obj_track_times(options, 0); /* the same run makes the same bytes */
  (void)H5Pset_alloc_time(options, H5D_ALLOC_TIME_EARLY);
  set = H5Dcreate2(group, name, type, space, H5P_DEFAULT, options, H5P_DEFAULT);
  (void)H5Pclose(options);
  (void)H5Sclose(space);
  return set;
}

static herr_t FileFill_Private(hid_t file, hid_t old, PetscInt keep, PetscInt capacity, PetscReal time[])
{
  const hsize_t size  = (hsize_t)capacity;
  const hid_t   set   = SetCreate_Private(file, "times", H5T_IEEE_F64LE, 1, &size);
  herr_t        error = set < 0 ? -1 : 0;
  char          name[16];

  for (PetscInt i = 0; i < capacity && !error; i++) {
    GroupName_Private(i, name);
    if (i < keep) error = H5Ocopy(old, name, file, name, H5P_DEFAULT, H5P_DEFAULT);
    else {
      const hid_t group = H5Gcreate2(file, name, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);

      time[i] = NAN;
      if (group < 0 || H5Gclose(group) < 0) error = -1;
    }
  }
  if (!error) error = H5Dwrite(set, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, time);
  if (set >= 0) (void)H5Dclose(set);
  return error;
}

/* A file with the first `keep` times of the present one, if any, and groups for `capacity` times: made beside, and renamed */
static PetscErrorCode FileRebuild_Private(Points p, PetscInt keep, PetscInt capacity)
{
  size_t      length;
  char       *part;
  FILE       *probe;
  PetscReal  *time = NULL, *old = NULL;
  PetscInt    room;
  hid_t       file, from = -1;
  struct stat info = {0};

  PetscFunctionBeginUser;
  PetscCall(PetscStrlen(p->h5, &length));
  PetscCall(PetscMalloc1(length + 6, &part));
  PetscCall(PetscSNPrintf(part, length + 6, "%s.part", p->h5));
  PetscCall(PetscMalloc1(capacity, &time));
  if (keep) {
    from = FileOpen_Private(p->h5, H5F_ACC_RDONLY, PETSC_FALSE);
    PetscCall(FileReadTimes_Private(from, &room, &old));
    if (old) PetscCall(PetscArraycpy(time, old, keep));
    else PointsProblem(p, "%s: cannot be read", p->h5);
    (void)stat(p->h5, &info);
  }
  probe = p->problem[0] ? NULL : fopen(part, "w"); /* tells why it cannot be written; HDF5 does not */
  if (!probe) PointsProblem(p, "%s: cannot be written: %s", p->h5, strerror(errno));
  else {
    (void)fclose(probe);
    file = FileOpen_Private(part, H5F_ACC_TRUNC, PETSC_TRUE);
    if (file >= 0) (void)H5Fclose(file);
    FileReserve_Private(p, part, (PetscInt64)info.st_size + 4096 * (PetscInt64)capacity);
    if (!p->problem[0]) {
      file = FileOpen_Private(part, H5F_ACC_RDWR, PETSC_FALSE);
      if (file < 0 || FileFill_Private(file, from, keep, capacity, time) < 0) PointsProblem(p, "%s: cannot be written; is the disk full?", p->h5);
      if (file >= 0 && H5Fclose(file) < 0) PointsProblem(p, "%s: cannot be written; is the disk full?", p->h5);
    }
    if (!p->problem[0] && rename(part, p->h5)) PointsProblem(p, "%s: cannot be written: %s", p->h5, strerror(errno));
    if (p->problem[0]) (void)unlink(part);
  }
  if (from >= 0) (void)H5Fclose(from);
  if (!p->problem[0]) {
    p->capacity = capacity;
    p->dirty    = PETSC_FALSE;
  }
  PetscCall(PetscFree(old));
  PetscCall(PetscFree(time));
  PetscCall(PetscFree(part));
  PetscFunctionReturn(0);
}

/* Rows first .. first + n - 1 of a dataset */
static herr_t SetWrite_Private(hid_t set, PetscInt64 first, PetscInt64 n, PetscInt components, const PetscReal value[])
{
  const hsize_t start[2] = {(hsize_t)first, 0}, count[2] = {(hsize_t)n, (hsize_t)components};
  hid_t         space, memory;
  herr_t        error;

  if (set < 0 || !n) return set < 0 ? -1 : 0;
  space  = H5Dget_space(set);
  memory = H5Screate_simple(2, count, NULL);
  error  = H5Sselect_hyperslab(space, H5S_SELECT_SET, start, NULL, count, NULL);
  if (error >= 0) error = H5Dwrite(set, H5T_NATIVE_DOUBLE, memory, space, H5P_DEFAULT, value);
  (void)H5Sclose(memory);
  (void)H5Sclose(space);
  return error;
}

/* From now on the time is in the file. */
static herr_t FileSetTime_Private(hid_t file, PetscInt index, PetscReal time)
{
  const hsize_t start = (hsize_t)index, one = 1;
  const hid_t   set = H5Dopen2(file, "times", H5P_DEFAULT), space = set < 0 ? -1 : H5Dget_space(set), memory = H5Screate_simple(1, &one, NULL);
  herr_t        error = -1;

  if (space >= 0 && H5Sselect_hyperslab(space, H5S_SELECT_SET, &start, NULL, &one, NULL) >= 0) error = H5Dwrite(set, H5T_NATIVE_DOUBLE, memory, space, H5P_DEFAULT, &time);
  if (space >= 0) (void)H5Sclose(space);
  if (set >= 0) (void)H5Dclose(set);
  (void)H5Sclose(memory);
  return error;
}

/* Which point each vertex is: readers of XDMF want it */
static PetscErrorCode GroupWriteIndex_Private(hid_t group, PetscInt64 total, herr_t *error)
{
  const hsize_t dims[2] = {(hsize_t)total, 1};
  const hid_t   set     = SetCreate_Private(group, "index", H5T_STD_I64LE, 2, dims);
  int64_t      *index;

  PetscFunctionBeginUser;
  PetscCall(PetscMalloc1((size_t)total, &index));
  for (PetscInt64 i = 0; i < total; i++) index[i] = i;
  if (set < 0 || (total && H5Dwrite(set, H5T_NATIVE_INT64, H5S_ALL, H5S_ALL, H5P_DEFAULT, index) < 0)) *error = -1;
  if (set >= 0) (void)H5Dclose(set);
  PetscCall(PetscFree(index));
  PetscFunctionReturn(0);
}

/* Rank 0: a field of all ranks, rank by rank; group < 0 only receives */
static PetscErrorCode GroupWriteField_Private(Points p, PetscInt f, hid_t group, const PetscInt64 start[], const PetscReal mine[], PetscReal work[], herr_t *error)
{
  const PetscInt c       = p->components[f];
  const hsize_t  dims[2] = {(hsize_t)start[p->size], (hsize_t)c};
  const hid_t    set     = group < 0 ? -1 : SetCreate_Private(group, p->name[f], H5T_IEEE_F64LE, 2, dims);

  PetscFunctionBeginUser;
  if (SetWrite_Private(set, 0, start[1], c, mine) < 0) *error = -1;
  for (PetscMPIInt r = 1; r < p->size; r++) {
    const PetscInt64 n = start[r + 1] - start[r];

    if (n) PetscCallMPI(MPI_Recv(work, (PetscMPIInt)(n * c), MPIU_REAL, r, p->tag, p->comm, MPI_STATUS_IGNORE));
    if (SetWrite_Private(set, start[r], n, c, work) < 0) *error = -1;
  }
  if (set >= 0) (void)H5Dclose(set);
  PetscFunctionReturn(0);
}

/* Rank 0: a new time */
static PetscErrorCode FileAdd_Private(Points p, PetscInt index, PetscReal time, const PetscInt64 start[], const PetscReal *const field[])
{
  PetscInt64 most = 0, bytes = 1 << 16;
  PetscInt   wide = 0;
  PetscReal *work;
  char       name[16];
  hid_t      file = -1, group = -1;
  herr_t     error = 0;

  PetscFunctionBeginUser;
  for (PetscMPIInt r = 1; r < p->size; r++) most = PetscMax(most, start[r + 1] - start[r]);
  for (PetscInt f = 0; f < p->nfield; f++) {
    wide = PetscMax(wide, p->components[f]);
    bytes += 4096 + 8 * start[p->size] * p->components[f];
  }
  PetscCall(PetscMalloc1((size_t)(most * wide), &work));
  GroupName_Private(index, name);
  if (!p->problem[0] && (p->dirty || index == p->capacity)) PetscCall(FileRebuild_Private(p, index, index == p->capacity ? 2 * p->capacity : p->capacity));
  if (!p->problem[0]) FileReserve_Private(p, p->h5, bytes + 8 * start[p->size]);
  if (!p->problem[0]) {
    p->dirty = PETSC_TRUE;
    file     = FileOpen_Private(p->h5, H5F_ACC_RDWR, PETSC_FALSE);
    if (file >= 0) group = H5Gopen2(file, name, H5P_DEFAULT);
    if (group < 0) error = -1;
  }
  for (PetscInt f = 0; f < p->nfield; f++) PetscCall(GroupWriteField_Private(p, f, group, start, field[f], work, &error));
  if (group >= 0) PetscCall(GroupWriteIndex_Private(group, start[p->size], &error));
  if (group >= 0 && !error && (H5Fflush(file, H5F_SCOPE_LOCAL) < 0 || FileSetTime_Private(file, index, time) < 0)) error = -1;
  if (group >= 0) (void)H5Gclose(group);
  if (file >= 0 && H5Fclose(file) < 0) error = -1;
  if (error) PointsProblem(p, "%s: cannot be written; is the disk full?", p->h5);
  PetscCall(PetscFree(work));
  PetscFunctionReturn(0);
}

/* --- the class --- */

/* name.h5 of name.xdmf; its last part as it stands in XML */
static PetscErrorCode PointsNames_Private(Points p, const char file[])
{
  size_t      length;
  const char *slash;
  char       *out;

  PetscFunctionBeginUser;
  PetscCall(PetscStrlen(file, &length));
  PetscCheck(length > 5 && !strcmp(file + length - 5, ".xdmf") && file[length - 6] != '/', PETSC_COMM_SELF, PETSC_ERR_USER_INPUT, "'%s' is no name for a file of points; it must end in .xdmf", file);
  PetscCall(PetscStrallocpy(file, &p->xdmf));
  PetscCall(PetscStrallocpy(file, &p->h5));
  PetscCall(PetscStrncpy(p->h5 + length - 5, ".h5", 4));
  slash = strrchr(p->h5, '/');
  slash = slash ? slash + 1 : p->h5;
  PetscCall(PetscMalloc1(5 * strlen(slash) + 1, &p->base));
  out = p->base;
  for (; *slash; slash++) out += *slash == '&' ? sprintf(out, "&amp;") : *slash == '<' ? sprintf(out, "&lt;") : *slash == '>' ? sprintf(out, "&gt;") : sprintf(out, "%c", *slash);
  PetscFunctionReturn(0);
}

static PetscErrorCode PointsOpen_Private(Points p, PetscBool append, PetscReal restart)
{
  PetscReal   *time = NULL;
  PetscInt64  *n    = NULL;
  H5E_auto2_t  print;
  void        *data;

  PetscFunctionBeginUser;
  if (!p->rank) {
    (void)H5Eget_auto2(H5E_DEFAULT, &print, &data); /* HDF5 has much to say; a user gets one line instead */
    (void)H5Eset_auto2(H5E_DEFAULT, NULL, NULL);
    p->capacity = CAPACITY;
    if (append && !access(p->h5, F_OK)) {
      PetscCall(FileLook_Private(p, restart, &time, &n));
      while (p->capacity <= p->ntime) p->capacity *= 2;
      if (!p->problem[0]) PetscCall(TextCreate_Private(p, time, n)); /* first, since it must not name what is dropped */
      if (!p->problem[0]) PetscCall(FileRebuild_Private(p, p->ntime, p->capacity));
    } else {
      PetscCall(FileRebuild_Private(p, 0, p->capacity));
      if (!p->problem[0]) PetscCall(TextCreate_Private(p, NULL, NULL));
    }
    (void)H5Eset_auto2(H5E_DEFAULT, print, data);
  }
  PetscCall(PetscFree(time));
  PetscCall(PetscFree(n));
  PetscCall(PointsAgree_Private(p));
  PetscFunctionReturn(0);
}

PetscErrorCode PointsCreate(MPI_Comm comm, const char file[], PetscInt nfield, const char *const names[], const PetscInt components[], PetscBool append, PetscReal restart_time, Points *points)
{
  Points         p;
  PetscErrorCode ierr;

  PetscFunctionBeginUser;
  *points = NULL;
  for (PetscInt f = 0; f < nfield; f++) {
    PetscCheck(names[f][0] && !names[f][strspn(names[f], "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_")] && strcmp(names[f], "x") && strcmp(names[f], "index"), comm, PETSC_ERR_ARG_WRONG, "'%s' is no name for a field", names[f]);
    PetscCheck(components[f] > 0, comm, PETSC_ERR_ARG_OUTOFRANGE, "field '%s' has %" PetscInt_FMT " components", names[f], components[f]);
  }
  PetscCall(PetscNew(&p));
  PetscCall(PetscCommDuplicate(comm, &p->comm, &p->tag));
  PetscCallMPI(MPI_Comm_rank(p->comm, &p->rank));
  PetscCallMPI(MPI_Comm_size(p->comm, &p->size));
  p->nfield = nfield + 1;
  PetscCall(PetscCalloc1(p->nfield, &p->name));
  PetscCall(PetscMalloc1(p->nfield, &p->components));
  p->components[0] = 3;
  PetscCall(PetscStrallocpy("x", &p->name[0]));
  for (PetscInt f = 0; f < nfield; f++) {
    p->components[f + 1] = components[f];
    PetscCall(PetscStrallocpy(names[f], &p->name[f + 1]));
  }
  ierr = PointsNames_Private(p, file);
  if (!ierr) ierr = PointsOpen_Private(p, append, restart_time);
  if (ierr) PetscCall(PointsDestroy(&p));
  PetscCall(ierr);
  *points = p;
  PetscFunctionReturn(0);
}

PetscErrorCode PointsDestroy(Points *points)
{
  Points p = *points;

  PetscFunctionBeginUser;
  if (!p) PetscFunctionReturn(0);
  for (PetscInt f = 0; f < p->nfield; f++) PetscCall(PetscFree(p->name[f]));
  PetscCall(PetscFree(p->name));
  PetscCall(PetscFree(p->components));
  PetscCall(PetscFree(p->xdmf));
  PetscCall(PetscFree(p->h5));
  PetscCall(PetscFree(p->base));
  PetscCall(PetscCommDestroy(&p->comm));
  PetscCall(PetscFree(*points));
  PetscFunctionReturn(0);
}

/* Synchronous, so that nothing piles up on rank 0 before its turn */
static PetscErrorCode PointsSend_Private(Points p, PetscInt n, const PetscReal *const field[])
{
  PetscFunctionBeginUser;
  for (PetscInt f = 0; f < p->nfield && n; f++) PetscCallMPI(MPI_Ssend(field[f], (PetscMPIInt)(n * p->components[f]), MPIU_REAL, 0, p->tag, p->comm));
  PetscFunctionReturn(0);
}

PetscErrorCode PointsWrite(Points p, PetscReal time, PetscInt n, const PetscReal x[], const PetscReal *const field[])
{
  const PetscReal **all;
  PetscInt64        mine = n, *start;
  PetscInt          wide = 0, most;

  PetscFunctionBeginUser;
  for (PetscInt f = 0; f < p->nfield; f++) wide = PetscMax(wide, p->components[f]);
  PetscCallMPI(MPI_Allreduce(&n, &most, 1, MPIU_INT, MPI_MAX, p->comm));
  PetscCheck((PetscInt64)most * wide <= PETSC_MPI_INT_MAX, p->comm, PETSC_ERR_ARG_OUTOFRANGE, "%" PetscInt_FMT " points of a rank are too many for one message", most);
  PetscCall(PetscMalloc2(p->nfield, &all, p->rank ? 1 : p->size + 1, &start));
  all[0] = x;
  for (PetscInt f = 1; f < p->nfield; f++) all[f] = field[f - 1];
  PetscCallMPI(MPI_Gather(&mine, 1, MPIU_INT64, start + (p->rank ? 0 : 1), 1, MPIU_INT64, 0, p->comm));
  if (p->rank) PetscCall(PointsSend_Private(p, n, all));
  else {
    const PetscBool again = p->ntime && p->end > p->begin && PetscAbsReal(time - p->last) <= 1e-12 * PetscMax(PetscAbsReal(time), PetscAbsReal(p->last)) ? PETSC_TRUE : PETSC_FALSE;
    const PetscInt  index = again ? p->ntime - 1 : p->ntime;
    H5E_auto2_t     print;
    void           *data;

    start[0] = 0;
    for (PetscMPIInt r = 0; r < p->size; r++) start[r + 1] += start[r];
    if (PetscIsInfOrNanReal(time)) PointsProblem(p, "%s: time %g is not finite", p->xdmf, (double)time);
    if (p->ntime && !again && !(time > p->last)) PointsProblem(p, "%s: time %g comes after time %g", p->xdmf, (double)time, (double)p->last);
    (void)H5Eget_auto2(H5E_DEFAULT, &print, &data);
    (void)H5Eset_auto2(H5E_DEFAULT, NULL, NULL);
    if (again && !p->problem[0]) { /* taken out first */
      TextWrite_Private(p, p->begin, -1, 0, 0);
      p->ntime = index;
      p->last  = p->before;
      p->dirty = PETSC_TRUE;
    }
    PetscCall(FileAdd_Private(p, index, time, start, all));
    (void)H5Eset_auto2(H5E_DEFAULT, print, data);
    if (!p->problem[0]) TextWrite_Private(p, p->end, index, time, start[p->size]);
    if (!p->problem[0]) {
      p->dirty  = PETSC_FALSE;
      p->ntime  = index + 1;
      p->before = p->last;
      p->last   = time;
    }
  }
  PetscCall(PetscFree2(all, start));
  PetscCall(PointsAgree_Private(p));
  PetscFunctionReturn(0);
}
