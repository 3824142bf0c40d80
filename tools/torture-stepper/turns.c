#include "CTurns.h"
#include "points.h"
#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

// Everything here is called from signal handlers: words of memory, and the bare futex call.

static turns_board *board;
static turns_player *self;
static uint32_t number;
static points_rules rules;

static uint32_t get(const uint32_t *word) { return __atomic_load_n(word, __ATOMIC_SEQ_CST); }
static void set(uint32_t *word, uint32_t value) { __atomic_store_n(word, value, __ATOMIC_SEQ_CST); }
static void tell(uint32_t *word) {
  __atomic_fetch_add(word, 1, __ATOMIC_SEQ_CST);
  syscall(SYS_futex, word, FUTEX_WAKE, 64, NULL, NULL, 0);
}

static bool is_mine(void) {
  return get(&board->turn) == number && self->points < __atomic_load_n(&self->goal, __ATOMIC_SEQ_CST);
}

static void stop(turns_state state) {
  // Unless it was taken away already. First, for as soon as the state says so the turn may be given anew.
  uint32_t mine = number;
  __atomic_compare_exchange_n(&board->turn, &mine, 0, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
  set(&self->state, state);
  tell(&board->news);
}

static void wait_turn(void) {
  stop(TURNS_READY);
  for (;;) {
    uint32_t seen = get(&board->given);
    if (is_mine()) break;
    syscall(SYS_futex, &board->given, FUTEX_WAIT, seen, NULL, NULL, 0);
  }
  set(&self->state, TURNS_RUNNING);
  set(&self->taken, self->taken + 1);
  tell(&board->news);
}

static void point(void) {
  if (!is_mine()) wait_turn();
  self->points += 1;
}

static void on_call(void) {
  if (points_acting()) point();
}

static void on_sleep(bool begins, bool timed_out) {
  if (!points_acting()) return;
  if (begins) {
    self->sleeps += 1;
    stop(TURNS_ASLEEP);
  } else {
    if (timed_out) self->timed_out += 1;
    wait_turn();
    self->points += 1;
  }
}

void turns_watch(void) { points_watch(on_call, on_sleep); }

void turns_begin(turns_board *on, int player, turns_places places) {
  board = on;
  self = &on->player[player];
  number = (uint32_t)player + 1;
  wait_turn();
  rules = (points_rules){
      .point = point,
      .loads = places.loads,
      .data_length = places.data_length,
      .lock_length = places.lock_length,
      .quiet = places.quiet,
      .quiet_end = places.quiet_end,
  };
  points_arm(&rules);
}
void turns_skip(bool skip) {
  if (skip) {
    points_disarm();
  } else {
    points_arm(&rules);
  }
}
void turns_point(void) {
  if (points_acting()) point();
}
void turns_end(void) {
  points_disarm();
  stop(TURNS_ENDED);
}

void turns_give(turns_board *on, int player, uint64_t goal) {
  __atomic_store_n(&on->player[player].goal, goal, __ATOMIC_SEQ_CST);
  set(&on->turn, (uint32_t)player + 1);
  tell(&on->given);
}
uint32_t turns_news(const turns_board *on) { return get(&on->news); }
void turns_await(turns_board *on, uint32_t seen, uint32_t microseconds) {
  struct timespec most = {microseconds / 1000000, microseconds % 1000000 * 1000};
  syscall(SYS_futex, &on->news, FUTEX_WAIT, seen, &most, NULL, 0);
}
turns_state turns_of(const turns_board *on, int player) { return (turns_state)get(&on->player[player].state); }
uint64_t turns_points(const turns_board *on, int player) {
  return __atomic_load_n(&on->player[player].points, __ATOMIC_SEQ_CST);
}
uint32_t turns_taken(const turns_board *on, int player) { return get(&on->player[player].taken); }
uint32_t turns_sleeps(const turns_board *on, int player) { return get(&on->player[player].sleeps); }
uint32_t turns_timed_out(const turns_board *on, int player) { return get(&on->player[player].timed_out); }
