#include "regression/masonry.h"

typedef struct {
  PetscReal lo[3], hi[3];
  PetscReal v[6];    /* velocity of the mass centre, angular velocity; with forces: after a step without contact */
  PetscReal root[6]; /* square roots of the inverse masses and moments of inertia; the base: zeros */
} MasonryBlock;

/* Point of contact of two blocks; h: rows n, t, s of the upper block, and those of the lower one, of its 6 velocities, times root */
typedef struct {
  PetscInt  block[2];
  PetscReal h[2][3][6];
  PetscReal q[3];
} MasonryPoint;

/* Blocks below and above, or before and behind, along an axis */
typedef struct {
  PetscInt lower, upper, axis;
} MasonryFace;

/* Block 0 is the base; the others come with their lower faces ascending */
typedef struct {
  PetscInt      n, room, nface;
  MasonryBlock *block;
  MasonryFace  *face;
  uint64_t      random;
} Masonry;

/* Uniform in [a, b): Steele, Lea and Flood's splitmix64 */
static PetscReal MasonryRandom(Masonry *m, PetscReal a, PetscReal b)
{
  uint64_t x = m->random += 0x9e3779b97f4a7c15u;

  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  x = x ^ (x >> 31);
  return a + (b - a) * (PetscReal)(x >> 11) * 0x1p-53;
}

static PetscErrorCode MasonryAdd(Masonry *m, PetscReal x0, PetscReal x1, PetscReal y0, PetscReal y1, PetscReal z0, PetscReal z1)
{
  const PetscReal lo[3] = {x0, y0, z0}, hi[3] = {x1, y1, z1};
  MasonryBlock   *b;

  PetscFunctionBeginUser;
  if (m->n == m->room) {
    m->room = 2 * m->room + 16;
    PetscCall(PetscRealloc(sizeof(*m->block) * m->room, &m->block));
  }
  b = &m->block[m->n++];
  PetscCall(PetscMemzero(b, sizeof(*b)));
  PetscCall(PetscArraycpy(b->lo, lo, 3));
  PetscCall(PetscArraycpy(b->hi, hi, 3));
  PetscFunctionReturn(0);
}

/* Do the blocks touch along an axis, a below b? */
static PetscBool MasonryTouch(const MasonryBlock *a, const MasonryBlock *b, PetscInt axis, PetscReal eps)
{
  if (PetscAbsReal(a->hi[axis] - b->lo[axis]) > eps) return PETSC_FALSE;
  for (PetscInt k = 1; k < 3; k++) {
    PetscInt c = (axis + k) % 3;

    if (PetscMin(a->hi[c], b->hi[c]) - PetscMax(a->lo[c], b->lo[c]) < eps) return PETSC_FALSE;
  }
  return PETSC_TRUE;
}

static PetscErrorCode MasonryFindFaces(Masonry *m)
{
  PetscReal eps = 1e-6 * (m->block[1].hi[2] - m->block[1].lo[2]);
  PetscInt  room = 0;

  PetscFunctionBeginUser;
  for (PetscInt i = 0; i < m->n; i++) {
    for (PetscInt j = i + 1; j < m->n && m->block[j].lo[2] < m->block[i].hi[2] + eps; j++) {
      for (PetscInt axis = 0; axis < 3; axis++) {
        PetscBool up = MasonryTouch(&m->block[i], &m->block[j], axis, eps), down = MasonryTouch(&m->block[j], &m->block[i], axis, eps);

        if (!up && !down) continue;
        if (m->nface == room) {
          room = 2 * room + 16;
          PetscCall(PetscRealloc(sizeof(*m->face) * room, &m->face));
        }
        m->face[m->nface].lower = up ? i : j;
        m->face[m->nface].upper = up ? j : i;
        m->face[m->nface++].axis = axis;
      }
    }
  }
  PetscFunctionReturn(0);
}

/* Lengths and places across; heights stay, so that courses remain plane */
static void MasonryPerturb(Masonry *m, PetscReal perturb)
{
  for (PetscInt i = 1; i < m->n; i++) {
    MasonryBlock *b = &m->block[i];

    for (PetscInt c = 0; c < 2; c++) {
      PetscReal size = b->hi[c] - b->lo[c];

      b->lo[c] += MasonryRandom(m, -perturb, perturb) * size;
      b->hi[c] += MasonryRandom(m, -perturb, perturb) * size;
    }
  }
}

