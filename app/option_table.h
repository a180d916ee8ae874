/* The one list of the program's options: help, getters, "did you mean" and reserved names all come from it. A new option is one line. */
#pragma once
#include <petscsys.h>

typedef struct {
  const char *group;   /* heading in the help */
  const char *name;    /* "output_history", or with a generic first word: "<body>_damping" (also "body_damping", and under a part's name) */
  const char *def;     /* as the help shows it; "": none */
  const char *meaning;
  PetscBool   petsc;   /* read by PETSc from its data base, not by a getter */
  char        kind;    /* of PETSc's, what must be given: 'r' number, 'f' number or inf, 'i' whole number, 's' text, 0 anything or nothing */
} Option;

PETSC_EXTERN const Option    option_table[];
PETSC_EXTERN const PetscInt  option_table_size;
/* PETSc's own (NULL-terminated): first words of its options, which no body may be named by; common names, for "did you mean";
   names read before or after everything else, or by whichever solver comes, which are never complained about. */
PETSC_EXTERN const char *const option_petsc_prefixes[];
PETSC_EXTERN const char *const option_petsc_names[];
PETSC_EXTERN const char *const option_petsc_late[];
/* Prefixes of nested solvers: -part_pc_type is -pc_type of a part's own solve. */
PETSC_EXTERN const char *const option_nested_prefixes[];
