"""Files of contact: points, statistics and resultants of pairs against Newton's and Euler's laws, and problems that -fclib solves again."""
import csv, glob, os
import h5py
from common import *

exe, root = arguments()
c = Checks()
d = temporary()
H = 2e-3

# a cube that slides, turns and rocks on the floor, with a small one on its back; J of a cube is a ball's, so that its spin changes by h M / J
with open(f"{d}/m.yml", "w") as f: f.write(f"""
ts:      {{dt: {H}, max_steps: 60}}
gravity: [0, 0, -10]
bodies:  [floor, cube, rider]
body:    {{material: {{density: 1e3}}, formulation: rigid}}
cube:    {{mesh: {{type: box, size: [0.4, 0.4, 0.4]}}, rotate: [4, 0, 0], translate: [0, 0, 0.2135], velocity: [1, 0, 0], angular_velocity: [0, 0.6, 0.4]}}
rider:   {{mesh: {{type: box, size: [0.1, 0.1, 0.1]}}, translate: [0.05, 0, 0.47], velocity: [0.8, 0, 0]}}
floor:   {{mesh: {{type: box, size: [4, 4, 1]}}, translate: [1, 0, -0.5], formulation: obstacle}}
contact: {{friction: 0.3}}
snes:    {{rtol: 1e-12}}
probes:  [c, x, y, r]
c:       {{body: cube, offset: [0, 0, 0]}}
x:       {{body: cube, offset: [0.1, 0, 0]}}
y:       {{body: cube, offset: [0, 0.1, 0]}}
r:       {{body: rider, offset: [0, 0, 0]}}
output:  {{history: h.csv, contacts: c.xdmf, statistics: s.csv, pairs: p.csv, digits: 17}}
""")


def rows(path):
    with open(path) as f: return list(csv.DictReader(f))


def vector(row, name): return np.array([float(row[f"{name}_{k}"]) for k in "xyz"])


r = run(exe, ["-options_file", f"{d}/m.yml"], timeout=60)
h, s, p = read_csv(r.path("h.csv")), read_csv(r.path("s.csv")), rows(r.path("p.csv"))
n, mass = len(h["time"]), {"cube": 64.0, "rider": 1.0}
J = mass["cube"] * 0.4**2 / 6


def probe(name, i, v=""): return np.array([h[f"{name}_{v}{k}"][i] for k in "xyz"])


def spin(i):
    """omega of v - v_c = omega x (x - x_c) of two probes"""
    A, b = [], []
    for name in "xy":
        a = probe(name, i) - probe("c", i)
        A += [[0, a[2], -a[1]], [-a[2], 0, a[0]], [a[1], -a[0], 0]]
        b += list(probe(name, i, "v") - probe("c", i, "v"))
    return np.linalg.lstsq(np.array(A), np.array(b), rcond=None)[0]


at = {}
for row in p: at.setdefault(float(row["time"]), []).append(row)
worst, turn, couple, cop = 0, [0, 0], 0, 0
for i in range(1, n):
    force, moment, rider = np.zeros(3), np.zeros(3), np.zeros(3)
    for row in at.get(h["time"][i], []):
        F = vector(row, "force")
        if row["b"] == "cube": force, moment = force + F, moment + vector(row, "moment")
        if row["a"] == "cube":  # on the rider; the cube gets the opposite, about its own centre at the half step
            force, rider = force - F, rider + F
            half = probe("c", i - 1) + H / 2 * probe("c", i - 1, "v"), probe("r", i - 1) + H / 2 * probe("r", i - 1, "v")
            moment = moment - vector(row, "moment") - np.cross(half[1] - half[0], F)
        if row["a"] == "floor": cop = max(cop, abs(float(row["pressure_z"])))
    worst = max(worst, np.max(np.abs(mass["cube"] * (probe("c", i, "v") - probe("c", i - 1, "v")) / H - force - mass["cube"] * np.array([0, 0, -10]))))
    worst = max(worst, np.max(np.abs(mass["rider"] * (probe("r", i, "v") - probe("r", i - 1, "v")) / H - rider - mass["rider"] * np.array([0, 0, -10]))))
    with_rider = int(np.any(rider != 0))
    turn[with_rider] = max(turn[with_rider], np.max(np.abs(J * (spin(i) - spin(i - 1)) / H - moment)))
    couple = max(couple, np.max(np.abs(moment)))
