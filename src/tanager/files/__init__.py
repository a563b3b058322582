"""Files on disk: written whole or not at all."""

from tanager.files.writing import written_whole

__all__ = ["written_whole"]
