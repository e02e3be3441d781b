// Rehearsals in real child processes. This program starts itself again as `rehearse ...`, with an engine whose models
// do what the file "behaviour" in their directory says. The tests of the engine cover reading SavedModels.
#include "serving-node/rehearsal/rehearsal.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <future>
#include <new>
#include <thread>

#include "common/os/file.h"
#include "common/version_files/digest.h"
#include "serving-node/rehearsal/gate.h"
#include "serving-node/saved_model/tfrecord.h"
#include "serving-node/tensor/proto.h"
#include "tensorflow_serving/prediction_log.pb.h"
#include "tests/gtest_main/run.h"

namespace longshore::rehearsal {
namespace {

using engine::TensorMap;
using tensor::Tensor;
using testing::HasSubstr;

// Answers {x, 0}. With the behaviour "nan" it answers NaN, with "unsteady" it adds the number of the run, and with
// "fails" it returns an error.
class ScriptedModel final : public engine::LoadedModel {
 public:
  explicit ScriptedModel(std::string behaviour) : behaviour_(std::move(behaviour)) {
    auto& signature = signatures_["serving_default"];
    for (auto* info : {&(*signature.mutable_inputs())["x"], &(*signature.mutable_outputs())["scores"]}) {
      info->set_dtype(tensorflow::DT_FLOAT);
      info->mutable_tensor_shape()->add_dim()->set_size(-1);
    }
  }
  const google::protobuf::Map<std::string, tensorflow::SignatureDef>& signatures() const override {
    return signatures_;
  }
  int64_t memory_bytes() const override { return 0; }
  void Run(engine::RunRequest request, engine::RunDone done) override {
    if (behaviour_ == "fails") return done(Internal("kernel MatMul failed"));
    float x = request.inputs.at("x").values<float>()[0];
    if (behaviour_ == "nan") x = std::nanf("");
    if (behaviour_ == "unsteady") x += static_cast<float>(++runs_);
    done(engine::RunResult{.outputs = {{"scores", Tensor::Of<float>({1, 2}, {x, 0})}}, .took = {}});
  }

 private:
  google::protobuf::Map<std::string, tensorflow::SignatureDef> signatures_;
  const std::string behaviour_;
  int runs_ = 0;
};

class ScriptedEngine final : public engine::Engine {
 public:
  std::vector<tensor::Device> devices() const override { return {{}}; }
  Result<engine::Estimate> EstimateLoad(const Path&, const engine::LoadOptions&) const override {
    return engine::Estimate{};
  }
  Result<std::shared_ptr<engine::LoadedModel>> Load(const Path& dir, const engine::LoadOptions&) override {
    ASSIGN_OR_RETURN(const std::string behaviour, ReadFile(dir / "behaviour"));
    if (behaviour == "segv") {
      signal(SIGSEGV, SIG_DFL);  // Replaces the sanitizer's handler, so that the signal kills the process.
      raise(SIGSEGV);
    }
    if (behaviour == "exit") _exit(7);
    if (behaviour == "hang") pause();
    if (behaviour == "out of memory") throw std::bad_alloc();
    if (behaviour == "unknown op") return Unimplemented("ops that the engine lacks: Frobnicate (node \"f\")");
    return std::make_shared<ScriptedModel>(behaviour);
  }
};

std::string GoldenRecord(float x, bool first_wins) {
  tensorflow::serving::PredictionLog log;
  auto* predict = log.mutable_predict_log();
  tensor::ToProto(Tensor::Of<float>({1}, {x}), &(*predict->mutable_request()->mutable_inputs())["x"]);
  tensor::ToProto(Tensor::Of<float>({1, 2}, {first_wins ? 1.0F : -1.0F, 0}),
                  &(*predict->mutable_response()->mutable_outputs())["scores"]);
  return log.SerializeAsString();
}

class RehearsalTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = testing::TempDir() + "/rehearsal.XXXXXX";
    dir_ = mkdtemp(pattern.data());
    options_.model = "digits";
    options_.version = 3;
    options_.version_dir = dir_ / "3";
    std::filesystem::create_directories(options_.version_dir / "assets.extra");
  }
  void TearDown() override { std::filesystem::remove_all(dir_); }

