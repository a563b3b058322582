"""Small model files, taken apart and put together again without the package's own code."""

import hashlib
import json
import struct

import numpy as np
import pandas as pd

from tanager import (
    GradientDescent,
    Hybrid,
    IndependentSearches,
    NaiveBayesStart,
    ParentSets,
    Screened,
    Subset,
    TANClassifier,
    TANEnsembleClassifier,
)
from tanager.training.regularisers import Smoothness

PREAMBLE = struct.Struct("<8sIIQ")
SIZES = {"int8": 1, "int16": 2, "int32": 4, "int64": 8, "uint8": 1, "uint16": 2, "uint32": 4, "uint64": 8}
SIZES |= {"float32": 4, "float64": 8}
ODD_VALUES = [
    *(None, True, False, -1, 0, 1, 2, 7, 2**31, 2**62, 2**63, 10**40, 0.5, -1e300),
    *("", "x", "int64", "object", "str", "log", "a" * 5000, [], {}, [[]], [-1], [2**40], {"list": [1]}),
    *({"tuple": []}, {"parent_sets": True}, {"array": "float64"}, {"not_kept": "f"}, [[[[[[]]]]]]),
    *({"value": []}, {"value": 1}, {"value": ["Subset"]}, {"value": ["Subset", []]}, {"value": [{}, {}]}),
    *({"value": ["subset", {}]}, {"value": ["Options", {}]}, {"value": ["Subset", {}]}, {"value": ["Counts", {}]}),
    *({"value": ["Nearest", {}]}, {"value": ["Hybrid", {"gamma": -1}]}, {"value": ["Hybrid", {"gama": 1}]}),
    *({"value": ["FixedParents", {"parents": {"list": [1, 0]}}]}, {"value": ["GivenSpace", {"parent_sets": 1}]}),
    {"value": ["IndependentSearches", {"structure": {"value": ["IndependentSearches", {}]}}]},
    {"value": ["GradientDescent", {"regularisers": {"tuple": [1]}}]},
]
"""What a header may hold in the place of anything else."""


def mixed_table(n_rows=40, seed=0):
    """Columns of every kind, with missing cells and rare values, and classes."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, n_rows)
    mixed = np.array([7, "seven", 2.5, True], dtype=object)[rng.integers(0, 4, n_rows)]
    frame = pd.DataFrame(
        {
            "length": np.where(rng.random(n_rows) < 0.2, np.nan, y + rng.normal(size=n_rows) / 4),
            "colour": [["rot", "grün", None, "blau", "gelb"][k] for k in (y * 2 + rng.integers(0, 3, n_rows))],
            "mixed": pd.Series(mixed, dtype=object),
            "flag": y == rng.integers(0, 2, n_rows),
        }
    )
    return frame, np.array(["no", "yes"], dtype=object)[y]


def small_classifier():
    frame, y = mixed_table()
    return TANClassifier("chow-liu", parameters="ml", max_categories=3).fit(frame, y)


def small_ensemble():
    rng = np.random.default_rng(0)
    X, y = rng.integers(0, 3, (30, 3)), rng.integers(0, 3, 30)
    sets = ParentSets.from_lists([[-1], [-1, 0], [(0, 1), 0, 1]], order=[0, 1, 2])
    members, parameters = IndependentSearches(sets, n_members=2), GradientDescent(epochs=2)
    ensemble = TANEnsembleClassifier(members, parameters, categorical_features=np.array([2, 0, 1]), random_state=0)
    return ensemble.fit(X, y)


def small_search():
    """A classifier whose options are nested values, with an array and a tuple of values among them."""
    rng = np.random.default_rng(0)
    X, y = rng.integers(0, 3, (30, 4)), rng.integers(0, 2, 30)
    structure = Subset(2, candidates=Screened("margin", random_share=0.5), ordering=np.array([2, 0, 3, 1]))
    parameters = GradientDescent(
        loss=Hybrid(lam=5.0, gamma=2.0), epochs=2, start=NaiveBayesStart(2.0), regularisers=(Smoothness(0.1),)
    )
    return TANClassifier(structure, parameters, binning="none", random_state=0).fit(X, y)


def content_of(clf, folder):
    """The bytes that a classifier is saved as."""
    path = folder / "saved.tanager"
    clf.save(path, metadata={"target": "y", "errors": [0.25, {"fold": 1}]})
    return path.read_bytes()


def take_apart(content):
    """Header as an object, and the bytes between header and checksum."""
    _, _, _, size = PREAMBLE.unpack_from(content)
    header = json.loads(content[PREAMBLE.size : PREAMBLE.size + size])
    return header, content[-(-(PREAMBLE.size + size) // 64) * 64 : -32]


def put_together(header, data, version=2):
    """A file with a right checksum of a header, as an object or as bytes, and data."""
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    content = PREAMBLE.pack(b"\x89TANAGER", version, 0, len(text)) + text
    return with_checksum(content + bytes(-len(content) % 64) + data)


def with_checksum(content):
    return content + hashlib.sha256(content).digest()


def find_array(header, name):
    """Begin and end of an array in the data, and the letter of its type in NumPy."""
    entry = next(entry for entry in header["arrays"] if entry["name"] == name)
    size = SIZES[entry["dtype"]] * int(np.prod(entry["shape"]))
    return entry["offset"], entry["offset"] + size, "<" + entry["dtype"][0] + str(SIZES[entry["dtype"]])
