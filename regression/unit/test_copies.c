/* Placements: one body, grids, CSV files, random ones; the same on any rank; and what is said about mistakes. */
#include "unit.h"
#include "app/copies.h"
#include "meshes/mesh.h"
#include "physics/rotation.h"

static Settings Read(const char text[])
{
  Settings s;
  char     name[128];

  snprintf(name, sizeof(name), "%s/a.yml", folder);
  Ok(SettingsCreate(&s));
  Ok(SettingsReadString(s, name, text));
  Ok(SettingsAddSection(s, "body", "b"));
  return s;
}

static Copies Make(const char text[], PetscInt count, PetscBool several)
{
  Settings  s = Read(text);
  Copies    c;
  PetscInt  n;
  PetscBool many;

  Ok(CopiesCreate(s, "b", "b", &c));
  Ok(SettingsDestroy(&s)); /* nothing of it is needed any more */
  Ok(CopiesGetSize(c, &n, &many));
  assert_int_equal(n, count);
  assert_int_equal(many, several);
  return c;
}

static Placement Get(Copies c, PetscInt i)
{
  Placement p;

  memset(&p, 0xff, sizeof(p));
  Ok(CopiesGet(c, i, &p));
  return p;
}

static void RefusedText(const char text[], const char part[])
{
  const PetscLogDouble memory = UnitMemory();
  const int            files = UnitOpenFiles();
  Settings             s = Read(text);
  Copies               c = NULL;

  message[0] = 0;
  assert_int_equal(CopiesCreate(s, "b", "b", &c), PETSC_ERR_USER_INPUT);
  assert_null(c);
  if (!strstr(message, part) || strchr(message, '\n')) fail_msg("%s gave '%s', not '%s'", text, message, part);
  assert_int_equal(SettingsDestroy(&s), 0); /* which keeps what it has looked up until now */
  if (UnitMemory() != memory) fail_msg("%g bytes are not freed after '%s'", UnitMemory() - memory, message);
  assert_int_equal(UnitOpenFiles(), files);
}

static void Vector(const PetscReal v[3], PetscReal x, PetscReal y, PetscReal z)
{
  const PetscReal tol = 1e-14 * (1 + PetscAbsReal(x) + PetscAbsReal(y) + PetscAbsReal(z));

  if (PetscAbsReal(v[0] - x) > tol || PetscAbsReal(v[1] - y) > tol || PetscAbsReal(v[2] - z) > tol) fail_msg("(%.17g %.17g %.17g), not (%.17g %.17g %.17g)", v[0], v[1], v[2], x, y, z);
}

/* Where the rotation takes the axes x and y */
static void Turned(const PetscReal R[9], const PetscReal ex[3], const PetscReal ey[3])
{
  const PetscReal x[3] = {R[0], R[3], R[6]}, y[3] = {R[1], R[4], R[7]};

  Vector(x, ex[0], ex[1], ex[2]);
  Vector(y, ey[0], ey[1], ey[2]);
}
static const PetscReal px[3] = {1, 0, 0}, py[3] = {0, 1, 0}, pz[3] = {0, 0, 1}, mx[3] = {-1, 0, 0};

static void test_one(void **state)
{
  Copies    c = Make("b: {translate: [1, 2, 3], rotate: [0, 0, 90], velocity: [4, 5, 6], angular_velocity: [7, 8, 9]}\n", 1, PETSC_FALSE);
  Placement p = Get(c, 0);

  (void)state;
  Vector(p.shift, 1, 2, 3);
  Vector(p.velocity, 4, 5, 6);
  Vector(p.spin, 7, 8, 9);
  Turned(p.rotation, py, mx);
  Ok(CopiesDestroy(&c));
  assert_null(c);
  Ok(CopiesDestroy(&c));
  c = Make("b: {mesh: {type: box}}\nbody: {translate: [0, 0, 5]}\n", 1, PETSC_FALSE); /* what is said of all bodies */
  p = Get(c, 0);
  Vector(p.shift, 0, 0, 5);
  Vector(p.velocity, 0, 0, 0);
  Turned(p.rotation, px, py);
  Ok(CopiesDestroy(&c));
  RefusedText("b: {translate: [1, 2]}\n", "b_translate");
  RefusedText("b: {rotate: [1, 2, nan]}\n", "b_rotate");
}

