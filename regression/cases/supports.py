"""Supports, prescribed motion and balls: energies, weights, stretches and tracks against exact values; eliminated or kept as rows, on one rank or several."""
import json, os
from common import *
from reference import rotation, simulate

exe, root = arguments()
c = Checks()
folder = temporary()
reactions = os.path.join(folder, "reactions.csv")


def runs(sections, dt, steps, constraints, probes=None, every=1, options=(), ranks=1, **extra):
    """History, and the reactions: {name: rows of time, force, moment}."""
    if os.path.exists(reactions): os.remove(reactions)
    h = simulate(exe, sections, dt, steps, probes, every, {"constraints": list(constraints), **constraints, **extra}, ["-output_reactions", reactions, *options], ranks)
    with open(reactions) as f: rows = [line.split(",") for line in f.read().splitlines()]
    if rows[0] != ["time", "name", "fx", "fy", "fz", "mx", "my", "mz"]: fail(f"reactions: {rows[0]}")
    return h, {n: np.array([[float(r[0])] + [float(x) for x in r[2:]] for r in rows[1:] if r[1] == n]) for n in constraints}


def vector(h, p, v=""): return np.stack([h[f"{p}_{v}{k}"] for k in "xyz"], 1)
def change(h, k): return np.max(np.abs(h[k] - h[k][0]))


g = 10.0
rod = {"mesh": {"type": "box", "size": [1, 0.2, 0.1]}, "material": {"density": 1e3}, "formulation": "rigid", "translate": [0.5, 0, 0]}
m, Jy, Jz = 20.0, 20 * (1 + 0.01) / 12 + 20 * 0.25, 20 * (1 + 0.04) / 12 + 20 * 0.25  # about an end
ends = {"near": {"body": "rod", "point": [0, 0, 0]}, "far": {"body": "rod", "point": [1, 0, 0]}}
pin = {"pin": {"type": "fixed", "body": "rod", "point": [0, 0, 0]}}

# --- a rigid pendulum, plane and in space: energy over 1e4 steps; the held point stays within c h^2 and does not wander off ---
for name, spin in (("plane", [0, 0, 0]), ("in space", [3, 1, 2])):
    gaps = []
    for dt in (2e-3, 1e-3):
        body = {**rod, "angular_velocity": spin, "velocity": list(np.cross(spin, [0.5, 0, 0]))}
        h, r = runs({"rod": body}, dt, 10000, pin, ends, every=5, gravity=[0, 0, -g])
        energy = h["kinetic"] - h["external"]
        c.below(f"pendulum {name}, {dt:g}: energy", np.max(np.abs(energy - energy[0])) / np.max(h["kinetic"]), 1e-12)
        c.below(f"pendulum {name}, {dt:g}: work of the pin", change(h, "constraint") / np.max(h["kinetic"]), 1e-12)
        gap = np.linalg.norm(vector(h, "near"), axis=1)
        half = len(gap) // 2
        c.below(f"pendulum {name}, {dt:g}: the pin's drift, second half by first", np.max(gap[half:]) / np.max(gap[:half]), 1.2)
        gaps.append(np.max(gap))
    c.order(f"pendulum {name}: order of the pin's drift", [2, 1], gaps, 1.9, 2.1)
    c.below(f"pendulum {name}: the pin's drift at 1e-3", gaps[-1], 4e-6)


# --- its motion and its reaction, against the equation phi'' = -(m g / 2 J) cos(phi) in small steps ---
def swing(t, n=20000):
    y, k = np.zeros(2), t / n
    d = lambda y: np.array([y[1], -m * g / 2 / Jy * np.cos(y[0])])
    for _ in range(n):
        a = d(y); b = d(y + k / 2 * a); e = d(y + k / 2 * b); y = y + k / 6 * (a + 2 * b + 2 * e + d(y + k * e))
    return y


phi, omega = swing(1.0)
errors, forces = [], []
for n in (250, 500, 1000):
    h, r = runs({"rod": rod}, 1 / n, n, pin, ends, gravity=[0, 0, -g])
    errors.append(np.linalg.norm(vector(h, "far")[-1] - [np.cos(phi), 0, np.sin(phi)]))
    # F = m (a - g) of the centre, at the last half step
    p, w = swing(1 - 0.5 / n)
    a = 0.5 * (-w * w * np.array([np.cos(p), np.sin(p)]) - m * g / 2 / Jy * np.cos(p) * np.array([-np.sin(p), np.cos(p)]))
    forces.append(np.linalg.norm(r["pin"][-1, [1, 3]] - m * (a + [0, g])))
    c.below(f"pendulum, {n} steps: the reaction is smooth", np.max(np.abs(np.diff(r["pin"][:, 3], 3))) / (m * g), 40 / n**2)
