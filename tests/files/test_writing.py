import errno
import os
import stat
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import numpy as np
import pytest

from tanager.files import written_whole
from tests.restricted import run_without_privileges


def test_what_was_there_stays_when_writing_fails(tmp_path):
    path = tmp_path / "a.txt"
    path.write_text("old")

    def fail():
        with written_whole(path) as temporary:
            temporary.write_text("half")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fail()
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_readable_as_other_new_files_are(tmp_path):
    plain, whole = tmp_path / "plain", tmp_path / "whole"
    plain.write_text("a")
    with written_whole(whole) as temporary:
        temporary.write_text("b")
    assert whole.stat().st_mode == plain.stat().st_mode


def test_a_folder_that_is_not_there_is_named(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"no folder .*nowhere"), written_whole(tmp_path / "nowhere" / "a"):
        pass


def test_a_folder_is_refused(tmp_path):
    with pytest.raises(IsADirectoryError, match="is a folder"), written_whole(tmp_path):
        pass


def test_a_device_is_written_to_and_stays_a_device(tmp_path):
    null = Path("/dev/null")
    with written_whole(null) as temporary:
        temporary.write_text("gone")
    assert null.is_char_device()
    assert not temporary.exists()


def test_a_pipe_is_written_to_and_stays_a_pipe(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    received = []
    reader = threading.Thread(target=lambda: received.append(pipe.read_text()))
    reader.start()
    with written_whole(pipe) as temporary:
        temporary.write_text("through")
    reader.join(10)
    assert received == ["through"]
    assert pipe.is_fifo()
    assert [each.name for each in tmp_path.iterdir()] == ["pipe"]


def test_a_symbolic_link_is_followed(tmp_path):
    (tmp_path / "models").mkdir()
    target, link = tmp_path / "models" / "a.txt", tmp_path / "latest"
    target.write_text("old")
    link.symlink_to(target)
    with written_whole(link) as temporary:
        temporary.write_text("new")
    assert link.is_symlink()
    assert target.read_text() == "new"


def test_a_dangling_link_makes_its_target(tmp_path):
    link = tmp_path / "latest"
    link.symlink_to(tmp_path / "not-there-yet")
    with written_whole(link) as temporary:
        temporary.write_text("new")
    assert link.is_symlink()
    assert (tmp_path / "not-there-yet").read_text() == "new"


def test_data_are_on_disk_before_the_name_changes(tmp_path, monkeypatch):
    done = []
    sync, rename = os.fsync, Path.replace
    monkeypatch.setattr(os, "fsync", lambda handle: (done.append(stat.S_IFMT(os.fstat(handle).st_mode)), sync(handle)))
    monkeypatch.setattr(Path, "replace", lambda self, target: (done.append("renamed"), rename(self, target)))
    with written_whole(tmp_path / "a.txt") as temporary:
        temporary.write_text("all of it")
    assert done == [stat.S_IFREG, "renamed", stat.S_IFDIR]


def left_over(folder, name="a.txt", age=3600.0):
    """A part that a killed process left behind."""
    stem, suffix = os.path.splitext(name)
    part = folder / f".{stem}-part-0123456789ab{suffix}"
    part.write_text("half")
    os.utime(part, (time.time() - age,) * 2)
    return part


def write(path, text):
    with written_whole(path) as temporary:
        temporary.write_text(text)


def test_parts_of_killed_processes_are_cleared(tmp_path):
    part, of_another_file = left_over(tmp_path), left_over(tmp_path, "b.txt")
    fresh = left_over(tmp_path, age=0).rename(tmp_path / ".a-part-ffffffffffff.txt")
    left_over(tmp_path)
    write(tmp_path / "a.txt", "all of it")
    assert not part.exists()
    assert of_another_file.exists()
    assert fresh.exists()  # it may have been made this moment, and not been locked yet


def test_a_part_that_is_being_written_stays(tmp_path):
    path = tmp_path / "a.txt"
    with written_whole(path) as slow:
        slow.write_text("slow")
        os.utime(slow, (0, 0))
        write(path, "fast")
        assert path.read_text() == "fast"
    assert path.read_text() == "slow"
    assert list(tmp_path.iterdir()) == [path]


def test_permissions_stay(tmp_path):
    path = tmp_path / "a.txt"
    for mode in (0o600, 0o640, 0o444):
        path.touch()
        path.chmod(mode)
        write(path, "new")
        assert stat.S_IMODE(path.stat().st_mode) == mode
        path.unlink()


def test_the_mask_of_the_process_is_not_touched(tmp_path, monkeypatch):
    """Setting it, the only way to read it, would change the files of other threads."""
    monkeypatch.setattr(os, "umask", None)
    write(tmp_path / "a.txt", "new")


def test_long_names(tmp_path):
    path = tmp_path / ("ä" * 120 + ".tanager")
    write(path, "new")
    assert list(tmp_path.iterdir()) == [path]


def test_a_folder_that_may_not_be_written_is_named(tmp_path):
    tmp_path.chmod(0o555)
    code = f"""
from tanager.files import written_whole
try:
    with written_whole({str(tmp_path / "a.txt")!r}):
        pass
except PermissionError as error:
    print(error)
"""
    done = run_without_privileges(code)
    tmp_path.chmod(0o755)
    assert done.stdout == f"[Errno 13] Permission denied: '{tmp_path / 'a.txt'}'\n", done.stderr


def test_data_that_do_not_reach_the_disk_are_an_error(tmp_path, monkeypatch):
    path = tmp_path / "a.txt"
    write(path, "old")

    def fail(handle):
        raise OSError(errno.EIO, "Input/output error")

    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(OSError, match="Input/output error"):
        write(path, "new")
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_file_systems_that_cannot_sync_are_written_to(tmp_path, monkeypatch):
    def refuse(handle):
        raise OSError(errno.EINVAL, "Invalid argument")

    monkeypatch.setattr(os, "fsync", refuse)
    write(tmp_path / "a.txt", "new")
    assert (tmp_path / "a.txt").read_text() == "new"


def test_a_stream_without_a_temporary_folder(tmp_path, monkeypatch):
    def refuse():
        raise FileNotFoundError("No usable temporary directory found")

    monkeypatch.setattr(tempfile, "gettempdir", refuse)
    write("/dev/null", "gone")


def test_the_standard_output_that_is_a_pipe():
    code = """
from tanager.files import written_whole
with written_whole("/dev/stdout") as temporary:
    temporary.write_text("through")
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.stdout == "through", done.stderr


class Disk:
    """A disk that forgets what was not synced: the content of files, and names in folders."""

    def __init__(self, folder, monkeypatch):
        self.folder, self.synced, self.names = folder, {}, {}
        sync = os.fsync
        monkeypatch.setattr(os, "fsync", lambda handle: (sync(handle), self.keep(handle)))
        self.take_names()

    def keep(self, handle):
        status = os.fstat(handle)
        if stat.S_ISDIR(status.st_mode):
            self.take_names()
        else:
            self.synced[status.st_ino] = Path(f"/proc/self/fd/{handle}").read_bytes()

    def take_names(self):
        self.names = {path.name: path.stat().st_ino for path in self.folder.iterdir()}

    def after_a_power_cut(self, are_names_kept):
        """Content by name; names that were changed since the last sync may be the old or the new ones."""
        if are_names_kept:
            self.take_names()
        return {name: self.synced.get(number, b"") for name, number in self.names.items()}


@pytest.mark.parametrize("are_names_kept", [False, True], ids=["old names", "new names"])
@pytest.mark.parametrize("stage", ["open", "half", "written", "chmod", "replace", "end"])
def test_a_power_cut_at_any_stage_leaves_the_old_file_or_the_new_one(tmp_path, monkeypatch, stage, are_names_kept):
    path = tmp_path / "a.txt"
    disk = Disk(tmp_path, monkeypatch)
    write(path, "old")
    seen = []

    def cut(at):
        if at == stage:
            content = disk.after_a_power_cut(are_names_kept)
            seen.append(content["a.txt"])

    chmod, replace = Path.chmod, Path.replace
    monkeypatch.setattr(Path, "chmod", lambda self, mode: (cut("chmod"), chmod(self, mode)))
    monkeypatch.setattr(Path, "replace", lambda self, target: (replace(self, target), cut("replace")))
    with written_whole(path) as temporary, temporary.open("w") as stream:
        cut("open")
        stream.write("ne")
        stream.flush()
        cut("half")
        stream.write("w")
        cut("written")
    cut("end")
    assert seen in ([b"old"], [b"new"])
    if stage == "end":
        assert seen == [b"new"]


WRITER = """
import signal, sys
import numpy as np
from tanager.files import written_whole
path, value = sys.argv[1:]
while True:
    with written_whole(path) as temporary, temporary.open("wb") as stream:
        for _ in range(50):
            stream.write(value.encode() * 1000)
            stream.flush()
        print(value, flush=True)
"""


def test_killed_at_any_moment_the_file_is_whole(tmp_path):
    """Twelve processes, killed one after the other; each next one writes the same file and clears what is left."""
    path = tmp_path / "a.txt"
    rng = np.random.default_rng(0)
    for number in range(12):
        started = subprocess.Popen([sys.executable, "-c", WRITER, path, str(number % 10)], stdout=subprocess.PIPE)
        started.stdout.readline()
        time.sleep(rng.uniform(0, 0.02))
        started.kill()
        started.communicate()
        if path.exists():
            content = path.read_text()
            assert len(content) == 50_000
            assert len(set(content)) == 1
        for part in tmp_path.glob(".a-part-*"):
            os.utime(part, (0, 0))
    write(path, "last")
    assert list(tmp_path.iterdir()) == [path]


def test_a_full_disk_leaves_the_old_file(tmp_path):
    """The limit on the size of a file is what a full disk is to a process: writing fails in the middle."""
    path = tmp_path / "a.txt"
    path.write_text("old")
    code = f"""
import resource, signal
from tanager.files import written_whole
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (10_000, 10_000))
try:
    with written_whole({str(path)!r}) as temporary:
        temporary.write_bytes(bytes(20_000))
except OSError as error:
    print(error.strerror)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.stdout == "File too large\n", done.stderr
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]
