"""What was built beyond the paper, compared on held-back rows: ``python -m benchmarks.beyond``."""
