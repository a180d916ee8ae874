/* Proximal point with an Alart-Curnier Newton method inside, on the contacts that are closed. */
#include "dual_impl.h"
#include "cone.h"
#include "physics/rotation.h"
#include <petsc/private/snesimpl.h>

const ProxOptions ProxDefaults = {1e-8, 3e-3, 2000, 20, PETSC_TRUE};

PetscErrorCode NewtonCreate(Newton *w)
{
  PetscFunctionBeginUser;
  PetscCall(PetscNew(w));
  PetscCall(BlockLUCreate(&(*w)->lu));
  PetscCall(BodyLUCreate(&(*w)->bodylu));
  PetscFunctionReturn(0);
}

PetscErrorCode NewtonDestroy(Newton *w)
{
  PetscFunctionBeginUser;
  if (!*w) PetscFunctionReturn(0);
  PetscCall(BlockLUDestroy(&(*w)->lu));
  PetscCall(BodyLUDestroy(&(*w)->bodylu));
  PetscCall(PetscFree5((*w)->ua, (*w)->rk, (*w)->best, (*w)->x, (*w)->f));
  PetscCall(PetscFree6((*w)->m, (*w)->dd, (*w)->z, (*w)->h, (*w)->state, (*w)->inverse));
  PetscCall(NewtonReset(*w));
  PetscCall(PetscFree(*w));
  PetscFunctionReturn(0);
}

PetscErrorCode NewtonReset(Newton w)
{
  PetscFunctionBeginUser;
  w->graph = NULL;
  PetscCall(MatDestroy(&w->jacobian));
  PetscCall(VecDestroy(&w->b));
  PetscCall(VecDestroy(&w->y));
  PetscFunctionReturn(0);
}

PetscErrorCode NewtonReserve(Newton w, System s)
{
  const PetscInt all = s->n + s->nghost;

  PetscFunctionBeginUser;
  w->system = s;
  if (all > w->capacity || !w->capacity) {
    const PetscInt c = w->capacity = all + all / 2 + 1;

    PetscCall(PetscFree5(w->ua, w->rk, w->best, w->x, w->f));
    PetscCall(PetscFree6(w->m, w->dd, w->z, w->h, w->state, w->inverse));
    PetscCall(PetscMalloc5(3 * c + 1, &w->ua, 3 * c + 1, &w->rk, 3 * c + 1, &w->best, 3 * c + 1, &w->x, 3 * c + 1, &w->f));
    PetscCall(PetscMalloc6(9 * c, &w->m, 9 * c, &w->dd, 3 * c + 1, &w->z, 9 * c, &w->h, c, &w->state, 9 * c, &w->inverse));
  }
  if (w->graph != s && !s->shared && !s->matfree) {
    if (s->bodies) PetscCall(BodyLUReset(w->bodylu));
    else PetscCall(BlockLUSetGraph(w->lu, s->n, s->ptr, s->col));
    w->graph = s;
  }
  PetscFunctionReturn(0);
}

#define NEWTON_SOLVES 8 /* that a problem mostly takes */

PetscErrorCode NewtonEstimate(Newton w, System s, const PetscReal *r, PetscReal *cost)
{
  PetscReal products;

  PetscFunctionBeginUser;
  *cost = PETSC_INFINITY;
  if (s->shared || s->matfree) PetscFunctionReturn(0);
  PetscCall(NewtonReserve(w, s));
  for (PetscInt i = 0; i < s->n; i++) w->state[i] = r[3 * i] != 0 || r[3 * i + 1] != 0 || r[3 * i + 2] != 0;
  if (s->bodies) {
    PetscCall(BodyLUEstimate(w->bodylu, s, w->state, &products));
    *cost = NEWTON_SOLVES * (60 * products + 700. * s->n);
  } else {
    PetscCall(BlockLUSetActive(w->lu, w->state));
    BlockLUGetProducts(w->lu, &products);
    *cost = NEWTON_SOLVES * (8 * products + 100. * s->n + 10. * s->ptr[s->n]);
  }
  PetscFunctionReturn(0);
}

enum { STATE_FIXED, STATE_PLAIN, STATE_MIXED }; /* leaves the system with a known step; row of W alone; row times m */

