"""Bad input: one line on standard error that says what, where and what to do; exit code 1; no file made or changed. Each row of the table is a
model, extra options and what the line must say; all run on one rank, a sample on three."""
import os
from concurrent.futures import ThreadPoolExecutor
from common import *

exe, root = arguments()
c = Checks()

BAR = "{mesh: {type: box, size: [1, 1, 1]}, material: {young: 1e6, poisson: 0.3, density: 1e3}}"
OUTPUTS = ["-output_history", "h.csv", "-output_exodus", "r.exo", "-checkpoint", "c.h5", "-summary", "s.json"]


def model(bar=BAR, rest="", ts="{dt: 1e-3, max_steps: 2}", bodies="[bar]"):
    return f"ts:     {ts}\nbodies: {bodies}\nbar:    {bar}\n{rest}\n"


def mesh(text): return BAR.replace("{type: box, size: [1, 1, 1]}", text)
def material(text): return BAR.replace("{young: 1e6, poisson: 0.3, density: 1e3}", text)
def more(text): return BAR[:-1] + f", {text}}}"  # more options of the bar


def force(text): return f"forces: [push]\npush:   {{{text}}}"
def constraint(text): return f"constraints: [hold]\nhold:   {{{text}}}"
def touching(text=""): return model(bodies="[bar, bor]", rest=f"bor:    {more('translate: [3, 0, 0]')}\n{text}")
def pair(text): return f"contact_pairs: [touch]\ntouch:  {{{text}}}"
def probe(text): return f"probes: [p]\np:      {{{text}}}"


PUSH = "body: bar, point: [0, 0, 0], direction: [1, 0, 0], value: "


def exodus(path, swap):
    """A mesh of one cube in an Exodus file; with `swap` its element is inside out."""
    x = np.array([[0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0], [0, 0, 1], [1, 0, 1], [1, 1, 1], [0, 1, 1]], float)
    conn = np.arange(1, 9, dtype=np.int32)
    if swap: conn = np.concatenate([conn[4:], conn[:4]])
    classic(path, x, conn)


def classic(path, x, conn):
    """Writes the few things an Exodus II file needs in netCDF's classic format (version 1)."""
    import struct
    def pad(b): return b + b"\0" * (-len(b) % 4)
    def name(s): return struct.pack(">i", len(s)) + pad(s.encode())
    def attribute(key, kind, values):
        data = values.encode() if kind == 2 else np.asarray(values, {4: ">i4", 5: ">f4"}[kind]).tobytes()
        n = len(values) if kind == 2 else np.size(values)
        return name(key) + struct.pack(">ii", kind, n) + pad(data)
    dims = [("len_string", 33), ("len_line", 81), ("four", 4), ("len_name", 33), ("num_dim", 3), ("num_nodes", 8), ("num_elem", 1),
            ("num_el_blk", 1), ("num_el_in_blk1", 1), ("num_nod_per_el1", 8)]
    index = {d: i for i, (d, _) in enumerate(dims)}
    glob = [attribute("api_version", 5, [7.0]), attribute("version", 5, [7.0]), attribute("floating_point_word_size", 4, [8]),
            attribute("file_size", 4, [1]), attribute("title", 2, "cube")]
    variables = [("eb_status", ["num_el_blk"], [], np.array([1], ">i4")),
                 ("eb_prop1", ["num_el_blk"], [attribute("name", 2, "ID")], np.array([1], ">i4")),
                 ("coordx", ["num_nodes"], [], x[:, 0].astype(">f8")), ("coordy", ["num_nodes"], [], x[:, 1].astype(">f8")),
                 ("coordz", ["num_nodes"], [], x[:, 2].astype(">f8")),
                 ("connect1", ["num_el_in_blk1", "num_nod_per_el1"], [attribute("elem_type", 2, "HEX8")], conn.astype(">i4"))]

    def header(begin):
        h = b"CDF\x01" + struct.pack(">i", 0) + struct.pack(">ii", 10, len(dims)) + b"".join(name(d) + struct.pack(">i", n) for d, n in dims)
        h += struct.pack(">ii", 12, len(glob)) + b"".join(glob) + struct.pack(">ii", 11, len(variables))
        for (v, of, attributes, data), at in zip(variables, begin):
            h += name(v) + struct.pack(">i", len(of)) + b"".join(struct.pack(">i", index[d]) for d in of)
            h += struct.pack(">ii", 12 if attributes else 0, len(attributes)) + b"".join(attributes)
            h += struct.pack(">iii", 6 if data.dtype.itemsize == 8 else 4, data.nbytes, at)
        return h
    start, begin = len(header([0] * len(variables))), []
    for v in variables:
        begin.append(start)
        start += v[3].nbytes
    with open(path, "wb") as f: f.write(header(begin) + b"".join(v[3].tobytes() for v in variables))


