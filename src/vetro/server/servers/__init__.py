"""What people do at the servers of an environment: see which there are, and read what these said."""
