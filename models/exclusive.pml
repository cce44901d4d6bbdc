/* SPDX-License-Identifier: MIT */
/* The exclusive lock on three nodes: leases, fences, quorum, validity, late commands, a node that
 * restarts empty.
 *
 * Each lease is one process: an acquire of one or two rounds, perhaps a renewal, a release. A command
 * is executed at any time while its round runs, or never. When the round is over, one command of all
 * may stay `late`: it is executed at any later time, before or after the release, or never. So loss,
 * delay and broken connections need no further events. A reply is lost or late where the process
 * acts on it late or never.
 *
 * Time is abstracted to the order of events. `alive` has the rounds whose validity, counted from the
 * sending, is not over. A key expires at any time after the round that prolonged it last is over: the
 * drift allowance is what makes that true. A quarantine ends at any time after all rounds that were
 * alive at the loss are over: a quarantine of ttl_max makes that true. Fences are small numbers: a
 * client draws any, since clocks differ; a fence key that is missing counts as all numbers drawn before
 * the loss (TIME - A does).
 *
 * Left out: real time, clocks that step, the queue and waiting, writers of a record (the
 * handshake), list changes, other kinds of lock, more than one loss within a
 * quarantine, more than one late command at a time.
 *
 * Checked: one holder at a time; fences increase from lease to lease; what an owed release has
 * cleaned up is not taken again by a late command of the same lease.
 *
 * RUN small two leases, one loss: -DRENEWING=0
 * RUN small two leases, one renews: -DLOSSES=0
 * RUN large two leases, one loss, one renews: -DRENEWING=1
 * RUN large three leases: -DLEASES=3 -DRENEWING=0 -DLOSSES=0
 * TRAP quorum_of_half: -DRENEWING=0
 * TRAP validity_from_the_reply: -DRENEWING=0
 * TRAP votes_of_round_1_count_in_round_2: -DRENEWING=0
 * TRAP granted_again_without_raise: -DRENEWING=0
 * TRAP raised_without_max: -DRENEWING=0
 * TRAP fence_not_compared: -DRENEWING=0
 * TRAP renewal_revives: -DLOSSES=0
 * TRAP release_without_compare: -DLEASES=3 -DRENEWING=0 -DLOSSES=0
 * TRAP owed_release_without_raise: -DRENEWING=0
 * TRAP owed_release_with_the_first_number: -DRENEWING=0
 * TRAP no_quarantine: -DRENEWING=0
 * TRAP vote_in_quarantine: -DRENEWING=0
 * TRAP epoch_not_compared: -DRENEWING=0
 * TRAP fence_zero_after_a_loss: -DRENEWING=0
 */
#ifndef LEASES
#define LEASES 2
#endif
#ifndef RENEWING
#define RENEWING 1   /* so many of the leases renew */
#endif
#ifndef LOSSES
#define LOSSES 1
#endif
#ifndef NUMBERS
#define NUMBERS 2    /* a first round draws a number from 1 to this */
#endif
#define N 3
#ifdef TRAP_quorum_of_half
#define QUORUM 1
#else
#define QUORUM 2
#endif
#define RENEWAL 3    /* the round that renews; 1 and 2 acquire */
#define AT(p, n) ((p) * N + (n))
#define ROUND(p, r) (1 << ((p) * 3 + (r) - 1))

#define NO_VOTE 0
#define SENT 1
#define SENT_IN_VAIN 2    /* while the node was in quarantine */
#define GRANTED 3
#define STALE 4

byte key[N];              /* 0, or the lease + 1 */
byte prolonged[N];        /* the round that did so last */
byte fence[N];
byte floor[N];            /* what its fence counts for at least when the quarantine is over */
bool quarantine[N];
short waits[N];           /* the rounds that were alive when the node lost its data */
byte losses;

byte number[LEASES * 4];  /* of each round */
byte round[LEASES];       /* the present one; 0: not begun; RENEWAL + 1: ended */
byte counts[LEASES];      /* the round by which it holds, or held */
bool holding[LEASES];
byte lease_fence[LEASES];
short alive;
byte vote[LEASES * N];    /* of the present round */
byte drawn;               /* the highest number of all */
byte last_fence;          /* of the latest lease */
byte holders;

