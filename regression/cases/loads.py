"""Gravity, point forces, damping by mass and prescribed motions against exact values: impulse, work, torque, way and velocity."""
import os
from common import *
from reference import rotation, simulate

exe, root = arguments()
c = Checks()
solid = {"mesh": {"type": "box", "size": [0.2, 0.4, 0.6], "cells": [2, 2, 2]}, "material": {"young": 1e7, "poisson": 0.3, "density": 1e3}, "rotate": [30, 50, -20], "translate": [1, 2, 3]}
mass, centre = 48.0, np.array([1.0, 2, 3])
at = {"c": {"body": "solid", "offset": [0, 0, 0]}}


def vector(h, p, v=""): return np.stack([h[f"{p}_{v}{k}"] for k in "xyz"], 1)


# --- gravity that changes: the momentum is the sum of the half steps' impulses, and goes to the integral with second order ---
g, exact = ["3*cos(2*t)", "t^2", "-9.81"], lambda t: np.array([1.5 * np.sin(2 * t), t**3 / 3, -9.81 * t])
for formulation in ("tl", "bc", "rigid"):
    errors = []
    for n in (50, 100):
        h = simulate(exe, {"solid": {**solid, "formulation": formulation, "velocity": [1, 0, 2], "angular_velocity": [0, 0, 0]}}, 1 / n, n, at, extra={"gravity": g})
        mid = (np.arange(n) + 0.5) / n
        v = np.array([1.0, 0, 2]) + np.vstack([np.zeros(3), np.cumsum(np.stack([3 * np.cos(2 * mid), mid**2, -9.81 + 0 * mid], 1) / n, 0)])
        c.close(f"gravity, {formulation}, {n} steps: velocity", vector(h, "c", "v"), v, rtol=1e-12)
        c.close(f"gravity, {formulation}, {n} steps: way", vector(h, "c") - centre, np.vstack([np.zeros(3), np.cumsum((v[1:] + v[:-1]) / 2 / n, 0)]), rtol=1e-12)
        c.close(f"gravity, {formulation}, {n} steps: work", h["external"], mass / 2 * ((v * v).sum(1) - 5), rtol=1e-12)
        errors.append(np.linalg.norm(v[-1] - exact(1) - [1, 0, 2]))
    c.order(f"gravity, {formulation}: order of the impulse", [1 / 50, 1 / 100], errors, 1.95, 2.05)

# --- a force through the mass centre, from a table whose corners are at whole steps: the impulse is the area, exactly ---
folder = temporary()
with open(os.path.join(folder, "push.csv"), "w") as f: f.write("t,value\n0,0\n0.2,60\n0.5,-30\n1,90\n")
area = lambda t: np.interp(t, [0, 0.2, 0.5, 1], [0, 6, 6 + 4.5, 10.5 + 15])
for formulation in ("tl", "bc", "rigid"):
    h = simulate(exe, {"solid": {**solid, "formulation": formulation}}, 0.01, 100, at,
                 extra={"forces": ["push"], "push": {"body": "s*", "offset": [0, 0, 0], "direction": [1, -2, 0.5], "value": os.path.join(folder, "push.csv")}})
    for t in (0.2, 0.5, 1):
        p = area(t) * np.array([1, -2, 0.5])
        row = round(100 * t)
        if formulation == "rigid":  # the others sway about their mean velocity
            c.close(f"table, {formulation}: impulse at {t}", mass * vector(h, "c", "v")[row], p, rtol=1e-12)
            c.close(f"table, {formulation}: work at {t}", h["external"][row], p @ p / (2 * mass), rtol=1e-12)
        c.below(f"table, {formulation}: balance at {t}", abs(h["total"][row]), 1e-6 * h["external"][-1])
        c.true(f"table, {formulation}: energy at {t}", h["kinetic"][row] >= (1 - 1e-12) * p @ p / (2 * mass), f"{h['kinetic'][row]:.6g}, at least {p @ p / (2 * mass):.6g}")

# --- a force of fixed direction at the face of a cube: phi'' = r F cos(phi) / J, while the centre moves as a point ---
F, r, J, m = 50.0, 0.1, 0.2**2 * 8 / 6, 8.0


def pendulum(t, n=4000):
    y, k = np.zeros(2), t / n
    d = lambda y: np.array([y[1], r * F * np.cos(y[0]) / J])
    for _ in range(n):
        a = d(y); b = d(y + k / 2 * a); e = d(y + k / 2 * b); y = y + k / 6 * (a + 2 * b + 2 * e + d(y + k * e))
    return y


phi, omega = pendulum(1.0)
cube = {"mesh": {"type": "box", "size": [0.2, 0.2, 0.2], "cells": [1, 1, 1]}, "material": {"density": 1e3}, "formulation": "rigid", "translate": [1, 2, 3]}
errors = []
for n in (100, 200, 400):
    h = simulate(exe, {"solid": cube}, 1 / n, n, {"c": {"body": "solid", "offset": [0, 0, 0]}, "e": {"body": "solid", "offset": [0.1, 0, 0]}},
                 extra={"forces": ["push"], "push": {"body": "solid", "offset": [0.1, 0, 0], "direction": [0, 1, 0], "value": F}})
    arm = vector(h, "e")[-1] - vector(h, "c")[-1]
    errors.append(np.linalg.norm(arm - r * np.array([np.cos(phi), np.sin(phi), 0])))
    c.close(f"torque, {n} steps: way of the centre", vector(h, "c")[-1] - [1, 2, 3], [0, F / m / 2, 0], atol=1e-12)
    c.below(f"torque, {n} steps: balance", np.max(np.abs(h["total"])), 1e-12 * h["external"][-1])
    c.close(f"torque, {n} steps: length of the arm", np.linalg.norm(arm), r, rtol=1e-13)
