/* The table of settings, and how files and arguments get into it. */
#include "settings_impl.h"
#include <yaml.h>
#include <ctype.h>
#include <errno.h>

PetscErrorCode SettingsCreate(Settings *settings)
{
  Settings s;

  PetscFunctionBeginUser;
  PetscCall(PetscNew(&s));
  PetscCall(PetscHMapTextCreate(&s->keys));
  PetscCall(PetscHMapTextCreate(&s->sections));
  PetscCall(SettingsTableCreate_Private(s));
  *settings = s;
  PetscFunctionReturn(0);
}

static PetscErrorCode EntryReset_Private(Entry *e)
{
  PetscFunctionBeginUser;
  PetscCall(PetscFree(e->text));
  PetscCall(PetscFree(e->where));
  for (PetscInt i = 0; i < e->nitem; i++) PetscCall(PetscFree(e->item[i]));
  PetscCall(PetscFree(e->item));
  e->nitem = -1;
  PetscFunctionReturn(0);
}

PetscErrorCode SettingsDestroy(Settings *settings)
{
  Settings s = *settings;

  PetscFunctionBeginUser;
  if (!s) PetscFunctionReturn(0);
  for (PetscInt i = 0; i < s->nentry; i++) {
    PetscCall(EntryReset_Private(&s->entry[i]));
    PetscCall(PetscFree(s->entry[i].key));
  }
  for (PetscInt i = 0; i < s->nsource; i++) {
    PetscCall(PetscFree(s->source[i]));
    PetscCall(PetscFree(s->folder[i]));
  }
  for (PetscInt i = 0; i < s->nsection; i++) PetscCall(PetscFree(s->section[i].name));
  PetscCall(PetscFree(s->entry));
  PetscCall(PetscFree(s->source));
  PetscCall(PetscFree(s->folder));
  PetscCall(PetscFree(s->section));
  PetscCall(PetscHMapTextDestroy(&s->keys));
  PetscCall(PetscHMapTextDestroy(&s->sections));
  PetscCall(SettingsTableDestroy_Private(s));
  PetscCall(PetscFree(*settings));
  PetscFunctionReturn(0);
}

/* The entry of exactly this key, NULL if none. */
PetscErrorCode SettingsFindEntry_Private(Settings s, Text key, Entry **e)
{
  PetscInt i;

  PetscFunctionBeginUser;
  PetscCall(PetscHMapTextGet(s->keys, key, &i));
  *e = i >= 0 && TextSame(key, TextOf(s->entry[i].key)) ? &s->entry[i] : NULL;
  PetscFunctionReturn(0);
}

PetscErrorCode SettingsPlace_Private(Settings s, PetscInt source, PetscInt line, PetscInt column, char **place)
{
  size_t n;

  PetscFunctionBeginUser;
  if (source == SOURCE_COMMAND_LINE) {
    PetscCall(PetscStrallocpy("command line", place));
  } else {
    n = strlen(s->source[source]) + 32;
    PetscCall(PetscMalloc1(n, place));
    PetscCall(PetscSNPrintf(*place, n, "%s:%" PetscInt_FMT ":%" PetscInt_FMT, s->source[source], line, column));
  }
  PetscFunctionReturn(0);
}

PetscErrorCode SettingsEntryWhere_Private(Settings s, Entry *e, const char **where)
{
  PetscFunctionBeginUser;
  if (!e->where) PetscCall(SettingsPlace_Private(s, e->source, e->line, e->column, &e->where));
  *where = e->where;
  PetscFunctionReturn(0);
}

