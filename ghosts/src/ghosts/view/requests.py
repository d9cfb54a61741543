"""What a browser may ask of the viewer, field by field."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

from ghosts.view.query import VISITOR

MOST_TEXT, MOST_STOPS = 1000, 40
Name = Annotated[str, Field(min_length=1, max_length=80)]


class Strict(BaseModel):
    """Unknown fields are refused, and so are NaN and infinity."""

    model_config = ConfigDict(extra="forbid", allow_inf_nan=False)


class AskEpisodes(BaseModel):
    """Some episodes of a split, in its address."""

    world: Name
    model: Name
    split: Name
    scan: Annotated[str, Field(max_length=80)] = ""
    find: Annotated[str, Field(max_length=200)] = ""
    offset: Annotated[int, Field(ge=0, le=10**6)] = 0
    limit: Annotated[int, Field(ge=1, le=200)] = 50
    sort: Literal["listed", "shortest", "longest", "best", "worst"] = "listed"
    ended: Literal["", "arrived", "missed"] = ""
    """Only those of the sample whose walk ended so."""


class AskEnds(BaseModel):
    """How walks of a split end, in its address."""

    world: Name
    model: Name
    split: Name
    scan: Annotated[str, Field(max_length=80)] = ""
    wait: bool = False
    """Until there is one to open."""


class Read(Strict):
    """What a model makes of an instruction."""

    world: Name
    model: Name
    text: Annotated[str, Field(min_length=1, max_length=MOST_TEXT)]


class Pick(Strict):
    """An episode of a split."""

    world: Name
    model: Name
    split: Name
    instr_id: Name
    fixed: bool = False
    """With the evaluation's fixed walk instead of the model's own."""


class Ask(Strict):
    """Any instruction, anywhere."""

    world: Name
    model: Name
    scan: Name
    text: Annotated[str, Field(min_length=1, max_length=MOST_TEXT)]
    heading_rad: Annotated[float, Field(ge=-100.0, le=100.0)]
    walk: Annotated[list[Name], Field(min_length=1, max_length=MOST_STOPS)]
    path: Annotated[list[Name], Field(max_length=MOST_STOPS)] = []
    instr_id: Annotated[str, Field(max_length=80)] = ""
    walked_by: Annotated[str, Field(max_length=80)] = VISITOR


class AskFrame(Ask):
    """One agent step of it."""

    step: Annotated[int, Field(ge=0, lt=MOST_STOPS)]


class AskCell(AskFrame):
    """One cell at one filter step of that."""

    filter_step: Annotated[int, Field(ge=1, le=64)]
    x_m: Annotated[float, Field(ge=-1e5, le=1e5)]
    y_m: Annotated[float, Field(ge=-1e5, le=1e5)]


class AskFilm(Ask):
    """A film of it, of two models side by side where a second one is named."""

    beside: Annotated[str, Field(max_length=80)] = ""
    kind: Annotated[str, Field(pattern="^(mp4|gif)$")] = "mp4"
    job: Annotated[str, Field(max_length=80)] = ""
    """A name under which to ask for its progress."""
