#include "copies.h"
#include "physics/rotation.h"
#include <errno.h>

enum { COPIES_ONE, COPIES_FILE, COPIES_GRID, COPIES_RANDOM, COPIES_RING };
/* columns of a CSV file of placements */
static const char *const Columns[] = {"x", "y", "z", "rx", "ry", "rz", "vx", "vy", "vz", "wx", "wy", "wz"};
#define NCOLUMN 12

struct _p_Copies {
  int        kind;
  PetscInt   n, grid[3];
  Placement  base;
  PetscReal  spacing[3], box[6];
  PetscReal  axis[3], radius, angle, start; /* of a ring; degrees */
  PetscInt   seed;
  PetscBool  turn;
  PetscReal *row; /* n x NCOLUMN */
};

static void PlacementFromDegrees_Private(const PetscReal degrees[3], PetscReal R[9])
{
  PetscReal v[3];

  for (PetscInt c = 0; c < 3; c++) v[c] = degrees[c] * PETSC_PI / 180;
  RotationFromVector(v, R);
}

/* A file while it is read, on rank 0; a message ends it */
typedef struct {
  const char *path;
  PetscInt    line, ncol, column[NCOLUMN], capacity;
  char        message[8192];
} Reader;

/* The next field of a line: fields stand between commas, semicolons or blanks. NULL at the end, or where one is missing. */
static char *ReaderField_Private(Reader *r, char **at)
{
  char *field = *at + strspn(*at, " \t"), *end = field + strcspn(field, ",; \t"), *next = end + strspn(end, " \t");
  char  separator = *next;

  if (separator == ',' || separator == ';') {
    next++;
    next += strspn(next, " \t");
  } else separator = 0;
  *end = 0;
  *at  = next;
  if ((separator && !*next) || (separator && !*field)) snprintf(r->message, sizeof(r->message), "%s:%" PetscInt_FMT ": a %s is missing %s", r->path, r->line, r->ncol ? "number" : "name", *next ? "between two commas" : "after the last comma");
  return *field && !r->message[0] ? field : NULL;
}

/* The first line, which names columns */
static void ReaderNames_Private(Reader *r, char *at)
{
  PetscInt seen = 0, n = 0;

  for (char *word = ReaderField_Private(r, &at); word; word = ReaderField_Private(r, &at)) {
    PetscInt k = 0;

    while (k < NCOLUMN && strcmp(word, Columns[k])) k++;
    if (k == NCOLUMN) snprintf(r->message, sizeof(r->message), "%s:%" PetscInt_FMT ": unknown column '%s'; the first line names x, y, z and, as needed, rx, ry, rz, vx, vy, vz, wx, wy, wz", r->path, r->line, word);
    else if (seen & 1 << k) snprintf(r->message, sizeof(r->message), "%s:%" PetscInt_FMT ": column '%s' is named twice", r->path, r->line, word);
    if (r->message[0]) return;
    seen |= 1 << k;
    r->column[n++] = k;
  }
  if (!r->message[0] && (seen & 7) != 7) snprintf(r->message, sizeof(r->message), "%s:%" PetscInt_FMT ": the first line must name columns x, y and z", r->path, r->line);
  r->ncol = n;
}

static PetscErrorCode ReaderNumbers_Private(Reader *r, char *at, Copies copies)
{
  PetscInt   k = 0;
  PetscReal *row;

  PetscFunctionBeginUser;
  if (copies->n == r->capacity) {
    r->capacity = 2 * r->capacity + 64;
    PetscCall(PetscRealloc((size_t)r->capacity * NCOLUMN * sizeof(PetscReal), &copies->row));
  }
  row = copies->row + (size_t)copies->n++ * NCOLUMN;
  PetscCall(PetscArrayzero(row, NCOLUMN));
  for (char *word = ReaderField_Private(r, &at); word; word = ReaderField_Private(r, &at), k++) {
    char           *end;
    const PetscReal v = strtod(word, &end);

    if (*end || PetscIsInfOrNanReal(v)) snprintf(r->message, sizeof(r->message), "%s:%" PetscInt_FMT ": '%s' is not a number", r->path, r->line, word);
    if (r->message[0]) PetscFunctionReturn(0);
    if (k < r->ncol) row[r->column[k]] = v;
  }
  if (k != r->ncol && !r->message[0]) snprintf(r->message, sizeof(r->message), "%s:%" PetscInt_FMT ": %" PetscInt_FMT " numbers where the first line names %" PetscInt_FMT, r->path, r->line, k, r->ncol);
  PetscFunctionReturn(0);
}

