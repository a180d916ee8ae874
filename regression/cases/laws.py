"""Laws of contact one by one: no friction, cohesion, values and exclusions of pairs, moving obstacles."""
from common import *

exe, root = arguments()
c = Checks()
tight = ["-snes_rtol", 1e-10]
at = lambda body, offset=(0, 0, 0): {"body": body, "offset": list(offset)}
floor = {"mesh": {"type": "box", "size": [20, 20, 1]}, "translate": [0, 0, -0.5], "formulation": "obstacle"}


def block(formulation="rigid", size=(1, 1, 1), cells=(1, 1, 1), z=0.0, **more):
    """z: of its lower face"""
    return {"mesh": {"type": "box", "size": list(size), "cells": list(cells)}, "material": {"young": 1e8, "poisson": 0, "density": 1e3}, "formulation": formulation, "translate": [0, 0, z + size[2] / 2], **more}


def path(h, p, v=""): return np.stack([h[f"{p}_{v}{k}"] for k in "xyz"], 1)


# --- no friction: nothing along the faces, neither in an impact nor while it slides and turns about the normal ---
for formulation in ("rigid", "bc", "tl"):
    b = block(formulation, cells=[2, 2, 2], z=0.01, velocity=[1, 2, -1], angular_velocity=[0, 0, 3] if formulation == "rigid" else [0, 0, 0])
    h, s = play(exe, {"floor": floor, "block": b}, 1e-3, 200, {"p": at("block")}, {"friction": 0}, [0, 0, -10], options=tight)
    c.close(f"no friction, {formulation}: velocity along the floor", path(h, "p", "v")[:, :2], np.tile([1, 2], (201, 1)), atol=1e-9)
    c.equal(f"no friction, {formulation}: work of friction", np.max(np.abs(h["friction"])), 0)
    c.true(f"no friction, {formulation}: touches", h["contacts"].max() > 0 and h["contact"][-1] < 0, f"{h['contact'][-1]:.4g}")

# --- cohesion: what touched at the start parts at sigma A ---
sigma, G, m = 2e4, 10.0, 1e3


def parts(name, force, bodies, gravity, strength, at_start=True, contact=None, dt=1e-3, steps=1000, **more):
    """The load grows to 2 `strength` in 1000 steps: the load at which the block has moved away by 1e-6 of its size."""
    h, s = play(exe, bodies, dt, steps, {"p": at("block", [0, 0, -0.5])}, contact or {"cohesion": sigma, "friction": 0.5}, gravity, extra=force, **more)
    away = np.nonzero(h["p_z"] - h["p_z"][0] > 1e-6)[0]
    if not len(away): return c.true(name, False, "holds")
    return c.close(name, 2 * strength * h["time"][away[0]], strength, rtol=0.02)


def pull(x, value): return {"forces": ["f"], "f": {"body": "block", "offset": [x, 0, 0.5], "direction": [0, 0, 1], "value": value}}


parts("cohesion, rigid, pulled in the middle: force", pull(0, f"{2 * sigma} * t"), {"floor": floor, "block": block()}, None, sigma)
parts("cohesion, rigid, against its weight", pull(0, f"{2 * (sigma + m * G)} * t"), {"floor": floor, "block": block()}, [0, 0, -G], sigma + m * G)
# off the middle by a quarter: corners on that side bear 3/4 of it, and at most sigma / 2
parts("cohesion, rigid, pulled off the middle: force", pull(0.25, f"{4 / 3 * sigma} * t"), {"floor": floor, "block": block()}, None, 2 / 3 * sigma)
# from below: the floor's face over the block
parts("cohesion, rigid, two cubes: force", pull(0, f"{2 * sigma} * t"), {"floor": {**block(z=-1), "formulation": "obstacle"}, "block": block()}, None, sigma)
# half over a ledge: half the face
parts("cohesion, rigid, half the face: force", pull(0.25, f"{sigma} * t"), {"floor": {**floor, "translate": [10, 0, -0.5]}, "block": block()}, None, sigma / 2)
# deformable: gravity pulls every part alike, so that the stress of the face is the same everywhere
for formulation in ("bc", "tl"):
    b = block(formulation, cells=[2, 3, 2], damping=1e-4)
    h, s = play(exe, {"floor": floor, "block": b}, 1e-3, 1000, {"p": at("block", [0, 0, -0.5])}, {"cohesion": sigma, "friction": 0.5}, extra={"gravity": ["0", "0", f"{2 * sigma / m} * t"]})
    away = h["time"][np.nonzero(h["p_z"] > 1e-6)[0][0]]
    c.close(f"cohesion, {formulation}, gravity up: force", 2 * sigma * away, sigma, rtol=0.02)
