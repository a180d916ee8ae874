/* nlgs: nonlinear Gauss-Seidel, block after block with the exact solution of the one-contact problem. */
#include "dual_impl.h"
#include "cone.h"
#include "mixing.h"
#include "physics/rotation.h"
#include <petsc/private/snesimpl.h>

#define BATCH  10 /* sweeps of the warm-up between looks at the merit */
#define WINDOW 5  /* batches by which their rate is judged */
#define LOOK   1.6 /* a merit is about 0.55 of the change of a sweep by the same measure: look at it when it may be reached */
#define FEW    0.1  /* of the blocks: so many are swept by themselves */
#define LARGE  10   /* times its fair share of the change that may be left: a block that has more is among them */
#define SPARE  0.5  /* of a sweep: what their sweeps may cost */
#define ACCURACY 0.03 /* of the slip of one contact, in units of the merit to reach */

struct _p_Nlgs {
  OneContact *one;
  PetscReal  *inverse; /* 9 of each block that is no cone: of W_ii, by columns; 1 / W of an interval */
  PetscReal  *best;    /* 3 of each block: the best iterate of a solve */
  PetscReal  *change;  /* of each block in the last sweep over it: |dr|^2 / rho */
  PetscInt   *few;
  PetscInt    capacity;
  PetscReal   accuracy; /* of slips in a sweep: a part of what the sweeps are to reach */
  Mixing      mixing;
};

PetscErrorCode NlgsCreate(Nlgs *g)
{
  PetscFunctionBeginUser;
  PetscCall(PetscNew(g));
  PetscCall(MixingCreate(&(*g)->mixing));
  PetscFunctionReturn(0);
}

PetscErrorCode NlgsDestroy(Nlgs *g)
{
  PetscFunctionBeginUser;
  if (!*g) PetscFunctionReturn(0);
  PetscCall(MixingDestroy(&(*g)->mixing));
  PetscCall(PetscFree5((*g)->one, (*g)->inverse, (*g)->best, (*g)->change, (*g)->few));
  PetscCall(PetscFree(*g));
  PetscFunctionReturn(0);
}

/* Inverse of W_ii, by columns as W_ii is; where that is singular, of W_ii plus a little: a proximal step */
static void Inverse_Private(const PetscReal *w, PetscReal *v)
{
  const PetscReal trace = w[0] + w[4] + w[8], shift = Mat3Det(w) > 1e-12 * trace * trace * trace ? 0 : 1e-3 * trace / 3;
  PetscReal       a[9];

  for (PetscInt k = 0; k < 9; k++) a[k] = w[k] + (k % 4 ? 0 : shift);
  if (!Mat3Inverse(a, v)) /* so far from definite that nothing helps: a step of the size that the trace suggests */
    for (PetscInt k = 0; k < 9; k++) v[k] = k % 4 ? 0 : 3 / trace;
}

PetscErrorCode NlgsSetUp(Nlgs g, System s)
{
  PetscFunctionBeginUser;
  g->accuracy = 0;
  if (s->n > g->capacity) {
    g->capacity = s->n + s->n / 2;
    PetscCall(PetscFree5(g->one, g->inverse, g->best, g->change, g->few));
    PetscCall(PetscMalloc5(g->capacity, &g->one, 9 * g->capacity, &g->inverse, 3 * g->capacity, &g->best, g->capacity, &g->change, g->capacity, &g->few));
  }
  for (PetscInt i = 0; i < s->n; i++) {
    const PetscReal *w = s->w + 9 * s->diag[i];

    if (s->relation[i] == RELATION_CONE) OneContactSetUp(w, &g->one[i]);
    else if (s->relation[i] == RELATION_INTERVAL) g->inverse[9 * i] = 1 / w[0];
    else Inverse_Private(w, g->inverse + 9 * i);
  }
  PetscFunctionReturn(0);
}

