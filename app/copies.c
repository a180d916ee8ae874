#include "copies.h"
#include "physics/rotation.h"

enum { COPIES_ONE, COPIES_FILE, COPIES_GRID, COPIES_RANDOM };
/* columns of a CSV file of placements */
static const char *const Columns[] = {"x", "y", "z", "rx", "ry", "rz", "vx", "vy", "vz", "wx", "wy", "wz"};
#define NCOLUMN 12

struct _p_Copies {
  int        kind;
  PetscInt   n, grid[3];
  Placement  base;
  PetscReal  spacing[3], box[6];
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

/* A CSV file: its first line names columns (x, y, z at least), the others hold numbers. Rank 0 reads, all get the numbers. */
static PetscErrorCode CopiesReadFile_Private(Copies copies, const char where[], const char folder[], const char name[])
{
  char        path[PETSC_MAX_PATH_LEN], line[4096], message[8192] = "";
  FILE       *file;
  PetscInt    column[64], ncol = 0, capacity = 0, number = 0;
  PetscMPIInt rank;
  PetscInt    size[2] = {0, 0};

  PetscFunctionBeginUser;
  PetscCall(PetscSNPrintf(path, sizeof(path), "%s%s%s", name[0] == '/' ? "" : folder, name[0] == '/' || !folder[0] ? "" : "/", name));
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  if (rank == 0) {
    file = fopen(path, "r");
    if (!file) PetscCall(PetscSNPrintf(message, sizeof(message), "%s: cannot open the file of placements '%s'", where, path));
    while (file && !message[0] && fgets(line, sizeof(line), file)) {
      char *save = NULL;

      number++;
      line[strcspn(line, "#\r\n")] = 0;
      if (!line[strspn(line, " \t")]) continue;
      if (!ncol) { /* the line of names */
        PetscInt seen = 0;

        for (char *word = strtok_r(line, ", ;\t", &save); word && ncol < 64; word = strtok_r(NULL, ", ;\t", &save)) {
          PetscInt k = 0;

          while (k < NCOLUMN && strcmp(word, Columns[k])) k++;
          if (k == NCOLUMN) {
            PetscCall(PetscSNPrintf(message, sizeof(message), "%s:%" PetscInt_FMT ": unknown column '%s'; the first line names x, y, z and, as needed, rx, ry, rz, vx, vy, vz, wx, wy, wz", path, number, word));
            break;
          }
          if (k < 3) seen |= 1 << k;
          column[ncol++] = k;
        }
        if (!message[0] && seen != 7) PetscCall(PetscSNPrintf(message, sizeof(message), "%s:%" PetscInt_FMT ": the first line must name columns x, y and z", path, number));
      } else {
        PetscInt k = 0;

        if (copies->n == capacity) {
          capacity = 2 * capacity + 64;
          PetscCall(PetscRealloc(capacity * NCOLUMN * sizeof(PetscReal), &copies->row));
        }
        PetscCall(PetscArrayzero(copies->row + copies->n * NCOLUMN, NCOLUMN));
        for (char *word = strtok_r(line, ", ;\t", &save); word; word = strtok_r(NULL, ", ;\t", &save), k++) {
          char           *end;
          const PetscReal v = strtod(word, &end);

          if (*end || PetscIsInfOrNanReal(v)) PetscCall(PetscSNPrintf(message, sizeof(message), "%s:%" PetscInt_FMT ": '%s' is not a number", path, number, word));
          if (k < ncol) copies->row[copies->n * NCOLUMN + column[k]] = v;
        }
        if (k != ncol && !message[0]) PetscCall(PetscSNPrintf(message, sizeof(message), "%s:%" PetscInt_FMT ": %" PetscInt_FMT " numbers where the first line names %" PetscInt_FMT, path, number, k, ncol));
        copies->n++;
      }
    }
    if (file) fclose(file);
    if (!message[0] && !copies->n) PetscCall(PetscSNPrintf(message, sizeof(message), "%s: the file of placements '%s' has no line of numbers", where, path));
    size[0] = copies->n;
    size[1] = message[0] ? 1 : 0;
  }
  PetscCallMPI(MPI_Bcast(size, 2, MPIU_INT, 0, PETSC_COMM_WORLD));
  if (size[1]) PetscCallMPI(MPI_Bcast(message, sizeof(message), MPI_CHAR, 0, PETSC_COMM_WORLD));
  PetscCheck(!size[1], PETSC_COMM_SELF, PETSC_ERR_USER_INPUT, "%s", message);
  copies->n = size[0];
  if (rank) PetscCall(PetscMalloc1(copies->n * NCOLUMN, &copies->row));
  PetscCallMPI(MPI_Bcast(copies->row, (PetscMPIInt)(copies->n * NCOLUMN), MPIU_REAL, 0, PETSC_COMM_WORLD));
  PetscFunctionReturn(0);
}

PetscErrorCode CopiesCreate(Settings settings, const char section[], const char part[], Copies *copies)
{
  Copies      c;
  char        key[1024];
  PetscReal   degrees[3] = {0, 0, 0};
  PetscBool   file, grid, random, set;
  const char *name, *where, *folder;

  PetscFunctionBeginUser;
  PetscCall(PetscNew(&c));
  *copies = c;
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
  PetscCheck(file + grid + random <= 1, PETSC_COMM_SELF, PETSC_ERR_USER_INPUT, "%s_copies: give one of file, grid and random", section);
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
    PetscCheck((PetscReal)c->grid[0] * c->grid[1] * c->grid[2] < PETSC_MAX_INT / 8., PETSC_COMM_SELF, PETSC_ERR_USER_INPUT, "%s: %s_copies_grid: too many copies", where, section);
    c->n = c->grid[0] * c->grid[1] * c->grid[2];
  } else if (random) {
    c->kind = COPIES_RANDOM;
    PetscCall(SettingsWhere(settings, KEY("copies_random"), &where, &folder));
    PetscCheck(c->n > 0, PETSC_COMM_SELF, PETSC_ERR_USER_INPUT, "%s: %s_copies_random: %" PetscInt_FMT " copies; give 1 or more", where, section, c->n);
    PetscCall(SettingsGetReals(settings, KEY("copies_box"), 6, c->box, &set));
    PetscCheck(set, PETSC_COMM_SELF, PETSC_ERR_USER_INPUT, "%s: %s_copies_random needs %s_copies_box: 6 numbers, lower and upper corner", where, section, section);
    PetscCall(SettingsGetInt(settings, KEY("copies_seed"), 1, &c->seed, NULL));
    PetscCall(SettingsGetBool(settings, KEY("copies_rotate"), PETSC_FALSE, &c->turn, NULL));
  } else c->n = 1;
#undef KEY
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
  uint64_t z = ((uint64_t)(uint32_t)seed << 40) ^ ((uint64_t)(uint32_t)i * 8 + (uint64_t)k + 1) * 0x9e3779b97f4a7c15ULL;

  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
  z ^= z >> 31;
  return (PetscReal)(z >> 11) * 0x1p-53;
}

