"""Randomness of training: each draw depends only on the seed and its position, so that any step can be repeated.

Philox is a counter-based generator: stream and position go into the high words of its counter, so that draws at
different positions never overlap.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tanager._types import FloatArray

_INITIAL, _SHUFFLE, _GUMBEL, _DROPOUT = range(4)

# Making a generator costs as much as a small step, so Gumbel noise is drawn for this many steps at once.
_STEPS_OF_BLOCK = 64


@dataclass(frozen=True)
class Noise:
    """All draws of one training run.

    >>> noise = Noise(seed=3)
    >>> bool((noise.permutation(7, 100) == Noise(seed=3).permutation(7, 100)).all())
    True
    """

    seed: int

    @cached_property
    def _key(self) -> NDArray[Any]:
        return np.random.SeedSequence(self.seed).generate_state(2, np.uint64)

    def _generator(self, stream: int, position: int) -> np.random.Generator:
        return np.random.Generator(np.random.Philox(key=self._key, counter=[0, 0, stream, position]))

    def initial(self, size: int, spread: float) -> FloatArray:
        """Initial parameters, float32[size], uniform over [-spread, spread]."""
        draws = self._generator(_INITIAL, 0).random(size, np.float32)
        return (draws * np.float32(2.0) - np.float32(1.0)) * np.float32(spread)

    def permutation(self, epoch: int, n_rows: int) -> NDArray[np.int64]:
        """Order of the rows in an epoch."""
        return self._generator(_SHUFFLE, epoch).permutation(n_rows)

    def gumbel_block(self, block: int, n_candidates: int) -> FloatArray:
        """Gumbel noise of 64 steps, float64[64, E], with the small constants of the published code."""
        draws = self._generator(_GUMBEL, block).random((_STEPS_OF_BLOCK, n_candidates))
        # In place: with many candidates, new pages for each result cost as much as the logarithms.
        for _ in range(2):
            draws += 1e-6
            np.negative(np.log(draws, out=draws), out=draws)
        return draws

    def uniform_block(self, block: int, n_slots: int) -> FloatArray:
        """Uniform draws of 64 steps, float64[64, S]."""
        return self._generator(_DROPOUT, block).random((_STEPS_OF_BLOCK, n_slots))


class StepStream:
    """Draws step by step, made in blocks; keeps the current block."""

    def __init__(self, draw_block: Callable[[int], FloatArray]) -> None:
        self._draw_block = draw_block
        self._number = -1
        self._block: FloatArray = np.empty((0, 0))

    def steps(self, first: int, n_steps: int) -> FloatArray:
        """Draws of so many steps from one on, a line for each."""
        parts = []
        while n_steps > 0:
            number, line = divmod(first, _STEPS_OF_BLOCK)
            if number != self._number:
                self._number, self._block = number, self._draw_block(number)
            parts.append(self._block[line : line + n_steps])
            first, n_steps = first + len(parts[-1]), n_steps - len(parts[-1])
        return parts[0] if len(parts) == 1 else np.concatenate(parts)


class GumbelStream(StepStream):
    """Gumbel noise step by step, float64[E]."""

    def __init__(self, noise: Noise, n_candidates: int) -> None:
        super().__init__(lambda block: noise.gumbel_block(block, n_candidates))


class DropoutStream(StepStream):
    """Uniform draws step by step, float64[S], which decide which features lose their parent."""

    def __init__(self, noise: Noise, n_slots: int) -> None:
        super().__init__(lambda block: noise.uniform_block(block, n_slots))
