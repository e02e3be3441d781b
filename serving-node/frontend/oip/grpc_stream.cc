#include "serving-node/frontend/oip/grpc_stream.h"

#include <grpcpp/support/proto_buffer_reader.h>

#include <new>
#include <optional>
#include <utility>

#include "serving-node/frontend/grpc_call.h"
#include "serving-node/frontend/oip/codec/proto.h"
#include "serving-node/inference/wire.h"

namespace longshore::frontend::oip {
namespace {

using ::grpc::ByteBuffer;
using ::inference::ModelStreamInferResponse;

ModelStreamInferResponse ToProto(const Result<Answered>& answer, bool marks_final) {
  ModelStreamInferResponse response;
  auto& infer = *response.mutable_infer_response();
  if (!answer) {
    response.set_error_message(answer.error().message);
    return response;
  }
  infer = codec::ToProto(answer->answer);
  if (marks_final) (*infer.mutable_parameters())["triton_final_response"].set_bool_param(true);
  return response;
}

class Stream final : public ::grpc::ServerBidiReactor<ByteBuffer, ByteBuffer> {
 public:
  explicit Stream(StreamParts parts) : parts_(std::move(parts)) { StartRead(&request_); }

  void OnReadDone(bool ok) override {
    if (!ok) return End(::grpc::Status::OK);
    Handle();
  }
  void OnWriteDone(bool ok) override {
    written_.reset();
    slot_.reset();
    if (!ok) return End(::grpc::Status::CANCELLED);
    StartRead(&request_);
  }
  void OnCancel() override { cancelled_.request_stop(); }
  void OnDone() override { delete this; }

 private:
  void Handle() {
    metered_ = parts_.meter();
    auto slot = parts_.enter();
    if (!slot) return Answer(tl::make_unexpected(slot.error()), {});
    slot_ = std::move(*slot);
    auto request = Decode(request_, parts_.methods.elements_max(), &metered_);
    request_.Clear();
    if (!request) return Answer(tl::make_unexpected(request.error()), {});
    const std::string id = request->id;
    const bool marks_final = request->empty_final_response;
    parts_.methods.Infer(std::move(*request), InfoOf(*parts_.context, cancelled_.get_token()),
                         [this, id, marks_final](Result<Answered> answer) {
                           Answer(std::move(answer), {id, marks_final});
                         });
  }

  // What the answer repeats of its request.
  struct Asked {
    std::string id;
    bool marks_final = false;
  };

  // May run on a thread of the engine, which catches no exceptions.
  void Answer(Result<Answered> answer, const Asked& asked) {
    try {
      answer_ = Encode(&answer, asked);
    } catch (const std::bad_alloc&) {
      answer = ResourceExhausted("memory does not suffice for this request");
      answer_ = Encode(&answer, asked);
    }
    metered_.End(answer ? Code::kOk : answer.error().code,
                 answer ? answer->model_spec : tensorflow::serving::ModelSpec());
    BeginToWrite(answer_.Length());
    StartWrite(&answer_);
  }

  void End(const ::grpc::Status& status) {
    BeginToWrite(0);
    Finish(status);
  }

  // Starts the time in which the client must read the bytes that are written next.
  void BeginToWrite(size_t bytes) { written_.emplace(parts_.deadlines).Begin(parts_.context->c_call(), bytes); }

  // Replaces the answer by an error if the answers that are not written yet take too much memory.
  ByteBuffer Encode(Result<Answered>* answer, const Asked& asked) const {
    ModelStreamInferResponse response = ToProto(*answer, asked.marks_final);
    if (*answer && slot_) {
      if (const Status held = slot_->HoldAnswer(response.ByteSizeLong()); !held) {
        *answer = tl::make_unexpected(held.error());
        response = ToProto(*answer, false);
      }
    }
    response.mutable_infer_response()->set_id(asked.id);
    return ToByteBuffer(response);
  }

  const StreamParts parts_;
  std::stop_source cancelled_;
  ByteBuffer request_;
  ByteBuffer answer_;
  MeteredRequest metered_;
  InFlight::Slot slot_;
  std::optional<rpc::AnswerDeadlines::Answer> written_;
};

}  // namespace

Result<codec::InferRequest> Decode(const ByteBuffer& bytes, int64_t elements_max, MeteredRequest* metered) {
  ::inference::ModelInferRequest message;
  ByteBuffer copy = bytes;  // Shares the memory of the slices.
  ::grpc::ProtoBufferReader reader(&copy);
  const bool is_read = reader.status().ok() && message.ParseFromZeroCopyStream(&reader);
  metered->SetModel(message.model_name());
  if (!is_read) return tl::make_unexpected(longshore::inference::Malformed(message, bytes.Length()));
  return codec::FromProto(std::move(message), elements_max);
}

CallInfo InfoOf(const ::grpc::CallbackServerContext& context, std::stop_token cancelled) {
  return {.headers = HeadersOf(context),
          .deadline = SteadyDeadline(context),
          .protocol = routing::Protocol::kOipGrpc,
          .cancelled = std::move(cancelled)};
}

::grpc::ServerBidiReactor<ByteBuffer, ByteBuffer>* NewStream(StreamParts parts) { return new Stream(std::move(parts)); }

}  // namespace longshore::frontend::oip
