"""An ament_python package: colcon builds it. Beside ROS it needs ghosts-sim, which pip installs."""

from setuptools import setup

setup(
    name="ghosts_ros",
    version="0.1.0",
    packages=["ghosts_ros"],
    data_files=[
        ("share/ament_index/resource_index/packages", ["resource/ghosts_ros"]),
        ("share/ghosts_ros", ["package.xml"]),
        ("share/ghosts_ros/launch", ["launch/tracker.launch.py"]),
    ],
    install_requires=["setuptools", "ghosts-sim"],
    zip_safe=True,
    license="MIT",
    entry_points={"console_scripts": ["tracker = ghosts_ros.node:main"]},
)
