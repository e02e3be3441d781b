# oneDNN from the Python package index: ./dev setup puts it into the cache folder. LONGSHORE_ONEDNN names another folder.
set(LONGSHORE_ONEDNN "" CACHE PATH "Folder with include/oneapi and lib/libdnnl.so; empty: the one that ./dev setup installed")

if(LONGSHORE_ONEDNN)
  set(onednn_folder "${LONGSHORE_ONEDNN}")
elseif(DEFINED ENV{XDG_CACHE_HOME})
  set(onednn_folder "$ENV{XDG_CACHE_HOME}/longshore/onednn")
else()
  set(onednn_folder "$ENV{HOME}/.cache/longshore/onednn")
endif()
get_filename_component(onednn_folder "${onednn_folder}" REALPATH)

find_package(OpenMP REQUIRED COMPONENTS CXX)
if(NOT EXISTS "${onednn_folder}/lib/libdnnl.so.3")
  message(FATAL_ERROR "oneDNN was not found in ${onednn_folder}: run ./dev setup, or set -DLONGSHORE_ONEDNN=FOLDER")
endif()
add_library(OneDnn::OneDnn SHARED IMPORTED)
set_target_properties(OneDnn::OneDnn PROPERTIES
  IMPORTED_LOCATION "${onednn_folder}/lib/libdnnl.so.3"
  INTERFACE_INCLUDE_DIRECTORIES "${onednn_folder}/include"
  INTERFACE_LINK_LIBRARIES OpenMP::OpenMP_CXX)
