#include "controller/nodes/nodes.h"

#include <gmock/gmock.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>
#include <sys/socket.h>

#include <atomic>
#include <condition_variable>
#include <future>
#include <limits>
#include <list>
#include <mutex>
#include <optional>
#include <thread>

#include "common/base/path.h"
#include "common/net/grpc_server/message_reader.h"
#include "common/net/http2/testing.h"
#include "common/net/tls/authority.h"
#include "common/node_contract/state_digest.h"
#include "common/os/file.h"
#include "common/os/process/descriptors.h"
#include "controller/nodes/epoch_raises.h"
#include "longshore/control.grpc.pb.h"

namespace longshore::nodes {
namespace {

constexpr const char* kFleet = "default/cpu";

// Simulates the node's end of a stream.
class FakeNode {
 public:
  // Without a hello, the node sends nothing.
  FakeNode(const Path& socket, const std::optional<control::Hello>& hello)
      : FakeNode("unix:" + socket.string(), hello, {}) {}
  FakeNode(const std::string& target, const std::optional<control::Hello>& hello,
           const std::vector<std::string>& authorizations,
           const std::shared_ptr<grpc::ChannelCredentials>& credentials = grpc::InsecureChannelCredentials())
      : stub_(control::NodeControl::NewStub(grpc::CreateChannel(target, credentials))) {
    for (const std::string& text : authorizations) context_.AddMetadata("authorization", text);
    stream_ = stub_->Attach(&context_);
    if (!hello) return;
    control::FromNode message;
    *message.mutable_hello() = *hello;
    stream_->Write(message);
  }
  ~FakeNode() { context_.TryCancel(); }

  control::FromController ReadAny() {
    control::FromController message;
    EXPECT_TRUE(stream_->Read(&message));
    return message;
  }
  control::FromController Read() {
    control::FromController message;
    do {
      message = ReadAny();
    } while (message.has_heartbeat());
    return message;
  }
  grpc::Status ReadEnd() {
    control::FromController message;
    while (stream_->Read(&message)) {
    }
    return stream_->Finish();
  }
  void Report(int64_t revision, int64_t epoch = 0) {
    control::FromNode message;
    message.mutable_report()->set_epoch(epoch);
    message.mutable_report()->set_revision(revision);
    stream_->Write(message);
  }
  void AskForCertificate(const std::string& request) {
    control::FromNode message;
    message.mutable_certificate_request()->set_request(request);
    stream_->Write(message);
  }
  void Ack(const control::FromController& taken, const std::string& digest, const std::string& error = "") {
    control::FromNode message;
    message.mutable_ack()->set_epoch(taken.epoch());
    message.mutable_ack()->set_revision(taken.revision());
    message.mutable_ack()->set_state_digest(digest);
    message.mutable_ack()->set_error(error);
    stream_->Write(message);
  }

 private:
  grpc::ClientContext context_;
  std::unique_ptr<control::NodeControl::Stub> stub_;
  std::unique_ptr<grpc::ClientReaderWriter<control::FromNode, control::FromController>> stream_;
};

// A node whose machine has stopped. It says hello. Then it never reads, and sends only if Report is called.
class SilentNode {
 public:
  SilentNode(const Path& socket, control::Hello hello) : socket_(process::ConnectUnix(socket).value()) {
    control::FromNode message;
    *message.mutable_hello() = std::move(hello);
    stream_ = client_.Request("/longshore.control.NodeControl/Attach", Framed(message),
                              {{"content-type", "application/grpc"}, {"te", "trailers"}}, false);
    Send(client_.TakeSent());
  }
  void Report() {
    control::FromNode message;
    message.mutable_report()->set_revision(1);
    const std::string body = Framed(message);
    // The head of a DATA frame: its length, type and flags in three, one and one byte, and its stream in four.
    const std::string head = {0, 0, static_cast<char>(body.size()), 0, 0, 0, 0, 0, static_cast<char>(stream_)};
    Send(head + body);
  }

 private:
  static std::string Framed(const control::FromNode& message) {
    const std::string bytes = message.SerializeAsString();
    const auto prefix = grpc_server::MessagePrefix(bytes.size());
    return std::string(prefix.begin(), prefix.end()) + bytes;
  }
  void Send(const std::string& frames) {
    EXPECT_EQ(send(socket_.get(), frames.data(), frames.size(), MSG_NOSIGNAL), static_cast<ssize_t>(frames.size()));
  }

