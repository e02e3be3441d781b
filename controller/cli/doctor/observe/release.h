// Files of this release that the program contains.
#pragma once

#include <array>
#include <string_view>

namespace longshore::cli::doctor::observe {

extern const std::array<std::string_view, 2> kCrdFiles;  // The YAML texts of crds/.
extern const std::string_view kRbacTemplate;             // helm/longshore/templates/rbac.yaml.

}  // namespace longshore::cli::doctor::observe
