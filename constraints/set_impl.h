/* What the files of ConstraintSet share. */
#pragma once
#include "constraints/grow.h"
#include "constraints/set.h"

/* A side of a block on the rank of its body */
typedef struct {
  PetscInt      body;      /* local */
  PetscInt      row;       /* of all blocks, over the ranks */
  PetscReal     sign;      /* of R on this body: -1 of the first, 1 of the second */
  PetscReal     frame[9];
  PetscInt      rows;
  PetscBool     equal;     /* of a support, not of a contact */
  PetscReal     v0[3];     /* velocity of the point before */
  PetscReal     force[3];  /* on this body in the accepted step */
  MaterialPoint point;
} Touch;

/* What a block leaves for the next step */
typedef struct {
  ContactKey key;
  PetscReal  normal[3], R[3]; /* R: force, so that another length of the step does not matter */
  PetscInt   flags;
} ConstraintMemory;

/* A row of blocks of W: columns, and 3x3 values by columns */
typedef struct {
  PetscInt         n;
  const PetscReal *col, *w;
} BlockRow;

/* Who tells whom of sides of blocks: sides 2 i, 2 i + 1 of block i here go to the rank of the body, where they are touches. Widths of
   messages are in numbers per side. */
typedef struct {
  MPI_Comm     comm;
  PetscMPIInt  rank, size;
  PetscInt     nside;            /* sides with a body: those here first, by body (ConstraintSetTouches_Private), then by rank; each body's, each rank's ascending */
  PetscInt    *side;
  PetscInt     nlocal, ntouch;   /* touches: of sides here first, then by rank */
  PetscInt    *away, *come;      /* size + 1: sides (touches) of rank r are nlocal + away[r] ... nlocal + away[r + 1] - 1 */
  PetscReal   *sbuf, *rbuf;
  PetscReal   *length;           /* scratch: of rows to send and to come */
  PetscInt     mside, msbuf, mrbuf, mlength;
  PetscMPIInt *scount, *rcount, *sdispl, *rdispl;
} SideExchange;

/* Rows of one point of a support */
typedef struct {
  MaterialPoint at;
  PetscReal     frame[9];
  PetscInt      rows;
  PetscBool     mend;     /* its velocity contradicts it at the start */
} SupportRow;

/* A point whose rows are eliminated */
typedef struct {
  PetscInt  point;
  PetscReal v0[3], mean[3], R[3];
} Held;

/* A body with such points: held[first ... first + n - 1] */
typedef struct {
  PetscInt      body, first, n;
  PetscInt      nrow, rank;
  PetscReal    *L, *scale; /* pivoted Cholesky factor of scale W_cc scale; scale is followed by 2 nrow numbers of work */
  PetscBLASInt *pivot;
} Holder;

typedef struct {
  const Supports *all;             /* NULL: none */
  PetscBool       eliminate;
  PetscReal       origin;
  SupportRow     *row;             /* of each point here */
  PetscInt       *local;           /* its body */
  PetscBool       led;             /* some point of any rank is */
  PetscInt        nkept, *order;   /* points whose rows stay in the dual problem, ascending by key */
  PetscInt        nheld, nholder;
  Held           *held;
  Holder         *holder;
  PetscInt       *of;              /* of each body its holder, -1: none */
  const MaterialPoint **points;    /* scratch for one body */
  PetscReal      *frames, *values, *rhs, *C, *Z;
  PetscInt        mpoints, mC, mZ;
} SupportRows;

