// The output of `longshore doctor`. Pure.
#pragma once

#include <string>

#include "common/json/json.h"
#include "controller/cli/doctor/finding.h"

namespace longshore::cli::doctor {

struct Style {
  bool colors = false;
  bool unicode = false;  // Whether the terminal's locale is UTF-8; else the marks are ASCII.
};

// The findings in groups with headings, each with its cause and its cure, and a line that counts them.
std::string Text(const Findings& findings, const Style& style);

// {"summary": {"ok": 3, "warning": 0, "failure": 1, "notKnown": 0}, "findings": [{group, name, verdict, cause, cure}]}.
Json ToJson(const Findings& findings);

bool HasFailed(const Findings& findings);

}  // namespace longshore::cli::doctor
