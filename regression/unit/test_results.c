/* Results: what any number of ranks write, read back with libexodusII; restarts; what is refused, on all ranks. */
#include "unit.h"
#include "meshes/results.h"
#include <exodusII.h>

enum { NBODY = 5 };
#define LONG "a_body_with_a_name_that_is_longer_than_the_thirty-two_characters_of_old_Exodus_files"
static const char *const names[NBODY] = {"box", "pipe", LONG, "pipe_2", "floor"};
static const double      c = 0.8, s = 0.6; /* a turn about z whose numbers are exact enough */
static Mesh              box, pipe_; /* shared by bodies */

typedef struct {
  PetscInt    n, map[NBODY]; /* local place to body */
  ResultsBody body[NBODY];
  PetscReal   sign;          /* of the fields, to tell one run from another */
  PetscInt    bad;           /* this body's fields fail */
} Run;

static PetscInt Owner(int kind, PetscInt g)
{
  return kind == 0 ? g % size : kind == 1 ? size - 1 - g % size : kind == 2 ? size - 1 : 0;
}

static Mesh Shape(PetscInt g)
{
  return g == 1 || g == 3 ? pipe_ : box;
}

/* Bodies of this rank, in no particular order */
static void Spread(int kind, Run *run)
{
  const PetscInt order[NBODY] = {3, 0, 4, 2, 1};

  run->n    = 0;
  run->sign = 1;
  run->bad  = -1;
  for (int k = 0; k < NBODY; k++) {
    const PetscInt g = order[k];

    if (Owner(kind, g) != me) continue;
    run->map[run->n]    = g;
    run->body[run->n++] = (ResultsBody){g, names[g], Shape(g), {c, -s, 0, s, c, 0, 0, 0, 1}, {10 * g, -g, 0.5}, (int)(100 + g)};
  }
}

static PetscReal Disp(PetscInt g, PetscInt i, PetscInt k, PetscReal t)
{
  return t + g + i / 64. + k * 1000;
}

static PetscErrorCode Fields(void *ctx, PetscInt local, PetscReal time, PetscReal *disp, PetscReal *vel, PetscReal *contact, PetscReal *mises)
{
  const Run     *run = (const Run *)ctx;
  const PetscInt g   = run->map[local];
  const Mesh     m   = run->body[local].mesh;

  PetscFunctionBeginUser;
  PetscCheck(g != run->bad, PETSC_COMM_SELF, PETSC_ERR_USER_INPUT, "body '%s' has no fields", names[g]);
  for (PetscInt i = 0; i < 3 * m->nnode; i++) {
    assert_true(disp[i] == 0 && vel[i] == 0 && contact[i] == 0);
    if (g == 4) continue; /* stays zero */
    disp[i] = run->sign * Disp(g, i / 3, i % 3, time);
    vel[i]  = -3 * disp[i];
    contact[i] = 5 * disp[i];
  }
  for (PetscInt e = 0; e < m->nelem; e++) mises[e] = run->sign * (1e9 * g + e + time / 4);
  PetscFunctionReturn(0);
}

/* What the file holds: times with the sign of their fields and how the bodies were spread */
typedef struct {
  double t, sign;
  int    kind;
} Time;

