/* SPDX-License-Identifier: MIT */
/* The list of nodes changes while locks are held: records, numbers, closing, one-decree Paxos, joint
 * and plain programs, followers, nodes that lose their record.
 *
 * Four nodes, 0 to 3. The lists are sets: 0 is {0,1,2}, 1 is {0,1,3}, 2 is {0,2,3}. The first operator
 * changes 0 to 1; a second one another list at the same time (two operators), or the result (two
 * changes). Two programs start with any list at any time, old, joint or new, also overlooked ones or too
 * early; so no rule rests on the order of an operator's procedure.
 *
 * Every event is atomic at one node: an operator's promise, close, second look, write; a program's
 * handshake and vote together (the epoch, which each command names, makes that true); a follower's
 * change of a record; a record made for an empty node, after a look at all other nodes or all but one.
 * An operator may stop without end or go on at any later time. A program may start, and connect, between
 * any two of these.
 *
 * A program without the restart guard (UNGUARDED) reads a record when it connects, and at no later
 * time; so an operator lists the connections of a node behind its close, and ends those of other lists.
 *
 * Time is abstracted to the order of events: a lease or round ends at any time; a quarantine, and the
 * wait of a node that became a new set, end when all leases and rounds that were alive at its beginning
 * are over. A second loss begins when all that was alive at the first is over. The only node of a list
 * loses its record only while that list decides nothing: such a loss is one of a quorum.
 *
 * With INSTANT a program's round is one event at all its nodes; without it votes are collected one by
 * one. BALLOTS is the highest ballot that an operator begins.
 *
 * An answer of a node to a promise may be lost. An operator may also act as if it were: so it proposes its own list
 * where a majority that is closed for no other one promised.
 *
 * Left out: fences and queues (exclusive.pml), clocks and offsets, differing quarantines and ttl_max,
 * births but those by the new list, records of foreign sets, programs that read no record, other
 * libraries, more than two changes, more than four nodes. A node of another set costs a program nothing here but
 * that node's vote. Availability is not checked.
 *
 * Checked: at most one program holds at a time.
 *
 * RUN small one change: -DINSTANT -DBALLOTS=1
 * RUN small one change, one loss: -DINSTANT -DBALLOTS=1 -DLOSSES=1
 * RUN small from one node to two: -DINSTANT -DBALLOTS=1 -DSET0=1 -DSET1=3 -DLOSSES=1
 * RUN small from one node to another: -DINSTANT -DBALLOTS=1 -DSET0=1 -DSET1=2 -DLOSSES=1
 * RUN small from one node to three: -DINSTANT -DBALLOTS=1 -DSET0=1 -DSET1=7 -DLOSSES=1
 * RUN small from two nodes to two: -DINSTANT -DBALLOTS=1 -DSET0=3 -DSET1=5 -DLOSSES=2
 * RUN small from two nodes to three: -DINSTANT -DBALLOTS=1 -DSET0=3 -DSET1=7 -DLOSSES=1
 * RUN small from three nodes to one: -DINSTANT -DBALLOTS=1 -DSET0=7 -DSET1=1 -DLOSSES=1
 * RUN small from three nodes to two: -DINSTANT -DBALLOTS=1 -DSET0=7 -DSET1=9 -DLOSSES=1
 * RUN small one program without the guard: -DINSTANT -DBALLOTS=1 -DUNGUARDED=1
 * RUN small two programs without the guard: -DINSTANT -DBALLOTS=1 -DUNGUARDED=3
 * RUN small the way back: -DINSTANT -DOPERATORS=2 -DCHANGES=2 -DSECOND_OLD=1 -DSECOND_NEW=0 -DBALLOTS=2
 * RUN large two changes in a row: -DINSTANT -DOPERATORS=2 -DCHANGES=2 -DSECOND_OLD=1 -DSECOND_NEW=2 -DBALLOTS=2
 * RUN large one change, two losses: -DINSTANT -DBALLOTS=1 -DLOSSES=2
 * RUN large four nodes: -DINSTANT -DBALLOTS=1 -DSET0=15 -DSET1=7 -DLOSSES=2
 * RUN large programs without the guard, two operators: -DINSTANT -DOPERATORS=2 -DBALLOTS=2 -DUNGUARDED=3
 * RUN large one change, vote by vote: -DBALLOTS=1
 * RUN large one change, one loss, vote by vote: -DBALLOTS=1 -DLOSSES=1
 * RUN large two operators: -DINSTANT -DOPERATORS=2 -DBALLOTS=2
 * RUN large two operators, one loss: -DINSTANT -DOPERATORS=2 -DBALLOTS=2 -DLOSSES=1
 * RUN large a change is given up: -DINSTANT -DOPERATORS=2 -DBALLOTS=2 -DSECOND_OLD=0 -DSECOND_NEW=0
 * RUN large a change is given up, one loss: -DINSTANT -DOPERATORS=2 -DBALLOTS=2 -DSECOND_OLD=0 -DSECOND_NEW=0 -DLOSSES=1
 * RUN large the way back, one loss: -DINSTANT -DOPERATORS=2 -DCHANGES=2 -DSECOND_OLD=1 -DSECOND_NEW=0 -DBALLOTS=2 -DLOSSES=1
 * RUN large two changes in a row, one loss: -DINSTANT -DOPERATORS=2 -DCHANGES=2 -DSECOND_OLD=1 -DSECOND_NEW=2 -DBALLOTS=2 -DLOSSES=1
 * TRAP node_by_node: -DINSTANT -DBALLOTS=1
 * TRAP new_programs_count_at_once: -DINSTANT -DBALLOTS=1
 * TRAP one_closed_node_is_enough: -DINSTANT -DBALLOTS=1
 * TRAP old_majority_only: -DINSTANT -DBALLOTS=1
 * TRAP leaving_node_counts_for_the_new_list: -DINSTANT -DBALLOTS=1
 * TRAP renewals_pass_a_close: -DINSTANT -DBALLOTS=1
 * TRAP restart_forgets_the_close: -DINSTANT -DBALLOTS=1
 * TRAP record_of_an_empty_node_by_few: -DINSTANT -DBALLOTS=1 -DLOSSES=1
 * TRAP empty_nodes_count_as_read: -DINSTANT -DBALLOTS=1 -DLOSSES=2
 * TRAP empty_node_of_the_new_list_left: -DINSTANT -DBALLOTS=1 -DSET0=7 -DSET1=1 -DLOSSES=1
 * TRAP connections_not_listed_behind_the_close: -DINSTANT -DBALLOTS=1 -DUNGUARDED=1
 * TRAP unguarded_programs_count_at_once: -DINSTANT -DBALLOTS=1 -DUNGUARDED=1
 * TRAP closes_not_read_again: -DINSTANT -DBALLOTS=1 -DLOSSES=1
 * TRAP close_for_any_joint_list: -DINSTANT -DOPERATORS=2 -DBALLOTS=2
 * TRAP large close_without_its_promise: -DINSTANT -DOPERATORS=2 -DBALLOTS=2 -DSECOND_OLD=0 -DSECOND_NEW=0 -DLOSSES=1
 * TRAP large close_without_an_answer: -DINSTANT -DOPERATORS=2 -DBALLOTS=2 -DLOSSES=1
 * TRAP large promises_left_out: -DINSTANT -DOPERATORS=2 -DBALLOTS=2
 * TRAP overlooked_program_turns_others_back: -DINSTANT -DOPERATORS=2 -DCHANGES=2 -DSECOND_OLD=1 -DSECOND_NEW=0 -DBALLOTS=2
 * TRAP paused_commit_writes_over_a_later_change: -DINSTANT -DOPERATORS=2 -DCHANGES=2 -DSECOND_OLD=1 -DSECOND_NEW=0 -DBALLOTS=2
 * TRAP second_change_overwrites_the_instant: -DINSTANT -DOPERATORS=2 -DCHANGES=2 -DSECOND_OLD=1 -DSECOND_NEW=2 -DBALLOTS=2
 * TRAP large joining_record_without_a_look_at_the_new_list: -DINSTANT -DOPERATORS=2 -DCHANGES=2 -DSECOND_OLD=1 -DSECOND_NEW=0 -DBALLOTS=2 -DLOSSES=1
 */
