"""Clouds around a driver of servers: HOT templates become records and servers (`StackCloud` in `cloud`)."""
