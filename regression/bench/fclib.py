"""Contact problems side by side with a peer. usage: fclib.py PROGRAM ROOT [FILE or folder ...] [--peer PROGRAM] [--limit SECONDS: 2] [--cores NAME,...]

Without files: generated masonry (walls of 200, 700 and 1700 contacts, columns of one and two drums, the fixed list of masonry.h). The peer is called as
    PEER solve FILE SOLVER TOLERANCE MAX_ITERATIONS CPU_LIMIT REPETITIONS
and ends with a line status,info,iterations,callbacks,error,solver_error,wall_s,wall_min_s,cpu_s,repetitions. Each of its fifteen solvers is
tried on each file, with the default here; then the fastest three and ours take turns. Judged is CPU time of one solve to an error of 1e-8, error
recomputed after the solve, the peer's best chosen after the fact; ours without making the objects that a run makes once. As soon as one of the peer's
solvers is done, the others have three times its time, since they could not be the best after that.
Both sides use the same BLAS kernels (OPENBLAS_CORETYPE). The path of the peer's Newton solvers, and so their time, changes with these by a factor of two and
more; --cores tries each of them with several kernels (own: what OpenBLAS takes by itself) and takes the best. Ours calls no BLAS in its solvers."""
import os, shutil, subprocess, sys, tempfile
from common import environment, np
from contact_files import Solve, complain, error, expand, masonry, repetitions, short

SOLVERS = ["NSGS_FULL", "NSGS", "NSN_AC", "NSN_AC_VIEG", "NSN_FB", "NSN_NM", "NSN_AC_TEST", "PROX", "VI_EG", "ADMM", "NSGS_QUARTIC", "NSGS_PLI", "NSGS_PLI_FULL", "TFP", "ACLMFP"]
TOL, SWEEPS = 1e-8, 100
exe, root = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])
peer, limit, cores, given, rest = None, 2.0, [""], [], list(sys.argv[3:])
while rest:
    x = rest.pop(0)
    if x in ("--peer", "--limit", "--cores"):
        if not rest: complain(f"{x} needs a value")
        if x == "--peer": peer = os.path.abspath(rest.pop(0))
        elif x == "--cores": cores = rest.pop(0).split(",")
        else:
            try: limit = float(rest.pop(0))
            except ValueError: complain("--limit needs a number of seconds")
            if not limit > 0: complain("--limit must be above 0")
    elif x.startswith("-"): complain(f"there is no option {x}")
    else: given.append(x)
if peer and not (os.path.isfile(peer) and os.access(peer, os.X_OK)): complain(f"{peer}: there is no such program")
work = tempfile.mkdtemp(prefix="ashlar_")
files = expand(given) if given else masonry(exe, f"{work}/masonry")
if len({short(x) for x in files}) < len(files): complain("two of the files have the same name")


