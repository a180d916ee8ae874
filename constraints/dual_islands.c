/* Where a dual problem is solved: islands of coupled blocks go whole to one rank each; one that is too large stays spread, with ghosts. */
#include "dual_impl.h"

/* Laws and values of one block as the system has them; rows that a block does not have are the mean of the others on the diagonal */
static void SetBlock_Private(System s, PetscInt i, const Row *row, const PetscReal *b)
{
  s->relation[i] = (unsigned char)(row->relation == RELATION_CONE && row->friction >= PETSC_INFINITY ? RELATION_STICK : row->relation);
  s->rows[i]     = (unsigned char)row->rows;
  s->mu[i]       = row->relation == RELATION_CONE ? row->friction : 0;
  s->lo[i]       = row->lower;
  s->hi[i]       = row->upper;
  s->cohesion[i] = row->relation == RELATION_CONE || row->relation == RELATION_STICK ? row->cohesion : 0;
  for (PetscInt c = 0; c < 3; c++) s->q[3 * i + c] = c < row->rows ? b[c] : 0;
}

static void SetValues_Private(PetscInt rows, PetscInt cols, PetscBool diagonal, const PetscReal *from, PetscReal *to)
{
  PetscReal pad = 0;

  if (rows == 3 && cols == 3) {
    for (PetscInt k = 0; k < 9; k++) to[k] = from[k];
    return;
  }
  for (PetscInt c = 0; c < rows && diagonal; c++) pad += from[4 * c] / rows;
  for (PetscInt c = 0; c < 3; c++)
    for (PetscInt r = 0; r < 3; r++) to[3 * c + r] = r < rows && c < cols ? from[3 * c + r] : (diagonal && r == c ? pad : 0);
}

/* Colours: blocks of one colour are not coupled, so a sweep's result does not depend on who owns what. Every block takes
   the lowest colour that no neighbour of a lower global number has; a rank goes on as soon as it knows those. */
static PetscErrorCode Colours_Private(Dual d, PetscInt first, const PetscInt ghost[])
{
  System    s = d->system;
  PetscInt *colour, ncolour = 0, *next;
  int       left = 1;

  PetscFunctionBeginUser;
  PetscCall(PetscMalloc1(s->n + s->nghost, &colour));
  for (PetscInt i = 0; i < s->n + s->nghost; i++) colour[i] = -1;
  while (left) {
    left = 0;
    for (PetscInt i = 0; i < s->n; i++) {
      PetscInt  c     = -1;
      PetscBool known = PETSC_TRUE, taken = PETSC_TRUE;

      if (colour[i] >= 0) continue;
      for (PetscInt k = s->ptr[i]; k < s->ptr[i + 1] && known; k++) {
        const PetscInt j = s->col[k], id = j < s->n ? first + j : ghost[j - s->n];

        if (id < first + i && colour[j] < 0) known = PETSC_FALSE;
      }
      if (!known) {
        left = 1;
        continue;
      }
      while (taken) {
        c++;
        taken = PETSC_FALSE;
        for (PetscInt k = s->ptr[i]; k < s->ptr[i + 1] && !taken; k++) {
          const PetscInt j = s->col[k], id = j < s->n ? first + j : ghost[j - s->n];

          if (id < first + i && colour[j] == c) taken = PETSC_TRUE;
        }
      }
      colour[i] = c;
      ncolour   = PetscMax(ncolour, c + 1);
    }
    if (!s->shared) break;
    PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, &left, 1, MPI_INT, MPI_MAX, d->comm));
    PetscCall(PetscSFBcastBegin(d->sf, MPIU_INT, colour, colour + s->n, MPI_REPLACE));
    PetscCall(PetscSFBcastEnd(d->sf, MPIU_INT, colour, colour + s->n, MPI_REPLACE));
  }
  if (s->shared) PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, &ncolour, 1, MPIU_INT, MPI_MAX, d->comm));
  PetscCall(PetscFree(s->phase));
  PetscCall(PetscFree(s->order));
  PetscCall(PetscCalloc1(ncolour + 1, &s->phase));
  PetscCall(PetscMalloc1(s->n, &s->order));
  PetscCall(PetscMalloc1(ncolour, &next));
  s->nphase = ncolour;
  for (PetscInt i = 0; i < s->n; i++) s->phase[colour[i] + 1]++;
  for (PetscInt c = 0; c < ncolour; c++) {
    s->phase[c + 1] += s->phase[c];
    next[c] = s->phase[c];
  }
  for (PetscInt i = 0; i < s->n; i++) s->order[next[colour[i]]++] = i;
  PetscCall(PetscFree(next));
  PetscCall(PetscFree(colour));
  PetscFunctionReturn(0);
}

