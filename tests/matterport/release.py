"""Writes a synthetic raw release of two rooms, or of a procedural house: what Matterport would have recorded, with a
truth to compare with.

Everything here is made from the ray caster and the simulator's own rule for skyboxes, none of it from the code that is
tested: 18 depth and colour images a panorama with an optical centre that is not the image's centre, slightly tilted
tripods, cameras a few millimetres apart, holes and noise in depth, six skybox faces, the `.conf` file.
"""

from __future__ import annotations

import json
import zipfile
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path

import cv2
import numpy as np
from scipy.spatial.transform import Rotation

import made
from ghosts_houses.house import POSE_ROTATION, Primitive
from ghosts_houses.render.panorama import skybox_frames
from ghosts_houses.render.raycast import Frames, cast, upload
from ghosts_houses.solids import Solids
from ghosts_sim.geometry import camera_to_world

UNITS_PER_M = 4000.0
SCAN = "8194nk5LbLH"
STANDS = ((1.5, 1.4, 1.5), (3.6, 2.2, 1.5), (4.6, 4.1, 1.45), (7.4, 2.4, 1.5))
"""Camera centres: three in the living room, one behind the passage."""
HOUSE = 299
Stands = tuple[tuple[float, float, float], ...]
HOUSE_STANDS = ((15.18, 4.08, 1.5325), (7.03, 4.73, 1.5028), (3.25, 2.0, 1.5061))
"""Viewpoints of the house of seed 299: beside a sofa, in a kitchen, and in a doorway whose frame is 0.4 m away."""
DRAWN_STANDS = ((5.08, 3.98, 1.53), (9.78, 0.93, 1.51), (16.98, 0.78, 1.45))
"""The first three of its 32 viewpoints in an order drawn once, by `np.random.default_rng(0).permutation`."""


def _box(low: tuple[float, ...], high: tuple[float, ...], label: str, yaw_rad: float = 0.0) -> Primitive:
    middle = tuple((a + b) / 2 for a, b in zip(low, high, strict=True))
    half = tuple((b - a) / 2 for a, b in zip(low, high, strict=True))
    return Primitive("box", middle, half, yaw_rad, "plaster", (0.8, 0.8, 0.8), label)


def two_rooms() -> tuple[Primitive, ...]:
    """Two rooms with a passage between them and some furniture: little enough to be cast in milliseconds."""
    return (
        _box((-0.2, -0.2, -0.2), (9.2, 5.2, 0.0), "floor"),
        _box((-0.2, -0.2, 2.6), (9.2, 5.2, 2.8), "ceiling"),
        _box((-0.2, -0.2, 0.0), (0.0, 5.2, 2.6), "wall"),
        _box((9.0, -0.2, 0.0), (9.2, 5.2, 2.6), "wall"),
        _box((0.0, -0.2, 0.0), (9.0, 0.0, 2.6), "wall"),
        _box((0.0, 5.0, 0.0), (9.0, 5.2, 2.6), "wall"),
        _box((6.0, 0.0, 0.0), (6.12, 1.7, 2.6), "wall"),
        _box((6.0, 3.1, 0.0), (6.12, 5.0, 2.6), "wall"),
        _box((6.0, 1.7, 2.2), (6.12, 3.1, 2.6), "wall"),
        _box((0.3, 3.6, 0.0), (2.4, 4.6, 0.8), "sofa"),
        _box((2.0, 0.2, 0.0), (2.8, 0.7, 1.9), "wardrobe", 0.3),
        _box((7.9, 3.4, 0.0), (8.7, 4.7, 0.75), "table"),
        Primitive("cylinder", (5.3, 0.7, 0.8), (0.3, 0.3, 0.8), 0.0, "plaster", (0.8, 0.8, 0.8), "plant"),
        Primitive("sphere", (2.6, 2.9, 0.4), (0.4, 0.4, 0.4), 0.0, "plaster", (0.8, 0.8, 0.8), "ball"),
    )


@lru_cache(maxsize=2)
def primitives(house: int | None = None) -> tuple[Primitive, ...]:
    """The solids of the two rooms, or of a house."""
    return two_rooms() if house is None else made.house(house).primitives


@lru_cache(maxsize=2)
def scene(house: int | None = None) -> Solids:
    """The same, ready to be cast."""
    return upload(Solids.of(primitives(house)))


