"""What defines a run besides the model's own settings: what it is shown, how it is trained, how it acts."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated, Any, ClassVar, Literal

from ghosts.config.model import ModelParts, PlannerConfig
from ghosts.config.values import (
    NOT_NEGATIVE,
    POSITIVE,
    Bound,
    Config,
    Count,
    Fraction,
    Positive,
    Weight,
    at_least,
    to_dict,
    within,
)
from ghosts_sim.errors import ConfigError
from ghosts_sim.senses import CAPTIONS, DETECTIONS, DOORWAYS, FLOOR, OBJECTS, ROOMS, WAYS, ordered
from ghosts_sim.values import require

Purpose = Literal["goal", "vln", "speaker"]
"""What a model does: it predicts goals, acts, or puts paths into words. The words of `ghosts train`."""
Source = Literal["landmarks", "images", "any"]
Precision = Literal["auto", "32-true", "bf16-mixed"]
"""Precision of the networks, by Lightning's names; auto is bf16-mixed on a GPU and 32-true on a CPU."""
MAX_SEED = 2**32 - 1
"""Torch takes 64 bits; the seed of an iteration (`train.trainer`) needs the other bits."""
Sixteens = Annotated[int, Bound("must be a multiple of 16", lambda value: value >= 16 and value % 16 == 0)]


@dataclass(frozen=True)
class PictureConfig(Config, part="pictures"):
    """How the words of photographs become labels on the map (`mapping.pictured`)."""

    words: Count = 300
    """Caption words, and as many classes of a detector at most, that have an embedding of their own; others are read by
    their vector alone (with `landmarks.vectors`)."""
    ahead_m: tuple[float, ...] = (1.0, 2.0, 3.0)
    """A caption's words stand this far along the middle of its view."""
    ahead: Fraction = 0.6
    """Weight of a word there."""
    here: Fraction = 0.25
    """Weight of a word at the camera, for each view that says it."""
    confidence: Fraction = 0.5
    """Boxes of which a detector is less sure are left out."""
    camera_m: Positive = 1.5
    """Height of the camera above the floor, which tells how far away a box stands."""
    near_m: Positive = 0.6
    """No box stands nearer than this."""
    far_m: Positive = 6.0
    """A box farther away than this does not reach the floor."""

    def __post_init__(self) -> None:
        super().__post_init__()
        require(all(0.0 < ahead < 100.0 for ahead in self.ahead_m), "pictures.ahead_m must be positive", self.ahead_m)


@dataclass(frozen=True)
class LandmarkConfig(Config, part="landmarks"):
    """Which landmarks an agent is shown: the senses of a model, and how they are read."""

    objects: bool = True
    """Show labelled objects."""
    unplaced: bool = True
    """Also show objects of unknown direction (method `near`), spread widely."""
    rooms: bool = True
    """Show the kind of room around the camera."""
    floor: bool = True
    """Show floor around the camera and along lines to its neighbours."""
    ways: bool = True
    """Show the navigation graph's neighbours of the viewpoint, and stairs there (only with `floor`)."""
    sight_m: Annotated[float, at_least(0)] = 0.0
    """Also show objects and rooms of viewpoints in plain sight up to this far; with 0 only those of the viewpoint
    itself, within 2 m."""
    stairs_m: Positive = 0.5
    """A neighbour that lies more than this higher or lower is up or down stairs."""
    patch_m: Annotated[float, at_least(0), Bound("must be at most 10", lambda value: value <= 10.0)] = 0.5
    """Floor and room reach this far around the camera, along each axis."""
    step_m: Annotated[Positive, within(0.01, 10)] = 0.25
    """Distance between the points of a line or patch. Keep it at most a map cell, so that no cell is missed."""
    exact_m: Annotated[float, at_least(0)] = 0.1
    """An object whose place is known better than this is shown as one point."""
    vectors: bool = False
    """Read labels by the vectors of their words, also labels that training never met."""
    lines: bool = False
    """Show the floor on the way to every viewpoint in sight, not only to neighbours."""
    doors: bool = False
    """Show a doorway between neighbouring viewpoints of different rooms."""
    captions: bool = False
    """Show the words of captions of photographs, where the data root has them."""
    detections: bool = False
    """Show what a detector found in photographs, where the data root has it."""
    pictures: PictureConfig = field(default_factory=PictureConfig)

    def __post_init__(self) -> None:
        super().__post_init__()
        if not (self.objects or self.rooms or self.floor or self.captions or self.detections):
            raise ConfigError("landmarks: objects, rooms and floor are all off: nothing to see; leave one of them on")

    @property
    def senses(self) -> tuple[str, ...]:
        """Names of the senses that are shown (`ghosts_sim.senses`)."""
        shown = {
            OBJECTS: self.objects,
            ROOMS: self.rooms,
            DOORWAYS: self.doors,
            WAYS: self.floor and self.ways,
            FLOOR: self.floor,
            CAPTIONS: self.captions,
            DETECTIONS: self.detections,
        }
        return ordered([name for name, on in shown.items() if on])