#ifndef SET0
#define SET0 7       /* A B C */
#endif
#ifndef SET1
#define SET1 11      /* A B D */
#endif
#ifndef SET2
#define SET2 13      /* A C D */
#endif
#ifndef NODES
#define NODES 4
#endif
#ifndef OPERATORS
#define OPERATORS 1
#endif
#ifndef LOSSES
#define LOSSES 0
#endif
#ifndef BALLOTS
#define BALLOTS 2    /* the highest ballot that an operator begins */
#endif
#ifndef CHANGES
#define CHANGES 1
#endif
#ifndef UNGUARDED
#define UNGUARDED 0  /* programs without the restart guard, as a set */
#endif
#ifndef SECOND_OLD    /* the list of the second operator, S to U */
#define SECOND_OLD 0
#define SECOND_NEW 2
#endif
#define PROGRAMS 2

#define COUNT(m) (((m) & 1) + (((m) >> 1) & 1) + (((m) >> 2) & 1) + (((m) >> 3) & 1) + (((m) >> 4) & 1))
#define SET(s) ((s) == 0 -> SET0 : ((s) == 1 -> SET1 : SET2))
#define MAJORITY(votes, s) (2 * COUNT((votes) & SET(s)) > COUNT(SET(s)))
#define BIT(n) (1 << (n))
#define IN(n, s) (SET(s) & BIT(n))

