"""``tanager inspect``: print what a model contains."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from tanager._options import suggest
from tanager.cli.console import PlainConsole
from tanager.cli.errors import InputError
from tanager.cli.model_rows import LoadedModel, load_model

_MAX_ROWS = 200


def inspect(
    model: Annotated[Path, typer.Argument(help="Model file.", show_default=False)],
    feature: Annotated[list[str] | None, typer.Option(help="Show the CPT of this feature instead. Repeatable.")] = None,
    member: Annotated[int, typer.Option(min=0, help="Which member of an ensemble to show, counted from 0.")] = 0,
) -> None:
    """Show what a model contains.

    Prints its origin, its test results, its classes, and the parent of each feature with its probability.
    --feature prints the conditional probability table (CPT) of a feature instead.

    Examples:

    tanager inspect adult.tanager

    tanager inspect adult.tanager --feature age --feature education
    """
    loaded = load_model(model)
    members = getattr(loaded.classifier, "estimators_", [loaded.classifier])
    if member >= len(members):
        raise InputError(f"--member must be from 0 to {len(members) - 1} for {model}, got {member}")
    console = PlainConsole()
    if feature:
        for name in feature:
            _show_feature(members[member], name, console)
        return
    _show_origin(loaded, len(members), console)
    console.say(loaded.classifier.summary())
    _show_classes(members, console)
    if len(members) > 1:
        console.print(f"member {member} of {len(members)}, counted from 0; --member N shows another", highlight=False)
    _show_parents(members[member], console)
    _show_edits(loaded.classifier, console)


def _show_edits(classifier: Any, console: Console) -> None:
    """The record of changes by hand."""
    if not classifier.edits_:
        return
    table = Table("when", "who", "what", "why", title="Changes by hand", title_justify="left")
    for edit in classifier.edits_:
        of_member = f" (member {edit['member']})" if "member" in edit else ""
        table.add_row(edit["when"][:19], Text(edit["who"]), Text(edit["what"] + of_member), Text(edit["why"]))
    console.print(table)


def _show_origin(loaded: LoadedModel, n_members: int, console: Console) -> None:
    """The metadata of the model file."""
    told = loaded.metadata
    kind = "TAN classifier" if n_members == 1 else f"ensemble of {n_members} TAN classifiers"
    lines = [
        ("model", f"{loaded.path}, {kind}, written by {loaded.header['writer']}"),
        ("size", f"{loaded.header['n_features']} features, {loaded.header['n_parameters']} parameters"),
        ("target", told.get("target")),
        ("fitted to", _origin(told)),
        ("missing", ", ".join(map(repr, told.get("missing") or ()))),
        ("test", told.get("test")),
        ("read as", _kinds(told.get("cleaning"))),
    ]
    known = ("target", "source", "n_rows", "missing", "test", "errors", "date", "columns", "version", "cleaning")
    lines += [(key, str(value)) for key, value in told.items() if key not in known]
    shown = Table.grid(padding=(0, 2))
    for key, text in lines:
        if text:
            shown.add_row(key, Text(str(text)))
    console.print(shown)
    scores = told.get("errors")
    if isinstance(scores, list) and scores:
        table = Table("classifier", title="Test errors when the model was fitted", title_justify="left")
        table.add_column("error", justify="right")
        table.add_column("standard error", justify="right")
        for score in scores:
            table.add_row(score["name"], f"{score['error']:.2%}", f"{score['standard_error']:.2%}")
        console.print(table)


def _kinds(cleaning: Any) -> str:
    """Columns that were not read as they are, and what as; what a file says of others' making is not shown."""
    if not isinstance(cleaning, list) or not all(isinstance(each, dict) for each in cleaning):
        return ""
    return ", ".join(f"{each.get('name')}: {each.get('kind')}" for each in cleaning if each.get("kind") != "as is")


def _origin(told: dict[str, Any]) -> str | None:
    if "source" not in told:
        return None
    return f"{told.get('n_rows', '?')} rows of {told['source']}, {told.get('date', 'date unknown')}"


def _show_classes(members: list[Any], console: Console) -> None:
    table = Table("class", title="Classes", title_justify="left")
    table.add_column("prior probability", justify="right")
    priors = np.mean([np.exp(member.description_.log_prior) for member in members], axis=0)
    for label, prior in zip(members[0].classes_.tolist(), priors / priors.sum(), strict=True):
        table.add_row(Text(str(label)), f"{prior:.2%}")
    console.print(table)


