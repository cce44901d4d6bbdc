# Makes the plain comments of include/redlock/c*.h Doxygen's: of the file, before and behind a member.
# SPDX-License-Identifier: MIT
1s@^/\* @/** \\file\n * @
2,$s@^/\* ([^-])@/** \1@
/^#/!s@([^ /]) +/\* @\1  /**< @
