"""For regression cases and validations: run the program, read its files, check figures.

    from common import *
    exe, root = arguments()
    c = Checks()
    r = run(exe, ["-options_file", f"{root}/options/rotating_bar.yml", "-output_history", "h.csv"])
    h = read_csv(r.path("h.csv"))
    c.close("energy at the end", h["total"][-1], h["total"][0], rtol=1e-4)
    c.finish()
"""
import atexit, json, math, os, shutil, struct, subprocess, sys, tempfile
import numpy as np

__all__ = ["Checks", "Netcdf", "arguments", "fail", "np", "play", "read_csv", "run", "temporary"]


def fail(text):
    print("FAILED:", text, flush=True)
    sys.exit(1)


def arguments():
    """The program and the project's root, as ctest gives them."""
    if len(sys.argv) < 3: fail(f"usage: {sys.argv[0]} PROGRAM ROOT")
    return os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])


def temporary():
    """A new directory that goes when the case ends."""
    d = tempfile.mkdtemp(prefix="ashlar_")
    atexit.register(shutil.rmtree, d, ignore_errors=True)
    return d


_environment = None


def environment():
    """What scripts/common.sh sets, so that a case runs alike under ctest and by hand."""
    global _environment
    if _environment is None:
        script = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "scripts", "common.sh")
        out = subprocess.run(["bash", "-c", '. "$1" && env -0', "bash", script], capture_output=True, text=True, check=True).stdout
        _environment = dict(x.split("=", 1) for x in out.split("\0") if "=" in x)
    return _environment


class Result:
    def __init__(self, code, out, err, directory):
        self.code, self.out, self.err, self.directory = code, out, err, directory

    def path(self, name): return os.path.join(self.directory, name)

    @property
    def summary(self):
        """The `name: value` lines of standard output; numbers where they are such."""
        s = {}
        for line in self.out.splitlines():
            name, colon, value = line.partition(": ")
            if colon:
                try: s[name.strip()] = float(value)
                except ValueError: s[name.strip()] = value.strip()
        return s


def run(exe, options, ranks=1, check=True, directory=None, timeout=None):
    """Runs the program in `directory` (default: a new temporary one). With `check`, any exit code but 0 ends the case."""
    directory = directory or temporary()
    command = (["mpirun", "-q", "-n", str(ranks)] if ranks > 1 else []) + [exe] + [str(x) for x in options]
    try:
        p = subprocess.run(command, cwd=directory, env=environment(), stdin=subprocess.DEVNULL, capture_output=True, text=True,
                           errors="replace", timeout=timeout)
    except subprocess.TimeoutExpired:
        fail(f"no end after {timeout} s: {' '.join(command)}")
    if check and p.returncode:
        tail = "\n".join((p.stdout + p.stderr).splitlines()[-15:])
        fail(f"exit code {p.returncode}: {' '.join(command)}\n{tail}")
    return Result(p.returncode, p.stdout, p.stderr, directory)


def read_csv(path):
    """{column: numpy array} of a history file."""
    try:
        with open(path) as f: lines = f.read().splitlines()
    except OSError as e: fail(f"{path}: {e.strerror}")
    if len(lines) < 2: fail(f"{path}: no rows")
    names = [x.strip() for x in lines[0].split(",")]
    try: rows = np.array([[float(x) for x in line.split(",")] for line in lines[1:]])
    except ValueError as e: fail(f"{path}: {e}")
    if rows.ndim != 2 or rows.shape[1] != len(names): fail(f"{path}: {len(names)} names but rows of other lengths")
    return {n: rows[:, i] for i, n in enumerate(names)}


def play(exe, bodies, dt, steps, probes=None, contact=None, gravity=None, extra=None, every=1, options=(), timeout=None, ranks=1):
    """One run of a model: its history and its summary. bodies, probes: {name: section}; contact: that section; extra: other sections of the options file."""
    directory = temporary()
    model = {"ts": {"type": "zhangskeel", "dt": dt, "max_steps": steps}, "bodies": list(bodies), **bodies, **(extra or {}), "output": {"history": "h.csv", "digits": 17, "interval": dt * every}}
    if probes: model |= {"probes": list(probes), **probes}
    if contact: model["contact"] = contact
    if gravity is not None: model["gravity"] = [float(x) for x in gravity]
    with open(os.path.join(directory, "case.yml"), "w") as f: json.dump(model, f)
    # no guard: cases look at the balance themselves
    r = run(exe, ["-options_file", "case.yml", "-progress", "false", "-energy_guard", 0, "-summary", "s.json", *options], directory=directory, timeout=timeout, ranks=ranks)
    with open(r.path("s.json")) as f: return read_csv(r.path("h.csv")), json.load(f)


