# Mark pass beside normal work. Tree: root -> P,Q ; P -> children set, Q -> children set; a node may be re-parented without being copied.
# All interleavings of: mark P's children, mark Q's children, sweep ; with mutator transactions (re-parent, replace, allocate).
import itertools
def run(name,pinned,cond,extra=()):
    # block -> (made); tree version list: dict P,Q -> tuple of blocks
    seen=set(); st=[]
    base=((('P',(1,2)),('Q',(3,4))),)
    init=(((1,2),(3,4)), frozenset({1,2,3,4,9}), (('1',0),), 1, frozenset(), 0, (), None)
    # state: tree(P,Q), bits, made(tuple dict), version, marked, phase, limbo(tuple of (b,m,r)), basetree
    made0={1:1,2:1,3:1,4:1,9:0}
    st=[(((1,2),(3,4)),frozenset({1,2,3,4,9}),tuple(sorted(made0.items())),1,frozenset(),0,(),(((1,2),(3,4)),1) ,())]
    n=0
    while st:
        t,bits,mk,v,marked,ph,limbo,bt,tr=st.pop()
        key=(t,bits,mk,v,marked,ph,limbo)
        if key in seen: continue
        seen.add(key); n+=1; made=dict(mk)
        livenow=set(t[0])|set(t[1])
        if not livenow<=bits:
            print(f'{name}: BROKEN: live block {livenow-bits} was swept'); [print('     ',x) for x in tr]; return
        dup=[b for b,_,_ in limbo if b not in bits]
        if dup: print(f'{name}: BROKEN: waiting block {dup} was swept: it will be freed twice'); [print('     ',x) for x in tr]; return
        src=bt[0] if pinned else t
        if ph==0: st.append((t,bits,mk,v,marked|set(src[0]),1,limbo,bt,tr+('mark children of P',)))
        if ph==1: st.append((t,bits,mk,v,marked|set(src[1]),2,limbo,bt,tr+('mark children of Q',)))
        if ph==2:
            if 'copy' in cond: # bitmap copied at this moment, swept next step
                st.append((t,bits,mk,v,marked,(3,bits),limbo,bt,tr+('copy bitmap',)))
            else: st.append((t,bits,mk,v,marked,(3,None),limbo,bt,tr+('begin sweep',)))
        if isinstance(ph,tuple):
            cand=ph[1] if ph[1] is not None else bits
            if 'made' in cond: cand={b for b in cand if made[b]<=bt[1]}
            if 'limbo' in cond: cand={b for b in cand if b not in [x[0] for x in limbo]}
            nb=bits-(set(cand)-marked)
            st.append((t,nb,mk,v,marked,4,limbo,bt,tr+(f'sweep {sorted(set(bits)-set(nb))}',)))
        if v<4:
            # re-parent 3: Q -> P (not copied)
            if 3 in t[1]: st.append(((t[0]+(3,),tuple(x for x in t[1] if x!=3)),bits,mk,v+1,marked,ph,limbo,bt,tr+('commit: 3 moves from Q to P',)))
            if 1 in t[0] : st.append(((tuple(x for x in t[0] if x!=1),t[1]+(1,)),bits,mk,v+1,marked,ph,limbo,bt,tr+('commit: 1 moves from P to Q',)))
            # replace 2 by a new block
            if 2 in t[0] :
                nb=min(x for x in range(5,9) if x not in bits); m2=dict(made); m2[nb]=v+1
                st.append(((tuple(nb if x==2 else x for x in t[0]),t[1]),bits|{nb},tuple(sorted(m2.items())),v+1,marked,ph,limbo+((2,made[2],v+1),),bt,tr+(f'commit: 2 replaced by {nb}',)))
        # free from limbo: held by the mark pin (base) until phase 4
        for e in limbo:
            if not (pinned and ph!=4 and e[1]<=bt[1]<e[2]):
                st.append((t,bits-{e[0]},mk,v,marked,ph,tuple(x for x in limbo if x!=e),bt,tr+(f'free {e[0]}',)))
    print(f'{name}: holds ({n} states)')
run('m1 marks the newest version range by range, no pinned base',False,('made','limbo'))
run('m2 pinned base, candidates = a copy of the bitmap taken beside commits',True,('copy',))
run('m3 pinned base, swept by bit and mark alone',True,())
run('m4 pinned base, block made after the base is skipped',True,('made',))
run('m5 the same with the copied bitmap',True,('copy','made'))
