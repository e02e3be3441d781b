// Tests the agent of a whole node against a controller that speaks real gRPC over a unix socket.
#include "serving-node/control/agent.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <condition_variable>
#include <deque>
#include <future>
#include <mutex>

#include "common/net/grpc_server/messages.h"
#include "common/net/grpc_server/server.h"
#include "common/net/tls/authority.h"
#include "common/node_contract/state_digest.h"
#include "common/os/file.h"
#include "longshore/control.pb.h"
#include "serving-node/control/apply.h"
#include "serving-node/control/report.h"
#include "serving-node/routing/testing.h"
#include "serving-node/sources/testing.h"

namespace longshore::control {
namespace {

using testing::HasSubstr;

using CallPtr = std::shared_ptr<grpc_server::Call>;

// Accepts one node at a time. The test sends messages and inspects those received.
class Controller {
 public:
  explicit Controller(const std::string& address) {
    const auto service = std::make_shared<grpc_server::Service>();
    service->Add("/longshore.control.NodeControl/Attach", {.kind = grpc_server::Method::Kind::kStreaming,
                                                           .handler = [this](const CallPtr& call) { Attach(call); }});
    server_ = grpc_server::Start({.address = address}, service).value();
  }

  // Returns the next message that `wanted` accepts, and drops the messages before it.
  template <typename Predicate>
  FromNode Await(Predicate wanted) {
    std::unique_lock lock(mutex_);
    while (true) {
      changed_.wait(lock, [this] { return !received_.empty(); });
      const FromNode message = received_.front();
      received_.pop_front();
      if (wanted(message)) return message;
    }
  }
  Hello AwaitHello() {
    return Await([](const FromNode& message) { return message.has_hello(); }).hello();
  }
  Report AwaitReport(const std::function<bool(const Report&)>& wanted) {
    return Await([&](const FromNode& message) { return message.has_report() && wanted(message.report()); }).report();
  }
  void Write(const std::string& text) {
    FromController message;
    EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &message)) << text;
    CallPtr call;
    {
      const std::lock_guard lock(mutex_);
      call = call_;
    }
    ASSERT_TRUE(call);
    std::promise<bool> written;
    call->Write(grpc_server::ToPieces(message), [&](bool ok) { written.set_value(ok); });
    EXPECT_TRUE(written.get_future().get());
  }
  Ack Send(const std::string& text) {
    Write(text);
    return AwaitAck();
  }

 private:
  void Attach(const CallPtr& call) {
    call->AfterEnd([this, call] {
      const std::lock_guard lock(mutex_);
      if (call_ == call) call_ = nullptr;
    });
    {
      const std::lock_guard lock(mutex_);
      call_ = call;
    }
    Read(call);
  }
  void Read(const CallPtr& call) {
    call->Read([this, call](const std::optional<Pieces>& bytes) {
      if (!bytes) return call->Finish({});
      FromNode message;
      EXPECT_TRUE(grpc_server::Parse(*bytes, &message));
      {
        const std::lock_guard lock(mutex_);
        received_.push_back(std::move(message));
        changed_.notify_all();
      }
      Read(call);
    });
  }

