"""``delete-records``: the oldest records of topics are gone."""

from __future__ import annotations

from stream2gym.faults.base import World
from stream2gym.faults.kafka import KafkaAction


class DeleteRecords(KafkaAction):
    """The oldest records are gone: those before an offset, a share of them, or all."""

    def deed(self, world: World) -> None:
        places = self.partitions(world)
        rows = self.ask(world, "offsets", topics=list(self.hit))["offsets"]
        before: dict[str, dict[str, int]] = {}
        for topic, number, start, end in rows:
            if (topic, number) in places:
                before.setdefault(topic, {})[str(number)] = self._mark(start, end)
        self.ask(world, "delete", before=before)

    def _mark(self, start: int, end: int) -> int:
        if self.settings.before is not None:
            return max(start, min(int(self.settings.before), end))
        share = 1.0 if self.settings.share is None else float(self.settings.share)
        return start + int((end - start) * share)
