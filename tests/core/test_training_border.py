"""What the trainer refuses: every wrong argument is named in an error, and none crashes the process."""

import math

import numpy as np
import pytest

from tanager import core
from tests.core.trainers import CALLBACK, LOSSES, PAIRS, make_case, take_step

CASE = make_case(*PAIRS, 3, seed=0, n_rows=10)
N_CANDIDATES, N_SLOTS, N_ENTRIES = CASE.n_candidates, CASE.n_slots, CASE.layout.arena_size
CPTS = CASE.layout.cpts
GOALS = np.zeros(9 * 3, np.float32), np.array([0, 6, 15, 21, 27]), 1.0


def arguments(**changes):
    """Arguments of a trainer that are right, but for the changes."""
    return {**CASE.arguments(CASE.state(), LOSSES["hybrid"][0]), **changes}


def moments(dtype, size, **changes):
    """A value with its moments, of which some may be changed."""
    arrays = {name: np.zeros(size, dtype) for name in ("value", "mean", "square")}
    return tuple({**arrays, **changes}.values())


def unwritable(dtype, size):
    array = np.zeros(size, dtype)
    array.flags.writeable = False
    return array


def misaligned(dtype, size):
    width = np.dtype(dtype).itemsize
    return np.zeros(width * size + 1, np.uint8)[1:].view(dtype)


def strided(dtype, size):
    return np.zeros(2 * size, dtype)[::2]


def changed(array, place, value):
    array = array.copy()
    array[place] = value
    return array


def test_right_arguments_are_taken():
    take_step(core.Trainer(**arguments()), CASE, 0)


@pytest.mark.parametrize("name", [name for name in arguments() if name != "weight"])
def test_none_is_refused(name):
    with pytest.raises((TypeError, ValueError)):
        core.Trainer(**arguments(**{name: None}))


@pytest.mark.parametrize("name", list(arguments()))
@pytest.mark.parametrize(
    "bad",
    ["x", object(), 1.5, [1, 2], {}, (), (1,), np.zeros(0)],
    ids=["text", "object", "fraction", "list", "dict", "empty tuple", "tuple", "empty array"],
)
def test_objects_of_another_kind_are_refused(name, bad):
    if name == "actions" and isinstance(bad, dict):
        bad = {1: 2}  # an empty one is right
    with pytest.raises((TypeError, ValueError)):
        core.Trainer(**arguments(**{name: bad}))


def test_a_name_that_is_left_out_or_unknown_is_refused():
    right = arguments()
    for name in right:
        with pytest.raises(TypeError):
            core.Trainer(**{key: value for key, value in right.items() if key != name})
    with pytest.raises(TypeError):
        core.Trainer(**right, gamma=1.0)
    with pytest.raises(TypeError):
        core.Trainer(*right.values())


OF_STATE = [("theta", np.float32, N_ENTRIES), ("prior", np.float32, 3), ("phi", np.float64, N_CANDIDATES)]


@pytest.mark.parametrize("part", ["value", "mean", "square"])
@pytest.mark.parametrize(("name", "dtype", "size"), OF_STATE)
def test_wrong_moments(name, dtype, size, part):
    other = np.float64 if dtype == np.float32 else np.float32
    for bad, message in [
        (np.zeros(size, other), "has the wrong type of numbers"),
        (np.zeros((size, 1), dtype), "must have 1 dimension"),
        (strided(dtype, size), "must be C-contiguous"),
        (misaligned(dtype, size), "must be aligned"),
        (unwritable(dtype, size), "must be an array that can be written to"),
        ([0.0] * size, "must be an array"),
    ]:
        with pytest.raises(ValueError, match=f"^{name} {message}"):
            core.Trainer(**arguments(**{name: moments(dtype, size, **{part: bad})}))
    with pytest.raises(ValueError, match=f"^{name} must have \\d+ entries, not|^offset does not fit|^y holds|slack"):
        core.Trainer(**arguments(**{name: moments(dtype, size, **{part: np.zeros(size - 1, dtype)})}))


