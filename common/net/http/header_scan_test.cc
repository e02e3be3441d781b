#include "common/net/http/header_scan.h"

#include <gtest/gtest.h>

#include <numeric>
#include <string>
#include <utility>
#include <vector>

namespace longshore::http {
namespace {

using Result = HeaderScan::Result;
constexpr HeaderLimits kLimits{.line_bytes_max = 20, .header_bytes_max = 60};

// Returns the first result other than kMore when the bytes arrive in these pieces, and the end of the header.
std::pair<Result, size_t> InPieces(const std::string& bytes, const std::vector<size_t>& ends) {
  HeaderScan scan(kLimits);
  for (const size_t size : ends) {
    const Result result = scan.Scan(std::string_view(bytes).substr(0, size));
    if (result != Result::kMore) return {result, scan.end()};
  }
  return {Result::kMore, 0};
}

// Returns the result, which is the same byte by byte, in one piece, and in two pieces with any border.
Result Scan(const std::string& bytes, size_t* end = nullptr) {
  std::vector<size_t> each(bytes.size());
  std::iota(each.begin(), each.end(), 1);
  const auto wanted = InPieces(bytes, each);
  for (size_t border = 0; border <= bytes.size(); ++border)
    EXPECT_EQ(InPieces(bytes, {border, bytes.size()}), wanted) << bytes << " with a border at " << border;
  if (end != nullptr) *end = wanted.second;
  return wanted.first;
}

TEST(HeaderScan, FindsTheEnd) {
  const std::string header = "GET / HTTP/1.1\r\nA: b\r\n\r\n";
  size_t end = 0;
  EXPECT_EQ(Scan(header + "body\n", &end), Result::kEnd);
  EXPECT_EQ(end, header.size());
  EXPECT_EQ(Scan(header.substr(0, header.size() - 1)), Result::kMore);
}

TEST(HeaderScan, RejectsLinesWithAmbiguousEnds) {
  for (const auto* bytes : {"GET / HTTP/1.1\nA", "GET / HTTP/1.1\r\nA: b\n", "GET / HTTP/1.1\r\nA: b\rc", "GET\r/",
                            "GET / HTTP/1.1\r\nA: b\r\n c", "GET / HTTP/1.1\r\n\tA: b", "\n", "\x16\x03\x01"}) {
    EXPECT_EQ(Scan(bytes), Result::kAmbiguous) << bytes;
  }
}

TEST(HeaderScan, LimitsTheRequestLineAndTheWholeHeader) {
  EXPECT_EQ(Scan("GET /" + std::string(13, 'x') + "\r\n"), Result::kMore);
  EXPECT_EQ(Scan("GET /" + std::string(20, 'x')), Result::kLineTooLong);
  EXPECT_EQ(Scan("GET / HTTP/1.1\r\nA: " + std::string(50, 'x')), Result::kTooLong);
}

}  // namespace
}  // namespace longshore::http
