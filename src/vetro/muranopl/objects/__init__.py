"""Objects at run time: loaded, filled, kept, written as data again, destroyed."""
