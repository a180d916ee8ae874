/* System: the dual problem of one rank as plain arrays, u = W r + q with a law for every block of three rows; what the kernels of all solvers
   work on. Blocks with fewer rows are padded: their other rows and columns of W are zero but for the mean of the others' on the diagonal.
   Whatever is compared here is dimensionless: scaling W, q by powers of four leaves every decision, and every bit of the result, as it was. */
#pragma once
#include <petscsys.h>

typedef enum {
  RELATION_CONE,    /* r in K = {|r_T| <= mu r_N}, K* holds u + mu |u_T| n, orthogonal: Signorini and Coulomb */
  RELATION_STICK,   /* mu is infinite: r_N >= 0, u_N >= 0, orthogonal, u_T = 0 while r_N > 0, r_T = 0 else */
  RELATION_EQUAL,   /* u = 0 */
  RELATION_INTERVAL /* one row: lo <= r <= hi, u = 0 between, u >= 0 at lo, u <= 0 at hi */
} Relation;

typedef struct _p_System *System;
struct _p_System {
  PetscInt       n, nghost;           /* blocks; blocks of other ranks that columns refer to, as n, n + 1, ... (only if shared) */
  PetscInt       first;               /* where the blocks begin in the rank's system, if this is a part of it */
  const PetscInt *place;              /* where blocks are, in the order they came (NULL: in that order) */
  PetscInt      *ptr, *col, *diag;    /* block rows; columns ascending; where the diagonal block is. The pattern is symmetric */
  PetscReal     *w;                   /* 3x3 blocks by columns, as PETSc's BAIJ has them; 4 numbers more at the end, for wide loads */
  PetscReal     *q;                   /* 3 n + 1; the given velocities until SystemSetCohesion() takes cohesion into them */
  unsigned char *relation, *rows;     /* Relation; 1, 2 or 3 rows */
  PetscReal     *mu, *lo, *hi;        /* of cones; of intervals */
  PetscReal     *cohesion;            /* of cones: r here is the impulse plus this much along the normal, which is what is in the cone */
  PetscReal     *rho;                 /* rows / trace W_ii */
  PetscBool      fclib;               /* merit: FCLib's error instead of the one in energy units */
  PetscBool      statics;             /* q does not count in the merit's scale */
  PetscReal      scale;               /* sum rho |q|^2, or |q| of FCLib's error */
  PetscBool      cohesive;            /* some blocks are */
  PetscBool      balls;               /* all blocks are cones with finite friction above 1e-6, equal rows or one-sided limits: what an interior point method can do */
  /* W by bodies of six unknowns instead of by blocks: W_ij = sum over the bodies b of both of F_ib F_jb^T. ptr, col, w then hold diagonal blocks only. */
  PetscBool      bodies;
  PetscInt       nbody, firstbody;    /* bodies of this part, and where they begin in the rank's system */
  PetscInt      *body;                /* 2 a block: number in the rank's system, -1: none that can move */
  PetscReal     *F;                   /* 2 x 18 a block: 3x6 by columns; 4 numbers more at the end */
  PetscReal     *v;                   /* 6 a body of the rank's system: scratch for motions F^T r */
  PetscInt       capacity, wcapacity; /* what is allocated: blocks, values */
  PetscInt       bcapacity, vcapacity;
  PetscBool      matfree;             /* off-diagonal blocks are not known, only products */
  /* Several ranks may share one system: sums then go over `comm`. */
  MPI_Comm       comm;
  PetscBool      shared;
  PetscErrorCode (*product)(System, const PetscReal *r, PetscReal *u);  /* u = W r + q when it cannot be made of the blocks here */
  PetscErrorCode (*exchange)(System, PetscReal *r);                     /* fills the ghosts */
  void          *ctx;
  PetscInt       nphase;              /* sweeps: blocks order[phase[i]] ... order[phase[i + 1] - 1] are not coupled across ranks; 0: natural order */
  PetscInt      *phase, *order;
};

