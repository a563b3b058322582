"""
Your own search space
=====================

A search space is a value, ``ParentSets``: for each feature, the list of its candidate parents. Use it to tell the
search what you know about the problem.
"""

from sklearn.datasets import load_iris
from sklearn.model_selection import cross_val_score

from tanager import ParentSets, TANClassifier

X, y = load_iris(return_X_y=True, as_frame=True)
print(list(X.columns))

# %%
# Suppose that the size of the petals may depend on that of the sepals, and each width on its length. -1 means "no
# parent"; a feature with a single candidate leaves nothing to learn. The order proves that no choice makes a cycle.

space = ParentSets.from_lists([[-1], [-1, 0], [-1, 0, 1], [2]], order=[0, 1, 2, 3])
clf = TANClassifier(structure=space, random_state=0).fit(X, y)
for feature, parent in enumerate(clf.parents_):
    print(X.columns[feature], "<-", "class" if parent < 0 else f"class, {X.columns[parent]}")

# %%
# The probabilities of the parents show how clear the choice was; the last column is "no parent".

print(clf.parent_probabilities_.round(2))

# %%
# A fixed structure is a list of parents.

fixed = TANClassifier(structure=[-1, 0, 0, 2], random_state=0)
print(f"{cross_val_score(fixed, X, y, cv=5).mean():.3f}")
