"""The same model in other units of length, mass and time has the same motion: to the last bit where the factors are even powers of two, to round-off in millimetres and tonnes."""
from common import *

exe, root = arguments()
c = Checks()


def scaled(bodies, dt, probes, L, M, T):
    """The model as it reads in units 1/L, 1/M, 1/T."""
    out = {}
    for name, b in bodies.items():
        s = {**b, "mesh": {**b["mesh"], "size": [x * L for x in b["mesh"]["size"]]}, "translate": [x * L for x in b["translate"]]}
        if "velocity" in b: s["velocity"] = [x * (L / T) for x in b["velocity"]]
        if "angular_velocity" in b: s["angular_velocity"] = [x / T for x in b["angular_velocity"]]
        if "damping" in b: s["damping"] = b["damping"] * T
        if "material" in b: s["material"] = {**b["material"], "density": b["material"]["density"] * (M / L**3), "young": b["material"]["young"] * (M / (L * T**2))}
        out[name] = s
    return out, dt * T, {n: {**p, "offset": [x * L for x in p["offset"]]} for n, p in probes.items()}


def history(bodies, dt, steps, probes, contact, L=1.0, M=1.0, T=1.0, options=()):
    """In the first units."""
    b, t, p = scaled(bodies, dt, probes, L, M, T)
    law = {**contact, "cohesion": contact.get("cohesion", 0) * (M / (L * T**2))}
    h, s = play(exe, b, t, steps, p, law, [0, 0, -10 * (L / T**2)], options=options)
    unit = {"time": T, "penetration": L, "contacts": 1, "snes_iterations": 1, **{k: M * L**2 / T**2 for k in ("kinetic", "internal", "external", "damping", "contact", "friction", "constraint", "total")}}
    of = {"x": L, "y": L, "z": L, "vx": L / T, "vy": L / T, "vz": L / T, "mises": M / (L * T**2)}
    return {k: v / (unit[k] if k in unit else of[k.rsplit("_", 1)[1]]) for k, v in h.items()}


floor = {"mesh": {"type": "box", "size": [10, 10, 1]}, "translate": [0, 0, -0.5], "formulation": "obstacle"}


def body(formulation, size, cells, **more): return {"mesh": {"type": "box", "size": size, "cells": cells}, "material": {"young": 2e6, "poisson": 0.3, "density": 2e3}, "formulation": formulation, **more}


block = dict(translate=[0, 0, 0.3], velocity=[0.5, 0, 0], angular_velocity=[2, 5, 1])
pile = {f"b{i}": body("rigid", [0.3, 0.2, 0.1], [1, 1, 1], translate=[0.05 * (i % 2), 0.03 * (i % 3), 0.07 + 0.13 * i], rotate=[7 * i, 5, 20 * i], velocity=[0, 0, -0.5]) for i in range(5)}
models = {"tumbling rigid block": ({"floor": floor, "block": body("rigid", [0.3, 0.2, 0.1], [3, 2, 2], **block)}, 1 / 512, 500, {"p": {"body": "block", "offset": [0.15, 0.1, 0.05]}}, {"friction": 0.3}),
          "pile with friction": ({"floor": floor, **pile}, 1 / 512, 300, {f"p{i}": {"body": f"b{i}", "offset": [0, 0, 0]} for i in range(5)}, {"friction": 0.5, "restitution": 0.25}),
          "bc block": ({"floor": floor, "block": body("bc", [0.3, 0.2, 0.1], [3, 2, 2], damping=1e-3, **block)}, 1 / 512, 300, {"p": {"body": "block", "offset": [0.15, 0.1, 0.05]}}, {"friction": 0.3}),
          "tl block": ({"floor": floor, "block": body("tl", [0.3, 0.2, 0.1], [3, 2, 2], **block)}, 1 / 512, 150, {"p": {"body": "block", "offset": [0.15, 0.1, 0.05]}}, {"friction": 0.3}),
          "glued block": ({"floor": floor, "block": body("bc", [0.3, 0.2, 0.1], [3, 2, 2], translate=[0, 0, 0.05], velocity=[0, 0, 0.02])}, 1 / 512, 150, {"p": {"body": "block", "offset": [0.15, 0.1, 0.05]}}, {"friction": 0.3, "cohesion": 1e4})}
for name, model in [*models.items(), ("pile by bodies", models["pile with friction"])]:
    options = ["-dual_mat_type", "bodies"] if name == "pile by bodies" else []
    one = history(*model, options=options)
    touch = np.argmax(one["contact"] != 0)
    c.true(f"{name}: touches, moves", touch > 0 and np.max(one["kinetic"]) > 0, f"from step {touch} on")
    for L, M, T in ((4, 16, 4), (1 / 16, 4, 1 / 4), (1024, 2.0**-20, 64)):
        other = history(*model, L, M, T, options)
        different = [k for k in one if not np.array_equal(one[k], other[k])]
        first = min((int(np.argmax(one[k] != other[k])) for k in different), default=-1)
        c.true(f"{name}, lengths x {L}, masses x {M}, times x {T}: the same bits", not different, f"{len(different)} columns differ" + (f" from step {first} on: {', '.join(different[:8])}" if different else ""))
    if touch > 2:
        other = history(*model, 1e3, 1e-3, 1, options)
        for k in one:
            moves = np.ptp(one[k][:touch]) > 1e-6 * np.max(np.abs(one[k])) and k not in ("total", "internal", "damping") and not k.endswith("mises")
            if moves: c.close(f"{name}, in mm, t, s until the first impact: {k}", other[k][:touch], one[k][:touch], rtol=1e-9)
c.finish()
