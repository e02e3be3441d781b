#include "serving-node/batching/company.h"

#include <gtest/gtest.h>

namespace longshore::batching {
namespace {

using std::chrono::milliseconds;

constexpr int64_t kRowBytes = 4;
const TimePoint kNow{std::chrono::hours(1)};

// Guests by rows and milliseconds left; runs of 1 row take 10 ms, of 8 rows 80 ms.
struct Case {
  std::string about;
  std::vector<std::pair<int64_t, int>> guests;
  bool cut;
  std::vector<size_t> run;
  std::vector<size_t> hopeless;
};

std::vector<Case> Cases() {
  return {
      {"All who fit, in the order of their turns.", {{3, 900}, {4, 900}, {2, 900}, {1, 900}}, true, {0, 1}, {}},
      {"One alone runs, whatever its mates would take.", {{1, 11}}, false, {0}, {}},
      {"One that is too late even alone.", {{1, 10}, {1, 900}}, false, {1}, {0}},
      {"What is known of 8 rows says nothing against 7 alone.", {{7, 11}}, false, {0}, {}},
      {"All are too late.", {{8, 70}, {1, 5}}, true, {}, {0, 1}},
      {"Cut: who is in a hurry, and those it bears.", {{5, 900}, {1, 30}, {1, 900}, {1, 900}}, true, {1, 2}, {}},
      {"Not cut: those who can bear the whole.", {{5, 900}, {1, 30}, {1, 900}, {1, 900}}, false, {0, 2, 3}, {}},
      {"Not cut: others take the free places.", {{5, 900}, {3, 30}, {2, 900}}, false, {0, 2}, {}},
      {"All are in a hurry.", {{4, 50}, {4, 50}}, false, {0}, {}},
      {"Who leaves because it is hopeless makes the batch short enough.", {{7, 75}, {1, 9}}, false, {0}, {1}},
  };
}

TEST(Company, IsChosenByWhatItCanBear) {
  Forecast forecast;
  forecast.Note("s", kRowBytes, milliseconds(10), kNow);
  forecast.Note("s", 8 * kRowBytes, milliseconds(80), kNow);
  const std::vector<int> unpadded;
  const std::string signature = "s";
  for (const Case& one : Cases()) {
    SCOPED_TRACE(one.about);
    std::vector<Guest> guests;
    for (const auto& [rows, left] : one.guests) guests.push_back({rows, rows * kRowBytes, milliseconds(left)});
    const Company company = Choose(guests, 8, Costs(forecast, signature, unpadded, kNow), one.cut);
    EXPECT_EQ(company.run, one.run);
    EXPECT_EQ(company.hopeless, one.hopeless);
  }
}

TEST(Company, CountsThePadding) {
  Forecast forecast;
  forecast.Note("s", 8 * kRowBytes, milliseconds(80), kNow);
  const std::vector<int> allowed = {8};
  const std::string signature = "s";
  const std::vector<Guest> guests = {{1, kRowBytes, milliseconds(70)}};
  EXPECT_EQ(Choose(guests, 8, Costs(forecast, signature, allowed, kNow), true).hopeless, std::vector<size_t>{0});
}

}  // namespace
}  // namespace longshore::batching
