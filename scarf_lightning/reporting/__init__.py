"""From results to statistics, tables, figures and a page. Free of torch and Lightning."""
