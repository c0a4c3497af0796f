"""What runs in servers, what they are told when they start, and what goes into them from outside.

The programs for guests (`boot`, `configure`, `announce`) are one file each and use the standard library only.
"""