/* Row i of the Newton matrix: m_i W_ij, and dd_i on the diagonal */
static void ProxRow_Private(void *ctx, PetscInt i, PetscInt n, const PetscInt place[], PetscReal *value)
{
  const Newton     w = (Newton)ctx;
  const System     s = w->system;
  const PetscReal *m = w->m + 9 * i, *d = w->dd + 9 * i;

  for (PetscInt k = 0; k < n; k++, value += 12) {
    const PetscReal *a = s->w + 9 * place[k];

    if (w->state[i] == STATE_PLAIN) {
      for (PetscInt r = 0; r < 3; r++)
        for (PetscInt c = 0; c < 3; c++) value[4 * r + c] = a[3 * c + r];
    } else {
      for (PetscInt r = 0; r < 3; r++)
        for (PetscInt c = 0; c < 3; c++) value[4 * r + c] = m[3 * r] * a[3 * c] + m[3 * r + 1] * a[3 * c + 1] + m[3 * r + 2] * a[3 * c + 2];
    }
    if (place[k] == s->diag[i])
      for (PetscInt r = 0; r < 3; r++)
        for (PetscInt c = 0; c < 3; c++) value[4 * r + c] += d[3 * r + c];
    value[3] = value[7] = value[11] = 0;
  }
}

/* The state of block i at (r, u), its part of the Newton system without the product by W, and |F_AC|^2 / rho of it.
   dd: what is added to the diagonal block of W; b: right-hand side; of a fixed block b is its step. ad = alpha / rho is the proximal term. */
static PetscReal ProxBlock_Private(System s, PetscInt i, PetscReal ad, const PetscReal *r, const PetscReal *u, unsigned char *state, PetscReal *m, PetscReal *dd, PetscReal *b)
{
  const PetscReal rho = s->rho[i], x[3] = {r[0] - rho * u[0], r[1] - rho * u[1], r[2] - rho * u[2]};
  const Relation  rel = (Relation)s->relation[i];
  PetscReal       f2;

  if ((rel == RELATION_CONE || rel == RELATION_STICK) && x[0] <= 0) {
    *state = STATE_FIXED;
    for (PetscInt c = 0; c < 3; c++) b[c] = -r[c];
    return (r[0] * r[0] + r[1] * r[1] + r[2] * r[2]) / rho;
  }
  if (rel == RELATION_INTERVAL && (x[0] <= s->lo[i] || x[0] >= s->hi[i])) {
    *state = STATE_FIXED;
    b[0]   = (x[0] <= s->lo[i] ? s->lo[i] : s->hi[i]) - r[0];
    b[1] = b[2] = 0;
    return b[0] * b[0] / rho;
  }
  if (rel == RELATION_CONE) {
    const PetscReal mu = s->mu[i], t = PetscSqrtReal(x[1] * x[1] + x[2] * x[2]);

    if (t > mu * x[0] || mu == 0) {
      const PetscReal s0 = t > 0 ? x[1] / t : 0, s1 = t > 0 ? x[2] / t : 0, k = t > 0 ? mu * x[0] / t : 0;
      const PetscReal q00 = k * (1 - s0 * s0), q01 = -k * s0 * s1, q11 = k * (1 - s1 * s1), ir = 1 / rho;
      const PetscReal f1 = r[1] - mu * x[0] * s0, f2_ = r[2] - mu * x[0] * s1;

      *state = STATE_MIXED;
      m[0] = 1, m[1] = m[2] = 0;
      m[3] = mu * s0, m[4] = q00, m[5] = q01;
      m[6] = mu * s1, m[7] = q01, m[8] = q11;
      dd[0] = ad, dd[1] = dd[2] = 0;
      dd[3] = m[3] * ad - ir * mu * s0, dd[4] = q00 * ad + ir * (1 - q00), dd[5] = q01 * ad - ir * q01;
      dd[6] = m[6] * ad - ir * mu * s1, dd[7] = q01 * ad - ir * q01, dd[8] = q11 * ad + ir * (1 - q11);
      b[0] = -u[0];
      b[1] = -ir * f1;
      b[2] = -ir * f2_;
      f2   = rho * rho * u[0] * u[0] + f1 * f1 + f2_ * f2_;
      return f2 / rho;
    }
  }
  *state = STATE_PLAIN;
  for (PetscInt k = 0; k < 9; k++) dd[k] = k % 4 ? 0 : ad;
  for (PetscInt c = 0; c < 3; c++) b[c] = -u[c];
  return rho * (u[0] * u[0] + u[1] * u[1] + u[2] * u[2]);
}

