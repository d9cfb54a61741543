"""VLN-CE's task in houses: a body and its camera, episodes, scores, and the Gymnasium environment."""
