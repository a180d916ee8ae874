"""Bodies that stand, or slide, under their weight: blocks on slopes, heavy on light, tall stacks, blocks at their tipping angle, against Coulomb's law and statics."""
from common import *

exe, root = arguments()
c = Checks()
G = 10.0
at = lambda body, offset=(0, 0, 0): {"body": body, "offset": list(offset)}


def floor(size=(10, 10, 1), **more): return {"mesh": {"type": "box", "size": list(size)}, "translate": [0, 0, -size[2] / 2], "formulation": "obstacle", **more}


def block(formulation, size=(1, 1, 1), z=0.0, density=1e3, cells=(1, 1, 1), **more):
    """z: of its lower face."""
    section = {"mesh": {"type": "box", "size": list(size), "cells": list(cells)}, "material": {"young": 1e7, "poisson": 0.25, "density": density}, "formulation": formulation}
    return {**section, "translate": [0, 0, z + size[2] / 2], **more}


def slope(angle): return [G * np.sin(angle), 0, -G * np.cos(angle)]


def path(h, p): return np.stack([h[f"{p}_{k}"] for k in "xyz"], 1)


# --- a block on a slope: as turned gravity, and as a turned floor ---
angle = np.radians(30)
h, s = play(exe, {"floor": floor(), "block": block("rigid")}, 1e-3, 10000, {"p": at("block", [0.5, 0.5, 0.5])}, {"friction": 1.01 * np.tan(angle)}, slope(angle), every=100, options=["-snes_rtol", 1e-10])
c.below("rigid, mu = 1.01 tan(alpha): way in 10 000 steps", np.max(np.abs(path(h, "p") - path(h, "p")[0])), 1e-9)
c.equal("rigid, mu = 1.01 tan(alpha): contacts", s["contacts_mean"], 4)
h, s = play(exe, {"floor": floor(), "block": block("bc", damping=5e-3)}, 1e-3, 10000, {"p": at("block", [0.5, 0.5, 0.5])}, {"friction": 1.01 * np.tan(angle)}, slope(angle), every=100, options=["-snes_rtol", 1e-10])
c.below("bc, mu = 1.01 tan(alpha): way from step 5 000 to 10 000", np.max(np.abs(path(h, "p")[50:] - path(h, "p")[50])), 1e-9)
c.true("bc, mu = 1.01 tan(alpha): does lean and sink", abs(h["p_z"][-1] - 1) > 1e-5 and h["p_x"][-1] > 0.5, f"{h['p_x'][-1] - 0.5:.3g}, {h['p_z'][-1] - 1:.3g}")

steps, dt = 1000, 1e-3
for name, bodies, gravity, along in (("gravity turned", {"floor": floor(), "block": block("rigid")}, slope(angle), [1, 0, 0]),
                                     ("floor turned", {"floor": floor(rotate=[0, 30, 0], translate=[-0.5 * np.sin(angle), 0, -0.5 * np.cos(angle)]),
                                                       "block": block("rigid", rotate=[0, 30, 0], translate=[0.5 * np.sin(angle), 0, 0.5 * np.cos(angle)])}, [0, 0, -G],
                                      [np.cos(angle), 0, -np.sin(angle)])):
    for mu in (0, 0.5, 0.99):
        h, s = play(exe, bodies, dt, steps, {"p": at("block")}, {"friction": mu * np.tan(angle)}, gravity, options=["-snes_rtol", 1e-10])
        a = G * (np.sin(angle) - mu * np.sin(angle))
        way = (path(h, "p") - path(h, "p")[0]) @ along
        c.close(f"rigid, mu = {mu} tan(alpha), {name}: acceleration", way[-1], a / 2 * (steps * dt)**2, rtol=1e-8)
        c.close(f"rigid, mu = {mu} tan(alpha), {name}: straight", path(h, "p") - path(h, "p")[0], np.outer(way, along), atol=1e-9)
        m, v = 1e3, a * steps * dt
        c.close(f"rigid, mu = {mu} tan(alpha), {name}: work of friction", h["friction"][-1], -mu * np.tan(angle) * m * G * np.cos(angle) * way[-1], rtol=1e-7)
# bc, started at the sliding speed's own strain: what friction takes is mu N on the mean
h, s = play(exe, {"floor": floor(), "block": block("bc", damping=5e-3)}, 1e-3, 4000, {"p": at("block")}, {"friction": 0.9 * np.tan(angle)}, slope(angle), every=50)
late = h["time"] > 2
fit = np.polyfit(h["time"][late], h["p_vx"][late], 1)[0]
c.close("bc, mu = 0.9 tan(alpha): acceleration once it is calm", fit, G * 0.1 * np.sin(angle), rtol=1e-4)

