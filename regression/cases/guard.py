"""The stability indicator warns once, before the first step; the energy guard ends a run whose energy grows, and motion that is not finite ends
it at once; each names the body. Bodies at rest and bodies that loads set in motion do not trip it."""
import re, time
from common import *

exe, root = arguments()
c = Checks()
bar = ["-options_file", f"{root}/options/rotating_bar.yml", "-output_exodus", "", "-output_history", "h.csv", "-output_interval", "0"]
stiff = bar + ["-bar_material_young", "2e11"]

# c h^2 omega / r_g = 4.2: a warning with the step it needs, then the guard
r = run(exe, stiff + ["-ts_dt", "0.015625", "-ts_max_time", "4"], check=False)
lines = r.err.splitlines()
c.equal("stiff bar, h = 1/64: exit code", r.code, 1)
c.equal("lines on standard error", len(lines), 2)
warning, error = (lines + ["", ""])[:2]
c.true("a warning that names the body", warning.startswith("ashlar: warning: ") and "'bar'" in warning, warning)
c.true("then the guard that names it", "'bar'" in error and "energy" in error and "warning" not in error, error)
step = re.search(r"-ts_dt ([0-9.e-]+)", warning)
step = float(step.group(1)) if step else float("nan")
wave, gyration = np.sqrt(2e11 / 7.8e3), np.sqrt((1 + 0.1**2) / 12)  # of the bar about its short axis
c.close("the step in it", step, np.sqrt(0.3 * gyration / wave), rtol=0.02)
c.true("no row after the guard's step", len(read_csv(r.path("h.csv"))["time"]) <= 3, f"{len(read_csv(r.path('h.csv'))['time'])} rows")
c.true("no summary of such a run", "steps" not in r.summary)

# just above and below the bound of the indicator
r = run(exe, stiff + ["-ts_dt", f"{1.02 * step:.6g}", "-ts_max_steps", "2"], check=False)
c.true("a warning just above", r.err.count("warning") == 1, r.err.strip())
r = run(exe, stiff + ["-ts_dt", f"{0.98 * step:.6g}", "-ts_max_steps", "2"])
c.equal("none just below", r.err, "")
r = run(exe, stiff + ["-ts_dt", f"{1.02 * step:.6g}", "-ts_max_steps", "2", "-indicator_warn", "0.5"])
c.equal("none with -indicator_warn 0.5", r.err, "")
r = run(exe, stiff + ["-ts_dt", "0.015625", "-ts_max_steps", "2", "-indicator_warn", "0", "-energy_guard", "0"])
c.equal("neither with both 0", r.err, "")
r = run(exe, stiff + ["-ts_dt", "0.015625", "-ts_max_steps", "20", "-bar_formulation", "rigid"])
c.equal("no warning of a rigid body", r.err, "")

# below: energy stays, with c h^2 omega / r_g = 0.265 of bc and, whose bound is lower, 0.13 of tl
for formulation, h in (("bc", 1 / 256), ("tl", 0.00272)):
    r = run(exe, stiff + ["-bar_formulation", formulation, "-ts_dt", h, "-ts_max_time", "4"])
    e = read_csv(r.path("h.csv"))["total"]
    c.equal(f"{formulation}, h = {h:g}: nothing on standard error", r.err, "")
    c.below("energy over 4 s, relative", np.max(np.abs(e / e[0] - 1)), 0.02)
r = run(exe, stiff + ["-bar_formulation", "tl", "-ts_dt", "0.003", "-ts_max_steps", "2"])
c.true("tl warns from 0.135 on", r.err.count("warning") == 1 and "0.135" in r.err, r.err.strip())