weight = 65 * 10
c.true("pairs are those that touch, by name", {(x["a"], x["b"]) for x in p} == {("floor", "cube"), ("cube", "rider")}, {(x["a"], x["b"]) for x in p})
c.below("Newton: forces of pairs move the bodies, by the weight", worst / weight, 1e-9)
c.true("there are moments", couple > 10, couple)
c.below("Euler: moments turn the cube, by the largest", turn[0] / couple, 1e-9)
c.below("with the rider, whose friction has the gap for an arm", turn[1] / couple, 1e-5)
c.below("centre of pressure: on the floor", cop, 0.01)
c.true("contacts that bear are counted", all(int(x["contacts"]) >= 1 for x in p))

c.true("statistics: a row for each output", list(s["time"]) == list(h["time"]))
c.true("statistics: as in the history", all(list(s[a]) == list(h[b]) for a, b in (("contacts", "contacts"), ("iterations", "snes_iterations"), ("penetration", "penetration"))))
c.true("statistics: open, stick and slip are all", np.all(s["open"] + s["stick"] + s["slip"] == s["contacts"]) and np.max(s["slip"]) > 0, s["slip"][-1])
c.close("statistics: works of the steps", [np.sum(s["contact_work"]), np.sum(s["friction_work"])], [h["contact"][-1], h["friction"][-1]], rtol=1e-12)
c.true("statistics: every step has a reason", np.all(s["reason"][1:] > 0) and np.all(s["merit"] <= 1e-12) and np.all((s["solves"] > 0) == (s["contacts"] > 0)))

worst = [0, 0, 0]
seen = set()
with h5py.File(r.path("c.h5")) as f:
    times = np.array(f["times"]).ravel()
    times = times[np.isfinite(times)]
    groups = [f"{i:08d}" for i in range(len(times))]
    c.true("points: times", list(times) == list(h["time"]), len(times))
    for i, g in enumerate(groups):
        force, normal, state, ids = (np.array(f[g][k]).reshape(-1, w) for k, w in (("force", 3), ("normal", 3), ("state", 1), ("body_b", 1)))
        if i and len(force): worst[0] = max(worst[0], abs(np.sum(force * normal) - s["normal_force"][i]) / weight)
        for body, name in ((1, "cube"), (2, "rider")):
            total = sum((vector(x, "force") for x in at.get(h["time"][i], []) if x["b"] == name), np.zeros(3))
            worst[1] = max(worst[1], np.max(np.abs(np.sum(force[ids[:, 0] == body], axis=0) - total)) / weight)
        tangent = np.linalg.norm(force - np.sum(force * normal, axis=1, keepdims=True) * normal, axis=1)
        worst[2] = max(worst[2], np.max(tangent - 0.3 * np.sum(force * normal, axis=1), initial=0) / weight)
        seen |= set(state[:, 0])
c.below("points: normal forces sum up", worst[0], 1e-12)
c.below("points: resultants are those of the pairs", worst[1], 1e-12)
c.below("points: within the cone", worst[2], 1e-9)
c.true("points: states", seen <= {0, 1, 2} and 2 in seen, seen)

