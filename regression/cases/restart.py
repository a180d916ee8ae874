"""Checkpoint and restart: a run that goes on from a checkpoint repeats the uninterrupted one to the last bit (history, Exodus file, final
checkpoint), on another number of ranks to 1e-12; a killed run leaves a whole checkpoint."""
import os, shutil, signal, subprocess, time
import h5py
from common import *
from common import environment

exe, root = arguments()
c = Checks()

MODEL = """
ts:      {dt: 1e-3, max_steps: 60}
gravity: [0, 0.5*sin(90*t), -9.81]
bodies:  [corotated, lagrange, stone, swarm, wall]
body:    {material: {young: 2e6, poisson: 0.3, density: 1e3}}
corotated:
  {mesh: {type: box, size: [0.1, 0.1, 0.4], cells: [1, 1, 4]}, formulation: bc, damping: 1e-4, angular_velocity: [3, 1, 0], rotate: [10, 20, 30]}
lagrange:
  {mesh: {type: box, size: [0.1, 0.1, 0.4], cells: [1, 1, 4]}, formulation: tl, mass_damping: 0.5, angular_velocity: [0, 4, 1], translate: [1, 0, 0]}
stone:
  {mesh: {type: pipe, inner_radius: 0.1, thickness: 0.05, length: 0.3, cells: [2, 8, 1]}, formulation: rigid, angular_velocity: [1, 2, 9], translate: [2, 0, 0]}
swarm:
  {mesh: {type: box, size: [0.1, 0.2, 0.3]}, damping: 1e-4, velocity: [0, 0, 1], angular_velocity: [1, 2, 3], translate: [0, 2, 0],
   copies: {grid: [3, 2, 1], spacing: [1, 1, 1]}}
swarm_3: {formulation: rigid}
swarm_4: {formulation: tl}
wall:    {mesh: {type: box, size: [1, 1, 1]}, translate: [0, 0, -5], formulation: obstacle, motion_x: 0.1*sin(40*t)}
forces:  [push, pull]
push:    {body: corotated, offset: [0, 0, 0.15], direction: [0, 1, 0], value: 3*sin(70*t)}
pull:    {body: swarm_*, offset: [0, 0, 0], direction: [1, 0, 0], value: 2*t}
probes:  [a, b, s, w]
a:       {body: corotated, offset: [0, 0, 0.1]}
b:       {body: lagrange, offset: [0, 0, 0.1]}
s:       {body: swarm_4, offset: [0, 0, 0.1]}
w:       {body: wall, offset: [0, 0, 0]}
output:  {interval: 3e-3, digits: 17, history: h.csv, exodus: r.exo}
checkpoint: {every: 20}
"""
files = temporary()
with open(f"{files}/model.yml", "w") as f: f.write(MODEL)


def go(*options, ranks=1, directory=None):
    return run(exe, ["-options_file", f"{files}/model.yml", "-checkpoint", "c.h5", *options], ranks=ranks, directory=directory, timeout=100)


def content(path):
    with open(path, "rb") as f: return f.read()


def numbers(path):
    with h5py.File(path) as f: return {n: np.array(f[n]).ravel() for n in ("run", "lengths", "state")}


def history(path, wanted, name, rtol):
    a, b = read_csv(path), read_csv(wanted)
    worst = max((np.max(np.abs(a[k] - b[k])) / max(np.max(np.abs(b[k])), 1e-300), k) for k in b) if list(a) == list(b) and len(a["time"]) == len(b["time"]) else (np.inf, "shape")
    c.true(name, worst[0] <= rtol, f"largest difference {worst[0]:.3g} of column {worst[1]}, at most {rtol:g}")