PETSC_EXTERN PetscErrorCode SystemCreate(System *s);
PETSC_EXTERN PetscErrorCode SystemDestroy(System *s);
/* Room for n blocks and nnz blocks of W; n is set, contents are not. */
PETSC_EXTERN PetscErrorCode SystemReserve(System s, PetscInt n, PetscInt nnz);
/* Room for bodies of the n blocks, after SystemReserve(); once nbody is known, for their motions */
PETSC_EXTERN PetscErrorCode SystemReserveBodies(System s);
PETSC_EXTERN PetscErrorCode SystemReserveMotions(System s);
/* v = F^T r of the bodies of s */
PETSC_EXTERN void SystemMotions(System s, const PetscReal *r);
/* After pattern, values and laws are in place: diag, rho; with bodies the diagonal blocks. Refuses blocks without stiffness. */
PETSC_EXTERN PetscErrorCode SystemSetUp(System s);
/* After q is in place, as it is given: scale. Refuses what is not finite. */
PETSC_EXTERN PetscErrorCode SystemSetScale(System s);
/* After that: takes cohesion into q */
PETSC_EXTERN PetscErrorCode SystemSetCohesion(System s);
/* u = W r + q; r has 3 (n + nghost) + 1 numbers, its ghosts are filled here */
PETSC_EXTERN PetscErrorCode SystemMult(System s, PetscReal *r, PetscReal *u);
/* Sums over the ranks that share the system */
PETSC_EXTERN PetscErrorCode SystemSum(System s, PetscInt n, PetscReal sum[]);
/* The merit of (r, u) */
PETSC_EXTERN PetscErrorCode SystemMerit(System s, const PetscReal *r, const PetscReal *u, PetscReal *merit);
/* The natural map of one block, r - P(r - rho u^), u^ with mu |u_T| added to its normal part */
PETSC_EXTERN void SystemNaturalMap(System s, PetscInt i, PetscReal rho, const PetscReal *r, const PetscReal *u, PetscReal *f);

/* An interior-point method can do this block */
static inline PetscBool SystemIsBall(System s, PetscInt i)
{
  const Relation r = (Relation)s->relation[i];

  return r == RELATION_STICK || (r == RELATION_CONE && s->mu[i] < 1e-6) || (r == RELATION_INTERVAL && !(s->lo[i] == 0 && s->hi[i] == PETSC_INFINITY)) ? PETSC_FALSE : PETSC_TRUE;
}

/* What a solve has done, for reports */
typedef struct {
  PetscReal merit;
  PetscInt  sweeps, newton, outer, failed, conic; /* sweeps; Newton solves; proximal steps; inner solves that failed; interior-point steps */
  PetscInt  islands, solved;                      /* of a whole problem: islands; those that were not good enough at the start */
  PetscReal mean[3];                              /* sweeps, Newton solves and interior-point steps that a block has seen, on average over all blocks */
} SolveReport;
static inline PetscInt SolveReportIterations(const SolveReport *r)
{
  return r->sweeps + r->newton + r->conic;
}

/* The kernels keep what they need between solves: nothing is allocated once they have seen the largest problem. */
typedef struct _p_Nlgs *Nlgs;
typedef struct {
  PetscReal tol, omega;     /* merit to reach; relaxation, 1: none */
  PetscInt  max_it, every;  /* sweeps; between looks at the merit */
  PetscBool symmetric;      /* every other sweep backwards */
} NlgsOptions;
PETSC_EXTERN PetscErrorCode NlgsCreate(Nlgs *g);
PETSC_EXTERN PetscErrorCode NlgsDestroy(Nlgs *g);
/* For a new system: one-contact data; forgets the last one's */
PETSC_EXTERN PetscErrorCode NlgsSetUp(Nlgs g, System s);
/* One sweep over all blocks: r in place; sums |dr|^2 / rho and |r|^2 / rho (of this rank; may be NULL) */
PETSC_EXTERN PetscErrorCode NlgsSweep(Nlgs g, System s, PetscBool backwards, PetscReal omega, PetscReal *r, PetscReal *change, PetscReal *size);
/* Called where a solver knows its merit; may be NULL */
typedef PetscErrorCode (*SolveMonitor)(void *ctx, const SolveReport *report);
typedef struct {
  SolveMonitor fn;
  void        *ctx;
} SolveMonitors;
static inline PetscErrorCode SolveMonitorCall(const SolveMonitors *m, const SolveReport *report)
{
  return m && m->fn ? (*m->fn)(m->ctx, report) : 0;
}
/* Sweeps until the merit is at most tol */
PETSC_EXTERN PetscErrorCode NlgsSolve(Nlgs g, System s, const NlgsOptions *options, PetscReal *r, PetscReal *u, SolveReport *report, const SolveMonitors *monitor);