c.order("torque: order", [1 / 100, 1 / 200, 1 / 400], errors, 1.9, 2.1)
c.below("torque: error at 1/400", errors[-1], 1e-4)

# --- a force that depends on place: a spring from x = 1 holds a body that starts at x = 1.5 ---
for formulation in ("rigid", "bc"):
    errors, k = [], 48.0 * 25
    for n in (100, 200, 400):
        h = simulate(exe, {"solid": {**solid, "translate": [1.5, 0, 0], "material": {**solid["material"], "young": 1e10}, "formulation": formulation}}, 2 / n, n, at,
                     extra={"forces": ["spring"], "spring": {"body": "solid", "offset": [0, 0, 0], "direction": [-k, 0, 0], "value": "x-1"}})
        errors.append(abs(h["c_x"][-1] - 1 - 0.5 * np.cos(10)))
        energy = h["kinetic"] + k / 2 * (h["c_x"] - 1)**2
        c.below(f"spring, {formulation}, {n} steps: energy with the spring", np.max(np.abs(energy - energy[0])) / energy[0], 25 * (2 / n)**2)
    c.order(f"spring, {formulation}: order", [1, 1 / 2, 1 / 4], errors, 1.9, 2.1)

# --- damping by mass: every step divides both momenta by (1 + a h/2) / (1 - a h/2) ---
a, dt, n = 3.0, 0.01, 100
factor = ((1 - a * dt / 2) / (1 + a * dt / 2))**np.arange(n + 1)
for formulation in ("tl", "bc", "rigid"):
    h = simulate(exe, {"solid": {**solid, "formulation": formulation, "velocity": [1, -2, 2], "mass_damping": a}}, dt, n, at)
    c.close(f"damping by mass, {formulation}: velocity", vector(h, "c", "v"), factor[:, None] * [1, -2, 2], rtol=1e-12)
    c.close(f"damping by mass, {formulation}: work", h["damping"], mass / 2 * 9 * (factor**2 - 1), rtol=1e-12)
    c.close(f"damping by mass, {formulation}: exponential", vector(h, "c", "v")[-1], np.exp(-a) * np.array([1, -2, 2]), rtol=1e-3)
    # a cube's J is round: it turns about the given axis, ever more slowly
    h = simulate(exe, {"solid": {**cube, "material": {**solid["material"], "young": 1e6}, "formulation": formulation, "angular_velocity": [0, 0, 2], "mass_damping": a}}, dt, n, {"e": {"body": "solid", "offset": [0.1, 0, 0]}})
    e = h["kinetic"] / h["kinetic"][0]
    c.close(f"damping by mass, {formulation}: rotation", e, factor**2, rtol=1e-12 if formulation == "rigid" else 1e-3)

# --- an obstacle goes where it is told, at the speed that belongs to it ---
move = {"motion_x": "0.3*sin(4*t)", "motion_z": "t^3", "motion_rx": "40*t", "motion_rz": "90*sin(t)"}
block = {"mesh": {"type": "box", "size": [1, 1, 1]}, "formulation": "obstacle", "rotate": [0, 0, 30], "translate": [5, 6, 7]}
point = np.array([5.1, 6.3, 6.8])
path = lambda t: np.array([5, 6, 7]) + [0.3 * np.sin(4 * t), 0, t**3] + rotation(np.radians([40 * t, 0, 90 * np.sin(t)])) @ (point - [5, 6, 7])
h = simulate(exe, {"block": {**block, **move}}, 0.01, 100, {"p": {"body": "block", "point": list(point)}})
c.close("obstacle: way", vector(h, "p"), [path(t) for t in h["time"]], rtol=1e-14)
five = lambda t, d=1e-3: (8 * (path(t + d) - path(t - d)) - (path(t + 2 * d) - path(t - 2 * d))) / (12 * d)
c.close("obstacle: velocity", vector(h, "p", "v"), [five(t) for t in h["time"]], atol=1e-6)
h = simulate(exe, {"block": {**block, "velocity": [1, 2, 3], "angular_velocity": [0.5, 0, -1]}}, 0.01, 100, {"p": {"body": "block", "point": list(point)}})
path = lambda t: np.array([5, 6, 7]) + t * np.array([1, 2, 3]) + rotation(t * np.array([0.5, 0, -1])) @ (point - [5, 6, 7])
c.close("steady obstacle: way", vector(h, "p"), [path(t) for t in h["time"]], rtol=1e-14)
c.close("steady obstacle: velocity", vector(h, "p", "v"), [np.array([1, 2, 3]) + np.cross([0.5, 0, -1], path(t) - [5, 6, 7] - t * np.array([1, 2, 3])) for t in h["time"]], atol=1e-6)
with open(os.path.join(folder, "way.csv"), "w") as f: f.write("t,value\n0,0\n0.5,2\n1,2\n")
h = simulate(exe, {"block": {**block, "motion_y": os.path.join(folder, "way.csv")}}, 0.01, 100, {"p": {"body": "block", "point": list(point)}})
c.close("obstacle by a table: way", h["p_y"] - point[1], np.interp(h["time"], [0, 0.5, 1], [0, 2, 2]), atol=1e-13)
inside = np.abs(h["time"] - 0.5) > 0.005
c.close("obstacle by a table: velocity", h["p_vy"][1:-1][inside[1:-1]], np.where(h["time"] < 0.5, 4.0, 0.0)[1:-1][inside[1:-1]], atol=1e-6)
c.finish()
