/* Dual and SNES: function, generalized Jacobian, the one merit that every type is judged by, and what types of ours have in common. */
#include "dual_impl.h"
#include <petsc/private/snesimpl.h>

PetscErrorCode DualFromSNES_Private(SNES snes, Dual *dual)
{
  PetscErrorCode (*fn)(SNES, Vec, Vec, void *);
  void *ctx;

  PetscFunctionBegin;
  PetscCall(SNESGetFunction(snes, NULL, &fn, &ctx));
  PetscCheck(fn == DualFunction_Private, PetscObjectComm((PetscObject)snes), PETSC_ERR_ARG_WRONGSTATE, "SNES type %s solves constraint problems only", ((PetscObject)snes)->type_name);
  *dual = (Dual)ctx;
  PetscFunctionReturn(0);
}

/* F = (r - P(r - rho u^)) / sqrt(rho): its norm by the merit's scale is the merit */
PetscErrorCode DualFunction_Private(SNES snes, Vec x, Vec f, void *ctx)
{
  Dual             d = (Dual)ctx;
  System           s = d->system;
  const PetscReal *r;
  PetscReal       *a;

  PetscFunctionBegin;
  (void)snes;
  PetscCall(VecGetArrayRead(x, &r));
  PetscCall(DualEvaluate_Private(d, r, NULL));
  PetscCall(VecGetArrayWrite(f, &a));
  for (PetscInt i = 0; i < s->n; i++) {
    const PetscReal scale = 1 / PetscSqrtReal(s->rho[i]);

    SystemNaturalMap(s, i, s->rho[i], r + 3 * i, d->cu + 3 * i, a + 3 * i);
    for (PetscInt c = 0; c < 3; c++) a[3 * i + c] *= scale;
  }
  PetscCall(VecRestoreArrayWrite(f, &a));
  PetscCall(VecRestoreArrayRead(x, &r));
  PetscFunctionReturn(0);
}

/* For variational inequalities (no friction): U itself */
static PetscErrorCode DualVelocity_Private(SNES snes, Vec x, Vec f, void *ctx)
{
  Dual             d = (Dual)ctx;
  const PetscReal *r;
  PetscReal       *a;

  PetscFunctionBegin;
  (void)snes;
  PetscCall(VecGetArrayRead(x, &r));
  PetscCall(DualEvaluate_Private(d, r, NULL));
  PetscCall(VecRestoreArrayRead(x, &r));
  PetscCall(VecGetArrayWrite(f, &a));
  PetscCall(PetscArraycpy(a, d->cu, 3 * d->system->n));
  PetscCall(VecRestoreArrayWrite(f, &a));
  PetscFunctionReturn(0);
}

static PetscErrorCode DualVelocityJacobian_Private(SNES snes, Vec x, Mat J, Mat P, void *ctx)
{
  PetscFunctionBegin; /* W, anew: a type may scale its matrix in place */
  (void)snes, (void)x, (void)J;
  PetscCall(MatCopy(((Dual)ctx)->W, P, SAME_NONZERO_PATTERN));
  PetscFunctionReturn(0);
}

/* Derivative of the projection that SystemNaturalMap() makes at x, by rows */
static void ProjectionDerivative_Private(System s, PetscInt i, const PetscReal x[3], PetscReal D[9])
{
  const Relation  rel = (Relation)s->relation[i];
  const PetscReal mu  = s->mu[i];
  PetscReal       t;

  for (PetscInt k = 0; k < 9; k++) D[k] = k % 4 ? 0 : 1;
  if (rel == RELATION_INTERVAL && (x[0] <= s->lo[i] || x[0] >= s->hi[i])) D[0] = 0;
  if (rel == RELATION_STICK && !(x[0] > 0)) D[0] = D[4] = D[8] = 0;
  if (rel != RELATION_CONE) return;
  t = PetscSqrtReal(x[1] * x[1] + x[2] * x[2]);
  if (mu * t <= -x[0]) D[0] = D[4] = D[8] = 0;
  else if (t > mu * x[0]) { /* n = (x_N + mu t) / (1 + mu^2), x_T -> mu n x_T / t */
    const PetscReal c = 1 / (1 + mu * mu), n = c * (x[0] + mu * t), s0 = x[1] / t, s1 = x[2] / t, k = mu * n / t, l = mu * mu * c - k;

    D[0] = c;
    D[1] = c * mu * s0;
    D[2] = c * mu * s1;
    D[3] = mu * c * s0;
    D[6] = mu * c * s1;
    D[4] = k + l * s0 * s0;
    D[5] = D[7] = l * s0 * s1;
    D[8] = k + l * s1 * s1;
  }
}