  int32_t stream_ = 0;
  http2::TestClient client_;
  const process::Descriptor socket_;
};

class RegistryTest : public ::testing::Test {
 protected:
  RegistryTest() {
    char name[] = "/tmp/longshore_nodes_XXXXXX";
    dir_ = mkdtemp(name);
    registry_ = StartRegistry();
  }
  ~RegistryTest() override {
    registry_.reset();
    std::filesystem::remove_all(dir_);
  }

  Path Socket() const { return dir_ / "controller.sock"; }

  using Raise = std::function<Result<int64_t>(int64_t above)>;
  std::unique_ptr<Registry> StartRegistry(
      Options options = {}, Raise raise = [](int64_t above) { return above + 1; }) {
    if (options.address.empty()) options.address = "unix:" + Socket().string();
    options.raise_epoch = std::move(raise);
    auto started = Registry::Start(options, clock_, [this](const std::string&, const std::string&) {
      const std::scoped_lock lock(mutex_);
      ++changes_;
      changed_.notify_all();
    });
    EXPECT_TRUE(started) << started.error().message;
    return std::move(*started);
  }

  static control::Hello Hello(const std::string& node, const std::string& incarnation = "i1") {
    control::Hello hello;
    hello.set_fleet(kFleet);
    hello.set_node(node);
    hello.set_incarnation(incarnation);
    return hello;
  }

  // Waits for the condition, which changes of nodes may fulfil; false after 20 s.
  bool WaitFor(const std::function<bool()>& condition) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, std::chrono::seconds(20), condition);
  }
  // Waits until the only node of the fleet satisfies the condition; false after 20 s.
  bool WaitUntil(const std::function<bool(const NodeView&)>& wanted) {
    return WaitFor([&] {
      const std::vector<ViewPtr> views = registry_->Nodes(kFleet);
      return views.size() == 1 && wanted(*views[0]);
    });
  }
  bool WaitForConnected() {
    return WaitUntil([](const NodeView& view) { return view.connected; });
  }

  static control::FromController Snapshot(std::vector<std::string> models = {}) {
    control::FromController message;
    auto& state = *message.mutable_snapshot()->mutable_state();
    state.mutable_fleet()->set_fleet(kFleet);
    for (const std::string& name : models) state.add_models()->set_served_name(name);
    return message;
  }
  static std::shared_ptr<const FleetPart> Part() {
    control::FleetState state;
    state.set_fleet(kFleet);
    return MakeFleetPart(std::move(state));
  }
  static control::FromController Change(const std::string& name, bool present) {
    control::FromController message;
    message.mutable_change()->set_served_name(name);
    if (present) message.mutable_change()->mutable_model()->set_served_name(name);
    return message;
  }

  Path dir_;
  FakeMonotonicClock clock_;
  std::mutex mutex_;
  std::condition_variable changed_;
  int changes_ = 0;
  std::unique_ptr<Registry> registry_;
};

TEST_F(RegistryTest, StoresTheHelloAndTheReportOfANode) {
  FakeNode node(Socket(), Hello("a"));
  ASSERT_TRUE(WaitForConnected());
  EXPECT_FALSE(registry_->Nodes(kFleet)[0]->reported);
  node.Report(7);
  ASSERT_TRUE(WaitUntil([](const NodeView& view) { return view.reported; }));
  EXPECT_EQ(registry_->Nodes(kFleet)[0]->report->revision(), 7);
  EXPECT_TRUE(registry_->Nodes("default/other").empty());
}

TEST_F(RegistryTest, SendsInOrderOfEpochAndRevisionAndKeepsACopyOfTheState) {
  FakeNode node(Socket(), Hello("a"));
  ASSERT_TRUE(WaitForConnected());
  EXPECT_EQ(registry_->Send(kFleet, "a", Change("m", true)).error().code, Code::kFailedPrecondition);
  ASSERT_TRUE(registry_->Send(kFleet, "a", Snapshot({"b", "d"}), Part()));
  ASSERT_TRUE(registry_->Send(kFleet, "a", Change("c", true)));
  ASSERT_TRUE(registry_->Send(kFleet, "a", Change("d", false)));
  const control::FromController first = node.Read();
  const control::FromController second = node.Read();
  const control::FromController third = node.Read();
  EXPECT_EQ(first.epoch(), registry_->epoch());
  EXPECT_LT(first.revision(), second.revision());
  EXPECT_EQ(first.snapshot().state().revision(), first.revision());
  const Sent sent = *registry_->Nodes(kFleet)[0]->sent;
  EXPECT_EQ(sent.revision, third.revision());
  ASSERT_EQ(sent.models.size(), 2U);
  EXPECT_TRUE(sent.models.contains("b"));
  EXPECT_TRUE(sent.models.contains("c"));
}

