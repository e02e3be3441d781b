#include "serving-node/observe/replay/replay.h"

#include <gmock/gmock.h>
#include <stdlib.h>

#include <condition_variable>
#include <fstream>
#include <sstream>

#include "common/os/file.h"
#include "common/text_proto/text_proto.h"
#include "serving-node/engine/host/host.h"
#include "serving-node/observe/replay/bundle.h"
#include "serving-node/observe/replay/capture.h"
#include "serving-node/tensor/proto.h"
#include "tests/source_tree/source_tree.h"

namespace longshore::replay {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

const Path kDigits = source_tree::Root() / "tests" / "models" / "digits";

// Returns the number of an image for which version 4 of digits answers NaN. It does not do so for image 0.
int64_t NanImage() {
  std::ifstream file(kDigits / "traffic_nan.txt");
  int64_t first = -1;
  file >> first;
  return first;
}

inference::Request ImageRequest(int64_t number) {
  std::vector<float> pixels(64);
  std::ifstream file(kDigits / "traffic.f32", std::ios::binary);
  file.seekg(static_cast<std::streamoff>(number * 64 * 4));
  file.read(reinterpret_cast<char*>(pixels.data()), 64 * 4);
  EXPECT_TRUE(file.good());
  tensorflow::serving::ModelSpec spec;
  spec.set_name("digits");
  return inference::Request(spec, {{"image", tensor::Tensor::Of<float>({1, 8, 8, 1}, pixels)}});
}

class ReplayTest : public testing::Test {
 protected:
  ReplayTest() {
    std::string pattern = testing::TempDir() + "/replay.XXXXXX";
    dir_ = mkdtemp(pattern.data());
  }
  ~ReplayTest() override { std::filesystem::remove_all(dir_); }

  // Loads these versions of digits and waits until they are available. Returns version 4.
  models::Handle Digits(const std::vector<int64_t>& versions = {4}) {
    store_.Apply({{.name = "digits", .base_path = kDigits, .versions = versions}});
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] {
      return std::ranges::all_of(versions, [&](int64_t version) { return store_.Find("digits", version).has_value(); });
    });
    return *store_.Find("digits", 4);
  }

  // Offers a pair of version 4 and stable's version 1 with this difference, and waits until it is handled.
  void OfferDifference(replay::Capture& capture, double severity, size_t differences_max, int64_t image = 0) {
    control::Validation validation;
    control::OutputRule& rule = *validation.add_output_rules();
    rule.set_output("probabilities");
    rule.set_measure(control::OutputRule::WITHIN);
    const auto rules = evidence::RulesOf(validation);
    capture.Offer(routing::Difference{.request = ImageRequest(image),
                                      .candidate = Digits({1, 4}),
                                      .stable_version = 1,
                                      .rules = *rules,
                                      .what = "output \"probabilities\" differs",
                                      .severity = severity,
                                      .differences_max = differences_max});
    capture.Flush();
  }

  void CaptureDifferences(const std::vector<double>& severities, size_t differences_max, int64_t image = 0,
                          CaptureOptions options = {}) {
    options.dir = dir_ / "captures";
    replay::Capture capture(options, store_, origins_, clock_, registry_);
    for (const double severity : severities) OfferDifference(capture, severity, differences_max, image);
  }

  std::vector<std::string> Names() const {
    std::vector<std::string> names;
    for (const Path& bundle : Bundles())
      names.push_back(bundle.stem().string().substr(std::string("20260921T141320Z-001-").size()));
    return names;
  }

  void Capture(CaptureOptions options, const std::vector<std::pair<Error, int64_t>>& failures) {
    options.dir = dir_ / "captures";
    const models::Handle ready = Digits();
    replay::Capture capture(options, store_, origins_, clock_, registry_);
    for (const auto& [error, image] : failures) {
      routing::PredictCall call;
      call.request = ImageRequest(image);
      capture.Offer(routing::Failure{call, ready, error});
    }
  }

  std::vector<Path> Bundles() const {
    std::vector<Path> files;
    std::error_code ignored;
    for (const auto& each : std::filesystem::directory_iterator(dir_ / "captures", ignored))
      files.push_back(each.path());
    std::ranges::sort(files);
    return files;
  }

  size_t BundlesAfterFailure(replay::Capture& capture) {
    routing::PredictCall call;
    call.request = ImageRequest(0);
    capture.Offer(routing::Failure{call, Digits(), {Code::kInternal, "a"}});
    capture.Flush();
    return Bundles().size();
  }

  struct Ran {
    int status;
    std::string out;
  };
  Ran Replay(const std::vector<std::string>& arguments) {
    std::ostringstream out;
    const int status = Main(arguments, *engine_, out);
    return {status, out.str()};
  }

  Path dir_;
  FakeClock clock_{FromUnixMillis(1'790'000'000'000)};
  metrics::Registry registry_;
  std::unique_ptr<engine::Engine> engine_ = engine::host::MakeEngine({.threads = 1});
  std::mutex mutex_;
  std::condition_variable changed_;
  batching::Admission admission_;
  models::ModelStore store_{*engine_, admission_, {}, nullptr, [this](const auto&, const auto&) {
                              const std::lock_guard lock(mutex_);
                              changed_.notify_all();
                            }};
  routing::OriginSearch origins_{admission_};
};

