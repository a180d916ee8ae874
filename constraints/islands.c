#include "islands.h"

PetscErrorCode IslandsCreate(Islands *islands)
{
  PetscFunctionBeginUser;
  PetscCall(PetscNew(islands));
  PetscFunctionReturn(0);
}

PetscErrorCode IslandsDestroy(Islands *islands)
{
  Islands a = *islands;

  PetscFunctionBeginUser;
  if (!a) PetscFunctionReturn(0);
  PetscCall(PetscFree6(a->start, a->place, a->label, a->ptr, a->diag, a->order));
  PetscCall(PetscFree3(a->view, a->report, a->phase));
  PetscCall(PetscFree(a->col));
  PetscCall(PetscFree(*islands));
  PetscFunctionReturn(0);
}

/* Connected parts by joining: the root is the lowest member */
static inline PetscInt Root_Private(PetscInt *parent, PetscInt i)
{
  while (parent[i] != i) i = parent[i] = parent[parent[i]];
  return i;
}

PetscErrorCode IslandsFind(Islands a, PetscInt n, const PetscInt ptr[], const PetscInt col[])
{
  PetscInt *parent, *label;

  PetscFunctionBeginUser;
  if (n > a->capacity || !a->capacity) {
    const PetscInt c = a->capacity = n + n / 2 + 1;

    PetscCall(PetscFree6(a->start, a->place, a->label, a->ptr, a->diag, a->order));
    PetscCall(PetscMalloc6(c + 1, &a->start, c, &a->place, c, &a->label, 2 * c, &a->ptr, c, &a->diag, c, &a->order));
  }
  parent = a->order; /* scratch until the views are made */
  label  = a->label;
  for (PetscInt i = 0; i < n; i++) parent[i] = i;
  for (PetscInt i = 0; i < n; i++) {
    PetscInt root = Root_Private(parent, i);

    for (PetscInt k = ptr[i]; k < ptr[i + 1]; k++) {
      const PetscInt other = Root_Private(parent, col[k]);

      if (other == root) continue;
      parent[PetscMax(root, other)] = PetscMin(root, other);
      root                          = PetscMin(root, other);
    }
  }
  a->n = 0;
  for (PetscInt i = 0; i < n; i++) { /* a root comes before all others of its island */
    const PetscInt root = Root_Private(parent, i);

    if (root == i) {
      a->start[a->n + 1] = 0;
      label[i]           = a->n++;
    } else label[i] = label[root];
    a->start[label[i] + 1]++;
  }
  a->largest  = 0;
  a->start[0] = 0;
  for (PetscInt k = 0; k < a->n; k++) {
    a->largest = PetscMax(a->largest, a->start[k + 1]);
    a->start[k + 1] += a->start[k];
  }
  a->moved = PETSC_FALSE;
  for (PetscInt i = 0; i < n; i++) {
    a->place[i] = a->start[label[i]]++;
    if (a->place[i] != i) a->moved = PETSC_TRUE;
  }
  for (PetscInt k = a->n; k > 0; k--) a->start[k] = a->start[k - 1];
  a->start[0] = 0;
  PetscFunctionReturn(0);
}

static PetscErrorCode Reserve_Private(Islands a, PetscInt n, PetscInt nnz)
{
  PetscFunctionBeginUser;
  if (n > a->vcapacity || !a->vcapacity) {
    const PetscInt c = a->vcapacity = n + n / 2 + 1;

    PetscCall(PetscFree3(a->view, a->report, a->phase));
    PetscCall(PetscCalloc3(c, &a->view, c, &a->report, 2 * c, &a->phase));
  }
  if (nnz > a->wcapacity) {
    a->wcapacity = nnz + nnz / 2;
    PetscCall(PetscFree(a->col));
    PetscCall(PetscMalloc1(a->wcapacity, &a->col));
  }
  PetscFunctionReturn(0);
}

PetscErrorCode IslandsSetUp(Islands a, System s, PetscBool whole)
{
  PetscFunctionBeginUser;
  if (whole || a->n <= 1) {
    PetscCall(Reserve_Private(a, 1, 0));
    a->n       = 1;
    a->view[0] = *s;
    PetscFunctionReturn(0);
  }
  PetscCall(Reserve_Private(a, a->n, s->ptr[s->n]));
  for (PetscInt k = 0; k < a->n; k++) {
    const PetscInt first = a->start[k], at = s->ptr[first];
    System         v     = &a->view[k];

    *v       = *s;
    v->first = first;
    v->place = NULL;
    v->n     = a->start[k + 1] - first;
    v->ptr   = a->ptr + first + k;
    v->col   = a->col + at;
    v->diag  = a->diag + first;
    v->w += 9 * at;
    v->q += 3 * first;
    v->relation += first;
    v->rows += first;
    v->mu += first;
    v->lo += first;
    v->hi += first;
    v->cohesion += first;
    v->rho += first;
    v->balls = PETSC_TRUE;
    if (s->bodies) {
      v->body += 2 * first;
      v->F += 36 * (size_t)first;
      v->nbody = 0;
      for (PetscInt i = 0; i < 2 * v->n; i++) {
        if (v->body[i] < 0) continue;
        if (!v->nbody) v->firstbody = v->body[i]; /* bodies are numbered as blocks come */
        v->nbody = PetscMax(v->nbody, v->body[i] + 1 - v->firstbody);
      }
    }
    for (PetscInt i = 0; i < v->n; i++) {
      v->ptr[i]  = s->ptr[first + i] - at;
      v->diag[i] = s->diag[first + i] - at;
      if (!SystemIsBall(v, i)) v->balls = PETSC_FALSE;
      a->label[first + i] = k; /* of blocks as they are now */
    }
    v->ptr[v->n] = s->ptr[first + v->n] - at;
    for (PetscInt l = 0; l < v->ptr[v->n]; l++) v->col[l] = s->col[at + l] - first;
    if (s->nphase) { /* one phase: an order of sweeps */
      v->nphase   = 1;
      v->phase    = a->phase + 2 * k;
      v->phase[0] = 0;
      v->phase[1] = 0;
      v->order    = a->order + first;
    }
  }
  for (PetscInt i = 0; i < s->n && s->nphase; i++) {
    System v = &a->view[a->label[s->order[i]]];

    v->order[v->phase[1]++] = s->order[i] - v->first;
  }
  PetscFunctionReturn(0);
}

/* A view's own scale, but at least its share by blocks of the whole's: an island with hardly any force is not solved to the last digit of its noise.
   Then each may stop by itself. With e_i the error of island i, S_i, R_i the sums of its q and r in the merit, and M = max(sum S_i, sum R_i) the
   whole's scale: islands that stop at e_i^2 <= t^2 max(S_i, R_i, n_i / n sum S) have sum e_i^2 <= t^2 (sum S_i + sum R_i + sum S) <= 3 t^2 M; in
   FCLib's error there is a third sum, and it is 4 t^2 M. So a merit of t = tol / 2 in each is at most tol of all. */
PetscErrorCode IslandsSetScale(Islands a, System s, PetscInt all, PetscReal scale)
{
  PetscFunctionBeginUser;
  for (PetscInt k = 0; k < a->n; k++) {
    System          v     = &a->view[k];
    const PetscReal part  = (PetscReal)v->n / (PetscReal)PetscMax(all, 1);
    const PetscReal share = s->fclib ? PetscSqrtReal(part) * scale : part * scale;

    if (a->n == 1) v->scale = s->scale;
    else PetscCall(SystemSetScale(v));
    v->scale = PetscMax(v->scale, share);
  }
  PetscFunctionReturn(0);
}