static void CheckMesh(int exo)
{
  const char *const    vars[9] = {"displacement_x", "displacement_y", "displacement_z", "velocity_x", "velocity_y", "velocity_z", "contact_x", "contact_y", "contact_z"}, *const evars[3] = {"mises", "rank", "formulation"};
  const PetscInt       total = 3 * box->nnode + 2 * pipe_->nnode;
  struct ex_init_params info;
  char                 name[257];
  int                  n, first = 0;
  double              *x;

  assert_int_equal(ex_get_init_ext(exo, &info), 0);
  assert_int_equal(info.num_dim, 3);
  assert_int_equal(info.num_nodes, total);
  assert_int_equal(info.num_elem, 3 * box->nelem + 2 * pipe_->nelem);
  assert_int_equal(info.num_elem_blk, NBODY);
  assert_int_equal(ex_get_variable_param(exo, EX_NODAL, &n), 0);
  assert_int_equal(n, 9);
  for (int v = 0; v < 9; v++) {
    assert_int_equal(ex_get_variable_name(exo, EX_NODAL, v + 1, name), 0);
    assert_string_equal(name, vars[v]);
  }
  assert_int_equal(ex_get_variable_param(exo, EX_ELEM_BLOCK, &n), 0);
  assert_int_equal(n, 3);
  for (int v = 0; v < 3; v++) {
    assert_int_equal(ex_get_variable_name(exo, EX_ELEM_BLOCK, v + 1, name), 0);
    assert_string_equal(name, evars[v]);
  }
  x = malloc(3 * (size_t)total * sizeof(double));
  assert_int_equal(ex_get_coord(exo, x, x + total, x + 2 * total), 0);
  for (int g = 0; g < NBODY; g++) {
    const Mesh m = Shape(g);
    ex_block   block = {.id = g + 1, .type = EX_ELEM_BLOCK};
    int        conn[8 * 64], e = 0;

    assert_int_equal(ex_get_name(exo, EX_ELEM_BLOCK, g + 1, name), 0);
    assert_string_equal(name, names[g]);
    assert_int_equal(ex_get_block_param(exo, &block), 0);
    assert_string_equal(block.topology, "HEX8");
    assert_int_equal(block.num_entry, m->nelem);
    assert_true(m->nelem <= 64);
    assert_int_equal(ex_get_conn(exo, EX_ELEM_BLOCK, g + 1, conn, NULL, NULL), 0);
    for (PetscInt b = 0; b < m->nblock; b++)
      for (PetscInt i = 0; i < 8 * m->block[b].nelem; i++) assert_int_equal(conn[e++], first + m->block[b].conn[i] + 1);
    for (PetscInt i = 0; i < m->nnode; i++) {
      const PetscReal *X = m->coord + 3 * i;

      assert_true(PetscAbsReal(x[first + i] - (c * X[0] - s * X[1] + 10 * g)) < 1e-14);
      assert_true(PetscAbsReal(x[total + first + i] - (s * X[0] + c * X[1] - g)) < 1e-14);
      assert_true(PetscAbsReal(x[2 * total + first + i] - (X[2] + 0.5)) < 1e-14);
    }
    first += (int)m->nnode;
  }
  free(x);
}

/* On rank 0: the file holds the bodies and these times */
static void Check(const char file[], int ntime, const Time times[])
{
  const PetscInt total = 3 * box->nnode + 2 * pipe_->nnode;
  int            compute = 8, stored = 0, exo;
  float          version;
  double        *v;

  MPI_Barrier(PETSC_COMM_WORLD);
  if (me) return;
  exo = ex_open(file, EX_READ, &compute, &stored, &version);
  assert_true(exo >= 0);
  assert_int_equal(stored, 8);
  ex_set_max_name_length(exo, 256);
  CheckMesh(exo);
  assert_int_equal(ex_inquire_int(exo, EX_INQ_TIME), ntime);
  v = malloc((size_t)total * sizeof(double));
  for (int k = 0; k < ntime; k++) {
    double t;

    assert_int_equal(ex_get_time(exo, k + 1, &t), 0);
    assert_true(t == times[k].t);
    for (int j = 0; j < 9; j++) {
      PetscInt at = 0;

      assert_int_equal(ex_get_var(exo, k + 1, EX_NODAL, j + 1, 1, total, v), 0);
      for (PetscInt g = 0; g < NBODY; g++)
        for (PetscInt i = 0; i < Shape(g)->nnode; i++, at++) assert_true(v[at] == (g == 4 ? 0 : (j < 3 ? 1 : j < 6 ? -3 : 5) * (times[k].sign * Disp(g, i, j % 3, t))));
    }
    for (PetscInt g = 0; g < NBODY; g++)
      for (int j = 0; j < 3; j++) {
        assert_int_equal(ex_get_var(exo, k + 1, EX_ELEM_BLOCK, j + 1, g + 1, Shape(g)->nelem, v), 0);
        for (PetscInt e = 0; e < Shape(g)->nelem; e++) assert_true(v[e] == (j == 0 ? times[k].sign * (1e9 * g + e + t / 4) : j == 1 ? (double)Owner(times[k].kind, g) : 100. + g));
      }
  }
  free(v);
  assert_int_equal(ex_close(exo), 0);
}

static void Remove(const char file[])
{
  MPI_Barrier(PETSC_COMM_WORLD);
  if (!me) assert_int_equal(unlink(file), 0);
  MPI_Barrier(PETSC_COMM_WORLD);
}

static PetscInt Count(Results r)
{
  PetscInt n;

  Ok(ResultsGetCount(r, &n));
  return n;
}

