/* Points: what is in the two files, on any number of ranks; restarts; kills; full disks; and what is said about mistakes. */
#include "unit.h"
#include "meshes/points.h"
#include <fcntl.h>
#include <hdf5.h>
#include <math.h>
#include <sys/file.h>
#include <sys/wait.h>

static const char *const names[] = {"force", "gap", "stress"};
static const PetscInt    components[] = {3, 1, 6};

/* Number of points of a rank at a time: none on some ranks, none at all at times 3, 10, ... */
static PetscInt Count(PetscInt step, PetscMPIInt rank)
{
  return step % 7 == 3 ? 0 : (step + 2 * rank) % 5 * (rank == 1 ? 0 : 1);
}

/* Component c of a field (0: the coordinates) of point i of a rank */
static PetscReal Value(PetscInt step, PetscMPIInt rank, PetscInt i, PetscInt f, PetscInt c)
{
  return 1000 * step + 100 * rank + 10 * i + f + 0.1 * c + 1 / 3.;
}

static PetscErrorCode Write(Points p, PetscInt step, PetscReal time)
{
  PetscReal       data[4][64] = {{0}};
  const PetscInt  n = Count(step, me), width[4] = {3, components[0], components[1], components[2]};
  const PetscReal *field[3] = {data[1], data[2], data[3]};

  for (PetscInt f = 0; f < 4; f++)
    for (PetscInt i = 0; i < n; i++)
      for (PetscInt c = 0; c < width[f]; c++) data[f][i * width[f] + c] = Value(step, me, i, f, c);
  return PointsWrite(p, time, n, data[0], field);
}

static PetscErrorCode Create(const char name[], PetscBool append, PetscReal restart, Points *p)
{
  return PointsCreate(PETSC_COMM_WORLD, UnitPath(name), 3, names, components, append, restart, p);
}

static hid_t Dataset(hid_t file, PetscInt index, const char name[], hsize_t dims[2])
{
  char  path[64];
  hid_t set, space;

  snprintf(path, sizeof(path), "/%08d/%s", (int)index, name);
  set = H5Dopen2(file, path, H5P_DEFAULT);
  assert_true(set >= 0);
  space = H5Dget_space(set);
  assert_int_equal(H5Sget_simple_extent_ndims(space), 2);
  H5Sget_simple_extent_dims(space, dims, NULL);
  H5Sclose(space);
  return set;
}

/* All times of the file, and how many there are before the first NaN */
static PetscReal *Times(hid_t file, PetscInt *used)
{
  const hid_t   set = H5Dopen2(file, "times", H5P_DEFAULT), space = H5Dget_space(set);
  const hsize_t n   = (hsize_t)H5Sget_simple_extent_npoints(space);
  PetscReal    *t   = malloc(n * sizeof(PetscReal));

  assert_true(H5Dread(set, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, t) >= 0);
  H5Sclose(space);
  H5Dclose(set);
  if (used)
    for (*used = 0; *used < (PetscInt)n && !isnan(t[*used]);) (*used)++;
  return t;
}

/* Time `index` of the file holds what Write() wrote at `step` on all ranks, rank 0's first */
static void CheckTime(hid_t file, PetscInt index, PetscInt step, PetscReal time)
{
  const char *const all[4] = {"x", names[0], names[1], names[2]};
  const PetscInt    width[4] = {3, components[0], components[1], components[2]};
  hid_t             set;
  PetscReal        *t, data[64 * 6];
  hsize_t           dims[2], total = 0;
  int64_t           number[64];

  t = Times(file, NULL);
  assert_true(t[index] == time);
  free(t);
  for (PetscMPIInt r = 0; r < size; r++) total += (hsize_t)Count(step, r);
  for (PetscInt f = 0; f < 4; f++) {
    PetscReal *at = data;

    set = Dataset(file, index, all[f], dims);
    assert_int_equal(dims[0], total);
    assert_int_equal(dims[1], width[f]);
    assert_true(H5Dread(set, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, data) >= 0);
    H5Dclose(set);
    for (PetscMPIInt r = 0; r < size; r++)
      for (PetscInt i = 0; i < Count(step, r); i++)
        for (PetscInt c = 0; c < width[f]; c++) assert_true(*at++ == Value(step, r, i, f, c));
  }
  set = Dataset(file, index, "index", dims);
  assert_true(dims[0] == total && dims[1] == 1);
  assert_true(H5Dread(set, H5T_NATIVE_INT64, H5S_ALL, H5S_ALL, H5P_DEFAULT, number) >= 0);
  for (hsize_t i = 0; i < total; i++) assert_int_equal(number[i], i);
  H5Dclose(set);
}

