#include "run.h"
#include "contact_output.h"
#include "error.h"
#include "history.h"
#include "reactions.h"
#include "summary.h"
#include "integrators/zhangskeel.h"
#include "meshes/checkpoint.h"
#include "meshes/results.h"
#include <errno.h>
#include <signal.h>
#include <unistd.h>

/* numbers of the run that a checkpoint carries beside the bodies' records */
enum { EXTRA_START, EXTRA_LARGEST, EXTRA_DRIFT, EXTRA_BALANCED, EXTRA_ITERATIONS, EXTRA_CONTACTS, EXTRA_CONTACTS_MOST, EXTRA_SNES, EXTRA_SNES_MOST, EXTRA_SOLVES, EXTRA_HALVED, EXTRA_MERIT, EXTRA_FAILED, EXTRA_CUT, EXTRA_PENETRATION, EXTRA_GAINS, EXTRA_GAIN, EXTRA_DETECTIONS, EXTRA_COUNT };
/* and its tables */
enum { TABLE_ROWS, TABLE_DEPTHS, TABLE_COUNT };
static const CheckpointTable RunTables[TABLE_COUNT] = {{"rows", CONSTRAINT_MEMORY_WIDTH, 0, NULL}, {"depths", CONSTRAINT_DEPTH_WIDTH, 0, NULL}};

typedef struct {
  MPI_Comm          comm;
  PetscMPIInt       rank, size;
  Model             model;
  const Probes     *probes;
  struct _p_Stepper stepper;
  TS                ts;
  History           history;
  Reactions         reactions;
  ContactOutput     contacts;
  Results           results;
  const char       *checkpoint, *summary;
  PetscReal         t0, h, interval, guard, max_wall, began;
  PetscInt          every, checkpoint_every, first, first_iterations, last_checkpoint;
  PetscReal         extra[EXTRA_COUNT]; /* total at the start; largest energy; largest change of the total; step of the last balance; iterations; of the rows: see RunContacts_Private() */
  PetscReal        *start;              /* of each body here: its total at the start */
  PetscReal         energy[ENERGY_COUNT];
  ConstraintReport  contact;            /* of the last step */
  PetscReal         noise; /* an energy that round-off alone may make of bodies at rest */
  PetscBool         progress, terminal, interrupted;
  PetscReal         shown;
  PetscLogStage     stage;
} Run;

/* May standard output be written over? mpirun gives its ranks a terminal even where its own output goes into a file, so scripts/run says what that is. */
static PetscBool RunIsTerminal_Private(PetscMPIInt size)
{
  const char *told = getenv("ASHLAR_TERMINAL");

  if (told && told[0]) return told[0] == '0' ? PETSC_FALSE : PETSC_TRUE;
  return size == 1 && !getenv("OMPI_COMM_WORLD_SIZE") && !getenv("PMI_SIZE") && isatty(STDOUT_FILENO) ? PETSC_TRUE : PETSC_FALSE;
}

static volatile sig_atomic_t SignalSeen = 0;
static void                  SignalHandler(int signal)
{
  SignalSeen = signal;
}

static PetscReal BodyTotal_Private(const PetscReal *ledger)
{
  return ledger[LEDGER_KINETIC] + ledger[LEDGER_INTERNAL] - ledger[LEDGER_EXTERNAL] - ledger[LEDGER_DAMPING] - ledger[LEDGER_CONTACT] - ledger[LEDGER_FRICTION] - ledger[LEDGER_CONSTRAINT];
}

/* Output times are whole multiples of the interval, every step without one. */
static PetscBool RunIsOutput_Private(const Run *run, PetscReal t)
{
  if (run->interval <= 0) return PETSC_TRUE;
  return PetscFloorReal((t - run->t0 + 1e-6 * run->h) / run->interval) > PetscFloorReal((t - run->h - run->t0 + 1e-6 * run->h) / run->interval) ? PETSC_TRUE : PETSC_FALSE;
}

static PetscErrorCode RunIsLast_Private(const Run *run, PetscInt step, PetscReal t, PetscBool *last)
{
  PetscReal max_time;
  PetscInt  max_steps;

  PetscFunctionBeginUser;
  PetscCall(TSGetMaxTime(run->ts, &max_time));
  PetscCall(TSGetMaxSteps(run->ts, &max_steps));
  *last = t >= max_time || step >= max_steps ? PETSC_TRUE : PETSC_FALSE;
  PetscFunctionReturn(0);
}

static PetscErrorCode RunBalanceDue_Private(TS ts, PetscInt step, PetscReal t, PetscInt *balance, void *ctx)
{
  Run      *run = (Run *)ctx;
  PetscBool last = PETSC_FALSE;

  PetscFunctionBeginUser;
  (void)ts;
  PetscCall(RunIsLast_Private(run, step, t, &last));
  *balance = (run->every && step % run->every == 0) || RunIsOutput_Private(run, t) || last ? step - (PetscInt)run->extra[EXTRA_BALANCED] : 0;
  PetscFunctionReturn(0);
}

