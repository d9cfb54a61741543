"""Buildings: navigation graph, panorama store, cube-map camera, renderer."""