#define EMPTY 0
#define MEMBER 1     /* of `set`, since number `number`, which followed `before` */
#define JOINING 2    /* `set`, which is not its own yet */
#define CLOSED 3     /* of `set`, closed for `next` under `accepted` */
byte state[NODES];
byte number[NODES];
byte set[NODES];
byte before[NODES];
byte next[NODES];
byte promised[NODES];
byte accepted[NODES];
byte quarantine[NODES];  /* what was alive when the record was made, and still is */
byte became[NODES];      /* what was alive when the node became `set`, and still is */
byte key[NODES];         /* 0, or the program + 1 */
byte losses, loss_wait;
bool begun;
bool committed;          /* an operator said that the new list stands */

byte old[PROGRAMS];      /* its list: joint where they differ */
byte new[PROGRAMS];
byte met[PROGRAMS];      /* the largest number */
byte votes[PROGRAMS];    /* of the round under way, which began with the first of them */
bool lease[PROGRAMS];
#if UNGUARDED
byte connected[PROGRAMS];    /* without the guard: to the nodes that fitted then */
byte first_look[PROGRAMS];   /* likewise: what was alive when it first met a changed list, and still is */
bool looked[PROGRAMS];
#define GUARDED(p) (!(UNGUARDED & (1 << (p))))
#else
#define GUARDED(p) true
#endif
/* Leases and rounds that are alive: two bits for each program. */
#define ALIVE (lease[0] | ((votes[0] != 0) << 1) | (lease[1] << 2) | ((votes[1] != 0) << 3))
#define LEASE(p) (1 << (2 * (p)))
#define ROUND(p) (2 << (2 * (p)))

#define JOINT(p) (old[p] != new[p])
#ifdef TRAP_new_programs_count_at_once
#define MAY_COUNT(p, n) true
#else
#define MAY_COUNT(p, n) (became[n] == 0 || !GUARDED(p))
#endif
#define BEHIND(p, n) (number[n] < met[p] && !(JOINT(p) && set[n] == old[p] && number[n] + 1 == met[p]))
#ifdef TRAP_close_for_any_joint_list
#define CLOSED_FOR(p, n) true
#else
#define CLOSED_FOR(p, n) (next[n] == new[p])
#endif
/* The record of node n fits the list of program p, and may vote for it now. */
#define FITS(p, n) (!BEHIND(p, n) && ( \
    (state[n] == MEMBER && set[n] == old[p] && IN(n, old[p]) && MAY_COUNT(p, n)) || \
    (state[n] == MEMBER && JOINT(p) && set[n] == new[p] && before[n] == old[p] && number[n] > 0) || \
    (state[n] == JOINING && JOINT(p) && set[n] == old[p] && IN(n, new[p])) || \
    (state[n] == CLOSED && next[n] == set[n] && set[n] == old[p] && IN(n, old[p])) || \
    (state[n] == CLOSED && JOINT(p) && set[n] == old[p] && CLOSED_FOR(p, n))))
#ifdef TRAP_renewals_pass_a_close
#define JUDGED(p, n) (FITS(p, n) || (lease[p] && key[n] == p + 1))
#else
#define JUDGED(p, n) FITS(p, n)
#endif
#if UNGUARDED
#define VOTES(p, n) ((GUARDED(p) && JUDGED(p, n) && quarantine[n] == 0) || \
    (!GUARDED(p) && (connected[p] & BIT(n)) && first_look[p] == 0))
#else
#define VOTES(p, n) (JUDGED(p, n) && quarantine[n] == 0)
#endif
#ifdef TRAP_old_majority_only
#define QUORUM_OF(p, m) MAJORITY(m, old[p])
#else
#ifdef TRAP_leaving_node_counts_for_the_new_list
#define QUORUM_OF(p, m) (MAJORITY(m, old[p]) && 2 * COUNT(m) > COUNT(SET(new[p])))
#else
#define QUORUM_OF(p, m) (MAJORITY(m, old[p]) && MAJORITY(m, new[p]))
#endif
#endif

