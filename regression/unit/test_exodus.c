/* Meshes in Exodus II files: what is written is read again, and bad files are refused by one line. */
#include "unit.h"
#include "meshes/mesh.h"
#include <exodusII.h>

#define LONG "a_name_that_is_much_longer_than_the_thirty-two_characters_of_old_Exodus_files"

static void NodeSet(MeshNodeSet *set, const char name[], PetscInt n, const PetscInt node[])
{
  Ok(PetscStrallocpy(name, &set->name));
  Ok(PetscMalloc1(n, &set->node));
  Ok(PetscArraycpy(set->node, node, n));
  set->n = n;
}

static void SideSet(MeshSideSet *set, const char name[], PetscInt n, const PetscInt elem[], const PetscInt side[])
{
  Ok(PetscStrallocpy(name, &set->name));
  Ok(PetscMalloc1(n, &set->elem));
  Ok(PetscMalloc1(n, &set->side));
  Ok(PetscArraycpy(set->elem, elem, n));
  Ok(PetscArraycpy(set->side, side, n));
  set->n = n;
}

/* A box of 12 elements in three blocks, with sets that are long, short, empty and across blocks */
static Mesh Several(void)
{
  const PetscReal   length[3] = {0.1, 1. / 3, 7e-9};
  const PetscInt    cells[3] = {3, 2, 2}, count[3] = {5, 1, 6}, node[] = {35, 0, 7, 7}, elem[] = {11, 4, 5}, side[] = {5, 0, 3};
  const char *const names[3] = {LONG, "b", "third block"};
  Mesh              m;
  MeshBlock         all;

  Ok(MeshCreateBox(length, cells, &m));
  all = m->block[0]; /* keeps its arrays */
  Ok(PetscFree(m->block));
  Ok(PetscCalloc1(3, &m->block));
  for (PetscInt b = 0, e = 0; b < 3; b++) {
    m->block[b] = all;
    Ok(PetscStrallocpy(names[b], &m->block[b].name));
    m->block[b].nelem = count[b];
    Ok(PetscMalloc1(8 * count[b], &m->block[b].conn));
    Ok(PetscArraycpy(m->block[b].conn, all.conn + 8 * e, 8 * count[b]));
    e += count[b];
  }
  m->nblock = 3;
  Ok(PetscFree(all.name));
  Ok(PetscFree(all.conn));
  Ok(PetscRealloc(9 * sizeof(MeshNodeSet), &m->nodeset));
  Ok(PetscRealloc(8 * sizeof(MeshSideSet), &m->sideset));
  NodeSet(&m->nodeset[6], "empty", 0, NULL);
  NodeSet(&m->nodeset[7], "N" LONG, 4, node);
  NodeSet(&m->nodeset[8], "empty too", 0, NULL);
  m->nnodeset = 9;
  SideSet(&m->sideset[6], "S" LONG, 3, elem, side);
  SideSet(&m->sideset[7], "none", 0, NULL, NULL);
  m->nsideset = 8;
  return m;
}

static Mesh Cube(void)
{
  const PetscReal length[3] = {1, 1, 1};
  const PetscInt  cells[3] = {1, 1, 1};
  Mesh            m;

  Ok(MeshCreateBox(length, cells, &m));
  return m;
}

