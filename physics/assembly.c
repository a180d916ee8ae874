/* Assembly of one mesh: the block pattern, where each element's blocks go in it (found once), and dispatch to the kernels. */
#include "hex8_kernel.h"
#include "simd.h"

/* Kernels by element kind: a new kind is one line. */
static const ElementKernels *const KernelTable[] = {&Hex8Kernels};

struct _p_Assembly {
  Mesh                   mesh;
  PetscInt              *ia, *ja;
  ElementRun            *run;    /* per block of the mesh */
  const ElementKernels **kernel; /* per block of the mesh */
  PetscInt              *offset; /* of all blocks, where run[].offset points */
  uint64_t              *flip;
  PetscInt               width;  /* 0, 1, 2: vectors of 2, 4, 8 */
};

/* Block-upper pattern, columns ascending; the diagonal is always there. By rows: node -> elements -> nodes, with a marker. */
static PetscErrorCode AssemblyPattern_Private(Assembly as)
{
  Mesh       mesh = as->mesh;
  PetscInt  *first, *list, *mark, *row, total = 0;
  PetscInt   n = mesh->nnode, capacity, ncol;
  PetscInt **conn, *nper;

  PetscFunctionBeginUser;
  /* elements of each node, as (block, place) folded into one running number through `conn` */
  for (PetscInt b = 0; b < mesh->nblock; b++) total += mesh->block[b].nelem * mesh->block[b].nnode;
  PetscCall(PetscCalloc1(n + 2, &first));
  PetscCall(PetscMalloc2(total, &list, n, &mark));
  PetscCall(PetscMalloc2(mesh->nelem, &conn, mesh->nelem, &nper));
  for (PetscInt b = 0, e = 0; b < mesh->nblock; b++) {
    const MeshBlock *block = &mesh->block[b];

    for (PetscInt k = 0; k < block->nelem; k++, e++) {
      conn[e] = block->conn + k * block->nnode;
      nper[e] = block->nnode;
      for (PetscInt i = 0; i < block->nnode; i++) first[conn[e][i] + 2]++;
    }
  }
  for (PetscInt i = 2; i <= n + 1; i++) first[i] += first[i - 1];
  for (PetscInt e = 0; e < mesh->nelem; e++) {
    for (PetscInt i = 0; i < nper[e]; i++) list[first[conn[e][i] + 1]++] = e;
  }
  for (PetscInt i = 0; i < n; i++) mark[i] = -1;
  PetscCall(PetscMalloc1(n + 1, &as->ia));
  capacity = 16 * n + 64;
  PetscCall(PetscMalloc1(capacity, &as->ja));
  as->ia[0] = 0;
  for (PetscInt i = 0; i < n; i++) {
    PetscInt need = 1;

    for (PetscInt k = first[i]; k < first[i + 1]; k++) need += nper[list[k]];
    if (as->ia[i] + need > capacity) {
      capacity = PetscMax(capacity + capacity / 2, as->ia[i] + need);
      PetscCall(PetscRealloc(sizeof(PetscInt) * capacity, &as->ja));
    }
    row     = as->ja + as->ia[i];
    row[0]  = i;
    mark[i] = i;
    ncol    = 1;
    for (PetscInt k = first[i]; k < first[i + 1]; k++) {
      for (PetscInt j = 0; j < nper[list[k]]; j++) {
        const PetscInt c = conn[list[k]][j];

        if (c > i && mark[c] != i) mark[c] = i, row[ncol++] = c;
      }
    }
    PetscCall(PetscSortInt(ncol, row));
    as->ia[i + 1] = as->ia[i] + ncol;
  }
  PetscCall(PetscRealloc(sizeof(PetscInt) * PetscMax(as->ia[n], 1), &as->ja));
  PetscCall(PetscFree2(conn, nper));
  PetscCall(PetscFree2(list, mark));
  PetscCall(PetscFree(first));
  PetscFunctionReturn(0);
}

/* Offsets of the pairs a <= b of every element, and which of them are stored transposed */
static PetscErrorCode AssemblyOffsets_Private(Assembly as)
{
  Mesh     mesh = as->mesh;
  PetscInt *o, total = 0, e = 0;

  PetscFunctionBeginUser;
  for (PetscInt b = 0; b < mesh->nblock; b++) total += mesh->block[b].nelem * (mesh->block[b].nnode * (mesh->block[b].nnode + 1) / 2);
  PetscCall(PetscMalloc1(total, &as->offset));
  PetscCall(PetscCalloc1(mesh->nelem, &as->flip));
  o = as->offset;
  for (PetscInt b = 0; b < mesh->nblock; b++) {
    const MeshBlock *block = &mesh->block[b];

    as->run[b] = (ElementRun){block->nelem, block->conn, o, as->flip + e, mesh->coord};
    for (PetscInt k = 0; k < block->nelem; k++, e++) {
      const PetscInt *node = block->conn + k * block->nnode;

      for (PetscInt i = 0, pair = 0; i < block->nnode; i++) {
        for (PetscInt j = i; j < block->nnode; j++, pair++) {
          const PetscInt r = PetscMin(node[i], node[j]), c = PetscMax(node[i], node[j]);
          PetscInt       place;

          PetscCheck(i == j || r != c, PETSC_COMM_SELF, PETSC_ERR_USER_INPUT,
                     "element %" PetscInt_FMT " of block %s has node %" PetscInt_FMT " at two corners: collapsed elements "
                     "cannot be used, mesh with whole ones",
                     k + 1, block->name ? block->name : "", r + 1);
          PetscCall(PetscFindInt(c, as->ia[r + 1] - as->ia[r], as->ja + as->ia[r], &place));
          *o++ = as->ia[r] + place;
          if (node[i] > node[j]) as->flip[e] |= (uint64_t)1 << pair;
        }
      }
    }
  }
  PetscFunctionReturn(0);
}

