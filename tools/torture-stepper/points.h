// What happens at each point of the acting thread, and what is one: shared by those that kill and those that take turns.
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct {
  /// Called on the acting thread before the access takes place; may block, may not return.
  void (*point)(void);
  /// Whether loads are points too, not only stores.
  bool loads;
  /// Of mappings of this length (data files) only the first page counts; 0: all of it does.
  size_t data_length;
  /// Of others (lock files) so many bytes, but for those from `quiet` to `quiet_end`; 0: all of it.
  size_t lock_length, quiet, quiet_end;
} points_rules;

/// From here on accesses of the calling thread to shared mappings are points.
void points_arm(const points_rules *rules);
void points_disarm(void);
/// Whether the calling thread's points count now.
bool points_acting(void);
/// Learns of mappings from now on, and hands system calls of the acting thread on.
void points_watch(void (*call)(void), void (*sleep)(bool begins, bool timed_out));
