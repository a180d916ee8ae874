/* Rows that act on one body only do not enter the dual problem: with their compliance W_cc of the body, other rows k of it see W_kl - W_kc W_cc^-1 W_cl, and
   the impulses of these follow from whatever the body does. Rows may be redundant (a rigid body has six): the factor finds out. */
#include "constraints/set_impl.h"
#include "physics/rotation.h"
#include <petscblaslapack.h>

extern void dpstrf_(const char *uplo, const PetscBLASInt *n, PetscReal *a, const PetscBLASInt *lda, PetscBLASInt *pivot, PetscBLASInt *rank, const PetscReal *tol, PetscReal *work, PetscBLASInt *info);

PetscErrorCode ConstraintSetHeldDestroy_Private(ConstraintSet set)
{
  SupportRows *s = &set->supports;

  PetscFunctionBeginUser;
  for (PetscInt k = 0; k < s->nholder; k++) PetscCall(PetscFree3(s->holder[k].L, s->holder[k].scale, s->holder[k].pivot));
  PetscCall(PetscFree3(s->held, s->holder, s->of));
  PetscCall(PetscFree4(s->points, s->frames, s->values, s->rhs));
  PetscCall(PetscFree(s->C));
  PetscCall(PetscFree(s->Z));
  s->nheld = s->nholder = s->mpoints = s->mC = s->mZ = 0;
  PetscFunctionReturn(0);
}

PetscErrorCode ConstraintSetHeldSetUp_Private(ConstraintSet set)
{
  SupportRows *s = &set->supports;
  PetscInt    *count, at = 0;

  PetscFunctionBeginUser;
  PetscCall(PetscMalloc3(s->all->npoint, &s->held, set->model->nbody, &s->holder, set->model->nbody, &s->of));
  PetscCall(PetscCalloc1(set->model->nbody, &count));
  for (PetscInt i = 0; i < s->all->npoint && s->eliminate; i++)
    if (s->all->point[i].id[0] < 0) count[s->local[i]]++;
  for (PetscInt b = 0; b < set->model->nbody; b++) {
    s->of[b] = -1;
    if (!count[b]) continue;
    s->of[b]                 = s->nholder;
    s->holder[s->nholder++] = (Holder){.body = b, .first = at};
    at += count[b];
  }
  for (PetscInt i = 0; i < s->all->npoint && s->eliminate; i++) {
    Holder *o;

    if (s->all->point[i].id[0] >= 0) continue;
    o                             = &s->holder[s->of[s->local[i]]];
    s->held[o->first + o->n++] = (Held){.point = i};
    o->nrow += s->row[i].rows;
  }
  s->nheld = at;
  for (PetscInt k = 0; k < s->nholder; k++) {
    Holder *o = &s->holder[k];

    PetscCall(PetscMalloc3(o->nrow * o->nrow, &o->L, 3 * o->nrow, &o->scale, o->nrow, &o->pivot));
  }
  PetscCall(PetscFree(count));
  PetscFunctionReturn(0);
}

static PetscErrorCode SupportRowsReserve_Private(SupportRows *s, PetscInt n)
{
  PetscFunctionBeginUser;
  if (n <= s->mpoints) PetscFunctionReturn(0);
  s->mpoints = n + n / 2 + 8;
  PetscCall(PetscFree4(s->points, s->frames, s->values, s->rhs));
  PetscCall(PetscMalloc4(s->mpoints, &s->points, 9 * s->mpoints, &s->frames, 3 * s->mpoints, &s->values, 3 * s->mpoints, &s->rhs));
  PetscFunctionReturn(0);
}

/* Velocities of the points of a body along their rows, at t or of u + du: one number for each row */
static PetscErrorCode HolderVelocities_Private(ConstraintSet set, const Holder *o, const Stage *stage, PetscBool end, PetscReal u[])
{
  SupportRows  *s      = &set->supports;
  const Domain *domain = set->model->domain[o->body];
  PetscInt      at     = 0;

  PetscFunctionBeginUser;
  PetscCall(SupportRowsReserve_Private(s, o->n));
  for (PetscInt i = 0; i < o->n; i++) s->points[i] = &s->row[s->held[o->first + i].point].at;
  PetscCall((*domain->batch->ops->velocities)(domain->batch, domain->lane, stage, o->n, s->points, end, s->values));
  for (PetscInt i = 0; i < o->n; i++) {
    const SupportRow *row = &s->row[s->held[o->first + i].point];

    for (PetscInt k = 0; k < row->rows; k++) u[at++] = Vec3Dot(row->frame + 3 * k, s->values + 3 * i);
  }
  PetscFunctionReturn(0);
}

