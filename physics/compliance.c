#include "compliance.h"
#include "simd.h"
#include <petsctime.h>

#define COMPLIANCE_BLOCK 8 /* nodes, 24 columns, of one solve */

typedef enum { SLOT_OLD, SLOT_RECENT, SLOT_PINNED } SlotUse;

struct _p_Compliance {
  Part           part;
  Factor         factor;
  PetscInt       n, ld;             /* unknowns; numbers from one column to the next */
  PetscInt      *slot;              /* per node, -1: not there */
  PetscInt       nslot, capacity, bound, hand;
  PetscReal    **column;            /* per slot: 3 columns */
  PetscInt      *owner;             /* per slot: its node */
  char          *use;               /* per slot, SlotUse: the hand of a clock finds one that was not used since it last came by */
  PetscReal     *x;                 /* a block at work, [dof][lane] */
  PetscInt64     made;
  PetscLogDouble seconds;
  /* points of a call by their distinct nodes: weights of node k are entries first[k] .. first[k + 1] - 1 */
  PetscInt       nlocal, room, *local, *first, *point, *entry;
  PetscInt      *node, *list;       /* distinct nodes; per entry (in the order of points): which of them */
  PetscReal     *weight, *sum;      /* per entry, in the order of nodes; per node: 9 numbers */
  PetscInt       rowroom;
  PetscReal     *row;               /* 9 numbers per point */
};

PetscErrorCode PartGetCompliance(Part part, PetscReal sm, PetscReal sk, Compliance *compliance)
{
  Factor     factor;
  PetscInt   i = 0;
  Compliance c;

  PetscFunctionBeginUser;
  PetscCall(PartGetFactor(part, sm, sk, &factor));
  while (part->factors[i].factor != factor) i++;
  if (!part->factors[i].compliance) {
    PetscCall(PetscNew(&c));
    part->factors[i].compliance = c;
    c->part                     = part;
    c->factor                   = factor;
    c->n                        = 3 * part->nnode;
    c->ld                       = (c->n + 7) / 8 * 8;
    PetscCall(PetscMalloc2(part->nnode, &c->slot, part->nnode, &c->local));
    for (PetscInt k = 0; k < part->nnode; k++) c->slot[k] = c->local[k] = -1;
    PetscCall(ComplianceSetMemory(c, COMPLIANCE_MEMORY));
  }
  *compliance = part->factors[i].compliance;
  PetscFunctionReturn(0);
}

PetscErrorCode ComplianceDestroy(Compliance *compliance)
{
  Compliance c = *compliance;

  PetscFunctionBeginUser;
  if (!c) PetscFunctionReturn(0);
  for (PetscInt i = 0; i < c->nslot; i++) PetscCall(SIMDFree(&c->column[i]));
  PetscCall(SIMDFree(&c->x));
  PetscCall(PetscFree(c->column));
  PetscCall(PetscFree(c->owner));
  PetscCall(PetscFree(c->use));
  PetscCall(PetscFree2(c->slot, c->local));
  PetscCall(PetscFree7(c->first, c->point, c->entry, c->node, c->list, c->weight, c->sum));
  PetscCall(PetscFree(c->row));
  PetscCall(PetscFree(*compliance));
  PetscFunctionReturn(0);
}

PetscErrorCode ComplianceSetMemory(Compliance c, size_t bytes)
{
  PetscFunctionBeginUser;
  c->bound = (PetscInt)PetscMin((size_t)c->part->nnode, bytes / (3 * (size_t)c->ld * sizeof(PetscReal)));
  if (c->n <= COMPLIANCE_DENSE) c->bound = c->part->nnode;
  PetscFunctionReturn(0);
}

