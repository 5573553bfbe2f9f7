"""Our own study: when does pre-training help? It uses the package from outside; the package never imports it."""
