/* FCLib's files: every layout that is seen in the wild gives the same matrix, every bad file is refused with one line, solutions are added. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <hdf5.h>
#include <math.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "meshes/fclib.h"

static char message[4096]; /* of the last error */
static char folder[256], path[512], other[512];
static int  loud; /* how often HDF5 wanted to print an error */

static PetscErrorCode Capture(MPI_Comm comm, int line, const char *func, const char *file, PetscErrorCode code, PetscErrorType type, const char *text,
                              void *ctx)
{
  (void)comm, (void)line, (void)func, (void)file, (void)ctx;
  if (type == PETSC_ERROR_INITIAL) snprintf(message, sizeof(message), "%s", text);
  return code;
}

static herr_t Loud(hid_t stack, void *ctx)
{
  (void)stack, (void)ctx;
  loud++;
  return 0;
}

#define Ok(call)                                                                                                                                     \
  do {                                                                                                                                               \
    message[0] = 0;                                                                                                                                  \
    if (call) fail_msg("%s: %s", #call, message);                                                                                                    \
  } while (0)

/* The state that a call must leave as it was, but for what it returns */
static PetscLogDouble memory;

static void Before(void)
{
  loud = 0;
  assert_int_equal(PetscMallocGetCurrentUsage(&memory), 0);
}

static void Quiet(void)
{
  H5E_auto2_t handler;
  void       *ctx;

  assert_int_equal(loud, 0);
  assert_int_equal(H5Eget_auto2(H5E_DEFAULT, &handler, &ctx), 0);
  assert_true(handler == Loud && ctx == &loud);
  assert_int_equal(H5Fget_obj_count((hid_t)H5F_OBJ_ALL, H5F_OBJ_ALL), 0);
}

static void NothingLeft(void)
{
  PetscLogDouble now;

  Quiet();
  assert_int_equal(PetscMallocGetCurrentUsage(&now), 0);
  assert_true(now == memory);
}

/* Reading the file is refused with a line that begins with its name and holds the fragment; nothing leaks. */
static void RefusedFile(const char file[], const char fragment[])
{
  FCLibProblem *p = NULL;

  message[0] = 0;
  Before();
  assert_int_equal(FCLibRead(file, &p), PETSC_ERR_USER_INPUT);
  assert_null(p);
  NothingLeft();
  if (strncmp(message, file, strlen(file)) || strncmp(message + strlen(file), ": ", 2)) fail_msg("'%s' does not begin with '%s'", message, file);
  if (!strstr(message, fragment)) fail_msg("'%s' does not hold '%s'", message, fragment);
  assert_null(strchr(message, '\n'));
}

/* --- files by hand --- */

/* rank 0: without dimension */
static void Put(hid_t h5, const char name[], hid_t stored, hid_t given, int rank, hsize_t n, const void *data)
{
  hid_t link = H5Pcreate(H5P_LINK_CREATE), space, set;

  H5Pset_create_intermediate_group(link, 1);
  if (H5Lexists(h5, name, H5P_DEFAULT) > 0) H5Ldelete(h5, name, H5P_DEFAULT);
  space = rank == 0 ? H5Screate(H5S_SCALAR) : H5Screate_simple(1, &n, NULL);
  set = H5Dcreate2(h5, name, stored, space, link, H5P_DEFAULT, H5P_DEFAULT);
  assert_true(set >= 0);
  if (n > 0) assert_true(H5Dwrite(set, given, H5S_ALL, H5S_ALL, H5P_DEFAULT, data) >= 0);
  H5Dclose(set);
  H5Sclose(space);
  H5Pclose(link);
}

static void PutReals(hid_t h5, const char name[], hsize_t n, const double data[])
{
  Put(h5, name, H5T_IEEE_F64LE, H5T_NATIVE_DOUBLE, 1, n, data);
}

typedef struct {
  int nz;         /* -2, -1, or 0 for triplets */
  int reverse;    /* indices of a row (column) descend; triplets come last first */
  int duplicates; /* every third entry in two parts */
  int slack;      /* unused entries behind the used ones, of rubbish */
  int rank;       /* of scalars */
  int wide;       /* int64 */
  int zeros;      /* the whole pattern is stored */
} Layout;

static void PutInts(hid_t h5, const Layout *l, const char group[], const char name[], int rank, hsize_t n, const int data[])
{
  char full[256];

  snprintf(full, sizeof(full), "%s/%s", group, name);
  Put(h5, full, l->wide ? H5T_STD_I64LE : H5T_STD_I32LE, H5T_NATIVE_INT, rank, n, data);
}

static void PutMatrix(hid_t h5, const Layout *l, const char group[], int rows, int cols, const double dense[])
{
  int     major = l->nz == -1 ? cols : rows, minor = l->nz == -1 ? rows : cols, room = 2 * rows * cols + l->slack + 1, n = 0;
  int    *p = calloc((size_t)(major + room), sizeof(int)), *i = calloc((size_t)room, sizeof(int)), *row = calloc((size_t)room, sizeof(int)), nz, size;
  double *x = calloc((size_t)room, sizeof(double));
  char    full[256];

  for (int a = 0; a < major; a++) {
    p[a] = n;
    for (int c = 0; c < minor; c++) {
      int    b = l->reverse ? minor - 1 - c : c;
      double v = l->nz == -1 ? dense[b * cols + a] : dense[a * cols + b];

      if (v == 0 && !l->zeros) continue;
      row[n] = a;
      i[n] = b;
      x[n++] = v;
      if (!l->duplicates || (a + b) % 3) continue;
      x[n - 1] = v / 4;
      row[n] = a;
      i[n] = b;
      x[n++] = 3 * v / 4;
    }
  }
  p[major] = n;
  size = n + l->slack;
  nz = l->nz < 0 ? l->nz : n;
  for (int k = n; k < size; k++) {
    i[k] = row[k] = 12345678;
    x[k] = NAN;
  }
  if (l->nz >= 0 && l->reverse)
    for (int k = 0; k < n / 2; k++) {
      int    s = i[k], t = row[k];
      double v = x[k];

      i[k] = i[n - 1 - k], row[k] = row[n - 1 - k], x[k] = x[n - 1 - k];
      i[n - 1 - k] = s, row[n - 1 - k] = t, x[n - 1 - k] = v;
    }
  PutInts(h5, l, group, "nzmax", l->rank, 1, &size);
  PutInts(h5, l, group, "m", l->rank, 1, &rows);
  PutInts(h5, l, group, "n", l->rank, 1, &cols);
  PutInts(h5, l, group, "nz", l->rank, 1, &nz);
  if (l->nz < 0) {
    PutInts(h5, l, group, "p", 1, (hsize_t)major + 1, p);
    PutInts(h5, l, group, "i", 1, (hsize_t)size, i);
  } else { /* row in i, column in p; only the values are nzmax long, as FCLib writes them, or all are */
    PutInts(h5, l, group, "i", 1, (hsize_t)(l->wide ? size : n), row);
    PutInts(h5, l, group, "p", 1, (hsize_t)(l->wide ? size : n), i);
  }
  snprintf(full, sizeof(full), "%s/x", group);
  PutReals(h5, full, (hsize_t)size, x);
  free(p), free(i), free(row), free(x);
}

#define N 4 /* contacts */
#define M 2 /* bilateral rows */
#define MAX (3 * N + M)
static double W[9 * N * N], V[3 * N * M], R[M * M], q[3 * N], s[M], mu[N];

/* An unsymmetric matrix with a block of zeros in it; the numbers are dyadic so that parts sum exactly. */
static void Fill(int dim)
{
  int n = dim * N;

  for (int i = 0; i < n; i++) {
    for (int j = 0; j < n; j++) W[i * n + j] = abs(i / dim - j / dim) > 1 ? 0 : ((i * 7 + j * 3) % 11 - 5) / 8. + (i == j ? 4 : 0);
    for (int j = 0; j < M; j++) V[i * M + j] = (i + j) % 4 ? 0 : (i + 1) / 16. - j;
    q[i] = i / 4. - 1;
  }
  for (int k = 0; k < M * M; k++) R[k] = k == 1 ? 0 : k + 0.5;
  for (int k = 0; k < M; k++) s[k] = k - 0.25;
  for (int k = 0; k < N; k++) mu[k] = k / 8.;
}

static hid_t Create(int dim, const Layout *l, int bilateral)
{
  hid_t h5 = H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);

  assert_true(h5 >= 0);
  Fill(dim);
  PutInts(h5, l, "/fclib_local", "spacedim", l->rank, 1, &dim);
  PutMatrix(h5, l, "/fclib_local/W", dim * N, dim * N, W);
  if (bilateral) {
    PutMatrix(h5, l, "/fclib_local/V", dim * N, M, V);
    PutMatrix(h5, l, "/fclib_local/R", M, M, R);
    PutReals(h5, "/fclib_local/vectors/s", M, s);
  }
  PutReals(h5, "/fclib_local/vectors/q", (hsize_t)(dim * N), q);
  PutReals(h5, "/fclib_local/vectors/mu", N, mu);
  return h5;
}

