"""A step that fails: stop, cut or continue. A step that is cut is exactly two steps of half its length, time and energies included."""
from common import *

exe, root = arguments()
c = Checks()
d = temporary()

# three cubes that turn and slide on each other: a few sweeps are not enough for every step
with open(f"{d}/stack.yml", "w") as f: f.write("""
ts:      {dt: 1e-2, max_steps: 30}
gravity: [0, 0, -10]
bodies:  [cube, floor]
body:    {material: {density: 2e3}}
cube:    {mesh: {type: box, size: [1, 1, 1]}, formulation: rigid, translate: [0, 0, 0.5], angular_velocity: [0, 0.1, 0.2], velocity: [0.3, 0, 0],
          copies: {grid: [1, 1, 3], spacing: [1, 1, 1]}}
floor:   {mesh: {type: box, size: [20, 20, 1]}, translate: [0, 0, -0.5], formulation: obstacle}
contact: {friction: 0.5}
snes:    {type: nlgs, rtol: 1e-2, max_it: 25, nlgs_every: 1}
output:  {history: h.csv, digits: 17}
""")


def stack(*options, check=True):
    return run(exe, ["-options_file", f"{d}/stack.yml", *options], check=check, timeout=60)


r = stack(check=False)
lines = [l for l in r.err.splitlines() if l.startswith("ashlar:")]
c.equal("stop: exit code", r.code, 1)
c.equal("stop: lines", len(lines), 1)
c.true("stop: it says when, how far, what to do", all(x in r.err for x in ("t = ", "merit", "-snes_rtol 0.01", "contacts", "-step_failure cut or continue")), r.err.strip())
h = read_csv(r.path("h.csv"))
c.true("stop: the steps before are there", len(h["time"]) >= 1, len(h["time"]))

r = stack("-step_failure", "continue")
c.between("continue: steps not converged", r.summary["steps not converged"], 1, 30)
c.equal("continue: steps", r.summary["steps"], 30)
c.equal("continue: steps cut", r.summary["steps cut"], 0)
c.true("continue: the merit is what it was", r.summary["worst final merit"] > 1e-2, r.summary["worst final merit"])

r = stack("-step_failure", "cut")
h = read_csv(r.path("h.csv"))
c.between("cut: steps cut", r.summary["steps cut"], 1, 30)
c.equal("cut: steps not converged", r.summary["steps not converged"], 0)
c.below("cut: worst final merit", r.summary["worst final merit"], 1e-2)
c.true("cut: times are those of whole steps, to the last bit", list(h["time"]) == [n * 1e-2 for n in range(31)])
c.below("cut: the ledger closes", r.summary["energy drift"], 1e-12)

two = run(exe, ["-options_file", f"{d}/stack.yml", "-step_failure", "cut"], ranks=2, timeout=60)
c.true("cut on two ranks", two.summary["steps cut"] >= 1 and two.summary["steps not converged"] == 0 and two.summary["energy drift"] < 1e-12, two.summary["steps cut"])
two = run(exe, ["-options_file", f"{d}/stack.yml"], ranks=2, check=False, timeout=60)
c.true("stop on two ranks", two.code == 1 and sum("have not converged" in l for l in two.err.splitlines()) == 1, two.code)

r = stack("-step_failure", "cut", "-snes_rtol", "1e-14", "-snes_max_it", "1", check=False)
c.equal("cut: exit code where it does not help", r.code, 1)
c.true("cut: one line", "after 10 cuts" in r.err and "-step_failure continue" in r.err and len(r.err.splitlines()) == 1, r.err.strip())
r = stack("-step_failure", "halve", check=False)
c.true("a wrong choice", r.code == 1 and "none of stop, cut, continue" in r.err, r.err.strip())

# A fast block: whole steps are too long for its thickness and all are cut, so the run must be that of half the step, in every digit.
FAST = """
gravity: [0, 0, -10]
bodies:  [block, floor]
block:   {{mesh: {{type: box, size: [0.4, 0.3, 0.1], cells: [4, 3, 1]}}, material: {{young: 1e7, poisson: 0.3, density: 2e3}}, formulation: {formulation}, translate: [0, 0, 0.0501],
          velocity: [3.8, 0, -0.1], angular_velocity: [0, 0.5, 0.3], damping: 1e-3, mass_damping: 0.2}}
floor:   {{mesh: {{type: box, size: [4, 4, 1]}}, translate: [1, 0, -0.5], formulation: obstacle}}
contact: {{friction: 0.1}}
forces:  [push]
push:    {{body: block, offset: [0.1, 0, 0], direction: [0, 1, 0], value: 20*sin(40*t)}}
probes:  [p]
p:       {{body: block, offset: [0.1, 0.1, 0]}}
output:  {{history: h.csv, digits: 17, interval: 0.0078125}}
"""
for formulation in ("rigid", "bc", "tl"):
    with open(f"{d}/fast.yml", "w") as f: f.write(FAST.format(formulation=formulation))
    options = ["-options_file", f"{d}/fast.yml", "-ts_max_time", "0.1875"]
    cut = run(exe, [*options, "-ts_dt", "0.0078125", "-step_failure", "cut"], timeout=60)
    half = run(exe, [*options, "-ts_dt", "0.00390625"], timeout=60)
    c.equal(f"{formulation}: every step was cut", cut.summary["steps cut"], cut.summary["steps"])
    c.equal(f"{formulation}: there is no warning without need", half.err, "")
    a, b = read_csv(cut.path("h.csv")), read_csv(half.path("h.csv"))
    c.true(f"{formulation}: there is contact", np.max(b["contacts"]) >= 2 and b["friction"][-1] < 0, b["contacts"][-1])
    different = [k for k in a if k not in ("snes_iterations", "penetration") and list(a[k]) != list(b[k])]
    c.true(f"{formulation}: two halves are two steps, digit by digit", len(a["time"]) == 25 and not different, different)
    if formulation == "rigid": c.below("rigid: the ledger closes", cut.summary["energy drift"], 1e-12)
    warn = run(exe, [*options, "-ts_dt", "0.0078125"], timeout=60)
    c.true(f"{formulation}: otherwise one warning that names both", warn.err.count("warning") == 1 and "'block' and 'floor'" in warn.err and "-step_failure cut" in warn.err, warn.err.strip())

# A soft block is crushed by steps that are far too long: the operator of what is left of it no longer resists
with open(f"{d}/crushed.yml", "w") as f: f.write("""
ts:      {dt: 1e-2, max_steps: 40}
bodies:  [block, floor]
block:   {mesh: {type: box, size: [0.4, 0.4, 0.4], cells: [2, 2, 2]}, material: {young: 1e6, poisson: 0.3, density: 1e3}, formulation: tl, translate: [0, 0, 0.25], velocity: [0, 0, -20]}
floor:   {mesh: {type: box, size: [6, 6, 1]}, translate: [0, 0, -0.5], formulation: obstacle}
contact: {friction: 0.3}
""")
for tangent in ("corrected", "factored"):
    r = run(exe, ["-options_file", f"{d}/crushed.yml", "-block_tangent", tangent, "-energy_guard", 0, "-progress", "false"], check=False, timeout=60)
    line = r.err.strip().splitlines()[-1]
    c.true(f"crushed, {tangent}: one line that names the time and the block", r.code == 1 and "t = 0.1: body 'block' is so distorted" in line and "-ts_dt" in line and "Traceback" not in r.err and "PETSC ERROR" not in r.err, line)
c.finish()
