"""What a run writes: history, probes, summary and JSON, Exodus file, log and monitor, times and numbers of steps; and scripts/plot."""
import json, os, pty, re, subprocess, tempfile
from common import *
from common import environment

exe, root = arguments()
c = Checks()
BALL = """
gravity: [0, 0, -10]
bodies:  [stone, bar, wall]
stone:   {mesh: {type: box, size: [1, 1, 1], cells: [2, 2, 2]}, material: {density: 1}, formulation: rigid, velocity: [3, 0, 5], translate: [1, 2, 3], mass_damping: 0.1}
bar:     {mesh: {type: box, size: [0.1, 0.1, 1], cells: [1, 1, 5]}, material: {young: 1e6, poisson: 0.3, density: 1e3}, damping: 1e-3,
          angular_velocity: [1, 2, 0], rotate: [0, 0, 30]}
wall:    {mesh: {type: box, size: [1, 1, 1]}, formulation: obstacle, translate: [5, 0, 0], motion_x: 0.5*sin(3*t), motion_rz: 90*t}
forces:  [push]
push:    {body: bar, offset: [0, 0, 0.4], direction: [1, 0, 0], value: 20*sin(9*t)}
probes:  [corner, tip, edge]
corner:  {body: stone, point: [1.5, 2.5, 3.5]}
tip:     {body: bar, offset: [0, 0, 0.5]}
edge:    {body: wall, point: [5.5, 0, 0]}
"""
files = temporary()
with open(f"{files}/model.yml", "w") as f: f.write(BALL)
model = ["-options_file", f"{files}/model.yml"]

# --- history
r = run(exe, model + ["-ts_dt", "1e-3", "-ts_max_time", "0.5", "-output_history", "h.csv", "-output_digits", "17", "-output_exodus", "r.exo", "-output_interval", "0.01",
                      "-summary", "s.json", "-checkpoint", "c.h5"])
with open(r.path("h.csv")) as f: text = f.read()
names = "time,kinetic,internal,external,damping,contact,friction,constraint,total,contacts,snes_iterations,penetration".split(",")
for p in ("corner", "tip", "edge"): names += [f"{p}_{x}" for x in ("x", "y", "z", "vx", "vy", "vz", "mises")]
c.equal("columns", text.splitlines()[0].split(","), names)
c.true("17 digits: numbers that are written again are the same", all(f"{float(x):.17g}" == x for line in text.splitlines()[1:] for x in line.split(",")))
h = read_csv(r.path("h.csv"))
c.close("times", h["time"], np.arange(51) * 0.01, atol=1e-15)
c.equal("first and last time, exactly", (h["time"][0], h["time"][-1]), (0.0, 0.5))
works = sum(h[n] for n in ("external", "damping", "contact", "friction", "constraint"))
c.close("total = kinetic + internal - works", h["total"], h["kinetic"] + h["internal"] - works, rtol=1e-14)
c.close("total stays", h["total"], h["total"][0] + 0 * h["total"], atol=2e-3 * np.max(h["kinetic"]))
c.true("damping takes energy", np.all(np.diff(h["damping"]) < 0), f"{h['damping'][-1]:.4g}")
for n in ("contact", "friction", "constraint", "contacts", "snes_iterations", "penetration"): c.true(f"{n} is zero", not np.any(h[n]))
# a rigid body with drag alpha falls as v' = g - alpha v; it does not turn, so its corner moves as its centre does
t, a = h["time"], 0.1
decay = (1 - np.exp(-a * t)) / a
c.close("rigid body's probe, x", h["corner_x"], 1.5 + 3 * decay, atol=1e-6)
c.close("its z", h["corner_z"], 3.5 + (5 + 10 / a) * decay - 10 / a * t, atol=1e-6)
c.close("its velocity along z", h["corner_vz"], (5 + 10 / a) * np.exp(-a * t) - 10 / a, atol=1e-6)
c.close("its y", h["corner_y"], 2.5 + 0 * t, atol=1e-12)
c.close("obstacle's probe, x", h["edge_x"], 5 + 0.5 * np.sin(3 * t) + 0.5 * np.cos(np.pi / 2 * t), atol=1e-12)
c.close("its velocity, y", h["edge_vy"], 0.5 * np.pi / 2 * np.cos(np.pi / 2 * t), atol=1e-7)
c.close("deformable body's probe at the start", [h["tip_x"][0], h["tip_y"][0], h["tip_z"][0]], [0, 0, 0.5], atol=1e-14)
c.close("its velocity at the start: spin x arm", [h["tip_vx"][0], h["tip_vy"][0], h["tip_vz"][0]], [1, -0.5, 0], atol=1e-14)
fine = np.gradient(h["tip_x"], t)
c.close("its velocity is the slope of its position", h["tip_vx"][5:-5], fine[5:-5], atol=0.05 * np.max(np.abs(fine)))
c.true("stress of the deformable body alone", np.max(h["tip_mises"]) > 0 and not np.any(h["corner_mises"]) and not np.any(h["edge_mises"]), f"{np.max(h['tip_mises']):.4g}")

