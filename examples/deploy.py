"""
Deploy as C or ONNX
===================

This kind of classifier is a few probability tables and a sum. It runs in integer arithmetic on a microcontroller, and
in any ONNX runtime.
"""

import subprocess
import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import onnxruntime
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

from tanager import Nearest, TANClassifier
from tanager.exports import bit_width_curve, to_c, to_onnx

X, y = load_digits(return_X_y=True)
X, X_test, y, y_test = train_test_split(X, y, test_size=0.33, random_state=0)
clf = TANClassifier(Nearest(image_shape=(8, 8)), random_state=0).fit(X, y)

# %%
# ONNX
# ----
# The graph takes the raw numbers; it includes the bins.

session = onnxruntime.InferenceSession(to_onnx(clf).SerializeToString())
inputs = {session.get_inputs()[0].name: X_test}
label, probabilities = session.run(["label", "probabilities"], inputs)
print("largest difference:", float(np.abs(probabilities - clf.predict_proba(X_test)).max()))

# %%
# C
# -
# One header with integer CPTs. How many bits does each parameter need?

curve = bit_width_curve(clf, X_test, y_test)
_, ax = plt.subplots()
ax.plot(curve.bits, 100 * curve.error, marker="o")
ax.axhline(100 * curve.full_error, color="grey", linestyle="--", label="floating point")
ax.set(xlabel="bits per parameter", ylabel="error in percent")
ax.legend()

# %%
# Six bits suffice here. Write the header, compile it, and look at its beginning:

folder = Path(tempfile.mkdtemp())
to_c(clf, folder / "digits.h", bits=6, name="digits")
(folder / "main.c").write_text('#include "digits.h"\nint main(void) { return 0; }\n')
subprocess.run(["gcc", "-std=c99", "-Wall", "-c", "main.c"], cwd=folder, check=True)
print((folder / "digits.h").read_text()[:600])
