"""The answers of version 4. A field with ? appears only on request, or if it has a value."""

from scrubjay.http_api.answers import Answers

ANSWERS = Answers(
    "Supermemory4",
    """
Pagination currentPage:int limit:int totalItems:int totalPages:int
Problem id:str error:str
Accepted id:str status:'queued'|'embedding'|'done'|'failed' warnings?:[str]
    -- On disk, and found by words within a moment. queued, or the present status if nothing new was sent.
    `warnings` name fields of the request that do not exist.
Conversation Accepted+ conversationId:str -- `id` is the id of its document.
BatchItem id:str status:'queued'|'embedding'|'done'|'failed'|'error' error?:str warnings?:[str]
    -- `id` of one that failed is its custom id, or unknown.
Batch results:[BatchItem] success:int failed:int -- In the order of the request.
BulkDelete success:bool deletedCount:int errors?:[Problem] containerTags?:[str]
Document id:str customId:str|null connectionId:null title:str|null type:'text'|'pdf'|'webpage'
    status:'queued'|'embedding'|'done'|'failed' summary:str|null metadata:object|null containerTags:[str]
    filepath:str|null createdAt:time updatedAt:time errorMessage?:str content?:str
    -- Without its text, unless that was asked for; errorMessage says why it failed.
Memory id:str memory=content:str version:int isLatest:bool isForgotten:bool isStatic:bool isInference:bool
    parentMemoryId:str|null sourceCount:int metadata:object|null
DocumentMemory Memory+ rootMemoryId=root_id:str createdAt:time updatedAt:time
    -- Learned from it, or citing it.
WholeDocument Document+ dreamingStatus:'done' source:str taskType:'memory'|'superrag' url?:str
    ogImage:null raw:null latestRevision:int activeContentUpdateId:null tombstonedAt:null
    memories?:[DocumentMemory]
Documents memories:[Document] pagination:Pagination warnings?:[str]
    -- The documents of a page are under `memories`.
GraphDocument Document+ memoryEntries:[DocumentMemory]
Graph documents:[GraphDocument] pagination:Pagination warnings?:[str]
UnfinishedDocument Document+ stuck:bool -- stuck: nothing happened to it for four hours.
Processing documents:[UnfinishedDocument] totalCount:int pagination?:Pagination
Chunk id:str documentId=record_id:str content=text:str position=part:int lineStart:int|null lineEnd:int|null
Chunks chunks:[Chunk] pagination:Pagination
CreatedMemory id:str memory=content:str isStatic:bool createdAt:time
CreatedMemories documentId:null memories:[CreatedMemory] warnings?:[str]
    -- In the order of the request; an existing memory has the id that it had.
UpdatedMemory id:str memory=content:str version:int parentMemoryId:str|null rootMemoryId=root_id:str
    createdAt:time metadata:object|null forgetAfter=expires_at:time|null forgetReason:str|null
    warnings?:[str] -- The newest version; the old one stays as its history.
ForgottenMemory id:str forgotten:bool
Match id:str memory:str score:share -- score is the similarity to the query; 1 for one named by its id.
Matches dryRun:bool count:int forgetBatchId:str|null summary:str candidates?:[Match] forgotten?:[Match]
    -- `candidates` of a dry run, else `forgotten`. `summary` says how many ids are unknown.
Version id:str memory=content:str version:int createdAt:time updatedAt:time
ListedMemory Memory+ createdAt:time updatedAt:time rootMemoryId=root_id:str documentIds:[str]
    containerTag=scope:str forgetAfter=expires_at:time|null forgetReason:str|null history:[Version]
    -- The newest version, with older ones in `history`, the nearest first.
Memories memoryEntries:[ListedMemory] pagination:Pagination warnings?:[str]
Tie id:str memory:str relation:'updates'|'extends'|'derives' version:int updatedAt:time metadata:object|null
    -- `version` is the distance: -1 a parent, -2 its parent, 1 a child.
Ties parents:[Tie] children:[Tie] related:[Tie]
    -- `parents` and `children` hold all three relations; `related` those that are not versions.
ResultDocument id:str title:str|null type:'text'|'pdf'|'webpage' metadata:object|null createdAt:time
    updatedAt:time summary?:str|null
ResultChunk content:str documentId:str position:int
Result id:str similarity:share metadata:object|null updatedAt:time version:int rootMemoryId:str|null
    src?:'doc' filepath?:str context?:Ties documents?:[ResultDocument]
MemoryResult Result+ memory:str isLatest?:bool isForgotten?:bool chunks?:[ResultChunk]
ChunkResult Result+ chunk:str
ChatResult src:'chat' threadId:str sessionId:str turn:int role:str ts:time id:str memory:str similarity:share
    metadata:object|null updatedAt:time version:int rootMemoryId:null
    -- One message; `threadId` and `sessionId` are the same. Its id stands for its turn in every request.
Results results:[MemoryResult|ChunkResult|ChatResult] timing:float total:amount warnings?:[str]
    -- Most similar first. `timing` is in milliseconds, `total` the number of results.
    `warnings` name unknown fields, and the metadata keys of a filter that no record has.
Profile static?:[str] dynamic?:[str] buckets?:{[str]}
    -- Lasting facts, the most important first; recent ones, the newest first; the best for each bucket.
ProfileAnswer profile:Profile searchResults?:Results warnings?:[str]
Bucket key:str description:str
Buckets buckets:[Bucket]
ScoredChunk content:str score:float isRelevant:bool position:int
ScoredDocument documentId:str title:str|null type:str score:float chunks:[ScoredChunk] metadata:object|null
    createdAt:time updatedAt:time filepath?:str content?:str summary?:str|null src?:'doc'|'chat'
    threadId?:str sessionId?:str turn?:int role?:str ts?:time
    -- A document, or a message; only a message has `threadId` and the fields after it.
ScoredDocuments results:[ScoredDocument] total:int timing:float warnings?:[str]
    -- `warnings` name unknown fields, and the metadata keys of a filter that no record has.
Tag id=name:str containerTag=name:str name:str description=settings.supporting_context:str|null
    visibility:'private' documentCount=documents:int memoryCount=memories:int
    lastActivityAt=updated_at:time|null createdAt:time|null updatedAt:time|null isExperimental:false
    isNova:false emoji:null
TagSettings containerTag=name:str name=settings.name:str|null
    entityContext=settings.supporting_context:str|null createdAt:time|null updatedAt:time|null
MergedTags success:bool status:str mergedCount:int targetTag:str deletedTags:[str]
    -- The merge is complete. mergedCount counts the documents, memories and turns that moved.
DeletedTag success:bool containerTag:str deletedDocumentsCount:int deletedMemoriesCount:int
UpdatedSettings orgId:str orgSlug:str updated:object
""",
)