# --- summary and JSON
lines = [x for x in r.out.splitlines() if re.match(r"[A-Za-z][A-Za-z ]*: \S", x)]
with open(r.path("s.json")) as f: figures = json.load(f)
c.equal("JSON: the names of the summary's lines", list(figures), [x.partition(": ")[0].replace(" ", "_") for x in lines])
c.equal("JSON: their values", [str(v) if isinstance(v, str) else float(v) for v in figures.values()],
        [x.partition(": ")[2] if isinstance(v, str) else float(x.partition(": ")[2]) for x, v in zip(lines, figures.values())])
s = r.summary
for n in ("steps", "bodies", "dofs", "contacts mean", "contacts max", "SNES iterations mean", "SNES iterations max", "worst final merit", "steps not converged", "energy drift",
          "largest penetration", "wall time", "time per step", "seconds Predict", "seconds Linearize", "seconds Solve", "seconds Correct", "seconds Balance", "seconds Output"):
    c.true(f"summary has {n}", n in s, s.get(n))
c.equal("steps, bodies, end", (s["steps"], s["bodies"], s["end"]), (500.0, 3.0, "complete"))
c.equal("dofs: 6 and 3 of each of the bar's nodes", s["dofs"], 6.0 + 3 * 24)
c.close("energy drift", s["energy drift"], np.max(np.abs(h["total"] - h["total"][0])) / np.max(h["kinetic"] + h["internal"] + np.abs(h["external"])), rtol=0.2)

# --- Exodus
e = Netcdf(r.path("r.exo"))
c.equal("Exodus: times", e.records, 51)
times = np.array([e.get("time_whole", i).ravel()[0] if e.get("time_whole", i).size else np.nan for i in range(e.records)])
c.true("Exodus: those of the history", np.array_equal(times, h["time"]), f"{times[:3]} ... {times[-1]}")
c.equal("Exodus: nodes and elements", (e.dim("num_nodes"), e.dim("num_elem"), e.dim("num_el_blk")), (27 + 24 + 8, 8 + 5 + 1, 3))
c.equal("Exodus: names of the blocks", e.texts("eb_names"), ["stone", "bar", "wall"])
c.equal("Exodus: variables of nodes", e.texts("name_nod_var"), [f"{n}_{x}" for n in ("displacement", "velocity", "contact") for x in "xyz"])
c.equal("Exodus: variables of elements", e.texts("name_elem_var"), ["mises", "rank", "formulation"])
X = np.array([e.get(f"coord{x}") for x in "xyz"])
c.close("Exodus: placed nodes of the first body", [X[:, :27].min(axis=1), X[:, :27].max(axis=1)], [[0.5, 1.5, 2.5], [1.5, 2.5, 3.5]], atol=1e-14)
corner = int(np.argmin(np.sum((X[:, :27] - [[1.5], [2.5], [3.5]]) ** 2, axis=0)))
for k, x in enumerate("xyz"):
    moved = np.array([X[k, corner] + e.get(f"vals_nod_var{k + 1}", i)[corner] for i in range(e.records)])
    c.close(f"Exodus: the probe's node, {x}", moved, h[f"corner_{x}"], atol=1e-12)
    c.close(f"Exodus: its velocity, {x}", [e.get(f"vals_nod_var{k + 4}", i)[corner] for i in range(e.records)], h[f"corner_v{x}"], atol=1e-12)
