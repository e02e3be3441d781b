#include "controller/kube/event_writer.h"

#include <gtest/gtest.h>

#include "controller/kube/testing.h"

namespace longshore::kube {
namespace {

EventNote Note(const std::string& message) {
  return {{"longshore.dev/v1alpha1", "Model", "default", "digits", "u-1"}, true, "RolledBack", message};
}

TEST(EventToJson, NamesWhomItIsAboutAndCutsWhatIsTooLong) {
  const Json event = ToJson(Note(std::string(1023, 'a') + "\u00e9"), TimePoint(std::chrono::seconds(1)), 7, "tester");
  EXPECT_EQ(event.at("metadata").at("name"), "digits.f42400007");
  EXPECT_EQ(event.at("involvedObject").at("uid"), "u-1");
  EXPECT_EQ(event.at("type"), "Warning");
  EXPECT_EQ(event.at("firstTimestamp"), "1970-01-01T00:00:01.000Z");
  EXPECT_EQ(event.at("message").get<std::string>(), std::string(1023, 'a')) << "not within a character";
}

}  // namespace
}  // namespace longshore::kube
