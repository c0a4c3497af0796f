"""Uploaded packages, read and described by sandboxed processes."""
