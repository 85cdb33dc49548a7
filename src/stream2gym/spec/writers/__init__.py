"""Write an experiment as YAML text or as GraphML with its files."""
