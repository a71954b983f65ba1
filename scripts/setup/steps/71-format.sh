# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# does: clang-format of the C code

# Versions format differently; the tree is formatted by that of Debian 12.
if ! have clang-format; then
    count skipped 1 "clang-format is not installed"
    return 0
fi
version=$(clang-format --version | grep -Eo '[0-9]+' | head -n 1)
if [ "$version" != 14 ]; then
    count skipped 1 "clang-format $version is installed, the tree is formatted by 14"
    return 0
fi
# shellcheck disable=SC2046  # words
why=$(clang-format --dry-run -Werror --style=file $(sources '*.c' '*.h') 2>&1) && count passed 1 && return
sed -n 's/^\(.*\):[0-9]*:[0-9]*: error: .*/not formatted: \1/p' <<<"$why" | sort -u
echo "clang-format -i FILE formats it"
return 1