  // Waits for an Ack and keeps the reports received before it, because a node does not repeat them.
  Ack AwaitAck() {
    std::unique_lock lock(mutex_);
    auto found = received_.end();
    changed_.wait(lock, [&] {
      found = std::ranges::find_if(received_, &FromNode::has_ack);
      return found != received_.end();
    });
    const Ack ack = found->ack();
    received_.erase(found);
    return ack;
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<FromNode> received_;
  CallPtr call_;
  std::unique_ptr<http2::Server> server_;  // Last, because its threads use the other members.
};

bool Has(const Report& report, int64_t version, VersionReport::State state) {
  return std::ranges::any_of(report.versions(), [&](const VersionReport& entry) {
    return entry.version() == version && entry.state() == state;
  });
}

class AgentTest : public testing::Test {
 protected:
  void SetUp() override {
    std::filesystem::create_directories(state_dir_);
    storage_.Add(desired_state_health_, [] {});
    journal_ = std::move(*rehearsal::Journal::Open(state_dir_));
    gate_ = std::make_unique<rehearsal::Gate>(rehearsal::GateOptions{}, *journal_);
    UseArchives();
  }
  void UseArchives() {
    sources_.reset();
    sources_ = std::move(*sources::Sources::Start({.cache_dir = dir_.path() / "cache"}, archives_));
  }
  void StartController() { controller_ = std::make_unique<Controller>(address_); }
  void StartAgent() {
    AgentOptions options;
    options.controller = {.target = address_};
    options.fleet = "ns/f";
    options.node = "a";
    options.state_dir = state_dir_;
    options.peers = peers_;
    options.report_interval = std::chrono::milliseconds(20);
    options.report_again = report_again_;
    options.folder_interval = std::chrono::milliseconds(20);
    options.stream_silence_max = stream_silence_max_;
    options.backoff_min = std::chrono::milliseconds(5);
    options.backoff_max = std::chrono::milliseconds(20);
    auto agent =
        Agent::Start(options, {node_.store, *sources_, node_.admission, node_.router, *node_.guards, node_.recorder,
                               *gate_, *journal_, *node_.forwarder, wall_, storage_, desired_state_health_,
                               [this](const control::DrainNode& drain) { drained_.set_value(drain.fleet_is_gone()); },
                               [this](const control::MoveConnections& moves) { moved_.set_value(moves); }, nullptr,
                               nullptr, [this] { return peer_address_ ? std::string("10.0.0.1:8503") : ""; },
                               identity_.get(), &golden_runs_});
    ASSERT_TRUE(agent) << ToString(agent.error());
    agent_ = std::move(*agent);
  }
  std::string Model(const std::string& versions, const std::string& salt = "uid/2/1") {
    return fmt::format(R"(served_name: "digits" source_uri: "file://{}" assignment {{ salt: "{}" }} {})",
                       (dir_.path() / "digits").string(), salt, versions);
  }
  std::string Snapshot(int64_t epoch, int64_t revision, const std::string& versions) {
    return fmt::format(R"(epoch: {} revision: {} snapshot {{ state {{ fleet {{ fleet: "ns/f" concurrent_runs_max: 3 }}
                          models {{ {} }} }} }})",
                       epoch, revision, Model(versions));
  }
  static constexpr int64_t kMemoryBytesMax = 100'000;
  const std::string kStable = "versions { version: 1 weight_bp: 10000 role: STABLE load: true }";

  routing::TestDir dir_;
  const Path state_dir_ = dir_.path() / "state";
  const std::string address_ = "unix:" + (dir_.path() / "c.sock").string();
  std::vector<std::string> peers_;
  std::chrono::milliseconds report_again_{100};
  std::chrono::milliseconds stream_silence_max_{20000};
  std::promise<bool> drained_;
  std::promise<control::MoveConnections> moved_;
  FakeClock wall_{SystemClock().Now()};
  std::unique_ptr<rehearsal::Journal> journal_;
  std::unique_ptr<rehearsal::Gate> gate_;
  sources::Getter archives_ = download::Get;
  std::unique_ptr<sources::Sources> sources_;
  routing::TestNode node_{dir_.path(), "a", 4, {}, {.unload_for_memory = true, .memory_bytes_max = kMemoryBytesMax}};
  storage::WriteHealth desired_state_health_{"desired_state"};
  storage::Storage storage_{node_.metrics};  // Shows desired_state_health_.
  golden_set::GoldenRuns golden_runs_{node_.store, wall_, {.node = "a"}};
  std::atomic<bool> peer_address_ = false;
  SteadyClock timer_;
  std::unique_ptr<identity::NodeIdentity> identity_;  // Null if the node requests no certificates.
  std::unique_ptr<Controller> controller_;
  std::unique_ptr<Agent> agent_;
};

TEST_F(AgentTest, ServesTheVersionsOfASnapshotAndReportsThatTheyAreReady) {
  StartController();
  StartAgent();
  const Hello hello = controller_->AwaitHello();
  EXPECT_EQ(hello.node(), "a");
  EXPECT_EQ(hello.state_digest(), "");
  EXPECT_FALSE(agent_->ready());
  const Ack ack = controller_->Send(Snapshot(1, 1, kStable));
  EXPECT_EQ(ack.error(), "");
  EXPECT_EQ(ack.state_digest().size(), 64u);
  const Report report = controller_->AwaitReport([](const Report& r) { return Has(r, 1, VersionReport::READY); });
  EXPECT_EQ(report.revision(), 1);
  EXPECT_EQ(report.versions(0).weight_bp(), 10000);
  EXPECT_EQ(report.load().concurrent_runs_max(), 3);
  EXPECT_TRUE(agent_->ready());
  ASSERT_TRUE(Ask(node_.router, routing::DigitsCall(0)));
  controller_->AwaitReport([](const Report& r) { return r.versions(0).evidence().requests() == 1; });
}

