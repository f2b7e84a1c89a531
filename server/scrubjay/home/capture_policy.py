"""The capture policy that hooks read, `<home>/capture.json`, derived from the settings by the engine."""

import json
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any

from scrubjay.home import capture
from scrubjay.home.capture import Policy
from scrubjay.home.files import read_whole
from scrubjay.home.paths import Home
from scrubjay.home.settings import Settings, changing, write_with_copy


def capture_view(settings: Settings) -> dict[str, Any]:
    """Return the settings that hooks need: capture, min_length, paused, excluded, inject and effect."""
    values = {key: getattr(settings, key) for key in Policy._fields}
    return {key: list(value) if isinstance(value, tuple) else value for key, value in values.items()}


def write_capture(home: Home, settings: Settings, now: datetime) -> None:
    """Derive `<home>/capture.json` and its copy from the settings.

    Its `since` is when the capture policy last changed, other than by a pause. Earlier turns are not fetched
    from transcripts afterwards (`captured_since`). `pauses` are the periods without capture.
    """
    view = capture_view(settings)
    before = _read_capture(home) or capture_view(Settings())  # what hooks assume in a new home
    since = before.get("since")  # None if capture was never restricted
    has_changed = any(
        before.get(key) != value for key, value in view.items() if key not in ("inject", "paused", "effect")
    )
    if has_changed or not isinstance(since, str | None):
        since = now.isoformat()
    periods = pauses(home)
    if _is_off(view) != _is_off(before):
        if _is_off(view):
            periods = [*periods, (now.isoformat(), None)]
        else:
            began = periods.pop()[0] if periods and periods[-1][1] is None else before.get("since")
            periods = [*periods, (str(began or ""), now.isoformat())]
    content = (json.dumps({**view, "since": since, "pauses": periods}, indent=1) + "\n").encode()
    with suppress(OSError, ValueError):
        if read_whole(home.capture, own=True) == content:
            return  # a full disk must not stop an engine whose settings did not change
    with changing(home.config, home.capture):  # so that one process writes both the copy and the file
        write_with_copy(home.capture, content)


def captured_since(home: Home) -> datetime | None:
    """Return when the current capture policy began; None if it always applied, the far future if unknown."""
    since = _read_capture(home).get("since")
    if since is None:
        return None
    try:
        moment = datetime.fromisoformat(since)
    except (TypeError, ValueError):  # not written by us
        return datetime.max.replace(tzinfo=UTC)
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


def pauses(home: Home) -> list[tuple[str, str | None]]:
    """Return the periods without capture, each as (start, end); None is the end of a period that lasts."""
    value = _read_capture(home).get("pauses")
    pairs = value if isinstance(value, list) else []
    return [(str(pair[0]), pair[1]) for pair in pairs if isinstance(pair, list) and len(pair) == 2]


def _is_off(view: dict[str, Any]) -> bool:
    return bool(view.get("paused")) or view.get("capture") == "off"


def _read_capture(home: Home) -> dict[str, Any]:
    """Read capture.json or its copy; an unreadable file counts as another policy."""
    try:
        return capture.read(home)
    except FileNotFoundError:
        return {}
    except (OSError, ValueError):
        return {"unreadable": True}