c.order("pendulum: order of the motion", [4, 2, 1], errors, 1.9, 2.1)
c.order("pendulum: order of the reaction", [4, 2, 1], forces, 1.8, 2.2)

# --- a start that contradicts the pin: the impulse keeps the angular momentum about it, and the reaction is m omega^2 / 2 from the third step on ---
h, r = runs({"rod": {**rod, "angular_velocity": [0, 0, 2]}}, 1e-3, 100, pin, {"centre": {"body": "rod", "offset": [0, 0, 0]}})
spin = 2 * (Jz - m / 4) / Jz
c.close("sudden pin: speed", np.linalg.norm(vector(h, "centre", "v")[2:], axis=1), np.full(99, spin / 2), rtol=1e-5)
c.close("sudden pin: reaction", np.linalg.norm(r["pin"][2:, 1:4], axis=1), np.full(98, m * spin**2 / 2), rtol=1e-4)
c.below("sudden pin: balance", change(h, "total"), 1e-12 * h["kinetic"][0])

# --- what hangs pulls with its weight; a point outside of a rigid body; sets of nodes, of which a rigid body needs only some ---
block = {"mesh": {"type": "box", "size": [0.2, 0.3, 0.4], "cells": [2, 2, 2]}, "material": {"young": 1e6, "poisson": 0.3, "density": 1e3}, "translate": [1, 2, 3]}
weight = 24 * g
for formulation, places in (("rigid", ({"side": "z_max"}, {"offset": [0, 0, 0.2]}, {"point": [1, 2, 4.5]})), ("bc", ({"side": "z_max"}, {"offset": [0, 0, 0.2]}))):
    for where in places:
        for eliminate in ("true", "false"):
            body = {**block, "formulation": formulation, **({"damping": 5e-3} if formulation == "bc" else {})}
            h, r = runs({"block": body}, 2e-3, 1500 if formulation == "bc" else 50, {"hook": {"type": "fixed", "body": "block", **where}}, every=10, gravity=[0, 0, -g],
                        options=["-constraints_eliminate", eliminate, "-snes_rtol", 1e-13])
            name = f"hung block, {formulation}, {list(where)[0]}, eliminate {eliminate}"
            c.close(f"{name}: weight", r["hook"][-1, 1:4], [0, 0, weight], rtol=1e-10)
            # the set's first point is a corner
            c.close(f"{name}: moment", r["hook"][-1, 4:], [0.15 * weight, -0.1 * weight, 0] if "side" in where else [0, 0, 0], atol=1e-9 * weight)
            c.below(f"{name}: balance", change(h, "total"), 1e-10 * max(np.max(np.abs(h["external"])), 1e-3))

# --- a bar that hangs by its upper face: elongation rho g L^2 / (2 E) ---
bar = {"mesh": {"type": "box", "size": [0.1, 0.1, 1], "cells": [2, 2, 8]}, "material": {"young": 1e6, "poisson": 0, "density": 1e3}, "formulation": "bc", "damping": 0.05}
h, r = runs({"bar": bar}, 5e-3, 1200, {"top": {"type": "fixed", "body": "bar", "side": "z_max"}}, {"tip": {"body": "bar", "point": [0, 0, -0.5]}}, every=10, gravity=[0, 0, -g])
c.close("hung bar: elongation", -0.5 - h["tip_z"][-1], 1e3 * g / 2e6, rtol=1e-9)
c.close("hung bar: reaction", r["top"][-1, 1:4], [0, 0, 100], rtol=1e-10)
c.below("hung bar: balance", change(h, "total"), 1e-10 * np.max(np.abs(h["external"])))