/* Masses, and velocities at the end of the step if nothing touched */
static void MasonryMove(Masonry *m, const MasonryOptions *o)
{
  PetscReal t = o->tilt * PETSC_PI / 180, a = o->azimuth * PETSC_PI / 180, unit = o->gravity * o->step;
  PetscReal g[3] = {PetscSinReal(t) * PetscCosReal(a), PetscSinReal(t) * PetscSinReal(a), -PetscCosReal(t)};

  for (PetscInt c = 0; c < 6; c++) m->block[0].v[c] = o->base[c] * unit;
  for (PetscInt i = 1; i < m->n; i++) {
    MasonryBlock *b = &m->block[i];
    PetscReal     s[3], mass, inertia[3], size = 0;

    for (PetscInt c = 0; c < 3; c++) {
      s[c] = b->hi[c] - b->lo[c];
      size = PetscMax(size, s[c]);
    }
    mass = MASONRY_DENSITY * s[0] * s[1] * s[2];
    for (PetscInt c = 0; c < 3; c++) {
      inertia[c] = mass / 12 * (s[(c + 1) % 3] * s[(c + 1) % 3] + s[(c + 2) % 3] * s[(c + 2) % 3]);
      b->root[c] = 1 / PetscSqrtReal(mass);
      b->root[3 + c] = 1 / PetscSqrtReal(inertia[c]);
      b->v[c] = unit * g[c] + (o->speed > 0 ? MasonryRandom(m, -o->speed, o->speed) * unit : 0);
      b->v[3 + c] = o->speed > 0 ? MasonryRandom(m, -o->speed, o->speed) * unit / size : 0;
    }
    if (o->every > 0 && (i - 1) % o->every == 0) { /* impulse p at height z above the centre */
      PetscReal angle = MasonryRandom(m, 0, 2 * PETSC_PI), z = MasonryRandom(m, -0.5, 0.5) * s[2], p = o->load * mass * unit;
      PetscReal px = p * PetscCosReal(angle), py = p * PetscSinReal(angle);

      b->v[0] += px / mass;
      b->v[1] += py / mass;
      b->v[3] -= z * py / inertia[0];
      b->v[4] += z * px / inertia[1];
    }
  }
}

/* A frame about an axis: exact, or with a small error of the normal and tangents turned at will */
static void MasonryFrame(Masonry *m, PetscInt axis, PetscReal perturb, PetscReal d[3][3])
{
  PetscReal e[2], spin, cosine, sine, norm = 0, dot = 0;

  for (PetscInt k = 0; k < 3; k++)
    for (PetscInt c = 0; c < 3; c++) d[k][c] = c == (axis + k) % 3;
  if (perturb == 0) return;
  e[0] = MasonryRandom(m, -perturb, perturb);
  e[1] = MasonryRandom(m, -perturb, perturb);
  spin = MasonryRandom(m, 0, 2 * PETSC_PI);
  cosine = PetscCosReal(spin);
  sine = PetscSinReal(spin);
  for (PetscInt c = 0; c < 3; c++) {
    PetscReal t = d[1][c], s = d[2][c];

    d[0][c] += e[0] * t + e[1] * s;
    d[1][c] = cosine * t + sine * s;
    norm += d[0][c] * d[0][c];
  }
  for (PetscInt c = 0; c < 3; c++) d[0][c] /= PetscSqrtReal(norm);
  for (PetscInt c = 0; c < 3; c++) dot += d[0][c] * d[1][c];
  norm = 0;
  for (PetscInt c = 0; c < 3; c++) {
    d[1][c] -= dot * d[0][c];
    norm += d[1][c] * d[1][c];
  }
  for (PetscInt c = 0; c < 3; c++) d[1][c] /= PetscSqrtReal(norm);
  for (PetscInt c = 0; c < 3; c++) d[2][c] = d[0][(c + 1) % 3] * d[1][(c + 2) % 3] - d[0][(c + 2) % 3] * d[1][(c + 1) % 3];
}

