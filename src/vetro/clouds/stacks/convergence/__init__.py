"""Brings stacks to their wanted state: changes are checked, resources made, changed, removed and healed."""
