"""Lists all histories, in the order in which users see them."""

from scrubjay.histories import hosts, memories

HISTORIES = (*hosts.HISTORIES, *memories.HISTORIES)
