"""Sample data of a developer's memory: facts and turns of a made-up project, questions with and without
an answer in them, and prompts that ask for work and should recall nothing. Knows no store.
"""

from __future__ import annotations

from kept import Said

FACTS = (
    "Alex prefers morning meetings.",
    "The API listens on port 8421 because 8000 is taken by the proxy.",
    "We moved the order service from REST to gRPC to get streaming and typed contracts.",
    "Deployments happen on Tuesdays and Thursdays, never on a Friday.",
    "Database migrations are written by hand in SQL; Alembic's autogenerate is not used.",
    "The staging database is restored from production every Sunday night, with e-mail addresses scrambled.",
    "Use pnpm in the web folder; npm breaks the lock file.",
    "Maria owns the billing module and reviews every change to it.",
    "Error budgets are tracked in Grafana on the board called Northstar.",
    "HttpClient in src/app/http_client.py retries three times with exponential back-off.",
    "Feature flags live in flags.yaml and are reloaded every 30 seconds.",
    "The user prefers tabs over spaces in Go and four spaces in Python.",
    "Passwords are hashed with Argon2id; bcrypt hashes are upgraded at the next sign-in.",
    "The nightly build fails when the clock changes because the cron entry is in local time.",
    "All prices are stored as integer cents in the column amount_minor.",
    "The mobile app supports iOS 16 and newer.",
    "Logs are kept for 14 days in Loki and for a year in cold storage.",
    "We chose SQLite over PostgreSQL for the desktop client, so that it needs no server.",
    "The team writes commit messages in the imperative mood, with the ticket number at the end.",
    "Tests that need the network carry the marker online and are skipped in CI.",
)
EXCHANGES = (
    (
        "The checkout page shows a blank screen after I pay, what is going on?",
        "The payment webhook arrived before the order row was committed, so the lookup returned "
        "nothing. I moved the webhook handler "
        "behind the outbox, and the page renders again.",
    ),
    (
        "Can you make the search endpoint faster?",
        "The query planner ignored the trigram index because of the LOWER call. I added an expression "
        "index on lower(title), and the "
        "p95 went from 900 ms to 40 ms.",
    ),
    (
        "Why does the worker keep running out of memory?",
        "It kept every decoded image in a list until the batch was done. It now streams them, and the "
        "resident size stays below 300 MB.",
    ),
    (
        "Let us decide how to store sessions.",
        "We settled on signed cookies instead of Redis, because a sign-in then survives a restart and "
        "there is one thing less to run.",
    ),
    (
        "Write a retry policy for the mail sender.",
        "Done: five attempts, the delay doubles from two seconds, and messages that still fail go to "
        "the table mail_dead_letters.",
    ),
    (
        "The integration tests are flaky on CI.",
        "Two of them shared the bucket test-uploads. Each test now gets a bucket of its own, named "
        "after its process id.",
    ),
    (
        "How should we name the new package?",
        "We called it tidewater, because harbour was taken on the registry.",
    ),
    (
        "Translate the settings page into German.",
        "All 84 strings are translated; the date picker still shows English month names because it "
        "ignores the locale.",
    ),
    (
        "Why is the Docker image 2 GB large?",
        "The build stage's toolchain was copied along. With a multi-stage build and a slim base it is "
        "180 MB.",
    ),
    (
        "Add rate limiting to the public API.",
        "Every key may call 100 times a minute, counted in a sliding window; answers above that are "
        "429 with a Retry-After header.",
    ),
    (
        "TypeError: cannot read properties of undefined (reading 'total') in InvoiceTable",
        "The invoices arrive without totals while they are drafts. InvoiceTable now shows a dash for drafts.",
    ),
    (
        "Should we upgrade to Python 3.13?",
        "Not yet: the PDF library has no wheels for it. We stay on 3.12 until spring.",
    ),
)
SAID = (
    *(Said("memory", {"content": fact}) for fact in FACTS),
    *(
        Said(
            "turn",
            {
                "session_id": f"work-{at // 3}",
                "turn": at % 3,
                "user": user,
                "assistant": answer,
                "ts": f"2026-0{1 + at // 3}-12",
            },
        )
        for at, (user, answer) in enumerate(EXCHANGES)
    ),
)


