/* zhangskeel: half step forward, one linear solve (or an iterated one) at the half step, half step to the end.
   Equations (10-17) and (24-32) of the co-rotated integrators report; iterated: (18-21) with alpha = 1/4. */
#include "zhangskeel.h"
#include <petsc/private/tsimpl.h>

#define STEPPER_PASSES 200 /* most of a step with corrected tangents and rows */

const char *const EventNames[EVENT_COUNT] = {"Predict", "Detect", "Linearize", "Solve", "Condense", "Dual", "Correct", "Balance", "Output"};

static const char Citation[] = "@techreport{koziara2017,\n"
                               "  title  = {Co-rotated and reduced order finite element time integrators for multibody contact dynamics},\n"
                               "  author = {Koziara, Tomasz and Brasier, Steve and Kaczmarczyk, {\\L}ukasz},\n"
                               "  institution = {PARMES},\n  year = {2017}\n}\n";
static PetscBool  Cited      = PETSC_FALSE;

PetscErrorCode EventRegister(PetscLogEvent events[EVENT_COUNT])
{
  PetscClassId id;

  PetscFunctionBeginUser;
  PetscCall(PetscClassIdRegister("Ashlar", &id));
  for (PetscInt i = 0; i < EVENT_COUNT; i++) PetscCall(PetscLogEventRegister(EventNames[i], id, &events[i]));
  PetscFunctionReturn(0);
}

/* Collective: an error on all ranks when a body of any rank has gone bad; the rank that owns it says which. */
static PetscErrorCode StepperCheck_Private(Stepper s, PetscReal t)
{
  Batch       bad = NULL;
  PetscMPIInt any;

  PetscFunctionBeginUser;
  for (PetscInt i = 0; i < s->model->nbatch && !bad; i++)
    if (s->model->batch[i]->bad_lane >= 0) bad = s->model->batch[i];
  any = bad ? 1 : 0;
  PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, &any, 1, MPI_INT, MPI_MAX, s->model->comm));
  PetscCheck(!bad, PETSC_COMM_SELF, PETSC_ERR_USER_INPUT, "t = %g: the motion of body '%s' is not finite any more or has turned it inside out; take a smaller -ts_dt", (double)t,
             bad->domain[bad->bad_lane].body->name);
  if (any) PetscFunctionReturn(PETSC_ERR_USER_INPUT);
  PetscFunctionReturn(0);
}

/* One warning a run: the scheme is only conditionally stable for stiff bodies that spin. */
static PetscErrorCode StepperWarn_Private(Stepper s, PetscReal h)
{
  struct {
    double value;
    int    rank;
  } worst     = {0, 0};
  Batch       batch = NULL;
  PetscMPIInt rank;

  PetscFunctionBeginUser;
  if (s->warned || s->warn <= 0) PetscFunctionReturn(0);
  PetscCallMPI(MPI_Comm_rank(s->model->comm, &rank));
  for (PetscInt i = 0; i < s->model->nbatch; i++)
    if (s->model->batch[i]->indicator > worst.value * s->model->batch[i]->ops->reach) {
      batch       = s->model->batch[i];
      worst.value = batch->indicator / batch->ops->reach;
    }
  worst.rank = rank;
  PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, &worst, 1, MPI_DOUBLE_INT, MPI_MAXLOC, s->model->comm));
  if (!(worst.value > s->warn)) PetscFunctionReturn(0);
  s->warned = PETSC_TRUE;
  if (worst.rank == rank)
    PetscCall(PetscFPrintf(PETSC_COMM_SELF, PETSC_STDERR, "ashlar: warning: body '%s' is stiff and spins: c h^2 omega / r_g = %.3g is above %g, energy may grow; it needs -ts_dt %.3g or less, damping, or formulation rigid\n",
                           batch->domain[batch->indicator_lane].body->name, (double)batch->indicator, (double)(s->warn * batch->ops->reach), (double)(PetscAbsReal(h) * PetscSqrtReal(s->warn / worst.value))));
  PetscFunctionReturn(0);
}

#define ForBatches(s, b) for (PetscInt b##_ = 0; b##_ < (s)->model->nbatch; b##_++) for (Batch b = (s)->model->batch[b##_]; b; b = NULL)

/* Operators and residuals of all batches, then their increments; in further passes of a step that is not iterated only of those that need them.
   *worst: largest change of the iterated step */
