/* Interior-point method for frictional contact: Nesterov-Todd scaling, with the term mu |u_T| of Coulomb's law inside the Newton step.
   x = (mu r_N, r_T) and z = (u^_N / mu, u_T) are in the Lorentz cone; z = W' x + q' + |z_T| e_0 with W' = P W P, q' = P q, P = diag(1/mu, 1, 1).
   One-sided limits are cones of one dimension, equal rows have no z. */
#include "dual_impl.h"
#include "physics/rotation.h"
#include <petsc/private/snesimpl.h>

static inline PetscReal Scale_Private(System s, PetscInt i)
{
  return s->relation[i] == RELATION_CONE ? 1 / s->mu[i] : 1;
}

static void ConicRow_Private(void *ctx, PetscInt i, PetscInt n, const PetscInt place[], PetscReal *value)
{
  const Newton     w = (Newton)ctx;
  const System     s = w->system;
  const PetscReal *d = w->dd + 9 * i, p = Scale_Private(s, i);

  for (PetscInt k = 0; k < n; k++, value += 12) {
    const PetscReal *a = s->w + 9 * place[k], pj = Scale_Private(s, s->col[place[k]]);

    for (PetscInt r = 0; r < 3; r++)
      for (PetscInt c = 0; c < 3; c++) value[4 * r + c] = (r ? 1 : p) * (c ? 1 : pj) * a[3 * c + r];
    if (place[k] == s->diag[i])
      for (PetscInt r = 0; r < 3; r++)
        for (PetscInt c = 0; c < 3; c++) value[4 * r + c] += d[3 * r + c];
    value[3] = value[7] = value[11] = 0;
  }
}

/* dx <- the step, of a system known by bodies. With P = diag(1/mu, 1, 1) rows are P (F v)_i + d P^-1 r_i = b_i for r = P dx, v = F^T r: K = P d^-1 P, c = P d^-1 b.
   Equal rows have no d of their own; a little of the diagonal stands in for it, and the next step takes out what that leaves. */
static PetscErrorCode ConicSolveBodies_Private(Newton w, System s, PetscReal *dx, PetscBool *ok)
{
  PetscFunctionBeginUser;
  *ok = PETSC_TRUE;
  for (PetscInt i = 0; i < s->n; i++) {
    const PetscReal p[3] = {Scale_Private(s, i), 1, 1}, *d = w->dd + 9 * i;
    PetscReal       inverse[9] = {0}, *K = w->m + 9 * i, *b = dx + 3 * i, c[3];

    if (s->relation[i] == RELATION_CONE) {
      if (!Mat3Inverse(d, inverse)) {
        *ok = PETSC_FALSE;
        PetscFunctionReturn(0);
      }
    } else if (s->relation[i] == RELATION_INTERVAL) inverse[0] = 1 / d[0];
    else inverse[0] = inverse[4] = inverse[8] = 1e8 * s->rho[i];
    Mat3Vec(inverse, b, c);
    for (PetscInt r = 0; r < 3; r++) {
      b[r] = p[r] * c[r];
      for (PetscInt k = 0; k < 3; k++) K[3 * r + k] = p[r] * inverse[3 * r + k] * p[k];
    }
  }
  PetscCall(BodyLUFactor(w->bodylu, s, NULL, w->m, ok));
  if (!*ok) PetscFunctionReturn(0);
  BodyLUSolve(w->bodylu, s, NULL, w->m, dx);
  for (PetscInt i = 0; i < s->n; i++) dx[3 * i] /= Scale_Private(s, i);
  PetscFunctionReturn(0);
}

static inline PetscReal Det_Private(const PetscReal *x)
{
  const PetscReal t = PetscSqrtReal(x[1] * x[1] + x[2] * x[2]);

  return (x[0] - t) * (x[0] + t);
}

