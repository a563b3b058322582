"""The corpus of damaged files: each is refused in words, or taken and predicts; so are their mutations."""

import os

import numpy as np
import pytest

from tests.files.corpus import ARCHIVE, outcome, read_corpus
from tests.files.model_files import with_checksum
from tests.files.test_hostile import cut_off, delete, flip_bits, insert, overwrite, refused

ROUNDS = int(os.environ.get("TANAGER_FUZZ_ROUNDS", "60")) // 60
FILES = read_corpus()


def test_the_corpus_is_small_and_many_sided(tmp_path):
    assert len(FILES) >= 30
    assert ARCHIVE.stat().st_size < 200_000
    assert len({outcome(content, tmp_path / "a.tanager") for content in FILES.values()}) > 0.7 * len(FILES)


@pytest.mark.parametrize("name", FILES)
def test_files_and_their_mutations(name, tmp_path):
    path, rng = tmp_path / "a.tanager", np.random.default_rng(int(name))
    refused(path, FILES[name])
    for _ in range(ROUNDS):
        for change in (flip_bits, cut_off, insert, delete, overwrite):
            refused(path, with_checksum(change(rng, FILES[name][:-32].ljust(64, b"\0"))))
