/* Function: numbers, muParser expressions of t, x, y, z, and CSV tables of t, value. */
#include "physics/function.h"
#include <ctype.h>
#include <errno.h>
#include <muParserDLL.h>

typedef enum {
  FUNCTION_NUMBER,
  FUNCTION_EXPRESSION,
  FUNCTION_TABLE
} FunctionKind;

struct _p_Function {
  FunctionKind     kind;
  char            *what;
  PetscReal        number;
  muParserHandle_t parser;
  double           var[4]; /* t, x, y, z: muParser reads them here */
  PetscBool        uses_t, uses_x;
  PetscInt         n, last; /* table: size, interval of the last look-up */
  PetscReal       *t, *value;
};

/* A number and nothing else (blanks around it are let pass) */
static PetscBool ReadNumber_Private(const char text[], PetscReal *number, const char **end)
{
  char *e;

  while (isspace((unsigned char)*text)) ++text;
  *number = strtod(text, &e);
  if (e == text) return PETSC_FALSE;
  while (isspace((unsigned char)*e)) ++e;
  *end = e;
  return PETSC_TRUE;
}

/* muParser would let "t = 1" overwrite t: a user who writes it means "==" */
static PetscBool HasAssignment_Private(const char text[])
{
  for (const char *p = text; (p = strchr(p, '=')); ++p) {
    if (p[1] == '=') ++p;
    else if (p == text || !strchr("<>!", p[-1])) return PETSC_TRUE;
  }
  return PETSC_FALSE;
}

static void QuietHandler_Private(muParserHandle_t parser) /* errors are asked for with mupError() */
{
  (void)parser;
}

static PetscErrorCode FunctionCreateExpression_Private(Function f, const char text[])
{
  const char *const names[4] = {"t", "x", "y", "z"};
  const char       *name, *blank = text;
  double           *dummy;
  int               count = 0;

  PetscFunctionBeginUser;
  while (isspace((unsigned char)*blank)) ++blank;
  PetscCheck(*blank, PETSC_COMM_SELF, PETSC_ERR_USER_INPUT, "%s: value is empty; give a number, an expression of t, x, y, z or a .csv file", f->what);
  PetscCheck(!HasAssignment_Private(text), PETSC_COMM_SELF, PETSC_ERR_USER_INPUT, "%s: expression \"%s\" assigns with '='; compare with '=='", f->what, text);
  f->kind   = FUNCTION_EXPRESSION;
  f->parser = mupCreate(muBASETYPE_FLOAT);
  PetscCheck(f->parser, PETSC_COMM_SELF, PETSC_ERR_MEM, "muParser cannot be started");
  mupSetErrorHandler(f->parser, QuietHandler_Private);
  for (int i = 0; i < 4; ++i) mupDefineVar(f->parser, names[i], &f->var[i]);
  mupDefineConst(f->parser, "pi", PETSC_PI);
  mupDefineConst(f->parser, "_pi", PETSC_PI); /* its own has 13 digits only */
  mupSetExpr(f->parser, text);
  mupEvalMulti(f->parser, &count); /* compiles it; later evaluations allocate nothing */
  if (mupError(f->parser)) {
    static const char *const tails[3] = {" found at position ", " at expression position ", " at position "}; /* it counts from 0 */
    const char              *message = mupGetErrorMsg(f->parser);
    const int                place = mupGetErrorPos(f->parser), end = (int)strlen(text);
    int                      length = (int)strlen(message);

    for (int i = 0; i < 3; ++i) {
      const char *tail = strstr(message, tails[i]);

      if (tail && !tail[strlen(tails[i]) + strspn(tail + strlen(tails[i]), "0123456789.")]) {
        length = (int)(tail - message);
        break;
      }
    }
    while (length && strchr(".!", message[length - 1])) --length;
    SETERRQ(PETSC_COMM_SELF, PETSC_ERR_USER_INPUT, "%s: cannot read expression \"%s\": %.*s at character %d", f->what, text, length, message,
            PetscMin(PetscMax(place, 0), end) + 1);
  }
  PetscCheck(count == 1, PETSC_COMM_SELF, PETSC_ERR_USER_INPUT, "%s: expression \"%s\" gives %d values; one is needed", f->what, text, count);
  count = mupGetExprVarNum(f->parser);
  for (int i = 0; i < count; ++i) {
    mupGetExprVar(f->parser, (unsigned)i, &name, &dummy);
    if (name[0] == 't') f->uses_t = PETSC_TRUE;
    else f->uses_x = PETSC_TRUE;
  }
  if (!f->uses_t && !f->uses_x) {
    const PetscReal value = mupEval(f->parser);

    PetscCheck(!PetscIsInfOrNanReal(value), PETSC_COMM_SELF, PETSC_ERR_USER_INPUT, "%s: value of \"%s\" is not finite", f->what, text);
  }
  PetscFunctionReturn(0);
}