c.true("Exodus: formulations differ by body", len({float(e.get(f"vals_elem_var3eb{b}", 0)[0]) for b in (1, 2, 3)}) == 3)
c.true("Exodus: stress in the bar", np.max(e.get("vals_elem_var1eb2", 50)) > 0)

# --- numbers of steps and times
STONE = ["-options_file", f"{files}/stone.yml", "-output_history", "h.csv", "-output_digits", "17"]
with open(f"{files}/stone.yml", "w") as f: f.write("bodies: [stone]\nstone: {mesh: {type: box, size: [1, 1, 1]}, material: {density: 1}, formulation: rigid, velocity: [1, 0, 0]}\n")
for dt, end, steps, last in ((1e-4, 1.0, 10000, 1.0), (0.1, 0.3, 3, 0.3), (0.3, 1.0, 4, 1.2), (1 / 3, 1.0, 3, 1.0), (1e-3, 0.7, 700, 0.7)):
    r = run(exe, STONE + ["-ts_dt", f"{dt:.17g}", "-ts_max_time", f"{end:.17g}", "-energy_every", "0", "-output_interval", "0.1"])
    h = read_csv(r.path("h.csv"))
    c.equal(f"dt {dt:g}, end {end:g}: steps", r.summary["steps"], steps)
    c.close(f"dt {dt:g}, end {end:g}: last time", h["time"][-1], last, atol=0 if last == end else 1e-15)
# rows at the first step at or after each multiple of the interval
for dt, interval, wanted in ((0.01, 0.05, [0, 5, 10, 15, 20]), (0.01, 0.025, [0, 3, 5, 8, 10, 13, 15, 18, 20]), (0.01, 0.003, list(range(21))), (0.01, 0, list(range(21))), (0.01, 0.07, [0, 7, 14, 20]),
                             (0.1, 0.3, [0, 3, 6, 9, 12, 15, 18, 20])):
    r = run(exe, STONE + ["-ts_dt", dt, "-ts_max_steps", "20", "-output_interval", interval])
    c.close(f"rows for dt {dt}, interval {interval}", read_csv(r.path("h.csv"))["time"], np.array(wanted) * dt, atol=1e-14)
r = run(exe, STONE + ["-ts_dt", "0.1", "-ts_max_steps", "3", "-output_digits", "5"])
c.equal("few digits", open(r.path("h.csv")).read().splitlines()[2].split(",")[0], "0.1")

# --- log and monitor
r = run(exe, STONE + ["-ts_dt", "0.1", "-ts_max_steps", "3", "-log_view", "-ts_monitor"])
events = [x.split()[0] for x in r.out.splitlines() if re.match(r"(Predict|Linearize|Solve|Correct|Balance|Output) ", x)]
c.equal("-log_view lists the events", sorted(set(events)), sorted(["Predict", "Linearize", "Solve", "Correct", "Balance", "Output"]))
c.equal("-ts_monitor: lines", len(re.findall(r"^\d+ TS dt 0\.1 time ", r.out, re.M)), 4)
r = run(exe, STONE + ["-ts_dt", "0.1", "-ts_max_steps", "3", "-log_view", ":log.txt"])
c.true("-log_view into a file", "Linearize" in open(r.path("log.txt")).read() and "Linearize " not in r.out.replace("seconds Linearize", ""))
r = run(exe, STONE + ["-ts_dt", "0.1", "-ts_max_steps", "3", "-citations"])
c.true("-citations", "@techreport" in r.out)
r = run(exe, STONE + ["-ts_dt", "0.1", "-ts_max_steps", "3", "-check"])
c.true("-check runs nothing", "nothing wrong" in r.out and os.listdir(r.directory) == [], r.out.strip())

