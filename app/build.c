#include "build_impl.h"
#include "error.h"
#include "meshes/partition.h"
#include "physics/rotation.h"
#include <fnmatch.h>

/* Numbers and file names that a generator takes. Files are relative to the options file that names them; the caller frees paths[0 .. *npath - 1], also
   after an error. */
static PetscErrorCode BuildMeshParams_Private(Settings settings, const char part[], const MeshGenerator *gen, const char where[], PetscReal reals[], PetscInt *npath, char *paths[])
{
  PetscInt nr = 0;

  PetscFunctionBeginUser;
  for (PetscInt i = 0; i < gen->nparam; i++) {
    const MeshParam *p = &gen->param[i];
    char             key[KEY_LENGTH];
    PetscBool        set;

    PetscCall(PetscSNPrintf(key, sizeof(key), "%s_mesh_%s|body_mesh_%s", part, p->name, p->name));
    if (p->kind == MESH_PARAM_STRING) {
      const char *text, *dir, *file;

      PetscCall(SettingsGetString(settings, key, p->def, &text, &set));
      UserCheck(set || p->def, "%s: mesh type '%s' needs %s_mesh_%s (%s)", where, gen->type, part, p->name, p->help);
      PetscCall(SettingsWhere(settings, key, &file, &dir));
      PetscCall(PetscMalloc1(PETSC_MAX_PATH_LEN, &paths[*npath]));
      PetscCall(PetscSNPrintf(paths[(*npath)++], PETSC_MAX_PATH_LEN, "%s%s%s", text[0] != '/' && dir ? dir : "", text[0] != '/' && dir && dir[0] ? "/" : "", text));
    } else {
      if (p->kind == MESH_PARAM_BOOL) {
        PetscBool flag;

        PetscCall(SettingsGetBool(settings, key, p->def && !strcmp(p->def, "true") ? PETSC_TRUE : PETSC_FALSE, &flag, &set));
        reals[nr] = flag ? 1 : 0;
      } else if (p->def) {
        const char *at = p->def;

        for (PetscInt k = 0; k < p->count; k++) {
          char *end;

          reals[nr + k] = strtod(at, &end);
          if (*end == ',') end++;
          at = end;
        }
      }
      if (p->kind == MESH_PARAM_INT) {
        PetscInt ints[8];

        for (PetscInt k = 0; k < p->count; k++) ints[k] = p->def ? (PetscInt)reals[nr + k] : 0;
        PetscCall(SettingsGetInts(settings, key, p->count, ints, &set));
        for (PetscInt k = 0; k < p->count; k++) reals[nr + k] = ints[k];
      } else if (p->kind == MESH_PARAM_REAL) PetscCall(SettingsGetReals(settings, key, p->count, &reals[nr], &set));
      UserCheck(set || p->def, "%s: mesh type '%s' needs %s_mesh_%s (%s)", where, gen->type, part, p->name, p->help);
      nr += p->count;
    }
  }
  PetscFunctionReturn(0);
}