/* Largest t with x + t dx in the cone */
static inline PetscReal StepToCone_Private(PetscInt rows, const PetscReal *x, const PetscReal *dx)
{
  PetscReal a, b, c, q;

  if (rows == 1) return dx[0] < 0 ? -x[0] / dx[0] : PETSC_INFINITY;
  a = dx[0] * dx[0] - dx[1] * dx[1] - dx[2] * dx[2];
  b = x[0] * dx[0] - x[1] * dx[1] - x[2] * dx[2];
  c = Det_Private(x);
  q = b * b - a * c;
  /* det(x + t dx) = c + 2 b t + a t^2, positive at 0: its first positive root, and x_0 stays positive until then */
  if (a > 0 && (b >= 0 || q <= 0)) return dx[0] < 0 && b < 0 ? -x[0] / dx[0] : PETSC_INFINITY;
  if (a == 0) return b < 0 ? -0.5 * c / b : PETSC_INFINITY;
  q = PetscSqrtReal(PetscMax(q, 0));
  return b < 0 ? c / (q - b) : (a < 0 ? (-b - q) / a : PETSC_INFINITY);
}

PetscErrorCode ConicSolve(Newton w, System s, PetscReal tol, PetscInt max_it, PetscReal *r, PetscReal *u, SolveReport *report, const SolveMonitors *monitor)
{
  PetscReal *x = w->f, *z = w->z, *dx, *ur, sigma = 0.5, q2 = 0, unit = 0;
  PetscInt   ncone = 0;

  PetscFunctionBeginUser;
  if (!s->balls || !s->n || s->shared || s->matfree) PetscFunctionReturn(0);
  PetscCall(NewtonReserve(w, s));
  x  = w->f; /* NewtonReserve may have moved them */
  z  = w->z;
  dx = w->x;
  ur = w->ua;
  for (PetscInt i = 0; i < s->n; i++) {
    const PetscReal p = Scale_Private(s, i), *q = s->q + 3 * i;

    q2 += p * p * q[0] * q[0] + q[1] * q[1] + q[2] * q[2];
    unit += 1 / s->rho[i];
    if (s->relation[i] != RELATION_EQUAL) ncone++;
  }
  if (!ncone || q2 == 0) PetscFunctionReturn(0);
  q2 = PetscSqrtReal(q2 / s->n);
  unit /= s->n;
  for (PetscInt i = 0; i < s->n; i++) {
    const PetscBool cone = s->relation[i] != RELATION_EQUAL ? PETSC_TRUE : PETSC_FALSE;

    x[3 * i] = cone ? q2 / unit : 0;
    z[3 * i] = cone ? q2 : 0;
    x[3 * i + 1] = x[3 * i + 2] = z[3 * i + 1] = z[3 * i + 2] = 0;
  }
  x[3 * s->n] = 0;
  if (!s->bodies) PetscCall(BlockLUSetActive(w->lu, NULL));
  for (PetscInt it = 0; it <= max_it; it++) {
    PetscReal m = 0, t = 1, merit;
    PetscBool ok;

    for (PetscInt i = 0; i < s->n; i++) { /* u of this x, kept in r's place: dx */
      dx[3 * i]     = x[3 * i] * Scale_Private(s, i);
      dx[3 * i + 1] = x[3 * i + 1];
      dx[3 * i + 2] = x[3 * i + 2];
      if (s->relation[i] != RELATION_EQUAL) m += x[3 * i] * z[3 * i] + x[3 * i + 1] * z[3 * i + 1] + x[3 * i + 2] * z[3 * i + 2];
    }
    m /= ncone;
    PetscCall(SystemMult(s, dx, ur));
    PetscCall(SystemMerit(s, dx, ur, &merit));
    if (PetscIsInfOrNanReal(merit) || PetscIsInfOrNanReal(m)) break;
    if (merit < report->merit) {
      report->merit = merit;
      PetscCall(PetscArraycpy(r, dx, 3 * s->n));
      PetscCall(PetscArraycpy(u, ur, 3 * s->n));
    }
    PetscCall(SolveMonitorCall(monitor, report));
    if (merit <= tol || it == max_it) break;
    for (PetscInt i = 0; i < s->n; i++) {
      PetscReal *h = w->h + 9 * i, *d = w->dd + 9 * i, *xi = x + 3 * i, *zi = z + 3 * i, *b = dx + 3 * i, *ui = ur + 3 * i;

      ui[0] *= Scale_Private(s, i);
      if (s->relation[i] == RELATION_EQUAL) {
        for (PetscInt k = 0; k < 9; k++) d[k] = h[k] = 0;
        for (PetscInt c = 0; c < 3; c++) b[c] = -ui[c];
      } else if (s->relation[i] == RELATION_INTERVAL) {
        for (PetscInt k = 0; k < 9; k++) d[k] = h[k] = 0;
        d[0] = h[0] = zi[0] / xi[0];
        b[0]        = -zi[0] + sigma * m / xi[0] - (ui[0] - zi[0]);
        b[1]        = -ui[1];
        b[2]        = -ui[2];
      } else {
        const PetscReal detx = Det_Private(xi), detz = Det_Private(zi), sx = 1 / PetscSqrtReal(detx), sz = 1 / PetscSqrtReal(detz), b2 = sx / sz;
        const PetscReal dot = (xi[0] * zi[0] + xi[1] * zi[1] + xi[2] * zi[2]) * sx * sz, ig = 0.5 / PetscSqrtReal(0.5 * (1 + dot));
        const PetscReal v[3] = {ig * (sz * zi[0] + sx * xi[0]), ig * (sz * zi[1] - sx * xi[1]), ig * (sz * zi[2] - sx * xi[2])};
        const PetscReal zt = PetscSqrtReal(zi[1] * zi[1] + zi[2] * zi[2]), e1 = zt > 0 ? zi[1] / zt : 0, e2 = zt > 0 ? zi[2] / zt : 0;
        PetscReal       c[3];

        for (PetscInt a = 0; a < 3; a++)
          for (PetscInt e = 0; e < 3; e++) h[3 * a + e] = b2 * (2 * v[a] * v[e] - (a == e ? (a ? -1 : 1) : 0));
        c[0] = -zi[0] + sigma * m * xi[0] / detx;
        c[1] = -zi[1] - sigma * m * xi[1] / detx;
        c[2] = -zi[2] - sigma * m * xi[2] / detx;
        for (PetscInt e = 0; e < 3; e++) {
          d[e]     = h[e] - e1 * h[3 + e] - e2 * h[6 + e];
          d[3 + e] = h[3 + e];
          d[6 + e] = h[6 + e];
        }
        b[0] = c[0] - e1 * c[1] - e2 * c[2] - (ui[0] + zt - zi[0]);
        b[1] = c[1] - (ui[1] - zi[1]);
        b[2] = c[2] - (ui[2] - zi[2]);
        for (PetscInt e = 0; e < 3; e++) ui[e] = c[e]; /* for dz */
      }
      if (s->relation[i] == RELATION_INTERVAL) ui[0] = -zi[0] + sigma * m / xi[0];
    }
    if (s->bodies) PetscCall(ConicSolveBodies_Private(w, s, dx, &ok));
    else {
      PetscCall(BlockLUFactor(w->lu, ConicRow_Private, w, &ok));
      if (ok) BlockLUSolve(w->lu, dx);
    }
    report->conic++;
    if (!ok) break;
    for (PetscInt i = 0; i < s->n; i++) {
      const PetscReal *h = w->h + 9 * i, *d = dx + 3 * i;
      PetscReal       *dz = ur + 3 * i; /* c - H dx */
      const PetscInt   rows = s->relation[i] == RELATION_INTERVAL ? 1 : 3;

      if (s->relation[i] == RELATION_EQUAL) continue;
      for (PetscInt e = 0; e < rows; e++) dz[e] -= h[3 * e] * d[0] + h[3 * e + 1] * d[1] + h[3 * e + 2] * d[2];
      t = PetscMin(t, 0.95 * StepToCone_Private(rows, x + 3 * i, d));
      t = PetscMin(t, 0.95 * StepToCone_Private(rows, z + 3 * i, dz));
    }
    if (!(t > 1e-12)) break;
    for (PetscInt i = 0; i < s->n; i++) {
      const PetscInt rows = s->relation[i] == RELATION_INTERVAL ? 1 : 3;

      for (PetscInt e = 0; e < 3; e++) x[3 * i + e] += t * dx[3 * i + e];
      if (s->relation[i] != RELATION_EQUAL)
        for (PetscInt e = 0; e < rows; e++) z[3 * i + e] += t * ur[3 * i + e];
    }
    sigma = t < 0.1 ? 2 : PetscMin(PetscMax((1 - t) * (1 - t), 0.02), 0.5); /* stuck at the boundary: back to the centre */
  }
  PetscFunctionReturn(0);
}

