/* The options reader: what a user may write, what wins, and what is said about mistakes. Runs on any number of ranks. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <unistd.h>
#include "app/settings.h"
#include "app/error.h"
#include "app/option_table.h"

static char message[4096]; /* of the last error */
static char folder[256];

static PetscErrorCode Capture(MPI_Comm comm, int line, const char *func, const char *file, PetscErrorCode code, PetscErrorType type, const char *text, void *ctx)
{
  (void)comm, (void)line, (void)func, (void)file, (void)ctx;
  if (type == PETSC_ERROR_INITIAL) snprintf(message, sizeof(message), "%s", text);
  return code;
}

#define Ok(call) \
  do { \
    message[0] = 0; \
    if (call) fail_msg("%s: %s", #call, message); \
  } while (0)
/* The call fails with this code, and its message holds the fragment. */
#define Fails(call, code, fragment) \
  do { \
    message[0] = 0; \
    assert_int_equal(call, code); \
    if (!strstr(message, fragment)) fail_msg("%s: '%s' does not hold '%s'", #call, message, fragment); \
  } while (0)
#define Refused(call, fragment) Fails(call, PETSC_ERR_USER_INPUT, fragment)

static Settings Read(const char text[])
{
  Settings s;

  Ok(SettingsCreate(&s));
  if (text) Ok(SettingsReadString(s, "dir/a.yml", text));
  return s;
}

static void RefusedText(const char text[], const char fragment[])
{
  Settings s = Read(NULL);

  Refused(SettingsReadString(s, "a.yml", text), fragment);
  Ok(SettingsDestroy(&s));
}

static PetscErrorCode Arguments(Settings s, const char *a, const char *b, const char *c, const char *d)
{
  const char *v[] = {"ashlar", a, b, c, d};
  int         n   = 1;

  while (n < 5 && v[n]) n++;
  return SettingsReadArguments(s, n, (char **)v);
}

static void TestYaml(void **state)
{
  Settings           s = Read("# a comment\n"
                              "bodies: [bar, b2]\n"
                              "gravity: [0, 0, \"-10*min(t, 1)\"]\n"
                              "common: &common {damping: 1e-3, mesh: {size: [1, 2, 3], type: box}}\n"
                              "bar:\n"
                              "  <<: *common\n"
                              "  mesh: {size: '4, 5,6'}\n"
                              "  copies: {box: [[0, 0, 0], [1, 2, 3]]}\n"
                              "b2: *common\n"
                              "output: {exodus: , history: \"\"}\n"
                              "summary: ~\n"
                              "restart: 'a,b'\n");
  const char        *text, *where, *in;
  const char *const *item;
  char               key[64];
  PetscReal          x[6], r;
  PetscInt           n;
  PetscBool          set;

  (void)state;
  Ok(SettingsGetList(s, "bodies", &n, &item, &set));
  assert_true(set);
  assert_int_equal(n, 2);
  assert_string_equal(item[1], "b2");
  for (PetscInt i = 0; i < n; i++) Ok(SettingsAddSection(s, "body", item[i]));
  Ok(SettingsGetList(s, "gravity", &n, &item, NULL));
  assert_int_equal(n, 3);
  assert_string_equal(item[2], "-10*min(t, 1)");
  Ok(SettingsGetReal(s, "bar_damping", 0, &r, &set)); /* merged */
  assert_true(set && r == 1e-3);
  Ok(SettingsGetReals(s, "bar_mesh_size", 3, x, &set)); /* own value wins over the merged one, comma separated */
  assert_true(set && x[0] == 4 && x[1] == 5 && x[2] == 6);
  Ok(SettingsGetReals(s, "b2_mesh_size", 3, x, &set));
  assert_true(set && x[0] == 1 && x[2] == 3);
  Ok(SettingsGetReals(s, "bar_copies_box", 6, x, &set)); /* lists in a list */
  assert_true(set && x[0] == 0 && x[4] == 2 && x[5] == 3);
  Ok(SettingsGetString(s, "bar_mesh_type", "none", &text, &set));
  assert_string_equal(text, "box");
  Ok(SettingsGetString(s, "output_exodus", "none", &text, &set));
  assert_true(set);
  assert_string_equal(text, "");
  Ok(SettingsGetString(s, "output_history", "none", &text, &set));
  assert_string_equal(text, "");
  Ok(SettingsGetString(s, "summary", "none", &text, &set));
  assert_string_equal(text, "");
  Ok(SettingsGetString(s, "restart", "none", &text, &set));
  assert_string_equal(text, "a,b");
  Ok(SettingsWhere(s, "bar_mesh_size|body_mesh_size", &where, &in));
  assert_string_equal(where, "dir/a.yml:7:16");
  assert_string_equal(in, "dir");
  Ok(SettingsWhere(s, "checkpoint", &where, &in));
  assert_string_equal(where, "default");
  Ok(SettingsGetKey(s, "bar_frame|bar_damping|body_damping", key, sizeof(key)));
  assert_string_equal(key, "bar_damping");
  Ok(SettingsGetKey(s, "bar_frame|body_frame", key, sizeof(key)));
  assert_string_equal(key, "bar_frame");
  Ok(SettingsGetReals(s, "gravity|bar_velocity", 3, x, &set) == PETSC_ERR_USER_INPUT ? 0 : 1); /* an expression is no number */
  x[0] = 7;
  Ok(SettingsGetReals(s, "bar_velocity", 3, x, &set));
  assert_true(!set && x[0] == 7);
  Ok(SettingsDestroy(&s));
  s = Read("");
  Ok(SettingsReadString(s, "b.yml", "# nothing\n"));
  Ok(SettingsReadString(s, "c.yml", "---\ncheck: yes\n"));
  Ok(SettingsHas(s, "check", &set));
  assert_true(set);
  Ok(SettingsDestroy(&s));
}

static void TestBadYaml(void **state)
{
  (void)state;
  RefusedText("ts: {dt: 1\nbodies: [a]\n", "a.yml:2:");
  RefusedText("ts:\n  dt: 1\n bodies: 2\n", "a.yml:3:2: ");
  RefusedText("ts:\n\tdt: 1\n", "a.yml:2:1: found character that cannot start any token");
  RefusedText("a: 1\nb: \"\xff\"\n", "a.yml:2:");
  RefusedText("just words\n", "a.yml:1:1: an options file holds lines 'name: value'");
  RefusedText("[1, 2]\n", "a.yml:1:1: ");
  RefusedText("a: 1\n---\nb: 2\n", "a.yml:3:1: a second document");
  RefusedText("x: 1\ny: 2\nx: 3\n", "a.yml:3:1: 'x' is given twice, before in line 1");
  RefusedText("a: {b: 1}\na_b: 2\n", "a.yml:2:1: 'a_b' is given twice, before in line 1");
  RefusedText("a: {b: 1, B: 2}\n", "a.yml:1:11: 'a_B' differs from 'a_b' (a.yml:1:5) only by case");
  RefusedText("k: [p1, {a: 1}]\n", "a.yml:1:9: k: a list may not hold maps");
  RefusedText("k: [[1, [2]], 3]\n", "a.yml:1:9: k: lists are nested too deeply");
  RefusedText("b 1: 3\n", "a.yml:1:1: 'b 1' is not a name");
  RefusedText("4x: 3\n", "a.yml:1:1: '4x' is not a name");
  RefusedText("[a, b]: 3\n", "a.yml:1:1: the name of an option must be a word");
  RefusedText("a: 1\noptions_file: b.yml\n", "a.yml:2:1: options_file can be given on the command line only");
  RefusedText("a: *x\n", "a.yml:1:4: found undefined alias");
  RefusedText("a: &x {b: *x}\n", "nested too deeply");
  RefusedText("a: &a [1,1,1,1,1,1,1,1,1,1]\nb: &b {c: *a, d: *a, e: *a, f: *a, g: *a, h: *a, i: *a, j: *a}\n"
              "c: &c {c: *b, d: *b, e: *b, f: *b, g: *b, h: *b, i: *b, j: *b}\nd: &d {c: *c, d: *c, e: *c, f: *c, g: *c, h: *c, i: *c, j: *c}\n"
              "e: &e {c: *d, d: *d, e: *d, f: *d, g: *d, h: *d, i: *d, j: *d}\nf: &f {c: *e, d: *e, e: *e, f: *e, g: *e, h: *e, i: *e, j: *e}\n"
              "g: &g {c: *f, d: *f, e: *f, f: *f, g: *f, h: *f, i: *f, j: *f}\n", "aliases make this file too large");
  RefusedText("<<: 3\n", "a.yml:1:5: << expects a map");
  RefusedText("a: \"x\\0y\"\n", "a.yml:1:4: a text must not hold a zero byte");
}

static void TestFiles(void **state)
{
  Settings    s = Read(NULL);
  char        a[512], b[512], none[512], key[1024];
  const char *where, *in;
  char      **files;
  PetscInt    n;
  PetscReal   x[3];
  PetscBool   v;
  PetscMPIInt rank;

  (void)state;
  MPI_Comm_rank(PETSC_COMM_WORLD, &rank);
  snprintf(a, sizeof(a), "%s/a.yml", folder);
  snprintf(b, sizeof(b), "%s/b.yml", folder);
  snprintf(none, sizeof(none), "%s/none.yml", folder);
  if (!rank) { /* the others get what rank 0 has read */
    FILE *f = fopen(a, "w");

    fputs("gravity: [1, 2, 3]\noutput:\n  digits: 5\nprogress: off\n", f);
    fclose(f);
    f = fopen(b, "w");
    fputs("gravity: [4, 5, 6]\nmax_wall_time: 3\n", f);
    fclose(f);
  }
  MPI_Barrier(PETSC_COMM_WORLD);
  Ok(SettingsReadFile(s, a));
  Ok(SettingsReadFile(s, b));
  Ok(SettingsGetReals(s, "gravity", 3, x, NULL)); /* the later file */
  assert_true(x[0] == 4 && x[2] == 6);
  Ok(SettingsGetInt(s, "output_digits", 10, &n, NULL)); /* the earlier one is not lost */
  assert_int_equal(n, 5);
  Ok(SettingsGetBool(s, "progress", PETSC_TRUE, &v, NULL));
  assert_false(v);
  Ok(SettingsWhere(s, "gravity", &where, &in));
  snprintf(key, sizeof(key), "%s:1:10", b);
  assert_string_equal(where, key);
  assert_string_equal(in, folder);
  snprintf(key, sizeof(key), "cannot open options file '%s': No such file", none);
  Refused(SettingsReadFile(s, none), key);
  snprintf(key, sizeof(key), "cannot open options file '%s'", folder);
  Refused(SettingsReadFile(s, folder), key);
  Ok(Arguments(s, "-gravity", "-1,0,.5", NULL, NULL));
  Ok(SettingsReadFile(s, a)); /* the command line wins whenever it was read */
  Ok(SettingsGetReals(s, "gravity", 3, x, NULL));
  assert_true(x[0] == -1 && x[2] == .5);
  Ok(SettingsWhere(s, "gravity", &where, &in));
  assert_string_equal(where, "command line");
  assert_string_equal(in, ".");
  Ok(SettingsDestroy(&s));
  {
    const char *v1[] = {"ashlar", "-options_file", "a.yml", "-ts_dt", "1", "--options_file=b.yml,c.yml", "-check"}, *v2[] = {"ashlar", "-options_file", "-check"};

    Ok(SettingsFindFiles(7, (char **)v1, &n, &files));
    assert_int_equal(n, 3);
    assert_string_equal(files[0], "a.yml");
    assert_string_equal(files[2], "c.yml");
    Ok(PetscStrNArrayDestroy(n, &files));
    Refused(SettingsFindFiles(3, (char **)v2, &n, &files), "-options_file needs the name of a file");
  }
}

static void TestArguments(void **state)
{
  Settings    s = Read("output: {digits: 3}\n");
  const char *const *item;
  PetscReal   x[3];
  PetscInt    n;
  PetscBool   v;
  const char *text;

  (void)state;
  Ok(Arguments(s, "-gravity", "-1,0,0", "-check", NULL));
  Ok(SettingsGetReals(s, "gravity", 3, x, NULL));
  assert_true(x[0] == -1);
  Ok(SettingsGetBool(s, "check", PETSC_FALSE, &v, NULL));
  assert_true(v);
  Ok(Arguments(s, "-gravity=-t, 0,min(t,1)", NULL, NULL, NULL)); /* a comma in parentheses does not separate */
  Ok(SettingsGetList(s, "gravity", &n, &item, NULL));
  assert_int_equal(n, 3);
  assert_string_equal(item[0], "-t");
  assert_string_equal(item[1], "0");
  assert_string_equal(item[2], "min(t,1)");
  Ok(Arguments(s, "--output_digits=7", "-energy_guard", "-.5", NULL));
  Ok(SettingsGetInt(s, "output_digits", 10, &n, NULL));
  assert_int_equal(n, 7);
  Ok(SettingsGetReal(s, "energy_guard", 0, x, NULL));
  assert_true(x[0] == -.5);
  Ok(Arguments(s, "-summary=a=b", "-restart", "", NULL));
  Ok(SettingsGetString(s, "summary", "", &text, NULL));
  assert_string_equal(text, "a=b");
  Ok(SettingsGetString(s, "restart", "x", &text, NULL));
  assert_string_equal(text, "");
  Ok(Arguments(s, "-summary", "one", "-summary", "two")); /* the last one */
  Ok(SettingsGetString(s, "summary", "", &text, NULL));
  assert_string_equal(text, "two");
  Ok(Arguments(s, "-options_file", "any.yml", "-checkpoint", NULL)); /* a file is left out, a flag has no text */
  Refused(SettingsGetString(s, "checkpoint", "", &text, NULL), "command line: checkpoint: needs a value");
  Refused(Arguments(s, "word", NULL, NULL, NULL), "command line: 'word' is not an option");
  Refused(Arguments(s, "-check", "true", "a.yml", NULL), "use -options_file a.yml");
  Refused(Arguments(s, "-bar.x", "1", NULL, NULL), "'-bar.x' is not an option");
  Refused(Arguments(s, "-Check", NULL, NULL, NULL), "'Check' differs from 'check' (command line) only by case");
  Ok(SettingsDestroy(&s));
}

static void TestBadValues(void **state)
{
  static const char *const kinds[] = {"mass", "volume", NULL};
  Settings    s = Read("bodies: bar\nbar:\n  damping: abc\n  velocity: [1, 2, 3, 4]\n  frame: Mass\n  mass_damping:\n  conserve: maybe\n"
                       "  copies: {grid: [1, 2, 2.5], random: 99999999999, seed: , spacing: '1,,2'}\n  translate: [0, nan, 0]\n  rotate: 1 2 3\n"
                       "output: {interval: 1e999, digits: 10x}\nenergy: {guard: inf, every: 1e3}\nmax_wall_time: 0x10\nindicator_warn: [1, 2]\n");
  PetscReal   x[4];
  PetscInt    n[3];
  PetscBool   v;
  const char *text;

  (void)state;
  Ok(SettingsAddSection(s, "body", "bar"));
  Refused(SettingsGetReal(s, "bar_damping|body_damping", 0, x, NULL), "dir/a.yml:3:12: bar_damping: 'abc' is not a number");
  Refused(SettingsGetReals(s, "bar_velocity", 3, x, NULL), "dir/a.yml:4:13: bar_velocity: expects 3 numbers, got 4");
  Refused(SettingsGetChoice(s, "bar_frame", kinds, 0, n, NULL), "dir/a.yml:5:10: bar_frame: 'Mass' is not one of: mass, volume");
  Refused(SettingsGetReal(s, "bar_mass_damping", 0, x, NULL), "bar_mass_damping: '' is not a number");
  Refused(SettingsGetBool(s, "bar_conserve", PETSC_TRUE, &v, NULL), "dir/a.yml:7:13: bar_conserve: 'maybe' is neither true nor false");
  Refused(SettingsGetInts(s, "bar_copies_grid", 3, n, NULL), "dir/a.yml:8:18: bar_copies_grid: '2.5' is not a whole number");
  Refused(SettingsGetInt(s, "bar_copies_random", 0, n, NULL), "'99999999999' is too large");
  Refused(SettingsGetInt(s, "bar_copies_seed", 0, n, NULL), "'' is not a whole number");
  Refused(SettingsGetReals(s, "bar_copies_spacing", 3, x, NULL), "'' is not a number");
  Refused(SettingsGetReals(s, "bar_translate", 3, x, NULL), "dir/a.yml:9:14: bar_translate: 'nan' is not a number");
  Refused(SettingsGetReals(s, "bar_rotate", 3, x, NULL), "bar_rotate: expects 3 numbers, got 1");
  Refused(SettingsGetReal(s, "output_interval", 0, x, NULL), "output_interval: '1e999' is too large");
  Refused(SettingsGetInt(s, "output_digits", 0, n, NULL), "output_digits: '10x' is not a whole number");
  Refused(SettingsGetReal(s, "energy_guard", 0, x, NULL), "'inf' is not a number");
  Refused(SettingsGetInt(s, "energy_every", 0, n, NULL), "'1e3' is not a whole number");
  Refused(SettingsGetReal(s, "max_wall_time", 0, x, NULL), "'0x10' is not a number");
  Refused(SettingsGetReal(s, "indicator_warn", 0, x, NULL), "expects 1 number, got 2");
  /* a getter whose name is in no table is a mistake of the program */
  Fails(SettingsGetString(s, "bar_nonsense", "", &text, NULL), PETSC_ERR_PLIB, "bar_nonsense");
  Fails(SettingsGetString(s, "bar_damping|b4_damping", "", &text, NULL), PETSC_ERR_PLIB, "b4_damping");
  Fails(SettingsGetString(s, "nonsense", "", &text, NULL), PETSC_ERR_PLIB, "nonsense");
  Fails(SettingsGetString(s, "bar_direction", "", &text, NULL), PETSC_ERR_PLIB, "bar_direction"); /* of a force */
  Ok(SettingsDestroy(&s));
}

static void TestFallback(void **state)
{
  Settings    s = Read("bodies: [bar, brick]\nbody: {damping: 1, frame: volume}\nFB: {damping: 2}\nbrick: {damping: 3}\nbrick_7: {damping: 4}\n");
  const char *kind;
  PetscReal   r;
  PetscInt    section, copy;

  (void)state;
  Ok(SettingsAddSection(s, "body", "bar"));
  Ok(SettingsAddSection(s, "body", "brick"));
  Ok(SettingsAddSection(s, "part", "FB"));
  Ok(SettingsAddCopies(s, "brick", 10));
  Ok(SettingsGetReal(s, "bar_damping|FB_damping|body_damping", 0, &r, NULL));
  assert_true(r == 2);
  Ok(SettingsGetReal(s, "bar_mass_damping|body_mass_damping", 9, &r, NULL));
  assert_true(r == 9);
  Ok(SettingsGetReal(s, "brick_6_damping|brick_damping|body_damping", 0, &r, NULL));
  assert_true(r == 3);
  Ok(SettingsGetReal(s, "brick_7_damping|brick_damping|body_damping", 0, &r, NULL));
  assert_true(r == 4);
  Ok(SettingsGetReal(s, "bar_velocity|bar_damping|body_mass_damping", 9, &r, NULL));
  assert_true(r == 9);
  Fails(SettingsGetReal(s, "brick_10_damping", 0, &r, NULL), PETSC_ERR_PLIB, "brick_10_damping");
  Ok(SettingsFindSection(s, "brick_9", &section, &copy, &kind));
  assert_string_equal(kind, "body");
  assert_int_equal(section, 1);
  assert_int_equal(copy, 9);
  Ok(SettingsFindSection(s, "FB", &section, &copy, &kind));
  assert_string_equal(kind, "part");
  assert_int_equal(section, 2);
  assert_int_equal(copy, -1);
  Ok(SettingsFindSection(s, "fb", &section, &copy, &kind));
  assert_null(kind);
  assert_int_equal(section, -1);
  Ok(SettingsFindSection(s, "brick_10", &section, NULL, &kind));
  assert_null(kind);
  /* a default that was overridden everywhere is not an unused option, one that nobody asked for is */
  Ok(SettingsToPetsc(s));
  Refused(SettingsCheckUnused(s), "dir/a.yml:1:1: 'bodies' has no effect");
  Ok(SettingsGetString(s, "bodies", "", &kind, NULL));
  Refused(SettingsCheckUnused(s), "dir/a.yml:2:20: 'body_frame' has no effect");
  Ok(SettingsGetString(s, "bar_frame|body_frame", "", &kind, NULL));
  Ok(SettingsCheckUnused(s));
  Ok(SettingsDestroy(&s));
}

static void TestSections(void **state)
{
  Settings s = Read("probes: [p1]\nbodies: [bar]\n");

  (void)state;
  Ok(SettingsAddSection(s, "body", "bar"));
  Ok(SettingsAddSection(s, "body", "PART-1-1"));
  Ok(SettingsAddSection(s, "body", "body_1"));
  Ok(SettingsAddSection(s, "body", "bar_1"));
  Ok(SettingsAddSection(s, "probe", "p1"));
  Refused(SettingsAddSection(s, "probe", "bar"), "dir/a.yml:1:9: probe name 'bar' is given twice");
  Refused(SettingsAddSection(s, "body", "Bar"), "dir/a.yml:2:9: body name 'Bar' differs from 'bar' only by case");
  Refused(SettingsAddSection(s, "body", "ts"), "'ts' is reserved");
  Refused(SettingsAddSection(s, "body", "SNES"), "'SNES' is reserved");
  Refused(SettingsAddSection(s, "body", "output"), "'output' is reserved");
  Refused(SettingsAddSection(s, "body", "contact"), "'contact' is reserved");
  Refused(SettingsAddSection(s, "body", "part"), "'part' is reserved");
  Refused(SettingsAddSection(s, "body", "ksp_1"), "'ksp_1' begins like options of the solvers");
  Refused(SettingsAddSection(s, "body", "part_pc"), "'part_pc' cannot be told from options");
  Refused(SettingsAddSection(s, "body", "body_mesh"), "'body_mesh' cannot be told from options of 'body'");
  Refused(SettingsAddSection(s, "body", "bar_mesh"), "'bar_mesh' cannot be told from options of 'bar'");
  Ok(SettingsAddSection(s, "body", "q_material"));
  Refused(SettingsAddSection(s, "body", "q"), "'q_material' cannot be told from options of 'q'");
  Refused(SettingsAddSection(s, "body", "a b"), "'a b' may hold letters");
  Refused(SettingsAddSection(s, "body", "a.b"), "'a.b' may hold letters");
  Refused(SettingsAddSection(s, "body", "4x"), "'4x' must begin with a letter");
  Refused(SettingsAddSection(s, "body", ""), "a body without a name");
  Fails(SettingsAddSection(s, "nonsense", "x"), PETSC_ERR_PLIB, "nonsense");
  Refused(SettingsAddCopies(s, "bar", 2), "'bar_1' is also the name of a copy of 'bar'");
  Ok(SettingsAddCopies(s, "bar", 1));
  Refused(SettingsAddSection(s, "body", "bar_0"), "'bar_0' is also the name of a copy of 'bar'");
  Refused(SettingsAddSection(s, "body", "Bar_0"), "'Bar_0' is also the name of a copy of 'bar'");
  Ok(SettingsAddSection(s, "body", "bar_00"));
  Ok(SettingsDestroy(&s));
}

/* The complaint about one option that nobody reads, in a model of body bar, ten copies of brick, part FB, force f1, probe p1. */
static void Unused(const char text[], const char fragment[])
{
  Settings s = Read(text);

  Ok(SettingsAddSection(s, "body", "bar"));
  Ok(SettingsAddSection(s, "body", "brick"));
  Ok(SettingsAddCopies(s, "brick", 10));
  Ok(SettingsAddSection(s, "part", "FB"));
  Ok(SettingsAddSection(s, "force", "f1"));
  Ok(SettingsAddSection(s, "probe", "p1"));
  Ok(SettingsToPetsc(s));
  if (fragment) Refused(SettingsCheckUnused(s), fragment);
  else Ok(SettingsCheckUnused(s));
  Ok(SettingsDestroy(&s));
  Ok(PetscOptionsClear(NULL));
}

static void TestUnused(void **state)
{
  (void)state;
  Unused("bar:\n    dampin: 1\n", "dir/a.yml:2:5: 'bar_dampin' is not an option; did you mean 'bar_damping'?");
  Unused("bar_dapming: 1\n", "did you mean 'bar_damping'?");
  Unused("bar: {evloctiy: 1}\n", "did you mean 'bar_velocity'?"); /* two swaps, but four replacements */
  Unused("brick: {Damping: 1}\n", "did you mean 'brick_damping'?");
  Unused("brick_3: {velocty: 1}\n", "'brick_3_velocty' is not an option; did you mean 'brick_3_velocity'?");
  Unused("brick_12: {velocity: 1}\n", "'brick_12_velocity' is not an option");
  Unused("FB: {mesh: {tipe: 1}}\n", "did you mean 'FB_mesh_type'?");
  Unused("f1: {dirction: 1}\n", "did you mean 'f1_direction'?");
  Unused("p1: {pint: 1}\n", "did you mean 'p1_point'?");
  Unused("body_fram: 1\n", "did you mean 'body_frame'?");
  Unused("Brick: {damping: 1}\n", "did you mean 'brick_damping'?");
  Unused("brik: {damping: 1}\n", "did you mean 'brick_damping'?");
  Unused("elephant: {mass_damping: 1}\n", "no body, part or other section of the model is named 'elephant'");
  Unused("output: {histroy: 1}\n", "dir/a.yml:1:10: 'output_histroy' is not an option; did you mean 'output_history'?");
  Unused("gravty: 1\n", "did you mean 'gravity'?");
  Unused("sumary: 1\n", "did you mean 'summary'?");
  Unused("ts: {max_tme: 1}\n", "did you mean 'ts_max_time'?");
  Unused("snes: {rtoll: 1}\n", "did you mean 'snes_rtol'?");
  Unused("part: {pc_tipe: lu}\n", "did you mean 'part_pc_type'?");
  Unused("log_veiw:\n", "did you mean 'log_view'?");
  Unused("options_fil: a\n", "did you mean 'options_file'?");
  Unused("zzzzzzzzzz: 1\nqqqqqqqqqqqq: 2\n", "'zzzzzzzzzz' is not an option; -help lists all (and 1 more such option)");
  Unused("snes: {rtol: 1}\n", "'snes_rtol' has no effect");
  Unused("part: {pc_type: lu}\n", "'part_pc_type' has no effect");
  Unused("bar: 3\n", "'bar' names a section");
  Unused("bar:\nbrick: {}\n", NULL);
  /* read late or never asked for: let pass */
  Unused("ksp: {view: , converged_reason: true}\nsnes: {monitor: }\npart: {mat_mumps_icntl_14: 50}\nlog_view:\nmalloc_debug: 1\noptions_left: 0\n", NULL);
  Unused("kps: {view: }\n", "'kps_view' is not an option");
}

static void TestToPetsc(void **state)
{
  Settings  s = Read("ts: {dt: 1e-3, monitor: true, view: no, type: alpha}\nsnes: {rtol: 1e-8, lag: [1, 2, 3]}\nbar: {damping: 1}\noutput: {digits: 3}\nksp_view:\n");
  char      text[64];
  PetscReal r;
  PetscInt  n, v[3], m = 3;
  PetscBool set;

  (void)state;
  Ok(Arguments(s, "-ts_dt", "2e-3", "-snes_monitor", NULL));
  Ok(SettingsAddSection(s, "body", "bar"));
  Ok(SettingsToPetsc(s));
  Ok(PetscOptionsGetString(NULL, NULL, "-ts_dt", text, sizeof(text), &set));
  assert_true(set);
  assert_string_equal(text, "2e-3"); /* the command line */
  Ok(PetscOptionsGetReal(NULL, NULL, "-snes_rtol", &r, &set));
  assert_true(set && r == 1e-8);
  Ok(PetscOptionsGetIntArray(NULL, NULL, "-snes_lag", v, &m, &set));
  assert_true(set && m == 3 && v[2] == 3);
  Ok(PetscOptionsGetString(NULL, NULL, "-ts_monitor", text, sizeof(text), &set));
  assert_true(set);
  assert_string_equal(text, ""); /* "true" would be taken for a viewer's name */
  Ok(PetscOptionsHasName(NULL, NULL, "-ts_view", &set));
  assert_false(set);
  Ok(PetscOptionsHasName(NULL, NULL, "-ksp_view", &set));
  assert_true(set);
  Ok(PetscOptionsHasName(NULL, NULL, "-snes_monitor", &set));
  assert_true(set);
  Ok(PetscOptionsHasName(NULL, NULL, "-bar_damping", &set)); /* the model's are not PETSc's */
  assert_false(set);
  Ok(PetscOptionsHasName(NULL, NULL, "-output_digits", &set));
  assert_false(set);
  Ok(SettingsGetReal(s, "bar_damping", 0, &r, NULL));
  Ok(SettingsGetInt(s, "output_digits", 0, &n, NULL));
  Refused(SettingsCheckUnused(s), "'ts_type' has no effect");
  Ok(PetscOptionsGetString(NULL, NULL, "-ts_type", text, sizeof(text), &set));
  Ok(SettingsCheckUnused(s));
  Ok(SettingsDestroy(&s));
  Ok(PetscOptionsClear(NULL));
}

static void TestUsedOnOneRank(void **state)
{
  Settings    s = Read("summary: a\nsnes: {rtol: 1}\n");
  const char *text;
  PetscReal   r;
  PetscMPIInt rank, size;

  (void)state;
  MPI_Comm_rank(PETSC_COMM_WORLD, &rank);
  MPI_Comm_size(PETSC_COMM_WORLD, &size);
  Ok(SettingsToPetsc(s));
  if (rank == size - 1) {
    Ok(SettingsGetString(s, "summary", "", &text, NULL));
    Ok(PetscOptionsGetReal(NULL, NULL, "-snes_rtol", &r, NULL));
  }
  Ok(SettingsCheckUnused(s));
  Ok(SettingsDestroy(&s));
  Ok(PetscOptionsClear(NULL));
}

static void TestTooMany(void **state)
{
  char    *text = malloc(40000), *t = text;
  Settings s;

  (void)state;
  for (int i = 0; i < 501; i++) t += sprintf(t, "wall_%d: {damping: 1}\n", i);
  s = Read(text);
  Refused(SettingsToPetsc(s), "501 options belong to no body");
  Refused(SettingsToPetsc(s), "the first is 'wall_0_damping' (dir/a.yml:1:19)");
  Ok(SettingsAddSection(s, "body", "wall"));
  Ok(SettingsAddCopies(s, "wall", 501));
  Ok(SettingsToPetsc(s));
  Ok(SettingsDestroy(&s));
  free(text);
}

/* Every option of every body must be found and counted as used, whatever their number. */
static void TestManyBodies(void **state)
{
  const int nbody = 10000;
  char     *text = malloc(1200000), *t = text, key[128];
  Settings  s;
  PetscReal r, sum = 0, x[3];
  PetscInt  n;
  const char *const *item;

  (void)state;
  t += sprintf(t, "bodies: [");
  for (int i = 0; i < nbody; i++) t += sprintf(t, "%sb%d", i ? ", " : "", i);
  t += sprintf(t, "]\nbrick: {mesh: {type: box}}\nbrick_57_damping: 5\n");
  for (int i = 0; i < nbody; i++) t += sprintf(t, "b%d:\n  damping: %d\n  translate: [%d, 0, 0]\n  mesh: {type: box}\n", i, i, i);
  s = Read(text);
  free(text);
  Ok(SettingsGetList(s, "bodies", &n, &item, NULL));
  assert_int_equal(n, nbody);
  for (int i = 0; i < nbody; i++) Ok(SettingsAddSection(s, "body", item[i]));
  Ok(SettingsAddSection(s, "body", "brick"));
  Ok(SettingsAddCopies(s, "brick", nbody));
  for (int i = 0; i < nbody; i++) {
    snprintf(key, sizeof(key), "b%d_damping|body_damping", i);
    Ok(SettingsGetReal(s, key, 0, &r, NULL));
    sum += r;
    snprintf(key, sizeof(key), "b%d_translate|body_translate", i);
    Ok(SettingsGetReals(s, key, 3, x, NULL));
    sum += x[0];
    snprintf(key, sizeof(key), "brick_%d_damping|brick_damping|body_damping", i);
    Ok(SettingsGetReal(s, key, 0, &r, NULL));
    sum += r;
  }
  assert_true(sum == (PetscReal)nbody * (nbody - 1) + 5);
  Ok(SettingsToPetsc(s));
  Refused(SettingsCheckUnused(s), "'brick_mesh_type' has no effect: nothing in this run reads it; remove it (and 10000 more such options)");
  Ok(SettingsDestroy(&s));
}

static void TestHelp(void **state)
{
  FILE       *out = PETSC_STDOUT;
  char        name[512], line[512];
  PetscInt    next = 0;
  PetscMPIInt rank;

  (void)state;
  MPI_Comm_rank(PETSC_COMM_WORLD, &rank);
  snprintf(name, sizeof(name), "%s/help.%d", folder, rank);
  PETSC_STDOUT = fopen(name, "w+");
  assert_non_null(PETSC_STDOUT);
  Ok(SettingsPrintHelp(PETSC_COMM_SELF));
  rewind(PETSC_STDOUT);
  while (fgets(line, sizeof(line), PETSC_STDOUT)) {
    const Option *o = &option_table[next];
    char          flag[128];

    if (next == option_table_size) continue;
    snprintf(flag, sizeof(flag), "  -%s ", o->name);
    if (strncmp(line, flag, strlen(flag))) continue;
    assert_non_null(strstr(line, o->meaning));
    if (o->def[0]) assert_non_null(strstr(line, o->def));
    next++;
  }
  fclose(PETSC_STDOUT);
  PETSC_STDOUT = out;
  unlink(name);
  assert_int_equal(next, option_table_size); /* all, in order */
}

static PetscErrorCode Bad(PetscBool bad)
{
  PetscFunctionBeginUser;
  UserCheck(!bad, "bar: one clear\nline %d", 3);
  PetscFunctionReturn(0);
}

static PetscErrorCode AgreeOnIt(PetscBool bad)
{
  PetscFunctionBeginUser;
  PetscCall(ErrorAgree(PETSC_COMM_WORLD, Bad(bad)));
  PetscFunctionReturn(0);
}

/* The last rank makes a mistake: all leave with an error, and one line is printed by it alone. */
static void TestErrors(void **state)
{
  char           name[512], line[512] = "", more[512];
  PetscMPIInt    rank, size;
  PetscErrorCode ierr;
  FILE          *f;
  int            old, status;

  (void)state;
  MPI_Comm_rank(PETSC_COMM_WORLD, &rank);
  MPI_Comm_size(PETSC_COMM_WORLD, &size);
  snprintf(name, sizeof(name), "%s/stderr.%d", folder, rank);
  Ok(ErrorHandlerPush());
  assert_int_equal(AgreeOnIt(PETSC_FALSE), 0);
  assert_int_equal(ErrorExit(PETSC_COMM_WORLD, 0), 0);
  ierr = AgreeOnIt(rank == size - 1 ? PETSC_TRUE : PETSC_FALSE);
  assert_int_equal(ierr, PETSC_ERR_USER_INPUT);
  fflush(stderr);
  old = dup(2);
  f   = freopen(name, "w", stderr);
  assert_non_null(f);
  status = ErrorExit(PETSC_COMM_WORLD, ierr);
  fflush(stderr);
  dup2(old, 2);
  close(old);
  assert_int_equal(status, 1);
  Ok(PetscPopErrorHandler());
  f = fopen(name, "r");
  assert_non_null(f);
  if (fgets(line, sizeof(line), f)) assert_null(fgets(more, sizeof(more), f));
  fclose(f);
  unlink(name);
  assert_string_equal(line, rank == size - 1 ? "ashlar: bar: one clear line 3\n" : "");
}

int main(int argc, char **argv)
{
  const struct CMUnitTest tests[] = {cmocka_unit_test(TestYaml),     cmocka_unit_test(TestBadYaml), cmocka_unit_test(TestFiles),
                                     cmocka_unit_test(TestArguments), cmocka_unit_test(TestBadValues), cmocka_unit_test(TestFallback),
                                     cmocka_unit_test(TestSections), cmocka_unit_test(TestUnused),  cmocka_unit_test(TestToPetsc),
                                     cmocka_unit_test(TestUsedOnOneRank), cmocka_unit_test(TestTooMany), cmocka_unit_test(TestManyBodies),
                                     cmocka_unit_test(TestHelp),     cmocka_unit_test(TestErrors)};
  PetscMPIInt             rank;
  char                    path[512];
  int                     failed;

  if (PetscInitialize(&argc, &argv, NULL, NULL)) return 1;
  MPI_Comm_rank(PETSC_COMM_WORLD, &rank);
  if (!rank) {
    snprintf(folder, sizeof(folder), "%s/settings-XXXXXX", getenv("TMPDIR") ? getenv("TMPDIR") : P_tmpdir);
    if (!mkdtemp(folder)) folder[0] = 0;
  }
  if (MPI_Bcast(folder, sizeof(folder), MPI_CHAR, 0, PETSC_COMM_WORLD)) return 1;
  PetscPushErrorHandler(Capture, NULL);
  failed = folder[0] ? cmocka_run_group_tests(tests, NULL, NULL) : 1;
  PetscPopErrorHandler();
  MPI_Barrier(PETSC_COMM_WORLD);
  if (!rank) {
    snprintf(path, sizeof(path), "%s/a.yml", folder);
    unlink(path);
    snprintf(path, sizeof(path), "%s/b.yml", folder);
    unlink(path);
    rmdir(folder);
  }
  PetscFinalize();
  return failed;
}
