"""Connect's REST API: where it is and who asks (``endpoint``), how a call travels (``calls``), what a no means."""