PetscErrorCode CopiesGet(Copies copies, PetscInt i, Placement *place)
{
  PetscReal R[9];

  PetscFunctionBeginUser;
  *place = copies->base;
  if (copies->kind == COPIES_FILE) {
    const PetscReal *row = copies->row + i * NCOLUMN;

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
    if (copies->turn) { /* uniform over all rotations (Shoemake) */
      const PetscReal a = CopiesRandom_Private(copies->seed, i, 3), b = 2 * PETSC_PI * CopiesRandom_Private(copies->seed, i, 4), g = 2 * PETSC_PI * CopiesRandom_Private(copies->seed, i, 5);
      const PetscReal x = PetscSqrtReal(1 - a) * PetscSinReal(b), y = PetscSqrtReal(1 - a) * PetscCosReal(b), z = PetscSqrtReal(a) * PetscSinReal(g), w = PetscSqrtReal(a) * PetscCosReal(g);

      R[0] = 1 - 2 * (y * y + z * z), R[1] = 2 * (x * y - z * w), R[2] = 2 * (x * z + y * w);
      R[3] = 2 * (x * y + z * w), R[4] = 1 - 2 * (x * x + z * z), R[5] = 2 * (y * z - x * w);
      R[6] = 2 * (x * z - y * w), R[7] = 2 * (y * z + x * w), R[8] = 1 - 2 * (x * x + y * y);
      Mat3Mult(R, copies->base.rotation, place->rotation);
    }
  }
  PetscFunctionReturn(0);
}
