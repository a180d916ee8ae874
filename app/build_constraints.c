#include "build_impl.h"
#include "error.h"
#include "physics/rotation.h"
#include <fnmatch.h>

/* Where the points of a constraint are */
typedef struct {
  const char *body, *other;
  const char *nodes, *side; /* names of sets, NULL: a point */
  PetscReal   point[3];
  PetscBool   offset;
} Place;

/* What ranks tell each other: bodies that the pattern matches, of them such that move; the first point; the other side of a ball (is there one, rank, id, elem, xi, is it an obstacle, does that move, velocity, speed) */
enum { TOLD_BODIES, TOLD_MOVING, TOLD_PLACE, TOLD_SIDE = TOLD_PLACE + 3, SIDE_HERE = 0, SIDE_RANK, SIDE_ID, SIDE_ELEM, SIDE_XI, SIDE_OBSTACLE = SIDE_XI + 3, SIDE_MOVES, SIDE_VELOCITY, SIDE_SPEED = SIDE_VELOCITY + 3, SIDE_COUNT, TOLD_COUNT = TOLD_SIDE + SIDE_COUNT };

static PetscErrorCode ConstraintText_Private(Settings settings, const char name[], const char rest[], const char **text, PetscBool *set)
{
  char key[KEY_LENGTH];

  PetscFunctionBeginUser;
  PetscCall(PetscSNPrintf(key, sizeof(key), "%s_%s", name, rest));
  PetscCall(SettingsGetString(settings, key, "", text, set));
  if (!(*text)[0]) *set = PETSC_FALSE;
  PetscFunctionReturn(0);
}

