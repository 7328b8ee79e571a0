# Style, scripts and D3 are built into the program; without D3 the report has no explorer and says so.  Adds the
# generated file to `sources`.
find_file(D3_SCRIPT d3.min.js PATHS /usr/share/nodejs/d3/dist /usr/share/javascript/d3 /usr/share/node_modules/d3/dist
    PATH_SUFFIXES lib/node_modules/d3/dist share/javascript/d3)
find_file(D3_LICENSE NAMES copyright LICENSE PATHS /usr/share/doc/node-d3 /usr/share/nodejs/d3 /usr/share/doc/libjs-d3
    NO_DEFAULT_PATH)
set(assets "report.css=${CMAKE_SOURCE_DIR}/analysis/report.css" "report.js=${CMAKE_SOURCE_DIR}/analysis/report.js"
    "explorer.js=${CMAKE_SOURCE_DIR}/analysis/explorer.js")
set(asset_files analysis/report.css analysis/report.js analysis/explorer.js)
if(D3_SCRIPT AND D3_LICENSE)
    list(APPEND assets "d3.min.js=${D3_SCRIPT}" "d3.license=${D3_LICENSE}")
else()
    message(STATUS "D3 (Debian/Ubuntu: node-d3) was not found: reports will have no explorer")
endif()
set(asset_source ${CMAKE_BINARY_DIR}/analysis_assets.c)
add_custom_command(OUTPUT ${asset_source}
    COMMAND ${CMAKE_COMMAND} -DOUT=${asset_source} "-DFILES=${assets}" -P ${CMAKE_SOURCE_DIR}/analysis/embed.cmake
    DEPENDS ${asset_files} analysis/embed.cmake VERBATIM)
set_source_files_properties(${asset_source} PROPERTIES COMPILE_OPTIONS "-I${CMAKE_SOURCE_DIR}/analysis")
list(APPEND sources ${asset_source})
