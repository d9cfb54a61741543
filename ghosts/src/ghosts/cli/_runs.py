"""What commands on runs share: options of an evaluation, and runs that are one model with several seeds."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, NamedTuple, Protocol, TypeVar, runtime_checkable

from ghosts.config import Experiment, Precision, experiment_values
from ghosts.config.values import NOT_NEGATIVE, CommandOptions, Count, Whole
from ghosts.words.synonyms import reword, synonyms_of
from ghosts_sim.cli._out import check_out_folder
from ghosts_sim.errors import ConfigError, UnknownNameError
from ghosts_sim.senses import ALL_ROUND_DEG, SENSES, Shown, parse_senses, sense_summary

if TYPE_CHECKING:
    import torch
    from lightning_fabric import Fabric

    from ghosts.data.examples import Example
    from ghosts.evaluate.goal import Execution
    from ghosts.run.load import Run
    from ghosts.run.pragmatic import Pragmatist
    from ghosts_sim.dataroot import DataRoot

    Splits = dict[str, list[Example]]
Walk = Literal["agent", "fixed"]
"""Who walks an episode that is shown: the model by itself, or goal prediction's evaluation, the same for all models."""
SEEN = "val_seen"
"""R2R's split of training buildings: those that are held out for development are in it too."""


def check_episodes(data: Path, split: str, names: Sequence[str]) -> None:
    """Refuse episodes that are nowhere in a data root, or in its split if one is named, before models are read.

    Raises:
        UnknownNameError: no such episode; the nearest are named.
    """
    from ghosts_sim.dataroot import DataRoot
    from ghosts_sim.episodes import each_instruction, nearest_episodes

    if not names:
        return
    root = DataRoot(data)
    files = [split] if split in root.splits else root.splits  # dev_unseen is a part of train
    known = {item.instr_id for name in files for item in each_instruction(root.episodes(name))}
    for name in names:
        if name not in known:
            where = f"{data} (ghosts episodes --data {data} lists them)"
            near = ", ".join(sorted(nearest_episodes(name, known))[:3])
            raise UnknownNameError(f"unknown episode {name!r} in {where}; the nearest of {len(known)} are {near}")


def names_of_runs(paths: Sequence[Path], taken: Collection[str] = ()) -> list[str]:
    """A name for each run: that of its file or folder, with as many folders before it as set all names apart.

    Args:
        paths: of the runs, as they were given.
        taken: names of other rows, such as those of baselines.

    Example:
        >>> names_of_runs([Path("a/best.safetensors"), Path("b/best.safetensors")])
        ['a/best', 'b/best']
    """
    parts = [path.absolute().with_suffix("").parts for path in paths]
    names = ["/".join(own[-1:]) for own in parts]
    for depth in range(1, max(map(len, parts), default=0)):
        names = ["/".join(own[-depth:]) for own in parts]
        if len(set(names)) == len(set(parts)) and not set(names) & set(taken):
            break
    return names


class HeldOut(NamedTuple):
    """Training buildings that runs have not seen."""

    every: int | None
    """`config.TrainConfig.hold_out` of the first run."""
    scans: frozenset[str]
    """Held out by any of the runs."""
    by: str
    """Who was trained on these buildings, for messages: "no run", or "not every run"."""


@dataclass(frozen=True, kw_only=True)
class PragmaticOptions(CommandOptions):
    """A speaker that has a say in where an agent stops."""

    pragmatic: Path | None = None
    """Run of `ghosts train speaker`. The agent then also weighs places to stop by how likely the speaker finds the
    instruction for the way there (Fried et al. 2018)."""
    pragmatic_weight: Annotated[float, NOT_NEGATIVE] = 1.0
    """Weight of the speaker's log-likelihood beside the policy's."""

    def check_pragmatic(self, runs: Sequence[Run], planner: bool) -> None:
        """Refuse what a speaker cannot have a say in, before the data is read.

        Raises:
            ConfigError: the run does not speak, or there is no policy to weigh with.
        """
        from ghosts.run.load import load_run
        from ghosts.run.speak import speaker_of

        if self.pragmatic is None:
            return
        speaker_of(load_run(self.pragmatic))
        if planner or any(run.filter is None for run in runs):
            raise ConfigError("--pragmatic weighs the choices of a learned policy on a belief; leave out --planner")

    def pragmatist(self, root: DataRoot, device: torch.device, also: Sequence[str] = ()) -> Pragmatist | None:
        """The speaker with what it reads of the data; None where none is named."""
        from ghosts.data.dataset import open_dataset
        from ghosts.run.load import load_run
        from ghosts.run.pragmatic import Pragmatist

        if self.pragmatic is None:
            return None
        run = load_run(self.pragmatic)
        return Pragmatist(run, open_dataset(root, run.reading, also=also), self.pragmatic_weight, device)