@lru_cache(maxsize=2)
def paints(house: int | None = None) -> np.ndarray:
    """Colour of each solid: in the two rooms every one has its own brightness, in a house its own colour."""
    if house is not None:
        return np.array([part.color for part in primitives(house)], np.float32) * 230.0
    random = np.random.default_rng(5)
    grey = random.permutation(np.linspace(30.0, 220.0, len(two_rooms())))[:, None]
    return np.array(grey + random.uniform(-20.0, 20.0, (len(grey), 3)), np.float32)


@dataclass(frozen=True)
class Pictures:
    """Images of a place."""

    rgb: np.ndarray
    depth_m: np.ndarray
    """Euclidean distance; 0 where nothing is seen."""
    solid: np.ndarray
    """Which primitive is seen."""


def render_frames(frames: Frames, house: int | None = None) -> Pictures:
    """Solids have a pattern that is smooth in space, so that images can be aligned; in a house, where walls and ceiling
    have one colour, sides that face different ways have different brightness."""
    solids = scene(house)
    hits = cast(solids, frames)
    rays = frames.rays()
    rays /= np.linalg.norm(rays, axis=-1, keepdims=True)
    point = frames.origin[:, None, None] + rays * np.minimum(hits.distance, 100.0)[..., None]
    rgb = paints(house)[hits.index] + 10.0 * np.sin(point * 9.0 + np.arange(3, dtype=np.float32))
    if house is not None:
        x, y, z = np.moveaxis(point - solids.center[hits.index], -1, 0)
        cosine, sine, _ = np.moveaxis(solids.turn[hits.index], -1, 0)
        own = np.stack([cosine * x + sine * y, cosine * y - sine * x, z], -1)
        side = (abs(own) / solids.half[hits.index]).argmax(-1)
        rgb = rgb * np.array([0.8, 0.9, 1.0], np.float32)[side][..., None]
    distance = np.where(hits.index >= 0, hits.distance, np.float32(0.0))
    return Pictures(np.clip(rgb, 0, 255).astype(np.uint8), distance, hits.index)


@dataclass(frozen=True)
class ReleaseConfig:
    """What the release is like."""

    width: int = 160
    height: int = 128
    fx: float = 134.0
    fy: float = 133.0
    centre: tuple[int, int] = (5, -4)
    """Columns and rows by which the optical centre lies right of and below the image's centre."""
    skybox_px: int = 192
    noise: float = 0.001
    """Standard deviation of depth, as a share of it."""
    speckles: float = 0.01
    """Share of depth pixels without reading, anywhere."""
    discs: int = 24
    """Round holes that no camera sees into."""
    disc_rad: float = 0.06
    """Radius of the largest."""
    offset_m: float = 0.002
    """Distance of the cameras from their common axis."""
    tilt_rad: float = 0.02
    """How far tripods are from upright."""
    seed: int = 0


@dataclass(frozen=True)
class Shot:
    """One panorama and the truth about it."""

    viewpoint: str
    position_m: tuple[float, float, float]
    turned: np.ndarray
    """Rotation of the tripod in the world: identity looks along +y with skybox face 1."""
    holes: np.ndarray = field(default_factory=lambda: np.zeros((0, 4)))
    """Unit directions (world) and cosines of the radii of the round holes."""
    house: int | None = None
    """Seed of the house; None for the two rooms."""

    @property
    def pose_rotation(self) -> np.ndarray:
        """3 × 3 part of the pose in the connectivity file."""
        return self.turned @ POSE_ROTATION


def make_shots(
    config: ReleaseConfig, count: int, first: int = 0, house: int | None = None, stands: Stands = HOUSE_STANDS
) -> list[Shot]:
    """Panoramas at the first stands (of a house, or else of two rooms), each turned differently."""
    shots = []
    stands = STANDS if house is None else stands
    for number, stand in enumerate(stands[first : first + count], first):
        random = np.random.default_rng([config.seed, number])
        axis = random.normal(size=2)
        tilt = Rotation.from_rotvec(config.tilt_rad * np.array([*axis, 0.0]) / np.linalg.norm(axis))
        turned = (tilt * Rotation.from_euler("z", random.uniform(-np.pi, np.pi))).as_matrix()
        holes = _apart(random, config.discs, config.disc_rad)
        shots.append(Shot(f"{0xA0 + number:032x}", stand, turned, holes, house))
    return shots


