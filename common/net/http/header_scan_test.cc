#include "common/net/http/header_scan.h"

#include <gtest/gtest.h>

#include <string>

namespace longshore::http {
namespace {

using Result = HeaderScan::Result;
constexpr HeaderLimits kLimits{.line_bytes_max = 20, .header_bytes_max = 60};

// Calls Scan after each single byte. Returns the first result other than kMore.
Result ByteByByte(const std::string& bytes, size_t* end = nullptr) {
  HeaderScan scan(kLimits);
  for (size_t size = 0; size <= bytes.size(); ++size) {
    const Result result = scan.Scan(std::string_view(bytes).substr(0, size));
    if (result == Result::kMore) continue;
    if (end != nullptr) *end = scan.end();
    return result;
  }
  return Result::kMore;
}

TEST(HeaderScan, FindsTheEndInOnePieceAndByteByByte) {
  const std::string header = "GET / HTTP/1.1\r\nA: b\r\n\r\n";
  size_t end = 0;
  EXPECT_EQ(ByteByByte(header + "body\n", &end), Result::kEnd);
  EXPECT_EQ(end, header.size());
  HeaderScan whole(kLimits);
  EXPECT_EQ(whole.Scan(header + "body\n"), Result::kEnd);
  EXPECT_EQ(whole.end(), header.size());
  EXPECT_EQ(ByteByByte(header.substr(0, header.size() - 1)), Result::kMore);
}

TEST(HeaderScan, RejectsLinesWithAmbiguousEnds) {
  for (const auto* bytes : {"GET / HTTP/1.1\nA", "GET / HTTP/1.1\r\nA: b\n", "GET / HTTP/1.1\r\nA: b\rc", "GET\r/",
                            "GET / HTTP/1.1\r\nA: b\r\n c", "GET / HTTP/1.1\r\n\tA: b", "\n", "\x16\x03\x01"}) {
    EXPECT_EQ(ByteByByte(bytes), Result::kAmbiguous) << bytes;
  }
}

TEST(HeaderScan, LimitsTheRequestLineAndTheWholeHeader) {
  EXPECT_EQ(ByteByByte("GET /" + std::string(13, 'x') + "\r\n"), Result::kMore);
  EXPECT_EQ(ByteByByte("GET /" + std::string(20, 'x')), Result::kLineTooLong);
  EXPECT_EQ(ByteByByte("GET / HTTP/1.1\r\nA: " + std::string(50, 'x')), Result::kTooLong);
}

}  // namespace
}  // namespace longshore::http
