"""Options: files, their order, the command line, sections, precedence of body, part and `body`, help, expressions and CSV files, intervals."""
import os, re, subprocess
import h5py
from common import *
from common import environment

exe, root = arguments()
c = Checks()
directory = temporary()
os.mkdir(f"{directory}/sub")


def write(name, text):
    with open(f"{directory}/{name}", "w") as f: f.write(text)
    return f"{directory}/{name}"


def go(*options, ranks=1):
    """The history of a run, and the run."""
    r = run(exe, [*options, "-output_history", "h.csv", "-output_digits", "17"], ranks=ranks, timeout=100)
    h = read_csv(r.path("h.csv"))
    return h, r


STONE = """
ts:     {dt: 0.01, max_steps: 10}
bodies: [stone]
stone:  {mesh: {type: box, size: [1, 1, 1]}, material: {density: 1}, formulation: rigid, velocity: [1, 0, 0]}
probes: [p]
p:      {body: stone, point: [0, 0, 0]}
"""
base = write("base.yml", STONE)
second = write("second.yml", "stone: {velocity: [2, 0, 0], angular_velocity: [0, 0, 0]}\n")
third = write("third.yml", "stone_velocity: [3, 0, 0]\n")  # the same option as stone: {velocity: ...}
F = "-options_file"

# --- files and the command line
c.equal("one file", go(F, base)[0]["p_vx"][0], 1)
c.equal("two files, the later wins", go(F, base, F, second)[0]["p_vx"][0], 2)
c.equal("in the other order", go(F, second, F, base)[0]["p_vx"][0], 1)
c.equal("separated by a comma", go(F, f"{base},{second}")[0]["p_vx"][0], 2)
c.equal("a_b: c is a: {b: c}", go(F, base, F, third)[0]["p_vx"][0], 3)
c.equal("the command line wins", go(F, base, F, second, "-stone_velocity", "4,0,0")[0]["p_vx"][0], 4)
c.equal("also before the files", go("-stone_velocity", "4,0,0", F, base, F, second)[0]["p_vx"][0], 4)
c.equal("-name=value", go(F, base, "-stone_velocity=5,0,0")[0]["p_vx"][0], 5)
c.equal("the last on the command line", go(F, base, "-stone_velocity", "6,0,0", "-stone_velocity", "7,0,0")[0]["p_vx"][0], 7)
c.equal("negative numbers are values", go(F, base, "-stone_velocity", "-8,0,0")[0]["p_vx"][0], -8)
c.equal("options of PETSc from a file", len(go(F, base)[0]["time"]), 11)
c.equal("and from the command line", len(go(F, base, "-ts_max_steps", "4")[0]["time"]), 5)
flow = write("flow.yml", """# blocks, an anchor and a merge
ts:
  dt: 0.01
  max_steps: 10
bodies:
  - stone
  - other
stone: &stone
  mesh: {type: box, size: [1, 1, 1]}
  material: {density: 1}
  formulation: rigid
  velocity:
    - 1
    - 0
    - 0
other:
  <<: *stone
  translate: [4, 0, 0]
  velocity: [2, 0, 0]
probes: [p, q]
p: {body: stone, point: [0, 0, 0]}
q: {body: other, point: [4, 0, 0]}
""")
h, _ = go(F, flow)
c.equal("block style, anchors and merges", (h["p_vx"][0], h["q_vx"][0]), (1, 2))
with open(flow) as f: r = subprocess.run([exe, F, "/dev/stdin", "-ts_max_steps", "1"], stdin=f, env=environment(), capture_output=True, text=True, cwd=directory)
c.true("a file through a pipe", r.returncode == 0 and "steps: 1\n" in r.stdout, r.stderr)

# --- outputs are turned off by an empty value
out = write("out.yml", STONE + "output: {history: h.csv, exodus: r.exo}\nsummary: s.json\ncheckpoint: c.h5\n")
off = {"-output_history": "h.csv", "-output_exodus": "r.exo", "-summary": "s.json", "-checkpoint": "c.h5"}
c.equal("all outputs", sorted(os.listdir(run(exe, [F, out]).directory)), ["c.h5", "h.csv", "r.exo", "s.json"])
for option, name in off.items():
    c.equal(f'{option} ""', sorted(os.listdir(run(exe, [F, out, option, ""]).directory)), sorted(set(off.values()) - {name}))