FOUR_INLINE void Block_Private(Nlgs g, System s, PetscInt i, const PetscReal b[3], const PetscReal old[3], PetscReal z[3])
{
  const PetscReal *v = g->inverse + 9 * (s->first + i);

  switch (s->relation[i]) {
  case RELATION_CONE: OneContactSolve(&g->one[s->first + i], s->mu[i], b, old, g->accuracy, z); break;
  case RELATION_INTERVAL:
    z[0] = PetscMin(PetscMax(-v[0] * b[0], s->lo[i]), s->hi[i]);
    z[1] = z[2] = 0;
    break;
  default: {
    const PetscReal *w = s->w + 9 * s->diag[i];
    PetscReal        c[3];

    /* as a correction, so that sweeps take away what the inverse of a nearly singular block has in rounding; a shift's share of r is in it */
    for (PetscInt k = 0; k < 3; k++) c[k] = -b[k] - w[k] * old[0] - w[3 + k] * old[1] - w[6 + k] * old[2];
    for (PetscInt k = 0; k < 3; k++) z[k] = old[k] + v[k] * c[0] + v[3 + k] * c[1] + v[6 + k] * c[2];
    /* an infinitely rough contact that is pressed but cannot stick without pulling has no solution of its own: the others must make one */
    if (s->relation[i] == RELATION_STICK && !(z[0] > 0)) z[0] = z[1] = z[2] = 0;
  }
  }
}

/* Blocks order[0 .. n - 1], or 0 .. n - 1 */
FOUR_CLONES static void Sweep_Private(Nlgs g, System s, PetscInt n, const PetscInt order[], PetscBool backwards, PetscReal omega, PetscReal *r, PetscReal *change, PetscReal *size)
{
  PetscReal sum = 0, all = 0;

  for (PetscInt l = 0; l < n; l++) {
    const PetscInt at = backwards ? n - 1 - l : l, i = order ? order[at] : at, d = s->diag[i];
    Four           a  = FourLoad(s->q + 3 * i);
    PetscReal      b[3], z[3], *x = r + 3 * i, dr = 0, rr = 0;

    for (PetscInt k = s->ptr[i]; k < d; k++) BlockAddMult(s->w + 9 * k, r + 3 * s->col[k], &a);
    for (PetscInt k = d + 1; k < s->ptr[i + 1]; k++) BlockAddMult(s->w + 9 * k, r + 3 * s->col[k], &a);
    for (PetscInt c = 0; c < 3; c++) b[c] = a[c];
    Block_Private(g, s, i, b, x, z);
    for (PetscInt c = 0; c < 3; c++) {
      const PetscReal y = omega == 1 ? z[c] : x[c] + omega * (z[c] - x[c]);

      dr += (y - x[c]) * (y - x[c]);
      rr += y * y;
      x[c] = y;
    }
    sum += (g->change[s->first + i] = dr / s->rho[i]);
    all += rr / s->rho[i];
  }
  *change += sum;
  *size += all;
}

/* The same with the motions of bodies, s->v, which follow r */
FOUR_CLONES static void SweepBodies_Private(Nlgs g, System s, PetscInt n, const PetscInt order[], PetscBool backwards, PetscReal omega, PetscReal *r, PetscReal *change, PetscReal *size)
{
  PetscReal sum = 0, all = 0;

  for (PetscInt l = 0; l < n; l++) {
    const PetscInt   at = backwards ? n - 1 - l : l, i = order ? order[at] : at, *body = s->body + 2 * i;
    const PetscReal *w = s->w + 9 * s->diag[i], *F = s->F + 36 * i;
    Four             a = FourLoad(s->q + 3 * i);
    PetscReal        b[3], z[3], step[3], *x = r + 3 * i, dr = 0, rr = 0;

    for (PetscInt k = 0; k < 2; k++)
      if (body[k] >= 0) MotionVelocity(F + 18 * k, s->v + 6 * body[k], &a);
    for (PetscInt c = 0; c < 3; c++) b[c] = a[c] - (w[c] * x[0] + w[3 + c] * x[1] + w[6 + c] * x[2]);
    Block_Private(g, s, i, b, x, z);
    for (PetscInt c = 0; c < 3; c++) {
      const PetscReal y = omega == 1 ? z[c] : x[c] + omega * (z[c] - x[c]);

      step[c] = y - x[c];
      dr += step[c] * step[c];
      rr += y * y;
      x[c] = y;
    }
    if (dr > 0)
      for (PetscInt k = 0; k < 2; k++)
        if (body[k] >= 0) MotionAdd(F + 18 * k, step, s->v + 6 * body[k]);
    sum += (g->change[s->first + i] = dr / s->rho[i]);
    all += rr / s->rho[i];
  }
  *change += sum;
  *size += all;
}

