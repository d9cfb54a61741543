from __future__ import annotations

import math

import pytest
import torch
from torch import Tensor, nn
from torch.testing import assert_close

from ghosts.belief.displacements import egocentric_rotation
from ghosts.belief.filter import BayesFilter, FilterTrace, build_filter
from ghosts.belief.histogram import pose_belief, update
from ghosts.belief.kernel import KernelAt
from ghosts.belief.motion import factorised_kernels, joint_kernel
from ghosts.belief.observation import likelihood
from ghosts.config import FilterConfig, LingUNetConfig, MotionConfig, Precision
from ghosts.equations import (
    factorised_kernel,
    filter_beliefs,
    motion_kernel,
    observe,
    smooth_beliefs,
    transition_matrix,
)
from ghosts.precision import network_type, networks_in
from ghosts_sim.types import Grid

ROWS, COLS, STEPS = 4, 5, 4
CPU = torch.device("cpu")


class GivenMotion(nn.Module):
    """Kernels from given logits, whatever the map."""

    def __init__(self, kernel_at: KernelAt) -> None:
        super().__init__()
        self.kernel_at = kernel_at

    def forward(self, maps: Tensor, actions: Tensor) -> KernelAt:
        return self.kernel_at


class GivenObservation(nn.Module):
    """Given likelihoods, whatever the map."""

    def __init__(self, likelihoods: Tensor) -> None:
        super().__init__()
        self.likelihoods = likelihoods

    def forward(self, maps: Tensor, observations: Tensor) -> Tensor:
        return self.likelihoods


def problem(kind: str, headings: int, seed: int) -> tuple[FilterTrace, list[list[Tensor]]]:
    """The filter's answer on two maps of one episode, and the same motion as transition matrices of each map."""
    generator = torch.Generator().manual_seed(seed)

    def normal(*shape: int) -> Tensor:
        return torch.randn(*shape, generator=generator, dtype=torch.float64)

    if kind == "factorised":
        map_logits, language = 2 * normal(2, 9, ROWS, COLS), 2 * normal(1, STEPS, headings, 9)
        kernel_at = factorised_kernels(map_logits, language)
        kernels = [
            [factorised_kernel(scores.unflatten(0, (3, 3)), words.unflatten(1, (3, 3))) for words in language[0]]
            for scores in map_logits
        ]
    else:
        logits = normal(STEPS, 2, headings, headings * 9, ROWS, COLS)

        def kernel_at(step: int):
            return joint_kernel(logits[step], headings)

        kernels = [[motion_kernel(logits[t, n].unflatten(1, (-1, 3, 3))) for t in range(STEPS)] for n in range(2)]
    likelihoods = torch.rand(2, STEPS, headings, ROWS, COLS, generator=generator, dtype=torch.float64)
    start = torch.rand(1, headings, ROWS, COLS, generator=generator, dtype=torch.float64)
    start = start / start.sum()
    bayes = BayesFilter(GivenMotion(kernel_at), GivenObservation(likelihoods))
    empty = torch.zeros(1, STEPS, 1, dtype=torch.float64)
    trace = bayes(torch.zeros(1, 2, 1, ROWS, COLS, dtype=torch.float64), empty, empty, start)
    return trace, [[transition_matrix(kernel) for kernel in steps] for steps in kernels]


@pytest.mark.parametrize("kind", ["factorised", "joint"])
@pytest.mark.parametrize("headings", [1, 4, 8])
def test_filter_and_smoother_equal_the_papers_equations(kind: str, headings: int) -> None:
    seed = 20 + headings
    print("seed", seed)
    trace, transitions = problem(kind, headings, seed)
    for n in range(2):
        given = trace.start.flatten(), transitions[n], list(trace.likelihoods[0, n].flatten(1))
        assert_close(trace.beliefs[0, n].flatten(1), filter_beliefs(*given), rtol=0, atol=1e-10)
        assert_close(trace.smoothed()[0, n].flatten(1), smooth_beliefs(*given), rtol=0, atol=1e-10)


def test_trace_shows_every_intermediate() -> None:
    trace, transitions = problem("factorised", 4, 3)
    before, after = trace.predictions[0, 1, 0], trace.posteriors[0, 1, 0]
    assert_close(before.flatten(), trace.start.flatten() @ transitions[1][0])
    assert_close(trace.kernel_at(0).propagate(trace.start.expand(2, -1, -1, -1))[1], before)
    weighed = before * trace.likelihoods[0, 1, 0]
    assert_close(after, weighed / weighed.sum())
    assert_close(trace.goal, trace.posteriors[:, :, -1])
    assert_close(trace.beliefs[0, 1, 0], trace.start[0])


def test_the_observation_update_is_equation_5() -> None:
    prediction, scores = torch.rand(2, 4, ROWS, COLS).double(), 9.0 * torch.randn(2, 4, ROWS, COLS).double()
    assert_close(update(prediction, likelihood(scores, 0.004)), observe(prediction, scores, 0.004))


