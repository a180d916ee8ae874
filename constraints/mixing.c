/* Anderson, Iterative procedures for nonlinear integral equations, J. ACM 12 (1965), depth 2: of the steps f = G(x) - x of the last three sweeps the mean with weights
   that add up to one and make it least, measured by |.|^2 / rho; the same mean of the G(x) is where the next sweep starts. */
#include "mixing.h"
#include "cone.h"

#define DEPTH  2
#define GROWTH 4     /* of |f|^2 from one sweep to the next: what was known says nothing any more */
#define ALONE  1e-10 /* relative determinant below which two differences are one */

struct _p_Mixing {
  PetscInt   capacity, vcapacity;
  PetscReal *start, *f, *g, *df[DEPTH], *dg[DEPTH]; /* 3 a block: of the last sweep where it began, its step, where that led; differences of the two, the newest first */
  PetscReal *v, *dv[DEPTH];                 /* 6 a body: the same of motions at g */
  PetscInt   known;                         /* steps, at most DEPTH + 1 */
  PetscReal  change;                        /* |f|^2 */
  PetscReal  a[3], b[2];                    /* products of differences: 00, 01, 11; of them with f */
};

PetscErrorCode MixingCreate(Mixing *m)
{
  PetscFunctionBeginUser;
  PetscCall(PetscNew(m));
  PetscFunctionReturn(0);
}

static PetscErrorCode MixingReset_Private(Mixing m, PetscBool blocks, PetscBool bodies)
{
  PetscFunctionBeginUser;
  if (blocks) PetscCall(PetscFree7(m->start, m->f, m->g, m->df[0], m->df[1], m->dg[0], m->dg[1]));
  if (bodies) PetscCall(PetscFree3(m->v, m->dv[0], m->dv[1]));
  PetscFunctionReturn(0);
}

PetscErrorCode MixingDestroy(Mixing *m)
{
  PetscFunctionBeginUser;
  if (!*m) PetscFunctionReturn(0);
  PetscCall(MixingReset_Private(*m, PETSC_TRUE, PETSC_TRUE));
  PetscCall(PetscFree(*m));
  PetscFunctionReturn(0);
}

PetscErrorCode MixingBegin(Mixing m, System s)
{
  PetscFunctionBeginUser;
  m->known = 0;
  if (s->n > m->capacity) {
    const PetscInt c = 3 * (m->capacity = s->n + s->n / 2);

    PetscCall(MixingReset_Private(m, PETSC_TRUE, PETSC_FALSE));
    PetscCall(PetscMalloc7(c, &m->start, c, &m->f, c, &m->g, c, &m->df[0], c, &m->df[1], c, &m->dg[0], c, &m->dg[1]));
  }
  if (s->bodies && s->nbody > m->vcapacity) {
    const PetscInt c = 6 * (m->vcapacity = s->nbody + s->nbody / 2);

    PetscCall(MixingReset_Private(m, PETSC_FALSE, PETSC_TRUE));
    PetscCall(PetscMalloc3(c, &m->v, c, &m->dv[0], c, &m->dv[1]));
  }
  PetscFunctionReturn(0);
}

FOUR_CLONES static void Subtract_Private(PetscInt n, PetscReal c, const PetscReal *restrict d, PetscReal *restrict x)
{
  for (PetscInt i = 0; i < n; i++) x[i] -= c * d[i];
}

PetscErrorCode MixingStart(Mixing m, System s, PetscReal *r)
{
  const PetscReal det  = m->a[0] * m->a[2] - m->a[1] * m->a[1];
  PetscReal       c[2] = {0, 0};

  PetscFunctionBeginUser;
  if (m->known == DEPTH + 1 && det > ALONE * m->a[0] * m->a[2]) {
    c[0] = (m->a[2] * m->b[0] - m->a[1] * m->b[1]) / det;
    c[1] = (m->a[0] * m->b[1] - m->a[1] * m->b[0]) / det;
  } else if (m->known > 1 && m->a[0] > 0) c[0] = m->b[0] / m->a[0];
  for (PetscInt k = 0; k < DEPTH; k++) {
    if (c[k] == 0) continue;
    Subtract_Private(3 * s->n, c[k], m->dg[k], r);
    if (s->bodies) Subtract_Private(6 * s->nbody, c[k], m->dv[k], s->v + 6 * s->firstbody);
  }
  PetscCall(PetscArraycpy(m->start, r, 3 * s->n));
  PetscFunctionReturn(0);
}

