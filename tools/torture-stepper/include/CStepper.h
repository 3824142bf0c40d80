// Ends this process before a chosen store into memory that it shares with others: x86-64 Linux only.
#pragma once
#include <stdbool.h>
#include <stdint.h>
#include "CTurns.h"

#pragma clang assume_nonnull begin

/// Whether this machine can do it.
bool stepper_supported(void);
/// Learns of every shared mapping that is made from now on. Once, before a store is opened.
void stepper_watch(void);
/// From here on stores of the calling thread into shared mappings are counted, and the process is killed before the
/// `last`-th takes place (1: the first; UINT64_MAX: never). Stores of other threads take place uncounted.
void stepper_arm(uint64_t last);
/// Returns how many stores there were.
uint64_t stepper_disarm(void);

// Processes, which Swift does not offer.
/// Runs `body`, which does not return, in a child: call it where there are no other threads. It is given 30 seconds, and a
/// thread of its own, for the locks of Swift's runtime believe that a thread which was forked is still the parent's, and
/// where two threads want one of them (`swift_once`) both wait for ever.
int stepper_child(void (*body)(void *), void *context);
/// Ends this process at once, as if killed, though with a status.
void stepper_exit(int status) __attribute__((noreturn));
void stepper_die(void) __attribute__((noreturn));

#pragma clang assume_nonnull end
