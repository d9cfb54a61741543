"""Acting on a belief: policy, baselines, streaming tracker."""
