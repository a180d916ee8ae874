"""Bodies of one part share its factor: 100 of them in different placements, all moving, one with another damping, need two factorizations."""
import re
from common import *

exe, root = arguments()
c = Checks()
directory = temporary()


def write(name, text):
    with open(f"{directory}/{name}", "w") as f: f.write(text)
    return f"{directory}/{name}"


def factorizations(options, ranks=1):
    s = run(exe, options + ["-ts_dt", "1e-3", "-ts_max_steps", "5"], ranks=ranks, timeout=100).summary
    c.equal("bodies", s["bodies"], 100)
    return s["constant factorizations"]


BRICK = "mesh: {type: box, size: [0.1, 0.2, 0.3], cells: [2, 3, 4]}, material: {young: 1e9, poisson: 0.2, density: 2e3}, formulation: bc"
rng = np.random.default_rng(2)
rows = "\n".join(",".join(f"{x:.5g}" for x in np.concatenate([[i, 0, 0], rng.uniform(-180, 180, 3), rng.uniform(-1, 1, 6)])) for i in range(100))
write("place.csv", "x,y,z,rx,ry,rz,vx,vy,vz,wx,wy,wz\n" + rows + "\n")
copies = ["-options_file", write("copies.yml", f"bodies: [brick]\nbrick: {{{BRICK}, damping: 1e-4, copies: {{file: place.csv}}}}\n")]
c.equal("100 copies", factorizations(copies), 1)
c.equal("one with another damping", factorizations(copies + ["-brick_57_damping", "2e-4"]), 2)
c.equal("one with another mass damping", factorizations(copies + ["-brick_57_mass_damping", "2"]), 2)
c.equal("one with another frame", factorizations(copies + ["-brick_57_frame", "volume"]), 1)
c.equal("half of them rigid", factorizations(copies + [x for i in range(0, 100, 2) for x in (f"-brick_{i}_formulation", "rigid")]), 1)
c.equal("all rigid", factorizations(copies + ["-brick_formulation", "rigid"]), 0)
c.below("on 2 ranks, one with another damping", factorizations(copies + ["-brick_57_damping", "2e-4"], ranks=2), 3)

# the same with a section each, which name their part
sections = "".join(f"b{i}: {{part: brick, translate: [{i}, 0, 0], rotate: [{i}, {2 * i}, 7], angular_velocity: [0, {i % 7}, 1]{', damping: 3e-4' if i == 31 else ''}}}\n" for i in range(100))
named = ["-options_file", write("named.yml", f"bodies: [{', '.join(f'b{i}' for i in range(100))}]\nbrick: {{{BRICK}, damping: 1e-4}}\n{sections}")]
c.equal("100 sections of one part, one with another damping", factorizations(named), 2)
c.equal("all alike by -body_damping under the part's own", factorizations(named + ["-b31_damping", "1e-4"]), 1)

# --- PETSc's own solvers, chosen by -part_ options: the same motion
SOLVERS = (["-part_pc_factor_mat_solver_type", "mumps"], ["-part_pc_type", "cholesky", "-part_pc_factor_mat_solver_type", "cholmod"],
           ["-part_ksp_type", "cg", "-part_pc_type", "icc", "-part_ksp_rtol", "1e-13"])
bar = ["-options_file", f"{root}/options/rotating_bar.yml", "-output_exodus", "", "-output_history", "h.csv", "-output_digits", "17"]
brick = copies + ["-ts_dt", "1e-3", "-ts_max_steps", "5", "-probes", "top,bot", "-top_body", "brick_0", "-top_offset", "0,0,0", "-bot_body", "brick_99", "-bot_offset", "0,0,0", "-output_history", "h.csv",
                  "-output_digits", "17"]
for name, model, ranks in (("bar, bc", bar, 1), ("bar, tl", bar + ["-bar_formulation", "tl"], 1), ("100 copies, 2 ranks", brick, 2)):
    own = read_csv(run(exe, model, ranks=ranks).path("h.csv"))
    for solver in SOLVERS:
        r = run(exe, model + solver, ranks=ranks, timeout=200)
        h, text = read_csv(r.path("h.csv")), f"{name}, {' '.join(x.replace('-part_', '') for x in solver)}"
        for e in ("kinetic", "total"): c.close(f"{text}: {e}", h[e], own[e], rtol=1e-10)
        for p in ("top", "bot"):
            for v in (("x", "y", "z"), ("vx", "vy", "vz")): c.close(f"{text}: {p} {v[-1]}", *([np.array([a[f"{p}_{k}"] for k in v]) for a in (h, own)]), rtol=1e-10)
r = run(exe, bar + ["-ts_max_steps", "2", "-part_pc_factor_mat_solver_type", "mumps", "-part_mat_mumps_icntl_14", "60", "-part_ksp_view", "::ascii_info_detail", "-log_view"])
c.equal("-part_ksp_view: one of every solve", r.out.count("KSP Object: (part_)"), 2)
c.true("with its factor and an option of it", re.search(r"ICNTL\(14\)[^\n]*: *60", r.out), re.findall(r"ICNTL\(14\)[^\n]*", r.out)[:1])
c.true("-log_view lists its solves", any(x.split()[:2] == ["KSPSolve", "2"] for x in r.out.splitlines()))
for options, wanted in ((["-part_pc_type", "none_such"], ["-part_", "none_such"]), (["-part_ksp_typ", "cg"], ["'part_ksp_typ'", "'part_ksp_type'"]), (["-part_pc_type", "lu", "-bar_formulation", "rigid"], ["'part_pc_type'", "no effect"]),
                        (["-part_ksp_type", "cg", "-part_pc_type", "none", "-part_ksp_max_it", "2"], ["did not converge", "DIVERGED_ITS"])):
    r = run(exe, bar + options, check=False)
    c.true(f"refused: {' '.join(options)}", r.code == 1 and len(r.err.splitlines()) == 1 and "internal error" not in r.err and all(w in r.err for w in wanted), r.err.strip())
c.finish()