static const Layout rows = {.nz = -2, .rank = 1};

static void Good(void)
{
  H5Fclose(Create(3, &rows, 0));
}

/* The good file with an array of it replaced or, with n < 0, gone */
static void Change(const char name[], int n, const double reals[], const int ints[])
{
  hid_t h5;

  h5 = H5Fopen(path, H5F_ACC_RDWR, H5P_DEFAULT);
  assert_true(h5 >= 0);
  if (n < 0)
    assert_true(H5Ldelete(h5, name, H5P_DEFAULT) >= 0);
  else if (reals)
    PutReals(h5, name, (hsize_t)n, reals);
  else
    Put(h5, name, H5T_STD_I32LE, H5T_NATIVE_INT, 1, (hsize_t)n, ints);
  H5Fclose(h5);
}

static void ChangeInt(const char name[], int value)
{
  Change(name, 1, NULL, &value);
}

/* One entry of an array of the file at path */
static void ChangeEntry(const char name[], int k, double value)
{
  hid_t  h5 = H5Fopen(path, H5F_ACC_RDWR, H5P_DEFAULT), set = H5Dopen2(h5, name, H5P_DEFAULT), space = H5Dget_space(set);
  double data[1024];

  assert_true(H5Sget_simple_extent_npoints(space) <= 1024);
  assert_true(H5Dread(set, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, data) >= 0);
  data[k] = value;
  assert_true(H5Dwrite(set, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, data) >= 0);
  H5Sclose(space), H5Dclose(set), H5Fclose(h5);
}

