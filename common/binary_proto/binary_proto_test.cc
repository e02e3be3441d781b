#include "common/binary_proto/binary_proto.h"

#include <google/protobuf/struct.pb.h>
#include <google/protobuf/stubs/logging.h>
#include <gtest/gtest.h>

#include <string>

#include "common/binary_proto/testing.h"
#include "common/heap_testing/heap.h"
#include "tensorflow/example.pb.h"

namespace longshore {
namespace {

using google::protobuf::LogSilencer;
using tensorflow::Example;

// A field with this number and stated length.
std::string Field(int number, uint64_t length, const std::string& bytes) {
  std::string field(1, static_cast<char>(number << 3 | 2));
  for (; length >= 0x80; length >>= 7) field += static_cast<char>(length | 0x80);
  return field + static_cast<char>(length) + bytes;
}

Example Animal() {
  Example example;
  (*example.mutable_features()->mutable_feature())["animal"].mutable_bytes_list()->add_value("cat");
  (*example.mutable_features()->mutable_feature())["legs"].mutable_int64_list()->add_value(4);
  return example;
}

TEST(PiecesStream, ReadsARangeAndGoesBack) {
  const Pieces pieces = Split("abcdefghij", 3);
  PiecesStream stream(pieces, 2, 6);
  const void* data = nullptr;
  int size = 0;
  std::string read;
  ASSERT_TRUE(stream.Next(&data, &size));
  read.append(static_cast<const char*>(data), static_cast<size_t>(size));
  ASSERT_TRUE(stream.Next(&data, &size));
  stream.BackUp(2);
  EXPECT_EQ(stream.ByteCount(), 2);
  read.append(static_cast<const char*>(data), 1);
  ASSERT_TRUE(stream.Skip(1));
  while (stream.Next(&data, &size)) read.append(static_cast<const char*>(data), static_cast<size_t>(size));
  EXPECT_EQ(read, "cdfgh");
  EXPECT_FALSE(stream.Skip(1));
}

TEST(BinaryProto, IsParsedHoweverTheBytesAreSplit) {
  const std::string bytes = Animal().SerializeAsString();
  for (const size_t size : {size_t{1}, size_t{3}, bytes.size()}) {
    Example parsed;
    ASSERT_TRUE(ParseBinaryProto(Split(bytes, size), &parsed));
    EXPECT_EQ(parsed.DebugString(), Animal().DebugString());
  }
  Example empty;
  EXPECT_TRUE(ParseBinaryProto(Pieces(), &empty));
  EXPECT_TRUE(ParseBinaryProto("", &empty));
}

TEST(BinaryProto, IsAcceptedExactlyIfGeneratedCodeAcceptsIt) {
  const LogSilencer silencer;
  const std::string bytes = Animal().SerializeAsString();
  Damage damage;
  int accepted = 0;
  for (int i = 0; i < 20000; ++i) {
    const std::string damaged = damage.Change(bytes);
    Example expected;
    Example contiguous;
    Example split;
    const bool is_example = expected.ParseFromString(damaged);
    accepted += is_example;
    ASSERT_EQ(ParseBinaryProto(damaged, &contiguous), is_example) << testing::PrintToString(damaged);
    ASSERT_EQ(ParseBinaryProto(Split(damaged, 2), &split), is_example) << testing::PrintToString(damaged);
    if (is_example) {
      ASSERT_EQ(contiguous.DebugString(), expected.DebugString());
    }
  }
  EXPECT_GT(accepted, 1000);
}

TEST(BinaryProto, HasTheFieldsBeforeADamagedOne) {
  const LogSilencer silencer;
  const std::string whole = Animal().SerializeAsString();
  Example parsed;
  EXPECT_FALSE(ParseBinaryProto(whole + Field(1, 100, "x"), &parsed));
  EXPECT_EQ(parsed.DebugString(), Animal().DebugString());
}

TEST(BinaryProto, TakesNoMemoryForAStringThatItsMessageCannotContain) {
  const LogSilencer silencer;
  // A name of 40 MB in a map entry of 48 MB, in a message of 50 MB that has 20 bytes.
  const std::string bytes = Field(1, 50 << 20, Field(1, 48 << 20, Field(1, 40 << 20, "animal")));
  for (const size_t size : {size_t{2}, bytes.size()}) {
    Example parsed;
    const heap_testing::PeakBytes peak;
    EXPECT_FALSE(ParseBinaryProto(Split(bytes, size), &parsed));
    if (heap_testing::kIsReplaced) {  // Otherwise no bytes are counted.
      EXPECT_LT(peak.bytes(), size_t{4} << 10);
    }
  }
}

TEST(BinaryProto, IsReadAsDeepAsByGeneratedCode) {
  const LogSilencer silencer;
  std::string bytes;
  for (int depth = 1; depth <= 120; ++depth) {
    bytes = depth % 2 == 0 ? Field(6, bytes.size(), bytes) : Field(1, bytes.size(), bytes);  // A list, a list's value.
    if (depth % 2 == 1) continue;
    google::protobuf::Value expected;
    google::protobuf::Value parsed;
    EXPECT_EQ(ParseBinaryProto(bytes, &parsed), expected.ParseFromString(bytes)) << depth;
  }
}

}  // namespace
}  // namespace longshore