static PetscErrorCode ReaderRead_Private(Reader *r, const char where[], Copies copies)
{
  FILE          *file = fopen(r->path, "r");
  char          *line = NULL;
  size_t         room = 0;
  PetscErrorCode ierr = 0;

  PetscFunctionBeginUser;
  if (!file) snprintf(r->message, sizeof(r->message), "%s: cannot open the file of placements '%s': %s", where, r->path, strerror(errno));
  while (file && !ierr && !r->message[0] && getline(&line, &room, file) >= 0) {
    char *at = line;

    if (!r->line++ && !strncmp(line, "\xEF\xBB\xBF", 3)) at += 3; /* mark of UTF-8 */
    at[strcspn(at, "#\r\n")] = 0;
    if (!at[strspn(at, " \t")]) continue;
    if (!r->ncol) ReaderNames_Private(r, at);
    else ierr = ReaderNumbers_Private(r, at, copies);
  }
  if (file && !r->message[0] && ferror(file)) snprintf(r->message, sizeof(r->message), "%s: cannot read the file of placements '%s': %s", where, r->path, strerror(errno));
  if (file) fclose(file);
  free(line);
  PetscCall(ierr);
  if (!r->message[0] && !copies->n) snprintf(r->message, sizeof(r->message), "%s: the file of placements '%s' has no line of numbers", where, r->path);
  PetscFunctionReturn(0);
}

/* A CSV file: its first line names columns (x, y, z at least), the others hold numbers. Rank 0 reads, all get the numbers. */
static PetscErrorCode CopiesReadFile_Private(Copies copies, const char where[], const char folder[], const char name[])
{
  char        path[PETSC_MAX_PATH_LEN];
  Reader      r = {.path = path};
  PetscMPIInt rank, n;

  PetscFunctionBeginUser;
  PetscCall(PetscSNPrintf(path, sizeof(path), "%s%s%s", name[0] == '/' ? "" : folder, name[0] == '/' || !folder[0] ? "" : "/", name));
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  if (rank == 0) PetscCall(ReaderRead_Private(&r, where, copies));
  PetscCallMPI(MPI_Bcast(r.message, sizeof(r.message), MPI_CHAR, 0, PETSC_COMM_WORLD));
  PetscCheck(!r.message[0], PETSC_COMM_SELF, PETSC_ERR_USER_INPUT, "%s", r.message);
  PetscCallMPI(MPI_Bcast(&copies->n, 1, MPIU_INT, 0, PETSC_COMM_WORLD));
  PetscCall(PetscMPIIntCast(NCOLUMN * (PetscInt64)copies->n > PETSC_MPI_INT_MAX ? -1 : NCOLUMN * copies->n, &n));
  if (rank) PetscCall(PetscMalloc1(n, &copies->row));
  PetscCallMPI(MPI_Bcast(copies->row, n, MPIU_REAL, 0, PETSC_COMM_WORLD));
  PetscFunctionReturn(0);
}