TEST_F(ReplayTest, CapturesANonFiniteAnswerWithItsOpAndReproducesIt) {
  Capture({}, {{{Code::kOk, ""}, NanImage()}});
  const auto bundles = Bundles();
  ASSERT_EQ(bundles.size(), 1u);
  EXPECT_EQ(bundles[0].filename(), "20260921T141320Z-001-digits-4-NON_FINITE.bundle");
  const auto bundle = ReadBundle(bundles[0]);
  ASSERT_TRUE(bundle) << ToString(bundle.error());
  EXPECT_EQ(bundle->version_dir(), (kDigits / "4").string());
  EXPECT_EQ(bundle->digest().size(), 64u);
  EXPECT_THAT(bundle->non_finite(), AllOf(HasSubstr("output \"probabilities\""), HasSubstr("(op RealDiv)")));
  const auto [status, out] = Replay({bundles[0].string()});
  EXPECT_EQ(status, kReproduced) << out;
  EXPECT_THAT(out, AllOf(HasSubstr("model \"digits\" version 4"), HasSubstr("(op RealDiv)"),
                         HasSubstr("the request failed again")));
  EXPECT_THAT(out, Not(HasSubstr("are not those that ran the captured request")));
  EXPECT_THAT(registry_.Text(), HasSubstr("longshore_captures_total{outcome=\"kept\"} 1\n"));
}

TEST_F(ReplayTest, DoesNotReproduceTheFailureWithAnotherVersion) {
  Capture({}, {{{Code::kOk, ""}, NanImage()}});
  const auto [status, out] = Replay({Bundles().at(0).string(), "--model_path=" + (kDigits / "2").string()});
  EXPECT_EQ(status, kNotReproduced) << out;
  EXPECT_THAT(out, AllOf(HasSubstr("are not those that ran the captured request"),
                         HasSubstr("the request did not fail again")));
}

TEST_F(ReplayTest, CapturesAnErrorWithItsText) {
  Capture({}, {{{Code::kInternal, "kernel failed"}, 0}});
  const auto bundle = ReadBundle(Bundles().at(0));
  ASSERT_TRUE(bundle);
  EXPECT_EQ(bundle->code(), "INTERNAL");
  EXPECT_EQ(bundle->error(), "kernel failed");
  const auto [status, out] = Replay({Bundles().at(0).string()});
  EXPECT_EQ(status, kNotReproduced) << out;
  EXPECT_THAT(out,
              AllOf(HasSubstr("captured result: INTERNAL: kernel failed"), HasSubstr("replayed result: an answer in")));
}

TEST_F(ReplayTest, ReplaysAChangedBundle) {
  Capture({}, {{{Code::kOk, ""}, NanImage()}});
  auto bundle = ReadBundle(Bundles().at(0));
  ASSERT_TRUE(bundle);
  (*bundle->mutable_request()->mutable_inputs())["image"].mutable_tensor_shape()->mutable_dim(1)->set_size(9);
  ASSERT_TRUE(WriteFileAtomically(dir_ / "changed.bundle", *ToText(*bundle)));
  const auto [status, out] = Replay({(dir_ / "changed.bundle").string()});
  EXPECT_EQ(status, kReproduced);
  EXPECT_THAT(out, HasSubstr("replayed result: INVALID_ARGUMENT: "));
}