/* Puts `v` into the table and takes over its text and items; its key is copied. */
static PetscErrorCode Insert_Private(Settings s, Entry *v, PetscBool merged)
{
  const PetscBool file = v->source != SOURCE_COMMAND_LINE ? PETSC_TRUE : PETSC_FALSE;
  PetscInt        i;
  Entry          *e;

  PetscFunctionBeginUser;
  PetscCall(PetscHMapTextGet(s->keys, TextOf(v->key), &i));
  if (i < 0) {
    if (s->nentry == s->centry) {
      s->centry = 2 * s->centry + 64;
      PetscCall(PetscRealloc((size_t)s->centry * sizeof(Entry), &s->entry));
    }
    e  = &s->entry[s->nentry];
    *e = *v;
    PetscCall(PetscStrallocpy(v->key, &e->key));
    e->seen = SOURCE_NONE;
    PetscCall(PetscHMapTextSet(s->keys, TextOf(e->key), s->nentry++));
  } else {
    e = &s->entry[i];
    if (strcmp(e->key, v->key)) {
      char *here, *there;

      PetscCall(SettingsPlace_Private(s, v->source, v->key_line, v->key_column, &here));
      PetscCall(SettingsPlace_Private(s, e->source, e->key_line, e->key_column, &there));
      UserError("%s: '%s' differs from '%s' (%s) only by case; use one spelling", here, v->key, e->key, there);
    }
    if (file && e->seen == v->source) {
      UserCheck(merged || e->seen_merged, "%s:%" PetscInt_FMT ":%" PetscInt_FMT ": '%s' is given twice, before in line %" PetscInt_FMT "; keep one",
                s->source[v->source], v->key_line, v->key_column, v->key, e->seen_line);
    }
    if ((file && e->source == SOURCE_COMMAND_LINE) || (merged && e->seen == v->source)) { /* what is there wins */
      PetscCall(EntryReset_Private(v));
    } else {
      Entry old = *e;

      PetscCall(EntryReset_Private(&old));
      *e           = *v;
      e->key       = old.key;
      e->used      = old.used;
      e->seen      = old.seen;
      e->seen_line = old.seen_line;
    }
    if (merged && e->seen == v->source) PetscFunctionReturn(0);
  }
  if (file) {
    e->seen        = v->source;
    e->seen_line   = v->key_line;
    e->seen_merged = merged;
  }
  PetscFunctionReturn(0);
}

/* Reading one YAML document. */
typedef struct {
  Settings         s;
  const char      *name;
  yaml_document_t *doc;
  PetscInt         source;
  PetscInt64       visits, most; /* nodes seen, with every alias followed: bounds a file that expands without end */
} Reader;

#define AT            "%s:%d:%d: "
#define PLACE(r, m)   (r)->name, (int)(m).line + 1, (int)(m).column + 1
#define SCALAR(n)     ((const char *)(n)->data.scalar.value)

static PetscBool NameChar_Private(char c)
{
  return isalnum((unsigned char)c) || c == '_' || c == '-' ? PETSC_TRUE : PETSC_FALSE;
}

static PetscErrorCode CheckScalar_Private(Reader *r, yaml_node_t *n)
{
  PetscFunctionBeginUser;
  UserCheck(strlen(SCALAR(n)) == n->data.scalar.length, AT "a text must not hold a zero byte", PLACE(r, n->start_mark));
  PetscFunctionReturn(0);
}

static PetscBool IsNull_Private(yaml_node_t *n)
{
  return n->data.scalar.style == YAML_PLAIN_SCALAR_STYLE && (!strcmp(SCALAR(n), "~") || !strcmp(SCALAR(n), "null")) ? PETSC_TRUE : PETSC_FALSE;
}

/* Items of a list, or of lists of scalars in it, in order. */
static PetscErrorCode CollectItems_Private(Reader *r, yaml_node_t *list, PetscBool inner, const char key[], Entry *v, PetscInt *capacity)
{
  PetscFunctionBeginUser;
  for (yaml_node_item_t *k = list->data.sequence.items.start; k < list->data.sequence.items.top; k++) {
    yaml_node_t *n = yaml_document_get_node(r->doc, *k);

    UserCheck(++r->visits <= r->most, AT "aliases make this file too large", PLACE(r, n->start_mark));
    UserCheck(n->type != YAML_MAPPING_NODE, AT "%s: a list may not hold maps; give names here and a section of each name", PLACE(r, n->start_mark), key);
    if (n->type == YAML_SEQUENCE_NODE) {
      UserCheck(!inner, AT "%s: lists are nested too deeply (a list, or a list of lists of values, is meant)", PLACE(r, n->start_mark), key);
      PetscCall(CollectItems_Private(r, n, PETSC_TRUE, key, v, capacity));
      continue;
    }
    PetscCall(CheckScalar_Private(r, n));
    if (v->nitem == *capacity) {
      *capacity = 2 * *capacity + 4;
      PetscCall(PetscRealloc((size_t)*capacity * sizeof(char *), &v->item));
    }
    PetscCall(PetscStrallocpy(IsNull_Private(n) ? "" : SCALAR(n), &v->item[v->nitem++]));
  }
  PetscFunctionReturn(0);
}

static PetscErrorCode JoinItems_Private(Entry *v)
{
  size_t n = 1;
  char  *t;

  PetscFunctionBeginUser;
  for (PetscInt i = 0; i < v->nitem; i++) n += strlen(v->item[i]) + 1;
  PetscCall(PetscMalloc1(n, &v->text));
  t = v->text;
  for (PetscInt i = 0; i < v->nitem; i++) {
    if (i) *t++ = ',';
    memcpy(t, v->item[i], strlen(v->item[i]));
    t += strlen(v->item[i]);
  }
  *t = 0;
  PetscFunctionReturn(0);
}