# what comes later is not glued, and what has parted is not glued again
h, s = play(exe, {"floor": floor, "block": block(z=1e-3, velocity=[0, 0, -1])}, 1e-3, 100, {"p": at("block")}, {"cohesion": sigma}, extra={"gravity": ["0", "0", "t < 0.05 ? -10 : 1"]})
c.close("cohesion: what comes later is not glued", h["p_vz"][-1], 0.05, atol=2e-3)
# along the face: slips when friction of the weight and of the cohesion is exceeded
h, s = play(exe, {"floor": floor, "block": block()}, 1e-3, 1000, {"p": at("block")}, {"cohesion": sigma, "friction": 0.5}, [0, 0, -G],
            extra={"forces": ["f"], "f": {"body": "block", "offset": [0, 0, -0.5], "direction": [1, 0, 0], "value": f"{2 * 0.5 * (sigma + m * G)} * t"}})
c.close("cohesion, pulled along the face: force", 2 * h["time"][np.nonzero(h["p_x"] > 1e-6)[0][0]], 1, rtol=0.02)

# --- pairs: their own values, and exclusion ---
two = {"floor": floor, "left": {**block(), "translate": [0, -2, 0.5], "velocity": [1, 0, 0]}, "right": {**block(), "translate": [0, 2, 0.5], "velocity": [1, 0, 0]}}
h, s = play(exe, two, 1e-3, 100, {"pl": at("left"), "pr": at("right")}, {"friction": 0.2}, [0, 0, -10], extra={"contact_pairs": ["p1"], "p1": {"bodies": ["r*", "floor"], "friction": 0.4}}, options=tight)
c.close("pairs: friction of the one", h["pl_vx"][-1], 1 - 0.2 * 10 * 0.1, rtol=1e-8)
c.close("pairs: friction of the other", h["pr_vx"][-1], 1 - 0.4 * 10 * 0.1, rtol=1e-8)
three = {"left": block(velocity=[1, 0, 0]), "right": {**block(), "translate": [1.2, 0, 0.5]}, "other": {**block(), "translate": [2.4, 0, 0.5]}}
h, s = play(exe, three, 1e-3, 1000, {"pl": at("left"), "pr": at("right"), "po": at("other")}, {"restitution": 1}, extra={"contact_pairs": ["p1"], "p1": {"bodies": ["left", "right"], "exclude": True}}, options=tight)
c.close("pairs: an excluded one passes through", [h["pl_x"][-1] - h["pl_x"][0], h["pr_x"][-1] - 1.2], [1, 0], atol=1e-12)
h, s = play(exe, three, 1e-3, 2000, {"pl": at("left"), "pr": at("right"), "po": at("other")}, {"restitution": 1}, extra={"contact_pairs": ["p1"], "p1": {"bodies": ["left", "right"], "exclude": True}}, options=tight)
c.close("pairs: and meets the next", [h["pl_vx"][-1], h["pr_vx"][-1], h["po_vx"][-1]], [0, 0, 1], atol=1e-8)
h, s = play(exe, three, 1e-3, 700, {"pl": at("left"), "pr": at("right"), "po": at("other")}, {"restitution": 1},
            extra={"contact_pairs": ["p1", "p2"], "p1": {"bodies": ["left", "right"], "restitution": 0.5}, "p2": {"bodies": ["right", "o*"], "restitution": 0}}, options=tight)
c.close("pairs: restitution of each", [h["pl_vx"][-1], h["pr_vx"][-1], h["po_vx"][-1]], [0.25, 0.375, 0.375], atol=1e-8)
h, s = play(exe, {"floor": floor, "block": block(z=0.01)}, 1e-3, 300, {"p": at("block")}, None, [0, 0, -10], options=["-contact_enabled", "false"])
c.close("contact_enabled false: falls through the floor", h["p_z"][-1], 0.51 - 10 * 0.3**2 / 2, rtol=1e-9)

# --- an obstacle that moves carries along by friction, and throws ---
for v, name in ((2.0, "belt"), (0.5, "slow belt")):
    h, s = play(exe, {"floor": {**floor, "velocity": [v, 0, 0]}, "block": block()}, 1e-3, 500, {"p": at("block")}, {"friction": 0.3}, [0, 0, -10], options=tight)
    c.close(f"{name}: velocity", h["p_vx"], np.minimum(0.3 * 10 * h["time"], v), atol=1e-8)
h, s = play(exe, {"floor": {**floor, "velocity": [0, 0, 1]}, "block": block(z=0.01)}, 1e-3, 100, {"p": at("block")}, {"restitution": 0.5}, options=tight)
c.close("a floor that comes up: velocity after", h["p_vz"][-1], 1.5, rtol=1e-8)
c.close("a floor that comes up: its work is the block's energy", h["contact"][-1], h["kinetic"][-1], rtol=1e-10)
c.finish()