# --- a bar stretched by its end: uniform strain and force E A strain at rest; a table with corners is followed, too ---
bar = {**bar, "mesh": {**bar["mesh"], "cells": [1, 1, 4]}, "material": {**bar["material"], "poisson": 0.3}}
with open(os.path.join(folder, "pull.csv"), "w") as f: f.write("t,value\n0,0.5\n0.5,0.51\n9,0.51\n")
for value, track in (("0.01*(t<1?sin(pi/2*t)^2:1)".replace("pi/2", repr(np.pi / 2)), lambda t: np.where(t < 1, 0.01 * np.sin(np.pi / 2 * t)**2, 0.01)), (os.path.join(folder, "pull.csv"), lambda t: np.interp(t, [0, 0.5], [0, 0.01]))):
    constraints = {"low": {"type": "direction", "direction": [0, 0, 3], "body": "bar", "side": "z_min"}, "up": {"type": "displacement", "direction": [0, 0, 0.5], "body": "bar", "side": "z_max", "value": value},
                   "corner": {"type": "direction", "direction": [0, 1, 0], "body": "bar", "point": [0.05, 0.05, -0.5]}, "edge": {"type": "direction", "direction": [1, 0, 0], "body": "bar", "point": [0.05, 0.05, -0.5]},
                   "turn": {"type": "direction", "direction": [1, 0, 0], "body": "bar", "point": [0.05, -0.05, -0.5]}}
    h, r = runs({"bar": bar}, 5e-3, 1000, constraints, {"mid": {"body": "bar", "point": [0.05, 0.05, 0]}, "other": {"body": "bar", "point": [-0.05, -0.05, 0]}, "end": {"body": "bar", "point": [0, 0, 0.5]}})
    name = "stretched bar, " + ("table" if "csv" in value else "expression")
    error = np.abs(h["end_z"] - 0.5 - track(h["time"]))
    late = np.array([k not in (1, 101) for k in range(1001)])  # a step after a corner it is h/4 of the jump of the velocity behind
    c.below(f"{name}: track", np.max(error[late]), 1e-8)
    c.below(f"{name}: track after corners", np.max(error), 5e-3 / 4 * 0.02 * 1.001)
    c.close(f"{name}: middle", h["mid_z"][-1], 0.005, rtol=1e-7)
    c.close(f"{name}: width", h["mid_x"][-1] - h["other_x"][-1], 0.1 - 0.3 * 0.01 * 0.1, rtol=1e-10)
    c.close(f"{name}: force", [r["up"][-1, 3], r["low"][-1, 3]], [100.0, -100.0], rtol=1e-8)
    c.below(f"{name}: balance", change(h, "total"), 1e-7 * np.max(np.abs(h["constraint"])))

# --- a point of a swinging rigid body that is led: track, balance to round-off of the work, smooth forces ---
for kind, value, track in (("displacement", "0.1*(1-cos(3*t))", lambda t: 0.1 * (1 - np.cos(3 * t))), ("velocity", "0.3*sin(3*t)", lambda t: 0.1 * (1 - np.cos(3 * t))), ("displacement", "0.2*t", lambda t: 0.2 * t)):
    errors = []
    for n in (500, 1000):
        h, r = runs({"rod": rod}, 2 / n, n, {"lead": {"type": kind, "direction": [1, 0, 0], "body": "rod", "point": [0, 0, 0], "value": value},
                                             "rail": {"type": "direction", "direction": [0, 0, 1], "body": "rod", "point": [0, 0, 0]}}, ends, gravity=[0, 0, -g])
        errors.append(np.max(np.abs(h["near_x"] - track(h["time"]))[3:]))
        c.below(f"lead, {kind} {value}, {n}: balance", change(h, "total"), 1e-10 * (np.max(np.abs(h["external"])) + np.max(np.abs(h["constraint"]))))
        c.below(f"lead, {kind} {value}, {n}: forces are smooth", np.max(np.abs(np.diff(r["lead"][4:, 1], 3))) / np.max(np.abs(r["lead"][4:, 1])), 1e3 / n**2)
    c.order(f"lead, {kind} {value}: order of the track", [2, 1], errors, 1.9, 4.1)
    c.below(f"lead, {kind} {value}: track", errors[-1], 4e-5)

# --- a ball on an obstacle that goes and turns; one on an obstacle at rest is a fixed point ---
wall = {"mesh": {"type": "box", "size": [0.1, 0.1, 0.1]}, "formulation": "obstacle", "translate": [-0.5, 0, 0]}
errors = []
for n in (500, 1000):
    h, r = runs({"rod": rod, "wall": {**wall, "motion_y": "0.05*sin(5*t)", "motion_rz": "20*sin(3*t)"}}, 2 / n, n, {"ball": {"type": "ball", "body": "rod", "other": "wall", "point": [0, 0, 0]}}, ends, gravity=[0, 0, -g], contact={"enabled": False})
    path = [np.array([-0.5, 0.05 * np.sin(5 * t), 0]) + rotation(np.radians([0, 0, 20 * np.sin(3 * t)])) @ [0.5, 0, 0] for t in h["time"]]
    errors.append(np.max(np.linalg.norm(vector(h, "near") - path, axis=1)[3:]))
    c.below(f"ball on an obstacle, {n}: balance", change(h, "total"), 1e-10 * np.max(np.abs(h["constraint"])))
    c.below(f"ball on an obstacle, {n}: forces are smooth", np.max(np.abs(np.diff(r["ball"][4:, 1:4], 3, axis=0))) / m / g, 1e4 / n**2)
