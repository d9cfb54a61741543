"""Trained runs put to use: loaded from disk, walked through episodes, as a Gymnasium environment, as a tracker."""
