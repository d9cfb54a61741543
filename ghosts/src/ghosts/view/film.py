"""A film of an episode, as the paper's video shows it: words, map and belief, step by step (MP4 or GIF)."""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import textwrap
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

import cv2
import numpy as np
from jaxtyping import UInt8

from ghosts.view.canvas import Box, MapLayers, draw_legend, draw_map, signs_of, view_box, walk_name
from ghosts.view.paint import Painting
from ghosts.view.record import EpisodeRecord
from ghosts_houses.draw import style
from ghosts_houses.draw.canvas import new_figure
from ghosts_sim.errors import DataError, MissingExtraError
from ghosts_sim.files import atomic_path
from ghosts_sim.types import SUCCESS_M

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Ahead = Callable[[int], UInt8[np.ndarray, "y x 3"] | None]
"""Agent step to what the camera sees there."""
FRAMES_A_SECOND = 4
_HOLD = 3
"""The last filter step, which is the prediction, is shown this many times as long."""
SIDE_IN = 4.9
"""Width of what the camera sees and of the legend, beside the map."""
_TOP_IN = 0.32
"""Above the first line of words, where the bars of its upper edge are."""
_LETTER_IN, _LINE_IN = 0.0814, 0.3
"""Width of a letter of the instruction, and height of its lines."""


def write_pictures(path: Path, pictures: Iterable[tuple[np.ndarray, int]], per_second: int = FRAMES_A_SECOND) -> int:
    """Write pictures (`film_pictures`, `drive_film.drive_pictures`) as a film, whole or not at all.

    Args:
        path: ends in .mp4 or .gif.
        pictures: each with the frames for which it is shown.
        per_second: frames.

    Returns:
        The number of frames.

    Raises:
        DataError: another suffix.
        MissingExtraError: matplotlib, imageio-ffmpeg or its program is not installed.
    """
    check_film(path)
    with atomic_path(path) as temporary:
        return (_write_mp4 if path.suffix.lower() == ".mp4" else _write_gif)(temporary, pictures, per_second)


def check_film(path: Path) -> None:
    """Refuse, before anything is drawn, a film that could not be written.

    Raises:
        DataError: a suffix other than .mp4 and .gif.
        MissingExtraError: an MP4 without imageio-ffmpeg, or without the program that it brings along.
    """
    kind = path.suffix.lower()
    if kind not in (".mp4", ".gif"):
        raise DataError("a film is written as .mp4 or .gif", file=path, hint="end the name in .mp4")
    if kind == ".gif":
        return
    try:
        import imageio_ffmpeg

        imageio_ffmpeg.get_ffmpeg_exe()
    except ImportError:
        raise MissingExtraError("imageio-ffmpeg", "viz", "writing an MP4") from None
    except RuntimeError:  # a package built without the program, and none on the PATH
        raise MissingExtraError(
            "writing an MP4 needs the program ffmpeg, which is not installed; install it, or end --out in .gif"
        ) from None


def film_pictures(
    records: Sequence[EpisodeRecord],
    scene: dict[str, Any],
    painting: Painting | None = None,
    ahead: Ahead = lambda step: None,
    report: Callable[[int, int], None] = lambda done, total: None,
) -> Iterator[tuple[UInt8[np.ndarray, "h w 3"], int]]:
    """Pictures of all filter steps at every agent step, and for how many frames each is shown.

    Args:
        records: the episode, of one model or of several side by side, on the same walk.
        scene: its building.
        painting: drawn instead of the plan.
        ahead: what the camera sees at a step, shown beside the map; None without images.
        report: called with the agent steps drawn by now, and with all of them.
    """
    corners = np.array([view_box(record, scene) for record in records])
    low, high = corners.min(0), corners.max(0)
    box = (float(low[0]), float(high[1]), float(low[2]), float(high[3]))
    steps = max(record.filter_steps for record in records)
    for step in range(len(records[0].frames)):
        # What the camera sees is the same for all models: once, at the right.
        views = [None] * (len(records) - 1) + [ahead(step)]
        for t in range(steps + 1):
            # Between agent steps the filter is run again; its early steps change little, so they are shown once.
            if step and 0 < t < steps and t % 2:
                continue
            parts = []
            for item, view in zip(records, views):
                last, at = t >= item.filter_steps, min(t, item.filter_steps)
                layers = MapLayers(painting=painting, names=painting is None, arrows=False, choices=last, box=box)
                parts.append(_film_picture(item, scene, (step, at), layers, view, named=len(records) > 1))
            yield np.concatenate(parts, 1), _HOLD if t == steps else 1
            report(step + (t == steps), len(records[0].frames))