static void ReadBack(const char file[], const char name[], hsize_t n, double data[])
{
  hid_t h5 = H5Fopen(file, H5F_ACC_RDONLY, H5P_DEFAULT), set = H5Dopen2(h5, name, H5P_DEFAULT), space = H5Dget_space(set);

  assert_int_equal(H5Sget_simple_extent_npoints(space), n);
  assert_true(H5Dread(set, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, data) >= 0);
  H5Sclose(space), H5Dclose(set), H5Fclose(h5);
}

static void Compare(const FCLibProblem *p, int dim, int m, int zeros)
{
  int    n = dim * N, size = n + m, stored = 0;
  double dense[MAX * MAX] = {0};

  assert_int_equal(p->n, N);
  assert_int_equal(p->dim, dim);
  assert_int_equal(p->m, m);
  for (int i = 0; i < n; i++)
    for (int j = 0; j < n; j++) dense[i * size + j] = W[i * n + j];
  for (int i = 0; i < n; i++)
    for (int j = 0; j < m; j++) dense[i * size + n + j] = dense[(n + j) * size + i] = V[i * M + j];
  for (int i = 0; i < m; i++)
    for (int j = 0; j < m; j++) dense[(n + i) * size + n + j] = R[i * M + j];
  assert_int_equal(p->ptr[0], 0);
  for (int i = 0; i < size; i++) {
    for (PetscInt k = p->ptr[i]; k < p->ptr[i + 1]; k++) {
      if (k > p->ptr[i]) assert_true(p->col[k] > p->col[k - 1]);
      assert_in_range(p->col[k], 0, size - 1);
      assert_true(p->val[k] == dense[i * size + p->col[k]]);
    }
    for (int j = 0; j < size; j++) stored += zeros || dense[i * size + j] != 0;
  }
  assert_int_equal(p->ptr[size], stored);
  for (int i = 0; i < size; i++) assert_true(p->q[i] == (i < n ? q[i] : s[i - n]));
  for (int i = 0; i < N; i++) assert_true(p->mu[i] == mu[i]);
}