PetscErrorCode AssemblyCreate(Mesh mesh, Assembly *assembly)
{
  static const char *const names[] = {"best", "sse2", "avx2", "avx512"};
  Assembly                 as;
  PetscInt                 simd = 0;
  PetscBool                set;

  PetscFunctionBeginUser;
  PetscCall(PetscNew(&as));
  *assembly = as; /* so that the caller can destroy it after an error */
  as->mesh  = mesh;
  PetscCall(PetscCalloc2(mesh->nblock, &as->run, mesh->nblock, &as->kernel));
  for (PetscInt b = 0; b < mesh->nblock; b++) {
    const Element *el;

    PetscCall(ElementFind(mesh->block[b].type, &el));
    PetscCheck(el->nnode == mesh->block[b].nnode, PETSC_COMM_SELF, PETSC_ERR_USER_INPUT,
               "block %s: %s has %" PetscInt_FMT " nodes per element, the mesh gives %" PetscInt_FMT,
               mesh->block[b].name ? mesh->block[b].name : "", el->name, el->nnode, mesh->block[b].nnode);
    for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(KernelTable); k++) {
      PetscBool same;

      PetscCall(PetscStrcmp(el->name, KernelTable[k]->name, &same));
      if (same) as->kernel[b] = KernelTable[k];
    }
    PetscCheck(as->kernel[b], PETSC_COMM_SELF, PETSC_ERR_SUP, "no assembly kernel for elements of type %s", el->name);
  }
  PetscCall(AssemblyPattern_Private(as));
  PetscCall(AssemblyOffsets_Private(as));
  PetscCall(PetscOptionsGetEList(NULL, NULL, "-element_simd", names, PETSC_STATIC_ARRAY_LENGTH(names), &simd, &set));
  PetscCall(AssemblySetSIMD(as, simd ? 1 << simd : 0));
  PetscFunctionReturn(0);
}

PetscErrorCode AssemblyDestroy(Assembly *as)
{
  PetscFunctionBeginUser;
  if (!*as) PetscFunctionReturn(0);
  PetscCall(PetscFree((*as)->ia));
  PetscCall(PetscFree((*as)->ja));
  PetscCall(PetscFree2((*as)->run, (*as)->kernel));
  PetscCall(PetscFree((*as)->offset));
  PetscCall(PetscFree((*as)->flip));
  PetscCall(PetscFree(*as));
  PetscFunctionReturn(0);
}

PetscErrorCode AssemblyGetPattern(Assembly as, PetscInt *nb, const PetscInt **ia, const PetscInt **ja)
{
  PetscFunctionBeginUser;
  if (nb) *nb = as->mesh->nnode;
  if (ia) *ia = as->ia;
  if (ja) *ja = as->ja;
  PetscFunctionReturn(0);
}

PetscErrorCode AssemblySetSIMD(Assembly as, PetscInt width)
{
  PetscFunctionBeginUser;
  PetscCheck(width == 0 || width == 2 || width == 4 || width == 8, PETSC_COMM_SELF, PETSC_ERR_USER_INPUT,
             "element_simd: vectors of %" PetscInt_FMT " are not known: give 2 (sse2), 4 (avx2), 8 (avx512) or 0 (best)",
             width);
  PetscCheck(!width || SIMDHas(width), PETSC_COMM_SELF, PETSC_ERR_USER_INPUT,
             "element_simd: this processor has no vectors of %" PetscInt_FMT " numbers: leave the option out to get the best it has",
             width);
  if (!width) width = SIMDWidth();
  as->width = width == 2 ? 0 : (width == 4 ? 1 : 2);
  PetscFunctionReturn(0);
}

PetscErrorCode AssemblyTangent(Assembly as, const Elastic *el, const PetscReal *x, PetscInt stride, PetscReal *a, PetscReal *f)
{
  const size_t n = (size_t)as->mesh->nnode;

  PetscFunctionBeginUser;
  if (a) PetscCall(PetscMemzero(a, sizeof(PetscReal) * 9 * as->ia[n]));
  if (f) {
    if (stride == 1) PetscCall(PetscMemzero(f, sizeof(PetscReal) * 3 * n));
    else {
      for (size_t i = 0; i < 3 * n; i++) f[i * stride] = 0;
    }
  }
  if (!a && !f) PetscFunctionReturn(0);
  for (PetscInt b = 0; b < as->mesh->nblock; b++) as->kernel[b]->tangent[as->width](&as->run[b], el->lambda, el->mu, x, stride, a, f);
  PetscFunctionReturn(0);
}

PetscErrorCode AssemblyEnergy(Assembly as, const Elastic *el, const PetscReal *x, PetscInt stride, PetscReal *energy)
{
  PetscFunctionBeginUser;
  *energy = 0;
  for (PetscInt b = 0; b < as->mesh->nblock; b++) *energy += as->kernel[b]->energy[as->width](&as->run[b], el->lambda, el->mu, x, stride);
  PetscFunctionReturn(0);
}
