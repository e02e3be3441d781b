// Reads the input as a ModelInferRequest, reads its tensors, and writes them as an answer in both forms.
#include "serving-node/frontend/oip/codec/json_response.h"
#include "serving-node/frontend/oip/codec/proto.h"
#include "tests/fuzz/fuzz.h"

const longshore::fuzz::Allowance longshore::fuzz::kAllowance = longshore::fuzz::kOfMessages;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  namespace codec = longshore::frontend::oip::codec;
  constexpr int64_t kElementsMax = 100000;
  codec::OpenedRequest opened;
  const bool is_message =
      codec::Open(longshore::Pieces({reinterpret_cast<const char*>(data), size}), &opened).has_value();
  longshore::fuzz::AddParsed(opened.head.SpaceUsedLong());
  if (!is_message) return 0;
  auto request = codec::FromProto(std::move(opened), kElementsMax);
  if (!request) return 0;
  const auto answer = codec::AnswerTo(*request, 1, request->inputs);
  if (!answer) return 0;
  CHECK(codec::ToProto(*answer).outputs_size() == static_cast<int>(answer->outputs.size()));
  [[maybe_unused]] const auto body = codec::ToBody(*answer);
  return 0;
}
