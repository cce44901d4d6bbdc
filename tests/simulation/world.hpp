// One simulated world from beginning to end: the parts put together, the faults carried out, the
// peace after them; decides nothing about locks.
// SPDX-License-Identifier: MIT
#pragma once

#include "simulation/foreigner.hpp"
#include "simulation/health.hpp"
#include "simulation/network.hpp"
#include "simulation/plan.hpp"
#include "simulation/program.hpp"
#include "simulation/lease_checker.hpp"
#include "simulation/schedule.hpp"
#include "simulation/server.hpp"
#include "simulation/story.hpp"
#include "simulation/vacancy_checker.hpp"

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace redlock::simulation {

struct outcome {
    std::optional<violation> broken;
    counters counts;
    duration lasted{};
};

class world {
public:
    world(const plan& in, story& log);
    ~world();
    world(const world&) = delete;
    world& operator=(const world&) = delete;

    /// Until the first promise is broken, or the end.
    outcome run();

private:
    void run_until(time_point limit);
    void begin(const fault& f);
    void end(const fault& f);
    void befall(const fault& f, bool is_end);
    void lose_locks(const fault& f);
    void make_peace();
    void prove_alive();
    void lend_to_foreigner(duration how_long);
    void heal();
    /// `may_be_dead`: also what the dead and the foreign have left must be gone by now.
    void check_litter(const char* when, bool may_be_dead);
    void check_left(server& on, std::size_t node, const std::string& key, const char* when,
                    bool may_be_dead, std::int64_t now_ms);
    void start(std::size_t program);
    void watch_office();
    void watch_bursts();
    template <class F>
    void each_server(const fault& f, F&& what);
    template <class F>
    void each_program(const fault& f, F&& what);

    const plan* plan_;
    story* story_;
    schedule when_;
    counters counts_;
    lease_checker referee_;
    std::vector<std::unique_ptr<server>> servers_;
    network net_;
    health health_;
    token_box tokens_;
    std::vector<std::unique_ptr<program>> programs_;
    std::vector<std::unique_ptr<foreigner>> foreigners_;
    std::optional<vacancy_checker> vacancies_;  // where there are elections
    bool was_won_ = true;                       // the last burst
    std::vector<const fault*> going_on_;  // begun and not ended
};

}  // namespace redlock::simulation