/* Steps of fixed blocks go to the other side: b_i -= m_i W_ij step_j */
static void ProxFixed_Private(Newton w, System s)
{
  for (PetscInt i = 0; i < s->n; i++) {
    PetscReal a[3] = {0, 0, 0};
    PetscBool any  = PETSC_FALSE;

    if (w->state[i] == STATE_FIXED) continue;
    for (PetscInt k = s->ptr[i]; k < s->ptr[i + 1]; k++) {
      const PetscInt   j = s->col[k];
      const PetscReal *x = w->x + 3 * j, *v = s->w + 9 * k;

      if (w->state[j] != STATE_FIXED || (x[0] == 0 && x[1] == 0 && x[2] == 0)) continue;
      any = PETSC_TRUE;
      for (PetscInt c = 0; c < 3; c++) a[c] += v[c] * x[0] + v[3 + c] * x[1] + v[6 + c] * x[2];
    }
    if (!any) continue;
    if (w->state[i] == STATE_PLAIN)
      for (PetscInt c = 0; c < 3; c++) w->x[3 * i + c] -= a[c];
    else
      for (PetscInt c = 0; c < 3; c++) w->x[3 * i + c] -= w->m[9 * i + 3 * c] * a[0] + w->m[9 * i + 3 * c + 1] * a[1] + w->m[9 * i + 3 * c + 2] * a[2];
  }
}

/* The same by a product */
static PetscErrorCode ProxFixedProduct_Private(Newton w, System s)
{
  PetscReal *e = w->f, *v = w->h;

  PetscFunctionBeginUser;
  for (PetscInt i = 0; i < s->n; i++)
    for (PetscInt c = 0; c < 3; c++) e[3 * i + c] = w->state[i] == STATE_FIXED ? w->x[3 * i + c] : 0;
  PetscCall(SystemMult(s, e, v));
  for (PetscInt i = 0; i < s->n; i++) {
    PetscReal a[3];

    if (w->state[i] == STATE_FIXED) continue;
    for (PetscInt c = 0; c < 3; c++) a[c] = v[3 * i + c] - s->q[3 * i + c];
    for (PetscInt c = 0; c < 3; c++) w->x[3 * i + c] -= w->state[i] == STATE_PLAIN ? a[c] : w->m[9 * i + 3 * c] * a[0] + w->m[9 * i + 3 * c + 1] * a[1] + w->m[9 * i + 3 * c + 2] * a[2];
  }
  PetscFunctionReturn(0);
}

/* y = J x: rows of W times m plus dd; one for blocks that are fixed */
static PetscErrorCode ProxJacobianMult_Private(Mat J, Vec x, Vec y)
{
  Newton           w;
  System           s;
  PetscReal       *e, *v, *b;
  const PetscReal *a;

  PetscFunctionBeginUser;
  PetscCall(MatShellGetContext(J, &w));
  s = w->system;
  e = w->f;
  v = w->h;
  PetscCall(VecGetArrayRead(x, &a));
  PetscCall(VecGetArrayWrite(y, &b));
  for (PetscInt i = 0; i < s->n; i++)
    for (PetscInt c = 0; c < 3; c++) e[3 * i + c] = w->state[i] == STATE_FIXED ? 0 : a[3 * i + c];
  PetscCall(SystemMult(s, e, v));
  for (PetscInt i = 0; i < s->n; i++) {
    const PetscReal *d = w->dd + 9 * i, *m = w->m + 9 * i, *ai = a + 3 * i;
    PetscReal        z[3];

    for (PetscInt c = 0; c < 3; c++) z[c] = v[3 * i + c] - s->q[3 * i + c];
    for (PetscInt c = 0; c < 3; c++) {
      if (w->state[i] == STATE_FIXED) b[3 * i + c] = ai[c];
      else b[3 * i + c] = (w->state[i] == STATE_PLAIN ? z[c] : m[3 * c] * z[0] + m[3 * c + 1] * z[1] + m[3 * c + 2] * z[2]) + d[3 * c] * ai[0] + d[3 * c + 1] * ai[1] + d[3 * c + 2] * ai[2];
    }
  }
  PetscCall(VecRestoreArrayRead(x, &a));
  PetscCall(VecRestoreArrayWrite(y, &b));
  PetscFunctionReturn(0);
}

