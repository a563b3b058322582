"""The presets, measured on parts of the training rows: ``python -m benchmarks.defaults``."""
