"""What can be found wrong in packages without running them."""