/* --- tests --- */

static void TestLayouts(void **state)
{
  FCLibProblem *p;

  (void)state;
  for (int k = 0; k < 3 * 2 * 2 * 2 * 2 * 2; k++) {
    Layout l = {
        .nz = -2 + k % 3, .reverse = k / 3 % 2, .duplicates = k / 6 % 2, .wide = k / 12 % 2, .rank = k % 2, .slack = k % 5, .zeros = k % 7 == 0};
    int   bilateral = k / 24 % 2, dim = 3 - k / 48 % 2;
    hid_t h5 = Create(dim, &l, bilateral);

    if (k % 4 == 0) { /* things that may be there and are of no account here */
      Put(h5, "/fclib_local/info/title", H5T_C_S1, H5T_C_S1, 0, 1, "t");
      PutReals(h5, "/solution/r", 2, q);
    }
    H5Fclose(h5);
    Before();
    Ok(FCLibRead(path, &p));
    Quiet();
    assert_null(p->guess);
    Compare(p, dim, bilateral ? M : 0, l.zeros);
    Ok(FCLibProblemDestroy(&p));
    assert_null(p);
    NothingLeft();
  }
  Ok(FCLibProblemDestroy(&p));
}

static void TestGuess(void **state)
{
  Layout        l = {.nz = -1};
  double        g[MAX];
  FCLibProblem *p;
  hid_t         h5;

  (void)state;
  for (int i = 0; i < MAX; i++) g[i] = 100 + i;
  Good();
  Change("/guesses/1/r", 3 * N, g, NULL);
  Ok(FCLibRead(path, &p));
  for (int i = 0; i < 3 * N; i++) assert_true(p->guess[i] == g[i]);
  Ok(FCLibProblemDestroy(&p));
  Change("/guesses/1/r", 3 * N - 1, g, NULL);
  RefusedFile(path, "/guesses/1/r has 11 entries instead of 12");
  g[4] = INFINITY;
  Change("/guesses/1/r", 3 * N, g, NULL);
  RefusedFile(path, "entry 4 of /guesses/1/r (from 0) is not a finite number");
  g[4] = 104;
  for (int with = 0; with < 2; with++) {
    h5 = Create(3, &l, 1);
    PutReals(h5, "/guesses/1/r", 3 * N, g);
    if (with) PutReals(h5, "/guesses/1/l", M, g + 3 * N);
    H5Fclose(h5);
    Ok(FCLibRead(path, &p));
    for (int i = 0; i < MAX; i++) assert_true(p->guess[i] == (i < 3 * N || with ? g[i] : 0));
    Ok(FCLibProblemDestroy(&p));
  }
}

