#include "serving-node/frontend/oip/settings.h"

#include <gmock/gmock.h>
#include <spdlog/spdlog.h>

namespace longshore::frontend::oip {
namespace {

using testing::HasSubstr;

class LogLevel : public testing::Test {
 protected:
  void SetUp() override { spdlog::set_level(spdlog::level::info); }
  void TearDown() override { spdlog::set_level(spdlog::level::info); }

  static std::string Update(const std::string& body, bool may_change = true) {
    const auto settings =
        LogRequestFromJson(body).and_then([&](const auto& request) { return LogSettings(request, may_change); });
    return settings ? LogToJson(*settings) : settings.error().message;
  }
};

TEST_F(LogLevel, IsReadAndSetByTheLogSettings) {
  const std::string before = Update("");
  EXPECT_EQ(before, R"({"log_file":"","log_info":true,"log_warning":true,"log_error":true,"log_verbose_level":0,)"
                    R"("log_format":"default"})");
  EXPECT_EQ(spdlog::get_level(), spdlog::level::info);
  EXPECT_THAT(Update(R"({"log_verbose_level":3})"), HasSubstr(R"("log_verbose_level":1)"));
  EXPECT_EQ(spdlog::get_level(), spdlog::level::debug);
  Update(R"({"log_verbose_level":0,"log_info":false})");
  EXPECT_EQ(spdlog::get_level(), spdlog::level::warn);
  Update(R"({"log_warning":false,"log_error":false})");
  EXPECT_EQ(spdlog::get_level(), spdlog::level::off);
}

TEST_F(LogLevel, StaysIfASettingIsWrong) {
  EXPECT_EQ(Update(R"({"log_info":false,"log_file":"x"})"), "log setting 'log_file' cannot be changed: it is ''");
  EXPECT_EQ(Update(R"({"log_info":1})"), "log setting 'log_info' is not a boolean");
  EXPECT_EQ(Update(R"({"nope":true})"), "unknown log setting 'nope'");
  EXPECT_EQ(Update("[]"), "the settings are not a JSON object");
  EXPECT_EQ(spdlog::get_level(), spdlog::level::info);
}

TEST_F(LogLevel, IsChangedOnlyByThoseWhoMay) {
  EXPECT_THAT(Update(R"({"log_verbose_level":0,"log_info":true})", false), HasSubstr(R"("log_info":true)"));
  EXPECT_THAT(Update(R"({"log_info":false})", false), HasSubstr("--auth_tokens_file"));
  EXPECT_EQ(spdlog::get_level(), spdlog::level::info);
}

TEST(TraceSettings, AcceptOnlyTheValuesThatTheyHave) {
  const auto update = [](const std::string& body) {
    const auto settings = TraceRequestFromJson(body).and_then(TraceSettings);
    return settings ? TraceToJson(*settings) : settings.error().message;
  };
  const std::string all =
      R"({"trace_level":["OFF"],"trace_rate":"1000","trace_count":"-1","log_frequency":"0","trace_file":"",)"
      R"("trace_mode":"triton"})";
  EXPECT_EQ(update(""), all);
  EXPECT_EQ(update(R"({"trace_level":["OFF"],"trace_rate":null})"), all);
  EXPECT_THAT(update(R"({"trace_level":["TIMESTAMPS"]})"), HasSubstr("'trace_level' cannot be changed"));
  EXPECT_EQ(update(R"({"nope":"1"})"), "unknown trace setting 'nope'");
  EXPECT_THAT(update(R"({"trace_rate":1})"), HasSubstr("not a string"));
}

}  // namespace
}  // namespace longshore::frontend::oip