@dataclass(frozen=True, kw_only=True)
class FollowOptions(CommandOptions):
    """How instructions are followed: in how many worlds, and how many at a time."""

    symmetries: Literal[1, 4, 8] = 1
    """Follow each instruction in rotated copies of its world too (4), or also in mirrored ones (8), and average what
    the model says. It takes 4 or 8 times as long."""
    batch: Count | None = None
    """Instructions at a time. By default 16 on a CPU and 64 on a GPU."""

    @property
    def worlds(self) -> list[str]:
        """What to say of it in the name of a row."""
        return [f"{self.symmetries} symmetries"] if self.symmetries > 1 else []


@dataclass(frozen=True, kw_only=True)
class EvalOptions(FollowOptions):
    """Options of every evaluation."""

    run: tuple[Path, ...] = ()
    """Folder of a run, a checkpoint, or shipped weights; repeat for more. Runs that differ only in their seed become
    one row."""
    ensemble: bool = False
    """Average the beliefs of all runs and score them as one model."""
    data: Path = Path("data")
    """Data root."""
    split: tuple[str, ...] = ()
    """Split to score; repeat for more. By default all but train."""
    trained_only: bool = False
    """In splits of seen buildings (val_seen), leave out the buildings that a run was not trained on."""
    out: Path | None = None
    """Folder for the tables and their numbers."""
    device: str = "auto"
    """cpu, cuda or auto."""
    devices: Count = 1
    """Processes that share the work. Under torchrun (several machines), torchrun sets their number."""
    examples: Whole = 0
    """Number of instructions per split, evenly spaced; 0 = all."""
    half: bool = False
    """Run the networks in bfloat16, as in training; float32 by default."""
    senses: tuple[str, ...] = ()
    """Show only these senses of the data root's, such as captions,floor: objects, rooms, doorways, ways, floor,
    captions, detections; or a suite: everything, people, pictures, robot, robot-objects, robot-both."""
    view: int = ALL_ROUND_DEG
    """Width of the field of view in degrees, in the direction of travel (a multiple of 30)."""
    reword: str | None = None
    """Replace words of the instructions by synonyms that R2R's training hardly uses (couch: divan, …). Three lists hold
    everyday words (everyday-a, -b, -c); three replace half of all words (many-a, -b, -c)."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.reword is not None:
            synonyms_of(self.reword)
        _ = self.shown  # an unknown sense is refused before the data is read
        if self.out is not None:
            check_out_folder(self.out)

    @property
    def shown(self) -> Shown:
        """What runs are shown."""
        return Shown(parse_senses(self.senses) if self.senses else tuple(SENSES), self.view)

    @property
    def worlds(self) -> list[str]:
        """What to say of it in the name of a row."""
        return [*super().worlds, *([] if self.shown.everything else [f"shown {self.shown}"])]

    def execution(self, fabric: Fabric, report: Callable[[int, int], None], threads: int = 2) -> Execution:
        """How the evaluation runs."""
        from ghosts.evaluate.goal import Execution

        return Execution(fabric, self.batch, threads, self.precision, report, self.shown, self.symmetries)

    @property
    def precision(self) -> Precision:
        """Of the networks."""
        return "bf16-mixed" if self.half else "32-true"

    def together(self, runs: list[Run]) -> list[Run]:
        """The runs, or all of them as one."""
        from ghosts.run.load import ensemble_of

        return [ensemble_of(runs)] if self.ensemble else runs

    def held_out(self, runs: Sequence[Run], root: DataRoot) -> HeldOut:
        """Which training buildings the runs have not seen; without runs, those that are held out by default.

        Raises:
            ConfigError: the runs hold out different buildings, and a split is asked for that depends on it.
        """
        from ghosts.data.examples import DEV_UNSEEN, TRAIN, split_buildings

        every = list(dict.fromkeys(run.reading.hold_out for run in runs if run.iteration is not None)) or [None]
        unseen = [frozenset(split_buildings(root, number)[1]) for number in every]
        if len(set(unseen)) > 1 and (not self.split or {TRAIN, DEV_UNSEEN} & set(self.split)):
            raise ConfigError(
                f"the runs were not trained on the same buildings (train.hold_out: {', '.join(map(str, every))}), so "
                f"{TRAIN} and {DEV_UNSEEN} are not the same for all; name other splits: --split {SEEN}"
            )
        return HeldOut(every[0], unseen[0].union(*unseen[1:]), "no run" if len(set(unseen)) == 1 else "not every run")

    def chosen(self, splits: Splits, root: DataRoot, held_out: HeldOut) -> Splits:
        """The examples to score, by split.

        Raises:
            ConfigError: there is nothing but a training split.
            UnknownNameError: no such split.
        """
        from ghosts.data.examples import SPOKEN, TRAIN, evenly

        names = list(self.split) or [name for name in splits if name not in (TRAIN, SPOKEN)]
        if not names:
            raise ConfigError(f"{root.path}: nothing but a training split; to score that, add --split train")
        for name in names:
            if name not in splits:
                raise UnknownNameError("split", name, splits, str(root.path))
        left_out = {SEEN: held_out.scans} if self.trained_only else {}
        chosen = {
            name: evenly([item for item in splits[name] if item.scan not in left_out.get(name, ())], self.examples)
            for name in names
        }
        if self.reword is None:
            return chosen
        pairs = synonyms_of(self.reword)
        return {
            name: [replace(item, text=reword(item.text, pairs)) for item in items] for name, items in chosen.items()
        }

    def notes(self, runs: Sequence[Run], splits: Splits, root: DataRoot, held_out: HeldOut) -> list[str]:
        """What to say of the scores: seen buildings that the runs were not trained on, because they are held out; what
        runs do not read of the instructions; which senses they are shown, and which they miss."""
        from ghosts.words.tokens import unread

        lines, chosen = [], self.chosen(splits, root, held_out)
        scored = chosen.get(SEEN, [])
        away = [example.scan for example in scored if example.scan in held_out.scans]
        if away:
            lines.append(
                f"{SEEN}: {len(away)} of {len(scored)} instructions lie in buildings that {held_out.by} was trained on "
                f"({', '.join(sorted(set(away)))}); --trained-only leaves them out"
            )
        for run in runs:
            words = run.reading.vocabulary
            if words is None:
                continue
            for name, examples in chosen.items():
                texts = [example.text for example in examples]
                lines += [f"{run.name}, {name}: {line}" for line in unread(words, texts)]
        present = [name for name in root.senses if name in self.shown.senses]
        return lines + [f"{run.name}: senses {sense_summary(run.senses, present)}" for run in runs if run.senses]


@runtime_checkable
class Named(Protocol):
    """A run that `group_runs` can group."""

    @property
    def name(self) -> str:
        """Of the run's folder."""
        ...


R = TypeVar("R", bound=Named)


def group_runs(
    runs: Sequence[tuple[Experiment, R]], taken: Collection[str] = ()
) -> dict[str, list[tuple[Experiment, R]]]:
    """Runs by model: those that differ in their seed alone together, under a name of their own.

    Runs of one model and one seed (a copy, another checkpoint) stay apart: they say nothing of other seeds.

    Args:
        runs: with their experiments.
        taken: names of other rows, such as those of baselines.
    """
    groups: list[tuple[dict[str, Any], list[tuple[Experiment, R]]]] = []
    for experiment, run in runs:
        key = experiment_values(experiment)
        key["train"].pop("seed")
        for known, members in groups:
            if known == key and all(other.train.seed != experiment.train.seed for other, _ in members):
                members.append((experiment, run))
                break
        else:
            groups.append((key, [(experiment, run)]))
    named: dict[str, list[tuple[Experiment, R]]] = {}
    for key, members in groups:
        shared = sum(other["name"] == key["name"] for other, _ in groups) > 1 or key["name"] in taken
        name = f"{key['name']} ({members[0][1].name})" if shared else key["name"]
        while name in named or name in taken:
            name += "'"
        named[name] = members
    return named
