"""The Python side of the core library's native classes; `registry` has them by the names of their classes."""
