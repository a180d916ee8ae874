"""Rigid bodies: W by the motions of bodies, never multiplied out, gives the motion that W by blocks gives, on any number of ranks, and the same files of problems."""
import glob, os
import h5py
from common import *

exe, root = arguments()
c = Checks()
box = {"type": "box", "size": [0.2, 0.2, 0.2]}
cubes = [[x, y, z] for z in range(4) for y in range(4) for x in range(5)]  # columns, each cube pushed to another side
rng = np.random.default_rng(3)
bodies = {"floor": {"mesh": {"type": "box", "size": [4, 4, 1]}, "translate": [0, 0, -0.5], "formulation": "obstacle"}}
for i, (x, y, z) in enumerate(cubes):
    bodies[f"b{i}"] = {"part": "cube", "formulation": "rigid", "translate": [0.25 * x, 0.25 * y, 0.1 + 0.2 * z], "velocity": [*(float(v) for v in rng.uniform(-0.3, 0.3, 2)), 0]}
probes = {f"p{i}": {"body": f"b{i}", "offset": [0.05, 0.05, 0.05]} for i in (0, 21, 70)}
model = lambda ranks, *options: play(exe, bodies, 1e-3, 60, probes, {"friction": 0.4}, [0, 0, -10], {"cube": {"mesh": box, "material": {"density": 2e3}}}, options=["-snes_rtol", "1e-10", *options], ranks=ranks)

one, s = model(1, "-dual_mat_type", "explicit")
c.below("many contacts, else this shows nothing", 200, s["contacts_max"])
for name, ranks, options in (("bodies", 1, ["-dual_mat_type", "bodies"]), ("auto", 1, []), ("bodies, 2 ranks", 2, ["-dual_mat_type", "bodies"]), ("bodies, 3 ranks", 3, ["-dual_mat_type", "bodies"])):
    other, t = model(ranks, *options)
    for k in ("kinetic", "friction"): c.close(f"{name}: {k}", other[k], one[k], rtol=1e-4)  # a gap of a rounding error may be a contact or not
    for k in ("p0_x", "p21_z", "p70_x", "p70_y"): c.close(f"{name}: {k}", other[k], one[k], atol=1e-6)
    c.equal(f"{name}: steps not converged", t["steps_not_converged"], 0)
    if ranks == 1: c.true(f"{name}: twice the same", all(np.array_equal(v, other[k]) for k, v in model(1, *options)[0].items()))

files = {}
for kind in ("explicit", "bodies"):
    h, _ = model(1, "-dual_mat_type", kind, "-output_fclib", f"{(d := temporary())}/steps", "-output_fclib_every", "1")
    files[kind] = sorted(glob.glob(f"{d}/steps/*.hdf5"))
    if kind == "bodies": c.true("a file of a problem changes nothing", np.array_equal(h["kinetic"], model(1, "-dual_mat_type", "bodies")[0]["kinetic"]))
c.equal("files", len(files["bodies"]), 60)
for a, b in list(zip(files["explicit"], files["bodies"]))[:1]:
    with h5py.File(a) as f, h5py.File(b) as g:
        w = [x["fclib_local/W"] for x in (f, g)]
        c.true(f"{os.path.basename(a)}: the same pattern", all(np.array_equal(w[0][k][()], w[1][k][()]) for k in ("p", "i")))
        c.close(f"{os.path.basename(a)}: W", w[1]["x"][()], w[0]["x"][()], rtol=1e-12)
        c.close(f"{os.path.basename(a)}: q", g["fclib_local/vectors/q"][()], f["fclib_local/vectors/q"][()], rtol=1e-12)
c.finish()
