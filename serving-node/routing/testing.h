// Nodes for tests: a router with its dependencies, an engine whose models misbehave on request, and a peer listener
// over gRPC.
#pragma once

#include <google/protobuf/text_format.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <algorithm>
#include <cmath>
#include <condition_variable>
#include <filesystem>
#include <future>
#include <limits>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "common/net/grpc_server/call.h"
#include "common/net/grpc_server/server.h"
#include "common/os/file.h"
#include "serving-node/batching/batching.h"
#include "serving-node/evidence/pairs.h"
#include "serving-node/inference/response.h"
#include "serving-node/models/fake_engine.h"
#include "serving-node/models/model_store.h"
#include "serving-node/rehearsal/journal.h"
#include "serving-node/routing/origin_search.h"
#include "serving-node/routing/peer_service.h"
#include "serving-node/routing/router.h"
#include "serving-node/routing/run_meter.h"
#include "serving-node/routing/run_statistics.h"
#include "serving-node/tensor/proto.h"
#include "tensorflow_serving/services.grpc.pb.h"

namespace longshore::routing {

// Values of the first element of "x" that make HarmfulModel misbehave: kNan... gives an answer with NaN, kFail...
// INTERNAL (also in any other row of the batch), kRefuse... INVALID_ARGUMENT, kNoMemory... RESOURCE_EXHAUSTED, and
// kUnknown... NOT_FOUND after the run. With "Here" only version kHarmfulVersion misbehaves, with "Everywhere" all
// versions do.
inline constexpr float kNanHere = 1001;
inline constexpr float kNanEverywhere = 1002;
inline constexpr float kFailHere = 1003;
inline constexpr float kRefuseHere = 1004;
inline constexpr float kNoMemoryHere = 1005;
inline constexpr float kUnknownEverywhere = 1006;
inline constexpr int64_t kHarmfulVersion = 4;
// The input of this version is named "z" instead of "x".
inline constexpr int64_t kRenamedVersion = 5;

class HarmfulModel final : public engine::LoadedModel {
 public:
  HarmfulModel(std::shared_ptr<engine::LoadedModel> inner, int64_t version, std::shared_ptr<models::FakeRecord> record)
      : inner_(std::move(inner)), version_(version), record_(std::move(record)), signatures_(inner_->signatures()) {
    if (version != kRenamedVersion) return;
    auto& inputs = *signatures_["serving_default"].mutable_inputs();
    inputs["z"] = inputs["x"];
    inputs.erase("x");
  }
  const google::protobuf::Map<std::string, tensorflow::SignatureDef>& signatures() const override {
    return signatures_;
  }
  int64_t memory_bytes() const override { return inner_->memory_bytes(); }
  void FindNonFinite(engine::RunRequest, engine::FindDone done) override {
    record_->Wait([this] { return record_->searching; });
    done(engine::NonFinite{.output = "y", .node = "half/div", .op = "RealDiv"});
  }
  void Run(engine::RunRequest request, engine::RunDone done) override {
    const auto x = request.inputs.find("x");
    const bool readable =
        x != request.inputs.end() && x->second.type() == tensor::DType::kFloat && x->second.elements() > 0;
    const float first = readable ? x->second.values<float>()[0] : 0;
    const bool harmful = version_ == kHarmfulVersion;
    const bool fails = harmful && readable && std::ranges::count(x->second.values<float>(), kFailHere) > 0;
    if (fails) return done(Internal("kernel failed"));
    if (harmful && first == kRefuseHere) return done(InvalidArgument("x does not fit"));
    if (harmful && first == kNoMemoryHere) return done(ResourceExhausted("no memory"));
    const bool nan = first == kNanEverywhere || (harmful && first == kNanHere);
    const bool unknown = first == kUnknownEverywhere;
    inner_->Run(std::move(request), [nan, unknown, done = std::move(done)](Result<engine::RunResult> result) {
      if (unknown) return done(NotFound("no such row"));
      if (result && nan) result->outputs.at("y").mutable_values<float>()[0] = std::numeric_limits<float>::quiet_NaN();
      done(std::move(result));
    });
  }

