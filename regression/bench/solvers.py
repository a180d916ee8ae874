"""Compares the solvers of options/methods/ on contact problems. usage: solvers.py PROGRAM ROOT FILE ... [preset ...]

FILE: FCLib files or folders of them; presets: names in options/methods/ (default: all). Prints a table and writes into build/bench_solvers/:
table.csv, profile.png (performance profile: the part of the files that a solver solves within a factor of the fastest one's time), and
log/PRESET-FILE.csv (-log_view). Times are CPU times of one solve, the least of several; the presets take turns on each file. A solve that
takes more than 20 s counts as failed, as does one whose error, recomputed here, is above 1e-8."""
import os, shutil, sys, tempfile
import matplotlib
matplotlib.use("Agg")
import matplotlib.pyplot as plt
from common import np
from contact_files import Solve, complain, error, expand, repetitions, short

exe, root = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])
folder, out = f"{root}/options/methods", f"{os.path.dirname(exe)}/bench_solvers"
known = sorted(x[:-4] for x in os.listdir(folder) if x.endswith(".yml"))
presets = [x for x in sys.argv[3:] if x in known and not os.path.exists(x)] or known
arguments = [x for x in sys.argv[3:] if x not in known or os.path.exists(x)]
if any(x.startswith("-") for x in arguments): complain(f"there is no option {next(x for x in arguments if x.startswith('-'))}")
for x in arguments:
    if not os.path.exists(x): complain(f"{x} is neither a file, a folder nor one of the presets {', '.join(known)}")
if not arguments: complain("give files of contact problems (scripts/bench masonry FOLDER makes some), then perhaps presets")
files = expand(arguments)
if len({short(x) for x in files}) < len(files): complain("two of the files have the same name")
shutil.rmtree(out, ignore_errors=True)
os.makedirs(f"{out}/log")

LIMIT, TOL = 20, 1e-8
time = np.full((len(files), len(presets)), np.inf)
rows = []
work = tempfile.mkdtemp(prefix="ashlar_")
for i, path in enumerate(files):
    first = []
    for j, preset in enumerate(presets):
        options = ["-options_file", f"{folder}/{preset}.yml"]
        s = Solve(exe, path, [*options, "-fclib_solution", work, "-log_view", f":{out}/log/{preset}-{short(path)}.csv:ascii_csv"], limit=LIMIT)
        copy = f"{work}/{os.path.basename(path)}"
        s.error = error(copy) if s.contacts >= 0 and os.path.exists(copy) else np.inf
        s.converged = s.converged and s.error <= TOL
        if os.path.exists(copy): os.remove(copy)
        first.append(s)
    if not any(s.contacts >= 0 for s in first): complain(f"no preset could read {path}: {first[0].said}")
    for _ in range(2):  # in turns
        for j, preset in enumerate(presets):
            if first[j].converged:
                s = Solve(exe, path, ["-options_file", f"{folder}/{preset}.yml"], repetitions(first[j].seconds), limit=10 * LIMIT)
                first[j].seconds = min(first[j].seconds, s.seconds)
    for j, (preset, s) in enumerate(zip(presets, first)):
        if s.converged: time[i, j] = s.seconds
        rows.append((short(path), s.contacts, preset, s.seconds, s.iterations, s.error, s.reason or s.said.replace(",", ";")))
        print(f"{short(path):40} {preset:18} {1e3 * s.seconds:10.4f} ms {s.iterations:7} iterations, error {s.error:8.1e} {'' if s.converged else 'FAILED ' + (s.reason or s.said)}", flush=True)
shutil.rmtree(work, ignore_errors=True)

with open(f"{out}/table.csv", "w") as f:
    f.write("file,contacts,preset,seconds,iterations,error,reason\n")
    for row in rows: f.write(",".join(map(str, row)) + "\n")
best = np.min(time, axis=1)
ratio = time[np.isfinite(best)] / best[np.isfinite(best), None]
print(f"\n{'preset':18} {'solved':>9} {'fastest':>8} {'time by the fastest (geometric mean of solved)':>47} {'median ms':>10} {'iterations (median)':>20}")
for j, preset in enumerate(presets):
    good = np.isfinite(time[:, j])
    mean = np.exp(np.mean(np.log(ratio[np.isfinite(ratio[:, j]), j]))) if good.any() else np.nan
    its = [x[4] for x, ok in zip(rows[j::len(presets)], good) if ok]
    print(f"{preset:18} {sum(good):4}/{len(files):<4} {sum(ratio[:, j] <= 1):8} {mean:47.2f} {1e3 * np.median(time[good, j]) if good.any() else np.nan:10.4f} {np.median(its) if its else np.nan:20.0f}")

figure, axes = plt.subplots(figsize=(8, 5))
top = 1.2 * np.max(ratio[np.isfinite(ratio)], initial=2)
for j, preset in enumerate(presets):
    r = np.sort(ratio[np.isfinite(ratio[:, j]), j])
    axes.step(np.concatenate([[1], r, [top]]), np.concatenate([[0], np.arange(1, len(r) + 1), [len(r)]]) / len(files), where="post", label=preset, linestyle=("-", "--", ":", "-.")[j // 7 % 4])
axes.set(xscale="log", xlim=(1, top), ylim=(0, 1.02), xlabel="time / time of the fastest", ylabel="part of the files solved", title=f"{len(files)} contact problems, error at most {TOL:g}")
axes.legend(fontsize="small", loc="center left", bbox_to_anchor=(1, 0.5))
axes.grid(alpha=0.3)
figure.savefig(f"{out}/profile.png", dpi=120, bbox_inches="tight")
print(f"\nwritten: {out}/table.csv, profile.png, log/")
