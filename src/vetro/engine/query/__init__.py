"""Questions that packages answer without effects, from task processes that can change nothing."""