/* Copies around a circle */
static PetscErrorCode CopiesReadRing_Private(Settings settings, const char section[], Copies c)
{
  char        key[1024];
  const char *where, *name;
  PetscReal   length = 0;
  PetscBool   set;

  PetscFunctionBeginUser;
#define KEY(rest) (PetscSNPrintf(key, sizeof(key), "%s_" rest "|body_" rest, section), key)
  PetscCall(SettingsWhere(settings, KEY("copies_ring"), &where, NULL));
  PetscCheck(c->n > 0, PETSC_COMM_SELF, PETSC_ERR_USER_INPUT, "%s: %s_copies_ring: %" PetscInt_FMT " copies; give 1 or more", where, section, c->n);
  PetscCall(SettingsGetReal(settings, KEY("copies_radius"), 0, &c->radius, &set));
  PetscCheck(set, PETSC_COMM_SELF, PETSC_ERR_USER_INPUT, "%s: %s_copies_ring needs %s_copies_radius: the distance from the centre", where, section, section);
  PetscCall(SettingsRequire(settings, KEY("copies_radius"), c->radius > 0, "%g is not above zero", (double)c->radius));
  PetscCall(SettingsGetReal(settings, KEY("copies_angle"), 360, &c->angle, NULL));
  PetscCall(SettingsRequire(settings, KEY("copies_angle"), c->angle > 0 && c->angle <= 360, "%g is not above 0 and up to 360 degrees", (double)c->angle));
  PetscCall(SettingsGetReal(settings, KEY("copies_start"), -c->angle / 2, &c->start, NULL));
  PetscCall(SettingsGetString(settings, KEY("copies_axis"), "y", &name, &set));
  if (name[0] >= 'x' && name[0] <= 'z' && !name[1]) c->axis[name[0] - 'x'] = 1;
  else {
    PetscCall(SettingsRequire(settings, KEY("copies_axis"), name[strspn(name, "0123456789+-.eE, \t[]")] ? PETSC_FALSE : PETSC_TRUE, "'%s' is not x, y, z or 3 numbers", name));
    PetscCall(SettingsGetReals(settings, KEY("copies_axis"), 3, c->axis, NULL));
  }
  for (PetscInt i = 0; i < 3; i++) length = PetscMax(length, PetscAbsReal(c->axis[i]));
  PetscCall(SettingsRequire(settings, KEY("copies_axis"), length > 0, "the axis has no direction"));
  for (PetscInt i = 0; i < 3; i++) c->axis[i] /= length; /* so that no square underflows */
  length = Vec3Norm(c->axis);
  for (PetscInt i = 0; i < 3; i++) c->axis[i] /= length;
#undef KEY
  PetscFunctionReturn(0);
}

