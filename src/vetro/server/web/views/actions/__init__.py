"""Actions of objects and static actions: what they returned."""
