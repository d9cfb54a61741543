"""The equations of the paper (Anderson et al. 2019), written out: dense, slow, one function each.

The agent does not call this module. It is what the fast code is tested against, and the place to read what that code
computes. Sections and numbers are the paper's. docs/model.md says where the released code differs and which form is
the default. The parts without an equation, such as LingUNet and the encoder of words, are in their own modules.

Section 3 has states 1 … n in a row. From section 4 on a state is a heading bin and a cell of the map, and tensors have
these axes:

    c      heading bins Θ, the first towards +x, counter-clockwise
    d      heading bins after a step
    y, x   rows (growing with +y) and columns (growing with +x) of the map
    j, i   rows and columns of the motion kernel; its middle is "do not move"
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float
from torch import Tensor

from ghosts.mapping.points import Points
from ghosts_sim.types import Grid, Intrinsics

# Section 3: Bayes filters.


def predict(belief: Float[Tensor, "*b n"], transitions: Float[Tensor, "n n"]) -> Float[Tensor, "*b n"]:
    """Equation 1, the prediction: the integral over all states from which the action could have led here.

    Args:
        belief: bel(s_{t−1}) of each state.
        transitions: p(s_t | s_{t−1}, a_t); a row per state s_{t−1}, summing to 1.

    Returns:
        The belief before the observation.

    Example:
        >>> predict(torch.tensor([0.5, 0.5]), torch.tensor([[0.0, 1.0], [0.5, 0.5]])).tolist()
        [0.25, 0.75]
    """
    return belief @ transitions


def correct(prediction: Float[Tensor, "*b n"], likelihood: Float[Tensor, "*b n"]) -> Float[Tensor, "*b n"]:
    """Equation 2, the observation update: Bayes' rule.

    Args:
        prediction: of each state.
        likelihood: p(o_t | s_t) of each state, on any scale.

    Returns:
        bel(s_t), which sums to 1.

    Example:
        >>> correct(torch.tensor([0.25, 0.75]), torch.tensor([0.6, 0.2])).tolist()
        [0.5, 0.5]
    """
    weights = likelihood * prediction
    return weights / weights.sum(-1, keepdim=True)


# Section 4.1: the mapper.


def unproject(
    depth_m: Float[Tensor, "h w"], camera_to_world: Float[Tensor, "4 4"], intrinsics: Intrinsics
) -> Float[Tensor, "h w 3"]:
    """Feature projection, first half: where in the world each feature pixel lies, by a pinhole camera.

    Args:
        depth_m: of each feature pixel, along the camera's axis.
        camera_to_world: the camera's pose P; its axes are right, down and ahead.
        intrinsics: of the camera's image, which has more pixels than there are features.
    """
    rows, cols = depth_m.shape
    points = []
    for v in range(rows):
        for u in range(cols):
            right = ((u + 0.5) / cols - 0.5) * intrinsics.width / intrinsics.focal_px
            down = ((v + 0.5) / rows - 0.5) * intrinsics.height / intrinsics.focal_px
            ray = camera_to_world.new_tensor([right, down, 1.0])
            points.append(camera_to_world[:3, 3] + depth_m[v, u] * (camera_to_world[:3, :3] @ ray))
    return torch.stack(points).view(rows, cols, 3)


def project(
    points: Points, origin_xy_m: Float[Tensor, "b 2"], grid: Grid, reduce: str = "amax"
) -> tuple[Float[Tensor, "b features y x"], Bool[Tensor, "b 1 y x"]]:
    """Feature projection, second half: drop z, and let the points of a cell share it by elementwise max pooling.

    The maximum is over the points alone. The released code also counts a fill value of 0, which clips what is negative.

    Args:
        points: with a feature vector each; b observations.
        origin_xy_m: the centre of each map in the world.
        grid: of the maps.
        reduce: "amax"; the features of landmarks are added up instead ("sum").

    Returns:
        The map observation F_t, zero where nothing was observed; and which cells were.
    """
    features = points.features.new_zeros(len(origin_xy_m), points.features.shape[2], grid.rows, grid.cols)
    observed = torch.zeros_like(features[:, :1], dtype=torch.bool)
    for item, origin in enumerate(origin_xy_m):
        here: dict[tuple[int, int], list[Tensor]] = {}
        for feature, place, valid in zip(points.features[item], points.xyz_m[item], points.valid[item]):
            col = math.floor(float(place[0] - origin[0]) / grid.cell_m + grid.cols / 2)
            row = math.floor(float(place[1] - origin[1]) / grid.cell_m + grid.rows / 2)
            if valid and 0 <= row < grid.rows and 0 <= col < grid.cols:
                here.setdefault((row, col), []).append(feature)
        for (row, col), shared in here.items():
            features[item, :, row, col] = getattr(torch.stack(shared), reduce)(0)
            observed[item, 0, row, col] = True
    return features, observed


def sparse_convolution(
    values: Float[Tensor, "b in y x"],
    observed: Bool[Tensor, "b 1 y x"],
    weight: Float[Tensor, "out in k k"],
    bias: Float[Tensor, " out"],
) -> Float[Tensor, "b out y x"]:
    """Sparsity-aware convolution (Uhrig et al. 2017): the average over the observed inputs under the kernel, plus bias.

    Args:
        values: of all cells.
        observed: cells that count.
        weight: of the kernel, k cells wide.
        bias: added to every cell, also where nothing under the kernel was observed.
    """
    known = observed.to(values.dtype)
    pad = weight.shape[-1] // 2
    count = F.conv2d(known, torch.ones_like(weight[:1, :1]), padding=pad)
    return F.conv2d(values * known, weight, padding=pad) / count.clamp(min=1.0) + bias[:, None, None]


def masked_convolution(
    values: Float[Tensor, "b in y x"],
    observed: Bool[Tensor, "b 1 y x"],
    weight: Float[Tensor, "out in k k"],
    bias: Float[Tensor, " out"],
) -> Float[Tensor, "b out y x"]:
    """What the released code has instead: a plain convolution, set to zero where the cell itself was not observed.

    Arguments are those of `sparse_convolution`.
    """
    return F.conv2d(values, weight, bias, padding=weight.shape[-1] // 2) * observed


Gates = Callable[[Float[Tensor, "b in y x"], Bool[Tensor, "b 1 y x"]], Float[Tensor, "b out y x"]]
"""One of the convolutions above with its weights: values and observed cells to reset, update and candidate gates."""


def update_map(
    previous: Float[Tensor, "b m y x"],
    seen: Bool[Tensor, "b 1 y x"],
    features: Float[Tensor, "b features y x"],
    observed: Bool[Tensor, "b 1 y x"],
    input_to_state: Gates,
    state_to_state: Gates,
) -> tuple[Float[Tensor, "b m y x"], Bool[Tensor, "b 1 y x"]]:
    """Map update: a convolutional GRU, masked so that cells without a new observation stay as they are.

    Args:
        previous: the map M_{t−1}, zero where it was never observed.
        seen: cells that were observed by then.
        features: the map observation F_t.
        observed: its cells.
        input_to_state: convolution of F_t to 3 m channels.
        state_to_state: convolution of M_{t−1} to 3 m channels.

    Returns:
        The map M_t, and the cells that have been observed by now.
    """
    reset_x, keep_x, new_x = input_to_state(features, observed).chunk(3, 1)
    reset_h, keep_h, new_h = state_to_state(previous, seen).chunk(3, 1)
    reset, keep = torch.sigmoid(reset_x + reset_h), torch.sigmoid(keep_x + keep_h)
    new = torch.tanh(new_x + reset * new_h)
    return torch.where(observed, keep * previous + (1.0 - keep) * new, previous), seen | observed


# Section 4.2: the filter. First the belief.


def heading_weights(angle_rad: float, headings: int) -> list[float]:
    """How a heading is spread over the bins: by the clamped cosine of the angle to each bin, which sums to 1.

    Args:
        angle_rad: mathematical angle, counter-clockwise from +x.
        headings: number of bins Θ.

    Example:
        >>> heading_weights(0.0, 4)
        [1.0, 0.0, 0.0, 0.0]
    """
    if headings == 1:
        return [1.0]
    cosines = [math.cos(angle_rad - 2.0 * math.pi * number / headings) for number in range(headings)]
    clamped = [cosine if cosine > 1e-12 else 0.0 for cosine in cosines]
    return [value / sum(clamped) for value in clamped]


def first_belief(
    x_m: float, y_m: float, angle_rad: float, grid: Grid, headings: int, sigma_m: float = 0.5
) -> Float[Tensor, "c y x"]:
    """The belief b_0 at the known start s*_0 = (x_0, y_0, θ_0); also the target of training at any later pose.

    The paper does not give its form. The released code has a Gaussian, and the heading weights above (twice).

    Args:
        x_m: metres from the middle of the map.
        y_m: the same towards +y.
        angle_rad: mathematical angle.
        grid: of the belief.
        headings: number of bins Θ.
        sigma_m: standard deviation of the position.
    """
    belief = torch.zeros(headings, grid.rows, grid.cols, dtype=torch.float64)
    for number, share in enumerate(heading_weights(angle_rad, headings)):
        for row in range(grid.rows):
            for col in range(grid.cols):
                away_x_m = (col + 0.5 - grid.cols / 2) * grid.cell_m - x_m
                away_y_m = (row + 0.5 - grid.rows / 2) * grid.cell_m - y_m
                belief[number, row, col] = share * math.exp(-(away_x_m**2 + away_y_m**2) / (2.0 * sigma_m**2))
    return belief / belief.sum()


# The motion model.


def move(belief: Float[Tensor, "*b c y x"], kernel: Float[Tensor, "c d j i y x"]) -> Float[Tensor, "*b d y x"]:
    """Equation 3, the prediction as a convolution: b̄_t = b_{t−1} * g(a_t, M).

    The kernel differs from cell to cell. So mass is distributed: it leaves each state by that state's own kernel.

    Args:
        belief: b_{t−1}.
        kernel: g; entry (c, d, j, i, y, x) is the probability to go from heading c in cell (y, x) to heading d in cell
            (y + j − k // 2, x + i − k // 2), where k is the kernel's size. What leaves the map is lost.
    """
    moved = torch.zeros_like(belief)
    size, (rows, cols) = kernel.shape[2], belief.shape[-2:]
    for j in range(size):
        for i in range(size):
            down, right = j - size // 2, i - size // 2
            ys, xs = range(max(0, -down), min(rows, rows - down)), range(max(0, -right), min(cols, cols - right))
            for y in ys:
                for x in xs:
                    moved[..., y + down, x + right] += belief[..., y, x] @ kernel[:, :, j, i, y, x]
    return moved


def transition_matrix(kernel: Float[Tensor, "c d j i y x"]) -> Float[Tensor, "n n"]:
    """The motion model p(s_t | s_{t−1}, a_t, M) of equation 1 that a kernel stands for.

    Args:
        kernel: as in `move`.

    Returns:
        A row per state; a state's number is that of its entry in a flattened belief.
    """
    headings, rows, cols = kernel.shape[0], *kernel.shape[-2:]
    count = headings * rows * cols
    certain = torch.eye(count, dtype=kernel.dtype).view(count, headings, rows, cols)
    return move(certain, kernel).flatten(1)


def stays_on_map(size: int, rows: int, cols: int) -> Bool[Tensor, "j i y x"]:
    """Which displacements from which cells end on the map.

    Args:
        size: of the kernel.
        rows: of the map.
        cols: of the map.
    """
    inside = torch.zeros(size, size, rows, cols, dtype=torch.bool)
    for j in range(size):
        for i in range(size):
            for y in range(rows):
                for x in range(cols):
                    inside[j, i, y, x] = 0 <= y + j - size // 2 < rows and 0 <= x + i - size // 2 < cols
    return inside


def tile_action(action: Float[Tensor, " a"], semantic_map: Float[Tensor, "m y x"]) -> Float[Tensor, "am y x"]:
    """[a_t, M] of equation 4: the spatially-tiled action vector above the channels of the map.

    Args:
        action: a_t.
        semantic_map: M.
    """
    return torch.cat([action[:, None, None].expand(-1, *semantic_map.shape[1:]), semantic_map])


def motion_kernel(scores: Float[Tensor, "c d j i y x"]) -> Float[Tensor, "c d j i y x"]:
    """Equation 4: g(a_t, M) = softmax(conv([a_t, M])), over new headings and displacements.

    Unlike the paper's, moves off the map have probability 0, so that no mass is lost.

    Args:
        scores: conv([a_t, M]), where conv is a CNN with three layers and ReLUs.
    """
    inside = stays_on_map(scores.shape[2], *scores.shape[-2:])
    allowed = scores.masked_fill(~inside, -math.inf)
    return allowed.flatten(1, 3).softmax(1).view_as(scores)


def factorised_kernel(
    map_scores: Float[Tensor, "j i y x"], action_scores: Float[Tensor, "c j i"]
) -> Float[Tensor, "c c j i y x"]:
    """What the released code has instead of equation 4: displacements by map and words; the heading follows the move.

    The new heading is spread around the direction of the displacement. Without a displacement it stays as it was; in
    the released code it turns to +x.

    Args:
        map_scores: where one can go from each cell.
        action_scores: where the words send a ghost of each heading.

    Returns:
        A kernel as in `move`.
    """
    (size, _, rows, cols), headings = map_scores.shape, len(action_scores)
    inside = stays_on_map(size, rows, cols)
    scores = (map_scores + action_scores[..., None, None]).masked_fill(~inside, -math.inf)
    displacement = scores.flatten(1, 2).softmax(1).view_as(scores)
    arrival = map_scores.new_zeros(headings, headings, size, size)
    for j in range(size):
        for i in range(size):
            direction = heading_weights(math.atan2(j - size // 2, i - size // 2), headings)
            arrival[:, :, j, i] = map_scores.new_tensor(direction)
    arrival[:, :, size // 2, size // 2] = torch.eye(headings, dtype=map_scores.dtype)
    return arrival[..., None, None] * displacement[:, None]


# The observation model, and the whole filter.


def observe(
    prediction: Float[Tensor, "*b c y x"], scores: Float[Tensor, "*b c y x"], floor: float = 0.0
) -> Float[Tensor, "*b c y x"]:
    """Equation 5, the observation update on a histogram: b_t = η b̄_t ⊙ LingUNet(o_t, M).

    Args:
        prediction: b̄_t.
        scores: LingUNet's, before the sigmoid that restricts them to the range from 0 to 1.
        floor: least likelihood; the released code has 0.004, the paper none.
    """
    likelihood = torch.sigmoid(scores).clamp(min=floor)
    return correct(prediction.flatten(-3), likelihood.flatten(-3)).view_as(prediction)


def filter_beliefs(
    start: Float[Tensor, " n"],
    transitions: Sequence[Float[Tensor, "n n"]],
    likelihoods: Sequence[Float[Tensor, " n"]],
) -> Float[Tensor, "t1 n"]:
    """Goal prediction: equations 1 and 2 in turn. The first belief and those after each of the T steps.

    Args:
        start: b_0.
        transitions: the motion model of each step (`transition_matrix`).
        likelihoods: of each step's observation.
    """
    beliefs = [start]
    for motion, likelihood in zip(transitions, likelihoods, strict=True):
        beliefs.append(correct(predict(beliefs[-1], motion), likelihood))
    return torch.stack(beliefs)


def smooth_beliefs(
    start: Float[Tensor, " n"],
    transitions: Sequence[Float[Tensor, "n n"]],
    likelihoods: Sequence[Float[Tensor, " n"]],
) -> Float[Tensor, "t1 n"]:
    """Not in the paper: the ghost's state at each step, given the whole instruction (the trajectory posterior).

    Arguments are those of `filter_beliefs`. By the joint probability of all trajectories through a state.
    """
    posteriors = []
    for step in range(len(transitions) + 1):
        before, after = start, torch.ones_like(start)
        for motion, likelihood in zip(transitions[:step], likelihoods[:step]):
            before = likelihood * predict(before, motion)
        for motion, likelihood in reversed(list(zip(transitions[step:], likelihoods[step:]))):
            after = motion @ (likelihood * after)
        posteriors.append(correct(before, after))
    return torch.stack(posteriors)


# Section 4.4: learning.


def divergence(
    target: Float[Tensor, "*b c y x"], belief: Float[Tensor, "*b c y x"], floor: float = 0.0
) -> Float[Tensor, "*b"]:
    """The KL divergence KL(target ‖ belief) in nats, which training minimises.

    Args:
        target: of the true pose.
        belief: b_t.
        floor: smaller beliefs count as this much.
    """
    return (torch.special.xlogy(target, target) - torch.special.xlogy(target, belief.clamp(min=floor))).sum(
        (-3, -2, -1)
    )
