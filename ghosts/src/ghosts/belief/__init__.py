"""The Bayes filter (paper, sections 3 and 4.2): histogram operations, motion model, observation model, loss."""
