/* All formulations: one file and one line each. */
#pragma once
#include "physics/body.h"

extern const FormulationOps FormulationTL, FormulationBC, FormulationRigid, FormulationObstacle;
PETSC_EXTERN PetscErrorCode FormulationRegisterAll(void);
