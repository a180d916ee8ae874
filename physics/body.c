#include "body.h"
#include "rotation.h"
#include "simd.h"

PetscErrorCode BodyCreate(const char name[], PetscInt id, Part part, Body *body)
{
  static const PetscReal identity[9] = {1, 0, 0, 0, 1, 0, 0, 0, 1}, zero[3] = {0, 0, 0};

  PetscFunctionBeginUser;
  PetscCall(PetscNew(body));
  PetscCall(PetscStrallocpy(name, &(*body)->name));
  (*body)->id       = id;
  (*body)->part     = part;
  (*body)->conserve = PETSC_TRUE;
  PetscCall(PetscStrncpy((*body)->formulation, "bc", sizeof((*body)->formulation)));
  PetscCall(BodyPlace(*body, identity, zero));
  PetscFunctionReturn(0);
}

PetscErrorCode BodyDestroy(Body *body)
{
  PetscFunctionBeginUser;
  if (!*body) PetscFunctionReturn(0);
  for (PetscInt i = 0; i < 6; i++) PetscCall(FunctionDestroy(&(*body)->motion[i]));
  PetscCall(PetscFree((*body)->name));
  PetscCall(PetscFree(*body));
  PetscFunctionReturn(0);
}

PetscErrorCode BodyPlace(Body body, const PetscReal rotation[9], const PetscReal shift[3])
{
  PetscFunctionBeginUser;
  PetscCall(PetscArraycpy(body->rotation, rotation, 9));
  PetscCall(PetscArraycpy(body->shift, shift, 3));
  Mat3Vec(rotation, body->part->centre, body->origin);
  for (PetscInt c = 0; c < 3; c++) body->origin[c] += shift[c];
  PetscFunctionReturn(0);
}

PetscErrorCode BodyLocatePoint(Body body, const PetscReal placed[3], MaterialPoint *point, PetscBool *found)
{
  PetscReal r[3], X[3], xi[3];
  PetscInt  elem;

  PetscFunctionBeginUser;
  for (PetscInt c = 0; c < 3; c++) r[c] = placed[c] - body->shift[c];
  Mat3TransposeVec(body->rotation, r, X);
  PetscCall(MeshLocatePoint(body->part->mesh, X, &elem, xi));
  *found = elem >= 0 ? PETSC_TRUE : PETSC_FALSE;
  if (*found) PetscCall(PartPoint(body->part, elem, xi, point));
  PetscFunctionReturn(0);
}

PetscErrorCode PartPoint(Part part, PetscInt elem, const PetscReal xi[3], MaterialPoint *point)
{
  Mesh             mesh  = part->mesh;
  const MeshBlock *block = mesh->block;
  const Element   *element;
  PetscReal        N[ELEMENT_MAX_NODES];
  PetscInt         e = elem;

  PetscFunctionBeginUser;
  for (; e >= block->nelem; block++) e -= block->nelem;
  PetscCall(ElementFind(block->type, &element));
  element->shape(xi, N, NULL);
  point->elem  = elem;
  point->nnode = 0;
  for (PetscInt c = 0; c < 3; c++) {
    point->xi[c] = xi[c];
    point->X[c]  = 0;
  }
  for (PetscInt a = 0; a < element->nnode; a++) {
    const PetscInt node = block->conn[e * block->nnode + a];

    if (N[a] == 0) continue;
    point->node[point->nnode] = node;
    point->N[point->nnode++]  = N[a];
    for (PetscInt c = 0; c < 3; c++) point->X[c] += N[a] * part->X[3 * node + c];
  }
  PetscFunctionReturn(0);
}

/* The registry: a formulation is one file in integrators/ and one line where they register. */
static PetscFunctionList FormulationList = NULL;

static PetscErrorCode FormulationFinalize_Private(void)
{
  PetscFunctionBeginUser;
  PetscCall(PetscFunctionListDestroy(&FormulationList));
  PetscFunctionReturn(0);
}

PetscErrorCode FormulationRegister(const FormulationOps *ops)
{
  PetscFunctionBeginUser;
  if (!FormulationList) PetscCall(PetscRegisterFinalize(FormulationFinalize_Private));
  PetscCall(PetscFunctionListAdd(&FormulationList, ops->name, (void (*)(void))ops));
  PetscFunctionReturn(0);
}

PetscErrorCode FormulationFind(const char name[], const FormulationOps **ops)
{
  void (*entry)(void) = NULL;

  PetscFunctionBeginUser;
  PetscCall(PetscFunctionListFind(FormulationList, name, &entry));
  *ops = (const FormulationOps *)entry;
  PetscFunctionReturn(0);
}

PetscErrorCode FormulationNames(char names[], size_t len)
{
  const char **list;
  int          n;

  PetscFunctionBeginUser;
  names[0] = 0;
  PetscCall(PetscFunctionListGet(FormulationList, &list, &n));
  for (int i = 0; i < n && list[i]; i++) { /* n counts the NULL at its end, too */
    if (i) PetscCall(PetscStrlcat(names, ", ", len));
    PetscCall(PetscStrlcat(names, list[i], len));
  }
  PetscCall(PetscFree(list));
  PetscFunctionReturn(0);
}

/* Lanes pay from three bodies on. Kernels take two vectors at once, so that each of the factor's numbers serves both. */
static PetscInt BatchWidth_Private(PetscInt n)
{
  if (n < 3) return 1;
  return n > 8 && SIMDWidth() == 8 ? 16 : 8;
}

PetscErrorCode BatchCreate(const FormulationOps *ops, PetscInt n, Body bodies[], Batch *batch)
{
  Batch b;

  PetscFunctionBeginUser;
  PetscCall(PetscNew(&b));
  *batch      = b;
  b->part     = bodies[0]->part;
  b->ops      = ops;
  b->eta      = bodies[0]->eta;
  b->alpha    = bodies[0]->alpha;
  b->frame    = bodies[0]->frame;
  b->conserve = bodies[0]->conserve;
  b->tangent  = bodies[0]->tangent;
  b->n        = n;
  b->w        = ops->lanes ? BatchWidth_Private(n) : 1;
  b->ngroup   = (n + b->w - 1) / b->w;
  b->lanes    = b->w == 1 ? n : 8 * ((n + 7) / 8);
  b->bad_lane = -1;
  PetscCall(PetscMalloc1(n, &b->domain));
  for (PetscInt d = 0; d < n; d++) b->domain[d] = (Domain){bodies[d], b, d};
  PetscCall(PetscCalloc1(n * LEDGER_SIZE, &b->ledger));
  PetscCall((*ops->setup)(b));
  if (b->nu) PetscCall(SIMDCalloc((size_t)b->lanes * b->nu, &b->du));
  PetscFunctionReturn(0);
}

PetscErrorCode BatchDestroy(Batch *batch)
{
  Batch b = *batch;

  PetscFunctionBeginUser;
  if (!b) PetscFunctionReturn(0);
  if (b->ops->destroy) PetscCall((*b->ops->destroy)(b));
  PetscCall(SIMDFree(&b->du));
  PetscCall(SIMDFree(&b->force));
  PetscCall(SIMDFree(&b->impulse));
  PetscCall(PetscFree(b->ledger));
  PetscCall(PetscFree(b->domain));
  PetscCall(PetscFree(*batch));
  PetscFunctionReturn(0);
}
