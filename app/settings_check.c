/* Whose options are whose: what goes to PETSc, what nobody has read, and what was probably meant. */
#include "settings_impl.h"

#define MAX_PETSC_OPTIONS 500 /* PETSc 3.18 keeps 512 and stops with a traceback at the next */

static PetscErrorCode Owner_Private(Settings s, Entry *e, Owner *owner)
{
  const Text key = TextOf(e->key);
  PetscInt   option, section, bits;
  Text       rest;

  PetscFunctionBeginUser;
  *owner = OWNER_MODEL;
  PetscCall(PetscHMapTextGet(s->plain, key, &option));
  if (option >= 0) {
    if (option_table[option].petsc) *owner = OWNER_PETSC;
    PetscFunctionReturn(0);
  }
  PetscCall(SettingsSectionOf_Private(s, key, &section, &rest));
  if (section >= 0) PetscFunctionReturn(0);
  PetscCall(PetscHMapTextGet(s->sections, key, &section));
  if (section >= 0) { /* `bar:` with nothing under it is a section all of whose options are defaults */
    if (!e->text[0] && !e->list && !e->flag) e->used = PETSC_TRUE;
    PetscFunctionReturn(0);
  }
  PetscCall(PetscHMapTextGet(s->words, (Text){e->key, strcspn(e->key, "_")}, &bits));
  if (bits != WORD_MODEL) *owner = OWNER_PETSC;
  PetscFunctionReturn(0);
}

/* -1 if the text is neither true nor false. */
static int Truth_Private(const char text[])
{
  static const char *const words[] = {"false", "true", "no", "yes", "off", "on", "0", "1"};

  for (int i = 0; i < 8; i++)
    if (TextEqual(TextOf(text), TextOf(words[i]))) return i % 2;
  return -1;
}

static PetscBool EndsIn_Private(const char text[], const char end[])
{
  const size_t n = strlen(text), m = strlen(end);

  return n >= m && !strcmp(text + n - m, end) ? PETSC_TRUE : PETSC_FALSE;
}

PetscErrorCode SettingsToPetsc(Settings s)
{
  PetscInt    count = 0, option;
  Entry      *first = NULL;
  const char *where;
  PetscBool   log;

  PetscFunctionBeginUser;
  for (PetscInt i = 0; i < s->nentry; i++) {
    Entry *e = &s->entry[i];

    PetscCall(Owner_Private(s, e, &e->owner));
    if (e->owner != OWNER_PETSC) continue;
    PetscCall(SettingsOptionOf_Private(s, TextOf(e->key), &option));
    if (option >= 0 && option_table[option].kind) PetscCall(SettingsCheckValue_Private(s, e, option_table[option].kind));
    count++;
    if (!first) first = e;
  }
  if (count > MAX_PETSC_OPTIONS) {
    PetscCall(SettingsEntryWhere_Private(s, first, &where));
    UserError("%" PetscInt_FMT " options belong to no body or other section of the model and would go to PETSc, which takes at most %d; "
              "the first is '%s' (%s): is a name missing in 'bodies'?", count, MAX_PETSC_OPTIONS, first->key, where);
  }
  for (PetscInt i = 0; i < s->nentry; i++) {
    Entry *e = &s->entry[i];
    char  *name;
    size_t n = strlen(e->key) + 2;
    int    truth;

    if (e->owner != OWNER_PETSC) continue;
    PetscCall(PetscMalloc1(n, &name));
    PetscCall(PetscSNPrintf(name, n, "-%s", e->key));
    /* PETSc takes `true` for the name of a viewer where it expects none: -ts_monitor alone is what `ts: {monitor: true}` means */
    truth = strstr(e->key, "_monitor") || strstr(e->key, "_view") || EndsIn_Private(e->key, "_converged_reason") ? Truth_Private(e->text) : -1;
    if (truth == 0) {
      e->used = PETSC_TRUE;
      PetscCall(PetscOptionsClearValue(NULL, name));
    } else {
      PetscCall(PetscOptionsSetValue(NULL, name, truth == 1 || !e->text[0] ? NULL : e->text));
    }
    PetscCall(PetscFree(name));
  }
  /* PETSc looks for -log_view while it starts, before any file has been read */
  PetscCall(PetscOptionsHasName(NULL, NULL, "-log_view", &log));
  if (log && !PetscLogPLB) PetscCall(PetscLogDefaultBegin());
  PetscFunctionReturn(0);
}

/* ------------------------------------------------------- nearest name */
typedef struct {
  PetscInt *row; /* 3 rows, as long as the key */
  PetscInt  size, best;
  char     *name; /* the nearest so far */
} Search;