/* Nothing waits any more for what is over. */
inline over(what) {
    i = 0;
    do
    :: i < NODES ->
        quarantine[i] = quarantine[i] & ~(what);
        became[i] = became[i] & ~(what);
        i++
    :: else -> i = 0; break
    od;
#if UNGUARDED
    first_look[0] = first_look[0] & ~(what);
    first_look[1] = first_look[1] & ~(what);
#endif
    loss_wait = loss_wait & ~(what)
}
#define PROMOTED(m, p) (((m) & ~(LEASE(p) | ROUND(p))) | (((m) & ROUND(p)) >> 1))
/* The round is the lease now. */
inline promote(p) {
    printf("program %d (%d to %d) HOLDS\n", p, old[p], new[p]);
    i = 0;
    do
    :: i < NODES ->
        quarantine[i] = PROMOTED(quarantine[i], p);
        became[i] = PROMOTED(became[i], p);
        i++
    :: else -> i = 0; break
    od;
#if UNGUARDED
    first_look[0] = PROMOTED(first_look[0], p);
    first_look[1] = PROMOTED(first_look[1], p);
#endif
    loss_wait = PROMOTED(loss_wait, p);
    lease[p] = true;
    drop_keys(p, votes[p]);
    votes[p] = 0
}
inline meet(p, n) {
    if
    :: state[n] != EMPTY && number[n] > met[p] ->
        met[p] = number[n];
        end_round(p)
    :: else
    fi
}
inline end_round(p) {
    if
    :: votes[p] && !lease[p] -> drop_keys(p, 0)
    :: else
    fi;
    votes[p] = 0;
    over(ROUND(p))
}
#define QUORUM(p) QUORUM_OF(p, votes[p])
inline drop_keys(p, kept) {
    i = 0;
    do
    :: i < NODES ->
        if
        :: key[i] == p + 1 && !((kept) & BIT(i)) -> key[i] = 0
        :: else
        fi;
        i++
    :: else -> i = 0; break
    od
}
inline ask(p, n) {
    meet(p, n);
    if
    :: VOTES(p, n) && (key[n] == 0 || key[n] == p + 1) ->
        key[n] = p + 1;
        printf("program %d (%d to %d): node %d grants\n", p, old[p], new[p], n);
        votes[p] = votes[p] | BIT(n)
    :: else
    fi
}
/* Node n becomes the list `s` with number `k`, after `b`. */
inline become(n, s, b, k, wait) {
    if
    :: state[n] == EMPTY -> quarantine[n] = ALIVE
    :: else
    fi;
    state[n] = MEMBER;
    set[n] = s;
    before[n] = b;
    number[n] = k;
    next[n] = 0;
    promised[n] = 0;
    accepted[n] = 0;
    became[n] = wait;
    printf("node %d is a member of set %d, number %d, after %d\n", n, s, number[n], b)
}
#define ALL ((1 << NODES) - 1)
/* Program p has met node m, whose history has the record of node n. */
#define KNOWS(p, m) (state[m] == MEMBER && (set[m] == new[p] || set[m] == old[p]))
#ifdef TRAP_overlooked_program_turns_others_back
#define LATER(m, n) (set[m] != set[n])
#else
#define LATER(m, n) (number[m] > number[n] && (number[m] > number[n] + 1 || before[m] == set[n]))
#endif
#define FOLLOWS(p, n, m) (state[n] != EMPTY && KNOWS(p, m) && LATER(m, n) && (IN(n, old[p]) || IN(n, new[p])))
inline follow(n, m) {
    printf("node %d follows node %d\n", n, m);
    if
    :: number[m] > number[n] + 1 -> quarantine[n] = ALIVE
    :: else
    fi;
    become(n, set[m], before[m], number[m], ALIVE)
}
#ifndef TRAP_record_of_an_empty_node_by_few
/* The others that answered meet every majority that the node was of, in each list that has it; of the
 * list that the latest record names, those that have a record. */
#ifdef TRAP_empty_nodes_count_as_read
#define READ_OF(seen, s) (seen)
#else
#define READ_OF(seen, s) ((s) == set[best] -> (seen) & with_record : (seen))
#endif
#define OTHERS(n, s) COUNT(SET(s) & ~BIT(n))
#define NEEDED(n, s) \
    (COUNT(SET(s)) - COUNT(SET(s)) / 2 < OTHERS(n, s) -> COUNT(SET(s)) - COUNT(SET(s)) / 2 : OTHERS(n, s))
#define ENOUGH_OF(n, seen, s) (!IN(n, s) || COUNT(READ_OF(seen, s) & SET(s) & ~BIT(n)) >= NEEDED(n, s))
#ifdef TRAP_joining_record_without_a_look_at_the_new_list
#define ENOUGH_SEEN(n, seen, s) ENOUGH_OF(n, seen, s)
#else
#define ENOUGH_SEEN(n, seen, s) (ENOUGH_OF(n, seen, s) && ENOUGH_OF(n, seen, old[p]) && ENOUGH_OF(n, seen, new[p]))
#endif
inline copy_promise(n, seen) {
    i = 0;
    do
    :: i < NODES ->
        if
        :: ((seen) & BIT(i)) && number[i] == number[n] && promised[i] > promised[n] -> promised[n] = promised[i]
        :: else
        fi;
        i++
    :: else -> i = 0; break
    od
}
#else
#define ENOUGH_SEEN(n, seen, s) true
#define copy_promise(n, seen) skip
#endif

