/* ConstraintSet: the rows of a step (contacts that the detector finds, supports and joints), from bodies to the dual problem U = W R + B and back. Every block of
   rows is owned by one rank; the ranks of its two bodies are told of it and work on its sides. */
#pragma once
#include "constraints/detect.h"
#include "constraints/dual.h"
#include "constraints/supports.h"
#include "physics/model.h"

/* gap: U_N + max(g, 0) / h >= 0 for whatever may touch in the step, g with what the turn of bodies takes from it; velocity: U_N >= 0 for what touches */
typedef enum { SIGNORINI_GAP, SIGNORINI_VELOCITY } SignoriniKind;
/* safe: no row adds energy in any step; paper: the laws hold for the velocity at the end of a step */
typedef enum { THETA_SAFE, THETA_PAPER } ThetaKind;
/* Bodies that overlap at the start: a warning, or an error */
typedef enum { OVERLAP_KEEP, OVERLAP_ERROR } OverlapKind;
typedef enum { STEP_STOP, STEP_CUT, STEP_CONTINUE } StepFailure;

/* How two bodies touch */
typedef struct {
  PetscReal friction, restitution, cohesion; /* cohesion: stress that the faces of bodies which touch from the start can bear */
  PetscBool exclude;
} ContactLaw;

enum { CONTACT_SUPPORT = 16 }; /* kind of the key of supports, beyond ContactKind: i, j are the numbers of the support and of its point on the body */
enum { CONSTRAINT_GLUED = 1, CONSTRAINT_OPEN = 2, CONSTRAINT_INERT = 4, CONSTRAINT_THROWN = 8 }; /* flags: cohesion holds; the velocity law has taken it for touching; held rows leave no motion to it; the last step had theta 1/2 */
typedef enum { CONTACT_STATE_OPEN, CONTACT_STATE_STICK, CONTACT_STATE_SLIP } ContactState;

/* A block of rows on the rank that owns it. U is the velocity of the second body's point against the first's along the directions of the frame. */
typedef struct {
  ContactKey   key;
  PetscInt     id[2];       /* bodies */
  PetscMPIInt  rank[2];     /* and who has them */
  PetscInt     local[2];    /* their numbers on this rank, of those that are here */
  ContactPoint point[2];
  PetscReal    frame[9];    /* directions as rows, the normal first */
  PetscReal    x[3];        /* where, at the half step: point of the first body; that of the second is a gap along the normal from it */
  PetscReal    centre[3];   /* mass centre of the second body then, if ConstraintSetSetCentres() asks for it */
  PetscReal    gap, area;
  PetscReal    bend;        /* what the step adds to the gap besides h U_N, for motion that goes on as it is */
  PetscReal    ell;         /* shortest edge of the mesh there */
  Row          law;
  PetscReal    restitution;
  PetscReal    theta[2];    /* of the normal, of the tangents */
  PetscReal    mean[3];     /* of supports: velocity that the mean of U0 and U shall be */
  PetscReal    U0[3];       /* at t */
  PetscReal    Uf[3];       /* at t + h if no row acted */
  PetscReal    shift[3];    /* the law is that of W R + Uf + shift */
  PetscReal    R[3];        /* impulse on the second body, along the frame */
  PetscReal    U[3];        /* at t + h */
  PetscInt     flags;
} Constraint;

/* Of the last step, over all ranks */
typedef struct {
  PetscInt            n, state[3];  /* contacts; by ContactState */
  PetscInt            rows, held;   /* blocks of the dual problem, contacts and others; blocks that were eliminated from it */
  PetscInt            iterations;   /* of the SNES, of all solves of the step */
  PetscInt            solves, halved; /* solves; normals and tangents of blocks that got theta = 1/2 */
  PetscReal           merit, penetration; /* merit of the impulses; deepest overlap of a contact at the half step */
  PetscReal           work, friction; /* of contacts on the bodies; of it by friction */
  PetscReal           tolerated;    /* work that contacts may do where they should do none, by the tolerance of the merit */
  PetscReal           normal;       /* sum of normal forces */
  PetscInt            glued, broken; /* cohesion holds; has given way in this step */
  PetscReal           h;            /* length of the step */
  SNESConvergedReason reason;       /* of the last solve; SNES_CONVERGED_ITERATING: there was none */
} ConstraintReport;

typedef struct _p_ConstraintSet *ConstraintSet;
PETSC_EXTERN PetscErrorCode ConstraintSetCreate(Model model, ConstraintSet *set);
PETSC_EXTERN PetscErrorCode ConstraintSetDestroy(ConstraintSet *set);
/* Reads -contact_*, and what the detector and the dual problem read */
PETSC_EXTERN PetscErrorCode ConstraintSetSetFromOptions(ConstraintSet set);
/* Bodies belong to groups (group[i] of the body with id i, on every rank); law[a * ngroup + b], symmetric, is that of bodies of groups a and b. The
   default is one group with the law of -contact_friction, -contact_restitution, -contact_cohesion. */
