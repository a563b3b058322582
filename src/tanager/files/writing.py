"""Files that appear only when they are complete.

A file is written beside its place, brought to disk, and renamed: a full disk, a kill or a power cut leaves the old file
or the new one. Symbolic links are followed. What is not a regular file, such as a device or a pipe, is never replaced:
it is written to when everything is there.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


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
    target = Path(os.path.realpath(path))
    if target.is_dir():
        raise IsADirectoryError(f"{path} is a folder; name a file")
    if not target.parent.is_dir():
        raise FileNotFoundError(f"there is no folder {target.parent} to write {target.name} to")
    is_stream = target.exists() and not target.is_file()
    folder = None if is_stream else target.parent
    handle, name = tempfile.mkstemp(prefix=f".{target.stem}-", suffix=target.suffix, dir=folder)
    os.close(handle)
    temporary = Path(name)
    try:
        yield temporary
        if is_stream:
            _copy_to_stream(temporary, target)
        else:
            _replace(temporary, target)
    finally:
        temporary.unlink(missing_ok=True)


def _copy_to_stream(temporary: Path, target: Path) -> None:
    """Write a file to a device or a pipe."""
    with temporary.open("rb") as source, target.open("wb", buffering=0) as stream:
        shutil.copyfileobj(source, stream)


def _replace(temporary: Path, target: Path) -> None:
    """Bring a file to disk, and then rename it."""
    # mkstemp makes files for the owner alone; these are as readable as any other new file.
    temporary.chmod(0o666 & ~_umask())
    _sync(temporary)
    temporary.replace(target)
    _sync(target.parent)


def _sync(path: Path) -> None:
    """Wait until a file, or the names in a folder, are on disk; some file systems do not know how."""
    try:
        handle = os.open(path, os.O_RDONLY)
    except OSError:  # Windows does not open folders
        return
    try:
        os.fsync(handle)
    except OSError:
        pass
    finally:
        os.close(handle)


def _umask() -> int:
    """The mask of permissions that new files go without; it can only be read by setting it."""
    mask = os.umask(0)
    os.umask(mask)
    return mask