struct _p_ConstraintSet {
  MPI_Comm      comm;
  PetscMPIInt   rank, size;
  Model         model;
  Detector      detector;
  Dual          dual;
  SignoriniKind signorini;
  ThetaKind     theta;
  OverlapKind   overlap;
  PetscBool     overlaps_known;   /* those at the start are told of */
  ContactLaw    law;
  PetscInt      ngroup, *group;
  ContactLaw   *laws;
  PetscBool     taken;            /* du has taken up impulses R of this step */
  PetscBool     fresh;            /* W is not the one that the dual has */
  PetscBool     able, able_known; /* all bodies have six unknowns or none */
  PetscBool     bodies, blocks;   /* W is given by bodies, not multiplied out; it is there as blocks */
  PetscInt     *body, mbody;      /* 2 a block: ids of bodies that can move, -1: none; then 4 of scratch */
  PetscReal    *F;                /* 36 a block, see DualSetProblemByBodies() */
  PetscReal    *trace;            /* of W_ii */
  PetscReal    *motion;           /* 18 a touch of another rank's block: its part of F */
  PetscInt      mmotion;
  PetscInt      step;             /* detections so far: bodies are glued at the first only */
  PetscInt      n, capacity;      /* blocks here */
  PetscInt      first;            /* number of the first of them over all ranks */
  Constraint   *row;
  SideExchange  exchange;
  PetscInt      ntouch, mtouch;
  Touch        *touch;
  PetscInt     *by_body, mby_body; /* scratch */
  PetscInt     *order, *body_ptr; /* touches by body, each body's ascending by row */
  PetscInt      ntouched, *touched; /* bodies with touches */
  PetscReal    *side, *data;      /* scratch: numbers per side, per touch */
  PetscInt      mside, mdata;
  PetscReal    *block;            /* of every body with touches: their rows, then W of the body */
  PetscInt      mblock;
  BlockRow     *touch_row, *side_row;
  PetscInt      mtouch_row, mside_row;
  PetscReal    *remote;           /* block rows that came from other ranks */
  PetscInt      mremote;
  PetscInt     *ptr, *col, mptr, mcol;
  PetscReal    *w, *b, *r, *u;
  PetscInt      mw, mb;
  Row          *laws_of;
  PetscInt      nmemory, mmemory;
  ConstraintMemory *memory;
  PetscInt      mforced;
  ContactKey   *forced;           /* contacts with force in the last step */
  const MaterialPoint **points;
  PetscReal    *frames, *values;
  PetscInt      mpoints;
  PetscBool     contact;          /* contacts are looked for */
  SupportRows   supports;
  PetscReal     h;                /* of the last step that was accepted; 0: none was */
  PetscBool     centres;          /* accepted rows get `centre` */
  PetscBool     reversible;       /* steps may be rejected: depths of the detector before the last detection */
  PetscInt      ndepth, *depth_body[2];
  PetscReal    *depth;
  ConstraintReport report;
};

/* set_exchange.c */
PETSC_INTERN PetscErrorCode SideExchangeCreate(MPI_Comm comm, SideExchange *e);
PETSC_INTERN PetscErrorCode SideExchangeDestroy(SideExchange *e);
/* Collective: sides of n blocks; afterwards e->ntouch touches are here */
PETSC_INTERN PetscErrorCode SideExchangeSetUp(SideExchange *e, PetscInt n, const Constraint row[]);
/* Collective: `width` numbers of each side to its touch, and back */
PETSC_INTERN PetscErrorCode SideExchangeForward(SideExchange *e, PetscInt width, const PetscReal side[], PetscReal touch[]);
PETSC_INTERN PetscErrorCode SideExchangeBackward(SideExchange *e, PetscInt width, const PetscReal touch[], PetscReal side[]);
/* Collective: only what goes to other ranks: of sides nlocal ... nside - 1 to touches nlocal ... ntouch - 1, and back */
PETSC_INTERN PetscErrorCode SideExchangeAway(SideExchange *e, PetscInt width, const PetscReal side[], PetscReal touch[]);
PETSC_INTERN PetscErrorCode SideExchangeHome(SideExchange *e, PetscInt width, const PetscReal touch[], PetscReal side[]);
/* Collective: n[t] columns and 9 n[t] values of touch t to its side. Those of sides here stay where they are, others go through the buffer *remote. */
PETSC_INTERN PetscErrorCode SideExchangeRows(SideExchange *e, const BlockRow touch[], PetscReal **remote, PetscInt *mremote, BlockRow side[]);
/* set_forces.c: centres of the accepted rows */
PETSC_INTERN PetscErrorCode ConstraintSetCentres_Private(ConstraintSet set, const Stage *stage);
/* set_overlap.c: after the first detection */
PETSC_INTERN PetscErrorCode ConstraintSetOverlaps_Private(ConstraintSet set, const Stage *stage);
/* set_bodies.c: rows by the motions of bodies, if all that are touched have six unknowns; the trace of W_ii */
PETSC_INTERN PetscErrorCode ConstraintSetTakesBodies_Private(ConstraintSet set, PetscBool *yes);
PETSC_INTERN PetscErrorCode ConstraintSetMotions_Private(ConstraintSet set, const Stage *stage);
PETSC_INTERN PetscReal      ConstraintSetTrace_Private(ConstraintSet set, PetscInt i);
/* Compliance of the n touches of a body, as FormulationOps has it, from their motions */
PETSC_INTERN void           ConstraintSetProducts_Private(ConstraintSet set, PetscInt n, const PetscInt list[], PetscReal W[]);
/* W as blocks; after the step only by motions, then there is no stage; points of the k-th touched body, whose touches are list[0 .. n - 1] */
PETSC_INTERN PetscErrorCode ConstraintSetBlocks_Private(ConstraintSet set, const Stage *stage);
PETSC_INTERN void           ConstraintSetBody_Private(ConstraintSet set, PetscInt k, Domain **domain, PetscInt *n, const PetscInt **list);
/* set_memory.c: what the block left that has this key, else that of the same node on another patch of a bent surface; NULL: none. By keys that ascend, *at goes on from
   call to call. */
