/* When may freed memory be reused? The pool's answer (src/pool/stream_queues.hpp) as a model that spin searches whole.
 *
 * Two streams, one thread each, two neighbouring blocks. A thread allocates a block, submits work that uses it, may let
 * the other stream use it too (record_use), and frees it in its stream's order, while the device completes work whenever
 * it likes. The pool closes batches of frees, records events behind them, asks the events, makes memory ready, may let a
 * stream wait for the other's event to take its memory over, and is told before a stream is destroyed. Each `atomic` is
 * what happens under the pool's lock or in one driver call; between two of them anything else may happen.
 *
 * Only the second thread takes memory over, and only the first lets the other use its blocks, so that the search stays
 * small. FIRST and SECOND say how often each thread allocates.
 *
 * Checked: (1) nobody gets memory that work of the other stream may still use, unless it waits for that work on the
 * device; (2) in the end, when all work is complete, all freed memory is ready.
 *
 * PLANT=n builds in one mistake, which spin must find:
 *   1 the event is recorded before the batch is closed, so it speaks for frees that come after it
 *   2 a free forgets who else used the block (record_use)
 *   3 blocks that merge take the earlier batch
 *   4 memory of the only stream so far is given to a second one as it is
 *   5 a stream that waits takes over what the other has freed since
 *   6 nobody tells the pool that a stream goes away, and its last batch never gets an event
 */
#ifndef PLANT
#define PLANT 0
#endif
#ifndef FIRST
#define FIRST 1
#endif
#ifndef SECOND
#define SECOND 1
#endif

#define OTHER(s) (1 - (s))
#define MAX(a, b) ((a) > (b) -> (a) : (b))
#define READY 2 /* the slot of memory that is ready; 0 and 1 are the streams' */

mtype = { live, unused, parked };

/* The device. Work of a stream is numbered; item i waits for the other stream's item wait_for[i] (0: for none). */
byte submitted[2], completed[2];
typedef Items { byte wait_for[8] };
Items item[2];
byte waited[2]; /* the other stream's item that all later work of this stream waits for */
bool gone[2];   /* destroyed */

/* The pool. */
byte only = 2;  /* the only stream that has ever called; 2: none; 3: there are several */
byte open_batch[2];
bool open_used[2]; /* something was freed into the open batch */
byte retired[2];   /* all batches up to this are complete */
bool in_flight[2]; /* one event a stream is enough to show what can go wrong */
byte event_batch[2], event_at[2];

typedef Block {
  mtype state = unused;
  byte slot = READY;
  byte batch;
  byte used_at[2];  /* the last item of each stream that touches it, in this life or an earlier one */
  bool used_by[2];  /* record_use */
  byte needs[2]    /* parked: the batch of each stream that must be complete */
};
Block block[2];
byte finished;

inline merge() {
  if
  :: block[0].state == unused && block[1].state == unused && block[0].slot == block[1].slot && block[0].slot != READY ->
#if PLANT == 3
       block[0].batch = (block[0].batch < block[1].batch -> block[0].batch : block[1].batch);
#else
       block[0].batch = MAX(block[0].batch, block[1].batch);
#endif
       block[1].batch = block[0].batch
  :: else
  fi
}

/* A freed block whose work on other streams is complete joins its own stream's pending memory, or is ready. */
inline unpark(b, s) {
  if
  :: block[b].state == parked && block[b].needs[OTHER(s)] <= retired[OTHER(s)] && block[b].slot == s ->
       block[b].state = unused;
       block[b].needs[OTHER(s)] = 0;
       if
       :: block[b].batch <= retired[s] -> block[b].slot = READY; block[b].batch = 0
       :: else
       fi
  :: else
  fi
}

inline make_ready(s, upto) {
  retired[s] = MAX(retired[s], upto);
  if :: block[0].state == unused && block[0].slot == s && block[0].batch <= upto -> block[0].slot = READY; block[0].batch = 0 :: else fi;
  if :: block[1].state == unused && block[1].slot == s && block[1].batch <= upto -> block[1].slot = READY; block[1].batch = 0 :: else fi;
  unpark(0, OTHER(s));
  unpark(1, OTHER(s));
  merge()
}