/* Program p makes the record of the empty node n, after a look at the nodes in `seen`. */
inline make_record(p, n, seen) {
    best = NODES;
    joins = NODES;
    with_record = 0;
    printf("program %d makes the record of node %d, having seen %d\n", p, n, seen);
    i = 0;
    do
    :: i < NODES ->
        if
        :: ((seen) & BIT(i)) && i != n && (state[i] == MEMBER || state[i] == CLOSED) &&
            (best == NODES || number[i] > number[best] || (number[i] == number[best] &&
                state[i] == CLOSED && (state[best] != CLOSED || accepted[i] > accepted[best]))) -> best = i
        :: else
        fi;
        if
        :: ((seen) & BIT(i)) && state[i] != EMPTY -> with_record = with_record | BIT(i)
        :: else
        fi;
        if
        :: ((seen) & BIT(i)) && i != n && state[i] == JOINING -> joins = i
        :: else
        fi;
        i++
    :: else -> i = 0; break
    od;
    if
    :: best == NODES && joins < NODES && JOINT(p) && set[joins] == old[p] && IN(n, old[p]) &&
        COUNT(SET(old[p])) == 1 ->
        /* The only node of the old list: those that join it know which one that was. */
        best = joins;
        if
        :: ENOUGH_SEEN(n, seen, set[joins]) -> become(n, set[joins], before[joins], number[joins], 0)
        :: else
        fi
    :: best == NODES && !(joins < NODES && JOINT(p) && set[joins] == old[p] && IN(n, old[p]) &&
        COUNT(SET(old[p])) == 1) -> skip
    :: best < NODES && !ENOUGH_SEEN(n, seen, set[best]) -> skip
    :: else ->
        if
        :: state[best] == MEMBER && (set[best] == old[p] || set[best] == new[p]) ->
            if
            :: IN(n, set[best]) || (JOINT(p) && set[best] == new[p] && before[best] == old[p] && IN(n, old[p])) ->
                become(n, set[best], before[best], number[best], ALIVE);
                copy_promise(n, seen)
            :: else ->
                if
                :: JOINT(p) && set[best] == old[p] && IN(n, new[p]) ->
                    become(n, set[best], before[best], number[best], 0);
                    state[n] = JOINING
                :: else
                fi
            fi
        :: state[best] == CLOSED && set[best] == old[p] &&
            (next[best] == set[best] || (JOINT(p) && next[best] == new[p])) ->
            become(n, set[best], before[best], number[best], 0);
            if
            :: IN(n, old[p]) ->
                state[n] = CLOSED;
                next[n] = next[best];
                accepted[n] = accepted[best];
                copy_promise(n, seen)
            :: else -> state[n] = JOINING
            fi
        :: else
        fi
    fi;
    best = 0;
    joins = 0;
    with_record = 0
}
#define ON_NODE(n) \
    CONNECT(n) \
    ASK(n) \
    :: d_step { state[n] == EMPTY && (IN(n, old[p]) || IN(n, new[p])) -> make_record(p, n, ALL); skip } \
    ONE_AWAY(n, 0) ONE_AWAY(n, 1) ONE_AWAY(n, 2) ONE_AWAY(n, 3) \
    FOLLOW(n, 0) FOLLOW(n, 1) FOLLOW(n, 2) FOLLOW(n, 3)
#if UNGUARDED
#define CONNECT(n) \
    :: d_step { !GUARDED(p) && !(connected[p] & BIT(n)) && FITS(p, n) -> connect(p, n); skip }
inline connect(p, n) {
    printf("program %d (%d to %d): connects to node %d\n", p, old[p], new[p], n);
    meet(p, n);
    connected[p] = connected[p] | BIT(n);
    if
    :: number[n] > 0 && !JOINT(p) && !looked[p] ->
        looked[p] = true;
#ifndef TRAP_unguarded_programs_count_at_once
        first_look[p] = ALIVE
#endif
    :: else
    fi
}
#else
#define CONNECT(n)
#endif
#ifdef INSTANT
/* The whole round happens at one instant: a set of nodes that make a quorum grant it. */
#define GRANTS(n) (state[n] && VOTES(p, n) && (key[n] == 0 || key[n] == p + 1))
#define ASK(n)
#define TRY(m) \
    :: d_step { (!((m) & 1) || GRANTS(0)) && (!((m) & 2) || GRANTS(1)) && (!((m) & 4) || GRANTS(2)) && \
        (!((m) & 8) || GRANTS(3)) && QUORUM_OF(p, m) -> try(p, m); skip }
