/* FCLib's files, read and written with the HDF5 that PETSc uses, opened serially. Errors of HDF5 itself stay silent: every call is looked at. */
#include "meshes/fclib.h"
#include <hdf5.h>
#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define FCLIB_PATH 256

/* A user's mistake: one line that begins with the file's name; the format may come without arguments */
#define FCLibCheck(cond, file, ...) FCLibCheck_Private(cond, file, __VA_ARGS__, "")
#define FCLibCheck_Private(cond, file, format, ...) PetscCheck(cond, PETSC_COMM_SELF, PETSC_ERR_USER_INPUT, "%s: " format "%s", file, __VA_ARGS__)

/* A matrix as it is in a file */
typedef struct {
  int64_t    nzmax, m, n, nz;
  int64_t   *p, *i;
  PetscReal *x;
  PetscInt   entries; /* those in use */
} FCLibMatrix;

static PetscErrorCode FCLibMatrixFree_Private(FCLibMatrix *a)
{
  PetscFunctionBeginUser;
  PetscCall(PetscFree(a->p));
  PetscCall(PetscFree(a->i));
  PetscCall(PetscFree(a->x));
  PetscFunctionReturn(0);
}

/* --- reading --- */

/* Is there an object at this absolute path? Every group on the way has to be asked for. */
static PetscBool FCLibHas_Private(hid_t h5, const char path[])
{
  char   part[FCLIB_PATH];
  size_t length = strlen(path);

  if (length >= sizeof(part)) return PETSC_FALSE;
  for (size_t k = 1; k <= length; k++) {
    if (path[k] && path[k] != '/') continue;
    memcpy(part, path, k);
    part[k] = 0;
    if (H5Lexists(h5, part, H5P_DEFAULT) <= 0 || H5Oexists_by_name(h5, part, H5P_DEFAULT) <= 0) return PETSC_FALSE;
  }
  return PETSC_TRUE;
}

static PetscBool FCLibHasGroup_Private(hid_t h5, const char path[])
{
  hid_t group = FCLibHas_Private(h5, path) ? H5Gopen2(h5, path, H5P_DEFAULT) : -1;

  if (group >= 0) H5Gclose(group);
  return group >= 0 ? PETSC_TRUE : PETSC_FALSE;
}

/* All of a dataset of any shape, as int64_t (type H5T_NATIVE_INT64) or PetscReal (H5T_NATIVE_DOUBLE). The array is the caller's, also after an error.
 */
static PetscErrorCode FCLibReadArray_Private(hid_t h5, const char file[], const char path[], hid_t type, PetscInt *size, void *array)
{
  PetscBool isint = type == H5T_NATIVE_INT64 ? PETSC_TRUE : PETSC_FALSE;
  hid_t     set = -1, space = -1, stored = -1;
  hssize_t  points = -1;
  herr_t    failed = -1;
  PetscBool number = PETSC_FALSE;

  PetscFunctionBeginUser;
  *size = 0;
  FCLibCheck(FCLibHas_Private(h5, path), file, "there is no %s in it", path);
  set = H5Dopen2(h5, path, H5P_DEFAULT);
  if (set >= 0) {
    space = H5Dget_space(set);
    stored = H5Dget_type(set);
    points = H5Sget_simple_extent_npoints(space);
    number = H5Tget_class(stored) == H5T_INTEGER || (H5Tget_class(stored) == H5T_FLOAT && !isint) ? PETSC_TRUE : PETSC_FALSE;
    H5Tclose(stored);
    H5Sclose(space);
  }
  if (points >= 0 && points < PETSC_MAX_INT && number) {
    if (isint)
      PetscCall(PetscMalloc1(points, (int64_t **)array));
    else
      PetscCall(PetscMalloc1(points, (PetscReal **)array));
    failed = points > 0 ? H5Dread(set, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, *(void **)array) : 0;
    *size = (PetscInt)points;
  }
  if (set >= 0) H5Dclose(set);
  FCLibCheck(set >= 0 && points >= 0, file, "%s is not a dataset", path);
  FCLibCheck(points < PETSC_MAX_INT, file, "%s has too many entries", path);
  FCLibCheck(number, file, "%s is not of %s", path, isint ? "integers" : "numbers");
  FCLibCheck(failed >= 0, file, "%s cannot be read, the file is damaged", path);
  PetscFunctionReturn(0);
}