static PetscErrorCode CopiesRead_Private(Settings settings, const char section[], const char part[], Copies c)
{
  char        key[1024];
  PetscReal   degrees[3] = {0, 0, 0}, number;
  PetscInt    around;
  PetscBool   file, grid, random, ring, set;
  const char *name, *where, *folder;

  PetscFunctionBeginUser;
#define KEY(rest) (PetscSNPrintf(key, sizeof(key), "%s_" rest "|%s_" rest "|body_" rest, section, part), key)
  PetscCall(SettingsGetReals(settings, KEY("rotate"), 3, degrees, NULL));
  PlacementFromDegrees_Private(degrees, c->base.rotation);
  PetscCall(SettingsGetReals(settings, KEY("translate"), 3, c->base.shift, NULL));
  PetscCall(SettingsGetReals(settings, KEY("velocity"), 3, c->base.velocity, NULL));
  PetscCall(SettingsGetReals(settings, KEY("angular_velocity"), 3, c->base.spin, NULL));
#undef KEY
  /* not from the part: which may be another section's, whose copies are its own */
#define KEY(rest) (PetscSNPrintf(key, sizeof(key), "%s_" rest "|body_" rest, section), key)
  PetscCall(SettingsGetString(settings, KEY("copies_file"), "", &name, &file));
  PetscCall(SettingsGetInts(settings, KEY("copies_grid"), 3, c->grid, &grid));
  PetscCall(SettingsGetInt(settings, KEY("copies_random"), 0, &c->n, &random));
  PetscCall(SettingsGetInt(settings, KEY("copies_ring"), 0, &around, &ring));
  PetscCheck(file + grid + random + ring <= 1, PETSC_COMM_SELF, PETSC_ERR_USER_INPUT, "%s_copies: give one of file, grid, random and ring", section);
  c->kind = COPIES_ONE;
  if (file) {
    c->kind = COPIES_FILE;
    PetscCall(SettingsWhere(settings, KEY("copies_file"), &where, &folder));
    PetscCall(CopiesReadFile_Private(c, where, folder ? folder : "", name));
  } else if (grid) {
    c->kind = COPIES_GRID;
    PetscCall(SettingsWhere(settings, KEY("copies_grid"), &where, &folder));
    for (PetscInt i = 0; i < 3; i++) PetscCheck(c->grid[i] > 0, PETSC_COMM_SELF, PETSC_ERR_USER_INPUT, "%s: %s_copies_grid: %" PetscInt_FMT " copies along %c; give 1 or more", where, section, c->grid[i], "xyz"[i]);
    PetscCall(SettingsGetReals(settings, KEY("copies_spacing"), 3, c->spacing, &set));
    PetscCheck(set, PETSC_COMM_SELF, PETSC_ERR_USER_INPUT, "%s: %s_copies_grid needs %s_copies_spacing: 3 distances", where, section, section);
    number = (PetscReal)c->grid[0] * c->grid[1] * c->grid[2];
    PetscCheck(number < PETSC_MAX_INT / 8., PETSC_COMM_SELF, PETSC_ERR_USER_INPUT, "%s: %s_copies_grid: %g copies are too many", where, section, (double)number);
    c->n = c->grid[0] * c->grid[1] * c->grid[2];
  } else if (random) {
    c->kind = COPIES_RANDOM;
    PetscCall(SettingsWhere(settings, KEY("copies_random"), &where, &folder));
    PetscCheck(c->n > 0, PETSC_COMM_SELF, PETSC_ERR_USER_INPUT, "%s: %s_copies_random: %" PetscInt_FMT " copies; give 1 or more", where, section, c->n);
    PetscCall(SettingsGetReals(settings, KEY("copies_box"), 6, c->box, &set));
    PetscCheck(set, PETSC_COMM_SELF, PETSC_ERR_USER_INPUT, "%s: %s_copies_random needs %s_copies_box: 6 numbers, lower and upper corner", where, section, section);
    PetscCall(SettingsWhere(settings, KEY("copies_box"), &where, NULL));
    for (PetscInt i = 0; i < 3; i++)
      PetscCheck(c->box[i] <= c->box[3 + i], PETSC_COMM_SELF, PETSC_ERR_USER_INPUT, "%s: %s_copies_box: upper corner %g is below lower corner %g along %c", where, section, (double)c->box[3 + i], (double)c->box[i], "xyz"[i]);
  } else if (ring) {
    c->kind = COPIES_RING;
    c->n    = around;
    PetscCall(CopiesReadRing_Private(settings, section, c));
  } else c->n = 1;
  if (grid || random) {
    PetscCall(SettingsGetInt(settings, KEY("copies_seed"), 1, &c->seed, NULL));
    PetscCall(SettingsGetBool(settings, KEY("copies_rotate"), PETSC_FALSE, &c->turn, NULL));
  }
#undef KEY
  PetscFunctionReturn(0);
}

PetscErrorCode CopiesCreate(Settings settings, const char section[], const char part[], Copies *copies)
{
  Copies         c;
  PetscErrorCode ierr;

  PetscFunctionBeginUser;
  *copies = NULL;
  PetscCall(PetscNew(&c));
  ierr = CopiesRead_Private(settings, section, part, c);
  if (ierr) PetscCall(CopiesDestroy(&c));
  PetscCall(ierr);
  *copies = c;
  PetscFunctionReturn(0);
}

PetscErrorCode CopiesDestroy(Copies *copies)
{
  PetscFunctionBeginUser;
  if (!*copies) PetscFunctionReturn(0);
  PetscCall(PetscFree((*copies)->row));
  PetscCall(PetscFree(*copies));
  PetscFunctionReturn(0);
}

PetscErrorCode CopiesGetSize(Copies copies, PetscInt *n, PetscBool *many)
{
  PetscFunctionBeginUser;
  *n = copies->n;
  if (many) *many = copies->kind == COPIES_ONE ? PETSC_FALSE : PETSC_TRUE;
  PetscFunctionReturn(0);
}

