/* Elements and assembly against independent facts: exact integrals, patch test, rigid motions, finite differences, objectivity. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <petscmat.h>
#include <petscblaslapack.h>
#include "physics/element.h"

#define CALL(x)       assert_int_equal((int)(x), 0)
#define NEAR(x, y, e) assert_true(PetscAbsReal((x) - (y)) <= (e)) /* cmocka's assert_float_equal rounds to float */

static const Elastic svk = {3.1, 1.7, 2.5, PETSC_FALSE}, linear = {3.1, 1.7, 2.5, PETSC_TRUE};
static const PetscReal gauss4[4]  = {-0.86113631159405257522, -0.33998104358485626480, 0.33998104358485626480, 0.86113631159405257522};
static const PetscReal weight4[4] = {0.34785484513745385737, 0.65214515486254614263, 0.65214515486254614263, 0.34785484513745385737};

/* ---- helpers ---- */

static PetscReal Random(unsigned *seed) /* in -1..1 */
{
  *seed = *seed * 1103515245u + 12345u;
  return ((*seed >> 8) & 0xffff) / 32767.5 - 1;
}

/* A box [0, n0] x [0, n1] x [0, n2] of cells in two blocks, corners moved by `distort`, nodes numbered at random so that pairs come in
   both orders and groups of elements mix them. */
static Mesh MakeBox(PetscInt n0, PetscInt n1, PetscInt n2, PetscReal distort, unsigned seed)
{
  const PetscInt n[3] = {n0, n1, n2}, p[3] = {1, n0 + 1, (n0 + 1) * (n1 + 1)}, nnode = (n0 + 1) * (n1 + 1) * (n2 + 1), nelem = n0 * n1 * n2;
  PetscInt      *number, e = 0;
  Mesh           m;

  CALL(PetscNew(&m));
  m->nnode  = nnode;
  m->nelem  = nelem;
  m->nblock = nelem > 1 ? 2 : 1;
  CALL(PetscMalloc1(3 * nnode, &m->coord));
  CALL(PetscCalloc1(m->nblock, &m->block));
  CALL(PetscMalloc1(nnode, &number));
  for (PetscInt i = 0; i < nnode; i++) number[i] = i;
  for (PetscInt i = nnode - 1; i > 0; i--) {
    const PetscInt j = (PetscInt)((Random(&seed) + 1) / 2.001 * (i + 1)), t = number[i];

    number[i] = number[j], number[j] = t;
  }
  for (PetscInt b = 0; b < m->nblock; b++) {
    MeshBlock *block = &m->block[b];

    CALL(PetscStrcpy(block->type, "hex8"));
    block->nnode = 8;
    block->nelem = m->nblock == 1 ? nelem : (b ? nelem - nelem / 3 : nelem / 3);
    CALL(PetscMalloc1(8 * block->nelem, &block->conn));
  }
  for (PetscInt i = 0; i < nnode; i++) {
    PetscReal *x = m->coord + 3 * number[i];

    for (PetscInt c = 0; c < 3; c++) x[c] = i / p[c] % (n[c] + 1) + distort * Random(&seed);
  }
  for (PetscInt i = 0; i < nnode; i++) {
    static const PetscInt corner[8][3] = {{0, 0, 0}, {1, 0, 0}, {1, 1, 0}, {0, 1, 0}, {0, 0, 1}, {1, 0, 1}, {1, 1, 1}, {0, 1, 1}};
    PetscInt             *conn;

    if (i % p[1] == n0 || i / p[1] % (n1 + 1) == n1 || i / p[2] == n2) continue;
    conn = e < m->block[0].nelem ? m->block[0].conn + 8 * e : m->block[1].conn + 8 * (e - m->block[0].nelem);
    for (PetscInt a = 0; a < 8; a++) conn[a] = number[i + corner[a][0] * p[0] + corner[a][1] * p[1] + corner[a][2] * p[2]];
    e++;
  }
  assert_int_equal(e, nelem);
  CALL(PetscFree(number));
  return m;
}

static void FreeMesh(Mesh m)
{
  for (PetscInt b = 0; b < m->nblock; b++) CALL(PetscFree(m->block[b].conn));
  CALL(PetscFree(m->block));
  CALL(PetscFree(m->coord));
  CALL(PetscFree(m));
}

static PetscReal *Array(PetscInt n)
{
  PetscReal *x;

  CALL(PetscCalloc1(n, &x));
  return x;
}

static void Free(PetscReal *first, ...) /* NULL ends the list */
{
  va_list list;

  va_start(list, first);
  for (PetscReal *x = first; x; x = va_arg(list, PetscReal *)) CALL(PetscFree(x));
  va_end(list);
}

/* x = F X + shift */
static void Map(Mesh m, const PetscReal F[9], const PetscReal shift[3], PetscReal *x)
{
  for (PetscInt i = 0; i < m->nnode; i++) {
    for (PetscInt c = 0; c < 3; c++) {
      x[3 * i + c] = shift[c] + F[3 * c] * m->coord[3 * i] + F[3 * c + 1] * m->coord[3 * i + 1] + F[3 * c + 2] * m->coord[3 * i + 2];
    }
  }
}

