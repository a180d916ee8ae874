"""A second implementation of the deformable bodies in numpy, straight from the equations of the co-rotated integrators report
(hex8 with 2x2x2 Gauss points, St Venant-Kirchhoff, row-sum mass, dense matrices), for histories to be compared with:

    from reference import *
    body = Body(section)                 # a body's section of an options file, as a dictionary
    body.step(t, h, gravity, forces)     # (10-17), (24-32), or with implicit=True (18-21)
    body.energies()

or all of it for one run of the program: compare(). Run by itself it checks itself.
"""
import json, math, os
import numpy as np
from common import Checks, read_csv, run, temporary

__all__ = ["Body", "box", "compare", "pipe", "polar", "rotation", "simulate", "skew"]

# corners of a hexahedron in Exodus order, as signs of the local coordinates
CORNER = np.array([(-1, -1, -1), (1, -1, -1), (1, 1, -1), (-1, 1, -1), (-1, -1, 1), (1, -1, 1), (1, 1, 1), (-1, 1, 1)], float)


def skew(a): return np.array([[0, -a[2], a[1]], [a[2], 0, -a[0]], [-a[1], a[0], 0]])


def rotation(vector):
    """Rodrigues' formula, vector in radians."""
    a = np.linalg.norm(vector)
    if a == 0: return np.eye(3)
    n = skew(np.asarray(vector) / a)
    return np.eye(3) + math.sin(a) * n + (1 - math.cos(a)) * n @ n


def polar(F):
    """Rotation of F = R U by singular values: the zero of (78)."""
    u, _, vt = np.linalg.svd(F)
    return u @ np.diag([1, 1, np.linalg.det(u @ vt)]) @ vt


def grid(n, periodic=False):
    """Hexahedra of a structured grid with n cells; periodic: the second direction closes on itself."""
    N = (n[0] + 1, n[1] + (not periodic), n[2] + 1)
    at = lambda i, j, k: (i * N[1] + j % N[1]) * N[2] + k
    cells = [(i, j, k) for i in range(n[0]) for j in range(n[1]) for k in range(n[2])]
    up = (CORNER > 0).astype(int)
    return N, np.array([[at(*(np.array(c) + u)) for u in up] for c in cells])


def box(size, cells):
    N, conn = grid(cells)
    axes = [s * (np.arange(m) / (m - 1) - 0.5) for s, m in zip(size, N)]
    return np.stack(np.meshgrid(*axes, indexing="ij"), -1).reshape(-1, 3), conn


def pipe(inner_radius, thickness, length, cells):
    """Axis along x; the first line of nodes around is the lowest."""
    N, conn = grid(cells, True)
    x, a, r = np.meshgrid(length * (np.arange(N[0]) / cells[0] - 0.5), 2 * np.pi * np.arange(N[1]) / cells[1],
                          inner_radius + thickness * np.arange(N[2]) / cells[2], indexing="ij")
    return np.stack([x, -r * np.sin(a), -r * np.cos(a)], -1).reshape(-1, 3), conn


