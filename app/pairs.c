#include "pairs.h"
#include "error.h"
#include <fnmatch.h>

enum { PAIR_FRICTION, PAIR_RESTITUTION, PAIR_COHESION, PAIR_VALUES };

typedef struct {
  const char *name, *glob[2];
  PetscReal   value[PAIR_VALUES];
  PetscBool   given[PAIR_VALUES], exclude;
} Pair;

struct _p_Pairs {
  PetscInt n;
  Pair    *pair;
  PetscInt nbody, ngroup, capacity, *group; /* of each body */
  char    *match;                           /* ngroup x 2 n: does a pattern match bodies of a group? */
};

static PetscErrorCode PairRead_Private(Settings settings, const char name[], Pair *pair)
{
  static const char *const values[PAIR_VALUES] = {"friction", "restitution", "cohesion"};
  const char *const       *items;
  const char              *text, *where;
  char                     key[512];
  PetscInt                 n;
  PetscBool                set;

  PetscFunctionBeginUser;
  pair->name = name;
  PetscCall(PetscSNPrintf(key, sizeof(key), "%s_bodies", name));
  PetscCall(SettingsGetList(settings, key, &n, &items, &set));
  PetscCall(SettingsWhere(settings, key, &where, NULL));
  UserCheck(set && n == 2, "%s: contact pair '%s' needs %s_bodies: two names or patterns, such as [brick*, floor]", where, name, name);
  for (PetscInt k = 0; k < 2; k++) pair->glob[k] = items[k];
  for (PetscInt v = 0; v < PAIR_VALUES; v++) {
    char *end;

    PetscCall(PetscSNPrintf(key, sizeof(key), "%s_%s", name, values[v]));
    PetscCall(SettingsGetString(settings, key, "", &text, &pair->given[v]));
    if (!pair->given[v]) continue;
    pair->value[v] = strtod(text[0] == '.' && text[1] == 'i' ? text + 1 : text, &end); /* YAML's .inf */
    PetscCall(SettingsRequire(settings, key, (PetscBool)(end != text && !*end && pair->value[v] >= 0), "'%s' is not a number from 0 on", text));
    PetscCall(SettingsRequire(settings, key, (PetscBool)(v == PAIR_FRICTION || pair->value[v] <= (v == PAIR_RESTITUTION ? 1 : PETSC_MAX_REAL)), "%s is too large", text));
  }
  PetscCall(PetscSNPrintf(key, sizeof(key), "%s_exclude", name));
  PetscCall(SettingsGetBool(settings, key, PETSC_FALSE, &pair->exclude, NULL));
  PetscFunctionReturn(0);
}

/* The group of bodies with this row of matches; new if there is none yet. Most bodies are like the one before. */
static PetscErrorCode PairsGroup_Private(Pairs p, const char row[], PetscInt like, PetscInt *group)
{
  const PetscInt m = 2 * p->n;

  PetscFunctionBeginUser;
  for (PetscInt i = -1; i < p->ngroup; i++) {
    const PetscInt g = i < 0 ? like : i;

    if (g >= 0 && !memcmp(p->match + g * m, row, m)) {
      *group = g;
      PetscFunctionReturn(0);
    }
  }
  if (p->ngroup == p->capacity) {
    p->capacity = 2 * p->capacity + 4;
    PetscCall(PetscRealloc((size_t)p->capacity * m, &p->match));
  }
  *group = p->ngroup++;
  PetscCall(PetscArraycpy(p->match + *group * m, row, m));
  PetscFunctionReturn(0);
}

PetscErrorCode PairsCreate(Settings settings, Model model, Pairs *pairs)
{
  Pairs              p;
  const char *const *names;
  char              *row, text[512];
  PetscInt           m, *matches, *last; /* of each pattern: bodies, and the last of them */

  PetscFunctionBeginUser;
  PetscCall(PetscNew(&p));
  *pairs = p;
  PetscCall(SettingsGetList(settings, "contact_pairs", &p->n, &names, NULL));
  m = 2 * p->n;
  PetscCall(PetscCalloc1(p->n, &p->pair));
  for (PetscInt i = 0; i < p->n; i++) PetscCall(PairRead_Private(settings, names[i], &p->pair[i]));
  if (!m) PetscFunctionReturn(0);
  p->nbody = model->nglobal;
  PetscCall(PetscMalloc1(p->nbody, &p->group));
  PetscCall(PetscCalloc3(m, &row, m, &matches, m, &last));
  for (PetscInt id = 0; id < p->nbody; id++) {
    PetscCall(ModelName(model, id, text, sizeof(text)));
    for (PetscInt k = 0; k < m; k++) {
      row[k] = !fnmatch(p->pair[k / 2].glob[k % 2], text, 0);
      if (!row[k]) continue;
      matches[k]++;
      last[k] = id;
    }
    PetscCall(PairsGroup_Private(p, row, id ? p->group[id - 1] : -1, &p->group[id]));
  }
  for (PetscInt k = 0; k < m; k++) UserCheck(matches[k], "contact pair '%s': no body is called '%s'", p->pair[k / 2].name, p->pair[k / 2].glob[k % 2]);
  for (PetscInt k = 0; k < m; k += 2)
    UserCheck(matches[k] > 1 || matches[k + 1] > 1 || last[k] != last[k + 1], "contact pair '%s': '%s' with itself: a body does not touch itself; split it into bodies that may", p->pair[k / 2].name, p->pair[k / 2].glob[0]);
  PetscCall(PetscFree3(row, matches, last));
  PetscFunctionReturn(0);
}

PetscErrorCode PairsDestroy(Pairs *pairs)
{
  PetscFunctionBeginUser;
  if (!*pairs) PetscFunctionReturn(0);
  PetscCall(PetscFree((*pairs)->pair));
  PetscCall(PetscFree((*pairs)->group));
  PetscCall(PetscFree((*pairs)->match));
  PetscCall(PetscFree(*pairs));
  PetscFunctionReturn(0);
}

PetscErrorCode PairsApply(Pairs p, ConstraintSet set)
{
  const PetscInt n = p->ngroup, m = 2 * p->n;
  ContactLaw    *law, all;

  PetscFunctionBeginUser;
  if (!p->n) PetscFunctionReturn(0);
  PetscCall(ConstraintSetGetLaw(set, &all));
  PetscCall(PetscMalloc1(n * n, &law));
  for (PetscInt a = 0; a < n; a++)
    for (PetscInt b = 0; b < n; b++) {
      const char *x = p->match + a * m, *y = p->match + b * m;
      ContactLaw *l = &law[a * n + b];

      *l = all;
      for (PetscInt i = 0; i < p->n; i++) {
        const Pair *pair = &p->pair[i];

        if (!(x[2 * i] && y[2 * i + 1]) && !(y[2 * i] && x[2 * i + 1])) continue;
        if (pair->given[PAIR_FRICTION]) l->friction = pair->value[PAIR_FRICTION];
        if (pair->given[PAIR_RESTITUTION]) l->restitution = pair->value[PAIR_RESTITUTION];
        if (pair->given[PAIR_COHESION]) l->cohesion = pair->value[PAIR_COHESION];
        l->exclude = pair->exclude;
      }
    }
  PetscCall(ConstraintSetSetLaws(set, n, p->group, law));
  PetscCall(PetscFree(law));
  PetscFunctionReturn(0);
}
