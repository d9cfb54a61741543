"""The node with the topics of a RealSense; start `ghosts serve` before."""

from launch import LaunchDescription
from launch_ros.actions import Node


def generate_launch_description() -> LaunchDescription:
    """The node."""
    camera = "/camera/camera"
    topics = [
        ("color", f"{camera}/color/image_raw"),
        ("depth", f"{camera}/aligned_depth_to_color/image_raw"),
        ("camera_info", f"{camera}/color/camera_info"),
    ]
    return LaunchDescription([Node(package="ghosts_ros", executable="tracker", output="screen", remappings=topics)])
