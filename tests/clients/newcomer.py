from supermemory import Supermemory

client = Supermemory(api_key="any", base_url="http://127.0.0.1:6767")
added = client.add(content="The staging database listens on port 5433.", container_tag="demo")
while client.documents.get(added.id).status != "done":
    pass
print(client.search.memories(q="Which port does staging use?", container_tag="demo").results[0].memory)
