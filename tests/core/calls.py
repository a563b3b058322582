"""A right call of every callable of the core, made from a small random problem."""

from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np

from tanager import core
from tanager.structure import depth_first_order
from tests.core.test_messages import network_of
from tests.core.trainers import CALLBACK, LOSSES, make_case
from tests.strategies import make_model


@dataclass
class Call:
    """A right call: arguments by name, and the names of those that it writes to."""

    function: Callable[..., Any]
    arguments: dict[str, Any]
    writes: set[str] = field(default_factory=set)


# Small random problems.


def random_space(rng, *, is_forest=False):
    """Candidates of each feature, which have lower numbers, and cards."""
    n_features = rng.integers(1, 5)
    lists = []
    for i in range(n_features):
        parents = [-1, *range(i)]
        n_kept = 1 if is_forest else rng.integers(1, len(parents) + 1)
        lists.append(rng.permutation(parents)[:n_kept].tolist())
    return lists, rng.integers(1, 5, n_features).tolist()


def random_model(rng, *, is_forest=False, n_classes=None):
    lists, cards = random_space(rng, is_forest=is_forest)
    n_classes = n_classes or int(rng.choice([1, 2, 3, 5, 8, 9, 17]))
    return make_model(lists, cards, n_classes, int(rng.integers(2**31)), n_rows=int(rng.integers(0, 12)))


def random_case(rng):
    lists, cards = random_space(rng)
    if len(cards) >= 3 and rng.random() < 0.5:
        lists[2] = [*lists[2], (0, 1)]
    n_classes = int(rng.choice([1, 2, 3, 5, 9]))
    options = {"n_rows": int(rng.integers(1, 12)), "is_weighted": bool(rng.random() < 0.5)}
    return make_case(lists, cards, n_classes, int(rng.integers(2**31)), **options)


def random_codes(rng, codes):
    """Codes in any whole-number type, some of them unknown."""
    codes = np.where(rng.random(codes.shape) < 0.1, 100, codes)
    return codes.astype(rng.choice([np.uint8, np.uint16, np.int32, np.int64]))


def random_range(rng, size):
    lo, hi = sorted(rng.integers(0, size + 1, 2).tolist())
    return {"lo": lo, "hi": hi}


# A right call of each callable.


def count_cpts(rng):
    model = random_model(rng)
    arguments = {
        **random_range(rng, len(model.cards)),
        "codes": random_codes(rng, model.codes),
        "y": model.y,
        "weight": model.weight.astype(np.float64),
        "cpts": tuple(model.layout.cpts),
        "counts": np.zeros(model.layout.size),
        "n_classes": model.n_classes,
    }
    return Call(core.count_cpts, arguments, {"counts"})


def best_prior_rows(rng):
    model = random_model(rng)
    arguments = {
        **random_range(rng, len(model.cards)),
        "cpts": tuple(model.layout.cpts),
        "counts": rng.integers(0, 5, model.layout.size).astype(np.float64),
        "n_classes": model.n_classes,
        "offered": rng.uniform(0.1, 9.0, 3),
        "prior_rows": np.zeros((len(model.parent), 2)),
    }
    return Call(core.best_prior_rows, arguments, {"prior_rows"})


def back_off(rng):
    made = best_prior_rows(rng).arguments
    del made["offered"]
    size, n_candidates = len(made["counts"]), len(made["prior_rows"])
    outputs = {"values": np.zeros(size), "left_out": np.zeros(size), "gains": np.zeros(n_candidates)}
    return Call(
        core.back_off, {**made, "prior_rows": rng.uniform(0.0, 9.0, (n_candidates, 2)), **outputs}, set(outputs)
    )


def pair_information(rng):
    model = random_model(rng)
    n_features = len(model.cards)
    arguments = {
        **random_range(rng, n_features),
        "columns": np.ascontiguousarray(random_codes(rng, model.codes).T),
        "y": model.y,
        "weight": model.weight.astype(np.float64),
        "cards": np.array(model.cards),
        "information": np.zeros((n_features, n_features)),
        "n_classes": model.n_classes,
    }
    return Call(core.pair_information, arguments, {"information"})


