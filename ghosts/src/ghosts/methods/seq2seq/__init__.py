"""The sequence-to-sequence agent of R2R (Anderson et al. 2018), which has no map: a baseline of Table 2."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ghosts.methods.method import Method
from ghosts.methods.seq2seq import presets
from ghosts.methods.seq2seq.settings import Seq2SeqExperiment
from ghosts_sim.errors import ConfigError

if TYPE_CHECKING:
    from torch import nn

    from ghosts.agent.loop import Agent


class Seq2SeqMethod(Method):
    """An LSTM with attention over the words."""

    model = "ghosts.methods.seq2seq.model:Seq2Seq"
    trained_by = "ghosts.methods.seq2seq.task:Seq2SeqTask"

    def agent(
        self, name: str, model: nn.Module, experiment: Seq2SeqExperiment, *, planner: bool = False
    ) -> Agent[Any, Any, Any]:
        from ghosts.methods.seq2seq.model import Seq2Seq, Seq2SeqAgent

        if planner:
            raise ConfigError("a sequence-to-sequence agent has no belief for the planner; leave out --planner")
        assert isinstance(model, Seq2Seq), "a model of this method"
        return Seq2SeqAgent(model, experiment.model.step_limit)


METHOD = Seq2SeqMethod("seq2seq", "a sequence-to-sequence agent", presets.ALL)
