#include "bodylu.h"
#include "cone.h"
#include "physics/simd.h"
#include <suitesparse/amd.h>

#define BODY_BLOCK 48 /* numbers of a 6x6 block: rows of 8 */

#define VL         2
#define TARGET
#define NAME(f)    f##_2
#include "bodylu_kernel.h"
#undef VL
#undef TARGET
#undef NAME
#if defined(__x86_64__)
  #define VL      4
  #define TARGET  __attribute__((target("avx2,fma")))
  #define NAME(f) f##_4
  #include "bodylu_kernel.h"
  #undef VL
  #undef TARGET
  #undef NAME
  #define VL      8
  #define TARGET  __attribute__((target("avx512f,avx2,fma")))
  #define NAME(f) f##_8
  #include "bodylu_kernel.h"
  #undef VL
  #undef TARGET
  #undef NAME
#endif

struct _p_BodyLU {
  PetscInt   n, npair;             /* bodies; pairs that are coupled */
  PetscInt  *pair;                 /* 2 a pair: bodies of the pattern that is known */
  PetscInt  *pair_of;              /* of each block, -1: of one body only, or not active */
  PetscBool  known;
  PetscInt  *perm, *pos;           /* bodies in order; where a body is */
  PetscInt  *ptr, *col, *place;    /* graph: neighbours of a body, and the block of A, 2 p + 1 from the higher body of the pair to the lower */
  PetscInt  *uptr, *ucol, *lptr, *lcol; /* patterns of U by rows, not sorted, and of L by rows, ascending; without the diagonal */
  PetscInt  *child, *sibling, *mark, *next, *bucket;
  PetscReal *diagonal, *a;         /* blocks of the matrix */
  PetscReal *u, *l, *d, *acc, *y;  /* d: inverse diagonal blocks */
  PetscInt   capacity, pcapacity, bcapacity, ucapacity;
  PetscReal  products;
};

PetscErrorCode BodyLUCreate(BodyLU *lu)
{
  PetscFunctionBeginUser;
  PetscCall(PetscNew(lu));
  PetscFunctionReturn(0);
}

PetscErrorCode BodyLUDestroy(BodyLU *lu)
{
  BodyLU f = *lu;

  PetscFunctionBeginUser;
  if (!f) PetscFunctionReturn(0);
  PetscCall(PetscFree4(f->perm, f->pos, f->ptr, f->uptr));
  PetscCall(PetscFree6(f->lptr, f->child, f->sibling, f->mark, f->next, f->bucket));
  PetscCall(PetscFree4(f->pair, f->col, f->place, f->a));
  PetscCall(PetscFree(f->pair_of));
  PetscCall(PetscFree4(f->diagonal, f->d, f->acc, f->y));
  PetscCall(PetscFree4(f->ucol, f->lcol, f->u, f->l));
  PetscCall(PetscFree(*lu));
  PetscFunctionReturn(0);
}

PetscErrorCode BodyLUReset(BodyLU lu)
{
  PetscFunctionBeginUser;
  lu->known = PETSC_FALSE;
  PetscFunctionReturn(0);
}

static PetscErrorCode Reserve_Private(BodyLU f, System s)
{
  PetscFunctionBeginUser;
  f->n = s->nbody;
  if (f->n > f->capacity || !f->capacity) {
    const PetscInt c = f->capacity = f->n + f->n / 2 + 1;

    PetscCall(PetscFree4(f->perm, f->pos, f->ptr, f->uptr));
    PetscCall(PetscFree6(f->lptr, f->child, f->sibling, f->mark, f->next, f->bucket));
    PetscCall(PetscFree4(f->diagonal, f->d, f->acc, f->y));
    PetscCall(PetscMalloc4(c, &f->perm, c, &f->pos, c + 1, &f->ptr, c + 1, &f->uptr));
    PetscCall(PetscMalloc6(c + 1, &f->lptr, c, &f->child, c, &f->sibling, c, &f->mark, c, &f->next, c + 1, &f->bucket));
    PetscCall(PetscMalloc4(BODY_BLOCK * c, &f->diagonal, BODY_BLOCK * c, &f->d, BODY_BLOCK * c, &f->acc, 8 * c, &f->y));
  }
  if (s->n > f->bcapacity || !f->bcapacity) {
    f->bcapacity = s->n + s->n / 2 + 1;
    PetscCall(PetscFree(f->pair_of));
    PetscCall(PetscMalloc1(2 * f->bcapacity, &f->pair_of)); /* and the lists of blocks by body */
  }
  PetscFunctionReturn(0);
}

