/* The lock whose release is a plain store (src/base/lean_mutex.hpp), with the store buffers that make that delicate.
 *
 * A processor may keep a store to itself while it goes on to load; the model's threads do so with the store that releases
 * the lock, until it drains by itself, a read-modify-write of theirs drains it, or somebody's heavy fence drains all. So
 * who releases may look for sleepers before anybody can see the release. The waiting awake that comes first in the code
 * is left out: it only tries.
 *
 * Checked: one thread at a time is inside; and nobody sleeps for ever: a run that ends with a thread asleep is one of
 * spin's invalid end states.
 *
 * PLANT=n builds in one mistake, which spin must find:
 *   1 a sleeper runs no heavy fence before its last try
 *   2 a sleeper does not take a pending wake-up back
 *   3 a sleeper reads the number it sleeps on only after its last try
 */
#ifndef PLANT
#define PLANT 0
#endif
#ifndef THREADS
#define THREADS 2
#endif
#ifndef TURNS
#define TURNS 3
#endif

bool taken, pending, buffered[THREADS], asleep[THREADS];
byte sleepers, wake_ups, inside;

inline drain(who) { if :: buffered[who] -> taken = false; buffered[who] = false :: else fi }

inline try_lock(who, got) {
  atomic { drain(who); got = !taken; taken = true }
}

inline heavy_fence() {
#if PLANT != 1
  atomic {
    i = 0;
    do :: i < THREADS -> drain(i); i++ :: else -> break od
  }
#else
  skip
#endif
}

inline lock_it(who, got, seen) {
  try_lock(who, got);
  if
  :: got
  :: else ->
    atomic { drain(who); sleepers++ }
    do
    :: true ->
#if PLANT != 3
      seen = wake_ups;
#endif
#if PLANT != 2
      pending = false;
#endif
      heavy_fence();
      try_lock(who, got);
      if :: got -> break :: else fi;
#if PLANT == 3
      seen = wake_ups;
#endif
      atomic { if :: wake_ups == seen -> asleep[who] = true :: else fi }
      !asleep[who]
    od;
    atomic { drain(who); sleepers-- }
  fi
}

inline unlock_it(who, old) {
  buffered[who] = true;
  if
  :: sleepers > 0 ->
    if
    :: pending
    :: else ->
      atomic { drain(who); old = pending; pending = true }
      if
      :: old
      :: else ->
        atomic { wake_ups = (wake_ups + 1) % 8 }
        atomic {
          i = 0;
          do
          :: i < THREADS && !asleep[i] -> i++
          :: i < THREADS && asleep[i] -> asleep[i] = false; break
          :: i == THREADS -> break
          od
        }
      fi
    fi
  :: else
  fi
}

proctype thread(byte who) {
  byte turn = 0, seen = 0, i = 0;
  bool got = false, old = false;
  do
  :: turn < TURNS ->
    lock_it(who, got, seen);
    inside++;
    assert(inside == 1);
    inside--;
    unlock_it(who, old);
    turn++
  :: else -> break
  od
}

/* Store buffers drain when they like. */
active proctype memory() {
  byte i;
end:
  do
  :: atomic { buffered[0] -> drain(0) }
  :: atomic { buffered[1] -> drain(1) }
#if THREADS > 2
  :: atomic { buffered[2] -> drain(2) }
#endif
  od
}

init {
  byte i = 0;
  atomic { do :: i < THREADS -> run thread(i); i++ :: else -> break od }
}
