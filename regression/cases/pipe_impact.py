"""Pipe impact on a coarse mesh: the step in which it touches, both tangents of tl give one history, bc is near tl, 1, 2 and 3 ranks agree to 1e-7, the same
run twice gives the same bytes, and a restart in the middle of contact repeats the run to the last digit. Slope and stack on ranks, too."""
import os
from common import *

exe, root = arguments()
c = Checks()
COLUMNS = ["kinetic", "internal", "external", "damping", "contact", "friction", "p0_x", "p0_z", "p0_vx", "p0_vz", "p4_z", "p4_vz", "p5_z"]


def pipe(*options, ranks=1, directory=None):
    r = run(exe, ["-options_file", f"{root}/options/pipe_impact.yml", "-pipe_mesh_cells", "12,24,2", "-output_exodus", "", "-output_history", "h.csv", "-output_digits", 17, "-ts_max_time", 0.082,
                  "-snes_rtol", 1e-10, "-progress", "false", *options], ranks=ranks, directory=directory, timeout=200)
    return r, read_csv(r.path("h.csv"))


def content(r):
    with open(r.path("h.csv"), "rb") as f: return f.read()


def same(name, a, b, limit, columns):
    worst = max((np.max(np.abs(a[k] - b[k])) / np.max(np.abs(b[k])), k) for k in columns)
    c.true(name, len(a["time"]) == len(b["time"]) and worst[0] <= limit, f"largest difference {worst[0]:.3g} of column {worst[1]}, at most {limit:g}")


base, bc = pipe()
one, tl = pipe("-pipe_formulation", "tl")
_, factored = pipe("-pipe_formulation", "tl", "-pipe_tangent", "factored")
for name, h in (("bc", bc), ("tl", tl)):
    work = h["contact"] + h["friction"]
    c.below(f"{name}: contact and friction never add energy, largest work in a step by the energy", np.max(np.diff(work)) / np.max(h["kinetic"]), 1e-9)
for name in ("bc", "tl"): # what touches at the middle of a step
    h = pipe("-pipe_formulation", name, "-contact_signorini", "velocity", "-contact_theta", "paper", "-ts_max_time", 0.074)[1]
    c.close(f"{name}, laws of velocity: the step of the impact ends at", h["time"][np.flatnonzero(h["contact"] + h["friction"] != 0)[0]], 0.072, atol=1e-9)
same("tl: corrected and factored", tl, factored, 1e-7, COLUMNS)
same("bc and tl", bc, tl, 0.05, ["kinetic", "internal", "p4_z", "p5_z"])
for ranks in (2, 3): same(f"bc, {ranks} ranks", pipe(ranks=ranks)[1], bc, 1e-7, COLUMNS)
same("tl, 2 ranks", pipe("-pipe_formulation", "tl", ranks=2)[1], tl, 1e-7, COLUMNS)
c.true("tl, twice: the same bytes", content(one) == content(pipe("-pipe_formulation", "tl")[0]))

# a checkpoint after 0.073 s, in the middle of contact: the running program drops what the file does not hold, and so repeats the restarted one
d = temporary()
whole, h = pipe("-pipe_formulation", "tl", "-checkpoint", "c.h5", "-checkpoint_every", 73, directory=d)
c.true("there is contact at the checkpoint", h["contacts"][73] > 0 and h["contacts"][74] > 0, f"{h['contacts'][73]:g} contacts")
before = content(whole)
run(exe, ["-options_file", f"{root}/options/pipe_impact.yml", "-pipe_mesh_cells", "12,24,2", "-output_exodus", "", "-output_history", "short.csv", "-output_digits", 17, "-ts_max_steps", 73, "-snes_rtol", 1e-10,
          "-pipe_formulation", "tl", "-checkpoint", "half.h5", "-checkpoint_every", 73, "-progress", "false"], directory=d)
os.rename(os.path.join(d, "short.csv"), os.path.join(d, "h.csv"))
r, g = pipe("-pipe_formulation", "tl", "-restart", "half.h5", "-checkpoint", "c.h5", "-checkpoint_every", 73, directory=d)
c.true("restart at 0.073 s: the same bytes", content(r) == before, f"{len(g['time'])} rows")

for name, columns, extra in (("slope", ["kinetic", "external", "friction", "slides_x", "slides_vx"], ["-ts_max_time", 0.3]), ("stack", ["external", "top_z", "tapped_z"], ["-ts_max_time", 0.2])):
    options = ["-options_file", f"{root}/options/{name}.yml", "-output_exodus", "", "-output_history", "h.csv", "-output_digits", 17, "-snes_rtol", 1e-10, "-progress", "false", *extra]
    first = read_csv(run(exe, options).path("h.csv"))
    for ranks in (2, 3): same(f"{name}, {ranks} ranks", read_csv(run(exe, options, ranks=ranks, timeout=100).path("h.csv")), first, 1e-7, columns)
c.finish()