/* Driver call: the event stands for all that was submitted to `s` before. An older event of the stream, if there is one,
 * is recorded again. Fails on a stream that is gone. */
inline record(s, for_batch) {
  if
  :: gone[s] -> skip
  :: else ->
       event_at[s] = submitted[s];
       event_batch[s] = MAX(event_batch[s], for_batch);
       in_flight[s] = true
  fi
}

/* The first call of a second stream: what is free now may still be in use by the first. */
inline enter(s) {
  if
  :: only == 2 -> only = s
  :: only == OTHER(s) ->
       only = 3;
#if PLANT != 4
       if :: block[0].state == unused -> block[0].slot = OTHER(s); block[0].batch = open_batch[OTHER(s)] :: else fi;
       if :: block[1].state == unused -> block[1].slot = OTHER(s); block[1].batch = open_batch[OTHER(s)] :: else fi;
       open_used[OTHER(s)] = true
#endif
  :: else
  fi
}

inline use(b, s) {
  submitted[s]++;
  item[s].wait_for[submitted[s]] = waited[s];
  block[b].used_at[s] = submitted[s]
}

/* Blocks that stream s may have: ready ones, and its own pending ones. */
#define MAY_HAVE(b, s) (block[b].state == unused && (block[b].slot == READY || block[b].slot == s))
/* The other stream's work on it is complete, or this stream's work waits for it. */
#define IS_SAFE(b, s) \
  (completed[OTHER(s)] >= block[b].used_at[OTHER(s)] || waited[s] >= block[b].used_at[OTHER(s)])

inline allocate(b, s) {
  block[b].state = live;
  block[b].slot = READY;
  block[b].batch = 0;
  assert(IS_SAFE(b, s))
}

inline free_async(b, s) {
  block[b].slot = (only == 3 -> s : READY);
  block[b].batch = (only == 3 -> open_batch[s] : 0);
  block[b].state = unused;
  open_used[s] = (only == 3 -> true : open_used[s]);
#if PLANT != 2
  if
  :: block[b].used_by[OTHER(s)] ->
       block[b].state = parked;
       block[b].needs[OTHER(s)] = open_batch[OTHER(s)];
       open_used[OTHER(s)] = true
  :: else
  fi;
#endif
  block[b].used_by[0] = false;
  block[b].used_by[1] = false;
  merge()
}

/* Lets the stream wait, on the device, for the other's event, and takes over the memory behind it. */
inline take_over(s) {
  atomic {
    s == 1 && only == 3 && in_flight[OTHER(s)];
    upto = event_batch[OTHER(s)];
    waited[s] = MAX(waited[s], event_at[OTHER(s)])
  }
  atomic {
#if PLANT == 5
    upto = open_batch[OTHER(s)];
#endif
    b = 0;
    do
    :: b < 2 ->
         if
         :: block[b].state == unused && block[b].slot == OTHER(s) && block[b].batch <= upto ->
              block[b].slot = s;
              block[b].batch = open_batch[s];
              open_used[s] = true
         :: else
         fi;
         b++
    :: else -> break
    od;
    b = 0;
    merge();
    upto = 0
  }
}

