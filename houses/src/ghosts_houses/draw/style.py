"""One set of colours for figures, films, reports and the viewer: told apart with any colour vision, and in print.

Categories are Okabe and Ito's palette. The belief runs through one hue from nothing to dark, so that it also reads in
grey; transparency follows the mass, so that the plan stays visible where the belief is thin.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from jaxtyping import Float

from ghosts_sim.types import SUCCESS_M

AGENT, DEMONSTRATOR, GOAL, PREDICTED, START = "#0072B2", "#E69F00", "#CC79A7", "#000000", "#009E73"
GUIDED = "#6b6b6b"
"""Walks that the model did not choose itself: the evaluation's fixed walk, a visitor's, another model's."""
EDGE, NODE, CANDIDATE, SIGHT = "#9aa7b0", "#5c6b75", "#56B4E9", "#6a3d8f"
INK, PAPER, UNSEEN, WALL = "#1f2428", "#ffffff", "#8d979e", "#3b3b3b"
BELIEF = ((1.0, 0.96, 0.90), (0.99, 0.68, 0.42), (0.90, 0.33, 0.05), (0.50, 0.06, 0.02))
"""Stops of the belief's colours, evenly spaced: pale to dark vermilion (its lightness falls all the way)."""
LIKELIHOOD = ((0.97, 0.97, 1.0), (0.62, 0.79, 0.88), (0.19, 0.51, 0.74), (0.03, 0.19, 0.42))
"""Stops of a likelihood's colours: pale to dark blue."""
MODELS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9")
"""Of models beside each other in a plot."""
SURE_M = SUCCESS_M
"""Radius of the circle around the best guess: inside it lies what is called confidence."""
LEGEND = {
    "agent": ("walk", AGENT, "the agent and its way so far"),
    "guided": ("walk", GUIDED, "a way that the agent did not choose"),
    "demonstrator": ("dashes", DEMONSTRATOR, "the way that the words describe"),
    "start": ("square", START, "start"),
    "goal": ("star", GOAL, "where the words really lead"),
    "predicted": ("cross", PREDICTED, "the model's best guess, and 3 m around it"),
    "belief": ("heat", BELIEF, "likely end: the darker, the likelier"),
    "likelihood": ("heat", LIKELIHOOD, "fits what should be seen here"),
    "heading": ("wedge", INK, "heading: the longer, the likelier"),
    "candidate": ("disc", CANDIDATE, "place to stand that the agent knows"),
    "next": ("dots", AGENT, "next move"),
    "sight": ("mark", SIGHT, "seen from here"),
    "unseen": ("veil", UNSEEN, "not seen yet"),
}
"""What every sign means: shape, colour and words, for the legends of viewer, report, films and figures."""
ROOM_TINTS = {
    "#f4f1ea": ("hallway", "stair hall"),
    "#efe8d8": ("stairs",),
    "#efe9dc": ("entryway",),
    "#dcebf2": ("bathroom", "toilet", "laundry room"),
    "#f8efd2": ("kitchen",),
    "#f6e7d3": ("dining room",),
    "#e9e4f1": ("bedroom",),
    "#ebe8e4": ("closet",),
    "#e4efe1": ("living room", "family room", "lounge"),
    "#e6eadb": ("library",),
    "#e2e8ec": ("office",),
    "#e8efe0": ("porch", "outdoor", "balcony"),
}
OTHER_ROOM = "#eeeeee"


def model_colour(number: int) -> str:
    """Colour of the n-th model of a plot."""
    return MODELS[number % len(MODELS)]


def room_tint(kind: str) -> str:
    """Colour of a room's floor; long names ("entryway foyer lobby") by their first words."""
    return next((colour for colour, names in ROOM_TINTS.items() if kind.startswith(names)), OTHER_ROOM)


def for_scripts() -> dict[str, Any]:
    """The colours by name, for scripts in the browser."""
    return {name: value for name, value in globals().items() if name.isupper()}


def rgb(colour: str) -> tuple[int, int, int]:
    """Red, green and blue of a colour such as "#0072B2", in 0..255."""
    red, green, blue = bytes.fromhex(colour[1:])
    return red, green, blue


def heat_rgba(
    values: Float[np.ndarray, "y x"], top: float, stops: tuple[tuple[float, float, float], ...] = BELIEF
) -> Float[np.ndarray, "y x 4"]:
    """Colours and opacity of a heat map.

    Args:
        values: not negative.
        top: shown darkest; the square root of the share of it is what is drawn, so that thin mass is seen.
        stops: colours.
    """
    share = np.sqrt(np.clip(values / top, 0.0, 1.0)) if top > 0.0 else np.zeros_like(values)
    at = share * (len(stops) - 1)
    low = np.minimum(at.astype(int), len(stops) - 2)
    part = (at - low)[..., None]
    table = np.array(stops)
    colour = table[low] * (1.0 - part) + table[low + 1] * part
    opacity = np.clip(1.6 * share, 0.0, 0.88)
    return np.concatenate([colour, opacity[..., None]], -1)
