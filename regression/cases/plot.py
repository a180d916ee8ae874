"""scripts/plot: pictures of the rotating bar show what is in the files; what is wrong is said in one line."""
import os, subprocess
from importlib.machinery import SourceFileLoader
import h5py
import matplotlib
matplotlib.use("Agg")
import matplotlib.image
from common import *
from common import environment

exe, root = arguments()
c = Checks()
d = run(exe, ["-options_file", f"{root}/options/rotating_bar.yml", "-output_interval", "0.125"]).directory


def plot(*words):
    return subprocess.run([f"{root}/scripts/plot", *words], cwd=d, env=environment(), capture_output=True, text=True, timeout=120)


def picture(name, *words):
    """The picture as numbers, after the checks that it is there and is one."""
    p = plot(*words, "-o", name)
    if not c.true(f"{' '.join(words)}: is made", p.returncode == 0 and p.stdout == f"{name}\n" and not p.stderr, p.stderr.strip()[-300:]): c.finish()
    image = matplotlib.image.imread(f"{d}/{name}")[:, :, :3]
    c.true("its size", min(image.shape[:2]) > 200, image.shape)
    drawn = np.any(image < 0.9, axis=2).mean()
    c.between("part of it that is not white", drawn, 0.002, 0.9)
    return image


# --- histories
one = picture("h.png", "history", "rotating_bar.csv")
c.true("the word history can be left out", np.array_equal(one, picture("h2.png", "rotating_bar.csv")))
two = picture("columns.png", "history", "rotating_bar.csv", "--columns", "kinetic,top_z")
c.true("columns: another picture", one.shape != two.shape or not np.array_equal(one, two), f"{one.shape} {two.shape}")


# --- scenes: the bar is 0.1 x 0.1 x 1 at first, and turns about x by 1 rad/s
def bar(image):
    """Rows and columns of the pixels that have a colour: text and arrows have none."""
    return np.nonzero(image.max(axis=2) - image.min(axis=2) > 0.1)


side = ("scene", "rotating_bar.exo", "--color", "body", "--view", "0,0")
y, x = bar(picture("start.png", *side, "--times", "0"))
c.close("seen from the side: ten times as high as wide", (np.ptp(y) + 1) / (np.ptp(x) + 1), 10, rtol=0.05)
y, x = bar(picture("top.png", "scene", "rotating_bar.exo", "--color", "body", "--view", "-90,90", "--times", "0"))
c.close("from above: as high as wide", (np.ptp(y) + 1) / (np.ptp(x) + 1), 1, rtol=0.02)
for t in (0.5, 1.0):
    y, x = bar(picture(f"t{t}.png", *side, "--times", str(t)))
    size, axes = np.linalg.eigh(np.cov(x, -y))
    along = axes[:, 1] * np.sign(axes[1, 1])
    c.close(f"time {t}: angle it has turned by, from z to -y", np.arctan2(-along[0], along[1]), t, atol=0.02)  # y is to the right
    c.close("its form", np.sqrt(size[1] / size[0]), 10, rtol=0.06)
three = picture("three.png", "scene", "rotating_bar.exo")  # three times, stress
c.true("three times side by side, each of them drawn", all(len(bar(part)[0]) > 2000 for part in np.array_split(three[:, :int(0.9 * three.shape[1])], 3, axis=1)))

# --- the same in the form of netCDF-4, which large models have
script = SourceFileLoader("plot", f"{root}/scripts/plot").load_module()
f = script.Netcdf(f"{d}/rotating_bar.exo")
c.close("times in the file", f.get("time_whole"), np.arange(9) / 8, atol=1e-15)
with h5py.File(f"{d}/four.exo", "w") as h:
    for name in f.variables: h[name] = f.get(name).astype(f.get(name).dtype.newbyteorder("="))
c.true("netCDF-4: the same picture", np.array_equal(three, picture("four.png", "scene", "four.exo")))

# --- mistakes
with open(f"{d}/rotating_bar.exo", "rb") as f: whole = f.read()
for name, data in {"half.exo": whole[:len(whole) // 2], "head.exo": whole[:300], "text.exo": b"no bodies\n", "empty.exo": b""}.items():
    with open(f"{d}/{name}", "wb") as f: f.write(data)
before = sorted(os.listdir(d))
for words in (["scene"], ["scene", "none.exo"], ["scene", "half.exo"], ["scene", "head.exo"], ["scene", "text.exo"], ["scene", "empty.exo"], ["scene", "rotating_bar.csv"],
              ["scene", "rotating_bar.exo", "--times", "now"], ["scene", "rotating_bar.exo", "--view", "30"], ["scene", "rotating_bar.exo", "--color", "red"],
              ["scene", "rotating_bar.exo", "--bodies", "pipe*"], ["scene", "rotating_bar.exo", "-o", "none/x.png"], ["scene", "rotating_bar.exo", "-o", "rotating_bar.exo"],
              ["history", "rotating_bar.csv", "--columns", "kinetic,heat"], ["history"], ["film", "rotating_bar.exo"]):
    p = plot(*words)
    c.true(f"refused: {' '.join(words)}", p.returncode == 1 and len(p.stderr.splitlines()) == 1 and p.stderr.startswith("plot: "), p.stderr.strip()[-200:])
c.equal("nothing is left behind", sorted(os.listdir(d)), before)
c.finish()
