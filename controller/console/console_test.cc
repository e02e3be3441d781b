#include "controller/console/console.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "common/json/json.h"
#include "common/net/http/testing.h"
#include "common/os/file.h"
#include "controller/api/format.h"
#include "controller/reconcile/testing.h"
#include "controller/store/local/local_store.h"

namespace longshore::console {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;

// A clock that advances by a second whenever it is read. Thread-safe.
class TickingClock final : public Clock {
 public:
  TimePoint Now() const override { return TimePoint(std::chrono::hours(1000)) + std::chrono::seconds(++reads_); }

 private:
  mutable std::atomic<int> reads_ = 0;
};

// Each test has a store with one fleet and one Model, and a console that samples it all the time.
class ConsoleTest : public ::testing::Test {
 protected:
  ConsoleTest() {
    char name[] = "/tmp/longshore_console_XXXXXX";
    dir_ = mkdtemp(name);
    store_ = store::local::LocalStore::Open({.dir = dir_}).value();
    store::Object fleet;
    fleet.kind = api::kServingFleetKind;
    fleet.metadata.name = "cpu";
    fleet.spec = {{"replicas", {{"min", 1}, {"max", 1}}}};
    EXPECT_TRUE(store_->Apply(fleet));
    store::Object model;
    model.kind = api::kModelKind;
    model.metadata.name = "digits";
    model.spec = {{"fleet", "cpu"}, {"source", {{"uri", "file:///m"}}}, {"labels", {{"beta", 4}}}};
    EXPECT_TRUE(store_->Apply(model));
    console_ = Console::Start(OptionsOf("127.0.0.1:0"), SourcesOfTest()).value();
  }
  ~ConsoleTest() override { std::filesystem::remove_all(dir_); }

  static Options OptionsOf(const std::string& address) {
    return {.doors = {{.address = address}},
            .access = {.identify =
                           [](std::string_view) {
                             return Person{"anna", Right::kCommand};
                           }},
            .sample_interval = std::chrono::milliseconds(1)};
  }
  Sources SourcesOfTest() {
    return {.store = *store_,
            .nodes = nodes_,
            .clock = clock_,
            .timer = timer_,
            .problem = [this] { return problem_; },
            .manifests = dir_};
  }

  std::string Get(const std::string& target, const std::string& host = "localhost") const {
    http::RawClient client(console_->port());
    client.Send("GET " + target + " HTTP/1.1\r\nHost: " + host + "\r\nConnection: close\r\n\r\n");
    return client.ReadAll();
  }

  // The number of points of the only version in the answer. They must be in the order of time.
  static size_t PointsOf(const std::string& answer) {
    const Json json = ParseJson(answer.substr(answer.find("\r\n\r\n") + 4)).value();
    if (json.at("versions").empty()) return 0;
    const Json& points = json.at("versions").at(0).at("points");
    for (size_t i = 1; i < points.size(); ++i) EXPECT_GT(points[i][0], points[i - 1][0]);
    return points.size();
  }

  // Makes whatever was read before out of date. The answer waits for a read under way, which seems to take as long as
  // the clock moves meanwhile and is then shared for longer.
  void Expire() {
    timer_.Advance(SnapshotCache::kInterval);
    Get("/api/v1/overview");
    timer_.Advance((1 + SnapshotCache::kReadShareMax) * SnapshotCache::kInterval);
  }

  std::string Post(const std::string& target, const std::string& body) const {
    http::RawClient client(console_->port());
    client.Send("POST " + target +
                " HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer a\r\nContent-Type: application/json\r\n"
                "Content-Length: " +
                std::to_string(body.size()) + "\r\nConnection: close\r\n\r\n" + body);
    return client.ReadAll();
  }