static PetscErrorCode FunctionAddRow_Private(Function f, PetscInt *room, PetscReal t, PetscReal value)
{
  PetscFunctionBeginUser;
  if (f->n == *room) {
    *room = PetscMax(64, 2 * f->n);
    PetscCall(PetscRealloc(*room * sizeof(PetscReal), &f->t));
    PetscCall(PetscRealloc(*room * sizeof(PetscReal), &f->value));
  }
  f->t[f->n]       = t;
  f->value[f->n++] = value;
  PetscFunctionReturn(0);
}

/* One line: blank, comment, header (only before the first row; neither field a number) or t and value */
static PetscErrorCode FunctionReadLine_Private(Function f, const char path[], PetscInt number, char line[], PetscBool *header, PetscInt *room)
{
  const char *p = line, *field;
  char       *comment = strchr(line, '#');
  PetscReal   t, value;
  PetscBool   first, second;

  PetscFunctionBeginUser;
  if (comment) *comment = 0;
  while (isspace((unsigned char)*p)) ++p;
  if (!*p) PetscFunctionReturn(0);
  field = p;
  first = ReadNumber_Private(p, &t, &p);
  if (!first) p += strcspn(p, ",; \t");
  while (isspace((unsigned char)*p)) ++p;
  if (*p == ',' || *p == ';') ++p;
  second = ReadNumber_Private(p, &value, &p);
  if (!first && !second && !*header && !f->n && isalpha((unsigned char)(*field == '"' || *field == '\'' ? field[1] : field[0]))) {
    *header = PETSC_TRUE;
    PetscFunctionReturn(0);
  }
  for (comment = line + strlen(line); comment > line && isspace((unsigned char)comment[-1]);) *--comment = 0; /* for the message */
  PetscCheck(first && second && !*p, PETSC_COMM_SELF, PETSC_ERR_USER_INPUT, "%s: %s:%" PetscInt_FMT ": \"%s\" is not a line of t, value", f->what, path, number, line);
  PetscCheck(!PetscIsInfOrNanReal(t) && !PetscIsInfOrNanReal(value), PETSC_COMM_SELF, PETSC_ERR_USER_INPUT, "%s: %s:%" PetscInt_FMT ": \"%s\" is not finite", f->what, path, number, line);
  PetscCheck(!f->n || t > f->t[f->n - 1], PETSC_COMM_SELF, PETSC_ERR_USER_INPUT, "%s: %s:%" PetscInt_FMT ": t = %.9g does not come after t = %.9g; times must increase", f->what, path, number, (double)t,
             (double)f->t[f->n - 1]);
  PetscCall(FunctionAddRow_Private(f, room, t, value));
  PetscFunctionReturn(0);
}

static PetscErrorCode FunctionReadTable_Private(Function f, const char path[], FILE *file)
{
  char          *line = NULL;
  size_t         capacity = 0;
  PetscInt       number = 0, room = 0;
  PetscBool      header = PETSC_FALSE;
  PetscErrorCode ierr   = 0;

  PetscFunctionBeginUser;
  while (!ierr && getline(&line, &capacity, file) >= 0) {
    if (!number++ && !strncmp(line, "\xEF\xBB\xBF", 3)) memmove(line, line + 3, strlen(line + 3) + 1); /* mark of UTF-8 */
    ierr = FunctionReadLine_Private(f, path, number, line, &header, &room);
  }
  free(line);
  PetscCall(ierr);
  PetscCheck(!ferror(file), PETSC_COMM_SELF, PETSC_ERR_USER_INPUT, "%s: cannot read %s", f->what, path);
  PetscCheck(f->n, PETSC_COMM_SELF, PETSC_ERR_USER_INPUT, "%s: %s has no line of t, value", f->what, path);
  PetscFunctionReturn(0);
}

