# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# does: clang-format of the C code

# Versions format differently; the tree is formatted by that of Debian 12.
have clang-format || skip "clang-format is not installed"
version=$(clang-format --version | grep -Eo '[0-9]+' | head -n 1)
[ "$version" = 14 ] || skip "clang-format $version is installed, the tree is formatted by 14"
# shellcheck disable=SC2046  # words
why=$(clang-format --dry-run -Werror --style=file $(sources '*.c' '*.h') 2>&1) && count passed 1 && return
sed -n 's/^\(.*\):[0-9]*:[0-9]*: error: .*/not formatted: \1/p' <<<"$why" | sort -u
echo "clang-format -i FILE formats it"
return 1