# --- statics of the moment: a block with enough friction tips at tan(alpha) = width / height, not before ---
for r in (0.999, 1.001):
    angle = np.arctan(r * 0.5)
    h, s = play(exe, {"floor": floor(), "block": block("rigid", size=[1, 1, 2])}, 2e-3, 1000, {"p": at("block", [0, 0, 1])}, {"friction": 1.0}, slope(angle), every=10, options=["-snes_rtol", 1e-10])
    way = np.max(np.abs(h["p_x"]))
    if r < 1: c.below(f"slope of {r} tipping: top moves", way, 1e-9)
    else: c.true(f"slope of {r} tipping: top falls", way > 1e-3, f"{way:.3g}")  # G sin(1e-3)... / (8/3) t^2 / 2 = 1e-3 in 2 s at least
# no slip at all: a plate at 89 degrees, whose weight points at its base 0.286 of its length off the middle
plate = block("rigid", size=[1, 1, 0.01])
for mu in (".inf", "inf"):
    h, s = play(exe, {"floor": floor(), "block": plate}, 1e-3, 1000, {"p": at("block", [0.5, 0.5, 0])}, {"friction": mu}, slope(np.radians(89)), every=10, options=["-snes_rtol", 1e-10])
    c.below(f"friction {mu}, 89 degrees: way", np.max(np.abs(path(h, "p") - path(h, "p")[0])), 1e-9)
for mu, angle in (("inf", 20), ("inf", 45), (10, 40)):
    h, s = play(exe, {"floor": floor(), "block": block("bc", cells=[2, 2, 2], damping=5e-3)}, 1e-3, 1000, {"p": at("block", [0.5, 0, -0.5])}, {"friction": mu}, slope(np.radians(angle)), every=10)
    c.below(f"friction {mu}, {angle} degrees, bc: way of the foot", np.max(np.abs(path(h, "p") - path(h, "p")[0])), 1e-6)

plate = block("bc", size=[1, 1, 0.01], cells=[2, 2, 1], damping=5e-3)
h, s = play(exe, {"floor": floor(), "block": plate}, 1e-3, 1000, {"p": at("block", [0.5, 0.5, -0.005])}, {"friction": "inf"}, slope(np.radians(89)), every=10)
c.below("friction inf, 89 degrees, bc: way of a foot", np.max(np.abs(path(h, "p") - path(h, "p")[0])), 1e-6)

# --- what bears a block: resultant force and moment, also with a load off its middle, on a slope, turned about the normal ---
for formulation, steps in (("rigid", 5), ("bc", 4000)):
    for yaw, angle, push in ((0, 0, 0), (25, 0, 5e3), (25, 15, 2e3)):
        folder, gravity = temporary(), slope(np.radians(angle))
        a = np.radians(yaw)
        corners = {f"n{i}{j}{k}": (np.array([np.cos(a) * x - np.sin(a) * y, np.sin(a) * x + np.cos(a) * y, z]), 1.0 * (2 - abs(i - 1)) * (2 - abs(j - 1)) * (2 - abs(k - 1)) / 64)
                   for i, x in enumerate((-0.5, 0, 0.5)) for j, y in enumerate((-0.5, 0, 0.5)) for k, z in enumerate((-0.5, 0, 0.5))}  # nodes of 2 x 2 x 2 cells, and their masses
        h, _ = play(exe, {"floor": floor(), "block": block(formulation, cells=(1, 1, 1) if formulation == "rigid" else (2, 2, 2), rotate=[0, 0, yaw], **({"damping": 5e-3} if formulation == "bc" else {}))}, 1e-3, steps,
             {"load": at("block", [0.2, 0.1, 0.5]), **{n: at("block", x * 0.999999) for n, (x, _) in corners.items()}}, contact={"friction": 0.8}, gravity=gravity, every=steps, options=["-snes_rtol", 1e-10, "-output_pairs", f"{folder}/p.csv"],
             extra={"forces": ["push"], "push": {"body": "block", "offset": [0.2, 0.1, 0.5], "direction": [0, 0, -1], "value": push}} if push else None)
        with open(f"{folder}/p.csv") as f: rows = [line.strip().split(",") for line in f]
        last = dict(zip(rows[0], rows[-1]))
        force, moment = (np.array([float(last[f"{what}_{k}"]) for k in "xyz"]) for what in ("force", "moment"))
        load = 1e3 * np.array(gravity) - [0, 0, push]
        centre = sum(m * path(h, n)[-1] for n, (_, m) in corners.items())  # the elastic one leans, and its mass centre and the load's point with it
        arm = path(h, "load")[-1] - centre
        name = f"forces below a block, {formulation}, yaw {yaw}, slope {angle}, load {push:g}"
        c.close(f"{name}: force", force, -load, rtol=1e-6)
        c.close(f"{name}: moment about its centre", moment, -np.cross(arm, [0, 0, -push]), atol=1e-6 * np.linalg.norm(load))