/* Row i of the generalized Jacobian: (I - D) + rho D (I + mu e_0 s^T) W, s = u_T / |u_T|; divided by sqrt(rho) */
PetscErrorCode DualJacobian_Private(SNES snes, Vec vx, Mat J, Mat P, void *ctx)
{
  Dual             d = (Dual)ctx;
  System           s = d->system;
  const PetscReal *r;
  PetscInt         first;

  PetscFunctionBegin;
  (void)snes, (void)J;
  PetscCall(VecGetArrayRead(vx, &r));
  PetscCall(DualEvaluate_Private(d, r, NULL));
  PetscCall(MatGetOwnershipRange(P, &first, NULL));
  first /= 3;
  for (PetscInt i = 0; i < s->n; i++) {
    const PetscReal *u = d->cu + 3 * i, rho = s->rho[i], t = PetscSqrtReal(u[1] * u[1] + u[2] * u[2]), mu = s->relation[i] == RELATION_CONE ? s->mu[i] : 0, scale = 1 / PetscSqrtReal(rho);
    const PetscReal  x[3] = {r[3 * i] - rho * (u[0] + mu * t), r[3 * i + 1] - rho * u[1], r[3 * i + 2] - rho * u[2]};
    PetscReal        D[9], M[9];

    ProjectionDerivative_Private(s, i, x, D);
    for (PetscInt a = 0; a < 3; a++) {
      M[3 * a]     = rho * D[3 * a];
      M[3 * a + 1] = rho * (D[3 * a + 1] + (t > 0 ? D[3 * a] * mu * u[1] / t : 0));
      M[3 * a + 2] = rho * (D[3 * a + 2] + (t > 0 ? D[3 * a] * mu * u[2] / t : 0));
    }
    for (PetscInt k = s->ptr[i]; k < s->ptr[i + 1]; k++) {
      const PetscReal *w = s->w + 9 * k;
      PetscReal        v[9];
      const PetscInt   row = first + i, col = first + s->col[k];

      for (PetscInt a = 0; a < 3; a++)
        for (PetscInt c = 0; c < 3; c++) v[3 * a + c] = scale * (M[3 * a] * w[3 * c] + M[3 * a + 1] * w[3 * c + 1] + M[3 * a + 2] * w[3 * c + 2] + (s->col[k] == i ? (a == c) - D[3 * a + c] : 0));
      PetscCall(MatSetValuesBlocked(P, 1, &row, 1, &col, v, INSERT_VALUES));
    }
  }
  PetscCall(VecRestoreArrayRead(vx, &r));
  PetscCall(MatAssemblyBegin(P, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(P, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(0);
}

static PetscErrorCode DualMeritAt_Private(SNES snes, Dual d, PetscReal *merit)
{
  const PetscReal *r;
  Vec              x;

  PetscFunctionBegin;
  PetscCall(SNESGetSolution(snes, &x));
  PetscCall(VecGetArrayRead(x, &r));
  PetscCall(DualEvaluate_Private(d, r, merit));
  PetscCall(VecRestoreArrayRead(x, &r));
  PetscFunctionReturn(0);
}

/* For every type, whatever norm it has */
static PetscErrorCode DualConverged_Private(SNES snes, PetscInt it, PetscReal xnorm, PetscReal ynorm, PetscReal fnorm, SNESConvergedReason *reason, void *ctx)
{
  PetscReal merit;

  PetscFunctionBegin;
  (void)it, (void)xnorm, (void)ynorm, (void)fnorm;
  PetscCall(DualMeritAt_Private(snes, (Dual)ctx, &merit));
  *reason = merit <= snes->rtol ? SNES_CONVERGED_FNORM_RELATIVE : PetscIsNanReal(merit) ? SNES_DIVERGED_FNORM_NAN : SNES_CONVERGED_ITERATING;
  PetscFunctionReturn(0);
}

/* Takes the place of PETSc's own: the merit instead of a type's own norm */
static PetscErrorCode DualMonitor_Private(SNES snes, PetscInt it, PetscReal norm, PetscViewerAndFormat *vf)
{
  Dual      d;
  PetscReal merit = norm;
  PetscErrorCode (*fn)(SNES, Vec, Vec, void *);
  void *ctx;

  PetscFunctionBegin;
  PetscCall(SNESGetFunction(snes, NULL, &fn, &ctx));
  d = (Dual)ctx;
  if (!d->own) PetscCall(DualMeritAt_Private(snes, d, &merit));
  PetscCall(PetscViewerPushFormat(vf->viewer, vf->format));
  PetscCall(PetscViewerASCIIPrintf(vf->viewer, "%3" PetscInt_FMT " SNES merit %14.12e\n", it, (double)merit));
  PetscCall(PetscViewerPopFormat(vf->viewer));
  PetscFunctionReturn(0);
}

/* W as a PETSc matrix of the given type */
static PetscErrorCode DualMakeW_Private(Dual d, MatType type, Mat *W)
{
  System   s = d->system;
  PetscInt first, *nnz;

  PetscFunctionBegin;
  PetscCall(PetscMalloc1(s->n, &nnz));
  for (PetscInt i = 0; i < s->n; i++) nnz[i] = s->ptr[i + 1] - s->ptr[i];
  PetscCall(MatCreate(d->comm, W));
  PetscCall(MatSetSizes(*W, 3 * s->n, 3 * s->n, PETSC_DETERMINE, PETSC_DETERMINE));
  PetscCall(MatSetType(*W, type));
  PetscCall(MatSetBlockSize(*W, 3));
  PetscCall(MatXAIJSetPreallocation(*W, 3, nnz, NULL, NULL, NULL));
  PetscCall(PetscFree(nnz));
  PetscCall(MatGetOwnershipRange(*W, &first, NULL));
  PetscCall(MatSetOption(*W, MAT_ROW_ORIENTED, PETSC_FALSE));
  for (PetscInt i = 0; i < s->n; i++)
    for (PetscInt k = s->ptr[i]; k < s->ptr[i + 1]; k++) {
      const PetscInt row = first / 3 + i, col = first / 3 + s->col[k];

      PetscCall(MatSetValuesBlocked(*W, 1, &row, 1, &col, s->w + 9 * k, INSERT_VALUES));
    }
  PetscCall(MatAssemblyBegin(*W, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(*W, MAT_FINAL_ASSEMBLY));
  PetscCall(MatSetOption(*W, MAT_ROW_ORIENTED, PETSC_TRUE));
  PetscFunctionReturn(0);
}

/* y = W x */
static PetscErrorCode DualMatMult_Private(Mat W, Vec x, Vec y)
{
  Dual             d;
  System           s;
  const PetscReal *a;
  PetscReal       *b;

  PetscFunctionBegin;
  PetscCall(MatShellGetContext(W, &d));
  s = d->system;
  PetscCall(VecGetArrayRead(x, &a));
  PetscCall(PetscArraycpy(d->r, a, 3 * s->n));
  PetscCall(VecRestoreArrayRead(x, &a));
  PetscCall(VecGetArrayWrite(y, &b));
  PetscCall(SystemMult(s, d->r, d->u));
  for (PetscInt i = 0; i < 3 * s->n; i++) b[i] = d->u[i] - s->q[i];
  PetscCall(VecRestoreArrayWrite(y, &b));
  PetscFunctionReturn(0);
}

PetscErrorCode DualGetMat(Dual d, Mat *W)
{
  const PetscInt n = 3 * d->system->n;

  PetscFunctionBegin;
  if (!d->mat) {
    if (d->system->shared || d->matfree || d->system->bodies) {
      PetscCall(MatCreateShell(d->comm, n, n, PETSC_DETERMINE, PETSC_DETERMINE, d, &d->mat));
      PetscCall(MatShellSetOperation(d->mat, MATOP_MULT, (void (*)(void))DualMatMult_Private));
    } else PetscCall(DualMakeW_Private(d, MATBAIJ, &d->mat));
  }
  *W = d->mat;
  PetscFunctionReturn(0);
}

/* Bounds of a variational inequality: normals from zero on, no tangents, joints free */
static PetscErrorCode DualBounds_Private(Dual d)
{
  System     s = d->system;
  Vec        lower, upper;
  PetscReal *l, *u;

  PetscFunctionBegin;
  PetscCall(VecDuplicate(d->x, &lower));
  PetscCall(VecDuplicate(d->x, &upper));
  PetscCall(VecGetArrayWrite(lower, &l));
  PetscCall(VecGetArrayWrite(upper, &u));
  for (PetscInt i = 0; i < s->n; i++)
    for (PetscInt c = 0; c < 3; c++) {
      const PetscBool contact = s->relation[i] == RELATION_CONE ? PETSC_TRUE : PETSC_FALSE, limit = s->relation[i] == RELATION_INTERVAL && c == 0 ? PETSC_TRUE : PETSC_FALSE;

      l[3 * i + c] = contact ? 0 : limit && s->lo[i] > -PETSC_INFINITY ? s->lo[i] : PETSC_NINFINITY;
      u[3 * i + c] = contact ? (c ? 0 : PETSC_INFINITY) : limit && s->hi[i] < PETSC_INFINITY ? s->hi[i] : PETSC_INFINITY;
    }
  PetscCall(VecRestoreArrayWrite(lower, &l));
  PetscCall(VecRestoreArrayWrite(upper, &u));
  PetscCall(SNESVISetVariableBounds(d->snes, lower, upper));
  PetscCall(VecDestroy(&lower));
  PetscCall(VecDestroy(&upper));
  PetscFunctionReturn(0);
}

static PetscErrorCode DualMakeVectors_Private(Dual d, PetscInt n)
{
  PetscFunctionBegin;
  PetscCall(VecDestroy(&d->x));
  PetscCall(VecDestroy(&d->f));
  PetscCall(VecCreateMPI(d->comm, 3 * n, PETSC_DETERMINE, &d->x));
  PetscCall(VecSetBlockSize(d->x, 3));
  PetscCall(VecDuplicate(d->x, &d->f));
  d->snes_n = n;
  PetscFunctionReturn(0);
}

/* Only systems that are shared or known by products need a linear solver of PETSc's; options of it are read in any case. */
static PetscErrorCode DualMakeKSP_Private(Dual d)
{
  KSP ksp;

  PetscFunctionBegin;
  PetscCall(SNESGetKSP(d->snes, &ksp));
  PetscCall(KSPSetType(ksp, KSPGMRES));
  PetscCall(KSPGMRESSetRestart(ksp, 100));
  PetscCall(KSPSetTolerances(ksp, 1e-6, PETSC_DEFAULT, PETSC_DEFAULT, 1000));
  PetscCall(KSPSetFromOptions(ksp));
  d->newton->ksp = ksp;
  PetscFunctionReturn(0);
}

static const char dual_able[] = "auto, nlgs, proxnewton, conic, newtonls, anderson, ngmres, ncg, nrichardson or qn";

/* A type that PETSc knows and that has what it needs here; option: where it was asked for */
static PetscErrorCode DualCheckType_Private(Dual d, const char option[], const char name[], const char able[])
{
  static const char *const bad[] = {SNESMS, SNESKSPONLY, SNESKSPTRANSPOSEONLY, SNESSHELL, SNESPATCH, SNESNASM, SNESASPIN, SNESFAS, SNESPYTHON, SNESCOMPOSITE, SNESNGS, NULL};
  PetscErrorCode (*create)(SNES);

  PetscFunctionBegin;
  PetscCall(PetscFunctionListFind(SNESList, name, &create));
  PetscCheck(create, d->comm, PETSC_ERR_USER_INPUT, "%s: there is no '%s'; take %s", option, name, able);
  for (PetscInt i = 0; bad[i]; i++) PetscCheck(strcmp(name, bad[i]), d->comm, PETSC_ERR_USER_INPUT, "%s: '%s' cannot solve contact problems; take %s", option, name, able);
  PetscFunctionReturn(0);
}

static PetscErrorCode DualCreateSNES_Private(Dual d)
{
  System    s = d->system;
  PetscBool vi, newton, left, set;
  SNESType  type;
  PCSide    side;
  char      name[64] = "auto";

  PetscFunctionBegin;
  d->newton->ksp = NULL;
  PetscCall(SNESDestroy(&d->snes));
  PetscCall(MatDestroy(&d->W));
  PetscCall(MatDestroy(&d->J));
  PetscCall(DualMakeVectors_Private(d, s->n));
  PetscCall(SNESCreate(d->comm, &d->snes));
  PetscCall(SNESSetType(d->snes, "auto"));
  PetscCall(SNESSetFunction(d->snes, d->f, DualFunction_Private, d));
  PetscCall(PetscOptionsGetString(NULL, NULL, "-snes_type", name, sizeof(name), NULL));
  PetscCall(DualCheckType_Private(d, "snes_type", name, dual_able));
  PetscCall(PetscOptionsGetString(NULL, NULL, "-npc_snes_type", name, sizeof(name), &set));
  if (set) PetscCall(DualCheckType_Private(d, "npc_snes_type", name, "nlgs"));
  PetscCall(SNESSetFromOptions(d->snes));
  PetscCall(SNESGetType(d->snes, &type));
  PetscCall(PetscObjectTypeCompareAny((PetscObject)d->snes, &d->own, "auto", "nlgs", "proxnewton", "conic", ""));
  PetscCall(PetscObjectTypeCompareAny((PetscObject)d->snes, &vi, SNESVINEWTONRSLS, SNESVINEWTONSSLS, ""));
  PetscCall(PetscObjectTypeCompareAny((PetscObject)d->snes, &newton, SNESNEWTONLS, SNESNEWTONTR, SNESNEWTONTRDC, ""));
  PetscCall(PetscObjectTypeCompareAny((PetscObject)d->snes, &left, SNESNCG, SNESNRICHARDSON, ""));
  PetscCall(SNESGetNPCSide(d->snes, &side));
  PetscCheck(!set || !d->own, d->comm, PETSC_ERR_USER_INPUT, "npc_snes_type: '%s' takes no nonlinear preconditioner; remove it", type);
  PetscCheck(!set || !left || side == PC_LEFT, d->comm, PETSC_ERR_USER_INPUT, "snes_npc_side: '%s' takes left only", type);
  PetscCheck(d->snes->rtol > 0, d->comm, PETSC_ERR_USER_INPUT, "snes_rtol: %g is not above 0", (double)d->snes->rtol);
  if (vi || newton) {
    PetscCheck(!d->matfree && !s->shared, d->comm, PETSC_ERR_USER_INPUT, "snes_type: '%s' needs W as blocks on one rank: take -dual_mat_type explicit and a larger -dual_island_limit, or type auto", type);
  }
  if (vi) {
    int friction = 0;

    for (PetscInt i = 0; i < s->n; i++) friction |= s->relation[i] == RELATION_STICK || (s->relation[i] == RELATION_CONE && s->mu[i] > 0);
    PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, &friction, 1, MPI_INT, MPI_MAX, d->comm));
    PetscCheck(!friction, d->comm, PETSC_ERR_USER_INPUT, "snes_type: '%s' solves contact without friction only; take auto, or friction 0", type);
    PetscCall(DualMakeW_Private(d, MATAIJ, &d->W));
    PetscCall(SNESSetFunction(d->snes, d->f, DualVelocity_Private, d));
    PetscCall(MatDuplicate(d->W, MAT_COPY_VALUES, &d->J));
    PetscCall(SNESSetJacobian(d->snes, d->J, d->J, DualVelocityJacobian_Private, d));
    PetscCall(DualBounds_Private(d));
  } else if (newton) {
    PetscCall(DualMakeW_Private(d, MATBAIJ, &d->W));
    PetscCall(MatDuplicate(d->W, MAT_DO_NOT_COPY_VALUES, &d->J));
    PetscCall(SNESSetJacobian(d->snes, d->J, d->J, DualJacobian_Private, d));
  }
  /* after SetFromOptions: some types bring tests of their own */
  PetscCall(SNESSetConvergenceTest(d->snes, DualConverged_Private, d, NULL));
  for (PetscInt i = 0; i < d->snes->numbermonitors; i++)
    if (d->snes->monitor[i] == (PetscErrorCode(*)(SNES, PetscInt, PetscReal, void *))SNESMonitorDefault) d->snes->monitor[i] = (PetscErrorCode(*)(SNES, PetscInt, PetscReal, void *))DualMonitor_Private;
  PetscFunctionReturn(0);
}

PetscErrorCode DualMakeSNES_Private(Dual d)
{
  System s = d->system;
  int    grow;

  PetscFunctionBegin;
  /* Types of ours work in vectors of any sufficient length; PETSc's need their exact one, and cannot change it. Those with matrices are made anew. */
  grow = !d->snes || s->n > d->snes_n || (!d->own && (s->n != d->snes_n || d->W));
  if (d->size > 1) PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, &grow, 1, MPI_INT, MPI_MAX, d->comm));
  if (grow && d->snes && d->own) {
    PetscCall(SNESReset(d->snes));
    PetscCall(DualMakeVectors_Private(d, s->n + s->n / 2));
    PetscCall(SNESSetFunction(d->snes, d->f, DualFunction_Private, d));
  } else if (grow) {
    PetscErrorCode ierr = DualCreateSNES_Private(d);

    if (ierr) d->newton->ksp = NULL;
    if (ierr) SNESDestroy(&d->snes); /* half made: the next problem may be one for it */
    PetscCall(ierr);
  }
  /* on several ranks the next problem may have an island that is shared */
  if (d->own && !d->newton->ksp && (d->size > 1 || d->matfree)) PetscCall(DualMakeKSP_Private(d));
  PetscFunctionReturn(0);
}

