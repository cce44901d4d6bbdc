# What is installed beside the library and the command: files to copy, the license and the documents.
# SPDX-License-Identifier: MIT
set(redlock_share "${CMAKE_INSTALL_DATADIR}/redlock")

# For production, and what watches it: docs/production.md.
install(DIRECTORY deploy DESTINATION "${redlock_share}")
install(FILES config/redlock.schema.json config/output.schema.json config/example.json DESTINATION "${redlock_share}/config")
install(DIRECTORY config/prometheus config/grafana DESTINATION "${redlock_share}/config")

install(FILES LICENSE README.md CHANGELOG.md DESTINATION "${CMAKE_INSTALL_DOCDIR}")
install(DIRECTORY docs DESTINATION "${CMAKE_INSTALL_DOCDIR}"
        FILES_MATCHING PATTERN "*.md" PATTERN "*.svg" PATTERN "site" EXCLUDE)
