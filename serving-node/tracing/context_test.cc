#include "serving-node/tracing/context.h"

#include <gmock/gmock.h>

#include <array>

#include "serving-node/tracing/sampler.h"

namespace longshore::tracing {
namespace {

constexpr const char* kValid = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";

std::optional<Context> Parse(std::string_view traceparent, std::vector<std::string_view> states = {}) {
  const std::array parents = {traceparent};
  return ParseContext({.traceparents = parents, .tracestates = states});
}

std::string StateOf(std::vector<std::string_view> states) { return Parse(kValid, std::move(states))->state; }

std::string Repeated(const std::string& text, size_t times) {
  std::string all;
  for (size_t i = 0; i < times; ++i) all += text;
  return all;
}

TEST(Context, IsReadFromAHeaderAndWrittenBack) {
  const auto context = Parse(kValid);
  ASSERT_TRUE(context);
  EXPECT_EQ(context->trace_id, (TraceId{0x4bf92f3577b34da6, 0xa3ce929d0e0e4736}));
  EXPECT_EQ(context->span_id, 0x00f067aa0ba902b7U);
  EXPECT_TRUE(context->sampled);
  EXPECT_EQ(FormatTraceparent(*context), kValid);
}

TEST(Context, HasOnlyTheFlagSampled) {
  EXPECT_FALSE(Parse("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-fe")->sampled);
  const auto context = Parse("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-ff");
  EXPECT_TRUE(context->sampled);
  EXPECT_EQ(FormatTraceparent(*context), kValid);
}

TEST(Context, OfALaterVersionMayHaveMoreFields) {
  EXPECT_TRUE(Parse("cc-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"));
  EXPECT_TRUE(Parse("cc-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-what-the-future-will-be-like"));
  EXPECT_FALSE(Parse("cc-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01.what-the-future-will-be-like"));
  EXPECT_FALSE(Parse("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-x"));
}

TEST(Context, IsIgnoredIfItsHeaderIsNotValid) {
  for (const char* text : {
           "",
           "00",
           "ff-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
           "0-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
           "00-00000000000000000000000000000000-00f067aa0ba902b7-01",
           "00-4bf92f3577b34da6a3ce929d0e0e4736-0000000000000000-01",
           "00-4BF92F3577B34DA6A3CE929D0E0E4736-00f067aa0ba902b7-01",
           "00-4bf92f3577b34da6a3ce929d0e0e473-00f067aa0ba902b7-011",
           "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-0x",
           "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-1",
           "00_4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
           "00-4bf92f3577b34da6a3ce929d0e0e4736_00f067aa0ba902b7-01",
           "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7.01",
           ".0-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
       })
    EXPECT_FALSE(Parse(text)) << text;
}

TEST(Context, IsIgnoredIfItsHeaderIsRepeated) {
  const std::array<std::string_view, 2> twice = {kValid, kValid};
  EXPECT_FALSE(ParseContext({.traceparents = twice, .tracestates = {}}));
}

TEST(Context, KeepsTheMembersOfAValidStateInTheirOrder) {
  EXPECT_EQ(StateOf({"rojo=00f067aa0ba902b7,congo=t61rcWkgMzE"}), "rojo=00f067aa0ba902b7,congo=t61rcWkgMzE");
  EXPECT_EQ(StateOf({"a=1, b=2 ,\tc=3\t"}), "a=1,b=2,c=3") << "metadata of gRPC must not contain a tab";
  EXPECT_EQ(StateOf({"0tenant@vendor=a b", "x-/*_9=!~"}), "0tenant@vendor=a b,x-/*_9=!~");
  EXPECT_EQ(StateOf({"a=1,,b=2,"}), "a=1,b=2");
  EXPECT_EQ(StateOf({"b=1", "a=2, b=3"}), "b=1,a=2,b=3") << "the order counts";
}

TEST(Context, DropsAStateThatIsNotValid) {
  for (const std::string& text :
       {std::string("foo"), std::string("=1"), std::string("a="), std::string("A=1"), std::string("@a=1"),
        std::string("a=1=2"), std::string("a=\x01"), std::string("a=\xc3\xa4"), std::string("a=1\t2"),
        std::string(" ,"), std::string("a b=1"), Repeated("x", 257) + "=1", std::string("-a=1"),
        "a=" + Repeated("v", 257)})
    EXPECT_EQ(StateOf({text}), "") << text;
  EXPECT_NE(StateOf({Repeated("x", 256) + "=1"}), "");
  EXPECT_NE(StateOf({"1@" + Repeated("v", 254) + "=" + Repeated("v", 256)}), "") << "level 2 allows @ in any key";
}

TEST(Context, DropsAStateWithTooManyMembersOrBytes) {
  EXPECT_NE(StateOf({Repeated("a=1,", 32)}), "");
  EXPECT_EQ(StateOf({Repeated("a=1,", 33)}), "");
  const std::string member = "a=" + Repeated("v", 253) + ",";  // 256 bytes.
  EXPECT_EQ(StateOf({Repeated(member, 15) + "a=" + Repeated("v", 253)}).size(), 4095U);
  EXPECT_EQ(StateOf({Repeated(member, 17)}), "");
  EXPECT_EQ(StateOf({Repeated(member, 10), Repeated(member, 10)}), "");
}

TEST(Sampler, FollowsTheDecisionOfTheCaller) {
  EXPECT_TRUE(IsSampled(Context{.trace_id = {1, 1}, .span_id = 1, .sampled = true}, {1, 1}, 0));
  EXPECT_FALSE(IsSampled(Context{.trace_id = {1, 1}, .span_id = 1, .sampled = false}, {1, 1}, 1));
}

TEST(Sampler, ComparesTheLowerHalfOfTheIdOfANewTraceWithTheRatio) {
  EXPECT_FALSE(IsSampled(std::nullopt, {1, 0}, 0));
  EXPECT_TRUE(IsSampled(std::nullopt, {0, ~uint64_t{0}}, 1));
  EXPECT_TRUE(IsSampled(std::nullopt, {0, 0x7fffffffffffffff}, 0.5));
  EXPECT_FALSE(IsSampled(std::nullopt, {0, 0x8000000000000000}, 0.5));
}

}  // namespace
}  // namespace longshore::tracing
