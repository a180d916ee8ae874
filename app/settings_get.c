/* Getters: from the text of an entry to names, numbers and lists, with the place in every complaint. */
#include "settings_impl.h"
#include <ctype.h>
#include <errno.h>

static Text NextAlternative_Private(const char **p)
{
  Text t = {*p, strcspn(*p, "|")};

  *p += t.n + ((*p)[t.n] == '|');
  return t;
}

/* The first alternative of `key` that is set; all that are set count as read, since the later ones are defaults that were overridden. */
static PetscErrorCode Find_Private(Settings s, const char key[], Entry **found)
{
  PetscFunctionBeginUser;
  *found = NULL;
  for (const char *p = key; *p;) {
    const Text t = NextAlternative_Private(&p);
    PetscInt   option;
    Entry     *e;

    PetscCall(SettingsOptionOf_Private(s, t, &option));
    PetscCheck(option >= 0, PETSC_COMM_SELF, PETSC_ERR_PLIB, "option '%.*s' is not in app/option_table.c, or its section is not declared", (int)t.n, t.s);
    PetscCall(SettingsFindEntry_Private(s, t, &e));
    if (!e) continue;
    e->used = PETSC_TRUE;
    if (!*found) *found = e;
  }
  PetscFunctionReturn(0);
}

/* "FILE:LINE:COLUMN: KEY" for complaints */
#define COMPLAIN(cond, s, e, ...) \
  do { \
    if (PetscUnlikely(!(cond))) PetscCall(Complain_Private(s, e, __VA_ARGS__)); \
  } while (0)

PETSC_ATTRIBUTE_FORMAT(3, 4) static PetscErrorCode Complain_Private(Settings s, Entry *e, const char format[], ...)
{
  const char *where;
  char        text[1024];
  va_list     args;

  PetscFunctionBeginUser;
  va_start(args, format);
  vsnprintf(text, sizeof(text), format, args);
  va_end(args);
  PetscCall(SettingsEntryWhere_Private(s, e, &where));
  UserError("%s: %s: %s", where, e->key, text);
}

static PetscErrorCode AddItem_Private(Entry *e, PetscInt *capacity, const char *begin, const char *end)
{
  PetscFunctionBeginUser;
  while (begin < end && isspace((unsigned char)*begin)) begin++;
  while (end > begin && isspace((unsigned char)end[-1])) end--;
  if (e->nitem == *capacity) {
    *capacity = 2 * *capacity + 4;
    PetscCall(PetscRealloc((size_t)*capacity * sizeof(char *), &e->item));
  }
  PetscCall(PetscMalloc1((size_t)(end - begin) + 1, &e->item[e->nitem]));
  PetscCall(PetscStrncpy(e->item[e->nitem++], begin, (size_t)(end - begin) + 1));
  PetscFunctionReturn(0);
}

/* Splits a scalar at its commas, but not inside parentheses: 0,0,min(t,1). */
static PetscErrorCode Split_Private(Entry *e)
{
  PetscInt    capacity = 0, depth = 0;
  const char *begin = e->text;

  PetscFunctionBeginUser;
  if (e->nitem >= 0) PetscFunctionReturn(0);
  e->nitem = 0;
  while (isspace((unsigned char)*begin)) begin++;
  if (!*begin) PetscFunctionReturn(0);
  for (const char *c = begin;; c++) {
    if (*c == '(') depth++;
    if (*c == ')') depth--;
    if (*c && !(*c == ',' && depth <= 0)) continue;
    PetscCall(AddItem_Private(e, &capacity, begin, c));
    if (!*c) break;
    begin = c + 1;
  }
  PetscFunctionReturn(0);
}

static PetscErrorCode Items_Private(Settings s, const char key[], Entry **e)
{
  PetscFunctionBeginUser;
  PetscCall(Find_Private(s, key, e));
  if (!*e) PetscFunctionReturn(0);
  COMPLAIN(!(*e)->flag, s, *e, "needs a value");
  PetscCall(Split_Private(*e));
  PetscFunctionReturn(0);
}

/* White space around a number is let pass, anything else is not. */
static const char *Trim_Private(const char t[], size_t *n)
{
  while (isspace((unsigned char)*t)) t++;
  *n = strlen(t);
  while (*n && isspace((unsigned char)t[*n - 1])) (*n)--;
  return t;
}

