/* Products of 6x6 blocks, by rows of 8 numbers (two are padding), for one instruction set: included by bodylu.c with VL (doubles per vector), TARGET (function
   attribute), NAME(f) (f with the set's suffix). No include guard: included several times. */
typedef double NAME(Vector) __attribute__((vector_size(8 * VL), aligned(8), may_alias));
#define VECTOR NAME(Vector)

/* acc_j -= L U_j for the n blocks of a row of U, j their columns */
TARGET static void NAME(BodyUpdate)(const PetscReal *restrict l, PetscInt n, const PetscInt *restrict col, const PetscReal *restrict u, PetscReal *restrict acc)
{
  for (PetscInt k = 0; k < n; k++, u += BODY_BLOCK) {
    PetscReal *a = acc + BODY_BLOCK * col[k];

    for (PetscInt h = 0; h < 8 / VL; h++) {
      const VECTOR *w = (const VECTOR *)(u + VL * h);
      const VECTOR  u0 = w[0], u1 = w[8 / VL], u2 = w[16 / VL], u3 = w[24 / VL], u4 = w[32 / VL], u5 = w[40 / VL];

      for (PetscInt r = 0; r < 6; r++) {
        VECTOR          *t = (VECTOR *)(a + 8 * r + VL * h);
        const PetscReal *m = l + 8 * r;

        *t -= m[0] * u0 + m[1] * u1 + m[2] * u2 + m[3] * u3 + m[4] * u4 + m[5] * u5;
      }
    }
  }
}

/* l = a d */
TARGET static void NAME(BodyProduct)(const PetscReal *restrict a, const PetscReal *restrict d, PetscReal *restrict l)
{
  for (PetscInt h = 0; h < 8 / VL; h++) {
    const VECTOR *w = (const VECTOR *)(d + VL * h);

    for (PetscInt r = 0; r < 6; r++) {
      const PetscReal *m = a + 8 * r;

      *(VECTOR *)(l + 8 * r + VL * h) = m[0] * w[0] + m[1] * w[8 / VL] + m[2] * w[16 / VL] + m[3] * w[24 / VL] + m[4] * w[32 / VL] + m[5] * w[40 / VL];
    }
  }
}
#undef VECTOR