# --- a heavy block on a light one; velocities of the merit's tolerance let the light one sink a little, less with a smaller one ---
for formulation in ("rigid", "bc"):
    heavy, light = block(formulation, z=1, density=1e7), block(formulation)
    heavy["material"] |= {"young": 1e11, "poisson": 0}
    light["material"] |= {"young": 1e10, "poisson": 0}
    if formulation == "bc": light["damping"], heavy["damping"] = 0.05, 1e-3  # 80 % of critical
    for rtol, depth in ((1e-8, 2e-6), (1e-11, 2e-9)):
        h, s = play(exe, {"floor": floor(), "heavy": heavy, "light": light}, 1e-3, 2000, {"a": at("light", [0, 0, 0.5]), "b": at("heavy", [0, 0, -0.5])}, {"friction": 0.5}, [0, 0, -G], every=20, options=["-snes_rtol", rtol])
        name = f"10 000 : 1, {formulation}, rtol {rtol}"
        c.below(f"{name}: penetration", s["largest_penetration"], depth)
        if formulation == "rigid": c.below(f"{name}: moves", np.max(np.abs(np.concatenate([path(h, "a") - [0, 0, 1], path(h, "b") - [0, 0, 1]]))), depth)
        else: c.close(f"{name}: light block is pressed by weight / (E A)", h["a_z"][-1] - 1, -(1e7 + 0.5e3) * G / 1e10, rtol=1e-6, atol=depth)
        c.equal(f"{name}: steps not converged", s["steps_not_converged"], 0)

# --- twenty cubes on each other ---
n = 20
# a tower of 20 : 1 rocks for long after a tap, as it should (an impact takes 1 - (1 - 1.5 sin^2)^2 = 0.7 % of its energy): damping calms it
stack = {f"b{i}": block("rigid", z=i, mass_damping=5) for i in range(n)}
probes = {f"p{i}": at(f"b{i}", [0.5, 0.5, 0.5]) for i in range(n)}
h, s = play(exe, {"floor": floor(), **stack}, 1e-3, 4000, probes, {"friction": 0.5}, [0, 0, -G], options=["-snes_rtol", 1e-8, "-snes_type", "auto"],
            extra={"forces": ["tap"], "tap": {"body": "b10", "offset": [0.5, 0, 0.3], "direction": [-1, 0, 0], "value": "t > 1.0 ? (t < 1.01 ? 2e5 : 0) : 0"}})  # friction bears 9.5e4 N
it, way = h["snes_iterations"], np.stack([path(h, f"p{i}") for i in range(n)], 1)
c.below("stack of 20: iterations of the first step", it[1], 50)
c.below("stack of 20: most iterations of steps 10 to 1 000", np.max(it[10:1001]), 2)
c.below("stack of 20: mean iterations of steps 10 to 1 000", np.mean(it[10:1001]), 1)
c.below("stack of 20: way in 1 000 steps", np.max(np.abs(way[:1001] - way[0])), 1e-6)
c.equal("stack of 20: contacts", set(h["contacts"][1:1001]), {80.0})
moved = np.max(np.abs(way[-1] - way[0]), 1)
v = np.abs(np.stack([h[f"p{i}_v{k}"] for i in range(n) for k in "xyz"], 1))
most = np.max(np.abs(way - way[0]), (0, 2))
c.true("stack of 20, tapped: the block and those above move meanwhile", np.min(most[10:]) > 1e-4, f"{np.min(most[10:]):.3g}, {np.max(most):.3g}")
c.below("stack of 20, tapped: still stands, moved by", np.max(moved), 0.1)
c.below("stack of 20, tapped: velocities at the end, of the largest", np.max(v[-20:]) / np.max(v), 1e-4)
c.below("stack of 20, tapped: most iterations of the last 200 steps", np.max(it[-200:]), 2)
c.equal("stack of 20, tapped: steps not converged", s["steps_not_converged"], 0)
print({k: s[k] for k in ("SNES_iterations_mean", "SNES_iterations_max", "dual_solves_mean", "rows_with_half_theta", "largest_penetration")})
c.finish()
