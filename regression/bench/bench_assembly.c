/* Speed of the element kernels on a pipe: elements per second, best of many repetitions, for every vector width that this
   processor has. Usage: bench_assembly [cells along, around, through: 36 36 4] [seconds per figure: 1] */
#include "meshes/mesh.h"
#include "physics/element.h"
#include <stdlib.h>
#include <time.h>

static double Now(void)
{
  struct timespec t;

  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t); /* CPU time: other people's load should not count */
  return t.tv_sec + 1e-9 * t.tv_nsec;
}

static PetscErrorCode Run(int argc, char **argv)
{
  static const char *const name[] = {"tangent_and_force", "force", "energy"};
  const Elastic            el     = {4e6, 4e6, 1e3, PETSC_FALSE};
  PetscInt                 cells[3] = {36, 36, 4}, nb;
  const PetscInt          *ia;
  PetscReal                seconds = argc > 4 ? atof(argv[4]) : 1, *x, *a, *f, energy;
  Mesh                     mesh;
  Assembly                 as;
  double                   t0;

  PetscFunctionBeginUser;
  for (int i = 0; i < 3 && argc > 3; i++) cells[i] = atoi(argv[1 + i]);
  PetscCall(MeshCreatePipe(0.01, 0.005, 0.1, cells, &mesh));
  t0 = Now();
  PetscCall(AssemblyCreate(mesh, &as));
  PetscCall(AssemblyGetPattern(as, &nb, &ia, NULL));
  PetscCall(PetscPrintf(PETSC_COMM_SELF, "elements: %" PetscInt_FMT "\ndofs: %" PetscInt_FMT "\nblocks: %" PetscInt_FMT "\ncreate_seconds: %.3g\n",
                        mesh->nelem, 3 * nb, ia[nb], Now() - t0));
  PetscCall(PetscMalloc3(3 * nb, &x, 9 * ia[nb], &a, 3 * nb, &f));
  for (PetscInt i = 0; i < 3 * nb; i++) x[i] = mesh->coord[i] * (1 + 0.01 * ((i * 37) % 11) / 11.);
  for (PetscInt width = 2; width <= 8; width *= 2) {
    PetscErrorCode bad;

    PetscCall(PetscPushErrorHandler(PetscReturnErrorHandler, NULL));
    bad = AssemblySetSIMD(as, width);
    PetscCall(PetscPopErrorHandler());
    if (bad) continue;
    for (int k = 0; k < 3; k++) {
      double best = 1e30, start = Now();

      while (Now() - start < seconds) {
        double t = Now();

        if (k == 2) PetscCall(AssemblyEnergy(as, &el, x, 1, &energy));
        else PetscCall(AssemblyTangent(as, &el, x, 1, k ? NULL : a, f));
        t    = Now() - t;
        best = PetscMin(best, t);
      }
      PetscCall(PetscPrintf(PETSC_COMM_SELF, "%s_width_%" PetscInt_FMT "_elements_per_second: %.0f\n", name[k], width, mesh->nelem / best));
    }
  }
  PetscCall(PetscFree3(x, a, f));
  PetscCall(AssemblyDestroy(&as));
  PetscCall(MeshDestroy(&mesh));
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