 private:
  const std::shared_ptr<engine::LoadedModel> inner_;
  const int64_t version_;
  const std::shared_ptr<models::FakeRecord> record_;
  google::protobuf::Map<std::string, tensorflow::SignatureDef> signatures_;
};

class HarmfulEngine final : public engine::Engine {
 public:
  std::vector<tensor::Device> devices() const override { return inner_.devices(); }
  Result<engine::Estimate> EstimateLoad(const Path& dir, const engine::LoadOptions& options) const override {
    return inner_.EstimateLoad(dir, options);
  }
  Result<std::shared_ptr<engine::LoadedModel>> Load(const Path& dir, const engine::LoadOptions& options) override {
    ASSIGN_OR_RETURN(auto model, inner_.Load(dir, options));
    return std::make_shared<HarmfulModel>(std::move(model), std::stoll(dir.filename()), inner_.shared_record());
  }
  models::FakeRecord& record() { return inner_.record(); }

 private:
  models::FakeEngine inner_;
};

// A temporary directory with the model "digits" in versions 1 to 5. Removed by the destructor.
class TestDir {
 public:
  TestDir() {
    std::string pattern = testing::TempDir() + "/node.XXXXXX";
    path_ = mkdtemp(pattern.data());
    for (int version = 1; version <= 5; ++version) {
      const Path dir = path_ / "digits" / std::to_string(version);
      std::filesystem::create_directories(dir);
      EXPECT_TRUE(WriteFileAtomically(dir / "saved_model.pb", "good"));
    }
  }
  ~TestDir() { std::filesystem::remove_all(path_); }
  const Path& path() const { return path_; }

 private:
  Path path_;
};

// A minimal peer listener: PredictionService without TLS, which passes the gRPC metadata as headers.
class TestPeerListener final {
 public:
  TestPeerListener(const std::string& address, Predictor& predictor, const PeerService& peer_service) {
    const auto service = std::make_shared<grpc_server::Service>();
    service->Add("/tensorflow.serving.PredictionService/Predict",
                 {.handler = [&predictor](const auto& call) { Predict(predictor, call); }});
    peer_service.AddTo(*service);
    auto started = grpc_server::Start({.address = address, .threads = 2}, service);
    CHECK(started);
    server_ = std::move(*started);
  }

 private:
  static void Predict(Predictor& predictor, const std::shared_ptr<grpc_server::Call>& call) {
    PredictCall predict;
    predict.request = inference::Request::Parse(call->TakeRequest()).value();
    predict.protocol = Protocol::kPeer;
    call->ForEachMetadata(
        [&predict](std::string_view name, std::string_view value) { predict.headers.emplace_back(name, value); });
    predictor.Predict(std::move(predict), [call](Result<PredictAnswer> answer) {
      if (!answer) return call->Finish(tl::make_unexpected(answer.error()));
      call->Finish({}, answer->serialized.empty()
                           ? inference::ResponseOf(answer->model_spec, answer->outputs, tensor::Encoding::kTypedFields)
                           : answer->serialized);
    });
  }

  std::unique_ptr<http2::Server> server_;
};

// One node of the fleet "ns/f".
class TestNode {
 public:
  TestNode(const Path& dir, const std::string& name, int runs_max = 4, RouterOptions options = {},
           models::ModelStore::Options store_options = {}, Identities identities = {})
      : dir_(dir),
        admission({.concurrent_runs_max = runs_max, .simulated_run = {}}),
        store(engine, admission, std::move(store_options), nullptr, [this](const auto&, const auto&) { Changed(); }),
        guards(std::move(*GuardBook::Open({}))),
        forwarder(MakeGrpcForwarder({.fleet = "ns/f"})),
        state_dir(MakeDir(dir / ("state-" + name))),
        journal(std::move(*rehearsal::Journal::Open(state_dir))),
        router({.store = store,
                .admission = admission,
                .recorder = recorder,
                .pairs = pairs,
                .metrics = metrics,
                .runs = runs,
                .statistics = statistics,
                .forwarder = *forwarder,
                .guards = *guards,
                .origins = origins,
                .clock = clock,
                .journal = journal.get(),
                .identities = std::move(identities)},
               Named(name, std::move(options))),
        address("unix:" + (dir / (name + ".sock")).string()),
        peer_service("ns/f", [this] { return Load(); }) {}

  void Listen() { listener = std::make_unique<TestPeerListener>(address, router, peer_service); }