/* Velocities of 1e-12 of a body's radius in a step are noise. */
static PetscErrorCode RunNoise_Private(Run *run)
{
  PetscFunctionBeginUser;
  run->noise = 0;
  for (PetscInt i = 0; i < run->model->nbody; i++) {
    const Part part = run->model->body[i]->part;

    if (run->model->domain[i]->batch->ops->size) run->noise += 1e-24 * part->total * PetscSqr(part->radius / run->h);
  }
  PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, &run->noise, 1, MPIU_REAL, MPIU_SUM, run->comm));
  PetscFunctionReturn(0);
}

/* Sums of all bodies, and the guard: a balance that grows means that the step is too long for somebody. */
static PetscErrorCode RunBalance_Private(Run *run, PetscInt step, PetscReal t, PetscBool begin)
{
  PetscReal sum[LEDGER_SIZE], scale, growth, largest;

  PetscFunctionBeginUser;
  PetscCall(ModelLedger(run->model, sum));
  for (PetscInt k = 0; k < LEDGER_SIZE; k++) run->energy[k] = sum[k];
  run->energy[ENERGY_TOTAL]    = BodyTotal_Private(sum);
  run->extra[EXTRA_BALANCED]   = step;
  if (begin) run->extra[EXTRA_START] = run->energy[ENERGY_TOTAL];
  scale  = sum[LEDGER_KINETIC] + sum[LEDGER_INTERNAL] + PetscAbsReal(sum[LEDGER_EXTERNAL]);
  growth = run->energy[ENERGY_TOTAL] - run->extra[EXTRA_START];
  /* energy that has just appeared must not raise its own bound; the work of loads may, as bodies start from rest by it */
  largest = PetscMax(PetscMax(run->extra[EXTRA_LARGEST], begin ? scale : PetscAbsReal(sum[LEDGER_EXTERNAL])), run->noise);
  if (PetscIsInfOrNanReal(growth) || (run->guard > 0 && growth > run->guard * largest)) {
    struct {
      double value;
      int    rank;
    } worst         = {-1, 0};
    const Body *who = NULL;

    for (PetscInt i = 0; i < run->model->nbody; i++) {
      const Domain   *d = run->model->domain[i];
      const PetscReal g = BodyTotal_Private(&d->batch->ledger[d->lane * LEDGER_SIZE]) - run->start[i];

      if (PetscIsInfOrNanReal(g) || g > worst.value) {
        worst.value = PetscIsInfOrNanReal(g) ? PETSC_MAX_REAL : g;
        who         = &run->model->body[i];
      }
    }
    worst.rank = run->rank;
    PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, &worst, 1, MPI_DOUBLE_INT, MPI_MAXLOC, run->comm));
    UserCheck(worst.rank != run->rank || !who, "t = %g: the energy of body '%s' has grown by %.3g, past %g of the largest energy so far (%.3g): the step is too long for it; take a smaller -ts_dt, or another -energy_guard (0: none)",
              (double)t, (*who)->name, worst.value, (double)run->guard, (double)largest);
    PetscFunctionReturn(PETSC_ERR_USER_INPUT);
  }
  run->extra[EXTRA_LARGEST] = PetscMax(run->extra[EXTRA_LARGEST], scale);
  run->extra[EXTRA_DRIFT]   = PetscMax(run->extra[EXTRA_DRIFT], PetscAbsReal(growth));
  PetscFunctionReturn(0);
}

/* Displacement from the placed state, velocity, forces of contact and element stresses of one body, for the results file */
static PetscErrorCode RunBodyFields_Private(void *ctx, PetscInt i, PetscReal time, PetscReal *disp, PetscReal *vel, PetscReal *contact, PetscReal *mises)
{
  Run           *run  = (Run *)ctx;
  const Domain  *d    = run->model->domain[i];
  Body           body = run->model->body[i];
  Mesh           mesh = body->part->mesh;
  const PetscReal centre[3] = {0, 0, 0};
  MaterialPoint  point;
  PetscReal      x[3], sigma[6];

  PetscFunctionBeginUser;
  point.nnode = 1;
  point.N[0]  = 1;
  for (PetscInt a = 0; a < mesh->nnode; a++) {
    point.node[0] = a;
    PetscCall(PetscArraycpy(point.X, &body->part->X[3 * a], 3));
    PetscCall((*d->batch->ops->point)(d->batch, d->lane, &point, time, x, vel + 3 * a));
    for (PetscInt c = 0; c < 3; c++) {
      const PetscReal *R = body->rotation, *X = &mesh->coord[3 * a];

      disp[3 * a + c] = x[c] - (R[3 * c] * X[0] + R[3 * c + 1] * X[1] + R[3 * c + 2] * X[2] + body->shift[c]);
    }
  }
  if (run->stepper.constraints) PetscCall(ConstraintSetAddForces(run->stepper.constraints, i, contact));
  for (PetscInt e = 0; e < mesh->nelem; e++) PetscCall((*d->batch->ops->stress)(d->batch, d->lane, e, centre, sigma, &mises[e]));
  PetscFunctionReturn(0);
}

