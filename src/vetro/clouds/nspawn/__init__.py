"""The kind `nspawn`: each server is a systemd in namespaces of its own, over a shared image (LOCAL_CLOUD.md 4-5).

Everything made on this machine is undone by its own counterpart, and every name begins with the id of one cloud, so
that leftovers of a killed process are found and several clouds live on one machine.
"""