def _show_parents(classifier: Any, console: Console) -> None:
    network, labels = classifier.network_, classifier.encoder_.feature_labels
    chances = classifier.parent_probabilities_[np.arange(len(labels)), network.extra_parents[:, 0]]
    was_drawn = bool((chances < 1.0).any())
    table = Table("feature", title="Features and their extra parents", title_justify="left")
    table.add_column("values", justify="right")
    table.add_column("parent")
    if was_drawn:
        table.add_column("probability", justify="right")
    table.add_column("adds, nats", justify="right")
    table.add_column("parameters", justify="right")
    gains = {edge.child: _gain(edge) for edge in classifier.edges_}
    for i, (label, parents) in enumerate(zip(labels, network.extra_parents.tolist(), strict=True)):
        chance = [f"{chances[i]:.3f}"] if was_drawn else []
        size = str(network.cpt(i, grouped=True).size)
        cells = str(network.cards[i]), Text(_names_of(parents, labels)), *chance, gains.get(label, ""), size
        table.add_row(Text(label), *cells)
    console.print(table)
    if gains:
        note = "adds: what the parent takes off the log-loss of held-out rows, with its standard error"
        console.print(note, soft_wrap=True, highlight=False)
    if not network.is_bayesian_network:
        console.print("The parents form a cycle: the model classifies, but it is not a Bayesian network.")
    if not np.array_equal(classifier.description_.extra_parents, network.extra_parents):
        _show_description(classifier, console)


def _show_description(classifier: Any, console: Console) -> None:
    """The tree that describes the data, if that is another one."""
    title = "The tree that describes the data, which --feature, queries and samples use"
    table = Table("feature", "parent", title=title, title_justify="left")
    table.add_column("tells, nats", justify="right")
    edges = {edge.child: edge for edge in classifier.description_edges_}
    for label in classifier.encoder_.feature_labels:
        edge = edges.get(label)
        table.add_row(Text(label), *([] if edge is None else [Text(edge.parent), f"{edge.information:.3f}"]))
    console.print(table)
    note = "tells: how much more probable the parent makes the value of the feature, given the class"
    console.print(note, soft_wrap=True, highlight=False)


def _gain(edge: Any) -> str:
    """What an edge adds on held-out rows, if that was measured."""
    return "" if edge.gain != edge.gain else f"{edge.gain:.4f} ± {edge.standard_error:.4f}"


def _names_of(parents: list[int], labels: list[str]) -> str:
    return ", ".join(labels[j] for j in parents if j >= 0)


def _show_feature(classifier: Any, name: str, console: Console) -> None:
    """The CPT of a feature: one line for each value of its parents, or each group of values, and each of its own."""
    encoder, labels = classifier.encoder_, classifier.encoder_.feature_labels
    if name not in labels:
        raise InputError(f"the model has no feature {name!r}; {suggest(name, labels)}")
    i, network = labels.index(name), classifier.description_
    parents = network.extra_parents[i].tolist()
    above = _names_of(parents, labels)
    given = encoder.joint_labels({j: network.groups_of(j) for j in parents if j >= 0})
    values, cpt = encoder.value_labels(i), network.cpt(i, grouped=True)
    groups = network.layout.groups
    is_summed = groups is not None and groups.cards[i] < len(values) and len(given) * len(values) > _MAX_ROWS
    if is_summed:
        values, cpt = encoder.value_labels(i, groups.of(i)), groups.totals(i, cpt.swapaxes(0, 1)).swapaxes(0, 1)
    title = f"Probability of {name} given the class" + (f" and {above}" if above else "")
    console.print(title, soft_wrap=True, highlight=False, markup=False)
    table = Table()
    if above:
        table.add_column(Text(above))
    table.add_column(Text(name))
    for label in classifier.classes_.tolist():
        table.add_column(Text(str(label)), justify="right")
    lines = [(g, v) for g in range(len(given)) for v in range(cpt.shape[1])]
    for g, v in lines[:_MAX_ROWS]:
        start = [Text(given[g] if v == 0 else "")] if above else []
        chances = [f"{p:.4f}" for p in cpt[g, v]]
        table.add_row(*start, Text(values[v]), *chances, end_section=v == cpt.shape[1] - 1)
    console.print(table)
    if is_summed:
        note = f"The probabilities of the {network.cards[i]} values of {name} are summed up within groups."
        console.print(note, soft_wrap=True, highlight=False, markup=False)
    if len(lines) > _MAX_ROWS:
        console.print(f"and {len(lines) - _MAX_ROWS} more lines")