#define TRIES TRY(1) TRY(2) TRY(4) TRY(8) TRY(3) TRY(5) TRY(6) TRY(7) TRY(9) TRY(10) TRY(11) TRY(12) TRY(13) TRY(14) TRY(15)
inline try(p, m) {
    i = 0;
    do
    :: i < NODES ->
        if
        :: ((m) & BIT(i)) && number[i] > met[p] -> met[p] = number[i]
        :: else
        fi;
        i++
    :: else -> i = 0; break
    od;
    /* A node that is behind what others say has no vote. */
    if
    :: (!((m) & 1) || GRANTS(0)) && (!((m) & 2) || GRANTS(1)) && (!((m) & 4) || GRANTS(2)) &&
        (!((m) & 8) || GRANTS(3)) ->
        do
        :: i < NODES ->
            if
            :: (m) & BIT(i) -> key[i] = p + 1; printf("program %d (%d to %d): node %d grants\n", p, old[p], new[p], i)
            :: else
            fi;
            i++
        :: else -> i = 0; break
        od;
        votes[p] = m;
        over(LEASE(p));
        assert(!lease[1 - p]);
        promote(p)
    :: else
    fi
}
#else
#define TRIES
#define ASK(n) \
    :: d_step { !(votes[p] & BIT(n)) && (IN(n, old[p]) || IN(n, new[p])) && \
        ((VOTES(p, n) && (key[n] == 0 || key[n] == p + 1)) || \
         (state[n] && number[n] > met[p])) -> ask(p, n); skip }
#endif
#define ONE_AWAY(n, m) \
    :: d_step { n != m && state[n] == EMPTY && (IN(n, old[p]) || IN(n, new[p])) -> make_record(p, n, (ALL & ~BIT(m))); skip }
#define FOLLOW(n, m) \
    :: d_step { n != m && FOLLOWS(p, n, m) -> follow(n, m); skip }

inline stop(p) {
    printf("program %d stops\n", p);
    lease[p] = false;
    votes[p] = 0;
    met[p] = 0;
#if UNGUARDED
    connected[p] = 0;
    looked[p] = false;
    first_look[p] = 0;
#endif
    drop_keys(p, 0);
    over(LEASE(p) | ROUND(p))
}
/* The new list stands, and a program with it alone finds no record on any node of it. */
inline give_birth(p) {
    printf("program %d takes the nodes of set %d for new\n", p, old[p]);
    i = 0;
    do
    :: i < NODES ->
        if
        :: IN(i, old[p]) -> state[i] = MEMBER; set[i] = old[p]
        :: else
        fi;
        i++
    :: else -> i = 0; break
    od
}
#define IS_EMPTY(n, s) (!IN(n, s) || state[n] == EMPTY)
#define BIRTH \
    :: d_step { committed && !JOINT(p) && old[p] == 1 && IS_EMPTY(0, 1) && IS_EMPTY(1, 1) && IS_EMPTY(2, 1) && \
        IS_EMPTY(3, 1) -> give_birth(p); skip }

/* The program stops, by a release or a crash, and starts with a list. */
#define LIST(a, b) :: d_step { !(old[p] == a && new[p] == b && !lease[p] && !votes[p] && !met[p]) -> stop(p); old[p] = a; new[p] = b; printf("program %d starts with %d to %d\n", p, a, b) }

active [PROGRAMS] proctype program() {
    byte i, best, joins, with_record;
    byte p = _pid;
    begun;
end: do
    ON_NODE(0)
    ON_NODE(1)
    ON_NODE(2)
    ON_NODE(3)
    TRIES
    BIRTH
    /* A quorum: an acquire, or a renewal. */
    :: d_step { QUORUM(p) -> assert(!lease[1 - p]); promote(p) }
    :: d_step { lease[p] -> printf("program %d: lease over\n", p); lease[p] = false; drop_keys(p, votes[p]); over(LEASE(p)); skip }
    :: d_step { votes[p] -> printf("program %d: round over\n", p); end_round(p); skip }
    LIST(0, 0)
    LIST(0, 1)
    LIST(1, 1)
#if CHANGES > 1 || OPERATORS > 1
    LIST(SECOND_OLD, SECOND_NEW)
#if SECOND_NEW > 1
    LIST(SECOND_NEW, SECOND_NEW)
#endif
#endif
    od
}

byte op_old[OPERATORS], op_new[OPERATORS], op_number[OPERATORS], op_ballot[OPERATORS];
byte op_phase[OPERATORS];     /* 0: idle; 1: promises; 2: closes; 4: reads again; 3: writes */
byte op_value[OPERATORS], op_seen[OPERATORS], op_promises[OPERATORS], op_closed[OPERATORS];
#if UNGUARDED
byte op_listed[OPERATORS];    /* behind the close */
#ifdef TRAP_connections_not_listed_behind_the_close
#define LISTED(o) ALL
#else
#define LISTED(o) op_listed[o]
#endif
#define LIST_CONNECTIONS(n) \
    :: d_step { op_phase[o] == 2 && (op_closed[o] & BIT(n)) && !(op_listed[o] & BIT(n)) -> \
        list_connections(o, n); skip }
