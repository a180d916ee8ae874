"""Second order of all nodal displacements of the rotating bar at t = 1/16 s against a step of 2^-16 s (figure 5): soft without damping,
and steel with a little, once the steps resolve the elastic motion."""
import h5py
from common import *

exe, root = arguments()
c = Checks()


def displacements(formulation, young, damping, log2, paper):
    r = run(exe, ["-options_file", f"{root}/options/rotating_bar.yml", "-bar_formulation", formulation, "-bar_material_young", young, "-bar_damping", damping, "-ts_dt", 2.0**-log2,
                  "-ts_max_time", 1 / 16, "-output_exodus", "", "-output_history", "", "-output_interval", 1, "-energy_every", 0, "-energy_guard", 0, "-progress", "false",
                  "-checkpoint", "end.h5", *(["-bar_frame", "volume", "-bar_conserve", "false"] if paper else [])])
    with h5py.File(r.path("end.h5")) as f: state = f["state"][:].ravel()
    n = 3 * 3 * 3 * 21  # positions come first
    return state[:n]


for young, damping, first, last in ((200e4, 0, 10, 13), (200e9, 1e-6, 12, 14)):
    for formulation in ("tl", "bc"):
        for paper in (True, False):
            q = {k: displacements(formulation, young, damping, k, paper) for k in (*range(first, last + 1), 16)}
            error = [np.linalg.norm(q[k] - q[16]) for k in range(first, last + 1)]
            rates = np.log2(np.array(error[:-1]) / error[1:])
            name = f"{formulation}, E = {young:g}, {'as in the report' if paper else 'defaults'}"
            print(name, "errors", error, "rates", rates)
            c.between(f"{name}: mean order from 2^-{first} to 2^-{last}", rates.mean(), 1.9, 2.1)
c.finish()
