"""The stack interpreter: HOT templates to records and servers of the local cloud (LOCAL_CLOUD.md 1-2)."""
