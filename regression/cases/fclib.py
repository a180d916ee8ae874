"""Contact problems from files: the line of each, copies with solutions, layouts, bilateral rows, bad files, solvers and presets, ranks."""
import os, re, subprocess
import h5py
from common import *
from common import environment

exe, root = arguments()
c = Checks()
directory = temporary()
LINE = re.compile(r"(\S+) contacts: (\d+) iterations: (\d+) merit: (\d\.\d{3}e[-+]\d+) seconds: (\d\.\d{3}e[-+]\d+) reason: ((?:CONVERGED|DIVERGED)_\w+) solver: (\w+)")


# --- problems as dense arrays, their files and FCLib's error
class Problem:
    def __init__(self, W, q, mu, V=None, R=None, s=None): self.W, self.q, self.mu, self.V, self.R, self.s = W, q, mu, V, R, s


def random_problem(n, m=0, seed=1, unsymmetric=0.0, rank=None, mu=(0.2, 0.9)):
    """Contacts, some pressed and some parting; W regular unless rank says otherwise; m bilateral rows"""
    g = np.random.default_rng(seed)
    H = g.normal(size=(3 * n + m, rank or 4 * n + m + 3))
    A = H @ H.T / H.shape[1]
    W = A[:3 * n, :3 * n] * (1 + unsymmetric * g.uniform(-1, 1, (3 * n, 3 * n)))
    q = H[:3 * n] @ g.normal(size=H.shape[1]) / 2  # in the range of W, also where it is singular
    p = Problem(W, q, g.uniform(*mu, n))
    if m: p.V, p.R, p.s = A[:3 * n, 3 * n:], A[3 * n:, 3 * n:], g.normal(size=m)
    return p


def put(group, name, value, kind=np.int32): group.create_dataset(name, data=np.atleast_1d(np.asarray(value, kind)))


def matrix(file, name, A, layout="rows", seed=3):
    """One of FCLib's storages. shuffled: columns in no order; padded: triplets, places to spare; double: each entry as two halves"""
    g, (m, n), random = file.create_group(name), A.shape, np.random.default_rng(seed)
    i, j = np.nonzero(A) if layout != "zeros" else (np.repeat(np.arange(m), n), np.tile(np.arange(n), m))
    x, nz = A[i, j], -2
    if layout == "columns":
        order, nz = np.lexsort((i, j)), -1
        i, j, x = i[order], j[order], x[order]
    if layout == "shuffled":
        order = np.lexsort((random.random(len(i)), i))
        i, j, x = i[order], j[order], x[order]
    if layout in ("triplets", "padded", "double"):
        order = random.permutation(len(i))
        i, j, x = i[order], j[order], x[order]
        if layout == "double": i, j, x = np.tile(i, 2), np.tile(j, 2), np.tile(x / 2, 2)
        nz, spare = len(i), 7 if layout == "padded" else 0
        p, i, x = np.append(j, [0] * spare), np.append(i, [0] * spare), np.append(x, [np.pi] * spare)
    else:
        major = j if layout == "columns" else i
        p, i = np.searchsorted(major, np.arange((n if layout == "columns" else m) + 1)), i if layout == "columns" else j
    for key, value in (("nzmax", len(x)), ("m", m), ("n", n), ("nz", nz)): put(g, key, value)
    kind = np.int64 if layout == "columns" else np.int32
    put(g, "p", p, kind)
    put(g, "i", i, kind)
    put(g, "x", x, float)


def write(name, p, layout="rows", change=None):
    path = f"{directory}/{name}"
    with h5py.File(path, "w") as f:
        g = f.create_group("fclib_local")
        put(g, "spacedim", 3)
        matrix(g, "W", p.W, layout)
        v = g.create_group("vectors")
        put(v, "q", p.q, float)
        put(v, "mu", p.mu, float)
        if p.V is not None:
            matrix(g, "V", p.V, layout)
            matrix(g, "R", p.R, layout)
            put(v, "s", p.s, float)
        g.create_group("info")["title"] = "made by a test"
        if change: change(f)
    return path


