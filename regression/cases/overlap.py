"""Bodies that overlap at the start: one line that says how many, how deep, who and where; none for bodies that only touch, or come close in the first step."""
from common import *

exe, root = arguments()
c = Checks()
d = temporary()
with open(f"{d}/m.yml", "w") as f: f.write("""
ts:      {dt: 1e-2, max_steps: 3}
gravity: [0, 0, -10]
bodies:  [cube, floor]
body:    {material: {density: 2e3}}
cube:    {mesh: {type: box, size: [1, 1, 1]}, formulation: rigid, translate: [3, 2, 0.5], copies: {grid: [1, 1, 3], spacing: [1, 1, 1]}}
floor:   {mesh: {type: box, size: [20, 20, 1]}, translate: [0, 0, -0.5], formulation: obstacle}
output:  {history: h.csv, digits: 17}
""")


def go(*options, check=True):
    return run(exe, ["-options_file", f"{d}/m.yml", *options], check=check, timeout=60)


c.equal("touching: not a word", go().err, "")
for height in (0.1, 0.2, 0.3, 0.7, 1.1):
    r = go("-cube_mesh_size", f"1,1,{height}", "-cube_mesh_cells", "3,3,1", "-cube_translate", f"0,0,{height / 2}", "-cube_copies_spacing", "1,1,5")
    c.equal(f"touching by middles of facets, height {height}: not a word", r.err, "")
c.equal("falling upon each other: not a word", go("-cube_velocity", "0,0,-1").err, "")
overlap = ["-cube_copies_spacing", "1,1,0.98"]
r = go(*overlap)
words = r.err.split()
c.true("a warning, once", len(r.err.splitlines()) == 1 and "warning" in r.err, r.err.strip())
c.true("how many and who", "2 pairs" in r.err and "8 contacts" in r.err and "'cube_" in r.err)
c.close("how deep", float(words[words.index("by") + 1]), 0.02, rtol=1e-9)
at = [float(x.strip("(),;")) for x in words[words.index("at", words.index("by")) + 1:][:3]]
c.true("where: a corner of the faces, between them", all(abs(abs(a - b) - 0.5) < 1e-6 for a, b in zip(at[:2], (3, 2))) and min(abs(at[2] - 0.99), abs(at[2] - 1.97)) < 0.011, at)
h = read_csv(r.path("h.csv"))
c.close("they are kept as they are", h["penetration"][-1], 0.02, rtol=1e-6)
r = go(*overlap, "-contact_overlap", "error", check=False)
c.true("or refused", r.code == 1 and len(r.err.splitlines()) == 1 and "warning" not in r.err and "'cube_" in r.err, r.err.strip())
c.equal("step_failure cut does not tell twice", go(*overlap, "-step_failure", "cut", "-cube_velocity", "0,0,-60").err.count("overlap"), 1)
for ranks in (1, 2):
    r = run(exe, ["-options_file", f"{d}/m.yml", "-floor_mesh_size", "20,20,3", "-floor_translate", "0,0,-1.5", "-cube_translate", "3,2,-0.3"], ranks=ranks, check=False, timeout=60)
    c.true(f"too deep for any contact, {ranks} ranks: refused, and who", r.code == 1 and r.err.count("ashlar:") == 1 and "'cube_0' and 'floor'" in r.err and "move them apart" in r.err, r.err.strip())
r = go("-cube_translate", "3,2,-0.2", check=False)
c.true("deep enough for the far side to be nearer: refused", r.code == 1 and r.err.count("ashlar:") == 1 and "'cube_0' and 'floor'" in r.err, r.err.strip())
r = go("-contact_overlap", "push", check=False)
c.true("a wrong choice", r.code == 1 and "neither keep nor error" in r.err, r.err.strip())
c.finish()
