#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/text_proto/text_proto.h"
#include "serving-node/config/batching_parameters.h"
#include "serving-node/config/model_config.h"
#include "tensorflow_serving/config.pb.h"

namespace longshore::config {
namespace {

using models::VersionPolicy;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pair;

Result<std::vector<models::ModelSource>> Read(const std::string& text) {
  tensorflow::serving::ModelServerConfig config;
  RETURN_IF_ERROR(ParseTextProto(text, "models.config", &config));
  return ToSources(config);
}

std::string ErrorOf(const std::string& text) {
  const auto read = Read(text);
  return read ? "no error" : ToString(read.error());
}

// Returns a configuration with one model, which also has the fields in `more`.
std::string Model(const std::string& more) {
  return "model_config_list { config { name: 'm' base_path: '/models/m' model_platform: 'tensorflow' " + more + " } }";
}

TEST(BatchingParameters, HaveTensorFlowsDefaults) {
  const auto batching = ParseBatching("", "b.txt");
  ASSERT_TRUE(batching);
  EXPECT_EQ(batching->options, DefaultBatching());
  EXPECT_EQ(batching->options.max_batch_size, 1000);
  EXPECT_EQ(batching->options.max_delay.count(), 0);
  EXPECT_EQ(batching->options.queue_batches_max, 10);
  EXPECT_EQ(batching->options.queue_max, 10000);
  EXPECT_EQ(batching->threads, 0);
}

TEST(BatchingParameters, AreReadFromTheFile) {
  const auto batching = ParseBatching(R"(max_batch_size { value: 8 } batch_timeout_micros { value: 250 }
    max_enqueued_batches { value: 3 } num_batch_threads { value: 5 } thread_pool_name { value: 'pool' }
    allowed_batch_sizes: 2 allowed_batch_sizes: 8)",
                                      "b.txt");
  ASSERT_TRUE(batching) << ToString(batching.error());
  EXPECT_EQ(batching->options.max_batch_size, 8);
  EXPECT_EQ(batching->options.max_delay.count(), 250);
  EXPECT_EQ(batching->options.queue_batches_max, 3);
  EXPECT_EQ(batching->options.queue_max, 24);
  EXPECT_THAT(batching->options.allowed_batch_sizes, ElementsAre(2, 8));
  EXPECT_EQ(batching->threads, 5);
}

TEST(BatchingParameters, MaySplitRequestsWithMoreRowsThanABatch) {
  const auto split = ParseBatching(R"(max_batch_size { value: 100 } enable_large_batch_splitting { value: true }
    max_execution_batch_size { value: 8 } max_enqueued_batches { value: 20 } allowed_batch_sizes: 8
    pad_variable_length_inputs: true)",
                                   "b.txt");
  ASSERT_TRUE(split) << ToString(split.error());
  EXPECT_EQ(split->options.request_rows_max, 100);
  EXPECT_EQ(split->options.max_batch_size, 8);
  EXPECT_EQ(split->options.queue_max, 160);
  EXPECT_TRUE(split->options.pad_rows);
  const auto whole = ParseBatching("max_batch_size { value: 100 } max_execution_batch_size { value: 8 }", "b.txt");
  EXPECT_EQ(whole->options.max_batch_size, 100);
  EXPECT_EQ(whole->options.request_rows_max, 0);
}

struct BadBatching {
  std::string text;
  std::string error;
};

class BadBatchingParameters : public testing::TestWithParam<BadBatching> {};

TEST_P(BadBatchingParameters, AreRefusedWithLineAndField) {
  const auto read = ParseBatching(GetParam().text, "b.txt");
  ASSERT_FALSE(read);
  EXPECT_EQ(read.error().code, Code::kInvalidArgument);
  EXPECT_EQ(read.error().message, GetParam().error);
}

INSTANTIATE_TEST_SUITE_P(
    All, BadBatchingParameters,
    testing::Values(
        BadBatching{"\n  max_size: 3",
                    "b.txt:2:11: Error parsing text-format tensorflow.serving.BatchingParameters: 2:11: Message type "
                    "\"tensorflow.serving.BatchingParameters\" has no field named \"max_size\"."},
        BadBatching{"max_batch_size { value: 0 }", "b.txt:1:1: max_batch_size is 0; it must be from 1 to 1048576"},
        BadBatching{"num_batch_threads { value: -1 }", "b.txt:1:1: num_batch_threads is -1; it must be from 1 to 4096"},
        BadBatching{"num_batch_threads { value: 4097 }",
                    "b.txt:1:1: num_batch_threads is 4097; it must be from 1 to 4096"},
        BadBatching{"max_enqueued_batches { value: 0 }",
                    "b.txt:1:1: max_enqueued_batches is 0; it must be from 1 to 9223372036854775807"},
        BadBatching{"batch_timeout_micros { value: -1 }",
                    "b.txt:1:1: batch_timeout_micros is -1; it must be from 0 to 9223372036854775807"},
        BadBatching{"max_batch_size { value: 4 } enable_large_batch_splitting { value: true }\n"
                    "max_execution_batch_size { value: 5 }",
                    "b.txt:2:1: max_execution_batch_size is 5; it must be from 1 to 4"},
        BadBatching{"max_batch_size { value: 8 } enable_large_batch_splitting { value: true }\n"
                    "max_execution_batch_size { value: 4 } allowed_batch_sizes: 8",
                    "b.txt:2:39: allowed_batch_sizes ends with 8, but the last size must equal "
                    "max_execution_batch_size, which is 4"},
        BadBatching{"max_batch_size { value: 4 }\nallowed_batch_sizes: 4\nallowed_batch_sizes: 2",
                    "b.txt:3:1: allowed_batch_sizes 2 is not above 4, the size before it"},
        BadBatching{
            "max_batch_size { value: 8 }\nallowed_batch_sizes: 2\nallowed_batch_sizes: 4",
            "b.txt:3:1: allowed_batch_sizes ends with 4, but the last size must equal max_batch_size, which is 8"}));

