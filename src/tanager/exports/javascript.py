"""A classifier as one JavaScript module without dependencies, for browsers and Node."""

from __future__ import annotations

import json
from typing import Any

from tanager.exports.tables import check_fitted
from tanager.javascript import bundle, classifier_modules, describe_classifier

_OPENING = """\
// A Bayesian network classifier, written by tanager. Requires nothing; for browsers and Node.
//
//     import classifier from "./model.js";
//     classifier.predictProba({{ {example}: ... }}); // probabilities, in the order of classifier.classes
//
// Columns that are left out are unknown and summed out; null and NaN are missing cells.
"""


def to_javascript(clf: Any) -> str:
    """A classifier as the text of an ES module: from cells to class, probabilities and contributions.

    The default export has ``classes`` and the functions ``predict(row)``, ``predictProba(row)`` and
    ``explain(row, classes)``. A row is an object from names of columns to cells, or an array of cells. The
    probabilities are those of ``predict_proba``, with unknown values summed out in the same way.

    Parameters
    ----------
    clf : TANClassifier or TANEnsembleClassifier

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from tanager import TANClassifier
    >>> clf = TANClassifier("chow-liu", parameters="ml").fit(*load_iris(return_X_y=True))
    >>> to_javascript(clf).rstrip().endswith("export default new Classifier(document);")
    True
    """
    check_fitted(clf)
    document = describe_classifier(clf)
    example = json.dumps(document["features"][0])
    return "\n".join(
        [
            _OPENING.format(example=example),
            bundle(classifier_modules()),
            f"const document = {json.dumps(document, separators=(',', ':'), allow_nan=False)};",
            "export { Classifier };",
            "export default new Classifier(document);\n",
        ]
    )
