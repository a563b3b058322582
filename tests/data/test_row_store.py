"""Encoded rows in files."""

import numpy as np
import pytest

from tanager.data import RowStore


def make_store(folder, identity="these", has_weight=True):
    return RowStore(folder, 3, np.uint8, 300, has_weight, identity)


def rows(seed, n_rows):
    rng = np.random.default_rng(seed)
    return rng.integers(0, 200, (n_rows, 3)), rng.integers(0, 300, n_rows), rng.random(n_rows)


def test_what_is_written_is_read(tmp_path):
    store, written = make_store(tmp_path), [rows(seed, n_rows) for seed, n_rows in enumerate((5, 0, 12))]
    for piece in written:
        store.append(*piece)
    blocks = list(store.blocks(4))
    assert [len(block.y) for block in blocks] == [4, 4, 4, 4, 1]
    for k in range(3):
        expected = np.concatenate([piece[k] for piece in written])
        np.testing.assert_array_equal(np.concatenate([block[k] for block in blocks]), expected)
    codes, y, weight = store.read([(16, 17), (0, 2)])
    np.testing.assert_array_equal(y, np.concatenate([written[2][1][-1:], written[0][1][:2]]))
    assert codes.dtype == np.uint8
    assert weight.shape == (3,)


def test_without_weights(tmp_path):
    store = make_store(tmp_path, has_weight=False)
    store.append(*rows(0, 5)[:2], None)
    assert next(store.blocks(9)).weight is None


def test_goes_on_after_an_interrupted_write(tmp_path):
    store = make_store(tmp_path)
    store.append(*rows(0, 5))
    with (tmp_path / "codes").open("ab") as stream:
        stream.write(b"half a piece")
    again = make_store(tmp_path)
    assert (again.n_rows, again.n_pieces, again.is_complete) == (5, 1, False)
    again.append(*rows(1, 4))
    np.testing.assert_array_equal(again.read([(5, 9)]).codes, rows(1, 4)[0])
    again.complete()
    assert make_store(tmp_path).is_complete


def test_other_rows_begin_anew(tmp_path):
    make_store(tmp_path).append(*rows(0, 5))
    assert make_store(tmp_path, identity="others").n_rows == 0


def test_lost_bytes_are_noticed(tmp_path):
    store = make_store(tmp_path)
    store.append(*rows(0, 5))
    (tmp_path / "classes").write_bytes(b"")
    with pytest.raises(OSError, match="shorter than it was"):
        store.read([(0, 5)])
    with pytest.raises(OSError, match="shorter than it was"):
        make_store(tmp_path)