/* ---- what types of ours have in common ---- */

static PetscErrorCode DualSNESMonitor_Private(void *ctx, const SolveReport *report)
{
  SNES snes = (SNES)ctx;

  PetscFunctionBegin;
  if (snes->iter == SolveReportIterations(report) && snes->norm == report->merit) PetscFunctionReturn(0); /* said before, by the method before */
  snes->iter = SolveReportIterations(report);
  snes->norm = report->merit;
  PetscCall(SNESLogConvergenceHistory(snes, report->merit, 0));
  PetscCall(SNESMonitor(snes, snes->iter, report->merit));
  PetscFunctionReturn(0);
}

/* What islands and ranks have done: the counts of the island that took most, and means over all blocks */
static PetscErrorCode DualSumReports_Private(Dual d, SolveReport *rep)
{
  Islands   a = d->islands;
  PetscInt  most = 0;
  PetscReal sum[4] = {0, 0, 0, 0}; /* blocks that saw sweeps, Newton solves, interior-point steps; islands that were solved */
  struct {
    int n, rank;
  } top;

  PetscFunctionBegin;
  for (PetscInt k = 0; k < a->n; k++) {
    const SolveReport *r = &a->report[k];
    const PetscInt     n = a->view[k].n;

    if (SolveReportIterations(r) > SolveReportIterations(&a->report[most])) most = k;
    sum[0] += (PetscReal)(n * r->sweeps);
    sum[1] += (PetscReal)(n * r->newton);
    sum[2] += (PetscReal)(n * r->conic);
    sum[3] += SolveReportIterations(r) > 0;
  }
  *rep = a->report[most];
  if (d->size > 1) {
    PetscInt count[5] = {rep->sweeps, rep->newton, rep->outer, rep->failed, rep->conic};

    top.n    = (int)SolveReportIterations(rep);
    top.rank = d->rank;
    PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, &top, 1, MPI_2INT, MPI_MAXLOC, d->comm));
    PetscCallMPI(MPI_Bcast(count, 5, MPIU_INT, top.rank, d->comm));
    rep->sweeps = count[0], rep->newton = count[1], rep->outer = count[2], rep->failed = count[3], rep->conic = count[4];
    PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, sum, 3, MPIU_REAL, MPIU_SUM, d->comm));
    if (!d->system->shared) PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, &sum[3], 1, MPIU_REAL, MPIU_SUM, d->comm));
  }
  rep->islands = d->system->shared || d->matfree ? 1 : d->nisland;
  rep->solved  = (PetscInt)sum[3];
  for (PetscInt c = 0; c < 3; c++) rep->mean[c] = sum[c] / (PetscReal)PetscMax(d->N, 1);
  PetscFunctionReturn(0);
}

