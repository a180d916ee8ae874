/* Cost of contact detection: CPU time of placements and updates, means over a run with rebuilds of lists.
   pipe: deformable, of 36 x 36 x 4 elements, rolling to and fro on a block. bonded: layers of cubes, each on two of the layer below, that
   swing at random and sink together. loose: cubes with gaps, shaken, that meet now and then.
   Usage: bench_detect [scene: all, pipe, bonded, loose] [cubes: those of the table] [updates: by number of cubes] */
#include "constraints/detect.h"
#include "physics/rotation.h"
#include <stdlib.h>
#include <string.h>
#include <time.h>

static const PetscReal none[3] = {0, 0, 0};

static double Now(void)
{
  struct timespec t;

  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t); /* CPU time: other people's load should not count */
  return t.tv_sec + 1e-9 * t.tv_nsec;
}

static PetscReal Uniform(uint64_t *seed)
{
  *seed ^= *seed << 13;
  *seed ^= *seed >> 7;
  *seed ^= *seed << 17;
  return (PetscReal)(*seed >> 11) / 9007199254740992.;
}

static PetscErrorCode Pipe(PetscInt steps)
{
  const PetscInt  cells[3] = {36, 36, 4}, one[3] = {1, 1, 1};
  const PetscReal block[3] = {0.01, 0.1, 0.01}, h = 1e-4;
  Mesh            mesh[2];
  Surface         surface[2];
  Detector        d;
  DetectReport    r;
  PetscInt        body, n, rows = 0;
  PetscReal      *x, *v, R[9];
  const Contact  *c;
  double          time = 0;

  PetscFunctionBeginUser;
  PetscCall(MeshCreateBox(block, one, &mesh[0]));
  PetscCall(MeshCreatePipe(0.01, 0.005, 0.1, cells, &mesh[1]));
  PetscCall(DetectorCreate(PETSC_COMM_SELF, &d));
  for (PetscInt i = 0; i < 2; i++) {
    PetscCall(SurfaceCreate(mesh[i], &surface[i]));
    PetscCall(DetectorAddBody(d, i, surface[i], i ? DETECT_DEFORMABLE : DETECT_OBSTACLE, none, &body));
  }
  Mat3Identity(R);
  PetscCall(DetectorSetPlacement(d, 0, R, none, (PetscReal[3]){0, 0, -0.02 + 1e-6}, none, none));
  PetscCall(DetectorGetNodes(d, 1, &x, &v));
  for (PetscInt t = 0; t < steps; t++) {
    const PetscReal phase = 40 * h * t, angle = 0.2 * PetscSinReal(phase), spin = 8 * PetscCosReal(phase);
    double          start;

    RotationFromVector((PetscReal[3]){angle, 0, 0}, R);
    for (PetscInt i = 0; i < surface[1]->nnode; i++) {
      PetscReal *y = x + 3 * i, *u = v + 3 * i;

      Mat3Vec(R, surface[1]->coord + 3 * i, y);
      u[0] = 0, u[1] = -spin * y[2], u[2] = spin * y[1];
    }
    start = Now();
    PetscCall(DetectorUpdate(d, h, &n, &c));
    time += Now() - start;
    rows += n;
  }
  PetscCall(DetectorGetReport(d, &r));
  PetscCall(PetscPrintf(PETSC_COMM_SELF, "pipe: nodes: %" PetscInt_FMT " microseconds_per_update: %.1f rows: %.1f rebuilds: %" PetscInt_FMT " in %" PetscInt_FMT "\n", mesh[1]->nnode, 1e6 * time / steps, (double)rows / steps, r.nrebuild, r.nupdate));
  PetscCall(DetectorDestroy(&d));
  for (PetscInt i = 0; i < 2; i++) {
    PetscCall(SurfaceDestroy(&surface[i]));
    PetscCall(MeshDestroy(&mesh[i]));
  }
  PetscFunctionReturn(0);
}

