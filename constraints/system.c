#include "system.h"
#include "cone.h"

PetscErrorCode SystemCreate(System *s)
{
  PetscFunctionBeginUser;
  PetscCall(PetscNew(s));
  (*s)->comm = PETSC_COMM_SELF;
  PetscFunctionReturn(0);
}

PetscErrorCode SystemDestroy(System *s)
{
  PetscFunctionBeginUser;
  if (!*s) PetscFunctionReturn(0);
  PetscCall(PetscFree3((*s)->ptr, (*s)->diag, (*s)->q));
  PetscCall(PetscFree2((*s)->col, (*s)->w));
  PetscCall(PetscFree7((*s)->relation, (*s)->rows, (*s)->mu, (*s)->lo, (*s)->hi, (*s)->rho, (*s)->cohesion));
  PetscCall(PetscFree2((*s)->body, (*s)->F));
  PetscCall(PetscFree((*s)->v));
  PetscCall(PetscFree((*s)->phase));
  PetscCall(PetscFree((*s)->order));
  PetscCall(PetscFree(*s));
  PetscFunctionReturn(0);
}

PetscErrorCode SystemReserve(System s, PetscInt n, PetscInt nnz)
{
  PetscFunctionBeginUser;
  s->n = n;
  if (n > s->capacity || !s->capacity) {
    s->capacity = n + n / 2 + 1;
    PetscCall(PetscFree3(s->ptr, s->diag, s->q));
    PetscCall(PetscFree7(s->relation, s->rows, s->mu, s->lo, s->hi, s->rho, s->cohesion));
    PetscCall(PetscMalloc3(s->capacity + 1, &s->ptr, s->capacity, &s->diag, 3 * s->capacity + 1, &s->q));
    PetscCall(PetscMalloc7(s->capacity, &s->relation, s->capacity, &s->rows, s->capacity, &s->mu, s->capacity, &s->lo, s->capacity, &s->hi, s->capacity, &s->rho, s->capacity, &s->cohesion));
  }
  if (nnz > s->wcapacity || !s->wcapacity) {
    s->wcapacity = nnz + nnz / 2 + 1;
    PetscCall(PetscFree2(s->col, s->w));
    PetscCall(PetscMalloc2(s->wcapacity, &s->col, 9 * s->wcapacity + 4, &s->w));
  }
  PetscFunctionReturn(0);
}

PetscErrorCode SystemReserveBodies(System s)
{
  PetscFunctionBeginUser;
  if (s->n > s->bcapacity || !s->bcapacity) {
    s->bcapacity = s->n + s->n / 2 + 1;
    PetscCall(PetscFree2(s->body, s->F));
    PetscCall(PetscMalloc2(2 * s->bcapacity, &s->body, 36 * s->bcapacity + 4, &s->F));
  }
  for (PetscInt k = 0; k < 4; k++) s->F[36 * s->n + k] = 0;
  PetscFunctionReturn(0);
}

PetscErrorCode SystemReserveMotions(System s)
{
  PetscFunctionBeginUser;
  if (s->nbody > s->vcapacity || !s->vcapacity) {
    s->vcapacity = s->nbody + s->nbody / 2 + 1;
    PetscCall(PetscFree(s->v));
    PetscCall(PetscMalloc1(6 * s->vcapacity, &s->v));
  }
  PetscFunctionReturn(0);
}

/* W_ii; a row that the block does not have has zeros in F and the mean of the others on the diagonal */
static void Diagonal_Private(System s, PetscInt i)
{
  PetscReal *w = s->w + 9 * s->diag[i], trace;

  for (PetscInt c = 0; c < 3; c++)
    for (PetscInt r = 0; r < 3; r++) {
      PetscReal side[2] = {0, 0};

      for (PetscInt a = 0; a < 2; a++) {
        const PetscReal *f = s->F + 36 * i + 18 * a;

        if (s->body[2 * i + a] < 0) continue;
        for (PetscInt k = 0; k < 6; k++) side[a] += f[3 * k + r] * f[3 * k + c];
      }
      w[3 * c + r] = side[0] + side[1];
    }
  trace = w[0] + w[4] + w[8];
  for (PetscInt c = s->rows[i]; c < 3; c++) w[4 * c] = trace / s->rows[i];
}

