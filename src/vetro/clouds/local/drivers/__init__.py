"""Drivers that make servers: real ones (nspawn, proot) or recorded ones, behind one interface."""