def information_of_counts(rng):
    model = random_model(rng)
    n_features = len(model.cards)
    arguments = {
        **random_range(rng, n_features),
        "cpts": tuple(model.layout.cpts),
        "counts": rng.integers(0, 5, model.layout.size).astype(np.float64),
        "total": float(rng.integers(1, 100)),
        "information": np.zeros((n_features, n_features)),
        "n_classes": model.n_classes,
    }
    return Call(core.information_of_counts, arguments, {"information"})


def classed_rows(rng):
    n_rows, n_classes = int(rng.integers(0, 30)), int(rng.integers(1, 5))
    arguments = {
        "y": rng.integers(0, n_classes, n_rows).astype(np.int32),
        "weight": None if rng.random() < 0.5 else rng.integers(0, 5, n_rows),
        "n_classes": n_classes,
        "unit": float(rng.choice([1.0, 0.25])),
    }
    return Call(core.ClassedRows, arguments)


def find_gaps(rng):
    rows = classed_rows(rng).arguments
    arguments = {
        "rows": core.ClassedRows(**rows),
        "values": np.round(rng.normal(size=len(rows["y"])), 1),
        "best_passing": bool(rng.random() < 0.5),
        "max_bins": int(rng.integers(1, 9)),
    }
    return Call(core.find_gaps, arguments)


def effects(rng):
    n_columns, n_rows, n_classes = int(rng.integers(1, 4)), int(rng.integers(0, 9)), int(rng.choice([1, 2, 3, 9]))
    cards = rng.integers(1, 5, n_columns)
    tables = np.stack([rng.integers(0, n_columns, 3), rng.integers(-1, n_columns, 3)], axis=1)
    arguments = {
        "columns": np.stack([rng.integers(0, card, n_rows) for card in cards]).astype(np.uint16),
        "y": rng.integers(0, n_classes, n_rows),
        "weight": rng.uniform(0.1, 2.0, n_rows),
        "n_classes": n_classes,
        "cards": cards,
        "edges": rng.uniform(0.0, 2.0, (cards - 1).sum()),
        "tables": tables[: rng.integers(0, 4)],
        "copies": 1.0 if n_classes <= 2 else float(rng.uniform(1.0, 9.0)),
        "n_threads": int(rng.integers(1, 4)),
    }
    return Call(core.Effects, arguments)


def of_effects(method, writes):
    def make(rng):
        made = effects(rng).arguments
        found = core.Effects(**made)
        n_rows, n_classes, size = len(made["y"]), made["n_classes"], found.n_entries
        choices = {
            "theta": rng.normal(size=size),
            "penalties": rng.uniform(0.0, 2.0, (len(made["tables"]), 5)),
            "gradient": np.zeros(size),
            "out": np.zeros((n_rows, n_classes) if method == "probabilities" else size),
            "degrees": np.zeros(len(made["tables"])),
            "pulls": np.zeros(len(made["tables"])),
            "most_steps": 5,
            "tolerance": 1e-4,
        }
        names = {
            "loss": ["theta", "penalties", "gradient"],
            "minimise": ["theta", "penalties", "most_steps", "tolerance"],
            "probabilities": ["theta", "out"],
            "curvature": ["theta", "penalties", "out"],
            "freedom": ["theta", "penalties", "degrees", "pulls"],
        }[method]
        return Call(getattr(found, method), {name: choices[name] for name in names}, set(writes))

    return make


def pair_gains(rng):
    made = effects(rng).arguments
    n_columns, n_rows = made["columns"].shape
    width = made["n_classes"]
    arguments = {
        **random_range(rng, n_columns),
        "columns": made["columns"],
        "cards": made["cards"],
        "residual": rng.normal(size=(n_rows, width)).astype(np.float32),
        "curvature": rng.random((n_rows, width)).astype(np.float32),
        "ridge": 1.0,
        "gains": np.zeros((n_columns, n_columns)),
    }
    return Call(core.pair_gains, arguments, {"gains"})


