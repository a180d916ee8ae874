/* Body: what a user names. Domain: what owns unknowns. Batch: equal Domains side by side. Stage: what a scheme asks of a Batch. */
#pragma once
#include <petscvec.h>
#include "function.h"
#include "lanes.h"
#include "part.h"

typedef enum { FRAME_MASS, FRAME_VOLUME } FrameKind;
typedef enum { TANGENT_CORRECTED, TANGENT_FACTORED } TangentKind;

typedef struct _p_Body *Body;
struct _p_Body {
  char       *name;
  PetscInt    id;                          /* in the order of the input, over all ranks */
  Part        part;
  char        formulation[16];
  PetscReal   rotation[9], shift[3];       /* placement: x = rotation X + shift, X of the mesh */
  PetscReal   origin[3];                   /* placed mass centre; a body's positions are counted from here, so that far away costs no digits */
  PetscReal   velocity[3], spin[3];        /* initial, of the mass centre and about it */
  PetscReal   eta, alpha;                  /* damping by stiffness and by mass */
  FrameKind   frame;
  PetscBool   conserve;
  TangentKind tangent;                     /* tl: solve with its operator by defect correction, or factor it in every step */
  Function    motion[6];                   /* obstacle: prescribed displacement, rotation vector in degrees; NULL: none */
};
PETSC_EXTERN PetscErrorCode BodyCreate(const char name[], PetscInt id, Part part, Body *body);
PETSC_EXTERN PetscErrorCode BodyDestroy(Body *body);
/* Sets rotation, shift and what follows from them. */
PETSC_EXTERN PetscErrorCode BodyPlace(Body body, const PetscReal rotation[9], const PetscReal shift[3]);

typedef struct {
  PetscReal t, h;        /* the step goes from t to t + h */
  PetscReal gravity[3];  /* at t + h/2 */
  PetscReal sm, sk;      /* A = sm M + sk K, from h and the batch's damping (StageSetBatch) */
  PetscInt  iteration;   /* 0: from du = 0; the linearly implicit step has no other */
  PetscBool implicit;    /* iterated: the force is taken at q(t + h/2) + h/4 du (19) */
  PetscBool rough;       /* du will still change: rows must not draw conclusions that stay */
  PetscReal balance;     /* time that the energy balance after this step stands for; 0: none is made */
} Stage;

/* Energies and accumulated works of one body, as they are in the history. */
enum { LEDGER_KINETIC, LEDGER_INTERNAL, LEDGER_EXTERNAL, LEDGER_DAMPING, LEDGER_CONTACT, LEDGER_FRICTION, LEDGER_CONSTRAINT, LEDGER_SIZE };

/* A material point: shape functions of its element, and where it is from the part's mass centre */
typedef struct {
  PetscInt  elem, nnode, node[8];
  PetscReal xi[3], N[8], X[3];
} MaterialPoint;
PETSC_EXTERN PetscErrorCode BodyLocatePoint(Body body, const PetscReal placed[3], MaterialPoint *point, PetscBool *found);
/* The point xi of element elem, which may be a little beyond it; only nodes with a part in it are listed. */
PETSC_EXTERN PetscErrorCode PartPoint(Part part, PetscInt elem, const PetscReal xi[3], MaterialPoint *point);

typedef struct _p_Batch *Batch;
typedef struct {
  Body     body;
  Batch    batch;
  PetscInt lane; /* 0 .. batch->n - 1 */
} Domain;

typedef struct _FormulationOps FormulationOps;
struct _p_Batch {
  Part                  part;
  const FormulationOps *ops;
  void                 *data;
  PetscReal             eta, alpha;
  FrameKind             frame;
  PetscBool             conserve;
  TangentKind           tangent;
  PetscInt              n, w, ngroup;   /* domains; lanes of a group (1, 8 or 16, the last may have 8 instead of 16); groups */
  PetscInt              lanes;          /* of all groups: lanes >= n, the rest is padding */
  Domain               *domain;
  PetscInt              nq, nu;         /* positions and velocities of one domain */
  PetscInt              qoff, uoff;     /* where the batch begins in the rank's slice of the model's vectors: [group][dof][lane] */
  PetscReal            *q, *u;          /* that slice, while the model's arrays are open */
  PetscInt              opened;         /* how often they were: what is derived from them holds as long */
  PetscReal            *du;             /* increment of u in this step */
  PetscReal            *force;          /* external point forces at the half step, like u; NULL: none in this batch */
  PetscBool             touched;        /* rows act on some domain of it in this step */
  PetscReal            *impulse;        /* of rows in this step, like u, where the formulation needs it */
  PetscBool             again;          /* the passes of this step go on with another operator, from the beginning */
  PetscReal            *ledger;         /* LEDGER_SIZE per domain */
  PetscReal             indicator;      /* largest c h^2 omega / r_g of the step, and of whom */
  PetscInt              indicator_lane;
  PetscInt              bad_lane;       /* a domain whose step is not finite or turned inside out, -1: none */
  PetscInt              nindefinite;    /* operators that were not positive definite */
  PetscInt              nsolve;         /* solves of defect corrections */
  PetscInt              nfallback;      /* steps of domains whose operator was factored after all */
};
/* lanes of group g; its first is g * w */
static inline PetscInt BatchGroupWidth(Batch b, PetscInt g)
{
  return PetscMin(b->w, b->lanes - g * b->w);
}
/* index of dof i of domain d in an array [group][dof][lane] with `per` dofs */
static inline PetscInt BatchIndex(Batch b, PetscInt per, PetscInt d, PetscInt i)
{
  const PetscInt first = d / b->w * b->w;

  return first * per + i * BatchGroupWidth(b, d / b->w) + d - first;
}

