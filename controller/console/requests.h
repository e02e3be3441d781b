// Which requests the console answers, and what each of them asks for. Pure.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "common/json/json.h"
#include "common/net/http/types.h"
#include "controller/console/files.h"

namespace longshore::console {

// What a path asks for.
struct Target {
  enum class What { kNothing, kFile, kOverview, kModel, kHistory, kFleet };
  What what = What::kNothing;
  const File* file = nullptr;  // For kFile: the file.
  std::string namespace_{};    // For kModel, kHistory and kFleet: the object; also `name`.
  std::string name{};
};

// Returns the target of a path with or without a query. The page of a Model is the same file as the overview: its
// script reads the path.
Target TargetOf(std::string_view path);

// Whether the value of the header Host is an address, "localhost", or one of the names, with any port.
//
// This is the protection against DNS rebinding: a page of another site can make the browser of a user ask the console
// only under a DNS name that the owner of that site controls, and then the header contains this name.
bool IsAllowedHost(std::string_view host, const std::set<std::string>& names);

// Returns the answer to a request that is refused: with a method other than GET and HEAD, or for another host.
std::optional<http::Response> Refusal(const http::Request& head, const std::set<std::string>& names);

// Returns 304 without a body if the client has this text already. All answers have the headers that docs/console.md
// lists.
http::Response Answer(const http::Request& request, std::string content_type, std::string body);
http::Response JsonAnswer(const http::Request& request, const Json& json);
http::Response ErrorAnswer(int status, const std::string& message);

}  // namespace longshore::console