def moves_of(rng):
    """Arguments that calls about moves share, and a structure with its log-joint."""
    model = random_model(rng)
    cpts, n_rows = model.layout.cpts, len(model.y)
    columns = np.zeros((len(model.cards) + 1, n_rows), np.int32)
    columns[:-1] = random_codes(rng, model.codes).T
    terms = (model.arena(), model.arena(), columns, model.y, np.full(n_rows, 1 / max(n_rows, 1)), model.n_classes)
    selected = np.array([rng.integers(a, b) for a, b in zip(cpts.ptr[:-1], cpts.ptr[1:], strict=True)])
    log_joint = core.empty_log_joint(model.prior, n_rows)
    slot = int(rng.integers(len(selected)))
    shared = {"terms": terms, "cpts": tuple(cpts), "log_joint": log_joint, "score": (bool(rng.random() < 0.5), 1.0)}
    candidate = int(rng.integers(cpts.ptr[slot], cpts.ptr[slot + 1]))
    return model, shared, {"slot": slot, "candidate": candidate}, selected


def log_frequencies(rng):
    model = random_model(rng)
    arguments = {
        **random_range(rng, len(model.cards)),
        "counts": rng.uniform(0.0, 3.0, model.layout.size),
        "cpts": tuple(model.layout.cpts),
        "n_classes": model.n_classes,
        "smoothing": 1.0,
        "deducted": 0.0,
        "theta": model.arena(),
    }
    return Call(core.log_frequencies, arguments, {"theta"})


def empty_log_joint(rng):
    prior = rng.normal(size=rng.integers(1, 20)).astype(np.float32)
    return Call(core.empty_log_joint, {"prior": prior, "n_rows": int(rng.integers(0, 20))})


def add_terms(rng):
    _, shared, move, _ = moves_of(rng)
    del shared["score"]
    return Call(core.add_terms, {**move, "sign": 1.0, **shared}, {"log_joint"})


def candidate_score(rng):
    _, shared, move, _ = moves_of(rng)
    return Call(core.candidate_score, {**move, "base": shared.pop("log_joint"), **shared})


def move_scores(rng):
    model, shared, _, selected = moves_of(rng)
    scores = np.zeros(len(model.phi))
    return Call(
        core.move_scores,
        {**random_range(rng, len(selected)), **shared, "selected": selected, "scores": scores},
        {"scores"},
    )


def anneal(rng):
    _, shared, _, selected = moves_of(rng)
    cpts = shared["cpts"]
    slot = rng.integers(0, len(selected), 6)
    moves = (slot, np.array([rng.integers(cpts[1][s], cpts[1][s + 1]) for s in slot]), rng.normal(size=6))
    made = {**shared, "moves": moves, "selected": selected, "best": selected.copy(), "scores": np.full(2, -9.0)}
    return Call(core.anneal, made, {"selected", "best", "scores", "log_joint"})


def descends_from(rng):
    n_features = int(rng.integers(1, 6))
    arguments = {
        "feature": int(rng.integers(n_features)),
        "ancestor": int(rng.integers(n_features)),
        "parent": rng.integers(0, n_features + 1, 2 * n_features),
        "selected": rng.integers(0, 2 * n_features, n_features),
    }
    return Call(core.descends_from, arguments)


def predictor_arguments(model):
    prior, layout = model.prior.astype(np.float64), model.layout
    return {"theta": model.arena(), "prior": prior, "cpts": tuple(layout.cpts), "pairs": layout.pairs}


def predictor(rng):
    return Call(core.Predictor, predictor_arguments(random_model(rng, is_forest=True)))


def of_predictor(method):
    def make(rng):
        model = random_model(rng, is_forest=True)
        found = core.Predictor(**predictor_arguments(model))
        codes = random_codes(rng, np.tile(model.codes, (int(rng.choice([1, 1, 100])), 1)))
        return Call(getattr(found, method), {"codes": codes, "n_threads": int(rng.integers(1, 4))})

    return make


def shorten_lines(rng):
    n_classes, n_lines = int(rng.integers(1, 20)), int(rng.integers(0, 9))
    theta = rng.normal(size=n_lines * n_classes + 32).astype(np.float32)
    for width in range(n_classes, n_classes + 32):  # the one that the core wants
        call = Call(core.shorten_lines, {"theta": theta, "steps": np.zeros((n_lines, width), np.uint16)}, {"steps"})
        call.arguments["n_classes"] = n_classes
        try:
            call.function(**call.arguments)
        except ValueError:
            continue
        return call
    raise AssertionError("no width fits")


