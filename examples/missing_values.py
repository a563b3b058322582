"""
Missing values
==============

A Bayesian network needs no imputation: it sums out unknown values exactly. Here, a classifier is trained on complete
rows and then predicts rows with more and more missing cells.
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
# Blank cells at random in the same test rows, and either sum them out or fill in the mean first.

rng = np.random.default_rng(0)
fractions = np.linspace(0, 0.9, 10)
imputer = SimpleImputer().fit(X)
summed_out, filled = [], []
for fraction in fractions:
    blanked = np.where(rng.random(X_test.shape) < fraction, np.nan, X_test)
    summed_out.append(1 - clf.score(blanked, y_test))
    filled.append(1 - clf.score(imputer.transform(blanked), y_test))

_, ax = plt.subplots()
ax.plot(fractions, summed_out, label="summed out")
ax.plot(fractions, filled, label="filled with the mean")
ax.set(xlabel="fraction of cells missing", ylabel="error")
ax.legend()

# %%
# Missing cells in the training rows can count as a value of their own (``missing="value"``, the default, because the
# fact that a cell is missing may be informative) or be left out of counts and gradients (``missing="ignore"``).

holes = np.where(rng.random(X.shape) < 0.3, np.nan, X)
for missing in ("value", "ignore"):
    trained = TANClassifier(missing=missing, random_state=0).fit(holes, y)
    print(f"missing={missing!r}: {1 - trained.score(X_test, y_test):.2%} wrong on complete rows")
