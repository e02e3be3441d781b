#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "serving-node/config/model_config.h"
#include "serving-node/config/text_proto.h"
#include "tensorflow_serving/config.pb.h"

namespace longshore::config {
namespace {

using models::VersionPolicy;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pair;

Result<std::vector<models::Source>> Read(const std::string& text) {
  tensorflow::serving::ModelServerConfig config;
  RETURN_IF_ERROR(ParseTextProto(text, "models.config", &config));
  return ToSources(config);
}

std::string ErrorOf(const std::string& text) {
  const auto read = Read(text);
  return read ? "no error" : ToString(read.error());
}

// One model with more of it.
std::string Model(const std::string& more) {
  return "model_config_list { config { name: 'm' base_path: '/models/m' model_platform: 'tensorflow' " + more + " } }";
}

TEST(TextProto, NamesFileLineAndColumnOfWhatIsWrong) {
  tensorflow::serving::BatchingParameters batching;
  const Status unknown = ParseTextProto("max_batch_size { value: 8 }\n  max_size: 3", "batching.txt", &batching);
  ASSERT_FALSE(unknown);
  EXPECT_THAT(ToString(unknown.error()), HasSubstr("batching.txt:2:11: "));
  EXPECT_THAT(ToString(unknown.error()), HasSubstr("max_size"));
  EXPECT_THAT(ErrorOf("model_config_list {"), HasSubstr("models.config:1:"));
  EXPECT_FALSE(ReadTextProto("/nowhere/models.config", &batching));
}

TEST(ModelConfig, GivesEveryModelItsPathPolicyAndLabels) {
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

TEST(ModelConfig, NamesTheModelThatIsWrong) {
  EXPECT_THAT(ErrorOf("model_config_list { config { base_path: '/a' model_platform: 'tensorflow' } }"),
              HasSubstr("without a name, at base path \"/a\""));
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
  EXPECT_THAT(ErrorOf(Model("version_labels { key: 'a' value: -2 }")), HasSubstr("\"a\" stands for version -2"));
  EXPECT_THAT(ErrorOf("custom_model_config {}"), HasSubstr("UNIMPLEMENTED"));
  const std::string twice = "config { name: 'm' base_path: '/a' model_platform: 'tensorflow' }";
  EXPECT_THAT(ErrorOf("model_config_list {" + twice + twice + "}"), HasSubstr("\"m\" is configured twice"));
}

}  // namespace
}  // namespace longshore::config