static PetscErrorCode BuildMesh_Private(Settings settings, const char part[], Mesh *mesh)
{
  char                 key[KEY_LENGTH], known[512] = "";
  const char          *type, *where, *folder;
  const MeshGenerator *gen = NULL;
  PetscReal            reals[64];
  char                *paths[16];
  PetscInt             npath = 0;
  PetscBool            set;
  PetscErrorCode       ierr;

  PetscFunctionBeginUser;
  *mesh = NULL;
  PetscCall(PetscSNPrintf(key, sizeof(key), "%s_mesh_type|body_mesh_type", part));
  PetscCall(SettingsGetString(settings, key, "", &type, &set));
  for (PetscInt i = 0; MeshGenerators[i]; i++) {
    if (!strcmp(type, MeshGenerators[i]->type)) gen = MeshGenerators[i];
    if (i) PetscCall(PetscStrlcat(known, ", ", sizeof(known)));
    PetscCall(PetscStrlcat(known, MeshGenerators[i]->type, sizeof(known)));
  }
  PetscCall(SettingsWhere(settings, key, &where, &folder));
  UserCheck(set, "'%s' has no mesh: give %s: {mesh: {type: ...}} with one of %s", part, part, known);
  UserCheck(gen, "%s: %s_mesh_type: '%s' is not a kind of mesh; known: %s", where, part, type, known);
  ierr = BuildMeshParams_Private(settings, part, gen, where, reals, &npath, paths);
  if (!ierr) {
    PetscCall(PetscSNPrintf(key, sizeof(key), "%s: %s_mesh", where, part));
    ErrorContext(key);
    ierr = (*gen->create)(reals, (const char *const *)paths, mesh);
    ErrorContext(NULL);
  }
  for (PetscInt i = 0; i < npath; i++) PetscCall(PetscFree(paths[i]));
  if (!ierr) {
    PetscCall(PetscSNPrintf(key, sizeof(key), "part '%s'", part));
    ierr = MeshCheck(*mesh, key);
  }
  if (ierr) PetscCall(MeshDestroy(mesh));
  PetscCall(ierr);
  PetscFunctionReturn(0);
}

static PetscErrorCode BuildPart_Private(Settings settings, const char name[], Part *part)
{
  static const char *const types[] = {"svk", "linear", NULL}, *const simd[] = {"auto", "sse2", "avx2", "avx512", NULL};
  char                     key[KEY_LENGTH];
  Material                 material = {0, 0, 1, PETSC_FALSE};
  Mesh                     mesh;
  PetscInt                 type, width;

  PetscFunctionBeginUser;
#define KEY(rest) (PetscSNPrintf(key, sizeof(key), "%s_" rest "|body_" rest, name), key)
  PetscCall(SettingsGetChoice(settings, KEY("material_type"), types, 0, &type, NULL));
  PetscCall(SettingsGetReal(settings, KEY("material_young"), 0, &material.young, NULL));
  PetscCall(SettingsGetReal(settings, KEY("material_poisson"), 0, &material.poisson, NULL));
  PetscCall(SettingsGetReal(settings, KEY("material_density"), 0, &material.density, NULL));
  PetscCall(SettingsRequire(settings, KEY("material_young"), (PetscBool)(material.young >= 0), "%g is below zero", (double)material.young));
  PetscCall(SettingsRequire(settings, KEY("material_density"), (PetscBool)(material.density >= 0), "%g is below zero", (double)material.density));
  PetscCall(SettingsRequire(settings, KEY("material_poisson"), (PetscBool)(material.poisson > -1 && material.poisson < 0.5), "%g is not between -1 and 0.5; take 0.49 for a nearly incompressible material", (double)material.poisson));
#undef KEY
  material.linear = type == 1 ? PETSC_TRUE : PETSC_FALSE;
  PetscCall(BuildMesh_Private(settings, name, &mesh));
  PetscCall(PartCreate(name, mesh, &material, part));
  PetscCall(SettingsGetChoice(settings, "element_simd", simd, 0, &width, NULL));
  (*part)->simd = width ? 1 << width : 0;
  PetscFunctionReturn(0);
}

static PetscErrorCode BuildGetPart_Private(Builder *b, const Section *s, Part *part)
{
  PetscFunctionBeginUser;
  if (!b->part[s->partid]) PetscCall(BuildPart_Private(b->settings, s->partname, &b->part[s->partid]));
  *part           = b->part[s->partid];
  (*part)->number = s->partid;
  PetscFunctionReturn(0);
}

/* Options of one body: its own name, its section's (for copies), its part's, `body`. */
static void BodyKey_Private(const Section *s, PetscInt copy, const char rest[], char key[KEY_LENGTH])
{
  char own[512] = "", part[512] = "";

  if (s->many) snprintf(own, sizeof(own), "%s_%d_%s|", s->name, (int)copy, rest);
  if (strcmp(s->name, s->partname)) snprintf(part, sizeof(part), "%s_%s|", s->partname, rest);
  snprintf(key, KEY_LENGTH, "%s%s_%s|%sbody_%s", own, s->name, rest, part, rest);
}

