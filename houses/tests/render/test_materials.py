"""Materials: ranges, patterns and determinism."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from ghosts_houses.render.materials import MATERIALS, evaluate
from ghosts_houses.render.textures import SurfacePoints, hashed, noise, square


def points(
    count: int = 4000, size_m: float = 0.002, color: tuple[float, float, float] = (0.5, 0.4, 0.3)
) -> SurfacePoints:
    """Random points of a wall of 4 × 2 m, seen from the front."""
    rng = np.random.default_rng(3)
    u, v = rng.uniform(-2, 2, count).astype(np.float32), rng.uniform(-1, 1, count).astype(np.float32)
    view = np.stack([-np.ones_like(u), u / 3, v / 3])
    zero, one = np.zeros_like(u), np.ones_like(u)
    return SurfacePoints(
        u,
        v,
        2 * one,
        one,
        np.stack([zero, u, v]),
        zero,
        view / np.linalg.norm(view, axis=0),
        np.stack([one, zero, zero]),
        np.repeat(np.array(color, np.float32)[:, None], count, 1),
        one * np.float32(size_m),
        np.full(count, 7),
    )


@pytest.mark.parametrize("name", MATERIALS)
def test_range_and_determinism(name: str) -> None:
    first, second = (evaluate(MATERIALS.index(name), points()) for _ in range(2))
    assert (first.albedo == second.albedo).all()
    assert first.albedo.dtype == first.emission.dtype == np.float32
    assert np.isfinite(first.emission).all()
    assert float(first.albedo.min()) >= 0.0
    assert float(first.albedo.max()) <= 1.0
    assert float(first.emission.min()) >= 0.0


@pytest.mark.parametrize("name", ["planks", "parquet", "tile", "checker", "brick", "marble", "carpet", "books", "rug"])
def test_patterns_vary_over_a_surface(name: str) -> None:
    albedo = evaluate(MATERIALS.index(name), points()).albedo
    assert albedo.std(1).mean() > 0.015, name


def test_checker_has_squares_of_40_cm() -> None:
    at = points(4)
    u, v = np.array([[0.2, 0.6, 0.2, 0.6], [0.2, 0.2, 0.6, 0.6]], np.float32)
    light = evaluate(MATERIALS.index("checker"), replace(at, u=u, v=v)).albedo[0]
    assert light[0] == pytest.approx(float(light[3]), rel=0.2)
    assert light[1] == pytest.approx(float(light[2]), rel=0.2)
    assert light[0] > 3 * light[1]


def test_detail_below_a_pixel_averages_out() -> None:
    """Far away, a square wave is grey: no flicker between neighbouring pixels."""
    near, far = points(size_m=0.001), points(size_m=4.0)
    assert set(square(near, near.u, 0.2).tolist()) >= {0.0, 1.0}
    assert abs(square(far, far.u, 0.2) - 0.5).max() < 0.02


def test_noise_is_smooth_and_fixed() -> None:
    x = np.linspace(-5, 5, 2001, dtype=np.float32)
    values = noise(x, x * 0.7)
    assert float(values.min()) >= 0.0
    assert float(values.max()) <= 1.0
    assert abs(np.diff(values)).max() < 0.03
    whole = np.arange(-3, 4, dtype=np.int32)
    np.testing.assert_allclose(noise(whole.astype(np.float32), np.zeros(7, np.float32)), hashed(whole))
