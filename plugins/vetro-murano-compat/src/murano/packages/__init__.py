"""Import names of Murano's plug-in interface, on top of Vetro."""