/* Room for the columns of a node: new, or of one that gives way; new beyond the bound if all are pinned */
static PetscErrorCode ComplianceSlot_Private(Compliance c, PetscInt node)
{
  PetscInt s = -1;

  PetscFunctionBeginUser;
  if (c->nslot >= c->bound) {
    for (PetscInt i = 0; i < 2 * c->nslot && s < 0; i++, c->hand++) {
      if (c->hand >= c->nslot) c->hand = 0;
      if (c->use[c->hand] == SLOT_OLD) s = c->hand;
      else if (c->use[c->hand] == SLOT_RECENT) c->use[c->hand] = SLOT_OLD;
    }
  }
  if (s >= 0) c->slot[c->owner[s]] = -1;
  else {
    if (c->nslot == c->capacity) {
      c->capacity = PetscMax(2 * c->capacity, COMPLIANCE_BLOCK);
      PetscCall(PetscRealloc(sizeof(*c->column) * c->capacity, &c->column));
      PetscCall(PetscRealloc(sizeof(*c->owner) * c->capacity, &c->owner));
      PetscCall(PetscRealloc(sizeof(*c->use) * c->capacity, &c->use));
    }
    PetscCall(SIMDCalloc(3 * (size_t)c->ld, &c->column[c->nslot]));
    s = c->nslot++;
  }
  c->owner[s]   = node;
  c->use[s]     = SLOT_PINNED;
  c->slot[node] = s;
  PetscFunctionReturn(0);
}

/* Columns of up to COMPLIANCE_BLOCK nodes by one solve */
static PetscErrorCode ComplianceMake_Private(Compliance c, PetscInt n, const PetscInt node[])
{
  const PetscInt lanes = (3 * n + 7) / 8 * 8;

  PetscFunctionBeginUser;
  if (!c->x) PetscCall(SIMDCalloc(3 * COMPLIANCE_BLOCK * (size_t)c->n, &c->x));
  PetscCall(PetscArrayzero(c->x, (size_t)c->n * lanes));
  for (PetscInt k = 0; k < n; k++)
    for (PetscInt d = 0; d < 3; d++) c->x[(3 * (size_t)node[k] + d) * lanes + 3 * k + d] = 1;
  PetscCall(FactorSolve(c->factor, lanes, c->x));
  for (PetscInt k = 0; k < n; k++) PetscCall(ComplianceSlot_Private(c, node[k]));
  for (PetscInt i = 0; i < c->n; i += 64) /* a few rows at a time, so that they stay in the cache */
    for (PetscInt k = 0; k < n; k++)
      for (PetscInt d = 0; d < 3; d++) {
        PetscReal *y = c->column[c->slot[node[k]]] + d * c->ld;

        for (PetscInt j = i; j < PetscMin(i + 64, c->n); j++) y[j] = c->x[(size_t)j * lanes + 3 * k + d];
      }
  c->made += 3 * n;
  PetscFunctionReturn(0);
}

/* Fills list[n ..] up to a whole block with nodes around those in it that are not there either */
static void ComplianceNeighbours_Private(Compliance c, PetscInt *n, PetscInt list[])
{
  const Surface s = c->part->surface;

  for (PetscInt i = 0; s && i < *n && *n % COMPLIANCE_BLOCK && c->nslot + *n < c->bound; i++) {
    const PetscInt v = s->local[list[i]];

    for (PetscInt k = v < 0 ? 0 : s->ring_ptr[v]; v >= 0 && k < s->ring_ptr[v + 1] && *n % COMPLIANCE_BLOCK; k++) {
      const PetscInt node = s->node[s->ring_node[k]];

      if (c->slot[node] >= 0 || c->local[node] >= 0) continue;
      c->local[node] = 0;
      list[(*n)++]   = node;
    }
  }
}

