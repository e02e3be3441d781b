// `set version` on a cluster, against a fake API server.
#include "controller/cli/set_version.h"

#include <gmock/gmock.h>

#include <mutex>
#include <sstream>

#include "common/json/json.h"
#include "controller/cli/testing.h"
#include "controller/cli/testing_cluster.h"

namespace longshore::cli {
namespace {

using testing::HasSubstr;

constexpr const char* kConflict =
    R"({"kind": "Status", "reason": "Conflict", "message": "the object has been modified"})";

class SetVersionOnACluster : public StoreTest {
 protected:
  SetVersionOnACluster() {
    StoreDigits();
    place_.store = std::move(store_);
    place_.home = api::Home::kCluster;
    place_.cluster = api_server_.cluster();
    options_.name = "digits";
    options_.namespace_ = "default";
    options_.version = 3;
  }

  http::Response Answer(const http::Request& request) {
    const std::lock_guard lock(mutex_);
    last_ = ParseJson(request.body).value();
    return ++patches_ <= conflicts_ ? http::Response{.status = 409, .body = kConflict} : http::Response{.body = "{}"};
  }

  std::mutex mutex_;  // Guards the three members that the server's thread also uses.
  int conflicts_ = 0;
  int patches_ = 0;
  Json last_;
  Options options_;
  Place place_;
  std::ostringstream out_;
  FakeCluster api_server_{[this](const http::Request& request) { return Answer(request); }};
};

TEST_F(SetVersionOnACluster, TriesAgainIfTheModelChangesAtTheSameMoment) {
  conflicts_ = 2;
  const Status set = SetVersion(options_, place_, out_);
  ASSERT_TRUE(set) << set.error().message;
  EXPECT_EQ(out_.str(), "Model default/digits version 2 -> 3\n");
  EXPECT_EQ(patches_, 3);
  EXPECT_EQ(last_.at("spec"), (Json{{"version", 3}, {"versionPolicy", nullptr}}));
  EXPECT_FALSE(last_.at("metadata").contains("resourceVersion")) << "each change of the status would be a conflict";
  EXPECT_TRUE(last_.at("metadata").contains("uid"));
}

TEST_F(SetVersionOnACluster, GivesUpAfterManyConflicts) {
  conflicts_ = 1000;
  const Status set = SetVersion(options_, place_, out_);
  ASSERT_FALSE(set);
  EXPECT_THAT(set.error().message, HasSubstr("the object has been modified"));
  EXPECT_LT(patches_, 20);
}

}  // namespace
}  // namespace longshore::cli
