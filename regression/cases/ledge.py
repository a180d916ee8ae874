"""Contacts that come and go while bodies move: over a ledge, rocking, dominoes, a key in its keyway."""
from common import *

exe, root = arguments()
c = Checks()
G = 10.0
at = lambda body, offset=(0, 0, 0): {"body": body, "offset": list(offset)}


def obstacle(size, centre, **more): return {"mesh": {"type": "box", "size": list(size)}, "translate": list(centre), "formulation": "obstacle", **more}


def block(size, centre, formulation="rigid", cells=(1, 1, 1), **more):
    return {"mesh": {"type": "box", "size": list(size), "cells": list(cells)}, "material": {"young": 1e8, "poisson": 0.2, "density": 1e3}, "formulation": formulation, "translate": list(centre), **more}


floor = obstacle([10, 10, 1], [0, 0, -0.5])
ledge = obstacle([10, 10, 1], [-5, 0, -0.5])  # its edge at x = 0

# --- a cube over the ledge: stands 1e-3 before the edge, falls 1e-3 beyond it ---
for x, yaw in ((-1e-3, 0), (1e-3, 0), (-1e-3, 90), (1e-3, 90), (-0.3, 0)):
    h, s = play(exe, {"ledge": ledge, "cube": block([1, 1, 1], [x, 0, 0.5], rotate=[0, 0, yaw])}, 1e-3, 1000, {"p": at("cube", [0, 0, 0.5])}, {"friction": 0.8}, [0, 0, -G], every=10, options=["-snes_rtol", 1e-10])
    way = np.abs(h["p_x"] - x)
    if x < 0: c.below(f"centre {-x:g} before the edge, yaw {yaw}: top moves", np.max(way), 1e-9)
    else:
        # about the edge below it: J = (1/6 + 1/4) m, phi'' = 24 (d + phi / 2), phi = 2 d (cosh(sqrt(12) t) - 1), and the top is 1 above
        t = h["time"][h["time"] < 0.5]
        c.close(f"centre {x:g} beyond the edge, yaw {yaw}: top's way", way[:len(t)], 2 * x * (np.cosh(np.sqrt(12) * t) - 1), rtol=0.02)
for formulation in ("rigid", "bc"):
    # slides over the edge without friction: tips only after its centre has passed
    cube = block([1, 1, 1], [-0.3, 0, 0.5], formulation, (1, 1, 1) if formulation == "rigid" else (2, 2, 2), velocity=[1, 0, 0])
    cube["material"]["young"] = 1e10
    h, s = play(exe, {"ledge": ledge, "cube": cube}, 1e-3, 350, {"p": at("cube", [0.5, 0, 0]), "q": at("cube", [-0.5, 0, 0])}, {"friction": 0}, [0, 0, -G], options=["-snes_rtol", 1e-10])
    tilt, before = h["q_z"] - h["p_z"], h["time"] < 0.299
    c.below(f"slides over the edge, {formulation}: tilt before the centre passes", np.max(np.abs(tilt[before])), 1e-8 if formulation == "rigid" else 1e-5)
    c.true(f"slides over the edge, {formulation}: tips after", tilt[-1] > 2e-4, f"{tilt[-1]:.3g}")
    if formulation == "rigid": c.equal(f"slides over the edge, {formulation}: rows", set(h["contacts"][1:299]), {4.0})

