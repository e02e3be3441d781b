#include "serving-node/frontend/oip/grpc_stream.h"

#include <memory>
#include <new>
#include <optional>
#include <utility>

#include "common/base/text.h"
#include "common/net/grpc/bytes.h"
#include "serving-node/frontend/grpc_call.h"
#include "serving-node/frontend/oip/codec/proto.h"
#include "serving-node/inference/wire.h"

namespace longshore::frontend::oip {
namespace {

using ::grpc::ByteBuffer;
using ::inference::ModelStreamInferResponse;

// The metadata by which a client of Triton asks that the first error ends its stream.
constexpr const char* kGrpcError = "triton_grpc_error";

ModelStreamInferResponse ToProto(const Result<Answered>& answer, const Asked& asked) {
  ModelStreamInferResponse response;
  auto& infer = *response.mutable_infer_response();
  if (answer) {
    infer = codec::ToProto(answer->answer);
  } else {
    response.set_error_message(CutText(answer.error().message, kErrorBytesMax));
  }
  infer.set_id(asked.id);
  if (asked.marks_final) (*infer.mutable_parameters())["triton_final_response"].set_bool_param(true);
  return response;
}

bool AsksForGrpcErrors(const ::grpc::CallbackServerContext& context) {
  const auto found = context.client_metadata().find(kGrpcError);
  return found != context.client_metadata().end() && found->second == "true";
}

}  // namespace

// One stream. Always one operation is under way: a read, the run of a request, or a write. Each of them either begins
// the next one or ends the stream.
class Streams::Stream final : public Reactor {
 public:
  Stream(Streams& streams, StreamParts parts)
      : streams_(streams), parts_(std::move(parts)), ends_on_error_(AsksForGrpcErrors(*parts_.context)) {}

  // Begins to read a request, or ends the stream. Requires that streams_.mutex_ is held.
  void Read() {
    is_reading_ = true;
    if (streams_.ended_) return StopReading();
    StartRead(&request_);
  }
  // Ends the stream if it is reading. Requires that streams_.mutex_ is held.
  void StopReading() {
    if (!std::exchange(is_reading_, false)) return;
    End({::grpc::StatusCode::UNAVAILABLE, "the server accepts no more requests"});
  }

  void OnReadDone(bool ok) override {
    {
      const std::lock_guard lock(streams_.mutex_);
      if (!std::exchange(is_reading_, false)) return;
    }
    if (!ok) return End(::grpc::Status::OK);
    try {
      Handle();
    } catch (const std::bad_alloc&) {
      Answer(OutOfMemory());
    }
  }
  void OnWriteDone(bool ok) override {
    written_.reset();
    slot_.reset();
    if (!ok) return End(::grpc::Status::CANCELLED);
    const std::lock_guard lock(streams_.mutex_);
    Read();
  }
  void OnCancel() override { cancelled_.request_stop(); }
  void OnDone() override {
    {
      const std::lock_guard lock(streams_.mutex_);
      streams_.open_.erase(this);
    }
    delete this;
  }

 private:
  void Handle() {
    asked_ = {};
    metered_ = parts_.meter();
    auto slot = parts_.enter();
    if (!slot) return Answer(tl::make_unexpected(slot.error()));
    slot_ = std::move(*slot);
    auto request = Decode(request_, parts_.methods.elements_max(), &metered_, &asked_);
    request_.Clear();
    if (!request) return Answer(tl::make_unexpected(request.error()));
    CallInfo info = InfoOf(*parts_.context, metered_);
    info.cancelled = cancelled_.get_token();
    parts_.methods.Infer(std::move(*request), std::move(info),
                         [this](Result<Answered> answer) { Answer(std::move(answer)); });
  }

  // May run on a thread of the engine, which catches no exceptions.
  void Answer(Result<Answered> answer) {
    try {
      Write(std::move(answer));
    } catch (const std::bad_alloc&) {
      slot_.reset();
      End(rpc::ToGrpc(OutOfMemory()));
    }
  }

  void Write(Result<Answered> answer) {
    try {
      answer_ = Encode(&answer);
    } catch (const std::bad_alloc&) {
      answer = OutOfMemory();
      answer_ = Encode(&answer);
    }
    metered_.End(answer ? Code::kOk : answer.error().code,
                 answer ? answer->model_spec : tensorflow::serving::ModelSpec());
    if (!answer && ends_on_error_) {
      slot_.reset();
      return End(rpc::ToGrpc(answer.error()));
    }
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
  ByteBuffer Encode(Result<Answered>* answer) const {
    ModelStreamInferResponse response = ToProto(*answer, asked_);
    if (*answer && slot_) {
      if (const Status held = slot_->HoldAnswer(response.ByteSizeLong()); !held) {
        *answer = tl::make_unexpected(held.error());
        response = ToProto(*answer, asked_);
      }
    }
    return ToByteBuffer(response);
  }

  Streams& streams_;
  const StreamParts parts_;
  const bool ends_on_error_;
  bool is_reading_ = false;
  std::stop_source cancelled_;
  ByteBuffer request_;
  ByteBuffer answer_;
  Asked asked_;
  MeteredRequest metered_;
  InFlight::Slot slot_;
  std::optional<rpc::AnswerDeadlines::Answer> written_;
};

Streams::Reactor* Streams::Open(StreamParts parts) {
  auto stream = std::make_unique<Stream>(*this, std::move(parts));
  const std::lock_guard lock(mutex_);
  open_.insert(stream.get());
  stream->Read();
  return stream.release();
}

void Streams::End() {
  const std::lock_guard lock(mutex_);
  ended_ = true;
  for (Stream* stream : open_) stream->StopReading();
}

Result<codec::InferRequest> Decode(const ByteBuffer& bytes, int64_t elements_max, MeteredRequest* metered,
                                   Asked* asked) try {
  codec::OpenedRequest opened;
  if (!bytes.Valid()) return tl::make_unexpected(longshore::inference::Malformed(opened.head, 0));
  const Status is_open = codec::Open(rpc::ToPieces(bytes), &opened);
  metered->SetModel(opened.head.model_name());
  *asked = {opened.head.id(), codec::AsksForFinalResponse(opened.head)};
  if (!is_open) return tl::make_unexpected(is_open.error());
  return codec::FromProto(std::move(opened), elements_max);
} catch (const std::bad_alloc&) {
  return OutOfMemory();
}

CallInfo InfoOf(const ::grpc::CallbackServerContext& context, const MeteredRequest& metered) {
  return {.headers = HeadersOf(context),
          .deadline = SteadyDeadline(context),
          .protocol = routing::Protocol::kOipGrpc,
          .trace = metered.trace()};
}

}  // namespace longshore::frontend::oip