none = write("none.yml", "output: {history: '', exodus: ~}\nsummary:\ncheckpoint: \"\"\n")
c.equal("empty values in a file", os.listdir(run(exe, [F, out, F, none]).directory), [])

# --- own name, then the part's, then `body`
PARTS = """
ts:     {dt: 0.01, max_steps: 1}
bodies: [a, b, d]
brick:  {mesh: {type: box, size: [1, 1, 1]}, material: {density: 2, young: 1e4}, formulation: rigid}
a:      {part: brick}
b:      {part: brick, translate: [3, 0, 0]}
d:      {mesh: {type: box, size: [2, 1, 1]}, material: {density: 1, young: 1e4}, translate: [6, 0, 0], formulation: rigid}
"""
parts = write("parts.yml", PARTS)
def dofs(*options): return run(exe, [F, parts, *options]).summary["dofs"]
c.equal("formulations of the file", dofs(), 18)
c.equal("body_formulation is under the part's", dofs("-body_formulation", "bc"), 18)
c.equal("the part's own", dofs("-brick_formulation", "bc"), 24 + 24 + 6)
c.equal("the body's own is over the part's", dofs("-brick_formulation", "bc", "-a_formulation", "rigid"), 6 + 24 + 6)
c.equal("body_ where nothing else is", run(exe, [F, write("bare.yml", PARTS.replace(", formulation: rigid", "")), "-body_formulation", "rigid", "-d_formulation", "bc"]).summary["dofs"], 12 + 24)
energy = lambda *o: go(F, parts, *o)[0]["kinetic"][0]
c.close("-body_velocity", energy("-body_velocity", "1,0,0"), 0.5 * (2 + 2 + 2), rtol=1e-12)
c.close("-body_velocity and one of its own", energy("-body_velocity", "1,0,0", "-b_velocity", "3,0,0"), 0.5 * (2 + 2 * 9 + 2), rtol=1e-12)
c.close("-brick_velocity", energy("-brick_velocity", "2,0,0"), 0.5 * (2 * 4 + 2 * 4), rtol=1e-12)
copies = ["-d_copies_grid", "3,1,1", "-d_copies_spacing", "3,0,0"]
c.close("copies: of the section, of one", energy(*copies, "-d_velocity", "1,0,0", "-d_1_velocity", "2,0,0"), 0.5 * 2 * (1 + 4 + 1), rtol=1e-12)
c.close("copies: spin of one", energy(*copies, "-d_2_angular_velocity", "0,0,1"), 0.5 * 2 * (4 + 1) / 12, rtol=1e-12)

# --- help
with open(f"{root}/app/option_table.c") as f: names = re.findall(r'^\s*(?:OWN\(|PETSC\([^,]*, )"[^"]+", "([^"]+)"', f.read(), re.M)
r = run(exe, ["-help"])
listed = re.findall(r"^  -(\S+)  +\S", r.out, re.M)
c.equal("-help lists the whole table", listed, names)
c.true("with more than 70 options", len(names) > 70, len(names))
c.true("every one with its meaning", all(len(x.split()) > 1 for x in r.out.splitlines() if x.startswith("  -")))
known = set()
for folder in ("app", "integrators", "meshes"):  # names that the sources ask for
    for name in os.listdir(f"{root}/{folder}"):
        if name.endswith(".c") and name != "option_table.c":
            with open(f"{root}/{folder}/{name}") as f: text = f.read()
            known |= set(re.findall(r'SettingsGet\w+\(settings, "(\w+)"', text)) | {f"<body>_{x}" for x in re.findall(r'KEY\("(\w+)"\)', text)}
for name in os.listdir(f"{root}/constraints"):  # read by PETSc's own means
    if name.endswith(".c"):
        with open(f"{root}/constraints/{name}") as f: known |= set(re.findall(r'"-((?:dual|npc|snes)_\w+)"', f.read()))
c.true("and all that the sources ask for", known <= set(names), sorted(known - set(names)))
c.equal("-help on 2 ranks, once", run(exe, ["-help"], ranks=2).out.count("-options_file"), r.out.count("-options_file"))
p = subprocess.run(["bash", "-c", '"$1" -help | head -n 3', "bash", exe], env=environment(), capture_output=True, text=True)
c.true("-help into a reader that leaves early", p.stderr == "" and len(p.stdout.splitlines()) == 3, p.stderr[:200])

