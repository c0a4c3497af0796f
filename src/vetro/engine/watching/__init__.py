"""Watching what was deployed: states of servers, probes of their addresses, and what both make of a component."""
