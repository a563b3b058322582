"""
Images: a structure on the pixel grid
=====================================

In an image, good candidates for the extra parent of a pixel are the pixels next to it. ``Nearest`` takes the nearest
ones among those that precede it in an ordering, by default from the centre of the image outwards.
"""

from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

from tanager import Nearest, TANClassifier

digits = load_digits()
X, X_test, y, y_test = train_test_split(digits.data, digits.target, test_size=0.33, random_state=0)

clf = TANClassifier(Nearest(image_shape=(8, 8), max_parents=8), random_state=0).fit(X, y)
naive = TANClassifier("none", "ml").fit(X, y)
print(f"naive Bayes: {1 - naive.score(X_test, y_test):.2%} wrong")
print(f"with the learned structure: {1 - clf.score(X_test, y_test):.2%} wrong")

# %%
# Each arrow points from a pixel to one that depends on it. Pixels that are always empty gain nothing from a parent.

clf.plot_structure()

# %%
# The distribution over structures starts out uniform and sharpens during training: its entropy falls.

clf.plot_history()
