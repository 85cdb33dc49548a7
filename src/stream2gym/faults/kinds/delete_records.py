"""``delete-records``: the oldest records of topics are deleted."""

from __future__ import annotations

from stream2gym.faults.action import FaultContext
from stream2gym.faults.kafka_actions import KafkaAction


class DeleteRecordsFault(KafkaAction):
    """The oldest records are deleted: those before an offset, a share of them, or all."""

    def perform(self, context: FaultContext) -> None:
        partitions = self.partitions(context)
        rows = self.ask(context, "offsets", topics=list(self.hit))["offsets"]
        before: dict[str, dict[str, int]] = {}
        for topic, number, start, end in rows:
            if (topic, number) in partitions:
                before.setdefault(topic, {})[str(number)] = self._first_kept(start, end)
        self.ask(context, "delete", before=before)

    def _first_kept(self, start: int, end: int) -> int:
        """The offset of the first record that stays."""
        if self.settings.before is not None:
            return max(start, min(int(self.settings.before), end))
        share = 1.0 if self.settings.share is None else float(self.settings.share)
        return start + int((end - start) * share)
