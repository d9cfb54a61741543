"""Real and made buildings as data: graphs, R2R's episodes, panoramas, views of them, and MatterSim's interfaces."""

__version__ = "0.3.0"