static PetscErrorCode StepperFree_Private(Stepper s, Stage *stage, PetscReal *worst)
{
  const PetscBool whole = !stage->iteration || s->implicit ? PETSC_TRUE : PETSC_FALSE;
  PetscReal       change;

  PetscFunctionBeginUser;
  *worst = 0;
  PetscCall(PetscLogEventBegin(s->event[EVENT_LINEARIZE], 0, 0, 0, 0));
  if (whole) {
    ForBatches(s, b)
    {
      StageSetBatch(stage, b);
      PetscCall((*b->ops->linearize)(b, stage));
    }
  }
  PetscCall(PetscLogEventEnd(s->event[EVENT_LINEARIZE], 0, 0, 0, 0));
  PetscCall(PetscLogEventBegin(s->event[EVENT_SOLVE], 0, 0, 0, 0));
  ForBatches(s, b)
  {
    if (!whole && !(b->ops->mix && b->touched && b->tangent == TANGENT_CORRECTED)) continue;
    StageSetBatch(stage, b);
    PetscCall((*b->ops->solve)(b, stage, &change));
    if (s->implicit) *worst = PetscMax(*worst, change);
  }
  PetscCall(PetscLogEventEnd(s->event[EVENT_SOLVE], 0, 0, 0, 0));
  PetscFunctionReturn(0);
}

/* Impulses of the rows, and what they make of the increments */
static PetscErrorCode StepperConstrain_Private(Stepper s, const Stage *stage)
{
  PetscFunctionBeginUser;
  PetscCall(PetscLogEventBegin(s->event[EVENT_CONDENSE], 0, 0, 0, 0));
  ForBatches(s, b)
    if (b->touched && b->ops->conserve) PetscCall((*b->ops->conserve)(b, stage));
  if (!stage->iteration) PetscCall(ConstraintSetCondense(s->constraints, stage));
  PetscCall(PetscLogEventEnd(s->event[EVENT_CONDENSE], 0, 0, 0, 0));
  PetscCall(PetscLogEventBegin(s->event[EVENT_DUAL], 0, 0, 0, 0));
  PetscCall(ConstraintSetSolve(s->constraints, stage));
  PetscCall(PetscLogEventEnd(s->event[EVENT_DUAL], 0, 0, 0, 0));
  PetscFunctionReturn(0);
}

/* Do bodies whose solves are corrections go on? Collective. Where one of them needs another operator the passes begin again. The last pass is one
   in which rows knew that it might be. */
static PetscErrorCode StepperMix_Private(Stepper s, Stage *stage, PetscInt pass, PetscBool *more)
{
  PetscReal change, state[2] = {0, 0};

  PetscFunctionBeginUser;
  PetscCall(PetscLogEventBegin(s->event[EVENT_SOLVE], 0, 0, 0, 0));
  ForBatches(s, b)
  {
    if (!b->ops->mix) continue;
    StageSetBatch(stage, b);
    PetscCall((*b->ops->mix)(b, stage, &change));
    state[0] = PetscMax(state[0], change);
    if (b->again) state[1] = 1;
    b->again = PETSC_FALSE;
  }
  PetscCall(PetscLogEventEnd(s->event[EVENT_SOLVE], 0, 0, 0, 0));
  PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, state, 2, MPIU_REAL, MPIU_MAX, s->model->comm));
  *more = state[0] > 0 || state[1] > 0 || stage->rough ? PETSC_TRUE : PETSC_FALSE;
  PetscCheck(!*more || pass < STEPPER_PASSES, s->model->comm, PETSC_ERR_USER_INPUT, "t = %g: contact and the corrected tangent of tl have not come together in %" PetscInt_FMT " passes (last change %.2g); take a smaller -ts_dt, or tangent factored",
             (double)stage->t, pass, (double)state[0]);
  stage->rough = state[0] > 1e-4 || state[1] > 0 ? PETSC_TRUE : PETSC_FALSE;
  if (state[1] > 0) {
    PetscCall(ConstraintSetRestart(s->constraints));
    stage->iteration = -1;
  }
  PetscFunctionReturn(0);
}

