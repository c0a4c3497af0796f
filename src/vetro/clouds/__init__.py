"""Where resources are made: one interface, `vetro.clouds.interface`, and the clouds behind it."""
