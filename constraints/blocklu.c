#include "blocklu.h"
#include "cone.h"
#include <suitesparse/amd.h>

struct _p_BlockLU {
  PetscInt        n, na;         /* blocks of the graph; active ones */
  const PetscInt *ptr, *col;
  PetscInt       *perm;          /* order of the whole graph */
  unsigned char  *active;        /* of the last symbolic factorization */
  PetscBool       ordered, symbolic;
  PetscInt       *block, *pos;   /* active blocks in order; where a block is among them, -1: inactive */
  PetscInt       *uptr, *ucol;   /* pattern of U by rows, without the diagonal; not sorted */
  PetscInt       *lptr, *lcol;   /* of L by rows, ascending */
  PetscInt       *aptr, *aplace, *acol; /* of the matrix itself: place in col, position */
  PetscInt       *child, *sibling, *mark, *next;
  PetscInt        ucapacity, capacity, gcapacity;
  PetscReal      *u, *l, *d;     /* 12 numbers a block: U by rows, L by columns, inverse diagonal by columns */
  PetscReal      *acc, *value, *y;
};

PetscErrorCode BlockLUCreate(BlockLU *lu)
{
  PetscFunctionBeginUser;
  PetscCall(PetscNew(lu));
  PetscFunctionReturn(0);
}

static PetscErrorCode BlockLUFree_Private(BlockLU lu)
{
  PetscFunctionBeginUser;
  PetscCall(PetscFree7(lu->perm, lu->active, lu->block, lu->pos, lu->uptr, lu->lptr, lu->aptr));
  PetscCall(PetscFree4(lu->child, lu->sibling, lu->mark, lu->next));
  PetscCall(PetscFree4(lu->d, lu->acc, lu->value, lu->y));
  PetscFunctionReturn(0);
}

PetscErrorCode BlockLUDestroy(BlockLU *lu)
{
  PetscFunctionBeginUser;
  if (!*lu) PetscFunctionReturn(0);
  PetscCall(BlockLUFree_Private(*lu));
  PetscCall(PetscFree2((*lu)->aplace, (*lu)->acol));
  PetscCall(PetscFree4((*lu)->ucol, (*lu)->lcol, (*lu)->u, (*lu)->l));
  PetscCall(PetscFree(*lu));
  PetscFunctionReturn(0);
}

PetscErrorCode BlockLUSetGraph(BlockLU lu, PetscInt n, const PetscInt ptr[], const PetscInt col[])
{
  PetscFunctionBeginUser;
  lu->n        = n;
  lu->ptr      = ptr;
  lu->col      = col;
  lu->symbolic = lu->ordered = PETSC_FALSE;
  if (n > lu->capacity || !lu->capacity) {
    const PetscInt c = lu->capacity = n + n / 2 + 1;

    PetscCall(BlockLUFree_Private(lu));
    PetscCall(PetscMalloc7(c, &lu->perm, c, &lu->active, c, &lu->block, c, &lu->pos, c + 1, &lu->uptr, c + 1, &lu->lptr, c + 1, &lu->aptr));
    PetscCall(PetscMalloc4(c, &lu->child, c, &lu->sibling, c, &lu->mark, c, &lu->next));
    PetscCall(PetscMalloc4(12 * c, &lu->d, 12 * c, &lu->acc, 12 * c, &lu->value, 4 * c, &lu->y));
  }
  if (ptr[n] > lu->gcapacity) {
    lu->gcapacity = ptr[n] + ptr[n] / 2;
    PetscCall(PetscFree2(lu->aplace, lu->acol));
    PetscCall(PetscMalloc2(lu->gcapacity, &lu->aplace, lu->gcapacity, &lu->acol));
  }
  PetscFunctionReturn(0);
}