PETSC_EXTERN PetscErrorCode ConstraintSetSetLaws(ConstraintSet set, PetscInt ngroup, const PetscInt group[], const ContactLaw law[]);
PETSC_EXTERN PetscErrorCode ConstraintSetGetLaw(ConstraintSet set, ContactLaw *law);

/* Contacts are looked for (the default) or not */
PETSC_EXTERN PetscErrorCode ConstraintSetSetContact(ConstraintSet set, PetscBool contact);
/* After the options are read (-constraints_eliminate). The supports must outlive the set; origin: time at which displacements are zero. */
PETSC_EXTERN PetscErrorCode ConstraintSetSetSupports(ConstraintSet set, const Supports *supports, PetscReal origin);
/* Collective: mean force of the last step on the bodies of each support, and its moment about the support's first point as it is at t; 6 numbers each. The
   arrays of the model are open. */
PETSC_EXTERN PetscErrorCode ConstraintSetGetReactions(ConstraintSet set, PetscReal t, PetscReal reaction[]);

/* A step: after the prediction, rows of the half step. *any: there are some on any rank */
PETSC_EXTERN PetscErrorCode ConstraintSetDetect(ConstraintSet set, const Stage *stage, PetscBool *any);
/* W from the compliance of the touched points: after the operators of the step are known */
PETSC_EXTERN PetscErrorCode ConstraintSetCondense(ConstraintSet set, const Stage *stage);
/* du of the bodies holds what loads and the impulses so far make of it: finds the impulses and takes du on by what they change */
PETSC_EXTERN PetscErrorCode ConstraintSetSolve(ConstraintSet set, const Stage *stage);
/* The passes of the step begin again, with other operators; the impulses so far are where they start from */
PETSC_EXTERN PetscErrorCode ConstraintSetRestart(ConstraintSet set);
/* With du as it will be: works into the bodies' ledgers, and what the next step starts from */
PETSC_EXTERN PetscErrorCode ConstraintSetAccept(ConstraintSet set, const Stage *stage);
/* Instead of accepting: as before ConstraintSetDetect(). Only if it was said before that a step may be taken back. */
PETSC_EXTERN PetscErrorCode ConstraintSetReject(ConstraintSet set);
PETSC_EXTERN PetscErrorCode ConstraintSetSetReversible(ConstraintSet set, PetscBool reversible);
/* Everything that a step leaves for the next, of this rank: detections so far, and two tables to be freed */
#define CONSTRAINT_MEMORY_WIDTH 12
#define CONSTRAINT_DEPTH_WIDTH  3
PETSC_EXTERN PetscErrorCode ConstraintSetPack(ConstraintSet set, PetscInt *step, PetscInt *n, PetscReal **memory, PetscInt *ndepth, PetscReal **depth);
/* Collective. All ranks together give all rows, in any order; each takes those of its bodies. */
PETSC_EXTERN PetscErrorCode ConstraintSetUnpack(ConstraintSet set, PetscInt step, PetscInt n, const PetscReal memory[], PetscInt ndepth, const PetscReal depth[]);
/* Drops what ConstraintSetPack() does not give: lists */
PETSC_EXTERN PetscErrorCode ConstraintSetForget(ConstraintSet set);

/* Accepted rows know the mass centre of their second body, for moments */
PETSC_EXTERN PetscErrorCode ConstraintSetSetCentres(ConstraintSet set, PetscBool centres);
/* Open, stick or slip */
PETSC_EXTERN ContactState ConstraintGetState(const Constraint *row);
/* f (3 per node of the part) += forces of the rows of the last step on body `body` of this rank, by the shape functions of their points */
PETSC_EXTERN PetscErrorCode ConstraintSetAddForces(ConstraintSet set, PetscInt body, PetscReal f[]);
/* Collective. The last dual problem, as DualSetProblem() takes it */
PETSC_EXTERN PetscErrorCode ConstraintSetGetProblem(ConstraintSet set, PetscInt *n, const PetscInt **ptr, const PetscInt **col, const PetscReal **w, const PetscReal **b, const Row **row);
/* Blocks of this rank in the last step, ascending by key; U and R as they ended */
PETSC_EXTERN PetscErrorCode ConstraintSetGetRows(ConstraintSet set, PetscInt *n, const Constraint **row);
PETSC_EXTERN PetscErrorCode ConstraintSetGetReport(ConstraintSet set, ConstraintReport *report);
PETSC_EXTERN PetscErrorCode ConstraintSetGetDetector(ConstraintSet set, Detector *detector);
PETSC_EXTERN PetscErrorCode ConstraintSetGetDual(ConstraintSet set, Dual *dual);