static void test_grid(void **state)
{
  Copies c = Make("b: {translate: [1, 2, 3], rotate: [0, 90, 0], velocity: [0, 0, -1], copies: {grid: [2, 3, 4], spacing: [0.5, 1, -2]}}\n", 24, PETSC_TRUE);

  (void)state;
  for (PetscInt k = 0, i = 0; k < 4; k++)
    for (PetscInt j = 0; j < 3; j++)
      for (PetscInt l = 0; l < 2; l++, i++) {
        const Placement p = Get(c, i);
        const PetscReal ex[3] = {0, 0, -1};

        assert_true(p.shift[0] == 1 + 0.5 * l && p.shift[1] == 2 + j && p.shift[2] == 3 - 2 * k);
        Vector(p.velocity, 0, 0, -1);
        Turned(p.rotation, ex, py);
      }
  Ok(CopiesDestroy(&c));
  c = Make("b: {copies: {grid: [1, 1, 1], spacing: [1, 1, 1]}}\n", 1, PETSC_TRUE); /* one, but a copy */
  Ok(CopiesDestroy(&c));
  RefusedText("b: {copies: {grid: [2, 0, 2], spacing: [1, 1, 1]}}\n", "a.yml:1:20: b_copies_grid: 0 copies along y; give 1 or more");
  RefusedText("b: {copies: {grid: [2, 2, -1], spacing: [1, 1, 1]}}\n", "b_copies_grid: -1 copies along z");
  RefusedText("b: {copies: {grid: [2, 2, 2]}}\n", "b_copies_grid needs b_copies_spacing: 3 distances");
  RefusedText("b: {copies: {grid: [2, 2], spacing: [1, 1, 1]}}\n", "b_copies_grid");
  RefusedText("b: {copies: {grid: [2000, 2000, 2000], spacing: [1, 1, 1]}}\n", "b_copies_grid: 8e+09 copies are too many");
  RefusedText("b: {copies: {grid: [2, 2, 2], spacing: [1, 1, 1], random: 3}}\n", "b_copies: give one of file, grid, random and ring");
}

/* Only rank 0 has the file's text; others get the numbers */
static void Put(const char text[])
{
  const char *path = UnitPath("place.csv");

  MPI_Barrier(PETSC_COMM_WORLD);
  if (!me) UnitWriteFile(path, text, strlen(text));
  MPI_Barrier(PETSC_COMM_WORLD);
}

static void Remove(void)
{
  MPI_Barrier(PETSC_COMM_WORLD);
  if (!me) unlink(UnitPath("place.csv"));
}

static const char file[] = "b: {copies: {file: place.csv}}\n";

static void test_file(void **state)
{
  /* the same two placements in several spellings; columns in any order, comments, blank lines, ends of line */
  static const char *const forms[] = {
    "x,y,z,rx,ry,rz,vx,vy,vz,wx,wy,wz\n1,2,3,0,0,90,4,5,6,7,8,9\n-1,0,1e-3,0,0,0,0,0,0,0,0,-2.5\n",
    "# made by hand\n\nwz wy wx vz vy vx rz ry rx z y x\r\n9 8 7 6 5 4 90 0 0 3 2 1 # first\r\n\r\n-2.5 0 0 0 0 0 0 0 0 1e-3 0 -1",
    "x; y; z; rz; vx; vy; vz; wx; wy; wz\n1; 2; 3; 90; 4; 5; 6; 7; 8; 9\n  -1 ;0\t; 1e-3; 0; 0; 0; 0; 0; 0; -2.5  \n",
    "\xEF\xBB\xBFx,y,z,rx,ry,rz,vx,vy,vz,wx,wy,wz\n1,2,3,0,0,90,4,5,6,7,8,9\n-1,0,0.001,0,0,0,0,0,0,0,0,-2.5\n",
  };

  (void)state;
  for (size_t k = 0; k < sizeof(forms) / sizeof(forms[0]); k++) {
    Copies    c;
    Placement p;

    Put(forms[k]);
    c = Make("b: {translate: [10, 20, 30], rotate: [90, 0, 0], velocity: [100, 0, 0], angular_velocity: [0, 0, 100], copies: {file: place.csv}}\n", 2, PETSC_TRUE);
    p = Get(c, 0);
    Vector(p.shift, 11, 22, 33);
    Vector(p.velocity, 104, 5, 6);
    Vector(p.spin, 7, 8, 109);
    Turned(p.rotation, py, pz); /* first the section's turn about x, then the line's about z: x to y, y to z */
    p = Get(c, 1);
    Vector(p.shift, 9, 20, 30.001);
    Vector(p.velocity, 100, 0, 0);
    Vector(p.spin, 0, 0, 97.5);
    Turned(p.rotation, px, pz);
    Ok(CopiesDestroy(&c));
  }
  Remove();
}