static Results Create(const char file[], const Run *run, PetscBool append, PetscReal time)
{
  Results r;

  Ok(ResultsCreate(PETSC_COMM_WORLD, file, NBODY, run->n, run->body, append, time, &r));
  return r;
}

/* Bodies move between ranks while a run goes on; the file can be read all the time */
static void test_write(void **state)
{
  const char *file = UnitPath("run.exo"), *part = UnitPath("run.exo.part");
  const Time  times[] = {{0, 1, 0}, {0.1, 1, 0}, {0.3, 1, 1}, {0.7, 1, 2}};
  Results     r;
  Run         run;

  (void)state;
  Spread(0, &run);
  r = Create(file, &run, PETSC_FALSE, 0);
  assert_int_equal(access(part, F_OK), -1);
  Check(file, 0, NULL);
  for (int k = 0; k < 4; k++) {
    if (k >= 2) {
      Spread(times[k].kind, &run);
      Ok(ResultsSetBodies(r, run.n, run.body));
    }
    run.sign = k ? 1 : -1;
    Ok(ResultsWrite(r, times[k].t, Fields, &run));
    run.sign = 1;
    if (!k) Ok(ResultsWrite(r, times[k].t, Fields, &run)); /* the same time again: overwritten */
    assert_int_equal(Count(r), k + 1);
    Check(file, k + 1, times);
  }
  Ok(ResultsDestroy(&r));
  assert_null(r);
  Check(file, 4, times);
  Spread(3, &run);
  r = Create(file, &run, PETSC_FALSE, 0.3); /* replaces it */
  assert_int_equal(Count(r), 0);
  Ok(ResultsDestroy(&r));
  Check(file, 0, NULL);
  Remove(file);
}

static void test_append(void **state)
{
  const char *file = UnitPath("run.exo");
  const Time  first[] = {{0, 1, 1}, {0.1, 1, 1}, {0.2, 1, 1}, {0.3, 1, 1}, {0.4, 1, 1}};
  const Time  second[] = {{0, 1, 1}, {0.1, 1, 1}, {0.2, -1, 0}, {0.25, -1, 0}};
  const Time  third[] = {{0, 1, 1}, {0.1, 1, 1}, {0.2, -1, 0}, {0.25, 1, 2}};
  Results     r;
  Run         run;

  (void)state;
  Spread(1, &run);
  r = Create(file, &run, PETSC_TRUE, 0); /* nothing there yet */
  for (int k = 0; k < 5; k++) Ok(ResultsWrite(r, first[k].t, Fields, &run));
  Ok(ResultsDestroy(&r));
  Check(file, 5, first);
  Spread(0, &run); /* from 0.15 on, with other ranks: later times go */
  r = Create(file, &run, PETSC_TRUE, 0.15);
  assert_int_equal(Count(r), 2);
  Check(file, 2, first);
  run.sign = -1;
  for (int k = 2; k < 4; k++) Ok(ResultsWrite(r, second[k].t, Fields, &run));
  Ok(ResultsDestroy(&r));
  Check(file, 4, second);
  Spread(2, &run); /* from the last time on, which comes again */
  r = Create(file, &run, PETSC_TRUE, 0.25 * (1 - 1e-15));
  assert_int_equal(Count(r), 4);
  Ok(ResultsWrite(r, 0.25, Fields, &run));
  assert_int_equal(Count(r), 4);
  Ok(ResultsDestroy(&r));
  Check(file, 4, third);
  r = Create(file, &run, PETSC_TRUE, -1); /* before all of them */
  assert_int_equal(Count(r), 0);
  Ok(ResultsDestroy(&r));
  Check(file, 0, NULL);
  Remove(file);
}