/* Rotation by `angle` about the direction (1, 2, -0.5) */
static void Rotation(PetscReal angle, PetscReal R[9])
{
  const PetscReal l = PetscSqrtReal(5.25), k[3] = {1 / l, 2 / l, -0.5 / l}, c = PetscCosReal(angle), s = PetscSinReal(angle);
  const PetscReal K[9] = {0, -k[2], k[1], k[2], 0, -k[0], -k[1], k[0], 0};

  for (PetscInt i = 0; i < 9; i++) R[i] = (i % 4 ? 0 : c) + s * K[i] + (1 - c) * k[i / 3] * k[i % 3];
}

static PetscReal *RandomState(Mesh m, PetscReal size, unsigned seed)
{
  PetscReal *x = Array(3 * m->nnode), R[9], shift[3] = {0.3, -2, 1};

  Rotation(0.8, R);
  Map(m, R, shift, x);
  for (PetscInt i = 0; i < 3 * m->nnode; i++) x[i] += size * Random(&seed);
  return x;
}

/* Full matrix of the block-upper values; PETSc's blocks are by columns */
static PetscReal *Dense(Assembly as, const PetscReal *a)
{
  PetscInt        nb, n;
  const PetscInt *ia, *ja;
  PetscReal      *K;

  CALL(AssemblyGetPattern(as, &nb, &ia, &ja));
  n = 3 * nb;
  K = Array(n * n);
  for (PetscInt i = 0; i < nb; i++) {
    assert_int_equal(ja[ia[i]], i);
    for (PetscInt k = ia[i]; k < ia[i + 1]; k++) {
      if (k > ia[i]) assert_true(ja[k] > ja[k - 1]);
      for (PetscInt r = 0; r < 3; r++) {
        for (PetscInt c = 0; c < 3; c++) K[(3 * i + r) * n + 3 * ja[k] + c] = K[(3 * ja[k] + c) * n + 3 * i + r] = a[9 * k + 3 * c + r];
      }
    }
  }
  return K;
}

static PetscReal *Values(Assembly as, PetscInt *size)
{
  PetscInt        nb;
  const PetscInt *ia;

  CALL(AssemblyGetPattern(as, &nb, &ia, NULL));
  if (size) *size = 9 * ia[nb];
  return Array(9 * ia[nb]);
}

static PetscReal Largest(PetscInt n, const PetscReal *x)
{
  PetscReal m = 0;

  for (PetscInt i = 0; i < n; i++) m = PetscMax(m, PetscAbsReal(x[i]));
  return m;
}

static PetscReal Difference(PetscInt n, const PetscReal *x, const PetscReal *y)
{
  PetscReal m = 0;

  for (PetscInt i = 0; i < n; i++) m = PetscMax(m, PetscAbsReal(x[i] - y[i]));
  return m;
}

static PetscBool Inside(Mesh m, const PetscReal X[3]) /* of the undistorted box */
{
  PetscReal hi[3] = {0, 0, 0};

  for (PetscInt i = 0; i < 3 * m->nnode; i++) hi[i % 3] = PetscMax(hi[i % 3], m->coord[i]);
  for (PetscInt c = 0; c < 3; c++) {
    if (X[c] < 0.5 || X[c] > hi[c] - 0.5) return PETSC_FALSE;
  }
  return PETSC_TRUE;
}

/* Not 0 if this processor has no such vectors: the caller goes on to the next width */
static PetscErrorCode TryWidth(Assembly as, PetscInt width)
{
  PetscErrorCode e;

  PetscPushErrorHandler(PetscReturnErrorHandler, NULL);
  e = AssemblySetSIMD(as, width);
  PetscPopErrorHandler();
  return e;
}

/* ---- tests ---- */

static void test_shape(void **state)
{
  /* corners as the Exodus manual and VTK number them */
  static const PetscReal corner[8][3] = {{-1, -1, -1}, {1, -1, -1}, {1, 1, -1}, {-1, 1, -1}, {-1, -1, 1}, {1, -1, 1}, {1, 1, 1}, {-1, 1, 1}};
  const PetscReal        xi[3] = {0.3, -0.7, 0.45}, h = 1e-5;
  PetscReal              N[8], dN[24], up[8], down[8], sum = 0, volume = 0;
  const Element         *el;

  (void)state;
  CALL(ElementFind("hex8", &el));
  assert_int_equal(el->nnode, 8);
  assert_int_equal(el->nside, 6);
  for (PetscInt a = 0; a < 8; a++) {
    el->shape(corner[a], N, NULL);
    for (PetscInt b = 0; b < 8; b++) NEAR(N[b], a == b, 1e-15);
  }
  el->shape(xi, N, dN);
  for (PetscInt a = 0; a < 8; a++) sum += N[a];
  NEAR(sum, 1, 1e-15);
  for (PetscInt c = 0; c < 3; c++) {
    PetscReal y[3] = {xi[0], xi[1], xi[2]};

    y[c] = xi[c] + h;
    el->shape(y, up, NULL);
    y[c] = xi[c] - h;
    el->shape(y, down, NULL);
    for (PetscInt a = 0; a < 8; a++) NEAR(dN[3 * a + c], (up[a] - down[a]) / (2 * h), 1e-9);
  }
  for (PetscInt q = 0; q < el->nquad; q++) volume += el->weight[q] * PetscPowRealInt(el->xi[3 * q], 2) * PetscPowRealInt(el->xi[3 * q + 1], 2);
  NEAR(volume, 8. / 9, 1e-14);
}