/* Tags of the text open and close in order, attributes are quoted; gives the number of times in it and the last */
static PetscInt CheckText(const char path[], PetscReal *last)
{
  static const char head[] = "<?xml version=\"1.0\"?>\n<!DOCTYPE Xdmf SYSTEM \"Xdmf.dtd\" []>\n";
  char              open[16][32];
  size_t            n;
  char             *text = (char *)UnitReadFile(path, &n), *at = text + sizeof(head) - 1;
  PetscInt          depth = 0, times = 0, roots = 0;

  assert_int_equal(strlen(text), n);
  assert_true(!strncmp(text, head, sizeof(head) - 1));
  while ((at = strchr(at, '<'))) {
    char  *end = strchr(at, '>');
    size_t length = strcspn(at + 1, " />");

    if (!end) fail_msg("%s: a tag does not end", path);
    if (at[1] == '/') {
      assert_true(depth > 0);
      depth--;
      if (strncmp(at + 2, open[depth], strlen(open[depth])) || at + 2 + strlen(open[depth]) != end) fail_msg("%s: <%s> closed by %.20s", path, open[depth], at);
    } else if (end[-1] != '/') {
      assert_true(depth < 15 && length < 32);
      if (!depth) roots++;
      snprintf(open[depth++], 32, "%.*s", (int)length, at + 1);
    }
    if (!strncmp(at, "<Time Value=\"", 13)) {
      times++;
      *last = strtod(at + 13, NULL);
    }
    at = end + 1;
  }
  assert_int_equal(depth, 0);
  assert_int_equal(roots, 1);
  free(text);
  return times;
}

static PetscInt Groups(hid_t file)
{
  PetscInt used;

  free(Times(file, &used));
  return used;
}

/* Rank 0: both files hold steps 0 .. n - 1 at times 0.1 step, or with that of `other` at `place` */
static void CheckFiles(const char xdmf[], const char h5[], PetscInt n, PetscInt place, PetscInt other)
{
  MPI_Barrier(PETSC_COMM_WORLD);
  if (!me) {
    const hid_t file = H5Fopen(UnitPath(h5), H5F_ACC_RDONLY, H5P_DEFAULT);
    PetscReal   last = -1;

    assert_true(file >= 0);
    assert_int_equal(Groups(file), n);
    for (PetscInt i = 0; i < n; i++) CheckTime(file, i, i == place ? other : i, 0.1 * i);
    H5Fclose(file);
    assert_int_equal(CheckText(UnitPath(xdmf), &last), n);
    if (n) assert_true(last == 0.1 * (n - 1));
  }
  MPI_Barrier(PETSC_COMM_WORLD);
}

static void Remove(const char a[], const char b[])
{
  MPI_Barrier(PETSC_COMM_WORLD);
  if (!me) assert_true(!unlink(UnitPath(a)) && !unlink(UnitPath(b)));
  MPI_Barrier(PETSC_COMM_WORLD);
}

