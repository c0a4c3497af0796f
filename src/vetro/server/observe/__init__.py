"""What the service tells about itself: log lines, metrics, spans."""
