"""Tables, figures and pages from what was learned and measured."""

from tanager.report.page import write_report

__all__ = ["write_report"]