/* Four points of each face. The points of a face share its frame. */
static PetscErrorCode MasonryPoints(Masonry *m, const MasonryOptions *o, MasonryPoint **points)
{
  PetscFunctionBeginUser;
  PetscCall(PetscCalloc1(4 * m->nface, points));
  for (PetscInt f = 0; f < m->nface; f++) {
    const MasonryFace  *face = &m->face[f];
    const MasonryBlock *lower = &m->block[face->lower], *upper = &m->block[face->upper];
    PetscInt            a = face->axis;
    PetscReal           d[3][3], space = upper->lo[a] - lower->hi[a], high = upper->hi[2] - upper->lo[2];

    MasonryFrame(m, a, o->perturb, d);
    for (PetscInt k = 0; k < 4; k++) {
      MasonryPoint *p = *points + 4 * f + k;
      PetscReal     x[3];

      x[a] = (upper->lo[a] + lower->hi[a]) / 2;
      for (PetscInt c = 1; c < 3; c++) {
        PetscInt  b = (a + c) % 3;
        PetscReal lo = PetscMax(lower->lo[b], upper->lo[b]), hi = PetscMin(lower->hi[b], upper->hi[b]);

        x[b] = (c == 1 ? k % 2 : k / 2) ? hi : lo;
      }
      for (PetscInt side = 0; side < 2; side++) {
        const MasonryBlock *b = side ? lower : upper;
        PetscReal           arm[3], sign = side ? -1 : 1;
        PetscInt            id = side ? face->lower : face->upper;

        p->block[side] = id;
        for (PetscInt c = 0; c < 3; c++) arm[c] = x[c] - (id > 0 ? (b->lo[c] + b->hi[c]) / 2 : 0);
        for (PetscInt r = 0; r < 3; r++) {
          for (PetscInt c = 0; c < 3; c++) {
            PetscReal turn = arm[(c + 1) % 3] * d[r][(c + 2) % 3] - arm[(c + 2) % 3] * d[r][(c + 1) % 3];

            p->h[side][r][c] = sign * d[r][c] * b->root[c];
            p->h[side][r][3 + c] = sign * turn * b->root[3 + c];
            p->q[r] += sign * (d[r][c] * b->v[c] + turn * b->v[3 + c]);
          }
        }
      }
      if (o->perturb > 0) p->q[0] += (PetscMax(space, 0) + MasonryRandom(m, 0, 0.02) * o->perturb * high) / o->step;
    }
  }
  PetscFunctionReturn(0);
}

/* Which points are on a block: those of block b are list[start[b]] to list[start[b + 1] - 1], ascending */
static PetscErrorCode MasonryIncidence(const Masonry *m, PetscInt n, const MasonryPoint p[], PetscInt **start, PetscInt **list)
{
  PetscFunctionBeginUser;
  PetscCall(PetscCalloc1(m->n + 2, start));
  PetscCall(PetscMalloc1(2 * n, list));
  for (PetscInt i = 0; i < n; i++)
    for (PetscInt side = 0; side < 2; side++) (*start)[p[i].block[side] + 2]++;
  for (PetscInt b = 0; b < m->n; b++) (*start)[b + 2] += (*start)[b + 1];
  for (PetscInt i = 0; i < n; i++)
    for (PetscInt side = 0; side < 2; side++) (*list)[(*start)[p[i].block[side] + 1]++] = i;
  PetscFunctionReturn(0);
}