/* Connected components by joining: label is the lowest member */
static PetscInt Root_Private(PetscInt *parent, PetscInt i)
{
  while (parent[i] != i) i = parent[i] = parent[parent[i]];
  return i;
}

/* Blocks as they came get their places in the system, by islands; its rows' lengths */
static PetscErrorCode Arrange_Private(Dual d, PetscInt n, const PetscInt ptr[], const PetscInt col[])
{
  System s = d->system;

  PetscFunctionBeginUser;
  PetscCall(IslandsFind(d->islands, n, ptr, col));
  PetscCall(SystemReserve(s, n, s->bodies ? n : ptr[n]));
  if (s->bodies) PetscCall(SystemReserveBodies(s));
  s->place  = d->islands->place;
  s->ptr[0] = 0;
  for (PetscInt i = 0; i < n; i++) s->ptr[s->place[i] + 1] = s->bodies ? 1 : ptr[i + 1] - ptr[i];
  for (PetscInt i = 0; i < n; i++) s->ptr[i + 1] += s->ptr[i];
  PetscFunctionReturn(0);
}

/* Of a block that is placed: its bodies, by the numbers that they came with, and its column, which is its own */
static void SetBodies_Private(System s, PetscInt i, const PetscInt body[2], const PetscReal F[36])
{
  s->col[i]          = i;
  s->body[2 * i]     = body[0];
  s->body[2 * i + 1] = body[1];
  for (PetscInt k = 0; k < 36; k++) s->F[36 * i + k] = F[k];
}

/* Bodies get numbers as the placed blocks come, so that those of an island follow one another */
static PetscErrorCode NumberBodies_Private(Dual d)
{
  System   s    = d->system;
  PetscInt most = -1;

  PetscFunctionBeginUser;
  s->nbody = s->firstbody = 0;
  for (PetscInt i = 0; i < 2 * s->n; i++) most = PetscMax(most, s->body[i]);
  if (most >= d->mnumber) {
    PetscCall(PetscFree(d->number));
    d->mnumber = most + most / 2 + 1;
    PetscCall(PetscMalloc1(d->mnumber, &d->number));
  }
  for (PetscInt i = 0; i < 2 * s->n; i++)
    if (s->body[i] >= 0) d->number[s->body[i]] = -1;
  for (PetscInt i = 0; i < 2 * s->n; i++) {
    if (s->body[i] < 0) continue;
    if (d->number[s->body[i]] < 0) d->number[s->body[i]] = s->nbody++;
    s->body[i] = d->number[s->body[i]];
  }
  PetscCall(SystemReserveMotions(s));
  PetscFunctionReturn(0);
}

static PetscErrorCode Serial_Private(Dual d, PetscInt n, const PetscInt ptr[], const PetscInt col[], const DualValues *values, const PetscReal b[], const Row row[])
{
  System           s = d->system;
  const PetscReal *w = values->w;

  PetscFunctionBeginUser;
  PetscCall(Arrange_Private(d, n, ptr, col));
  for (PetscInt i = 0; i < n; i++) {
    const PetscInt to = s->place[i];

    SetBlock_Private(s, to, &row[i], b + 3 * i);
    if (s->bodies) SetBodies_Private(s, to, values->body + 2 * i, values->F + 36 * i);
    for (PetscInt k = ptr[i], at = s->ptr[to]; k < ptr[i + 1] && !s->bodies; k++, at++) { /* columns of an island keep their order */
      s->col[at] = s->place[col[k]];
      SetValues_Private(row[i].rows, row[col[k]].rows, col[k] == i ? PETSC_TRUE : PETSC_FALSE, w + 9 * k, s->w + 9 * at);
    }
  }
  if (s->bodies) PetscCall(NumberBodies_Private(d));
  d->local   = PETSC_TRUE;
  d->nisland = d->islands->n;
  d->largest = d->islands->largest;
  PetscFunctionReturn(0);
}

