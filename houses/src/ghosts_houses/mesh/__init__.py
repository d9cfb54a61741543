"""A house as triangles with baked light: faces, atlas, mesh, and the renderers that draw from them."""
