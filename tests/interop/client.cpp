// Takes and gives back a redlock lease as parties.py says; knows no other program.
// SPDX-License-Identifier: MIT
#include <redlock/blocking_client.hpp>
#include <redlock/clock.hpp>
#include <redlock/config.hpp>

#include <chrono>
#include <iostream>
#include <sstream>
#include <string>
#include <thread>
#include <utility>

namespace {

using std::chrono::microseconds;
using std::chrono::nanoseconds;

void sleep_until(redlock::clock::time_point when) {
    std::this_thread::sleep_for(when - redlock::clock::now());
}

std::string contend(redlock::blocking_client& client, const std::string& name,
                    std::istringstream& terms) {
    long long begin = 0;
    long long end = 0;
    long long section = 0;
    terms >> begin >> end >> section;
    sleep_until(redlock::clock::time_point(nanoseconds(begin)));
    int turns = 0;
    while (redlock::clock::now() < redlock::clock::time_point(nanoseconds(end))) {
        auto got = client.acquire(name, {.wait = std::chrono::seconds(20)});
        if (!got) return "no " + got.error().message();
        std::this_thread::sleep_for(microseconds(section));
        ++turns;
        if (const auto done = client.release(std::move(*got)); !done) {
            return "no " + done.error().message();
        }
    }
    return "yes " + std::to_string(turns);
}

std::string answer(redlock::blocking_client& client, redlock::lease& held, const std::string& name,
                   const std::string& line) {
    if (line == "check") return held ? "yes" : "no";
    if (line == "release") {
        const auto done = client.release(std::move(held));
        return done ? "yes" : "no " + done.error().message();
    }
    std::istringstream terms(line);
    std::string verb;
    long long ttl = 0;
    long long wait = 0;
    terms >> verb;
    if (verb == "contend") return contend(client, name, terms);
    terms >> ttl >> wait;
    auto got = client.acquire(
        name, {.ttl = std::chrono::milliseconds(ttl), .wait = std::chrono::milliseconds(wait)});
    if (!got) return "no " + got.error().message();
    held = std::move(*got);
    return "yes " + std::to_string(held.fence());
}

}  // namespace

int main(int argc, char** argv) {
    if (argc != 3) {
        std::cerr << "usage: interop_client CONFIG RESOURCE\n";
        return 2;
    }
    redlock::blocking_client client(argv[1]);
    redlock::lease held;
    for (std::string line; std::getline(std::cin, line);) {
        std::cout << answer(client, held, argv[2], line) << std::endl;
    }
}