/* What the section says, on every rank alike */
static PetscErrorCode ConstraintRead_Private(Settings settings, const char name[], Support *s, Place *place)
{
  char        key[KEY_LENGTH];
  const char *text, *where, *folder;
  PetscBool   set, point, offset, nodes, side;
  PetscInt    kind;
  PetscReal   size;

  PetscFunctionBeginUser;
  PetscCall(PetscStrallocpy(name, &s->name));
  PetscCall(PetscSNPrintf(key, sizeof(key), "%s_type", name));
  PetscCall(SettingsGetChoice(settings, key, SupportKinds, 0, &kind, &set));
  UserCheck(set, "constraint '%s' has no type: give %s_type: fixed, direction, velocity, displacement or ball", name, name);
  s->kind = (SupportKind)kind;
  PetscCall(ConstraintText_Private(settings, name, "body", &place->body, &set));
  UserCheck(set, "constraint '%s' has no body: give %s_body (a name, or a pattern such as FB*)", name, name);
  PetscCall(ConstraintText_Private(settings, name, "other", &place->other, &set));
  UserCheck(set || s->kind != SUPPORT_BALL, "constraint '%s' is a ball and has no other body: give %s_other", name, name);
  UserCheck(!set || s->kind == SUPPORT_BALL, "constraint '%s': only a ball has an other body, it is of type %s", name, SupportKinds[s->kind]);
  UserCheck(s->kind != SUPPORT_BALL || strcmp(place->body, place->other), "constraint '%s' ties body '%s' to itself", name, place->body);
  UserCheck(s->kind != SUPPORT_BALL || (!strpbrk(place->body, "*?[") && !strpbrk(place->other, "*?[")), "constraint '%s': a ball ties two bodies, which need names, not patterns", name);
  PetscCall(ConstraintText_Private(settings, name, "nodes", &place->nodes, &nodes));
  PetscCall(ConstraintText_Private(settings, name, "side", &place->side, &side));
  PetscCall(PetscSNPrintf(key, sizeof(key), "%s_point", name));
  PetscCall(SettingsHas(settings, key, &point));
  PetscCall(PetscSNPrintf(key, sizeof(key), "%s_offset", name));
  PetscCall(SettingsHas(settings, key, &offset));
  UserCheck(point + offset + nodes + side, "constraint '%s' has no point: give %s_point (in the placed, undeformed state), %s_offset (from the body's mass centre), %s_nodes or %s_side (a set of the mesh)", name, name, name, name, name);
  UserCheck(point + offset + nodes + side == 1, "constraint '%s': give only one of %s_point, %s_offset, %s_nodes and %s_side", name, name, name, name, name);
  UserCheck(s->kind != SUPPORT_BALL || point || offset, "constraint '%s': a ball has one point, %s_point or %s_offset", name, name, name);
  if (!nodes) place->nodes = NULL;
  if (!side) place->side = NULL;
  if (point || offset) PetscCall(BuildPoint_Private(settings, name, place->point, &place->offset));
  PetscCall(PetscSNPrintf(key, sizeof(key), "%s_direction", name));
  PetscCall(SettingsGetReals(settings, key, 3, s->direction, &set));
  if (s->kind == SUPPORT_FIXED || s->kind == SUPPORT_BALL) {
    UserCheck(!set, "constraint '%s' of type %s holds all directions: leave %s_direction out, or take type direction", name, SupportKinds[s->kind], name);
  } else {
    UserCheck(set, "constraint '%s' has no direction: give %s_direction, 3 numbers", name, name);
    size = PetscSqrtReal(Vec3Dot(s->direction, s->direction));
    PetscCall(SettingsRequire(settings, key, size > 0 ? PETSC_TRUE : PETSC_FALSE, "a direction of length zero"));
    for (PetscInt c = 0; c < 3; c++) s->direction[c] /= size;
  }
  PetscCall(ConstraintText_Private(settings, name, "value", &text, &set));
  UserCheck(!set || s->kind == SUPPORT_VELOCITY || s->kind == SUPPORT_DISPLACEMENT, "constraint '%s' of type %s has no value: leave %s_value out, or take type velocity or displacement", name, SupportKinds[s->kind], name);
  if (s->kind == SUPPORT_VELOCITY || s->kind == SUPPORT_DISPLACEMENT) {
    UserCheck(set, "constraint '%s' has no value: give %s_value, a number, an expression of t or a CSV file", name, name);
    PetscCall(PetscSNPrintf(key, sizeof(key), "%s_value", name));
    PetscCall(SettingsWhere(settings, key, &where, &folder));
    PetscCall(PetscSNPrintf(key, sizeof(key), "%s: %s_value", where, name));
    PetscCall(FunctionCreate(key, text, folder, &s->value));
  }
  PetscFunctionReturn(0);
}

/* Point x of the placed body */
static PetscErrorCode ConstraintLocate_Private(const char name[], Body body, const FormulationOps *ops, const PetscReal x[3], ContactPoint *at)
{
  MaterialPoint point;
  PetscBool     found;
  PetscReal     r[3];

  PetscFunctionBeginUser;
  PetscCall(PetscMemzero(at, sizeof(*at)));
  if (ops->placement) { /* it cannot deform, so the point may be anywhere */
    at->elem = SUPPORT_FREE;
    for (PetscInt c = 0; c < 3; c++) r[c] = x[c] - body->origin[c];
    Mat3TransposeVec(body->rotation, r, at->xi);
    PetscFunctionReturn(0);
  }
  PetscCall(BodyLocatePoint(body, x, &point, &found));
  UserCheck(found, "constraint '%s': the point %g, %g, %g is not in body '%s', which can deform", name, (double)x[0], (double)x[1], (double)x[2], body->name);
  at->elem = point.elem;
  PetscCall(PetscArraycpy(at->xi, point.xi, 3));
  PetscFunctionReturn(0);
}

/* Velocity of the placed point x at the start, and a speed that it is to be compared with */
static void ConstraintVelocity_Private(Body body, const PetscReal x[3], PetscReal v[3], PetscReal *speed)
{
  PetscReal r[3];

  for (PetscInt c = 0; c < 3; c++) r[c] = x[c] - body->origin[c];
  Vec3Cross(body->spin, r, v);
  for (PetscInt c = 0; c < 3; c++) v[c] += body->velocity[c];
  *speed = PetscSqrtReal(Vec3Dot(body->velocity, body->velocity)) + body->part->radius * PetscSqrtReal(Vec3Dot(body->spin, body->spin));
}