# same number of ranks: the same bits
for ranks in (1, 2):
    whole = go(ranks=ranks)
    c.equal(f"steps, {ranks} ranks", whole.summary["steps"], 60)
    half = go("-ts_max_steps", "40", ranks=ranks)
    again = go("-restart", "c.h5", ranks=ranks, directory=half.directory)
    c.equal(f"steps after the restart, {ranks} ranks", again.summary["steps"], 20)
    # the end of the first run at step 40 is no output time: its last row is the one that only it has
    lines, kept = content(whole.path("h.csv")).splitlines(), content(half.path("h.csv")).splitlines()
    extra = [x for x in kept if x not in lines]
    c.true(f"history to the last bit, {ranks} ranks", [x for x in kept if x not in extra] == lines and len(extra) <= 1, f"{len(kept)} lines, {len(lines)} wanted, {len(extra)} of the stop")
    a, b = numbers(half.path("c.h5")), numbers(whole.path("c.h5"))
    for n in b: c.true(f"checkpoint's {n} to the last bit, {ranks} ranks", np.array_equal(a[n], b[n]), f"{len(b[n])} numbers")

# a stop at an output time: all files go on as those of the run without a stop
short = go("-ts_max_steps", "21", "-checkpoint_every", "7")
longer = go("-checkpoint_every", "7")
go("-restart", "c.h5", "-checkpoint_every", "7", directory=short.directory)
c.true("history, the same bytes", content(short.path("h.csv")) == content(longer.path("h.csv")))
c.true("Exodus file, the same bytes", content(short.path("r.exo")) == content(longer.path("r.exo")), f"{os.path.getsize(longer.path('r.exo'))} bytes")

# a history of few digits, whose last time is above the checkpoint's by rounding: no row is lost and none is twice
few = ["-output_digits", "4", "-ts_dt", f"{1 / 700:.17g}", "-output_interval", "0", "-checkpoint_every", "5"]
r = go("-ts_max_steps", "5", *few)
go("-restart", "c.h5", "-ts_max_steps", "20", *few, directory=r.directory)
c.close("times of a history with 4 digits", read_csv(r.path("h.csv"))["time"], np.arange(21) / 700, atol=1e-5)

# a restart from an older checkpoint cuts off the rows after it
old = go("-ts_max_steps", "21", "-checkpoint_every", "7")
shutil.copy(old.path("c.h5"), old.path("old.h5"))
go("-restart", "c.h5", "-checkpoint_every", "7", directory=old.directory)
go("-restart", "old.h5", "-checkpoint_every", "7", directory=old.directory)
c.true("rows after the checkpoint are cut off", content(old.path("h.csv")) == content(longer.path("h.csv")))
c.true("times after it in the Exodus file, too", content(old.path("r.exo")) == content(longer.path("r.exo")))

# another number of ranks
for before, after in ((1, 2), (2, 3)):
    r = go("-ts_max_steps", "21", "-checkpoint_every", "7", ranks=before)
    go("-restart", "c.h5", "-checkpoint_every", "7", ranks=after, directory=r.directory)
    history(r.path("h.csv"), longer.path("h.csv"), f"history, {before} then {after} ranks", 1e-12)

# killed at any moment: the checkpoint is whole and the run goes on from it
r = temporary()
p = subprocess.Popen([exe, "-options_file", f"{files}/model.yml", "-checkpoint", "c.h5", "-checkpoint_every", "1", "-ts_max_steps", "1000000", "-output_exodus", "", "-output_interval", "1"],
                     cwd=r, env=environment(), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
deadline, seen = time.time() + 60, 0
while seen < 3 and time.time() < deadline:  # a few checkpoints, each another file
    try:
        with open(f"{r}/c.h5", "rb") as f: seen = max(seen, 1) if not f.read(8).startswith(b"\x89HDF") else seen + 1
    except OSError: pass
    time.sleep(0.05)
p.send_signal(signal.SIGKILL)
p.wait()
c.true("checkpoints before the kill", seen >= 3, f"{seen} looks at it")
step = int(numbers(f"{r}/c.h5")["run"][4])
go("-restart", "c.h5", "-ts_max_steps", str(step + 5), "-output_exodus", "", "-output_interval", "1", directory=r)
c.equal("step after the kill and the restart", numbers(f"{r}/c.h5")["run"][4], step + 5)
c.finish()
