/* Settings: all options of a run. YAML files (libyaml) and the command line become one flat table of `a_b_c` -> value, with the
   place each came from. The model reads its part here; what belongs to methods is handed to PETSc's data base. */
#pragma once
#include <petscsys.h>

typedef struct _p_Settings *Settings;

PETSC_EXTERN PetscErrorCode SettingsCreate(Settings *s);
PETSC_EXTERN PetscErrorCode SettingsDestroy(Settings *s);
/* Collective on PETSC_COMM_WORLD (rank 0 reads). A later file wins over an earlier one. `a: {b: c}` is a_b; a list of scalars is one value with several items. */
PETSC_EXTERN PetscErrorCode SettingsReadFile(Settings s, const char file[]);
PETSC_EXTERN PetscErrorCode SettingsReadString(Settings s, const char name[], const char text[]);
/* -name value | -name=value | -flag ; wins over all files whenever it is called. -options_file arguments are left out. */
PETSC_EXTERN PetscErrorCode SettingsReadArguments(Settings s, int argc, char **argv);
/* The files of -options_file a.yml -options_file b.yml,c.yml in order; free with PetscStrNArrayDestroy(n, &files). */
PETSC_EXTERN PetscErrorCode SettingsFindFiles(int argc, char **argv, PetscInt *n, char ***files);

/* Getters mark what they read as used and write "FILE:LINE:COLUMN: KEY: what is wrong" (PETSC_ERR_USER_INPUT) on bad values.
   `key` may list alternatives in order of preference, separated by '|': "bar_1_damping|bar_damping|body_damping".
   All that are set count as used. Each alternative must be in app/option_table.c (PETSC_ERR_PLIB if not), by its name or, after a
   section's name or body_, by the generic one. A command line option without value is true, and an error where a value is needed. */
PETSC_EXTERN PetscErrorCode SettingsHas(Settings s, const char key[], PetscBool *has);
PETSC_EXTERN PetscErrorCode SettingsGetString(Settings s, const char key[], const char def[], const char **value, PetscBool *set);
PETSC_EXTERN PetscErrorCode SettingsGetReal(Settings s, const char key[], PetscReal def, PetscReal *value, PetscBool *set);
PETSC_EXTERN PetscErrorCode SettingsGetInt(Settings s, const char key[], PetscInt def, PetscInt *value, PetscBool *set);
PETSC_EXTERN PetscErrorCode SettingsGetBool(Settings s, const char key[], PetscBool def, PetscBool *value, PetscBool *set);
/* Exactly n numbers (given as a list or comma separated); value keeps what the caller put there if not set. */
PETSC_EXTERN PetscErrorCode SettingsGetReals(Settings s, const char key[], PetscInt n, PetscReal value[], PetscBool *set);
PETSC_EXTERN PetscErrorCode SettingsGetInts(Settings s, const char key[], PetscInt n, PetscInt value[], PetscBool *set);
/* Any number of names or texts; the array belongs to the settings. */
PETSC_EXTERN PetscErrorCode SettingsGetList(Settings s, const char key[], PetscInt *n, const char *const **items, PetscBool *set);
/* One of `choices` (NULL-terminated); *index. */
PETSC_EXTERN PetscErrorCode SettingsGetChoice(Settings s, const char key[], const char *const choices[], PetscInt def, PetscInt *index, PetscBool *set);
/* The alternative whose value the getters take, the first if none is set. */
PETSC_EXTERN PetscErrorCode SettingsGetKey(Settings s, const char key[], char found[], size_t length);
/* "FILE:LINE:COLUMN" or "command line" of the value that `key` finds, "default" if none; and the folder of its file (for relative paths). */
PETSC_EXTERN PetscErrorCode SettingsWhere(Settings s, const char key[], const char **where, const char **folder);

/* Sections: names that own a_... keys (bodies, parts, probes, ...). Refuses: a name that is also a method's prefix or an own
   group (ts, snes, output, ...), that would swallow options (bar_mesh beside bar), that differs from another only by case, that holds something else than letters, digits, '_' and '-',
   a name given twice. `kind` is for messages ("body"). */
PETSC_EXTERN PetscErrorCode SettingsAddSection(Settings s, const char kind[], const char name[]);
/* NAME_0 ... NAME_(n - 1) are names too, after SettingsAddSection of NAME; -NAME_57_damping overrides one of them. */
PETSC_EXTERN PetscErrorCode SettingsAddCopies(Settings s, const char name[], PetscInt n);
/* The section of this name, in the order they were added, and its kind; of a copy's name, the section that it copies and its number there
   (-1: not a copy). -1 and NULL if there is none. copy and kind may be NULL. */
PETSC_EXTERN PetscErrorCode SettingsFindSection(Settings s, const char name[], PetscInt *section, PetscInt *copy, const char **kind);
/* Every key NAME_rest of a section NAME (longest name wins), or of an own group, belongs to the model: true even if nobody read it yet. */
PETSC_EXTERN PetscErrorCode SettingsToPetsc(Settings s); /* everything else goes to PETSc's data base (after all sections are added) */
/* After everything has been read: an error about the first entry that nobody read, naming the nearest known one. Looks at the
   model's entries by their used marks, at PETSc's by PetscOptionsLeftGet (kinds known to be read late are let pass). */
PETSC_EXTERN PetscErrorCode SettingsCheckUnused(Settings s);
/* -help: all options of app/option_table.h, grouped, with meaning and default. */
PETSC_EXTERN PetscErrorCode SettingsPrintHelp(MPI_Comm comm);
