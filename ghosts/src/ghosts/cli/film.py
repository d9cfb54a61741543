"""Film an episode: `ghosts film --data ROOT --run RUN --episode ID --out episode.mp4` (or .gif)."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from pathlib import Path

from ghosts.cli._continuous import film_drive
from ghosts.cli._runs import Walk, check_episodes
from ghosts_sim.cli._options import parse
from ghosts_sim.cli._out import check_out_file
from ghosts_sim.cli._progress import shown_progress
from ghosts_sim.errors import ConfigError


@dataclass(frozen=True)
class Options:
    data: Path
    """Data root."""
    out: Path
    """Film to write: .mp4 or .gif."""
    run: tuple[Path, ...] = ()
    """Folder of a run, a checkpoint, or shipped weights; repeat to show models side by side."""
    episode: str = ""
    """Episode, such as 1000_0 (`ghosts episodes` lists them); by default the first of the split."""
    split: str = ""
    """Split of the episode; by default one of unseen buildings."""
    walk: Walk = "agent"
    """Walk to show: the model's own (agent), or the one on which `ghosts eval goal` scores all models (fixed)."""
    drive: bool = False
    """Let one run drive without a graph, in a procedural house, and show camera and map side by side."""
    photo: bool = False
    """Draw on a map painted from the photos instead of the plan (needs images)."""


def main(arguments: list[str]) -> None:
    """Run `ghosts film`."""
    options = parse(Options, "film", arguments, __doc__)
    check_out_file(options.out, "a film", (".mp4", ".gif"))
    check_episodes(options.data, options.split, [options.episode] if options.episode else [])
    if options.drive and (options.photo or options.walk != "agent" or len(options.run) > 1):
        raise ConfigError("--drive films one run that drives by itself; leave out --photo, --walk and further --run")
    # Imported here: torch takes seconds, and wrong options should not wait for it.
    from ghosts.view.film import check_film, film_pictures, write_pictures
    from ghosts.view.open import open_world

    check_film(options.out)
    if options.drive:
        return film_drive(options.data, options.run, options.split, options.episode, options.out)
    library, world, inspectors, split = open_world(options.data, options.run, options.split, options.episode)
    query = library.query(inspectors[0], split, options.episode, fixed=options.walk == "fixed")
    with shown_progress("steps of the walk") as report:
        records = [inspector.record(query, report) for inspector in inspectors]
    scene = library.scene(world, query.scan)
    painting = library.painting_at(world, query.scan, records[0].walk[-1]) if options.photo else None
    with shown_progress("drawing steps") as report:
        ahead = partial(library.ahead, records[0], world)
        count = write_pictures(options.out, film_pictures(records, scene, painting, ahead, report))
    print("".join(f"{line}\n" for line in library.twins()), end="")
    print(f"{options.out}: {count} pictures of episode {query.instr_id}: {query.text}")
    for inspector, record in zip(inspectors, records):
        print("".join(f"{inspector.name}: {note}\n" for note in record.notes), end="")
