"""The redo ring: Append.lead (note, copy, write, finish), Checkpoint.lead (beginAttempt, finishAttempt), RedoRing.finish, Replay.init.

A version v is one node with content v in one of the file's blocks. Disk: for each block and slot the contents it may have (any
subset of unsynced stores); ring places likewise while a write is under way (writeDurably returns: they are sure). Records are one or two
places long in turn, so that some go on at the start of the ring (two writes). Leaders die at any step; after every step the power may fail,
and every image must recover to the newest acknowledged version or a later one, whole."""
import itertools
from explore import explore, finish
NR, NB = 3, 5
def put(t, i, x): return t[:i] + (x,) + t[i + 1:]
def run(name, broken=False, commits=4, cks=2, deaths=1, tail='end', ack=0, room=1, head='begin', hold=1, holdap=1, chain=1, sync1=1, redo=1, relaxed=0):
    # block: content in memory; disk: what each block may hold on disk. slot: what each durable slot may be: (version, block, position, chain)
    init = dict(tip=1, at=0, mem=(1,) + (0,) * (NB - 1), disk=((1,),) + ((0,),) * (NB - 1), slot=(((1, 0, 0, 0),), ((0, 0, 0, 0),)),
                ring=((None,),) * NR, head=0, chain=0, appended=0, tail=0, synced=1, syncedat=0, attempt=0, attemptat=0, ahead=0, achain=0,
                appending=0, apat=0, conf=1, ap=(), ck=(), nck=0, deaths=0)
    def held(s):
        h = {s['at']}
        h.add(s['syncedat'])
        if s['attempt'] and hold: h.add(s['attemptat'])
        if s['appending'] and holdap: h.add(s['apat'])
        return h
    def steps(s):
        # Writer.commit, with what nobody holds free again (Space.reclaim)
        if s['tip'] <= commits:
            v = s['tip'] + 1
            free = [b for b in range(NB) if b not in held(s)]
            for b in sorted({free[0], free[-1]}):
                d = s['disk'][b]
                yield f'commit v{v} in block {b}', s | {'tip': v, 'at': b, 'mem': put(s['mem'], b, v), 'disk': put(s['disk'], b, d + (v,) if v not in d else d)}
        a = s['ap']
        def die(**k): return s | {'deaths': s['deaths'] + 1} | k
        if not a:
            base = max(s['appended'], s['synced'])
            if s['tip'] > base: yield 'append.noted', s | {'ap': ('noted', s['tip'], s['at'], base, s['head'], s['chain'], s['tail'], ()), 'appending': s['tip'], 'apat': s['at']}
        else:
            pc, v, b, base, h, c, t, rec = a
            n = 1 + v % 2
            def go(pc, **k): return s | {'ap': (pc,) + a[1:]} | k
            if pc == 'noted':
                if room and h + n - t > NR: yield 'no room', s | {'ap': (), 'appending': 0}
                else:
                    rec = ('rec', v, base, b, s['mem'][b], c if chain else 0, h)
                    yield f'append.copied v{v}', s | {'ap': ('copied',) + a[1:7] + (rec,), 'appending': 0} | ({'conf': max(s['conf'], v)} if ack else {})
            if pc in ('copied', 'wrapped'):
                places = [(h + i) % NR for i in range(n)]
                first = [p for p in range(n) if h % NR + p < NR]
                mine = first if pc == 'copied' else [p for p in range(n) if p not in first]
                r = s['ring']
                for i in mine: r = put(r, places[i], r[places[i]] + ((rec, i),) if (rec, i) not in r[places[i]] else r[places[i]])
                yield f'write at {places}, under way', go(pc + ' writes', ring=r)
            if pc in ('copied writes', 'wrapped writes'):
                r = tuple(tuple(x for x in p if x and x[0] == rec) or p for p in s['ring'])
                more = pc == 'copied writes' and h % NR + n > NR
                yield 'append.wrapped' if more else 'append.written', go('wrapped' if more else 'written', ring=r)
            if pc == 'written':
                yield 'append.confirmed', s | {'ap': (), 'head': h + n, 'chain': v, 'appended': v, 'conf': max(s['conf'], v)}
            if s['deaths'] < deaths: yield 'append leader dies', die(ap=(), **({} if redo else {'head': h + n} if pc.endswith('writes') else {}))
        k = s['ck']
        if not k:
            if s['attempt']: yield 'checkpoint: finishes the attempt', s | {'ck': ('sync',)}
            elif s['nck'] < cks and s['tip'] > s['synced']:
                t = s | {'attempt': s['tip'], 'attemptat': s['at'], 'ahead': s['head'], 'achain': s['chain'], 'ck': ('sync',), 'nck': s['nck'] + 1}
                yield f'checkpoint.attempt v{s["tip"]}', t | ({'tail': s['head']} if tail == 'begin' else {})
        else:
            pc = k[0]
            mine = 1 if s['slot'][0] == (s['slot'][0][0],) and s['slot'][0][0][0] == s['synced'] else 0
            if pc == 'sync':   # begins: what is in memory now is covered
                yield 'first sync under way', s | {'ck': ('synced', s['mem'])}
            if pc == 'synced':
                d = tuple(x[x.index(m):] if m in x else x for x, m in zip(s['disk'], k[1])) if sync1 else s['disk']
                name = (s['attempt'], s['attemptat'], s['ahead'], s['achain']) if head == 'begin' else (s['attempt'], s['attemptat'], s['head'], s['chain'])
                x = s['slot'][mine]
                t = s | {'disk': d, 'slot': put(s['slot'], mine, tuple(dict.fromkeys(x + (None, name)))), 'ck': ('slot', name)}
                yield f'checkpoint.slot {mine}', t | ({'tail': name[2]} if tail == 'slot' else {})
            if pc == 'slot':
                yield 'checkpoint.named', s | {'slot': put(s['slot'], mine, (k[1],)), 'ck': ('named', k[1])}
            if pc == 'named':
                yield 'checkpoint.confirmed', s | {'tail': k[1][2], 'synced': s['attempt'], 'syncedat': s['attemptat'], 'conf': max(s['conf'], s['attempt']), 'attempt': 0, 'ck': ()}
            if s['deaths'] < deaths: yield 'checkpoint leader dies', die(ck=())
    def recover(s, slots, ring, disk):
        d = max((x for x in slots if x), key=lambda x: x[0], default=None)
        if d is None: return 'no durable slot holds'
        version, pos, link, node = d[0], d[2], d[3], (d[1], None)
        for _ in range(NR):
            r = ring[pos % NR]
            if not r or r[1] != 0: break
            rec = r[0]; n = 1 + rec[1] % 2
            if rec[6] != pos or (chain and rec[5] != link) or any(ring[(pos + i) % NR] != (rec, i) for i in range(n)): break
            if rec[1] > version:
                if rec[2] > version: break
                version, node = rec[1], (rec[3], rec[4])
            pos, link = pos + n, rec[1]
        if version < s['conf']: return f'v{version} is recovered, v{s["conf"]} was acknowledged'
        content = disk[node[0]] if node[1] is None else node[1]
        if content != version: return f'v{version} is recovered with the content of v{content}'
    def check(s):
        for slots in itertools.product(*s['slot']):
            for ring in itertools.product(*s['ring']):
                blocks = {x[1] for x in slots if x}
                for disk in itertools.product(*(x if i in blocks else x[:1] for i, x in enumerate(s['disk']))):
                    e = recover(s, slots, ring, disk)
                    if e: return 'power loss: ' + e
    explore(name, init, steps, check, broken=broken)
import sys
extent = sys.argv[1] if sys.argv[1:] else 'normal'
small = dict(commits=3, cks=1, deaths=0)
if extent == 'quick': run('append and checkpoint, a leader dies', commits=2, cks=1)
if extent == 'normal': run('append and checkpoint, a leader dies', commits=3, cks=1)
if extent == 'all':
    run('two checkpoints, a leader dies', commits=3)
    run('two leaders die', commits=3, cks=1, deaths=2)
run('ring reused when the attempt begins', True, tail='begin', **small)
run('ring reused when the slot is written, not synced', True, tail='slot', **small)
run('acknowledged before the write', True, ack=1, **small)
run('no look at the tail', True, room=0, **small)
run('the slot names the head of when it is written', True, head='slot', **small)
run('the attempt is not held', True, hold=0, **small)
run('the version being copied is not held', True, holdap=0, **small)
run('no first sync', True, sync1=0, **small)
run('the head moves past the write of a dead leader', True, redo=0, commits=2, cks=0)
finish()
