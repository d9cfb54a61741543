"""A house as USD: the mesh with its baked light, for Isaac Sim, Omniverse and others. Needs the extra `usd`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import cv2
import numpy as np

from ghosts_houses.assets.glb import JPEG_QUALITY
from ghosts_houses.mesh.bake import Baked
from ghosts_sim.errors import MissingExtraError
from ghosts_sim.files import atomic_path


def write_usd(baked: Baked, path: Path) -> None:
    """Write a house to a `.usda` or `.usdc` file and, beside it, its texture (`.jpg`).

    Raises:
        MissingExtraError: usd-core is not installed.
    """
    usd, geometry, shade, types, vectors = _modules()
    texture = path.with_suffix(".jpg")
    with atomic_path(texture) as temporary:
        cv2.imwrite(str(temporary), baked.image[..., ::-1], [cv2.IMWRITE_JPEG_QUALITY, JPEG_QUALITY])
    with atomic_path(path) as temporary:
        temporary.unlink()  # USD makes its files anew
        stage = usd.Stage.CreateNew(str(temporary))
        geometry.SetStageUpAxis(stage, geometry.Tokens.z)
        geometry.SetStageMetersPerUnit(stage, 1.0)
        root = geometry.Xform.Define(stage, f"/{baked.house.name}")
        stage.SetDefaultPrim(root.GetPrim())
        shape = geometry.Mesh.Define(stage, f"/{baked.house.name}/house")
        mesh = baked.mesh
        shape.CreatePointsAttr(vectors.Vec3fArray.FromNumpy(mesh.vertex_m))
        shape.CreateFaceVertexCountsAttr(vectors.IntArray.FromNumpy(np.full(len(mesh.triangle), 3, np.int32)))
        shape.CreateFaceVertexIndicesAttr(vectors.IntArray.FromNumpy(mesh.triangle.reshape(-1)))
        shape.CreateSubdivisionSchemeAttr("none")
        places = geometry.PrimvarsAPI(shape).CreatePrimvar(
            "st", types.ValueTypeNames.TexCoord2fArray, geometry.Tokens.vertex
        )
        # USD counts texture rows from below.
        flipped = np.stack([mesh.uv[:, 0], 1.0 - mesh.uv[:, 1]], 1).astype(np.float32)
        places.Set(vectors.Vec2fArray.FromNumpy(flipped))
        material = _material(stage, shade, types, f"/{baked.house.name}/baked", texture.name)
        shade.MaterialBindingAPI.Apply(shape.GetPrim()).Bind(material)
        stage.GetRootLayer().Save()


def _material(stage: Any, shade: Any, types: Any, path: str, texture: str) -> Any:
    """A material that glows with the texture: the light is in it."""
    names = types.ValueTypeNames
    material = shade.Material.Define(stage, path)
    surface, image, reader = (shade.Shader.Define(stage, f"{path}/{name}") for name in ("surface", "image", "places"))
    reader.CreateIdAttr("UsdPrimvarReader_float2")
    reader.CreateInput("varname", names.Token).Set("st")
    image.CreateIdAttr("UsdUVTexture")
    image.CreateInput("file", names.Asset).Set(f"./{texture}")
    image.CreateInput("st", names.Float2).ConnectToSource(reader.CreateOutput("result", names.Float2))
    surface.CreateIdAttr("UsdPreviewSurface")
    surface.CreateInput("diffuseColor", names.Color3f).Set((0.0, 0.0, 0.0))
    surface.CreateInput("emissiveColor", names.Color3f).ConnectToSource(image.CreateOutput("rgb", names.Float3))
    material.CreateSurfaceOutput().ConnectToSource(surface.CreateOutput("surface", names.Token))
    return material


def _modules() -> tuple[Any, Any, Any, Any, Any]:
    try:
        from pxr import Sdf, Usd, UsdGeom, UsdShade, Vt
    except ImportError:
        raise MissingExtraError("usd-core", "ghosts-houses[usd]", "an export to USD") from None
    return Usd, UsdGeom, UsdShade, Sdf, Vt