# --- the line of progress is written over on a terminal, and nowhere else
def progress(command, ranks, terminal):
    """Standard output of a run, which is a terminal or a file."""
    env = {k: v for k, v in dict(environment(), RANKS=str(ranks)).items() if k != "ASHLAR_TERMINAL"}
    command = command + STONE[:2] + ["-ts_dt", "0.1", "-ts_max_steps", "3"]
    if not terminal:
        with tempfile.TemporaryFile() as f:
            subprocess.run(command, cwd=temporary(), env=env, stdin=subprocess.DEVNULL, stdout=f, check=True, timeout=100)
            f.seek(0)
            return f.read()
    ours, theirs = pty.openpty()
    p = subprocess.Popen(command, cwd=temporary(), env=env, stdin=subprocess.DEVNULL, stdout=theirs, close_fds=True)
    os.close(theirs)
    out = b""
    while True:
        try: piece = os.read(ours, 4096)
        except OSError: break  # the other end is closed
        if not piece: break
        out += piece
    os.close(ours)
    c.equal("exit code on a terminal", p.wait(timeout=100), 0)
    return out


mpirun = ["mpirun", "-q", "-n", "2", exe]
for name, command, ranks, terminal, over in (("one rank, file", [exe], 1, False, False), ("one rank, terminal", [exe], 1, True, True), ("scripts/run on 2 ranks, file", [f"{root}/scripts/run"], 2, False, False),
                                             ("scripts/run on 2 ranks, terminal", [f"{root}/scripts/run"], 2, True, True), ("mpirun, file", mpirun, 2, False, False),
                                             ("mpirun, terminal", mpirun, 2, True, False)):
    out = progress(command, ranks, terminal)
    c.true(f"progress, {name}", b"step 3 " in out and (b"\r\033[K" in out) == over and (b"\033" in out) == over, out[:60])

# --- scripts/plot
def plot(*arguments, directory):
    return subprocess.run([f"{root}/scripts/plot", *arguments], cwd=directory, env=environment(), capture_output=True, text=True)


d = temporary()
for name, velocity in (("a", 1), ("b", 2)): run(exe, STONE + ["-ts_dt", "0.1", "-ts_max_steps", "5", "-output_history", f"{d}/{name}.csv", "-stone_velocity", f"{velocity},0,0"])
run(exe, model + ["-ts_dt", "0.01", "-ts_max_steps", "5", "-output_history", f"{d}/probes.csv"])
p = plot("probes.csv", directory=d)
c.true("plot of one run", p.returncode == 0 and open(f"{d}/probes.png", "rb").read(8) == b"\x89PNG\r\n\x1a\n", p.stderr)
p = plot("a.csv", "b.csv", "probes.csv", "-o", "all.png", directory=d)
c.true("plot of three runs", p.returncode == 0 and open(f"{d}/all.png", "rb").read(8) == b"\x89PNG\r\n\x1a\n", p.stderr)
before = sorted(os.listdir(d))
for name, text in (("text.csv", "hello\nworld\n"), ("empty.csv", ""), ("short.csv", "time,kinetic\n0,1\n1\n"), ("word.csv", "time,kinetic\n0,one\n")):
    with open(f"{d}/{name}", "w") as f: f.write(text)
with open(f"{d}/bytes.csv", "wb") as f: f.write(b"\x89PNG\xff\xfe")
for arguments in (["none.csv"], ["text.csv"], ["empty.csv"], ["short.csv"], ["word.csv"], ["bytes.csv"], ["a.csv", "-o", "none/x.png"], ["a.csv", "-o", "a.csv"], ["a.csv", "-o", "x.unknown"], []):
    p = plot(*arguments, directory=d)
    c.true(f"plot refuses {' '.join(arguments)}", p.returncode == 1 and len(p.stderr.splitlines()) == 1 and p.stderr.startswith("plot: "), p.stderr.strip()[:150])
c.equal("and leaves nothing behind", sorted(x for x in os.listdir(d) if x.endswith(("png", "unknown"))), sorted(x for x in before if x.endswith("png")))
c.finish()