/* The late command: lease + 1 (0: none), round, node; whether the owed release went before it. */
byte late, late_round, late_node;
bool late_released;

#define ENDED(p) (round[p] == RENEWAL + 1)

inline hold(p) {
    assert(holders == 0);
    holders++;
    holding[p] = true
}
inline let_go(p) {
    if
    :: holding[p] -> holding[p] = false; holders--
    :: else
    fi
}
inline draw(p, r, c) {
    number[p * 4 + r] = c;
    if
    :: c > drawn -> drawn = c
    :: else
    fi
}
#define PENDING(p, n) (vote[AT(p, n)] == SENT || vote[AT(p, n)] == SENT_IN_VAIN)
/* The round is over: one command that was not executed may stay late. */
inline stop_round(p) {
    if
    :: !late && PENDING(p, 0) -> stay_late(p, 0)
    :: !late && PENDING(p, 1) -> stay_late(p, 1)
    :: !late && PENDING(p, 2) -> stay_late(p, 2)
    :: true
    fi
}
inline stay_late(p, n) {
    late = p + 1;
    late_round = round[p];
    late_node = n
}
/* The round is handed to all connections at once. */
inline send(p, r) {
    round[p] = r;
    alive = alive | ROUND(p, r);
    i = 0;
    do
    :: i < N ->
        if
#ifdef TRAP_votes_of_round_1_count_in_round_2
        :: r == 2 && vote[AT(p, i)] == GRANTED -> skip
#endif
#ifndef TRAP_vote_in_quarantine
        :: quarantine[i] -> vote[AT(p, i)] = SENT_IN_VAIN
#endif
        :: else -> vote[AT(p, i)] = SENT
        fi;
        i++
    :: else -> i = 0; break
    od
}
inline note(p, n, r, v) {
    if
    :: round[p] == r && vote[AT(p, n)] == SENT -> vote[AT(p, n)] = v
    :: round[p] == r && vote[AT(p, n)] == SENT_IN_VAIN -> vote[AT(p, n)] = NO_VOTE
    :: else
    fi
}
/* The script on node n executes the command of round r. */
inline execute(p, n, r) {
    if
    :: key[n] == p + 1 ->
#ifdef TRAP_raised_without_max
        fence[n] = number[p * 4 + r];
#endif
#ifndef TRAP_granted_again_without_raise
        if
        :: number[p * 4 + r] > fence[n] -> fence[n] = number[p * 4 + r]
        :: else
        fi;
#endif
        if
        :: r > prolonged[n] -> prolonged[n] = r
        :: else
        fi;
        note(p, n, r, GRANTED)
    :: key[n] != p + 1 && key[n] != 0 -> note(p, n, r, NO_VOTE)
#ifdef TRAP_fence_not_compared
    :: key[n] == 0 ->
#else
    :: key[n] == 0 && number[p * 4 + r] <= fence[n] -> note(p, n, r, STALE)
    :: key[n] == 0 && number[p * 4 + r] > fence[n] ->
#endif
        key[n] = p + 1;
        prolonged[n] = r;
        fence[n] = number[p * 4 + r];
        note(p, n, r, GRANTED)
    fi
}
inline execute_late() {
    i = key[late_node];
    execute((late - 1), late_node, late_round);
    assert(!late_released || key[late_node] == i);
    forget_late()
}
inline forget_numbers(p) {
    if
    :: late != p + 1 && ENDED(p) ->
        number[p * 4 + 1] = 0;
        number[p * 4 + 2] = 0;
        number[p * 4 + 3] = 0
    :: else
    fi
}
inline no_votes(p) {
    vote[AT(p, 0)] = NO_VOTE;
    vote[AT(p, 1)] = NO_VOTE;
    vote[AT(p, 2)] = NO_VOTE
}
/* Nodes differ in nothing but their state: those that are the same in another order are one state. */
#define SWAP(x, y) t = x; x = y; y = t
#define OF_NODE(n) (vote[n] + 5 * vote[N + n] + 25 * prolonged[n] + 100 * key[n] + 400 * fence[n] + \
    8000 * (quarantine[n] + 2 * (late && late_node == n) + 4 * waits[n]))