/* The same bodies in a netCDF-4 file, as models of more than 4 GB have: continued by libexodusII */
static void Netcdf4(const char file[])
{
  const char *const vars[9] = {"displacement_x", "displacement_y", "displacement_z", "velocity_x", "velocity_y", "velocity_z", "contact_x", "contact_y", "contact_z"}, *const evars[3] = {"mises", "rank", "formulation"};
  const PetscInt    total = 3 * box->nnode + 2 * pipe_->nnode;
  int               size8 = 8, stored = 8, exo, first = 0;
  double           *x = malloc(3 * (size_t)total * sizeof(double));

  exo = ex_create(file, EX_CLOBBER | EX_NETCDF4 | EX_NOCLASSIC | EX_ALL_INT64_DB, &size8, &stored);
  assert_true(exo >= 0);
  ex_set_max_name_length(exo, 256);
  assert_int_equal(ex_put_init(exo, "Ashlar results", 3, total, 3 * box->nelem + 2 * pipe_->nelem, NBODY, 0, 0), 0);
  for (int g = 0; g < NBODY; g++) {
    const Mesh m = Shape(g);
    int        conn[8 * 64], n = 0;

    assert_int_equal(ex_put_block(exo, EX_ELEM_BLOCK, g + 1, "HEX8", m->nelem, 8, 0, 0, 0), 0);
    for (PetscInt b = 0; b < m->nblock; b++)
      for (PetscInt i = 0; i < 8 * m->block[b].nelem; i++) conn[n++] = (int)(first + m->block[b].conn[i] + 1);
    assert_int_equal(ex_put_conn(exo, EX_ELEM_BLOCK, g + 1, conn, NULL, NULL), 0);
    assert_int_equal(ex_put_name(exo, EX_ELEM_BLOCK, g + 1, names[g]), 0);
    for (PetscInt i = 0; i < m->nnode; i++) {
      const PetscReal *X = m->coord + 3 * i;

      x[first + i]             = c * X[0] - s * X[1] + 10 * g;
      x[total + first + i]     = s * X[0] + c * X[1] - g;
      x[2 * total + first + i] = X[2] + 0.5;
    }
    first += (int)m->nnode;
  }
  assert_int_equal(ex_put_coord(exo, x, x + total, x + 2 * total), 0);
  assert_int_equal(ex_put_variable_param(exo, EX_NODAL, 9), 0);
  assert_int_equal(ex_put_variable_names(exo, EX_NODAL, 9, (char **)vars), 0);
  assert_int_equal(ex_put_variable_param(exo, EX_ELEM_BLOCK, 3), 0);
  assert_int_equal(ex_put_variable_names(exo, EX_ELEM_BLOCK, 3, (char **)evars), 0);
  assert_int_equal(ex_close(exo), 0);
  free(x);
}

static void test_netcdf4(void **state)
{
  const char *file = UnitPath("run.exo");
  const Time  times[] = {{0, 1, 0}, {0.5, 1, 0}, {0.75, -1, 2}};
  Results     r;
  Run         run;

  (void)state;
  if (!me) Netcdf4(file);
  MPI_Barrier(PETSC_COMM_WORLD);
  Spread(0, &run);
  r = Create(file, &run, PETSC_TRUE, 0);
  for (int k = 0; k < 2; k++) Ok(ResultsWrite(r, times[k].t, Fields, &run));
  Ok(ResultsDestroy(&r));
  Check(file, 2, times);
  Spread(2, &run);
  r = Create(file, &run, PETSC_TRUE, 0.5);
  assert_int_equal(Count(r), 2);
  run.sign = -1;
  Ok(ResultsWrite(r, 0.75, Fields, &run));
  Ok(ResultsDestroy(&r));
  Check(file, 3, times);
  Remove(file);
}

/* So much that it goes to rank 0 in several pieces, one body more than a piece */
enum { MANY = 12 };
static PetscReal Many(PetscInt g, PetscInt i, PetscInt k, PetscReal t)
{
  return t + 1e7 * g + 10 * i + k;
}

static PetscErrorCode ManyFields(void *ctx, PetscInt local, PetscReal time, PetscReal *disp, PetscReal *vel, PetscReal *contact, PetscReal *mises)
{
  const ResultsBody *body = &((const ResultsBody *)ctx)[local];

  PetscFunctionBeginUser;
  for (PetscInt i = 0; i < 3 * body->mesh->nnode; i++) {
    disp[i] = Many(body->id, i / 3, i % 3, time);
    vel[i]  = Many(body->id, i / 3, i % 3 + 3, time);
    contact[i] = Many(body->id, i / 3, i % 3 + 6, time);
  }
  for (PetscInt e = 0; e < body->mesh->nelem; e++) mises[e] = Many(body->id, e, 6, time);
  PetscFunctionReturn(0);
}