/* Inverse diagonal blocks, the preconditioner */
static PetscErrorCode ProxPCApply_Private(PC pc, Vec x, Vec y)
{
  Newton           w;
  const PetscReal *a;
  PetscReal       *b;

  PetscFunctionBeginUser;
  PetscCall(PCShellGetContext(pc, &w));
  PetscCall(VecGetArrayRead(x, &a));
  PetscCall(VecGetArrayWrite(y, &b));
  for (PetscInt i = 0; i < w->system->n; i++)
    for (PetscInt c = 0; c < 3; c++) b[3 * i + c] = w->inverse[9 * i + c] * a[3 * i] + w->inverse[9 * i + 3 + c] * a[3 * i + 1] + w->inverse[9 * i + 6 + c] * a[3 * i + 2];
  PetscCall(VecRestoreArrayRead(x, &a));
  PetscCall(VecRestoreArrayWrite(y, &b));
  PetscFunctionReturn(0);
}

static PetscErrorCode ProxInvertDiagonal_Private(Newton w, System s)
{
  PetscFunctionBeginUser;
  for (PetscInt i = 0; i < s->n; i++) {
    PetscReal  value[12], A[9];
    PetscReal *v = w->inverse + 9 * i;
    PetscInt   d = s->diag[i];

    if (w->state[i] == STATE_FIXED) {
      for (PetscInt k = 0; k < 9; k++) v[k] = k % 4 ? 0 : 1;
      continue;
    }
    ProxRow_Private(w, i, 1, &d, value);
    for (PetscInt r = 0; r < 3; r++)
      for (PetscInt c = 0; c < 3; c++) A[3 * r + c] = value[4 * r + c];
    if (Mat3Inverse(A, v)) { /* by rows; the transposed of it by columns */
      PetscReal t;

      t = v[1], v[1] = v[3], v[3] = t;
      t = v[2], v[2] = v[6], v[6] = t;
      t = v[5], v[5] = v[7], v[7] = t;
    } else
      for (PetscInt k = 0; k < 9; k++) v[k] = k % 4 ? 0 : s->rho[i];
  }
  PetscFunctionReturn(0);
}

/* x <- J^-1 x by the KSP */
static PetscErrorCode ProxSolveKSP_Private(Newton w, System s, PetscBool *ok)
{
  KSPConvergedReason reason;
  const PetscReal   *y;
  PetscReal         *b;

  PetscFunctionBeginUser;
  PetscCheck(w->ksp, s->comm, PETSC_ERR_ARG_WRONGSTATE, "no linear solver for a dual problem that is shared or known by products only");
  if (!w->jacobian) {
    PC        pc;
    PetscBool set;

    PetscCall(MatCreateShell(s->comm, 3 * s->n, 3 * s->n, PETSC_DETERMINE, PETSC_DETERMINE, w, &w->jacobian));
    PetscCall(MatShellSetOperation(w->jacobian, MATOP_MULT, (void (*)(void))ProxJacobianMult_Private));
    PetscCall(MatCreateVecs(w->jacobian, &w->y, &w->b));
    PetscCall(KSPReset(w->ksp));
    PetscCall(KSPGetPC(w->ksp, &pc));
    PetscCall(PetscObjectTypeCompareAny((PetscObject)pc, &set, PCNONE, ""));
    if (!set) {
      PetscCall(PCSetType(pc, PCSHELL));
      PetscCall(PCShellSetContext(pc, w));
      PetscCall(PCShellSetApply(pc, ProxPCApply_Private));
      PetscCall(PCShellSetName(pc, "inverse diagonal blocks"));
    }
  }
  PetscCall(KSPSetOperators(w->ksp, w->jacobian, w->jacobian));
  PetscCall(ProxInvertDiagonal_Private(w, s));
  PetscCall(VecGetArrayWrite(w->b, &b));
  PetscCall(PetscArraycpy(b, w->x, 3 * s->n));
  PetscCall(VecRestoreArrayWrite(w->b, &b));
  PetscCall(KSPSolve(w->ksp, w->b, w->y));
  PetscCall(KSPGetConvergedReason(w->ksp, &reason));
  *ok = reason > 0 || reason == KSP_DIVERGED_ITS ? PETSC_TRUE : PETSC_FALSE; /* a step that is not exact is judged by what it does */
  PetscCall(VecGetArrayRead(w->y, &y));
  PetscCall(PetscArraycpy(w->x, y, 3 * s->n));
  PetscCall(VecRestoreArrayRead(w->y, &y));
  PetscFunctionReturn(0);
}