PetscErrorCode ConstraintSetHeldStart_Private(ConstraintSet set, const Stage *stage)
{
  SupportRows *s = &set->supports;

  PetscFunctionBeginUser;
  for (PetscInt k = 0; k < s->nholder; k++) {
    const Holder *o = &s->holder[k];

    set->model->domain[o->body]->batch->touched = PETSC_TRUE;
    PetscCall(SupportRowsReserve_Private(s, o->n));
    PetscCall(HolderVelocities_Private(set, o, stage, PETSC_FALSE, s->rhs));
    for (PetscInt i = 0; i < o->n; i++) {
      Held     *h = &s->held[o->first + i];
      PetscReal x[3];

      PetscCall(PetscArraycpy(h->v0, s->values + 3 * i, 3));
      PetscCall(PetscArrayzero(h->R, 3));
      PetscCall(ConstraintSetTarget_Private(set, stage, h->point, x, h->mean));
    }
  }
  PetscFunctionReturn(0);
}

/* Compliance of n other points of a body (W, 3x3 blocks by columns) while its held rows hold, and the factor of these */
PetscErrorCode ConstraintSetReduce_Private(ConstraintSet set, const Stage *stage, PetscInt holder, PetscInt n, const MaterialPoint *const p[], const PetscReal frame[], PetscReal W[])
{
  SupportRows       *s      = &set->supports;
  Holder            *o      = &s->holder[holder];
  const Domain      *domain = set->model->domain[o->body];
  const PetscInt     all = n + o->n, m = o->nrow;
  const PetscReal    tol = 10 * PetscMax(m, 6) * PETSC_MACHINE_EPSILON, one = 1, none = -1;
  PetscReal         *scale = o->scale, *work = o->scale + m;
  PetscInt           at = 0, *point, *row;
  PetscBLASInt       bm, rank, info, bn;

  PetscFunctionBeginUser;
  PetscCall(SupportRowsReserve_Private(s, all));
  GrowArray(9 * all * all, s->mC, s->C);
  for (PetscInt i = 0; i < n; i++) s->points[i] = p[i];
  if (n) PetscCall(PetscArraycpy(s->frames, frame, 9 * n));
  PetscCall(PetscMalloc2(m, &point, m, &row));
  for (PetscInt i = 0; i < o->n; i++) {
    const SupportRow *r = &s->row[s->held[o->first + i].point];

    s->points[n + i] = &r->at;
    PetscCall(PetscArraycpy(s->frames + 9 * (n + i), r->frame, 9));
    for (PetscInt k = 0; k < r->rows; k++, at++) {
      point[at] = n + i;
      row[at]   = k;
    }
  }
  PetscCall((*domain->batch->ops->compliance)(domain->batch, domain->lane, stage, all, s->points, s->frames, s->C));
#define Compliance(i, k, j, l) s->C[9 * (all * (i) + (j)) + 3 * (l) + (k)]
  /* with ones on the diagonal, so that the tolerance has no unit */
  for (PetscInt i = 0; i < m; i++) scale[i] = 1 / PetscSqrtReal(Compliance(point[i], row[i], point[i], row[i]));
  for (PetscInt j = 0; j < m; j++)
    for (PetscInt i = 0; i < m; i++) o->L[i + m * j] = scale[i] * scale[j] * Compliance(point[i], row[i], point[j], row[j]);
  PetscCall(PetscBLASIntCast(m, &bm));
  dpstrf_("L", &bm, o->L, &bm, o->pivot, &rank, &tol, work, &info);
  PetscCheck(info >= 0, PETSC_COMM_SELF, PETSC_ERR_LIB, "LAPACK pstrf failed with %d", (int)info);
  o->rank = rank;
  if (n) {
    const PetscInt c = 3 * n;

    PetscCall(PetscBLASIntCast(c, &bn));
    GrowArray(m * c + c * c, s->mZ, s->Z);
    for (PetscInt j = 0; j < n; j++)
      for (PetscInt l = 0; l < 3; l++)
        for (PetscInt i = 0; i < rank; i++) s->Z[i + m * (3 * j + l)] = scale[o->pivot[i] - 1] * Compliance(point[o->pivot[i] - 1], row[o->pivot[i] - 1], j, l);
    PetscCallBLAS("BLAStrsm", BLAStrsm_("L", "L", "N", "N", &rank, &bn, &one, o->L, &bm, s->Z, &bm));
    for (PetscInt i = 0; i < n; i++)
      for (PetscInt j = 0; j < n; j++)
        for (PetscInt k = 0; k < 3; k++)
          for (PetscInt l = 0; l < 3; l++) s->Z[m * c + 3 * i + k + c * (3 * j + l)] = Compliance(i, k, j, l);
    PetscCallBLAS("BLASsyrk", BLASsyrk_("L", "T", &bn, &rank, &none, s->Z, &bm, &one, s->Z + m * c, &bn));
    for (PetscInt i = 0; i < n; i++)
      for (PetscInt j = 0; j < n; j++)
        for (PetscInt k = 0; k < 3; k++)
          for (PetscInt l = 0; l < 3; l++) {
            const PetscInt a = 3 * i + k, b = 3 * j + l;

            W[9 * (n * i + j) + 3 * l + k] = s->Z[m * c + PetscMax(a, b) + c * PetscMin(a, b)];
          }
    for (PetscInt i = 0; i < n; i++) { /* what is left of points that cannot move at all is round-off */
      const PetscReal *w = W + 9 * (n * i + i);

      if (w[0] + w[4] + w[8] > 10 * tol * (Compliance(i, 0, i, 0) + Compliance(i, 1, i, 1) + Compliance(i, 2, i, 2))) continue;
      for (PetscInt j = 0; j < n; j++) {
        PetscCall(PetscArrayzero(W + 9 * (n * i + j), 9));
        PetscCall(PetscArrayzero(W + 9 * (n * j + i), 9));
      }
    }
  }
#undef Compliance
  PetscCall(PetscFree2(point, row));
  PetscFunctionReturn(0);
}