static void test_large(void **state)
{
  const char     *file = UnitPath("large.exo");
  const PetscReal length[3] = {1, 1, 1};
  const PetscInt  cells[3][3] = {{2, 1, 1}, {18, 18, 18}, {36, 36, 36}};
  Mesh            mesh[3];
  ResultsBody     body[MANY];
  PetscInt        n = 0, total = 0;
  Results         r;

  (void)state;
  for (int k = 0; k < 3; k++) Ok(MeshCreateBox(length, cells[k], &mesh[k]));
  for (PetscInt g = 0; g < MANY; g++) {
    const Mesh m = mesh[g == 4 ? 2 : g % 2];

    total += m->nnode;
    if ((g / 2) % size == me) body[n++] = (ResultsBody){g, "body", m, {1, 0, 0, 0, 1, 0, 0, 0, 1}, {g, 0, 0}, (int)g};
  }
  Ok(ResultsCreate(PETSC_COMM_WORLD, file, MANY, n, body, PETSC_FALSE, 0, &r));
  for (int k = 0; k < 2; k++) Ok(ResultsWrite(r, k, ManyFields, body));
  Ok(ResultsDestroy(&r));
  MPI_Barrier(PETSC_COMM_WORLD);
  if (!me) {
    int     size8 = 8, stored = 0, exo = ex_open(file, EX_READ, &size8, &stored, &(float){0});
    double *v = malloc(3 * (size_t)total * sizeof(double));

    assert_true(exo >= 0);
    assert_int_equal(ex_inquire_int(exo, EX_INQ_TIME), 2);
    assert_int_equal(ex_get_coord(exo, v, v + total, v + 2 * total), 0);
    for (PetscInt g = 0, at = 0; g < MANY; g++) {
      const Mesh m = mesh[g == 4 ? 2 : g % 2];
      int       *conn = malloc(8 * (size_t)m->nelem * sizeof(int));

      assert_int_equal(ex_get_conn(exo, EX_ELEM_BLOCK, g + 1, conn, NULL, NULL), 0);
      for (PetscInt i = 0; i < 8 * m->nelem; i++) assert_true(conn[i] == at + m->block[0].conn[i] + 1);
      free(conn);
      for (PetscInt i = 0; i < m->nnode; i++, at++) assert_true(v[at] == m->coord[3 * i] + g && v[total + at] == m->coord[3 * i + 1] && v[2 * total + at] == m->coord[3 * i + 2]);
    }
    for (int k = 0; k < 2; k++) {
      for (int j = 0; j < 9; j++) {
        assert_int_equal(ex_get_var(exo, k + 1, EX_NODAL, j + 1, 1, total, v), 0);
        for (PetscInt g = 0, at = 0; g < MANY; g++)
          for (PetscInt i = 0; i < mesh[g == 4 ? 2 : g % 2]->nnode; i++, at++) assert_true(v[at] == Many(g, i, j, k));
      }
      for (PetscInt g = 0; g < MANY; g++)
        for (int j = 0; j < 3; j++) {
          const PetscInt nelem = mesh[g == 4 ? 2 : g % 2]->nelem;

          assert_int_equal(ex_get_var(exo, k + 1, EX_ELEM_BLOCK, j + 1, g + 1, nelem, v), 0);
          for (PetscInt e = 0; e < nelem; e++) assert_true(v[e] == (j == 0 ? Many(g, e, 6, k) : j == 1 ? (g / 2) % size : g));
        }
    }
    free(v);
    assert_int_equal(ex_close(exo), 0);
  }
  Remove(file);
  for (int k = 0; k < 3; k++) Ok(MeshDestroy(&mesh[k]));
}

/* A file that cannot be continued is refused on all ranks and stays as it is */
static void RefusedAppend(const char file[], const Run *run, PetscInt nbody, const char text[])
{
  Results        r = NULL;
  unsigned char *bytes;
  size_t         n;

  MPI_Barrier(PETSC_COMM_WORLD);
  bytes = UnitReadFile(file, &n);
  MPI_Barrier(PETSC_COMM_WORLD);
  Refused(ResultsCreate(PETSC_COMM_WORLD, file, nbody, run->n, run->body, PETSC_TRUE, 0, &r), text);
  assert_null(r);
  MPI_Barrier(PETSC_COMM_WORLD);
  UnitHolds(file, bytes, n);
  free(bytes);
  MPI_Barrier(PETSC_COMM_WORLD); /* all have looked at it before anyone writes the next */
}