  Result<control::GoldenResult> Run(const std::string& behaviour) {
    EXPECT_TRUE(WriteFileAtomically(options_.version_dir / "behaviour", behaviour));
    return RunRehearsal(options_);
  }
  // Writes a golden set. A correct engine answers `right` of its records as expected and `wrong` of them differently.
  void WriteGolden(int right, int wrong) {
    std::vector<std::string> records;
    for (int i = 0; i < right; ++i) records.push_back(GoldenRecord(1, true));
    for (int i = 0; i < wrong; ++i) records.push_back(GoldenRecord(1, false));
    ASSERT_TRUE(saved_model::WriteTfRecords(dir_ / "golden", records));
    options_.validation.set_golden_set("golden");
    options_.validation.set_metric("top1");
    options_.validation.set_minimum(0.95);
  }

  Path dir_;
  RehearsalOptions options_;
};

TEST_F(RehearsalTest, PassesAVersionThatAnswersItsGoldenSet) {
  WriteGolden(20, 1);
  const auto result = Run("well");
  ASSERT_TRUE(result) << ToString(result.error());
  EXPECT_TRUE(result->ok()) << result->message();
  EXPECT_EQ(result->records(), 21);
  EXPECT_EQ(result->passed(), 20);
  EXPECT_NEAR(result->score(), 20.0 / 21, 1e-9);
}

TEST_F(RehearsalTest, RefusesAVersionBelowItsMinimum) {
  WriteGolden(9, 1);
  const auto result = Run("well");
  ASSERT_TRUE(result) << ToString(result.error());
  EXPECT_FALSE(result->ok());
  EXPECT_THAT(result->message(),
              HasSubstr("scored 0.9000, below the minimum of 0.9500 (9 of 10 records passed; metric top1)"));
}

TEST_F(RehearsalTest, JudgesByToleranceWhenAsked) {
  WriteGolden(10, 0);
  options_.validation.set_metric("tolerance");
  options_.validation.set_relative_tolerance(1e-3);
  EXPECT_TRUE(Run("well")->ok());
  WriteGolden(9, 1);
  options_.validation.set_metric("tolerance");
  const auto result = Run("well");
  EXPECT_FALSE(result->ok());
  EXPECT_DOUBLE_EQ(result->worst_relative_difference(), 2);
}

TEST_F(RehearsalTest, RefusesNonFiniteOutputsWhenAsked) {
  WriteGolden(10, 0);
  options_.validation.set_minimum(0);
  EXPECT_TRUE(Run("nan")->ok());
  options_.validation.set_non_finite_reject(true);
  EXPECT_THAT(Run("nan")->message(), HasSubstr("record 0 is NaN or Inf"));
}

TEST_F(RehearsalTest, RefusesTwoAnswersToOneInputWhenAsked) {
  WriteGolden(10, 0);
  EXPECT_TRUE(Run("unsteady")->ok());
  options_.validation.set_deterministic(true);
  EXPECT_THAT(Run("unsteady")->message(), HasSubstr("two different answers"));
  EXPECT_TRUE(Run("well")->ok());
}

TEST_F(RehearsalTest, RefusesAVersionWhoseGoldenSetIsMissing) {
  options_.validation.set_golden_set("gone");
  const auto result = Run("well");
  ASSERT_TRUE(result) << "an error NotFound would mean that the version is missing: " << result.error().message;
  EXPECT_FALSE(result->ok());
  EXPECT_EQ(result->records(), 0);
  EXPECT_THAT(result->message(), HasSubstr((dir_ / "gone").string()));
}

TEST_F(RehearsalTest, ReturnsTheErrorOfALoadThatFails) {
  const auto result = Run("unknown op");
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code, Code::kUnimplemented);
  EXPECT_THAT(result.error().message, HasSubstr("Frobnicate"));
}

TEST_F(RehearsalTest, NamesTheWarmUpRecordThatFails) {
  ASSERT_TRUE(saved_model::WriteTfRecords(options_.version_dir / "assets.extra/tf_serving_warmup_requests",
                                          {GoldenRecord(1, true), "no message"}));
  const auto result = Run("well");
  ASSERT_FALSE(result);
  EXPECT_THAT(result.error().message, HasSubstr("record 1 of"));
  options_.warm_up = false;
  EXPECT_TRUE(Run("well"));
}