static PetscErrorCode BuildFormulation_Private(Settings settings, const Section *s, PetscInt copy, const char **name, const FormulationOps **ops)
{
  char        key[KEY_LENGTH], known[256];
  const char *where;

  PetscFunctionBeginUser;
  BodyKey_Private(s, copy, "formulation", key);
  PetscCall(SettingsGetString(settings, key, "bc", name, NULL));
  PetscCall(FormulationFind(*name, ops));
  if (!*ops) {
    PetscCall(FormulationNames(known, sizeof(known)));
    PetscCall(SettingsWhere(settings, key, &where, NULL));
    UserCheck(PETSC_FALSE, "%s: %s_formulation: '%s' is not a formulation; known: %s", where, s->name, *name, known);
  }
  PetscFunctionReturn(0);
}

static PetscErrorCode BuildBody_Private(Builder *builder, const Section *s, PetscInt copy, Body *body)
{
  Settings                 settings = builder->settings;
  static const char *const frames[] = {"mass", "volume", NULL}, *const tangents[] = {"corrected", "factored", NULL}, *const motions[] = {"motion_x", "motion_y", "motion_z", "motion_rx", "motion_ry", "motion_rz"};
  const FormulationOps    *ops;
  char                     key[KEY_LENGTH], name[256];
  const char              *formulation, *text, *where, *folder;
  Placement                place;
  PetscInt                 frame, tangent;
  PetscBool                set;
  Part                     part = NULL;
  Body                     b;

  PetscFunctionBeginUser;
  if (s->many) PetscCall(PetscSNPrintf(name, sizeof(name), "%s_%" PetscInt_FMT, s->name, copy));
  else PetscCall(PetscStrncpy(name, s->name, sizeof(name)));
  PetscCall(BuildGetPart_Private(builder, s, &part));
  PetscCall(BodyCreate(name, s->first + copy, part, &b));
  *body = b;
  PetscCall(CopiesGet(s->copies, copy, &place));
  if (s->many) {
    PetscCall(PetscSNPrintf(key, sizeof(key), "%s_velocity", name));
    PetscCall(SettingsGetReals(settings, key, 3, place.velocity, NULL));
    PetscCall(PetscSNPrintf(key, sizeof(key), "%s_angular_velocity", name));
    PetscCall(SettingsGetReals(settings, key, 3, place.spin, NULL));
  }
  PetscCall(BodyPlace(b, place.rotation, place.shift));
  PetscCall(PetscArraycpy(b->velocity, place.velocity, 3));
  PetscCall(PetscArraycpy(b->spin, place.spin, 3));
  PetscCall(BuildFormulation_Private(settings, s, copy, &formulation, &ops));
  PetscCall(PetscStrncpy(b->formulation, formulation, sizeof(b->formulation)));
#define KEY(rest) (BodyKey_Private(s, copy, rest, key), key)
  PetscCall(SettingsGetReal(settings, KEY("damping"), 0, &b->eta, NULL));
  PetscCall(SettingsRequire(settings, key, (PetscBool)(b->eta >= 0), "%g is below zero", (double)b->eta));
  PetscCall(SettingsGetReal(settings, KEY("mass_damping"), 0, &b->alpha, NULL));
  PetscCall(SettingsRequire(settings, key, (PetscBool)(b->alpha >= 0), "%g is below zero", (double)b->alpha));
  PetscCall(SettingsGetChoice(settings, KEY("frame"), frames, FRAME_MASS, &frame, NULL));
  b->frame = (FrameKind)frame;
  PetscCall(SettingsGetBool(settings, KEY("conserve"), PETSC_TRUE, &b->conserve, NULL));
  PetscCall(SettingsGetChoice(settings, KEY("tangent"), tangents, TANGENT_CORRECTED, &tangent, NULL));
  b->tangent = (TangentKind)tangent;
  UserCheck(!ops->size || part->material.density > 0, "body '%s' moves and needs %s_material_density above zero", name, s->partname);
  UserCheck(!ops->elastic || part->material.young > 0, "body '%s' of formulation %s needs %s_material_young above zero", name, formulation, s->partname);
  for (PetscInt c = 0; c < 6; c++) {
    PetscCall(SettingsGetString(settings, KEY(motions[c]), "", &text, &set));
    if (!set || !text[0]) continue;
    PetscCall(SettingsWhere(settings, key, &where, &folder));
    UserCheck(!ops->size, "%s: %s_%s: only an obstacle has a prescribed motion; give %s_formulation obstacle", where, name, motions[c], name);
    PetscCall(PetscSNPrintf(key, sizeof(key), "%s: %s_%s", where, name, motions[c]));
    PetscCall(FunctionCreate(key, text, folder, &b->motion[c]));
  }
#undef KEY
  PetscFunctionReturn(0);
}

