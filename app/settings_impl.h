/* Inside of Settings, shared by settings*.c only. */
#pragma once
#include "settings.h"
#include "error.h"
#include "option_table.h"
#include <petsc/private/hashmap.h>

/* A piece of a longer text, so that prefixes of keys are looked up without copies. Compared without regard to case: the maps then find
   names that differ by case only, and who needs the exact name compares again. */
typedef struct {
  const char *s;
  size_t      n;
} Text;

static inline Text TextOf(const char s[])
{
  return (Text){s, strlen(s)};
}
static inline char CharFold(char c)
{
  return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}
static inline PetscBool TextSame(Text a, Text b)
{
  return a.n == b.n && !memcmp(a.s, b.s, a.n) ? PETSC_TRUE : PETSC_FALSE;
}
static inline int TextEqual(Text a, Text b)
{
  if (a.n != b.n) return 0;
  for (size_t i = 0; i < a.n; i++)
    if (CharFold(a.s[i]) != CharFold(b.s[i])) return 0;
  return 1;
}
static inline PetscHash_t TextHash(Text a) /* FNV-1a */
{
  PetscHash_t h = 2166136261u;

  for (size_t i = 0; i < a.n; i++) h = (h ^ (unsigned char)CharFold(a.s[i])) * 16777619u;
  return h;
}
PETSC_HASH_MAP(HMapText, Text, PetscInt, TextHash, TextEqual, -1)

typedef enum { OWNER_NOBODY, OWNER_MODEL, OWNER_PETSC } Owner;

enum { SOURCE_COMMAND_LINE = -1, SOURCE_NONE = -2 };

typedef struct {
  char     *key, *text;       /* text of a list: its items, comma separated */
  char    **item;             /* items; of a scalar made when first asked for */
  PetscInt  nitem;            /* -1: not split yet */
  PetscBool list, flag, used; /* flag: command line option without a value */
  PetscInt  source, line, column, key_line, key_column;
  PetscInt  seen, seen_line;  /* the last file that gave the key, and where, even if the command line has overridden it */
  PetscBool seen_merged;      /* ... there by a YAML merge (<<) only, which explicit keys override */
  Owner     owner;
  char     *where;
} Entry;

typedef struct {
  char         *name; /* "body" */
  PetscHMapText rest; /* "damping" -> index in option_table */
  PetscHMapText stem; /* "mesh" of mesh_size, ...: no section may be named SECTION_mesh */
} Kind;

typedef struct {
  char    *name;
  PetscInt kind, copies; /* copies: NAME_0 ... NAME_(copies - 1) are names too */
  PetscBool part;
} Section;

struct _p_Settings {
  Entry        *entry;
  PetscInt      nentry, centry;
  PetscHMapText keys;
  char        **source, **folder;
  PetscInt      nsource, csource;
  Section      *section;
  PetscInt      nsection, csection;
  PetscHMapText sections;
  Kind         *kind;
  PetscInt      nkind, body; /* body: index of the kind "body" */
  PetscHMapText plain;       /* names without a generic first word -> index in option_table */
  PetscHMapText words;       /* reserved first words -> bits of WORD_* */
};
enum { WORD_MODEL = 1, WORD_PETSC = 2 };

/* settings.c */
PETSC_INTERN PetscErrorCode SettingsFindEntry_Private(Settings s, Text key, Entry **e);
PETSC_INTERN PetscErrorCode SettingsEntryWhere_Private(Settings s, Entry *e, const char **where);
PETSC_INTERN PetscErrorCode SettingsPlace_Private(Settings s, PetscInt source, PetscInt line, PetscInt column, char **place);
/* settings_get.c: an error unless the value is of this kind, see Option */
PETSC_INTERN PetscErrorCode SettingsCheckValue_Private(Settings s, Entry *e, char kind);
/* settings_section.c: the section a key belongs to (-1: none, nsection: the literal body_) and what follows its '_'; the option it is (-1: none) */
PETSC_INTERN PetscErrorCode SettingsSectionOf_Private(Settings s, Text key, PetscInt *section, Text *rest);
PETSC_INTERN PetscErrorCode SettingsGenericOption_Private(Settings s, PetscInt section, Text rest, PetscInt *option);
PETSC_INTERN PetscErrorCode SettingsOptionOf_Private(Settings s, Text key, PetscInt *option);
PETSC_INTERN PetscErrorCode SettingsTableCreate_Private(Settings s);
PETSC_INTERN PetscErrorCode SettingsTableDestroy_Private(Settings s);
