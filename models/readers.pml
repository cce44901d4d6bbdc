/* SPDX-License-Identifier: MIT */
/* Readers and writers on one node and over three: the shared key, each reader's own expiry, the base.
 *
 * Two readers and two writers acquire over three nodes in one round each; readers may extend. Each
 * command is atomic at one node and executed at any time while its round runs; one command of all may
 * stay late when its round is over, and an owed release may go before it. Time is abstracted to the order
 * of events: an entry may expire at any time after its program's round is over.
 *
 * Left out: round 2, losses of data, queues, renewals by writers, real time. exclusive.pml has those.
 *
 * Checked: a writer holds alone; a writer's fence is above all earlier leases' fences, a reader's above
 * those of all earlier writers; a late command takes nothing that its owed release has cleaned up.
 *
 * RUN small a reader and two writers: -DREADERS=1
 * RUN large two readers and two writers: -DREADERS=2
 * TRAP release_without_a_look_at_the_key: -DREADERS=1
 * TRAP reader_ignores_the_base: -DREADERS=2
 * TRAP shared_take_keeps_the_fence: -DREADERS=1
 * TRAP owed_release_without_the_base: -DREADERS=2
 */
#ifndef READERS
#define READERS 2
#endif
#define WRITERS 2
#define P (READERS + WRITERS)
#define N 3
#define SHARED 100
#define BIT(p) (1 << (p))
#define COUNT(m) (((m) & 1) + (((m) >> 1) & 1) + (((m) >> 2) & 1))
#define IS_READER(p) ((p) < READERS)

byte key[N];             /* 0; a writer + 1; SHARED */
byte fence[N], base[N];
byte readers[N];         /* entries, live ones and, where the key is not shared, left-overs */
byte phase[P];           /* 0: not begun; 1: round; 2: holds; 3: extends; 4: ended */
byte number[P];
byte lease_fence[P];
byte pending[P], votes[P];
byte drawn, last_writer, last_any;
byte late, late_node;    /* a reader's command: reader + 1, node */
bool late_released;

inline raise(x, c) {
    if
    :: c > x -> x = c
    :: else
    fi
}
inline vote_for(p, n) {
    votes[p] = votes[p] | BIT(n)
}
inline execute(p, n) {
    if
    :: !IS_READER(p) ->
        if
        :: key[n] == 0 && number[p] > fence[n] -> key[n] = p + 1; fence[n] = number[p]; vote_for(p, n)
        :: else
        fi
    :: IS_READER(p) && key[n] == SHARED && (readers[n] & BIT(p)) -> raise(fence[n], number[p]); vote_for(p, n)
    :: else ->
        if
#ifdef TRAP_reader_ignores_the_base
        :: key[n] == SHARED -> readers[n] = readers[n] | BIT(p); raise(fence[n], number[p]); vote_for(p, n)
#else
        :: key[n] == SHARED && number[p] > base[n] ->
            readers[n] = readers[n] | BIT(p); raise(fence[n], number[p]); vote_for(p, n)
#endif
        :: key[n] == 0 && number[p] > fence[n] ->
            key[n] = SHARED;
            readers[n] = BIT(p);
            base[n] = fence[n];
#ifndef TRAP_shared_take_keeps_the_fence
            fence[n] = number[p];
#endif
            vote_for(p, n)
        :: else
        fi
    fi
}
inline tidy(n) {
    if
    :: key[n] == SHARED && readers[n] == 0 -> key[n] = 0; base[n] = 0
    :: else
    fi
}
inline end_shared(p, n) {
    readers[n] = readers[n] & ~BIT(p);
#ifdef TRAP_release_without_a_look_at_the_key
    if
    :: readers[n] == 0 -> key[n] = 0; base[n] = 0
    :: else
    fi
#else
    tidy(n)
#endif
}
#define RUNS(p) (phase[p] == 1 || phase[p] == 3)
#define HAS(p, n) (IS_READER(p) -> ((readers[n] & BIT(p)) != 0) : (key[n] == p + 1))
inline release(p, n) {
    if
    :: IS_READER(p) -> end_shared(p, n)
    :: else -> key[n] = 0
    fi;
    if
    :: late == p + 1 && late_node == n ->
        late_released = true;
        raise(fence[n], number[p]);
#ifndef TRAP_owed_release_without_the_base
        raise(base[n], number[p])
#endif
    :: else
    fi
}
inline stay_late(p) {
    if
    :: IS_READER(p) && !late && (pending[p] & 1) -> late = p + 1; late_node = 0
    :: IS_READER(p) && !late && (pending[p] & 2) -> late = p + 1; late_node = 1
    :: IS_READER(p) && !late && (pending[p] & 4) -> late = p + 1; late_node = 2
    :: true
    fi
}
#define ON_NODE(n) \
    :: d_step { RUNS(p) && (pending[p] & BIT(n)) -> pending[p] = pending[p] & ~BIT(n); execute(p, n); skip } \
    :: d_step { phase[p] == 4 && (HAS(p, n) || (late == p + 1 && late_node == n && !late_released)) -> release(p, n); skip }
#define EXCLUDED(p) (writer_holds || (!IS_READER(p) && readers_hold))
byte readers_hold;
bool writer_holds;

inline hold(p) {
    assert(!EXCLUDED(p));
    lease_fence[p] = number[p];
    if
    :: IS_READER(p) -> readers_hold++; assert(number[p] > last_writer)
    :: else -> writer_holds = true; assert(number[p] > last_any); last_writer = number[p]
    fi;
    raise(last_any, number[p])
}
inline let_go(p) {
    if
    :: phase[p] >= 2 && IS_READER(p) -> readers_hold--
    :: phase[p] >= 2 && !IS_READER(p) -> writer_holds = false
    :: else
    fi
}
active [P] proctype program() {
    byte p = _pid;
    atomic {
        if
        :: number[p] = drawn + 1
        :: drawn > 0 -> number[p] = drawn
        :: drawn > 1 -> number[p] = drawn - 1
        fi;
        d_step { raise(drawn, number[p]); pending[p] = 7; phase[p] = 1 }
    }
end: do
    ON_NODE(0)
    ON_NODE(1)
    ON_NODE(2)
    :: atomic { phase[p] == 1 && COUNT(votes[p]) >= 2 -> d_step { hold(p); phase[p] = 2; votes[p] = 0; pending[p] = 0 } }
    :: d_step { IS_READER(p) && phase[p] == 2 -> number[p] = drawn + 1; raise(drawn, number[p]); pending[p] = 7; phase[p] = 3 }
    :: d_step { phase[p] == 3 && COUNT(votes[p]) >= 2 -> assert(!writer_holds); votes[p] = 0; pending[p] = 0; phase[p] = 5 }
    /* It ends: a release, a crash, or the validity is over. */
    :: atomic { phase[p] >= 1 && phase[p] != 4 -> stay_late(p);
        d_step { let_go(p); phase[p] = 4; votes[p] = 0; pending[p] = 0 } }
    /* A late command, after the release or before it. */
    :: d_step { phase[p] == 4 && late == p + 1 ->
        execute(p, late_node);
        assert(!late_released || !HAS(p, late_node));
        votes[p] = 0;
        late = 0;
        late_node = 0;
        late_released = false }
    od
}
