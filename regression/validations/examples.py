"""Every example to its end: no step fails, and contact and friction add energy in none, beyond the tolerance of the solver."""
import glob, os
from common import *

exe, root = arguments()
c = Checks()
for path in sorted(glob.glob(f"{root}/options/*.yml")):
    name = os.path.splitext(os.path.basename(path))[0]
    r = run(exe, ["-options_file", path, "-output_exodus", "", "-progress", "false", "-summary", "s.json", "-output_history", "h.csv", "-output_digits", 17], timeout=900)
    with open(r.path("s.json")) as f: s = json.load(f)
    c.equal(f"{name}: steps not converged", s["steps_not_converged"], 0)
    if not s["contacts_max"]: continue
    h = read_csv(r.path("h.csv"))
    rtol = next(float(line.split("rtol:")[1].strip(" }\n")) for line in open(path) if "rtol:" in line)
    most = max(np.max(np.abs(h[k])) for k in ("kinetic", "internal", "external", "contact", "friction"))
    c.below(f"{name}: what contact and friction add in a step at most, of what goes through", s["largest_of_these_works"] / most, rtol)
    print(f"       contacts {s['contacts_max']}, SNES iterations {s['SNES_iterations_mean']:.3g} in the mean, {s['SNES_iterations_max']} at most, largest penetration {s['largest_penetration']:.3g}, {s['wall_time']:.1f} s")
c.finish()
