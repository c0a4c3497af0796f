"""Pages for who runs the installation."""
