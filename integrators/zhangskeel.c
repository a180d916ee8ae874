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

#define STEPPER_TUNNEL 0.25 /* way of two bodies against each other in a step, in thicknesses, up to which none is missed */
#define STEPPER_CUTS   10   /* in halves, halves of these, ... */

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

/* Why a step cannot be taken */
typedef enum { FAIL_NONE, FAIL_ROWS, FAIL_ITERATION, FAIL_TUNNEL, FAIL_BODY } StepFail;

/* Bodies that go far in a step against their thickness may pass through each other unseen. */
static PetscErrorCode StepperTunnel_Private(Stepper s, PetscReal t, PetscReal h, StepFail *fail)
{
  Detector     detector;
  DetectReport report;
  PetscMPIInt  rank;
  char         name[2][256];

  PetscFunctionBeginUser;
  PetscCall(ConstraintSetGetDetector(s->constraints, &detector));
  PetscCall(DetectorGetReport(detector, &report));
  if (!(report.tunnel > STEPPER_TUNNEL)) PetscFunctionReturn(0);
  if (s->failure == STEP_CUT) *fail = FAIL_TUNNEL;
  if (s->failure == STEP_CUT || s->tunnel_warned) PetscFunctionReturn(0);
  s->tunnel_warned = PETSC_TRUE;
  PetscCallMPI(MPI_Comm_rank(s->model->comm, &rank));
  for (PetscInt k = 0; k < 2; k++) PetscCall(ModelName(s->model, report.tunnel_body[k], name[k], sizeof(name[k])));
  if (!rank)
    PetscCall(PetscFPrintf(PETSC_COMM_SELF, PETSC_STDERR, "ashlar: warning: t = %g: bodies '%s' and '%s' move against each other by %.3g of their thickness in a step and may pass through each other; they need -ts_dt %.3g or less, or -step_failure cut\n",
                           (double)t, name[0], name[1], (double)report.tunnel, (double)(PetscAbsReal(h) * STEPPER_TUNNEL / report.tunnel)));
  PetscFunctionReturn(0);
}

/* Has a body of any rank gone bad before the step is taken? */
static PetscErrorCode StepperBad_Private(Stepper s, StepFail *fail)
{
  PetscMPIInt bad = 0;

  PetscFunctionBeginUser;
  ForBatches(s, b) bad = PetscMax(bad, b->bad_lane >= 0);
  PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, &bad, 1, MPI_INT, MPI_MAX, s->model->comm));
  if (bad) *fail = FAIL_BODY;
  PetscFunctionReturn(0);
}

/* What the rows of a part of the step add to what is known of the whole */
static PetscErrorCode StepperReport_Private(Stepper s, PetscBool taken)
{
  ConstraintReport *sum = &s->report, r, before = s->report;

  PetscFunctionBeginUser;
  if (!s->constraints) PetscFunctionReturn(0);
  PetscCall(ConstraintSetGetReport(s->constraints, &r));
  if (taken) {
    *sum             = r;
    sum->merit       = PetscMax(r.merit, before.merit);
    sum->penetration = PetscMax(r.penetration, before.penetration);
    sum->halved += before.halved;
    sum->broken += before.broken;
    sum->work += before.work;
    sum->friction += before.friction;
    if (before.reason < 0) sum->reason = before.reason;
  }
  sum->iterations = before.iterations + r.iterations;
  sum->solves     = before.solves + r.solves;
  PetscFunctionReturn(0);
}

