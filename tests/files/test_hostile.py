"""Damaged and hostile model files: an error that names the file, or a classifier that predicts; nothing else."""

import copy
import struct
import time
import tracemalloc

import numpy as np
import pytest

import tanager
from tanager import GradientDescent
from tanager.files import ModelFileError, NotKept, read_header
from tanager.learning import VALUES
from tests.files.model_files import (
    ODD_VALUES,
    content_of,
    find_array,
    put_together,
    small_classifier,
    small_ensemble,
    small_search,
    take_apart,
    with_checksum,
)

SMALL = {"classifier": small_classifier, "ensemble": small_ensemble, "search": small_search}
N_FILES = {"classifier": 8000, "ensemble": 2500, "search": 4000}
ODD_BYTES = [
    *(struct.pack("<q", number) for number in (-1, 0, 1, 2, 255, 2**31, 2**40, 2**62, -(2**63))),
    *(struct.pack("<d", number) for number in (np.nan, np.inf, -np.inf, -0.0, 1.0, 1e300)),
    *(struct.pack("<ff", number, -1.0) for number in (np.nan, np.inf, -np.inf, 5.0, -1e30)),
]


@pytest.fixture(scope="module", params=SMALL)
def saved(request, tmp_path_factory):
    """Name, content and a path to write mutations to."""
    folder = tmp_path_factory.mktemp("hostile")
    return request.param, content_of(SMALL[request.param](), folder), folder / "mutated.tanager"


def refused(path, content):
    """Whether loading is refused, in words that name the file; if it is not, the classifier must predict."""
    path.unlink(missing_ok=True)  # to write over a file takes many times as long on some file systems
    path.write_bytes(content)
    try:
        clf = tanager.load(path)
    except ModelFileError as error:
        return str(path) in str(error)
    model = getattr(clf, "average_", None) or clf.network_
    cards = clf.encoder_.cards.astype(np.int64)
    codes = np.random.default_rng(0).integers(0, cards + 1, size=(5, len(cards)))
    log_joint = model.log_joint(codes)
    assert log_joint.shape == (5, len(clf.classes_))
    assert np.isfinite(log_joint).all()
    assert clf.n_features_in_ == len(cards)
    assert clf.get_params().keys() >= clf.get_params(deep=False).keys()
    assert repr(clf).startswith("TAN")
    return False


def flip_bits(rng, body):
    changed = bytearray(body)
    for place in rng.integers(0, len(body), rng.integers(1, 4)):
        changed[place] ^= 1 << rng.integers(8)
    return bytes(changed)


def cut_off(rng, body):
    return body[: rng.integers(len(body))]


def insert(rng, body):
    place = rng.integers(len(body))
    return body[:place] + rng.bytes(rng.choice([1, 8, 64])) + body[place:]


def delete(rng, body):
    place = rng.integers(len(body))
    return body[:place] + body[place + rng.choice([1, 8, 64]) :]