def run_peer(path, solver, core, seconds, repeat, tol=TOL, most=100000):
    """CPU seconds (inf: failed), iterations, error"""
    env = {k: v for k, v in environment().items() if k != "OPENBLAS_CORETYPE" or core != "own"}
    if core and core != "own": env["OPENBLAS_CORETYPE"] = core
    try: p = subprocess.run([peer, "solve", path, solver, str(tol), str(most), f"{seconds:.6f}", str(repeat)], env=env, stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace", timeout=60 + 10 * seconds)
    except subprocess.TimeoutExpired: return np.inf, -1, np.inf
    x = p.stdout.strip().splitlines()[-1].split(",") if p.stdout.strip() else []
    if len(x) != 10: return np.inf, -1, np.inf
    e = float(x[4])
    return float(x[8]) if x[0] != "timeout" else np.inf, int(x[2]), e if np.isfinite(e) else np.inf


class Row: pass


rows = []
print(f"{'file':40} {'contacts':>8} {'ours ms':>10} {'error':>8} {'its':>5}" + (f" {'peer ms':>10} {'its':>6} {'its best':22} {'ratio':>8}" if peer else "") + f" {'sweep us':>9}" + (f" {'peer':>9} {'ratio':>6}" if peer else ""), flush=True)
for path in files:
    r = Row()
    copy = f"{work}/{os.path.basename(path)}"
    s = Solve(exe, path, ["-fclib_solution", work])
    if s.contacts < 0: complain(s.said or f"{path}: no result")
    r.name, r.contacts, r.first, r.ours, r.iterations = short(path), s.contacts, s.seconds, s.seconds, s.iterations
    r.error = error(copy)
    os.remove(copy)
    r.solved = s.converged and r.error <= TOL
    r.peer, r.best, r.peer_iterations, r.sweep, r.peer_sweep = np.inf, "", -1, np.inf, np.inf
    again = repetitions(s.seconds)
    found = []
    if peer:
        for solver, core in ((x, y) for x in SOLVERS for y in cores):
            t, its, e = run_peer(path, solver, core, min(limit, max(3 * min([x[0] for x in found], default=np.inf), 0.05)), 2)
            if np.isfinite(t) and e <= TOL: found.append((t, solver, its, core))
        found.sort()
    for _ in range(3):  # in turns
        r.ours = min(r.ours, Solve(exe, path, [], again).seconds)
        for k, (t, solver, its, core) in enumerate(found[:3]):
            u, _, e = run_peer(path, solver, core, limit, repetitions(t))
            found[k] = (min(t, u if e <= TOL else np.inf), solver, its, core)
        # a fixed number of sweeps, fewer where they converge before; both look at the error after every tenth
        x = Solve(exe, path, ["-snes_type", "nlgs", "-snes_max_it", SWEEPS], again)
        if x.iterations > 0: r.sweep = min(r.sweep, x.seconds / x.iterations)
        if peer:
            t, its, _ = run_peer(path, "NSGS_FULL", cores[0], 10 * limit, 20, most=SWEEPS)
            if its > 0: r.peer_sweep = min(r.peer_sweep, t / its)
    if found:
        r.peer, r.best, r.peer_iterations, core = min(found[:3])
        if len(cores) > 1: r.best += f" {core}"
    if r.contacts < 10: r.first = float(np.median([Solve(exe, path, []).seconds for _ in range(5)]))
    r.ratio = r.ours / r.peer if np.isfinite(r.peer) else 0.0 if r.solved else np.nan
    if not r.solved: r.ratio = np.inf
    rows.append(r)
    print(f"{r.name:40} {r.contacts:8} {1e3 * r.ours:10.4f} {r.error:8.1e} {r.iterations:5}" + (f" {1e3 * r.peer:10.4f} {r.peer_iterations:6} {r.best or 'none':22} {r.ratio:8.4f}" if peer else "")
          + f" {1e6 * r.sweep:9.3f}" + (f" {1e6 * r.peer_sweep:9.3f} {r.peer_sweep / r.sweep:6.2f}" if peer else "") + ("" if r.solved else "  FAILED"), flush=True)
shutil.rmtree(work, ignore_errors=True)

demands = []


def demand(what, bound, value, met, show="{:.4g}"): demands.append((what, bound, show.format(value), "met" if met else "NOT MET"))


solved = sum(r.solved for r in rows)
demand(f"files solved to {TOL:g}", f"{len(rows)}", solved, solved == len(rows), "{}")
if peer:
    large = [r for r in rows if r.contacts >= 20 and np.isfinite(r.peer)]
    if large:
        mean = float(np.exp(np.mean([np.log(r.ratio) for r in large])))
        demand(f"time / peer's best, geometric mean of {len(large)} files of 20 contacts and more", "<= 0.1", mean, mean <= 0.1)
    compared = [r for r in rows if np.isfinite(r.peer)]
    if compared:
        worst = max(compared, key=lambda r: r.ratio)
        demand(f"time / peer's best, worst of {len(compared)} files ({worst.name})", "<= 1", worst.ratio, worst.ratio <= 1)
    alone = sum(r.solved and not np.isfinite(r.peer) for r in rows)
    if alone: demands.append((f"files that no solver of the peer solves in {limit:g} s, and ours does", "", str(alone), "stated"))
    gain = [r.peer_sweep / r.sweep for r in rows if r.contacts >= 20 and np.isfinite(r.peer_sweep / r.sweep)]
    if gain:
        demand(f"time of a sweep, peer's by ours, least of {len(gain)} files of 20 contacts and more", ">= 3", min(gain), min(gain) >= 3)
        demands.append(("the same, geometric mean", "", f"{np.exp(np.mean(np.log(gain))):.4g}", "stated"))
tiny = [r for r in rows if r.contacts < 10]
if tiny:
    kept, first = max(r.ours for r in tiny), max(r.first for r in tiny)
    demand(f"a solve on kept objects, files under 10 contacts, longest of {len(tiny)} [ms]", "<= 0.03", 1e3 * kept, kept <= 3e-5)
    demand("the very first solve of a process, the same files, longest median of 5 [ms]", "<= 1", 1e3 * first, first <= 1e-3)
print(f"\n{'what':90} {'demand':>8} {'figure':>9}  verdict")
for what, bound, value, text in demands: print(f"{what:90} {bound:>8} {value:>9}  {text}")
