#include "dual_impl.h"

PetscErrorCode DualCreate(MPI_Comm comm, Dual *dual)
{
  Dual d;

  PetscFunctionBeginUser;
  PetscCall(PetscNew(&d));
  *dual   = d;
  d->comm = comm;
  PetscCallMPI(MPI_Comm_rank(comm, &d->rank));
  PetscCallMPI(MPI_Comm_size(comm, &d->size));
  d->island_limit = 20000;
  PetscCall(SystemCreate(&d->system));
  PetscCall(IslandsCreate(&d->islands));
  d->system->comm = comm;
  PetscCall(NlgsCreate(&d->nlgs));
  PetscCall(NewtonCreate(&d->newton));
  PetscCallMPI(MPI_Type_contiguous(3, MPIU_REAL, &d->block));
  PetscCallMPI(MPI_Type_commit(&d->block));
  PetscCall(PetscCalloc4(d->size, &d->scount, d->size + 1, &d->sstart, d->size, &d->rcount, d->size + 1, &d->rstart));
  PetscFunctionReturn(0);
}

static PetscErrorCode DualResetSNES_Private(Dual d)
{
  PetscFunctionBeginUser;
  d->newton->ksp = NULL;
  PetscCall(SNESDestroy(&d->snes));
  PetscCall(VecDestroy(&d->x));
  PetscCall(VecDestroy(&d->f));
  PetscCall(MatDestroy(&d->W));
  PetscCall(MatDestroy(&d->J));
  PetscCall(MatDestroy(&d->mat));
  PetscFunctionReturn(0);
}

PetscErrorCode DualDestroy(Dual *dual)
{
  Dual d = *dual;

  PetscFunctionBeginUser;
  if (!d) PetscFunctionReturn(0);
  PetscCall(DualResetSNES_Private(d));
  PetscCall(PetscSFDestroy(&d->sf));
  PetscCallMPI(MPI_Type_free(&d->block));
  PetscCall(SystemDestroy(&d->system));
  PetscCall(IslandsDestroy(&d->islands));
  PetscCall(NlgsDestroy(&d->nlgs));
  PetscCall(NewtonDestroy(&d->newton));
  PetscCall(PetscFree4(d->scount, d->sstart, d->rcount, d->rstart));
  PetscCall(PetscFree2(d->send, d->sbuf));
  PetscCall(PetscFree(d->number));
  PetscCall(PetscFree(d->rbuf));
  PetscCall(PetscFree5(d->r, d->u, d->cr, d->cu, d->best));
  PetscCall(PetscFree(*dual));
  PetscFunctionReturn(0);
}

PetscErrorCode DualSetMerit(Dual dual, DualMerit merit)
{
  PetscFunctionBeginUser;
  dual->merit = merit;
  PetscFunctionReturn(0);
}

/* One of some words, the number of which is *choice */
static PetscErrorCode DualChoice_Private(Dual d, const char option[], PetscInt n, const char *const words[], const char list[], PetscInt *choice)
{
  char      text[64];
  PetscBool set;

  PetscFunctionBeginUser;
  PetscCall(PetscOptionsGetString(NULL, NULL, option, text, sizeof(text), &set));
  if (!set) PetscFunctionReturn(0);
  for (*choice = 0; *choice < n; ++*choice)
    if (!strcmp(text, words[*choice])) PetscFunctionReturn(0);
  SETERRQ(d->comm, PETSC_ERR_USER_INPUT, "%s: there is no '%s'; take %s", option + 1, text, list);
}

