"""The settings of a service: their table, where values come from, how they are shown."""
