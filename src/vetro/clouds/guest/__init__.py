"""What runs in servers, what they are told when they start, and what goes into them from outside.

The programs for guests (`boot`, `configure`, `signal_command`) are one file each and use the standard library only.
"""