PetscErrorCode DualSetFromOptions(Dual d)
{
  static const char *const types[] = {"auto", "bodies", "explicit", "free"}, *const orders[] = {"natural", "coloring"};
  static const char *const own[] = {"auto", "nlgs", "proxnewton", "conic"};
  PetscInt                 type = d->type, order = d->coloring;
  char                     name[64] = "auto";

  PetscFunctionBeginUser;
  PetscCall(DualChoice_Private(d, "-dual_mat_type", 4, types, "auto, bodies, explicit or free", &type));
  PetscCall(DualChoice_Private(d, "-dual_ordering", 2, orders, "natural or coloring", &order));
  d->type     = (DualMatType)type;
  d->matfree  = type == DUAL_MAT_FREE ? PETSC_TRUE : PETSC_FALSE;
  d->coloring = order ? PETSC_TRUE : PETSC_FALSE;
  PetscCall(PetscOptionsGetString(NULL, NULL, "-snes_type", name, sizeof(name), NULL));
  d->able = PETSC_FALSE;
  for (PetscInt i = 0; i < 4; i++)
    if (!strcmp(name, own[i])) d->able = PETSC_TRUE;
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-dual_island_limit", &d->island_limit, NULL));
  PetscCheck(d->island_limit >= 0, d->comm, PETSC_ERR_USER_INPUT, "dual_island_limit: %" PetscInt_FMT " is below 0", d->island_limit);
  PetscCall(PetscOptionsHasName(NULL, NULL, "-dual_view", &d->viewed));
  PetscFunctionReturn(0);
}

/* q is as given: scales, cohesion */
static PetscErrorCode DualSetUpB_Private(Dual d)
{
  System s = d->system;

  PetscFunctionBeginUser;
  PetscCall(SystemSetScale(s));
  d->scale = s->scale;
  if (d->size > 1 && !s->shared) {
    if (s->fclib) d->scale *= d->scale;
    PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, &d->scale, 1, MPIU_REAL, MPIU_SUM, d->comm));
    if (s->fclib) d->scale = PetscSqrtReal(d->scale);
  }
  PetscCall(IslandsSetScale(d->islands, s, d->N, d->scale));
  PetscCall(SystemSetCohesion(s));
  d->cached = PETSC_FALSE;
  PetscFunctionReturn(0);
}

/* Below so many blocks W is quick to make and to factorize as it is */
#define DUAL_FEW 200

PetscErrorCode DualTakesBodies(Dual d, PetscInt N, PetscBool *yes)
{
  PetscFunctionBeginUser;
  *yes = (PetscBool)(d->type == DUAL_MAT_BODIES || (d->type == DUAL_MAT_AUTO && N >= DUAL_FEW));
  /* an island that is too large for one rank is spread by its blocks; by bodies it is a tenth as large */
  if (!d->able || d->coloring || d->viewed || d->merit == DUAL_MERIT_FCLIB || (d->size > 1 && N / 10 > d->island_limit)) *yes = PETSC_FALSE;
  PetscFunctionReturn(0);
}

static PetscErrorCode DualSetProblem_Private(Dual d, PetscInt n, const PetscInt ptr[], const PetscInt col[], const DualValues *values, const PetscReal b[], const Row row[])
{
  System   s = d->system;
  PetscInt all;

  PetscFunctionBeginUser;
  for (PetscInt i = 0; i < n; i++) {
    PetscCheck(row[i].rows >= 1 && row[i].rows <= 3, PETSC_COMM_SELF, PETSC_ERR_ARG_OUTOFRANGE, "block %" PetscInt_FMT " has %" PetscInt_FMT " rows", i, row[i].rows);
    PetscCheck(row[i].relation != RELATION_CONE || row[i].friction >= 0, PETSC_COMM_SELF, PETSC_ERR_USER_INPUT, "friction %g of contact %" PetscInt_FMT " is not 0 or more", (double)row[i].friction, i + 1);
    PetscCheck(row[i].relation != RELATION_INTERVAL || (row[i].rows == 1 && row[i].lower <= row[i].upper), PETSC_COMM_SELF, PETSC_ERR_ARG_OUTOFRANGE, "limits of block %" PetscInt_FMT " are wrong", i);
    PetscCheck((row[i].relation != RELATION_CONE && row[i].relation != RELATION_STICK) || row[i].rows > 1, PETSC_COMM_SELF, PETSC_ERR_ARG_OUTOFRANGE, "a contact needs a tangent, block %" PetscInt_FMT " has none", i);
  }
  PetscCall(MatDestroy(&d->mat));
  s->fclib = d->merit == DUAL_MERIT_FCLIB ? PETSC_TRUE : PETSC_FALSE;
  d->n     = n;
  s->bodies = values->bodies;
  PetscCall(DualDistribute_Private(d, n, ptr, col, values, b, row));
  s->matfree = d->matfree;
  PetscCall(SystemSetUp(s));
  PetscCall(IslandsSetUp(d->islands, s, s->shared || s->matfree ? PETSC_TRUE : PETSC_FALSE));
  PetscCall(DualSetUpB_Private(d));
  if (!d->matfree) PetscCall(NlgsSetUp(d->nlgs, s));
  PetscCall(NewtonReset(d->newton));
  all = s->n + s->nghost;
  if (all > d->rucapacity || !d->rucapacity) {
    const PetscInt c = d->rucapacity = all + all / 2 + 1;

    PetscCall(PetscFree5(d->r, d->u, d->cr, d->cu, d->best));
    PetscCall(PetscCalloc5(3 * c + 1, &d->r, 3 * c + 1, &d->u, 3 * c + 1, &d->cr, 3 * c + 1, &d->cu, 3 * c + 1, &d->best));
  }
  d->r[3 * all] = d->cr[3 * all] = d->best[3 * all] = 0;
  PetscFunctionReturn(0);
}

