"""What the built-in regularisers do to one CPT `[R_parent or 1, R_child, C]` or to phi, written as loops."""

import numpy as np

from .model_oracle import log_softmax_vector, soft_max_gradient


def shrunk(cpt, goal, share):
    """Take every block of a CPT a share of the way to the goal [R_child, C]."""
    result = np.array(cpt, dtype=np.float64)
    for a in range(len(result)):
        for b in range(len(goal)):
            for c in range(len(goal[b])):
                result[a, b, c] += share * (goal[b][c] - result[a, b, c])
    return result


def smoothed(cpt, n_child, n_parent, share):
    """One step of diffusion over the first values of child and parent, which are in order."""
    result = np.array(cpt, dtype=np.float64)
    n_parents, n_children, _ = cpt.shape
    for j in range(n_parents):
        for i in range(n_children):
            for other_j, other_i in ((j - 1, i), (j + 1, i), (j, i - 1), (j, i + 1)):
                along_child = other_j == j and 0 <= other_i < n_child and i < n_child
                along_parent = other_i == i and 0 <= other_j < n_parent and j < n_parent
                if along_child or along_parent:
                    result[j, i] += share * (cpt[other_j, other_i] - cpt[j, i])
    return result


def ridge_gradient(cpt, goal, weight):
    """Gradient of half of weight times the squared distance from the goal [R_child, C] across classes."""
    gradient = np.zeros(cpt.shape)
    for a, b in np.ndindex(cpt.shape[:2]):
        distance = [float(cpt[a, b, c]) - float(goal[b][c]) for c in range(cpt.shape[2])]
        mean = sum(distance) / len(distance)
        for c, each in enumerate(distance):
            gradient[a, b, c] = weight * (each - mean)
    return gradient


def size_gradient(phi, cost, ptr):
    """Gradient of the expected cost of the candidates, which are drawn with softmax(phi) in each segment."""
    segments = [phi[ptr[i] : ptr[i + 1]] for i in range(len(ptr) - 1)]
    probabilities = np.concatenate([np.exp(log_softmax_vector(segment)) for segment in segments])
    return soft_max_gradient(cost, probabilities, 1.0, ptr)
