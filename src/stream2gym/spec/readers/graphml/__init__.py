"""Reads the published format: a GraphML file and the YAML and properties files that it refers to."""
