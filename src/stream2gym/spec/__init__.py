"""What the user said: an experiment from GraphML, YAML or Python, checked.

``model``    the experiment as pydantic models; Python programs build it with their constructors
``readers``  GraphML files, YAML files and ``--set`` into a draft: plain data with the line that each value came from
``checks``   what a well-formed experiment can still get wrong
``writers``  the experiment as YAML or GraphML
``load``     the entrance: from a path, or from a model built in Python, to a checked experiment
"""