/* Global columns that are not this rank's, ascending */
static PetscErrorCode Ghosts_Private(PetscInt first, PetscInt n, const PetscInt ptr[], const PetscInt col[], PetscInt *nghost, PetscInt **ghost)
{
  PetscInt m = 0, k = 0;

  PetscFunctionBeginUser;
  for (PetscInt i = 0; i < ptr[n]; i++) m += col[i] < first || col[i] >= first + n;
  PetscCall(PetscMalloc1(m, ghost));
  for (PetscInt i = 0; i < ptr[n]; i++)
    if (col[i] < first || col[i] >= first + n) (*ghost)[k++] = col[i];
  PetscCall(PetscSortRemoveDupsInt(&m, *ghost));
  *nghost = m;
  PetscFunctionReturn(0);
}

static PetscInt Place_Private(PetscInt n, const PetscInt list[], PetscInt value)
{
  PetscInt lo = 0, hi = n;

  while (lo < hi) {
    const PetscInt mid = lo + (hi - lo) / 2;

    if (list[mid] < value) lo = mid + 1;
    else hi = mid;
  }
  return lo;
}

/* label: of each block here, the lowest global number of its island. Joined within the rank first, then across ranks round by round. */
static PetscErrorCode Labels_Private(Dual d, PetscSF sf, PetscInt first, PetscInt n, const PetscInt ptr[], const PetscInt col[], PetscInt nghost, const PetscInt ghost[], PetscInt label[])
{
  PetscInt *parent, *theirs;
  int       changed = 1;

  PetscFunctionBeginUser;
  PetscCall(PetscMalloc2(n, &parent, nghost, &theirs));
  for (PetscInt i = 0; i < n; i++) parent[i] = i;
  for (PetscInt i = 0; i < n; i++)
    for (PetscInt k = ptr[i]; k < ptr[i + 1]; k++)
      if (col[k] >= first && col[k] < first + n) {
        const PetscInt a = Root_Private(parent, i), c = Root_Private(parent, col[k] - first);

        parent[PetscMax(a, c)] = PetscMin(a, c);
      }
  for (PetscInt i = 0; i < n; i++) label[i] = first + Root_Private(parent, i);
  while (changed) {
    changed = 0;
    PetscCall(PetscSFBcastBegin(sf, MPIU_INT, label, theirs, MPI_REPLACE));
    PetscCall(PetscSFBcastEnd(sf, MPIU_INT, label, theirs, MPI_REPLACE));
    for (PetscInt i = 0; i < n; i++)
      for (PetscInt k = ptr[i]; k < ptr[i + 1]; k++)
        if (col[k] < first || col[k] >= first + n) {
          const PetscInt l = theirs[Place_Private(nghost, ghost, col[k])], root = Root_Private(parent, i);

          if (l < label[root]) {
            label[root] = l;
            changed     = 1;
          }
        }
    for (PetscInt i = 0; i < n; i++) label[i] = label[Root_Private(parent, i)];
    PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, &changed, 1, MPI_INT, MPI_MAX, d->comm));
  }
  PetscCall(PetscFree2(parent, theirs));
  PetscFunctionReturn(0);
}

