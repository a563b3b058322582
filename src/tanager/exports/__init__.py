"""Fitted classifiers for other programs."""
