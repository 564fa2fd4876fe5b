"""The cost of a run, for people and programs: `lock --profile`."""

from __future__ import annotations

from resolver.catalog.meter import Traffic
from resolver.json_text import json_text
from resolver.profile import PARTS, Profile


def cost_text(profile: Profile, traffic: Traffic, rounds: int) -> str:
    """A table of the parts that took any time, and a line of counts."""
    wall, cpu = profile.whole
    rows = [
        f"{part:10}{span.wall:8.3f}{span.cpu:8.3f}   {PARTS[part]}\n"
        for part, span in profile.parts.items()
        if max(span) >= 0.0005
    ]
    requests, received, hits, unchanged = traffic
    return (
        f"profile: {wall:.2f} s, {cpu:.2f} s of CPU, {profile.peak / 1e6:.0f} MB at most\n"
        f"{'':10}{'wall s':>8}{'CPU s':>8}\n"
        f"{''.join(rows)}"
        f"{requests} requests, {received / 1e6:.1f} MB received; {rounds} rounds\n"
        f"{hits} answers from the cache, {unchanged} of them pages that the index has as before\n"
    )


def cost_json(profile: Profile, traffic: Traffic, rounds: int) -> str:
    """The same as one line; seconds, bytes and counts."""
    told = {
        "wall": profile.whole.wall,
        "cpu": profile.whole.cpu,
        "peak": profile.peak,
        "parts": {part: span._asdict() for part, span in profile.parts.items()},
        "rounds": rounds,
        **traffic._asdict(),
    }
    return json_text({"profile": told}, indent=None, sort_keys=False) + "\n"