/* W from the rows of points that share a block, 3 x 3 whole blocks. Sums over blocks go from lower to higher numbers, so W is symmetric. */
static PetscErrorCode MasonryCondense(const Masonry *m, PetscInt n, const MasonryPoint p[], FCLibProblem *w)
{
  PetscInt *start, *list, *mark, *found, count = 0;

  PetscFunctionBeginUser;
  PetscCall(MasonryIncidence(m, n, p, &start, &list));
  PetscCall(PetscMalloc2(n, &mark, n, &found));
  for (PetscInt i = 0; i < n; i++) mark[i] = -1;
  w->n = n;
  w->dim = 3;
  PetscCall(PetscCalloc1(3 * n + 1, &w->ptr));
  PetscCall(PetscMalloc1(3 * n, &w->q));
  PetscCall(PetscMalloc1(n, &w->mu));
  for (PetscInt pass = 0; pass < 2; pass++) { /* count, then fill */
    if (pass) {
      PetscCall(PetscMalloc1(9 * count, &w->col));
      PetscCall(PetscCalloc1(9 * count, &w->val));
      for (PetscInt i = 0; i < n; i++) mark[i] = -1;
    }
    count = 0;
    for (PetscInt i = 0; i < n; i++) {
      PetscInt nfound = 0, low = p[i].block[0] > p[i].block[1];

      for (PetscInt side = 0; side < 2; side++) {
        PetscInt b = p[i].block[side];

        for (PetscInt k = start[b]; b > 0 && k < start[b + 1]; k++) {
          if (mark[list[k]] == i) continue;
          mark[list[k]] = i;
          found[nfound++] = list[k];
        }
      }
      if (!pass) {
        count += nfound;
        continue;
      }
      PetscCall(PetscSortInt(nfound, found));
      for (PetscInt r = 0; r < 3; r++) {
        w->ptr[3 * i + r + 1] = 9 * count + 3 * (r + 1) * nfound;
        for (PetscInt k = 0; k < nfound; k++) {
          const MasonryPoint *a = &p[i], *b = &p[found[k]];

          for (PetscInt s = 0; s < 3; s++) {
            PetscInt at = 9 * count + 3 * r * nfound + 3 * k + s;

            w->col[at] = 3 * found[k] + s;
            for (PetscInt first = 0; first < 2; first++) {
              PetscInt side = first ? !low : low;

              for (PetscInt other = 0; other < 2; other++) {
                if (a->block[side] != b->block[other]) continue;
                for (PetscInt c = 0; c < 6; c++) w->val[at] += a->h[side][r][c] * b->h[other][s][c];
              }
            }
          }
        }
      }
      count += nfound;
    }
  }
  for (PetscInt i = 0; i < n; i++) PetscCall(PetscArraycpy(w->q + 3 * i, p[i].q, 3));
  PetscCall(PetscFree2(mark, found));
  PetscCall(PetscFree(start));
  PetscCall(PetscFree(list));
  PetscFunctionReturn(0);
}

static PetscErrorCode MasonryBegin(const MasonryOptions *o, Masonry *m)
{
  PetscFunctionBeginUser;
  PetscCall(PetscMemzero(m, sizeof(*m)));
  m->random = (uint64_t)o->seed;
  PetscCall(MasonryAdd(m, -1e3, 1e3, -1e3, 1e3, -1, 0));
  PetscFunctionReturn(0);
}

static PetscErrorCode MasonryEnd(Masonry *m, const MasonryOptions *o, FCLibProblem **problem)
{
  MasonryPoint *points;
  PetscInt      n;

  PetscFunctionBeginUser;
  PetscCall(MasonryFindFaces(m));
  if (o->perturb > 0) MasonryPerturb(m, o->perturb);
  MasonryMove(m, o);
  PetscCall(MasonryPoints(m, o, &points));
  n = 4 * m->nface;
  PetscCall(PetscNew(problem));
  PetscCall(MasonryCondense(m, n, points, *problem));
  for (PetscInt i = 0; i < n; i++) (*problem)->mu[i] = o->mu[0] < o->mu[1] ? MasonryRandom(m, o->mu[0], o->mu[1]) : o->mu[0];
  PetscCall(PetscFree(points));
  PetscCall(PetscFree(m->block));
  PetscCall(PetscFree(m->face));
  PetscFunctionReturn(0);
}

PetscErrorCode MasonryOptionsDefault(MasonryOptions *o)
{
  PetscFunctionBeginUser;
  PetscCall(PetscMemzero(o, sizeof(*o)));
  o->step = 0.005;
  o->gravity = 9.81;
  o->mu[0] = o->mu[1] = 0.6;
  PetscFunctionReturn(0);
}

/* the space between blocks that do not touch, relative to their length */
#define MASONRY_SPACE 0.05

PetscErrorCode MasonryCreateWall(PetscInt nx, PetscInt ny, const MasonryOptions *o, FCLibProblem **problem)
{
  const PetscReal length = MASONRY_BRICK_LENGTH, depth = MASONRY_BRICK_DEPTH / 2, height = MASONRY_BRICK_HEIGHT;
  PetscReal       space = o->head ? 0 : MASONRY_SPACE * length / 2, half = nx * length / 2;
  Masonry         m;

  PetscFunctionBeginUser;
  PetscCall(MasonryBegin(o, &m));
  for (PetscInt j = 0; j < ny; j++) {
    for (PetscInt i = 0; i < nx + j % 2; i++) {
      PetscReal x0 = (i - (j % 2) / 2.) * length - half, x1 = PetscMin(x0 + length, half) - space;

      x0 = PetscMax(x0, -half) + space;
      PetscCall(MasonryAdd(&m, x0, x1, -depth, depth, j * height, (j + 1) * height));
    }
  }
  PetscCall(MasonryEnd(&m, o, problem));
  PetscFunctionReturn(0);
}