PetscErrorCode DualSetProblem(Dual d, PetscInt n, const PetscInt ptr[], const PetscInt col[], const PetscReal w[], const PetscReal b[], const Row row[])
{
  const DualValues values = {PETSC_FALSE, w, NULL, NULL};

  PetscFunctionBeginUser;
  PetscCall(DualSetProblem_Private(d, n, ptr, col, &values, b, row));
  PetscFunctionReturn(0);
}

PetscErrorCode DualSetProblemByBodies(Dual d, PetscInt n, const PetscInt ptr[], const PetscInt col[], const PetscInt body[], const PetscReal F[], const PetscReal b[], const Row row[])
{
  const DualValues values = {PETSC_TRUE, NULL, body, F};

  PetscFunctionBeginUser;
  PetscCheck(!d->matfree, d->comm, PETSC_ERR_ARG_WRONGSTATE, "-dual_mat_type free takes blocks");
  PetscCall(DualSetProblem_Private(d, n, ptr, col, &values, b, row));
  PetscFunctionReturn(0);
}

PetscErrorCode DualSetB(Dual d, const PetscReal b[])
{
  System s = d->system;

  PetscFunctionBeginUser;
  PetscCall(DualToSystem_Private(d, b, s->q));
  for (PetscInt i = 0; i < s->n; i++)
    for (PetscInt c = s->rows[i]; c < 3; c++) s->q[3 * i + c] = 0;
  PetscCall(DualSetUpB_Private(d));
  PetscFunctionReturn(0);
}

PetscErrorCode DualEvaluate_Private(Dual d, const PetscReal x[], PetscReal *merit)
{
  System s    = d->system;
  int    same = d->cached && (!s->n || !memcmp(x, d->cr, 3 * s->n * sizeof(PetscReal)));

  PetscFunctionBeginUser;
  if (d->size > 1) PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, &same, 1, MPI_INT, MPI_LAND, d->comm));
  if (!same) {
    PetscCall(PetscArraycpy(d->cr, x, 3 * s->n));
    PetscCall(SystemMult(s, d->cr, d->cu));
    PetscCall(DualKnow_Private(d, d->cr, d->cu, NULL));
  }
  if (merit) *merit = d->cmerit;
  PetscFunctionReturn(0);
}

PetscErrorCode DualKnow_Private(Dual d, const PetscReal r[], const PetscReal u[], PetscReal *merit)
{
  const PetscInt n = 3 * d->system->n;

  PetscFunctionBeginUser;
  if (r != d->cr) PetscCall(PetscArraycpy(d->cr, r, n));
  if (u != d->cu) PetscCall(PetscArraycpy(d->cu, u, n));
  PetscCall(DualMerit_Private(d, d->cr, d->cu, &d->cmerit));
  d->cached = PETSC_TRUE;
  if (d->cmerit < d->bestmerit) {
    d->bestmerit = d->cmerit;
    PetscCall(PetscArraycpy(d->best, d->cr, n));
  }
  if (merit) *merit = d->cmerit;
  PetscFunctionReturn(0);
}

