"""Navigation (Table 2): walk every instruction of a split with an agent or a baseline, and score the walks."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import torch
from jaxtyping import Float
from lightning.fabric import Fabric
from torch import Tensor

from ghosts.act.planner import Planner
from ghosts.act.walkers import WalkerName, walk_baseline
from ghosts.config import Precision
from ghosts.errors import DataError
from ghosts.evaluate.navigation import NavScores, score_paths
from ghosts.language.episodes import each_instruction
from ghosts.learn.batches import Builder
from ghosts.learn.examples import Example
from ghosts.learn.precision import networks_in
from ghosts.learn.rollout import World, walk_episodes
from ghosts.learn.trajectories import walk_seed
from ghosts.learn.vln import NavTask
from ghosts.world.dataroot import DataRoot

WALK_SEED = 2018
"""Of the random baseline's walks."""


def walk_split(
    task: NavTask,
    root: DataRoot,
    examples: Sequence[Example],
    builder: Builder,
    *,
    stored: Float[Tensor, "n c"] | None,
    device: torch.device,
    planner: Planner | None = None,
    batch: int = 128,
    precision: Precision = "32-true",
    fabric: Fabric | None = None,
) -> list[list[int]]:
    """Walk every instruction; deterministic for a given batch size.

    Args:
        task: the agent's weights.
        root: graphs.
        examples: instructions.
        builder: tiles and words.
        stored: the bank's features, where it has them.
        device: where to run.
        planner: chooses instead of the learned policy.
        batch: instructions at a time.
        precision: of the networks; the filter runs in float32.
        fabric: processes that share the batches; all of them get all walks, the same as one process alone.

    Returns:
        Rows of the viewpoints walked through, the start first.

    Raises:
        DataError: there is nothing to walk.
    """
    if not examples:
        raise DataError(
            "no instructions to evaluate",
            file=root.path,
            hint=f"choose another split (ghosts doctor {root.path} lists them)",
        )
    was_training = task.training
    task.eval()
    scans = sorted({example.scan for example in examples})
    world = World(root, builder, scans, task.features, stored, device)
    agent = task.agent(builder.grid, planner)
    rank, processes = (fabric.global_rank, fabric.world_size) if fabric is not None else (0, 1)
    paths: list[list[int]] = [[] for _ in examples]
    # Whole batches are shared out, so that the walks do not depend on how many share them.
    for at in list(range(0, len(examples), batch))[rank::processes]:
        episodes = world.begin(examples[at : at + batch])
        with torch.no_grad(), deterministic(), networks_in(precision, device):
            beliefs = task.given_beliefs(episodes.batch, builder.grid)
            paths[at : at + batch] = walk_episodes(agent, world, episodes, beliefs=beliefs).paths
    task.train(was_training)
    return _shared(paths, fabric) if fabric is not None and processes > 1 else paths


@contextmanager
def deterministic() -> Iterator[None]:
    """Ask torch for sums in a fixed order: on a GPU they are otherwise added as they come, and near ties flip."""
    before = torch.are_deterministic_algorithms_enabled()
    only_warns = torch.is_deterministic_algorithms_warn_only_enabled()
    with warnings.catch_warnings():
        # What has no fixed order (cuBLAS without a workspace setting) is not worth a line an operation.
        warnings.filterwarnings("ignore", message=".*deterministic.*")
        torch.use_deterministic_algorithms(True, warn_only=True)
        try:
            yield
        finally:
            torch.use_deterministic_algorithms(before, warn_only=only_warns)


def _shared(paths: list[list[int]], fabric: Fabric) -> list[list[int]]:
    """Walks of all processes; each has the others' empty."""
    longest = torch.tensor(max(len(path) for path in paths), device=fabric.device)
    width = int(torch.as_tensor(fabric.all_reduce(longest, reduce_op="sum")))
    table = torch.zeros(len(paths), width, dtype=torch.long)
    for number, path in enumerate(paths):
        table[number, : len(path)] = torch.tensor(path, dtype=torch.long) + 1
    whole = torch.as_tensor(fabric.all_reduce(table.to(fabric.device), reduce_op="sum")).tolist()
    return [[row - 1 for row in path if row] for path in whole]


def walk_split_baseline(name: WalkerName, root: DataRoot, examples: Sequence[Example]) -> list[list[int]]:
    """Walk every instruction with a baseline that needs no model."""
    return [
        walk_baseline(
            name, root.graph(example.scan), example.start, example.goal, walk_seed(WALK_SEED, example.instr_id)
        )
        for example in examples
    ]


def score_walks(root: DataRoot, split: str, examples: Sequence[Example], paths: Sequence[Sequence[int]]) -> NavScores:
    """Score walks against the demonstrators' paths.

    Args:
        root: graphs and paths.
        split: the file the examples come from ("train" for the development split).
        examples: instructions.
        paths: rows walked through, one an instruction.
    """
    by_name = {item.instr_id: item.episode for item in each_instruction(root.episodes(split))}
    graphs = [root.graph(example.scan) for example in examples]
    references = [
        [graph.index(viewpoint) for viewpoint in by_name[example.instr_id].path]
        for graph, example in zip(graphs, examples)
    ]
    return score_paths([example.instr_id for example in examples], graphs, paths, references)