static PetscErrorCode ParseReal_Private(Settings s, Entry *e, const char item[], PetscReal *value)
{
  size_t      n;
  const char *t = Trim_Private(item, &n);
  char       *end;
  double      v;

  PetscFunctionBeginUser;
  v = strtod(t, &end);
  COMPLAIN(n && end == t + n && strspn(t, "0123456789+-.eE") >= n, s, e, "'%s' is not a number", item); /* also without nan, inf, 0x10 */
  COMPLAIN(isfinite(v), s, e, "'%s' is too large for a number", item);
  *value = (PetscReal)v;
  PetscFunctionReturn(0);
}

static PetscErrorCode ParseInt_Private(Settings s, Entry *e, const char item[], PetscInt *value)
{
  size_t      n;
  const char *t = Trim_Private(item, &n);
  char       *end;
  long long   v;

  PetscFunctionBeginUser;
  errno = 0;
  v     = strtoll(t, &end, 10);
  COMPLAIN(n && end == t + n, s, e, "'%s' is not a whole number", item);
  COMPLAIN(!errno && v >= PETSC_MIN_INT && v <= PETSC_MAX_INT, s, e, "'%s' is too large for a whole number", item);
  *value = (PetscInt)v;
  PetscFunctionReturn(0);
}

static PetscErrorCode CheckCount_Private(Settings s, Entry *e, PetscInt n, const char what[])
{
  PetscFunctionBeginUser;
  COMPLAIN(e->nitem == n, s, e, "expects %" PetscInt_FMT " %s%s, got %" PetscInt_FMT, n, what, n == 1 ? "" : "s", e->nitem);
  PetscFunctionReturn(0);
}

PetscErrorCode SettingsHas(Settings s, const char key[], PetscBool *has)
{
  Entry *e;

  PetscFunctionBeginUser;
  PetscCall(Find_Private(s, key, &e));
  *has = e ? PETSC_TRUE : PETSC_FALSE;
  PetscFunctionReturn(0);
}

PetscErrorCode SettingsGetString(Settings s, const char key[], const char def[], const char **value, PetscBool *set)
{
  Entry *e;

  PetscFunctionBeginUser;
  PetscCall(Find_Private(s, key, &e));
  if (e) COMPLAIN(!e->flag, s, e, "needs a value");
  *value = e ? e->text : def;
  if (set) *set = e ? PETSC_TRUE : PETSC_FALSE;
  PetscFunctionReturn(0);
}

PetscErrorCode SettingsGetReal(Settings s, const char key[], PetscReal def, PetscReal *value, PetscBool *set)
{
  PetscReal v = def;

  PetscFunctionBeginUser;
  PetscCall(SettingsGetReals(s, key, 1, &v, set));
  *value = v;
  PetscFunctionReturn(0);
}

PetscErrorCode SettingsGetInt(Settings s, const char key[], PetscInt def, PetscInt *value, PetscBool *set)
{
  PetscInt v = def;

  PetscFunctionBeginUser;
  PetscCall(SettingsGetInts(s, key, 1, &v, set));
  *value = v;
  PetscFunctionReturn(0);
}

PetscErrorCode SettingsGetBool(Settings s, const char key[], PetscBool def, PetscBool *value, PetscBool *set)
{
  static const char *const yes[] = {"true", "yes", "on", "1", NULL}, *const no[] = {"false", "no", "off", "0", NULL};
  Entry                   *e;
  int                      v = -1;

  PetscFunctionBeginUser;
  PetscCall(Find_Private(s, key, &e));
  if (set) *set = e ? PETSC_TRUE : PETSC_FALSE;
  if (!e) {
    *value = def;
    PetscFunctionReturn(0);
  }
  if (e->source == SOURCE_COMMAND_LINE && !e->text[0]) v = 1; /* -check */
  for (PetscInt i = 0; yes[i]; i++) {
    if (TextEqual(TextOf(e->text), TextOf(yes[i]))) v = 1;
    if (TextEqual(TextOf(e->text), TextOf(no[i]))) v = 0;
  }
  COMPLAIN(v >= 0, s, e, "'%s' is neither true nor false", e->text);
  *value = v ? PETSC_TRUE : PETSC_FALSE;
  PetscFunctionReturn(0);
}

PetscErrorCode SettingsGetReals(Settings s, const char key[], PetscInt n, PetscReal value[], PetscBool *set)
{
  Entry *e;

  PetscFunctionBeginUser;
  PetscCall(Items_Private(s, key, &e));
  if (set) *set = e ? PETSC_TRUE : PETSC_FALSE;
  if (!e) PetscFunctionReturn(0);
  if (n == 1 && !e->list && !e->nitem) COMPLAIN(PETSC_FALSE, s, e, "'' is not a number");
  PetscCall(CheckCount_Private(s, e, n, "number"));
  for (PetscInt i = 0; i < n; i++) PetscCall(ParseReal_Private(s, e, e->item[i], &value[i]));
  PetscFunctionReturn(0);
}