  std::filesystem::path dir_;
  const TickingClock clock_;
  FakeMonotonicClock timer_;
  std::unique_ptr<store::Store> store_;
  reconcile::FakeRegistry nodes_;
  std::string problem_;
  std::unique_ptr<Console> console_;
};

TEST_F(ConsoleTest, ServesPagesAndData) {
  EXPECT_THAT(Get("/"),
              AllOf(StartsWith("HTTP/1.1 200"), HasSubstr("Content-Type: text/html"), HasSubstr("console.js")));
  EXPECT_THAT(Get("/files/console.js"), HasSubstr("Content-Type: text/javascript"));
  EXPECT_THAT(Get("/files/icon.svg"), HasSubstr("Content-Type: image/svg+xml"));
  EXPECT_THAT(Get("/api/v1/overview"), HasSubstr(R"("name":"cpu")"));
  EXPECT_THAT(Get("/api/v1/fleets/default/cpu"), HasSubstr(R"("replicasMax":1)"));
}

TEST_F(ConsoleTest, EveryAnswerSaysWhyTheControllerDoesNotReconcile) {
  problem_ = "It hangs.";
  for (const char* path : {"/api/v1/overview", "/api/v1/models/default/digits", "/api/v1/models/default/digits/history",
                           "/api/v1/fleets/default/cpu"}) {
    EXPECT_THAT(Get(path), HasSubstr(R"("problem":"It hangs.")")) << path;
  }
}

TEST_F(ConsoleTest, AManifestThatNeverBecameAnObjectIsShown) {
  ASSERT_TRUE(WriteFileAtomically(dir_ / "wrong.yaml", "kind: Nothing\n"));
  Expire();
  EXPECT_THAT(Get("/api/v1/overview"), AllOf(HasSubstr((dir_ / "wrong.yaml").string()), HasSubstr("wrong.yaml:1")));
}

TEST_F(ConsoleTest, AnswersWhatItDoesNotHaveWithAnError) {
  EXPECT_THAT(Get("/nothing"), AllOf(StartsWith("HTTP/1.1 404"), HasSubstr("no such page")));
  EXPECT_THAT(Get("/api/v1/models/default/iris"), AllOf(StartsWith("HTTP/1.1 404"), HasSubstr("iris")));
  EXPECT_THAT(Get("/api/v1/overview", "evil.test"), StartsWith("HTTP/1.1 421"));
}

TEST_F(ConsoleTest, ADamagedObjectHidesNoOther) {
  std::filesystem::create_directories(dir_ / ".longshore/objects/Model/default");
  ASSERT_TRUE(WriteFileAtomically(dir_ / ".longshore/objects/Model/default/broken.json", "{"));
  Expire();
  EXPECT_THAT(Get("/api/v1/overview"), AllOf(HasSubstr(R"("name":"cpu")"), HasSubstr("Model default/broken")));
  EXPECT_THAT(Get("/api/v1/models/default/broken"), StartsWith("HTTP/1.1 500"));
}

// The thread sanitizer finds a race if the history or the snapshots are used without their mutexes: while the readers
// read, the sampler adds points, and snapshots are replaced.
TEST_F(ConsoleTest, ManyReadersAndTheSamplerShareTheHistoryAndTheSnapshots) {
  const std::string history = "/api/v1/models/default/digits/history";
  std::vector<std::thread> readers;
  for (int i = 0; i < 4; ++i) {
    readers.emplace_back([&] {
      size_t points = 0;
      for (int requests = 0; requests < 60 || (points < 20 && requests < 2000); ++requests) {
        for (const char* path : {"/api/v1/overview", "/api/v1/models/default/digits", "/api/v1/fleets/default/cpu"})
          ASSERT_THAT(Get(path), StartsWith("HTTP/1.1 200"));
        points = PointsOf(Get(history));
        timer_.Advance(std::chrono::milliseconds(400));
      }
      EXPECT_GE(points, 20u) << "the sampler works at the same time";
    });
  }
  for (std::thread& reader : readers) reader.join();
}

// A thread simulates the controller that executes commands.
TEST_F(ConsoleTest, PassesACommandToTheControllerWithItsGiverAndReturnsTheAnswer) {
  store::Object model;
  model.kind = api::kModelKind;
  model.metadata.name = "digits";
  model.spec = {{"fleet", "cpu"}, {"source", {{"uri", "file:///models/digits"}}}, {"version", 2}};
  ASSERT_TRUE(store_->Apply(model));
  const api::Key key{api::kModelKind, "default", "digits"};
  api::Command taken;
  std::thread controller([&] {
    while (true) {
      const store::Object object = store_->Get(key).value();
      api::ModelStatus status = api::ModelStatusFromJson(object.status).value();
      if (status.commands.empty()) continue;
      taken = status.commands[0];
      status.commands.clear();
      status.answers.push_back({taken.id, taken.verb, api::CommandResult::kRefused, "it is too late", {}});
      if (store_->PutStatus(key, object.metadata.uid, object.metadata.resource_version, api::ToJson(status))) return;
    }
  });
  const std::string answer = Post("/api/v1/models/default/digits/commands",
                                  R"({"verb":"abort","seen":{"generation":1,"attempt":4,"step":2}})");
  controller.join();
  EXPECT_THAT(answer, AllOf(StartsWith("HTTP/1.1 409"), HasSubstr("abort: refused: it is too late")));
  EXPECT_EQ(taken.by, "anna");
  EXPECT_EQ(taken.attempt, 4) << "as the page showed it";
  EXPECT_EQ(taken.step, 2);
}

TEST_F(ConsoleTest, ACommandForNoModelOrWithoutMeaningIsAnError) {
  EXPECT_THAT(Post("/api/v1/models/default/iris/commands", R"({"verb":"abort","seen":{}})"),
              AllOf(StartsWith("HTTP/1.1 404"), HasSubstr("iris")));
  EXPECT_THAT(Post("/api/v1/models/default/digits/commands", "abort"), StartsWith("HTTP/1.1 400"));
}

TEST_F(ConsoleTest, AnAddressInUseIsAnError) {
  const auto second = Console::Start(OptionsOf("127.0.0.1:" + std::to_string(console_->port())), SourcesOfTest());
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().code, Code::kFailedPrecondition);
}

}  // namespace
}  // namespace longshore::console
