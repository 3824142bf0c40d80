// Two processes that run by turns: one of them at a time, from one access of shared memory to another that is chosen.
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#pragma clang assume_nonnull begin

enum { TURNS_PLAYERS = 2 };
typedef enum {
  /// Has not begun.
  TURNS_AWAY,
  /// Has the turn.
  TURNS_RUNNING,
  /// Stands before a point, until it gets the turn.
  TURNS_READY,
  /// Sleeps in the kernel, or is going to; is ready when it wakes up.
  TURNS_ASLEEP,
  TURNS_ENDED
} turns_state;

typedef struct {
  /// Points that were passed, and how many may be.
  uint64_t points, goal;
  uint32_t state;
  /// How often it has begun to run. Until then its turn is not taken from it.
  uint32_t taken;
  /// How often it slept, and how often no one woke it.
  uint32_t sleeps, timed_out;
} turns_player;

/// In memory that all of them share, zero at first.
typedef struct {
  /// Futexes: of players, who look whether it is their turn; of whoever gives turns, who looks what has happened.
  uint32_t given, news;
  /// Player + 1, or 0.
  uint32_t turn;
  turns_player player[TURNS_PLAYERS];
} turns_board;

// Players
/// Learns of every shared mapping made from now on. Once, before a store is opened.
void turns_watch(void);
typedef struct {
  /// Mappings of this length are data files, of which the first page counts; all others are lock files.
  size_t data_length;
  /// How much of a lock file counts, but for what lies between: 0: all of it.
  size_t lock_length, quiet, quiet_end;
  /// Whether loads of it are points as well.
  bool loads;
} turns_places;
/// From here on the calling thread runs by turns: returns when it first gets one. Points are its stores into these places,
/// and its system calls.
void turns_begin(turns_board *board, int player, turns_places places);
/// No points for a while: what follows is one with what was before.
void turns_skip(bool skip);
/// One more point.
void turns_point(void);
/// Gives the last turn back.
void turns_end(void);

// Who gives turns
/// Lets a player that is ready run until it has passed `goal` points in all.
void turns_give(turns_board *board, int player, uint64_t goal);
uint32_t turns_news(const turns_board *board);
/// Sleeps while there is no other news than `seen`, at most so long.
void turns_await(turns_board *board, uint32_t seen, uint32_t microseconds);
turns_state turns_of(const turns_board *board, int player);
uint64_t turns_points(const turns_board *board, int player);
uint32_t turns_taken(const turns_board *board, int player);
uint32_t turns_sleeps(const turns_board *board, int player);
uint32_t turns_timed_out(const turns_board *board, int player);

#pragma clang assume_nonnull end