inline list_connections(o, n) {
    printf("operator %d: lists the connections of node %d, and ends those of other lists\n", o, n);
    op_listed[o] = op_listed[o] | BIT(n);
    end_connection(o, n, 0);
    end_connection(o, n, 1)
}
inline end_connection(o, n, q) {
    if
    :: !(old[q] == op_old[o] && new[q] == op_value[o]) -> connected[q] = connected[q] & ~BIT(n)
    :: else
    fi
}
#else
#define LISTED(o) ALL
#define LIST_CONNECTIONS(n)
#endif

#define ITS_SET(o, n) (number[n] == op_number[o] && set[n] == op_old[o] && IN(n, op_old[o]) && \
    (state[n] == MEMBER || state[n] == CLOSED))
#ifdef TRAP_second_change_overwrites_the_instant
#define MAY_CLOSE(n) true
#else
#define MAY_CLOSE(n) (became[n] == 0)
#endif
inline promise(o, n) {
    printf("operator %d: node %d promises ballot %d\n", o, n, op_ballot[o]);
    promised[n] = op_ballot[o];
    op_promises[o] = op_promises[o] | BIT(n);
    if
    :: state[n] == CLOSED && accepted[n] > op_seen[o] -> op_seen[o] = accepted[n]; op_value[o] = next[n]
    :: else
    fi
}
inline close(o, n) {
    printf("operator %d: node %d closes for set %d, ballot %d\n", o, n, op_value[o], op_ballot[o]);
    state[n] = CLOSED;
    next[n] = op_value[o];
    promised[n] = op_ballot[o];
    accepted[n] = op_ballot[o];
    op_closed[o] = op_closed[o] | BIT(n)
}
#ifdef TRAP_one_closed_node_is_enough
#define DECIDED(o) (op_closed[o] != 0)
#else
#define DECIDED(o) MAJORITY(op_closed[o] & LISTED(o), op_old[o])
#endif
#ifdef TRAP_promises_left_out
#define PROMISED_ENOUGH(o) true
#define MAY_ACCEPT(o, n) (promised[n] <= op_ballot[o])
#else
#define PROMISED_ENOUGH(o) MAJORITY(op_promises[o], op_old[o])
#ifdef TRAP_close_without_its_promise
#define MAY_ACCEPT(o, n) (promised[n] <= op_ballot[o])
#else
/* The node still has the promise: one that lost its record may have promised a higher ballot. And its
 * answer arrived: what a node is closed for would count for nothing where that is lost. */
#ifdef TRAP_close_without_an_answer
#define MAY_ACCEPT(o, n) (promised[n] == op_ballot[o])
#else
#define MAY_ACCEPT(o, n) (promised[n] == op_ballot[o] && (op_promises[o] & BIT(n)))
#endif
#endif
#endif
#ifdef TRAP_paused_commit_writes_over_a_later_change
#define UNCHANGED(o, n) true
#else
#define UNCHANGED(o, n) (number[n] == op_number[o] && set[n] == op_old[o])
#endif
/* Every node queried has answered, and each node of the list that stands has a record of it. */
#ifdef TRAP_empty_node_of_the_new_list_left
#define HAS_RECORD(n) (!IN(n, op_value[o]) || state[n] == EMPTY || set[n] == op_value[o])
#else
#define HAS_RECORD(n) (!IN(n, op_value[o]) || (state[n] == MEMBER && set[n] == op_value[o]))
#endif
/* It is requested once under a ballot, whatever the node loses since. */
#define MAY_PROMISE(o, n) \
    (ITS_SET(o, n) && MAY_CLOSE(n) && promised[n] < op_ballot[o] && !(op_promises[o] & BIT(n)))
#define AT_NODE(n) \
    LIST_CONNECTIONS(n) \
    :: d_step { op_phase[o] == 1 && MAY_PROMISE(o, n) -> promise(o, n); skip } \
    :: d_step { op_phase[o] == 1 && MAY_PROMISE(o, n) -> \
        promised[n] = op_ballot[o]; printf("operator %d: node %d promises ballot %d, and the answer is lost\n", o, n, op_ballot[o]) } \
    :: d_step { op_phase[o] == 2 && ITS_SET(o, n) && MAY_CLOSE(n) && MAY_ACCEPT(o, n) && !(op_closed[o] & BIT(n)) -> close(o, n) } \
    :: d_step { op_phase[o] == 4 && ITS_SET(o, n) && state[n] == CLOSED && accepted[n] == op_ballot[o] && \
        !(op_closed[o] & BIT(n)) -> op_closed[o] = op_closed[o] | BIT(n); \
        printf("operator %d: node %d is still closed\n", o, n) } \
    :: d_step { op_phase[o] == 3 && state[n] != EMPTY && UNCHANGED(o, n) && (IN(n, op_old[o]) || IN(n, op_value[o])) -> \
        become(n, op_value[o], op_old[o], op_number[o] + 1, (op_value[o] == op_old[o] -> 0 : ALIVE)); skip }

