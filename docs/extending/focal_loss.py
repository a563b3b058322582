"""The focal loss (Lin et al., 2017) as a loss of Tanager: first as a function, then as a value with an option.

With p the probability of the right class given the row, a row costs ``-(1 - p)**focus * log(p)``: the conditional
likelihood with less weight on rows that are classified with confidence already.
"""

from __future__ import annotations

import numpy as np
from sklearn.datasets import load_digits
from sklearn.metrics import log_loss
from sklearn.model_selection import train_test_split

from tanager import GradientDescent, Subset, TANClassifier
from tanager.learning import Options


def focal_loss(log_joint, y, sample_weight, focus=2.0):
    """The mean focal loss of a batch and its gradient with respect to ``log_joint``.

    Parameters
    ----------
    log_joint : array of shape (B, C)
        ``log p(x_n, c)`` of each row with each class.
    y : int array of shape (B,)
        The class of each row, from 0 to C - 1.
    sample_weight : array of shape (B,) or None
    focus : float
        0 is the conditional likelihood; the higher, the less confident rows count.
    """
    rows = np.arange(len(y))
    weight = np.ones(len(y), log_joint.dtype) if sample_weight is None else sample_weight
    share = weight / weight.sum()

    shifted = log_joint - log_joint.max(axis=1, keepdims=True)
    log_posterior = shifted - np.log(np.exp(shifted).sum(axis=1, keepdims=True))
    log_p = np.minimum(log_posterior[rows, y], 0.0)
    # 1 - p without cancellation, and never zero: focus - 1 may be negative.
    rest = np.maximum(-np.expm1(log_p), np.finfo(log_joint.dtype).tiny)

    value = -(share * rest**focus * log_p).sum()
    slope = rest ** (focus - 1) * (focus * np.exp(log_p) * log_p - rest)
    grad = -np.exp(log_posterior)
    grad[rows, y] += 1.0
    grad *= (share * slope)[:, None]
    return float(value), grad.astype(log_joint.dtype)


class Focal(Options):
    """The focal loss with its option, to be nested, compared, cloned and searched over.

    Parameters
    ----------
    focus : float, at least 0, default=2.0
    """

    focus: float = 2.0

    def __post_init__(self) -> None:
        if not self.focus >= 0:
            raise ValueError(f"focus must be a number of at least 0, got {self.focus!r}")

    def __call__(self, log_joint, y, sample_weight=None):
        return focal_loss(log_joint, y, sample_weight, self.focus)


def compare(losses, epochs=30):
    """Test error in % and log-loss of a TAN on digits, for each loss."""
    X, y = load_digits(return_X_y=True)
    X, X_test, y, y_test = train_test_split(X, y, test_size=0.33, random_state=0)
    found = {}
    for name, loss in losses.items():
        parameters = GradientDescent(loss=loss, epochs=epochs, batch_size=100)
        clf = TANClassifier(Subset(max_parents=4), parameters, random_state=0).fit(X, y)
        error = 100 * (1 - clf.score(X_test, y_test))
        found[name] = error, log_loss(y_test, clf.predict_proba(X_test))
    return found


if __name__ == "__main__":
    losses = {"conditional": "conditional", "focal, focus 2": focal_loss, "focal, focus 5": Focal(focus=5.0)}
    for name, (error, loss) in compare(losses).items():
        print(f"{name:15} error {error:.1f} %, log-loss {loss:.2f}")