def _film_picture(
    record: EpisodeRecord,
    scene: dict[str, Any],
    when: tuple[int, int],
    layers: MapLayers,
    view: UInt8[np.ndarray, "y x 3"] | None,
    *,
    named: bool,
) -> UInt8[np.ndarray, "h w 3"]:
    """One picture: instruction with the words of this filter step, map with belief, what the numbers say."""
    (step, t), box = when, layers.box or view_box(record, scene)
    ratio = float(np.clip((box[3] - box[2]) / (box[1] - box[0]), 0.5, 1.0))
    width, high = 7.2 + SIDE_IN, 7.0 * ratio
    lines = _lines(record.words, 7.2 if named else width)
    height = _TOP_IN + _LINE_IN * len(lines) + high + 0.78
    figure = new_figure(width, height, "drawing a film")
    figure.set_dpi(100)
    axes = figure.add_axes((0.1 / width, 0.74 / height, 7.0 / width, high / height))
    tall = 0.0 if view is None else (SIDE_IN - 0.1) * view.shape[0] / view.shape[1]
    if view is not None:
        place = (7.2 / width, (0.74 + high - tall) / height, (SIDE_IN - 0.1) / width, tall / height)
        figure.add_axes(place, xticks=[], yticks=[]).imshow(view)
    beside = figure.add_axes((7.2 / width, 0.74 / height, 0.3, (high - tall - 0.1) / height))
    draw_legend(beside, signs_of(record, replace(layers, choices=True)))
    draw_map(axes, scene, record, step, t, replace(layers, box=fitted(box, 7.0 / high)))
    _write_words(figure, record, t, lines, (width, height))
    frame = record.frames[step]
    error = f", {frame.error_m:.1f} m from the goal" if frame.error_m is not None else ""
    note = f"{record.model}    " if named else ""
    note += f"agent step {step + 1} of {len(record.frames)}    filter step {t} of {record.filter_steps}    "
    note += f"{100 * frame.confidence:.0f} % within 3 m of ✕{error}"
    if not record.own_walk:
        note += f"\n{walk_name(record)}"
    elif t == record.filter_steps and frame.left_m is not None:
        ended = "arrived" if frame.left_m < SUCCESS_M else "missed"
        note += f"\n{ended}: the agent stops {frame.left_m:.1f} m from the goal"
    figure.text(0.5, 0.6 / height, note, ha="center", va="top", fontsize=9, color=style.INK)
    return even_picture(figure)


def fitted(box: Box, ratio: float) -> Box:
    """The smallest box around one whose width is `ratio` times its height."""
    left, right, bottom, top = box
    wide, high = max(right - left, ratio * (top - bottom)), max(top - bottom, (right - left) / ratio)
    x, y = (left + right) / 2, (bottom + top) / 2
    return x - wide / 2, x + wide / 2, y - high / 2, y + high / 2


