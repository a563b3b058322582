"""Answers about a small network from the list of all its states: class and codes, with their probability."""

import itertools
import math

import numpy as np

from tests.oracles.model_oracle import log_softmax_table, log_softmax_vector


def all_states(tables, prior, parents, cards):
    """Every state as (codes, class, probability). CPTs are [R_parent or 1, R_child, C], -1 is no parent."""
    log_prior = log_softmax_vector(prior)
    log_tables = [log_softmax_table(table) for table in tables]
    states = []
    for codes in itertools.product(*(range(card) for card in cards)):
        for c in range(len(prior)):
            total = log_prior[c]
            for i, j in enumerate(parents):
                total += log_tables[i][0 if j == -1 else codes[j], codes[i], c]
            states.append((codes, c, math.exp(total)))
    return states


def agrees(state, codes, label, cards):
    """Whether a state has the observed codes (a feature's number of values: not observed) and class (-1: not)."""
    values, c, _ = state
    is_open = [code == card for code, card in zip(codes, cards, strict=True)]
    return (label in (-1, c)) and all(o or v == k for o, v, k in zip(is_open, values, codes, strict=True))


def evidence_probability(states, codes, label, cards):
    """Probability of what was observed."""
    return sum(state[2] for state in states if agrees(state, codes, label, cards))


def joint(states, targets, codes, label, cards, n_classes):
    """Joint probability of the targets, numbers of features or "class", given what was observed."""
    result = np.zeros([n_classes if target == "class" else cards[target] for target in targets])
    for state in states:
        if agrees(state, codes, label, cards):
            result[tuple(state[1] if target == "class" else state[0][target] for target in targets)] += state[2]
    return result / result.sum()


def highest_probability(states, codes, label, cards):
    """Probability of the most probable state that agrees with what was observed."""
    return max(state[2] for state in states if agrees(state, codes, label, cards))


def entropy(states):
    """Entropy of the joint distribution in nats."""
    return -sum(p * math.log(p) for _, _, p in states)


def chain_terms(states, order, codes, cards, n_classes):
    """log p(x_i | the known ones before i in the order, c), [D, C]; zero for unknown features."""
    terms = np.zeros((len(cards), n_classes))
    for c in range(n_classes):
        seen = list(cards)
        for i in order:
            before = evidence_probability(states, seen, c, cards)
            seen[i] = codes[i]
            terms[i, c] = math.log(evidence_probability(states, seen, c, cards) / before)
    return terms