static void test_file_long(void **state) /* many lines, and lines that are long */
{
  const size_t n = 1000, each = 6000;
  char        *text = malloc(n * 64 + each + 64), *at = text;
  Copies       c;

  (void)state;
  at += sprintf(at, "x,y,z\n");
  for (size_t i = 0; i < n; i++) at += sprintf(at, "%d,%d,%.17g\n", (int)i, -(int)i, i / 3.);
  at += sprintf(at, "1,2,");
  memset(at, ' ', each);
  sprintf(at + each, "3 # and more\n");
  Put(text);
  c = Make(file, (PetscInt)n + 1, PETSC_TRUE);
  for (size_t i = 0; i < n; i++) {
    const Placement p = Get(c, (PetscInt)i);

    assert_true(p.shift[0] == (int)i && p.shift[1] == -(int)i && p.shift[2] == i / 3.);
  }
  Vector(Get(c, (PetscInt)n).shift, 1, 2, 3);
  Ok(CopiesDestroy(&c));
  free(text);
  Remove();
}

static void RefusedFile(const char text[], const char part[])
{
  Put(text);
  RefusedText(file, part);
  Remove();
}

static void test_file_errors(void **state)
{
  (void)state;
  RefusedText(file, "a.yml:1:20: cannot open the file of placements '/tmp/ashlar_unit_");
  assert_non_null(strstr(message, "place.csv': No such file or directory"));
  RefusedText("b: {copies: {file: /no/such.csv}}\n", "'/no/such.csv'");
  RefusedText("b: {copies: {file: /}}\n", "'/': Is a directory");
  RefusedFile("", "place.csv' has no line of numbers");
  RefusedFile("x,y,z\n# none\n", "place.csv' has no line of numbers");
  RefusedFile("x,y\n1,2\n", "place.csv:1: the first line must name columns x, y and z");
  RefusedFile("1,2,3\n", "place.csv:1: unknown column '1'; the first line names x, y, z and, as needed, rx, ry, rz, vx, vy, vz, wx, wy, wz");
  RefusedFile("x,y,z,mass\n1,2,3,4\n", "place.csv:1: unknown column 'mass'");
  RefusedFile("x,y,z,x\n1,2,3,4\n", "place.csv:1: column 'x' is named twice");
  RefusedFile("# c\nx,y,z\n\n1,2\n", "place.csv:4: 2 numbers where the first line names 3");
  RefusedFile("x,y,z\n1,2,3,4\n", "place.csv:2: 4 numbers where the first line names 3");
  RefusedFile("x,y,z\n1,2,3\n1,two,3\n", "place.csv:3: 'two' is not a number");
  RefusedFile("x,y,z\n1,nan,3\n", "place.csv:2: 'nan' is not a number");
  RefusedFile("x,y,z\n1,1e999,3\n", "place.csv:2: '1e999' is not a number");
  RefusedFile("x,y,z\n1,2,3m\n", "place.csv:2: '3m' is not a number");
  RefusedFile("x,y,z\n1,,2,3\n", "place.csv:2: a number is missing between two commas"); /* must not shift the others */
  RefusedFile("x,y,z\n1,2,\n", "place.csv:2:");
  RefusedFile("x,y,z\n1,2,3\n,1,2,3\n", "place.csv:3:");
  RefusedFile("x,y,z,\n1,2,3\n", "place.csv:1:");
}

