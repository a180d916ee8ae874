/* auto: the default. Sweeps as long as they promise to be cheaper, then the proximal Newton method, which calls the interior-point method for help. */
#include "dual_impl.h"
#include <petsc/private/snesimpl.h>

static PetscErrorCode AutoKernel_Private(SNES snes, Dual d, System s, PetscReal tol, PetscReal *r, PetscReal *u, SolveReport *report, const SolveMonitors *monitor)
{
  ProxOptions o = ProxDefaults;

  PetscFunctionBegin;
  o.tol    = tol;
  o.max_it = snes->max_its;
  /* Sweeps take out what is far off, not the little that bodies at rest have left from step to step: Newton's method does that at once */
  if (report->merit <= 1e-5) o.alpha0 = PetscMin(o.alpha0, 1e-4);
  else if (!s->matfree) PetscCall(NlgsWarmUp(d->nlgs, d->newton, s, tol, r, u, report, monitor));
  if (!(report->merit <= tol)) PetscCall(ProxSolve(d->newton, d->nlgs, s, &o, r, u, report, monitor));
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
