"""The thresholds that make time suspect, or a message late, each with its reason.

``./s2g bench hog`` calibrates them: a run beside spinning processes must become suspect, and the same run on an idle
machine must not.
"""

from __future__ import annotations

HALF_S = 0.5
"""Time is judged in pieces of this length, because monitors sample once in it: nothing finer is known."""

GAP_S = 1.5
"""A longer time without samples is suspect: three samples in a row are missing, so the sampler itself was starved."""

LATE_S = 1e-3
LATE_OF_PATH = 0.02
"""A packet is late beyond the larger of these: a millisecond, or this share of the shortest path's latency.
The timers and the scheduler of an idle machine stay below it."""

LATE_SHARE = 0.01
"""A half second is suspect when more than this share of its packets was late, because so many decide a 99th
percentile."""

FEW_LATE = 10
ENOUGH_PACKETS = 1000
"""Fewer late packets than ``FEW_LATE`` may have been held up by one short pause of the machine. They count only if
the share is also exceeded among the ``ENOUGH_PACKETS`` around them. Otherwise every latency is corrected for them
(``TAIL_SHARE``)."""

VERY_LATE_S = 20e-3
"""Up to this, lateness only adds to latencies and can be subtracted from them. Packets that are later meet the timers
of TCP and of Kafka's clients, so that nobody can say what would have happened on a faster machine."""

TAIL_SHARE = 1e-3
"""The lateness that all but this share of the packets kept is subtracted from every latency. The latencies that the
remaining packets may have caused count as if they had taken no time at all."""

PACKETS_OF_A_MESSAGE = 4
"""Packets that follow one another for one message: produce, replicate, acknowledge, fetch. Each may be late."""

BEHIND_S = 25e-3
"""A producer of ours that sends later than this after the due time, although its client had room, did not get the
CPU in time. Its own work between two messages takes microseconds, a pause of its garbage collector milliseconds."""

WAIT_SHARE = 0.55
WAIT_LEAST_S = 0.1
"""A component was starved in a half second when its threads waited for a CPU for more than ``WAIT_SHARE`` of the time
in which they wanted one, and for at least ``WAIT_LEAST_S`` in sum. Threads that wake together wait for each other on
any machine: a broker on two idle cores waits for 25 to 48 % of that time without delay to its messages. The second
figure leaves out components that hardly run."""

PRESSURE_SHARE = 0.5
"""Where the kernel does not tell how long threads waited, a half second is suspect when some program of the machine
waited for a CPU in more than this share of it (/proc/pressure/cpu). That is coarse, because programs outside the run
and programs with a CPU limit count, too."""

LATE_MESSAGE_S = 1.0
"""A message that was received more than this after it was due is late (the metric ``late``)."""

USUAL_CELLS = 10
"""The usual backlog is the median of so many half seconds before a suspect time."""