PetscErrorCode ComplianceTouch(Compliance c, PetscInt n, const PetscInt node[])
{
  const PetscBool dense = c->n <= COMPLIANCE_DENSE ? PETSC_TRUE : PETSC_FALSE;
  PetscInt        missing = 0, *list;
  PetscLogDouble  t0, t1;

  PetscFunctionBeginUser;
  for (PetscInt i = 0; i < n; i++) {
    if (c->slot[node[i]] < 0) missing++;
    else c->use[c->slot[node[i]]] = SLOT_RECENT;
  }
  if (!missing) PetscFunctionReturn(0);
  PetscCall(PetscTime(&t0));
  PetscCall(PetscMalloc1(dense ? c->part->nnode : missing + COMPLIANCE_BLOCK, &list));
  missing = 0;
  if (dense) {
    for (; missing < c->part->nnode; missing++) list[missing] = missing;
  } else {
    /* local marks what is in the list already */
    for (PetscInt i = 0; i < n; i++) {
      if (c->slot[node[i]] >= 0) c->use[c->slot[node[i]]] = SLOT_PINNED;
      else if (c->local[node[i]] < 0) {
        c->local[node[i]] = 0;
        list[missing++]   = node[i];
      }
    }
    ComplianceNeighbours_Private(c, &missing, list);
    for (PetscInt i = 0; i < missing; i++) c->local[list[i]] = -1;
  }
  for (PetscInt i = 0; i < missing; i += COMPLIANCE_BLOCK) PetscCall(ComplianceMake_Private(c, PetscMin(COMPLIANCE_BLOCK, missing - i), list + i));
  for (PetscInt i = 0; i < missing; i++) c->use[c->slot[list[i]]] = SLOT_RECENT;
  for (PetscInt i = 0; i < n; i++) c->use[c->slot[node[i]]] = SLOT_RECENT;
  PetscCall(PetscFree(list));
  if (dense) PetscCall(SIMDFree(&c->x));
  PetscCall(PetscTime(&t1));
  c->seconds += t1 - t0;
  PetscFunctionReturn(0);
}

/* Distinct nodes of the points, their weights by nodes, and their columns */
static PetscErrorCode ComplianceGather_Private(Compliance c, PetscInt n, const MaterialPoint *const p[])
{
  PetscInt entries = 0, at = 0;

  PetscFunctionBeginUser;
  for (PetscInt i = 0; i < n; i++) entries += p[i]->nnode;
  if (entries + 1 > c->room) {
    c->room = 2 * entries + 1;
    PetscCall(PetscFree7(c->first, c->point, c->entry, c->node, c->list, c->weight, c->sum));
    PetscCall(PetscMalloc7(c->room + 1, &c->first, c->room, &c->point, c->room, &c->entry, c->room, &c->node, c->room, &c->list, c->room, &c->weight, 9 * c->room, &c->sum));
  }
  c->nlocal = 0;
  for (PetscInt i = 0; i < n; i++)
    for (PetscInt a = 0; a < p[i]->nnode; a++) {
      const PetscInt node = p[i]->node[a];

      if (p[i]->N[a] == 0) continue;
      if (c->local[node] < 0) {
        c->local[node]        = c->nlocal;
        c->first[c->nlocal]   = 0;
        c->node[c->nlocal++]  = node;
      }
      c->list[at++] = c->local[node];
      c->first[c->local[node]]++;
    }
  for (PetscInt k = 0, sum = 0; k <= c->nlocal; k++) { /* numbers of entries to where they begin */
    const PetscInt count = k < c->nlocal ? c->first[k] : 0;

    c->first[k] = sum;
    sum += count;
  }
  at = 0;
  for (PetscInt i = 0; i < n; i++)
    for (PetscInt a = 0; a < p[i]->nnode; a++) {
      if (p[i]->N[a] == 0) continue;
      c->entry[at]                 = c->first[c->list[at]]++;
      c->point[c->entry[at]]       = i;
      c->weight[c->entry[at++]]    = p[i]->N[a];
    }
  for (PetscInt k = c->nlocal; k > 0; k--) c->first[k] = c->first[k - 1];
  c->first[0] = 0;
  for (PetscInt k = 0; k < c->nlocal; k++) c->local[c->node[k]] = -1;
  PetscCall(ComplianceTouch(c, c->nlocal, c->node));
  PetscFunctionReturn(0);
}

