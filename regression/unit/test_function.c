/* Functions of time and place: numbers, expressions, CSV tables, and the messages for what is wrong in them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include "physics/function.h"

static char folder[] = "/tmp/ashlar_function_XXXXXX", message[1024];

/* Keeps the first line of an error, as the program's own handler does */
static PetscErrorCode Keep(MPI_Comm comm, int line, const char *fun, const char *file, PetscErrorCode code, PetscErrorType type, const char *text, void *ctx)
{
  (void)comm, (void)line, (void)fun, (void)file, (void)ctx;
  if (type == PETSC_ERROR_INITIAL) snprintf(message, sizeof(message), "%s", text);
  return code;
}

static int Start(void **state)
{
  (void)state;
  return !mkdtemp(folder) || PetscPushErrorHandler(Keep, NULL);
}

static int End(void **state)
{
  (void)state;
  return rmdir(folder) || PetscPopErrorHandler(); /* rmdir fails if a test left a file */
}

static PetscReal Value(const char text[], PetscReal t, PetscReal x, PetscReal y, PetscReal z)
{
  Function  f;
  PetscReal v, p[3] = {x, y, z};

  assert_int_equal(FunctionCreate("load", text, NULL, &f), 0);
  assert_int_equal(FunctionEvaluate(f, t, p, &v), 0);
  assert_int_equal(FunctionDestroy(&f), 0);
  assert_null(f);
  return v;
}

/* Creation fails with a user's error whose line begins with the name and holds `part` */
static void Refused(const char text[], const char part[])
{
  Function f;

  message[0] = 0;
  assert_int_equal(FunctionCreate("load", text, folder, &f), PETSC_ERR_USER_INPUT);
  assert_null(f);
  if (strncmp(message, "load: ", 6) || !strstr(message, part) || strchr(message, '\n')) fail_msg("\"%s\" gave \"%s\", not \"%s\"", text, message, part);
}

static void Write(const char content[], char path[], size_t size)
{
  FILE *file;

  snprintf(path, size, "%s/table.csv", folder);
  file = fopen(path, "w");
  assert_non_null(file);
  fputs(content, file);
  fclose(file);
}

static void RefusedTable(const char content[], const char part[])
{
  char path[256];

  Write(content, path, sizeof(path));
  Refused("table.csv", part);
  unlink(path);
}

static void test_number(void **state)
{
  (void)state;
  assert_true(Value("3", 7, 0, 0, 0) == 3);
  assert_true(Value(" -2.5e-3 ", 7, 0, 0, 0) == -2.5e-3);
  Refused("nan", "not finite");
  Refused("1e999", "not finite");
}

static void test_expression(void **state)
{
  Function  f;
  PetscReal v;

  (void)state;
  assert_true(PetscAbsReal(Value("10*sin(2*pi*t)", 1. / 12, 0, 0, 0) - 5) < 1e-14);
  assert_true(Value("x + 10*y + 100*z + 1000*t", 4, 1, 2, 3) == 4321);
  assert_true(Value("t < 1 ? 2 : 3", 0.5, 0, 0, 0) == 2 && Value("t < 1 ? 2 : 3", 1, 0, 0, 0) == 3);
  assert_true(Value("(t >= 1)*2", 1, 0, 0, 0) == 2);
  assert_true(PetscAbsReal(Value("ln(_e) + _pi - pi", 0, 0, 0, 0) - 1) < 1e-15);
  assert_true(Value("2^3", 0, 0, 0, 0) == 8);
  Refused("", "empty");
  Refused("sin(", "at character 5");
  Refused("2*t + foo", "\"foo\" at character 7");
  Refused("t +* 2", "at character 4");
  Refused("1,2", "2 values");
  Refused("t = 1", "'=='");
  Refused("1/0", "not finite");
  /* it is compiled once and may be evaluated anywhere, in any order; a bad point is no end */
  assert_int_equal(FunctionCreate("pipe_force_value", "1/(t - 0.5)", NULL, &f), 0);
  assert_int_equal(FunctionEvaluate(f, 0.5, NULL, &v), PETSC_ERR_USER_INPUT);
  assert_string_equal(message, "pipe_force_value: value is not finite at t = 0.5");
  assert_int_equal(FunctionEvaluate(f, 1, NULL, &v), 0);
  assert_true(v == 2);
  assert_int_equal(FunctionDestroy(&f), 0);
  assert_int_equal(FunctionCreate("w", "sqrt(x)", NULL, &f), 0);
  assert_int_equal(FunctionEvaluate(f, 0, (const PetscReal[3]){-1, 0, 0}, &v), PETSC_ERR_USER_INPUT);
  assert_non_null(strstr(message, "not finite"));
  assert_int_equal(FunctionEvaluate(f, 0, NULL, &v), PETSC_ERR_USER_INPUT);
  assert_non_null(strstr(message, "t only"));
  assert_int_equal(FunctionDestroy(&f), 0);
}

