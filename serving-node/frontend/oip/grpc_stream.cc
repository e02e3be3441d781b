#include "serving-node/frontend/oip/grpc_stream.h"

#include <memory>
#include <new>
#include <optional>
#include <utility>
#include <vector>

#include "common/base/text.h"
#include "serving-node/frontend/oip/codec/proto.h"
#include "serving-node/inference/wire.h"

namespace longshore::frontend::oip {
namespace {

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

}  // namespace

// One stream. Always one operation is under way: a read, the run of a request, or a write. Each of them either begins
// the next one or ends the stream.
class Streams::Stream final : public std::enable_shared_from_this<Stream> {
 public:
  Stream(Streams& streams, CallPtr call)
      : streams_(streams),
        call_(std::move(call)),
        ends_on_error_(call_->Metadata(kGrpcError) == "true"),
        cancelled_(call_->cancelled()) {}

  // Begins to read a request, or ends the stream.
  void Read() {
    bool may_read = false;
    {
      const std::lock_guard lock(streams_.mutex_);
      may_read = is_reading_ = !streams_.ended_;
    }
    if (!may_read) return Refuse();
    call_->Read([self = shared_from_this()](std::optional<Pieces> message) { self->OnRead(std::move(message)); });
  }

  // Ends the stream if it is reading.
  void StopReading() {
    {
      const std::lock_guard lock(streams_.mutex_);
      if (!std::exchange(is_reading_, false)) return;
    }
    Refuse();
  }

 private:
  void Refuse() { call_->Finish(Unavailable("the server accepts no more requests")); }

  void OnRead(std::optional<Pieces> message) {
    {
      const std::lock_guard lock(streams_.mutex_);
      if (!std::exchange(is_reading_, false)) return;
    }
    if (!message) return call_->Finish({});
    try {
      Handle(std::move(*message));
    } catch (const std::bad_alloc&) {
      Answer(OutOfMemory());
    }
  }

  void Handle(Pieces message) {
    asked_ = {};
    metered_ = Meter(*call_, streams_.options_, routing::Api::kPredict);
    auto slot = Enter(streams_.options_);
    if (!slot) return Answer(tl::make_unexpected(slot.error()));
    slot_ = std::move(*slot);
    auto request = Decode(std::move(message), streams_.methods_.elements_max(), &metered_, &asked_);
    if (!request) return Answer(tl::make_unexpected(request.error()));
    CallInfo info = InfoOf(*call_, metered_, streams_.options_.protocol);
    info.cancelled = cancelled_;
    streams_.methods_.Infer(std::move(*request), std::move(info),
                            [self = shared_from_this()](Result<Answered> answer) { self->Answer(std::move(answer)); });
  }

  // May run on a thread of the engine, which catches no exceptions.
  void Answer(Result<Answered> answer) {
    try {
      Write(std::move(answer));
    } catch (const std::bad_alloc&) {
      slot_.reset();
      call_->Finish(OutOfMemory());
    }
  }

  void Write(Result<Answered> answer) {
    Pieces bytes;
    try {
      bytes = Encode(&answer);
    } catch (const std::bad_alloc&) {
      answer = OutOfMemory();
      bytes = Encode(&answer);
    }
    metered_.End(answer ? Code::kOk : answer.error().code,
                 answer ? answer->model_spec : tensorflow::serving::ModelSpec());
    if (!answer && ends_on_error_) {
      slot_.reset();
      return call_->Finish(tl::make_unexpected(answer.error()));
    }
    call_->Write(std::move(bytes), [self = shared_from_this()](bool ok) {
      self->slot_.reset();
      if (ok) self->Read();
    });
  }

  // Replaces the answer by an error if the answers that are not written yet take too much memory.
  Pieces Encode(Result<Answered>* answer) const {
    ModelStreamInferResponse response = ToProto(*answer, asked_);
    if (*answer && slot_) {
      if (const Status held = slot_->HoldAnswer(response.ByteSizeLong()); !held) {
        *answer = tl::make_unexpected(held.error());
        response = ToProto(*answer, asked_);
      }
    }
    return grpc_server::ToPieces(response);
  }

  Streams& streams_;
  const CallPtr call_;
  const bool ends_on_error_;
  const std::stop_token cancelled_;
  bool is_reading_ = false;
  Asked asked_;
  MeteredRequest metered_;
  InFlight::Slot slot_;
};

void Streams::Open(const CallPtr& call) {
  AddNode(*call, options_);
  const auto stream = std::make_shared<Stream>(*this, call);
  {
    const std::lock_guard lock(mutex_);
    open_.insert(stream);
  }
  call->AfterEnd([this, stream] {
    const std::lock_guard lock(mutex_);
    open_.erase(stream);
  });
  stream->Read();
}

void Streams::End() {
  std::vector<std::shared_ptr<Stream>> open;
  {
    const std::lock_guard lock(mutex_);
    ended_ = true;
    open.assign(open_.begin(), open_.end());
  }
  for (const auto& stream : open) stream->StopReading();
}

Result<codec::InferRequest> Decode(Pieces bytes, int64_t elements_max, MeteredRequest* metered, Asked* asked) try {
  codec::OpenedRequest opened;
  const Status is_open = codec::Open(std::move(bytes), &opened);
  metered->SetModel(opened.head.model_name());
  *asked = {opened.head.id(), codec::AsksForFinalResponse(opened.head)};
  if (!is_open) return tl::make_unexpected(is_open.error());
  return codec::FromProto(std::move(opened), elements_max);
} catch (const std::bad_alloc&) {
  return OutOfMemory();
}

}  // namespace longshore::frontend::oip