/* Nodes of a set, ascending; the caller frees them */
static PetscErrorCode ConstraintNodes_Private(const char name[], Body body, const Place *place, PetscInt *n, PetscInt **node)
{
  Mesh               mesh  = body->part->mesh;
  const MeshNodeSet *nodes = NULL;
  const MeshSideSet *side  = NULL;
  char               known[1024] = "";
  PetscInt           total = place->nodes ? mesh->nnodeset : mesh->nsideset;

  PetscFunctionBeginUser;
  if (place->nodes) PetscCall(MeshFindNodeSet(mesh, place->nodes, &nodes));
  else PetscCall(MeshFindSideSet(mesh, place->side, &side));
  for (PetscInt i = 0; i < total; i++) {
    PetscCall(PetscStrlcat(known, i ? ", " : "", sizeof(known)));
    PetscCall(PetscStrlcat(known, place->nodes ? mesh->nodeset[i].name : mesh->sideset[i].name, sizeof(known)));
  }
  UserCheck(nodes || side, "constraint '%s': the mesh of body '%s' has no %s set '%s'; it has %s", name, body->name, place->nodes ? "node" : "side", place->nodes ? place->nodes : place->side, total ? known : "none");
  *n = nodes ? nodes->n : 4 * side->n;
  UserCheck(*n, "constraint '%s': set '%s' of the mesh of body '%s' is empty", name, place->nodes ? place->nodes : place->side, body->name);
  PetscCall(PetscMalloc1(*n, node));
  if (nodes) PetscCall(PetscArraycpy(*node, nodes->node, *n));
  else
    for (PetscInt i = 0; i < side->n; i++) {
      const MeshBlock *block = mesh->block;
      PetscInt         e     = side->elem[i];

      for (; e >= block->nelem; block++) e -= block->nelem;
      for (PetscInt k = 0; k < 4; k++) (*node)[4 * i + k] = block->conn[e * block->nnode + MeshHex8Side[side->side[i]][k]];
    }
  PetscCall(PetscSortRemoveDupsInt(n, *node));
  PetscFunctionReturn(0);
}

/* All points of constraint i on a body of this rank; told: see above */
static PetscErrorCode ConstraintPoints_Private(Supports *supports, PetscInt i, Model model, PetscInt local, const Place *place, PetscReal told[])
{
  const char           *name = supports->support[i].name;
  Body                  body = model->body[local];
  const FormulationOps *ops  = model->domain[local]->batch->ops;
  SupportPoint          p    = {.support = i, .id = {-1, body->id}};
  PetscInt              n    = 1, *node = NULL;
  PetscErrorCode        ierr = 0;

  PetscFunctionBeginUser;
  told[TOLD_BODIES]++;
  if (!ops->size) PetscFunctionReturn(0);
  UserCheck(ops->compliance, "constraint '%s': body '%s' is of formulation %s, on which constraints cannot act", name, body->name, ops->name);
  told[TOLD_MOVING]++;
  if (place->nodes || place->side) PetscCall(ConstraintNodes_Private(name, body, place, &n, &node));
  for (PetscInt k = 0; k < n && !ierr; k++) {
    p.number = k;
    if (node) {
      const PetscReal *X = body->part->X + 3 * node[k];

      Mat3Vec(body->rotation, X, p.placed);
      for (PetscInt c = 0; c < 3; c++) p.placed[c] += body->origin[c];
      p.point[1].elem = ops->placement ? SUPPORT_FREE : SUPPORT_NODE(node[k]);
      PetscCall(PetscArraycpy(p.point[1].xi, X, 3));
    } else {
      for (PetscInt c = 0; c < 3; c++) p.placed[c] = place->point[c] + (place->offset ? body->origin[c] : 0);
      ierr = ConstraintLocate_Private(name, body, ops, p.placed, &p.point[1]);
    }
    ConstraintVelocity_Private(body, p.placed, p.velocity, &p.speed);
    if (!ierr) ierr = SupportsAddPoint(supports, &p);
  }
  PetscCall(PetscFree(node));
  PetscCall(ierr);
  PetscFunctionReturn(0);
}