static PetscErrorCode RunOutput_Private(Run *run, PetscReal t)
{
  PetscFunctionBeginUser;
  PetscCall(PetscLogEventBegin(run->stepper.event[EVENT_OUTPUT], 0, 0, 0, 0));
  if (run->history) PetscCall(HistoryWrite(run->history, t, run->energy, &run->contact));
  if (run->reactions && t > run->t0) PetscCall(ReactionsWrite(run->reactions, run->model, run->stepper.constraints, t)); /* none before the first step */
  PetscCall(ContactOutputWrite(run->contacts, t, &run->contact, (PetscBool)(run->extra[EXTRA_BALANCED] == 0)));
  if (run->results) {
    PetscCall(ModelOpen(run->model));
    PetscCall(ResultsWrite(run->results, t, RunBodyFields_Private, run));
    PetscCall(ModelClose(run->model));
  }
  PetscCall(PetscLogEventEnd(run->stepper.event[EVENT_OUTPUT], 0, 0, 0, 0));
  PetscFunctionReturn(0);
}

/* A body's record: q, u, ledger, its total at the start */
static PetscErrorCode RunRecords_Private(Run *run, PetscInt **id, PetscInt **length, PetscReal **data, PetscBool fill)
{
  Model    model = run->model;
  PetscInt total = 0, k = 0;

  PetscFunctionBeginUser;
  PetscCall(PetscMalloc2(model->nbody, id, model->nbody, length));
  for (PetscInt i = 0; i < model->nbody; i++) {
    (*id)[i]     = model->body[i]->id;
    (*length)[i] = model->domain[i]->batch->nq + model->domain[i]->batch->nu + LEDGER_SIZE + 1;
    total += (*length)[i];
  }
  PetscCall(PetscMalloc1(total, data));
  if (!fill) PetscFunctionReturn(0);
  PetscCall(ModelOpen(model));
  for (PetscInt i = 0; i < model->nbody; i++) {
    const Domain *d = model->domain[i];
    Batch         b = d->batch;

    for (PetscInt j = 0; j < b->nq; j++) (*data)[k++] = b->q[BatchIndex(b, b->nq, d->lane, j)];
    for (PetscInt j = 0; j < b->nu; j++) (*data)[k++] = b->u[BatchIndex(b, b->nu, d->lane, j)];
    for (PetscInt j = 0; j < LEDGER_SIZE; j++) (*data)[k++] = b->ledger[d->lane * LEDGER_SIZE + j];
    (*data)[k++] = run->start[i];
  }
  PetscCall(ModelClose(model));
  PetscFunctionReturn(0);
}

static PetscErrorCode RunCheckpoint_Private(Run *run, PetscInt step, PetscReal t)
{
  CheckpointHead head = {run->t0, t, run->h, step, run->model->nglobal};
  PetscInt      *id, *length;
  PetscReal     *data;
  CheckpointTable table[TABLE_COUNT] = {RunTables[TABLE_ROWS], RunTables[TABLE_DEPTHS]};

  PetscFunctionBeginUser;
  PetscCall(RunRecords_Private(run, &id, &length, &data, PETSC_TRUE));
  if (run->stepper.constraints) {
    PetscInt detections;

    PetscCall(ConstraintSetPack(run->stepper.constraints, &detections, &table[TABLE_ROWS].n, &table[TABLE_ROWS].row, &table[TABLE_DEPTHS].n, &table[TABLE_DEPTHS].row));
    run->extra[EXTRA_DETECTIONS] = detections;
  }
  PetscCall(CheckpointWrite(run->comm, run->checkpoint, &head, EXTRA_COUNT, run->extra, run->model->nbody, id, length, data, TABLE_COUNT, table));
  for (PetscInt i = 0; i < TABLE_COUNT; i++) PetscCall(PetscFree(table[i].row));
  PetscCall(PetscFree2(id, length));
  PetscCall(PetscFree(data));
  if (run->stepper.constraints) PetscCall(ConstraintSetForget(run->stepper.constraints));
  PetscCall(ModelForget(run->model)); /* so that a restarted run does the very same */
  run->last_checkpoint = step;
  PetscFunctionReturn(0);
}

