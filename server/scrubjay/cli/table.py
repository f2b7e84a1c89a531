"""The table of commands: what `scrubjay help` lists, and the module of each.

Only the module of the command that is run is imported.
"""

from __future__ import annotations

import sys

TYPE_CHECKING = False  # typing.TYPE_CHECKING, without the import that every command would pay
if TYPE_CHECKING:
    from scrubjay.cli.command import Command

# Each group has one line per command: its name, its module in this package, and its summary (its docstring).
TABLE = """\
Begin
  demo           demo        See it work: a recorded session, three questions, their answers.
  setup          setup       Connect the assistants on this machine: tools, capture and recall.
  hooks          hooks       Add, show or remove the hooks that make Claude Code send every turn.
  doctor         doctor      Check everything, from the installation to the recall of a turn, and give advice.
Look
  open           lookup      Open the page of your memory in the browser: view, search, correct, forget.
  status         status      Show what was captured, and the state of the engine and its home.
  search         lookup      Recall what earlier sessions said about something.
  why            lookup      Show the turns, facts and commits that shaped a file, newest first.
  list           lookup      List the latest records, newest first.
  sessions       sessions    List the sessions, newest first, or show one whole.
  show           lookup      Show sessions, turns, facts or documents in full, with their dates and versions.
  given          review      List what models were given: when, in which session, by what, how many tokens.
  effect         review      Compare sessions with an opening and those left without one.
Overview
  profile        lookup      Show the lasting and the newest facts of this project.
  tags           sessions    List the tags of facts, turns and documents, with how many have each.
  documents      documents   List documents with their status; or find passages in them.
  scopes         scopes      List the projects in the memory, or merge two of them.
Write
  add            write       Save one fact, for this project or for all of them.
  edit           write       Change the words of a fact: a new version, which searches find instead.
  forget         write       Hide memories, turns or documents from every search.
  restore        write       Restore a forgotten record.
  undo           write       Take back the last forget, restore or edit.
  review         review      List the facts that an assistant's model distilled, or take them back.
  index          documents   Make files, folders, commits or standard input searchable; keep them up to date.
Keep in hand
  pause          config      Pause capture: hooks record nothing until `resume`.
  resume         config      Resume capture after a pause.
  exclude        config      Never capture sessions in a folder.
  include        config      Capture sessions in an excluded folder again.
  config         config      Show or change the settings.
  export         archive     Write all records as lines of JSON, or as notes in Markdown.
  import         archive     Import an export, or the history of other assistants; nothing stored changes.
  backup         archive     Copy the whole home into a folder while it is in use.
  restore-backup archive     Restore the home from a backup.
Run
  serve          engine      Run the engine in this terminal; clients start one by themselves.
  stop           engine      End the engine; the next client starts another.
  reindex        engine      Rebuild the search index, for instance after a change of the model.
  pull           engine      Download another embedding model; the only command that uses the network.
  token          tokens      Make, list or remove HTTP keys.
  completion     completion  Print the completion script of a shell: `source <(scrubjay completion bash)`.
"""

ABOUT = """\
Scrubjay is the memory of a coding assistant: it captures every turn by itself and gives back the few lines \
that matter.
Everything stays on this machine. Without a command, it is the server that an MCP client starts and talks to.

usage: scrubjay [COMMAND]        scrubjay help COMMAND explains one
"""
ALSO = """
Also: `scrubjay stdio` (the pipe, for MCP clients), `scrubjay hook NAME` (for hosts), `scrubjay --version`."""


class Listed:
    """One command of the table."""

    def __init__(self, name: str, module: str, summary: str) -> None:
        self.name, self.module, self.summary = name, module, summary

    def load(self) -> Command:
        """Return the command itself."""
        module = f"scrubjay.cli.{self.module}"
        __import__(module)
        members = vars(sys.modules[module]).values()
        command: Command = next(each for each in members if getattr(each, "name", None) == self.name)
        return command


LISTED = {row.split()[0]: Listed(*row.split(maxsplit=2)) for row in TABLE.splitlines() if row[0] == " "}


def page() -> str:
    """Return the list of all commands."""
    lines = [ABOUT]
    for row in TABLE.splitlines():
        name = row.split()[0]
        lines.append(f"  {name:<14} {LISTED[name].summary}" if row[0] == " " else f"\n{row}:")
    return "\n".join([*lines, ALSO]).replace("\n\n\n", "\n\n")