@pytest.mark.parametrize(("name", "dtype", "size"), OF_STATE)
def test_moments_that_are_not_three(name, dtype, size):
    for bad in (moments(dtype, size)[:2], (*moments(dtype, size), 1), ()):
        with pytest.raises(ValueError, match=f"{name} must have 3 fields, not {len(bad)}"):
            core.Trainer(**arguments(**{name: bad}))
    with pytest.raises(ValueError, match=f"{name} must be a tuple"):
        core.Trainer(**arguments(**{name: list(moments(dtype, size))}))


def test_an_arena_without_slack():
    with pytest.raises(ValueError, match="theta must end in slack"):
        core.Trainer(**arguments(theta=moments(np.float32, CASE.layout.size)))


@pytest.mark.parametrize("name", ["last", "updates"])
def test_wrong_counts_of_steps(name):
    for bad, message in [
        (np.zeros(N_CANDIDATES, np.int32), "has the wrong type of numbers"),
        (np.zeros(N_CANDIDATES - 1, np.int64), f"must have {N_CANDIDATES} entries, not {N_CANDIDATES - 1}"),
        (unwritable(np.int64, N_CANDIDATES), "must be an array that can be written to"),
        (strided(np.int64, N_CANDIDATES), "must be C-contiguous"),
        (misaligned(np.int64, N_CANDIDATES), "must be aligned"),
        (np.full(N_CANDIDATES, -1), "holds -1, which is outside"),
        (np.full(N_CANDIDATES, 2**62), "holds 4611686018427387904, which is outside"),
    ]:
        with pytest.raises(ValueError, match=f"^{name} {message}"):
            core.Trainer(**arguments(**{name: bad}))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"child": changed(CPTS.child, 1, -1)}, "child holds -1"),
        ({"child": changed(CPTS.child, 1, 2**40)}, "child holds 1099511627776"),
        ({"child": changed(CPTS.child, 1, 0)}, "offset does not fit"),
        ({"child": CPTS.child[:-1]}, "the arrays of cpts do not fit together"),
        ({"child": CPTS.child.astype(np.int32)}, "child has the wrong type of numbers"),
        ({"ptr": changed(CPTS.ptr, 0, 1)}, "ptr must start at 0"),
        ({"ptr": changed(CPTS.ptr, 1, 100)}, "ptr must not fall"),
        ({"ptr": changed(CPTS.ptr, -1, N_CANDIDATES + 1)}, "ptr must end at the number of candidates"),
        ({"ptr": strided(np.int64, N_SLOTS + 1)}, "ptr must be C-contiguous"),
        ({"parent": changed(CPTS.parent, 0, -1)}, "parent holds -1"),
        ({"parent": changed(CPTS.parent, 0, 8)}, "parent holds 8"),
        ({"parent": CPTS.parent[:-1]}, "the arrays of cpts do not fit together"),
        ({"offset": changed(CPTS.offset, 2, CPTS.offset[2] + 1)}, "offset does not fit the sizes of the CPTs"),
        ({"offset": changed(CPTS.offset, 0, 1)}, "offset must start at 0"),
        ({"offset": changed(CPTS.offset, -1, 2**62)}, "offset does not fit the sizes of the CPTs"),
        ({"cards": changed(CPTS.cards, 0, 0)}, "cards must be at least 1"),
        ({"cards": changed(CPTS.cards, 0, -3)}, "cards must be at least 1"),
        ({"cards": changed(CPTS.cards, 0, 2**62)}, "offset does not fit the sizes of the CPTs"),
        ({"cards": CPTS.cards.astype(np.float64)}, "cards has the wrong type of numbers"),
        ({"cards": np.empty(0, np.int64)}, "the arrays of cpts do not fit together"),
    ],
)
def test_wrong_cpts(changes, message):
    with pytest.raises(ValueError, match=message):
        core.Trainer(**arguments(cpts=tuple(CPTS._replace(**changes))))