TEST_F(ReplayTest, LimitsBundlesByCauseNumberAndBytes) {
  const std::pair<Error, int64_t> one{{Code::kInternal, "a"}, 0};
  const std::pair<Error, int64_t> other{{Code::kDataLoss, "b"}, 0};
  Capture({.dir = {}, .per_cause_max = 2}, {one, one, one, one, other});
  EXPECT_EQ(Bundles().size(), 3u);
  EXPECT_THAT(registry_.Text(), HasSubstr("longshore_captures_total{outcome=\"left_out\"} 2\n"));
  Capture({.dir = {}, .files_max = 4}, {one, one, one});
  EXPECT_EQ(Bundles().size(), 4u);
  Capture({.dir = {}, .bytes_max = 100}, {one});
  EXPECT_EQ(Bundles().size(), 4u);
}

TEST_F(ReplayTest, KeepsThePairsWhoseOutputsDifferMost) {
  CaptureDifferences({0.1, 0.3, 0.2, 0.05, 0.3}, 2);
  EXPECT_THAT(Names(), testing::UnorderedElementsAre("digits-4-DIFFERS-3.000e-01", "digits-4-DIFFERS-3.000e-01"));
  EXPECT_THAT(registry_.Text(), HasSubstr("longshore_captures_total{outcome=\"left_out\"} 1\n"));
  CaptureDifferences({0.2, 1}, 2);
  EXPECT_THAT(Names(), testing::UnorderedElementsAre("digits-4-DIFFERS-3.000e-01", "digits-4-DIFFERS-1.000e+00"))
      << "the limit also holds after a restart";
}

TEST_F(ReplayTest, ReplacingAPairNeedsNoMoreFiles) {
  const CaptureOptions options{.dir = {}, .files_max = 2};
  CaptureDifferences({0.1}, 1, 0, options);
  CaptureDifferences({0.2}, 1, 0, options);
  EXPECT_THAT(Names(), testing::ElementsAre("digits-4-DIFFERS-2.000e-01"));
  CaptureDifferences({0.1, 0.2}, 2, 0, options);
  EXPECT_THAT(Names(), testing::ElementsAre("digits-4-DIFFERS-2.000e-01")) << "half of the files are for pairs";
}

TEST_F(ReplayTest, PairsLeaveRoomForFailuresAndDoNotPauseThem) {
  CaptureOptions options{.dir = dir_ / "captures", .files_max = 4};
  CaptureDifferences({0.4, 0.3, 0.2}, 10, 0, options);
  EXPECT_EQ(Bundles().size(), 2u);
  replay::Capture capture(options, store_, origins_, clock_, registry_);
  OfferDifference(capture, 0.1, 10);
  EXPECT_EQ(BundlesAfterFailure(capture), 3u) << "a pair without room is only left out";
  EXPECT_EQ(BundlesAfterFailure(capture), 4u);
  OfferDifference(capture, 0.5, 10);
  EXPECT_THAT(Names(), testing::IsSupersetOf({"digits-4-DIFFERS-5.000e-01", "digits-4-DIFFERS-4.000e-01"}));
}

TEST_F(ReplayTest, APairIsLeftOutIfFailuresUseAllFiles) {
  Capture({.dir = {}, .files_max = 2}, {{{Code::kInternal, "a"}, 0}, {{Code::kDataLoss, "b"}, 0}});
  CaptureOptions options{.dir = dir_ / "captures", .files_max = 2};
  replay::Capture capture(options, store_, origins_, clock_, registry_);
  OfferDifference(capture, 0.5, 10);
  std::filesystem::remove(Bundles().at(0));
  EXPECT_EQ(BundlesAfterFailure(capture), 2u) << "the captures were not paused";
}

TEST_F(ReplayTest, ReplaysAPairOnBothVersionsAndComparesThem) {
  CaptureDifferences({0.1}, 1);
  const auto bundle = ReadBundle(Bundles().at(0));
  ASSERT_TRUE(bundle) << ToString(bundle.error());
  EXPECT_EQ(bundle->code(), "OK");
  EXPECT_EQ(bundle->difference(), "output \"probabilities\" differs");
  EXPECT_EQ(bundle->stable_version_dir(), (kDigits / "1").string());
  const auto [status, out] = Replay({Bundles().at(0).string()});
  EXPECT_EQ(status, kReproduced) << out;
  EXPECT_THAT(out, AllOf(HasSubstr("an answer that differs from that of version 1: output \"probabilities\" differs"),
                         HasSubstr("1 of 1 rows differ by the rule \"probabilities: Within, absolute 0, relative 0\""),
                         HasSubstr("the outputs differ again")));
  const auto same = Replay({Bundles().at(0).string(), "--model_path=" + (kDigits / "1").string()});
  EXPECT_EQ(same.status, kNotReproduced) << same.out;
  EXPECT_THAT(same.out, AllOf(HasSubstr("0 of 1 rows differ"), HasSubstr("the outputs do not differ again")));
}

