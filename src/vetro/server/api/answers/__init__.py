"""What clients can ask about environments: the answers of /v2 as plain data, without HTTP.

Each function takes the caller, ids from the address, and values by name; it raises the errors of the service. Modules
of `vetro.server.api.v2` declare the addresses, schemas and policy rules. Nothing of that frame is imported here: it
takes longer to load than most commands of the command line may take.
"""