static void TestBadFiles(void **state)
{
  char        *bytes;
  FILE        *f;
  struct stat  info;
  Layout       l = {.nz = 0, .rank = 1};
  hid_t        h5;
  const double d[2 * MAX] = {0};

  (void)state;
  RefusedFile("no/such.hdf5", "there is no such file");
  RefusedFile(folder, "is a folder");
  f = fopen(path, "w");
  fputs("no HDF5 at all\n", f);
  fclose(f);
  RefusedFile(path, "is not an HDF5 file");
  f = fopen(path, "w");
  fclose(f);
  RefusedFile(path, "is not an HDF5 file");
  Good(); /* cut at every tenth */
  assert_int_equal(stat(path, &info), 0);
  bytes = malloc((size_t)info.st_size);
  f = fopen(path, "rb");
  assert_int_equal(fread(bytes, 1, (size_t)info.st_size, f), info.st_size);
  fclose(f);
  for (int k = 1; k < 10; k++) {
    f = fopen(path, "wb");
    assert_int_equal(fwrite(bytes, 1, (size_t)(info.st_size * k / 10), f), info.st_size * k / 10);
    fclose(f);
    RefusedFile(path, "is cut short or damaged");
  }
  for (int k = 600; k < 3000; k += 32) { /* a file with a hole in its structure is refused or read, never a crash */
    FCLibProblem *p = NULL;

    f = fopen(path, "wb");
    for (int b = 0; b < info.st_size; b++) fputc(b >= k && b < k + 32 ? 0xa5 : bytes[b], f);
    fclose(f);
    Before();
    if (!FCLibRead(path, &p)) Ok(FCLibProblemDestroy(&p));
    NothingLeft();
  }
  free(bytes);
  /* groups */
  h5 = H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
  H5Fclose(h5);
  RefusedFile(path, "there is no group /fclib_local in it");
  Change("/fclib_local", MAX, d, NULL);
  RefusedFile(path, "there is no group /fclib_local in it");
  h5 = H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
  PutInts(h5, &rows, "/fclib_global", "spacedim", 1, 1, (int[]){3});
  H5Fclose(h5);
  RefusedFile(path, "only local ones (/fclib_local with W, q and mu) are supported");
  for (int k = 0; k < 3; k++) {
    const char *gone[] = {"/fclib_local/W", "/fclib_local/vectors", "/fclib_local/V"};

    h5 = Create(3, &l, k == 2);
    H5Fclose(h5);
    Change(gone[k], -1, NULL, NULL);
    RefusedFile(path, k == 2 ? "there is /fclib_local/R but no V" : "there is no group");
  }
  for (int k = 0; k < 10; k++) {
    const char *gone[] = {"spacedim", "W/nzmax", "W/m", "W/n", "W/nz", "W/p", "W/i", "W/x", "vectors/q", "vectors/mu"};
    char        name[64], text[128];

    snprintf(name, sizeof(name), "/fclib_local/%s", gone[k]);
    snprintf(text, sizeof(text), "there is no %s in it", name);
    Good();
    Change(name, -1, NULL, NULL);
    RefusedFile(path, text);
  }
  h5 = Create(3, &l, 1);
  H5Fclose(h5);
  Change("/fclib_local/vectors/s", -1, NULL, NULL);
  RefusedFile(path, "there is no /fclib_local/vectors/s in it");
  /* kinds */
  Good();
  h5 = H5Fopen(path, H5F_ACC_RDWR, H5P_DEFAULT);
  Put(h5, "/fclib_local/vectors/q", H5T_C_S1, H5T_C_S1, 1, 12, "twelve bytes");
  H5Fclose(h5);
  RefusedFile(path, "/fclib_local/vectors/q is not of numbers");
  Good();
  Change("/fclib_local/W/p", 3 * N + 1, d, NULL);
  RefusedFile(path, "/fclib_local/W/p is not of integers");
  Good();
  Change("/fclib_local/W/x", -1, NULL, NULL);
  Change("/fclib_local/W/x/y", MAX, d, NULL);
  RefusedFile(path, "/fclib_local/W/x is not a dataset");
}