# without the guard the motion ends as infinite numbers; on three ranks, with the body not on the first
swarm = ["-bodies", "calm,bar", "-calm_mesh_type", "box", "-calm_mesh_size", "1,1,1", "-calm_material_density", "1", "-calm_formulation", "rigid", "-contact_enabled", "false"]
for ranks, extra in ((1, []), (3, swarm)):
    r = run(exe, stiff + extra + ["-ts_dt", "0.1", "-ts_max_time", "1e6", "-energy_guard", "0", "-indicator_warn", "0"], ranks=ranks, check=False, timeout=60)
    c.true(f"not finite, {ranks} ranks", r.code == 1 and len(r.err.splitlines()) == 1 and "'bar'" in r.err and "finite" in r.err, r.err.strip())
    e = read_csv(r.path("h.csv"))
    c.true("nothing that is not a number was written", all(np.all(np.isfinite(v)) for v in e.values()), f"{len(e['time'])} rows")
    r = run(exe, stiff + extra + ["-ts_dt", "0.015625", "-ts_max_time", "4", "-indicator_warn", "0"], ranks=ranks, check=False, timeout=60)
    c.true(f"the guard, {ranks} ranks", r.code == 1 and len(r.err.splitlines()) == 1 and "'bar'" in r.err and "energy" in r.err, r.err.strip())
# also when energies are looked at seldom
r = run(exe, stiff + ["-ts_dt", "0.1", "-ts_max_time", "1e6", "-indicator_warn", "0", "-energy_every", "0", "-output_interval", "1e9"], check=False, timeout=60)
c.true("the guard is not asked: not finite", r.code == 1 and "'bar'" in r.err and "finite" in r.err, r.err.strip())

# a load that is not finite at some time, on the one rank that has the body
pushed = swarm + ["-forces", "push", "-push_body", "bar", "-push_offset", "0,0,0", "-push_direction", "0,1,0", "-push_value", "1/(t-0.025)", "-ts_dt", "0.01", "-ts_max_steps", "9"]
for ranks in (1, 3):
    r = run(exe, bar + pushed, ranks=ranks, check=False, timeout=60)
    c.true(f"a force that is not finite, {ranks} ranks", r.code == 1 and len(r.err.splitlines()) == 1 and "push_value" in r.err and "t = 0.025" in r.err, r.err.strip())
    c.equal("rows until then", len(read_csv(r.path("h.csv"))["time"]), 3)

# an obstacle's motion that is not finite at some time: found when it is written, by the one rank that has the body; the others do not wait for it
wall = swarm[:1] + ["calm,bar,wall"] + swarm[2:] + ["-wall_mesh_type", "box", "-wall_mesh_size", "1,1,1", "-wall_formulation", "obstacle", "-wall_translate", "9,0,0", "-probes", "top,bot,p", "-p_body", "wall",
                                                    "-p_offset", "0,0,0", "-ts_dt", "0.01", "-ts_max_steps", "9"]
for ranks in (1, 3):
    began = time.time()
    run(exe, bar + wall + ["-output_exodus", "r.exo"], ranks=ranks, timeout=60)
    usual = time.time() - began
    for name, output in (("history", []), ("Exodus", ["-output_history", "", "-output_exodus", "r.exo"])):
        began = time.time()
        r = run(exe, bar + wall + output + ["-wall_motion_x", "1/(t-0.03)"], ranks=ranks, check=False, timeout=60)
        c.true(f"a motion that is not finite, {name}, {ranks} ranks", r.code == 1 and len(r.err.splitlines()) == 1 and "wall_motion_x" in r.err and "t = 0.03" in r.err, r.err.strip())
        c.true("at once: ranks that wait for others would be given 10 s", time.time() - began < usual + 8, f"{time.time() - began:.1f} s, otherwise {usual:.1f} s")

# bodies at rest have energies of round-off only, whatever their placement; loads may set them in motion
with open(f"{temporary()}/rest.yml", "w") as f:
    f.write("ts: {dt: 1e-3, max_steps: 300}\nbodies: [bar]\nbar:\n  mesh: {type: box, size: [0.1, 0.1, 1], cells: [2, 2, 8]}\n"
            "  material: {young: 2e9, poisson: 0.26, density: 7.8e3}\n  rotate: [10, 20, 30]\n  translate: [3, 4, 5]\n")
for formulation in ("bc", "tl", "rigid"):
    for name, loads in (("at rest", []), ("falling", ["-gravity", "0,0,-9.81"]),
                        ("pushed", ["-forces", "push", "-push_body", "bar", "-push_offset", "0,0,0.03", "-push_direction", "1,1,1", "-push_value", "sin(50*t)"])):
        r = run(exe, ["-options_file", f.name, "-bar_formulation", formulation] + loads, check=False)
        c.true(f"{formulation} {name}: no complaint", r.code == 0 and not r.err, r.err.strip())
c.finish()
