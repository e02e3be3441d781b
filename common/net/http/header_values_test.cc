#include "common/net/http/header_values.h"

#include <gmock/gmock.h>

namespace longshore::http {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST(HeaderValues, ListsHaveElementsWithoutBlanks) {
  EXPECT_THAT(ListOf(" a ,, b;q=1,\tc"), ElementsAre("a", "b;q=1", "c"));
  EXPECT_THAT(ListOf(" , "), IsEmpty());
}

TEST(HeaderValues, ACodingIsComparedAsAWholeWord) {
  const auto of = [](std::initializer_list<const char*> values) {
    Headers headers = {{"accept", "gzip"}};
    for (const char* value : values) headers.emplace_back("content-encoding", value);
    return CodingOf(headers);
  };
  EXPECT_EQ(of({}), Coding::kNone);
  EXPECT_EQ(of({""}), Coding::kNone);
  EXPECT_EQ(of({"identity"}), Coding::kNone);
  for (const char* value : {"gzip", "GZip", "x-gzip", "deflate", "identity, gzip"})
    EXPECT_EQ(of({value}), Coding::kPacked) << value;
  for (const char* value : {"br", "notgzip", "gzipped", "gzip;q=1", "gzip, deflate", "zstd,gzip"})
    EXPECT_EQ(of({value}), Coding::kUnknown) << value;
  EXPECT_EQ(of({"gzip", "br"}), Coding::kUnknown);
}

}  // namespace
}  // namespace longshore::http
