"""PeerTable.enter, isDead, ReaderSlots.freeDead: what a generation that is used twice would do, with a counter of three.

A cleaner reads a slot's owner (index, generation), asks about it, and exchanges the owner word if it is the same still. Owners of the
entry come and go meanwhile, take the slot, and pin. PeerTable.lastGeneration retires an entry that has used all of its
generations. Sessions: their number is 64 random bits, and decides nothing but whether records of another one are believed."""
from explore import explore, finish
def run(name, broken=False, last=3, retire=1, gen=1):
    # life: generation of the living owner of the entry, or 0; slot: generation of the slot's owner, or 0
    init = dict(g=0, life=0, lives=0, slot=0, pin=0, c='read', saw=0, robbed=0, n=0)
    def steps(s):
        if not s['life'] and s['n'] < 2 * last + 1:
            if s['g'] < last: yield f'join: generation {s["g"] + 1}', s | {'g': s['g'] + 1, 'life': s['g'] + 1, 'n': s['n'] + 1}
            elif not retire: yield 'join: the generation wraps to 1', s | {'g': 1, 'life': 1, 'n': s['n'] + 1}
        if s['life']:
            if not s['slot']: yield 'takes the slot', s | {'slot': s['life'] if gen else 1}
            elif s['slot'] == (s['life'] if gen else 1): 
                if not s['pin']: yield 'pins', s | {'pin': s['life']}
                else: yield 'unpins', s | {'pin': 0}
            yield 'dies', s | {'life': 0}
        c = s['c']
        if c == 'read' and s['slot']: yield f'cleaner: owner is generation {s["slot"]}', s | {'c': 'ask', 'saw': s['slot']}
        if c == 'ask':   # the kernel first, the generation second
            yield 'cleaner: asks the kernel', s | {'c': 'gen', 'lives': int(s['life'] != 0)}
        if c == 'gen':
            dead = not s['lives'] or (gen and s['g'] != s['saw'])
            yield f'cleaner: {"dead" if dead else "alive"}', s | {'c': 'cas' if dead else 'read', 'saw': s['saw'] if dead else 0}
        if c == 'cas':
            if s['slot'] == s['saw']:
                yield 'cleaner: takes the owner word', s | {'c': 'clear', 'slot': 9, 'robbed': int(s['life'] != 0 and s['pin'] == s['life'])}
            else: yield 'cleaner: the owner is another', s | {'c': 'read', 'saw': 0}
        if c == 'clear': yield 'cleaner: pin cleared, slot free', s | {'c': 'read', 'saw': 0, 'slot': 0, 'pin': 0}
    def check(s):
        if s['robbed']: return 'the slot of a living reader was freed under its pin'
    explore(name, init, steps, check, broken=broken)
run('an entry is retired with its last generation')
run('retired at once', last=1)
run('the generation wraps', True, retire=0)
run('the owner word has no generation', True, gen=0)
# Space.forgetLists: lists and counts of an extent count only if its descriptor carries the present generation (31 bits,
# never 0). Here 7 generations. Recovery.firstGeneration starts beyond any that descriptors may carry.
def lists(name, broken=False, repairs=5, first='beyond', top=7):
    init = dict(gen=1, desc=0, valid=0, n=0, started=0)
    def steps(s):
        yield 'extent listed in this generation', s | {'desc': s['gen'], 'valid': 1}
        if s['n'] < repairs: yield 'repair: forgetLists', s | {'gen': max(1, (s['gen'] + 1) & top), 'valid': 0, 'n': s['n'] + 1}
        if not s['started'] and first is not None:
            yield 'new session', s | {'gen': max(1, (s['gen'] + 1) & top) if first == 'beyond' else 1, 'valid': 0, 'n': s['n'] + 1, 'started': 1}
    def check(s):
        if s['desc'] == s['gen'] and not s['valid']: return "a descriptor's list of before a repair is believed"
    explore(name, init, steps, check, broken=broken)
lists('generation of lists: fewer repairs than generations')
lists('as many repairs as generations', True, repairs=8)
lists('a session begins with generation 1 again', True, first='one')
# Recovery: epochs have 16 bits of a stamp; a store that has used all of them is not opened.
def epochs(name, broken=False, stop=1, bits=3):
    init = dict(e=1, old=0, tip=0, n=0)
    def steps(s):
        if s['n'] > 2 << bits: return
        yield 'a commit leaks a block of this epoch', s | {'old': s['old'] or s['e']} if s['old'] != s['e'] else s | {'tip': 1}
        if s['e'] + 1 < 1 << bits: yield 'crash: next epoch', s | {'e': s['e'] + 1, 'n': s['n'] + 1, 'tip': s['old'] and 1}
        elif not stop: yield 'crash: the epoch wraps', s | {'e': 1, 'n': s['n'] + 1}
    def check(s):
        if s['tip'] and s['old'] == s['e'] and s['n'] and s['n'] >= (1 << bits) - 1: return 'a stamp of an old epoch is taken for one of this'
    explore(name, init, steps, check, broken=broken)
epochs('the last epoch is the last')
epochs('epochs wrap', True, stop=0)
finish()
