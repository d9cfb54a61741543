"""What commands on runs share: data that is read once, and runs that are one model with several seeds."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Protocol, TypeVar, runtime_checkable

from ghosts.config import to_dict
from ghosts.presets import GoalExperiment

if TYPE_CHECKING:
    from ghosts.learn.data import GoalData
    from ghosts.learn.load import LoadedTask
    from ghosts.learn.vln import LoadedAgent


class DataMemory:
    """The last data read, since models of one table mostly see the same."""

    def __init__(self) -> None:
        self._key: Any = None
        self._data: GoalData | None = None

    def load(
        self, root: Any, experiment: GoalExperiment, loaded: LoadedTask | LoadedAgent | None, also: tuple[str, ...] = ()
    ) -> GoalData:
        from ghosts.learn.data import load_goal_data

        values = to_dict(experiment)
        other = ("name", "kind", "baseline", "train", "navigation")
        shown = {name: value for name, value in values.items() if name not in other}
        shown["model"] = {name: value for name, value in values["model"].items() if name in ("language", "mapper")}
        known: dict[str, Any] = (
            {"vocabulary": loaded.vocabulary, "labels": loaded.labels, "tiles": loaded.tiles} if loaded else {}
        )
        key = shown, known, also
        if self._data is None or key != self._key:
            # Let go of the old data first: two banks of image features may not fit.
            self._key, self._data = key, None
            self._data = load_goal_data(root, experiment, training=False, also=also, **known)
        return self._data


@runtime_checkable
class Named(Protocol):
    """A run that `group_runs` can group."""

    @property
    def name(self) -> str:
        """Of the run's folder."""
        ...


R = TypeVar("R", bound=Named)


def group_runs(runs: Sequence[tuple[GoalExperiment, R]]) -> dict[str, list[tuple[GoalExperiment, R]]]:
    """Runs by model: those that differ in their seed alone together, under a name of their own.

    Runs of one model and one seed (a copy, another checkpoint) stay apart: they say nothing of other seeds.
    """
    groups: list[tuple[dict[str, Any], list[tuple[GoalExperiment, R]]]] = []
    for experiment, run in runs:
        key = to_dict(experiment)
        key["train"].pop("seed")
        for known, members in groups:
            if known == key and all(other.train.seed != experiment.train.seed for other, _ in members):
                members.append((experiment, run))
                break
        else:
            groups.append((key, [(experiment, run)]))
    named: dict[str, list[tuple[GoalExperiment, R]]] = {}
    for key, members in groups:
        shared = sum(other["name"] == key["name"] for other, _ in groups) > 1
        name = f"{key['name']} ({members[0][1].name})" if shared else key["name"]
        while name in named:
            name += "'"
        named[name] = members
    return named