# a step's problem can be solved by itself, to the same resultant
r = run(exe, ["-options_file", f"{d}/m.yml", "-output_fclib", "problems", "-output_fclib_every", "20"], timeout=60)
files = sorted(glob.glob(r.path("problems/*")))
c.equal("problems: files", [os.path.basename(x) for x in files], [f"step_{k:08d}.hdf5" for k in (20, 40, 60)])
q = run(exe, ["-fclib", ",".join(files), "-snes_rtol", "1e-12", "-fclib_solution", "solved"], timeout=60)
c.equal("problems: solved", q.out.count("CONVERGED"), 3)
for k, file in zip((20, 40, 60), files):
    with h5py.File(q.path(f"solved/{os.path.basename(file)}")) as f: R = np.array(f["solution/r"]).ravel()
    c.equal(f"step {k}: contacts", len(R) // 3, int(s["contacts"][k]))
    c.close(f"step {k}: normal forces", np.sum(R[::3]) / H, s["normal_force"][k], rtol=1e-7)
r = run(exe, ["-options_file", f"{d}/m.yml", "-output_fclib", "problems", "-contact_pairs", "rough", "-rough_bodies", "floor,cube", "-rough_friction", ".inf", "-ts_max_steps", "3"], timeout=60)
c.true("problems: infinite friction is not in the format, one line", r.err.count("output_fclib") == 1 and not glob.glob(r.path("problems/*")), r.err.strip())

# a restarted run goes on with all files
a = run(exe, ["-options_file", f"{d}/m.yml", "-checkpoint", "k.h5", "-checkpoint_every", "30"], timeout=60)
b = run(exe, ["-options_file", f"{d}/m.yml", "-checkpoint", "k.h5", "-ts_max_steps", "30"], timeout=60)
run(exe, ["-options_file", f"{d}/m.yml", "-checkpoint", "k.h5", "-checkpoint_every", "30", "-restart", "k.h5"], directory=b.directory, timeout=60)
for name in ("h.csv", "s.csv", "p.csv", "c.xdmf"):
    with open(a.path(name)) as f, open(b.path(name)) as g: c.true(f"restart: {name}", f.read() == g.read())

# forces on nodes: of a body they sum up to what the pairs give, whatever the formulation
for formulation in ("rigid", "bc"):
    q = run(exe, ["-options_file", f"{d}/m.yml", "-output_exodus", "r.exo", "-ts_max_steps", "40", "-cube_formulation", formulation, "-cube_mesh_cells", "2,2,2", "-body_material_young", "1e8", "-body_material_poisson", "0.2"], timeout=60)
    e, worst = Netcdf(q.path("r.exo")), 0
    pairs = rows(q.path("p.csv"))
    for i in range(e.records):
        t = e.get("time_whole", i).ravel()[0]
        want = sum((vector(x, "force") * (1 if x["b"] == "cube" else -1) for x in pairs if float(x["time"]) == t and "cube" in (x["a"], x["b"])), np.zeros(3))
        worst = max(worst, np.max(np.abs([np.sum(e.get(f"vals_nod_var{k + 7}", i)[8:35]) for k in range(3)] - want)) / weight)
    c.true(f"nodes, {formulation}: there is contact at the end", np.any(want != 0), str(want))
    c.below(f"nodes, {formulation}: forces sum up", worst, 1e-12)

# on two ranks, which share the pairs: the same files
two = run(exe, ["-options_file", f"{d}/m.yml", "-output_fclib", "problems", "-output_fclib_every", "30"], ranks=2, timeout=60)
q = rows(two.path("p.csv"))
c.true("two ranks: pairs, in the same order", [(x["time"], x["a"], x["b"], x["contacts"]) for x in q] == [(x["time"], x["a"], x["b"], x["contacts"]) for x in p])
c.close("two ranks: forces and moments", [list(vector(x, "force")) + list(vector(x, "moment")) for x in q], [list(vector(x, "force")) + list(vector(x, "moment")) for x in p], rtol=1e-7)
z = read_csv(two.path("s.csv"))
c.close("two ranks: normal forces", z["normal_force"], s["normal_force"], rtol=1e-7)
q = run(exe, ["-fclib", ",".join(sorted(glob.glob(two.path("problems/*")))), "-snes_rtol", "1e-12", "-fclib_solution", "solved"], timeout=60)
with h5py.File(q.path("solved/step_00000060.hdf5")) as f: c.close("two ranks: the problem of a step", np.sum(np.array(f["solution/r"]).ravel()[::3]) / H, s["normal_force"][60], rtol=1e-7)

for options, text in ((["-output_contacts", "c.vtk"], ".xdmf"), (["-output_fclib_every", "0"], "below 1"), (["-output_pairs", "h.csv"], "one file"), (["-contact_enabled", "false"], "nothing can touch"), (["-output_fclib", "h.yml/x"], "folder")):
    q = run(exe, ["-options_file", f"{d}/m.yml", *options], check=False, timeout=60)
    c.true(f"{' '.join(options)}: refused", q.code == 1 and text in q.err and len(q.err.splitlines()) == 1, q.err.strip())

c.finish()