static PetscErrorCode FunctionCreateTable_Private(Function f, const char text[], size_t length, const char folder[])
{
  char          *path;
  const size_t   size = length + (folder ? strlen(folder) : 0) + 2;
  FILE          *file;
  PetscErrorCode ierr;

  PetscFunctionBeginUser;
  f->kind = FUNCTION_TABLE;
  PetscCall(PetscMalloc1(size, &path));
  PetscCall(PetscSNPrintf(path, size, "%s%s%.*s", folder && *folder && text[0] != '/' ? folder : "", folder && *folder && text[0] != '/' ? "/" : "", (int)length, text));
  file = fopen(path, "r");
  if (!file) {
    ierr = PetscError(PETSC_COMM_SELF, __LINE__, PETSC_FUNCTION_NAME, __FILE__, PETSC_ERR_USER_INPUT, PETSC_ERROR_INITIAL, "%s: cannot open %s: %s", f->what, path, strerror(errno));
  } else {
    ierr = FunctionReadTable_Private(f, path, file);
    fclose(file);
  }
  PetscCall(PetscFree(path));
  PetscCall(ierr);
  PetscFunctionReturn(0);
}

static PetscErrorCode FunctionRead_Private(Function f, const char text[], const char folder[])
{
  const char *end;
  size_t      length;

  PetscFunctionBeginUser;
  while (isspace((unsigned char)*text)) ++text;
  for (length = strlen(text); length && isspace((unsigned char)text[length - 1]);) --length;
  if (ReadNumber_Private(text, &f->number, &end) && !*end) {
    f->kind = FUNCTION_NUMBER;
    PetscCheck(!PetscIsInfOrNanReal(f->number), PETSC_COMM_SELF, PETSC_ERR_USER_INPUT, "%s: value %s is not finite", f->what, text);
  } else if (length > 4 && !strncasecmp(text + length - 4, ".csv", 4)) PetscCall(FunctionCreateTable_Private(f, text, length, folder));
  else PetscCall(FunctionCreateExpression_Private(f, text));
  PetscFunctionReturn(0);
}

PetscErrorCode FunctionCreate(const char what[], const char text[], const char folder[], Function *f)
{
  Function       g;
  PetscErrorCode ierr;

  PetscFunctionBeginUser;
  *f = NULL;
  PetscCall(PetscNew(&g));
  PetscCall(PetscStrallocpy(what, &g->what));
  ierr = FunctionRead_Private(g, text, folder);
  if (ierr) PetscCall(FunctionDestroy(&g));
  PetscCall(ierr);
  *f = g;
  PetscFunctionReturn(0);
}

PetscErrorCode FunctionDestroy(Function *f)
{
  PetscFunctionBeginUser;
  if (!*f) PetscFunctionReturn(0);
  if ((*f)->parser) mupRelease((*f)->parser);
  PetscCall(PetscFree((*f)->t));
  PetscCall(PetscFree((*f)->value));
  PetscCall(PetscFree((*f)->what));
  PetscCall(PetscFree(*f));
  PetscFunctionReturn(0);
}

/* Row before t, or -1, n - 1 beyond the ends; time mostly moves on a little, so the last interval is tried first. */
static PetscInt TableFind_Private(Function f, PetscReal t)
{
  PetscInt lo = f->last, hi;

  if (!(t >= f->t[0])) return -1;
  if (t >= f->t[f->n - 1]) return f->n - 1;
  if (!(f->t[lo] <= t && t < f->t[lo + 1])) {
    for (lo = 0, hi = f->n - 1; hi - lo > 1;) {
      const PetscInt mid = lo + (hi - lo) / 2;

      if (f->t[mid] <= t) lo = mid;
      else hi = mid;
    }
    f->last = lo;
  }
  return lo;
}

