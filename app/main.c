/* ashlar: implicit dynamics of many stiff bodies. `ashlar -options_file model.yml [-option value ...]` */
#include "build.h"
#include "error.h"
#include "fclib_mode.h"
#include "run.h"
#include "constraints/dual.h"
#include "integrators/formulations.h"
#include "integrators/zhangskeel.h"
#include "meshes/partition.h"
#include <signal.h>

/* *failed: problems of -fclib that were not solved, each told of already */
static PetscErrorCode Main_Private(int argc, char **argv, PetscInt *failed)
{
  Settings      settings;
  Model         model  = NULL;
  Probes        probes = {0, NULL};
  Pairs         pairs  = NULL;
  Supports      supports = {0};
  PetscInt      nfile;
  char        **files;
  PetscBool     help, fclib;
  PetscLogStage stage;

  PetscFunctionBeginUser;
  PetscCall(SettingsCreate(&settings));
  PetscCall(SettingsFindFiles(argc, argv, &nfile, &files));
  for (PetscInt i = 0; i < nfile; i++) PetscCall(SettingsReadFile(settings, files[i]));
  PetscCall(PetscStrNArrayDestroy(nfile, &files));
  PetscCall(SettingsReadArguments(settings, argc, argv));
  PetscCall(SettingsGetBool(settings, "help", PETSC_FALSE, &help, NULL));
  if (help) {
    PetscCall(SettingsPrintHelp(PETSC_COMM_WORLD));
    PetscCall(SettingsDestroy(&settings));
    PetscFunctionReturn(0);
  }
  PetscCall(FormulationRegisterAll());
  PetscCall(TSRegisterZhangSkeel());
  PetscCall(MatPartitioningRegisterAshlar());
  PetscCall(SNESRegisterAshlar());
  PetscCall(SettingsHas(settings, "fclib", &fclib));
  if (fclib) {
    PetscCall(RunFCLib(PETSC_COMM_WORLD, settings, failed));
    PetscCall(SettingsDestroy(&settings));
    PetscFunctionReturn(0);
  }
  PetscCall(PetscLogStageRegister("Set-up", &stage));
  PetscCall(PetscLogStagePush(stage));
  PetscCall(BuildModel(PETSC_COMM_WORLD, settings, &model, &probes, &pairs, &supports));
  PetscCall(PetscLogStagePop());
  PetscCall(RunModel(PETSC_COMM_WORLD, settings, model, &probes, pairs, &supports));
  PetscCall(PairsDestroy(&pairs));
  PetscCall(SupportsDestroy(&supports));
  PetscCall(ProbesDestroy(&probes));
  PetscCall(ModelDestroy(&model));
  PetscCall(SettingsDestroy(&settings));
  PetscFunctionReturn(0);
}

int main(int argc, char **argv)
{
  PetscErrorCode ierr;
  int            status, none = 1;
  PetscInt       failed = 0;
  char          *name[2] = {argv[0], NULL}, **bare = name;

  /* PETSc sees no argument: files and command line are read by Settings, which hands on what is PETSc's. */
  if (ErrorHandlerPush()) return 1;
  ierr = PetscInitialize(&none, &bare, NULL, NULL);
  if (ierr) return 1;
  signal(SIGPIPE, SIG_IGN);      /* a reader that leaves early (| head) does not end the run */
  ierr = PetscLogDefaultBegin(); /* the summary lists seconds per phase */
  if (ErrorStart(PETSC_COMM_WORLD)) return 1;
  if (!ierr) ierr = Main_Private(argc, argv, &failed);
  status = ErrorExit(PETSC_COMM_WORLD, ierr);
  ierr   = PetscFinalize();
  return status || ierr || failed ? 1 : 0;
}
