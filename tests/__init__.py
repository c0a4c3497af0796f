"""Tests; their folders mirror src/vetro."""
