"""Whole steps against raw CHOLMOD solves: runs build/bench_formulations for every width of vectors that this processor has, with the BLAS
kernels of that width for CHOLMOD, and judges what it prints. usage: formulations.py PROGRAM ROOT [option of bench_formulations ...]"""
import os, subprocess, sys

bench = os.path.join(os.path.dirname(os.path.abspath(sys.argv[1])), "bench_formulations")
flags = open("/proc/cpuinfo").read().split("flags", 1)[-1].split("\n", 1)[0].split() if os.path.exists("/proc/cpuinfo") else []
# vectors, flag of the processor, BLAS core, least elements per second (TL), largest part of 100 solves (box); None: only stated
WIDTHS = [(8, "avx512f", "SkylakeX", 800e3, 0.3), (4, "avx2", "Haswell", 800e3, 0.4), (2, None, "Nehalem", 400e3, None)]
NAMES = {8: "AVX-512", 4: "AVX2", 2: "SSE2"}
rows = []
for width, flag, core, assembly, box in WIDTHS:
    if flag and flag not in flags: continue
    print(f"--- {NAMES[width]}, BLAS core {core}", flush=True)
    r = subprocess.run([bench, "-simd", str(width), *sys.argv[3:]], env={**os.environ, "OPENBLAS_CORETYPE": core}, stdout=subprocess.PIPE, text=True)
    print(r.stdout, end="", flush=True)
    if r.returncode: sys.exit(f"bench_formulations failed for vectors of {width}")
    figure = dict(line.split(": ", 1) for line in r.stdout.splitlines() if ": " in line)

    def judge(name, what, bound, at_most=True):
        if name not in figure: return
        value = float(figure[name])
        text = "stated" if bound is None else "met" if (value <= bound if at_most else value >= bound) else "NOT MET"
        demand = "" if bound is None else f"{'<=' if at_most else '>='} {bound:g}"
        rows.append((NAMES[width], what, demand, f"{value:.3f}" if value < 100 else f"{value:.0f}", text))

    for part, dofs in (("pipe5k", "5 130"), ("pipe20k", "19 980"), ("pipe50k", "49 590")):
        judge(f"{part}_lean_step_ratio", f"BC step by one solve, {dofs} dofs, no balance, no conserve", 1.15)
        judge(f"{part}_default_step_ratio", f"BC step by one solve, {dofs} dofs, defaults", 1.3)
        judge(f"{part}_damped_step_ratio", f"BC step by one solve, {dofs} dofs, defaults and damping", None)
    judge("box432_default_step_ratio", "BC step by 100 solves, 100 boxes of 432 dofs, defaults", box)
    judge("box432_lean_step_ratio", "the same without balance and conserve", None)
    judge("box432_damped_step_ratio", "the same, defaults and damping", None)
    judge("tl_assembled_elements_per_second", "TL: tangent and force assembled, elements per second", assembly, at_most=False)

print(f"\n{'vectors':8} {'what':62} {'demand':>12} {'figure':>9}  verdict")
for v, what, demand, value, text in rows: print(f"{v:8} {what:62} {demand:>12} {value:>9}  {text}")
sys.exit(0)
