/* What the tests of dual problems share: problems, solves on all ranks with everything known everywhere, and the laws written down again. */
#pragma once
#include "unit.h"
#include "constraints/blocks.h"
#include "constraints/dual.h"
#include "regression/masonry.h"
#include <math.h>

static uint64_t seed;

static inline double Uniform(void)
{
  uint64_t z = (seed += 0x9e3779b97f4a7c15u);

  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return (double)((z ^ (z >> 31)) >> 11) / 9007199254740992.;
}

static inline double Normal(void)
{
  return sqrt(-2 * log(1 - Uniform())) * cos(2 * PETSC_PI * Uniform());
}

/* n blocks that are all coupled: W = A A^T / n + shift I with random A, of `rank` columns; laws are left to the caller */
static inline void MakeDense(PetscInt n, PetscInt rank, double shift, Blocks *p)
{
  double *a;

  p->n = n;
  Ok(PetscMalloc3(n + 1, &p->ptr, 3 * n, &p->q, n, &p->row));
  Ok(PetscMalloc1(n * n, &p->col));
  Ok(PetscCalloc1(9 * n * n, &p->w));
  Ok(PetscMalloc1(3 * n * rank, &a));
  for (PetscInt i = 0; i < 3 * n * rank; i++) a[i] = Normal();
  for (PetscInt i = 0; i < n; i++) {
    p->ptr[i] = n * i;
    p->row[i] = (Row){RELATION_CONE, 3, 0.5, 0, 0, 0};
    for (PetscInt j = 0; j < n; j++) {
      p->col[n * i + j] = j;
      for (int r = 0; r < 3; r++)
        for (int c = 0; c < 3; c++) {
          double sum = i == j && r == c ? shift : 0;

          for (PetscInt k = 0; k < rank; k++) sum += a[(3 * i + r) * rank + k] * a[(3 * j + c) * rank + k] / (double)n;
          p->w[9 * (n * i + j) + 3 * c + r] = sum;
        }
    }
    for (int c = 0; c < 3; c++) p->q[3 * i + c] = c ? Normal() : Normal() - 0.7;
  }
  p->ptr[n] = n * n;
  Ok(PetscFree(a));
}

static inline void FromMasonry(PetscInt k, Blocks *p)
{
  FCLibProblem *f;

  Ok(MasonryCreate(k, &f));
  Ok(BlocksCreate(f->n, f->dim, f->m, f->ptr, f->col, f->val, f->q, f->mu, p));
  Ok(FCLibProblemDestroy(&f));
}

static inline PetscInt FindMasonry(const char name[])
{
  for (PetscInt i = 0; i < MasonryCount(); i++)
    if (!strcmp(MasonryName(i), name)) return i;
  fail_msg("no problem '%s'", name);
  return -1;
}

/* Several problems beside each other, their blocks mixed: islands that are spread over all ranks */
static inline void Mix(int n, const Blocks part[], Blocks *p)
{
  PetscInt *name, first = 0, nnz = 0;

  p->n = 0;
  for (int k = 0; k < n; k++) {
    p->n += part[k].n;
    nnz += part[k].ptr[part[k].n];
  }
  Ok(PetscMalloc1(p->n, &name));
  Ok(PetscMalloc3(p->n + 1, &p->ptr, 3 * p->n, &p->q, p->n, &p->row));
  Ok(PetscMalloc1(nnz, &p->col));
  Ok(PetscMalloc1(9 * nnz, &p->w));
  for (PetscInt i = 0; i < p->n; i++) name[i] = i;
  for (PetscInt i = p->n - 1; i > 0; i--) {
    const PetscInt j = (PetscInt)((double)(i + 1) * Uniform()), swap = name[i];

    name[i] = name[j];
    name[j] = swap;
  }
  for (PetscInt i = 0; i <= p->n; i++) p->ptr[i] = 0;
  for (int k = 0; k < n; first += part[k++].n)
    for (PetscInt i = 0; i < part[k].n; i++) p->ptr[name[first + i] + 1] = part[k].ptr[i + 1] - part[k].ptr[i];
  for (PetscInt i = 0; i < p->n; i++) p->ptr[i + 1] += p->ptr[i];
  first = 0;
  for (int k = 0; k < n; first += part[k++].n)
    for (PetscInt i = 0; i < part[k].n; i++) {
      const PetscInt to = name[first + i];

      p->row[to] = part[k].row[i];
      memcpy(p->q + 3 * to, part[k].q + 3 * i, 3 * sizeof(PetscReal));
      for (PetscInt l = part[k].ptr[i]; l < part[k].ptr[i + 1]; l++) { /* insertion keeps columns ascending */
        const PetscInt col = name[first + part[k].col[l]];
        PetscInt       at = p->ptr[to] + l - part[k].ptr[i];

        for (; at > p->ptr[to] && p->col[at - 1] > col; at--) {
          p->col[at] = p->col[at - 1];
          memcpy(p->w + 9 * at, p->w + 9 * (at - 1), 9 * sizeof(PetscReal));
        }
        p->col[at] = col;
        memcpy(p->w + 9 * at, part[k].w + 9 * l, 9 * sizeof(PetscReal));
      }
    }
  Ok(PetscFree(name));
}