@dataclass(frozen=True)
class OptimiserConfig(Config, part="train"):
    """Settings of every training: how long it takes, in which steps, and how often it is logged, scored and saved."""

    iterations: Annotated[int, NOT_NEGATIVE] = 2500
    batch: Count = 32
    """Episodes per iteration, over all processes (for a backbone: views)."""
    learning_rate: Weight = 1e-3
    schedule: Literal["one-cycle", "constant"] = "one-cycle"
    """one-cycle is a linear warm-up over 5 % of the iterations, then a cosine to zero."""
    optimiser: Literal["adamw", "adam"] = "adamw"
    """Adam (the paper's) adds weight decay to the gradient, AdamW to the weights."""
    weight_decay: Weight = 1e-2
    gradient_norm: Weight = 1.0
    """Gradients are scaled down to this norm; 0 leaves them as they are."""
    ema: Fraction = 0.0
    """Decay of the running average of the weights, which is then evaluated; 0 evaluates the weights themselves."""
    precision: Precision = "32-true"
    """Precision of the networks: float32, bfloat16 (the filter stays in float32), or auto (bfloat16 on a GPU, float32
    on a CPU)."""
    seed: Annotated[int, within(0, MAX_SEED)] = 0
    log_every: Count = 25
    """In iterations."""
    evaluate_every: Count = 500
    """In iterations."""
    checkpoint_every: Count = 250
    """In iterations."""


@dataclass(frozen=True)
class TrainConfig(OptimiserConfig):
    """How a model of instructions is trained."""

    capture: bool = True
    """On a single GPU, run language and filter as CUDA graphs. The numbers stay the same."""
    agent_steps: Count = 6
    """Viewpoints from which an agent looks in an episode."""
    mirrored: Fraction = 0.5
    """Share of episodes shown mirrored, with left and right swapped in the words."""
    quarters: bool = False
    """Rotate episodes by random quarter turns."""
    variants: Count = 1
    """Copies of every building, each rotated by a random angle (landmarks only); 1 is the building alone."""
    word_dropout: Fraction = 0.05
    """Share of words replaced by the unknown word."""
    meaning_dropout: Fraction = 0.0
    """Share of words read by their vector alone, like words that training never met (with `language.vectors`)."""
    misread: Fraction = 0.0
    """Practice for other ways to say something: an episode draws a share of its words, up to this one. They are read as
    the model would read synonyms that training never met (with `language.vectors`)."""
    label_dropout: Fraction = 0.0
    """Share of room and object labels hidden in an episode's building, so that it looks new (Tan et al. 2019)."""
    hide: Fraction = 0.0
    """Share of episodes in which a sense is hidden, each sense drawn by itself (`data.hiding`)."""
    narrow: Fraction = 0.0
    """Share of episodes with a field of view of 180, 90 or 60 degrees in the direction of travel."""
    hold_out: Annotated[
        int | None, Bound("must be 0, or 2 at least", lambda value: value in (None, 0) or value >= 2)
    ] = None
    """Hold out every n-th training building as `dev_unseen`; 0 holds out none. By default every eighth, or every
    sixteenth where the data root has a `val_unseen`."""
    buildings: Annotated[int, NOT_NEGATIVE] = 0
    """Train in only this many of the training buildings, evenly spaced; 0 for all."""
    visit: Count = 64
    """Instructions taken from a building before another takes its place, where buildings are streamed."""
    spoken: Fraction = 0.0
    """Share of episodes whose instruction comes from a speaker (`--spoken FILE`; Fried et al. 2018)."""
    spoken_until: Fraction = 0.7
    """A speaker's instructions are used up to this share of the iterations, then only people's."""
    supervised: int = 0
    """Agent steps per episode whose maps enter the loss, drawn anew in every iteration; 0 for all of them."""

    def __post_init__(self) -> None:
        super().__post_init__()
        require(
            0 <= self.supervised <= self.agent_steps,
            f"train.supervised must lie in 0..{self.agent_steps} (train.agent_steps)",
            self.supervised,
        )


