"""Impacts: restitution, a point that sticks or slides, bodies that collide free in space, and an elastic bar on a wall, against the laws of impact of rigid bodies and the wave equation."""
import itertools
from common import *

exe, root = arguments()
c = Checks()
tight = ["-snes_rtol", 1e-10]
at = lambda body, offset=(0, 0, 0): {"body": body, "offset": list(offset)}
floor = {"mesh": {"type": "box", "size": [10, 10, 1]}, "translate": [0, 0, -0.5], "formulation": "obstacle"}


def block(size, formulation="rigid", density=1e3, cells=(1, 1, 1), **more):
    return {"mesh": {"type": "box", "size": list(size), "cells": list(cells)}, "material": {"young": 1e4, "poisson": 0, "density": density}, "formulation": formulation, **more}


choices = list(itertools.product(("gap", "velocity"), ("safe", "paper")))

# --- restitution, face on face: on a floor, and two free bodies of 1 : 3 ---
for (law, theta), e in itertools.product(choices, (0, 0.5, 1)):
    contact = {"restitution": e, "friction": 0.3, "signorini": law, "theta": theta}
    h, s = play(exe, {"floor": floor, "block": block([1, 2, 3], translate=[0, 0, 1.513], velocity=[0, 0, -1])}, 1e-3, 30, {"p": at("block", [0.5, 1, 1.5])}, contact, options=tight)
    c.close(f"on the floor, e = {e}, {law}, {theta}: velocity after", [h[f"p_v{k}"][-1] for k in "xyz"], [0, 0, e], atol=1e-8)
    c.close(f"on the floor, e = {e}, {law}, {theta}: work of the impact", h["contact"][-1] + h["friction"][-1], -(1 - e * e) * 6e3 / 2, atol=1e-7 * 3e3)
    pair = {"a": block([1, 1, 1], translate=[-0.51, 0, 0], velocity=[2, 0, 0]), "b": block([1, 1, 3], translate=[0.51, 0, 0], velocity=[-1, 0, 0])}
    h, s = play(exe, pair, 1e-3, 30, {"pa": at("a"), "pb": at("b")}, contact, options=tight)
    mean, rel = (2 - 3) / 4, 3 * e  # of mass 1 and 3, approach at 3
    c.close(f"1 : 3, e = {e}, {law}, {theta}: velocities after", [h["pa_vx"][-1], h["pb_vx"][-1]], [mean - 3 / 4 * rel, mean + 1 / 4 * rel], atol=1e-8)

# --- a cube falls on its corner, straight below its centre, and along the floor. Of the point, W is 1/m along the normal and (1 + r^2/k^2)/m along the floor, k^2 = J/m: it
# sticks if the impulse m |v_t| / (1 + r^2/k^2) that stops it is within mu m (1 + e) |v_n| ---
corner = np.array([1, 1, 1]) / np.sqrt(3)
axis = np.cross(corner, [0, 0, 1])
turn = np.degrees(np.arccos(corner[2])) * axis / np.linalg.norm(axis)
r, mu, W = np.sqrt(3) / 2, 0.3, 1 + (3 / 4) / (1 / 6)
for (law, theta), e in itertools.product(choices, (0, 0.5, 1)):
    limit = mu * (1 + e) * W
    for factor, angle in ((0.2, 0), (0.9, 1), (1.1, 2), (3, 3)):
        along, v = np.array([np.cos(angle), np.sin(angle), 0]), factor * limit
        # touches exactly at a half step, so that the gap law, too, stops it in one step
        cube = block([1, 1, 1], rotate=list(turn), translate=[0, 0, r + 0.0125], velocity=list(v * along - [0, 0, 1]))
        h, s = play(exe, {"floor": floor, "cube": cube}, 1e-3, 20, {"p": at("cube")}, {"restitution": e, "friction": mu, "signorini": law, "theta": theta}, options=tight)
        dv = v / W if factor < 1 else mu * (1 + e)
        k = 1 + np.argmax(np.abs(np.diff(h["p_vz"])) > 0.5)  # the step of the impact
        name = f"corner, e = {e}, {law}, {theta}, v_t {factor} of the limit"
        c.close(f"{name}: velocity of the centre after", [h[f"p_v{x}"][k] for x in "xyz"], (v - dv) * along + [0, 0, e], atol=1e-8)
        c.close(f"{name}: work of friction", h["friction"][k], -1e3 * dv * (v - dv * W / 2), rtol=1e-7)

# --- an elastic bar flies onto a wall along its axis: after 2 L / c it leaves as it came ---
L, speed, v0, lost = 1.0, 100.0, 0.1, []
for n, cfl in ((50, 0.5), (100, 0.5), (100, 1), (200, 0.5)):
    dt = cfl * L / n / speed
    bar = block([L, 0.1, 0.1], "bc", 1.0, [n, 1, 1], translate=[L / 2, 0, 0], velocity=[-v0, 0, 0])
    wall = {"mesh": {"type": "box", "size": [1, 1, 1]}, "translate": [-0.5, 0, 0], "formulation": "obstacle"}
    h, s = play(exe, {"wall": wall, "bar": bar}, dt, round(0.03 / dt), {f"p{i}": {"body": "bar", "point": [i * L / n, 0, 0]} for i in range(n + 1)}, options=tight)
    weight = np.full(n + 1, 1 / n)
    weight[[0, -1]] /= 2
    v = sum(w * h[f"p{i}_vx"] for i, w in enumerate(weight))
    pushed = np.nonzero(np.abs(np.diff(v)) > 1e-10)[0]
    duration = (pushed[-1] - pushed[0] + 1) * dt
    name = f"bar of {n} elements, c h / dx = {cfl}"
    if cfl == 0.5: lost.append(1 - v[-1] / v0)
    if n >= 100:
        c.between(f"{name}: velocity after, of that before", v[-1] / v0, 0.97, 1 + 1e-10)
        c.close(f"{name}: duration", duration, 2 * L / speed, rtol=0.02)
        half = h["time"] < 0.009
        c.close(f"{name}: the wall's force is that of the plane wave, v sqrt(E rho) A", np.polyfit(h["time"][half], v[half], 1)[0] * 0.01, v0 * speed * 0.01, rtol=0.01)
    c.below(f"{name}: energy rises in a step by", np.max(np.diff(h["kinetic"] + h["internal"])) / h["kinetic"][0], 1e-11)
    c.below(f"{name}: balance", np.ptp(h["total"]) / h["kinetic"][0], 1e-11)
c.true("bar: loss falls with the mesh", lost[0] > 1.5 * lost[1] > 1.5 * 1.5 * lost[2], ", ".join(f"{x:.4f}" for x in lost))
c.finish()
