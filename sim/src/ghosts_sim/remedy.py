"""Commands that make what a data root lacks, of the same kind as what is there."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from ghosts_sim.errors import GhostsError
from ghosts_sim.files import listed, read_json, read_object
from ghosts_sim.matterport.panorama import PrepareConfig, read_settings
from ghosts_sim.matterport.prepare import SUMMARY
from ghosts_sim.store import PanoramaStore


@dataclass(frozen=True)
class PictureRecipe:
    """How the pictures of a data root were made, and so the command that makes more of the same."""

    path: Path
    houses: str
    """Command of a world of procedural houses; empty elsewhere."""
    config: PrepareConfig
    """Of most scans, as their depth files say; else of the summary; else the usual one."""

    @classmethod
    def of(cls, path: Path) -> PictureRecipe:
        """Look at a data root."""
        store = PanoramaStore(path / "scans")
        anyone = [store.paths(folder.name, "*").depth for folder in listed(path / "scans", "*")]
        firsts = (next(iter(listed(depth.parent, depth.name)), None) for depth in anyone)
        # The summary describes only the last run, which may be the one that spoilt the root.
        found = Counter(config for file in firsts if file and (config := read_settings(file)))
        config = found.most_common(1)[0][0] if found else _summary_config(path)
        return cls(path, _world_command(path) if (path / "world.json").is_file() else "", config)

    def command(self, *scans: str, again: bool = False, origin: bool = True) -> str:
        """The command that makes pictures like those that are there.

        Args:
            scans: to make; all by default.
            again: files are there but damaged.
            origin: whether to keep the origin of the camera files.
        """
        if self.houses:
            # Otherwise the command would take a damaged file for a finished one.
            return ("remove the bad pictures, then " if again else "") + self.houses
        usual, config = PrepareConfig(), self.config
        words = [f"ghosts prepare --raw SCANS --out {self.path}"]
        words += [f"--scan {scan}" for scan in scans]
        words += [f"--faces {config.faces}"] if config.faces != usual.faces else []
        words += [f"--colour {config.colour}"] if config.colour != usual.colour else []
        words += [f"--origin {config.origin}"] if origin and config.origin != usual.origin else []
        words += [] if config.parallax else ["--no-parallax"]
        return " ".join([*words, "--again"] if again else words)


def _world_command(path: Path) -> str:
    """What a world of houses was made with; another seed would be refused."""
    try:
        made = str(read_object(path / "world.json").get("command", ""))
    except GhostsError:
        made = ""
    return (
        made.replace("DIR", str(path), 1) if made.startswith("ghosts world --out DIR") else f"ghosts world --out {path}"
    )


def _summary_config(path: Path) -> PrepareConfig:
    try:
        return PrepareConfig(**read_json(path / SUMMARY)["config"])
    except (GhostsError, KeyError, TypeError):
        return PrepareConfig()


def landmarks_command(path: Path) -> str:
    """The command that makes a root's landmarks."""
    if (path / "world.json").is_file():
        made = _world_command(path)
        return " ".join([made, *(word for word in ("--landmarks", "--no-images") if word not in made.split())])
    return f"ghosts landmarks --connectivity FOLDER --bbox FOLDER --regions FOLDER --out {path} (see docs/landmarks.md)"
