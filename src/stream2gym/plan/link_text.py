"""Link settings as text, in the form in which people write them."""

from __future__ import annotations

from stream2gym.link import LinkSettings
from stream2gym.plan.planned import PlannedLink
from stream2gym.units import Bandwidth, Share, Size

_PLAIN = LinkSettings()


def milliseconds(number: float) -> str:
    return f"{round(number, 6):.10g} ms"


def bandwidth(bps: float | None) -> str:
    return "unlimited" if bps is None else str(Bandwidth(bps))


def settings_words(settings: LinkSettings) -> str:
    """``5 ms, 100 Mbps, 0.1 % loss``: latency and bandwidth, and every other setting that is not the default."""
    words = [milliseconds(settings.latency_ms), bandwidth(settings.bandwidth_bps)]
    if settings.jitter_ms:
        shape = "" if settings.jitter_shape == "normal" else f" ({settings.jitter_shape})"
        words.append(f"{milliseconds(settings.jitter_ms)} jitter{shape}")
    if settings.bursts:
        words.append(f"burst loss ({Share(settings.bursts.to_bad)} to bad, {Share(settings.bursts.to_good)} to good)")
    for name in ("loss", "duplicate", "reorder", "corrupt"):
        share = getattr(settings, name)
        if share:
            words.append(f"{Share(share)} {name}")
    if settings.queue_packets != _PLAIN.queue_packets and settings.queue_packets is not None:
        words.append(f"{settings.queue_packets} packets queue")
    if settings.queue_bytes is not None:
        words.append(f"{Size(settings.queue_bytes)} queue")
    if settings.mtu != _PLAIN.mtu:
        words.append(f"mtu {settings.mtu}")
    if not settings.up:
        words.append("down")
    return ", ".join(words)


def link_words(link: PlannedLink) -> str:
    """The settings of a link as text; of both directions if they differ."""
    if link.forward == link.backward:
        return settings_words(link.forward)
    return f"{settings_words(link.forward)}; back: {settings_words(link.backward)}"