static void test_random(void **state)
{
  const char *const text = "b: {translate: [100, 0, 0], rotate: [0, 0, 90], velocity: [1, 2, 3], copies: {random: 4000, box: [-1, 2, 10, 1, 2.5, 40], seed: %d, rotate: %s}}\n";
  const PetscReal   low[3] = {99, 2, 10}, high[3] = {101, 2.5, 40};
  char              input[256];

  (void)state;
  for (int turn = 0; turn < 2; turn++) {
    PetscReal mean[3] = {0}, least[3] = {1, 1, 1}, most[3] = {0}, R1[9] = {0}, R2[9] = {0};
    Copies    c, again, other, far;
    PetscInt  differ = 0;

    snprintf(input, sizeof(input), text, 1, turn ? "true" : "false");
    c     = Make(input, 4000, PETSC_TRUE);
    again = Make(input, 4000, PETSC_TRUE);
    snprintf(input, sizeof(input), text, 2, turn ? "true" : "false");
    other = Make(input, 4000, PETSC_TRUE);
    snprintf(input, sizeof(input), text, 1 + (1 << 24), turn ? "true" : "false");
    far = Make(input, 4000, PETSC_TRUE);
    for (PetscInt i = 3999; i >= 0; i--) { /* in any order */
      const Placement p = Get(c, i), q = Get(again, i), o = Get(other, i), f = Get(far, i);
      PetscReal       all[12], E[9];

      assert_memory_equal(&p, &q, sizeof(p));
      differ += p.shift[0] != o.shift[0] && p.shift[0] != f.shift[0] && o.shift[0] != f.shift[0];
      for (int k = 0; k < 3; k++) {
        const PetscReal u = (p.shift[k] - low[k]) / (high[k] - low[k]);

        assert_true(u >= 0 && u <= 1);
        mean[k] += u / 4000;
        least[k] = PetscMin(least[k], u);
        most[k]  = PetscMax(most[k], u);
      }
      Vector(p.velocity, 1, 2, 3);
      if (!turn) Turned(p.rotation, py, mx);
      Mat3MultTransposeLeft(p.rotation, p.rotation, E);
      for (int k = 0; k < 9; k++) {
        assert_true(PetscAbsReal(E[k] - (k % 4 == 0)) < 1e-14);
        R1[k] += p.rotation[k] / 4000;
        R2[k] += p.rotation[k] * p.rotation[k] / 4000;
      }
      Vec3Cross(p.rotation, p.rotation + 3, all);
      Vector(all, p.rotation[6], p.rotation[7], p.rotation[8]); /* right-handed */
      /* the same on every rank */
      memcpy(all, p.shift, 3 * sizeof(PetscReal));
      memcpy(all + 3, p.rotation, 9 * sizeof(PetscReal));
      if (i % 500 == 0) {
        MPI_Bcast(all, 12, MPIU_REAL, 0, PETSC_COMM_WORLD);
        assert_memory_equal(all, p.shift, 3 * sizeof(PetscReal));
        assert_memory_equal(all + 3, p.rotation, 9 * sizeof(PetscReal));
      }
    }
    assert_int_equal(differ, 4000);
    for (int k = 0; k < 3; k++) assert_true(PetscAbsReal(mean[k] - 0.5) < 0.02 && least[k] < 0.005 && most[k] > 0.995);
    for (int k = 0; k < 9 && turn; k++) assert_true(PetscAbsReal(R1[k]) < 0.04 && PetscAbsReal(R2[k] - 1. / 3) < 0.02); /* uniform: mean 0, mean square 1/3 */
    Ok(CopiesDestroy(&c));
    Ok(CopiesDestroy(&again));
    Ok(CopiesDestroy(&other));
    Ok(CopiesDestroy(&far));
  }
}

/* The three numbers of a place are not each other's, and fewer copies are the first of more */
static void test_random_independent(void **state)
{
  Copies    few = Make("b: {copies: {random: 10, box: [0, 0, 0, 1, 1, 1]}}\n", 10, PETSC_TRUE), more = Make("b: {copies: {random: 2000, box: [[0, 0, 0], [1, 1, 1]], seed: 1}}\n", 2000, PETSC_TRUE);
  PetscReal xy = 0, yz = 0, next = 0;

  (void)state;
  for (PetscInt i = 0; i < 10; i++) {
    const Placement p = Get(few, i), q = Get(more, i);

    assert_memory_equal(&p, &q, sizeof(p));
  }
  for (PetscInt i = 0; i < 1999; i++) {
    const Placement p = Get(more, i), q = Get(more, i + 1);

    xy += 12 * (p.shift[0] - 0.5) * (p.shift[1] - 0.5) / 1999;
    yz += 12 * (p.shift[1] - 0.5) * (p.shift[2] - 0.5) / 1999;
    next += 12 * (p.shift[0] - 0.5) * (q.shift[0] - 0.5) / 1999;
  }
  assert_true(PetscAbsReal(xy) < 0.1 && PetscAbsReal(yz) < 0.1 && PetscAbsReal(next) < 0.1);
  Ok(CopiesDestroy(&few));
  Ok(CopiesDestroy(&more));
}