/* Of all ranks' systems together */
PetscErrorCode DualMerit_Private(Dual d, const PetscReal r[], const PetscReal u[], PetscReal *merit)
{
  System          s      = d->system;
  const PetscBool shared = s->shared;
  const PetscReal scale  = s->scale;

  PetscFunctionBeginUser;
  s->scale  = d->scale;
  s->shared = d->size > 1 ? PETSC_TRUE : shared;
  PetscCall(SystemMerit(s, r, u, merit));
  s->shared = shared;
  s->scale  = scale;
  PetscFunctionReturn(0);
}

PetscErrorCode DualSolve(Dual d, PetscReal R[], PetscReal U[], SNESConvergedReason *reason)
{
  System    s = d->system;
  PetscReal merit, rtol, *x;

  PetscFunctionBeginUser;
  PetscCall(DualMakeSNES_Private(d));
  PetscCall(PetscMemzero(&d->report, sizeof(d->report)));
  d->iterations = 0;
  d->bestmerit  = PETSC_INFINITY;
  PetscCall(VecGetArrayWrite(d->x, &x));
  PetscCall(DualToSystem_Private(d, R, x));
  for (PetscInt i = 0; i < s->n; i++) {
    x[3 * i] += s->cohesion[i];
    for (PetscInt c = 0; c < 3; c++)
      if (c >= s->rows[i] || PetscIsInfOrNanReal(x[3 * i + c])) x[3 * i + c] = 0; /* a start is a wish only */
  }
  PetscCall(VecRestoreArrayWrite(d->x, &x));
  if (d->N) PetscCall(SNESSolve(d->snes, NULL, d->x));
  PetscCall(VecGetArray(d->x, &x));
  PetscCall(DualEvaluate_Private(d, x, &merit));
  if (!(merit <= d->bestmerit)) { /* the last iterate need not be the best */
    PetscCall(PetscArraycpy(x, d->best, 3 * s->n));
    PetscCall(DualEvaluate_Private(d, x, &merit));
  }
  for (PetscInt i = 0; i < s->n; i++) x[3 * i] -= s->cohesion[i];
  PetscCall(DualFromSystem_Private(d, x, R));
  PetscCall(DualFromSystem_Private(d, d->cu, U));
  PetscCall(VecRestoreArray(d->x, &x));
  PetscCall(SNESGetTolerances(d->snes, NULL, &rtol, NULL, NULL, NULL));
  PetscCall(SNESGetConvergedReason(d->snes, reason));
  if (merit <= rtol) *reason = SNES_CONVERGED_FNORM_RELATIVE;
  else if (*reason >= 0) *reason = SNES_DIVERGED_MAX_IT; /* whatever the solver says */
  d->report.merit = merit;
  if (!d->own) PetscCall(SNESGetIterationNumber(d->snes, &d->iterations));
  if (d->viewed) PetscCall(DualView(d, PETSC_VIEWER_STDOUT_(d->comm)));
  PetscFunctionReturn(0);
}

PetscErrorCode DualGetReport(Dual d, SolveReport *report, PetscInt *iterations)
{
  PetscFunctionBeginUser;
  if (report) *report = d->report;
  if (iterations) *iterations = d->iterations;
  PetscFunctionReturn(0);
}

PetscErrorCode DualGetSNES(Dual d, SNES *snes)
{
  PetscFunctionBeginUser;
  PetscCall(DualMakeSNES_Private(d));
  *snes = d->snes;
  PetscFunctionReturn(0);
}