static PetscErrorCode BlockLUGrow_Private(BlockLU lu, PetscInt used, PetscInt need)
{
  PetscInt *ucol, *lcol;

  PetscFunctionBeginUser;
  if (need <= lu->ucapacity) PetscFunctionReturn(0);
  lu->ucapacity = 2 * need;
  ucol          = lu->ucol;
  lcol          = lu->lcol;
  lu->ucol = lu->lcol = NULL;
  {
    PetscReal *u = lu->u, *l = lu->l;
    PetscInt  *newcol;

    PetscCall(PetscMalloc4(lu->ucapacity, &newcol, lu->ucapacity, &lu->lcol, 12 * lu->ucapacity, &lu->u, 12 * lu->ucapacity, &lu->l));
    PetscCall(PetscArraycpy(newcol, ucol, used));
    PetscCall(PetscFree4(ucol, lcol, u, l));
    lu->ucol = newcol;
  }
  PetscFunctionReturn(0);
}

PetscErrorCode BlockLUSetActive(BlockLU lu, const unsigned char active[])
{
  PetscInt na = 0, nu = 0;

  PetscFunctionBeginUser;
  if (!lu->ordered) {
    const int status = lu->n ? amd_order(lu->n, lu->ptr, lu->col, lu->perm, NULL, NULL) : AMD_OK;

    PetscCheck(status == AMD_OK || status == AMD_OK_BUT_JUMBLED, PETSC_COMM_SELF, PETSC_ERR_LIB, "AMD failed with status %d", status);
    lu->ordered = PETSC_TRUE;
  }
  if (lu->symbolic) {
    PetscBool same = PETSC_TRUE;

    for (PetscInt i = 0; i < lu->n && same; i++)
      if ((active ? active[i] != 0 : 1) != lu->active[i]) same = PETSC_FALSE;
    if (same) PetscFunctionReturn(0);
  }
  for (PetscInt i = 0; i < lu->n; i++) lu->active[i] = active ? active[i] != 0 : 1;
  for (PetscInt k = 0; k < lu->n; k++) {
    const PetscInt b = lu->perm[k];

    lu->pos[b] = lu->active[b] ? na : -1;
    if (lu->active[b]) lu->block[na++] = b;
  }
  lu->na = na;
  for (PetscInt i = 0; i < na; i++) {
    lu->child[i] = lu->sibling[i] = lu->mark[i] = -1;
    lu->next[i]                                 = 0; /* counts rows of L */
  }
  lu->uptr[0] = lu->aptr[0] = 0;
  for (PetscInt i = 0; i < na; i++) {
    const PetscInt b    = lu->block[i];
    PetscInt       na_i = lu->aptr[i], parent = na;

    PetscCall(BlockLUGrow_Private(lu, nu, nu + na)); /* at most na more in this row */
    lu->mark[i] = i;
    for (PetscInt k = lu->ptr[b]; k < lu->ptr[b + 1]; k++) {
      const PetscInt j = lu->pos[lu->col[k]];

      if (j < 0) continue;
      lu->aplace[na_i] = k;
      lu->acol[na_i++] = j;
      if (j > i && lu->mark[j] != i) {
        lu->mark[j]    = i;
        lu->ucol[nu++] = j;
      }
    }
    lu->aptr[i + 1] = na_i;
    for (PetscInt c = lu->child[i]; c >= 0; c = lu->sibling[c])
      for (PetscInt k = lu->uptr[c]; k < lu->uptr[c + 1]; k++) {
        const PetscInt j = lu->ucol[k];

        if (lu->mark[j] != i) { /* i itself is marked */
          lu->mark[j]    = i;
          lu->ucol[nu++] = j;
        }
      }
    lu->uptr[i + 1] = nu;
    for (PetscInt k = lu->uptr[i]; k < nu; k++) {
      parent = PetscMin(parent, lu->ucol[k]);
      lu->next[lu->ucol[k]]++;
    }
    if (parent < na) {
      lu->sibling[i]    = lu->child[parent];
      lu->child[parent] = i;
    }
  }
  lu->lptr[0] = 0;
  for (PetscInt i = 0; i < na; i++) {
    lu->lptr[i + 1] = lu->lptr[i] + lu->next[i];
    lu->next[i]     = lu->lptr[i];
  }
  for (PetscInt i = 0; i < na; i++)
    for (PetscInt k = lu->uptr[i]; k < lu->uptr[i + 1]; k++) lu->lcol[lu->next[lu->ucol[k]]++] = i;
  lu->symbolic = PETSC_TRUE;
  PetscFunctionReturn(0);
}

