"""What a viewer or report can show: data roots, models, and their episodes, opened when first asked for."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import UInt8

from ghosts.data.dataset import Dataset, DataShelf
from ghosts.data.examples import TRAIN, Example
from ghosts.methods.build import build_model
from ghosts.methods.hand_coded import hand_coded
from ghosts.methods.hand_coded.settings import HandCodedModelConfig
from ghosts.run.load import Run, find_checkpoint, load_run
from ghosts.run.speak import describe
from ghosts.view.ends import Ends
from ghosts.view.inspector import Inspector
from ghosts.view.paint import Painting, paint
from ghosts.view.panorama import equirect, jpeg, straight_ahead
from ghosts.view.query import EpisodeQuery
from ghosts.view.record import EpisodeRecord
from ghosts.view.watch import Watched
from ghosts.weights import shipped
from ghosts_houses.draw.floor_plan import make_floor_plan, places_of
from ghosts_sim.dataroot import DataRoot
from ghosts_sim.episodes import nearest_episodes
from ghosts_sim.errors import ConfigError, DataError, GhostsError, UnknownNameError
from ghosts_sim.store import PanoramaStore

_PANORAMA_BYTES = 96 << 20
HAND_CODED, SPEAKER = "hand-coded", "landmarks-speaker"


class Library:
    """Data roots and models by name. Safe to share between threads.

    Args:
        roots: data roots.
        runs: folders of runs, checkpoints or shipped weights; none where only records are shown.
        baseline: whether the hand-coded baseline is there too, after all runs.
        watch: folders of runs that are still training, among the models after the others.
    """

    def __init__(
        self, roots: Sequence[Path], runs: Sequence[Path], *, baseline: bool = False, watch: Sequence[Path] = ()
    ) -> None:
        if not roots:
            raise ConfigError("no data root to show; name --data ROOT (make one with: ghosts world --out ROOT)")
        watched = [Watched(folder) for folder in watch]
        runs = [*runs, *(item.checkpoint for item in watched)]
        self.roots = {name: DataRoot(path) for name, path in zip(_names(roots), roots)}
        self._runs = {name: load_model(path) for name, path in zip(_names(runs), runs)}
        self._files = {name: find_checkpoint(path).resolve() for name, path in zip(_names(runs), runs)}
        self._watched = dict(zip(list(self._runs)[len(runs) - len(watched) :], watched))
        self._stamps = {name: item.stamp for name, item in self._watched.items()}
        self._shelf = DataShelf(len(roots) * (len(runs) + 1))
        self._speakers = lru_cache(maxsize=len(roots))(self._speaker)
        self.models = [*self._runs, *([HAND_CODED] if baseline and HAND_CODED not in self._runs else [])]
        """Names."""
        self._inspectors: dict[tuple[str, str], Inspector | GhostsError] = {}
        self._reading = threading.Lock()
        self._locks = {(world, model): threading.Lock() for world in self.roots for model in self.models}
        self._stores = {
            name: root.panoramas(cache_bytes=_PANORAMA_BYTES) for name, root in self.roots.items() if root.has_images
        }
        self.ends = lru_cache(maxsize=64)(self._ends)
        self.scene = lru_cache(maxsize=64)(self._scene)
        self.painting = lru_cache(maxsize=16)(self._painting)
        self.panorama = lru_cache(maxsize=256)(self._panorama)

    def root(self, world: str) -> DataRoot:
        """A data root by name."""
        if world not in self.roots:
            raise UnknownNameError("world", world, self.roots)
        return self.roots[world]

    def inspector(self, world: str, model: str) -> Inspector:
        """A model on a data root; read once.

        Raises:
            UnknownNameError: no such world or model.
            GhostsError: the model cannot read this world.
        """
        self.root(world)
        if model not in self.models:
            raise UnknownNameError("model", model, self.models)
        key = (world, model)
        with self._locks[key]:
            if key not in self._inspectors:
                try:
                    self._inspectors[key] = self._open(world, model)
                except GhostsError as error:
                    self._inspectors[key] = error
        found = self._inspectors[key]
        if isinstance(found, GhostsError):
            raise found
        return found

    def _open(self, world: str, model: str) -> Inspector:
        if model in self._runs:
            run = self._runs[model]
            with self._reading:
                return Inspector(run, self._shelf.get(self.roots[world], run.reading), model)
        for other in self._runs:
            try:
                seen = self.inspector(world, other)
            except GhostsError:
                continue
            # On the same map and the same observations as another model.
            shown = seen.run.experiment
            parts = HandCodedModelConfig(shown.model.language, shown.model.mapper)
            experiment = replace(hand_coded(), model=parts, data=shown.data)
            return Inspector(Run(model, experiment, build_model(experiment), seen.data.reading), seen.data)
        raise ConfigError(
            f"the hand-coded baseline sees what a run sees, and none can read {world}; name one with --run"
        )

    def training(self) -> dict[str, dict[str, Any]]:
        """What watched runs have logged so far; a newer checkpoint is read and replaces the older one."""
        logged = {}
        for name, item in self._watched.items():
            stamp = item.stamp
            if stamp != self._stamps[name]:
                run = load_model(item.checkpoint)
                with ExitStack() as held:
                    for world in self.roots:
                        held.enter_context(self._locks[world, name])
                    self._runs[name], self._stamps[name] = run, stamp
                    for key in [key for key in self._inspectors if key[1] in (name, HAND_CODED)]:
                        del self._inspectors[key]
            logged[name] = {"iteration": self._runs[name].iteration, "checkpoint": stamp, "rows": item.rows()}
        return logged

    def pairs(self) -> list[tuple[str, str]]:
        """Worlds and models that go together; everything is opened."""
        good = []
        for world in self.roots:
            for model in self.models:
                try:
                    self.inspector(world, model)
                    good.append((world, model))
                except GhostsError:
                    continue
        return good

    def why_not(self) -> str:
        """For each model that cannot read a world, the reason."""
        failed = [(key, value) for key, value in self._inspectors.items() if isinstance(value, GhostsError)]
        return "".join(f"\n  {model} on {world}: {value}" for (world, model), value in failed)

    def file(self, model: str) -> Path | None:
        """The checkpoint of a model; None for the hand-coded baseline."""
        return self._files.get(model)

    def same_as(self, model: str) -> str:
        """The first model from the same file, which has the same beliefs; empty where there is none before it."""
        before = [name for name in self._files if self._files[name] == self._files.get(model)]
        return before[0] if before and before[0] != model else ""

    def twins(self) -> list[str]:
        """A line for every model that is a second name of another one's file."""
        pairs = [(name, other) for name in self._files if (other := self.same_as(name))]
        return [f"{name} is the same file as {other}: they believe the same" for name, other in pairs]

    def splits(self, inspector: Inspector) -> list[str]:
        """Splits of a world that hold an episode, unseen ones first."""
        held = [name for name in inspector.data.splits if inspector.data.examples(name)]
        return sorted(held, key=lambda name: ("unseen" not in name, name == TRAIN, name))

    def episodes(self, inspector: Inspector, split: str, scan: str = "", find: str = "") -> list[Example]:
        """Episodes of a split, filtered by building and by words."""
        words = find.lower().split()
        return [
            item
            for item in inspector.data.examples(split)
            if (not scan or item.scan == scan) and all(word in f"{item.instr_id} {item.text}".lower() for word in words)
        ]

    def can_describe(self, world: str) -> bool:
        """Whether the shipped speaker can put walks of a world into words: it reads labels."""
        return self.root(world).path.joinpath("landmarks").is_dir() and SPEAKER in shipped()

    def describe(self, world: str, query: EpisodeQuery) -> str:
        """The walk of a query in words, by the shipped speaker.

        Raises:
            GhostsError: it cannot read this world, or the walk has one viewpoint alone.
        """
        if not self.can_describe(world):
            raise ConfigError(f"{SPEAKER} describes walks of worlds with landmarks/, which {world} has not")
        ids = self.root(world).graph(query.scan).ids
        with self._reading:
            run, data = self._speakers(world)
            return describe(run, data, query.scan, [ids[row] for row in query.walk], query.heading_rad)

    def _speaker(self, world: str) -> tuple[Run, Dataset]:
        run = load_run(Path(SPEAKER))
        run.model.eval()
        return run, self._shelf.get(self.roots[world], run.reading)

    def _ends(self, inspector: Inspector, split: str, scan: str) -> Ends:
        return Ends(inspector, self.episodes(inspector, split, scan))

    def split_of(self, inspector: Inspector, split: str, instr_id: str) -> str:
        """The split that holds an episode, where none is named; otherwise the named one."""
        if split or not instr_id:
            return split or self.splits(inspector)[0]
        holding = (
            name
            for name in self.splits(inspector)
            if any(e.instr_id == instr_id for e in inspector.data.examples(name))
        )
        return next(holding, self.splits(inspector)[0])

    def query(self, inspector: Inspector, split: str, instr_id: str = "", *, fixed: bool = False) -> EpisodeQuery:
        """An episode with its demonstration and the walk that the model takes by itself.

        Args:
            inspector: the model.
            split: name.
            instr_id: episode; the split's first by default.
            fixed: with the evaluation's fixed walk instead.

        Raises:
            UnknownNameError: no such split or episode.
            DataError: the split is empty.
        """
        examples = {example.instr_id: example for example in inspector.data.examples(split)}
        if instr_id and instr_id not in examples:
            near = ", ".join(nearest_episodes(instr_id, examples)[:3])
            text = f"unknown episode {instr_id!r} in split {split}"
            raise UnknownNameError(f"{text}; the nearest of {len(examples)} are {near}" if near else text)
        if not examples:
            raise DataError(f"split {split} holds no episode", file=inspector.root.path, hint="choose another split")
        return inspector.query(examples[instr_id or next(iter(examples))], fixed=fixed)

    def painting_at(self, world: str, scan: str, viewpoint: str) -> Painting:
        """The storey of a viewpoint, painted from photos."""
        return self.painting(world, scan, places_of(self.scene(world, scan))[viewpoint]["s"])

    def ahead(self, record: EpisodeRecord, world: str, step: int) -> UInt8[np.ndarray, "h w 3"] | None:
        """What a camera sees straight ahead of the agent, 120° wide; None in a world without images."""
        if world not in self._stores:
            return None
        return straight_ahead(self.equirect(world, record.scan, record.walk[step]), record.walk_heading_rad[step])

    def equirect(self, world: str, scan: str, viewpoint: str, width: int = 1536) -> UInt8[np.ndarray, "h w 3"]:
        """A panorama as an equirectangular picture.

        Raises:
            DataError: the world has no images.
        """
        graph = self.root(world).graph(scan)
        return equirect(self._store(world).load(scan, viewpoint), graph.rotation[graph.index(viewpoint)], width)

    def _store(self, world: str) -> PanoramaStore:
        if world not in self._stores:
            raise DataError("there are no images in this world", file=self.root(world).path, hint="leave out --photo")
        return self._stores[world]

    def _scene(self, world: str, scan: str) -> dict[str, Any]:
        return make_floor_plan(self.root(world), scan)

    def _painting(self, world: str, scan: str, storey: int) -> Painting:
        return paint(self.root(world).graph(scan), self._store(world), storey)

    def _panorama(self, world: str, scan: str, viewpoint: str) -> bytes:
        return jpeg(self.equirect(world, scan, viewpoint))


def require_models(runs: Sequence[Path]) -> None:
    """Refuse a viewer, film or report of no model.

    Raises:
        ConfigError: none is named.
    """
    if not runs:
        raise ConfigError(
            "no model to show; name --run RUN: a run's folder, a checkpoint or shipped weights (houses-agent)"
        )


def load_model(path: Path) -> Run:
    """A trained model with a belief to show: a goal predictor, or an agent with a filter.

    Raises:
        DataError: the checkpoint is missing, damaged, of another version, or of an agent without beliefs.
    """
    run = load_run(path)
    if run.predictor is None:
        hint = "name a run of the filter; an agent without one can be scored with: ghosts eval vln"
        raise DataError("has no belief to look into", file=path, hint=hint)
    return run


def _names(paths: Sequence[Path]) -> list[str]:
    """Short, distinct names: of a checkpoint in a run's folder, the folder's."""
    names: list[str] = []
    for path in paths:
        whole = path.resolve()
        name = whole.parent.name if whole.suffix == ".safetensors" and whole.stem in ("best", "last") else whole.stem
        while name in names:
            name += "'"
        names.append(name)
    return names
