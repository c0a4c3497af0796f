"""How fast the engine is, compared with the same work written by hand in Python and with the old Murano."""