/* f and g go on to the last sweep, from `start` to r; sum: products of the newest difference with itself, the other, f; of the other with f */
FOUR_CLONES static void Steps_Private(PetscInt n, const PetscReal *restrict rho, const PetscReal *restrict start, const PetscReal *restrict r, PetscReal *restrict f, PetscReal *restrict g, PetscReal *restrict df, PetscReal *restrict dg, const PetscReal *restrict other, PetscReal sum[4])
{
  PetscReal s0 = 0, s1 = 0, s2 = 0, s3 = 0;

  for (PetscInt i = 0; i < n; i++) {
    PetscReal t0 = 0, t1 = 0, t2 = 0, t3 = 0;

    for (PetscInt k = 3 * i; k < 3 * i + 3; k++) {
      const PetscReal step = r[k] - start[k], d = step - f[k];

      df[k] = d;
      dg[k] = r[k] - g[k];
      f[k]  = step;
      g[k]  = r[k];
      t0 += d * d;
      t1 += d * other[k];
      t2 += d * step;
      t3 += other[k] * step;
    }
    s0 += t0 / rho[i], s1 += t1 / rho[i], s2 += t2 / rho[i], s3 += t3 / rho[i];
  }
  sum[0] = s0, sum[1] = s1, sum[2] = s2, sum[3] = s3;
}

/* Where it was and how far it went from there, now of y */
FOUR_CLONES static void Differ_Private(PetscInt n, const PetscReal *restrict y, PetscReal *restrict was, PetscReal *restrict d)
{
  for (PetscInt i = 0; i < n; i++) {
    const PetscReal t = y[i];

    d[i]   = t - was[i];
    was[i] = t;
  }
}

static void Exchange_Private(PetscReal **a, PetscReal **b)
{
  PetscReal *t = *a;

  *a = *b;
  *b = t;
}

PetscErrorCode MixingEnd(Mixing m, System s, const PetscReal *r, PetscReal sum[2])
{
  const PetscInt  n = 3 * s->n, nv = s->bodies ? 6 * s->nbody : 0;
  const PetscReal last = m->change, *v = nv ? s->v + 6 * s->firstbody : NULL;
  PetscReal       all[6] = {sum[0], sum[1], 0, 0, 0, 0};

  PetscFunctionBeginUser;
  Exchange_Private(&m->df[0], &m->df[1]);
  Exchange_Private(&m->dg[0], &m->dg[1]);
  if (nv) Exchange_Private(&m->dv[0], &m->dv[1]);
  if (!m->known) {
    for (PetscInt i = 0; i < n; i++) m->f[i] = r[i] - m->start[i];
    PetscCall(PetscArraycpy(m->g, r, n));
    PetscCall(PetscArrayzero(m->df[0], n)); /* the other one, of the first difference */
    if (nv) PetscCall(PetscArraycpy(m->v, v, nv));
  } else {
    Steps_Private(s->n, s->rho, m->start, r, m->f, m->g, m->df[0], m->dg[0], m->df[1], all + 2);
    if (nv) Differ_Private(nv, v, m->v, m->dv[0]);
  }
  PetscCall(SystemSum(s, 6, all));
  sum[0] = m->change = all[0];
  sum[1] = all[1];
  m->a[2] = m->a[0];
  m->a[0] = all[2], m->a[1] = all[3], m->b[0] = all[4], m->b[1] = all[5];
  m->known = m->known && m->change > GROWTH * last ? 1 : PetscMin(m->known + 1, DEPTH + 1);
  PetscFunctionReturn(0);
}

PetscErrorCode MixingMoved(Mixing m, System s, const PetscReal *r, PetscInt n, const PetscInt list[])
{
  PetscFunctionBeginUser;
  for (PetscInt k = 0; k < n; k++) {
    const PetscInt i = list[k];

    for (PetscInt c = 3 * i; c < 3 * i + 3; c++) m->g[c] = r[c];
    for (PetscInt a = 2 * i; a < 2 * i + 2 && s->bodies; a++)
      if (s->body[a] >= 0)
        for (PetscInt c = 0; c < 6; c++) m->v[6 * (s->body[a] - s->firstbody) + c] = s->v[6 * s->body[a] + c];
  }
  PetscFunctionReturn(0);
}
