"""Contact patch test: two elastic blocks with meshes that do not match, pressed together evenly. The exact stress is the weight above, whatever the place; rows at the
nodes of one side do not pass the test exactly, but what is wrong stays at the face and in its share of the volume gets less with the mesh."""
from common import *

exe, root = arguments()
c = Checks()
E, rho = 1e7, 1e3
floor = {"mesh": {"type": "box", "size": [4, 4, 1]}, "translate": [0, 0, -0.5], "formulation": "obstacle"}
plate = {"mesh": {"type": "box", "size": [1, 1, 0.1]}, "material": {"density": 1e4}, "formulation": "rigid", "translate": [0, 0, 1.05], "mass_damping": 20}


def block(cells, z): return {"mesh": {"type": "box", "size": [1, 1, 0.5], "cells": cells}, "material": {"young": E, "poisson": 0, "density": rho}, "formulation": "bc", "damping": 0.02, "translate": [0, 0, z]}


def errors(n, m):
    """Relative errors of von Mises' stress at element centres (with nu = 0 and no shear it is the vertical one), distances of these from the face in elements, and the summary."""
    probes, cells = {}, {"lower": [n, n, max(n // 2, 1)], "upper": [m, m, max(m // 2, 1)]}
    for name, z0 in (("lower", 0), ("upper", 0.5)):
        k = cells[name]
        for i in np.ndindex(*k): probes[f"{name}_{i[0]}_{i[1]}_{i[2]}"] = {"body": name, "point": [(i[0] + 0.5) / k[0] - 0.5, (i[1] + 0.5) / k[1] - 0.5, z0 + 0.5 * (i[2] + 0.5) / k[2]]}
    h, s = play(exe, {"floor": floor, "lower": block(cells["lower"], 0.25), "upper": block(cells["upper"], 0.75), "plate": plate}, 4e-3, 400, probes, gravity=[0, 0, -10], every=400)
    z = np.array([p["point"][2] for p in probes.values()])
    exact = 1e4 * 0.1 * 10 + rho * 10 * (1 - z)  # weight of the plate, and of what is above
    away = np.array([abs(p["point"][2] - 0.5) / (0.5 / cells[p["body"]][2]) for p in probes.values()])
    return np.array([h[f"{p}_mises"][-1] for p in probes]) / exact - 1, away, s


rms = []
for n, m in ((3, 2), (2, 3), (4, 6), (6, 9)):
    e, away, s = errors(n, m)
    inner = np.abs(e[away > 1]) if np.any(away > 1) else np.zeros(1)
    name = f"{n} below {m} elements along an edge"
    print(f"       {name}: rms error {np.sqrt(np.mean(e**2)):.4f}, largest {np.max(np.abs(e)):.4f}, beyond the first elements {np.max(inner):.4f}, mean {np.mean(e):.5f}; rows {s['contacts_max']}")
    c.below(f"{name}: mean error", abs(np.mean(e)), 0.01)
    c.below(f"{name}: largest error", np.max(np.abs(e)), 0.15)
    c.equal(f"{name}: steps not converged", s["steps_not_converged"], 0)
    if n < m: rms.append(np.sqrt(np.mean(e**2)))
c.true("rms error falls with the mesh", rms[0] > rms[1] > rms[2], ", ".join(f"{e:.4f}" for e in rms))
e, away, s = errors(4, 4)
c.below("meshes that match: largest error", np.max(np.abs(e)), 1e-6)
c.finish()
