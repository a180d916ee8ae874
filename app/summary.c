#include "summary.h"

typedef struct {
  char     *name, *value;
  PetscBool text;
} Entry;
struct _p_Summary {
  PetscInt n, capacity;
  Entry   *entry;
};

PetscErrorCode SummaryCreate(Summary *summary)
{
  PetscFunctionBeginUser;
  PetscCall(PetscNew(summary));
  PetscFunctionReturn(0);
}

PetscErrorCode SummaryDestroy(Summary *summary)
{
  PetscFunctionBeginUser;
  if (!*summary) PetscFunctionReturn(0);
  for (PetscInt i = 0; i < (*summary)->n; i++) {
    PetscCall(PetscFree((*summary)->entry[i].name));
    PetscCall(PetscFree((*summary)->entry[i].value));
  }
  PetscCall(PetscFree((*summary)->entry));
  PetscCall(PetscFree(*summary));
  PetscFunctionReturn(0);
}

static PetscErrorCode SummaryAdd_Private(Summary s, const char name[], const char value[], PetscBool text)
{
  PetscFunctionBeginUser;
  if (s->n == s->capacity) {
    s->capacity = 2 * s->capacity + 16;
    PetscCall(PetscRealloc(s->capacity * sizeof(Entry), &s->entry));
  }
  s->entry[s->n].text = text;
  PetscCall(PetscStrallocpy(name, &s->entry[s->n].name));
  PetscCall(PetscStrallocpy(value, &s->entry[s->n].value));
  s->n++;
  PetscFunctionReturn(0);
}

PetscErrorCode SummaryAddInt(Summary summary, const char name[], PetscInt value)
{
  char text[32];

  PetscFunctionBeginUser;
  PetscCall(PetscSNPrintf(text, sizeof(text), "%" PetscInt_FMT, value));
  PetscCall(SummaryAdd_Private(summary, name, text, PETSC_FALSE));
  PetscFunctionReturn(0);
}

PetscErrorCode SummaryAddReal(Summary summary, const char name[], PetscReal value)
{
  char text[32];

  PetscFunctionBeginUser;
  snprintf(text, sizeof(text), "%.6g", (double)value);
  PetscCall(SummaryAdd_Private(summary, name, text, PETSC_FALSE));
  PetscFunctionReturn(0);
}

PetscErrorCode SummaryAddText(Summary summary, const char name[], const char value[])
{
  PetscFunctionBeginUser;
  PetscCall(SummaryAdd_Private(summary, name, value, PETSC_TRUE));
  PetscFunctionReturn(0);
}

PetscErrorCode SummaryPrint(Summary summary, FILE *out)
{
  PetscFunctionBeginUser;
  for (PetscInt i = 0; i < summary->n; i++) fprintf(out, "%s: %s\n", summary->entry[i].name, summary->entry[i].value);
  fflush(out);
  PetscFunctionReturn(0);
}

PetscErrorCode SummaryWriteJSON(Summary summary, const char file[])
{
  FILE *f;

  PetscFunctionBeginUser;
  f = fopen(file, "w");
  PetscCheck(f, PETSC_COMM_SELF, PETSC_ERR_USER_INPUT, "summary: cannot write '%s'", file);
  fprintf(f, "{\n");
  for (PetscInt i = 0; i < summary->n; i++) {
    const Entry *e = &summary->entry[i];

    fprintf(f, "  \"");
    for (const char *c = e->name; *c; c++) fputc(*c == ' ' ? '_' : *c, f);
    fprintf(f, e->text ? "\": \"%s\"%s\n" : "\": %s%s\n", e->value, i + 1 < summary->n ? "," : "");
  }
  fprintf(f, "}\n");
  fclose(f);
  PetscFunctionReturn(0);
}