/* target: rank that solves each block here. Islands in the order of their labels are dealt out so that all ranks have about as many blocks. */
static PetscErrorCode Targets_Private(Dual d, PetscLayout layout, PetscInt n, const PetscInt label[], PetscInt target[])
{
  PetscSF  sf;
  PetscInt nroot, *count, *to, sum[3] = {0, 0, 0}, before;

  PetscFunctionBeginUser;
  PetscCall(PetscLayoutGetLocalSize(layout, &nroot));
  PetscCall(PetscSFCreate(d->comm, &sf));
  PetscCall(PetscSFSetGraphLayout(sf, layout, n, NULL, PETSC_COPY_VALUES, label));
  PetscCall(PetscCalloc2(nroot, &count, nroot, &to));
  for (PetscInt i = 0; i < n; i++) target[i] = 1;
  PetscCall(PetscSFReduceBegin(sf, MPIU_INT, target, count, MPI_SUM));
  PetscCall(PetscSFReduceEnd(sf, MPIU_INT, target, count, MPI_SUM));
  for (PetscInt i = 0; i < nroot; i++) {
    sum[0] += count[i];
    sum[1] += count[i] > 0;
    sum[2] = PetscMax(sum[2], count[i]);
  }
  PetscCallMPI(MPI_Scan(&sum[0], &before, 1, MPIU_INT, MPI_SUM, d->comm));
  before -= sum[0];
  for (PetscInt i = 0; i < nroot; i++) {
    to[i] = d->N ? (PetscInt)(((PetscInt64)before + count[i] / 2) * d->size / d->N) : 0;
    to[i] = PetscMin(to[i], d->size - 1);
    before += count[i];
  }
  PetscCallMPI(MPI_Allreduce(&sum[1], &d->nisland, 1, MPIU_INT, MPI_SUM, d->comm));
  PetscCallMPI(MPI_Allreduce(&sum[2], &d->largest, 1, MPIU_INT, MPI_MAX, d->comm));
  PetscCall(PetscSFBcastBegin(sf, MPIU_INT, to, target, MPI_REPLACE));
  PetscCall(PetscSFBcastEnd(sf, MPIU_INT, to, target, MPI_REPLACE));
  PetscCall(PetscFree2(count, to));
  PetscCall(PetscSFDestroy(&sf));
  PetscFunctionReturn(0);
}

static PetscErrorCode Exchange_Private(System s, PetscReal *r)
{
  Dual         d    = (Dual)s->ctx;
  MPI_Datatype unit = d->block;

  PetscFunctionBeginUser;
  PetscCall(PetscSFBcastBegin(d->sf, unit, r, r + 3 * s->n, MPI_REPLACE));
  PetscCall(PetscSFBcastEnd(d->sf, unit, r, r + 3 * s->n, MPI_REPLACE));
  r[3 * (s->n + s->nghost)] = 0;
  PetscFunctionReturn(0);
}

/* An island too large for one rank: all stay where they are, with ghosts */
static PetscErrorCode Shared_Private(Dual d, PetscInt first, PetscInt n, const PetscInt ptr[], const PetscInt col[], const PetscReal w[], const PetscReal b[], const Row row[], PetscInt nghost, const PetscInt ghost[])
{
  System    s = d->system;
  PetscInt *rows;

  PetscFunctionBeginUser;
  PetscCall(SystemReserve(s, n, ptr[n]));
  s->nghost   = nghost;
  s->shared   = PETSC_TRUE;
  s->ctx      = d;
  s->exchange = Exchange_Private;
  PetscCall(PetscMalloc1(n + nghost, &rows));
  for (PetscInt i = 0; i < n; i++) rows[i] = row[i].rows;
  PetscCall(PetscSFBcastBegin(d->sf, MPIU_INT, rows, rows + n, MPI_REPLACE));
  PetscCall(PetscSFBcastEnd(d->sf, MPIU_INT, rows, rows + n, MPI_REPLACE));
  s->ptr[0] = 0;
  for (PetscInt i = 0; i < n; i++) {
    s->ptr[i + 1] = ptr[i + 1];
    SetBlock_Private(s, i, &row[i], b + 3 * i);
    for (PetscInt k = ptr[i]; k < ptr[i + 1]; k++) { /* columns stay in the order of global numbers, so that sums do not depend on ranks */
      s->col[k] = col[k] >= first && col[k] < first + n ? col[k] - first : n + Place_Private(nghost, ghost, col[k]);
      SetValues_Private(row[i].rows, rows[s->col[k]], s->col[k] == i ? PETSC_TRUE : PETSC_FALSE, w + 9 * k, s->w + 9 * k);
    }
  }
  PetscCall(PetscFree(rows));
  d->local = PETSC_TRUE;
  PetscCall(Colours_Private(d, first, ghost));
  PetscFunctionReturn(0);
}