/* q -= W c n: the cone of a cohesive contact holds r + c n */
PetscErrorCode SystemSetCohesion(System s)
{
  PetscReal *c, *v;

  PetscFunctionBeginUser;
  if (!s->cohesive) PetscFunctionReturn(0);
  PetscCall(PetscCalloc2(3 * (s->n + s->nghost) + 1, &c, 3 * s->n + 1, &v));
  for (PetscInt i = 0; i < s->n; i++) c[3 * i] = s->cohesion[i];
  PetscCall(SystemMult(s, c, v));
  for (PetscInt i = 0; i < 3 * s->n; i++) s->q[i] -= v[i] - s->q[i];
  PetscCall(PetscFree2(c, v));
  PetscFunctionReturn(0);
}

/* As it came, from 1 on: for messages */
static PetscInt Number_Private(System s, PetscInt i)
{
  PetscInt j = 0;

  if (!s->place) return i + 1;
  while (s->place[j] != i) j++;
  return j + 1;
}

PetscErrorCode SystemSetUp(System s)
{
  PetscReal sum[2] = {0, 0}; /* cohesive blocks; blocks that an interior point method cannot do */

  PetscFunctionBeginUser;
  s->q[3 * s->n] = 0;
  for (PetscInt k = 0; k < 4; k++) s->w[9 * s->ptr[s->n] + k] = 0;
  for (PetscInt i = 0; i < s->n; i++) {
    PetscReal trace = 0;
    PetscInt  d     = s->ptr[i];

    while (d < s->ptr[i + 1] && s->col[d] != i) d++;
    PetscCheck(d < s->ptr[i + 1], PETSC_COMM_SELF, PETSC_ERR_USER_INPUT, "W has no diagonal block for contact %" PetscInt_FMT, Number_Private(s, i));
    s->diag[i] = d;
    if (s->bodies) Diagonal_Private(s, i);
    for (PetscInt c = 0; c < s->rows[i]; c++) trace += s->w[9 * d + 4 * c];
    PetscCheck(trace > 0 && !PetscIsInfReal(trace), PETSC_COMM_SELF, PETSC_ERR_USER_INPUT, "W has no positive diagonal at contact %" PetscInt_FMT ": neither of its bodies can move", Number_Private(s, i));
    s->rho[i] = s->rows[i] / trace;
    if (s->cohesion[i] != 0) sum[0]++;
    if (!SystemIsBall(s, i)) sum[1]++;
  }
  PetscCall(SystemSum(s, 2, sum));
  s->cohesive = sum[0] > 0 ? PETSC_TRUE : PETSC_FALSE;
  s->balls    = sum[1] > 0 ? PETSC_FALSE : PETSC_TRUE;
  PetscFunctionReturn(0);
}

PetscErrorCode SystemSetScale(System s)
{
  PetscReal sum = 0;

  PetscFunctionBeginUser;
  for (PetscInt i = 0; i < s->n; i++) {
    PetscReal q2 = 0;

    for (PetscInt c = 0; c < s->rows[i]; c++) q2 += s->q[3 * i + c] * s->q[3 * i + c];
    PetscCheck(!PetscIsInfOrNanReal(q2), PETSC_COMM_SELF, PETSC_ERR_USER_INPUT, "q is not finite at contact %" PetscInt_FMT, Number_Private(s, i));
    sum += s->fclib ? q2 : s->rho[i] * q2;
  }
  PetscCall(SystemSum(s, 1, &sum));
  s->scale = s->statics ? 0 : (s->fclib ? PetscSqrtReal(sum) : sum);
  PetscFunctionReturn(0);
}

FOUR_CLONES static void Mult_Private(System s, const PetscReal *r, PetscReal *u)
{
  for (PetscInt i = 0; i < s->n; i++) {
    Four a = FourLoad(s->q + 3 * i);

    for (PetscInt k = s->ptr[i]; k < s->ptr[i + 1]; k++) BlockAddMult(s->w + 9 * k, r + 3 * s->col[k], &a);
    for (PetscInt c = 0; c < 3; c++) u[3 * i + c] = a[c];
  }
}

FOUR_CLONES void SystemMotions(System s, const PetscReal *r)
{
  for (PetscInt k = 6 * s->firstbody; k < 6 * (s->firstbody + s->nbody); k++) s->v[k] = 0;
  for (PetscInt i = 0; i < s->n; i++)
    for (PetscInt a = 0; a < 2; a++)
      if (s->body[2 * i + a] >= 0) MotionAdd(s->F + 36 * i + 18 * a, r + 3 * i, s->v + 6 * s->body[2 * i + a]);
}