KINDS = {1: "i1", 2: "S1", 3: ">i2", 4: ">i4", 5: ">f4", 6: ">f8"}


class Netcdf:
    """An Exodus file: netCDF's classic format is a header of dimensions and variables, then the data."""

    def __init__(self, path):
        with open(path, "rb") as f: self.b = f.read()
        if self.b[:3] != b"CDF" or self.b[3] not in (1, 2): fail(f"{path}: not netCDF classic: {self.b[:4]}")
        self.at, self.wide = 4, self.b[3] == 2
        self.records = self.i4()
        self.dims = [(self.name(), self.i4()) for _ in range(self.count())]
        self.attributes()
        self.vars = {}
        for _ in range(self.count()):
            n, of = self.name(), [self.i4() for _ in range(self.i4())]
            self.attributes()
            kind, size = self.i4(), self.i4()
            begin = struct.unpack_from(">q", self.b, self.at)[0] if self.wide else self.i4()
            if self.wide: self.at += 8
            self.vars[n] = (of, KINDS[kind], size, begin)
        self.stride = sum(v[2] for v in self.vars.values() if v[0] and self.dims[v[0][0]][1] == 0)

    def i4(self):
        self.at += 4
        return struct.unpack_from(">i", self.b, self.at - 4)[0]

    def count(self):
        self.i4()
        return self.i4()

    def name(self):
        n = self.i4()
        self.at += n + -n % 4
        return self.b[self.at - n - -n % 4:self.at - -n % 4].decode()

    def attributes(self):
        for _ in range(self.count()):
            self.name()
            kind, n = self.i4(), self.i4()
            n *= np.dtype(KINDS[kind]).itemsize
            self.at += n + -n % 4

    def dim(self, name): return dict(self.dims)[name]

    def get(self, name, record=None):
        of, kind, size, begin = self.vars[name]
        shape = [self.dims[d][1] for d in of if self.dims[d][1]]
        return np.frombuffer(self.b, kind, int(np.prod(shape)), begin + (record or 0) * self.stride).reshape(shape)

    def texts(self, name): return [b"".join(x).split(b"\0")[0].decode() for x in self.get(name)]


class Checks:
    """Each check prints its figures; a NaN never passes; a case without checks fails."""

    def __init__(self): self.done = self.failed = 0

    def true(self, name, good, figures=""):
        self.done += 1
        self.failed += not good
        print("ok    " if good else "FAILED", name + (f": {figures}" if figures else ""), flush=True)
        return bool(good)

    def below(self, name, value, limit): return self.true(name, bool(value <= limit), f"{value:.6g}, at most {limit:.6g}")

    def between(self, name, value, low, high): return self.true(name, bool(low <= value <= high), f"{value:.6g}, from {low:.6g} to {high:.6g}")

    def equal(self, name, value, wanted): return self.true(name, value == wanted, f"{value!r}, wanted {wanted!r}")

    def close(self, name, value, wanted, rtol=0.0, atol=0.0):
        """Numbers or arrays: the largest difference against rtol times the largest wanted size, plus atol."""
        a, b = np.atleast_1d(np.asarray(value, float)), np.atleast_1d(np.asarray(wanted, float))
        if a.shape != b.shape: return self.true(name, False, f"shape {a.shape}, wanted {b.shape}")
        difference, size = (np.max(np.abs(a - b)), np.max(np.abs(b))) if a.size else (math.nan, math.nan)
        shown = f"{a[0]:.10g}, wanted {b[0]:.10g}, " if a.size == 1 else ""
        limit = rtol * size + atol
        return self.true(name, bool(difference <= limit), f"{shown}difference {difference:.3g}, at most {limit:.3g}")

    def order(self, name, steps, errors, low, high):
        """Order of convergence: the slope of log error over log step."""
        errors = np.asarray(errors, float)
        slope = np.polyfit(np.log(steps), np.log(errors), 1)[0] if np.all(errors > 0) else math.nan
        return self.between(name, slope, low, high)

    def finish(self):
        if not self.done: fail("nothing was checked")
        print(f"{self.done - self.failed} of {self.done} checks passed", flush=True)
        sys.exit(1 if self.failed else 0)
