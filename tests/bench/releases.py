"""Makes a repository of the releases of a package, oldest first: each is one commit, a day after the one before.

    python tests/bench/releases.py FOLDER pip httpx [--count 30]
    python tests/bench/releases.py FOLDER npm eslint [--from 6.0.0]

The releases are as far apart as their number allows; those without a wheel for this Python are left out.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

NUMBERED = re.compile(r"\d+(?:\.\d+)*")
START, DAY = 1_600_000_000, 86_400
BUILT = "*.map *.min.js *.d.ts *.so *.dist-info dist dist-* esm* umd cjs _esm*".split()


def run(*command: str, folder: Path | None = None, when: int = 0) -> str:
    dated = {"GIT_AUTHOR_DATE": f"{when} +0000", "GIT_COMMITTER_DATE": f"{when} +0000"}
    done = subprocess.run(command, cwd=folder, env={**os.environ, **dated}, capture_output=True, text=True)
    return done.stdout if done.returncode == 0 else ""


def versions(client: str, package: str) -> list[str]:
    """Return the numbers of the releases, oldest first, without those for trial."""
    if client == "npm":
        every = json.loads(run("npm", "view", package, "versions", "--json"))
    else:
        listed = run(sys.executable, "-m", "pip", "index", "versions", package)
        every = listed.partition("Available versions: ")[2].partition("\n")[0].split(", ")
    return sorted(filter(NUMBERED.fullmatch, every), key=number)


def number(version: str) -> tuple[int, ...]:
    return tuple(map(int, version.split(".")))


def archives(client: str, package: str, every: list[str], scratch: Path) -> Iterator[tuple[str, Path]]:
    """Fetch each release and yield the folder of its files."""
    for version in every:
        into = scratch / version
        into.mkdir()
        if client == "npm":
            run("npm", "pack", "-s", f"{package}@{version}", folder=into)
        else:
            wheel = ["--no-deps", "--only-binary=:all:", "-d", str(into), f"{package}=={version}"]
            run(sys.executable, "-m", "pip", "download", "-q", *wheel)
        for archive in list(into.iterdir()):
            shutil.unpack_archive(archive, into, "zip" if client == "pip" else "gztar")
            archive.unlink()
            yield version, into / "package" if client == "npm" else into


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("client", choices=("pip", "npm"))
    parser.add_argument("package")
    parser.add_argument("--count", type=int, default=40, help="of releases, at most")
    parser.add_argument("--from", dest="first", default="0", help="the oldest release")
    options = parser.parse_args()
    every = [
        each for each in versions(options.client, options.package) if number(each) >= number(options.first)
    ]
    every = every[:: max(1, len(every) // options.count)][: options.count]
    run("git", "init", "--quiet", str(options.folder))
    repository = ["git", f"--git-dir={options.folder.resolve() / '.git'}"]
    repository += ["-c", "user.name=bench", "-c", "user.email=bench"]
    with tempfile.TemporaryDirectory() as scratch:
        found = archives(options.client, options.package, every, Path(scratch))
        for at, (version, files) in enumerate(found):
            for path in [each for pattern in BUILT for each in files.rglob(pattern)]:
                shutil.rmtree(path, ignore_errors=True) if path.is_dir() else path.unlink(missing_ok=True)
            work = [*repository, f"--work-tree={files}"]
            run(*work, "add", "--all", folder=files)
            run(*work, "commit", "-qm", f"Release {version}", folder=files, when=START + at * DAY)
    run("git", "reset", "--quiet", "--hard", folder=options.folder)
    count = run("git", "rev-list", "--count", "HEAD", folder=options.folder).strip()
    print(f"{count} releases of {options.package}")


if __name__ == "__main__":
    main()
