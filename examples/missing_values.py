"""
Missing values
==============

A Bayesian network needs no imputation: what is not known is summed out, exactly. Here a classifier is trained on
complete rows, and then sees rows with more and more cells missing.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.impute import SimpleImputer
from sklearn.model_selection import train_test_split

from tanager import TANClassifier

X, y = load_breast_cancer(return_X_y=True)
X, X_test, y, y_test = train_test_split(X, y, test_size=0.5, random_state=0)
clf = TANClassifier(random_state=0).fit(X, y)

# %%
# The same classifier on the same rows, with cells blanked at random: summed out, or filled with the mean first.

rng = np.random.default_rng(0)
shares = np.linspace(0, 0.9, 10)
imputer = SimpleImputer().fit(X)
summed_out, filled = [], []
for share in shares:
    blanked = np.where(rng.random(X_test.shape) < share, np.nan, X_test)
    summed_out.append(1 - clf.score(blanked, y_test))
    filled.append(1 - clf.score(imputer.transform(blanked), y_test))

_, ax = plt.subplots()
ax.plot(shares, summed_out, label="summed out")
ax.plot(shares, filled, label="filled with the mean")
ax.set(xlabel="share of cells missing", ylabel="error")
ax.legend()

# %%
# Missing cells in the training rows can be a value of their own (``missing="value"``, the default: that a cell is
# missing may say something), or be left out of counts and gradients (``missing="ignore"``).

holes = np.where(rng.random(X.shape) < 0.3, np.nan, X)
for missing in ("value", "ignore"):
    trained = TANClassifier(missing=missing, random_state=0).fit(holes, y)
    print(f"missing={missing!r}: {1 - trained.score(X_test, y_test):.2%} wrong on complete rows")
