/* Names: the table of options made ready for look-ups, and the sections a model declares. */
#include "settings_impl.h"
#include <ctype.h>

static PetscErrorCode AddWord_Private(Settings s, Text word, PetscInt bit)
{
  PetscInt bits;

  PetscFunctionBeginUser;
  PetscCall(PetscHMapTextGet(s->words, word, &bits));
  PetscCall(PetscHMapTextSet(s->words, word, PetscMax(bits, 0) | bit));
  PetscFunctionReturn(0);
}

static PetscErrorCode FindKind_Private(Settings s, Text name, PetscInt *kind)
{
  PetscFunctionBeginUser;
  *kind = -1;
  for (PetscInt k = 0; k < s->nkind; k++)
    if (TextSame(TextOf(s->kind[k].name), name)) *kind = k;
  PetscFunctionReturn(0);
}

PetscErrorCode SettingsTableCreate_Private(Settings s)
{
  PetscFunctionBeginUser;
  PetscCall(PetscHMapTextCreate(&s->plain));
  PetscCall(PetscHMapTextCreate(&s->words));
  for (PetscInt i = 0; i < option_table_size; i++) {
    const char *name = option_table[i].name, *rest;
    PetscInt    k, other;
    Text        generic;

    if (name[0] != '<') {
      PetscCall(PetscHMapTextGet(s->plain, TextOf(name), &k));
      PetscCheck(k < 0, PETSC_COMM_SELF, PETSC_ERR_PLIB, "app/option_table.c lists '%s' twice", name);
      PetscCall(PetscHMapTextSet(s->plain, TextOf(name), i));
      PetscCall(AddWord_Private(s, (Text){name, strcspn(name, "_")}, option_table[i].petsc ? WORD_PETSC : WORD_MODEL));
      continue;
    }
    generic = (Text){name + 1, strcspn(name + 1, ">")};
    rest    = generic.s + generic.n;
    PetscCheck(rest[0] == '>' && rest[1] == '_' && rest[2], PETSC_COMM_SELF, PETSC_ERR_PLIB, "app/option_table.c: '%s' is not <kind>_name", name);
    rest += 2;
    PetscCall(FindKind_Private(s, generic, &k));
    if (k < 0) {
      k = s->nkind++;
      PetscCall(PetscRealloc((size_t)s->nkind * sizeof(Kind), &s->kind));
      PetscCall(PetscMalloc1(generic.n + 1, &s->kind[k].name));
      PetscCall(PetscStrncpy(s->kind[k].name, generic.s, generic.n + 1));
      PetscCall(PetscHMapTextCreate(&s->kind[k].rest));
      PetscCall(PetscHMapTextCreate(&s->kind[k].stem));
    }
    PetscCall(PetscHMapTextGet(s->kind[k].rest, TextOf(rest), &other));
    PetscCheck(other < 0, PETSC_COMM_SELF, PETSC_ERR_PLIB, "app/option_table.c lists '%s' twice", name);
    PetscCall(PetscHMapTextSet(s->kind[k].rest, TextOf(rest), i));
    for (const char *c = rest; (c = strchr(c, '_')); c++) PetscCall(PetscHMapTextSet(s->kind[k].stem, (Text){rest, (size_t)(c - rest)}, 1));
  }
  PetscCall(FindKind_Private(s, TextOf("body"), &s->body));
  PetscCheck(s->body >= 0, PETSC_COMM_SELF, PETSC_ERR_PLIB, "app/option_table.c has no <body>");
  for (PetscInt i = 0; option_petsc_prefixes[i]; i++) PetscCall(AddWord_Private(s, TextOf(option_petsc_prefixes[i]), WORD_PETSC));
  PetscFunctionReturn(0);
}

PetscErrorCode SettingsTableDestroy_Private(Settings s)
{
  PetscFunctionBeginUser;
  for (PetscInt k = 0; k < s->nkind; k++) {
    PetscCall(PetscFree(s->kind[k].name));
    PetscCall(PetscHMapTextDestroy(&s->kind[k].rest));
    PetscCall(PetscHMapTextDestroy(&s->kind[k].stem));
  }
  PetscCall(PetscFree(s->kind));
  PetscCall(PetscHMapTextDestroy(&s->plain));
  PetscCall(PetscHMapTextDestroy(&s->words));
  PetscFunctionReturn(0);
}

