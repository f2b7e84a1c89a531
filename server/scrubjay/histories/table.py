"""All histories, in the order in which they are offered."""

from scrubjay.histories import hosts, memories

HISTORIES = (*hosts.HISTORIES, *memories.HISTORIES)