/* x <- J^-1 x by a factorization of the blocks that are not fixed */
static PetscErrorCode ProxSolveLU_Private(Newton w, System s, PetscBool *ok)
{
  PetscFunctionBeginUser;
  ProxFixed_Private(w, s);
  PetscCall(BlockLUSetActive(w->lu, w->state)); /* FIXED is 0 */
  PetscCall(BlockLUFactor(w->lu, ProxRow_Private, w, ok));
  if (*ok) BlockLUSolve(w->lu, w->x);
  PetscFunctionReturn(0);
}

/* The same on the bodies: rows m (F v)_i + dd x_i = b_i with v = F^T x, so K = dd^-1 m, c = dd^-1 b */
static PetscErrorCode ProxSolveBodies_Private(Newton w, System s, PetscBool *ok)
{
  PetscReal *e = w->f, *v = w->z;

  PetscFunctionBeginUser;
  for (PetscInt i = 0; i < s->n; i++)
    for (PetscInt c = 0; c < 3; c++) e[3 * i + c] = w->state[i] == STATE_FIXED ? w->x[3 * i + c] : 0;
  PetscCall(SystemMult(s, e, v));
  *ok = PETSC_TRUE;
  for (PetscInt i = 0; i < s->n; i++) {
    const PetscReal *m = w->m + 9 * i, *dd = w->dd + 9 * i;
    PetscReal       *x = w->x + 3 * i, *K = w->h + 9 * i, a[3], b[3], inverse[9];

    if (w->state[i] == STATE_FIXED) continue;
    for (PetscInt c = 0; c < 3; c++) a[c] = v[3 * i + c] - s->q[3 * i + c];
    if (w->state[i] == STATE_PLAIN) {
      for (PetscInt k = 0; k < 9; k++) K[k] = k % 4 ? 0 : 1 / dd[0];
      for (PetscInt c = 0; c < 3; c++) x[c] = (x[c] - a[c]) / dd[0];
      continue;
    }
    if (!Mat3Inverse(dd, inverse)) {
      *ok = PETSC_FALSE;
      PetscFunctionReturn(0);
    }
    for (PetscInt c = 0; c < 3; c++) b[c] = x[c] - (m[3 * c] * a[0] + m[3 * c + 1] * a[1] + m[3 * c + 2] * a[2]);
    Mat3Mult(inverse, m, K);
    Mat3Vec(inverse, b, x);
  }
  PetscCall(BodyLUFactor(w->bodylu, s, w->state, w->h, ok)); /* FIXED is 0 */
  if (*ok) BodyLUSolve(w->bodylu, s, w->state, w->h, w->x);
  PetscFunctionReturn(0);
}

typedef enum { INNER_DONE, INNER_CONVERGED, INNER_FAILED } InnerReason;

