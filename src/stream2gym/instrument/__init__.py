"""Records what a program of the user does with Kafka, from inside its own interpreter, without a change to it.

The run puts ``onpath/`` on the program's PYTHONPATH. Python then imports ``sitecustomize`` from there as it starts,
which loads this package under the private name ``_s2g`` and registers an import hook. When the program imports a
Kafka library that we know, the hook replaces the methods that send, receive and commit by ones that also write the
journals of ``record/``.

CONTRACT
  in      S2G_RECORDER       JSON object (settings.py): where to write, in whose name, and what to leave out
  out     sent journals      one for each process that sends: a row before each send, amended by its outcome
          received journals  one for each process and group: a row before the program gets the message
          samples journals   metric ``committed TOPIC/PARTITION`` of each commit that Kafka accepted
          notes              ``program.NAME.INSTANCE.PID-TIME.jsonl``, one JSON object a line with ``event`` and
                             ``at_ns``: ``loaded``, ``client``, ``subscribed``, ``assigned``, ``began``, ``revoked``,
                             ``unrecorded`` (what is not on record, and why)

Everything here runs on Python 3.9 and later and needs the standard library only. Nothing here may raise into the
program: what cannot be recorded is noted, and the program goes on.
"""