/* ---- the SNES type ---- */

/* Where contacts slide, the merit falls only with the square root of the complementarity: the last digits are left to the proximal Newton method,
   which needs a few steps from here. */
static PetscErrorCode ConicKernel_Private(SNES snes, Dual d, System s, PetscReal tol, PetscReal *r, PetscReal *u, SolveReport *report, const SolveMonitors *monitor)
{
  const PetscBool polish = *(PetscBool *)snes->data;
  ProxOptions     o      = ProxDefaults;

  PetscFunctionBegin;
  PetscCall(ConicSolve(d->newton, s, polish ? PetscMax(tol, 1e-6) : tol, snes->max_its, r, u, report, monitor));
  if (!polish || report->merit <= tol) PetscFunctionReturn(0);
  o.tol    = tol;
  o.alpha0 = ProxDefaults.alpha0 / 10;
  o.max_it = snes->max_its;
  o.conic  = PETSC_FALSE;
  PetscCall(ProxSolve(d->newton, d->nlgs, s, &o, r, u, report, monitor));
  PetscFunctionReturn(0);
}

static PetscErrorCode SNESSetFromOptions_Conic(SNES snes, PetscOptionItems *PetscOptionsObject)
{
  PetscBool *polish = (PetscBool *)snes->data;

  PetscFunctionBegin;
  PetscOptionsHeadBegin(PetscOptionsObject, "Interior-point method");
  PetscCall(PetscOptionsBool("-snes_conic_polish", "last digits by the proximal Newton method", "", *polish, polish, NULL));
  PetscOptionsHeadEnd();
  PetscFunctionReturn(0);
}