/* Points of all constraints but those of balls on other bodies */
static PetscErrorCode ConstraintsHere_Private(Builder *b, Model model, Supports *supports, const Place place[], PetscReal told[])
{
  PetscFunctionBeginUser;
  for (PetscInt i = 0; i < supports->n; i++) {
    PetscReal     *t     = told + TOLD_COUNT * i;
    const PetscInt first = supports->npoint;
    PetscBool      exists;
    PetscInt       local;

    if (strpbrk(place[i].body, "*?[")) {
      for (local = 0; local < model->nbody; local++)
        if (!fnmatch(place[i].body, model->body[local]->name, 0)) PetscCall(ConstraintPoints_Private(supports, i, model, local, &place[i], t));
    } else {
      PetscCall(BuildFindBody_Private(b, model, place[i].body, &local, &exists));
      if (local >= 0) PetscCall(ConstraintPoints_Private(supports, i, model, local, &place[i], t));
      if (supports->support[i].kind == SUPPORT_BALL) {
        PetscCall(BuildFindBody_Private(b, model, place[i].other, &local, &exists));
        UserCheck(exists, "constraint '%s': no body is called '%s'", supports->support[i].name, place[i].other);
      }
    }
    if (supports->support[i].kind == SUPPORT_BALL && supports->npoint > first)
      for (PetscInt c = 0; c < 3; c++) t[TOLD_PLACE + c] = supports->point[first].placed[c];
  }
  PetscFunctionReturn(0);
}

/* The other sides of balls; told has the points */
static PetscErrorCode ConstraintsOther_Private(Builder *b, Model model, Supports *supports, const Place place[], PetscMPIInt rank, PetscReal told[])
{
  PetscFunctionBeginUser;
  for (PetscInt i = 0; i < supports->n; i++) {
    const FormulationOps *ops;
    PetscReal            *t = told + TOLD_COUNT * i;
    PetscBool             exists;
    PetscInt              local;
    ContactPoint          at;
    Body                  body;

    if (supports->support[i].kind != SUPPORT_BALL) continue;
    PetscCall(BuildFindBody_Private(b, model, place[i].other, &local, &exists));
    if (local < 0) continue;
    body = model->body[local];
    ops  = model->domain[local]->batch->ops;
    UserCheck(ops->velocities, "constraint '%s': body '%s' is of formulation %s, on which constraints cannot act", supports->support[i].name, body->name, ops->name);
    PetscCall(ConstraintLocate_Private(supports->support[i].name, body, ops, t + TOLD_PLACE, &at));
    ConstraintVelocity_Private(body, t + TOLD_PLACE, t + TOLD_SIDE + SIDE_VELOCITY, &t[TOLD_SIDE + SIDE_SPEED]);
    t += TOLD_SIDE;
    t[SIDE_HERE] = 1;
    t[SIDE_RANK] = rank;
    t[SIDE_ID]   = body->id;
    t[SIDE_ELEM] = at.elem;
    PetscCall(PetscArraycpy(t + SIDE_XI, at.xi, 3));
    t[SIDE_OBSTACLE] = ops->size ? 0 : 1;
    for (PetscInt c = 0; c < 6; c++)
      if (body->motion[c] || (c < 3 ? body->velocity[c] : body->spin[c - 3]) != 0) t[SIDE_MOVES] = 1;
  }
  PetscFunctionReturn(0);
}

