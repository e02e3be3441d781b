#include "controller/cli/logs/lines.h"

#include <gtest/gtest.h>

#include <sstream>

#include "controller/api/units.h"
#include "controller/cli/logs/printer.h"

namespace longshore::cli::logs {
namespace {

constexpr std::string_view kLog =
    "2026-11-21T05:00:00.000Z I longshore-node: started\n"
    "2026-11-21T05:10:00.000Z W longshore-node: slow\n"
    "terminate called\n"
    "2026-11-21T05:20:00.000Z I longshore-node: left\n";
const TimePoint kNow = api::ParseTime("2026-11-21T05:20:30.000Z").value();

TEST(Lines, AreAllWithoutLimits) { EXPECT_EQ(SelectLines(kLog, {}, kNow), kLog); }

TEST(Lines, TailCountsFromTheEnd) {
  EXPECT_EQ(SelectLines(kLog, {.tail = 2, .since = {}}, kNow), kLog.substr(kLog.find("terminate")));
  EXPECT_EQ(SelectLines("a\nb", {.tail = 1, .since = {}}, kNow), "b");
  EXPECT_EQ(SelectLines(kLog, {.tail = 4, .since = {}}, kNow), kLog);
  EXPECT_EQ(SelectLines(kLog, {.tail = 100, .since = {}}, kNow), kLog);
  EXPECT_EQ(SelectLines(kLog, {.tail = 0, .since = {}}, kNow), "");
  EXPECT_EQ(SelectLines("", {.tail = 3, .since = {}}, kNow), "");
}

TEST(Lines, ALineWithoutATimeIsAsOldAsTheLineBefore) {
  EXPECT_EQ(SelectLines(kLog, {.tail = {}, .since = std::chrono::minutes(11)}, kNow),
            kLog.substr(kLog.find("2026-11-21T05:10")));
  EXPECT_EQ(SelectLines(kLog, {.tail = {}, .since = std::chrono::minutes(1)}, kNow),
            kLog.substr(kLog.find("2026-11-21T05:20")));
  EXPECT_EQ(SelectLines(kLog, {.tail = {}, .since = std::chrono::seconds(1)}, kNow), "");
  EXPECT_EQ(SelectLines(kLog, {.tail = 1, .since = std::chrono::minutes(11)}, kNow),
            kLog.substr(kLog.find("2026-11-21T05:20")));
}

TEST(Printer, PrintsOnlyWholeLinesWithTheirPrefix) {
  std::ostringstream out;
  std::mutex mutex;
  Printer a(out, mutex, "[a] ");
  Printer b(out, mutex, "[b] ");
  a.Print("one\ntw");
  b.Print("three\n");
  a.Print("o\n\n");
  b.Print("end");
  b.End();
  EXPECT_EQ(out.str(), "[a] one\n[b] three\n[a] two\n[a] \n[b] end\n");
}

}  // namespace
}  // namespace longshore::cli::logs
