/* Rotations and 3x3 matrices, row-major PetscReal[9]. Outputs must not be inputs unless a comment says so. */
#pragma once
#include <petscsys.h>

static inline PetscReal Vec3Dot(const PetscReal a[3], const PetscReal b[3])
{
  return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}

static inline void Vec3Cross(const PetscReal a[3], const PetscReal b[3], PetscReal c[3])
{
  c[0] = a[1] * b[2] - a[2] * b[1];
  c[1] = a[2] * b[0] - a[0] * b[2];
  c[2] = a[0] * b[1] - a[1] * b[0];
}

static inline PetscReal Vec3Norm(const PetscReal a[3])
{
  return PetscSqrtReal(Vec3Dot(a, a));
}

static inline void Mat3Identity(PetscReal A[9])
{
  for (int i = 0; i < 9; ++i) A[i] = i % 4 ? 0 : 1;
}

/* S x = a × x */
static inline void Mat3Skew(const PetscReal a[3], PetscReal S[9])
{
  S[0] = S[4] = S[8] = 0;
  S[1] = -a[2], S[2] = a[1], S[3] = a[2], S[5] = -a[0], S[6] = -a[1], S[7] = a[0];
}

/* C = A B */
static inline void Mat3Mult(const PetscReal A[9], const PetscReal B[9], PetscReal C[9])
{
  for (int i = 0; i < 3; ++i)
    for (int j = 0; j < 3; ++j) C[3 * i + j] = A[3 * i] * B[j] + A[3 * i + 1] * B[3 + j] + A[3 * i + 2] * B[6 + j];
}

/* C = A^T B */
static inline void Mat3MultTransposeLeft(const PetscReal A[9], const PetscReal B[9], PetscReal C[9])
{
  for (int i = 0; i < 3; ++i)
    for (int j = 0; j < 3; ++j) C[3 * i + j] = A[i] * B[j] + A[3 + i] * B[3 + j] + A[6 + i] * B[6 + j];
}

/* C = A B^T */
static inline void Mat3MultTransposeRight(const PetscReal A[9], const PetscReal B[9], PetscReal C[9])
{
  for (int i = 0; i < 3; ++i)
    for (int j = 0; j < 3; ++j) C[3 * i + j] = A[3 * i] * B[3 * j] + A[3 * i + 1] * B[3 * j + 1] + A[3 * i + 2] * B[3 * j + 2];
}

/* y = A x */
static inline void Mat3Vec(const PetscReal A[9], const PetscReal x[3], PetscReal y[3])
{
  for (int i = 0; i < 3; ++i) y[i] = A[3 * i] * x[0] + A[3 * i + 1] * x[1] + A[3 * i + 2] * x[2];
}

/* y = A^T x */
static inline void Mat3TransposeVec(const PetscReal A[9], const PetscReal x[3], PetscReal y[3])
{
  for (int i = 0; i < 3; ++i) y[i] = A[i] * x[0] + A[3 + i] * x[1] + A[6 + i] * x[2];
}

/* C = det(A) A^-T */
static inline void Mat3Cofactor(const PetscReal A[9], PetscReal C[9])
{
  Vec3Cross(A + 3, A + 6, C);
  Vec3Cross(A + 6, A, C + 3);
  Vec3Cross(A, A + 3, C + 6);
}

static inline PetscReal Mat3Det(const PetscReal A[9])
{
  PetscReal c[3];

  Vec3Cross(A + 3, A + 6, c);
  return Vec3Dot(A, c);
}

/* B = A^-1; false (B untouched) when A is singular in floating point: det zero, not finite, or its inverse overflows. */
static inline PetscBool Mat3Inverse(const PetscReal A[9], PetscReal B[9])
{
  PetscReal C[9], det;

  Mat3Cofactor(A, C);
  det = Vec3Dot(A, C);
  if (!(PetscAbsReal(det) > 0) || PetscIsInfReal(det) || PetscIsInfReal(1 / det)) return PETSC_FALSE;
  for (int i = 0; i < 3; ++i)
    for (int j = 0; j < 3; ++j) B[3 * i + j] = C[3 * j + i] / det;
  return PETSC_TRUE;
}

/* Rodrigues: R = exp(skew(v)) = I + a skew(v) + b skew(v)^2. b by the half angle, so that tiny angles lose nothing. */
static inline void RotationFromVector(const PetscReal v[3], PetscReal R[9])
{
  const PetscReal n2 = Vec3Dot(v, v), n = PetscSqrtReal(n2);
  const PetscReal a = n > 0 ? PetscSinReal(n) / n : 1, s = n > 0 ? PetscSinReal(n / 2) / (n / 2) : 1, b = s * s / 2;

  R[0] = 1 - b * (v[1] * v[1] + v[2] * v[2]);
  R[4] = 1 - b * (v[2] * v[2] + v[0] * v[0]);
  R[8] = 1 - b * (v[0] * v[0] + v[1] * v[1]);
  R[1] = b * v[0] * v[1] - a * v[2];
  R[3] = b * v[0] * v[1] + a * v[2];
  R[2] = b * v[0] * v[2] + a * v[1];
  R[6] = b * v[0] * v[2] - a * v[1];
  R[5] = b * v[1] * v[2] - a * v[0];
  R[7] = b * v[1] * v[2] + a * v[0];
}

/* Angular velocity of exp(skew(v(t))) by the rate of v: w = (I + a skew(v) + b skew(v)^2) dv */
static inline void RotationVectorRate(const PetscReal v[3], const PetscReal dv[3], PetscReal w[3])
{
  const PetscReal n2 = Vec3Dot(v, v), n = PetscSqrtReal(n2), s = n > 0 ? PetscSinReal(n / 2) / (n / 2) : 1, a = s * s / 2;
  const PetscReal b = n > 0.1 ? (n - PetscSinReal(n)) / (n2 * n) : 1 / 6. - n2 * (1 / 120. - n2 * (1 / 5040. - n2 / 362880));
  PetscReal       c[3], d[3];

  Vec3Cross(v, dv, c);
  Vec3Cross(v, c, d);
  for (int i = 0; i < 3; ++i) w[i] = dv[i] + a * c[i] + b * d[i];
}

/* R <- R (3 I - R^T R) / 2, in place: takes off the drift of many products (error e -> e^2). */
static inline void RotationOrthonormalize(PetscReal R[9])
{
  PetscReal C[9], D[9];

  Mat3MultTransposeLeft(R, R, C);
  for (int i = 0; i < 9; ++i) C[i] = ((i % 4 ? 0 : 3) - C[i]) / 2;
  Mat3Mult(R, C, D);
  for (int i = 0; i < 9; ++i) R[i] = D[i];
}
