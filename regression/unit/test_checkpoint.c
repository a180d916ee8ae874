/* Checkpoints: what n ranks write any distribution of bodies reads, to the last bit; bad files are refused on all ranks. */
#include "unit.h"
#include "meshes/checkpoint.h"
#include <hdf5.h>

enum { NBODY = 11, NEXTRA = 3 };

/* Bodies of this rank in some distribution, each with its own length of numbers that follow from (body, place) only */
typedef struct {
  PetscInt   n, total, id[64], length[64];
  PetscReal *data;
} Bodies;

static PetscReal Number(PetscInt body, PetscInt i)
{
  const PetscReal odd[] = {-0.0, NAN, -INFINITY, PETSC_MIN_REAL / 4, 1. / 3, PETSC_MAX_REAL};

  return body == 4 && i < 6 ? odd[i] : PetscSinReal(1 + body * 1000 + i) * PetscPowReal(10, body - 5);
}

/* 0: in turn; 1: all on the last; 2: blocks, the other way round; 3: all on the first, in falling order */
static void Spread(int kind, PetscInt nbody, PetscInt zero, Bodies *b)
{
  b->n = b->total = 0;
  for (PetscInt g = 0; g < nbody; g++) {
    const PetscInt body  = kind == 3 ? nbody - 1 - g : g;
    const PetscInt owner = kind == 0 ? body % size : kind == 1 ? size - 1 : kind == 2 ? (nbody - 1 - body) * size / nbody : 0;

    if (owner != me) continue;
    b->id[b->n]     = body;
    b->length[b->n] = body == 7 || zero ? 0 : 5 + body * 3;
    b->total += b->length[b->n++];
  }
  Ok(PetscMalloc1(b->total, &b->data));
  for (PetscInt i = 0, k = 0; i < b->n; i++)
    for (PetscInt j = 0; j < b->length[i]; j++) b->data[k++] = Number(b->id[i], j);
}

static void Free(Bodies *b)
{
  assert_int_equal(PetscFree(b->data), 0); /* and keeps the message */
}

static const CheckpointHead head = {0.1, 1. / 3, 1e-4, 123456789, NBODY};
static const PetscReal      extra[NEXTRA] = {1. / 7, -0.0, 3e300};

static PetscErrorCode Write(const char file[], int kind)
{
  Bodies         b;
  PetscErrorCode ierr;

  Spread(kind, NBODY, 0, &b);
  ierr = CheckpointWrite(PETSC_COMM_WORLD, file, &head, NEXTRA, extra, b.n, b.id, b.length, b.data, 0, NULL);
  Free(&b);
  return ierr;
}

/* Reads into another distribution; all numbers must be those written */
static void Read(const char file[], int kind)
{
  CheckpointHead h = {.nbody = NBODY};
  PetscReal      e[NEXTRA], *want;
  Bodies         b;

  Spread(kind, NBODY, 0, &b);
  want = b.data;
  Ok(PetscMalloc1(b.total, &b.data));
  Ok(PetscMemzero(b.data, b.total * sizeof(PetscReal)));
  Ok(CheckpointRead(PETSC_COMM_WORLD, file, &h, NEXTRA, e, b.n, b.id, b.length, b.data, 0, NULL));
  if (b.total) assert_memory_equal(b.data, want, b.total * sizeof(PetscReal));
  assert_memory_equal(e, extra, sizeof(extra));
  assert_true(h.t0 == head.t0 && h.time == head.time && h.dt == head.dt);
  assert_int_equal(h.step, head.step);
  assert_int_equal(h.nbody, NBODY);
  Free(&b);
  Ok(PetscFree(want));
}

static void test_distributions(void **state)
{
  const char *file = UnitPath("run.h5"), *part = UnitPath("run.h5.part");

  (void)state;
  for (int write = 0; write < 4; write++) {
    Ok(Write(file, write)); /* over the one before */
    assert_int_equal(access(part, F_OK), -1);
    for (int read = 0; read < 4; read++) Read(file, read);
  }
  MPI_Barrier(PETSC_COMM_WORLD);
  if (!me) unlink(file);
}

