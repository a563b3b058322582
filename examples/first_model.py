"""
A first model in five minutes
=============================

From a table to a classifier that is measured, read, explained, asked and saved.
"""

import tempfile
from pathlib import Path

from sklearn.datasets import load_wine
from sklearn.model_selection import cross_val_score

import tanager
from tanager import TANClassifier

X, y = load_wine(return_X_y=True, as_frame=True)
y = y.map({0: "Barolo", 1: "Grignolino", 2: "Barbera"})
X.head()

# %%
# Columns may be numbers, words or both. Numbers are cut where the classes change. The classifier is a scikit-learn
# estimator like any other.

clf = TANClassifier(random_state=0)
print(f"five-fold accuracy: {cross_val_score(clf, X, y, cv=5).mean():.3f}")
clf.fit(X, y)

# %%
# What it learned: for each feature at most one other feature that it depends on, besides the class.

clf.plot_structure()

# %%
# The table of one feature: how probable its values are, given its parent's, for each class.

clf.plot_cpt("color_intensity")

# %%
# Why is the first bottle taken for what it is? The log-odds are a sum, so the contribution of each feature is exact.

clf.plot_explanation(X.iloc[0])

# %%
# The same as a table:

clf.explain(X.iloc[0]).round(2)

# %%
# It is a joint distribution, so it also answers other questions. How probable are the classes if nothing is known but
# the alcohol? And what might such a bottle look like otherwise? Training for classification bends the distribution
# towards telling classes apart; for questions like these, maximum likelihood is the better choice.

likely = TANClassifier("chow-liu", parameters="ml").fit(X, y)
few = X.iloc[:1].copy()
few.loc[:, few.columns != "alcohol"] = float("nan")
for kind, probability in zip(likely.classes_, likely.predict_proba(few)[0], strict=True):
    print(f"{kind}: {probability:.3f}")
bottles, kinds = likely.sample(3, given={"alcohol": 13.9}, random_state=0)
print(kinds)
bottles.iloc[:, :4]

# %%
# A model file is plain numbers and text; loading it runs no code.

path = Path(tempfile.mkdtemp()) / "wine.tanager"
clf.save(path)
print(f"{path.stat().st_size / 1024:.0f} kB", tanager.load(path).predict(X[:2]))
