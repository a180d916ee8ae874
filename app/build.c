#include "build.h"
#include "copies.h"
#include "error.h"
#include "meshes/partition.h"
#include "physics/rotation.h"
#include <fnmatch.h>

/* A section of the input: one body, or many copies of one. */
typedef struct {
  const char *name, *partname;
  Part        part;
  Copies      copies;
  PetscInt    first, n; /* global ids first .. first + n - 1 */
  PetscBool   many;
} Section;

/* One more than what the longest chain of alternatives needs */
#define KEY_LENGTH 2048

static PetscErrorCode BuildMesh_Private(Settings settings, const char part[], Mesh *mesh)
{
  char                 key[KEY_LENGTH], known[512] = "";
  const char          *type, *where, *folder;
  const MeshGenerator *gen = NULL;
  PetscReal            reals[64];
  const char          *strings[16];
  char                *paths[16];
  PetscInt             nr = 0, ns = 0;
  PetscBool            set;

  PetscFunctionBeginUser;
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
  for (PetscInt i = 0; i < gen->nparam; i++) {
    const MeshParam *p = &gen->param[i];

    PetscCall(PetscSNPrintf(key, sizeof(key), "%s_mesh_%s|body_mesh_%s", part, p->name, p->name));
    if (p->kind == MESH_PARAM_STRING) {
      const char *text, *dir;
      size_t      length;

      PetscCall(SettingsGetString(settings, key, p->def, &text, &set));
      UserCheck(set || p->def, "%s: mesh type '%s' needs %s_mesh_%s (%s)", where, type, part, p->name, p->help);
      PetscCall(SettingsWhere(settings, key, &folder, &dir)); /* files are relative to the options file that names them */
      PetscCall(PetscStrlen(text, &length));
      PetscCall(PetscMalloc1(PETSC_MAX_PATH_LEN, &paths[ns]));
      PetscCall(PetscSNPrintf(paths[ns], PETSC_MAX_PATH_LEN, "%s%s%s", text[0] != '/' && dir ? dir : "", text[0] != '/' && dir && dir[0] ? "/" : "", text));
      strings[ns] = paths[ns];
      ns++;
    } else {
      if (p->def) {
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
      } else PetscCall(SettingsGetReals(settings, key, p->count, &reals[nr], &set));
      UserCheck(set || p->def, "%s: mesh type '%s' needs %s_mesh_%s (%s)", where, type, part, p->name, p->help);
      nr += p->count;
    }
  }
  PetscCall((*gen->create)(reals, strings, mesh));
  for (PetscInt i = 0; i < ns; i++) PetscCall(PetscFree(paths[i]));
  PetscCall(PetscSNPrintf(key, sizeof(key), "part '%s'", part));
  PetscCall(MeshCheck(*mesh, key));
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
#undef KEY
  material.linear = type == 1 ? PETSC_TRUE : PETSC_FALSE;
  PetscCall(BuildMesh_Private(settings, name, &mesh));
  PetscCall(PartCreate(name, mesh, &material, part));
  PetscCall(SettingsGetChoice(settings, "element_simd", simd, 0, &width, NULL));
  (*part)->simd = width ? 1 << width : 0;
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

static PetscErrorCode BuildBody_Private(Settings settings, const Section *s, PetscInt copy, Body *body)
{
  static const char *const frames[] = {"mass", "volume", NULL}, *const tangents[] = {"factored", NULL}, *const motions[] = {"motion_x", "motion_y", "motion_z", "motion_rx", "motion_ry", "motion_rz"};
  const FormulationOps    *ops;
  char                     key[KEY_LENGTH], name[256];
  const char              *formulation, *text, *where, *folder;
  Placement                place;
  PetscInt                 frame, tangent;
  PetscBool                set, elastic;
  Body                     b;

  PetscFunctionBeginUser;
  if (s->many) PetscCall(PetscSNPrintf(name, sizeof(name), "%s_%" PetscInt_FMT, s->name, copy));
  else PetscCall(PetscStrncpy(name, s->name, sizeof(name)));
  PetscCall(BodyCreate(name, s->first + copy, s->part, &b));
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
  UserCheck(b->eta >= 0, "%s_damping: %g is below zero", name, (double)b->eta);
  PetscCall(SettingsGetReal(settings, KEY("mass_damping"), 0, &b->alpha, NULL));
  UserCheck(b->alpha >= 0, "%s_mass_damping: %g is below zero", name, (double)b->alpha);
  PetscCall(SettingsGetChoice(settings, KEY("frame"), frames, FRAME_MASS, &frame, NULL));
  b->frame = (FrameKind)frame;
  PetscCall(SettingsGetBool(settings, KEY("conserve"), PETSC_TRUE, &b->conserve, NULL));
  PetscCall(SettingsGetChoice(settings, KEY("tangent"), tangents, 0, &tangent, NULL));
  elastic = !strcmp(formulation, "tl") || !strcmp(formulation, "bc") ? PETSC_TRUE : PETSC_FALSE;
  UserCheck(!ops->unknowns || s->part->material.density > 0, "body '%s' moves and needs %s_material_density above zero", name, s->partname);
  UserCheck(!elastic || s->part->material.young > 0, "body '%s' of formulation %s needs %s_material_young above zero", name, formulation, s->partname);
  for (PetscInt c = 0; c < 6; c++) {
    PetscCall(SettingsGetString(settings, KEY(motions[c]), "", &text, &set));
    if (!set || !text[0]) continue;
    PetscCall(SettingsWhere(settings, key, &where, &folder));
    UserCheck(!ops->unknowns, "%s: %s_%s: only an obstacle has a prescribed motion; give %s_formulation obstacle", where, name, motions[c], name);
    PetscCall(PetscSNPrintf(key, sizeof(key), "%s: %s_%s", where, name, motions[c]));
    PetscCall(FunctionCreate(key, text, folder, &b->motion[c]));
  }
#undef KEY
  PetscFunctionReturn(0);
}

/* Which bodies this rank gets: any rank can place any body, so only numbers travel. */
static PetscErrorCode BuildSpread_Private(MPI_Comm comm, Settings settings, const Section section[], PetscInt total, PetscInt *nown, PetscInt **own)
{
  PetscMPIInt size, rank, *scount, *sdispl, *rcount, *rdispl;
  PetscInt    lo, hi, *weight, *target, *send, n, at = 0;
  PetscReal  *box;

  PetscFunctionBeginUser;
  PetscCallMPI(MPI_Comm_size(comm, &size));
  PetscCallMPI(MPI_Comm_rank(comm, &rank));
  lo = (PetscInt)((PetscInt64)total * rank / size);
  hi = (PetscInt)((PetscInt64)total * (rank + 1) / size);
  n  = hi - lo;
  PetscCall(PetscMalloc4(n, &weight, n, &target, 6 * n, &box, n, &send));
  for (PetscInt i = lo; i < hi; i++) {
    const FormulationOps *ops;
    const char           *name;
    Placement             place;
    PetscReal             c[3];

    while (i >= section[at].first + section[at].n) at++;
    PetscCall(CopiesGet(section[at].copies, i - section[at].first, &place));
    PetscCall(BuildFormulation_Private(settings, &section[at], i - section[at].first, &name, &ops));
    weight[i - lo] = !ops->unknowns ? 1 : !strcmp(name, "rigid") ? 6 : 3 * section[at].part->nnode;
    Mat3Vec(place.rotation, section[at].part->centre, c);
    for (PetscInt k = 0; k < 3; k++) {
      box[6 * (i - lo) + k]     = place.shift[k] + c[k] - section[at].part->radius;
      box[6 * (i - lo) + 3 + k] = place.shift[k] + c[k] + section[at].part->radius;
    }
  }
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

/* A point of a section (probe, force): given absolutely or from the mass centre of the placed body. */
static PetscErrorCode BuildPoint_Private(Settings settings, const char name[], PetscReal point[3], PetscBool *offset)
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

static PetscErrorCode BuildForces_Private(MPI_Comm comm, Settings settings, Model model)
{
  const char *const *names;
  PetscInt           n;

  PetscFunctionBeginUser;
  PetscCall(SettingsGetList(settings, "forces", &n, &names, NULL));
  for (PetscInt i = 0; i < n; i++) {
    char        key[KEY_LENGTH];
    const char *glob, *text, *where, *folder;
    PetscReal   point[3], direction[3] = {0, 0, 0};
    Function    value;
    PetscBool   set, offset;
    PetscInt    count[2] = {0, 0};

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
    for (PetscInt b = 0; b < model->nbody; b++) {
      MaterialPoint at;
      PetscBool     found;

      if (fnmatch(glob, model->body[b]->name, 0)) continue;
      count[0]++;
      if (!model->domain[b]->batch->ops->unknowns) continue;
      PetscCall(BuildLocate_Private(model->body[b], point, offset, &at, &found));
      if (!found) continue;
      count[1]++;
      PetscCall(FunctionCreate(key, text, folder, &value));
      PetscCall(ModelAddForce(model, names[i], b, &at, direction, value));
    }
    PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, count, 2, MPIU_INT, MPI_SUM, comm));
    UserCheck(count[0], "force '%s': no body is called '%s'", names[i], glob);
    UserCheck(count[1], "force '%s': the point %g, %g, %g is in no moving body called '%s'", names[i], (double)point[0], (double)point[1], (double)point[2], glob);
  }
  PetscFunctionReturn(0);
}

