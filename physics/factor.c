/* Factor: sparse Cholesky by CHOLMOD (supernodal L L^T), packed for own triangular solves (factor_solve.c); MUMPS where indefinite. */
#include "factor_impl.h"
#include <suitesparse/cholmod.h>
#include <sys/mman.h>

#if defined(PETSC_USE_64BIT_INDICES) || defined(PETSC_USE_COMPLEX)
  #error "Factor hands PETSc's indices and values to CHOLMOD's int version as they are: PETSc must have 32-bit indices and real scalars"
#endif

/* What follows from the pattern alone: made at the first factorization, shared by all factors of one pattern. */
typedef struct {
  PetscInt        references;
  BlockPattern    p;
  PetscBool       ksp; /* a KSP is wanted instead; nothing below is used then */
  cholmod_common  cc;
  cholmod_sparse *A; /* scalar lower triangle by columns, which is the block upper triangle by rows; values of the factorization at work */
  cholmod_factor *L; /* symbolic between factorizations: the numbers live in the factors' `pack` */
  FactorPack      layout;
  PetscReal      *work, *lanework; /* of one solve */
  PetscInt64      nonzeros;
} *Analysis;

struct _p_Factor {
  Analysis   s;
  FactorPack pack; /* the layout with values of its own */
  Mat        B, F; /* indefinite: the matrix and MUMPS' factor */
  Vec        v, u; /* its right-hand side and solution */
  FactorKSP  ksp;
  PetscInt   width, numeric, indefinite;
  enum { FACTOR_NONE, FACTOR_CHOLESKY, FACTOR_INDEFINITE, FACTOR_KSP } state;
};

#define FactorCheckCholmod(s, what) \
  PetscCheck((s)->cc.status >= 0, PETSC_COMM_SELF, (s)->cc.status == CHOLMOD_OUT_OF_MEMORY ? PETSC_ERR_MEM : PETSC_ERR_LIB, \
             "CHOLMOD %s of a matrix of %" PetscInt_FMT " unknowns failed with status %d%s", what, 3 * (s)->p.nb, (s)->cc.status, \
             (s)->cc.status == CHOLMOD_TOO_LARGE ? ": its factor is too large for 32-bit indices, take a coarser mesh or tear the body" : "")

PetscErrorCode FactorCreate(const BlockPattern *p, Factor *f)
{
  Analysis s;

  PetscFunctionBeginUser;
  for (PetscInt i = 0; i < p->nb; i++) {
    PetscCheck(p->ia[i] < p->ia[i + 1] && p->ja[p->ia[i]] == i, PETSC_COMM_SELF, PETSC_ERR_ARG_WRONG, "Block row %" PetscInt_FMT " does not start with its diagonal block", i);
    for (PetscInt k = p->ia[i] + 1; k < p->ia[i + 1]; k++)
      PetscCheck(p->ja[k] > p->ja[k - 1] && p->ja[k] < p->nb, PETSC_COMM_SELF, PETSC_ERR_ARG_WRONG, "Block row %" PetscInt_FMT " has columns out of order or range", i);
  }
  PetscCheck(p->nb <= (PETSC_MAX_INT - 16) / 9 && p->ia[p->nb] <= (PETSC_MAX_INT - 16) / 9, PETSC_COMM_SELF, PETSC_ERR_ARG_OUTOFRANGE, "Matrix of %" PetscInt_FMT " block rows is too large for 32-bit indices", p->nb);
  PetscCall(PetscNew(f));
  PetscCall(PetscNew(&s));
  (*f)->s       = s;
  s->references = 1;
  s->p          = *p;
  PetscCall(FactorKSPWanted_Private(&s->ksp));
  if (s->ksp) s->nonzeros = 9 * (2 * (PetscInt64)p->ia[p->nb] - p->nb);
  cholmod_start(&s->cc);
  s->cc.print                      = 0;
  s->cc.final_ll                   = 1; /* L L^T also for the smallest matrix, so that one kernel serves all */
  s->cc.quick_return_if_not_posdef = 1;
  PetscFunctionReturn(0);
}

PetscErrorCode FactorCreateLike(Factor like, Factor *f)
{
  PetscFunctionBeginUser;
  PetscCall(PetscNew(f));
  (*f)->s     = like->s;
  (*f)->width = like->width;
  like->s->references++;
  PetscFunctionReturn(0);
}

