"""The Bayes filter: histogram operations, motion model, observation model."""