/* Room for np pairs. Nothing is kept. */
static PetscErrorCode ReservePairs_Private(BodyLU f, PetscInt np)
{
  PetscFunctionBeginUser;
  if (np <= f->pcapacity && f->pcapacity) PetscFunctionReturn(0);
  f->pcapacity = np + np / 2 + 1;
  PetscCall(PetscFree4(f->pair, f->col, f->place, f->a));
  PetscCall(PetscMalloc4(2 * f->pcapacity, &f->pair, 2 * f->pcapacity, &f->col, 2 * f->pcapacity, &f->place, 2 * BODY_BLOCK * f->pcapacity, &f->a));
  PetscFunctionReturn(0);
}

static inline PetscBool Bodies_Private(System s, PetscInt i, PetscInt *low, PetscInt *high)
{
  const PetscInt a = s->body[2 * i], b = s->body[2 * i + 1];

  *low  = PetscMin(a, b) - s->firstbody;
  *high = PetscMax(a, b) - s->firstbody;
  return (PetscBool)(a >= 0 && b >= 0);
}

/* Pairs of bodies of the active blocks, by lower body in the order of blocks. *same: they are those that are known. */
static PetscErrorCode Pairs_Private(BodyLU f, System s, const unsigned char active[], PetscBool *same)
{
  PetscInt *list = f->pair_of + f->bcapacity, np = 0, low, high, capacity = f->known ? f->npair : 0;

  PetscFunctionBeginUser;
  for (PetscInt b = 0; b <= f->n; b++) f->bucket[b] = 0;
  for (PetscInt i = 0; i < s->n; i++) {
    f->pair_of[i] = -1;
    if ((active && !active[i]) || !Bodies_Private(s, i, &low, &high)) continue;
    f->bucket[low + 1]++;
  }
  for (PetscInt b = 0; b < f->n; b++) {
    f->bucket[b + 1] += f->bucket[b];
    f->next[b] = f->bucket[b];
    f->mark[b] = -1;
  }
  for (PetscInt i = 0; i < s->n; i++)
    if ((!active || active[i]) && Bodies_Private(s, i, &low, &high)) list[f->next[low]++] = i;
  *same = f->known;
  for (PetscInt pass = 0; pass < 2; pass++) { /* compare with what is known; write it if it is another */
    np = 0;
    for (PetscInt b = 0; b < f->n; b++) f->mark[b] = -1;
    for (PetscInt b = 0; b < f->n; b++) {
      const PetscInt first = np;

      for (PetscInt k = f->bucket[b]; k < f->bucket[b + 1]; k++) {
        (void)Bodies_Private(s, list[k], &low, &high);
        if (f->mark[high] < first) {
          f->mark[high] = np;
          if (pass) {
            f->pair[2 * np]     = b;
            f->pair[2 * np + 1] = high;
          } else if (np >= capacity || f->pair[2 * np] != b || f->pair[2 * np + 1] != high) *same = PETSC_FALSE;
          np++;
        }
        f->pair_of[list[k]] = f->mark[high];
      }
    }
    if (np != capacity) *same = PETSC_FALSE;
    if (*same) break;
    if (!pass) PetscCall(ReservePairs_Private(f, np));
  }
  f->npair = np;
  PetscFunctionReturn(0);
}

static PetscErrorCode Grow_Private(BodyLU f, PetscInt used, PetscInt need)
{
  PetscInt *ucol = f->ucol, *lcol = f->lcol;

  PetscFunctionBeginUser;
  if (need <= f->ucapacity) PetscFunctionReturn(0);
  f->ucapacity = 2 * need;
  {
    PetscReal *u = f->u, *l = f->l;

    PetscCall(PetscMalloc4(f->ucapacity, &f->ucol, f->ucapacity, &f->lcol, (size_t)BODY_BLOCK * f->ucapacity, &f->u, (size_t)BODY_BLOCK * f->ucapacity, &f->l));
    PetscCall(PetscArraycpy(f->ucol, ucol, used));
    PetscCall(PetscFree4(ucol, lcol, u, l));
  }
  PetscFunctionReturn(0);
}

