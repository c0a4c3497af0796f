"""Impact: what a version of a package would change in the environments that use it, found out before it is used."""