static void test_write(void **state)
{
  Points p;

  (void)state;
  Ok(Create("a & b.xdmf", PETSC_FALSE, 0, &p));
  CheckFiles("a & b.xdmf", "a & b.h5", 0, -1, -1); /* whole before the first time */
  for (PetscInt s = 0; s < 25; s++) {
    Ok(Write(p, s, 0.1 * s));
    CheckFiles("a & b.xdmf", "a & b.h5", s + 1, -1, -1);
  }
  Ok(Write(p, 23, 0.1 * 24)); /* the last again, with fewer and with more points */
  CheckFiles("a & b.xdmf", "a & b.h5", 25, 24, 23);
  Ok(Write(p, 10, 0.1 * 24));
  CheckFiles("a & b.xdmf", "a & b.h5", 25, 24, 10);
  Ok(Write(p, 24, 0.1 * 24));
  Refused(Write(p, 24, 0.1 * 23), "a & b.xdmf: time 2.3 comes after time 2.4");
  Refused(Write(p, 24, NAN), "a & b.xdmf: time nan is not finite");
  Ok(Write(p, 25, 0.1 * 25)); /* and it goes on */
  CheckFiles("a & b.xdmf", "a & b.h5", 26, -1, -1);
  if (!me) {
    size_t n;
    char  *text = (char *)UnitReadFile(UnitPath("a & b.xdmf"), &n);

    assert_null(strstr(text, "=\"0 ")); /* readers fall over empty sets: a time without points has one of zeros */
    assert_null(strstr(text, "=\"0\">"));
    assert_non_null(strstr(text, "NumberOfElements=\"1\" NodesPerElement=\"1\">\n          <DataItem Format=\"XML\" NumberType=\"Int\" Precision=\"8\" Dimensions=\"1 1\">0</DataItem>"));
    assert_non_null(strstr(text, "Format=\"XML\" NumberType=\"Float\" Precision=\"8\" Dimensions=\"1 3\">0 0 0</DataItem>"));
    assert_non_null(strstr(text, ">a &amp; b.h5:/00000023/force</DataItem>"));
    assert_non_null(strstr(text, "<Attribute Name=\"force\" AttributeType=\"Vector\" Center=\"Node\">"));
    assert_non_null(strstr(text, "<Attribute Name=\"gap\" AttributeType=\"Scalar\" Center=\"Node\">"));
    assert_non_null(strstr(text, "<Attribute Name=\"stress\" AttributeType=\"Tensor6\" Center=\"Node\">"));
    free(text);
  }
  Ok(PointsDestroy(&p));
  assert_null(p);
  Ok(PointsDestroy(&p));
  Ok(Create("a & b.xdmf", PETSC_FALSE, 0, &p)); /* a new run replaces them */
  CheckFiles("a & b.xdmf", "a & b.h5", 0, -1, -1);
  Ok(PointsDestroy(&p));
  Remove("a & b.xdmf", "a & b.h5");
}

/* Without fields, and the same bytes from the same run */
static void test_same(void **state)
{
  const PetscReal x[6] = {1, 2, 3, 4, 5, 6};
  Points          p;

  (void)state;
  for (int k = 0; k < 2; k++) {
    Ok(PointsCreate(PETSC_COMM_WORLD, UnitPath(k ? "b.xdmf" : "a.xdmf"), 0, NULL, NULL, PETSC_FALSE, 0, &p));
    for (PetscInt s = 0; s < 5; s++) Ok(PointsWrite(p, s, me == 0 ? 2 : 0, x, NULL));
    Ok(PointsDestroy(&p));
    if (!k && !me) sleep(1); /* HDF5 could keep times of the day, in seconds */
  }
  MPI_Barrier(PETSC_COMM_WORLD);
  if (!me) {
    size_t         n;
    unsigned char *bytes = UnitReadFile(UnitPath("a.h5"), &n);

    UnitHolds(UnitPath("b.h5"), bytes, n);
    free(bytes);
  }
  Remove("a.xdmf", "a.h5");
  Remove("b.xdmf", "b.h5");
}

static void test_append(void **state)
{
  Points p;

  (void)state;
  Ok(Create("a.xdmf", PETSC_TRUE, 5, &p)); /* nothing to go on with: a new one */
  for (PetscInt s = 0; s < 140; s++) Ok(Write(p, s, 0.1 * s)); /* the file has to grow twice */
  CheckFiles("a.xdmf", "a.h5", 140, -1, -1);
  Ok(PointsDestroy(&p));
  Ok(Create("a.xdmf", PETSC_TRUE, 0.1 * 127, &p));
  CheckFiles("a.xdmf", "a.h5", 128, -1, -1);
  Ok(Write(p, 128, 0.1 * 128));
  CheckFiles("a.xdmf", "a.h5", 129, -1, -1);
  Ok(PointsDestroy(&p));
  Ok(Create("a.xdmf", PETSC_TRUE, 0.1 * 5, &p)); /* later times go */
  CheckFiles("a.xdmf", "a.h5", 6, -1, -1);
  for (PetscInt s = 5; s < 12; s++) Ok(Write(p, s, 0.1 * s)); /* the first is there already */
  CheckFiles("a.xdmf", "a.h5", 12, -1, -1);
  Ok(PointsDestroy(&p));
  MPI_Barrier(PETSC_COMM_WORLD);
  if (!me) UnitWriteFile(UnitPath("a.xdmf"), "half", 4); /* the text is made anew */
  MPI_Barrier(PETSC_COMM_WORLD);
  Ok(Create("a.xdmf", PETSC_TRUE, 100, &p));
  CheckFiles("a.xdmf", "a.h5", 12, -1, -1);
  Ok(PointsDestroy(&p));
  Ok(Create("a.xdmf", PETSC_TRUE, -1, &p)); /* none is left */
  CheckFiles("a.xdmf", "a.h5", 0, -1, -1);
  Ok(Write(p, 0, 0));
  CheckFiles("a.xdmf", "a.h5", 1, -1, -1);
  Ok(PointsDestroy(&p));
  Remove("a.xdmf", "a.h5");
}