TEST_F(RehearsalTest, NamesTheSignalThatKilledTheProcess) {
  const auto result = Run("segv");
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code, Code::kAborted);
  EXPECT_THAT(result.error().message, HasSubstr("the rehearsal process of \"digits\" version 3"));
  EXPECT_THAT(result.error().message, HasSubstr("signal 11 (SIGSEGV)"));
}

TEST_F(RehearsalTest, FailsIfTheProcessEndsWithoutAResult) {
  const auto result = Run("exit");
  ASSERT_FALSE(result);
  EXPECT_THAT(result.error().message, HasSubstr("7"));
}

TEST_F(RehearsalTest, KillsAProcessThatDoesNotEnd) {
  options_.time_max = std::chrono::milliseconds(1000);
  const auto result = Run("hang");
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code, Code::kDeadlineExceeded);
}

TEST_F(RehearsalTest, ReportsThatTheMemoryIsInsufficient) {
  EXPECT_EQ(Run("out of memory").error().code, Code::kResourceExhausted);
}

class GateTest : public RehearsalTest {
 protected:
  void SetUp() override {
    RehearsalTest::SetUp();
    journal_ = std::move(*Journal::Open(dir_));
    gate_ = std::make_unique<Gate>(GateOptions{options_}, *journal_);
    SetState("uid/3/1", "");
  }
  void SetState(const std::string& attempt, const std::string& digest, control::Role role = control::CANDIDATE,
                int64_t stable = 0) {
    auto state = std::make_shared<control::DesiredState>();
    auto* model = state->add_models();
    model->set_served_name("digits");
    model->mutable_assignment()->set_salt(attempt);
    *model->mutable_validation() = options_.validation;
    auto* version = model->add_versions();
    version->set_version(3);
    version->set_rehearse(role == control::CANDIDATE);
    version->set_role(role);
    version->set_digest(digest);
    if (stable != 0) {
      version = model->add_versions();
      version->set_version(stable);
      version->set_role(control::STABLE);
    }
    gate_->SetState(state);
  }
  Status Admit(const std::string& behaviour) {
    EXPECT_TRUE(WriteFileAtomically(options_.version_dir / "behaviour", behaviour));
    return gate_->Admit("digits", 3, options_.version_dir);
  }
  std::unique_ptr<Journal> journal_;
  std::unique_ptr<Gate> gate_;
};

TEST_F(GateTest, QuarantinesAVersionThatCrashesItsRehearsalUntilTheNextAttempt) {
  EXPECT_EQ(Admit("segv").error().code, Code::kAborted);
  const auto again = Admit("well");
  ASSERT_FALSE(again);
  EXPECT_THAT(again.error().message, HasSubstr("quarantined"));
  EXPECT_TRUE(gate_->Quarantined("digits", 3));
  SetState("uid/3/2", "");
  EXPECT_TRUE(Admit("well"));
}

TEST_F(GateTest, RefusesAVersionThatNoLongerAcceptsTheRequestsOfStable) {
  tensorflow::SavedModel stable;
  auto* graph = stable.add_meta_graphs();
  graph->mutable_meta_info_def()->add_tags("serve");
  (*graph->mutable_signature_def())["embed"];
  std::filesystem::create_directories(dir_ / "2");
  ASSERT_TRUE(WriteFileAtomically(dir_ / "2/saved_model.pb", stable.SerializeAsString()));
  SetState("uid/3/1", "", control::CANDIDATE, 2);
  const auto refused = Admit("well");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::kFailedPrecondition);
  EXPECT_THAT(refused.error().message, HasSubstr("SignatureChanged: signature \"embed\" is gone"));
  std::filesystem::remove_all(dir_ / "2");
  SetState("uid/3/2", "", control::CANDIDATE, 2);
  EXPECT_TRUE(Admit("well")) << "the signatures of stable are unknown";
}

