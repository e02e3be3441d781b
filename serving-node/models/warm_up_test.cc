#include "serving-node/models/warm_up.h"

#include <gmock/gmock.h>
#include <spdlog/sinks/ringbuffer_sink.h>

#include "common/os/log.h"

namespace longshore::models {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// A model of the given signatures, without inputs. Runs of a signature "fails..." fail.
class SignaturesOnly final : public engine::LoadedModel {
 public:
  explicit SignaturesOnly(const std::vector<std::string>& names) {
    for (const std::string& name : names) signatures_[name];
  }
  const engine::Signatures& signatures() const override { return signatures_; }
  int64_t memory_bytes() const override { return 0; }
  void Run(engine::RunRequest request, engine::RunDone done) override {
    ran.push_back(request.signature);
    if (request.signature.starts_with("fails")) return done(InvalidArgument("no such word"));
    done(engine::RunResult{});
  }

  std::vector<std::string> ran;

 private:
  engine::Signatures signatures_;
};

class WarmUpTest : public testing::Test {
 protected:
  void SetUp() override { spdlog::default_logger()->sinks().push_back(log_); }
  void TearDown() override { spdlog::default_logger()->sinks().pop_back(); }

  std::vector<std::string> Logged(const std::string& text) {
    std::vector<std::string> lines = log_->last_formatted();
    std::erase_if(lines, [&](const std::string& line) { return line.find(text) == std::string::npos; });
    return lines;
  }

  const std::shared_ptr<spdlog::sinks::ringbuffer_sink_mt> log_ =
      std::make_shared<spdlog::sinks::ringbuffer_sink_mt>(100);
};

TEST_F(WarmUpTest, DoesNotRunSignaturesThatClientsDoNotCall) {
  SignaturesOnly model({"__saved_model_init_op", "__saved_model_train_op", "serving_default"});
  ASSERT_TRUE(WarmUp(model, "/m/1", {.batch_sizes = {1, 8}}));
  EXPECT_THAT(model.ran, ElementsAre("serving_default", "serving_default"));
  EXPECT_THAT(Logged("__saved_model"), ElementsAre());
  EXPECT_THAT(Logged("/m/1"), ElementsAre(HasSubstr("/m/1: 2 warm-up runs in ")));
}

TEST_F(WarmUpTest, NamesASignatureThatFailsOnceForAllBatchSizes) {
  SignaturesOnly model({"fails"});
  ASSERT_TRUE(WarmUp(model, "/m/1", {.batch_sizes = {1, 8, 64}}));
  EXPECT_THAT(Logged("is not warmed up"),
              ElementsAre(HasSubstr("/m/1: signature \"fails\" is not warmed up with 1, 8, 64 rows: no such word")));
}

}  // namespace
}  // namespace longshore::models
