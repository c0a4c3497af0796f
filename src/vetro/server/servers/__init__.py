"""What people do at the servers of an environment: see which there are, read what these said, run commands in them."""