def dense(g):
    m, n, nz = (int(g[k][()].ravel()[0]) for k in ("m", "n", "nz"))
    p, i, x, A = g["p"][()], g["i"][()], g["x"][()], np.zeros((m, n))
    if nz >= 0: np.add.at(A, (i[:nz], p[:nz]), x[:nz])
    else:
        major = np.repeat(np.arange(len(p) - 1), np.diff(p))
        np.add.at(A, (major, i[:p[-1]]) if nz == -2 else (i[:p[-1]], major), x[:p[-1]])
    return A


def read(path):
    """The problem of a file and r, u, l of its solution"""
    with h5py.File(path) as f:
        g, s = f["fclib_local"], f.get("solution", {})
        p = Problem(dense(g["W"]), g["vectors/q"][()], g["vectors/mu"][()])
        if "V" in g: p.V, p.R, p.s = dense(g["V"]), dense(g["R"]), g["vectors/s"][()]
        return p, *(s[k][()] if k in s else None for k in ("r", "u", "l"))


def error(p, r, l=None):
    """FCLib's; bilateral rows count as rows of their own"""
    u = p.W @ r + p.q + (p.V @ l if p.V is not None else 0)
    a, v, mu = r.reshape(-1, 3), u.reshape(-1, 3).copy(), p.mu
    v[:, 0] += mu * np.hypot(v[:, 1], v[:, 2])
    x = a - v
    t = np.hypot(x[:, 1], x[:, 2])
    inside, polar = t <= mu * x[:, 0], mu * t <= -x[:, 0]
    n = np.where(inside, x[:, 0], np.where(polar, 0, (x[:, 0] + mu * t) / (1 + mu**2)))
    f = np.where(inside, 1, np.where(polar, 0, mu * n / np.where(t > 0, t, 1)))
    e = a - np.column_stack([n, f * x[:, 1], f * x[:, 2]])
    total, parts = np.sum(e**2), [p.q, r, u]
    if p.V is not None:
        w = p.V.T @ r + p.R @ l + p.s
        total += np.sum(w**2)
        parts = [np.append(p.q, p.s), np.append(r, l), np.append(u, w)]
    scale = max(np.linalg.norm(x) for x in parts)
    return np.sqrt(total) / (scale if scale > np.finfo(float).eps else 1)


class Line:
    def __init__(self, text):
        m = LINE.fullmatch(text)
        self.good = bool(m)
        if m: self.file, self.contacts, self.iterations, self.merit, self.seconds, self.reason, self.solver = (f(x) for f, x in zip((str, int, int, float, float, str, str), m.groups()))
        else: self.file, self.contacts, self.iterations, self.merit, self.seconds, self.reason, self.solver = text, -1, -1, np.nan, np.nan, "", ""
        self.converged = self.reason.startswith("CONVERGED_")


def solve(files, *options, ranks=1, code=None):
    """Lines of a run, and the run; code: the exit code that is wanted, by default that of the lines"""
    r = run(exe, ["-fclib", ",".join(files), *options], ranks=ranks, check=False, timeout=100, directory=directory)
    lines = [Line(x) for x in r.out.splitlines() if " contacts: " in x]
    wanted = code if code is not None else 0 if len(lines) == len(files) and all(x.converged for x in lines) else 1
    if r.code != wanted or any(not x.good for x in lines): c.true(f"exit code {wanted} and whole lines {' '.join(options)}", False, f"{r.code}: {r.out[-300:]} {r.err[-300:]}")
    return lines, r


NAMES = ["wall-3x3-load", "column-2-tilt25", "tower-2x5-tilt35", "columns-1x8-rest", "wall-2x4-slippery", "wall-4x4-head-load"]
subprocess.run([os.path.join(os.path.dirname(exe), "bench_masonry"), directory, *NAMES], check=True, env=environment())
masonry = [f"{x}.hdf5" for x in NAMES]
regular = random_problem(12, unsymmetric=1e-4)
write("regular.hdf5", regular)
good = [*masonry[:3], "regular.hdf5"]