static PetscErrorCode SNESView_Conic(SNES snes, PetscViewer viewer)
{
  PetscBool ascii;

  PetscFunctionBegin;
  PetscCall(PetscObjectTypeCompare((PetscObject)viewer, PETSCVIEWERASCII, &ascii));
  if (ascii) PetscCall(PetscViewerASCIIPrintf(viewer, "  interior point%s\n", *(PetscBool *)snes->data ? ", last digits by proximal Newton" : ""));
  PetscFunctionReturn(0);
}

static PetscErrorCode SNESSolve_Conic(SNES snes)
{
  Dual d;
  int  able;

  PetscFunctionBegin;
  PetscCall(DualFromSNES_Private(snes, &d));
  able = d->system->balls && !d->system->shared && !d->matfree;
  PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, &able, 1, MPI_INT, MPI_LAND, d->comm));
  PetscCheck(able, d->comm, PETSC_ERR_USER_INPUT, "snes_type: conic needs W as blocks, friction above 1e-6 and finite, and limits of one side; take auto");
  PetscCall(DualSNESSolve_Private(snes, ConicKernel_Private));
  PetscFunctionReturn(0);
}

PetscErrorCode SNESCreate_Conic(SNES snes)
{
  PetscBool *polish;

  PetscFunctionBegin;
  PetscCall(DualSNESCreate_Private(snes, 200));
  PetscCall(PetscNew(&polish));
  *polish                   = PETSC_TRUE;
  snes->data                = polish;
  snes->ops->solve          = SNESSolve_Conic;
  snes->ops->setfromoptions = SNESSetFromOptions_Conic;
  snes->ops->view           = SNESView_Conic;
  PetscFunctionReturn(0);
}