/* One rank alone reads what all have written, and the other way round */
static void test_other_ranks(void **state)
{
  const char    *file = UnitPath("run.h5");
  Bodies         b;
  CheckpointHead h = {.nbody = NBODY};
  PetscReal      e[NEXTRA];

  (void)state;
  Ok(Write(file, 0));
  MPI_Barrier(PETSC_COMM_WORLD);
  if (!me) {
    const PetscMPIInt all = size;
    PetscReal        *want;

    size = 1;
    Spread(2, NBODY, 0, &b);
    size = all;
    want = b.data;
    Ok(PetscCalloc1(b.total, &b.data));
    Ok(CheckpointRead(PETSC_COMM_SELF, file, &h, NEXTRA, e, b.n, b.id, b.length, b.data, 0, NULL));
    assert_memory_equal(b.data, want, b.total * sizeof(PetscReal));
    Ok(CheckpointWrite(PETSC_COMM_SELF, file, &head, NEXTRA, extra, b.n, b.id, b.length, want, 0, NULL));
    Ok(PetscFree(want));
    Free(&b);
  }
  MPI_Barrier(PETSC_COMM_WORLD);
  Read(file, 2);
  MPI_Barrier(PETSC_COMM_WORLD);
  if (!me) unlink(file);
}

/* Tables of any length: all ranks together, or one alone, get all rows; one whose length is not as it should be is refused */
static void test_tables(void **state)
{
  const char      *file = UnitPath("tables.h5");
  CheckpointHead   h    = {.nbody = NBODY};
  PetscReal        e[NEXTRA], sum[3] = {0, 0, 0};
  CheckpointTable  table[3] = {{"many", 3, 2 * me + 1, NULL}, {"none", 5, 0, NULL}, {"first", 1, me ? 0 : 2, NULL}}, back[3] = {{"many", 3, 0, NULL}, {"none", 5, 0, NULL}, {"first", 1, 0, NULL}};
  Bodies           b;

  (void)state;
  for (int k = 0; k < 3; k++) {
    Ok(PetscMalloc1(table[k].n * table[k].width, &table[k].row));
    for (PetscInt i = 0; i < table[k].n * table[k].width; i++) table[k].row[i] = 1. / 3 + 100 * k + 10 * me + i;
  }
  Spread(0, NBODY, 0, &b);
  Ok(CheckpointWrite(PETSC_COMM_WORLD, file, &head, NEXTRA, extra, b.n, b.id, b.length, b.data, 3, table));
  Ok(CheckpointRead(PETSC_COMM_WORLD, file, &h, NEXTRA, e, b.n, b.id, b.length, b.data, 3, back));
  assert_int_equal(back[1].n, 0);
  sum[0] = back[0].n;
  sum[1] = back[2].n;
  for (PetscInt i = 0; i < 3 * back[0].n; i++) sum[2] += back[0].row[i];
  for (PetscInt i = 0; i < back[0].n; i++) assert_true(back[0].row[3 * i + 1] == back[0].row[3 * i] + 1 && back[0].row[3 * i + 2] == back[0].row[3 * i] + 2);
  MPI_Allreduce(MPI_IN_PLACE, sum, 3, MPIU_REAL, MPIU_SUM, PETSC_COMM_WORLD);
  assert_true(sum[0] == size * size && sum[1] == 2);
  for (PetscMPIInt r = 0; r < size; r++)
    for (PetscInt i = 0; i < 3 * (2 * r + 1); i++) sum[2] -= 1. / 3 + 10 * r + i;
  assert_true(PetscAbsReal(sum[2]) < 1e-9);
  for (int k = 0; k < 3; k++) Ok(PetscFree(back[k].row));
  Free(&b);
  if (!me) {
    const PetscMPIInt all = size;
    PetscInt          at  = 0;

    size = 1;
    Spread(0, NBODY, 0, &b);
    size = all;
    Ok(CheckpointRead(PETSC_COMM_SELF, file, &h, NEXTRA, e, b.n, b.id, b.length, b.data, 3, back));
    assert_int_equal(back[0].n, size * size);
    for (PetscMPIInt r = 0; r < size; r++)
      for (PetscInt i = 0; i < 3 * (2 * r + 1); i++) assert_true(back[0].row[at++] == 1. / 3 + 10 * r + i);
    for (int k = 0; k < 3; k++) Ok(PetscFree(back[k].row));
    back[0].width = 4;
    Refused(CheckpointRead(PETSC_COMM_SELF, file, &h, NEXTRA, e, b.n, b.id, b.length, b.data, 3, back), "not a whole checkpoint");
    Refused(CheckpointRead(PETSC_COMM_SELF, file, &h, NEXTRA, e, b.n, b.id, b.length, b.data, 2, back), "another version");
    Free(&b);
  }
  for (int k = 0; k < 3; k++) Ok(PetscFree(table[k].row));
  MPI_Barrier(PETSC_COMM_WORLD);
  if (!me) unlink(file);
}

