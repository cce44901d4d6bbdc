// Includes every public header of the library; declares nothing itself.
// SPDX-License-Identifier: MIT
#pragma once

#include <redlock/async_election.hpp>
#include <redlock/async_rate_limiter.hpp>
#include <redlock/async_semaphore.hpp>
#include <redlock/async_with_lock.hpp>
#include <redlock/blocking_client.hpp>
#include <redlock/client.hpp>
#include <redlock/clock.hpp>
#include <redlock/config.hpp>
#include <redlock/counting_semaphore.hpp>
#include <redlock/election.hpp>
#include <redlock/error.hpp>
#include <redlock/event.hpp>
#include <redlock/export.hpp>
#include <redlock/guard.hpp>
#include <redlock/leader_info.hpp>
#include <redlock/lease.hpp>
#include <redlock/limit_answer.hpp>
#include <redlock/loss.hpp>
#include <redlock/mutex.hpp>
#include <redlock/node_report.hpp>
#include <redlock/options.hpp>
#include <redlock/owner_id.hpp>
#include <redlock/rate_limiter.hpp>
#include <redlock/recursive_mutex.hpp>
#include <redlock/refusal.hpp>
#include <redlock/resource_list.hpp>
#include <redlock/resource_state.hpp>
#include <redlock/result.hpp>
#include <redlock/shared_mutex.hpp>
#include <redlock/span.hpp>
#include <redlock/stats.hpp>
#include <redlock/version.hpp>
#include <redlock/vote.hpp>
#include <redlock/with_lock.hpp>
