/* What the rows remember from step to step, as numbers that a checkpoint can hold and any number of ranks can take up. */
#include "constraints/set_impl.h"

/* columns of a row of memory */
enum { COLUMN_KEY, COLUMN_NORMAL = 5, COLUMN_FORCE = 8, COLUMN_FLAGS = 11 };
/* columns of a depth */
enum { COLUMN_BODIES, COLUMN_DEPTH = 2 };

PetscErrorCode ConstraintSetPack(ConstraintSet set, PetscInt *step, PetscInt *n, PetscReal **memory, PetscInt *ndepth, PetscReal **depth)
{
  PetscInt  *a, *b;
  PetscReal *deep;

  PetscFunctionBeginUser;
  *step = set->step;
  *n    = set->nmemory;
  PetscCall(PetscMalloc1(CONSTRAINT_MEMORY_WIDTH * set->nmemory, memory));
  for (PetscInt i = 0; i < set->nmemory; i++) {
    const ConstraintMemory *m   = &set->memory[i];
    const PetscInt          key[5] = {m->key.a, m->key.b, m->key.kind, m->key.i, m->key.j};
    PetscReal              *row = *memory + CONSTRAINT_MEMORY_WIDTH * i;

    for (PetscInt k = 0; k < 5; k++) row[COLUMN_KEY + k] = key[k];
    for (PetscInt k = 0; k < 3; k++) {
      row[COLUMN_NORMAL + k] = m->normal[k];
      row[COLUMN_FORCE + k]  = m->R[k];
    }
    row[COLUMN_FLAGS] = m->flags;
  }
  PetscCall(DetectorGetDepths(set->detector, ndepth, &a, &b, &deep));
  *ndepth = PetscMax(*ndepth, 0);
  PetscCall(PetscMalloc1(CONSTRAINT_DEPTH_WIDTH * *ndepth, depth));
  for (PetscInt i = 0; i < *ndepth; i++) {
    PetscReal *row = *depth + CONSTRAINT_DEPTH_WIDTH * i;

    row[COLUMN_BODIES]     = a[i];
    row[COLUMN_BODIES + 1] = b[i];
    row[COLUMN_DEPTH]      = deep[i];
  }
  PetscCall(PetscFree(a));
  PetscCall(PetscFree(b));
  PetscCall(PetscFree(deep));
  PetscFunctionReturn(0);
}

const ConstraintMemory *ConstraintRecall_Private(PetscInt n, const ConstraintMemory m[], const ContactKey *key, const PetscReal normal[3], PetscInt *at)
{
  const ConstraintMemory *best = NULL;
  PetscReal               most = 0.866; /* cos 30 degrees */
  ContactKey              like = *key;
  PetscInt                lo = 0, hi = n;

  while (*at < n && ContactKeyCompare(&m[*at].key, key) < 0) ++*at;
  if (*at < n && !ContactKeyCompare(&m[*at].key, key)) return &m[*at];
  if (key->kind != CONTACT_NODE_FACET && key->kind != CONTACT_FACET_NODE) return NULL;
  like.j = -1;
  while (lo < hi) {
    const PetscInt mid = lo + (hi - lo) / 2;

    if (ContactKeyCompare(&m[mid].key, &like) < 0) lo = mid + 1;
    else hi = mid;
  }
  for (; lo < n && m[lo].key.a == like.a && m[lo].key.b == like.b && m[lo].key.kind == like.kind && m[lo].key.i == like.i; lo++) {
    const PetscReal cosine = m[lo].normal[0] * normal[0] + m[lo].normal[1] * normal[1] + m[lo].normal[2] * normal[2];

    if (cosine > most) {
      most = cosine;
      best = &m[lo];
    }
  }
  return best;
}

static PetscBool BodyIsHere_Private(Model model, PetscInt id)
{
  PetscInt lo = 0, hi = model->nbody;

  while (lo < hi) {
    const PetscInt mid = lo + (hi - lo) / 2;

    if (model->body[mid]->id < id) lo = mid + 1;
    else hi = mid;
  }
  return (PetscBool)(lo < model->nbody && model->body[lo]->id == id);
}

