"""fork: a child has mappings, a copy of each descriptor and all memory of its parent, and no part in the session.

Steps: SessionLocks.init (open, ForkGuard.closeInChildren, Mapping.keepFromChildren), after_fork_in_child, Session.isUsable at
releases, checkUsable at entries, PeerTable.isDead by another process. The lock lives as long as its open file description: parent's descriptor,
parent's page, child's descriptor. A raw clone runs no handlers; the kernel still wipes the page that says "usable"."""
from explore import explore, finish
def run(name, broken=False, close=1, wipe=1, anchor='kept', exclude=1, raw=0):
    init = dict(parent='open', fd=0, listed=0, page=0, child='', cfd=0, cpage=0, word=0, pin=0, stolen=0, cleared=0, left=0)
    refs = lambda s: s['fd'] or s['page'] or s['cfd'] or s['cpage']
    def steps(s):
        p = s['parent']
        if p == 'open': yield 'open the lock file', s | {'parent': 'list', 'fd': 1}
        if p == 'list': yield 'closeInChildren', s | {'parent': 'map', 'listed': 1}
        if p == 'map': yield 'map one page', s | {'parent': 'in', 'page': int(anchor != 'none')}
        if p == 'in':
            if not s['word']: yield 'parent: writer word, pin', s | {'word': 1, 'pin': 1}
            elif s['word'] == 1 and not s['stolen']: yield 'parent: unpin, release', s | {'word': 0, 'pin': 0, 'left': 1, 'parent': 'idle'}
            if s['fd']: yield 'parent: somebody closes the descriptor', s | {'fd': 0}
        if p not in ('dead', 'idle'): yield 'parent dies', s | {'parent': 'dead', 'fd': 0, 'page': 0}
        if not s['child'] and (p == 'in' or (p in ('list', 'map') and not exclude)):
            yield 'fork', s | {'child': 'new', 'cfd': s['fd'], 'cpage': int(s['page'] and anchor == 'inherited'), 'chas': int(s['listed']), 'cword': s['word']}
        c = s['child']
        if c == 'new':   # nothing of the child's program runs before the handlers have
            yield 'child: handlers', s | {'child': 'runs', 'cfd': 0 if close and not raw and s['chas'] else s['cfd']}
        if c == 'runs':
            if s['cword'] and not wipe: yield 'child: deinit clears the pin and releases the word', s | {'pin': 0, 'word': 0 if s['word'] == 1 else s['word'], 'cleared': int(s['word'] == 1 and p == 'in'), 'child': 'idle'}
            if s['cword'] and wipe: yield 'child: deinit does nothing', s | {'child': 'idle'}
            if raw: yield 'child: exec or exit', s | {'child': 'gone', 'cfd': 0, 'cpage': 0}
        if raw and c == 'idle': yield 'child: exec or exit', s | {'child': 'gone', 'cfd': 0, 'cpage': 0}
        if s['word'] == 1 and not refs(s): yield 'other: asks the kernel, takes the word over', s | {'word': 2, 'stolen': int(p == 'in')}
    def check(s):
        if s['stolen']: return 'the word of a living parent was taken over'
        if s['cleared']: return 'a child released what its parent holds'
    def ended(s):
        if s['parent'] == 'dead' and s['word'] == 1: return "a child keeps its dead parent's liveness: nobody takes over"
    explore(name, init | {'chas': 0, 'cword': 0}, steps, check, ended, broken)
run('fork as it is')
run('raw clone, handlers do not run: waited for until it executes or exits', raw=1)
run('descriptor not closed in the child', True, close=0)
run('page of the lock description inherited', True, anchor='inherited')
run('no page: a stray close ends the liveness', True, anchor='none')
run('releases do not ask whether this is a child', True, wipe=0)
run('fork between opening and listing', True, exclude=0)
finish()