PetscErrorCode ConstraintSetHeldCondense_Private(ConstraintSet set, const Stage *stage)
{
  const SupportRows *s     = &set->supports;
  Stage              local = *stage;

  PetscFunctionBeginUser;
  for (PetscInt k = 0; k < s->nholder; k++) {
    const PetscInt b = s->holder[k].body;

    StageSetBatch(&local, set->model->domain[b]->batch);
    if (set->body_ptr[b] == set->body_ptr[b + 1]) PetscCall(ConstraintSetReduce_Private(set, &local, k, 0, NULL, NULL, NULL)); /* others: ConstraintSetCondense() */
  }
  PetscFunctionReturn(0);
}

/* Is the symmetric w - s I positive definite? */
static PetscBool Mat3IsAbove_Private(const PetscReal w[9], PetscReal s)
{
  const PetscReal a = w[0] - s, b = w[4] - s, c = w[8] - s;

  return a > 0 && a * b - w[1] * w[1] > 0 && a * (b * c - w[5] * w[5]) - w[1] * (w[1] * c - w[5] * w[2]) + w[2] * (w[1] * w[5] - b * w[2]) > 0 ? PETSC_TRUE : PETSC_FALSE;
}

PetscErrorCode ConstraintSetHeldBlocks_Private(ConstraintSet set)
{
  PetscFunctionBeginUser;
  for (PetscInt i = 0; i < set->n && set->supports.all; i++) {
    PetscInt   lo = set->ptr[i], hi = set->ptr[i + 1] - 1;
    PetscReal *w, trace;

    if (set->row[i].law.relation == RELATION_EQUAL) continue;
    while (lo < hi) {
      const PetscInt mid = lo + (hi - lo) / 2;

      if (set->col[mid] < set->first + i) lo = mid + 1;
      else hi = mid;
    }
    w     = set->w + 9 * lo;
    trace = w[0] + w[4] + w[8];
    set->row[i].flags &= ~CONSTRAINT_INERT;
    if (trace == 0) set->row[i].flags |= CONSTRAINT_INERT;
    else if (Mat3IsAbove_Private(w, 1e-8 * trace)) continue;
    /* a block that solvers can work with: the impulse is zero, or that part of it is small which moves nothing */
    for (PetscInt k = 0; k < 3; k++) w[4 * k] += trace == 0 ? 1 : 1e-8 * trace;
  }
  PetscFunctionReturn(0);
}

/* r = W_cc^-1 r; of redundant rows one has all */
static PetscErrorCode HolderSolve_Private(const Holder *o, PetscReal r[])
{
  PetscReal         *x = o->scale + o->nrow;
  const PetscReal    unit = 1;
  PetscBLASInt       n, ld, one = 1;

  PetscFunctionBeginUser;
  PetscCall(PetscBLASIntCast(o->rank, &n));
  PetscCall(PetscBLASIntCast(o->nrow, &ld));
  for (PetscInt i = 0; i < n; i++) x[i] = o->scale[o->pivot[i] - 1] * r[o->pivot[i] - 1];
  PetscCallBLAS("BLAStrsm", BLAStrsm_("L", "L", "N", "N", &n, &one, &unit, o->L, &ld, x, &ld));
  PetscCallBLAS("BLAStrsm", BLAStrsm_("L", "L", "T", "N", &n, &one, &unit, o->L, &ld, x, &ld));
  PetscCall(PetscArrayzero(r, o->nrow));
  for (PetscInt i = 0; i < n; i++) r[o->pivot[i] - 1] = o->scale[o->pivot[i] - 1] * x[i];
  PetscFunctionReturn(0);
}