files = temporary()
exodus(f"{files}/good.exo", False)
exodus(f"{files}/inverted.exo", True)
with open(f"{files}/good.exo", "rb") as f: whole = f.read()
for name, data in {"short.exo": whole[:200], "text.exo": b"no mesh\n", "bad.csv": b"0, 1\n1, one\n", "back.csv": b"0, 1\n1, 2\n0.5, 3\n", "empty.csv": b"",
                   "places.csv": b"x,y,z\n0,0,0\n1,two,0\n", "columns.csv": b"x,y,z,mass\n0,0,0,1\n", "rows.csv": b"x,y,z\n0,0\n",
                   "text.h5": b"no checkpoint\n"}.items():
    with open(f"{files}/{name}", "wb") as f: f.write(data)
m = f"{files}/model.yml"
with open(m, "w") as f: f.write(model())
r = run(exe, ["-options_file", m, "-checkpoint", "one.h5"], directory=files)
with open(f"{files}/one.h5", "rb") as f: whole = f.read()
with open(f"{files}/half.h5", "wb") as f: f.write(whole[:len(whole) // 2])
with open(m, "w") as f: f.write(model(mesh("{type: box, size: [1, 1, 1], cells: [2, 2, 2]}")))
run(exe, ["-options_file", m, "-checkpoint", "other.h5"], directory=files)
run(exe, ["-options_file", m, "-ts_dt", "2e-3", "-bar_mesh_cells", "1,1,1", "-checkpoint", "step.h5"], directory=files)

M = "model.yml"
# name, model (None: no file), extra options, what the line must hold, also on 3 ranks
table = [
    # files and their form
    ("no input", None, [], ["no bodies", "-help"], False),
    ("missing file", None, ["-options_file", "none.yml"], ["none.yml", "No such file"], True),
    ("a folder as file", None, ["-options_file", "/"], ["'/'", "directory"], False),
    ("no name of a file", None, ["-options_file"], ["-options_file", "name of a file"], False),
    ("file without -options_file", None, ["model.yml"], ["model.yml", "-options_file"], False),
    ("malformed: open bracket", "ts: {dt: 1\nbodies: [bar\n", [], [f"{M}:2:7: "], False),
    ("malformed: tab", "ts:\n\tdt: 1\n", [], [f"{M}:2:1: "], False),
    ("malformed: no map", "- a\n- b\n", [], [f"{M}:1:1: ", "name: value"], False),
    ("malformed: bad byte", b"ts: {dt: 1}\nbar: \xff\n", [], [f"{M}:2:6: "], False),
    ("two documents", model() + "---\na: 1\n", [], [f"{M}:", "second document"], False),
    ("list of maps", model(rest="x: [{a: 1}]"), [], [f"{M}:4:5: ", "maps"], False),
    ("key twice", model(rest="gravity: [0, 0, 0]\ngravity: [0, 0, 1]"), [], [f"{M}:5:1: ", "gravity", "twice", "line 4"], False),
    ("keys that differ by case", model(rest="gravity: [0, 0, 0]\nGravity: [0, 0, 1]"), [], [f"{M}:5:1: ", "Gravity", "case"], False),
    ("options_file in a file", model(rest="options_file: a.yml"), [], [f"{M}:4:1: ", "command line"], False),
    # unknown options
    ("unknown, in the file", model(rest="gravty: [0, 0, -1]"), [], [f"{M}:4:1: ", "'gravty'", "'gravity'"], True),
    ("unknown, nested", model(rest="output: {histroy: a.csv}"), [], [f"{M}:4:10: ", "'output_histroy'", "'output_history'"], False),
    ("unknown, on the command line", model(), ["-energy_gard", "1"], ["command line: ", "'energy_gard'", "'energy_guard'"], False),
    ("unknown of PETSc", model(), ["-ts_dtt", "1"], ["command line: ", "'ts_dtt'", "'ts_dt'"], False),
    ("unknown of PETSc, in the file", model(ts="{dt: 1e-3, max_steps: 2, max_tme: 1}"), [], [f"{M}:1:34: ", "'ts_max_tme'", "'ts_max_time'"], False),
    ("unknown of a body", model(more("dampng: 1")), [], [f"{M}:3:", "'bar_dampng'", "'bar_damping'"], False),
    ("unknown of a body's material", model(material("{young: 1, poison: 0, density: 1}")), [], [f"{M}:3:", "'bar_material_poison'", "'bar_material_poisson'"], False),
    ("option of no body", model(), ["-baz_damping", "1"], ["command line: ", "'baz_damping'", "'bar_damping'"], False),
    ("option of a copy that is not there", model(more("copies: {grid: [2, 1, 1], spacing: [2, 0, 0]}")), ["-bar_2_damping", "1"], ["command line: ", "'bar_2_damping'"], False),
    ("unknown of all bodies", model(), ["-body_dampin", "1"], ["command line: ", "'body_damping'"], False),
    ("option without effect", model(), ["-eps_nev", "1"], ["command line: ", "'eps_nev'", "no effect"], False),
    ("mesh option without effect", model(mesh("{type: box, size: [1, 1, 1], length: 3}")), [], [f"{M}:3:", "'bar_mesh_length'", "no effect"], False),
    ("scalar section", model("box"), [], ["'bar'", "no mesh"], False),
    # names
    ("name of a method", model(bodies="[bar, snes]"), [], [f"{M}:2:9: ", "'snes'", "reserved"], False),
    ("name of an own group", model(bodies="[bar, output]"), [], [f"{M}:2:9: ", "'output'", "reserved"], False),
    ("name that begins like a method", model(bodies="[bar, ts_x]"), [], [f"{M}:2:9: ", "'ts_x'"], False),
    ("names that differ by case", model(bodies="[bar, Bar]", rest=f"Bar: {BAR}"), [], [f"{M}:4:", "Bar", "bar", "case"], False),
    ("bodies that differ by case", model(bodies="[bar, Bar]"), [], [f"{M}:2:9: ", "'Bar'", "'bar'", "case"], False),
    ("name twice", model(bodies="[bar, bar]"), [], [f"{M}:2:9: ", "'bar'", "twice"], False),
    ("probe named like a body", model(rest="probes: [bar]"), [], [f"{M}:4:9: ", "'bar'", "twice"], False),
    ("name with a blank", model(bodies="[bar, 'a b']"), [], [f"{M}:2:9: ", "'a b'"], False),
    ("name with a digit first", model(bodies="[bar, 1a]"), [], [f"{M}:2:9: ", "'1a'"], False),
    ("name that swallows options", model(bodies="[bar, bar_mesh]"), [], [f"{M}:2:9: ", "'bar_mesh'"], False),
    ("name of a copy", model(more("copies: {grid: [2, 1, 1], spacing: [2, 0, 0]}"), bodies="[bar, bar_1]", rest=f"bar_1: {BAR}"), [], ["'bar_1'", "copy"], False),
    ("empty list of bodies", model(bodies="[]"), [], ["no bodies"], False),
    ("body without a section", model(bodies="[bar, brick]"), [], ["'brick'", "mesh"], False),
    # meshes
    ("no mesh", model("{material: {young: 1e6, density: 1}}"), [], ["'bar'", "no mesh", "box", "pipe", "exodus"], False),
    ("unknown mesh", model(mesh("{type: sphere, size: [1, 1, 1]}")), [], [f"{M}:3:", "'sphere'", "box", "pipe", "exodus"], False),
    ("missing size", model(mesh("{type: box}")), [], [f"{M}:3:", "bar_mesh_size"], False),
    ("missing radius", model(mesh("{type: pipe, thickness: 1, length: 1}")), [], [f"{M}:3:", "bar_mesh_inner_radius"], False),
    ("size below zero", model(mesh("{type: box, size: [1, -1, 1]}")), [], [f"{M}:3:", "size", "-1", "bar_mesh"], False),
    ("no cells", model(mesh("{type: box, size: [1, 1, 1], cells: [1, 0, 1]}")), [], [f"{M}:3:", "0 cells", "bar_mesh"], False),
    ("two cells around", model(mesh("{type: pipe, inner_radius: 1, thickness: 1, length: 1, cells: [1, 2, 1]}")), [], [f"{M}:3:", "2 cells around", "bar_mesh"], False),
    ("too many cells", model(mesh("{type: box, size: [1, 1, 1], cells: [2000, 2000, 2000]}")), [], [f"{M}:3:", "cells", "bar_mesh"], False),
    ("voussoir without an angle", model(mesh("{type: voussoir, radius: 1, thickness: 0.1, depth: 1}")), [], [f"{M}:3:", "bar_mesh_angle"], False),
    ("voussoir thicker than its arch", model(mesh("{type: voussoir, radius: 1, thickness: 2.5, depth: 1, angle: 20}")), [], [f"{M}:3:", "thickness 2.5", "bar_mesh"], False),
    ("flat voussoir of half a circle", model(mesh("{type: voussoir, radius: 1, thickness: 0.1, depth: 1, angle: 180}")), [], [f"{M}:3:", "angle 180", "flat", "bar_mesh"], False),
    ("voussoir neither flat nor not", model(mesh("{type: voussoir, radius: 1, thickness: 0.1, depth: 1, angle: 20, flat: 2}")), [], [f"{M}:3:", "bar_mesh_flat", "'2'"], False),
    ("missing mesh file", model(mesh("{type: exodus, file: none.exo}")), [], ["none.exo", "No such file"], False),
    ("mesh file is text", model(mesh(f"{{type: exodus, file: {files}/text.exo}}")), [], ["text.exo", "Exodus"], False),
    ("truncated mesh file", model(mesh(f"{{type: exodus, file: {files}/short.exo}}")), [], ["short.exo", "Exodus"], False),
    ("inverted element", model(mesh(f"{{type: exodus, file: {files}/inverted.exo}}")), [], ["'bar'", "element 1", "inverted"], True),
    # materials and numbers
    ("no density", model(material("{young: 1e6}")), [], ["'bar'", "bar_material_density"], False),
    ("no stiffness", model(material("{density: 1}")), [], ["'bar'", "bar_material_young"], False),
    ("negative density", model(material("{young: 1e6, density: -1}")), [], [f"{M}:3:", "bar_material_density", "-1"], False),
    ("negative stiffness", model(material("{young: -1e6, density: 1}")), [], [f"{M}:3:", "bar_material_young"], False),
    ("Poisson's ratio 0.5", model(material("{young: 1e6, poisson: 0.5, density: 1}")), [], [f"{M}:3:", "bar_material_poisson", "0.5", "0.49"], False),
    ("Poisson's ratio above", model(material("{young: 1e6, poisson: 0.7, density: 1}")), [], [f"{M}:3:", "bar_material_poisson", "0.7"], False),
    ("Poisson's ratio -1", model(material("{young: 1e6, poisson: -1, density: 1}")), [], [f"{M}:3:", "bar_material_poisson"], False),
    ("unknown material", model(material("{type: rubber, young: 1e6, density: 1}")), [], [f"{M}:3:", "'rubber'", "svk", "linear"], False),
    ("unknown formulation", model(more("formulation: fem")), [], [f"{M}:3:", "'fem'", "tl", "bc", "rigid", "obstacle"], True),
    ("unknown frame", model(more("frame: middle")), [], [f"{M}:3:", "'middle'", "mass", "volume"], False),
    ("unknown tangent", model(more("tangent: none")), [], [f"{M}:3:", "'none'", "factored"], False),
    ("not true or false", model(more("conserve: maybe")), [], [f"{M}:3:", "bar_conserve", "'maybe'"], False),
    ("not a number", model(material("{young: soft, density: 1}")), [], [f"{M}:3:", "bar_material_young", "'soft'", "not a number"], False),
    ("not finite", model(material("{young: nan, density: 1}")), [], [f"{M}:3:", "bar_material_young", "'nan'"], False),
    ("infinite", model(more("velocity: [0, 0, inf]")), [], [f"{M}:3:", "bar_velocity", "'inf'"], False),
    ("too large", model(more("damping: 1e999")), [], [f"{M}:3:", "bar_damping", "1e999"], False),
    ("two numbers of three", model(mesh("{type: box, size: [1, 1]}")), [], [f"{M}:3:", "bar_mesh_size", "3 numbers", "got 2"], False),
    ("four numbers of three", model(), ["-bar_velocity", "1,2,3,4"], ["command line: ", "bar_velocity", "3 numbers", "got 4"], False),
    ("no value", model(), ["-bar_damping"], ["command line: ", "bar_damping", "value"], False),
    ("part of a cell", model(mesh("{type: box, size: [1, 1, 1], cells: [1, 1.5, 1]}")), [], [f"{M}:3:", "bar_mesh_cells", "'1.5'"], False),
    ("negative damping", model(more("damping: -1")), [], [f"{M}:3:", "bar_damping", "-1"], True),
    ("negative mass damping", model(more("mass_damping: -1")), [], [f"{M}:3:", "bar_mass_damping"], False),
    ("motion of a moving body", model(more("motion_x: t")), [], [f"{M}:3:", "bar_motion_x", "obstacle"], False),
    # copies
    ("grid of zero", model(more("copies: {grid: [1, 0, 1], spacing: [1, 1, 1]}")), [], [f"{M}:3:", "bar_copies_grid", "0"], False),
    ("grid without spacing", model(more("copies: {grid: [1, 2, 1]}")), [], [f"{M}:3:", "bar_copies_spacing"], False),
    ("grid too large", model(more("copies: {grid: [100000, 100000, 1000], spacing: [1, 1, 1]}")), [], [f"{M}:3:", "bar_copies_grid"], False),
    ("grid and random", model(more("copies: {grid: [1, 2, 1], spacing: [1, 1, 1], random: 3}")), [], ["bar_copies", "one of"], False),
    ("random without box", model(more("copies: {random: 3}")), [], [f"{M}:3:", "bar_copies_box"], False),
    ("no random ones", model(more("copies: {random: 0, box: [0, 0, 0, 1, 1, 1]}")), [], [f"{M}:3:", "bar_copies_random"], False),
    ("ring of none", model(more("copies: {ring: 0, radius: 1}")), [], [f"{M}:3:", "bar_copies_ring", "0"], False),
    ("ring without radius", model(more("copies: {ring: 3}")), [], [f"{M}:3:", "bar_copies_radius"], False),
    ("ring of more than a turn", model(more("copies: {ring: 3, radius: 1, angle: 400}")), [], [f"{M}:3:", "bar_copies_angle", "400"], True),
    ("ring about nothing", model(more("copies: {ring: 3, radius: 1, axis: [0, 0, 0]}")), [], [f"{M}:3:", "bar_copies_axis"], False),
    ("radius without a ring", model(more("copies: {grid: [1, 2, 1], spacing: [1, 1, 1], radius: 1}")), [], [f"{M}:3:", "'bar_copies_radius'", "no effect"], False),
    ("missing file of places", model(more("copies: {file: none.csv}")), [], [f"{M}:3:", "none.csv"], False),
    ("bad line of places", model(more(f"copies: {{file: {files}/places.csv}}")), [], ["places.csv:3:", "'two'"], False),
    ("unknown column of places", model(more(f"copies: {{file: {files}/columns.csv}}")), [], ["columns.csv:1:", "'mass'"], False),
    ("short line of places", model(more(f"copies: {{file: {files}/rows.csv}}")), [], ["rows.csv:2:", "2 numbers"], False),
    # loads and probes
    ("two gravities", model(rest="gravity: [0, 1]"), [], [f"{M}:4:10: ", "gravity", "got 2"], False),
    ("bad gravity", model(rest="gravity: [0, 0, sin(]"), [], [f"{M}:4:10: ", "gravity", "sin("], False),
    ("gravity of x", model(rest="gravity: [0, 0, x]"), [], [f"{M}:4:10: ", "gravity", "t only"], False),
    # constraints
    ("reactions without constraints", model(), ["-output_reactions", "f.csv"], ["output_reactions", "no constraints"], False),
    ("constraint without a section", model(rest="constraints: [hold]"), [], ["'hold'", "hold_type"], False),
    ("constraint of an unknown type", model(rest=constraint("type: glue, body: bar, point: [0, 0, 0]")), [], ["hold_type", "'glue'", "fixed", "ball"], False),
    ("constraint without a body", model(rest=constraint("type: fixed, point: [0, 0, 0]")), [], ["'hold'", "hold_body"], False),
    ("constraint on an unknown body", model(rest=constraint("type: fixed, body: baz, point: [0, 0, 0]")), [], ["'hold'", "'baz'"], True),
    ("constraint without a point", model(rest=constraint("type: fixed, body: bar")), [], ["'hold'", "hold_point", "hold_side"], False),
    ("constraint with two points", model(rest=constraint("type: fixed, body: bar, point: [0, 0, 0], side: x_min")), [], ["'hold'", "only one", "hold_side"], False),
    ("constraint without a direction", model(rest=constraint("type: velocity, body: bar, point: [0, 0, 0], value: 1")), [], ["'hold'", "hold_direction"], False),
    ("constraint with a direction of no length", model(rest=constraint("type: direction, body: bar, point: [0, 0, 0], direction: [0, 0, 0]")), [], ["hold_direction", "zero"], False),
    ("fixed point with a direction", model(rest=constraint("type: fixed, body: bar, point: [0, 0, 0], direction: [0, 0, 1]")), [], ["'hold'", "hold_direction", "fixed"], False),
    ("fixed point with a value", model(rest=constraint("type: fixed, body: bar, point: [0, 0, 0], value: 1")), [], ["'hold'", "hold_value", "fixed"], False),
    ("displacement without a value", model(rest=constraint("type: displacement, body: bar, point: [0, 0, 0], direction: [0, 0, 1]")), [], ["'hold'", "hold_value"], False),
    ("displacement with a bad value", model(rest=constraint("type: displacement, body: bar, point: [0, 0, 0], direction: [0, 0, 1], value: 2*tt")), [], ["hold_value", "tt"], False),
    ("constraint outside of a soft body", model(rest=constraint("type: fixed, body: bar, point: [9, 0, 0]")), [], ["'hold'", "'bar'", "9"], True),
    ("constraint on an unknown side", model(rest=constraint("type: fixed, body: bar, side: top")), [], ["'hold'", "'top'", "x_min", "z_max"], True),
    ("constraint on an unknown node set", model(rest=constraint("type: fixed, body: bar, nodes: top")), [], ["'hold'", "'top'", "node set"], False),
    ("constraint on an obstacle", model(more("formulation: obstacle"), rest=constraint("type: fixed, body: bar, point: [0, 0, 0]")), [], ["'hold'", "'bar'", "obstacle"], False),
    ("ball without another body", model(rest=constraint("type: ball, body: bar, point: [0, 0, 0]")), [], ["'hold'", "hold_other"], False),
    ("ball with itself", model(rest=constraint("type: ball, body: bar, other: bar, point: [0, 0, 0]")), [], ["'hold'", "'bar'", "itself"], False),
    ("ball with an unknown body", model(rest=constraint("type: ball, body: bar, other: baz, point: [0, 0, 0]")), [], ["'hold'", "'baz'"], False),
    ("ball with a pattern", model(rest=constraint("type: ball, body: b*, other: baz, point: [0, 0, 0]")), [], ["'hold'", "patterns"], False),
    ("ball with a side", model(rest=constraint("type: ball, body: bar, other: baz, side: x_min")), [], ["'hold'", "ball", "hold_point"], False),
    ("fixed point with another body", model(rest=constraint("type: fixed, body: bar, other: baz, point: [0, 0, 0]")), [], ["'hold'", "only a ball"], False),
    ("force without a section", model(rest="forces: [push]"), [], ["'push'", "push_body"], False),
    ("force without a direction", model(rest=force("body: bar, point: [0, 0, 0]")), [], ["'push'", "push_direction"], False),
    ("force without a point", model(rest=force("body: bar, direction: [0, 0, 1]")), [], ["'push'", "push_point"], False),
    ("force on an unknown body", model(rest=force("body: baz, point: [0, 0, 0], direction: [1, 0, 0]")), [], ["'push'", "'baz'"], False),
    ("force outside its body", model(rest=force("body: bar, point: [9, 0, 0], direction: [1, 0, 0]")), [], ["'push'", "'bar'", "9"], False),
    ("force with point and offset", model(rest=force("body: bar, point: [0, 0, 0], offset: [0, 0, 0], direction: [1, 0, 0]")), [], ["'push'", "push_offset"], False),
    ("bad expression", model(rest=force(PUSH + "2*sn(t)")), [], [f"{M}:5:", "push_value", "2*sn(t)"], True),
    ("assignment", model(rest=force(PUSH + "'t = 1'")), [], [f"{M}:5:", "push_value", "=="], False),
    ("missing CSV", model(rest=force(PUSH + "none.csv")), [], [f"{M}:5:", "push_value", "none.csv", "No such file"], False),
    ("bad line of CSV", model(rest=force(PUSH + f"{files}/bad.csv")), [], ["bad.csv:2"], False),
    ("CSV that goes back", model(rest=force(PUSH + f"{files}/back.csv")), [], ["back.csv:3"], False),
    ("empty CSV", model(rest=force(PUSH + f"{files}/empty.csv")), [], ["empty.csv"], False),
    ("probe outside its body", model(rest=probe("body: bar, point: [0, 0, 0.6]")), [], ["'p'", "'bar'", "0.6"], True),
    ("probe on an unknown body", model(rest=probe("body: baz, point: [0, 0, 0]")), [], ["'p'", "'baz'"], False),
    ("probe without a body", model(rest=probe("point: [0, 0, 0]")), [], ["'p'", "p_body"], False),
    ("probe without a point", model(rest=probe("body: bar")), [], ["'p'", "p_point"], False),
    # contact
    ("negative friction", touching("contact: {friction: -0.1}"), [], ["contact_friction", "-0.1"], True),
    ("friction not a number", touching("contact: {friction: much}"), [], ["contact_friction", "'much'"], False),
    ("restitution above 1", touching("contact: {restitution: 1.5}"), [], ["contact_restitution", "1.5"], False),
    ("infinite cohesion", touching("contact: {cohesion: .inf}"), [], ["contact_cohesion"], False),
    ("unknown law", touching("contact: {signorini: position}"), [], ["contact_signorini", "'position'", "gap", "velocity"], False),
    ("unknown theta", touching("contact: {theta: half}"), [], ["contact_theta", "'half'", "safe", "paper"], False),
    ("unknown points", touching("contact: {points: some}"), [], ["contact_points", "some"], False),
    ("unknown overlap", touching("contact: {overlap: push}"), [], ["contact_overlap", "'push'", "keep", "error"], False),
    ("unknown option of contact", touching("contact: {frction: 1}"), [], ["'contact_frction'", "'contact_friction'"], False),
    ("unknown step failure", touching(), ["-step_failure", "ignore"], ["step_failure", "'ignore'", "stop", "cut", "continue"], False),
    ("unknown matrix type", touching(), ["-dual_mat_type", "dense"], ["dual_mat_type", "'dense'", "bodies", "explicit"], False),
    ("pair without bodies", model(rest=pair("friction: 1")), [], ["'touch'", "touch_bodies"], False),
    ("pair of one body", model(rest=pair("bodies: [bar]")), [], ["'touch'", "touch_bodies", "two"], False),
    ("pair with an unknown body", model(rest=pair("bodies: [bar, baz]")), [], ["'touch'", "'baz'"], True),
    ("pair of a body with itself", model(rest=pair("bodies: [bar, 'b*']")), [], ["'touch'", "'bar'", "itself"], True),
    ("pair with a negative friction", model(rest=pair("bodies: [bar, bar]") + "\n", bodies="[bar]"), ["-touch_friction", "-1"], ["touch_friction", "-1"], False),
    # the run
    ("no step", model(ts="{max_steps: 2}"), [], ["ts_dt"], False),
    ("step of zero", model(ts="{dt: 0, max_steps: 2}"), [], ["ts_dt", "above zero"], False),
    ("step below zero", model(ts="{dt: -1e-3, max_steps: 2}"), [], ["ts_dt", "above zero"], False),
    ("step not a number", model(ts="{dt: short, max_steps: 2}"), [], [f"{M}:1:14: ", "ts_dt", "'short'", "not a number"], True),
    ("step not finite", model(ts="{dt: nan, max_steps: 2}"), [], [f"{M}:1:14: ", "ts_dt", "'nan'"], False),
    ("end not a number", model(ts="{dt: 1e-3, max_time: late}"), [], [f"{M}:1:", "ts_max_time", "'late'"], False),
    ("steps not a number", model(ts="{dt: 1e-3, max_steps: few}"), [], [f"{M}:1:", "ts_max_steps", "'few'"], False),
    ("end before the start", model(ts="{dt: 1e-3, max_time: -1}"), [], ["ts_max_time", "-1"], False),
    ("no steps", model(ts="{dt: 1e-3, max_steps: -1}"), [], ["ts_max_steps", "-1"], False),
    ("no end", model(ts="{dt: 1e-3}"), [], ["ts_max_time", "ts_max_steps"], False),
    ("another scheme of PETSc", model(), ["-ts_type", "beuler"], ["ts_type", "'beuler'", "zhangskeel"], False),
    ("unknown scheme", model(), ["-ts_type", "verlet"], ["ts_type", "verlet", "zhangskeel"], False),
    ("bad tolerance", model(), ["-ts_zhangskeel_implicit", "-ts_zhangskeel_rtol", "small"], ["ts_zhangskeel_rtol", "'small'"], False),
    ("unknown partitioner", model(), ["-mat_partitioning_type", "knife"], ["mat_partitioning_type", "'knife'"], False),
    ("no digits", model(), ["-output_digits", "0"], ["output_digits", "17"], False),
    ("too many digits", model(), ["-output_digits", "18"], ["output_digits", "17"], False),
    ("negative interval", model(), ["-output_interval", "-1"], ["output_interval"], False),
    ("negative energy_every", model(), ["-energy_every", "-1"], ["energy_every"], False),
    ("negative checkpoint_every", model(), ["-checkpoint_every", "-1"], ["checkpoint_every"], False),
    ("negative guard", model(), ["-energy_guard", "-1"], ["energy_guard"], False),
    ("negative wall time", model(), ["-max_wall_time", "-1"], ["max_wall_time"], False),
    ("unknown vector instructions", model(), ["-element_simd", "neon"], ["element_simd", "'neon'", "avx2"], False),
    # files to write and to go on from
    ("history cannot be written", model(), ["-output_history", "none/h.csv"], ["output_history", "none/h.csv"], False),
    ("history is a folder", model(), ["-output_history", "/"], ["output_history", "'/'"], False),
    ("Exodus cannot be written", model(), ["-output_exodus", "none/r.exo"], ["none/r.exo"], True),
    ("Exodus is a folder", model(), ["-output_exodus", "/tmp"], ["/tmp"], False),
    ("checkpoint cannot be written", model(), ["-checkpoint", "none/c.h5"], ["checkpoint", "none/c.h5"], False),
    ("checkpoint is a folder", model(), ["-checkpoint", "/tmp"], ["checkpoint", "/tmp"], False),
    ("summary cannot be written", model(), ["-summary", "none/s.json"], ["summary", "none/s.json"], False),
    ("two outputs in one file", model(), ["-summary", "h.csv"], ["output_history", "summary", "'h.csv'"], False),
    ("checkpoint without a file", model(), ["-checkpoint", "", "-checkpoint_every", "1"], ["checkpoint_every", "-checkpoint"], False),
    ("restart from nothing", model(), ["-restart", "none.h5"], ["restart", "none.h5"], False),
    ("restart from half a file", model(), ["-restart", f"{files}/half.h5"], ["restart", "half.h5", "checkpoint"], True),
    ("restart from text", model(), ["-restart", f"{files}/text.h5"], ["restart", "text.h5", "checkpoint"], False),
    ("restart from another model", model(), ["-restart", f"{files}/other.h5"], ["restart", "other.h5", "another model"], False),
    ("restart with another step", model(), ["-restart", f"{files}/step.h5"], ["restart", "step.h5", "ts_dt"], False),
]


def attempt(row, ranks):
    """Figures of one bad run: what is wrong with how it ended, or nothing."""
    name, text, options, wanted, _ = row
    directory = temporary()
    if text is not None:
        with open(f"{directory}/model.yml", "wb") as f: f.write(text if isinstance(text, bytes) else text.encode())
        options = ["-options_file", "model.yml"] + OUTPUTS + options
    old = {n: f"old {n}\n".encode() for n in ("h.csv", "r.exo", "c.h5", "s.json")}
    for n, data in old.items():
        with open(f"{directory}/{n}", "wb") as f: f.write(data)
    before = set(os.listdir(directory))
    try: r = run(exe, options, ranks=ranks, check=False, directory=directory, timeout=60)
    except SystemExit: return name, ["no end"], ""
    lines, wrong = r.err.splitlines(), []
    if r.code != 1: wrong.append(f"exit code {r.code}")
    if len(lines) != 1: wrong.append(f"{len(lines)} lines")
    if not r.err.startswith("ashlar: "): wrong.append("no 'ashlar: '")
    if "PETSC ERROR" in r.err + r.out or "internal error" in r.err: wrong.append("internal error")
    wrong += [f"without {w!r}" for w in wanted if w not in r.err]
    if set(os.listdir(directory)) != before: wrong.append(f"files {sorted(set(os.listdir(directory)) ^ before)}")
    for n, data in old.items():
        if os.path.exists(f"{directory}/{n}"):
            with open(f"{directory}/{n}", "rb") as f:
                if f.read() != data: wrong.append(f"{n} has changed")
    return (f"{name}, {ranks} ranks" if ranks > 1 else name), wrong, r.err.strip()


# what the bad ones are made of is good itself
with open(m, "w") as f: f.write(model(mesh("{type: exodus, file: good.exo}")))
r = run(exe, ["-options_file", m] + OUTPUTS, check=False)
c.true("the same with nothing wrong", r.code == 0 and not r.err, r.err)
runs = [(row, 1) for row in table] + [(row, 3) for row in table if row[4]]
with ThreadPoolExecutor(2) as pool:
    for name, wrong, line in pool.map(lambda a: attempt(*a), runs):
        c.true(name, not wrong, "; ".join(wrong + [line[:300]]))
c.finish()