/* Weight (count of unknowns) and box of bodies lo .. hi - 1 */
static PetscErrorCode BuildWeights_Private(Builder *b, PetscInt lo, PetscInt hi, PetscInt weight[], PetscReal box[])
{
  PetscInt at = 0;

  PetscFunctionBeginUser;
  for (PetscInt i = lo; i < hi; i++) {
    const FormulationOps *ops;
    const Section        *s;
    const char           *name;
    Placement             place;
    Part                  part = NULL;
    PetscReal             c[3];

    while (i >= b->section[at].first + b->section[at].n) at++;
    s = &b->section[at];
    PetscCall(BuildGetPart_Private(b, s, &part));
    PetscCall(CopiesGet(s->copies, i - s->first, &place));
    PetscCall(BuildFormulation_Private(b->settings, s, i - s->first, &name, &ops));
    weight[i - lo] = ops->size ? (*ops->size)(part) : 1;
    Mat3Vec(place.rotation, part->centre, c);
    for (PetscInt k = 0; k < 3; k++) {
      box[6 * (i - lo) + k]     = place.shift[k] + c[k] - part->radius;
      box[6 * (i - lo) + 3 + k] = place.shift[k] + c[k] + part->radius;
    }
  }
  PetscFunctionReturn(0);
}

/* Which bodies this rank gets: any rank can place any body, so only numbers travel. */
static PetscErrorCode BuildSpread_Private(MPI_Comm comm, Builder *b, PetscInt total, PetscInt *nown, PetscInt **own)
{
  PetscMPIInt size, rank, *scount, *sdispl, *rcount, *rdispl;
  PetscInt    lo, hi, *weight, *target, *send, n;
  PetscReal  *box;

  PetscFunctionBeginUser;
  PetscCallMPI(MPI_Comm_size(comm, &size));
  PetscCallMPI(MPI_Comm_rank(comm, &rank));
  lo = (PetscInt)((PetscInt64)total * rank / size);
  hi = (PetscInt)((PetscInt64)total * (rank + 1) / size);
  n  = hi - lo;
  PetscCall(PetscMalloc4(n, &weight, n, &target, 6 * n, &box, n, &send));
  PetscCall(ErrorAgree(comm, BuildWeights_Private(b, lo, hi, weight, box)));
  PetscCall(PartitionBodies(comm, n, weight, box, target));
  PetscCall(PetscCalloc4(size, &scount, size + 1, &sdispl, size, &rcount, size + 1, &rdispl));
  for (PetscInt i = 0; i < n; i++) scount[target[i]]++;
  for (PetscMPIInt r = 0; r < size; r++) sdispl[r + 1] = sdispl[r] + scount[r];
  for (PetscInt i = 0; i < n; i++) send[sdispl[target[i]]++] = lo + i;
  for (PetscMPIInt r = 0; r < size; r++) sdispl[r] -= scount[r];
  PetscCallMPI(MPI_Alltoall(scount, 1, MPI_INT, rcount, 1, MPI_INT, comm));
  for (PetscMPIInt r = 0; r < size; r++) rdispl[r + 1] = rdispl[r] + rcount[r];
  *nown = rdispl[size];
  PetscCall(PetscMalloc1(*nown, own));
  PetscCallMPI(MPI_Alltoallv(send, scount, sdispl, MPIU_INT, *own, rcount, rdispl, MPIU_INT, comm));
  PetscCall(PetscSortInt(*nown, *own));
  PetscCall(PetscFree4(weight, target, box, send));
  PetscCall(PetscFree4(scount, sdispl, rcount, rdispl));
  PetscFunctionReturn(0);
}

