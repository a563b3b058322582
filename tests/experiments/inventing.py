"""Records with invented errors, for tests of what is made of results."""

from dataclasses import replace

from tanager.experiments.run import Result
from tanager.experiments.store import Record


def invent(spec, test_error, validation_error=None, cpu_seconds=1.0, recovered=None, **changes):
    """A record of a spec with given errors."""
    result = Result(test_error, validation_error, (-1,), recovered, seconds=2 * cpu_seconds, cpu_seconds=cpu_seconds)
    return Record(replace(spec, **changes), result)