/* Bodies without numbers (one body, or all) are no trouble */
static void test_empty(void **state)
{
  const char    *file = UnitPath("empty.h5");
  CheckpointHead h = {.nbody = 2};
  Bodies         b;

  (void)state;
  Spread(0, 2, 1, &b);
  h.time = 7;
  Ok(CheckpointWrite(PETSC_COMM_WORLD, file, &h, 0, NULL, b.n, b.id, b.length, b.data, 0, NULL));
  h.time = 0;
  Ok(CheckpointRead(PETSC_COMM_WORLD, file, &h, 0, NULL, b.n, b.id, b.length, b.data, 0, NULL));
  assert_true(h.time == 7);
  Free(&b);
  MPI_Barrier(PETSC_COMM_WORLD);
  if (!me) unlink(file);
}

/* Reading fails with this line on every rank, and leaves what was there */
static void RefusedRead(const char file[], PetscInt nbody, PetscInt longer, PetscInt nextra, const char text[])
{
  CheckpointHead h = {.time = 5, .nbody = nbody};
  PetscReal      e[NEXTRA + 1] = {42};
  Bodies         b;

  MPI_Barrier(PETSC_COMM_WORLD);
  Spread(0, nbody, 0, &b);
  for (PetscInt i = 0; i < b.n; i++) { /* moves numbers from one body to another, or adds some */
    if (b.id[i] == 0) b.length[i] += longer > 0 ? longer : 1;
    if (b.id[i] == size && longer < 0) b.length[i] -= 1;
    if (b.id[i] == 0 && !longer) b.length[i] -= 1;
  }
  Ok(PetscFree(b.data));
  b.total += PetscMax(longer, 0);
  Ok(PetscMalloc1(b.total + 1, &b.data));
  for (PetscInt i = 0; i < b.total; i++) b.data[i] = 17;
  Refused(CheckpointRead(PETSC_COMM_WORLD, file, &h, nextra, e, b.n, b.id, b.length, b.data, 0, NULL), text);
  assert_true(h.time == 5 && e[0] == 42);
  for (PetscInt i = 0; i < b.total; i++) assert_true(b.data[i] == 17);
  Free(&b);
  MPI_Barrier(PETSC_COMM_WORLD);
}

static void test_other_model(void **state)
{
  const char *file = UnitPath("run.h5");

  (void)state;
  Ok(Write(file, 0));
  Read(file, 1);
  RefusedRead(file, NBODY - 1, 0, NEXTRA, "run.h5' is of another model (11 bodies and 194 numbers there, 10 and 159 here)");
  RefusedRead(file, NBODY + 1, 0, NEXTRA, "run.h5' is of another model (11 bodies and 194 numbers there, 12 and 232 here)");
  RefusedRead(file, NBODY, 2, NEXTRA, "run.h5' is of another model (11 bodies and 194 numbers there, 11 and 196 here)");
  RefusedRead(file, NBODY, -1, NEXTRA, "run.h5' is of another model: its bodies have other numbers of unknowns");
  RefusedRead(file, NBODY, 0, NEXTRA + 1, "run.h5' was written by another version of the program");
  Read(file, 1);
  MPI_Barrier(PETSC_COMM_WORLD);
  if (!me) unlink(file);
}

static void Put(hid_t h5, const char name[], hid_t type, int rank, hsize_t n, const void *data)
{
  const hsize_t dims[2] = {n, 1};
  hid_t         space = H5Screate_simple(rank, dims, NULL), set = H5Dcreate2(h5, name, type, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);

  assert_true(set >= 0 && H5Dwrite(set, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, data) >= 0);
  H5Dclose(set);
  H5Sclose(space);
}