/* Rows of all ranks whose first two columns name a body of this rank. One rank's at a time, so that nobody holds all. */
static PetscErrorCode Collect_Private(ConstraintSet set, PetscInt width, PetscInt n, const PetscReal rows[], PetscInt *nmine, PetscReal **mine)
{
  PetscReal *buffer   = NULL;
  PetscInt   capacity = 0, room = 0;

  PetscFunctionBeginUser;
  *nmine = 0;
  *mine  = NULL;
  for (PetscMPIInt r = 0; r < set->size; r++) {
    PetscInt    count = r == set->rank ? n : 0;
    PetscMPIInt length;

    PetscCallMPI(MPI_Bcast(&count, 1, MPIU_INT, r, set->comm));
    GrowArray(width * count, capacity, buffer);
    PetscCall(PetscMPIIntCast(width * count, &length));
    if (r == set->rank) PetscCall(PetscArraycpy(buffer, rows, length));
    PetscCallMPI(MPI_Bcast(buffer, length, MPIU_REAL, r, set->comm));
    for (PetscInt i = 0; i < count; i++) {
      const PetscReal *row = buffer + width * i;

      if (!BodyIsHere_Private(set->model, (PetscInt)row[0]) && !BodyIsHere_Private(set->model, (PetscInt)row[1])) continue;
      GrowArray(width * (*nmine + 1), room, *mine);
      PetscCall(PetscArraycpy(*mine + width * (*nmine)++, row, width));
    }
  }
  PetscCall(PetscFree(buffer));
  PetscFunctionReturn(0);
}

static int MemoryCompare_Private(const void *a, const void *b)
{
  return ContactKeyCompare(&((const ConstraintMemory *)a)->key, &((const ConstraintMemory *)b)->key);
}

PetscErrorCode ConstraintSetUnpack(ConstraintSet set, PetscInt step, PetscInt n, const PetscReal memory[], PetscInt ndepth, const PetscReal depth[])
{
  PetscInt   count, nforced = 0, *a, *b;
  PetscReal *mine, *deep;

  PetscFunctionBeginUser;
  set->step           = step;
  set->overlaps_known = PETSC_TRUE;
  PetscCall(Collect_Private(set, CONSTRAINT_MEMORY_WIDTH, n, memory, &count, &mine));
  GrowArray(count, set->mmemory, set->memory);
  set->nmemory = count;
  for (PetscInt i = 0; i < count; i++) {
    const PetscReal  *row = mine + CONSTRAINT_MEMORY_WIDTH * i, *key = row + COLUMN_KEY;
    ConstraintMemory *m   = &set->memory[i];

    m->key = (ContactKey){(PetscInt)key[0], (PetscInt)key[1], (PetscInt)key[2], (PetscInt)key[3], (PetscInt)key[4]};
    PetscCall(PetscArraycpy(m->normal, row + COLUMN_NORMAL, 3));
    PetscCall(PetscArraycpy(m->R, row + COLUMN_FORCE, 3));
    m->flags = (PetscInt)row[COLUMN_FLAGS];
  }
  if (count) qsort(set->memory, (size_t)count, sizeof(*set->memory), MemoryCompare_Private);
  GrowArray(count, set->mforced, set->forced);
  for (PetscInt i = 0; i < count; i++)
    if (set->memory[i].R[0] > 0) set->forced[nforced++] = set->memory[i].key;
  PetscCall(DetectorSetForce(set->detector, nforced, set->forced));
  PetscCall(PetscFree(mine));
  PetscCall(Collect_Private(set, CONSTRAINT_DEPTH_WIDTH, ndepth, depth, &count, &mine));
  PetscCall(PetscMalloc3(count, &a, count, &b, count, &deep));
  for (PetscInt i = 0; i < count; i++) {
    const PetscReal *row = mine + CONSTRAINT_DEPTH_WIDTH * i;

    a[i]    = (PetscInt)row[COLUMN_BODIES];
    b[i]    = (PetscInt)row[COLUMN_BODIES + 1];
    deep[i] = row[COLUMN_DEPTH];
  }
  PetscCall(DetectorSetDepths(set->detector, step ? count : -1, a, b, deep));
  PetscCall(PetscFree3(a, b, deep));
  PetscCall(PetscFree(mine));
  PetscFunctionReturn(0);
}

/* Depths go out and in, as a restarted run has them. */
PetscErrorCode ConstraintSetForget(ConstraintSet set)
{
  PetscInt   n, *a, *b;
  PetscReal *deep;

  PetscFunctionBeginUser;
  PetscCall(DetectorGetDepths(set->detector, &n, &a, &b, &deep));
  PetscCall(DetectorSetDepths(set->detector, n, a, b, deep));
  PetscCall(PetscFree(a));
  PetscCall(PetscFree(b));
  PetscCall(PetscFree(deep));
  PetscFunctionReturn(0);
}
