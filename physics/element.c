/* Element table and everything that only needs shape functions: integrals over a mesh, deformation and stress at a point, point location. */
#include "element.h"

/* ---- hex8: trilinear hexahedron, corners in Exodus (= VTK) order, 2x2x2 Gauss ---- */

static void Hex8Shape_Private(const PetscReal xi[3], PetscReal N[], PetscReal dN[])
{
  static const signed char corner[8][3] = {{-1, -1, -1}, {1, -1, -1}, {1, 1, -1}, {-1, 1, -1}, {-1, -1, 1}, {1, -1, 1}, {1, 1, 1}, {-1, 1, 1}};

  for (PetscInt a = 0; a < 8; a++) {
    const PetscReal s = 1 + corner[a][0] * xi[0], t = 1 + corner[a][1] * xi[1], r = 1 + corner[a][2] * xi[2];

    if (N) N[a] = 0.125 * s * t * r;
    if (dN) {
      dN[3 * a]     = 0.125 * corner[a][0] * t * r;
      dN[3 * a + 1] = 0.125 * corner[a][1] * s * r;
      dN[3 * a + 2] = 0.125 * corner[a][2] * s * t;
    }
  }
}

#define G2 0.57735026918962576451 /* 1/sqrt(3) */
static const PetscReal Hex8Xi[24]    = {-G2, -G2, -G2, G2, -G2, -G2, -G2, G2, -G2, G2, G2, -G2, -G2, -G2, G2, G2, -G2, G2, -G2, G2, G2, G2, G2, G2};
static const PetscReal Hex8Weight[8] = {1, 1, 1, 1, 1, 1, 1, 1};
#undef G2

/* A new kind is one line here (and one in assembly.c's table of kernels). */
static const Element ElementTable[] = {
  {"hex8", 8, 8, 6, Hex8Xi, Hex8Weight, Hex8Shape_Private},
};

PetscErrorCode ElementFind(const char name[], const Element **e)
{
  PetscFunctionBeginUser;
  for (size_t i = 0; i < PETSC_STATIC_ARRAY_LENGTH(ElementTable); i++) {
    PetscBool same;

    PetscCall(PetscStrcasecmp(name, ElementTable[i].name, &same));
    if (same) {
      *e = &ElementTable[i];
      PetscFunctionReturn(0);
    }
  }
  SETERRQ(PETSC_COMM_SELF, PETSC_ERR_USER_INPUT, "elements of type '%s' are not known: use a mesh of hex8 (8-node hexahedra)", name);
}

/* ---- small helpers ---- */

/* inv = J^-1 of a row-major 3x3, returns det J */
static PetscReal Invert_Private(const PetscReal J[9], PetscReal inv[9])
{
  const PetscReal c0 = J[4] * J[8] - J[5] * J[7], c1 = J[5] * J[6] - J[3] * J[8], c2 = J[3] * J[7] - J[4] * J[6];
  const PetscReal det = J[0] * c0 + J[1] * c1 + J[2] * c2, d = 1 / det;

  inv[0] = c0 * d, inv[1] = (J[2] * J[7] - J[1] * J[8]) * d, inv[2] = (J[1] * J[5] - J[2] * J[4]) * d;
  inv[3] = c1 * d, inv[4] = (J[0] * J[8] - J[2] * J[6]) * d, inv[5] = (J[2] * J[3] - J[0] * J[5]) * d;
  inv[6] = c2 * d, inv[7] = (J[1] * J[6] - J[0] * J[7]) * d, inv[8] = (J[0] * J[4] - J[1] * J[3]) * d;
  return det;
}

/* J[3 i + j] = d x_i / d xi_j; the first node is subtracted so that a body far from the origin loses no digits */
static void Jacobian_Private(PetscInt n, const PetscInt node[], const PetscReal *x, PetscInt stride, const PetscReal dN[], PetscReal J[9])
{
  for (PetscInt i = 0; i < 9; i++) J[i] = 0;
  for (PetscInt a = 1; a < n; a++) {
    for (PetscInt i = 0; i < 3; i++) {
      const PetscReal d = x[(3 * (size_t)node[a] + i) * stride] - x[(3 * (size_t)node[0] + i) * stride];

      for (PetscInt j = 0; j < 3; j++) J[3 * i + j] += d * dN[3 * a + j];
    }
  }
}

/* Block and nodes of element e, counted through all blocks */
static PetscErrorCode MeshElement_Private(Mesh mesh, PetscInt e, const Element **el, const PetscInt **node)
{
  PetscInt k = e;

  PetscFunctionBeginUser;
  for (PetscInt b = 0; b < mesh->nblock && k >= 0; k -= mesh->block[b].nelem, b++) {
    if (k < mesh->block[b].nelem) {
      PetscCall(ElementFind(mesh->block[b].type, el));
      *node = mesh->block[b].conn + k * mesh->block[b].nnode;
      PetscFunctionReturn(0);
    }
  }
  SETERRQ(PETSC_COMM_SELF, PETSC_ERR_ARG_OUTOFRANGE, "element %" PetscInt_FMT " asked of a mesh of %" PetscInt_FMT, e, mesh->nelem);
}

