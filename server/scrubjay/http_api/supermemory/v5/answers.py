"""The answers of version 5. A field with ? appears only if the request asks for it."""

from scrubjay.http_api.answers import Answers

ANSWERS = Answers(
    "Supermemory5",
    """
Times createdAt:time updatedAt:time
Changed updatedAt:time
Created createdAt=updated_at:time
Pagination currentPage:int limit:int totalItems:amount totalPages:amount
Problem id:str error:str
Memory id:str memory=content:str metadata:object isStatic:bool isInference:bool isLatest:bool isForgotten:bool
    version:int system:Times -- isInference: concluded from others. isForgotten: forgotten or expired.
SourceDocument id:str title:str|null type:str|null metadata:object summary:str|null system:Times
RelatedMemory id:str relation:'updates'|'extends'|'derives' version:int memory=content:str metadata:object
    system:Changed document?:SourceDocument -- `relation` is that of the younger memory to the older.
Related parents:[RelatedMemory] children:[RelatedMemory] siblings:[RelatedMemory]
    -- Older versions, newer ones, and memories that extend or were concluded from each other.
Included related?:Related document?:SourceDocument
MemoryDetails Memory+ included?:Included
Match id:str memory:str
ForgetResult count:amount errors:[Problem] matches:[Match]
Ref id:str status:'queued'|'embedding'|'done'|'failed'
    -- queued, embedding (found by words, not yet by meaning), done or failed.
BatchItem id:str status:'queued'|'embedding'|'done'|'failed'|'error' error?:str url?:str
BatchResult results:[BatchItem] count:amount failed:amount
    -- The added documents in the order of the request, then the others.
DeleteResult count:amount errors:[Problem]
DocumentTimes status:'queued'|'embedding'|'done'|'failed' dreamingStatus:'done' memoryCount?:amount
    createdAt:time updatedAt:time -- Its memories exist as soon as it does, so dreamingStatus is done.
Chunk id:str position:amount content:str type:str metadata:object system:Created -- `position` counts from 0.
ListedChunk Chunk+ documentId:str
ListedDocument id:str title:str|null type:str content?:str|null summary:str|null metadata:object url:str|null
    system:DocumentTimes -- url is its address, if it consists of one; null if its text is not asked for.
WholeDocument id:str title:str|null type:str content:str|null summary:str|null metadata:object
    system:DocumentTimes chunks?:[Chunk] memories?:[Memory]
Listed documents:[ListedDocument] chunks:[ListedChunk] memories:[Memory] pagination:Pagination
    -- One page; the lists that were not asked for are empty.
MemoryCount id:str memoryCount:amount
MemoryCounts counts:[MemoryCount]
Namespace id=name:str namespace=name:str documentCount=documents:amount memoryCount=memories:amount
    description=settings.name:str|null system:Times
Namespaces namespaces:[Namespace] pagination:Pagination
NamespaceDetails namespace=name:str supportingContext=settings.supporting_context:str|null system:Times
Organization organizationalContext:str|null namespaceCount:amount
Deleted status:'deleted' namespace:str deletedDocumentsCount:amount deletedMemoriesCount:amount
Moved status:'queued' operationId:str namespace:str moveTo:str -- The move is complete already.
Fact id:str memory:str
Profile static:[Fact] dynamic:[Fact] buckets:{[Fact]}
ProfileResponse profile:Profile
Buckets buckets:{str} -- Each with a description of what belongs there.
Result id:str memory?:str chunk?:str metadata:object similarity:share isLatest:bool isInference:bool
    system:Times included?:Included
    -- A fact has `memory`, a passage `chunk`. A forgotten or expired fact is not the latest.
SearchResponse results:[Result] searchTime:float -- searchTime is in milliseconds.
""",
)