static PetscErrorCode Walk_Private(Reader *r, const char prefix[], yaml_node_t *n, yaml_mark_t mark, PetscInt depth, PetscBool merged)
{
  PetscFunctionBeginUser;
  UserCheck(depth < 64 && ++r->visits <= r->most, AT "%s", PLACE(r, mark), depth < 64 ? "aliases make this file too large" : "maps are nested too deeply");
  if (n->type == YAML_MAPPING_NODE) {
    yaml_node_pair_t *begin = n->data.mapping.pairs.start, *end = n->data.mapping.pairs.top;

    for (int pass = 0; pass < 2; pass++) /* merges last: what the map says itself wins */
      for (yaml_node_pair_t *p = begin; p < end; p++) {
        yaml_node_t *k = yaml_document_get_node(r->doc, p->key), *v = yaml_document_get_node(r->doc, p->value);
        const char  *name;
        char        *key;
        size_t       length;
        PetscBool    merge;

        UserCheck(k->type == YAML_SCALAR_NODE, AT "the name of an option must be a word", PLACE(r, k->start_mark));
        PetscCall(CheckScalar_Private(r, k));
        name  = SCALAR(k);
        merge = !strcmp(name, "<<") ? PETSC_TRUE : PETSC_FALSE;
        if ((int)merge != pass) continue;
        if (merge) {
          if (v->type == YAML_SEQUENCE_NODE) {
            for (yaml_node_item_t *i = v->data.sequence.items.start; i < v->data.sequence.items.top; i++) {
              yaml_node_t *m = yaml_document_get_node(r->doc, *i);

              UserCheck(m->type == YAML_MAPPING_NODE, AT "<< expects a map or a list of maps", PLACE(r, m->start_mark));
              PetscCall(Walk_Private(r, prefix, m, m->start_mark, depth + 1, PETSC_TRUE));
            }
          } else {
            UserCheck(v->type == YAML_MAPPING_NODE, AT "<< expects a map or a list of maps", PLACE(r, v->start_mark));
            PetscCall(Walk_Private(r, prefix, v, v->start_mark, depth + 1, PETSC_TRUE));
          }
          continue;
        }
        UserCheck(name[0], AT "an option without a name", PLACE(r, k->start_mark));
        UserCheck(prefix[0] || isalpha((unsigned char)name[0]), AT "'%s' is not a name: names begin with a letter", PLACE(r, k->start_mark), name);
        for (const char *c = name; *c; c++)
          UserCheck(NameChar_Private(*c), AT "'%s' is not a name: names hold letters, digits, '_' and '-' only", PLACE(r, k->start_mark), name);
        length = strlen(prefix) + strlen(name) + 2;
        PetscCall(PetscMalloc1(length, &key));
        PetscCall(PetscSNPrintf(key, length, "%s%s%s", prefix, prefix[0] ? "_" : "", name));
        PetscCall(Walk_Private(r, key, v, k->start_mark, depth + 1, merged));
        PetscCall(PetscFree(key));
      }
  } else {
    Entry    v        = {.key = (char *)prefix, .nitem = -1, .source = r->source};
    PetscInt capacity = 0;

    UserCheck(strcmp(prefix, "options_file"), AT "options_file can be given on the command line only", PLACE(r, mark));
    v.key_line   = (PetscInt)mark.line + 1;
    v.key_column = (PetscInt)mark.column + 1;
    v.line       = (PetscInt)n->start_mark.line + 1;
    v.column     = (PetscInt)n->start_mark.column + 1;
    if (n->type == YAML_SEQUENCE_NODE) {
      v.list  = PETSC_TRUE;
      v.nitem = 0;
      PetscCall(CollectItems_Private(r, n, PETSC_FALSE, prefix, &v, &capacity));
      PetscCall(JoinItems_Private(&v));
    } else {
      PetscCall(CheckScalar_Private(r, n));
      PetscCall(PetscStrallocpy(IsNull_Private(n) ? "" : SCALAR(n), &v.text));
    }
    PetscCall(Insert_Private(r->s, &v, merged));
  }
  PetscFunctionReturn(0);
}

