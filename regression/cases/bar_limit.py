"""As the bar gets stiffer, its co-rotated elongation goes to the total Lagrangian one as E^-1.5, whatever the frame and with or without the
correction of momentum; and 100 s of the soft bar at 1/64 s keep their energy (1/256 s: validation bar_energy)."""
from common import *

exe, root = arguments()
c = Checks()
common = ["-options_file", f"{root}/options/rotating_bar.yml", "-output_digits", 17, "-output_exodus", "", "-progress", "false"]
paper = ["-bar_frame", "volume", "-bar_conserve", "false"]


def elongation(formulation, young, options):
    r = run(exe, [*common, "-bar_formulation", formulation, "-bar_material_young", young, "-ts_dt", 2.0**-12, "-ts_max_time", 1 / 8, "-output_interval", 0, *options])
    h = read_csv(r.path("rotating_bar.csv"))
    return np.sqrt(sum((h[f"top_{k}"] - h[f"bot_{k}"])**2 for k in "xyz")) - 1


for young, wanted in ((2e6, 1.3e-6), (2e7, 3.8e-8), (2e8, 1.3e-9), (2e9, 4e-11)):
    tl = elongation("tl", young, [])
    c.equal(f"E = {young:g}: rows", len(tl), 513)
    for name, options in {"as in the report": paper, "defaults": []}.items():
        c.between(f"E = {young:g}, {name}: distance of bc from tl", np.max(np.abs(elongation("bc", young, options) - tl)), 0.8 * wanted, 1.2 * wanted)

for formulation, limit in (("tl", 5.06e-4), ("bc", 4.94e-4)):
    r = run(exe, [*common, "-bar_formulation", formulation, "-ts_dt", 1 / 64, "-ts_max_time", 100, "-output_interval", 1 / 16, "-energy_every", 0, *(paper if formulation == "bc" else [])])
    total = read_csv(r.path("rotating_bar.csv"))["total"]
    c.equal(f"{formulation}: rows", len(total), 1601)
    c.below(f"{formulation}: oscillation of the energy in 100 s", np.ptp(total[1:]), 1.1 * limit)
c.finish()
