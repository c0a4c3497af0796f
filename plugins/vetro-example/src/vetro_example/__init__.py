"""An example of Vetro plug-ins."""