/* Volume and first moments by the divergence theorem on the bilinear faces; mass and G by a 4x4x4 rule */
static void test_integrate(void **state)
{
  static const PetscInt face[6][4] = {{0, 1, 5, 4}, {1, 2, 6, 5}, {2, 3, 7, 6}, {0, 4, 7, 3}, {0, 3, 2, 1}, {4, 5, 6, 7}};
  const PetscReal       away = 1e6;

  (void)state;
  for (unsigned seed = 1; seed < 6; seed++) {
    Mesh           m = MakeBox(1, 1, 1, 0.3, seed), many = MakeBox(3, 2, 2, 0.2, seed);
    PetscReal      V = 0, first[3] = {0, 0, 0}, mass[8], G[24], ref_mass[8] = {0}, ref_G[24] = {0}, volume, centre[3], *big, sum = 0, moment = 0;
    const PetscInt *conn = m->block[0].conn;
    const Element  *el;

    CALL(ElementFind("hex8", &el));
    for (PetscInt s = 0; s < 6; s++) {
      for (PetscInt q = 0; q < 16; q++) {
        const PetscReal u = gauss4[q % 4], v = gauss4[q / 4], w = weight4[q % 4] * weight4[q / 4];
        const PetscReal n[4] = {(1 - u) * (1 - v) / 4, (1 + u) * (1 - v) / 4, (1 + u) * (1 + v) / 4, (1 - u) * (1 + v) / 4};
        const PetscReal du[4] = {-(1 - v) / 4, (1 - v) / 4, (1 + v) / 4, -(1 + v) / 4};
        const PetscReal dv[4] = {-(1 - u) / 4, -(1 + u) / 4, (1 + u) / 4, (1 - u) / 4};
        PetscReal       x[3] = {0}, a[3] = {0}, b[3] = {0};

        for (PetscInt k = 0; k < 4; k++) {
          for (PetscInt c = 0; c < 3; c++) {
            const PetscReal X = m->coord[3 * conn[face[s][k]] + c];

            x[c] += n[k] * X, a[c] += du[k] * X, b[c] += dv[k] * X;
          }
        }
        for (PetscInt c = 0; c < 3; c++) {
          const PetscInt  i = (c + 1) % 3, j = (c + 2) % 3;
          const PetscReal normal = a[i] * b[j] - a[j] * b[i];

          V += w * x[c] * normal / 3;
          first[c] += w * x[c] * x[c] * normal / 2;
        }
      }
    }
    for (PetscInt q = 0; q < 64; q++) {
      const PetscReal xi[3] = {gauss4[q % 4], gauss4[q / 4 % 4], gauss4[q / 16]}, w = weight4[q % 4] * weight4[q / 4 % 4] * weight4[q / 16];
      PetscReal       N[8], dN[24], J[3][3] = {{0}}, det = 0;

      el->shape(xi, N, dN);
      for (PetscInt a = 0; a < 8; a++) {
        for (PetscInt i = 0; i < 9; i++) J[i / 3][i % 3] += m->coord[3 * conn[a] + i / 3] * dN[3 * a + i % 3];
      }
      for (PetscInt c = 0; c < 3; c++) det += J[0][c] * (J[1][(c + 1) % 3] * J[2][(c + 2) % 3] - J[1][(c + 2) % 3] * J[2][(c + 1) % 3]);
      for (PetscInt a = 0; a < 8; a++) {
        ref_mass[conn[a]] += 2.5 * w * det * N[a];
        for (PetscInt i = 0; i < 3; i++) { /* det J^-T dN by cofactors */
          for (PetscInt j = 0; j < 3; j++) {
            const PetscInt k = (i + 1) % 3, l = (i + 2) % 3, r = (j + 1) % 3, s = (j + 2) % 3;

            ref_G[3 * conn[a] + i] += w * (J[k][r] * J[l][s] - J[k][s] * J[l][r]) * dN[3 * a + j];
          }
        }
      }
    }
    CALL(MeshIntegrate(m, 2.5, mass, G, &volume, centre));
    NEAR(volume, V, 1e-13);
    for (PetscInt c = 0; c < 3; c++) NEAR(centre[c], first[c] / V, 1e-13);
    assert_true(Difference(8, mass, ref_mass) < 1e-13);
    assert_true(Difference(24, G, ref_G) < 1e-13);
    /* many elements: masses sum to rho V, first moments of G give V I */
    big = Array(4 * many->nnode);
    CALL(MeshIntegrate(many, 2.5, big, big + many->nnode, &volume, NULL));
    for (PetscInt i = 0; i < many->nnode; i++) sum += big[i], moment += many->coord[3 * i + 1] * big[many->nnode + 3 * i + 1];
    NEAR(sum, 2.5 * volume, 1e-12);
    NEAR(moment, volume, 1e-12);
    CALL(PetscFree(big));
    /* far away the volume is as good as the coordinates are */
    for (PetscInt i = 0; i < 24; i++) m->coord[i] += away;
    CALL(MeshIntegrate(m, 1, NULL, NULL, &volume, centre));
    NEAR(volume, V, 2e-9);
    for (PetscInt c = 0; c < 3; c++) NEAR(centre[c] - away, first[c] / V, 2e-9);
    FreeMesh(m);
    FreeMesh(many);
  }
}

