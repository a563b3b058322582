"""Measurements of speed and of accuracy, and a reference implementation in PyTorch."""
