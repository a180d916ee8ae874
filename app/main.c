/* ashlar: implicit dynamics of many stiff bodies. `ashlar -options_file model.yml [-option value ...]` */
#include "build.h"
#include "error.h"
#include "run.h"
#include "integrators/formulations.h"
#include "integrators/zhangskeel.h"
#include "meshes/partition.h"

static PetscErrorCode Main_Private(int argc, char **argv)
{
  Settings      settings;
  Model         model  = NULL;
  Probes        probes = {0, NULL};
  PetscInt      nfile;
  char        **files;
  PetscBool     help;
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
  PetscCall(PetscLogStageRegister("Set-up", &stage));
  PetscCall(PetscLogStagePush(stage));
  PetscCall(BuildModel(PETSC_COMM_WORLD, settings, &model, &probes));
  PetscCall(PetscLogStagePop());
  PetscCall(RunModel(PETSC_COMM_WORLD, settings, model, &probes));
  PetscCall(ProbesDestroy(&probes));
  PetscCall(ModelDestroy(&model));
  PetscCall(SettingsDestroy(&settings));
  PetscFunctionReturn(0);
}

int main(int argc, char **argv)
{
  PetscErrorCode ierr;
  int            status, none = 1;
  char          *name[2] = {argv[0], NULL}, **bare = name;

  /* PETSc sees no argument: files and command line are read by Settings, which hands on what is PETSc's. */
  if (ErrorHandlerPush()) return 1;
  ierr = PetscInitialize(&none, &bare, NULL, NULL);
  if (ierr) return 1;
  ierr = PetscLogDefaultBegin(); /* the summary lists seconds per phase */
  if (!ierr) ierr = Main_Private(argc, argv);
  status = ErrorExit(PETSC_COMM_WORLD, ierr);
  ierr   = PetscFinalize();
  return status ? status : (ierr ? 1 : 0);
}
