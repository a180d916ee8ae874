"""The energy balance closes: exactly for linear and for rigid bodies, with second order for strained bodies that spin, damped or not."""
from common import *
from reference import rotation, simulate

exe, root = arguments()
c = Checks()


def drift(h): return np.max(np.abs(h["total"] - h["total"][0]))


# a bar that tumbles and bends
bar = {"mesh": {"type": "box", "size": [0.1, 0.1, 1], "cells": [2, 2, 10]}, "material": {"young": 2e6, "poisson": 0.26, "density": 7.8e3}, "angular_velocity": [1, 0.7, 3]}
steps = (256, 512, 1024)
for formulation in ("tl", "bc"):
    for damping in (0, 0.02):
        for frame in ("mass", "volume") if formulation == "bc" else ("mass",):
            runs = [simulate(exe, {"bar": {**bar, "formulation": formulation, "damping": damping, "frame": frame}}, 1 / n, n, every=n // 64) for n in steps]
            name = f"{formulation}, {frame} frame, damping {damping}"
            c.below(f"{name}: balance at 1/1024", drift(runs[-1]), 2e-6 * runs[-1]["total"][0])
            c.order(f"{name}: order", [1 / n for n in steps], [drift(h) for h in runs], 1.9, 2.7)
            if damping: c.below(f"{name}: does damp", runs[-1]["damping"][-1], -2e-3)
# tl without conserve damps the rotation itself: much more work, the balance closes as well
runs = [simulate(exe, {"bar": {**bar, "formulation": "tl", "damping": 0.02, "conserve": False}}, 1 / n, n, every=n // 64) for n in steps]
c.below("tl, not corrected: balance at 1/1024", drift(runs[-1]), 2e-6 * runs[-1]["total"][0])
c.order("tl, not corrected: order", [1 / n for n in steps], [drift(h) for h in runs], 1.9, 2.7)

# a damped, spinning bar keeps its angular momentum, so the spin is what it was when all vibration is gone: no work of damping is left
spin = simulate(exe, {"bar": {**bar, "angular_velocity": [1, 0, 0], "damping": 0.05}}, 1 / 128, 2560, every=128)
c.below("spinning bar, damped: power at the end, of that at the start", abs(spin["damping"][-1] - spin["damping"][-6]) / abs(spin["damping"][1]), 1e-6)

# linear material: midpoint rule of a linear system. rigid: exact drift, exact kick
solid = {"mesh": {"type": "box", "size": [1, 2, 3], "cells": [2, 2, 3]}, "material": {"type": "linear", "young": 2e6, "poisson": 0.3, "density": 1e3}, "rotate": [10, 20, 30],
         "velocity": [1, 2, 3]}
loads = {"gravity": ["sin(t)", "1", "-9.81"], "forces": ["push"], "push": {"body": "solid", "offset": [0, 0, 0], "direction": [3e3, -5e3, 1e3], "value": "cos(3*t)"}}
for name, more in {"linear": {"formulation": "tl"}, "linear, damped": {"formulation": "tl", "damping": 0.01, "mass_damping": 0.7},
                   "rigid": {"formulation": "rigid", "angular_velocity": [0.1, 1, 0.2]}, "rigid, damped": {"formulation": "rigid", "angular_velocity": [0.1, 1, 0.2], "mass_damping": 0.7}}.items():
    loads["push"]["offset"] = list(rotation(np.radians(solid["rotate"])) @ [0.5, 1, 1.5])  # a corner
    h = simulate(exe, {"solid": {**solid, **more}}, 0.02, 500, extra=loads)
    largest = max(np.max(np.abs(h[k])) for k in ("kinetic", "external"))
    c.below(f"{name}: balance", drift(h), 1e-12 * largest)
    c.true(f"{name}: works", np.ptp(h["external"]) > 0.1 * largest, f"{np.ptp(h['external']):.3g}")
    if "linear" in name: c.true(f"{name}: strained", np.max(h["internal"]) > 1e-7 * largest, f"{np.max(h['internal']):.3g}")
    if "damped" in name: c.true(f"{name}: damped", np.all(np.diff(h["damping"]) < 0), f"{h['damping'][-1]:.3g}")
c.finish()