static PetscErrorCode RunRestart_Private(Run *run, const char file[])
{
  CheckpointHead head = {0};
  Model          model = run->model;
  PetscInt      *id, *length, k = 0;
  PetscReal     *data;
  CheckpointTable table[TABLE_COUNT] = {RunTables[TABLE_ROWS], RunTables[TABLE_DEPTHS]};

  PetscFunctionBeginUser;
  head.nbody = model->nglobal;
  PetscCall(RunRecords_Private(run, &id, &length, &data, PETSC_FALSE));
  PetscCall(CheckpointRead(run->comm, file, &head, EXTRA_COUNT, run->extra, model->nbody, id, length, data, TABLE_COUNT, table));
  PetscCall(ModelOpen(model));
  for (PetscInt i = 0; i < model->nbody; i++) {
    const Domain *d = model->domain[i];
    Batch         b = d->batch;

    for (PetscInt j = 0; j < b->nq; j++) b->q[BatchIndex(b, b->nq, d->lane, j)] = data[k++];
    for (PetscInt j = 0; j < b->nu; j++) b->u[BatchIndex(b, b->nu, d->lane, j)] = data[k++];
    for (PetscInt j = 0; j < LEDGER_SIZE; j++) b->ledger[d->lane * LEDGER_SIZE + j] = data[k++];
    run->start[i] = data[k++];
  }
  PetscCall(ModelClose(model));
  if (run->stepper.constraints)
    PetscCall(ConstraintSetUnpack(run->stepper.constraints, (PetscInt)run->extra[EXTRA_DETECTIONS], table[TABLE_ROWS].n, table[TABLE_ROWS].row, table[TABLE_DEPTHS].n, table[TABLE_DEPTHS].row));
  for (PetscInt i = 0; i < TABLE_COUNT; i++) PetscCall(PetscFree(table[i].row));
  PetscCall(PetscFree2(id, length));
  PetscCall(PetscFree(data));
  UserCheck(head.dt == run->h, "restart: '%s' was written with -ts_dt %.17g, this run has %.17g: go on with the same step", file, (double)head.dt, (double)run->h);
  run->stepper.cuts       = (PetscInt)run->extra[EXTRA_CUT];
  run->stepper.iterations = run->first_iterations = (PetscInt)run->extra[EXTRA_ITERATIONS];
  run->t0              = head.t0;
  run->first           = head.step;
  run->last_checkpoint = head.step;
  PetscCall(TSSetStepNumber(run->ts, head.step));
  PetscCall(TSSetTime(run->ts, head.time));
  PetscCall(TSZhangSkeelSetOrigin(run->ts, head.t0));
  PetscFunctionReturn(0);
}

static void FormatSeconds_Private(PetscReal s, char text[32])
{
  const long n = s < 0 || s > 1e9 ? 0 : (long)(s + 0.5);

  if (n >= 3600) snprintf(text, 32, "%ld:%02ld:%02ld", n / 3600, n / 60 % 60, n % 60);
  else snprintf(text, 32, "%ld:%02ld", n / 60, n % 60);
}

/* Once a second on a terminal, every ten seconds into a file, and at the end. */
static PetscErrorCode RunProgress_Private(Run *run, PetscInt step, PetscReal t, PetscBool last)
{
  PetscReal      now, max_time, done;
  char           elapsed[32], remaining[32];
  PetscInt       max_steps;

  PetscFunctionBeginUser;
  if (!run->progress || run->rank) PetscFunctionReturn(0);
  now = MPI_Wtime();
  if (!last && now - run->shown < (run->terminal ? 1 : 10)) PetscFunctionReturn(0);
  run->shown = now;
  PetscCall(TSGetMaxTime(run->ts, &max_time));
  PetscCall(TSGetMaxSteps(run->ts, &max_steps));
  max_time = PetscMin(max_time, run->t0 + max_steps * run->h);
  done     = (t - run->t0 - run->first * run->h) / (max_time - run->t0 - run->first * run->h);
  FormatSeconds_Private(now - run->began, elapsed);
  FormatSeconds_Private(done > 0 ? (now - run->began) * (1 / done - 1) : 0, remaining);
  printf("%sstep %d  time %g of %g  contacts %d  iterations %g  elapsed %s  remaining %s%s", run->terminal ? "\r\033[K" : "", (int)step, (double)t, (double)max_time, (int)run->contact.n,
         step > run->first ? (double)(run->stepper.iterations - run->first_iterations) / (step - run->first) : 0., elapsed, remaining, run->terminal && !last ? "" : "\n");
  fflush(stdout);
  PetscFunctionReturn(0);
}

/* Sums and extremes of what the rows of the last step report */
static PetscErrorCode RunContacts_Private(Run *run)
{
  PetscReal *e = run->extra;

  PetscFunctionBeginUser;
  run->contact = run->stepper.report;
  e[EXTRA_CONTACTS] += run->contact.n;
  e[EXTRA_CONTACTS_MOST] = PetscMax(e[EXTRA_CONTACTS_MOST], run->contact.n);
  e[EXTRA_SNES] += run->contact.iterations;
  e[EXTRA_SNES_MOST] = PetscMax(e[EXTRA_SNES_MOST], run->contact.iterations);
  e[EXTRA_SOLVES] += run->contact.solves;
  e[EXTRA_HALVED] += run->contact.halved;
  e[EXTRA_MERIT] = PetscMax(e[EXTRA_MERIT], run->contact.merit);
  e[EXTRA_PENETRATION] = PetscMax(e[EXTRA_PENETRATION], run->contact.penetration);
  if (run->contact.work > run->contact.tolerated) {
    e[EXTRA_GAINS]++;
    e[EXTRA_GAIN] = PetscMax(e[EXTRA_GAIN], run->contact.work);
  }
  PetscFunctionReturn(0);
}