# --- the line, the copies
lines, r = solve(good, "-fclib_solution", "out")
c.equal("one line for each file, in order", [x.file for x in lines], good)
c.equal("contacts", [x.contacts for x in lines], [60, 8, 72, 12])
c.equal("solver and reason", {(x.solver, x.reason) for x in lines}, {("auto", "CONVERGED_FNORM_RELATIVE")})
c.equal("nothing else is said", (len(r.out.splitlines()), r.err), (4, ""))
c.true("iterations and seconds", all(0 < x.iterations < 1000 and 0 < x.seconds < 10 for x in lines))
for x in lines:
    p, R, U, _ = read(f"{directory}/out/{x.file}")
    e = error(p, R)
    c.below(f"{x.file}: FCLib's error of the copy", e, 1e-8)
    c.close(f"{x.file}: it is the merit of the line", x.merit, e, rtol=1e-3, atol=1e-14)
    c.close(f"{x.file}: u = W r + q", U, p.W @ R + p.q, atol=1e-12 * np.linalg.norm(p.q))
    with h5py.File(f"{directory}/{x.file}") as a, h5py.File(f"{directory}/out/{x.file}") as b:
        names = []
        a.visititems(lambda k, v: names.append(k) if isinstance(v, h5py.Dataset) else None)
        c.true(f"{x.file}: all else is as it was", all(np.array_equal(a[k][()], b[k][()]) for k in names) and "solution" not in a and set(b["solution"]) == {"r", "u"})
again, _ = solve(good, "-fclib_repeat", "5", "-fclib_solution", "again")
c.equal("-fclib_repeat: the same, each from nothing", [(x.iterations, x.merit) for x in again], [(x.iterations, x.merit) for x in lines])
c.true("-fclib_repeat: to the last bit", all(np.array_equal(read(f"{directory}/out/{x}")[1], read(f"{directory}/again/{x}")[1]) for x in good))
solve(good[:1], "-fclib_solution", "out")
c.true("copies are written over copies, no others are left behind", sorted(os.listdir(f"{directory}/out")) == sorted(good))
with open(f"{directory}/list.yml", "w") as f: f.write("fclib: [wall-3x3-load.hdf5, regular.hdf5]\nsnes: {rtol: 1e-6}\n")
r = run(exe, ["-options_file", "list.yml"], directory=directory)
c.equal("from an options file", r.out.count("CONVERGED_"), 2)

# --- layouts
x0 = read(f"{directory}/out/regular.hdf5")[1]
for layout in ("columns", "shuffled", "triplets", "padded", "double", "zeros"):
    write(f"{layout}.hdf5", regular, layout)
    lines, _ = solve([f"{layout}.hdf5"], "-fclib_solution", "out")
    c.close(f"layout: {layout}", read(f"{directory}/out/{layout}.hdf5")[1], x0, rtol=1e-9)

# --- bilateral rows: against the problem with these eliminated
for m in (1, 3, 5):
    p = random_problem(8, m, seed=10 + m)
    write("joints.hdf5", p, "columns" if m == 3 else "triplets" if m == 5 else "rows")
    K = np.linalg.solve(p.R, p.V.T)
    less = Problem(p.W - p.V @ K, p.q - p.V @ np.linalg.solve(p.R, p.s), p.mu)
    for solver in ("auto", "nlgs", "proxnewton", "conic", "newtonls", "anderson"):
        more = ["-pc_type", "lu"] if solver == "newtonls" else ["-npc_snes_type", "nlgs"] if solver == "anderson" else []
        lines, _ = solve(["joints.hdf5"], "-snes_type", solver, *more, "-snes_rtol", "1e-10", "-fclib_solution", "out")
        _, R, U, L = read(f"{directory}/out/joints.hdf5")
        c.true(f"{m} bilateral rows, {solver}", lines[0].converged and lines[0].contacts == 8 and len(L) == m and len(R) == len(U) == 24)
        c.close(f"{m} bilateral rows, {solver}: the merit", lines[0].merit, error(p, R, L), rtol=1e-3, atol=1e-14)
        c.below(f"{m} bilateral rows, {solver}: error without them", error(less, R), 1e-8)

# --- bad files: one line each, the others are solved
def change(f): return lambda h: f(h["fclib_local"])


def replace(name, value, kind=float):
    def f(g):
        del g[name]
        if value is not None: g[name] = np.atleast_1d(np.asarray(value, kind))
    return change(f)