/* A linear map of a distorted mesh: F and stress uniform, energy = W(F) V, forces on inner nodes vanish */
static void test_patch(void **state)
{
  const PetscReal F[9] = {1.1, 0.2, -0.05, 0.03, 0.9, 0.15, -0.1, 0.07, 1.05}, shift[3] = {3, -1, 2};
  Mesh            m  = MakeBox(4, 3, 3, 0.15, 7);
  Mesh            straight = MakeBox(4, 3, 3, 0, 7); /* same numbering */
  PetscReal      *x = Array(3 * m->nnode), *f = Array(3 * m->nnode), energy, volume, W, trace = 0, square = 0, largest, s0[6];
  PetscInt        ninner = 0;
  Assembly        as;

  (void)state;
  Map(m, F, shift, x);
  CALL(AssemblyCreate(m, &as));
  CALL(MeshIntegrate(m, 1, NULL, NULL, &volume, NULL));
  for (PetscInt i = 0; i < 9; i++) {
    const PetscReal E = 0.5 * (F[i / 3] * F[i % 3] + F[3 + i / 3] * F[3 + i % 3] + F[6 + i / 3] * F[6 + i % 3] - (i % 4 == 0));

    square += E * E;
    if (i % 4 == 0) trace += E;
  }
  W = 0.5 * svk.lambda * trace * trace + svk.mu * square;
  for (PetscInt width = 2; width <= 8; width *= 2) {
    if (TryWidth(as, width)) continue;
    CALL(AssemblyEnergy(as, &svk, x, 1, &energy));
    NEAR(energy / (W * volume), 1, 1e-13);
    CALL(AssemblyTangent(as, &svk, x, 1, NULL, f));
    largest = Largest(3 * m->nnode, f);
    assert_true(largest > 0.1);
    for (PetscInt i = 0; i < m->nnode; i++) {
      if (!Inside(straight, straight->coord + 3 * i)) continue;
      ninner++;
      assert_true(Largest(3, f + 3 * i) < 1e-12 * largest);
    }
  }
  assert_true(ninner >= 3 * 2 * 2);
  CALL(ElasticCauchy(&svk, F, s0, NULL));
  for (PetscInt e = 0; e < m->nelem; e++) {
    const PetscReal xi[3] = {0.9 - 0.05 * e, -0.3, 0.8};
    PetscReal       Fe[9], s[6];

    CALL(ElementDeformation(m, e, xi, x, 1, Fe));
    assert_true(Difference(9, Fe, F) < 1e-12);
    CALL(ElasticCauchy(&svk, Fe, s, NULL));
    assert_true(Difference(6, s, s0) < 1e-11);
  }
  CALL(AssemblyDestroy(&as));
  Free(x, f, NULL);
  FreeMesh(m);
  FreeMesh(straight);
}

static void test_rigid(void **state)
{
  const PetscReal shift[3] = {-5, 8, 2};
  Mesh            m = MakeBox(3, 3, 2, 0.15, 11);
  PetscInt        n = 3 * m->nnode;
  PetscReal      *x = Array(n), *f = Array(n), *a, *K, R[9], scale, energy;
  Assembly        as;

  (void)state;
  CALL(AssemblyCreate(m, &as));
  a = Values(as, NULL);
  for (PetscInt width = 2; width <= 8; width *= 2) {
    if (TryWidth(as, width)) continue;
    for (PetscReal angle = 0; angle < 7; angle += 0.8) {
      Rotation(angle, R);
      Map(m, R, shift, x);
      CALL(AssemblyTangent(as, &svk, x, 1, a, f));
      CALL(AssemblyEnergy(as, &svk, x, 1, &energy));
      assert_true(Largest(n, f) < 1e-12 * svk.mu);
      assert_true(energy >= 0 && energy < 1e-24);
    }
    /* K at the reference, and at a turned state, has the six rigid motions as null vectors */
    K     = Dense(as, a);
    scale = Largest(n * n, K);
    for (PetscInt mode = 0; mode < 6; mode++) {
      for (PetscInt i = 0; i < n; i++) {
        PetscReal sum = 0;

        for (PetscInt j = 0; j < n; j++) {
          const PetscInt c = j % 3, k = mode - 3, node = j - c;
          PetscReal      u = mode < 3 ? c == mode : 0;

          if (mode >= 3 && c == (k + 1) % 3) u = -x[node + (k + 2) % 3];
          if (mode >= 3 && c == (k + 2) % 3) u = x[node + (k + 1) % 3];
          sum += K[i * n + j] * u;
        }
        assert_true(PetscAbsReal(sum) < 1e-12 * scale * 10); /* lengths are up to 10 */
      }
    }
    CALL(PetscFree(K));
  }
  CALL(AssemblyDestroy(&as));
  Free(x, f, a, NULL);
  FreeMesh(m);
}

