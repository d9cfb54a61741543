"""A data root: a folder with `connectivity/`, `r2r/`, and `scans/` (images) or `landmarks/` (labels)."""

from __future__ import annotations

import re
from functools import cached_property
from pathlib import Path

from ghosts_sim.episodes import Episode, load_episodes
from ghosts_sim.errors import DataError, UnknownNameError
from ghosts_sim.files import listed, read_words
from ghosts_sim.graph import NavGraph, load_graph
from ghosts_sim.senses import CAPTIONS, DETECTIONS, DOORWAYS, FLOOR, IMAGES, OBJECTS, ROOMS, WAYS
from ghosts_sim.store import DEFAULT_CACHE_BYTES, PanoramaStore

_TOGETHER = "take r2r/ and connectivity/ from the same release"

_SPLIT = re.compile(r"R2R_(\w+?)(\.json)?")


class DataRoot:
    """Buildings, episodes and observations under one folder. Graphs and splits are read when first asked for.

    Raises:
        DataError: the folder or its `connectivity/` is missing.
    """

    def __init__(self, path: Path) -> None:
        self.path = Path(path)
        if not self.path.is_dir():
            hint = f"make one with: ghosts world --out {self.path}"
            if self.path.exists():
                hint = "it is a file; name the folder with connectivity/ and r2r/ in it"
            raise DataError("no such folder (expected a data root)", file=self.path, hint=hint)
        if not (self.path / "connectivity").is_dir():
            hint = f"ghosts doctor --data {self.path} says what is missing and the next command"
            raise DataError("no connectivity/ folder; a data root needs one", file=self.path, hint=hint)
        self._graphs: dict[str, NavGraph] = {}
        self._episodes: dict[str, list[Episode]] = {}

    @cached_property
    def scans(self) -> list[str]:
        """Scan identifiers: those of `connectivity/scans.txt`, or every connectivity file where there is no list."""
        listing = self.path / "connectivity" / "scans.txt"
        if listing.exists():
            names = read_words(listing)
        else:
            files = listed(self.path / "connectivity", "*_connectivity.json")
            names = [file.name[: -len("_connectivity.json")] for file in files]
        if not names:
            raise DataError("names no scan", file=listing, hint="list one scan per line, or remove the file")
        return names

    @cached_property
    def splits(self) -> list[str]:
        """Names of the splits under `r2r/`: a file `R2R_<split>.json` each, or a folder `R2R_<split>` with a file per
        building."""
        matches = ((file, _SPLIT.fullmatch(file.name)) for file in (self.path / "r2r").glob("R2R_*"))
        return sorted({match.group(1) for file, match in matches if match and bool(match.group(2)) != file.is_dir()})

    def in_shards(self, split: str) -> bool:
        """Whether a split has a file per building, so that it can be streamed."""
        return (self.path / "r2r" / f"R2R_{split}").is_dir()

    def scans_of(self, split: str) -> list[str]:
        """Buildings of a split, in alphabetical order; of one in shards no file is read."""
        if self.in_shards(split):
            return [file.stem for file in listed(self._shard(split, "*").parent, "*.json")]
        return sorted({episode.scan for episode in self.episodes(split)})

    @property
    def has_images(self) -> bool:
        """Whether there is a `scans/` folder."""
        return (self.path / "scans").is_dir()

    @property
    def has_landmarks(self) -> bool:
        """Whether there is a `landmarks/` folder."""
        return (self.path / "landmarks").is_dir()

    @property
    def has_captions(self) -> bool:
        """Whether there is a `captions/` folder."""
        return (self.path / "captions").is_dir()

    @property
    def senses(self) -> tuple[str, ...]:
        """Senses that it has something for (`ghosts_sim.senses`)."""
        landmarks = (OBJECTS, ROOMS, DOORWAYS, WAYS, FLOOR) if self.has_landmarks else ()
        pictures = (CAPTIONS, DETECTIONS) if self.has_captions else ()
        return (*landmarks, *pictures, *((IMAGES,) if self.has_images else ()))

    def graph(self, scan: str) -> NavGraph:
        """Navigation graph of a building.

        Raises:
            UnknownNameError: no such scan.
            DataError: its file is malformed.
        """
        if scan not in self._graphs:
            self._graphs[scan] = self._load_graph(scan)
        return self._graphs[scan]

    def _load_graph(self, scan: str) -> NavGraph:
        if scan not in self.scans:
            raise UnknownNameError("scan", scan, self.scans, str(self.path))
        return load_graph(self.path / "connectivity" / f"{scan}_connectivity.json")

    def episodes(self, split: str) -> list[Episode]:
        """Episodes of a split, checked against the navigation graphs.

        Raises:
            UnknownNameError: no such split.
            DataError: the file is malformed, or a path does not run along edges of its building.
        """
        if split not in self._episodes:
            if split not in self.splits:
                raise UnknownNameError("split", split, self.splits, str(self.path / "r2r"))
            if self.in_shards(split):
                self._episodes[split] = [item for scan in self.scans_of(split) for item in self.shard(split, scan)]
            else:
                self._episodes[split] = self._read(self.path / "r2r" / f"R2R_{split}.json")
        return self._episodes[split]

    def shard(self, split: str, scan: str) -> list[Episode]:
        """Episodes of one building of a split in shards; not kept.

        Raises:
            DataError: the file is missing or malformed, holds another building's paths, or one that is none.
        """
        source = self._shard(split, scan)
        episodes = self._read(source)
        for episode in episodes:
            if episode.scan != scan:
                problem = f"expected {scan!r}, as the file is named"
                raise DataError(problem, file=source, record=episode.path_id, field="scan", value=episode.scan)
        return episodes

    def _shard(self, split: str, scan: str) -> Path:
        return self.path / "r2r" / f"R2R_{split}" / f"{scan}.json"

    def _read(self, source: Path) -> list[Episode]:
        episodes = load_episodes(source)
        for episode in episodes:
            self.check_episode(episode, source)
        return episodes

    def panoramas(self, *, depth: bool = True, cache_bytes: int = DEFAULT_CACHE_BYTES) -> PanoramaStore:
        """The images of this root.

        Raises:
            DataError: there is no `scans/` folder.
        """
        if not self.has_images:
            from ghosts_sim.remedy import PictureRecipe  # which reads data roots

            hint = f"make them with: {PictureRecipe.of(self.path).command()}"
            raise DataError("no scans/ folder, so there are no images in this data root", file=self.path, hint=hint)
        return PanoramaStore(self.path / "scans", depth=depth, cache_bytes=cache_bytes)

    def check_episode(self, episode: Episode, source: Path) -> None:
        """Check that an episode, read from `source`, runs along edges of one of the root's buildings.

        Raises:
            DataError: it does not.
        """
        if episode.scan not in self.scans:
            hint = "add it to connectivity/ or remove the record"
            name, value = episode.path_id, episode.scan
            problem = "scan without navigation graph"
            raise DataError(problem, file=source, record=name, field="scan", value=value, hint=hint)
        check_path(episode, self.graph(episode.scan), source)


def check_path(episode: Episode, graph: NavGraph, source: Path) -> None:
    """Refuse a path that does not run along edges of its building.

    Raises:
        DataError: naming the file, the path and the viewpoint.
    """
    name, known = episode.path_id, set(graph.ids)
    for viewpoint in episode.path:
        if viewpoint not in known:
            problem = f"no such viewpoint in scan {episode.scan}"
            raise DataError(problem, file=source, record=name, field="path", value=viewpoint, hint=_TOGETHER)
    rows = [graph.index(viewpoint) for viewpoint in episode.path]
    if not graph.included[rows].all():
        excluded = next(graph.ids[row] for row in rows if not graph.included[row])
        problem = f"a viewpoint that scan {episode.scan} excludes"
        raise DataError(problem, file=source, record=name, field="path", value=excluded, hint=_TOGETHER)
    for here, there in zip(rows, rows[1:]):
        if not graph.adjacent[here, there]:
            problem = f"nobody can walk straight from viewpoint {graph.ids[here]} to {graph.ids[there]}"
            raise DataError(problem, file=source, record=name, field="path", hint=_TOGETHER)
