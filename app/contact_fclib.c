/* The contact problem of a step as an FCLib file, for other solvers and for ashlar -fclib. */
#include "contact_output_impl.h"
#include "error.h"
#include "meshes/fclib.h"

/* numbers of a block besides W: blocks in its row, b, friction, whether the format has it */
enum { BLOCK_COUNT, BLOCK_B, BLOCK_FRICTION = BLOCK_B + 3, BLOCK_FITS, BLOCK_WIDTH };

/* Blocks 3x3 by columns become scalar rows. */
static PetscErrorCode Scalar_Private(PetscInt n, const PetscReal block[], const PetscReal col[], const PetscReal w[], FCLibProblem *p)
{
  PetscInt nnz = 0, at = 0, first = 0;

  PetscFunctionBeginUser;
  for (PetscInt i = 0; i < n; i++) nnz += 9 * (PetscInt)block[BLOCK_WIDTH * i + BLOCK_COUNT];
  p->n   = n;
  p->dim = 3;
  PetscCall(PetscMalloc1(3 * n + 1, &p->ptr));
  PetscCall(PetscMalloc1(nnz, &p->col));
  PetscCall(PetscMalloc1(nnz, &p->val));
  PetscCall(PetscMalloc1(3 * n, &p->q));
  PetscCall(PetscMalloc1(n, &p->mu));
  p->ptr[0] = 0;
  for (PetscInt i = 0; i < n; i++) {
    const PetscReal *b     = block + BLOCK_WIDTH * i;
    const PetscInt   count = (PetscInt)b[BLOCK_COUNT];

    p->mu[i] = b[BLOCK_FRICTION];
    for (PetscInt r = 0; r < 3; r++) {
      p->q[3 * i + r] = b[BLOCK_B + r];
      for (PetscInt k = first; k < first + count; k++)
        for (PetscInt c = 0; c < 3; c++) {
          p->col[at]   = 3 * (PetscInt)col[k] + c;
          p->val[at++] = w[9 * k + 3 * c + r];
        }
      p->ptr[3 * i + r + 1] = at;
    }
    first += count;
  }
  PetscFunctionReturn(0);
}

static PetscErrorCode Write_Private(ContactOutput o, PetscInt step, PetscReal t, PetscInt n, const PetscReal block[], const PetscReal col[], const PetscReal w[])
{
  FCLibProblem  *p;
  char           file[PETSC_MAX_PATH_LEN], title[128];
  PetscErrorCode ierr;

  PetscFunctionBeginUser;
  for (PetscInt i = 0; i < n; i++)
    if (block[BLOCK_WIDTH * i + BLOCK_FITS] == 0) {
      if (!o->told)
        PetscCall(PetscFPrintf(PETSC_COMM_SELF, PETSC_STDERR, "ashlar: warning: output_fclib: step %" PetscInt_FMT " is not written: the format has no joints, no cohesion and no infinite friction; nor are further ones like it\n", step));
      o->told = PETSC_TRUE;
      PetscFunctionReturn(0);
    }
  PetscCall(PetscNew(&p));
  PetscCall(Scalar_Private(n, block, col, w, p));
  PetscCall(PetscSNPrintf(file, sizeof(file), "%s/step_%08" PetscInt_FMT ".hdf5", o->fclib, step));
  PetscCall(PetscSNPrintf(title, sizeof(title), "step %" PetscInt_FMT ", t = %.17g", step, (double)t));
  ierr = FCLibWriteProblem(file, p, title);
  PetscCall(FCLibProblemDestroy(&p));
  PetscCall(ierr);
  PetscFunctionReturn(0);
}

PetscErrorCode ContactOutputProblem_Private(ContactOutput o, PetscInt step, PetscReal t)
{
  const PetscInt  *ptr, *col;
  const PetscReal *w, *b;
  const Row       *row;
  PetscReal       *block, *column, *all[3];
  PetscInt         n, nnz, total[3] = {0, 0, 0};
  PetscErrorCode   ierr = 0;

  PetscFunctionBeginUser;
  PetscCall(ConstraintSetGetProblem(o->set, &n, &ptr, &col, &w, &b, &row));
  nnz = n ? ptr[n] : 0;
  PetscCall(PetscMalloc2(BLOCK_WIDTH * n, &block, nnz, &column));
  for (PetscInt i = 0; i < n; i++) {
    PetscReal *p = block + BLOCK_WIDTH * i;

    p[BLOCK_COUNT] = ptr[i + 1] - ptr[i];
    PetscCall(PetscArraycpy(p + BLOCK_B, b + 3 * i, 3));
    p[BLOCK_FRICTION] = row[i].friction;
    p[BLOCK_FITS]     = row[i].relation == RELATION_CONE && row[i].rows == 3 && row[i].cohesion == 0 && !PetscIsInfReal(row[i].friction);
  }
  for (PetscInt k = 0; k < nnz; k++) column[k] = col[k];
  PetscCall(ContactOutputGather_Private(o, BLOCK_WIDTH * n, block, &total[0], &all[0]));
  PetscCall(ContactOutputGather_Private(o, nnz, column, &total[1], &all[1]));
  PetscCall(ContactOutputGather_Private(o, 9 * nnz, w, &total[2], &all[2]));
  PetscCall(PetscFree2(block, column));
  if (!o->rank && total[0]) ierr = Write_Private(o, step, t, total[0] / BLOCK_WIDTH, all[0], all[1], all[2]);
  for (PetscInt k = 0; k < 3; k++) PetscCall(PetscFree(all[k]));
  PetscCall(ErrorAgree(o->comm, ierr));
  PetscFunctionReturn(0);
}
