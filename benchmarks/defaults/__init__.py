"""How the presets of the defaults do on parts of the training rows: ``python -m benchmarks.defaults``."""
