/* Free rotation of a rigid body: discrete Moser-Veselov and the splitting of McLachlan and Reich. */
#include "integrators/rigid_drift.h"
#include "physics/rotation.h"

/* With Cayley's parameter c = tan(angle/2) axis, F = I + 2/(1+c.c) (skew(c) + skew(c)^2), the DMV equation is a polynomial,
     J c + c × J c = (1 + c.c)/2 g,   g = tau Lambda^T L,
   free of the cancellation that F Jd - Jd F^T has at small angles. Newton from the explicit c = J^-1 g / 2. The determinant of
   the Jacobian J + skew(c) J - skew(J c) - g c^T is det J at c = 0 and changes sign at the fold where the wanted branch ends. */
PetscErrorCode RotationDriftDMV(const PetscReal J[9], const PetscReal L[3], PetscReal tau, PetscReal Lambda[9], PetscBool *ok)
{
  const PetscInt maxit = 50;
  PetscReal      g[3], c[3], inv[9], s;
  PetscBool      found = PETSC_FALSE;

  PetscFunctionBeginUser;
  *ok = PETSC_FALSE;
  Mat3TransposeVec(Lambda, L, g);
  for (int i = 0; i < 3; ++i) g[i] *= tau;
  if (!Mat3Inverse(J, inv)) PetscFunctionReturn(0);
  Mat3Vec(inv, g, c);
  for (int i = 0; i < 3; ++i) c[i] /= 2;
  for (PetscInt it = 0; it < maxit && !found; ++it) {
    PetscReal Jc[3], cJc[3], S[9], A[9], r[3], d[3], n = (1 + Vec3Dot(c, c)) / 2;

    Mat3Vec(J, c, Jc);
    Vec3Cross(c, Jc, cJc);
    Mat3Skew(c, S);
    Mat3Mult(S, J, A);
    Mat3Skew(Jc, S);
    for (int i = 0; i < 3; ++i) {
      r[i] = Jc[i] + cJc[i] - n * g[i];
      for (int j = 0; j < 3; ++j) A[3 * i + j] += J[3 * i + j] - S[3 * i + j] - g[i] * c[j];
    }
    if (!(Mat3Det(A) > 0) || !Mat3Inverse(A, inv)) PetscFunctionReturn(0);
    Mat3Vec(inv, r, d);
    for (int i = 0; i < 3; ++i) c[i] -= d[i];
    found = (PetscBool)(Vec3Norm(d) <= 1e-10 * Vec3Norm(c)); /* quadratic: the next correction is below round-off */
  }
  if (!found) PetscFunctionReturn(0);
  s = 2 / (1 + Vec3Dot(c, c));
  for (int i = 0; i < 3; ++i) {
    PetscReal x[3], y[3];

    Vec3Cross(Lambda + 3 * i, c, x); /* a row times skew(c) is row × c */
    Vec3Cross(x, c, y);
    for (int j = 0; j < 3; ++j) Lambda[3 * i + j] += s * (x[j] + y[j]);
  }
  RotationOrthonormalize(Lambda);
  *ok = PETSC_TRUE;
  PetscFunctionReturn(0);
}

PetscErrorCode RotationDriftSplit(const PetscReal moment[3], const PetscReal axes[9], const PetscReal L[3], PetscReal tau, PetscReal Lambda[9])
{
  static const int       axis[5] = {0, 1, 2, 1, 0};
  static const PetscReal part[5] = {0.5, 0.5, 1, 0.5, 0.5};
  PetscReal              P[9], p[3];

  PetscFunctionBeginUser;
  if (axes) Mat3Mult(Lambda, axes, P);
  else PetscCall(PetscArraycpy(P, Lambda, 9));
  Mat3TransposeVec(P, L, p);
  for (int n = 0; n < 5; ++n) { /* P <- P R_i(angle), p <- R_i(angle)^T p */
    const int       i = axis[n], j = (i + 1) % 3, k = (i + 2) % 3;
    const PetscReal angle = part[n] * tau * p[i] / moment[i], c = PetscCosReal(angle), s = PetscSinReal(angle), pj = p[j], pk = p[k];

    p[j] = c * pj + s * pk;
    p[k] = c * pk - s * pj;
    for (int r = 0; r < 9; r += 3) {
      const PetscReal a = P[r + j], b = P[r + k];

      P[r + j] = c * a + s * b;
      P[r + k] = c * b - s * a;
    }
  }
  if (axes) Mat3MultTransposeRight(P, axes, Lambda);
  else PetscCall(PetscArraycpy(Lambda, P, 9));
  RotationOrthonormalize(Lambda);
  PetscFunctionReturn(0);
}
