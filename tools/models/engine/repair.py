"""Writer.repair and Space.repair: cut off at any store, run again by the next writer, cut off again. Equal to one repair?

One transaction (version 2) replaces block 0 by block 1; before it a pass is freeing block 2. Block 3 lies in a magazine.
MAX marks a pool entry as being freed. Each step is one store."""
from explore import explore, finish
MAX = 99
def put(s, word, i, x):
    t = list(s[word]); t[i] = x
    return s | {word: tuple(t)}
def bit(b, x): return lambda s: put(s, 'bits', b, x)
def to(**w): return lambda s: s | w
init = dict(bits=(1, 0, 1, 1), stamp=(1, 0, 0, 0), pool=((0, 0, 0), (2, 0, 1)), mag=(3,), touched=0, head=(1, 0), ring=1, tip=1,
            visible=1, told=1, pending=0, jver=0, reclaiming=0, fresh=(1,), pc=0, who='writer', deaths=0, want=None)
def writer(full):   # Writer.begin, Space.reclaim, Space.refill, allocate, wait, Writer.commit
    w = [('jver', to(jver=2)), ('reclaiming', to(reclaiming=1)), ('fresh unlinked', to(fresh=())),
         ('entry being freed', lambda s: put(s, 'pool', 1, (2, MAX, 1))), ('bit freed', bit(2, 0)),
         ('entry unused', lambda s: put(s, 'pool', 1, (None, 0, 0))), ('reclaimed', to(reclaiming=0)),
         ('refill: magazine', to(mag=(3, 1))), ('refill: bit', bit(1, 1)), ('touched', to(touched=1)),
         ('stamp', lambda s: put(s, 'stamp', 1, 2)), ('taken', to(mag=(3,))),
         ('entry', lambda s: put(s, 'pool', 0, (0, 1, 2))), ('queued', to(fresh=(0,)))]
    if full: w += [('pendingFull', to(pending=2))]
    w += [('head slot, no checksum yet', to(head=(1, -2))), ('head slot', to(head=(1, 2))), ('ring being written', to(ring=0)),
          ('ring', to(ring=2)), ('tip', to(tip=2)), ('touched cleared', to(touched=0)), ('jver cleared', to(jver=0))]
    if not full: w += [('publish', to(visible=2))]
    return w
def repair(s, V):   # from the state at its begin: the stores it will do
    t = max(x for x in s['head'] if x >= 0)
    flush = [(f'magazine: bit {b} cleared', bit(b, 0)) for b in s['mag']]
    count = [('magazine emptied', to(mag=()))]
    out = count + flush if V == 'count' else flush + count
    live = []
    for i, (ref, made, replaced) in enumerate(s['pool']):
        if ref is not None and made == MAX:
            a = [(f'entry {i}: bit {ref} cleared', bit(ref, 0)), (f'entry {i} unused', lambda s, i=i: put(s, 'pool', i, (None, 0, 0)))]
            out += a[::-1] if V == 'entry' else a
        elif ref is not None and replaced <= t and replaced > 0: live.append((replaced, i))
        else: out.append((f'entry {i} unused', lambda s, i=i: put(s, 'pool', i, (None, 0, 0))))
    out.append(('fresh queue', to(fresh=tuple(i for _, i in sorted(live)))))
    # which bits are set is looked at when that word is reached: after the magazines
    newer = [(f'stamp of {b} looked at', lambda s, b=b: put(s, 'bits', b, 0) if s['bits'][b] and s['stamp'][b] > t else s) for b in range(4)] if s['touched'] else []
    clear = [('touched cleared', to(touched=0))]
    out += clear + newer if V == 'touched' else newer + [('reclaiming', to(reclaiming=0))] + clear
    if V == 'touched': out += [('reclaiming', to(reclaiming=0))]
    out.append(('pendingFull', lambda s: s | {'pending': min(s['pending'], t)}))
    rest = [('ring being written', to(ring=0)), ('ring', to(ring=t)), ('tip', to(tip=t))]
    pub = [('publish', lambda s: s | {'visible': t} if t > s['visible'] and s['pending'] <= s['visible'] else s)]
    out += pub + rest if V == 'publish' else rest + pub
    return out + [('jver cleared', to(jver=0)), ('wake', lambda s: s | {'told': s['visible']})]
START = ('bits', 'stamp', 'pool', 'mag', 'touched', 'head', 'reclaiming', 'pending', 'visible')
def result(s): return tuple((k, s[k]) for k in ('bits', 'pool', 'fresh', 'mag', 'touched', 'tip', 'ring', 'visible', 'told', 'pending', 'jver', 'reclaiming'))
def run(V, full, deaths, name, broken=False):
    W = writer(full)
    def steps(s):
        if s['who'] == 'writer':
            if s['pc'] < len(W): yield 'writer: ' + W[s['pc']][0], W[s['pc']][1](s) | {'pc': s['pc'] + 1}
            d = s
            plan = repair(d, V)
            one = d
            for _, f in plan: one = f(one)
            yield 'the writer dies', d | {'who': 'repair', 'pc': 0, 'want': result(one), 'saw': tuple((k, d[k]) for k in START)}
            return
        if s['who'] != 'repair': return
        plan = repair(s | dict(s['saw']), V)
        if s['pc'] < len(plan):
            yield 'repair: ' + plan[s['pc']][0], plan[s['pc']][1](s) | {'pc': s['pc'] + 1}
            if s['deaths'] < deaths:
                yield 'the repairer dies', s | {'pc': 0, 'deaths': s['deaths'] + 1, 'saw': tuple((k, s[k]) for k in START)}
        else: yield 'repaired', s | {'who': 'done'}
    def check(s):
        if s['visible'] > max(s['head']): return 'a version is visible that no head slot names'
        if s['who'] == 'repair' and s['visible'] == 2 and s['ring'] == 1: return 'a reader pins a version that the ring does not know'
        if s['who'] == 'done':
            if result(s) != s['want']: return 'differs from a single repair: ' + str([(a, b) for a, b in zip(result(s), s['want']) if a != b])
            t = s['tip']
            live = {0} if t == 1 else {1}
            waits = [e[0] for e in s['pool'] if e[0] is not None]
            if len(set(waits)) != len(waits): return 'a block waits twice'
            if {b for b in range(4) if s['bits'][b]} != live | set(waits): return f'set bits are not live + waiting at {t}: {s["bits"]}, {waits}'
    explore(name, init | {'saw': ()}, steps, check, broken=broken)
for full in (False, True):
    run('', full, 3, f'repair cut off up to three times, {"full" if full else "relaxed"} commit')
run('touched', False, 1, 'touched bits cleared before the stamps are looked at', True)
run('entry', False, 1, 'entry given back before its block is freed', True)
run('count', False, 1, 'magazine emptied before its bits are cleared', True)
run('publish', False, 1, 'published before the ring entry', True)
finish()
