"""Words: tokens, R2R episodes, instruction encoder and latent decoder."""
