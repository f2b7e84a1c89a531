"""The session that the demo records, and the questions that it asks afterwards. Only text."""

from __future__ import annotations

TURNS: tuple[tuple[str, str], ...] = (
    (
        "Uploads sometimes show up twice in the gallery. Can you find out why?",
        "The client sends a chunked upload again when the connection drops, and `finish_upload()` in uploads/finish.py inserts a row each "
        "time it is called. Nothing ties the two calls together, so a retry after a timeout becomes a second picture.",
    ),
    (
        "Makes sense. Fix it so that a retry can never create a second row.",
        "Done: the client now sends an Idempotency-Key header, one per file, and the table `uploads` has a unique index on it. "
        "`finish_upload()` returns the existing row when the key is known. Both tests in tests/test_finish.py fail without the change.",
    ),
    (
        "The thumbnails make the request slow. Should they go to a queue? I would take Redis.",
        "I would not add Redis for this: it is one more server to run, and we lose jobs when it restarts. A table `jobs` in Postgres with "
        "`SELECT ... FOR UPDATE SKIP LOCKED` does 400 jobs a second here, and a job is committed together with its upload.",
    ),
    (
        "Agreed, let's keep it in Postgres. One worker is enough for now.",
        "Decided then: the job queue is the table `jobs` in Postgres, without Redis, and one worker polls it every 500 ms. "
        "jobs/worker.py has it; `make worker` starts it.",
    ),
    (
        "What happens to uploads that are never finished?",
        "They stay on disk for ever at the moment. I suggest that a nightly job deletes parts older than seven days.",
    ),
    (
        "Seven days is too long, support says after two days nobody comes back. Keep them 48 hours.",
        "Changed: `PART_TTL` in uploads/config.py is 48 hours, and the nightly job `sweep_parts` deletes what is older. "
        "I noted the reason from support beside the constant.",
    ),
    (
        "Good. Please write the changelog entry for all of this.",
        "CHANGELOG.md, under Unreleased: retries no longer duplicate uploads; thumbnails are made by a background worker; "
        "unfinished uploads are deleted after 48 hours.",
    ),
)

QUESTIONS = (
    "Why don't we use Redis for the job queue?",
    "What caused the duplicate uploads in the gallery?",
    "How long do we keep unfinished uploads?",
)
