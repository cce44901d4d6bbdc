// What takes the place of a usual world now and then, and how such a world begins; knows no machine of
// the product.
// SPDX-License-Identifier: MIT
#pragma once

#include "simulation/chance.hpp"
#include "simulation/plan.hpp"

#include <cstddef>
#include <cstdint>

namespace redlock::simulation {

/// Nobody is there yet, nothing befalls it, and no message takes longer than others.
void clear(plan& out, std::size_t resources);
/// Three nodes or more, near each other, whose clocks differ by `apart` at most.
void bring_near(plan& out, duration farthest = milliseconds(1), duration apart = milliseconds(1'000));
/// Three nodes, of which all clocks but the last are right: that one is ahead by so much.
void set_last_ahead(plan& out, duration by, duration farthest);
/// A program with a clock of its own.
program_plan& add_program(plan& out, chance& dice, duration begins);
/// These programs from those nodes, from then on.
void cut_off(plan& out, std::uint32_t programs, duration at, std::uint32_t nodes);

/// Each takes an early instant of its choice to begin at.
inline program_plan& add_program(plan& out, chance& dice) {
    return add_program(out, dice, dice.between(milliseconds(0), milliseconds(50)));
}

/// While no program runs some clocks move, and no client compares them. The program that starts then
/// must write all records by one cluster time: later two programs that see other nodes go on from
/// these records.
void draw_absence(plan& out, chance& dice);
/// Each program may make a record on some of the nodes first; all but one take theirs back, and that
/// one opens the cluster.
void draw_newcomers(plan& out, chance& dice);
/// Nodes and a program stand still for moments that must cost no vote.
void draw_stalls(plan& out, chance& dice);
/// A release that finds no key on a replica deletes nothing and cannot raise the fence: the client
/// must send it again, or the acquire takes the key once the node is a master.
void draw_replicas(plan& out, chance& dice);
/// A client must send a refused release again: otherwise the key outlives the refusals by so much
/// that the node counts as well again.
void draw_refusals(plan& out, chance& dice);
/// What a command of a broken connection takes must be given back: the release that came before it
/// has to raise the fence, also on a replica, and so again.
void draw_late_commands(plan& out, chance& dice);
/// A program whose leases keep others out for a while stands still now and then while a grant is on
/// its way to it, and is killed soon after. Another tries to get the same lock all the time.
void draw_late_grants(plan& out, chance& dice);
/// A program that followed clocks that are ahead waits for a lock in line with others that take it
/// in turns all the time: it gets its turn like they do.
void draw_tickets(plan& out, chance& dice);
/// A program that takes over a lease which keeps others out follows clocks that are ahead, gives it
/// back at once, and a third tries to get the lock all the time.
void draw_tokens_ahead(plan& out, chance& dice);
/// A program asks for leases that are longer than the ttl_max which the nodes have on record, while
/// one of them does not see it. Two quorums share one node, which forgets; and a program with the
/// smaller ttl_max sees that one and the node that never knew of the longer leases.
void draw_ttl_maxes(plan& out, chance& dice);
/// Two quorums share one node. It is run without its append-only file for a while, and in this life
/// it grants a lock to a program; then it is run with that file again, and another program asks it.
void draw_other_files(plan& out, chance& dice);
/// A keeper renews its lease by a quorum, and is then cut off from one node of it. Something befalls
/// the memory of that node, and a rival comes that sees it and those nodes that never knew of the
/// keeper: two hold the lock if the node votes. No client but those drawn here can know that it must
/// not.
void draw_shared_node(plan& out, chance& dice);
/// While no program runs nodes lose their data, and an operator declares all of them new, as
/// `redlock init` does; or none loses any, and no program has compared their clocks yet. Then one of
/// them hangs, and a program begins: it is never refused for lack of votes.
void draw_first_tries(plan& out, chance& dice);
/// A fence that is far ahead was written by hand on one node, or into tokens that are used. An
/// operator takes the resource from its holders now and then. The other nodes grant it all the same.
void draw_wrong_fences(plan& out, chance& dice);

}  // namespace redlock::simulation