/* Inverse of the 3x3 block by rows (4 numbers each) as columns of 4 */
static inline PetscBool Invert_Private(const PetscReal *a, PetscReal *d)
{
  const PetscReal c00 = a[5] * a[10] - a[6] * a[9], c01 = a[6] * a[8] - a[4] * a[10], c02 = a[4] * a[9] - a[5] * a[8];
  const PetscReal det = a[0] * c00 + a[1] * c01 + a[2] * c02, id = 1 / det;

  if (!(PetscAbsReal(id) < PETSC_INFINITY) || det == 0) return PETSC_FALSE;
  d[0]  = id * c00;
  d[1]  = id * c01;
  d[2]  = id * c02;
  d[4]  = id * (a[2] * a[9] - a[1] * a[10]);
  d[5]  = id * (a[0] * a[10] - a[2] * a[8]);
  d[6]  = id * (a[1] * a[8] - a[0] * a[9]);
  d[8]  = id * (a[1] * a[6] - a[2] * a[5]);
  d[9]  = id * (a[2] * a[4] - a[0] * a[6]);
  d[10] = id * (a[0] * a[5] - a[1] * a[4]);
  d[3] = d[7] = d[11] = 0;
  return PETSC_TRUE;
}

/* acc_j -= L U_j for the n blocks of one row of U; L by columns */
FOUR_INLINE void Update_Private(const PetscReal *l, PetscInt n, const PetscInt *restrict col, const PetscReal *restrict u, PetscReal *restrict acc)
{
  const PetscReal l00 = l[0], l10 = l[1], l20 = l[2], l01 = l[4], l11 = l[5], l21 = l[6], l02 = l[8], l12 = l[9], l22 = l[10];

  for (PetscInt k = 0; k < n; k++, u += 12) {
    PetscReal *a  = acc + 12 * col[k];
    const Four u0 = FourLoad(u), u1 = FourLoad(u + 4), u2 = FourLoad(u + 8);

    *(Four *)a       = FourLoad(a) - l00 * u0 - l01 * u1 - l02 * u2;
    *(Four *)(a + 4) = FourLoad(a + 4) - l10 * u0 - l11 * u1 - l12 * u2;
    *(Four *)(a + 8) = FourLoad(a + 8) - l20 * u0 - l21 * u1 - l22 * u2;
  }
}

FOUR_CLONES static PetscBool Factor_Private(BlockLU lu, BlockLURow row, void *ctx)
{
  PetscReal *acc = lu->acc;
  const Four zero = {0, 0, 0, 0};

  for (PetscInt i = 0; i < lu->na; i++) {
    const PetscInt *uc = lu->ucol + lu->uptr[i], *lc = lu->lcol + lu->lptr[i];
    const PetscInt  nu = lu->uptr[i + 1] - lu->uptr[i], nl = lu->lptr[i + 1] - lu->lptr[i], na = lu->aptr[i + 1] - lu->aptr[i];
    PetscReal      *l = lu->l + 12 * lu->lptr[i], *u = lu->u + 12 * lu->uptr[i];

    for (PetscInt k = 0; k < nl; k++)
      for (PetscInt c = 0; c < 3; c++) *(Four *)(acc + 12 * lc[k] + 4 * c) = zero;
    for (PetscInt k = 0; k < nu; k++)
      for (PetscInt c = 0; c < 3; c++) *(Four *)(acc + 12 * uc[k] + 4 * c) = zero;
    (*row)(ctx, lu->block[i], na, lu->aplace + lu->aptr[i], lu->value);
    for (PetscInt k = 0; k < na; k++) {
      PetscReal *a = acc + 12 * lu->acol[lu->aptr[i] + k];

      for (PetscInt c = 0; c < 3; c++) *(Four *)(a + 4 * c) = FourLoad(lu->value + 12 * k + 4 * c);
    }
    for (PetscInt k = 0; k < nl; k++, l += 12) {
      const PetscInt   j = lc[k];
      const PetscReal *a = acc + 12 * j, *d = lu->d + 12 * j;

      for (PetscInt c = 0; c < 3; c++) /* L_ij = A_ij D_j^-1, by columns */
        for (PetscInt r = 0; r < 3; r++) l[4 * c + r] = a[4 * r] * d[4 * c] + a[4 * r + 1] * d[4 * c + 1] + a[4 * r + 2] * d[4 * c + 2];
      l[3] = l[7] = l[11] = 0;
      Update_Private(l, lu->uptr[j + 1] - lu->uptr[j], lu->ucol + lu->uptr[j], lu->u + 12 * lu->uptr[j], acc);
    }
    if (!Invert_Private(acc + 12 * i, lu->d + 12 * i)) return PETSC_FALSE;
    for (PetscInt k = 0; k < nu; k++)
      for (PetscInt c = 0; c < 3; c++) {
        Four v = FourLoad(acc + 12 * uc[k] + 4 * c);

        v[3]                            = 0;
        *(Four *)(u + 12 * k + 4 * c) = v;
      }
  }
  return PETSC_TRUE;
}