PetscErrorCode MasonryCreateTower(PetscInt planks, PetscInt layers, const MasonryOptions *o, FCLibProblem **problem)
{
  const PetscReal width = MASONRY_PLANK_WIDTH, height = MASONRY_PLANK_HEIGHT;
  PetscReal       pitch = width * (1 + (o->head ? 0 : MASONRY_SPACE)), half = planks * pitch / 2;
  Masonry         m;

  PetscFunctionBeginUser;
  PetscCall(MasonryBegin(o, &m));
  for (PetscInt j = 0; j < layers; j++) {
    for (PetscInt i = 0; i < planks; i++) {
      PetscReal a = i * pitch - half + (pitch - width) / 2;

      if (j % 2)
        PetscCall(MasonryAdd(&m, a, a + width, -half, half, j * height, (j + 1) * height));
      else
        PetscCall(MasonryAdd(&m, -half, half, a, a + width, j * height, (j + 1) * height));
    }
  }
  PetscCall(MasonryEnd(&m, o, problem));
  PetscFunctionReturn(0);
}

PetscErrorCode MasonryCreateColumns(PetscInt columns, PetscInt drums, const MasonryOptions *o, FCLibProblem **problem)
{
  const PetscReal width = MASONRY_DRUM_WIDTH / 2, height = MASONRY_DRUM_HEIGHT, pitch = 5 * width;
  PetscReal       space = o->head ? 0 : MASONRY_SPACE * width, top = drums * height;
  Masonry         m;

  PetscFunctionBeginUser;
  PetscCall(MasonryBegin(o, &m));
  for (PetscInt j = 0; j < drums; j++)
    for (PetscInt i = 0; i < columns; i++)
      PetscCall(MasonryAdd(&m, i * pitch - width, i * pitch + width, -width, width, j * height, (j + 1) * height));
  for (PetscInt i = 0; i + 1 < columns; i++) PetscCall(MasonryAdd(&m, i * pitch + space, (i + 1) * pitch - space, -width, width, top, top + height));
  PetscCall(MasonryEnd(&m, o, problem));
  PetscFunctionReturn(0);
}

/* --- the list; where nothing is said, friction is 0.6 --- */

enum { WALL, TOWER, COLUMNS };

