"""Ray casting against an independent double-precision reference, ray by ray and solid by solid."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from ghosts_houses.arrays import fetch, put
from ghosts_houses.house import Primitive
from ghosts_houses.render.raycast import Frames, cast, intersect, nearest, upload
from ghosts_houses.solids import Solids
from ghosts_sim.errors import ConfigError


def reference_hit(p: Primitive, origin: np.ndarray, ray: np.ndarray) -> float:
    """Distance along a unit ray to a primitive's surface by the textbook, or infinity."""
    c, s = math.cos(p.yaw_rad), math.sin(p.yaw_rad)
    to_own = np.array([[c, s, 0.0], [-s, c, 0.0], [0.0, 0.0, 1.0]])
    to_own[2] -= p.slope * to_own[0]
    o, d = to_own @ (origin - np.array(p.center_m)), to_own @ ray
    half = np.array(p.half_m)
    roots = []
    if p.shape == "box":
        for axis in range(3):
            for sign in (-1.0, 1.0):
                t = (sign * half[axis] - o[axis]) / d[axis]
                at = o + t * d
                if all(abs(at[k]) <= half[k] + 1e-12 for k in range(3) if k != axis):
                    roots.append(t)
    elif p.shape == "cylinder":
        a, b, k = _quadratic(o[:2] / half[:2], d[:2] / half[:2])
        if b * b - a * k >= 0:
            for sign in (-1.0, 1.0):
                t = (-b + sign * math.sqrt(b * b - a * k)) / a
                if abs(o[2] + t * d[2]) <= half[2]:
                    roots.append(t)
        for sign in (-1.0, 1.0):
            t = (sign * half[2] - o[2]) / d[2]
            if np.sum(((o + t * d)[:2] / half[:2]) ** 2) <= 1.0:
                roots.append(t)
    else:
        a, b, k = _quadratic(o / half, d / half)
        if b * b - a * k >= 0:
            roots.append((-b - math.sqrt(b * b - a * k)) / a)
    roots = [t for t in roots if t > 0]
    return min(roots, default=math.inf)


def _quadratic(o: np.ndarray, d: np.ndarray) -> tuple[float, float, float]:
    return float(d @ d), float(o @ d), float(o @ o) - 1.0


def random_scene(seed: int, count: int = 60) -> tuple[Primitive, ...]:
    rng = np.random.default_rng(seed)
    made = []
    while len(made) < count:
        center, half = rng.uniform(-4, 4, 3), rng.uniform(0.03, 0.9, 3)
        shape = ("box", "cylinder", "sphere")[len(made) % 3]
        slope = 0.6 if shape == "box" and len(made) % 2 else 0.0
        if np.linalg.norm(center) < np.linalg.norm(half) + slope * half[0] + 0.05:
            continue  # the camera stands at the origin, outside everything
        yaw = float(rng.choice([0.0, math.pi / 2, math.pi, rng.uniform(-3, 3)]))
        label = "wall" if len(made) % 5 == 0 else "sofa"
        solid = Primitive(shape, tuple(center.tolist()), tuple(half.tolist()), yaw, "paint", (0.5, 0.5, 0.5), label)
        made.append(replace(solid, slope=slope))
    return tuple(made)


def frames(device: object = "cpu", size: int = 48) -> Frames:
    """Two images with oblique axes and different fields of view."""
    rng = np.random.default_rng(5)
    basis = [np.linalg.qr(rng.normal(size=(3, 3)))[0] for _ in range(2)]
    forward, right, down = (put(np.stack([b[:, k] for b in basis]), device, np.float32) for k in range(3))
    wide = put([[1.0], [0.6]], device, np.float32)
    return Frames(forward * 0, forward, right * wide, down * wide * 0.8, size, size)


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_agrees_with_reference(seed: int) -> None:
    scene, images = random_scene(seed, 90), frames()
    hits = cast(upload(Solids.of(scene)), images)
    rays = images.rays().astype(float)
    rays /= np.linalg.norm(rays, axis=-1, keepdims=True)
    found = 0
    for m, i, j in [(m, i, j) for m in range(2) for i in range(0, 48, 5) for j in range(0, 48, 5)]:
        distances = np.array([reference_hit(p, np.zeros(3), rays[m, i, j]) for p in scene])
        nearest = distances.min()
        got = float(hits.distance[m, i, j])
        if math.isinf(nearest):
            assert math.isinf(got), f"seed {seed} pixel {m, i, j}"
            assert hits.index[m, i, j] == -1
        else:
            found += 1
            assert got == pytest.approx(nearest, abs=2e-5, rel=2e-5), f"seed {seed} pixel {m, i, j}"
            assert distances[int(hits.index[m, i, j])] == pytest.approx(nearest, abs=1e-4)
    assert found > 50


