"""Settings of every test: Hypothesis does not time examples, since the first call of a kernel compiles it."""

from hypothesis import settings

settings.register_profile("tanager", deadline=None)
settings.load_profile("tanager")