/* Insertions, deletions, replacements and swaps of neighbours that turn a into b, without regard to case. */
static PetscInt Distance_Private(Search *f, Text a, Text b)
{
  PetscInt *old = f->row, *last = old + f->size, *now = last + f->size;

  for (size_t j = 0; j <= a.n; j++) last[j] = (PetscInt)j;
  for (size_t i = 1; i <= b.n; i++) {
    PetscInt *swap = old;

    now[0] = (PetscInt)i;
    for (size_t j = 1; j <= a.n; j++) {
      const PetscInt differ = CharFold(a.s[j - 1]) != CharFold(b.s[i - 1]);

      now[j] = PetscMin(PetscMin(last[j], now[j - 1]) + 1, last[j - 1] + differ);
      if (i > 1 && j > 1 && CharFold(a.s[j - 1]) == CharFold(b.s[i - 2]) && CharFold(a.s[j - 2]) == CharFold(b.s[i - 1])) now[j] = PetscMin(now[j], old[j - 2] + 1);
    }
    old  = last;
    last = now;
    now  = swap;
  }
  return last[a.n];
}

/* Would PREFIX CANDIDATE SUFFIX be nearer than what was found before? `word` is what stands in the candidate's place. */
static PetscErrorCode Consider_Private(Search *f, Text word, Text prefix, Text candidate, Text suffix)
{
  const PetscInt limit = 1 + (PetscInt)word.n / 4;
  const size_t   n     = prefix.n + candidate.n + suffix.n + 1;
  PetscInt       d;

  PetscFunctionBeginUser;
  if (PetscAbsInt((PetscInt)word.n - (PetscInt)candidate.n) > limit) PetscFunctionReturn(0);
  d = Distance_Private(f, word, candidate);
  if (d > limit || d >= f->best) PetscFunctionReturn(0);
  f->best = d;
  PetscCall(PetscFree(f->name));
  PetscCall(PetscMalloc1(n, &f->name));
  PetscCall(PetscSNPrintf(f->name, n, "%.*s%.*s%.*s", (int)prefix.n, prefix.s, (int)candidate.n, candidate.s, (int)suffix.n, suffix.s));
  PetscFunctionReturn(0);
}

static Text Rest_Private(PetscInt option) /* damping of <body>_damping */
{
  return TextOf(strchr(option_table[option].name, '>') + 2);
}

/* *name: the nearest name, to be freed, or NULL; *head: for FOO_damping where only FOO is unknown, the length of FOO, else 0. */
static PetscErrorCode Nearest_Private(Settings s, Text key, char **name, size_t *head)
{
  const Text none  = {"", 0};
  Search     f     = {NULL, (PetscInt)key.n + 1, PETSC_MAX_INT, NULL};
  Text       inner = key, nested = none, rest;
  PetscInt   section, option, bits;

  PetscFunctionBeginUser;
  *head = 0;
  PetscCall(PetscMalloc1(3 * (size_t)f.size, &f.row));
  PetscCall(SettingsSectionOf_Private(s, key, &section, &rest));
  for (PetscInt i = 0; option_nested_prefixes[i]; i++) {
    const size_t n = strlen(option_nested_prefixes[i]);

    if (key.n > n && TextEqual((Text){key.s, n}, TextOf(option_nested_prefixes[i]))) {
      nested = (Text){key.s, n};
      inner  = (Text){key.s + n, key.n - n};
    }
  }
  for (PetscInt i = 0; i < option_table_size; i++) {
    if (option_table[i].name[0] != '<') PetscCall(Consider_Private(&f, key, none, TextOf(option_table[i].name), none));
    else if (section >= 0) {
      PetscCall(SettingsGenericOption_Private(s, section, Rest_Private(i), &option));
      if (option == i) PetscCall(Consider_Private(&f, rest, (Text){key.s, key.n - rest.n}, Rest_Private(i), none));
    } else { /* FOO_damping: is FOO nearly a section? the longest such FOO_rest counts */
      const Text r = Rest_Private(i);

      if (key.n > r.n + 1 && key.s[key.n - r.n - 1] == '_' && TextSame(r, (Text){key.s + key.n - r.n, r.n}) && (!*head || key.n - r.n - 1 < *head))
        *head = key.n - r.n - 1;
    }
  }
  for (PetscInt i = 0; option_petsc_names[i]; i++) {
    PetscCall(Consider_Private(&f, key, none, TextOf(option_petsc_names[i]), none));
    if (nested.n) PetscCall(Consider_Private(&f, inner, nested, TextOf(option_petsc_names[i]), none));
  }
  for (PetscInt i = 0; *head && i <= s->nsection; i++) {
    const Text tail = {key.s + *head, key.n - *head};

    PetscCall(SettingsGenericOption_Private(s, i, (Text){tail.s + 1, tail.n - 1}, &option));
    if (option >= 0) PetscCall(Consider_Private(&f, (Text){key.s, *head}, none, TextOf(i < s->nsection ? s->section[i].name : "body"), tail));
  }
  if (*head) {
    PetscCall(PetscHMapTextGet(s->words, (Text){key.s, *head}, &bits));
    if (bits >= 0) *head = 0;
  }
  PetscCall(PetscFree(f.row));
  *name = f.name;
  PetscFunctionReturn(0);
}

