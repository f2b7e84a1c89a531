"""Reads `hosts.json`, which describes every host; CONTRIBUTING explains its members.

Standard library only, Python 3.9 syntax: every hook imports this.
"""

from __future__ import annotations

import json
import os

TYPE_CHECKING = False  # typing is slow to import
if TYPE_CHECKING:
    from typing import Any

    Facts = dict[str, Any]

with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "hosts.json"), "rb") as _file:
    _described: Facts = json.loads(_file.read())

FOLDERS: Facts = _described["folders"]  # the places that a path in braces names
EDITORS: dict[str, list[str]] = _described["editors"]
RECOGNITION: list[Facts] = _described["recognition"]  # the first rule that applies names an event's host
DEFAULTS: Facts = _described["defaults"]
# by the name that is used on the wire, in records and in commands
HOSTS: dict[str, Facts] = _described["hosts"]
