#include "common/metrics/series.h"

#include <gmock/gmock.h>

#include <atomic>
#include <string>

namespace longshore::metrics {
namespace {

struct Count {
  std::atomic<int> number{0};
  void Add(const Count& other) { number += other.number; }
};
using Counts = Series<std::string, Count>;

std::map<std::string, int> Read(const Counts& counts) {
  std::map<std::string, int> read;
  counts.ForEach([&](const std::string& key, const Count& count) { read[key] = count.number; });
  return read;
}

void Add(Counts& counts, const std::string& key) {
  counts.With(key, [](Count& count) { ++count.number; });
}

using Expected = std::map<std::string, int>;

TEST(Series, SharesOneValueAmongKeysAboveTheLimit) {
  Counts counts(2, "other");
  for (const char* key : {"a", "b", "c", "d", "a"}) Add(counts, key);
  EXPECT_EQ(Read(counts), (Expected{{"a", 2}, {"b", 1}, {"other", 2}}));
  EXPECT_TRUE(counts.Has("b"));
  EXPECT_FALSE(counts.Has("c"));
}

TEST(Series, AddsAMovedValueToThatOfTheNewKey) {
  Counts counts(10, "other");
  for (const char* key : {"a1", "a2", "b1", "a2"}) Add(counts, key);
  counts.Move([](std::string* key) {
    if (key->front() != 'a' || *key == "a") return false;
    *key = "a";
    return true;
  });
  EXPECT_EQ(Read(counts), (Expected{{"a", 3}, {"b1", 1}}));
  Add(counts, "a2");
  EXPECT_EQ(Read(counts), (Expected{{"a", 3}, {"a2", 1}, {"b1", 1}}));
}

}  // namespace
}  // namespace longshore::metrics