ANSWERED = (  # a question, and words that only the record with the answer has
    ("when does Alex like to meet?", "morning meetings"),
    ("which port does the API use?", "port 8421"),
    ("why did we move from REST to gRPC?", "typed contracts"),
    ("can I deploy on Friday?", "never on a Friday"),
    ("do we use Alembic autogenerate?", "written by hand in SQL"),
    ("where does the data of the staging database come from?", "every Sunday night"),
    ("npm or pnpm for the frontend?", "Use pnpm"),
    ("who reviews changes to billing?", "Maria owns"),
    ("what is the Grafana board for error budgets called?", "Northstar"),
    ("how often does HttpClient retry?", "exponential back-off"),
    ("where are the feature flags defined?", "flags.yaml"),
    ("what indentation should I use for Go code?", "tabs over spaces"),
    ("which algorithm hashes passwords?", "Argon2id"),
    ("why did the nightly build break in March?", "clock changes"),
    ("how do we store money amounts?", "amount_minor"),
    ("what is the oldest iOS version we support?", "iOS 16"),
    ("how long do we keep logs?", "14 days"),
    ("which database does the desktop client use?", "SQLite over PostgreSQL"),
    ("what is our style for commit messages?", "imperative mood"),
    ("how do I mark a test that needs internet access?", "marker online"),
    ("what was the cause of the blank checkout page?", "payment webhook"),
    ("how did we speed up search?", "trigram index"),
    ("what was eating the worker's memory?", "decoded image"),
    ("where are sessions stored?", "signed cookies"),
    ("what happens to mails that cannot be delivered?", "mail_dead_letters"),
    ("what made the integration tests unreliable?", "test-uploads"),
    ("why is the package called tidewater?", "tidewater"),
    ("is the date picker localised?", "date picker"),
    ("how did we shrink the docker image?", "multi-stage"),
    ("what is the rate limit of the public API?", "sliding window"),
    ("InvoiceTable crashes on total", "InvoiceTable now shows"),
    ("when do we move to Python 3.13?", "until spring"),
)
UNANSWERED = (
    "when is Alex's birthday?",
    "which port does the metrics exporter use?",
    "why did we move from GitLab to GitHub?",
    "who is on call this weekend?",
    "how do we generate OpenAPI clients?",
    "where are the backups of the wiki?",
    "yarn or bun for the documentation site?",
    "who designed the new logo?",
    "what is the name of the Slack channel for incidents?",
    "how large may an uploaded avatar be?",
    "which cloud region do we run in?",
    "what line length does the linter allow?",
    "how are API tokens rotated?",
    "why was the release in October delayed?",
    "which currency does the customer in Japan pay in?",
    "do we support Android tablets?",
    "how many replicas does Kafka have?",
    "which vector database did we evaluate?",
    "what did the security audit find?",
    "how do I run the accessibility checks?",
    "what was the cause of the DNS outage?",
    "how did we fix the memory leak in the browser extension?",
    "why does the video player stutter?",
    "where is the Terraform state kept?",
    "what happens to webhooks that a partner rejects?",
    "what made the load test unreliable?",
    "what did the customer say about the new dashboard?",
    "is the checkout translated into French?",
    "how did we shrink the JavaScript bundle?",
    "what is the timeout of the payment provider?",
    "KeyError 'region' in build_report",
    "when do we drop support for Node 18?",
)
WORK = (
    "fix the failing test",
    "run the tests",
    "continue",
    "yes, do it",
    "commit this and push",
    "refactor this function to be shorter",
    "add a docstring to every public function in this file",
    "what does this error mean?",
    "make it faster",
    "explain this code to me",
    "write unit tests for the new class",
    "rename the variable foo to something better",
    "please review my changes",
    "undo the last change",
    "format the code",
    "the build is broken, please fix it",
    "update the dependencies",
    "create a new branch and open a pull request",
    "why is this so slow?",
    "remove the unused imports",
    "add type hints",
    "now do the same for the other file",
    "looks good, go on with the next step",
    "split this file into two modules",
    "write a README",
    "there is a typo in the heading",
    "use a dictionary instead of the if chain",
    "show me the diff",
    "can you check whether this works on Windows?",
    "add a button that closes the dialog",
    "sort the list by date, newest first",
    "convert this script to TypeScript",
    "handle the case where the list is empty",
    "resolve the merge conflicts",
    "move the constants to the top of the file",
    "thanks, that works",
    "add logging to the upload handler",
    "increase the test coverage",
    "clean up the CSS",
    "write a function that reverses a linked list",
)
QUESTIONS: dict[str, list[tuple[str, str | None]]] = {
    "developer answered": list(ANSWERED),
    "developer foreign": [(question, None) for question in UNANSWERED],
    "work prompts": [(prompt, None) for prompt in WORK],
}