/* k-th number in [0, 1) of copy i: splitmix64 of a counter, so that every rank can make any copy's */
static PetscReal CopiesRandom_Private(PetscInt seed, PetscInt i, PetscInt k)
{
  const uint64_t s = (uint32_t)seed;
  uint64_t       z = (s << 40 | s >> 24) ^ ((uint64_t)(uint32_t)i * 8 + (uint64_t)k + 1) * 0x9e3779b97f4a7c15ULL;

  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
  z ^= z >> 31;
  return (PetscReal)(z >> 11) * 0x1p-53;
}

/* The parts of the angle that the copies share are symmetric to the last bit where it is symmetric about 0. */
static void CopiesRing_Private(Copies c, PetscInt i, Placement *place)
{
  const PetscReal degrees = c->start + c->angle / 2 + c->angle * (2 * (PetscReal)i + 1 - c->n) / (2 * (PetscReal)c->n), up = c->axis[2];
  const PetscReal across = PetscSqrtReal(c->axis[0] * c->axis[0] + c->axis[1] * c->axis[1]);
  PetscReal       turn[3], first[3], out[3], R[9];

  /* what z is across the axis; x where the axis is z */
  for (PetscInt k = 0; k < 3; k++) {
    turn[k]  = c->axis[k] * degrees;
    first[k] = across > 0 ? (k == 2 ? across : -up * c->axis[k] / across) : k == 0;
  }
  PlacementFromDegrees_Private(turn, R);
  Mat3Vec(R, first, out);
  for (PetscInt k = 0; k < 3; k++) place->shift[k] += c->radius * out[k];
  Mat3Mult(R, c->base.rotation, place->rotation);
}

PetscErrorCode CopiesGet(Copies copies, PetscInt i, Placement *place)
{
  PetscReal R[9];

  PetscFunctionBeginUser;
  *place = copies->base;
  if (copies->kind == COPIES_FILE) {
    const PetscReal *row = copies->row + (size_t)i * NCOLUMN;

    PlacementFromDegrees_Private(row + 3, R);
    Mat3Mult(R, copies->base.rotation, place->rotation);
    for (PetscInt c = 0; c < 3; c++) {
      place->shift[c] += row[c];
      place->velocity[c] += row[6 + c];
      place->spin[c] += row[9 + c];
    }
  } else if (copies->kind == COPIES_GRID) {
    place->shift[0] += copies->spacing[0] * (i % copies->grid[0]);
    place->shift[1] += copies->spacing[1] * (i / copies->grid[0] % copies->grid[1]);
    place->shift[2] += copies->spacing[2] * (i / copies->grid[0] / copies->grid[1]);
  } else if (copies->kind == COPIES_RANDOM) {
    for (PetscInt c = 0; c < 3; c++) place->shift[c] += copies->box[c] + (copies->box[3 + c] - copies->box[c]) * CopiesRandom_Private(copies->seed, i, c);
  } else if (copies->kind == COPIES_RING) CopiesRing_Private(copies, i, place);
  if (copies->turn) { /* uniform over all rotations (Shoemake) */
    const PetscReal a = CopiesRandom_Private(copies->seed, i, 3), b = 2 * PETSC_PI * CopiesRandom_Private(copies->seed, i, 4), g = 2 * PETSC_PI * CopiesRandom_Private(copies->seed, i, 5);
    const PetscReal x = PetscSqrtReal(1 - a) * PetscSinReal(b), y = PetscSqrtReal(1 - a) * PetscCosReal(b), z = PetscSqrtReal(a) * PetscSinReal(g), w = PetscSqrtReal(a) * PetscCosReal(g);

    R[0] = 1 - 2 * (y * y + z * z), R[1] = 2 * (x * y - z * w), R[2] = 2 * (x * z + y * w);
    R[3] = 2 * (x * y + z * w), R[4] = 1 - 2 * (x * x + z * z), R[5] = 2 * (y * z - x * w);
    R[6] = 2 * (x * z - y * w), R[7] = 2 * (y * z + x * w), R[8] = 1 - 2 * (x * x + y * y);
    Mat3Mult(R, copies->base.rotation, place->rotation);
  }
  PetscFunctionReturn(0);
}
