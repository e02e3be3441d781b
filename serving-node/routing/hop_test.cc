#include "serving-node/routing/hop.h"

#include <gmock/gmock.h>

#include "longshore/peer.pb.h"

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
  const auto client = ClientOf(Received(sent));
  ASSERT_TRUE(client);
  EXPECT_THAT(client->headers,
              ElementsAre(Pair("x-user", "caf\xc3\xa9\x01"), Pair("x-user", "second"), Pair(kHopHeader, "1")));
  for (const auto& [name, value] : sent.metadata) EXPECT_EQ(value.find("secret"), value.npos) << name;
}

TEST(Hop, SendsLargeHeadersOfTheClientInParts) {
  const std::string large(60000, 'x');
  const ForwardCall sent = HomeCall(FromClient({{"x-large", large}, {"x-user", "alice"}}));
  for (const auto& [name, value] : sent.metadata) EXPECT_LE(value.size(), 24 << 10) << name;
  const auto client = ClientOf(Received(sent));
  ASSERT_TRUE(client);
  EXPECT_THAT(client->headers, ElementsAre(Pair("x-large", large), Pair("x-user", "alice")));
}

TEST(Hop, KeepsThePriorityOnTheWayToAHome) {
  Request request = FromClient({});
  request.priority = 7;
  EXPECT_THAT(HomeCall(request).metadata, testing::Contains(Pair("x-longshore-priority", "7")));
}

TEST(Hop, AHomeGetsTheVerifiedIdentityOfTheClient) {
  Request request = FromClient({{"authorization", "Bearer secret"}});
  request.call.caller = {.client = "web \xff", .claims = std::make_shared<const Json>(Json{{"groups", {"testers"}}})};
  const auto client = ClientOf(Received(HomeCall(request)));
  ASSERT_TRUE(client);
  EXPECT_EQ(client->caller.client, "web \xff") << "a name need not be UTF-8";
  EXPECT_EQ(*client->caller.claims, (Json{{"groups", {"testers"}}}));
}

TEST(Hop, AClientCannotSendAnIdentityInAHeader) {
  peer::ClientHeaders forged;
  forged.set_client("admin");
  Request request = FromClient({{kHopClientHeader, forged.SerializeAsString()}});
  const auto client = ClientOf(Received(HomeCall(request)));
  ASSERT_TRUE(client);
  EXPECT_EQ(client->caller.client, "");
  EXPECT_EQ(client->caller.claims, nullptr);
}

TEST(Hop, RefusesAClientThatCannotBeParsed) {
  PredictCall call;
  EXPECT_TRUE(ClientOf(call)->headers.empty());
  peer::ClientHeaders list;
  list.set_claims("[1]");
  for (const auto& wrong : {std::string("\xff"), list.SerializeAsString()}) {
    call.headers = {{kHopClientHeader, wrong}};
    EXPECT_EQ(ClientOf(call).error().code, Code::kInvalidArgument);
  }
}

TEST(Hop, TellsAHolderThatAMatchRuleChoseTheVersion) {
  Request request = FromClient({});
  const auto table = std::make_shared<RoutingTable>();
  request.table = table;
  for (const bool matched : {false, true}) {
    const auto hop = ParseHop(Received(HopCall(request, {.version = 3, .matched = matched}, "b")));
    ASSERT_TRUE(hop);
    EXPECT_EQ(hop->matched, matched);
  }
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