/* One step, or a part of one. What fails leaves everything as it was. */
static PetscErrorCode StepperTry_Private(Stepper s, PetscReal t, PetscReal h, PetscReal balance, StepFail *fail)
{
  Stage     stage = {.t = t, .h = h, .implicit = s->implicit, .balance = balance};
  PetscReal worst;
  PetscBool rows  = PETSC_FALSE, taken;
  PetscInt  pass  = 0;

  PetscFunctionBeginUser;
  *fail = FAIL_NONE;
  PetscCall(ModelOpen(s->model));
  PetscCall(PetscLogEventBegin(s->event[EVENT_PREDICT], 0, 0, 0, 0));
  ForBatches(s, b) PetscCall((*b->ops->predict)(b, &stage));
  PetscCall(StepperWarn_Private(s, h));
  PetscCall(PetscLogEventEnd(s->event[EVENT_PREDICT], 0, 0, 0, 0));
  if (s->constraints) {
    PetscCall(PetscLogEventBegin(s->event[EVENT_DETECT], 0, 0, 0, 0));
    PetscCall(ConstraintSetDetect(s->constraints, &stage, &rows));
    PetscCall(PetscLogEventEnd(s->event[EVENT_DETECT], 0, 0, 0, 0));
    PetscCall(StepperTunnel_Private(s, t, h, fail));
  }
  if (!*fail) PetscCall(ModelLoads(s->model, &stage));
  stage.rough = rows && s->model->corrected && !s->implicit ? PETSC_TRUE : PETSC_FALSE;
  for (stage.iteration = 0; !*fail; stage.iteration++) {
    PetscBool more = PETSC_FALSE;

    PetscCall(StepperFree_Private(s, &stage, &worst));
    s->iterations++;
    if (rows) PetscCall(StepperConstrain_Private(s, &stage));
    if (rows && s->model->corrected && !s->implicit) PetscCall(StepperMix_Private(s, &stage, ++pass, &more));
    if (more) continue;
    if (!s->implicit) break;
    PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, &worst, 1, MPIU_REAL, MPIU_MAX, s->model->comm));
    if (stage.iteration && worst <= s->rtol) break;
    if (stage.iteration + 1 < s->max_it && !PetscIsInfOrNanReal(worst)) continue;
    *fail = FAIL_ITERATION;
    PetscCheck(s->failure == STEP_CUT || (s->failure == STEP_CONTINUE && !PetscIsInfOrNanReal(worst)), s->model->comm, PETSC_ERR_USER_INPUT,
               "t = %g: the implicit step has not converged in %" PetscInt_FMT " iterations (last correction %.2g, -ts_zhangskeel_rtol %g); take a smaller -ts_dt", (double)t, stage.iteration + 1,
               (double)worst, (double)s->rtol);
  }
  if (rows && !*fail) {
    ConstraintReport report;

    PetscCall(ConstraintSetGetReport(s->constraints, &report));
    if (report.reason < 0) *fail = FAIL_ROWS;
  }
  if (s->failure == STEP_CUT && !*fail) PetscCall(StepperBad_Private(s, fail));
  taken = *fail && s->failure != STEP_CONTINUE ? PETSC_FALSE : PETSC_TRUE;
  if (taken) {
    PetscCall(PetscLogEventBegin(s->event[EVENT_CORRECT], 0, 0, 0, 0));
    if (s->constraints) PetscCall(ConstraintSetAccept(s->constraints, &stage));
    ForBatches(s, b) PetscCall((*b->ops->correct)(b, &stage));
    PetscCall(PetscLogEventEnd(s->event[EVENT_CORRECT], 0, 0, 0, 0));
    if (*fail) s->failed = PETSC_TRUE;
    *fail   = FAIL_NONE;
    s->part = h;
  } else if (s->failure == STEP_CUT && s->constraints) PetscCall(ConstraintSetReject(s->constraints));
  PetscCall(ModelClose(s->model));
  PetscCall(StepperReport_Private(s, taken));
  if (taken) PetscCall(StepperCheck_Private(s, t + h));
  PetscFunctionReturn(0);
}