PetscErrorCode BlockLUFactor(BlockLU lu, BlockLURow row, void *ctx, PetscBool *ok)
{
  PetscFunctionBeginUser;
  PetscCheck(lu->symbolic, PETSC_COMM_SELF, PETSC_ERR_ARG_WRONGSTATE, "BlockLUSetActive must come before BlockLUFactor");
  *ok = Factor_Private(lu, row, ctx);
  PetscFunctionReturn(0);
}

FOUR_CLONES void BlockLUSolve(BlockLU lu, PetscReal *x)
{
  PetscReal *y = lu->y;

  for (PetscInt i = 0; i < lu->na; i++) {
    const PetscReal *b = x + 3 * lu->block[i], *l = lu->l + 12 * lu->lptr[i];
    Four             a = {b[0], b[1], b[2], 0};

    for (PetscInt k = lu->lptr[i]; k < lu->lptr[i + 1]; k++, l += 12) {
      const PetscReal *z = y + 4 * lu->lcol[k];

      a -= FourLoad(l) * z[0] + FourLoad(l + 4) * z[1] + FourLoad(l + 8) * z[2];
    }
    *(Four *)(y + 4 * i) = a;
  }
  for (PetscInt i = lu->na - 1; i >= 0; i--) {
    const PetscReal *u = lu->u + 12 * lu->uptr[i], *d = lu->d + 12 * i;
    Four             a0 = {0}, a1 = {0}, a2 = {0}, v;
    PetscReal        z[3];

    for (PetscInt k = lu->uptr[i]; k < lu->uptr[i + 1]; k++, u += 12) {
      v = FourLoad(y + 4 * lu->ucol[k]);
      a0 += FourLoad(u) * v;
      a1 += FourLoad(u + 4) * v;
      a2 += FourLoad(u + 8) * v;
    }
    z[0] = y[4 * i] - (a0[0] + a0[1] + a0[2]);
    z[1] = y[4 * i + 1] - (a1[0] + a1[1] + a1[2]);
    z[2] = y[4 * i + 2] - (a2[0] + a2[1] + a2[2]);
    v    = FourLoad(d) * z[0] + FourLoad(d + 4) * z[1] + FourLoad(d + 8) * z[2];
    *(Four *)(y + 4 * i) = v;
    for (PetscInt c = 0; c < 3; c++) x[3 * lu->block[i] + c] = v[c];
  }
}

PetscInt BlockLUGetSize(BlockLU lu)
{
  return lu->uptr[lu->na] + lu->lptr[lu->na] + lu->na;
}

void BlockLUGetProducts(BlockLU lu, PetscReal *products)
{
  *products = 0;
  for (PetscInt i = 0; i < lu->na; i++) {
    const PetscReal width = lu->uptr[i + 1] - lu->uptr[i];

    *products += 1 + width * (width + 1);
  }
}
