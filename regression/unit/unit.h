/* What the unit tests of files and input share: errors kept instead of printed, a folder for a test's files, nothing left behind. */
#pragma once
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <dirent.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>
#include <petscsys.h>

static char        message[8192]; /* of the last error */
static char        folder[64];    /* the same on all ranks */
static PetscMPIInt size, me;

static PetscErrorCode UnitKeep(MPI_Comm comm, int line, const char *func, const char *file, PetscErrorCode code, PetscErrorType type, const char *text, void *ctx)
{
  (void)comm, (void)line, (void)func, (void)file, (void)ctx;
  if (type == PETSC_ERROR_INITIAL) snprintf(message, sizeof(message), "%s", text);
  return code;
}

static inline int UnitOpenFiles(void)
{
  DIR *d = opendir("/proc/self/fd");
  int  n = 0;

  while (d && readdir(d)) n++;
  if (d) closedir(d);
  return n;
}

static inline PetscLogDouble UnitMemory(void)
{
  PetscLogDouble m = 0;

  (void)PetscMallocGetCurrentUsage(&m); /* 0 where -malloc_debug is off */
  return m;
}

#define Ok(call) \
  do { \
    message[0] = 0; \
    if (call) fail_msg("%s: %s", #call, message); \
  } while (0)

/* A user's mistake: one line that holds the fragment; no memory and no open file is left (netCDF keeps a file open that it cannot close) */
#define RefusedFiles(call, fragment, files) \
  do { \
    const PetscLogDouble memory_ = UnitMemory(); \
    const int            files_  = UnitOpenFiles(); \
    message[0]                   = 0; \
    assert_int_equal(call, PETSC_ERR_USER_INPUT); \
    if (!strstr(message, fragment) || strchr(message, '\n')) fail_msg("%s: '%s' does not hold '%s'", #call, message, fragment); \
    if (UnitMemory() != memory_) fail_msg("%s: %g bytes are not freed after '%s'", #call, UnitMemory() - memory_, message); \
    if (files && UnitOpenFiles() != files_) fail_msg("%s: a file stays open after '%s'", #call, message); \
  } while (0)
#define Refused(call, fragment) RefusedFiles(call, fragment, 1)

/* folder/name; four of them at a time */
static inline const char *UnitPath(const char name[])
{
  static char path[4][512];
  static int  next;

  next = (next + 1) % 4;
  snprintf(path[next], sizeof(path[next]), "%s/%s", folder, name);
  return path[next];
}

static inline void UnitWriteFile(const char path[], const void *bytes, size_t n)
{
  FILE *f = fopen(path, "wb");

  assert_non_null(f);
  assert_int_equal(fwrite(bytes, 1, n, f), n);
  assert_int_equal(fclose(f), 0);
}

/* All bytes of a file; free() them */
static inline unsigned char *UnitReadFile(const char path[], size_t *n)
{
  FILE          *f = fopen(path, "rb");
  unsigned char *bytes;

  if (!f) fail_msg("%s is not there", path);
  fseek(f, 0, SEEK_END);
  *n = (size_t)ftell(f);
  rewind(f);
  bytes = malloc(*n + 1);
  assert_int_equal(fread(bytes, 1, *n, f), *n);
  bytes[*n] = 0;
  fclose(f);
  return bytes;
}

/* A disk that is full: from now on no file may grow beyond so many bytes; below 0: as before */
static inline void UnitDisk(long bytes)
{
  struct rlimit limit;

  signal(SIGXFSZ, SIG_IGN);
  assert_int_equal(getrlimit(RLIMIT_FSIZE, &limit), 0);
  limit.rlim_cur = bytes < 0 ? limit.rlim_max : (rlim_t)bytes;
  assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
}

/* A file holds these bytes */
static inline void UnitHolds(const char path[], const unsigned char *bytes, size_t n)
{
  size_t         now;
  unsigned char *read = UnitReadFile(path, &now);

  assert_int_equal(n, now);
  assert_memory_equal(read, bytes, n);
  free(read);
}

static int UnitStart(void **state)
{
  (void)state;
  snprintf(folder, sizeof(folder), "/tmp/ashlar_unit_XXXXXX");
  if (!me && !mkdtemp(folder)) return 1;
  MPI_Bcast(folder, sizeof(folder), MPI_CHAR, 0, PETSC_COMM_WORLD);
  return PetscPushErrorHandler(UnitKeep, NULL);
}

static int UnitEnd(void **state)
{
  (void)state;
  MPI_Barrier(PETSC_COMM_WORLD);
  if (!me && rmdir(folder)) { /* fails if a test left a file */
    fprintf(stderr, "%s is not empty\n", folder);
    return 1;
  }
  return PetscPopErrorHandler();
}

static int UnitMain(const char name[], const struct CMUnitTest tests[], size_t n, int (*start)(void **), int (*end)(void **))
{
  char *argument[] = {(char *)name, (char *)"-malloc_debug", NULL}, **argv = argument;
  int   argc = 2, failed;

#if defined(__SANITIZE_ADDRESS__)
  argc = 1; /* PETSc's guards would hide from it what is written beyond an array */
#endif
  if (getenv("LD_PRELOAD") && strstr(getenv("LD_PRELOAD"), "vgpreload")) argc = 1; /* and from valgrind */
  argument[argc] = NULL;
  if (PetscInitialize(&argc, &argv, NULL, NULL)) return 1;
  MPI_Comm_size(PETSC_COMM_WORLD, &size);
  MPI_Comm_rank(PETSC_COMM_WORLD, &me);
  failed = _cmocka_run_group_tests(name, tests, n, start, end);
  if (PetscFinalize()) return 1;
  return failed;
}
/* With what a test does before and after all, which begins with UnitStart() and ends with UnitEnd() */
#define UNIT_MAIN_WITH(name, tests, start, end) UnitMain(name, tests, sizeof(tests) / sizeof((tests)[0]), start, end)
#define UNIT_MAIN(name, tests)                  UNIT_MAIN_WITH(name, tests, UnitStart, UnitEnd)
