"""What operators do: examine an installation, save, check, restore and move its database."""
