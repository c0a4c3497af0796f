"""What the machine itself lends to local servers: processes, cgroups, bridges, firewall, mounts (LOCAL_CLOUD.md 4-5).

Everything here is undone by its own counterpart, and every name begins with the id of one cloud, so that leftovers of a
killed process are found and several clouds live on one machine.
"""
