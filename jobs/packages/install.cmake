# install.cmake - what `cmake --install` and cpack take: the program, its help, and the library with its headers for C
# programs of one's own, found by pkg-config or by find_package(pesweep).
include(CMakePackageConfigHelpers)

install(TARGETS pesweep RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
install(DIRECTORY sweeps/ DESTINATION ${CMAKE_INSTALL_DATADIR}/pesweep/sweeps FILES_MATCHING PATTERN "*.yaml")
install(FILES jobs/sweep.sbatch jobs/array.sbatch jobs/merge.sbatch jobs/launch.sh
    DESTINATION ${CMAKE_INSTALL_DATADIR}/pesweep/jobs)
install(FILES LICENSE README.md DESTINATION ${CMAKE_INSTALL_DOCDIR})

# The manual page, the completion and the schema come from the program's own help.
add_custom_command(OUTPUT pesweep.1 completion/pesweep sweep.schema.json
    COMMAND pesweep help --man > pesweep.1
    COMMAND ${CMAKE_COMMAND} -E make_directory completion
    COMMAND pesweep help --completion > completion/pesweep
    COMMAND pesweep help sweep-file --json > sweep.schema.json
    DEPENDS pesweep VERBATIM)
add_custom_target(pesweep_help ALL DEPENDS pesweep.1)
install(FILES ${CMAKE_BINARY_DIR}/pesweep.1 DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
install(FILES ${CMAKE_BINARY_DIR}/completion/pesweep DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions)
install(FILES ${CMAKE_BINARY_DIR}/sweep.schema.json DESTINATION ${CMAKE_INSTALL_DATADIR}/pesweep)

# --- the library: the objects of all modules in one archive ---
set(objects "")
foreach(module IN LISTS PES_MODULES)
    list(APPEND objects $<TARGET_OBJECTS:pes_${module}>)
endforeach()
add_library(pesweep_archive STATIC ${objects})
set_target_properties(pesweep_archive PROPERTIES OUTPUT_NAME pesweep LINKER_LANGUAGE C)
install(TARGETS pesweep_archive ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(DIRECTORY include/pesweep DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} FILES_MATCHING PATTERN "*.h")

# Found again from the folder of the .pc file, so that the installed tree can be moved.
file(RELATIVE_PATH PES_PREFIX_FROM_PC /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
# Of HDF5 what programs call; a shared library knows what else it needs.
set(libraries ${HDF5_C_LIBRARY_hdf5_hl} ${HDF5_C_LIBRARY_hdf5})
if(NOT libraries MATCHES "\\.so")
    set(libraries ${HDF5_C_HL_LIBRARIES} ${HDF5_C_LIBRARIES})
endif()
set(folders "")
set(names "")
foreach(library IN LISTS libraries MPI_C_LIBRARIES LAPACKE_LIBRARY)
    if(library MATCHES "^/.*/lib([^/]+)\\.(so|a|dylib)[0-9.]*$")
        get_filename_component(folder ${library} DIRECTORY)
        list(APPEND folders -L${folder})
        list(APPEND names -l${CMAKE_MATCH_1})
    elseif(library MATCHES "^-")
        list(APPEND names ${library})
    elseif(NOT library MATCHES "::")
        list(APPEND names -l${library})
    endif()
endforeach()
list(REMOVE_DUPLICATES folders)
list(REMOVE_DUPLICATES names)
list(JOIN folders " " folders)
list(JOIN names " " names)
set(PES_PC_LIBRARIES "${folders} ${names}")
set(PES_PC_DEFINITIONS "")
if(PES_DOUBLE)
    set(PES_PC_DEFINITIONS " -DPES_DOUBLE")
endif()
configure_file(jobs/packages/pesweep.pc.in pesweep.pc @ONLY)
install(FILES ${CMAKE_BINARY_DIR}/pesweep.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
configure_file(jobs/packages/pesweep-config.cmake.in pesweep-config.cmake @ONLY)
write_basic_package_version_file(${CMAKE_BINARY_DIR}/pesweep-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_BINARY_DIR}/pesweep-config.cmake ${CMAKE_BINARY_DIR}/pesweep-config-version.cmake
    DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/pesweep)

# --- cpack -G DEB ---
set(CPACK_PACKAGE_NAME pesweep)
set(CPACK_PACKAGE_VENDOR "the pesweep authors")
set(CPACK_PACKAGE_CONTACT "the pesweep authors")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "${PROJECT_DESCRIPTION}")
set(CPACK_RESOURCE_FILE_LICENSE ${CMAKE_SOURCE_DIR}/LICENSE)
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_GENERATOR DEB)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION science)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_RECOMMENDS "gnuplot-nox, openmpi-bin")
set(CPACK_DEBIAN_PACKAGE_SUGGESTS "python3-xarray, python3-h5netcdf")
include(CPack)
