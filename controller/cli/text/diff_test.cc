#include "controller/cli/text/diff.h"

#include <gtest/gtest.h>

#include "common/json/json.h"

namespace longshore::cli::text {
namespace {

TEST(Diff, NamesEveryFieldThatIsAddedRemovedOrChanged) {
  const auto before = ParseJson(R"({"metadata": {"labels": {"a.b/c": "1"}, "uid": "u"}, "status": {"x": 1},
    "spec": {"steps": [{"weight": 5.0}, {"weight": 25}], "gone": "x", "same": {"a": 1, "b": []}}})");
  const auto after = ParseJson(R"({"metadata": {"labels": {"a.b/c": "2"}},
    "spec": {"steps": [{"weight": 5}, {"weight": 30}], "same": {"b": [], "a": 1}, "new": {}}})");
  EXPECT_EQ(DiffText(Differences(*before, *after)),
            "  ~ metadata.labels[\"a.b/c\"]: \"1\" -> \"2\"\n"
            "  ~ spec.steps[1].weight: 25 -> 30\n"
            "  + spec.new: {}\n"
            "  - spec.gone: \"x\"\n");
  EXPECT_EQ(Differences(*before, *after)[0].keys, (std::vector<std::string>{"metadata", "labels", "a.b/c"}));
  EXPECT_EQ(Differences(*before, *after)[1].keys, (std::vector<std::string>{"spec", "steps"})) << "up to the list";
  EXPECT_TRUE(Differences(*before, *before).empty());
  EXPECT_EQ(Differences(Json(), *after).size(), 6u) << "every field of a new object is a difference";
}

}  // namespace
}  // namespace longshore::cli::text
