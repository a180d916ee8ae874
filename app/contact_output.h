/* ContactOutput: files of what bodies do to each other: contact points (XDMF), figures of the solves (CSV), resultants of pairs of bodies (CSV), and the
   contact problems of steps (FCLib's HDF5 form). */
#pragma once
#include "constraints/set.h"
#include "settings.h"

enum { CONTACT_FILE_POINTS, CONTACT_FILE_STATISTICS, CONTACT_FILE_PAIRS, CONTACT_FILES };
PETSC_EXTERN const char *const ContactOutputOptions[CONTACT_FILES];

typedef struct _p_ContactOutput *ContactOutput;
/* Reads -output_contacts, _statistics, _pairs, _fclib, _fclib_every; the set may be NULL if nothing is asked for. */
PETSC_EXTERN PetscErrorCode ContactOutputCreate(MPI_Comm comm, Settings settings, Model model, ConstraintSet set, ContactOutput *output);
PETSC_EXTERN PetscErrorCode ContactOutputDestroy(ContactOutput *output);
/* Name of a file, "": none */
PETSC_EXTERN const char *ContactOutputFile(ContactOutput output, PetscInt which);
/* Collective. Opens the files; append: times up to t are kept. h: length of a step */
PETSC_EXTERN PetscErrorCode ContactOutputOpen(ContactOutput output, PetscInt digits, PetscBool append, PetscReal t, PetscReal h);
/* Collective, at an output time; first: no step has been made yet */
PETSC_EXTERN PetscErrorCode ContactOutputWrite(ContactOutput output, PetscReal t, const ConstraintReport *report, PetscBool first);
/* Collective, after every step: its problem, if it is its turn */
PETSC_EXTERN PetscErrorCode ContactOutputStep(ContactOutput output, PetscInt step, PetscReal t);
