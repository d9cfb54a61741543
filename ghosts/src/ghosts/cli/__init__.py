"""Commands of this distribution: one module per command (see `ghosts_sim.cli`); an underscore marks what they share."""
