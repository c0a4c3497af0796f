"""The kind `proot`: servers for users without root, as far as that goes."""
