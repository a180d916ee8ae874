#include "model.h"
#include "simd.h"

PetscErrorCode ModelCreate(MPI_Comm comm, Model *model)
{
  PetscFunctionBeginUser;
  PetscCall(PetscNew(model));
  (*model)->comm = comm;
  PetscFunctionReturn(0);
}

PetscErrorCode ModelDestroy(Model *model)
{
  Model m = *model;

  PetscFunctionBeginUser;
  if (!m) PetscFunctionReturn(0);
  for (PetscInt i = 0; i < m->nforce; i++) {
    PetscCall(FunctionDestroy(&m->force[i].value));
    PetscCall(PetscFree(m->force[i].name));
  }
  for (PetscInt i = 0; i < m->nbatch; i++) PetscCall(BatchDestroy(&m->batch[i]));
  for (PetscInt i = 0; i < m->nbody; i++) PetscCall(BodyDestroy(&m->body[i]));
  for (PetscInt i = 0; i < m->npart; i++) PetscCall(PartDestroy(&m->part[i]));
  for (PetscInt c = 0; c < 3; c++) PetscCall(FunctionDestroy(&m->gravity[c]));
  for (PetscInt i = 0; i < m->nsection; i++) PetscCall(PetscFree(m->section[i].name));
  PetscCall(PetscFree(m->section));
  PetscCall(PetscFree(m->force));
  PetscCall(PetscFree(m->batch));
  PetscCall(PetscFree(m->body));
  PetscCall(PetscFree(m->domain));
  PetscCall(PetscFree(m->part));
  PetscCall(VecDestroy(&m->q));
  PetscCall(VecDestroy(&m->u));
  PetscCall(SIMDFree(&m->qarray));
  PetscCall(SIMDFree(&m->uarray));
  PetscCall(PetscFree(*model));
  PetscFunctionReturn(0);
}

/* Arrays that grow double when their number reaches a power of two. */
#define ModelPush_Private(array, n, item) \
  do { \
    if (((n) & ((n)-1)) == 0) PetscCall(PetscRealloc(sizeof(*(array)) * ((n) ? 2 * (n) : 1), &(array))); \
    (array)[(n)++] = (item); \
  } while (0)

PetscErrorCode ModelAddPart(Model model, Part part)
{
  PetscFunctionBeginUser;
  ModelPush_Private(model->part, model->npart, part);
  PetscFunctionReturn(0);
}

PetscErrorCode ModelAddBody(Model model, Body body)
{
  PetscFunctionBeginUser;
  ModelPush_Private(model->body, model->nbody, body);
  PetscFunctionReturn(0);
}

PetscErrorCode ModelAddSection(Model model, const char name[], PetscInt first, PetscBool many)
{
  ModelSection s = {.first = first, .many = many};

  PetscFunctionBeginUser;
  PetscCall(PetscStrallocpy(name, &s.name));
  ModelPush_Private(model->section, model->nsection, s);
  PetscFunctionReturn(0);
}

PetscErrorCode ModelName(Model model, PetscInt id, char name[], size_t length)
{
  PetscInt lo = 0, hi = model->nsection - 1;

  PetscFunctionBeginUser;
  if (hi < 0) {
    PetscCall(PetscSNPrintf(name, length, "%" PetscInt_FMT, id));
    PetscFunctionReturn(0);
  }
  while (lo < hi) { /* the last section that begins at id or before */
    const PetscInt mid = lo + (hi - lo + 1) / 2;

    if (model->section[mid].first <= id) lo = mid;
    else hi = mid - 1;
  }
  if (model->section[lo].many) PetscCall(PetscSNPrintf(name, length, "%s_%" PetscInt_FMT, model->section[lo].name, id - model->section[lo].first));
  else PetscCall(PetscStrncpy(name, model->section[lo].name, length));
  PetscFunctionReturn(0);
}

static int BodyCompareId_Private(const void *a, const void *b)
{
  const PetscInt x = (*(Body const *)a)->id, y = (*(Body const *)b)->id;

  return (x > y) - (x < y);
}