/* Island by island, each until its own merit is at most tol. Once more: those that failed are left alone. */
static PetscErrorCode DualSolveIslands_Private(SNES snes, Dual d, DualKernel kernel, PetscReal tol, PetscBool again, const SolveMonitors *monitor)
{
  PetscFunctionBegin;
  for (PetscInt k = 0; k < d->islands->n; k++) {
    System          s      = &d->islands->view[k];
    SolveReport    *rep    = &d->islands->report[k];
    const PetscReal before = rep->merit;
    const PetscInt  at     = 3 * s->first;

    if (before <= tol || (again && !(before <= snes->rtol))) continue;
    PetscCall((*kernel)(snes, d, s, tol, d->r + at, d->u + at, rep, monitor));
    if (rep->merit <= before || rep->merit <= tol) continue;
    PetscCall(PetscArraycpy(d->r + at, d->cr + at, 3 * s->n)); /* it was better before */
    PetscCall(PetscArraycpy(d->u + at, d->cu + at, 3 * s->n));
    rep->merit = before;
  }
  PetscFunctionReturn(0);
}

/* A start that is good enough is kept, and so would be, step by step, what little is left of the impulse of a contact that has opened: where that
   does no harm to its island, it goes. */
static PetscErrorCode DualRelease_Private(Dual d, PetscReal tol, PetscReal *x)
{
  int changed = 0;

  PetscFunctionBegin;
  for (PetscInt k = 0; k < d->islands->n; k++) {
    System     s = &d->islands->view[k];
    PetscReal *r = d->r + 3 * s->first, *u = d->u + 3 * s->first, *start = x + 3 * s->first, before, after;
    PetscInt   n = 0;

    PetscCall(PetscArraycpy(r, start, 3 * s->n));
    for (PetscInt i = 0; i < s->n; i++) {
      PetscReal *ri = r + 3 * i;

      if ((s->relation[i] != RELATION_CONE && s->relation[i] != RELATION_STICK) || (ri[0] == 0 && ri[1] == 0 && ri[2] == 0)) continue;
      if (ri[0] > s->rho[i] * d->cu[3 * (s->first + i)]) continue;
      ri[0] = ri[1] = ri[2] = 0;
      n++;
    }
    if (!n) continue;
    PetscCall(SystemMult(s, r, u));
    PetscCall(SystemMerit(s, start, d->cu + 3 * s->first, &before));
    PetscCall(SystemMerit(s, r, u, &after));
    if (!(after <= PetscMax(before, tol))) continue;
    PetscCall(PetscArraycpy(start, r, 3 * s->n));
    PetscCall(PetscArraycpy(d->cu + 3 * s->first, u, 3 * s->n));
    changed = 1;
  }
  if (d->size > 1) PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, &changed, 1, MPI_INT, MPI_MAX, d->comm));
  if (changed) PetscCall(DualKnow_Private(d, x, d->cu, NULL));
  PetscFunctionReturn(0);
}

