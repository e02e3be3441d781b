// Tests nodes of a cluster in this process: requests between nodes that have certificates, and callers that the peer
// listener must refuse.
#include "serving-node/app/peer_listener.h"

#include <gmock/gmock.h>

#include <future>

#include "common/json/json.h"
#include "common/net/tls/request.h"
#include "common/os/file.h"
#include "common/os/process/descriptors.h"
#include "longshore/peer.pb.h"
#include "serving-node/app/testing.h"

namespace longshore::app {
namespace {

using std::chrono::hours;
using testing::HasSubstr;

constexpr const char* kFleet = "uid-1.f.ns.fleet.test";

class PeerListenerTest : public NodeTest {
 protected:
  void SetUp() override {
#ifdef LONGSHORE_SANITIZER_THREAD
    GTEST_SKIP() << "gRPC is not built with the thread sanitizer";
#endif
    NodeTest::SetUp();
  }

  // Returns an identity that `authority` signed, as a controller would do.
  static identity::PeerIdentity Certified(const tls::KeyPair& authority, const std::string& fleet_name,
                                          hours lifetime = hours(1)) {
    const auto request = tls::MakeRequest().value();
    const auto certificate =
        tls::Sign(authority, request.request, {.name = "node", .dns_names = {fleet_name}}, lifetime).value();
    return {.own = {certificate, request.key}, .authorities = authority.certificate, .fleet_name = fleet_name};
  }
  void BeOfACluster(const std::string& node) {
    BeManaged();
    flags_.node = node;
    flags_.state_dir = dir_ / node;
    flags_.peer_address = "127.0.0.1:0";
    flags_.controller_ca_file = dir_ / "ca.crt";
    std::filesystem::create_directories(flags_.state_dir);
    ASSERT_TRUE(WriteFileAtomically(flags_.controller_ca_file, authority_.certificate));
  }
  void HoldCertificate(const identity::PeerIdentity& identity) {
    control::NodeIdentity kept;
    kept.set_key(identity.own.key);
    kept.mutable_certificate()->set_certificate(identity.own.certificate);
    kept.mutable_certificate()->set_authorities(identity.authorities);
    kept.mutable_certificate()->set_fleet_name(identity.fleet_name);
    ASSERT_TRUE(WriteFileAtomically(flags_.state_dir / "identity.pb", kept.SerializeAsString()));
  }
  // Starts a node that serves and whose peer listener is open.
  void StartHolder() {
    BeOfACluster("holder");
    HoldCertificate(Certified(authority_, kFleet));
    Hold(Half());
    Start();
    ASSERT_TRUE(TickUntil([this] { return IsReady(); })) << Admin("/readyz");
  }
  std::string PeerAddress() {
    const std::string answer = Admin("/debug/state");
    return ParseJson(answer.substr(answer.find("\r\n\r\n") + 4)).value().at("peer_address");
  }
  static Error Ask(const std::string& target, routing::Forwarder& forwarder) {
    peer::LoadRequest request;
    request.set_fleet("ns/f");
    routing::ForwardCall call;
    call.target = target;
    call.method = "/longshore.peer.Peer/GetLoad";
    call.serialized = Pieces(request.SerializeAsString());
    call.deadline = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    std::promise<Result<Pieces>> answer;
    forwarder.Forward(std::move(call), [&](Result<Pieces> reply) { answer.set_value(std::move(reply)); });
    const auto reply = answer.get_future().get();
    return reply ? Error{Code::kOk, ""} : reply.error();
  }
  // Returns the answer of the node's peer listener to a caller with this identity.
  Error AnswerTo(const identity::PeerIdentity& identity) {
    const auto shown = std::make_shared<const identity::PeerIdentity>(identity);
    return Ask(PeerAddress(), *routing::MakeGrpcForwarder({.fleet = "ns/f", .identity = [=] { return shown; }}));
  }