def swap_sections(rng, body):
    lo, middle, hi = sorted((rng.integers(0, len(body) // 64, 3) * 64).tolist())
    return body[:lo] + body[middle:hi] + body[lo:middle] + body[hi:]


def overwrite(rng, body):
    place = rng.integers(len(body) - 8) // 4 * 4
    return body[:place] + ODD_BYTES[rng.integers(len(ODD_BYTES))] + body[place + 8 :]


def lie_about_length(rng, body):
    length = int(rng.choice([0, 1, 24, len(body), 2**24, 2**31, 2**63]))
    return body[:16] + struct.pack("<Q", length) + body[24:]


def replace_values(rng, body):
    """Replace values of the header, or swap two of them, or drop a key."""
    header, data = take_apart(body + bytes(32))
    for _ in range(rng.integers(1, 3)):
        place = header
        while True:
            keys = list(place) if isinstance(place, dict) else range(len(place))
            if not keys:
                break
            key = keys[rng.integers(len(keys))]
            if isinstance(place[key], (dict, list)) and rng.random() < 0.8:
                place = place[key]
                continue
            action = rng.random()
            if action < 0.7:
                place[key] = copy.deepcopy(ODD_VALUES[rng.integers(len(ODD_VALUES))])
            elif action < 0.85:
                other = keys[rng.integers(len(keys))]
                place[key], place[other] = place[other], place[key]
            else:
                del place[key]
            break
    return put_together(header, data)[:-32]


def option_values(place):
    """All option values in a header, those inside of others included, each a list of its name and its options."""
    if isinstance(place, dict) and list(place) == ["value"] and isinstance(place["value"], list):
        yield place["value"]
    for inner in place.values() if isinstance(place, dict) else place if isinstance(place, list) else ():
        yield from option_values(inner)


def replace_option_values(rng, body):
    """Give an option value another name, or an odd option, or put another value in the place of an option."""
    header, data = take_apart(body + bytes(32))
    values = list(option_values(header))
    if not values:
        return body
    value = values[rng.integers(len(values))]
    name, options = value
    action = rng.random()
    if action < 0.3:
        value[0] = [*VALUES, "Options", "NotKept", "subset", ""][rng.integers(len(VALUES) + 4)]
    elif action < 0.8 and options:
        key = list(options)[rng.integers(len(options))]
        odd = ODD_VALUES[rng.integers(len(ODD_VALUES))]
        options[key] = copy.deepcopy([odd, {"list": [odd] * 3}, {"value": [name, options]}][rng.integers(3)])
    elif action < 0.9:
        options[["max_parents", "x", "self", "__class__", "loss"][rng.integers(5)]] = 3
    else:
        value[rng.integers(2)] = copy.deepcopy(ODD_VALUES[rng.integers(len(ODD_VALUES))])
    return put_together(header, data)[:-32]


def replace_array(rng, body):
    """Set an entry of an array to something odd, or copy one entry over another."""
    header, data = take_apart(body + bytes(32))
    names = [entry["name"] for entry in header["arrays"] if 0 not in entry["shape"]]
    lo, hi, letter = find_array(header, names[rng.integers(len(names))])
    array = np.frombuffer(data[lo:hi], letter).copy()
    place = rng.integers(array.size)
    odd = [np.nan, np.inf, -np.inf, 0.0, 1.0, -1e30] if letter[1] == "f" else [0, 1, 2, 3, 6, 127, array.size]
    choice = rng.integers(len(odd) + 2)
    array[place] = array[rng.integers(array.size)] if choice >= len(odd) else odd[choice]
    return put_together(header, data[:lo] + array.tobytes() + data[hi:])[:-32]


MUTATIONS = [
    *(flip_bits, cut_off, insert, delete, swap_sections, overwrite, lie_about_length),
    *(replace_values, replace_values, replace_values, replace_array, replace_array),
    *(replace_option_values, replace_option_values),
]


def mutate(rng, content):
    """A mutated file; four of five have a right checksum, so that the checks behind it are reached."""
    body = MUTATIONS[rng.integers(len(MUTATIONS))](rng, content[:-32])
    return with_checksum(body) if rng.random() < 0.8 else body + content[-32:]


def test_mutated_files_are_refused_or_predict(saved):
    name, content, path = saved
    rng = np.random.default_rng(12)
    n_refused = sum(refused(path, mutate(rng, content)) for _ in range(N_FILES[name]))
    # Changes of metadata, of options and of the history are valid, so some must load.
    assert 0.5 * N_FILES[name] < n_refused < 0.99 * N_FILES[name]


def test_the_file_itself_is_not_refused(saved):
    _, content, path = saved
    assert not refused(path, content)
    assert not refused(path, put_together(*take_apart(content)))


def test_cut_off_at_every_length(saved):
    _, content, path = saved
    assert all(refused(path, content[:length]) for length in range(0, len(content), 1 if len(content) < 6000 else 5))


def test_cut_off_at_every_length_with_a_right_checksum(saved):
    _, content, path = saved
    assert all(refused(path, with_checksum(content[:length])) for length in range(0, len(content) - 32, 7))


def test_every_flipped_byte_is_found_by_the_checksum(saved):
    _, content, path = saved
    for place in range(0, len(content), 5):
        changed = bytearray(content)
        changed[place] ^= 0x10
        assert refused(path, bytes(changed))


def test_mutated_headers_read_alone(saved):
    _, content, path = saved
    rng = np.random.default_rng(3)
    for _ in range(300):
        path.unlink(missing_ok=True)
        path.write_bytes(mutate(rng, content))
        try:
            header = read_header(path)
        except ModelFileError:
            continue
        assert isinstance(header["metadata"], dict)


def peak_bytes(path, content):
    """Memory that loading takes at most, as Python and NumPy allocate it."""
    tracemalloc.start()
    try:
        is_refused = refused(path, content)
        return tracemalloc.get_traced_memory()[1], is_refused
    finally:
        tracemalloc.stop()


def test_memory_of_mutated_files_is_bounded(saved):
    _, content, path = saved
    rng = np.random.default_rng(4)
    peaks = [peak_bytes(path, mutate(rng, content))[0] for _ in range(200)]
    assert max(peaks) < 30 * len(content) + 500_000


def lie(**changes):
    """A function that changes the summary or the first array of a header."""

    def change(header):
        for key, value in changes.items():
            target = header["summary"] if key in header["summary"] else header["arrays"][0]
            target[key] = value

    return change


@pytest.mark.parametrize(
    "change",
    [
        lie(shape=[2**40]),
        lie(shape=[2**40, 2**40, 2**40]),
        lie(shape=[0, 2**62]),
        lie(shape=[0, 0, 0, 0, 0]),
        lie(offset=2**60),
        lie(n_features=2**40),
        lie(n_classes=2**40),
        lie(n_members=2**40),
        lambda header: header["classes"].update(element="str", width=2**40),
        lambda header: header.update(members=header["members"] * 1000),
        lambda header: header["arrays"].append({"name": "big", "dtype": "float64", "shape": [2**50], "offset": 0}),
    ],
)
def test_lengths_that_lie_take_no_memory(saved, change):
    _, content, path = saved
    header, data = take_apart(content)
    change(header)
    peak, is_refused = peak_bytes(path, put_together(header, data))
    assert is_refused
    assert peak < 30 * path.stat().st_size + 500_000


@pytest.mark.parametrize(
    ("header", "complaint"),
    [
        (b"[" * 100_000, "nested"),
        (b'{"a":' * 1000 + b"1" + b"}" * 1000, "nested"),
        (b"[" + b"[]," * 400_000 + b"[]]", "more than"),
        (b'{"a": ' + b"9" * 10_000 + b"}", "digits"),
        (b'{"a": 1e999}', "too large"),
        (b'{"a": NaN}', "NaN"),
        (b'{"a": 1, "a": 2}', "twice"),
        (b'"' + b"\\" * 99_999, "JSON|Invalid|Unterminated"),
        (b"[1]", "object"),
        (b"\xff\xfe", "utf-8"),
        (b"", "Expecting value"),
    ],
)
def test_odd_json_is_refused_quickly(tmp_path, header, complaint):
    path = tmp_path / "odd.tanager"
    path.write_bytes(put_together(header, b""))
    start = time.process_time()
    with pytest.raises(ModelFileError, match=complaint):
        tanager.load(path)
    with pytest.raises(ModelFileError, match=complaint):
        read_header(path)
    assert time.process_time() - start < 2


HUGE = 100_000  # numbers in a list
LONG = "a" * 10_000_000


def nested(depth):
    """A value inside of a value, and so on; as JSON each is four levels."""
    value = ["Screened", {}]
    for _ in range(depth):
        value = ["Subset", {"candidates": {"value": value}}]
    return value


@pytest.mark.parametrize(
    ("value", "complaint"),
    [
        (["Sub", {}], "'Sub', which this tanager does not know: upgrade"),
        (["__import__", {}], "does not know"),
        (["Recipe", {"structure": "none", "parameters": "ml"}], "does not know"),
        (["Subset"], "the name and the options of a value"),
        (["Subset", {}, {}], "the name and the options of a value"),
        (["Subset", [8]], "the name and the options of a value"),
        ([7, {}], "the name and the options of a value"),
        (["Subset", {"max_parent": 8}], "no option 'max_parent'; did you mean 'max_parents'"),
        (["Subset", {"self": 8}], "multiple values for argument 'self'"),
        (["Subset", {"max_parents": 0}], "max_parents must be a whole number of at least 1, got 0"),
        (["Subset", {"max_parents": "8"}], "max_parents must be a whole number"),
        (["Subset", {"max_parents": {"value": ["Subset", {}]}}], "max_parents must be a whole number"),
        (["Subset", {"ordering": {"list": [0, 2]}}], "ordering must be"),
        (["Subset", {"ordering": {"list": [0, {"value": ["Subset", {}]}]}}], "ordering must be"),
        (["Subset", {"ordering": {"list": [{"list": [0]}]}}], "list of lists"),
        (["Subset", {"ordering": {"list": [2] * HUGE}}], "ordering must be"),
        (["Subset", {"ordering": {"list": ["a"] * HUGE}}], "100,000 entries that are not all whole numbers"),
        (["Subset", {"ordering": LONG}], "10,000,000 characters"),
        (["Subset", {LONG: 8}], "10,000,000 characters"),
        (["Subset", {LONG: []}], "must be a plain value"),
        ([LONG, {}], "does not know"),
        (["Nearest", {}], "image_shape"),
        (["Nearest", {"image_shape": {"tuple": [2]}}], "image_shape must be"),
        (["FixedParents", {"parents": {"list": [1, 0]}}], "cycle"),
        (["FixedParents", {"parents": {"list": [[[]]]}}], "must be a plain value"),
        (["FixedParents", {"parents": {"list": [*range(1, HUGE), 0]}}], "cycle"),
        (["Hybrid", {"gamma": 10**400}], "'structure' of 'options' .*large"),
        (nested(100), "nested"),
        (["GradientDescent", {"loss": {"value": ["Margin", {"eta": True}]}}], "eta must be a finite number"),
        (["GradientDescent", {"loss": "hybird"}], "did you mean 'hybrid'"),
        (["GradientDescent", {"regularisers": 1}], "'structure' of 'options'"),
        (["GradientDescent", {"regularisers": {"tuple": [1]}}], "'structure' of 'options'"),
        (["GradientDescent", {"shrinkage": 20.0}], "allows a learning_rate of at most"),
        (
            ["IndependentSearches", {"structure": {"value": ["IndependentSearches", {}]}}],
            "'structure' of 'options'.*got IndependentSearches",
        ),
    ],
    ids=lambda value: "-" if isinstance(value, str) else str(value)[:40],
)
def test_odd_option_values_are_refused_quickly(tmp_path, value, complaint):
    path = tmp_path / "odd.tanager"
    header, data = take_apart(content_of(small_classifier(), tmp_path))
    header["members"][0]["options"]["structure"] = {"value": value}
    content = put_together(header, data)
    start = time.process_time()
    peak, is_refused = peak_bytes(path, content)
    assert is_refused
    assert time.process_time() - start < 5
    assert peak < 60 * len(content) + 500_000
    with pytest.raises(ModelFileError, match=complaint) as caught:
        tanager.load(path)
    assert len(str(caught.value)) < 1000


@pytest.mark.parametrize("place", ["options", "chosen"])
def test_odd_option_values_of_an_ensemble_are_refused(tmp_path, place):
    path = tmp_path / "odd.tanager"
    header, data = take_apart(content_of(small_ensemble(), tmp_path))
    options = header["options"] if place == "options" else header["chosen"]["options"]
    options["parameters"]["value"][1]["epochs"] = -1
    path.write_bytes(put_together(header, data))
    with pytest.raises(ModelFileError, match=r"'parameters' of 'options' .*epochs must be .*, got -1"):
        tanager.load(path)


def test_values_with_parts_that_are_not_in_the_file_predict(tmp_path):
    path = tmp_path / "part.tanager"
    header, data = take_apart(content_of(small_classifier(), tmp_path))
    options = header["members"][0]["options"]
    options["structure"] = {"value": ["Subset", {"ordering": {"not_kept": "Series"}}]}
    options["parameters"] = {"value": ["GradientDescent", {"loss": {"not_kept": "my_loss"}}]}
    assert not refused(path, put_together(header, data))
    clf = tanager.load(path)
    assert (clf.structure, clf.parameters) == (NotKept("Subset"), GradientDescent(NotKept("my_loss")))
    with pytest.raises(ValueError, match=r"parameters\.loss is <my_loss, which the model file does not hold"):
        clf.fit([[0], [1]], [0, 1])
    clf.set_params(parameters__loss="nll")
    with pytest.raises(ValueError, match="structure is <Subset, which the model file does not hold"):
        clf.fit([[0], [1]], [0, 1])


def test_values_of_one_hash_are_refused_quickly(tmp_path):
    path = tmp_path / "hash.tanager"
    header, data = take_apart(content_of(small_classifier(), tmp_path))
    numbers = [str((2**61 - 1) * k).encode() for k in range(1, 20_001)]
    blocks = {
        "columns.values.type": np.ones(len(numbers), np.uint8),
        "columns.values.end": np.cumsum([len(number) for number in numbers], dtype="<i8"),
        "columns.values.data": np.frombuffer(b"".join(numbers), np.uint8),
        "columns.values_end": np.array([0, 0, len(numbers), *[len(numbers)] * 5], "<i8"),
    }
    new_data = b""
    for entry in header["arrays"]:
        lo, hi, _ = find_array(header, entry["name"])
        block = blocks.get(entry["name"])
        part = data[lo:hi] if block is None else block.tobytes()
        if block is not None:
            entry["shape"] = [block.size]
        entry["new"] = len(new_data)
        new_data += part + bytes(-len(part) % 64)
    for entry in header["arrays"]:
        entry["offset"] = entry.pop("new")
    path.write_bytes(put_together(header, new_data))
    start = time.process_time()
    with pytest.raises(ModelFileError, match="column 1 are not all distinct"):
        tanager.load(path)
    assert time.process_time() - start < 2
