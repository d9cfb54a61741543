"""Write directions for a walk (`ghosts speak --data ROOT --scan SCAN --walk START --walk GOAL`) or for thousands.

`--paths N --out FILE` samples paths like R2R's in the training buildings and writes them with the speaker's directions,
in R2R's format, for `ghosts train goal --spoken FILE`. `--score SPLIT` compares its directions with people's.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from ghosts.cli._options import parse
from ghosts.cli._out import check_out_file
from ghosts.config import require
from ghosts.errors import ConfigError

if TYPE_CHECKING:
    from ghosts.data.dataset import Dataset
    from ghosts.data.examples import Example
    from ghosts.run.load import Run


@dataclass(frozen=True)
class Options:
    """Write directions for a walk, or for thousands of them to train on."""

    data: Path
    """Data root."""
    run: Path = Path("landmarks-speaker")
    """Folder of a run of `ghosts train speaker`, a checkpoint, or shipped weights."""
    scan: str = ""
    """Building of the walk."""
    walk: tuple[str, ...] = ()
    """A viewpoint of the walk; repeat from start to goal. Viewpoints that are not neighbours are joined by the shortest
    walk."""
    heading: float | None = None
    """Where the walker looks at the start, in degrees clockwise from north (+y); by default along the walk."""
    paths: int = 0
    """Write directions for this many paths of the training buildings instead."""
    out: Path | None = None
    """File for these paths (.json)."""
    score: str = ""
    """Describe the paths of this split instead, in the likeliest words, and say how close these are to people's."""
    temperature: float = 0.6
    """Temperature at which the words of --paths are sampled; 0 takes the likeliest."""
    seed: int = 0
    """Seed of paths and words."""
    device: str = "auto"
    """cpu, cuda or auto."""

    def __post_init__(self) -> None:
        require(self.paths >= 0, "--paths must not be negative", self.paths)
        require(self.temperature >= 0.0, "--temperature must not be negative", self.temperature)
        require(self.seed >= 0, "--seed must not be negative", self.seed)
        require(
            self.heading is None or math.isfinite(self.heading), "--heading must be a number of degrees", self.heading
        )
        if bool(self.paths) + bool(self.walk) + bool(self.score) != 1:
            raise ConfigError(
                "say what to describe: --scan SCAN --walk START --walk GOAL, --paths N --out FILE, or --score SPLIT"
            )
        if self.walk and not self.scan:
            raise ConfigError("the walk needs a building; name it with --scan")
        if self.paths and self.out is None:
            raise ConfigError("no file to write the paths to; name it with --out FILE.json")


def main(arguments: list[str]) -> None:
    """Run `ghosts speak`."""
    options = parse(Options, "speak", arguments, __doc__)
    if options.out is not None:
        check_out_file(options.out, "a file of told paths", (".json",))
    # Imported here: torch takes seconds, and `--help` should not wait for it.
    from ghosts.data.dataset import open_dataset
    from ghosts.run.load import load_run
    from ghosts.run.speak import describe, speaker_of
    from ghosts.world.dataroot import DataRoot

    run = load_run(options.run)
    speaker_of(run)  # says so before the data is read where it does not speak
    data = open_dataset(DataRoot(options.data), run.reading, also=(options.scan,) if options.walk else ())
    if options.walk:
        heading = None if options.heading is None else math.radians(options.heading)
        print(describe(run, data, options.scan, options.walk, heading))
        return
    if options.score:
        _score(options, run, data)
    else:
        _tell(options, run, data)


def _score(options: Options, run: Run, data: Dataset) -> None:
    from ghosts.devices import choose_device
    from ghosts.evaluate.speech import score_speech
    from ghosts.run.speak import tell_paths

    people: dict[str, list[Example]] = {}
    for example in data.examples(options.score):
        people.setdefault(example.instr_id.rsplit("_", 1)[0], []).append(example)
    said = tell_paths(run, data, [examples[0] for examples in people.values()], device=choose_device(options.device))
    scores = score_speech(said, [[example.text for example in examples] for examples in people.values()])
    told = f"{len(said)} paths of {options.score}"
    print(f"{told} beside people's words: BLEU {scores.bleu:.3f}, ROUGE-L {scores.rouge:.3f}, CIDEr {scores.cider:.3f}")


def _tell(options: Options, run: Run, data: Dataset) -> None:
    from rich.progress import track

    from ghosts.devices import choose_device
    from ghosts.files import write_json
    from ghosts.run.speak import as_episodes, paths_like_r2r, tell_paths

    assert options.out is not None
    examples = paths_like_r2r(data, options.paths, options.seed)
    texts: list[str] = []
    for at in track(range(0, len(examples), 1024), "telling"):
        texts += tell_paths(
            run,
            data,
            examples[at : at + 1024],
            temperature=options.temperature,
            seed=options.seed + at,
            device=choose_device(options.device),
        )
    records = as_episodes(data, examples, texts)
    write_json(options.out, records)
    print(f"{options.out}: {len(records)} paths with directions in {len({item['scan'] for item in records})} buildings")
