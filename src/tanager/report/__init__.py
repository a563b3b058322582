"""Tables, figures and pages from what was learned and measured."""