/* After every step: guard, outputs, checkpoint, signals, progress. */
static PetscErrorCode RunAccept_Private(TS ts)
{
  Run        *run;
  PetscInt    step;
  PetscReal   t;
  PetscBool   last = PETSC_FALSE;
  PetscMPIInt stop;

  PetscFunctionBeginUser;
  PetscCall(TSGetApplicationContext(ts, &run)); /* the stepper is the run's first word of interest, see RunModel() */
  run = (Run *)((char *)run - offsetof(Run, stepper));
  PetscCall(TSGetStepNumber(ts, &step));
  PetscCall(TSGetTime(ts, &t));
  PetscCall(RunIsLast_Private(run, step, t, &last));
  if (run->stepper.constraints) {
    PetscCall(RunContacts_Private(run));
    PetscCall(ContactOutputStep(run->contacts, step, t));
  }
  run->extra[EXTRA_FAILED] += run->stepper.failed ? 1 : 0;
  run->extra[EXTRA_CUT] = run->stepper.cuts;
  {
    const PetscBool output = RunIsOutput_Private(run, t) || last ? PETSC_TRUE : PETSC_FALSE;

    if (output || (run->every && step % run->every == 0)) PetscCall(RunBalance_Private(run, step, t, PETSC_FALSE));
    if (output) PetscCall(RunOutput_Private(run, t));
  }
  stop = SignalSeen || (run->max_wall > 0 && MPI_Wtime() - run->began > run->max_wall);
  if (run->size > 1) PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, &stop, 1, MPI_INT, MPI_MAX, run->comm));
  run->extra[EXTRA_ITERATIONS] = run->stepper.iterations;
  if (run->checkpoint[0] && (stop || last || (run->checkpoint_every && step % run->checkpoint_every == 0))) PetscCall(RunCheckpoint_Private(run, step, t));
  PetscCall(RunProgress_Private(run, step, t, last || stop ? PETSC_TRUE : PETSC_FALSE));
  if (stop && !last) {
    run->interrupted = PETSC_TRUE;
    PetscCall(TSSetConvergedReason(ts, TS_CONVERGED_USER));
  }
  PetscFunctionReturn(0);
}

static PetscErrorCode RunSummary_Private(Run *run)
{
  Summary        s;
  PetscInt       step, steps, counts[4] = {0, 0, 0, 0}, owned[2];
  const PetscReal wall = MPI_Wtime() - run->began;
  PetscReal      seconds[EVENT_COUNT];
  PetscErrorCode ierr = 0;

  PetscFunctionBeginUser;
  PetscCall(TSGetStepNumber(run->ts, &step));
  steps = step - run->first;
  for (PetscInt i = 0; i < run->model->npart; i++) counts[0] += run->model->part[i]->nnumeric;
  for (PetscInt i = 0; i < run->model->nbatch; i++) {
    counts[1] += run->model->batch[i]->nindefinite;
    counts[3] += run->model->batch[i]->nfallback;
  }
  counts[2] = run->model->nbatch;
  owned[0]  = run->model->nbody;
  owned[1]  = -run->model->nbody;
  for (PetscInt i = 0; i < EVENT_COUNT; i++) {
    PetscEventPerfInfo info;

    PetscCall(PetscLogEventGetPerfInfo(run->stage, run->stepper.event[i], &info));
    seconds[i] = info.time;
  }
  PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, counts, 4, MPIU_INT, MPI_SUM, run->comm));
  PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, owned, 2, MPIU_INT, MPI_MAX, run->comm));
  PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, seconds, EVENT_COUNT, MPIU_REAL, MPIU_MAX, run->comm));
  PetscCall(SummaryCreate(&s));
  PetscCall(SummaryAddText(s, "end", run->interrupted ? "interrupted" : "complete"));
  PetscCall(SummaryAddInt(s, "steps", steps));
  PetscCall(SummaryAddInt(s, "bodies", run->model->nglobal));
  PetscCall(SummaryAddInt(s, "dofs", run->model->ndof));
  PetscCall(SummaryAddInt(s, "ranks", run->size));
  PetscCall(SummaryAddInt(s, "bodies per rank least", -owned[1]));
  PetscCall(SummaryAddInt(s, "bodies per rank most", owned[0]));
  PetscCall(SummaryAddInt(s, "batches", counts[2]));
  PetscCall(SummaryAddInt(s, "constant factorizations", counts[0]));
  PetscCall(SummaryAddInt(s, "indefinite operators", counts[1]));
  PetscCall(SummaryAddInt(s, "steps factored after correction", counts[3]));
  PetscCall(SummaryAddReal(s, "contacts mean", step ? run->extra[EXTRA_CONTACTS] / step : 0));
  PetscCall(SummaryAddInt(s, "contacts max", (PetscInt)run->extra[EXTRA_CONTACTS_MOST]));
  PetscCall(SummaryAddReal(s, "SNES iterations mean", step ? run->extra[EXTRA_SNES] / step : 0));
  PetscCall(SummaryAddInt(s, "SNES iterations max", (PetscInt)run->extra[EXTRA_SNES_MOST]));
  PetscCall(SummaryAddReal(s, "dual solves mean", step ? run->extra[EXTRA_SOLVES] / step : 0));
  PetscCall(SummaryAddInt(s, "rows with half theta", (PetscInt)run->extra[EXTRA_HALVED]));
  PetscCall(SummaryAddReal(s, "step iterations mean", steps ? (PetscReal)(run->stepper.iterations - run->first_iterations) / steps : 0));
  PetscCall(SummaryAddReal(s, "worst final merit", run->extra[EXTRA_MERIT]));
  PetscCall(SummaryAddInt(s, "steps not converged", (PetscInt)run->extra[EXTRA_FAILED]));
  PetscCall(SummaryAddInt(s, "steps cut", (PetscInt)run->extra[EXTRA_CUT]));
  PetscCall(SummaryAddInt(s, "steps with work of contact above zero", (PetscInt)run->extra[EXTRA_GAINS]));
  PetscCall(SummaryAddReal(s, "largest of these works", run->extra[EXTRA_GAIN]));
  PetscCall(SummaryAddReal(s, "energy drift", PetscMax(run->extra[EXTRA_LARGEST], run->noise) > 0 ? run->extra[EXTRA_DRIFT] / PetscMax(run->extra[EXTRA_LARGEST], run->noise) : 0));
  PetscCall(SummaryAddReal(s, "largest penetration", run->extra[EXTRA_PENETRATION]));
  PetscCall(SummaryAddReal(s, "wall time", wall));
  PetscCall(SummaryAddReal(s, "time per step", steps ? wall / steps : 0));
  for (PetscInt i = 0; i < EVENT_COUNT; i++) {
    char name[64];

    PetscCall(PetscSNPrintf(name, sizeof(name), "seconds %s", EventNames[i]));
    PetscCall(SummaryAddReal(s, name, seconds[i]));
  }
  if (run->rank == 0) {
    PetscCall(SummaryPrint(s, stdout));
    if (run->summary[0]) ierr = SummaryWriteJSON(s, run->summary);
  }
  PetscCall(ErrorAgree(run->comm, ierr));
  PetscCall(SummaryDestroy(&s));
  PetscFunctionReturn(0);
}

