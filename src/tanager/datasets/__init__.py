"""The data sets of the paper, and scikit-learn's digits, which require no file."""

from tanager.datasets.catalogue import CATALOGUE, Entry, find_entry
from tanager.datasets.files import DataError
from tanager.datasets.loading import load_dataset, load_raw
from tanager.datasets.preparation import prepare_dataset
from tanager.datasets.values import Dataset, RawData

__all__ = [
    "CATALOGUE",
    "DataError",
    "Dataset",
    "Entry",
    "RawData",
    "find_entry",
    "load_dataset",
    "load_raw",
    "prepare_dataset",
]