static void test_finite_differences(void **state)
{
  const PetscReal h = 1e-5;
  Mesh            m = MakeBox(3, 3, 3, 0.15, 3); /* blocks of 9 and 18: neither is whole groups of 4 or 8 */
  PetscInt        n = 3 * m->nnode;
  PetscReal      *x = RandomState(m, 0.15, 5), *f = Array(n), *up = Array(n), *down = Array(n), *a, *K, scale, fscale;
  Assembly        as;

  (void)state;
  CALL(AssemblyCreate(m, &as));
  a = Values(as, NULL);
  for (PetscInt width = 2; width <= 8; width *= 2) {
    if (TryWidth(as, width)) continue;
    CALL(AssemblyTangent(as, &svk, x, 1, a, f));
    K      = Dense(as, a);
    scale  = Largest(n * n, K);
    fscale = Largest(n, f);
    assert_true(fscale > 0.01);
    for (PetscInt j = 0; j < n; j++) {
      const PetscReal old = x[j];
      PetscReal       e1, e0;

      x[j] = old + h;
      CALL(AssemblyTangent(as, &svk, x, 1, NULL, up));
      CALL(AssemblyEnergy(as, &svk, x, 1, &e1));
      x[j] = old - h;
      CALL(AssemblyTangent(as, &svk, x, 1, NULL, down));
      CALL(AssemblyEnergy(as, &svk, x, 1, &e0));
      x[j] = old;
      assert_true(PetscAbsReal((e1 - e0) / (2 * h) - f[j]) < 1e-7 * fscale);
      /* every column j of the differences against row j of K as well: K is symmetric */
      for (PetscInt i = 0; i < n; i++) {
        assert_true(PetscAbsReal((up[i] - down[i]) / (2 * h) - K[i * n + j]) < 1e-7 * scale);
        assert_true(PetscAbsReal(K[i * n + j] - K[j * n + i]) < 1e-13 * scale);
      }
    }
    CALL(PetscFree(K));
  }
  CALL(AssemblyDestroy(&as));
  Free(x, f, up, down, a, NULL);
  FreeMesh(m);
}

