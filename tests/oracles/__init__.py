"""Slow, obvious references for the tests. Nothing here imports the package under test."""