inline begin(o, k) {
    op_number[o] = k;
    op_phase[o] = 1;
    op_value[o] = op_new[o];
    op_seen[o] = 0;
    op_promises[o] = 0;
#if UNGUARDED
    op_listed[o] = 0;
#endif
    op_closed[o] = 0
}
active [OPERATORS] proctype operator() {
    byte i;
    byte o = _pid - PROGRAMS;
    d_step { begun ->
        op_old[o] = 0;
        op_new[o] = 1;
        if
        :: o == 1 -> op_old[o] = SECOND_OLD; op_new[o] = SECOND_NEW
        :: else
        fi;
        op_ballot[o] = o + 1
    }
    atomic {
        if
        :: d_step { set[0] == op_old[o] && state[0] != EMPTY && state[0] != JOINING && IN(0, op_old[o]) -> begin(o, number[0]) }
        :: d_step { set[1] == op_old[o] && state[1] != EMPTY && state[1] != JOINING && IN(1, op_old[o]) -> begin(o, number[1]) }
        :: d_step { set[2] == op_old[o] && state[2] != EMPTY && state[2] != JOINING && IN(2, op_old[o]) -> begin(o, number[2]) }
        :: d_step { set[3] == op_old[o] && state[3] != EMPTY && state[3] != JOINING && IN(3, op_old[o]) -> begin(o, number[3]) }
        fi
    }
end: do
    AT_NODE(0)
    AT_NODE(1)
    AT_NODE(2)
    AT_NODE(3)
    :: d_step { op_phase[o] == 1 && PROMISED_ENOUGH(o) -> op_phase[o] = 2; op_seen[o] = 0 }
#ifdef TRAP_closes_not_read_again
    :: d_step { op_phase[o] == 2 && DECIDED(o) -> op_phase[o] = 3; op_closed[o] = 0; op_promises[o] = 0 }
#else
    :: d_step { op_phase[o] == 2 && DECIDED(o) -> op_phase[o] = 4; op_closed[o] = 0; op_promises[o] = 0 }
    :: d_step { op_phase[o] == 4 && DECIDED(o) -> op_phase[o] = 3; op_closed[o] = 0; op_promises[o] = 0 }
#endif
    :: d_step { op_phase[o] == 3 && !committed && op_value[o] == 1 && HAS_RECORD(0) && HAS_RECORD(1) && HAS_RECORD(2) &&
        HAS_RECORD(3) -> committed = true; printf("operator %d: the new list stands\n", o) }
#ifdef TRAP_node_by_node
    :: d_step { op_phase[o] == 1 -> op_phase[o] = 3; op_promises[o] = 0 }
#endif
    /* It begins again with a higher ballot. */
    :: d_step { (op_phase[o] == 1 || op_phase[o] == 2 || op_phase[o] == 4) && op_ballot[o] + OPERATORS <= BALLOTS ->
        op_ballot[o] = op_ballot[o] + OPERATORS;
        begin(o, op_number[o]) }
    od
}

inline lose(n) {
    printf("node %d loses its record\n", n);
    losses++;
    loss_wait = ALIVE;
    state[n] = EMPTY;
    number[n] = 0;
    set[n] = 0;
    before[n] = 0;
    next[n] = 0;
    promised[n] = 0;
    accepted[n] = 0;
    quarantine[n] = 0;
    became[n] = 0;
    key[n] = 0
}
/* The only node of a list is a quorum of it. */
#define IS_ALONE(n, s) (SET(s) == BIT(n))
#define DECIDES(n) \
    ((IS_ALONE(n, 0) && op_phase[0] > 1) || (IS_ALONE(n, 1) && (op_phase[0] == 3 || committed)))
#define LOSS(n) \
    :: d_step { losses < LOSSES && loss_wait == 0 && state[n] != EMPTY && !DECIDES(n) -> lose(n) }
#ifdef TRAP_restart_forgets_the_close
#define RESTART(n) :: d_step { state[n] == CLOSED -> state[n] = MEMBER; next[n] = 0; accepted[n] = 0; promised[n] = 0 }
#else
#define RESTART(n)
#endif
active proctype world() {
    byte i;
    d_step {
        do
        :: i < NODES -> state[i] = (IN(i, 0) -> MEMBER : EMPTY); i++
        :: else -> i = 0; break
        od;
        begun = true
    }
end: do
    LOSS(0)
    LOSS(1)
    LOSS(2)
    LOSS(3)
    RESTART(0)
    RESTART(1)
    RESTART(2)
    RESTART(3)
    od
}