static void Same(Mesh a, Mesh b)
{
  assert_int_equal(a->nnode, b->nnode);
  assert_int_equal(a->nelem, b->nelem);
  assert_int_equal(a->nblock, b->nblock);
  assert_int_equal(a->nnodeset, b->nnodeset);
  assert_int_equal(a->nsideset, b->nsideset);
  assert_memory_equal(a->coord, b->coord, 3 * a->nnode * sizeof(PetscReal));
  for (PetscInt i = 0; i < a->nblock; i++) {
    assert_string_equal(a->block[i].name, b->block[i].name);
    assert_string_equal(a->block[i].type, b->block[i].type);
    assert_int_equal(a->block[i].nelem, b->block[i].nelem);
    assert_int_equal(a->block[i].nnode, b->block[i].nnode);
    assert_memory_equal(a->block[i].conn, b->block[i].conn, 8 * a->block[i].nelem * sizeof(PetscInt));
  }
  for (PetscInt i = 0; i < a->nnodeset; i++) {
    assert_string_equal(a->nodeset[i].name, b->nodeset[i].name);
    assert_int_equal(a->nodeset[i].n, b->nodeset[i].n);
    if (a->nodeset[i].n) assert_memory_equal(a->nodeset[i].node, b->nodeset[i].node, a->nodeset[i].n * sizeof(PetscInt));
  }
  for (PetscInt i = 0; i < a->nsideset; i++) {
    assert_string_equal(a->sideset[i].name, b->sideset[i].name);
    assert_int_equal(a->sideset[i].n, b->sideset[i].n);
    if (!a->sideset[i].n) continue;
    assert_memory_equal(a->sideset[i].elem, b->sideset[i].elem, a->sideset[i].n * sizeof(PetscInt));
    assert_memory_equal(a->sideset[i].side, b->sideset[i].side, a->sideset[i].n * sizeof(PetscInt));
  }
}

static void test_round(void **state)
{
  const char    *first = UnitPath("first.exo"), *second = UnitPath("second.exo");
  Mesh           a, b;
  unsigned char *x, *y;
  size_t         n, m;

  (void)state;
  for (int k = 0; k < 2; k++) {
    a = k ? Cube() : Several();
    Ok(MeshCheck(a, "several"));
    Ok(MeshWriteExodus(a, first));
    Ok(MeshReadExodus(first, &b));
    Same(a, b);
    Ok(MeshCheck(b, first));
    Ok(MeshWriteExodus(b, second));
    x = UnitReadFile(first, &n);
    y = UnitReadFile(second, &m);
    assert_int_equal(n, m);
    assert_memory_equal(x, y, n);
    free(x);
    free(y);
    Ok(MeshDestroy(&a));
    Ok(MeshDestroy(&b));
  }
  unlink(first);
  unlink(second);
}

/* A name longer than a file can hold is cut; the rest of the mesh does not suffer */
static void test_longest_name(void **state)
{
  const char *path = UnitPath("long.exo");
  char        name[400], want[257];
  Mesh        a = Cube(), b;

  (void)state;
  memset(name, 'x', sizeof(name) - 1);
  name[sizeof(name) - 1] = 0;
  snprintf(want, sizeof(want), "%.256s", name);
  Ok(PetscFree(a->block->name));
  Ok(PetscStrallocpy(name, &a->block->name));
  Ok(MeshWriteExodus(a, path));
  Ok(MeshReadExodus(path, &b));
  assert_string_equal(b->block->name, want);
  Ok(PetscFree(a->block->name));
  Ok(PetscStrallocpy(want, &a->block->name));
  Same(a, b);
  Ok(MeshDestroy(&a));
  Ok(MeshDestroy(&b));
  unlink(path);
}

/* A file made without our writer: two cubes in a row of `type` with `nnode` nodes, an empty block between, no names; one number wrong */
typedef struct {
  int         mode, dim, real;
  const char *type;
  int         nnode, node, nodeset, elem, side;
} Foreign;

