from __future__ import annotations

import math

import pytest
import torch
from torch import Tensor
from torch.testing import assert_close

from ghosts.belief.displacements import arrival_headings, displacements, egocentric_rotation
from ghosts.belief.histogram import pose_belief
from ghosts.belief.kernel import FactorisedKernel, JointKernel
from ghosts.belief.motion import FactorisedMotion, JointMotion, build_motion, factorised_kernels, joint_kernel
from ghosts.config import FilterConfig, MotionConfig
from ghosts.equations import factorised_kernel, motion_kernel, move, tile_action, transition_matrix
from ghosts.fast.strided import displace
from ghosts_sim.types import Grid


def random(*shape: int, seed: int = 0, scale: float = 1.0) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64) * scale


def random_belief(*shape: int, seed: int = 0) -> Tensor:
    weights = torch.rand(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
    return weights / weights.sum((-3, -2, -1), keepdim=True)


def factorised(batch: int, headings: int, rows: int, cols: int, size: int = 3) -> FactorisedKernel:
    kernel = factorised_kernels(*factors(batch, headings, rows, cols, size))(0)
    assert isinstance(kernel, FactorisedKernel)
    return kernel


def factors(batch: int, headings: int, rows: int, cols: int, size: int = 3) -> tuple[Tensor, Tensor]:
    maps = random(batch, size * size, rows, cols, seed=1, scale=2.0)
    return maps, random(batch, 1, headings, size * size, seed=2, scale=2.0)


def joint(batch: int, headings: int, rows: int, cols: int, size: int = 3) -> JointKernel:
    return joint_kernel(random(batch, headings, headings * size * size, rows, cols, seed=3), headings)


def test_displace_moves_each_channel_by_its_displacement() -> None:
    values = random(2, 25, 6, 7)
    moved, back = displace(values), displace(values, back=True)
    for k, (dx, dy) in enumerate(displacements(5)):
        for y in range(6):
            for x in range(7):
                source, target = (y - dy, x - dx), (y + dy, x + dx)
                inside = 0 <= source[0] < 6 and 0 <= source[1] < 7
                assert_close(
                    moved[:, k, y, x], values[:, k, source[0], source[1]] if inside else torch.zeros(2).double()
                )
                inside = 0 <= target[0] < 6 and 0 <= target[1] < 7
                assert_close(
                    back[:, k, y, x], values[:, k, target[0], target[1]] if inside else torch.zeros(2).double()
                )


def test_displace_gradients_of_both_orders() -> None:
    values = random(1, 9, 4, 3).requires_grad_()
    assert torch.autograd.gradcheck(displace, (values,))
    assert torch.autograd.gradgradcheck(lambda v: displace(v) ** 2, (values,))


def test_a_given_kernel_drops_what_it_sends_off_the_map() -> None:
    weights = torch.zeros(1, 1, 9, 3, 3)
    weights[:, :, 5] = 1.0  # one column to the right
    belief = torch.zeros(1, 1, 3, 3)
    belief[0, 0, 1, 1], belief[0, 0, 1, 2] = 0.75, 0.25
    expected = torch.zeros(1, 1, 3, 3)
    expected[0, 0, 1, 2] = 0.75
    assert_close(JointKernel(weights).propagate(belief), expected)


@pytest.mark.parametrize("headings", [1, 4, 8])
@pytest.mark.parametrize("make", [factorised, joint])
def test_both_kernels_move_mass_as_equation_3_does(headings: int, make) -> None:
    kernel, belief, message = (
        make(2, headings, 5, 6),
        random_belief(2, headings, 5, 6),
        random(2, headings, 5, 6, seed=9),
    )
    maps, words = factors(2, headings, 5, 6)
    scores = random(2, headings, headings * 9, 5, 6, seed=3)
    for n in range(2):
        if make is factorised:
            dense = factorised_kernel(maps[n].unflatten(0, (3, 3)), words[n, 0].unflatten(1, (3, 3)))
        else:
            dense = motion_kernel(scores[n].unflatten(1, (headings, 3, 3)))
        assert_close(kernel.propagate(belief)[n], move(belief[n], dense), rtol=1e-12, atol=1e-15)
        assert_close(
            kernel.gather(message)[n].flatten(), transition_matrix(dense) @ message[n].flatten(), rtol=1e-12, atol=1e-14
        )


def test_standing_still_keeps_the_heading_and_moving_sets_it() -> None:
    still, east = torch.full((1, 1, 4, 9), -30.0), torch.full((1, 1, 4, 9), -30.0)
    still[..., 4], east[..., 5] = 30.0, 30.0
    flat = torch.zeros(1, 9, 5, 5)
    belief = torch.zeros(1, 4, 5, 5)
    belief[0, 2, 2, 2] = 1.0  # facing −x
    assert_close(factorised_kernels(flat, still)(0).propagate(belief), belief)
    moved = torch.zeros(1, 4, 5, 5)
    moved[0, 0, 2, 3] = 1.0  # one column on, facing +x
    assert_close(factorised_kernels(flat, east)(0).propagate(belief), moved)


@pytest.mark.parametrize("headings", [1, 4, 8])
def test_arrival_headings(headings: int) -> None:
    weights = arrival_headings(headings, 7)
    total = torch.ones(49, dtype=torch.float64)
    total[24] = 0.0
    assert_close(weights.sum(0), total)
    if headings == 4:
        assert weights[:, 3 * 7 + 6].tolist() == [1, 0, 0, 0]  # +x
        assert weights[:, 6 * 7 + 3].tolist() == [0, 1, 0, 0]  # +y
        assert_close(weights[:, 0], torch.tensor([0, 0, 0.5, 0.5]).double())  # −x −y


def test_egocentric_rotation_is_a_permutation_at_right_angles() -> None:
    for headings in (4, 8):
        rotation = egocentric_rotation(headings, 7)
        assert_close(rotation.sum(-1), torch.ones(headings, 49).double())
        for quarter in range(4):
            matrix = rotation[quarter * headings // 4]
            assert bool(((matrix == 0) | (matrix == 1)).all())
            assert bool((matrix.sum(0) == 1).all())
    forward = torch.zeros(49).double()
    forward[3 * 7 + 5] = 1.0  # two cells ahead
    turned = (egocentric_rotation(4, 7) @ forward).argmax(-1)
    assert displacements(7)[turned.numpy()].tolist() == [[2, 0], [0, 2], [-2, 0], [0, -2]]
    assert_close(egocentric_rotation(1, 7)[0], torch.eye(49).double())


def test_diagonal_rotation_points_along_the_diagonal() -> None:
    logits = torch.zeros(49).double()
    logits[3 * 7 + 5] = 4.0
    north_east = (egocentric_rotation(8, 7) @ logits)[1].softmax(0)
    dx, dy = (north_east[:, None] * torch.from_numpy(displacements(7)).double()).sum(0)
    assert float(dx) == pytest.approx(float(dy), abs=1e-6)
    assert float(dx) > 0.2


@pytest.mark.parametrize("headings", [4, 8])
def test_turning_the_world_turns_the_prediction(headings: int) -> None:
    """Exact for both: the map logits are turned as a field of displacements, the language part is egocentric."""
    seed = 11
    print("seed", seed)
    rows = 7
    config = FilterConfig(headings=headings)
    model = FactorisedMotion(4, 6, config).double().eval()
    language = model.language_logits(random(1, 1, 6, seed=seed))
    logits = random(1, 49, rows, rows, seed=seed + 1)
    belief = random_belief(1, headings, rows, rows, seed=seed + 2)

    def turn(values: Tensor) -> Tensor:  # (x, y) -> (−y, x)
        return torch.rot90(values, -1, (-2, -1))

    kernel_planes = logits.unflatten(1, (7, 7))
    turned_logits = turn(torch.rot90(kernel_planes, -1, (1, 2))).flatten(1, 2)
    predicted = factorised_kernels(logits, language)(0).propagate(belief)
    turned = factorised_kernels(turned_logits, language)(0).propagate(turn(belief).roll(headings // 4, 1))
    assert_close(turned, turn(predicted).roll(headings // 4, 1), rtol=1e-10, atol=1e-14)


def test_a_featureless_map_walks_where_it_faces() -> None:
    """A walker told to go ahead moves along its heading, whichever that is."""
    grid = Grid(21, 21, 1.0)
    ahead = torch.full((49,), -20.0)
    ahead[3 * 7 + 5] = 20.0
    language = (egocentric_rotation(4, 7).float() @ ahead)[None, None]
    kernel = factorised_kernels(torch.zeros(1, 49, 21, 21), language)(0)
    for heading, (x_m, y_m) in ((0.0, (0, 2)), (math.pi / 2, (2, 0)), (math.pi, (0, -2)), (-math.pi / 2, (-2, 0))):
        start = pose_belief(torch.zeros(1, 2), torch.tensor([heading]), grid, 0.4, 4)
        end = pose_belief(torch.tensor([[float(x_m), float(y_m)]]), torch.tensor([heading]), grid, 0.4, 4)
        assert_close(kernel.propagate(start), end, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("kind", ["factorised", "joint"])
@pytest.mark.parametrize("headings", [1, 4, 8])
def test_models_give_kernels_that_keep_all_mass(kind: str, headings: int) -> None:
    torch.manual_seed(0)
    config = FilterConfig(headings=headings, motion=MotionConfig(kind=kind, kernel=3, hidden=5, language=7))
    model = build_motion(6, 8, config).eval()
    maps, actions = torch.randn(6, 6, 5, 4), torch.randn(3, 2, 8)  # two maps per episode
    belief = random_belief(6, headings, 5, 4).float()
    moved = model(maps, actions)(1).propagate(belief)
    assert_close(moved.sum((1, 2, 3)), torch.ones(6))
    # Maps of one episode share its language; alone they give the same.
    alone = model(maps[2:4], actions[1:2])(1).propagate(belief[2:4])
    assert_close(moved[2:4], alone, rtol=1e-5, atol=1e-7)


def test_the_factorised_model_adds_the_scores_of_map_and_words() -> None:
    torch.manual_seed(0)
    config = FilterConfig(headings=4, motion=MotionConfig(kernel=3, hidden=5, language=7))
    model = FactorisedMotion(6, 8, config).eval()
    maps, actions, belief = torch.randn(1, 6, 5, 5), torch.randn(1, 1, 8), random_belief(1, 4, 5, 5).float()
    map_scores, words = model.map_logits(maps)[0], model.language_logits(actions)[0, 0]
    dense = factorised_kernel(map_scores.unflatten(0, (3, 3)), words.unflatten(1, (3, 3)))
    assert_close(model(maps, actions)(0).propagate(belief)[0], move(belief[0], dense))


def test_the_joint_model_computes_equation_4() -> None:
    torch.manual_seed(0)
    config = FilterConfig(headings=4, motion=MotionConfig(kind="joint", kernel=3, hidden=5, dropout=0.0))
    model = JointMotion(6, 8, config)
    maps, actions, belief = torch.randn(1, 6, 7, 7), torch.randn(1, 1, 8), random_belief(1, 4, 7, 7).float()
    # The words' part of the first layer sees its own cell alone.
    words = torch.nn.functional.pad(model.first_action.weight[:, :, None, None], (1, 1, 1, 1))
    first = torch.cat([words, model.first_map.weight], 1)
    joined = torch.nn.functional.conv2d(
        tile_action(actions[0, 0], maps[0])[None], first, model.first_map.bias, padding=1
    )
    scores = model.third(model.second(joined.relu()).relu())[0]
    dense = motion_kernel(scores.unflatten(0, (4, 4, 3, 3)))
    assert_close(model(maps, actions)(0).propagate(belief)[0], move(belief[0], dense))


@pytest.mark.parametrize("spread", [50.0, 200.0, 1000.0])
def test_contradicting_parts_leave_the_mass_where_it_is(spread: float) -> None:
    """Map and language exclude each other's displacements beyond float32: finite, conserved, finite gradients."""
    map_logits, language = torch.full((1, 9, 5, 5), -spread), torch.full((1, 1, 4, 9), -spread)
    map_logits[:, 0], language[..., 8] = spread, spread
    map_logits.requires_grad_()
    language.requires_grad_()
    belief = torch.zeros(1, 4, 5, 5)
    belief[..., 1:-1, 1:-1] = random_belief(1, 4, 3, 3).float()
    predicted = factorised_kernels(map_logits, language)(0).propagate(belief)
    assert_close(predicted.sum(), torch.tensor(1.0))
    if spread >= 200.0:
        assert_close(predicted, belief)
    predicted.square().sum().backward()
    for values in (map_logits, language):
        assert values.grad is not None
        assert bool(values.grad.isfinite().all())
