#include "common/http/header_scan.h"

#include <gtest/gtest.h>

#include <string>

namespace longshore::http {
namespace {

using Seen = HeaderScan::Seen;
constexpr HeaderLimits kLimits{.line_bytes_max = 20, .header_bytes_max = 60};

// As if each byte came alone: what the scan says first other than "more".
Seen ByteByByte(const std::string& bytes, size_t* end = nullptr) {
  HeaderScan scan(kLimits);
  for (size_t size = 0; size <= bytes.size(); ++size) {
    const Seen seen = scan.Look(std::string_view(bytes).substr(0, size));
    if (seen == Seen::kMore) continue;
    if (end != nullptr) *end = scan.end();
    return seen;
  }
  return Seen::kMore;
}

TEST(HeaderScan, FindsTheEndHoweverTheBytesCome) {
  const std::string header = "GET / HTTP/1.1\r\nA: b\r\n\r\n";
  size_t end = 0;
  EXPECT_EQ(ByteByByte(header + "body\n", &end), Seen::kEnd);
  EXPECT_EQ(end, header.size());
  HeaderScan at_once(kLimits);
  EXPECT_EQ(at_once.Look(header + "body\n"), Seen::kEnd);
  EXPECT_EQ(at_once.end(), header.size());
  EXPECT_EQ(ByteByByte(header.substr(0, header.size() - 1)), Seen::kMore);
}

TEST(HeaderScan, RefusesLinesThatTwoProgramsCouldCutInTwoWays) {
  for (const auto* bytes : {"GET / HTTP/1.1\nA", "GET / HTTP/1.1\r\nA: b\n", "GET / HTTP/1.1\r\nA: b\rc", "GET\r/",
                            "GET / HTTP/1.1\r\nA: b\r\n c", "GET / HTTP/1.1\r\n\tA: b", "\n", "\x16\x03\x01"}) {
    EXPECT_EQ(ByteByByte(bytes), Seen::kAmbiguous) << bytes;
  }
}

TEST(HeaderScan, CountsTheRequestLineAndTheWhole) {
  EXPECT_EQ(ByteByByte("GET /" + std::string(13, 'x') + "\r\n"), Seen::kMore);
  EXPECT_EQ(ByteByByte("GET /" + std::string(20, 'x')), Seen::kLineTooLong);
  EXPECT_EQ(ByteByByte("GET / HTTP/1.1\r\nA: " + std::string(50, 'x')), Seen::kTooLong);
}

}  // namespace
}  // namespace longshore::http