/* One inner problem: K* holds u^ + alpha D (r - rk), by Newton with full steps. On DONE the merit of (r, u) itself is below tol. */
static PetscErrorCode ProxInner_Private(Newton w, System s, PetscReal alpha, PetscInt patience, const ProxOptions *o, PetscReal *r, PetscReal *u, PetscReal *bestmerit, SolveReport *report, const SolveMonitors *monitor, PetscInt *its, InnerReason *reason)
{
  PetscReal best = PETSC_INFINITY;
  PetscInt  stagnant = 0;

  PetscFunctionBeginUser;
  *reason = INNER_FAILED;
  for (*its = 0;; ++*its) {
    PetscReal sum[2] = {0, 0}, f, merit; /* |F_AC|^2, |r - rk|^2 */
    PetscBool ok, finite;

    PetscCall(SystemMult(s, r, u));
    PetscCall(SystemMerit(s, r, u, &merit));
    report->merit = merit;
    PetscCall(SolveMonitorCall(monitor, report));
    if (merit < *bestmerit) {
      *bestmerit = merit;
      PetscCall(PetscArraycpy(w->best, r, 3 * s->n));
    }
    if (merit <= o->tol) {
      *reason = INNER_DONE;
      break;
    }
    for (PetscInt i = 0; i < s->n; i++) {
      const PetscReal ad = alpha / s->rho[i];
      PetscReal       d2 = 0, *ua = w->ua + 3 * i;

      for (PetscInt c = 0; c < 3; c++) {
        const PetscReal d = r[3 * i + c] - w->rk[3 * i + c];

        ua[c] = u[3 * i + c] + ad * d;
        d2 += d * d;
      }
      sum[1] += d2 / s->rho[i];
      sum[0] += ProxBlock_Private(s, i, ad, r + 3 * i, ua, &w->state[i], w->m + 9 * i, w->dd + 9 * i, w->x + 3 * i);
    }
    PetscCall(SystemSum(s, 2, sum));
    f      = PetscSqrtReal(sum[0]);
    finite = PetscIsInfOrNanReal(f) ? PETSC_FALSE : PETSC_TRUE;
    if (*its && finite && f <= alpha * PetscSqrtReal(sum[1])) {
      *reason = INNER_CONVERGED;
      break;
    }
    if (f < 0.9 * best) {
      if (*its || !patience) best = f; /* the first step may raise it by decades before it falls: then the start is no measure */
      stagnant = 0;
    } else if (++stagnant > (patience ? 12 : 8)) break;
    if (!finite || *its == o->inner * (patience ? 2 : 1) || report->newton >= o->max_it) break;
    if (s->shared || s->matfree) {
      PetscCall(ProxFixedProduct_Private(w, s));
      PetscCall(ProxSolveKSP_Private(w, s, &ok));
    } else if (s->bodies) PetscCall(ProxSolveBodies_Private(w, s, &ok));
    else PetscCall(ProxSolveLU_Private(w, s, &ok));
    report->newton++;
    if (!ok) break;
    for (PetscInt i = 0; i < 3 * s->n; i++) r[i] += w->x[i];
  }
  PetscFunctionReturn(0);
}

/* Takes the interior-point method's r if it is better than this one */
static PetscErrorCode ProxConic_Private(Newton w, System s, PetscReal tol, PetscInt max_it, PetscReal *r, PetscReal *u, PetscReal *best, SolveReport *report, const SolveMonitors *monitor)
{
  PetscFunctionBeginUser;
  PetscCall(SystemMult(s, r, u));
  PetscCall(SystemMerit(s, r, u, &report->merit));
  PetscCall(ConicSolve(w, s, tol, max_it, r, u, report, monitor));
  if (report->merit < *best) {
    *best = report->merit;
    PetscCall(PetscArraycpy(w->best, r, 3 * s->n));
  }
  PetscFunctionReturn(0);
}

#define PROX_PATIENCE 250 /* Newton solves; few problems need as many */

PetscErrorCode ProxSolve(Newton w, Nlgs g, System s, const ProxOptions *o, PetscReal *r, PetscReal *u, SolveReport *report, const SolveMonitors *monitor)
{
  PetscReal alpha = o->alpha0, d = 0.3, slowest = 0.3, best;
  PetscInt  successes = 0, patience = 0;
  PetscBool helped    = PETSC_FALSE;

  PetscFunctionBeginUser;
  PetscCall(NewtonReserve(w, s));
  PetscCall(SystemMult(s, r, u));
  PetscCall(SystemMerit(s, r, u, &best));
  report->merit = best;
  if (best <= o->tol) PetscFunctionReturn(0);
  PetscCall(PetscArraycpy(w->best, r, 3 * s->n));
  while (report->newton < o->max_it) {
    InnerReason reason;
    PetscInt    its;

    if (report->newton >= (patience + 1) * PROX_PATIENCE) {
      /* alpha has gone up and down without an end: the interior-point method as far as it comes, then a large alpha that shrinks slowly */
      patience++;
      slowest = d = 0.65;
      alpha       = 1;
      if (o->conic) {
        PetscCall(ProxConic_Private(w, s, o->tol, 200, r, u, &best, report, monitor));
        if (best <= o->tol) break;
      }
    }
    PetscCall(PetscArraycpy(w->rk, r, 3 * s->n));
    PetscCall(ProxInner_Private(w, s, alpha, patience, o, r, u, &best, report, monitor, &its, &reason));
    report->outer++;
    if (reason == INNER_DONE) break;
    if (reason == INNER_CONVERGED) {
      alpha = PetscMax(alpha * (its <= 3 ? d * d : its <= 6 ? d : PetscSqrtReal(d)), 1e-7);
      if (++successes == 3) {
        d         = PetscMax(slowest, d * d);
        successes = 0;
      }
      continue;
    }
    report->failed++;
    successes = 0;
    PetscCall(PetscArraycpy(r, w->rk, 3 * s->n));
    /* it pays at once where many digits are asked for; for a few of them another alpha mostly does */
    if (o->conic && !helped && s->balls && report->failed > (o->tol > 1e-6)) {
      helped = PETSC_TRUE;
      PetscCall(ProxConic_Private(w, s, PetscMax(1e-6, o->tol), 60, r, u, &best, report, monitor));
      alpha = o->alpha0 / 10;
      d     = 0.3;
      continue;
    }
    if (alpha >= 10)
      for (PetscInt k = 0; k < 20 && !s->matfree; k++, report->sweeps++) PetscCall(NlgsSweep(g, s, PETSC_FALSE, 1, r, NULL, NULL));
    alpha = PetscMin(5 * alpha, 10);
    d     = PetscSqrtReal(d);
  }
  PetscCall(PetscArraycpy(r, w->best, 3 * s->n));
  PetscCall(SystemMult(s, r, u));
  PetscCall(SystemMerit(s, r, u, &report->merit));
  PetscFunctionReturn(0);
}