class Body:
    def __init__(self, section):
        mesh, material = dict(section["mesh"]), section["material"]
        self.Z, self.conn = {"box": box, "pipe": pipe}[mesh.pop("type")](**mesh)
        E, nu, rho = (float(material[k]) for k in ("young", "poisson", "density"))
        self.lam, self.mu, self.rho = E * nu / ((1 + nu) * (1 - 2 * nu)), E / (2 * (1 + nu)), rho
        self.linear = material.get("type", "svk") == "linear"
        self.bc = section.get("formulation", "bc") == "bc"
        self.eta, self.alpha = float(section.get("damping", 0)), float(section.get("mass_damping", 0))
        self.volume_frame, self.conserve = section.get("frame", "mass") == "volume", section.get("conserve", True)
        if self.linear and not self.bc: self.conserve = False             # small strains about the placed state know no rotation
        self.integrate()
        self.total = self.m.sum()
        self.centre = self.m @ self.Z / self.total
        self.X = self.Z - self.centre
        self.g = self.G if self.volume_frame else self.m[:, None] * self.X
        self.R0 = rotation(np.radians(np.array(section.get("rotate", [0, 0, 0]), float)))
        self.origin = self.R0 @ self.centre + np.array(section.get("translate", [0, 0, 0]), float)
        self.x = self.X @ self.R0.T                                       # from the placed mass centre
        spin = np.array(section.get("angular_velocity", [0, 0, 0]), float)
        self.u = np.array(section.get("velocity", [0, 0, 0]), float) + np.cross(spin, self.x)
        self.placed = self.x.copy()
        self.M = np.repeat(self.m, 3)
        self.K0 = self.forces(self.Z)[1]
        self.external = self.damping = 0.0
        self.h = None

    def integrate(self):
        """Gradients of the shape functions and weights at the Gauss points, lumped mass, G = int grad N dV."""
        points = CORNER / math.sqrt(3)
        N = np.prod(1 + points[:, None] * CORNER, -1) / 8                 # [point, node]
        d = np.empty((8, 8, 3))
        for c in range(3):
            o = [i for i in range(3) if i != c]
            d[:, :, c] = CORNER[:, c] * np.prod(1 + points[:, None][..., o] * CORNER[:, o], -1) / 8
        J = np.einsum("eai,gaj->egij", self.Z[self.conn], d)
        self.w = np.linalg.det(J)
        assert self.w.min() > 0
        self.dN = np.einsum("gaj,egji->egai", d, np.linalg.inv(J))
        self.m, self.G = np.zeros(len(self.Z)), np.zeros((len(self.Z), 3))
        np.add.at(self.m, self.conn, self.rho * np.einsum("eg,ga->ea", self.w, N))
        np.add.at(self.G, self.conn, np.einsum("eg,egai->eai", self.w, self.dN))
        dof = (3 * self.conn[:, :, None] + np.arange(3)).reshape(len(self.conn), 24)
        self.dof, self.place = dof, (dof[:, :, None] * 3 * len(self.Z) + dof[:, None, :]).ravel()

    def green(self, x):
        F = x[self.conn].transpose(0, 2, 1)[:, None] @ self.dN
        E = 0.5 * (F.swapaxes(2, 3) @ F - np.eye(3))
        return F, E, self.lam * np.trace(E, axis1=2, axis2=3)[..., None, None] * np.eye(3) + 2 * self.mu * E

    def forces(self, x, tangent=True):
        """Internal force and its derivative, of the second Piola-Kirchhoff stress S = lambda tr E + 2 mu E."""
        F, _, S = self.green(x)
        n, ne = 3 * len(self.Z), len(self.conn)
        fe = np.einsum("eg,egij,egaj->eai", self.w, F @ S, self.dN).reshape(ne, 24)
        f = np.bincount(self.dof.ravel(), fe.ravel(), n)
        if not tangent: return f
        # Voigt's B: rows of variations of E11 E22 E33 2E12 2E23 2E31
        B = np.empty((ne, 8, 6, 8, 3))
        Ft, dN = F.swapaxes(2, 3)[:, :, :, None], self.dN.swapaxes(2, 3)[..., None]   # [e,g,j,1,i], [e,g,j,a,1]
        for r, (p, q) in enumerate([(0, 0), (1, 1), (2, 2), (0, 1), (1, 2), (2, 0)]):
            B[:, :, r] = Ft[:, :, p] * dN[:, :, q] if p == q else Ft[:, :, p] * dN[:, :, q] + Ft[:, :, q] * dN[:, :, p]
        B = B.reshape(ne, 8, 6, 24)
        C = np.diag([2 * self.mu] * 3 + [self.mu] * 3)
        C[:3, :3] += self.lam
        CB = self.w[..., None, None] * (C @ B)
        k = B.reshape(ne, 48, 24).swapaxes(1, 2) @ CB.reshape(ne, 48, 24)
        geo = (self.w[..., None, None] * (self.dN @ S @ self.dN.swapaxes(2, 3))).sum(1)
        for c in range(3): k[:, c::3, c::3] += geo
        return f, np.bincount(self.place, k.ravel(), n * n).reshape(n, n)

    # --- what the formulations differ in: internal force, its stiffness, energy ---

    def mean(self, v): return self.m @ v / self.total

    def frame(self, x): return polar((x - self.mean(x)).T @ self.g)

    def inner(self, x, v):
        """Elastic force at x, damping force of velocity v there, stiffness that the operator has."""
        if self.bc:
            L = self.frame(x)
            y = (x - self.mean(x)) @ L
            fe, fd = (self.K0 @ (y - self.X).ravel()).reshape(-1, 3), self.eta * (self.K0 @ ((v - self.mean(v)) @ L).ravel()).reshape(-1, 3)
            return (fe @ L.T).ravel(), (fd @ L.T).ravel(), L
        if self.linear:
            f = (self.K0 @ ((x - self.mean(x)) @ self.R0 - self.X).ravel()).reshape(-1, 3) @ self.R0.T
            return f.ravel(), self.eta * ((self.K0 @ ((v - self.mean(v)) @ self.R0).ravel()).reshape(-1, 3) @ self.R0.T).ravel(), self.R0
        f, K = self.forces(x)
        return f, self.eta * K @ v.ravel(), K

    def solve(self, K, b, h):
        """(M (1 + alpha h/2) + (eta h/2 + h^2/4) K)^-1 b, K a matrix or the rotation of a constant one (34)."""
        sm, sk = 1 + self.alpha * h / 2, self.eta * h / 2 + h * h / 4
        if K.shape == (3, 3):
            if self.h != h:
                self.A0, self.h = np.diag(sm * self.M) + sk * self.K0, h
                self.inverse = np.linalg.inv(self.A0)
            b = (b.reshape(-1, 3) @ K).ravel()
            r = self.inverse @ b
            r += self.inverse @ (b - self.A0 @ r)
            return (r.reshape(-1, 3) @ K.T).ravel()
        return np.linalg.solve(np.diag(sm * self.M) + sk * K, b)

    def step(self, t, h, gravity=None, forces=(), implicit=False):
        """forces: pairs of a node's number and a function of time, gravity: a function of time."""
        u, xh = self.u, self.x + h / 2 * self.u                           # (10), (24)
        fext = np.zeros_like(u)
        if gravity: fext += self.m[:, None] * np.asarray(gravity(t + h / 2), float)
        for node, f in forces: fext[node] += f(t + h / 2)
        du = np.zeros_like(u)
        for _ in range(50 if implicit else 1):                            # once, or Newton's iteration of (19)
            fe, fd, K = self.inner(xh + h / 4 * du, u + du / 2)
            r = h * (fext.ravel() - fe - fd - self.alpha * self.M * (u + du / 2).ravel()) - self.M * du.ravel()
            c = self.solve(K, r, h)
            du = du + c.reshape(-1, 3)
            if abs(h / 4 * c).max() < 1e-15 * np.ptp(self.X): break       # round-off of the positions
        a, free = xh - self.mean(xh), du                                  # free: before its momentum is set
        if self.conserve:
            sm = 1 + self.alpha * h / 2
            due = (h * fext - h * self.alpha * self.m[:, None] * u) / sm   # what Newton and Euler say that du must carry
            J = (self.m * (a * a).sum(1)).sum() * np.eye(3) - (self.m[:, None] * a).T @ a
            lack = due - self.m[:, None] * du
            du = du + np.cross(np.linalg.solve(J, np.cross(a, lack).sum(0)), a) + lack.sum(0) / self.total
        mid = u + du / 2
        self.external += h * (fext * mid).sum()
        self.damping -= h * (self.alpha * (self.m[:, None] * mid * mid).sum())
        if self.eta:
            fd = self.inner(xh + (h / 4 * free if implicit else 0), mid if self.bc else u + free / 2)[1].reshape(-1, 3)
            # conserve: whatever turns the body is taken off, so only the motion beyond the mean rotation is damped
            if self.conserve:
                mid = mid - np.cross(np.linalg.solve(J, np.cross(a, self.m[:, None] * mid).sum(0)), a)
            self.damping -= h * (fd * mid).sum()
        self.u = u + du
        self.x = xh + h / 2 * self.u                                      # (17), (31)

    def energies(self):
        kinetic = 0.5 * (self.m[:, None] * self.u**2).sum()
        if self.bc or self.linear:
            L = self.frame(self.x) if self.bc else self.R0
            d = ((self.x - self.mean(self.x)) @ L - self.X).ravel()
            return kinetic, 0.5 * d @ self.K0 @ d
        _, E, S = self.green(self.x)
        return kinetic, 0.5 * np.einsum("eg,egij,egij->", self.w, E, S)

    def node(self, point):
        """The node at a point of the placed state."""
        d = np.linalg.norm(self.placed + self.origin - np.asarray(point, float), axis=1)
        assert d.min() < 1e-9 * np.ptp(self.placed)
        return int(d.argmin())

    def momentum(self):
        p = self.m[:, None] * self.u
        return p.sum(0), np.cross(self.x, p).sum(0)