static PetscErrorCode Cubes(PetscBool loose, PetscInt cubes, PetscInt steps)
{
  const PetscReal unit[3] = {1, 1, 1}, h = 1e-3, gap = loose ? 0.035 : 1e-4, sway = loose ? 0.02 : 2e-5;
  const PetscInt  one[3] = {1, 1, 1}, side = PetscMax(1, (PetscInt)(PetscPowReal((PetscReal)cubes, 1. / 3) + 0.5));
  Mesh            mesh;
  Surface         surface;
  Detector        d;
  DetectReport    r;
  PetscInt        body, n;
  PetscReal      *phase, rows = 0, candidates = 0;
  uint64_t        seed = 88172645463325252ull;
  const Contact  *c;
  double          time[2] = {0, 0}, start;

  PetscFunctionBeginUser;
  PetscCall(MeshCreateBox(unit, one, &mesh));
  PetscCall(SurfaceCreate(mesh, &surface));
  PetscCall(DetectorCreate(PETSC_COMM_SELF, &d));
  PetscCall(PetscMalloc1(4 * cubes, &phase));
  for (PetscInt i = 0; i < 4 * cubes; i++) phase[i] = 6.28 * Uniform(&seed);
  for (PetscInt i = 0; i < cubes; i++) {
    const PetscInt ix = i % side, iy = i / side % side, iz = i / (side * side);

    PetscCall(DetectorAddBody(d, i, surface, DETECT_RIGID, (PetscReal[3]){(ix + (loose ? 0 : 0.5) * (iz % 2)) * (1 + gap), iy * (1 + gap), iz * (loose ? 1 + gap : 1)}, &body));
  }
  for (PetscInt t = 0; t < steps; t++) {
    const PetscReal at = 30 * h * t, shake = loose ? 0.02 * PetscSinReal(at) : 0.002 * at, shaken = loose ? 0.6 * PetscCosReal(at) : 0.06;

    start = Now();
    for (PetscInt i = 0; i < cubes; i++) {
      PetscReal x[3], v[3], w[3], spin[3] = {0, 0, 0}, R[9];

      for (PetscInt k = 0; k < 3; k++) {
        const PetscReal p = at + phase[4 * i + k];

        x[k] = sway * PetscSinReal(p) * (k < 2 ? 1 : (loose ? 1 : 0.2));
        v[k] = sway * 30 * PetscCosReal(p) * (k < 2 ? 1 : (loose ? 1 : 0.2));
        w[k] = 0;
      }
      x[2] -= shake, v[2] -= shaken;
      w[2] = 2 * sway * PetscSinReal(at + phase[4 * i + 3]), spin[2] = 60 * sway * PetscCosReal(at + phase[4 * i + 3]);
      RotationFromVector(w, R);
      PetscCall(DetectorSetPlacement(d, i, R, none, x, v, spin));
    }
    time[0] += Now() - start;
    start = Now();
    PetscCall(DetectorUpdate(d, h, &n, &c));
    time[1] += Now() - start;
    PetscCall(DetectorGetReport(d, &r));
    rows += n, candidates += r.ncandidate;
  }
  PetscCall(PetscPrintf(PETSC_COMM_SELF, "%s: cubes: %" PetscInt_FMT " microseconds_per_body: %.2f (placements, with the motion itself: %.2f) rows_per_body: %.2f candidates_per_body: %.1f pairs_per_body: %.1f rebuilds: %" PetscInt_FMT " in %" PetscInt_FMT "\n", loose ? "loose" : "bonded", cubes,
                        1e6 * time[1] / steps / cubes, 1e6 * time[0] / steps / cubes, (double)(rows / steps / cubes), (double)(candidates / steps / cubes), (double)r.npair / cubes, r.nrebuild, r.nupdate));
  PetscCall(PetscFree(phase));
  PetscCall(DetectorDestroy(&d));
  PetscCall(SurfaceDestroy(&surface));
  PetscCall(MeshDestroy(&mesh));
  PetscFunctionReturn(0);
}

static PetscErrorCode Run(int argc, char **argv)
{
  const char    *scene = argc > 1 ? argv[1] : "all";
  const PetscInt cubes = argc > 2 ? atoi(argv[2]) : 0, steps = argc > 3 ? atoi(argv[3]) : 0, table[3] = {100, 1000, 10000};
  const PetscBool all = (PetscBool)!strcmp(scene, "all");

  PetscFunctionBeginUser;
  if (all || !strcmp(scene, "pipe")) PetscCall(Pipe(steps ? steps : 5000));
  if (all || !strcmp(scene, "bonded"))
    for (PetscInt i = 0; i < (cubes ? 1 : 3); i++) {
      const PetscInt n = cubes ? cubes : table[i];

      PetscCall(Cubes(PETSC_FALSE, n, steps ? steps : PetscClipInterval(2000000 / n, 100, 5000)));
    }
  if (all || !strcmp(scene, "loose")) PetscCall(Cubes(PETSC_TRUE, cubes ? cubes : 100000, steps ? steps : 40));
  PetscFunctionReturn(0);
}

int main(int argc, char **argv)
{
  PetscErrorCode e;

  if (PetscInitialize(&argc, &argv, NULL, NULL)) return 1;
  e = Run(argc, argv);
  if (PetscFinalize()) return 1;
  return e ? 1 : 0;
}
