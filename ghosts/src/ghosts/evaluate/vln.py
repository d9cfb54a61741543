"""Navigation (Table 2): walk every instruction of a split with an agent or a baseline, and score the walks."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any

import torch

from ghosts.agent.known import KnownGraph
from ghosts.agent.loop import Action, Agent, choose_best
from ghosts.agent.walkers import WalkerName, walk_baseline
from ghosts.data.dataset import Dataset
from ghosts.data.drops import shown_alone
from ghosts.data.examples import Example
from ghosts.data.symmetry import SYMMETRIES
from ghosts.data.walks import walk_seed
from ghosts.evaluate.goal import Execution, check_any
from ghosts.precision import networks_in
from ghosts.run.load import Run
from ghosts.run.pragmatic import Pragmatist
from ghosts.run.rollout import GraphWalks, choose_together, walk_episodes
from ghosts_sim.dataroot import DataRoot
from ghosts_sim.metrics import NavScores, score_paths

if TYPE_CHECKING:
    from lightning_fabric import Fabric

Report = Callable[[int, int], None]
WALK_SEED = 2018
"""Of the random baseline's walks."""


def walk_split(
    run: Run,
    data: Dataset,
    examples: Sequence[Example],
    how: Execution = Execution(),
    *,
    planner: bool = False,
    pragmatic: Pragmatist | None = None,
) -> list[list[int]]:
    """Walk every instruction; deterministic for a given batch size.

    Args:
        run: acts; its model is moved to the device, and its mode is left as it was.
        data: what it reads.
        examples: instructions.
        how: the evaluation runs; its `report` is called after every step with the number of ended walks.
        planner: let the planner choose instead of the learned policy.
        pragmatic: a speaker that has a say in where to stop.

    Returns:
        Rows of the viewpoints walked through, the start first.

    Raises:
        DataError: there is nothing to walk.
    """
    check_any(data, examples)
    device, batch = how.device, how.size
    agent: Agent[Any, Any, KnownGraph] = run.agent(planner=planner)
    was_training = run.model.training
    run.model.to(device).eval()
    walks = GraphWalks(data.to(device), device)
    paths: list[list[int]] = [[] for _ in examples]
    symmetries = SYMMETRIES[: how.symmetries]
    for at in how.starts(len(examples)):
        copies = [(example, symmetry) for example in examples[at : at + batch] for symmetry in symmetries]
        drops = shown_alone(how.shown, len(copies))
        episodes = walks.begin([example for example, _ in copies], [symmetry for _, symmetry in copies], drops)
        with torch.no_grad(), deterministic(), networks_in(how.precision, device):
            if run.experiment.on_true_beliefs:
                model = run.filter
                assert model is not None, "only a filter's policy acts on beliefs"
                episodes = walks.with_true_beliefs(episodes, model.config)
            report = partial(_report, how.report, at, len(examples), len(symmetries))
            choose = choose_best if pragmatic is None else pragmatic.choosing(episodes)
            choose = choose_together(len(symmetries), choose)
            walked = walk_episodes(agent, walks, episodes, choose=choose, watch=report).paths
            paths[at : at + batch] = walked[:: len(symmetries)]
    run.model.train(was_training)
    return _shared(paths, how.fabric) if how.fabric is not None and how.shared else paths


def _report(report: Report, before: int, total: int, copies: int, action: Action[KnownGraph]) -> None:
    report(before + int((~action.active).sum()) // copies, total)


@contextmanager
def deterministic() -> Iterator[None]:
    """Ask torch for sums in a fixed order. Otherwise a GPU adds in any order, which can decide between near ties."""
    before = torch.are_deterministic_algorithms_enabled()
    only_warns = torch.is_deterministic_algorithms_warn_only_enabled()
    with warnings.catch_warnings():
        # What has no fixed order (cuBLAS without a workspace setting) is not worth a line per operation.
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


def score_walks(root: DataRoot, examples: Sequence[Example], paths: Sequence[Sequence[int]]) -> NavScores:
    """Score walks (rows of their buildings' graphs, one per instruction) against the demonstrators' paths."""
    graphs = [root.graph(example.scan) for example in examples]
    names, references = [example.instr_id for example in examples], [example.path for example in examples]
    return score_paths(names, graphs, paths, references)
