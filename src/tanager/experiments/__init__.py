"""The published experiments as data: grids of runs, the engine that executes them, and the store of results."""

from tanager.experiments.engine import EngineError, Failed, Finished, SerialPool, execute
from tanager.experiments.grids import best_published, expand, paper_grid, published_spec, sample_grid
from tanager.experiments.local_pool import LocalPool
from tanager.experiments.published import LEARNING_RATES, SUBSET_SIZES, PublishedDraws, paper_settings, published_draws
from tanager.experiments.run import Result, run_spec
from tanager.experiments.selection import Results
from tanager.experiments.spec import RunSpec
from tanager.experiments.store import Record, Store, StoreError

__all__ = [
    "LEARNING_RATES",
    "SUBSET_SIZES",
    "EngineError",
    "Failed",
    "Finished",
    "LocalPool",
    "PublishedDraws",
    "Record",
    "Result",
    "Results",
    "RunSpec",
    "SerialPool",
    "Store",
    "StoreError",
    "best_published",
    "execute",
    "expand",
    "paper_grid",
    "paper_settings",
    "published_draws",
    "published_spec",
    "run_spec",
    "sample_grid",
]
