#include "common/net/grpc_server/wire.h"

#include <gtest/gtest.h>

namespace longshore::grpc_server {
namespace {

TEST(ParseTimeout, ReadsAllUnits) {
  using namespace std::chrono;  // NOLINT
  EXPECT_EQ(ParseTimeout("2H"), hours(2));
  EXPECT_EQ(ParseTimeout("3M"), minutes(3));
  EXPECT_EQ(ParseTimeout("4S"), seconds(4));
  EXPECT_EQ(ParseTimeout("100m"), milliseconds(100));
  EXPECT_EQ(ParseTimeout("5u"), microseconds(5));
  EXPECT_EQ(ParseTimeout("0n"), nanoseconds(0));
  EXPECT_EQ(ParseTimeout("99999999H"), hours(24 * 366));
}

TEST(ParseTimeout, RefusesOtherTexts) {
  for (const char* text : {"", "S", "1", "abc", "-1S", "+1S", "1.5S", " 1S", "1 S", "1s", "123456789S"}) {
    EXPECT_EQ(ParseTimeout(text), std::nullopt) << text;
  }
}

TEST(EncodeMessage, EncodesAllBytesThatAHeaderCannotHave) {
  EXPECT_EQ(EncodeMessage("a b~"), "a b~");
  EXPECT_EQ(EncodeMessage("100 %\n\xc3\xa4\x7f"), "100 %25%0A%C3%A4%7F");
}

TEST(EncodeMessage, CutsLongTexts) {
  EXPECT_EQ(EncodeMessage(std::string(2000, 'a')), std::string(kMessageBytesMax, 'a') + "...TRUNCATED");
}

TEST(IsGrpcContentType, AcceptsFormatsAndParameters) {
  for (const char* good : {"application/grpc", "application/grpc+proto", "application/grpc;a=b"})
    EXPECT_TRUE(IsGrpcContentType(good)) << good;
  for (const char* bad : {"", "application/json", "application/grpcx", "application/grpc-web"})
    EXPECT_FALSE(IsGrpcContentType(bad)) << bad;
}

}  // namespace
}  // namespace longshore::grpc_server