/* ---- the SNES type ---- */

static PetscErrorCode ProxNewtonKernel_Private(SNES snes, Dual d, System s, PetscReal tol, PetscReal *r, PetscReal *u, SolveReport *report, const SolveMonitors *monitor)
{
  ProxOptions o = *(ProxOptions *)snes->data;

  PetscFunctionBegin;
  o.tol    = tol;
  o.max_it = snes->max_its;
  PetscCall(ProxSolve(d->newton, d->nlgs, s, &o, r, u, report, monitor));
  PetscFunctionReturn(0);
}

static PetscErrorCode SNESSolve_ProxNewton(SNES snes)
{
  PetscFunctionBegin;
  PetscCall(DualSNESSolve_Private(snes, ProxNewtonKernel_Private));
  PetscFunctionReturn(0);
}

static PetscErrorCode SNESSetFromOptions_ProxNewton(SNES snes, PetscOptionItems *PetscOptionsObject)
{
  ProxOptions *o = (ProxOptions *)snes->data;

  PetscFunctionBegin;
  PetscOptionsHeadBegin(PetscOptionsObject, "Proximal point with Newton inside");
  PetscCall(PetscOptionsReal("-snes_proxnewton_alpha", "first proximal parameter, as part of the diagonal", "", o->alpha0, &o->alpha0, NULL));
  PetscCall(PetscOptionsInt("-snes_proxnewton_inner", "most Newton steps of a proximal step", "", o->inner, &o->inner, NULL));
  PetscCall(PetscOptionsBool("-snes_proxnewton_conic", "help by the interior-point method after a failure", "", o->conic, &o->conic, NULL));
  PetscOptionsHeadEnd();
  PetscCheck(o->alpha0 > 0 && o->inner > 0, PetscObjectComm((PetscObject)snes), PETSC_ERR_USER_INPUT, "snes_proxnewton_alpha and snes_proxnewton_inner must be above zero");
  PetscFunctionReturn(0);
}

static PetscErrorCode SNESView_ProxNewton(SNES snes, PetscViewer viewer)
{
  const ProxOptions *o = (ProxOptions *)snes->data;
  PetscBool          ascii;

  PetscFunctionBegin;
  PetscCall(PetscObjectTypeCompare((PetscObject)viewer, PETSCVIEWERASCII, &ascii));
  if (ascii) PetscCall(PetscViewerASCIIPrintf(viewer, "  first alpha %g, %" PetscInt_FMT " Newton steps at most in each proximal step%s\n", (double)o->alpha0, o->inner, o->conic ? ", interior-point method after a failure" : ""));
  PetscFunctionReturn(0);
}

PetscErrorCode SNESCreate_ProxNewton(SNES snes)
{
  ProxOptions *o;

  PetscFunctionBegin;
  PetscCall(DualSNESCreate_Private(snes, 2000));
  PetscCall(PetscNew(&o));
  *o                        = ProxDefaults;
  snes->data                = o;
  snes->ops->solve          = SNESSolve_ProxNewton;
  snes->ops->setfromoptions = SNESSetFromOptions_ProxNewton;
  snes->ops->view           = SNESView_ProxNewton;
  PetscFunctionReturn(0);
}