/* numbers of a block that travel beside its columns, or its bodies and F */
enum { SHIP_INTS = 6, SHIP_REALS = 7, SHIP_F = 36 };

/* Islands go to their ranks. Blocks arrive in the order of global numbers, since ranks have them in that order, and are then placed by islands. */
static PetscErrorCode Ship_Private(Dual d, PetscInt first, PetscInt n, const PetscInt ptr[], const PetscInt col[], const DualValues *values, const PetscReal b[], const Row row[], const PetscInt target[])
{
  const PetscInt per = d->system->bodies ? 0 : 9, reals = d->system->bodies ? SHIP_REALS + SHIP_F : SHIP_REALS; /* of a column, of a block */
  System       s = d->system;
  PetscMPIInt *ic, *is, *jc, *js; /* counts and starts of ints sent and received; of reals the same way */
  PetscInt    *ibuf, *jbuf, *id, *at, *rows, *gptr, *gcol, total = 0, nnz = 0;
  PetscReal   *wbuf, *vbuf;

  PetscFunctionBeginUser;
  PetscCall(PetscCalloc4(d->size, &ic, d->size + 1, &is, d->size, &jc, d->size + 1, &js));
  PetscCall(PetscArrayzero(d->scount, d->size));
  for (PetscInt i = 0; i < n; i++) {
    d->scount[target[i]]++;
    ic[target[i]] += (PetscMPIInt)(ptr[i + 1] - ptr[i]); /* blocks of W for now */
  }
  PetscCallMPI(MPI_Alltoall(d->scount, 1, MPI_INT, d->rcount, 1, MPI_INT, d->comm));
  PetscCallMPI(MPI_Alltoall(ic, 1, MPI_INT, jc, 1, MPI_INT, d->comm));
  d->sstart[0] = d->rstart[0] = 0;
  for (PetscMPIInt p = 0; p < d->size; p++) {
    d->sstart[p + 1] = d->sstart[p] + d->scount[p];
    d->rstart[p + 1] = d->rstart[p] + d->rcount[p];
    nnz += jc[p];
  }
  total = d->rstart[d->size];
  if (n > d->scapacity || !d->send) {
    d->scapacity = n + n / 2;
    PetscCall(PetscFree2(d->send, d->sbuf));
    PetscCall(PetscMalloc2(d->scapacity, &d->send, 3 * d->scapacity, &d->sbuf));
  }
  if (total > d->rcapacity || !d->rbuf) {
    d->rcapacity = total + total / 2;
    PetscCall(PetscFree(d->rbuf));
    PetscCall(PetscMalloc1(3 * d->rcapacity, &d->rbuf));
  }
  PetscCall(PetscMalloc1(d->size, &at));
  for (PetscMPIInt p = 0; p < d->size; p++) at[p] = d->sstart[p];
  for (PetscInt i = 0; i < n; i++) d->send[at[target[i]]++] = i;
  PetscCall(PetscFree(at));
  /* ints */
  for (PetscMPIInt p = 0; p < d->size; p++) {
    ic[p] += SHIP_INTS * d->scount[p];
    jc[p] += SHIP_INTS * d->rcount[p];
    is[p + 1] = is[p] + ic[p];
    js[p + 1] = js[p] + jc[p];
  }
  PetscCall(PetscMalloc2(is[d->size], &ibuf, js[d->size], &jbuf));
  for (PetscInt j = 0, k = 0; j < n; j++) {
    const PetscInt i = d->send[j];

    ibuf[k++] = first + i;
    ibuf[k++] = row[i].relation;
    ibuf[k++] = row[i].rows;
    ibuf[k++] = ptr[i + 1] - ptr[i];
    ibuf[k++] = s->bodies ? values->body[2 * i] : -1;
    ibuf[k++] = s->bodies ? values->body[2 * i + 1] : -1;
    for (PetscInt l = ptr[i]; l < ptr[i + 1]; l++) ibuf[k++] = col[l];
  }
  PetscCallMPI(MPI_Alltoallv(ibuf, ic, is, MPIU_INT, jbuf, jc, js, MPIU_INT, d->comm));
  /* reals */
  for (PetscMPIInt p = 0; p < d->size; p++) {
    ic[p]     = (PetscMPIInt)(per * (ic[p] - SHIP_INTS * d->scount[p]) + reals * d->scount[p]);
    jc[p]     = (PetscMPIInt)(per * (jc[p] - SHIP_INTS * d->rcount[p]) + reals * d->rcount[p]);
    is[p + 1] = is[p] + ic[p];
    js[p + 1] = js[p] + jc[p];
  }
  PetscCall(PetscMalloc2(is[d->size], &wbuf, js[d->size], &vbuf));
  for (PetscInt j = 0, k = 0; j < n; j++) {
    const PetscInt i = d->send[j];

    wbuf[k++] = row[i].friction;
    wbuf[k++] = row[i].cohesion;
    wbuf[k++] = row[i].lower;
    wbuf[k++] = row[i].upper;
    for (PetscInt c = 0; c < 3; c++) wbuf[k++] = b[3 * i + c];
    for (PetscInt l = per * ptr[i]; l < per * ptr[i + 1]; l++) wbuf[k++] = values->w[l];
    for (PetscInt l = 0; l < reals - SHIP_REALS; l++) wbuf[k++] = values->F[SHIP_F * i + l];
  }
  PetscCallMPI(MPI_Alltoallv(wbuf, ic, is, MPIU_REAL, vbuf, jc, js, MPIU_REAL, d->comm));
  PetscCall(PetscMalloc4(total, &id, total, &rows, total + 1, &gptr, nnz, &gcol));
  for (PetscInt i = 0, k = 0; i < total; i++) {
    id[i]   = jbuf[k];
    rows[i] = jbuf[k + 2];
    k += SHIP_INTS + jbuf[k + 3];
  }
  gptr[0] = 0;
  for (PetscInt i = 0, k = 0; i < total; i++) {
    gptr[i + 1] = gptr[i] + jbuf[k + 3];
    k += SHIP_INTS;
    for (PetscInt j = gptr[i]; j < gptr[i + 1]; j++) gcol[j] = Place_Private(total, id, jbuf[k++]);
  }
  PetscCall(Arrange_Private(d, total, gptr, gcol));
  for (PetscInt i = 0, k = 0, l = 0; i < total; i++) {
    const Row      law = {(Relation)jbuf[k + 1], jbuf[k + 2], vbuf[l], vbuf[l + 1], vbuf[l + 2], vbuf[l + 3]};
    const PetscInt to  = s->place[i];

    SetBlock_Private(s, to, &law, vbuf + l + 4);
    if (s->bodies) SetBodies_Private(s, to, jbuf + k + 4, vbuf + l + SHIP_REALS);
    k += SHIP_INTS + jbuf[k + 3];
    l += reals;
    for (PetscInt j = gptr[i], at = s->ptr[to]; j < gptr[i + 1] && !s->bodies; j++, at++, l += 9) {
      s->col[at] = s->place[gcol[j]];
      SetValues_Private(law.rows, rows[gcol[j]], gcol[j] == i ? PETSC_TRUE : PETSC_FALSE, vbuf + l, s->w + 9 * at);
    }
  }
  if (s->bodies) PetscCall(NumberBodies_Private(d));
  PetscCall(PetscFree4(id, rows, gptr, gcol));
  PetscCall(PetscFree2(ibuf, jbuf));
  PetscCall(PetscFree2(wbuf, vbuf));
  PetscCall(PetscFree4(ic, is, jc, js));
  d->local = PETSC_FALSE;
  PetscFunctionReturn(0);
}