FOUR_CLONES static void MultBodies_Private(System s, PetscReal *u)
{
  for (PetscInt i = 0; i < s->n; i++) {
    Four a = FourLoad(s->q + 3 * i);

    for (PetscInt k = 0; k < 2; k++)
      if (s->body[2 * i + k] >= 0) MotionVelocity(s->F + 36 * i + 18 * k, s->v + 6 * s->body[2 * i + k], &a);
    for (PetscInt c = 0; c < 3; c++) u[3 * i + c] = a[c];
  }
}

PetscErrorCode SystemMult(System s, PetscReal *r, PetscReal *u)
{
  PetscFunctionBeginUser;
  if (s->product) PetscCall((*s->product)(s, r, u));
  else if (s->bodies) {
    SystemMotions(s, r);
    MultBodies_Private(s, u);
  }
  else {
    if (s->exchange) PetscCall((*s->exchange)(s, r));
    Mult_Private(s, r, u);
  }
  PetscFunctionReturn(0);
}

PetscErrorCode SystemSum(System s, PetscInt n, PetscReal sum[])
{
  PetscFunctionBeginUser;
  if (s->shared) PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, sum, (PetscMPIInt)n, MPIU_REAL, MPIU_SUM, s->comm));
  PetscFunctionReturn(0);
}

void SystemNaturalMap(System s, PetscInt i, PetscReal rho, const PetscReal *r, const PetscReal *u, PetscReal *f)
{
  PetscReal x[3];

  switch (s->relation[i]) {
  case RELATION_CONE: {
    const PetscReal t = PetscSqrtReal(u[1] * u[1] + u[2] * u[2]);

    x[0] = r[0] - rho * (u[0] + s->mu[i] * t);
    x[1] = r[1] - rho * u[1];
    x[2] = r[2] - rho * u[2];
    ConeProject(s->mu[i], x);
    break;
  }
  case RELATION_STICK: {
    const PetscBool closed = r[0] - rho * u[0] > 0 ? PETSC_TRUE : PETSC_FALSE;

    for (PetscInt c = 0; c < 3; c++) x[c] = closed ? r[c] - rho * u[c] : 0;
    break;
  }
  case RELATION_EQUAL:
    for (PetscInt c = 0; c < 3; c++) x[c] = r[c] - rho * u[c];
    break;
  default:
    x[0] = PetscMin(PetscMax(r[0] - rho * u[0], s->lo[i]), s->hi[i]);
    x[1] = r[1] - rho * u[1];
    x[2] = r[2] - rho * u[2];
  }
  for (PetscInt c = 0; c < 3; c++) f[c] = r[c] - x[c];
}

PetscErrorCode SystemMerit(System s, const PetscReal *r, const PetscReal *u, PetscReal *merit)
{
  PetscReal sum[3] = {0, 0, 0}, scale; /* of the map, of r, of u */

  PetscFunctionBeginUser;
  for (PetscInt i = 0; i < s->n; i++) {
    const PetscReal rho = s->fclib ? 1 : s->rho[i], *ri = r + 3 * i, *ui = u + 3 * i, rn = ri[0] - s->cohesion[i];
    PetscReal       f[3];

    SystemNaturalMap(s, i, rho, ri, ui, f);
    sum[0] += (f[0] * f[0] + f[1] * f[1] + f[2] * f[2]) / rho;
    sum[1] += (rn * rn + ri[1] * ri[1] + ri[2] * ri[2]) / rho;
    if (s->fclib) sum[2] += ui[0] * ui[0] + ui[1] * ui[1] + ui[2] * ui[2];
  }
  PetscCall(SystemSum(s, 3, sum));
  if (s->fclib) {
    scale  = PetscMax(s->scale, PetscSqrtReal(PetscMax(sum[1], sum[2])));
    *merit = scale > PETSC_MACHINE_EPSILON ? PetscSqrtReal(sum[0]) / scale : PetscSqrtReal(sum[0]);
  } else {
    scale  = PetscMax(s->scale, sum[1]);
    *merit = scale > 0 ? PetscSqrtReal(sum[0] / scale) : (sum[0] > 0 ? PETSC_INFINITY : 0);
  }
  PetscFunctionReturn(0);
}
