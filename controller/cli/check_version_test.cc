#include "controller/cli/check_version.h"

#include <gmock/gmock.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>

#include "common/os/file.h"
#include "controller/cli/parse_options.h"

namespace longshore::cli {
namespace {

using testing::HasSubstr;

class CheckVersionTest : public testing::Test {
 protected:
  CheckVersionTest() {
    for (const char* folder : {"digits/golden", "digits/4", "export/golden", "export/5"})
      std::filesystem::create_directories(dir_ / folder);
    model_->metadata.name = "digits";
    model_->metadata.namespace_ = "vision";
    model_->spec.source_uri = "file://" + (dir_ / "digits").string();
    model_->spec.validation.golden_set = "golden/set";
    model_->status.stable_version = 4;
    options_.dir = dir_ / "export/5";
  }
  ~CheckVersionTest() override { std::filesystem::remove_all(dir_); }

  Path WriteGoldenSet(const Path& folder) {
    const Path file = dir_ / folder / "golden/set";
    EXPECT_TRUE(WriteFileAtomically(file, ""));
    return file;
  }
  // The word after the flag; "" if the flag is missing.
  std::string ValueOf(const std::string& flag) {
    const auto arguments = CheckVersionArguments(options_, model_);
    EXPECT_TRUE(arguments) << arguments.error().message;
    const auto found = std::ranges::find(*arguments, flag);
    return found == arguments->end() ? "" : *(found + 1);
  }

  const Path dir_ = Path(testing::TempDir()) / fmt::format("check_version_{}", getpid());
  CheckVersionOptions options_;
  std::optional<api::Model> model_{std::in_place};
};

TEST_F(CheckVersionTest, TakesTheRulesOfTheModel) {
  WriteGoldenSet("digits");
  model_->spec.validation.metric = "tolerance";
  model_->spec.validation.minimum = 0.5;
  model_->spec.validation.deterministic = true;
  model_->spec.warm_up = false;
  EXPECT_EQ(ValueOf("--metric"), "tolerance");
  EXPECT_EQ(ValueOf("--minimum"), "0.5");
  EXPECT_EQ(ValueOf("--deterministic"), "true");
  EXPECT_EQ(ValueOf("--non-finite-reject"), "true");
  EXPECT_EQ(ValueOf("--warm-up"), "false");
  EXPECT_EQ(ValueOf("--rules"), "Model vision/digits");
  EXPECT_EQ(ValueOf("--stable"), (dir_ / "digits/4").string());
  EXPECT_EQ(ValueOf("--why-no-stable"), "");
}

TEST_F(CheckVersionTest, TheCommandLineReplacesARule) {
  WriteGoldenSet("digits");
  options_.minimum = 1;
  options_.golden = "mine";
  options_.stable = "/elsewhere/3";
  EXPECT_EQ(ValueOf("--minimum"), "1");
  EXPECT_EQ(ValueOf("--golden"), "mine");
  EXPECT_EQ(ValueOf("--stable"), "/elsewhere/3");
}

TEST_F(CheckVersionTest, TheGoldenSetIsInTheSourceOrNextToTheVersion) {
  const std::string next_to_it = WriteGoldenSet("export").string();
  EXPECT_EQ(ValueOf("--golden"), next_to_it);
  const std::string in_source = WriteGoldenSet("digits").string();
  EXPECT_EQ(ValueOf("--golden"), in_source);
  model_->spec.source_uri = "https://models.example.com/digits.tar";
  EXPECT_EQ(ValueOf("--golden"), next_to_it);
  EXPECT_EQ(ValueOf("--stable"), "");
  EXPECT_EQ(ValueOf("--why-no-stable"),
            "version 4 serves, but https://models.example.com/digits.tar is not on this host; use --stable DIR to name "
            "a copy of its folder");
  options_.dir = dir_ / "export";  // Its newest version is meant.
  EXPECT_EQ(ValueOf("--golden"), next_to_it);
}

TEST_F(CheckVersionTest, AGoldenSetThatIsNotOnThisHostIsAnErrorWithTheNamesThatWereTried) {
  const auto arguments = CheckVersionArguments(options_, model_);
  ASSERT_FALSE(arguments);
  EXPECT_EQ(arguments.error().code, Code::kNotFound);
  EXPECT_THAT(arguments.error().message, HasSubstr((dir_ / "digits/golden/set").string()));
  EXPECT_THAT(arguments.error().message, HasSubstr((dir_ / "export/golden/set").string()));
}

TEST_F(CheckVersionTest, AModelWithoutAGoldenSetHasNone) {
  model_->spec.validation.golden_set = "";
  EXPECT_EQ(ValueOf("--golden"), "");
}

TEST_F(CheckVersionTest, WithoutAModelTheRulesAreTheDefaults) {
  model_.reset();
  options_.golden = "mine";
  EXPECT_EQ(ValueOf("--metric"), "top1");
  EXPECT_EQ(ValueOf("--minimum"), "0.95");
  EXPECT_EQ(ValueOf("--stable"), "");
}

TEST_F(CheckVersionTest, RulesMustComeFromSomewhere) {
  const char* argv[] = {"longshore", "check-version", "export/5"};
  EXPECT_THAT(ParseOptions(3, argv).error().message, HasSubstr("use --model NAME, -f FILE or --golden FILE"));
}

}  // namespace
}  // namespace longshore::cli