static PetscErrorCode RunResultsCreate_Private(Run *run, const char file[], PetscBool append, PetscReal t)
{
  ResultsBody *bodies;
  Model        model = run->model;

  PetscFunctionBeginUser;
  PetscCall(PetscCalloc1(model->nbody, &bodies));
  for (PetscInt i = 0; i < model->nbody; i++) {
    Body body = model->body[i];

    bodies[i].id          = body->id;
    bodies[i].name        = body->name;
    bodies[i].mesh        = body->part->mesh;
    bodies[i].formulation = model->domain[i]->batch->ops->code;
    PetscCall(PetscArraycpy(bodies[i].rotation, body->rotation, 9));
    PetscCall(PetscArraycpy(bodies[i].shift, body->shift, 3));
  }
  PetscCall(ResultsCreate(run->comm, file, model->nglobal, model->nbody, bodies, append, t, &run->results));
  PetscCall(PetscFree(bodies));
  PetscFunctionReturn(0);
}

/* Before anything is written: a file that cannot be is found out while all others are still as they were. */
static PetscErrorCode RunCheckWritable_Private(const char option[], const char file[])
{
  PetscBool old;
  FILE     *f;

  PetscFunctionBeginUser;
  if (!file[0]) PetscFunctionReturn(0);
  old = access(file, F_OK) ? PETSC_FALSE : PETSC_TRUE;
  f   = fopen(file, "a");
  UserCheck(f, "%s: cannot write '%s': %s", option, file, strerror(errno));
  fclose(f);
  if (!old) unlink(file);
  PetscFunctionReturn(0);
}

static PetscErrorCode RunCheckOutputs_Private(Run *run, const char history[], const char exodus[], const char reactions[])
{
  const char *option[5 + CONTACT_FILES] = {"output_history", "output_exodus", "checkpoint", "summary", "output_reactions"}, *file[5 + CONTACT_FILES] = {history, exodus, run->checkpoint, run->summary, reactions};

  PetscFunctionBeginUser;
  if (run->rank) PetscFunctionReturn(0);
  for (PetscInt i = 0; i < CONTACT_FILES; i++) {
    option[5 + i] = ContactOutputOptions[i];
    file[5 + i]   = ContactOutputFile(run->contacts, i);
  }
  for (PetscInt i = 0; i < 5 + CONTACT_FILES; i++) {
    for (PetscInt j = 0; j < i; j++) UserCheck(!file[i][0] || strcmp(file[i], file[j]), "%s and %s are one file '%s': give each its own", option[j], option[i], file[i]);
    PetscCall(RunCheckWritable_Private(option[i], file[i]));
  }
  PetscFunctionReturn(0);
}

/* Options of parts' solves are read when there is something to solve: try them before the run. */
static PetscErrorCode RunTrySolver_Private(Model model)
{
  PetscBool elastic = PETSC_FALSE;

  PetscFunctionBeginUser;
  for (PetscInt i = 0; i < model->nbody; i++)
    if (model->domain[i]->batch->ops->elastic) elastic = PETSC_TRUE;
  if (elastic) PetscCall(FactorTryOptions());
  PetscFunctionReturn(0);
}

