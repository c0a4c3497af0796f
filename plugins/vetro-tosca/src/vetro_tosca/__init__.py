"""TOSCA CSAR packages for Vetro."""
