"""Read the user's files into a ``Draft``: plain data in the words of the YAML format, and the origins of values."""