TEST_F(GateTest, KeepsTheGoldenResultAndDoesNotRehearseTwice) {
  WriteGolden(1, 9);
  SetState("uid/3/1", "");
  const auto refused = Admit("well");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::kFailedPrecondition);
  EXPECT_THAT(refused.error().message, HasSubstr("below the minimum"));
  EXPECT_EQ(gate_->Golden("digits", 3)->passed(), 1);
  EXPECT_FALSE(Admit("segv")) << "a second rehearsal would have quarantined it";
  EXPECT_FALSE(gate_->Quarantined("digits", 3));
}

TEST_F(GateTest, DiscardsTheResultOfAVersionThatIsStillBeingCopied) {
  options_.time_max = std::chrono::milliseconds(1000);
  gate_ = std::make_unique<Gate>(GateOptions{options_}, *journal_);
  SetState("uid/3/1", "");
  auto admitted = std::async(std::launch::async, [this] { return Admit("hang"); });
  while (!gate_->InRehearsal("digits", 3)) std::this_thread::yield();
  ASSERT_TRUE(WriteFileAtomically(options_.version_dir / "saved_model.pb", "x"));
  EXPECT_EQ(admitted.get().error().code, Code::kUnavailable);
  EXPECT_FALSE(gate_->Quarantined("digits", 3));
  EXPECT_FALSE(gate_->Golden("digits", 3));
  EXPECT_TRUE(Admit("well"));
}

TEST_F(GateTest, RecordsALoadInTheJournalUntilItEnds) {
  ASSERT_TRUE(Admit("well"));
  EXPECT_TRUE((*Journal::Open(dir_))->Quarantined({"digits", 3, "uid/3/1"}));
  std::filesystem::remove(dir_ / "journal.json");
  gate_->Loaded("digits", 3);
  EXPECT_FALSE((*Journal::Open(dir_))->Quarantined({"digits", 3, "uid/3/1"}));
}

TEST_F(GateTest, StopsTheRehearsalWithoutQuarantineWhenTheNodeShutsDown) {
  auto admitted = std::async(std::launch::async, [this] { return Admit("hang"); });
  while (!gate_->InRehearsal("digits", 3)) std::this_thread::yield();
  gate_->Stop();
  EXPECT_EQ(admitted.get().error().code, Code::kCancelled);
  EXPECT_FALSE(gate_->Quarantined("digits", 3));
  SetState("uid/3/1", "", control::EXTRA);
  EXPECT_EQ(Admit("well").error().code, Code::kCancelled) << "no further load begins";
}

TEST_F(GateTest, DoesNotQuarantineALoadThatWasRunningAtShutdown) {
  ASSERT_TRUE(Admit("well"));
  gate_->Stop();
  EXPECT_FALSE((*Journal::Open(dir_))->Quarantined({"digits", 3, "uid/3/1"}));
}

// This happens, for example, if a candidate is promoted and the power fails while it is loaded again.
TEST_F(GateTest, NeverQuarantinesTheStableVersion) {
  EXPECT_EQ(Admit("segv").error().code, Code::kAborted);
  SetState("uid/3/1", "", control::STABLE);
  EXPECT_FALSE(gate_->Quarantined("digits", 3));
  EXPECT_TRUE(Admit("well"));
}

TEST_F(GateTest, RefusesFilesThatDoNotHaveThePinnedDigest) {
  ASSERT_TRUE(Admit("well"));
  gate_->Loaded("digits", 3);
  const auto digest = version_files::VersionDigest(options_.version_dir);
  ASSERT_TRUE(digest);
  SetState("uid/3/1", *digest);
  EXPECT_TRUE(Admit("well"));
  const auto other = Admit("well!");
  ASSERT_FALSE(other);
  EXPECT_THAT(other.error().message, HasSubstr("not the pinned digest " + *digest));
}

}  // namespace
}  // namespace longshore::rehearsal

int main(int argc, char** argv) {
  if (argc > 1 && std::string_view(argv[1]) == "rehearse") {
    longshore::rehearsal::ScriptedEngine engine;
    return longshore::rehearsal::Main({argv + 2, argv + argc}, engine);
  }
  return longshore::gtest_main::RunTests(argc, argv);
}
