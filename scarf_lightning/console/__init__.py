"""What the user sees in a terminal: progress while training, tables after it."""
