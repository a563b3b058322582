"""Pictures of a fitted classifier: its structure, how it was learned, and its tables."""

from __future__ import annotations

from collections.abc import Mapping
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted

from tanager._options import check_choice
from tanager._types import FloatArray
from tanager.data import FrameEncoder
from tanager.estimators.findings import edge_widths
from tanager.learning import Findings
from tanager.learning.structures import check_image_shape
from tanager.model import Network, ParentDistribution
from tanager.pictures import Axis, draw_history, draw_log_ratio, draw_probabilities, draw_structure, draw_tree


class PlottingMixin:
    """Adds `plot_structure`, `plot_history` and `plot_cpt`, which need the extra ``tanager[plots]``."""

    classes_: NDArray[Any]
    encoder_: FrameEncoder
    history_: Mapping[str, FloatArray]
    options_: Mapping[str, Any]
    network_: Network
    description_: Network
    target_name_: str
    _distribution: ParentDistribution
    _findings: Findings

    def plot_structure(
        self,
        ax: Any = None,
        *,
        style: str = "list",
        network: str = "network",
        image_shape: tuple[int, int] | None = None,
        background: ArrayLike | None = None,
    ) -> Any:
        """Draw the parents of the features: on the pixel grid if there is an ``image_shape``, else as a tree.

        The class, a parent of every feature, is left out of lists and images. Wide edges are probable parents, and in a
        graph those that add most (see `edges_`); dotted ones are those that a feature has besides another.

        Parameters
        ----------
        ax : matplotlib axes, optional
        style : {"list", "graph"}, default="list"
            A line for each feature below its parent, or boxes and arrows from left to right with the class, as in a
            paper.
        network : {"network", "description"}, default="network"
            Draw the structure of ``network_``, which classifies, or that of ``description_``, which describes the data.
            They differ only after a default fit, where ``summary`` says so.
        image_shape : (int, int), optional
            Rows and columns of the images whose pixels are the features. Default is that of the structure, if it has
            one, as `tanager.learning.Nearest` does.
        background : array-like of D numbers, optional
            Image to draw the pixels over, for instance the mean of the rows.

        Returns
        -------
        ax : matplotlib axes

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from tanager import GradientDescent, TANClassifier
        >>> clf = TANClassifier("subset", GradientDescent(epochs=5), random_state=0).fit(*load_iris(return_X_y=True))
        >>> ax = clf.plot_structure()
        """
        check_is_fitted(self)
        check_choice("style", style, ("list", "graph"))
        check_choice("network", network, ("network", "description"))
        (parents, second), edges = self.network_.extra_parents.T, self._findings.edges
        strength = self._distribution.matrix()[np.arange(len(parents)), parents]
        if network == "description" and self._findings.described is not None:
            parents, second = self.description_.extra_parents.T
            edges, strength = self._findings.described, np.ones(len(parents))
        if style == "graph":
            widths = np.zeros(len(parents))
            widths[edges.child] = edge_widths(edges)
            names = self.encoder_.feature_labels
            return draw_tree(parents, widths, names, self.target_name_, second=second, ax=ax)
        image = None
        if image_shape is None:
            image_shape = getattr(self.options_["structure"], "image_shape", None)
        if background is not None and image_shape is None:
            raise ValueError("background requires image_shape=(rows, columns)")
        if image_shape is not None:
            shape = check_image_shape(image_shape, len(parents))
            image = np.zeros(shape) if background is None else np.asarray(background, np.float64)
            if image.size != len(parents):
                raise ValueError(f"background must have one number for each of {len(parents)} pixels, got {image.size}")
            image = image.reshape(shape)
        names = self.encoder_.feature_labels
        return draw_structure(parents, strength, second=second, names=names, image=image, ax=ax)

    def plot_history(self, ax: Any = None, *, column: str | None = None) -> Any:
        """Draw how training went, by epoch.

        Parameters
        ----------
        ax : matplotlib axes, optional
        column : str, optional
            A column of ``history_``. Default is the loss if ``ax`` is given, else loss, error and, if there was a
            search, the entropy of the parent distribution side by side.

        Returns
        -------
        matplotlib axes, or an array of them if several columns were drawn

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from tanager import GradientDescent, TANClassifier
        >>> clf = TANClassifier("subset", GradientDescent(epochs=5), random_state=0).fit(*load_iris(return_X_y=True))
        >>> clf.plot_history().shape
        (3,)
        """
        check_is_fitted(self)
        return draw_history(self.history_, column=column, ax=ax)

    def plot_cpt(self, feature: int | str, *, label: Any = None, against: Any = None, ax: Any = None) -> Any:
        """Draw the conditional probability table of a feature in ``description_``, the network that describes the data.

        Parameters
        ----------
        feature : int or str
            Number or name of a column.
        label : class, optional
            Draw what the table says for this class instead: the difference of its log-probabilities to those of the
            class ``against``, or to their mean over all other classes. This is what the feature adds to the log-odds.
        against : class, optional
        ax : matplotlib axes, or an array of them, optional
            As many as there are heat maps: one for each class if the feature has a parent, else one. A line is a value
            of the parent, a group of values, or with two parents a pair of their values.

        Returns
        -------
        matplotlib axes, or an array of them if there are several heat maps

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from tanager import GradientDescent, TANClassifier
        >>> X, y = load_iris(return_X_y=True)
        >>> clf = TANClassifier([-1, 0, 0, 2], GradientDescent(epochs=5), random_state=0).fit(X, y)
        >>> clf.plot_cpt(3).shape
        (3,)
        >>> clf.plot_cpt(3, label=2, against=1).get_title()
        'class 2 against class 1'
        """
        check_is_fitted(self)
        number = self._feature_number(feature)
        network = self.description_
        parents = [j for j in network.extra_parents[number].tolist() if j >= 0]
        names = self.encoder_.feature_labels
        columns = Axis(names[number], self.encoder_.value_labels(number))
        lines = self.encoder_.joint_labels({j: network.groups_of(j) for j in parents})
        above = Axis(", ".join(names[j] for j in parents), lines)
        classes = [f"class {name}" for name in self.classes_.tolist()]
        cpt = network.cpt(number, grouped=True)  # [x_parent, x, c]
        if label is not None or against is not None:
            ratio, title = self._log_ratio(cpt, label, against)
            return draw_log_ratio(ratio, title, above, columns, ax=ax)
        if not parents:
            rows = Axis("class", [str(name) for name in self.classes_.tolist()])
            return draw_probabilities([("", cpt[0].T)], rows, columns, ax=ax)
        panels = [(name, cpt[:, :, c]) for c, name in enumerate(classes)]
        return draw_probabilities(panels, above, columns, ax=ax)

    def _log_ratio(self, cpt: FloatArray, label: Any, against: Any) -> tuple[FloatArray, str]:
        """Log-probabilities of a class minus those of another, or the mean of those of the others."""
        if label is None:
            raise ValueError("against was given without label: give both, or label alone")
        own = self._class_number(label, "label")
        log_cpt = np.log(np.maximum(cpt, np.finfo(np.float32).tiny))
        if against is not None:
            other = self._class_number(against, "against")
            return log_cpt[:, :, own] - log_cpt[:, :, other], f"class {label} against class {against}"
        if len(self.classes_) < 2:
            raise ValueError("there is no other class to compare with")
        others = np.delete(log_cpt, own, axis=2).mean(axis=2)
        return log_cpt[:, :, own] - others, f"class {label} against the others"

    def _class_number(self, label: Any, option: str) -> int:
        classes = self.classes_.tolist()
        if label not in classes:
            known = ", ".join(map(repr, classes[:6])) + (", ..." if len(classes) > 6 else "")
            raise ValueError(f"{option}={label!r} is none of the classes {known}")
        return classes.index(label)

    def _feature_number(self, feature: int | str) -> int:
        """Number of a feature that is given by name or number."""
        labels = self.encoder_.feature_labels
        if isinstance(feature, Integral) and not isinstance(feature, bool):
            if 0 <= feature < len(labels):
                return int(feature)
            raise ValueError(f"feature {feature} does not exist: features are numbered 0 to {len(labels) - 1}")
        if isinstance(feature, str) and feature in labels:
            return labels.index(feature)
        known = ", ".join(map(repr, labels[:8])) + (", ..." if len(labels) > 8 else "")
        raise ValueError(f"there is no feature {feature!r}; the features are {known}")