# --- values: expressions and CSV files
end, steps = 0.1, np.arange(11) * 0.01
h, _ = go(F, base, "-gravity", "0,2*t,-10")
c.close("gravity as an expression: z", h["p_vz"], -10 * steps, atol=1e-13)
c.close("gravity as an expression: y, at the middle of each step", h["p_vy"], steps**2, atol=1e-13)
h, _ = go(F, base, "-gravity", "0,0,(t<0.05) ? -10 : 10")
c.close("gravity that changes", h["p_vz"][-1], 0, atol=1e-13)
write("sub/ramp.csv", "# a ramp\nt,value\n0,0\n0.05,5\n0.1,0\n")
force = write("sub/force.yml", "forces: [push]\npush: {body: stone, point: [0, 0, 0], direction: [0, 2, 0], value: ramp.csv}\n")
h, _ = go(F, base, F, force)
ramp = np.concatenate([[0], np.cumsum(np.interp(steps[:-1] + 0.005, [0, 0.05, 0.1], [0, 5, 0]) * 2 * 0.01)])
c.close("force from a CSV file beside its options file", h["p_vy"], ramp, atol=1e-13)
h, _ = go(F, base, F, force, "-push_value", "3")
c.close("force as a number", h["p_vy"], 6 * steps, atol=1e-13)
h, _ = go(F, base, F, force, "-push_value", "sin(pi*t)", "-push_direction", "0,0,1")
c.close("force as an expression", h["p_vz"][-1], np.sum(np.sin(np.pi * (steps[:-1] + 0.005)) * 0.01), atol=1e-13)
h, _ = go(F, base, F, force, "-push_value", "x", "-push_direction", "0,0,1", "-stone_velocity", "0,0,0", "-stone_translate", "2,0,0", "-push_point", "2.5,0,0", "-p_point", "2,0,0")
c.close("force that depends on its place", h["p_vz"][1], 2.5 * 0.01, rtol=1e-3)
wall = write("wall.yml", STONE.replace("bodies: [stone]", "bodies: [stone, wall]").replace("body: stone", "body: wall")
             + "wall: {mesh: {type: box, size: [1, 1, 1]}, formulation: obstacle, motion_x: sub/ramp.csv, motion_y: 3*t, velocity: [0, 0, 2]}\n")
h, _ = go(F, wall)
c.close("motion from a CSV file", h["p_x"], np.interp(steps, [0, 0.05, 0.1], [0, 5, 0]), atol=1e-13)
c.close("motion as an expression, and by a velocity", [h["p_y"][-1], h["p_z"][-1]], [0.3, 0.2], atol=1e-13)

# --- the example of the README
with open(f"{root}/README.md") as f: example = f.read().split("## An options file")[1]
lines = example.strip("\n").splitlines()
example = "\n".join(x[4:] for x in lines[:next(i for i, x in enumerate(lines) if x and not x.startswith("    "))])
example = write("example.yml", example.replace("{type: exodus, file: brick.exo}", "{type: box, size: [1, 1, 1]}"))
r = run(exe, [F, example, "-ts_max_steps", "2", "-brick_translate", "5,0,0"])
c.equal("the example of the README: bodies, files", (r.summary["bodies"], sorted(os.listdir(r.directory))), (3, ["pipe.csv", "pipe.exo"]))

# --- _interval is in time, _every in steps
h, _ = go(F, base, "-output_interval", "0.02")
c.close("-output_interval", h["time"], np.arange(6) * 0.02, atol=1e-15)
for every in ("0", "3"):
    r = run(exe, [F, base, "-checkpoint", "c.h5", "-checkpoint_every", every])
    with h5py.File(r.path("c.h5")) as f: c.equal(f"-checkpoint_every {every}: the last is at the end", int(np.array(f["run"]).ravel()[4]), 10)
r = run(exe, [F, base, "-checkpoint", "c.h5", "-checkpoint_every", "3", "-gravity", "0,0,1/(0.085-t)"], check=False)  # fails in the step from 0.08 on
with h5py.File(r.path("c.h5")) as f: c.equal("-checkpoint_every 3: the last before the run fails in step 9", (r.code, int(np.array(f["run"]).ravel()[4])), (1, 6))
for every, wanted in (("1", 11), ("5", 3), ("0", 2)):  # always at the start and at the end
    r = run(exe, [F, base, "-log_view", ":log.txt", "-energy_every", every, "-output_interval", "1"])
    with open(r.path("log.txt")) as f: counts = re.findall(r"^Balance +(\d+)", f.read(), re.M)
    c.equal(f"-energy_every {every}: evaluations", [int(x) for x in counts], [wanted])
c.finish()
