// Lists of numbers, which are most of the bytes of a typical request. They are read apart from the rest of its JSON, in
// one pass from the text to the tensor.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "serving-node/tensor/tensor.h"

namespace longshore::frontend::oip::codec {

// A JSON text whose lists of numbers under the key "data" have been replaced by empty lists.
//
//   {"inputs":[{"name":"x","data":[[1,2],[3]]}]}  ->  {"inputs":[{"name":"x","data":[]}]}, {38, "[[1,2],[3]]"}
//
// Nothing is checked: a list may be any text that begins and ends with a bracket and contains no quote and no brace.
struct SplitJson {
  std::string rest;
  std::map<size_t, std::string_view> lists;  // By the offset of the empty list in `rest`.
};

// Returns nullopt if the lists are less than half of the text, or more than a request may have inputs.
std::optional<SplitJson> SplitNumberLists(std::string_view json);

// Fills the tensor with the numbers of the list with which the text begins, whatever its nesting. Returns the position
// after the list; nullptr if it is not a valid JSON list of as many numbers of the tensor's type, or if only a
// JsonReader can read it. Requires: the text ends with a byte that cannot be part of a number.
const char* FillFromList(std::string_view text, tensor::Tensor* tensor);

}  // namespace longshore::frontend::oip::codec
