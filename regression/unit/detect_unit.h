/* Scenes of a few bodies for the tests of Detector. */
#pragma once
#include "unit.h"
#include "constraints/detect.h"
#include "physics/rotation.h"

enum { SCENE = 64 };
typedef struct {
  Detector  d;
  PetscInt  n;
  Mesh      mesh[SCENE];
  Surface   surface[SCENE];
  PetscReal h;
  PetscBool warped;
} Scene;

static inline void SceneStart(Scene *s)
{
  memset(s, 0, sizeof(*s));
  Ok(DetectorCreate(PETSC_COMM_SELF, &s->d));
}

static inline void SceneEnd(Scene *s)
{
  Ok(DetectorDestroy(&s->d));
  for (PetscInt i = 0; i < s->n; i++) {
    Ok(SurfaceDestroy(&s->surface[i]));
    Ok(MeshDestroy(&s->mesh[i]));
  }
}

/* Turned by the rotation vector w about its centre, then moved to `at` */
static inline void ScenePlace(Scene *s, PetscInt b, const PetscReal w[3], const PetscReal at[3], const PetscReal velocity[3], const PetscReal spin[3])
{
  static const PetscReal zero[3] = {0, 0, 0};
  PetscReal              R[9];

  RotationFromVector(w, R);
  Ok(DetectorSetPlacement(s->d, b, R, zero, at, velocity ? velocity : zero, spin ? spin : zero));
}

static inline PetscInt SceneMesh(Scene *s, Mesh mesh, DetectKind kind, const PetscReal w[3], const PetscReal at[3])
{
  static const PetscReal zero[3] = {0, 0, 0};
  PetscInt               b;

  s->mesh[s->n] = mesh;
  Ok(SurfaceCreate(mesh, &s->surface[s->n]));
  Ok(DetectorAddBody(s->d, 10 * (s->n + 1), s->surface[s->n], kind, zero, &b));
  assert_int_equal(b, s->n);
  s->n++;
  ScenePlace(s, b, w, at, NULL, NULL);
  return b;
}

static inline PetscInt SceneBox(Scene *s, DetectKind kind, PetscReal x, PetscReal y, PetscReal z, PetscInt cells, const PetscReal w[3], const PetscReal at[3])
{
  const PetscReal length[3] = {x, y, z};
  const PetscInt  n[3]      = {cells, cells, cells};
  Mesh            mesh;

  Ok(MeshCreateBox(length, n, &mesh));
  return SceneMesh(s, mesh, kind, w, at);
}

static inline PetscInt SceneUpdate(Scene *s, const Contact **c)
{
  PetscInt n;

  Ok(DetectorUpdate(s->d, s->h, &n, c));
  return n;
}

static inline void CountKinds(PetscInt n, const Contact c[], PetscInt kinds[3])
{
  kinds[0] = kinds[1] = kinds[2] = 0;
  for (PetscInt i = 0; i < n; i++) kinds[c[i].key.kind]++;
}

/* The same seed, the same numbers everywhere */
static inline PetscReal Uniform(uint64_t *seed)
{
  *seed ^= *seed << 13;
  *seed ^= *seed >> 7;
  *seed ^= *seed << 17;
  return (PetscReal)(*seed >> 11) / 9007199254740992.;
}

static inline void RandomVector(uint64_t *seed, PetscReal length, PetscReal w[3])
{
  PetscReal l;

  do {
    for (PetscInt c = 0; c < 3; c++) w[c] = 2 * Uniform(seed) - 1;
    l = Vec3Norm(w);
  } while (l > 1 || l < 1e-3);
  for (PetscInt c = 0; c < 3; c++) w[c] *= length / l;
}
