#include "serving-node/control/desired.h"

#include <gmock/gmock.h>
#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>

#include "common/node_contract/state_digest.h"

namespace longshore::control {
namespace {

using testing::HasSubstr;

template <typename Message>
Message Parse(const std::string& text) {
  Message message;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &message)) << text;
  return message;
}

constexpr const char* kHeld = R"(epoch: 2 revision: 7
  fleet {fleet: "ns/f" concurrent_runs_max: 3 peers {node: "n1" address: "a:1"} peers {node: "n3" address: "a:3"}}
  models {served_name: "a" versions {version: 1 weight_bp: 10000 role: STABLE}}
  models {served_name: "c" versions {version: 1 weight_bp: 10000}})";

// The held state is kHeld. `expect` is the resulting state or, if `code` is set, a part of the error text.
struct Case {
  const char* about;
  const char* message;
  const char* expect;
  Code code = Code::kOk;
};

const Case kCases[] = {
    {"a newer snapshot replaces everything", R"(epoch: 2 revision: 8 snapshot {state {fleet {fleet: "ns/f"}}})",
     R"(epoch: 2 revision: 8 fleet {fleet: "ns/f"})"},
    {"a snapshot may repeat the number", R"(epoch: 2 revision: 7 snapshot {state {fleet {fleet: "ns/f"}}})",
     R"(epoch: 2 revision: 7 fleet {fleet: "ns/f"})"},
    {"a new leader begins with any revision", R"(epoch: 3 revision: 0 snapshot {state {fleet {fleet: "ns/f"}}})",
     R"(epoch: 3 revision: 0 fleet {fleet: "ns/f"})"},
    {"an old leader is refused", R"(epoch: 1 revision: 99 snapshot {state {fleet {fleet: "ns/f"}}})",
     "epoch 1 revision 99 is not newer than epoch 2 revision 7", Code::kAborted},
    {"a repeated change is refused", R"(epoch: 2 revision: 7 change {served_name: "a"})", "not newer", Code::kAborted},
    {"a model is removed", R"(epoch: 2 revision: 8 change {served_name: "a"})",
     R"(epoch: 2 revision: 8
        fleet {fleet: "ns/f" concurrent_runs_max: 3 peers {node: "n1" address: "a:1"} peers {node: "n3" address: "a:3"}}
        models {served_name: "c" versions {version: 1 weight_bp: 10000}})"},
    {"a model is added in its place", R"(epoch: 2 revision: 8 change {served_name: "b" model {served_name: "b"}})",
     R"(epoch: 2 revision: 8
        fleet {fleet: "ns/f" concurrent_runs_max: 3 peers {node: "n1" address: "a:1"} peers {node: "n3" address: "a:3"}}
        models {served_name: "a" versions {version: 1 weight_bp: 10000 role: STABLE}} models {served_name: "b"}
        models {served_name: "c" versions {version: 1 weight_bp: 10000}})"},
    {"only the limits change", R"(epoch: 2 revision: 8 fleet {fleet: "ns/f" concurrent_runs_max: 1})",
     R"(epoch: 2 revision: 8 fleet {fleet: "ns/f" concurrent_runs_max: 1}
        models {served_name: "a" versions {version: 1 weight_bp: 10000 role: STABLE}}
        models {served_name: "c" versions {version: 1 weight_bp: 10000}})"},
    {"another fleet's state is refused", R"(epoch: 2 revision: 8 fleet {fleet: "ns/g"})", "not to fleet ns/g",
     Code::kFailedPrecondition},
    {"a change with a match rule that RE2 refuses is accepted",
     R"(epoch: 2 revision: 8 change {served_name: "c" model {served_name: "c"
        routes {name: "r" to: STABLE conditions {key: "k" op: REGEX values: "a["}}}})",
     R"(epoch: 2 revision: 8
        fleet {fleet: "ns/f" concurrent_runs_max: 3 peers {node: "n1" address: "a:1"} peers {node: "n3" address: "a:3"}}
        models {served_name: "a" versions {version: 1 weight_bp: 10000 role: STABLE}}
        models {served_name: "c" routes {name: "r" to: STABLE conditions {key: "k" op: REGEX values: "a["}}})"},
    {"a snapshot with a match rule of a newer release is accepted", R"(epoch: 2 revision: 8 snapshot {state {
        fleet {fleet: "ns/f"} models {served_name: "a" routes {name: "r" conditions {key: "k" op: PRESENT}}}}})",
     R"(epoch: 2 revision: 8 fleet {fleet: "ns/f"}
        models {served_name: "a" routes {name: "r" conditions {key: "k" op: PRESENT}}})"},
    {"weights must add up", R"(epoch: 2 revision: 8 change {served_name: "a" model {served_name: "a"
        versions {version: 1 weight_bp: 9000}}})",
     "add up to 9000", Code::kInvalidArgument},
    {"a version must not occur twice", R"(epoch: 2 revision: 8 change {served_name: "a" model {served_name: "a"
        versions {version: 1} versions {version: 1}}})",
     "version 1 twice", Code::kInvalidArgument},
    {"a change must contain the model that it names",
     R"(epoch: 2 revision: 8 change {served_name: "a" model {served_name: "b"}})", "contains model \"b\"",
     Code::kInvalidArgument},
    {"peers are added in order, change address and are removed",
     R"(epoch: 2 revision: 8 peers {set {node: "n1" address: "b:1"} set {node: "n2"} left: "n3" left: "n9"})",
     R"(epoch: 2 revision: 8 fleet {fleet: "ns/f" concurrent_runs_max: 3 peers {node: "n1" address: "b:1"} peers {node: "n2"}}
        models {served_name: "a" versions {version: 1 weight_bp: 10000 role: STABLE}}
        models {served_name: "c" versions {version: 1 weight_bp: 10000}})"},
    {"a repeated change of peers is refused", R"(epoch: 2 revision: 7 peers {left: "n1"})", "not newer",
     Code::kAborted},
    {"a peer must not be added and removed by one change",
     R"(epoch: 2 revision: 8 peers {set {node: "n1"} left: "n1"})", "the peer n1 is in a change twice",
     Code::kInvalidArgument},
    {"an empty message is refused", "epoch: 2 revision: 8", "without content", Code::kInvalidArgument},
};

