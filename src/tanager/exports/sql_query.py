"""A classifier as one SQL statement, from the columns of a database table to class probabilities.

Cells become codes, codes select lines of CPTs, and the scores of a complete row are sums of these lines. In a row with
unknown cells, an unknown cell stands for all its values, and messages from the leaves to the roots sum them out, one
level of the trees at a time, as `tanager.core.marginal_log_joint` does. All of it is standard SQL with window
functions, EXP and LN.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from tanager.data import CategoryColumn, NumericColumn, unique_labels
from tanager.estimators import TANClassifier, TANEnsembleClassifier
from tanager.exports.tables import check_fitted, class_labels
from tanager.model import Network
from tanager.structure import NO_PARENT

_IMPOSSIBLE = -1e30  # log of zero, but finite: minus infinity minus itself would not be a number


class _Node(NamedTuple):
    """A feature in one of the trees."""

    number: int
    feature: int
    parent: int  # number of the parent's node, -1 for none
    parent_feature: int  # -1 for none
    member: int
    depth: int


def to_sql(
    clf: TANClassifier | TANEnsembleClassifier, *, table: str = "data", key: str | None = None, target: str = "class"
) -> str:
    """Write a fitted classifier or ensemble as one SQL statement.

    Parameters
    ----------
    clf : TANClassifier or TANEnsembleClassifier
        With one extra parent for each feature at most, and no cycle.
    table : str, default="data"
        Name of the table with the columns of the training frame (``x0``, ``x1``, ... if they had no names), with its
        schema before a dot if it has one.
    key : str, optional
        A column of the table that identifies a row. Without one, rows are numbered in the order in which the database
        returns them.
    target : str, default="class"
        Name of the result's column with the most probable class.

    Returns
    -------
    str
        A statement whose result has a line for each row of the table: the key, or ``row``; the class; and a column
        ``p_LABEL`` with the probability of each class. Unknown values (NULL in columns that had no missing cells in
        training, and values that training did not show) are summed out exactly, as the classifier does.

    Examples
    --------
    >>> import sqlite3
    >>> from sklearn.datasets import load_iris
    >>> from tanager import TANClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> clf = TANClassifier("chow-liu", parameters="ml").fit(X, y)
    >>> database = sqlite3.connect(":memory:")
    >>> _ = database.execute("CREATE TABLE iris (x0 REAL, x1 REAL, x2 REAL, x3 REAL)")
    >>> _ = database.execute("INSERT INTO iris VALUES (5.1, 3.5, 1.4, 0.2), (5.9, NULL, 5.1, 1.8)")
    >>> [(row, label) for row, label, *_ in database.execute(to_sql(clf, table="iris"))]
    [(1, 0), (2, 2)]
    """
    check_fitted(clf)
    is_ensemble = isinstance(clf, TANEnsembleClassifier)
    networks = [member.network_ for member in clf.estimators_] if is_ensemble else [clf.network_]
    for network in networks:
        _refuse_what_is_not_a_forest(network)
    nodes = _find_nodes(networks)
    scores = [f"s{c}" for c in range(networks[0].n_classes)]
    parts = [
        *_write_cells(clf, table, key),
        *_write_cpts(networks, nodes, scores),
        *_write_terms(scores),
        *_write_levels(max(node.depth for node in nodes), scores),
        *_write_probabilities(scores, is_averaged_in_logs=not is_ensemble or clf.combine == "log"),
    ]
    return "WITH\n" + ",\n".join(parts) + "\n" + _write_result(clf, key, target)


def _refuse_what_is_not_a_forest(network: Network) -> None:
    if network.has_pairs or not network.is_bayesian_network:
        why = "a feature has two extra parents" if network.has_pairs else "the parents form a cycle"
        raise ValueError(f"{why}, so unknown values cannot be summed out in SQL; export it as ONNX")


def _find_nodes(networks: Sequence[Network]) -> list[_Node]:
    """The features of all trees; the nodes of a member are numbered one after the other."""
    nodes = []
    for member, network in enumerate(networks):
        first, parents = member * network.n_features, network.parents.tolist()
        for feature, parent in enumerate(parents):
            depth, above = 0, parent
            while above != NO_PARENT:
                depth, above = depth + 1, parents[above]
            number = -1 if parent == NO_PARENT else first + parent
            nodes.append(_Node(first + feature, feature, number, parent, member, depth))
    return nodes


def _write_cells(clf: Any, table: str, key: str | None) -> list[str]:
    """The columns under short names, and the code of each cell, NULL where it is unknown."""
    columns = [f"{_name(label)} AS v{j}" for j, label in enumerate(clf.encoder_.feature_labels)]
    if key is not None:
        columns.append(f"{_name(key)} AS row_key")
    codes = [
        f"WHEN {j} THEN {_code(column, f'v{j}', label)}"
        for j, (column, label) in enumerate(zip(clf.encoder_.columns, clf.encoder_.feature_labels, strict=True))
    ]
    source = ".".join(map(_name, table.split(".")))
    return [
        f"tan_input AS (SELECT ROW_NUMBER() OVER () AS id, {', '.join(columns)} FROM {source})",
        _values("tan_features (feature)", [(j,) for j in range(len(codes))]),
        "tan_cells AS (SELECT id, feature, CASE feature\n  " + "\n  ".join(codes) + "\n  END AS x"
        " FROM tan_input CROSS JOIN tan_features)",
    ]


def _code(column: NumericColumn | CategoryColumn, cell: str, label: str) -> str:
    """The code of a cell as an expression."""
    missing = column.card - 1 if column.has_missing else "NULL"
    cases = [f"WHEN {cell} IS NULL THEN {missing}"]
    # SQLite reads NaN as NULL; other databases hold it as the largest number.
    is_nan = f"WHEN LOWER(CAST({cell} AS VARCHAR)) = 'nan' THEN {missing}"
    if isinstance(column, NumericColumn):
        cases += [f"WHEN {cell} < {_double(cut)} THEN {code}" for code, cut in enumerate(column.cuts.tolist())]
        return f"CASE {' '.join([*cases, is_nan])} ELSE {column.cuts.size} END"
    values = [*column.categories.tolist(), *column.pooled.tolist()]
    if any(isinstance(value, bool) for value in values):
        cell = f"CAST({cell} AS INTEGER)"
    literals = [_literal(value, label) for value in values]
    if len({literal[0] == "'" for literal in literals}) > 1:
        raise ValueError(
            f"column {label!r} mixes text and numbers as categories, and a column of a database has one type: make it "
            "all text before fitting"
        )
    n_kept = column.categories.size
    cases += [f"WHEN {cell} = {literal} THEN {code}" for code, literal in enumerate(literals[:n_kept])]
    if literals[n_kept:]:
        cases.append(f"WHEN {cell} IN ({', '.join(literals[n_kept:])}) THEN {n_kept}")
    if any(isinstance(value, float) for value in values):
        cases.append(is_nan)
    return f"CASE {' '.join(cases)} ELSE NULL END"


def _literal(value: Any, label: str) -> str:
    """A category as a literal."""
    if isinstance(value, str):
        if "\0" in value:
            raise ValueError(f"column {label!r} has a category with a zero character, which SQL text cannot hold")
        return "'" + value.replace("'", "''") + "'"
    if isinstance(value, (bool, int)):
        return str(int(value))
    if isinstance(value, float):
        return _double(value)
    raise ValueError(
        f"column {label!r} holds {value!r} ({type(value).__name__}) as a category, which has no form that all "
        "databases share: make the column text or numbers before fitting"
    )


def _write_cpts(networks: Sequence[Network], nodes: list[_Node], scores: list[str]) -> list[str]:
    """The values of features with their groups, the nodes, and the lines of all CPTs and priors."""
    first = networks[0]
    values = [
        (feature, x, int(group))
        for feature, card in enumerate(first.cards.tolist())
        for x, group in enumerate(_groups(first, feature, card))
    ]
    lines = []
    for node in nodes:
        network = networks[node.member]
        cpt = np.maximum(network.layout.cpt(network.theta, node.feature), np.float32(_IMPOSSIBLE))
        for given, x in np.ndindex(cpt.shape[:2]):
            lines.append((node.number, given, x, *map(_score, cpt[given, x].tolist())))
    priors = [
        (member, *map(_double, np.maximum(network.log_prior, _IMPOSSIBLE).tolist()))
        for member, network in enumerate(networks)
    ]
    return [
        _values("tan_possible_values (feature, x, own)", values),
        _values("tan_nodes (node, feature, parent, parent_feature, member, depth)", nodes),
        _values(f"tan_cpts (node, given, x, {', '.join(scores)})", lines),
        _values(f"tan_priors (member, {', '.join(scores)})", priors),
    ]


def _groups(network: Network, feature: int, card: int) -> Iterable[int]:
    groups = network.groups_of(feature)
    return range(card) if groups is None else groups.tolist()


def _write_terms(scores: list[str]) -> list[str]:
    """The lines that each row selects: one for each node, or all that its unknown cells leave possible."""
    return [
        "tan_possible AS (SELECT c.id, c.feature, v.x, v.own FROM tan_cells c JOIN tan_possible_values v"
        " ON v.feature = c.feature AND v.x = c.x\n  UNION ALL SELECT c.id, c.feature, v.x, v.own FROM tan_cells c"
        " JOIN tan_possible_values v ON v.feature = c.feature WHERE c.x IS NULL)",
        "tan_givens AS (SELECT DISTINCT id, feature, own AS given FROM tan_possible"
        " UNION ALL SELECT id, -1 AS feature, 0 AS given FROM tan_input)",
        "tan_incomplete AS (SELECT DISTINCT id FROM tan_cells WHERE x IS NULL)",
        f"tan_terms AS (SELECT p.id, n.node, n.parent, n.member, n.depth, p.own, t.given, {_columns('t', scores)}\n"
        # SQLite keeps the order of a CROSS JOIN; left to itself it looks lines up by their values alone.
        "  FROM tan_possible p CROSS JOIN tan_nodes n CROSS JOIN tan_givens g CROSS JOIN tan_cpts t\n"
        "  WHERE n.feature = p.feature AND g.id = p.id AND g.feature = n.parent_feature"
        " AND t.node = n.node AND t.x = p.x AND t.given = g.given)",
        "tan_open_terms AS (SELECT * FROM tan_terms WHERE id IN (SELECT id FROM tan_incomplete))",
        f"tan_complete AS (SELECT id, member, {_sums(scores)} FROM tan_terms"
        " WHERE id NOT IN (SELECT id FROM tan_incomplete) GROUP BY id, member)",
    ]


def _write_levels(depth: int, scores: list[str]) -> list[str]:
    """Messages from the features of each depth to their parents, the deepest first; those of the roots are scores."""
    parts = []
    for level in range(depth, -1, -1):
        below = f"tan_level{level + 1}"
        is_leaf = level == depth
        sums = [f"t.{s}" if is_leaf else f"t.{s} + COALESCE(m.{s}, 0)" for s in scores]
        join = "" if is_leaf else f" LEFT JOIN {below} m ON m.id = t.id AND m.node = t.node AND m.given = t.own"
        named = ", ".join(f"{total} AS {s}" for total, s in zip(sums, scores, strict=True))
        highest = ", ".join(f"MAX({s}) OVER (PARTITION BY id, node, given) AS h{s}" for s in scores)
        summed = ", ".join(f"MAX(h{s}) + LN(SUM(EXP({s} - h{s}))) AS {s}" for s in scores)
        parts.append(
            f"tan_level{level} AS (SELECT id, member, parent AS node, given, {_sums(scores)} FROM\n"
            f"  (SELECT id, member, parent, node, given, {summed} FROM\n"
            f"  (SELECT *, {highest} FROM\n"
            f"  (SELECT t.id, t.member, t.parent, t.node, t.given, {named} FROM tan_open_terms t{join}"
            f" WHERE t.depth = {level}) a) b\n"
            "  GROUP BY id, member, parent, node, given) c GROUP BY id, member, parent, given)"
        )
    return parts


def _write_probabilities(scores: list[str], *, is_averaged_in_logs: bool) -> list[str]:
    """Probabilities of all classes, one line for each row and class."""
    with_prior = ", ".join(f"s.{s} + p.{s} AS {s}" for s in scores)
    columns = f"id, member, {', '.join(scores)}"
    both = f"SELECT {columns} FROM tan_complete UNION ALL SELECT {columns} FROM tan_level0"
    parts = [f"tan_joint AS (SELECT s.id, s.member, {with_prior} FROM ({both}) s JOIN tan_priors p USING (member))"]
    source = "tan_joint"
    if is_averaged_in_logs:
        means = ", ".join(f"AVG({s}) AS {s}" for s in scores)
        parts.append(f"tan_mean_joint AS (SELECT id, 0 AS member, {means} FROM tan_joint GROUP BY id)")
        source = "tan_mean_joint"
    of_class = " ".join(f"WHEN {c} THEN {s}" for c, s in enumerate(scores))
    weights = "SELECT id, member, c, EXP(s - MAX(s) OVER (PARTITION BY id, member)) AS w FROM tan_by_class"
    shares = f"SELECT id, c, w / SUM(w) OVER (PARTITION BY id, member) AS p FROM ({weights}) weights"
    return [
        *parts,
        _values("tan_classes (c)", [(c,) for c in range(len(scores))]),
        f"tan_by_class AS (SELECT id, member, c, CASE c {of_class} END AS s FROM {source} CROSS JOIN tan_classes)",
        f"tan_probabilities AS (SELECT id, c, AVG(p) AS p FROM ({shares}) shares GROUP BY id, c)",
        "tan_ranked AS (SELECT id, c, p, MAX(p) OVER (PARTITION BY id) AS highest FROM tan_probabilities)",
    ]


def _write_result(clf: Any, key: str | None, target: str) -> str:
    """The select that makes a line of each row."""
    labels = class_labels(clf)
    names = unique_labels([key or "row", target, *(f"p_{label}" for label in labels)])
    columns = [f"MAX(CASE WHEN c = {c} THEN p END) AS {_name(name)}" for c, name in enumerate(names[2:])]
    classes = clf.classes_.tolist()
    is_text = any(isinstance(value, str) for value in classes)
    answers = [_literal(str(value) if is_text else value, target) for value in classes]
    best = " ".join(f"WHEN {c} THEN {answer}" for c, answer in enumerate(answers))
    # All lines of a row have the same key.
    first = "r.id" if key is None else "MAX(i.row_key)"
    return (
        f"SELECT {first} AS {_name(names[0])},"
        f" CASE MIN(CASE WHEN p = highest THEN c END) {best} END AS {_name(names[1])},\n  {', '.join(columns)}\n"
        "FROM tan_ranked r JOIN tan_input i ON i.id = r.id GROUP BY r.id ORDER BY r.id"
    )


def _values(name: str, rows: Iterable[Sequence[Any]]) -> str:
    lines = ",\n  ".join(f"({', '.join(map(str, row))})" for row in rows)
    return f"{name} AS (VALUES\n  {lines})"


def _columns(source: str, names: Sequence[str]) -> str:
    return ", ".join(f"{source}.{name}" for name in names)


def _sums(names: Sequence[str]) -> str:
    return ", ".join(f"SUM({name}) AS {name}" for name in names)


def _name(label: str) -> str:
    """A quoted identifier."""
    return '"' + label.replace('"', '""') + '"'


def _double(value: float) -> str:
    """A number that databases read as double precision, to the last bit."""
    return f"{value:.16e}"


def _score(value: float) -> str:
    """A log-probability, which is kept in single precision: nine digits are all."""
    return f"{value:.8e}"
