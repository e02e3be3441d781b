// Which requests the console answers, and what each of them asks for. Pure.
#pragma once

#include <functional>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "common/base/error.h"
#include "common/json/json.h"
#include "common/net/http/types.h"
#include "controller/console/access.h"
#include "controller/console/files.h"

namespace longshore::console {

// What a path asks for.
struct Target {
  enum class What { kNothing, kFile, kAccess, kOverview, kModel, kHistory, kCommands, kFleet };
  What what = What::kNothing;
  const File* file = nullptr;  // For kFile: the file.
  std::string namespace_{};    // For kModel, kHistory, kCommands and kFleet: the object; also `name`.
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

// What a listener of the console answers.
struct Policy {
  std::set<std::string> allowed_hosts{};
  Access access{};
  bool reading_needs_token = false;
  std::function<std::string()> standby{};  // Why another controller answers instead of this one; "": this one answers.
};

// Returns the answer to a request that is refused: for another host, with a method that the path does not have, without
// the right, or while this controller does not lead. The files of the pages are for everyone: a page asks for the
// token.
std::optional<http::Response> Refusal(const http::Request& head, const Policy& policy);

// What a page needs to know about commands and tokens. Requires: Refusal has let the request pass.
Json AccessJson(const http::Request& head, const Policy& policy);

// Returns 304 without a body if the client has this text already. All answers have the headers that docs/console.md
// lists.
http::Response Answer(const http::Request& request, std::string content_type, std::string body);
http::Response JsonAnswer(const http::Request& request, const Json& json);
http::Response ErrorAnswer(int status, const std::string& message);
http::Response ErrorAnswer(const Error& error);

}  // namespace longshore::console
