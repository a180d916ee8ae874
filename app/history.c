#include "history.h"
#include "error.h"
#include <unistd.h>

static const char *const EnergyNames[] = {"kinetic", "internal", "external", "damping", "contact", "friction", "constraint", "total"};

/* numbers of a probe in a row: position, velocity, von Mises' stress */
#define NPROBE 7

struct _p_History {
  Model         model;
  const Probes *probes;
  FILE         *file; /* on rank 0 */
  PetscInt      digits;
  PetscReal    *value;
};

PetscErrorCode HistoryTruncate(FILE *file, PetscReal restart)
{
  char  *line = NULL;
  size_t size = 0;
  long   keep = 0;

  PetscFunctionBeginUser;
  rewind(file);
  while (getline(&line, &size, file) > 0) {
    char           *end;
    const PetscReal t = strtod(line, &end);

    if (end != line && t > restart) break;
    if (!strchr(line, '\n')) break; /* half a row of a killed run */
    keep = ftell(file);
  }
  free(line);
  PetscCheck(!ftruncate(fileno(file), keep) && !fseek(file, keep, SEEK_SET), PETSC_COMM_SELF, PETSC_ERR_USER_INPUT, "cannot go on with a file of outputs");
  PetscFunctionReturn(0);
}

PetscErrorCode HistoryCreate(Model model, const Probes *probes, const char file[], PetscInt digits, PetscBool append, PetscReal restart, History *history)
{
  History        h;
  PetscMPIInt    rank;
  PetscErrorCode ierr = 0;

  PetscFunctionBeginUser;
  PetscCall(PetscNew(&h));
  *history   = h;
  h->model   = model;
  h->probes  = probes;
  h->digits  = digits;
  PetscCall(PetscMalloc1(NPROBE * probes->n, &h->value));
  PetscCallMPI(MPI_Comm_rank(model->comm, &rank));
  if (rank == 0) {
    PetscBool old = PETSC_FALSE;

    if (append) {
      h->file = fopen(file, "r+");
      if (h->file) {
        old  = PETSC_TRUE;
        ierr = HistoryTruncate(h->file, restart);
      }
    }
    if (!h->file) h->file = fopen(file, "w");
    if (!h->file) ierr = PetscError(PETSC_COMM_SELF, __LINE__, PETSC_FUNCTION_NAME, __FILE__, PETSC_ERR_USER_INPUT, PETSC_ERROR_INITIAL, "output_history: cannot write '%s'", file);
    if (h->file && !old) {
      static const char *const suffix[NPROBE] = {"x", "y", "z", "vx", "vy", "vz", "mises"};

      fprintf(h->file, "time");
      for (PetscInt i = 0; i < ENERGY_COUNT; i++) fprintf(h->file, ",%s", EnergyNames[i]);
      fprintf(h->file, ",contacts,snes_iterations,penetration");
      for (PetscInt i = 0; i < probes->n; i++)
        for (PetscInt k = 0; k < NPROBE; k++) fprintf(h->file, ",%s_%s", probes->probe[i].name, suffix[k]);
      fprintf(h->file, "\n");
    }
  }
  PetscCall(ErrorAgree(model->comm, ierr));
  PetscFunctionReturn(0);
}

PetscErrorCode HistoryDestroy(History *history)
{
  PetscFunctionBeginUser;
  if (!*history) PetscFunctionReturn(0);
  if ((*history)->file) fclose((*history)->file);
  PetscCall(PetscFree((*history)->value));
  PetscCall(PetscFree(*history));
  PetscFunctionReturn(0);
}

/* Values of the probes that are on this rank; the others' stay zero */
static PetscErrorCode HistoryProbes_Private(History history, PetscReal t)
{
  const Probes *probes = history->probes;

  PetscFunctionBeginUser;
  PetscCall(PetscArrayzero(history->value, NPROBE * probes->n));
  PetscCall(ModelOpen(history->model));
  for (PetscInt i = 0; i < probes->n; i++) {
    const Probe *p = &probes->probe[i];
    PetscReal   *v = history->value + NPROBE * i, sigma[6];

    if (p->body >= 0) {
      const Domain *d = history->model->domain[p->body];

      PetscCall((*d->batch->ops->point)(d->batch, d->lane, &p->point, t, v, v + 3));
      PetscCall((*d->batch->ops->stress)(d->batch, d->lane, p->point.elem, p->point.xi, sigma, v + 6));
    }
  }
  PetscCall(ModelClose(history->model));
  PetscFunctionReturn(0);
}

PetscErrorCode HistoryWrite(History history, PetscReal t, const PetscReal energy[ENERGY_COUNT], const ConstraintReport *contact)
{
  const Probes *probes = history->probes;
  PetscMPIInt   rank;

  PetscFunctionBeginUser;
  PetscCallMPI(MPI_Comm_rank(history->model->comm, &rank));
  if (probes->n) PetscCall(ErrorAgree(history->model->comm, HistoryProbes_Private(history, t))); /* a motion or a stress may not be finite */
  /* each probe is on one rank, so the sum is exact */
  PetscCallMPI(MPI_Reduce(rank ? history->value : MPI_IN_PLACE, history->value, (PetscMPIInt)(NPROBE * probes->n), MPIU_REAL, MPIU_SUM, 0, history->model->comm));
  if (rank == 0) {
    const int digits = (int)history->digits;
    FILE     *f      = history->file;

    fprintf(f, "%.*g", digits, (double)t);
    for (PetscInt i = 0; i < ENERGY_COUNT; i++) fprintf(f, ",%.*g", digits, (double)energy[i]);
    fprintf(f, ",%d,%d,%.*g", (int)contact->n, (int)contact->iterations, digits, (double)contact->penetration);
    for (PetscInt i = 0; i < NPROBE * probes->n; i++) fprintf(f, ",%.*g", digits, (double)history->value[i]);
    fprintf(f, "\n");
    fflush(f);
  }
  PetscFunctionReturn(0);
}
