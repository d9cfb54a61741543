"""Draw what a model believes: `ghosts belief --data ROOT --run RUN --episode ID --out DIR` writes figures and data.

It draws the beliefs in sequence, the attention and the inside of the filter as PNG, PDF (for papers) or SVG, and writes
the whole episode as JSON, with `--rerun` also for Rerun.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from ghosts.cli._runs import Walk, check_episodes
from ghosts_sim.cli._options import parse
from ghosts_sim.cli._out import check_out_folder
from ghosts_sim.errors import ConfigError


@dataclass(frozen=True)
class Options:
    data: Path
    """Data root."""
    run: Path
    """Folder of a run, a checkpoint, or shipped weights."""
    out: Path
    """Folder to write."""
    episode: str = ""
    """Episode, such as 1000_0 (`ghosts episodes` lists them); by default the first of the split."""
    split: str = ""
    """Split of the episode; by default one of unseen buildings."""
    walk: Walk = "agent"
    """Walk to show: the model's own (agent), or the one on which `ghosts eval goal` scores all models (fixed)."""
    step: int = 0
    """Agent step that the figures show, from 1, as the viewer counts; by default the last."""
    kind: tuple[Literal["png", "pdf", "svg"], ...] = ()
    """Format of the figures, png by default; repeat for more."""
    photo: bool = False
    """Also draw the belief on a map painted from the photos (needs images)."""
    rerun: bool = False
    """Also write episode.rrd for Rerun (needs ghosts[rerun])."""


def main(arguments: list[str]) -> None:
    """Run `ghosts belief`."""
    options = parse(Options, "belief", arguments, __doc__)
    check_out_folder(options.out)
    check_episodes(options.data, options.split, [options.episode] if options.episode else [])
    # Imported here: torch takes seconds, and wrong options should not wait for it.
    from ghosts.view.figures import episode_figures
    from ghosts.view.open import open_episode
    from ghosts.view.record import crop
    from ghosts.view.record_json import to_json
    from ghosts.view.rerun_log import require_rerun, write_rerun
    from ghosts_houses.draw.canvas import save_figure
    from ghosts_sim.files import write_json

    if options.rerun:
        require_rerun()
    fixed = options.walk == "fixed"
    opened = open_episode(options.data, options.run, options.split, options.episode, fixed=fixed)
    record = opened.record
    if not 0 <= options.step <= len(record.frames):
        raise ConfigError(f"--step must lie in 1..{len(record.frames)}, got {options.step}")
    step = options.step - 1
    painting, written = opened.painting(step) if options.photo else None, []
    for name, figure in episode_figures(record, opened.scene, step, painting).items():
        for kind in options.kind or ("png",):
            written.append(options.out / f"{name}.{kind}")
            save_figure(figure, written[-1])
    written.append(options.out / "episode.json")
    write_json(written[-1], to_json(replace(crop(record), scene=opened.scene)))
    if options.rerun:
        written.append(options.out / "episode.rrd")
        write_rerun(written[-1], record, opened.scene)
    print("\n".join([f"episode {record.instr_id}: {record.text}", *record.notes]))
    print("\n".join(str(path) for path in written))