TEST(ModelConfig, SetsPathPolicyAndLabelsOfEveryModel) {
  const auto sources = Read(R"(model_config_list {
    config { name: 'a' base_path: '/a' model_platform: 'tensorflow' }
    config { name: 'b' base_path: '/b' model_type: TENSORFLOW model_version_policy { all {} } }
    config { name: 'c' base_path: '/c' model_platform: 'tensorflow'
             model_version_policy { specific { versions: 3 versions: 5 } }
             version_labels { key: 'stable' value: 3 } version_labels { key: 'canary' value: 5 } }
    config { name: 'd' base_path: '/d' model_platform: 'tensorflow' model_version_policy { latest { num_versions: 2 } } }
  })");
  ASSERT_TRUE(sources) << ToString(sources.error());
  ASSERT_EQ(sources->size(), 4u);
  EXPECT_EQ((*sources)[0].policy.kind, VersionPolicy::Kind::kLatest);
  EXPECT_EQ((*sources)[0].policy.latest, 1);
  EXPECT_EQ((*sources)[1].policy.kind, VersionPolicy::Kind::kAll);
  EXPECT_THAT((*sources)[2].policy.specific, ElementsAre(3, 5));
  EXPECT_THAT((*sources)[2].labels, ElementsAre(Pair("canary", 5), Pair("stable", 3)));
  EXPECT_EQ((*sources)[3].policy.latest, 2);
  EXPECT_EQ((*sources)[3].base_path, "/d");
}

TEST(ModelConfig, MayBeEmpty) { EXPECT_EQ(Read("")->size(), 0u); }

TEST(ModelConfig, NamesTheInvalidModel) {
  EXPECT_THAT(ErrorOf("model_config_list { config { base_path: '/a' model_platform: 'tensorflow' } }"),
              HasSubstr("the model with base_path \"/a\" has no name"));
  EXPECT_THAT(ErrorOf("model_config_list { config { name: 'm' base_path: '/a' } }"),
              HasSubstr("model_platform is missing"));
  EXPECT_THAT(ErrorOf("model_config_list { config { name: 'm' base_path: '/a' model_platform: 'onnx' } }"),
              HasSubstr("model \"m\": model_platform \"onnx\""));
  EXPECT_THAT(ErrorOf("model_config_list { config { name: 'm' base_path: '/a' model_type: OTHER } }"),
              HasSubstr("OTHER"));
  EXPECT_THAT(ErrorOf("model_config_list { config { name: 'm' model_platform: 'tensorflow' } }"),
              HasSubstr("base_path is missing"));
  EXPECT_THAT(ErrorOf("model_config_list { config { name: 'm' base_path: 'a' model_platform: 'tensorflow' } }"),
              HasSubstr("not absolute"));
  EXPECT_THAT(ErrorOf("model_config_list { config { name: 'm' base_path: 's3://a' model_platform: 'tensorflow' } }"),
              HasSubstr("mount"));
  EXPECT_THAT(ErrorOf(Model("model_version_policy { specific {} }")), HasSubstr("names no version"));
  EXPECT_THAT(ErrorOf(Model("model_version_policy { specific { versions: -1 } }")), HasSubstr("-1 is negative"));
  EXPECT_THAT(ErrorOf(Model("version_labels { key: '' value: 1 }")), HasSubstr("label"));
  EXPECT_THAT(ErrorOf(Model("version_labels { key: 'a' value: -2 }")),
              HasSubstr("label \"a\" points to version -2, which is negative"));
  EXPECT_THAT(ErrorOf("custom_model_config {}"), HasSubstr("UNIMPLEMENTED"));
  const std::string twice = "config { name: 'm' base_path: '/a' model_platform: 'tensorflow' }";
  EXPECT_THAT(ErrorOf("model_config_list {" + twice + twice + "}"), HasSubstr("\"m\" is configured twice"));
}

}  // namespace
}  // namespace longshore::config