  // Loads these versions of "digits" and waits until all are ready.
  void Hold(const std::vector<int64_t>& versions, batching::Options batching = {}) {
    store.Apply({{.name = "digits",
                  .base_path = dir_ / "digits",
                  .versions = versions,
                  .labels = {},
                  .batching = batching,
                  .warm_up = false}});
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] {
      return std::ranges::all_of(versions, [&](int64_t version) { return store.Find("digits", version).has_value(); });
    });
  }

  // `text` is a DesiredState in text format, without the name of the fleet, which is "ns/f". `labels` are those of the
  // first model; they are not part of the text because protobuf's text parser cannot read maps if only the messages,
  // and not the library, are built with the thread sanitizer. `ready` maps a node to the versions of the first model
  // that the node holds, one digit for each version.
  void SetState(const std::string& text, const std::map<std::string, int64_t>& labels = {},
                const std::map<std::string, std::string>& ready = {}) {
    auto state = std::make_shared<control::DesiredState>();
    EXPECT_TRUE(google::protobuf::TextFormat::MergeFromString("fleet {fleet: \"ns/f\"} " + text, state.get())) << text;
    for (const auto& [label, version] : labels) (*state->mutable_models(0)->mutable_labels())[label] = version;
    for (const auto& [node, versions] : ready) {
      for (control::VersionState& version : *state->mutable_models(0)->mutable_versions()) {
        if (versions.find(std::to_string(version.version())) != versions.npos) version.add_ready(node);
      }
    }
    router.SetState(std::move(state));
  }

  PeerLoad Load() const {
    const batching::Load load = admission.load();
    return {load.running, load.queued, load.concurrent_runs_max};
  }

 private:
  static Path MakeDir(const Path& dir) {
    std::filesystem::create_directories(dir);
    return dir;
  }
  static RouterOptions Named(const std::string& name, RouterOptions options) {
    options.node = name;
    return options;
  }
  void Changed() {
    const std::lock_guard lock(mutex_);
    changed_.notify_all();
  }

  const Path dir_;
  std::mutex mutex_;
  std::condition_variable changed_;

 public:
  SystemClock clock;
  HarmfulEngine engine;
  batching::Admission admission;
  models::ModelStore store;
  evidence::Recorder recorder;
  evidence::PairRunner pairs;
  metrics::Registry metrics;
  RunMeter runs{metrics};
  RunStatistics statistics;
  std::unique_ptr<GuardBook> guards;
  OriginSearch origins{admission};
  std::unique_ptr<Forwarder> forwarder;
  const Path state_dir;
  std::unique_ptr<rehearsal::Journal> journal;
  Router router;
  const std::string address;
  PeerService peer_service;
  std::unique_ptr<TestPeerListener> listener;
};

// Returns a state for TestNode::SetState with the stable version 1 and a candidate.
inline std::string TwoVersions(int64_t candidate, int candidate_bp, const std::string& more = "",
                               const std::string& guard = "") {
  return fmt::format(R"(models {{ served_name: "digits" assignment {{ salt: "uid/{0}/1" }}
                        versions {{ version: 1 weight_bp: {1} role: STABLE load: true }}
                        versions {{ version: {0} weight_bp: {2} role: CANDIDATE load: true guard {{ {4} }} }} {3} }})",
                     candidate, 10000 - candidate_bp, candidate_bp, more, guard);
}

// A request for the model "digits" with one row of two columns.
inline PredictCall DigitsCall(float first) {
  PredictCall call;
  tensorflow::serving::ModelSpec spec;
  spec.set_name("digits");
  call.request = inference::Request(spec, {{"x", tensor::Tensor::Of<float>({1, 2}, {first, 0})}});
  return call;
}

inline PredictCall Pinned(PredictCall call, int64_t version) {
  call.request.mutable_model_spec()->mutable_version()->set_value(version);
  return call;
}

inline PredictCall WithHeader(PredictCall call, std::string name, std::string value) {
  call.headers.emplace_back(std::move(name), std::move(value));
  return call;
}

inline std::future<Result<PredictAnswer>> Begin(Predictor& predictor, PredictCall call) {
  auto promise = std::make_shared<std::promise<Result<PredictAnswer>>>();
  auto future = promise->get_future();
  predictor.Predict(std::move(call),
                    [promise](Result<PredictAnswer> answer) { promise->set_value(std::move(answer)); });
  return future;
}

inline Result<PredictAnswer> Ask(Predictor& predictor, PredictCall call) {
  return Begin(predictor, std::move(call)).get();
}

// The first element of "y", from the outputs or from the serialized response.
inline float FirstOf(const PredictAnswer& answer) {
  if (answer.serialized.empty()) return answer.outputs.at("y").values<float>()[0];
  return inference::OutputsOf(answer.serialized)->at("y").values<float>()[0];
}

// The version that computed the answer, which follows from y = 2 x + version.
inline int64_t RanBy(const PredictAnswer& answer, float first = 0) {
  return static_cast<int64_t>(std::lround(FirstOf(answer) - 2 * first));
}

}  // namespace longshore::routing