PetscErrorCode DualSNESSolve_Private(SNES snes, DualKernel kernel)
{
  Dual          d;
  System        s;
  PetscReal    *x, merit;
  SolveMonitors monitor = {NULL, snes};
  SolveReport  *rep;

  PetscFunctionBegin;
  PetscCall(DualFromSNES_Private(snes, &d));
  s            = d->system;
  rep          = &d->report;
  snes->reason = SNES_CONVERGED_ITERATING;
  PetscCall(PetscMemzero(rep, sizeof(*rep)));
  PetscCall(VecGetArray(snes->vec_sol, &x));
  PetscCall(DualEvaluate_Private(d, x, NULL));
  if (!s->shared && !d->matfree) PetscCall(DualRelease_Private(d, snes->rtol, x));
  merit      = d->cmerit;
  snes->iter = 0;
  snes->norm = merit;
  PetscCall(SNESLogConvergenceHistory(snes, merit, 0));
  PetscCall(SNESMonitor(snes, 0, merit));
  PetscCall(PetscArrayzero(d->islands->report, d->islands->n));
  if (!(merit <= snes->rtol)) {
    /* Islands are not in step: several speak at the end only. */
    if ((s->shared || d->size == 1) && d->islands->n == 1 && snes->numbermonitors) monitor.fn = DualSNESMonitor_Private;
    PetscCall(PetscArraycpy(d->r, x, 3 * s->n));
    PetscCall(PetscArraycpy(d->u, d->cu, 3 * s->n));
    for (PetscInt k = 0; k < d->islands->n; k++) {
      System v = &d->islands->view[k];

      PetscCall(SystemMerit(v, d->r + 3 * v->first, d->u + 3 * v->first, &d->islands->report[k].merit));
    }
    PetscCall(DualSolveIslands_Private(snes, d, kernel, snes->rtol, PETSC_FALSE, &monitor));
    PetscCall(DualKnow_Private(d, d->r, d->u, &merit));
    if (!(merit <= snes->rtol)) { /* all just good enough may be too much together, see IslandsSetScale(): this cannot */
      PetscCall(DualSolveIslands_Private(snes, d, kernel, snes->rtol / 2, PETSC_TRUE, &monitor));
      PetscCall(DualKnow_Private(d, d->r, d->u, &merit));
    }
    PetscCall(PetscArraycpy(x, d->r, 3 * s->n));
    PetscCall(DualSumReports_Private(d, rep));
    if (!monitor.fn) PetscCall(SNESMonitor(snes, SolveReportIterations(rep), merit));
  }
  PetscCall(VecRestoreArray(snes->vec_sol, &x));
  rep->merit    = merit;
  d->iterations = SolveReportIterations(rep);
  snes->iter    = d->iterations;
  snes->norm    = merit;
  snes->reason  = merit <= snes->rtol ? SNES_CONVERGED_FNORM_RELATIVE : PetscIsNanReal(merit) ? SNES_DIVERGED_FNORM_NAN : SNES_DIVERGED_MAX_IT;
  PetscFunctionReturn(0);
}

