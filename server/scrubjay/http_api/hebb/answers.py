"""What Hebb Mind's API answers."""

from scrubjay.http_api.answers import Answers

ANSWERS = Answers(
    "Hebb",
    """
Memory id:str partition_id:str content:str importance_score:float tags:[str] metadata:object source:str|null
    created_at:time updated_at:time last_accessed_at:time access_count:int expires_at:time|null
    -- A fact, or a turn of a session, which is one in `mem_episodic`.
RelatedMemory Memory+ reason:'window'|'relation'|'tag'|'entity' via:str|null
    -- A memory beside the results and why: `via` is what it shares with one, or that one's id.
Page items:[Memory] total:int offset:int limit:int
SearchResult memory:Memory score:share recency_score:share importance_score_normalized:share
    relevance_score:share
SearchResponse results:[SearchResult] related:[RelatedMemory]
    -- By score, best first. `related` are the window's turns, then memories tied to the first results.
IngestResponse format_detected:'claude_code'|'chatgpt'|'plain' turns_parsed:int memories_created:int
    warnings:[str]
Partition id:str name:str description:str enabled:bool is_system:bool created_at:time updated_at:time
    memory_count:int -- `enabled` is kept and shown, and shuts nothing.
TagNode id:str label:str description:str memory_ids:[str] weight:float
    -- `weight` memories carry the tag; of at most 100 the ids are named.
TagEdge source:str target:str relation:str weight:float -- Two tags that `weight` memories carry together.
GraphState nodes:[TagNode] edges:[TagEdge] version:int
GraphQuery nodes:[TagNode] edges:[TagEdge] paths:[[str]]|null -- `paths` from one tag to another, if asked.
Consolidated processed:int succeeded:int failed:int errors:[{str}] waiting:int
    -- How many facts and parts of sessions were looked at, and how many wait.
PartitionCount id:str name:str memory_count:int enabled:bool
GraphSize tag_count:int edge_count:int
Jobs running:bool jobs:{{str|null}} waiting:int -- `waiting` sessions and facts are not yet consolidated.
Stats partitions:[PartitionCount] total_memories:int graph:GraphSize scheduler:Jobs
Health status:str version:str
Embedding enabled:bool provider:str model:str dimension:int available:bool
Status version:str scheduler:Jobs embedding:Embedding
""",
)
