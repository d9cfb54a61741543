"""A house as binary glTF 2.0: the mesh with its baked light as one texture, for Blender, three.js, trimesh and others.

glTF's frame is y up: x stays, world z becomes y, world y becomes −z. Nodes are named by label ("ceiling", "sofa"), so
that a viewer can hide what is in the way. The material is unlit, because the light is in the texture.
"""

from __future__ import annotations

import json
import struct
from pathlib import Path

import cv2
import numpy as np

from ghosts_houses import __version__
from ghosts_houses.mesh.bake import Baked
from ghosts_houses.mesh.faces import SLOTS
from ghosts_sim.files import atomic_path

JPEG_QUALITY = 90
_FLOAT, _UINT32, _VERTICES, _INDICES = 5126, 5125, 34962, 34963


def y_up(xyz_m: np.ndarray) -> np.ndarray:
    """From the world's frame (z up) to glTF's and Habitat's (y up), `… 3`.

    Example:
        >>> y_up(np.array([1.0, 2.0, 3.0])).tolist()
        [1.0, 3.0, -2.0]
    """
    return np.stack([xyz_m[..., 0], xyz_m[..., 2], -xyz_m[..., 1]], -1)


def write_glb(baked: Baked, path: Path) -> None:
    """Write a house to a `.glb` file."""
    with atomic_path(path) as temporary:
        temporary.write_bytes(glb_bytes(baked))


def glb_bytes(baked: Baked) -> bytes:
    """A GLB file of a baked house, as bytes."""
    mesh = baked.mesh
    groups = _by_label(baked)
    order = np.concatenate(list(groups.values()))
    vertices, uv = y_up(mesh.vertex_m).astype("<f4"), mesh.uv.astype("<f4")
    triangles = mesh.triangle[order].astype("<u4")
    found, encoded = cv2.imencode(".jpg", baked.image[..., ::-1], [cv2.IMWRITE_JPEG_QUALITY, JPEG_QUALITY])
    assert found, "OpenCV writes JPEG"
    blobs = [vertices.tobytes(), uv.tobytes(), triangles.tobytes(), encoded.tobytes()]
    views, binary = [], b""
    for blob, target in zip(blobs, (_VERTICES, _VERTICES, _INDICES, None)):
        view = {"buffer": 0, "byteOffset": len(binary), "byteLength": len(blob)}
        views.append(view | ({"target": target} if target else {}))
        binary += blob + b"\0" * (-len(blob) % 4)
    accessors = [
        _accessor(0, _FLOAT, len(vertices), "VEC3")
        | {"min": vertices.min(0).tolist(), "max": vertices.max(0).tolist()},
        _accessor(1, _FLOAT, len(uv), "VEC2"),
    ]
    meshes, start = [], 0
    for label, members in groups.items():
        accessors.append(_accessor(2, _UINT32, 3 * len(members), "SCALAR") | {"byteOffset": 12 * start})
        part = {"attributes": {"POSITION": 0, "TEXCOORD_0": 1}, "indices": len(accessors) - 1, "material": 0}
        meshes.append({"name": label, "primitives": [part]})
        start += len(members)
    texture = {"baseColorTexture": {"index": 0}, "metallicFactor": 0.0, "roughnessFactor": 1.0}
    document = {
        "asset": {"version": "2.0", "generator": f"ghosts {__version__}"},
        "extensionsUsed": ["KHR_materials_unlit"],
        "scene": 0,
        "scenes": [{"name": baked.house.name, "nodes": list(range(len(meshes)))}],
        "nodes": [{"name": item["name"], "mesh": number} for number, item in enumerate(meshes)],
        "meshes": meshes,
        "materials": [{"name": "baked", "pbrMetallicRoughness": texture, "extensions": {"KHR_materials_unlit": {}}}],
        "textures": [{"source": 0, "sampler": 0}],
        "samplers": [{"magFilter": 9729, "minFilter": 9729, "wrapS": 33071, "wrapT": 33071}],
        "images": [{"bufferView": 3, "mimeType": "image/jpeg"}],
        "accessors": accessors,
        "bufferViews": views,
        "buffers": [{"byteLength": len(binary)}],
    }
    text = json.dumps(document, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 4)
    size = 12 + 8 + len(text) + 8 + len(binary)
    head = struct.pack("<4sII", b"glTF", 2, size)
    return head + struct.pack("<I4s", len(text), b"JSON") + text + struct.pack("<I4s", len(binary), b"BIN\0") + binary


def _accessor(view: int, kind: int, count: int, shape: str) -> dict:
    return {"bufferView": view, "componentType": kind, "count": count, "type": shape}


def _by_label(baked: Baked) -> dict[str, np.ndarray]:
    """Triangles of each label, by name."""
    names = np.array([part.label for part in baked.house.primitives])[baked.mesh.face // SLOTS]
    return {str(name): np.flatnonzero(names == name) for name in np.unique(names)}
