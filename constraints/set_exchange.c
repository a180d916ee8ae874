/* Sides of blocks between the rank that owns a block and those that own its bodies. Only neighbours get anything. */
#include "constraints/set_impl.h"

PetscErrorCode SideExchangeCreate(MPI_Comm comm, SideExchange *e)
{
  PetscFunctionBeginUser;
  PetscCall(PetscMemzero(e, sizeof(*e)));
  e->comm = comm;
  PetscCallMPI(MPI_Comm_rank(comm, &e->rank));
  PetscCallMPI(MPI_Comm_size(comm, &e->size));
  PetscCall(PetscCalloc2(e->size + 1, &e->away, e->size + 1, &e->come));
  PetscCall(PetscCalloc4(e->size, &e->scount, e->size, &e->rcount, e->size, &e->sdispl, e->size, &e->rdispl));
  PetscFunctionReturn(0);
}

PetscErrorCode SideExchangeDestroy(SideExchange *e)
{
  PetscFunctionBeginUser;
  PetscCall(PetscFree2(e->away, e->come));
  PetscCall(PetscFree4(e->scount, e->rcount, e->sdispl, e->rdispl));
  PetscCall(PetscFree(e->side));
  PetscCall(PetscFree(e->sbuf));
  PetscCall(PetscFree(e->rbuf));
  PetscCall(PetscFree(e->length));
  PetscFunctionReturn(0);
}

PetscErrorCode SideExchangeSetUp(SideExchange *e, PetscInt n, const Constraint row[])
{
  PetscInt at;

  PetscFunctionBeginUser;
  GrowArray(2 * n, e->mside, e->side);
  PetscCall(PetscArrayzero(e->scount, e->size));
  e->nlocal = 0;
  for (PetscInt s = 0; s < 2 * n; s++) {
    if (row[s / 2].id[s % 2] < 0) continue;
    if (row[s / 2].rank[s % 2] == e->rank) e->side[e->nlocal++] = s;
    else e->scount[row[s / 2].rank[s % 2]]++;
  }
  e->away[0] = e->come[0] = 0;
  if (e->size > 1) PetscCallMPI(MPI_Alltoall(e->scount, 1, MPI_INT, e->rcount, 1, MPI_INT, e->comm));
  for (PetscMPIInt r = 0; r < e->size; r++) {
    e->away[r + 1] = e->away[r] + e->scount[r];
    e->come[r + 1] = e->come[r] + e->rcount[r];
  }
  e->nside  = e->nlocal + e->away[e->size];
  e->ntouch = e->nlocal + e->come[e->size];
  if (e->nside > e->nlocal)
    for (PetscInt s = 0; s < 2 * n; s++) {
      const PetscMPIInt r = row[s / 2].rank[s % 2];

      if (row[s / 2].id[s % 2] < 0 || r == e->rank) continue;
      at           = e->nlocal + e->away[r + 1] - e->scount[r]--;
      e->side[at]  = s;
    }
  PetscFunctionReturn(0);
}

/* Numbers of ranks' sides by `width`, from sbuf to rbuf */
static PetscErrorCode SideExchangeSend_Private(SideExchange *e, PetscInt width, const PetscInt out[], const PetscInt in[], const PetscReal *send, PetscReal *recv)
{
  PetscFunctionBeginUser;
  for (PetscMPIInt r = 0; r < e->size; r++) {
    PetscCall(PetscMPIIntCast(width * (out[r + 1] - out[r]), &e->scount[r]));
    PetscCall(PetscMPIIntCast(width * (in[r + 1] - in[r]), &e->rcount[r]));
    PetscCall(PetscMPIIntCast(width * out[r], &e->sdispl[r]));
    PetscCall(PetscMPIIntCast(width * in[r], &e->rdispl[r]));
  }
  PetscCallMPI(MPI_Alltoallv(send, e->scount, e->sdispl, MPIU_REAL, recv, e->rcount, e->rdispl, MPIU_REAL, e->comm));
  PetscFunctionReturn(0);
}

PetscErrorCode SideExchangeAway(SideExchange *e, PetscInt width, const PetscReal side[], PetscReal touch[])
{
  PetscFunctionBeginUser;
  if (e->size > 1) PetscCall(SideExchangeSend_Private(e, width, e->away, e->come, side, touch));
  PetscFunctionReturn(0);
}

