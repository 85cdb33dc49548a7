"""The former name of ``stream2gym.check_api``, kept for checks that were written against it."""

from stream2gym.check_api import *  # noqa: F403
