#include "controller/cli/input/version_edit.h"

#include <gtest/gtest.h>

namespace longshore::cli::input {
namespace {

const api::Key kDigits{api::kModelKind, "default", "digits"};

std::string Edited(const std::string& text) {
  const auto edited = WithVersion("m.yaml", text, kDigits, 12, "default");
  return edited ? *edited : "error: " + edited.error().message;
}

constexpr const char* kHead = "# Ours.\napiVersion: longshore.dev/v1alpha1\nkind: Model\nmetadata: {name: digits}\n";

TEST(WithVersion, ReplacesOnlyTheNumber) {
  const std::string rest =
      "\n  source: {uri: \"file:///m\"}\n  labels: {canary: 3}  # version: 3\n---\napiVersion: longshore.dev/v1alpha1\n"
      "kind: Model\nmetadata: {name: words}\nspec: {fleet: cpu, version: 3, source: {uri: \"file:///w\"}}\n";
  const std::string before = std::string(kHead) + "spec:\n  fleet: cpu   # The small one.\n  version:   3   # Good.";
  EXPECT_EQ(Edited(before + rest),
            std::string(kHead) + "spec:\n  fleet: cpu   # The small one.\n  version:   12   # Good." + rest);
}

TEST(WithVersion, FindsTheNumberInOtherLayouts) {
  EXPECT_EQ(Edited(std::string(kHead) + "spec: {fleet: cpu, version: 3, source: {uri: \"file:///m\"}}"),
            std::string(kHead) + "spec: {fleet: cpu, version: 12, source: {uri: \"file:///m\"}}");
  EXPECT_EQ(Edited(R"({"apiVersion": "longshore.dev/v1alpha1", "kind": "Model", "metadata": {"name": "digits"},
"spec": {"fleet": "cpu", "version": 3, "source": {"uri": "file:///m"}}})"),
            R"({"apiVersion": "longshore.dev/v1alpha1", "kind": "Model", "metadata": {"name": "digits"},
"spec": {"fleet": "cpu", "version": 12, "source": {"uri": "file:///m"}}})");
}

TEST(WithVersion, AddsALineIfThereIsNoVersion) {
  EXPECT_EQ(Edited(std::string(kHead) + "spec:\n    fleet: cpu\n    source: {uri: \"file:///m\"}\n"),
            std::string(kHead) + "spec:\n    version: 12\n    fleet: cpu\n    source: {uri: \"file:///m\"}\n");
}

TEST(WithVersion, ReplacesThePolicyLatest) {
  const std::string rest = "\n  source: {uri: \"file:///m\"}\n";
  EXPECT_EQ(Edited(std::string(kHead) + "spec:\n  fleet: cpu\n  versionPolicy: Latest  # The newest." + rest),
            std::string(kHead) + "spec:\n  fleet: cpu\n  version: 12  # The newest." + rest);
  EXPECT_EQ(
      Edited(std::string(kHead) + "spec: {\"versionPolicy\": \"Latest\", fleet: cpu, source: {uri: \"file:///m\"}}"),
      std::string(kHead) + "spec: {\"version\": 12, fleet: cpu, source: {uri: \"file:///m\"}}");
}

TEST(WithVersion, RefusesALayoutThatItCannotEdit) {
  const std::string message = "the layout of this file does not allow an automatic change; set spec.version to 12";
  for (const char* spec : {"spec: {fleet: cpu, source: {uri: \"file:///m\"}}\n",
                           "spec: {labels: {version: 3}, fleet: cpu, version: 3, source: {uri: \"file:///m\"}}\n",
                           "spec:\n  fleet: cpu\n  source: {uri: \"file:///m\"}\n  version:\n    3\n"}) {
    const std::string edited = Edited(std::string(kHead) + spec);
    EXPECT_NE(edited.find(message), std::string::npos) << spec << edited;
  }
  EXPECT_EQ(Edited("# nothing\n"), "error: m.yaml does not define Model default/digits");
}

}  // namespace
}  // namespace longshore::cli::input
