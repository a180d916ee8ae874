"""The free bar of section 8.1 for 100 s, sampled every 1/16 s without t = 0: oscillation (max - min) of its total energy, with what the
report has (frame of (78), no correction of momentum) and with the defaults. Figures of the report's own program, within 10 %."""
from common import *

exe, root = arguments()
c = Checks()
wanted = {("tl", 64): 5.06e-4, ("bc", 64): 4.94e-4, ("tl", 256): 2.52e-5, ("bc", 256): 2.80e-5}
for (formulation, n), limit in wanted.items():
    for name, options in {"as in the report": ["-bar_frame", "volume", "-bar_conserve", "false"], "defaults": []}.items():
        r = run(exe, ["-options_file", f"{root}/options/rotating_bar.yml", "-bar_formulation", formulation, "-ts_dt", 1 / n, "-ts_max_time", 100, "-output_interval", 1 / 16,
                      "-output_digits", 17, "-output_exodus", "", "-energy_every", 0, "-progress", "false", *options])
        total = read_csv(r.path("rotating_bar.csv"))["total"]
        c.equal(f"{formulation} 1/{n}, {name}: rows", len(total), 1601)
        c.below(f"{formulation} 1/{n}, {name}: oscillation", np.ptp(total[1:]), 1.1 * limit)
        quarters = [q.mean() for q in np.array_split(total[1:], 4)]
        c.below(f"{formulation} 1/{n}, {name}: drift of the quarters' means", np.ptp(quarters), 0.1 * limit)
c.finish()