static const struct {
  const char    *name;
  int            kind;
  PetscInt       a, b;
  MasonryOptions options;
} masonry[] = {
    {"wall-3x3-rest", WALL, 3, 3, {.head = PETSC_FALSE}},
    {"wall-3x3-head-rest", WALL, 3, 3, {.head = PETSC_TRUE}},
    {"wall-3x3-head-tilt40", WALL, 3, 3, {.head = PETSC_TRUE, .tilt = 40}},
    {"wall-3x3-load", WALL, 3, 3, {.every = 2, .load = 0.9, .seed = 1}},
    {"wall-3x3-rough", WALL, 3, 3, {.perturb = 0.01, .mu = {0.3, 0.9}, .seed = 2}},
    {"wall-2x4-head-tilt20", WALL, 2, 4, {.head = PETSC_TRUE, .tilt = 20, .azimuth = 90}},
    {"wall-2x4-head-shove", WALL, 2, 4, {.head = PETSC_TRUE, .base = {2, 0.5}}},
    {"wall-2x4-rock", WALL, 2, 4, {.base = {0, 0, 0, 0, 0.8, 0}}},
    {"wall-2x4-slippery", WALL, 2, 4, {.tilt = 8, .mu = {0.05, 0.15}, .seed = 3}},
    {"wall-4x4-rest", WALL, 4, 4, {.head = PETSC_FALSE}},
    {"wall-4x4-tilt30", WALL, 4, 4, {.tilt = 30, .azimuth = 30}},
    {"wall-4x4-head-load", WALL, 4, 4, {.head = PETSC_TRUE, .every = 3, .load = 1.5, .seed = 4}},
    {"wall-4x4-head-rough", WALL, 4, 4, {.head = PETSC_TRUE, .perturb = 0.005, .mu = {0.2, 0.8}, .seed = 5}},
    {"wall-4x4-twist", WALL, 4, 4, {.base = {0, 0, 0, 0, 0, 1.5}, .mu = {0.3, 0.3}}},
    {"wall-4x5-head-rest", WALL, 4, 5, {.head = PETSC_TRUE}},
    {"wall-4x5-head-tilt40", WALL, 4, 5, {.head = PETSC_TRUE, .tilt = 40}},
    {"wall-4x5-head-drop", WALL, 4, 5, {.head = PETSC_TRUE, .base = {0.5, 0, -0.9, 0.4, 0.1, 0}}},
    {"wall-4x7-rest", WALL, 4, 7, {.head = PETSC_FALSE}},
    {"wall-4x7-tilt40", WALL, 4, 7, {.tilt = 40, .azimuth = 10}},
    {"wall-4x7-shove", WALL, 4, 7, {.base = {1, 0.2, 0.5}, .mu = {0.4, 0.8}, .seed = 6}},
    {"wall-5x6-head-tilt15", WALL, 5, 6, {.head = PETSC_TRUE, .tilt = 15, .azimuth = 80}},
    {"wall-5x6-head-shaken", WALL, 5, 6, {.head = PETSC_TRUE, .speed = 2, .seed = 7}},
    {"wall-5x6-load", WALL, 5, 6, {.every = 4, .load = 2, .seed = 8}},
    {"wall-5x6-rock", WALL, 5, 6, {.base = {0.3, 0, 0, 0.2, 0.4, 0}, .perturb = 0.002, .seed = 9}},
    {"wall-6x7-rest", WALL, 6, 7, {.head = PETSC_FALSE}},
    {"wall-6x7-tilt50", WALL, 6, 7, {.tilt = 50, .azimuth = 45, .mu = {0.5, 0.7}, .seed = 10}},
    {"wall-7x8-head-rest", WALL, 7, 8, {.head = PETSC_TRUE}},
    {"wall-7x8-head-tilt25", WALL, 7, 8, {.head = PETSC_TRUE, .tilt = 25, .azimuth = 20}},
    {"wall-7x8-head-rough", WALL, 7, 8, {.head = PETSC_TRUE, .perturb = 0.01, .mu = {0.3, 0.9}, .seed = 11}},
    {"wall-8x10-shove", WALL, 8, 10, {.base = {0, 1.5, 0.2}}},
    {"wall-8x10-load", WALL, 8, 10, {.every = 7, .load = 1.2, .tilt = 5, .seed = 12}},
    {"wall-3x30-rest", WALL, 3, 30, {.head = PETSC_FALSE}},
    {"wall-3x30-tilt5", WALL, 3, 30, {.tilt = 5, .azimuth = 90, .mu = {0.4, 0.6}, .seed = 13}},
    {"tower-2x5-rest", TOWER, 2, 5, {.head = PETSC_FALSE}},
    {"tower-2x5-tilt35", TOWER, 2, 5, {.tilt = 35, .azimuth = 20}},
    {"tower-2x5-head-shaken", TOWER, 2, 5, {.head = PETSC_TRUE, .speed = 3, .seed = 14}},
    {"tower-2x12-rough", TOWER, 2, 12, {.perturb = 0.01, .mu = {0.2, 0.6}, .seed = 15}},
    {"tower-2x12-rock", TOWER, 2, 12, {.base = {0, 0, 0, 1, 0.5, 0}}},
    {"tower-3x4-rest", TOWER, 3, 4, {.head = PETSC_FALSE}},
    {"tower-3x4-tilt30", TOWER, 3, 4, {.tilt = 30, .mu = {0.5, 0.7}, .seed = 16}},
    {"tower-3x4-head-load", TOWER, 3, 4, {.head = PETSC_TRUE, .every = 2, .load = 1, .seed = 17}},
    {"tower-3x7-rest", TOWER, 3, 7, {.head = PETSC_FALSE}},
    {"tower-3x7-tilt20", TOWER, 3, 7, {.tilt = 20, .azimuth = 45}},
    {"tower-3x7-shove", TOWER, 3, 7, {.base = {1.2, 0.7, 0}}},
    {"tower-3x7-head-rest", TOWER, 3, 7, {.head = PETSC_TRUE}},
    {"tower-3x7-head-twist", TOWER, 3, 7, {.head = PETSC_TRUE, .base = {0, 0, 0.5, 0, 0, 40}}},
    {"tower-3x7-pulled", TOWER, 3, 7, {.every = 11, .load = 6, .seed = 18}},
    {"tower-3x12-rough", TOWER, 3, 12, {.perturb = 0.005, .mu = {0.3, 0.8}, .seed = 19}},
    {"tower-3x12-tilt12", TOWER, 3, 12, {.tilt = 12, .azimuth = 70}},
    {"tower-3x20-rest", TOWER, 3, 20, {.head = PETSC_FALSE}},
    {"tower-3x20-shove", TOWER, 3, 20, {.base = {0.8, 0.1, 0.3}, .mu = {0.3, 0.5}, .seed = 20}},
    {"tower-4x6-rest", TOWER, 4, 6, {.head = PETSC_FALSE}},
    {"tower-4x6-tilt40", TOWER, 4, 6, {.tilt = 40, .azimuth = 5}},
    {"tower-4x6-load", TOWER, 4, 6, {.every = 5, .load = 3, .seed = 21}},
    {"columns-1x8-rest", COLUMNS, 1, 8, {.head = PETSC_FALSE}},
    {"columns-1x8-tilt15", COLUMNS, 1, 8, {.tilt = 15, .azimuth = 40}},
    {"columns-1x8-shove", COLUMNS, 1, 8, {.base = {1, 0.3, 0}}},
    {"columns-1x16-rest", COLUMNS, 1, 16, {.head = PETSC_FALSE}},
    {"columns-1x16-rough", COLUMNS, 1, 16, {.perturb = 0.01, .mu = {0.2, 0.7}, .seed = 22}},
    {"columns-1x30-tilt3", COLUMNS, 1, 30, {.tilt = 3, .azimuth = 15}},
    {"columns-2x6-rest", COLUMNS, 2, 6, {.head = PETSC_FALSE}},
    {"columns-2x6-tilt35", COLUMNS, 2, 6, {.tilt = 35, .azimuth = 60}},
    {"columns-3x8-head-load", COLUMNS, 3, 8, {.head = PETSC_TRUE, .every = 4, .load = 1, .seed = 23}},
    {"columns-3x8-rock", COLUMNS, 3, 8, {.base = {0, 0, 0, 0.1, 0.1, 0.1}}},
    {"columns-5x10-head-rest", COLUMNS, 5, 10, {.head = PETSC_TRUE}},
    {"columns-5x10-head-tilt20", COLUMNS, 5, 10, {.head = PETSC_TRUE, .tilt = 20}},
    {"columns-5x10-shaken", COLUMNS, 5, 10, {.speed = 0.3, .mu = {0.2, 0.8}, .seed = 24}},
    {"columns-4x20-shove", COLUMNS, 4, 20, {.base = {0, 0.8, 0.1}}},
};