def test_cpts_that_are_not_five_arrays():
    for bad in (tuple(CPTS)[:4], (*CPTS, 1), ()):
        with pytest.raises(ValueError, match="cpts must have 5 fields"):
            core.Trainer(**arguments(cpts=bad))


def test_slots_without_candidates_or_too_few():
    ptr = changed(CPTS.ptr, 1, 0)
    cards = np.ones_like(CPTS.cards)
    offset = np.arange(N_CANDIDATES + 1) * 3
    with pytest.raises(ValueError, match="a slot has no candidate"):
        core.Trainer(**arguments(cpts=tuple(CPTS._replace(ptr=ptr, cards=cards, offset=offset))))
    for n_members in (0, -1, 2, 2**40):
        with pytest.raises(ValueError, match="cpts must have a slot for each feature of each member"):
            core.Trainer(**arguments(n_members=n_members))


@pytest.mark.parametrize(
    ("pairs", "message"),
    [
        (np.array([[0, 1], [1, 4]]), "pairs must be of features"),
        (np.array([[0, 1], [-1, 2]]), "pairs must be of features"),
        (np.array([[0, 1], [0, 2]]), "cards of the pairs their product"),
        (np.array([[0, 1]]), "cpts must have a slot for each feature"),
        (np.zeros((8, 2), np.int64), "cpts must have a slot for each feature"),
        (np.array([0, 1, 1, 2]), "pairs must have 2 dimension"),
        (np.array([[0, 1, 2], [1, 2, 3]]), "pairs has the wrong shape"),
        (np.array([[0, 1], [1, 2]], np.int32), "pairs has the wrong type of numbers"),
        (np.array([[0, 1], [1, 2]]).T, "pairs must be C-contiguous"),
    ],
)
def test_wrong_pairs(pairs, message):
    with pytest.raises(ValueError, match=message):
        core.Trainer(**arguments(pairs=pairs))


@pytest.mark.parametrize(
    ("codes", "message"),
    [
        (np.zeros((10, 4)), "codes must hold whole numbers"),
        (np.zeros((10, 4), bool), "codes must hold whole numbers"),
        (np.zeros((10, 3), np.uint8), "codes must have 4 columns, not 3"),
        (np.zeros(40, np.uint8), "codes must have 2 dimensions"),
        (np.zeros((9, 4), np.uint8), "y must have a class for each row"),
        (np.zeros((4, 10), np.uint8).T, "codes must be C-contiguous"),
        (np.zeros((10, 8), np.uint8)[:, ::2], "codes must be C-contiguous"),
        (misaligned(np.uint16, 40).reshape(10, 4), "codes must be aligned"),
        ([[0] * 4] * 10, "codes must be an array"),
    ],
)
def test_wrong_codes(codes, message):
    with pytest.raises(ValueError, match=message):
        core.Trainer(**arguments(codes=codes))


def test_codes_that_cannot_be_written_to_are_taken():
    codes = CASE.codes.copy()
    codes.flags.writeable = False
    take_step(core.Trainer(**arguments(codes=codes)), CASE, 0)