static void TestBadNumbers(void **state)
{
  Layout columns = {.nz = -1, .rank = 1}, triplets = {.nz = 0, .rank = 1, .slack = 3};

  (void)state;
  Good();
  ChangeEntry("/fclib_local/W/x", 17, NAN);
  RefusedFile(path, "entry 17 of /fclib_local/W/x (from 0) is not a finite number");
  Good();
  ChangeEntry("/fclib_local/vectors/q", 3, -INFINITY);
  RefusedFile(path, "entry 3 of /fclib_local/vectors/q (from 0) is not a finite number");
  Good();
  ChangeEntry("/fclib_local/vectors/mu", 2, NAN);
  RefusedFile(path, "entry 2 of /fclib_local/vectors/mu (from 0) is not a finite number");
  Good();
  ChangeEntry("/fclib_local/vectors/mu", 2, -0.25);
  RefusedFile(path, "contact 2 (from 0) has negative friction -0.25");
  H5Fclose(Create(3, &columns, 1));
  ChangeEntry("/fclib_local/vectors/s", 1, NAN);
  RefusedFile(path, "entry 1 of /fclib_local/vectors/s (from 0) is not a finite number");
  H5Fclose(Create(3, &columns, 1));
  ChangeEntry("/fclib_local/V/x", 1, NAN);
  RefusedFile(path, "entry 1 of /fclib_local/V/x (from 0) is not a finite number");
  /* sizes */
  Good();
  ChangeInt("/fclib_local/spacedim", 4);
  RefusedFile(path, "/fclib_local/spacedim is 4 instead of 2 or 3");
  Good();
  Change("/fclib_local/spacedim", 2, NULL, (int[]){3, 3});
  RefusedFile(path, "/fclib_local/spacedim has 2 entries instead of one");
  Good();
  ChangeInt("/fclib_local/W/n", 15);
  RefusedFile(path, "/fclib_local/W is not square: 12 rows, 15 columns");
  Good();
  ChangeInt("/fclib_local/W/m", -12);
  RefusedFile(path, "/fclib_local/W/m is -12");
  Good();
  ChangeInt("/fclib_local/W/nz", -3);
  RefusedFile(path, "/fclib_local/W/nz is -3, not -2 (compressed rows)");
  Good();
  ChangeInt("/fclib_local/W/m", 0);
  ChangeInt("/fclib_local/W/n", 0);
  RefusedFile(path, "there are no contacts in it");
  H5Fclose(Create(2, &rows, 0));
  ChangeInt("/fclib_local/spacedim", 3);
  RefusedFile(path, "/fclib_local/W has 8 rows, not a multiple of spacedim, which is 3");
  Good();
  Change("/fclib_local/vectors/q", 3 * N - 3, q, NULL);
  RefusedFile(path, "/fclib_local/vectors/q has 9 entries instead of 12");
  Good();
  Change("/fclib_local/vectors/mu", 0, mu, NULL);
  RefusedFile(path, "/fclib_local/vectors/mu has 0 entries instead of 4");
  Good();
  Change("/fclib_local/vectors/s", M, s, NULL);
  RefusedFile(path, "/fclib_local/vectors/s has 2 entries instead of 0");
  H5Fclose(Create(3, &columns, 1));
  Change("/fclib_local/vectors/s", 1, s, NULL);
  RefusedFile(path, "/fclib_local/vectors/s has 1 entries instead of 2");
  H5Fclose(Create(3, &columns, 1));
  ChangeInt("/fclib_local/R/m", 3);
  RefusedFile(path, "/fclib_local/R is not square: 3 rows, 2 columns");
  H5Fclose(Create(3, &columns, 1));
  ChangeInt("/fclib_local/V/m", 13);
  RefusedFile(path, "/fclib_local/V has 13 rows and 2 columns instead of 12 and 2");
  /* pointers and indices */
  Good();
  ChangeInt("/fclib_local/W/nzmax", 7);
  RefusedFile(path, "past nzmax, which is 7");
  Good();
  ChangeEntry("/fclib_local/W/p", 12, 100000);
  RefusedFile(path, "/fclib_local/W/p ends with 100000, past nzmax");
  Good();
  ChangeEntry("/fclib_local/W/p", 5, 2);
  RefusedFile(path, "/fclib_local/W/p decreases after entry 4");
  Good();
  ChangeEntry("/fclib_local/W/p", 0, 1);
  RefusedFile(path, "/fclib_local/W/p begins with 1 instead of 0");
  Good();
  Change("/fclib_local/W/p", 3, NULL, (int[]){0, 1, 2});
  RefusedFile(path, "/fclib_local/W/p has 3 entries instead of 13");
  Good();
  Change("/fclib_local/W/i", 3, NULL, (int[]){0, 1, 2});
  RefusedFile(path, "/fclib_local/W/i has 3 entries instead of");
  Good();
  Change("/fclib_local/W/x", 3, q, NULL);
  RefusedFile(path, "/fclib_local/W/x has 3 entries instead of");
  Good();
  ChangeEntry("/fclib_local/W/i", 8, 12);
  RefusedFile(path, "entry 8 of /fclib_local/W/i (from 0) is 12, but there are 12 columns");
  H5Fclose(Create(3, &columns, 0));
  ChangeEntry("/fclib_local/W/i", 8, -1);
  RefusedFile(path, "entry 8 of /fclib_local/W/i (from 0) is -1, but there are 12 rows");
  H5Fclose(Create(3, &triplets, 0));
  ChangeEntry("/fclib_local/W/i", 2, 99);
  RefusedFile(path, "entry 2 of /fclib_local/W/i (from 0) is 99, but there are 12 rows");
  H5Fclose(Create(3, &triplets, 0));
  ChangeEntry("/fclib_local/W/p", 2, 99);
  RefusedFile(path, "entry 2 of /fclib_local/W/p (from 0) is 99, but there are 12 columns");
  H5Fclose(Create(3, &triplets, 0));
  ChangeInt("/fclib_local/W/nz", 1000);
  RefusedFile(path, "/fclib_local/W/nz is 1000, past nzmax");
  H5Fclose(Create(3, &triplets, 0));
  Change("/fclib_local/W/p", 3, NULL, (int[]){0, 1, 2});
  RefusedFile(path, "/fclib_local/W/p has 3 entries, fewer than the");
}

