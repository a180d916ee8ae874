"""Many bodies: 10 000 copies of a grid, rigid and co-rotated; 2 000 sections of their own names; options of single copies."""
import time
from common import *

exe, root = arguments()
c = Checks()
directory = temporary()


def write(name, text):
    with open(f"{directory}/{name}", "w") as f: f.write(text)
    return f"{directory}/{name}"


def go(name, options, **more):
    began = time.time()
    r = run(exe, options + ["-ts_dt", "1e-3", "-ts_max_steps", "3", "-output_history", "h.csv", "-output_digits", "17"], timeout=150, **more)
    print(f"       {name}: {time.time() - began:.1f} s", flush=True)
    return r, read_csv(r.path("h.csv"))


# one box of density 1 and edges 0.1, 0.2, 0.3: mass 0.006; kinetic energy of the fall and of the start
mass, g, v, end = 0.006, 10.0, np.array([1.0, 2.0, 3.0]), 3e-3
falling = 0.5 * mass * (v[0]**2 + v[1]**2 + (v[2] - g * end)**2)
GRID = f"""
gravity: [0, 0, -{g}]
bodies:  [brick]
brick:
  mesh:        {{type: box, size: [0.1, 0.2, 0.3]}}
  material:    {{young: 1e6, poisson: 0.3, density: 1}}
  velocity:    [1, 2, 3]
  copies:      {{grid: [100, 10, 10], spacing: [0.2, 0.3, 0.4]}}
probes:  [last]
last:    {{body: brick_9999, offset: [0, 0, 0]}}
"""
grid = ["-options_file", write("grid.yml", GRID)]
for formulation, dofs in (("rigid", 6), ("bc", 24)):
    r, h = go(f"10 000 {formulation}", grid + ["-brick_formulation", formulation])
    s = r.summary
    c.equal(f"{formulation}: bodies, dofs", (s["bodies"], s["dofs"]), (10000.0, 10000.0 * dofs))
    c.close(f"{formulation}: kinetic energy of all", h["kinetic"][-1], 10000 * falling, rtol=1e-10)
    c.close(f"{formulation}: the last copy's place", [h["last_x"][0], h["last_y"][0], h["last_z"][0]], [99 * 0.2, 9 * 0.3, 9 * 0.4], atol=1e-12)
    c.close(f"{formulation}: its end", h["last_z"][-1], 9 * 0.4 + 3 * end - 0.5 * g * end**2, atol=1e-9)
    c.below(f"{formulation}: factorizations", s["constant factorizations"], 1 if formulation == "bc" else 0)

# options of single copies; the others keep theirs
single = grid + ["-brick_57_damping", "1e-3", "-brick_58_formulation", "rigid", "-brick_59_velocity", "0,0,0", "-probes", "a,b,last", "-a_body", "brick_59", "-a_offset", "0,0,0",
                 "-b_body", "brick_60", "-b_offset", "0,0,0"]
r, h = go("10 000, 2 ranks, with results", single + ["-output_exodus", "r.exo"], ranks=2)
s = r.summary
with open(r.path("r.exo"), "rb") as f: exodus = f.read()
c.equal("times in the Exodus file", (exodus[:3], int.from_bytes(exodus[4:8], "big")), (b"CDF", 4))
c.true("and room for all of them", len(exodus) >= 4 * 8 * (6 * 8 + 3) * 10000, len(exodus))
c.equal("dofs with one rigid", s["dofs"], 9999.0 * 24 + 6)
c.below("factorizations of two ranks with another damping", s["constant factorizations"], 3)
c.close("velocities of copies 59 and 60", [h["a_vx"][0], h["b_vx"][0]], [0, 1], atol=1e-15)
c.close("kinetic energy with one that starts at rest", h["kinetic"][0], 9999 * 0.5 * mass * 14, rtol=1e-10)
c.between("bodies of a rank", s["bodies per rank most"], 5000, 6000)

# sections of their own
n = 2000
lines = [f"gravity: [0, 0, -{g}]", f"bodies: [{', '.join(f'stone{i}' for i in range(n))}]", f"probes: [{', '.join(f'p{i}' for i in range(0, n, 100))}]"]
for i in range(n):
    kind = "rigid" if i % 2 else "bc"
    lines.append(f"stone{i}: {{mesh: {{type: box, size: [0.1, 0.2, 0.3]}}, material: {{young: 1e6, density: {1 + i % 3}}}, formulation: {kind}, translate: [{i}, 0, 0], velocity: [1, 2, 3]}}")
lines += [f"p{i}: {{body: stone{i}, point: [{i}, 0, 0]}}" for i in range(0, n, 100)]
r, h = go("2 000 sections", ["-options_file", write("sections.yml", "\n".join(lines) + "\n"), "-stone7_velocity", "0,0,0"])
c.equal("sections: bodies, dofs", (r.summary["bodies"], r.summary["dofs"]), (float(n), n / 2 * 6.0 + n / 2 * 24))
weights = sum(1 + i % 3 for i in range(n) if i != 7)
c.close("sections: kinetic energy at the start", h["kinetic"][0], weights * 0.5 * mass * 14, rtol=1e-10)
c.close("sections: a probe of each hundredth", [h[f"p{i}_x"][-1] for i in range(0, n, 100)], [i + end for i in range(0, n, 100)], atol=1e-9)

# random places: inside their box, the same for the same seed
random = ["-options_file", write("random.yml", GRID.replace("grid: [100, 10, 10], spacing: [0.2, 0.3, 0.4]", "random: 500, box: [0, 10, 20, 1, 12, 23], seed: 3, rotate: true").split("probes:")[0]),
          "-probes", "a,b", "-a_body", "brick_0", "-a_offset", "0,0,0", "-b_body", "brick_499", "-b_offset", "0,0,0", "-contact_enabled", "false"]
r, h = go("500 at random", random)
other, g2 = go("500 with another seed", random + ["-brick_copies_seed", "4"])
again, g3 = go("500 again, 2 ranks", random, ranks=2)
for p in "ab": c.true(f"random place {p} in the box", 0 <= h[f"{p}_x"][0] <= 1 and 10 <= h[f"{p}_y"][0] <= 12 and 20 <= h[f"{p}_z"][0] <= 23, f"{h[f'{p}_x'][0]:.4g} {h[f'{p}_y'][0]:.4g} {h[f'{p}_z'][0]:.4g}")
c.true("another seed, another place", h["a_x"][0] != g2["a_x"][0])
c.true("the same on 2 ranks", all(h[k][0] == g3[k][0] for k in ("a_x", "a_y", "b_z")))
c.finish()