TEST_F(RegistryTest, RemembersTheRemovalOfAModelUntilAReportFromAfterIt) {
  FakeNode node(Socket(), Hello("a"));
  ASSERT_TRUE(WaitForConnected());
  ASSERT_TRUE(registry_->Send(kFleet, "a", Snapshot({"d"}), Part()));
  ASSERT_TRUE(registry_->Send(kFleet, "a", Change("d", false)));
  ASSERT_TRUE(registry_->Send(kFleet, "a", Change("d", true)));
  const Sent sent = *registry_->Nodes(kFleet)[0]->sent;
  control::Report report;
  report.set_epoch(sent.epoch);
  report.set_revision(sent.revision - 2);
  EXPECT_TRUE(IsBeforeRemoval(report, "d", sent));
  EXPECT_FALSE(IsBeforeRemoval(report, "other", sent));
  report.set_revision(sent.revision - 1);
  EXPECT_FALSE(IsBeforeRemoval(report, "d", sent));

  node.Report(sent.revision - 2, sent.epoch);
  ASSERT_TRUE(WaitUntil([](const NodeView& view) { return view.reported; }));
  EXPECT_EQ(registry_->Nodes(kFleet)[0]->sent->removed.size(), 1U);
  node.Report(sent.revision - 1, sent.epoch);
  EXPECT_TRUE(WaitUntil([](const NodeView& view) { return view.sent->removed.empty(); }));
}

TEST_F(RegistryTest, ASnapshotRemovesTheModelsThatItLacks) {
  FakeNode node(Socket(), Hello("a"));
  ASSERT_TRUE(WaitForConnected());
  ASSERT_TRUE(registry_->Send(kFleet, "a", Snapshot({"d", "e"}), Part()));
  control::Report before;
  before.set_epoch(registry_->Nodes(kFleet)[0]->sent->epoch);
  before.set_revision(registry_->Nodes(kFleet)[0]->sent->revision);
  EXPECT_TRUE(IsAfterChange(before, "e", *registry_->Nodes(kFleet)[0]->sent));
  ASSERT_TRUE(registry_->Send(kFleet, "a", Snapshot({"e"}), Part()));
  const Sent sent = *registry_->Nodes(kFleet)[0]->sent;
  EXPECT_TRUE(IsBeforeRemoval(before, "d", sent));
  EXPECT_FALSE(IsBeforeRemoval(before, "e", sent));
  EXPECT_FALSE(IsAfterChange(before, "e", sent));
}

TEST_F(RegistryTest, AMessageToMoveConnectionsHasNoNumberAndChangesNoState) {
  FakeNode node(Socket(), Hello("a"));
  ASSERT_TRUE(WaitForConnected());
  ASSERT_TRUE(registry_->Send(kFleet, "a", Snapshot(), Part()));
  const ViewPtr view = registry_->Nodes(kFleet)[0];
  control::FromController message;
  message.mutable_move_connections()->set_connections_max(4);
  ASSERT_TRUE(registry_->Send(kFleet, "a", std::move(message)));
  EXPECT_EQ(registry_->Nodes(kFleet)[0]->sent, view->sent) << "no copy was made";
  ASSERT_TRUE(registry_->Send(kFleet, "a", Change("m", true)));
  const int64_t revision = node.Read().revision();
  const control::FromController moves = node.Read();
  EXPECT_EQ(moves.move_connections().connections_max(), 4);
  EXPECT_EQ(moves.revision(), 0);
  EXPECT_EQ(node.Read().revision(), revision + 1);
}

TEST_F(RegistryTest, ReconnectedNodeNeedsASnapshotUnlessItHoldsExactlyTheSentState) {
  auto node = std::make_unique<FakeNode>(Socket(), Hello("a"));
  ASSERT_TRUE(WaitForConnected());
  ASSERT_TRUE(registry_->Send(kFleet, "a", Snapshot({"m"}), Part()));
  const Sent sent = *registry_->Nodes(kFleet)[0]->sent;
  node.reset();
  ASSERT_TRUE(WaitUntil([](const NodeView& view) { return !view.connected; }));
  EXPECT_EQ(registry_->Send(kFleet, "a", Snapshot(), Part()).error().code, Code::kNotFound);

  control::Hello same = Hello("a");
  same.set_epoch(sent.epoch);
  same.set_revision(sent.revision);
  same.set_state_digest(DigestOf(sent));
  node = std::make_unique<FakeNode>(Socket(), same);
  ASSERT_TRUE(WaitForConnected());
  EXPECT_TRUE(registry_->Nodes(kFleet)[0]->sent);

  control::Hello other = same;
  other.set_state_digest("something else");
  const FakeNode again(Socket(), other);
  ASSERT_TRUE(WaitUntil([](const NodeView& view) { return view.hello.state_digest() == "something else"; }));
  EXPECT_FALSE(registry_->Nodes(kFleet)[0]->sent);
}

