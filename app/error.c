#include "error.h"

/* The one piece of global state: an error handler has no other place to leave its message. */
static struct {
  char        message[2048];
  PetscBool   set;
  PetscBool   found;  /* the message is of the place where the error was found, not of one that it passed through */
  PetscBool   agreed; /* this rank leaves because of another's error */
  const char *context;
  PetscBool   started;
  MPI_Comm    comm;   /* of its own: what is under way on others cannot get in between */
} error_state;

static void Store_Private(const char format[], const char text[], const char func[], const char file[], int line)
{
  char  *m = error_state.message;
  size_t n = 0;

  if (error_state.context) n = PetscMin((size_t)snprintf(m, sizeof(error_state.message), "%s: ", error_state.context), sizeof(error_state.message) - 1);
  snprintf(m + n, sizeof(error_state.message) - n, format, text, func ? func : "?", file ? file : "?", line);
  for (char *c = m; *c; c++)
    if (*c == '\n' || *c == '\r') *c = ' '; /* one line */
  for (n = strlen(m); n && m[n - 1] == ' '; n--) m[n - 1] = 0;
  error_state.set = PETSC_TRUE;
}

static void Print_Private(void)
{
  fprintf(stderr, "ashlar: %s\n", error_state.message);
  fflush(stderr);
}

static PetscErrorCode Handler_Private(MPI_Comm comm, int line, const char *func, const char *file, PetscErrorCode code, PetscErrorType type, const char *text, void *ctx)
{
  int         flag, finalized = 0;
  PetscMPIInt size = 1;
  PetscBool   abort;

  (void)ctx;
  if (error_state.set || error_state.agreed) return code;
  /* a code that came without a message (type: repeat) is named by the place that passed it on */
  if (type != PETSC_ERROR_INITIAL || !text || !text[0]) text = NULL;
  if (!text && PetscErrorMessage(code, &text, NULL)) text = NULL;
  if (!text) text = "error without a message";
  error_state.found = type == PETSC_ERROR_INITIAL ? PETSC_TRUE : PETSC_FALSE;
  if (code == PETSC_ERR_USER_INPUT && type == PETSC_ERROR_INITIAL) Store_Private("%s", text, func, file, line);
  else if (code == PETSC_ERR_MEM) Store_Private("out of memory: %s (%s, %s:%d)", text, func, file, line);
  else Store_Private("internal error: %s (%s, %s:%d)", text, func, file, line);
  if (code == PETSC_ERR_USER_INPUT) return code;
  /* others may be waiting for this rank in a collective call that it will never reach */
  if (!MPI_Initialized(&flag) && flag && !MPI_Finalized(&finalized) && !finalized) MPI_Comm_size(MPI_COMM_WORLD, &size);
  abort = size > 1 && comm == PETSC_COMM_SELF && type == PETSC_ERROR_INITIAL ? PETSC_TRUE : PETSC_FALSE;
  if (abort || code == PETSC_ERR_SIG) Print_Private(); /* after a signal PETSc does not come back */
  if (abort) MPI_Abort(MPI_COMM_WORLD, 1);
  return code;
}

PetscErrorCode ErrorHandlerPush(void)
{
  PetscFunctionBeginUser;
  memset(&error_state, 0, sizeof(error_state));
  PetscCall(PetscPushErrorHandler(Handler_Private, NULL));
  PetscFunctionReturn(0);
}

PetscErrorCode ErrorAgree(MPI_Comm comm, PetscErrorCode ierr)
{
  int mine = (int)ierr, most = 0;

  PetscFunctionBeginUser;
  PetscCallMPI(MPI_Allreduce(&mine, &most, 1, MPI_INT, MPI_MAX, comm));
  if (!most || ierr) PetscFunctionReturn(ierr);
  error_state.agreed = PETSC_TRUE;
  PetscFunctionReturn((PetscErrorCode)most);
}

void ErrorContext(const char context[])
{
  error_state.context = context;
}

PetscErrorCode ErrorStart(MPI_Comm comm)
{
  PetscFunctionBeginUser;
  PetscCallMPI(MPI_Comm_dup(comm, &error_state.comm));
  error_state.started = PETSC_TRUE;
  PetscFunctionReturn(0);
}

PetscBool ErrorReport(MPI_Comm comm, PetscErrorCode ierr)
{
  const PetscBool any = ErrorExit(comm, ierr) ? PETSC_TRUE : PETSC_FALSE;

  error_state.set = error_state.found = error_state.agreed = PETSC_FALSE;
  return any;
}

int ErrorExit(MPI_Comm comm, PetscErrorCode ierr)
{
  int         bad = ierr ? 1 : 0, any = 0, speaker = 0, mine, done = 0;
  PetscMPIInt rank, size;
  MPI_Request request;
  double      began;

  if (error_state.started) comm = error_state.comm;
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &size);
  MPI_Iallreduce(&bad, &any, 1, MPI_INT, MPI_MAX, comm, &request);
  /* Ranks that do not come have not seen the error and wait for this one. They are given some time, as they may be late only; each rank
     gives another time, so that one speaks. */
  for (began = MPI_Wtime(); !done; MPI_Test(&request, &done, MPI_STATUS_IGNORE))
    if (bad && MPI_Wtime() - began > 10 + 2 * (double)rank / size + (error_state.found ? 0 : 5)) {
      Print_Private();
      MPI_Abort(MPI_COMM_WORLD, 1);
    }
  if (!any) return 0;
  mine = ierr && error_state.set ? (error_state.found ? rank : size + rank) : 2 * size;
  MPI_Allreduce(&mine, &speaker, 1, MPI_INT, MPI_MIN, comm);
  if (speaker < 2 * size && speaker % size == rank) Print_Private();
  if (speaker == 2 * size && !rank) fprintf(stderr, "ashlar: error code %d without a message\n", (int)ierr);
  MPI_Barrier(comm); /* nobody ends the run before the line is out */
  return 1;
}
