#include "compliance.h"

/* Inertia of the continuous body about its mass centre: x_i x_j detJ is of degree 4 in each direction, so 3 points are exact. */
static PetscErrorCode PartInertia_Private(Part part)
{
  static const PetscReal point[3]  = {-0.774596669241483377035853079956, 0, 0.774596669241483377035853079956};
  static const PetscReal weight[3] = {5. / 9, 8. / 9, 5. / 9};
  Mesh                   mesh      = part->mesh;
  PetscReal              S[9]      = {0};

  PetscFunctionBeginUser;
  for (PetscInt b = 0; b < mesh->nblock; b++) {
    const MeshBlock *block = &mesh->block[b];
    const Element   *element;
    PetscReal       *N, *dN;

    PetscCall(ElementFind(block->type, &element));
    PetscCall(PetscMalloc2(element->nnode, &N, 3 * element->nnode, &dN));
    for (PetscInt e = 0; e < block->nelem; e++)
      for (PetscInt g = 0; g < 27; g++) {
        const PetscReal xi[3] = {point[g % 3], point[g / 3 % 3], point[g / 9]};
        PetscReal       x[3] = {0}, J[9] = {0}, dv;

        element->shape(xi, N, dN);
        for (PetscInt a = 0; a < element->nnode; a++) {
          const PetscReal *X = &part->X[3 * block->conn[e * element->nnode + a]];

          for (PetscInt i = 0; i < 3; i++) {
            x[i] += N[a] * X[i];
            for (PetscInt j = 0; j < 3; j++) J[3 * i + j] += X[i] * dN[3 * a + j];
          }
        }
        dv = J[0] * (J[4] * J[8] - J[5] * J[7]) + J[1] * (J[5] * J[6] - J[3] * J[8]) + J[2] * (J[3] * J[7] - J[4] * J[6]);
        dv *= part->elastic.density * weight[g % 3] * weight[g / 3 % 3] * weight[g / 9];
        for (PetscInt i = 0; i < 3; i++)
          for (PetscInt j = 0; j < 3; j++) S[3 * i + j] += dv * x[i] * x[j];
      }
    PetscCall(PetscFree2(N, dN));
  }
  for (PetscInt i = 0; i < 3; i++)
    for (PetscInt j = 0; j < 3; j++) part->inertia[3 * i + j] = (i == j ? S[0] + S[4] + S[8] : 0) - S[3 * i + j];
  PetscFunctionReturn(0);
}

PetscErrorCode PartCreate(const char name[], Mesh mesh, const Material *material, Part *part)
{
  Part      p;
  PetscReal r2 = 0, density = material->density > 0 ? material->density : 1; /* for the centre of an obstacle */

  PetscFunctionBeginUser;
  /* An obstacle needs no material, a rigid body no stiffness: what is not given is zero here, and asked for where it is needed. */
  PetscCheck(material->density >= 0, PETSC_COMM_SELF, PETSC_ERR_USER_INPUT, "%s_material_density: %g is below zero", name, material->density);
  PetscCheck(material->young >= 0, PETSC_COMM_SELF, PETSC_ERR_USER_INPUT, "%s_material_young: %g is below zero", name, material->young);
  PetscCheck(material->poisson > -1 && material->poisson < 0.5, PETSC_COMM_SELF, PETSC_ERR_USER_INPUT, "%s_material_poisson: %g is not between -1 and 0.5; take 0.49 for a nearly incompressible material", name,
             material->poisson);
  PetscCall(PetscNew(&p));
  *part = p;
  PetscCall(PetscStrallocpy(name, &p->name));
  p->mesh            = mesh;
  p->material        = *material;
  p->nnode           = mesh->nnode;
  p->elastic.lambda  = material->young * material->poisson / ((1 + material->poisson) * (1 - 2 * material->poisson));
  p->elastic.mu      = material->young / (2 * (1 + material->poisson));
  p->elastic.density = density;
  p->elastic.linear  = material->linear;
  p->wave            = material->density > 0 ? PetscSqrtReal(material->young / material->density) : 0;
  PetscCall(PetscMalloc4(p->nnode, &p->mass, 3 * p->nnode, &p->X, 3 * p->nnode, &p->G, 3 * p->nnode, &p->mX));
  PetscCall(MeshIntegrate(mesh, density, p->mass, p->G, &p->volume, p->centre));
  for (PetscInt i = 0; i < p->nnode; i++) {
    PetscReal s = 0;

    for (PetscInt c = 0; c < 3; c++) {
      p->X[3 * i + c]  = mesh->coord[3 * i + c] - p->centre[c];
      p->mX[3 * i + c] = p->mass[i] * p->X[3 * i + c];
      s += p->X[3 * i + c] * p->X[3 * i + c];
    }
    p->total += p->mass[i];
    r2 = PetscMax(r2, s);
  }
  p->radius = PetscSqrtReal(r2);
  PetscCall(PartInertia_Private(p));
  PetscFunctionReturn(0);
}