def simulate(exe, sections, dt, steps, probes=None, every=1, extra=None, options=(), ranks=1):
    """One run of the program: its history. sections, probes: {name: section}; extra: other sections of the options file."""
    directory = temporary()
    model = {"ts": {"type": "zhangskeel", "dt": dt, "max_steps": steps}, "bodies": list(sections), **sections, **(extra or {}),
             "output": {"history": "h.csv", "digits": 17, "interval": dt * every}}
    if probes: model |= {"probes": list(probes), **probes}
    with open(os.path.join(directory, "case.yml"), "w") as f: json.dump(model, f)
    # no guard: cases look at the balance themselves
    r = run(exe, ["-options_file", "case.yml", "-progress", "false", "-energy_guard", 0, *options], directory=directory, ranks=ranks)
    return read_csv(r.path("h.csv"))


def compare(c, exe, name, sections, dt, steps, probes, gravity=None, force=None, implicit=False, tolerance=1e-10, options=()):
    """Kinetic and internal energy, works, position and velocity of every probe: largest difference over the peak of each.
    gravity: (three expressions for the program, the same as a function); force: (a section, the same as a function). tolerance: of internal energy and works, for bodies so stiff
    that round-off of the positions (1e-16 m at the start moves the ends of a bar of 2e8 Pa by 1e-14 m later) shows in them."""
    if implicit: options = [*options, "-ts_zhangskeel_implicit"]
    extra = ({"gravity": gravity[0]} if gravity else {}) | ({"forces": ["push"], "push": force[0]} if force else {})
    h = simulate(exe, sections, dt, steps, probes, extra=extra, options=options)
    bodies = {n: Body(s) for n, s in sections.items()}
    nodes = {p: bodies[s["body"]].node(s["point"]) for p, s in probes.items()}
    rows = {k: [] for k in ["kinetic", "internal", "external", "damping", *probes]}
    for n in range(steps + 1):
        if n:
            for k, b in bodies.items():
                b.step((n - 1) * dt, dt, gravity[1] if gravity else None, [(b.node(force[0]["point"]), force[1])] if force and force[0]["body"] == k else [], implicit)
        e = [b.energies() for b in bodies.values()]
        for k, v in zip(rows, [sum(x[0] for x in e), sum(x[1] for x in e), sum(b.external for b in bodies.values()), sum(b.damping for b in bodies.values())]):
            rows[k].append(v)
        for p, s in probes.items(): rows[p].append(np.concatenate([bodies[s["body"]].x[nodes[p]] + bodies[s["body"]].origin, bodies[s["body"]].u[nodes[p]]]))
    c.equal(f"{name}: rows", len(h["time"]), steps + 1)
    c.close(f"{name}: time", h["time"], dt * np.arange(steps + 1), rtol=1e-15)
    largest = max(np.max(np.abs(rows[k])) for k in ("kinetic", "internal", "external", "damping"))
    c.close(f"{name}: kinetic", h["kinetic"], rows["kinetic"], rtol=1e-10)
    c.close(f"{name}: internal", h["internal"], rows["internal"], rtol=tolerance)
    # K0 times a rotation is round-off, not zero, and does a little work in every step
    for k in ("external", "damping"): c.close(f"{name}: {k}", h[k], rows[k], rtol=tolerance, atol=3e-12 * largest)
    for p in probes:
        r = np.array(rows[p])
        now = np.stack([h[f"{p}_{x}"] for x in ("x", "y", "z", "vx", "vy", "vz")], 1)
        # the motion, not where the body is
        c.close(f"{name}: position of {p}", now[:, :3] - r[0, :3], r[:, :3] - r[0, :3], rtol=1e-10)
        c.close(f"{name}: velocity of {p}", now[:, 3:], r[:, 3:], rtol=1e-10)
    return h, bodies, rows