/* Order and patterns of the pairs */
static PetscErrorCode Symbolic_Private(BodyLU f)
{
  PetscInt nu = 0, status;

  PetscFunctionBeginUser;
  for (PetscInt b = 0; b <= f->n; b++) f->ptr[b] = 0;
  for (PetscInt p = 0; p < 2 * f->npair; p++) f->ptr[f->pair[p] + 1]++;
  for (PetscInt b = 0; b < f->n; b++) {
    f->ptr[b + 1] += f->ptr[b];
    f->next[b] = f->ptr[b];
  }
  for (PetscInt p = 0; p < f->npair; p++)
    for (PetscInt k = 0; k < 2; k++) {
      const PetscInt at = f->next[f->pair[2 * p + k]]++;

      f->col[at]   = f->pair[2 * p + 1 - k];
      f->place[at] = 2 * p + k;
    }
  status = amd_order(f->n, f->ptr, f->col, f->perm, NULL, NULL);
  PetscCheck(status == AMD_OK || status == AMD_OK_BUT_JUMBLED, PETSC_COMM_SELF, PETSC_ERR_LIB, "AMD failed with status %" PetscInt_FMT, status);
  for (PetscInt i = 0; i < f->n; i++) f->pos[f->perm[i]] = i;
  for (PetscInt i = 0; i < f->n; i++) {
    f->child[i] = f->sibling[i] = f->mark[i] = -1;
    f->next[i]                               = 0; /* counts rows of L */
  }
  f->uptr[0] = 0;
  for (PetscInt i = 0; i < f->n; i++) {
    const PetscInt b      = f->perm[i];
    PetscInt       parent = f->n;

    PetscCall(Grow_Private(f, nu, nu + f->n)); /* at most n more in this row */
    f->mark[i] = i;
    for (PetscInt k = f->ptr[b]; k < f->ptr[b + 1]; k++) {
      const PetscInt j = f->pos[f->col[k]];

      if (j > i && f->mark[j] != i) {
        f->mark[j]    = i;
        f->ucol[nu++] = j;
      }
    }
    for (PetscInt c = f->child[i]; c >= 0; c = f->sibling[c])
      for (PetscInt k = f->uptr[c]; k < f->uptr[c + 1]; k++) {
        const PetscInt j = f->ucol[k];

        if (f->mark[j] != i) { /* i itself is marked */
          f->mark[j]    = i;
          f->ucol[nu++] = j;
        }
      }
    f->uptr[i + 1] = nu;
    for (PetscInt k = f->uptr[i]; k < nu; k++) {
      parent = PetscMin(parent, f->ucol[k]);
      f->next[f->ucol[k]]++;
    }
    if (parent < f->n) {
      f->sibling[i]    = f->child[parent];
      f->child[parent] = i;
    }
  }
  f->lptr[0]  = 0;
  f->products = 0;
  for (PetscInt i = 0; i < f->n; i++) {
    const PetscReal width = f->uptr[i + 1] - f->uptr[i];

    f->products += 1 + width * (width + 1);
    f->lptr[i + 1] = f->lptr[i] + f->next[i];
    f->next[i]     = f->lptr[i];
  }
  for (PetscInt i = 0; i < f->n; i++)
    for (PetscInt k = f->uptr[i]; k < f->uptr[i + 1]; k++) f->lcol[f->next[f->ucol[k]]++] = i;
  f->known = PETSC_TRUE;
  PetscFunctionReturn(0);
}

static PetscErrorCode Prepare_Private(BodyLU f, System s, const unsigned char active[])
{
  PetscBool same;

  PetscFunctionBeginUser;
  PetscCall(Reserve_Private(f, s));
  PetscCall(Pairs_Private(f, s, active, &same));
  if (!same) PetscCall(Symbolic_Private(f));
  PetscFunctionReturn(0);
}

PetscErrorCode BodyLUEstimate(BodyLU f, System s, const unsigned char active[], PetscReal *products)
{
  PetscFunctionBeginUser;
  PetscCall(Prepare_Private(f, s, active));
  *products = f->products;
  PetscFunctionReturn(0);
}

/* out += A^T (K B) with A, B 3x6 by columns */
FOUR_INLINE void AddProduct_Private(const PetscReal *A, const PetscReal KB[6][4], PetscReal *out)
{
  for (PetscInt r = 0; r < 6; r++)
    for (PetscInt c = 0; c < 6; c++) out[8 * r + c] += A[3 * r] * KB[c][0] + A[3 * r + 1] * KB[c][1] + A[3 * r + 2] * KB[c][2];
}