PETSC_INTERN const ConstraintMemory *ConstraintRecall_Private(PetscInt n, const ConstraintMemory m[], const ContactKey *key, const PetscReal normal[3], PetscInt *at);
/* set_condense.c: touches of the blocks; velocities of their points (3 each), at t or at the end; du of the bodies by impulses R (3 per block) */
PETSC_INTERN PetscErrorCode ConstraintSetVelocities_Private(ConstraintSet set, const Stage *stage, PetscBool end, PetscReal v[]);
PETSC_INTERN PetscErrorCode ConstraintSetTouches_Private(ConstraintSet set);
/* The body of this id here */
PETSC_INTERN PetscInt       BodyLocal_Private(Model model, PetscInt id);
/* supports.c: mean velocity of the step that rows of a point on one body shall have, and where it is at t; rows of supports that stay, among those of contacts */
PETSC_INTERN PetscErrorCode ConstraintSetTarget_Private(ConstraintSet set, const Stage *stage, PetscInt point, PetscReal x[3], PetscReal mean[3]);
PETSC_INTERN PetscErrorCode ConstraintSetKeptRows_Private(ConstraintSet set, const Stage *stage);
PETSC_INTERN PetscErrorCode ConstraintSetKeptTargets_Private(ConstraintSet set, const Stage *stage);
PETSC_INTERN PetscErrorCode ConstraintSetSupportsDestroy_Private(ConstraintSet set);
/* set_held.c: rows that are eliminated. Hold: touched: only of bodies that other rows touch */
PETSC_INTERN PetscErrorCode ConstraintSetHeldSetUp_Private(ConstraintSet set);
PETSC_INTERN PetscErrorCode ConstraintSetHeldDestroy_Private(ConstraintSet set);
PETSC_INTERN PetscErrorCode ConstraintSetHeldStart_Private(ConstraintSet set, const Stage *stage);
PETSC_INTERN PetscErrorCode ConstraintSetReduce_Private(ConstraintSet set, const Stage *stage, PetscInt holder, PetscInt n, const MaterialPoint *const p[], const PetscReal frame[], PetscReal W[]);
PETSC_INTERN PetscErrorCode ConstraintSetHeldCondense_Private(ConstraintSet set, const Stage *stage);
/* After W is there: contacts between what cannot move, and such that can move in some directions only */
PETSC_INTERN PetscErrorCode ConstraintSetHeldBlocks_Private(ConstraintSet set);
PETSC_INTERN PetscErrorCode ConstraintSetHold_Private(ConstraintSet set, const Stage *stage, PetscBool touched);
PETSC_INTERN PetscErrorCode ConstraintSetHeldAccept_Private(ConstraintSet set, const Stage *stage);
/* set_solve.c: velocities of all touches become those of the rows, set->u */
PETSC_INTERN PetscErrorCode ConstraintSetRelative_Private(ConstraintSet set, const PetscReal v[]);
PETSC_INTERN PetscErrorCode ConstraintSetImpulse_Private(ConstraintSet set, const PetscReal R[]);
