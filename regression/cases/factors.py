"""Bodies of one part share its factor: 100 of them in different placements, all moving, one with another damping, need two factorizations."""
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
c.finish()
