/* Model: the bodies of this rank in batches, their state as PETSc vectors, and the loads. */
#pragma once
#include "body.h"

typedef struct _p_Model *Model;

typedef struct {
  char         *name;
  Domain       *domain;
  MaterialPoint point;
  PetscReal     direction[3];
  Function      value;
} PointForce;

/* Bodies of one section, here or elsewhere: numbered from `first` on, called name_0, name_1, ... if there are many */
typedef struct {
  char     *name;
  PetscInt  first;
  PetscBool many;
} ModelSection;

struct _p_Model {
  MPI_Comm    comm;
  PetscInt    nbody, nglobal, ndof; /* bodies here, in all; unknown velocities in all */
  Body       *body;                 /* ascending by id */
  Domain    **domain;               /* of each body here */
  PetscInt    npart;
  Part       *part;                 /* owned by the model */
  PetscInt    nbatch;
  Batch      *batch;
  PetscBool   corrected;            /* some batch, on any rank, has a tangent that is corrected */
  Vec         q, u;
  PetscReal  *qarray, *uarray;      /* their numbers */
  PetscInt    nforce;
  PointForce *force;
  Function    gravity[3];           /* NULL: none */
  PetscInt      nsection;
  ModelSection *section;            /* of all bodies, ascending */
};

PETSC_EXTERN PetscErrorCode ModelCreate(MPI_Comm comm, Model *model);
PETSC_EXTERN PetscErrorCode ModelDestroy(Model *model);
/* The model takes parts and bodies over. */
PETSC_EXTERN PetscErrorCode ModelAddPart(Model model, Part part);
PETSC_EXTERN PetscErrorCode ModelAddBody(Model model, Body body);
/* Names of all bodies, on every rank: sections by ascending `first` */
PETSC_EXTERN PetscErrorCode ModelAddSection(Model model, const char name[], PetscInt first, PetscBool many);
/* Name of the body with this id, which may be on any rank */
PETSC_EXTERN PetscErrorCode ModelName(Model model, PetscInt id, char name[], size_t length);
/* Collective: batches, vectors, initial state. */
PETSC_EXTERN PetscErrorCode ModelSetUp(Model model);
/* After ModelSetUp(); body index is local. Takes the function over. */
PETSC_EXTERN PetscErrorCode ModelAddForce(Model model, const char name[], PetscInt body, const MaterialPoint *point, const PetscReal direction[3], Function value);
/* Opens and closes the arrays behind batch->q and batch->u. */
PETSC_EXTERN PetscErrorCode ModelOpen(Model model);
PETSC_EXTERN PetscErrorCode ModelClose(Model model);
/* stage->gravity and all point forces at the half step; after predict, within Open and Close. */
PETSC_EXTERN PetscErrorCode ModelLoads(Model model, Stage *stage);
/* Everything remembered beyond positions, velocities and ledger is dropped: a checkpoint's barrier. */
PETSC_EXTERN PetscErrorCode ModelForget(Model model);
/* Collective: sums of the ledger over all bodies. */
PETSC_EXTERN PetscErrorCode ModelLedger(Model model, PetscReal sum[LEDGER_SIZE]);
