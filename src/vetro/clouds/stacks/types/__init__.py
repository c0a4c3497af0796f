"""Resource types, one module a topic; `vetro.clouds.stacks.types.registry` lists them."""
