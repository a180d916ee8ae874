"""Every example to its end: no step fails, and contact and friction add energy in none, beyond the tolerance of the solver."""
import glob, json, os
from common import *

exe, root = arguments()
c = Checks()
for path in sorted(glob.glob(f"{root}/options/*.yml")):
    name = os.path.splitext(os.path.basename(path))[0]
    r = run(exe, ["-options_file", path, "-output_exodus", "", "-progress", "false", "-summary", "s.json"], timeout=900)
    with open(r.path("s.json")) as f: s = json.load(f)
    c.equal(f"{name}: steps not converged", s["steps_not_converged"], 0)
    if not s["contacts_max"]: continue
    c.equal(f"{name}: steps in which contact and friction add energy", s["steps_with_work_of_contact_above_zero"], 0)
    print(f"       contacts {s['contacts_max']}, SNES iterations {s['SNES_iterations_mean']:.3g} in the mean, {s['SNES_iterations_max']} at most, largest penetration {s['largest_penetration']:.3g}, {s['wall_time']:.1f} s")
c.finish()
