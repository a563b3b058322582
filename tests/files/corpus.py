"""The corpus of damaged model files: one for each way in which a file is refused, and some that are taken.

``python -m tests.files.corpus 2000`` mutates the files that it has and fresh ones, and keeps those that are refused in
a new way. They are alike, so the archive is small.
"""

import io
import re
import sys
import tarfile
import tempfile
from pathlib import Path

import numpy as np

import tanager
from tanager.files import ModelFileError
from tests.files.model_files import content_of
from tests.files.test_hostile import SMALL, mutate

ARCHIVE = Path(__file__).with_name("corpus.tar.xz")


def read_corpus():
    """Content of the files, by name."""
    if not ARCHIVE.exists():
        return {}
    with tarfile.open(ARCHIVE) as archive:
        return {member.name: archive.extractfile(member).read() for member in archive.getmembers()}


def write_corpus(files):
    with tarfile.open(ARCHIVE, "w:xz", preset=9) as archive:
        for name, content in sorted(files.items()):
            member = tarfile.TarInfo(name)
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))


def outcome(content, path):
    """How a file is met: the error without its numbers and names, or "taken"."""
    path.write_bytes(content)
    try:
        tanager.load(path)
    except ModelFileError as error:
        text = str(error).removeprefix(f"{path}: ")
        return re.sub(r"\d[\d,.]*|'[^']*'|\([^)]*\)|\[[^]]*\]", "*", text)[:60]
    return "taken"


def extend(n_rounds):
    """Mutate, and keep what is met in a new way."""
    files = read_corpus()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "a.tanager"
        known = {outcome(content, path) for content in files.values()}
        fresh = [content_of(make(), Path(folder)) for make in SMALL.values()]
        rng = np.random.default_rng(len(files))
        for _ in range(n_rounds):
            seeds = [*fresh, *files.values()]
            content = seeds[rng.integers(len(seeds))]
            try:
                content = mutate(rng, content)
            except (ValueError, KeyError, TypeError, IndexError):  # damaged too much to be taken apart
                continue
            found = outcome(content, path)
            if found not in known:
                known.add(found)
                files[f"{len(files):03d}"] = content
    write_corpus(files)
    print(f"{len(files)} files, {ARCHIVE.stat().st_size:,} bytes")


if __name__ == "__main__":
    extend(int(sys.argv[1]))
