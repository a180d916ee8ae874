"""How time and memory grow: the program with 1, 2, 4 and 8 times as many elements in one body, and with as many copies of a body. CPU time
of the child, least of several runs; peak memory above that of the smallest model. usage: scaling.py PROGRAM ROOT [repetitions: 3] [case ...]

set-up: mesh, pattern, K0 (-check); factor: what the first step costs more than another one; exponent p of a fit to (size)^p.
The bar is slender from the start, so that its factor has as many numbers per node at every length, and what grows otherwise is the program's
doing. A body refined in all directions has a factor of about n^(4/3) numbers by nature, and that of a pipe 36 cells around grows
per node until it is several times longer than around: both are stated, not judged. Linear is judged as an exponent of at most 1.15, since
time per number grows a little where a model leaves a cache."""
import os, subprocess, sys
from common import environment, np

exe = os.path.abspath(sys.argv[1])
repeat = int(sys.argv[3]) if len(sys.argv) > 3 else 3
only = sys.argv[4:]
LIMIT = 1.15


def child(options):
    """CPU seconds and peak memory [MB] of one run"""
    p = subprocess.Popen([exe, *map(str, options)], env=environment(), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    error = p.stderr.read()
    _, status, use = os.wait4(p.pid, 0)
    p.returncode = os.waitstatus_to_exitcode(status)
    if p.returncode: sys.exit(f"exit code {p.returncode}: {' '.join(map(str, options))}\n{error.decode(errors='replace')[-500:]}")
    return use.ru_utime + use.ru_stime, use.ru_maxrss / 1024


def body(formulation, kind, size, cells):
    shape = ["-body_mesh_type", kind] + (["-body_mesh_size", size] if kind == "box" else ["-body_mesh_inner_radius", 0.01, "-body_mesh_thickness", 0.005, "-body_mesh_length", size])
    return ["-bodies", "a", "-body_formulation", formulation, *shape, "-body_mesh_cells", ",".join(map(str, cells)), "-body_material_young", 1e7, "-body_material_poisson", 0.25, "-body_material_density", 1e3,
            "-a_angular_velocity", "1,0.5,0", "-ts_dt", 1e-4, "-progress", "false"]


# name, what grows, options at factor k, steps, judged
BOX = "0.03,0.05,0.05"
CASES = [
    ("bc_longer", "elements of a bar that is lengthened, bc", lambda k: body("bc", "box", f"0.04,0.04,{k}", (4, 4, 100 * k)), 300, True),
    ("tl_longer", "the same, tl", lambda k: body("tl", "box", f"0.04,0.04,{k}", (4, 4, 100 * k)), 10, True),
    ("bc_pipe", "elements of a pipe that is lengthened, bc", lambda k: body("bc", "pipe", 0.05 * k, (18 * k, 36, 4)), 60, False),
    ("bc_finer", "elements of a cube that is refined, bc", lambda k: body("bc", "box", "0.1,0.1,0.1", [round(10 * k ** (1 / 3))] * 3), 60, False),
    ("bc_bodies", "boxes of 432 dofs, bc", lambda k: body("bc", "box", BOX, (3, 5, 5)) + ["-a_copies_grid", f"{50 * k},10,1", "-a_copies_spacing", "0.1,0.1,0.1"], 100, True),
    ("tl_bodies", "the same, tl", lambda k: body("tl", "box", BOX, (3, 5, 5)) + ["-a_copies_grid", f"{5 * k},10,1", "-a_copies_spacing", "0.1,0.1,0.1"], 20, True),
    ("rigid_bodies", "rigid boxes", lambda k: body("rigid", "box", BOX, (1, 1, 1)) + ["-a_copies_grid", f"{50 * k},100,1", "-a_copies_spacing", "0.1,0.1,0.1"], 200, True),
]
FACTORS = (1, 2, 4, 8)
smallest = body("rigid", "box", BOX, (1, 1, 1))
base = [min(x) for x in zip(*(child([*smallest, "-check", "true", "-ts_max_steps", 1]) for _ in range(repeat)))]
print(f"smallest_model_seconds: {base[0]:.3f}\nsmallest_model_megabytes: {base[1]:.1f}", flush=True)
rows = []
for name, what, options, steps, judged in CASES:
    if only and name not in only: continue
    table = np.zeros((len(FACTORS), 4))
    for i, k in enumerate(FACTORS):
        best = [np.inf] * 3
        memory = 0
        for _ in range(repeat):
            for j, extra in enumerate((["-check", "true", "-ts_max_steps", 1], ["-ts_max_steps", 1], ["-ts_max_steps", 1 + steps])):
                t, m = child([*options(k), *extra])
                best[j] = min(best[j], t)
                memory = max(memory, m)
        step = (best[2] - best[1]) / steps
        table[i] = step, best[0] - base[0], best[1] - best[0] - step, memory - base[1]
        print(f"{name}_{k}x: step {1e3 * step:.3f} ms, set-up {table[i][1]:.3f} s, factor and first step {table[i][2]:.3f} s, memory {table[i][3]:.1f} MB", flush=True)

    def exponent(column): # of what stands out of the noise of a process (20 ms, 2 MB)
        y = table[:, column]
        good = y > (1e-6, 0.02, 0.02, 2)[column]
        return np.polyfit(np.log(np.array(FACTORS)[good]), np.log(y[good]), 1)[0] if sum(good) > 1 else float("nan")

    for column, label in enumerate(("time per step", "set-up", "factor", "memory")):
        p = exponent(column)
        verdict = "stated" if not judged else "too small to tell" if np.isnan(p) else "met" if p <= LIMIT else "NOT MET"
        print(f"{name}_exponent_{label.replace(' ', '_')}: {p:.3f}", flush=True)
        rows.append((what, label, p, verdict))
print(f"\n{'grows':45} {'what':14} {'demand':>8} {'exponent':>9}  verdict")
for what, label, p, verdict in rows: print(f"{what:45} {label:14} {'' if verdict == 'stated' else f'<= {LIMIT}':>8} {p:9.3f}  {verdict}")