PetscErrorCode NlgsSweep(Nlgs g, System s, PetscBool backwards, PetscReal omega, PetscReal *r, PetscReal *change, PetscReal *size)
{
  PetscReal sum[2] = {0, 0};

  PetscFunctionBeginUser;
  if (s->bodies) {
    SystemMotions(s, r);
    SweepBodies_Private(g, s, s->n, NULL, backwards, omega, r, &sum[0], &sum[1]);
  } else if (!s->nphase) Sweep_Private(g, s, s->n, NULL, backwards, omega, r, &sum[0], &sum[1]);
  for (PetscInt l = 0; l < s->nphase; l++) {
    const PetscInt p = backwards ? s->nphase - 1 - l : l;

    if (s->exchange) PetscCall((*s->exchange)(s, r));
    Sweep_Private(g, s, s->phase[p + 1] - s->phase[p], s->order + s->phase[p], backwards, omega, r, &sum[0], &sum[1]);
  }
  if (change) *change = sum[0];
  if (size) *size = sum[1];
  PetscFunctionReturn(0);
}

PetscErrorCode NlgsSolve(Nlgs g, System s, const NlgsOptions *o, PetscReal *r, PetscReal *u, SolveReport *report, const SolveMonitors *monitor)
{
  PetscReal best = PETSC_INFINITY;

  PetscFunctionBeginUser;
  g->accuracy = ACCURACY * o->tol;
  while (report->sweeps < o->max_it) {
    const PetscInt batch = PetscMin(o->every, o->max_it - report->sweeps);

    for (PetscInt k = 0; k < batch; k++, report->sweeps++) PetscCall(NlgsSweep(g, s, o->symmetric && report->sweeps % 2 ? PETSC_TRUE : PETSC_FALSE, o->omega, r, NULL, NULL));
    PetscCall(SystemMult(s, r, u));
    PetscCall(SystemMerit(s, r, u, &report->merit));
    PetscCall(SolveMonitorCall(monitor, report));
    if (report->merit < best) {
      best = report->merit;
      if (best > o->tol) PetscCall(PetscArraycpy(g->best + 3 * s->first, r, 3 * s->n));
    }
    if (!(report->merit > o->tol)) break; /* also when it is not a number any more */
  }
  if (best > o->tol && best < PETSC_INFINITY) { /* sweeps may run in circles: the last iterate need not be the best */
    PetscCall(PetscArraycpy(r, g->best + 3 * s->first, 3 * s->n));
    PetscCall(SystemMult(s, r, u));
    report->merit = best;
  }
  PetscFunctionReturn(0);
}

/* In a large pile some few contacts, a cube that is wedged between two others, go on changing when all others have long come to rest, and every sweep over all would be
   for them. They are swept by themselves until they are at rest among the others, or have cost half a sweep. fair: |dr|^2 / rho of a block if all had the same share of
   what may be left; *spent: in sweeps over all */
static PetscErrorCode Few_Private(Nlgs g, System s, PetscReal fair, PetscReal *r, PetscReal *spent)
{
  PetscInt *few = g->few + s->first, n = 0, done = 0;
  PetscReal before = 0;

  PetscFunctionBeginUser;
  for (PetscInt i = 0; i < s->n && n <= FEW * s->n; i++) {
    const PetscReal change = g->change[s->first + i];

    if (!(change > LARGE * fair)) continue;
    few[n++] = i;
    before += change;
  }
  if (!n || n > FEW * s->n) PetscFunctionReturn(0);
  for (PetscReal sum = before, size; done + n <= SPARE * s->n && sum > PetscMax(0.01 * before, n * fair); done += n) {
    sum = size = 0;
    if (s->bodies) SweepBodies_Private(g, s, n, few, PETSC_FALSE, 1, r, &sum, &size);
    else Sweep_Private(g, s, n, few, PETSC_FALSE, 1, r, &sum, &size);
  }
  *spent += (PetscReal)done / (PetscReal)s->n;
  PetscCall(MixingMoved(g->mixing, s, r, n, few));
  PetscFunctionReturn(0);
}

