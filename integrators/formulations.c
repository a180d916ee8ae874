#include "formulations.h"

PetscErrorCode FormulationRegisterAll(void)
{
  PetscFunctionBeginUser;
  PetscCall(FormulationRegister(&FormulationTL));
  PetscCall(FormulationRegister(&FormulationBC));
  PetscCall(FormulationRegister(&FormulationRigid));
  PetscCall(FormulationRegister(&FormulationObstacle));
  PetscFunctionReturn(0);
}