def even_picture(figure: Figure) -> UInt8[np.ndarray, "h w 3"]:
    """A figure as pixels; video codecs want even sizes."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    canvas = FigureCanvasAgg(figure)
    canvas.draw()
    picture = np.asarray(canvas.buffer_rgba())[..., :3]
    return np.ascontiguousarray(picture[: picture.shape[0] // 2 * 2, : picture.shape[1] // 2 * 2])


def _lines(words: tuple[str, ...], width_in: float) -> list[list[int]]:
    """Word numbers per line."""
    lines, number, most = [], 0, int(width_in / _LETTER_IN) - 4
    for text in textwrap.wrap(" ".join(words), most, break_long_words=False, break_on_hyphens=False):
        count = len(text.split(" "))
        lines.append(list(range(number, number + count)))
        number += count
    return lines


def _write_words(figure: Any, record: EpisodeRecord, t: int, lines: list[list[int]], size: tuple[float, float]) -> None:
    """The instruction in a fixed-width face: a bar above a word for what should be seen, below for what to do."""
    action = record.action_attention[t - 1] if t else np.zeros(len(record.words))
    seen = record.observation_attention[t - 1] if t else np.zeros(len(record.words))
    step, height = _LETTER_IN / size[0], size[1]
    for line, numbers in enumerate(lines):
        length = sum(len(record.words[k]) + 1 for k in numbers) - 1
        x, y = 0.5 - length * step / 2, 1 - (_TOP_IN - 0.03 + _LINE_IN * line) / height
        for k in numbers:
            wide = len(record.words[k]) * step
            for share, stops, low in ((action[k], style.BELIEF, -0.125), (seen[k], style.LIKELIHOOD, 0.085)):
                if share > 0.02:
                    colour = style.heat_rgba(np.array([[share]]), 0.7, stops)[0, 0, :3]
                    figure.add_artist(_patch((x, y + low / height), wide, 0.045 / height, colour))
            figure.text(x, y, record.words[k], family="monospace", fontsize=9.6, va="center", color=style.INK)
            x += wide + step


def _patch(corner: tuple[float, float], width: float, height: float, colour: Any) -> Any:
    from matplotlib.patches import Rectangle

    return Rectangle(corner, width, height, facecolor=colour, lw=0, zorder=0)


def _write_mp4(path: Path, pictures: Iterable[tuple[np.ndarray, int]], per_second: int) -> int:
    """Picture by picture: those of 40 stops together take a gigabyte."""
    import imageio_ffmpeg

    coming = iter(pictures)
    first, count = next(coming), 0
    height, width = first[0].shape[:2]
    raw = ["-f", "rawvideo", "-pix_fmt", "rgb24", "-s", f"{width}x{height}", "-r", str(per_second), "-i", "-"]
    # Its warnings mean nothing to those who asked for a film.
    coded = ["-v", "fatal", "-vcodec", "libx264", "-pix_fmt", "yuv420p", "-crf", "10", "-movflags", "+faststart"]
    command = [imageio_ffmpeg.get_ffmpeg_exe(), "-y", *raw, *coded, str(path)]
    # imageio-ffmpeg's own writer never reads the status, and so calls a film written that a full disk cut off.
    # A session of its own: Ctrl-C comes to this process alone, which then ends the other.
    with subprocess.Popen(command, stdin=subprocess.PIPE, start_new_session=True) as process:
        assert process.stdin is not None
        try:
            with suppress(BrokenPipeError), process.stdin:  # it may have ended; its status says why
                for picture, hold in chain([first], coming):
                    count += hold
                    for _ in range(hold):
                        process.stdin.write(np.ascontiguousarray(picture).data)
        except BaseException:
            process.kill()
            raise
    if process.returncode:
        # It ends with the system's error number, negative, in a byte; or by the signal for a file that may not grow.
        number = errno.EFBIG if process.returncode == -signal.SIGXFSZ else 256 - process.returncode
        if number in errno.errorcode:
            raise OSError(number, os.strerror(number))
        raise DataError(f"ffmpeg failed at the film (status {process.returncode})", hint="end --out in .gif")
    return count


def _write_gif(path: Path, pictures: Iterable[tuple[np.ndarray, int]], per_second: int) -> int:
    """Through Pillow, which matplotlib brings along; half size and one table of colours keep it small."""
    from PIL import Image

    small, holds = [], []
    for picture, hold in pictures:
        small.append(cv2.resize(picture, None, fx=0.62, fy=0.62, interpolation=cv2.INTER_AREA))
        holds.append(hold)
    table = _gif_colours(small)
    frames = [Image.fromarray(picture).quantize(palette=table, dither=Image.Dither.NONE) for picture in small]
    wait = [round(1000 / per_second * hold) for hold in holds]
    frames[0].save(path, save_all=True, append_images=frames[1:], duration=wait, loop=0, optimize=True)
    return sum(holds)


def _gif_colours(pictures: list[np.ndarray]) -> Any:
    """A table for all pictures: their own main colours, and those of signs, which cover too little to be among them."""
    from PIL import Image

    signs = (style.AGENT, style.DEMONSTRATOR, style.GOAL, style.PREDICTED, style.START, style.CANDIDATE, style.PAPER)
    fixed = [part for colour in signs for part in style.rgb(colour)]
    few = Image.fromarray(np.concatenate([pictures[0], pictures[len(pictures) // 2], pictures[-1]], 0))
    own = few.quantize(256 - len(signs)).getpalette() or []
    table = Image.new("P", (1, 1))
    table.putpalette((fixed + own)[: 3 * 256])
    return table
