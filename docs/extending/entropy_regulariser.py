"""The entropy of the parent distribution as a term of the loss: a regulariser that makes the search decide sooner.

With ``p_i = softmax(phi_i)`` the distribution over the candidate parents of feature i, the term is

    ``strength / n * sum over i of H_i,    H_i = -sum over e of p_ie log p_ie``

for the n features that have a choice. Its gradient with respect to phi is ``-strength / n * p_ie (log p_ie + H_i)``.
"""

from __future__ import annotations

import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

from tanager import GradientDescent, Subset, TANClassifier
from tanager.training.regularisers import Hooks, Regulariser


class EntropyPenalty(Regulariser):
    """Add the mean entropy of the parent distribution to the loss.

    Parameters
    ----------
    strength : float, at least 0
        Weight of the entropy, which is in nats.
    """

    strength: float = 0.0

    def __post_init__(self) -> None:
        if not self.strength >= 0:
            raise ValueError(f"strength must be a number of at least 0, got {self.strength!r}")

    def prepare(self, run):
        """Hooks for one training run."""
        return EntropyTerm(run.layout.parent_sets.ptr, self.strength)


class EntropyTerm(Hooks):
    """The term and its gradient for one search space.

    Parameters
    ----------
    ptr : int array of shape (D + 1,)
        The candidates of feature i are those from ``ptr[i]`` to ``ptr[i + 1] - 1``.
    strength : float
    """

    def __init__(self, ptr, strength):
        n_candidates = np.diff(ptr)
        self._start = ptr[:-1]
        self._feature = np.repeat(np.arange(len(n_candidates)), n_candidates)  # of each candidate
        self._weight = strength / max(1, (n_candidates > 1).sum())

    def value(self, phi):
        """The term itself. Training does not need it, but the test of the gradient does."""
        p, log_p = self._probabilities(phi)
        return -self._weight * (p * log_p).sum()

    def add_phi_gradient(self, phi, gradient):
        """Add the gradient of the term to that of the loss, in place."""
        p, log_p = self._probabilities(phi)
        entropy = -np.add.reduceat(p * log_p, self._start)
        gradient -= self._weight * p * (log_p + entropy[self._feature])

    def _probabilities(self, phi):
        """Softmax of each feature's phi, and its logarithm with 0 where the probability is 0 (phi may be -inf)."""
        p = np.exp(phi - np.maximum.reduceat(phi, self._start)[self._feature])
        p /= np.add.reduceat(p, self._start)[self._feature]
        return p, np.log(p, where=p > 0, out=np.zeros_like(p))


def compare(strengths=(0.0, 1.0, 10.0)):
    """Entropy left after training, in nats, and test error in %, for each strength."""
    X, y = load_digits(return_X_y=True)
    X, X_test, y, y_test = train_test_split(X, y, test_size=0.33, random_state=0)
    found = {}
    for strength in strengths:
        parameters = GradientDescent(epochs=30, batch_size=100, regularisers=(EntropyPenalty(strength),))
        clf = TANClassifier(Subset(max_parents=4), parameters, random_state=0).fit(X, y)
        found[strength] = clf.history_["entropy"][-1], 100 * (1 - clf.score(X_test, y_test))
    return found


if __name__ == "__main__":
    for strength, (entropy, error) in compare().items():
        print(f"strength {strength:4.1f}  entropy {entropy:.2f}, error {error:.1f} %")