PetscErrorCode StepperStep(Stepper s, PetscReal t, PetscReal h, PetscInt balance)
{
  Stage     stage = {.t = t, .h = h, .implicit = s->implicit, .balance = balance};
  PetscReal worst;
  PetscBool rows  = PETSC_FALSE;
  PetscInt  pass  = 0;

  PetscFunctionBeginUser;
  PetscCall(ModelOpen(s->model));
  PetscCall(PetscLogEventBegin(s->event[EVENT_PREDICT], 0, 0, 0, 0));
  ForBatches(s, b) PetscCall((*b->ops->predict)(b, &stage));
  PetscCall(StepperWarn_Private(s, h));
  PetscCall(PetscLogEventEnd(s->event[EVENT_PREDICT], 0, 0, 0, 0));
  if (s->constraints) {
    PetscCall(PetscLogEventBegin(s->event[EVENT_DETECT], 0, 0, 0, 0));
    PetscCall(ConstraintSetDetect(s->constraints, &stage, &rows));
    PetscCall(PetscLogEventEnd(s->event[EVENT_DETECT], 0, 0, 0, 0));
  }
  PetscCall(ModelLoads(s->model, &stage));
  stage.rough = rows && s->model->corrected && !s->implicit ? PETSC_TRUE : PETSC_FALSE;
  for (stage.iteration = 0;; stage.iteration++) {
    PetscBool more = PETSC_FALSE;

    PetscCall(StepperFree_Private(s, &stage, &worst));
    s->iterations++;
    if (rows) PetscCall(StepperConstrain_Private(s, &stage));
    if (rows && s->model->corrected && !s->implicit) PetscCall(StepperMix_Private(s, &stage, ++pass, &more));
    if (more) continue;
    if (!s->implicit) break;
    PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, &worst, 1, MPIU_REAL, MPIU_MAX, s->model->comm));
    if (stage.iteration && worst <= s->rtol) break;
    PetscCheck(stage.iteration + 1 < s->max_it && !PetscIsInfOrNanReal(worst), s->model->comm, PETSC_ERR_USER_INPUT,
               "t = %g: the implicit step has not converged in %" PetscInt_FMT " iterations (last correction %.2g, -ts_zhangskeel_rtol %g); take a smaller -ts_dt", (double)t, stage.iteration + 1,
               (double)worst, (double)s->rtol);
  }
  PetscCall(PetscLogEventBegin(s->event[EVENT_CORRECT], 0, 0, 0, 0));
  if (s->constraints) PetscCall(ConstraintSetAccept(s->constraints, &stage));
  ForBatches(s, b) PetscCall((*b->ops->correct)(b, &stage));
  PetscCall(PetscLogEventEnd(s->event[EVENT_CORRECT], 0, 0, 0, 0));
  PetscCall(ModelClose(s->model));
  PetscCall(StepperCheck_Private(s, t + h));
  PetscFunctionReturn(0);
}

PetscErrorCode StepperEnergies(Stepper s, PetscReal t, PetscReal h, PetscInt balance)
{
  Stage stage = {.t = t, .h = h, .implicit = s->implicit, .balance = balance};

  PetscFunctionBeginUser;
  PetscCall(PetscLogEventBegin(s->event[EVENT_BALANCE], 0, 0, 0, 0));
  PetscCall(ModelOpen(s->model));
  ForBatches(s, b)
  {
    StageSetBatch(&stage, b);
    PetscCall((*b->ops->energies)(b, &stage));
  }
  PetscCall(ModelClose(s->model));
  PetscCall(PetscLogEventEnd(s->event[EVENT_BALANCE], 0, 0, 0, 0));
  PetscFunctionReturn(0);
}

typedef struct {
  PetscBool           started;
  PetscReal           t0;
  TSZhangSkeelBalance balance;
  void               *ctx;
} TS_ZhangSkeel;

static PetscErrorCode TSStep_ZhangSkeel(TS ts)
{
  TS_ZhangSkeel  *zs = (TS_ZhangSkeel *)ts->data;
  Stepper         s;
  const PetscInt  n = ts->steps;
  const PetscReal h = ts->time_step;
  PetscReal       t, next;
  PetscInt        balance = 0, iterations;

  PetscFunctionBegin;
  PetscCall(PetscCitationsRegister(Citation, &Cited));
  PetscCall(TSGetApplicationContext(ts, &s));
  if (!zs->started) {
    zs->t0      = ts->ptime - n * h;
    zs->started = PETSC_TRUE;
  }
  /* t0 + n h, not a sum: as many steps as the interval holds, and the same times after a restart */
  t    = zs->t0 + n * h;
  next = zs->t0 + (n + 1) * h;
  if (PetscAbsReal(next - ts->max_time) <= 1e-6 * PetscAbsReal(h)) next = ts->max_time;
  if (zs->balance) PetscCall((*zs->balance)(ts, n + 1, next, &balance, zs->ctx));
  iterations = s->iterations;
  PetscCall(StepperStep(s, t, h, balance));
  if (balance) PetscCall(StepperEnergies(s, next, h, balance));
  ts->snes_its += s->iterations - iterations;
  PetscCall(PetscObjectStateIncrease((PetscObject)ts->vec_sol));
  ts->ptime     = next;
  ts->time_step = h;
  PetscFunctionReturn(0);
}