TEST_F(RegistryTest, ANewIncarnationReplacesTheStreamAndDropsTheReport) {
  FakeNode first(Socket(), Hello("a", "i1"));
  first.Report(1);
  ASSERT_TRUE(WaitUntil([](const NodeView& view) { return view.reported; }));
  const FakeNode second(Socket(), Hello("a", "i2"));
  ASSERT_TRUE(WaitUntil([](const NodeView& view) { return view.hello.incarnation() == "i2"; }));
  EXPECT_FALSE(registry_->Nodes(kFleet)[0]->report);
  EXPECT_EQ(first.ReadEnd().error_code(), grpc::StatusCode::ABORTED);
  EXPECT_TRUE(registry_->Nodes(kFleet)[0]->connected);
}

TEST_F(RegistryTest, RefusedMessageIsKeptAsAnErrorAndRequiresASnapshot) {
  FakeNode node(Socket(), Hello("a"));
  ASSERT_TRUE(WaitForConnected());
  ASSERT_TRUE(registry_->Send(kFleet, "a", Snapshot(), Part()));
  node.Ack(node.Read(), "", "cannot write desired.pb: No space left on device");
  ASSERT_TRUE(WaitUntil([](const NodeView& view) { return !view.ack_error.empty(); }));
  EXPECT_FALSE(registry_->Nodes(kFleet)[0]->sent);
  ASSERT_TRUE(registry_->Send(kFleet, "a", Snapshot(), Part()));
  const control::FromController snapshot = node.Read();
  node.Ack(snapshot, longshore::node_contract::DigestOf(snapshot.snapshot().state()));
  node.Report(1);  // An acknowledgement without an error tells nothing new.
  EXPECT_TRUE(WaitUntil([](const NodeView& view) { return view.ack_error.empty() && view.acked_revision > 0; }));
}

TEST_F(RegistryTest, NodeWithADifferentStateThanSentNeedsASnapshot) {
  FakeNode node(Socket(), Hello("a"));
  ASSERT_TRUE(WaitForConnected());
  ASSERT_TRUE(registry_->Send(kFleet, "a", Snapshot(), Part()));
  node.Ack(node.Read(), "something else");
  ASSERT_TRUE(WaitUntil([](const NodeView& view) { return !view.ack_error.empty(); }));
  EXPECT_EQ(registry_->Nodes(kFleet)[0]->ack_error,
            "its state has the digest something else, which is not the digest of the state that the controller sent");
  EXPECT_FALSE(registry_->Nodes(kFleet)[0]->sent);
}

TEST_F(RegistryTest, NodeGetsHeartbeatsWithoutOtherMessages) {
  registry_.reset();
  registry_ = StartRegistry({.heartbeat_interval = std::chrono::milliseconds(1)});
  FakeNode node(Socket(), Hello("a"));
  ASSERT_TRUE(WaitForConnected());
  EXPECT_TRUE(node.ReadAny().has_heartbeat());
  EXPECT_TRUE(node.ReadAny().has_heartbeat());
  ASSERT_TRUE(registry_->Send(kFleet, "a", Snapshot(), Part()));
  const int64_t revision = node.Read().revision();
  EXPECT_TRUE(node.ReadAny().has_heartbeat());
  EXPECT_EQ(registry_->Nodes(kFleet)[0]->sent->revision, revision);
}