/* Linear between rows, constant beyond the ends */
static PetscReal TableLookup_Private(Function f, PetscReal t)
{
  const PetscInt lo = TableFind_Private(f, t);
  PetscReal      s;

  if (lo < 0 || lo == f->n - 1) return f->value[PetscMax(lo, 0)];
  s = (t - f->t[lo]) / (f->t[lo + 1] - f->t[lo]);
  return (1 - s) * f->value[lo] + s * f->value[lo + 1];
}

PetscErrorCode FunctionEvaluate(Function f, PetscReal t, const PetscReal x[3], PetscReal *value)
{
  PetscFunctionBeginUser;
  switch (f->kind) {
  case FUNCTION_NUMBER:
    *value = f->number;
    break;
  case FUNCTION_TABLE:
    PetscCheck(!PetscIsNanReal(t), PETSC_COMM_SELF, PETSC_ERR_USER_INPUT, "%s: value is not finite at t = %.9g", f->what, (double)t);
    *value = TableLookup_Private(f, t);
    break;
  case FUNCTION_EXPRESSION:
    PetscCheck(x || !f->uses_x, PETSC_COMM_SELF, PETSC_ERR_USER_INPUT, "%s: expression \"%s\" may depend on t only", f->what, mupGetExpr(f->parser));
    f->var[0] = t;
    for (int i = 0; i < 3; ++i) f->var[i + 1] = x ? x[i] : 0;
    *value = mupEval(f->parser);
    PetscCheck(!mupError(f->parser), PETSC_COMM_SELF, PETSC_ERR_USER_INPUT, "%s: %s at t = %.9g", f->what, mupGetErrorMsg(f->parser), (double)t);
    if (PetscIsInfOrNanReal(*value)) {
      if (f->uses_x) SETERRQ(PETSC_COMM_SELF, PETSC_ERR_USER_INPUT, "%s: value is not finite at t = %.9g, x = (%.9g, %.9g, %.9g)", f->what, (double)t, f->var[1], f->var[2], f->var[3]);
      SETERRQ(PETSC_COMM_SELF, PETSC_ERR_USER_INPUT, "%s: value is not finite at t = %.9g", f->what, (double)t);
    }
    break;
  }
  PetscFunctionReturn(0);
}

/* Not finite where it cannot be evaluated */
static PetscReal ExpressionAt_Private(Function f, PetscReal t, const PetscReal x[3])
{
  PetscReal value;

  f->var[0] = t;
  for (int i = 0; i < 3; ++i) f->var[i + 1] = x ? x[i] : 0;
  value = mupEval(f->parser);
  return mupError(f->parser) ? NAN : value;
}

PetscErrorCode FunctionDerivative(Function f, PetscReal t, const PetscReal x[3], PetscReal step, PetscReal *value)
{
  static const PetscReal central[3] = {45. / 60, -9. / 60, 1. / 60}, forward[5] = {-25. / 12, 4, -3, 4. / 3, -1. / 4};
  const PetscReal        d = step / 8;

  PetscFunctionBeginUser;
  *value = 0;
  if (f->kind == FUNCTION_TABLE) {
    const PetscInt lo = TableFind_Private(f, t);

    if (lo >= 0 && lo < f->n - 1) *value = (f->value[lo + 1] - f->value[lo]) / (f->t[lo + 1] - f->t[lo]);
  } else if (f->kind == FUNCTION_EXPRESSION && f->uses_t && d != 0) {
    for (PetscInt k = 0; k < 3; k++) *value += central[k] * (ExpressionAt_Private(f, t + (k + 1) * d, x) - ExpressionAt_Private(f, t - (k + 1) * d, x)) / d;
    if (PetscIsInfOrNanReal(*value)) { /* it may begin here, as sqrt(t)^3 does at 0 */
      *value = 0;
      for (PetscInt k = 0; k < 5; k++) *value += forward[k] * ExpressionAt_Private(f, t + k * d, x) / d;
    }
    PetscCheck(!PetscIsInfOrNanReal(*value), PETSC_COMM_SELF, PETSC_ERR_USER_INPUT, "%s: derivative is not finite at t = %.9g", f->what, (double)t);
  }
  PetscFunctionReturn(0);
}
