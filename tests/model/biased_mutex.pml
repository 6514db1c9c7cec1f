/* The lock with a favourite (src/base/biased_mutex.hpp), with the store buffers that make it delicate.
 *
 * Threads take the lock, as the favourite where they are it; whoever holds it in the ordinary way may become the
 * favourite instead. A processor may keep the store that says "inside" to itself while it goes on to look whether the
 * reign is over, until it drains by itself or the heavy fence of who ends the reign drains all. The ordinary lock below
 * is taken as right (lean_mutex.pml).
 *
 * Checked: one thread at a time is inside, and nobody waits for ever.
 *
 * PLANT=n builds in one mistake, which spin must find:
 *   1 who ends a reign runs no heavy fence
 *   2 who ends a reign does not wait until the favourite is outside
 *   3 the favourite does not look a second time whether it still is
 *   4 all favourites share one flag, so a thread that was stopped on its way in clears its successor's
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
#define NOBODY 9
#if PLANT == 4
#define FLAG(who) 0
#else
#define FLAG(who) (who)
#endif

bool locked, flag[THREADS];
byte favourite = NOBODY, inside;
bool buffered[THREADS], value[THREADS]; /* a store to the thread's flag that nobody else sees yet */

inline drain(who) {
  if :: buffered[who] -> flag[FLAG(who)] = value[who]; buffered[who] = false :: else fi
}
/* A second store of the same thread pushes the first out. */
inline store_flag(who, what) { atomic { drain(who); buffered[who] = true; value[who] = what } }

inline end_reign(was) {
  favourite = NOBODY;
#if PLANT != 1
  atomic {
    i = 0;
    do :: i < THREADS -> drain(i); i++ :: else -> break od
  }
#endif
#if PLANT != 2
  !flag[FLAG(was)];
#endif
}

proctype thread(byte who) {
  byte turn = 0, i = 0, was = NOBODY;
  bool by_favourite = false;
  do
  :: turn < TURNS ->
    by_favourite = false;
    if
    :: favourite == who ->
      store_flag(who, true);
      if
#if PLANT == 3
      :: true -> by_favourite = true
#else
      :: favourite == who -> by_favourite = true
      :: else -> store_flag(who, false)
#endif
      fi
    :: else
    fi;
    if
    :: by_favourite
    :: else ->
      atomic { !locked -> drain(who); locked = true }
      was = favourite;
      if :: was != NOBODY -> end_reign(was) :: else fi;
      if
      :: true
      :: true -> /* enough turns in a row */
        store_flag(who, true);
        by_favourite = true;
        atomic { drain(who); favourite = who }
        locked = false
      fi
    fi;
    inside++;
    assert(inside == 1);
    inside--;
    if
    :: by_favourite -> store_flag(who, false)
    :: else -> atomic { drain(who); locked = false }
    fi;
    turn++
  :: else -> break
  od
}

/* Store buffers drain when they like. */
active proctype memory() {
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