@dataclass(frozen=True)
class DataConfig(Config, part="data"):
    """What is shown of a data root."""

    inline: ClassVar[bool] = True

    observation: Source = "landmarks"
    """What the map is made from: labelled landmarks, a frozen backbone's tiles of images, or what the data root has."""
    landmarks: LandmarkConfig = field(default_factory=LandmarkConfig)
    """What is shown of a world of landmarks. It is not used with images."""


@dataclass(frozen=True)
class Experiment:
    """Everything that defines a run. Each method has its own kinds of experiments (`ghosts.methods`)."""

    method: ClassVar[str]
    """Name of the method: what finds it again in a checkpoint."""
    purpose: ClassVar[Purpose]
    """What the trained model does."""
    unused: ClassVar[tuple[str, ...]] = ()
    """Settings that change nothing here, such as "train.agent_steps"; the command line does not offer them."""

    name: str
    """Name in tables."""
    model: ModelParts = field(default_factory=ModelParts)
    train: TrainConfig = field(default_factory=TrainConfig)
    data: DataConfig = field(default_factory=DataConfig)

    @property
    def acts(self) -> bool:
        """Whether the model is trained to act."""
        return self.purpose == "vln"

    @property
    def on_true_beliefs(self) -> bool:
        """Whether it acts on the demonstrator's true trajectory: an upper bound."""
        return False

    @property
    def planner(self) -> PlannerConfig:
        """How the planner chooses, where it acts instead of a learned policy."""
        return PlannerConfig()


@dataclass(frozen=True)
class WalkTrainConfig(TrainConfig):
    """How an agent learns on its own walks."""

    own_actions: Fraction = 0.5
    """Share of training moves that the agent chooses itself. The others are the target's. Paper: 0.5. With 1 it is
    DAgger (for seq2seq: student forcing), with 0 teacher forcing."""


@dataclass(frozen=True)
class BackboneConfig(OptimiserConfig):
    """How the houses' image backbone is trained (`ghosts backbone`)."""

    iterations: Count = 6000
    batch: Count = 64
    precision: Precision = "auto"
    learning_rate: Annotated[Weight, POSITIVE] = 2e-3
    log_every: Count = 50
    evaluate_every: Count = 1000
    checkpoint_every: Count = 500
    channels: Count = 64
    """Feature channels."""
    balance: Weight = 0.5
    """The weight of a label is its share of the pixels to the power of minus this, so small things count more."""
    width: Sixteens = 320
    """Width of the views in pixels, a multiple of 16."""
    height: Sixteens = 256
    """Height of the views, a multiple of 16. The default size is that of the views for tiles, because group norm
    averages over a whole view."""
    panoramas: Count = 4000
    """Keep at most this many panoramas, evenly spaced, on the device (2 MB each at 256 px faces)."""
    held_out_views: Count = 512
    """Views of held-out houses from which the scores are computed."""


def experiment_values(experiment: Experiment) -> dict[str, Any]:
    """An experiment as plain JSON values, with its method and purpose."""
    return {"method": experiment.method, "purpose": experiment.purpose, **to_dict(experiment)}