static void test_no_checkpoint(void **state)
{
  const char    *file = UnitPath("run.h5"), *none = UnitPath("none.h5"), *cut = UnitPath("cut.h5"), *const whole = "cannot be opened or is not a whole checkpoint";
  unsigned char *bytes = NULL;
  size_t         n = 0;
  int            step;

  (void)state;
  RefusedRead(none, NBODY, 0, NEXTRA, "restart: '");
  RefusedRead(none, NBODY, 0, NEXTRA, whole);
  RefusedRead(folder, NBODY, 0, NEXTRA, whole);
  Ok(Write(file, 0));
  MPI_Barrier(PETSC_COMM_WORLD);
  bytes = UnitReadFile(file, &n);
  step  = PetscMax((int)n / 60, 1);
  for (size_t k = 0; k < n; k += k + 8 >= n || k < 8 ? 1 : (size_t)PetscMin(step, (int)(n - 8 - k))) {
    if (!me) UnitWriteFile(cut, bytes, k);
    RefusedRead(cut, NBODY, 0, NEXTRA, whole);
  }
  free(bytes);
  for (int kind = 0; kind < 6; kind++) { /* HDF5 files of others: nothing in it, groups, text, whole numbers, two dimensions, another version */
    const char *const names[3] = {"run", "lengths", "state"};
    const hsize_t     sizes[3] = {7 + NEXTRA, NBODY, 194};
    double            zeros[256] = {99};
    long              whole_numbers[256] = {0};
    char              text[256] = "";

    if (!me) {
      hid_t h5 = H5Fcreate(cut, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);

      zeros[6] = NEXTRA;
      for (int i = 0; i < 3 && kind; i++) {
        if (kind == 1) H5Gclose(H5Gcreate2(h5, names[i], H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
        if (kind == 2) Put(h5, names[i], H5T_C_S1, 1, sizes[i], text);
        if (kind == 3) Put(h5, names[i], H5T_NATIVE_LONG, 1, sizes[i], whole_numbers);
        if (kind == 4) Put(h5, names[i], H5T_NATIVE_DOUBLE, 2, sizes[i], zeros);
        if (kind == 5) Put(h5, names[i], H5T_NATIVE_DOUBLE, 1, sizes[i], zeros);
      }
      H5Fclose(h5);
    }
    RefusedRead(cut, NBODY, 0, NEXTRA, kind == 5 ? "was written by another version of the program" : whole);
  }
  if (!me) UnitWriteFile(cut, "no HDF5 at all\n", 15);
  RefusedRead(cut, NBODY, 0, NEXTRA, whole);
  if (!me) {
    unlink(cut);
    unlink(file);
  }
}

/* A write that fails says why on all ranks, and the earlier file is as it was */
static void test_unwritable(void **state)
{
  const char    *file = UnitPath("run.h5"), *part = UnitPath("run.h5.part"), *nowhere = UnitPath("no/run.h5");
  unsigned char *bytes;
  size_t         n;

  (void)state;
  Ok(Write(file, 0));
  MPI_Barrier(PETSC_COMM_WORLD);
  bytes = UnitReadFile(file, &n);
  Refused(Write(nowhere, 0), "no/run.h5' cannot be written: No such file or directory");
  Refused(Write(folder, 0), "cannot be written: Is a directory");
  if (!me) assert_int_equal(mkdir(part, 0700), 0);
  MPI_Barrier(PETSC_COMM_WORLD);
  Refused(Write(file, 1), "run.h5' cannot be written: Is a directory");
  MPI_Barrier(PETSC_COMM_WORLD);
  if (!me) assert_int_equal(rmdir(part), 0);
  for (size_t most = 0; most < n; most += n / 4) {
    UnitDisk((long)most);
    Refused(Write(file, 2), "run.h5' cannot be written: File too large");
    UnitDisk(-1);
    assert_int_equal(access(part, F_OK), -1);
    UnitHolds(file, bytes, n);
    MPI_Barrier(PETSC_COMM_WORLD);
  }
  free(bytes);
  Ok(Write(file, 2)); /* and it goes on */
  Read(file, 0);
  MPI_Barrier(PETSC_COMM_WORLD);
  if (!me) unlink(file);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_distributions), cmocka_unit_test(test_other_ranks),   cmocka_unit_test(test_tables), cmocka_unit_test(test_empty),
    cmocka_unit_test(test_other_model),   cmocka_unit_test(test_no_checkpoint), cmocka_unit_test(test_unwritable),
  };

  return UNIT_MAIN("checkpoint", tests);
}