def _apart(random: np.random.Generator, count: int, radius_rad: float) -> np.ndarray:
    """Round holes that do not touch each other, nor the parts above and below that no camera sees."""
    found: list[np.ndarray] = []
    while len(found) < count:
        ray = random.normal(size=3)
        ray /= np.linalg.norm(ray)
        own = radius_rad * random.uniform(0.3, 1.0)
        clear = all(np.arccos(np.clip(ray @ other[:3], -1, 1)) > 3.2 * radius_rad for other in found)
        if clear and abs(np.arcsin(ray[2])) + own < 0.85:
            found.append(np.array([*ray, np.cos(own)]))
    return np.array(found).reshape(-1, 4)


def camera_pose(shot: Shot, tilt: int, turn: int, config: ReleaseConfig) -> np.ndarray:
    """Camera-to-world of the release: x right, y up, looking along −z. Camera 1_5 looks where skybox face 1 looks."""
    heading, elevation = (turn - 5) * np.pi / 3.0, (0.58, 0.0, -0.58)[tilt]
    ours = camera_to_world(np.zeros(3), heading, elevation)[:3, :3]  # x right, y down, z forward
    pose = np.eye(4)
    pose[:3, :3] = shot.turned @ ours @ np.diag([1.0, -1.0, -1.0])
    pose[:3, 3] = np.array(shot.position_m) - config.offset_m * pose[:3, 2]
    return pose