FOUR_CLONES static void Assemble_Private(BodyLU f, System s, const unsigned char active[], const PetscReal *restrict K)
{
  for (PetscInt k = 0; k < BODY_BLOCK * f->n; k++) f->diagonal[k] = 0;
  for (PetscInt b = 0; b < f->n; b++)
    for (PetscInt k = 0; k < 6; k++) f->diagonal[BODY_BLOCK * b + 9 * k] = 1;
  for (PetscInt k = 0; k < 2 * BODY_BLOCK * f->npair; k++) f->a[k] = 0;
  for (PetscInt i = 0; i < s->n; i++) {
    const PetscInt   body[2] = {s->body[2 * i] - s->firstbody, s->body[2 * i + 1] - s->firstbody}, p = f->pair_of[i];
    const PetscReal *F = s->F + 36 * i, *k = K + 9 * i;
    PetscReal        KF[2][6][4];

    if (active && !active[i]) continue;
    for (PetscInt e = 0; e < 2; e++) {
      if (s->body[2 * i + e] < 0) continue;
      for (PetscInt c = 0; c < 6; c++)
        for (PetscInt r = 0; r < 3; r++) KF[e][c][r] = k[3 * r] * F[18 * e + 3 * c] + k[3 * r + 1] * F[18 * e + 3 * c + 1] + k[3 * r + 2] * F[18 * e + 3 * c + 2];
      AddProduct_Private(F + 18 * e, KF[e], f->diagonal + BODY_BLOCK * body[e]);
    }
    if (p < 0) continue;
    for (PetscInt e = 0; e < 2; e++) AddProduct_Private(F + 18 * e, KF[1 - e], f->a + BODY_BLOCK * (2 * p + (body[e] > body[1 - e])));
  }
}

/* Gauss and Jordan without pivoting */
static PetscBool Invert_Private(const PetscReal *a, PetscReal *d)
{
  PetscReal m[6][6];

  for (PetscInt r = 0; r < 6; r++)
    for (PetscInt c = 0; c < 6; c++) m[r][c] = a[8 * r + c];
  for (PetscInt p = 0; p < 6; p++) {
    const PetscReal inverse = 1 / m[p][p];

    if (m[p][p] == 0 || !(PetscAbsReal(inverse) < PETSC_INFINITY)) return PETSC_FALSE;
    m[p][p] = 1;
    for (PetscInt c = 0; c < 6; c++) m[p][c] *= inverse;
    for (PetscInt r = 0; r < 6; r++) {
      const PetscReal x = m[r][p];

      if (r == p) continue;
      m[r][p] = 0;
      for (PetscInt c = 0; c < 6; c++) m[r][c] -= x * m[p][c];
    }
  }
  for (PetscInt r = 0; r < 6; r++) {
    for (PetscInt c = 0; c < 6; c++) d[8 * r + c] = m[r][c];
    d[8 * r + 6] = d[8 * r + 7] = 0;
  }
  return PETSC_TRUE;
}

typedef void (*UpdateKernel)(const PetscReal *restrict l, PetscInt n, const PetscInt *restrict col, const PetscReal *restrict u, PetscReal *restrict acc);
typedef void (*ProductKernel)(const PetscReal *restrict a, const PetscReal *restrict d, PetscReal *restrict l);

static void Kernels_Private(UpdateKernel *update, ProductKernel *product)
{
  *update  = BodyUpdate_2;
  *product = BodyProduct_2;
#if defined(__x86_64__)
  if (SIMDWidth() == 8) {
    *update  = BodyUpdate_8;
    *product = BodyProduct_8;
  } else if (SIMDWidth() == 4) {
    *update  = BodyUpdate_4;
    *product = BodyProduct_4;
  }
#endif
}