/* One integer, (1,) or without dimension */
static PetscErrorCode FCLibReadInt_Private(hid_t h5, const char file[], const char group[], const char name[], int64_t *value)
{
  char           path[FCLIB_PATH];
  int64_t       *array = NULL;
  PetscInt       size;
  PetscErrorCode ierr;

  PetscFunctionBeginUser;
  PetscCall(PetscSNPrintf(path, sizeof(path), "%s/%s", group, name));
  ierr = FCLibReadArray_Private(h5, file, path, H5T_NATIVE_INT64, &size, &array);
  if (!ierr && size > 0) *value = array[0];
  PetscCall(PetscFree(array));
  PetscCall(ierr);
  FCLibCheck(size == 1, file, "%s has %" PetscInt_FMT " entries instead of one", path, size);
  PetscFunctionReturn(0);
}

/* Finite numbers, length of them. The array is the caller's, also after an error. */
static PetscErrorCode FCLibReadVector_Private(hid_t h5, const char file[], const char group[], const char name[], PetscInt length, PetscReal **array)
{
  char     path[FCLIB_PATH];
  PetscInt size;

  PetscFunctionBeginUser;
  PetscCall(PetscSNPrintf(path, sizeof(path), "%s/%s", group, name));
  PetscCall(FCLibReadArray_Private(h5, file, path, H5T_NATIVE_DOUBLE, &size, array));
  FCLibCheck(size == length, file, "%s has %" PetscInt_FMT " entries instead of %" PetscInt_FMT, path, size, length);
  for (PetscInt k = 0; k < size; k++)
    FCLibCheck(!PetscIsInfOrNanReal((*array)[k]), file, "entry %" PetscInt_FMT " of %s (from 0) is not a finite number", k, path);
  PetscFunctionReturn(0);
}

/* Compressed rows (nz = -2), compressed columns (-1) or triplets (>= 0: i is the row and p the column, also beyond nz up to nzmax) */
static PetscErrorCode FCLibReadMatrix_Private(hid_t h5, const char file[], const char group[], FCLibMatrix *a)
{
  const char *name[4] = {"nzmax", "m", "n", "nz"};
  int64_t    *value[4] = {&a->nzmax, &a->m, &a->n, &a->nz};
  char        path[FCLIB_PATH];
  PetscInt    np, ni, nx;

  PetscFunctionBeginUser;
  FCLibCheck(FCLibHasGroup_Private(h5, group), file, "there is no group %s in it", group);
  for (int k = 0; k < 4; k++) {
    PetscCall(FCLibReadInt_Private(h5, file, group, name[k], value[k]));
    FCLibCheck(*value[k] >= (k < 3 ? 0 : -2) && *value[k] < PETSC_MAX_INT, file, "%s/%s is %" PRId64 "%s", group, name[k], *value[k],
               k < 3 ? "" : ", not -2 (compressed rows), -1 (compressed columns) or a number of triplets");
  }
  if (a->m == 0 || a->n == 0) PetscFunctionReturn(0); /* then nothing else need be there */
  PetscCall(PetscSNPrintf(path, sizeof(path), "%s/p", group));
  PetscCall(FCLibReadArray_Private(h5, file, path, H5T_NATIVE_INT64, &np, &a->p));
  if (a->nz < 0) {
    int64_t major = a->nz == -2 ? a->m : a->n;

    FCLibCheck(np == major + 1, file, "%s has %" PetscInt_FMT " entries instead of %" PRId64, path, np, major + 1);
    FCLibCheck(a->p[0] == 0, file, "%s begins with %" PRId64 " instead of 0", path, a->p[0]);
    for (int64_t k = 0; k < major; k++) FCLibCheck(a->p[k + 1] >= a->p[k], file, "%s decreases after entry %" PRId64 " (from 0)", path, k);
    FCLibCheck(a->p[major] <= a->nzmax, file, "%s ends with %" PRId64 ", past nzmax, which is %" PRId64, path, a->p[major], a->nzmax);
    a->entries = (PetscInt)a->p[major];
  } else {
    FCLibCheck(a->nz <= a->nzmax, file, "%s/nz is %" PRId64 ", past nzmax, which is %" PRId64, group, a->nz, a->nzmax);
    FCLibCheck(np >= a->nz, file, "%s has %" PetscInt_FMT " entries, fewer than the %" PRId64 " triplets", path, np, a->nz);
    a->entries = (PetscInt)a->nz;
    for (PetscInt k = 0; k < a->entries; k++)
      FCLibCheck(a->p[k] >= 0 && a->p[k] < a->n, file, "entry %" PetscInt_FMT " of %s (from 0) is %" PRId64 ", but there are %" PRId64 " columns", k,
                 path, a->p[k], a->n);
  }
  PetscCall(PetscSNPrintf(path, sizeof(path), "%s/i", group));
  PetscCall(FCLibReadArray_Private(h5, file, path, H5T_NATIVE_INT64, &ni, &a->i));
  FCLibCheck(ni >= a->entries, file, "%s has %" PetscInt_FMT " entries instead of %" PetscInt_FMT, path, ni, a->entries);
  for (PetscInt k = 0; k < a->entries; k++) {
    int64_t limit = a->nz == -2 ? a->n : a->m;

    FCLibCheck(a->i[k] >= 0 && a->i[k] < limit, file, "entry %" PetscInt_FMT " of %s (from 0) is %" PRId64 ", but there are %" PRId64 " %s", k, path,
               a->i[k], limit, a->nz == -2 ? "columns" : "rows");
  }
  PetscCall(PetscSNPrintf(path, sizeof(path), "%s/x", group));
  PetscCall(FCLibReadArray_Private(h5, file, path, H5T_NATIVE_DOUBLE, &nx, &a->x));
  FCLibCheck(nx >= a->entries, file, "%s has %" PetscInt_FMT " entries instead of %" PetscInt_FMT, path, nx, a->entries);
  for (PetscInt k = 0; k < a->entries; k++)
    FCLibCheck(!PetscIsInfOrNanReal(a->x[k]), file, "entry %" PetscInt_FMT " of %s (from 0) is not a finite number", k, path);
  PetscFunctionReturn(0);
}