static PetscErrorCode YamlError_Private(const char name[], yaml_parser_t *parser, const char text[])
{
  const char *reason = parser->problem ? parser->problem : "out of memory";
  yaml_mark_t m      = parser->problem_mark;

  PetscFunctionBeginUser;
  if (parser->error == YAML_READER_ERROR) { /* knows the byte only */
    memset(&m, 0, sizeof(m));
    for (size_t i = 0; i < parser->problem_offset && text[i]; i++) {
      m.column++;
      if (text[i] == '\n') m.line++, m.column = 0;
    }
  }
  UserError("%s:%d:%d: %s%s%s", name, (int)m.line + 1, (int)m.column + 1, reason, parser->context ? " " : "", parser->context ? parser->context : "");
}

static PetscErrorCode ReadDocument_Private(Settings s, PetscInt source, yaml_parser_t *parser, const char text[])
{
  const char     *name = s->source[source];
  yaml_document_t doc, next;
  yaml_node_t    *root, *more = NULL;
  yaml_mark_t     mark = {0, 0, 0};
  PetscErrorCode  ierr = 0;
  Reader          r    = {s, name, &doc, source, 0, 0};

  PetscFunctionBeginUser;
  if (!yaml_parser_load(parser, &doc)) PetscCall(YamlError_Private(name, parser, text));
  root   = yaml_document_get_root_node(&doc);
  r.most = 1000000 + 100 * (PetscInt64)(doc.nodes.top - doc.nodes.start);
  if (root && root->type == YAML_MAPPING_NODE) ierr = Walk_Private(&r, "", root, root->start_mark, 0, PETSC_FALSE);
  else if (root && !(root->type == YAML_SCALAR_NODE && !root->data.scalar.length))
    ierr = PetscError(PETSC_COMM_SELF, __LINE__, PETSC_FUNCTION_NAME, __FILE__, PETSC_ERR_USER_INPUT, PETSC_ERROR_INITIAL,
                      AT "an options file holds lines 'name: value'", PLACE(&r, root->start_mark));
  yaml_document_delete(&doc);
  PetscCall(ierr);
  if (!root) PetscFunctionReturn(0);
  if (!yaml_parser_load(parser, &next)) PetscCall(YamlError_Private(name, parser, text));
  more = yaml_document_get_root_node(&next);
  if (more) mark = more->start_mark;
  yaml_document_delete(&next);
  UserCheck(!more, AT "a second document (after ---) in one options file; use two files", PLACE(&r, mark));
  PetscFunctionReturn(0);
}

static PetscErrorCode ReadText_Private(Settings s, const char name[], const char text[], size_t length)
{
  yaml_parser_t  parser;
  PetscErrorCode ierr;
  const char    *slash = strrchr(name, '/');
  size_t         n     = slash ? PetscMax((size_t)(slash - name), 1) : 1;

  PetscFunctionBeginUser;
  if (s->nsource == s->csource) {
    s->csource = 2 * s->csource + 4;
    PetscCall(PetscRealloc((size_t)s->csource * sizeof(char *), &s->source));
    PetscCall(PetscRealloc((size_t)s->csource * sizeof(char *), &s->folder));
  }
  PetscCall(PetscStrallocpy(name, &s->source[s->nsource]));
  PetscCall(PetscMalloc1(n + 1, &s->folder[s->nsource]));
  PetscCall(PetscStrncpy(s->folder[s->nsource], slash ? name : ".", n + 1));
  s->nsource++;
  PetscCheck(yaml_parser_initialize(&parser), PETSC_COMM_SELF, PETSC_ERR_MEM, "libyaml");
  yaml_parser_set_input_string(&parser, (const unsigned char *)text, length);
  ierr = ReadDocument_Private(s, s->nsource - 1, &parser, text);
  yaml_parser_delete(&parser);
  PetscCall(ierr);
  PetscFunctionReturn(0);
}

PetscErrorCode SettingsReadString(Settings s, const char name[], const char text[])
{
  PetscFunctionBeginUser;
  PetscCall(ReadText_Private(s, name, text, strlen(text)));
  PetscFunctionReturn(0);
}