PetscErrorCode BuildPoint_Private(Settings settings, const char name[], PetscReal point[3], PetscBool *offset)
{
  char      key[KEY_LENGTH];
  PetscBool absolute;

  PetscFunctionBeginUser;
  PetscCall(PetscSNPrintf(key, sizeof(key), "%s_point", name));
  PetscCall(SettingsGetReals(settings, key, 3, point, &absolute));
  PetscCall(PetscSNPrintf(key, sizeof(key), "%s_offset", name));
  PetscCall(SettingsGetReals(settings, key, 3, point, offset));
  UserCheck(absolute || *offset, "'%s' has no point: give %s_point (in the placed, undeformed state) or %s_offset (from the body's mass centre)", name, name, name);
  UserCheck(!absolute || !*offset, "'%s' has both %s_point and %s_offset: give one", name, name, name);
  PetscFunctionReturn(0);
}

static PetscErrorCode BuildLocate_Private(Body body, const PetscReal point[3], PetscBool offset, MaterialPoint *at, PetscBool *found)
{
  PetscReal x[3];

  PetscFunctionBeginUser;
  for (PetscInt c = 0; c < 3; c++) x[c] = point[c] + (offset ? body->origin[c] : 0);
  PetscCall(BodyLocatePoint(body, x, at, found));
  PetscFunctionReturn(0);
}

PetscErrorCode BuildFindBody_Private(Builder *b, Model model, const char name[], PetscInt *local, PetscBool *exists)
{
  const Section *s;
  PetscInt       setting, copy, id, lo = 0, hi = model->nbody;

  PetscFunctionBeginUser;
  *local  = -1;
  *exists = PETSC_FALSE;
  PetscCall(SettingsFindSection(b->settings, name, &setting, &copy, NULL));
  if (setting < 0 || setting >= b->nsection) PetscFunctionReturn(0);
  s = &b->section[setting]; /* sections of bodies are the first in the settings */
  if (s->many != (copy >= 0)) PetscFunctionReturn(0);
  *exists = PETSC_TRUE;
  id      = s->first + PetscMax(copy, 0);
  while (lo < hi) { /* bodies are sorted by id */
    const PetscInt mid = lo + (hi - lo) / 2;

    if (model->body[mid]->id < id) lo = mid + 1;
    else hi = mid;
  }
  if (lo < model->nbody && model->body[lo]->id == id) *local = lo;
  PetscFunctionReturn(0);
}

/* A force on one local body; counts[0]: bodies found, counts[1]: of them with the point inside */
static PetscErrorCode BuildForce_Private(Model model, const char name[], PetscInt body, const PetscReal point[3], PetscBool offset, const PetscReal direction[3], const char what[], const char text[], const char folder[],
                                         PetscInt counts[2])
{
  MaterialPoint at;
  PetscBool     found;
  Function      value;

  PetscFunctionBeginUser;
  counts[0]++;
  if (!model->domain[body]->batch->ops->size) PetscFunctionReturn(0);
  PetscCall(BuildLocate_Private(model->body[body], point, offset, &at, &found));
  if (!found) PetscFunctionReturn(0);
  counts[1]++;
  PetscCall(FunctionCreate(what, text, folder, &value));
  PetscCall(ModelAddForce(model, name, body, &at, direction, value));
  PetscFunctionReturn(0);
}

