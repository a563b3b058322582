"""Bayesian network classifiers whose structure is learned by gradient descent."""

__version__ = "0.1.0"