static PetscErrorCode RunFailure_Private(Run *run, Settings settings)
{
  static const char *const choices[] = {"stop", "cut", "continue"};
  const char              *text;
  PetscInt                 i = 0;

  PetscFunctionBeginUser;
  PetscCall(SettingsGetString(settings, "step_failure", choices[0], &text, NULL));
  while (i < 3 && strcmp(text, choices[i])) i++;
  PetscCall(SettingsRequire(settings, "step_failure", (PetscBool)(i < 3), "'%s' is none of stop, cut, continue", text));
  run->stepper.failure = (StepFailure)i;
  if (run->stepper.constraints) PetscCall(ConstraintSetSetReversible(run->stepper.constraints, (PetscBool)(run->stepper.failure == STEP_CUT)));
  PetscFunctionReturn(0);
}

PetscErrorCode RunModel(MPI_Comm comm, Settings settings, Model model, const Probes *probes, Pairs pairs, const Supports *supports)
{
  Run         run = {.comm = comm, .model = model, .probes = probes};
  const char *history, *exodus, *reactions, *restart, *scheme;
  PetscInt    digits;
  PetscBool   check, enabled;
  PetscReal   t, max_time;
  void (*old[3])(int);
  const int   signals[3] = {SIGINT, SIGTERM, SIGUSR1};

  PetscFunctionBeginUser;
  PetscCallMPI(MPI_Comm_rank(comm, &run.rank));
  PetscCallMPI(MPI_Comm_size(comm, &run.size));
  run.began    = MPI_Wtime();
  run.terminal = RunIsTerminal_Private(run.size);
  PetscCall(SettingsGetString(settings, "output_history", "", &history, NULL));
  PetscCall(SettingsGetString(settings, "output_exodus", "", &exodus, NULL));
  PetscCall(SettingsGetString(settings, "output_reactions", "", &reactions, NULL));
  PetscCall(SettingsGetReal(settings, "output_interval", 0, &run.interval, NULL));
  PetscCall(SettingsGetInt(settings, "output_digits", 10, &digits, NULL));
  PetscCall(SettingsGetString(settings, "summary", "", &run.summary, NULL));
  PetscCall(SettingsGetString(settings, "checkpoint", "", &run.checkpoint, NULL));
  PetscCall(SettingsGetInt(settings, "checkpoint_every", 0, &run.checkpoint_every, NULL));
  PetscCall(SettingsGetString(settings, "restart", "", &restart, NULL));
  PetscCall(SettingsGetReal(settings, "max_wall_time", 0, &run.max_wall, NULL));
  PetscCall(SettingsGetBool(settings, "progress", PETSC_TRUE, &run.progress, NULL));
  PetscCall(SettingsGetReal(settings, "energy_guard", 0.1, &run.guard, NULL));
  PetscCall(SettingsGetInt(settings, "energy_every", 1, &run.every, NULL));
  PetscCall(SettingsGetReal(settings, "indicator_warn", 0.3, &run.stepper.warn, NULL));
  PetscCall(SettingsGetBool(settings, "check", PETSC_FALSE, &check, NULL));
#define Require(key, cond, ...) PetscCall(SettingsRequire(settings, key, (cond) ? PETSC_TRUE : PETSC_FALSE, __VA_ARGS__))
  Require("output_digits", digits >= 1 && digits <= 17, "%" PetscInt_FMT " is not between 1 and 17", digits);
  Require("energy_every", run.every >= 0, "%" PetscInt_FMT " is below zero", run.every);
  Require("energy_guard", run.guard >= 0, "%g is below zero", (double)run.guard);
  Require("max_wall_time", run.max_wall >= 0, "%g is below zero", (double)run.max_wall);
  Require("checkpoint_every", run.checkpoint_every >= 0, "%" PetscInt_FMT " is below zero", run.checkpoint_every);
  UserCheck(!run.checkpoint_every || run.checkpoint[0], "checkpoint_every needs a file: give -checkpoint file.h5");
  Require("output_interval", run.interval >= 0, "%g is below zero", (double)run.interval);
  PetscCall(SettingsGetString(settings, "ts_type", TSZHANGSKEEL, &scheme, NULL));
  Require("ts_type", !strcmp(scheme, TSZHANGSKEEL), "'%s' cannot integrate bodies; take " TSZHANGSKEEL, scheme);
  run.stepper.model  = model;
  PetscCall(SettingsGetBool(settings, "contact_enabled", model->nglobal > 1 ? PETSC_TRUE : PETSC_FALSE, &enabled, NULL));
  Require("output_reactions", !reactions[0] || supports->n, "there are no constraints");
  if (enabled || supports->n) {
    PetscCall(ErrorAgree(comm, ConstraintSetCreate(model, &run.stepper.constraints)));
    PetscCall(ConstraintSetSetFromOptions(run.stepper.constraints));
    PetscCall(ConstraintSetSetContact(run.stepper.constraints, enabled));
    PetscCall(PairsApply(pairs, run.stepper.constraints));
  }
  PetscCall(RunFailure_Private(&run, settings));
  PetscCall(ContactOutputCreate(comm, settings, model, run.stepper.constraints, &run.contacts));
  run.stepper.rtol   = 1e-12;
  run.stepper.max_it = 25;
  PetscCall(EventRegister(run.stepper.event));
  PetscCall(TSCreate(comm, &run.ts));
  PetscCall(TSSetApplicationContext(run.ts, &run.stepper));
  PetscCall(TSSetType(run.ts, TSZHANGSKEEL));
  PetscCall(TSSetMaxSteps(run.ts, PETSC_MAX_INT));
  PetscCall(TSSetMaxTime(run.ts, PETSC_MAX_REAL));
  PetscCall(TSSetTimeStep(run.ts, -1));
  PetscCall(TSSetSolution(run.ts, model->q));
  PetscCall(TSSetFromOptions(run.ts));
  UserCheck(!run.stepper.implicit || !run.stepper.constraints, "ts_zhangskeel_implicit: the iterated step is for free bodies: give -contact_enabled false and no constraints, or leave it out");
  {
    PetscInt max_steps;

    PetscCall(TSGetTimeStep(run.ts, &run.h));
    PetscCall(TSGetMaxTime(run.ts, &max_time));
    PetscCall(TSGetMaxSteps(run.ts, &max_steps));
    PetscCall(TSGetTime(run.ts, &run.t0));
    Require("ts_dt", run.h > 0, "give the length of a step, above zero: ts: {dt: 1e-3} or -ts_dt 1e-3");
    Require("ts_max_time", max_time >= run.t0, "%g is before the start", (double)max_time);
    Require("ts_max_steps", max_steps >= 0, "%" PetscInt_FMT " is below zero", max_steps);
    UserCheck(max_time < PETSC_MAX_REAL || max_steps < PETSC_MAX_INT, "give the end of the run: -ts_max_time (model time) or -ts_max_steps");
  }
#undef Require
  PetscCall(TSZhangSkeelSetOrigin(run.ts, run.t0));
  PetscCall(TSZhangSkeelSetBalance(run.ts, RunBalanceDue_Private, &run));
  PetscCall(TSSetPostStep(run.ts, RunAccept_Private));
  PetscCall(ErrorAgree(comm, RunTrySolver_Private(model)));
  PetscCall(SettingsCheckUnused(settings));
  if (check) {
    PetscCall(PetscPrintf(comm, "check: %" PetscInt_FMT " bodies, %" PetscInt_FMT " dofs, nothing wrong\n", model->nglobal, model->ndof));
    PetscCall(ContactOutputDestroy(&run.contacts));
    PetscCall(ConstraintSetDestroy(&run.stepper.constraints));
    PetscCall(TSDestroy(&run.ts));
    PetscFunctionReturn(0);
  }
  PetscCall(ErrorAgree(comm, RunCheckOutputs_Private(&run, history, exodus, reactions)));
  PetscCall(PetscCalloc1(model->nbody, &run.start));
  PetscCall(RunNoise_Private(&run));
  if (restart[0]) PetscCall(RunRestart_Private(&run, restart));
  PetscCall(TSGetTime(run.ts, &t));
  if (history[0]) PetscCall(HistoryCreate(model, probes, history, digits, restart[0] ? PETSC_TRUE : PETSC_FALSE, t + 0.5 * run.h, &run.history));
  if (supports->n) PetscCall(ConstraintSetSetSupports(run.stepper.constraints, supports, run.t0));
  if (reactions[0]) PetscCall(ReactionsCreate(comm, supports, reactions, digits, restart[0] ? PETSC_TRUE : PETSC_FALSE, t + 0.5 * run.h, &run.reactions));
  PetscCall(ContactOutputOpen(run.contacts, digits, restart[0] ? PETSC_TRUE : PETSC_FALSE, t, run.h));
  if (exodus[0]) PetscCall(RunResultsCreate_Private(&run, exodus, restart[0] ? PETSC_TRUE : PETSC_FALSE, t));
  PetscCall(PetscLogStageRegister("Run", &run.stage));
  PetscCall(PetscLogStagePush(run.stage));
  if (!restart[0]) {
    PetscCall(StepperEnergies(&run.stepper, t, run.h, 0));
    for (PetscInt i = 0; i < model->nbody; i++) run.start[i] = BodyTotal_Private(&model->domain[i]->batch->ledger[model->domain[i]->lane * LEDGER_SIZE]);
    PetscCall(RunBalance_Private(&run, 0, t, PETSC_TRUE));
    PetscCall(RunOutput_Private(&run, t));
  }
  for (PetscInt i = 0; i < 3; i++) old[i] = signal(signals[i], SignalHandler);
  run.began = MPI_Wtime();
  PetscCall(TSSolve(run.ts, NULL));
  for (PetscInt i = 0; i < 3; i++) signal(signals[i], old[i]);
  PetscCall(PetscLogStagePop());
  PetscCall(RunSummary_Private(&run));
  PetscCall(HistoryDestroy(&run.history));
  PetscCall(ReactionsDestroy(&run.reactions));
  PetscCall(ContactOutputDestroy(&run.contacts));
  PetscCall(ResultsDestroy(&run.results));
  PetscCall(PetscFree(run.start));
  PetscCall(ConstraintSetDestroy(&run.stepper.constraints));
  PetscCall(TSDestroy(&run.ts));
  PetscFunctionReturn(0);
}