/* BASE_12 is a copy's name if BASE has more than 12 copies; the index of BASE, or -1. */
static PetscErrorCode FindCopy_Private(Settings s, Text name, PetscInt *section)
{
  size_t     n     = name.n;
  PetscInt64 index = 0;

  PetscFunctionBeginUser;
  *section = -1;
  while (n && isdigit((unsigned char)name.s[n - 1])) n--;
  if (n < 2 || n == name.n || name.s[n - 1] != '_' || name.n - n > 10 || (name.s[n] == '0' && name.n - n > 1)) PetscFunctionReturn(0);
  for (size_t i = n; i < name.n; i++) index = 10 * index + (name.s[i] - '0');
  PetscCall(PetscHMapTextGet(s->sections, (Text){name.s, n - 1}, section));
  if (*section >= 0 && index >= s->section[*section].copies) *section = -1;
  PetscFunctionReturn(0);
}

/* The section of exactly this name, or that it is a copy of; -1 if none. */
static PetscErrorCode FindSection_Private(Settings s, Text name, PetscInt *section)
{
  PetscFunctionBeginUser;
  PetscCall(PetscHMapTextGet(s->sections, name, section));
  if (*section < 0) PetscCall(FindCopy_Private(s, name, section));
  if (*section >= 0) { /* the map folds case */
    const char *exact = s->section[*section].name;

    if (memcmp(exact, name.s, strlen(exact))) *section = -1;
  }
  PetscFunctionReturn(0);
}

/* Longest name first. nsection stands for the literal body_. */
PetscErrorCode SettingsSectionOf_Private(Settings s, Text key, PetscInt *section, Text *rest)
{
  PetscFunctionBeginUser;
  *section = -1;
  for (size_t n = key.n; n-- > 1;) {
    if (key.s[n] != '_') continue;
    PetscCall(FindSection_Private(s, (Text){key.s, n}, section));
    if (*section < 0 && TextSame((Text){key.s, n}, TextOf("body"))) *section = s->nsection;
    if (*section < 0) continue;
    *rest = (Text){key.s + n + 1, key.n - n - 1};
    break;
  }
  PetscFunctionReturn(0);
}

/* A part has the options of bodies too. */
PetscErrorCode SettingsGenericOption_Private(Settings s, PetscInt section, Text rest, PetscInt *option)
{
  const PetscInt kind = section == s->nsection ? s->body : s->section[section].kind;

  PetscFunctionBeginUser;
  *option = -1;
  if (kind >= 0) PetscCall(PetscHMapTextGet(s->kind[kind].rest, rest, option));
  if (*option < 0 && section < s->nsection && s->section[section].part) PetscCall(PetscHMapTextGet(s->kind[s->body].rest, rest, option));
  if (*option >= 0) { /* the map folds case */
    const Text name = TextOf(option_table[*option].name);

    if (memcmp(name.s + name.n - rest.n, rest.s, rest.n)) *option = -1;
  }
  PetscFunctionReturn(0);
}

PetscErrorCode SettingsOptionOf_Private(Settings s, Text key, PetscInt *option)
{
  PetscInt section;
  Text     rest = {NULL, 0};

  PetscFunctionBeginUser;
  PetscCall(PetscHMapTextGet(s->plain, key, option));
  if (*option >= 0) {
    if (!TextSame(key, TextOf(option_table[*option].name))) *option = -1;
    PetscFunctionReturn(0);
  }
  PetscCall(SettingsSectionOf_Private(s, key, &section, &rest));
  if (section >= 0) PetscCall(SettingsGenericOption_Private(s, section, rest, option));
  PetscFunctionReturn(0);
}

