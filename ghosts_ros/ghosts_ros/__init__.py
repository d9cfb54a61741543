"""A ROS 2 node around a goal tracker: `logic` knows no ROS, `node` is the shell."""
