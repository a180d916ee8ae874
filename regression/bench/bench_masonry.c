/* Writes contact problems of dry masonry as FCLib files, for tests and benchmarks. Usage: bench_masonry FOLDER [NAME ...]: all of them, or those
   named; bench_masonry: prints the names. Walls of 200, 700 and 1700 contacts, columns of one and two drums, and the fixed list of masonry.h. */
#include "regression/masonry.h"
#include <errno.h>
#include <string.h>
#include <sys/stat.h>

static const struct {
  const char    *name;
  PetscInt       a, b; /* bricks in a course, courses; a is 0: a column of b drums */
  MasonryOptions options;
} more[] = {
  {"column-1-rest", 0, 1, {.head = PETSC_FALSE}},
  {"column-1-shove", 0, 1, {.base = {1, 0.3, 0}}},
  {"column-2-tilt25", 0, 2, {.tilt = 25, .azimuth = 40}},
  {"wall-200-rest", 2, 13, {.head = PETSC_FALSE}},
  {"wall-200-tilt40", 2, 13, {.tilt = 40, .azimuth = 10}},
  {"wall-700-rest", 7, 13, {.head = PETSC_FALSE}},
  {"wall-700-tilt40", 7, 13, {.tilt = 40, .azimuth = 10}},
  {"wall-1700-rest", 17, 13, {.head = PETSC_FALSE}},
  {"wall-1700-tilt40", 17, 13, {.tilt = 40, .azimuth = 10}},
};
static const PetscInt nmore = PETSC_STATIC_ARRAY_LENGTH(more);

static const char *Name_Private(PetscInt i)
{
  return i < nmore ? more[i].name : MasonryName(i - nmore);
}

static PetscErrorCode Write_Private(const char folder[], PetscInt i)
{
  FCLibProblem *p;
  char          file[PETSC_MAX_PATH_LEN];

  PetscFunctionBeginUser;
  if (i >= nmore) PetscCall(MasonryCreate(i - nmore, &p));
  else {
    MasonryOptions o = more[i].options, d;

    PetscCall(MasonryOptionsDefault(&d));
    o.step    = d.step;
    o.gravity = d.gravity;
    o.mu[0] = o.mu[1] = d.mu[0];
    if (more[i].a) PetscCall(MasonryCreateWall(more[i].a, more[i].b, &o, &p));
    else PetscCall(MasonryCreateColumns(1, more[i].b, &o, &p));
  }
  PetscCall(PetscSNPrintf(file, sizeof(file), "%s/%s.hdf5", folder, Name_Private(i)));
  PetscCall(FCLibWriteProblem(file, p, Name_Private(i)));
  PetscCall(FCLibProblemDestroy(&p));
  PetscFunctionReturn(0);
}

/* *bad: what is wrong was said in one line */
static PetscErrorCode Run(int argc, char **argv, PetscBool *bad)
{
  const PetscInt n = nmore + MasonryCount();

  PetscFunctionBeginUser;
  if (argc < 2) {
    for (PetscInt i = 0; i < n; i++) PetscCall(PetscPrintf(PETSC_COMM_SELF, "%s\n", Name_Private(i)));
    PetscFunctionReturn(0);
  }
  for (int k = 2; k < argc; k++) {
    PetscInt i = 0;

    while (i < n && strcmp(Name_Private(i), argv[k])) i++;
    if (i < n) continue;
    fprintf(stderr, "bench_masonry: there is no problem '%s'; without arguments their names are printed\n", argv[k]);
    *bad = PETSC_TRUE;
    PetscFunctionReturn(0);
  }
  if (mkdir(argv[1], 0777) && errno != EEXIST) {
    fprintf(stderr, "bench_masonry: cannot make the folder '%s': %s\n", argv[1], strerror(errno));
    *bad = PETSC_TRUE;
    PetscFunctionReturn(0);
  }
  for (PetscInt i = 0; i < n; i++) {
    PetscBool wanted = argc == 2 ? PETSC_TRUE : PETSC_FALSE;

    for (int k = 2; k < argc && !wanted; k++) wanted = strcmp(Name_Private(i), argv[k]) ? PETSC_FALSE : PETSC_TRUE;
    if (wanted) PetscCall(Write_Private(argv[1], i));
  }
  PetscFunctionReturn(0);
}

int main(int argc, char **argv)
{
  int            none = 1;
  char          *name[2] = {argv[0], NULL}, **bare = name;
  PetscBool      bad = PETSC_FALSE;
  PetscErrorCode e;

  if (PetscInitialize(&none, &bare, NULL, NULL)) return 1;
  e = Run(argc, argv, &bad);
  if (PetscFinalize()) return 1;
  return e || bad ? 1 : 0;
}