/* Entries of a matrix as triplets behind those that are there, moved and perhaps transposed */
static void FCLibTriplets_Private(const FCLibMatrix *a, PetscInt row0, PetscInt col0, PetscBool transpose, PetscInt *count, PetscInt row[],
                                  PetscInt col[], PetscReal val[])
{
  PetscInt major = 0;

  for (PetscInt k = 0; k < a->entries; k++) {
    PetscInt i = (PetscInt)a->i[k], j;

    if (a->nz >= 0)
      j = (PetscInt)a->p[k];
    else {
      while (a->p[major + 1] <= k) major++;
      j = major;
      if (a->nz == -2) {
        j = i;
        i = major;
      }
    }
    row[*count] = row0 + (transpose ? j : i);
    col[*count] = col0 + (transpose ? i : j);
    val[*count] = a->x[k];
    *count += 1;
  }
}

/* order: the places 0..n-1 (or those in from) sorted by key, equal ones as they come; start has limit + 1 places */
static void FCLibCountingSort_Private(PetscInt n, const PetscInt from[], const PetscInt key[], PetscInt limit, PetscInt start[], PetscInt order[])
{
  memset(start, 0, (size_t)(limit + 1) * sizeof(*start));
  for (PetscInt k = 0; k < n; k++) start[key[k] + 1]++;
  for (PetscInt k = 0; k < limit; k++) start[k + 1] += start[k];
  for (PetscInt k = 0; k < n; k++) {
    PetscInt place = from ? from[k] : k;

    order[start[key[place]]++] = place;
  }
}

