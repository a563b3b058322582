"""Methods beyond the paper, with options selected on held-out rows: ``python -m benchmarks.beyond``."""
