"""Placed, turned and moving bodies of several meshes against the second implementation: all axes of rotation, damping by stiffness and by
mass, gravity that changes, linear material, iterated steps, and many bodies side by side in one batch."""
from common import *
from reference import *

exe, root = arguments()
c = Checks()
block = {"mesh": {"type": "box", "size": [0.3, 0.4, 0.6], "cells": [2, 3, 4]}, "material": {"young": 5e5, "poisson": 0.3, "density": 1200.0},
         "rotate": [40, -70, 110], "translate": [3, -2, 5], "velocity": [1, -2, 0.5], "angular_velocity": [2, -3, 1.5]}
ring = {"mesh": {"type": "pipe", "inner_radius": 0.1, "thickness": 0.05, "length": 0.3, "cells": [3, 8, 1]}, "material": {"young": 3e5, "poisson": 0.25, "density": 900.0},
        "rotate": [0, 0, 180], "translate": [-1, 0.5, 2], "velocity": [0, 3, 0], "angular_velocity": [-1, 4, 2]}
fall = (["0.3", "sin(9*t)", "-9.81"], lambda t: (0.3, np.sin(9 * t), -9.81))


def placed(section, *points):
    """Points of the mesh, where the section places them."""
    R = rotation(np.radians(section["rotate"]))
    return [list(R @ np.array(p) + section["translate"]) for p in points]


def case(name, section, points, h=1 / 128, steps=48, **more):
    probes = {f"p{i}": {"body": "solid", "point": p} for i, p in enumerate(placed(section, *points))}
    return compare(c, exe, name, {"solid": section}, h, steps, probes, **more)


corners = [(0.15, 0.2, 0.3), (-0.15, -0.2, 0.3), (0, 0.2, 0)]
for f in ("tl", "bc"):
    for paper in ({}, {"conserve": False, "frame": "volume"}):
        name = f"{f}{', as in the report' if paper else ''}"
        case(f"block {name}", {**block, "formulation": f, **paper}, corners)
        case(f"damped block {name}", {**block, "formulation": f, "damping": 0.01, "mass_damping": 0.8, **paper}, corners, gravity=fall)
        case(f"ring {name}", {**ring, "formulation": f, "damping": 2e-3, **paper}, [(0.15, 0, -0.15), (-0.15, -0.1, 0), (0.05, 0, 0.1)], steps=32)
    case(f"iterated block {f}", {**block, "formulation": f, "damping": 0.01, "mass_damping": 0.8}, corners, gravity=fall, implicit=True, steps=24)
case("block bc, mass frame, not corrected", {**block, "conserve": False}, corners)
case("block bc, volume frame, corrected", {**block, "frame": "volume"}, corners)

# small strains about the placed state: free rotation strains nothing there, so a corner is pushed
linear = {**block, "formulation": "tl", "material": {**block["material"], "type": "linear"}, "angular_velocity": [0.2, -0.3, 0.1]}
push = ({"body": "solid", "point": placed(block, corners[0])[0], "direction": [3, 40, -20], "value": "cos(30*t)"}, lambda t: np.cos(30 * t) * np.array([3, 40, -20]))
for conserve in (False, True):
    case(f"linear block, conserve {conserve}", {**linear, "conserve": conserve, "damping": 0.01}, corners, gravity=fall, force=push, tolerance=1e-9)
case("linear block, iterated", {**linear, "conserve": False}, corners, force=push, implicit=True, steps=16, tolerance=1e-9)
case("pushed block, tl", {**block, "formulation": "tl", "mass_damping": 3}, corners, force=push)
case("pushed block, bc", {**block, "mass_damping": 3}, corners, force=push)

# eleven bodies of one part, each with its own motion: two groups of lanes, the second of which is not full
part = {"mesh": block["mesh"], "material": block["material"]}
many, probes = {}, {}
rng = np.random.default_rng(3)
for i in range(11):
    many[f"b{i}"] = {"part": "b0", **(part if i == 0 else {}), "rotate": list(rng.uniform(-180, 180, 3)), "translate": list(rng.uniform(-9, 9, 3)),
                     "velocity": list(rng.uniform(-1, 1, 3)), "angular_velocity": list(rng.uniform(-4, 4, 3)), "damping": 0.005}
    if i in (0, 3, 7, 8, 10): probes[f"p{i}"] = {"body": f"b{i}", "point": placed(many[f"b{i}"], corners[0])[0]}
with_part = {n: {**s, **part} for n, s in many.items()}
h = simulate(exe, many, 1 / 128, 24, probes, extra={"gravity": fall[0]})
bodies = {n: Body(s) for n, s in with_part.items()}
for n in range(24):
    for b in bodies.values(): b.step(n / 128, 1 / 128, fall[1])
for p, s in probes.items():
    b = bodies[s["body"]]
    at = b.node(s["point"])
    c.close(f"lane of {s['body']}: position", [h[f"{p}_{k}"][-1] for k in "xyz"], b.x[at] + b.origin, rtol=1e-12)
    c.close(f"lane of {s['body']}: velocity", [h[f"{p}_v{k}"][-1] for k in "xyz"], b.u[at], rtol=1e-10)
c.close("lanes: kinetic", h["kinetic"][-1], sum(b.energies()[0] for b in bodies.values()), rtol=1e-11)
c.close("lanes: internal", h["internal"][-1], sum(b.energies()[1] for b in bodies.values()), rtol=1e-9)
c.close("lanes: external", h["external"][-1], sum(b.external for b in bodies.values()), rtol=1e-10)
c.close("lanes: damping", h["damping"][-1], sum(b.damping for b in bodies.values()), rtol=1e-9)
c.finish()