static PetscErrorCode FactorUnmapPack_Private(FactorPack *p)
{
  PetscFunctionBeginUser;
  if (p->val) PetscCheck(!munmap(p->val, p->bytes), PETSC_COMM_SELF, PETSC_ERR_MEM, "Cannot unmap a factor");
  p->val = NULL;
  PetscFunctionReturn(0);
}

static PetscErrorCode AnalysisDestroy_Private(Analysis *s)
{
  PetscFunctionBeginUser;
  if (--(*s)->references) PetscFunctionReturn(0);
  cholmod_free_factor(&(*s)->L, &(*s)->cc);
  cholmod_free_sparse(&(*s)->A, &(*s)->cc);
  cholmod_finish(&(*s)->cc);
  PetscCall(PetscFree((*s)->layout.start));
  PetscCall(PetscFree((*s)->work));
  PetscCall(SIMDFree(&(*s)->lanework));
  PetscCall(PetscFree(*s));
  PetscFunctionReturn(0);
}

PetscErrorCode FactorDestroy(Factor *f)
{
  PetscFunctionBeginUser;
  if (!*f) PetscFunctionReturn(0);
  PetscCall(AnalysisDestroy_Private(&(*f)->s));
  PetscCall(FactorUnmapPack_Private(&(*f)->pack));
  PetscCall(MatDestroy(&(*f)->B));
  PetscCall(MatDestroy(&(*f)->F));
  PetscCall(VecDestroy(&(*f)->v));
  PetscCall(VecDestroy(&(*f)->u));
  PetscCall(FactorKSPDestroy_Private(&(*f)->ksp));
  PetscCall(PetscFree(*f));
  PetscFunctionReturn(0);
}

/* Fill-reducing order of the nodes: the better of AMD and METIS, on the graph of nodes (9 times smaller than that of dofs, same result). */
static PetscErrorCode FactorOrder_Private(Analysis s, int **perm)
{
  cholmod_common *cc = &s->cc;
  cholmod_sparse  G  = {.nrow = s->p.nb, .ncol = s->p.nb, .nzmax = s->p.ia[s->p.nb], .p = (void *)s->p.ia, .i = (void *)s->p.ja, .stype = -1, .itype = CHOLMOD_INT, .xtype = CHOLMOD_PATTERN, .dtype = CHOLMOD_DOUBLE, .sorted = 1, .packed = 1};
  cholmod_factor *L;

  PetscFunctionBeginUser;
  cc->supernodal         = CHOLMOD_SIMPLICIAL;
  cc->nmethods           = 2;
  cc->method[0].ordering = CHOLMOD_AMD;
  cc->method[1].ordering = CHOLMOD_METIS;
  L = cholmod_analyze(&G, cc);
  FactorCheckCholmod(s, "ordering");
  PetscCall(PetscMalloc1(3 * s->p.nb, perm));
  for (PetscInt i = 0; i < s->p.nb; i++)
    for (PetscInt c = 0; c < 3; c++) (*perm)[3 * i + c] = 3 * ((int *)L->Perm)[i] + c;
  cholmod_free_factor(&L, cc);
  PetscFunctionReturn(0);
}