def widen_codes(rng):
    model = random_model(rng)
    n_features = len(model.cards)
    pairs = rng.integers(0, n_features, (rng.integers(0, 3), 2))
    cards = np.array([*model.cards, *(model.cards[a] * model.cards[b] for a, b in pairs), 1])
    arguments = {
        **random_range(rng, len(model.y)),
        "codes": random_codes(rng, model.codes),
        "pairs": pairs,
        "cards": cards,
        "wide": np.zeros((len(model.y), len(cards) - 1), rng.choice([np.uint8, np.uint16, np.int64])),
    }
    return Call(core.widen_codes, arguments, {"wide"})


def group_codes(rng):
    model = random_model(rng)
    cards = np.array([rng.integers(1, card + 1) for card in model.cards])
    groups = [rng.integers(0, groups, card) for groups, card in zip(cards, model.cards, strict=True)]
    arguments = {
        **random_range(rng, len(model.y)),
        "codes": random_codes(rng, model.codes),
        "of_value": np.concatenate(groups),
        "start": np.cumsum([0, *model.cards]),
        "cards": cards,
        "wide": np.zeros((len(model.y), 2 * len(cards)), rng.choice([np.uint8, np.uint16, np.int64])),
    }
    return Call(core.group_codes, arguments, {"wide"})


def question(rng):
    """A forest and rows that are asked about."""
    model = random_model(rng, is_forest=True)
    forest = network_of(model).forest()
    forest = (*forest[:2], tuple(forest.cpts), *forest[3:])
    classes = rng.integers(-1, model.n_classes, len(model.y))
    rows = {**random_range(rng, len(model.y)), "forest": forest, "codes": random_codes(rng, model.codes)}
    return model, {**rows, "classes": classes}


def marginal_log_joint(rng):
    model, rows = question(rng)
    n_rows = len(model.y)
    numbers = rng.permutation(n_rows)[: rng.integers(0, n_rows + 1)]
    out = np.zeros((n_rows, model.n_classes))
    arguments = {"rows": numbers, "forest": rows["forest"], "codes": rows["codes"], "log_joint": out}
    return Call(core.marginal_log_joint, arguments, {"log_joint"})


def fill_chain_terms(rng):
    model, rows = question(rng)
    del rows["classes"]
    terms = np.zeros((len(model.y), len(model.cards), model.n_classes))
    return Call(core.fill_chain_terms, {**rows, "terms": terms}, {"terms"})


def fill_marginals(rng):
    model, rows = question(rng)
    n_rows = len(model.y)
    out = {
        "class_probabilities": np.zeros((n_rows, model.n_classes)),
        "feature_probabilities": np.zeros((n_rows, sum(model.cards))),
    }
    return Call(core.fill_marginals, {**rows, **out}, set(out))


def fill_class_joint(rng):
    model, rows = question(rng)
    feature = int(rng.integers(len(model.cards)))
    out = np.zeros((len(model.y), model.cards[feature], model.n_classes))
    return Call(core.fill_class_joint, {**rows, "feature": feature, "out": out}, {"out"})


def fill_pair_joint(rng):
    model, rows = question(rng)

    def path_up(feature):
        path = [feature]
        while model.parent[path[-1]] >= 0:
            path.append(model.parent[path[-1]])
        return path

    first, second = (path_up(int(i)) for i in rng.integers(0, len(model.cards), 2))
    common = next((i for i in first if i in second), None)
    if common is not None:
        first, second = (path[: path.index(common) + 1] for path in (first, second))
    out = np.zeros((len(model.y), model.cards[first[0]], model.cards[second[0]], model.n_classes))
    paths = {"first_path": np.array(first), "second_path": np.array(second)}
    return Call(core.fill_pair_joint, {**rows, **paths, "out": out}, {"out"})


def open_forest(rng):
    """A forest whose CPTs may be changed."""
    model = random_model(rng, is_forest=True)
    cards = np.array(model.cards)
    start = np.cumsum([0, *cards])
    group = np.arange(start[-1]) - np.repeat(start[:-1], cards)
    arrays = (rng.normal(size=model.layout.size), rng.normal(size=model.n_classes))
    order = depth_first_order(model.parent)
    return model, (*arrays, tuple(model.layout.cpts), order, group, start)


def normalise_forest(rng):
    return Call(core.normalise_forest, {"forest": open_forest(rng)[1]}, {"forest"})


