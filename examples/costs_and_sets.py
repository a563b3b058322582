"""
Decisions by cost, and sets of classes
======================================

Probabilities leave two things to the user: what an error costs, and what to say where the class is not clear. Both come
after the fit, so that other costs or another coverage need no other one.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer, load_digits
from sklearn.model_selection import train_test_split

from tanager import TANClassifier

X, y = load_breast_cancer(return_X_y=True)  # 0 is malignant, 1 benign
X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.5, random_state=0, stratify=y)
clf = TANClassifier(random_state=0).fit(X_train, y_train)

# %%
# The more it costs to miss a malignant tumour, the more false alarms are worth it. The predicted classes know nothing
# of costs, and become expensive; the decisions follow them.

costs = np.array([1, 3, 10, 30, 100])
missed = np.array([(y_test == 0) & (clf.decide(X_test, {0: {1: cost}, 1: {0: 1}}) == 1) for cost in costs]).sum(axis=1)
alarms = np.array([(y_test == 1) & (clf.decide(X_test, {0: {1: cost}, 1: {0: 1}}) == 0) for cost in costs]).sum(axis=1)
predicted = clf.predict(X_test)
of_predicted = costs * ((y_test == 0) & (predicted == 1)).sum() + ((y_test == 1) & (predicted == 0)).sum()

fig, axes = plt.subplots(1, 2, figsize=(10, 4))
axes[0].plot(costs, of_predicted, "o-", label="most probable class")
axes[0].plot(costs, costs * missed + alarms, "o-", label="class of least expected cost")
axes[0].set(xscale="log", xlabel="cost of missing a malignant tumour", ylabel="cost of all test rows")
axes[0].legend()

# %%
# A prediction set has the classes that cannot be ruled out. How often the true class is among them is up to the user:
# rows that were not trained on see to it. It is what is asked for, or more where sets of one class do; a better
# classifier has smaller sets.

X, y = load_digits(return_X_y=True)
X_train, X_rest, y_train, y_rest = train_test_split(X, y, test_size=0.6, random_state=0, stratify=y)
X_cal, X_test, y_cal, y_test = train_test_split(X_rest, y_rest, test_size=0.5, random_state=0, stratify=y_rest)
coverages = [0.8, 0.9, 0.95, 0.98, 0.99]
for structure, name in (("none", "naive Bayes"), ("chow-liu", "Chow-Liu tree")):
    digits = TANClassifier(structure, "ml", random_state=0).fit(X_train, y_train).conformalize(X_cal, y_cal)
    found = [digits.evaluate_sets(X_test, y_test, coverage) for coverage in coverages]
    sizes = [each["mean_size"] for each in found]
    axes[1].plot([each["coverage"] for each in found], sizes, "o-", label=name)
    print(
        name, [f"{asked:.0%} asked, {each['coverage']:.1%} found" for asked, each in zip(coverages, found, strict=True)]
    )
axes[1].set(xlabel="share of sets with the true digit", ylabel="classes in a set, on average")
axes[1].legend()
fig.tight_layout()