c.order("ball on an obstacle: order of the track", [2, 1], errors, 1.9, 3.1)
c.below("ball on an obstacle: track", errors[-1], 1e-6)
a, ra = runs({"rod": rod, "wall": wall}, 2e-3, 200, {"ball": {"type": "ball", "body": "rod", "other": "wall", "point": [0, 0, 0]}}, ends, gravity=[0, 0, -g], contact={"enabled": False})
b, rb = runs({"rod": rod}, 2e-3, 200, pin, ends, gravity=[0, 0, -g])
c.true("ball on an obstacle at rest: the motion of a fixed point", all(np.array_equal(a[k], b[k]) for k in b))
c.true("ball on an obstacle at rest: its forces", np.array_equal(ra["ball"], rb["pin"]))

# --- a double pendulum: energy, gaps of the joints ---
two = {"one": {**rod}, "two": {**rod, "rotate": [0, 0, 90], "translate": [1, 0.5, 0]}}
joints = {"pin": {"type": "fixed", "body": "one", "point": [0, 0, 0]}, "ball": {"type": "ball", "body": "two", "other": "one", "point": [1, 0, 0]}}
gaps = []
for dt in (2e-3, 1e-3):
    h, r = runs(two, dt, round(5 / dt), joints, {"a": {"body": "one", "point": [1, 0, 0]}, "b": {"body": "two", "point": [1, 0, 0]}}, gravity=[0, 0, -g], contact={"enabled": False})
    energy = h["kinetic"] - h["external"]
    c.below(f"double pendulum, {dt:g}: energy", np.max(np.abs(energy - energy[0])) / np.max(h["kinetic"]), 1e-9)
    gaps.append(np.max(np.linalg.norm(vector(h, "a") - vector(h, "b"), axis=1)))
c.order("double pendulum: order of the joint's gap", [2, 1], gaps, 1.9, 2.1)
c.below("double pendulum: the joint's gap at 1e-3", gaps[-1], 5e-5)

# --- a soft bar that spins about a held point: second order, and the point does not move at all ---
soft = {**rod, "mesh": {**rod["mesh"], "cells": [4, 1, 1]}, "material": {"young": 1e6, "poisson": 0.3, "density": 1e3}, "angular_velocity": [0, 0, 2], "velocity": [0, 1, 0]}
for formulation in ("bc", "tl"):
    where = []
    for n in (100, 200, 400, 800):
        h, r = runs({"rod": {**soft, "formulation": formulation}}, 0.5 / n, n, pin, ends, gravity=[0, 0, -g])
        where.append(vector(h, "far")[-1])
        c.below(f"spinning bar, {formulation}, {n}: the held point", np.max(np.abs(vector(h, "near"))), 1e-14)
        c.below(f"spinning bar, {formulation}, {n}: work of the pin", change(h, "constraint"), 1e-12 * np.max(h["kinetic"]))
    d = np.linalg.norm(np.diff(where, axis=0), axis=1)
    c.between(f"spinning bar, {formulation}: order", np.log2(d[0] / d[2]) / 2, 1.8, 2.2)

# --- with contact and friction: eliminated or not, the motion is the same ---
bodies = {"low": {"mesh": {"type": "box", "size": [0.4, 0.4, 0.2], "cells": [4, 4, 2]}, "material": {"young": 1e6, "poisson": 0.3, "density": 1e3}, "formulation": "bc", "damping": 1e-3},
          "up": {"mesh": {"type": "box", "size": [0.2, 0.2, 0.2], "cells": [2, 2, 2]}, "material": {"density": 2e3}, "formulation": "rigid", "translate": [0.03, 0.02, 0.205], "velocity": [0.3, 0.1, -0.2]},
          "ram": {"mesh": {"type": "box", "size": [0.1, 0.1, 0.6]}, "material": {"density": 2e3}, "formulation": "rigid", "translate": [0.27, 0.02, 0.42], "velocity": [-0.6, 0, 0], "angular_velocity": [0, 2, 0]}}