/* U = W R + q */
static inline void Product(const Blocks *p, const PetscReal R[], PetscReal U[])
{
  for (PetscInt i = 0; i < p->n; i++)
    for (int r = 0; r < 3; r++) {
      double sum = r < p->row[i].rows ? p->q[3 * i + r] : 0;

      for (PetscInt k = p->ptr[i]; k < p->ptr[i + 1] && r < p->row[i].rows; k++)
        for (int c = 0; c < p->row[p->col[k]].rows; c++) sum += p->w[9 * k + 3 * c + r] * R[3 * p->col[k] + c];
      U[3 * i + r] = sum;
    }
}

/* |r - P(r - rho u^)|^2 of one block: R and U as given back, P on what the law of the block allows */
static inline double MapSquared(const Row *row, double rho, const PetscReal R[3], const PetscReal U[3])
{
  const double mu = row->relation == RELATION_CONE && row->friction < PETSC_INFINITY ? row->friction : 0,
               c = row->relation <= RELATION_STICK ? row->cohesion : 0;
  double x[3] = {R[0] + c - rho * U[0], R[1] - rho * U[1], R[2] - rho * U[2]}, p[3] = {x[0], x[1], x[2]}, sum = 0;

  if (row->relation == RELATION_STICK || (row->relation == RELATION_CONE && row->friction == PETSC_INFINITY)) {
    if (x[0] <= 0) p[0] = p[1] = p[2] = 0;
  } else if (row->relation == RELATION_CONE) {
    const double t = hypot(x[1], x[2]);
    double       n;

    x[0] -= rho * mu * hypot(U[1], U[2]);
    p[0] = x[0];
    n = (x[0] + mu * t) / (1 + mu * mu);
    if (x[0] < 0 || t > mu * x[0]) { /* not inside */
      p[0] = fmax(n, 0);
      p[1] = t > 0 ? mu * p[0] * x[1] / t : 0;
      p[2] = t > 0 ? mu * p[0] * x[2] / t : 0;
    }
  } else if (row->relation == RELATION_INTERVAL)
    p[0] = fmin(fmax(x[0], row->lower), row->upper);
  for (int k = 0; k < row->rows; k++) sum += pow(R[k] + (k ? 0 : c) - p[k], 2);
  return sum;
}

/* FCLib's error */
static inline double ErrorFCLib(const Blocks *p, const PetscReal R[])
{
  double     f = 0, r = 0, u = 0, q = 0, scale;
  PetscReal *U;

  Ok(PetscMalloc1(3 * p->n, &U));
  Product(p, R, U);
  for (PetscInt i = 0; i < p->n; i++) {
    f += MapSquared(&p->row[i], 1, R + 3 * i, U + 3 * i);
    for (int c = 0; c < p->row[i].rows; c++) {
      r += R[3 * i + c] * R[3 * i + c];
      u += U[3 * i + c] * U[3 * i + c];
      q += p->q[3 * i + c] * p->q[3 * i + c];
    }
  }
  Ok(PetscFree(U));
  scale = sqrt(fmax(q, fmax(r, u)));
  return scale > 1e-15 ? sqrt(f) / scale : sqrt(f);
}

/* The program's own, in energy units */
static inline double ErrorEnergy(const Blocks *p, const PetscReal R[])
{
  double     f = 0, r = 0, q = 0;
  PetscReal *U;

  Ok(PetscMalloc1(3 * p->n, &U));
  Product(p, R, U);
  for (PetscInt i = 0; i < p->n; i++) {
    double   trace = 0, rho;
    PetscInt d = p->ptr[i];

    while (p->col[d] != i) d++;
    for (int c = 0; c < p->row[i].rows; c++) trace += p->w[9 * d + 4 * c];
    rho = (double)p->row[i].rows / trace;
    f += MapSquared(&p->row[i], rho, R + 3 * i, U + 3 * i) / rho;
    for (int c = 0; c < p->row[i].rows; c++) {
      r += R[3 * i + c] * R[3 * i + c] / rho;
      q += p->q[3 * i + c] * p->q[3 * i + c] * rho;
    }
  }
  Ok(PetscFree(U));
  return fmax(r, q) > 0 ? sqrt(f / fmax(r, q)) : 0;
}