/* A write is refused: the line begins with this file's name, nothing is left of it. */
static void RefusedWrite(PetscErrorCode code, const char file[], const char fragment[], const char target[])
{
  char part[600];

  assert_int_equal(code, PETSC_ERR_USER_INPUT);
  NothingLeft();
  if (strncmp(message, file, strlen(file)) || !strstr(message, fragment)) fail_msg("'%s' does not hold '%s: %s'", message, file, fragment);
  snprintf(part, sizeof(part), "%s.part", target);
  assert_int_not_equal(access(part, F_OK), 0);
}

static void TestRoundTrip(void **state)
{
  FCLibProblem *p, *b;

  (void)state;
  for (int k = 0; k < 4; k++) {
    Layout l = {.nz = -1, .rank = 1, .zeros = k % 2};
    int    dim = 2 + k % 2, m = k < 2 ? 0 : M;

    H5Fclose(Create(dim, &l, m));
    Ok(FCLibRead(path, &p));
    if (k % 2) {
      Ok(PetscMalloc1(dim * N + m, &p->guess));
      for (int i = 0; i < dim * N + m; i++) p->guess[i] = i / 8.;
    }
    Before();
    Ok(FCLibWriteProblem(other, p, k == 2 ? NULL : "a round trip"));
    NothingLeft();
    Ok(FCLibRead(other, &b));
    Compare(b, dim, m, l.zeros);
    assert_true(!b->guess == !p->guess);
    if (b->guess) {
      double u[MAX];

      for (int i = 0; i < dim * N + m; i++) assert_true(b->guess[i] == p->guess[i]);
      ReadBack(other, "/guesses/number_of_guesses", 1, u);
      assert_true(u[0] == 1);
      ReadBack(other, "/guesses/1/u", (hsize_t)(dim * N), u);
      for (int i = 0; i < dim * N; i++) {
        double v = q[i];

        for (int j = 0; j < dim * N; j++) v += W[i * dim * N + j] * p->guess[j];
        for (int j = 0; j < m; j++) v += V[i * M + j] * p->guess[dim * N + j];
        assert_true(fabs(v - u[i]) < 1e-13);
      }
    }
    Ok(FCLibProblemDestroy(&b));
    Ok(FCLibProblemDestroy(&p));
  }
  Ok(FCLibRead(other, &p));
  Before();
  RefusedWrite(FCLibWriteProblem("/no/such/folder/a.hdf5", p, NULL), "/no/such/folder/a.hdf5", "cannot be written: No such file",
               "/no/such/folder/a.hdf5");
  RefusedWrite(FCLibWriteProblem(folder, p, NULL), folder, "cannot be written", folder);
  Ok(FCLibProblemDestroy(&p));
}