/* A formulation works on whole batches. */
struct _FormulationOps {
  const char *name, *help;
  int         code;                                              /* in files of results */
  PetscBool   elastic;                                           /* needs a material with stiffness */
  PetscReal   reach;                                             /* part of the bound of the stability indicator at which it is in danger (elastic ones) */
  PetscInt (*size)(Part);                                        /* unknown velocities of one domain; NULL: none, it does not move by itself */
  PetscBool   lanes;                                             /* equal domains share instructions; else groups of one */
  PetscErrorCode (*setup)(Batch);                                /* sets nq, nu, data */
  PetscErrorCode (*destroy)(Batch);
  PetscErrorCode (*start)(Batch, PetscInt d, Body);              /* initial q, u of domain d (of padding with the first body, at rest) */
  PetscErrorCode (*predict)(Batch, const Stage *);               /* q(t + h/2), frame, indicator */
  PetscErrorCode (*linearize)(Batch, const Stage *);             /* operator and residual at the stage's configuration */
  PetscErrorCode (*solve)(Batch, const Stage *, PetscReal *change); /* du += A^-1 residual; *change = max |correction| / max |du| */
  /* Tangents that are corrected, in touched batches: solve is one pass, from the last iterate and the impulses so far. When rows have changed du,
     mix takes it into the next iterate; *change = max |du - iterate| / max |du|, 0 when all domains are done. NULL: solve is exact. */
  PetscErrorCode (*mix)(Batch, const Stage *, PetscReal *change);
  PetscErrorCode (*correct)(Batch, const Stage *);               /* u, q at t + h; external work */
  PetscErrorCode (*energies)(Batch, const Stage *);              /* kinetic, internal; adds the work of damping when stage->balance */
  PetscErrorCode (*forget)(Batch);                               /* drops whatever is remembered beyond q, u, ledger (NULL: nothing is) */
  PetscErrorCode (*point)(Batch, PetscInt d, const MaterialPoint *, PetscReal t, PetscReal x[3], PetscReal v[3]);
  PetscErrorCode (*addforce)(Batch, PetscInt d, const MaterialPoint *, const PetscReal f[3]); /* into batch->force, at the predicted configuration */
  PetscErrorCode (*stress)(Batch, PetscInt d, PetscInt elem, const PetscReal xi[3], PetscReal sigma[6], PetscReal *mises);
  PetscErrorCode (*momentum)(Batch, PetscInt d, PetscReal p[3], PetscReal l[3]); /* linear; angular about the body's origin */
  /* Rows act on n points of domain d, at the predicted configuration. Surfaces there: `placement` of what cannot deform, x = at + R X with X from
     the part's mass centre, else `nodes`; positions from the body's origin, velocities at t. */
  PetscErrorCode (*placement)(Batch, PetscInt d, const Stage *, PetscReal R[9], PetscReal at[3], PetscReal v[3], PetscReal spin[3]);
  PetscErrorCode (*nodes)(Batch, PetscInt d, PetscInt n, const PetscInt node[], PetscReal x[], PetscReal v[]);
  PetscErrorCode (*velocities)(Batch, PetscInt d, const Stage *, PetscInt n, const MaterialPoint *const p[], PetscBool end, PetscReal v[]); /* at t, or of u + du as it is */
  PetscErrorCode (*compliance)(Batch, PetscInt d, const Stage *, PetscInt n, const MaterialPoint *const p[], const PetscReal frame[], PetscReal W[]);    /* E_i C_ij E_j^T, 3x3 blocks by columns, block (i, j) at 9 (n i + j); the directions E are rows of the frames. NULL: it has no unknowns */
  PetscErrorCode (*motions)(Batch, PetscInt d, const Stage *, PetscInt n, const MaterialPoint *const p[], const PetscReal frame[], PetscReal F[]); /* of what has six unknowns: F_i, 3x6 by columns, such that block (i, j) of the compliance is F_i F_j^T. NULL: it has others */
  PetscErrorCode (*impulse)(Batch, PetscInt d, PetscInt n, const MaterialPoint *const p[], const PetscReal P[]);                       /* du += A^-1 H^T P */
  PetscErrorCode (*conserve)(Batch, const Stage *); /* momentum of du as the loads and the impulses so far have it; NULL: it has it anyway */
};
PETSC_EXTERN PetscErrorCode FormulationRegister(const FormulationOps *ops);
PETSC_EXTERN PetscErrorCode FormulationFind(const char name[], const FormulationOps **ops);
/* Comma separated names, for messages and for help. */
PETSC_EXTERN PetscErrorCode FormulationNames(char names[], size_t len);

PETSC_EXTERN PetscErrorCode BatchCreate(const FormulationOps *ops, PetscInt n, Body bodies[], Batch *batch);
PETSC_EXTERN PetscErrorCode BatchDestroy(Batch *batch);
/* sm, sk of the linearly implicit step (14), (28): sm = 1 + alpha h/2, sk = eta h/2 + h^2/4 */
static inline void StageSetBatch(Stage *s, Batch b)
{
  s->sm = 1 + 0.5 * b->alpha * s->h;
  s->sk = 0.5 * b->eta * s->h + 0.25 * s->h * s->h;
}