@pytest.mark.parametrize("headings", [4, 8])
def test_turning_world_pose_and_map_by_90_degrees_turns_every_belief(headings: int) -> None:
    """Exact given the map's logits and likelihoods, which learned convolutions do not turn by themselves."""
    seed, side = 31, 6
    print("seed", seed)
    generator = torch.Generator().manual_seed(seed)

    def normal(*shape: int) -> Tensor:
        return torch.randn(*shape, generator=generator, dtype=torch.float64)

    def turn_cells(values: Tensor) -> Tensor:  # (x, y) -> (−y, x)
        return torch.rot90(values, -1, (-2, -1))

    def turn_states(values: Tensor) -> Tensor:  # and a quarter more heading bins
        return turn_cells(values).roll(headings // 4, -3)

    egocentric = normal(1, STEPS, 49)
    language = torch.einsum("btj,ckj->btck", egocentric, egocentric_rotation(headings, 7))
    map_logits, likelihoods = normal(1, 49, side, side), normal(1, STEPS, headings, side, side).sigmoid()
    turned_logits = turn_cells(torch.rot90(map_logits.unflatten(1, (7, 7)), -1, (1, 2))).flatten(1, 2)
    grid, position, heading = Grid(side, side, 1.0), torch.tensor([[0.7, -1.2]]).double(), torch.tensor([0.4]).double()
    turned_position = torch.tensor([[1.2, 0.7]]).double()

    def run(logits: Tensor, seen: Tensor, start: Tensor) -> Tensor:
        bayes = BayesFilter(GivenMotion(factorised_kernels(logits, language)), GivenObservation(seen))
        empty = torch.zeros(1, STEPS, 1, dtype=torch.float64)
        return bayes(torch.zeros(1, 1, 1, side, side, dtype=torch.float64), empty, empty, start).beliefs

    beliefs = run(map_logits, likelihoods, pose_belief(position, heading, grid, 0.5, headings))
    turned_start = pose_belief(turned_position, heading - math.pi / 2, grid, 0.5, headings)
    turned = run(turned_logits, turn_states(likelihoods), turned_start)
    assert_close(turned, turn_states(beliefs), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("precision", ["32-true", "bf16-mixed"])
@pytest.mark.parametrize("kind", ["factorised", "joint"])
def test_two_hundred_steps_and_unlikely_observations_never_give_nan(kind: str, precision: Precision) -> None:
    torch.manual_seed(0)
    dtype = network_type(precision, CPU)
    config = FilterConfig(motion=MotionConfig(kind=kind, kernel=3, hidden=4, language=8))
    bayes = build_filter(6, 8, config).eval().to(dtype)
    generator = torch.Generator().manual_seed(1)
    steps = 200
    latents = (30 * torch.randn(1, steps, 8, generator=generator)).to(dtype)
    maps = (30 * torch.randn(1, 1, 6, 12, 12, generator=generator)).to(dtype)
    start = pose_belief(torch.zeros(1, 2), torch.zeros(1), Grid(12, 12, 1.0), 0.5, 4).to(dtype)
    with torch.no_grad():
        trace = bayes(maps, latents, latents, start)
        smoothed = trace.smoothed()
    for beliefs in (trace.posteriors, trace.predictions, smoothed):
        assert bool(beliefs.isfinite().all())
        assert_close(beliefs.sum((-3, -2, -1)), torch.ones(beliefs.shape[:3]), rtol=0, atol=2e-3)


def test_an_impossible_observation_keeps_the_prediction() -> None:
    trace, _ = problem("joint", 4, 5)
    likelihoods = trace.likelihoods.flatten(0, 1).clone()
    likelihoods[:, 1] = 0.0
    empty = torch.zeros(1, STEPS, 1, dtype=torch.float64)
    bayes = BayesFilter(GivenMotion(trace.kernel_at), GivenObservation(likelihoods))
    again = bayes(torch.zeros(1, 2, 1, ROWS, COLS, dtype=torch.float64), empty, empty, trace.start)
    assert_close(again.posteriors[:, :, 1], again.predictions[:, :, 1])
    assert bool(again.smoothed().isfinite().all())


def test_all_maps_in_one_batch_equal_one_map_at_a_time() -> None:
    torch.manual_seed(0)
    config = FilterConfig(
        motion=MotionConfig(kernel=3, hidden=4, language=8),
        observation=LingUNetConfig(channels=6, language=4, output=8),
    )
    bayes = build_filter(6, 8, config).eval()
    maps, latents = torch.randn(2, 3, 6, 10, 12), torch.randn(2, 5, 8)
    start = pose_belief(torch.randn(2, 2), torch.randn(2), Grid(10, 12, 1.0), 0.5, 4)
    together = bayes(maps, latents, latents, start)
    for b in range(2):
        for s in range(3):
            alone = bayes(maps[b : b + 1, s : s + 1], latents[b : b + 1], latents[b : b + 1], start[b : b + 1])
            assert_close(together.posteriors[b, s], alone.posteriors[0, 0], rtol=1e-4, atol=1e-6)


def test_gradients_reach_maps_and_latents_under_autocast() -> None:
    torch.manual_seed(0)
    bayes = build_filter(6, 8, FilterConfig(motion=MotionConfig(kernel=3, hidden=4, language=8)))
    maps, latents = torch.randn(1, 2, 6, 8, 8, requires_grad=True), torch.randn(1, 3, 8, requires_grad=True)
    start = pose_belief(torch.zeros(1, 2), torch.zeros(1), Grid(8, 8, 1.0), 0.5, 4)
    with networks_in("bf16-mixed", CPU):
        trace = bayes(maps, latents, latents, start)
    assert trace.posteriors.dtype == torch.float32
    assert_close(trace.predictions.sum((-3, -2, -1)), torch.ones(1, 2, 3), rtol=0, atol=1e-5)
    trace.goal[..., 0, 4, 4].sum().backward()
    for values in (maps, latents):
        assert values.grad is not None
        assert bool(values.grad.isfinite().all())
        assert float(values.grad.abs().max()) > 0.0
