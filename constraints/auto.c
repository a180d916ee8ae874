/* auto: the default. Sweeps as long as they promise to be cheaper, then the proximal Newton method, which calls the interior-point method for help. */
#include "dual_impl.h"
#include <petsc/private/snesimpl.h>

#define AUTO_START 500 /* Newton solves from a start that was given; few problems need as many */

static PetscErrorCode AutoKernel_Private(SNES snes, Dual d, System s, PetscReal tol, PetscReal *r, PetscReal *u, SolveReport *report, const SolveMonitors *monitor)
{
  PetscBool good = (PetscBool)(report->merit <= 1e-5);

  PetscFunctionBegin;
  for (PetscInt start = 0; start < 2; start++, good = PETSC_FALSE) {
    ProxOptions o = ProxDefaults;

    o.tol    = tol;
    o.max_it = start ? snes->max_its : PetscMin(AUTO_START, snes->max_its);
    /* Sweeps take out what is far off, not the little that bodies at rest have left from step to step: Newton's method does that at once */
    if (good) o.alpha0 = PetscMin(o.alpha0, 1e-4);
    else if (!s->matfree) PetscCall(NlgsWarmUp(d->nlgs, d->newton, s, tol, r, u, report, monitor));
    if (!(report->merit <= tol)) PetscCall(ProxSolve(d->newton, d->nlgs, s, &o, r, u, report, monitor));
    if (report->merit <= tol || report->newton >= snes->max_its) break;
    /* a start may be near to something that Newton's method does not leave: once more from nothing */
    if (!start) {
      PetscCall(PetscArrayzero(r, 3 * s->n));
      PetscCall(SystemMult(s, r, u));
      PetscCall(SystemMerit(s, r, u, &report->merit));
    }
  }
  PetscFunctionReturn(0);
}

static PetscErrorCode SNESSolve_Auto(SNES snes)
{
  PetscFunctionBegin;
  PetscCall(DualSNESSolve_Private(snes, AutoKernel_Private));
  PetscFunctionReturn(0);
}

static PetscErrorCode SNESView_Auto(SNES snes, PetscViewer viewer)
{
  PetscBool ascii;

  PetscFunctionBegin;
  (void)snes;
  PetscCall(PetscObjectTypeCompare((PetscObject)viewer, PETSCVIEWERASCII, &ascii));
  if (ascii) PetscCall(PetscViewerASCIIPrintf(viewer, "  sweeps as long as they promise to be cheaper, then proximal Newton, with help of the interior-point method\n"));
  PetscFunctionReturn(0);
}

PetscErrorCode SNESCreate_Auto(SNES snes)
{
  PetscFunctionBegin;
  PetscCall(DualSNESCreate_Private(snes, 2000));
  snes->ops->solve = SNESSolve_Auto;
  snes->ops->view  = SNESView_Auto;
  PetscFunctionReturn(0);
}
