#include "controller/console/console.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

#include "common/net/http/testing.h"
#include "common/os/file.h"
#include "controller/reconcile/testing.h"
#include "controller/store/local/local_store.h"

namespace longshore::console {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;

// Each test has a store with one fleet, and a console.
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
    console_ =
        Console::Start({.address = "127.0.0.1:0"},
                       {.store = *store_, .nodes = nodes_, .clock = clock_, .problem = [this] { return problem_; }})
            .value();
  }
  ~ConsoleTest() override { std::filesystem::remove_all(dir_); }

  std::string Get(const std::string& target, const std::string& host = "localhost") const {
    http::RawClient client(console_->port());
    client.Send("GET " + target + " HTTP/1.1\r\nHost: " + host + "\r\nConnection: close\r\n\r\n");
    return client.ReadAll();
  }

  std::filesystem::path dir_;
  const FakeClock clock_{TimePoint(std::chrono::hours(1000))};
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

TEST_F(ConsoleTest, SaysWhyTheControllerDoesNotReconcile) {
  problem_ = "It hangs.";
  EXPECT_THAT(Get("/api/v1/overview"), HasSubstr(R"("problem":"It hangs.")"));
}

TEST_F(ConsoleTest, AnswersWhatItDoesNotHaveWithAnError) {
  EXPECT_THAT(Get("/nothing"), AllOf(StartsWith("HTTP/1.1 404"), HasSubstr("no such page")));
  EXPECT_THAT(Get("/api/v1/models/default/digits"), AllOf(StartsWith("HTTP/1.1 404"), HasSubstr("digits")));
  EXPECT_THAT(Get("/api/v1/overview", "evil.test"), StartsWith("HTTP/1.1 421"));
}

TEST_F(ConsoleTest, ADamagedObjectHidesNoOther) {
  std::filesystem::create_directories(dir_ / ".longshore/objects/Model/default");
  ASSERT_TRUE(WriteFileAtomically(dir_ / ".longshore/objects/Model/default/broken.json", "{"));
  EXPECT_THAT(Get("/api/v1/overview"), AllOf(HasSubstr(R"("name":"cpu")"), HasSubstr("Model default/broken")));
  EXPECT_THAT(Get("/api/v1/models/default/broken"), StartsWith("HTTP/1.1 500"));
}

TEST_F(ConsoleTest, ReadersAndTheSamplerShareTheHistory) {
  std::vector<std::thread> readers;
  for (int i = 0; i < 4; ++i) {
    readers.emplace_back([this] {
      for (int n = 0; n < 20; ++n) EXPECT_THAT(Get("/api/v1/models/default/m/history"), HasSubstr(R"("versions":[])"));
    });
  }
  for (std::thread& reader : readers) reader.join();
}

TEST_F(ConsoleTest, AnAddressInUseIsAnError) {
  const auto second =
      Console::Start({.address = "127.0.0.1:" + std::to_string(console_->port())},
                     {.store = *store_, .nodes = nodes_, .clock = clock_, .problem = [] { return ""; }});
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().code, Code::kFailedPrecondition);
}

}  // namespace
}  // namespace longshore::console
