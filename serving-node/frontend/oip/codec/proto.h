// ModelInferRequest and ModelInferResponse of the gRPC service.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "common/base/error.h"
#include "common/base/pieces.h"
#include "inference/service.pb.h"
#include "serving-node/frontend/oip/codec/contents.h"
#include "serving-node/frontend/oip/codec/infer.h"
#include "serving-node/frontend/oip/codec/raw.h"

namespace longshore::frontend::oip::codec {

// A ModelInferRequest whose elements are still bytes.
struct OpenedRequest {
  Pieces bytes = {};
  ::inference::ModelInferRequest head = {};            // Without contents and raw_input_contents.
  std::vector<std::optional<Contents>> contents = {};  // One for each input; nullopt if the input has no contents.
  std::vector<Span> raw_contents = {};
};

// How many bytes a request may have besides its elements.
inline constexpr size_t kHeadBytesMax = size_t{4} << 20;

// Opens a request. Generated code reads all but the elements, so both accept the same messages: of those that no
// serializer writes (a tag or a length with needless bytes, contents that occur twice), only small ones are accepted.
// InvalidArgument if the bytes are not a ModelInferRequest or have more than kTensorsMax inputs, outputs or
// raw_input_contents; ResourceExhausted above kHeadBytesMax. After an error, `request->head` has what was read before.
Status Open(Pieces bytes, OpenedRequest* request);

// Reads the elements into tensors, each with one copy. InvalidArgument if a tensor or a parameter is not valid, or uses
// shared memory; ResourceExhausted if the inputs have more than elements_max elements together.
Result<InferRequest> FromProto(OpenedRequest request, int64_t elements_max);

// Returns whether the request asks for a mark on the last answer to it, also if the request is not valid.
bool AsksForFinalResponse(const ::inference::ModelInferRequest& message);

// Writes an answer, with raw_output_contents. Bytes of names that are not valid UTF-8 are replaced, because a client
// could not parse them.
::inference::ModelInferResponse ToProto(const InferAnswer& answer);

}  // namespace longshore::frontend::oip::codec
