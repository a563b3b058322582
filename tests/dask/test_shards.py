"""Shards without a cluster: where they are placed, and how what they give is merged."""

import operator
import pickle
import time
from itertools import groupby

from hypothesis import given
from hypothesis import strategies as st

from tanager.dask.shards import Holder, Merging, load_answer, merge_pairs, place_in_runs


def join(one, other):
    return f"({one} {other})"


@given(st.lists(st.integers(0, 3), min_size=1, max_size=40))
def test_items_are_merged_in_one_way_wherever_they_are(worker_of_item):
    n_items = len(worker_of_item)
    everywhere = Merging(n_items, join)
    for worker in set(worker_of_item):
        here = Merging(n_items, join)
        for item, own in enumerate(worker_of_item):
            if own == worker:
                here.add(str(item), item)
        for (level, place), merged in here.waiting.items():
            everywhere.add(merged, place, level)
    assert everywhere.result == merge_pairs([str(item) for item in range(n_items)], join)


@given(
    st.lists(st.sampled_from("abcx"), max_size=40),
    st.dictionaries(st.sampled_from("abc"), st.integers(1, 4), min_size=1),
)
def test_every_worker_has_a_run_of_shards_by_its_threads(preferred, n_threads):
    placed = place_in_runs(preferred, n_threads)
    assert len(placed) == len(preferred)
    assert len([worker for worker, _ in groupby(placed)]) == len(set(placed))
    for worker, own in n_threads.items():
        assert abs(placed.count(worker) - len(preferred) * own / sum(n_threads.values())) < len(n_threads)


class Forgetful:
    """A function with memory that every call writes to and then reads, as losses of users may have."""

    def __call__(self, block, argument):
        self.memory = block
        time.sleep(0.02)
        return self.memory * argument


def make_forgetful(given):
    return given.__call__


def test_threads_of_a_worker_do_not_share_what_is_the_users():
    holder = Holder(8, list(range(8)), [10**k for k in range(8)], n_threads=4)
    question, argument = pickle.dumps((make_forgetful, operator.add, Forgetful())), pickle.dumps(3)
    assert load_answer(holder.reduce(question, argument)) == {(3, 0): 33_333_333}


def test_without_workers_any_that_comes_will_do():
    assert place_in_runs(["a", "b"], {}) == [None, None]
