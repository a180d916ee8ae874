#include "contact_output_impl.h"
#include "error.h"
#include "fclib_mode.h"
#include "history.h"
#include <errno.h>

const char *const ContactOutputOptions[CONTACT_FILES] = {"output_contacts", "output_statistics", "output_pairs"};

PetscErrorCode ContactOutputCreate(MPI_Comm comm, Settings settings, Model model, ConstraintSet set, ContactOutput *output)
{
  ContactOutput o;
  const char   *name;
  size_t        length;

  PetscFunctionBeginUser;
  PetscCall(PetscNew(&o));
  *output  = o;
  o->comm  = comm;
  o->model = model;
  o->set   = set;
  PetscCallMPI(MPI_Comm_rank(comm, &o->rank));
  PetscCallMPI(MPI_Comm_size(comm, &o->size));
  for (PetscInt i = 0; i < CONTACT_FILES; i++) {
    PetscCall(SettingsGetString(settings, ContactOutputOptions[i], "", &o->file[i], NULL));
    PetscCall(SettingsRequire(settings, ContactOutputOptions[i], (PetscBool)(!o->file[i][0] || set), "nothing can touch in this run: one body, or contact_enabled is false"));
  }
  name   = o->file[CONTACT_FILE_POINTS];
  length = strlen(name);
  PetscCall(SettingsRequire(settings, ContactOutputOptions[CONTACT_FILE_POINTS], (PetscBool)(!length || (length > 5 && !strcmp(name + length - 5, ".xdmf"))), "'%s' does not end in .xdmf", name));
  PetscCall(SettingsGetString(settings, "output_fclib", "", &o->fclib, NULL));
  PetscCall(SettingsGetInt(settings, "output_fclib_every", 1, &o->fclib_every, NULL));
  PetscCall(SettingsRequire(settings, "output_fclib", (PetscBool)(!o->fclib[0] || set), "nothing can touch in this run: one body, or contact_enabled is false"));
  PetscCall(SettingsRequire(settings, "output_fclib_every", (PetscBool)(o->fclib_every > 0), "%" PetscInt_FMT " is below 1", o->fclib_every));
  if (o->file[CONTACT_FILE_PAIRS][0]) PetscCall(ConstraintSetSetCentres(set, PETSC_TRUE));
  PetscFunctionReturn(0);
}

PetscErrorCode ContactOutputDestroy(ContactOutput *output)
{
  PetscFunctionBeginUser;
  if (!*output) PetscFunctionReturn(0);
  PetscCall(PointsDestroy(&(*output)->points));
  for (PetscInt i = 0; i < CONTACT_FILES; i++)
    if ((*output)->csv[i]) fclose((*output)->csv[i]);
  PetscCall(PetscFree(*output));
  PetscFunctionReturn(0);
}

const char *ContactOutputFile(ContactOutput o, PetscInt which)
{
  return o->file[which];
}

static PetscErrorCode OpenCSV_Private(ContactOutput o, PetscInt which, const char header[], PetscBool append, PetscReal restart)
{
  const char *file = o->file[which];

  PetscFunctionBeginUser;
  if (append) o->csv[which] = fopen(file, "r+");
  if (o->csv[which]) {
    PetscCall(HistoryTruncate(o->csv[which], restart));
    PetscFunctionReturn(0);
  }
  o->csv[which] = fopen(file, "w");
  UserCheck(o->csv[which], "%s: cannot write '%s': %s", ContactOutputOptions[which], file, strerror(errno));
  fprintf(o->csv[which], "%s\n", header);
  fflush(o->csv[which]);
  PetscFunctionReturn(0);
}

static PetscErrorCode OpenFiles_Private(ContactOutput o, PetscBool append, PetscReal restart)
{
  PetscFunctionBeginUser;
  if (o->rank) PetscFunctionReturn(0);
  if (o->file[CONTACT_FILE_STATISTICS][0])
    PetscCall(OpenCSV_Private(o, CONTACT_FILE_STATISTICS, "time,contacts,open,stick,slip,glued,broken,solves,iterations,merit,reason,penetration,halved,normal_force,contact_work,friction_work", append, restart));
  if (o->file[CONTACT_FILE_PAIRS][0]) PetscCall(OpenCSV_Private(o, CONTACT_FILE_PAIRS, "time,a,b,contacts,force_x,force_y,force_z,moment_x,moment_y,moment_z,pressure_x,pressure_y,pressure_z", append, restart));
  if (o->fclib[0]) PetscCall(FCLibFolder("output_fclib", o->fclib));
  PetscFunctionReturn(0);
}

enum { FIELD_FORCE, FIELD_NORMAL, FIELD_VELOCITY, FIELD_GAP, FIELD_STATE, FIELD_AREA, FIELD_A, FIELD_B, FIELDS };

PetscErrorCode ContactOutputOpen(ContactOutput o, PetscInt digits, PetscBool append, PetscReal t, PetscReal h)
{
  static const char *const names[FIELDS] = {"force", "normal", "velocity", "gap", "state", "area", "body_a", "body_b"};
  static const PetscInt    components[FIELDS] = {3, 3, 3, 1, 1, 1, 1, 1};

  PetscFunctionBeginUser;
  o->digits = digits;
  PetscCall(ErrorAgree(o->comm, OpenFiles_Private(o, append, t + 0.5 * h)));
  if (o->file[CONTACT_FILE_POINTS][0]) PetscCall(PointsCreate(o->comm, o->file[CONTACT_FILE_POINTS], FIELDS, names, components, append, t + 0.5 * h, &o->points));
  PetscFunctionReturn(0);
}