/* ---- options of one solve, instead of all others ---- */

static PetscOptions options_now;

static inline void Push(const char text[])
{
  Ok(PetscOptionsCreate(&options_now));
  Ok(PetscOptionsInsertString(options_now, text));
  Ok(PetscOptionsPush(options_now));
}

static inline void Pop(void)
{
  Ok(PetscOptionsPop());
  Ok(PetscOptionsDestroy(&options_now));
}

/* ---- solves: the problem is known to all ranks, each gives its share of the rows; all get all of R and U ---- */

static inline Dual MakeDual(MPI_Comm comm, DualMerit merit)
{
  Dual d;

  Ok(DualCreate(comm, &d));
  Ok(DualSetMerit(d, merit));
  Ok(DualSetFromOptions(d));
  return d;
}

static inline PetscErrorCode SetProblem(MPI_Comm comm, Dual d, const Blocks *p, PetscInt range[2])
{
  PetscMPIInt np, rank;
  PetscInt   *ptr;

  PetscFunctionBeginUser;
  MPI_Comm_size(comm, &np);
  MPI_Comm_rank(comm, &rank);
  range[0] = p->n * rank / np;
  range[1] = p->n * (rank + 1) / np;
  PetscCall(PetscMalloc1(range[1] - range[0] + 1, &ptr));
  for (PetscInt i = range[0]; i <= range[1]; i++) ptr[i - range[0]] = p->ptr[i] - p->ptr[range[0]];
  {
    const PetscErrorCode e =
        DualSetProblem(d, range[1] - range[0], ptr, p->col + p->ptr[range[0]], p->w + 9 * p->ptr[range[0]], p->q + 3 * range[0], p->row + range[0]);

    PetscCall(PetscFree(ptr));
    if (e) return e; /* said already */
  }
  PetscFunctionReturn(0);
}

static inline void Everywhere(MPI_Comm comm, PetscInt n, PetscReal x[])
{
  PetscMPIInt np, rank, *count, *start;

  MPI_Comm_size(comm, &np);
  MPI_Comm_rank(comm, &rank);
  if (np == 1) return;
  Ok(PetscMalloc2(np, &count, np, &start));
  for (PetscMPIInt r = 0; r < np; r++) {
    start[r] = (PetscMPIInt)(3 * (n * r / np));
    count[r] = (PetscMPIInt)(3 * (n * (r + 1) / np)) - start[r];
  }
  MPI_Allgatherv(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, x, count, start, MPIU_REAL, comm);
  Ok(PetscFree2(count, start));
}

static inline SNESConvergedReason SolveDual(MPI_Comm comm, Dual d, const Blocks *p, PetscReal R[], PetscReal U[])
{
  SNESConvergedReason reason;
  PetscInt            range[2];

  Ok(SetProblem(comm, d, p, range));
  Ok(DualSolve(d, R + 3 * range[0], U + 3 * range[0], &reason));
  Everywhere(comm, p->n, R);
  Everywhere(comm, p->n, U);
  return reason;
}

/* From zero, with options, by an object of its own */
static inline SNESConvergedReason SolveOnce(MPI_Comm comm, const char options[], DualMerit merit, const Blocks *p, PetscReal R[], PetscReal U[],
                                            SolveReport *report, PetscInt *its)
{
  SNESConvergedReason reason;
  Dual                d;

  Push(options);
  d = MakeDual(comm, merit);
  for (PetscInt i = 0; i < 3 * p->n; i++) R[i] = U[i] = 0;
  reason = SolveDual(comm, d, p, R, U);
  Ok(DualGetReport(d, report, its));
  Ok(DualDestroy(&d));
  Pop();
  return reason;
}

static inline double Most(PetscInt n, const PetscReal x[])
{
  double most = 0;

  for (PetscInt i = 0; i < n; i++) most = fmax(most, fabs(x[i]));
  return most;
}

static inline double Difference(PetscInt n, const PetscReal x[], const PetscReal y[])
{
  double most = 0;

  for (PetscInt i = 0; i < n; i++) most = fmax(most, isfinite(x[i]) && isfinite(y[i]) ? fabs(x[i] - y[i]) : INFINITY);
  return most;
}

static int DualStart(void **state)
{
  return UnitStart(state) || SNESRegisterAshlar();
}
