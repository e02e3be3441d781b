// The output format jsonpath=TEMPLATE of kubectl, in the parts that people use:
//
//   {.metadata.name}                      a field; {metadata.name} and a template without braces work too
//   {.items[0]} {.items[-1]} {.items[*]}  elements; {.items[1:3]} are two of them; {.spec.*} are all values
//   {['example.com/x']} {.labels.a\.b}    a name with special characters
//   {..name}                              the fields of this name at any depth
//   {.items[?(@.metadata.name=="a")]}     elements for which a comparison (== != < <= > >=) holds, or {[?(@.spec)]}
//                                         those that have the field
//   {range .items[*]}...{end}             repeats the template for each element; paths begin at the element, or with $
//   at
//                                         the whole document
//   {"\n"}                                a text; the text outside of braces is printed as it is
//
// Several results of one path have a space between them. A text is printed without quotes, anything else as JSON. A
// field or element that does not exist prints nothing. Not supported: unions ([0,1]), steps of slices ([0:4:2]) and
// functions.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "common/base/error.h"
#include "common/json/json.h"

namespace longshore::cli::text {

inline constexpr size_t kJsonPathBytesMax = 16 << 10;
inline constexpr int kJsonPathRangesMax = 8;  // Nested ones.

// Checks the template. Returns InvalidArgument, which shows the wrong part.
Status CheckJsonPath(std::string_view template_);

// Returns the text of the template for this document, or the error of CheckJsonPath.
Result<std::string> PrintJsonPath(std::string_view template_, const Json& document);

}  // namespace longshore::cli::text