/* Where the list is that such a name usually comes from: "FILE:LINE:COLUMN: " of bodies, probes, ... or "". */
static PetscErrorCode ListPlace_Private(Settings s, const char kind[], char place[], size_t length)
{
  const size_t n = strlen(kind);
  const char  *where;
  char         key[64];
  Entry       *e;

  PetscFunctionBeginUser;
  place[0] = 0;
  PetscCall(PetscSNPrintf(key, sizeof(key), "%.*s%s", (int)(n - (kind[n - 1] == 'y')), kind, kind[n - 1] == 'y' ? "ies" : "s"));
  PetscCall(SettingsFindEntry_Private(s, TextOf(key), &e));
  if (!e) PetscFunctionReturn(0);
  PetscCall(SettingsEntryWhere_Private(s, e, &where));
  PetscCall(PetscSNPrintf(place, length, "%s: ", where));
  PetscFunctionReturn(0);
}

/* Is `name` such that NAME_... begins a known option? */
static PetscErrorCode Swallows_Private(Settings s, Text name, const char **which)
{
  PetscInt one, section;
  Text     rest = {NULL, 0}, inner = name;

  PetscFunctionBeginUser;
  *which = NULL;
  for (PetscInt i = 0; i < option_table_size; i++) {
    const char *o = option_table[i].name;

    if (o[0] != '<' && strlen(o) > name.n && o[name.n] == '_' && TextEqual((Text){o, name.n}, name)) *which = o;
  }
  for (PetscInt i = 0; option_nested_prefixes[i]; i++) { /* part_pc would swallow part_pc_type */
    const size_t n = strlen(option_nested_prefixes[i]);

    if (name.n > n && TextEqual((Text){name.s, n}, TextOf(option_nested_prefixes[i]))) inner = (Text){name.s + n, name.n - n};
  }
  for (PetscInt i = 0; option_petsc_names[i]; i++) {
    const char *o = option_petsc_names[i];

    if (strlen(o) > inner.n && o[inner.n] == '_' && TextEqual((Text){o, inner.n}, inner)) *which = o;
  }
  PetscCall(SettingsSectionOf_Private(s, name, &section, &rest));
  if (section >= 0) {
    const PetscInt kind = section == s->nsection ? s->body : s->section[section].kind;

    PetscCall(PetscHMapTextGet(s->kind[kind].stem, rest, &one));
    if (one < 0 && section < s->nsection && s->section[section].part) PetscCall(PetscHMapTextGet(s->kind[s->body].stem, rest, &one));
    if (one >= 0) *which = section == s->nsection ? "body" : s->section[section].name;
  }
  PetscFunctionReturn(0);
}