/* What sweeps and Newton solves cost, in nanoseconds of one processor; only their ratio decides, and it is known by counting */
static PetscReal SweepCost_Private(System s)
{
  return s->bodies ? 130. * s->n : 60. * s->n + 4. * s->ptr[s->n];
}

PetscErrorCode NlgsWarmUp(Nlgs g, Newton newton, System s, PetscReal tol, PetscReal *r, PetscReal *u, SolveReport *report, const SolveMonitors *monitor)
{
  const PetscReal sweep = SweepCost_Private(s);
  PetscReal       merit[WINDOW], limit = -1, look = LOOK, spent = 0; /* the last ones; cost of the alternative */
  PetscInt        batch = 0;

  PetscFunctionBeginUser;
  g->accuracy = ACCURACY * tol;
  PetscCall(MixingBegin(g->mixing, s));
  for (;; batch++) {
    PetscReal last, slow;

    for (PetscInt k = 0; k < BATCH; k++) {
      PetscReal sum[2] = {0, 0}, rest;

      if (s->bodies && !k) SystemMotions(s, r);
      PetscCall(MixingStart(g->mixing, s, r));
      if (s->bodies) SweepBodies_Private(g, s, s->n, NULL, PETSC_FALSE, 1, r, &sum[0], &sum[1]);
      else PetscCall(NlgsSweep(g, s, PETSC_FALSE, 1, r, &sum[0], &sum[1]));
      PetscCall(MixingEnd(g->mixing, s, r, sum));
      report->sweeps++;
      rest = PetscSqr(tol) * (s->fclib ? sum[1] : PetscMax(sum[1], s->scale));
      if (sum[0] > PetscSqr(look) * rest) {
        if (s->nphase) continue;
        PetscCall(Few_Private(g, s, rest / s->n, r, &spent));
        for (; spent >= 1; spent--) report->sweeps++;
        continue;
      }
      look *= 0.5; /* should it be too early */
      break;
    }
    PetscCall(SystemMult(s, r, u));
    PetscCall(SystemMerit(s, r, u, &report->merit));
    PetscCall(SolveMonitorCall(monitor, report));
    last = batch ? merit[(batch - 1) % WINDOW] : PETSC_INFINITY;
    slow = batch >= WINDOW ? merit[batch % WINDOW] : batch ? merit[0] : PETSC_INFINITY;
    merit[batch % WINDOW] = report->merit;
    if (report->merit <= tol || PetscIsInfOrNanReal(report->merit)) break;
    if (report->merit <= 0.1 * last && report->merit <= 1e-3 && batch < 10) continue; /* quick: no need to ask what else there is */
    if (limit < 0) PetscCall(NewtonEstimate(newton, s, r, &limit));
    if (limit >= PETSC_INFINITY) break; /* nobody knows */
    if (!batch) {
      if (limit < 3 * BATCH * sweep) break;
      continue;
    }
    { /* sweeps to go if they go on as in the last ones, but no more than the alternative would take, all in all */
      const PetscReal rate = PetscLogReal(slow / report->merit) / PetscMin(batch, WINDOW), left = rate > 0 ? BATCH * PetscLogReal(report->merit / tol) / rate : PETSC_INFINITY;

      if (left * sweep > limit || report->sweeps * sweep > limit) break;
    }
  }
  PetscFunctionReturn(0);
}

/* ---- the SNES type ---- */

typedef struct {
  PetscReal omega;
  PetscInt  every;
  PetscBool symmetric;
} SNES_NLGS;

static PetscErrorCode NlgsKernel_Private(SNES snes, Dual d, System s, PetscReal tol, PetscReal *r, PetscReal *u, SolveReport *report, const SolveMonitors *monitor)
{
  const SNES_NLGS  *data = (SNES_NLGS *)snes->data;
  const NlgsOptions o    = {tol, data->omega, snes->max_its, data->every, data->symmetric};

  PetscFunctionBegin;
  PetscCall(NlgsSolve(d->nlgs, s, &o, r, u, report, monitor));
  PetscFunctionReturn(0);
}

