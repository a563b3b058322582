"""A classifier in JavaScript, for the report and exports: the code that predicts, and the document that it reads."""

from tanager.javascript.bundle import bundle, classifier_modules
from tanager.javascript.document import describe_classifier, describe_networks

__all__ = ["bundle", "classifier_modules", "describe_classifier", "describe_networks"]
