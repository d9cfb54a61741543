"""The raw Matterport3D release: read as downloaded, turned into the panoramas the simulator reads."""
