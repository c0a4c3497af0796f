"""Tasks: put in the queue with the change that wants them, leased by a worker, journaled, never lost."""