inline order(a, b) {
    if
    :: OF_NODE(a) > OF_NODE(b) ->
        SWAP(key[a], key[b]);
        SWAP(prolonged[a], prolonged[b]);
        SWAP(fence[a], fence[b]);
        SWAP(quarantine[a], quarantine[b]);
        SWAP(waits[a], waits[b]);
        SWAP(floor[a], floor[b]);
        SWAP(vote[a], vote[b]);
        SWAP(vote[N + a], vote[N + b]);
#if LEASES > 2
        SWAP(vote[2 * N + a], vote[2 * N + b]);
#endif
        if
        :: late && late_node == a -> late_node = b
        :: late && late_node == b -> late_node = a
        :: else
        fi;
        t = 0
    :: else
    fi
}
inline in_order() {
    order(0, 1);
    order(1, 2);
    order(0, 1);
    skip
}
inline forget_late() {
    i = late - 1;
    late = 0;
    late_round = 0;
    late_node = 0;
    late_released = false;
    forget_numbers(i);
    i = 0
}
inline see_fence(n) {
    if
    :: vote[AT(p, n)] == STALE && fence[n] > c -> c = fence[n]
    :: else
    fi
}
#define VOTES(p, v) ((vote[AT(p, 0)] == v) + (vote[AT(p, 1)] == v) + (vote[AT(p, 2)] == v))
#ifdef TRAP_validity_from_the_reply
#define VALID(p, r) true
#else
#define VALID(p, r) (alive & ROUND(p, r))
#endif

/* The release reaches node n: an owed one where a command of the lease may still be under way. */
inline release(p, n) {
    if
    :: key[n] == p + 1 -> key[n] = 0; prolonged[n] = 0
#ifdef TRAP_release_without_compare
    :: key[n] != p + 1 -> key[n] = 0; prolonged[n] = 0
#endif
    :: else
    fi;
    if
    :: late == p + 1 && late_node == n ->
        late_released = true;
#ifdef TRAP_owed_release_with_the_first_number
        raise(n, number[p * 4 + 1])
#else
#ifndef TRAP_owed_release_without_raise
        raise(n, number[p * 4 + 1]);
        raise(n, number[p * 4 + 2]);
        raise(n, number[p * 4 + 3])
#endif
#endif
    :: else
    fi
}
inline raise(n, c) {
    if
    :: c > fence[n] -> fence[n] = c
    :: else
    fi
}

#ifdef TRAP_release_without_compare
#define HAS_TO_RELEASE(p, n) key[n]
#else
#define HAS_TO_RELEASE(p, n) (key[n] == p + 1 || (late == p + 1 && late_node == n && !late_released))
#endif
#define ON_NODE(n) \
    :: d_step { PENDING(p, n) -> execute(p, n, round[p]); in_order() } \
    :: d_step { ENDED(p) && HAS_TO_RELEASE(p, n) -> release(p, n); in_order() }