static void Write(const char path[], const Foreign *f)
{
  const double x[12] = {0, 1, 1, 0, 0, 1, 1, 0, 2, 2, 2, 2}, y[12] = {0, 0, 1, 1, 0, 0, 1, 1, 0, 1, 0, 1}, z[12] = {0, 0, 0, 0, 1, 1, 1, 1, 0, 0, 1, 1};
  int          one[8] = {1, 2, 3, 4, 5, 6, 7, 8}, two[8] = {2, 9, 10, 3, 6, 11, 12, 7}, node[2] = {3, 12}, elem[2] = {1, 2}, side[2] = {6, 1}, compute = 8, stored = f->real, exo;

  if (f->node) two[4] = f->node;
  if (f->nodeset) node[1] = f->nodeset;
  if (f->elem) elem[1] = f->elem;
  if (f->side) side[0] = f->side;
  exo = ex_create(path, EX_CLOBBER | f->mode, &compute, &stored);
  assert_true(exo >= 0);
  assert_int_equal(ex_put_init(exo, "foreign", f->dim, 12, 2, 3, 1, 1), 0);
  assert_int_equal(ex_put_coord(exo, x, y, f->dim > 2 ? z : NULL), 0);
  assert_int_equal(ex_put_block(exo, EX_ELEM_BLOCK, 10, f->type, 1, f->nnode, 0, 0, 0), 0);
  assert_int_equal(ex_put_block(exo, EX_ELEM_BLOCK, 15, f->type, 0, 0, 0, 0, 0), 0);
  assert_int_equal(ex_put_block(exo, EX_ELEM_BLOCK, 20, f->type, 1, f->nnode, 0, 0, 0), 0);
  assert_int_equal(ex_put_conn(exo, EX_ELEM_BLOCK, 10, one, NULL, NULL), 0);
  assert_int_equal(ex_put_conn(exo, EX_ELEM_BLOCK, 20, two, NULL, NULL), 0);
  assert_int_equal(ex_put_set_param(exo, EX_NODE_SET, 7, 2, 0), 0);
  assert_int_equal(ex_put_set(exo, EX_NODE_SET, 7, node, NULL), 0);
  assert_int_equal(ex_put_set_param(exo, EX_SIDE_SET, 9, 2, 0), 0);
  assert_int_equal(ex_put_set(exo, EX_SIDE_SET, 9, elem, side), 0);
  assert_int_equal(ex_close(exo), 0);
}

static const Foreign good = {0, 3, 8, "HEX8", 8, 0, 0, 0, 0};

static void test_foreign(void **state)
{
  const char *path = UnitPath("foreign.exo");
  Mesh        m;

  (void)state;
  for (int k = 0; k < 6; k++) { /* classic, 64-bit offsets, netCDF-4, with real numbers of 8 and 4 bytes, both spellings of the type */
    Foreign            f = good;
    const MeshSideSet *found;

    f.mode = k % 3 == 0 ? 0 : k % 3 == 1 ? EX_LARGE_MODEL : EX_NETCDF4 | EX_NOCLASSIC;
    f.real = k < 3 ? 8 : 4;
    f.type = k % 2 ? "hex" : "HEX8";
    Write(path, &f);
    Ok(MeshReadExodus(path, &m));
    Ok(MeshCheck(m, "foreign"));
    assert_int_equal(m->nnode, 12);
    assert_int_equal(m->nblock, 2); /* the empty one is gone */
    assert_string_equal(m->block[0].name, "block_10");
    assert_string_equal(m->block[1].name, "block_20");
    assert_string_equal(m->block[1].type, "hex8");
    assert_int_equal(m->block[1].conn[6], 11);
    assert_true(m->coord[3 * 9] == 2 && m->coord[3 * 9 + 1] == 1 && m->coord[3 * 9 + 2] == 0);
    assert_string_equal(m->nodeset->name, "nodeset_7");
    assert_int_equal(m->nodeset->node[1], 11);
    assert_string_equal(m->sideset->name, "sideset_9");
    Ok(MeshFindSideSet(m, "9", &found));
    assert_ptr_equal(found, m->sideset);
    assert_int_equal(m->sideset->elem[1], 1);
    assert_int_equal(m->sideset->side[0], 5);
    Ok(MeshDestroy(&m));
  }
  unlink(path);
}