PetscErrorCode BodyLUFactor(BodyLU f, System s, const unsigned char active[], const PetscReal K[], PetscBool *ok)
{
  PetscReal    *acc;
  UpdateKernel  update;
  ProductKernel product;

  PetscFunctionBeginUser;
  PetscCall(Prepare_Private(f, s, active));
  Assemble_Private(f, s, active, K);
  Kernels_Private(&update, &product);
  acc = f->acc;
  *ok = PETSC_TRUE;
  for (PetscInt i = 0; i < f->n && *ok; i++) {
    const PetscInt  b = f->perm[i], *uc = f->ucol + f->uptr[i], *lc = f->lcol + f->lptr[i], nu = f->uptr[i + 1] - f->uptr[i], nl = f->lptr[i + 1] - f->lptr[i];
    PetscReal      *l = f->l + (size_t)BODY_BLOCK * f->lptr[i], *u = f->u + (size_t)BODY_BLOCK * f->uptr[i];

    for (PetscInt k = 0; k < nl; k++) PetscCall(PetscArrayzero(acc + BODY_BLOCK * lc[k], BODY_BLOCK));
    for (PetscInt k = 0; k < nu; k++) PetscCall(PetscArrayzero(acc + BODY_BLOCK * uc[k], BODY_BLOCK));
    PetscCall(PetscArraycpy(acc + BODY_BLOCK * i, f->diagonal + BODY_BLOCK * b, BODY_BLOCK));
    for (PetscInt k = f->ptr[b]; k < f->ptr[b + 1]; k++) PetscCall(PetscArraycpy(acc + BODY_BLOCK * f->pos[f->col[k]], f->a + (size_t)BODY_BLOCK * f->place[k], BODY_BLOCK));
    for (PetscInt k = 0; k < nl; k++, l += BODY_BLOCK) {
      const PetscInt j = lc[k];

      (*product)(acc + BODY_BLOCK * j, f->d + BODY_BLOCK * j, l); /* L_ij = A_ij D_j^-1 */
      (*update)(l, f->uptr[j + 1] - f->uptr[j], f->ucol + f->uptr[j], f->u + (size_t)BODY_BLOCK * f->uptr[j], acc);
    }
    *ok = Invert_Private(acc + BODY_BLOCK * i, f->d + BODY_BLOCK * i);
    for (PetscInt k = 0; k < nu; k++) PetscCall(PetscArraycpy(u + BODY_BLOCK * k, acc + BODY_BLOCK * uc[k], BODY_BLOCK));
  }
  PetscFunctionReturn(0);
}

/* y -= B x with a block by rows */
FOUR_INLINE void Subtract_Private(const PetscReal *B, const PetscReal *x, PetscReal *y)
{
  const Four low = FourLoad(x), high = FourLoad(x + 4);

  for (PetscInt r = 0; r < 6; r++) {
    const Four t = FourLoad(B + 8 * r) * low + FourLoad(B + 8 * r + 4) * high;

    y[r] -= t[0] + t[1] + t[2] + t[3];
  }
}

FOUR_CLONES static void Solve_Private(BodyLU f, PetscReal *v)
{
  PetscReal *y = f->y;

  for (PetscInt i = 0; i < f->n; i++) {
    PetscReal *t = y + 8 * i;

    for (PetscInt c = 0; c < 6; c++) t[c] = v[6 * f->perm[i] + c];
    t[6] = t[7] = 0;
    for (PetscInt k = f->lptr[i]; k < f->lptr[i + 1]; k++) Subtract_Private(f->l + (size_t)BODY_BLOCK * k, y + 8 * f->lcol[k], t);
  }
  for (PetscInt i = f->n - 1; i >= 0; i--) {
    PetscReal *t = y + 8 * i, z[8] = {0};

    for (PetscInt k = f->uptr[i]; k < f->uptr[i + 1]; k++) Subtract_Private(f->u + (size_t)BODY_BLOCK * k, y + 8 * f->ucol[k], t);
    Subtract_Private(f->d + BODY_BLOCK * i, t, z);
    for (PetscInt c = 0; c < 6; c++) v[6 * f->perm[i] + c] = t[c] = -z[c];
  }
}

/* r = c - K F v of the active blocks */
FOUR_CLONES static void Blocks_Private(System s, const unsigned char active[], const PetscReal *K, PetscReal *x)
{
  for (PetscInt i = 0; i < s->n; i++) {
    const PetscReal *k = K + 9 * i;
    Four             a = {0, 0, 0, 0};

    if (active && !active[i]) continue;
    for (PetscInt e = 0; e < 2; e++)
      if (s->body[2 * i + e] >= 0) MotionVelocity(s->F + 36 * i + 18 * e, s->v + 6 * s->body[2 * i + e], &a);
    for (PetscInt c = 0; c < 3; c++) x[3 * i + c] -= k[3 * c] * a[0] + k[3 * c + 1] * a[1] + k[3 * c + 2] * a[2];
  }
}

void BodyLUSolve(BodyLU f, System s, const unsigned char active[], const PetscReal K[], PetscReal *x)
{
  PetscReal *v = s->v + 6 * s->firstbody;

  for (PetscInt k = 0; k < 6 * f->n; k++) v[k] = 0;
  for (PetscInt i = 0; i < s->n; i++)
    for (PetscInt e = 0; e < 2; e++)
      if ((!active || active[i]) && s->body[2 * i + e] >= 0) MotionAdd(s->F + 36 * i + 18 * e, x + 3 * i, s->v + 6 * s->body[2 * i + e]);
  Solve_Private(f, v);
  Blocks_Private(s, active, K, x);
}
