"""Classifiers with their defaults, compared over many data sets: ``python -m benchmarks.tables``."""