/* Scalar pattern, order, symbolic factor and the layout of the packed one. */
static PetscErrorCode FactorAnalyze_Private(Analysis s)
{
  const PetscInt  nb = s->p.nb, n = 3 * nb, nz = 9 * s->p.ia[nb] - 3 * nb, *ia = s->p.ia, *ja = s->p.ja;
  cholmod_common *cc = &s->cc;
  FactorPack     *pk = &s->layout;
  int            *perm, *p, *i;

  PetscFunctionBeginUser;
  s->A = cholmod_allocate_sparse(n, n, nz, 1, 1, -1, CHOLMOD_REAL, cc);
  FactorCheckCholmod(s, "analysis");
  p    = (int *)s->A->p;
  i    = (int *)s->A->i;
  p[0] = 0;
  for (PetscInt b = 0, q = 0; b < nb; b++) {
    for (PetscInt r = 0; r < 3; r++) {
      for (PetscInt c = r; c < 3; c++) i[q++] = 3 * b + c;
      for (PetscInt k = ia[b] + 1; k < ia[b + 1]; k++)
        for (PetscInt c = 0; c < 3; c++) i[q++] = 3 * ja[k] + c;
      p[3 * b + r + 1] = q;
    }
  }
  PetscCall(FactorOrder_Private(s, &perm));
  cc->supernodal         = CHOLMOD_SUPERNODAL;
  cc->nmethods           = 1;
  cc->method[0].ordering = CHOLMOD_GIVEN;
  s->L                   = cholmod_analyze_p(s->A, perm, NULL, 0, cc);
  FactorCheckCholmod(s, "analysis");
  s->nonzeros = (PetscInt64)cc->lnz;
  PetscCall(PetscFree(perm));

  pk->n      = n;
  pk->nsuper = (PetscInt)s->L->nsuper;
  pk->super  = (int *)s->L->super;
  pk->rowptr = (int *)s->L->pi;
  PetscCall(PetscMalloc1(pk->nsuper + 1, &pk->start));
  pk->start[0] = 0;
  for (PetscInt k = 0; k < pk->nsuper; k++) {
    const PetscInt ns = pk->super[k + 1] - pk->super[k], nr = pk->rowptr[k + 1] - pk->rowptr[k], np = FactorPanels_Private(ns);

    pk->maxrow       = PetscMax(pk->maxrow, nr);
    pk->start[k + 1] = pk->start[k];
    for (PetscInt j = 0; j < np; j++) {
      const PetscInt w = FactorPanelWidth_Private(ns, np, j);

      pk->start[k + 1] += FactorPanelSize_Private(w, nr - FactorPanelFirst_Private(ns, np, j) - w);
    }
  }
  PetscCall(PetscMalloc1(n + pk->maxrow + 2 * FACTOR_TILE, &s->work));
  PetscFunctionReturn(0);
}

