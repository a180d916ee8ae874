/* Dual contact problems of dry masonry, made up for tests and benchmarks: rigid boxes on a base, four contact points per touching face (the
   corners of the overlap), gravity over one step. u = W r + q with W = H M⁻¹ Hᵀ and q = H (v + h M⁻¹ f) + H_base v_base + gaps/h, r impulses;
   3 rows per contact, normal (from the lower block to the upper one) first. W is symmetric to the last bit and of rank 6 x blocks at most, which
   is half of its rows or less. All problems have a solution, as the blocks can all move apart. Contacts with the base come first.
   Random numbers are made here: the same seed gives the same problem everywhere, up to rounding. */
#pragma once
#include "meshes/fclib.h"

/* Sizes of the blocks (length along x, depth along y, height along z) and their density; z is up, the base is the plane z = 0 */
#define MASONRY_BRICK_LENGTH 0.4
#define MASONRY_BRICK_DEPTH 0.2
#define MASONRY_BRICK_HEIGHT 0.2
#define MASONRY_PLANK_WIDTH 0.1 /* and PLANKS x 0.1 x (1 + spacing) long, 0.06 high */
#define MASONRY_PLANK_HEIGHT 0.06
#define MASONRY_DRUM_WIDTH 0.5 /* of columns, square, 0.6 high */
#define MASONRY_DRUM_HEIGHT 0.6
#define MASONRY_DENSITY 2000.

typedef struct {
  PetscBool head;          /* blocks of a course touch each other: head joints; otherwise there is a space between them */
  PetscReal step, gravity; /* h and |g|: 0.005, 9.81 */
  PetscReal tilt, azimuth; /* degrees: gravity from the vertical, and the horizontal direction that it leans to, from x */
  PetscInt  every;         /* each block of a number that this divides, from 0, is pulled sideways; 0: none */
  PetscReal load;          /* by this times its weight, in a random direction at a random height */
  PetscReal speed;         /* random velocities of the blocks, times g h */
  PetscReal base[6];       /* velocity of the base at the origin and angular velocity; the velocity times g h, the angular one in g h per metre */
  PetscReal mu[2];         /* friction, random between these in each contact: 0.6, 0.6 */
  PetscReal perturb;       /* relative error of lengths and places, of the normals (radians), of bearing (gaps); 0: exact boxes */
  PetscInt  seed;
} MasonryOptions;

PETSC_EXTERN PetscErrorCode MasonryOptionsDefault(MasonryOptions *options);

/* Running bond, nx bricks in each of ny courses, halves at the ends of every other: 4 nx (2 ny - 1) contacts and those of head joints */
PETSC_EXTERN PetscErrorCode MasonryCreateWall(PetscInt nx, PetscInt ny, const MasonryOptions *options, FCLibProblem **problem);
/* Layers of parallel planks, crosswise: 4 (planks + planks² (layers - 1)) contacts and those of head joints */
PETSC_EXTERN PetscErrorCode MasonryCreateTower(PetscInt planks, PetscInt layers, const MasonryOptions *options, FCLibProblem **problem);
/* Columns of drums, and lintels from column to column: 4 columns x drums + 8 (columns - 1) contacts and those of head joints */
PETSC_EXTERN PetscErrorCode MasonryCreateColumns(PetscInt columns, PetscInt drums, const MasonryOptions *options, FCLibProblem **problem);

/* A fixed list of problems of 32 to 708 contacts: at rest, tilted, loaded, with a moving base, sticking, sliding and opening */
PETSC_EXTERN PetscInt       MasonryCount(void);
PETSC_EXTERN const char    *MasonryName(PetscInt i);
PETSC_EXTERN PetscErrorCode MasonryCreate(PetscInt i, FCLibProblem **problem);