PetscErrorCode CompliancePoints(Compliance c, PetscInt n, const MaterialPoint *const p[], PetscReal *C)
{
  PetscFunctionBeginUser;
  if (!n) PetscFunctionReturn(0);
  PetscCall(ComplianceGather_Private(c, n, p));
  if (n > c->rowroom) {
    c->rowroom = 2 * n;
    PetscCall(PetscFree(c->row));
    PetscCall(PetscMalloc1(9 * c->rowroom, &c->row));
  }
  for (PetscInt i = 0; i < n; i++) PetscCall(PetscArrayzero(C + 9 * (i * (size_t)n + i), 9 * (n - i)));
  for (PetscInt k = 0; k < c->nlocal; k++) {
    const PetscReal *x     = c->column[c->slot[c->node[k]]];
    const PetscInt   first = c->point[c->first[k]]; /* entries of a node are in the order of points */

    /* Blocks of node k with all nodes, from its own columns: A^-1 is symmetric. Then with all points, then of all points that it is in. */
    for (PetscInt l = 0; l < c->nlocal; l++)
      for (PetscInt r = 0; r < 3; r++)
        for (PetscInt s = 0; s < 3; s++) c->sum[9 * l + 3 * r + s] = x[r * c->ld + 3 * c->node[l] + s];
    for (PetscInt j = n - 1, at = c->first[c->nlocal]; j >= first; j--) {
      PetscReal b[9] = {0};

      for (PetscInt a = p[j]->nnode - 1; a >= 0; a--) {
        const PetscReal w = p[j]->N[a], *d;

        if (w == 0) continue;
        d = c->sum + 9 * c->list[--at];
        for (PetscInt q = 0; q < 9; q++) b[q] += w * d[q];
      }
      for (PetscInt q = 0; q < 9; q++) c->row[9 * j + q] = b[q];
    }
    for (PetscInt e = c->first[k]; e < c->first[k + 1]; e++) {
      const PetscInt i = c->point[e];

      LanesAXPY(9 * (n - i), 1, c->weight[e], c->row + 9 * i, C + 9 * (i * (size_t)n + i), C + 9 * (i * (size_t)n + i));
    }
  }
  for (PetscInt i = 0; i < n; i++) {
    PetscReal *d = C + 9 * (i * (size_t)n + i);

    d[1] = d[3] = 0.5 * (d[1] + d[3]);
    d[2] = d[6] = 0.5 * (d[2] + d[6]);
    d[5] = d[7] = 0.5 * (d[5] + d[7]);
    for (PetscInt j = i + 1; j < n; j++)
      for (PetscInt r = 0; r < 3; r++)
        for (PetscInt s = 0; s < 3; s++) C[9 * (j * (size_t)n + i) + 3 * s + r] = C[9 * (i * (size_t)n + j) + 3 * r + s];
  }
  PetscCall(PetscLogFlops(18.0 * c->first[c->nlocal] * (c->nlocal + 0.5 * n)));
  PetscFunctionReturn(0);
}

PetscErrorCode ComplianceApply(Compliance c, PetscInt n, const MaterialPoint *const p[], const PetscReal *f, PetscInt stride, PetscReal *y)
{
  PetscReal *sum = y;

  PetscFunctionBeginUser;
  if (!n) PetscFunctionReturn(0);
  PetscCall(ComplianceGather_Private(c, n, p));
  if (stride != 1) {
    if (!c->x) PetscCall(SIMDCalloc(3 * COMPLIANCE_BLOCK * (size_t)c->n, &c->x));
    sum = c->x;
    PetscCall(PetscArrayzero(sum, c->n));
  }
  for (PetscInt k = 0; k < c->nlocal; k++) {
    PetscReal g[3] = {0, 0, 0};

    for (PetscInt e = c->first[k]; e < c->first[k + 1]; e++)
      for (PetscInt d = 0; d < 3; d++) g[d] += c->weight[e] * f[3 * c->point[e] + d];
    LanesColumns(c->n, c->column[c->slot[c->node[k]]], c->ld, g, sum);
  }
  if (stride != 1)
    for (PetscInt i = 0; i < c->n; i++) y[(size_t)i * stride] += sum[i];
  PetscCall(PetscLogFlops(6.0 * c->nlocal * c->n));
  PetscFunctionReturn(0);
}

PetscErrorCode ComplianceGetInfo(Compliance c, PetscInt64 *columns, PetscLogDouble *seconds)
{
  PetscFunctionBeginUser;
  if (columns) *columns = c->made;
  if (seconds) *seconds = c->seconds;
  PetscFunctionReturn(0);
}