static void test_random_errors(void **state)
{
  (void)state;
  RefusedText("b: {copies: {random: 0, box: [0, 0, 0, 1, 1, 1]}}\n", "a.yml:1:22: b_copies_random: 0 copies; give 1 or more");
  RefusedText("b: {copies: {random: -5, box: [0, 0, 0, 1, 1, 1]}}\n", "b_copies_random: -5 copies");
  RefusedText("b: {copies: {random: 5}}\n", "b_copies_random needs b_copies_box: 6 numbers, lower and upper corner");
  RefusedText("b: {copies: {random: 5, box: [0, 0, 0, 1, -1, 1]}}\n", "b_copies_box: upper corner -1. is below lower corner 0. along y");
  RefusedText("b: {copies: {random: 5, box: [0, 0, 0, 1, 1]}}\n", "b_copies_box");
  RefusedText("b: {copies: {random: 5, box: [0, 0, 0, 1, 1, 1], rotate: maybe}}\n", "b_copies_rotate");
  RefusedText("b: {copies: {random: 5, box: [0, 0, 0, 1, 1, 1], file: place.csv}}\n", "b_copies: give one of file, grid, random and ring");
}

/* A ring: where the copies are, how they are turned */
static void test_ring(void **state)
{
  const PetscReal r = PetscSqrtReal(0.5), my[3] = {0, -1, 0};
  Copies          c = Make("b: {translate: [1, 2, 3], velocity: [4, 5, 6], copies: {ring: 2, radius: 2, angle: 180}}\n", 2, PETSC_TRUE);
  Placement       p = Get(c, 0);

  (void)state;
  /* about y, half a circle from -x over z to x: copies at 45 degrees on both sides */
  Vector(p.shift, 1 - 2 * r, 2, 3 + 2 * r);
  Vector(p.velocity, 4, 5, 6);
  Turned(p.rotation, (PetscReal[3]){r, 0, r}, py);
  p = Get(c, 1);
  Vector(p.shift, 1 + 2 * r, 2, 3 + 2 * r);
  Turned(p.rotation, (PetscReal[3]){r, 0, -r}, py);
  Ok(CopiesDestroy(&c));
  /* a whole circle about z, measured from x: copies at -y, x, y, -x, each after the section's own turn about x */
  c = Make("b: {rotate: [90, 0, 0], copies: {ring: 4, radius: 1, axis: z, start: -135}}\n", 4, PETSC_TRUE);
  p = Get(c, 0);
  Vector(p.shift, 0, -1, 0);
  Turned(p.rotation, my, pz);
  p = Get(c, 1);
  Vector(p.shift, 1, 0, 0);
  Turned(p.rotation, px, pz);
  p = Get(c, 3);
  Vector(p.shift, -1, 0, 0);
  Turned(p.rotation, mx, pz);
  Ok(CopiesDestroy(&c));
  /* about x as a vector of any length: from z towards -y */
  c = Make("b: {copies: {ring: 1, radius: 3, axis: [2e-200, 0, 0], angle: 60, start: 60}}\n", 1, PETSC_TRUE);
  p = Get(c, 0);
  Vector(p.shift, 0, -3, 0);
  Turned(p.rotation, px, pz);
  Ok(CopiesDestroy(&c));
  /* an oblique axis: all at the radius, across the axis, the middle one highest */
  c = Make("b: {copies: {ring: 7, radius: 3, axis: [1, 2, 2]}}\n", 7, PETSC_TRUE);
  for (PetscInt i = 0; i < 7; i++) {
    p = Get(c, i);
    assert_true(PetscAbsReal(Vec3Norm(p.shift) - 3) < 1e-14 * 3 && PetscAbsReal(p.shift[0] + 2 * p.shift[1] + 2 * p.shift[2]) < 1e-14 * 9);
    if (i == 3) Vector(p.shift, -2 / PetscSqrtReal(5), -4 / PetscSqrtReal(5), PetscSqrtReal(5)); /* highest */
    else assert_true(p.shift[2] < 2.2);
  }
  Turned(Get(c, 3).rotation, px, py);
  Ok(CopiesDestroy(&c));
  c = Make("b: {copies: {ring: 2, radius: 3, axis: '0, 0, -1'}}\n", 2, PETSC_TRUE); /* about -z: from y by x to -y */
  Vector(Get(c, 0).shift, 0, 3, 0);
  Turned(Get(c, 1).rotation, my, px);
  Ok(CopiesDestroy(&c));
  RefusedText("b: {copies: {ring: 0, radius: 1}}\n", "a.yml:1:20: b_copies_ring: 0 copies; give 1 or more");
  RefusedText("b: {copies: {ring: 2}}\n", "b_copies_ring needs b_copies_radius: the distance from the centre");
  RefusedText("b: {copies: {ring: 2, radius: 0}}\n", "a.yml:1:31: b_copies_radius: 0 is not above zero");
  RefusedText("b: {copies: {ring: 2, radius: 1, angle: 0}}\n", "b_copies_angle: 0 is not above 0 and up to 360 degrees");
  RefusedText("b: {copies: {ring: 2, radius: 1, angle: 361}}\n", "b_copies_angle: 361 is not");
  RefusedText("b: {copies: {ring: 2, radius: 1, start: left}}\n", "b_copies_start");
  RefusedText("b: {copies: {ring: 2, radius: 1, axis: w}}\n", "b_copies_axis: 'w' is not x, y, z or 3 numbers");
  RefusedText("b: {copies: {ring: 2, radius: 1, axis: [1, 0]}}\n", "b_copies_axis: expects 3 numbers, got 2");
  RefusedText("b: {copies: {ring: 2, radius: 1, axis: [0, 0, 0]}}\n", "b_copies_axis: the axis has no direction");
  RefusedText("b: {copies: {ring: 2, radius: 1, random: 5, box: [0, 0, 0, 1, 1, 1]}}\n", "b_copies: give one of file, grid, random and ring");
}