static void test_two_at_once(void **state)
{
  Function  f, g;
  PetscReal u, v;

  (void)state;
  assert_int_equal(FunctionCreate("a", "t + 1", NULL, &f), 0);
  assert_int_equal(FunctionCreate("b", "t + 2", NULL, &g), 0);
  for (int i = 0; i < 3; ++i) {
    assert_int_equal(FunctionEvaluate(f, i, NULL, &u), 0);
    assert_int_equal(FunctionEvaluate(g, -i, NULL, &v), 0);
    assert_true(u == i + 1 && v == 2 - i);
  }
  assert_int_equal(FunctionDestroy(&f), 0);
  assert_int_equal(FunctionDestroy(&g), 0);
}

static void test_table(void **state)
{
  /* the same four rows in several spellings */
  const char *const forms[] = {"0,1\n1,3\n3,-1\n4,0\n", "t,value\n0,1\n1,3\n3,-1\n4,0", "# made by hand\n\n  time [s]; force [N]\r\n0; 1\r\n1 ;3 # peak\r\n3\t-1\r\n4 0\r\n",
                               "\xEF\xBB\xBF\"t\",\"f\"\n0 , 1\n1.0,3.0\n3e0,-1\n# end\n4,0\n\n"};
  const PetscReal   point[][2] = {{-5, 1}, {0, 1}, {.5, 2}, {1, 3}, {2, 1}, {3.75, -.25}, {4, 0}, {9, 0}, {2.5, 0}, {.25, 1.5}, {1, 3}, {3, -1}};
  char              path[256];
  Function          f;
  PetscReal         v;

  (void)state;
  for (size_t i = 0; i < 4; ++i) {
    Write(forms[i], path, sizeof(path));
    assert_int_equal(FunctionCreate("load", i % 2 ? path : " table.csv ", folder, &f), 0);
    unlink(path); /* read once */
    for (size_t k = 0; k < sizeof(point) / sizeof(point[0]); ++k) {
      assert_int_equal(FunctionEvaluate(f, point[k][0], NULL, &v), 0);
      assert_true(PetscAbsReal(v - point[k][1]) < 1e-15);
    }
    assert_int_equal(FunctionDestroy(&f), 0);
  }
  Write("1,7\n", path, sizeof(path));
  assert_true(Value(path, 0, 0, 0, 0) == 7 && Value(path, 2, 0, 0, 0) == 7);
  unlink(path);
}

static void test_table_long(void **state)
{
  const PetscInt n = 1000;
  char           path[256];
  FILE          *file;
  Function       f;
  PetscReal      v;

  (void)state;
  Write("", path, sizeof(path));
  file = fopen(path, "w");
  for (PetscInt i = 0; i < n; ++i) fprintf(file, "%.17g,%.17g\n", i * (1 + i / 1000.), 2 * i * (1 + i / 1000.) + 5); /* uneven times on a line */
  fclose(file);
  assert_int_equal(FunctionCreate("load", path, NULL, &f), 0);
  unlink(path);
  for (PetscInt i = 0; i < 3000; ++i) {
    const PetscReal t = (i * 7919 % 3000) * 0.6; /* jumps about */

    assert_int_equal(FunctionEvaluate(f, t, NULL, &v), 0);
    assert_true(PetscAbsReal(v - (2 * t + 5)) < 1e-12 * (2 * t + 5));
  }
  assert_int_equal(FunctionDestroy(&f), 0);
}