PetscErrorCode SettingsGetInts(Settings s, const char key[], PetscInt n, PetscInt value[], PetscBool *set)
{
  Entry *e;

  PetscFunctionBeginUser;
  PetscCall(Items_Private(s, key, &e));
  if (set) *set = e ? PETSC_TRUE : PETSC_FALSE;
  if (!e) PetscFunctionReturn(0);
  if (n == 1 && !e->list && !e->nitem) COMPLAIN(PETSC_FALSE, s, e, "'' is not a whole number");
  PetscCall(CheckCount_Private(s, e, n, "whole number"));
  for (PetscInt i = 0; i < n; i++) PetscCall(ParseInt_Private(s, e, e->item[i], &value[i]));
  PetscFunctionReturn(0);
}

PetscErrorCode SettingsGetList(Settings s, const char key[], PetscInt *n, const char *const **items, PetscBool *set)
{
  Entry *e;

  PetscFunctionBeginUser;
  PetscCall(Items_Private(s, key, &e));
  if (set) *set = e ? PETSC_TRUE : PETSC_FALSE;
  *n     = e ? e->nitem : 0;
  *items = e ? (const char *const *)e->item : NULL;
  PetscFunctionReturn(0);
}

PetscErrorCode SettingsGetChoice(Settings s, const char key[], const char *const choices[], PetscInt def, PetscInt *index, PetscBool *set)
{
  Entry *e;
  char   all[512] = "";

  PetscFunctionBeginUser;
  PetscCall(Find_Private(s, key, &e));
  if (set) *set = e ? PETSC_TRUE : PETSC_FALSE;
  *index = def;
  if (!e) PetscFunctionReturn(0);
  for (PetscInt i = 0; choices[i]; i++) {
    if (!strcmp(choices[i], e->text)) {
      *index = i;
      PetscFunctionReturn(0);
    }
    PetscCall(PetscStrlcat(all, i ? ", " : "", sizeof(all)));
    PetscCall(PetscStrlcat(all, choices[i], sizeof(all)));
  }
  COMPLAIN(!e->flag, s, e, "needs a value, one of: %s", all);
  COMPLAIN(PETSC_FALSE, s, e, "'%s' is not one of: %s", e->text, all);
  PetscFunctionReturn(0);
}

PetscErrorCode SettingsRequire(Settings s, const char key[], PetscBool good, const char format[], ...)
{
  Entry  *e;
  char    text[1024];
  va_list args;

  PetscFunctionBeginUser;
  if (good) PetscFunctionReturn(0);
  va_start(args, format);
  vsnprintf(text, sizeof(text), format, args);
  va_end(args);
  PetscCall(Find_Private(s, key, &e));
  COMPLAIN(!e, s, e, "%s", text);
  UserError("%.*s: %s", (int)strcspn(key, "|"), key, text);
}

/* What goes to PETSc is read there, too; its own complaint would name neither the option nor the place. */
PetscErrorCode SettingsCheckValue_Private(Settings s, Entry *e, char kind)
{
  PetscReal real;
  PetscInt  integer;

  PetscFunctionBeginUser;
  COMPLAIN(!e->flag && e->text[0], s, e, "needs a value");
  if (kind == 'r' || (kind == 'f' && strcmp(e->text, "inf") && strcmp(e->text, ".inf"))) PetscCall(ParseReal_Private(s, e, e->text, &real));
  if (kind == 'i') PetscCall(ParseInt_Private(s, e, e->text, &integer));
  PetscFunctionReturn(0);
}

PetscErrorCode SettingsGetKey(Settings s, const char key[], char found[], size_t length)
{
  const char *p = key;
  const Text  t = NextAlternative_Private(&p);
  Entry      *e;

  PetscFunctionBeginUser;
  PetscCall(Find_Private(s, key, &e));
  if (e) PetscCall(PetscStrncpy(found, e->key, length));
  else PetscCall(PetscStrncpy(found, t.s, PetscMin(length, t.n + 1)));
  PetscFunctionReturn(0);
}

PetscErrorCode SettingsWhere(Settings s, const char key[], const char **where, const char **folder)
{
  Entry *e;

  PetscFunctionBeginUser;
  PetscCall(Find_Private(s, key, &e));
  if (e && where) PetscCall(SettingsEntryWhere_Private(s, e, where));
  else if (where) *where = "default";
  if (folder) *folder = e && e->source >= 0 ? s->folder[e->source] : ".";
  PetscFunctionReturn(0);
}
