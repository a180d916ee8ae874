"""The free bar of section 8.1 against the second implementation: elongation, energies and end points of tl and bc, as in the report
(frame of (78), no correction of momentum) and as the program has them by default."""
from common import *
from reference import *

exe, root = arguments()
c = Checks()
probes = {"top": {"body": "bar", "point": [0, 0, 0.5]}, "bot": {"body": "bar", "point": [0, 0, -0.5]}, "corner": {"body": "bar", "point": [0.05, -0.05, 0.5]}}


def bar(formulation, young, spin, paper=True, **more):
    s = {"mesh": {"type": "box", "size": [0.1, 0.1, 1], "cells": [2, 2, 20]}, "material": {"type": "svk", "young": young, "poisson": 0.26, "density": 7.8e3},
         "formulation": formulation, "angular_velocity": spin, **more}
    return {"bar": {**s, "frame": "volume", "conserve": False} if paper else s}


def elongation(x): return np.linalg.norm(x("top") - x("bot"), axis=1) - 1


def case(name, sections, h, steps, tolerance=1e-10, **more):
    got, _, rows = compare(c, exe, name, sections, h, steps, probes, tolerance=tolerance, **more)
    wanted = elongation(lambda p: np.array(rows[p])[:, :3])
    c.close(f"{name}: elongation", elongation(lambda p: np.stack([got[f"{p}_{k}"] for k in "xyz"], 1)), wanted, rtol=tolerance)
    c.true(f"{name}: it does stretch", np.ptp(wanted) > 0, f"{np.ptp(wanted):.3g}")


# the example itself, with what the report has
r = run(exe, ["-options_file", f"{root}/options/rotating_bar.yml", "-bar_frame", "volume", "-bar_conserve", "false", "-output_digits", 17, "-output_exodus", ""])
example = read_csv(r.path("rotating_bar.csv"))
h, _, rows = compare(c, exe, "the example", bar("bc", 200e4, [1, 0, 0]), 1 / 256, 256, probes)
c.close("the example's file: elongation", elongation(lambda p: np.stack([example[f"{p}_{k}"] for k in "xyz"], 1)),
        elongation(lambda p: np.array(rows[p])[::4, :3]), rtol=1e-10)
c.close("the example's file: kinetic", example["kinetic"], rows["kinetic"][::4], rtol=1e-10)

case("tl 1/64", bar("tl", 200e4, [1, 0, 0]), 1 / 64, 64)
case("bc 1/64", bar("bc", 200e4, [1, 0, 0]), 1 / 64, 64)
case("tl 1/256", bar("tl", 200e4, [1, 0, 0]), 1 / 256, 64)
case("tl stiff", bar("tl", 2e8, [1, 0, 0]), 1 / 256, 64, 5e-9)
case("bc stiff", bar("bc", 2e8, [1, 0, 0]), 1 / 256, 128, 5e-9)
case("tl damped", bar("tl", 200e4, [1, 0, 0], damping=0.05), 1 / 64, 64)
case("bc damped", bar("bc", 200e4, [1, 0, 0], damping=0.05), 1 / 64, 64)
case("tl tumbling", bar("tl", 200e4, [1, 0.7, 3]), 1 / 256, 48)
case("bc tumbling", bar("bc", 200e4, [1, 0.7, 3]), 1 / 256, 128)
case("tl tumbling, stiff, defaults", bar("tl", 2e8, [1, 0.7, 3], False), 1 / 1024, 48, 5e-9)
case("bc tumbling, stiff, defaults", bar("bc", 2e8, [1, 0.7, 3], False), 1 / 256, 128, 5e-9)
case("bc defaults", bar("bc", 200e4, [1, 0, 0], False), 1 / 64, 64)
case("tl defaults", bar("tl", 200e4, [1, 0, 0], False), 1 / 64, 64)
case("tl iterated", bar("tl", 200e4, [1, 0, 0]), 1 / 64, 16, implicit=True)
case("bc iterated", bar("bc", 200e4, [1, 0, 0]), 1 / 64, 32, implicit=True)
c.finish()