static void Placed(const Placement *p, const PetscReal X[3], PetscReal x[3])
{
  Mat3Vec(p->rotation, X, x);
  for (int c = 0; c < 3; c++) x[c] += p->shift[c];
}

/* Voussoirs in a ring are an arch: joint faces coincide, it stands on z = 0, its halves are mirror images to the last bit */
static void test_arch(void **state)
{
  const PetscReal R = 10, thickness = 1.06, eps = 4 * PETSC_MACHINE_EPSILON * R;
  const PetscInt  cells[3] = {2, 3, 2};

  (void)state;
  for (int n = 27; n >= 8; n -= 19)
    for (int flat = 0; flat < 2; flat++) {
      char   text[128];
      Copies c;
      Mesh   mesh;

      snprintf(text, sizeof(text), "b: {copies: {ring: %d, radius: 10, angle: 180}}\n", n);
      c = Make(text, n, PETSC_TRUE);
      Ok(MeshCreateVoussoir(R, thickness, 2, 180. / n, cells, flat ? PETSC_TRUE : PETSC_FALSE, &mesh));
      assert_string_equal(mesh->nodeset[0].name, "start");
      assert_string_equal(mesh->nodeset[1].name, "end");
      for (int i = 0; i < n; i++) {
        const Placement p = Get(c, i), next = Get(c, PetscMin(i + 1, n - 1)), mirror = Get(c, n - 1 - i);
        PetscReal       x[3], y[3];

        for (PetscInt a = 0; a < mesh->nodeset[0].n; a++) {
          Placed(&p, mesh->coord + 3 * mesh->nodeset[1].node[a], x);
          Placed(&next, mesh->coord + 3 * mesh->nodeset[0].node[a], y);
          if (i < n - 1)
            for (int d = 0; d < 3; d++) assert_true(PetscAbsReal(x[d] - y[d]) <= eps);
          else assert_true(PetscAbsReal(x[2]) <= eps && x[0] > R - thickness); /* the end stands on the right */
          if (i) continue;
          Placed(&p, mesh->coord + 3 * mesh->nodeset[0].node[a], x);
          assert_true(PetscAbsReal(x[2]) <= eps && x[0] < thickness - R); /* the start on the left */
        }
        for (PetscInt a = 0; a < mesh->nnode; a++) { /* node (i, j, k) and its image (last - i, j, k) of the block's mirror image */
          const PetscInt b = a - a % 3 + 2 - a % 3;

          Placed(&p, mesh->coord + 3 * a, x);
          Placed(&mirror, mesh->coord + 3 * b, y);
          assert_true(x[0] == -y[0] && x[1] == y[1] && x[2] == y[2]);
          assert_true(x[2] >= -eps);
        }
      }
      Ok(MeshDestroy(&mesh));
      Ok(CopiesDestroy(&c));
    }
}

int main(void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_one),    cmocka_unit_test(test_grid),   cmocka_unit_test(test_file),
    cmocka_unit_test(test_file_long),  cmocka_unit_test(test_file_errors),  cmocka_unit_test(test_random),
    cmocka_unit_test(test_random_independent), cmocka_unit_test(test_random_errors), cmocka_unit_test(test_ring), cmocka_unit_test(test_arch),
  };

  return UNIT_MAIN("copies", tests);
}
