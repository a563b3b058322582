"""Classifiers as they come out of the box, compared over many tables: ``python -m benchmarks.tables``."""