# --- rocking: let go at an angle about its edge; each impact loses energy, and never is nothing below it ---
angle = 5.0
a = np.radians(angle)
tall = block([1, 1, 2], [0, 0, np.cos(a) + 0.5 * np.sin(a)], rotate=[0, angle, 0])
h, s = play(exe, {"floor": floor, "cube": tall}, 1e-3, 3000, {"p": at("cube")}, {"friction": 0.8}, [0, 0, -G], options=["-snes_rtol", 1e-9])
energy = h["kinetic"] - h["external"]
big = np.max(h["kinetic"])
c.below("rocking: energy rises in a step by", np.max(np.diff(energy)) / big, 1e-8)
c.true("rocking: rows in every step", np.min(h["contacts"][1:]) >= 2, f"{np.min(h['contacts'][1:]):g} to {np.max(h['contacts']):g}")
c.below("rocking: comes to rest", np.max(h["kinetic"][-100:]) / big, 1e-6)
c.close("rocking: upright at the end", h["p_z"][-1], 1, atol=1e-5)
# Housner: an impact of a block of half width b, half height d keeps 1 - 3/2 sin^2 of the angular velocity, sin^2 = b^2 / (b^2 + d^2)
h, s = play(exe, {"floor": floor, "cube": tall}, 1e-4, 6000, {"p": at("cube")}, {"friction": 0.8}, [0, 0, -G], options=["-snes_rtol", 1e-9])
k = np.argmin(np.diff(h["kinetic"]))
c.close("rocking: energy kept by the first impact (Housner)", np.min(h["kinetic"][k:k + 4]) / np.max(h["kinetic"][k - 2:k + 1]), (1 - 1.5 / 5)**2, rtol=0.01)

# --- dominoes ---
n, gap = 6, 0.45
row = {f"d{i}": block([0.2, 0.5, 1], [gap * i, 0, 0.5]) for i in range(n)}
a = np.radians(13)  # of the first: its centre is beyond its edge from 11.3 degrees on
row["d0"] |= {"rotate": [0, 13, 0], "translate": [0, 0, 0.5 * np.cos(a) + 0.1 * np.sin(a)]}
h, s = play(exe, {"floor": floor, **row}, 1e-3, 3000, {f"p{i}": at(f"d{i}", [0.499 * np.sin(a), 0, 0.499 * np.cos(a)] if i == 0 else [0, 0, 0.5]) for i in range(n)}, {"friction": 0.4}, [0, 0, -G])
energy, big = h["kinetic"] - h["external"], np.max(np.abs(h["external"]))
fallen = [h["time"][np.argmax(h[f"p{i}_z"] < 0.95)] for i in range(n)]
c.true("dominoes: all fall, one after the other", all(h[f"p{i}_z"][-1] < 0.8 for i in range(n)) and np.all(np.diff(fallen) > 0), ", ".join(f"{t:.2f}" for t in fallen))
c.below("dominoes: energy rises in a step by", np.max(np.diff(energy)) / big, 1e-7)
c.below("dominoes: balance", np.ptp(h["total"]) / big, 1e-10)
c.below("dominoes: contacts", np.max(h["contacts"]), 8 * n)
c.below("dominoes: penetration", s["largest_penetration"], 2e-3)
c.equal("dominoes: steps not converged", s["steps_not_converged"], 0)

# --- a key between the walls of its keyway, with 0.5 mm on each side, kicked ---
walls = {"left": obstacle([0.1, 0.3, 0.3], [-0.1005, 0, 0]), "right": obstacle([0.1, 0.3, 0.3], [0.1005, 0, 0])}
for law in ("gap", "velocity"):
    h, s = play(exe, {**walls, "key": block([0.1, 0.2, 0.2], [0, 0, 0], velocity=[0.3, 0, 0], angular_velocity=[0.5, 0.3, 0.8])}, 2e-4, 4000, {"p": at("key")}, {"friction": 0.2, "restitution": 0.8, "signorini": law}, options=["-snes_rtol", 1e-9])
    c.below(f"key, {law}: way across", np.max(np.abs(h["p_x"])), 0.7e-3)
    c.below(f"key, {law}: energy rises in a step by", np.max(np.diff(h["kinetic"])) / h["kinetic"][0], 1e-8)
    c.below(f"key, {law}: penetration", s["largest_penetration"], 2e-4 * 0.43 if law == "velocity" else 1e-6)
    c.between(f"key, {law}: rows in the mean", s["contacts_mean"], 0.01, 8)
    c.true(f"key, {law}: strikes both walls", np.min(h["p_x"]) < -1e-4 and np.max(h["p_x"]) > 1e-4, f"{np.min(h['p_x']):.2g}, {np.max(h['p_x']):.2g}")
c.finish()
