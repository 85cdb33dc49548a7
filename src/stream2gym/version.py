"""The version of this package, where everything that states it finds it."""

__version__ = "0.1.0"
