"""Shared by fclib.py and solvers.py: runs of the program on contact problems, and FCLib's error recomputed from a copy with its solution."""
import os, re, subprocess, sys
import h5py
from common import environment, np

LINE = re.compile(r"(\S.*) contacts: (\d+) iterations: (\d+) merit: (\S+) seconds: (\S+) reason: (\w+) solver: (\w+)")


def complain(text):
    print(f"{os.path.basename(sys.argv[0])}: {text}", file=sys.stderr)
    sys.exit(1)


def short(path): return os.path.splitext(os.path.basename(path))[0]


def product(g, r):
    """W r of a group with a matrix in any of FCLib's layouts"""
    m, nz = (int(np.ravel(g[k][()])[0]) for k in ("m", "nz"))
    p, i, x = g["p"][()], g["i"][()], g["x"][()]
    if nz >= 0: row, col, x = i[:nz], p[:nz], x[:nz]
    else:
        major, i, x = np.repeat(np.arange(len(p) - 1), np.diff(p)), i[:p[-1]], x[:p[-1]]
        row, col = (major, i) if nz == -2 else (i, major)
    return np.bincount(row, x * r[col], m)


def error(path):
    """FCLib's error of the solution in a file, u computed from r; with bilateral rows: that of the contacts"""
    with h5py.File(path) as f:
        g, r = f["fclib_local"], f["solution/r"][()]
        q, mu = g["vectors/q"][()], g["vectors/mu"][()]
        u = product(g["W"], r) + q
        if "V" in g: u += product(g["V"], f["solution/l"][()])
    a, v = r.reshape(-1, 3), u.reshape(-1, 3).copy()
    v[:, 0] += mu * np.hypot(v[:, 1], v[:, 2])
    x = a - v
    t = np.hypot(x[:, 1], x[:, 2])
    inside, polar = t <= mu * x[:, 0], mu * t <= -x[:, 0]
    n = np.where(inside, x[:, 0], np.where(polar, 0, (x[:, 0] + mu * t) / (1 + mu**2)))
    k = np.where(inside, 1, np.where(polar, 0, mu * n / np.where(t > 0, t, 1)))
    e = np.linalg.norm(a - np.column_stack([n, k * x[:, 1], k * x[:, 2]]))
    scale = max(np.linalg.norm(y) for y in (q, r, u))
    return e / scale if scale > np.finfo(float).eps else e


class Solve:
    """One run on one file; seconds: the least of its repetitions. Without a line (time limit, error): not converged, `said` tells why"""

    def __init__(self, exe, path, options, repeat=1, limit=60):
        self.contacts = self.iterations = -1
        self.merit = self.seconds = np.inf
        self.converged, self.reason, self.said = False, "", ""
        try:
            p = subprocess.run([exe, "-fclib", path, "-fclib_repeat", str(repeat), *map(str, options)], env=environment(), stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=limit)
        except subprocess.TimeoutExpired:
            self.said = f"no end after {limit} s"
            return
        m = LINE.search(p.stdout)
        self.said = p.stderr.strip().splitlines()[-1] if p.stderr.strip() else ""
        if not m: return
        self.contacts, self.iterations, self.merit, self.seconds, self.reason = int(m[2]), int(m[3]), float(m[4]), float(m[5]), m[6]
        self.converged = self.reason.startswith("CONVERGED_") and p.returncode == 0


def repetitions(seconds, budget=0.3, most=1000): return int(min(max(budget / max(seconds, 1e-9), 1), most))


def masonry(exe, folder, names=()):
    """Generated problems: their files"""
    p = subprocess.run([os.path.join(os.path.dirname(exe), "bench_masonry"), folder, *names], env=environment(), capture_output=True, text=True)
    if p.returncode: complain(p.stderr.strip())
    return expand([folder])


def expand(arguments):
    """Files and folders of files -> files"""
    files = []
    for x in arguments:
        if os.path.isdir(x):
            inside = sorted(os.path.join(x, y) for y in os.listdir(x) if y.endswith((".hdf5", ".h5")))
            if not inside: complain(f"there is no .hdf5 file in the folder {x}")
            files += inside
        elif os.path.isfile(x): files.append(x)
        else: complain(f"{x}: there is no such file or folder")
    for x in files:
        if "," in x: complain(f"{x}: a comma in its name parts it in two")
    return files