/* One line that says why, and what to do */
static PetscErrorCode StepperStop_Private(Stepper s, PetscReal t, PetscReal h, StepFail fail)
{
  MPI_Comm comm = s->model->comm;
  char     part[96] = "";

  PetscFunctionBeginUser;
  if (s->failure == STEP_CUT) PetscCall(PetscSNPrintf(part, sizeof(part), " even in a part of length %.3g, after %d cuts", (double)h, STEPPER_CUTS));
  if (fail == FAIL_BODY) PetscCall(StepperCheck_Private(s, t + h));
  PetscCheck(fail != FAIL_ITERATION, comm, PETSC_ERR_USER_INPUT, "t = %g: the implicit step has not converged%s; take a smaller -ts_dt, or damping", (double)t, part);
  if (fail == FAIL_TUNNEL) {
    Detector     detector;
    DetectReport report;
    char         name[2][256];

    PetscCall(ConstraintSetGetDetector(s->constraints, &detector));
    PetscCall(DetectorGetReport(detector, &report));
    for (PetscInt k = 0; k < 2; k++) PetscCall(ModelName(s->model, report.tunnel_body[k], name[k], sizeof(name[k])));
    SETERRQ(comm, PETSC_ERR_USER_INPUT, "t = %g: bodies '%s' and '%s' move against each other by %.3g of their thickness%s; take a smaller -ts_dt, or -step_failure continue", (double)t, name[0], name[1], (double)report.tunnel, part);
  } else {
    ConstraintReport report;
    PetscReal        rtol;
    Dual             dual;
    SNES             snes;

    PetscCall(ConstraintSetGetReport(s->constraints, &report));
    PetscCall(ConstraintSetGetDual(s->constraints, &dual));
    PetscCall(DualGetSNES(dual, &snes));
    PetscCall(SNESGetTolerances(snes, NULL, &rtol, NULL, NULL, NULL));
    SETERRQ(comm, PETSC_ERR_USER_INPUT, "t = %g: the forces of %" PetscInt_FMT " contacts and joints have not converged%s: merit %.3g after %" PetscInt_FMT " iterations (%s), -snes_rtol %g; take more -snes_max_it, another -snes_type, a smaller -ts_dt, or -step_failure %s", (double)t,
            report.n, part, (double)report.merit, report.iterations, SNESConvergedReasons[report.reason], (double)rtol, s->failure == STEP_CUT ? "continue" : "cut or continue");
  }
}

/* A step, or its part after `level` cuts */
static PetscErrorCode StepperPart_Private(Stepper s, PetscReal t, PetscReal h, PetscReal balance, PetscInt level)
{
  StepFail fail;

  PetscFunctionBeginUser;
  PetscCall(StepperTry_Private(s, t, h, balance, &fail));
  if (!fail) PetscFunctionReturn(0);
  if (s->failure != STEP_CUT || level == STEPPER_CUTS) PetscCall(StepperStop_Private(s, t, h, fail));
  if (!level) s->cuts++;
  ForBatches(s, b) b->bad_lane = -1;
  PetscCall(StepperPart_Private(s, t, 0.5 * h, balance, level + 1));
  if (balance != 0) { /* each part's work of damping is its own; that of the last one is left to the caller */
    s->balanced += s->part;
    PetscCall(StepperEnergies(s, t + 0.5 * h, 0.5 * h, s->part));
  }
  PetscCall(StepperPart_Private(s, t + 0.5 * h, 0.5 * h, balance, level + 1));
  PetscFunctionReturn(0);
}

PetscErrorCode StepperStep(Stepper s, PetscReal t, PetscReal h, PetscReal balance)
{
  PetscFunctionBeginUser;
  PetscCall(PetscMemzero(&s->report, sizeof(s->report)));
  s->failed   = PETSC_FALSE;
  s->balanced = 0;
  PetscCall(StepperPart_Private(s, t, h, balance, 0));
  PetscFunctionReturn(0);
}

PetscErrorCode StepperEnergies(Stepper s, PetscReal t, PetscReal h, PetscReal balance)
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
  PetscCall(StepperStep(s, t, h, balance * h));
  if (balance) PetscCall(StepperEnergies(s, next, h, balance * h - s->balanced));
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
