#include "controller/kube/event_writer.h"

#include <gtest/gtest.h>

#include <future>

#include "common/net/http_client/testing.h"

namespace longshore::kube {
namespace {

EventNote Note(const std::string& message) {
  return {{"longshore.dev/v1alpha1", "Model", "default", "digits", "u-1"}, true, "RolledBack", message};
}

TEST(EventToJson, NamesTheObjectAndCutsALongMessage) {
  const Json event =
      ToJson(Note(std::string(1020, 'a') + "\u00e9" + "bcd"), TimePoint(std::chrono::seconds(1)), 7, "tester");
  EXPECT_EQ(event.at("metadata").at("name"), "digits.f42400007");
  EXPECT_EQ(event.at("involvedObject").at("uid"), "u-1");
  EXPECT_EQ(event.at("type"), "Warning");
  EXPECT_EQ(event.at("firstTimestamp"), "1970-01-01T00:00:01.000Z");
  EXPECT_EQ(event.at("message").get<std::string>(), std::string(1020, 'a') + "...") << "cut between characters";
}

class NoCredentials final : public Credentials {
 public:
  Result<std::string> Token(bool) override { return std::string(); }
  Result<tls::ClientIdentity> Identity() override { return tls::ClientIdentity{}; }
};

TEST(EventWriter, DropsQueuedEventsWhenItIsDestroyed) {
  std::promise<void> asked;
  std::atomic<int> requests = 0;
  const http_client::RawServer server([&](const std::string&, const http_client::RawServer::Peer& peer) {
    if (++requests == 1) asked.set_value();
    peer.WaitForEnd();  // The server sends no answer.
    return false;
  });
  const SteadyClock timer;
  const SystemClock clock;
  auto api =
      Api::Make({.server = server.url(), .namespace_ = "default", .credentials = std::make_shared<NoCredentials>()},
                {.request_idle_max = std::chrono::hours(1)}, timer);
  {
    EventWriter writer(std::move(*api), "tester", clock, timer);
    for (const char* message : {"one", "two", "three"}) writer.Write(Note(message));
    asked.get_future().wait();
  }
  EXPECT_EQ(requests, 1);
}

}  // namespace
}  // namespace longshore::kube
