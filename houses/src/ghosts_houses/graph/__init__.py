"""Where a walker fits: viewpoints, the navigation graph, and paths over it."""
