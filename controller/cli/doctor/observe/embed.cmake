# Writes release.cc, a C++ source with files of this release as texts:
#
#   cmake -DROOT=. -DOUTPUT=release.cc -P controller/cli/doctor/observe/embed.cmake
function(text_of file result)
  file(READ "${ROOT}/${file}" bytes HEX)
  string(REGEX REPLACE "(..)" "0x\\1," bytes "${bytes}")
  set(${result} "${bytes}" PARENT_SCOPE)
endfunction()
text_of(crds/models.yaml models)
text_of(crds/servingfleets.yaml fleets)
text_of(helm/longshore/templates/rbac.yaml rbac)
file(WRITE "${OUTPUT}" "#include \"controller/cli/doctor/observe/release.h\"

namespace longshore::cli::doctor::observe {
namespace {

constexpr unsigned char kModels[] = {${models}};
constexpr unsigned char kFleets[] = {${fleets}};
constexpr unsigned char kRbac[] = {${rbac}};

template <size_t kSize>
std::string_view TextOf(const unsigned char (&bytes)[kSize]) {
  return {reinterpret_cast<const char*>(bytes), kSize};
}

}  // namespace

const std::array<std::string_view, 2> kCrdFiles = {TextOf(kModels), TextOf(kFleets)};
const std::string_view kRbacTemplate = TextOf(kRbac);

}  // namespace longshore::cli::doctor::observe
")