static PetscErrorCode BuildForces_Private(MPI_Comm comm, Builder *b, Model model)
{
  Settings           settings = b->settings;
  const char *const *names, *glob;
  PetscReal          point[3];
  PetscBool          offset;
  PetscInt           n, *counts;
  char               key[KEY_LENGTH];

  PetscFunctionBeginUser;
  PetscCall(SettingsGetList(settings, "forces", &n, &names, NULL));
  PetscCall(PetscCalloc1(2 * n, &counts));
  for (PetscInt i = 0; i < n; i++) {
    const char *text, *where, *folder;
    PetscReal   direction[3] = {0, 0, 0};
    Function    value;
    PetscBool   set;
    PetscInt    local;

    PetscCall(PetscSNPrintf(key, sizeof(key), "%s_body", names[i]));
    PetscCall(SettingsGetString(settings, key, "", &glob, &set));
    UserCheck(set && glob[0], "force '%s' has no body: give %s_body (a name, or a pattern such as FB*)", names[i], names[i]);
    PetscCall(BuildPoint_Private(settings, names[i], point, &offset));
    PetscCall(PetscSNPrintf(key, sizeof(key), "%s_direction", names[i]));
    PetscCall(SettingsGetReals(settings, key, 3, direction, &set));
    UserCheck(set, "force '%s' has no direction: give %s_direction, 3 numbers (the force is value times direction)", names[i], names[i]);
    PetscCall(PetscSNPrintf(key, sizeof(key), "%s_value", names[i]));
    PetscCall(SettingsGetString(settings, key, "1", &text, NULL));
    PetscCall(SettingsWhere(settings, key, &where, &folder));
    PetscCall(PetscSNPrintf(key, sizeof(key), "%s: %s_value", where, names[i]));
    PetscCall(FunctionCreate(key, text, folder, &value)); /* on every rank, so that all see a mistake */
    PetscCall(FunctionDestroy(&value));
    if (strpbrk(glob, "*?[")) {
      for (local = 0; local < model->nbody; local++)
        if (!fnmatch(glob, model->body[local]->name, 0)) PetscCall(BuildForce_Private(model, names[i], local, point, offset, direction, key, text, folder, &counts[2 * i]));
    } else {
      PetscCall(BuildFindBody_Private(b, model, glob, &local, &set));
      if (local >= 0) PetscCall(BuildForce_Private(model, names[i], local, point, offset, direction, key, text, folder, &counts[2 * i]));
    }
  }
  PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, counts, (PetscMPIInt)(2 * n), MPIU_INT, MPI_SUM, comm));
  for (PetscInt i = 0; i < n; i++) {
    PetscCall(PetscSNPrintf(key, sizeof(key), "%s_body", names[i]));
    PetscCall(SettingsGetString(settings, key, "", &glob, NULL));
    UserCheck(counts[2 * i], "force '%s': no body is called '%s'", names[i], glob);
    PetscCall(BuildPoint_Private(settings, names[i], point, &offset));
    UserCheck(counts[2 * i + 1], "force '%s': the point %g, %g, %g is in no moving body called '%s'", names[i], (double)point[0], (double)point[1], (double)point[2], glob);
  }
  PetscCall(PetscFree(counts));
  PetscFunctionReturn(0);
}

