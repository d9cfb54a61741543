"""Learning to speak: the speaker's words for the demonstrators' paths."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from jaxtyping import Float
from lightning_fabric import Fabric
from torch import Tensor

from ghosts.data.drops import draw_drops
from ghosts.data.examples import Example
from ghosts.methods.speaker.model import Speaker
from ghosts.methods.speaker.paths import SpeakerBatch, load_batch, make_batch
from ghosts.methods.speaker.settings import SpeakerExperiment
from ghosts.train.task import EpisodeTask, Share


class SpeakerTask(EpisodeTask[SpeakerBatch, SpeakerBatch]):
    """The speaker: cross entropy of each word of an instruction, given the path and the words before it."""

    model: Speaker
    experiment: SpeakerExperiment

    def draw(self, iteration: int, share: Share) -> SpeakerBatch:
        """Paths, seen through symmetries, in buildings that lack some labels."""
        chosen = self.examples(iteration, share, 4)
        symmetries = [self.draw_symmetry(random) for _, random in chosen]
        drops = draw_drops(self.settings, chosen, self.data.labels)
        return make_batch(self.data, [example for example, _ in chosen], symmetries, drops)

    def ready(self, drawn: SpeakerBatch, fabric: Fabric) -> SpeakerBatch:
        """The paths on the device."""
        return load_batch(self.data, drawn, fabric.device)

    def forward(self, batch: SpeakerBatch) -> Float[Tensor, ""]:
        """Cross entropy per word, smoothed."""
        logits = self.model(batch.paths, batch.tokens).float()
        smoothing = self.experiment.model.speaker.smoothing
        return F.cross_entropy(logits.flatten(0, 1), batch.tokens.flatten(), ignore_index=0, label_smoothing=smoothing)

    def scores_of(self, examples: list[Example], fabric: Fabric) -> dict[str, float]:
        """Log-likelihood per word; negative, higher is better."""
        self.model.eval()
        total, words = 0.0, 0
        for at in range(0, len(examples), 128):
            batch = load_batch(self.data, make_batch(self.data, examples[at : at + 128]), fabric.device)
            with torch.no_grad():
                total += float(self.model.log_likelihood(batch.paths, batch.tokens).sum())
            words += int((batch.tokens > 0).sum())
        self.model.train()
        return {"log-likelihood per word": total / words}
