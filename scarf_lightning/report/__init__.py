"""From results to the paper's tests, tables and figures. Free of torch and Lightning."""
