"""The store: one result for one run, many writers, killed writers, full disks, files of others."""

import resource
import sqlite3
import subprocess
import sys
from dataclasses import replace

import pytest

from tanager.experiments.grids import paper_grid
from tanager.experiments.run import Result
from tanager.experiments.spec import RunSpec
from tanager.experiments.store import SCHEMA_VERSION, Store, StoreError
from tests.experiments.inventing import invent
from tests.restricted import run_without_privileges

SPECS = [replace(spec, epochs=1) for spec in paper_grid("digits", "nb")[:200]]
RESULT = Result(0.25, 0.5, (-1, 0), None, seconds=1.0, cpu_seconds=1.0)

# Three writers at a time, one of them killed at a random moment, and this over and over.
CHAOS = """
import os, random, signal, sys, time
from dataclasses import replace
from tanager.experiments.grids import paper_grid
from tanager.experiments.run import Result
from tanager.experiments.store import Store

path, report = sys.argv[1:]
specs = [replace(spec, epochs=1) for spec in paper_grid("digits", "nb")[:200]]

def write(number):
    random.seed(number)
    log = os.open(report, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    with Store(path) as store:
        for spec in random.sample(specs, len(specs)):
            store.add(spec, Result(number / 10, None, (number,) * 64, None, seconds=1.0, cpu_seconds=1.0))
            os.write(log, spec.key.encode() + b" ")

def start(number):
    pid = os.fork()
    if pid == 0:
        write(number)
        os._exit(0)
    return pid

for number in range(6):
    writers = [start(3 * number + k) for k in range(3)]
    time.sleep(0.002 + 0.01 * number)
    for pid in writers[: 1 if number == 5 else 3]:
        os.kill(pid, signal.SIGKILL)
    codes = [os.waitpid(pid, 0)[1] for pid in writers]
print(codes[1:])
"""


@pytest.fixture
def path(tmp_path):
    return tmp_path / "results.sqlite"


def check_whole(path):
    """Every result in the file is complete, and the file itself is sound."""
    with sqlite3.connect(path) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    connection.close()
    with Store(path) as store:
        for record in store.records():
            number = record.result.parents[0]
            assert record.result == Result(number / 10, None, (number,) * 64, None, seconds=0, cpu_seconds=0)


def test_results_are_found_again(path):
    with Store(path) as store:
        assert store.add(SPECS[0], RESULT)
        assert SPECS[0] in store
        assert SPECS[1] not in store
    with Store(path, must_exist=True) as store:
        assert store.get(SPECS[0]) == RESULT
        assert store.get(SPECS[1]) is None
        assert [(record.spec, record.result) for record in store.records()] == [(SPECS[0], RESULT)]


def test_the_first_result_of_a_run_stays(path):
    with Store(path) as store:
        assert store.add(SPECS[0], RESULT)
        assert not store.add(SPECS[0], replace(RESULT, test_error=0.9))
        assert len(store) == 1
        assert store.get(SPECS[0]) == RESULT


def test_missing_keeps_the_order_and_drops_repetitions(path):
    with Store(path) as store:
        store.add(SPECS[1], RESULT)
        assert store.missing([*SPECS[:3], SPECS[0]]) == [SPECS[0], SPECS[2]]


def test_requests_stay_until_they_have_a_result(path):
    with Store(path) as store:
        store.request(SPECS[5:8])
        store.request(SPECS[3:6])
        store.add(SPECS[6], RESULT)
    with Store(path) as store:
        assert store.outstanding() == [SPECS[5], SPECS[7], SPECS[3], SPECS[4]]


def test_results_of_another_version_are_left_out(path):
    with Store(path) as store:
        store.add(SPECS[0], RESULT)
    with sqlite3.connect(path) as connection:
        connection.execute("UPDATE results SET spec = replace(spec, '\"recipe\":1', '\"recipe\":99')")
    connection.close()
    with Store(path) as store:
        assert len(store) == 1
        assert store.records() == []