/* Directions of the frame are rows: v in space from its components along them */
static void ToSpace_Private(const Constraint *row, PetscReal scale, const PetscReal v[3], PetscReal x[3])
{
  for (PetscInt c = 0; c < 3; c++) x[c] = scale * (v[0] * row->frame[c] + v[1] * row->frame[3 + c] + v[2] * row->frame[6 + c]);
}

static PetscErrorCode WritePoints_Private(ContactOutput o, PetscReal t, PetscReal h, PetscBool first)
{
  const Constraint *row;
  PetscInt          n, m = 0;
  PetscReal        *x, *vector[3], *scalar[5];

  PetscFunctionBeginUser;
  PetscCall(ConstraintSetGetRows(o->set, &n, &row));
  if (first) n = 0;
  PetscCall(PetscMalloc4(3 * n, &x, 3 * n, &vector[0], 3 * n, &vector[1], 3 * n, &vector[2]));
  PetscCall(PetscMalloc5(n, &scalar[0], n, &scalar[1], n, &scalar[2], n, &scalar[3], n, &scalar[4]));
  for (PetscInt i = 0; i < n; i++) {
    if (!ContactOutputIsContact_Private(&row[i])) continue;
    PetscCall(PetscArraycpy(x + 3 * m, row[i].x, 3));
    ToSpace_Private(&row[i], 1 / h, row[i].R, vector[0] + 3 * m);
    PetscCall(PetscArraycpy(vector[1] + 3 * m, row[i].frame, 3));
    ToSpace_Private(&row[i], 1, row[i].U, vector[2] + 3 * m);
    scalar[0][m]   = row[i].gap;
    scalar[1][m]   = (PetscReal)ConstraintGetState(&row[i]);
    scalar[2][m]   = row[i].area;
    scalar[3][m]   = row[i].id[0];
    scalar[4][m++] = row[i].id[1];
  }
  {
    const PetscReal *const field[FIELDS] = {vector[0], vector[1], vector[2], scalar[0], scalar[1], scalar[2], scalar[3], scalar[4]};

    PetscCall(PointsWrite(o->points, t, m, x, field));
  }
  PetscCall(PetscFree4(x, vector[0], vector[1], vector[2]));
  PetscCall(PetscFree5(scalar[0], scalar[1], scalar[2], scalar[3], scalar[4]));
  PetscFunctionReturn(0);
}

static void WriteStatistics_Private(ContactOutput o, PetscReal t, const ConstraintReport *r)
{
  FILE           *f = o->csv[CONTACT_FILE_STATISTICS];
  const int       d = (int)o->digits;
  const PetscInt  count[8] = {r->n, r->state[CONTACT_STATE_OPEN], r->state[CONTACT_STATE_STICK], r->state[CONTACT_STATE_SLIP], r->glued, r->broken, r->solves, r->iterations};

  fprintf(f, "%.*g", d, (double)t);
  for (PetscInt i = 0; i < 8; i++) fprintf(f, ",%" PetscInt_FMT, count[i]);
  fprintf(f, ",%.*g,%d,%.*g,%" PetscInt_FMT ",%.*g,%.*g,%.*g\n", d, (double)r->merit, (int)r->reason, d, (double)r->penetration, r->halved, d, (double)r->normal, d, (double)(r->work - r->friction), d, (double)r->friction);
  fflush(f);
}

PetscErrorCode ContactOutputWrite(ContactOutput o, PetscReal t, const ConstraintReport *report, PetscBool first)
{
  PetscFunctionBeginUser;
  if (o->csv[CONTACT_FILE_STATISTICS]) WriteStatistics_Private(o, t, report);
  if (o->points) PetscCall(WritePoints_Private(o, t, report->h, first));
  if (o->file[CONTACT_FILE_PAIRS][0] && !first) PetscCall(ContactOutputPairs_Private(o, t, report->h));
  PetscFunctionReturn(0);
}

PetscErrorCode ContactOutputStep(ContactOutput o, PetscInt step, PetscReal t)
{
  PetscFunctionBeginUser;
  if (o->fclib[0] && step % o->fclib_every == 0) PetscCall(ContactOutputProblem_Private(o, step, t));
  PetscFunctionReturn(0);
}

PetscErrorCode ContactOutputGather_Private(ContactOutput o, PetscInt n, const PetscReal mine[], PetscInt *total, PetscReal **all)
{
  PetscMPIInt *count, *first, length;

  PetscFunctionBeginUser;
  PetscCall(PetscMalloc2(o->size, &count, o->size + 1, &first));
  PetscCall(PetscMPIIntCast(n, &length));
  PetscCallMPI(MPI_Gather(&length, 1, MPI_INT, count, 1, MPI_INT, 0, o->comm));
  *all     = NULL;
  first[0] = 0;
  if (!o->rank) {
    PetscInt sum = 0;

    for (PetscMPIInt r = 0; r < o->size; r++) {
      sum += count[r];
      PetscCall(PetscMPIIntCast(sum, &first[r + 1]));
    }
    *total = sum;
    PetscCall(PetscMalloc1(sum, all));
  }
  PetscCallMPI(MPI_Gatherv(mine, length, MPIU_REAL, *all, count, first, MPIU_REAL, 0, o->comm));
  PetscCall(PetscFree2(count, first));
  PetscFunctionReturn(0);
}
