"""What a deployment costs: fleets of servers through the whole library, each in a process of its own."""