PetscErrorCode PartDestroy(Part *part)
{
  Part p = *part;

  PetscFunctionBeginUser;
  if (!p) PetscFunctionReturn(0);
  for (PetscInt i = 0; i < p->nfactor; i++) {
    PetscCall(ComplianceDestroy(&p->factors[i].compliance));
    PetscCall(FactorDestroy(&p->factors[i].single));
    PetscCall(FactorDestroy(&p->factors[i].factor));
  }
  PetscCall(FactorDestroy(&p->like));
  PetscCall(MatDestroy(&p->K0));
  PetscCall(AssemblyDestroy(&p->assembly));
  PetscCall(SurfaceDestroy(&p->surface));
  PetscCall(MeshDestroy(&p->mesh));
  PetscCall(PetscFree4(p->mass, p->X, p->G, p->mX));
  PetscCall(PetscFree(p->factors));
  PetscCall(PetscFree(p->name));
  PetscCall(PetscFree(*part));
  PetscFunctionReturn(0);
}

PetscErrorCode PartSetUpElastic(Part part)
{
  PetscInt        nb;
  const PetscInt *ia, *ja;
  PetscInt       *nnz;
  PetscReal      *a;

  PetscFunctionBeginUser;
  if (part->K0) PetscFunctionReturn(0);
  PetscCall(AssemblyCreate(part->mesh, &part->assembly));
  PetscCall(AssemblySetSIMD(part->assembly, part->simd));
  PetscCall(AssemblyGetPattern(part->assembly, &nb, &ia, &ja));
  part->pattern = (BlockPattern){nb, ia, ja};
  PetscCall(PetscMalloc1(nb, &nnz));
  for (PetscInt i = 0; i < nb; i++) nnz[i] = ia[i + 1] - ia[i];
  PetscCall(MatCreateSeqSBAIJ(PETSC_COMM_SELF, 3, 3 * nb, 3 * nb, 0, nnz, &part->K0));
  PetscCall(PetscFree(nnz));
  PetscCall(MatSeqSBAIJSetPreallocationCSR(part->K0, 3, ia, ja, NULL));
  PetscCall(MatSeqSBAIJGetArray(part->K0, &a));
  PetscCall(AssemblyTangent(part->assembly, &part->elastic, part->mesh->coord, 1, a, NULL));
  PetscCall(MatSeqSBAIJRestoreArray(part->K0, &a));
  PetscFunctionReturn(0);
}

PetscErrorCode PartShift(Part part, PetscReal sm, PetscReal sk, const PetscReal *k, PetscReal *a)
{
  const PetscInt nb = part->pattern.nb, *ia = part->pattern.ia;

  PetscFunctionBeginUser;
#pragma omp simd
  for (PetscInt i = 0; i < 9 * ia[nb]; i++) a[i] = sk * k[i];
  for (PetscInt i = 0; i < nb; i++)
    for (PetscInt c = 0; c < 3; c++) a[9 * ia[i] + 4 * c] += sm * part->mass[i]; /* the diagonal block comes first in its row */
  PetscFunctionReturn(0);
}

PetscErrorCode PartCreateFactor(Part part, Factor *factor)
{
  PetscFunctionBeginUser;
  PetscCall(PartSetUpElastic(part));
  if (!part->like) PetscCall(FactorCreate(&part->pattern, &part->like));
  PetscCall(FactorCreateLike(part->like, factor));
  PetscFunctionReturn(0);
}

PetscErrorCode PartGetFactor(Part part, PetscReal sm, PetscReal sk, Factor *factor)
{
  PetscReal *k, *a;
  PetscBool  definite;

  PetscFunctionBeginUser;
  for (PetscInt i = 0; i < part->nfactor; i++)
    if (part->factors[i].sm == sm && part->factors[i].sk == sk) {
      *factor = part->factors[i].factor;
      PetscFunctionReturn(0);
    }
  PetscCall(PartSetUpElastic(part));
  if (part->nfactor == part->capacity) {
    part->capacity = 2 * part->capacity + 2;
    PetscCall(PetscRealloc(part->capacity * sizeof(*part->factors), &part->factors));
  }
  PetscCall(PetscMalloc1(9 * part->pattern.ia[part->pattern.nb], &a));
  PetscCall(MatSeqSBAIJGetArray(part->K0, &k));
  PetscCall(PartShift(part, sm, sk, k, a));
  PetscCall(MatSeqSBAIJRestoreArray(part->K0, &k));
  PetscCall(PartCreateFactor(part, factor));
  PetscCall(FactorSetValues(*factor, a, &definite));
  PetscCall(PetscFree(a));
  part->factors[part->nfactor++] = (struct _PartFactor){.sm = sm, .sk = sk, .factor = *factor};
  part->nnumeric++;
  PetscFunctionReturn(0);
}

PetscErrorCode PartGetFactorSingle(Part part, PetscReal sm, PetscReal sk, Factor *factor)
{
  PetscInt i = 0;

  PetscFunctionBeginUser;
  PetscCall(PartGetFactor(part, sm, sk, factor));
  while (part->factors[i].factor != *factor) i++;
  if (!part->factors[i].single) PetscCall(FactorCreateSingle(*factor, &part->factors[i].single));
  if (part->factors[i].single) *factor = part->factors[i].single;
  PetscFunctionReturn(0);
}

PetscErrorCode PartGetSurface(Part part, Surface *surface)
{
  PetscFunctionBeginUser;
  if (!part->surface) PetscCall(SurfaceCreate(part->mesh, &part->surface));
  *surface = part->surface;
  PetscFunctionReturn(0);
}
