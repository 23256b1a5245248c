import time
from mcp_reflect.security import injection as I
async def test_y(client):
    o=I._judge
    def j(text,own,typed=False):
        t=time.process_time(); r=o(text,own,typed); t=time.process_time()-t
        s=I._SENTENCE.split(text)
        if t>.02: print("JUDGE",len(text),round(t,2),len(s),repr(text[:80]),repr(text[-80:]))
        return r
    I._judge=j
    for a in ({str(i):i for i in range(10000)},{f"k{i} note":f"v{i}" for i in range(9000)}):
        r=await client.call_tool("reflect",{"task":"t","outcome":"failure","analysis":a})
    I._judge=o