PetscErrorCode SettingsAddSection(Settings s, const char kind[], const char name[])
{
  static const char *const classes[] = {"ts_", "snes_", "ksp_", "pc_", "mat_", "vec_", "eps_", "dm_", "tao_", NULL};
  const Text               text      = TextOf(name);
  const char              *which;
  char                     place[1024], *key;
  PetscInt                 bits, other, k;
  PetscBool                part, prefix = PETSC_FALSE;

  PetscFunctionBeginUser;
  PetscCall(ListPlace_Private(s, kind, place, sizeof(place)));
  UserCheck(name[0], "%sa %s without a name", place, kind);
  UserCheck(isalpha((unsigned char)name[0]), "%s%s name '%s' must begin with a letter", place, kind, name);
  for (const char *c = name; *c; c++)
    UserCheck(isalnum((unsigned char)*c) || *c == '_' || *c == '-', "%s%s name '%s' may hold letters, digits, '_' and '-' only", place, kind, name);
  PetscCall(PetscHMapTextGet(s->words, text, &bits));
  UserCheck(bits < 0, "%s%s name '%s' is reserved (%s); choose another", place, kind, name,
            bits & WORD_MODEL ? "options of the program begin with it" : "options of the solvers begin with it");
  for (PetscInt i = 0; classes[i]; i++)
    if (text.n > strlen(classes[i]) && TextEqual((Text){name, strlen(classes[i])}, TextOf(classes[i]))) prefix = PETSC_TRUE;
  UserCheck(!prefix, "%s%s name '%s' begins like options of the solvers; choose another", place, kind, name);
  PetscCall(PetscHMapTextGet(s->sections, text, &other));
  if (other >= 0) {
    UserCheck(strcmp(name, s->section[other].name), "%s%s name '%s' is given twice; every body, part, probe, ... needs a name of its own", place, kind, name);
    UserError("%s%s name '%s' differs from '%s' only by case; choose another", place, kind, name, s->section[other].name);
  }
  PetscCall(FindCopy_Private(s, text, &other));
  UserCheck(other < 0, "%s%s name '%s' is also the name of a copy of '%s'; choose another", place, kind, name, s->section[other].name);
  PetscCall(FindKind_Private(s, TextOf(kind), &k));
  part = !strcmp(kind, "part") ? PETSC_TRUE : PETSC_FALSE;
  if (k < 0 && part) k = s->body;
  PetscCheck(k >= 0, PETSC_COMM_SELF, PETSC_ERR_PLIB, "app/option_table.c has no options of <%s>", kind);
  PetscCall(Swallows_Private(s, text, &which));
  UserCheck(!which, "%s%s name '%s' cannot be told from options of '%s'; choose another", place, kind, name, which);
  { /* the same the other way round: bar after bar_mesh */
    PetscHashIter it;
    Text          stem;

    for (PetscInt pass = 0; pass < (part ? 2 : 1); pass++) {
      PetscHMapText stems = s->kind[pass ? s->body : k].stem;

      PetscHashIterBegin(stems, it);
      while (!PetscHashIterAtEnd(stems, it)) {
        PetscHashIterGetKey(stems, it, stem);
        PetscCall(PetscMalloc1(text.n + stem.n + 2, &key));
        PetscCall(PetscSNPrintf(key, text.n + stem.n + 2, "%s_%.*s", name, (int)stem.n, stem.s));
        PetscCall(PetscHMapTextGet(s->sections, TextOf(key), &other));
        PetscCall(PetscFree(key));
        UserCheck(other < 0, "%s%s name '%s' cannot be told from options of '%s'; rename one of them", place, kind, s->section[other].name, name);
        PetscHashIterNext(stems, it);
      }
    }
  }
  if (s->nsection == s->csection) {
    s->csection = 2 * s->csection + 16;
    PetscCall(PetscRealloc((size_t)s->csection * sizeof(Section), &s->section));
  }
  s->section[s->nsection] = (Section){NULL, k, 0, part};
  PetscCall(PetscStrallocpy(name, &s->section[s->nsection].name));
  PetscCall(PetscHMapTextSet(s->sections, TextOf(s->section[s->nsection].name), s->nsection));
  s->nsection++;
  PetscFunctionReturn(0);
}

PetscErrorCode SettingsAddCopies(Settings s, const char name[], PetscInt n)
{
  PetscInt     section, other;
  char        *copy;
  const size_t length = strlen(name) + 16;

  PetscFunctionBeginUser;
  PetscCall(PetscHMapTextGet(s->sections, TextOf(name), &section));
  PetscCheck(section >= 0 && !strcmp(name, s->section[section].name), PETSC_COMM_SELF, PETSC_ERR_PLIB, "no section '%s' to copy", name);
  PetscCall(PetscMalloc1(length, &copy));
  for (PetscInt i = 0; i < n; i++) {
    snprintf(copy, length, "%s_%d", name, (int)i);
    PetscCall(PetscHMapTextGet(s->sections, TextOf(copy), &other));
    UserCheck(other < 0, "'%s' is also the name of a copy of '%s'; choose another", s->section[other].name, name);
  }
  PetscCall(PetscFree(copy));
  s->section[section].copies = n;
  PetscFunctionReturn(0);
}

PetscErrorCode SettingsFindSection(Settings s, const char name[], PetscInt *section, PetscInt *copy, const char **kind)
{
  PetscFunctionBeginUser;
  PetscCall(FindSection_Private(s, TextOf(name), section));
  if (copy) *copy = *section < 0 || !strcmp(name, s->section[*section].name) ? -1 : (PetscInt)strtol(name + strlen(s->section[*section].name) + 1, NULL, 10);
  if (kind) *kind = *section < 0 ? NULL : s->section[*section].part ? "part" : s->kind[s->section[*section].kind].name;
  PetscFunctionReturn(0);
}