PetscErrorCode DualDistribute_Private(Dual d, PetscInt n, const PetscInt ptr[], const PetscInt col[], const DualValues *values, const PetscReal b[], const Row row[])
{
  static const PetscInt empty[1] = {0};
  System                s        = d->system;
  PetscLayout           layout;
  PetscInt              first, nghost = 0, *ghost = NULL, *label, *target;

  PetscFunctionBeginUser;
  s->nghost   = s->nphase = 0;
  s->shared   = PETSC_FALSE;
  s->place    = NULL;
  s->exchange = NULL;
  if (!n) ptr = empty;
  if (d->size == 1) {
    d->N = n;
    PetscCall(Serial_Private(d, n, ptr, col, values, b, row));
    if (d->coloring) PetscCall(Colours_Private(d, 0, NULL));
    PetscFunctionReturn(0);
  }
  PetscCallMPI(MPI_Allreduce(&n, &d->N, 1, MPIU_INT, MPI_SUM, d->comm));
  PetscCallMPI(MPI_Scan(&n, &first, 1, MPIU_INT, MPI_SUM, d->comm));
  first -= n;
  PetscCall(Ghosts_Private(first, n, ptr, col, &nghost, &ghost));
  PetscCall(PetscLayoutCreateFromSizes(d->comm, n, d->N, 1, &layout));
  PetscCall(PetscSFDestroy(&d->sf));
  PetscCall(PetscSFCreate(d->comm, &d->sf));
  PetscCall(PetscSFSetGraphLayout(d->sf, layout, nghost, NULL, PETSC_COPY_VALUES, ghost));
  PetscCall(PetscMalloc2(n, &label, n, &target));
  PetscCall(Labels_Private(d, d->sf, first, n, ptr, col, nghost, ghost, label));
  PetscCall(Targets_Private(d, layout, n, label, target));
  if (!s->bodies && (d->largest > d->island_limit || d->matfree)) PetscCall(Shared_Private(d, first, n, ptr, col, values->w, b, row, nghost, ghost));
  else {
    PetscCall(Ship_Private(d, first, n, ptr, col, values, b, row, target));
    if (d->coloring) PetscCall(Colours_Private(d, 0, NULL)); /* numbers within an island are in the order of global ones */
  }
  PetscCall(PetscFree2(label, target));
  PetscCall(PetscFree(ghost));
  PetscCall(PetscLayoutDestroy(&layout));
  PetscFunctionReturn(0);
}

