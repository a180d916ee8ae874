"""The semicircular arch of 27 flat blocks: at a thickness of 0.109 of the centreline radius it stands, at 0.104 it falls. Its limit is 0.1067."""
from common import *

exe, root = arguments()
c = Checks()
R = 10
for ratio, stands in ((0.109, True), (0.104, False)):
    r = run(exe, ["-options_file", f"{root}/options/arch.yml", "-stone_mesh_thickness", ratio * R, "-output_exodus", "", "-output_history", "h.csv", "-output_digits", 17, "-ts_max_time", 5 if stands else 2, "-progress", "false"], timeout=600)
    h = read_csv(r.path("h.csv"))
    drop = (h["crown_z"][0] - h["crown_z"].min()) / R
    if stands: c.below(f"t/R = {ratio}: the crown moves in 5 s by the radius", max(drop, np.max(np.abs(h["crown_x"])) / R), 1e-3)
    else: c.between(f"t/R = {ratio}: the crown drops by the radius", drop, 0.1, 2)
    c.equal("steps not converged", r.summary["steps not converged"], 0)
    print(f"       mean of SNES iterations {r.summary['SNES iterations mean']:g}, largest penetration {r.summary['largest penetration']:g}")
c.finish()
