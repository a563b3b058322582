"""Building an ONNX graph node by node."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tanager.exports.tables import needs_extra

ML_DOMAIN = "ai.onnx.ml"


class GraphWriter:
    """Nodes and constants of a graph, or of a branch within one.

    Parameters
    ----------
    taken : iterable of str
        Names that nodes must not have: those of the inputs and outputs.
    """

    def __init__(self, taken: Iterable[str] = ()) -> None:
        self.onnx = import_onnx()
        self.nodes: list[Any] = []
        self.constants: list[Any] = []
        self._taken = set(taken)

    def branch(self) -> GraphWriter:
        """A writer for a subgraph, whose names differ from those of this graph."""
        inner = GraphWriter()
        inner._taken = self._taken
        return inner

    def constant(self, values: NDArray[Any]) -> str:
        """Add a constant tensor; returns its name."""
        name = self._new_name("constant")
        self.constants.append(self.onnx.numpy_helper.from_array(np.asarray(values), name))
        return name

    def add(self, operator: str, *inputs: str, domain: str = "", **attributes: Any) -> str:
        """Add a node with one output; returns the name of the output."""
        output = self._new_name(operator.lower())
        self.nodes.append(
            self.onnx.helper.make_node(operator, inputs, [output], output, domain=domain or None, **attributes)
        )
        return output

    def split(self, name: str, sizes: list[int], axis: int) -> list[str]:
        """Add a split of a tensor into parts of the given sizes; returns their names."""
        outputs = [self._new_name("part") for _ in sizes]
        inputs = [name, self.constant(np.array(sizes, np.int64))]
        self.nodes.append(self.onnx.helper.make_node("Split", inputs, outputs, outputs[0], axis=axis))
        return outputs

    def rename(self, result: str, name: str) -> None:
        """Make a result an output of that name."""
        self.nodes.append(self.onnx.helper.make_node("Identity", [result], [name], name))

    def cast(self, name: str, dtype: Any) -> str:
        """Add a conversion to a NumPy type."""
        return self.add("Cast", name, to=self.onnx.helper.np_dtype_to_tensor_dtype(np.dtype(dtype)))

    def mean(self, *inputs: str) -> str:
        """Add the mean of matrices of doubles; onnxruntime supports Mean in single precision only."""
        return self.add("Mul", self.add("Sum", *inputs), self.constant(np.array(1.0 / len(inputs))))

    def choose(self, condition: str, branches: tuple[GraphWriter, GraphWriter], results: tuple[str, str]) -> str:
        """Add a conditional with branches for true and false; both return a matrix of doubles."""
        helper, double = self.onnx.helper, self.onnx.TensorProto.DOUBLE
        names = [f"{name}_{kind}" for name, kind in zip(results, ("then", "else"), strict=True)]
        graphs = [
            helper.make_graph(
                [*branch.nodes, helper.make_node("Identity", [result], [name])],
                name,
                [],
                [helper.make_tensor_value_info(name, double, [None, None])],
                branch.constants,
            )
            for branch, result, name in zip(branches, results, names, strict=True)
        ]
        return self.add("If", condition, then_branch=graphs[0], else_branch=graphs[1])

    def _new_name(self, kind: str) -> str:
        number = len(self._taken)
        while f"{kind}_{number}" in self._taken:
            number += 1
        self._taken.add(f"{kind}_{number}")
        return f"{kind}_{number}"


def import_onnx() -> Any:
    """Import onnx; the error says how to install it."""
    try:
        import onnx
    except ImportError:
        raise needs_extra("onnx") from None
    return onnx