static void test_wrong_content(void **state)
{
  const char *path = UnitPath("wrong.exo");
  Mesh        m;
  struct {
    Foreign     f;
    const char *text;
  } bad[] = {
    {{0, 2, 8, "QUAD4", 4, 0, 0, 0, 0}, "the mesh has 2 dimensions; 3 are needed"},
    {{0, 3, 8, "TET4", 4, 0, 0, 0, 0}, "block 'block_10' has elements of type TET4 with 4 nodes; only HEX8 (8 nodes) can be read"},
    {{0, 3, 8, "HEX20", 8, 0, 0, 0, 0}, "elements of type HEX20"},
    {{0, 3, 8, "HEX8", 7, 0, 0, 0, 0}, "with 7 nodes"},
    {{0, 3, 8, "HEX8", 8, 13, 0, 0, 0}, "block 'block_20' has node 13, but they run from 1 to 12"},
    {{0, 3, 8, "HEX8", 8, -4, 0, 0, 0}, "block 'block_20' has node -4, but they run from 1 to 12"},
    {{0, 3, 8, "HEX8", 8, 0, 99, 0, 0}, "node set 'nodeset_7' has node 99, but they run from 1 to 12"},
    {{0, 3, 8, "HEX8", 8, 0, 0, 3, 0}, "side set 'sideset_9' has element 3, but they run from 1 to 2"},
    {{0, 3, 8, "HEX8", 8, 0, 0, 0, 7}, "side set 'sideset_9' has side 7, but they run from 1 to 6"},
  };

  (void)state;
  for (size_t k = 0; k < sizeof(bad) / sizeof(bad[0]); k++)
    for (int nc4 = 0; nc4 < 2; nc4++) {
      bad[k].f.mode = nc4 ? EX_NETCDF4 | EX_NOCLASSIC : 0;
      Write(path, &bad[k].f);
      Refused(MeshReadExodus(path, &m), bad[k].text);
      assert_non_null(strstr(message, "mesh file '/tmp/ashlar_unit_"));
      assert_null(m);
    }
  unlink(path);
}

/* What is read of the first n bytes of a file: an error, or (if only padding is gone) the whole mesh */
static void Cut(const char path[], const unsigned char *bytes, size_t n, size_t whole, Mesh same)
{
  const PetscLogDouble memory = UnitMemory();
  const int            files = UnitOpenFiles();
  PetscErrorCode       ierr;
  Mesh                 m;

  UnitWriteFile(path, bytes, n);
  message[0] = 0;
  ierr       = MeshReadExodus(path, &m);
  if (!ierr) {
    if (n + 4 < whole) fail_msg("%d bytes of %d are taken for a whole file", (int)n, (int)whole);
    Same(m, same);
    Ok(MeshDestroy(&m));
  } else {
    assert_int_equal(ierr, PETSC_ERR_USER_INPUT);
    assert_null(m);
    if (!strstr(message, "mesh file '") || strchr(message, '\n')) fail_msg("%d bytes: '%s'", (int)n, message);
  }
  assert_int_equal(UnitOpenFiles(), files);
  if (UnitMemory() != memory) fail_msg("%d bytes: %g bytes are not freed after '%s'", (int)n, UnitMemory() - memory, message);
}

static void test_truncated(void **state)
{
  const char    *path = UnitPath("cut.exo");
  unsigned char *bytes;
  size_t         n;
  Mesh           m;

  (void)state;
  for (int k = 0; k < 3; k++) {
    Foreign f = good;

    f.mode = k == 0 ? 0 : EX_NETCDF4 | EX_NOCLASSIC;
    if (k < 2) Write(path, &f);
    else {
      m = Several();
      Ok(MeshWriteExodus(m, path));
      Ok(MeshDestroy(&m));
    }
    Ok(MeshReadExodus(path, &m));
    bytes = UnitReadFile(path, &n);
    for (size_t cut = 0; cut < n; cut += cut < 16 || n - cut < 16 ? 1 : PetscMin(PetscMax(n / 150, 1), n - cut - 15)) Cut(path, bytes, cut, n, m);
    free(bytes);
    Ok(MeshDestroy(&m));
  }
  unlink(path);
}