def test_tiles_lose_nothing() -> None:
    """Culling by tiles finds what testing every solid finds, at every pixel."""
    scene, images = upload(Solids.of(random_scene(9))), frames()
    hits = cast(scene, images)
    rays = images.rays().reshape(-1, 3).T
    every = [
        intersect(scene, np.full(rays.shape[1], k), np.zeros_like(rays), rays) * np.linalg.norm(rays, axis=0)
        for k in range(len(scene.form))
    ]
    np.testing.assert_allclose(hits.distance, np.min(every, 0).reshape(hits.distance.shape), rtol=1e-5, atol=1e-5)


def test_analytic_distances() -> None:
    """A ball, a box and a cylinder dead ahead, at distances anyone can check."""
    grey = (0.5, 0.5, 0.5)
    ahead = Frames(
        np.zeros((1, 3), np.float32),
        np.array([[1.0, 0.0, 0.0]], np.float32),
        np.array([[0.0, -1e-4, 0.0]], np.float32),
        np.array([[0.0, 0.0, -1e-4]], np.float32),
        16,
        16,
    )
    for primitive, distance in (
        (Primitive("sphere", (5.0, 0.0, 0.0), (2.0, 1.0, 1.0), 0.0, "paint", grey, "sofa"), 3.0),
        (Primitive("box", (5.0, 0.0, 0.0), (0.5, 1.0, 1.0), 0.0, "paint", grey, "sofa"), 4.5),
        (Primitive("box", (5.0, 0.0, 0.0), (1.0, 1.0, 1.0), math.pi / 4, "paint", grey, "sofa"), 5 - math.sqrt(2)),
        (Primitive("box", (5.0, 0.0, 0.0), (0.5, 2.0, 1.0), math.pi / 2, "paint", grey, "sofa"), 3.0),
        (Primitive("box", (5.0, 0.0, 1.0), (4.0, 1.0, 0.5), 0.0, "paint", grey, "railing", 0.5), 2.0),
        (Primitive("box", (5.0, 0.0, 1.0), (1.0, 4.0, 0.5), -math.pi / 2, "paint", grey, "railing", 0.5), math.inf),
        (Primitive("cylinder", (5.0, 0.0, 0.0), (0.25, 1.0, 1.0), 0.0, "paint", grey, "sofa"), 4.75),
    ):
        got = cast(upload(Solids.of([primitive])), ahead).distance
        assert got[0, 8, 8].item() == pytest.approx(distance, abs=2e-4), primitive


def test_size_must_fill_tiles() -> None:
    with pytest.raises(ConfigError, match="multiple of 16 pixels, got 40 × 40"):
        cast(upload(Solids.of(random_scene(0))), frames(size=40))


@pytest.mark.parametrize("device", ["cpu", pytest.param("cuda", marks=pytest.mark.gpu)])
def test_torch_agrees_with_numpy(device: str) -> None:
    there = pytest.importorskip("torch").device(device)
    scene = Solids.of(random_scene(3))
    numpy, torch = cast(upload(scene), frames()), cast(upload(scene, there), frames(there))
    same = numpy.index == fetch(torch.index)
    assert same.mean() > 0.999
    np.testing.assert_allclose(numpy.distance[same], fetch(torch.distance)[same], rtol=1e-5, atol=1e-5)


def test_nearest_is_what_cast_sees() -> None:
    """Single rays through the pixels of a picture meet what the picture shows, of every form."""
    parts = [
        Primitive("box", (3.0, 0.4, 0.2), (0.5, 0.3, 0.6), 0.0, "wood", (0.5, 0.5, 0.5), "desk"),
        Primitive("box", (4.0, -0.8, 0.0), (0.5, 0.3, 0.6), 0.5, "wood", (0.5, 0.5, 0.5), "desk"),
        Primitive("cylinder", (2.5, -0.2, -0.3), (0.2, 0.2, 0.4), 0.0, "wood", (0.5, 0.5, 0.5), "desk"),
        Primitive("sphere", (2.0, 0.1, 0.5), (0.3, 0.2, 0.2), 0.0, "wood", (0.5, 0.5, 0.5), "desk"),
    ]
    solids = upload(Solids.of(parts))
    axes = np.diag([1.0, -0.6, -0.6]).astype(np.float32)
    frames = Frames(axes[:1] * 0, axes[:1], axes[1:2], axes[2:], 32, 32)
    hits, rays = cast(solids, frames), np.stack(frames.axes()).reshape(3, -1)
    far, index = nearest(solids, np.zeros_like(rays), rays)
    assert (index == hits.index.reshape(-1)).all()
    assert set(np.unique(index).tolist()) == {-1, 0, 1, 2, 3}
    np.testing.assert_allclose(far * np.linalg.norm(rays, axis=0), hits.distance.reshape(-1), rtol=1e-6)
