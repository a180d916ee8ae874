"""1, 2 and 3 ranks give the same history to 1e-12 of each column's largest value, the same run twice the same bytes; bodies are spread evenly."""
from common import *

exe, root = arguments()
c = Checks()

# 100 free tumbling bodies, a mixture of formulations, each with its own placement and spin
N = 100
rng = np.random.default_rng(1)
directory = temporary()
lines = ["ts:      {dt: 1e-3, max_steps: 40}", "gravity: [0, 0, -1]", "output:  {digits: 17, history: h.csv}", "bodies:  [bc, tl, stone]",
         "body:    {mesh: {type: box, size: [0.1, 0.2, 0.3], cells: [1, 2, 3]}, material: {young: 1e7, poisson: 0.3, density: 2e3}}",
         "bc:      {formulation: bc, damping: 1e-5, copies: {file: bc.csv}}", "tl:      {formulation: tl, copies: {file: tl.csv}}",
         "stone:   {formulation: rigid, copies: {file: stone.csv}}", "probes:  [p, q, r]",
         "p:       {body: bc_17, offset: [0, 0, 0.04]}", "q:       {body: tl_29, offset: [0, 0.04, 0]}", "r:       {body: stone_3, offset: [0.04, 0, 0]}"]
with open(f"{directory}/swarm.yml", "w") as f: f.write("\n".join(lines) + "\n")
for name, first, n in (("bc", 0, 40), ("tl", 40, 30), ("stone", 70, 30)):
    with open(f"{directory}/{name}.csv", "w") as f:
        f.write("x,y,z,rx,ry,rz,vx,vy,vz,wx,wy,wz\n")
        for i in range(first, first + n):
            row = np.concatenate([[i % 5, i // 5 % 5, i // 25], rng.uniform(-90, 90, 3), rng.uniform(-1, 1, 3), rng.uniform(-5, 5, 3)])
            f.write(",".join(f"{x:.6g}" for x in row) + "\n")
bar = ["-options_file", f"{root}/options/rotating_bar.yml", "-output_exodus", "", "-output_history", "h.csv", "-output_digits", "17", "-ts_max_time", "0.5"]
models = {"bar, bc, mass frame": bar, "bar, bc, volume frame": bar + ["-bar_frame", "volume", "-bar_conserve", "false"], "bar, tl": bar + ["-bar_formulation", "tl"],
          "100 bodies": ["-options_file", f"{directory}/swarm.yml"]}


def content(r):
    with open(r.path("h.csv"), "rb") as f: return f.read()


for name, options in models.items():
    one = run(exe, options)
    h = read_csv(one.path("h.csv"))
    c.true(f"{name}: it moves", np.ptp(h["kinetic"]) > 0 and len(h["time"]) > 10, f"{len(h['time'])} rows")
    for ranks in (2, 3):
        r = run(exe, options, ranks=ranks, timeout=100)
        g, s = read_csv(r.path("h.csv")), r.summary
        worst = max((np.max(np.abs(g[k] - h[k])) / (np.max(np.abs(h[k])) or 1), k) for k in h)
        c.true(f"{name}, {ranks} ranks", list(g) == list(h) and worst[0] <= 1e-12, f"largest difference {worst[0]:.3g} of column {worst[1]}, at most 1e-12")
        if name == "100 bodies":
            c.between(f"{ranks} ranks: fewest bodies of a rank", s["bodies per rank least"], 20 if ranks == 3 else 30, N / ranks)
            c.between(f"{ranks} ranks: most bodies of a rank", s["bodies per rank most"], N / ranks, 60 if ranks == 3 else 70)
            c.equal(f"{ranks} ranks: bodies", s["bodies"], N)
            c.true(f"{name}, {ranks} ranks, twice: the same bytes", content(r) == content(run(exe, options, ranks=ranks, timeout=100)))
    c.true(f"{name}, one rank, twice: the same bytes", content(one) == content(run(exe, options)))
c.finish()