static PetscErrorCode SNESSolve_NLGS(SNES snes)
{
  const SNES_NLGS *data = (SNES_NLGS *)snes->data;
  Dual             d;
  PetscReal       *x;

  PetscFunctionBegin;
  PetscCall(DualFromSNES_Private(snes, &d));
  PetscCheck(!d->matfree, d->comm, PETSC_ERR_USER_INPUT, "snes_type: nlgs needs W as blocks: take -dual_mat_type explicit");
  if (snes->normschedule == SNES_NORM_ALWAYS || snes->normschedule == SNES_NORM_DEFAULT) {
    PetscCall(DualSNESSolve_Private(snes, NlgsKernel_Private));
    PetscFunctionReturn(0);
  }
  /* as a preconditioner of another type: so many sweeps, and nothing is looked at */
  PetscCall(VecGetArray(snes->vec_sol, &x));
  PetscCall(PetscArraycpy(d->r, x, 3 * d->system->n));
  for (PetscInt i = 0; i < snes->max_its; i++) PetscCall(NlgsSweep(d->nlgs, d->system, data->symmetric && i % 2 ? PETSC_TRUE : PETSC_FALSE, data->omega, d->r, NULL, NULL));
  PetscCall(PetscArraycpy(x, d->r, 3 * d->system->n));
  PetscCall(VecRestoreArray(snes->vec_sol, &x));
  snes->iter = snes->max_its;
  if (snes->normschedule == SNES_NORM_FINAL_ONLY || snes->normschedule == SNES_NORM_INITIAL_FINAL_ONLY) {
    PetscCall(SNESComputeFunction(snes, snes->vec_sol, snes->vec_func));
    PetscCall(VecNorm(snes->vec_func, NORM_2, &snes->norm));
  }
  snes->reason = SNES_CONVERGED_ITS;
  PetscFunctionReturn(0);
}

static PetscErrorCode SNESSetFromOptions_NLGS(SNES snes, PetscOptionItems *PetscOptionsObject)
{
  SNES_NLGS *data = (SNES_NLGS *)snes->data;

  PetscFunctionBegin;
  PetscOptionsHeadBegin(PetscOptionsObject, "Nonlinear Gauss-Seidel");
  PetscCall(PetscOptionsReal("-snes_nlgs_relaxation", "1: none, below 1: damped", "", data->omega, &data->omega, NULL));
  PetscCall(PetscOptionsInt("-snes_nlgs_every", "sweeps between looks at the merit", "", data->every, &data->every, NULL));
  PetscCall(PetscOptionsBool("-snes_nlgs_symmetric", "every other sweep backwards", "", data->symmetric, &data->symmetric, NULL));
  PetscOptionsHeadEnd();
  PetscCheck(data->omega > 0 && data->omega < 2, PetscObjectComm((PetscObject)snes), PETSC_ERR_USER_INPUT, "snes_nlgs_relaxation: %g is not between 0 and 2", (double)data->omega);
  PetscCheck(data->every > 0, PetscObjectComm((PetscObject)snes), PETSC_ERR_USER_INPUT, "snes_nlgs_every: %" PetscInt_FMT " is below 1", data->every);
  PetscFunctionReturn(0);
}

static PetscErrorCode SNESView_NLGS(SNES snes, PetscViewer viewer)
{
  const SNES_NLGS *data = (SNES_NLGS *)snes->data;
  PetscBool        ascii;

  PetscFunctionBegin;
  PetscCall(PetscObjectTypeCompare((PetscObject)viewer, PETSCVIEWERASCII, &ascii));
  if (ascii) PetscCall(PetscViewerASCIIPrintf(viewer, "  relaxation %g, %s sweeps, merit every %" PetscInt_FMT "\n", (double)data->omega, data->symmetric ? "symmetric" : "forward", data->every));
  PetscFunctionReturn(0);
}

PetscErrorCode SNESCreate_NLGS(SNES snes)
{
  SNES_NLGS *data;

  PetscFunctionBegin;
  PetscCall(DualSNESCreate_Private(snes, 10000));
  PetscCall(PetscNew(&data));
  snes->data                = data;
  data->omega               = 1;
  data->every               = 10;
  snes->ops->solve          = SNESSolve_NLGS;
  snes->ops->setfromoptions = SNESSetFromOptions_NLGS;
  snes->ops->view           = SNESView_NLGS;
  PetscFunctionReturn(0);
}
