#include "controller/cli/text/events.h"

#include <gtest/gtest.h>

namespace longshore::cli::text {
namespace {

TEST(EventsTable, HasTheEventsOfAllModelsInTheOrderOfTime) {
  const TimePoint now{std::chrono::seconds(1'800'000'000)};
  api::Model a;
  a.metadata.name = "a";
  a.status.history = {{now - std::chrono::seconds(90), 2, "Started", "1 -> 2"},
                      {now - std::chrono::seconds(10), 2, "Promoted", "It is better."}};
  api::Model b;
  b.metadata.name = "b";
  b.status.history = {{now - std::chrono::seconds(40), 7, "Started", "6 -> 7"}};
  EXPECT_EQ(EventsTable({a, b}, now),
            "AGO   NAMESPACE   MODEL   VERSION   WHAT       MESSAGE\n"
            "90s   default     a       2         Started    1 -> 2\n"
            "40s   default     b       7         Started    6 -> 7\n"
            "10s   default     a       2         Promoted   It is better.\n");
  EXPECT_EQ(EventsTable({}, now), "No events.\n");
}

}  // namespace
}  // namespace longshore::cli::text
