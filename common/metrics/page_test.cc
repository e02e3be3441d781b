#include "common/metrics/page.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>

#include "common/metrics/metrics.h"

namespace longshore::metrics {
namespace {

constexpr Name kShare{"share_ratio", "A share\nof \"all\"."};
constexpr Name kEnded{"ended_total", "Ended."};

void ShowTwo(Page* page) {
  for (const char* object : {"a", "b\"\\\n"}) {
    Exposition exposition;
    exposition.Count(kEnded, {{"name", object}, {"result", "ok"}}, 3);
    exposition.Set(kShare, {{"name", object}}, 0.25);
    page->Append(exposition);
  }
  Exposition alone;
  alone.Set({"alone", "Without labels."}, {}, std::numeric_limits<double>::infinity());
  page->Append(alone);
}

TEST(Page, GroupsSeriesByFamilyAndEscapesTexts) {
  Page page;
  ShowTwo(&page);
  std::string text = "before\n";
  page.MoveTo(&text);
  EXPECT_EQ(text,
            "before\n"
            "# HELP alone Without labels.\n# TYPE alone gauge\nalone +Inf\n"
            "# HELP ended_total Ended.\n# TYPE ended_total counter\n"
            "ended_total{name=\"a\",result=\"ok\"} 3\n"
            "ended_total{name=\"b\\\"\\\\\\n\",result=\"ok\"} 3\n"
            "# HELP share_ratio A share\\nof \"all\".\n# TYPE share_ratio gauge\n"
            "share_ratio{name=\"a\"} 0.25\n"
            "share_ratio{name=\"b\\\"\\\\\\n\"} 0.25\n");
  page.MoveTo(&text);
  EXPECT_THAT(text, ::testing::EndsWith("0.25\n")) << "it is empty now";
}

// Compares the page with the text of prometheus-cpp's TextSerializer, with which a registry writes the metrics of
// AddSource. Help texts are plain, because the serializer does not escape them.
TEST(Page, WritesTheTextOfPrometheusCpp) {
  const auto show = [](Exposition* out) {
    for (const double value : {0.0, 3.0, -2.5, 0.25, 1e-7, 12'345'678.0, 1e20}) {
      const Labels labels = {{"name", "b\"\\\n"}, {"value", fmt::format("{}", value)}};
      out->Count(kEnded, labels, value);
      out->Set({"share_ratio", "A share."}, labels, value);
    }
    out->Set({"alone", "Without labels."}, {}, std::numeric_limits<double>::infinity());
    out->Set({"below", "Below all."}, {}, -std::numeric_limits<double>::infinity());
  };
  Registry by_library;
  by_library.AddSource(show);
  Registry by_page;
  by_page.AddPageSource([&](Page* page) {
    Exposition exposition;
    show(&exposition);
    page->Append(exposition);
  });
  EXPECT_THAT(by_page.Text(), ::testing::HasSubstr("ended_total{name=\"b\\\"\\\\\\n\",value=\"3\"} 3\n"));
  EXPECT_EQ(by_page.Text(), by_library.Text());
}

TEST(Page, JoinsManyPiecesToOneText) {
  Page page;
  for (int i = 0; i < 10'000; ++i) {
    Exposition exposition;
    exposition.Set(kShare, {{"name", std::to_string(i)}}, i);
    page.Append(exposition);
  }
  std::string text;
  page.MoveTo(&text);
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 10'002);
  EXPECT_THAT(text, ::testing::HasSubstr("\nshare_ratio{name=\"5000\"} 5000\n"));
}

TEST(Page, FollowsTheMetricsOfTheRegistry) {
  Registry registry;
  registry.Counters("mine_total", "Mine.").With({}).Add();
  registry.AddPageSource(ShowTwo);
  const std::string text = registry.Text();
  EXPECT_THAT(text, ::testing::StartsWith("# HELP mine_total"));
  EXPECT_THAT(text, ::testing::HasSubstr("share_ratio{name=\"a\"} 0.25\n"));
  EXPECT_EQ(text, registry.Text());
}

}  // namespace
}  // namespace longshore::metrics