/* Rank of W estimated by the diagonal of a pivoted Cholesky factorization: exact but for round-off, dense, so for small systems only */
static PetscErrorCode DualRank_Private(System s, PetscInt *rank, PetscInt *rows)
{
  const PetscInt n = 3 * s->n;
  PetscReal     *a, *d, top = 0;
  PetscInt      *done;

  PetscFunctionBeginUser;
  *rank = *rows = 0;
  for (PetscInt i = 0; i < s->n; i++) *rows += s->rows[i];
  PetscCall(PetscCalloc3((size_t)n * n, &a, n, &d, n, &done));
  for (PetscInt i = 0; i < s->n; i++)
    for (PetscInt k = s->ptr[i]; k < s->ptr[i + 1]; k++)
      for (PetscInt r = 0; r < s->rows[i]; r++)
        for (PetscInt c = 0; c < s->rows[s->col[k]]; c++) a[(size_t)(3 * i + r) * n + 3 * s->col[k] + c] = s->w[9 * k + 3 * c + r] * PetscSqrtReal(s->rho[i] * s->rho[s->col[k]]);
  for (PetscInt i = 0; i < n; i++) d[i] = a[(size_t)i * n + i];
  for (;; ++*rank) {
    PetscInt p = -1;

    for (PetscInt i = 0; i < n; i++)
      if (!done[i] && (p < 0 || d[i] > d[p])) p = i;
    if (p < 0 || !(d[p] > 1e-10 * top)) break;
    if (!*rank) top = d[p];
    done[p] = 1;
    for (PetscInt i = 0; i < n; i++) {
      if (done[i]) continue;
      {
        const PetscReal f = a[(size_t)i * n + p] / d[p];

        for (PetscInt j = 0; j < n; j++)
          if (!done[j]) a[(size_t)i * n + j] -= f * a[(size_t)p * n + j];
        d[i] = a[(size_t)i * n + i];
      }
    }
  }
  PetscCall(PetscFree3(a, d, done));
  PetscFunctionReturn(0);
}