static PetscErrorCode BuildProbes_Private(MPI_Comm comm, Settings settings, Model model, Probes *probes)
{
  const char *const *names;
  PetscInt           n;

  PetscFunctionBeginUser;
  PetscCall(SettingsGetList(settings, "probes", &n, &names, NULL));
  PetscCall(PetscCalloc1(n, &probes->probe));
  probes->n = n;
  for (PetscInt i = 0; i < n; i++) {
    Probe      *p = &probes->probe[i];
    char        key[KEY_LENGTH];
    const char *body;
    PetscReal   point[3];
    PetscBool   set, offset;
    PetscInt    count[2] = {0, 0};

    PetscCall(PetscStrallocpy(names[i], &p->name));
    p->body = -1;
    PetscCall(PetscSNPrintf(key, sizeof(key), "%s_body", names[i]));
    PetscCall(SettingsGetString(settings, key, "", &body, &set));
    UserCheck(set && body[0], "probe '%s' has no body: give %s_body", names[i], names[i]);
    PetscCall(BuildPoint_Private(settings, names[i], point, &offset));
    for (PetscInt b = 0; b < model->nbody; b++) {
      PetscBool found;

      if (strcmp(body, model->body[b]->name)) continue;
      count[0]++;
      PetscCall(BuildLocate_Private(model->body[b], point, offset, &p->point, &found));
      if (!found) continue;
      count[1]++;
      p->body = b;
    }
    PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, count, 2, MPIU_INT, MPI_SUM, comm));
    UserCheck(count[0], "probe '%s': no body is called '%s'", names[i], body);
    UserCheck(count[1], "probe '%s': the point %g, %g, %g is not in body '%s'", names[i], (double)point[0], (double)point[1], (double)point[2], body);
  }
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
  }
  PetscFunctionReturn(0);
}