PetscErrorCode TSZhangSkeelSetBalance(TS ts, TSZhangSkeelBalance fn, void *ctx)
{
  TS_ZhangSkeel *zs = (TS_ZhangSkeel *)ts->data;

  PetscFunctionBegin;
  zs->balance = fn;
  zs->ctx     = ctx;
  PetscFunctionReturn(0);
}

PetscErrorCode TSZhangSkeelSetOrigin(TS ts, PetscReal t0)
{
  TS_ZhangSkeel *zs = (TS_ZhangSkeel *)ts->data;

  PetscFunctionBegin;
  zs->t0      = t0;
  zs->started = PETSC_TRUE;
  PetscFunctionReturn(0);
}

static PetscErrorCode TSSetFromOptions_ZhangSkeel(TS ts, PetscOptionItems *PetscOptionsObject)
{
  Stepper s;

  PetscFunctionBegin;
  PetscCall(TSGetApplicationContext(ts, &s));
  PetscOptionsHeadBegin(PetscOptionsObject, "Zhang-Skeel step");
  PetscCall(PetscOptionsBool("-ts_zhangskeel_implicit", "iterate to the fully implicit step", "", s->implicit, &s->implicit, NULL));
  PetscCall(PetscOptionsReal("-ts_zhangskeel_rtol", "largest correction by largest increment at which that ends", "", s->rtol, &s->rtol, NULL));
  PetscCall(PetscOptionsInt("-ts_zhangskeel_max_it", "most iterations of a step", "", s->max_it, &s->max_it, NULL));
  PetscOptionsHeadEnd();
  PetscFunctionReturn(0);
}

static PetscErrorCode TSView_ZhangSkeel(TS ts, PetscViewer viewer)
{
  Stepper   s;
  PetscBool ascii;

  PetscFunctionBegin;
  PetscCall(PetscObjectTypeCompare((PetscObject)viewer, PETSCVIEWERASCII, &ascii));
  if (!ascii) PetscFunctionReturn(0);
  PetscCall(TSGetApplicationContext(ts, &s));
  if (s->implicit) PetscCall(PetscViewerASCIIPrintf(viewer, "  fully implicit, rtol %g, at most %" PetscInt_FMT " iterations\n", (double)s->rtol, s->max_it));
  else PetscCall(PetscViewerASCIIPrintf(viewer, "  linearly implicit\n"));
  PetscFunctionReturn(0);
}

static PetscErrorCode TSSetUp_ZhangSkeel(TS ts)
{
  PetscFunctionBegin;
  (void)ts;
  PetscFunctionReturn(0);
}

static PetscErrorCode TSReset_ZhangSkeel(TS ts)
{
  PetscFunctionBegin;
  ((TS_ZhangSkeel *)ts->data)->started = PETSC_FALSE;
  PetscFunctionReturn(0);
}

static PetscErrorCode TSDestroy_ZhangSkeel(TS ts)
{
  PetscFunctionBegin;
  PetscCall(PetscFree(ts->data));
  PetscFunctionReturn(0);
}

static PetscErrorCode TSCreate_ZhangSkeel(TS ts)
{
  TS_ZhangSkeel *zs;

  PetscFunctionBegin;
  PetscCall(PetscNew(&zs));
  ts->data                = zs;
  ts->ops->step           = TSStep_ZhangSkeel;
  ts->ops->setup          = TSSetUp_ZhangSkeel;
  ts->ops->setfromoptions = TSSetFromOptions_ZhangSkeel;
  ts->ops->view           = TSView_ZhangSkeel;
  ts->ops->reset          = TSReset_ZhangSkeel;
  ts->ops->destroy        = TSDestroy_ZhangSkeel;
  ts->default_adapt_type  = TSADAPTNONE;
  ts->usessnes            = PETSC_FALSE;
  ts->exact_final_time    = TS_EXACTFINALTIME_STEPOVER; /* the step itself ends at max_time, see TSStep_ZhangSkeel() */
  PetscFunctionReturn(0);
}

PetscErrorCode TSRegisterZhangSkeel(void)
{
  PetscFunctionBeginUser;
  PetscCall(TSRegister(TSZHANGSKEEL, TSCreate_ZhangSkeel));
  PetscFunctionReturn(0);
}