/* Damaged bytes anywhere may give an error or another mesh, but never anything else */
static void test_damaged(void **state)
{
  const char    *path = UnitPath("damaged.exo");
  unsigned char *bytes;
  size_t         n, header;
  Mesh           m;

  (void)state;
  Write(path, &good);
  bytes  = UnitReadFile(path, &n);
  header = PetscMin(n, 2400);
  for (size_t i = 0; i < header; i += 7)
    for (int k = 0; k < 2; k++) {
      const unsigned char keep = bytes[i];
      PetscErrorCode      ierr;

      bytes[i] = k ? 0xff : (unsigned char)(keep + 1);
      UnitWriteFile(path, bytes, n);
      message[0] = 0;
      ierr       = MeshReadExodus(path, &m);
      bytes[i]   = keep;
      if (ierr && ierr != PETSC_ERR_USER_INPUT) fail_msg("byte %d: %s", (int)i, message);
      if (!ierr) ierr = MeshCheck(m, "damaged");
      if (ierr && ierr != PETSC_ERR_USER_INPUT) fail_msg("byte %d: %s", (int)i, message);
      Ok(MeshDestroy(&m));
    }
  free(bytes);
  unlink(path);
}

static void test_no_mesh(void **state)
{
  const char *path = UnitPath("garbage.exo"), *none = UnitPath("none.exo");
  Mesh        m;

  (void)state;
  Refused(MeshReadExodus(none, &m), "none.exo': No such file or directory");
  assert_null(m);
  Refused(MeshReadExodus(folder, &m), "is a folder");
  UnitWriteFile(path, "", 0);
  Refused(MeshReadExodus(path, &m), "garbage.exo' is no Exodus II file, or an incomplete one");
  UnitWriteFile(path, "solid cube\nfacet normal 0 0 1\n", 30);
  Refused(MeshReadExodus(path, &m), "garbage.exo' is no Exodus II file, or an incomplete one");
  assert_null(m);
  if (!geteuid()) { /* root may read anything: as nobody, the folder itself is closed */
    if (seteuid(65534)) print_message("cannot drop rights: not tested\n");
    else {
      Refused(MeshReadExodus(path, &m), "garbage.exo': Permission denied");
      assert_int_equal(seteuid(0), 0);
    }
  } else {
    chmod(path, 0);
    Refused(MeshReadExodus(path, &m), "garbage.exo': Permission denied");
  }
  unlink(path);
}

/* Whatever goes wrong on writing, a file that was there is as before, and nothing stands beside it */
static void test_unwritable(void **state)
{
  const char    *path = UnitPath("mesh.exo"), *part = UnitPath("mesh.exo.part"), *nowhere = UnitPath("no/mesh.exo");
  unsigned char *bytes;
  size_t         n;
  Mesh           a = Cube(), b = Several();

  (void)state;
  Ok(MeshWriteExodus(a, path));
  bytes = UnitReadFile(path, &n);
  Refused(MeshWriteExodus(b, nowhere), "no/mesh.exo' cannot be written: No such file or directory");
  Refused(MeshWriteExodus(b, folder), "cannot be written: Is a directory");
  assert_int_equal(mkdir(part, 0700), 0);
  Refused(MeshWriteExodus(b, path), "mesh.exo' cannot be written: Is a directory");
  assert_int_equal(rmdir(part), 0);
  UnitHolds(path, bytes, n);
  for (size_t most = 0; most < n; most += 700) {
    UnitDisk((long)most);
    RefusedFiles(MeshWriteExodus(b, path), "mesh.exo' cannot be written: is the disk full?", 0);
    UnitDisk(-1);
    assert_int_equal(access(part, F_OK), -1);
    UnitHolds(path, bytes, n);
  }
  Ok(PetscStrcpy(b->block[1].type, "tet4"));
  Refused(MeshWriteExodus(b, path), "block 'b' has elements of type tet4; only hex8 can be written");
  UnitHolds(path, bytes, n);
  free(bytes);
  unlink(path);
  Ok(MeshDestroy(&a));
  Ok(MeshDestroy(&b));
}

int main(void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_round),     cmocka_unit_test(test_longest_name), cmocka_unit_test(test_foreign), cmocka_unit_test(test_wrong_content),
    cmocka_unit_test(test_truncated), cmocka_unit_test(test_damaged),      cmocka_unit_test(test_no_mesh), cmocka_unit_test(test_unwritable),
  };

  return UNIT_MAIN("exodus", tests);
}