static void test_append_refused(void **state)
{
  const char        *file = UnitPath("run.exo"), *other = UnitPath("other.exo");
  const char *const  bodies = "run.exo: cannot be continued, since it holds other bodies than this run", *const damaged = "other.exo: cannot be continued, since it is no Exodus file or damaged";
  const Time         times[] = {{0, 1, 0}, {0.5, 1, 0}};
  Results            r;
  Run                run, few;
  unsigned char     *bytes;
  size_t             n;

  (void)state;
  Spread(0, &run);
  r = Create(file, &run, PETSC_FALSE, 0);
  for (int k = 0; k < 2; k++) Ok(ResultsWrite(r, times[k].t, Fields, &run));
  Ok(ResultsDestroy(&r));
  few   = run;
  few.n = 0;
  for (PetscInt i = 0; i < run.n; i++)
    if (run.map[i] < 4) few.body[few.n++] = run.body[i];
  RefusedAppend(file, &few, 4, bodies);
  for (int k = 0; k < 2; k++) { /* another name, another shape */
    Spread(0, &few);
    for (PetscInt i = 0; i < few.n; i++) {
      if (few.map[i] == 2 && !k) few.body[i].name = "someone";
      if (few.map[i] < 2 && k) few.body[i].mesh = few.map[i] ? box : pipe_;
    }
    RefusedAppend(file, &few, NBODY, bodies);
  }
  bytes = UnitReadFile(file, &n);
  for (size_t k = 0; k < n; k += n / 12 + 1) {
    if (!me) UnitWriteFile(other, bytes, k);
    RefusedAppend(other, &run, NBODY, damaged);
  }
  if (!me) UnitWriteFile(other, bytes, n - 1);
  RefusedAppend(other, &run, NBODY, damaged);
  free(bytes);
  if (!me) Ok(MeshWriteExodus(box, other));
  RefusedAppend(other, &run, NBODY, "other.exo: cannot be continued, since it holds other bodies than this run");
  Check(file, 2, times);
  Remove(file);
  Remove(other);
}

static void test_unwritable(void **state)
{
  const char    *file = UnitPath("run.exo"), *part = UnitPath("run.exo.part"), *nowhere = UnitPath("no/run.exo");
  const Time     times[] = {{0, 1, 2}, {0.5, 1, 2}};
  unsigned char *bytes;
  size_t         n;
  Results        r = NULL;
  Run            run;

  (void)state;
  Spread(2, &run);
  Refused(ResultsCreate(PETSC_COMM_WORLD, nowhere, NBODY, run.n, run.body, PETSC_FALSE, 0, &r), "no/run.exo: cannot be created: No such file or directory");
  Refused(ResultsCreate(PETSC_COMM_WORLD, folder, NBODY, run.n, run.body, PETSC_FALSE, 0, &r), ": Is a directory");
  Refused(ResultsCreate(PETSC_COMM_WORLD, folder, NBODY, run.n, run.body, PETSC_TRUE, 0, &r), "cannot be continued");
  r = Create(file, &run, PETSC_FALSE, 0);
  for (int k = 0; k < 2; k++) Ok(ResultsWrite(r, times[k].t, Fields, &run));
  Ok(ResultsDestroy(&r));
  MPI_Barrier(PETSC_COMM_WORLD);
  bytes = UnitReadFile(file, &n);
  if (!me) assert_int_equal(mkdir(part, 0700), 0);
  MPI_Barrier(PETSC_COMM_WORLD);
  Refused(ResultsCreate(PETSC_COMM_WORLD, file, NBODY, run.n, run.body, PETSC_FALSE, 0, &r), "run.exo: cannot be created: Is a directory");
  MPI_Barrier(PETSC_COMM_WORLD);
  if (!me) assert_int_equal(rmdir(part), 0);
  for (size_t most = 0; most < 8000; most += 1500) { /* a full disk before the bodies are in the file */
    UnitDisk((long)most);
    RefusedFiles(ResultsCreate(PETSC_COMM_WORLD, file, NBODY, run.n, run.body, PETSC_FALSE, 0, &r), "run.exo: cannot be written; is the disk full?", 0);
    UnitDisk(-1);
    assert_int_equal(access(part, F_OK), -1);
    assert_null(r);
    MPI_Barrier(PETSC_COMM_WORLD);
  }
  UnitHolds(file, bytes, n);
  MPI_Barrier(PETSC_COMM_WORLD);
  /* a full disk in the middle of a time */
  for (int k = 0; k < 3; k++) {
    r = Create(file, &run, PETSC_TRUE, 0.5);
    assert_int_equal(Count(r), 2);
    UnitDisk((long)n + 900 * k);
    Refused(ResultsWrite(r, 0.75, Fields, &run), "run.exo: cannot be written: File too large");
    Ok(ResultsDestroy(&r));
    UnitDisk(-1);
    Check(file, 2, times);
  }
  free(bytes);
  Remove(file);
}

