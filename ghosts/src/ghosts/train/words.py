"""Training the encoder alone: it guesses hidden words of instructions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from lightning_fabric import Fabric
from torch import Tensor

from ghosts.config import WordsExperiment
from ghosts.data.dataset import Dataset
from ghosts.data.drops import Drops, draw_drops
from ghosts.data.examples import SPOKEN, Example, Selection
from ghosts.data.symmetry import Symmetry
from ghosts.devices import to_device
from ghosts.train.task import EpisodeTask, Share
from ghosts.words.hidden import HiddenWords, choose_hidden
from ghosts.words.tokens import MAX_TOKENS

SPOKEN_SHARE = 0.5
"""Share of instructions that come from a speaker, if there are any and `train.spoken` does not set the share."""


@dataclass(frozen=True)
class Gaps:
    """Instructions with gaps."""

    tokens: Int[Tensor, "b l"]
    """Word ids; hidden words are read as unknown."""
    lengths: Int[Tensor, " b"]
    hidden: Int[Tensor, "b l"]
    """Ids of the hidden words; 0 elsewhere."""


class WordsTask(EpisodeTask[Gaps, Gaps]):
    """Hidden words: cross entropy of each, given the words around it."""

    model: HiddenWords
    experiment: WordsExperiment

    def __init__(self, experiment: WordsExperiment, data: Dataset, selection: Selection | None = None) -> None:
        if SPOKEN in data.splits and not experiment.train.spoken:
            settings = replace(experiment.train, spoken=SPOKEN_SHARE, spoken_until=1.0)
            experiment = replace(experiment, train=settings)
        super().__init__(experiment, data, selection)

    def draw(self, iteration: int, share: Share) -> Gaps:
        """Instructions with gaps; some mirrored, as the goal predictor reads them."""
        chosen = self.examples(iteration, share, 10)
        randoms = [random for _, random in chosen]
        symmetries = [self.draw_symmetry(random) for random in randoms]
        drops = draw_drops(self.settings, chosen, None)
        return self._gaps([example for example, _ in chosen], symmetries, randoms, drops)

    def _gaps(
        self,
        examples: Sequence[Example],
        symmetries: Sequence[Symmetry],
        randoms: Sequence[np.random.Generator],
        drops: Drops | None = None,
    ) -> Gaps:
        vocabulary = self.data.vocabulary
        said = self.data.words(examples, symmetries)
        draws = np.stack([random.random(MAX_TOKENS) for random in randoms])[:, : said.shape[1]]
        hidden = choose_hidden(said, draws, self.experiment.hidden_words, vocabulary)
        read = np.where(hidden, 1, said if drops is None else drops.words(said, vocabulary))
        lengths, wanted = (said > 0).sum(1), np.where(hidden, said, 0)
        return Gaps(torch.from_numpy(read), torch.from_numpy(lengths), torch.from_numpy(wanted))

    def ready(self, drawn: Gaps, fabric: Fabric) -> Gaps:
        """The instructions on the device."""
        return to_device(drawn, fabric.device)

    def forward(self, batch: Gaps) -> Float[Tensor, ""]:
        """Cross entropy per hidden word."""
        scores = self.model(batch.tokens, batch.lengths).float()
        total = F.cross_entropy(scores.flatten(0, 1), batch.hidden.flatten(), ignore_index=0, reduction="sum")
        return total / (batch.hidden > 0).sum().clamp(min=1)

    def scores_of(self, examples: list[Example], fabric: Fabric) -> dict[str, float]:
        """Share of hidden words that are guessed; the same words in every run."""
        self.model.eval()
        right, words = 0, 0
        for at in range(0, len(examples), 256):
            some = examples[at : at + 256]
            randoms = [np.random.default_rng([10, at + number]) for number in range(len(some))]
            batch = self.ready(self._gaps(some, [Symmetry()] * len(some), randoms), fabric)
            with torch.no_grad():
                guessed = self.model(batch.tokens, batch.lengths).argmax(-1)
            right += int((guessed == batch.hidden)[batch.hidden > 0].sum())
            words += int((batch.hidden > 0).sum())
        self.model.train()
        return {"hidden words guessed": right / max(words, 1)}