@pytest.mark.parametrize(
    ("name", "bad", "message"),
    [
        ("y", np.full(10, 3), "y holds 3, which is outside 0 to 2"),
        ("y", np.full(10, -1), "y holds -1, which is outside 0 to 2"),
        ("y", np.zeros(9, np.int64), "y must have a class for each row"),
        ("y", np.zeros(10, np.int32), "y has the wrong type of numbers"),
        ("y", strided(np.int64, 10), "y must be C-contiguous"),
        ("y", misaligned(np.int64, 10), "y must be aligned"),
        ("weight", np.ones(10), "weight has the wrong type of numbers"),
        ("weight", np.ones(9, np.float32), "weight must have 10 entries, not 9"),
        ("weight", strided(np.float32, 10), "weight must be C-contiguous"),
        ("batch_size", 0, "batch_size must be from 1 to N"),
        ("batch_size", -5, "batch_size must be from 1 to N"),
        ("batch_size", 11, "batch_size must be from 1 to N"),
        ("adam", (0.9, 0.999), "adam must have 3 fields, not 2"),
        ("adam", [0.9, 0.999, 1e-7], "adam must be a tuple"),
        ("adam", (0.9, "x", 1e-7), "adam must be a number"),
        ("adam", (1.0, 0.999, 1e-7), "adam must have beta1 and beta2 from 0 to below 1"),
        ("adam", (-0.1, 0.999, 1e-7), "adam must have beta1 and beta2 from 0 to below 1"),
        ("adam", (0.9, math.nan, 1e-7), "adam must have beta1 and beta2 from 0 to below 1"),
        ("adam", (0.9, 0.999, -1.0), "adam must have beta1 and beta2 from 0 to below 1"),
        ("loss", ("margin", 1.0), "loss must have 5 fields, not 2"),
        ("loss", ("hinge", 1.0, 1.0, 1.0, 1.0), "loss must be of the kind margin, conditional or callback"),
        ("loss", ("margin", 1.0, 1.0, 1.0, 0.0), "eta of the loss must be above 0"),
        ("loss", ("margin", 1.0, None, 1.0, 1.0), "loss must be a number"),
    ],
)
def test_wrong_rows_and_settings(name, bad, message):
    with pytest.raises(ValueError, match=message):
        core.Trainer(**arguments(**{name: bad}))


@pytest.mark.parametrize(
    ("name", "action", "message"),
    [
        ("droput", 0.1, "there is no action droput"),
        ("dropout", "x", "dropout must be a number"),
        ("dropout", -0.1, "dropout must have a finite strength of at least 0"),
        ("dropout", math.nan, "dropout must have a finite strength of at least 0"),
        ("shrinkage", 1.0, "shrinkage must be a tuple"),
        ("shrinkage", (), "shrinkage must have 3 fields, not 0"),
        ("shrinkage", GOALS[:2], "shrinkage must have 3 fields, not 2"),
        ("shrinkage", (*GOALS[:2], -1.0), "shrinkage must have a finite strength of at least 0"),
        ("shrinkage", (GOALS[0][:-1], *GOALS[1:]), "shrinkage must have a goal for each feature"),
        ("shrinkage", (GOALS[0].astype(float), *GOALS[1:]), "goals of shrinkage has the wrong type of numbers"),
        ("shrinkage", (GOALS[0], GOALS[1][:-1], 1.0), "shrinkage must have a goal for each feature"),
        ("shrinkage", (GOALS[0], np.array([0, 9, 6, 21, 27]), 1.0), "shrinkage must not fall"),
        ("shrinkage", (GOALS[0], np.array([0, 3, 15, 21, 27]), 1.0), "goals of the size of the features' CPTs"),
        ("shrinkage", (GOALS[0], np.array([-6, 6, 15, 21, 27]), 1.0), "shrinkage must start at 0"),
        ("smoothness", (np.zeros(7, np.int64),), "smoothness must have 2 fields, not 1"),
        ("smoothness", (np.zeros(6, np.int64), 1.0), "n_ordered must have 7 entries, not 6"),
        ("smoothness", (np.array([9, 0, 0, 0, 0, 0, 0]), 1.0), "n_ordered must be from 0 to the number of values"),
        ("smoothness", (np.array([-1, 0, 0, 0, 0, 0, 0]), 1.0), "n_ordered must be from 0 to the number of values"),
        ("smoothness", (np.zeros(7, np.int64), math.inf), "smoothness must have a finite strength of at least 0"),
        ("pull", GOALS[:2], "pull must have 3 fields, not 2"),
        ("pull", (GOALS[0][:-1], *GOALS[1:]), "pull must have a goal for each feature"),
        ("pull", (*GOALS[:2], None), "pull must be a number"),
        ("size_cost", np.zeros(N_CANDIDATES - 1), f"size_cost must have {N_CANDIDATES} entries"),
        ("size_cost", np.zeros(N_CANDIDATES, np.float32), "size_cost has the wrong type of numbers"),
        ("forest_parents", np.zeros(N_CANDIDATES - 1, np.int64), f"forest_parents must have {N_CANDIDATES} entries"),
        ("forest_parents", np.full(N_CANDIDATES, 5), "forest_parents holds 5, which is outside 0 to 4"),
        ("forest_parents", np.full(N_CANDIDATES, -1), "forest_parents holds -1, which is outside 0 to 4"),
        (1, 0.1, "actions must have names"),
    ],
)
def test_wrong_actions(name, action, message):
    with pytest.raises(ValueError, match=message):
        core.Trainer(**arguments(actions={name: action}))


