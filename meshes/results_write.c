#include "meshes/results_impl.h"

/* What goes to rank 0 of a body: its numbers of each kind */
typedef PetscInt64 (*ItemSize)(PetscInt nnode, PetscInt nelem);
static PetscInt64 CoordSize_Private(PetscInt nnode, PetscInt nelem)
{
  return 3 * (PetscInt64)nnode + 0 * nelem;
}
static PetscInt64 ConnSize_Private(PetscInt nnode, PetscInt nelem)
{
  return 0 * nnode + 8 * (PetscInt64)nelem;
}
static PetscInt64 FieldSize_Private(PetscInt nnode, PetscInt nelem)
{
  return RESULTS_NODE_VARS * (PetscInt64)nnode + nelem;
}

/* Local bodies *begin .. *end - 1 are those of chunk c, where *end is that of the chunk before. */
static void LocalChunk_Private(Results r, PetscInt c, PetscInt *begin, PetscInt *end)
{
  for (*begin = *end; *end < r->nlocal && r->local[*end].id < r->chunk[c + 1];) (*end)++;
}

/* Numbers of bodies *begin .. *end - 1 of this rank in chunk c. */
static PetscInt64 LocalSize_Private(Results r, PetscInt begin, PetscInt end, ItemSize size)
{
  PetscInt64 n = 0;

  for (PetscInt i = begin; i < end; i++) n += (*size)(r->local[i].mesh->nnode, r->local[i].mesh->nelem);
  return n;
}

/* Most numbers of a chunk, here or (rank 0) of all ranks */
static PetscInt64 MostSize_Private(Results r, ItemSize size)
{
  PetscInt64 most = 0;

  for (PetscInt c = 0, begin, end = 0; c < r->nchunk; c++) {
    PetscInt64 n = 0;

    LocalChunk_Private(r, c, &begin, &end);
    if (r->rank) n = LocalSize_Private(r, begin, end, size);
    else
      for (PetscInt g = r->chunk[c]; g < r->chunk[c + 1]; g++) n += (*size)(r->global[g].nnode, r->global[g].nelem);
    most = PetscMax(most, n);
  }
  return most;
}

/* Rank 0: from whom how many numbers of chunk c come, and where in one array, whose first part is rank 0's own. start: size + 1 */
static void ChunkLayout_Private(Results r, PetscInt c, ItemSize size, PetscInt64 start[])
{
  for (PetscMPIInt p = 0; p <= r->size; p++) start[p] = 0;
  for (PetscInt g = r->chunk[c]; g < r->chunk[c + 1]; g++) start[r->global[g].owner + 1] += (*size)(r->global[g].nnode, r->global[g].nelem);
  for (PetscMPIInt p = 0; p < r->size; p++) start[p + 1] += start[p];
}

/* Synchronous sends, so that none piles up on rank 0 before its turn. */
static PetscErrorCode SendChunk_Private(Results r, const void *data, PetscInt64 n, MPI_Datatype type)
{
  PetscMPIInt count;

  PetscFunctionBeginUser;
  PetscCall(PetscMPIIntCast((PetscInt)PetscMin(n, PETSC_MAX_INT), &count));
  PetscCheck(n == count, PETSC_COMM_SELF, PETSC_ERR_ARG_OUTOFRANGE, "a body is too large for one message");
  if (n) PetscCallMPI(MPI_Ssend(data, count, type, 0, r->tag, r->comm));
  PetscFunctionReturn(0);
}

static PetscErrorCode ReceiveChunk_Private(Results r, PetscReal *real, PetscInt *integer, const PetscInt64 start[])
{
  PetscFunctionBeginUser;
  for (PetscMPIInt p = 1; p < r->size; p++) {
    const PetscMPIInt n = (PetscMPIInt)(start[p + 1] - start[p]);

    if (!n) continue;
    if (real) PetscCallMPI(MPI_Recv(real + start[p], n, MPIU_REAL, p, r->tag, r->comm, MPI_STATUS_IGNORE));
    else PetscCallMPI(MPI_Recv(integer + start[p], n, MPIU_INT, p, r->tag, r->comm, MPI_STATUS_IGNORE));
  }
  PetscFunctionReturn(0);
}

