"""Materials: ranges, patterns and determinism."""

from __future__ import annotations

import pytest
import torch

from ghosts_houses.render.materials import MATERIALS, evaluate
from ghosts_houses.render.textures import SurfacePoints, hashed, noise, square
from made import house


def points(
    count: int = 4000, size_m: float = 0.002, color: tuple[float, float, float] = (0.5, 0.4, 0.3)
) -> SurfacePoints:
    """Random points of a wall of 4 × 2 m, seen from the front."""
    random = torch.Generator().manual_seed(3)
    u, v = torch.rand(count, generator=random) * 4 - 2, torch.rand(count, generator=random) * 2 - 1
    view = torch.nn.functional.normalize(torch.stack([-torch.ones(count), u / 3, v / 3], -1), dim=-1)
    return SurfacePoints(
        u,
        v,
        torch.full_like(u, 2.0),
        torch.full_like(u, 1.0),
        torch.stack([torch.zeros_like(u), u, v], -1),
        torch.zeros_like(u),
        view,
        torch.tensor([1.0, 0.0, 0.0]).expand(count, 3),
        torch.tensor(color).expand(count, 3),
        torch.full_like(u, size_m),
        torch.full((count,), 7),
    )


@pytest.mark.parametrize("name", MATERIALS)
def test_range_and_determinism(name: str) -> None:
    first, second = (evaluate(MATERIALS.index(name), points()) for _ in range(2))
    assert torch.equal(first.albedo, second.albedo)
    assert torch.isfinite(first.emission).all()
    assert float(first.albedo.min()) >= 0.0
    assert float(first.albedo.max()) <= 1.0
    assert float(first.emission.min()) >= 0.0


@pytest.mark.parametrize("name", ["planks", "parquet", "tile", "checker", "brick", "marble", "carpet", "books", "rug"])
def test_patterns_vary_over_a_surface(name: str) -> None:
    albedo = evaluate(MATERIALS.index(name), points()).albedo
    assert float(albedo.std(0).mean()) > 0.015, name


def test_checker_has_squares_of_40_cm() -> None:
    at = points(4)
    u = torch.tensor([0.2, 0.6, 0.2, 0.6])
    v = torch.tensor([0.2, 0.2, 0.6, 0.6])
    placed = SurfacePoints(u, v, at.ru, at.rv, at.own, at.level, at.view, at.normal, at.color, at.size, at.seed)
    light = evaluate(MATERIALS.index("checker"), placed).albedo[:, 0]
    assert light[0] == pytest.approx(float(light[3]), rel=0.2)
    assert light[1] == pytest.approx(float(light[2]), rel=0.2)
    assert light[0] > 3 * light[1]


def test_detail_below_a_pixel_averages_out() -> None:
    """Far away, a square wave is grey: no flicker between neighbouring pixels."""
    near, far = points(size_m=0.001), points(size_m=4.0)
    assert set(square(near, near.u, 0.2).round(decimals=1).unique().tolist()) >= {0.0, 1.0}
    assert float((square(far, far.u, 0.2) - 0.5).abs().max()) < 0.02


def test_noise_is_smooth_and_fixed() -> None:
    x = torch.linspace(-5, 5, 2001)
    values = noise(x, x * 0.7)
    assert float(values.min()) >= 0.0
    assert float(values.max()) <= 1.0
    assert float(values.diff().abs().max()) < 0.03
    whole = torch.arange(-3, 4, dtype=torch.int32)
    torch.testing.assert_close(noise(whole.float(), torch.zeros(7)), hashed(whole, torch.zeros(7, dtype=torch.int32)))


def test_every_material_of_a_house_is_known() -> None:
    used = {part.material for seed in range(4) for part in house(seed).primitives}
    assert used <= set(MATERIALS)
    assert len(used) >= 25