static PetscErrorCode FCLibAssemble_Private(const FCLibMatrix *w, const FCLibMatrix *v, const FCLibMatrix *r, FCLibProblem *p)
{
  PetscInt   nw = p->dim * p->n, size = nw + p->m, n = w->entries + 2 * v->entries + r->entries, count = 0;
  PetscInt  *row, *col, *order, *bycol, *start;
  PetscReal *val;

  PetscFunctionBeginUser;
  PetscCall(PetscMalloc6(n, &row, n, &col, n, &val, n, &order, n, &bycol, size + 1, &start));
  FCLibTriplets_Private(w, 0, 0, PETSC_FALSE, &count, row, col, val);
  FCLibTriplets_Private(v, 0, nw, PETSC_FALSE, &count, row, col, val);
  FCLibTriplets_Private(v, nw, 0, PETSC_TRUE, &count, row, col, val);
  FCLibTriplets_Private(r, nw, nw, PETSC_FALSE, &count, row, col, val);
  FCLibCountingSort_Private(n, NULL, col, size, start, bycol);
  FCLibCountingSort_Private(n, bycol, row, size, start, order);
  PetscCall(PetscCalloc1(size + 1, &p->ptr));
  PetscCall(PetscMalloc1(n, &p->col));
  PetscCall(PetscMalloc1(n, &p->val));
  count = 0;
  for (PetscInt k = 0; k < n; k++) {
    PetscInt t = order[k];

    if (k > 0 && row[t] == row[order[k - 1]] && col[t] == col[order[k - 1]]) {
      p->val[count - 1] += val[t];
      continue;
    }
    p->col[count] = col[t];
    p->val[count++] = val[t];
    p->ptr[row[t] + 1]++;
  }
  for (PetscInt k = 0; k < size; k++) p->ptr[k + 1] += p->ptr[k];
  PetscCall(PetscFree6(row, col, val, order, bycol, start));
  PetscFunctionReturn(0);
}

/* Finite numbers, length of them, to an array that is there */
static PetscErrorCode FCLibReadPart_Private(hid_t h5, const char file[], const char group[], const char name[], PetscInt length, PetscReal to[])
{
  PetscReal     *part = NULL;
  PetscErrorCode ierr;

  PetscFunctionBeginUser;
  ierr = FCLibReadVector_Private(h5, file, group, name, length, &part);
  if (!ierr) PetscCall(PetscArraycpy(to, part, length));
  PetscCall(PetscFree(part));
  PetscCall(ierr);
  PetscFunctionReturn(0);
}