# A run.


def run_arguments(**changes):
    right = {"step": 0, "rows": np.arange(10), "gumbel": np.zeros((2, N_CANDIDATES)), "uniform": np.zeros((2, N_SLOTS))}
    return {**right, "rate": 0.1, "tau": 1.0, "phi_rate": 0.1, "callbacks": {}, **changes}


@pytest.fixture
def trainer():
    return core.Trainer(**arguments(batch_size=5, actions={"dropout": 0.5}))


@pytest.mark.parametrize(
    ("name", "bad", "message"),
    [
        ("step", -1, "step must be at least 0"),
        ("rows", np.arange(9), "rows must be whole batches"),
        ("rows", np.empty(0, np.int64), "rows must be whole batches"),
        ("rows", np.arange(1, 11), "rows holds 10, which is outside 0 to 9"),
        ("rows", np.arange(-1, 9), "rows holds -1, which is outside 0 to 9"),
        ("rows", np.arange(10, dtype=np.int32), "rows has the wrong type of numbers"),
        ("rows", np.arange(10).reshape(2, 5), "rows must have 1 dimension"),
        ("rows", strided(np.int64, 10), "rows must be C-contiguous"),
        ("rows", misaligned(np.int64, 10), "rows must be aligned"),
        ("rows", list(range(10)), "rows must be an array"),
        ("gumbel", np.zeros((3, N_CANDIDATES)), r"gumbel has the wrong shape"),
        ("gumbel", np.zeros((2, N_CANDIDATES - 1)), r"gumbel has the wrong shape"),
        ("gumbel", np.zeros((N_CANDIDATES, 2)).T, "gumbel must be C-contiguous"),
        ("gumbel", np.zeros(2 * N_CANDIDATES), "gumbel must have 2 dimension"),
        ("gumbel", np.zeros((2, N_CANDIDATES), np.float32), "gumbel has the wrong type of numbers"),
        ("uniform", np.zeros((2, N_SLOTS + 1)), "uniform has the wrong shape"),
        ("uniform", np.zeros((1, N_SLOTS)), "uniform has the wrong shape"),
        ("uniform", None, "uniform must be an array"),
        ("rate", math.nan, "rate and phi_rate must be finite"),
        ("phi_rate", math.inf, "rate and phi_rate must be finite"),
        ("tau", 0.0, "tau must be above 0"),
        ("tau", -1.0, "tau must be above 0"),
        ("tau", math.nan, "tau must be above 0"),
    ],
)
def test_wrong_arguments_of_a_run(trainer, name, bad, message):
    trainer.run(**run_arguments())
    with pytest.raises(ValueError, match=message):
        trainer.run(**run_arguments(**{name: bad}))
    trainer.run(**run_arguments(step=2))


@pytest.mark.parametrize("name", [name for name in run_arguments() if name != "uniform"])
def test_none_is_refused_by_a_run(trainer, name):
    with pytest.raises((TypeError, ValueError)):
        trainer.run(**run_arguments(**{name: None}))


def test_uniform_draws_are_only_for_dropout():
    core.Trainer(**arguments(batch_size=5)).run(**run_arguments(uniform=None))


def lossy(**changes):
    return core.Trainer(**arguments(loss=CALLBACK, **changes))


def test_a_loss_to_call_must_be_given():
    with pytest.raises(ValueError, match="callbacks must have a loss"):
        take_step(lossy(), CASE, 0)