/* Mapped, not malloced: starts on a page, and in huge pages, which a solve that streams through it feels. */
static PetscErrorCode FactorMapPack_Private(FactorPack *p)
{
  void *m;

  PetscFunctionBeginUser;
  if (p->val) PetscFunctionReturn(0);
  p->bytes = (size_t)p->start[p->nsuper] * (p->single ? sizeof(float) : sizeof(PetscReal));
  m        = mmap(NULL, p->bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  PetscCheck(m != MAP_FAILED, PETSC_COMM_SELF, PETSC_ERR_MEM, "No memory for a factor of %.3g GB", 1e-9 * (double)p->bytes);
  (void)madvise(m, p->bytes, MADV_HUGEPAGE); /* only advice: whether it is taken does not matter */
  p->val = m;
  PetscFunctionReturn(0);
}

PetscErrorCode FactorCreateSingle(Factor source, Factor *f)
{
  const PetscReal *v = (const PetscReal *)source->pack.val;
  float           *w;

  PetscFunctionBeginUser;
  *f = NULL;
  if (source->state != FACTOR_CHOLESKY || source->pack.single) PetscFunctionReturn(0);
  PetscCall(FactorCreateLike(source, f));
  (*f)->state       = FACTOR_CHOLESKY;
  (*f)->pack        = source->pack;
  (*f)->pack.val    = NULL;
  (*f)->pack.single = PETSC_TRUE;
  if (!source->s->p.nb) PetscFunctionReturn(0);
  PetscCall(FactorMapPack_Private(&(*f)->pack));
  w = (float *)(*f)->pack.val;
  for (PetscInt64 i = 0; i < source->pack.start[source->pack.nsuper]; i++) w[i] = (float)v[i];
  PetscFunctionReturn(0);
}

/* Copies L into panels and inverts their diagonal blocks. *bad: a column whose pivot is only round-off of the diagonal entry it came
   from (a ratio free of units and of diagonal scaling), or -1. */
static PetscErrorCode FactorPack_Private(Factor f, PetscInt *bad)
{
  FactorPack      *pk = &f->pack;
  const int       *px = (const int *)f->s->L->px, *ap = (const int *)f->s->A->p;
  const PetscReal *lx = (const PetscReal *)f->s->L->x, *ax = (const PetscReal *)f->s->A->x;

  PetscFunctionBeginUser;
  *bad = -1;
  PetscCall(FactorMapPack_Private(pk));
  for (PetscInt s = 0; s < pk->nsuper; s++) {
    const PetscInt   c0 = pk->super[s], ns = pk->super[s + 1] - c0, nr = pk->rowptr[s + 1] - pk->rowptr[s], np = FactorPanels_Private(ns);
    const PetscReal *l = lx + px[s];
    PetscReal       *v = (PetscReal *)pk->val + pk->start[s];

    for (PetscInt j = 0; j < ns; j++) {
      const PetscReal d = l[j + (size_t)nr * j], a = ax[ap[pk->perm[c0 + j]]];

      if (*bad < 0 && !(d * d > 64 * PETSC_MACHINE_EPSILON * a)) *bad = pk->perm[c0 + j];
    }
    for (PetscInt i = 0; i < np; i++) {
      const PetscInt   k = FactorPanelFirst_Private(ns, np, i), w = FactorPanelWidth_Private(ns, np, i), m = nr - k - w;
      const PetscReal *d = l + k + (size_t)nr * k;

      for (PetscInt c = 0; c < w; c++) { /* column c of the inverse: L z = e_c */
        for (PetscInt r = 0; r < w; r++) {
          PetscReal z = r == c ? 1 : 0;

          for (PetscInt q = c; q < r; q++) z -= d[r + (size_t)nr * q] * v[q + w * c];
          v[r + w * c] = r < c ? 0 : z / d[r + (size_t)nr * r];
        }
      }
      v += FactorDiagonalSize_Private(w);
      for (PetscInt t = 0; t < m; t += FACTOR_TILE, v += FACTOR_TILE * w) {
        const PetscInt mt = PetscMin(FACTOR_TILE, m - t);

        for (PetscInt c = 0; c < w; c++)
          for (PetscInt r = 0; r < FACTOR_TILE; r++) v[FACTOR_TILE * c + r] = r < mt ? d[w + t + r + (size_t)nr * c] : 0;
      }
    }
  }
  PetscFunctionReturn(0);
}

static PetscErrorCode FactorSolveIndefinite_Private(Factor f, PetscInt lanes, PetscReal *x)
{
  const PetscInt     n = 3 * f->s->p.nb;
  PetscScalar       *v;
  const PetscScalar *u;

  PetscFunctionBeginUser;
  for (PetscInt l = 0; l < lanes; l++) {
    PetscCall(VecGetArrayWrite(f->v, &v));
    for (PetscInt i = 0; i < n; i++) v[i] = x[(size_t)i * lanes + l];
    PetscCall(VecRestoreArrayWrite(f->v, &v));
    PetscCall(MatSolve(f->F, f->v, f->u));
    PetscCall(VecGetArrayRead(f->u, &u));
    for (PetscInt i = 0; i < n; i++) x[(size_t)i * lanes + l] = u[i];
    PetscCall(VecRestoreArrayRead(f->u, &u));
  }
  PetscFunctionReturn(0);
}

/* L D L^T with pivoting. `bad`: where Cholesky stopped, for the message. */
static PetscErrorCode FactorSetIndefinite_Private(Factor f, const PetscReal *a, PetscInt bad)
{
  const PetscInt   n = 3 * f->s->p.nb;
  MatFactorInfo    info;
  PetscInt         infog[2];
  PetscBool        singular;
  PetscScalar     *b;
  PetscReal       *x, *y, error = 0;
  const PetscReal *cx;

  PetscFunctionBeginUser;
  if (!f->B) {
    PetscCall(MatCreate(PETSC_COMM_SELF, &f->B));
    PetscCall(MatSetSizes(f->B, n, n, n, n));
    PetscCall(MatSetType(f->B, MATSEQSBAIJ));
    PetscCall(MatSeqSBAIJSetPreallocationCSR(f->B, 3, f->s->p.ia, f->s->p.ja, NULL));
    PetscCall(VecCreateSeq(PETSC_COMM_SELF, n, &f->v));
    PetscCall(VecDuplicate(f->v, &f->u));
  }
  PetscCall(MatSeqSBAIJGetArray(f->B, &b));
  PetscCall(PetscArraycpy(b, a, 9 * f->s->p.ia[f->s->p.nb]));
  PetscCall(MatSeqSBAIJRestoreArray(f->B, &b));
  PetscCall(MatFactorInfoInitialize(&info));
  for (PetscInt room = 50;; room *= 4) { /* per cent of workspace for delayed pivots: many of them if it is nearly singular */
    if (!f->F) {
      PetscCall(MatGetFactor(f->B, MATSOLVERMUMPS, MAT_FACTOR_CHOLESKY, &f->F));
      PetscCall(MatMumpsSetIcntl(f->F, 14, room));
      PetscCall(MatCholeskyFactorSymbolic(f->F, f->B, NULL, &info));
    }
    PetscCall(MatCholeskyFactorNumeric(f->F, f->B, &info));
    for (PetscInt i = 0; i < 2; i++) PetscCall(MatMumpsGetInfog(f->F, i + 1, &infog[i]));
    if (infog[0] >= 0) break;
    PetscCall(MatDestroy(&f->F)); /* after an error PETSc would silently skip the next factorization with it */
    if ((infog[0] != -8 && infog[0] != -9) || room > 3000) break;
  }
  singular = infog[0] == -6 || infog[0] == -10 ? PETSC_TRUE : PETSC_FALSE;
  PetscCheck(infog[0] >= 0 || singular, PETSC_COMM_SELF, PETSC_ERR_LIB, "MUMPS could not factor an indefinite matrix of %" PetscInt_FMT " unknowns: INFOG(1) = %" PetscInt_FMT ", INFOG(2) = %" PetscInt_FMT, n, infog[0], infog[1]);
  /* A singular matrix may give tiny pivots and no error: ask for a known solution back */
  if (!singular) {
    PetscCall(PetscMalloc2(n, &x, n, &y));
    for (PetscInt i = 0; i < n; i++) x[i] = 1 + (PetscReal)((i * 7919u) % 1009u) / 1009;
    cx = x;
    PetscCall(BlockProduct(&f->s->p, a, 1, 1, &cx, &y));
    PetscCall(FactorSolveIndefinite_Private(f, 1, y));
    for (PetscInt i = 0; i < n; i++) error = PetscAbsReal(y[i] - x[i]) <= error ? error : PetscAbsReal(y[i] - x[i]); /* NaN stays */
    PetscCall(PetscFree2(x, y));
  }
  PetscCheck(!singular && error < 1e-3, PETSC_COMM_SELF, PETSC_ERR_MAT_LU_ZRPVT,
             "Matrix of %" PetscInt_FMT " nodes is singular (seen at node %" PetscInt_FMT ", direction %" PetscInt_FMT "): is there a body or node without mass, stiffness or support?", f->s->p.nb, bad / 3, bad % 3);
  PetscFunctionReturn(0);
}

PetscErrorCode FactorSetValues(Factor f, const PetscReal *a, PetscBool *definite)
{
  const PetscInt *ia = f->s->p.ia;
  PetscReal      *ax, zero[3] = {0, 0, 0};
  void           *val;
  PetscInt        bad = 0;
  size_t          bytes;

  PetscFunctionBeginUser;
  PetscCheck(!f->pack.single, PETSC_COMM_SELF, PETSC_ERR_ARG_WRONGSTATE, "A factor in single precision is a copy and takes no values");
  if (!f->s->L && f->s->p.nb && !f->s->ksp) PetscCall(FactorAnalyze_Private(f->s));
  if (definite) *definite = PETSC_TRUE;
  f->state = FACTOR_NONE;
  f->numeric++;
  if (f->s->ksp && f->s->p.nb) {
    PetscBool positive;

    PetscCall(FactorKSPSetValues_Private(&f->s->p, a, &f->ksp, &positive));
    if (!positive) f->indefinite++;
    if (definite) *definite = positive;
    f->state = FACTOR_KSP;
    PetscFunctionReturn(0);
  }
  if (!f->s->p.nb) {
    f->state = FACTOR_CHOLESKY;
    PetscFunctionReturn(0);
  }
  ax = (PetscReal *)f->s->A->x;
  for (PetscInt b = 0; b < f->s->p.nb; b++) {
    for (PetscInt r = 0; r < 3; r++) {
      const PetscReal *v = a + 9 * ia[b] + r;

      for (PetscInt c = r; c < 3; c++) {
        *ax++ = v[3 * c];
        zero[c] += 0 * v[3 * c];
      }
      for (PetscInt k = ia[b] + 1; k < ia[b + 1]; k++) {
        v += 9;
        for (PetscInt c = 0; c < 3; c++) {
          *ax++ = v[3 * c];
          zero[c] += 0 * v[3 * c]; /* NaN if any is infinite or NaN: BLAS may not notice */
        }
      }
    }
  }
  PetscCheck(zero[0] + zero[1] + zero[2] == 0, PETSC_COMM_SELF, PETSC_ERR_FP, "Matrix of %" PetscInt_FMT " nodes to be factored has values that are not finite", f->s->p.nb);

  cholmod_factorize(f->s->A, f->s->L, &f->s->cc);
  FactorCheckCholmod(f->s, "factorization");
  val                  = f->pack.val;
  bytes                = f->pack.bytes;
  f->s->layout.perm    = (int *)f->s->L->Perm;
  f->s->layout.row     = (int *)f->s->L->s;
  f->pack              = f->s->layout;
  f->pack.val          = val;
  f->pack.bytes        = bytes;
  if (f->s->cc.status == CHOLMOD_OK && f->s->L->minor == f->s->L->n) PetscCall(FactorPack_Private(f, &bad));
  else bad = f->pack.perm[PetscMin((PetscInt)f->s->L->minor, f->pack.n - 1)];
  cholmod_change_factor(CHOLMOD_PATTERN, 1, 1, 1, 1, f->s->L, &f->s->cc); /* the numbers are packed: give CHOLMOD's copy back */
  FactorCheckCholmod(f->s, "factorization");
  if (bad < 0) {
    f->state = FACTOR_CHOLESKY;
    PetscFunctionReturn(0);
  }
  PetscCall(FactorUnmapPack_Private(&f->pack));
  f->indefinite++;
  if (definite) *definite = PETSC_FALSE;
  PetscCall(FactorSetIndefinite_Private(f, a, bad));
  f->state = FACTOR_INDEFINITE;
  PetscFunctionReturn(0);
}

PetscErrorCode FactorSolve(Factor f, PetscInt lanes, PetscReal *x)
{
  PetscFunctionBeginUser;
  PetscCheck(f->state != FACTOR_NONE, PETSC_COMM_SELF, PETSC_ERR_ARG_WRONGSTATE, "FactorSetValues must succeed before FactorSolve");
  PetscCheck(lanes == 1 || (lanes >= 0 && lanes % 8 == 0), PETSC_COMM_SELF, PETSC_ERR_ARG_SIZ, "Number of lanes %" PetscInt_FMT " is not 1 nor a multiple of 8", lanes);
  if (!f->s->p.nb || !lanes) PetscFunctionReturn(0);
  if (f->state == FACTOR_KSP) {
    PetscCall(FactorKSPSolve_Private(f->ksp, lanes, x));
    PetscFunctionReturn(0);
  }
  if (f->state == FACTOR_INDEFINITE) PetscCall(FactorSolveIndefinite_Private(f, lanes, x));
  else if (lanes == 1) FactorSolveOne_Private(&f->pack, f->width, x, f->s->work);
  else {
    if (!f->s->lanework) PetscCall(SIMDCalloc((size_t)f->pack.n * FACTOR_LANES, &f->s->lanework)); /* lanes go 16 at a time, so this serves any number */
    FactorSolveLanes_Private(&f->pack, f->width, lanes, x, f->s->lanework);
  }
  PetscCall(PetscLogFlops(4.0 * (PetscLogDouble)f->s->nonzeros * lanes));
  PetscFunctionReturn(0);
}

PetscErrorCode FactorSetSIMD(Factor f, PetscInt width)
{
  PetscFunctionBeginUser;
  PetscCheck(width == 0 || width == 2 || width == 4 || width == 8, PETSC_COMM_SELF, PETSC_ERR_ARG_OUTOFRANGE, "Vector width %" PetscInt_FMT " is not 0, 2, 4 or 8", width);
  f->width = width;
  PetscFunctionReturn(0);
}

PetscErrorCode FactorGetInfo(Factor f, PetscInt64 *nonzeros, PetscInt *numeric, PetscInt *indefinite)
{
  PetscFunctionBeginUser;
  if (nonzeros) *nonzeros = f->s->nonzeros;
  if (numeric) *numeric = f->numeric;
  if (indefinite) *indefinite = f->indefinite;
  PetscFunctionReturn(0);
}
