"""Speed measurements: the shapes of the paper's data sets and a reference implementation in PyTorch."""