constraints = {"foot": {"type": "fixed", "body": "low", "side": "z_min"}, "hook": {"type": "fixed", "body": "ram", "offset": [0, 0, 0.3]},
               "lead": {"type": "displacement", "body": "up", "offset": [0, 0, 0], "direction": [0, 1, 0], "value": "0.1*t+0.05*(1-cos(3*t))"}}
probes = {"a": {"body": "up", "offset": [0.1, 0, 0]}, "b": {"body": "low", "point": [0.2, 0.2, 0.1]}, "d": {"body": "ram", "offset": [0, 0, -0.3]}}
out = [runs(bodies, 1e-3, 200, constraints, probes, gravity=[0, 0, -g], contact={"friction": 0.4}, options=["-constraints_eliminate", e, "-snes_rtol", 1e-11]) for e in ("true", "false")]
c.true("with contact: bodies touch", np.max(out[0][0]["contacts"]) >= 8, f"{np.max(out[0][0]['contacts']):g}")
free, _ = runs(bodies, 1e-3, 200, constraints, probes, gravity=[0, 0, -g], contact={"enabled": False})
c.true("with contact: the ram strikes", np.max(np.abs(out[0][0]["d_x"] - free["d_x"])) > 1e-3, f"{np.max(np.abs(out[0][0]['d_x'] - free['d_x'])):.3g}")
for p in probes:
    c.close(f"with contact, eliminated or not: position of {p}", vector(out[0][0], p), vector(out[1][0], p), atol=1e-9)
    c.close(f"with contact, eliminated or not: velocity of {p}", vector(out[0][0], p, "v"), vector(out[1][0], p, "v"), atol=1e-7)
for k in ("constraint", "contact", "friction"): c.close(f"with contact, eliminated or not: {k}", out[0][0][k], out[1][0][k], rtol=1e-7)
for k in constraints: c.close(f"with contact, eliminated or not: reaction of {k}", out[0][1][k], out[1][1][k], rtol=1e-5)

# --- contacts between what cannot move (held bodies, held nodes on an obstacle) are no trouble, and a held body bears what slides on it ---
floor = {"mesh": {"type": "box", "size": [2, 2, 0.2]}, "formulation": "obstacle", "translate": [0, 0, -0.2]}
for formulation in ("rigid", "bc"):
    brick = {"mesh": {"type": "box", "size": [0.2, 0.2, 0.2], "cells": [2, 2, 2]}, "material": {"young": 1e6, "poisson": 0.3, "density": 2e3}, "formulation": formulation, "damping": 0 if formulation == "rigid" else 5e-3}
    for held in ("low", "*"):
        out = [runs({"floor": floor, "low": brick, "up": {**brick, "translate": [0.03, 0, 0.2], "velocity": [0.2, 0.1, 0] if held == "low" else [0, 0, 0]}}, 2e-3, 200, {"hold": {"type": "fixed", "body": held, "side": "z_min"}}, {"q": {"body": "up", "offset": [0.1, 0.1, 0.1]}},
                    gravity=[0, 0, -g], contact={"friction": 0.3}, options=["-constraints_eliminate", e, "-snes_rtol", 1e-11]) for e in ("true", "false")]
        c.close(f"held on the floor, {formulation}, {held}: eliminated or not", vector(out[0][0], "q"), vector(out[1][0], "q"), atol=1e-9)
        if formulation == "rigid": # at rest by now; nothing goes into the floor
            c.close(f"held on the floor, {formulation}, {held}: weight", out[0][1]["hold"][-1, 3], 320, rtol=1e-6)
            way = out[0][0]["q_x"][-1] - out[0][0]["q_x"][0]
            c.close(f"held on the floor, {formulation}, {held}: way", way, 0.2 * np.hypot(0.2, 0.1) / 6 if held == "low" else 0, rtol=0.05, atol=1e-12)