  const tls::KeyPair authority_ = tls::MakeAuthority("test", hours(2)).value();
};

TEST_F(PeerListenerTest, AnswersForwardedRequestsOfTheSameFleet) {
  StartHolder();
  control::DesiredState state = Half();
  state.mutable_models(0)->mutable_versions(0)->set_load(false);
  state.mutable_models(0)->mutable_versions(0)->add_ready("holder");
  control::Peer& peer = *state.mutable_fleet()->add_peers();
  peer.set_node("holder");
  peer.set_address(PeerAddress());
  const auto holder = std::move(node_);
  BeOfACluster("other");
  HoldCertificate(Certified(authority_, kFleet));
  Hold(state);
  Start();
  ASSERT_TRUE(TickUntil([this] { return IsReady(); })) << Admin("/readyz");
  EXPECT_THAT(Answer(*node_), HasSubstr("3.0"));
}

TEST_F(PeerListenerTest, RefusesNodesOfOtherFleets) {
  StartHolder();
  EXPECT_EQ(AnswerTo(Certified(authority_, kFleet)).code, Code::kOk);
  for (const char* of_others :
       {"uid-2.f.ns.fleet.test", "uid-1.g.ns.fleet.test", "uid-1.f.ns", "longshore-nodes.test"}) {
    auto stranger = Certified(authority_, of_others);
    stranger.fleet_name = kFleet;  // The client accepts the server; only the server can refuse.
    const Error refused = AnswerTo(stranger);
    EXPECT_EQ(refused.code, Code::kUnauthenticated) << of_others;
    EXPECT_THAT(refused.message, HasSubstr("does not belong to the fleet"));
  }
}

TEST_F(PeerListenerTest, RefusesHandshakesWithoutAValidCertificate) {
  StartHolder();
  const auto another = tls::MakeAuthority("test", hours(2)).value();
  auto forged = Certified(another, kFleet);
  forged.authorities = authority_.certificate;
  auto anonymous = Certified(authority_, kFleet);
  anonymous.own = {};
  EXPECT_EQ(AnswerTo(Certified(authority_, kFleet, hours(-1))).code, Code::kUnavailable) << "it has expired";
  EXPECT_EQ(AnswerTo(forged).code, Code::kUnavailable) << "another authority with the same name signed it";
  EXPECT_EQ(AnswerTo(anonymous).code, Code::kUnavailable) << "the caller sends no certificate";
  EXPECT_EQ(Ask(PeerAddress(), *routing::MakeGrpcForwarder({.fleet = "ns/f"})).code, Code::kUnavailable)
      << "plain text";
  EXPECT_EQ(AnswerTo(Certified(authority_, kFleet)).code, Code::kOk);
}

TEST_F(PeerListenerTest, ClientsRefuseANodeOfAnotherFleetAtTheSameAddress) {
  StartHolder();
  const Error refused = AnswerTo(Certified(authority_, "uid-2.f.ns.fleet.test"));
  EXPECT_EQ(refused.code, Code::kUnavailable);
  EXPECT_THAT(refused.message, HasSubstr("uid-2.f.ns.fleet.test is not in peer certificate"));
}

TEST_F(PeerListenerTest, ClientsUseANewCertificateForTheNextCall) {
  StartHolder();
  std::shared_ptr<const identity::PeerIdentity> shown;
  const auto forwarder = routing::MakeGrpcForwarder({.fleet = "ns/f", .identity = [&] { return shown; }});
  EXPECT_THAT(Ask(PeerAddress(), *forwarder).message, HasSubstr("no certificate yet"));
  shown = std::make_shared<identity::PeerIdentity>(Certified(authority_, kFleet, hours(-1)));
  EXPECT_EQ(Ask(PeerAddress(), *forwarder).code, Code::kUnavailable) << "it has expired";
  shown = std::make_shared<identity::PeerIdentity>(Certified(authority_, kFleet));
  EXPECT_EQ(Ask(PeerAddress(), *forwarder).code, Code::kOk);
}

TEST_F(PeerListenerTest, TrustsANewAuthorityWithoutReopening) {
  BeOfACluster("a");
  HoldCertificate(Certified(authority_, kFleet));
  const auto another = tls::MakeAuthority("another", hours(2)).value();
  ASSERT_TRUE(WriteFileAtomically(flags_.controller_ca_file, another.certificate));
  const auto components = BuildComponents(flags_, {}, [](const auto&, const auto&) {}).value();
  PeerListener listener(flags_, *components, {}, {});
  ASSERT_TRUE(listener.OpenIfPossible().value());
  auto peer = std::make_shared<identity::PeerIdentity>(Certified(another, kFleet));
  peer->authorities += authority_.certificate;
  const auto forwarder = routing::MakeGrpcForwarder({.fleet = "ns/f", .identity = [=] { return peer; }});
  EXPECT_EQ(Ask(listener.address(), *forwarder).code, Code::kUnavailable);
  control::Certificate renewed;
  renewed.set_certificate(
      tls::Sign(another, components->identity->RequestIfDue().value(), {.name = "a", .dns_names = {kFleet}}, hours(1))
          .value());
  renewed.set_authorities(another.certificate);
  renewed.set_fleet_name(kFleet);
  ASSERT_TRUE(components->identity->Take(renewed));
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  Code code = Code::kUnavailable;
  while (code == Code::kUnavailable && std::chrono::steady_clock::now() < deadline) {
    code = Ask(listener.address(), *forwarder).code;
  }
  EXPECT_EQ(code, Code::kOk);
}

TEST_F(PeerListenerTest, StaysClosedWithoutACertificateWhileTheNodeServes) {
  BeOfACluster("fresh");
  Hold(Half());
  Start();
  ASSERT_TRUE(TickUntil([this] { return IsReady(); })) << Admin("/readyz");
  EXPECT_THAT(Answer(*node_), HasSubstr("3.0"));
  EXPECT_EQ(PeerAddress(), "");
  EXPECT_THAT(Admin("/metrics"), HasSubstr("longshore_peer_certificate_end_time_seconds 0\n"));
}

TEST_F(PeerListenerTest, ReportsAnIpv6AddressInBrackets) {
  const auto can = process::ListenTcp("::1", 0);
  if (!can) GTEST_SKIP() << "this machine has no IPv6: " << can.error().message;
  const process::Descriptor none(*can);
  BeOfACluster("holder");
  HoldCertificate(Certified(authority_, kFleet));
  flags_.peer_address = "::1:0";  // The form of $(POD_IP):8503 in a pod.
  Start();
  EXPECT_THAT(PeerAddress(), testing::StartsWith("[::1]:"));
  EXPECT_EQ(AnswerTo(Certified(authority_, kFleet)).code, Code::kOk);
}

}  // namespace
}  // namespace longshore::app
