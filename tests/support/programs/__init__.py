"""Programs that tests start: processes that die in the midst, Java, shells, ``spark-submit``."""
