"""Ctrl-C, SIGTERM, SIGUSR1 and -max_wall_time: the step is finished, the checkpoint written, exit code 0, and a restart goes on to the same
result. Under scripts/run with RANKS=2, too."""
import os, signal, subprocess, time
import h5py
from common import *
from common import environment

exe, root = arguments()
c = Checks()
MODEL = """
ts:      {dt: 1e-4, max_steps: 100000000}
gravity: [0, 0, -9.81]
bodies:  [bar, rod, stone]
body:    {mesh: {type: box, size: [0.1, 0.1, 1], cells: [1, 1, 6]}, material: {young: 2e6, poisson: 0.3, density: 1e3}}
bar:     {formulation: bc, angular_velocity: [1, 2, 0], damping: 1e-4}
rod:     {formulation: tl, angular_velocity: [1, 2, 0], translate: [1, 0, 0]}
stone:   {formulation: rigid, angular_velocity: [1, 2, 0], translate: [2, 0, 0]}
probes:  [p]
p:       {body: rod, offset: [0, 0, 0.3]}
output:  {digits: 17, history: h.csv, interval: 1e-3}
"""
files = temporary()
with open(f"{files}/model.yml", "w") as f: f.write(MODEL)
OPTIONS = ["-checkpoint", "c.h5", "-summary", "s.json"]


def step(path):
    with h5py.File(path) as f: return int(np.array(f["run"]).ravel()[4])


def check(name, code, out, err, directory, ranks):
    """An interrupted run: its end, its files, and that a restart comes to what an uninterrupted run has."""
    c.equal(f"{name}: exit code", code, 0)
    c.equal(f"{name}: standard error", err.strip(), "")
    c.true(f"{name}: the summary says so", "end: interrupted\n" in out, out.splitlines()[-30:][:1])
    if not c.true(f"{name}: there is a checkpoint and a summary", os.path.exists(f"{directory}/c.h5") and os.path.exists(f"{directory}/s.json")): return
    c.true(f"{name}: nothing half-written", sorted(os.listdir(directory)) == ["c.h5", "h.csv", "s.json"], sorted(os.listdir(directory)))
    n = step(f"{directory}/c.h5")
    end = ["-ts_max_steps", str(n + 25)]
    r = run(exe, ["-options_file", f"{files}/model.yml", "-restart", "c.h5"] + OPTIONS + end, ranks=ranks, directory=directory, timeout=100)
    c.true(f"{name}: complete after the restart", r.summary["end"] == "complete" and r.summary["steps"] == 25, f"step {n}")
    w = run(exe, ["-options_file", f"{files}/model.yml"] + OPTIONS + end, ranks=ranks, timeout=200)
    a, b = read_csv(r.path("h.csv")), read_csv(w.path("h.csv"))
    c.true(f"{name}: the same rows", np.array_equal(a["time"], b["time"]), f"{len(b['time'])}")
    if len(a["time"]) == len(b["time"]):
        worst = max((np.max(np.abs(a[k] - b[k])) / (np.max(np.abs(b[k])) or 1), k) for k in b)
        c.true(f"{name}: the same result", worst[0] <= 1e-9, f"largest difference {worst[0]:.3g} of column {worst[1]}")


def started(directory, process):
    """Waits until the run is on its way."""
    deadline = time.time() + 100
    while time.time() < deadline and process.poll() is None:
        try:
            with open(f"{directory}/h.csv") as f:
                if len(f.readlines()) > 5: return
        except OSError: pass
        time.sleep(0.02)
    process.kill()
    fail(f"the run has not started: {process.communicate()}")


def default():  # a shell's background jobs ignore SIGINT, and hand that down
    signal.signal(signal.SIGINT, signal.SIG_DFL)


for s in (signal.SIGINT, signal.SIGTERM, signal.SIGUSR1):
    directory = temporary()
    p = subprocess.Popen([exe, "-options_file", f"{files}/model.yml"] + OPTIONS, cwd=directory, env=environment(), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                         stderr=subprocess.PIPE, text=True, preexec_fn=default)
    started(directory, p)
    p.send_signal(s)
    out, err = p.communicate(timeout=60)
    check(s.name, p.returncode, out, err, directory, 1)

for s in (signal.SIGINT, signal.SIGTERM):
    directory = temporary()
    p = subprocess.Popen([f"{root}/scripts/run", f"{files}/model.yml"] + OPTIONS, cwd=directory, env=dict(environment(), RANKS="2"), stdin=subprocess.DEVNULL,
                         stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, preexec_fn=default)
    started(directory, p)
    p.send_signal(s)
    out, err = p.communicate(timeout=60)
    check(f"scripts/run on 2 ranks, {s.name}", p.returncode, out, err, directory, 2)

r = run(exe, ["-options_file", f"{files}/model.yml", "-max_wall_time", "0.3"] + OPTIONS, timeout=60)
check("-max_wall_time", r.code, r.out, r.err, r.directory, 1)
r = run(exe, ["-options_file", f"{files}/model.yml", "-max_wall_time", "0.3"], ranks=2, timeout=60)
c.true("-max_wall_time on 2 ranks, no checkpoint asked for", r.summary["end"] == "interrupted" and sorted(os.listdir(r.directory)) == ["h.csv"], sorted(os.listdir(r.directory)))
c.finish()