def test_several_processes_make_one_store(tmp_path):
    """All begin at the same moment, in a file that is not there yet; repeated, since few of them meet."""
    program = """
import os, sys, time
from pathlib import Path
from tanager.experiments.store import Store
for number in range(30):
    begin, pids = time.time() + 0.01, []
    for _ in range(4):
        pids.append(os.fork())
        if pids[-1] == 0:
            while time.time() < begin:
                pass
            Store(Path(sys.argv[1]) / f"{number}.sqlite").close()
            os._exit(0)
    assert [os.waitpid(pid, 0)[1] for pid in pids] == [0] * 4
"""
    script = [sys.executable, "-W", "ignore", "-c", program, str(tmp_path)]
    done = subprocess.run(script, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr


@pytest.mark.slow
def test_writers_share_a_store_and_lose_nothing_when_killed(path, tmp_path):
    report = tmp_path / "reported"
    script = [sys.executable, "-W", "ignore", "-c", CHAOS, str(path), str(report)]
    done = subprocess.run(script, capture_output=True, text=True, timeout=120, check=True)
    assert done.stdout == "[0, 0]\n", done.stderr
    check_whole(path)
    with Store(path) as store:
        stored = [record.spec.key for record in store.records()]
    assert set(report.read_text().split()) == set(stored)
    assert len(stored) == len(set(stored)) == len(SPECS)


def test_store_of_a_newer_version_is_refused_and_left_alone(path):
    with Store(path) as store:
        store.add(SPECS[0], RESULT)
    with sqlite3.connect(path) as connection:
        connection.execute(f"PRAGMA user_version = {SCHEMA_VERSION + 1}")
    connection.close()
    before = path.read_bytes()
    with pytest.raises(StoreError, match=r"was written by a newer version of tanager \(format 2; this one knows"):
        Store(path)
    assert path.read_bytes() == before


def test_file_that_is_no_database_is_refused_and_left_alone(path):
    path.write_bytes(b"a text file, long enough to have a header of a hundred bytes" * 20)
    with pytest.raises(StoreError, match="it is not a database"):
        Store(path)
    assert path.read_bytes().startswith(b"a text file")


def test_database_of_another_program_is_refused(path):
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE flowers (name TEXT)")
    connection.close()
    with pytest.raises(StoreError, match="is a database of another program"):
        Store(path)


def test_store_that_must_exist(path):
    with pytest.raises(StoreError, match=r"there is no store .*results\.sqlite"):
        Store(path, must_exist=True)
    assert not path.exists()


def test_folder_that_cannot_be_made(tmp_path):
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(StoreError, match="cannot open the store"):
        Store(tmp_path / "file" / "results.sqlite")


def test_full_disk_loses_nothing(path):
    with Store(path) as store:
        store.add(SPECS[0], RESULT)
        n_added, message = fill(store, SPECS[1:-1], n_bytes=40_000)
        assert "cannot write the store" in message
        assert "what was stored before is safe" in message
        n_stored = len(store)
        assert 1 < n_stored == n_added + 1 < len(SPECS) - 1
        # There is room again: the same store goes on.
        assert store.add(SPECS[-1], RESULT)
    with Store(path) as store:
        assert len(store) == n_stored + 1


def fill(store, specs, n_bytes):
    """Add results until no file may grow beyond ``n_bytes``; returns how many went in, and the error."""
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (n_bytes, limits[1]))
    try:
        for number, spec in enumerate(specs):
            try:
                store.add(spec, RESULT)
            except StoreError as error:
                return number, str(error)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    raise AssertionError("the disk was never full")


def test_database_limit_is_reported_as_a_full_disk(path):
    with Store(path) as store:
        store._connection.execute("PRAGMA max_page_count = 1")
        with pytest.raises(StoreError, match="the disk is full; what was stored before is safe"):
            store.request(RunSpec(dataset="digits", method="nb-ml", seed=seed) for seed in range(500))
        assert store.outstanding() == []


DAMAGED = ["[]", "null", "{", ""]


@pytest.mark.parametrize(
    ("column", "text"),
    [*(("spec", text) for text in DAMAGED), *(("result", text) for text in [*DAMAGED, "{}", '{"recovered": 3}'])],
)
def test_a_damaged_row_is_named(path, column, text):
    with Store(path) as store:
        store.add(SPECS[0], RESULT)
        store._connection.execute(f"UPDATE results SET {column} = ?", (text,))
        with pytest.raises(StoreError, match=f"damaged in the row with the key '{SPECS[0].key}'"):
            store.records()


def test_a_store_that_may_not_be_written_is_read(path):
    """As any user, root included, who has no right to write: SQLite cannot make its usual files beside it."""
    with Store(path) as store:
        store.add(SPECS[0], RESULT)
    path.chmod(0o444)
    path.parent.chmod(0o555)
    code = f"""
from pathlib import Path
from tanager.experiments.store import Store, StoreError
from tests.experiments.test_store import RESULT, SPECS
with Store(Path({str(path)!r}), must_exist=True) as store:
    print(len(store), len(store.records()), len(store.missing(SPECS)))
    try:
        store.add(SPECS[1], RESULT)
    except StoreError as error:
        print(error)
"""
    try:
        done = run_without_privileges(code)
    finally:
        path.parent.chmod(0o755)
    assert done.stdout.splitlines() == ["1 1 199", f"cannot write the store {path}: it is write-protected"], done.stderr


def test_results_in_the_log_of_a_protected_store_are_not_left_out(path, monkeypatch):
    with Store(path) as store:
        store.add(SPECS[0], RESULT)
        log = path.with_name(path.name + "-wal")
        assert log.stat().st_size
        monkeypatch.setattr("os.access", lambda *args: False)
        with pytest.raises(StoreError, match=r"its last results are still in .*-wal; copy both"):
            Store(path, must_exist=True)


def test_many_results_are_added_at_once(tmp_path):
    records = [invent(spec, 0.1 + number / 100) for number, spec in enumerate(paper_grid("letter", "nb")[:3])]
    with Store(tmp_path / "results.sqlite") as store:
        store.add(records[0].spec, invent(records[0].spec, 0.5).result)
        assert store.add_all(records) == 2
        assert store.add_all(records) == 0
        assert store.get(records[0].spec).test_error == 0.5
        assert store.get(records[2].spec) == records[2].result