PetscErrorCode SideExchangeHome(SideExchange *e, PetscInt width, const PetscReal touch[], PetscReal side[])
{
  PetscFunctionBeginUser;
  if (e->size > 1) PetscCall(SideExchangeSend_Private(e, width, e->come, e->away, touch, side));
  PetscFunctionReturn(0);
}

PetscErrorCode SideExchangeForward(SideExchange *e, PetscInt width, const PetscReal side[], PetscReal touch[])
{
  PetscFunctionBeginUser;
  for (PetscInt t = 0; t < e->nlocal; t++) PetscCall(PetscArraycpy(touch + width * t, side + width * e->side[t], width));
  GrowArray(width * (e->nside - e->nlocal), e->msbuf, e->sbuf);
  for (PetscInt i = e->nlocal; i < e->nside; i++) PetscCall(PetscArraycpy(e->sbuf + width * (i - e->nlocal), side + width * e->side[i], width));
  PetscCall(SideExchangeAway(e, width, e->sbuf, touch + width * e->nlocal));
  PetscFunctionReturn(0);
}

PetscErrorCode SideExchangeBackward(SideExchange *e, PetscInt width, const PetscReal touch[], PetscReal side[])
{
  PetscFunctionBeginUser;
  for (PetscInt t = 0; t < e->nlocal; t++) PetscCall(PetscArraycpy(side + width * e->side[t], touch + width * t, width));
  GrowArray(width * (e->nside - e->nlocal), e->mrbuf, e->rbuf);
  PetscCall(SideExchangeHome(e, width, touch + width * e->nlocal, e->rbuf));
  for (PetscInt i = e->nlocal; i < e->nside; i++) PetscCall(PetscArraycpy(side + width * e->side[i], e->rbuf + width * (i - e->nlocal), width));
  PetscFunctionReturn(0);
}

PetscErrorCode SideExchangeRows(SideExchange *e, const BlockRow touch[], PetscReal **remote, PetscInt *mremote, BlockRow side[])
{
  PetscInt   total = 0, at = 0;
  PetscReal *n, *m;

  PetscFunctionBeginUser;
  for (PetscInt t = 0; t < e->nlocal; t++) side[e->side[t]] = touch[t];
  if (e->size == 1) PetscFunctionReturn(0);
  GrowArray(e->ntouch - e->nlocal + e->nside - e->nlocal, e->mlength, e->length);
  n = e->length;
  m = n + e->ntouch - e->nlocal;
  for (PetscInt t = e->nlocal; t < e->ntouch; t++) n[t - e->nlocal] = touch[t].n;
  PetscCall(SideExchangeSend_Private(e, 1, e->come, e->away, n, m));
  for (PetscMPIInt r = 0; r < e->size; r++) {
    PetscInt out = 0, in = 0;

    for (PetscInt i = e->come[r]; i < e->come[r + 1]; i++) out += 10 * (PetscInt)n[i];
    for (PetscInt i = e->away[r]; i < e->away[r + 1]; i++) in += 10 * (PetscInt)m[i];
    PetscCall(PetscMPIIntCast(out, &e->scount[r]));
    PetscCall(PetscMPIIntCast(in, &e->rcount[r]));
    PetscCall(PetscMPIIntCast(at, &e->sdispl[r]));
    PetscCall(PetscMPIIntCast(total, &e->rdispl[r]));
    at += out;
    total += in;
  }
  GrowArray(at, e->msbuf, e->sbuf);
  GrowArray(total, *mremote, *remote);
  at = 0;
  for (PetscInt t = e->nlocal; t < e->ntouch; t++) {
    PetscCall(PetscArraycpy(e->sbuf + at, touch[t].col, touch[t].n));
    PetscCall(PetscArraycpy(e->sbuf + at + touch[t].n, touch[t].w, 9 * touch[t].n));
    at += 10 * touch[t].n;
  }
  PetscCallMPI(MPI_Alltoallv(e->sbuf, e->scount, e->sdispl, MPIU_REAL, *remote, e->rcount, e->rdispl, MPIU_REAL, e->comm));
  at = 0;
  for (PetscInt i = 0; i < e->nside - e->nlocal; i++) {
    BlockRow *b = &side[e->side[e->nlocal + i]];

    b->n   = (PetscInt)m[i];
    b->col = *remote + at;
    b->w   = b->col + b->n;
    at += 10 * b->n;
  }
  PetscFunctionReturn(0);
}