static void test_errors(void **state)
{
  static const char *const twice[] = {"force", "gap", "mu", "stress"};
  const PetscInt           other[] = {3, 3, 6}, four[] = {3, 1, 1, 6};
  Points                   p;

  (void)state;
  Refused(Create("a.xmf", PETSC_FALSE, 0, &p), "a.xmf' is no name for a file of points; it must end in .xdmf");
  Refused(Create(".xdmf", PETSC_FALSE, 0, &p), "it must end in .xdmf");
  Refused(Create("none/a.xdmf", PETSC_FALSE, 0, &p), "none/a.h5: cannot be written: No such file or directory");
  assert_null(p);
  assert_int_equal(PointsCreate(PETSC_COMM_WORLD, UnitPath("a.xdmf"), 1, (const char *const[]){"a b"}, components, PETSC_FALSE, 0, &p), PETSC_ERR_ARG_WRONG);
  assert_int_equal(PointsCreate(PETSC_COMM_WORLD, UnitPath("a.xdmf"), 1, (const char *const[]){"x"}, components, PETSC_FALSE, 0, &p), PETSC_ERR_ARG_WRONG);
  Ok(Create("a.xdmf", PETSC_FALSE, 0, &p));
  for (PetscInt s = 0; s < 3; s++) Ok(Write(p, s, 0.1 * s));
  Ok(PointsDestroy(&p));
  Refused(PointsCreate(PETSC_COMM_WORLD, UnitPath("a.xdmf"), 2, names, components, PETSC_TRUE, 1, &p), "a.h5: cannot be continued, since it holds other fields than this run; remove it or name another");
  Refused(PointsCreate(PETSC_COMM_WORLD, UnitPath("a.xdmf"), 3, names, other, PETSC_TRUE, 1, &p), "holds other fields");
  Refused(PointsCreate(PETSC_COMM_WORLD, UnitPath("a.xdmf"), 4, twice, four, PETSC_TRUE, 1, &p), "holds other fields");
  CheckFiles("a.xdmf", "a.h5", 3, -1, -1); /* nothing has changed */
  MPI_Barrier(PETSC_COMM_WORLD);
  if (!me) UnitWriteFile(UnitPath("a.h5"), "no numbers", 10);
  MPI_Barrier(PETSC_COMM_WORLD);
  Refused(Create("a.xdmf", PETSC_TRUE, 1, &p), "a.h5: cannot be continued, since it holds no points or is damaged; remove it or name another");
  Remove("a.xdmf", "a.h5");
}

/* A full disk: the error is everybody's, the files keep what they have, and there is room again later */
static void test_full(void **state)
{
  Points p;
  size_t n = 0;

  (void)state;
  Ok(Create("a.xdmf", PETSC_FALSE, 0, &p));
  for (PetscInt s = 0; s < 3; s++) Ok(Write(p, s, 0.1 * s));
  MPI_Barrier(PETSC_COMM_WORLD);
  if (!me) {
    free(UnitReadFile(UnitPath("a.h5"), &n));
    UnitDisk((long)n + 100);
  }
  Refused(Write(p, 3, 0.3), "a.h5: cannot be written: File too large");
  if (!me) UnitDisk(-1);
  CheckFiles("a.xdmf", "a.h5", 3, -1, -1);
  for (PetscInt s = 3; s < 6; s++) Ok(Write(p, s, 0.1 * s));
  CheckFiles("a.xdmf", "a.h5", 6, -1, -1);
  MPI_Barrier(PETSC_COMM_WORLD);
  if (!me) assert_int_equal(rename(UnitPath("a.xdmf"), UnitPath("b.xdmf")), 0); /* only the text cannot be written */
  Refused(Write(p, 6, 0.1 * 6), "a.xdmf: cannot be written: No such file or directory");
  if (!me) assert_int_equal(rename(UnitPath("b.xdmf"), UnitPath("a.xdmf")), 0);
  MPI_Barrier(PETSC_COMM_WORLD);
  for (PetscInt s = 6; s < 8; s++) Ok(Write(p, s, 0.1 * s));
  CheckFiles("a.xdmf", "a.h5", 8, -1, -1);
  MPI_Barrier(PETSC_COMM_WORLD);
  if (!me) UnitDisk((long)n);
  Refused(Write(p, 7, 0.1 * 7), "a.h5: cannot be written: File too large"); /* the last again, which is gone then */
  if (!me) {
    PetscReal last;

    UnitDisk(-1);
    assert_int_equal(CheckText(UnitPath("a.xdmf"), &last), 7);
  }
  Refused(Write(p, 5, 0.1 * 5), "a.xdmf: time 0.5 comes after time 0.6");
  for (PetscInt s = 7; s < 9; s++) Ok(Write(p, s, 0.1 * s));
  CheckFiles("a.xdmf", "a.h5", 9, -1, -1);
  Ok(PointsDestroy(&p));
  Remove("a.xdmf", "a.h5");
}

