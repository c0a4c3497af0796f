"""What makes servers: the interface of drivers, their specifications, and what several of them have in common."""
