"""The answers of Hebb Mind's API."""

from scrubjay.http_api.answers import Answers

ANSWERS = Answers(
    "Hebb",
    """
Memory id:str partition_id:str content:str importance_score:float tags:[str] metadata:object source:str|null
    created_at:time updated_at:time last_accessed_at:time access_count:int expires_at:time|null
    warnings?:[str]
    -- A fact, or a turn of a session, which is in the partition `mem_episodic`. `access_count` counts the
    searches before that found it. `warnings` name fields of a write that do not exist.
RelatedMemory Memory+ reason:'window'|'relation'|'tag'|'entity' via:str|null
    -- A memory next to the results, and why: `via` is a tag or entity that it shares with one, or its id.
Page items:[Memory] total:int offset:int limit:int
SearchResult memory:Memory score:share recency_score:share importance_score_normalized:share
    relevance_score:share
SearchResponse results:[SearchResult] related:[RelatedMemory]
    -- By score, best first. `related` are the window's turns, then memories tied to the first results.
IngestResponse format_detected:'claude_code'|'chatgpt'|'plain' turns_parsed:int memories_created:int
    warnings:[str]
Partition id:str name:str description:str enabled:bool is_system:bool created_at:time updated_at:time
    memory_count:int warnings?:[str] -- `enabled` is stored and shown, without effect.
Consolidated processed:int succeeded:int failed:int errors:[{str}] waiting:int
    -- The facts and parts of sessions that were processed, and how many wait.
Jobs running:bool jobs:{{str|null}} waiting:int -- `waiting` sessions and facts are not yet consolidated.
Health status:str version:str
Embedding enabled:bool provider:str model:str dimension:int available:bool
Status version:str scheduler:Jobs embedding:Embedding
""",
)
