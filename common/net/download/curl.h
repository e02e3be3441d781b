// What all transfers of this folder share. Only for this folder.
#pragma once

#include <curl/curl.h>

#include <chrono>
#include <memory>
#include <string>

#include "common/base/error.h"
#include "common/base/path.h"

namespace longshore::download {

// Initialises libcurl once, and returns a handle for transfers; null if memory does not suffice.
std::unique_ptr<CURL, void (*)(CURL*)> MakeHandle();

// The options of every transfer.
struct Common {
  const std::string& url;
  const Path& ca_file;  // As Request::ca_file.
  std::chrono::milliseconds connect_max;
  const char* protocols;  // "https" or "http,https".
};
void SetCommon(const Common& common, CURL* curl);

// The code of Get's errors for an error of libcurl.
Code CodeOf(CURLcode code);

}  // namespace longshore::download