/* Who reads meanwhile does not stop the run */
static void test_reader(void **state)
{
  Points p;
  pid_t  reader = -1;

  (void)state;
  Ok(Create("a.xdmf", PETSC_FALSE, 0, &p));
  Ok(Write(p, 0, 0));
  if (!me) {
    int ready[2];

    assert_int_equal(pipe(ready), 0);
    reader = fork(); /* another process: HDF5 shares a file within one */
    if (!reader) { /* holds the file as HDF5 does that reads it */
      const int fd = open(UnitPath("a.h5"), O_RDONLY);

      if (fd < 0 || flock(fd, LOCK_SH) || write(ready[1], "x", 1) != 1) _exit(1);
      pause();
      _exit(0);
    }
    close(ready[1]);
    assert_int_equal(read(ready[0], &ready[1], 1), 1);
    close(ready[0]);
  }
  Ok(Write(p, 1, 0.1));
  if (!me) {
    kill(reader, SIGKILL);
    waitpid(reader, NULL, 0);
  }
  CheckFiles("a.xdmf", "a.h5", 2, -1, -1);
  Ok(PointsDestroy(&p));
  Remove("a.xdmf", "a.h5");
}

/* Killed at any moment, the files are whole, and the run can go on: the text never names what the numbers lack */
static void test_killed(void **state)
{
  PetscInt steps = 0;

  (void)state;
  if (size > 1) return; /* a process of its own, which has no other ranks */
  for (int round = 0; round < 30; round++) {
    PetscReal last = -1;
    PetscInt  n;
    hid_t     file;
    pid_t     child;
    int       ready[2];
    char      byte;

    assert_int_equal(pipe(ready), 0);
    child = fork();
    if (!child) {
      Points p;

      if (Create("a.xdmf", PETSC_TRUE, 1e9, &p)) _exit(1);
      for (PetscInt s = steps;; s++)
        if (Write(p, s, 0.1 * s) || (s == steps && write(ready[1], "x", 1) != 1)) _exit(1);
    }
    close(ready[1]);
    assert_int_equal(read(ready[0], &byte, 1), 1); /* it has begun */
    close(ready[0]);
    usleep((useconds_t)(round * 7919 % 10000));
    assert_int_equal(kill(child, SIGKILL), 0);
    waitpid(child, NULL, 0);
    file = H5Fopen(UnitPath("a.h5"), H5F_ACC_RDONLY, H5P_DEFAULT);
    assert_true(file >= 0);
    n = Groups(file);
    for (PetscInt i = PetscMax(steps - 2, 0); i < n; i++) CheckTime(file, i, i, 0.1 * i);
    H5Fclose(file);
    assert_in_range(n - CheckText(UnitPath("a.xdmf"), &last), 0, 1);
    assert_true(n > steps);
    steps = n;
  }
  unlink(UnitPath("a.xdmf.part"));
  unlink(UnitPath("a.h5.part"));
  Remove("a.xdmf", "a.h5");
}

int main(void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_write), cmocka_unit_test(test_same), cmocka_unit_test(test_append), cmocka_unit_test(test_errors), cmocka_unit_test(test_full), cmocka_unit_test(test_reader), cmocka_unit_test(test_killed),
  };

  return UNIT_MAIN("points", tests);
}