/* What the rows lack: r = U0 + U - 2 mean. *size: of the velocities that it is made of */
static PetscErrorCode HolderResidual_Private(ConstraintSet set, const Holder *o, const Stage *stage, PetscReal r[], PetscReal *size)
{
  const SupportRows *s  = &set->supports;
  PetscInt           at = 0;

  PetscFunctionBeginUser;
  PetscCall(HolderVelocities_Private(set, o, stage, PETSC_TRUE, r));
  *size = 0;
  for (PetscInt i = 0; i < o->n; i++) {
    const Held       *h   = &s->held[o->first + i];
    const SupportRow *row = &s->row[h->point];

    for (PetscInt k = 0; k < row->rows; k++, at++) {
      const PetscReal U0 = Vec3Dot(row->frame + 3 * k, h->v0);

      *size = PetscMax(*size, PetscMax(PetscAbsReal(r[at]), PetscMax(PetscAbsReal(U0), 2 * PetscAbsReal(h->mean[k]))));
      r[at] += U0 - 2 * h->mean[k];
    }
  }
  PetscFunctionReturn(0);
}

/* One of the rows that others determine asks for something else */
static PetscErrorCode HolderContradiction_Private(ConstraintSet set, const Holder *o, const Stage *stage, PetscReal limit)
{
  const SupportRows *s = &set->supports;
  PetscReal          size, *r = s->rhs;
  PetscInt           at = 0;

  PetscFunctionBeginUser;
  PetscCall(HolderResidual_Private(set, o, stage, r, &size));
  for (PetscInt i = 0; i < o->n; i++) {
    const Held *h = &s->held[o->first + i];

    for (PetscInt k = 0; k < s->row[h->point].rows; k++, at++)
      PetscCheck(PetscAbsReal(r[at]) <= limit, PETSC_COMM_SELF, PETSC_ERR_USER_INPUT, "t = %g: constraint '%s' and others on body '%s' contradict each other: its velocity is wrong by %.3g; leave one of them out", (double)stage->t,
                 s->all->support[s->all->point[h->point].support].name, set->model->body[o->body]->name, 0.5 * (double)r[at]);
  }
  PetscFunctionReturn(0);
}

/* Impulses that make the held rows hold with du as it is */
PetscErrorCode ConstraintSetHold_Private(ConstraintSet set, const Stage *stage, PetscBool touched)
{
  SupportRows *s = &set->supports;

  PetscFunctionBeginUser;
  for (PetscInt j = 0; j < s->nholder; j++) {
    const Holder *o      = &s->holder[j];
    const Domain *domain = set->model->domain[o->body];
    PetscReal     size;
    PetscInt      at = 0;

    if (touched && set->body_ptr[o->body] == set->body_ptr[o->body + 1]) continue; /* nothing has changed */
    PetscCall(SupportRowsReserve_Private(s, o->n));
    PetscCall(HolderResidual_Private(set, o, stage, s->rhs, &size));
    PetscCall(HolderSolve_Private(o, s->rhs));
    for (PetscInt i = 0; i < o->n; i++) {
      Held             *h   = &s->held[o->first + i];
      const SupportRow *row = &s->row[h->point];

      PetscCall(PetscArrayzero(s->values + 3 * i, 3));
      for (PetscInt k = 0; k < row->rows; k++, at++) {
        h->R[k] -= s->rhs[at];
        for (PetscInt c = 0; c < 3; c++) s->values[3 * i + c] -= s->rhs[at] * row->frame[3 * k + c];
      }
    }
    PetscCall((*domain->batch->ops->impulse)(domain->batch, domain->lane, o->n, s->points, s->values));
    if (o->rank < o->nrow) PetscCall(HolderContradiction_Private(set, o, stage, 1e-6 * size));
  }
  PetscFunctionReturn(0);
}

/* Work of the held rows */
PetscErrorCode ConstraintSetHeldAccept_Private(ConstraintSet set, const Stage *stage)
{
  SupportRows *s = &set->supports;

  PetscFunctionBeginUser;
  for (PetscInt j = 0; j < s->nholder; j++) {
    const Holder *o      = &s->holder[j];
    const Domain *domain = set->model->domain[o->body];
    PetscInt      at     = 0;

    PetscCall(SupportRowsReserve_Private(s, o->n));
    PetscCall(HolderVelocities_Private(set, o, stage, PETSC_TRUE, s->rhs));
    for (PetscInt i = 0; i < o->n; i++) {
      const Held       *h   = &s->held[o->first + i];
      const SupportRow *row = &s->row[h->point];

      for (PetscInt k = 0; k < row->rows; k++, at++)
        domain->batch->ledger[domain->lane * LEDGER_SIZE + LEDGER_CONSTRAINT] += 0.5 * h->R[k] * (Vec3Dot(row->frame + 3 * k, h->v0) + s->rhs[at]);
    }
  }
  PetscFunctionReturn(0);
}
