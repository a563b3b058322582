"""Fits that are broken at any stage: by an error at any call of a function of tanager, and by signals at any moment.

``python -m tests.estimators.breaking signals 200`` sends 200 signals; `test_broken_fits` calls it in a process of its
own, since a signal that comes late would end the tests.
"""

import copy
import inspect
import os
import signal
import sys
import threading
import time

import numpy as np
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted

import tanager
from tanager import (
    CoveringPaths,
    DisjointTrees,
    GradientDescent,
    IndependentSearches,
    SampledStructures,
    TANClassifier,
    TANEnsembleClassifier,
)

FOLDER = os.path.dirname(tanager.__file__)
SHORT = GradientDescent(epochs=2, batch_size=50)


class InPieces(TANClassifier):
    """Learns the rows of each fit on top of those before."""

    def fit(self, X, y):
        return self.partial_fit(X, y, classes=["no", "perhaps", "yes"])


KINDS = {
    "counts": lambda: TANClassifier("chow-liu", "ml", random_state=0),
    "penalised": lambda: TANClassifier("chow-liu", "penalised", random_state=0),
    "default": lambda: TANClassifier(random_state=0),
    "search": lambda: TANClassifier("subset", SHORT, random_state=0),
    "projected": lambda: TANClassifier("free", SHORT, random_state=0),
    "k-dependence": lambda: TANClassifier("k-dependence", SHORT, random_state=0),
    "greedy": lambda: TANClassifier("greedy", "ml", random_state=0),
    "calibrated": lambda: TANClassifier("none", "ml", calibrate=True, random_state=0),
    "default ensemble": lambda: TANEnsembleClassifier(random_state=0),
    "trees": lambda: TANEnsembleClassifier(DisjointTrees(2), "ml", random_state=0),
    "joint members": lambda: TANEnsembleClassifier(CoveringPaths(2), SHORT, random_state=0),
    "separate members": lambda: TANEnsembleClassifier(
        IndependentSearches("subset", 2), SHORT, random_state=0, n_jobs=2
    ),
    "drawn members": lambda: TANEnsembleClassifier(SampledStructures("subset", 2), SHORT, random_state=0),
    "counts in pieces": lambda: InPieces("chow-liu", "ml", random_state=0),
    "gradients in pieces": lambda: InPieces("subset", SHORT, random_state=0),
}


def first_rows():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 120)
    return rng.normal(size=(120, 4)) + y[:, None], np.array(["no", "yes"])[y]


def second_rows():
    """Other columns, other classes, which sort the other way round."""
    rng = np.random.default_rng(1)
    y = rng.integers(0, 3, 150)
    return rng.normal(size=(150, 3)) - y[:, None], np.array(["c", "b", "a"])[y]


def later_rows():
    """The same columns, with a class and missing cells that are new."""
    rng = np.random.default_rng(2)
    y = rng.integers(0, 3, 150)
    X = rng.normal(size=(150, 4)) + y[:, None]
    return np.where(rng.random(X.shape) < 0.1, np.nan, X), np.array(["no", "perhaps", "yes"])[y]


class BrokenError(Exception):
    """Raised in the middle of a fit."""


class At:
    """Do something at one of the calls of functions of tanager in a ``with`` block, and count the calls."""

    def __init__(self, call, act):
        self.n_calls, self._call, self._act = 0, call, act

    def __enter__(self):
        sys.setprofile(self._look)
        return self

    def __exit__(self, *_):
        sys.setprofile(None)

    def _look(self, frame, event, _):
        # An error while a generator that is no longer needed is closed would be ignored.
        is_generator = frame.f_code.co_flags & inspect.CO_GENERATOR
        if event == "call" and frame.f_code.co_filename.startswith(FOLDER) and not is_generator:
            self.n_calls += 1
            if self.n_calls == self._call:
                sys.setprofile(None)
                self._act()


def fail():
    raise BrokenError


def is_fitted(estimator):
    try:
        check_is_fitted(estimator)
    except NotFittedError:
        return False
    return True


def answers(estimator, X):
    return estimator.predict_proba(X).tobytes(), estimator.classes_.tolist()


class Whole:
    """What an estimator is before a fit and after it; anything else is a mixture."""

    def __init__(self, make, is_second):
        self.estimator = make()
        self.goes_on = isinstance(self.estimator, InPieces)
        self.X, y = self.rows = first_rows()
        if is_second:
            self.estimator.fit(self.X, y)
            self.rows = later_rows() if self.goes_on else second_rows()
        self.before = dict(vars(self.estimator))
        self.expected = answers(self.estimator, self.X) if is_second else None
        self.after = answers(self.twin().fit(*self.rows), self.rows[0])

    def twin(self):
        """Another estimator that has learned the same."""
        return copy.deepcopy(self.estimator)

    def fit(self):
        self.estimator.fit(*self.rows)

    def check(self, *, may_be_done=False):
        """The estimator is as before; or, if that is allowed, all that the whole fit gives."""
        now = vars(self.estimator)
        if now.keys() == self.before.keys() and all(now[name] is value for name, value in self.before.items()):
            assert is_fitted(self.estimator) == (self.expected is not None)
            if self.expected is not None:
                assert answers(self.estimator, self.X) == self.expected
            if self.goes_on:
                assert answers(self.twin().fit(*self.rows), self.rows[0]) == self.after
            return
        assert may_be_done, sorted(name for name in now if now[name] is not self.before.get(name))
        assert answers(self.estimator, self.rows[0]) == self.after
        self.estimator.__dict__ = dict(self.before)


def interrupted(fit, delay):
    """Send SIGINT to this process after a while; whether the fit ended by it. The signal never comes later."""
    main = threading.main_thread().ident
    sender = threading.Timer(delay, lambda: signal.pthread_kill(main, signal.SIGINT))
    try:
        sender.start()
        fit()
        while True:  # the signal is on its way
            time.sleep(0.001)
    except KeyboardInterrupt:
        return True


def send_signals(n_signals):
    """Signals at random moments of fits of all kinds, first and second; prints how many were sent."""
    rng = np.random.default_rng(int.from_bytes(os.urandom(4)))
    cases = [(name, is_second) for name in KINDS for is_second in (False, True)]
    for number, (name, is_second) in enumerate(cases):
        whole = Whole(KINDS[name], is_second)
        twin, start = whole.twin(), time.perf_counter()
        twin.fit(*whole.rows)
        seconds = time.perf_counter() - start
        for _ in range((n_signals + number) // len(cases)):
            interrupted(whole.fit, rng.uniform(0, seconds))
            whole.check(may_be_done=True)
    print(sum((n_signals + number) // len(cases) for number in range(len(cases))))


if __name__ == "__main__":
    send_signals(int(sys.argv[2]))