active [LEASES] proctype lease() {
    byte i, c;
    short t;
    byte p = _pid;
    d_step { round[p] == 0 && (p == 0 || round[p - 1] > 0) }  /* leases differ in nothing but the order */
    atomic {
        select(c : 1 .. NUMBERS);
        d_step { draw(p, 1, c); send(p, 1); c = 0; in_order() }
    }
end: do
    ON_NODE(0)
    ON_NODE(1)
    ON_NODE(2)
    :: d_step { late == p + 1 -> execute_late(); in_order() }
    /* A quorum granted. */
    :: atomic { round[p] <= 2 && !counts[p] && VOTES(p, GRANTED) >= QUORUM && VALID(p, round[p]) ->
        stop_round(p);  /* late grants count for nothing */
        d_step {
        hold(p);
        counts[p] = round[p];
        lease_fence[p] = number[p * 4 + round[p]];
        assert(lease_fence[p] > last_fence);
        last_fence = lease_fence[p];
        no_votes(p);
        in_order()
        } }
    /* The second round, above every fence seen. */
    :: atomic { round[p] == 1 && !counts[p] && VOTES(p, STALE) > 0 &&
        VOTES(p, GRANTED) < QUORUM && VOTES(p, GRANTED) + VOTES(p, STALE) >= QUORUM ->
        stop_round(p);
        d_step {
            c = number[p * 4 + 1];
            see_fence(0);
            see_fence(1);
            see_fence(2);
            draw(p, 2, c + 1);
            send(p, 2);
            c = 0;
            in_order()
        } }
    /* The renewal carries a fresh number. */
    :: atomic { p < RENEWING && holding[p] && round[p] <= 2 ->
        stop_round(p);
        d_step {
            draw(p, RENEWAL, drawn + 1);
            send(p, RENEWAL);
            in_order()
        } }
#ifdef TRAP_renewal_revives
#define STILL_HOLDS true
#else
#define STILL_HOLDS holding[p]
#endif
    :: atomic { round[p] == RENEWAL && counts[p] < RENEWAL && VOTES(p, GRANTED) >= QUORUM &&
        VALID(p, RENEWAL) && STILL_HOLDS ->
        stop_round(p);
        d_step {
        if
        :: !holding[p] -> hold(p)
        :: else
        fi;
        counts[p] = RENEWAL;
        assert(lease_fence[p] == last_fence);
        no_votes(p);
        in_order()
        } }
    /* It gives up, or releases. */
    :: atomic { round[p] <= RENEWAL ->
        stop_round(p);
        d_step {
            let_go(p);
            round[p] = RENEWAL + 1;
            counts[p] = 0;
            lease_fence[p] = 0;
            alive = alive & ~(7 << (p * 3));  /* nobody relies on its keys any more */
            no_votes(p);
            forget_numbers(p);
            in_order()
        } }
    /* The validity of a round is over: the earlier one first. */
#define OVER(r) (alive & ROUND(p, r)) && (r == 1 || !(alive & ROUND(p, r - 1))) && (r < 3 || !(alive & ROUND(p, 1)))
#ifdef TRAP_validity_from_the_reply
#define LOST(r)
#else
#define LOST(r) if :: counts[p] == r -> let_go(p) :: else fi
#endif
    :: d_step { OVER(1) -> alive = alive & ~ROUND(p, 1); LOST(1); in_order() }
    :: d_step { OVER(2) -> alive = alive & ~ROUND(p, 2); LOST(2); in_order() }
    :: d_step { OVER(3) -> alive = alive & ~ROUND(p, 3); LOST(3); in_order() }
    od
}

/* The node loses its data: what was sent under the earlier epoch is refused from now on. */
inline lose(n) {
    losses++;
    key[n] = 0;
    prolonged[n] = 0;
    fence[n] = 0;
#ifndef TRAP_fence_zero_after_a_loss
    floor[n] = drawn;
#endif
#ifdef TRAP_no_quarantine
    raise(n, floor[n]);
    floor[n] = 0;
#else
    quarantine[n] = true;
#endif
    waits[n] = alive;
#ifndef TRAP_epoch_not_compared
    i = 0;
    do
    :: i < LEASES ->
        if
        :: PENDING(i, n) -> vote[AT(i, n)] = NO_VOTE
        :: else
        fi;
        i++
    :: else -> i = 0; break
    od;
    if
    :: late && late_node == n -> forget_late()
    :: else
    fi
#else
    late_released = late_released && late_node != n
#endif
}
#define EXPIRED(n) (key[n] && !(alive & ROUND(key[n] - 1, prolonged[n])))
#define NODE(n) \
    :: d_step { EXPIRED(n) -> key[n] = 0; prolonged[n] = 0; in_order() } \
    :: d_step { losses < LOSSES && !quarantine[0] && !quarantine[1] && !quarantine[2] -> lose(n); in_order() } \
    :: d_step { quarantine[n] && !(alive & waits[n]) -> quarantine[n] = false; waits[n] = 0; raise(n, floor[n]); floor[n] = 0; in_order() }

active proctype nodes() {
    byte i;
    short t;
end: do
    NODE(0)
    NODE(1)
    NODE(2)
    od
}