/* ------------------------------------------------------- unused options */
/* Options that PETSc reads at its start or end, or when something is solved at last. */
static PetscErrorCode IsLate_Private(Settings s, const char key[], PetscBool *late)
{
  PetscInt bits;

  PetscFunctionBeginUser;
  *late = strstr(key, "mat_mumps_") ? PETSC_TRUE : PETSC_FALSE;
  for (PetscInt i = 0; option_petsc_late[i] && !*late; i++) *late = TextEqual(TextOf(key), TextOf(option_petsc_late[i])) ? PETSC_TRUE : PETSC_FALSE;
  if (*late || !(EndsIn_Private(key, "_view") || EndsIn_Private(key, "_converged_reason") || EndsIn_Private(key, "_monitor"))) PetscFunctionReturn(0);
  PetscCall(PetscHMapTextGet(s->words, (Text){key, strcspn(key, "_")}, &bits));
  if (bits >= 0 && (bits & WORD_PETSC)) *late = PETSC_TRUE;
  PetscFunctionReturn(0);
}

static PetscErrorCode IsKnown_Private(Settings s, Text key, PetscBool *known)
{
  PetscInt option;

  PetscFunctionBeginUser;
  PetscCall(SettingsOptionOf_Private(s, key, &option));
  *known = option >= 0 ? PETSC_TRUE : PETSC_FALSE;
  for (PetscInt i = -1; i < 0 || option_nested_prefixes[i]; i++) {
    const size_t n = i < 0 ? 0 : strlen(option_nested_prefixes[i]);

    if (n && (key.n <= n || memcmp(key.s, option_nested_prefixes[i], n))) continue;
    for (PetscInt k = 0; option_petsc_names[k]; k++)
      if (TextEqual((Text){key.s + n, key.n - n}, TextOf(option_petsc_names[k]))) *known = PETSC_TRUE;
  }
  PetscFunctionReturn(0);
}

static PetscErrorCode ComplainUnused_Private(Settings s, Entry *e, PetscInt more)
{
  const Text key = TextOf(e->key);
  char      *where, *nearest = NULL, others[64] = "";
  size_t     head = 0;
  PetscInt   section;
  PetscBool  known = PETSC_FALSE;

  PetscFunctionBeginUser;
  PetscCall(SettingsPlace_Private(s, e->source, e->key_line, e->key_column, &where));
  if (more) PetscCall(PetscSNPrintf(others, sizeof(others), " (and %" PetscInt_FMT " more such option%s)", more, more > 1 ? "s" : ""));
  PetscCall(PetscHMapTextGet(s->sections, key, &section));
  UserCheck(section < 0, "%s: '%s' names a section: put its options under it, as in %s: {name: value}%s", where, e->key, e->key, others);
  PetscCall(IsKnown_Private(s, key, &known));
  UserCheck(!known, "%s: '%s' has no effect: nothing in this run reads it; remove it%s", where, e->key, others);
  PetscCall(Nearest_Private(s, key, &nearest, &head));
  UserCheck(!nearest, "%s: '%s' is not an option; did you mean '%s'?%s", where, e->key, nearest, others);
  UserCheck(!head, "%s: '%s' is not an option: no body, part or other section of the model is named '%.*s'%s", where, e->key, (int)head, e->key, others);
  UserError("%s: '%s' is not an option; -help lists all%s", where, e->key, others);
}

/* Collective on PETSC_COMM_WORLD: used on any rank is used. */
PetscErrorCode SettingsCheckUnused(Settings s)
{
  unsigned char *used;
  PetscInt       nleft, index, count = 0;
  char         **left, **values;
  Entry         *first = NULL;

  PetscFunctionBeginUser;
  PetscCall(PetscMalloc1((size_t)s->nentry + 1, &used));
  for (PetscInt i = 0; i < s->nentry; i++) {
    const Entry *e = &s->entry[i];

    PetscCheck(e->owner != OWNER_NOBODY, PETSC_COMM_SELF, PETSC_ERR_PLIB, "SettingsToPetsc comes before SettingsCheckUnused");
    used[i] = e->used || e->owner == OWNER_PETSC;
  }
  PetscCall(PetscOptionsLeftGet(NULL, &nleft, &left, &values));
  for (PetscInt i = 0; i < nleft; i++) { /* names that are not in the table came by other ways (PETSC_OPTIONS, .petscrc): PETSc's business */
    PetscBool late;

    PetscCall(PetscHMapTextGet(s->keys, TextOf(left[i]), &index));
    if (index < 0 || s->entry[index].owner != OWNER_PETSC || s->entry[index].used) continue;
    PetscCall(IsLate_Private(s, left[i], &late));
    if (!late) used[index] = 0;
  }
  PetscCall(PetscOptionsLeftRestore(NULL, &nleft, &left, &values));
  PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, used, (PetscMPIInt)s->nentry, MPI_UNSIGNED_CHAR, MPI_MAX, PETSC_COMM_WORLD));
  for (PetscInt i = 0; i < s->nentry; i++) {
    if (used[i]) continue;
    if (!first) first = &s->entry[i];
    count++;
  }
  PetscCall(PetscFree(used));
  if (first) PetscCall(ComplainUnused_Private(s, first, count - 1));
  PetscFunctionReturn(0);
}
