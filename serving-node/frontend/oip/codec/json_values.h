// Reads values from a JSON text that JsonBody has checked.
#pragma once

#include <string>
#include <string_view>

#include "common/base/error.h"
#include "serving-node/frontend/json/reader.h"
#include "serving-node/frontend/oip/codec/infer.h"
#include "serving-node/frontend/oip/codec/raw.h"

namespace longshore::frontend::oip::codec {

// Calls `member(key)` for each member of the object, or `element()` for each element of the list, that begins at the
// current event; the reader is then on the first event of the value, which the function must read to its last one. null
// counts as empty. InvalidArgument, which names `what`, if the value is of another kind.
template <typename Member>
Status ForEachMember(json::JsonReader* reader, std::string_view what, Member member);
template <typename Element>
Status ForEachElement(json::JsonReader* reader, std::string_view what, Element element);

// Reads a string; null counts as "".
Result<std::string> ReadText(const json::JsonReader& reader, std::string_view what);
// Reads a list of sizes. InvalidArgument if an element is not an integer.
Result<tensor::Shape> ReadShape(json::JsonReader* reader, std::string_view input);
// Reads a boolean, a number or a string.
Result<Parameter> ReadParameter(json::JsonReader* reader, std::string_view name);

// Reads the elements of an input from "data". `scalars` is the number of scalars in the whole text, which limits the
// memory that a wrong shape can take. The reader must be on the first event of the value, and is used up.
Result<tensor::Tensor> ReadData(json::JsonReader* reader, const InputHead& head, size_t scalars, ElementBudget* budget);

// Reads the elements of an input from a list of numbers that nothing has checked. An error does not say why: ReadData
// reads the same input again, and says it, or succeeds.
Result<tensor::Tensor> ReadList(std::string_view list, const InputHead& head, ElementBudget* budget);

inline bool IsNull(const json::JsonReader& reader) {
  return reader.event() == json::JsonReader::Event::kScalar && reader.scalar().IsNull();
}

template <typename Member>
Status ForEachMember(json::JsonReader* reader, std::string_view what, Member member) {
  using Event = json::JsonReader::Event;
  if (IsNull(*reader)) return {};
  if (reader->event() != Event::kStartObject) return InvalidArgument("'{}' is not a JSON object", what);
  while (reader->Next() && reader->event() == Event::kKey) {
    const std::string key(reader->text());
    reader->Next();
    RETURN_IF_ERROR(member(key));
  }
  return {};
}

template <typename Element>
Status ForEachElement(json::JsonReader* reader, std::string_view what, Element element) {
  using Event = json::JsonReader::Event;
  if (IsNull(*reader)) return {};
  if (reader->event() != Event::kStartArray) return InvalidArgument("'{}' is not a JSON array", what);
  while (reader->Next() && reader->event() != Event::kEndArray) RETURN_IF_ERROR(element());
  return {};
}

}  // namespace longshore::frontend::oip::codec