PetscErrorCode BuildModel(MPI_Comm comm, Settings settings, Model *model, Probes *probes)
{
  static const char *const lists[] = {"forces", "probes"}, *const kinds[] = {"force", "probe"};
  const char *const       *names;
  PetscInt                 nsection, total = 0, nown, *own, at = 0;
  Section                 *section;
  PetscErrorCode           ierr = 0;
  PetscBool                set;

  PetscFunctionBeginUser;
  PetscCall(SettingsGetList(settings, "bodies", &nsection, &names, &set));
  UserCheck(set && nsection, "there are no bodies: give an options file with bodies: [name, ...], see -help");
  PetscCall(PetscCalloc1(nsection, &section));
  PetscCall(ModelCreate(comm, model));
  for (PetscInt i = 0; i < nsection; i++) {
    section[i].name = names[i];
    PetscCall(SettingsAddSection(settings, "body", names[i]));
  }
  for (PetscInt k = 0; k < 2; k++) {
    const char *const *items;
    PetscInt           n;

    PetscCall(SettingsGetList(settings, lists[k], &n, &items, NULL));
    for (PetscInt i = 0; i < n; i++) PetscCall(SettingsAddSection(settings, kinds[k], items[i]));
  }
  for (PetscInt i = 0; i < nsection; i++) {
    Section    *s = &section[i];
    char        key[KEY_LENGTH];
    const char *kind;

    PetscCall(PetscSNPrintf(key, sizeof(key), "%s_part", s->name));
    PetscCall(SettingsGetString(settings, key, s->name, &s->partname, NULL));
    PetscCall(SettingsFindSection(settings, s->partname, &kind));
    if (!kind) PetscCall(SettingsAddSection(settings, "part", s->partname));
    for (PetscInt p = 0; p < (*model)->npart && !s->part; p++)
      if (!strcmp((*model)->part[p]->name, s->partname)) s->part = (*model)->part[p];
    if (!s->part) {
      PetscCall(BuildPart_Private(settings, s->partname, &s->part));
      PetscCall(ModelAddPart(*model, s->part));
    }
    PetscCall(CopiesCreate(settings, s->name, &s->copies));
    PetscCall(CopiesGetSize(s->copies, &s->n, &s->many));
    if (s->many) PetscCall(SettingsAddCopies(settings, s->name, s->n));
    s->first = total;
    total += s->n;
  }
  PetscCall(SettingsToPetsc(settings)); /* all sections are known now */
  PetscCall(BuildSpread_Private(comm, settings, section, total, &nown, &own));
  for (PetscInt i = 0; i < nown && !ierr; i++) {
    Body body = NULL;

    while (own[i] >= section[at].first + section[at].n) at++;
    ierr = BuildBody_Private(settings, &section[at], own[i] - section[at].first, &body);
    if (!ierr) ierr = ModelAddBody(*model, body);
  }
  PetscCall(ErrorAgree(comm, ierr));
  PetscCall(PetscFree(own));
  PetscCall(ErrorAgree(comm, ModelSetUp(*model)));
  PetscCall(BuildGravity_Private(settings, *model));
  PetscCall(ErrorAgree(comm, BuildForces_Private(comm, settings, *model)));
  PetscCall(ErrorAgree(comm, BuildProbes_Private(comm, settings, *model, probes)));
  for (PetscInt i = 0; i < nsection; i++) PetscCall(CopiesDestroy(&section[i].copies));
  PetscCall(PetscFree(section));
  PetscFunctionReturn(0);
}