TEST_F(AgentTest, ReportsTheLastRepeatedRunOfTheGoldenSet) {
  StartController();
  StartAgent();
  controller_->AwaitHello();
  const std::string golden_set = R"( validation { golden_set: "missing" golden_every_ms: 60000 })";
  controller_->Send(Snapshot(1, 1, kStable + golden_set));
  controller_->AwaitReport([](const Report& report) { return Has(report, 1, VersionReport::READY); });
  wall_.Advance(std::chrono::minutes(1));
  golden_runs_.Step();
  const Report report = controller_->AwaitReport(
      [](const Report& each) { return each.versions_size() > 0 && each.versions(0).golden().at_unix_ms() > 0; });
  EXPECT_FALSE(report.versions(0).golden().ok());
  EXPECT_THAT(report.versions(0).golden().message(), HasSubstr("digits/missing"));
}

// The wrong rules of one model must not keep the others from following their changes.
TEST_F(AgentTest, AcceptsAStateWithMatchRulesThatItCannotApplyAndReportsThem) {
  StartController();
  StartAgent();
  EXPECT_TRUE(controller_->AwaitHello().match_rules());
  const std::string wrong = R"(} models { served_name: "other" routes { name: "r" to: STABLE
                               conditions { key: "x" op: REGEX values: "(" } })";
  EXPECT_EQ(controller_->Send(Snapshot(1, 1, kStable + wrong)).error(), "");
  const Report report = controller_->AwaitReport([](const Report& r) { return Has(r, 1, VersionReport::READY); });
  ASSERT_EQ(report.rules_size(), 1);
  EXPECT_EQ(report.rules(0).served_name(), "other");
  EXPECT_THAT(report.rules(0).message(), HasSubstr("match rule \"r\": "));
}

TEST_F(AgentTest, ReportsVersionsThatAreNotInTheStateOnceTheyAreComplete) {
  std::filesystem::create_directories(dir_.path() / "digits" / "6");
  StartController();
  StartAgent();
  controller_->AwaitHello();
  controller_->Send(Snapshot(1, 1, kStable));
  const Report report = controller_->AwaitReport([](const Report& r) { return r.versions_size() == 5; });
  EXPECT_TRUE(Has(report, 5, VersionReport::UNKNOWN));
  EXPECT_FALSE(Has(report, 6, VersionReport::UNKNOWN)) << "its folder is still empty";
  ASSERT_TRUE(WriteFileAtomically(dir_.path() / "digits" / "6" / "saved_model.pb", "good"));
  controller_->AwaitReport([](const Report& r) { return Has(r, 6, VersionReport::UNKNOWN); });
}

TEST_F(AgentTest, ReportsTheProgressOfAnArchiveAndServesItWhenFetched) {
  const std::string archive = sources::TarEntryOf("m/1/saved_model.pb", "good") + sources::TarEnd();
  std::atomic<bool> go_on = false;
  archives_ = [&](const download::Request&, const download::Receiver& receiver) -> Status {
    const std::string_view bytes = archive;
    RETURN_IF_ERROR(receiver.on_begin(0, static_cast<int64_t>(bytes.size())));
    RETURN_IF_ERROR(receiver.on_piece(bytes.substr(0, bytes.size() / 2)));
    go_on.wait(false);
    return receiver.on_piece(bytes.substr(bytes.size() / 2));
  };
  UseArchives();
  StartController();
  StartAgent();
  controller_->AwaitHello();
  const std::string sha256 = sources::ShaOf(archive);
  controller_->Send(fmt::format(
      R"(epoch: 1 revision: 1 snapshot {{ state {{ fleet {{ fleet: "ns/f" }} models {{ served_name: "digits"
         source_uri: "https://h/m.tar" source_sha256: "{}" {} versions {{ version: 2 load: true role: EXTRA }}
         other_sources {{ version: 2 uri: "file://{}" }} }} }} }})",
      sha256, kStable, (dir_.path() / "digits").string()));
  const Report report = controller_->AwaitReport(
      [](const Report& r) { return Has(r, 2, VersionReport::READY) && r.versions(0).message().ends_with("MB"); });
  EXPECT_EQ(report.versions(0).state(), VersionReport::LOADING);
  EXPECT_EQ(report.versions(0).message(), "fetching https://h/m.tar: 50 % of 0.0 MB");
  ASSERT_EQ(report.sources_size(), 1);
  EXPECT_EQ(report.sources(0).sha256(), sha256);
  EXPECT_EQ(report.sources(0).state(), SourceReport::FETCHING);
  EXPECT_FALSE(agent_->ready());
  go_on = true;
  go_on.notify_all();
  controller_->AwaitReport([](const Report& r) { return Has(r, 1, VersionReport::READY); });
  EXPECT_TRUE(agent_->ready());
}

