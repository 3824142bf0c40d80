"""Explicit-state search, breadth first: every state that any order of steps leads to. The first trace found is a shortest one.

A state is a dict of hashable values. `steps(s)` yields (label, next state). `check(s)` says what is wrong, or None; `ended(s)`
the same of a state without a next one (a lost wake-up is such a state)."""
import sys
from collections import deque

unexpected = 0

def explore(name, init, steps, check=lambda s: None, ended=lambda s: None, broken=False):
    global unexpected
    key = lambda s: tuple(sorted(s.items(), key=lambda x: x[0]))
    came = {key(init): None}
    queue, error = deque([init]), None
    while queue and not error:
        s = queue.popleft()
        error = check(s)
        if error: break
        k, some = key(s), False
        for label, t in steps(s):
            some = True
            kt = key(t)
            if kt not in came:
                came[kt] = (k, label)
                queue.append(t)
        if not some: error = ended(s)
    if bool(error) != broken: unexpected += 1
    verdict = f'BROKEN: {error}' if error else 'holds'
    print(f'{name}: {verdict} ({len(came)} states)', flush=True)
    if error:
        trace, at = [], key(s)
        while came[at]:
            at, label = came[at]
            trace.append(label)
        for label in reversed(trace): print('     ', label)

def finish(): sys.exit(1 if unexpected else 0)
