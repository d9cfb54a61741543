"""What learning and acting read: examples, walks, tiles, batches, and the one object that holds them (`dataset`)."""