/* The matrices are the caller's, also after an error */
static PetscErrorCode FCLibReadLocal_Private(hid_t h5, const char file[], FCLibMatrix *w, FCLibMatrix *v, FCLibMatrix *r, FCLibProblem *p)
{
  int64_t   dim = 0;
  PetscInt  nw;
  PetscBool havev, haver;

  PetscFunctionBeginUser;
  if (!FCLibHasGroup_Private(h5, "/fclib_local")) {
    FCLibCheck(!FCLibHasGroup_Private(h5, "/fclib_global"), file,
               "holds a global problem (/fclib_global); only local ones (/fclib_local with W, q and mu) are supported");
    FCLibCheck(PETSC_FALSE, file, "there is no group /fclib_local in it, so it holds no friction-contact problem");
  }
  PetscCall(FCLibReadInt_Private(h5, file, "/fclib_local", "spacedim", &dim));
  FCLibCheck(dim == 2 || dim == 3, file, "/fclib_local/spacedim is %" PRId64 " instead of 2 or 3", dim);
  p->dim = (PetscInt)dim;
  PetscCall(FCLibReadMatrix_Private(h5, file, "/fclib_local/W", w));
  FCLibCheck(w->m == w->n, file, "/fclib_local/W is not square: %" PRId64 " rows, %" PRId64 " columns", w->m, w->n);
  FCLibCheck(w->m > 0, file, "there are no contacts in it: /fclib_local/W has no rows");
  FCLibCheck(w->m % dim == 0, file, "/fclib_local/W has %" PRId64 " rows, not a multiple of spacedim, which is %" PRId64, w->m, dim);
  nw = (PetscInt)w->m;
  p->n = nw / p->dim;
  havev = FCLibHas_Private(h5, "/fclib_local/V");
  haver = FCLibHas_Private(h5, "/fclib_local/R");
  FCLibCheck(havev == haver, file, "there is /fclib_local/%s but no %s, bilateral rows need both", havev ? "V" : "R", havev ? "R" : "V");
  if (havev) {
    PetscCall(FCLibReadMatrix_Private(h5, file, "/fclib_local/V", v));
    PetscCall(FCLibReadMatrix_Private(h5, file, "/fclib_local/R", r));
    FCLibCheck(r->m == r->n, file, "/fclib_local/R is not square: %" PRId64 " rows, %" PRId64 " columns", r->m, r->n);
    FCLibCheck(v->m == w->m && v->n == r->n, file, "/fclib_local/V has %" PRId64 " rows and %" PRId64 " columns instead of %" PRId64 " and %" PRId64,
               v->m, v->n, w->m, r->n);
    p->m = (PetscInt)r->n;
  }
  FCLibCheck((PetscInt64)nw + p->m < PETSC_MAX_INT && w->entries + 2 * (PetscInt64)v->entries + r->entries < PETSC_MAX_INT, file,
             "the problem is too large: %" PetscInt_FMT " rows", nw);
  FCLibCheck(FCLibHasGroup_Private(h5, "/fclib_local/vectors"), file, "there is no group /fclib_local/vectors in it");
  PetscCall(PetscCalloc1(nw + p->m, &p->q));
  PetscCall(FCLibReadPart_Private(h5, file, "/fclib_local/vectors", "q", nw, p->q));
  if (p->m > 0 || FCLibHas_Private(h5, "/fclib_local/vectors/s"))
    PetscCall(FCLibReadPart_Private(h5, file, "/fclib_local/vectors", "s", p->m, p->q + nw));
  PetscCall(FCLibReadVector_Private(h5, file, "/fclib_local/vectors", "mu", p->n, &p->mu));
  for (PetscInt k = 0; k < p->n; k++)
    FCLibCheck(p->mu[k] >= 0, file, "contact %" PetscInt_FMT " (from 0) has negative friction %g", k, (double)p->mu[k]);
  if (FCLibHas_Private(h5, "/guesses/1/r")) {
    PetscCall(PetscCalloc1(nw + p->m, &p->guess));
    PetscCall(FCLibReadPart_Private(h5, file, "/guesses/1", "r", nw, p->guess));
    if (p->m > 0 && FCLibHas_Private(h5, "/guesses/1/l")) PetscCall(FCLibReadPart_Private(h5, file, "/guesses/1", "l", p->m, p->guess + nw));
  }
  PetscCall(FCLibAssemble_Private(w, v, r, p));
  PetscFunctionReturn(0);
}

/* Why a file cannot be opened as HDF5, if that can be seen from outside */
static PetscErrorCode FCLibLook_Private(const char file[])
{
  struct stat info;

  PetscFunctionBeginUser;
  FCLibCheck(stat(file, &info) == 0 && access(file, R_OK) == 0, file, "%s", errno == ENOENT ? "there is no such file" : strerror(errno));
  FCLibCheck(!S_ISDIR(info.st_mode), file, "is a folder, not a file");
  FCLibCheck(H5Fis_hdf5(file) > 0, file, "is not an HDF5 file");
  PetscFunctionReturn(0);
}

static PetscErrorCode FCLibReadFile_Private(const char file[], FCLibProblem *p)
{
  FCLibMatrix    w, v, r;
  PetscErrorCode ierr;
  hid_t          h5;

  PetscFunctionBeginUser;
  PetscCall(FCLibLook_Private(file));
  h5 = H5Fopen(file, H5F_ACC_RDONLY, H5P_DEFAULT);
  FCLibCheck(h5 >= 0, file, "is cut short or damaged, HDF5 cannot open it");
  PetscCall(PetscMemzero(&w, sizeof(w)));
  PetscCall(PetscMemzero(&v, sizeof(v)));
  PetscCall(PetscMemzero(&r, sizeof(r)));
  ierr = FCLibReadLocal_Private(h5, file, &w, &v, &r, p);
  PetscCall(FCLibMatrixFree_Private(&w));
  PetscCall(FCLibMatrixFree_Private(&v));
  PetscCall(FCLibMatrixFree_Private(&r));
  H5Fclose(h5);
  PetscCall(ierr);
  PetscFunctionReturn(0);
}