/* Placed coordinates of local bodies begin .. end - 1 */
static void PlaceCoord_Private(Results r, const ResultsBody bodies[], PetscInt begin, PetscInt end, PetscReal *x)
{
  for (PetscInt k = begin; k < end; k++) {
    const ResultsBody *body = &bodies[r->local[k].place];
    const PetscReal   *R = body->rotation;

    for (PetscInt i = 0; i < body->mesh->nnode; i++)
      for (PetscInt c = 0; c < 3; c++) {
        const PetscReal *X = body->mesh->coord + 3 * i;

        *x++ = R[3 * c] * X[0] + R[3 * c + 1] * X[1] + R[3 * c + 2] * X[2] + body->shift[c];
      }
  }
}

/* and their elements' nodes */
static PetscErrorCode PlaceConn_Private(Results r, PetscInt begin, PetscInt end, PetscInt *conn)
{
  PetscFunctionBeginUser;
  for (PetscInt k = begin; k < end; k++) {
    const Mesh m = r->local[k].mesh;

    for (PetscInt b = 0; b < m->nblock; b++) {
      PetscCall(PetscArraycpy(conn, m->block[b].conn, 8 * m->block[b].nelem));
      conn += 8 * m->block[b].nelem;
    }
  }
  PetscFunctionReturn(0);
}

/* Rank 0: x, y, z of a chunk at once, corners block by block */
static PetscErrorCode PutChunk_Private(Results r, PetscInt c, const PetscReal *x, const PetscInt64 xstart[], const PetscInt *conn, const PetscInt64 start[], PetscReal *planes, int64_t *wide)
{
  const GlobalBody *first = &r->global[r->chunk[c]], *last = &r->global[r->chunk[c + 1] - 1];
  const PetscInt64  n = last->first + last->nnode - first->first;
  PetscInt64       *xat, *at;

  PetscFunctionBeginUser;
  PetscCall(PetscMalloc2(r->size, &xat, r->size, &at));
  PetscCall(PetscArraycpy(xat, xstart, r->size));
  PetscCall(PetscArraycpy(at, start, r->size));
  for (PetscInt g = r->chunk[c]; g < r->chunk[c + 1]; g++) {
    const GlobalBody *body = &r->global[g];
    const PetscInt   *from = conn + at[body->owner];

    for (PetscInt i = 0; i < body->nnode; i++)
      for (PetscInt d = 0; d < 3; d++) planes[d * n + body->first - first->first + i] = x[xat[body->owner]++];
    for (PetscInt64 i = 0; i < 8 * (PetscInt64)body->nelem; i++) wide[i] = body->first + from[i] + 1;
    at[body->owner] += 8 * (PetscInt64)body->nelem;
    ResultsTry(r, ex_put_conn(r->exo, EX_ELEM_BLOCK, g + 1, wide, NULL, NULL));
  }
  ResultsTry(r, ex_put_partial_coord(r->exo, first->first + 1, n, planes, planes + n, planes + 2 * n));
  PetscCall(PetscFree2(xat, at));
  PetscFunctionReturn(0);
}