PetscErrorCode DualView(Dual d, PetscViewer viewer)
{
  static const char *const names[] = {"cone", "stick", "equal", "interval"};
  System                   s       = d->system;
  PetscReal                part[6] = {0}, sum[2] = {0, 0}, least = PETSC_INFINITY, most = 0;
  PetscInt                 count[8] = {0};

  PetscFunctionBeginUser;
  /* residual of each part of the law, in energy units by the merit's scale: gap (u_N < 0), pull (r_N < 0), complementarity, cone, direction of slip, equal and limits */
  for (PetscInt i = 0; i < s->n; i++) {
    const PetscReal rho = s->rho[i], *r = d->cr + 3 * i, *u = d->cu + 3 * i, ut = PetscSqrtReal(u[1] * u[1] + u[2] * u[2]), rt = PetscSqrtReal(r[1] * r[1] + r[2] * r[2]);
    PetscReal       f[3];

    count[s->relation[i]]++;
    sum[0] += (r[0] * r[0] + rt * rt) / rho;
    if (s->relation[i] == RELATION_EQUAL || s->relation[i] == RELATION_INTERVAL) {
      SystemNaturalMap(s, i, rho, r, u, f);
      part[5] += (f[0] * f[0] + f[1] * f[1] + f[2] * f[2]) / rho;
      continue;
    }
    least = PetscMin(least, s->relation[i] == RELATION_CONE ? s->mu[i] : PETSC_INFINITY);
    most  = PetscMax(most, s->relation[i] == RELATION_CONE ? s->mu[i] : PETSC_INFINITY);
    part[0] += rho * PetscSqr(PetscMin(u[0], 0));
    part[1] += PetscSqr(PetscMin(r[0], 0)) / rho;
    part[2] += PetscSqr(PetscMin(PetscMax(r[0], 0) / PetscSqrtReal(rho), PetscMax(u[0], 0) * PetscSqrtReal(rho)));
    if (s->relation[i] == RELATION_CONE) {
      const PetscReal bound = s->mu[i] * PetscMax(r[0], 0);

      part[3] += PetscSqr(PetscMax(rt - bound, 0)) / rho;
      if (ut > 0) part[4] += PetscMin(PetscSqr(r[1] + bound * u[1] / ut) + PetscSqr(r[2] + bound * u[2] / ut), PetscSqr(rho * ut)) / rho;
      count[r[0] * r[0] + rt * rt <= 0 ? 4 : rt < (1 - 1e-6) * bound ? 5 : 6]++; /* open, stick, slip */
    } else if (r[0] > 0) part[4] += rho * ut * ut;
  }
  sum[1] = d->scale;
  count[7] = s->n;
  PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, part, 6, MPIU_REAL, MPIU_SUM, d->comm));
  PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, sum, 1, MPIU_REAL, MPIU_SUM, d->comm));
  PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, count, 8, MPIU_INT, MPI_SUM, d->comm));
  PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, &least, 1, MPIU_REAL, MPIU_MIN, d->comm));
  PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, &most, 1, MPIU_REAL, MPIU_MAX, d->comm));
  PetscCall(PetscViewerASCIIPrintf(viewer, "Dual: %" PetscInt_FMT " blocks (", count[7]));
  for (PetscInt k = 0, any = 0; k < 4; k++)
    if (count[k]) PetscCall(PetscViewerASCIIPrintf(viewer, "%s%" PetscInt_FMT " %s", any++ ? ", " : "", count[k], names[k]));
  PetscCall(PetscViewerASCIIPrintf(viewer, ") in %" PetscInt_FMT " island%s, the largest has %" PetscInt_FMT "; %s, on %d rank%s%s\n", d->nisland, d->nisland == 1 ? "" : "s", d->largest, d->matfree ? "by products only" : "explicit", d->size,
                                   d->size > 1 ? "s" : "", s->shared ? ", shared" : ""));
  if (count[0] + count[1]) {
    char text[2][32];

    for (PetscInt k = 0; k < 2; k++) {
      const PetscReal mu = k ? most : least;

      if (mu >= PETSC_INFINITY) PetscCall(PetscStrncpy(text[k], "infinite", sizeof(text[k])));
      else PetscCall(PetscSNPrintf(text[k], sizeof(text[k]), "%g", (double)mu));
    }
    PetscCall(PetscViewerASCIIPrintf(viewer, "  friction from %s to %s; %" PetscInt_FMT " open, %" PetscInt_FMT " stick, %" PetscInt_FMT " slip\n", text[0], text[1], count[4], count[5], count[6]));
  }
  if (d->size == 1 && s->n && s->n <= 500 && !d->matfree) {
    PetscInt rank, rows;

    PetscCall(DualRank_Private(s, &rank, &rows));
    PetscCall(PetscViewerASCIIPrintf(viewer, "  rank of W about %" PetscInt_FMT " of %" PetscInt_FMT "\n", rank, rows));
  }
  sum[0] = PetscMax(sum[0], sum[1]);
  for (PetscInt k = 0; k < 6; k++) part[k] = sum[0] > 0 ? PetscSqrtReal(part[k] / sum[0]) : 0;
  PetscCall(PetscViewerASCIIPrintf(viewer, "  residuals: penetration %.1e, pull %.1e, complementarity %.1e, cone %.1e, slip %.1e, equal and limits %.1e; merit %.3e\n", (double)part[0], (double)part[1], (double)part[2],
                                   (double)part[3], (double)part[4], (double)part[5], (double)d->report.merit));
  PetscCall(PetscViewerASCIIPrintf(viewer, "  sweeps %" PetscInt_FMT ", Newton solves %" PetscInt_FMT " in %" PetscInt_FMT " proximal steps (%" PetscInt_FMT " failed), interior-point steps %" PetscInt_FMT "\n", d->report.sweeps,
                                   d->report.newton, d->report.outer, d->report.failed, d->report.conic));
  if (d->report.islands > 1)
    PetscCall(PetscViewerASCIIPrintf(viewer, "  in the island that took most; %" PetscInt_FMT " of %" PetscInt_FMT " islands were solved; on average a block saw sweeps %.3g, Newton solves %.3g, interior-point steps %.3g\n",
                                     d->report.solved, d->report.islands, (double)d->report.mean[0], (double)d->report.mean[1], (double)d->report.mean[2]));
  PetscFunctionReturn(0);
}