def entry(name, k, value):
    def f(g): g[name][k] = value
    return change(f)


small = random_problem(2, seed=4)
flat = Problem(small.W[:4, :4], small.q[:4], small.mu)
hole = Problem(small.W.copy(), small.q, small.mu)
hole.W[3:, 3:] = 0
loose = random_problem(2, 2, seed=5)
loose.R = np.array([[0., 0.1], [0.1, 0.]])
half = random_problem(2, 2, seed=5)
bad = {
    "flat.hdf5": (flat, replace("spacedim", 2, np.int32), "2 dimensions; 3 are needed"),
    "one.hdf5": (small, replace("spacedim", 1, np.int32), "spacedim is 1"),
    "nowhere.hdf5": (small, lambda h: h.move("fclib_local", "other"), "no group /fclib_local"),
    "global.hdf5": (small, lambda h: h.move("fclib_local", "fclib_global"), "global problem"),
    "no_w.hdf5": (small, replace("W", None), "no group /fclib_local/W"),
    "no_x.hdf5": (small, replace("W/x", None), "no /fclib_local/W/x"),
    "no_vectors.hdf5": (small, replace("vectors", None), "no group /fclib_local/vectors"),
    "no_mu.hdf5": (small, replace("vectors/mu", None), "no /fclib_local/vectors/mu"),
    "nan_q.hdf5": (small, entry("vectors/q", 4, np.nan), "entry 4 of /fclib_local/vectors/q (from 0) is not a finite number"),
    "inf_w.hdf5": (small, entry("W/x", 1, np.inf), "entry 1 of /fclib_local/W/x"),
    "huge_q.hdf5": (small, entry("vectors/q", 4, 1e200), "q is too large at contact 1"),
    "negative.hdf5": (small, entry("vectors/mu", 1, -0.1), "contact 1 (from 0) has negative friction -0.1"),
    "short_q.hdf5": (small, replace("vectors/q", small.q[:5]), "vectors/q has 5 entries instead of 6"),
    "long_mu.hdf5": (small, replace("vectors/mu", [1, 1, 1]), "vectors/mu has 3 entries instead of 2"),
    "narrow.hdf5": (small, replace("W/n", 7, np.int32), "not square"),
    "five.hdf5": (Problem(small.W[:5, :5], small.q[:5], small.mu), None, "not a multiple"),
    "pointer.hdf5": (small, entry("W/p", 2, 1), "W/p decreases"),
    "outside.hdf5": (small, entry("W/i", 2, 6), "there are 6 columns"),
    "text.hdf5": (small, lambda h: (h["fclib_local/vectors"].pop("q"), h["fclib_local/vectors"].create_dataset("q", data="six numbers")), "not of numbers"),
    "hole.hdf5": (hole, None, "W has no positive diagonal at contact 1"),
    "no_r.hdf5": (half, replace("R", None), "bilateral rows need both"),
    "no_s.hdf5": (half, replace("vectors/s", None), "no /fclib_local/vectors/s"),
    "loose.hdf5": (loose, None, "R has no positive diagonal at bilateral row 0"),
}
for name, (p, f, _) in bad.items(): write(name, p, change=f)
with open(f"{directory}/{good[0]}", "rb") as f: whole = f.read()
for name, data in {"words.hdf5": b"no problem\n", "empty.hdf5": b"", "cut.hdf5": whole[:len(whole) // 2]}.items():
    with open(f"{directory}/{name}", "wb") as f: f.write(data)
os.mkdir(f"{directory}/folder.hdf5")
said = {k: v[2] for k, v in bad.items()} | {"words.hdf5": "not an HDF5 file", "empty.hdf5": "not an HDF5 file", "cut.hdf5": "cut short or damaged", "none.hdf5": "no such file", "folder.hdf5": "is a folder"}
for ranks in (1, 3):
    names = list(said) if ranks == 1 else ["nan_q.hdf5", "hole.hdf5", "none.hdf5", "flat.hdf5", "loose.hdf5"]
    lines, r = solve([good[0], *names, good[3]], "-fclib_solution", f"bad{ranks}", ranks=ranks, code=1)
    c.equal(f"{ranks} ranks: the good files are solved", [(x.file, x.converged) for x in lines], [(good[0], True), (good[3], True)])
    c.equal(f"{ranks} ranks: only they have copies", sorted(os.listdir(f"{directory}/bad{ranks}")), sorted([good[0], good[3]]))
    errors = r.err.splitlines()
    c.equal(f"{ranks} ranks: one line for each bad file", len(errors), len(names))
    for name, text in zip(names, errors): c.true(f"{ranks} ranks: {name}", text.startswith(f"ashlar: {name}: ") and said[name] in text, text)

# --- options: what is wrong with them is said in one line before anything is done
def refused(name, *options, say=(), files=good, ranks=1):
    r = run(exe, ["-fclib", ",".join(files), *options, "-fclib_solution", "never"], ranks=ranks, check=False, directory=directory, timeout=100)
    c.true(name, r.code == 1 and r.out == "" and len(r.err.splitlines()) == 1 and r.err.startswith("ashlar: ") and "internal" not in r.err
           and all(x in r.err for x in say) and not os.path.exists(f"{directory}/never"), r.err.strip())


ABLE = "take auto, nlgs, proxnewton, conic"
refused("unknown type", "-snes_type", "nlsg", say=["'nlsg'", ABLE])
for t in ("fas", "ms", "ngs", "composite", "ksponly", "nasm", "shell"): refused(f"type {t}", "-snes_type", t, say=[f"'{t}' cannot solve contact problems", ABLE])
refused("unknown preconditioner", "-snes_type", "qn", "-npc_snes_type", "foo", say=["npc_snes_type", "'foo'", "nlgs"])
refused("useless preconditioner", "-snes_type", "qn", "-npc_snes_type", "ngs", say=["npc_snes_type", "'ngs'", "nlgs"])
refused("preconditioner of auto", "-npc_snes_type", "nlgs", say=["npc_snes_type", "'auto'"])
refused("wrong side", "-snes_type", "ncg", "-npc_snes_type", "nlgs", "-snes_npc_side", "right", say=["snes_npc_side", "'ncg'", "left"])
refused("newtonls without W", "-snes_type", "newtonls", "-dual_mat_type", "free", say=["newtonls", "-dual_mat_type explicit"])
refused("matrix type", "-dual_mat_type", "dense", say=["dual_mat_type", "'dense'", "auto, bodies, explicit or free"])
refused("ordering", "-dual_ordering", "rcm", say=["dual_ordering", "natural or coloring"])
refused("relaxation", "-snes_type", "nlgs", "-snes_nlgs_relaxation", "2.5", say=["snes_nlgs_relaxation"])
refused("tolerance", "-snes_rtol", "0", say=["snes_rtol", "above 0"])
refused("no number", "-snes_rtol", "small", say=["snes_rtol", "'small'"])
refused("repeat", "-fclib_repeat", "0", say=["fclib_repeat", "below 1"])
refused("empty name", files=[good[0], ""], say=["file 2 is empty"])
refused("one name twice", files=[good[0], f"out/{good[0]}"], say=["same name"])
refused("unused", "-snes_nlgs_relaxation", "0.5", say=["'snes_nlgs_relaxation' has no effect"])
refused("unused, of a model", "-gravity", "0,0,1", say=["'gravity' has no effect"])
refused("unused, misspelt", "-snes_rtoll", "1", say=["'snes_rtoll'", "'snes_rtol'"])
refused("unused, on 3 ranks", "-fclib_repeats", "1", say=["'fclib_repeats'", "'fclib_repeat'"], ranks=3)
r = run(exe, ["-fclib", good[0], "-fclib_solution", good[1]], check=False, directory=directory)
c.true("copies into a file", r.code == 1 and r.out == "" and "is not a folder" in r.err, r.err)
r = run(exe, ["-fclib", f"{good[0]},{good[3]}", "-snes_type", "vinewtonssls"], check=False, directory=directory)
c.true("a type for contact without friction, on others", r.code == 1 and r.out == "" and r.err.count("without friction only") == 2, r.err)
smooth = random_problem(6, mu=(0, 0), seed=6)
write("smooth.hdf5", smooth)
for t in ("vinewtonssls", "vinewtonrsls", "auto", "nlgs", "proxnewton"):
    lines, r = solve([good[0], "smooth.hdf5"] if t.startswith("vi") else ["smooth.hdf5"], "-snes_type", t, "-fclib_solution", "out", code=1 if t.startswith("vi") else 0)
    c.below(f"without friction: {t}", error(smooth, read(f"{directory}/out/smooth.hdf5")[1]) if lines and lines[-1].converged else np.nan, 1e-8)

# --- monitors and views
for t, more in (("auto", []), ("nlgs", []), ("proxnewton", []), ("conic", []), ("newtonls", ["-pc_type", "lu"]), ("anderson", ["-npc_snes_type", "nlgs"]), ("qn", ["-npc_snes_type", "nlgs"]), ("ncg", [])):
    rtol = 1e-8
    lines, r = solve(["regular.hdf5"], "-snes_type", t, *more, "-snes_monitor", "-snes_rtol", rtol, "-fclib_solution", "out")
    seen = [(int(a), float(b)) for a, b in re.findall(r"^ *(\d+) SNES merit (\S+)$", r.out, re.M)]
    p, R, _, _ = read(f"{directory}/out/regular.hdf5")
    c.true(f"-snes_monitor, {t}: from the start on, iterations ascend", len(seen) > 1 and all(a < b for (a, _), (b, _) in zip(seen, seen[1:])) and seen[0][0] == 0, seen[:3])
    c.close(f"-snes_monitor, {t}: FCLib's error of the start", seen[0][1], error(p, 0 * R), rtol=1e-10)
    c.between(f"-snes_monitor, {t}: and of the end, if no point on the way was better", seen[-1][1], (1 - 1e-4) * error(p, R) - 1e-14, rtol)
_, r = solve([masonry[0]], "-dual_view")
c.true("-dual_view", re.search(r"^Dual: 60 blocks \(60 cone\) in 1 island, the largest has 60; explicit, on 1 rank$", r.out, re.M) and re.search(r"friction from 0.6 to 0.6; \d+ open, \d+ stick, \d+ slip", r.out)
       and "rank of W about 60 of 180" in r.out and re.search(r"residuals: penetration \S+, .*; merit \d", r.out), r.out)
_, r = solve([masonry[0]], "-log_view", ":log.csv:ascii_csv")
with open(f"{directory}/log.csv") as f: c.true("-log_view as CSV", "SNESSolve" in f.read())

# --- tolerances, ranks and islands
for rtol in (1e-4, 1e-10):
    lines, _ = solve(good, "-snes_rtol", rtol, "-fclib_solution", "out")
    for x in lines:
        p, R, _, _ = read(f"{directory}/out/{x.file}")
        c.below(f"-snes_rtol {rtol:g}, {x.file}", error(p, R), rtol)
rough, fine = [solve(good, "-snes_type", "proxnewton", "-snes_rtol", rtol)[0] for rtol in ("1e-4", "1e-10")]  # auto takes sweeps or Newton solves, which do not compare
c.true("a larger tolerance costs less", sum(x.iterations for x in rough) < sum(x.iterations for x in fine))
a, b = random_problem(5, seed=21), random_problem(9, 2, seed=22)
zero = np.zeros
islands = Problem(np.block([[a.W, zero((15, 27))], [zero((27, 15)), b.W]]), np.append(a.q, b.q), np.append(a.mu, b.mu), np.vstack([zero((15, 2)), b.V]), b.R, b.s)
write("islands.hdf5", islands)
for ranks in (1, 2, 3):
    for more in ([], ["-snes_type", "nlgs"], ["-dual_mat_type", "free"], ["-dual_island_limit", "4", "-dual_ordering", "coloring"], ["-dual_island_limit", "4", "-ksp_rtol", "1e-9"]):
        if (ranks == 1 and "-ksp_rtol" in more) or (ranks == 2 and "free" in more): continue
        lines, r = solve(["islands.hdf5", good[0], good[1]], *more, "-fclib_solution", "out", "-dual_view", ranks=ranks)
        c.equal(f"{ranks} ranks {' '.join(more)}: solved", [(x.contacts, x.converged) for x in lines], [(14, True), (60, True), (8, True)])
        c.equal(f"{ranks} ranks {' '.join(more)}: two islands", "in 2 islands, the largest has 10" in r.out, True)
        for x in lines:
            p, R, _, L = read(f"{directory}/out/{x.file}")
            c.below(f"{ranks} ranks {' '.join(more)}, {x.file}", error(p, R, L), 1e-8)

# --- a solve that fails: says so, gives the best iterate, never NaN
for t, more in (("nlgs", []), ("auto", []), ("proxnewton", []), ("conic", []), ("anderson", ["-npc_snes_type", "nlgs"]), ("ncg", ["-npc_snes_type", "nlgs"]), ("newtonls", ["-pc_type", "lu"])):
    lines, r = solve([masonry[5], good[0]], "-snes_type", t, "-snes_max_it", "3", *more, "-fclib_solution", "out", code=1)
    for x in lines:
        p, R, U, _ = read(f"{directory}/out/{x.file}")
        c.true(f"{t} with 3 iterations, {x.file}", x.reason.startswith("DIVERGED_") and np.all(np.isfinite(R)) and np.all(np.isfinite(U)) and "nan" not in r.out.lower().replace("_nan", ""), x.reason)
        c.close(f"{t} with 3 iterations, {x.file}: the merit", x.merit, error(p, R), rtol=1e-3)
        c.below(f"{t} with 3 iterations, {x.file}: not worse than the start", x.merit, 1.001 * error(p, 0 * R))
lines, r = solve([masonry[5]], "-snes_type", "nlgs", "-snes_nlgs_relaxation", "1.9", "-snes_nlgs_every", "1", "-snes_max_it", "200", "-snes_monitor", code=1)
c.close("the best iterate of all", lines[0].merit, min(float(x) for x in re.findall(r"SNES merit (\S+)", r.out)), rtol=1e-3)

# --- presets
presets = sorted(x[:-4] for x in os.listdir(f"{root}/options/methods"))
c.equal("presets", presets, sorted("auto nlgs nlgs-relaxed nlgs-symmetric proxnewton conic newton anderson-nlgs ngmres-nlgs ncg-nlgs nrichardson-nlgs qn-nlgs free".split()))
SINGULAR = random_problem(10, rank=20, seed=7)
write("singular.hdf5", SINGULAR)
ALL = ["regular.hdf5", "singular.hdf5", *masonry[:2], masonry[4]]
able = {"auto": ALL, "proxnewton": ALL, "free": ALL, "conic": ALL, "newton": ALL[:1], "ncg-nlgs": ALL[:1]}
for preset in presets:
    path = f"{root}/options/methods/{preset}.yml"
    with open(path) as f: text = f.read().splitlines()
    c.true(f"{preset}.yml: one line of comment, first", text[0].startswith("# ") and not any("#" in x for x in text[1:]))
    files = able.get(preset, ["regular.hdf5", masonry[0]])
    rtol = 1e-8
    lines, _ = solve(files, "-options_file", path, "-snes_rtol", rtol, "-fclib_solution", "out")
    for x in lines:
        p, R, _, _ = read(f"{directory}/out/{x.file}")
        c.below(f"{preset}, {x.file}: {x.iterations} iterations", error(p, R) if x.converged else np.nan, rtol)
    if preset in ("auto", "nlgs", "anderson-nlgs", "free"):
        lines, _ = solve(files[:1], "-options_file", path, ranks=2)
        c.true(f"{preset} on 2 ranks", lines[0].converged)
lines, _ = solve(masonry[:1], "-options_file", f"{root}/options/methods/newton.yml", code=1)
c.true("newton where W is singular: says so", lines[0].reason.startswith("DIVERGED_"), lines[0].reason)
_, r = solve(["smooth.hdf5"], "-options_file", f"{root}/options/methods/conic.yml", code=1)
c.true("conic without friction: says so", r.out == "" and len(r.err.splitlines()) == 1 and "conic needs W as blocks, friction" in r.err, r.err)
c.finish()