/* ---- integrals ---- */

PetscErrorCode MeshIntegrate(Mesh mesh, PetscReal density, PetscReal *mass, PetscReal *G, PetscReal *volume, PetscReal centre[3])
{
  const PetscReal *X = mesh->coord;
  PetscReal        V = 0, first[3] = {0, 0, 0};

  PetscFunctionBeginUser;
  if (mass) PetscCall(PetscArrayzero(mass, mesh->nnode));
  if (G) PetscCall(PetscArrayzero(G, 3 * mesh->nnode));
  for (PetscInt b = 0; b < mesh->nblock; b++) {
    const MeshBlock *block = &mesh->block[b];
    const Element   *el;
    PetscReal       *N, *dN;

    PetscCall(ElementFind(block->type, &el));
    PetscCall(PetscMalloc2(el->nquad * el->nnode, &N, 3 * el->nquad * el->nnode, &dN));
    for (PetscInt q = 0; q < el->nquad; q++) el->shape(el->xi + 3 * q, N + q * el->nnode, dN + 3 * q * el->nnode);
    for (PetscInt e = 0; e < block->nelem; e++) {
      const PetscInt *node = block->conn + e * block->nnode;

      for (PetscInt q = 0; q < el->nquad; q++) {
        const PetscReal *n = N + q * el->nnode, *dn = dN + 3 * q * el->nnode;
        PetscReal        J[9], inv[9], w;

        Jacobian_Private(el->nnode, node, X, 1, dn, J);
        w = el->weight[q] * Invert_Private(J, inv);
        V += w;
        for (PetscInt a = 0; a < el->nnode; a++) {
          /* first moment about node 0 of the mesh, again to keep digits far from the origin */
          for (PetscInt i = 0; i < 3; i++) first[i] += w * n[a] * (X[3 * node[a] + i] - X[i]);
          if (mass) mass[node[a]] += density * w * n[a];
          if (G) {
            for (PetscInt i = 0; i < 3; i++) G[3 * node[a] + i] += w * (dn[3 * a] * inv[i] + dn[3 * a + 1] * inv[3 + i] + dn[3 * a + 2] * inv[6 + i]);
          }
        }
      }
    }
    PetscCall(PetscFree2(N, dN));
  }
  if (volume) *volume = V;
  if (centre) {
    PetscCheck(V > 0, PETSC_COMM_SELF, PETSC_ERR_USER_INPUT, "the mesh has volume %g: it needs elements, and none turned inside out", (double)V);
    for (PetscInt i = 0; i < 3; i++) centre[i] = X[i] + first[i] / V;
  }
  PetscFunctionReturn(0);
}

/* ---- deformation and stress at a point ---- */

PetscErrorCode ElementDeformation(Mesh mesh, PetscInt e, const PetscReal xi[3], const PetscReal *x, PetscInt stride, PetscReal F[9])
{
  const Element  *el   = NULL;
  const PetscInt *node = NULL;
  PetscReal       dN[3 * ELEMENT_MAX_NODES], J[9], inv[9], j[9];

  PetscFunctionBeginUser;
  PetscCall(MeshElement_Private(mesh, e, &el, &node));
  el->shape(xi, NULL, dN);
  Jacobian_Private(el->nnode, node, mesh->coord, 1, dN, J);
  Jacobian_Private(el->nnode, node, x, stride, dN, j);
  (void)Invert_Private(J, inv);
  for (PetscInt i = 0; i < 3; i++) {
    for (PetscInt k = 0; k < 3; k++) F[3 * i + k] = j[3 * i] * inv[k] + j[3 * i + 1] * inv[3 + k] + j[3 * i + 2] * inv[6 + k];
  }
  PetscFunctionReturn(0);
}

PetscErrorCode ElasticCauchy(const Elastic *el, const PetscReal F[9], PetscReal sigma[6], PetscReal *mises)
{
  static const PetscInt row[6] = {0, 1, 2, 0, 1, 2}, col[6] = {0, 1, 2, 1, 2, 0};
  PetscReal             E[9], S[9], t[6];

  PetscFunctionBeginUser;
  for (PetscInt i = 0; i < 3; i++) {
    for (PetscInt j = 0; j < 3; j++) {
      const PetscReal unit = i == j;

      if (el->linear) E[3 * i + j] = 0.5 * (F[3 * i + j] + F[3 * j + i]) - unit;
      else E[3 * i + j] = 0.5 * (F[i] * F[j] + F[3 + i] * F[3 + j] + F[6 + i] * F[6 + j] - unit);
    }
  }
  for (PetscInt i = 0; i < 9; i++) S[i] = 2 * el->mu * E[i] + (i % 4 ? 0 : el->lambda * (E[0] + E[4] + E[8]));
  if (el->linear) {
    for (PetscInt k = 0; k < 6; k++) t[k] = S[3 * row[k] + col[k]];
  } else { /* push forward: sigma = F S F^T / det F */
    PetscReal inv[9], P[9];
    const PetscReal det = Invert_Private(F, inv);

    for (PetscInt i = 0; i < 3; i++) {
      for (PetscInt j = 0; j < 3; j++) P[3 * i + j] = F[3 * i] * S[j] + F[3 * i + 1] * S[3 + j] + F[3 * i + 2] * S[6 + j];
    }
    for (PetscInt k = 0; k < 6; k++) {
      const PetscReal *p = P + 3 * row[k], *f = F + 3 * col[k];

      t[k] = (p[0] * f[0] + p[1] * f[1] + p[2] * f[2]) / det;
    }
  }
  if (sigma) PetscCall(PetscArraycpy(sigma, t, 6));
  if (mises) {
    *mises = PetscSqrtReal(0.5 * (PetscSqr(t[0] - t[1]) + PetscSqr(t[1] - t[2]) + PetscSqr(t[2] - t[0])) +
                           3 * (PetscSqr(t[3]) + PetscSqr(t[4]) + PetscSqr(t[5])));
  }
  PetscFunctionReturn(0);
}

