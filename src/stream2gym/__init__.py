"""stream2gym: system-test stream processing applications on an emulated network.

Importing this package stays cheap on purpose: every process inside a run imports it.
"""

__version__ = "0.1.0"