TEST_F(AgentTest, ReportsASourceThatIsTheFolderOfAVersion) {
  StartController();
  StartAgent();
  controller_->AwaitHello();
  const std::string folder = (dir_.path() / "digits" / "1").string();
  controller_->Send(fmt::format(
      R"(epoch: 1 revision: 1 snapshot {{ state {{ fleet {{ fleet: "ns/f" }} models {{ served_name: "digits"
         source_uri: "file://{}" {} }} }} }})",
      folder, kStable));
  const Report report = controller_->AwaitReport([](const Report& r) { return r.sources_size() == 1; });
  EXPECT_EQ(report.sources(0).state(), SourceReport::FAILED);
  EXPECT_TRUE(report.sources(0).message().starts_with(folder + " is the folder of a version"));
  controller_->AwaitReport([](const Report& r) { return Has(r, 1, VersionReport::NOT_FOUND); });
}

TEST_F(AgentTest, ServesFromDiskBeforeAnyControllerAnswers) {
  StartController();
  StartAgent();
  controller_->AwaitHello();
  const std::string digest = controller_->Send(Snapshot(4, 7, kStable)).state_digest();
  agent_.reset();
  controller_.reset();
  node_.store.Apply({});
  StartAgent();
  EXPECT_TRUE(agent_->state() != nullptr);
  node_.Hold({1});
  EXPECT_TRUE(Ask(node_.router, routing::DigitsCall(0)));
  StartController();
  const Hello hello = controller_->AwaitHello();
  EXPECT_EQ(hello.epoch(), 4);
  EXPECT_EQ(hello.revision(), 7);
  EXPECT_EQ(hello.state_digest(), digest);
}

TEST_F(AgentTest, RefusesAnOldLeaderAndKeepsItsState) {
  StartController();
  StartAgent();
  controller_->AwaitHello();
  const Ack first = controller_->Send(Snapshot(2, 1, kStable));
  const Ack old = controller_->Send(Snapshot(1, 9, "versions { version: 2 weight_bp: 10000 role: STABLE load: true }"));
  EXPECT_THAT(old.error(), HasSubstr("not newer"));
  EXPECT_EQ(old.state_digest(), first.state_digest());
}

TEST_F(AgentTest, RefusesAStateThatItCannotWrite) {
  StartController();
  StartAgent();
  controller_->AwaitHello();
  controller_->Send(Snapshot(1, 1, kStable));
  std::filesystem::rename(state_dir_, dir_.path() / "gone");
  const Ack ack = controller_->Send(Snapshot(1, 2, kStable));
  EXPECT_THAT(ack.error(), HasSubstr("cannot write the desired state"));
  EXPECT_EQ(node_.router.AppliedWeight("digits", 1), 10000);
  const Report report = controller_->AwaitReport([](const Report& r) { return r.storage_size() > 0; });
  EXPECT_EQ(report.storage(0).what(), "desired_state");
  EXPECT_THAT(report.storage(0).message(), HasSubstr("cannot create " + (state_dir_ / "desired.pb").string()));
  std::filesystem::rename(dir_.path() / "gone", state_dir_);
  EXPECT_EQ(controller_->Send(Snapshot(1, 2, kStable)).error(), "");
  controller_->AwaitReport([](const Report& r) { return r.revision() == 2 && r.storage_size() == 0; });
}

