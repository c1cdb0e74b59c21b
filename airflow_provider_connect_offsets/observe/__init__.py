"""Reading systems into datasets: connectors, logs, lag. Nothing in here changes anything."""