PetscErrorCode FCLibRead(const char file[], FCLibProblem **problem)
{
  PetscErrorCode ierr;

  PetscFunctionBeginUser;
  PetscCall(PetscNew(problem));
  H5E_BEGIN_TRY
  {
    ierr = FCLibReadFile_Private(file, *problem);
  }
  H5E_END_TRY
  if (ierr) PetscCall(FCLibProblemDestroy(problem));
  PetscCall(ierr);
  PetscFunctionReturn(0);
}

PetscErrorCode FCLibProblemDestroy(FCLibProblem **problem)
{
  FCLibProblem *p = *problem;

  PetscFunctionBeginUser;
  if (!p) PetscFunctionReturn(0);
  PetscCall(PetscFree(p->ptr));
  PetscCall(PetscFree(p->col));
  PetscCall(PetscFree(p->val));
  PetscCall(PetscFree(p->q));
  PetscCall(PetscFree(p->mu));
  PetscCall(PetscFree(p->guess));
  PetscCall(PetscFree(*problem));
  PetscFunctionReturn(0);
}

/* --- writing: these return something negative when HDF5 fails --- */

static int FCLibPut_Private(hid_t at, const char name[], hid_t stored, hid_t given, PetscInt size, const void *data)
{
  hsize_t extent = (hsize_t)size;
  hid_t   space = H5Screate_simple(1, &extent, NULL);
  hid_t   set = H5Dcreate2(at, name, stored, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
  int     failed = set < 0 || (size > 0 && H5Dwrite(set, given, H5S_ALL, H5S_ALL, H5P_DEFAULT, data) < 0);

  if (set >= 0) failed |= H5Dclose(set) < 0;
  if (space >= 0) H5Sclose(space);
  return failed ? -1 : 0;
}

/* FCLib reads 32 bits */
static int FCLibPutInts_Private(hid_t at, const char name[], PetscInt size, const PetscInt data[])
{
  return FCLibPut_Private(at, name, H5T_STD_I32LE, sizeof(PetscInt) == 4 ? H5T_NATIVE_INT32 : H5T_NATIVE_INT64, size, data);
}

static int FCLibPutReals_Private(hid_t at, const char name[], PetscInt size, const PetscReal data[])
{
  return FCLibPut_Private(at, name, H5T_IEEE_F64LE, H5T_NATIVE_DOUBLE, size, data);
}

static int FCLibPutString_Private(hid_t at, const char name[], const char text[])
{
  hid_t space = H5Screate(H5S_SCALAR), type = H5Tcopy(H5T_C_S1), set = -1;
  int   failed = H5Tset_size(type, strlen(text) + 1) < 0;

  if (!failed) set = H5Dcreate2(at, name, type, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
  failed |= set < 0 || H5Dwrite(set, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, text) < 0;
  if (set >= 0) failed |= H5Dclose(set) < 0;
  H5Tclose(type);
  H5Sclose(space);
  return failed ? -1 : 0;
}

/* Rows [row0, row1) and columns [col0, col1) of the problem's matrix; work: row1 - row0 + 1 and two times the entries */
static int FCLibPutMatrix_Private(hid_t at, const char name[], const FCLibProblem *p, PetscInt row0, PetscInt row1, PetscInt col0, PetscInt col1,
                                  PetscInt ptr[], PetscInt col[], PetscReal val[])
{
  hid_t    group = H5Gcreate2(at, name, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
  PetscInt head[4] = {0, row1 - row0, col1 - col0, -2};
  int      failed = group < 0;

  ptr[0] = 0;
  for (PetscInt i = row0; i < row1; i++) {
    for (PetscInt k = p->ptr[i]; k < p->ptr[i + 1]; k++) {
      if (p->col[k] < col0 || p->col[k] >= col1) continue;
      col[head[0]] = p->col[k] - col0;
      val[head[0]++] = p->val[k];
    }
    ptr[i - row0 + 1] = head[0];
  }
  failed |= FCLibPutInts_Private(group, "nzmax", 1, &head[0]) | FCLibPutInts_Private(group, "m", 1, &head[1]);
  failed |= FCLibPutInts_Private(group, "n", 1, &head[2]) | FCLibPutInts_Private(group, "nz", 1, &head[3]);
  failed |= FCLibPutInts_Private(group, "p", head[1] + 1, ptr) | FCLibPutInts_Private(group, "i", head[0], col) |
            FCLibPutReals_Private(group, "x", head[0], val);
  if (group >= 0) H5Gclose(group);
  return failed ? -1 : 0;
}

/* r, u and, with bilateral rows, l of a solution or guess */
static int FCLibPutSolution_Private(hid_t group, PetscInt nw, PetscInt m, const PetscReal r[], const PetscReal u[])
{
  int failed = FCLibPutReals_Private(group, "r", nw, r) | FCLibPutReals_Private(group, "u", nw, u);

  if (m > 0) failed |= FCLibPutReals_Private(group, "l", m, r + nw);
  return failed;
}

static PetscErrorCode FCLibPutProblem_Private(hid_t h5, const FCLibProblem *p, const char title[], int *failed)
{
  PetscInt   nw = p->dim * p->n, size = nw + p->m, one = 1, *ptr, *col;
  hid_t      local, group;
  PetscReal *val, *u;

  PetscFunctionBeginUser;
  PetscCall(PetscMalloc4(size + 1, &ptr, p->ptr[size], &col, p->ptr[size], &val, size, &u));
  local = H5Gcreate2(h5, "/fclib_local", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
  *failed = local < 0 || FCLibPutInts_Private(local, "spacedim", 1, &p->dim) || FCLibPutMatrix_Private(local, "W", p, 0, nw, 0, nw, ptr, col, val);
  if (p->m > 0)
    *failed |= FCLibPutMatrix_Private(local, "V", p, 0, nw, nw, size, ptr, col, val) |
               FCLibPutMatrix_Private(local, "R", p, nw, size, nw, size, ptr, col, val);
  group = H5Gcreate2(local, "vectors", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
  *failed |= group < 0 || FCLibPutReals_Private(group, "q", nw, p->q) || FCLibPutReals_Private(group, "mu", p->n, p->mu);
  if (p->m > 0) *failed |= FCLibPutReals_Private(group, "s", p->m, p->q + nw);
  if (group >= 0) H5Gclose(group);
  group = H5Gcreate2(local, "info", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
  *failed |= group < 0 || (title && FCLibPutString_Private(group, "title", title));
  *failed |= FCLibPutString_Private(group, "description", "friction-contact problem of one step, r impulses, u velocities; written by Ashlar") |
             FCLibPutString_Private(group, "math_info", "unknown");
  if (group >= 0) H5Gclose(group);
  if (local >= 0) H5Gclose(local);
  if (p->guess) {
    for (PetscInt i = 0; i < size; i++) {
      u[i] = p->q[i];
      for (PetscInt k = p->ptr[i]; k < p->ptr[i + 1]; k++) u[i] += p->val[k] * p->guess[p->col[k]];
    }
    local = H5Gcreate2(h5, "/guesses", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    group = H5Gcreate2(local, "1", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    *failed |= group < 0 || FCLibPutInts_Private(local, "number_of_guesses", 1, &one) || FCLibPutSolution_Private(group, nw, p->m, p->guess, u);
    if (group >= 0) H5Gclose(group);
    if (local >= 0) H5Gclose(local);
  }
  PetscCall(PetscFree4(ptr, col, val, u));
  PetscFunctionReturn(0);
}

/* The name of the file beside, and whether the file can be made at all */
static PetscErrorCode FCLibPart_Private(const char file[], size_t size, char part[])
{
  FILE *probe;

  PetscFunctionBeginUser;
  FCLibCheck(strlen(file) + sizeof(".part") <= size, file, "the name is too long");
  PetscCall(PetscSNPrintf(part, size, "%s.part", file));
  probe = fopen(part, "w");
  FCLibCheck(probe, file, "cannot be written: %s", strerror(errno));
  fclose(probe);
  PetscFunctionReturn(0);
}

PetscErrorCode FCLibWriteProblem(const char file[], const FCLibProblem *p, const char title[])
{
  char           part[PETSC_MAX_PATH_LEN];
  int            failed = 1;
  PetscErrorCode ierr = 0;
  hid_t          h5;

  PetscFunctionBeginUser;
  PetscCall(FCLibPart_Private(file, sizeof(part), part));
  H5E_BEGIN_TRY
  {
    h5 = H5Fcreate(part, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
    if (h5 >= 0) {
      ierr = FCLibPutProblem_Private(h5, p, title, &failed);
      failed |= H5Fclose(h5) < 0;
    }
  }
  H5E_END_TRY
  if (!failed && !ierr) failed = rename(part, file);
  if (failed || ierr) unlink(part);
  PetscCall(ierr);
  FCLibCheck(!failed, file, "cannot be written");
  PetscFunctionReturn(0);
}

static PetscErrorCode FCLibCopy_Private(const char source[], const char target[], const char part[])
{
  FILE  *from = fopen(source, "rb"), *to = from ? fopen(part, "wb") : NULL;
  int    unread = !from, unwritten = from && !to;
  size_t size;
  char  *buffer;

  PetscFunctionBeginUser;
  PetscCall(PetscMalloc1(1 << 16, &buffer));
  while (!unread && !unwritten && (size = fread(buffer, 1, 1 << 16, from)) > 0) unwritten = fwrite(buffer, 1, size, to) != size;
  if (from) {
    unread |= ferror(from) != 0;
    fclose(from);
  }
  if (to) unwritten |= fclose(to) != 0;
  PetscCall(PetscFree(buffer));
  FCLibCheck(!unread, source, "cannot be read");
  FCLibCheck(!unwritten, target, "cannot be written");
  PetscFunctionReturn(0);
}

/* In a copy that is open for writing */
static PetscErrorCode FCLibPutNewSolution_Private(hid_t h5, const char source[], const char target[], PetscInt n3, const PetscReal r[],
                                                  const PetscReal u[])
{
  const char *name[3] = {"r", "u", "l"};
  int64_t     nw = 0, m = 0;
  int         failed = 0;
  hid_t       group;

  PetscFunctionBeginUser;
  PetscCall(FCLibReadInt_Private(h5, source, "/fclib_local/W", "m", &nw));
  if (FCLibHas_Private(h5, "/fclib_local/R")) PetscCall(FCLibReadInt_Private(h5, source, "/fclib_local/R", "m", &m));
  FCLibCheck(n3 == nw || n3 == nw + m, source, "its problem has %" PRId64 " rows, but the solution has %" PetscInt_FMT, nw + m, n3);
  if (!FCLibHas_Private(h5, "/solution"))
    group = H5Gcreate2(h5, "/solution", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
  else {
    FCLibCheck(FCLibHasGroup_Private(h5, "/solution"), source, "/solution is not a group");
    group = H5Gopen2(h5, "/solution", H5P_DEFAULT);
    for (int k = 0; k < (n3 > nw ? 3 : 2); k++)
      if (H5Lexists(group, name[k], H5P_DEFAULT) > 0) failed |= H5Ldelete(group, name[k], H5P_DEFAULT) < 0;
  }
  failed |= FCLibPutSolution_Private(group, (PetscInt)nw, n3 - (PetscInt)nw, r, u);
  if (group >= 0) H5Gclose(group);
  FCLibCheck(!failed, target, "/solution cannot be written");
  PetscFunctionReturn(0);
}

PetscErrorCode FCLibWriteSolution(const char source[], const char target[], PetscInt n3, const PetscReal r[], const PetscReal u[])
{
  char           part[PETSC_MAX_PATH_LEN];
  int            failed = 1;
  PetscErrorCode ierr;
  hid_t          h5;

  PetscFunctionBeginUser;
  H5E_BEGIN_TRY
  {
    ierr = FCLibLook_Private(source);
  }
  H5E_END_TRY
  PetscCall(ierr);
  PetscCall(FCLibPart_Private(target, sizeof(part), part));
  ierr = FCLibCopy_Private(source, target, part);
  if (!ierr) {
    H5E_BEGIN_TRY
    {
      h5 = H5Fopen(part, H5F_ACC_RDWR, H5P_DEFAULT);
      if (h5 >= 0) {
        ierr = FCLibPutNewSolution_Private(h5, source, target, n3, r, u);
        failed = H5Fclose(h5) < 0;
      }
    }
    H5E_END_TRY
  }
  if (!failed && !ierr) failed = rename(part, target);
  if (failed || ierr) unlink(part);
  PetscCall(ierr);
  FCLibCheck(!failed, target, "cannot be written");
  PetscFunctionReturn(0);
}