proctype Thread(byte s) {
  byte b, round, upto;
  do
  :: round < (s == 0 -> FIRST : SECOND) ->
       if
       :: atomic { MAY_HAVE(0, s); enter(s); if :: MAY_HAVE(0, s) -> b = 0; allocate(0, s) :: else -> goto again fi }
       :: atomic { MAY_HAVE(1, s); enter(s); if :: MAY_HAVE(1, s) -> b = 1; allocate(1, s) :: else -> goto again fi }
       :: take_over(s); goto again /* one direction only: the search stays small */
       :: goto leave
       fi;
       atomic { use(b, s) }
       if
       :: atomic { s == 0 && !gone[1] && submitted[1] < 6; enter(OTHER(s)); enter(s); use(b, OTHER(s));
                   block[b].used_by[OTHER(s)] = true }
       :: skip
       fi;
       atomic { free_async(b, s); b = 0 }
       round++;
again: skip
  :: else -> break
  od;
leave:
  /* The stream is destroyed: the pool is told, so that what it freed gets its event, or the device is waited for. */
#if PLANT != 6
  atomic {
    if
    :: only == s -> only = 3;
         if :: block[0].state == unused -> block[0].slot = s; block[0].batch = open_batch[s] :: else fi;
         if :: block[1].state == unused -> block[1].slot = s; block[1].batch = open_batch[s] :: else fi;
         open_used[s] = true
    :: else
    fi
  }
#endif
  atomic { gone[s] = true; finished++ }
}

/* Numbers that nobody can tell from 0 any more become 0, so that spin has fewer states to see. */
inline forget_the_past(s) {
  if :: block[0].used_at[s] <= completed[s] -> block[0].used_at[s] = 0 :: else fi;
  if :: block[1].used_at[s] <= completed[s] -> block[1].used_at[s] = 0 :: else fi;
  if
  :: completed[s] == submitted[s] && !in_flight[s] ->
       waited[OTHER(s)] = 0;
       i = 0;
       do
       :: i < 8 -> item[OTHER(s)].wait_for[i] = 0; item[s].wait_for[i] = 0; i++
       :: else -> break
       od;
       i = 0;
       completed[s] = 0;
       submitted[s] = 0
  :: else
  fi
}

/* Work of each stream is completed in its order, once what it waits for is. */
proctype DeviceStream(byte s) {
  byte i;
end:
  do
  :: d_step {
       completed[s] < submitted[s] && item[s].wait_for[completed[s] + 1] <= completed[OTHER(s)];
       completed[s]++;
       item[s].wait_for[completed[s]] = 0;
       forget_the_past(s)
     }
  od
}

/* The pool's side of a stream: whoever closes batches, and whoever asks events. */
proctype Closer(byte s) {
  byte closed;
end:
#if PLANT == 1
  atomic { only == 3 && open_used[s]; record(s, open_batch[s]) }
  atomic { closed = open_batch[s]; open_batch[s]++; open_used[s] = false; event_batch[s] = closed; closed = 0 }
#else
  atomic { only == 3 && open_used[s]; closed = open_batch[s]; open_batch[s]++; open_used[s] = false }
  atomic { record(s, closed); closed = 0 }
#endif
  goto end
}

proctype Retirer(byte s) {
  byte seen;
end:
  do
  :: atomic { in_flight[s] && completed[s] >= event_at[s]; seen = event_batch[s] } /* asked: complete */
     atomic {
       if :: event_batch[s] == seen && completed[s] >= event_at[s] ->
              in_flight[s] = false; event_at[s] = 0; event_batch[s] = 0
       :: else fi;
       make_ready(s, seen);
       seen = 0
     }
#if PLANT != 6
  /* No event can be had of a stream that is gone: the whole device is waited for. */
  :: atomic {
       gone[s] && completed[0] == submitted[0] && completed[1] == submitted[1] &&
       (open_used[s] || retired[s] + 1 < open_batch[s]);
       seen = open_batch[s]; open_batch[s]++; open_used[s] = false; in_flight[s] = false;
       make_ready(s, seen); seen = 0
     }
#endif
  od
}

init {
  atomic {
    open_batch[0] = 1;
    open_batch[1] = 1;
    run Thread(0); run Thread(1);
    run DeviceStream(0); run DeviceStream(1);
    run Closer(0); run Closer(1);
    run Retirer(0); run Retirer(1)
  }
  timeout; /* nothing moves any more */
  assert(finished == 2);
  assert(block[0].state == unused && block[1].state == unused);
  assert(only != 3 || (block[0].slot == READY && block[1].slot == READY))
}