TEST_F(RegistryTest, KnownNodeIsAcceptedAtTheLimitOfNodes) {
  registry_.reset();
  registry_ = StartRegistry({.nodes_max = 1});
  auto node = std::make_unique<FakeNode>(Socket(), Hello("a"));
  ASSERT_TRUE(WaitForConnected());
  node = std::make_unique<FakeNode>(Socket(), Hello("a", "i2"));
  EXPECT_TRUE(WaitUntil([](const NodeView& view) { return view.hello.incarnation() == "i2"; }));
  FakeNode other(Socket(), Hello("b"));
  EXPECT_EQ(other.ReadEnd().error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
}

TEST_F(RegistryTest, EpochIsRaisedAboveThatOfEachNode) {
  control::Hello ahead = Hello("a");
  ahead.set_epoch(100);
  const FakeNode node(Socket(), ahead);
  ASSERT_TRUE(WaitForConnected());
  EXPECT_EQ(registry_->epoch(), 101);
}

TEST_F(RegistryTest, NodeOfALaterTermIsRefusedIfNoTermCanStart) {
  registry_.reset();
  Options options;
  options.epoch = 5;
  registry_ = StartRegistry(options, [](int64_t) { return Unavailable("another term will begin soon"); });
  control::Hello ahead = Hello("a");
  ahead.set_epoch(6);
  EXPECT_EQ(FakeNode(Socket(), ahead).ReadEnd().error_code(), grpc::StatusCode::UNAVAILABLE);
  EXPECT_EQ(registry_->epoch(), 5);
  ahead.set_epoch(4);
  const FakeNode behind(Socket(), ahead);
  EXPECT_TRUE(WaitForConnected());
}

TEST_F(RegistryTest, SendsNothingWhenMaySendReturnsFalse) {
  registry_.reset();
  std::atomic<bool> may = true;
  Options options;
  options.may_send = [&] { return may.load(); };
  registry_ = StartRegistry(options);
  FakeNode node(Socket(), Hello("a"));
  ASSERT_TRUE(WaitForConnected());
  ASSERT_TRUE(registry_->Send(kFleet, "a", Snapshot({"m"}), Part()));
  may = false;
  EXPECT_EQ(registry_->Send(kFleet, "a", Change("m", false)).error().code, Code::kFailedPrecondition);
  EXPECT_EQ(registry_->Nodes(kFleet)[0]->sent->models.size(), 1U);
}

TEST_F(RegistryTest, CloseEndsAllStreamsAndRejectsNewOnes) {
  FakeNode node(Socket(), Hello("a"));
  ASSERT_TRUE(WaitForConnected());
  auto end = std::async(std::launch::async, [&] { return node.ReadEnd(); });
  registry_->Close();
  const grpc::Status status = end.get();
  EXPECT_EQ(status.error_code(), grpc::StatusCode::UNAVAILABLE);
  EXPECT_EQ(status.error_message(), "this controller has ended its term");
  EXPECT_FALSE(registry_->Node(kFleet, "a")->connected);
  EXPECT_EQ(registry_->Send(kFleet, "a", Snapshot(), Part()).error().code, Code::kNotFound);
  EXPECT_FALSE(FakeNode(Socket(), Hello("b")).ReadEnd().ok());
}

TEST_F(RegistryTest, CloseWaitsAtMostASecondForAllNodesThatDoNotRead) {
  constexpr size_t kNodes = 20;
  std::list<SilentNode> nodes;
  for (size_t i = 0; i < kNodes; ++i) nodes.emplace_back(Socket(), Hello(std::to_string(i)));
  ASSERT_TRUE(WaitFor([this] { return registry_->Nodes(kFleet).size() == kNodes; }));
  const auto began = std::chrono::steady_clock::now();
  registry_->Close();
  // Twenty seconds if it waited for one after the other.
  EXPECT_LT(std::chrono::steady_clock::now() - began, std::chrono::seconds(10));
  for (const ViewPtr& view : registry_->Nodes(kFleet)) EXPECT_FALSE(view->connected);
}

TEST_F(RegistryTest, TheStreamOfANodeThatDoesNotAnswerPingsEnds) {
  registry_.reset();
  registry_ =
      StartRegistry({.ping_after = std::chrono::milliseconds(50), .ping_timeout = std::chrono::milliseconds(50)});
  const SilentNode node(Socket(), Hello("a"));
  EXPECT_TRUE(WaitUntil([](const NodeView& view) { return !view.connected; }));
}

TEST_F(RegistryTest, AMessageAboveTheLimitEndsTheStream) {
  registry_.reset();
  registry_ = StartRegistry({.message_bytes_max = 1000});
  FakeNode node(Socket(), Hello("a"));
  node.AskForCertificate(std::string(2000, 'x'));
  const grpc::Status end = node.ReadEnd();
  EXPECT_EQ(end.error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_THAT(end.error_message(), testing::HasSubstr("larger than max"));
  EXPECT_TRUE(WaitUntil([](const NodeView& view) { return !view.connected; }));
}

TEST_F(RegistryTest, SendsWhileStreamsBeginAndEnd) {
  std::atomic<bool> is_over = false;
  std::thread sender([&] {
    while (!is_over) static_cast<void>(registry_->Send(kFleet, "a", Snapshot(), Part()));
  });
  for (int i = 0; i < 50; ++i) {
    FakeNode node(Socket(), Hello("a", std::to_string(i)));
    EXPECT_TRUE(node.Read().has_snapshot());
  }
  is_over = true;
  sender.join();
}

TEST_F(RegistryTest, StreamWithoutHelloIsRefused) {
  FakeNode node(Socket(), control::Hello());
  EXPECT_EQ(node.ReadEnd().error_code(), grpc::StatusCode::INVALID_ARGUMENT);
}

TEST_F(RegistryTest, AStreamWithoutHelloEndsAfterItsTime) {
  registry_.reset();
  registry_ = StartRegistry({.heartbeat_interval = std::chrono::milliseconds(1)});
  const FakeNode node(Socket(), Hello("a"));
  ASSERT_TRUE(WaitForConnected());
  FakeNode silent(Socket(), std::nullopt);
  auto end = std::async(std::launch::async, [&] { return silent.ReadEnd(); });
  int passed_s = 0;
  const auto ends = [&] {
    clock_.Advance(std::chrono::seconds(1));
    ++passed_s;
    return end.wait_for(std::chrono::milliseconds(1)) == std::future_status::ready;
  };
  const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  while (!ends() && std::chrono::steady_clock::now() < until) continue;
  EXPECT_TRUE(registry_->Node(kFleet, "a")->connected) << "a node that has sent its hello may be silent";
  registry_->Close();  // Ends the stream if the time has not.
  EXPECT_EQ(end.get().error_code(), grpc::StatusCode::DEADLINE_EXCEEDED);
  EXPECT_GE(passed_s, 10);
}

TEST_F(RegistryTest, CloseEndsAStreamWithoutHello) {
  registry_.reset();
  std::promise<void> attached;
  Options options;
  options.identify = [&](std::string_view) {
    attached.set_value();
    return Identity{kFleet, "uid", "a"};
  };
  registry_ = StartRegistry(options);
  FakeNode silent(Socket(), std::nullopt);
  attached.get_future().wait();
  auto end = std::async(std::launch::async, [&] { return silent.ReadEnd(); });
  registry_->Close();
  EXPECT_EQ(end.get().error_message(), "this controller has ended its term");
}

TEST_F(RegistryTest, AFullQueueEndsOnlyTheStreamOfItsNode) {
  constexpr size_t kQueuedMax = 3;
  registry_.reset();
  registry_ = StartRegistry({.queued_max = kQueuedMax});
  FakeNode slow(Socket(), Hello("slow"));
  ASSERT_TRUE(WaitForConnected());
  FakeNode other(Socket(), Hello("other"));
  EXPECT_TRUE(WaitFor([this] { return registry_->Node(kFleet, "other") != nullptr; }));
  const control::FromController large = Snapshot({std::string(size_t{1} << 17, 'm')});
  Status sent;
  int count = 0;
  for (; sent && count < 1000; ++count) sent = registry_->Send(kFleet, "slow", large, Part());
  ASSERT_FALSE(sent) << count << " messages";
  EXPECT_EQ(sent.error().code, Code::kResourceExhausted);
  EXPECT_GT(count, static_cast<int>(kQueuedMax));
  EXPECT_EQ(slow.ReadEnd().error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_TRUE(WaitFor([this] { return !registry_->Node(kFleet, "slow")->connected; }));
  ASSERT_TRUE(registry_->Send(kFleet, "other", Snapshot(), Part()));
  EXPECT_TRUE(other.Read().has_snapshot());
}

TEST_F(RegistryTest, ANodeThatSendsButDoesNotReadIsCutOffAboveTheMemoryOfAConnection) {
  registry_.reset();
  registry_ = StartRegistry({.message_bytes_max = 1000});
  SilentNode node(Socket(), Hello("a"));
  ASSERT_TRUE(WaitForConnected());
  ASSERT_TRUE(registry_->Send(kFleet, "a", Snapshot({std::string(size_t{3} << 20, 'm')}), Part()));
  node.Report();
  EXPECT_TRUE(WaitUntil([](const NodeView& view) { return !view.connected; }));
  EXPECT_FALSE(registry_->Node(kFleet, "a")->report);
}

TEST_F(RegistryTest, ANodeWithAnImplausibleEpochIsRefused) {
  const int64_t before = registry_->epoch();
  for (const int64_t epoch : {before + kEpochAheadMax + 1, std::numeric_limits<int64_t>::max()}) {
    control::Hello hello = Hello("a");
    hello.set_epoch(epoch);
    EXPECT_EQ(FakeNode(Socket(), hello).ReadEnd().error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  }
  EXPECT_EQ(registry_->epoch(), before);
}

TEST_F(RegistryTest, NodeThatRepeatsAWrongEpochClosesOnlyItsOwnStream) {
  registry_.reset();
  Options options;
  options.epoch = 5;
  EpochRaises raises;
  std::atomic<int> allowed = 0;
  // Returns an error, as in a cluster, where the new term would start in another registry.
  registry_ = StartRegistry(options, [&](int64_t) -> Result<int64_t> {
    RETURN_IF_ERROR(raises.Allow(5 + allowed, clock_.Now()));
    ++allowed;
    return Unavailable("a term with a higher epoch will begin soon");
  });
  FakeNode honest(Socket(), Hello("honest"));
  ASSERT_TRUE(WaitForConnected());
  control::Hello liar = Hello("liar");
  for (int i = 0; i < 10; ++i) {
    liar.set_epoch(6 + i);
    const grpc::Status end = FakeNode(Socket(), liar).ReadEnd();
    EXPECT_EQ(end.error_code(), i == 0 ? grpc::StatusCode::UNAVAILABLE : grpc::StatusCode::RESOURCE_EXHAUSTED);
    EXPECT_THAT(end.error_message(), testing::HasSubstr("node liar of fleet " + std::string(kFleet) + " holds epoch"));
  }
  EXPECT_EQ(allowed, 1);
  EXPECT_EQ(registry_->epoch(), 5);
  EXPECT_TRUE(registry_->Node(kFleet, "honest")->connected);
  ASSERT_TRUE(registry_->Send(kFleet, "honest", Snapshot({"m"}), Part()));
  EXPECT_TRUE(honest.Read().has_snapshot());
}

TEST_F(RegistryTest, NodeHasOnlyTheIdentityOfItsToken) {
  Options options;
  options.address = "127.0.0.1:0";
  options.identify = [](std::string_view authorization) -> Result<Identity> {
    if (authorization == "Bearer a") return Identity{kFleet, "uid", "a"};
    return Fail(Code::kUnauthenticated, "the token is unknown");
  };
  registry_.reset();
  registry_ = StartRegistry(options);
  const std::string target = "127.0.0.1:" + std::to_string(registry_->port());
  FakeNode node(target, Hello("a"), {"Bearer a"});
  EXPECT_TRUE(WaitForConnected());
  for (const std::vector<std::string>& authorizations : std::vector<std::vector<std::string>>{{}, {"Bearer b"}}) {
    const grpc::Status refused = FakeNode(target, Hello("a"), authorizations).ReadEnd();
    EXPECT_EQ(refused.error_code(), grpc::StatusCode::UNAUTHENTICATED);
    EXPECT_EQ(refused.error_message(), "the token is unknown");
  }
  EXPECT_EQ(FakeNode(target, Hello("a"), {"Bearer a", "Bearer a"}).ReadEnd().error_code(),
            grpc::StatusCode::UNAUTHENTICATED);
  const grpc::Status other = FakeNode(target, Hello("b"), {"Bearer a"}).ReadEnd();
  EXPECT_EQ(other.error_code(), grpc::StatusCode::PERMISSION_DENIED);
  control::Hello elsewhere = Hello("a");
  elsewhere.set_fleet("default/other");
  EXPECT_EQ(FakeNode(target, elsewhere, {"Bearer a"}).ReadEnd().error_code(), grpc::StatusCode::PERMISSION_DENIED);
  EXPECT_TRUE(registry_->Nodes(kFleet).at(0)->connected) << "the node with the correct identity stays connected";
}

TEST_F(RegistryTest, NodesConnectOverTls) {
  const auto authority = tls::MakeAuthority("test", std::chrono::hours(1)).value();
  const auto own =
      tls::Issue(authority, {.name = "controller", .addresses = {"127.0.0.1"}}, std::chrono::hours(1)).value();
  Options options;
  options.address = "127.0.0.1:0";
  options.tls = tls::Identities::Start("the certificate of the test",
                                       [own] {
                                         return tls::Identity{own.certificate, own.key, {}, false};
                                       },
                                       {})
                    .value();
  registry_.reset();
  registry_ = StartRegistry(options);
  const std::string target = "127.0.0.1:" + std::to_string(registry_->port());
  EXPECT_FALSE(FakeNode(target, Hello("a"), {}).ReadEnd().ok()) << "in plain text";
  const FakeNode node(target, Hello("a"), {}, grpc::SslCredentials({authority.certificate, {}, {}}));
  EXPECT_TRUE(WaitForConnected());
}

TEST_F(RegistryTest, NewConnectionsGetTheCertificateThatTheFilesHaveNow) {
  Options options;
  options.address = "127.0.0.1:0";
  const auto write = [this](const tls::KeyPair& authority) {
    const auto own =
        tls::Issue(authority, {.name = "controller", .addresses = {"127.0.0.1"}}, std::chrono::hours(1)).value();
    ASSERT_TRUE(WriteFileAtomically(dir_ / "tls.crt", own.certificate));
    ASSERT_TRUE(WriteFileAtomically(dir_ / "tls.key", own.key));
  };
  const auto read = [this]() -> Result<tls::Identity> {
    ASSIGN_OR_RETURN(std::string certificate, ReadFile(dir_ / "tls.crt"));
    ASSIGN_OR_RETURN(std::string key, ReadFile(dir_ / "tls.key"));
    return tls::Identity{std::move(certificate), std::move(key), {}, false};
  };
  const auto first = tls::MakeAuthority("first", std::chrono::hours(1)).value();
  const auto second = tls::MakeAuthority("second", std::chrono::hours(1)).value();
  write(first);
  options.tls = tls::Identities::Start("the certificate of the test", read, {}).value();
  registry_.reset();
  registry_ = StartRegistry(options);
  const std::string target = "127.0.0.1:" + std::to_string(registry_->port());
  FakeNode old(target, Hello("old"), {}, grpc::SslCredentials({first.certificate, {}, {}}));
  ASSERT_TRUE(WaitForConnected());

  write(second);
  options.tls->Reload();
  const FakeNode node(target, Hello("new"), {}, grpc::SslCredentials({second.certificate, {}, {}}));
  EXPECT_TRUE(WaitFor([this] { return registry_->Node(kFleet, "new") != nullptr; }));
  ASSERT_TRUE(registry_->Send(kFleet, "old", Snapshot(), Part()));
  EXPECT_TRUE(old.Read().has_snapshot()) << "existing connections keep the old certificate";
}

TEST_F(RegistryTest, NodesConnectOverIpv4AndIpv6) {
  const auto can = process::ListenTcp("::1", 0);
  if (!can) GTEST_SKIP() << "this machine has no IPv6: " << can.error().message;
  const process::Descriptor none(*can);
  registry_.reset();
  Options options;
  options.address = "[::]:0";
  registry_ = StartRegistry(options);
  for (const char* host : {"127.0.0.1", "[::1]"}) {
    const FakeNode node(fmt::format("{}:{}", host, registry_->port()), Hello("a", host), {});
    EXPECT_TRUE(WaitUntil([&](const NodeView& view) { return view.hello.incarnation() == host; })) << host;
  }
}

class CertifyingRegistryTest : public RegistryTest {
 protected:
  void Restart(std::chrono::milliseconds interval) {
    Options options;
    options.address = "127.0.0.1:0";
    options.identify = [](std::string_view) -> Result<Identity> { return Identity{kFleet, "uid", "a"}; };
    options.certify = [](const Identity& node, const std::string& request) -> Result<control::Certificate> {
      if (request.empty()) return InvalidArgument("it is empty");
      control::Certificate certificate;
      certificate.set_certificate(fmt::format("{} of {} {}: {}", node.node, node.fleet, node.fleet_uid, request));
      return certificate;
    };
    options.certify_interval = interval;
    registry_.reset();
    registry_ = StartRegistry(options);
  }
  std::string Target() const { return "127.0.0.1:" + std::to_string(registry_->port()); }
};

TEST_F(CertifyingRegistryTest, NodeGetsACertificateForTheIdentityOfItsToken) {
  Restart(std::chrono::milliseconds(0));
  FakeNode node(Target(), Hello("a"), {});
  node.AskForCertificate("please");
  EXPECT_EQ(node.Read().certificate().certificate(), "a of default/cpu uid: please");
  node.AskForCertificate("");
  const control::Certificate none = node.Read().certificate();
  EXPECT_EQ(none.error(), "it is empty");
  EXPECT_EQ(none.certificate(), "");
  EXPECT_EQ(registry_->Nodes(kFleet).at(0)->acked_revision, 0) << "a certificate does not change the state";
}

TEST_F(CertifyingRegistryTest, TooFrequentRequestsCloseTheStream) {
  Restart(std::chrono::hours(1));
  FakeNode node(Target(), Hello("a"), {});
  node.AskForCertificate("please");
  EXPECT_TRUE(node.Read().has_certificate());
  node.AskForCertificate("please");
  EXPECT_EQ(node.ReadEnd().error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
}

TEST_F(CertifyingRegistryTest, RequestsBeforeTheHelloAreNotAnswered) {
  Restart(std::chrono::milliseconds(0));
  FakeNode node(Target(), control::Hello(), {});
  node.AskForCertificate("please");
  EXPECT_EQ(node.ReadEnd().error_code(), grpc::StatusCode::INVALID_ARGUMENT);
}

TEST_F(RegistryTest, RequestsForCertificatesAreRefusedWithoutAnAuthority) {
  FakeNode node(Socket(), Hello("a"));
  node.AskForCertificate("please");
  EXPECT_EQ(node.Read().certificate().error(), "this controller does not issue certificates");
}

}  // namespace
}  // namespace longshore::nodes