static void test_table_errors(void **state)
{
  (void)state;
  Refused("missing.csv", "missing.csv: No such file");
  RefusedTable("", "no line");
  RefusedTable("t,value\n# nothing\n", "no line");
  RefusedTable("t,value\n0,1\n1,x\n", "table.csv:3: \"1,x\"");
  RefusedTable("0,1\n1,2,3\n", "table.csv:2:");
  RefusedTable("0,1\nt,value\n", "table.csv:2:"); /* a header only at the top */
  RefusedTable("0,1\n\n1\n", "table.csv:3:");
  RefusedTable("0,5;1,5\n", "table.csv:1:"); /* decimal commas */
  RefusedTable("0,1\n1,2\n1,3\n", "table.csv:3: t = 1 does not come after t = 1");
  RefusedTable("0,1\n-1,2\n", "table.csv:2:");
  RefusedTable("0,inf\n", "not finite");
}

static PetscReal Rate(const char text[], PetscReal t, PetscReal step)
{
  Function  f;
  PetscReal v;

  assert_int_equal(FunctionCreate("load", text, NULL, &f), 0);
  assert_int_equal(FunctionDerivative(f, t, NULL, step, &v), 0);
  assert_int_equal(FunctionDestroy(&f), 0);
  return v;
}

static void test_derivative(void **state)
{
  Function  f;
  PetscReal v, coarse, fine;
  char      path[64];

  (void)state;
  assert_true(Rate("7", 1, 0.1) == 0 && Rate("2*pi", 1, 0.1) == 0);
  assert_true(PetscAbsReal(Rate("3*t^2", 2, 0.1) - 12) < 1e-12);
  assert_true(PetscAbsReal(Rate("0.01*sin(20*t)", 0.3, 1e-3) - 0.2 * PetscCosReal(6)) < 1e-12);
  coarse = PetscAbsReal(Rate("sin(t)", 1, 4) - PetscCosReal(1)); /* sixth order */
  fine   = PetscAbsReal(Rate("sin(t)", 1, 2) - PetscCosReal(1));
  assert_true(coarse / fine > 50 && coarse / fine < 80);
  assert_true(PetscAbsReal(Rate("t*sqrt(t)", 0, 1e-6)) < 1e-3); /* begins at 0 */
  assert_int_equal(FunctionCreate("load", "sqrt(-1 - t)", NULL, &f), 0);
  assert_int_equal(FunctionDerivative(f, 0, NULL, 0.1, &v), PETSC_ERR_USER_INPUT);
  assert_string_equal(message, "load: derivative is not finite at t = 0");
  assert_int_equal(FunctionDestroy(&f), 0);
  Write("0,1\n2,5\n3,4\n", path, sizeof(path));
  assert_int_equal(FunctionCreate("load", path, folder, &f), 0);
  unlink(path);
  assert_int_equal(FunctionDerivative(f, 1, NULL, 0.1, &v), 0);
  assert_true(v == 2);
  assert_int_equal(FunctionDerivative(f, 2, NULL, 0.1, &v), 0);
  assert_true(v == -1);
  assert_int_equal(FunctionDerivative(f, 0, NULL, 0.1, &v), 0);
  assert_true(v == 2);
  assert_int_equal(FunctionDerivative(f, 3, NULL, 0.1, &v), 0);
  assert_true(v == 0);
  assert_int_equal(FunctionDerivative(f, -1, NULL, 0.1, &v), 0);
  assert_true(v == 0);
  assert_int_equal(FunctionDestroy(&f), 0);
}

int main(int argc, char **argv)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_number), cmocka_unit_test(test_expression), cmocka_unit_test(test_two_at_once),
    cmocka_unit_test(test_table),  cmocka_unit_test(test_table_long), cmocka_unit_test(test_table_errors), cmocka_unit_test(test_derivative),
  };
  int failed;

  if (PetscInitialize(&argc, &argv, NULL, NULL)) return 1;
  failed = cmocka_run_group_tests(tests, Start, End);
  if (PetscFinalize()) return 1;
  return failed;
}
