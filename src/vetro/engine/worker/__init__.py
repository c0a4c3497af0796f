"""The worker's side of a task: its journal, replay after a death, the run of its process."""