PetscErrorCode BuildConstraints_Private(MPI_Comm comm, Builder *b, Model model, Supports *supports)
{
  const char *const *names;
  PetscReal         *told;
  PetscInt           n, *first;
  PetscMPIInt        rank;
  Place             *place;

  PetscFunctionBeginUser;
  PetscCallMPI(MPI_Comm_rank(comm, &rank));
  PetscCall(SettingsGetList(b->settings, "constraints", &n, &names, NULL));
  if (!n) PetscFunctionReturn(0);
  PetscCall(PetscCalloc1(n, &supports->support));
  PetscCall(PetscCalloc3(n, &place, TOLD_COUNT * n, &told, n, &first));
  supports->n = n;
  for (PetscInt i = 0; i < n; i++) PetscCall(ConstraintRead_Private(b->settings, names[i], &supports->support[i], &place[i]));
  PetscCall(ErrorAgree(comm, ConstraintsHere_Private(b, model, supports, place, told)));
  PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, told, (PetscMPIInt)(TOLD_COUNT * n), MPIU_REAL, MPIU_SUM, comm));
  for (PetscInt i = 0; i < n; i++) {
    const PetscReal *t = told + TOLD_COUNT * i;

    UserCheck(t[TOLD_BODIES] > 0, "constraint '%s': no body is called '%s'", names[i], place[i].body);
    UserCheck(t[TOLD_MOVING] > 0, "constraint '%s': '%s' is an obstacle and goes where it is told%s", names[i], place[i].body, place[i].other[0] ? "; give the body that moves as body, the obstacle as other" : "");
  }
  PetscCall(ErrorAgree(comm, ConstraintsOther_Private(b, model, supports, place, rank, told)));
  for (PetscInt i = 0; i < n; i++) { /* the next sum is of what one rank has, so it is exact */
    PetscCall(PetscArrayzero(told + TOLD_COUNT * i, TOLD_SIDE));
    first[i] = PETSC_MAX_INT;
  }
  /* the first point of each: of the first body */
  for (PetscInt k = 0; k < supports->npoint; k++) first[supports->point[k].support] = PetscMin(first[supports->point[k].support], supports->point[k].id[1]);
  PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, first, (PetscMPIInt)n, MPIU_INT, MPI_MIN, comm));
  for (PetscInt k = 0; k < supports->npoint; k++) {
    SupportPoint *p = &supports->point[k];

    p->first = p->id[1] == first[p->support] && p->number == 0 ? PETSC_TRUE : PETSC_FALSE;
    if (p->first) PetscCall(PetscArraycpy(told + TOLD_COUNT * p->support + TOLD_PLACE, p->placed, 3));
  }
  PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, told, (PetscMPIInt)(TOLD_COUNT * n), MPIU_REAL, MPIU_SUM, comm));
  for (PetscInt i = 0; i < n; i++) PetscCall(PetscArraycpy(supports->support[i].place, told + TOLD_COUNT * i + TOLD_PLACE, 3));
  for (PetscInt k = 0; k < supports->npoint; k++) {
    SupportPoint    *p = &supports->point[k];
    const PetscReal *t = told + TOLD_COUNT * p->support + TOLD_SIDE;

    p->rank[0] = p->rank[1] = rank;
    if (t[SIDE_HERE] == 0 || (t[SIDE_OBSTACLE] != 0 && t[SIDE_MOVES] == 0)) continue; /* what is tied to an obstacle at rest is held in space */
    p->id[0]         = (PetscInt)t[SIDE_ID];
    p->rank[0]       = (PetscMPIInt)t[SIDE_RANK];
    p->point[0].elem = (PetscInt)t[SIDE_ELEM];
    PetscCall(PetscArraycpy(p->point[0].xi, t + SIDE_XI, 3));
    for (PetscInt c = 0; c < 3; c++) p->velocity[c] -= t[SIDE_VELOCITY + c];
    p->speed += t[SIDE_SPEED];
    p->led = t[SIDE_OBSTACLE] != 0 ? PETSC_TRUE : PETSC_FALSE;
  }
  PetscCall(PetscFree3(place, told, first));
  PetscFunctionReturn(0);
}
