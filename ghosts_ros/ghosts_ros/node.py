"""The node: topics and a service around `logic.Follower`."""

from __future__ import annotations

from functools import partial
from typing import Any

import rclpy
from geometry_msgs.msg import PoseStamped
from nav_msgs.msg import OccupancyGrid
from rclpy.callback_groups import MutuallyExclusiveCallbackGroup
from rclpy.executors import MultiThreadedExecutor
from rclpy.node import Node
from rclpy.qos import DurabilityPolicy, QoSProfile, qos_profile_sensor_data
from sensor_msgs.msg import CameraInfo, Image
from std_msgs.msg import String
from std_srvs.srv import Trigger
from tf2_msgs.msg import TFMessage
from vision_msgs.msg import Detection2DArray

from ghosts_ros.logic import Follower, fill_grid, fill_pose
from ghosts_sim.remote import Tracker


class TrackerNode(Node):
    """Subscribes to camera, tf and instructions; publishes belief and goal; sends Nav2 there when it is asked to."""

    def __init__(self) -> None:
        super().__init__("ghosts_tracker")
        address = self.declare_parameter("server", "http://127.0.0.1:8472").value
        token = self.declare_parameter("token", "").value
        self.least = float(self.declare_parameter("least_confidence", 0.5).value)
        hz = float(self.declare_parameter("hz", 2.0).value)
        self.follower = Follower(Tracker(address, token or None), self.get_logger().info)
        keep = QoSProfile(depth=100)
        fixed = QoSProfile(depth=100, durability=DurabilityPolicy.TRANSIENT_LOCAL)
        follower = self.follower
        for kind, topic, call, quality in (
            (Image, "color", follower.on_colour, qos_profile_sensor_data),
            (Image, "depth", follower.on_depth, qos_profile_sensor_data),
            (CameraInfo, "camera_info", follower.on_info, qos_profile_sensor_data),
            (Detection2DArray, "detections", follower.on_boxes, keep),
            (TFMessage, "/tf", follower.on_transforms, keep),
            (TFMessage, "/tf_static", partial(follower.on_transforms, fixed=True), fixed),
            (String, "~/instruction", follower.on_instruction, keep),
        ):
            self.create_subscription(kind, topic, call, quality)
        self.belief = self.create_publisher(OccupancyGrid, "~/belief", 1)
        self.goal = self.create_publisher(PoseStamped, "~/goal", 1)
        self.nav = self.create_publisher(PoseStamped, "goal_pose", 1)
        self.create_service(Trigger, "~/go", self.go)
        # The tracker may take longer than messages may wait: a group, and so a thread, of its own.
        self.create_timer(1.0 / hz, self.look, callback_group=MutuallyExclusiveCallbackGroup())

    def look(self) -> None:
        """Show the newest image to the tracker, and publish what it believes."""
        goal = self.follower.look()
        if goal is not None:
            self.belief.publish(fill_grid(self._stamped(OccupancyGrid()), goal))
            self.goal.publish(fill_pose(self._stamped(PoseStamped()), goal.position_m))

    def go(self, request: Any, response: Any) -> Any:
        """Send Nav2 to the goal."""
        place, response.message = self.follower.nav_goal(self.least)
        response.success = place is not None
        if place is not None:
            self.nav.publish(fill_pose(self._stamped(PoseStamped()), place))
        return response

    def _stamped(self, message: Any) -> Any:
        message.header.frame_id = self.follower.world_frame()
        message.header.stamp = self.get_clock().now().to_msg()
        return message


def main() -> None:
    """Run the node until it is interrupted."""
    rclpy.init()
    node, executor = TrackerNode(), MultiThreadedExecutor(2)
    executor.add_node(node)
    try:
        executor.spin()
    except KeyboardInterrupt:
        pass
    finally:
        node.destroy_node()
        rclpy.try_shutdown()
