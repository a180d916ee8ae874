/* The linearly implicit step of Zhang and Skeel as a PETSc TS type, and what a run has to know of it. */
#pragma once
#include <petscts.h>
#include "constraints/set.h"
#include "physics/model.h"

#define TSZHANGSKEEL "zhangskeel"

/* Phases of a step, as -log_view and the summary list them. */
enum { EVENT_PREDICT, EVENT_DETECT, EVENT_LINEARIZE, EVENT_SOLVE, EVENT_CONDENSE, EVENT_DUAL, EVENT_CORRECT, EVENT_BALANCE, EVENT_OUTPUT, EVENT_COUNT };
PETSC_EXTERN const char *const EventNames[EVENT_COUNT];
PETSC_EXTERN PetscErrorCode    EventRegister(PetscLogEvent events[EVENT_COUNT]);

typedef struct _p_Stepper *Stepper;
struct _p_Stepper {
  Model         model;
  ConstraintSet constraints; /* NULL: bodies do not touch */
  PetscLogEvent event[EVENT_COUNT];
  PetscBool     implicit;   /* iterate (18-21) instead of one linear solve */
  PetscReal     rtol;       /* of that iteration: largest correction / largest increment */
  PetscInt      max_it, iterations;
  PetscReal     warn;       /* indicator above which a body is warned of */
  PetscBool     warned;
  StepFailure   failure;    /* what a step that fails comes to */
  PetscInt      cuts;       /* steps that were done as parts, so far */
  PetscBool     failed;     /* the last step was taken though it had not converged */
  PetscReal     part, balanced; /* of the last step: its last part; what is in the energy balance already */
  ConstraintReport report;  /* of the last step, over all its parts */
  PetscBool     tunnel_warned;
};
/* Collective. One step from t to t + h; balance: time that the energy balance after it stands for, 0: none. A step that fails is done in halves, if s->failure
   says so, and they in halves. */
PETSC_EXTERN PetscErrorCode StepperStep(Stepper s, PetscReal t, PetscReal h, PetscReal balance);
/* Energies of all batches now; h is the length of the step that will come (0: unknown). */
PETSC_EXTERN PetscErrorCode StepperEnergies(Stepper s, PetscReal t, PetscReal h, PetscReal balance);
/* TS type: needs TSSetApplicationContext(ts, stepper), TSSetSolution(model->q). Reads -ts_zhangskeel_*. */
PETSC_EXTERN PetscErrorCode TSRegisterZhangSkeel(void);
/* Number of steps that the next balance stands for after step `step` (counted from 1): set by the run (output times). */
typedef PetscErrorCode (*TSZhangSkeelBalance)(TS ts, PetscInt step, PetscReal t, PetscInt *balance, void *ctx);
PETSC_EXTERN PetscErrorCode TSZhangSkeelSetBalance(TS ts, TSZhangSkeelBalance fn, void *ctx);
/* Time of step 0, so that a restarted run has the same times: t0 + n dt. */
PETSC_EXTERN PetscErrorCode TSZhangSkeelSetOrigin(TS ts, PetscReal t0);
