"""Reports: an HTML page about a classifier, and the pages and figures of the experiments."""

from tanager.report.page import write_report

__all__ = ["write_report"]
