/* Resultants of the contacts of two bodies. Forces of single contacts of a face are not unique, resultants are. */
#include "contact_output_impl.h"
#include "physics/rotation.h"

/* numbers of a pair: bodies, contacts that bear, force and moment on the second about its mass centre, centre of pressure */
enum { PAIR_A, PAIR_B, PAIR_CONTACTS, PAIR_FORCE, PAIR_MOMENT = PAIR_FORCE + 3, PAIR_PRESSURE = PAIR_MOMENT + 3, PAIR_WIDTH = PAIR_PRESSURE + 3 };

/* Rows i .. j - 1 are those of two bodies; false: none of them bears */
static PetscBool Resultant_Private(const Constraint row[], PetscInt i, PetscInt j, PetscReal h, PetscReal p[PAIR_WIDTH])
{
  PetscReal weight = 0, mean[3] = {0, 0, 0};

  for (PetscInt k = 0; k < PAIR_WIDTH; k++) p[k] = 0;
  p[PAIR_A] = row[i].id[0];
  p[PAIR_B] = row[i].id[1];
  for (PetscInt k = i; k < j; k++) {
    PetscReal arm[3], force[3], moment[3];

    if (ConstraintGetState(&row[k]) == CONTACT_STATE_OPEN) continue;
    p[PAIR_CONTACTS]++;
    weight += row[k].R[0];
    for (PetscInt c = 0; c < 3; c++) {
      force[c] = (row[k].R[0] * row[k].frame[c] + row[k].R[1] * row[k].frame[3 + c] + row[k].R[2] * row[k].frame[6 + c]) / h;
      arm[c]   = row[k].x[c] + row[k].gap * row[k].frame[c] - row[k].centre[c]; /* where it acts on the second body */
      mean[c] += arm[c];
      p[PAIR_PRESSURE + c] += row[k].R[0] * arm[c];
    }
    Vec3Cross(arm, force, moment);
    for (PetscInt c = 0; c < 3; c++) {
      p[PAIR_FORCE + c] += force[c];
      p[PAIR_MOMENT + c] += moment[c];
    }
  }
  /* in tension there is no such centre: the middle of the points then */
  for (PetscInt c = 0; c < 3 && p[PAIR_CONTACTS] > 0; c++) p[PAIR_PRESSURE + c] = row[i].centre[c] + (weight > 0 ? p[PAIR_PRESSURE + c] / weight : mean[c] / p[PAIR_CONTACTS]);
  return p[PAIR_CONTACTS] > 0 ? PETSC_TRUE : PETSC_FALSE;
}

static int PairCompare_Private(const void *a, const void *b)
{
  const PetscReal *p = a, *q = b;

  if (p[PAIR_A] != q[PAIR_A]) return p[PAIR_A] < q[PAIR_A] ? -1 : 1;
  return (p[PAIR_B] > q[PAIR_B]) - (p[PAIR_B] < q[PAIR_B]);
}

PetscErrorCode ContactOutputPairs_Private(ContactOutput o, PetscReal t, PetscReal h)
{
  const Constraint *row;
  PetscInt          n, npair = 0, total;
  PetscReal        *pair, *all;

  PetscFunctionBeginUser;
  PetscCall(ConstraintSetGetRows(o->set, &n, &row));
  PetscCall(PetscMalloc1(PAIR_WIDTH * n, &pair));
  for (PetscInt i = 0, j; i < n; i = j) { /* rows ascend by bodies, and all of a pair are on one rank */
    for (j = i + 1; j < n && row[j].id[0] == row[i].id[0] && row[j].id[1] == row[i].id[1] && ContactOutputIsContact_Private(&row[j]) == ContactOutputIsContact_Private(&row[i]);) j++;
    if (ContactOutputIsContact_Private(&row[i]) && Resultant_Private(row, i, j, h, pair + PAIR_WIDTH * npair)) npair++;
  }
  PetscCall(ContactOutputGather_Private(o, PAIR_WIDTH * npair, pair, &total, &all));
  if (!o->rank) {
    FILE *f = o->csv[CONTACT_FILE_PAIRS];

    npair = total / PAIR_WIDTH;
    if (npair) qsort(all, (size_t)npair, PAIR_WIDTH * sizeof(PetscReal), PairCompare_Private);
    for (PetscInt i = 0; i < npair; i++) {
      const PetscReal *p = all + PAIR_WIDTH * i;
      char             name[2][512];

      for (PetscInt k = 0; k < 2; k++) PetscCall(ModelName(o->model, (PetscInt)p[PAIR_A + k], name[k], sizeof(name[k])));
      fprintf(f, "%.*g,%s,%s,%d", (int)o->digits, (double)t, name[0], name[1], (int)p[PAIR_CONTACTS]);
      for (PetscInt k = PAIR_FORCE; k < PAIR_WIDTH; k++) fprintf(f, ",%.*g", (int)o->digits, (double)p[k]);
      fprintf(f, "\n");
    }
    fflush(f);
  }
  PetscCall(PetscFree(all));
  PetscCall(PetscFree(pair));
  PetscFunctionReturn(0);
}
