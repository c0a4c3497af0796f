"""Vetro: a self-service application catalog that compiles MuranoPL."""

__version__ = "0.1.0"