@pytest.mark.parametrize(
    ("result", "message"),
    [
        (None, "what the loss returns must be a tuple"),
        ((), "what the loss returns must have 2 fields, not 0"),
        ((1.0,), "what the loss returns must have 2 fields, not 1"),
        ([1.0, np.zeros((10, 3), np.float32)], "what the loss returns must be a tuple"),
        (("x", np.zeros((10, 3), np.float32)), "the loss must be a number"),
        ((1.0, None), "the gradient of the loss must be an array"),
        ((1.0, np.zeros((10, 3))), "the gradient of the loss has the wrong type of numbers"),
        ((1.0, np.zeros((3, 10), np.float32)), "the gradient of the loss has the wrong shape"),
        ((1.0, np.zeros((3, 10), np.float32).T), "the gradient of the loss must be C-contiguous"),
        ((1.0, np.zeros(30, np.float32)), "the gradient of the loss must have 2 dimension"),
    ],
)
def test_wrong_results_of_a_loss(result, message):
    trainer = lossy()
    with pytest.raises(ValueError, match=message):
        take_step(trainer, CASE, 0, callbacks={"loss": lambda *arguments: result})
    good = (1.0, np.zeros((10, 3), np.float32))
    assert take_step(trainer, CASE, 0, callbacks={"loss": lambda *arguments: good})[0] == 1.0


def test_what_cannot_be_called():
    with pytest.raises(TypeError, match="not callable"):
        take_step(lossy(), CASE, 0, callbacks={"loss": 5})


@pytest.mark.parametrize("candidate", [-1, 1, N_CANDIDATES, 2**62])
def test_a_candidate_of_another_slot_is_refused(candidate):
    def change(step, selected, soft):
        selected[0] = candidate

    trainer = core.Trainer(**arguments())
    with pytest.raises(ValueError, match="a regulariser has selected a candidate of another feature"):
        take_step(trainer, CASE, 0, callbacks={"change_structure": change})
    take_step(trainer, CASE, 0)


def test_numbers_that_are_not_finite_do_no_harm():
    """They make the result useless, which training tells by the loss, but nothing is read out of place."""
    for bad in (math.nan, math.inf, -math.inf):
        state = CASE.state()
        state.theta.value[: CASE.layout.size] = bad
        state.phi.value[:] = bad
        for is_dense in (False, True):
            actions = {"forest_parents": np.full(N_CANDIDATES, N_SLOTS)}
            trainer = core.Trainer(
                **CASE.arguments(state, LOSSES["hybrid"][0], is_dense=is_dense, actions=actions, n_threads=2)
            )
            loss, _ = take_step(trainer, CASE, 0, noise=np.full(N_CANDIDATES, bad))
            assert not math.isfinite(loss)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"theta": np.zeros(N_ENTRIES)}, "theta has the wrong type of numbers"),
        ({"theta": np.zeros(CASE.layout.size, np.float32)}, "theta must end in slack"),
        ({"theta": unwritable(np.float32, N_ENTRIES)}, "theta must be an array that can be written to"),
        ({"theta": strided(np.float32, N_ENTRIES)}, "theta must be C-contiguous"),
        ({"cpts": tuple(CPTS)[:3]}, "cpts must have 5 fields, not 3"),
        ({"cpts": tuple(CPTS._replace(parent=changed(CPTS.parent, 0, 9)))}, "parent holds 9"),
        ({"n_classes": 2}, "offset does not fit the sizes of the CPTs"),
        ({"n_classes": 0}, "n_classes must be at least 1"),
        ({"n_classes": -1}, "n_classes must be at least 1"),
        ({"n_classes": 2**62}, "n_classes must be at least 1"),
    ],
)
def test_wrong_arguments_of_normalising(changes, message):
    right = {"theta": np.zeros(N_ENTRIES, np.float32), "cpts": tuple(CPTS), "n_classes": 3}
    core.normalise_cpts(**right)
    with pytest.raises(ValueError, match=message):
        core.normalise_cpts(**{**right, **changes})
