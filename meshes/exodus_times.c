#include "meshes/exodus_times.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { ROOM = 1 << 16 }; /* values that are gathered before they are written */

struct _p_ExodusTimes {
  int             fd, error;
  PetscInt        nnodal, nelement, nblock, found;
  PetscInt64      nnode, record[2]; /* where times begin and how long each is */
  const PetscInt *nelem;            /* while the file is looked at */
  PetscInt64      time, *node, *element; /* places in the first time: of nodal variables, and by block and variable */
  PetscInt64      at;               /* place of the gathered values */
  PetscInt        n;
  uint64_t       *value;            /* big-endian */
};

static PetscBool Number_Private(const char **text, PetscInt most, PetscInt *number)
{
  char      *end;
  const long value = strtol(*text, &end, 10);

  if (end == *text || value < 1 || value > most) return PETSC_FALSE;
  *text   = end;
  *number = (PetscInt)value - 1;
  return PETSC_TRUE;
}

/* Keeps the places of the variables that are to be written. */
static void Variable_Private(void *ctx, const char name[], PetscInt64 begin, PetscInt64 bytes)
{
  ExodusTimes  t = (ExodusTimes)ctx;
  PetscInt64  *place = NULL, size = 1;
  PetscInt     v, b;

  if (!strcmp(name, "time_whole")) place = &t->time;
  else if (!strncmp(name, "vals_nod_var", 12)) {
    name += 12;
    if (!Number_Private(&name, t->nnodal, &v) || *name) return;
    place = &t->node[v];
    size  = t->nnode;
  } else if (!strncmp(name, "vals_elem_var", 13)) {
    name += 13;
    if (!Number_Private(&name, t->nelement, &v) || strncmp(name, "eb", 2)) return;
    name += 2;
    if (!Number_Private(&name, t->nblock, &b) || *name) return;
    place = &t->element[(size_t)b * t->nelement + v];
    size  = t->nelem[b];
  }
  if (!place || bytes != 8 * size) return;
  *place = begin;
  t->found++;
}

PetscErrorCode ExodusTimesOpen_Private(const char file[], PetscInt nnodal, PetscInt64 nnode, PetscInt nelement, PetscInt nblock, const PetscInt nelem[], ExodusTimes *times)
{
  ExodusTimes   t;
  PetscBool     whole;
  unsigned char magic[4] = {0};

  PetscFunctionBeginUser;
  *times = NULL;
  if (sizeof(PetscReal) != 8) PetscFunctionReturn(0);
  PetscCall(PetscNew(&t));
  t->nnodal   = nnodal;
  t->nnode    = nnode;
  t->nelement = nelement;
  t->nblock   = nblock;
  t->nelem    = nelem;
  PetscCall(PetscMalloc3(nnodal, &t->node, (size_t)nelement * nblock, &t->element, ROOM, &t->value));
  PetscCall(ExodusIsWhole_Private(file, &whole, t->record, Variable_Private, t));
  t->fd = open(file, O_RDWR);
  if (!whole || !t->record[1] || t->found != 1 + nnodal + nelement * nblock || t->fd < 0 || pread(t->fd, magic, 4, 0) != 4 || magic[3] > 2) PetscCall(ExodusTimesClose_Private(&t));
  *times = t;
  PetscFunctionReturn(0);
}

static void Write_Private(ExodusTimes t, const void *data, size_t bytes, PetscInt64 at)
{
  const char *next = (const char *)data;

  while (bytes && !t->error) {
    const ssize_t done = pwrite(t->fd, next, bytes, (off_t)at);

    if (done < 0 && errno == EINTR) continue;
    if (done <= 0) t->error = done < 0 ? errno : EIO;
    else {
      next += done;
      at += done;
      bytes -= (size_t)done;
    }
  }
}

static void Flush_Private(ExodusTimes t)
{
  Write_Private(t, t->value, 8 * (size_t)t->n, t->at);
  t->n = 0;
}

static inline uint64_t BigEndian_Private(PetscReal x)
{
  const union {
    uint16_t one;
    uint8_t  first;
  } probe = {1};
  union {
    double   x;
    uint64_t bits;
  } v = {(double)x};

  return probe.first ? __builtin_bswap64(v.bits) : v.bits;
}

static void Put_Private(ExodusTimes t, PetscInt step, PetscInt64 begin, PetscInt64 n, const PetscReal *values)
{
  PetscInt64 at = begin + step * t->record[1];

  while (n) {
    const PetscInt64 m = PetscMin(n, ROOM - t->n);

    if (t->n && (!m || at != t->at + 8 * (PetscInt64)t->n)) {
      Flush_Private(t);
      continue;
    }
    if (!t->n) t->at = at;
    for (PetscInt64 i = 0; i < m; i++) t->value[t->n + i] = BigEndian_Private(values[i]);
    t->n += (PetscInt)m;
    values += m;
    at += 8 * m;
    n -= m;
  }
}

void ExodusTimesPutNodal_Private(ExodusTimes t, PetscInt step, PetscInt variable, PetscInt64 first, PetscInt64 n, const PetscReal *values)
{
  Put_Private(t, step, t->node[variable] + 8 * first, n, values);
}

void ExodusTimesPutElement_Private(ExodusTimes t, PetscInt step, PetscInt variable, PetscInt block, PetscInt n, const PetscReal *values)
{
  Put_Private(t, step, t->element[(size_t)block * t->nelement + variable], n, values);
}

void ExodusTimesPutTime_Private(ExodusTimes t, PetscInt step, PetscReal time)
{
  Put_Private(t, step, t->time, 1, &time);
}

void ExodusTimesReserve_Private(ExodusTimes t, PetscInt n)
{
  const int error = posix_fallocate(t->fd, 0, (off_t)(t->record[0] + n * t->record[1]));

  if (!t->error && error != EINVAL && error != EOPNOTSUPP) t->error = error;
}

/* A big-endian 32-bit integer behind the four bytes "CDF" and version */
void ExodusTimesSetCount_Private(ExodusTimes t, PetscInt n)
{
  const unsigned char count[4] = {(unsigned char)(n >> 24), (unsigned char)(n >> 16), (unsigned char)(n >> 8), (unsigned char)n};

  Flush_Private(t);
  Write_Private(t, count, 4, 4);
}

int ExodusTimesError_Private(ExodusTimes t)
{
  return t->error;
}

PetscErrorCode ExodusTimesClose_Private(ExodusTimes *times)
{
  ExodusTimes t = *times;

  PetscFunctionBeginUser;
  if (!t) PetscFunctionReturn(0);
  if (t->fd >= 0) (void)close(t->fd);
  PetscCall(PetscFree3(t->node, t->element, t->value));
  PetscCall(PetscFree(*times));
  PetscFunctionReturn(0);
}