/* Mistakes of the caller, and a body that cannot give its fields: the same line on all ranks, and only whole times in the file */
static void test_caller(void **state)
{
  const char *file = UnitPath("run.exo");
  const Time  times[] = {{0, 1, 0}, {0.5, 1, 0}};
  Results     r = NULL;
  Run         run, wrong;

  (void)state;
  Spread(0, &run);
  Refused(ResultsCreate(PETSC_COMM_WORLD, file, 0, 0, NULL, PETSC_FALSE, 0, &r), "there are no bodies to write");
  Refused(ResultsCreate(PETSC_COMM_WORLD, file, NBODY + 1, run.n, run.body, PETSC_FALSE, 0, &r), "run.exo: body 5 is on no rank");
  wrong = run;
  for (PetscInt i = 0; i < wrong.n; i++)
    if (wrong.map[i] == 4) wrong.body[i].id = 1;
  Refused(ResultsCreate(PETSC_COMM_WORLD, file, NBODY, wrong.n, wrong.body, PETSC_FALSE, 0, &r), "run.exo: body 1 is given twice");
  assert_int_equal(access(file, F_OK), -1);
  for (PetscInt bad = 0; bad < NBODY; bad++) {
    r = Create(file, &run, PETSC_FALSE, 0);
    Ok(ResultsWrite(r, 0, Fields, &run));
    Ok(ResultsWrite(r, 0.5, Fields, &run));
    run.bad = bad;
    Refused(ResultsWrite(r, 0.75, Fields, &run), names[bad]);
    assert_non_null(strstr(message, "has no fields"));
    run.bad = -1;
    Ok(ResultsDestroy(&r));
    Check(file, 2, times);
  }
  r = Create(file, &run, PETSC_TRUE, 1);
  Refused(ResultsWrite(r, 0.25, Fields, &run), "run.exo: time 0.25 comes after time 0.5");
  Ok(ResultsDestroy(&r));
  Check(file, 2, times);
  r     = Create(file, &run, PETSC_TRUE, 1);
  wrong = run;
  for (PetscInt i = 0; i < wrong.n; i++)
    if (wrong.map[i] == 3) wrong.body[i].mesh = box;
  message[0] = 0;
  assert_int_equal(ResultsSetBodies(r, wrong.n, wrong.body), PETSC_ERR_USER_INPUT);
  assert_non_null(strstr(message, "run.exo: body 3 has another mesh than before"));
  Ok(ResultsDestroy(&r));
  Check(file, 2, times);
  Remove(file);
}

static int Shapes(void **state)
{
  const PetscReal length[3] = {1, 0.5, 0.25};
  const PetscInt  cells[3] = {2, 2, 1}, ring[3] = {2, 5, 1};
  MeshBlock      *two;

  if (UnitStart(state) || MeshCreateBox(length, cells, &box) || MeshCreatePipe(1, 0.5, 2, ring, &pipe_)) return 1;
  if (PetscCalloc1(2, &two) || PetscMalloc1(8, &two[1].conn) || PetscStrallocpy("one", &two[1].name)) return 1;
  two[0]       = box->block[0]; /* the last element in a block of its own */
  two[0].nelem = 3;
  two[1].nelem = 1;
  two[1].nnode = 8;
  memcpy(two[1].conn, two[0].conn + 24, 8 * sizeof(PetscInt));
  memcpy(two[1].type, two[0].type, sizeof(two[0].type));
  if (PetscFree(box->block)) return 1;
  box->block  = two;
  box->nblock = 2;
  ex_opts(0);
  return 0;
}

static int Gone(void **state)
{
  return MeshDestroy(&box) || MeshDestroy(&pipe_) || UnitEnd(state);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_write), cmocka_unit_test(test_append), cmocka_unit_test(test_netcdf4), cmocka_unit_test(test_large), cmocka_unit_test(test_append_refused), cmocka_unit_test(test_unwritable), cmocka_unit_test(test_caller),
  };

  return UNIT_MAIN_WITH("results", tests, Shapes, Gone);
}
