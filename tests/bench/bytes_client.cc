#include "tests/bench/bytes_client.h"

#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/grpcpp.h>

#include <atomic>
#include <condition_variable>
#include <mutex>

#include "common/base/error.h"
#include "inference/service.pb.h"

namespace longshore::bench {
namespace {

constexpr std::chrono::seconds kDeadline{5};

grpc::ByteBuffer ToBytes(const google::protobuf::Message& message) {
  const grpc::Slice bytes(message.SerializeAsString());
  return {&bytes, 1};
}

bool Contains(const grpc::ByteBuffer& answer, const std::string& part) {
  grpc::Slice bytes;
  if (part.empty()) return true;
  if (!answer.DumpToSingleSlice(&bytes).ok()) return false;
  return std::string_view(reinterpret_cast<const char*>(bytes.begin()), bytes.size()).find(part) != std::string::npos;
}

struct BytesCall {
  grpc::ClientContext context;
  grpc::ByteBuffer answer;
  load::ReplyDone done;
};

class BytesClient final : public load::Client {
 public:
  BytesClient(const BytesOptions& options, const Calls& calls) : options_(options), calls_(calls) {
    grpc::ChannelArguments arguments;
    arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);  // Gives every channel its own connection.
    arguments.SetMaxReceiveMessageSize(-1);
    for (int i = 0; i < options.connections; ++i) {
      stubs_.push_back(std::make_unique<grpc::GenericStub>(
          grpc::CreateCustomChannel(options.target, grpc::InsecureChannelCredentials(), arguments)));
    }
  }

  ~BytesClient() override {
    std::unique_lock lock(mutex_);
    idle_.wait(lock, [this] { return under_way_ == 0; });
  }

  void Send(const load::Ask& ask, load::ReplyDone done) override {
    auto* call = new BytesCall;
    call->done = std::move(done);
    call->context.set_deadline(std::chrono::system_clock::now() + kDeadline);
    {
      const std::lock_guard lock(mutex_);
      ++under_way_;
    }
    stubs_[turn_.fetch_add(1, std::memory_order_relaxed) % stubs_.size()]->UnaryCall(
        &call->context, calls_.method, {}, &calls_.requests[ask.sample], &call->answer,
        [this, call](const grpc::Status& status) { Finish(std::unique_ptr<BytesCall>(call), status); });
  }

 private:
  load::Reply MakeReply(const BytesCall& call, const grpc::Status& status) const {
    load::Reply reply;
    reply.code = static_cast<Code>(status.error_code());
    reply.message = status.error_message();
    if (status.ok() && !Contains(call.answer, calls_.answer_part)) {
      reply.code = Code::kInternal;
      reply.message = "the answer does not contain the expected float";
    }
    if (status.ok() && call.answer.Length() < options_.answer_bytes_min) {
      reply.code = Code::kInternal;
      reply.message =
          fmt::format("the answer has {} bytes, not at least {}", call.answer.Length(), options_.answer_bytes_min);
    }
    return reply;
  }

  void Finish(std::unique_ptr<BytesCall> call, const grpc::Status& status) {
    call->done(MakeReply(*call, status));
    call.reset();
    const std::lock_guard lock(mutex_);
    if (--under_way_ == 0) idle_.notify_all();
  }

  const BytesOptions options_;
  const Calls& calls_;
  std::vector<std::unique_ptr<grpc::GenericStub>> stubs_;
  std::atomic<size_t> turn_ = 0;
  std::mutex mutex_;
  std::condition_variable idle_;
  int64_t under_way_ = 0;
};

}  // namespace

Calls PredictCalls(const load::Samples& samples) {
  Calls calls{.method = "/tensorflow.serving.PredictionService/Predict", .requests = {}, .answer_part = ""};
  for (const auto& request : samples.grpc) calls.requests.push_back(ToBytes(request));
  return calls;
}

Calls InferCalls() {
  inference::ModelInferRequest request;
  request.set_model_name("identity");
  auto& input = *request.add_inputs();
  input.set_name("x");
  input.set_datatype("FP32");
  input.add_shape(1);
  input.add_shape(1);
  const float value = 1.5;
  const std::string bytes(reinterpret_cast<const char*>(&value), sizeof value);
  request.add_raw_input_contents(bytes);
  return {.method = "/inference.GRPCInferenceService/ModelInfer", .requests = {ToBytes(request)}, .answer_part = bytes};
}

std::unique_ptr<load::Client> MakeBytesClient(const BytesOptions& options, const Calls& calls) {
  return std::make_unique<BytesClient>(options, calls);
}

}  // namespace longshore::bench
