"""
Your own loss, in PyTorch
=========================

A loss sees the log-joint of each row with each class, and nothing else of the model, so any differentiable function
works. PyTorch can compute the gradient: ``pip install 'tanager[torch]'``.
"""

import torch
from sklearn.datasets import load_digits
from sklearn.metrics import log_loss
from sklearn.model_selection import train_test_split

from tanager import GradientDescent, TANClassifier
from tanager.losses import torch_loss

X, y = load_digits(return_X_y=True)
X, X_test, y, y_test = train_test_split(X, y, test_size=0.33, random_state=0)


# %%
# Focal loss: the conditional likelihood with less weight on rows that are already classified with confidence.


def focal(log_joint, y):
    log_proba = torch.log_softmax(log_joint, dim=1).gather(1, y[:, None])[:, 0]
    return -((1 - log_proba.exp()) ** 2 * log_proba).mean()


# %%
# It trains the structure and the CPTs, like any other loss.

for name, loss in [("hybrid", "hybrid"), ("conditional", "conditional"), ("focal", torch_loss(focal))]:
    parameters = GradientDescent(loss, epochs=30, batch_size=100)
    clf = TANClassifier("subset", parameters, random_state=0).fit(X, y)
    proba = clf.predict_proba(X_test)
    print(f"{name:12} error {1 - clf.score(X_test, y_test):.2%}, log-loss {log_loss(y_test, proba):.3f}")
