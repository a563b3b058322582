"""Files that appear only when they are complete.

A file is written beside its place, brought to disk, and renamed: a full disk, a kill or a power cut leaves the old file
or the new one. Symbolic links are followed. What is not a regular file, such as a device or a pipe, is never replaced:
it is written to when everything is there. Parts that a killed process left behind are removed by the next one that
writes the same file.
"""

from __future__ import annotations

import errno
import os
import secrets
import shutil
import stat
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

_LONGEST_STEM = 40  # characters of a name that its part keeps: names have at most 255 bytes
# A part is left over if nobody has it locked; it is locked a moment after it is made. Where there are no locks, a day.
_LEFT_OVER_SECONDS = 60.0 if fcntl else 86400.0
_CANNOT_SYNC = (errno.EINVAL, errno.ENOTSUP, errno.ENOSYS)


@contextmanager
def written_whole(path: Path | str) -> Iterator[Path]:
    """Give a temporary path to write to, and put what was written in the place of ``path`` at the end.

    If anything goes wrong, Ctrl-C included, the temporary file is removed and what was at ``path`` stays.

    Examples
    --------
    >>> import tempfile
    >>> folder = Path(tempfile.mkdtemp())
    >>> with written_whole(folder / "a.txt") as temporary:
    ...     _ = temporary.write_text("all of it")
    >>> [file.name for file in folder.iterdir()]
    ['a.txt']
    """
    target = Path(path)
    is_stream = target.exists() and not target.is_file()
    if target.is_dir():
        raise IsADirectoryError(f"{path} is a folder; name a file")
    if is_stream:
        with _part_of(target, _temporary_folder()) as temporary:
            yield temporary
            _copy_to_stream(temporary, target)
        return
    target = Path(os.path.realpath(path))
    if not target.parent.is_dir():
        raise FileNotFoundError(f"there is no folder {target.parent} to write {target.name} to")
    with _part_of(target, target.parent) as temporary:
        yield temporary
        _replace(temporary, target)


@contextmanager
def _part_of(target: Path, folder: Path | None) -> Iterator[Path]:
    """Path of a new file in a folder, or in memory, that is locked while it is in use."""
    if folder is None:
        handle = os.memfd_create(target.name)
        try:
            yield Path(f"/proc/self/fd/{handle}")
        finally:
            os.close(handle)
        return
    start = f".{target.stem[:_LONGEST_STEM]}-part-"
    _clear_left_over(folder, start)
    temporary = folder / f"{start}{secrets.token_hex(6)}{target.suffix}"
    try:
        handle = os.open(temporary, os.O_RDWR | os.O_CREAT | os.O_EXCL, _mode_of(target))
    except OSError as error:
        error.filename = str(target)
        raise
    if fcntl is None:
        os.close(handle)  # Windows renames only files that are closed
    try:
        _lock(handle)
        yield temporary
    finally:
        if fcntl is not None:
            os.close(handle)
        temporary.unlink(missing_ok=True)


def _temporary_folder() -> Path | None:
    """Where the content of a stream is gathered; None where no folder can be written to, only memory."""
    try:
        return Path(tempfile.gettempdir())
    except FileNotFoundError:
        if not hasattr(os, "memfd_create"):
            raise
        return None


def _clear_left_over(folder: Path, start: str) -> None:
    """Remove parts of the same file whose writers are gone."""
    with suppress(OSError):  # a folder that may be written to but not listed
        for entry in [entry for entry in os.scandir(folder) if entry.name.startswith(start)]:
            with suppress(OSError):  # another process was faster, or it is another user's
                if entry.is_file(follow_symlinks=False) and _is_left_over(entry):
                    os.unlink(entry.path)


def _is_left_over(entry: os.DirEntry[str]) -> bool:
    if time.time() - entry.stat().st_mtime < _LEFT_OVER_SECONDS:
        return False
    handle = os.open(entry.path, os.O_RDWR)
    try:
        return _lock(handle)
    finally:
        os.close(handle)


def _lock(handle: int) -> bool:
    """Lock a file until it is closed; False if another process has locked it."""
    if fcntl is not None:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            return error.errno not in (errno.EWOULDBLOCK, errno.EACCES)  # others: a file system without locks
    return True


def _mode_of(target: Path) -> int:
    """Permissions of the file that is replaced, with those to write it; a new one has those of any new file."""
    return stat.S_IMODE(target.stat().st_mode) | 0o600 if target.is_file() else 0o666


def _copy_to_stream(temporary: Path, target: Path) -> None:
    """Write a file to a device or a pipe."""
    with temporary.open("rb") as source, target.open("wb", buffering=0) as stream:
        shutil.copyfileobj(source, stream)


def _replace(temporary: Path, target: Path) -> None:
    """Bring a file to disk, and then rename it."""
    if target.is_file():
        old = target.stat()
        with suppress(OSError):
            os.chown(temporary, old.st_uid, old.st_gid)
        temporary.chmod(stat.S_IMODE(old.st_mode))
    _sync(temporary)
    temporary.replace(target)
    with suppress(OSError):  # the name is there already, and Windows does not open folders
        _sync(target.parent)


def _sync(path: Path) -> None:
    """Wait until a file, or the names in a folder, are on disk; some file systems do not know how."""
    handle = os.open(path, os.O_RDONLY if path.is_dir() or fcntl else os.O_RDWR)
    try:
        os.fsync(handle)
    except OSError as error:
        if error.errno not in _CANNOT_SYNC:
            raise
    finally:
        os.close(handle)