TEST(ApplyMessage, DecidesEveryCase) {
  for (const Case& c : kCases) {
    const auto state = ApplyMessage(Parse<DesiredState>(kHeld), Parse<FromController>(c.message), "ns/f");
    if (c.code == Code::kOk) {
      ASSERT_TRUE(state) << c.about << ": " << ToString(state.error());
      EXPECT_EQ(node_contract::DigestOf(*state), node_contract::DigestOf(Parse<DesiredState>(c.expect)))
          << c.about << "\n"
          << state->DebugString();
    } else {
      ASSERT_FALSE(state) << c.about;
      EXPECT_EQ(state.error().code, c.code) << c.about;
      EXPECT_THAT(state.error().message, HasSubstr(c.expect)) << c.about;
    }
  }
}

TEST(ApplyMessage, NeedsASnapshotBeforeAnyChange) {
  const auto state = ApplyMessage(std::nullopt, Parse<FromController>(R"(epoch: 9 change {served_name: "a"})"), "ns/f");
  ASSERT_FALSE(state);
  EXPECT_EQ(state.error().code, Code::kFailedPrecondition);
}

TEST(FromPeer, KeepsTheRoutesAndLoadsNoCandidate) {
  const auto of_peer = Parse<DesiredState>(R"(epoch: 4 revision: 7 fleet {fleet: "ns/f"} models {served_name: "a"
      versions {version: 1 weight_bp: 9000 role: STABLE load: true}
      versions {version: 2 weight_bp: 1000 role: CANDIDATE load: true}})");
  const auto taken = FromPeer(of_peer, "ns/f");
  ASSERT_TRUE(taken) << ToString(taken.error());
  EXPECT_EQ(taken->epoch(), 4);
  EXPECT_EQ(taken->revision(), 0);
  EXPECT_TRUE(taken->models(0).versions(0).load());
  EXPECT_FALSE(taken->models(0).versions(1).load());
  EXPECT_EQ(taken->models(0).versions(1).weight_bp(), 1000);
  EXPECT_EQ(FromPeer(of_peer, "ns/other").error().code, Code::kFailedPrecondition);
}

}  // namespace
}  // namespace longshore::control
