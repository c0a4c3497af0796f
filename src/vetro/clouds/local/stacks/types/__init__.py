"""Resource types, one module a topic; `vetro.clouds.local.stacks.types.registry` lists them."""
