"""How what was deployed is: the watcher of each installation, what it found, and what changed when."""
