from __future__ import annotations

import pytest
import torch
from torch.testing import assert_close

from ghosts.belief.lingunet import LingUNet, instance_norm
from ghosts.belief.observation import ObservationModel, likelihood
from ghosts.config import FilterConfig, LingUNetConfig

SMALL = LingUNetConfig(levels=3, channels=6, language=4, output=8)


@pytest.mark.parametrize("levels", [1, 2, 3, 5])
@pytest.mark.parametrize("size", [(16, 24), (13, 7), (1, 5)])
def test_any_size_and_depth_keeps_the_resolution(levels: int, size: tuple[int, int]) -> None:
    torch.manual_seed(0)
    net = LingUNet(3, 5, 2, LingUNetConfig(levels=levels, channels=6, language=4, output=8))
    result = net(torch.randn(2, 3, *size), torch.randn(2, 1, 5))
    assert result.shape == (2, 1, 2, *size)
    assert bool(result.isfinite().all())


def test_the_trunk_is_shared_by_all_steps_and_maps() -> None:
    torch.manual_seed(0)
    net = LingUNet(3, 5, 4, SMALL).double()
    maps, embedding = torch.randn(6, 3, 13, 9).double(), torch.randn(2, 4, 5).double()  # three maps per episode
    together = net(maps, embedding)
    for n in range(6):
        for t in range(4):
            alone = net(maps[n : n + 1], embedding[n // 3 : n // 3 + 1, t : t + 1])
            assert_close(together[n, t], alone[0, 0], rtol=1e-9, atol=1e-11)


def test_only_the_direction_of_the_language_vector_counts() -> None:
    torch.manual_seed(0)
    net = LingUNet(3, 5, 4, SMALL).double()
    maps, embedding = torch.randn(1, 3, 8, 8).double(), torch.randn(1, 1, 5).double()
    assert_close(net(maps, embedding), net(maps, 7.0 * embedding))
    assert float((net(maps, embedding) - net(maps, -embedding)).detach().abs().max()) > 1e-3


def test_instance_norm_values() -> None:
    values = torch.randn(2, 3, 4, 5, generator=torch.Generator().manual_seed(0))
    assert_close(instance_norm(values), torch.nn.functional.instance_norm(values))
    assert_close(instance_norm(values[..., :1, :1]), torch.zeros(2, 3, 1, 1))


def test_likelihood_lies_between_its_floor_and_one() -> None:
    logits = torch.tensor([-1e4, -6.0, 0.0, 1e4]).view(1, 4, 1, 1)
    assert_close(likelihood(logits, 0.004).flatten(), torch.tensor([0.004, 0.004, 0.5, 1.0]))


@pytest.mark.parametrize("headings", [1, 4, 8])
def test_observation_model_has_a_channel_a_heading(headings: int) -> None:
    torch.manual_seed(0)
    model = ObservationModel(3, 5, FilterConfig(headings=headings, observation=SMALL))
    result = model(torch.randn(4, 3, 10, 12), torch.randn(2, 6, 5))
    assert result.shape == (4, 6, headings, 10, 12)
    assert 0.004 <= float(result.detach().min()) < float(result.detach().max()) <= 1.0
