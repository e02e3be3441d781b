// The controller's sign of life on a cluster, against a fake of the API server that has only the Lease.
#include "controller/cli/controller_seen.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <sstream>

#include "common/net/http/server.h"
#include "common/os/file.h"
#include "controller/api/format.h"
#include "controller/cli/program.h"
#include "controller/cli/testing.h"
#include "controller/store/document.h"

namespace longshore::cli {
namespace {

using testing::HasSubstr;

class NoCredentials final : public kube::Credentials {
 public:
  Result<std::string> Token(bool) override { return std::string(); }
  Result<tls::ClientIdentity> Identity() override { return tls::ClientIdentity(); }
};

class Sight : public StoreTest {
 protected:
  Sight() {
    server_ = http::Server::Start({.address = "127.0.0.1:0"}, [this](const http::Request&, const auto& respond) {
                ++reads_;
                respond(http::Response{.status = status_, .body = body_});
              }).value();
    place_.cluster = kube::Cluster{.server = fmt::format("http://127.0.0.1:{}", server_->port()),
                                   .namespace_ = "default",
                                   .credentials = std::make_shared<NoCredentials>()};
    StoreFleet();
    place_.store = std::move(store_);
  }

  void StoreFleet() {
    store::Object object;
    object.kind = api::kServingFleetKind;
    object.metadata.name = "cpu";
    object.spec = Json::object();
    const store::Object stored = store_->Apply(object).value();
    ASSERT_TRUE(store_->PutStatus(store::KeyOf(stored), stored.metadata.uid, stored.metadata.resource_version,
                                  {{"controllerLease", "longshore/longshore-controller"}}));
  }
  void Renewed(std::chrono::seconds ago) {
    body_ = Json{{"spec",
                  {{"holderIdentity", "controller-0"},
                   {"leaseDurationSeconds", 15},
                   {"renewTime", api::FormatTime(SystemClock().Now() - ago)}}}}
                .dump();
  }
  std::vector<store::Object> Fleets() { return place_.store->List(api::kServingFleetKind)->objects; }

  std::atomic<int> reads_ = 0;
  int status_ = 200;  // Set before the first request, like `body_`.
  std::string body_;
  std::unique_ptr<http::Server> server_;
  Place place_;
  const SystemClock clock_;
};

TEST_F(Sight, ReadsTheLeaseAtMostOncePerRenewal) {
  Renewed(std::chrono::seconds(1));
  ControllerSight sight(place_, clock_);
  for (int i = 0; i < 5; ++i) EXPECT_EQ(sight.See(Fleets()).note, "");
  EXPECT_LE(reads_, 2) << "five calls take less than two renewals";
}

TEST_F(Sight, SaysHowLikelyAStartIs) {
  Renewed(std::chrono::minutes(3));
  const ControllerSeen old = ControllerSight(place_, clock_).See(Fleets());
  EXPECT_TRUE(old.is_absent);
  EXPECT_EQ(old.start, Start::kUnlikely);
  Renewed(std::chrono::seconds(20));
  EXPECT_EQ(ControllerSight(place_, clock_).See(Fleets()).start, Start::kPossible);
  body_ = R"({"spec": {}})";
  const ControllerSeen installed = ControllerSight(place_, clock_).See(Fleets());
  EXPECT_TRUE(installed.is_absent);
  EXPECT_EQ(installed.start, Start::kExpected);
}

TEST_F(Sight, GetPrintsTheTableEvenIfTheLeaseCannotBeRead) {
  status_ = 400;
  body_ = R"({"kind": "Status", "reason": "BadRequest", "message": "the server is in a bad mood"})";
  Options options;
  options.namespace_ = "default";
  std::ostringstream out;
  ASSERT_TRUE(cli::Run(options, place_, clock_, out));
  EXPECT_THAT(out.str(), HasSubstr("cpu"));
  EXPECT_THAT(out.str(), HasSubstr("it is not known whether a controller is running: its Lease "
                                   "longshore/longshore-controller cannot be read: "));
  EXPECT_THAT(out.str(), HasSubstr("bad mood"));
}

TEST_F(Sight, IsNotKnownIfNoFleetCanBeRead) {
  store::Object model;
  model.kind = api::kModelKind;
  model.spec = {{"fleet", "cpu"}, {"source", {{"uri", "file:///m"}}}, {"version", 2}};
  ASSERT_TRUE(WriteFileAtomically(dir_ / ".longshore/objects/ServingFleet/default/cpu.json", "{"));
  EXPECT_THAT(ControllerSight(place_, clock_).See({model}).note,
              HasSubstr("it is not known whether a controller is running: no fleet can be read: "));
  EXPECT_EQ(reads_, 0);
}

}  // namespace
}  // namespace longshore::cli
