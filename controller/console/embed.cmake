# Writes a C++ source with the files of a folder as arrays of bytes:
#
#   cmake -DFOLDER=controller/console/dist -DOUTPUT=files.cc -P controller/console/embed.cmake
file(GLOB names RELATIVE "${FOLDER}" "${FOLDER}/*")
list(SORT names)
set(arrays)
set(rows)
set(number 0)
foreach(name IN LISTS names)
  file(READ "${FOLDER}/${name}" bytes HEX)
  string(REGEX REPLACE "(..)" "0x\\1," bytes "${bytes}")
  string(APPEND arrays "constexpr unsigned char kFile${number}[] = {${bytes}};\n")
  string(APPEND rows "    File{\"${name}\", {reinterpret_cast<const char*>(kFile${number}), sizeof kFile${number}}},\n")
  math(EXPR number "${number} + 1")
endforeach()
file(WRITE "${OUTPUT}" "#include \"controller/console/files.h\"

namespace longshore::console {
namespace {

${arrays}
}  // namespace

std::span<const File> Files() {
  static const File files[] = {
${rows}  };
  return files;
}

}  // namespace longshore::console
")