/* Bodies of one batch have all of this in common. */
static int BodyCompareBatch_Private(const void *a, const void *b)
{
  const Body x = *(Body const *)a, y = *(Body const *)b;
  int        c;

#define COMPARE(p, q) \
  if ((p) != (q)) return (p) < (q) ? -1 : 1
  c = strcmp(x->part->name, y->part->name);
  if (c) return c;
  c = strcmp(x->formulation, y->formulation);
  if (c) return c;
  COMPARE(x->eta, y->eta);
  COMPARE(x->alpha, y->alpha);
  COMPARE(x->frame, y->frame);
  COMPARE(x->conserve, y->conserve);
  COMPARE(x->tangent, y->tangent);
#undef COMPARE
  return 0;
}
static int BodyCompareBatchId_Private(const void *a, const void *b)
{
  const int c = BodyCompareBatch_Private(a, b);

  return c ? c : BodyCompareId_Private(a, b);
}

PetscErrorCode ModelSetUp(Model model)
{
  Body    *order;
  PetscInt nq = 0, nu = 0, sizes[3] = {0, 0, 0};

  PetscFunctionBeginUser;
  if (model->nbody) qsort(model->body, model->nbody, sizeof(Body), BodyCompareId_Private);
  PetscCall(PetscMalloc1(model->nbody, &order));
  PetscCall(PetscMalloc1(model->nbody, &model->domain));
  PetscCall(PetscArraycpy(order, model->body, model->nbody));
  if (model->nbody) qsort(order, model->nbody, sizeof(Body), BodyCompareBatchId_Private);
  for (PetscInt i = 0, j; i < model->nbody; i = j) {
    const FormulationOps *ops;
    Batch                 batch;

    for (j = i + 1; j < model->nbody && !BodyCompareBatch_Private(&order[i], &order[j]); j++)
      ;
    PetscCall(FormulationFind(order[i]->formulation, &ops));
    PetscCheck(ops, PETSC_COMM_SELF, PETSC_ERR_USER_INPUT, "%s_formulation: '%s' is not a formulation", order[i]->name, order[i]->formulation);
    PetscCall(BatchCreate(ops, j - i, &order[i], &batch));
    batch->qoff = nq;
    batch->uoff = nu;
    nq += (batch->lanes * batch->nq + 7) / 8 * 8; /* each batch begins at a cache line */
    nu += (batch->lanes * batch->nu + 7) / 8 * 8;
    sizes[0] += batch->n;
    sizes[1] += batch->n * batch->nu;
    if (ops->mix && batch->tangent == TANGENT_CORRECTED) sizes[2]++;
    ModelPush_Private(model->batch, model->nbatch, batch);
    for (PetscInt d = 0; d < batch->n; d++) {
      Body *at = (Body *)bsearch(&batch->domain[d].body, model->body, model->nbody, sizeof(Body), BodyCompareId_Private);

      model->domain[at - model->body] = &batch->domain[d];
    }
  }
  PetscCall(PetscFree(order));
  PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, sizes, 3, MPIU_INT, MPI_SUM, model->comm));
  model->nglobal   = sizes[0];
  model->ndof      = sizes[1];
  model->corrected = sizes[2] ? PETSC_TRUE : PETSC_FALSE;
  PetscCall(SIMDCalloc(nq, &model->qarray));
  PetscCall(SIMDCalloc(nu, &model->uarray));
  PetscCall(VecCreateMPIWithArray(model->comm, 1, nq, PETSC_DETERMINE, model->qarray, &model->q));
  PetscCall(VecCreateMPIWithArray(model->comm, 1, nu, PETSC_DETERMINE, model->uarray, &model->u));
  PetscCall(ModelOpen(model));
  for (PetscInt i = 0; i < model->nbatch; i++) {
    Batch batch = model->batch[i];

    for (PetscInt d = 0; d < batch->lanes; d++) PetscCall((*batch->ops->start)(batch, d, d < batch->n ? batch->domain[d].body : NULL));
  }
  PetscCall(ModelClose(model));
  PetscFunctionReturn(0);
}

