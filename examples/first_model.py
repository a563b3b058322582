"""
A first model in five minutes
=============================

Fit a classifier to a data frame, measure it, look inside, explain a prediction, query it and save it.
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
# Columns may hold numbers or words. Numbers are binned where the classes change. The classifier is a scikit-learn
# estimator like any other.

clf = TANClassifier(random_state=0)
print(f"five-fold accuracy: {cross_val_score(clf, X, y, cv=5).mean():.3f}")
clf.fit(X, y)

# %%
# It learned which other feature, if any, each feature depends on besides the class.

clf.plot_structure()

# %%
# The conditional probability table (CPT) of one feature: the probability of its values given its parent's value, for
# each class.

clf.plot_cpt("color_intensity")

# %%
# Why is the first bottle classified as it is? The log-odds are a sum, so the contribution of each feature is exact.

clf.plot_explanation(X.iloc[0])

# %%
# The same in numbers:

clf.explain(X.iloc[0]).round(2)

# %%
# The model is a joint distribution, so it answers other questions too. How probable is each class if only the alcohol
# is known? What do bottles with that much alcohol look like? Training for classification distorts the distribution in
# order to separate the classes; for such questions, maximum likelihood (``parameters="ml"``) is the better choice.

likely = TANClassifier("chow-liu", "ml").fit(X, y)
few = X.iloc[:1].copy()
few.loc[:, few.columns != "alcohol"] = float("nan")
for kind, probability in zip(likely.classes_, likely.predict_proba(few)[0], strict=True):
    print(f"{kind}: {probability:.3f}")
bottles, kinds = likely.sample(3, given={"alcohol": 13.9}, random_state=0)
print(kinds)
bottles.iloc[:, :4]

# %%
# A model file holds only numbers and text; loading it runs no code.

path = Path(tempfile.mkdtemp()) / "wine.tanager"
clf.save(path)
print(f"{path.stat().st_size / 1024:.0f} kB", tanager.load(path).predict(X[:2]))