def settle(rng):
    model, forest = open_forest(rng)
    arguments = {
        "forest": forest,
        "frequencies": rng.uniform(0.1, 1.0, model.layout.size // model.n_classes),
        "classes": rng.dirichlet(np.ones(model.n_classes)),
        "tolerance": np.full(model.n_classes, 0.01),
        "most_sweeps": int(rng.integers(0, 4)),
    }
    return Call(core.settle, arguments, {"forest"})


def fill_frequencies(rng):
    model = random_model(rng, is_forest=True)
    n_lines = model.layout.size // model.n_classes
    arguments = {
        "cpts": tuple(model.layout.cpts),
        "counts": rng.poisson(2.0, model.layout.size).astype(float),
        "n_classes": model.n_classes,
        "prior_rows": 10.0,
        "given": np.zeros(n_lines),
        "joint": np.zeros(n_lines),
    }
    return Call(core.fill_frequencies, arguments, {"given", "joint"})


def complete_most_probably(rng):
    model, rows = question(rng)
    n_rows = len(model.y)
    out = {
        "full_codes": np.zeros((n_rows, len(model.cards)), np.int64),
        "full_classes": np.zeros(n_rows, np.int64),
        "log_probability": np.zeros(n_rows),
    }
    return Call(core.complete_most_probably, {**rows, **out}, set(out))


def draw_completions(rng):
    model, rows = question(rng)
    n_rows, n_features = len(model.y), len(model.cards)
    out = {"drawn_codes": np.zeros((n_rows, n_features), np.int64), "drawn_classes": np.zeros(n_rows, np.int64)}
    return Call(core.draw_completions, {**rows, "uniform": rng.random((n_rows, n_features + 1)), **out}, set(out))


STATE = {"theta", "prior", "phi", "last", "updates"}


def trainer(rng):
    case = random_case(rng)
    n_candidates, n_slots = case.n_candidates, case.n_slots
    cards = case.layout.cards
    offset = np.concatenate([[0], np.cumsum(cards * case.layout.n_classes)])
    goals = rng.normal(size=offset[-1]).astype(np.float32)
    parents = case.layout.parent_sets.parents
    n_ordered = np.concatenate([cards, np.zeros(len(case.layout.cpts.cards) - len(cards), np.int64)])
    actions = {
        "dropout": 0.5,
        "shrinkage": (goals, offset, 0.1),
        "smoothness": (n_ordered, 0.1),
        "pull": (goals.copy(), offset.copy(), 0.1),
        "size_cost": rng.random(n_candidates),
        "forest_parents": np.where((parents < 0) | (parents >= n_slots), n_slots, parents).astype(np.int64),
    }
    kept = {name: actions[name] for name in actions if rng.random() < 0.3}
    kind = str(rng.choice(["nll", "hybrid", "conditional", "callback"]))
    loss = CALLBACK if kind == "callback" else LOSSES[kind][0]
    changes = {
        "batch_size": int(rng.integers(1, len(case.y) + 1)),
        "is_dense": bool(rng.random() < 0.5),
        "actions": kept,
        "n_threads": int(rng.integers(1, 4)),
    }
    return Call(core.Trainer, case.arguments(case.state(), loss, **changes), STATE)


def zero_loss(log_joint, y, weight):
    return 0.0, np.zeros_like(log_joint)


def trainer_run(rng):
    made = trainer(rng).arguments
    n_rows, batch_size = len(made["y"]), made["batch_size"]
    n_steps = int(rng.integers(1, 3))
    callbacks = {
        "loss": zero_loss,
        "change_structure": lambda step, selected, soft: None,
        "move_cpts": lambda selected, rate: None,
        "add_phi_gradient": lambda gradient: None,
    }
    arguments = {
        "step": int(rng.integers(0, 3)),
        "rows": rng.integers(0, n_rows, n_steps * batch_size),
        "gumbel": rng.gumbel(size=(n_steps, len(made["phi"][0]))),
        "uniform": rng.random((n_steps, len(made["cpts"][0]))),
        "rate": 0.1,
        "tau": 1.0,
        "phi_rate": 0.1,
        "callbacks": {name: callbacks[name] for name in callbacks if name == "loss" or rng.random() < 0.3},
    }
    return Call(core.Trainer(**made).run, arguments)


def trainer_sum(rng):
    made = trainer(rng).arguments
    ptr = made["cpts"][1]
    arguments = {
        "rows": rng.integers(0, len(made["y"]), made["batch_size"]),
        "selected": np.array([rng.integers(lo, hi) for lo, hi in pairwise(ptr)]),
        "cells": np.zeros_like(made["theta"][0]),
        "weight": np.zeros_like(made["phi"][0]),
        "prior": np.zeros_like(made["prior"][0]),
        "callbacks": {"loss": zero_loss},
    }
    return Call(core.Trainer(**made).sum, arguments, {"cells", "weight", "prior"})


def normalise_cpts(rng):
    model = random_model(rng)
    arguments = {"theta": model.arena(), "cpts": tuple(model.layout.cpts), "n_classes": model.n_classes}
    return Call(core.normalise_cpts, arguments, {"theta"})


def parent_probabilities(rng):
    model = random_model(rng)
    arguments = {"phi": model.phi, "ptr": model.layout.cpts.ptr, "probabilities": np.zeros(len(model.phi))}
    return Call(core.parent_probabilities, arguments, {"probabilities"})


def best_forest(rng):
    model = random_model(rng)
    parents = np.array(model.parent)
    arguments = {
        "scores": model.phi,
        "ptr": model.layout.cpts.ptr,
        "parent": np.where(parents < 0, len(model.cards), parents),
        "selected": np.zeros(len(model.cards), np.int64),
    }
    return Call(core.best_forest, arguments, {"selected"})


def grow_tree(rng):
    n_features = int(rng.integers(1, 6))
    weights = rng.normal(size=(n_features, n_features))
    root = int(rng.integers(n_features))
    arguments = {"weights": weights + weights.T, "root": root, "parents": np.zeros(n_features, np.int64)}
    return Call(core.grow_tree, arguments, {"parents"})


def evaluate_loss(rng):
    n_rows, n_classes = int(rng.integers(0, 9)), int(rng.integers(1, 12))
    log_joint = rng.normal(size=(n_rows, n_classes)).astype(np.float32)
    arguments = {
        "loss": LOSSES[str(rng.choice(list(LOSSES)))][0],
        "log_joint": log_joint,
        "y": rng.integers(0, n_classes, n_rows),
        "weight": rng.random(n_rows).astype(np.float32),
        "grad": np.zeros_like(log_joint),
    }
    return Call(core.evaluate_loss, arguments, {"grad"})


def multiply_add(rng):
    return Call(core.multiply_add, {"values": np.zeros(9, np.float32), "n_passes": int(rng.integers(0, 9))}, {"values"})


MAKERS: dict[str, Callable[[np.random.Generator], Call]] = {
    "ClassedRows": classed_rows,
    "Effects": effects,
    "Effects.curvature": of_effects("curvature", ["out"]),
    "Effects.freedom": of_effects("freedom", ["degrees", "pulls"]),
    "Effects.loss": of_effects("loss", ["gradient"]),
    "Effects.minimise": of_effects("minimise", ["theta"]),
    "Effects.probabilities": of_effects("probabilities", ["out"]),
    "Predictor": predictor,
    "Predictor.classes": of_predictor("classes"),
    "Predictor.log_joint": of_predictor("log_joint"),
    "Predictor.settled_classes": of_predictor("settled_classes"),
    "Trainer": trainer,
    "Trainer.run": trainer_run,
    "Trainer.sum": trainer_sum,
    **{
        make.__name__: make
        for make in (
            *(
                add_terms,
                anneal,
                back_off,
                best_forest,
                best_prior_rows,
                candidate_score,
                complete_most_probably,
                count_cpts,
                descends_from,
            ),
            *(draw_completions, empty_log_joint, evaluate_loss, fill_chain_terms, fill_class_joint, fill_frequencies),
            *(fill_marginals, grow_tree, normalise_forest, settle),
            *(fill_pair_joint, find_gaps, group_codes, information_of_counts, log_frequencies, marginal_log_joint),
            *(move_scores, multiply_add),
            *(normalise_cpts, pair_gains, pair_information, parent_probabilities, shorten_lines, widen_codes),
        )
    },
}