PetscErrorCode DualToSystem_Private(Dual d, const PetscReal given[], PetscReal system[])
{
  const PetscInt  *place = d->system->place;
  const PetscReal *came  = given;

  PetscFunctionBeginUser;
  if (!d->local) {
    for (PetscInt j = 0; j < d->n; j++)
      for (PetscInt c = 0; c < 3; c++) d->sbuf[3 * j + c] = given[3 * d->send[j] + c];
    PetscCallMPI(MPI_Alltoallv(d->sbuf, d->scount, d->sstart, d->block, d->rbuf, d->rcount, d->rstart, d->block, d->comm));
    came = d->rbuf;
  }
  if (!place || !d->islands->moved) PetscCall(PetscArraycpy(system, came, 3 * d->system->n));
  else
    for (PetscInt i = 0; i < d->system->n; i++)
      for (PetscInt c = 0; c < 3; c++) system[3 * place[i] + c] = came[3 * i + c];
  PetscFunctionReturn(0);
}

PetscErrorCode DualFromSystem_Private(Dual d, const PetscReal system[], PetscReal given[])
{
  const PetscInt *place = d->system->place;
  PetscReal      *go    = d->local ? given : d->rbuf;

  PetscFunctionBeginUser;
  if (!place || !d->islands->moved) PetscCall(PetscArraycpy(go, system, 3 * d->system->n));
  else
    for (PetscInt i = 0; i < d->system->n; i++)
      for (PetscInt c = 0; c < 3; c++) go[3 * i + c] = system[3 * place[i] + c];
  if (!d->local) {
    PetscCallMPI(MPI_Alltoallv(d->rbuf, d->rcount, d->rstart, d->block, d->sbuf, d->scount, d->sstart, d->block, d->comm));
    for (PetscInt j = 0; j < d->n; j++)
      for (PetscInt c = 0; c < 3; c++) given[3 * d->send[j] + c] = d->sbuf[3 * j + c];
  }
  PetscFunctionReturn(0);
}