TEST_F(AgentTest, ReportsATrippedGuardImmediately) {
  node_.Hold({1, 4});
  StartController();
  StartAgent();
  controller_->AwaitHello();
  controller_->Send(Snapshot(1, 1, R"(versions { version: 1 role: STABLE load: true }
      versions { version: 4 weight_bp: 10000 role: CANDIDATE load: true guard { non_finite: true } })"));
  ASSERT_TRUE(Ask(node_.router, routing::DigitsCall(routing::kNanHere)));
  const Report report = controller_->AwaitReport([](const Report& r) { return r.events_size() > 0; });
  EXPECT_THAT(report.events(0), HasSubstr("guard NonFinite"));
  EXPECT_TRUE(report.versions(1).guard().tripped());
  EXPECT_EQ(report.versions(1).weight_bp(), 0);
  EXPECT_EQ(report.versions(0).weight_bp(), 10000);
}

TEST_F(AgentTest, SetsTheWeightOfACandidateToZeroWhileTheControllerIsGone) {
  StartController();
  StartAgent();
  controller_->AwaitHello();
  controller_->Send(Snapshot(1, 1, R"(versions { version: 1 role: STABLE }
      versions { version: 2 weight_bp: 10000 role: CANDIDATE guard { controller_silence_max_ms: 50 } })"));
  EXPECT_EQ(node_.router.AppliedWeight("digits", 2), 10000);
  controller_.reset();
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(30);
  while (node_.guards->Trips().empty() && std::chrono::steady_clock::now() < deadline) std::this_thread::yield();
  ASSERT_FALSE(node_.guards->Trips().empty());
  EXPECT_EQ(node_.guards->Trips()[0].reason, "ControllerSilent");
  EXPECT_EQ(node_.router.AppliedWeight("digits", 2), 0);
}

TEST_F(AgentTest, SetsTheWeightOfACandidateToZeroWhileTheControllerHangs) {
  StartController();
  StartAgent();
  controller_->AwaitHello();
  controller_->Send(Snapshot(1, 1, R"(versions { version: 1 role: STABLE }
      versions { version: 2 weight_bp: 10000 role: CANDIDATE guard { controller_silence_max_ms: 50 } })"));
  const Report report = controller_->AwaitReport([](const Report& r) { return r.events_size() > 0; });
  EXPECT_THAT(report.events(0), HasSubstr("guard ControllerSilent"));
  EXPECT_EQ(node_.router.AppliedWeight("digits", 2), 0);
}

TEST_F(AgentTest, AStepOfTheWallClockDoesNotCountAsSilence) {
  StartController();
  StartAgent();
  controller_->AwaitHello();
  controller_->Send(Snapshot(1, 1, R"(versions { version: 1 role: STABLE }
      versions { version: 2 weight_bp: 10000 role: CANDIDATE guard { controller_silence_max_ms: 600000 } })"));
  wall_.Advance(std::chrono::hours(1));
  for (int i = 0; i < 3; ++i) controller_->AwaitReport([](const Report& r) { return r.revision() == 1; });
  EXPECT_TRUE(node_.guards->Trips().empty());
}

TEST_F(AgentTest, RetriesAFailedVersionWhenItsFolderHasChanged) {
  const Path model = dir_.path() / "digits" / "1" / "saved_model.pb";
  ASSERT_TRUE(WriteFileAtomically(model, "bad"));
  StartController();
  StartAgent();
  controller_->AwaitHello();
  controller_->Send(Snapshot(1, 1, kStable));
  controller_->AwaitReport([](const Report& r) { return Has(r, 1, VersionReport::FAILED); });
  // If its folder does not change, the version stays failed, however often the folder is checked.
  const int64_t loads = node_.engine.record().loads;
  for (int i = 0; i < 3; ++i)
    controller_->AwaitReport([](const Report& r) { return Has(r, 1, VersionReport::FAILED); });
  EXPECT_EQ(node_.engine.record().loads, loads);
  ASSERT_TRUE(WriteFileAtomically(model, "good"));
  controller_->AwaitReport([](const Report& r) { return Has(r, 1, VersionReport::READY); });
}

TEST_F(AgentTest, ReportsThatAVersionDoesNotFitIntoTheMemoryAndLoadsItWhenThereIsRoom) {
  ASSERT_TRUE(WriteFileAtomically(dir_.path() / "digits" / "1" / "saved_model.pb", std::string(50'000, 'x')));
  ASSERT_TRUE(WriteFileAtomically(dir_.path() / "digits" / "2" / "saved_model.pb", std::string(40'000, 'x')));
  StartController();
  StartAgent();
  controller_->AwaitHello();
  controller_->Send(Snapshot(1, 1, kStable));
  controller_->AwaitReport([](const Report& r) { return Has(r, 1, VersionReport::READY); });
  controller_->Send(Snapshot(1, 2, kStable + " versions { version: 2 role: CANDIDATE load: true }"));
  const Report report = controller_->AwaitReport([](const Report& r) { return Has(r, 2, VersionReport::FAILED); });
  ASSERT_GE(report.versions_size(), 2) << "other versions that are found in the folder follow";
  EXPECT_FALSE(report.versions(0).has_memory_shortage());
  EXPECT_EQ(report.versions(1).memory_shortage().needed_bytes(), 48'000);
  EXPECT_EQ(report.versions(1).memory_shortage().free_bytes(), kMemoryBytesMax - 60'000);
  EXPECT_THAT(report.versions(1).message(), HasSubstr("needs about 48000 bytes of memory"));
  controller_->Send(Snapshot(1, 3, "versions { version: 2 weight_bp: 10000 role: STABLE load: true }"));
  controller_->AwaitReport(
      [](const Report& r) { return Has(r, 2, VersionReport::READY) && !r.versions(0).has_memory_shortage(); });
}

TEST_F(AgentTest, ACandidateThatAnswersNoClientsHasALimitOfItsOwn) {
  ASSERT_TRUE(WriteFileAtomically(dir_.path() / "digits" / "2" / "saved_model.pb", std::string(40'000, 'x')));
  StartController();
  StartAgent();
  controller_->AwaitHello();
  const auto candidate = [&](int64_t limit) {
    return kStable +
           fmt::format(" versions {{ version: 2 role: CANDIDATE load: true gives_way: true memory_bytes_max: {} }}",
                       limit);
  };
  controller_->Send(Snapshot(1, 1, candidate(47'999)));
  const Report report = controller_->AwaitReport([](const Report& r) { return Has(r, 2, VersionReport::FAILED); });
  ASSERT_GE(report.versions_size(), 2);
  EXPECT_TRUE(report.versions(1).memory_shortage().by_own_limit());
  EXPECT_EQ(report.versions(1).memory_shortage().needed_bytes(), 48'000);
  EXPECT_EQ(report.versions(1).memory_shortage().free_bytes(), 47'999);
  controller_->Send(Snapshot(1, 2, candidate(48'000)));
  controller_->AwaitReport([](const Report& r) { return Has(r, 2, VersionReport::READY); });
}

TEST_F(AgentTest, IsReadyWithoutAVersionThatFailedHereAndIsReadyOnAPeer) {
  ASSERT_TRUE(WriteFileAtomically(dir_.path() / "digits" / "1" / "saved_model.pb", "bad"));
  StartController();
  StartAgent();
  controller_->AwaitHello();
  const auto stable = [](const std::string& ready) {
    return "versions { version: 1 weight_bp: 10000 role: STABLE load: true " + ready + " }";
  };
  controller_->Send(Snapshot(1, 1, stable("")));
  controller_->AwaitReport([](const Report& r) { return Has(r, 1, VersionReport::FAILED); });
  EXPECT_FALSE(agent_->ready());
  controller_->Send(Snapshot(1, 2, stable("ready: 'a'")));
  EXPECT_FALSE(agent_->ready()) << "this node itself is not a peer";
  controller_->Send(Snapshot(1, 3, stable("ready: 'b'")));
  EXPECT_TRUE(agent_->ready());
}

TEST_F(AgentTest, DestroyingAStoppedAgentDoesNotWaitForThreads) {
  StartController();
  StartAgent();
  controller_->AwaitHello();
  agent_->Stop();
  agent_->Stop();
  agent_->Wake();
  agent_.reset();
}

TEST_F(AgentTest, DoesNotAcknowledgeHeartbeatsAndKeepsItsState) {
  StartController();
  StartAgent();
  controller_->AwaitHello();
  const Ack first = controller_->Send(Snapshot(3, 1, kStable));
  controller_->Write("heartbeat {}");
  const Ack second = controller_->Send(Snapshot(3, 2, kStable));
  EXPECT_EQ(second.revision(), 2) << "the heartbeat must not be acknowledged";
  EXPECT_EQ(second.error(), "");
  EXPECT_EQ(first.error(), "");
}

TEST_F(AgentTest, ReportsAgainWhileItIsIdle) {
  StartController();
  StartAgent();
  controller_->AwaitHello();
  controller_->Send(Snapshot(1, 1, kStable));
  const auto ready = [](const Report& r) { return Has(r, 1, VersionReport::READY); };
  const Report report = controller_->AwaitReport(ready);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(controller_->AwaitReport(ready).load().started(), report.load().started());
}

TEST_F(AgentTest, RepeatsReportsAtTheIntervalOfTheState) {
  report_again_ = std::chrono::hours(1);
  StartController();
  StartAgent();
  controller_->AwaitHello();
  controller_->Send(R"(epoch: 1 revision: 1 snapshot { state { fleet { fleet: "ns/f" report_again_ms: 30 } } })");
  const auto of_state = [](const Report& r) { return r.revision() == 1; };
  for (int i = 0; i < 3; ++i) controller_->AwaitReport(of_state);
}

TEST_F(AgentTest, AppliesAndKeepsChangesOfPeers) {
  StartController();
  StartAgent();
  controller_->AwaitHello();
  controller_->Send(Snapshot(1, 1, kStable));
  const Ack ack = controller_->Send(R"(epoch: 1 revision: 2 peers { set { node: "b" address: "b:1" } })");
  EXPECT_EQ(ack.error(), "");
  EXPECT_EQ(ack.state_digest(), node_contract::DigestOf(*agent_->state()));
  const Ack refused = controller_->Send(R"(epoch: 1 revision: 2 peers { left: "b" })");
  EXPECT_THAT(refused.error(), HasSubstr("not newer"));
  EXPECT_EQ(refused.state_digest(), ack.state_digest());
  agent_.reset();
  StartAgent();
  ASSERT_EQ(agent_->state()->fleet().peers_size(), 1);
  EXPECT_EQ(agent_->state()->fleet().peers(0).address(), "b:1");
  EXPECT_EQ(controller_->AwaitHello().state_digest(), ack.state_digest());
}

TEST_F(AgentTest, RedialsWhenAStreamStaysSilent) {
  stream_silence_max_ = std::chrono::milliseconds(50);
  StartController();
  StartAgent();
  controller_->AwaitHello();
  EXPECT_EQ(controller_->AwaitHello().node(), "a");
}

TEST_F(AgentTest, TakesTheStateOfAPeerIfItHasNoStateAndNoControllerAnswers) {
  DesiredState of_peer;
  ASSERT_TRUE(google::protobuf::TextFormat::ParseFromString(fmt::format(R"(epoch: 5 revision: 9
      fleet {{ fleet: "ns/f" }} models {{ {} }})",
                                                                        Model(kStable)),
                                                            &of_peer));
  routing::PeerService peer(
      "ns/f", [] { return routing::PeerLoad(); }, [&] { return std::make_shared<DesiredState>(of_peer); });
  routing::TestPeerListener listener("unix:" + (dir_.path() / "peer_b.sock").string(), node_.router, peer);
  peers_ = {"unix:" + (dir_.path() / "peer_*.sock").string()};
  StartAgent();
  node_.Hold({1});
  EXPECT_TRUE(Ask(node_.router, routing::DigitsCall(0)));
  while (!agent_->state()) std::this_thread::yield();
  StartController();
  const Hello hello =
      controller_->Await([](const FromNode& m) { return m.has_hello() && m.hello().epoch() == 5; }).hello();
  EXPECT_EQ(hello.revision(), 0) << "any message of a controller must be newer";
  EXPECT_EQ(controller_->Send(Snapshot(5, 1, kStable)).error(), "");
}

TEST_F(AgentTest, AGuardMayTripWhileTheAgentIsDestroyed) {
  std::atomic<bool> stop = false;
  std::atomic<int64_t> trips = 0;
  std::thread tripping([&] {
    for (int64_t version = 0; !stop; ++version) {
      const auto guard = node_.guards->For({"digits", version, ""});
      if (node_.guards->TripNow(*guard, "NonFinite", "NaN", node_.clock.Now())) ++trips;
    }
  });
  const auto await_trip = [&] {
    const int64_t before = trips;
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(30);
    while (trips == before && std::chrono::steady_clock::now() < end) std::this_thread::yield();
    return trips > before;
  };
  for (int i = 0; i < 30 && !HasFailure(); ++i) {
    StartAgent();
    EXPECT_TRUE(await_trip()) << "no guard trips while the agent runs";
    agent_.reset();
    EXPECT_TRUE(await_trip()) << "no guard trips after the agent is destroyed";
  }
  stop = true;
  tripping.join();
}

TEST_F(AgentTest, DrainsWhenTheControllerRequestsIt) {
  StartController();
  StartAgent();
  controller_->AwaitHello();
  controller_->Send("epoch: 1 revision: 1 drain {fleet_is_gone: true}");
  EXPECT_TRUE(drained_.get_future().get()) << "that the fleet is gone";
  EXPECT_TRUE(controller_->AwaitReport([](const Report& r) { return r.draining(); }).draining());
}

TEST_F(AgentTest, MovesConnectionsWhenTheControllerRequestsIt) {
  StartController();
  StartAgent();
  EXPECT_TRUE(controller_->AwaitHello().moves_connections());
  controller_->Write("move_connections { load_share: 0.5 connections_max: 3 }");
  const control::MoveConnections moves = moved_.get_future().get();
  EXPECT_EQ(moves.load_share(), 0.5);
  EXPECT_EQ(moves.connections_max(), 3);
}

TEST_F(AgentTest, RequestsACertificateAndReconnectsWhenItsPeerAddressChanges) {
  identity_ =
      std::make_unique<identity::NodeIdentity>(identity::Options{.file = state_dir_ / "identity.pb"}, wall_, timer_);
  StartController();
  StartAgent();
  EXPECT_EQ(controller_->AwaitHello().peer_address(), "");
  const FromNode asked = controller_->Await([](const FromNode& message) { return message.has_certificate_request(); });
  const auto authority = tls::MakeAuthority("test", std::chrono::hours(1)).value();
  FromController answer;
  Certificate& certificate = *answer.mutable_certificate();
  certificate.set_certificate(tls::Sign(authority, asked.certificate_request().request(),
                                        {.name = "a", .dns_names = {"f.test"}}, std::chrono::hours(1))
                                  .value());
  certificate.set_authorities(authority.certificate);
  certificate.set_fleet_name("f.test");
  controller_->Write(answer.DebugString());
  EXPECT_EQ(controller_->Send(Snapshot(1, 1, kStable)).error(), "")
      << "earlier messages have been handled when this is acknowledged";
  ASSERT_NE(identity_->current(), nullptr);
  EXPECT_EQ(identity_->current()->fleet_name, "f.test");
  peer_address_ = true;
  agent_->Reconnect();
  EXPECT_EQ(controller_->AwaitHello().peer_address(), "10.0.0.1:8503");
}

TEST(WantedOf, ContainsOnlyLoadedVersionsWithReadableSources) {
  DesiredState state;
  ASSERT_TRUE(google::protobuf::TextFormat::ParseFromString(R"(
      models { served_name: "a" source_uri: "file:///m/a" versions { version: 1 load: true } versions { version: 2 }
               batching { max_batch_size: 8 max_delay_us: 100 } }
      models { served_name: "b" source_uri: "s3://m/b" versions { version: 1 load: true } }
      models { served_name: "c" source_uri: "file:///m/c" versions { version: 1 } })",
                                                            &state));
  const auto sources = sources::Sources::Start({.cache_dir = testing::TempDir() + "wanted"});
  const auto wanted = WantedOf(state, **sources);
  ASSERT_EQ(wanted.size(), 1u);
  EXPECT_EQ(wanted[0].base_path, "/m/a");
  EXPECT_EQ(wanted[0].versions, std::vector<int64_t>{1});
  EXPECT_EQ(wanted[0].batching.max_batch_size, 8);
  EXPECT_EQ(wanted[0].batching.queue_max, 1000);
}

TEST(StateOf, DistinguishesRehearsalAndQuarantineFromLoadingAndFailed) {
  const auto of = [](models::State state, GateView gate, Code code = Code::kOk) {
    return StateOf(
        {.version = 1, .state = state, .error = {code, ""}, .memory_bytes = 0, .digest = "", .base_path = {}}, gate);
  };
  EXPECT_EQ(of(models::State::kLoading, {.in_rehearsal = true}), VersionReport::REHEARSAL);
  EXPECT_EQ(of(models::State::kLoading, {}), VersionReport::LOADING);
  EXPECT_EQ(of(models::State::kAvailable, {}), VersionReport::READY);
  EXPECT_EQ(of(models::State::kFailed, {.quarantined = true}, Code::kAborted), VersionReport::QUARANTINED);
  EXPECT_EQ(of(models::State::kFailed, {}, Code::kNotFound), VersionReport::NOT_FOUND);
  EXPECT_EQ(of(models::State::kFailed, {}, Code::kDataLoss), VersionReport::FAILED);
}

}  // namespace
}  // namespace longshore::control