/* Collective on PETSC_COMM_WORLD: rank 0 reads, all parse the same bytes, so that all find the same mistakes. */
PetscErrorCode SettingsReadFile(Settings s, const char name[])
{
  PetscInt64     size[2] = {0, 0}; /* bytes, errno */
  size_t         capacity = 0;
  char          *text = NULL;
  PetscMPIInt    rank;
  PetscErrorCode ierr;

  PetscFunctionBeginUser;
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  if (rank == 0) {
    FILE *f = fopen(name, "rb");

    if (!f) size[1] = errno;
    while (f && !feof(f) && !size[1]) { /* may be a pipe: no size to ask for */
      if (capacity < (size_t)size[0] + 4096) {
        capacity = 2 * capacity + 65536;
        PetscCall(PetscRealloc(capacity, &text));
      }
      size[0] += (PetscInt64)fread(text + size[0], 1, capacity - (size_t)size[0] - 1, f);
      if (ferror(f)) size[1] = errno ? errno : EIO;
      if (size[0] >= PETSC_MPI_INT_MAX - 1) size[1] = EFBIG;
    }
    if (f) fclose(f);
  }
  PetscCallMPI(MPI_Bcast(size, 2, MPIU_INT64, 0, PETSC_COMM_WORLD));
  if (size[1]) PetscCall(PetscFree(text));
  UserCheck(!size[1], "cannot open options file '%s': %s", name, strerror((int)size[1]));
  if (rank) PetscCall(PetscMalloc1((size_t)size[0] + 1, &text));
  PetscCallMPI(MPI_Bcast(text, (PetscMPIInt)size[0], MPI_CHAR, 0, PETSC_COMM_WORLD));
  text[size[0]] = 0;
  ierr          = ReadText_Private(s, name, text, (size_t)size[0]);
  PetscCall(PetscFree(text));
  PetscCall(ierr);
  PetscFunctionReturn(0);
}

/* -name or --name: -1 or -.5 or -(t) are values. */
static const char *OptionName_Private(const char arg[])
{
  const char *name = arg[0] == '-' ? arg + 1 + (arg[1] == '-') : NULL;

  return name && isalpha((unsigned char)name[0]) ? name : NULL;
}

/* The option at argv[i]: its name's length, its value (NULL: a flag), the index of the next one. */
static PetscErrorCode NextArgument_Private(int argc, char **argv, int *i, Text *name, const char **value)
{
  const char *a = OptionName_Private(argv[*i]), *equal;

  PetscFunctionBeginUser;
  UserCheck(a, "command line: '%s' is not an option: options begin with '-' and a letter%s%s", argv[*i],
            strstr(argv[*i], ".yml") || strstr(argv[*i], ".yaml") ? "; for a file use -options_file " : "",
            strstr(argv[*i], ".yml") || strstr(argv[*i], ".yaml") ? argv[*i] : "");
  (*i)++;
  equal  = strchr(a, '=');
  *name  = (Text){a, equal ? (size_t)(equal - a) : strlen(a)};
  *value = equal ? equal + 1 : NULL;
  if (!equal && *i < argc && !OptionName_Private(argv[*i])) *value = argv[(*i)++];
  for (size_t k = 0; k < name->n; k++)
    UserCheck(NameChar_Private(a[k]), "command line: '-%s' is not an option: names hold letters, digits, '_' and '-' only", a);
  PetscFunctionReturn(0);
}

PetscErrorCode SettingsReadArguments(Settings s, int argc, char **argv)
{
  PetscFunctionBeginUser;
  for (int i = 1; i < argc;) {
    Text        name;
    const char *value;
    Entry       v = {.nitem = -1, .source = SOURCE_COMMAND_LINE};

    PetscCall(NextArgument_Private(argc, argv, &i, &name, &value));
    if (TextSame(name, TextOf("options_file"))) continue;
    v.flag = value ? PETSC_FALSE : PETSC_TRUE;
    PetscCall(PetscStrallocpy(value ? value : "", &v.text));
    PetscCall(PetscMalloc1(name.n + 1, &v.key));
    PetscCall(PetscStrncpy(v.key, name.s, name.n + 1));
    PetscCall(Insert_Private(s, &v, PETSC_FALSE));
    PetscCall(PetscFree(v.key));
  }
  PetscFunctionReturn(0);
}

PetscErrorCode SettingsFindFiles(int argc, char **argv, PetscInt *n, char ***files)
{
  PetscInt capacity = 0;

  PetscFunctionBeginUser;
  *n     = 0;
  *files = NULL;
  for (int i = 1; i < argc;) {
    Text        name;
    const char *value;

    PetscCall(NextArgument_Private(argc, argv, &i, &name, &value));
    if (!TextSame(name, TextOf("options_file"))) continue;
    UserCheck(value && value[0], "command line: -options_file needs the name of a file");
    while (*value) {
      size_t length = strcspn(value, ",");

      if (*n == capacity) {
        capacity = 2 * capacity + 4;
        PetscCall(PetscRealloc((size_t)capacity * sizeof(char *), files));
      }
      UserCheck(length, "command line: -options_file: a file name is missing before ','");
      PetscCall(PetscMalloc1(length + 1, &(*files)[*n]));
      PetscCall(PetscStrncpy((*files)[(*n)++], value, length + 1));
      value += length + (value[length] == ',');
    }
  }
  PetscFunctionReturn(0);
}
