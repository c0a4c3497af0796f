"""Work of several tasks that no process waits for: what comes next is computed from a record and facts."""
