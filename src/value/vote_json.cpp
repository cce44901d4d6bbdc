// The JSON of votes and of error codes.
// SPDX-License-Identifier: MIT
#include "value/vote_json.hpp"

#include "value/text.hpp"

namespace redlock::text {

void add_error(json_object& to, const error_code& error) {
    if (!error) return;
    json_object out;
    out.add("category", error.category().name());
    out.add("value", error.value());
    out.add("message", error.message());
    to.add_raw("error", out.close());
}

std::string json_of_vote(const node_vote& v) {
    json_object out;
    out.add("node", v.node.view());
    out.add("answer", to_string(v.answer));
    out.add("cause", cause(v));
    out.add("elapsed_us", v.elapsed.count());
    add_error(out, v.error);
    out.add_filled("resource", v.resource);
    if (v.retry_in.count() != 0) out.add("retry_in_ms", v.retry_in.count());
    if (v.fence != 0) out.add("fence", static_cast<std::int64_t>(v.fence));
    return out.close();
}

}  // namespace redlock::text