def check():
    c, rng = Checks(), np.random.default_rng(1)
    b = Body({"mesh": {"type": "pipe", "inner_radius": 0.2, "thickness": 0.1, "length": 0.5, "cells": [2, 6, 1]},
              "material": {"young": 2e6, "poisson": 0.3, "density": 1e3}, "formulation": "tl"})
    # a polygon of 6 sides, radii 0.2 and 0.3: area 6/2 sin(60) (0.3^2 - 0.2^2)
    c.close("mass", b.total, 1e3 * 0.5 * 3 * math.sin(math.pi / 3) * 0.05, rtol=1e-14)
    c.close("G of a linear field", b.Z.T @ b.G, np.eye(3) * b.total / 1e3, atol=1e-15)
    x, v, e = b.X + 0.02 * rng.standard_normal(b.X.shape), rng.standard_normal(b.X.shape), 1e-6
    f, K = b.forces(x)

    def energy(x):
        b.x = x
        return b.energies()[1]

    c.close("force is the gradient of the energy", (energy(x + e * v) - energy(x - e * v)) / (2 * e), f @ v.ravel(), rtol=1e-6)
    c.close("stiffness is the derivative of the force", (b.forces(x + e * v, False) - b.forces(x - e * v, False)) / (2 * e), K @ v.ravel(), rtol=1e-7)
    R = rotation([1, -2, 0.5])
    c.close("turned, the force turns", b.forces(x @ R.T, False), (f.reshape(-1, 3) @ R.T).ravel(), rtol=1e-12)
    c.close("polar rotation", polar(R @ (np.eye(3) + 0.1 * np.diag([1, 2, -1]))), R, atol=1e-14)
    b.bc = True
    for b.volume_frame in (False, True):
        b.g = b.G if b.volume_frame else b.m[:, None] * b.X
        x = b.X @ R.T + 0.01 * v
        # but for its torque, of the order of the strain squared
        c.close("co-rotated force is the gradient of the energy", (energy(x + e * v) - energy(x - e * v)) / (2 * e), b.inner(x, 0 * v)[0] @ v.ravel(), rtol=2e-3)
        # (78): no mean infinitesimal rotation is left
        F = b.frame(x).T @ (x.T @ b.g)
        c.below("(78)", abs(F - F.T).max() / abs(F).max(), 1e-14)
    c.finish()


if __name__ == "__main__": check()
