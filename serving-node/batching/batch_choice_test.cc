#include "serving-node/batching/batch_choice.h"

#include <gtest/gtest.h>

namespace longshore::batching {
namespace {

using std::chrono::milliseconds;

constexpr int64_t kRowBytes = 4;
const TimePoint kNow{std::chrono::hours(1)};

// Requests are given by rows and milliseconds until the deadline; a run of 1 row takes 10 ms, one of 8 rows 80 ms.
struct Case {
  std::string about;
  std::vector<std::pair<int64_t, int>> requests;
  bool urgent_first;
  std::vector<size_t> run;
  std::vector<size_t> too_late;
};

std::vector<Case> Cases() {
  return {
      {"The first requests that fit run, in queue order.", {{3, 900}, {4, 900}, {2, 900}, {1, 900}}, true, {0, 1}, {}},
      {"A single request that is in time alone runs.", {{1, 11}}, false, {0}, {}},
      {"A request that is too late even alone is dropped.", {{1, 10}, {1, 900}}, false, {1}, {0}},
      {"The run time of 8 rows does not rule out 7 rows.", {{7, 11}}, false, {0}, {}},
      {"All requests are too late.", {{8, 70}, {1, 5}}, true, {}, {0, 1}},
      {"Urgent first: the urgent request runs with those that keep it in time.",
       {{5, 900}, {1, 30}, {1, 900}, {1, 900}},
       true,
       {1, 2},
       {}},
      {"Patient first: the requests that tolerate the whole batch run.",
       {{5, 900}, {1, 30}, {1, 900}, {1, 900}},
       false,
       {0, 2, 3},
       {}},
      {"Patient first: later requests take the free rows.", {{5, 900}, {3, 30}, {2, 900}}, false, {0, 2}, {}},
      {"All requests are urgent: the first one runs.", {{4, 50}, {4, 50}}, false, {0}, {}},
      {"Without the request that is too late, the batch is short enough.", {{7, 75}, {1, 9}}, false, {0}, {1}},
  };
}

TEST(BatchChoice, KeepsTheRequestsOfABatchInTime) {
  Forecast forecast;
  forecast.Record("s", kRowBytes, milliseconds(10), kNow);
  forecast.Record("s", 8 * kRowBytes, milliseconds(80), kNow);
  const std::vector<int> unpadded;
  const std::string signature = "s";
  for (const Case& one : Cases()) {
    SCOPED_TRACE(one.about);
    std::vector<QueuedRequest> requests;
    for (const auto& [rows, left] : one.requests) requests.push_back({rows, rows * kRowBytes, milliseconds(left)});
    const BatchChoice choice = ChooseBatch(requests, 8, Costs(forecast, signature, unpadded, kNow), one.urgent_first);
    EXPECT_EQ(choice.run, one.run);
    EXPECT_EQ(choice.too_late, one.too_late);
  }
}

TEST(BatchChoice, IncludesPaddingInTheCost) {
  Forecast forecast;
  forecast.Record("s", 8 * kRowBytes, milliseconds(80), kNow);
  const std::vector<int> allowed = {8};
  const std::string signature = "s";
  const std::vector<QueuedRequest> requests = {{1, kRowBytes, milliseconds(70)}};
  EXPECT_EQ(ChooseBatch(requests, 8, Costs(forecast, signature, allowed, kNow), true).too_late, std::vector<size_t>{0});
}

}  // namespace
}  // namespace longshore::batching
