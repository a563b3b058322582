"""The published experiments, as data."""

from tanager.experiments.published import LEARNING_RATES, SUBSET_SIZES, PublishedDraws, paper_settings, published_draws

__all__ = ["LEARNING_RATES", "SUBSET_SIZES", "PublishedDraws", "paper_settings", "published_draws"]
