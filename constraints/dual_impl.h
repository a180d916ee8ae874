/* Inside of Dual, shared by dual*.c and the SNES types. */
#pragma once
#include "dual.h"
#include "islands.h"
#include <petscsf.h>

typedef enum { DUAL_MAT_AUTO, DUAL_MAT_BODIES, DUAL_MAT_EXPLICIT, DUAL_MAT_FREE } DualMatType;

struct _p_Dual {
  MPI_Comm            comm;
  PetscMPIInt         rank, size;
  DualMerit           merit;
  DualMatType         type;
  PetscBool           matfree, coloring, viewed, able; /* able: the solver needs no matrix, so bodies will do */
  PetscInt            island_limit;
  PetscInt            n, N;               /* blocks given by this rank, by all */
  System              system;             /* what this rank solves */
  PetscReal           scale;              /* of the merit, of all ranks */
  Islands             islands;            /* the system as parts that are solved one by one */
  PetscBool           local;              /* the given blocks are the system's: none is sent */
  PetscMPIInt        *scount, *sstart, *rcount, *rstart; /* blocks sent to and received from each rank, and where they start */
  PetscInt           *number, mnumber;    /* of bodies as they came: theirs in the system */
  PetscInt           *send;               /* given blocks in the order they are sent */
  PetscReal          *sbuf, *rbuf;        /* 3 numbers a block of either side */
  PetscInt            scapacity, rcapacity;
  MPI_Datatype        block;              /* three numbers */
  PetscInt            nisland, largest;   /* of all ranks */
  PetscSF             sf;                 /* ghosts of a shared system */
  Nlgs                nlgs;
  Newton              newton;
  SNES                snes;
  PetscInt            snes_n;             /* local size that it was made for */
  PetscBool           own;                /* its type is one of ours, which works on any size */
  Vec                 x, f;
  Mat                 W, J;               /* for PETSc's types: W, generalized Jacobian */
  Mat                 mat;                /* of DualGetMat() */
  PetscReal          *r, *u;              /* 3 (n + nghost) + 1: the system's iterate and velocities */
  PetscReal          *cr, *cu, *best;     /* last evaluated iterate and its velocities; the best one */
  PetscInt            rucapacity;
  PetscBool           cached;
  PetscReal           cmerit, bestmerit;
  SolveReport         report;
  PetscInt            iterations;
};

/* The dual that a SNES solves */
PETSC_INTERN PetscErrorCode DualFromSNES_Private(SNES snes, Dual *dual);
/* SNES function, its generalized Jacobian, U alone for variational inequalities */
PETSC_INTERN PetscErrorCode DualFunction_Private(SNES snes, Vec x, Vec f, void *dual);
PETSC_INTERN PetscErrorCode DualJacobian_Private(SNES snes, Vec x, Mat J, Mat P, void *dual);
PETSC_INTERN PetscErrorCode DualMakeSNES_Private(Dual dual);
/* u and merit of x, from the last evaluation if it was at x */
PETSC_INTERN PetscErrorCode DualEvaluate_Private(Dual dual, const PetscReal x[], PetscReal *merit);
/* Of all ranks together; a new iterate whose velocities are known */
PETSC_INTERN PetscErrorCode DualMerit_Private(Dual dual, const PetscReal r[], const PetscReal u[], PetscReal *merit);
PETSC_INTERN PetscErrorCode DualKnow_Private(Dual dual, const PetscReal r[], const PetscReal u[], PetscReal *merit);
/* W of a given problem: by blocks, or by bodies */
typedef struct {
  PetscBool        bodies;
  const PetscReal *w;
  const PetscInt  *body;
  const PetscReal *F;
} DualValues;
/* Moves the given problem to where it is solved: dual->system */
PETSC_INTERN PetscErrorCode DualDistribute_Private(Dual dual, PetscInt n, const PetscInt ptr[], const PetscInt col[], const DualValues *values, const PetscReal b[], const Row row[]);
PETSC_INTERN PetscErrorCode DualToSystem_Private(Dual dual, const PetscReal given[], PetscReal system[]);
PETSC_INTERN PetscErrorCode DualFromSystem_Private(Dual dual, const PetscReal system[], PetscReal given[]);

/* A SNES type of ours: kernel is called with an island's system after its start has been found not good enough, report->merit > tol; u = W r + q
   of the start and of what is given back */
typedef PetscErrorCode (*DualKernel)(SNES snes, Dual dual, System s, PetscReal tol, PetscReal *r, PetscReal *u, SolveReport *report, const SolveMonitors *monitor);
PETSC_INTERN PetscErrorCode DualSNESSolve_Private(SNES snes, DualKernel kernel);
PETSC_INTERN PetscErrorCode DualSNESCreate_Private(SNES snes, PetscInt max_it);
PETSC_INTERN PetscErrorCode SNESCreate_NLGS(SNES snes);
PETSC_INTERN PetscErrorCode SNESCreate_ProxNewton(SNES snes);
PETSC_INTERN PetscErrorCode SNESCreate_Conic(SNES snes);
PETSC_INTERN PetscErrorCode SNESCreate_Auto(SNES snes);