static void TestSolution(void **state)
{
  double        r[MAX], u[MAX], x[MAX];
  FCLibProblem *p;

  (void)state;
  for (int i = 0; i < MAX; i++) r[i] = 1 + i, u[i] = -i;
  unlink(other);
  for (int k = 0; k < 2; k++) { /* without bilateral rows, with; first no solution is there, then one of another length with something beside */
    int nw = 3 * N, m = k ? M : 0;

    H5Fclose(Create(3, &rows, k));
    if (k) {
      Change("/solution/r", MAX, u, NULL);
      Change("/solution/v", 5, r, NULL);
      Change("/guesses/1/r", 3 * N, u, NULL);
    }
    Before();
    Ok(FCLibWriteSolution(path, other, nw + m, r, u));
    NothingLeft();
    ReadBack(other, "/solution/r", (hsize_t)nw, x);
    assert_memory_equal(x, r, sizeof(double) * (size_t)nw);
    ReadBack(other, "/solution/u", (hsize_t)nw, x);
    assert_memory_equal(x, u, sizeof(double) * (size_t)nw);
    if (k) {
      ReadBack(other, "/solution/l", M, x);
      assert_memory_equal(x, r + nw, sizeof(double) * M);
      ReadBack(other, "/solution/v", 5, x);
      assert_memory_equal(x, r, sizeof(double) * 5);
    }
    Ok(FCLibRead(other, &p));
    Compare(p, 3, m, 0);
    assert_true(!p->guess == !k);
    Ok(FCLibProblemDestroy(&p));
  }
  Ok(FCLibWriteSolution(other, other, 3 * N, u, r)); /* onto itself, contacts only */
  ReadBack(other, "/solution/r", 3 * N, x);
  assert_memory_equal(x, u, sizeof(double) * 3 * N);
  Good();
  unlink(other);
  Before();
  RefusedWrite(FCLibWriteSolution(path, other, 7, r, u), path, "its problem has 12 rows, but the solution has 7", other);
  RefusedWrite(FCLibWriteSolution("no/such.hdf5", other, 7, r, u), "no/such.hdf5", "there is no such file", other);
  RefusedWrite(FCLibWriteSolution(path, "/no/such/folder/a.hdf5", 12, r, u), "/no/such/folder/a.hdf5", "cannot be written: No such file",
               "/no/such/folder/a.hdf5");
  Change("/solution", 2, r, NULL);
  Before();
  RefusedWrite(FCLibWriteSolution(path, other, 12, r, u), path, "/solution is not a group", other);
  assert_int_not_equal(access(other, F_OK), 0);
}

int main(int argc, char **argv)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(TestLayouts),    cmocka_unit_test(TestGuess),     cmocka_unit_test(TestBadFiles),
      cmocka_unit_test(TestBadNumbers), cmocka_unit_test(TestRoundTrip), cmocka_unit_test(TestSolution),
  };
  int failed;

  if (PetscOptionsSetValue(NULL, "-malloc_debug", "yes")) return 1;
  if (PetscInitialize(&argc, &argv, NULL, NULL)) return 1;
  if (PetscPushErrorHandler(Capture, NULL)) return 1;
  H5Eset_auto2(H5E_DEFAULT, Loud, &loud);
  snprintf(folder, sizeof(folder), "/tmp/test_fclib_XXXXXX");
  if (!mkdtemp(folder)) return 1;
  snprintf(path, sizeof(path), "%s/a.hdf5", folder);
  snprintf(other, sizeof(other), "%s/b.hdf5", folder);
  failed = cmocka_run_group_tests_name("fclib", tests, NULL, NULL);
  unlink(path);
  unlink(other);
  rmdir(folder);
  if (PetscPopErrorHandler()) return 1;
  if (PetscFinalize()) return 1;
  return failed;
}
