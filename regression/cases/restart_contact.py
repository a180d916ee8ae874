"""Restart in the middle of contact: what rows and detector remember is in the checkpoint, so the run repeats the uninterrupted one to the last digit."""
from common import *

exe, root = arguments()
c = Checks()
d = temporary()

MODELS = {
    # slides, turns and rocks on an edge
    "block": """
ts:      {{dt: 2e-3, max_steps: 80}}
gravity: [0, 0, -10]
bodies:  [block, floor]
block:   {{mesh: {{type: box, size: [0.4, 0.3, 0.2], cells: [3, 2, 2]}}, material: {{young: 1e7, poisson: 0.3, density: 2e3}}, formulation: {formulation}, rotate: [3, 0, 0],
          translate: [0, 0, 0.108], velocity: [1, 0, 0], angular_velocity: [0, 0.5, 0.3], damping: 1e-4}}
floor:   {{mesh: {{type: box, size: [4, 4, 1]}}, translate: [1, 0, -0.5], formulation: obstacle, motion_z: 0.001*sin(60*t)}}
contact: {{friction: 0.3, restitution: 0.2}}
probes:  [p]
p:       {{body: block, offset: [0.1, 0.1, 0]}}
output:  {{history: h.csv, digits: 17}}
""",
    # glued at the start, overlapping a little, falls apart
    "pile": """
ts:      {{dt: 2e-3, max_steps: 80}}
gravity: [3, 0, -10]
bodies:  [cube, floor]
cube:    {{mesh: {{type: box, size: [0.2, 0.2, 0.2], cells: [2, 2, 2]}}, material: {{young: 1e8, poisson: 0.2, density: 2e3}}, formulation: {formulation}, translate: [0, 0, 0.0999],
          angular_velocity: [0, 0.3, 0.5], copies: {{grid: [2, 1, 3], spacing: [0.21, 0.2, 0.1999]}}}}
cube_2:  {{velocity: [0, 0, 1]}}
floor:   {{mesh: {{type: box, size: [4, 4, 1]}}, translate: [1, 0, -0.5], formulation: obstacle}}
contact: {{friction: 0.5, cohesion: 2e3}}
probes:  [p]
p:       {{body: cube_5, offset: [0, 0, 0]}}
output:  {{history: h.csv, digits: 17}}
"""}


def content(path):
    with open(path, "rb") as f: return f.read()


for name, model in MODELS.items():
    for formulation in ("rigid", "bc", "tl"):
        with open(f"{d}/m.yml", "w") as f: f.write(model.format(formulation=formulation))
        options = ["-options_file", f"{d}/m.yml", "-checkpoint", "c.h5"]
        whole = run(exe, [*options, "-checkpoint_every", "30"], timeout=100)
        first = run(exe, [*options, "-ts_max_steps", "30"], timeout=100)
        h = read_csv(whole.path("h.csv"))
        what = f"{name}, {formulation}"
        c.true(f"{what}: in the middle of contact", h["contacts"][30] > 0 and h["friction"][30] < 0, h["contacts"][30])
        rest = run(exe, [*options, "-checkpoint_every", "30", "-restart", "c.h5"], directory=first.directory, timeout=100)
        c.true(f"{what}: the same history, digit by digit", content(rest.path("h.csv")) == content(whole.path("h.csv")))
        c.true(f"{what}: the same figures at the end", all(rest.summary[k] == whole.summary[k] for k in ("contacts mean", "contacts max", "SNES iterations mean", "worst final merit", "energy drift", "largest penetration")))
        free = run(exe, options, timeout=100)
        g = read_csv(free.path("h.csv"))
        c.close(f"{what}: as without the barrier", [h["p_x"][-1], h["p_y"][-1], h["p_z"][-1]], [g["p_x"][-1], g["p_y"][-1], g["p_z"][-1]], rtol=1e-5)
        if name == "pile" and formulation != "tl":  # on another number of ranks
            # glued and pressed: from step 31 on it breaks apart, and what the solver leaves open grows by a thousand in single steps
            tight = [*options, "-snes_rtol", "1e-11", "-ts_max_steps", "30"]
            w = read_csv(run(exe, [*tight, "-checkpoint_every", "20"], timeout=100).path("h.csv"))
            half = run(exe, [*tight, "-ts_max_steps", "20"], timeout=100)
            g = read_csv(run(exe, [*tight, "-restart", "c.h5"], ranks=2, directory=half.directory, timeout=100).path("h.csv"))
            c.close(f"{what}: on two ranks from there", [g[k][-1] for k in ("p_x", "p_y", "p_z", "friction")], [w[k][-1] for k in ("p_x", "p_y", "p_z", "friction")], rtol=1e-7)
            c.true(f"{what}: with contacts across them", list(g["contacts"]) == list(w["contacts"]), g["contacts"][-1])
            c.below(f"{what}: no start from nothing", np.max(g["snes_iterations"][21:]), 1 + np.max(w["snes_iterations"][21:]))
            again = run(exe, [*options, "-checkpoint_every", "30"], ranks=2, timeout=100)
            first = run(exe, [*options, "-ts_max_steps", "30"], ranks=2, timeout=100)
            run(exe, [*options, "-checkpoint_every", "30", "-restart", "c.h5"], ranks=2, directory=first.directory, timeout=100)
            c.true(f"{what}: two ranks, the same history, digit by digit", content(first.path("h.csv")) == content(again.path("h.csv")))
        c.true(f"{what}: overlaps at the start are not those of a restart", "overlap" not in rest.err, rest.err.strip())

c.finish()