static PetscErrorCode BuildProbes_Private(MPI_Comm comm, Builder *b, Model model, Probes *probes)
{
  Settings           settings = b->settings;
  const char *const *names, *body;
  PetscReal          point[3];
  PetscBool          offset;
  PetscInt           n, *counts;
  char               key[KEY_LENGTH];

  PetscFunctionBeginUser;
  PetscCall(SettingsGetList(settings, "probes", &n, &names, NULL));
  PetscCall(PetscCalloc1(n, &probes->probe));
  PetscCall(PetscCalloc1(n, &counts));
  probes->n = n;
  for (PetscInt i = 0; i < n; i++) {
    Probe    *p = &probes->probe[i];
    PetscBool exists, found;
    PetscInt  local;

    PetscCall(PetscStrallocpy(names[i], &p->name));
    p->body = -1;
    PetscCall(PetscSNPrintf(key, sizeof(key), "%s_body", names[i]));
    PetscCall(SettingsGetString(settings, key, "", &body, &found));
    UserCheck(found && body[0], "probe '%s' has no body: give %s_body", names[i], names[i]);
    PetscCall(BuildPoint_Private(settings, names[i], point, &offset));
    PetscCall(BuildFindBody_Private(b, model, body, &local, &exists));
    UserCheck(exists, "probe '%s': no body is called '%s'", names[i], body);
    if (local < 0) continue;
    PetscCall(BuildLocate_Private(model->body[local], point, offset, &p->point, &found));
    if (!found) continue;
    counts[i]++;
    p->body = local;
  }
  PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, counts, (PetscMPIInt)n, MPIU_INT, MPI_SUM, comm));
  for (PetscInt i = 0; i < n; i++) {
    PetscCall(BuildPoint_Private(settings, names[i], point, &offset));
    PetscCall(PetscSNPrintf(key, sizeof(key), "%s_body", names[i]));
    PetscCall(SettingsGetString(settings, key, "", &body, NULL));
    UserCheck(counts[i], "probe '%s': the point %g, %g, %g is not in body '%s'", names[i], (double)point[0], (double)point[1], (double)point[2], body);
  }
  PetscCall(PetscFree(counts));
  PetscFunctionReturn(0);
}

/* Parts that bodies of this rank are made of go to the model, others were here for their weights only. */
static PetscErrorCode BuildKeepParts_Private(Builder *b, Model model)
{
  PetscBool *used;

  PetscFunctionBeginUser;
  PetscCall(PetscCalloc1(b->nsetting, &used));
  for (PetscInt i = 0, at = 0; i < model->nbody; i++) {
    while (model->body[i]->id >= b->section[at].first + b->section[at].n) at++;
    used[b->section[at].partid] = PETSC_TRUE;
  }
  for (PetscInt i = 0; i < b->nsetting; i++)
    if (b->part[i] && used[i]) PetscCall(ModelAddPart(model, b->part[i]));
    else PetscCall(PartDestroy(&b->part[i]));
  PetscCall(PetscFree(used));
  PetscFunctionReturn(0);
}

PetscErrorCode ProbesDestroy(Probes *probes)
{
  PetscFunctionBeginUser;
  for (PetscInt i = 0; i < probes->n; i++) PetscCall(PetscFree(probes->probe[i].name));
  PetscCall(PetscFree(probes->probe));
  PetscFunctionReturn(0);
}

static PetscErrorCode BuildGravity_Private(Settings settings, Model model)
{
  const char *const *items;
  const char        *where, *folder;
  PetscInt           n;
  PetscBool          set;

  PetscFunctionBeginUser;
  PetscCall(SettingsGetList(settings, "gravity", &n, &items, &set));
  if (!set) PetscFunctionReturn(0);
  PetscCall(SettingsWhere(settings, "gravity", &where, &folder));
  UserCheck(n == 3, "%s: gravity: expects 3 numbers or expressions of t, got %" PetscInt_FMT, where, n);
  for (PetscInt c = 0; c < 3; c++) {
    char what[KEY_LENGTH];

    PetscCall(PetscSNPrintf(what, sizeof(what), "%s: gravity", where));
    PetscCall(FunctionCreate(what, items[c], folder, &model->gravity[c]));
    PetscCall(FunctionUsesPlace(model->gravity[c], &set));
    UserCheck(!set, "%s: expression \"%s\" may depend on t only", what, items[c]);
  }
  PetscFunctionReturn(0);
}