static PetscErrorCode DualSNESNothing_Private(SNES snes)
{
  PetscFunctionBegin;
  (void)snes;
  PetscFunctionReturn(0);
}

static PetscErrorCode DualSNESDestroy_Private(SNES snes)
{
  PetscFunctionBegin;
  PetscCall(PetscFree(snes->data));
  PetscFunctionReturn(0);
}

PetscErrorCode DualSNESCreate_Private(SNES snes, PetscInt max_it)
{
  PetscFunctionBegin;
  snes->ops->setup   = DualSNESNothing_Private;
  snes->ops->reset   = DualSNESNothing_Private;
  snes->ops->destroy = DualSNESDestroy_Private;
  snes->usesksp      = PETSC_FALSE;
  snes->usesnpc      = PETSC_FALSE;
  snes->alwayscomputesfinalresidual = PETSC_FALSE;
  if (!snes->tolerancesset) snes->max_its = max_it;
  PetscFunctionReturn(0);
}

PetscErrorCode SNESRegisterAshlar(void)
{
  PetscFunctionBegin;
  PetscCall(SNESRegister("nlgs", SNESCreate_NLGS));
  PetscCall(SNESRegister("proxnewton", SNESCreate_ProxNewton));
  PetscCall(SNESRegister("conic", SNESCreate_Conic));
  PetscCall(SNESRegister("auto", SNESCreate_Auto));
  PetscFunctionReturn(0);
}
