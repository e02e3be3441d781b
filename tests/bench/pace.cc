#include "tests/bench/pace.h"

#include <grpcpp/grpcpp.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "tensorflow_serving/services.grpc.pb.h"
#include "tests/load/arrivals.h"

namespace longshore::bench {
namespace {

using tensorflow::serving::PredictionService;
using tensorflow::serving::PredictRequest;
using tensorflow::serving::PredictResponse;
using Time = std::chrono::steady_clock;

struct Call {
  Time::time_point due;
  grpc::ClientContext context;
  PredictResponse response;
  grpc::Status status;
  std::unique_ptr<grpc::ClientAsyncResponseReader<PredictResponse>> reader;
};

double QuantileMs(std::vector<Time::duration>& values, double quantile) {
  if (values.empty()) return 0;
  const auto at = values.begin() + static_cast<ptrdiff_t>(quantile * static_cast<double>(values.size() - 1));
  std::ranges::nth_element(values, at);
  return std::chrono::duration<double, std::milli>(*at).count();
}

std::vector<PredictRequest> NameModels(std::vector<PredictRequest> requests, int models) {
  for (size_t i = 0; models > 0 && i < requests.size(); ++i) {
    requests[i].mutable_model_spec()->set_name("m" + std::to_string(i % static_cast<size_t>(models)));
  }
  return requests;
}

class Pacer {
 public:
  Pacer(const Pace& pace, const load::Samples& samples)
      : pace_(pace), requests_(NameModels(samples.grpc, pace.models)) {
    grpc::ChannelArguments arguments;
    arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);  // Gives every channel its own connection.
    for (int i = 0; i < pace.connections; ++i) {
      stubs_.push_back(PredictionService::NewStub(
          grpc::CreateCustomChannel(pace.target, grpc::InsecureChannelCredentials(), arguments)));
    }
  }

  Latencies Run() {
    const auto begin = Time::now();
    counted_from_ = begin + pace_.warm_up;
    const auto end = counted_from_ + pace_.measured;
    for (auto due = begin; due < end || under_way_ > 0;) {
      const auto now = Time::now();
      for (; due <= now && due < end; due += arrivals_.NextGap(pace_.per_second)) Send(due);
      TakeOne();
    }
    queue_.Shutdown();
    Latencies seen{.answered = static_cast<int64_t>(took_.size()), .failed = failed_};
    seen.p50_ms = QuantileMs(took_, 0.5);
    seen.p99_ms = QuantileMs(took_, 0.99);
    seen.late_p99_ms = QuantileMs(late_, 0.99);
    return seen;
  }

 private:
  void Send(Time::time_point due) {
    auto* call = new Call;
    call->due = due;
    call->context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(10));
    // One connection further after all samples: otherwise each model would have a connection of its own.
    const size_t connection = (turn_ + turn_ / requests_.size()) % stubs_.size();
    call->reader = stubs_[connection]->AsyncPredict(&call->context, requests_[turn_ % requests_.size()], &queue_);
    call->reader->Finish(&call->response, &call->status, call);
    ++turn_;
    ++under_way_;
    if (due >= counted_from_) late_.push_back(Time::now() - due);
  }

  void TakeOne() {
    void* tag = nullptr;
    bool ok = false;
    // The deadline has passed already, so AsyncNext only takes an event that is already there and does not wait for
    // one.
    if (queue_.AsyncNext(&tag, &ok, gpr_inf_past(GPR_CLOCK_MONOTONIC)) != grpc::CompletionQueue::GOT_EVENT) return;
    const std::unique_ptr<Call> call(static_cast<Call*>(tag));
    --under_way_;
    if (!call->status.ok()) ++failed_;
    if (call->status.ok() && call->due >= counted_from_) took_.push_back(Time::now() - call->due);
  }

  const Pace& pace_;
  const std::vector<PredictRequest> requests_;
  std::vector<std::unique_ptr<PredictionService::Stub>> stubs_;
  grpc::CompletionQueue queue_;
  load::Arrivals arrivals_{1};
  Time::time_point counted_from_;
  size_t turn_ = 0;
  int64_t under_way_ = 0;
  int64_t failed_ = 0;
  std::vector<Time::duration> took_;
  std::vector<Time::duration> late_;
};

}  // namespace

Latencies MeasurePace(const Pace& pace, const load::Samples& samples) { return Pacer(pace, samples).Run(); }

}  // namespace longshore::bench
