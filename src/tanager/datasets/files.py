"""Locating a data file: in the folder ``TANAGER_DATA``, in the cache, or on a server to download it from.

Every file is verified by its hash, wherever it was found. Pooch does the downloading: it writes to a temporary file and
moves it into place only if the hash matches, so an incomplete download never looks like a valid file.
"""

from __future__ import annotations

import hashlib
import importlib
import os
import sys
from pathlib import Path
from typing import Any

from tanager.datasets.catalogue import SHA256

DEFAULT_BASE_URL = ""
"""URL of the folder with the data files. There is no public server yet, so TANAGER_DATA_URL must give one."""

_TIMEOUT = 30.0
_HELP = (
    "Set TANAGER_DATA to a folder that has the file, or TANAGER_DATA_URL to the address of such a folder; see "
    "docs/reproduce.md."
)


class DataError(RuntimeError):
    """A data file cannot be obtained, or its hash is wrong."""


def data_file(name: str) -> Path:
    """Return the path of a data file; download it first if necessary.

    Parameters
    ----------
    name : str
        One of the names in `tanager.datasets.catalogue.SHA256`.
    """
    given = _in_given_folder(name)
    if given is not None:
        return given
    folder = cache_folder()
    if (folder / name).is_file() and _hash(folder / name) == SHA256[name]:
        return folder / name
    return _download(name, folder)


def cache_folder() -> Path:
    """Folder for downloads: ``TANAGER_CACHE``, or the user's cache directory."""
    given = os.environ.get("TANAGER_CACHE")
    return Path(given) if given else Path(_import_pooch().os_cache("tanager"))


def _in_given_folder(name: str) -> Path | None:
    given = os.environ.get("TANAGER_DATA")
    if not given:
        return None
    folder = Path(given)
    if not folder.is_dir():
        raise DataError(f"TANAGER_DATA is {given}, which is not a folder")
    path = folder / name
    if not path.is_file():
        return None
    found = _hash(path)
    if found != SHA256[name]:
        raise DataError(f"{path} is not the file it should be: its SHA-256 is {found}, expected {SHA256[name]}")
    return path


def _hash(path: Path) -> str:
    try:
        with path.open("rb") as stream:
            return hashlib.file_digest(stream, "sha256").hexdigest()
    except OSError as error:
        raise DataError(f"cannot read {path}: {error.strerror}") from error


def _download(name: str, folder: Path) -> Path:
    base_url = os.environ.get("TANAGER_DATA_URL") or DEFAULT_BASE_URL
    if not base_url:
        raise DataError(f"{name} is not on this machine, and no address to download it from is set. {_HELP}")
    pooch, requests = _import_pooch(), importlib.import_module("requests")
    url = f"{base_url.rstrip('/')}/"
    downloader = pooch.HTTPDownloader(progressbar=sys.stderr.isatty(), timeout=_TIMEOUT)
    try:
        source = pooch.create(path=folder, base_url=url, registry={name: SHA256[name]}, retry_if_failed=1)
        return Path(source.fetch(name, downloader=downloader))
    except requests.HTTPError as error:
        raise DataError(f"{url}{name} cannot be downloaded: {error}. {_HELP}") from error
    except requests.RequestException as error:
        raise DataError(f"{url}{name} cannot be reached; is this machine offline? {_HELP}") from error
    except OSError as error:
        raise DataError(f"cannot write {name} to the cache {folder}: {error.strerror or error}") from error
    except ValueError as error:
        raise DataError(f"{url}{name} is corrupt, or another file: {error}") from error


def _import_pooch() -> Any:
    try:
        return importlib.import_module("pooch")
    except ImportError as error:
        raise DataError(
            "downloading needs pooch: pip install 'tanager[experiments]'; or set TANAGER_DATA to a folder with the data"
        ) from error
