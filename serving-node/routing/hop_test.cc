#include "serving-node/routing/hop.h"

#include <gmock/gmock.h>

namespace longshore::routing {
namespace {

using testing::ElementsAre;
using testing::Pair;

PredictCall Received(const ForwardCall& sent) {
  PredictCall call;
  call.headers = sent.metadata;
  return call;
}

Request FromClient(Headers headers) {
  Request request;
  request.call.headers = std::move(headers);
  request.call.request.mutable_model_spec()->set_name("digits");
  return request;
}

TEST(Hop, AHomeGetsTheHeadersOfTheClientWithoutItsToken) {
  Request request = FromClient(
      {{"authorization", "Bearer secret"}, {"x-user", "caf\xc3\xa9\x01"}, {"x-user", "second"}, {kHopHeader, "1"}});
  const ForwardCall sent = HomeCall(request);
  const auto headers = ClientHeadersOf(Received(sent));
  ASSERT_TRUE(headers);
  EXPECT_THAT(*headers,
              ElementsAre(Pair("x-user", "caf\xc3\xa9\x01"), Pair("x-user", "second"), Pair(kHopHeader, "1")));
  for (const auto& [name, value] : sent.metadata) EXPECT_EQ(value.find("secret"), value.npos) << name;
}

TEST(Hop, KeepsThePriorityOnTheWayToAHome) {
  Request request = FromClient({});
  request.priority = 7;
  EXPECT_THAT(HomeCall(request).metadata, testing::Contains(Pair("x-longshore-priority", "7")));
}

TEST(Hop, RefusesClientHeadersThatCannotBeParsed) {
  PredictCall call;
  EXPECT_TRUE(ClientHeadersOf(call)->empty());
  call.headers = {{kHopClientHeader, "\xff"}};
  EXPECT_EQ(ClientHeadersOf(call).error().code, Code::kInvalidArgument);
}

TEST(Hop, DistinguishesHopsToHomesAndToHolders) {
  PredictCall call;
  call.headers = {{kHopHeader, kHopToHome}, {kHopFleetHeader, "ns/f"}, {kHopDiedHeader, "1"}};
  const auto home = ParseHop(call);
  ASSERT_TRUE(home);
  EXPECT_TRUE(home->to_home);
  EXPECT_TRUE(home->died_once);
  EXPECT_EQ(home->fleet, "ns/f");
  call.headers = {{kHopHeader, kHopToHolder}, {kHopVersionHeader, "3"}};
  EXPECT_FALSE(ParseHop(call)->to_home);
  EXPECT_EQ(ParseHop(call)->version, 3);
  call.headers = {{kHopHeader, "other"}, {kHopVersionHeader, "3"}};
  EXPECT_FALSE(ParseHop(call));
}

Hop WithBin(const std::string& text) {
  static PredictCall call;
  call.headers = {{kHopHeader, kHopToHolder}, {kHopVersionHeader, "3"}, {kHopBinHeader, text}};
  return *ParseHop(call);
}

TEST(Hop, HasTheBinOfTheKeyOrNone) {
  EXPECT_EQ(WithBin("17 uid/2/1").bin, 17);
  EXPECT_EQ(WithBin("17 uid/2/1").salt, "uid/2/1");
  for (const char* text : {"", "17", "200 uid/2/1", "-1 uid/2/1", "x uid/2/1", "99999999999 s"}) {
    EXPECT_EQ(WithBin(text).bin, -1) << text;
    EXPECT_EQ(WithBin(text).salt, "") << text;
  }
}

TEST(Hop, RefusesAHopToAHomeFromAnotherFleet) {
  const Headers to_home = {{kHopHeader, kHopToHome}, {kHopFleetHeader, "ns/f"}};
  EXPECT_EQ(IsToHome(to_home, "ns/f"), true);
  EXPECT_EQ(IsToHome({}, "ns/f"), false);
  EXPECT_EQ(IsToHome(to_home, "ns/g").error().code, Code::kUnavailable);
}

TEST(Hop, ConvertsErrorCodesForPeersAndBackForClients) {
  EXPECT_EQ(ToPeer<int>(Unavailable("full")).error().code, kHopFull);
  EXPECT_EQ(ToPeer<int>(NotFound("none")).error().code, Code::kNotFound);
  EXPECT_EQ(FromPeer(Fail(kHopFull, "full")).error(), (Error{Code::kUnavailable, "full"}));
  EXPECT_EQ(FromPeer(NotFound("none")).error().code, Code::kNotFound);
}

}  // namespace
}  // namespace longshore::routing
