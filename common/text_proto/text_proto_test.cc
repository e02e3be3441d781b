#include "common/text_proto/text_proto.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tensorflow_serving/config.pb.h"

namespace longshore {
namespace {

using ::testing::HasSubstr;

TEST(TextProto, NamesFileLineAndColumnOfAnError) {
  tensorflow::serving::BatchingParameters batching;
  const Status unknown = ParseTextProto("max_batch_size { value: 8 }\n  max_size: 3", "batching.txt", &batching);
  ASSERT_FALSE(unknown);
  EXPECT_THAT(ToString(unknown.error()),
              HasSubstr("batching.txt:2:11: Error parsing text-format tensorflow.serving.BatchingParameters: 2:11: "));
  EXPECT_THAT(ToString(unknown.error()), HasSubstr("max_size"));
  EXPECT_FALSE(ParseTextProto("max_batch_size {", "batching.txt", &batching));
  EXPECT_FALSE(ReadTextProto("/nowhere/models.config", &batching));
}

}  // namespace
}  // namespace longshore