def render_cameras(poses: np.ndarray, config: ReleaseConfig, house: int | None = None) -> Pictures:
    """Pinhole images with their optical centre where the settings say: rendered larger, then cut."""
    margin = 8 * (1 + max(abs(number) for number in config.centre) // 8)  # both sides: multiples of 16 pixels
    width, height = config.width + 2 * margin, config.height + 2 * margin
    pose = np.array(poses, np.float32)
    frames = Frames(
        pose[:, :3, 3],
        -pose[:, :3, 2],
        pose[:, :3, 0] * (width / 2 / config.fx),
        -pose[:, :3, 1] * (height / 2 / config.fy),
        height,
        width,
    )
    full = render_frames(frames, house)
    rows = slice(margin - config.centre[1], margin - config.centre[1] + config.height)
    columns = slice(margin - config.centre[0], margin - config.centre[0] + config.width)
    return Pictures(*(images[:, rows, columns] for images in (full.rgb, full.depth_m, full.solid)))


def true_frames(shot: Shot, face_px: int) -> Frames:
    """The six faces the simulator's rule asks for."""
    frames = skybox_frames(np.array([shot.position_m], np.float32), face_px, "cpu")
    turned = np.array(shot.turned, np.float32)
    return replace(frames, **{name: getattr(frames, name) @ turned.T for name in ("forward", "right", "down")})


@lru_cache(maxsize=8)
def _true(key: bytes, face_px: int, position: tuple[float, float, float], house: int | None) -> Pictures:
    shot = Shot("", position, np.frombuffer(key).reshape(3, 3))
    return render_frames(true_frames(shot, face_px), house)


def true_faces(shot: Shot, face_px: int) -> Pictures:
    """Colour and euclidean distance of the six faces."""
    return _true(np.ascontiguousarray(shot.turned).tobytes(), face_px, shot.position_m, shot.house)


def in_disc(shot: Shot, rays: np.ndarray) -> np.ndarray:
    """Which world directions look into a round hole."""
    rays = rays / np.linalg.norm(rays, axis=-1, keepdims=True)
    if not len(shot.holes):
        return np.zeros(rays.shape[:-1], bool)
    return (rays @ shot.holes[:, :3].T > shot.holes[:, 3]).any(-1)


def write_release(folder: Path, config: ReleaseConfig, shots: list[Shot], *, zipped: bool = False) -> str:
    """Write the raw files of a scan under `<folder>/<scan>/`; returns the scan's name."""
    files: dict[str, dict[str, bytes]] = {}
    lines = [
        "dataset matterport",
        f"n_images {18 * len(shots)}",
        "depth_directory undistorted_depth_images",
        "color_directory undistorted_color_images",
    ]
    cx = (config.width - 1) / 2 + config.centre[0]
    cy_bottom = (config.height - 1) / 2 - config.centre[1]
    lens = f"\nintrinsics_matrix {config.fx:.6g} 0 {cx:.6g}  0 {config.fy:.6g} {cy_bottom:.6g} 0 0 1"
    for number, shot in enumerate(shots):
        cameras = [(tilt, turn) for tilt in range(3) for turn in range(6)]
        poses = np.array([camera_pose(shot, *camera, config) for camera in cameras])
        pictures = render_cameras(poses, config, shot.house)
        for (tilt, turn), pose, rgb, depth_m in zip(cameras, poses, pictures.rgb, pictures.depth_m, strict=True):
            if turn == 0:
                lines.append(lens)
            name = f"{shot.viewpoint}_%s{tilt}_{turn}.%s"
            lines.append(
                f"scan {name % ('d', 'png')} {name % ('i', 'jpg')} " + " ".join(f"{v:.8g}" for v in pose.ravel())
            )
            depth = measure(shot, pose, depth_m, config, np.random.default_rng([config.seed, number, tilt, turn]))
            files.setdefault("undistorted_depth_images", {})[name % ("d", "png")] = _encode(".png", depth)
            files.setdefault("undistorted_color_images", {})[name % ("i", "jpg")] = _encode(".jpg", rgb)
        for face, rgb in enumerate(true_faces(shot, config.skybox_px).rgb):
            data = _encode(".jpg", rgb)
            files.setdefault("matterport_skybox_images", {})[f"{shot.viewpoint}_skybox{face}_sami.jpg"] = data
    files["undistorted_camera_parameters"] = {f"{SCAN}.conf": ("\n".join(lines) + "\n").encode()}
    for kind, contents in files.items():
        _store(folder / SCAN, kind, contents, zipped)
    return SCAN


def measure(
    shot: Shot, pose: np.ndarray, depth_m: np.ndarray, config: ReleaseConfig, random: np.random.Generator
) -> np.ndarray:
    """What one camera records of euclidean distances: z-depth with noise and holes."""
    column = (np.arange(config.width) - (config.width - 1) / 2 - config.centre[0]) / config.fx
    row = (np.arange(config.height) - (config.height - 1) / 2 - config.centre[1]) / config.fy
    rays = np.stack(np.broadcast_arrays(column, -row[:, None], -1.0), -1)
    z = depth_m / np.linalg.norm(rays, axis=-1)
    z *= 1.0 + config.noise * random.normal(size=z.shape)
    z[random.random(z.shape) < config.speckles] = 0.0
    z[in_disc(shot, rays @ pose[:3, :3].T)] = 0.0
    return np.clip(np.rint(z * UNITS_PER_M), 0, 65535).astype(np.uint16)


def write_graph(folder: Path, shots: list[Shot]) -> Path:
    """The connectivity file, as the original simulator has it; the viewpoints stand in a chain."""
    records = []
    for row, shot in enumerate(shots):
        pose = np.eye(4)
        pose[:3, :3], pose[:3, 3] = shot.pose_rotation, shot.position_m
        near = [abs(other - row) == 1 for other in range(len(shots))]
        record = {"image_id": shot.viewpoint, "pose": pose.ravel().tolist(), "included": True, "height": 1.5}
        records.append(record | {"visible": near, "unobstructed": near})
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "scans.txt").write_text(SCAN + "\n", encoding="utf-8")
    path = folder / f"{SCAN}_connectivity.json"
    path.write_text(json.dumps(records), encoding="utf-8")
    return path


def _encode(suffix: str, image: np.ndarray) -> bytes:
    if image.ndim == 3:
        image = cv2.cvtColor(image, cv2.COLOR_RGB2BGR)
    done, data = cv2.imencode(suffix, image, [cv2.IMWRITE_JPEG_QUALITY, 95] if suffix == ".jpg" else [])
    assert done
    return data.tobytes()


def _store(folder: Path, kind: str, contents: dict[str, bytes], zipped: bool) -> None:
    if zipped:
        folder.mkdir(parents=True, exist_ok=True)
        with zipfile.ZipFile(folder / f"{kind}.zip", "w", zipfile.ZIP_STORED) as archive:
            for name, data in contents.items():
                archive.writestr(f"{SCAN}/{kind}/{name}", data)
        return
    (folder / kind).mkdir(parents=True, exist_ok=True)
    for name, data in contents.items():
        (folder / kind / name).write_bytes(data)