/* ---- where is a point ---- */

/* Newton for x(xi) = X from `xi`; true if it converged. Steps are clipped since the map may fold outside the element. */
static PetscBool Newton_Private(const Element *el, const PetscInt node[], const PetscReal *coord, const PetscReal X[3], PetscReal size,
                                PetscReal xi[3])
{
  PetscReal N[ELEMENT_MAX_NODES], dN[3 * ELEMENT_MAX_NODES], J[9], inv[9];

  for (PetscInt it = 0; it < 30; it++) {
    PetscReal r[3], norm = 0;

    el->shape(xi, N, dN);
    for (PetscInt i = 0; i < 3; i++) {
      r[i] = X[i] - coord[3 * node[0] + i];
      for (PetscInt a = 1; a < el->nnode; a++) r[i] -= N[a] * (coord[3 * node[a] + i] - coord[3 * node[0] + i]);
      norm = PetscMax(norm, PetscAbsReal(r[i]));
    }
    Jacobian_Private(el->nnode, node, coord, 1, dN, J);
    if (Invert_Private(J, inv) == 0) return PETSC_FALSE;
    for (PetscInt i = 0; i < 3; i++) {
      const PetscReal d = inv[3 * i] * r[0] + inv[3 * i + 1] * r[1] + inv[3 * i + 2] * r[2];

      xi[i] += PetscClipInterval(d, -1, 1);
      xi[i] = PetscClipInterval(xi[i], -3, 3);
    }
    if (norm <= 1e-13 * size) return PETSC_TRUE; /* after the step: one more digit for nothing */
  }
  return PETSC_FALSE;
}

PetscErrorCode MeshLocatePoint(Mesh mesh, const PetscReal X[3], PetscInt *elem, PetscReal xi[3])
{
  /* the element's own size is 2 in xi; Newton starts at the middle, then in the eight octants */
  const PetscReal tol  = 2e-6;
  PetscReal       best = PETSC_MAX_REAL;
  PetscInt        e    = 0;

  PetscFunctionBeginUser;
  *elem = -1;
  for (PetscInt b = 0; b < mesh->nblock; b++) {
    const MeshBlock *block = &mesh->block[b];
    const Element   *el;

    PetscCall(ElementFind(block->type, &el));
    for (PetscInt k = 0; k < block->nelem; k++, e++) {
      const PetscInt *node = block->conn + k * block->nnode;
      PetscReal       lo[3], hi[3], size = 0, far = 0;
      PetscBool       near = PETSC_TRUE;

      for (PetscInt i = 0; i < 3; i++) {
        lo[i] = hi[i] = mesh->coord[3 * node[0] + i];
        for (PetscInt a = 1; a < el->nnode; a++) {
          lo[i] = PetscMin(lo[i], mesh->coord[3 * node[a] + i]);
          hi[i] = PetscMax(hi[i], mesh->coord[3 * node[a] + i]);
        }
        size = PetscMax(size, hi[i] - lo[i]);
        far  = PetscMax(far, PetscMax(PetscAbsReal(lo[i]), PetscAbsReal(hi[i])));
      }
      for (PetscInt i = 0; i < 3; i++) near = (PetscBool)(near && X[i] >= lo[i] - tol * size && X[i] <= hi[i] + tol * size);
      for (PetscInt start = 0; start < 9 && near; start++) {
        PetscReal s[3], out = 0;

        for (PetscInt i = 0; i < 3; i++) s[i] = start == 0 ? 0 : ((start - 1) >> i & 1 ? 0.5 : -0.5);
        /* far from the origin coordinates themselves are only good to `far` times epsilon */
        if (!Newton_Private(el, node, mesh->coord, X, size + 1e-2 * far, s)) continue;
        for (PetscInt i = 0; i < 3; i++) out = PetscMax(out, PetscAbsReal(s[i]) - 1);
        if (out <= tol && PetscMax(out, 0) < best) { /* on a common face the first element wins, unless another holds it better */
          best  = PetscMax(out, 0);
          *elem = e;
          for (PetscInt i = 0; i < 3; i++) xi[i] = s[i];
        }
        break;
      }
      if (*elem >= 0 && best == 0) PetscFunctionReturn(0);
    }
  }
  PetscFunctionReturn(0);
}