/* The pattern and values are what PETSc takes as SBAIJ: its product is the directional derivative of the force */
static void test_sbaij(void **state)
{
  const PetscReal h = 1e-5;
  Mesh            m = MakeBox(3, 2, 4, 0.15, 21);
  PetscInt        n = 3 * m->nnode, nb;
  const PetscInt *ia, *ja;
  PetscReal      *x = RandomState(m, 0.1, 5), *u = Array(n), *f = Array(n), *up = Array(n), *down = Array(n), *a, *values, *y = Array(n);
  unsigned        seed = 4;
  Mat             A;
  Vec             v, w;
  Assembly        as;
  PetscInt       *nnz;

  (void)state;
  CALL(AssemblyCreate(m, &as));
  CALL(AssemblyGetPattern(as, &nb, &ia, &ja));
  a = Values(as, NULL);
  CALL(AssemblyTangent(as, &svk, x, 1, a, f));
  CALL(PetscMalloc1(nb, &nnz));
  for (PetscInt i = 0; i < nb; i++) nnz[i] = ia[i + 1] - ia[i];
  CALL(MatCreateSeqSBAIJ(PETSC_COMM_SELF, 3, n, n, 0, nnz, &A));
  for (PetscInt i = 0; i < nb; i++) {
    for (PetscInt k = ia[i]; k < ia[i + 1]; k++) {
      const PetscReal zero[9] = {0};

      CALL(MatSetValuesBlocked(A, 1, &i, 1, &ja[k], zero, INSERT_VALUES));
    }
  }
  CALL(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
  CALL(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
  CALL(MatSeqSBAIJGetArray(A, &values));
  CALL(PetscArraycpy(values, a, 9 * ia[nb]));
  CALL(MatSeqSBAIJRestoreArray(A, &values));
  for (PetscInt i = 0; i < n; i++) u[i] = Random(&seed);
  CALL(VecCreateSeqWithArray(PETSC_COMM_SELF, 3, n, u, &v));
  CALL(VecCreateSeqWithArray(PETSC_COMM_SELF, 3, n, y, &w));
  CALL(MatMult(A, v, w));
  for (PetscInt i = 0; i < n; i++) x[i] += h * u[i];
  CALL(AssemblyTangent(as, &svk, x, 1, NULL, up));
  for (PetscInt i = 0; i < n; i++) x[i] -= 2 * h * u[i];
  CALL(AssemblyTangent(as, &svk, x, 1, NULL, down));
  for (PetscInt i = 0; i < n; i++) up[i] = (up[i] - down[i]) / (2 * h);
  assert_true(Largest(n, y) > 1);
  assert_true(Difference(n, up, y) < 1e-7 * Largest(n, y));
  CALL(MatDestroy(&A));
  CALL(VecDestroy(&v));
  CALL(VecDestroy(&w));
  CALL(AssemblyDestroy(&as));
  CALL(PetscFree(nnz));
  Free(x, u, f, up, down, a, y, NULL);
  FreeMesh(m);
}

/* Exactly six zero eigenvalues: no hourglass modes, none negative */
static void test_eigenvalues(void **state)
{
  (void)state;
  for (PetscInt k = 1; k <= 2; k++) {
    Mesh         m = MakeBox(k, k, k, 0.2, 13);
    PetscInt     n = 3 * m->nnode;
    PetscBLASInt bn = (PetscBLASInt)n, lwork = 8 * bn, info;
    PetscReal   *a, *K, *eigen = Array(n), *work = Array(lwork);
    Assembly     as;

    CALL(AssemblyCreate(m, &as));
    a = Values(as, NULL);
    CALL(AssemblyTangent(as, &svk, m->coord, 1, a, NULL));
    K = Dense(as, a);
    LAPACKsyev_("N", "U", &bn, K, &bn, eigen, work, &lwork, &info);
    assert_int_equal(info, 0);
    for (PetscInt i = 0; i < 6; i++) assert_true(PetscAbsReal(eigen[i]) < 1e-13 * eigen[n - 1]);
    assert_true(eigen[6] > 1e-3 * eigen[n - 1]);
    CALL(AssemblyDestroy(&as));
    Free(a, K, eigen, work, NULL);
    FreeMesh(m);
  }
}

/* All widths give the same, also in one lane of a batch (stride), with force or tangent alone; the energy is that of a plain sum */
static void test_widths_and_strides(void **state)
{
  const PetscInt stride = 5;
  Mesh           m = MakeBox(3, 3, 3, 0.15, 17);
  PetscInt       n = 3 * m->nnode, na, tried = 0;
  PetscReal     *x = RandomState(m, 0.15, 9), *f = Array(n), *f1 = Array(n), *xs = Array(n * stride), *fs = Array(n * stride);
  PetscReal     *a, *b, energy, plain = 0, e1;
  const Element *el;
  Assembly       as;

  (void)state;
  CALL(ElementFind("hex8", &el));
  CALL(AssemblyCreate(m, &as));
  a = Values(as, &na);
  b = Values(as, NULL);
  for (PetscInt e = 0; e < m->nelem; e++) {
    const PetscInt *conn = e < m->block[0].nelem ? m->block[0].conn + 8 * e : m->block[1].conn + 8 * (e - m->block[0].nelem);

    for (PetscInt q = 0; q < el->nquad; q++) {
      PetscReal F[9], dN[24], J[9] = {0}, det = 0, trace = 0, square = 0;

      CALL(ElementDeformation(m, e, el->xi + 3 * q, x, 1, F));
      el->shape(el->xi + 3 * q, NULL, dN);
      for (PetscInt k = 0; k < 72; k++) J[k % 9] += m->coord[3 * conn[k / 9] + k % 9 / 3] * dN[3 * (k / 9) + k % 3];
      for (PetscInt c = 0; c < 3; c++) det += J[c] * (J[3 + (c + 1) % 3] * J[6 + (c + 2) % 3] - J[3 + (c + 2) % 3] * J[6 + (c + 1) % 3]);
      for (PetscInt i = 0; i < 9; i++) {
        const PetscReal E = 0.5 * (F[i / 3] * F[i % 3] + F[3 + i / 3] * F[3 + i % 3] + F[6 + i / 3] * F[6 + i % 3] - (i % 4 == 0));

        square += E * E;
        if (i % 4 == 0) trace += E;
      }
      plain += el->weight[q] * det * (0.5 * svk.lambda * trace * trace + svk.mu * square);
    }
  }
  CALL(AssemblySetSIMD(as, 2));
  CALL(AssemblyTangent(as, &svk, x, 1, a, f));
  CALL(AssemblyEnergy(as, &svk, x, 1, &energy));
  NEAR(energy / plain, 1, 1e-13);
  for (PetscInt i = 0; i < n; i++) xs[i * stride] = x[i];
  for (PetscInt width = 0; width <= 8; width += 2) {
    if (TryWidth(as, width)) continue;
    tried++;
    for (PetscInt i = 0; i < na; i++) b[i] = 1e30; /* must be overwritten */
    for (PetscInt i = 0; i < n * stride; i++) fs[i] = 77;
    CALL(AssemblyTangent(as, &svk, xs, stride, b, fs));
    assert_true(Difference(na, a, b) < 1e-14 * Largest(na, a));
    for (PetscInt i = 0; i < n * stride; i++) {
      if (i % stride) assert_true(fs[i] == 77); /* other lanes are not touched */
      else f1[i / stride] = fs[i];
    }
    assert_true(Difference(n, f, f1) < 2e-14 * Largest(n, f));
    CALL(AssemblyTangent(as, &svk, xs, stride, NULL, fs));
    for (PetscInt i = 0; i < n; i++) f1[i] = fs[i * stride];
    assert_true(Difference(n, f, f1) < 2e-14 * Largest(n, f));
    for (PetscInt i = 0; i < na; i++) b[i] = 1e30;
    CALL(AssemblyTangent(as, &svk, x, 1, b, NULL));
    assert_true(Difference(na, a, b) < 1e-14 * Largest(na, a));
    CALL(AssemblyEnergy(as, &svk, xs, stride, &e1));
    NEAR(e1 / energy, 1, 1e-14);
    /* twice the same: the same bits */
    CALL(AssemblyTangent(as, &svk, x, 1, b, f1));
    CALL(AssemblyTangent(as, &svk, x, 1, a, f));
    assert_memory_equal(a, b, na * sizeof(PetscReal));
    assert_memory_equal(f, f1, n * sizeof(PetscReal));
  }
  assert_true(tried >= 2);
  CALL(AssemblyDestroy(&as));
  Free(x, f, f1, xs, fs, a, b, NULL);
  FreeMesh(m);
}

/* f(Rx + t) = R f(x), K(Rx + t) = R K(x) R^T */
static void test_objectivity(void **state)
{
  Mesh       m = MakeBox(2, 3, 2, 0.15, 19);
  PetscInt   n = 3 * m->nnode;
  PetscReal *x = RandomState(m, 0.15, 2), *y = Array(n), *f = Array(n), *g = Array(n), *a, *K, *L, R[9], scale;
  Assembly   as;

  (void)state;
  CALL(AssemblyCreate(m, &as));
  a = Values(as, NULL);
  Rotation(2.1, R);
  for (PetscInt i = 0; i < n; i++) {
    const PetscReal *p = x + i - i % 3, *r = R + 3 * (i % 3);

    y[i] = r[0] * p[0] + r[1] * p[1] + r[2] * p[2] + 0.7;
  }
  CALL(AssemblyTangent(as, &svk, x, 1, a, f));
  K = Dense(as, a);
  CALL(AssemblyTangent(as, &svk, y, 1, a, g));
  L     = Dense(as, a);
  scale = Largest(n * n, K);
  for (PetscInt i = 0; i < n; i++) {
    const PetscReal *p = f + i - i % 3, *r = R + 3 * (i % 3);

    assert_true(PetscAbsReal(g[i] - r[0] * p[0] - r[1] * p[1] - r[2] * p[2]) < 1e-12 * scale);
    for (PetscInt j = 0; j < n; j++) {
      PetscReal sum = 0;

      for (PetscInt k = 0; k < 9; k++) sum += r[k / 3] * R[3 * (j % 3) + k % 3] * K[(i - i % 3 + k / 3) * n + j - j % 3 + k % 3];
      assert_true(PetscAbsReal(sum - L[i * n + j]) < 1e-12 * scale);
    }
  }
  CALL(AssemblyDestroy(&as));
  Free(x, y, f, g, a, K, L, NULL);
  FreeMesh(m);
}

static void test_cauchy(void **state)
{
  const PetscReal lambda = svk.lambda, mu = svk.mu, young = mu * (3 * lambda + 2 * mu) / (lambda + mu), nu = lambda / (2 * (lambda + mu));
  PetscReal       s[6], t[6], mises, R[9], F[9];

  (void)state;
  /* uniaxial stress of SVK: S_xx = E E_xx, E_yy = -nu E_xx; sigma_xx = stretch^2 S_xx / det F, all else zero; turned, it turns along */
  for (PetscReal stretch = 0.8; stretch < 1.5; stretch += 0.1) {
    const PetscReal exx = (stretch * stretch - 1) / 2, thin = PetscSqrtReal(1 - 2 * nu * exx), exact = young * exx * stretch / (thin * thin);
    const PetscReal U[9] = {stretch, 0, 0, 0, thin, 0, 0, 0, thin};

    CALL(ElasticCauchy(&svk, U, s, &mises));
    NEAR(s[0], exact, 1e-13);
    for (PetscInt i = 1; i < 6; i++) NEAR(s[i], 0, 1e-13);
    NEAR(mises, PetscAbsReal(exact), 1e-13);
    Rotation(1.1, R);
    for (PetscInt i = 0; i < 9; i++) F[i] = R[i] * U[4 * (i % 3)];
    CALL(ElasticCauchy(&svk, F, s, &mises));
    NEAR(mises, PetscAbsReal(exact), 1e-13);
    NEAR(s[0], exact * R[0] * R[0], 1e-13);
    NEAR(s[3], exact * R[0] * R[3], 1e-13);
    NEAR(s[4], exact * R[3] * R[6], 1e-13);
    NEAR(s[5], exact * R[6] * R[0], 1e-13);
  }
  /* small strains: Hooke's law; the antisymmetric part does not count; SVK agrees to first order */
  {
    const PetscReal e = 1e-7, G[9] = {1, 2, -3, 4, -5, 6, 7, 8, 9}, trace = 5 * e;
    const PetscReal exact[6] = {lambda * trace + 2 * mu * e, lambda * trace - 10 * mu * e, lambda * trace + 18 * mu * e,
                                6 * mu * e,                  14 * mu * e,                  4 * mu * e};
    PetscReal       vm = 0, gap[2];

    for (PetscInt i = 0; i < 9; i++) F[i] = (i % 4 == 0) + e * G[i];
    CALL(ElasticCauchy(&linear, F, s, &mises));
    for (PetscInt i = 0; i < 6; i++) {
      const PetscReal dev = exact[i] - (i < 3 ? (exact[0] + exact[1] + exact[2]) / 3 : 0);

      NEAR(s[i], exact[i], 1e-14);
      vm += (i < 3 ? 1.5 : 3) * dev * dev; /* von Mises = sqrt(3/2 dev:dev) */
    }
    NEAR(mises / PetscSqrtReal(vm), 1, 1e-7);
    for (PetscInt k = 0; k < 2; k++) { /* the difference falls with the square of the strain */
      for (PetscInt i = 0; i < 9; i++) F[i] = (i % 4 == 0) + (k ? 1e-5 : 2e-5) * G[i];
      CALL(ElasticCauchy(&linear, F, s, NULL));
      CALL(ElasticCauchy(&svk, F, t, NULL));
      gap[k] = Difference(6, s, t);
    }
    assert_true(gap[1] > 1e-9 && gap[1] < 1e-2 * Largest(6, s));
    NEAR(gap[0] / gap[1], 4, 0.02);
  }
}

static void test_locate(void **state)
{
  Mesh           m = MakeBox(3, 3, 3, 0.2, 23);
  const Element *el;
  unsigned       seed = 8;

  (void)state;
  CALL(ElementFind("hex8", &el));
  for (PetscInt away = 0; away < 2; away++) {
    const PetscReal tol = away ? 1e-8 : 1e-11;

    for (PetscInt i = 0; away && i < 3 * m->nnode; i++) m->coord[i] += 1e4;
    for (PetscInt e = 0; e < m->nelem; e++) {
      const PetscInt *conn = e < m->block[0].nelem ? m->block[0].conn + 8 * e : m->block[1].conn + 8 * (e - m->block[0].nelem);

      for (PetscInt k = 0; k < 12; k++) {
        PetscReal xi[3], N[8], X[3] = {0, 0, 0}, Y[3] = {0, 0, 0}, found[3];
        PetscInt  elem;

        for (PetscInt c = 0; c < 3; c++) xi[c] = k < 8 ? 0.999 * Random(&seed) : (k < 10 && c == k % 3 ? 1 : 0.5 * Random(&seed)); /* some on faces */
        el->shape(xi, N, NULL);
        for (PetscInt a = 0; a < 24; a++) X[a % 3] += N[a / 3] * m->coord[3 * conn[a / 3] + a % 3];
        CALL(MeshLocatePoint(m, X, &elem, found));
        assert_true(elem >= 0);
        if (k < 8) {
          assert_int_equal(elem, e);
          assert_true(Difference(3, xi, found) < tol);
        }
        conn = elem < m->block[0].nelem ? m->block[0].conn + 8 * elem : m->block[1].conn + 8 * (elem - m->block[0].nelem);
        el->shape(found, N, NULL);
        for (PetscInt a = 0; a < 24; a++) Y[a % 3] += N[a / 3] * m->coord[3 * conn[a / 3] + a % 3];
        assert_true(Difference(3, X, Y) < tol);
        conn = e < m->block[0].nelem ? m->block[0].conn + 8 * e : m->block[1].conn + 8 * (e - m->block[0].nelem);
      }
    }
  }
  FreeMesh(m);
  /* the tolerance: 1e-6 of the element's size; what is farther out is outside, also outside a slanted face but inside the box around it */
  m = MakeBox(2, 2, 2, 0, 1);
  {
    const PetscReal out[4][3] = {{2 + 1e-4, 1, 1}, {1, -1e-4, 0.5}, {50, 50, 50}, {2.05, 1.9, 1}};
    PetscReal       X[3] = {2 + 5e-7, 0.5, 1.5}, xi[3];
    PetscInt        elem;

    CALL(MeshLocatePoint(m, X, &elem, xi));
    assert_true(elem >= 0);
    for (PetscInt k = 0; k < 3; k++) {
      CALL(MeshLocatePoint(m, out[k], &elem, xi));
      assert_int_equal(elem, -1);
    }
    for (PetscInt i = 0; i < m->nnode; i++) m->coord[3 * i] += 0.2 * (2 - m->coord[3 * i + 1]); /* shear: top right edge stays at x = 2 */
    CALL(MeshLocatePoint(m, out[3], &elem, xi));
    assert_int_equal(elem, -1);
    X[0] = 1.99, X[1] = 1.9, X[2] = 1.1;
    CALL(MeshLocatePoint(m, X, &elem, xi));
    assert_true(elem >= 0);
  }
  FreeMesh(m);
}

static void test_mistakes(void **state)
{
  Mesh           m = MakeBox(1, 1, 1, 0, 1);
  Assembly       as = NULL;
  const Element *el;
  PetscInt       keep;

  (void)state;
  PetscPushErrorHandler(PetscReturnErrorHandler, NULL);
  assert_int_equal(ElementFind("tet4", &el), PETSC_ERR_USER_INPUT);
  keep                = m->block[0].conn[3];
  m->block[0].conn[3] = m->block[0].conn[2];
  assert_int_equal(AssemblyCreate(m, &as), PETSC_ERR_USER_INPUT);
  CALL(AssemblyDestroy(&as));
  m->block[0].conn[3] = keep;
  CALL(AssemblyCreate(m, &as));
  assert_int_equal(AssemblySetSIMD(as, 3), PETSC_ERR_USER_INPUT);
  CALL(AssemblyDestroy(&as));
  PetscPopErrorHandler();
  FreeMesh(m);
}

int main(int argc, char **argv)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_shape),      cmocka_unit_test(test_integrate),          cmocka_unit_test(test_patch),
    cmocka_unit_test(test_rigid),      cmocka_unit_test(test_finite_differences), cmocka_unit_test(test_sbaij),
    cmocka_unit_test(test_eigenvalues), cmocka_unit_test(test_widths_and_strides), cmocka_unit_test(test_objectivity),
    cmocka_unit_test(test_cauchy),     cmocka_unit_test(test_locate),             cmocka_unit_test(test_mistakes),
  };
  int failed;

  if (PetscInitialize(&argc, &argv, NULL, NULL)) return 1;
  failed = cmocka_run_group_tests(tests, NULL, NULL);
  if (PetscFinalize()) return 1;
  return failed;
}