PetscErrorCode ResultsWriteBodies_Private(Results r, const ResultsBody bodies[])
{
  const PetscInt64 nx = MostSize_Private(r, CoordSize_Private), nconn = MostSize_Private(r, ConnSize_Private);
  PetscReal       *x, *planes;
  PetscInt        *conn;
  PetscInt64      *xstart, *start;
  int64_t         *wide;

  PetscFunctionBeginUser;
  PetscCall(PetscMalloc3((size_t)nx, &x, (size_t)nconn, &conn, r->rank ? 0 : (size_t)nx, &planes));
  PetscCall(PetscMalloc3(r->rank ? 0 : (size_t)nconn, &wide, r->size + 1, &xstart, r->size + 1, &start));
  for (PetscInt c = 0, begin, end = 0; c < r->nchunk; c++) {
    LocalChunk_Private(r, c, &begin, &end);
    PlaceCoord_Private(r, bodies, begin, end, x);
    PetscCall(PlaceConn_Private(r, begin, end, conn));
    if (r->rank) {
      PetscCall(SendChunk_Private(r, x, LocalSize_Private(r, begin, end, CoordSize_Private), MPIU_REAL));
      PetscCall(SendChunk_Private(r, conn, LocalSize_Private(r, begin, end, ConnSize_Private), MPIU_INT));
    } else {
      ChunkLayout_Private(r, c, CoordSize_Private, xstart);
      ChunkLayout_Private(r, c, ConnSize_Private, start);
      PetscCall(ReceiveChunk_Private(r, x, NULL, xstart));
      PetscCall(ReceiveChunk_Private(r, NULL, conn, start));
      PetscCall(PutChunk_Private(r, c, x, xstart, conn, start, planes, wide));
    }
  }
  PetscCall(PetscFree3(x, conn, planes));
  PetscCall(PetscFree3(wide, xstart, start));
  PetscFunctionReturn(0);
}

/* Fields of local bodies begin .. end - 1: displacement, velocity, contact force and stress of the first, of the second, ... */
static PetscErrorCode Evaluate_Private(Results r, PetscInt begin, PetscInt end, PetscReal time, ResultsFields fields, void *ctx, PetscReal *value)
{
  PetscFunctionBeginUser;
  PetscCall(PetscArrayzero(value, LocalSize_Private(r, begin, end, FieldSize_Private)));
  for (PetscInt i = begin; i < end; i++) {
    const size_t n = 3 * (size_t)r->local[i].mesh->nnode;

    PetscCall((*fields)(ctx, r->local[i].place, time, value, value + n, value + 2 * n, value + 3 * n));
    value += 3 * n + (size_t)r->local[i].mesh->nelem;
  }
  PetscFunctionReturn(0);
}

static void PutNodal_Private(Results r, PetscInt step, PetscInt variable, PetscInt64 first, PetscInt64 n, const PetscReal *value)
{
  if (r->times) ExodusTimesPutNodal_Private(r->times, step, variable, first, n, value);
  else ResultsTry(r, ex_put_partial_var(r->exo, (int)step + 1, EX_NODAL, (int)variable + 1, 1, first + 1, n, value));
}

static void PutElement_Private(Results r, PetscInt step, PetscInt variable, PetscInt g, const PetscReal *value)
{
  if (r->times) ExodusTimesPutElement_Private(r->times, step, variable, g, r->global[g].nelem, value);
  else ResultsTry(r, ex_put_var(r->exo, (int)step + 1, EX_ELEM_BLOCK, (int)variable + 1, g + 1, r->global[g].nelem, value));
}

/* Rank 0: the nodal variables of a chunk at once, those of elements in the order of the file: block by block */
static PetscErrorCode PutFields_Private(Results r, PetscInt c, PetscInt step, const PetscReal *value, const PetscInt64 start[], PetscReal *work)
{
  const GlobalBody *first = &r->global[r->chunk[c]], *last = &r->global[r->chunk[c + 1] - 1];
  const PetscInt64  n = last->first + last->nnode - first->first;
  PetscInt64       *at;

  PetscFunctionBeginUser;
  PetscCall(PetscMalloc1(r->size, &at));
  PetscCall(PetscArraycpy(at, start, r->size));
  for (PetscInt g = r->chunk[c]; g < r->chunk[c + 1]; g++) {
    const GlobalBody *body = &r->global[g];
    const PetscReal  *from = value + at[body->owner];

    at[body->owner] += FieldSize_Private(body->nnode, body->nelem);
    for (PetscInt64 v = 0; v < RESULTS_NODE_VARS; v += 3, from += 3 * (size_t)body->nnode)
      for (PetscInt64 i = 0; i < body->nnode; i++)
        for (PetscInt d = 0; d < 3; d++) work[(v + d) * n + body->first - first->first + i] = from[3 * i + d];
  }
  for (PetscInt v = 0; v < RESULTS_NODE_VARS; v++) PutNodal_Private(r, step, v, first->first, n, work + v * n);
  PetscCall(PetscArraycpy(at, start, r->size));
  for (PetscInt g = r->chunk[c]; g < r->chunk[c + 1]; g++) {
    const GlobalBody *body = &r->global[g];
    const PetscReal   constant[2] = {body->owner, body->formulation};

    at[body->owner] += FieldSize_Private(body->nnode, body->nelem);
    PutElement_Private(r, step, 0, g, value + at[body->owner] - body->nelem);
    for (PetscInt v = 0; v < 2; v++) {
      for (PetscInt e = 0; e < body->nelem; e++) work[e] = constant[v];
      PutElement_Private(r, step, v + 1, g, work);
    }
  }
  PetscCall(PetscFree(at));
  PetscFunctionReturn(0);
}

