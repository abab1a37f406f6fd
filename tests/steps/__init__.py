# steps - how tests/run.py runs what is in its table, and counts it.