/* Names of all sections, so that every option can be told whose it is; on every rank, since they are only names */
static PetscErrorCode BuildSections_Private(Builder *b)
{
  static const char *const lists[] = {"forces", "probes", "contact_pairs", "constraints"}, *const kinds[] = {"force", "probe", "pair", "constraint"};
  Settings                 settings = b->settings;
  const char *const       *names;
  PetscBool                set;
  PetscInt                 last = -1;

  PetscFunctionBeginUser;
  PetscCall(SettingsGetList(settings, "bodies", &b->nsection, &names, &set));
  UserCheck(set && b->nsection, "there are no bodies: give an options file with bodies: [name, ...], see -help");
  PetscCall(PetscCalloc1(b->nsection, &b->section));
  for (PetscInt i = 0; i < b->nsection; i++) {
    b->section[i].name = names[i];
    PetscCall(SettingsAddSection(settings, "body", names[i]));
  }
  for (PetscInt k = 0; k < 4; k++) {
    const char *const *items;
    PetscInt           n;

    PetscCall(SettingsGetList(settings, lists[k], &n, &items, NULL));
    for (PetscInt i = 0; i < n; i++) PetscCall(SettingsAddSection(settings, kinds[k], items[i]));
  }
  for (PetscInt i = 0; i < b->nsection; i++) {
    Section *s = &b->section[i];
    char     key[KEY_LENGTH];

    PetscCall(PetscSNPrintf(key, sizeof(key), "%s_part", s->name));
    PetscCall(SettingsGetString(settings, key, s->name, &s->partname, NULL));
    PetscCall(SettingsFindSection(settings, s->partname, &s->partid, NULL, NULL));
    if (s->partid < 0) {
      PetscCall(SettingsAddSection(settings, "part", s->partname));
      PetscCall(SettingsFindSection(settings, s->partname, &s->partid, NULL, NULL));
    }
    last = PetscMax(last, s->partid);
  }
  b->nsetting = PetscMax(last + 1, b->nsection); /* bodies were added first */
  PetscCall(PetscCalloc1(b->nsetting, &b->part));
  PetscFunctionReturn(0);
}

PetscErrorCode BuildModel(MPI_Comm comm, Settings settings, Model *model, Probes *probes, Pairs *pairs, Supports *supports)
{
  Builder        b     = {.settings = settings};
  PetscInt       total = 0, nown, *own, at = 0;
  PetscErrorCode ierr = 0;

  PetscFunctionBeginUser;
  PetscCall(BuildSections_Private(&b));
  PetscCall(ModelCreate(comm, model));
  for (PetscInt i = 0; i < b.nsection; i++) {
    Section *s = &b.section[i];

    PetscCall(CopiesCreate(settings, s->name, s->partname, &s->copies));
    PetscCall(CopiesGetSize(s->copies, &s->n, &s->many));
    if (s->many) PetscCall(SettingsAddCopies(settings, s->name, s->n));
    s->first = total;
    total += s->n;
  }
  PetscCall(SettingsToPetsc(settings)); /* all sections are known now */
  PetscCall(BuildSpread_Private(comm, &b, total, &nown, &own));
  for (PetscInt i = 0; i < nown && !ierr; i++) {
    Body body = NULL;

    while (own[i] >= b.section[at].first + b.section[at].n) at++;
    ierr = BuildBody_Private(&b, &b.section[at], own[i] - b.section[at].first, &body);
    if (!ierr) ierr = ModelAddBody(*model, body);
    else PetscCall(BodyDestroy(&body));
  }
  PetscCall(ErrorAgree(comm, ierr));
  PetscCall(PetscFree(own));
  PetscCall(BuildKeepParts_Private(&b, *model));
  PetscCall(ErrorAgree(comm, ModelSetUp(*model)));
  for (PetscInt i = 0; i < b.nsection; i++) PetscCall(ModelAddSection(*model, b.section[i].name, b.section[i].first, b.section[i].many));
  PetscCall(BuildGravity_Private(settings, *model));
  PetscCall(ErrorAgree(comm, BuildForces_Private(comm, &b, *model)));
  PetscCall(ErrorAgree(comm, BuildProbes_Private(comm, &b, *model, probes)));
  PetscCall(BuildConstraints_Private(comm, &b, *model, supports));
  PetscCall(PairsCreate(settings, *model, pairs));
  for (PetscInt i = 0; i < b.nsection; i++) PetscCall(CopiesDestroy(&b.section[i].copies));
  PetscCall(PetscFree(b.section));
  PetscCall(PetscFree(b.part));
  PetscFunctionReturn(0);
}
