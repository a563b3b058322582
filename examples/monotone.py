"""
Shapes that must not turn back
==============================

Where a rule or common sense says that a probability must not fall with a number, noise in the data should not make it
fall. Here the probability of diabetes getting worse than usual may only rise with blood pressure and body mass.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_diabetes

from tanager import TANClassifier

data = load_diabetes(scaled=False)
columns = [data.feature_names.index(name) for name in ("age", "bmi", "bp", "s5")]
X, y = data.data[:, columns], data.target > np.median(data.target)
free = TANClassifier("chow-liu", "penalised", random_state=0).fit(X, y)
bound = TANClassifier("chow-liu", "penalised", monotonic_cst=[0, 1, 1, 0], random_state=0).fit(X, y)

# %%
# The probability along blood pressure, for twenty patients whose other values stay what they are. With the constraint
# no curve ever falls: that holds for all values of the other columns, not only for these.

pressure = np.linspace(X[:, 2].min(), X[:, 2].max(), 200)
fig, axes = plt.subplots(1, 2, sharey=True, figsize=(9, 4))
for ax, clf, title in zip(axes, (free, bound), ("free", "monotone"), strict=True):
    for patient in X[:20]:
        rows = np.tile(patient, (200, 1))
        rows[:, 2] = pressure
        probability = clf.predict_proba(rows)[:, 1]
        ax.plot(pressure, probability, lw=0.8)
    ax.set(title=title, xlabel="blood pressure")
axes[0].set_ylabel("probability of getting worse than usual")

# %%
# What the constraint costs on the rows that were trained on is small.

print("errors:", round(1 - free.score(X, y), 3), "free,", round(1 - bound.score(X, y), 3), "monotone")