# --- ranks: a chain of balls between soft and rigid links, on a moving obstacle, with supports by a pattern ---
link = {"mesh": {"type": "box", "size": [1, 0.1, 0.1]}, "material": {"young": 1e7, "poisson": 0.3, "density": 1e3}}
chain = {f"link{i}": {**link, "formulation": "rigid" if i % 2 else "bc", "translate": [i + 0.5, 0, 0]} for i in range(5)}
chain["wall"] = {**link, "formulation": "obstacle", "translate": [-0.5, 0, 0], "motion_y": "0.05*(1-cos(5*t))"}
constraints = {"top": {"type": "ball", "body": "link0", "other": "wall", "point": [0, 0, 0]}, "end": {"type": "velocity", "direction": [0, 1, 0], "body": "link4", "offset": [0.5, 0, 0], "value": "0.1*t"},
               "all": {"type": "direction", "direction": [0, 1, 0], "body": "link[13]", "offset": [0, 0, 0]}, **{f"ball{i}": {"type": "ball", "body": f"link{i}", "other": f"link{i - 1}", "point": [i, 0, 0]} for i in range(1, 5)}}
probes = {f"q{i}": {"body": f"link{i}", "offset": [0.5, 0, 0]} for i in range(5)}
first = None
for eliminate in ("true", "false"):
    for ranks in (1, 2, 3):
        h, r = runs(chain, 2e-3, 100, constraints, probes, gravity=[0, 0, -g], contact={"enabled": False}, options=["-constraints_eliminate", eliminate, "-snes_rtol", 1e-12], ranks=ranks)
        if first is None: first = h, r
        else:
            for p in probes: c.close(f"chain, eliminate {eliminate}, {ranks} ranks: {p}", vector(h, p), vector(first[0], p), atol=1e-9)
            for k in constraints: c.close(f"chain, eliminate {eliminate}, {ranks} ranks: reaction of {k}", r[k], first[1][k], rtol=1e-6)
            c.close(f"chain, eliminate {eliminate}, {ranks} ranks: constraint", h["constraint"], first[0]["constraint"], rtol=1e-8)
c.true("chain: all links move", all(np.max(np.abs(vector(first[0], p)[-1] - vector(first[0], p)[0])) > 1e-3 for p in probes))

# --- a restarted run goes on as if nothing had been; what contradicts is told ---
m = {"ts": {"dt": 1e-3, "max_steps": 40}, "bodies": ["rod"], "rod": {**soft, "formulation": "bc"}, "constraints": ["rail", "lead"], "rail": {"type": "direction", "body": "rod", "side": "x_min", "direction": [0, 0, 1]}, "gravity": [0, 0, -g],
     "lead": {"type": "displacement", "body": "rod", "offset": [0, 0, 0.05], "direction": [1, 0, 0], "value": "0.1*sin(t)"}, "output": {"digits": 17}}
with open(os.path.join(folder, "m.yml"), "w") as f: json.dump(m, f)
whole = run(exe, ["-options_file", "m.yml", "-output_history", "a.csv", "-output_reactions", "b.csv", "-checkpoint", "c.h5", "-checkpoint_every", 20], directory=folder)
run(exe, ["-options_file", "m.yml", "-output_history", "d.csv", "-output_reactions", "e.csv", "-checkpoint", "f.h5", "-ts_max_steps", 20], directory=folder)
run(exe, ["-options_file", "m.yml", "-output_history", "d.csv", "-output_reactions", "e.csv", "-restart", "f.h5"], directory=folder)
for x, y in (("a", "d"), ("b", "e")):
    with open(os.path.join(folder, f"{x}.csv")) as f, open(os.path.join(folder, f"{y}.csv")) as k: c.true(f"restart: {x}.csv", f.read() == k.read())
m = {"ts": {"dt": 1e-3, "max_steps": 40}, "bodies": ["rod"], "rod": rod, "constraints": ["left", "right"], "left": {"type": "velocity", "value": 1, "direction": [1, 0, 0], "body": "rod", "point": [0, 0, 0]},
     "right": {"type": "velocity", "value": 1.5, "direction": [1, 0, 0], "body": "rod", "point": [1, 0, 0]}}
with open(os.path.join(folder, "m.yml"), "w") as f: json.dump(m, f)
r = run(exe, ["-options_file", "m.yml"], directory=folder, check=False)
c.true("contradiction: one line", r.code == 1 and len(r.err.strip().splitlines()) == 1 and all(w in r.err for w in ("'rod'", "contradict", "t = 0")), r.err.strip())
m["right"]["value"] = 1
with open(os.path.join(folder, "m.yml"), "w") as f: json.dump(m, f)
c.equal("the same twice is no contradiction", run(exe, ["-options_file", "m.yml"], directory=folder).code, 0)
c.finish()
