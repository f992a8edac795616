"""Lakes that exchange: summaries of send sets, and convergence. Its door is that of `lace.pipeline`."""