/* Rank 0: the place of a time in the file, from 0 */
static void Begin_Private(Results r, PetscReal time, PetscInt *step)
{
  const PetscReal close = 1e-12 * PetscMax(PetscAbsReal(time), PetscAbsReal(r->last));

  if (r->nstep && PetscAbsReal(time - r->last) <= close) r->nstep--; /* written again */
  else if (r->nstep && time < r->last) ResultsProblem(r, "%s: time %g comes after time %g", r->file, (double)time, (double)r->last);
  *step = r->nstep;
  if (!r->times || r->problem[0]) return;
  ExodusTimesReserve_Private(r->times, *step + 1);
  ExodusTimesSetCount_Private(r->times, *step);
}

PetscErrorCode ResultsWrite(Results r, PetscReal time, ResultsFields fields, void *ctx)
{
  const PetscInt64 most = MostSize_Private(r, FieldSize_Private);
  PetscReal       *value, *work;
  PetscInt64      *start;
  PetscErrorCode   ierr = 0;
  PetscInt         step = 0;

  PetscFunctionBeginUser;
  if (!r->rank) Begin_Private(r, time, &step);
  r->broken = PETSC_TRUE;
  PetscCall(PetscCalloc3((size_t)most, &value, r->rank ? 0 : (size_t)most, &work, r->size + 1, &start));
  /* A rank whose caller fails still sends, so that rank 0 does not wait; what it sends then is never shown. */
  for (PetscInt c = 0, begin, end = 0; c < r->nchunk; c++) {
    LocalChunk_Private(r, c, &begin, &end);
    if (!ierr) ierr = Evaluate_Private(r, begin, end, time, fields, ctx, value);
    if (r->rank) PetscCall(SendChunk_Private(r, value, LocalSize_Private(r, begin, end, FieldSize_Private), MPIU_REAL));
    else {
      ChunkLayout_Private(r, c, FieldSize_Private, start);
      PetscCall(ReceiveChunk_Private(r, value, NULL, start));
      PetscCall(PutFields_Private(r, c, step, value, start, work));
    }
  }
  PetscCall(PetscFree3(value, work, start));
  if (!r->rank && r->times) ExodusTimesPutTime_Private(r->times, step, time);
  else if (!r->rank) ResultsTry(r, ex_put_time(r->exo, (int)step + 1, &time));
  PetscCall(ResultsAgree_Private(r, ierr));
  if (!r->rank) { /* only now do readers see the time */
    if (r->times) {
      ExodusTimesSetCount_Private(r->times, step + 1);
      if (ExodusTimesError_Private(r->times)) ResultsProblem(r, "%s: cannot be written: %s", r->file, strerror(ExodusTimesError_Private(r->times)));
    } else ResultsTry(r, ex_update(r->exo));
    if (!r->problem[0]) {
      r->nstep = step + 1;
      r->last = time;
    }
  }
  PetscCall(ResultsAgree_Private(r, 0));
  r->broken = PETSC_FALSE;
  PetscFunctionReturn(0);
}
