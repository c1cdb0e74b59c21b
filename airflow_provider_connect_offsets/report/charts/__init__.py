"""Charts of reports, as SVG."""