TEST_F(ReplayTest, CapturesACauseAgainAfterItsTime) {
  replay::Capture capture({.dir = dir_ / "captures", .per_cause_max = 1}, store_, origins_, clock_, registry_);
  EXPECT_EQ(BundlesAfterFailure(capture), 1u);
  clock_.Advance(std::chrono::minutes(59));
  EXPECT_EQ(BundlesAfterFailure(capture), 1u);
  clock_.Advance(std::chrono::minutes(1));
  EXPECT_EQ(BundlesAfterFailure(capture), 2u);
}

TEST_F(ReplayTest, PausesAfterAFailedWriteWithoutUsingTheLimit) {
  ASSERT_TRUE(WriteFileAtomically(dir_ / "captures", "a file where the folder should be"));
  replay::Capture capture({.dir = dir_ / "captures", .per_cause_max = 1}, store_, origins_, clock_, registry_);
  EXPECT_EQ(BundlesAfterFailure(capture), 0u);
  EXPECT_EQ(capture.health().Problems().size(), 1u);
  std::filesystem::remove(dir_ / "captures");
  capture.TryAgain();
  EXPECT_TRUE(capture.health().Problems().empty()) << "even if no request fails any more";
  EXPECT_EQ(BundlesAfterFailure(capture), 0u);
  clock_.Advance(std::chrono::seconds(10));
  EXPECT_EQ(BundlesAfterFailure(capture), 1u);
}

// The text of a bundle may be larger than the limit of configuration files.
TEST_F(ReplayTest, ReadsALargeBundleAndRefusesToWriteOneAboveTheLimit) {
  const auto capture_of = [&](size_t number) {
    capture::Bundle bundle;
    auto& values = (*bundle.mutable_request()->mutable_inputs())["x"];
    for (size_t i = 0; i < number; ++i) values.add_float_val(0.123456789F);
    return bundle;
  };
  const auto text = ToText(capture_of(1'000'000));
  ASSERT_TRUE(text) << ToString(text.error());
  EXPECT_GT(text->size(), kTextProtoBytesMax);
  ASSERT_TRUE(WriteFileAtomically(dir_ / "large.bundle", *text));
  const auto read = ReadBundle(dir_ / "large.bundle");
  ASSERT_TRUE(read) << ToString(read.error());
  EXPECT_EQ(read->request().inputs().at("x").float_val_size(), 1'000'000);
  const auto too_large = ToText(capture_of(4'000'000));
  ASSERT_FALSE(too_large);
  EXPECT_EQ(too_large.error(),
            (Error{Code::kResourceExhausted, "the request is too large: as text it has more than 67108864 bytes"}));
  ASSERT_TRUE(WriteFileAtomically(dir_ / "too_large.bundle", std::string(kBundleBytesMax + 1, ' ')));
  EXPECT_EQ(ReadBundle(dir_ / "too_large.bundle").error().code, Code::kResourceExhausted);
}

TEST_F(ReplayTest, ReportsBundlesThatCannotRun) {
  EXPECT_EQ(Replay({}).status, kCannotRun);
  EXPECT_THAT(Replay({"--help"}).out, HasSubstr("Exit status: 0"));
  const auto missing = Replay({(dir_ / "none.bundle").string()});
  EXPECT_EQ(missing.status, kCannotRun);
  EXPECT_THAT(missing.out, HasSubstr("none.bundle"));
  ASSERT_TRUE(WriteFileAtomically(dir_ / "bad.bundle", "model: \"digits\"\ncolour: 3\n"));
  EXPECT_THAT(Replay({(dir_ / "bad.bundle").string()}).out, HasSubstr("bad.bundle:2:"));
  ASSERT_TRUE(WriteFileAtomically(dir_ / "empty.bundle", "model: \"digits\"\n"));
  EXPECT_THAT(Replay({(dir_ / "empty.bundle").string()}).out, HasSubstr("the bundle has no request"));
  capture::Bundle bundle;
  ASSERT_TRUE(bundle.mutable_request()->ParseFromString(ImageRequest(0).ToPieces().ToString()));
  ASSERT_TRUE(WriteFileAtomically(dir_ / "nowhere.bundle", *ToText(bundle)));
  EXPECT_THAT(Replay({(dir_ / "nowhere.bundle").string()}).out, HasSubstr("use --model_path"));
}

}  // namespace
}  // namespace longshore::replay