PetscErrorCode ModelOpen(Model model)
{
  PetscReal *q, *u;

  PetscFunctionBeginUser;
  PetscCall(VecGetArray(model->q, &q));
  PetscCall(VecGetArray(model->u, &u));
  for (PetscInt i = 0; i < model->nbatch; i++) {
    model->batch[i]->q = q + model->batch[i]->qoff;
    model->batch[i]->u = u + model->batch[i]->uoff;
    model->batch[i]->opened++;
  }
  PetscFunctionReturn(0);
}

PetscErrorCode ModelClose(Model model)
{
  PetscFunctionBeginUser;
  PetscCall(VecRestoreArray(model->q, NULL));
  PetscCall(VecRestoreArray(model->u, NULL));
  PetscFunctionReturn(0);
}

PetscErrorCode ModelAddForce(Model model, const char name[], PetscInt body, const MaterialPoint *point, const PetscReal direction[3], Function value)
{
  PointForce f     = {.domain = model->domain[body], .point = *point, .value = value};
  Batch      batch = f.domain->batch;

  PetscFunctionBeginUser;
  PetscCall(PetscStrallocpy(name, &f.name));
  PetscCall(PetscArraycpy(f.direction, direction, 3));
  if (!batch->force) PetscCall(SIMDCalloc((size_t)batch->lanes * batch->nu, &batch->force));
  ModelPush_Private(model->force, model->nforce, f);
  PetscFunctionReturn(0);
}

PetscErrorCode ModelLoads(Model model, Stage *stage)
{
  const PetscReal t = stage->t + 0.5 * stage->h;

  PetscFunctionBeginUser;
  for (PetscInt c = 0; c < 3; c++) {
    const PetscReal origin[3] = {0, 0, 0};

    stage->gravity[c] = 0;
    if (model->gravity[c]) PetscCall(FunctionEvaluate(model->gravity[c], t, origin, &stage->gravity[c]));
  }
  for (PetscInt i = 0; i < model->nbatch; i++) {
    Batch b = model->batch[i];

    if (b->force) PetscCall(PetscArrayzero(b->force, b->lanes * b->nu));
  }
  for (PetscInt i = 0; i < model->nforce; i++) {
    PointForce *p = &model->force[i];
    PetscReal   value, x[3], v[3], f[3];

    PetscCall((*p->domain->batch->ops->point)(p->domain->batch, p->domain->lane, &p->point, stage->t, x, v));
    for (PetscInt c = 0; c < 3; c++) x[c] += 0.5 * stage->h * v[c]; /* a value that depends on place: as it is at the half step, too */
    if (FunctionEvaluate(p->value, t, x, &value)) { /* this rank alone has the force: the check at the end of the step brings it to all */
      p->domain->batch->bad_lane = p->domain->lane;
      continue;
    }
    for (PetscInt c = 0; c < 3; c++) f[c] = value * p->direction[c];
    PetscCall((*p->domain->batch->ops->addforce)(p->domain->batch, p->domain->lane, &p->point, f));
  }
  PetscFunctionReturn(0);
}

PetscErrorCode ModelForget(Model model)
{
  PetscFunctionBeginUser;
  for (PetscInt i = 0; i < model->nbatch; i++)
    if (model->batch[i]->ops->forget) PetscCall((*model->batch[i]->ops->forget)(model->batch[i]));
  PetscFunctionReturn(0);
}

PetscErrorCode ModelLedger(Model model, PetscReal sum[LEDGER_SIZE])
{
  PetscFunctionBeginUser;
  PetscCall(PetscArrayzero(sum, LEDGER_SIZE));
  for (PetscInt i = 0; i < model->nbatch; i++)
    for (PetscInt d = 0; d < model->batch[i]->n; d++)
      for (PetscInt k = 0; k < LEDGER_SIZE; k++) sum[k] += model->batch[i]->ledger[d * LEDGER_SIZE + k];
  PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, sum, LEDGER_SIZE, MPIU_REAL, MPIU_SUM, model->comm));
  PetscFunctionReturn(0);
}
