"""NoticeWord, NoteFIFO and the end of Writer.commit: futex sleepers with the sleep bit, listeners on one FIFO, no timers.

Writers: publish (exchange), release, wakeAll, `told`, anyoneListens, Hint.send, now and then forgetDead. One may be killed
between any two of these; a survivor commits last. A killed listener's entry 0 is joined and listened on by a newcomer.
A waiter that sleeps with no step left, and has not seen the newest version, is a lost wake-up."""
import sys
from explore import explore, finish
LAST = 2 if sys.argv[1:] == ["quick"] else 3   # commits
def put(t, i, x): return t[:i] + (x,) + t[i + 1:]
def run(name, broken=False, part='', told=1, cas=1, order=1, claim=1, forget=1, oneshot=0, last=LAST, die=1):
    # L: who lives in entry 0 and 1 (0 nobody, 1 the first owner, 2 the newcomer); C: who holds claim byte 0
    init = dict(ver=0, sb=0, told=0, own=0, w=(('idle', 0, 0), ('idle', 0, 0)), dead=0, seen=(0, 0), at=('look', 'look'), asleep=(0, 0), word=(0, 0),
                lis=(0, 0), edge=(0, 0), L=(1, 1), C=0, lat=('set', 'set'), lseen=(0, 0), verdict=0, owed=0, gone=0)
    if part == 'futex': init |= dict(lat=('rest', 'rest'), lseen=(last, last))
    if part == 'fifo': init |= dict(at=('rest', 'rest'), seen=(last, last))
    def wake(s): return s | {'asleep': (0, 0)}
    def hint(s): return s | {'edge': (1, 1)}
    def steps(s):
        for i in (0, 1):    # writers; 0 may be killed
            pc, v, flag = s['w'][i]
            def go(pc, v=v, flag=flag, **k): return s | {'w': put(s['w'], i, (pc, v, flag))} | k
            n = f'writer {i}: '
            if pc == 'idle':
                # the last commit is the survivor's, once the mortal one is done
                may = s['ver'] < last - 1 or (i == 1 and s['ver'] == last - 1 and s['w'][0][0] in ('dead', 'idle'))
                if s['own'] == 0 and may: yield n + 'writer word', go('has', own=i + 1)
                if i == 1 and s['own'] == 1 and s['w'][0][0] == 'dead': yield n + 'takes over, repairs: wakeAll', wake(go('rforget', own=2, told=s['ver']))
            elif pc == 'rforget': yield n + 'repairs: forgetDead', go('rhint')
            elif pc == 'rhint': yield n + 'repairs: hint', hint(go('has' if s['ver'] < last else 'release'))
            elif pc == 'has':
                f = s['sb'] or (told and s['told'] < s['ver'])
                k = dict(ver=s['ver'] + 1, sb=0)
                if not f: k['told'] = s['ver'] + 1
                yield n + f'publish v{s["ver"] + 1}', go('release', s['ver'] + 1, int(bool(f)), **k)
            elif pc == 'release': yield n + 'release', go('wake' if flag else 'listens', own=0)
            elif pc == 'wake': yield n + 'futex wake', wake(go('told'))
            elif pc == 'told': yield n + 'told', go('listens', told=max(s['told'], v))
            elif pc == 'listens': yield n + 'anyoneListens', go('hint' if any(s['lis']) else 'end')
            elif pc == 'hint': yield n + 'one byte', hint(go('claim' if forget and i == 1 else 'end'))
            elif pc == 'claim':
                if not claim: yield n + 'forgetDead: no claim byte', go('ask')
                elif not s['C']: yield n + 'forgetDead: claim byte', go('ask', C=1)
                else: yield n + 'forgetDead: claim byte held', go('end')
            elif pc == 'ask': yield n + 'forgetDead: lives?', go('clear' if not s['L'][0] and s['lis'][0] else 'unclaim')
            elif pc == 'clear': yield n + 'forgetDead: bit cleared', go('unclaim', lis=put(s['lis'], 0, 0))
            elif pc == 'unclaim': yield n + 'forgetDead: done', go('end', C=0 if claim else s['C'])
            elif pc == 'end': yield n + 'returns', go('idle', 0, 0)
            if die and i == 0 and pc not in ('dead',) and not (pc == 'idle' and s['own'] == 1):
                yield n + 'killed', go('dead')
        for k in (0, 1):    # futex sleepers; 0 may be killed
            a = s['at'][k]; n = f'waiter {k}: '
            def go(a, **kw): return s | {'at': put(s['at'], k, a)} | kw
            if a == 'look':
                if s['ver'] > s['seen'][k]: yield n + f'sees v{s["ver"]}', go('look', seen=put(s['seen'], k, s['ver']))
                elif s['seen'][k] < last: yield n + 'nothing newer', go('bit', word=put(s['word'], k, s['ver']))
            elif a == 'bit':
                if cas and s['ver'] != s['word'][k]: yield n + 'compare-and-swap fails', go('look')
                else: yield n + 'sleep bit', go('sleep', sb=1)
            elif a == 'sleep':
                if s['ver'] == s['word'][k] and s['sb']: yield n + 'asleep', go('asleep', asleep=put(s['asleep'], k, 1))
                elif not cas and s['sb']: yield n + 'asleep on a word that has moved', go('asleep', asleep=put(s['asleep'], k, 1))
                else: yield n + 'the word has moved', go('look')
            elif a == 'asleep' and not s['asleep'][k]: yield n + 'woken', go('look')
            if k == 0 and a == 'asleep' and die: yield n + 'killed', go('killed', asleep=put(s['asleep'], 0, 0))
        for k in (0, 1):    # FIFO listeners; 0 may be killed, and its entry taken by another
            a = s['lat'][k]; n = f'listener {k}: '
            def go(a, **kw): return s | {'lat': put(s['lat'], k, a)} | kw
            if a == 'set':
                if order: yield n + 'bit in listeners', go('first', lis=put(s['lis'], k, 1), edge=put(s['edge'], k, 0))
                else: yield n + 'looks first', go('late', lseen=put(s['lseen'], k, s['ver']), edge=put(s['edge'], k, 0))
            elif a == 'late': yield n + 'bit in listeners', go('wait', lis=put(s['lis'], k, 1))
            elif a == 'first': yield n + 'compares versions', go('wait', lseen=put(s['lseen'], k, s['ver']))
            elif a == 'wait' and s['edge'][k]:
                yield n + 'edge', go('read', edge=put((0, 0) if oneshot else s['edge'], k, 0))
            elif a == 'read': yield n + 'looks', go('wait', lseen=put(s['lseen'], k, s['ver']))
            elif a == 'killed':
                if not s['C']: yield 'newcomer: claim byte', go('claimed', C=2)
            elif a == 'claimed': yield 'newcomer: life byte', go('lives', L=put(s['L'], 0, 2))
            elif a == 'lives': yield 'newcomer: gives the claim byte back', go('described', C=0)
            elif a == 'described': yield "newcomer: clears its predecessor's bit", go('set', lis=put(s['lis'], 0, 0))
            if k == 0 and die and a != 'rest' and s['L'][0] == 1: yield n + 'killed', go('killed', L=put(s['L'], 0, 0))
    def ended(s):
        if s['ver'] < last: return 'a commit never ends'
        for k in (0, 1):
            if s['at'][k] != 'killed' and s['seen'][k] < last: return f'waiter {k} sleeps for ever at v{s["seen"][k]}'
            if s['lat'][k] != 'killed' and s['lseen'][k] < last: return f'listener {k} was not told of v{last}'
    explore(name, init, steps, ended=ended, broken=broken)
# Futex sleepers and listeners share nothing but the version: the ones not searched are at rest, which keeps this small.
run('futex: two waiters, two writers, one writer and one waiter killed', part='futex')
run('FIFO: two listeners, one killed and followed by another; the bits of the dead are cleared', part='fifo')
run('nobody remembers a wake-up owed by the dead', True, part='futex', told=0)
run('sleep bit set without comparing the version', True, part='futex', cas=0)
run('versions compared before the listener is known', True, part='fifo', order=0, last=1, die=0)
run('one edge for all listeners', True, part='fifo', oneshot=1, die=0)
run('bits of the dead cleared without the claim byte', True, part='fifo', claim=0)
finish()