PetscInt MasonryCount(void)
{
  return (PetscInt)PETSC_STATIC_ARRAY_LENGTH(masonry);
}

const char *MasonryName(PetscInt i)
{
  return i >= 0 && i < MasonryCount() ? masonry[i].name : NULL;
}

PetscErrorCode MasonryCreate(PetscInt i, FCLibProblem **problem)
{
  MasonryOptions o, given;

  PetscFunctionBeginUser;
  PetscCheck(i >= 0 && i < MasonryCount(), PETSC_COMM_SELF, PETSC_ERR_ARG_OUTOFRANGE, "masonry problem %" PetscInt_FMT " of %" PetscInt_FMT, i,
             MasonryCount());
  PetscCall(MasonryOptionsDefault(&o));
  given = masonry[i].options;
  given.step = o.step;
  given.gravity = o.gravity;
  if (given.mu[1] == 0) given.mu[0] = given.mu[1] = o.mu[0];
  if (masonry[i].kind == WALL)
    PetscCall(MasonryCreateWall(masonry[i].a, masonry[i].b, &given, problem));
  else if (masonry[i].kind == TOWER)
    PetscCall(MasonryCreateTower(masonry[i].a, masonry[i].b, &given, problem));
  else
    PetscCall(MasonryCreateColumns(masonry[i].a, masonry[i].b, &given, problem));
  PetscFunctionReturn(0);
}
